/* SPDX-License-Identifier: MIT */
#include "instance.cuh"

namespace scan_cuda {

#define INSTANCE(name, I, T) const prefix_kernels max_##name = instantiate<I, maximum<T>>();
SCAN_CUDA_SAME(INSTANCE)
SCAN_CUDA_WIDER(INSTANCE)
#undef INSTANCE

} /* namespace scan_cuda */
