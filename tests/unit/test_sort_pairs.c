/* SPDX-License-Identifier: MIT
 *
 * scan_sort of pairs whose keys repeat, by so many threads that they are divided in halves (two), or into bins by
 * pieces (three), against the oracle: in place, and from arrays that end at a page that faults. Pairs of two values of
 * narrow keys, so many that they are written past the caches, and of few bits, by all of them. And pairs that a thread
 * sorts in its cache, of which most have one key, or seem to wherever the sort looks.
 */
#include <pthread.h>

#include "scan/cpu/sort/sort.h"
#include "sort_oracle.h"

enum { MAX_N = 530003 };

typedef struct fixture {
    guarded keys, out, values, values_out;
    sort_item *items;
    uint64_t random;
} fixture;

static int set_up(void **state) {
    fixture *f = calloc(1, sizeof *f);
    for (guarded *g = &f->keys; g <= &f->values_out; g++)
        *g = guarded_create(8 * (size_t)MAX_N);
    f->items = malloc(sizeof *f->items * MAX_N);
    *state = f;
    return 0;
}

static int tear_down(void **state) {
    fixture *f = *state;
    for (guarded *g = &f->keys; g <= &f->values_out; g++)
        guarded_destroy(*g);
    free(f->items);
    free(f);
    return 0;
}

/* ---- keys -------------------------------------------------------------------------------------------------------- */

/* One of `count` numbers of both signs. */
static uint64_t one_of(uint64_t *s, uint64_t count, scan_type type) {
    return bits_of_double(1.5 * (double)(random_u64(s) % count) - (double)(count / 2), type);
}

static uint64_t data_20(uint64_t *s, size_t i, size_t n, scan_type type) {
    return (void)i, (void)n, one_of(s, 20, type);
}
static uint64_t data_300(uint64_t *s, size_t i, size_t n, scan_type type) {
    return (void)i, (void)n, one_of(s, 300, type);
}
/* Zeros of both signs, NaNs of any bits, and 300 numbers; of integers the numbers alone. */
static uint64_t data_ties(uint64_t *s, size_t i, size_t n, scan_type type) {
    const uint64_t r = random_u64(s), sign = (r & 1) << (type_bits(type) - 1);
    return (void)i, (void)n,
           r & 2 || !type_is_float(type) ? one_of(s, 300, type)
                                         : sign | (r & 4 ? 0 : bits_of_double(INFINITY, type) + 1 + (r >> 8 & 0xff));
}
/* Most keys are one value, so that a cut lies beside it. */
static uint64_t data_mostly_one(uint64_t *s, size_t i, size_t n, scan_type type) {
    return (void)i, (void)n, random_u64(s) % 4 ? bits_of_double(7, type) : one_of(s, 300, type);
}
static uint64_t data_nearly_one(uint64_t *s, size_t i, size_t n, scan_type type) {
    return random_u64(s) % 20 ? bits_of_double(7, type) : data_ties(s, i, n, type);
}
/* Twelve values, descending but for a few other keys: hardly a piece has many of them. */
static uint64_t data_12_descending(uint64_t *s, size_t i, size_t n, scan_type type) {
    return random_u64(s) % 1000 == 0 ? one_of(s, 30, type) : bits_of_double(12 - (double)(i * 12 / n), type);
}
/* The same, ascending. */
static uint64_t data_12_ascending(uint64_t *s, size_t i, size_t n, scan_type type) {
    return data_12_descending(s, n - 1 - i, n, type);
}

