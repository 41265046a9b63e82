/* SPDX-License-Identifier: MIT
 *
 * scan_dist_equalize: every rank counts its share, the histograms are summed on the host, and every rank makes the
 * same tables of the sums and maps its share by them.
 */
#include <stdlib.h>

#include "dist.h"

typedef struct job {
    scan_dist_comm *comm;
    scan_equalize_desc desc;
    uint64_t *bins; /* context memory */
    uint64_t *host;
    size_t count;
} job;

static scan_status local(const job *j, const scan_equalize_desc *desc, const void *in, void *out, void *luts,
                         size_t n) {
    return scan_dist_take(j->comm, j->comm->ctx, scan_equalize(j->comm->ctx, desc, in, out, luts, n));
}

static scan_status count(job *j, const scan_equalize_desc *given, const void *in, size_t n) {
    scan_dist_comm *comm = j->comm;
    void *memory;
    SCAN_TRY(scan_dist_take_desc(comm, &j->desc, sizeof j->desc, given, "scan_equalize_desc"));
    if (j->desc.bins_in || j->desc.bins_out)
        return scan_dist_fail(comm, SCAN_ERR_ARGUMENT, "scan_dist_equalize takes no bins_in and bins_out");
    SCAN_TRY(local(j, given, NULL, NULL, NULL, 0)); /* says what is wrong with the descriptor */
    j->desc.struct_size = sizeof j->desc;
    SCAN_TRY(scan_equalize_bins(&j->desc, &j->count));
    j->host = scan_dist_sums(comm, j->count);
    if (!j->host)
        return scan_dist_fail(comm, SCAN_ERR_MEMORY, "no memory for the sums of histograms");
    SCAN_TRY(scan_dist_workspace(comm, j->count * sizeof *j->bins, &memory));
    j->bins = memory;
    scan_equalize_desc counting = j->desc;
    counting.bins_out = j->bins;
    SCAN_TRY(local(j, &counting, in, NULL, NULL, n));
    return scan_dist_download(comm, j->host, j->bins, j->count * sizeof *j->host);
}

static scan_status map(const job *j, const void *in, void *out, void *luts, size_t n) {
    scan_equalize_desc mapping = j->desc;
    mapping.bins_in = j->bins;
    SCAN_TRY(scan_dist_upload(j->comm, j->bins, j->host, j->count * sizeof *j->host));
    SCAN_TRY(local(j, &mapping, in, out, luts, n));
    return scan_dist_take(j->comm, j->comm->ctx, scan_ctx_sync(j->comm->ctx));
}

static uint64_t call_of(const scan_equalize_desc *desc) {
    const uint64_t fields[] = {desc->type, desc->channels, desc->like, desc->color, desc->mask != NULL};
    return scan_dist_hash_all('q', fields, sizeof fields / sizeof *fields);
}

scan_status scan_dist_equalize(scan_dist_comm *comm, const scan_equalize_desc *desc, const void *in, void *out,
                               void *luts, size_t n) {
    job j = {.comm = comm};
    if (!comm)
        return SCAN_ERR_ARGUMENT;
    scan_status status = count(&j, desc, in, n);
    status = scan_dist_begin(comm, status, status == SCAN_OK ? call_of(&j.desc) : 0, n, 0);
    if (status == SCAN_OK)
        status = scan_dist_sum(comm, j.host, j.count);
    if (status == SCAN_OK)
        status = scan_dist_end(comm, map(&j, in, out, luts, n));
    scan_dist_free(comm, j.host);
    return status;
}

scan_status scan_dist_equalize_workspace(const scan_dist_comm *comm, const scan_equalize_desc *given, size_t n,
                                         size_t *bytes, size_t *ctx_bytes) {
    scan_equalize_desc desc;
    size_t count, counting, mapping;
    SCAN_TRY(scan_dist_copy_desc(comm, &desc, sizeof desc, given));
    if (desc.bins_in || desc.bins_out)
        return SCAN_ERR_ARGUMENT;
    SCAN_TRY(scan_equalize_bins(given, &count));
    desc.bins_out = comm->none;
    SCAN_TRY(scan_equalize_workspace(comm->ctx, &desc, n, &counting));
    desc.bins_in = comm->none;
    desc.bins_out = NULL;
    SCAN_TRY(scan_equalize_workspace(comm->ctx, &desc, n, &mapping));
    return scan_dist_give_sizes(count * sizeof(uint64_t), bytes, scan_dist_max(counting, mapping), ctx_bytes);
}
