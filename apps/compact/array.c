/* SPDX-License-Identifier: MIT
 *
 * compact on .npy and raw arrays, in pieces: memory does not grow with the array. --unique carries the last element of
 * a piece over as the first of the next. The run that it begins there has been counted already.
 */
#include <string.h>

#include "apps/support/die.h"
#include "apps/support/ranks.h"
#include "apps/support/report.h"
#include "array_work.h"

/* The indices of what is kept are an output, or the lengths of runs are. */
static bool wants_indices(const compact_work *w) { return w->job->indices_out || w->job->counts_out; }

/* scan_unique gives the first element of each run only. For the others its indices become flags for scan_compact. */
static bool runs_by_flags(const compact_work *w) {
    return compact_by_runs(w) && (w->job->invert || w->job->rejected_out);
}

/* ---- one piece through the library ------------------------------------------------------------------------------- */

static scan_compact_desc describe(const compact_work *w, const compact_slot *x, const void *flags, bool on_host) {
    return (scan_compact_desc){.struct_size = sizeof(scan_compact_desc),
                               .type = w->r->type,
                               .index_type = w->index_type,
                               .invert = w->job->invert,
                               .terms = flags ? NULL : w->e.terms,
                               .term_count = flags ? 0 : w->e.term_count,
                               .flags = flags,
                               .index_base = x->base,
                               .grid = compact_grid(w->job, w->s, on_host)};
}

/* The outputs of the job for a piece, selected by x->flags if `flags`, else by the terms. */
static scan_status compact_piece(const compact_work *w, stream_lane *lane, const compact_slot *x, bool flags) {
    scan_compact_desc desc = describe(w, x, flags ? stream_at(lane, &x->flags) : NULL, lane->on_host);
    scan_compact_out out = {.struct_size = sizeof out,
                            .kept = stream_at(lane, &x->kept),
                            .rejected = stream_at(lane, &x->rejected),
                            .indices = wants_indices(w) ? stream_at(lane, &x->indices) : NULL,
                            .count = stream_at(lane, &x->count)};
    return scan_compact(lane->ctx, &desc, (char *)stream_at(lane, &x->in) + w->size, &out, x->n);
}

static scan_unique_desc describe_runs(const compact_work *w, const compact_slot *x, bool on_host) {
    return (scan_unique_desc){.struct_size = sizeof(scan_unique_desc),
                              .type = w->r->type,
                              .index_type = w->index_type,
                              .grid = compact_grid(w->job, w->s, on_host),
                              .index_base = x->base - x->carried};
}

/* The runs of the piece together with the element carried over. */
static scan_status unique_piece(const compact_work *w, stream_lane *lane, const compact_slot *x, bool want_kept,
                                bool want_indices) {
    scan_unique_desc desc = describe_runs(w, x, lane->on_host);
    scan_unique_out out = {.struct_size = sizeof out,
                           .kept = want_kept ? stream_at(lane, &x->kept) : NULL,
                           .indices = want_indices ? stream_at(lane, &x->indices) : NULL,
                           .count = stream_at(lane, &x->count)};
    const char *first = (const char *)stream_at(lane, &x->in) + (x->carried ? 0 : w->size);
    return scan_unique(lane->ctx, &desc, first, &out, x->n + x->carried);
}

static uint64_t count_of(const compact_slot *x) { return *(const uint64_t *)x->count.host; }

static uint64_t index_at(const compact_work *w, const compact_slot *x, size_t i) {
    return w->index_type == SCAN_U32 ? ((const uint32_t *)x->indices.host)[i] : ((const uint64_t *)x->indices.host)[i];
}

static scan_status unique_by_flags(const compact_work *w, stream_lane *lane, const compact_slot *x) {
    SESSION_TRY(unique_piece(w, lane, x, false, true));
    SESSION_TRY(stream_down(lane, &x->count, sizeof(uint64_t)));
    SESSION_TRY(scan_ctx_sync(lane->ctx));
    uint64_t runs = count_of(x);
    SESSION_TRY(stream_down(lane, &x->indices, runs * scan_type_size(w->index_type)));
    SESSION_TRY(scan_ctx_sync(lane->ctx));
    memset(x->flags.host, 0, x->n);
    for (size_t i = x->carried; i < runs; i++)
        ((uint8_t *)x->flags.host)[index_at(w, x, i) - x->base] = 1;
    SESSION_TRY(stream_up(lane, &x->flags, x->n));
    return compact_piece(w, lane, x, true);
}

/* ---- stages ------------------------------------------------------------------------------------------------------ */

static scan_status upload(void *arg, stream_lane *lane, size_t piece) {
    const compact_work *w = arg;
    const compact_slot *x = compact_slot_of(arg, piece);
    if (w->job->selector == SELECT_MASK)
        SESSION_TRY(stream_up(lane, &x->flags, x->n));
    return stream_up(lane, &x->in, (x->n + 1) * w->size);
}

