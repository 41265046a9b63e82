/* SPDX-License-Identifier: MIT
 *
 * Streams: threads that pass pieces on through a ring of slots.
 *
 * passed[i] counts the pieces that stage i is done with. Stage i + 1 may work on piece k when passed[i] > k; reading
 * may begin piece k when piece k - slots is finished. A stage that fails sets `failed` before it passes its piece on,
 * and from then on stages pass pieces on untouched. So the pieces that were processed whole are the first `good` ones.
 */
#include "stream.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>

#include "die.h"
#include "report.h"

enum { READ, UPLOAD, COMPUTE, DOWNLOAD, STAGES };
enum { GROUP_BYTES = 1 << 20, HOST_GROUPS = 2, DEVICE_GROUPS = 8, PIECES = 16 };

typedef struct stream stream;

typedef struct stage {
    stream *in;
    int number;
    pthread_t thread;
    stream_lane lane;
    bool own_context;
    uint64_t busy_ns;
} stage;

struct stream {
    const stream_job *job;
    stage stages[STAGES];
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool go, stop; /* threads wait for go; stop: one could not be started, and the others end */
    size_t passed[STAGES], finished;
    size_t end;         /* number of pieces, SIZE_MAX while it is not known */
    atomic_size_t good; /* number of pieces that every stage processed */
    atomic_bool failed;
    scan_status status;
    char detail[256];
    bool read_failed; /* reading died of read_error */
    fatal_error read_error;
};

static stream_stage *stage_of(const stream_job *job, int number) {
    return number == UPLOAD ? job->upload : number == COMPUTE ? job->compute : job->download;
}

/* ---- stages ------------------------------------------------------------------------------------------------------ */

static void fail(stream *t, const stage *g, scan_status status) {
    pthread_mutex_lock(&t->lock);
    if (!t->failed) {
        const char *detail = g->lane.ctx ? scan_ctx_detail(g->lane.ctx) : g->lane.detail;
        snprintf(t->detail, sizeof t->detail, "%s", detail && detail[0] ? detail : scan_status_string(status));
        t->status = status;
        t->failed = true;
    }
    pthread_mutex_unlock(&t->lock);
}

static void run_stage(stream *t, stage *g, size_t piece) {
    stream_stage *call = stage_of(t->job, g->number);
    if (t->failed)
        return;
    uint64_t start = report_clock();
    scan_status status = call ? call(t->job->arg, &g->lane, piece) : SCAN_OK;
    if (call && status == SCAN_OK && g->lane.ctx)
        status = scan_ctx_sync(g->lane.ctx);
    g->busy_ns += call ? report_clock() - start : 0;
    if (status != SCAN_OK)
        fail(t, g, status);
    else if (g->number == DOWNLOAD)
        t->good = piece + 1;
}

typedef struct reading {
    stream *t;
    size_t piece;
    bool there;
} reading;

static void read_piece(void *arg) {
    reading *r = arg;
    r->there = r->t->job->read(r->t->job->arg, r->piece);
}

/* Returns false at the end of the input, or if reading died. */
static bool run_read(stream *t, size_t piece) {
    reading r = {.t = t, .piece = piece};
    uint64_t start = report_clock();
    if (!die_catch(&t->read_error, read_piece, &r))
        t->read_failed = true;
    t->stages[READ].busy_ns += report_clock() - start;
    return r.there && !t->read_failed;
}

static bool may_begin(const stream *t, int number, size_t piece) {
    return number == READ ? piece - t->finished < t->job->slots : t->passed[number - 1] > piece;
}

/* Waits until stage g may work on the piece; returns false if there is no such piece. */
static bool wait_for(stream *t, const stage *g, size_t piece) {
    pthread_mutex_lock(&t->lock);
    while (!t->stop && (!t->go || (piece < t->end && !may_begin(t, g->number, piece))))
        pthread_cond_wait(&t->changed, &t->lock);
    bool there = !t->stop && piece < t->end;
    pthread_mutex_unlock(&t->lock);
    return there;
}

