/* SPDX-License-Identifier: MIT
 *
 * The chunks go through a ring of slots (pipeline.h). Their indices count from rows that are known when a chunk is
 * written, so they are put right there.
 */
#include "row_stream.h"

#include <stdlib.h>
#include <string.h>

#include "apps/support/alloc.h"
#include "apps/support/parallel.h"
#include "apps/support/pipeline.h"
#include "apps/support/ranks.h"
#include "apps/support/report.h"
#include "index_list.h"

typedef struct stream {
    const compact_job *job;
    const row_reader *reader;
    char *chunks;
    session *main; /* of worker 0, or the device's */
    session *helpers;
    bool on_device;
    uint64_t chunks_read;
    size_t turns;
    uint64_t rows_before; /* the chunk that is written */
    row_counts count;     /* of all ranks */
    index_list indices;   /* of what is kept, for --indices */
    compact_runs runs;    /* of --counts */
} stream;

static row_chunk *chunk_at(const stream *all, size_t i) {
    return (row_chunk *)(void *)(all->chunks + i * all->reader->chunk_size);
}

/* ---- one chunk --------------------------------------------------------------------------------------------------- */

/* Copies rows, those that follow each other at once. */
static void gather(text_buffer *to, const row_chunk *own, const selection *s) {
    const uint64_t *starts = own->lines.starts;
    if (to->room < own->n_bytes) {
        free(to->bytes);
        to->bytes = must_alloc(own->n_bytes, 1);
        to->room = own->n_bytes;
    }
    to->n_bytes = 0;
    for (size_t i = 0, run; i < s->count; i += run) {
        uint64_t first = selection_at(s, i);
        for (run = 1; i + run < s->count && selection_at(s, i + run) == first + run;)
            run++;
        size_t begin = starts[first - own->base], bytes = starts[first - own->base + run] - begin;
        memcpy(to->bytes + to->n_bytes, own->lines.bytes + begin, bytes);
        to->n_bytes += bytes;
    }
}

/* Takes the row that belongs to the chunk before out of a selection. */
static void drop_overlap(const row_chunk *own, selection *s) {
    if (!own->overlaps || s->count == 0 || selection_at(s, 0) != own->base)
        return;
    size_t size = scan_type_size(s->type);
    memmove(s->indices, (char *)s->indices + size, --s->count * size);
}

typedef struct searching {
    const stream *all;
    row_chunk *chunk;
    session *session;
} searching;

static void search(void *arg) {
    const searching *a = arg;
    const row_reader *reader = a->all->reader;
    const compact_job *job = a->all->job;
    row_chunk *own = a->chunk;
    selection rest;
    source from;
    reader->find(reader->arg, own, &from);
    source_choose(job, a->session, &from, &own->kept, &rest);
    drop_overlap(own, &own->kept);
    drop_overlap(own, &rest);
    if (!job->count_only)
        gather(&own->kept_text, own, &own->kept);
    if (job->rejected_out)
        gather(&own->rejected_text, own, &rest);
    own->moved_bytes = source_bytes(&from) + own->kept.count * scan_type_size(own->kept.type);
    free(rest.indices);
    reader->release(&from);
}

/* ---- stages ------------------------------------------------------------------------------------------------------ */

/* What is wrong in a chunk of another rank is for that one to say. */
static bool read_next(stream *all, row_chunk *own) {
    own->failed = false;
    if (!all->reader->read(all->reader->arg, own))
        return false;
    all->chunks_read++;
    return true;
}

/* The chunk of the rank's next turn, behind those of others. Returns false if no rank has one. */
static bool read_chunk(void *arg, size_t i) {
    stream *all = arg;
    row_chunk *own = chunk_at(all, i);
    const uint64_t first = all->turns++ * (uint64_t)ranks_count(), wanted = first + ranks_own() + 1;
    while (all->chunks_read < wanted && read_next(all, own))
        continue;
    own->absent = all->chunks_read < wanted;
    own->failed = own->failed && !own->absent;
    return all->chunks_read > first;
}

static void search_chunk(void *arg, size_t i, unsigned worker) {
    stream *all = arg;
    row_chunk *own = chunk_at(all, i);
    session *s = worker && !all->on_device ? &all->helpers[worker - 1] : all->main;
    if (!own->failed && !own->absent)
        own->failed = !die_catch(&own->error, search, &(searching){all, own, s});
}

/* Indices of all rows, from those that count from own->base, where the chunk begins. */
static uint64_t *all_indices(const stream *all, const row_chunk *own) {
    uint64_t *indices = must_alloc(own->kept.count + 1, sizeof *indices);
    for (size_t i = 0; i < own->kept.count; i++)
        indices[i] = all->rows_before - own->overlaps + (selection_at(&own->kept, i) - own->base);
    return indices;
}

