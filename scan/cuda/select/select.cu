/* SPDX-License-Identifier: MIT
 *
 * The select engine on the host: which grid runs, its state, the launch.
 */

#include "../device/order.cuh"
#include "select.h"

namespace scan_cuda {

constexpr uint64_t max_tiles = 0x7fffffff; /* CTAs of a launch */

struct grid_choice {
    bool wave, single;
    uint64_t tiles;
    size_t state_bytes;
};

static uint64_t tile_words(uint64_t tiles) { return (tiles + 1) / 2 * 2; /* words of groups lie in pairs */ }

static bool has_wave(const scan_ctx *ctx, const select_kernels &kernels) {
    return kernels.wave && runs_wave(state_of(ctx), 90, kernels.wave_shared_bytes + wave_static_bytes);
}

/* AUTO picks the wave where there are more tiles than SMs: it gains by loading and counting ahead. */
static grid_choice choose(const scan_ctx *ctx, const select_kernels &kernels, scan_grid grid, uint64_t n) {
    const uint64_t sm_count = uint64_t(state_of(ctx)->sm_count);
    grid_choice c = {};
    c.tiles = ceil_div(n, uint64_t(kernels.look_back_tile));
    c.wave = grid != SCAN_GRID_LOOKBACK && has_wave(ctx, kernels) &&
             (grid == SCAN_GRID_WAVE || (c.tiles > 1 && ceil_div(n, uint64_t(kernels.wave_tile)) > sm_count));
    c.single = c.tiles <= 1 && !c.wave;
    if (c.wave)
        c.tiles = ceil_div(n, uint64_t(kernels.wave_tile));
    if (!c.single)
        c.state_bytes = scan_state_bytes(tile_words(c.tiles), (c.tiles / tiles_per_group + 1) * words_of_group);
    return c;
}

size_t select_workspace(const scan_ctx *ctx, const select_kernels &kernels, scan_grid grid, uint64_t n) {
    return workspace_bytes(choose(ctx, kernels, grid, n).state_bytes, 0);
}

static const select_kernels *const all_kernels[] = {range_kernels, flags_kernels, program_kernels, runs_kernels};

scan_status select_open(scan_ctx *ctx) {
    for (const select_kernels *kernels : all_kernels)
        for (int i = 0; i < ELEMENT_SIZES; i++)
            if (has_wave(ctx, kernels[i]))
                SCAN_CUDA_TRY(ctx, cudaFuncSetAttribute(kernels[i].wave, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                        int(kernels[i].wave_shared_bytes)));
    return SCAN_OK;
}

scan_status select_load(scan_ctx *ctx) {
    for (const select_kernels *kernels : all_kernels)
        for (int i = 0; i < ELEMENT_SIZES; i++) {
            SCAN_TRY(load_kernel(ctx, kernels[i].look_back));
            SCAN_TRY(load_kernel(ctx, kernels[i].wave));
        }
    return SCAN_OK;
}

static scan_status check_grid(scan_ctx *ctx, const select_kernels &kernels, scan_grid grid) {
    if (grid != SCAN_GRID_AUTO && grid != SCAN_GRID_LOOKBACK && grid != SCAN_GRID_WAVE)
        return scan_fail(ctx, SCAN_ERR_ALGORITHM, "desc.grid: on CUDA auto, look-back or wave, not %s",
                         scan_grid_name(grid));
    if (grid == SCAN_GRID_WAVE && !has_wave(ctx, kernels))
        return scan_fail(ctx, SCAN_ERR_ALGORITHM, "desc.grid: wave is for %s; take look-back",
                         kernels.wave ? "sm_90 and later"
                                      : "flags, runs, and one range, or all but one, of in or, where no "
                                        "elements are written, of any one column");
    return SCAN_OK;
}

scan_status run_select(scan_ctx *ctx, const select_kernels &kernels, scan_grid grid, select_job &job, void *source) {
    context_state *s = state_of(ctx);
    SCAN_TRY(check_grid(ctx, kernels, grid));
    const grid_choice c = choose(ctx, kernels, grid, job.n);
    if (c.tiles > max_tiles)
        return scan_fail(ctx, SCAN_ERR_ARGUMENT, "n: %llu elements are too many", (unsigned long long)job.n);
    job.single = c.single;
    if (!c.single) {
        char *state, *scratch;
        SCAN_TRY(take_workspace(ctx, c.state_bytes, 0, &state, &scratch));
        job.state = make_scan_state(state, size_t(scratch - state), tile_words(c.tiles));
    }
    void *arguments[] = {&job, source};
    if (c.wave)
        SCAN_TRY(launch_pdl(ctx, kernels.wave, uint64_t(s->sm_count), kernels.wave_threads, arguments,
                            kernels.wave_shared_bytes));
    else
        SCAN_TRY(launch_pdl(ctx, kernels.look_back, c.single ? 1 : c.tiles, kernels.look_back_threads, arguments, 0));
    ctx->ran = c.wave ? "wave" : c.single ? "single" : "look-back";
    return SCAN_OK;
}

} /* namespace scan_cuda */
