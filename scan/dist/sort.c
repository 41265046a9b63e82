/* SPDX-License-Identifier: MIT
 *
 * scan_dist_sort and scan_dist_argsort: sort, split, exchange, merge.
 *
 *     rank 0   3 1 2 | sort  1 2 3 |           | 1 2 . 1 2 | merge  1 1 2 2
 *     rank 1   4 2 1 | sort  1 2 4 | exchange  | 3 . 4     |        3 4
 *
 * Every rank sorts its share. Exact splitters (splitters.c) say what of it goes to which rank; one exchange moves every
 * element at most once, and what has arrived is merged while the rest is on the way (stages.c).
 *
 * Argsort is a sort of pairs whose values are the elements' indices in the whole array.
 */
#include "sort.h"

typedef scan_dist_sort_job job;

static scan_status take(const job *j, scan_status status) { return scan_dist_take(j->comm, j->comm->ctx, status); }

/* ---- preparation ------------------------------------------------------------------------------------------------- */

/* Memory of the call, part after part, each aligned to 256 bytes; base NULL: to learn the size. */
typedef struct parts {
    char *base;
    size_t bytes;
} parts;

static char *take_part(parts *p, size_t bytes) {
    char *part = p->base ? p->base + p->bytes : NULL;
    p->bytes += (bytes + 255) / 256 * 256;
    return part;
}

static scan_dist_pairs take_pairs(const job *j, parts *p, size_t n) {
    scan_dist_pairs pairs = {take_part(p, n * j->key_bytes), NULL};
    if (j->desc.value_bytes)
        pairs.values = take_part(p, n * j->desc.value_bytes);
    return pairs;
}

/* argsort: its values before, and its keys after, which the caller does not see. Stages follow from the longest share
 * of all ranks, and make parts larger or smaller: there is room for any number of them. */
static void place(job *j, parts *p, bool argsort) {
    const size_t element = j->key_bytes + j->desc.value_bytes;
    const size_t stage = j->out_n / scan_dist_sort_stages(j->comm, j->out_n, element) + 1;
    const bool spares[SCAN_DIST_SPARES] = {j->comm->size > 2, j->comm->size > 4};
    j->sorted = take_pairs(j, p, j->n);
    j->received.keys = take_part(p, scan_dist_sort_received_bytes(j, j->key_bytes));
    if (j->desc.value_bytes)
        j->received.values = take_part(p, scan_dist_sort_received_bytes(j, j->desc.value_bytes));
    for (int i = 0; i < SCAN_DIST_SPARES; i++)
        if (spares[i])
            j->spare[i] = take_pairs(j, p, stage);
    j->halves = take_part(p, scan_dist_sort_halves_bytes(j));
    j->merging = take_part(p, scan_dist_sort_merging_bytes(j));
    j->search = take_part(p, scan_dist_sort_search_bytes(j->comm));
    if (argsort) {
        j->in.values = take_part(p, j->n * j->desc.value_bytes);
        j->out.keys = take_part(p, j->out_n * j->key_bytes);
    }
}

/* The records have the lengths of all ranks. */
static scan_status take_memory(job *j, bool argsort) {
    const scan_dist_comm *comm = j->comm;
    uint64_t longest = 0;
    void *memory;
    parts p = {NULL, 0};
    for (uint32_t r = 0; r < comm->size; r++)
        longest = comm->records[r].extra > longest ? comm->records[r].extra : longest;
    j->stages = scan_dist_sort_stages(comm, longest, j->key_bytes + j->desc.value_bytes);
    j->buckets = (size_t)comm->size * j->stages;
    place(j, &p, argsort);
    SCAN_TRY(scan_dist_workspace(j->comm, p.bytes, &memory));
    p = (parts){memory, 0};
    place(j, &p, argsort);
    return scan_dist_sort_alloc(j);
}

static void fill_defaults(job *j) {
    const scan_class class = scan_type_class(j->desc.type);
    j->desc.struct_size = sizeof j->desc;
    j->key_bytes = scan_type_size(j->desc.type);
    if (j->desc.end_bit == 0)
        j->desc.end_bit = 8 * (uint32_t)j->key_bytes;
    j->codes = (scan_dist_codes){(uint32_t)j->key_bytes, j->desc.begin_bit,  j->desc.end_bit,  class == SCAN_FLOAT,
                                 class == SCAN_SIGNED,   j->desc.descending, j->desc.nan_first};
}

