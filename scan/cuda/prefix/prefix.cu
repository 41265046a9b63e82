/* SPDX-License-Identifier: MIT
 *
 * The prefix verb on CUDA: which class, which grid, and the launches. No types here; kernels come from tables.
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "../cuda.h"
#include "job.cuh"
#include "kernels.h"

namespace scan_cuda {

/* ---- classes ----------------------------------------------------------------------------------------------------- */

enum { CLASS_U8, CLASS_U16, CLASS_U32, CLASS_U64, CLASS_F32, CLASS_F64, CLASSES };
enum { OP_ADD, OP_MUL, OP_MAX, OPS };

static const prefix_kernels *const classes[OPS][CLASSES][CLASSES] =
    {
#define ROWS(op)                                                                                                       \
    {                                                                                                                  \
        {&op##_u8, nullptr, &op##_u8_u32, &op##_u8_u64}, {nullptr, &op##_u16, nullptr, &op##_u16_u64},                 \
            {nullptr, nullptr, &op##_u32, &op##_u32_u64}, {                                                            \
            nullptr, nullptr, nullptr, &op##_u64                                                                       \
        }
#define FLOAT_ROWS(op)                                                                                                 \
    {nullptr, nullptr, nullptr, nullptr, &op##_f32, &op##_f32_f64}, {                                                  \
        nullptr, nullptr, nullptr, nullptr, nullptr, &op##_f64                                                         \
    }
        ROWS(add), FLOAT_ROWS(add)},
                                   ROWS(mul), FLOAT_ROWS(mul)
}
, ROWS(max)
}
#undef ROWS
#undef FLOAT_ROWS
}
;

static bool is_float(scan_type type) { return type == SCAN_F32 || type == SCAN_F64; }
static bool is_signed(scan_type type) {
    return type == SCAN_I8 || type == SCAN_I16 || type == SCAN_I32 || type == SCAN_I64;
}

static int class_of(scan_type type, bool coded) {
    int size = __builtin_ctz(unsigned(scan_type_size(type)));
    return is_float(type) && !coded ? (type == SCAN_F32 ? CLASS_F32 : CLASS_F64) : size;
}

static const prefix_kernels *kernels_of(const scan_prefix_desc *desc) {
    bool coded = desc->op == SCAN_MIN || desc->op == SCAN_MAX;
    int op = coded ? OP_MAX : desc->op == SCAN_MUL ? OP_MUL : OP_ADD;
    return classes[op][class_of(desc->type, coded)][class_of(desc->out_type, coded)];
}

static element_code code_of(const scan_prefix_desc *desc) {
    element_code code = {};
    uint64_t out_sign = 1ull << (scan_type_size(desc->out_type) * 8 - 1);
    if (desc->type != desc->out_type && is_signed(desc->type))
        code.sign = 1ull << (scan_type_size(desc->type) * 8 - 1);
    if (desc->op == SCAN_MIN || desc->op == SCAN_MAX) {
        code.is_float = is_float(desc->out_type);
        code.flip = (is_signed(desc->out_type) ? out_sign : 0) ^ (desc->op == SCAN_MIN ? ~0ull : 0);
    }
    return code;
}

/* What an exclusive scan shows where nothing comes before, as bits of the output type. */
static uint64_t identity_of(const scan_prefix_desc *desc) {
    const bool wide = scan_type_size(desc->out_type) == 8;
    if (desc->op == SCAN_ADD)
        return 0;
    if (desc->op == SCAN_MUL)
        return desc->out_type == SCAN_F32 ? 0x3f800000u : desc->out_type == SCAN_F64 ? 0x3ff0000000000000ull : 1;
    if (is_float(desc->out_type)) {
        uint64_t infinity = wide ? 0x7ff0000000000000ull : 0x7f800000u, sign = wide ? 1ull << 63 : 1ull << 31;
        return desc->op == SCAN_MIN ? infinity : infinity | sign;
    }
    return code_of(desc).flip; /* the code 0, decoded */
}

/* ---- choice ------------------------------------------------------------------------------------------------------ */