static void pass(stream *t, int number, size_t piece, bool there) {
    pthread_mutex_lock(&t->lock);
    if (there)
        t->passed[number] = piece + 1;
    else
        t->end = piece;
    pthread_cond_broadcast(&t->changed);
    pthread_mutex_unlock(&t->lock);
}

static void *stage_main(void *arg) {
    stage *g = arg;
    report_aside();
    for (size_t piece = 0; wait_for(g->in, g, piece); piece++) {
        bool there = true;
        if (g->number == READ)
            there = run_read(g->in, piece);
        else
            run_stage(g->in, g, piece);
        pass(g->in, g->number, piece, there);
    }
    return NULL;
}

/* ---- the caller's thread ----------------------------------------------------------------------------------------- */

static void compute_on_host(session *s, const stream_job *job, size_t piece) {
    stream_lane lane = {.ctx = s->ctx, .on_host = true};
    report_phase before = report_enter(PHASE_COMPUTE);
    stream_stage *call = job->on_host ? job->on_host : job->compute;
    scan_status status = call ? call(job->arg, &lane, piece) : SCAN_OK;
    if (status != SCAN_OK)
        session_fall_back(s, job->subject, status, scan_ctx_detail(s->ctx));
    report_moved(PHASE_COMPUTE, lane.bytes);
    report_enter(before);
}

static void run_on_host(session *s, const stream_job *job) {
    for (size_t piece = 0; job->read(job->arg, piece); piece++) {
        compute_on_host(s, job, piece);
        job->finish(job->arg, piece);
    }
}

/* A piece that the device did not process whole is computed by the CPU first. */
static void finish(session *s, stream *t, size_t piece) {
    if (piece >= t->good) {
        if (!s->on_host)
            session_fall_back(s, t->job->subject, t->status, t->detail);
        compute_on_host(s, t->job, piece);
    }
    t->job->finish(t->job->arg, piece);
}

static void finish_all(session *s, stream *t) {
    static const stage last = {.number = STAGES};
    for (size_t piece = 0; wait_for(t, &last, piece); piece++) {
        report_phase before = report_enter(PHASE_OTHER);
        finish(s, t, piece);
        report_enter(before);
        pthread_mutex_lock(&t->lock);
        t->finished = piece + 1;
        pthread_cond_broadcast(&t->changed);
        pthread_mutex_unlock(&t->lock);
    }
}

/* Without threads: the stages one after another, in the caller's. */
static void run_alone(session *s, stream *t) {
    for (size_t piece = 0; run_read(t, piece); piece++) {
        for (int i = UPLOAD; i < STAGES; i++)
            run_stage(t, &t->stages[i], piece);
        finish(s, t, piece);
    }
}

/* Computing uses the session's context; uploading and downloading beside it have contexts of their own. A stage that is
 * the only one of the three uses the session's, too; the device may still be opening, and s->ctx is then NULL. */
static scan_status open_lanes(const session *s, stream *t, char *detail, size_t detail_bytes) {
    const stream_job *job = t->job;
    bool alone = !!job->upload + !!job->compute + !!job->download == 1;
    for (int i = UPLOAD; i < STAGES; i++) {
        stage *g = &t->stages[i];
        g->lane.ctx = s->ctx;
        if (i == COMPUTE || alone || !stage_of(job, i))
            continue;
        g->lane.ctx = NULL;
        SESSION_TRY(session_another(s, &g->lane.ctx, detail, detail_bytes));
        g->own_context = true;
    }
    return SCAN_OK;
}

static bool start_threads(stream *t) {
    sigset_t all, before; /* signals are the main thread's */
    int started = 0;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (started < STAGES && pthread_create(&t->stages[started].thread, NULL, stage_main, &t->stages[started]) == 0)
        started++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_mutex_lock(&t->lock);
    t->go = true;
    t->stop = started < STAGES;
    pthread_cond_broadcast(&t->changed);
    pthread_mutex_unlock(&t->lock);
    for (int i = 0; t->stop && i < started; i++)
        pthread_join(t->stages[i].thread, NULL);
    return !t->stop;
}

