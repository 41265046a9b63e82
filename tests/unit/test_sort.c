/* SPDX-License-Identifier: MIT
 *
 * scan_sort and scan_argsort against the oracle: every type, direction and kind of value, data that defeats naive
 * sorts, sizes around every threshold, several thread counts. All arrays end at a page that faults.
 */
#include "scan/cpu/sort/sort.h"
#include "sort_oracle.h"

enum { MAX_N = (1 << 20) + 1 };

typedef struct fixture {
    scan_ctx *ctx[CONTEXTS];
    guarded keys_in, keys_out, values_in, values_out;
    sort_item *items;
    char *sorted; /* the keys in the order of items */
    uint64_t random;
} fixture;

static int set_up(void **state) {
    fixture *f = malloc(sizeof *f);
    contexts_create(f->ctx);
    size_t bytes = 8 * (size_t)MAX_N + 4096;
    f->keys_in = guarded_create(bytes);
    f->keys_out = guarded_create(bytes);
    f->values_in = guarded_create(bytes);
    f->values_out = guarded_create(bytes);
    f->items = malloc(sizeof *f->items * MAX_N);
    f->sorted = malloc(bytes);
    f->random = 1;
    *state = f;
    return 0;
}

static int tear_down(void **state) {
    fixture *f = *state;
    contexts_destroy(f->ctx);
    guarded_destroy(f->keys_in);
    guarded_destroy(f->keys_out);
    guarded_destroy(f->values_in);
    guarded_destroy(f->values_out);
    free(f->items);
    free(f->sorted);
    free(f);
    return 0;
}

static uint64_t value_of(uint64_t index) { return index * 0x9e3779b97f4a7c15u; }

static scan_sort_desc desc_of(sort_case c) {
    return (scan_sort_desc){.struct_size = sizeof(scan_sort_desc),
                            .type = c.type,
                            .descending = c.descending,
                            .nan_first = c.nan_first,
                            .begin_bit = c.begin_bit,
                            .end_bit = c.end_bit};
}

static void fail_case(sort_case c, const char *what, size_t n, size_t i) {
    fail_msg("%s %s%s bits %u..%u: %s wrong at %zu of %zu", scan_type_name(c.type), c.descending ? "descending" : "",
             c.nan_first ? " nan first" : "", c.begin_bit, c.end_bit, what, i, n);
}

static scan_ctx *any_context(fixture *f) {
    return f->ctx[ONLY_THREADS + random_u64(&f->random) % (CONTEXTS - ONLY_THREADS)];
}

/* A permutation and its keys are those that check_argsort() has left. */
static void check_sort(fixture *f, const void *keys, size_t n, sort_case c, uint32_t value_bytes,
                       scan_sort_method method) {
    scan_ctx *ctx = any_context(f);
    size_t size = scan_type_size(c.type);
    bool in_place = random_u64(&f->random) & 1;
    void *out = guarded_place(f->keys_out, n, size, &f->random);
    const void *in = in_place ? memcpy(out, keys, n * size) : keys;
    void *values_in = NULL, *values_out = NULL;
    if (value_bytes) {
        values_out = guarded_place(f->values_out, n, value_bytes, &f->random);
        values_in = random_u64(&f->random) & 1 ? values_out : guarded_place(f->values_in, n, value_bytes, &f->random);
        for (size_t i = 0; i < n; i++)
            store_element(values_in, i, value_bytes, value_of(i));
    }
    scan_sort_desc desc = desc_of(c);
    desc.value_bytes = value_bytes;
    desc.method = method;
    assert_int_equal(scan_sort(ctx, &desc, in, out, values_in, values_out, n), SCAN_OK);
    for (size_t i = 0; i < n; i++)
        if (key_bits(out, i, c.type) != key_bits(f->sorted, i, c.type))
            fail_case(c, "key", n, i);
    for (size_t i = 0; value_bytes && i < n; i++) {
        uint64_t value = value_of(f->items[i].index);
        if (load_element(values_out, i, value_bytes) != load_element(&value, 0, value_bytes))
            fail_case(c, "value", n, i);
    }
}

