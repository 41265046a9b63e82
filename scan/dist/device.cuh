/* SPDX-License-Identifier: MIT
 *
 * What the files of kernels of libscan_dist share: the device, its stream, launches.
 */
#ifndef SCAN_DIST_DEVICE_CUH
#define SCAN_DIST_DEVICE_CUH

#include <cstdio>

#include <cuda_runtime_api.h>

#include "../cuda/device/kernel.cuh"
#include "device.h"

struct scan_dist_device {
    int ordinal;
    cudaStream_t stream;
    char words[256];
};

/* Forwards a failure as text. */
#define CUDA_TRY(d, call, ...)                                                                                         \
    do {                                                                                                               \
        const cudaError_t cuda_error = call(__VA_ARGS__);                                                              \
        if (cuda_error != cudaSuccess) {                                                                               \
            snprintf((d)->words, sizeof(d)->words, "%s: %s", #call, cudaGetErrorString(cuda_error));                   \
            return (d)->words;                                                                                         \
        }                                                                                                              \
    } while (0)

namespace {

/* The device, made current; the caller's is restored. */
class current_device {
    int before = 0;

  public:
    explicit current_device(int ordinal) {
        cudaGetDevice(&before);
        cudaSetDevice(ordinal);
    }
    ~current_device() { cudaSetDevice(before); }
};

} /* namespace */

static inline const char *launch(scan_dist_device *d, const void *kernel, uint64_t ctas, int threads,
                                 void **arguments) {
    CUDA_TRY(d, cudaLaunchKernel, kernel, dim3(unsigned(ctas)), dim3(unsigned(threads)), arguments, 0, d->stream);
    return nullptr;
}

#endif
