/* SPDX-License-Identifier: MIT
 *
 * A device that is busy with something else: CTAs that hold most of it, or come and go. Not for the emulator, which has
 * no time.
 */
#ifndef TESTS_GPU_HOLD_CUH
#define TESTS_GPU_HOLD_CUH

#include <cuda_runtime_api.h>

#include "gpu_support.h"
#include "scan/cuda/device/kernel.cuh"
#include "spin.cuh"

#ifndef SCAN_EMULATED
/* Occupies an SM's place for a CTA for about that time. */
static __global__ void hold_kernel(uint64_t nanoseconds) { spin_ns(nanoseconds); }

/* One CTA an SM for some hundred microseconds. By the round: on all SMs but a few, on half of them, or three for each
 * SM, one after another. Returns their stream. */
static inline cudaStream_t hold_device(unsigned round, uint64_t *rng) {
    cudaStream_t stream;
    cudaDeviceProp properties;
    assert_int_equal(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
    assert_int_equal(cudaGetDeviceProperties(&properties, 0), cudaSuccess);
    const int shared = int(properties.sharedMemPerBlockOptin), sm_count = properties.multiProcessorCount;
    const int ctas = round % 3 == 0   ? sm_count - 1 - int(random_below(rng, 8))
                     : round % 3 == 1 ? sm_count / 2
                                      : 3 * sm_count;
    const void *hold = scan_cuda::address(hold_kernel);
    uint64_t nanoseconds = 200000 + random_below(rng, 1000000);
    void *arguments[] = {&nanoseconds};
    assert_int_equal(cudaFuncSetAttribute(hold, cudaFuncAttributeMaxDynamicSharedMemorySize, shared), cudaSuccess);
    assert_int_equal(cudaLaunchKernel(hold, dim3(unsigned(ctas)), dim3(32), arguments, size_t(shared), stream),
                     cudaSuccess);
    return stream;
}

static inline void let_go(cudaStream_t stream) {
    assert_int_equal(cudaStreamSynchronize(stream), cudaSuccess);
    assert_int_equal(cudaStreamDestroy(stream), cudaSuccess);
}
#endif

#endif