static void *argsort(fixture *f, const void *keys, size_t n, sort_case c, scan_type index_type) {
    scan_ctx *ctx = any_context(f);
    void *out = guarded_place(f->values_out, n, scan_type_size(index_type), &f->random);
    scan_sort_desc desc = desc_of(c);
    desc.index_type = index_type;
    assert_int_equal(scan_argsort(ctx, &desc, keys, out, n), SCAN_OK);
    return out;
}

/* Checks the permutation by its definition, and leaves it in f->items, and the keys in its order, for what follows. */
static void check_argsort(fixture *f, const void *keys, size_t n, sort_case c) {
    const void *out = argsort(f, keys, n, c, SCAN_U32);
    const size_t wrong = first_misplaced(f->items, keys, out, 4, n, c);
    if (wrong != n)
        fail_case(c, "index", n, wrong);
    for (size_t i = 0; i < n; i++)
        set_key_bits(f->sorted, i, c.type, key_bits(keys, f->items[i].index, c.type));
}

static void check_wide_argsort(fixture *f, const void *keys, size_t n, sort_case c) {
    const uint64_t *out = argsort(f, keys, n, c, SCAN_U64);
    for (size_t i = 0; i < n; i++)
        if (out[i] != f->items[i].index)
            fail_case(c, "u64 index", n, i);
}

static bool is_large(size_t n) { return n >= (FEWER ? 70000 : 1 << 19); }

/* One array under one order, with every kind of value; with sanitizers a large one with values of 4 or of 8 bytes. */
static void check_all(fixture *f, const void *keys, size_t n, sort_case c) {
    const uint32_t skipped = FEWER && is_large(n) ? (random_u64(&f->random) & 1 ? 4 : 8) : 0;
    /* In the last three threads do the same with any keys: one of them will do. */
    static unsigned arrays;
    const unsigned only = ONLY_THREADS && is_large(n) ? 1 + arrays++ % 3 : 0;
    check_argsort(f, keys, n, c);
    check_sort(f, keys, n, c, 0, SCAN_SORT_AUTO);
    for (uint32_t bytes = 4; bytes <= 8; bytes += 4)
        if (bytes != skipped)
            check_sort(f, keys, n, c, bytes, SCAN_SORT_AUTO);
    if (!only || only == 1)
        check_sort(f, keys, n, c, 0, SCAN_SORT_RADIX);
    if (!only || only == 2)
        check_sort(f, keys, n, c, random_u64(&f->random) & 1 ? 4 : 8, SCAN_SORT_RADIX);
    if (!only || only == 3)
        check_wide_argsort(f, keys, n, c);
}

/* Both directions, of floats with NaNs at either end. One of these orders for large arrays. */
static void check_orders(fixture *f, size_t n, scan_type type, distribution *data) {
    void *keys = guarded_place(f->keys_in, n, scan_type_size(type), &f->random);
    fill(keys, n, type, data, random_u64(&f->random));
    const int orders = type_is_float(type) ? 4 : 2, only = (int)(random_u64(&f->random) % 4) % orders;
    for (int order = 0; order < orders; order++)
        if (!is_large(n) || order == only)
            check_all(f, keys, n, (sort_case){type, order & 1, order >> 1, 0, type_bits(type)});
}

static scan_type random_type(fixture *f) { return (scan_type)(1 + random_u64(&f->random) % SCAN_TYPE_COUNT); }

