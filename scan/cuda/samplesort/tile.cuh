/* SPDX-License-Identifier: MIT
 *
 * A tile is moved: each key goes behind those of its digit that came before it. A digit is the number of a child
 * (partition.cuh) or 8 bits of a code (large.cuh).
 *
 *     warps rank their keys ──> digits' counts over warps and digits ──> keys to shared memory, in order by digit
 *                                                                              ──> out: neighbours go to neighbours
 *
 * The ranks are stable: rows of a warp follow each other, and so do warps. A rank costs the same whatever the keys are
 * (rank.cuh of the radix sort).
 */
#ifndef SCAN_CUDA_SAMPLESORT_TILE_CUH
#define SCAN_CUDA_SAMPLESORT_TILE_CUH

#include "../sort/rank.cuh"
#include "job.cuh"

namespace scan_cuda {
namespace samplesort {

struct rank_shared {
    alignas(16) uint16_t counters[warps][radix]; /* of a warp's keys; then of those of warps before */
    uint32_t counts[radix], begins[radix];       /* of the tile: keys of a digit; of lesser digits */
};

/* Which of a tile's keys, in order, a thread has in its row r, of so many that a warp uses: they are neighbours. */
__device__ inline uint32_t place_in_tile(int r, uint32_t used) {
    return (threadIdx.x / 32 * used + uint32_t(r)) * 32 + threadIdx.x % 32;
}
/* Rows that a warp uses for so many keys. */
__device__ inline uint32_t rows_of_tile(uint32_t keys) { return (keys + threads - 1) / threads; }

/* f(r) for the rows that are used. */
template <int rows, class F> __device__ void each_used_row(uint32_t used, F f) {
#pragma unroll
    for (int r = 0; r < rows; r++) {
        if (uint32_t(r) >= used)
            break;
        f(r);
    }
}

/* Stable places of a tile's keys in order by digit, a digit for each row that is used. By the CTA, with a barrier
 * before the counts are written and one after the last reads of what is shared but begins and a warp's own counters. */
template <int rows>
__device__ void rank_tile(rank_shared &shared, const packed_u8<rows> &digits, packed_u16<rows> &places,
                          uint32_t used = rows) {
    const uint32_t warp = uint32_t(warp_of_cta()), lane = threadIdx.x % 32;
    const unsigned below = (1u << lane) - 1;
    uint16_t *own = shared.counters[warp];
    for (uint32_t i = lane; i < radix / 8; i += 32)
        reinterpret_cast<uint4 *>(own)[i] = make_uint4(0, 0, 0, 0);
    __syncwarp();
    packed_u16<rows> ranks;
    each_used_row<rows>(used, [&](int r) { ranks.set(r, rank_row(own, digits.get(r), below)); });
    __syncthreads();
    for (uint32_t d = threadIdx.x; d < radix; d += threads) {
        uint32_t sum = 0;
#pragma unroll
        for (int w = 0; w < warps; w++) {
            const uint32_t count = shared.counters[w][d];
            shared.counters[w][d] = uint16_t(sum);
            sum += count;
        }
        shared.counts[d] = sum;
    }
    __syncthreads();
    if (warp == 0)
        begins_of_digits(shared.counts, shared.begins, int(lane));
    __syncthreads();
    each_used_row<rows>(
        used, [&](int r) { places.set(r, ranks.get(r) + own[digits.get(r)] + shared.begins[digits.get(r)]); });
}

/* ---- a tile that is moved ---------------------------------------------------------------------------------------- */

template <class K, int value_bytes> struct move_shared {
    using V = value_type<value_bytes>;
    static constexpr int rows = tile_rows<K, value_bytes>;
    static constexpr uint32_t tile = rows * threads;

    union {
        K keys[tile];
        V values[value_bytes ? tile : 1];
    } staged; /* in order by digit */
    uint8_t digits[tile];
    rank_shared ranks;
    unsigned long long next[radix]; /* where the next key of a digit goes, with word_flag if that is in `out` */
    unsigned long long base[radix]; /* the same less the tile's keys of lesser digits */
};

/* Where a tile goes. */
template <class K, int value_bytes> struct move_targets { target<K, value_bytes> plain, out; };

/* Writes what is staged: slot s to base[digit] + s of one of two arrays, if there is that array. */
template <class Shared, class T>
__device__ void write_slots(const Shared &shared, const T *staged, T *plain, T *out, uint32_t count) {
#pragma unroll 4
    for (uint32_t s = threadIdx.x; s < count; s += threads) {
        const unsigned long long base = shared.base[shared.digits[s]];
        T *to = base & word_flag ? out : plain;
        if (to)
            to[(base & ~word_flag) + s] = staged[s];
    }
}

/* Moves `count` keys from `begin` on, a tile at most, by digit_of(key), and their values. By the CTA, after a barrier.
 */
template <class K, int value_bytes, class Digit>
__device__ void move_tile(move_shared<K, value_bytes> &shared, const source<K, value_bytes> &from,
                          const move_targets<K, value_bytes> &to, uint64_t begin, uint32_t count, Digit digit_of) {
    using V = value_type<value_bytes>;
    constexpr int rows = tile_rows<K, value_bytes>;
    K key[rows];
    packed_u16<rows> places;
    from.template load_keys<32>(key, begin, place_in_tile(0, rows), count);
    packed_u8<rows> digits; /* keys that are not there come last of all */
#pragma unroll
    for (int r = 0; r < rows; r++)
        digits.set(r, place_in_tile(r, rows) < count ? digit_of(key[r]) : uint32_t(radix - 1));
    rank_tile<rows>(shared.ranks, digits, places);
    for (uint32_t d = threadIdx.x; d < radix; d += threads) {
        const unsigned long long next = shared.next[d];
        shared.base[d] = next - shared.ranks.begins[d];
        shared.next[d] = next + shared.ranks.counts[d];
    }
#pragma unroll
    for (int r = 0; r < rows; r++) {
        shared.staged.keys[places.get(r)] = key[r];
        shared.digits[places.get(r)] = uint8_t(digits.get(r));
    }
    __syncthreads();
    if (to.plain.keys || to.out.keys)
        write_slots(shared, shared.staged.keys, to.plain.keys, to.out.keys, count);
    if constexpr (value_bytes > 0) {
        V value[rows];
        from.template load_values<32>(value, begin, place_in_tile(0, rows), count);
        __syncthreads();
#pragma unroll
        for (int r = 0; r < rows; r++)
            shared.staged.values[places.get(r)] = value[r];
        __syncthreads();
        write_slots(shared, shared.staged.values, to.plain.values, to.out.values, count);
    }
    __syncthreads();
}

} /* namespace samplesort */
} /* namespace scan_cuda */

#endif
