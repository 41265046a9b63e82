/* SPDX-License-Identifier: MIT
 *
 * Merging sorted lines or rows (order_merge.h): parts of an input that is larger than memory, in spools, or files.
 */
#ifndef APPS_SORT_ROW_MERGE_H
#define APPS_SORT_ROW_MERGE_H

#include "row_reader.h"
#include "part_file.h"

/* Sorted rows, one part behind another; --argsort has beside each the place that it had in the input. */
typedef struct row_spool {
    part_file rows, places;
    struct row_spool_end {
        uint64_t bytes, places;
    } * ends; /* of each part */
    size_t count, room;
    uint64_t hash; /* with --verify: rows_line_hash and row_places_hash of all that was written */
} row_spool;

/* A sorted source: bytes at ... end - 1 of a spool, with its places from number `place` on, or a file. What is in
 * memory begins with a row. */
typedef struct row_source {
    row_spool *spool;
    uint64_t at, end, place;
    struct row_file *file;
    bool ended;            /* all has been read */
    unsigned char *bytes;  /* of a spool: whole blocks, as part_file_append wants them */
    bool grown;            /* of a spool: they are its own, and not the merge's */
    size_t begin, n, room; /* bytes[begin ... begin + n - 1] are in memory, of which rows take at most room */
    size_t take;           /* how many of them a round looks at */
} row_source;

/* Where merged rows go: what is NULL is not written. */
typedef struct row_target {
    output *rows;
    output *places;   /* to a spool */
    output *numbers;  /* the places, one a line */
    uint64_t n, hash; /* what was written, as in row_spool */
} row_target;

/* How many sources are merged at once, if rows have so many bytes, and the bytes of each that are in memory then. */
size_t row_merge_ways(const sort_job *j, uint64_t row_bytes);
size_t row_merge_room(const sort_job *j, size_t count);

/* Merges sources. kind: of the parts that rounds sort, with types NULL; started when the sources are files that have
 * rows. Adds what row_spool calls hash of all that was read to *hash. */
void row_merge(row_kind *kind, row_source *sources, size_t count, row_target *to, uint64_t *hash);

/* With --verify a sum over all places, else 0. */
uint64_t row_places_hash(const sort_job *j, uint64_t *places, size_t n);

/* ---- row_spool.c ------------------------------------------------------------------------------------------------- */

void row_spool_open(row_spool *s, const sort_job *j);
void row_spool_close(row_spool *s);

/* Ends a part of so many rows. */
void row_spool_end_part(row_spool *s, uint64_t n);

/* Merges sources into one more part of a spool, which is still written. */
void row_merge_into(row_kind *kind, row_source *sources, size_t count, row_spool *to, uint64_t *hash);

/* Merges all parts of a spool that is written, at once or in several levels, into the output, behind the head. Returns
 * the number of rows. */
uint64_t row_merge_parts(row_kind *kind, row_spool *s, const unsigned char *head, size_t head_bytes);

/* Adds checked rows of a file to what the source has in memory; sets `ended`. In row_files.c. */
void row_file_fill(row_source *s);

#endif