/* Fewer than 2^17 keys are sorted by one thread. */
enum { SMALL_STEP = ONLY_THREADS ? 26 : 1, MEDIUM_STEP = ONLY_THREADS ? 8 : 1, FIRST_POWER = ONLY_THREADS ? 17 : 8 };
enum { BIT_RANGES = ONLY_THREADS ? 60 : 600, REPEATS = FEWER ? 1 : 3, STEP = FEWER ? 2 : 1 };
/* LARGE_N keys of any type are more than one thread sorts alone; twice as many of 8 bytes are written past the caches.
 */
enum { LARGE_N = ONLY_THREADS ? 1 << 18 : 1 << 19 };

static void test_small_sizes(void **state) {
    fixture *f = *state;
    for (size_t n = 0; n <= 130; n += SMALL_STEP)
        for (int type = 1; type <= SCAN_TYPE_COUNT; type++)
            for (int d = 0; d < DISTRIBUTIONS; d++)
                check_orders(f, n, (scan_type)type, distributions[d]);
}

static void test_medium_sizes(void **state) {
    fixture *f = *state;
    for (int type = 1; type <= SCAN_TYPE_COUNT; type++)
        for (int d = 0; d < DISTRIBUTIONS; d += MEDIUM_STEP) {
            check_orders(f, 131 + random_u64(&f->random) % 1000, (scan_type)type, distributions[d]);
            check_orders(f, 1131 + random_u64(&f->random) % 5000, (scan_type)type, distributions[d]);
        }
}

/* 2^k - 1, 2^k, 2^k + 1: both sides of every threshold at a power of two. */
static void test_powers_of_two(void **state) {
    fixture *f = *state;
    for (int k = FIRST_POWER; k <= 17; k++)
        for (size_t n = ((size_t)1 << k) - 1; n <= ((size_t)1 << k) + 1; n++)
            for (int repeat = 0; repeat < REPEATS; repeat++)
                check_orders(f, n, random_type(f), distributions[random_u64(&f->random) % DISTRIBUTIONS]);
}

static void test_large(void **state) {
    fixture *f = *state;
    for (int d = 0; d < DISTRIBUTIONS; d += is_lower_level() ? 3 : STEP)
        check_orders(f, LARGE_N + 1 + random_u64(&f->random) % 3, random_type(f), distributions[d]);
    check_orders(f, 2 * LARGE_N + 1, SCAN_U32, data_uniform);
    check_orders(f, 2 * LARGE_N, SCAN_F64, data_bell);
    check_orders(f, 2 * LARGE_N, SCAN_F32, data_bell); /* bins that one thread sorts though they leave its cache */
}

static void test_bit_ranges(void **state) {
    fixture *f = *state;
    for (int round = 0; round < BIT_RANGES; round++) {
        scan_type type = random_type(f);
        if (type_is_float(type))
            continue;
        size_t n = random_u64(&f->random) % (round % 50 == 0 ? 70000 : 700);
        uint32_t width = type_bits(type);
        uint32_t end = 1 + (uint32_t)(random_u64(&f->random) % width);
        uint32_t begin = (uint32_t)(random_u64(&f->random) % (end + 1));
        if (random_u64(&f->random) % 4 == 0)
            end = width;
        void *keys = guarded_place(f->keys_in, n, scan_type_size(type), &f->random);
        fill(keys, n, type, data_uniform, random_u64(&f->random));
        check_all(f, keys, n, (sort_case){type, random_u64(&f->random) & 1, false, begin, end});
    }
}