static scan_status compute(void *arg, stream_lane *lane, size_t piece) {
    const compact_work *w = arg;
    const compact_slot *x = compact_slot_of(arg, piece);
    if (runs_by_flags(w))
        return unique_by_flags(w, lane, x);
    if (compact_by_runs(w))
        return unique_piece(w, lane, x, true, wants_indices(w));
    return compact_piece(w, lane, x, w->job->selector == SELECT_MASK);
}

/* How many elements at the beginning of `kept` and `indices` belong to the last run of the piece before. */
static size_t skipped(const compact_work *w, const compact_slot *x) {
    return compact_by_runs(w) && !runs_by_flags(w) && x->carried;
}

static scan_status download(void *arg, stream_lane *lane, size_t piece) {
    const compact_work *w = arg;
    const compact_slot *x = compact_slot_of(arg, piece);
    SESSION_TRY(stream_down(lane, &x->count, sizeof(uint64_t)));
    SESSION_TRY(scan_ctx_sync(lane->ctx));
    uint64_t count = count_of(x);
    SESSION_TRY(stream_down(lane, &x->kept, count * w->size));
    if (w->job->rejected_out)
        SESSION_TRY(stream_down(lane, &x->rejected, (x->n - count) * w->size));
    return wants_indices(w) ? stream_down(lane, &x->indices, count * scan_type_size(w->index_type)) : SCAN_OK;
}

/* ---- --verify ---------------------------------------------------------------------------------------------------- */

static bool expected(const compact_work *w, const compact_slot *s, size_t i) {
    const unsigned char *x = compact_piece_host(w, s) + i * w->size;
    bool keep;
    if (w->job->selector == SELECT_MASK)
        keep = ((const uint8_t *)s->flags.host)[i] != 0;
    else if (compact_by_runs(w))
        keep = (i == 0 && !s->carried) || !compact_check_equal(w->r->type, x - w->size, x);
    else
        keep = compact_check_terms(&w->e, &(scan_column){.type = w->r->type, .data = compact_piece_host(w, s)}, i,
                                   s->base + i);
    return keep != w->job->invert;
}

static void verify_piece(const compact_work *w, const compact_slot *s, const unsigned char *kept, size_t first_index,
                         uint64_t count) {
    report_phase before = report_enter(PHASE_VERIFY);
    size_t j = 0, rest = 0;
    for (size_t i = 0; i < s->n; i++) {
        const unsigned char *x = compact_piece_host(w, s) + i * w->size;
        unsigned long long at = s->base + i;
        if (!expected(w, s, i)) {
            if (w->job->rejected_out && memcmp((char *)s->rejected.host + rest * w->size, x, w->size) != 0)
                compact_check_failed(w->r->in->name, "element %llu should be rejected", at);
            rest++;
            continue;
        }
        if (j >= count || memcmp(kept + j * w->size, x, w->size) != 0)
            compact_check_failed(w->r->in->name, "element %llu should be kept", at);
        if (wants_indices(w) && index_at(w, s, first_index + j) != at)
            compact_check_failed(w->r->in->name, "the index of element %llu is wrong", at);
        j++;
    }
    if (j != count)
        compact_check_failed(w->r->in->name, "%llu elements are kept, not %zu", (unsigned long long)count, j);
    report_enter(before);
}

/* ---- pieces ------------------------------------------------------------------------------------------------------ */

/* Counted here and not where it is computed, because the number of kept elements is known only now. */
static void report_computed(const compact_work *w, size_t n, uint64_t count) {
    const compact_job *job = w->job;
    uint64_t taken = n * (w->size + (job->selector == SELECT_MASK));
    uint64_t given = job->rejected_out ? n * w->size : count * w->size;
    given += wants_indices(w) ? count * scan_type_size(w->index_type) : 0;
    report_moved(PHASE_COMPUTE, taken + given);
}

static void finish(void *arg, size_t piece) {
    compact_work *w = arg;
    const compact_job *job = w->job;
    const compact_slot *x = compact_slot_of(w, piece);
    size_t skip = skipped(w, x);
    uint64_t count = count_of(x) - skip;
    const unsigned char *kept = (const unsigned char *)x->kept.host + skip * w->size;
    const char *indices =
        wants_indices(w) ? (const char *)x->indices.host + skip * scan_type_size(w->index_type) : NULL;
    if (job->common->verify)
        verify_piece(w, x, kept, skip, count);
    if (!job->count_only)
        array_write(&w->kept, kept, count);
    if (job->rejected_out)
        array_write(&w->rejected, x->rejected.host, x->n - count);
    if (job->indices_out)
        array_write(&w->indices, indices, count);
    if (job->counts_out)
        compact_counts_add(&w->runs, w->index_type, indices, count);
    report_computed(w, x->n, count);
    w->kept_total += count;
    report_progress(x->taken, w->r->in->extent.size);
}

