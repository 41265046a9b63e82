/* SPDX-License-Identifier: MIT
 *
 * Which grid, block and kernels serve a prefix scan on CUDA.
 */
#include "plan.h"

#include "../thresholds.h"
#include "../grid/job.cuh"
#include "operators.h"

namespace scan_cuda {

/* One CTA, or a cluster of as few chunks a CTA as the CTAs allow. */
static void plan_small(prefix_plan *p, uint64_t chunks, int max_ctas) {
    const bool single = chunks <= max_single_chunks;
    if (!single && (chunks > max_cluster_chunks || chunks > uint64_t(max_ctas) * max_chunks_per_cta))
        return;
    p->ctas = p->chunks_per_cta = 1;
    while (!single && p->ctas < max_ctas && uint64_t(p->ctas) < chunks)
        p->ctas *= 2;
    while (uint64_t(p->ctas * p->chunks_per_cta) < chunks)
        p->chunks_per_cta *= 2;
}

/* Wave and look-back. */
static scan_status plan_single_pass(scan_ctx *failing, prefix_plan *p, bool carries, size_t n) {
    const prefix_kernels *k = p->kernels;
    if (p->block != SCAN_BLOCK_WARP)
        return scan_fail(failing, SCAN_ERR_ALGORITHM, "%s takes the block %s only", scan_grid_name(p->grid),
                         scan_block_name(SCAN_BLOCK_WARP));
    if (p->tiles > 0x7fffffff)
        return scan_fail(failing, SCAN_ERR_ARGUMENT, "n: %zu elements are too many", n);
    p->tile_words = (p->tiles + spare_tiles) * (k->out_size == 8 ? 2 : 1);
    p->state_bytes = scan_state_bytes(p->tile_words, p->tile_words / tiles_per_group + 2);
    if (carries) {
        p->piece_bytes = align_up(SCAN_CARRY_BYTES);
        p->rest_bytes = align_up(k->tile * k->in_size);
    }
    return SCAN_OK;
}

/* Hierarchical and host sums. */
static scan_status plan_block_sums(scan_ctx *failing, prefix_plan *p, bool carries, size_t n) {
    if (carries)
        return scan_fail(failing, SCAN_ERR_ALGORITHM, "%s has no carry_in and carry_out", scan_grid_name(p->grid));
    p->section = uint32_t(p->kernels->blocks[p->block - SCAN_BLOCK_KOGGE_STONE].max_section);
    for (uint64_t level = ceil_div(n, p->section);; level = ceil_div(level, p->section)) {
        p->sums_bytes += align_up(level * p->kernels->out_size);
        if (level <= 1)
            return SCAN_OK;
    }
}

bool has_wave(const scan_ctx *ctx, const prefix_kernels *k, wave_launch *launch) {
    *launch = k->wave_launch_on(state_of(ctx)->capability);
    return runs_wave(state_of(ctx), 80, launch->shared_bytes + launch->static_bytes);
}

/* Whether the wave takes less time than look-back, if tiles are many. Before 9.0 it does not for operators on bytes
 * other than addition, whose registers spill: max of 2^28 u8 took 0.31 ms and look-back 0.25, where sums took 0.16 and
 * 0.22 (an H200 with code for 8.0, 2026-11-26). */
static bool wave_pays(const scan_ctx *ctx, const prefix_kernels *k, scan_op op) {
    return state_of(ctx)->capability >= 90 || k->out_size > 1 || op == SCAN_ADD;
}

static scan_status no_wave(scan_ctx *failing, const scan_ctx *ctx, const wave_launch &launch) {
    const context_state *s = state_of(ctx);
    return scan_fail(failing, SCAN_ERR_ALGORITHM,
                     "wave needs a GPU of compute capability 8.0 or later with %zu bytes of shared memory for a CTA, "
                     "this one has %d.%d with %zu",
                     launch.shared_bytes + launch.static_bytes, s->capability / 10, s->capability % 10,
                     s->shared_bytes);
}

scan_status make_prefix_plan(scan_ctx *failing, const scan_ctx *ctx, const scan_prefix_desc *desc, size_t n,
                             prefix_plan *p) {
    *p = {};
    const prefix_kernels *k = p->kernels = find_kernels(desc);
    if (!k)
        return scan_fail(failing, SCAN_ERR_TYPE, "scan_prefix: %s does not take %s", scan_op_name(desc->op),
                         scan_type_name(desc->type));
    const bool carries = desc->carry_in || desc->carry_out;
    wave_launch wave;
    const bool wave_runs = has_wave(ctx, k, &wave);
    p->grid = desc->algorithm.grid;
    p->block = desc->algorithm.block;
    p->tiles = ceil_div(n, k->tile);
    if (p->grid == SCAN_GRID_AUTO && p->block != SCAN_BLOCK_AUTO && p->block != SCAN_BLOCK_WARP)
        p->grid = SCAN_GRID_HIERARCHICAL;
    if (p->grid == SCAN_GRID_AUTO) {
        const uint64_t chunks = ceil_div(n, uint64_t(k->chunk));
        if (!carries)
            plan_small(p, chunks, state_of(ctx)->cluster);
        p->grid = wave_runs && chunks > max_look_back_chunks && wave_pays(ctx, k, desc->op) ? SCAN_GRID_WAVE
                                                                                            : SCAN_GRID_LOOKBACK;
    }
    if (p->block == SCAN_BLOCK_AUTO)
        p->block = SCAN_BLOCK_WARP;
    if (p->ctas) /* one CTA or cluster: no workspace */
        return SCAN_OK;

    switch (p->grid) {
    case SCAN_GRID_WAVE: return wave_runs ? plan_single_pass(failing, p, carries, n) : no_wave(failing, ctx, wave);
    case SCAN_GRID_LOOKBACK: return plan_single_pass(failing, p, carries, n);
    case SCAN_GRID_HOST_SUMS:
    case SCAN_GRID_HIERARCHICAL: return plan_block_sums(failing, p, carries, n);
    default:
        return scan_fail(failing, SCAN_ERR_ALGORITHM, "the CUDA backend has no grid %s",
                         scan_grid_name(p->grid) ? scan_grid_name(p->grid) : "of that number");
    }
}

} /* namespace scan_cuda */
