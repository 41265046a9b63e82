/* SPDX-License-Identifier: MIT
 *
 * A small thread pool, owned by a context. (libgomp prints and exits if a thread or its memory cannot be created.)
 */
#ifndef SCAN_CPU_POOL_H
#define SCAN_CPU_POOL_H

#include <stdbool.h>
#include <stddef.h>

typedef struct scan_pool scan_pool;

/* `index` of `count` threads; the calling thread of scan_pool_run is index 0. */
typedef void scan_task(void *arg, unsigned index, unsigned count);

/* Returns how many processors this process may use. */
unsigned scan_pool_processors(void);

/* Creates a pool of at most `threads` threads, the caller included, or of fewer if the system does not start them.
 * NULL: no memory for the pool. */
scan_pool *scan_pool_create(unsigned threads);
void scan_pool_destroy(scan_pool *pool);
unsigned scan_pool_threads(const scan_pool *pool);

/* Returns how many threads pay for work that takes one thread about alone_us microseconds: few for little work, and for
 * work that is over before sleeping threads have woken only those that are awake. Threads of a call that follows the
 * one before at once are woken for the calls after it. Asked once a call, and not by calls that are too small for two
 * threads in any case. */
unsigned scan_pool_choose(scan_pool *pool, size_t alone_us);

/* For tests: from now on scan_pool_choose returns all threads, however little there is to do, and all calls are ready.
 */
void scan_pool_choose_all(scan_pool *pool);

/* Whether threads come at once to what they are offered: some are awake. Or the call that begins is one of several,
 * each of which has begun when the one before had just ended: then threads that it wakes are awake for the next. */
bool scan_pool_begin_call(scan_pool *pool);
void scan_pool_end_call(scan_pool *pool);

/* Runs task on `threads` threads at once, from 1 to those of the pool, and returns when all have returned. The others
 * sleep on. Not reentrant. */
void scan_pool_run(scan_pool *pool, unsigned threads, scan_task *task, void *arg);

/* Offers a task to the other ones of `threads` threads, while the caller goes on: a thread that comes before the offer
 * is withdrawn runs the task, and one that wakes later does not. withdraw returns when those that came have returned.
 * No run of several threads in between; a run of one thread may offer what is withdrawn after it. */
void scan_pool_offer(scan_pool *pool, unsigned threads, scan_task *task, void *arg);
void scan_pool_withdraw(scan_pool *pool);

/* Inside a task: waits until every thread of the run has arrived. Every thread must make the same calls. */
void scan_pool_barrier(scan_pool *pool);

/* Threads beside the caller that do not sleep. */
unsigned scan_pool_awake(const scan_pool *pool);

/* For spin loops. */
static inline void scan_pool_pause(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

#endif
