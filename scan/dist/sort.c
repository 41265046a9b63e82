/* SPDX-License-Identifier: MIT
 *
 * scan_dist_sort and scan_dist_argsort: sort, split, exchange, merge.
 *
 *     rank 0   3 1 2 | sort  1 2 3 |           | 1 2 . 1 2 | merge  1 1 2 2
 *     rank 1   4 2 1 | sort  1 2 4 | exchange  | 3 . 4     |        3 4
 *
 * Every rank sorts its share. Exact splitters (splitters.c) say what of it goes to which rank; one exchange moves every
 * element at most once. What a rank receives are sorted runs, in the order of the ranks they come from, so that merges
 * that prefer the earlier run keep the sort stable. Two runs take one merge, four take two; more are sorted at once,
 * and so are all where only some bits of a key are compared, which a merge does not do.
 *
 * Merges go to and fro between the output and memory of the call, and begin where the last one ends in the output.
 *
 * Argsort is a sort of pairs whose values are the elements' indices in the whole array.
 */
#include "sort.h"

enum { MAX_RUNS = 4 /* that are merged */ };

typedef scan_dist_sort_job job;

static scan_status take(const job *j, scan_status status) { return scan_dist_take(j->comm, j->comm->ctx, status); }

/* ---- preparation ------------------------------------------------------------------------------------------------- */

static size_t align_up(size_t bytes) { return (bytes + 255) / 256 * 256; }

/* The copies of keys and values that the call needs; then `more` bytes, at *rest. */
static scan_status take_memory(job *j, size_t more, char **rest) {
    const size_t value_bytes = j->desc.value_bytes, key_bytes = j->key_bytes;
    const size_t keys = align_up(j->n * key_bytes), values = align_up(j->n * value_bytes);
    const size_t other_keys = align_up(j->out_n * key_bytes), other_values = align_up(j->out_n * value_bytes);
    void *memory;
    SCAN_TRY(scan_dist_workspace(j->comm, keys + values + other_keys + other_values + more, &memory));
    j->sorted_keys = memory;
    j->sorted_values = j->sorted_keys + keys;
    j->other_keys = j->sorted_values + values;
    j->other_values = j->other_keys + other_keys;
    *rest = j->other_values + other_values;
    return scan_dist_sort_alloc(j);
}

static void fill_defaults(job *j) {
    j->desc.struct_size = sizeof j->desc;
    j->key_bytes = scan_type_size(j->desc.type);
    if (j->desc.end_bit == 0)
        j->desc.end_bit = 8 * (uint32_t)j->key_bytes;
}

/* Arrays may be in place, and overlap in no other way. Inputs have n elements, outputs out_n. */
static scan_status check_overlap(const job *j) {
    const void *in[2] = {j->keys_in, j->values_in}, *out[2] = {j->keys_out, j->values_out};
    const size_t bytes[2] = {j->key_bytes, j->desc.value_bytes};
    for (int i = 0; i < 2; i++)
        for (int o = 0; o < 2; o++)
            if ((i != o || in[i] != out[o]) && scan_dist_overlap(in[i], j->n * bytes[i], out[o], j->out_n * bytes[o]))
                return scan_dist_fail(j->comm, SCAN_ERR_OVERLAP, "%s and %s overlap", i ? "values_in" : "keys_in",
                                      o ? "values_out" : "keys_out");
    if (scan_dist_overlap(out[0], j->out_n * bytes[0], out[1], j->out_n * bytes[1]))
        return scan_dist_fail(j->comm, SCAN_ERR_OVERLAP, "keys_out and values_out overlap");
    return SCAN_OK;
}