/* Few values; twelve, and so many rare ones that a list has room for all, or for all but one. */
static uint64_t data_5(uint64_t *s, size_t i, size_t n, scan_type type) { return (void)i, (void)n, one_of(s, 5, type); }
static uint64_t twelve_of(uint64_t *s, uint64_t count, scan_type type) {
    const uint64_t r = random_u64(s);
    return bits_of_double((double)((r >> 9) % (r % 512 ? 12 : count)), type);
}
static uint64_t data_12_of_16(uint64_t *s, size_t i, size_t n, scan_type type) {
    return (void)i, (void)n, twelve_of(s, 16, type);
}
static uint64_t data_12_of_17(uint64_t *s, size_t i, size_t n, scan_type type) {
    return (void)i, (void)n, twelve_of(s, 17, type);
}
static uint64_t data_16_and_last(uint64_t *s, size_t i, size_t n, scan_type type) {
    return i + 1 == n ? bits_of_double(100, type) : twelve_of(s, 16, type);
}
/* Most are one of eight, or of nine: as few as are placed all the same, and one more. */
static uint64_t data_mostly_one_of_8(uint64_t *s, size_t i, size_t n, scan_type type) {
    return (void)i, (void)n,
           random_u64(s) % 8 ? bits_of_double(3, type) : bits_of_double((double)(random_u64(s) % 8), type);
}
static uint64_t data_mostly_one_of_9(uint64_t *s, size_t i, size_t n, scan_type type) {
    return (void)i, (void)n,
           random_u64(s) % 8 ? bits_of_double(3, type) : bits_of_double((double)(random_u64(s) % 9), type);
}
/* Twelve, of which each part of the keys has three or six; all parts together more than a list has. */
static uint64_t data_12_by_parts(uint64_t *s, size_t i, size_t n, scan_type type) {
    return bits_of_double((double)((n - 1 - i) * 4 / n * 3 + random_u64(s) % 3), type);
}
static uint64_t data_28_by_parts(uint64_t *s, size_t i, size_t n, scan_type type) {
    return bits_of_double((double)((n - 1 - i) * 4 / n * 7 + random_u64(s) % 7), type);
}
/* Some numbers, and zeros of both signs, of which that with a sign is rare. */
static uint64_t data_5_and_a_tie(uint64_t *s, size_t i, size_t n, scan_type type) {
    return i == n / 2 ? (uint64_t)1 << (type_bits(type) - 1) : bits_of_double((double)(random_u64(s) % 5), type);
}

/* The lowest bit varies: a partition has two bins. */
static uint64_t data_bit(uint64_t *s, size_t i, size_t n, scan_type type) {
    return (void)i, (void)n, (void)type, random_u64(s) & 1;
}

/* As few bits vary as one partition divides by, and one more; and few but for a key that samples seldom show. */
static uint64_t data_10_bits(uint64_t *s, size_t i, size_t n, scan_type type) {
    return (void)i, (void)n, (void)type, random_u64(s) & 0x3ff;
}
static uint64_t data_11_bits(uint64_t *s, size_t i, size_t n, scan_type type) {
    return (void)i, (void)n, (void)type, random_u64(s) & 0x7ff;
}
static uint64_t data_10_bits_but_one(uint64_t *s, size_t i, size_t n, scan_type type) {
    return i == n / 3 ? 0x1234567 : data_10_bits(s, i, n, type);
}

/* Nearly nine in ten are one value, less than many others and, where keys have signs, greater than many. */
static uint64_t data_often_one(uint64_t *s, size_t i, size_t n, scan_type type) {
    return (void)i, (void)n, random_u64(s) % 9 ? bits_of_double(-3, type) : one_of(s, 300, type);
}
/* The others are mostly of one value, too. */
static uint64_t data_often_twice(uint64_t *s, size_t i, size_t n, scan_type type) {
    return random_u64(s) % 9 ? bits_of_double(-3, type) : data_often_one(s, i, n, type) + 1;
}
/* Nineteen in twenty are zero, the others its ties, NaNs and numbers. */
static uint64_t data_often_zero(uint64_t *s, size_t i, size_t n, scan_type type) {
    return random_u64(s) % 20 == 0 ? data_ties(s, i, n, type) : 0;
}
/* The same of one NaN. */
static uint64_t data_often_nan(uint64_t *s, size_t i, size_t n, scan_type type) {
    return random_u64(s) % 20 == 0 ? data_ties(s, i, n, type) : bits_of_double(NAN, type);
}

/* Most are zero, the others numbers: a key that may have ties, and has none. */
static uint64_t data_zero_and_numbers(uint64_t *s, size_t i, size_t n, scan_type type) {
    return (void)i, (void)n, random_u64(s) % 8 ? 0 : one_of(s, 300, type);
}
/* The same, but the last that is not zero is -0, the only tie, and belongs before the zeros behind it. */
static uint64_t data_zero_and_tie(uint64_t *s, size_t i, size_t n, scan_type type) {
    const size_t left = n - 1 - i;
    return left > 50 ? data_zero_and_numbers(s, i, n, type) : left == 50 ? (uint64_t)1 << (type_bits(type) - 1) : 0;
}
/* The same, with the tie last but one: in the last vector, which is not full. */
static uint64_t data_zero_and_last_tie(uint64_t *s, size_t i, size_t n, scan_type type) {
    return i + 2 < n ? data_zero_and_numbers(s, i, n, type) : i + 2 == n ? (uint64_t)1 << (type_bits(type) - 1) : 0;
}
/* Most are one NaN, the others numbers. */
static uint64_t data_nan_and_numbers(uint64_t *s, size_t i, size_t n, scan_type type) {
    return (void)i, (void)n, random_u64(s) % 8 ? bits_of_double(NAN, type) : one_of(s, 300, type);
}

