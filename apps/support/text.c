/* SPDX-License-Identifier: MIT
 *
 * The input is cut into pieces of about a megabyte. Newlines are counted in all pieces at once, an exclusive scan of
 * the counts says which line each piece begins with, and then all pieces are parsed at once, straight into place. A
 * piece owns the lines that begin in it.
 *
 * Most lines of integer files are a sign and at most 19 digits: those are read eight digits at a time, by arithmetic on
 * a word, without looking for the newline first. All else goes through number_parse.
 */
#include "text.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "die.h"

#ifndef TEXT_PIECE_BYTES /* fuzz_text.c has short ones */
#define TEXT_PIECE_BYTES (1 << 20)
#endif
enum { PIECE_BYTES = TEXT_PIECE_BYTES };

typedef struct piece {
    const unsigned char *first; /* where its first line begins */
    const unsigned char *end;   /* lines that begin here or later are not its own */
    size_t lines;
    size_t line; /* index of its first line */
    bool canonical;
} piece;

typedef struct job {
    text *t;
    piece *pieces;
    size_t piece_count;
    column_part *parts;
} job;

/* ---- pieces ------------------------------------------------------------------------------------------------------ */

static void count_piece(void *arg, size_t i) {
    job *j = arg;
    piece *own = &j->pieces[i];
    const unsigned char *begin = own->first;
    if (i > 0) { /* the first line that begins in this piece; a piece within one long line has none */
        const unsigned char *newline = memchr(begin - 1, '\n', (size_t)(own->end - begin));
        own->first = newline ? newline + 1 : own->end;
    }
    own->lines = own->first < own->end ? input_count_bytes(own->first, own->end - 1, '\n') + 1 : 0;
}

static void cut(job *j, text *t, unsigned threads) {
    size_t body = t->n_bytes - t->head_bytes;
    j->t = t;
    j->piece_count = body / PIECE_BYTES + (body % PIECE_BYTES != 0);
    j->pieces = must_alloc(j->piece_count + 1, sizeof *j->pieces);
    for (size_t i = 0; i < j->piece_count; i++) {
        const unsigned char *begin = t->bytes + t->head_bytes + i * PIECE_BYTES;
        const unsigned char *end = i + 1 < j->piece_count ? begin + PIECE_BYTES : t->bytes + t->n_bytes;
        j->pieces[i] = (piece){.first = begin, .end = end, .canonical = true};
    }
    parallel_for(threads, j->piece_count, count_piece, j);
    t->n = 0;
    for (size_t i = 0; i < j->piece_count; i++) {
        j->pieces[i].line = t->n;
        t->n += j->pieces[i].lines;
    }
}

/* ---- lines ------------------------------------------------------------------------------------------------------- */

static uint64_t load_word(const unsigned char *p) {
    uint64_t word;
    memcpy(&word, p, sizeof word);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

/* Counts the digits that the eight bytes begin with. `digits` is the word xor "00000000": a byte above 9 gets its high
 * bit set; a carry can only spoil bytes after the first such byte. */
static unsigned leading_digits(uint64_t digits) {
    uint64_t others = ((digits + UINT64_C(0x7676767676767676)) | digits) & UINT64_C(0x8080808080808080);
    return others ? (unsigned)__builtin_ctzll(others) / 8 : 8;
}

/* The value of the first `count` (1 to 8) digits: they are moved to the end behind zeros, then joined in pairs, in
 * fours, and all eight. */
static uint64_t digits_value(uint64_t digits, unsigned count) {
    digits <<= 64 - 8 * count;
    digits = digits * 10 + (digits >> 8);
    const uint64_t mask = UINT64_C(0x000000ff000000ff);
    return (((digits & mask) * UINT64_C(0x000f424000000064)) +
            (((digits >> 16) & mask) * UINT64_C(0x0000271000000001))) >>
           32;
}

static const uint64_t powers_of_ten[9] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};

/* Reads a line that is an integer of at most 19 digits; returns the start of the next line, or NULL for any other line.
 * May read 32 bytes, also beyond the newline. */
static const unsigned char *plain_integer(const unsigned char *p, int64_t *value, bool *canonical) {
    bool negative = *p == '-';
    p += negative;
    const unsigned char first = *p;
    uint64_t magnitude = 0;
    unsigned length = 0, count = 8;
    while (count == 8 && length < 24) {
        uint64_t digits = load_word(p + length) ^ UINT64_C(0x3030303030303030);
        count = leading_digits(digits);
        if (count > 0)
            magnitude = magnitude * powers_of_ten[count] + digits_value(digits, count);
        length += count;
    }
    if (length == 0 || length > 19 || p[length] != '\n' || magnitude > INT64_MAX)
        return NULL;
    *canonical &= first != '0' || (length == 1 && !negative);
    *value = negative ? -(int64_t)magnitude : (int64_t)magnitude;
    return p + length + 1;
}

static bool is_canonical(const number *x, const unsigned char *line, size_t bytes) {
    char formatted[NUMBER_FORMAT_BYTES];
    return x->type != SCAN_F64 && number_format(formatted, x->type, &x->value) == bytes &&
           memcmp(formatted, line, bytes) == 0;
}

