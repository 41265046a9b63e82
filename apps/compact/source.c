/* SPDX-License-Identifier: MIT
 *
 * compact on lines and tables: the library gives the indices of the lines to keep, and these are gathered byte for
 * byte.
 */
#include <stdlib.h>
#include <string.h>

#include "apps/support/alloc.h"
#include "apps/support/die.h"
#include "apps/support/parallel.h"
#include "apps/support/report.h"
#include "apps/support/rows.h"
#include "source.h"
#include "text_test.h"

static selection new_selection(const source *from) {
    scan_type type = from->base + from->n > UINT32_MAX ? SCAN_U64 : SCAN_U32;
    return (selection){.type = type, .indices = must_alloc(from->n, scan_type_size(type))};
}

/* The lines that are not kept. */
static selection others(const source *from, const selection *kept) {
    selection rest = new_selection(from);
    for (uint64_t i = from->base, j = 0; i < from->base + from->n; i++) {
        if (j < kept->count && selection_at(kept, j) == i) {
            j++;
        } else if (rest.type == SCAN_U32) {
            ((uint32_t *)rest.indices)[rest.count++] = (uint32_t)i;
        } else {
            ((uint64_t *)rest.indices)[rest.count++] = i;
        }
    }
    return rest;
}

/* ---- selecting --------------------------------------------------------------------------------------------------- */

typedef struct selecting {
    const compact_job *job;
    const source *from;
    selection *to;
    uint64_t count;
} selecting;

static scan_status upload_columns(session *s, const source *from, scan_column *columns) {
    for (uint32_t i = 0; i <= from->column_count; i++) {
        columns[i] = from->columns[i];
        void *data = NULL;
        if (columns[i].type)
            SESSION_TRY(session_upload(s, columns[i].data, from->n * scan_type_size(columns[i].type), &data));
        columns[i].data = data;
    }
    return SCAN_OK;
}

static scan_status call(const selecting *a, session *s, const scan_column *columns, const uint8_t *flags, void *indices,
                        uint64_t *count) {
    const source *from = a->from;
    scan_grid grid = compact_grid(a->job, s, s->on_host);
    if (a->job->selector == SELECT_UNIQUE && !flags) {
        scan_unique_desc desc = {.struct_size = sizeof desc,
                                 .type = columns[0].type,
                                 .index_type = a->to->type,
                                 .grid = grid,
                                 .index_base = from->base};
        scan_unique_out out = {.struct_size = sizeof out, .indices = indices, .count = count};
        return scan_unique(s->ctx, &desc, columns[0].data, &out, from->n);
    }
    scan_compact_desc desc = {.struct_size = sizeof desc,
                              .type = columns[0].type,
                              .index_type = a->to->type,
                              .terms = flags ? NULL : from->e.terms,
                              .term_count = flags ? 0 : from->e.term_count,
                              .columns = columns + 1,
                              .column_count = from->column_count,
                              .flags = flags,
                              .index_base = from->base,
                              .grid = grid};
    scan_compact_out out = {.struct_size = sizeof out, .indices = indices, .count = count};
    return scan_compact(s->ctx, &desc, columns[0].data, &out, from->n);
}

static scan_status attempt(void *arg, session *s) {
    selecting *a = arg;
    scan_column columns[1 + SCAN_MAX_COLUMNS];
    void *flags = NULL, *indices, *count;
    SESSION_TRY(upload_columns(s, a->from, columns));
    if (a->from->flags)
        SESSION_TRY(session_upload(s, a->from->flags, a->from->n, &flags));
    SESSION_TRY(session_alloc_result(s, a->to->indices, a->from->n * scan_type_size(a->to->type), &indices));
    SESSION_TRY(session_alloc_result(s, &a->count, sizeof a->count, &count));
    SESSION_TRY(call(a, s, columns, flags, indices, count));
    SESSION_TRY(session_wait(s));
    SESSION_TRY(session_download(s, &a->count, count, sizeof a->count));
    a->to->count = a->count;
    return session_download(s, a->to->indices, indices, a->to->count * scan_type_size(a->to->type));
}

uint64_t source_bytes(const source *from) {
    uint64_t bytes = from->flags ? from->n : 0;
    for (uint32_t i = 0; i <= from->column_count; i++)
        bytes += from->n * scan_type_size(from->columns[i].type);
    return bytes;
}

static void verify(const compact_job *job, const source *from, const selection *kept) {
    report_phase before = report_enter(PHASE_VERIFY);
    const char *numbers = from->columns[0].data;
    size_t size = scan_type_size(from->columns[0].type), j = 0;
    for (size_t i = 0; i < from->n; i++) {
        bool keep;
        if (job->selector == SELECT_MASK)
            keep = from->flags[i] != 0;
        else if (job->selector == SELECT_UNIQUE && from->lines)
            keep = i == 0 || string_compare(&from->lines->at[i - 1], &from->lines->at[i]) != 0;
        else if (job->selector == SELECT_UNIQUE)
            keep = i == 0 || !compact_check_equal(from->columns[0].type, numbers + (i - 1) * size, numbers + i * size);
        else
            keep = compact_check_terms(&from->e, from->columns, i, from->base + i);
        if (!text_tests_check(from, i))
            compact_check_failed(from->name, "row %zu: a test of text is wrong", (size_t)from->base + i);
        if (keep == job->invert)
            continue;
        if (j == kept->count || selection_at(kept, j) != from->base + i)
            compact_check_failed(from->name, "row %zu should be kept", (size_t)from->base + i);
        j++;
    }
    if (j != kept->count)
        compact_check_failed(from->name, "%zu rows are kept, not %zu", kept->count, j);
    report_enter(before);
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

void source_write_indices(const compact_job *job, const selection *kept) {
    const array_writer w = compact_index_writer(job, job->indices_out, job->indices, kept->type);
    array_write_header(&w, 1, &(uint64_t){kept->count});
    array_write(&w, kept->indices, kept->count);
}

void source_choose(const compact_job *job, session *s, const source *from, selection *kept, selection *rest) {
    *kept = new_selection(from);
    *rest = (selection){0};
    if (from->n)
        session_try(s, from->name, attempt, &(selecting){.job = job, .from = from, .to = kept});
    if (job->invert || job->rejected_out)
        *rest = others(from, kept);
    if (job->invert) {
        selection swap = *kept;
        *kept = *rest;
        *rest = swap;
    }
    if (job->common->verify)
        verify(job, from, kept);
}

void source_select(const compact_job *job, session *s, source *from, const rows *lines, size_t head_bytes) {
    unsigned threads = parallel_threads(job->common->threads);
    selection kept, rest;
    compact_choose(job, s, source_bytes(from));
    session_ready(s);
    source_choose(job, s, from, &kept, &rest);
    report_moved(PHASE_COMPUTE, source_bytes(from) + kept.count * scan_type_size(kept.type));
    if (job->count_only) {
        compact_write_count(job, kept.count);
    } else {
        output_write(job->kept_out, lines->bytes, head_bytes);
        rows_write(job->kept_out, lines, kept.indices, kept.type, kept.count, threads);
    }
    if (job->counts_out) {
        compact_runs runs = compact_counts_begin(job);
        compact_counts_add(&runs, kept.type, kept.indices, kept.count);
        compact_counts_end(&runs, from->n);
    }
    if (job->rejected_out) {
        output_write(job->rejected_out, lines->bytes, head_bytes);
        rows_write(job->rejected_out, lines, rest.indices, rest.type, rest.count, threads);
    }
    if (job->indices_out)
        source_write_indices(job, &kept);
    report_number("kept", kept.count);
    free(kept.indices);
    free(rest.indices);
}
