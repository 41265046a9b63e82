/* SPDX-License-Identifier: MIT
 *
 * Stable ranks of digits inside a warp: how many keys before this one, in earlier rows or lower lanes, have its digit.
 *
 *     row of 32 digits    3 1 3 0 1 3 ...         lane 5 asks: who else has my digit?  lanes 0, 2, 5
 *     lower ones          0 0 1 0 1 2             how many of them are below me
 *     counters[digit]     + what earlier rows had
 *
 * The lanes with the same digit are found bit by bit: a ballot tells who has a one there, and a lane keeps those that
 * agree with it. 8 ballots, whatever the digits are: no data is slower than other data. The counters belong to one
 * warp, so no atomics are needed: all lanes read, the lowest lane of each digit writes.
 */
#ifndef SCAN_CUDA_SORT_RANK_CUH
#define SCAN_CUDA_SORT_RANK_CUH

#include "../device/ptx.cuh"
#include "job.cuh"

namespace scan_cuda {

/* counters: `radix` of this warp, which counts the row in. same: the lanes with this digit. below: those before this
 * one. */
template <class Counter>
__device__ uint32_t rank_among(Counter *counters, uint32_t digit, unsigned same, unsigned below) {
    const unsigned before = same & below;
    const uint32_t earlier = counters[digit];
    __syncwarp();
    if (before == 0)
        counters[digit] = Counter(earlier + __popc(same));
    __syncwarp();
    return earlier + __popc(before);
}

template <class Counter> __device__ uint32_t rank_row(Counter *counters, uint32_t digit, unsigned below) {
    return rank_among(counters, digit, lanes_with_byte(digit), below);
}

/* By one warp: where the keys of each digit begin, from how many there are of each. */
__device__ inline void begins_of_digits(const uint32_t *counts, uint32_t *begins, int lane) {
    constexpr int each = radix / 32;
    uint32_t own[each], sum = 0;
#pragma unroll
    for (int k = 0; k < each; k++)
        sum += own[k] = counts[lane * each + k];
    uint32_t next = warp_inclusive<add<uint32_t>>(sum, lane) - sum;
#pragma unroll
    for (int k = 0; k < each; k++) {
        begins[lane * each + k] = next;
        next += own[k];
    }
}

/* Small numbers of one thread, packed into registers; every index is a constant once loops are unrolled. They are set
 * in the order of their indices. */
template <int n> struct packed_u16 {
    uint32_t pair[(n + 1) / 2];
    __device__ uint32_t get(int i) const { return i % 2 ? pair[i / 2] >> 16 : pair[i / 2] & 0xffff; }
    __device__ void set(int i, uint32_t x) { pair[i / 2] = i % 2 ? pair[i / 2] | x << 16 : x; }
};

template <int n> struct packed_u8 {
    uint32_t four[(n + 3) / 4];
    __device__ uint32_t get(int i) const { return four[i / 4] >> 8 * (i % 4) & 0xff; }
    __device__ void set(int i, uint32_t x) { four[i / 4] = i % 4 ? four[i / 4] | x << 8 * (i % 4) : x; }
};

} /* namespace scan_cuda */

#endif
