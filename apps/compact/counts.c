/* SPDX-License-Identifier: MIT
 *
 * compact --unique --counts: the lengths of the runs, which are the differences of the indices that they begin at. The
 * last one is known when the input has ended.
 */
#include <stdlib.h>

#include "apps/support/alloc.h"
#include "compact.h"

compact_runs compact_counts_begin(const compact_job *job) {
    compact_runs runs = {.lengths = compact_index_writer(job, job->counts_out, job->counts, SCAN_U64)};
    array_reserve_header(&runs.lengths);
    return runs;
}

void compact_counts_add(compact_runs *runs, scan_type type, const void *starts, size_t n) {
    uint64_t *lengths = must_alloc(n + 1, sizeof *lengths);
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t start = type == SCAN_U32 ? ((const uint32_t *)starts)[i] : ((const uint64_t *)starts)[i];
        if (runs->count++ > 0)
            lengths[count++] = start - runs->start;
        runs->start = start;
    }
    array_write(&runs->lengths, lengths, count);
    free(lengths);
}

void compact_counts_end(const compact_runs *runs, uint64_t elements) {
    if (runs->count > 0)
        array_write(&runs->lengths, &(uint64_t){elements - runs->start}, 1);
    array_write_length(&runs->lengths, runs->count);
}
