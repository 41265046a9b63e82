/* SPDX-License-Identifier: MIT
 *
 * Parts of whole rows. A row ends at a newline outside quotes; rows are gone through one by one only where there are
 * quotes.
 */
#include "row_reader.h"

#include <stdlib.h>
#include <string.h>

#include "apps/support/alloc.h"
#include "apps/support/die.h"
#include "apps/support/table_field.h"

enum { MIN_STEP = 4 << 10, MAX_STEP = 256 << 10 };

/* ---- cost -------------------------------------------------------------------------------------------------------- */

/* Bytes a row: where it starts and its place in the order; for a key of numbers its value, for strings where they are
 * and their rank; and the workspace of the sort that needs most, as scan.h bounds it. */
row_cost row_cost_of(const row_kind *kind) {
    enum { START = 8, INDEX = 8, NUMBER = 8, TIME = 9, STRING = 16 + 4, BY_NUMBERS = 28, BY_STRINGS = 32 };
    const sort_job *j = kind->j;
    row_cost cost = {.a_row = START + INDEX, .a_byte = 1};
    bool any_string = kind->format == FORMAT_TEXT && j->text;
    if (kind->format == FORMAT_TEXT)
        cost.a_row += j->text ? STRING : NUMBER;
    for (size_t k = 0; format_is_table(kind->format) && (k == 0 || k < j->key_count); k++) {
        const key_kind key = j->keys[k].kind;
        cost.a_row += key == KEY_NUMBER ? NUMBER : key == KEY_TIME ? TIME : STRING;
        any_string |= key == KEY_TEXT || key == KEY_NATURAL;
        cost.a_byte += key == KEY_NATURAL ? 1.25 : 0;
        cost.rewrites |= key == KEY_TEXT;
    }
    cost.a_row += (any_string ? BY_STRINGS : BY_NUMBERS) + (j->argsort ? 2 * sizeof(uint64_t) : 0) + j->unique;
    cost.quoted = cost.a_byte + cost.rewrites;
    return cost;
}

size_t row_bytes_cost(const row_cost *cost, const unsigned char *begin, const unsigned char *end) {
    const size_t bytes = (size_t)(end - begin);
    const bool quotes = cost->rewrites && memchr(begin, '"', bytes);
    return (size_t)((quotes ? cost->quoted : cost->a_byte) * (double)bytes) +
           cost->a_row * input_count_bytes(begin, end, '\n');
}

/* ---- where rows end ---------------------------------------------------------------------------------------------- */

const table *row_shape(const row_kind *kind, table *t) {
    *t = (table){.dialect = &kind->j->dialect, .delimiter = kind->j->dialect.delimiter};
    return format_is_table(kind->format) ? t : NULL;
}

/* Returns the end of the row, or of the line of comment, at p; NULL if it is not there. */
static const unsigned char *row_end(const table *t, const unsigned char *p, const unsigned char *end) {
    const bool comment = t->dialect->comment && *p == (unsigned char)t->dialect->comment;
    quote_state state = OUTSIDE;
    for (const unsigned char *from = p;;) {
        const unsigned char *newline = memchr(from, '\n', (size_t)(end - from));
        if (!newline)
            return NULL;
        for (; !comment && (from = memchr(from, '"', (size_t)(newline - from))); from++)
            state = quote_step(t, state, from, p);
        if (state != INSIDE)
            return newline + 1;
        from = newline + 1;
    }
}

const unsigned char *row_last_end(const table *t, const unsigned char *begin, const unsigned char *end) {
    if (!t || !memchr(begin, '"', (size_t)(end - begin))) {
        const unsigned char *newline = memrchr(begin, '\n', (size_t)(end - begin));
        return newline ? newline + 1 : begin;
    }
    while (begin < end) {
        const unsigned char *next = row_end(t, begin, end);
        if (!next)
            break;
        begin = next;
    }
    return begin;
}

