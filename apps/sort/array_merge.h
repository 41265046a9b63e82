/* SPDX-License-Identifier: MIT
 *
 * Merging sorted arrays (order_merge.h): parts of one that is larger than memory, in spools, or files.
 */
#ifndef APPS_SORT_ARRAY_MERGE_H
#define APPS_SORT_ARRAY_MERGE_H

#include "sort.h"
#include "part_file.h"

/* Sorted elements, one part behind another; --argsort has beside each the place that it had in the input. */
typedef struct array_spool {
    part_file keys, places;
    uint64_t *ends; /* of each part, in elements */
    size_t count, room;
    uint64_t hash; /* array_hash of all that was written */
    void *memory;  /* the elements, in place of files; without --argsort, and: */
    size_t round;  /* how many of them a merge sorts at once */
} array_spool;

/* A sorted source. Elements that are in memory are in a region of the merge's memory. */
typedef struct array_source {
    array_spool *spool; /* elements at ... end - 1 of it are to be read; or NULL, and: */
    uint64_t at, end;
    array_reader *reader; /* a file: its order is checked */
    bool ended;           /* all has been read */
    size_t begin, n;      /* in memory: the region's elements begin ... begin + n - 1; or those of the spool's memory */
} array_source;

/* How many sources are merged at once. */
size_t array_merge_ways(const sort_job *j, scan_type type);

/* Merges sources: hands sorted elements to `emit`, piece by piece, with their places or NULL; n may be 0. Keys stay as
 * they are until the next call, and lie in memory as output_lend wants them if they go behind `offset` bytes of an
 * output. Returns how many; adds the array_hash of what was read to *hash. */
typedef void array_emit(void *arg, const void *keys, uint64_t *places, size_t n);
uint64_t array_merge(sort_job *j, scan_type type, array_source *sources, size_t count, uint64_t offset,
                     array_emit *emit, void *arg, uint64_t *hash);

/* With --verify a sum over all elements, and their places if there are any: equal for the same in any order. Else 0. */
uint64_t array_hash(const sort_job *j, scan_type type, void *keys, uint64_t *places, size_t n);

/* Keeps the first of equal ones among n sorted keys, with its place if there are any. Returns how many. */
size_t array_keep_first(const sort_job *j, const order_key *key, uint64_t *places, size_t n);

/* ---- array_spool.c ----------------------------------------------------------------------------------------------- */

void array_spool_open(array_spool *s, const sort_job *j);
/* As an array_emit. */
void array_spool_write(array_spool *s, const void *keys, const uint64_t *places, size_t n, size_t size);
void array_spool_add_end(array_spool *s, uint64_t end);
void array_spool_end_part(array_spool *s, size_t size);
void array_spool_close(array_spool *s);

/* Merges sources into one more part of a spool, which is still written. */
void array_merge_into(sort_job *j, scan_type type, array_source *sources, size_t count, array_spool *to,
                      uint64_t *hash);

/* Merges all parts of a spool that is written, at once or in several levels, into the output; `reader` is that of the
 * input, of n elements. */
void array_merge_parts(sort_job *j, const array_reader *reader, array_spool *s, uint64_t n);

/* The output of a merge: array_result_emit is an array_emit with one of these as arg. */
typedef struct array_result {
    array_writer w;
    bool length_last; /* how many elements there are is known at the end only */
} array_result;

void array_result_begin(array_result *r, const sort_job *j, const array_reader *reader, uint64_t n, bool known);
void array_result_emit(void *arg, const void *keys, uint64_t *places, size_t n);
void array_result_end(array_result *r, uint64_t kept);

#endif
