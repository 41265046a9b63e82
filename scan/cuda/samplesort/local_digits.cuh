/* SPDX-License-Identifier: MIT
 *
 * Sample sort: what a CTA of the local stage has in shared memory, and the sort of a bucket by digits, for codes that
 * no bins tell apart (local.cuh): places are put in order by one digit of 8 bits after the other, the least significant
 * first, stable; digits that do not vary are left out.
 *
 * Work: 4 or 8 ranks a key, at most.
 */
#ifndef SCAN_CUDA_SAMPLESORT_LOCAL_DIGITS_CUH
#define SCAN_CUDA_SAMPLESORT_LOCAL_DIGITS_CUH

#include "bin_map.cuh"
#include "tile.cuh"

namespace scan_cuda {
namespace samplesort {

constexpr uint32_t crowd = 32; /* keys of a bin that are compared with each other, at most */

template <class K, int value_bytes, bool roomy> struct local_shape {
    static constexpr int rows = local_rows_of(is_wide<K, value_bytes>, roomy);
    static constexpr uint32_t most = rows * threads;
    static constexpr uint32_t bins = threads * (!roomy ? 4 : sizeof(K) == 4 ? 16 : 8);
    static_assert(most <= crowd * radix, "bins of copies are numbered by a digit");
    static constexpr uint32_t bin_rows = bins / (threads * 4); /* of 4 bins a lane */
};

template <class K, int value_bytes, class Shape> struct local_shared {
    union {
        K keys[Shape::most]; /* in order by bin; of digits, codes by place and then keys by place */
        value_type<value_bytes> values[value_bytes ? Shape::most : 1]; /* in order */
    };
    uint16_t order[Shape::most];                /* places: of the keys in order by bin, or by digit */
    uint16_t ranked[Shape::most];               /* by place: ranks; of copies first the digits that number their bins */
    alignas(16) uint32_t bins[Shape::bins + 4]; /* counts, then where they begin */
    rank_shared ranks;
    uint16_t copies_begin[radix]; /* of a digit's bin */
    bin_map<K> map;
    bit_group groups[most_groups];
    K low[warps], high[warps];
    uint32_t sums[warps];
    unsigned long long varying;
};

/* ---- digits ------------------------------------------------------------------------------------------------------ */

/* Places are in order by the digits so far; those past the bucket stay behind the others. */
template <class Shape, class Shared> __device__ void order_by_digit(Shared &shared, uint32_t size, uint32_t shift) {
    constexpr int rows = Shape::rows;
    packed_u8<rows> digits;
    packed_u16<rows> places, to;
#pragma unroll
    for (int r = 0; r < rows; r++) {
        const uint32_t at = shared.order[place_in_tile<rows>(r)];
        places.set(r, at);
        digits.set(r, at < size ? uint32_t(shared.keys[at] >> shift) & (radix - 1) : uint32_t(radix - 1));
    }
    rank_tile<rows>(shared.ranks, digits, to);
#pragma unroll
    for (int r = 0; r < rows; r++)
        shared.order[to.get(r)] = uint16_t(places.get(r));
    __syncthreads();
}

/* Leaves places in order by code in `order`. `keys` are codes, by place. Not made part of the kernel, whose registers
 * it would take. */
template <class K, class Shape, class Shared>
__attribute__((noinline)) __device__ void order_by_digits(Shared &shared, uint32_t size) {
    const K varying = K(shared.varying);
    for (uint32_t i = threadIdx.x; i < Shape::most; i += threads)
        shared.order[i] = uint16_t(i);
    __syncthreads();
#pragma unroll 1
    for (uint32_t shift = 0; shift < 8 * sizeof(K); shift += digit_bits)
        if (varying >> shift & (radix - 1))
            order_by_digit<Shape>(shared, size, shift);
}

} /* namespace samplesort */
} /* namespace scan_cuda */

#endif
