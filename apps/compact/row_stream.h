/* SPDX-License-Identifier: MIT
 *
 * compact on lines and tables in chunks of rows: while one is read, or decompressed, and another is written, others are
 * searched, each on one thread by the functions that search the whole. A device takes one chunk after another.
 *
 * What is wrong in a chunk is said when its turn to be written has come, so that the first fault of the input is named.
 * By then rows of the chunks before may be on stdout; a file of -o is complete or absent.
 *
 * Several ranks (apps/support/ranks.h) read all chunks, take them in turns, and write them together.
 */
#ifndef APPS_COMPACT_ROW_STREAM_H
#define APPS_COMPACT_ROW_STREAM_H

#include "apps/support/die.h"
#include "source.h"

/* Rows as they are written. */
typedef struct text_buffer {
    unsigned char *bytes;
    size_t n_bytes, room;
} text_buffer;

/* A chunk: its rows, as the reader finds them, and what is selected of them. A reader's own struct begins with it. */
typedef struct row_chunk {
    rows lines;
    size_t n_bytes; /* behind lines.bytes, of all rows at least */
    size_t n;       /* rows */
    bool absent;    /* this rank has none in the last turn */
    bool overlaps;  /* the first of them is the last of the chunk before, and in no output */
    uint64_t base;  /* the index of the first one, or 0 where the selection does not depend on it */
    bool failed;
    fatal_error error;
    selection kept;
    text_buffer kept_text, rejected_text;
    uint64_t moved_bytes;
} row_chunk;

typedef struct row_reader {
    void *arg;
    size_t chunk_size; /* of the struct of a chunk, which is zeros at first */

    /* In the main thread, chunk after chunk. Returns false if none follows. A fault may go to `failed`. */
    bool (*read)(void *arg, row_chunk *chunk);

    /* In any thread: finds the rows of a chunk and fills *from, which release frees. May die. */
    void (*find)(void *arg, row_chunk *chunk, source *from);
    void (*release)(source *from);

    /* In the main thread, chunk after chunk: `place` says how many rows come before a chunk. Then for one that failed
     * `find` is called again, which can name the place, and for others `finish`. */
    void (*place)(void *arg, row_chunk *chunk, uint64_t rows);
    void (*finish)(void *arg, row_chunk *chunk);

    void (*free_chunk)(row_chunk *chunk);
} row_reader;

/* How many went through. */
typedef struct row_counts {
    uint64_t rows, kept;
} row_counts;

/* Writes all outputs of the job; kept and rejected rows follow the head. */
row_counts row_stream(const compact_job *job, session *s, const row_reader *reader, const void *head,
                      size_t head_bytes);

#endif
