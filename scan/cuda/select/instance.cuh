/* SPDX-License-Identifier: MIT
 *
 * The kernels of one selector: a row of the tables in select.h for each element size.
 */
#ifndef SCAN_CUDA_SELECT_INSTANCE_CUH
#define SCAN_CUDA_SELECT_INSTANCE_CUH

#include "../device/kernel.cuh"
#include "look_back.cuh"
#include "wave.cuh"

namespace scan_cuda {

template <class Select, class U> compaction_kernels look_back_alone() {
    compaction_kernels k = {};
    k.look_back = address(look_back_compaction<Select, U>);
    k.look_back_tile = look_back_shape<U>::tile;
    k.look_back_threads = look_back_compaction_threads;
    return k;
}

template <class Select, class U> compaction_kernels look_back_and_wave() {
    using layout = wave_compaction_layout<Select, U>;
    compaction_kernels k = look_back_alone<Select, U>();
    k.wave = address(wave_compaction<Select, U>);
    k.wave_tile = layout::shape::tile;
    k.wave_threads = wave_compaction_threads;
    k.wave_shared_bytes = size_t(layout::shared_bytes);
    return k;
}

} /* namespace scan_cuda */

#endif