/* On rank 0, those of all. */
static void keep_indices(stream *all, const uint64_t *indices, size_t n) {
    size_t *bytes = must_alloc(ranks_count(), sizeof *bytes), received;
    memset(bytes, 0, ranks_count() * sizeof *bytes);
    bytes[0] = n * sizeof *indices;
    uint64_t *of_all = ranks_exchange(indices, bytes, &received);
    index_list_add(&all->indices, of_all, received / sizeof *of_all);
    free(of_all);
    free(bytes);
}

static void write_indices(stream *all, const row_chunk *own) {
    uint64_t *indices = all_indices(all, own);
    if (all->job->indices_out)
        keep_indices(all, indices, own->kept.count);
    if (all->job->counts_out)
        compact_counts_add(&all->runs, SCAN_U64, indices, own->kept.count);
    free(indices);
}

/* The chunk of this turn, or what is none. */
static void settle(stream *all, row_chunk *own) {
    const row_reader *reader = all->reader;
    if (own->absent) {
        own->n = own->overlaps = 0;
        own->kept = (selection){.type = SCAN_U64};
        own->kept_text.n_bytes = own->rejected_text.n_bytes = 0;
        own->moved_bytes = 0;
        return;
    }
    reader->place(reader->arg, own, all->count.rows);
    if (own->failed) {
        search(&(searching){all, own, all->on_device ? all->helpers : all->main}); /* the device's may be in use */
        rethrow_fatal(&own->error); /* what has no place, such as too little memory */
    }
    reader->finish(reader->arg, own);
}

static void write_chunk(void *arg, size_t i) {
    stream *all = arg;
    const compact_job *job = all->job;
    row_chunk *own = chunk_at(all, i);
    settle(all, own);
    const ranks_sum rows_of = ranks_add(own->n - own->overlaps);
    all->rows_before = all->count.rows + rows_of.before;
    if (!job->count_only)
        output_write_in_turn(job->kept_out, own->kept_text.bytes, own->kept_text.n_bytes);
    if (job->rejected_out)
        output_write_in_turn(job->rejected_out, own->rejected_text.bytes, own->rejected_text.n_bytes);
    if (job->indices_out || job->counts_out)
        write_indices(all, own);
    all->count.rows += rows_of.total;
    all->count.kept += own->kept.count;
    report_moved(PHASE_COMPUTE, own->moved_bytes);
    free(own->kept.indices);
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

static void run(stream *all, unsigned threads) {
    const size_t chunks = PIPELINE_SLOTS_A_THREAD * (size_t)threads, size = all->reader->chunk_size;
    cli_common alone = *all->job->common;
    alone.device = "cpu";
    alone.threads = 1;
    all->helpers = must_alloc(threads, sizeof *all->helpers);
    for (unsigned i = 0; i + 1 < threads; i++)
        session_open(&all->helpers[i], &alone);
    all->chunks = must_alloc(chunks, size);
    memset(all->chunks, 0, chunks * size);
    pipeline_run(
        &(pipeline){read_chunk, search_chunk, write_chunk, all, chunks, .threads = threads, .serial = all->on_device});
    for (size_t i = 0; i < chunks; i++) {
        row_chunk *own = chunk_at(all, i);
        free(own->kept_text.bytes);
        free(own->rejected_text.bytes);
        all->reader->free_chunk(own);
    }
    free(all->chunks);
    for (unsigned i = 0; i + 1 < threads; i++)
        session_close(&all->helpers[i]);
    free(all->helpers);
}

row_counts row_stream(const compact_job *job, session *s, const row_reader *reader, const void *head,
                      size_t head_bytes) {
    unsigned threads = parallel_threads(job->common->threads);
    stream all = {.job = job, .reader = reader, .main = s, .on_device = !s->on_host};
    if (all.on_device)
        threads = 2; /* the main one and a helper */
    if (ranks_own() > 0)
        head_bytes = 0;
    if (!job->count_only)
        output_write_in_turn(job->kept_out, head, head_bytes);
    if (job->rejected_out)
        output_write_in_turn(job->rejected_out, head, head_bytes);
    if (job->counts_out)
        all.runs = compact_counts_begin(job);
    run(&all, threads < PIPELINE_MAX_THREADS ? threads : PIPELINE_MAX_THREADS);
    if (job->counts_out)
        compact_counts_end(&all.runs, all.count.rows);
    if (job->indices_out)
        index_list_write(&all.indices, job, all.count.rows);
    index_list_free(&all.indices);
    all.count.kept = ranks_add(all.count.kept).total;
    return all.count;
}
