/* SPDX-License-Identifier: MIT
 *
 * sort on arrays that several ranks have in shares: each reads one, libscan_dist sorts them all, each writes one. With
 * --unique and --verify the keys of --argsort move with their indices, so that both can be looked at.
 */
#include <stdlib.h>
#include <string.h>

#include "apps/support/alloc.h"
#include "apps/support/die.h"
#include "apps/support/ranks.h"
#include "apps/support/report.h"
#include "row_check.h"
#include "row_sort.h"
#include "sort.h"

typedef struct share {
    sort_job *j;
    array_reader *reader;
    order_key key;  /* the elements of the share, then those of the sorted array */
    uint64_t first; /* the index of the first of them */
    size_t n;
    bool pairs;    /* keys move with their indices */
    void *indices; /* or NULL: of index_type, of 8 bytes for pairs */
    scan_type index_type;
    void *sorted;         /* keys from a device */
    void *kept, *kept_at; /* --unique: the first of equal keys, and where they are in the sorted array */
    uint64_t kept_count;
} share;

/* ---- libscan_dist ------------------------------------------------------------------------------------------------ */

/* Context memory. */
typedef struct share_memory {
    void *keys, *indices, *kept, *kept_at, *count;
} share_memory;

static scan_status upload(const share *a, session *s, share_memory *m) {
    const size_t size = scan_type_size(a->key.type), index_size = scan_type_size(a->index_type);
    SESSION_TRY(session_upload(s, a->key.data, a->n * size, &m->keys));
    if (a->pairs)
        SESSION_TRY(session_upload(s, a->indices, a->n * index_size, &m->indices));
    else if (a->indices)
        SESSION_TRY(session_alloc_result(s, a->indices, a->n * index_size, &m->indices));
    if (!a->kept)
        return SCAN_OK;
    SESSION_TRY(session_alloc_result(s, a->kept, a->n * size, &m->kept));
    if (a->pairs)
        SESSION_TRY(session_alloc_result(s, a->kept_at, a->n * sizeof(uint64_t), &m->kept_at));
    return session_alloc_result(s, (void *)(uintptr_t)&a->kept_count, sizeof a->kept_count, &m->count);
}

static scan_status unique(const share *a, const share_memory *m) {
    const scan_unique_desc desc = {.struct_size = sizeof desc, .type = a->key.type, .index_type = SCAN_U64};
    const scan_unique_out out = {
        .struct_size = sizeof out, .kept = m->kept, .indices = a->pairs ? m->kept_at : NULL, .count = m->count};
    return ranks_library()->unique(ranks_comm(), &desc, m->keys, &out, a->n, NULL);
}

static scan_status download(share *a, session *s, const share_memory *m) {
    const size_t size = scan_type_size(a->key.type);
    SESSION_TRY(session_wait(s));
    if (!a->indices || a->pairs)
        SESSION_TRY(session_download(s, a->sorted, m->keys, a->n * size));
    if (a->indices)
        SESSION_TRY(session_download(s, a->indices, m->indices, a->n * scan_type_size(a->index_type)));
    if (!a->kept)
        return SCAN_OK;
    SESSION_TRY(session_download(s, &a->kept_count, m->count, sizeof a->kept_count));
    SESSION_TRY(session_download(s, a->kept, m->kept, a->kept_count * size));
    return a->pairs ? session_download(s, a->kept_at, m->kept_at, a->kept_count * sizeof(uint64_t)) : SCAN_OK;
}

static void number_pairs(const share *a) {
    for (size_t i = 0; i < a->n && a->pairs; i++)
        ((uint64_t *)a->indices)[i] = a->first + i;
}

static scan_status sort_shares(void *arg, session *s) {
    share *a = arg;
    share_memory m = {0};
    const ranks_calls *dist = ranks_library();
    scan_sort_desc desc = order_describe(&a->key, a->j->method, s);
    desc.index_type = a->pairs || !a->indices ? SCAN_TYPE_NONE : a->index_type;
    desc.value_bytes = a->pairs ? sizeof(uint64_t) : 0;
    number_pairs(a);
    a->kept_count = a->n;
    SESSION_TRY(dist->comm_use(ranks_comm(), s->ctx));
    SESSION_TRY(ranks_agree(upload(a, s, &m), scan_ctx_detail(s->ctx)));
    if (a->indices && !a->pairs)
        SESSION_TRY(dist->argsort(ranks_comm(), &desc, m.keys, m.indices, a->n, a->n));
    else
        SESSION_TRY(dist->sort(ranks_comm(), &desc, m.keys, m.keys, m.indices, m.indices, a->n, a->n));
    if (a->kept)
        SESSION_TRY(unique(a, &m));
    return ranks_agree(download(a, s, &m), scan_ctx_detail(s->ctx));
}

