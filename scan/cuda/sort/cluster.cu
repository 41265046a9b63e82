/* SPDX-License-Identifier: MIT
 *
 * The sorts of one launch, on the host: by counting, by one cluster. Which sizes they serve, and their launches.
 */
#include "cluster.h"
#include "cluster.cuh"
#include "small.cuh"

namespace scan_cuda {

/* ---- few keys, by counting --------------------------------------------------------------------------------------- */

/* On an H200, 2026-11-20: 2^13 keys of 4 bytes take 8 us, of 8 bytes 13; the cluster 16 and 28. Twice as many
 * would take four times as long. In place there are eight SMs to compare: not measured. */
constexpr uint32_t small_most = 8192, small_most_in_place = 2048;
constexpr uint32_t small_least_warps = 4, small_most_warps = 16;

/* By codes of 4 and 8 bytes. */
static const void *const small_kernels[2] = {address(small_kernel<uint32_t>), address(small_kernel<uint64_t>)};

struct small_shape {
    uint32_t ctas, warps, own; /* keys of a warp */
    size_t shared_bytes;
};

static small_shape small_shape_of(const scan_ctx *ctx, size_t key_bytes, uint32_t n, bool in_place) {
    small_shape shape;
    const uint32_t groups = max(ceil_div(n, small_group), 1u);
    const uint32_t max_ctas = uint32_t(in_place ? state_of(ctx)->sort_small_cluster : state_of(ctx)->sm_count);
    const uint32_t max_warps = in_place ? small_most_threads / 32 : small_most_warps;
    shape.warps = min(max(ceil_div(groups, max_ctas), small_least_warps), max_warps);
    shape.own = min(ceil_div(groups, max_ctas * shape.warps) * small_group, small_most_own);
    shape.ctas = in_place ? max_ctas : ceil_div(n, shape.warps * shape.own);
    shape.shared_bytes = small_shared_bytes(n, shape.warps * 32, key_bytes == 8 ? 8 : 4);
    return shape;
}

bool small_sort_serves(const scan_ctx *ctx, size_t key_bytes, size_t n, bool in_place) {
    if (n > (in_place ? small_most_in_place : small_most))
        return false;
    const small_shape shape = small_shape_of(ctx, key_bytes, uint32_t(n), in_place);
    return n <= shape.ctas * shape.warps * shape.own && shape.shared_bytes <= state_of(ctx)->shared_bytes;
}

scan_status small_sort_run(scan_ctx *ctx, sort_job job, bool in_place) {
    small_shape shape = small_shape_of(ctx, job.key_bytes, uint32_t(job.n), in_place);
    const void *kernel = small_kernels[job.key_bytes == 8];
    const int threads = int(shape.warps * 32);
    void *arguments[] = {&job, &shape.own};
    if (in_place && shape.ctas > 1)
        return launch_cluster(ctx, kernel, int(shape.ctas), threads, arguments, shape.shared_bytes);
    return launch_pdl(ctx, kernel, shape.ctas, threads, arguments, shape.shared_bytes);
}

/* ---- more, by one cluster ---------------------------------------------------------------------------------------- */

/* Above so many keys with codes of 4 bytes, of 8, the radix passes of all SMs are faster; a GPU that grants smaller
 * clusters, or less shared memory, has a lower bound of its own. Where the curves of `tools/bench --device cuda --verb
 * sort --n 2^13..2^18` for the methods auto and radix cross on an H200, 2026-11-20; radix never takes the cluster.
 * 8-byte keys with codes of 4 bytes take it up to the same n: there it took 0.43 to 0.87 of the time (2026-11-30:
 * --hunt 4000 --seed 20261581 --type i64,u64 --min-n 16385 --max-n 65536). */
constexpr uint64_t cluster_sort_most[2] = {1 << 16, 1 << 14};

/* By codes of 4 and 8 bytes. */
static const struct {
    const void *kernel;
    size_t static_bytes, element_bytes;
} kernels[2] = {
    {address(cluster_sort_kernel<uint32_t>), sizeof(cluster_sort_shared<uint32_t>),
     cluster_sort_element_bytes<uint32_t>},
    {address(cluster_sort_kernel<uint64_t>), sizeof(cluster_sort_shared<uint64_t>),
     cluster_sort_element_bytes<uint64_t>},
};

/* The elements that a CTA has room for, and the CTAs that the cluster may have then. */
static scan_status grant(scan_ctx *ctx, int wide) {
    context_state *s = state_of(ctx);
    const auto &k = kernels[wide];
    uint32_t &chunk = s->sort_cluster[wide].chunk;
    int &ctas = s->sort_cluster[wide].ctas;
    for (chunk = cluster_sort_most_chunk; k.static_bytes + chunk * k.element_bytes > s->shared_bytes; chunk /= 2)
        ;
    const size_t bytes = chunk * k.element_bytes;
    SCAN_CUDA_TRY(ctx, cudaFuncSetAttribute(k.kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(bytes)));
    SCAN_CUDA_TRY(ctx, cudaFuncSetAttribute(k.kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
    ctas = max_cluster_size(ctx, k.kernel, cluster_sort_most_ctas, cluster_sort_threads, bytes);
    if (ctas == 1)
        chunk = 0;
    return SCAN_OK;
}

scan_status cluster_sort_open(scan_ctx *ctx) {
    for (const void *kernel : small_kernels)
        SCAN_CUDA_TRY(ctx, cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                int(state_of(ctx)->shared_bytes)));
    state_of(ctx)->sort_small_cluster = 1;
    if (state_of(ctx)->capability < 90)
        return SCAN_OK;
    state_of(ctx)->sort_small_cluster =
        max_cluster_size(ctx, small_kernels[1], 8, small_most_threads,
                         small_shared_bytes(small_most_in_place, small_most_threads, sizeof(uint64_t)));
    SCAN_TRY(grant(ctx, 0));
    return grant(ctx, 1);
}

scan_status cluster_sort_load(scan_ctx *ctx) {
    SCAN_TRY(load_kernel(ctx, small_kernels[0]));
    SCAN_TRY(load_kernel(ctx, small_kernels[1]));
    SCAN_TRY(load_kernel(ctx, kernels[0].kernel));
    return load_kernel(ctx, kernels[1].kernel);
}

/* Whether codes have 8 bytes: of 8-byte keys by up to 32 of their bits they have 4. */
static bool is_wide(uint32_t bits) { return bits > 32; }

bool cluster_sort_serves(const scan_ctx *ctx, uint32_t bits, size_t n) {
    const auto &granted = state_of(ctx)->sort_cluster[is_wide(bits)];
    return n <= cluster_sort_most[is_wide(bits)] && n <= uint64_t(granted.chunk) * uint64_t(granted.ctas);
}

scan_status cluster_sort_run(scan_ctx *ctx, sort_job job) {
    const int wide = is_wide(job.bits), ctas = state_of(ctx)->sort_cluster[wide].ctas;
    const cluster_share share = share_out(uint32_t(job.n), uint32_t(ctas));
    void *arguments[] = {&job};
    return launch_cluster(ctx, kernels[wide].kernel, ctas, cluster_sort_threads, arguments,
                          share.chunk_rows * 32 * kernels[wide].element_bytes);
}

} /* namespace scan_cuda */