struct plan {
    const prefix_kernels *kernels;
    scan_grid grid;
    scan_block block;
    int ctas, chunks_per_cta; /* of a small scan, else 0 */
    uint64_t tiles, tile_words;
    uint32_t section;
    size_t state_bytes, piece_bytes, rest_bytes, sums_bytes;
};

/* Up to which size, in chunks (4 KiB of accumulators), one CTA, one cluster and look-back serve; then the wave. A
 * cluster has the CTAs that the GPU grants, max_chunks_per_cta each. Where the curves of `tools/bench --device cuda
 * --verb prefix --algorithm all --type u32,u64,u8 --n 2^10..2^22` cross on an H200, 2026-11-20. */
#ifndef SCAN_CUDA_SINGLE_CHUNKS
#define SCAN_CUDA_SINGLE_CHUNKS 8
#endif
#ifndef SCAN_CUDA_CLUSTER_CHUNKS
#define SCAN_CUDA_CLUSTER_CHUNKS 64
#endif
#ifndef SCAN_CUDA_LOOK_BACK_CHUNKS
#define SCAN_CUDA_LOOK_BACK_CHUNKS 2048
#endif

/* One CTA, or a cluster of as few chunks a CTA as the CTAs allow. */
static void plan_small(plan *p, uint64_t chunks, int max_ctas) {
    const bool single = chunks <= SCAN_CUDA_SINGLE_CHUNKS;
    if (!single && (chunks > SCAN_CUDA_CLUSTER_CHUNKS || chunks > uint64_t(max_ctas) * max_chunks_per_cta))
        return;
    p->ctas = p->chunks_per_cta = 1;
    while (!single && p->ctas < max_ctas && uint64_t(p->ctas) < chunks)
        p->ctas *= 2;
    while (uint64_t(p->ctas * p->chunks_per_cta) < chunks)
        p->chunks_per_cta *= 2;
}

static scan_status make_plan(scan_ctx *failing, const scan_ctx *ctx, const scan_prefix_desc *desc, size_t n, plan *p) {
    *p = {};
    p->kernels = kernels_of(desc);
    const prefix_kernels *k = p->kernels;
    const bool carries = desc->carry_in || desc->carry_out;
    const bool wave_runs = runs_wave(state_of(ctx), size_t(p->kernels->wave_shared_bytes));
    p->grid = desc->algorithm.grid;
    p->block = desc->algorithm.block;
    p->tiles = ceil_div(n, k->tile);
    if (p->grid == SCAN_GRID_AUTO && p->block != SCAN_BLOCK_AUTO && p->block != SCAN_BLOCK_WARP)
        p->grid = SCAN_GRID_HIERARCHICAL;
    if (p->grid == SCAN_GRID_AUTO) {
        const uint64_t chunks = ceil_div(n, uint64_t(k->chunk));
        if (!carries)
            plan_small(p, chunks, state_of(ctx)->cluster);
        p->grid = wave_runs && chunks > SCAN_CUDA_LOOK_BACK_CHUNKS ? SCAN_GRID_WAVE : SCAN_GRID_LOOKBACK;
    }
    if (p->block == SCAN_BLOCK_AUTO)
        p->block = SCAN_BLOCK_WARP;

    switch (p->grid) {
    case SCAN_GRID_WAVE:
        if (!wave_runs)
            return scan_fail(failing, SCAN_ERR_ALGORITHM,
                             "wave needs a GPU of compute capability 9.0 or later with %zu bytes of shared memory for "
                             "a CTA, this one has %d.%d with %zu",
                             size_t(k->wave_shared_bytes) + wave_static_bytes, state_of(ctx)->capability / 10,
                             state_of(ctx)->capability % 10, state_of(ctx)->shared_bytes);
        [[fallthrough]];
    case SCAN_GRID_LOOKBACK:
        if (p->block != SCAN_BLOCK_WARP)
            return scan_fail(failing, SCAN_ERR_ALGORITHM, "%s takes the block %s only", scan_grid_name(p->grid),
                             scan_block_name(SCAN_BLOCK_WARP));
        if (p->tiles > 0x7fffffff)
            return scan_fail(failing, SCAN_ERR_ARGUMENT, "n: %zu elements are too many", n);
        p->tile_words = (p->tiles + spare_tiles) * (k->out_size == 8 ? 2 : 1);
        p->state_bytes = 64 + (p->tile_words + p->tile_words / tiles_per_group + 2) * 8;
        if (carries) {
            p->piece_bytes = align_up(SCAN_CARRY_BYTES);
            p->rest_bytes = align_up(k->tile * k->in_size);
        }
        return SCAN_OK;
    case SCAN_GRID_HOST_SUMS:
    case SCAN_GRID_HIERARCHICAL:
        if (carries)
            return scan_fail(failing, SCAN_ERR_ALGORITHM, "%s has no carry_in and carry_out", scan_grid_name(p->grid));
        p->section = uint32_t(k->blocks[p->block - SCAN_BLOCK_KOGGE_STONE].max_section);
        for (uint64_t level = ceil_div(n, p->section);; level = ceil_div(level, p->section)) {
            p->sums_bytes += align_up(level * k->out_size);
            if (level <= 1)
                return SCAN_OK;
        }
    default:
        return scan_fail(failing, SCAN_ERR_ALGORITHM, "the CUDA backend has no grid %s",
                         scan_grid_name(p->grid) ? scan_grid_name(p->grid) : "of that number");
    }
}

