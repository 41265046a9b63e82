/* SPDX-License-Identifier: MIT
 *
 * sort on text and tables. Lines and rows are moved once, at the end, in the order of their keys. Lines that consist of
 * an integer in its usual form are not moved at all: the sorted integers are written anew.
 */
#include <stdlib.h>

#include "apps/support/die.h"
#include "apps/support/number.h"
#include "apps/support/report.h"
#include "apps/support/rows.h"
#include "apps/support/table.h"
#include "apps/support/text.h"
#include "row_check.h"
#include "sort.h"

/* Writes the first head_bytes of the input as they are, then its rows in order. The input has n_bytes. */
static void write_rows(sort_job *j, const order *o, const rows *all, size_t head_bytes, size_t n_bytes) {
    uint64_t written = 0, *hash = j->verify && !j->unique ? &written : NULL;
    output_write(j->out, all->bytes, head_bytes);
    rows_write(j->out, &(rows){all->bytes, all->starts, hash}, o->index, o->type, o->n, j->threads);
    if (hash)
        sort_verify_lines(j, all->bytes + head_bytes, n_bytes - head_bytes, written);
}

/* ---- lines ------------------------------------------------------------------------------------------------------- */

__attribute__((noreturn)) static void refuse_line(sort_job *j, text *t, int code, size_t line, const char *what) {
    text_index(t, j->threads);
    size_t bytes = (size_t)(t->starts[line + 1] - t->starts[line]) - 1;
    const char *begin = (const char *)t->bytes + t->starts[line];
    char quoted[NUMBER_QUOTE_BYTES];
    die(code, "%s: line %zu: %s %s", j->in.name, line + 1,
        number_quote(quoted, begin, bytes - (bytes > 0 && begin[bytes - 1] == '\r')), what);
}

static size_t write_sorted_integers(sort_job *j, text *t, order_key *key) {
    uint64_t written = 0, *hash = j->verify && !j->unique ? &written : NULL;
    size_t kept = sort_keys(j, key, t->n);
    t->values.data = key->data;
    output_write(j->out, t->bytes, t->head_bytes);
    rows_write_numbers(j->out, key->type, key->data, kept, j->threads, hash);
    if (hash)
        sort_verify_lines(j, t->bytes + t->head_bytes, t->n_bytes - t->head_bytes, written);
    return kept;
}

void sort_text(sort_job *j) {
    if (j->key_count || j->no_header)
        die_usage("%s is for tables; %s is read as lines of numbers", j->key_count ? "--key" : "--no-header",
                  j->in.name);
    text t;
    text_read(&t, &j->in, j->threads);
    report_text("type", scan_type_name(t.values.type));
    report_number("lines", t.n);
    order_key key = sort_key(j, t.values.type, t.values.data, NULL);
    order o = {.keys = &key, .key_count = 1, .n = t.n, .method = j->method};
    sort_choose_device(j, t.n * scan_type_size(key.type));
    size_t nan = sort_refused_nan(j, &key, t.n, NULL);
    if (nan != ORDER_NONE)
        refuse_line(j, &t, EXIT_USAGE, nan, "is refused by --nan error");
    if (j->check) {
        size_t place = order_first_disorder(&o, j->unique, j->threads);
        if (place != ORDER_NONE)
            refuse_line(j, &t, EXIT_NEGATIVE, place, "is out of order");
    } else if (t.canonical && !j->argsort) {
        o.n = write_sorted_integers(j, &t, &key);
    } else {
        sort_rows(j, &o);
        if (j->argsort) {
            rows_write_numbers(j->out, o.type, o.index, o.n, j->threads, NULL);
        } else {
            text_index(&t, j->threads);
            write_rows(j, &o, &(rows){.bytes = t.bytes, .starts = t.starts}, t.head_bytes, t.n_bytes);
        }
        free(o.index);
    }
    report_number("kept", o.n);
    text_free(&t);
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

/* Reads the key columns. The caller frees their data. */
static void read_keys(sort_job *j, const table *t, order_key *keys) {
    for (size_t k = 0; k < j->key_count; k++) {
        size_t index = table_find(t, j->keys[k].name);
        column c;
        table_numbers(t, index, &c, j->threads);
        keys[k] = sort_key(j, c.type, c.data, &j->keys[k]);
        size_t nan = sort_refused_nan(j, &keys[k], t->n, &j->keys[k]);
        char label[TABLE_LABEL_BYTES];
        if (nan != ORDER_NONE)
            die(EXIT_USAGE, "%s: line %zu, column %s: NaN or missing", j->in.name, table_line(t, nan),
                table_label(t, index, label));
    }
}

void sort_table(sort_job *j, char delimiter) {
    table t;
    table_read(&t, &j->in, delimiter, !j->no_header, j->threads);
    if (j->key_count == 0 && t.columns > 1)
        die_usage("%s has %zu columns: name the one to sort by with --key", j->in.name, t.columns);
    if (j->key_count == 0)
        sort_add_key(j, "1");
    report_number("rows", t.n);
    order_key keys[MAX_KEYS];
    read_keys(j, &t, keys);
    order o = {.keys = keys, .key_count = j->key_count, .n = t.n, .method = j->method};
    sort_choose_device(j, j->key_count * t.n * sizeof(double));
    if (j->check) {
        size_t place = order_first_disorder(&o, j->unique, j->threads);
        if (place != ORDER_NONE)
            die(EXIT_NEGATIVE, "%s: line %zu is out of order", j->in.name, table_line(&t, place));
    } else {
        sort_rows(j, &o);
        if (j->argsort)
            rows_write_numbers(j->out, o.type, o.index, o.n, j->threads, NULL);
        else
            write_rows(j, &o, &(rows){.bytes = t.bytes, .starts = t.starts}, t.head_bytes, t.n_bytes);
        free(o.index);
    }
    report_number("kept", o.n);
    for (size_t k = 0; k < j->key_count; k++)
        free(keys[k].data);
    table_free(&t);
}
