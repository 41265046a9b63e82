/* SPDX-License-Identifier: MIT
 *
 * What the two halves of the sort over ranks share: sort.c has the calls, the exchange and the merge, splitters.c finds
 * where the shares of the result begin in the sorted share of each rank.
 */
#ifndef SCAN_DIST_SORT_H
#define SCAN_DIST_SORT_H

#include "dist.h"

/* A splitter: between the elements that come to rank b and below, and the others. */
typedef struct scan_dist_splitter {
    uint64_t target;    /* elements below it */
    uint64_t low, high; /* the codes that its key may have */
    uint64_t from, to;  /* elements of this rank below low, and up to high */
} scan_dist_splitter;

typedef struct scan_dist_sort_job {
    scan_dist_comm *comm;
    scan_sort_desc desc; /* defaults filled in */
    const void *keys_in, *values_in;
    char *keys_out, *values_out;
    size_t n, out_n, key_bytes;
    char *sorted_keys, *sorted_values; /* of this rank's input */
    char *other_keys, *other_values;   /* out_n elements: runs before or between merges */
    /* host */
    scan_dist_splitter *splitters; /* size - 1 */
    uint64_t *counts, *sums;       /* of probes */
    uint64_t *edges;               /* of each rank, for each splitter: from and to */
    uint64_t *cuts;                /* cut b of rank r at r * (size + 1) + b: its elements before b go to lower ranks */
} scan_dist_sort_job;

/* Host memory for what follows. MEMORY leaves what there is to scan_dist_sort_free. */
scan_status scan_dist_sort_alloc(scan_dist_sort_job *j);
void scan_dist_sort_free(scan_dist_sort_job *j);

/* Finds the cuts of all ranks. The records have the lengths before (n) and after (extra). `status` is that of this rank
 * so far: one that has failed takes part. */
scan_status scan_dist_sort_split(scan_dist_sort_job *j);

#endif
