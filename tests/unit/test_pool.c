/* SPDX-License-Identifier: MIT
 *
 * The thread pool: every thread of a run works once, barriers separate phases, runs follow each other without a pause;
 * and how many threads a run takes, and where they run.
 */
#include <sched.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "scan/cpu/cpu.h"
#include "support.h"

enum { MAX = 8, ROUNDS = 20 };

typedef struct shared {
    scan_pool *pool;
    unsigned ran[MAX];
    unsigned long phase[2][MAX];
    unsigned long sum[MAX];
} shared;

/* Each round reads what all others wrote in the round before: wrong without the barrier, and a race for TSan. */
static void task(void *arg, unsigned index, unsigned count) {
    shared *s = arg;
    s->ran[index]++;
    s->phase[0][index] = index + 1;
    for (int round = 0; round < ROUNDS; round++) {
        scan_pool_barrier(s->pool);
        unsigned long total = 0;
        for (unsigned i = 0; i < count; i++)
            total += s->phase[round & 1][i];
        s->phase[!(round & 1)][index] = total % 1000003 + index;
        s->sum[index] = total;
    }
}

static unsigned long expected_sum(unsigned threads) {
    unsigned long phase[2][MAX], total = 0;
    for (unsigned i = 0; i < threads; i++)
        phase[0][i] = i + 1;
    for (int round = 0; round < ROUNDS; round++) {
        total = 0;
        for (unsigned i = 0; i < threads; i++)
            total += phase[round & 1][i];
        for (unsigned i = 0; i < threads; i++)
            phase[!(round & 1)][i] = total % 1000003 + i;
    }
    return total;
}

static void barriers_separate_phases(void **state) {
    (void)state;
    for (unsigned threads = 1; threads <= MAX; threads++) {
        scan_pool *pool = scan_pool_create(threads);
        assert_non_null(pool);
        assert_int_equal(scan_pool_threads(pool), threads);
        shared s = {.pool = pool};
        for (unsigned run = 1; run <= 100; run++) {
            scan_pool_run(pool, threads, task, &s);
            for (unsigned i = 0; i < threads; i++) {
                assert_int_equal(s.ran[i], run);
                assert_int_equal(s.sum[i], expected_sum(threads));
            }
            if (run % 25 == 0) /* long enough for the workers to fall asleep */
                nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
        }
        scan_pool_destroy(pool);
    }
    scan_pool_destroy(NULL);
}

