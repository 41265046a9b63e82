/* SPDX-License-Identifier: MIT
 *
 * Lines and rows of any size: in memory if they fit, else in sorted parts.
 */
#ifndef APPS_SORT_ROW_PARTS_H
#define APPS_SORT_ROW_PARTS_H

#include "row_reader.h"

/* Memory beside -S, of the 64 MiB more that it allows: for rows, and by threads for numbers, that wait to be written.
 */
enum { PARTS_RING_BYTES = 24 << 20, PARTS_WRITERS = 8 };

/* Returns true if an input of this size fits the memory however short its rows are. */
bool row_fits(const row_kind *kind);

/* Sorts, or checks, what is in memory. lines.c */
void sort_whole_rows(row_kind *kind, row_batch *b);

/* Ranks keys that are strings which repeat, before they are sorted. lines.c */
void row_batch_rank(row_batch *b, const sort_job *j);

/* Parts of an input: rows behind its first one and, if row_parts_keep_last was called for the part before, behind the
 * last one of that. */
typedef struct row_parts {
    row_kind *kind;
    row_reader reader;
    unsigned char *last; /* to be freed */
    size_t last_bytes;
} row_parts;

/* Bytes of a part. */
typedef struct row_piece {
    input in;            /* of memory */
    size_t lines_before; /* of the file */
    bool last;           /* the input has ended */
} row_piece;

/* Reads the next part; returns false if there is none. Then its rows and their keys are found, in any thread. */
bool row_parts_read(row_parts *p, row_piece *piece);
void row_parts_parse(row_kind *kind, row_piece *piece, row_batch *b);

/* row_parts_read and row_parts_parse. */
bool row_parts_next(row_parts *p, row_batch *b);
void row_parts_keep_last(row_parts *p, row_batch *b);

/* Returns true if the last part was the last one. */
bool row_parts_ended(const row_parts *p);

/* Reads the input in parts, and if there is more than one goes on with parts. */
void sort_row_parts(row_kind *kind);

/* The same with other ranks. In row_ranks.c. */
void sort_row_ranks(row_kind *kind);

#endif
