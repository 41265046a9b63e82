/* SPDX-License-Identifier: MIT
 *
 * The quicksorts of the CPU by a team: one thread begins, and others take the ranges that it leaves for later, some of
 * which they give up to the radix sort. The team is given no thread, one or several, which sleep or are awake.
 */
#include <sched.h>

#include "scan/cpu/sort/team.h"
#include "quick_tables.h"
#include "sort_oracle.h"

enum { MAX_N = 70000, LARGE_N = 400000, MAX_THREADS = 4 };

typedef struct fixture {
    scan_ctx *ctx;
    scan_pool *pool;
    scan_sort_quick_table *table;
    guarded keys, to, spare, to_values, spare_values;
    uint32_t counts[SCAN_SORT_LOCAL_COUNTS];
    sort_item items[LARGE_N];
    uint64_t random;
    size_t sorted_n; /* so many keys at the front are in order */
} fixture;

static int set_up(void **state) {
    fixture *f = calloc(1, sizeof *f);
    f->ctx = context_with_threads(1);
    f->table = tables[scan_cpu(f->ctx)->simd];
    f->pool = scan_pool_create(MAX_THREADS);
    for (guarded *g = &f->keys; g <= &f->spare_values; g++)
        *g = guarded_create(8 * LARGE_N);
    *state = f;
    return f->pool == NULL;
}

static int tear_down(void **state) {
    fixture *f = *state;
    scan_pool_destroy(f->pool);
    scan_ctx_destroy(f->ctx);
    for (guarded *g = &f->keys; g <= &f->spare_values; g++)
        guarded_destroy(*g);
    free(f);
    return 0;
}

static void note(const scan_sort_task *task) { atomic_store((atomic_bool *)(uintptr_t)task->job, true); }

/* Begins a team of which one more thread has come, if there is one. */
static void begin_team(scan_sort_team *team, scan_pool *pool, unsigned threads) {
    atomic_bool noted = false;
    atomic_uint unfinished = 0;
    scan_cpu_sort_begin_team(team, pool, threads, true);
    if (threads == 1)
        return;
    scan_cpu_sort_share(team, &(scan_sort_task){.run = note, .job = &noted, .unfinished = &unfinished});
    while (!atomic_load(&noted))
        sched_yield();
    scan_cpu_sort_join(team, &unfinished);
}

/* n keys of f->keys, whose order is in f->items, with values that are their places. */
static void check(fixture *f, sort_case c, unsigned kind, size_t n, size_t value_bytes, unsigned depth,
                  unsigned threads) {
    const size_t size = size_of_type(c.type);
    const scan_sort_desc desc = {
        .type = c.type, .descending = c.descending, .nan_first = c.nan_first, .end_bit = type_bits(c.type)};
    scan_sort_team team;
    scan_sort_local l = {.order = scan_cpu_sort_order(&desc),
                         .n = n,
                         .counts = f->counts,
                         .max_depth = depth,
                         .team = &team,
                         .sorted_n = f->sorted_n};
    l.to = (scan_sort_columns){guarded_end(f->to, n * size), guarded_end(f->to_values, n * value_bytes)};
    l.spare = (scan_sort_columns){guarded_end(f->spare, n * size), guarded_end(f->spare_values, n * value_bytes)};
    l.from = l.to;
    const void *keys = memcpy(l.to.keys, guarded_end(f->keys, n * size), n * size);
    for (size_t i = 0; i < n && value_bytes; i++)
        store_element(l.to.values, i, value_bytes, i);
    begin_team(&team, f->pool, threads);
    (*f->table)[kind][value_bytes / 4](&l);
    scan_cpu_sort_end_team(&team);
    keys = guarded_end(f->keys, n * size);
    for (size_t i = 0; i < n; i++) {
        const uint64_t from = f->items[i].index;
        if (key_bits(l.to.keys, i, c.type) != key_bits(keys, from, c.type))
            fail_msg("%s, depth %u, %u threads: key wrong at %zu of %zu", scan_type_name(c.type), depth, threads, i, n);
        if (value_bytes && load_element(l.to.values, i, value_bytes) != from)
            fail_msg("%s, depth %u, %u threads: value wrong at %zu of %zu", scan_type_name(c.type), depth, threads, i,
                     n);
    }
}

/* Two values of which each is a range too large for one thread, and many others. */
static uint64_t data_heavy(uint64_t *s, size_t i, size_t n, scan_type type) {
    const uint64_t r = random_u64(s);
    return r % 8 < 3 ? bits_of_double(r & 64 ? 3.0 : -1.5, type) : data_uniform(s, i, n, type);
}

