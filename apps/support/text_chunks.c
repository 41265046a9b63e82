/* SPDX-License-Identifier: MIT
 *
 * What is read ends somewhere in a line: a chunk is cut after its last newline, and what follows begins the next.
 */
#include "text_chunks.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"

void text_chunks_open(text_chunks *c, input *in, size_t chunk_bytes, bool overlap) {
    const unsigned char *start;
    *c = (text_chunks){.in = in, .chunk_bytes = chunk_bytes, .overlap = overlap};
    size_t bytes = input_peek(in, &start, sizeof c->mark);
    c->mark_bytes = input_mark_bytes(in, start, bytes);
    input_read(in, c->mark, c->mark_bytes);
}

void text_chunks_close(text_chunks *c) {
    free(c->rest);
    c->rest = NULL;
}

static void make_room(unsigned char **bytes, size_t *room, size_t wanted) {
    if (*room < wanted) {
        *bytes = must_realloc(*bytes, wanted, 1);
        *room = wanted;
    }
}

/* Reads until the chunk has a line of its own, or the input ends; returns where it is to be cut. */
static size_t read_lines(text_chunks *c, text_chunk *to) {
    text *t = &to->t;
    const size_t begin = c->overlap_bytes;
    size_t searched = begin;
    for (size_t wanted = c->chunk_bytes;; wanted *= 2) {
        wanted = wanted > t->n_bytes ? wanted : t->n_bytes;
        make_room(&t->bytes, &to->room, wanted + INPUT_TAIL_BYTES);
        size_t more = c->ended ? 0 : input_read(c->in, t->bytes + t->n_bytes, wanted - t->n_bytes);
        c->ended |= more < wanted - t->n_bytes;
        t->n_bytes += more;
        const unsigned char *newline = memrchr(t->bytes + searched, '\n', t->n_bytes - searched);
        if (c->ended)
            return t->n_bytes;
        if (newline)
            return (size_t)(newline - t->bytes) + 1;
        searched = t->n_bytes;
    }
}

/* Keeps what follows the cut, and the line before it if that overlaps. */
static void keep_rest(text_chunks *c, const text *t, size_t cut) {
    size_t from = cut;
    if (c->overlap && cut > 0) {
        const unsigned char *newline = memrchr(t->bytes, '\n', cut - 1);
        from = newline ? (size_t)(newline - t->bytes) + 1 : 0;
    }
    c->overlap_bytes = cut - from;
    c->rest_bytes = t->n_bytes - from;
    make_room(&c->rest, &c->rest_room, c->rest_bytes);
    if (c->rest_bytes)
        memcpy(c->rest, t->bytes + from, c->rest_bytes);
}

bool text_chunks_next(text_chunks *c, text_chunk *to) {
    text *t = &to->t;
    unsigned char *bytes = t->bytes;
    free(t->values.data);
    free(t->starts);
    *t = (text){.name = c->in->name, .bytes = bytes};
    if (c->ended && c->rest_bytes == c->overlap_bytes)
        return false;
    make_room(&t->bytes, &to->room, c->rest_bytes + INPUT_TAIL_BYTES);
    if (c->rest_bytes)
        memcpy(t->bytes, c->rest, c->rest_bytes);
    t->n_bytes = c->rest_bytes;
    to->overlaps = c->overlap_bytes > 0;
    const size_t overlap = c->overlap_bytes, cut = read_lines(c, to);
    if (cut == overlap)
        return false;
    keep_rest(c, t, cut);
    t->n_bytes = cut;
    memset(t->bytes + cut, 0, INPUT_TAIL_BYTES);
    text_end_last_line(t);
    return true;
}

void text_chunk_free(text_chunk *chunk) { text_free(&chunk->t); }