/* A little less than two in three are one value: a sample may show more. */
static uint64_t data_less_often(uint64_t *s, size_t i, size_t n, scan_type type) {
    return (void)i, (void)n, random_u64(s) % 22 < 14 ? bits_of_double(-3, type) : random_u64(s);
}

/* Close to each other and hardly two alike, but one in 500 is far away: a sample may miss it. */
static uint64_t data_far_ones(uint64_t *s, size_t i, size_t n, scan_type type) {
    const uint64_t r = random_u64(s);
    return (void)n, i % 500 == 250 ? bits_of_double((double)(int64_t)r, type) : bits_of_double((double)(r >> 30), type);
}

/* Half are one value and half another, but one in 200: less, between or greater. */
static uint64_t data_two_and_rare(uint64_t *s, size_t i, size_t n, scan_type type) {
    const uint64_t r = random_u64(s);
    return (void)i, (void)n, r % 200 == 0 ? one_of(s, 300, type) : bits_of_double(r & 256 ? 3 : 30, type);
}
/* Zeros and ones, and one in 300 is a zero of the other sign, or a NaN. */
static uint64_t data_two_and_ties(uint64_t *s, size_t i, size_t n, scan_type type) {
    const uint64_t r = random_u64(s);
    return (void)i, (void)n, r % 300 == 0 ? data_ties(s, i, n, type) : bits_of_double(r & 256 ? 0 : 1, type);
}
/* NaNs and ones, and one in 300 is another NaN, or another number. */
static uint64_t data_nan_and_ties(uint64_t *s, size_t i, size_t n, scan_type type) {
    const uint64_t r = random_u64(s);
    return (void)i, (void)n, r % 300 == 0 ? data_ties(s, i, n, type) : bits_of_double(r & 256 ? NAN : 1, type);
}
/* Four values, and others behind them: a range of two has them at its end. */
static uint64_t data_four_then_others(uint64_t *s, size_t i, size_t n, scan_type type) {
    return bits_of_double((double)(n - i < 30 ? i % 7 : random_u64(s) % 4 * 2), type);
}

/* One value, but one key in 40, or 20: so few, and too many, that those of one key move as blocks. */
static uint64_t data_one_but_40th(uint64_t *s, size_t i, size_t n, scan_type type) {
    return (void)i, (void)n, random_u64(s) % 40 ? bits_of_double(3, type) : one_of(s, 300, type);
}
static uint64_t data_one_but_20th(uint64_t *s, size_t i, size_t n, scan_type type) {
    return (void)i, (void)n, random_u64(s) % 20 ? bits_of_double(3, type) : one_of(s, 300, type);
}

/* Two values, and in the second half one key in `distance` is another: the first of 32 is between the two, the others
 * are greater. */
static uint64_t two_then_others(uint64_t *s, size_t i, size_t n, scan_type type, size_t distance) {
    const double two = random_u64(s) & 256 ? 3 : 30, other = i / distance % 32 == 0 ? 20 : 40;
    return bits_of_double(i > n / 2 && i % distance == 0 ? other : two, type);
}
/* Of many pairs, 1060 of other keys: a few more than there is room for. */
static uint64_t data_two_then_40th(uint64_t *s, size_t i, size_t n, scan_type type) {
    return two_then_others(s, i, n, type, 40);
}
/* The others become too many for the pairs before them. */
static uint64_t data_two_then_10th(uint64_t *s, size_t i, size_t n, scan_type type) {
    return two_then_others(s, i, n, type, 10);
}

/* Runs of about `length` equal keys, some of them ties of others. */
static uint64_t runs_of(uint64_t *s, size_t i, size_t n, scan_type type, size_t length) {
    static uint64_t key;
    if (i == 0 || random_u64(s) % length == 0)
        key = data_ties(s, i, n, type);
    return key;
}
static uint64_t data_runs(uint64_t *s, size_t i, size_t n, scan_type type) { return runs_of(s, i, n, type, 60); }
/* A little shorter than the sort has room for: a sample may show longer ones. */
static uint64_t data_short_runs(uint64_t *s, size_t i, size_t n, scan_type type) { return runs_of(s, i, n, type, 15); }

