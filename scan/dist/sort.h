/* SPDX-License-Identifier: MIT
 *
 * What the parts of the sort over ranks share: sort.c has the calls, splitters.c finds where the shares of the result
 * begin in the sorted share of each rank, stages.c exchanges and merges.
 *
 * A share of the result is made in stages, all shares in the same number of them: stage s of rank b is bucket
 * b * stages + s, and buckets follow one another in the result.
 */
#ifndef SCAN_DIST_SORT_H
#define SCAN_DIST_SORT_H

#include "codes.h"
#include "dist.h"

enum { SCAN_DIST_SPARES = 2, SCAN_DIST_MAX_STAGES = 4 };

/* Keys, and their values if there are any. */
typedef struct scan_dist_pairs {
    char *keys, *values;
} scan_dist_pairs;

typedef struct scan_dist_sort_job {
    scan_dist_comm *comm;
    scan_sort_desc desc; /* defaults filled in */
    scan_dist_codes codes;
    scan_dist_pairs in, out; /* the caller's; `in` is only read */
    size_t n, out_n, key_bytes;
    scan_dist_pairs sorted;                  /* n: this rank's input */
    scan_dist_pairs received;                /* runs of other ranks, stage after stage */
    scan_dist_pairs spare[SCAN_DIST_SPARES]; /* a stage: runs between merges */
    char *halves;                            /* what goes to other ranks as halves */
    void *merging;                           /* context memory of merges of halves */
    void *search;                            /* and of searches */
    uint32_t stages;
    size_t buckets; /* size * stages */
    /* host */
    scan_dist_splitter *splitters; /* buckets - 1 */
    uint64_t *counts, *sums;       /* of probes */
    uint64_t *edges;               /* of each rank, for each splitter: from and to */
    uint64_t *cuts;                /* bucket b of rank r begins at r * (buckets + 1) + b in its sorted share */
} scan_dist_sort_job;

/* Host memory for what follows. MEMORY leaves what there is to scan_dist_sort_free. */
scan_status scan_dist_sort_alloc(scan_dist_sort_job *j);
void scan_dist_sort_free(scan_dist_sort_job *j);

/* Bytes of `search`. */
size_t scan_dist_sort_search_bytes(const scan_dist_comm *comm);

/* Finds the cuts of all ranks. The records have the lengths before (n) and after (extra). A rank that fails takes part
 * to the end. */
scan_status scan_dist_sort_split(scan_dist_sort_job *j);

/* The stages of a sort whose longest share of the result has `longest` elements. */
uint32_t scan_dist_sort_stages(const scan_dist_comm *comm, uint64_t longest, size_t element_bytes);

/* Elements before stage s of a share of the result that has `length`. */
static inline uint64_t scan_dist_sort_stage_of(uint64_t length, uint32_t s, uint32_t stages) {
    return length / stages * s + length % stages * s / stages;
}

/* Bytes that `received` needs for elements of that size. */
size_t scan_dist_sort_received_bytes(const scan_dist_sort_job *j, size_t size);

/* Bytes of `halves` and of `merging`. */
size_t scan_dist_sort_halves_bytes(const scan_dist_sort_job *j);
size_t scan_dist_sort_merging_bytes(const scan_dist_sort_job *j);

/* Brings every bucket to its rank and merges what this one gets. */
scan_status scan_dist_sort_exchange(scan_dist_sort_job *j);

#endif
