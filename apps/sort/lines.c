/* SPDX-License-Identifier: MIT
 *
 * sort on lines, of numbers or of text. They are moved once, at the end, in the order of their keys. Lines that consist
 * of an integer in its usual form are not moved at all: the sorted integers are written anew.
 */
#include <stdlib.h>

#include "apps/support/die.h"
#include "apps/support/number.h"
#include "apps/support/report.h"
#include "apps/support/rows.h"
#include "apps/support/text.h"
#include "dictionary.h"
#include "row_check.h"
#include "sort.h"

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

static void check_lines(sort_job *j, text *t, const order *o) {
    size_t place = order_first_disorder(o, j->unique, j->threads);
    if (place != ORDER_NONE)
        refuse_line(j, t, EXIT_NEGATIVE, place, "is out of order");
}

void sort_numbers(sort_job *j) {
    text t;
    text_read(&t, &j->in, "--text sorts lines as text", j->threads);
    report_text("type", scan_type_name(t.values.type));
    report_number("lines", t.n);
    order_key key = sort_key(j, t.values.type, t.values.data, NULL);
    order o = {.keys = &key, .key_count = 1, .n = t.n, .method = j->method};
    sort_choose_device(j, t.n * scan_type_size(key.type));
    size_t nan = sort_refused_nan(j, &key, t.n, NULL);
    if (nan != ORDER_NONE)
        refuse_line(j, &t, EXIT_USAGE, nan, "is refused by --nan error");
    if (j->check) {
        check_lines(j, &t, &o);
    } else if (t.canonical && !j->argsort) {
        o.n = write_sorted_integers(j, &t, &key);
    } else {
        text_index(&t, j->threads);
        sort_and_write(j, &o, &(rows){.bytes = t.bytes, .starts = t.starts}, t.head_bytes, t.n_bytes);
    }
    report_number("kept", o.n);
    text_free(&t);
}

void sort_strings(sort_job *j) {
    text t;
    strings lines;
    text_read_lines(&t, &j->in, j->threads);
    strings_of_lines(&lines, &t, j->threads);
    report_text("type", "text");
    report_number("lines", t.n);
    order_key key = sort_key(j, SCAN_TYPE_NONE, NULL, NULL);
    key.strings = &lines;
    order o = {.keys = &key, .key_count = 1, .n = t.n, .method = j->method};
    sort_choose_device(j, t.n * sizeof(uint64_t));
    if (j->check) {
        check_lines(j, &t, &o);
    } else {
        dictionary_rank(&key, j->threads);
        sort_and_write(j, &o, &(rows){.bytes = t.bytes, .starts = t.starts}, t.head_bytes, t.n_bytes);
    }
    report_number("kept", o.n);
    free(key.data);
    strings_free(&lines);
    text_free(&t);
}