/* ---- NaN, --check, --verify -------------------------------------------------------------------------------------- */

/* Ends all ranks if one of them has a place. */
static void refuse_first(const share *a, size_t place, int code, const char *what) {
    const uint64_t first = ranks_min(place == ORDER_NONE ? UINT64_MAX : a->first + place);
    char text[AXIS_PLACE_BYTES];
    if (first != UINT64_MAX)
        die(code, "%s: %s is %s", a->j->in.name, axis_place(a->reader, (size_t)first, text), what);
}

/* One element of the next share shows whether it follows. */
static void check_share(const share *a) {
    const bool more = a->first + a->n < a->reader->header.count;
    order_key key = a->key;
    const order o = {.keys = &key, .key_count = 1, .n = a->n + more};
    key.data = must_alloc(o.n, a->reader->size);
    array_read_at(a->reader, key.data, o.n, a->first);
    refuse_first(a, order_first_disorder(&o, a->j->unique, a->j->threads), EXIT_NEGATIVE, "out of order");
    free(key.data);
}

static uint64_t hash_share(const share *a, const void *keys) {
    if (!a->pairs)
        return order_hash(a->key.type, (void *)(uintptr_t)keys, a->n, a->j->threads);
    const uint64_t *indices = a->indices;
    const size_t size = a->reader->size;
    uint64_t sum = 0;
    for (size_t i = 0; i < a->n; i++) {
        uint64_t key = 0;
        memcpy(&key, (const char *)keys + i * size, size);
        key = (key ^ indices[i] * UINT64_C(0x9e3779b97f4a7c15)) * UINT64_C(0xbf58476d1ce4e5b9);
        sum += key ^ key >> 31;
    }
    return sum;
}

typedef struct edge {
    uint64_t n, first, last;
    uint64_t first_index, last_index;
} edge;

static edge edge_of(const share *a, const void *keys, size_t n) {
    edge e = {.n = n};
    const size_t size = a->reader->size;
    if (n == 0)
        return e;
    memcpy(&e.first, keys, size);
    memcpy(&e.last, (const char *)keys + (n - 1) * size, size);
    if (a->pairs && keys == a->sorted) {
        e.first_index = ((const uint64_t *)a->indices)[0];
        e.last_index = ((const uint64_t *)a->indices)[n - 1];
    }
    return e;
}

/* Compares the last element before this rank's with its first one: below 0, 0 or above 0; -1 if there is none. */
static int compare_across(const share *a, const void *keys, size_t n, bool *swapped) {
    const edge mine = edge_of(a, keys, n);
    edge *all = must_alloc(ranks_count(), sizeof *all);
    int result = -1;
    ranks_gather(&mine, sizeof mine, all);
    unsigned before = ranks_own();
    while (before > 0 && all[before - 1].n == 0)
        before--;
    if (before > 0 && n > 0) {
        char two[2 * sizeof(uint64_t)];
        order_key key = a->key;
        key.data = two;
        memcpy(two, &all[before - 1].last, a->reader->size);
        memcpy(two + a->reader->size, &mine.first, a->reader->size);
        result = order_compare(&(order){.keys = &key, .key_count = 1, .n = 2}, 0, 1);
        *swapped = result == 0 && a->pairs && all[before - 1].last_index > mine.first_index;
    }
    free(all);
    return result;
}

/* Equal keys stand in the order in which they were. */
static bool is_stable(const share *a, const order *o) {
    const uint64_t *indices = a->indices;
    for (size_t i = 1; a->pairs && i < a->n; i++)
        if (indices[i - 1] > indices[i] && order_compare(o, i - 1, i) == 0)
            return false;
    return true;
}

