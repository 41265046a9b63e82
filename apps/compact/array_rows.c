/* SPDX-License-Identifier: MIT
 *
 * compact --unique --axis 0: of an array of several dimensions, whole rows that equal the one before are dropped. Of
 * several ranks each has rows that follow one another, and reads the one before them.
 */
#include <stdlib.h>
#include <string.h>

#include "apps/support/alloc.h"
#include "apps/support/die.h"
#include "apps/support/parallel.h"
#include "apps/support/ranks.h"
#include "apps/support/report.h"
#include "compact.h"

enum { PIECE_ROWS = 1 << 12 };

typedef struct row_job {
    const compact_job *job;
    scan_type type;
    const unsigned char *rows; /* of this rank */
    size_t n, row_elements, row_bytes;
    uint64_t first, total; /* the first row's index, and the rows of all ranks */
    uint8_t *differs;      /* from the row before; the first one does */
    uint64_t *kept;        /* their indices */
    uint64_t count;
} row_job;

/* Elements of equal bytes are equal; of floats others may be. */
static bool equal(const row_job *w, const unsigned char *a, const unsigned char *b) {
    if (memcmp(a, b, w->row_bytes) == 0)
        return true;
    if (scan_type_class(w->type) != SCAN_FLOAT)
        return false;
    for (size_t i = 0; i < w->row_elements; i++) {
        const double x =
            w->type == SCAN_F32 ? (double)((const float *)(const void *)a)[i] : ((const double *)(const void *)a)[i];
        const double y =
            w->type == SCAN_F32 ? (double)((const float *)(const void *)b)[i] : ((const double *)(const void *)b)[i];
        if (x != y && (x == x || y == y))
            return false;
    }
    return true;
}

static void compare_piece(void *arg, size_t piece) {
    const row_job *w = arg;
    const size_t begin = piece * PIECE_ROWS, end = w->n - begin > PIECE_ROWS ? begin + PIECE_ROWS : w->n;
    for (size_t i = begin; i < end; i++) {
        const unsigned char *row = w->rows + i * w->row_bytes;
        w->differs[i] = w->first + i == 0 || !equal(w, row - w->row_bytes, row);
    }
}

static scan_status select_rows(void *arg, session *s) {
    row_job *w = arg;
    void *flags, *kept, *count;
    SESSION_TRY(session_upload(s, w->differs, w->n, &flags));
    SESSION_TRY(session_alloc_result(s, w->kept, w->n * sizeof *w->kept, &kept));
    SESSION_TRY(session_alloc_result(s, &w->count, sizeof w->count, &count));
    const scan_compact_desc desc = {.struct_size = sizeof desc,
                                    .index_type = SCAN_U64,
                                    .invert = w->job->invert,
                                    .flags = flags,
                                    .grid = compact_grid(w->job, s, s->on_host)};
    const scan_compact_out out = {.struct_size = sizeof out, .indices = kept, .count = count};
    SESSION_TRY(scan_compact(s->ctx, &desc, NULL, &out, w->n));
    SESSION_TRY(session_wait(s));
    SESSION_TRY(session_download(s, &w->count, count, sizeof w->count));
    return session_download(s, w->kept, kept, w->count * sizeof *w->kept);
}

static void verify(const row_job *w, const char *name) {
    report_phase before = report_enter(PHASE_VERIFY);
    const size_t size = scan_type_size(w->type);
    size_t k = 0;
    for (size_t i = 0; i < w->n; i++) {
        const unsigned char *row = w->rows + i * w->row_bytes;
        bool same = w->first + i > 0;
        for (size_t e = 0; same && e < w->row_elements; e++)
            same = compact_check_equal(w->type, row - w->row_bytes + e * size, row + e * size);
        if (same != w->job->invert)
            continue;
        if (k >= w->count || w->kept[k] != i)
            compact_check_failed(name, "row %llu should be kept", (unsigned long long)(w->first + i));
        k++;
    }
    if (k != w->count)
        compact_check_failed(name, "%llu rows are kept, not %zu", (unsigned long long)w->count, k);
    report_enter(before);
}

/* Rows on their way out: at once, or for several ranks, which write in turns, when all are there. */
typedef struct row_writer {
    const row_job *job;
    const array_writer *to;
    unsigned char *kept; /* NULL: one process */
    size_t count;
} row_writer;

static void write_some(row_writer *w, size_t begin, size_t n) {
    const row_job *j = w->job;
    const unsigned char *rows = j->rows + begin * j->row_bytes;
    if (w->kept && n)
        memcpy(w->kept + w->count * j->row_bytes, rows, n * j->row_bytes);
    else if (!w->kept)
        array_write(w->to, rows, n * j->row_elements);
    w->count += n;
}

