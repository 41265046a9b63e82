/* SPDX-License-Identifier: MIT */
#include "row_write.h"

#include <stdlib.h>
#include <string.h>

#include "apps/support/alloc.h"
#include "apps/support/number.h"
#include "apps/support/rows.h"

enum { BLOCK_BYTES = 256 << 10 };

/* ---- the header -------------------------------------------------------------------------------------------------- */

/* Writes the name of the new column, in quotes where CSV needs them. */
static void write_name(output *out, const table *t, const char *name, const char *op) {
    const char special[] = {t->delimiter, '"', '\r', '\n', 0};
    bool quoted = strpbrk(name, special) != NULL;
    output_write(out, "\"", quoted);
    for (const char *p = name; *p; p++)
        output_write(out, *p == '"' ? "\"\"" : p, *p == '"' ? 2 : 1);
    output_write(out, "_", 1);
    output_write(out, op, strlen(op));
    output_write(out, "\"", quoted);
}

void row_write_header(const prefix_job *job, const table *t, size_t index) {
    size_t end = t->head_bytes;
    if (t->has_names && end && t->bytes[end - 1] == '\n')
        end -= end > 1 && t->bytes[end - 2] == '\r' ? 2 : 1;
    output_write(job->out, t->bytes, end);
    if (t->has_names) {
        char *name = table_name(t, index);
        output_write(job->out, &t->delimiter, 1);
        write_name(job->out, t, name, scan_op_name(job->op));
        free(name);
    }
    output_write(job->out, t->bytes + end, t->head_bytes - end);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

/* Rows that are written together, of one part. */
typedef struct block {
    const row_part *part;
    size_t first, end;
} block;

typedef struct append {
    scan_type type;
    block *blocks;
    size_t count, room;
} append;

/* As number_format, with the dialect's character for the point. */
static size_t write_number(const table *t, char *to, scan_type type, const void *value) {
    size_t bytes = number_format(to, type, value);
    char *point = t->dialect->decimal != '.' ? memchr(to, '.', bytes) : NULL;
    if (point)
        *point = t->dialect->decimal;
    return bytes;
}

static size_t append_block(void *arg, size_t i, unsigned char *buffer) {
    const append *a = arg;
    const block *own = &a->blocks[i];
    const table *t = own->part->t;
    unsigned char *to = buffer;
    for (size_t row = own->first; row < own->end; row++) {
        const uint64_t *result = &own->part->results[row];
        size_t bytes = table_row_bytes(t, row);
        const unsigned char *from = t->bytes + t->starts[row];
        memcpy(to, from, bytes);
        to += bytes;
        *to++ = (unsigned char)t->delimiter;
        if (a->type != SCAN_F64 || *result != COLUMN_MISSING_BITS)
            to += write_number(t, (char *)to, a->type, result);
        size_t end_bytes = (size_t)(t->starts[row + 1] - t->starts[row]) - bytes;
        memcpy(to, from + bytes, end_bytes);
        to += end_bytes;
    }
    return (size_t)(to - buffer);
}

static void begin_block(append *a, const row_part *part, size_t row) {
    if (a->count == a->room) {
        a->room = 2 * a->room + 16;
        a->blocks = must_realloc(a->blocks, a->room, sizeof *a->blocks);
    }
    a->blocks[a->count++] = (block){.part = part, .first = row};
}

/* Cuts the rows of a part into blocks of about BLOCK_BYTES; returns the bytes of the largest, new fields included. */
static size_t cut_part(append *a, const row_part *part) {
    const table *t = part->t;
    size_t bytes = 0, largest = 0;
    for (size_t row = 0; row < t->n; row++) {
        size_t row_bytes = (size_t)(t->starts[row + 1] - t->starts[row]) + 1 + NUMBER_FORMAT_BYTES;
        if (row == 0 || bytes + row_bytes > BLOCK_BYTES) {
            begin_block(a, part, row);
            bytes = 0;
        }
        bytes += row_bytes;
        largest = bytes > largest ? bytes : largest;
        a->blocks[a->count - 1].end = row + 1;
    }
    return largest;
}

void row_write(output *out, const row_part *parts, size_t part_count, scan_type type, unsigned threads) {
    append a = {.type = type};
    size_t largest = 0;
    for (size_t i = 0; i < part_count; i++) {
        size_t bytes = cut_part(&a, &parts[i]);
        largest = bytes > largest ? bytes : largest;
    }
    rows_stream(out, a.count, largest, append_block, &a, threads, NULL);
    free(a.blocks);
}

/* ---- missing fields ---------------------------------------------------------------------------------------------- */

void row_fill_missing(const prefix_job *job, const column *c, uint64_t *values) {
    const double identity = c->missing ? prefix_float_identity(job->op) : 0;
    uint64_t bits;
    memcpy(&bits, &identity, sizeof bits);
    for (size_t i = 0; i < c->n; i++)
        values[i] = c->missing && c->u64[i] == COLUMN_MISSING_BITS ? bits : c->u64[i];
}

void row_mark_missing(const column *c, uint64_t *results) {
    for (size_t i = 0; c->missing && i < c->n; i++)
        results[i] = c->u64[i] == COLUMN_MISSING_BITS ? COLUMN_MISSING_BITS : results[i];
}
