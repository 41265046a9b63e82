/* SPDX-License-Identifier: MIT
 *
 * The number of lines before a chunk of a table is known when all chunks before it have been gone through. So one in
 * which something is wrong is gone through again then, and the error names the right line.
 */
#include "column_batch.h"

#include <stdlib.h>
#include <string.h>

#include "apps/support/alloc.h"
#include "apps/support/ranks.h"

enum { CHUNK_BYTES = 512 << 10 };

void column_batch_open(column_batch *b, scan_type type, bool parses) {
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
    const column_batch *b;
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
    column_batch *b = arg;
    row_slot *own = &b->slots[b->first + i];
    own->failed = !die_catch(&own->error, parse, &(parsing){b, own});
}

static void refuse(const void *arg, const column_fault *fault) {
    const parsing *a = arg;
    if (a->b->is_table && !a->own->rows.t.starts)
        table_find_rows(&a->own->rows);
    if (a->b->is_table)
        table_refuse_number(&a->own->rows.t, a->b->index, fault, NULL);
    text_refuse_number(&a->own->lines.t, fault, NULL);
}

/* In the order of the chunks: dies of what is wrong in one, and of what is wrong with it and those before it. */
static void settle(column_batch *b, row_slot *own) {
    parsing a = {b, own};
    if (b->is_table)
        table_chunk_place(&own->rows, b->line);
    const bool elsewhere = own < b->slots + b->first || own >= b->slots + b->end;
    if (own->failed && elsewhere)
        ranks_add(0); /* which ends this one, too */
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

static bool read_slot(column_batch *b, row_slot *own) {
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

/* ---- ranks ------------------------------------------------------------------------------------------------------- */

/* A chunk for other ranks; its values follow. */
typedef struct parsed_chunk {
    column values;
    bool failed;
} parsed_chunk;

static size_t value_bytes(const column_batch *b, const column *c) { return b->parses ? c->n * sizeof *c->u64 : 0; }

/* This rank's chunks, one behind another. */
static unsigned char *pack(const column_batch *b, size_t *bytes) {
    *bytes = 0;
    for (size_t i = b->first; i < b->end; i++)
        *bytes += sizeof(parsed_chunk) + (b->slots[i].failed ? 0 : value_bytes(b, &b->slots[i].values));
    unsigned char *packed = must_alloc(*bytes, 1), *to = packed;
    for (size_t i = b->first; i < b->end; i++) {
        const row_slot *own = &b->slots[i];
        const parsed_chunk chunk = {own->values, own->failed};
        const size_t more = own->failed ? 0 : value_bytes(b, &own->values);
        memcpy(to, &chunk, sizeof chunk);
        to += sizeof chunk;
        if (more)
            memcpy(to, own->values.data, more);
        to += more;
    }
    return packed;
}

static void share_values(column_batch *b) {
    size_t bytes, total;
    unsigned char *packed = pack(b, &bytes), *from = ranks_collect(packed, bytes, &total);
    free(packed);
    b->others = from;
    for (size_t i = 0; i < b->count; i++) {
        row_slot *own = &b->slots[i];
        parsed_chunk chunk;
        memcpy(&chunk, from, sizeof chunk);
        from += sizeof chunk;
        const size_t more = chunk.failed ? 0 : value_bytes(b, &chunk.values);
        if (i < b->first || i >= b->end) {
            own->values = chunk.values;
            own->values.data = more ? from : NULL;
            own->failed = chunk.failed;
        }
        from += more;
    }
}

static void forget_others(column_batch *b) {
    for (size_t i = 0; i < b->count && b->others; i++)
        if (i < b->first || i >= b->end)
            b->slots[i].values.data = NULL;
    free(b->others);
    b->others = NULL;
}

/* ---- the batch --------------------------------------------------------------------------------------------------- */

static void read_batch(column_batch *b) {
    const bool all = ranks_several() || b->threads >= COLUMN_BATCH_MAX / 4;
    const size_t wanted = all ? COLUMN_BATCH_MAX : 4 * b->threads;
    forget_others(b);
    b->n = 0;
    for (b->count = 0; b->count < wanted && read_slot(b, &b->slots[b->count]);)
        b->count++;
    const ranks_part own = ranks_part_of(b->count);
    b->first = (size_t)own.first;
    b->end = (size_t)(own.first + own.count);
    parallel_for(b->threads, (size_t)own.count, parse_slot, b);
    if (ranks_several())
        share_values(b);
    for (size_t i = 0; i < b->count; i++)
        settle(b, &b->slots[i]);
}

bool column_batch_next(column_batch *b) {
    do
        read_batch(b);
    while (b->count > 0 && b->n == 0); /* chunks of comments alone */
    return b->count > 0;
}

void column_batch_close(column_batch *b) {
    forget_others(b);
    if (b->is_table)
        table_chunks_close(&b->rows);
    else
        text_chunks_close(&b->lines);
}

void column_batch_free(column_batch *b) {
    for (size_t i = 0; i < COLUMN_BATCH_MAX; i++) {
        text_chunk_free(&b->slots[i].lines);
        table_chunk_free(&b->slots[i].rows);
        if (b->is_table)
            free(b->slots[i].values.data);
    }
    column_batch_close(b);
    free(b);
}
