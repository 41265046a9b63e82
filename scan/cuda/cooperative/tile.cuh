/* SPDX-License-Identifier: MIT
 *
 * A tile of elements that a CTA sorts by a digit, stably, in its shared memory.
 *
 *     rank    each warp ranks its rows of 32 elements (../sort/rank.cuh), which counts them too
 *     add up  counts of digits and warps become the places where a warp's elements of a digit begin
 *     place   digit's and warp's begin + rank
 *
 * A warp holds `rows` rows in a run: element `slot` = (warp * rows + row) * 32 + lane. Slots past the tile's elements
 * have the greatest digit, so they come last.
 */
#ifndef SCAN_CUDA_COOPERATIVE_TILE_CUH
#define SCAN_CUDA_COOPERATIVE_TILE_CUH

#include "../sort/rank.cuh"
#include "exchange.cuh"

namespace scan_cuda {

static_assert(cooperative_threads % radix == 0 && cooperative_warps % (cooperative_threads / radix) == 0,
              "a thread adds up a digit of some warps");

struct cooperative_counters {
    union {
        uint16_t of_warp[cooperative_warps][radix];
        uint32_t sums[8][2][radix]; /* for cooperative_exchange::find_bases() */
    };
    uint32_t warp_sums[radix / 32];
    uint16_t of_segment[cooperative_threads / radix][radix]; /* of neighbouring warps */
};

class cooperative_tile {
    static constexpr uint32_t batch = 2; /* rows whose keys are loaded together */

    cooperative_counters &counters;
    const int thread, warp, lane;

  public:
    uint32_t rows;   /* of a warp */
    uint32_t *ranks; /* of each slot: its rank, among the warp's elements of its digit, and the digit */

    __device__ explicit cooperative_tile(cooperative_counters &counters)
        : counters(counters), thread(threadIdx.x), warp(warp_of_cta()), lane(threadIdx.x % 32), rows(0),
          ranks(nullptr) {}

    /* Shared memory that is free while no tile is ranked. */
    __device__ uint32_t *free_counters() const { return reinterpret_cast<uint32_t *>(counters.of_warp); }

    __device__ uint32_t slots() const { return rows * cooperative_threads; }

    /* Calls f(slot) for the slots of this lane. */
    template <class F> __device__ void for_slots(F f) const {
        const uint32_t first = uint32_t(warp) * rows * 32 + uint32_t(lane);
#pragma unroll 4
        for (uint32_t row = 0; row < rows; row++)
            f(first + row * 32);
    }

    /* digit_of(slot): the digit of its element. */
    template <class Digit> __device__ void rank(Digit digit_of) {
        uint16_t *own = counters.of_warp[warp];
        for (int i = lane; i < radix / 2; i += 32)
            reinterpret_cast<uint32_t *>(own)[i] = 0;
        __syncwarp();
        const unsigned below = (1u << lane) - 1;
        const uint32_t first = uint32_t(warp) * rows * 32 + uint32_t(lane);
        for (uint32_t row = 0; row < rows; row += batch) {
            uint32_t digit[batch];
#pragma unroll
            for (uint32_t k = 0; k < batch; k++)
                digit[k] = row + k < rows ? digit_of(first + (row + k) * 32) : 0;
#pragma unroll
            for (uint32_t k = 0; k < batch; k++)
                if (row + k < rows) {
                    ranks[first + (row + k) * 32] = rank_row(own, digit[k], below) << digit_bits | digit[k];
                }
        }
        __syncthreads();
    }

    /* begins: set to where each digit begins in the sorted tile, if not NULL. give(digit, count): called for each
     * digit, with slots past the elements counted. A thread adds up one digit of the warps of a segment. */
    template <class Give> __device__ void add_up(uint32_t *begins, Give give) {
        constexpr int segments = cooperative_threads / radix, warps = cooperative_warps / segments;
        const int digit = thread % radix, segment = thread / radix;
        uint32_t counts[warps], sum = 0, before = 0, total = 0;
#pragma unroll
        for (int w = 0; w < warps; w++)
            sum += counts[w] = counters.of_warp[segment * warps + w][digit];
        counters.of_segment[segment][digit] = uint16_t(sum);
        __syncthreads();
#pragma unroll
        for (int s = 0; s < segments; s++) {
            const uint32_t own = counters.of_segment[s][digit];
            before += s < segment ? own : 0;
            total += own;
        }
        const uint32_t through = warp_inclusive<add<uint32_t>>(total, lane);
        if (segment == 0) {
            give(digit, total);
            if (lane == 31)
                counters.warp_sums[warp] = through;
        }
        __syncthreads();
        uint32_t next = through - total + before;
#pragma unroll
        for (int w = 0; w < radix / 32 - 1; w++)
            next += w < digit / 32 ? counters.warp_sums[w] : 0;
        if (begins && segment == 0)
            begins[digit] = next;
#pragma unroll
        for (int w = 0; w < warps; w++) {
            counters.of_warp[segment * warps + w][digit] = uint16_t(next);
            next += counts[w];
        }
        __syncthreads();
    }

    /* Makes the counters in so many words, two in each, what those before them add up to, less than 2^16. Uses
     * free_counters(). */
    __device__ void scan_pairs(uint32_t *words, uint32_t count) const {
        const uint32_t each = (count + cooperative_threads - 1) / cooperative_threads | 1; /* lanes meet in no bank */
        const uint32_t begin = min(thread * each, count), end = min(begin + each, count);
        uint32_t *const sums = free_counters();
        uint32_t sum = 0;
        for (uint32_t w = begin; w < end; w++)
            sum += (words[w] & 0xffff) + (words[w] >> 16);
        const uint32_t through = warp_inclusive<add<uint32_t>>(sum, lane);
        if (lane == 31)
            sums[warp] = through;
        __syncthreads();
        uint32_t next = warp_sum(lane < warp ? sums[lane] : 0) + through - sum;
        for (uint32_t w = begin; w < end; w++) {
            const uint32_t low = words[w] & 0xffff, high = words[w] >> 16;
            words[w] = next | (next + low) << 16;
            next += low + high;
        }
        __syncthreads();
    }

    /* The slot's place in the sorted tile, by the thread that has the slot. */
    __device__ uint32_t place_of(uint32_t slot) const {
        const uint32_t own = ranks[slot];
        return counters.of_warp[warp][own % radix] + (own >> digit_bits);
    }
    __device__ uint32_t digit_of(uint32_t slot) const { return ranks[slot] % radix; }
};

} /* namespace scan_cuda */

#endif
