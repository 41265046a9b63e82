/* SPDX-License-Identifier: MIT
 *
 * Numbers that look random, for places of samples. For C too: a test finds out where samples are.
 */
#ifndef SCAN_CUDA_DEVICE_HASH_H
#define SCAN_CUDA_DEVICE_HASH_H

#include <stdint.h>

#ifdef __cplusplus
#define SCAN_CUDA_BOTH __host__ __device__ inline
#else
#define SCAN_CUDA_BOTH static inline
#endif

/* A number below `limit`, of up to 32 bits, that looks random even if s counts up: the finalizer of Appleby's
 * MurmurHash3. A multiplication alone would keep step with keys whose pattern repeats. */
SCAN_CUDA_BOTH uint64_t hash_below(uint32_t s, uint64_t limit) {
    uint32_t x = (s ^ s >> 16) * 0x85ebca6bu;
    x = (x ^ x >> 13) * 0xc2b2ae35u;
    return (x ^ x >> 16) * limit >> 32;
}

#endif