/* Tests whether the library's workspace for a piece can be allocated. A call that has none will be refused itself. */
static scan_status probe_workspace(compact_work *w, session *s, size_t n) {
    size_t bytes = 0, more = 0;
    compact_slot x = {.n = n};
    scan_unique_desc runs = describe_runs(w, &x, false);
    uint8_t any = 0;
    scan_compact_desc desc =
        describe(w, &x, compact_by_runs(w) || w->job->selector == SELECT_MASK ? &any : NULL, false);
    if (compact_by_runs(w) && scan_unique_workspace(s->ctx, &runs, n + 1, &bytes) != SCAN_OK)
        return SCAN_OK;
    if ((!compact_by_runs(w) || runs_by_flags(w)) && scan_compact_workspace(s->ctx, &desc, n, &more) != SCAN_OK)
        return SCAN_OK;
    return session_probe(s, bytes > more ? bytes : more);
}

static scan_status make_slots(void *arg, session *s, size_t n) {
    compact_work *w = arg;
    const compact_job *job = w->job;
    size_t bytes = (n + 1) * w->size;
    w->slot_count = stream_slots(s);
    for (size_t i = 0; i < w->slot_count; i++) {
        compact_slot *x = &w->slots[i];
        SESSION_TRY(stream_buffer_new(s, &x->in, bytes));
        SESSION_TRY(stream_buffer_new(s, &x->kept, bytes));
        SESSION_TRY(stream_buffer_new(s, &x->count, sizeof(uint64_t)));
        if (job->rejected_out)
            SESSION_TRY(stream_buffer_new(s, &x->rejected, bytes));
        if (wants_indices(w) || runs_by_flags(w))
            SESSION_TRY(stream_buffer_new(s, &x->indices, (n + 1) * scan_type_size(w->index_type)));
        if (job->selector == SELECT_MASK || runs_by_flags(w))
            SESSION_TRY(stream_buffer_new(s, &x->flags, n));
    }
    return s->on_host ? SCAN_OK : probe_workspace(w, s, n);
}

static void prepare(compact_work *w) {
    const compact_job *job = w->job;
    uint64_t elements = w->r->counted ? w->r->header.count : 0;
    w->size = w->r->size;
    /* The type of the indices is written before the length of a pipe is known. */
    w->index_type = !job->indices_out || elements > UINT32_MAX ? SCAN_U64 : SCAN_U32;
    compact_choose(w->job, w->s, elements * w->size / ranks_count());
    session_ready(w->s);
    w->piece = stream_prepare(w->s, w->r->in->name, w->size, elements, make_slots, w);
    w->kept = compact_writer(job, w->r, job->kept_out, job->common->output);
    w->rejected = compact_writer(job, w->r, job->rejected_out, job->rejected);
    w->indices = compact_index_writer(job, job->indices_out, job->indices, w->index_type);
    if (!job->count_only)
        array_reserve_header(&w->kept);
    if (job->rejected_out)
        array_reserve_header(&w->rejected);
    if (job->indices_out)
        array_reserve_header(&w->indices);
    if (job->counts_out)
        w->runs = compact_counts_begin(job);
}

static void write_lengths(compact_work *w) {
    const compact_job *job = w->job;
    w->kept_total = ranks_add(w->kept_total).total;
    if (job->count_only)
        compact_write_count(job, w->kept_total);
    else
        array_write_length(&w->kept, w->kept_total);
    if (job->rejected_out)
        array_write_length(&w->rejected, w->have - w->kept_total);
    if (job->indices_out)
        array_write_length(&w->indices, w->kept_total);
    if (job->counts_out)
        compact_counts_end(&w->runs, w->have);
}

void compact_array(const compact_job *job, array_reader *r, session *s) {
    compact_work w = {.job = job, .s = s, .r = r};
    if (compact_array_rows(job, r, s))
        return;
    array_refuse_ranks(r);
    if (job->selector == SELECT_MASK)
        compact_mask_open(&w.mask, job->mask, r);
    else if (!compact_by_runs(&w))
        compact_terms(job, &w.e);
    prepare(&w);
    stream_run(s, &(stream_job){.subject = r->in->name,
                                .slots = w.slot_count,
                                .read = compact_read_piece,
                                .upload = upload,
                                .compute = compute,
                                .download = download,
                                .finish = finish,
                                .arg = &w});
    if (job->selector == SELECT_MASK)
        compact_mask_end(&w.mask, w.have);
    write_lengths(&w);
    expression_free(&w.e);
    report_text("type", scan_type_name(r->type));
    report_number("elements", w.have);
    report_number("kept", w.kept_total);
}
