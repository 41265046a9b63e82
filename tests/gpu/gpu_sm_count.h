/* SPDX-License-Identifier: MIT
 *
 * How many SMs the GPU has, for sizes where each gets one tile.
 */
#ifndef GPU_SM_COUNT_H
#define GPU_SM_COUNT_H

#include <cuda_runtime_api.h>

#include <stddef.h>

static inline size_t gpu_sm_count(void) {
    int count = 0;
    cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, 0);
    return (size_t)count;
}

#endif
