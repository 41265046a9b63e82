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
#include "apps/support/parallel.h"
#include "apps/support/table_field.h"

enum { MIN_STEP = 4 << 10, MAX_STEP = 256 << 10, MAX_READ = 64 << 20, FEW_BYTES = 8 << 20, ALONE_BYTES = 4 << 20 };

/* ---- cost -------------------------------------------------------------------------------------------------------- */

/* Bytes a row: where it starts and its place in the order; for a key of numbers its value, for strings where they are
 * and their rank, and where the field of either begins; and the workspace of the sort that needs most, as scan.h bounds
 * it. */
row_cost row_cost_of(const row_kind *kind) {
    enum { START = 8, INDEX = 8, NUMBER = 8, TIME = 9, STRING = 16 + 4, PLACE = 4, BY_NUMBERS = 28, BY_STRINGS = 32 };
    const sort_job *j = kind->j;
    row_cost cost = {.a_row = START + INDEX, .a_byte = 1};
    bool any_string = kind->format == FORMAT_TEXT && j->text;
    if (kind->format == FORMAT_TEXT)
        cost.a_row += j->text ? STRING : NUMBER;
    for (size_t k = 0; format_is_table(kind->format) && (k == 0 || k < j->key_count); k++) {
        const key_kind key = j->keys[k].kind;
        cost.a_row += key == KEY_NUMBER ? NUMBER + PLACE : key == KEY_TIME ? TIME + PLACE : STRING + PLACE;
        any_string |= key == KEY_TEXT || key == KEY_NATURAL;
        cost.a_byte += key == KEY_NATURAL ? 1.25 : 0;
        cost.rewrites |= key == KEY_TEXT;
    }
    cost.a_row += (any_string ? BY_STRINGS : BY_NUMBERS) + (j->argsort ? 2 * sizeof(uint64_t) : 0) + j->unique;
    cost.quoted = cost.a_byte + cost.rewrites;
    return cost;
}

static size_t cost_of(const row_cost *cost, const unsigned char *begin, const unsigned char *end, size_t lines) {
    const size_t bytes = (size_t)(end - begin);
    const bool quotes = cost->rewrites && memchr(begin, '"', bytes);
    return (size_t)((quotes ? cost->quoted : cost->a_byte) * (double)bytes) + cost->a_row * lines;
}

/* ---- where rows end ---------------------------------------------------------------------------------------------- */

const table *row_shape(const row_kind *kind, table *t) {
    *t = (table){.dialect = &kind->j->dialect, .delimiter = kind->j->dialect.delimiter, .columns = kind->columns};
    return format_is_table(kind->format) ? t : NULL;
}

const unsigned char *row_last_end(const table *t, const unsigned char *begin, const unsigned char *end) {
    if (!t || !memchr(begin, '"', (size_t)(end - begin))) {
        const unsigned char *newline = memrchr(begin, '\n', (size_t)(end - begin));
        return newline ? newline + 1 : begin;
    }
    while (begin < end) {
        const unsigned char *next = table_row_end(t, begin, end);
        if (!next)
            break;
        begin = next;
    }
    return begin;
}

/* Empty lines at the end of a table are no rows, but before others they are malformed: they go into the next part. Of
 * one column, which may not be known yet, they are rows. */
static const unsigned char *before_empty_lines(const table *t, const unsigned char *begin, const unsigned char *end) {
    const unsigned char *p = end;
    for (;;) {
        size_t bytes = p - begin > 1 && p[-2] == '\r' ? 2 : 1;
        if ((size_t)(p - begin) <= bytes)
            return t->columns > 1 ? begin : end;
        if (p[-(ptrdiff_t)bytes - 1] != '\n')
            return p;
        p -= bytes;
    }
}

const unsigned char *row_cut(const table *t, const unsigned char *begin, const unsigned char *end) {
    const unsigned char *cut;
    if (t && t->dialect->comment) {
        cut = table_comments_cut(t, begin, end);
        if (cut > begin || t->columns)
            return cut;
    }
    cut = row_last_end(t, begin, end);
    return cut > begin && t && t->columns != 1 ? before_empty_lines(t, begin, cut) : cut;
}

const unsigned char *row_first_end(const table *t, const unsigned char *begin, const unsigned char *end) {
    const unsigned char *newline = t ? NULL : memchr(begin, '\n', (size_t)(end - begin));
    const unsigned char *found = t ? table_row_end(t, begin, end) : newline ? newline + 1 : NULL;
    return found ? found : end;
}

