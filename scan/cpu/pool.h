/* SPDX-License-Identifier: MIT
 *
 * A small thread pool, owned by a context. (libgomp prints and exits when a thread or its memory cannot be had.)
 */
#ifndef SCAN_CPU_POOL_H
#define SCAN_CPU_POOL_H

typedef struct scan_pool scan_pool;

/* `index` of `count` threads; the calling thread of scan_pool_run is index 0. */
typedef void scan_task(void *arg, unsigned index, unsigned count);

/* At most `threads` threads, the caller counted; fewer if the system gives fewer. NULL: no memory for the pool. */
scan_pool *scan_pool_create(unsigned threads);
void scan_pool_destroy(scan_pool *pool);
unsigned scan_pool_threads(const scan_pool *pool);

/* Runs task on every thread at once and returns when all have returned. Not reentrant. */
void scan_pool_run(scan_pool *pool, scan_task *task, void *arg);

/* Inside a task: waits until every thread of the pool has come here. Every thread must make the same calls. */
void scan_pool_barrier(scan_pool *pool);

/* Between two looks at what another thread will change. */
static inline void scan_pool_pause(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

#endif
