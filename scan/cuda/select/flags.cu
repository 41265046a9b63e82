/* SPDX-License-Identifier: MIT */
#include "instance.cuh"

namespace scan_cuda {

const select_kernels flags_kernels[ELEMENT_SIZES] = {
    look_back_and_wave<flags_selector, uint8_t>(),
    look_back_and_wave<flags_selector, uint16_t>(),
    look_back_and_wave<flags_selector, uint32_t>(),
    look_back_and_wave<flags_selector, uint64_t>(),
};

} /* namespace scan_cuda */