/* The count in memory decides; it never exceeds n, and nothing past it is touched. */
static void test_count_in_memory(void **state) {
    fixture *f = *state;
    static const uint64_t counts[] = {0, 1, 17, 4000, 5000, 1ull << 40};
    uint32_t *keys = (void *)f->keys_in.memory, *out = (void *)f->keys_out.memory,
             *order = (void *)f->values_out.memory;
    size_t n = 5000;
    fill(keys, n, SCAN_U32, data_uniform, 7);
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
        size_t used = counts[k] < n ? (size_t)counts[k] : n;
        sort_oracle(f->items, keys, used, (sort_case){SCAN_U32, false, false, 0, 32});
        memset(out, 0xee, n * 4);
        memset(order, 0xee, n * 4);
        scan_sort_desc desc = {.struct_size = sizeof desc, .type = SCAN_U32, .n_device = &counts[k]};
        assert_int_equal(scan_sort(f->ctx[1], &desc, keys, out, NULL, NULL, n), SCAN_OK);
        assert_int_equal(scan_argsort(f->ctx[1], &desc, keys, order, n), SCAN_OK);
        for (size_t i = 0; i < n; i++) {
            assert_int_equal(out[i], i < used ? keys[f->items[i].index] : 0xeeeeeeee);
            assert_int_equal(order[i], i < used ? f->items[i].index : 0xeeeeeeee);
        }
    }
}

/* The first half is in order. */
static uint64_t data_half_in_order(uint64_t *s, size_t i, size_t n, scan_type type) {
    return i < n / 2 ? i : data_uniform(s, i, n, type);
}

static uint64_t data_falling_ties(uint64_t *s, size_t i, size_t n, scan_type type) {
    return (void)s, (void)type, (n - i) / 3;
}

/* Keys, pairs and an argsort of the first `count` of LARGE_N keys. */
static void check_low_count(fixture *f, scan_ctx *ctx, distribution *data, uint64_t count) {
    uint64_t *keys = (void *)f->keys_in.memory, *out = (void *)f->keys_out.memory,
             *values = (void *)f->values_in.memory;
    uint32_t *order = (void *)f->values_out.memory;
    scan_sort_desc desc = {.struct_size = sizeof desc, .type = SCAN_U64, .n_device = &count};
    fill(keys, count, SCAN_U64, data, random_u64(&f->random));
    out[count] = order[count] = 77;
    for (size_t i = 0; i < count; i++)
        values[i] = i;
    assert_int_equal(scan_argsort(ctx, &desc, keys, order, LARGE_N), SCAN_OK);
    assert_int_equal(scan_sort(ctx, &desc, keys, out, NULL, NULL, LARGE_N), SCAN_OK);
    if (first_misplaced(f->items, keys, order, 4, count, (sort_case){SCAN_U64, false, false, 0, 64}) != count)
        fail_msg("an index of %zu is wrong", (size_t)count);
    for (size_t i = 0; i < count; i++)
        if (out[i] != keys[f->items[i].index])
            fail_msg("key wrong at %zu of %zu", i, (size_t)count);
    assert_true(out[count] == 77 && order[count] == 77);
    memcpy(out, keys, count * sizeof *keys);
    assert_int_equal(scan_sort(ctx, &desc, out, out, NULL, NULL, LARGE_N), SCAN_OK);
    for (size_t i = 0; i < count; i++)
        if (out[i] != keys[f->items[i].index])
            fail_msg("key wrong in place at %zu of %zu", i, (size_t)count);
    desc.value_bytes = 8;
    assert_int_equal(scan_sort(ctx, &desc, keys, keys, values, values, LARGE_N), SCAN_OK);
    for (size_t i = 0; i < count; i++)
        if (values[i] != f->items[i].index || keys[i] != out[i])
            fail_msg("pair wrong at %zu of %zu", i, (size_t)count);
}

/* Several threads are planned for, and few elements are left to sort: for one of them, by itself or while the others
 * wait. */
static void test_low_count_in_memory(void **state) {
    static distribution *const data[] = {data_half_in_order, data_falling_ties, data_few_distinct, data_uniform};
    static const uint64_t counts[] = {300, 20000, 60000, 100000};
    fixture *f = *state;
    for (int c = ONLY_THREADS; c < CONTEXTS; c++)
        for (int k = 0; k < 4; k++)
            for (int d = 0; d < 4; d++)
                if (!FEWER || (c + d) % 2)
                    check_low_count(f, f->ctx[c], data[d], counts[k] + random_u64(&f->random) % (counts[k] / 4));
}

