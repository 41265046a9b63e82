/* SPDX-License-Identifier: MIT
 *
 * The input of prefix, lines of numbers or a table, in batches of chunks (text_chunks.h, table_chunks.h): all chunks of
 * a batch are read, then all threads parse them. Several ranks (apps/support/ranks.h) read all chunks, parse some of
 * each batch each, and get the values of all.
 */
#ifndef APPS_PREFIX_COLUMN_BATCH_H
#define APPS_PREFIX_COLUMN_BATCH_H

#include "apps/support/column_types.h"
#include "apps/support/table_chunks.h"
#include "apps/support/text_chunks.h"
#include "prefix.h"
#include "row_write.h"

enum { COLUMN_BATCH_MAX = 16 };

typedef struct row_slot {
    text_chunk lines;
    table_chunk rows;
    column values; /* of a text: those of the chunk */
    bool failed;
    fatal_error error;
} row_slot;

typedef struct column_batch {
    const prefix_job *job;
    input *in;
    bool is_table;
    unsigned threads;
    text_chunks lines;
    table_chunks rows;
    size_t index;   /* of the table's column */
    scan_type type; /* that chunks are read as: SCAN_F64, or one of integers */
    bool parses;    /* else rows are found, and not their numbers */
    size_t line;    /* lines before the next chunk that is settled */
    row_slot slots[COLUMN_BATCH_MAX];
    size_t count;       /* of chunks in the batch */
    size_t first, end;  /* of them those that this rank parses */
    size_t n;           /* rows of the batch */
    void *others;       /* values of other ranks' chunks */
    column_types types; /* of all chunks so far */
} column_batch;

/* The input's beginning, from which column_batch_open reads. May be called again after input_rewind. */
void column_batch_open(column_batch *b, scan_type type, bool parses);

/* Reads and parses the next batch, of a row at least; returns false if there is none. Exit 2 for what is no number, for
 * integers that do not go with others, and for malformed rows. */
bool column_batch_next(column_batch *b);

void column_batch_close(column_batch *b);
void column_batch_free(column_batch *b);

#endif
