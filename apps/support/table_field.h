/* SPDX-License-Identifier: MIT
 *
 * One field of a table (table.h). For table.c, which finds the rows, and those that read columns.
 */
#ifndef APPS_SUPPORT_TABLE_FIELD_H
#define APPS_SUPPORT_TABLE_FIELD_H

#ifdef __SSE2__
#include <emmintrin.h>
#endif
#include <stdbool.h>
#include <string.h>

#include "table.h"
#include "table_marks.h"

typedef enum row_fault { ROW_OK, ROW_OPEN_QUOTE, ROW_QUOTE_INSIDE, ROW_AFTER_QUOTE, ROW_RAGGED } row_fault;

typedef struct field {
    const unsigned char *begin, *end; /* without its quotes */
    const unsigned char *next;        /* the delimiter or newline after it */
    row_fault fault;
} field;

static inline field quoted_field(const unsigned char *p, const unsigned char *end, unsigned char delimiter) {
    field f = {.begin = p + 1};
    for (p++;; p += 2) {
        p = memchr(p, '"', (size_t)(end - p));
        if (!p) {
            f.fault = ROW_OPEN_QUOTE;
            return f;
        }
        if (p[1] != '"')
            break;
    }
    f.end = p;
    f.next = p[1] == '\r' && p[2] == '\n' ? p + 2 : p + 1;
    if (*f.next != delimiter && *f.next != '\n')
        f.fault = ROW_AFTER_QUOTE;
    return f;
}

/* The first delimiter, newline or quote from p on. Most fields are short: with sixteen bytes at a time the branch that
 * ends the search is foreseeable. Reads at most 15 bytes beyond the newline. */
static inline const unsigned char *field_stop(const unsigned char *p, unsigned char delimiter) {
#ifdef __SSE2__
    const __m128i delimiters = _mm_set1_epi8((char)delimiter);
    const __m128i newlines = _mm_set1_epi8('\n'), quotes = _mm_set1_epi8('"');
    for (;; p += sizeof(__m128i)) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)p);
        __m128i stops = _mm_or_si128(_mm_cmpeq_epi8(bytes, delimiters), _mm_cmpeq_epi8(bytes, newlines));
        unsigned mask = (unsigned)_mm_movemask_epi8(_mm_or_si128(stops, _mm_cmpeq_epi8(bytes, quotes)));
        if (mask)
            return p + __builtin_ctz(mask);
    }
#else
    while (*p != delimiter && *p != '\n' && *p != '"')
        p++;
    return p;
#endif
}

/* The field that begins at p. Every row ends with a newline, and zero bytes follow the last. */
static inline field read_field(const unsigned char *p, const unsigned char *end, unsigned char delimiter) {
    if (*p == '"')
        return quoted_field(p, end, delimiter);
    field f = {.begin = p};
    p = field_stop(p, delimiter);
    while (*p == '"' && delimiter == '\t')
        p = field_stop(p + 1, delimiter);
    f.next = p;
    f.end = *p == '\n' && p > f.begin && p[-1] == '\r' ? p - 1 : p;
    if (*p == '"')
        f.fault = ROW_QUOTE_INSIDE;
    return f;
}

/* Goes over fields, at most *index, that end within 64 bytes and before any quote; counts *index down by them. */
static inline const unsigned char *pass_fields(const table *t, const unsigned char *p, size_t *index) {
    if (*index == 0)
        return p;
    marks m = marks_of(p, t->delimiter);
    uint64_t stops = m.delimiters & (m.quotes ? (m.quotes & -m.quotes) - 1 : ~UINT64_C(0));
    int at = -1;
    for (; *index > 0 && stops; --*index, stops &= stops - 1)
        at = __builtin_ctzll(stops);
    return p + at + 1;
}

/* The field between two stops, in a row without fault. */
static inline field field_between(const table *t, uint32_t before, uint32_t stop) {
    const unsigned char *begin = t->bytes + (uint32_t)(before + 1), *next = t->bytes + stop;
    const unsigned char *end = *next == '\n' && next > begin && next[-1] == '\r' ? next - 1 : next;
    bool quoted = *begin == '"';
    return (field){.begin = begin + quoted, .end = end - quoted, .next = next};
}

/* Field `index` of a row that table_read or table_find_rows has gone through. */
static inline field table_field_of(const table *t, size_t row, size_t index) {
    if (t->stops) {
        const uint32_t *stop = t->stops + row * t->columns + index;
        return field_between(t, stop[0], stop[1]);
    }
    const unsigned char *p = t->bytes + t->starts[row], *end = t->bytes + t->starts[row + 1];
    if (t->places && t->places[index] && t->places[index][row] != (uint32_t)TABLE_NOWHERE)
        return read_field(p + t->places[index][row], end, (unsigned char)t->delimiter);
    p = pass_fields(t, p, &index);
    field f = read_field(p, end, (unsigned char)t->delimiter);
    while (index-- > 0)
        f = read_field(f.next + 1, end, (unsigned char)t->delimiter);
    return f;
}

