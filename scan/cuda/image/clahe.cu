/* SPDX-License-Identifier: MIT
 *
 * The clahe verb on CUDA: tables of all tiles (clahe_tables.cuh), then the blend (clahe_blend.cuh), for 16 bits some
 * cells at a time. Colour images are not split into planes: kernels compute luma, or pick a channel, as they read
 * pixels.
 */
#include "clahe_blend.cuh"

namespace scan_cuda {

constexpr size_t word_table_bytes = word_bins * 2;
constexpr uint64_t word_tables_at_once = 64;                    /* each has 512 KiB of counts */
constexpr size_t cell_bytes = word_bins * 4 * sizeof(uint16_t); /* interleaved tables of a cell's plane */
constexpr size_t interleaved_bytes = size_t(48) << 20;          /* at once: about the L2 cache of 9.0 */
constexpr uint64_t max_ctas = 1u << 30;

static const void *const blend_kernels[2][3] = {
    {address(clahe_blend_kernel<uint8_t, BLEND_COLOR>), address(clahe_blend_kernel<uint8_t, BLEND_GREY>),
     address(clahe_blend_kernel<uint8_t, BLEND_VECTORS>)},
    {address(clahe_blend_kernel<uint16_t, BLEND_COLOR>), address(clahe_blend_kernel<uint16_t, BLEND_GREY>),
     address(clahe_blend_kernel<uint16_t, BLEND_VECTORS>)}};

scan_status clahe_open(scan_ctx *ctx) {
    SCAN_CUDA_TRY(ctx, cudaFuncSetAttribute(address(clahe_words_kernel), cudaFuncAttributeMaxDynamicSharedMemorySize,
                                            int(word_table_bytes / word_ranges(ctx))));
    return SCAN_OK;
}

scan_status clahe_load(scan_ctx *ctx) {
    SCAN_TRY(load_kernel(ctx, address(clahe_bytes_kernel)));
    SCAN_TRY(load_kernel(ctx, address(clahe_words_kernel)));
    SCAN_TRY(load_kernel(ctx, address(clahe_interleave_kernel)));
    for (const auto &row : blend_kernels)
        for (const void *kernel : row)
            SCAN_TRY(load_kernel(ctx, kernel));
    return SCAN_OK;
}

/* ---- plan -------------------------------------------------------------------------------------------------------- */

struct clahe_plan {
    clahe_job job; /* without pointers */
    uint64_t tables, tables_at_once, cells, cells_at_once;
    size_t luts_bytes, entries_bytes, counts_bytes, arrived_bytes; /* scratch */
};

static uint64_t between(uint64_t low, uint64_t x, uint64_t high) { return x < low ? low : x > high ? high : x; }

/* The cells along a side: from the one with its first pixel to the one with its last. */
static uint64_t plan_cells(size_t side, float inverse, int64_t *first) {
    *first = scan_clahe_place_of(0, inverse).tile;
    return uint64_t(scan_clahe_place_of(side - 1, inverse).tile - *first) + 1;
}

static void plan_blend(const scan_ctx *ctx, clahe_plan *p, bool bytes) {
    clahe_job *job = &p->job;
    const scan_clahe_grid &g = job->grid;
    job->cells_x = plan_cells(g.width, g.inverse_width, &job->first_cell_x);
    job->across = 1;
    p->cells = job->cells_x * plan_cells(g.height, g.inverse_height, &job->first_cell_y);
    p->cells_at_once = bytes ? p->cells : between(1, interleaved_bytes / cell_bytes / job->planes, p->cells);
    p->entries_bytes = bytes ? 0 : align_up(p->cells_at_once * job->planes * cell_bytes);
    /* Bands of some thousand pixels, and not many CTAs for bytes, but for words, so that those that run at a time are
     * of few cells and find their tables in the L1 cache. */
    const uint64_t wanted = uint64_t(state_of(ctx)->sm_count) * (bytes ? 16 : 128) / p->cells;
    job->bands = uint32_t(between(1, g.area / 8192, wanted < 1 ? 1 : wanted));
    job->band_rows = (g.tile_height + job->bands - 1) / job->bands;
    while (job->across < blend_threads && job->across * blend_pixels < g.tile_width)
        job->across *= 2;
}

static blend_kind blend_kind_of(const clahe_job &job, size_t vector_bytes) {
    if (job.channels > 1)
        return BLEND_COLOR;
    const bool aligned = (uintptr_t(job.in) | uintptr_t(job.out)) % vector_bytes == 0;
    return aligned && job.grid.width % blend_pixels == 0 ? BLEND_VECTORS : BLEND_GREY;
}

static clahe_plan plan_of(const scan_ctx *ctx, const scan_equalize_desc *desc, size_t width, size_t height) {
    const bool bytes = desc->type == SCAN_U8, luma = desc->channels >= 3 && desc->color == SCAN_COLOR_LUMA;
    clahe_plan p = {};
    clahe_job *job = &p.job;
    job->grid = scan_clahe_grid_of(desc, width, height);
    job->channels = desc->channels;
    job->view = luma ? VIEW_LUMA : VIEW_CHANNEL;
    job->planes = luma || desc->channels < 3 ? 1 : max_planes;
    job->ranges = bytes ? 1 : word_ranges(ctx);
    p.tables = job->grid.tiles_x * job->grid.tiles_y * job->planes;
    /* As many CTAs as run at once, if each has enough pixels. */
    const context_state *s = state_of(ctx);
    const uint64_t running = uint64_t(s->sm_count) * uint64_t(bytes ? s->count_ctas[0] : 1) / job->ranges / p.tables;
    const uint64_t enough = job->grid.area / (bytes ? 1u << 15 : 1u << 18);
    job->splits = uint32_t(between(1, running < enough ? running : enough, job->grid.tile_height));
    p.tables_at_once = between(1, p.tables, bytes ? max_ctas / job->splits : word_tables_at_once);
    p.luts_bytes = align_up(p.tables * job->grid.bins * scan_type_size(desc->type));
    if (!bytes || job->splits > 1) {
        p.counts_bytes = p.tables_at_once * job->grid.bins * sizeof(uint64_t);
        p.arrived_bytes = p.tables_at_once * sizeof(uint32_t);
    }
    plan_blend(ctx, &p, bytes);
    return p;
}

static size_t scratch_of(const clahe_plan &p) {
    return p.luts_bytes + p.entries_bytes + align_up(p.counts_bytes + p.arrived_bytes);
}

size_t clahe_workspace(const scan_ctx *ctx, const scan_equalize_desc *desc, size_t width, size_t height) {
    return width && height ? workspace_bytes(0, scratch_of(plan_of(ctx, desc, width, height))) : 0;
}

/* ---- launches ---------------------------------------------------------------------------------------------------- */

static scan_status make_tables(scan_ctx *ctx, const clahe_plan &p, clahe_job job, bool bytes) {
    const void *kernel = bytes ? address(clahe_bytes_kernel) : address(clahe_words_kernel);
    const int threads = bytes ? byte_threads : word_threads;
    const size_t shared = bytes ? size_t(byte_counter<1>::shared_bytes) : word_table_bytes / job.ranges;
    for (; job.first_table < p.tables; job.first_table += p.tables_at_once) {
        const uint64_t left = p.tables - job.first_table, now = left < p.tables_at_once ? left : p.tables_at_once;
        if (job.counts)
            SCAN_TRY(check(ctx, cudaMemsetAsync(job.counts, 0, p.counts_bytes + p.arrived_bytes, state_of(ctx)->stream),
                           "cudaMemsetAsync"));
        void *arguments[] = {&job};
        SCAN_TRY(launch(ctx, kernel, now * job.splits * job.ranges, threads, arguments, shared));
    }
    return SCAN_OK;
}

static scan_status blend(scan_ctx *ctx, const clahe_plan &p, clahe_job job, bool bytes) {
    const blend_kind kind = blend_kind_of(job, blend_pixels * (bytes ? 1 : 2));
    void *arguments[] = {&job};
    for (; job.first_cell < p.cells; job.first_cell += p.cells_at_once) {
        const uint64_t left = p.cells - job.first_cell, now = left < p.cells_at_once ? left : p.cells_at_once;
        if (!bytes)
            SCAN_TRY(launch(ctx, address(clahe_interleave_kernel), now * job.planes * interleave_ctas,
                            interleave_threads, arguments, 0));
        SCAN_TRY(launch(ctx, blend_kernels[!bytes][kind], now * job.bands, blend_threads, arguments, 0));
    }
    return SCAN_OK;
}

scan_status clahe(scan_ctx *ctx, const scan_equalize_desc *desc, const void *in, void *out, size_t width,
                  size_t height) {
    const bool bytes = desc->type == SCAN_U8;
    const clahe_plan p = plan_of(ctx, desc, width, height);
    char *state, *scratch;
    SCAN_TRY(take_workspace(ctx, 0, scratch_of(p), &state, &scratch));
    clahe_job job = p.job;
    job.in = in;
    job.out = out;
    job.luts = scratch;
    job.entries = scratch + p.luts_bytes;
    if (p.counts_bytes) {
        char *counts = scratch + p.luts_bytes + p.entries_bytes;
        job.counts = reinterpret_cast<uint64_t *>(counts);
        job.arrived = reinterpret_cast<uint32_t *>(counts + p.counts_bytes);
    }
    SCAN_TRY(make_tables(ctx, p, job, bytes));
    SCAN_TRY(blend(ctx, p, job, bytes));
    ctx->ran = "clahe";
    return SCAN_OK;
}

} /* namespace scan_cuda */