/* Few small numbers where the sort looks at keys; hardly any elsewhere. */
static void mislead(fixture *f, void *keys, size_t n, scan_type type) {
    enum { SAMPLES = 256 };
    for (size_t k = 0; k < SAMPLES; k++)
        set_key_bits(keys, scan_sort_anywhere(k, n), type, random_u64(&f->random) % 20);
}

/* ---- the test ---------------------------------------------------------------------------------------------------- */

/* The oracle's order is in f->items. keys_in_place, values_in_place: one may be without the other. The call's n is a
 * bound, of which the count lacks some. */
static void check(fixture *f, scan_ctx *ctx, const void *keys, size_t n, sort_case c, uint32_t value_bytes,
                  bool keys_in_place, bool values_in_place) {
    const size_t size = size_of_type(c.type), bound = n + n % 3;
    const uint64_t count = n;
    void *out = guarded_end(f->out, bound * size), *values_out = guarded_end(f->values_out, bound * value_bytes),
         *values = values_in_place ? values_out : guarded_end(f->values, n * value_bytes);
    const void *in = keys_in_place ? memcpy(out, keys, n * size) : keys;
    for (size_t i = 0; i < n; i++)
        store_element(values, i, value_bytes, i * 0x9e3779b97f4a7c15u);
    const scan_sort_desc desc = {.struct_size = sizeof desc,
                                 .type = c.type,
                                 .descending = c.descending,
                                 .nan_first = c.nan_first,
                                 .value_bytes = value_bytes,
                                 .n_device = bound > n ? &count : NULL};
    assert_int_equal(scan_sort(ctx, &desc, in, out, values, values_out, bound), SCAN_OK);
    for (size_t i = 0; i < n; i++) {
        const uint64_t from = f->items[i].index, value = from * 0x9e3779b97f4a7c15u;
        if (key_bits(out, i, c.type) != key_bits(keys, from, c.type))
            fail_msg("%s: key wrong at %zu of %zu", scan_type_name(c.type), i, n);
        if (load_element(values_out, i, value_bytes) != load_element(&value, 0, value_bytes))
            fail_msg("%s: value wrong at %zu of %zu", scan_type_name(c.type), i, n);
    }
}

