/* SPDX-License-Identifier: MIT
 *
 * A job on the lanes of an array (axis.h). Lanes go in batches that fit a cache. Those along the last axis lie one
 * after another and stay where they are; along another axis a batch of neighbours is transposed into memory of its own,
 * which reads and writes whole cache lines, and its results are transposed back.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "axis.h"
#include "die.h"
#include "parallel.h"
#include "report.h"
#include "rows.h"
#include "transpose.h"

enum {
    HOST_BATCH_BYTES = 256 << 10,
    MAX_STREAMED_BYTES = 8 << 20, /* of a batch, while others are written */
    DEVICE_BATCH_BYTES = 64 << 20,
    LONG_LANE = 1 << 18 /* elements that all threads sort or scan faster than one */
};

/* How the lanes are cut into batches: groups of neighbours, each cut by itself. */
typedef struct batching {
    const lanes_job *job;
    void *out;  /* of the whole array; may be job->in; NULL: there is no result, and no call */
    bool moved; /* lanes are transposed to a batch's own memory */
    size_t groups, group_lanes, batch_lanes, group_batches;
} batching;

static batching batches_of(const lanes_job *job, void *out, size_t batch_bytes) {
    const lanes *l = &job->shape;
    batching b = {.job = job, .out = out, .moved = l->inner > 1};
    b.groups = b.moved ? l->outer : 1;
    b.group_lanes = b.moved ? l->inner : l->outer;
    b.batch_lanes = batch_bytes / (l->length * job->in_size + 1) + 1;
    if (b.moved && b.batch_lanes < LANES_MOVED)
        b.batch_lanes = LANES_MOVED;
    if (b.batch_lanes > b.group_lanes)
        b.batch_lanes = b.group_lanes;
    b.group_batches = (b.group_lanes + b.batch_lanes - 1) / b.batch_lanes;
    return b;
}

/* One batch: its first element in the array, and its lanes. */
typedef struct batch {
    size_t first, lanes;
} batch;

static batch batch_at(const batching *b, size_t i) {
    const lanes *l = &b->job->shape;
    const size_t group = i / b->group_batches, lane = i % b->group_batches * b->batch_lanes;
    const size_t rest = b->group_lanes - lane;
    return (batch){.first = b->moved ? group * l->length * l->inner + lane : lane * l->length,
                   .lanes = rest < b->batch_lanes ? rest : b->batch_lanes};
}

/* Memory for a batch's lanes, one after another; NULL if they lie so in the array. */
typedef struct room {
    void *in, *out;
} room;

static room room_for(const batching *b) {
    const size_t count = b->batch_lanes * b->job->shape.length;
    if (!b->moved)
        return (room){NULL, NULL};
    return (room){must_alloc(count, b->job->in_size), b->out ? must_alloc(count, b->job->out_size) : NULL};
}

static void free_room(room *r) {
    free(r->in);
    free(r->out);
}

/* The lanes of a batch, one after another on the host. */
static const void *take_lanes(const batching *b, const batch *x, const room *r) {
    const lanes_job *j = b->job;
    const char *in = (const char *)j->in + x->first * j->in_size;
    if (b->moved)
        transpose(r->in, j->shape.length, in, j->shape.inner, j->shape.length, x->lanes, j->in_size);
    return b->moved ? r->in : in;
}

static void *result_of(const batching *b, const batch *x, const room *r) {
    if (!b->out)
        return NULL;
    return b->moved ? r->out : (char *)b->out + x->first * b->job->out_size;
}

/* Calls finish for each lane, and puts what it left into the result. */
static void finish_lanes(const batching *b, const batch *x, const void *in, void *out) {
    const lanes_job *j = b->job;
    const size_t n = j->shape.length;
    for (size_t i = 0; j->finish && i < x->lanes; i++)
        j->finish(j->arg, (const char *)in + i * n * j->in_size, out ? (char *)out + i * n * j->out_size : NULL, n,
                  x->first + i * (b->moved ? 1 : n));
    if (b->moved && out)
        transpose((char *)b->out + x->first * j->out_size, j->shape.inner, out, n, x->lanes, n, j->out_size);
}

static scan_status call_lanes(const batching *b, const batch *x, scan_ctx *ctx, bool on_host, const void *in,
                              void *out) {
    const lanes_job *j = b->job;
    const size_t n = j->shape.length;
    for (size_t i = 0; out && i < x->lanes; i++)
        SESSION_TRY(
            j->call(j->arg, ctx, on_host, (const char *)in + i * n * j->in_size, (char *)out + i * n * j->out_size, n));
    return SCAN_OK;
}

