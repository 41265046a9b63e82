/* SPDX-License-Identifier: MIT
 *
 * The thread pool. A waiting thread spins for some microseconds, which covers the gaps inside one call, then sleeps.
 */
#include "pool.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include "../shared/float_control.h"

enum { SPINS = 2000 };

/* A counter that threads wait on until it changes. */
typedef struct event {
    atomic_uint value;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
} event;

struct scan_pool {
    unsigned threads;
    event started;  /* runs begun */
    event released; /* barriers completed, the one that ends a run included */
    atomic_uint arrived;
    scan_task *task;
    void *arg;
    bool stop;
    pthread_t workers[];
};

static void event_init(event *e) {
    atomic_init(&e->value, 0);
    pthread_mutex_init(&e->mutex, NULL);
    pthread_cond_init(&e->changed, NULL);
}

static void event_destroy(event *e) {
    pthread_cond_destroy(&e->changed);
    pthread_mutex_destroy(&e->mutex);
}

static void event_advance(event *e) {
    pthread_mutex_lock(&e->mutex);
    atomic_fetch_add_explicit(&e->value, 1, memory_order_release);
    pthread_cond_broadcast(&e->changed);
    pthread_mutex_unlock(&e->mutex);
}

static void event_wait(event *e, unsigned seen) {
    for (int i = 0; i < SPINS; i++) {
        if (atomic_load_explicit(&e->value, memory_order_acquire) != seen)
            return;
        scan_pool_pause();
    }
    pthread_mutex_lock(&e->mutex);
    while (atomic_load_explicit(&e->value, memory_order_acquire) == seen)
        pthread_cond_wait(&e->changed, &e->mutex);
    pthread_mutex_unlock(&e->mutex);
}

void scan_pool_barrier(scan_pool *pool) {
    if (pool->threads == 1)
        return;
    unsigned seen = atomic_load_explicit(&pool->released.value, memory_order_acquire);
    if (atomic_fetch_add_explicit(&pool->arrived, 1, memory_order_acq_rel) + 1 == pool->threads) {
        atomic_store_explicit(&pool->arrived, 0, memory_order_relaxed);
        event_advance(&pool->released);
    } else {
        event_wait(&pool->released, seen);
    }
}

typedef struct worker_start {
    scan_pool *pool;
    unsigned index;
} worker_start;

static void *worker(void *arg) {
    worker_start start = *(worker_start *)arg;
    free(arg);
    scan_pool *pool = start.pool;
    scan_default_float_control(); /* a thread begins with its creator's */
    for (unsigned seen = 0;; seen++) {
        event_wait(&pool->started, seen);
        if (pool->stop)
            return NULL;
        pool->task(pool->arg, start.index, pool->threads);
        scan_pool_barrier(pool);
    }
}

/* Workers block all signals: the program's own threads handle them. */
static bool start_worker(scan_pool *pool, unsigned index) {
    worker_start *start = malloc(sizeof *start);
    if (!start)
        return false;
    *start = (worker_start){pool, index};
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&pool->workers[index - 1], NULL, worker, start);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed)
        free(start);
    return !failed;
}

scan_pool *scan_pool_create(unsigned threads) {
    scan_pool *pool = malloc(sizeof *pool + (threads - 1) * sizeof pool->workers[0]);
    if (!pool)
        return NULL;
    event_init(&pool->started);
    event_init(&pool->released);
    atomic_init(&pool->arrived, 0);
    pool->stop = false;
    pool->threads = 1;
    while (pool->threads < threads && start_worker(pool, pool->threads))
        pool->threads++; /* no worker reads this before the first run */
    return pool;
}

void scan_pool_destroy(scan_pool *pool) {
    if (!pool)
        return;
    pool->stop = true;
    event_advance(&pool->started);
    for (unsigned i = 1; i < pool->threads; i++)
        pthread_join(pool->workers[i - 1], NULL);
    event_destroy(&pool->started);
    event_destroy(&pool->released);
    free(pool);
}

unsigned scan_pool_threads(const scan_pool *pool) { return pool->threads; }

void scan_pool_run(scan_pool *pool, scan_task *task, void *arg) {
    pool->task = task;
    pool->arg = arg;
    if (pool->threads > 1)
        event_advance(&pool->started);
    task(arg, 0, pool->threads);
    scan_pool_barrier(pool);
}
