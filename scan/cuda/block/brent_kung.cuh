/* SPDX-License-Identifier: MIT
 *
 * Brent-Kung block scan: the work-efficient one.
 *
 *     x0    x1    x2    x3    x4    x5    x6    x7
 *           0..1        2..3        4..5        6..7      reduction, stride 1: every second adds its left neighbour
 *                       0..3                    4..7      stride 2
 *                                               0..7      stride 4
 *                                   0..5                  distribution, stride 2: x5 adds 0..3
 *                 0..2        0..4        0..6            stride 1: x2 adds 0..1, x4 adds 0..3, x6 adds 0..5
 *
 * Reduction builds a tree of partial folds in place; distribution hands each fold to the element half a stride beyond
 * it. In both, thread t works on element (t + 1) * 2 * stride - 1, so that the active threads are the first ones, side
 * by side: whole warps drop out instead of half of every warp.
 *
 * Work: (n - 1) + (n - 1 - log2(n)) = 2n - 2 - log2(n) additions: 2,036 for 1,024 elements. Depth: 2 log2(n) - 1
 * steps. Barriers: one a step. Shared memory: n elements, in place, for no step reads an element that another thread
 * writes in it. Traffic: an addition reads two elements and writes one: 24 bytes an element of 4 in all, a fifth of
 * Kogge-Stone's, in shared memory.
 *
 * Limits: two elements a thread, so 2,048 elements; a power of two. It takes twice the steps, and in most of them most
 * threads wait: it pays where an addition is expensive.
 *
 * Source: Brent and Kung, "A Regular Layout for Parallel Adders", 1982. The loops run over the section, which is twice
 * the block: bounds taken from the block size would skip the last level of the tree.
 */
#ifndef SCAN_CUDA_BLOCK_BRENT_KUNG_CUH
#define SCAN_CUDA_BLOCK_BRENT_KUNG_CUH

namespace scan_cuda {

struct brent_kung {
    static constexpr int elements_per_thread = 2;
    static constexpr int max_section = 2048;

    /* As kogge_stone::inclusive, on 2 * blockDim.x elements, a power of two. */
    template <class Op> static __device__ typename Op::type *inclusive(typename Op::type *xy, typename Op::type *) {
        const int section = 2 * blockDim.x, t = threadIdx.x;
        /* reduction */
        for (int stride = 1; stride < section; stride *= 2) {
            int i = (t + 1) * 2 * stride - 1;
            if (i < section)
                xy[i] = Op::apply(xy[i - stride], xy[i]);
            __syncthreads();
        }
        /* distribution */
        for (int stride = section / 4; stride > 0; stride /= 2) {
            int i = (t + 1) * 2 * stride - 1;
            if (i + stride < section)
                xy[i + stride] = Op::apply(xy[i], xy[i + stride]);
            __syncthreads();
        }
        return xy;
    }
};

} /* namespace scan_cuda */

#endif
