/* SPDX-License-Identifier: MIT */
#include "instance.cuh"

namespace scan_cuda {

const compaction_kernels flags_kernels[ELEMENT_SIZES] = {
    look_back_and_wave<flags_select, uint8_t>(),
    look_back_and_wave<flags_select, uint16_t>(),
    look_back_and_wave<flags_select, uint32_t>(),
    look_back_and_wave<flags_select, uint64_t>(),
};

} /* namespace scan_cuda */
