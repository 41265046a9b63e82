/* SPDX-License-Identifier: MIT
 *
 * From bits to outputs, by one warp. A warp works on a unit, which is up to 32 rows of 32 elements.
 *
 *                 lane 0  lane 1  ...  lane 31          a selector gives each lane a column, one bit a row;
 *      row 0         1       0            1             after the transpose lane k holds row k as a word:
 *      row 1         0       1            1             bit l is element k * 32 + l of the unit
 *      ...
 *
 * A lane's elements are 32 apart, so that reads of any element size, from shared or global memory and at any
 * alignment, are runs of neighbours, and so are the stores of a row's positions into the list.
 */
#ifndef SCAN_CUDA_SELECT_ROWS_CUH
#define SCAN_CUDA_SELECT_ROWS_CUH

#include "select.h"
#include "../device/order.cuh"

namespace scan_cuda {

__device__ inline uint64_t element_count(const select_job &job) {
    return job.n_device && *job.n_device < job.n ? *job.n_device : job.n;
}

/* Is there an output that needs the list? */
__device__ inline bool has_arrays(const select_job &job) {
    return job.kept || job.rejected || job.indices || job.run_lengths;
}

/* How a tile is cut among the warps of a CTA. */
template <int tile_elements_, int warps_> struct unit_shape {
    static constexpr int tile = tile_elements_, warps = warps_;
    static constexpr int chunk = tile / warps; /* elements of a warp */
    static constexpr int rows = chunk < 1024 ? chunk / 32 : chunk % 1024 ? 28 : 32;
    static constexpr int unit = rows * 32;
    static constexpr int units = chunk / unit;
    static_assert(units * unit * warps == tile, "chunks are whole units");
    static_assert(tile <= 32768, "positions and counts fit 16 bits");
};

/* A tile where the selectors and outputs find it. */
template <class U> struct tile_view {
    const U *values;      /* in shared memory; with values[-1] if the selector reads_before */
    const uint8_t *flags; /* in shared or global memory */
    uint64_t first;       /* index of the tile's first element, without index_base */
    uint32_t count;       /* elements that exist */
};

/* ---- bits -------------------------------------------------------------------------------------------------------- */

/* Bit k of lane l becomes bit l of lane k: halves, quarters ... are exchanged (Warren, "Hacker's Delight", 7-3). */
__device__ inline uint32_t transposed(uint32_t x, int lane) {
#pragma unroll
    for (int d = 16; d >= 1; d /= 2) {
        const uint32_t low = d == 16  ? 0x0000ffffu
                             : d == 8 ? 0x00ff00ffu
                             : d == 4 ? 0x0f0f0f0fu
                             : d == 2 ? 0x33333333u
                                      : 0x55555555u;
        const uint32_t other = __shfl_xor_sync(all_lanes, x, d), stays = lane & d ? ~low : low;
        x = (x & stays) | ((lane & d ? other >> d : other << d) & ~stays);
    }
    return x;
}

/* The first n bits; none if n <= 0. */
__device__ inline uint32_t low_bits(int n) { return n >= 32 ? ~0u : n <= 0 ? 0u : (1u << n) - 1; }

/* The word of row `lane` of the unit that begins at element `first` of the tile; no bits beyond the tile's count. */
template <class Selector, int rows, class U>
__device__ uint32_t unit_word(const typename Selector::source &source, const tile_view<U> &tile, uint64_t index_base,
                              uint32_t first, int lane) {
    uint32_t mask = Selector::template lanes<rows>(source, tile, index_base, first, lane);
    uint32_t word = transposed(mask, lane) ^ (Selector::negates(source) ? ~0u : 0u);
    return lane < rows ? word & low_bits(int(tile.count) - int(first) - lane * 32) : 0;
}

/* 1 + the position of the last set bit, 0 if there is none; position 0 is the unit's first element. */
__device__ inline uint32_t unit_last(uint32_t word) {
    unsigned rows = __ballot_sync(all_lanes, word != 0);
    if (!rows)
        return 0;
    int row = 31 - __clz(int(rows));
    return uint32_t(row * 32 + 32 - __clz(int(__shfl_sync(all_lanes, word, row))));
}

/* The bits of a unit, for its outputs: of each row its bits, and twice the number of bits set in the rows before. */
template <int rows> struct alignas(16) unit_words { uint2 of[rows]; };

/* Stores the unit's words; word: of row `lane`. Returns how many bits are set. */
template <int rows> __device__ uint32_t keep_words(unit_words<rows> &words, uint32_t word, int lane) {
    const uint32_t own = uint32_t(__popc(word)), inclusive = warp_inclusive<add<uint32_t>>(own, lane);
    if (lane < rows)
        words.of[lane] = make_uint2(word, 2 * (inclusive - own));
    return __shfl_sync(all_lanes, inclusive, 31);
}

/* ---- the list ---------------------------------------------------------------------------------------------------- */

/* A unit whose positions in the tile are listed: the kept ones, then, if they are wanted, the rejected ones. */
struct listed_unit {
    uint32_t first, valid, kept; /* position of the first element, elements that exist, bits set */
};

/* Calls f(k, words.of[k]) for all rows. Several words are loaded at a time, because the compiler moves no load before a
 * store that f makes. */
template <int rows, class F> __device__ void each_word(const unit_words<rows> &words, F f) {
    constexpr int at_once = rows % 8 == 0 ? 8 : rows % 7 == 0 ? 7 : 6;
    static_assert(rows % at_once == 0, "whole steps");
#pragma unroll
    for (int first = 0; first < rows; first += at_once) {
        uint2 word[at_once];
#pragma unroll
        for (int i = 0; i < at_once; i++)
            word[i] = words.of[first + i];
#pragma unroll
        for (int i = 0; i < at_once; i++)
            f(uint32_t(first + i), word[i]);
    }
}

/* If no row has many bits set, each lane lists those of one row, one by one; else all lanes list row after row. The
 * longest row decides, because the others wait for its lane: the kept elements of a unit may all lie side by side.
 * Measured on an H200, 2^27 elements of 4 bytes: where 10 % are kept, here and there, the second way takes 6 % longer;
 * where 100 of 1,000 neighbours are, the first takes 50 % longer. */
constexpr uint32_t max_short_row = 10;
template <int rows, class U>
__device__ listed_unit list_unit(uint16_t *list, const unit_words<rows> &words, const tile_view<U> &tile,
                                 uint32_t first, bool with_rejected, int lane) {
    const uint2 last = words.of[rows - 1];
    listed_unit unit = {first, tile.count > first ? min(tile.count - first, uint32_t(rows * 32)) : 0,
                        last.y / 2 + uint32_t(__popc(last.x))};
    const uint32_t below = (1u << lane) - 1, own = opaque(1u << lane), at = opaque(first + uint32_t(lane));
    char *kept = reinterpret_cast<char *>(list), *rejected = kept + 2 * unit.kept;
    const uint2 mine = lane < rows ? words.of[lane] : make_uint2(0, 0);
    if (warp_max(uint32_t(__popc(mine.x))) <= max_short_row) {
        uint16_t *to = reinterpret_cast<uint16_t *>(kept + mine.y);
#pragma unroll 1
        for (uint32_t left = mine.x; left; left &= left - 1)
            *to++ = uint16_t(first + uint32_t(lane) * 32 + uint32_t(__ffs(int(left))) - 1);
    } else
        each_word(words, [=](uint32_t k, uint2 row) {
            if (row.x & own)
                reinterpret_cast<uint16_t *>(kept + row.y)[__popc(row.x & below)] = uint16_t(at + k * 32);
        });
    if (with_rejected) /* before a row: k * 32 positions less the kept ones, in bytes k * 64 - row.y */
        each_word(words, [=](uint32_t k, uint2 row) {
            if (!(row.x & own) && k * 32 + uint32_t(lane) < unit.valid)
                reinterpret_cast<uint16_t *>(rejected + k * 64 - row.y)[__popc(~row.x & below)] = uint16_t(at + k * 32);
        });
    __syncwarp();
    return unit;
}

/* ---- outputs ----------------------------------------------------------------------------------------------------- */

/* to[q] = value(list[q]), in rows of 32 that begin where lines of 128 bytes do: a store that straddles two takes twice
 * as long. Rows of smaller elements begin at multiples of their size. Ordinary stores: row_writer, tile.cuh. */
template <class To, class Value>
__device__ void put_listed(To *to, const uint16_t *list, uint32_t n, int lane, Value value) {
    constexpr int at_once = 4; /* reads of the list and of values in flight */
    constexpr uint32_t line = sizeof(To) < 4 ? 32 : 128 / sizeof(To);
    uint32_t q = uint32_t(lane) - uint32_t(uintptr_t(to) / sizeof(To)) % line; /* wraps where it is before to[0] */
    const uint32_t rows = (n - q + uint32_t(lane) + 31) / 32;
#pragma unroll 1
    for (uint32_t k = 0; k < rows; k += at_once, q += at_once * 32) {
        To x[at_once];
#pragma unroll
        for (int i = 0; i < at_once; i++)
            if (q + i * 32 < n)
                x[i] = value(list[q + i * 32]);
#pragma unroll
        for (int i = 0; i < at_once; i++)
            if (q + i * 32 < n)
                to[int32_t(q + i * 32)] = x[i];
    }
}

/* Every start ends the run before it; `begun` is the index of the start before the unit's first. */
template <class To>
__device__ void put_run_lengths(To *lengths, const uint16_t *list, uint32_t n, uint64_t kept_before, uint64_t first,
                                uint64_t begun, int lane) {
#pragma unroll 1
    for (uint32_t q = uint32_t(lane); q < n; q += 32)
        if (kept_before + q > 0)
            lengths[kept_before + q - 1] = To(first + list[q] - (q ? first + list[q - 1] : begun));
}

/* kept_before: how many are kept before the unit; begun: the index of the last of them. */
template <class U>
__device__ void put_unit(const select_job &job, const tile_view<U> &tile, const uint16_t *list, const listed_unit &unit,
                         uint64_t kept_before, uint64_t begun, int lane) {
    const U *values = tile.values;
    if (job.kept)
        put_listed(static_cast<U *>(job.kept) + kept_before, list, unit.kept, lane,
                   [=](uint32_t p) { return values[p]; });
    if (job.rejected)
        put_listed(static_cast<U *>(job.rejected) + (tile.first + unit.first - kept_before), list + unit.kept,
                   unit.valid - unit.kept, lane, [=](uint32_t p) { return values[p]; });
    const uint64_t index = job.index_base + tile.first;
    if (job.indices && job.wide_indices)
        put_listed(static_cast<uint64_t *>(job.indices) + kept_before, list, unit.kept, lane,
                   [=](uint32_t p) { return index + p; });
    else if (job.indices)
        put_listed(static_cast<uint32_t *>(job.indices) + kept_before, list, unit.kept, lane,
                   [=](uint32_t p) { return uint32_t(index) + p; });
    if (job.run_lengths && job.wide_indices)
        put_run_lengths(static_cast<uint64_t *>(job.run_lengths), list, unit.kept, kept_before, tile.first, begun,
                        lane);
    else if (job.run_lengths)
        put_run_lengths(static_cast<uint32_t *>(job.run_lengths), list, unit.kept, kept_before, tile.first, begun,
                        lane);
    __syncwarp();
}

/* The count and the length of the last run. last: 1 + the index of the last kept element, 0 if none is. */
__device__ inline void put_end(const select_job &job, uint64_t n, uint64_t kept, uint64_t last) {
    if (job.count)
        *job.count = kept;
    if (job.run_lengths && kept) {
        if (job.wide_indices)
            static_cast<uint64_t *>(job.run_lengths)[kept - 1] = n - (last - 1);
        else
            static_cast<uint32_t *>(job.run_lengths)[kept - 1] = uint32_t(n - (last - 1));
    }
}

} /* namespace scan_cuda */

#endif
