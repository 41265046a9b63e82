/* SPDX-License-Identifier: MIT
 *
 * The cooperative sort on the host: the sizes that it serves, its launch.
 */
#include "cooperative.h"
#include "kernel.cuh"

namespace scan_cuda {

/* By codes of 4 and 8 bytes. */
static const struct {
    const void *kernel;
    size_t static_bytes, code_bytes;
} kernels[2] = {
    {address(cooperative_kernel<uint32_t>), align_up(sizeof(cooperative_kernel_shared<uint32_t>)), sizeof(uint32_t)},
    {address(cooperative_kernel<uint64_t>), align_up(sizeof(cooperative_kernel_shared<uint64_t>)), sizeof(uint64_t)},
};

static uint32_t ctas_of(const scan_ctx *ctx) { return uint32_t(state_of(ctx)->sort_cooperative_ctas); }

static size_t dynamic_bytes_of(const scan_ctx *ctx, int wide) {
    const size_t bytes = state_of(ctx)->shared_bytes;
    return bytes > kernels[wide].static_bytes ? bytes - kernels[wide].static_bytes : 0;
}

scan_status cooperative_sort_open(scan_ctx *ctx) {
    context_state *s = state_of(ctx);
    int cooperative = 0;
    SCAN_CUDA_TRY(ctx, cudaDeviceGetAttribute(&cooperative, cudaDevAttrCooperativeLaunch, s->device));
    const bool fits = uint32_t(s->sm_count) <= max_cooperative_ctas && dynamic_bytes_of(ctx, 1) > 0;
    s->sort_cooperative_ctas = cooperative && fits ? s->sm_count : 0;
    for (int wide = 0; wide < 2 && s->sort_cooperative_ctas; wide++)
        SCAN_CUDA_TRY(ctx, cudaFuncSetAttribute(kernels[wide].kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                int(dynamic_bytes_of(ctx, wide))));
    return SCAN_OK;
}

scan_status cooperative_sort_load(scan_ctx *ctx) {
    SCAN_TRY(load_kernel(ctx, kernels[0].kernel));
    return load_kernel(ctx, kernels[1].kernel);
}

/* Of dynamic shared memory, for n elements, where there may be so much. With max_buckets there are half as many samples
 * for each, so that sizes vary more: there is room for 2.75 times the mean, if that fits. With twice the mean one sort
 * in ten of 8 x 10^5 to 10^6 8-byte keys went on by all digits: 153 us in place of 112 (H200, 2026-11-29: tools/bench
 * --device cuda --hunt 1 --seed 10889913938810198651). */
static size_t bytes_for(const scan_ctx *ctx, uint32_t key_bytes, uint32_t value_bytes, uint32_t bits, size_t n) {
    const int wide = key_bytes == 8;
    const uint32_t ctas = ctas_of(ctx);
    const size_t tile_bytes = cooperative_tile_bytes(n, ctas, key_bytes, value_bytes);
    if (bits <= cooperative_passes * digit_bits)
        return tile_bytes;
    const size_t row = cooperative_threads * (wide ? bucket_element_bytes<uint64_t> : bucket_element_bytes<uint32_t>),
                 room = dynamic_bytes_of(ctx, wide),
                 sample_bytes = ctas * cooperative_samples * kernels[wide].code_bytes;
    const auto bucket_bytes = [&](size_t elements) { return ceil_div(elements, size_t(cooperative_threads)) * row; };
    const size_t largest = cooperative_bucket_room(n, max_buckets),
                 one_each = bucket_bytes(cooperative_bucket_room(n, ctas)),
                 several_each = max(bucket_bytes(largest), min(bucket_bytes(largest * 11 / 8), room / row * row));
    return max(max(tile_bytes, sample_bytes), one_each <= room ? one_each : several_each);
}

bool cooperative_sort_serves(const scan_ctx *ctx, uint32_t key_bytes, uint32_t value_bytes, uint32_t bits, size_t n) {
    return ctas_of(ctx) > 0 && n <= max_cooperative_keys(key_bytes, value_bytes, bits) && bits > 0 &&
           bytes_for(ctx, key_bytes, value_bytes, bits, n) <= dynamic_bytes_of(ctx, key_bytes == 8);
}

size_t cooperative_sort_plan_bytes(const scan_ctx *ctx) { return align_up(ctas_of(ctx) * sizeof(cooperative_board)); }

size_t cooperative_sort_state_bytes() { return scan_state_bytes(cooperative_state_words, 0); }

scan_status cooperative_sort_run(scan_ctx *ctx, sort_job job, bool *done) {
    context_state *s = state_of(ctx);
    const int wide = job.key_bytes == 8;
    uint32_t dynamic_bytes = uint32_t(bytes_for(ctx, job.key_bytes, job.value_bytes, job.bits, job.n));
    void *arguments[] = {&job, &dynamic_bytes};
    s->launched = true;
    const cudaError_t error = cudaLaunchCooperativeKernel(
        kernels[wide].kernel, dim3(ctas_of(ctx)), dim3(cooperative_threads), arguments, dynamic_bytes, s->stream);
    *done = error != cudaErrorCooperativeLaunchTooLarge;
    if (!*done)
        cudaGetLastError();
    return *done ? check(ctx, error, "cudaLaunchCooperativeKernel") : SCAN_OK;
}

} /* namespace scan_cuda */
