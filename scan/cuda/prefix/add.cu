/* SPDX-License-Identifier: MIT */
#include "instance.cuh"

namespace scan_cuda {

#define INSTANCE(name, I, T) const prefix_kernels add_##name = instantiate<I, add<T>>();
SCAN_CUDA_SAME(INSTANCE)
SCAN_CUDA_SAME_FLOAT(INSTANCE)
SCAN_CUDA_WIDER(INSTANCE)
SCAN_CUDA_WIDER_FLOAT(INSTANCE)
#undef INSTANCE

} /* namespace scan_cuda */