/* Calls on no element, which find what is wrong with arrays. */
static scan_status check_arrays(const job *j) {
    scan_sort_desc desc = j->desc;
    scan_ctx *ctx = j->comm->ctx;
    desc.n_device = j->comm->none;
    const bool pairs = desc.value_bytes > 0;
    SCAN_TRY(take(
        j, scan_sort(ctx, &desc, j->keys_in, j->sorted_keys, j->values_in, pairs ? j->sorted_values : NULL, j->n)));
    SCAN_TRY(take(j, scan_sort(ctx, &desc, j->keys_out, j->keys_out, j->values_out, j->values_out, j->out_n)));
    return check_overlap(j);
}

static scan_status take_desc(job *j, const scan_sort_desc *given, const char *verb) {
    SCAN_TRY(scan_dist_take_desc(j->comm, &j->desc, sizeof j->desc, given, "scan_sort_desc"));
    if (j->desc.n_device)
        return scan_dist_fail(j->comm, SCAN_ERR_ARGUMENT, "%s takes no n_device", verb);
    return SCAN_OK;
}

/* ---- exchange ---------------------------------------------------------------------------------------------------- */

static uint64_t cut(const job *j, uint32_t rank, uint32_t b) { return j->cuts[rank * (j->comm->size + 1) + b]; }

static size_t list(const job *j, scan_dist_move *moves, char *at, size_t bytes, bool sending) {
    const uint32_t me = j->comm->rank;
    size_t count = 0;
    for (uint32_t r = 0; r < j->comm->size && bytes; r++) {
        const uint64_t elements = sending ? cut(j, me, r + 1) - cut(j, me, r) : cut(j, r, me + 1) - cut(j, r, me);
        if (elements)
            moves[count++] = (scan_dist_move){at, (size_t)elements * bytes, r};
        at += elements * bytes;
    }
    return count;
}

static scan_status exchange(const job *j, char *keys, char *values) {
    scan_dist_move *sends = j->comm->moves, *receives = sends + 2 * j->comm->size;
    const size_t value_bytes = j->desc.value_bytes;
    size_t send_count = list(j, sends, j->sorted_keys, j->key_bytes, true);
    size_t receive_count = list(j, receives, keys, j->key_bytes, false);
    send_count += list(j, sends + send_count, j->sorted_values, value_bytes, true);
    receive_count += list(j, receives + receive_count, values, value_bytes, false);
    return scan_dist_exchange(j->comm, (scan_dist_moves){sends, send_count},
                              (scan_dist_moves){receives, receive_count});
}

/* ---- merge ------------------------------------------------------------------------------------------------------- */

/* Runs that this rank receives, one after another. */
typedef struct runs {
    size_t length[MAX_RUNS];
    unsigned count; /* MAX_RUNS + 1: more than are merged */
} runs;

static runs find_runs(const job *j) {
    const uint32_t me = j->comm->rank;
    const bool some_bits = j->desc.begin_bit > 0 || j->desc.end_bit < 8 * j->key_bytes;
    runs r = {.count = 0};
    for (uint32_t rank = 0; rank < j->comm->size; rank++) {
        const size_t length = (size_t)(cut(j, rank, me + 1) - cut(j, rank, me));
        if (length == 0)
            continue;
        if (r.count == MAX_RUNS || (some_bits && r.count == 1))
            return (runs){.count = MAX_RUNS + 1};
        r.length[r.count++] = length;
    }
    return r;
}

/* Merges neighbouring runs from one place to the other; one without a neighbour is copied. */
static scan_status merge_pass(const job *j, runs *r, const char *keys, const char *values, char *to_keys,
                              char *to_values) {
    const scan_merge_desc desc = {.struct_size = sizeof desc,
                                  .type = j->desc.type,
                                  .descending = j->desc.descending,
                                  .nan_first = j->desc.nan_first,
                                  .value_bytes = j->desc.value_bytes};
    const size_t key_bytes = j->key_bytes, value_bytes = j->desc.value_bytes;
    unsigned merged = 0;
    size_t at = 0;
    for (unsigned i = 0; i < r->count; i += 2) {
        const size_t a = r->length[i], b = i + 1 < r->count ? r->length[i + 1] : 0;
        const bool pairs = value_bytes > 0;
        SCAN_TRY(
            take(j, scan_merge(j->comm->ctx, &desc, keys + at * key_bytes, pairs ? values + at * value_bytes : NULL, a,
                               keys + (at + a) * key_bytes, pairs ? values + (at + a) * value_bytes : NULL, b,
                               to_keys + at * key_bytes, pairs ? to_values + at * value_bytes : NULL)));
        r->length[merged++] = a + b;
        at += a + b;
    }
    r->count = merged;
    return SCAN_OK;
}

