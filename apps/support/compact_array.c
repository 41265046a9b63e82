/* SPDX-License-Identifier: MIT
 *
 * compact on .npy and raw arrays, in pieces: memory stays the same however long the array is. --unique carries the last
 * element of a piece over as the first of the next, where it begins a run that is not counted again.
 */
#include <string.h>

#include "compact.h"
#include "report.h"

enum { PIECE_BYTES = 2 << 20 };

typedef struct work {
    const compact_job *job;
    session *s;
    array_reader *r;
    expression e;
    compact_mask mask;
    session_buffer in; /* one element carried over, then the piece */
    session_buffer kept, rejected, indices, flags, count;
    size_t size;          /* bytes of an element */
    size_t piece;         /* elements of a full piece */
    scan_type index_type; /* of the indices output */
    uint64_t base;        /* index of the piece's first element */
    bool carried;         /* in begins with an element */
    uint64_t kept_total;
} work;

static unsigned char *piece_host(const work *w) { return (unsigned char *)w->in.host + w->size; }

static unsigned char *piece_context(const work *w) { return (unsigned char *)w->in.context + w->size; }

static bool by_runs(const work *w) { return w->job->selector == SELECT_UNIQUE; }

/* ---- one piece through the library ------------------------------------------------------------------------------- */

/* Kept elements, and what else the job wants, of the piece's n elements; by w->flags if `flags`, else by the terms. */
static uint64_t compact_piece(work *w, size_t n, bool flags) {
    scan_compact_desc desc = {.struct_size = sizeof desc,
                              .type = w->r->type,
                              .index_type = w->index_type,
                              .invert = w->job->invert,
                              .terms = flags ? NULL : w->e.terms,
                              .term_count = flags ? 0 : w->e.term_count,
                              .flags = flags ? w->flags.context : NULL,
                              .index_base = w->base};
    scan_compact_out out = {.struct_size = sizeof out,
                            .kept = w->kept.context,
                            .rejected = w->rejected.context,
                            .indices = w->job->indices_out ? w->indices.context : NULL,
                            .count = w->count.context};
    if (flags)
        session_upload(w->s, &w->flags, n);
    report_phase before = report_enter(PHASE_COMPUTE);
    session_check(w->s, scan_compact(w->s->ctx, &desc, piece_context(w), &out, n), w->r->in->name);
    report_enter(before);
    session_download(w->s, &w->count, sizeof(uint64_t));
    return *(uint64_t *)w->count.host;
}

/* Runs of the piece and, before it, the element carried over. */
static uint64_t unique_piece(work *w, size_t n, bool want_kept, bool want_indices) {
    scan_unique_desc desc = {.struct_size = sizeof desc,
                             .type = w->r->type,
                             .index_type = w->index_type,
                             .index_base = w->base - w->carried};
    scan_unique_out out = {.struct_size = sizeof out,
                           .kept = want_kept ? w->kept.context : NULL,
                           .indices = want_indices ? w->indices.context : NULL,
                           .count = w->count.context};
    const unsigned char *first = piece_context(w) - (w->carried ? w->size : 0);
    report_phase before = report_enter(PHASE_COMPUTE);
    session_check(w->s, scan_unique(w->s->ctx, &desc, first, &out, n + w->carried), w->r->in->name);
    report_enter(before);
    session_download(w->s, &w->count, sizeof(uint64_t));
    return *(uint64_t *)w->count.host;
}

static uint64_t index_at(const work *w, size_t i) {
    return w->index_type == SCAN_U32 ? ((const uint32_t *)w->indices.host)[i] : ((const uint64_t *)w->indices.host)[i];
}

/* The others of a run are what `unique` cannot give: its run beginnings become flags. */
static uint64_t unique_by_flags(work *w, size_t n) {
    uint64_t runs = unique_piece(w, n, false, true);
    session_download(w->s, &w->indices, runs * scan_type_size(w->index_type));
    memset(w->flags.host, 0, n);
    for (size_t i = w->carried; i < runs; i++)
        ((uint8_t *)w->flags.host)[index_at(w, i) - w->base] = 1;
    return compact_piece(w, n, true);
}

/* ---- --verify ---------------------------------------------------------------------------------------------------- */

static bool expected(const work *w, size_t i) {
    const unsigned char *x = piece_host(w) + i * w->size;
    bool keep;
    if (w->job->selector == SELECT_MASK)
        keep = ((const uint8_t *)w->flags.host)[i] != 0;
    else if (by_runs(w))
        keep = (i == 0 && !w->carried) || !compact_check_equal(w->r->type, x - w->size, x);
    else
        keep = compact_check_terms(&w->e, &(scan_column){.type = w->r->type, .data = piece_host(w)}, i, w->base + i);
    return keep != w->job->invert;
}

static void verify_piece(const work *w, size_t n, const unsigned char *kept, size_t first_index, uint64_t count) {
    report_phase before = report_enter(PHASE_VERIFY);
    size_t j = 0, rest = 0;
    for (size_t i = 0; i < n; i++) {
        const unsigned char *x = piece_host(w) + i * w->size;
        unsigned long long at = w->base + i;
        if (!expected(w, i)) {
            if (w->job->rejected_out && memcmp((char *)w->rejected.host + rest * w->size, x, w->size) != 0)
                compact_check_failed(w->r->in->name, "element %llu should be rejected", at);
            rest++;
            continue;
        }
        if (j >= count || memcmp(kept + j * w->size, x, w->size) != 0)
            compact_check_failed(w->r->in->name, "element %llu should be kept", at);
        if (w->job->indices_out && index_at(w, first_index + j) != at)
            compact_check_failed(w->r->in->name, "the index of element %llu is wrong", at);
        j++;
    }
    if (j != count)
        compact_check_failed(w->r->in->name, "%llu elements are kept, not %zu", (unsigned long long)count, j);
    report_enter(before);
}

