/* SPDX-License-Identifier: MIT
 *
 * The quicksorts of the CPU by themselves, with so small a depth that the radix sort takes over: at once, or in some
 * parts and not in others. Keys alone, pairs, and argsort, which has no output for keys.
 *
 * Not with ThreadSanitizer: one thread sorts.
 */
#include "quick_tables.h"
#include "sort_oracle.h"

enum { MAX_N = 20000, MAX_PAIRS_N = 6000 }; /* more keys alone than those that are partitioned where they are */

/* Where the input lies. */
enum { ELSEWHERE, IN_OUTPUT, IN_SPARE, PLACES };

typedef struct fixture {
    scan_ctx *ctx;
    scan_sort_quick_table *table;
    guarded keys, to, spare, values, to_values, spare_values;
    uint32_t counts[SCAN_SORT_LOCAL_COUNTS];
    sort_item items[MAX_N];
    uint64_t random;
} fixture;

static int set_up(void **state) {
    fixture *f = calloc(1, sizeof *f);
    f->ctx = context_with_threads(1);
    f->table = tables[scan_cpu(f->ctx)->simd];
    for (guarded *g = &f->keys; g <= &f->spare_values; g++)
        *g = guarded_create(8 * MAX_N);
    *state = f;
    return 0;
}

static int tear_down(void **state) {
    fixture *f = *state;
    scan_ctx_destroy(f->ctx);
    for (guarded *g = &f->keys; g <= &f->spare_values; g++)
        guarded_destroy(*g);
    free(f);
    return 0;
}

/* n keys of f->keys, whose order is in f->items. */
static void check(fixture *f, sort_case c, unsigned kind, size_t n, size_t value_bytes, bool argsort, unsigned depth) {
    const size_t size = size_of_type(c.type);
    const void *keys = guarded_end(f->keys, n * size);
    scan_sort_local l = {.n = n, .drop_keys = argsort, .counts = f->counts, .max_depth = depth};
    const scan_sort_desc desc = {
        .type = c.type, .descending = c.descending, .nan_first = c.nan_first, .end_bit = type_bits(c.type)};
    l.order = scan_cpu_sort_order(&desc);
    l.to = (scan_sort_columns){guarded_end(f->to, n * size), guarded_end(f->to_values, n * value_bytes)};
    l.spare = (scan_sort_columns){guarded_end(f->spare, n * size), guarded_end(f->spare_values, n * value_bytes)};
    const scan_sort_columns elsewhere = {(void *)keys, guarded_end(f->values, n * value_bytes)};
    const uint64_t place = random_u64(&f->random) % PLACES;
    l.from = argsort || place == ELSEWHERE ? elsewhere : place == IN_OUTPUT ? l.to : l.spare;
    if (l.from.keys != keys)
        memcpy(l.from.keys, keys, n * size);
    for (size_t i = 0; i < n && value_bytes; i++)
        store_element(l.from.values, i, value_bytes, i * 0x9e3779b97f4a7c15u);
    const bool numbers = argsort && random_u64(&f->random) & 1; /* else indices that a partition has moved */
    if (numbers)
        l.from.values = NULL;
    (*f->table)[kind][value_bytes / 4](&l);
    for (size_t i = 0; i < n; i++) {
        const uint64_t from = f->items[i].index, value = numbers ? from : from * 0x9e3779b97f4a7c15u;
        if (!argsort && key_bits(l.to.keys, i, c.type) != key_bits(keys, from, c.type))
            fail_msg("%s, depth %u: key wrong at %zu of %zu", scan_type_name(c.type), depth, i, n);
        if (value_bytes && load_element(l.to.values, i, value_bytes) != load_element(&value, 0, value_bytes))
            fail_msg("%s, depth %u: value wrong at %zu of %zu", scan_type_name(c.type), depth, i, n);
    }
}

static void check_depths(fixture *f, size_t t, size_t n, distribution *data) {
    static const unsigned depths[] = {1, 2, 3, 5, 8, 0};
    const scan_type type = types[t].type;
    void *keys = guarded_end(f->keys, n * size_of_type(type));
    fill(keys, n, type, data, random_u64(&f->random));
    const uint64_t r = random_u64(&f->random);
    const sort_case c = {type, r & 1, type_is_float(type) && r & 2, 0, type_bits(type)};
    sort_oracle(f->items, keys, n, c);
    for (size_t d = FEWER ? random_below(&f->random, 2) : 0; d < sizeof depths / sizeof *depths; d += 1 + FEWER)
        for (size_t value_bytes = 0; value_bytes <= (n <= MAX_PAIRS_N ? 8 : 0); value_bytes += 4)
            if ((*f->table)[types[t].kind][value_bytes / 4]) {
                check(f, c, types[t].kind, n, value_bytes, false, depths[d]);
                if (value_bytes)
                    check(f, c, types[t].kind, n, value_bytes, true, depths[d]);
            }
}

