/* SPDX-License-Identifier: MIT
 *
 * Workers take indices from a counter; the caller waits for the next index in order. A worker that is a window ahead of
 * the caller waits, which bounds the memory for any number of jobs. The worker with the lowest index never waits, hence
 * no deadlock.
 */
#include "batch.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>

#include "apps/support/alloc.h"

typedef struct state {
    const batch *b;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    size_t next;  /* index that the next worker takes */
    size_t taken; /* results taken: 0 ... taken-1 */
    bool *done;   /* by index modulo window */
    size_t window;
} state;

typedef struct worker {
    state *s;
    unsigned number;
    pthread_t thread;
} worker;

static void *worker_main(void *arg) {
    const worker *w = arg;
    state *s = w->s;
    pthread_mutex_lock(&s->lock);
    while (s->next < s->b->count) {
        size_t index = s->next++;
        while (index >= s->taken + s->window)
            pthread_cond_wait(&s->changed, &s->lock);
        pthread_mutex_unlock(&s->lock);
        s->b->work(s->b->arg, index, w->number);
        pthread_mutex_lock(&s->lock);
        s->done[index % s->window] = true;
        pthread_cond_broadcast(&s->changed);
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

static void take_all(state *s) {
    for (size_t index = 0; index < s->b->count; index++) {
        pthread_mutex_lock(&s->lock);
        while (!s->done[index % s->window])
            pthread_cond_wait(&s->changed, &s->lock);
        pthread_mutex_unlock(&s->lock);
        s->b->take(s->b->arg, index);
        pthread_mutex_lock(&s->lock);
        s->done[index % s->window] = false;
        s->taken = index + 1;
        pthread_cond_broadcast(&s->changed);
        pthread_mutex_unlock(&s->lock);
    }
}

/* Workers block all signals: the caller's thread handles them. */
static unsigned start_workers(worker *workers, const batch *b, state *s) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    unsigned started = 0;
    for (; started < b->threads; started++) {
        workers[started] = (worker){.s = s, .number = started};
        if (pthread_create(&workers[started].thread, NULL, worker_main, &workers[started]) != 0)
            break;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

void batch_run(const batch *b) {
    state s = {.b = b, .window = batch_window(b->threads)};
    s.done = must_alloc(s.window, sizeof *s.done);
    for (size_t k = 0; k < s.window; k++)
        s.done[k] = false;
    pthread_mutex_init(&s.lock, NULL);
    pthread_cond_init(&s.changed, NULL);
    worker *workers = must_alloc(b->threads, sizeof *workers);
    unsigned started = start_workers(workers, b, &s);
    if (started > 0)
        take_all(&s);
    else
        for (size_t index = 0; index < b->count; index++) {
            b->work(b->arg, index, 0);
            b->take(b->arg, index);
        }
    for (unsigned k = 0; k < started; k++)
        pthread_join(workers[k].thread, NULL);
    free(workers);
    free(s.done);
    pthread_cond_destroy(&s.changed);
    pthread_mutex_destroy(&s.lock);
}
