/* SPDX-License-Identifier: MIT
 *
 * Tables: RFC 4180 with commas (CSV) or tabs (TSV), or another dialect. Rows are kept byte for byte; columns are read
 * as numbers or times on request, or as strings (strings.h). Strict: every row has as many fields as the first, and a
 * quote stands only around a whole field or doubled inside one. Two things are taken that RFC 4180 does not have: empty
 * lines at the end, unless they are the rows of one column, and between tabs a quote inside a field that does not begin
 * with one, which is then a character like others.
 */
#ifndef APPS_SUPPORT_TABLE_H
#define APPS_SUPPORT_TABLE_H

#include "column.h"
#include "dialect.h"
#include "input.h"

enum { TABLE_NOWHERE = -1 };

typedef struct table {
    const char *name; /* for messages */
    const dialect *dialect;
    char delimiter;       /* the dialect's */
    unsigned char *bytes; /* the input without comments among its rows, its last row ended like its first, and at least
                           * 126 zero bytes */
    size_t n_bytes;
    size_t head_bytes; /* byte order mark, comments before the first row, and header row: keep them first */
    size_t n;          /* number of rows, without the header */
    size_t columns;    /* 0 for empty input */
    bool has_names;    /* there is a header with the names of the columns */
    const unsigned char *names, *names_end; /* its bytes */
    uint64_t *starts;                       /* row i is bytes[starts[i] ... starts[i + 1] - 1], its line end included */
    uint32_t *stops;     /* NULL, or where fields end: field k of row i at bytes[stops[i * columns + k + 1]], and
                          * before its first byte at stops[i * columns + k], modulo 2^32 */
    uint32_t **places;   /* NULL, or for each column NULL, or where in each row its field begins, from the row's start;
                          * TABLE_NOWHERE: not noted */
    size_t lines_before; /* of a chunk (table_chunks.h): lines of the file before its bytes */
    size_t end_bytes;    /* of a line end, as the first row has it: 1 "\n" or 2 "\r\n" */
    struct table_gap *gaps; /* where comments stood, for the numbers of lines */
    size_t gap_count;
} table;

/* Reads everything in `in`. Exit 2 with the line for a row with another number of fields than the first, an open quote,
 * or a quote where none may be; exit 3 for input errors and memory. Empty input: n = 0, columns = 0. The dialect, which
 * is settled, must live as long as the table. */
void table_read(table *t, input *in, const dialect *d, unsigned threads);

/* The same in two steps: table_begin reads the bytes and the first row, so that columns can be sought; table_end finds
 * the rows, and notes where in them the fields of some columns (those below t->columns) begin, which can then be read
 * without going through those before them. */
void table_begin(table *t, input *in, const dialect *d);
void table_end(table *t, const size_t *columns, size_t count, unsigned threads);

/* Returns the column, from 0, that a user means by a name, which may stand in backticks, or, where no column has that
 * name, a number from 1. Exit 2 if there is none, naming the nearest, or if two have that name. On empty input any name
 * is column 0. */
size_t table_find(const table *t, const char *key);

/* Like table_find, but returns t->columns if there is no such column, and the first if there are several. */
size_t table_seek(const table *t, const char *key);

/* Returns the first column from `from` on that has this name, t->columns if there is none. */
size_t table_find_name(const table *t, const char *name, size_t from);

/* Returns the name of a column of a table that has names: without quotes, in memory to be freed. */
char *table_name(const table *t, size_t index);

/* Returns the name that a misspelt one was meant to be, of which a third may be wrong, in memory to be freed; NULL if
 * there is none like it. */
char *table_nearest_name(const table *t, const char *key);

/* Returns what to say, ": is --delimiter ';' meant?", if the first row is one field with a likely delimiter in it, or
 * begins like a comment; else "". Static storage. */
const char *table_advise_delimiter(const table *t);

/* Writes what a message calls column `index`: "3 (depth_km)" or "3" for index 2. Returns `to`. */
enum { TABLE_LABEL_BYTES = 256 };
const char *table_label(const table *t, size_t index, char to[TABLE_LABEL_BYTES]);

/* Warns if the header's cell of a column that is read as numbers, or as times, is one itself: then it is likely data.
 */
void table_warn_of_header(const table *t, size_t index, bool times);

/* Reads one column as numbers into c->data, a new allocation. An empty field is missing (COLUMN_MISSING_BITS) and makes
 * the column f64. Exit 2 with line and column for a field that is not a number; unless it is NULL, `key` is then the
 * column's name in an advice to sort by -k KEY:text or -k KEY:time. */
void table_numbers(const table *t, size_t index, column *c, const char *key, unsigned threads);

/* The same, as floats whatever the fields are: for a chunk that others show to be of floats. */
void table_floats(const table *t, size_t index, column *c, unsigned threads);

/* Exit 2 for a fault of a column. */
__attribute__((noreturn)) void table_refuse_number(const table *t, size_t index, const column_fault *fault,
                                                   const char *key);

/* Reads one column as times (timestamp.h), nanoseconds of type i64, into c->data, a new allocation. An empty field is
 * missing: c->missing counts them, their value is 0, and (*missing)[i] is 1; *missing is NULL if there are none. Exit 2
 * with line and column for a field that is not a time. */
void table_times(const table *t, size_t index, column *c, uint8_t **missing, unsigned threads);

/* Returns the number, from 1, of the line that row i begins with. */
size_t table_line(const table *t, size_t row);

/* Returns the bytes of row i without its line end; a new last field goes after them. */
size_t table_row_bytes(const table *t, size_t row);

void table_free(table *t);

#endif
