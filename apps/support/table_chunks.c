/* SPDX-License-Identifier: MIT
 *
 * Cuts a table into chunks of whole rows. What is read ends somewhere in a row; the last newline outside quotes, which
 * an even number of quotes precede, is where a chunk is cut, and what comes after it begins the next. Quotes in
 * comments are none: where a line begins like a comment, the rows are gone through from the first.
 */
#include "table_chunks.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "table_field.h"

#ifndef TABLE_CHUNK_BYTES /* fuzz_table.c has short ones */
#define TABLE_CHUNK_BYTES (512 << 10)
#endif
enum { CHUNK_BYTES = TABLE_CHUNK_BYTES };

static void make_room(unsigned char **bytes, size_t *room, size_t wanted) {
    if (*room < wanted) {
        *bytes = must_realloc(*bytes, wanted, 1);
        *room = wanted;
    }
}

/* ---- where rows end ---------------------------------------------------------------------------------------------- */

/* Returns the place after the last newline outside quotes, `begin` if there is none; rows begin there. */
static const unsigned char *last_row_end(const unsigned char *begin, const unsigned char *end) {
    bool inside = input_count_bytes(begin, end, '"') % 2;
    for (const unsigned char *p = end; p > begin; p--) {
        if (p[-1] == '"')
            inside = !inside;
        else if (p[-1] == '\n' && !inside)
            return p;
    }
    return begin;
}

/* The same between tabs, where not every quote opens a field or closes it. */
static const unsigned char *last_row_end_tabs(const table *t, const unsigned char *begin, const unsigned char *end) {
    const unsigned char *found = begin;
    quote_state state = OUTSIDE;
    for (const unsigned char *p = begin; p < end; p++) {
        const unsigned char *quote = memchr(p, '"', (size_t)(end - p)), *stop = quote ? quote : end;
        const unsigned char *newline = state != INSIDE ? memrchr(p, '\n', (size_t)(stop - p)) : NULL;
        found = newline ? newline + 1 : found;
        if (!quote)
            break;
        state = quote_step(t, state, quote, begin);
        p = quote;
    }
    return found;
}

static const unsigned char *cut_of(const table *t, const unsigned char *begin) {
    const unsigned char *end = t->bytes + t->n_bytes;
    return t->delimiter == '\t' ? last_row_end_tabs(t, begin, end) : last_row_end(begin, end);
}

/* ---- the first row ----------------------------------------------------------------------------------------------- */

static void read_more(table_chunks *c, table *t, size_t wanted) {
    size_t more = input_read(c->in, t->bytes + t->n_bytes, wanted - t->n_bytes);
    c->ended = more < wanted - t->n_bytes;
    t->n_bytes += more;
}

/* Reads until the first row is complete. */
static void read_until_row(table_chunks *c, table *t) {
    bool complete = false;
    for (size_t wanted = CHUNK_BYTES; !complete && !c->ended; wanted *= 2) {
        make_room(&t->bytes, &c->rest_room, wanted + INPUT_TAIL_BYTES);
        c->rest = t->bytes;
        read_more(c, t, wanted);
        t->head_bytes = input_mark_bytes(c->in, t->bytes, t->n_bytes);
        table_pass_comments(t);
        complete = table_row_end(t, t->bytes + t->head_bytes, t->bytes + t->n_bytes) != NULL;
    }
    memset(t->bytes + t->n_bytes, 0, INPUT_TAIL_BYTES);
}

void table_chunks_open(table_chunks *c, input *in, const dialect *d) {
    table t = {.name = in->name, .dialect = d, .delimiter = d->delimiter, .end_bytes = 1};
    *c = (table_chunks){.in = in};
    read_until_row(c, &t);
    const unsigned char *begin = t.bytes + t.head_bytes;
    if (t.n_bytes > t.head_bytes) {
        const unsigned char *next = table_read_first_row(&t, c->ended);
        if (d->header)
            t.head_bytes = (size_t)(next - t.bytes);
    }
    c->head = t;
    c->head.bytes = must_alloc(t.head_bytes + INPUT_TAIL_BYTES, 1);
    memcpy(c->head.bytes, t.bytes, t.head_bytes);
    memset(c->head.bytes + t.head_bytes, 0, INPUT_TAIL_BYTES);
    c->head.n_bytes = t.head_bytes;
    c->head.has_names = d->header && t.columns;
    c->head.names = c->head.bytes + (begin - t.bytes);
    c->head.names_end = c->head.bytes + t.head_bytes;
    c->rest_bytes = t.n_bytes - t.head_bytes;
    memmove(c->rest, c->rest + t.head_bytes, c->rest_bytes);
}

void table_chunks_close(table_chunks *c) {
    table_free(&c->head);
    free(c->rest);
    c->rest = NULL;
}

/* ---- chunks ------------------------------------------------------------------------------------------------------ */

/* Where the chunk may be cut: the end of its last row, but before empty lines, which are no rows if nothing follows. */
static size_t cut_chunk(const table *t) {
    table without = *t;
    const unsigned char *begin = t->bytes + t->head_bytes;
    if (table_may_have_comments(t, begin))
        return (size_t)(table_comments_cut(t, begin, t->bytes + t->n_bytes) - t->bytes);
    without.n_bytes = (size_t)(cut_of(t, begin) - t->bytes);
    table_drop_empty_lines(&without, begin);
    return without.n_bytes;
}

bool table_chunks_next(table_chunks *c, table_chunk *to) {
    table *t = &to->t;
    unsigned char *bytes = t->bytes;
    free(t->starts);
    free(t->gaps);
    *t = c->head;
    t->bytes = bytes;
    t->stops = NULL;
    t->head_bytes = 1;
    t->n_bytes = 1 + c->rest_bytes;
    size_t wanted = t->n_bytes > CHUNK_BYTES ? t->n_bytes : CHUNK_BYTES, cut = 0;
    make_room(&t->bytes, &to->room, wanted + INPUT_TAIL_BYTES);
    t->bytes[0] = '\n';
    memcpy(t->bytes + 1, c->rest, c->rest_bytes);
    for (;; wanted *= 2) {
        make_room(&t->bytes, &to->room, wanted + INPUT_TAIL_BYTES);
        if (!c->ended)
            read_more(c, t, wanted);
        cut = c->ended ? t->n_bytes : cut_chunk(t);
        if (c->ended || cut > t->head_bytes)
            break;
    }
    c->rest_bytes = t->n_bytes - cut;
    make_room(&c->rest, &c->rest_room, c->rest_bytes);
    memcpy(c->rest, t->bytes + cut, c->rest_bytes);
    memset(t->bytes + cut, 0, INPUT_TAIL_BYTES);
    t->n_bytes = cut;
    if (c->ended && t->n_bytes > 1) {
        table_end_last_row(t);
        table_drop_empty_lines(t, t->bytes + 1);
    }
    return t->n_bytes > 1;
}

size_t table_chunk_lines(const table_chunk *chunk) {
    const table *t = &chunk->t;
    size_t lines = input_count_bytes(t->bytes + 1, t->bytes + t->n_bytes, '\n');
    for (size_t i = 0; i < t->gap_count; i++)
        lines += t->gaps[i].lines;
    return lines;
}

void table_chunk_free(table_chunk *chunk) {
    free(chunk->stops);
    chunk->t.stops = NULL;
    table_free(&chunk->t);
}
