/* SPDX-License-Identifier: MIT */
#include "instance.cuh"

namespace scan_cuda {

const select_kernels range_kernels[ELEMENT_SIZES] = {
    look_back_and_wave<range_selector<uint8_t>, uint8_t>(),
    look_back_and_wave<range_selector<uint16_t>, uint16_t>(),
    look_back_and_wave<range_selector<uint32_t>, uint32_t>(),
    look_back_and_wave<range_selector<uint64_t>, uint64_t>(),
};

} /* namespace scan_cuda */
