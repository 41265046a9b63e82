/* SPDX-License-Identifier: MIT
 *
 * The thread pool. A waiting thread spins for some microseconds, which covers the gaps inside one call and between
 * calls that follow each other, then sleeps. In a pool of more threads than processors it sleeps at once: the thread
 * that it waits for may need its processor.
 *
 * To wake a sleeping thread costs the caller some microseconds, and the thread works some fifty later. So a run takes
 * as many threads as pay (scan_pool_choose) and wakes those alone: each sleeps on a condition of its own. All spin on
 * one word, which has the number of the run and its threads: a thread that is not among them need not be waited for,
 * and what else belongs to the run it does not read. Of an offer the caller waits only for threads that have begun it.
 *
 * Linux may wake a thread on the caller's processor although another one is idle, and again at each call. Then either
 * waits for the other, which spins: sorts of 60,000 keys took 290 us in place of 105 (2 processors of a virtual
 * machine, Zen 4, 2026-11-30: tools/bench --verb sort --type f64 --n 60000 --threads 2 --distribution few:128). Such a
 * thread moves.
 */
#include "pool.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include "../shared/float_control.h"

enum {
    SPINS = 2000,
    MIN_SHARE_US = 5,   /* less work than this is not handed to a thread that is awake, */
    WAKING_US = 50,     /* less than this not to one that sleeps: it would come too late; */
    FOLLOWING_US = 100, /* but a call that comes so soon after the last one is one of many, and wakes */
    GAP_US = 20,        /* between calls of one loop, */
    CALLS = 3,          /* of which the first few do not wake */
    THREADS_BITS = 16,  /* of pool.run, the lowest, ... */
    OFFER = 1 << 15     /* ... of which one says that the run is an offer */
};

/* A counter that threads wait on until it changes. */
typedef struct event {
    atomic_uint value;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
} event;

typedef struct pool_worker {
    alignas(64) pthread_t thread;
    struct scan_pool *pool;
    unsigned index;
    atomic_bool sleeps;
    atomic_int processor; /* where it woke last, or moved to */
    pthread_mutex_t mutex;
    pthread_cond_t woken;
} pool_worker;

