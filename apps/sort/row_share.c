/* SPDX-License-Identifier: MIT
 *
 * Where a rank's rows end only that rank knows, once it knows where they begin: the ends go from rank to rank, while
 * the bytes are in memory already. Between rows without quotes that is one look for a newline.
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

/* From as much of the file's beginning as has a first row. */
static void read_head(row_share *s, row_kind *kind) {
    const input *in = &kind->j->in;
    table shape;
    const table *t = row_shape(kind, &shape);
    for (size_t wanted = HEAD_BYTES;; wanted *= 2) {
        const size_t n = wanted < in->extent.size ? wanted : (size_t)in->extent.size;
        unsigned char *bytes = must_alloc(n + INPUT_TAIL_BYTES, 1);
        input_read_at(in, bytes, n, 0);
        const size_t cut = n < in->extent.size ? (size_t)(row_cut(t, bytes, bytes + n) - bytes) : n;
        if (cut == 0) {
            free(bytes);
            continue;
        }
        input part;
        row_batch b;
        input_of_memory(&part, in->name, bytes, cut, 0);
        row_batch_read(&b, kind, &part);
        const bool found = b.n > 0 || kind->columns || n == in->extent.size;
        s->head_bytes = b.head_bytes;
        s->head = memcpy(must_alloc(b.head_bytes, 1), b.bytes, b.head_bytes);
        row_batch_free(&b);
        if (found)
            return;
        free(s->head);
        kind->started = false;
    }
}

/* Adds the bytes between `start` and the first of the share. */
static void begin_at(row_share *s, const input *in, uint64_t start, uint64_t first) {
    const size_t more = (size_t)(first - start);
    if (more == 0)
        return;
    unsigned char *bytes = must_alloc(more + s->n_bytes, 1);
    input_read_at(in, bytes, more, start);
    memcpy(bytes + more, s->bytes, s->n_bytes);
    free(s->bytes);
    s->bytes = bytes;
    s->n_bytes += more;
}

void row_share_read(row_share *s, row_kind *kind) {
    const input *in = &kind->j->in;
    table shape;
    uint64_t *ends = must_alloc(ranks_count(), sizeof *ends), start, mine = 0;
    warn_aloud(ranks_own() == 0);
    read_head(s, kind);
    warn_aloud(true);
    const table *t = row_shape(kind, &shape);
    const ranks_part part = ranks_part_of(in->extent.size - s->head_bytes);
    const uint64_t first = s->head_bytes + part.first;
    start = s->head_bytes;
    s->n_bytes = (size_t)part.count;
    s->bytes = must_alloc(s->n_bytes, 1);
    input_read_at(in, s->bytes, s->n_bytes, first);
    for (unsigned r = 0; r < ranks_count(); r++) {
        if (r == ranks_own()) {
            begin_at(s, in, start, first);
            s->first = start;
            if (r + 1 < ranks_count())
                s->n_bytes = (size_t)(row_cut(t, s->bytes, s->bytes + s->n_bytes) - s->bytes);
            mine = start + s->n_bytes;
        }
        ranks_gather(&mine, sizeof mine, ends);
        start = ends[r];
    }
    s->lines_before = input_count_bytes(s->head, s->head + s->head_bytes, '\n') +
                      (size_t)ranks_add(input_count_bytes(s->bytes, s->bytes + s->n_bytes, '\n')).before;
    free(ends);
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