/* ---- a few values that make up most of a large input ------------------------------------------------------------- */

/* A number anywhere in the range of the type: never NaN. */
static uint64_t number(uint64_t bits, scan_type type) {
    return bits & ~(type == SCAN_F32 ? 1ull << 23 : type == SCAN_F64 ? 1ull << 52 : 0);
}

/* One of `count` numbers, all equally likely. */
static uint64_t one_of(uint64_t *s, uint64_t count, scan_type type) {
    uint64_t which = random_u64(s) % count;
    return number(random_u64(&which), type);
}

/* One of `count` numbers, but in `share` of 1,000 cases any number. */
static uint64_t mostly(uint64_t *s, uint64_t count, uint64_t share, scan_type type) {
    return random_u64(s) % 1000 < share ? number(random_u64(s), type) : one_of(s, count, type);
}

static uint64_t data_two(uint64_t *s, size_t i, size_t n, scan_type type) {
    return (void)i, (void)n, one_of(s, 2, type);
}
static uint64_t data_20(uint64_t *s, size_t i, size_t n, scan_type type) {
    return (void)i, (void)n, one_of(s, 20, type);
}
static uint64_t data_300(uint64_t *s, size_t i, size_t n, scan_type type) {
    return (void)i, (void)n, one_of(s, 300, type);
}
/* As many heavy values as are looked for, and more. */
static uint64_t data_3000(uint64_t *s, size_t i, size_t n, scan_type type) {
    return (void)i, (void)n, one_of(s, 3000, type);
}
static uint64_t data_6000(uint64_t *s, size_t i, size_t n, scan_type type) {
    return (void)i, (void)n, one_of(s, 6000, type);
}
/* The keys that are not heavy are fewer than one thread sorts alone, more than that, and too many to take the heavy
 * ones out. */
static uint64_t data_mostly_one(uint64_t *s, size_t i, size_t n, scan_type type) {
    return (void)i, (void)n, mostly(s, 1, 10, type);
}
static uint64_t data_mostly_40(uint64_t *s, size_t i, size_t n, scan_type type) {
    return (void)i, (void)n, mostly(s, 40, 400, type);
}
static uint64_t data_half(uint64_t *s, size_t i, size_t n, scan_type type) {
    return (void)i, (void)n, mostly(s, 40, 500, type);
}
/* All heavy keys in one thread's part, hardly any in another's. */
static uint64_t data_heavy_begin(uint64_t *s, size_t i, size_t n, scan_type type) {
    return mostly(s, 9, i < n / 2 ? 0 : 700, type);
}
static uint64_t data_heavy_end(uint64_t *s, size_t i, size_t n, scan_type type) {
    return mostly(s, 9, i < n / 2 ? 700 : 0, type);
}

/* Heavy zeros or NaNs, and rarely a key that is equal to them in order but not in bits. */
static uint64_t special_or(uint64_t *s, uint64_t often, uint64_t rarely, scan_type type) {
    uint64_t draw = random_u64(s) % 5000;
    return draw < 3500 ? often : draw == 3500 ? rarely : mostly(s, 3, 900, type);
}
static uint64_t sign_of(scan_type type) { return 1ull << (type_bits(type) - 1); }
static uint64_t nan_of(scan_type type) { return type == SCAN_F32 ? 0x7fc00000u : 0x7ff8000000000000u; }
static uint64_t data_zeros(uint64_t *s, size_t i, size_t n, scan_type type) {
    return (void)i, (void)n, special_or(s, 0, 0, type);
}
static uint64_t data_zeros_minus(uint64_t *s, size_t i, size_t n, scan_type type) {
    return (void)i, (void)n, special_or(s, sign_of(type), sign_of(type), type);
}
static uint64_t data_zeros_mixed(uint64_t *s, size_t i, size_t n, scan_type type) {
    return (void)i, (void)n, special_or(s, 0, sign_of(type), type);
}
static uint64_t data_zeros_alone(uint64_t *s, size_t i, size_t n, scan_type type) {
    return (void)i, (void)n, random_u64(s) % 2 ? 0 : sign_of(type);
}
static uint64_t data_zeros_nan(uint64_t *s, size_t i, size_t n, scan_type type) {
    return (void)i, (void)n, special_or(s, 0, nan_of(type) | i, type);
}
static uint64_t data_nan(uint64_t *s, size_t i, size_t n, scan_type type) {
    return (void)i, (void)n, special_or(s, nan_of(type), nan_of(type), type);
}
static uint64_t data_nan_mixed(uint64_t *s, size_t i, size_t n, scan_type type) {
    return (void)i, (void)n, special_or(s, nan_of(type), nan_of(type) | sign_of(type), type);
}

