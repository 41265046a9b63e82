/* SPDX-License-Identifier: MIT
 *
 * The sort tests' oracle: a comparison of (key, index) written from the contract, under which qsort sorts, or a given
 * permutation is checked. The index decides ties, so there is one permutation that is right. Also the data that the
 * tests sort.
 */
#ifndef TESTS_UNIT_SORT_ORACLE_H
#define TESTS_UNIT_SORT_ORACLE_H

#include <math.h>

#include "support.h"

typedef struct sort_case {
    scan_type type;
    bool descending, nan_first;
    uint32_t begin_bit, end_bit; /* end_bit > 0 */
} sort_case;

typedef struct sort_item {
    union {
        uint64_t u;
        int64_t i;
        double f;
    } key;
    uint64_t index;
} sort_item;

static inline uint32_t type_bits(scan_type type) { return (uint32_t)(8 * size_of_type(type)); }

/* The bits of element i. */
static inline uint64_t key_bits(const void *keys, size_t i, scan_type type) {
    return load_element(keys, i, size_of_type(type));
}

static inline void set_key_bits(void *keys, size_t i, scan_type type, uint64_t bits) {
    store_element(keys, i, size_of_type(type), bits);
}

static inline double float_of_bits(uint64_t bits, scan_type type) {
    if (type == SCAN_F32) {
        uint32_t low = (uint32_t)bits;
        float f;
        memcpy(&f, &low, sizeof f);
        return (double)f;
    }
    double f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static inline int compare_numbers(const sort_item *a, const sort_item *b, const sort_case *c) {
    if (type_is_float(c->type))
        return (a->key.f > b->key.f) - (a->key.f < b->key.f);
    if (type_is_signed(c->type))
        return (a->key.i > b->key.i) - (a->key.i < b->key.i);
    return (a->key.u > b->key.u) - (a->key.u < b->key.u);
}

static inline int compare_items(const void *left, const void *right, void *arg) {
    const sort_item *a = left, *b = right;
    const sort_case *c = arg;
    bool a_nan = type_is_float(c->type) && isnan(a->key.f), b_nan = type_is_float(c->type) && isnan(b->key.f);
    int order = 0;
    if (a_nan || b_nan)
        order = c->nan_first ? b_nan - a_nan : a_nan - b_nan;
    else
        order = c->descending ? compare_numbers(b, a, c) : compare_numbers(a, b, c);
    return order ? order : (a->index > b->index) - (a->index < b->index);
}

static inline sort_item item_of(const void *keys, size_t i, const sort_case *c) {
    uint64_t bits = key_bits(keys, i, c->type);
    sort_item item = {.index = i};
    if (type_is_float(c->type)) {
        item.key.f = float_of_bits(bits, c->type);
        return item;
    }
    uint32_t width = c->end_bit - c->begin_bit;
    uint64_t window = width == 0 ? 0 : bits >> c->begin_bit & ~0ull >> (64 - width);
    item.key.u = window;
    if (type_is_signed(c->type) && c->end_bit == type_bits(c->type) && width && window >> (width - 1))
        item.key.u = window | (width == 64 ? 0 : ~0ull << width);
    return item;
}

/* items[k].index: the index of the element that comes k-th. */
static inline void sort_oracle(sort_item *items, const void *keys, size_t n, sort_case c) {
    for (size_t i = 0; i < n; i++)
        items[i] = item_of(keys, i, &c);
    qsort_r(items, n, sizeof *items, compare_items, &c);
}

/* Takes a permutation as indices of 4 or 8 bytes into items[k].index. Returns n if it is the order that sort_oracle()
 * would give: every index is below n and every item comes before the next, so that no index occurs twice. Else returns
 * the place of the first that is wrong. */
static inline size_t first_misplaced(sort_item *items, const void *keys, const void *indices, size_t index_bytes,
                                     size_t n, sort_case c) {
    for (size_t i = 0; i < n; i++) {
        const uint64_t index = load_element(indices, i, index_bytes);
        if (index >= n)
            return i;
        items[i] = item_of(keys, index, &c);
        if (i > 0 && compare_items(&items[i - 1], &items[i], &c) >= 0)
            return i;
    }
    return n;
}

/* ---- data -------------------------------------------------------------------------------------------------------- */

/* Returns the bits of element i of n. */
typedef uint64_t distribution(uint64_t *state, size_t i, size_t n, scan_type type);

static inline uint64_t bits_of_double(double x, scan_type type) {
    uint64_t bits = 0;
    float f = (float)x;
    if (type == SCAN_F32)
        memcpy(&bits, &f, sizeof f);
    else if (type == SCAN_F64)
        memcpy(&bits, &x, sizeof x);
    else
        bits = (uint64_t)(int64_t)x;
    return bits;
}

static inline uint64_t data_uniform(uint64_t *s, size_t i, size_t n, scan_type type) {
    (void)i, (void)n, (void)type;
    return random_u64(s);
}
static inline uint64_t data_few_bits(uint64_t *s, size_t i, size_t n, scan_type type) {
    (void)i, (void)n;
    return random_u64(s) & (uint64_t)0x15 << (type_bits(type) / 4);
}
static inline uint64_t data_zipf(uint64_t *s, size_t i, size_t n, scan_type type) {
    (void)i, (void)n;
    uint64_t r = random_u64(s);
    return bits_of_double((double)(1000000 / (1 + (r >> 8) % 1000000)) * (r & 1 ? 1 : -1), type);
}
static inline uint64_t data_sorted(uint64_t *s, size_t i, size_t n, scan_type type) {
    (void)s, (void)n;
    return bits_of_double((double)i / 3, type);
}
static inline uint64_t data_reversed(uint64_t *s, size_t i, size_t n, scan_type type) {
    (void)s;
    return bits_of_double((double)(n - i), type);
}
static inline uint64_t data_reversed_ties(uint64_t *s, size_t i, size_t n, scan_type type) {
    (void)s;
    return bits_of_double((double)((n - i) / 3), type);
}
static inline uint64_t data_constant(uint64_t *s, size_t i, size_t n, scan_type type) {
    (void)s, (void)i, (void)n;
    return bits_of_double(42, type);
}
static inline uint64_t data_few_distinct(uint64_t *s, size_t i, size_t n, scan_type type) {
    (void)i, (void)n, (void)type;
    uint64_t which = random_u64(s) % 5;
    return random_u64(&which);
}
/* Roughly normal reals, and a few zeros of both signs: for floats the exponent decides most of the order. */
static inline uint64_t data_bell(uint64_t *s, size_t i, size_t n, scan_type type) {
    (void)i, (void)n;
    double sum = 0.12;
    for (int k = 0; k < 4; k++)
        sum += (double)(int64_t)random_u64(s) * 0x1p-63;
    if (random_u64(s) % 64 == 0)
        sum = sum < 0 ? -0.0 : 0.0;
    return bits_of_double(type_is_float(type) ? sum : sum * 1000, type);
}
/* Zeros of both signs, NaNs of both signs and many payloads, infinities, denormals, a few numbers. */
static inline uint64_t data_specials(uint64_t *s, size_t i, size_t n, scan_type type) {
    (void)i, (void)n;
    uint64_t r = random_u64(s), sign = (r & 1) << (type_bits(type) - 1), payload = (r >> 8) % 1000;
    uint64_t exponent = type == SCAN_F32 ? 0x7f800000u : type == SCAN_F64 ? 0x7ff0000000000000u : 0;
    switch (r >> 1 & 7) {
    case 0:
    case 1: return sign;
    case 2:
    case 3: return sign | exponent | (payload + 1);
    case 4: return sign | exponent;
    case 5: return sign | payload;
    default: return bits_of_double((double)(int64_t)payload - 500, type);
    }
}
static inline uint64_t data_organ_pipe(uint64_t *s, size_t i, size_t n, scan_type type) {
    (void)s;
    return bits_of_double((double)(i < n / 2 ? i : n - i), type);
}
static inline uint64_t data_sawtooth(uint64_t *s, size_t i, size_t n, scan_type type) {
    (void)s, (void)n;
    return bits_of_double((double)(i % 37), type);
}
/* One outlier in a thousand, the rest in a few low bits: the top digit is the same for nearly all. */
static inline uint64_t data_outliers(uint64_t *s, size_t i, size_t n, scan_type type) {
    (void)n;
    uint64_t r = random_u64(s);
    return i % 1000 == 500 ? r : r & (type_bits(type) == 8 ? 0x7 : 0xfff);
}
/* The same with a single outlier, which no sample shows. */
static inline uint64_t data_one_outlier(uint64_t *s, size_t i, size_t n, scan_type type) {
    uint64_t r = random_u64(s);
    return i == n / 2 ? ~r : r & (type_bits(type) == 8 ? 0x7 : 0xfff);
}
/* Every power of two as often as the next: leading bits say little. */
static inline uint64_t data_octaves(uint64_t *s, size_t i, size_t n, scan_type type) {
    (void)i, (void)n;
    const uint64_t bits = type_bits(type), r = random_u64(s) >> (64 - bits);
    return r >> random_u64(s) % bits;
}
/* Mostly one of 12 values, else near one of them. */
static inline uint64_t data_clusters(uint64_t *s, size_t i, size_t n, scan_type type) {
    (void)i, (void)n, (void)type;
    const uint64_t r = random_u64(s);
    uint64_t which = r % 12;
    return random_u64(&which) + (r >> 62 == 0 ? r >> 8 & 0xffff : 0);
}
/* Some dozens of values, and one key in 64, by place or not at all, of others. */
static inline uint64_t data_dozens(uint64_t *s, size_t i, size_t n, scan_type type) {
    (void)type;
    const uint64_t r = random_u64(s), others = n % 3;
    uint64_t which = r % (20 + n % 120);
    return others > 0 && r >> 58 == 0 && (others == 1 || i < n / 2) ? r << 6 : random_u64(&which);
}
/* Median-of-three killer (Musser): the classic quadratic input of naive quicksorts. */
static inline uint64_t data_killer(uint64_t *s, size_t i, size_t n, scan_type type) {
    (void)s;
    size_t half = n / 2;
    uint64_t x = i < half ? (i % 2 ? half + i : i + 1) : 2 * (i - half + 1);
    return bits_of_double((double)x, type);
}

static distribution *const distributions[] = {
    data_uniform,  data_few_bits, data_zipf,         data_sorted,   data_reversed,    data_reversed_ties,
    data_constant, data_bell,     data_few_distinct, data_specials, data_organ_pipe,  data_sawtooth,
    data_outliers, data_killer,   data_octaves,      data_clusters, data_one_outlier, data_dozens,
};
enum { DISTRIBUTIONS = sizeof distributions / sizeof distributions[0] };

static inline void fill(void *keys, size_t n, scan_type type, distribution *data, uint64_t seed) {
    for (size_t i = 0; i < n; i++)
        set_key_bits(keys, i, type, data(&seed, i, n, type));
}

#endif
