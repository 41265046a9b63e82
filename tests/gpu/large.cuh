/* SPDX-License-Identifier: MIT
 *
 * For tests of arrays too large for the host: a context on a stream of its own, allocations that may fail, and kernels
 * on that stream that make inputs and check outputs.
 */
#ifndef TESTS_GPU_LARGE_CUH
#define TESTS_GPU_LARGE_CUH

#include <cuda_runtime_api.h>

#include "gpu_support.h"
#include "scan/cuda/device/kernel.cuh"

#define cuda_ok(call) assert_int_equal(call, cudaSuccess)

static cudaStream_t stream;
static scan_ctx *ctx; /* on `stream` */

static inline void open_stream(void) {
    scan_options options = {};
    options.struct_size = sizeof options;
    options.backend = SCAN_BACKEND_CUDA;
    cuda_ok(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    options.stream = stream;
    assert_int_equal(scan_ctx_create(&ctx, &options), SCAN_OK);
}

static inline void close_stream(void) {
    scan_ctx_destroy(ctx);
    cuda_ok(cudaStreamDestroy(stream));
}

/* NULL if the device has too little memory. */
static inline void *allocate(size_t bytes) {
    void *memory = NULL;
    return scan_malloc(ctx, bytes, &memory) == SCAN_OK ? memory : NULL;
}

static inline void launch(const void *kernel, void **arguments) {
    const unsigned blocks = gpu_is_small ? 2 : 4096;
    cuda_ok(cudaLaunchKernel(kernel, dim3(blocks), dim3(256), arguments, 0, stream));
}

/* Writes a red zone of GPU_ZONE bytes at the end of an array; zone_is_red() waits, and returns whether it is unchanged.
 */
static inline void put_zone(char *end) {
    char red[GPU_ZONE];
    memset(red, GPU_ZONE_BYTE, sizeof red);
    assert_int_equal(scan_upload(ctx, end, red, sizeof red), SCAN_OK);
}

static inline bool zone_is_red(const char *end) {
    char red[GPU_ZONE], zone[GPU_ZONE];
    memset(red, GPU_ZONE_BYTE, sizeof red);
    assert_int_equal(scan_download(ctx, zone, end, sizeof zone), SCAN_OK);
    assert_int_equal(scan_ctx_sync(ctx), SCAN_OK);
    return memcmp(zone, red, sizeof zone) == 0;
}

/* Defines a test that calls the program's check_size(size). */
#define SIZE_TEST(name, size)                                                                                          \
    static void name(void **state) {                                                                                   \
        (void)state;                                                                                                   \
        check_size(size);                                                                                              \
    }

/* A kernel's loop over all i < n, each in one thread of the grid. */
#define FOR_EACH_BELOW(i, n)                                                                                           \
    for (uint64_t i = uint64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < (n); i += uint64_t(gridDim.x) * blockDim.x)

static __host__ __device__ inline uint64_t mixed_bits(uint64_t i) {
    uint64_t z = (i + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    return z ^ z >> 29;
}

#endif