static void check_heavy(fixture *f, scan_type type, distribution *data) {
    size_t n = 330000 + random_u64(&f->random) % 70000;
    void *keys = guarded_place(f->keys_in, n, scan_type_size(type), &f->random);
    fill(keys, n, type, data, random_u64(&f->random));
    uint64_t order = random_u64(&f->random);
    sort_case c = {type, order & 1, type_is_float(type) && order & 2, 0, type_bits(type)};
    check_argsort(f, keys, n, c);
    for (uint32_t bytes = 0; bytes <= 8; bytes += 4)
        if (!FEWER || bytes != (order & 4 ? 4 : 8))
            check_sort(f, keys, n, c, bytes, SCAN_SORT_AUTO);
    if (!FEWER) /* at another place, by other threads */
        check_sort(f, keys, n, c, 0, SCAN_SORT_AUTO);
    if (!ONLY_THREADS) /* which do the same there with any keys */
        check_sort(f, keys, n, c, 0, SCAN_SORT_RADIX);
}

static void test_heavy(void **state) {
    static distribution *const any[] = {data_two,        data_20,        data_300,  data_3000,        data_6000,
                                        data_mostly_one, data_mostly_40, data_half, data_heavy_begin, data_heavy_end};
    static distribution *const floats[] = {data_zeros,     data_zeros_minus, data_zeros_mixed, data_zeros_alone,
                                           data_zeros_nan, data_nan,         data_nan_mixed};
    static const scan_type types[] = {SCAN_U32, SCAN_I32, SCAN_U64, SCAN_I64, SCAN_F32, SCAN_F64};
    fixture *f = *state;
    /* Threads do the same with keys of every type. */
    for (size_t d = 0; d < sizeof any / sizeof *any; d++)
        for (size_t t = 0; t < 3; t++)
            if (!FEWER || (t == d % 3 && !(is_lower_level() && d % 2)))
                check_heavy(f, types[2 * t + (t < 2 ? random_u64(&f->random) % 2 : d / 3 % 2)], any[d]);
    for (size_t d = 0; d < sizeof floats / sizeof *floats; d++)
        for (size_t wide = 0; wide < 2; wide++)
            if (!FEWER || wide == d % 2)
                check_heavy(f, types[4 + wide], floats[d]);
}

/* Mostly zeros of both signs, or NaNs. */
static uint64_t data_mostly_special(uint64_t *s, size_t i, size_t n, scan_type type) {
    const uint64_t r = random_u64(s), special = n % 2 ? 0 : nan_of(type);
    return (void)i, r % 8 < 5 ? special | (r & 64 ? sign_of(type) : 0) : random_u64(s) >> (64 - type_bits(type));
}

/* Often one of forty values far from each other, at random or in runs. */
static uint64_t data_repeated(uint64_t *s, size_t i, size_t n, scan_type type) {
    uint64_t r = random_u64(s), run = i / 100, value = (n % 2 ? random_u64(&run) : r) % 40;
    return r >> 61 == 0 ? random_u64(s) >> (64 - type_bits(type)) : (value * value * value) << (type_bits(type) - 23);
}

