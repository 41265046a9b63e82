/* SPDX-License-Identifier: MIT
 *
 * prefix on text and tables, in batches of rows, so that memory does not grow with the input. The result of a text is
 * lines of numbers; a table keeps its rows and gets one more column. A missing field of a table counts as the identity
 * and stays missing in the new column.
 *
 * The type of the column follows from all of its numbers (column.h), and the results from the type. It is taken to be
 * the one of the numbers so far: integers, until there is a float. If it turns out to be another, all begins anew: a
 * file is read again, a pipe from a spool (input_keep), and the output is taken back. Stdout cannot be taken back: for
 * it the input is gone through twice, the first time for its type alone, until there is a float or to its end, unless
 * --out-dtype admits no other type.
 *
 * In reverse the results of the first rows are known last. The values go to a spool, which is scanned from its end, in
 * place; then the results are read from its beginning, together with the rows of a table, which are read once more.
 */
#include <stdlib.h>
#include <string.h>

#include "apps/support/alloc.h"
#include "apps/support/die.h"
#include "apps/support/ranks.h"
#include "apps/support/report.h"
#include "apps/support/rows.h"
#include "apps/support/spool.h"
#include "column_batch.h"
#include "value_stream.h"

typedef struct work {
    const prefix_job *job;
    input *in;
    session *s;
    column_batch *batch;
    value_stream values;
    bool computes;       /* the job is one for values of this type */
    fatal_error refusal; /* else */
    bool known;          /* the input was gone through for its type */
    bool certain;        /* no other type can follow */
    spool spool;         /* reverse: values, then results */
    uint64_t n;
} work;

/* ---- one batch --------------------------------------------------------------------------------------------------- */

/* All values of the batch, a missing one as the identity. */
static void take_values(const work *w, uint64_t *to) {
    for (size_t i = 0; i < w->batch->count; i++) {
        const column *c = &w->batch->slots[i].values;
        row_fill_missing(w->job, c, to);
        to += c->n;
    }
}

static void mark_missing(const work *w, uint64_t *results) {
    for (size_t i = 0; i < w->batch->count; i++) {
        const column *c = &w->batch->slots[i].values;
        row_mark_missing(c, results);
        results += c->n;
    }
}

/* Those of this rank's chunks. */
static void write_results(const work *w, const uint64_t *results) {
    const column_batch *b = w->batch;
    row_part parts[COLUMN_BATCH_MAX];
    size_t count = 0, n = 0;
    for (size_t i = 0; i < b->first; i++)
        results += b->slots[i].values.n;
    for (size_t i = b->first; i < b->end; i++) {
        parts[count++] = (row_part){&b->slots[i].rows.t, results + n};
        n += b->slots[i].values.n;
    }
    if (b->is_table)
        row_write(w->job->out, parts, count, w->values.desc.out_type, b->threads);
    else
        rows_write_numbers(w->job->out, w->values.desc.out_type, results, n, b->threads, NULL);
    output_turn(w->job->out);
}

static void scan_batch(work *w) {
    take_values(w, value_stream_room(&w->values, w->batch->n));
    uint64_t *results = value_stream_scan(&w->values, w->batch->n);
    mark_missing(w, results);
    write_results(w, results);
}

static void keep_batch(work *w) {
    const size_t n = w->batch->n;
    uint64_t *values = value_stream_room(&w->values, n);
    for (size_t i = 0, at = 0; i < w->batch->count; i++) {
        const column *c = &w->batch->slots[i].values;
        memcpy(values + at, c->data, c->n * sizeof *values);
        at += c->n;
    }
    spool_write(&w->spool, values, n * sizeof *values, w->n * sizeof *values);
}

/* ---- in reverse -------------------------------------------------------------------------------------------------- */

/* Values beside their results: pieces of whole groups from the end. */
enum { PIECE = 2 * VALUE_GROUP };

static void scan_piece(work *w, uint64_t *raw, uint64_t *values, uint64_t *results, uint64_t first, size_t n) {
    column c = {.type = w->values.desc.type, .n = n, .u64 = raw};
    spool_read(&w->spool, raw, n * sizeof *raw, first * sizeof *raw);
    for (size_t i = 0; w->values.desc.type == SCAN_F64 && i < n; i++)
        c.missing += raw[i] == COLUMN_MISSING_BITS;
    row_fill_missing(w->job, &c, values);
    value_stream_scan_before(&w->values, values, results, n, first);
    row_mark_missing(&c, results);
    spool_write(&w->spool, results, n * sizeof *results, first * sizeof *results);
}

static void scan_from_end(work *w) {
    uint64_t *room = must_alloc(3 * PIECE, sizeof *room);
    for (uint64_t end = w->n; end > 0;) {
        uint64_t first = end > PIECE ? end - PIECE : 0;
        scan_piece(w, room, room + PIECE, room + 2 * PIECE, first, (size_t)(end - first));
        end = first;
    }
    free(room);
}

static void write_lines(const work *w) {
    uint64_t *room = must_alloc(PIECE, sizeof *room);
    for (uint64_t done = 0; done < w->n;) {
        size_t n = w->n - done < PIECE ? (size_t)(w->n - done) : PIECE;
        spool_read(&w->spool, room, n * sizeof *room, done * sizeof *room);
        const ranks_part own = ranks_part_of(n);
        rows_write_numbers(w->job->out, w->values.desc.out_type, room + own.first, (size_t)own.count, w->batch->threads,
                           NULL);
        output_turn(w->job->out);
        done += n;
    }
    free(room);
}

