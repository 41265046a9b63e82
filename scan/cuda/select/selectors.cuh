/* SPDX-License-Identifier: MIT
 *
 * The selectors. lanes<rows>() returns, in bit k of a lane, whether element first + k * 32 + lane of a tile is
 * selected. Its bits for elements beyond the tile's count are ignored, but it does not read global memory there.
 *
 *   range_selector     one range of the elements themselves: every comparison, between, isnan, isfinite
 *   flags_selector     a byte array beside the elements
 *   program_selector   any predicate over any columns: the steps run one after another, each over 32 elements a lane,
 *                      so all lanes take the same branches, and a join is one instruction for 1,024 elements
 *   runs_selector      elements that differ from the one before
 */
#ifndef SCAN_CUDA_SELECT_SELECTORS_CUH
#define SCAN_CUDA_SELECT_SELECTORS_CUH

#include "../device/element.cuh"
#include "rows.cuh"

namespace scan_cuda {

template <class U> constexpr U sign_of = U(U(1) << (sizeof(U) * 8 - 1));

/* Float bits as sortable bits, modulo 2^bits: the bits below the sign of a negative value are complemented. */
template <class U> __host__ __device__ U sortable_bits(U x) { return x & sign_of<U> ? U(x ^ U(~sign_of<U>)) : x; }

template <int rows, class Keep> __device__ uint32_t lane_bits(Keep keep) {
    uint32_t bits = 0;
#pragma unroll
    for (int k = 0; k < rows; k++)
        if (keep(uint32_t(k * 32)))
            bits |= 1u << k;
    return bits;
}

template <class U> struct range_selector {
    using source = range_source;
    static constexpr bool reads_flags = false, reads_before = false;

    static __device__ bool negates(const source &s) { return s.negate; }

    template <int rows>
    static __device__ uint32_t lanes(const source &s, const tile_view<U> &tile, uint64_t, uint32_t first, int lane) {
        const U *x = tile.values + first + lane, lo = U(s.lo), width = U(s.width);
        if constexpr (sizeof(U) >= 4)
            if (s.is_float)
                return lane_bits<rows>([=](uint32_t at) { return U(sortable_bits(x[at]) - lo) <= width; });
        return lane_bits<rows>([=](uint32_t at) { return U(x[at] - lo) <= width; });
    }
};

struct flags_selector {
    using source = flags_source;
    static constexpr bool reads_flags = true, reads_before = false;

    static __device__ bool negates(const source &s) { return s.negate; }

    template <int rows, class U>
    static __device__ uint32_t lanes(const source &, const tile_view<U> &tile, uint64_t, uint32_t first, int lane) {
        const uint32_t begin = first + uint32_t(lane), count = tile.count;
        const uint8_t *flags = tile.flags + begin;
        return lane_bits<rows>([=](uint32_t at) { return begin + at < count && flags[at]; });
    }
};

template <class U> struct runs_selector {
    using source = runs_source;
    static constexpr bool reads_flags = false, reads_before = true;

    static __device__ bool negates(const source &) { return false; }

    /* Gives floats that compare equal the same bits, and all NaN. */
    static __device__ U canonical(U x) {
        using bits = float_bits<U>;
        const U magnitude = U(x & U(~bits::sign));
        return magnitude > bits::infinity ? bits::quiet_nan : magnitude ? x : U(0);
    }

    template <int rows>
    static __device__ uint32_t lanes(const source &s, const tile_view<U> &tile, uint64_t, uint32_t first, int lane) {
        const U *x = tile.values + first + lane;
        uint32_t bits;
        if (sizeof(U) >= 4 && s.is_float)
            bits = lane_bits<rows>([=](uint32_t at) { return canonical(x[at]) != canonical(x[int(at) - 1]); });
        else
            bits = lane_bits<rows>([=](uint32_t at) { return x[at] != x[int(at) - 1]; });
        return tile.first == 0 && first == 0 && lane == 0 ? bits | 1u : bits;
    }
};

struct program_selector {
    using source = program_source;
    static constexpr bool reads_flags = false, reads_before = false;

    static __device__ bool negates(const source &) { return false; }

    /* begin: index of the lane's first element; left: elements of the tile from it on. */
    template <int rows, bool is_float, class U>
    static __device__ uint32_t column_in_range(const U *column, uint64_t begin, uint32_t left, uint64_t lo,
                                               uint64_t width) {
        const U *x = column + begin, low = U(lo), wide = U(width);
        return lane_bits<rows>(
            [=](uint32_t at) { return at < left && U((is_float ? sortable_bits(x[at]) : x[at]) - low) <= wide; });
    }

    template <int rows>
    static __device__ uint32_t in_range(const source &s, const source::step &step, uint64_t index_base, uint64_t begin,
                                        uint32_t left) {
        const source::column &column = s.columns[step.column];
        const uint64_t lo = step.lo, width = step.width;
        switch (column.kind) {
        case COLUMN_8:
            return column_in_range<rows, false>(static_cast<const uint8_t *>(column.data), begin, left, lo, width);
        case COLUMN_16:
            return column_in_range<rows, false>(static_cast<const uint16_t *>(column.data), begin, left, lo, width);
        case COLUMN_32:
            return column_in_range<rows, false>(static_cast<const uint32_t *>(column.data), begin, left, lo, width);
        case COLUMN_64:
            return column_in_range<rows, false>(static_cast<const uint64_t *>(column.data), begin, left, lo, width);
        case COLUMN_F32:
            return column_in_range<rows, true>(static_cast<const uint32_t *>(column.data), begin, left, lo, width);
        case COLUMN_F64:
            return column_in_range<rows, true>(static_cast<const uint64_t *>(column.data), begin, left, lo, width);
        default: {
            const uint64_t from_lo = index_base + begin - lo;
            return lane_bits<rows>([=](uint32_t at) { return from_lo + at <= width; });
        }
        }
    }

    template <int rows, class U>
    static __device__ uint32_t lanes(const source &s, const tile_view<U> &tile, uint64_t index_base, uint32_t first,
                                     int lane) {
        const uint32_t at = first + uint32_t(lane), left = at < tile.count ? tile.count - at : 0;
        uint32_t stack[SCAN_MAX_TERMS / 2];
        uint32_t top = s.constant ? ~0u : 0u;
        int below = -1; /* results under the top one */
        for (uint32_t i = 0; i < s.step_count; i++) {
            const source::step &step = s.steps[i];
            if (step.kind == SCAN_STEP_RANGE) {
                if (below >= 0)
                    stack[below] = top;
                below++;
                top = in_range<rows>(s, step, index_base, tile.first + at, left);
            } else {
                const uint32_t other = stack[--below];
                top = step.kind == SCAN_STEP_AND ? top & other : top | other;
            }
            if (step.negate)
                top = ~top;
        }
        return top;
    }
};

} /* namespace scan_cuda */

#endif