/* So many keys that two threads partition them, unless zeros or NaNs are set aside, or most keys repeat. */
static void test_keys_of_two_threads(void **state) {
    static const struct {
        scan_type type;
        distribution *data;
    } sets[] = {{SCAN_F64, data_mostly_special}, {SCAN_F64, data_repeated}, {SCAN_U64, data_repeated}};
    fixture *f = *state;
    scan_ctx *ctx = context_with_threads(2);
    for (unsigned round = 0; round < 24; round += FEWER ? 5 : 1) {
        const sort_case c = {sets[round % 3].type, round & 2, round & 4 && sets[round % 3].type == SCAN_F64, 0, 64};
        const scan_sort_desc desc = desc_of(c);
        const size_t n = MAX_N - 1000 + round / 3 % 2;
        uint64_t *keys = guarded_end(f->keys_in, 8 * n), *out = guarded_end(f->keys_out, 8 * n);
        fill(keys, n, c.type, sets[round % 3].data, random_u64(&f->random));
        check_argsort(f, keys, n, c);
        const void *from = round / 6 % 2 ? keys : memcpy(out, keys, 8 * n);
        assert_int_equal(scan_sort(ctx, &desc, from, out, NULL, NULL, n), SCAN_OK);
        for (size_t i = 0; i < n; i++)
            if (out[i] != key_bits(f->sorted, i, c.type))
                fail_case(c, "key", n, i);
    }
    scan_ctx_destroy(ctx);
}

/* ---- integers that lie close together ---------------------------------------------------------------------------- */

/* Keys of `values` consecutive integers from `min` on; one key in a thousand is repeated 200 times. Perhaps two values
 * are most of all. */
static void fill_dense(fixture *f, void *keys, size_t n, scan_type type, uint64_t min, uint64_t values, bool common) {
    uint64_t key = 0;
    for (size_t i = 0, repeat = 0; i < n; i++) {
        repeat = repeat > 0 ? repeat - 1 : random_u64(&f->random) % 1000 == 0 ? 200 : 0;
        if (repeat == 0)
            key = i == n / 3   ? min
                  : i == n / 2 ? min + values - 1
                               : min + random_u64(&f->random) % (common && random_u64(&f->random) % 4 ? 2 : values);
        set_key_bits(keys, i, type, key);
    }
}

/* Ranges around the largest that is sorted by counting, and around as many values as are compared with, and a few more,
 * which repeat. Then one key
 * that no sample sees makes the range large. */
static void test_dense_range(void **state) {
    static const scan_type types[] = {SCAN_U16, SCAN_I16, SCAN_U32, SCAN_I32, SCAN_U64, SCAN_I64};
    fixture *f = *state;
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        for (size_t round = 0; round < 9; round++) {
            if (FEWER && (t != round % 6 || (is_lower_level() && round < 6 && round % 2)))
                continue;
            scan_type type = types[t];
            size_t n = 300000 + random_u64(&f->random) % 70000, size = scan_type_size(type);
            uint64_t values[] = {20, 3000, 30000, n / 8, n / 4 - 1, n / 4, n / 4 + 1, 15, 16}, range = values[round];
            uint64_t min = round % 2 ? 0 - range / 2 : random_u64(&f->random);
            void *keys = guarded_place(f->keys_in, n, size, &f->random);
            fill_dense(f, keys, n, type, min, size == 2 && range > 65536 ? 65536 : range, (t + round) % 2 == 0);
            for (int large = 0; large < 2; large++) {
                if (large)
                    set_key_bits(keys, random_u64(&f->random) % n, type, min + (1ull << (8 * size - 2)));
                sort_case c = {type, random_u64(&f->random) & 1, false, 0, type_bits(type)};
                check_argsort(f, keys, n, c);
                check_sort(f, keys, n, c, 0, SCAN_SORT_AUTO);
                if (!ONLY_THREADS)
                    check_sort(f, keys, n, c, 0, SCAN_SORT_RADIX);
            }
        }
}

