/* SPDX-License-Identifier: MIT
 *
 * batch_run: every index worked on once and taken once, in order, within the window.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

#include "apps/equalize/batch.h"
#include "support.h"

typedef struct record {
    size_t taken; /* by the caller */
    _Atomic size_t taken_seen;
    atomic_int worked[400];
    atomic_bool outside; /* an index beyond the window, or a worker that does not exist */
    unsigned threads;
    uint64_t results[16]; /* slots, as many as the window */
    bool slow_caller;
} record;

static void nap(uint64_t seed) {
    struct timespec time = {.tv_nsec = (long)(random_u64(&seed) % 200000)};
    nanosleep(&time, NULL);
}

static void work(void *arg, size_t index, unsigned worker) {
    record *r = arg;
    size_t window = batch_window(r->threads);
    if (worker >= r->threads || index >= atomic_load(&r->taken_seen) + window)
        atomic_store(&r->outside, true);
    if (!r->slow_caller)
        nap(index);
    r->results[index % window] = index * index + 1;
    atomic_fetch_add(&r->worked[index], 1);
}

static void take(void *arg, size_t index) {
    record *r = arg;
    assert_int_equal(index, r->taken);
    assert_int_equal(atomic_load(&r->worked[index]), 1);
    assert_int_equal(r->results[index % batch_window(r->threads)], index * index + 1);
    if (r->slow_caller)
        nap(index);
    r->taken++;
    atomic_store(&r->taken_seen, r->taken);
}

static void in_order_and_within_the_window(void **state) {
    (void)state;
    static const unsigned threads[] = {1, 2, 3, 7};
    static const size_t counts[] = {0, 1, 2, 3, 4, 9, 10, 100, 400};
    for (size_t t = 0; t < 4; t++)
        for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++)
            for (int slow = 0; slow < 2; slow++) {
                record *r = calloc(1, sizeof *r);
                assert_non_null(r);
                r->threads = threads[t];
                r->slow_caller = slow;
                batch_run(&(batch){.count = counts[c], .threads = threads[t], .work = work, .take = take, .arg = r});
                assert_int_equal(r->taken, counts[c]);
                assert_false(atomic_load(&r->outside));
                free(r);
            }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(in_order_and_within_the_window)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
