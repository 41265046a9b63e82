/* SPDX-License-Identifier: MIT
 *
 * Where fields end, 64 bytes at a time. The bytes of a block that are quotes become the bits of a word; the
 * exclusive-or of each bit with all bits before it says which bytes are inside quotes, and what is left of the
 * delimiters and newlines are the ends of fields (G. Langdale, D. Lemire: Parsing Gigabytes of JSON per Second, VLDB
 * Journal 28, 2019). If every row has as many fields as the first, with C columns every C-th end is a newline, and no
 * other is. That is checked, and the place of a field is then read from the ends.
 *
 * Tables with faults, with quotes inside fields between tabs, or of 4 GiB at once are gone through row by row
 * (table.c), which also names what is wrong.
 */
#include <stdlib.h>

#include "alloc.h"
#include "table_chunks.h"
#include "table_field.h"
#include "table_marks.h"

enum { PLACES_AT_ONCE = 8 };
static const uint64_t LAST_BIT = UINT64_C(1) << 63;

/* What a block hands on to the next. */
typedef struct carry {
    uint64_t inside;   /* all ones: it ends inside quotes */
    uint64_t may_open; /* 1: after its last byte a quote may stand */
    uint64_t closed;   /* 1: its last byte is a quote that closes */
    uint64_t returned; /* 1: its last byte is a carriage return after such a quote */
} carry;

static inline uint64_t exclusive_or_of_all_before(uint64_t bits) {
    for (int step = 1; step < MARKS_BYTES; step *= 2)
        bits ^= bits << step;
    return bits;
}

