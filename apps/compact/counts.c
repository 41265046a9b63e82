/* SPDX-License-Identifier: MIT
 *
 * compact --unique --counts: the lengths of the runs, which are the differences of the indices that they begin at. The
 * last one is known when the input has ended.
 */
#include <stdlib.h>

#include "apps/support/alloc.h"
#include "apps/support/ranks.h"
#include "compact.h"

compact_runs compact_counts_begin(const compact_job *job) {
    compact_runs runs = {.lengths = compact_index_writer(job, job->counts_out, job->counts, SCAN_U64)};
    array_reserve_header(&runs.lengths);
    return runs;
}

static uint64_t start_at(scan_type type, const void *starts, size_t i) {
    return type == SCAN_U32 ? ((const uint32_t *)starts)[i] : ((const uint64_t *)starts)[i];
}

typedef struct span {
    uint64_t count, last; /* of the runs that a rank gives, and where the last of them begins */
} span;

/* Takes the runs of lower ranks, and later those of the others. */
static void take_spans(compact_runs *runs, const span *all, unsigned first, unsigned end) {
    for (unsigned r = first; r < end; r++)
        if (all[r].count > 0) {
            runs->count += all[r].count;
            runs->start = all[r].last;
        }
}

void compact_counts_add(compact_runs *runs, scan_type type, const void *starts, size_t n) {
    uint64_t *lengths = must_alloc(n + 1, sizeof *lengths);
    span mine = {.count = n}, *all = must_alloc(ranks_count(), sizeof *all);
    if (n > 0)
        mine.last = start_at(type, starts, n - 1);
    ranks_gather(&mine, sizeof mine, all);
    take_spans(runs, all, 0, ranks_own());
    size_t count = 0;
    uint64_t before = runs->start;
    for (size_t i = 0; i < n; i++) {
        const uint64_t start = start_at(type, starts, i);
        if (runs->count + i > 0)
            lengths[count++] = start - before;
        before = start;
    }
    take_spans(runs, all, ranks_own(), ranks_count());
    array_write(&runs->lengths, lengths, count);
    free(lengths);
    free(all);
}

void compact_counts_end(const compact_runs *runs, uint64_t elements) {
    if (runs->count > 0)
        array_write(&runs->lengths, &(uint64_t){elements - runs->start}, ranks_own() == 0);
    array_write_length(&runs->lengths, runs->count);
}