/* Empty lines at the end of a table are no rows, but before others they are malformed: they go into the next part. */
static const unsigned char *before_empty_lines(const unsigned char *begin, const unsigned char *end) {
    const unsigned char *p = end;
    for (;;) {
        size_t bytes = p - begin > 1 && p[-2] == '\r' ? 2 : 1;
        if ((size_t)(p - begin) <= bytes)
            return end;
        if (p[-(ptrdiff_t)bytes - 1] != '\n')
            return p;
        p -= bytes;
    }
}

const unsigned char *row_cut(const table *t, const unsigned char *begin, const unsigned char *end) {
    const unsigned char *cut = row_last_end(t, begin, end);
    return cut > begin && t ? before_empty_lines(begin, cut) : cut;
}

const unsigned char *row_first_end(const table *t, const unsigned char *begin, const unsigned char *end) {
    const unsigned char *newline = t ? NULL : memchr(begin, '\n', (size_t)(end - begin));
    const unsigned char *found = t ? row_end(t, begin, end) : newline ? newline + 1 : NULL;
    return found ? found : end;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

typedef struct part {
    unsigned char *bytes;
    size_t n, room, cost, counted; /* the cost is that of bytes before `counted` */
} part;

static void add_cost(const row_reader *r, part *p) {
    p->cost += row_bytes_cost(&r->cost, p->bytes + p->counted, p->bytes + p->n);
    p->counted = p->n;
}

/* Reads until the budget is spent, or the input ends. */
static void read_part(row_reader *r, part *p, size_t step) {
    const size_t most = r->budget + p->n + step;
    add_cost(r, p);
    while (!r->ended && p->cost < r->budget) {
        if (p->room - p->n < step) {
            p->room = p->room > most / 2 ? most : 2 * p->room;
            p->bytes = must_realloc(p->bytes, p->room + INPUT_TAIL_BYTES, 1);
        }
        size_t got = input_read(r->in, p->bytes + p->n, step);
        p->n += got;
        r->ended = got < step;
        add_cost(r, p);
    }
}

/* How much of a part of an input that goes on is whole rows. */
static size_t cut_of(const row_reader *r, const part *p, size_t before) {
    table shape;
    const table *t = row_shape(r->kind, &shape);
    const unsigned char *begin = p->bytes + before, *cut = row_cut(t, begin, p->bytes + p->n);
    if (cut == begin)
        die(EXIT_IO, "%s: line %zu: begins a row that does not fit the memory of -S%s: -S SIZE gives more", r->in->name,
            r->lines + 1, t ? ", or a quote that is not closed" : "");
    return (size_t)(cut - p->bytes);
}

bool row_reader_next(row_reader *r, size_t before, unsigned char **bytes, size_t *n_bytes) {
    if (r->ended && r->rest_bytes == 0)
        return false;
    const size_t part_of_budget = r->budget / 64;
    const size_t step = part_of_budget < MIN_STEP ? MIN_STEP : part_of_budget > MAX_STEP ? MAX_STEP : part_of_budget;
    part p = {.n = before + r->rest_bytes, .counted = before};
    p.room = p.n + (r->usual > 4 * step ? r->usual + step : 4 * step); /* memory that grows is not in huge pages */
    p.bytes = must_alloc(p.room + INPUT_TAIL_BYTES, 1);
    if (r->rest_bytes)
        memcpy(p.bytes + before, r->rest, r->rest_bytes);
    free(r->rest);
    r->rest = NULL;
    r->rest_bytes = 0;
    read_part(r, &p, step);
    if (!r->ended) {
        size_t cut = cut_of(r, &p, before);
        r->rest_bytes = p.n - cut;
        r->rest = memcpy(must_alloc(r->rest_bytes, 1), p.bytes + cut, r->rest_bytes);
        p.n = cut;
    }
    r->usual = p.n - before;
    r->lines += input_count_bytes(p.bytes + before, p.bytes + p.n, '\n');
    *bytes = p.bytes;
    *n_bytes = p.n;
    return p.n > before;
}

void row_reader_close(row_reader *r) { free(r->rest); }
