/* SPDX-License-Identifier: MIT
 *
 * The kernels of a class of kernels.h, made from the templates.
 */
#ifndef SCAN_CUDA_PREFIX_INSTANCE_CUH
#define SCAN_CUDA_PREFIX_INSTANCE_CUH

#include "../block/brent_kung.cuh"
#include "../block/kogge_stone.cuh"
#include "../block/warp.cuh"
#include "carry.cuh"
#include "../grid/cluster.cuh"
#include "../grid/hierarchical.cuh"
#include "../grid/host_sums.cuh"
#include "../grid/look_back.cuh"
#include "../grid/wave.cuh"
#include "../device/kernel.cuh"
#include "kernels.h"

namespace scan_cuda {

template <class Op> shared_kernels instantiate_shared() {
    shared_kernels k = {};
    k.carry_begin = address(carry_begin_kernel<Op>);
    k.carry_end = address(carry_end_kernel<Op>);
    k.carry_threads = carry_threads;
    k.blocks[0] = {address(section_kernel<kogge_stone, Op>), kogge_stone::elements_per_thread,
                   kogge_stone::max_section};
    k.blocks[1] = {address(section_kernel<brent_kung, Op>), brent_kung::elements_per_thread, brent_kung::max_section};
    k.blocks[2] = {address(section_kernel<warp_shuffle, Op>), warp_shuffle::elements_per_thread,
                   warp_shuffle::max_section};
    return k;
}

/* Those that take the operator at run time (any_operator.cu). */
template <class T> shared_kernels any_operator_kernels();

template <class I, class Op> wave_launch wave_launch_on(int capability) {
    static_assert(3 * wave_layout<I, Op>::slot_bytes + wave_status_bytes<typename Op::type>(3) <= 99 << 10,
                  "three slots fit where a CTA has 99 KB");
    const int slots = ring_slots_on(capability);
    return {wave_threads(load_warps_on(capability)), size_t(slots) * wave_layout<I, Op>::slot_bytes,
            size_t(wave_status_bytes<typename Op::type>(slots))};
}

template <class I, class Op> prefix_kernels instantiate(const shared_kernels &shared = instantiate_shared<Op>()) {
    using T = typename Op::type;
    prefix_kernels k = {};
    static_cast<shared_kernels &>(k) = shared;
    k.in_size = sizeof(I);
    k.out_size = sizeof(T);
    k.tile = tile_elements<T>;
    k.chunk = chunk_elements<T>;
    k.wave = address(wave_kernel<I, Op>);
    k.wave_launch_on = wave_launch_on<I, Op>;
    k.look_back = address(look_back_kernel<Op>);
    k.look_back_threads = look_back_threads;
    k.cluster = address(cluster_kernel<Op>);
    k.cluster_threads_per_chunk = threads_per_chunk;
    k.add = address(add_kernel<Op>);
    k.host_scan_sums = host_scan_sums<Op>;
    return k;
}

#define SCAN_CUDA_INSTANCE(op, name, I, T)                                                                             \
    const prefix_kernels op##_##name = instantiate<I, op<T>>(any_operator_kernels<T>());

} /* namespace scan_cuda */

#endif