/* The rows that are kept, or with `rejected` the others. Rows that follow each other are written at once. */
static void write_rows(const row_job *w, const array_writer *to, const npy_header *header, bool rejected) {
    const size_t count = rejected ? w->n - (size_t)w->count : (size_t)w->count;
    row_writer writer = {w, to, ranks_several() ? must_alloc(count, w->row_bytes) : NULL, 0};
    uint64_t shape[NPY_MAX_DIMENSIONS];
    memcpy(shape, header->shape, sizeof shape);
    shape[0] = ranks_add(count).total;
    array_write_header(to, header->dimensions, shape);
    for (size_t i = 0, k = 0; i < w->n;) {
        const size_t begin = i;
        while (k < w->count && i < w->n && w->kept[k] == i) {
            i++;
            k++;
        }
        if (!rejected)
            write_some(&writer, begin, i - begin);
        const size_t others = i, next = k < w->count ? (size_t)w->kept[k] : w->n;
        i = next;
        if (rejected)
            write_some(&writer, others, next - others);
    }
    if (writer.kept)
        array_write(to, writer.kept, count * w->row_elements);
    free(writer.kept);
}

static void write_indices(const row_job *w) {
    const scan_type type = w->total >> 32 ? SCAN_U64 : SCAN_U32;
    const array_writer to = compact_index_writer(w->job, w->job->indices_out, w->job->indices, type);
    uint32_t *narrow = (uint32_t *)(void *)w->kept; /* in place, from the first on */
    for (size_t i = 0; to.type == SCAN_U32 && i < w->count; i++) {
        const uint32_t index = (uint32_t)w->kept[i];
        memcpy(&narrow[i], &index, sizeof index);
    }
    const uint64_t count = ranks_add(w->count).total;
    array_write_header(&to, 1, &count);
    array_write(&to, w->kept, (size_t)w->count);
}

static void write_counts(const row_job *w) {
    compact_runs runs = compact_counts_begin(w->job);
    compact_counts_add(&runs, SCAN_U64, w->kept, (size_t)w->count);
    compact_counts_end(&runs, w->total);
}

static void write_kept(const row_job *w, const array_reader *r) {
    const array_writer to = compact_writer(w->job, r, w->job->kept_out, w->job->common->output);
    if (w->job->count_only)
        compact_write_count(w->job, ranks_add(w->count).total);
    else
        write_rows(w, &to, &r->header, false);
}

/* A predicate is about elements, as they follow each other; without --axis so is --unique. */
static bool takes_rows(const compact_job *job, const array_reader *r, lanes *shape) {
    const axis_option flat = {.flat = true};
    if (job->selector != SELECT_UNIQUE && job->axis.text)
        die_usage("--axis is for --unique; other tests keep elements, as --flat says");
    if (!axis_lanes(job->axis.text ? &job->axis : &flat, r, "compacts", shape))
        return false;
    if (shape->outer > 1 || (shape->outer == 0 && job->axis.axis != 0))
        die_usage("--axis %s: --unique drops whole rows, along axis 0", job->axis.text);
    return true;
}

/* Reads this rank's rows, and the one before them. Returns the memory. */
static unsigned char *read_rows(row_job *w, array_reader *r) {
    size_t elements;
    const ranks_part part = ranks_part_of(w->total);
    const size_t before = part.first > 0;
    array_refuse_ranks(r);
    w->first = part.first;
    w->n = (size_t)part.count;
    if (!ranks_several())
        return array_read_all(r, &elements);
    unsigned char *memory = must_alloc(w->n + before, w->row_bytes);
    array_read_at(r, memory, (w->n + before) * w->row_elements, (w->first - before) * w->row_elements);
    return memory;
}

/* From their places among this rank's rows to those in the array. */
static void number_kept(const row_job *w) {
    for (uint64_t i = 0; i < w->count; i++)
        w->kept[i] += w->first;
}

bool compact_array_rows(const compact_job *job, array_reader *r, session *s) {
    lanes shape;
    if (!takes_rows(job, r, &shape))
        return false;
    const uint64_t elements = r->header.count;
    row_job w = {.job = job, .type = r->type, .total = shape.length, .row_elements = elements ? shape.inner : 0};
    w.row_bytes = w.row_elements * r->size; /* 0: some other length is 0 */
    unsigned char *memory = read_rows(&w, r);
    w.rows = memory + (w.first > 0 ? w.row_bytes : 0);
    w.differs = must_alloc(w.n, 1);
    w.kept = must_alloc(w.n, sizeof *w.kept);
    compact_choose(job, s, 0);
    parallel_for(parallel_threads(job->common->threads), w.n / PIECE_ROWS + (w.n % PIECE_ROWS != 0), compare_piece, &w);
    session_try(s, r->in->name, select_rows, &w);
    report_moved(PHASE_COMPUTE, w.n * w.row_bytes);
    if (job->common->verify)
        verify(&w, r->in->name);
    write_kept(&w, r);
    if (job->rejected_out) {
        const array_writer rejected = compact_writer(job, r, job->rejected_out, job->rejected);
        write_rows(&w, &rejected, &r->header, true);
    }
    number_kept(&w);
    if (job->counts_out)
        write_counts(&w);
    if (job->indices_out)
        write_indices(&w);
    report_text("type", scan_type_name(r->type));
    report_number("elements", elements);
    report_number("kept", ranks_add(w.count).total * w.row_elements);
    free(w.differs);
    free(w.kept);
    free(memory);
    return true;
}
