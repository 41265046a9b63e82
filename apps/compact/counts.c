/* SPDX-License-Identifier: MIT
 *
 * compact --unique --counts: the lengths of the runs, which are the differences of the indices that they begin at. The
 * last one is known when the input has ended.
 */
#include <stdlib.h>

#include "apps/support/alloc.h"
#include "apps/support/parallel.h"
#include "apps/support/rows.h"
#include "compact.h"

static void write_lengths(const compact_job *job, const uint64_t *lengths, size_t n) {
    if (job->counts_npy || format_is_binary(job->format))
        output_write(job->counts_out, lengths, n * sizeof *lengths);
    else
        rows_write_numbers(job->counts_out, SCAN_U64, lengths, n, parallel_threads(job->common->threads), NULL);
}

void compact_counts_begin(const compact_job *job) {
    if (job->counts_npy)
        output_reserve_head(job->counts_out, NPY_VECTOR_HEADER_BYTES);
}

void compact_counts_add(const compact_job *job, compact_runs *runs, scan_type type, const void *starts, size_t n) {
    uint64_t *lengths = must_alloc(n + 1, sizeof *lengths);
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t start = type == SCAN_U32 ? ((const uint32_t *)starts)[i] : ((const uint64_t *)starts)[i];
        if (runs->count++ > 0)
            lengths[count++] = start - runs->start;
        runs->start = start;
    }
    write_lengths(job, lengths, count);
    free(lengths);
}

void compact_counts_end(const compact_job *job, const compact_runs *runs, uint64_t elements) {
    if (runs->count > 0)
        write_lengths(job, &(uint64_t){elements - runs->start}, 1);
    if (job->counts_npy)
        compact_write_head(job->counts_out, SCAN_U64, runs->count);
}
