/* SPDX-License-Identifier: MIT
 *
 * What the two halves of scan_dist_prefix share: prefix.c has the call, prefix_groups.c says which rank has which group
 * and moves the groups that borders of shares cut, prefix_carry.c has arrays in pieces.
 */
#ifndef SCAN_DIST_PREFIX_H
#define SCAN_DIST_PREFIX_H

#include "dist.h"

/* What is before a rank's elements. */
typedef struct scan_dist_prefix_fold {
    uint64_t any; /* 0: nothing, not even init */
    uint64_t bits;
} scan_dist_prefix_fold;

typedef struct scan_dist_prefix_job {
    scan_dist_comm *comm;
    scan_prefix_desc desc;
    const char *in;
    char *out;
    size_t n, in_size, out_size;
    bool ordered;
    uint32_t step;
    uint64_t count;               /* elements of earlier pieces of the array, by carry_in */
    uint64_t past;                /* of these, in the group that the piece begins in: positions count from its first */
    scan_dist_prefix_fold so_far; /* of earlier pieces, or init */
    void *carry_out;              /* the caller's */
    char *carry;                  /* context memory: of a scan on this rank */
    bool opens, closes;           /* this rank's scans have the first, the last element */
    uint64_t opened;              /* opens: the fold after the first group */
    uint64_t total;               /* past, and the elements of this piece */
    uint64_t group;               /* elements of a group */
    size_t head;                  /* elements of a group that begins on an earlier step */
    size_t main;                  /* elements of groups of this rank alone */
    size_t tail;                  /* elements of a group that begins here and goes on */
    size_t edge;                  /* elements of that group, with those of later steps */
    size_t piece;                 /* elements of a reduction at a time on the CPU */
    char *scratch;                /* CPU: output of reductions and a carry; a device: totals */
    char *edge_in, *edge_out;
    char *totals; /* host: of whole groups; unless ordered, of any parts */
    size_t total_count;
    uint64_t edge_total;
} scan_dist_prefix_job;

/* Finds the rank's step, where every step begins, and the parts of this rank's share. */
void scan_dist_prefix_groups(scan_dist_prefix_job *j);

/* Returns the step that has the group of a position. */
uint32_t scan_dist_prefix_owner(const scan_dist_prefix_job *j, uint64_t position);

/* Takes carry_in or init; scans the rest of the first group, in context memory, for the fold after it; gives carry_out
 * to all ranks, collective: a rank that has failed takes part. */
scan_status scan_dist_prefix_carry_in(scan_dist_prefix_job *j);
scan_status scan_dist_prefix_open(const scan_dist_prefix_job *j, const void *in, size_t n, void *out, uint64_t *fold);
scan_status scan_dist_prefix_carry_out(const scan_dist_prefix_job *j, scan_status status);

/* Returns the rank of a step. */
uint32_t scan_dist_prefix_rank(const scan_dist_prefix_job *j, uint32_t step);

/* Returns the memory of `count` elements from position `at` on in an array of `n`. */
char *scan_dist_prefix_place(const scan_dist_prefix_job *j, const void *array, size_t n, size_t at, size_t count,
                             size_t size);

/* Moves elements of groups that borders cut to their owners, or results back. */
scan_status scan_dist_prefix_edges(const scan_dist_prefix_job *j, bool back);

#endif
