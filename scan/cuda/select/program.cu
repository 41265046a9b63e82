/* SPDX-License-Identifier: MIT */
#include "instance.cuh"

namespace scan_cuda {

const compaction_kernels program_kernels[ELEMENT_SIZES] = {
    look_back_alone<program_select, uint8_t>(),
    look_back_alone<program_select, uint16_t>(),
    look_back_alone<program_select, uint32_t>(),
    look_back_alone<program_select, uint64_t>(),
};

} /* namespace scan_cuda */
