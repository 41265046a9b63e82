/* SPDX-License-Identifier: MIT
 *
 * Where a rank's rows end only that rank knows, once it knows where they begin: what it has of the next row goes to the
 * rank after it, from rank to rank. Between rows without quotes that is one look for a newline.
 */
#include "row_share.h"

#include <stdlib.h>
#include <string.h>

#include "apps/support/alloc.h"
#include "apps/support/die.h"
#include "apps/support/ranks.h"
#include "apps/support/report.h"

enum { HEAD_BYTES = 256 << 10 };

void row_share_batch(row_batch *b, row_kind *kind, const unsigned char *before, size_t before_bytes,
                     const unsigned char *rows, size_t n_bytes, size_t lines_before) {
    const size_t head = kind->first_row_bytes, n = head + before_bytes + n_bytes;
    unsigned char *bytes = must_alloc(n + INPUT_TAIL_BYTES, 1);
    input in;
    if (head)
        memcpy(bytes, kind->first_row, head);
    if (before_bytes)
        memcpy(bytes + head, before, before_bytes);
    if (n_bytes)
        memcpy(bytes + head + before_bytes, rows, n_bytes);
    const size_t lines = kind->first_row_lines + input_count_bytes(bytes + head, bytes + head + before_bytes, '\n');
    input_of_memory(&in, kind->j->in.name, bytes, n, lines_before - lines);
    row_batch_read(b, kind, &in);
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* What is not sized, as a compressed input, is read through twice: for its length, and for the share. */
static uint64_t length_of(input *in) {
    if (in->extent.sized)
        return in->extent.size;
    input_keep(in);
    return input_pass(in, UINT64_MAX);
}

static void read_at(input *in, void *to, size_t n, uint64_t offset) {
    if (in->extent.sized)
        input_read_at(in, to, n, offset);
    else
        input_read_through(in, to, n, offset);
}

/* From as much of the beginning as has a first row. */
static void read_head(row_share *s, row_kind *kind) {
    input *in = &kind->j->in;
    table shape;
    const table *t = row_shape(kind, &shape);
    for (size_t wanted = HEAD_BYTES;; wanted *= 2) {
        const size_t n = wanted < s->total ? wanted : (size_t)s->total;
        unsigned char *bytes = must_alloc(n + INPUT_TAIL_BYTES, 1);
        read_at(in, bytes, n, 0);
        const size_t cut = n < s->total ? (size_t)(row_cut(t, bytes, bytes + n) - bytes) : n;
        if (cut == 0 && n < s->total) {
            free(bytes);
            continue;
        }
        input part;
        row_batch b;
        input_of_memory(&part, in->name, bytes, cut, 0);
        row_batch_read(&b, kind, &part);
        const bool found = b.n > 0 || kind->columns || n == s->total;
        s->head_bytes = b.head_bytes;
        s->head = must_alloc(b.head_bytes, 1);
        if (b.head_bytes)
            memcpy(s->head, b.bytes, b.head_bytes);
        row_batch_free(&b);
        if (found)
            return;
        free(s->head);
        kind->started = false;
    }
}

/* Puts what the rank before has of a row, of which the rest is here, before the share. */
static void begin_with(row_share *s, const unsigned char *rest, size_t n) {
    if (n == 0)
        return;
    unsigned char *bytes = must_alloc(n + s->n_bytes, 1);
    memcpy(bytes, rest, n);
    memcpy(bytes + n, s->bytes, s->n_bytes);
    free(s->bytes);
    s->bytes = bytes;
    s->n_bytes += n;
    s->first -= n;
}

void row_share_read(row_share *s, row_kind *kind) {
    input *in = &kind->j->in;
    table shape;
    s->total = length_of(in);
    warn_aloud(ranks_own() == 0);
    read_head(s, kind);
    warn_aloud(true);
    const table *t = row_shape(kind, &shape);
    const uint64_t head =
        s->head_bytes < s->total ? s->head_bytes : s->total; /* a newline was added to the last line */
    const ranks_part part = ranks_part_of(s->total - head);
    unsigned char *rest = NULL;
    size_t rest_bytes = 0;
    s->first = head + part.first;
    s->n_bytes = (size_t)part.count;
    s->bytes = must_alloc(s->n_bytes, 1);
    read_at(in, s->bytes, s->n_bytes, s->first);
    for (unsigned r = 0; r < ranks_count(); r++) {
        size_t mine = 0;
        if (r == ranks_own()) {
            begin_with(s, rest, rest_bytes);
            const size_t all = s->n_bytes;
            if (r + 1 < ranks_count())
                s->n_bytes = (size_t)(row_cut(t, s->bytes, s->bytes + all) - s->bytes);
            mine = all - s->n_bytes;
        }
        free(rest);
        rest = ranks_collect(s->bytes + s->n_bytes, mine, &rest_bytes);
    }
    free(rest);
    s->lines_before = input_count_bytes(s->head, s->head + s->head_bytes, '\n') +
                      (size_t)ranks_add(input_count_bytes(s->bytes, s->bytes + s->n_bytes, '\n')).before;
}

void row_share_agree(const row_kind *kind) {
    for (size_t k = 0; k < (format_is_table(kind->format) ? kind->j->key_count : 1); k++) {
        const key_type *type = &kind->types[k];
        const bool any_float = ranks_add(type->any_float).total, any_negative = ranks_add(type->any_negative).total;
        const bool above = ranks_add(type->above != NULL).total > 0;
        if (any_float && type->beyond)
            die(EXIT_USAGE, "%s " COLUMN_BEYOND, type->beyond);
        if (any_negative && type->above)
            die(EXIT_USAGE, "%s " COLUMN_ABOVE, type->above);
        if (!format_is_table(kind->format) && !kind->j->text)
            report_text("type", any_float ? "f64" : above ? "u64" : "i64");
    }
}

void row_share_free(row_share *s) {
    free(s->head);
    free(s->bytes);
}