/* Between rows without quotes: half of them, and half of these, until they fit. */
static size_t plain_bytes_within(const row_cost *cost, const unsigned char *begin, const unsigned char *end,
                                 size_t memory) {
    const unsigned char *p = row_last_end(NULL, begin, end);
    while ((size_t)(p - begin) > MIN_STEP && cost_of(cost, begin, p, input_count_bytes(begin, p, '\n')) > memory) {
        const unsigned char *half = row_last_end(NULL, begin, begin + (p - begin) / 2);
        if (half == begin)
            break;
        p = half;
    }
    return (size_t)(p - begin);
}

/* With quotes the rows are gone through one by one, which counts them, too. */
size_t row_bytes_within(const row_cost *cost, const table *t, const unsigned char *begin, const unsigned char *end,
                        size_t memory) {
    const unsigned char *p = begin;
    if (!t || !memchr(begin, '"', (size_t)(end - begin)))
        return plain_bytes_within(cost, begin, end, memory);
    for (double left = (double)memory; p < end;) {
        const unsigned char *next = table_row_end(t, p, end);
        left -= next ? cost->quoted * (double)(next - p) + (double)cost->a_row : 0;
        if (!next || (left < 0 && p > begin))
            break;
        p = next;
    }
    return (size_t)(p - begin);
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

typedef struct part {
    unsigned char *bytes;
    size_t n, room;
    size_t cost, lines, counted; /* the first two are of bytes before `counted` */
    unsigned inside;             /* 1: that is inside quotes */
} part;

/* Newlines of a piece, of those that an even number of quotes in it precedes, and of the others; and the number of its
 * quotes, modulo 2. */
typedef struct piece {
    size_t lines[2];
    unsigned quotes;
} piece;

typedef struct costing {
    const unsigned char *begin, *end;
    bool quotes; /* they are looked for */
    piece pieces[MAX_READ / MAX_STEP];
} costing;

static const unsigned char *piece_end(const costing *a, size_t i) {
    const unsigned char *begin = a->begin + i * MAX_STEP;
    return a->end - begin > MAX_STEP ? begin + MAX_STEP : a->end;
}

static void count_piece(void *arg, size_t i) {
    costing *a = arg;
    const unsigned char *p = a->begin + i * MAX_STEP, *end = piece_end(a, i);
    piece own = {.quotes = 0};
    for (const unsigned char *quote; p < end; p = quote + 1) {
        quote = a->quotes ? memchr(p, '"', (size_t)(end - p)) : NULL;
        quote = quote ? quote : end;
        own.lines[own.quotes] += input_count_bytes(p, quote, '\n');
        own.quotes ^= quote < end;
    }
    a->pieces[i] = own;
}

/* Of MAX_READ bytes at most. Where each quote opens a field, closes it or is doubled, a newline ends a row if an even
 * number of them precedes it. Elsewhere each newline is taken for one. */
static void add_cost_of(const row_reader *r, part *p, size_t bytes) {
    const dialect *d = &r->kind->j->dialect;
    const bool parity = format_is_table(r->kind->format) && d->delimiter != '\t' && !d->comment;
    const unsigned char *begin = p->bytes + p->counted;
    costing a = {.begin = begin, .end = begin + bytes, .quotes = parity};
    const size_t pieces = bytes / MAX_STEP + (bytes % MAX_STEP != 0);
    /* a thread takes as long to start as it counts 1 MiB */
    parallel_for(bytes < ALONE_BYTES ? 1 : r->kind->j->threads, pieces, count_piece, &a);
    for (size_t i = 0; i < pieces; i++) {
        const piece *own = &a.pieces[i];
        const size_t rows = own->lines[p->inside] + (parity ? 0 : own->lines[!p->inside]);
        p->cost += cost_of(&r->cost, begin + i * MAX_STEP, piece_end(&a, i), rows);
        p->lines += own->lines[0] + own->lines[1];
        p->inside ^= own->quotes;
    }
    p->counted += bytes;
}

static void add_cost(const row_reader *r, part *p) {
    while (p->counted < p->n)
        add_cost_of(r, p, p->n - p->counted < MAX_READ ? p->n - p->counted : MAX_READ);
}

/* Makes room for at least a step. Of a file, what has been read says how much the whole part will have, and that is
 * taken at once: memory that grows is not in huge pages. */
static void grow(const row_reader *r, part *p, size_t step) {
    const input_extent *extent = &r->in->extent;
    const size_t most = p->n + (r->budget - p->cost) + step;
    double room = 2 * (double)p->room;
    if (extent->sized && p->cost > 0) {
        const double left = (double)(extent->size - r->in->taken) + (double)step;
        const double expected = 1.0625 * (double)p->n / (double)p->cost * (double)(r->budget - p->cost);
        room = (double)p->n + (left < expected ? left : expected);
    }
    const size_t least = p->n + step;
    const size_t wanted = room > (double)most ? most : room < (double)least ? least : (size_t)room;
    if (p->room < FEW_BYTES) {
        unsigned char *bytes = must_alloc(wanted + INPUT_TAIL_BYTES, 1);
        memcpy(bytes, p->bytes, p->n);
        free(p->bytes);
        p->bytes = bytes;
    } else {
        p->bytes = must_realloc(p->bytes, wanted + INPUT_TAIL_BYTES, 1);
    }
    p->room = wanted;
}

/* Reads until the budget is spent, or the input ends: as much at once as fits the budget even if all rows are short. */
static void read_part(row_reader *r, part *p, size_t step) {
    const double max_a_byte = (double)r->cost.a_row + r->cost.quoted;
    add_cost(r, p);
    while (!r->ended && p->cost < r->budget) {
        if (p->room - p->n < step)
            grow(r, p, step);
        const double fits = (double)(r->budget - p->cost) / max_a_byte;
        size_t want = fits < (double)step ? step : fits > (double)MAX_READ ? MAX_READ : (size_t)fits;
        want = want < p->room - p->n ? want : p->room - p->n;
        size_t got = input_read(r->in, p->bytes + p->n, want);
        p->n += got;
        r->ended = got < want;
        add_cost(r, p);
    }
}

/* A part without rows begins with an empty line, malformed if a row ever follows: of it and the empty lines and
 * comments behind it only that line stays. Returns false if the part has no such lines. */
static bool leave_first_line(const table *t, part *p, size_t before) {
    unsigned char *begin = p->bytes + before, *end = p->bytes + p->n;
    const size_t from = (size_t)(row_first_end(t, begin, end) - begin),
                 to = (size_t)(row_last_end(t, begin, end) - begin);
    if (to <= from)
        return false;
    memmove(begin + from, begin + to, p->n - before - to);
    p->n -= to - from;
    p->cost = p->lines = p->inside = 0;
    p->counted = before;
    return true;
}

/* How much of a part of an input that goes on is whole rows; more is read until there are some, or the input ends. */
static size_t cut_of(row_reader *r, part *p, size_t before, size_t step) {
    table shape;
    const table *t = row_shape(r->kind, &shape);
    for (read_part(r, p, step); !r->ended; read_part(r, p, step)) {
        const unsigned char *begin = p->bytes + before, *cut = row_cut(t, begin, p->bytes + p->n);
        if (cut > begin)
            return (size_t)(cut - p->bytes);
        if (!leave_first_line(t, p, before))
            die(EXIT_IO, "%s: line %zu: begins a row that does not fit the memory of -S%s: -S SIZE gives more",
                r->in->name, r->lines + 1, t ? ", or a quote that is not closed" : "");
    }
    return p->n;
}

/* For some `room` bytes; memory that grows is not in huge pages. */
static void take_memory(row_reader *r, part *p, size_t room) {
    if (r->spare_room < room) {
        free(r->spare);
        r->spare_room = room + room / 16;
        r->spare = must_alloc(r->spare_room + INPUT_TAIL_BYTES, 1);
    }
    p->bytes = r->spare;
    p->room = r->spare_room;
    r->spare = NULL;
    r->spare_room = 0;
}

bool row_reader_next(row_reader *r, size_t before, unsigned char **bytes, size_t *n_bytes) {
    if (r->ended && r->rest_bytes == 0)
        return false;
    const size_t part_of_budget = r->budget / 64;
    const size_t step = part_of_budget < MIN_STEP ? MIN_STEP : part_of_budget > MAX_STEP ? MAX_STEP : part_of_budget;
    part p = {.n = before + r->rest_bytes, .counted = before};
    take_memory(r, &p, p.n + (r->usual > 4 * step ? r->usual : 4 * step));
    if (r->rest_bytes)
        memcpy(p.bytes + before, r->rest, r->rest_bytes);
    free(r->rest);
    r->rest = NULL;
    r->rest_bytes = 0;
    const size_t cut = cut_of(r, &p, before, step);
    if (!r->ended) {
        r->rest_bytes = p.n - cut;
        r->rest = memcpy(must_alloc(r->rest_bytes, 1), p.bytes + cut, r->rest_bytes);
        p.n = cut;
        p.lines -= input_count_bytes(r->rest, r->rest + r->rest_bytes, '\n');
    }
    r->usual = p.n - before;
    r->room = p.room;
    r->lines += p.lines;
    if (p.n == before) {
        free(p.bytes);
        return false;
    }
    *bytes = p.bytes;
    *n_bytes = p.n;
    return true;
}

void row_reader_reuse(row_reader *r, unsigned char *bytes, size_t room) {
    free(r->spare);
    r->spare = bytes;
    r->spare_room = room;
}

void row_reader_close(row_reader *r) {
    free(r->rest);
    free(r->spare);
}
