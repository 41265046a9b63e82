/* SPDX-License-Identifier: MIT
 *
 * compact on tables in chunks of rows: while one is read, or decompressed, and another is written, others are searched.
 * A chunk goes through the same functions as a whole table would, on one thread.
 *
 * Three things are known only when all chunks before one are done: the number of its first line and row, and of which
 * types its columns are. So a chunk in which something is wrong is gone through again when its turn to be written has
 * come, and the error then names the right line; and types are compared with those of other chunks there (merge_types).
 * If the expression asks for the row's index, rows are counted as they are read.
 */
#include <stdlib.h>
#include <string.h>

#include "apps/support/alloc.h"
#include "apps/support/die.h"
#include "apps/support/parallel.h"
#include "apps/support/pipeline.h"
#include "apps/support/report.h"
#include "apps/support/table_chunks.h"
#include "table_rows.h"

/* Rows as they are written. */
typedef struct text_buffer {
    unsigned char *bytes;
    size_t n_bytes, room;
} text_buffer;

typedef struct slot {
    table_chunk chunk;
    uint64_t base; /* index of the first row, where the expression asks for it or something is wrong */
    bool failed;
    fatal_error error;
    selection kept;
    text_buffer kept_text, rejected_text;
    column numbers[SCAN_MAX_COLUMNS]; /* without values */
    uint64_t moved_bytes;
} slot;

/* What the chunks so far say about the type of a column. */
typedef struct column_types {
    bool any_float, any_negative, any_beyond, any_above;
    fatal_error beyond, above; /* about the first integer beyond 2^53, and the first above 2^63 - 1 */
} column_types;

typedef struct stream {
    const compact_job *job;
    table_chunks chunks;
    table_query query;
    slot *slots;
    session *main; /* of worker 0 */
    session *helpers;
    uint64_t rows_read; /* where the expression asks for them */
    uint64_t rows, kept;
    size_t lines; /* of the chunks that are written */
    column_types *types;
    uint64_t *indices; /* of what is kept, for --indices */
    size_t indices_room;
} stream;

/* ---- one chunk --------------------------------------------------------------------------------------------------- */

/* Copies rows, those that follow each other at once. */
static void gather(text_buffer *to, const table *t, const selection *s, uint64_t base) {
    if (to->room < t->n_bytes) {
        free(to->bytes);
        to->bytes = must_alloc(t->n_bytes, 1);
        to->room = t->n_bytes;
    }
    to->n_bytes = 0;
    for (size_t i = 0, run; i < s->count; i += run) {
        uint64_t first = selection_at(s, i);
        for (run = 1; i + run < s->count && selection_at(s, i + run) == first + run;)
            run++;
        size_t begin = t->starts[first - base], bytes = t->starts[first - base + run] - begin;
        memcpy(to->bytes + to->n_bytes, t->bytes + begin, bytes);
        to->n_bytes += bytes;
    }
}

typedef struct searching {
    const stream *all;
    slot *chunk;
    session *session;
} searching;

static void search(void *arg) {
    const searching *a = arg;
    slot *own = a->chunk;
    const compact_job *job = a->all->job;
    selection rest;
    source from;
    if (!own->chunk.t.starts)
        table_find_rows(&own->chunk);
    table_query_read(&a->all->query, &own->chunk.t, own->base, &from, own->numbers, 1);
    source_choose(job, a->session, &from, &own->kept, &rest);
    if (!job->count_only)
        gather(&own->kept_text, &own->chunk.t, &own->kept, own->base);
    if (job->rejected_out)
        gather(&own->rejected_text, &own->chunk.t, &rest, own->base);
    own->moved_bytes = source_bytes(&from) + own->kept.count * scan_type_size(own->kept.type);
    free(rest.indices);
    table_source_free(&from);
}

