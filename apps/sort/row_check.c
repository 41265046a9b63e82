/* SPDX-License-Identifier: MIT
 *
 * Checks compare neighbours, or hash elements, in pieces on all threads.
 */
#include "row_check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "apps/support/alloc.h"
#include "apps/support/parallel.h"

/* ---- comparing --------------------------------------------------------------------------------------------------- */

/* x != x is true only for NaN, and the compiler removes it for integers. */
#define COMPARE(name, ctype)                                                                                           \
    static int compare_##name(const order_key *key, size_t a, size_t b) {                                              \
        ctype x = ((const ctype *)key->data)[a], y = ((const ctype *)key->data)[b];                                    \
        if (x != x || y != y)                                                                                          \
            return ((x != x) - (y != y)) * (key->nan_first ? -1 : 1);                                                  \
        return ((x > y) - (x < y)) * (key->descending ? -1 : 1);                                                       \
    }
COMPARE(u8, uint8_t)
COMPARE(i8, int8_t)
COMPARE(u16, uint16_t)
COMPARE(i16, int16_t)
COMPARE(u32, uint32_t)
COMPARE(i32, int32_t)
COMPARE(u64, uint64_t)
COMPARE(i64, int64_t)
COMPARE(f32, float)
COMPARE(f64, double)

static int compare_strings(const order_key *key, size_t a, size_t b) {
    const string *x = &key->strings->at[a], *y = &key->strings->at[b];
    if (!x->begin || !y->begin)
        return (!x->begin - !y->begin) * (key->nan_first ? -1 : 1);
    return string_compare(x, y) * (key->descending ? -1 : 1);
}

typedef int comparer(const order_key *key, size_t a, size_t b);
static comparer *const comparers[] = {
    [SCAN_U8] = compare_u8,   [SCAN_I8] = compare_i8,   [SCAN_U16] = compare_u16, [SCAN_I16] = compare_i16,
    [SCAN_U32] = compare_u32, [SCAN_I32] = compare_i32, [SCAN_U64] = compare_u64, [SCAN_I64] = compare_i64,
    [SCAN_F32] = compare_f32, [SCAN_F64] = compare_f64,
};

int order_compare(const order *o, size_t a, size_t b) {
    int result = 0;
    for (size_t k = 0; k < o->key_count && result == 0; k++) {
        const order_key *key = &o->keys[k];
        result = key->strings ? compare_strings(key, a, b) : comparers[key->type](key, a, b);
    }
    return result;
}

/* A search over neighbouring rows, and what each piece of it found. */
typedef struct search {
    const order *o;
    bool strict;
    size_t *found;   /* a place, or a count */
    uint8_t *starts; /* 1 where a run of equal keys begins */
} search;

static void find_disorder(void *arg, size_t piece) {
    search *s = arg;
    size_t begin = piece * ORDER_PIECE_ROWS, end = order_piece_end(s->o->n, piece);
    s->found[piece] = ORDER_NONE;
    for (size_t i = begin ? begin : 1; i < end; i++) {
        int result = order_compare(s->o, order_at(s->o, i - 1), order_at(s->o, i));
        if (result > 0 || (s->strict && result == 0)) {
            s->found[piece] = i;
            return;
        }
    }
}

static size_t minimum(const size_t *found, size_t pieces) {
    size_t first = ORDER_NONE;
    for (size_t i = 0; i < pieces; i++)
        first = found[i] < first ? found[i] : first;
    return first;
}

size_t order_first_disorder(const order *o, bool strict, unsigned threads) {
    size_t pieces = order_pieces(o->n);
    search s = {.o = o, .strict = strict, .found = must_alloc(pieces + 1, sizeof(size_t))};
    parallel_for(threads, pieces, find_disorder, &s);
    size_t first = minimum(s.found, pieces);
    free(s.found);
    return first;
}

static void find_runs(void *arg, size_t piece) {
    search *s = arg;
    size_t begin = piece * ORDER_PIECE_ROWS, end = order_piece_end(s->o->n, piece), runs = 0;
    for (size_t i = begin; i < end; i++) {
        bool starts = i == 0 || order_compare(s->o, order_at(s->o, i - 1), order_at(s->o, i)) != 0;
        runs += starts;
        if (s->starts)
            s->starts[i] = starts;
    }
    s->found[piece] = runs;
}

