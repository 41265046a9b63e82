/* SPDX-License-Identifier: MIT
 *
 * sort on tables: a table and the keys of its rows.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apps/support/alloc.h"
#include "apps/support/die.h"
#include "apps/support/number.h"
#include "apps/support/report.h"
#include "apps/support/table_field.h"
#include "row_batch.h"
#include "row_check.h"

__attribute__((noreturn)) static void refuse_missing(const table *t, size_t index, size_t row, const char *what) {
    char label[TABLE_LABEL_BYTES];
    die(EXIT_USAGE, "%s: line %zu, column %s: %s", t->name, table_line(t, row), table_label(t, index, label), what);
}

typedef struct described {
    const table *table;
    size_t index;
} described;

static char *describe_field(const void *arg, size_t row) {
    const described *d = arg;
    const table *t = d->table;
    field f = table_field_of(t, row, d->index);
    char quoted[NUMBER_QUOTE_BYTES], label[TABLE_LABEL_BYTES];
    size_t bytes = strlen(t->name) + sizeof quoted + sizeof label + 64;
    char *to = must_alloc(bytes, 1);
    snprintf(to, bytes, "%s: line %zu, column %s: %s", t->name, table_line_at(t, f.begin),
             table_label(t, d->index, label), number_quote(quoted, (const char *)f.begin, (size_t)(f.end - f.begin)));
    return to;
}

static void add_numbers(row_batch *b, const row_kind *kind, size_t k) {
    const sort_job *j = kind->j;
    const key_option *option = &j->keys[k];
    const table *t = &b->table;
    const size_t index = kind->column[k];
    column c;
    if (!kind->started)
        table_warn_of_header(t, index, false);
    table_numbers(t, index, &c, option->name, j->threads);
    if (kind->types)
        row_note_type(&kind->types[k], &c, describe_field, &(described){t, index});
    order_key key = sort_key(j, c.type, c.data, option);
    size_t nan = sort_refused_nan(j, &key, t->n, option);
    if (nan != ORDER_NONE)
        refuse_missing(t, index, nan, "NaN or missing");
    b->keys[b->key_count++] = key;
}

static void add_strings(row_batch *b, const row_kind *kind, size_t k) {
    const sort_job *j = kind->j;
    const key_option *option = &j->keys[k];
    strings *s = &b->strings[k];
    strings_of_column(s, &b->table, kind->column[k], option->kind == KEY_NATURAL ? STRING_NATURAL : STRING_BYTES,
                      j->threads);
    order_key key = sort_key(j, SCAN_TYPE_NONE, NULL, option);
    key.strings = s;
    size_t missing = sort_refused_nan(j, &key, b->table.n, option);
    if (missing != ORDER_NONE)
        refuse_missing(&b->table, kind->column[k], missing, "missing");
    b->keys[b->key_count++] = key;
}

/* Every 64-bit integer is a time, so that a missing one is told apart by a key of its own, 1 where it is missing. */
static void add_times(row_batch *b, const row_kind *kind, size_t k) {
    const sort_job *j = kind->j;
    const key_option *option = &j->keys[k];
    const table *t = &b->table;
    column c;
    uint8_t *missing;
    if (!kind->started)
        table_warn_of_header(t, kind->column[k], true);
    table_times(t, kind->column[k], &c, &missing, j->threads);
    order_key key = sort_key(j, c.type, c.data, option);
    if (missing && sort_refuses_nan(j, option))
        refuse_missing(t, kind->column[k], (size_t)((uint8_t *)memchr(missing, 1, t->n) - missing), "missing");
    if (missing)
        b->keys[b->key_count++] = (order_key){.type = SCAN_U8, .descending = key.nan_first, .data = missing};
    b->keys[b->key_count++] = key;
}

/* Keeps what later parts need of the first one. */
static void start(const table *t, row_kind *kind) {
    sort_job *j = kind->j;
    if (j->key_count == 0 && t->columns > 1)
        die_usage("%s has %zu columns: name the one to sort by with --key", t->name, t->columns);
    if (j->key_count == 0)
        sort_add_key(j, "1");
    kind->columns = t->columns;
    for (size_t k = 0; k < j->key_count; k++)
        kind->column[k] = table_find(t, j->keys[k].name);
    const unsigned char *begin = t->has_names ? t->names : t->bytes + t->head_bytes;
    const unsigned char *end = t->has_names ? t->names_end : t->bytes + (t->n ? t->starts[1] : t->n_bytes);
    kind->first_row_bytes = (size_t)(end - begin);
    kind->first_row = memcpy(must_alloc(kind->first_row_bytes, 1), begin, kind->first_row_bytes);
    kind->first_row_lines = input_count_bytes(begin, end, '\n');
    kind->later = j->dialect;
    kind->later.header = true;
}

/* A fault of a row is reported before a column that is not there: start() looks for columns when all rows are found. */
static void read_table(table *t, row_kind *kind, input *in) {
    const sort_job *j = kind->j;
    table_begin(t, in, kind->started ? &kind->later : &j->dialect);
    for (size_t k = 0; k < j->key_count && !kind->started; k++)
        kind->column[k] = table_seek(t, j->keys[k].name);
    table_end(t, kind->column, j->key_count, j->threads);
    if (kind->started)
        t->has_names = j->dialect.header;
    else
        start(t, kind);
}

void row_batch_read_table(row_batch *b, row_kind *kind, input *in) {
    sort_job *j = kind->j;
    read_table(&b->table, kind, in);
    b->key_count = 0;
    for (size_t k = 0; k < j->key_count; k++) {
        switch (j->keys[k].kind) {
        case KEY_NUMBER: add_numbers(b, kind, k); break;
        case KEY_TEXT:
        case KEY_NATURAL: add_strings(b, kind, k); break;
        case KEY_TIME: add_times(b, kind, k); break;
        }
    }
}
