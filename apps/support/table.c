/* SPDX-License-Identifier: MIT
 *
 * Finds the rows of a table, in parallel. A newline ends a row only outside quotes, and a place is inside quotes if an
 * odd number of quotes precede it, not counting those that are characters (between tabs). The input is cut into pieces:
 *
 *     count   each piece counts its newlines outside quotes, once for a piece that begins outside quotes and once for
 *             one that begins inside, and says how it then ends
 *     scan    over the pieces: how the piece before ends says how each begins, and the newlines before it say which row
 *             is its first
 *     walk    each piece finds where its rows start (table_index.c); if anything is wrong, it goes through them field
 *             by field and refuses what is malformed
 *
 * In a table with faults the counts are right up to the first fault, so the first piece that reports one reports the
 * first one.
 */
#include "table.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "die.h"
#include "table_field.h"

#ifndef TABLE_PIECE_BYTES /* fuzz_table.c has short ones */
#define TABLE_PIECE_BYTES (1 << 20)
#endif
enum { PIECE_BYTES = TABLE_PIECE_BYTES };

typedef struct piece {
    const unsigned char *begin, *end; /* the bytes in which it looks for newlines */
    size_t newlines[QUOTE_STATES];    /* outside quotes, by the state in which the piece begins */
    quote_state ends[QUOTE_STATES];   /* the state in which it then ends */
    quote_state state;                /* in which it begins */
    size_t row, rows;                 /* its first row, and the number of rows that begin in it */
    row_fault fault;
    const unsigned char *where; /* the row or quote at fault */
    size_t fields;              /* of a ragged row */
} piece;

typedef struct job {
    table *t;
    const unsigned char *begin; /* where the first row does, also of a header */
    piece *pieces;
    size_t piece_count;
} job;

/* ---- rows -------------------------------------------------------------------------------------------------------- */

row_fault table_walk_row(const table *t, const unsigned char *p, const unsigned char **next, size_t *fields) {
    const unsigned char *end = t->bytes + t->n_bytes;
    unsigned char delimiter = (unsigned char)t->delimiter;
    for (*fields = 1;; ++*fields) {
        field f = read_field(p, end, delimiter);
        if (f.fault != ROW_OK) {
            *next = f.fault == ROW_QUOTE_INSIDE ? f.next : p;
            return f.fault;
        }
        p = f.next + 1;
        if (*f.next == '\n')
            break;
    }
    *next = p;
    return ROW_OK;
}

/* ---- faults ------------------------------------------------------------------------------------------------------ */

__attribute__((noreturn)) static void refuse_row(const table *t, row_fault fault, const unsigned char *where,
                                                 size_t fields) {
    size_t line = table_line_at(t, where);
    switch (fault) {
    case ROW_OK:
    case ROW_OPEN_QUOTE: die(EXIT_USAGE, "%s: line %zu: a quote is opened here and never closed", t->name, line);
    case ROW_QUOTE_INSIDE:
        die(EXIT_USAGE, "%s: line %zu: a quote inside a field: put the field in quotes and double the quote", t->name,
            line);
    case ROW_AFTER_QUOTE: die(EXIT_USAGE, "%s: line %zu: text after the closing quote of a field", t->name, line);
    case ROW_RAGGED: break;
    }
    die(EXIT_USAGE, "%s: line %zu: %zu field%s, the first row has %zu%s", t->name, line, fields, fields == 1 ? "" : "s",
        t->columns, table_advise_delimiter(t));
}

/* ---- index ------------------------------------------------------------------------------------------------------- */

/* A row begins at the start of the data or after a newline outside quotes. A piece looks for newlines from the byte
 * before it to its last byte but one, so that the row after each newline begins in the piece. */
static void count_parity(piece *own) {
    const unsigned char *p = own->begin;
    size_t newlines[2] = {0, 0};
    bool odd = false;
    while (p < own->end) {
        const unsigned char *quote = memchr(p, '"', (size_t)(own->end - p));
        newlines[odd] += input_count_bytes(p, quote ? quote : own->end, '\n');
        if (!quote)
            break;
        odd = !odd;
        p = quote + 1;
    }
    own->newlines[OUTSIDE] = own->newlines[CLOSED] = newlines[0];
    own->newlines[INSIDE] = newlines[1];
    own->ends[OUTSIDE] = own->ends[CLOSED] = odd ? INSIDE : OUTSIDE;
    own->ends[INSIDE] = odd ? OUTSIDE : INSIDE;
}

