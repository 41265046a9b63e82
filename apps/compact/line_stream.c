/* SPDX-License-Identifier: MIT
 *
 * compact on lines in chunks (row_stream.h). Lines are counted as they are read, so that a chunk knows its place. By
 * --unique a chunk begins with the last line of the one before, which its first own line is compared with.
 */
#include <stdlib.h>

#include "apps/support/alloc.h"
#include "apps/support/column_types.h"
#include "apps/support/report.h"
#include "apps/support/text_chunks.h"
#include "line_query.h"
#include "row_stream.h"

enum { CHUNK_BYTES = 512 << 10 };

typedef struct slot {
    row_chunk common;
    text_chunk chunk;
    uint8_t *mask;
} slot;

typedef struct stream {
    const compact_job *job;
    text_chunks chunks;
    line_query query;
    uint64_t lines; /* that are read */
    column_types types;
} stream;

typedef struct mask_reading {
    stream *all;
    slot *own;
    size_t n;
} mask_reading;

static void read_mask(void *arg) {
    const mask_reading *r = arg;
    free(r->own->mask); /* of another rank's chunk */
    r->own->mask = must_alloc(r->n, 1);
    compact_mask_read(&r->all->query.mask, r->own->mask, r->n);
}

static bool read_chunk(void *arg, row_chunk *common) {
    stream *all = arg;
    slot *own = (slot *)common;
    if (!text_chunks_next(&all->chunks, &own->chunk))
        return false;
    text *t = &own->chunk.t;
    const size_t n = input_count_bytes(t->bytes, t->bytes + t->n_bytes, '\n');
    common->overlaps = own->chunk.overlaps;
    common->base = all->lines - common->overlaps;
    t->lines_before = (size_t)common->base;
    all->lines += n - common->overlaps;
    if (all->job->selector == SELECT_MASK)
        common->failed = !die_catch(&common->error, read_mask, &(mask_reading){all, own, n});
    return true;
}

static void find(void *arg, row_chunk *common, source *from) {
    stream *all = arg;
    slot *own = (slot *)common;
    text *t = &own->chunk.t;
    if (!all->job->text)
        text_parse(t, false, line_query_advice(&all->query), 1);
    text_index(t, 1);
    line_query_read(&all->query, t, common->base, own->mask, from, 1);
    own->mask = NULL;
    common->lines = (rows){.bytes = t->bytes, .starts = t->starts};
    common->n_bytes = t->n_bytes;
    common->n = t->n;
}

static void place(void *arg, row_chunk *common, uint64_t rows) {
    (void)arg;
    (void)rows;
    if (common->failed)
        rethrow_fatal(&common->error);
}

static void refuse(const void *arg, const column_fault *fault) { text_refuse_number(arg, fault, NULL); }

static void finish(void *arg, row_chunk *common) {
    stream *all = arg;
    const text *t = &((slot *)common)->chunk.t;
    if (!all->job->text)
        column_types_add(&all->types, &t->values, refuse, t);
    report_progress(all->chunks.in->taken, all->chunks.in->extent.size);
}

static void free_chunk(row_chunk *common) { text_chunk_free(&((slot *)common)->chunk); }

void compact_line_stream(const compact_job *job, input *in, session *s) {
    stream all = {.job = job};
    session_ready(s);
    line_query_open(&all.query, job);
    text_chunks_open(&all.chunks, in, CHUNK_BYTES, job->selector == SELECT_UNIQUE);
    const row_reader reader = {.arg = &all,
                               .chunk_size = sizeof(slot),
                               .read = read_chunk,
                               .find = find,
                               .release = line_source_free,
                               .place = place,
                               .finish = finish,
                               .free_chunk = free_chunk};
    row_counts count = row_stream(job, s, &reader, all.chunks.mark, all.chunks.mark_bytes);
    column_types_check(&all.types);
    if (job->selector == SELECT_MASK)
        compact_mask_end(&all.query.mask, count.rows);
    if (job->count_only)
        compact_write_count(job, count.kept);
    report_text("type", job->text ? "text" : scan_type_name(column_types_result(&all.types)));
    report_number("elements", count.rows);
    report_number("kept", count.kept);
    line_query_close(&all.query);
    text_chunks_close(&all.chunks);
}
