/* SPDX-License-Identifier: MIT
 *
 * For tests that launch the library's kernels themselves: launches, kernel 1 of the hierarchical scan, and an operator
 * that does not commute.
 */
#ifndef TESTS_GPU_DIRECT_CUH
#define TESTS_GPU_DIRECT_CUH

#include <cuda_runtime_api.h>

#include "gpu_support.h"
#include "scan/cuda/prefix/instance.cuh"

#define cuda_ok(call) direct_cuda(call, #call, __FILE__, __LINE__)

static inline void direct_cuda(cudaError_t error, const char *call, const char *file, int line) {
    if (error != cudaSuccess) {
        print_error("%s:%d: %s: %s\n", file, line, call, cudaGetErrorString(error));
        _fail(file, line);
    }
}

/* What the device offers to a kernel, whose code may be PTX for older GPUs. */
struct device_offer {
    int sm_count, capability; /* 90 for 9.0 */
    bool wave;                /* of selections, as runs_wave() of scan/cuda/cuda.h */
};

static inline device_offer direct_device(const void *kernel) {
    cudaDeviceProp properties;
    cudaFuncAttributes attributes;
    cuda_ok(cudaGetDeviceProperties(&properties, 0));
    cuda_ok(cudaFuncGetAttributes(&attributes, kernel));
    device_offer offer = {properties.multiProcessorCount, properties.major * 10 + properties.minor, false};
    if (offer.capability > attributes.ptxVersion)
        offer.capability = attributes.ptxVersion;
    offer.wave = offer.capability >= 90 && properties.sharedMemPerBlockOptin >= size_t(227) << 10;
    return offer;
}

static cudaStream_t direct_stream;

/* After what was queued on `gpu`; waits for the kernel. */
static inline void direct_launch(const void *kernel, uint64_t blocks, int threads, void **arguments,
                                 size_t shared_bytes) {
    if (!direct_stream)
        cuda_ok(cudaStreamCreateWithFlags(&direct_stream, cudaStreamNonBlocking));
    gpu_ok(scan_ctx_sync(gpu));
    cuda_ok(cudaLaunchKernel(kernel, dim3(unsigned(blocks)), dim3(unsigned(threads)), arguments, shared_bytes,
                             direct_stream));
    cuda_ok(cudaStreamSynchronize(direct_stream));
}

/* x -> ax + b modulo 2^32, packed as a << 32 | b, composed left to right: every operand out of place shows. */
struct affine {
    using type = uint64_t;
    static constexpr scan_cuda::operand_form form = scan_cuda::operand_form::plain;
    static constexpr bool commutative = false;
    static __host__ __device__ uint64_t identity() { return uint64_t(1) << 32; }
    static __host__ __device__ uint64_t apply(uint64_t x, uint64_t y) {
        const uint32_t a = uint32_t(x >> 32), b = uint32_t(x), c = uint32_t(y >> 32), d = uint32_t(y);
        return uint64_t(a * c) << 32 | uint32_t(a * d + b);
    }
};

/* ---- sections ---------------------------------------------------------------------------------------------------- */

#define COUNT(a) (sizeof(a) / sizeof(a)[0])

using sum = scan_cuda::add<uint32_t>;

static gpu_array d_in, d_out, d_sums;

[[maybe_unused]] static uint32_t figure[16] = {2, 1, 3, 1, 0, 4, 1, 2, 0, 3, 1, 2, 5, 3, 1, 2}; /* 9.10 */

/* Kernel 1 of the hierarchical scan on n elements in sections of `section`; the rest of S stays red. */
template <class Block>
static scan_cuda::scan_job scan_sections(const uint32_t *x, size_t n, unsigned section, size_t sums, uint32_t **s) {
    scan_cuda::scan_job job = {};
    job.in = gpu_put(&d_in, x, n, 4, 0);
    job.out = gpu_put(&d_out, NULL, n, 4, 0);
    job.n = n;
    job.in_size = 4;
    uint32_t red[64];
    memset(red, GPU_ZONE_BYTE, sizeof red);
    *s = static_cast<uint32_t *>(gpu_put(&d_sums, red, sums, 4, 0));
    void *arguments[] = {&job, s};
    direct_launch(address(scan_cuda::section_kernel<Block, sum>), (n + section - 1) / section,
                  int(section) / Block::elements_per_thread, arguments, 2 * section * 4);
    return job;
}

#endif