/* The same where not every quote opens a field or closes it. */
static void count_states(const job *j, piece *own) {
    const unsigned char *p = own->begin;
    quote_state state[QUOTE_STATES] = {OUTSIDE, INSIDE, CLOSED};
    size_t newlines[QUOTE_STATES] = {0};
    while (p < own->end) {
        const unsigned char *quote = memchr(p, '"', (size_t)(own->end - p));
        size_t before = input_count_bytes(p, quote ? quote : own->end, '\n');
        for (int k = 0; k < QUOTE_STATES; k++) {
            newlines[k] += state[k] != INSIDE ? before : 0;
            state[k] = quote ? quote_step(j->t, state[k], quote, j->begin) : state[k];
        }
        if (!quote)
            break;
        p = quote + 1;
    }
    memcpy(own->newlines, newlines, sizeof newlines);
    memcpy(own->ends, state, sizeof state);
}

static void count_piece(void *arg, size_t i) {
    job *j = arg;
    piece *own = &j->pieces[i];
    if (j->t->delimiter == '\t')
        count_states(j, own);
    else
        count_parity(own);
}

static const unsigned char *first_row(const job *j, const piece *own) {
    quote_state state = own->state;
    for (const unsigned char *p = own->begin; p < own->end; p++) {
        if (*p == '"')
            state = quote_step(j->t, state, p, j->begin);
        else if (*p == '\n' && state != INSIDE)
            return p + 1;
    }
    return own->end;
}

/* Where the rows that begin in piece i end. */
static const unsigned char *rows_end(const job *j, size_t i) {
    while (++i < j->piece_count)
        if (j->pieces[i].rows > 0)
            return first_row(j, &j->pieces[i]);
    return j->t->bytes + j->t->n_bytes;
}

static void walk_piece(void *arg, size_t i) {
    job *j = arg;
    piece *own = &j->pieces[i];
    const table *t = j->t;
    if (own->rows == 0)
        return;
    const unsigned char *p = i == 0 ? own->begin : first_row(j, own);
    if (table_index_piece(t, p, rows_end(j, i), own->row, own->rows))
        return;
    for (size_t k = 0; t->places && k < t->columns; k++)
        if (t->places[k])
            memset(t->places[k] + own->row, TABLE_NOWHERE, own->rows * sizeof **t->places);
    for (size_t k = 0; k < own->rows; k++) {
        const unsigned char *next = p;
        size_t fields = 0;
        row_fault fault = table_walk_row(t, p, &next, &fields);
        if (fault == ROW_OK && fields != t->columns)
            fault = ROW_RAGGED;
        if (fault != ROW_OK) {
            own->fault = fault;
            own->where = fault == ROW_RAGGED ? p : next;
            own->fields = fields;
            return;
        }
        t->starts[own->row + k] = (uint64_t)(p - t->bytes);
        p = next;
    }
}

static void cut(job *j, table *t, const unsigned char *begin) {
    const unsigned char *data = t->bytes + t->head_bytes;
    size_t body = t->n_bytes - t->head_bytes;
    j->t = t;
    j->begin = begin;
    j->piece_count = body / PIECE_BYTES + (body % PIECE_BYTES != 0);
    j->pieces = must_alloc(j->piece_count + 1, sizeof *j->pieces);
    for (size_t i = 0; i < j->piece_count; i++) {
        const unsigned char *begin = data + i * PIECE_BYTES;
        const unsigned char *end = i + 1 < j->piece_count ? begin + PIECE_BYTES : data + body;
        j->pieces[i] = (piece){.begin = i ? begin - 1 : begin, .end = end - 1};
    }
}

/* The field of the first column begins where its row does. */
static void make_places(table *t, const size_t *columns, size_t count) {
    if (count == 0)
        return;
    t->places = must_alloc(t->columns, sizeof *t->places);
    for (size_t k = 0; k < t->columns; k++)
        t->places[k] = NULL;
    for (size_t i = 0; i < count; i++)
        if (columns[i] > 0 && columns[i] < t->columns && !t->places[columns[i]])
            t->places[columns[i]] = must_alloc(t->n + 1, sizeof **t->places);
}

void table_index_rows(table *t, const unsigned char *begin, const size_t *columns, size_t count, unsigned threads) {
    job j;
    cut(&j, t, begin);
    parallel_for(threads, j.piece_count, count_piece, &j);
    quote_state state = OUTSIDE;
    t->n = 0;
    for (size_t i = 0; i < j.piece_count; i++) {
        piece *own = &j.pieces[i];
        own->state = state;
        own->row = t->n;
        own->rows = own->newlines[state] + (i == 0);
        t->n += own->rows;
        state = own->ends[state];
    }
    t->starts = must_alloc(t->n + 1, sizeof *t->starts);
    make_places(t, columns, count);
    parallel_for(threads, j.piece_count, walk_piece, &j);
    piece first = {.fault = ROW_OK};
    for (size_t i = 0; i < j.piece_count && first.fault == ROW_OK; i++)
        first = j.pieces[i];
    free(j.pieces);
    if (first.fault != ROW_OK)
        refuse_row(t, first.fault, first.where, first.fields);
    t->starts[t->n] = t->n_bytes;
}