static void verify(const share *a, uint64_t hash_before) {
    const sort_job *j = a->j;
    report_phase before = report_enter(PHASE_VERIFY);
    order_key key = a->key;
    order o = {.keys = &key, .key_count = 1, .n = a->n};
    bool swapped = false;
    key.data = a->sorted;
    if (ranks_add(hash_share(a, a->sorted)).total != hash_before)
        sort_fail_verification(j, "the result does not have the input's elements");
    const int across = compare_across(a, a->sorted, a->n, &swapped);
    if (across > 0 || swapped || order_first_disorder(&o, false, j->threads) != ORDER_NONE || !is_stable(a, &o))
        sort_fail_verification(j, "the result is not in order");
    if (j->unique) {
        const uint64_t runs = a->n ? order_find_runs(&o, NULL, j->threads) - (across == 0) : 0;
        key.data = a->kept;
        o.n = (size_t)a->kept_count;
        if (compare_across(a, a->kept, o.n, &swapped) >= 0 || runs != a->kept_count ||
            order_first_disorder(&o, true, j->threads) != ORDER_NONE)
            sort_fail_verification(j, "the result has repetitions, or too few elements");
    }
    report_enter(before);
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

/* Of pairs: the indices of what is kept, in the type of --argsort. */
static void settle_indices(share *a, scan_type type) {
    uint64_t *wide = a->indices;
    const uint64_t *at = a->kept_at;
    for (size_t i = 0; i < a->kept_count && at; i++)
        wide[i] = wide[at[i] - a->first];
    for (size_t i = 0; i < a->kept_count && type == SCAN_U32; i++) {
        const uint32_t index = (uint32_t)wide[i];
        memcpy((uint32_t *)a->indices + i, &index, sizeof index);
    }
    a->index_type = type;
}

static void sort_share(share *a) {
    sort_job *j = a->j;
    const scan_type index_type = a->reader->header.count >> 32 ? SCAN_U64 : SCAN_U32;
    uint64_t hash = 0;
    a->pairs = j->argsort && (j->unique || j->verify);
    a->index_type = a->pairs ? SCAN_U64 : index_type;
    if (j->argsort)
        a->indices = must_alloc(a->n, scan_type_size(a->index_type));
    if (j->unique) {
        a->kept = must_alloc(a->n, a->reader->size);
        a->kept_at = a->pairs ? must_alloc(a->n, sizeof(uint64_t)) : NULL;
    }
    number_pairs(a);
    if (j->verify)
        hash = ranks_add(hash_share(a, a->key.data)).total;
    session_ready(&j->session);
    a->sorted = j->session.on_host ? a->key.data : must_alloc(a->n, a->reader->size);
    session_try_together(&j->session, j->in.name, sort_shares, a);
    ranks_take(ranks_library()->comm_use(ranks_comm(), NULL), j->in.name);
    if (j->session.on_host)
        a->sorted = a->key.data; /* also where a device has failed */
    report_moved(PHASE_COMPUTE, 2 * a->n * a->reader->size);
    if (j->verify)
        verify(a, hash);
    if (a->pairs)
        settle_indices(a, index_type);
    const void *data = j->argsort ? a->indices : a->kept ? a->kept : a->sorted;
    const uint64_t total = ranks_add(a->kept_count).total;
    const array_writer w = sort_write_header(j, a->reader, j->argsort ? index_type : a->key.type, (size_t)total);
    array_write(&w, data, (size_t)a->kept_count);
    report_number("kept", total);
}

/* A share, beside which libscan_dist has it sorted, has what comes, a quarter of that while it merges, and its
 * workspace for sorts; of --argsort the keys or indices that the caller does not see. */
static const double BESIDE_SHARE = 5.5;

void sort_refuse_share(const sort_job *j, double bytes) {
    const double mib = 1 << 20;
    if (j->memory_given && bytes > (double)j->memory)
        ranks_refuse("each has its share in memory, which takes %.0f MiB, about: start more, or give -S more",
                     bytes / mib);
}

void sort_array_ranks(sort_job *j, array_reader *reader) {
    const uint64_t count = reader->header.count;
    const ranks_part part = ranks_part_of(count);
    share a = {.j = j, .reader = reader, .key = sort_key(j, reader->type, NULL, NULL), .first = part.first};
    array_refuse_ranks(reader);
    if (j->device_memory != SIZE_MAX)
        ranks_refuse("each has its share on its device: leave out --device-memory");
    report_number("elements", count);
    a.n = (size_t)part.count;
    if (!j->check)
        sort_refuse_share(j, BESIDE_SHARE * (double)(a.n * (reader->size + (j->argsort ? sizeof(uint64_t) : 0))));
    if (j->check) {
        check_share(&a);
        report_number("kept", count);
        return;
    }
    sort_choose_device(j, count / ranks_count() * reader->size);
    a.key.data = must_alloc(a.n, reader->size);
    array_read_at(reader, a.key.data, a.n, a.first);
    refuse_first(&a, sort_refused_nan(j, &a.key, a.n, NULL), EXIT_USAGE, "NaN");
    sort_share(&a);
    free(a.indices);
    free(a.kept);
    free(a.kept_at);
    if (a.sorted != a.key.data)
        free(a.sorted);
    free(a.key.data);
}
