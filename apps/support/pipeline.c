/* SPDX-License-Identifier: MIT
 *
 * Pieces are numbered in the order of reading; three counts say how far each step has come. Piece i is in slot
 * i % slots, so it may be read once i < written + slots.
 */
#include "pipeline.h"

#include <stdlib.h>

#include "alloc.h"
#include "die.h"
#include "report_phase.h"
#include "thread.h"

typedef struct run {
    const pipeline *p;
    size_t read, taken, written; /* taken: pieces that a thread works on, or has worked on */
    bool ended;                  /* no more can be read */
    bool *done;                  /* the piece in a slot is to be written */
    unsigned workers;
    bool failed; /* work of a helper died of the error */
    fatal_error error;
    uint64_t phase_ns[PHASE_COUNT]; /* of the helpers */
    pthread_mutex_t mutex;
    pthread_cond_t changed;
} run;

typedef struct task {
    const pipeline *p;
    size_t slot;
    unsigned worker;
} task;

static void work(void *arg) {
    const task *t = arg;
    t->p->work(t->p->arg, t->slot, t->worker);
}

/* All of the following are called with the mutex held, and let it go while they are busy. */
static void work_on_next(run *r, unsigned worker) {
    size_t slot = r->taken++ % r->p->slots;
    task t = {r->p, slot, worker};
    fatal_error error;
    bool lives = true;
    pthread_mutex_unlock(&r->mutex);
    if (worker)
        lives = die_catch(&error, work, &t);
    else
        work(&t);
    pthread_mutex_lock(&r->mutex);
    if (!lives && !r->failed) {
        r->failed = true;
        r->error = error;
    }
    r->done[slot] = true;
    pthread_cond_broadcast(&r->changed);
}

static void read_next(run *r) {
    size_t slot = r->read % r->p->slots;
    pthread_mutex_unlock(&r->mutex);
    bool more = r->p->read(r->p->arg, slot);
    pthread_mutex_lock(&r->mutex);
    r->read += more;
    r->ended = !more;
    pthread_cond_broadcast(&r->changed);
}

static void write_next(run *r) {
    size_t slot = r->written % r->p->slots;
    pthread_mutex_unlock(&r->mutex);
    r->p->write(r->p->arg, slot);
    pthread_mutex_lock(&r->mutex);
    r->done[slot] = false;
    r->written++;
}

static void *help(void *arg) {
    run *r = arg;
    report_aside();
    pthread_mutex_lock(&r->mutex);
    unsigned worker = ++r->workers;
    while (!(r->ended && r->taken == r->read)) {
        if (r->taken < r->read)
            work_on_next(r, worker);
        else
            pthread_cond_wait(&r->changed, &r->mutex);
    }
    report_aside_times(r->phase_ns);
    pthread_mutex_unlock(&r->mutex);
    return NULL;
}

/* The helpers first get what they need while this thread is busy: one piece each beside what they are at, where a slot
 * is free. Then pieces are written, so that slots become free. */
static void lead(run *r, size_t helpers) {
    const bool works = !r->p->serial || helpers == 0;
    pthread_mutex_lock(&r->mutex);
    while (!(r->ended && r->written == r->read)) {
        if (r->failed)
            rethrow_fatal(&r->error);
        bool room = !r->ended && r->read - r->written < r->p->slots;
        size_t waiting = r->read - r->taken;
        if (room && waiting <= helpers)
            read_next(r);
        else if (r->written < r->read && r->done[r->written % r->p->slots])
            write_next(r);
        else if (waiting > 0 && works)
            work_on_next(r, 0);
        else
            pthread_cond_wait(&r->changed, &r->mutex);
    }
    pthread_mutex_unlock(&r->mutex);
}

static void report_helpers(const run *r) {
    for (int phase = 0; phase < PHASE_COUNT; phase++)
        if (r->phase_ns[phase]) {
            report_time((report_phase)phase, r->phase_ns[phase]);
            report_overlap();
        }
}

void pipeline_run(const pipeline *p) {
    run r = {.p = p, .done = must_alloc(p->slots, sizeof *r.done)};
    pthread_t helper[PIPELINE_MAX_THREADS];
    const size_t asked = p->serial ? 2 : p->threads;
    size_t wanted = asked < PIPELINE_MAX_THREADS ? asked : PIPELINE_MAX_THREADS, started = 0;
    for (size_t i = 0; i < p->slots; i++)
        r.done[i] = false;
    pthread_mutex_init(&r.mutex, NULL);
    pthread_cond_init(&r.changed, NULL);
    while (started + 1 < wanted && thread_start(&helper[started], help, &r))
        started++;
    lead(&r, started);
    while (started > 0)
        pthread_join(helper[--started], NULL);
    report_helpers(&r);
    pthread_cond_destroy(&r.changed);
    pthread_mutex_destroy(&r.mutex);
    free(r.done);
}