static void test_few_values(void **state) {
    static const struct {
        scan_type type;
        uint32_t value_bytes, threads;
        size_t n;
        distribution *data;
        bool misleads;
    } cases[] = {
        {SCAN_U64, 8, 2, 270001, data_20, false},
        {SCAN_F64, 8, 2, 270001, data_ties, false},
        {SCAN_I64, 4, 2, 360001, data_mostly_one, false},
        {SCAN_F32, 8, 2, 360001, data_ties, false},
        {SCAN_U32, 4, 2, 530001, data_300, false},
        {SCAN_U64, 8, 2, 270001, data_uniform, true},
        {SCAN_U32, 4, 2, 530001, data_5, false},
        {SCAN_F64, 8, 2, 270001, data_5, false},
        {SCAN_I64, 4, 2, 360007, data_5, false},
        {SCAN_F32, 8, 2, 360001, data_5, false},
        {SCAN_I32, 4, 2, 530001, data_12_of_16, false},
        {SCAN_U64, 8, 2, 270001, data_12_of_16, false},
        {SCAN_F32, 4, 2, 530001, data_12_of_17, false},
        {SCAN_U32, 8, 2, 360001, data_16_and_last, false},
        {SCAN_U64, 4, 2, 360001, data_mostly_one_of_8, false},
        {SCAN_I32, 8, 2, 270001, data_mostly_one_of_8, false},
        {SCAN_F32, 4, 2, 530001, data_mostly_one_of_9, false},
        {SCAN_I32, 4, 2, 530001, data_12_by_parts, false},
        {SCAN_F64, 8, 2, 270001, data_12_by_parts, false},
        {SCAN_U32, 4, 2, 530001, data_28_by_parts, false},
        {SCAN_F32, 4, 2, 530001, data_5_and_a_tie, false},
        {SCAN_F64, 4, 2, 360001, data_5_and_a_tie, false},
        {SCAN_I32, 4, 3, 200001, data_12_descending, false},
        {SCAN_F64, 8, 3, 200001, data_12_ascending, false},
        {SCAN_F32, 4, 3, 200001, data_ties, false},
        {SCAN_U8, 8, 1, 480000, data_bit, false},
        {SCAN_I16, 8, 2, 480000, data_bit, false},
        {SCAN_U64, 8, 2, 270001, data_bit, false},
        {SCAN_F64, 8, 2, 270001, data_nearly_one, false},
        {SCAN_U64, 8, 2, 270001, data_10_bits, false},
        {SCAN_U32, 4, 2, 530001, data_10_bits, false},
        {SCAN_I64, 4, 1, 270001, data_10_bits, false},
        {SCAN_U32, 8, 2, 530001, data_11_bits, false},
        {SCAN_I64, 8, 2, 270001, data_11_bits, false},
        {SCAN_U64, 4, 2, 270001, data_10_bits_but_one, false},
        {SCAN_I32, 4, 2, 530001, data_10_bits_but_one, false},
        {SCAN_I32, 4, 1, 60001, data_often_one, false},
        {SCAN_F64, 8, 1, 9001, data_often_one, false},
        {SCAN_F32, 8, 2, 9001, data_often_one, false},
        {SCAN_U64, 4, 1, 1025, data_often_one, false},
        {SCAN_U32, 8, 1, 30001, data_often_twice, false},
        {SCAN_I32, 4, 2, 530001, data_often_one, false},
        {SCAN_U32, 8, 2, 360003, data_often_twice, false},
        {SCAN_F32, 4, 2, 530001, data_zero_and_numbers, false},
        {SCAN_F64, 4, 2, 360007, data_zero_and_tie, false},
        {SCAN_F32, 4, 1, 9001, data_often_zero, false},
        {SCAN_F64, 8, 1, 9001, data_often_nan, false},
        {SCAN_F32, 8, 1, 9001, data_zero_and_numbers, false},
        {SCAN_F64, 4, 1, 9001, data_zero_and_numbers, false},
        {SCAN_F64, 8, 1, 9001, data_zero_and_tie, false},
        {SCAN_F32, 4, 1, 9002, data_zero_and_tie, false},
        {SCAN_F32, 4, 1, 9002, data_zero_and_last_tie, false},
        {SCAN_F64, 4, 1, 9003, data_zero_and_last_tie, false},
        {SCAN_F32, 4, 1, 9001, data_nan_and_numbers, false},
        {SCAN_F64, 8, 1, 9001, data_nan_and_numbers, false},
        {SCAN_I32, 4, 1, 9001, data_two_and_rare, false},
        {SCAN_U64, 8, 1, 9003, data_two_and_rare, false},
        {SCAN_F32, 8, 2, 90001, data_two_and_rare, false},
        {SCAN_F64, 4, 1, 1025, data_two_and_rare, false},
        {SCAN_F32, 4, 1, 9001, data_two_and_ties, false},
        {SCAN_F64, 8, 1, 9003, data_two_and_ties, false},
        {SCAN_F64, 4, 1, 9001, data_nan_and_ties, false},
        {SCAN_F32, 8, 1, 9003, data_nan_and_ties, false},
        {SCAN_I64, 8, 1, 9005, data_four_then_others, false},
        {SCAN_F32, 4, 1, 9007, data_four_then_others, false},
        {SCAN_U32, 4, 2, 530001, data_one_but_40th, false},
        {SCAN_F64, 8, 1, 84801, data_one_but_40th, false},
        {SCAN_U32, 4, 2, 530001, data_one_but_20th, false},
        {SCAN_I64, 8, 1, 84801, data_one_but_20th, false},
        {SCAN_U64, 8, 1, 84801, data_two_then_40th, false},
        {SCAN_I32, 4, 1, 84801, data_two_then_40th, false},
        {SCAN_U64, 8, 1, 9003, data_two_then_10th, false},
        {SCAN_I32, 8, 1, 9001, data_two_then_10th, false},
        {SCAN_F32, 4, 1, 9001, data_runs, false},
        {SCAN_F64, 8, 1, 9005, data_runs, false},
        {SCAN_F32, 8, 2, 90001, data_runs, false},
        {SCAN_I64, 4, 1, 1031, data_runs, false},
        {SCAN_I64, 8, 1, 1501, data_far_ones, false},
        {SCAN_F64, 8, 1, 9001, data_far_ones, false},
        {SCAN_F64, 4, 2, 16001, data_far_ones, false},
    };
    fixture *f = *state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const size_t n = cases[k].n;
        const scan_type type = cases[k].type;
        const sort_case c = {type, k & 1, type_is_float(type) && k & 2, 0, type_bits(type)};
        scan_ctx *ctx = context_with_threads(cases[k].threads);
        void *keys = guarded_end(f->keys, n * size_of_type(type));
        fill(keys, n, type, cases[k].data, random_u64(&f->random));
        if (cases[k].misleads)
            mislead(f, keys, n, type);
        sort_oracle(f->items, keys, n, c);
        for (unsigned way = 0; way < 4; way++)
            check(f, ctx, keys, n, c, cases[k].value_bytes, way & 1, way & 2);
        scan_ctx_destroy(ctx);
    }
}

