/* SPDX-License-Identifier: MIT
 *
 * scan_dist_histogram: every rank counts its share; the counts are summed on the host, for they are few (2 MiB at most)
 * whatever the length of the array.
 */
#include <stdlib.h>

#include "dist.h"

static size_t count_of(const scan_histogram_desc *desc) {
    return (desc->type == SCAN_U8 ? 256u : 65536u) * (size_t)(desc->channels ? desc->channels : 1);
}

/* Everything that can fail on this rank alone: its histogram, and memory to sum it in. */
static scan_status count(scan_dist_comm *comm, const scan_histogram_desc *given, const void *in, uint64_t *bins,
                         size_t n, scan_histogram_desc *desc, uint64_t **host) {
    SCAN_TRY(scan_dist_take_desc(comm, desc, sizeof *desc, given, "scan_histogram_desc"));
    SCAN_TRY(scan_dist_take(comm, comm->ctx, scan_histogram(comm->ctx, given, in, bins, n)));
    *host = scan_dist_sums(comm, count_of(desc));
    if (!*host)
        return scan_dist_fail(comm, SCAN_ERR_MEMORY, "no memory for the sums of histograms");
    return scan_dist_download(comm, *host, bins, count_of(desc) * sizeof **host);
}

static uint64_t call_of(const scan_histogram_desc *desc) {
    return scan_dist_hash(scan_dist_hash(scan_dist_hash('h', (uint64_t)desc->type), desc->channels),
                          desc->mask != NULL);
}

scan_status scan_dist_histogram(scan_dist_comm *comm, const scan_histogram_desc *given, const void *in, uint64_t *bins,
                                size_t n) {
    scan_histogram_desc desc;
    uint64_t *host = NULL;
    if (!comm)
        return SCAN_ERR_ARGUMENT;
    scan_status status = count(comm, given, in, bins, n, &desc, &host);
    status = scan_dist_begin(comm, status, status == SCAN_OK ? call_of(&desc) : 0, n, 0);
    if (status == SCAN_OK)
        status = scan_dist_sum(comm, host, count_of(&desc));
    if (status == SCAN_OK)
        status = scan_dist_end(comm, scan_dist_upload(comm, bins, host, count_of(&desc) * sizeof *host));
    scan_dist_free(comm, host);
    return status;
}

scan_status scan_dist_histogram_workspace(const scan_dist_comm *comm, const scan_histogram_desc *given, size_t n,
                                          size_t *bytes, size_t *ctx_bytes) {
    scan_histogram_desc desc;
    size_t needed;
    SCAN_TRY(scan_dist_copy_desc(comm, &desc, sizeof desc, given));
    SCAN_TRY(scan_histogram_workspace(comm->ctx, given, n, &needed));
    return scan_dist_give_sizes(0, bytes, needed, ctx_bytes);
}
