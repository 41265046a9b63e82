/* SPDX-License-Identifier: MIT
 *
 * Kernels as values in launch tables, and the shared memory that a launch gives them. The emulator (tests/emulator)
 * compiles everything under scan/cuda as plain C++: this file and ptx.cuh are the two that it replaces parts of.
 */
#ifndef SCAN_CUDA_DEVICE_KERNEL_CUH
#define SCAN_CUDA_DEVICE_KERNEL_CUH

#ifdef SCAN_EMULATED
#include <emulated_kernel.h>
#else

namespace scan_cuda {

/* A kernel as cudaLaunchKernel takes it. */
template <class... Parameters> const void *address(void (*kernel)(Parameters...)) {
    return reinterpret_cast<const void *>(kernel);
}

/* The launch's dynamic shared memory, aligned to 128 bytes. */
template <class T> __device__ T *dynamic_shared() {
    extern __shared__ __align__(128) unsigned char dynamic_shared_memory[];
    return reinterpret_cast<T *>(dynamic_shared_memory);
}

} /* namespace scan_cuda */

#endif
#endif
