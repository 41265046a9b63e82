/* SPDX-License-Identifier: MIT
 *
 * Lines or rows of a table in memory, with their keys: a whole input, or a part of one. Every part of a table but the
 * first is read behind a copy of the first row, so that it is a table by itself; with another dialect than the input's
 * that row is a header even where it is data.
 */
#ifndef APPS_SORT_ROW_BATCH_H
#define APPS_SORT_ROW_BATCH_H

#include "apps/support/table.h"
#include "apps/support/text.h"
#include "sort.h"

/* What the parts of all inputs so far say about the type of one key: of numbers that do not go with each other it is
 * the first, as the begin of a message. */
typedef struct key_type {
    bool any_float, any_negative;
    char *above, *beyond; /* INT64_MAX, 2^53; NULL: none */
} key_type;

/* What the parts of one input have in common. */
typedef struct row_kind {
    sort_job *j;
    data_format format; /* FORMAT_TEXT: lines, by j->text of any bytes */
    key_type *types;    /* MAX_KEYS of them, for all inputs; NULL: what is read has been read before */
    dialect later;      /* of parts after the first */
    /* set by the first part: */
    bool started;
    size_t columns, column[MAX_KEYS]; /* of tables, and the column of each key */
    unsigned char *first_row;         /* which later parts are behind */
    size_t first_row_bytes, first_row_lines;
} row_kind;

typedef struct row_batch {
    text text;   /* lines */
    table table; /* or rows of a table */
    strings strings[MAX_KEYS];
    order_key keys[2 * MAX_KEYS]; /* of times that are missing in places there is one more key, which says where */
    size_t key_count;
    size_t n;
    const unsigned char *bytes; /* row i is bytes[starts[i] ... starts[i + 1] - 1]; they begin behind head_bytes */
    const uint64_t *starts;     /* lines of numbers: after row_batch_index */
    size_t head_bytes, n_bytes;
} row_batch;

/* Reads all of `in`, and the keys. Exit 2 with the place for what is malformed. The first call starts the kind; later
 * parts begin with its first_row. */
void row_batch_read(row_batch *b, row_kind *kind, input *in);
void row_batch_index(row_batch *b, const row_kind *kind);
void row_batch_free(row_batch *b);

/* The memory of the rows, which row_batch_free then leaves to the caller. */
unsigned char *row_batch_take_bytes(row_batch *b);

/* Ends the program: a row, by its line in the file, `what`. */
__attribute__((noreturn)) void row_batch_refuse(row_batch *b, const row_kind *kind, int code, size_t row,
                                                const char *what);

void row_kind_free(row_kind *kind);
void row_types_free(key_type *types);

/* Notes the type of numbers; exit 2 if they do not go with those before. `describe` gives the begin of the message for
 * a row, as text to be freed. */
typedef char *row_describe(const void *arg, size_t row);
void row_note_type(key_type *type, const column *c, row_describe *describe, const void *arg);

/* table.c: reads a table and its keys. */
void row_batch_read_table(row_batch *b, row_kind *kind, input *in);

#endif
