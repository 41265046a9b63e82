/* SPDX-License-Identifier: MIT
 *
 * Warp-shuffle block scan: Kogge-Stone where it is free, a second level where it is not.
 *
 *     warp 0: shuffles      warp 1: shuffles      ...      5 steps in registers: no barrier, no shared memory
 *         | total               | total
 *         `---------- warp 0 scans the totals -------      5 more steps
 *     every warp adds the fold of the totals before it
 *
 * Inside a warp the lanes run in step and pass registers to each other, so Kogge-Stone's extra additions cost nothing
 * that is not idle anyway, and its depth of 5 is the least possible. 32 warp totals are again one warp's work.
 *
 * Work: 129 additions a warp and for the totals, and one an element to add: 33 * 129 + 992 = 5,249 for 1,024 elements.
 * Depth: 11 steps. Barriers: three, whatever the size. Shared memory: the section and one element a warp. Traffic: an
 * element is read and written once and a total read, 12 bytes an element of 4 in shared memory; the rest is registers.
 *
 * Limits: one element a thread, so 1,024 elements; whole warps.
 *
 * Source: Sengupta, Harris, Garland, "Efficient Parallel Scan Algorithms for GPUs", 2008, with shuffles in place of
 * shared memory.
 */
#ifndef SCAN_CUDA_BLOCK_WARP_CUH
#define SCAN_CUDA_BLOCK_WARP_CUH

#include "../device/order.cuh"

namespace scan_cuda {

struct warp_shuffle {
    static constexpr int elements_per_thread = 1;
    static constexpr int max_section = 1024;

    /* As kogge_stone::inclusive; blockDim.x is a multiple of 32. */
    template <class Op>
    static __device__ typename Op::type *inclusive(typename Op::type *xy, typename Op::type *totals) {
        using T = typename Op::type;
        const int i = threadIdx.x, lane = i % 32, warp = i / 32, warps = blockDim.x / 32;
        T x = warp_inclusive<Op>(xy[i], lane);
        if (lane == 31)
            totals[warp] = x;
        __syncthreads();
        if (warp == 0) {
            T total = warp_inclusive<Op>(lane < warps ? totals[lane] : Op::identity(), lane);
            if (lane < warps)
                totals[lane] = total;
        }
        __syncthreads();
        xy[i] = warp ? Op::apply(totals[warp - 1], x) : x;
        __syncthreads();
        return xy;
    }
};

} /* namespace scan_cuda */

#endif
