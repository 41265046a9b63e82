/* SPDX-License-Identifier: MIT
 *
 * Argsort of 8-byte keys sorts 4-byte codes: up to four of the digits that vary, packed. Keys whose digits mostly do
 * not vary are done in one round; otherwise a second round takes the next digits of the keys in the order of the first.
 * That gather costs less than four passes with keys twice as wide, and its codes fit a workspace in which two arrays of
 * 8-byte keys would not.
 */
#ifndef SCAN_CUDA_SORT_PACK_CUH
#define SCAN_CUDA_SORT_PACK_CUH

#include "job.cuh"

namespace scan_cuda {

constexpr int pack_threads = 256;

template <class Key, class V>
__device__ void pack_codes(const sort_job &job, const sort_pass *pass, uint32_t count, const V *indices) {
    const uint64_t n = sort_count(job), stride = uint64_t(gridDim.x) * pack_threads;
    const uint64_t *keys = static_cast<const uint64_t *>(job.keys_in);
    uint32_t *codes = static_cast<uint32_t *>(job.keys_first);
    for (uint64_t i = uint64_t(blockIdx.x) * pack_threads + threadIdx.x; i < n; i += stride) {
        const uint64_t code = sort_code<Key>(keys[indices ? uint64_t(indices[i]) : i], job.order);
        uint32_t packed = 0;
        for (uint32_t d = 0; d < count; d++)
            packed |= uint32_t(code >> pass[d].row * digit_bits & (radix - 1)) << d * digit_bits;
        codes[i] = packed;
    }
}

template <class Key>
__global__ void __launch_bounds__(pack_threads) pack_kernel(const __grid_constant__ sort_job job, uint32_t round) {
    after_previous();
    const sort_plan *plan = job.plan;
    const uint32_t first = round * packed_passes;
    if (first >= plan->passes)
        return;
    const sort_pass *pass = plan->pass + first;
    const uint32_t count = min(plan->passes - first, packed_passes);
    const void *indices = round ? values_source(job, pass->values_from) : nullptr;
    if (job.value_bytes == 4)
        pack_codes<Key>(job, pass, count, static_cast<const uint32_t *>(indices));
    else
        pack_codes<Key>(job, pass, count, static_cast<const uint64_t *>(indices));
}

} /* namespace scan_cuda */

#endif