static void teams_sort(void **state) {
    static distribution *const data[] = {data_uniform, data_few_distinct, data_clusters, data_specials, data_heavy};
    fixture *f = *state;
    if (!f->table)
        skip();
    for (unsigned round = 0; round < (FEWER ? 1 : 4); round++)
        for (size_t t = 0; t < sizeof types / sizeof *types; t++)
            for (size_t d = 0; d < sizeof data / sizeof *data; d++) {
                const scan_type type = types[t].type;
                const uint64_t r = random_u64(&f->random);
                const size_t n = MAX_N / 4 + (r >> 16) % (MAX_N - MAX_N / 4);
                const sort_case c = {type, r & 1, type_is_float(type) && r & 2, 0, type_bits(type)};
                void *keys = guarded_end(f->keys, n * size_of_type(type));
                fill(keys, n, type, data[d], r);
                sort_oracle(f->items, keys, n, c);
                for (size_t value_bytes = 0; value_bytes <= 8; value_bytes += 4)
                    if ((*f->table)[types[t].kind][value_bytes / 4])
                        check(f, c, types[t].kind, n, value_bytes, (unsigned)(r >> 8 & 3) * 2,
                              1 + (unsigned)(r >> 10 & 3));
            }
}

/* Two values in order, then nearly one value, of floats a zero, which has the other sign at one place perhaps. */
static uint64_t data_nearly_one(uint64_t *s, size_t i, size_t n, scan_type type) {
    const uint64_t r = random_u64(s);
    if (i < n / 3)
        return bits_of_double(i < n / 7 ? -1.5 : 3.0, type);
    if (r % 1024 == 0)
        return data_uniform(s, i, n, type);
    return bits_of_double(r % 64 == 1 ? 3.0 : n % 2 && i == n / 5 * 4 ? -0.0 : 0.0, type);
}

/* So many keys that threads share the pass that counts and writes few values. */
static void teams_count(void **state) {
    fixture *f = *state;
    if (!f->table)
        skip();
    for (unsigned round = 0; round < (FEWER ? 2 : 8); round++)
        for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
            const scan_type type = types[t].type;
            const uint64_t r = random_u64(&f->random);
            const size_t n = LARGE_N - r % 1000;
            const sort_case c = {type, round & 1, false, 0, type_bits(type)};
            void *keys = guarded_end(f->keys, n * size_of_type(type));
            fill(keys, n, type, data_nearly_one, r);
            sort_oracle(f->items, keys, n, c);
            f->sorted_n = c.descending ? 0 : n / 3 - r % 16;
            if ((*f->table)[types[t].kind][0])
                check(f, c, types[t].kind, n, 0, 0, 1 + (unsigned)(r >> 10 & 3));
            f->sorted_n = 0;
        }
}

/* Many ranges, which are in several threads' hands at once: the keys are 0, 1, 2, ... in another order each time, so
 * that other ranges are cut unevenly. */
static void many_ranges(void **state) {
    fixture *f = *state;
    if (!f->table)
        skip();
    for (unsigned again = 0; again < (FEWER ? 12 : 160); again++) {
        const size_t size = again % 2 ? 4 : 8, kind = again % 2 ? 2 : 3;
        const uint64_t all = again % 2 ? UINT32_MAX : UINT64_MAX;
        scan_sort_team team;
        scan_sort_local l = {.order = {.mask = all, .nan = all}, .n = LARGE_N, .counts = f->counts, .team = &team};
        l.from.keys = l.to.keys = guarded_end(f->to, LARGE_N * size);
        l.spare.keys = guarded_end(f->spare, LARGE_N * size);
        for (size_t i = 0; i < LARGE_N; i++) {
            const size_t at = random_below(&f->random, i + 1);
            store_element(l.to.keys, i, size, load_element(l.to.keys, at, size));
            store_element(l.to.keys, at, size, i);
        }
        begin_team(&team, f->pool, again % 4 < 2 ? 2 : MAX_THREADS);
        (*f->table)[kind][0](&l);
        scan_cpu_sort_end_team(&team);
        for (size_t i = 0; i < LARGE_N; i++)
            if (load_element(l.to.keys, i, size) != i)
                fail_msg("key wrong at %zu", i);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(teams_sort), cmocka_unit_test(teams_count),
                                       cmocka_unit_test(many_ranges)};
    return cmocka_run_group_tests_name("sort_team", tests, set_up, tear_down);
}
