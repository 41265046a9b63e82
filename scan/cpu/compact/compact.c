/* SPDX-License-Identifier: MIT
 *
 * scan_compact on the CPU: the select engine with the bits of a predicate.
 */
#include <string.h>

#include "../../shared/predicate.h"
#include "select.h"

typedef struct predicate_source {
    scan_predicate predicate;
    const scan_compact_desc *desc;
    const void *in;
} predicate_source;

static void fill(uint64_t *bits, size_t words, bool value) { memset(bits, value ? 0xff : 0, words * sizeof *bits); }

/* A range test of the index reads nothing: the bits of [first, first + n) that lie in [lo, hi]. */
static void index_in_range(uint64_t first, size_t n, const scan_step *step, uint64_t *bits) {
    uint64_t last = first + (n - 1);
    size_t from = step->lo > first ? (step->lo > last ? n : (size_t)(step->lo - first)) : 0;
    size_t to = step->hi < last ? (step->hi < first ? 0 : (size_t)(step->hi - first) + 1) : n;
    for (size_t at = 0; at < n; at += 64) {
        size_t a = from > at ? from - at : 0, b = to > at ? to - at : 0;
        uint64_t below_a = a < 64 ? (1ull << a) - 1 : ~0ull, below_b = b < 64 ? (1ull << b) - 1 : ~0ull;
        bits[at / 64] = (below_b & ~below_a) ^ (step->negate ? ~0ull : 0);
    }
}

static const char *column_data(const predicate_source *source, uint32_t column) {
    if (column == SCAN_COLUMN_FLAGS)
        return (const char *)source->desc->flags;
    return column ? source->desc->columns[column - 1].data : source->in;
}

static void evaluate(const scan_select_job *job, const scan_step *step, size_t first, size_t n, uint64_t *bits) {
    const predicate_source *source = job->source;
    if (step->column == SCAN_COLUMN_INDEX) {
        index_in_range(source->desc->index_base + first, n, step, bits);
        return;
    }
    const char *x = column_data(source, step->column) + first * scan_type_size(step->type);
    job->kernels->in_range[scan_lane_of(step->type)](x, n, step->lo, step->hi, step->negate ? ~0ull : 0, bits);
}

static void join(scan_step_kind kind, bool negate, size_t words, uint64_t *left, const uint64_t *right) {
    uint64_t flip = negate ? ~0ull : 0;
    if (kind == SCAN_STEP_AND)
        for (size_t i = 0; i < words; i++)
            left[i] = (left[i] & right[i]) ^ flip;
    else
        for (size_t i = 0; i < words; i++)
            left[i] = (left[i] | right[i]) ^ flip;
}

/* Postfix on a stack of bit rows, of which the caller's `bits` is the lowest. */
static void select_by_predicate(const scan_select_job *job, size_t first, size_t n, uint64_t *bits) {
    const predicate_source *source = job->source;
    const scan_predicate *predicate = &source->predicate;
    size_t words = (n + 63) / 64;
    uint64_t rows[SCAN_MAX_TERMS / 2][SCAN_SELECT_PIECE / 64];
    uint32_t alive = 0;
    if (predicate->step_count == 0)
        fill(bits, words, predicate->constant);
    for (uint32_t i = 0; i < predicate->step_count; i++) {
        const scan_step *step = &predicate->steps[i];
        if (step->kind == SCAN_STEP_RANGE) {
            evaluate(job, step, first, n, alive ? rows[alive - 1] : bits);
            alive++;
        } else {
            alive--;
            join(step->kind, step->negate, words, alive > 1 ? rows[alive - 2] : bits, rows[alive - 1]);
        }
    }
}

scan_status scan_cpu_compact(scan_ctx *ctx, const scan_compact_desc *desc, const void *in, const scan_compact_out *out,
                             size_t n) {
    predicate_source source = {.desc = desc, .in = in};
    scan_predicate_compile(desc, &source.predicate);
    scan_select_job job = {.select = select_by_predicate,
                           .source = &source,
                           .in = in,
                           .n = scan_cpu_count(n, desc->n_device),
                           .grid = desc->grid,
                           .size = scan_type_size(desc->type),
                           .index_type = desc->index_type,
                           .index_base = desc->index_base,
                           .kept = out->kept,
                           .rejected = out->rejected,
                           .indices = out->indices,
                           .count = out->count};
    scan_cpu_note(ctx, "blocks");
    return scan_select_run(ctx, &job);
}

size_t scan_cpu_compact_workspace(const scan_ctx *ctx, const scan_compact_desc *desc, size_t n) {
    return scan_select_workspace(ctx, scan_type_size(desc->type), desc->index_type, n);
}
