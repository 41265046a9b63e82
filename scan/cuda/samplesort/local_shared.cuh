/* SPDX-License-Identifier: MIT
 *
 * Sample sort: what a CTA of the local stage has in shared memory (local.cuh).
 */
#ifndef SCAN_CUDA_SAMPLESORT_LOCAL_SHARED_CUH
#define SCAN_CUDA_SAMPLESORT_LOCAL_SHARED_CUH

#include "../sort/merge_tile.cuh"
#include "tile.cuh"

namespace scan_cuda {
namespace samplesort {

constexpr uint32_t crowd = 32; /* keys of a bin that are compared with each other, at most */

/* Bins of equal width for the codes from the least to the greatest: a code's is (code - low) >> shift. */
template <class K> struct bin_range {
    K low;
    uint32_t shift;

    /* No more than `most` bins. */
    static __device__ bin_range of(K least, K greatest, uint32_t most) {
        const uint32_t bin_bits = 31 - uint32_t(__clz(int(most))),
                       range_bits = greatest > least ? bits_of(K(greatest - least)) : 0;
        return {least, range_bits > bin_bits ? range_bits - bin_bits : 0};
    }
    __device__ uint32_t bin(K code) const { return uint32_t(K(code - low) >> shift); }
};

template <class K, int value_bytes, bool roomy> struct local_shape {
    static constexpr int rows = local_rows_of(is_wide<K, value_bytes>, roomy);
    static constexpr uint32_t most = rows * threads;
    static constexpr uint32_t bins = threads * (!roomy ? 4 : sizeof(K) == 4 ? 16 : 8);
    static_assert(most <= crowd * radix, "bins of copies are numbered by a digit");
    static constexpr uint32_t bin_rows = bins / (threads * 4); /* of 4 bins a lane */
};

template <class K, int value_bytes, class Shape> struct local_shared {
    union {
        K keys[Shape::most]; /* in order by bin; or codes, merged, and then keys by place */
        value_type<value_bytes> values[value_bytes ? Shape::most : 1]; /* in order */
    };
    uint16_t order[Shape::most];                /* places: of the keys in order by bin, or by code */
    uint16_t ranked[Shape::most];               /* by place: ranks; of copies first the digits that number their bins */
    alignas(16) uint32_t bins[Shape::bins + 4]; /* counts, then where they begin */
    rank_shared ranks;
    uint16_t copies_begin[radix]; /* of a digit's bin */
    K low[warps], high[warps];
    uint32_t sums[warps];
};

/* Leaves places in order by code in `order`. `keys` are codes, by place. Not made part of the kernel, whose registers
 * it would take. */
template <class K, class Shape, class Shared>
__attribute__((noinline)) __device__ void order_by_merging(Shared &shared, uint32_t size) {
    merged_tile<merged_pieces(Shape::most, threads), K>(shared.keys, shared.order, size).sort();
}

} /* namespace samplesort */
} /* namespace scan_cuda */

#endif
