/* SPDX-License-Identifier: MIT
 *
 * Comments among the rows of a table: whole lines, of which nothing is kept but how many there were and where, so that
 * messages can number the lines of the file.
 */
#include <string.h>

#include "alloc.h"
#include "table.h"
#include "table_field.h"

/* Returns true if any line from `p` on begins with the character; one inside quotes may do so, too. */
static bool any_line_begins_with(const table *t, const unsigned char *p) {
    const unsigned char *end = t->bytes + t->n_bytes;
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
    if (!any_line_begins_with(t, begin))
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