/* ---- on the host ------------------------------------------------------------------------------------------------- */

typedef struct crew {
    batching b;
    const char *subject;
    scan_ctx *ctx; /* of all threads, which then work on one lane after another; NULL: each thread makes its own */
    atomic_size_t next;
    atomic_bool failed;
    fatal_error *errors; /* of each worker */
    bool *died;
} crew;

static void must(const crew *c, scan_ctx *ctx, scan_status status) {
    if (status != SCAN_OK)
        die(session_exit_code(status), "%s: %s", c->subject,
            ctx && scan_ctx_detail(ctx)[0] ? scan_ctx_detail(ctx) : scan_status_string(status));
}

static void work_on_batches(void *arg) {
    crew *c = arg;
    const batching *b = &c->b;
    const scan_options options = {.struct_size = sizeof options, .threads = 1};
    scan_ctx *ctx = c->ctx;
    room r = {NULL, NULL};
    for (size_t i; (i = atomic_fetch_add(&c->next, 1)) < b->groups * b->group_batches && !atomic_load(&c->failed);) {
        if (!r.in)
            r = room_for(b);
        if (!ctx && b->out)
            must(c, NULL, scan_ctx_create(&ctx, &options));
        const batch x = batch_at(b, i);
        const void *in = take_lanes(b, &x, &r);
        void *out = result_of(b, &x, &r);
        must(c, ctx, call_lanes(b, &x, ctx, true, in, out));
        finish_lanes(b, &x, in, out);
    }
    free_room(&r);
    if (!c->ctx)
        scan_ctx_destroy(ctx);
}

static void work(void *arg, size_t worker) {
    crew *c = arg;
    c->died[worker] = !die_catch(&c->errors[worker], work_on_batches, c);
    if (c->died[worker])
        atomic_store(&c->failed, true);
}

/* Whether all threads should work on one lane after another. */
static bool are_few(const lanes_job *job) {
    return job->shape.outer * job->shape.inner < 2 * (size_t)job->threads && job->shape.length >= LONG_LANE;
}

static void run_on_host(const lanes_job *job, void *out, scan_ctx *ctx, const char *subject) {
    crew c = {.b = batches_of(job, out, HOST_BATCH_BYTES), .subject = subject};
    unsigned threads = job->threads;
    if (out && are_few(job)) {
        c.ctx = ctx;
        threads = 1;
    }
    c.errors = must_alloc(threads, sizeof *c.errors);
    c.died = must_alloc(threads, sizeof *c.died);
    memset(c.died, 0, threads * sizeof *c.died);
    atomic_init(&c.next, 0);
    atomic_init(&c.failed, false);
    parallel_for(threads, threads, work, &c);
    for (unsigned i = 0; i < threads; i++)
        if (c.died[i])
            rethrow_fatal(&c.errors[i]);
    free(c.errors);
    free(c.died);
}

/* ---- on a device ------------------------------------------------------------------------------------------------- */

typedef struct attempt {
    const lanes_job *job;
    void *out;
    const char *subject;
    room r; /* for the device; freed after all attempts */
} attempt;

static scan_status run_batch(const batching *b, session *s, const batch *x, const room *r, void *d_in, void *d_out) {
    const lanes_job *j = b->job;
    const size_t count = x->lanes * j->shape.length;
    const void *in = take_lanes(b, x, r);
    void *out = result_of(b, x, r);
    SESSION_TRY(scan_upload(s->ctx, d_in, in, count * j->in_size));
    SESSION_TRY(call_lanes(b, x, s->ctx, false, d_in, d_out));
    SESSION_TRY(session_wait(s));
    SESSION_TRY(session_download(s, out, d_out, count * j->out_size));
    finish_lanes(b, x, in, out);
    return SCAN_OK;
}

static scan_status run_attempt(void *arg, session *s) {
    attempt *a = arg;
    const lanes_job *j = a->job;
    if (s->on_host) {
        run_on_host(j, a->out, s->ctx, a->subject);
        return SCAN_OK;
    }
    const batching b = batches_of(j, a->out, DEVICE_BATCH_BYTES);
    const size_t count = b.batch_lanes * j->shape.length;
    void *d_in, *d_out;
    a->r = room_for(&b);
    SESSION_TRY(session_alloc(s, MEMORY_DEVICE, count * j->in_size, &d_in));
    SESSION_TRY(session_alloc(s, MEMORY_DEVICE, count * j->out_size, &d_out));
    for (size_t i = 0; i < b.groups * b.group_batches; i++) {
        const batch x = batch_at(&b, i);
        SESSION_TRY(run_batch(&b, s, &x, &a->r, d_in, d_out));
    }
    return SCAN_OK;
}