/* The runs lie in the output if the passes to come are even in number, else in the other memory. */
static bool in_output(const runs *r) { return r->count <= 1 || (r->count > 2 && r->count <= MAX_RUNS); }

static scan_status merge(const job *j, runs *r) {
    const bool pairs = j->desc.value_bytes > 0;
    if (r->count > MAX_RUNS)
        return take(j, scan_sort(j->comm->ctx, &j->desc, j->other_keys, j->keys_out, pairs ? j->other_values : NULL,
                                 pairs ? j->values_out : NULL, j->out_n));
    while (r->count > 1) {
        if (in_output(r))
            SCAN_TRY(merge_pass(j, r, j->keys_out, j->values_out, j->other_keys, j->other_values));
        else
            SCAN_TRY(merge_pass(j, r, j->other_keys, j->other_values, j->keys_out, j->values_out));
    }
    return SCAN_OK;
}

/* ---- the calls --------------------------------------------------------------------------------------------------- */

static uint64_t call_of(const scan_sort_desc *desc, uint64_t verb) {
    const uint64_t fields[] = {desc->type,    desc->descending,  desc->nan_first,  desc->begin_bit,
                               desc->end_bit, desc->value_bytes, desc->index_type, desc->method};
    return scan_dist_hash_all(verb, fields, sizeof fields / sizeof *fields);
}

/* The lengths of the outputs must add up to those of the inputs. */
static scan_status check_lengths(scan_dist_comm *comm) {
    uint64_t total = 0, out_total = 0;
    for (uint32_t r = 0; r < comm->size; r++) {
        total += comm->records[r].n;
        out_total += comm->records[r].extra;
    }
    if (total == out_total)
        return SCAN_OK;
    return scan_dist_fail(comm, SCAN_ERR_ARGUMENT, "the inputs have %llu elements in all, the outputs %llu",
                          (unsigned long long)total, (unsigned long long)out_total);
}

/* Everything is checked, and there is memory, if `status` says so. */
static scan_status run(job *j, scan_status status) {
    scan_dist_comm *comm = j->comm;
    const bool pairs = j->desc.value_bytes > 0;
    if (status == SCAN_OK)
        status = take(j, scan_sort(comm->ctx, &j->desc, j->keys_in, j->sorted_keys, j->values_in,
                                   pairs ? j->sorted_values : NULL, j->n));
    if (status == SCAN_OK)
        status = take(j, scan_ctx_sync(comm->ctx));
    SCAN_TRY(scan_dist_begin(comm, status, 'x', j->n, j->out_n));
    SCAN_TRY(scan_dist_sort_split(j));
    runs r = find_runs(j);
    const bool output = in_output(&r);
    SCAN_TRY(exchange(j, output ? j->keys_out : j->other_keys, output ? j->values_out : j->other_values));
    status = merge(j, &r);
    if (status == SCAN_OK)
        status = take(j, scan_ctx_sync(comm->ctx));
    return scan_dist_end(comm, status);
}

static scan_status prepare_sort(job *j, const scan_sort_desc *given) {
    char *rest;
    SCAN_TRY(take_desc(j, given, "scan_dist_sort"));
    SCAN_TRY(take(j, scan_sort(j->comm->ctx, given, NULL, NULL, NULL, NULL, 0)));
    fill_defaults(j);
    SCAN_TRY(take_memory(j, 0, &rest));
    return check_arrays(j);
}

