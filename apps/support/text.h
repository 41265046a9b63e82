/* SPDX-License-Identifier: MIT
 *
 * Lines, kept byte for byte. Lines of numbers, one a line, are parsed in parallel into one column, whose type follows
 * from all lines (column.h).
 */
#ifndef APPS_SUPPORT_TEXT_H
#define APPS_SUPPORT_TEXT_H

#include "column.h"
#include "input.h"

typedef struct text {
    const char *name;     /* for messages */
    unsigned char *bytes; /* the input, its last line ended by a newline, and 63 zero bytes */
    size_t n_bytes;
    size_t head_bytes;   /* a byte order mark, which belongs to no line: keep it first */
    size_t n;            /* lines */
    size_t lines_before; /* of a chunk (text_chunks.h) or part: lines of the file before its bytes */
    column values;       /* n of them */
    bool canonical;      /* every line is what number_format gives for its integer, and a newline */
    uint64_t *starts;    /* after text_index: line i is bytes[starts[i] ... starts[i + 1] - 1], newline included */
} text;

/* Reads everything in `in` and parses it. Exit 2 with line and column for what is not a number, and then, unless it is
 * NULL, the advice; exit 3 for input errors and memory. Empty input: n = 0, type SCAN_I64. */
void text_read(text *t, input *in, const char *advice, unsigned threads);

/* The same for bytes that are there, of whole lines: sets values, n and canonical. is_float: reads everything as
 * floats, for a chunk that others show to be of floats. */
void text_parse(text *t, bool is_float, const char *advice, unsigned threads);

/* Ends the last line with a newline, which the first of the zero bytes becomes. */
void text_end_last_line(text *t);

/* Exit 2 for a line that is not a number, or does not go with others. */
__attribute__((noreturn)) void text_refuse_number(const text *t, const column_fault *fault, const char *advice);

/* Reads everything in `in` as lines of any bytes, and indexes it: there are no values. */
void text_read_lines(text *t, input *in, unsigned threads);

/* Fills `starts`: for programs that move lines. */
void text_index(text *t, unsigned threads);

void text_free(text *t);

#endif