/* For fields without fault. */
static inline bool field_is_quoted(const field *f) { return *f->end == '"'; }

/* Empty, or a word of --missing, and without quotes. For numbers blanks alone, and empty quotes, are missing too
 * (number.h). */
static inline bool field_is_missing(const table *t, const field *f) {
    return f->begin == f->end ? !field_is_quoted(f)
                              : t->dialect->missing && !field_is_quoted(f) &&
                                    dialect_is_missing_word(t->dialect, f->begin, (size_t)(f->end - f->begin));
}

/* Lines of comments that stood at this offset of t->bytes. */
typedef struct table_gap {
    size_t at, lines;
} table_gap;

/* The number from 1 of the line that `place` is in. */
static inline size_t table_line_at(const table *t, const unsigned char *place) {
    size_t line = t->lines_before + 1;
    for (const unsigned char *p = t->bytes; (p = memchr(p, '\n', (size_t)(place - p))) != NULL; p++)
        line++;
    for (size_t i = 0; i < t->gap_count && t->gaps[i].at <= (size_t)(place - t->bytes); i++)
        line += t->gaps[i].lines;
    return line;
}

/* ---- quotes ------------------------------------------------------------------------------------------------------ */

/* A place in a table is inside quotes or not. CLOSED: the last quote closed a field; one right after it is the second
 * of a doubled one. */
typedef enum quote_state { OUTSIDE, INSIDE, CLOSED, QUOTE_STATES } quote_state;

/* The state after the quote at p. Between tabs a quote opens only where a field begins; anywhere else, in a table
 * without faults, each quote that is not inside opens. `begin`: where the first row does. */
static inline quote_state quote_step(const table *t, quote_state state, const unsigned char *p,
                                     const unsigned char *begin) {
    if (state == INSIDE)
        return CLOSED;
    bool doubled = state == CLOSED && p != begin && p[-1] == '"';
    return t->delimiter != '\t' || doubled || p == begin || p[-1] == '\t' || p[-1] == '\n' ? INSIDE : OUTSIDE;
}

/* Finds the rows of a table whose columns are known, in t->bytes from t->head_bytes on, which begin with the first row
 * at `begin`: sets t->n, t->starts, and t->places of some columns. Exit 2 as for table_read. */
void table_index_rows(table *t, const unsigned char *begin, const size_t *columns, size_t count, unsigned threads);

/* Sets the starts of the rows from `begin` to `end`, two places where rows begin, and the places of their fields that
 * are to be noted; the first is row `row`. Returns false if they are not so many, have another number of fields than
 * t->columns, or are not for this function to judge. In table_index.c. */
bool table_index_piece(const table *t, const unsigned char *begin, const unsigned char *end, size_t row, size_t rows);

/* Lets comments before the first row stay there: adds them to t->head_bytes. */
void table_pass_comments(table *t);

/* Sets what the first row says, and if the bytes are all there are ends the last one. Returns the end of the first row.
 */
const unsigned char *table_read_first_row(table *t, bool all);

/* Ends the last row, if no newline does, with a line end like the first row's, over zero bytes that follow it. */
void table_end_last_row(table *t);

/* Leaves out lines at the end, from first_end on, that are empty: they are no rows, unless a row may be empty. */
void table_drop_empty_lines(table *t, const unsigned char *first_end);

/* Walks the row at p: sets *fields to its number of fields and *next to the row after it or to the fault. */
row_fault table_walk_row(const table *t, const unsigned char *p, const unsigned char **next, size_t *fields);

/* Comments among the rows from `begin` on, a place where a row begins. In table_comment.c. */

/* Returns true if there may be any: a line begins like one. */
bool table_may_have_comments(const table *t, const unsigned char *begin);

/* Takes them out, and records where they were. */
void table_strip_comments(table *t, const unsigned char *begin);

/* Returns the end of the last row or comment before `end`, but without lines from the first empty one on that no row
 * follows: if none ever does they are no rows. Returns `begin` if there is none. */
const unsigned char *table_comments_cut(const table *t, const unsigned char *begin, const unsigned char *end);

/* Returns the end of the row, or of the line of comment, at p; NULL if it is not before `end`. */
const unsigned char *table_row_end(const table *t, const unsigned char *p, const unsigned char *end);

#endif