scan_status scan_dist_sort(scan_dist_comm *comm, const scan_sort_desc *desc, const void *keys_in, void *keys_out,
                           const void *values_in, void *values_out, size_t n, size_t out_n) {
    job j = {.comm = comm,
             .keys_in = keys_in,
             .values_in = values_in,
             .keys_out = keys_out,
             .values_out = values_out,
             .n = n,
             .out_n = out_n};
    if (!comm)
        return SCAN_ERR_ARGUMENT;
    scan_status status = prepare_sort(&j, desc);
    status = scan_dist_begin(comm, status, status == SCAN_OK ? call_of(&j.desc, 'o') : 0, n, out_n);
    if (status == SCAN_OK)
        status = check_lengths(comm);
    if (status == SCAN_OK)
        status = run(&j, SCAN_OK);
    scan_dist_sort_free(&j);
    return status;
}

/* ---- argsort ----------------------------------------------------------------------------------------------------- */

static scan_status check_argsort(job *j, const scan_sort_desc *given) {
    SCAN_TRY(take_desc(j, given, "scan_dist_argsort"));
    SCAN_TRY(take(j, scan_argsort(j->comm->ctx, given, NULL, NULL, 0)));
    fill_defaults(j);
    return SCAN_OK;
}

/* Indices from index_base on: those that a predicate keeps that all elements satisfy. */
static scan_status number(const job *j, void *indices) {
    const scan_term any = {.op = SCAN_TERM_GE, .column = SCAN_COLUMN_INDEX, .constant_type = SCAN_U64, .constant.u = 0};
    const scan_compact_desc desc = {.struct_size = sizeof desc,
                                    .type = j->desc.type,
                                    .index_type = j->desc.index_type,
                                    .terms = &any,
                                    .term_count = 1,
                                    .index_base = j->comm->starts[j->comm->rank]};
    const scan_compact_out out = {.struct_size = sizeof out, .indices = indices};
    return take(j, scan_compact(j->comm->ctx, &desc, NULL, &out, j->n));
}

/* The lengths of all ranks are known. */
static scan_status prepare_argsort(job *j, void *indices) {
    scan_dist_comm *comm = j->comm;
    const uint64_t total = scan_dist_find_starts(comm);
    const scan_type settled = total <= UINT32_MAX ? SCAN_U32 : SCAN_U64;
    char *rest;
    j->desc.index_type = j->desc.index_type == SCAN_TYPE_NONE ? settled : j->desc.index_type;
    if (j->desc.index_type == SCAN_U32 && total > (uint64_t)UINT32_MAX + 1)
        return scan_dist_fail(comm, SCAN_ERR_ARGUMENT, "index_type: u32 cannot number %llu elements",
                              (unsigned long long)total);
    j->desc.value_bytes = (uint32_t)scan_type_size(j->desc.index_type);
    const size_t numbers = align_up(j->n * j->desc.value_bytes);
    SCAN_TRY(take_memory(j, numbers + align_up(j->out_n * j->key_bytes), &rest));
    j->values_in = rest;
    j->keys_out = rest + numbers;
    j->values_out = indices;
    SCAN_TRY(check_arrays(j));
    return number(j, rest);
}

scan_status scan_dist_argsort(scan_dist_comm *comm, const scan_sort_desc *desc, const void *keys, void *indices,
                              size_t n, size_t out_n) {
    job j = {.comm = comm, .keys_in = keys, .n = n, .out_n = out_n};
    if (!comm)
        return SCAN_ERR_ARGUMENT;
    scan_status status = check_argsort(&j, desc);
    status = scan_dist_begin(comm, status, status == SCAN_OK ? call_of(&j.desc, 'i') : 0, n, out_n);
    if (status == SCAN_OK)
        status = check_lengths(comm);
    if (status == SCAN_OK)
        status = run(&j, prepare_argsort(&j, indices));
    scan_dist_sort_free(&j);
    return status;
}
