/* SPDX-License-Identifier: MIT */
#include "instance.cuh"

namespace scan_cuda {

SCAN_CUDA_NUMBERS(SCAN_CUDA_INSTANCE, mul)

} /* namespace scan_cuda */