/* Arrays may be in place, and overlap in no other way. Inputs have n elements, outputs out_n. */
static scan_status check_overlap(const job *j) {
    const void *in[2] = {j->in.keys, j->in.values}, *out[2] = {j->out.keys, j->out.values};
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
    SCAN_TRY(take(j, scan_sort(ctx, &desc, j->in.keys, j->sorted.keys, j->in.values, j->sorted.values, j->n)));
    SCAN_TRY(take(j, scan_sort(ctx, &desc, j->out.keys, j->out.keys, j->out.values, j->out.values, j->out_n)));
    return check_overlap(j);
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
    const scan_dist_pairs to = comm->size > 1 ? j->sorted : j->out;
    if (status == SCAN_OK)
        status = take(j, scan_sort(comm->ctx, &j->desc, j->in.keys, to.keys, j->in.values, to.values, j->n));
    if (status == SCAN_OK)
        status = take(j, scan_ctx_sync(comm->ctx));
    SCAN_TRY(scan_dist_begin(comm, status, 'x', j->n, j->out_n));
    if (comm->size == 1)
        return SCAN_OK;
    SCAN_TRY(scan_dist_sort_split(j));
    status = scan_dist_sort_exchange(j);
    if (status == SCAN_OK)
        status = take(j, scan_ctx_sync(comm->ctx));
    return scan_dist_end(comm, status);
}

/* After the descriptor was checked, whose status is given. `prepare` checks the rest, once all lengths are known. */
static scan_status call(job *j, uint64_t verb, scan_status status, scan_status prepare(job *j)) {
    status = scan_dist_begin(j->comm, status, status == SCAN_OK ? call_of(&j->desc, verb) : 0, j->n, j->out_n);
    if (status == SCAN_OK)
        status = check_lengths(j->comm);
    if (status == SCAN_OK)
        status = run(j, prepare(j));
    scan_dist_sort_free(j);
    return status;
}

static scan_status check_sort(job *j, const scan_sort_desc *given) {
    SCAN_TRY(scan_dist_take_desc(j->comm, &j->desc, sizeof j->desc, given, "scan_sort_desc"));
    SCAN_TRY(take(j, scan_sort(j->comm->ctx, given, NULL, NULL, NULL, NULL, 0)));
    SCAN_TRY(scan_dist_take_count(j->comm, &j->desc.n_device, &j->n));
    fill_defaults(j);
    return SCAN_OK;
}

static scan_status prepare_sort(job *j) {
    SCAN_TRY(take_memory(j, false));
    return check_arrays(j);
}

scan_status scan_dist_sort(scan_dist_comm *comm, const scan_sort_desc *desc, const void *keys_in, void *keys_out,
                           const void *values_in, void *values_out, size_t n, size_t out_n) {
    job j = {.comm = comm,
             .in = {(char *)(uintptr_t)keys_in, (char *)(uintptr_t)values_in},
             .out = {keys_out, values_out},
             .n = n,
             .out_n = out_n};
    return comm ? call(&j, 'o', check_sort(&j, desc), prepare_sort) : SCAN_ERR_ARGUMENT;
}

/* ---- argsort ----------------------------------------------------------------------------------------------------- */

static scan_status check_argsort(job *j, const scan_sort_desc *given) {
    SCAN_TRY(scan_dist_take_desc(j->comm, &j->desc, sizeof j->desc, given, "scan_sort_desc"));
    SCAN_TRY(take(j, scan_argsort(j->comm->ctx, given, NULL, NULL, 0)));
    SCAN_TRY(scan_dist_take_count(j->comm, &j->desc.n_device, &j->n));
    fill_defaults(j);
    return SCAN_OK;
}

/* Keeps all elements. */
static const scan_term any = {
    .op = SCAN_TERM_GE, .column = SCAN_COLUMN_INDEX, .constant_type = SCAN_U64, .constant.u = 0};

static scan_compact_desc numbering(const job *j, uint64_t index_base) {
    return (scan_compact_desc){.struct_size = sizeof(scan_compact_desc),
                               .type = j->desc.type,
                               .index_type = j->desc.index_type,
                               .terms = &any,
                               .term_count = 1,
                               .index_base = index_base};
}

/* Indices from index_base on: those of the elements that a compaction keeps. */
static scan_status number(const job *j, void *indices) {
    const scan_compact_desc desc = numbering(j, j->comm->starts[j->comm->rank]);
    const scan_compact_out out = {.struct_size = sizeof out, .indices = indices};
    return take(j, scan_compact(j->comm->ctx, &desc, NULL, &out, j->n));
}