/* So many arrays that samples of some mislead. */
static void test_one_value_by_chance(void **state) {
    enum { ARRAYS = 200, N = 1501 };
    fixture *f = *state;
    scan_ctx *ctx = context_with_threads(1);
    for (unsigned k = 0; k < ARRAYS; k++) {
        const scan_type type = k & 1 ? SCAN_U64 : SCAN_U32;
        const sort_case c = {type, k & 2, false, 0, type_bits(type)};
        void *keys = guarded_end(f->keys, N * size_of_type(type));
        fill(keys, N, type, k % 3 ? data_less_often : data_short_runs, random_u64(&f->random));
        sort_oracle(f->items, keys, N, c);
        check(f, ctx, keys, N, c, (uint32_t)size_of_type(type), k & 4, k & 4);
    }
    scan_ctx_destroy(ctx);
}

/* Marks where quicksort looks at n keys, with vectors of so many lanes: choose_places() of quick_lanes.h,
 * sample_place() of quick_few.h. */
static void mark_places(bool *marks, size_t n, size_t lanes) {
    enum { SAMPLES = 64 };
    const size_t third = (n - lanes) / 3;
    const uint64_t hash = n * 0x9e3779b97f4a7c15u;
    for (unsigned k = 0; k < 3; k++)
        memset(marks + k * third + ((size_t)(hash >> (16 * k + 16) & 0xffff) * third >> 16), true, lanes);
    for (uint64_t i = 0; i < SAMPLES; i++) {
        uint64_t x = (i + 1) * 0x9e3779b97f4a7c15u;
        x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
        marks[((i << 32) + (x >> 32)) / SAMPLES * n >> 32] = true;
    }
}

/* Keys of 4 bytes that are one value where the sort looks at them, another where it looks at those that are left, and
 * so on. */
static void mislead_always(fixture *f, uint32_t *keys, size_t n) {
    enum { ENOUGH = 1000 };
    bool *marks = calloc(n, sizeof *marks);
    size_t *places = malloc(n * sizeof *places), left = n;
    for (size_t i = 0; i < n; i++)
        places[i] = i;
    for (uint32_t key = 0; left > ENOUGH; key++) {
        size_t kept = 0;
        memset(marks, false, left);
        mark_places(marks, left, 8);
        mark_places(marks, left, 16);
        for (size_t i = 0; i < left; i++)
            if (marks[i])
                keys[places[i]] = key;
            else
                places[kept++] = places[i];
        left = kept;
    }
    for (size_t i = 0; i < left; i++)
        keys[places[i]] = (uint32_t)random_u64(&f->random);
    free(places);
    free(marks);
}

typedef struct call {
    scan_ctx *ctx;
    void *keys, *values;
    size_t n;
    scan_status status;
} call;

static void *run_call(void *arg) {
    call *c = arg;
    const scan_sort_desc desc = {.struct_size = sizeof desc, .type = SCAN_U32, .value_bytes = 4};
    c->status = scan_sort(c->ctx, &desc, c->keys, c->keys, c->values, c->values, c->n);
    return NULL;
}

/* However often samples mislead, the stack stays small, and so does the time. */
static void test_misled_always(void **state) {
    enum { N = 100001, STACK_BYTES = 512 << 10 };
    fixture *f = *state;
    uint32_t *keys = guarded_end(f->out, N * sizeof *keys), *values = guarded_end(f->values_out, N * sizeof *values);
    void *copy = guarded_end(f->keys, N * sizeof *keys);
    mislead_always(f, keys, N);
    memcpy(copy, keys, N * sizeof *keys);
    for (uint32_t i = 0; i < N; i++)
        values[i] = i;
    call c = {context_with_threads(1), keys, values, N, SCAN_OK};
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    assert_int_equal(pthread_create(&thread, &attributes, run_call, &c), 0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
    assert_int_equal(c.status, SCAN_OK);
    sort_oracle(f->items, copy, N, (sort_case){SCAN_U32, false, false, 0, 32});
    for (size_t i = 0; i < N; i++)
        assert_int_equal(values[i], f->items[i].index);
    scan_ctx_destroy(c.ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_few_values), cmocka_unit_test(test_one_value_by_chance),
                                       cmocka_unit_test(test_misled_always)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
