/* SPDX-License-Identifier: MIT
 *
 * compact on tables in chunks of rows (row_stream.h).
 *
 * Three things are known only when all chunks before one are done: the number of its first line and row, and of which
 * types its columns are. So a chunk in which something is wrong is gone through again when its turn to be written has
 * come, and the error then names the right line; and types are compared with those of other chunks there. If the
 * expression asks for the row's index, rows are counted as they are read.
 */
#include <stdlib.h>
#include <string.h>

#include "apps/support/alloc.h"
#include "apps/support/column_types.h"
#include "apps/support/die.h"
#include "apps/support/ranks.h"
#include "apps/support/report.h"
#include "apps/support/table_chunks.h"
#include "row_stream.h"
#include "table_rows.h"

typedef struct slot {
    row_chunk common;
    table_chunk chunk;
    size_t lines_before;
    column numbers[SCAN_MAX_COLUMNS]; /* without values */
} slot;

typedef struct stream {
    const compact_job *job;
    table_chunks chunks;
    table_query query;
    uint64_t rows_read; /* where the expression asks for them */
    size_t lines;       /* of the chunks that are read */
    column_types *types;
} stream;

static void find_rows(void *arg) { table_find_rows(arg); }

static bool read_chunk(void *arg, row_chunk *common) {
    stream *all = arg;
    slot *own = (slot *)common;
    if (!table_chunks_next(&all->chunks, &own->chunk))
        return false;
    common->base = all->rows_read;
    own->lines_before = all->lines;
    all->lines += table_chunk_lines(&own->chunk);
    common->failed = all->query.has_index && !die_catch(&common->error, find_rows, &own->chunk);
    if (all->query.has_index && !common->failed)
        all->rows_read += own->chunk.t.n;
    return true;
}

static void find(void *arg, row_chunk *common, source *from) {
    stream *all = arg;
    slot *own = (slot *)common;
    table *t = &own->chunk.t;
    if (!t->starts)
        table_find_rows(&own->chunk);
    table_query_read(&all->query, t, common->base, from, own->numbers, 1);
    common->lines = (rows){.bytes = t->bytes, .starts = t->starts};
    common->n_bytes = t->n_bytes;
    common->n = t->n;
}

static void place(void *arg, row_chunk *common, uint64_t rows) {
    (void)arg;
    slot *own = (slot *)common;
    table_chunk_place(&own->chunk, own->lines_before);
    if (!common->failed)
        return;
    free(own->chunk.t.starts);
    own->chunk.t.starts = NULL;
    common->base = rows;
}

typedef struct refusal {
    const table *t;
    size_t index;
} refusal;

static void refuse(const void *arg, const column_fault *fault) {
    const refusal *r = arg;
    table_refuse_number(r->t, r->index, fault, NULL);
}

static void finish(void *arg, row_chunk *common) {
    stream *all = arg;
    const slot *own = (slot *)common;
    for (uint32_t k = 0; k < all->query.number_count; k++)
        column_types_add(&all->types[k], &own->numbers[k], refuse,
                         &(refusal){&own->chunk.t, all->query.number_index[k]});
}

static void free_chunk(row_chunk *common) { table_chunk_free(&((slot *)common)->chunk); }

void compact_table_stream(const compact_job *job, input *in, session *s) {
    stream all = {.job = job};
    session_ready(s);
    table_chunks_open(&all.chunks, in, &job->dialect);
    const table *head = &all.chunks.head;
    warn_aloud(ranks_own() == 0);
    table_query_open(&all.query, job, head);
    warn_aloud(true);
    all.lines = input_count_bytes(head->bytes, head->bytes + head->head_bytes, '\n');
    all.types = must_alloc(SCAN_MAX_COLUMNS, sizeof *all.types);
    memset(all.types, 0, SCAN_MAX_COLUMNS * sizeof *all.types);
    const row_reader reader = {.arg = &all,
                               .chunk_size = sizeof(slot),
                               .read = read_chunk,
                               .find = find,
                               .release = table_source_free,
                               .place = place,
                               .finish = finish,
                               .free_chunk = free_chunk};
    row_counts count = row_stream(job, s, &reader, head->bytes, head->head_bytes);
    for (uint32_t k = 0; k < all.query.number_count; k++)
        column_types_check(&all.types[k]);
    if (job->count_only)
        compact_write_count(job, count.kept);
    report_number("rows", count.rows);
    report_number("kept", count.kept);
    free(all.types);
    table_query_close(&all.query);
    table_chunks_close(&all.chunks);
}
