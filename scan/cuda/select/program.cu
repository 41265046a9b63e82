/* SPDX-License-Identifier: MIT */
#include "instance.cuh"

namespace scan_cuda {

const select_kernels program_kernels[ELEMENT_SIZES] = {
    look_back_alone<program_selector, uint8_t>(),
    look_back_alone<program_selector, uint16_t>(),
    look_back_alone<program_selector, uint32_t>(),
    look_back_alone<program_selector, uint64_t>(),
};

} /* namespace scan_cuda */