/* The population count, inline: __builtin_popcountll is a call where the target may lack the instruction. */
static inline unsigned count_bits(uint64_t bits) {
    bits -= bits >> 1 & UINT64_C(0x5555555555555555);
    bits = (bits & UINT64_C(0x3333333333333333)) + (bits >> 2 & UINT64_C(0x3333333333333333));
    bits = (bits + (bits >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    return (unsigned)(bits * UINT64_C(0x0101010101010101) >> 56);
}

/* Returns the bytes inside quotes, an opening one included, and updates *c; sets *bad for a quote that neither opens
 * nor closes a field and is not doubled. */
static inline uint64_t inside_quotes(const marks *m, carry *c, bool *bad) {
    uint64_t inside = exclusive_or_of_all_before(m->quotes) ^ c->inside;
    uint64_t opens = m->quotes & inside, closes = m->quotes & ~inside;
    uint64_t stops = m->delimiters | m->newlines | m->quotes;
    uint64_t may_open = stops << 1 | c->may_open, closed = closes << 1 | c->closed;
    uint64_t returned = closed & m->returns, after_return = returned << 1 | c->returned;
    *bad |= ((opens & ~may_open) | (closed & ~(stops | m->returns)) | (after_return & ~m->newlines)) != 0;
    *c = (carry){
        .inside = 0 - (inside >> 63), .may_open = stops >> 63, .closed = closes >> 63, .returned = returned >> 63};
    return inside;
}

/* Writes the places of the bits, PLACES_AT_ONCE a step: blocks seldom have more, and a loop that ended with the last
 * bit would be mispredicted. Returns the end; what is written beyond it means nothing. */
static inline uint32_t *write_places(uint32_t *to, uint64_t bits, uint32_t origin) {
    uint32_t *end = to + count_bits(bits);
    while (to < end)
        for (int k = 0; k < PLACES_AT_ONCE; k++, bits &= bits - 1)
            *to++ = origin + (uint32_t)__builtin_ctzll(bits | LAST_BIT);
    return end;
}

/* Writes the offsets, from `origin` on, of the ends of fields between two places where rows begin; returns how many, 0
 * for a fault. `to` has room for as many as there are bytes, and PLACES_AT_ONCE more. */
static size_t find_stops(const table *t, const unsigned char *origin, const unsigned char *p, const unsigned char *end,
                         uint32_t *to) {
    const uint32_t *first = to;
    carry c = {.may_open = 1};
    bool bad = false;
    for (; p < end && !bad; p += MARKS_BYTES) {
        marks m = marks_of(p, t->delimiter);
        uint64_t all = end - p < MARKS_BYTES ? (UINT64_C(1) << (end - p)) - 1 : ~UINT64_C(0);
        uint64_t stops = (m.delimiters | m.newlines) & all;
        m.quotes &= all;
        if (m.quotes | c.inside | c.closed | c.returned) {
            stops &= ~inside_quotes(&m, &c, &bad);
            bad |= t->delimiter == '\t';
        } else {
            c.may_open = (m.delimiters | m.newlines) >> 63;
        }
        to = write_places(to, stops, (uint32_t)(p - origin));
    }
    return bad || c.inside ? 0 : (size_t)(to - first);
}

/* Returns true if a stop is a newline that should end no row. */
static bool any_inner_newline(const table *t, const unsigned char *origin, const uint32_t *stops, size_t rows) {
    for (size_t row = 0; row < rows; row++, stops += t->columns)
        for (size_t k = 1; k < t->columns; k++)
            if (origin[stops[k]] == '\n')
                return true;
    return false;
}

/* Sets where rows start, counted from t->bytes on; returns false if one does not end with a newline. stops[0] is before
 * the first row. */
static bool find_starts(const table *t, const unsigned char *origin, const uint32_t *stops, size_t rows,
                        uint64_t *starts) {
    const size_t columns = t->columns;
    for (size_t row = 0; row < rows; row++, stops += columns) {
        if (origin[stops[columns]] != '\n')
            return false;
        starts[row] = (uint64_t)(origin - t->bytes) + (uint32_t)(stops[0] + 1);
    }
    return true;
}

static void note_places(const table *t, const uint32_t *stops, size_t row, size_t rows) {
    for (size_t k = 0; k < t->columns; k++)
        for (size_t i = 0; t->places[k] && i < rows; i++)
            t->places[k][row + i] = stops[i * t->columns + k] - stops[i * t->columns];
}

bool table_index_piece(const table *t, const unsigned char *begin, const unsigned char *end, size_t row, size_t rows) {
    const size_t bytes = (size_t)(end - begin);
    uint32_t *stops = bytes < UINT32_MAX - MARKS_BYTES ? try_alloc((bytes + 1 + PLACES_AT_ONCE) * sizeof *stops) : NULL;
    if (!stops)
        return false;
    stops[0] = UINT32_MAX;
    /* newlines outside quotes are as many as rows: if one ends each row, no other is there */
    bool good = find_stops(t, begin, begin, end, stops + 1) == rows * t->columns &&
                find_starts(t, begin, stops, rows, t->starts + row);
    if (good && t->places)
        note_places(t, stops, row, rows);
    free(stops);
    return good;
}

/* There is room for the worst case, of which the pages that are not written cost nothing. */
static void make_stops(table_chunk *chunk, size_t count) {
    if (chunk->stops_room < count) {
        free(chunk->stops);
        chunk->stops = must_alloc(count, sizeof *chunk->stops);
        chunk->stops_room = count;
    }
    chunk->t.stops = chunk->stops;
}

/* Returns false for a fault. */
static bool find_fields(table *t) {
    size_t count = find_stops(t, t->bytes, t->bytes + t->head_bytes, t->bytes + t->n_bytes, t->stops + 1);
    t->stops[0] = (uint32_t)(t->head_bytes - 1);
    t->n = count / t->columns;
    t->starts = must_alloc(t->n + 1, sizeof *t->starts);
    t->starts[t->n] = t->n_bytes;
    return count > 0 && count % t->columns == 0 && !any_inner_newline(t, t->bytes, t->stops, t->n) &&
           find_starts(t, t->bytes, t->stops, t->n, t->starts);
}

void table_find_rows(table_chunk *chunk) {
    table *t = &chunk->t;
    unsigned char *begin = t->bytes + t->head_bytes;
    if (t->dialect->comment) {
        table_strip_comments(t, begin);
        table_drop_empty_lines(t, begin);
    }
    if (t->n_bytes < UINT32_MAX - MARKS_BYTES) {
        make_stops(chunk, t->n_bytes + 1 + PLACES_AT_ONCE);
        if (find_fields(t))
            return;
        free(t->starts);
        t->starts = NULL;
        t->stops = NULL;
    }
    table_index_rows(t, begin, NULL, 0, 1);
}