static void write_rows(work *w) {
    column_batch *b = w->batch;
    column_batch_close(b);
    input_rewind(w->in);
    column_batch_open(b, b->type, false);
    uint64_t done = 0;
    for (; column_batch_next(b) && b->n <= w->n - done; done += b->n) {
        uint64_t *room = value_stream_room(&w->values, b->n);
        spool_read(&w->spool, room, b->n * sizeof *room, done * sizeof *room);
        write_results(w, room);
    }
    if (b->count || done != w->n)
        die(EXIT_IO, "%s: changed while it was read: it had %llu rows at first", w->in->name, (unsigned long long)w->n);
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

static void open_values(void *arg) {
    work *w = arg;
    value_stream_open(&w->values, w->job, w->s, w->in->name, w->batch->type);
}

static void write_head(const work *w) {
    const column_batch *b = w->batch;
    if (ranks_own() > 0)
        return;
    if (b->is_table)
        row_write_header(w->job, &b->rows.head, b->index);
    else
        output_write(w->job->out, b->lines.mark, b->lines.mark_bytes);
}

/* For the type w->batch->type. What is wrong with the job is said when no other type can follow. */
static void begin(work *w) {
    const scan_type type = w->batch->type;
    w->certain = w->known || type == SCAN_F64 || w->job->out_dtype == type;
    w->computes = die_catch(&w->refusal, open_values, w);
    report_enter(PHASE_OTHER);
    if (!w->computes && w->certain)
        rethrow_fatal(&w->refusal);
    if (w->certain && !(w->job->reverse && w->batch->is_table))
        input_keep_no_more(w->in);
    if (w->certain)
        output_write_head(w->job->out, "", 0);
    write_head(w);
    w->n = 0;
}

/* Integers that fit i64 go as u64 too. */
static bool is_other(scan_type found, scan_type type) {
    return found != type && !(type == SCAN_U64 && found == SCAN_I64);
}

/* Returns false if the type is another. */
static bool go_through(work *w) {
    column_batch *b = w->batch;
    while (column_batch_next(b)) {
        if (is_other(column_types_result(&b->types), b->type))
            return false;
        if (w->computes && w->job->reverse)
            keep_batch(w);
        else if (w->computes)
            scan_batch(w);
        w->n += b->n;
        report_progress(w->in->taken, w->in->extent.size);
    }
    return true;
}

/* The input once more, from its beginning, with the type that was found. */
static void read_again(work *w) {
    column_batch *b = w->batch;
    b->type = column_types_result(&b->types);
    column_batch_close(b);
    input_rewind(w->in);
    column_batch_open(b, b->type, true);
}

static void find_type(work *w) {
    column_batch *b = w->batch;
    report_stage("finding the type ");
    while (column_batch_next(b) && column_types_result(&b->types) != SCAN_F64)
        report_progress(w->in->taken, w->in->extent.size);
    w->known = true;
    read_again(w);
    report_stage("");
}

static void begin_anew(work *w) {
    if (w->known)
        die(EXIT_IO, "%s: changed while it was read: its numbers had another type at first", w->in->name);
    read_again(w);
    value_stream_close(&w->values);
    if (w->certain)
        open_values(w); /* dies: no other type goes with --out-dtype */
    output_rewind(w->job->out);
    spool_clear(&w->spool);
    begin(w);
}

static void scan_rows(const prefix_job *job, input *in, session *s, bool is_table) {
    work w = {.job = job, .in = in, .s = s};
    column_batch *b = w.batch = must_alloc(1, sizeof *b);
    memset(b, 0, sizeof *b);
    b->job = job;
    b->in = in;
    b->is_table = is_table;
    b->threads = parallel_threads(job->common->threads);
    output_reserve_head(job->out, 0);
    if (job->out_dtype != SCAN_I64 || (job->reverse && is_table))
        input_keep(in);
    column_batch_open(b, SCAN_I64, true);
    if (is_table && b->rows.head.columns && ranks_own() == 0)
        table_warn_of_header(&b->rows.head, b->index, false);
    prefix_choose(job, s, &(scan_prefix_desc){.type = SCAN_I64, .out_type = SCAN_I64, .op = job->op},
                  in->extent.size / sizeof(uint64_t) + 1);
    if (output_waits(job->out) && !job->reverse && job->out_dtype != SCAN_I64)
        find_type(&w);
    begin(&w);
    while (!go_through(&w))
        begin_anew(&w);
    if (!w.computes)
        rethrow_fatal(&w.refusal);
    if (output_waits(job->out)) /* the type is certain now */
        output_write_head(job->out, "", 0);
    if (job->reverse)
        scan_from_end(&w);
    if (job->reverse && is_table)
        write_rows(&w);
    else if (job->reverse)
        write_lines(&w);
    prefix_report_types(&w.values.desc, is_table ? "rows" : "elements", w.n);
    spool_clear(&w.spool);
    value_stream_close(&w.values);
    column_batch_free(b);
}

void prefix_text(const prefix_job *job, input *in, session *s) {
    if (!prefix_is_whole(job)) {
        scan_rows(job, in, s, false);
        return;
    }
    ranks_refuse("lines are scanned in pieces, which this --algorithm does not do");
    prefix_text_whole(job, in, s);
}

void prefix_table(const prefix_job *job, input *in, session *s) {
    if (!prefix_is_whole(job)) {
        scan_rows(job, in, s, true);
        return;
    }
    ranks_refuse("rows are scanned in pieces, which this --algorithm does not do");
    prefix_table_whole(job, in, s);
}