/* Mostly a few values of both signs; rarely something else, of floats zeros of both signs and NaNs too. */
static uint64_t data_mostly_few(uint64_t *s, size_t i, size_t n, scan_type type) {
    const uint64_t r = random_u64(s);
    return r % 16 == 0 ? data_specials(s, i, n, type) : bits_of_double((double)(r >> 8 & 3) - 1.5, type);
}
/* Mostly zeros, of both signs, and another value. */
static uint64_t data_mostly_zeros(uint64_t *s, size_t i, size_t n, scan_type type) {
    const uint64_t r = random_u64(s);
    return r % 64 == 0 ? data_uniform(s, i, n, type) : bits_of_double(r & 64 ? 3.0 : r & 128 ? 0.0 : -0.0, type);
}

/* Floats: mostly NaNs of many bits, and perhaps nothing else. */
static uint64_t data_mostly_nan(uint64_t *s, size_t i, size_t n, scan_type type) {
    const uint64_t r = random_u64(s), nan = bits_of_double(INFINITY, type) + 1 + (r >> 8 & 0xffff);
    return n % 3 && r % 64 == 0 ? data_specials(s, i, n, type) : r & 64 ? nan : nan | 1ull << (type_bits(type) - 1);
}

/* Two values, of floats perhaps the zeros of both signs, or two NaNs; and at one place, perhaps the last, another key.
 */
static uint64_t data_two(uint64_t *s, size_t i, size_t n, scan_type type) {
    static const double pairs[][2] = {{-1.5, 3.0}, {0.0, -0.0}, {-0.0, 3.0}, {NAN, -NAN}};
    const size_t kinds = type_is_float(type) ? 4 : 3; /* integers have no NaN */
    const size_t place = n % 3 == 0 ? n : n % 3 == 1 ? n - 1 : n * 7 / 11;
    return i == place ? data_specials(s, i, n, type) : bits_of_double(pairs[n / 3 % kinds][random_u64(s) & 1], type);
}

/* One value after another, of floats perhaps a zero, in whichever order, and perhaps a third at last. */
static uint64_t data_halves(uint64_t *s, size_t i, size_t n, scan_type type) {
    static const double pairs[][2] = {{0.0, 3.0}, {3.0, 0.0}, {-1.5, 2.0}, {2.0, -1.5}};
    (void)s;
    return bits_of_double(i == n - 1 && n % 3 == 0 ? 7.0 : pairs[n / 3 % 4][i >= n / 5 * (2 + n % 2)], type);
}

/* Mostly zeros of one sign and another value, and late a zero of the other sign perhaps. */
static uint64_t data_late_zero(uint64_t *s, size_t i, size_t n, scan_type type) {
    const uint64_t r = random_u64(s);
    if (r % 512 == 0)
        return bits_of_double(r & 512 ? 2.0 : n % 4 ? -5.0 : 0.5, type);
    return bits_of_double(r % 128 == 1 ? 3.0 : i == n - 1 - n / 5 && n % 3 ? 0.0 : -0.0, type);
}

/* A third or two thirds of the keys are one value, among others on both sides or on one: of floats perhaps a zero, of
 * which one key may have the other sign, infinity, or NaN. */
static uint64_t data_one_often(uint64_t *s, size_t i, size_t n, scan_type type) {
    static const double often[] = {2.0, 0.0, -0.0, 3.5, -INFINITY, NAN};
    const uint64_t r = random_u64(s);
    const double one = often[n % (type_is_float(type) ? 6 : 2)];
    if (i == n / 3 && n % 5 == 0)
        return bits_of_double(-one, type);
    if (r % 3 < 1 + n / 6 % 2)
        return bits_of_double(one, type);
    return bits_of_double((double)(r >> 40) - (n % 4 == 0 ? 0 : n % 4 == 1 ? 1 << 24 : 1 << 23), type);
}

/* Nearly all keys are one value, of floats perhaps a zero, infinity or NaN. Of the others, which lie on both sides of
 * it or on one, there are many, few, or one in 32, or one more than that, which may be a tie. */
static uint64_t data_nearly_one(uint64_t *s, size_t i, size_t n, scan_type type) {
    static const double nearly_all[] = {2.0, -3.0, 0.0, -INFINITY, NAN};
    const uint64_t r = random_u64(s);
    const double one = nearly_all[n % (type_is_float(type) ? 5 : 3)];
    const bool is_other = n % 4 == 0 ? r % 25 == 0 : n % 4 == 1 ? r % 200 == 0 : i % 32 == 31;
    if (i == n / 3 && n % 4 > 1 && n % 8 < 4)
        return bits_of_double(n % 16 < 8 ? -one : 5.0, type);
    if (!is_other)
        return bits_of_double(one, type);
    return bits_of_double((double)(r >> 40) - (n % 3 == 0 ? 0 : n % 3 == 1 ? 1 << 24 : 1 << 23), type);
}

static void test_depths(void **state) {
    static distribution *const data[] = {data_specials,  data_uniform,      data_bell,       data_few_distinct,
                                         data_two,       data_clusters,     data_mostly_few, data_late_zero,
                                         data_halves,    data_mostly_zeros, data_mostly_nan, data_one_often,
                                         data_nearly_one};
    fixture *f = *state;
    if (!f->table)
        skip();
    for (size_t n = 1; n <= MAX_N; n += 1 + n / 9)
        for (size_t t = 0; t < sizeof types / sizeof *types; t++)
            for (size_t d = 0; d < sizeof data / sizeof *data; d++)
                check_depths(f, t, n, data[d]);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_depths)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