static void close_stages(const session *s, stream *t, bool threads) {
    static const report_phase phases[STAGES] = {PHASE_READ, PHASE_UPLOAD, PHASE_COMPUTE, PHASE_DOWNLOAD};
    if (threads)
        report_overlap();
    for (int i = 0; i < STAGES; i++) {
        stage *g = &t->stages[i];
        if (threads)
            pthread_join(g->thread, NULL);
        report_time(phases[i], g->busy_ns);
        report_moved(phases[i], g->lane.bytes);
        if (g->own_context)
            session_drop(s, g->lane.ctx);
    }
}

static void run_on_device(session *s, const stream_job *job) {
    stream t = {.job = job, .end = SIZE_MAX};
    for (int i = 0; i < STAGES; i++)
        t.stages[i] = (stage){.in = &t, .number = i};
    pthread_mutex_init(&t.lock, NULL);
    pthread_cond_init(&t.changed, NULL);
    report_phase before = report_enter(PHASE_OPEN);
    char detail[256] = "";
    scan_status status = open_lanes(s, &t, detail, sizeof detail);
    t.stages[READ].lane.detail = detail;
    if (status != SCAN_OK)
        fail(&t, &t.stages[READ], status);
    report_enter(PHASE_WAIT);
    bool threads = start_threads(&t);
    if (threads)
        finish_all(s, &t);
    else
        run_alone(s, &t);
    report_enter(before);
    close_stages(s, &t, threads);
    pthread_cond_destroy(&t.changed);
    pthread_mutex_destroy(&t.lock);
    if (t.read_failed)
        rethrow_fatal(&t.read_error);
}

void stream_run(session *s, const stream_job *job) {
    if (s->on_host)
        run_on_host(s, job);
    else
        run_on_device(s, job);
}

/* ---- slots ------------------------------------------------------------------------------------------------------- */

/* Returns the number of groups in a piece. */
static size_t groups_of(const session *s, size_t size, uint64_t elements) {
    if (s->on_host)
        return HOST_GROUPS;
    uint64_t group = GROUP_BYTES / size, groups = elements / group / PIECES;
    return elements == 0 || groups > DEVICE_GROUPS ? DEVICE_GROUPS : groups ? (size_t)groups : 1;
}

size_t stream_prepare(session *s, const char *subject, size_t size, uint64_t elements,
                      scan_status (*make)(void *arg, session *s, size_t n), void *arg) {
    report_phase before = report_enter(s->on_host ? PHASE_OTHER : PHASE_OPEN);
    size_t keep = session_taken(s), groups = groups_of(s, size, elements);
    for (;;) {
        scan_status status = make(arg, s, groups * (GROUP_BYTES / size));
        if (status == SCAN_OK)
            break;
        char detail[256];
        snprintf(detail, sizeof detail, "%s", scan_ctx_detail(s->ctx));
        session_give_back(s, keep);
        if (status == SCAN_ERR_MEMORY && !s->on_host && groups > 1) {
            groups /= 2;
            continue;
        }
        session_fall_back(s, subject, status, detail);
        groups = groups_of(s, size, elements);
    }
    report_enter(before);
    return groups * (GROUP_BYTES / size);
}

scan_status stream_buffer_new(session *s, stream_buffer *buffer, size_t bytes) {
    if (s->on_host) {
        scan_status status = session_alloc(s, MEMORY_HOST, bytes, &buffer->host);
        buffer->context = buffer->host;
        return status;
    }
    scan_status status = session_alloc(s, MEMORY_PINNED, bytes, &buffer->host);
    return status == SCAN_OK ? session_alloc(s, MEMORY_DEVICE, bytes, &buffer->context) : status;
}

scan_status stream_up(stream_lane *lane, const stream_buffer *buffer, size_t bytes) {
    if (lane->on_host)
        return SCAN_OK;
    lane->bytes += bytes;
    return scan_upload(lane->ctx, buffer->context, buffer->host, bytes);
}

scan_status stream_down(stream_lane *lane, const stream_buffer *buffer, size_t bytes) {
    if (lane->on_host)
        return SCAN_OK;
    lane->bytes += bytes;
    return scan_download(lane->ctx, buffer->host, buffer->context, bytes);
}