struct scan_pool {
    unsigned threads;
    unsigned spins;                       /* of a thread that waits, before it sleeps */
    alignas(64) atomic_uint_fast64_t run; /* its number << THREADS_BITS | its threads; 0 threads: the pool ends */
    atomic_uint sleepers;
    /* An offer that is open, its number << THREADS_BITS, and the workers that have taken it up; 0: none is open. */
    alignas(64) atomic_uint_fast64_t offer;
    event returned;             /* workers, of all offers */
    unsigned returned_before;   /* the offer */
    alignas(64) event released; /* barriers completed, the one that ends a run included */
    atomic_uint arrived;
    unsigned run_threads;
    atomic_int caller_processor; /* when it began the run */
    scan_task *task;
    void *arg;
    bool choose_all;
    int64_t busy_until_us; /* when the last call that asked for threads should have ended */
    int64_t ended_us;      /* the last call */
    unsigned calls;        /* that have followed one another */
    pool_worker workers[];
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

static void event_wait(event *e, unsigned seen, unsigned spins) {
    for (unsigned i = 0; i < spins; i++) {
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
    const unsigned threads = pool->run_threads; /* read before arrival: after it the next run may have begun */
    if (threads == 1)
        return;
    unsigned seen = atomic_load_explicit(&pool->released.value, memory_order_acquire);
    if (atomic_fetch_add_explicit(&pool->arrived, 1, memory_order_acq_rel) + 1 == threads) {
        atomic_store_explicit(&pool->arrived, 0, memory_order_relaxed);
        event_advance(&pool->released);
    } else {
        event_wait(&pool->released, seen, pool->spins);
    }
}

/* ---- workers ----------------------------------------------------------------------------------------------------- */

static unsigned threads_of(uint64_t run) { return (unsigned)(run & (OFFER - 1)); }

/* A run after `seen` that concerns this worker, or `seen`. */
static uint64_t next_run(const pool_worker *w, uint64_t seen) {
    uint64_t run = atomic_load(&w->pool->run);
    return run != seen && (threads_of(run) == 0 || threads_of(run) > w->index) ? run : seen;
}

/* Moves a worker that woke on the caller's processor to another one, where no thread of the pool was last if there is
 * one. Afterwards its mask is the one that it had. (Linux from 6.2 on keeps it to these processors, even if its cpuset
 * grows later.) */
static void leave_callers_processor(pool_worker *w) {
    const scan_pool *pool = w->pool;
    const int here = sched_getcpu();
    cpu_set_t all, others, unused;
    atomic_store_explicit(&w->processor, here, memory_order_relaxed);
    if (here < 0 || here != atomic_load_explicit(&pool->caller_processor, memory_order_relaxed) ||
        sched_getaffinity(0, sizeof all, &all) != 0)
        return;
    others = all;
    CPU_CLR((size_t)here, &others);
    unused = others;
    for (unsigned i = 1; i < pool->threads; i++) {
        const int taken = atomic_load_explicit(&pool->workers[i - 1].processor, memory_order_relaxed);
        if (taken >= 0)
            CPU_CLR((size_t)taken, &unused);
    }
    if (CPU_COUNT(&others) == 0 || sched_setaffinity(0, sizeof all, CPU_COUNT(&unused) ? &unused : &others) != 0)
        return;
    (void)sched_setaffinity(0, sizeof all, &all); /* as it was: it may */
    atomic_store_explicit(&w->processor, sched_getcpu(), memory_order_relaxed);
}

static uint64_t wait_for_run(pool_worker *w, uint64_t seen) {
    uint64_t run;
    for (unsigned i = 0; i < w->pool->spins; i++) {
        if ((run = next_run(w, seen)) != seen)
            return run;
        scan_pool_pause();
    }
    /* Either this thread sees the run or wake() sees it asleep: these accesses are sequentially consistent. */
    pthread_mutex_lock(&w->mutex);
    atomic_store(&w->sleeps, true);
    atomic_fetch_add(&w->pool->sleepers, 1);
    while ((run = next_run(w, seen)) == seen)
        pthread_cond_wait(&w->woken, &w->mutex);
    atomic_fetch_sub(&w->pool->sleepers, 1);
    atomic_store(&w->sleeps, false);
    pthread_mutex_unlock(&w->mutex);
    if (threads_of(run) > 0 && w->pool->spins > 0) /* else threads share processors anyway */
        leave_callers_processor(w);
    return run;
}

static void wake(pool_worker *w) {
    if (!atomic_load(&w->sleeps))
        return;
    pthread_mutex_lock(&w->mutex);
    pthread_cond_signal(&w->woken);
    pthread_mutex_unlock(&w->mutex);
}

static uint64_t next_number(const scan_pool *pool) {
    return (atomic_load_explicit(&pool->run, memory_order_relaxed) >> THREADS_BITS) + 1;
}

/* Begins the next run, of which some bits are given. 0 threads: the last one, of all. */
static void begin_run(scan_pool *pool, unsigned threads, unsigned bits) {
    atomic_store_explicit(&pool->caller_processor, sched_getcpu(), memory_order_relaxed);
    atomic_store(&pool->run, next_number(pool) << THREADS_BITS | bits | threads);
    for (unsigned i = 1; i < (threads ? threads : pool->threads); i++)
        wake(&pool->workers[i - 1]);
}

/* Takes part in an offer, if that is still open. */
static void take_up(pool_worker *w, uint64_t run) {
    scan_pool *pool = w->pool;
    uint64_t offer = atomic_load_explicit(&pool->offer, memory_order_relaxed);
    do {
        if (offer >> THREADS_BITS != run >> THREADS_BITS)
            return;
    } while (!atomic_compare_exchange_weak_explicit(&pool->offer, &offer, offer + 1, memory_order_acquire,
                                                    memory_order_relaxed));
    pool->task(pool->arg, w->index, threads_of(run));
    event_advance(&pool->returned);
}

static void *work(void *arg) {
    pool_worker *w = arg;
    scan_pool *pool = w->pool;
    scan_default_float_control(); /* a thread begins with its creator's */
    for (uint64_t run = 0;;) {
        run = wait_for_run(w, run);
        if (threads_of(run) == 0)
            return NULL;
        if (run & OFFER) {
            take_up(w, run);
            continue;
        }
        pool->task(pool->arg, w->index, threads_of(run));
        scan_pool_barrier(pool);
    }
}

static void end_worker(pool_worker *w) {
    pthread_cond_destroy(&w->woken);
    pthread_mutex_destroy(&w->mutex);
}

/* Workers block all signals: the program's own threads handle them. */
static bool start_worker(scan_pool *pool, unsigned index) {
    pool_worker *w = &pool->workers[index - 1];
    w->pool = pool;
    w->index = index;
    atomic_init(&w->sleeps, false);
    atomic_init(&w->processor, -1);
    pthread_mutex_init(&w->mutex, NULL);
    pthread_cond_init(&w->woken, NULL);
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&w->thread, NULL, work, w);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed)
        end_worker(w);
    return !failed;
}

