/* SPDX-License-Identifier: MIT
 *
 * sort on lines and rows that are in memory. They are moved once, at the end, in the order of their keys. Lines that
 * consist of an integer in its usual form are not moved at all: the sorted integers are written anew.
 */
#include <stdlib.h>

#include "apps/support/die.h"
#include "apps/support/ranks.h"
#include "apps/support/report.h"
#include "apps/support/rows.h"
#include "dictionary.h"
#include "row_check.h"
#include "row_parts.h"

static size_t write_sorted_integers(sort_job *j, row_batch *b) {
    const text *t = &b->text;
    uint64_t written = 0, *hash = j->verify && !j->unique ? &written : NULL;
    size_t kept = sort_keys(j, &b->keys[0], t->n);
    output_write(j->out, t->bytes, t->head_bytes);
    rows_write_numbers(j->out, b->keys[0].type, b->keys[0].data, kept, j->threads, hash);
    if (hash)
        sort_verify_lines(j, t->bytes + t->head_bytes, t->n_bytes - t->head_bytes, written);
    return kept;
}

void row_batch_rank(row_batch *b, const sort_job *j) {
    for (size_t k = 0; k < b->key_count; k++)
        if (b->keys[k].strings)
            dictionary_rank(&b->keys[k], j->threads);
}

void sort_whole_rows(row_kind *kind, row_batch *b) {
    sort_job *j = kind->j;
    const bool is_table = format_is_table(kind->format), by_numbers = !is_table && !j->text;
    order o = {.keys = b->keys, .key_count = b->key_count, .n = b->n, .method = j->method};
    report_number(is_table ? "rows" : "lines", b->n);
    sort_choose_device(j, (is_table ? j->key_count : 1) * b->n * sizeof(uint64_t));
    if (j->check) {
        size_t place = order_first_disorder(&o, j->unique, j->threads);
        if (place != ORDER_NONE)
            row_batch_refuse(b, kind, EXIT_NEGATIVE, place, "is out of order");
    } else if (by_numbers && b->text.canonical && !j->argsort) {
        o.n = write_sorted_integers(j, b);
    } else {
        row_batch_rank(b, j);
        row_batch_index(b, kind);
        sort_and_write(j, &o, &(rows){.bytes = b->bytes, .starts = b->starts}, b->head_bytes, b->n_bytes);
    }
    report_number("kept", o.n);
}

void sort_lines_or_rows(sort_job *j, data_format format) {
    key_type types[MAX_KEYS] = {{0}};
    row_kind kind = {.j = j, .format = format, .types = types};
    row_batch b;
    if (ranks_several()) {
        sort_row_ranks(&kind);
    } else if (row_fits(&kind)) {
        row_batch_read(&b, &kind, &j->in);
        sort_whole_rows(&kind, &b);
        row_batch_free(&b);
    } else {
        sort_row_parts(&kind);
    }
    row_kind_free(&kind);
    row_types_free(types);
}
