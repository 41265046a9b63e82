/* SPDX-License-Identifier: MIT
 *
 * Lines or rows of a table in parts of whole rows that fit a budget of memory: what they take, and what reading and
 * sorting them takes, which is more the shorter they are.
 */
#ifndef APPS_SORT_ROW_READER_H
#define APPS_SORT_ROW_READER_H

#include "row_batch.h"

/* What sorting takes beside the bytes themselves, by the job's keys. */
typedef struct row_cost {
    size_t a_row;
    bool rewrites;         /* fields with quotes are written anew */
    double a_byte, quoted; /* a_byte where no quotes are, and where some are */
} row_cost;

row_cost row_cost_of(const row_kind *kind);

/* Returns the bytes of whole rows at `begin` that fit so much memory, or those of the first row, or 0 if it is not
 * there as a whole. t: a table that says the delimiter, and the comments that may be there; NULL for lines. */
size_t row_bytes_within(const row_cost *cost, const table *t, const unsigned char *begin, const unsigned char *end,
                        size_t memory);

/* Returns the end of the last whole row of those that begin at `begin`; begin if there is none. */
const unsigned char *row_last_end(const table *t, const unsigned char *begin, const unsigned char *end);

/* The same, but the end of a table's rows is before empty lines, which are no rows if nothing follows them. */
const unsigned char *row_cut(const table *t, const unsigned char *begin, const unsigned char *end);

/* Returns the end of the row at `begin`; `end` if it is not there. */
const unsigned char *row_first_end(const table *t, const unsigned char *begin, const unsigned char *end);

/* The table for row_last_end; *t is filled in. Returns NULL for lines. */
const table *row_shape(const row_kind *kind, table *t);

typedef struct row_reader {
    input *in;
    const row_kind *kind;
    row_cost cost;
    size_t budget;
    unsigned char *rest; /* what has been read and is not in a part yet */
    size_t rest_bytes;
    size_t usual;         /* bytes of the last part */
    size_t room;          /* of its memory */
    unsigned char *spare; /* memory for the next one, of spare_room bytes: new memory costs as much as a copy */
    size_t spare_room;
    size_t lines; /* of the file, in parts so far */
    bool ended;   /* the last part was the last one */
} row_reader;

/* Reads the next part, behind `before` bytes that the caller fills in: *bytes, to be freed, has *n_bytes, them
 * included, and room for INPUT_TAIL_BYTES more. Returns false if there is none. Exit 3 for a row that does not fit. */
bool row_reader_next(row_reader *r, size_t before, unsigned char **bytes, size_t *n_bytes);

/* Gives memory that a part had, with the room that the reader said, for the next one. */
void row_reader_reuse(row_reader *r, unsigned char *bytes, size_t room);
void row_reader_close(row_reader *r);

#endif
