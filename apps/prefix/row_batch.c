/* SPDX-License-Identifier: MIT
 *
 * The number of lines before a chunk of a table is known when all chunks before it have been gone through. So one in
 * which something is wrong is gone through again then, and the error names the right line.
 */
#include "row_batch.h"

#include <stdlib.h>
#include <string.h>

enum { CHUNK_BYTES = 512 << 10 };

void row_batch_open(row_batch *b, scan_type type, bool parses) {
    b->type = type;
    b->parses = parses;
    memset(&b->types, 0, sizeof b->types);
    if (!b->is_table) {
        text_chunks_open(&b->lines, b->in, CHUNK_BYTES, false);
        b->line = 0;
        return;
    }
    table_chunks_open(&b->rows, b->in, &b->job->dialect);
    const table *head = &b->rows.head;
    b->index = table_find(head, b->job->key);
    b->line = input_count_bytes(head->bytes, head->bytes + head->head_bytes, '\n');
}

typedef struct parsing {
    const row_batch *b;
    row_slot *own;
} parsing;

static void parse(void *arg) {
    const parsing *a = arg;
    row_slot *own = a->own;
    if (!a->b->is_table) {
        text_parse(&own->lines.t, a->b->type == SCAN_F64, NULL, 1);
        own->values = own->lines.t.values;
        return;
    }
    table *t = &own->rows.t;
    table_find_rows(&own->rows);
    own->values.n = t->n;
    if (a->b->parses && a->b->type == SCAN_F64)
        table_floats(t, a->b->index, &own->values, 1);
    else if (a->b->parses)
        table_numbers(t, a->b->index, &own->values, NULL, 1);
}

static void parse_slot(void *arg, size_t i) {
    row_batch *b = arg;
    row_slot *own = &b->slots[i];
    own->failed = !die_catch(&own->error, parse, &(parsing){b, own});
}

static void refuse(const void *arg, const column_fault *fault) {
    const parsing *a = arg;
    if (a->b->is_table)
        table_refuse_number(&a->own->rows.t, a->b->index, fault, NULL);
    text_refuse_number(&a->own->lines.t, fault, NULL);
}

/* In the order of the chunks: dies of what is wrong in one, and of what is wrong with it and those before it. */
static void settle(row_batch *b, row_slot *own) {
    parsing a = {b, own};
    if (b->is_table)
        table_chunk_place(&own->rows, b->line);
    if (own->failed && b->is_table) {
        free(own->rows.t.starts);
        own->rows.t.starts = NULL;
        parse(&a);
    }
    if (own->failed)
        rethrow_fatal(&own->error);
    if (b->is_table)
        b->line += table_chunk_lines(&own->rows);
    if (b->parses)
        column_types_add(&b->types, &own->values, refuse, &a);
    column_types_check(&b->types);
    b->n += own->values.n;
}

static bool read_slot(row_batch *b, row_slot *own) {
    if (b->is_table) {
        free(own->values.data);
        own->values.data = NULL;
        return table_chunks_next(&b->rows, &own->rows);
    }
    if (!text_chunks_next(&b->lines, &own->lines))
        return false;
    text *t = &own->lines.t;
    t->lines_before = b->line;
    b->line += input_count_bytes(t->bytes, t->bytes + t->n_bytes, '\n');
    return true;
}

bool row_batch_next(row_batch *b) {
    const size_t wanted = b->threads < ROW_BATCH_MAX / 4 ? 4 * b->threads : ROW_BATCH_MAX;
    b->n = 0;
    for (b->count = 0; b->count < wanted && read_slot(b, &b->slots[b->count]);)
        b->count++;
    parallel_for(b->threads, b->count, parse_slot, b);
    for (size_t i = 0; i < b->count; i++)
        settle(b, &b->slots[i]);
    return b->count > 0;
}

void row_batch_close(row_batch *b) {
    if (b->is_table)
        table_chunks_close(&b->rows);
    else
        text_chunks_close(&b->lines);
}

void row_batch_free(row_batch *b) {
    for (size_t i = 0; i < ROW_BATCH_MAX; i++) {
        text_chunk_free(&b->slots[i].lines);
        table_chunk_free(&b->slots[i].rows);
        if (b->is_table)
            free(b->slots[i].values.data);
    }
    row_batch_close(b);
    free(b);
}
