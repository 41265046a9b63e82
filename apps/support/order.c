/* SPDX-License-Identifier: MIT
 *
 * Orders of rows. Checks compare neighbours in pieces, on all threads.
 */
#include "order.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "parallel.h"
#include "report.h"

enum { PIECE_ROWS = 1 << 16 };

static size_t piece_count(size_t n) { return n / PIECE_ROWS + (n % PIECE_ROWS != 0); }

static size_t piece_end(size_t n, size_t piece) {
    size_t begin = piece * PIECE_ROWS;
    return n - begin > PIECE_ROWS ? begin + PIECE_ROWS : n;
}

/* ---- comparing --------------------------------------------------------------------------------------------------- */

/* x != x is true for NaN alone, and folds away for integers. */
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

typedef int comparer(const order_key *key, size_t a, size_t b);
static comparer *const comparers[] = {
    [SCAN_U8] = compare_u8,   [SCAN_I8] = compare_i8,   [SCAN_U16] = compare_u16, [SCAN_I16] = compare_i16,
    [SCAN_U32] = compare_u32, [SCAN_I32] = compare_i32, [SCAN_U64] = compare_u64, [SCAN_I64] = compare_i64,
    [SCAN_F32] = compare_f32, [SCAN_F64] = compare_f64,
};

static int compare_rows(const order *o, size_t a, size_t b) {
    int result = 0;
    for (size_t k = 0; k < o->key_count && result == 0; k++)
        result = comparers[o->keys[k].type](&o->keys[k], a, b);
    return result;
}

/* What a search over neighbours is for, and what each piece of it found. */
typedef struct search {
    const order *o;
    bool strict;
    size_t *found;   /* a place, or a count */
    uint8_t *starts; /* 1 where a run of equal keys begins */
} search;

static void find_disorder(void *arg, size_t piece) {
    search *s = arg;
    size_t begin = piece * PIECE_ROWS, end = piece_end(s->o->n, piece);
    s->found[piece] = ORDER_NONE;
    for (size_t i = begin ? begin : 1; i < end; i++) {
        int result = compare_rows(s->o, order_at(s->o, i - 1), order_at(s->o, i));
        if (result > 0 || (s->strict && result == 0)) {
            s->found[piece] = i;
            return;
        }
    }
}

static size_t least(const size_t *found, size_t pieces) {
    size_t first = ORDER_NONE;
    for (size_t i = 0; i < pieces; i++)
        first = found[i] < first ? found[i] : first;
    return first;
}

size_t order_first_disorder(const order *o, bool strict, unsigned threads) {
    size_t pieces = piece_count(o->n);
    search s = {.o = o, .strict = strict, .found = must_alloc(pieces + 1, sizeof(size_t))};
    parallel_for(threads, pieces, find_disorder, &s);
    size_t first = least(s.found, pieces);
    free(s.found);
    return first;
}

static void find_runs(void *arg, size_t piece) {
    search *s = arg;
    size_t begin = piece * PIECE_ROWS, end = piece_end(s->o->n, piece), runs = 0;
    for (size_t i = begin; i < end; i++) {
        bool starts = i == 0 || compare_rows(s->o, order_at(s->o, i - 1), order_at(s->o, i)) != 0;
        runs += starts;
        if (s->starts)
            s->starts[i] = starts;
    }
    s->found[piece] = runs;
}

static size_t find_all_runs(const order *o, uint8_t *starts, unsigned threads) {
    size_t pieces = piece_count(o->n), runs = 0;
    search s = {.o = o, .found = must_alloc(pieces + 1, sizeof(size_t)), .starts = starts};
    parallel_for(threads, pieces, find_runs, &s);
    for (size_t i = 0; i < pieces; i++)
        runs += s.found[i];
    free(s.found);
    return runs;
}

size_t order_runs(const order *o, unsigned threads) { return find_all_runs(o, NULL, threads); }

