/* SPDX-License-Identifier: MIT
 *
 * The thread pool: every thread works once per run, barriers separate phases, runs follow each other without a pause.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

#include "scan/cpu/pool.h"

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
            scan_pool_run(pool, task, &s);
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

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(barriers_separate_phases)};
    return cmocka_run_group_tests_name("pool", tests, NULL, NULL);
}
