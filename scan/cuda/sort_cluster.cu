/* SPDX-License-Identifier: MIT
 *
 * The sort by one cluster: how large a cluster the GPU grants, which sizes it serves, the launch.
 */
#include "sort_cluster.h"
#include "sort/cluster.cuh"

namespace scan_cuda {

/* Sizes that the cluster serves: above LEAST one CTA is slower (small.cuh), above MOST the radix passes of all SMs are
 * faster; a GPU that grants smaller clusters, or less shared memory, has a lower bound of its own. Where the curves of
 * `tools/bench --device cuda --verb sort --n 2^11..2^18` for the methods auto and radix cross on an H200, 2026-11-20;
 * radix never takes the cluster. */
#ifndef SCAN_CUDA_SORT_CLUSTER_LEAST
#define SCAN_CUDA_SORT_CLUSTER_LEAST 2048
#endif
#ifndef SCAN_CUDA_SORT_CLUSTER_MOST
#define SCAN_CUDA_SORT_CLUSTER_MOST (1 << 17)
#endif

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
    ctas = granted_cluster(ctx, k.kernel, cluster_sort_most_ctas, cluster_sort_threads, bytes);
    if (ctas == 1)
        chunk = 0;
    return SCAN_OK;
}

scan_status cluster_sort_open(scan_ctx *ctx) {
    if (state_of(ctx)->capability < 90)
        return SCAN_OK;
    SCAN_TRY(grant(ctx, 0));
    return grant(ctx, 1);
}

scan_status cluster_sort_load(scan_ctx *ctx) {
    SCAN_TRY(load_kernel(ctx, kernels[0].kernel));
    return load_kernel(ctx, kernels[1].kernel);
}

bool cluster_sort_serves(const scan_ctx *ctx, size_t key_bytes, size_t n) {
    const auto &granted = state_of(ctx)->sort_cluster[key_bytes == 8];
    return n > SCAN_CUDA_SORT_CLUSTER_LEAST && n <= SCAN_CUDA_SORT_CLUSTER_MOST &&
           n <= uint64_t(granted.chunk) * uint64_t(granted.ctas);
}

scan_status cluster_sort_run(scan_ctx *ctx, sort_job job) {
    const int wide = job.key_bytes == 8, ctas = state_of(ctx)->sort_cluster[wide].ctas;
    const cluster_share share = share_out(uint32_t(job.n), uint32_t(ctas));
    void *arguments[] = {&job};
    return launch_cluster(ctx, kernels[wide].kernel, ctas, cluster_sort_threads, arguments,
                          share.chunk_rows * 32 * kernels[wide].element_bytes);
}

} /* namespace scan_cuda */
