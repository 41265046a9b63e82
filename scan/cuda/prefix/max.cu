/* SPDX-License-Identifier: MIT */
#include "instance.cuh"

namespace scan_cuda {

SCAN_CUDA_INTEGERS(SCAN_CUDA_INSTANCE, maximum)

} /* namespace scan_cuda */
