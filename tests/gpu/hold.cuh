/* SPDX-License-Identifier: MIT
 *
 * A device that is busy with something else: CTAs that hold most of it, or come and go. Not for the emulator, which has
 * no time.
 */
#ifndef TESTS_GPU_HOLD_CUH
#define TESTS_GPU_HOLD_CUH

#include <cuda_runtime_api.h>

#include "gpu_support.h"
#include "scan/cuda/kernel.cuh"

#ifndef SCAN_EMULATED
/* Holds a CTA's place for about so many nanoseconds. */
static __global__ void hold_kernel(uint64_t nanoseconds) {
    uint64_t start, now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
    do
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    while (now - start < nanoseconds);
}

struct holders {
    cudaStream_t stream;
};

/* One CTA an SM for some hundred microseconds: on all but some SMs, on half, or on more than there are, one after the
 * other; by the round. */
static inline holders hold_device(unsigned round, uint64_t *seed) {
    holders h;
    cudaDeviceProp properties;
    assert_int_equal(cudaStreamCreateWithFlags(&h.stream, cudaStreamNonBlocking), cudaSuccess);
    assert_int_equal(cudaGetDeviceProperties(&properties, 0), cudaSuccess);
    const int shared = int(properties.sharedMemPerBlockOptin), processors = properties.multiProcessorCount;
    const int ctas = round % 3 == 0   ? processors - 1 - int(gpu_random(seed) % 8)
                     : round % 3 == 1 ? processors / 2
                                      : 3 * processors;
    const void *hold = scan_cuda::address(hold_kernel);
    uint64_t nanoseconds = 200000 + gpu_random(seed) % 1000000;
    void *arguments[] = {&nanoseconds};
    assert_int_equal(cudaFuncSetAttribute(hold, cudaFuncAttributeMaxDynamicSharedMemorySize, shared), cudaSuccess);
    assert_int_equal(cudaLaunchKernel(hold, dim3(unsigned(ctas)), dim3(32), arguments, size_t(shared), h.stream),
                     cudaSuccess);
    return h;
}

static inline void let_go(holders *h) {
    assert_int_equal(cudaStreamSynchronize(h->stream), cudaSuccess);
    assert_int_equal(cudaStreamDestroy(h->stream), cudaSuccess);
}
#endif

#endif
