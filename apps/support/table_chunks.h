/* SPDX-License-Identifier: MIT
 *
 * A table read in chunks of whole rows, so that memory does not grow with it. Reading is for one thread; a chunk that
 * has been read is a table of its own, which any thread can go on with.
 */
#ifndef APPS_SUPPORT_TABLE_CHUNKS_H
#define APPS_SUPPORT_TABLE_CHUNKS_H

#include "table.h"

typedef struct table_chunks {
    table head; /* no rows; what all chunks have in common. bytes: those before the first row, head_bytes */
    input *in;
    unsigned char *rest; /* what has been read and is not in a chunk yet */
    size_t rest_bytes, rest_room;
    bool ended; /* nothing follows the rest */
} table_chunks;

/* Reads the first row. As table_read, exit 2 for a fault in it. Sets c->head. */
void table_chunks_open(table_chunks *c, input *in, const dialect *d);
void table_chunks_close(table_chunks *c);

/* A chunk, and its memory, which is used for one after another. {0} at first. */
typedef struct table_chunk {
    table t;                 /* its rows are behind a newline, bytes[0] */
    size_t room, stops_room; /* of t.bytes and stops */
    uint32_t *stops;         /* for t.stops */
} table_chunk;

/* Reads the next chunk: t.bytes and what the head says. Returns false if there is none. */
bool table_chunks_next(table_chunks *c, table_chunk *to);

/* Takes comments out of a chunk and finds its rows, of which there may be none then; and if they are without fault and
 * quotes inside fields, where all fields end. Exit 2 as for table_read, with the right line if table_chunk_place was
 * called. */
void table_find_rows(table_chunk *chunk);

/* Returns how many lines of the file a chunk has; table_chunk_place says how many come before it. */
size_t table_chunk_lines(const table_chunk *chunk);
static inline void table_chunk_place(table_chunk *chunk, size_t lines_before) {
    chunk->t.lines_before = lines_before - 1; /* the newline before the rows ends one of them */
}

void table_chunk_free(table_chunk *chunk);

#endif