/* ---- written while they are computed ----------------------------------------------------------------------------- */

/* Contexts of one thread each: as many as threads work at once. */
typedef struct streaming {
    batching b;
    pthread_mutex_t mutex;
    scan_ctx **idle;
    size_t idle_count;
    scan_status status; /* the first failure */
    char detail[256];
} streaming;

static scan_ctx *take_context(streaming *w) {
    const scan_options options = {.struct_size = sizeof options, .threads = 1};
    scan_ctx *ctx = NULL;
    pthread_mutex_lock(&w->mutex);
    if (w->idle_count)
        ctx = w->idle[--w->idle_count];
    pthread_mutex_unlock(&w->mutex);
    if (!ctx && scan_ctx_create(&ctx, &options) != SCAN_OK)
        return NULL;
    return ctx;
}

static void give_back(streaming *w, scan_ctx *ctx, scan_status status) {
    pthread_mutex_lock(&w->mutex);
    if (status != SCAN_OK && w->status == SCAN_OK) {
        w->status = status;
        snprintf(w->detail, sizeof w->detail, "%s", ctx ? scan_ctx_detail(ctx) : scan_status_string(status));
    }
    if (ctx)
        w->idle[w->idle_count++] = ctx;
    pthread_mutex_unlock(&w->mutex);
}

static size_t fill_block(void *arg, size_t block, unsigned char *buffer) {
    streaming *w = arg;
    const lanes_job *j = w->b.job;
    const batch x = batch_at(&w->b, block);
    const void *in = (const char *)j->in + x.first * j->in_size;
    scan_ctx *ctx = take_context(w);
    const scan_status status = ctx ? call_lanes(&w->b, &x, ctx, true, in, buffer) : SCAN_ERR_MEMORY;
    if (status == SCAN_OK)
        finish_lanes(&w->b, &x, in, buffer);
    give_back(w, ctx, status);
    return x.lanes * j->shape.length * j->out_size;
}

static void write_streaming(const batching *b, const char *subject, const array_writer *to) {
    streaming w = {.b = *b, .idle = must_alloc(b->job->threads, sizeof *w.idle)};
    const size_t block_bytes = b->batch_lanes * b->job->shape.length * b->job->out_size;
    pthread_mutex_init(&w.mutex, NULL);
    report_phase before = report_enter(PHASE_COMPUTE);
    rows_stream(to->out, b->group_batches, block_bytes, fill_block, &w, b->job->threads, NULL);
    report_enter(before);
    if (w.status != SCAN_OK)
        die(session_exit_code(w.status), "%s: %s", subject, w.detail);
    while (w.idle_count)
        scan_ctx_destroy(w.idle[--w.idle_count]);
    pthread_mutex_destroy(&w.mutex);
    free(w.idle);
}

/* ---- all --------------------------------------------------------------------------------------------------------- */

void lanes_write(const lanes_job *job, session *s, const char *subject, const array_writer *to,
                 const npy_header *header) {
    const size_t count = lanes_elements(&job->shape);
    session_ready(s);
    const batching b = count ? batches_of(job, NULL, HOST_BATCH_BYTES) : (batching){0};
    const bool streams = count && !job->share && s->on_host && !b.moved && !job->checks && !are_few(job) &&
                         to->format != FORMAT_TEXT &&
                         b.batch_lanes * job->shape.length * job->out_size <= MAX_STREAMED_BYTES;
    const bool in_place = s->on_host && !job->checks && job->in_size == job->out_size && (b.moved || !job->apart);
    attempt a = {.job = job, .subject = subject};
    if (!streams)
        a.out = in_place ? job->in : must_alloc(count, job->out_size);
    if (count && !streams)
        session_try(s, subject, run_attempt, &a);
    report_moved(PHASE_COMPUTE, count * (job->in_size + job->out_size));
    if (header)
        array_write_header(to, header->dimensions, header->shape);
    if (streams)
        write_streaming(&b, subject, to);
    else if (job->share)
        lanes_share_write(job->share, to, a.out);
    else
        array_write(to, a.out, count);
    free_room(&a.r);
    if (a.out != job->in)
        free(a.out);
}

void lanes_check(const lanes_job *job, const char *subject) {
    lanes_job one_by_one = *job;
    one_by_one.threads = 1;
    if (lanes_elements(&job->shape) > 0)
        run_on_host(&one_by_one, NULL, NULL, subject);
}
