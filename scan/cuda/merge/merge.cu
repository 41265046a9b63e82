/* SPDX-License-Identifier: MIT
 *
 * scan_merge on CUDA: the launches.
 */
#include "merge.cuh"

#include "../cuda.h"

namespace scan_cuda {

static __global__ void __launch_bounds__(merge_split_threads)
    merge_split_kernel(const __grid_constant__ merge_job job, uint64_t tiles, uint64_t tile) {
    grid_dependency_wait();
    const uint64_t split =
        merge_split_of_tile(merge_count(job.a), merge_count(job.b), tile, [&](uint64_t d, uint64_t i) {
            return merge_code(job, job.a.keys, i) <= merge_code(job, job.b.keys, d - 1 - i);
        });
    const uint64_t t = uint64_t(blockIdx.x) * merge_split_threads + threadIdx.x;
    if (t <= tiles)
        job.splits[t] = split;
}

struct merge_kernels {
    const void *merge;
    uint64_t tile;
};

template <class Key> static merge_kernels make_kernels() {
    return {address(merge_kernel<Key>), uint64_t(merge_tile<Key>)};
}

/* By bit class: integers by size, the two floats. */
static const merge_kernels integer_kernels[] = {make_kernels<uint8_t>(), make_kernels<uint16_t>(),
                                                make_kernels<uint32_t>(), make_kernels<uint64_t>()},
                           float_kernels[] = {make_kernels<float>(), make_kernels<double>()};

static const merge_kernels &kernels_of(scan_type type) {
    const int log2_size = __builtin_ctz(unsigned(scan_type_size(type)));
    return scan_is_float(type) ? float_kernels[log2_size - 2] : integer_kernels[log2_size];
}

static uint64_t tiles_of(const scan_merge_desc *desc, uint64_t n) { return ceil_div(n, kernels_of(desc->type).tile); }

static size_t splits_bytes(const scan_merge_desc *desc, uint64_t n) {
    return align_up((tiles_of(desc, n) + 1) * sizeof(uint64_t));
}

size_t merge_workspace(const scan_ctx *, const scan_merge_desc *desc, size_t n) {
    return n ? workspace_bytes(0, splits_bytes(desc, n)) : 0;
}

scan_status merge_load(scan_ctx *ctx) {
    SCAN_TRY(load_kernel(ctx, address(merge_split_kernel)));
    for (const merge_kernels &k : integer_kernels)
        SCAN_TRY(load_kernel(ctx, k.merge));
    for (const merge_kernels &k : float_kernels)
        SCAN_TRY(load_kernel(ctx, k.merge));
    return SCAN_OK;
}

scan_status merge(scan_ctx *ctx, const scan_merge_desc *desc, const scan_merge_in *a, const scan_merge_in *b,
                  void *keys_out, void *values_out) {
    const uint64_t n = a->n + b->n;
    ctx->ran = "merge path";
    if (n == 0)
        return SCAN_OK;
    const merge_kernels &k = kernels_of(desc->type);
    char *state, *scratch;
    SCAN_TRY(take_workspace(ctx, 0, splits_bytes(desc, n), &state, &scratch));
    merge_job job = {};
    job.a = {a->keys, a->values, a->n, desc->a_n_device};
    job.b = {b->keys, b->values, b->n, desc->b_n_device};
    job.keys_out = keys_out;
    job.values_out = values_out;
    job.splits = reinterpret_cast<uint64_t *>(scratch);
    job.key_bytes = uint32_t(scan_type_size(desc->type));
    job.value_bytes = desc->value_bytes;
    job.is_float = scan_is_float(desc->type);
    const scan_sort_desc order = scan_merge_order(desc);
    job.order = sort_order_of(&order);
    uint64_t tiles = tiles_of(desc, n), tile = k.tile;
    void *split_arguments[] = {&job, &tiles, &tile}, *arguments[] = {&job};
    SCAN_TRY(launch_pdl(ctx, address(merge_split_kernel), ceil_div(tiles + 1, merge_split_threads), merge_split_threads,
                        split_arguments, 0));
    return launch_pdl(ctx, k.merge, tiles, merge_threads, arguments, 0);
}

} /* namespace scan_cuda */
