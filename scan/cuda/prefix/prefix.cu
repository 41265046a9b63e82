/* SPDX-License-Identifier: MIT
 *
 * The prefix verb on CUDA: the workspace and the launches. No types here; kernels come from tables.
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "../cuda.h"
#include "../grid/job.cuh"
#include "operators.h"
#include "plan.h"

namespace scan_cuda {

size_t prefix_workspace(const scan_ctx *ctx, const scan_prefix_desc *desc, size_t n) {
    prefix_plan p;
    if (make_prefix_plan(nullptr, ctx, desc, n, &p) != SCAN_OK)
        return 0;
    return workspace_bytes(p.state_bytes, p.piece_bytes + p.rest_bytes + p.sums_bytes);
}

/* ---- launches ---------------------------------------------------------------------------------------------------- */

/* The CTAs that a cluster may have: 16 where the GPU runs such clusters, else 8, which every GPU with clusters runs. */
static scan_status find_max_cluster(scan_ctx *ctx) {
    context_state *s = state_of(ctx);
    s->cluster = 1;
    if (s->capability < 90)
        return SCAN_OK;
    for (const prefix_kernels *k : all_kernels)
        SCAN_CUDA_TRY(ctx, cudaFuncSetAttribute(k->cluster, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
    const prefix_kernels *k = &add_u32;
    s->cluster = max_cluster_size(ctx, k->cluster, 16, max_chunks_per_cta * k->cluster_threads_per_chunk, 0);
    return SCAN_OK;
}

scan_status prefix_open(scan_ctx *ctx) {
    wave_launch wave;
    for (const prefix_kernels *k : all_kernels)
        if (has_wave(ctx, k, &wave))
            SCAN_CUDA_TRY(ctx, cudaFuncSetAttribute(k->wave, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                    int(wave.shared_bytes)));
    return find_max_cluster(ctx);
}

scan_status prefix_load(scan_ctx *ctx) {
    for (const prefix_kernels *k : all_kernels) {
        const void *const kernels[] = {k->wave, k->look_back, k->cluster, k->carry_begin, k->carry_end, k->add};
        for (const void *kernel : kernels)
            SCAN_TRY(load_kernel(ctx, kernel));
        for (const auto &block : k->blocks)
            SCAN_TRY(load_kernel(ctx, block.section));
    }
    return SCAN_OK;
}

/* One CTA or one cluster. */
static scan_status small(scan_ctx *ctx, const prefix_plan &p, scan_job job) {
    const int threads = p.chunks_per_cta * p.kernels->cluster_threads_per_chunk;
    void *arguments[] = {&job};
    if (p.ctas == 1)
        return launch_pdl(ctx, p.kernels->cluster, 1, threads, arguments, 0);
    return launch_cluster(ctx, p.kernels->cluster, p.ctas, threads, arguments, 0);
}

/* Wave and look-back, between the two ends of a piece if there is a carry. */
static scan_status one_pass(scan_ctx *ctx, const scan_prefix_desc *desc, const prefix_plan &p, scan_job job,
                            char *state, char *scratch) {
    const prefix_kernels *k = p.kernels;
    job.state = make_scan_state(state, size_t(scratch - state), p.tile_words);
    const void *from = desc->carry_in;
    void *piece = scratch, *rest = scratch + p.piece_bytes, *to = desc->carry_out;
    if (p.piece_bytes) {
        void *arguments[] = {&job, &from, &piece, &rest};
        SCAN_TRY(launch(ctx, k->carry_begin, 1, k->carry_threads, arguments, 0));
        job.piece = piece;
    }
    void *arguments[] = {&job};
    const uint64_t tiles = p.tiles ? p.tiles : 1, sm_count = uint64_t(state_of(ctx)->sm_count);
    const wave_launch wave = k->wave_launch_on(state_of(ctx)->capability);
    if (p.grid == SCAN_GRID_WAVE)
        SCAN_TRY(
            launch_pdl(ctx, k->wave, tiles < sm_count ? tiles : sm_count, wave.threads, arguments, wave.shared_bytes));
    else
        SCAN_TRY(launch_pdl(ctx, k->look_back, tiles, k->look_back_threads, arguments, 0));
    void *end_arguments[] = {&job, &piece, &rest, &to};
    return desc->carry_out ? launch(ctx, k->carry_end, 1, k->carry_threads, end_arguments, 0) : SCAN_OK;
}

/* The levels of S, lowest first; the last has one element. */
struct sums_levels {
    int count;
    struct {
        void *sums;
        uint64_t n;
    } at[8]; /* sections of 1,024 and more: 2^64 elements have 7 levels */
};

static scan_status scan_levels(scan_ctx *ctx, const prefix_plan &p, operation op, const sums_levels &levels) {
    const prefix_kernels *k = p.kernels;
    const auto &block = k->blocks[p.block - SCAN_BLOCK_KOGGE_STONE];
    const int threads = block.max_section / block.elements_per_thread;
    uint32_t section = p.section;
    scan_job job = {}; /* in place, of operands */
    job.code.op = op;
    job.in_size = uint32_t(k->out_size);
    for (int i = 0; i + 1 < levels.count; i++) {
        void *above = levels.at[i + 1].sums;
        job.in = job.out = levels.at[i].sums;
        job.n = levels.at[i].n;
        void *arguments[] = {&job, &above};
        SCAN_TRY(launch(ctx, block.section, ceil_div(job.n, section), threads, arguments, 2 * section * k->out_size));
    }
    for (int i = levels.count - 2; i >= 0; i--) {
        void *above = levels.at[i + 1].sums;
        job.out = levels.at[i].sums;
        job.n = levels.at[i].n;
        void *arguments[] = {&job, &above, &section};
        if (job.n > section)
            SCAN_TRY(launch(ctx, k->add, ceil_div(job.n, 256), 256, arguments, 0));
    }
    return SCAN_OK;
}

static scan_status host_levels(scan_ctx *ctx, const prefix_plan &p, void *d_sums, uint64_t n) {
    const size_t bytes = n * p.kernels->out_size;
    void *sums = malloc(bytes);
    if (!sums)
        return scan_fail(ctx, SCAN_ERR_MEMORY, "no memory for %llu block sums", (unsigned long long)n);
    scan_status status = download(ctx, sums, d_sums, bytes);
    if (status == SCAN_OK)
        status = wait_for_stream(ctx);
    if (status == SCAN_OK) {
        p.kernels->host_scan_sums(sums, n);
        status = upload(ctx, d_sums, sums, bytes);
    }
    if (status == SCAN_OK)
        status = wait_for_stream(ctx);
    free(sums);
    return status;
}

/* Hierarchical and host sums. */
static scan_status three_kernels(scan_ctx *ctx, const prefix_plan &p, scan_job job, char *scratch) {
    const prefix_kernels *k = p.kernels;
    const auto &block = k->blocks[p.block - SCAN_BLOCK_KOGGE_STONE];
    uint32_t section = p.section;
    sums_levels levels = {};
    for (uint64_t n = ceil_div(job.n, section);; n = ceil_div(n, section)) {
        levels.at[levels.count++] = {scratch, n};
        scratch += align_up(n * k->out_size);
        if (n <= 1)
            break;
    }
    void *sums = levels.at[0].sums;
    void *arguments[] = {&job, &sums};
    SCAN_TRY(launch(ctx, block.section, levels.at[0].n, block.max_section / block.elements_per_thread, arguments,
                    2 * section * k->out_size));
    if (p.grid == SCAN_GRID_HOST_SUMS)
        SCAN_TRY(host_levels(ctx, p, sums, levels.at[0].n));
    else
        SCAN_TRY(scan_levels(ctx, p, job.code.op, levels));
    void *add_arguments[] = {&job, &sums, &section};
    return launch(ctx, k->add, ceil_div(job.n, 256), 256, add_arguments, 0);
}

static void note_what_ran(scan_ctx *ctx, const prefix_plan &p) {
    context_state *s = state_of(ctx);
    const char *grid = p.ctas > 1 ? "cluster" : p.ctas ? "single" : scan_grid_name(p.grid);
    snprintf(s->ran, sizeof s->ran, "%s/%s", grid, scan_block_name(p.block));
    ctx->ran = s->ran;
}

scan_status prefix(scan_ctx *ctx, const scan_prefix_desc *desc, const void *in, void *out, size_t n) {
    prefix_plan p;
    SCAN_TRY(make_prefix_plan(ctx, ctx, desc, n, &p));
    if (p.grid == SCAN_GRID_HOST_SUMS && capturing(ctx))
        return scan_fail(ctx, SCAN_ERR_ALGORITHM, "%s waits for the device: it cannot be captured in a graph",
                         scan_grid_name(p.grid));
    scan_job job = {};
    job.in = in;
    job.out = out;
    job.n = n;
    job.n_device = desc->n_device;
    job.in_size = uint32_t(p.kernels->in_size);
    job.exclusive = desc->kind == SCAN_EXCLUSIVE;
    job.reverse = desc->reverse;
    job.code = code_of(desc);
    job.has_init = desc->init;
    if (desc->init)
        memcpy(&job.init, desc->init, scan_type_size(desc->out_type));
    job.writes_identity = job.exclusive && !desc->init && !desc->carry_in;
    job.identity_bits = identity_of(desc);
    const bool teaching = p.grid == SCAN_GRID_HOST_SUMS || p.grid == SCAN_GRID_HIERARCHICAL;
    char *state, *scratch;
    SCAN_TRY(take_workspace(ctx, p.state_bytes, p.piece_bytes + p.rest_bytes + p.sums_bytes, &state, &scratch));
    if (p.ctas && n > 0)
        SCAN_TRY(small(ctx, p, job));
    else if (n > 0 || desc->carry_out)
        SCAN_TRY(teaching ? three_kernels(ctx, p, job, scratch) : one_pass(ctx, desc, p, job, state, scratch));
    note_what_ran(ctx, p);
    return SCAN_OK;
}

} /* namespace scan_cuda */
