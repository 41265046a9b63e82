/* SPDX-License-Identifier: MIT
 *
 * A small thread pool, owned by a context. (libgomp prints and exits if a thread or its memory cannot be created.)
 */
#ifndef SCAN_CPU_POOL_H
#define SCAN_CPU_POOL_H

typedef struct scan_pool scan_pool;

/* `index` of `count` threads; the calling thread of scan_pool_run is index 0. */
typedef void scan_task(void *arg, unsigned index, unsigned count);

/* Creates a pool of at most `threads` threads, the caller included, or of fewer if the system does not start them.
 * NULL: no memory for the pool. */
scan_pool *scan_pool_create(unsigned threads);
void scan_pool_destroy(scan_pool *pool);
unsigned scan_pool_threads(const scan_pool *pool);

/* Runs task on every thread at once and returns when all have returned. Not reentrant. */
void scan_pool_run(scan_pool *pool, scan_task *task, void *arg);

/* Inside a task: waits until every thread of the pool has arrived. Every thread must make the same calls. */
void scan_pool_barrier(scan_pool *pool);

/* For spin loops. */
static inline void scan_pool_pause(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

#endif
