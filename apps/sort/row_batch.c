/* SPDX-License-Identifier: MIT
 *
 * Lines and rows with their keys.
 */
#include "row_batch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apps/support/alloc.h"
#include "apps/support/die.h"
#include "apps/support/number.h"
#include "apps/support/report.h"
#include "row_check.h"

/* ---- types ------------------------------------------------------------------------------------------------------- */

void row_note_type(key_type *type, const column *c, row_describe *describe, const void *arg) {
    const bool is_float = c->type == SCAN_F64;
    type->any_float |= is_float;
    type->any_negative |= c->any_negative;
    if (!is_float && !type->beyond && c->beyond != COLUMN_NOWHERE)
        type->beyond = describe(arg, c->beyond);
    if (!is_float && !type->above && c->above != COLUMN_NOWHERE)
        type->above = describe(arg, c->above);
    if (type->any_float && type->beyond)
        die(EXIT_USAGE, "%s " COLUMN_BEYOND, type->beyond);
    if (type->any_negative && type->above)
        die(EXIT_USAGE, "%s " COLUMN_ABOVE, type->above);
}

/* ---- lines ------------------------------------------------------------------------------------------------------- */

static const char *quote_line(const text *t, size_t line, char to[NUMBER_QUOTE_BYTES]) {
    size_t bytes = (size_t)(t->starts[line + 1] - t->starts[line]) - 1;
    const char *begin = (const char *)t->bytes + t->starts[line];
    return number_quote(to, begin, bytes - (bytes > 0 && begin[bytes - 1] == '\r'));
}

typedef struct described {
    text *text;
    unsigned threads;
} described;

static char *describe_line(const void *arg, size_t line) {
    const described *d = arg;
    char quoted[NUMBER_QUOTE_BYTES];
    text_index(d->text, d->threads);
    size_t bytes = strlen(d->text->name) + NUMBER_QUOTE_BYTES + 64;
    char *to = must_alloc(bytes, 1);
    snprintf(to, bytes, "%s: line %zu, column 1: %s", d->text->name, d->text->lines_before + line + 1,
             quote_line(d->text, line, quoted));
    return to;
}

static void read_numbers(row_batch *b, row_kind *kind, input *in) {
    sort_job *j = kind->j;
    text *t = &b->text;
    text_read(t, in, "--text sorts lines as text", j->threads);
    if (kind->types) {
        row_note_type(&kind->types[0], &t->values, describe_line, &(described){t, j->threads});
        report_text("type", kind->types[0].any_float ? "f64" : kind->types[0].above ? "u64" : "i64");
    }
    b->keys[0] = sort_key(j, t->values.type, t->values.data, NULL);
    size_t nan = sort_refused_nan(j, &b->keys[0], t->n, NULL);
    if (nan != ORDER_NONE)
        row_batch_refuse(b, kind, EXIT_USAGE, nan, "is refused by --nan error");
    t->values.data = NULL; /* the key's, now */
}

static void read_strings(row_batch *b, const row_kind *kind, input *in) {
    const sort_job *j = kind->j;
    text_read_lines(&b->text, in, j->threads);
    strings_of_lines(&b->strings[0], &b->text, j->threads);
    report_text("type", "text");
    b->keys[0] = sort_key(j, SCAN_TYPE_NONE, NULL, NULL);
    b->keys[0].strings = &b->strings[0];
}

/* ---- both -------------------------------------------------------------------------------------------------------- */

void row_batch_read(row_batch *b, row_kind *kind, input *in) {
    *b = (row_batch){.key_count = 1};
    if (format_is_table(kind->format)) {
        row_batch_read_table(b, kind, in);
        b->n = b->table.n;
        b->bytes = b->table.bytes;
        b->starts = b->table.starts;
        b->head_bytes = b->table.head_bytes;
        b->n_bytes = b->table.n_bytes;
    } else {
        if (kind->j->text)
            read_strings(b, kind, in);
        else
            read_numbers(b, kind, in);
        b->n = b->text.n;
        b->bytes = b->text.bytes;
        b->starts = b->text.starts;
        b->head_bytes = b->text.head_bytes;
        b->n_bytes = b->text.n_bytes;
    }
    if (!kind->started) /* later parts may be parsed while another thread reads this */
        kind->started = true;
}

void row_batch_index(row_batch *b, const row_kind *kind) {
    if (!format_is_table(kind->format)) {
        text_index(&b->text, kind->j->threads);
        b->starts = b->text.starts;
    }
}

void row_batch_refuse(row_batch *b, const row_kind *kind, int code, size_t row, const char *what) {
    char quoted[NUMBER_QUOTE_BYTES];
    if (format_is_table(kind->format))
        die(code, "%s: line %zu %s", b->table.name, table_line(&b->table, row), what);
    text_index(&b->text, kind->j->threads);
    die(code, "%s: line %zu: %s %s", b->text.name, b->text.lines_before + row + 1, quote_line(&b->text, row, quoted),
        what);
}

unsigned char *row_batch_take_bytes(row_batch *b) {
    unsigned char *bytes = b->text.bytes ? b->text.bytes : b->table.bytes;
    b->text.bytes = b->table.bytes = NULL;
    return bytes;
}

void row_batch_free(row_batch *b) {
    for (size_t k = 0; k < b->key_count; k++)
        free(b->keys[k].data);
    for (size_t k = 0; k < MAX_KEYS; k++)
        strings_free(&b->strings[k]);
    text_free(&b->text);
    table_free(&b->table);
}

void row_kind_free(row_kind *kind) { free(kind->first_row); }

void row_types_free(key_type *types) {
    for (size_t k = 0; k < MAX_KEYS; k++) {
        free(types[k].above);
        free(types[k].beyond);
    }
}
