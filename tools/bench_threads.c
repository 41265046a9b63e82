/* SPDX-License-Identifier: MIT
 *
 * Loops over threads, for the copy, the inputs and the checks. Helper threads live until the program ends: starting
 * one takes longer than a small copy.
 */
#include <pthread.h>
#include <time.h>

#include "bench.h"

enum { MAX_THREADS = 64 };

static struct {
    pthread_mutex_t mutex;
    pthread_cond_t wake, done;
    unsigned started, pending, count;
    uint64_t round;
    thread_work *work;
    void *argument;
} pool = {.mutex = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER, .done = PTHREAD_COND_INITIALIZER};

static void *helper(void *argument) {
    unsigned index = (unsigned)(uintptr_t)argument;
    uint64_t seen = 0;
    pthread_mutex_lock(&pool.mutex);
    for (;;) {
        while (pool.round == seen)
            pthread_cond_wait(&pool.wake, &pool.mutex);
        seen = pool.round;
        unsigned count = pool.count;
        pthread_mutex_unlock(&pool.mutex);
        if (index < count)
            pool.work(pool.argument, index, count);
        pthread_mutex_lock(&pool.mutex);
        if (--pool.pending == 0)
            pthread_cond_signal(&pool.done);
    }
    return NULL;
}

unsigned in_parallel(unsigned threads, thread_work *work, void *argument) {
    if (threads > MAX_THREADS)
        threads = MAX_THREADS;
    pthread_mutex_lock(&pool.mutex);
    while (pool.started + 1 < threads) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, helper, (void *)(uintptr_t)(pool.started + 1)) != 0)
            break; /* go on with fewer */
        pthread_detach(thread);
        pool.started++;
    }
    pool.count = threads < pool.started + 1 ? threads : pool.started + 1;
    unsigned count = pool.count;
    pool.work = work;
    pool.argument = argument;
    pool.pending = pool.started;
    pool.round++;
    pthread_cond_broadcast(&pool.wake);
    pthread_mutex_unlock(&pool.mutex);
    work(argument, 0, count);
    pthread_mutex_lock(&pool.mutex);
    while (pool.pending > 0)
        pthread_cond_wait(&pool.done, &pool.mutex);
    pthread_mutex_unlock(&pool.mutex);
    return count;
}

uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}
