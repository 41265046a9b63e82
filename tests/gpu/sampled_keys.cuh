/* SPDX-License-Identifier: MIT
 *
 * Which keys the radix sort's smaller sample has, for sets of keys that lie to it.
 */
#ifndef TESTS_GPU_SAMPLED_KEYS_CUH
#define TESTS_GPU_SAMPLED_KEYS_CUH

#include <vector>

#include "scan/cuda/sort/sample.cuh"

static inline std::vector<bool> sampled_keys(size_t n) {
    std::vector<bool> sampled(n);
    for (uint32_t s = 0; s < scan_cuda::sample_size; s++)
        sampled[scan_cuda::uniform_place(s, n)] = true;
    return sampled;
}

#endif