/* ---- pieces ------------------------------------------------------------------------------------------------------ */

static void do_piece(work *w, size_t n) {
    const compact_job *job = w->job;
    size_t index_size = scan_type_size(w->index_type), skip = 0;
    session_upload(w->s, &w->in, (n + 1) * w->size);
    uint64_t count;
    if (job->selector == SELECT_MASK) {
        compact_mask_read(&w->mask, w->flags.host, n);
        count = compact_piece(w, n, true);
    } else if (!by_runs(w)) {
        count = compact_piece(w, n, false);
    } else if (job->invert || job->rejected_out) {
        count = unique_by_flags(w, n);
    } else {
        skip = w->carried;
        count = unique_piece(w, n, true, job->indices_out) - skip;
    }
    session_download(w->s, &w->kept, (skip + count) * w->size);
    if (job->rejected_out)
        session_download(w->s, &w->rejected, (n - count) * w->size);
    if (job->indices_out)
        session_download(w->s, &w->indices, (skip + count) * index_size);
    const unsigned char *kept = (const unsigned char *)w->kept.host + skip * w->size;
    if (job->common->verify)
        verify_piece(w, n, kept, skip, count);
    output_write(job->kept_out, kept, count * w->size);
    if (job->rejected_out)
        output_write(job->rejected_out, w->rejected.host, (n - count) * w->size);
    if (job->indices_out)
        output_write(job->indices_out, (const char *)w->indices.host + skip * index_size, count * index_size);
    w->kept_total += count;
}

static void prepare(work *w) {
    const compact_job *job = w->job;
    w->size = w->r->size;
    w->piece = PIECE_BYTES / w->size;
    /* The type of the indices is written before the length of a pipe is known. */
    bool known_long = w->r->counted && w->r->header.count > UINT32_MAX;
    w->index_type = !job->indices_out || known_long ? SCAN_U64 : SCAN_U32;
    size_t bytes = (w->piece + 1) * w->size;
    w->in = session_alloc(w->s, bytes);
    memset(w->in.host, 0, w->size);
    w->kept = session_alloc(w->s, bytes);
    w->count = session_alloc(w->s, sizeof(uint64_t));
    if (job->rejected_out)
        w->rejected = session_alloc(w->s, bytes);
    if (job->indices_out || (by_runs(w) && (job->invert || job->rejected_out)))
        w->indices = session_alloc(w->s, (w->piece + 1) * scan_type_size(w->index_type));
    if (job->selector == SELECT_MASK || by_runs(w))
        w->flags = session_alloc(w->s, w->piece);
    if (job->format == FORMAT_NPY) {
        output_reserve_head(job->kept_out, NPY_VECTOR_HEADER_BYTES);
        if (job->rejected_out)
            output_reserve_head(job->rejected_out, NPY_VECTOR_HEADER_BYTES);
    }
    if (job->indices_out && job->indices_npy)
        output_reserve_head(job->indices_out, NPY_VECTOR_HEADER_BYTES);
}

static void write_heads(const work *w) {
    const compact_job *job = w->job;
    if (job->format == FORMAT_NPY) {
        compact_write_head(job->kept_out, w->r->type, w->kept_total);
        if (job->rejected_out)
            compact_write_head(job->rejected_out, w->r->type, w->base - w->kept_total);
    }
    if (job->indices_out && job->indices_npy)
        compact_write_head(job->indices_out, w->index_type, w->kept_total);
}

static void release(work *w) {
    session_buffer *buffers[] = {&w->in, &w->kept, &w->rejected, &w->indices, &w->flags, &w->count};
    for (size_t i = 0; i < sizeof buffers / sizeof buffers[0]; i++)
        session_free(w->s, buffers[i]);
}

void compact_array(const compact_job *job, array_reader *r, session *s) {
    work w = {.job = job, .s = s, .r = r};
    if (job->selector == SELECT_MASK)
        compact_mask_open(&w.mask, job->mask);
    else if (!by_runs(&w))
        compact_terms(job, &w.e);
    prepare(&w);
    for (;;) {
        size_t n = array_read(r, piece_host(&w), w.piece);
        if (n == 0)
            break;
        if (w.index_type == SCAN_U32 && w.base + n > UINT32_MAX)
            die(EXIT_USAGE, "%s: has 2^32 elements or more; --indices needs it as a file to know that from the start",
                r->in->name);
        do_piece(&w, n);
        w.base += n;
        if (by_runs(&w)) {
            memcpy(w.in.host, (char *)w.in.host + n * w.size, w.size);
            w.carried = true;
        }
        report_progress(r->in->taken, r->in->size_hint);
        if (n < w.piece)
            break;
    }
    if (job->selector == SELECT_MASK)
        compact_mask_end(&w.mask, w.base);
    write_heads(&w);
    report_text("type", scan_type_name(r->type));
    report_number("elements", w.base);
    report_number("kept", w.kept_total);
    release(&w);
}