size_t table_row_bytes(const table *t, size_t row) {
    const unsigned char *begin = t->bytes + t->starts[row], *end = t->bytes + t->starts[row + 1] - 1;
    return (size_t)(end - begin) - (end > begin && end[-1] == '\r');
}

size_t table_line(const table *t, size_t row) { return table_line_at(t, t->bytes + t->starts[row]); }

/* ---- the first row ----------------------------------------------------------------------------------------------- */

/* A carriage return inside a field of the first row means that lines end with it: all of the table would be one row. */
static void refuse_carriage_returns(const table *t, const unsigned char *p) {
    for (size_t i = 0; i < t->columns; i++) {
        field f = read_field(p, t->bytes + t->n_bytes, (unsigned char)t->delimiter);
        if (*p != '"' && memchr(f.begin, '\r', (size_t)(f.end - f.begin)))
            die(EXIT_USAGE,
                "%s: line %zu: a carriage return that no newline follows: convert the line ends (tr '\\r' '\\n')",
                t->name, table_line_at(t, p));
        p = f.next + 1;
    }
}

void table_end_last_row(table *t) {
    unsigned char *end = t->bytes + t->n_bytes;
    if (end[-1] == '\n')
        return;
    if (t->end_bytes == 2 && end[-1] != '\r') {
        *end++ = '\r';
        t->n_bytes++;
    }
    *end = '\n';
    t->n_bytes++;
}

void table_pass_comments(table *t) {
    while (t->dialect->comment && t->head_bytes < t->n_bytes && t->bytes[t->head_bytes] == t->dialect->comment) {
        const unsigned char *p = t->bytes + t->head_bytes, *newline = memchr(p, '\n', t->n_bytes - t->head_bytes);
        t->head_bytes = newline ? (size_t)(newline - t->bytes) + 1 : t->n_bytes;
    }
}

const unsigned char *table_read_first_row(table *t, bool all) {
    const unsigned char *first = t->bytes + t->head_bytes, *next = first, *newline = t->bytes + t->n_bytes;
    unsigned char after = t->bytes[t->n_bytes];
    t->bytes[t->n_bytes] = '\n'; /* it ends a row that has no end */
    row_fault fault = table_walk_row(t, first, &next, &t->columns);
    if (fault == ROW_OK)
        newline = next - 1;
    t->end_bytes = newline < t->bytes + t->n_bytes && newline > first && newline[-1] == '\r' ? 2 : 1;
    t->bytes[t->n_bytes] = after;
    if (all)
        table_end_last_row(t);
    if (fault != ROW_OK || t->columns == 1)
        input_refuse_json(t->name, table_line_at(t, first), first, (size_t)(t->bytes + t->n_bytes - first));
    if (fault != ROW_OK)
        refuse_row(t, fault, next, t->columns);
    refuse_carriage_returns(t, first);
    return next;
}

void table_drop_empty_lines(table *t, const unsigned char *first_end) {
    const unsigned char *least = t->columns > 1 ? first_end : t->bytes + t->n_bytes;
    for (const unsigned char *end; (end = t->bytes + t->n_bytes) > least;) {
        size_t bytes = end - 1 > least && end[-2] == '\r' ? 2 : 1;
        if (end[-(ptrdiff_t)bytes - 1] != '\n')
            break;
        t->n_bytes -= bytes;
    }
}

void table_begin(table *t, input *in, const dialect *d) {
    *t = (table){
        .name = in->name, .dialect = d, .delimiter = d->delimiter, .end_bytes = 1, .lines_before = in->lines_before};
    t->bytes = input_read_all(in, &t->n_bytes);
    t->head_bytes = input_mark_bytes(in, t->bytes, t->n_bytes);
    table_pass_comments(t);
    if (t->n_bytes == t->head_bytes)
        return;
    const unsigned char *first = t->bytes + t->head_bytes, *next = table_read_first_row(t, true);
    if (d->comment)
        table_strip_comments(t, next);
    table_drop_empty_lines(t, next);
    if (d->header) {
        t->has_names = true;
        t->names = first;
        t->names_end = next;
        t->head_bytes = (size_t)(next - t->bytes);
    }
}

void table_end(table *t, const size_t *columns, size_t count, unsigned threads) {
    if (t->columns == 0) {
        t->starts = must_alloc(1, sizeof *t->starts);
        t->starts[0] = t->n_bytes;
        return;
    }
    table_index_rows(t, t->has_names ? t->names : t->bytes + t->head_bytes, columns, count, threads);
}

void table_read(table *t, input *in, const dialect *d, unsigned threads) {
    table_begin(t, in, d);
    table_end(t, NULL, 0, threads);
}

void table_free(table *t) {
    for (size_t k = 0; t->places && k < t->columns; k++)
        free(t->places[k]);
    free(t->places);
    free(t->gaps);
    free(t->starts);
    free(t->stops);
    free(t->bytes);
    *t = (table){0};
}
