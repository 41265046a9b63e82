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
constexpr uint32_t few = 8;    /* keys of a bin, or of a group, that is not divided */

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
    static constexpr bool has_groups = bins >= most;           /* if there is room for their table */
    static constexpr int group_rows = most / (threads * 8);    /* of a thread's vectors of its numbers */
};

/* Groups of a bucket's keys, where bins have too many (local_groups.cuh). A group of c keys has c numbers: those of the
 * slots that its keys fill. */
template <class Shape> struct group_table {
    static constexpr uint32_t most = Shape::has_groups ? Shape::most : 1, vector = 8; /* numbers in 16 bytes */
    alignas(16) uint16_t begins[most + vector]; /* by number: counts of keys, then where they begin */
    uint16_t number[most];                      /* of the key in a slot */
};

/* Slots of keys in order by bin, or by group: those of one. */
struct slots {
    uint32_t begin, end;

    __device__ uint32_t count() const { return end - begin; }
};

template <class K, int value_bytes, class Shape> struct local_shared {
    union {
        K keys[Shape::most]; /* in order by bin; or codes, merged, and then keys by place */
        value_type<value_bytes> values[value_bytes ? Shape::most : 1]; /* in order */
    };
    uint16_t order[Shape::most];  /* places: of the keys in order by bin, or by code */
    uint16_t ranked[Shape::most]; /* by place: ranks; of copies first the digits that number their bins */
    union {
        alignas(16) uint32_t bins[Shape::bins + 4]; /* counts, then where they begin */
        group_table<Shape> groups;                  /* where Shape::has_groups */
    };
    rank_shared ranks;
    uint16_t copies_begin[radix];                  /* of a digit's bin */
    uint32_t mixed[(Shape::most / few + 31) / 32]; /* a bit for each bin, or group, of more than a few keys */
    K low[warps], high[warps];
    uint32_t sums[warps];

    /* Whether keys of the bin that begins here, more than a few, have several codes. */
    __device__ bool is_mixed(uint32_t begin) const { return mixed[begin / few / 32] >> begin / few % 32 & 1; }
    __device__ void set_mixed(uint32_t begin) { atomicOr(&mixed[begin / few / 32], 1u << begin / few % 32); }
    /* By the CTA; a barrier follows. */
    __device__ void clear_mixed() {
        for (uint32_t i = threadIdx.x; i < (Shape::most / few + 31) / 32; i += threads)
            mixed[i] = 0;
    }

    /* Of the bin, or the group, of the key in a slot. */
    __device__ slots slots_of(const bin_range<K> &range, bool grouped, uint32_t slot, K code) const {
        if constexpr (Shape::has_groups)
            if (grouped) {
                const uint16_t *group = groups.begins + groups.number[slot];
                return {group[0], group[1]};
            }
        const uint32_t *bin = bins + range.bin(code);
        return {bin[0], bin[1]};
    }
};

/* Turns counts into where what they count begins. Each vector of `used` has some: sum_of(vector) are all of them,
 * begins_of(vector, begin) is what takes their place. A warp has `rows` rows of 32 vectors. sums: a word a warp. By the
 * CTA, after a barrier. */
template <int rows, class Sum, class Begins>
__device__ void scan_vectors(uint4 *vectors, uint32_t used, uint32_t *sums, Sum sum_of, Begins begins_of) {
    const uint32_t warp = uint32_t(warp_of_cta()), lane = threadIdx.x % 32, row = warp * 32 * rows, first = row + lane;
    uint32_t before[rows], sum = 0;
#pragma unroll
    for (int r = 0; r < rows; r++) {
        before[r] = sum;
        if (row + r * 32 < used) {
            const uint32_t own = first + r * 32 < used ? sum_of(vectors[first + r * 32]) : 0,
                           inclusive = warp_inclusive<add<uint32_t>>(own, int(lane));
            before[r] += inclusive - own;
            sum += __shfl_sync(all_lanes, inclusive, 31);
        }
    }
    if (lane == 0)
        sums[warp] = sum;
    __syncthreads();
    const uint32_t base = warp_sum(lane < warp ? sums[lane] : 0);
#pragma unroll
    for (int r = 0; r < rows; r++)
        if (first + r * 32 < used)
            vectors[first + r * 32] = begins_of(vectors[first + r * 32], base + before[r]);
}

/* Leaves places in order by code in `order`. `keys` are codes, by place. Not made part of the kernel, whose registers
 * it would take. */
template <class K, class Shape, class Shared>
__attribute__((noinline)) __device__ void order_by_merging(Shared &shared, uint32_t size) {
    merged_tile<merged_pieces(Shape::most, threads), K>(shared.keys, shared.order, size).sort();
}

} /* namespace samplesort */
} /* namespace scan_cuda */

#endif
