/* SPDX-License-Identifier: MIT
 *
 * scan_dist_compact: every rank compacts its share, whose indices begin where the lower ranks end; an exclusive scan of
 * the counts says where its kept elements lie among those of all. Nothing but lengths and counts is moved.
 */
#include "dist.h"

static scan_status prepare(scan_dist_comm *comm, const scan_compact_desc *given, const scan_compact_out *given_out,
                           scan_compact_desc *desc, scan_compact_out *out, size_t *n, bool asked) {
    void *memory;
    SCAN_TRY(scan_dist_take_desc(comm, desc, sizeof *desc, given, "scan_compact_desc"));
    SCAN_TRY(scan_dist_take_desc(comm, out, sizeof *out, given_out, "scan_compact_out"));
    SCAN_TRY(scan_dist_take(comm, comm->ctx, scan_compact(comm->ctx, given, NULL, given_out, 0)));
    SCAN_TRY(scan_dist_take_count(comm, &desc->n_device, n));
    if (!asked && !out->kept && !out->rejected && !out->indices && !out->count)
        return scan_dist_fail(comm, SCAN_ERR_ARGUMENT, "scan_compact_out: every output is NULL");
    desc->struct_size = sizeof *desc;
    out->struct_size = sizeof *out;
    SCAN_TRY(scan_dist_workspace(comm, sizeof *out->count, &memory));
    if (!out->count)
        out->count = memory;
    return SCAN_OK;
}

static uint64_t call_of(const scan_compact_desc *desc) {
    const uint64_t fields[] = {desc->type,       desc->index_type,   desc->invert,     desc->flags != NULL,
                               desc->term_count, desc->column_count, desc->index_base, desc->grid};
    uint64_t hash = scan_dist_hash_all('k', fields, sizeof fields / sizeof *fields);
    for (uint32_t i = 0; i < desc->term_count; i++) {
        const scan_term *term = &desc->terms[i];
        const bool compares = term->op <= SCAN_TERM_NE, joins = term->op >= SCAN_TERM_AND;
        const uint64_t parts[] = {term->op, joins ? 0 : term->column, compares ? term->constant_type : 0,
                                  compares ? term->constant.u : 0};
        hash = scan_dist_hash_all(hash, parts, sizeof parts / sizeof *parts);
    }
    return hash;
}

static scan_status compact_share(scan_dist_comm *comm, scan_compact_desc *desc, const void *in, scan_compact_out *out,
                                 size_t n, uint64_t *count) {
    SCAN_TRY(scan_dist_settle_index(comm, &desc->index_type, &desc->index_base));
    SCAN_TRY(scan_dist_take(comm, comm->ctx, scan_compact(comm->ctx, desc, in, out, n)));
    return scan_dist_download(comm, count, out->count, sizeof *count);
}

scan_status scan_dist_compact(scan_dist_comm *comm, const scan_compact_desc *given, const void *in,
                              const scan_compact_out *given_out, size_t n, scan_dist_place *kept) {
    scan_compact_desc desc;
    scan_compact_out out;
    uint64_t count = 0;
    if (!comm)
        return SCAN_ERR_ARGUMENT;
    const scan_status status = prepare(comm, given, given_out, &desc, &out, &n, kept != NULL);
    SCAN_TRY(scan_dist_begin(comm, status, status == SCAN_OK ? call_of(&desc) : 0, n, 0));
    scan_dist_find_starts(comm);
    const scan_status done = compact_share(comm, &desc, in, &out, n, &count);
    SCAN_TRY(scan_dist_begin(comm, done, 'k', count, 0));
    scan_dist_find_starts(comm);
    if (kept)
        *kept = scan_dist_place_of(comm);
    return SCAN_OK;
}

scan_status scan_dist_compact_workspace(const scan_dist_comm *comm, const scan_compact_desc *given, size_t n,
                                        size_t *bytes, size_t *ctx_bytes) {
    scan_compact_desc desc;
    size_t least, wide = 0;
    SCAN_TRY(scan_dist_copy_desc(comm, &desc, sizeof desc, given));
    SCAN_TRY(scan_compact_workspace(comm->ctx, given, n, &least));
    if (desc.index_type == SCAN_TYPE_NONE) { /* the whole array may be longer */
        desc.index_type = SCAN_U64;
        SCAN_TRY(scan_compact_workspace(comm->ctx, &desc, n, &wide));
    }
    return scan_dist_give_sizes(sizeof(uint64_t), bytes, scan_dist_max(least, wide), ctx_bytes);
}