size_t order_find_runs(const order *o, uint8_t *starts, unsigned threads) {
    size_t pieces = order_pieces(o->n), runs = 0;
    search s = {.o = o, .found = must_alloc(pieces + 1, sizeof(size_t)), .starts = starts};
    parallel_for(threads, pieces, find_runs, &s);
    for (size_t i = 0; i < pieces; i++)
        runs += s.found[i];
    free(s.found);
    return runs;
}

bool order_is_permutation(const order *o) {
    if (!o->index)
        return true;
    uint8_t *seen = must_alloc(o->n / 8 + 1, 1);
    memset(seen, 0, o->n / 8 + 1);
    bool good = true;
    for (size_t i = 0; i < o->n && good; i++) {
        size_t row = order_at(o, i);
        uint8_t bit = (uint8_t)(1u << row % 8);
        good = row < o->n && !(seen[row / 8] & bit);
        if (good)
            seen[row / 8] |= bit;
    }
    free(seen);
    return good;
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

/* A pass over the values of one key, and what each piece of it found. */
typedef struct scanning {
    const order_key *key;
    size_t n;
    size_t *found;
    uint64_t *hashes;
} scanning;

static void find_nan(void *arg, size_t piece) {
    scanning *s = arg;
    size_t i = piece * ORDER_PIECE_ROWS, end = order_piece_end(s->n, piece);
    if (s->key->strings)
        while (i < end && s->key->strings->at[i].begin)
            i++;
    else if (s->key->type == SCAN_F64)
        while (i < end && !isnan(((const double *)s->key->data)[i]))
            i++;
    else
        while (i < end && !isnan(((const float *)s->key->data)[i]))
            i++;
    s->found[piece] = i < end ? i : ORDER_NONE;
}

size_t order_first_nan(const order_key *key, size_t n, unsigned threads) {
    if (!key->strings && scan_type_class(key->type) != SCAN_FLOAT)
        return ORDER_NONE;
    size_t pieces = order_pieces(n);
    scanning s = {.key = key, .n = n, .found = must_alloc(pieces + 1, sizeof(size_t))};
    parallel_for(threads, pieces, find_nan, &s);
    size_t first = minimum(s.found, pieces);
    free(s.found);
    return first;
}

/* The finalizer of SplitMix64 (Steele, Lea, Flood 2014): a bijection, so elements that differ have hashes that differ.
 */
static uint64_t mix(uint64_t x) {
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

#define HASH_WORDS(bits)                                                                                               \
    static uint64_t hash_##bits(const void *data, size_t i, size_t end) {                                              \
        uint64_t sum = 0;                                                                                              \
        for (const uint##bits##_t *p = data; i < end; i++)                                                             \
            sum += mix(p[i]);                                                                                          \
        return sum;                                                                                                    \
    }
HASH_WORDS(8)
HASH_WORDS(16)
HASH_WORDS(32)
HASH_WORDS(64)

static void hash_piece(void *arg, size_t piece) {
    scanning *s = arg;
    size_t begin = piece * ORDER_PIECE_ROWS, end = order_piece_end(s->n, piece);
    const void *data = s->key->data;
    switch (scan_type_size(s->key->type)) {
    case 1: s->hashes[piece] = hash_8(data, begin, end); break;
    case 2: s->hashes[piece] = hash_16(data, begin, end); break;
    case 4: s->hashes[piece] = hash_32(data, begin, end); break;
    default: s->hashes[piece] = hash_64(data, begin, end); break;
    }
}

uint64_t order_hash(scan_type type, void *data, size_t n, unsigned threads) {
    size_t pieces = order_pieces(n);
    order_key key = {.type = type, .data = data};
    scanning s = {.key = &key, .n = n, .hashes = must_alloc(pieces + 1, sizeof(uint64_t))};
    uint64_t sum = 0;
    parallel_for(threads, pieces, hash_piece, &s);
    for (size_t i = 0; i < pieces; i++)
        sum += s.hashes[i];
    free(s.hashes);
    return sum;
}
