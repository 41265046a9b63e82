/* SPDX-License-Identifier: MIT
 *
 * The kernels of one selector and element size: an entry of the tables in select.h.
 */
#ifndef SCAN_CUDA_SELECT_INSTANCE_CUH
#define SCAN_CUDA_SELECT_INSTANCE_CUH

#include "../device/kernel.cuh"
#include "look_back.cuh"
#include "wave.cuh"

namespace scan_cuda {

template <class Selector, class U> select_kernels look_back_alone() {
    select_kernels k = {};
    k.look_back = address(look_back_select<Selector, U>);
    k.look_back_tile = look_back_shape<U>::tile;
    k.look_back_threads = look_back_select_threads;
    return k;
}

template <class Selector, class U> select_kernels look_back_and_wave() {
    using layout = wave_select_layout<Selector, U>;
    select_kernels k = look_back_alone<Selector, U>();
    k.wave = address(wave_select<Selector, U>);
    k.wave_tile = layout::shape::tile;
    k.wave_threads = wave_select_threads;
    k.wave_shared_bytes = size_t(layout::shared_bytes);
    return k;
}

} /* namespace scan_cuda */

#endif
