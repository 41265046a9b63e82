/* SPDX-License-Identifier: MIT
 *
 * Kogge-Stone block scan: the simple parallel scan, and the one with the fewest steps.
 *
 *     x0    x1    x2    x3    x4    x5    x6    x7
 *     0..0  0..1  1..2  2..3  3..4  4..5  5..6  6..7      stride 1: everyone adds the neighbour 1 to the left
 *     0..0  0..1  0..2  0..3  1..4  2..5  3..6  4..7      stride 2: the neighbour 2 to the left
 *     0..0  0..1  0..2  0..3  0..4  0..5  0..6  0..7      stride 4
 *
 * After the step of stride s, element i holds the fold of the 2s elements that end at i, so elements below 2s are
 * final.
 *
 * Work: (n-1) + (n-2) + (n-4) + ... = n log2(n) - (n-1) additions: 9,217 for 1,024 elements where a serial scan needs
 * 1,023. Depth: log2(n) steps. Barriers: one a step. Shared memory: 2n elements, because a step reads what its
 * neighbours overwrite; with two buffers, one read and one written, no value is lost and one barrier a step is enough.
 * Traffic: a step reads two elements and writes one a thread, 12 bytes for elements of 4, 120 bytes an element over the
 * 10 steps of 1,024; all of it in shared memory.
 *
 * Limits: one element a thread, so 1,024 elements; any number of threads will do.
 *
 * Source: Kogge and Stone, "A Parallel Algorithm for the Efficient Solution of a General Class of Recurrence
 * Equations", 1973. Every thread takes every barrier: a loop whose trip count depended on the thread would leave some
 * behind.
 */
#ifndef SCAN_CUDA_BLOCK_KOGGE_STONE_CUH
#define SCAN_CUDA_BLOCK_KOGGE_STONE_CUH

namespace scan_cuda {

struct kogge_stone {
    static constexpr int elements_per_thread = 1;
    static constexpr int max_section = 1024;

    /* xy: blockDim.x elements in shared memory, visible to all threads; other: room for as many. Returns that of
     * the two which holds the inclusive scan, visible to all threads. */
    template <class Op>
    static __device__ typename Op::type *inclusive(typename Op::type *xy, typename Op::type *other) {
        const int section = blockDim.x, i = threadIdx.x;
        for (int stride = 1; stride < section; stride *= 2) {
            other[i] = i >= stride ? Op::apply(xy[i - stride], xy[i]) : xy[i];
            __syncthreads();
            typename Op::type *written = other;
            other = xy;
            xy = written;
        }
        return xy;
    }
};

} /* namespace scan_cuda */

#endif
