/* SPDX-License-Identifier: MIT
 *
 * Sorting keys, and making orders of rows.
 */
#include "row_sort.h"

#include <stdlib.h>
#include <string.h>

#include "apps/support/alloc.h"
#include "apps/support/parallel.h"
#include "apps/support/report.h"
#include "row_check.h"
#include "string_sort.h"

scan_sort_desc order_describe(const order_key *key, scan_sort_method method, const session *s) {
    return (scan_sort_desc){.struct_size = sizeof(scan_sort_desc),
                            .type = key->type,
                            .descending = key->descending,
                            .nan_first = key->nan_first,
                            .method = s->fell_back ? SCAN_SORT_AUTO : method};
}

/* ---- keys alone -------------------------------------------------------------------------------------------------- */

/* A device's result goes to memory of its own, so that the keys are still there if the device fails. */
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
        free(a.result); /* made for a device that then failed */
    } else {
        free(key->data);
        key->data = a.result;
    }
    return (size_t)a.kept;
}

/* ---- keys into other memory -------------------------------------------------------------------------------------- */

typedef struct sorting_into {
    const order_key *key;
    void *to;
    size_t n;
    scan_sort_method method;
} sorting_into;

static scan_status sort_into(void *arg, session *s) {
    const sorting_into *a = arg;
    const size_t bytes = a->n * scan_type_size(a->key->type);
    const scan_sort_desc desc = order_describe(a->key, a->method, s);
    void *keys, *sorted;
    SESSION_TRY(session_upload(s, a->key->data, bytes, &keys));
    sorted = s->on_host ? a->to : keys;
    SESSION_TRY(scan_sort(s->ctx, &desc, keys, sorted, NULL, NULL, a->n));
    SESSION_TRY(session_wait(s));
    return session_download(s, a->to, sorted, bytes);
}

void order_sort_into(const order_key *key, void *to, size_t n, scan_sort_method method, session *s,
                     const char *subject) {
    session_try(s, subject, sort_into, &(sorting_into){key, to, n, method});
    report_moved(PHASE_COMPUTE, 2 * n * scan_type_size(key->type));
}

bool order_fits_device(const order_key *key, size_t n, bool pairs, scan_sort_method method, session *s,
                       size_t max_bytes) {
    scan_sort_desc desc = order_describe(key, method, s);
    const size_t a_row = scan_type_size(key->type) + (pairs ? sizeof(uint64_t) : 0);
    size_t workspace = 0, bytes;
    desc.value_bytes = pairs ? sizeof(uint64_t) : 0;
    if (s->on_host)
        return true;
    if (scan_sort_workspace(s->ctx, &desc, n, &workspace) != SCAN_OK || __builtin_mul_overflow(n, a_row, &bytes) ||
        __builtin_add_overflow(bytes, workspace, &bytes) || bytes > max_bytes)
        return false;
    return session_probe(s, bytes) != SCAN_ERR_MEMORY;
}

/* ---- keys with values -------------------------------------------------------------------------------------------- */

typedef struct pair_sorting {
    const order_key *key;
    uint64_t *values;
    size_t n;
    scan_sort_method method;
} pair_sorting;

static scan_status sort_pairs(void *arg, session *s) {
    const pair_sorting *a = arg;
    size_t key_bytes = a->n * scan_type_size(a->key->type), value_bytes = a->n * sizeof *a->values;
    scan_sort_desc desc = order_describe(a->key, a->method, s);
    desc.value_bytes = sizeof *a->values;
    void *keys, *values, *sorted_keys, *sorted_values;
    SESSION_TRY(session_upload(s, a->key->data, key_bytes, &keys));
    SESSION_TRY(session_upload(s, a->values, value_bytes, &values));
    SESSION_TRY(scan_sort(s->ctx, &desc, keys, keys, values, values, a->n));
    SESSION_TRY(session_wait(s));
    if (s->on_host)
        return SCAN_OK;
    /* both stay as they are until all of the result has arrived */
    SESSION_TRY(session_alloc(s, MEMORY_HOST, key_bytes, &sorted_keys));
    SESSION_TRY(session_alloc(s, MEMORY_HOST, value_bytes, &sorted_values));
    SESSION_TRY(session_download(s, sorted_keys, keys, key_bytes));
    SESSION_TRY(session_download(s, sorted_values, values, value_bytes));
    memcpy(a->key->data, sorted_keys, key_bytes);
    memcpy(a->values, sorted_values, value_bytes);
    return SCAN_OK;
}

void order_sort_pairs(const order_key *key, uint64_t *values, size_t n, scan_sort_method method, session *s,
                      const char *subject) {
    session_try(s, subject, sort_pairs, &(pair_sorting){key, values, n, method});
    report_moved(PHASE_COMPUTE, 2 * n * (scan_type_size(key->type) + sizeof *values));
}

/* ---- orders ------------------------------------------------------------------------------------------------------ */

/* The values of a key in the order that o->index has. */
typedef struct fetching {
    const order *o;
    const order_key *key;
    void *to;
} fetching;

static void fetch_keys(void *arg, size_t piece) {
    const fetching *f = arg;
    size_t end = order_piece_end(f->o->n, piece);
    if (scan_type_size(f->key->type) == 8)
        for (size_t i = piece * ORDER_PIECE_ROWS; i < end; i++)
            ((uint64_t *)f->to)[i] = ((const uint64_t *)f->key->data)[order_at(f->o, i)];
    else if (scan_type_size(f->key->type) == 1)
        for (size_t i = piece * ORDER_PIECE_ROWS; i < end; i++)
            ((uint8_t *)f->to)[i] = ((const uint8_t *)f->key->data)[order_at(f->o, i)];
    else
        for (size_t i = piece * ORDER_PIECE_ROWS; i < end; i++)
            ((uint32_t *)f->to)[i] = ((const uint32_t *)f->key->data)[order_at(f->o, i)];
}

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
    parallel_for(a->threads, order_pieces(o->n), fetch_keys, &(fetching){o, key, sorted});
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
    for (size_t k = 0; k < o->key_count; k++) {
        if (order_key_is_string(&o->keys[k])) {
            string_sort(o, s, subject, threads);
            return;
        }
    }
    session_try(s, subject, sort_attempt, &(sorting){o, threads});
    report_moved(PHASE_COMPUTE, o->n * scan_type_size(o->type));
    for (size_t k = 0; k < o->key_count; k++)
        report_moved(PHASE_COMPUTE, o->n * scan_type_size(o->keys[k].type));
}

/* Keeping the rows at which starts is 1. */
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
    if (!s->on_host) /* the index stays as it is until all of the result has arrived */
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
    order_find_runs(o, starts, threads);
    session_try(s, subject, keep_attempt, &a);
    report_moved(PHASE_COMPUTE, o->n + (o->n + a.count) * scan_type_size(o->type));
    o->n = (size_t)a.count;
    free(starts);
    report_enter(before);
}