/* ---- the pool ---------------------------------------------------------------------------------------------------- */

unsigned scan_pool_processors(void) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0)
        return (unsigned)CPU_COUNT(&set);
    return 1;
}

scan_pool *scan_pool_create(unsigned threads) {
    void *memory;
    if (posix_memalign(&memory, alignof(scan_pool), sizeof(scan_pool) + (threads - 1) * sizeof(pool_worker)))
        return NULL;
    scan_pool *pool = memory;
    atomic_init(&pool->run, 0);
    atomic_init(&pool->offer, 0);
    event_init(&pool->returned);
    atomic_init(&pool->sleepers, 0);
    event_init(&pool->released);
    atomic_init(&pool->arrived, 0);
    atomic_init(&pool->caller_processor, -1);
    pool->choose_all = false;
    pool->busy_until_us = INT64_MIN;
    pool->ended_us = INT64_MIN / 2;
    pool->calls = 0;
    pool->run_threads = 1;
    pool->spins = threads > scan_pool_processors() ? 0 : SPINS;
    pool->threads = 1;
    while (pool->threads < threads && start_worker(pool, pool->threads))
        pool->threads++;
    return pool;
}

void scan_pool_destroy(scan_pool *pool) {
    if (!pool)
        return;
    begin_run(pool, 0, 0);
    for (unsigned i = 1; i < pool->threads; i++) {
        pthread_join(pool->workers[i - 1].thread, NULL);
        end_worker(&pool->workers[i - 1]);
    }
    event_destroy(&pool->returned);
    event_destroy(&pool->released);
    free(pool);
}

unsigned scan_pool_threads(const scan_pool *pool) { return pool->threads; }

unsigned scan_pool_awake(const scan_pool *pool) { return pool->threads - 1 - atomic_load(&pool->sleepers); }

static int64_t now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static unsigned smaller(size_t a, size_t b) { return (unsigned)(a < b ? a : b); }

void scan_pool_choose_all(scan_pool *pool) { pool->choose_all = true; }

unsigned scan_pool_choose(scan_pool *pool, size_t alone_us) {
    if (pool->choose_all)
        return pool->threads;
    const unsigned wanted = smaller(alone_us / MIN_SHARE_US, pool->threads), ready = 1 + scan_pool_awake(pool);
    if (wanted < 2)
        return 1;
    const int64_t now = now_us();
    const bool follows = now < pool->busy_until_us + FOLLOWING_US;
    const unsigned woken = smaller(1 + alone_us / 2 / WAKING_US, wanted);
    const unsigned threads = wanted <= ready || follows ? wanted : ready > woken ? ready : woken;
    pool->busy_until_us = now + (int64_t)smaller(alone_us / threads, 1u << 30);
    return threads;
}

bool scan_pool_begin_call(scan_pool *pool) {
    pool->calls = now_us() - pool->ended_us <= GAP_US ? pool->calls + 1 : 0;
    return pool->choose_all || scan_pool_awake(pool) > 0 || pool->calls >= CALLS;
}

void scan_pool_end_call(scan_pool *pool) { pool->ended_us = now_us(); }

void scan_pool_run(scan_pool *pool, unsigned threads, scan_task *task, void *arg) {
    pool->run_threads = threads;
    pool->task = task;
    pool->arg = arg;
    if (threads > 1)
        begin_run(pool, threads, 0);
    task(arg, 0, threads);
    scan_pool_barrier(pool);
}

void scan_pool_offer(scan_pool *pool, unsigned threads, scan_task *task, void *arg) {
    pool->task = task;
    pool->arg = arg;
    pool->returned_before = atomic_load_explicit(&pool->returned.value, memory_order_relaxed);
    atomic_store_explicit(&pool->offer, next_number(pool) << THREADS_BITS, memory_order_release);
    begin_run(pool, threads, OFFER);
}

void scan_pool_withdraw(scan_pool *pool) {
    const uint64_t offer = atomic_exchange_explicit(&pool->offer, 0, memory_order_acq_rel);
    const unsigned taken_up = (unsigned)(offer & ((1u << THREADS_BITS) - 1));
    for (;;) {
        const unsigned returned = atomic_load_explicit(&pool->returned.value, memory_order_acquire);
        if (returned - pool->returned_before == taken_up)
            return;
        event_wait(&pool->returned, returned, pool->spins);
    }
}