static void search_chunk(void *arg, size_t i, unsigned worker) {
    stream *all = arg;
    slot *own = &all->slots[i];
    session *s = worker ? &all->helpers[worker - 1] : all->main;
    if (!own->failed)
        own->failed = !die_catch(&own->error, search, &(searching){all, own, s});
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static void find_rows(void *arg) { table_find_rows(arg); }

static bool read_chunk(void *arg, size_t i) {
    stream *all = arg;
    slot *own = &all->slots[i];
    if (!table_chunks_next(&all->chunks, &own->chunk))
        return false;
    own->base = all->rows_read;
    own->failed = all->query.has_index && !die_catch(&own->error, find_rows, &own->chunk);
    if (all->query.has_index && !own->failed)
        all->rows_read += own->chunk.t.n;
    return true;
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

typedef struct refusal {
    const table *t;
    size_t index;
    column_fault fault;
} refusal;

static void refuse(void *arg) {
    const refusal *r = arg;
    table_refuse_number(r->t, r->index, &r->fault, NULL);
}

/* The rules of column.h, for all chunks together. */
static void merge_types(stream *all, const slot *own) {
    for (uint32_t k = 0; k < all->query.number_count; k++) {
        const column *c = &own->numbers[k];
        column_types *to = &all->types[k];
        refusal r = {.t = &own->chunk.t, .index = all->query.number_index[k]};
        to->any_float |= c->type == SCAN_F64;
        to->any_negative |= c->any_negative;
        if (c->beyond != COLUMN_NOWHERE && !to->any_beyond) {
            r.fault = (column_fault){.row = c->beyond, .complaint = COLUMN_BEYOND};
            to->any_beyond = !die_catch(&to->beyond, refuse, &r);
        }
        if (c->above != COLUMN_NOWHERE && !to->any_above) {
            r.fault = (column_fault){.row = c->above, .complaint = COLUMN_ABOVE};
            to->any_above = !die_catch(&to->above, refuse, &r);
        }
    }
}

static void check_types(const stream *all) {
    for (uint32_t k = 0; k < all->query.number_count; k++) {
        const column_types *types = &all->types[k];
        if (types->any_float && types->any_beyond)
            rethrow_fatal(&types->beyond);
        if (!types->any_float && types->any_negative && types->any_above)
            rethrow_fatal(&types->above);
    }
}

static void add_indices(stream *all, const slot *own) {
    if (all->indices_room - all->kept < own->kept.count) {
        all->indices_room = 2 * all->indices_room + own->kept.count;
        all->indices = must_realloc(all->indices, all->indices_room, sizeof *all->indices);
    }
    for (size_t i = 0; i < own->kept.count; i++)
        all->indices[all->kept + i] = all->rows - own->base + selection_at(&own->kept, i);
}

static void write_chunk(void *arg, size_t i) {
    stream *all = arg;
    slot *own = &all->slots[i];
    table_chunk_place(&own->chunk, all->lines);
    if (own->failed) {
        free(own->chunk.t.starts);
        own->chunk.t.starts = NULL;
        own->base = all->rows;
        search(&(searching){all, own, all->main});
        rethrow_fatal(&own->error); /* what has no place, such as too little memory */
    }
    merge_types(all, own);
    if (!all->job->count_only)
        output_write(all->job->kept_out, own->kept_text.bytes, own->kept_text.n_bytes);
    if (all->job->rejected_out)
        output_write(all->job->rejected_out, own->rejected_text.bytes, own->rejected_text.n_bytes);
    if (all->job->indices_out)
        add_indices(all, own);
    all->rows += own->chunk.t.n;
    all->kept += own->kept.count;
    all->lines += table_chunk_lines(&own->chunk);
    report_moved(PHASE_COMPUTE, own->moved_bytes);
    free(own->kept.indices);
}

static void write_index_list(const stream *all) {
    selection kept = {.type = SCAN_U64, .indices = all->indices, .count = all->kept};
    for (size_t i = 0; all->rows <= UINT32_MAX && i < all->kept; i++) {
        uint32_t narrow = (uint32_t)all->indices[i];
        memcpy((char *)all->indices + i * sizeof narrow, &narrow, sizeof narrow);
    }
    kept.type = all->rows <= UINT32_MAX ? SCAN_U32 : SCAN_U64;
    source_write_indices(all->job, &kept);
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

/* Rows for stdout and pipes wait until the whole table is known to be without fault. */
static void begin_rows(output *out, const table *head) {
    output_reserve_head(out, 0);
    output_write(out, head->bytes, head->head_bytes);
}

static void end_rows(output *out) { output_write_head(out, "", 0); }

static void run(stream *all, unsigned threads) {
    const size_t slots = PIPELINE_SLOTS_A_THREAD * (size_t)threads;
    cli_common alone = *all->job->common;
    alone.device = "cpu";
    alone.threads = 1;
    all->helpers = must_alloc(threads, sizeof *all->helpers);
    for (unsigned i = 0; i + 1 < threads; i++)
        session_open(&all->helpers[i], &alone);
    all->slots = must_alloc(slots, sizeof *all->slots);
    memset(all->slots, 0, slots * sizeof *all->slots);
    pipeline_run(&(pipeline){read_chunk, search_chunk, write_chunk, all, slots, threads});
    for (size_t i = 0; i < slots; i++) {
        table_chunk_free(&all->slots[i].chunk);
        free(all->slots[i].kept_text.bytes);
        free(all->slots[i].rejected_text.bytes);
    }
    free(all->slots);
    for (unsigned i = 0; i + 1 < threads; i++)
        session_close(&all->helpers[i]);
    free(all->helpers);
}

void compact_table_stream(const compact_job *job, input *in, session *s) {
    unsigned threads = parallel_threads(job->common->threads);
    stream all = {.job = job, .main = s};
    session_ready(s);
    table_chunks_open(&all.chunks, in, &job->dialect);
    table_query_open(&all.query, job, &all.chunks.head);
    all.lines = input_count_bytes(all.chunks.head.bytes, all.chunks.head.bytes + all.chunks.head.head_bytes, '\n');
    all.types = must_alloc(SCAN_MAX_COLUMNS, sizeof *all.types);
    memset(all.types, 0, SCAN_MAX_COLUMNS * sizeof *all.types);
    if (!job->count_only)
        begin_rows(job->kept_out, &all.chunks.head);
    if (job->rejected_out)
        begin_rows(job->rejected_out, &all.chunks.head);
    run(&all, threads < PIPELINE_MAX_THREADS ? threads : PIPELINE_MAX_THREADS);
    check_types(&all);
    if (job->count_only)
        compact_write_count(job, all.kept);
    else
        end_rows(job->kept_out);
    if (job->rejected_out)
        end_rows(job->rejected_out);
    if (job->indices_out)
        write_index_list(&all);
    report_number("rows", all.rows);
    report_number("kept", all.kept);
    free(all.indices);
    free(all.types);
    table_query_close(&all.query);
    table_chunks_close(&all.chunks);
}
