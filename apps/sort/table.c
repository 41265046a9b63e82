/* SPDX-License-Identifier: MIT
 *
 * sort on tables. Rows are moved once, at the end, in the order of their keys.
 */
#include <stdlib.h>
#include <string.h>

#include "apps/support/die.h"
#include "apps/support/report.h"
#include "apps/support/table.h"
#include "dictionary.h"
#include "row_check.h"
#include "sort.h"

/* The keys of a table: of times that are missing in places there is one more, which says where. */
typedef struct table_keys {
    order_key keys[2 * MAX_KEYS];
    strings strings[MAX_KEYS]; /* of keys that are text, by option */
    size_t count;
} table_keys;

__attribute__((noreturn)) static void refuse_missing(const table *t, size_t index, size_t row, const char *what) {
    char label[TABLE_LABEL_BYTES];
    die(EXIT_USAGE, "%s: line %zu, column %s: %s", t->name, table_line(t, row), table_label(t, index, label), what);
}

static void add_numbers(const sort_job *j, const table *t, size_t index, const key_option *option, table_keys *all) {
    column c;
    table_warn_of_header(t, index, false);
    table_numbers(t, index, &c, option->name, j->threads);
    order_key key = sort_key(j, c.type, c.data, option);
    size_t nan = sort_refused_nan(j, &key, t->n, option);
    if (nan != ORDER_NONE)
        refuse_missing(t, index, nan, "NaN or missing");
    all->keys[all->count++] = key;
}

static void add_strings(const sort_job *j, const table *t, size_t index, const key_option *option, table_keys *all) {
    strings *s = &all->strings[option - j->keys];
    strings_of_column(s, t, index, option->kind == KEY_NATURAL ? STRING_NATURAL : STRING_BYTES, j->threads);
    order_key key = sort_key(j, SCAN_TYPE_NONE, NULL, option);
    key.strings = s;
    size_t missing = sort_refused_nan(j, &key, t->n, option);
    if (missing != ORDER_NONE)
        refuse_missing(t, index, missing, "missing");
    if (!j->check)
        dictionary_rank(&key, j->threads);
    all->keys[all->count++] = key;
}

/* Every 64-bit integer is a time, so that a missing one is told apart by a key of its own, 1 where it is missing. */
static void add_times(const sort_job *j, const table *t, size_t index, const key_option *option, table_keys *all) {
    column c;
    uint8_t *missing;
    table_warn_of_header(t, index, true);
    table_times(t, index, &c, &missing, j->threads);
    order_key key = sort_key(j, c.type, c.data, option);
    if (missing && sort_refuses_nan(j, option))
        refuse_missing(t, index, (size_t)((uint8_t *)memchr(missing, 1, t->n) - missing), "missing");
    if (missing)
        all->keys[all->count++] = (order_key){.type = SCAN_U8, .descending = key.nan_first, .data = missing};
    all->keys[all->count++] = key;
}

static void read_keys(const sort_job *j, const table *t, table_keys *all) {
    for (size_t k = 0; k < j->key_count; k++) {
        const key_option *option = &j->keys[k];
        size_t index = table_find(t, option->name);
        switch (option->kind) {
        case KEY_NUMBER: add_numbers(j, t, index, option, all); break;
        case KEY_TEXT:
        case KEY_NATURAL: add_strings(j, t, index, option, all); break;
        case KEY_TIME: add_times(j, t, index, option, all); break;
        }
    }
}

void sort_table(sort_job *j) {
    table t;
    table_read(&t, &j->in, &j->dialect, j->threads);
    if (j->key_count == 0 && t.columns > 1)
        die_usage("%s has %zu columns: name the one to sort by with --key", j->in.name, t.columns);
    if (j->key_count == 0)
        sort_add_key(j, "1");
    report_number("rows", t.n);
    table_keys all = {.count = 0};
    read_keys(j, &t, &all);
    order o = {.keys = all.keys, .key_count = all.count, .n = t.n, .method = j->method};
    sort_choose_device(j, j->key_count * t.n * sizeof(double));
    if (j->check) {
        size_t place = order_first_disorder(&o, j->unique, j->threads);
        if (place != ORDER_NONE)
            die(EXIT_NEGATIVE, "%s: line %zu is out of order", j->in.name, table_line(&t, place));
    } else {
        sort_and_write(j, &o, &(rows){.bytes = t.bytes, .starts = t.starts}, t.head_bytes, t.n_bytes);
    }
    report_number("kept", o.n);
    for (size_t k = 0; k < all.count; k++)
        free(all.keys[k].data);
    for (size_t k = 0; k < j->key_count; k++)
        strings_free(&all.strings[k]);
    table_free(&t);
}
