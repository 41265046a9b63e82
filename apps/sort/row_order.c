/* SPDX-License-Identifier: MIT
 *
 * Orders of rows. Checks compare neighbours in pieces, on all threads.
 */
#include "row_order.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "apps/support/alloc.h"
#include "apps/support/parallel.h"
#include "apps/support/report.h"

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
    if (scan_type_class(key->type) != SCAN_FLOAT)
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

scan_sort_desc order_describe(const order_key *key, scan_sort_method method, const session *s) {
    return (scan_sort_desc){.struct_size = sizeof(scan_sort_desc),
                            .type = key->type,
                            .descending = key->descending,
                            .nan_first = key->nan_first,
                            .method = s->fell_back ? SCAN_SORT_AUTO : method};
}

/* What a device made goes to memory of its own, so that the keys are still there if it fails. */
typedef struct key_sorting {
    const order_key *key;
    size_t n;
    bool unique;
    scan_sort_method method;
    void *result;
    uint64_t kept;
} key_sorting;

static scan_status sort_keys(void *arg, session *s) {
    key_sorting *a = arg;
    size_t size = scan_type_size(a->key->type);
    scan_sort_desc desc = order_describe(a->key, a->method, s);
    void *keys, *count;
    a->kept = a->n;
    SESSION_TRY(session_upload(s, a->key->data, a->n * size, &keys));
    SESSION_TRY(scan_sort(s->ctx, &desc, keys, keys, NULL, NULL, a->n));
    if (a->unique && a->n) {
        scan_unique_desc unique = {.struct_size = sizeof unique, .type = a->key->type};
        SESSION_TRY(session_alloc_result(s, &a->kept, sizeof a->kept, &count));
        scan_unique_out out = {.struct_size = sizeof out, .kept = keys, .count = count};
        SESSION_TRY(scan_unique(s->ctx, &unique, keys, &out, a->n));
        SESSION_TRY(session_wait(s));
        SESSION_TRY(session_download(s, &a->kept, count, sizeof a->kept));
    }
    SESSION_TRY(session_wait(s));
    if (!s->on_host && !a->result)
        a->result = must_alloc(a->kept, size);
    return session_download(s, a->result, keys, a->kept * size);
}

size_t order_sort_keys(order_key *key, size_t n, bool unique, scan_sort_method method, session *s,
                       const char *subject) {
    key_sorting a = {.key = key, .n = n, .unique = unique, .method = method};
    session_try(s, subject, sort_keys, &a);
    report_moved(PHASE_COMPUTE, (n + a.kept) * scan_type_size(key->type));
    if (s->on_host) {
        free(a.result); /* a device was about to fill it */
    } else {
        free(key->data);
        key->data = a.result;
    }
    return (size_t)a.kept;
}

/* ---- orders ------------------------------------------------------------------------------------------------------ */

typedef struct sorting {
    order *o;
    unsigned threads;
} sorting;

/* One more key, in front of those that o->index is sorted by: the key's values in that order are sorted, and the index
 * with them. */
static scan_status sort_by(const sorting *a, session *s, const order_key *key, void *index) {
    order *o = a->o;
    size_t keep = session_taken(s), bytes = o->n * scan_type_size(key->type);
    size_t index_bytes = scan_type_size(o->type);
    void *sorted, *keys;
    SESSION_TRY(session_download(s, o->index, index, o->n * index_bytes));
    SESSION_TRY(session_alloc(s, MEMORY_HOST, bytes, &sorted));
    parallel_for(a->threads, piece_count(o->n), fetch_keys, &(fetching){o, key, sorted});
    SESSION_TRY(session_upload(s, sorted, bytes, &keys));
    scan_sort_desc desc = order_describe(key, o->method, s);
    desc.value_bytes = (uint32_t)index_bytes;
    SESSION_TRY(scan_sort(s->ctx, &desc, keys, keys, index, index, o->n));
    SESSION_TRY(session_wait(s));
    session_give_back(s, keep);
    return SCAN_OK;
}

static scan_status sort_attempt(void *arg, session *s) {
    const sorting *a = arg;
    order *o = a->o;
    size_t keep = session_taken(s), index_bytes = o->n * scan_type_size(o->type);
    const order_key *last = &o->keys[o->key_count - 1];
    scan_sort_desc desc = order_describe(last, o->method, s);
    desc.index_type = o->type;
    void *keys, *index;
    SESSION_TRY(session_alloc_result(s, o->index, index_bytes, &index));
    size_t with_index = session_taken(s);
    SESSION_TRY(session_upload(s, last->data, o->n * scan_type_size(last->type), &keys));
    SESSION_TRY(scan_argsort(s->ctx, &desc, keys, index, o->n));
    SESSION_TRY(session_wait(s));
    session_give_back(s, with_index);
    for (size_t k = o->key_count - 1; k-- > 0;)
        SESSION_TRY(sort_by(a, s, &o->keys[k], index));
    SESSION_TRY(session_download(s, o->index, index, index_bytes));
    session_give_back(s, keep);
    return SCAN_OK;
}

void order_sort(order *o, session *s, const char *subject, unsigned threads) {
    o->type = o->n >> 32 ? SCAN_U64 : SCAN_U32;
    o->index = must_alloc(o->n, scan_type_size(o->type));
    session_try(s, subject, sort_attempt, &(sorting){o, threads});
    report_moved(PHASE_COMPUTE, o->n * scan_type_size(o->type));
    for (size_t k = 0; k < o->key_count; k++)
        report_moved(PHASE_COMPUTE, o->n * scan_type_size(o->keys[k].type));
}

typedef struct keeping {
    order *o;
    const uint8_t *starts;
    uint64_t count;
} keeping;

static scan_status keep_attempt(void *arg, session *s) {
    keeping *a = arg;
    order *o = a->o;
    size_t size = scan_type_size(o->type);
    void *starts, *index, *count, *kept = o->index;
    SESSION_TRY(session_upload(s, a->starts, o->n, &starts));
    SESSION_TRY(session_upload(s, o->index, o->n * size, &index));
    SESSION_TRY(session_alloc_result(s, &a->count, sizeof a->count, &count));
    scan_compact_desc desc = {.struct_size = sizeof desc, .type = o->type, .flags = starts};
    scan_compact_out out = {.struct_size = sizeof out, .kept = index, .count = count};
    SESSION_TRY(scan_compact(s->ctx, &desc, index, &out, o->n));
    SESSION_TRY(session_wait(s));
    SESSION_TRY(session_download(s, &a->count, count, sizeof a->count));
    if (!s->on_host) /* until all of it is there, the index is needed as it is */
        SESSION_TRY(session_alloc(s, MEMORY_HOST, a->count * size, &kept));
    SESSION_TRY(session_download(s, kept, index, a->count * size));
    if (!s->on_host)
        memcpy(o->index, kept, a->count * size);
    return SCAN_OK;
}

void order_unique(order *o, session *s, const char *subject, unsigned threads) {
    report_phase before = report_enter(PHASE_COMPUTE);
    uint8_t *starts = must_alloc(o->n, 1);
    keeping a = {.o = o, .starts = starts};
    find_all_runs(o, starts, threads);
    session_try(s, subject, keep_attempt, &a);
    report_moved(PHASE_COMPUTE, o->n + (o->n + a.count) * scan_type_size(o->type));
    o->n = (size_t)a.count;
    free(starts);
    report_enter(before);
}
