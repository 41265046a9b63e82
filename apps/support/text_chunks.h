/* SPDX-License-Identifier: MIT
 *
 * Lines read in chunks of whole ones, so that memory does not grow with the text. Reading is for one thread; a chunk
 * that has been read is a text of its own, which any thread can parse and index.
 */
#ifndef APPS_SUPPORT_TEXT_CHUNKS_H
#define APPS_SUPPORT_TEXT_CHUNKS_H

#include "text.h"

typedef struct text_chunks {
    input *in;
    size_t chunk_bytes;    /* of a chunk, if no line is longer */
    bool overlap;          /* each chunk begins with the last line of the one before */
    unsigned char mark[3]; /* the byte order mark, which is in no chunk */
    size_t mark_bytes;
    unsigned char *rest; /* what has been read and is not in a chunk yet, and before it the line that overlaps */
    size_t rest_bytes, rest_room, overlap_bytes;
    bool ended; /* nothing follows the rest */
} text_chunks;

/* Reads the byte order mark; exit 2 for UTF-16. */
void text_chunks_open(text_chunks *c, input *in, size_t chunk_bytes, bool overlap);
void text_chunks_close(text_chunks *c);

/* A chunk, and its memory, which is used for one after another. {0} at first. */
typedef struct text_chunk {
    text t; /* only its bytes are set; lines_before is for the caller to set */
    size_t room;
    bool overlaps; /* its first line is the last of the chunk before */
} text_chunk;

/* Reads the next chunk. Returns false if there is none. */
bool text_chunks_next(text_chunks *c, text_chunk *to);

void text_chunk_free(text_chunk *chunk);

#endif
