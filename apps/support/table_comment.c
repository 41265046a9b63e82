/* SPDX-License-Identifier: MIT
 *
 * Comments among the rows of a table: whole lines, of which nothing is kept but how many there were and where, so that
 * messages can number the lines of the file.
 */
#include <string.h>

#include "alloc.h"
#include "table.h"
#include "table_field.h"

/* A line inside quotes may begin so, too. */
bool table_may_have_comments(const table *t, const unsigned char *begin) {
    const unsigned char *p = begin, *end = t->bytes + t->n_bytes;
    if (!t->dialect->comment)
        return false;
    for (; (p = memchr(p, t->dialect->comment, (size_t)(end - p))) != NULL; p++)
        if (p[-1] == '\n')
            return true;
    return false;
}

/* Returns the end of the comments that stand at p. */
static const unsigned char *comments_end(const table *t, const unsigned char *p, size_t *lines) {
    const unsigned char *end = t->bytes + t->n_bytes;
    for (*lines = 0; p < end && *p == (unsigned char)t->dialect->comment; ++*lines)
        p = (const unsigned char *)memchr(p, '\n', (size_t)(end - p)) + 1;
    return p;
}

static void add_gap(table *t, size_t at, size_t lines) {
    if ((t->gap_count & (t->gap_count - 1)) == 0) /* 0, 1, 2, 4, ...: the room doubles */
        t->gaps = must_realloc(t->gaps, 2 * t->gap_count + 1, sizeof *t->gaps);
    t->gaps[t->gap_count++] = (table_gap){at, lines};
}

/* Rows move towards the front, each run of rows between two comments at once. A fault ends the work: the rows are then
 * refused for it. */
void table_strip_comments(table *t, const unsigned char *begin) {
    const unsigned char *end = t->bytes + t->n_bytes, *from = begin, *p = begin;
    unsigned char *to = t->bytes + (begin - t->bytes);
    row_fault fault = ROW_OK;
    if (!table_may_have_comments(t, begin))
        return;
    while (p < end && fault == ROW_OK) {
        size_t lines, fields;
        const unsigned char *next = comments_end(t, p, &lines);
        if (lines > 0) {
            memmove(to, from, (size_t)(p - from));
            to += p - from;
            from = p = next;
            add_gap(t, (size_t)(to - t->bytes), lines);
        } else {
            fault = table_walk_row(t, p, &next, &fields);
            p = fault == ROW_OK ? next : end;
        }
    }
    memmove(to, from, (size_t)(end - from));
    to += end - from;
    memset(to, 0, (size_t)(end - to));
    t->n_bytes = (size_t)(to - t->bytes);
}

/* Inside quotes only the next quote counts, outside them what comes first, a newline or a quote: so bytes between are
 * looked at twice at most. */
const unsigned char *table_row_end(const table *t, const unsigned char *p, const unsigned char *end) {
    const bool comment = t->dialect->comment && p < end && *p == (unsigned char)t->dialect->comment;
    const unsigned char *from = p, *newline = memchr(p, '\n', (size_t)(end - p)), *quote;
    quote_state state = OUTSIDE;
    while (newline && !comment) {
        const unsigned char *stop = state == INSIDE ? end : newline;
        quote = memchr(from, '"', (size_t)(stop - from));
        if (!quote)
            break;
        state = quote_step(t, state, quote, p);
        from = quote + 1;
        if (newline < from)
            newline = memchr(from, '\n', (size_t)(end - from));
    }
    return newline && state != INSIDE ? newline + 1 : NULL;
}

const unsigned char *table_comments_cut(const table *t, const unsigned char *begin, const unsigned char *end) {
    const unsigned char *p = begin, *empty = NULL; /* the first of empty lines and comments that no row follows */
    for (const unsigned char *next; (next = table_row_end(t, p, end)) != NULL; p = next) {
        if (*p == (unsigned char)t->dialect->comment)
            continue;
        if (t->columns == 1 || next - p > 2 || (next - p == 2 && *p != '\r'))
            empty = NULL;
        else if (!empty)
            empty = p;
    }
    return empty ? empty : p;
}
