/* SPDX-License-Identifier: MIT
 *
 * prefix on text and tables, and on other arrays that are scanned as a whole. The result of a text is lines of numbers;
 * a table keeps its rows and gets one more column. A missing field of a table counts as the identity and stays missing
 * in the new column.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apps/support/alloc.h"
#include "apps/support/die.h"
#include "apps/support/number.h"
#include "apps/support/parallel.h"
#include "apps/support/report.h"
#include "apps/support/rows.h"
#include "apps/support/table.h"
#include "apps/support/text.h"
#include "prefix.h"

enum { BLOCK_BYTES = 256 << 10 };

/* ---- a whole array ----------------------------------------------------------------------------------------------- */

typedef struct scanning {
    const prefix_job *job;
    scan_prefix_desc desc;
    const void *values;
    void *result;
    size_t n;
} scanning;

static scan_status scan_values(void *arg, session *s) {
    const scanning *a = arg;
    scan_prefix_desc desc = a->desc;
    size_t out_bytes = a->n * scan_type_size(desc.out_type);
    void *in, *out;
    desc.algorithm = prefix_algorithm(a->job, s, s->on_host);
    SESSION_TRY(session_upload(s, a->values, a->n * scan_type_size(desc.type), &in));
    SESSION_TRY(session_alloc_result(s, a->result, out_bytes, &out));
    SESSION_TRY(scan_prefix(s->ctx, &desc, in, out, a->n));
    SESSION_TRY(session_wait(s));
    return session_download(s, a->result, out, out_bytes);
}

void *prefix_whole(const prefix_job *job, session *s, const char *name, const scan_prefix_desc *desc,
                   const void *values, size_t n) {
    void *result = must_alloc(n, scan_type_size(desc->out_type));
    prefix_check check;
    if (job->common->verify)
        prefix_check_begin(&check, desc);
    prefix_choose(job, s, desc, n);
    session_try(s, name, scan_values, &(scanning){job, *desc, values, result, n});
    report_moved(PHASE_COMPUTE, n * (scan_type_size(desc->type) + scan_type_size(desc->out_type)));
    if (job->common->verify) {
        report_phase before = report_enter(PHASE_VERIFY);
        size_t wrong = prefix_check_run(&check, values, result, n, job->reverse);
        if (wrong != n)
            die(EXIT_NEGATIVE, "%s: verification failed: element %zu of the result is wrong", name, wrong);
        report_enter(before);
    }
    prefix_normalize(desc, false, result, n);
    return result;
}

static void report_types(const scan_prefix_desc *desc, const char *what, size_t n) {
    report_text("type", scan_type_name(desc->type));
    report_text("out_type", scan_type_name(desc->out_type));
    report_number(what, n);
}

/* ---- text -------------------------------------------------------------------------------------------------------- */

void prefix_text(const prefix_job *job, input *in, session *s) {
    unsigned threads = parallel_threads(job->common->threads);
    text t;
    prefix_value init;
    text_read(&t, in, NULL, threads);
    scan_prefix_desc desc = prefix_describe(job, in->name, t.values.type, &init);
    void *result = prefix_whole(job, s, in->name, &desc, t.values.data, t.n);
    output_write(job->out, t.bytes, t.head_bytes);
    rows_write_numbers(job->out, desc.out_type, result, t.n, threads, NULL);
    report_types(&desc, "elements", t.n);
    free(result);
    text_free(&t);
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

typedef struct append {
    const table *t;
    const column *values;
    scan_type type;
    size_t size;
    const char *result;
    const size_t *first; /* of each block: its first row; one more at the end */
} append;

/* As number_format, with the dialect's character for the point. */
static size_t write_number(const table *t, char *to, scan_type type, const void *value) {
    size_t bytes = number_format(to, type, value);
    char *point = t->dialect->decimal != '.' ? memchr(to, '.', bytes) : NULL;
    if (point)
        *point = t->dialect->decimal;
    return bytes;
}

static size_t append_block(void *arg, size_t block, unsigned char *buffer) {
    const append *a = arg;
    const table *t = a->t;
    unsigned char *to = buffer;
    for (size_t row = a->first[block]; row < a->first[block + 1]; row++) {
        size_t bytes = table_row_bytes(t, row);
        const unsigned char *from = t->bytes + t->starts[row];
        memcpy(to, from, bytes);
        to += bytes;
        *to++ = (unsigned char)t->delimiter;
        if (!a->values->missing || a->values->u64[row] != COLUMN_MISSING_BITS)
            to += write_number(t, (char *)to, a->type, a->result + row * a->size);
        size_t end_bytes = (size_t)(t->starts[row + 1] - t->starts[row]) - bytes;
        memcpy(to, from + bytes, end_bytes);
        to += end_bytes;
    }
    return (size_t)(to - buffer);
}

/* Cuts the rows into blocks of about BLOCK_BYTES and writes each with its new field. */
static void write_rows(output *out, append *a, unsigned threads) {
    const table *t = a->t;
    size_t field_bytes = 1 + NUMBER_FORMAT_BYTES, blocks = 0, largest = 0, bytes = 0;
    size_t *first = must_alloc(t->n + 2, sizeof *first);
    for (size_t row = 0; row < t->n; row++) {
        size_t row_bytes = (size_t)(t->starts[row + 1] - t->starts[row]) + field_bytes;
        if (row == 0 || bytes + row_bytes > BLOCK_BYTES) {
            first[blocks++] = row;
            bytes = 0;
        }
        bytes += row_bytes;
        largest = bytes > largest ? bytes : largest;
    }
    first[blocks] = t->n;
    a->first = first;
    rows_stream(out, blocks, largest, append_block, a, threads, NULL);
    free(first);
}

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

static void write_header(const prefix_job *job, const table *t, size_t index) {
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

/* Values with the identity where a field is missing: a column with missing fields is f64. */
static void *fill_missing(const prefix_job *job, const column *c) {
    const double identity = prefix_float_identity(job->op);
    double *values = must_alloc(c->n, sizeof *values);
    for (size_t i = 0; i < c->n; i++)
        values[i] = c->u64[i] == COLUMN_MISSING_BITS ? identity : c->f64[i];
    return values;
}

void prefix_table(const prefix_job *job, input *in, session *s) {
    unsigned threads = parallel_threads(job->common->threads);
    table t;
    column c = {.type = SCAN_I64};
    prefix_value init;
    table_read(&t, in, &job->dialect, threads);
    size_t index = table_find(&t, job->key);
    if (t.columns)
        table_warn_of_header(&t, index, false);
    if (t.columns)
        table_numbers(&t, index, &c, NULL, threads);
    scan_prefix_desc desc = prefix_describe(job, in->name, c.type, &init);
    void *filled = c.missing ? fill_missing(job, &c) : NULL;
    void *result = prefix_whole(job, s, in->name, &desc, filled ? filled : c.data, t.n);
    write_header(job, &t, index);
    append a = {.t = &t, .values = &c, .type = desc.out_type, .size = scan_type_size(desc.out_type), .result = result};
    write_rows(job->out, &a, threads);
    report_types(&desc, "rows", t.n);
    free(filled);
    free(result);
    free(c.data);
    table_free(&t);
}