size_t prefix_workspace(const scan_ctx *ctx, const scan_prefix_desc *desc, size_t n) {
    plan p;
    if (make_plan(nullptr, ctx, desc, n, &p) != SCAN_OK)
        return 0;
    return workspace_bytes(p.state_bytes, p.piece_bytes + p.rest_bytes + p.sums_bytes);
}

/* ---- launches ---------------------------------------------------------------------------------------------------- */

/* The CTAs that a cluster may have: 16 where the GPU grants that, else the 8 that every one promises. */
static scan_status grant_clusters(scan_ctx *ctx) {
    context_state *s = state_of(ctx);
    s->cluster = 1;
    if (s->capability < 90)
        return SCAN_OK;
    for (size_t i = 0; i < sizeof classes / sizeof classes[0][0][0]; i++)
        if ((&classes[0][0][0])[i])
            SCAN_CUDA_TRY(ctx, cudaFuncSetAttribute((&classes[0][0][0])[i]->cluster,
                                                    cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
    const prefix_kernels *k = classes[OP_ADD][CLASS_U32][CLASS_U32];
    s->cluster = max_cluster_size(ctx, k->cluster, 16, max_chunks_per_cta * k->cluster_threads_per_chunk, 0);
    return SCAN_OK;
}

scan_status prefix_open(scan_ctx *ctx) {
    for (size_t i = 0; i < sizeof classes / sizeof classes[0][0][0]; i++) {
        const prefix_kernels *k = (&classes[0][0][0])[i];
        if (k && runs_wave(state_of(ctx), size_t(k->wave_shared_bytes)))
            SCAN_CUDA_TRY(
                ctx, cudaFuncSetAttribute(k->wave, cudaFuncAttributeMaxDynamicSharedMemorySize, k->wave_shared_bytes));
    }
    return grant_clusters(ctx);
}

scan_status prefix_load(scan_ctx *ctx) {
    for (size_t i = 0; i < sizeof classes / sizeof classes[0][0][0]; i++) {
        const prefix_kernels *k = (&classes[0][0][0])[i];
        if (!k)
            continue;
        const void *const kernels[] = {k->wave, k->look_back, k->cluster, k->carry, k->add};
        for (const void *kernel : kernels)
            SCAN_TRY(load_kernel(ctx, kernel));
        for (const auto &block : k->blocks)
            SCAN_TRY(load_kernel(ctx, block.section));
    }
    return SCAN_OK;
}

/* One CTA or one cluster. */
static scan_status small(scan_ctx *ctx, const plan &p, scan_job job) {
    const int threads = p.chunks_per_cta * p.kernels->cluster_threads_per_chunk;
    void *arguments[] = {&job};
    if (p.ctas == 1)
        return launch_pdl(ctx, p.kernels->cluster, 1, threads, arguments, 0);
    return launch_cluster(ctx, p.kernels->cluster, p.ctas, threads, arguments, 0);
}

/* Wave and look-back, between the two ends of a piece if there is a carry. */
static scan_status one_pass(scan_ctx *ctx, const scan_prefix_desc *desc, const plan &p, scan_job job, char *state,
                            char *scratch) {
    const prefix_kernels *k = p.kernels;
    uint64_t *words = reinterpret_cast<uint64_t *>(state);
    /* All of the state is cleared when the epoch wraps: other calls have used what this one does not. */
    job.state = {words, words + 1, words + 8, words + 8 + p.tile_words, uint64_t(scratch - state) / 8 - 8};
    const void *from = desc->carry_in;
    void *piece = scratch, *rest = scratch + p.piece_bytes, *to = desc->carry_out;
    bool end = false;
    void *carry_arguments[] = {&job, &from, &piece, &rest, &to, &end};
    if (p.piece_bytes) {
        SCAN_TRY(launch(ctx, k->carry, 1, 256, carry_arguments, 0));
        job.piece = piece;
    }
    void *arguments[] = {&job};
    const uint64_t tiles = p.tiles ? p.tiles : 1, sm_count = uint64_t(state_of(ctx)->sm_count);
    if (p.grid == SCAN_GRID_WAVE)
        SCAN_TRY(launch_pdl(ctx, k->wave, tiles < sm_count ? tiles : sm_count, k->wave_threads, arguments,
                            size_t(k->wave_shared_bytes)));
    else
        SCAN_TRY(launch_pdl(ctx, k->look_back, tiles, k->look_back_threads, arguments, 0));
    end = true;
    return desc->carry_out ? launch(ctx, k->carry, 1, 32, carry_arguments, 0) : SCAN_OK;
}

/* The levels of S, lowest first; the last has one element. */
struct sums_levels {
    int count;
    struct {
        void *sums;
        uint64_t n;
    } at[8]; /* sections of 1,024 and more: 2^64 elements have 7 levels */
};

static scan_status scan_levels(scan_ctx *ctx, const plan &p, const sums_levels &levels) {
    const prefix_kernels *k = p.kernels;
    const auto &block = k->blocks[p.block - SCAN_BLOCK_KOGGE_STONE];
    const int threads = block.max_section / block.elements_per_thread;
    uint32_t section = p.section;
    scan_job job = {}; /* in place, of operands */
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

static scan_status host_levels(scan_ctx *ctx, const plan &p, void *d_sums, uint64_t n) {
    cudaStream_t stream = state_of(ctx)->stream;
    const size_t bytes = n * p.kernels->out_size;
    void *sums = malloc(bytes);
    if (!sums)
        return scan_fail(ctx, SCAN_ERR_MEMORY, "no memory for %llu block sums", (unsigned long long)n);
    scan_status status =
        check(ctx, cudaMemcpyAsync(sums, d_sums, bytes, cudaMemcpyDeviceToHost, stream), "cudaMemcpyAsync");
    if (status == SCAN_OK)
        status = check(ctx, cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    if (status == SCAN_OK) {
        p.kernels->host_scan_sums(sums, n);
        status = check(ctx, cudaMemcpyAsync(d_sums, sums, bytes, cudaMemcpyHostToDevice, stream), "cudaMemcpyAsync");
    }
    if (status == SCAN_OK)
        status = check(ctx, cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    free(sums);
    return status;
}

/* Hierarchical and host sums. */
static scan_status three_kernels(scan_ctx *ctx, const plan &p, scan_job job, char *scratch) {
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
        SCAN_TRY(scan_levels(ctx, p, levels));
    void *add_arguments[] = {&job, &sums, &section};
    return launch(ctx, k->add, ceil_div(job.n, 256), 256, add_arguments, 0);
}

static void note_what_ran(scan_ctx *ctx, const plan &p) {
    context_state *s = state_of(ctx);
    const char *grid = p.ctas > 1 ? "cluster" : p.ctas ? "single" : scan_grid_name(p.grid);
    snprintf(s->ran, sizeof s->ran, "%s/%s", grid, scan_block_name(p.block));
    ctx->ran = s->ran;
}

scan_status prefix(scan_ctx *ctx, const scan_prefix_desc *desc, const void *in, void *out, size_t n) {
    device_scope scope(state_of(ctx)->device);
    plan p;
    SCAN_TRY(make_plan(ctx, ctx, desc, n, &p));
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
