/* SPDX-License-Identifier: MIT
 *
 * Parts of whole rows. A row ends at a newline outside quotes; rows are gone through one by one only where there are
 * quotes.
 */
#include "row_reader.h"

#include <stdatomic.h>
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

size_t row_bytes_cost(const row_cost *cost, const unsigned char *begin, const unsigned char *end) {
    return cost_of(cost, begin, end, input_count_bytes(begin, end, '\n'));
}

/* ---- where rows end ---------------------------------------------------------------------------------------------- */

const table *row_shape(const row_kind *kind, table *t) {
    *t = (table){.dialect = &kind->j->dialect, .delimiter = kind->j->dialect.delimiter};
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
    const unsigned char *cut = t && t->dialect->comment ? table_comments_cut(t, begin, end) : begin;
    if (cut > begin)
        return cut;
    cut = row_last_end(t, begin, end);
    return cut > begin && t ? before_empty_lines(begin, cut) : cut;
}

const unsigned char *row_first_end(const table *t, const unsigned char *begin, const unsigned char *end) {
    const unsigned char *newline = t ? NULL : memchr(begin, '\n', (size_t)(end - begin));
    const unsigned char *found = t ? table_row_end(t, begin, end) : newline ? newline + 1 : NULL;
    return found ? found : end;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

typedef struct part {
    unsigned char *bytes;
    size_t n, room;
    size_t cost, lines, counted; /* the first two are of bytes before `counted` */
} part;

typedef struct costing {
    const row_cost *cost;
    const unsigned char *begin, *end;
    atomic_size_t sum, lines;
} costing;

static void cost_of_piece(void *arg, size_t i) {
    costing *a = arg;
    const unsigned char *p = a->begin + i * MAX_STEP;
    const unsigned char *end = a->end - p > MAX_STEP ? p + MAX_STEP : a->end;
    const size_t lines = input_count_bytes(p, end, '\n');
    atomic_fetch_add_explicit(&a->lines, lines, memory_order_relaxed);
    atomic_fetch_add_explicit(&a->sum, cost_of(a->cost, p, end, lines), memory_order_relaxed);
}

static void add_cost(const row_reader *r, part *p) {
    const size_t bytes = p->n - p->counted;
    costing a = {.cost = &r->cost, .begin = p->bytes + p->counted, .end = p->bytes + p->n};
    atomic_init(&a.sum, p->cost);
    atomic_init(&a.lines, p->lines);
    parallel_for(bytes < ALONE_BYTES ? 1 : r->kind->j->threads, bytes / MAX_STEP + (bytes % MAX_STEP != 0),
                 cost_of_piece, &a); /* a thread takes as long to start as it counts 1 MiB */
    p->cost = atomic_load_explicit(&a.sum, memory_order_relaxed);
    p->lines = atomic_load_explicit(&a.lines, memory_order_relaxed);
    p->counted = p->n;
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
    read_part(r, &p, step);
    if (!r->ended) {
        size_t cut = cut_of(r, &p, before);
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