static void parse_piece(void *arg, size_t i) {
    job *j = arg;
    piece *own = &j->pieces[i];
    column_part part = j->parts[i]; /* a copy: neighbours in the array belong to other threads */
    const unsigned char *p = own->first, *end = j->t->bytes + j->t->n_bytes;
    bool canonical = true;
    for (size_t k = 0; k < own->lines; k++) {
        int64_t integer;
        const unsigned char *next = part.is_float ? NULL : plain_integer(p, &integer, &canonical);
        if (next && (integer != 0 || *p != '-')) {
            column_part_add_i64(&part, integer);
        } else {
            const unsigned char *newline = memchr(p, '\n', (size_t)(end - p));
            size_t bytes = (size_t)(newline - p);
            number x;
            part.fault = number_parse((const char *)p, bytes, &x, &part.where);
            if (part.fault != NUMBER_OK)
                break;
            canonical = canonical && is_canonical(&x, p, bytes);
            column_part_add(&part, &x);
            next = newline + 1;
        }
        p = next;
    }
    own->canonical = canonical;
    j->parts[i] = part;
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

static const unsigned char *find_line(const text *t, size_t line) {
    const unsigned char *p = t->bytes + t->head_bytes, *end = t->bytes + t->n_bytes;
    for (size_t i = 0; i < line; i++)
        p = (const unsigned char *)memchr(p, '\n', (size_t)(end - p)) + 1;
    return p;
}

void text_refuse_number(const text *t, const column_fault *fault, const char *advice) {
    if (t->lines_before == 0)
        input_refuse_json(t->name, 1, t->bytes + t->head_bytes, t->n_bytes - t->head_bytes);
    const unsigned char *p = find_line(t, fault->row);
    const unsigned char *newline = memchr(p, '\n', (size_t)(t->bytes + t->n_bytes - p));
    size_t bytes = (size_t)(newline - p), line = t->lines_before + fault->row + 1;
    if (bytes > 0 && p[bytes - 1] == '\r')
        bytes--;
    char quoted[NUMBER_QUOTE_BYTES];
    if (fault->empty)
        die(EXIT_USAGE, "%s: line %zu %s", t->name, line, fault->complaint);
    bool advised = advice && fault->not_a_number;
    die(EXIT_USAGE, "%s: line %zu, column %zu: %s %s%s%s", t->name, line, fault->where + 1,
        number_quote(quoted, (const char *)p, bytes), fault->complaint, advised ? "; " : "", advised ? advice : "");
}

void text_end_last_line(text *t) {
    if (t->n_bytes > t->head_bytes && t->bytes[t->n_bytes - 1] != '\n')
        t->bytes[t->n_bytes++] = '\n'; /* in the place of a zero byte */
}

static void read_bytes(text *t, input *in) {
    *t = (text){.name = in->name, .lines_before = in->lines_before};
    t->bytes = input_read_all(in, &t->n_bytes);
    t->head_bytes = input_mark_bytes(in, t->bytes, t->n_bytes);
    text_end_last_line(t);
}

void text_parse(text *t, bool is_float, const char *advice, unsigned threads) {
    job j = {0};
    cut(&j, t, threads);
    t->values.data = must_alloc(t->n + 1, sizeof(uint64_t));
    j.parts = must_alloc(j.piece_count + 1, sizeof *j.parts);
    for (size_t i = 0; i < j.piece_count; i++)
        column_part_begin(&j.parts[i], t->values.u64 + j.pieces[i].line, is_float);
    parallel_for(threads, j.piece_count, parse_piece, &j);

    column_fault fault;
    bool good = column_finish(&t->values, j.parts, j.piece_count, parse_piece, &j, threads, &fault);
    t->canonical = true;
    for (size_t i = 0; i < j.piece_count; i++)
        t->canonical &= j.pieces[i].canonical;
    free(j.parts);
    free(j.pieces);
    if (!good)
        text_refuse_number(t, &fault, advice);
}

void text_read(text *t, input *in, const char *advice, unsigned threads) {
    read_bytes(t, in);
    text_parse(t, false, advice, threads);
}

typedef struct indexing {
    job cut;
    uint64_t *starts;
} indexing;

static void index_piece(void *arg, size_t i) {
    indexing *x = arg;
    const piece *own = &x->cut.pieces[i];
    const unsigned char *bytes = x->cut.t->bytes, *end = bytes + x->cut.t->n_bytes, *p = own->first;
    uint64_t *starts = x->starts + own->line;
    for (size_t k = 0; k < own->lines; k++) {
        starts[k] = (uint64_t)(p - bytes);
        p = (const unsigned char *)memchr(p, '\n', (size_t)(end - p)) + 1;
    }
}

void text_index(text *t, unsigned threads) {
    if (t->starts)
        return;
    indexing x = {0};
    cut(&x.cut, t, threads);
    x.starts = must_alloc(t->n + 1, sizeof *x.starts);
    parallel_for(threads, x.cut.piece_count, index_piece, &x);
    x.starts[t->n] = t->n_bytes;
    t->starts = x.starts;
    free(x.cut.pieces);
}

void text_read_lines(text *t, input *in, unsigned threads) {
    read_bytes(t, in);
    text_index(t, threads);
}

void text_free(text *t) {
    free(t->bytes);
    free(t->values.data);
    free(t->starts);
    *t = (text){0};
}
