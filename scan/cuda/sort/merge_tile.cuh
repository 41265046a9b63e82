/* SPDX-License-Identifier: MIT
 *
 * A stable sort of a tile in shared memory by merging: it costs the same whatever the keys are, so it is for tiles
 * whose keys crowd in a few bins.
 *
 *     5 3 9 1 4   2 2 8 7 0   6 ...          a thread's keys, sorted in its registers
 *     1 3 4 5 9 | 0 2 2 7 8 | ...            runs, merged by twos:
 *     0 1 2 2 3   4 5 7 8 9   ...            each thread finds by a binary search which keys of the two runs its share
 * of the result begins with, and merges as many as it has
 *
 * Depth: log2(tile / merged_each) rounds, a binary search and merged_each comparisons each. Work: of a key
 * log2(tile) comparisons, and a binary search for every merged_each. Barriers: two a round.
 *
 * Source: Green, McColl, Bader, "GPU Merge Path", 2012: the search.
 */
#ifndef SCAN_CUDA_SORT_MERGE_TILE_CUH
#define SCAN_CUDA_SORT_MERGE_TILE_CUH

#include "../device/kernel.cuh"
#include "rank.cuh"

namespace scan_cuda {

constexpr uint32_t merged_each = 5; /* of a thread at a time: an odd number, so that lanes meet in no bank */

/* Pieces of a thread, where so many threads have `most` keys. */
constexpr int merged_pieces(uint32_t most, uint32_t threads) {
    return int((most + merged_each * threads - 1) / (merged_each * threads));
}

/* Which keys come first in the merge of two runs: `taken` of them, how many are from a. On a tie those of a. */
template <class K>
__device__ uint32_t taken_from_first(const K *a, uint32_t a_count, const K *b, uint32_t b_count, uint32_t taken) {
    uint32_t low = taken > b_count ? taken - b_count : 0, high = min(taken, a_count);
    while (low < high) {
        const uint32_t i = (low + high) / 2;
        if (b[taken - 1 - i] < a[i])
            high = i;
        else
            low = i + 1;
    }
    return low;
}

/* `size` keys in shared memory, and a place that moves with each, if they are placed. A tile is no larger than
 * pieces * merged_each * blockDim.x: a thread has so many pieces. */
template <int pieces, class K, bool placed = true> class merged_tile {
    static constexpr int each = merged_each;

    K *const keys;
    uint16_t *const places;
    const uint32_t size;
    K key[pieces * each];
    packed_u16<placed ? pieces * each : 1> place;

    /* f(where a piece is in these, its number among all threads' pieces). */
    template <class F> __device__ void each_piece(F f) {
#pragma unroll
        for (int p = 0; p < pieces; p++) {
            const uint32_t number = p * blockDim.x + threadIdx.x;
            if (number * each < size)
                f(p * each, number);
        }
    }

    __device__ void store(int own, uint32_t number) {
#pragma unroll
        for (int k = 0; k < each; k++)
            if (number * each + k < size) {
                keys[number * each + k] = key[own + k];
                if constexpr (placed)
                    places[number * each + k] = uint16_t(place.get(own + k));
            }
    }

    /* A piece: neighbours change places, but for equal ones, in as many rounds as there are keys. */
    __device__ void sort_piece(int own, uint32_t number) {
        const uint32_t first = number * each, count = min(size - first, uint32_t(each));
        uint32_t moved[each];
#pragma unroll
        for (int k = 0; k < each; k++) {
            const uint32_t at = first + min(uint32_t(k), count - 1);
            key[own + k] = keys[at];
            moved[k] = placed ? places[at] : 0;
        }
#pragma unroll
        for (int round = 0; round < each; round++)
#pragma unroll
            for (int k = round % 2; k + 1 < each; k += 2) {
                const K low = key[own + k], high = key[own + k + 1];
                const uint32_t low_moved = moved[k], high_moved = moved[k + 1];
                const bool change = uint32_t(k) + 1 < count && high < low;
                key[own + k] = change ? high : low;
                key[own + k + 1] = change ? low : high;
                moved[k] = change ? high_moved : low_moved;
                moved[k + 1] = change ? low_moved : high_moved;
            }
        if constexpr (placed)
#pragma unroll
            for (int k = 0; k < each; k++)
                place.set(own + k, moved[k]);
    }

    /* What a piece has when runs of 2^log_runs pieces have been merged from halves. */
    __device__ void merge_piece(int own, uint32_t number, uint32_t log_runs) {
        const uint32_t first = number >> log_runs << log_runs, begin = first * each,
                       middle = min(begin + (uint32_t(each) << (log_runs - 1)), size),
                       end = min(begin + (uint32_t(each) << log_runs), size), taken = (number - first) * each;
        uint32_t a = begin + taken_from_first(keys + begin, middle - begin, keys + middle, end - middle, taken),
                 b = middle + taken - (a - begin);
        K at_a = keys[min(a, middle - 1)], at_b = keys[min(b, end - 1)];
#pragma unroll
        for (int k = 0; k < each; k++) {
            const bool second = b < end && (a >= middle || at_b < at_a);
            const uint32_t from = second ? b++ : a++;
            key[own + k] = second ? at_b : at_a;
            if constexpr (placed)
                place.set(own + k, places[min(from, end - 1)]);
            const K next = keys[min(from + 1, (second ? end : middle) - 1)];
            at_a = second ? at_a : next;
            at_b = second ? next : at_b;
        }
    }

  public:
    __device__ merged_tile(K *keys, uint16_t *places, uint32_t size) : keys(keys), places(places), size(size) {}
    __device__ merged_tile(K *keys, uint32_t size) : merged_tile(keys, nullptr, size) {}

    /* By the CTA, with a barrier at either end. */
    __device__ void sort() {
        __syncthreads();
        each_piece([&](int own, uint32_t number) {
            sort_piece(own, number);
            store(own, number);
        });
        __syncthreads();
#pragma unroll 1
        for (uint32_t log_runs = 1; each << (log_runs - 1) < int(size); log_runs++) {
            each_piece([&](int own, uint32_t number) { merge_piece(own, number, log_runs); });
            __syncthreads();
            each_piece([&](int own, uint32_t number) { store(own, number); });
            __syncthreads();
        }
    }
};

} /* namespace scan_cuda */

#endif