/* Runs of fewer threads than the pool has, and of more again: each takes the first ones. */
static void runs_of_some_threads(void **state) {
    (void)state;
    scan_pool *pool = scan_pool_create(MAX);
    shared s = {.pool = pool};
    unsigned expected[MAX] = {0};
    uint64_t rng = 1;
    for (int run = 0; run < 120; run++) {
        unsigned threads = 1 + (unsigned)random_below(&rng, MAX);
        scan_pool_run(pool, threads, task, &s);
        for (unsigned i = 0; i < MAX; i++) {
            expected[i] += i < threads;
            assert_int_equal(s.ran[i], expected[i]);
            if (i < threads)
                assert_int_equal(s.sum[i], expected_sum(threads));
        }
        if (run % 20 == 10)
            nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    scan_pool_destroy(pool);
}

/* What the threads that take up an offer do until it is withdrawn. */
typedef struct offered {
    atomic_bool stop;
    atomic_uint entered, left;
    unsigned ran[MAX];
    unsigned threads;
} offered;

static void until_stopped(void *arg, unsigned index, unsigned count) {
    offered *o = arg;
    atomic_fetch_add(&o->entered, 1);
    o->ran[index]++;
    while (!atomic_load(&o->stop))
        scan_pool_pause();
    atomic_fetch_add(&o->left, count == o->threads ? 1 : MAX);
}

/* Offers withdrawn at once, after some time, and when a thread has come, which must happen; and runs between them. */
static void offers_may_be_taken_up(void **state) {
    (void)state;
    scan_pool *pool = scan_pool_create(MAX);
    uint64_t rng = 7;
    for (int round = 0; round < 300; round++) {
        offered o = {.threads = 2 + (unsigned)random_below(&rng, MAX - 1)};
        scan_pool_offer(pool, o.threads, until_stopped, &o);
        if (round % 3 == 1)
            for (uint64_t spins = random_below(&rng, 20000); spins > 0; spins--)
                scan_pool_pause();
        while (round % 3 == 2 && atomic_load(&o.entered) == 0)
            sched_yield();
        atomic_store(&o.stop, true);
        scan_pool_withdraw(pool);
        const unsigned came = atomic_load(&o.entered);
        assert_int_equal(atomic_load(&o.left), came);
        if (round % 16 == 0) /* until all have seen it */
            nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
        assert_int_equal(atomic_load(&o.entered), came);
        assert_int_equal(o.ran[0], 0);
        for (unsigned i = 1; i < MAX; i++)
            assert_true(o.ran[i] <= (i < o.threads));
        shared s = {.pool = pool};
        scan_pool_run(pool, o.threads, task, &s);
        for (unsigned i = 0; i < o.threads; i++)
            assert_int_equal(s.sum[i], expected_sum(o.threads));
    }
    scan_pool_destroy(pool);
}

/* Longer than a call may follow another, and until all workers sleep. */
static void let_sleep(const scan_pool *pool) {
    do
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    while (scan_pool_awake(pool) > 0);
}

static void as_many_threads_as_pay(void **state) {
    (void)state;
    scan_pool *pool = scan_pool_create(MAX);
    let_sleep(pool);
    assert_int_equal(scan_pool_choose(pool, 0), 1);
    assert_int_equal(scan_pool_choose(pool, 9), 1);               /* too little to share */
    assert_int_equal(scan_pool_choose(pool, 50), 1);              /* over before a thread has woken */
    for (int calls = 0; scan_pool_choose(pool, 50) == 1; calls++) /* another call at once: more will come */
        assert_true(calls < 1000);
    let_sleep(pool);
    assert_int_equal(scan_pool_choose(pool, 200), 3); /* a part of them */
    let_sleep(pool);
    assert_int_equal(scan_pool_choose(pool, 1000), MAX);
    scan_pool_destroy(pool);
    pool = scan_pool_create(1);
    assert_int_equal(scan_pool_choose(pool, 1000000), 1);
    scan_pool_destroy(pool);
}

static void calls_in_a_loop(void **state) {
    (void)state;
    enum { FEW = 3, MANY = 1000 };
    scan_pool *pool = scan_pool_create(MAX);
    let_sleep(pool);
    for (int calls = 0; calls < FEW; calls++) { /* which would wait for threads to wake */
        assert_false(scan_pool_begin_call(pool));
        scan_pool_end_call(pool);
    }
    for (int calls = 0; !scan_pool_begin_call(pool); calls++) { /* one may have been late */
        scan_pool_end_call(pool);
        assert_true(calls < MANY);
    }
    scan_pool_end_call(pool);
    let_sleep(pool);
    assert_false(scan_pool_begin_call(pool));
    scan_pool_choose_all(pool);
    assert_true(scan_pool_begin_call(pool));
    scan_pool_destroy(pool);
}

/* Calls that come one by one: one of 10^5 elements wakes no thread, one of 2 * 10^6 all; of calls without a pause some.
 */
static void calls_one_by_one(void **state) {
    (void)state;
    enum { SHORT = 100000, LONG = 2000000 };
    const scan_options options = {.struct_size = sizeof options, .threads = MAX};
    scan_ctx *ctx;
    assert_int_equal(scan_ctx_create(&ctx, &options), SCAN_OK);
    const scan_pool *pool = scan_cpu(ctx)->pool;
    uint32_t *in = calloc(LONG, sizeof *in);
    uint64_t *out = calloc(LONG, sizeof *out), bins[256];
    const scan_prefix_desc prefix = {.struct_size = sizeof prefix, .type = SCAN_U32, .out_type = SCAN_U64};
    const scan_unique_desc unique = {.struct_size = sizeof unique, .type = SCAN_U32};
    const scan_unique_out runs = {.struct_size = sizeof runs, .kept = out};
    const scan_histogram_desc histogram = {.struct_size = sizeof histogram, .type = SCAN_U8};
    assert_true(in && out);
    for (int i = 0; i < 3; i++) {
        let_sleep(pool);
        assert_int_equal(scan_prefix(ctx, &prefix, in, out, SHORT), SCAN_OK);
        assert_int_equal(scan_pool_awake(pool), 0);
        let_sleep(pool);
        assert_int_equal(scan_unique(ctx, &unique, in, &runs, SHORT), SCAN_OK);
        assert_int_equal(scan_pool_awake(pool), 0);
        let_sleep(pool);
        assert_int_equal(scan_histogram(ctx, &histogram, in, bins, SHORT), SCAN_OK);
        assert_int_equal(scan_pool_awake(pool), 0);
    }
    for (int calls = 0; scan_pool_awake(pool) == 0; calls++) { /* they may be asleep again before one looks */
        assert_int_equal(scan_prefix(ctx, &prefix, in, out, calls % 2 ? LONG : SHORT), SCAN_OK);
        assert_true(calls < 1000);
    }
    free(in);
    free(out);
    scan_ctx_destroy(ctx);
}

typedef struct place {
    pid_t thread;
    int processor;
} place;

static void note_place(void *arg, unsigned index, unsigned count) {
    place *const places = arg;
    (void)count;
    places[index] = (place){(pid_t)syscall(SYS_gettid), sched_getcpu()};
}

/* A worker that was last on the processor to which the caller is bound works on another one, even where Linux would
 * leave it there. */
static void workers_leave_the_callers_processor(void **state) {
    (void)state;
    enum { RUNS = 50 };
    cpu_set_t all, one;
    place places[2];
    int apart = 0;
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    if (CPU_COUNT(&all) < 2) {
        print_message("skipped: one processor only\n");
        skip();
    }
    scan_pool *pool = scan_pool_create(2);
    assert_int_equal(scan_pool_threads(pool), 2);
    scan_pool_run(pool, 2, note_place, places);
    CPU_ZERO(&one);
    CPU_SET((size_t)places[0].processor, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    for (int run = 0; run < RUNS; run++) {
        assert_int_equal(sched_setaffinity(places[1].thread, sizeof one, &one), 0);
        let_sleep(pool);
        scan_pool_run(pool, 2, note_place, places);
        assert_int_equal(places[1].processor, places[0].processor);
        assert_int_equal(sched_setaffinity(places[1].thread, sizeof all, &all), 0);
        let_sleep(pool);
        scan_pool_run(pool, 2, note_place, places);
        apart += places[1].processor != places[0].processor;
    }
    scan_pool_destroy(pool);
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
    assert_in_range(apart, RUNS / 4, RUNS); /* Linux may move it back */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(barriers_separate_phases),
        cmocka_unit_test(runs_of_some_threads),
        cmocka_unit_test(offers_may_be_taken_up),
        cmocka_unit_test(as_many_threads_as_pay),
        cmocka_unit_test(calls_one_by_one),
        cmocka_unit_test(calls_in_a_loop),
        cmocka_unit_test(workers_leave_the_callers_processor),
    };
    return cmocka_run_group_tests_name("pool", tests, NULL, NULL);
}