bool order_is_permutation(const order *o) {
    if (!o->index.host)
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

typedef struct scanning {
    const order_key *key;
    size_t n;
    size_t *found;
    uint64_t *hashes;
} scanning;

static void find_nan(void *arg, size_t piece) {
    scanning *s = arg;
    size_t i = piece * PIECE_ROWS, end = piece_end(s->n, piece);
    if (s->key->type == SCAN_F64)
        while (i < end && !isnan(((const double *)s->key->data)[i]))
            i++;
    else
        while (i < end && !isnan(((const float *)s->key->data)[i]))
            i++;
    s->found[piece] = i < end ? i : ORDER_NONE;
}

size_t order_first_nan(const order_key *key, size_t n, unsigned threads) {
    if (key->type != SCAN_F32 && key->type != SCAN_F64)
        return ORDER_NONE;
    size_t pieces = piece_count(n);
    scanning s = {.key = key, .n = n, .found = must_alloc(pieces + 1, sizeof(size_t))};
    parallel_for(threads, pieces, find_nan, &s);
    size_t first = least(s.found, pieces);
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
    size_t begin = piece * PIECE_ROWS, end = piece_end(s->n, piece);
    const void *data = s->key->data;
    switch (scan_type_size(s->key->type)) {
    case 1: s->hashes[piece] = hash_8(data, begin, end); break;
    case 2: s->hashes[piece] = hash_16(data, begin, end); break;
    case 4: s->hashes[piece] = hash_32(data, begin, end); break;
    default: s->hashes[piece] = hash_64(data, begin, end); break;
    }
}

uint64_t order_hash(scan_type type, void *data, size_t n, unsigned threads) {
    size_t pieces = piece_count(n);
    order_key key = {.type = type, .data = data};
    scanning s = {.key = &key, .n = n, .hashes = must_alloc(pieces + 1, sizeof(uint64_t))};
    uint64_t sum = 0;
    parallel_for(threads, pieces, hash_piece, &s);
    for (size_t i = 0; i < pieces; i++)
        sum += s.hashes[i];
    free(s.hashes);
    return sum;
}

/* ---- sorting ----------------------------------------------------------------------------------------------------- */

session_buffer order_lend(session *s, void *host, size_t bytes) {
    session_buffer buffer = {.host = host, .context = host, .bytes = bytes};
    if (!s->on_host) {
        session_check(s, scan_malloc(s->ctx, bytes, &buffer.context), "memory");
        session_upload(s, &buffer, bytes);
    }
    return buffer;
}

void order_take_back(session *s, session_buffer *buffer) {
    if (!s->on_host)
        scan_free(s->ctx, buffer->context);
}

typedef struct fetching {
    const order *o;
    const order_key *key;
    void *to;
} fetching;

static void fetch_keys(void *arg, size_t piece) {
    const fetching *f = arg;
    size_t end = piece_end(f->o->n, piece);
    if (scan_type_size(f->key->type) == 8)
        for (size_t i = piece * PIECE_ROWS; i < end; i++)
            ((uint64_t *)f->to)[i] = ((const uint64_t *)f->key->data)[order_at(f->o, i)];
    else
        for (size_t i = piece * PIECE_ROWS; i < end; i++)
            ((uint32_t *)f->to)[i] = ((const uint32_t *)f->key->data)[order_at(f->o, i)];
}

static scan_sort_desc describe(const order *o, const order_key *key) {
    return (scan_sort_desc){.struct_size = sizeof(scan_sort_desc),
                            .type = key->type,
                            .descending = key->descending,
                            .nan_first = key->nan_first,
                            .index_type = o->type};
}

void order_sort(order *o, session *s, const char *subject, unsigned threads) {
    o->type = o->n >> 32 ? SCAN_U64 : SCAN_U32;
    size_t index_bytes = scan_type_size(o->type);
    session_buffer index = session_alloc(s, o->n * index_bytes);

    const order_key *last = &o->keys[o->key_count - 1];
    scan_sort_desc desc = describe(o, last);
    session_buffer keys = order_lend(s, last->data, o->n * scan_type_size(last->type));
    report_phase before = report_enter(PHASE_COMPUTE);
    session_check(s, scan_argsort(s->ctx, &desc, keys.context, index.context, o->n), subject);
    order_take_back(s, &keys);
    session_download(s, &index, o->n * index_bytes);
    o->index = index;

    for (size_t k = o->key_count - 1; k-- > 0;) {
        const order_key *key = &o->keys[k];
        size_t bytes = o->n * scan_type_size(key->type);
        session_buffer sorted = session_alloc(s, bytes);
        parallel_for(threads, piece_count(o->n), fetch_keys, &(fetching){o, key, sorted.host});
        session_upload(s, &sorted, bytes);
        desc = describe(o, key);
        desc.value_bytes = (uint32_t)index_bytes;
        session_check(s, scan_sort(s->ctx, &desc, sorted.context, sorted.context, index.context, index.context, o->n),
                      subject);
        session_download(s, &index, o->n * index_bytes);
        session_free(s, &sorted);
    }
    report_enter(before);
}

void order_unique(order *o, session *s, const char *subject, unsigned threads) {
    report_phase before = report_enter(PHASE_COMPUTE);
    session_buffer starts = session_alloc(s, o->n), count = session_alloc(s, sizeof(uint64_t));
    find_all_runs(o, starts.host, threads);
    session_upload(s, &starts, o->n);
    scan_compact_desc desc = {.struct_size = sizeof desc, .type = o->type, .flags = starts.context};
    scan_compact_out out = {.struct_size = sizeof out, .kept = o->index.context, .count = count.context};
    session_check(s, scan_compact(s->ctx, &desc, o->index.context, &out, o->n), subject);
    session_download(s, &count, sizeof(uint64_t));
    o->n = (size_t) * (const uint64_t *)count.host;
    session_download(s, &o->index, o->n * scan_type_size(o->type));
    session_free(s, &count);
    session_free(s, &starts);
    report_enter(before);
}
