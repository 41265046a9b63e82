/* SPDX-License-Identifier: MIT
 *
 * compact on text and tables: the library gives the indices of the numbers to keep, and the lines with these indices
 * are gathered byte for byte.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apps/support/alloc.h"
#include "apps/support/die.h"
#include "apps/support/parallel.h"
#include "apps/support/report.h"
#include "apps/support/rows.h"
#include "apps/support/table.h"
#include "apps/support/text.h"
#include "compact.h"

/* Indices of lines. */
typedef struct selection {
    scan_type type;
    void *indices;
    size_t count;
} selection;

static selection new_selection(size_t n) {
    scan_type type = n > UINT32_MAX ? SCAN_U64 : SCAN_U32;
    return (selection){.type = type, .indices = must_alloc(n, scan_type_size(type))};
}

static uint64_t index_at(const selection *s, size_t i) {
    return s->type == SCAN_U32 ? ((const uint32_t *)s->indices)[i] : ((const uint64_t *)s->indices)[i];
}

/* The lines that are not in `from`, of n. */
static selection others(const selection *from, size_t n) {
    selection rest = new_selection(n);
    for (size_t i = 0, j = 0; i < n; i++) {
        if (j < from->count && index_at(from, j) == i) {
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

/* The input. Columns are numbered as in scan_term: columns[0] is the elements of text; for tables its type is NONE. */
typedef struct source {
    const char *name;
    scan_column columns[1 + SCAN_MAX_COLUMNS];
    uint32_t column_count; /* besides columns[0] */
    size_t n;
    expression e;
    uint8_t *flags; /* the mask, or NULL */
} source;

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
    if (a->job->selector == SELECT_UNIQUE) {
        scan_unique_desc desc = {
            .struct_size = sizeof desc, .type = columns[0].type, .index_type = a->to->type, .grid = grid};
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

static uint64_t bytes_of(const source *from) {
    uint64_t bytes = from->flags ? from->n : 0;
    for (uint32_t i = 0; i <= from->column_count; i++)
        bytes += from->n * scan_type_size(from->columns[i].type);
    return bytes;
}

static void select_lines(const compact_job *job, session *s, const source *from, selection *to) {
    session_try(s, from->name, attempt, &(selecting){.job = job, .from = from, .to = to});
    report_moved(PHASE_COMPUTE, bytes_of(from) + to->count * scan_type_size(to->type));
}

static void verify(const compact_job *job, const source *from, const selection *kept) {
    report_phase before = report_enter(PHASE_VERIFY);
    const char *numbers = from->columns[0].data;
    size_t size = scan_type_size(from->columns[0].type), j = 0;
    for (size_t i = 0; i < from->n; i++) {
        bool keep;
        if (job->selector == SELECT_MASK)
            keep = from->flags[i] != 0;
        else if (job->selector == SELECT_UNIQUE)
            keep = i == 0 || !compact_check_equal(from->columns[0].type, numbers + (i - 1) * size, numbers + i * size);
        else
            keep = compact_check_terms(&from->e, from->columns, i, i);
        if (keep == job->invert)
            continue;
        if (j == kept->count || index_at(kept, j) != i)
            compact_check_failed(from->name, "row %zu should be kept", i);
        j++;
    }
    if (j != kept->count)
        compact_check_failed(from->name, "%zu rows are kept, not %zu", kept->count, j);
    report_enter(before);
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static void write_indices(const compact_job *job, const selection *kept, unsigned threads) {
    size_t size = scan_type_size(kept->type);
    if (!job->indices_npy) {
        rows_write_numbers(job->indices_out, kept->type, kept->indices, kept->count, threads, NULL);
        return;
    }
    array_write_header(job->indices_out, kept->type, 1, &(uint64_t){kept->count});
    output_write(job->indices_out, kept->indices, kept->count * size);
}

/* Selects among `lines` and writes all outputs of the job. Kept and rejected lines follow the first head_bytes. */
static void finish(const compact_job *job, session *s, source *from, const rows *lines, size_t head_bytes) {
    unsigned threads = parallel_threads(job->common->threads);
    selection kept = new_selection(from->n), rest = {0};
    compact_choose(job, s, bytes_of(from));
    session_ready(s);
    if (from->n)
        select_lines(job, s, from, &kept);
    if (job->invert || job->rejected_out)
        rest = others(&kept, from->n);
    if (job->invert) {
        selection swap = kept;
        kept = rest;
        rest = swap;
    }
    if (job->common->verify)
        verify(job, from, &kept);
    output_write(job->kept_out, lines->bytes, head_bytes);
    rows_write(job->kept_out, lines, kept.indices, kept.type, kept.count, threads);
    if (job->rejected_out) {
        output_write(job->rejected_out, lines->bytes, head_bytes);
        rows_write(job->rejected_out, lines, rest.indices, rest.type, rest.count, threads);
    }
    if (job->indices_out)
        write_indices(job, &kept, threads);
    report_number("kept", kept.count);
    free(kept.indices);
    free(rest.indices);
}

/* ---- text -------------------------------------------------------------------------------------------------------- */

void compact_text(const compact_job *job, input *in, session *s) {
    unsigned threads = parallel_threads(job->common->threads);
    text t;
    source from = {.name = in->name};
    if (job->selector != SELECT_MASK && job->selector != SELECT_UNIQUE)
        compact_terms(job, &from.e);
    text_read(&t, in, NULL, threads);
    text_index(&t, threads);
    from.n = t.n;
    from.columns[0] = (scan_column){.type = t.values.type, .data = t.values.data};
    if (job->selector == SELECT_MASK) {
        compact_mask mask;
        compact_mask_open(&mask, job->mask);
        from.flags = must_alloc(t.n, 1);
        compact_mask_read(&mask, from.flags, t.n);
        compact_mask_end(&mask, t.n);
    }
    report_text("type", scan_type_name(t.values.type));
    report_number("elements", t.n);
    finish(job, s, &from, &(rows){.bytes = t.bytes, .starts = t.starts}, t.head_bytes);
    free(from.flags);
    text_free(&t);
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

typedef struct names {
    const table *t;
    source *from;
    column values[SCAN_MAX_COLUMNS];
    size_t index[SCAN_MAX_COLUMNS]; /* in the table */
} names;

static bool has_name(const table *t, const char *name) {
    for (size_t i = 0; t->names && i < t->columns; i++)
        if (strcmp(t->names[i], name) == 0)
            return true;
    return false;
}

static bool resolve(void *user, const char *name, bool quoted, uint32_t *column_number, char *reason) {
    names *all = user;
    source *from = all->from;
    if (!quoted && strcmp(name, "i") == 0 && !has_name(all->t, name)) {
        *column_number = SCAN_COLUMN_INDEX;
        return true;
    }
    if (!all->t->names && all->t->columns && name[strspn(name, "0123456789")]) {
        char quote[NUMBER_QUOTE_BYTES];
        snprintf(reason, EXPRESSION_REASON_BYTES,
                 "there is no header with %s; the columns are `1` to `%zu`, with the backticks",
                 number_quote(quote, name, strlen(name)), all->t->columns);
        return false;
    }
    size_t index = table_find(all->t, name);
    uint32_t k = 0;
    while (k < from->column_count && all->index[k] != index)
        k++;
    if (k == SCAN_MAX_COLUMNS) {
        snprintf(reason, EXPRESSION_REASON_BYTES, "more than %d columns", SCAN_MAX_COLUMNS);
        return false;
    }
    if (k == from->column_count) {
        all->index[k] = index;
        from->column_count++;
    }
    *column_number = k + 1;
    return true;
}

/* A missing field compares false, also with !=, but the NaN that represents it is != to everything. Such a comparison
 * is therefore joined by && with "is not missing", a column of flags. */
static void guard_missing(const compact_job *job, names *all) {
    source *from = all->from;
    expression guarded = {.term_count = 0};
    uint32_t flags_of[SCAN_MAX_COLUMNS] = {0};
    for (uint32_t t = 0; t < from->e.term_count; t++) {
        scan_term term = from->e.terms[t];
        bool guard =
            term.op == SCAN_TERM_NE && term.column != SCAN_COLUMN_INDEX && all->values[term.column - 1].missing;
        if (guarded.term_count + (guard ? 3 : 1) > SCAN_MAX_TERMS)
            die_usage("--where '%s': too long", job->where);
        guarded.terms[guarded.term_count++] = term;
        if (!guard)
            continue;
        const column *c = &all->values[term.column - 1];
        if (!flags_of[term.column - 1]) {
            if (from->column_count == SCAN_MAX_COLUMNS)
                die_usage("--where '%s': too many columns", job->where);
            uint8_t *present = must_alloc(c->n, 1);
            for (size_t i = 0; i < c->n; i++)
                present[i] = c->u64[i] != COLUMN_MISSING_BITS;
            flags_of[term.column - 1] = ++from->column_count;
            from->columns[from->column_count] = (scan_column){.type = SCAN_U8, .data = present};
        }
        guarded.terms[guarded.term_count++] = (scan_term){
            .op = SCAN_TERM_EQ, .column = flags_of[term.column - 1], .constant_type = SCAN_U64, .constant.u = 1};
        guarded.terms[guarded.term_count++] = (scan_term){.op = SCAN_TERM_AND};
    }
    from->e = guarded;
}

void compact_table(const compact_job *job, input *in, session *s, char delimiter) {
    unsigned threads = parallel_threads(job->common->threads);
    table t;
    source from = {.name = in->name};
    names all = {.t = &t, .from = &from};
    table_read(&t, in, delimiter, job->header, threads);
    from.n = t.n;
    if (!expression_parse(&from.e, job->where, resolve, &all))
        die_usage("--where '%s': %s", job->where, from.e.reason);
    uint32_t named = from.column_count;
    for (uint32_t k = 0; k < named && t.n; k++) {
        table_numbers(&t, all.index[k], &all.values[k], NULL, threads);
        from.columns[k + 1] = (scan_column){.type = all.values[k].type, .data = all.values[k].data};
    }
    guard_missing(job, &all);
    report_number("rows", t.n);
    finish(job, s, &from, &(rows){.bytes = t.bytes, .starts = t.starts}, t.head_bytes);
    for (uint32_t k = 1; k <= from.column_count; k++)
        free((void *)(uintptr_t)from.columns[k].data);
    table_free(&t);
}