/* ---- runs of equal keys ------------------------------------------------------------------------------------------ */

/* Runs of about a hundred keys. Or keys of which only those are equal to the next one that the sort looks at to see
 * whether there are runs. */
static void fill_runs(fixture *f, void *keys, size_t n, scan_type type, bool seeming) {
    enum { LOOKS = 128 };
    uint64_t key = 0;
    for (size_t i = 0; i < n; i++) {
        if (seeming || i == 0 || random_u64(&f->random) % 100 == 0)
            key = (random_u64(&f->random) % 4 ? data_uniform : data_specials)(&f->random, i, n, type);
        set_key_bits(keys, i, type, key);
    }
    for (size_t i = 0; seeming && i < LOOKS; i++) {
        const size_t at = scan_sort_anywhere(i, n - 1);
        set_key_bits(keys, at + 1, type, key_bits(keys, at, type));
    }
}

static void test_runs(void **state) {
    static const scan_type types[] = {SCAN_U32, SCAN_I64, SCAN_F32, SCAN_F64};
    fixture *f = *state;
    for (unsigned round = 0; round < (FEWER ? 8 : 40); round++) {
        const uint64_t r = random_u64(&f->random);
        const scan_type type = types[round % 4];
        const size_t n = (round / 4 % 2 ? 18000 : 360000) + r % 10000;
        const sort_case c = {type, r >> 16 & 1, type_is_float(type) && r >> 17 & 1, 0, type_bits(type)};
        void *keys = guarded_place(f->keys_in, n, scan_type_size(type), &f->random);
        fill_runs(f, keys, n, type, round % 3 == 0);
        check_argsort(f, keys, n, c);
        check_sort(f, keys, n, c, 0, SCAN_SORT_AUTO);
        check_sort(f, keys, n, c, 0, SCAN_SORT_RADIX);
    }
}

/* ---- few values, one of them rare ------------------------------------------------------------------------------- */

/* Two values, of which one of fifty keys has the second: a small sample often misses it. Their signs differ, or not. */
static uint64_t data_rare_value(uint64_t *s, size_t i, size_t n, scan_type type) {
    static const double values[][2] = {{5, -3}, {-3, 5}, {2, 3}, {-2, -3}, {0, -1}, {-1, 0}};
    (void)i;
    return bits_of_double(values[n % 6][random_u64(s) % 50 == 0], type);
}

static void test_rare_values(void **state) {
    static const scan_type types[] = {SCAN_U32, SCAN_I64, SCAN_F32, SCAN_F64};
    fixture *f = *state;
    for (unsigned round = 0; round < (ONLY_THREADS ? 12 : 72); round++) {
        const uint64_t r = random_u64(&f->random);
        const scan_type type = types[round % 4];
        const size_t n = 66000 + r % 6000;
        const sort_case c = {type, r >> 16 & 1, false, 0, type_bits(type)};
        void *keys = guarded_place(f->keys_in, n, scan_type_size(type), &f->random);
        fill(keys, n, type, data_rare_value, r);
        check_argsort(f, keys, n, c);
        check_sort(f, keys, n, c, 0, SCAN_SORT_AUTO);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small_sizes),
        cmocka_unit_test(test_medium_sizes),
        cmocka_unit_test(test_powers_of_two),
        cmocka_unit_test(test_large),
        cmocka_unit_test(test_bit_ranges),
        cmocka_unit_test(test_count_in_memory),
        cmocka_unit_test(test_low_count_in_memory),
        cmocka_unit_test(test_heavy),
        cmocka_unit_test(test_keys_of_two_threads),
        cmocka_unit_test(test_dense_range),
        cmocka_unit_test(test_runs),
        cmocka_unit_test(test_rare_values),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