static scan_status prepare_argsort(job *j) {
    scan_dist_comm *comm = j->comm;
    const uint64_t total = scan_dist_find_starts(comm);
    const scan_type settled = total <= UINT32_MAX ? SCAN_U32 : SCAN_U64;
    j->desc.index_type = j->desc.index_type == SCAN_TYPE_NONE ? settled : j->desc.index_type;
    if (j->desc.index_type == SCAN_U32 && total > (uint64_t)UINT32_MAX + 1)
        return scan_dist_fail(comm, SCAN_ERR_ARGUMENT, "index_type: u32 cannot number %llu elements",
                              (unsigned long long)total);
    j->desc.value_bytes = (uint32_t)scan_type_size(j->desc.index_type);
    SCAN_TRY(take_memory(j, true));
    SCAN_TRY(check_arrays(j));
    return number(j, j->in.values);
}

scan_status scan_dist_argsort(scan_dist_comm *comm, const scan_sort_desc *desc, const void *keys, void *indices,
                              size_t n, size_t out_n) {
    job j = {.comm = comm, .in = {(char *)(uintptr_t)keys, NULL}, .out = {NULL, indices}, .n = n, .out_n = out_n};
    return comm ? call(&j, 'i', check_argsort(&j, desc), prepare_argsort) : SCAN_ERR_ARGUMENT;
}

/* ---- workspace --------------------------------------------------------------------------------------------------- */

/* The sort of the share, and of each stage its merges, or where there are many runs its sort. */
static scan_status context_bytes(const job *j, size_t *most) {
    const scan_dist_comm *comm = j->comm;
    const scan_merge_desc merge = {
        .struct_size = sizeof merge, .type = j->desc.type, .value_bytes = j->desc.value_bytes};
    size_t needed;
    SCAN_TRY(scan_sort_workspace(comm->ctx, &j->desc, j->n, most));
    for (uint32_t stages = 1; stages <= SCAN_DIST_MAX_STAGES; stages++) {
        const size_t n = j->out_n / stages + (j->out_n % stages != 0);
        SCAN_TRY(scan_sort_workspace(comm->ctx, &j->desc, n, &needed));
        *most = scan_dist_max(*most, needed);
        SCAN_TRY(scan_merge_workspace(comm->ctx, &merge, n, 0, &needed));
        *most = scan_dist_max(*most, needed);
    }
    return SCAN_OK;
}

static scan_status count_bytes(job *j, bool argsort, size_t *bytes, size_t *ctx_bytes) {
    parts p = {NULL, 0};
    size_t most, numbered = 0;
    place(j, &p, argsort);
    SCAN_TRY(context_bytes(j, &most));
    if (argsort) {
        const scan_compact_desc numbers = numbering(j, 0);
        SCAN_TRY(scan_compact_workspace(j->comm->ctx, &numbers, j->n, &numbered));
    }
    return scan_dist_give_sizes(p.bytes, bytes, scan_dist_max(most, numbered), ctx_bytes);
}

/* ask: refuses what the verb does not take. */
static scan_status describe(job *j, const scan_sort_desc *desc,
                            scan_status ask(const scan_ctx *, const scan_sort_desc *, size_t, size_t *)) {
    size_t needed;
    SCAN_TRY(scan_dist_copy_desc(j->comm, &j->desc, sizeof j->desc, desc));
    SCAN_TRY(ask(j->comm->ctx, desc, j->n, &needed));
    fill_defaults(j);
    return SCAN_OK;
}

scan_status scan_dist_sort_workspace(const scan_dist_comm *comm, const scan_sort_desc *desc, size_t n, size_t out_n,
                                     size_t *bytes, size_t *ctx_bytes) {
    job j = {.comm = (scan_dist_comm *)(uintptr_t)comm, .n = n, .out_n = out_n};
    SCAN_TRY(describe(&j, desc, scan_sort_workspace));
    return count_bytes(&j, false, bytes, ctx_bytes);
}

/* Without index_type the whole array may need the wider one. */
scan_status scan_dist_argsort_workspace(const scan_dist_comm *comm, const scan_sort_desc *desc, size_t n, size_t out_n,
                                        size_t *bytes, size_t *ctx_bytes) {
    job j = {.comm = (scan_dist_comm *)(uintptr_t)comm, .n = n, .out_n = out_n};
    SCAN_TRY(describe(&j, desc, scan_argsort_workspace));
    if (j.desc.index_type == SCAN_TYPE_NONE)
        j.desc.index_type = SCAN_U64;
    j.desc.value_bytes = (uint32_t)scan_type_size(j.desc.index_type);
    return count_bytes(&j, true, bytes, ctx_bytes);
}
