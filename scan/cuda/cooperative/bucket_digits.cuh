/* SPDX-License-Identifier: MIT
 *
 * The elements of a bucket (bucket.cuh), and the order of their indices by digits, or by merging.
 *
 * There is a stable pass over each digit of the codes, or of what they exceed the least one by, whichever has fewer
 * digits that differ. Small buckets whose codes differ in more than four digits are merged. Of larger ones the highest
 * three digits are tried, unless a sample tells that they do not serve: mostly they tell all but a few elements of a
 * bucket apart, and runs of those are sorted by insertion. If a run is too long, all digits follow.
 */
#ifndef SCAN_CUDA_COOPERATIVE_BUCKET_DIGITS_CUH
#define SCAN_CUDA_COOPERATIVE_BUCKET_DIGITS_CUH

#include "../sort/merge_tile.cuh"
#include "codes.cuh"
#include "tile.cuh"

namespace scan_cuda {

/* Of shared memory for an element. */
template <class Code> constexpr size_t bucket_element_bytes = 2 * sizeof(uint16_t) + sizeof(Code) + sizeof(uint32_t);

/* How many elements a bucket may have, rounded down to whole rows of all warps. */
template <class Code> __host__ __device__ constexpr uint32_t bucket_room(size_t bytes) {
    return uint32_t(bytes / bucket_element_bytes<Code> / cooperative_threads * cooperative_threads);
}

template <class Code> class bucket_digits {
  protected:
    static constexpr uint32_t most_digits = 4, tried_digits = 3, longest_run = 16;
    /* Up to so many elements merging takes less time than passes over more digits: up to 1.2 times less for 10^5
     * elements in all, 1.4 times for 2 x 10^5. Merging buckets of 10^6 elements took up to 1.3 times as long (H200,
     * 2026-11-29: tools/bench --device cuda --hunt 160 --seed 41 --min-n 100000 --max-n 1100000, and --hunt 100 --seed
     * 31 --min-n 20000 --max-n 100000). */
    static constexpr uint32_t max_merged = 2 * cooperative_threads;
    /* Elements of a run that is likely too long; and of a run in the sample, at least, for shorter runs show five at
     * most (five sets of keys in clusters, simulated, 2026-11-27). */
    static constexpr uint32_t likely_run = 24, least_sampled = 6;

    const sort_job &job;
    const cooperative_exchange exchange;
    cooperative_tile tile;
    const int thread;
    const uint32_t start, count;  /* of the bucket's elements */
    uint16_t *order, *next_order; /* indices in the order so far, and after the pass */
    char *const payload;
    Code *const codes;
    Code least, range; /* of the codes; the greatest less the least */

    /* unroll: elements whose loads are on their way together. */
    template <int unroll = 2, class F> __device__ void for_elements(F f) const {
#pragma unroll unroll
        for (uint32_t i = uint32_t(thread); i < count; i += cooperative_threads)
            f(i);
    }

    __device__ void load_codes(const void *keys) {
        const key_codes<Code> codes_of(job);
        Code greatest = 0;
        least = Code(~Code(0));
        for_elements<4>([&](uint32_t i) {
            const Code code = codes_of.at(keys, start + i);
            codes[i] = code;
            least = min(least, code);
            greatest = max(greatest, code);
        });
        __syncwarp();
        exchange.find_bounds(least, greatest);
        range = greatest > least ? Code(greatest - least) : 0;
    }

    __device__ void swap_orders() {
        uint16_t *const done = next_order;
        next_order = order;
        order = done;
    }

  private:
    /* Returns the bits in which codes differ. If codes less the least have no more digits, these are the codes now. */
    __device__ uint64_t differing_bits() {
        Code ones = 0, zeros = 0;
        for_elements([&](uint32_t i) {
            ones |= codes[i];
            zeros |= Code(~codes[i]);
        });
        __syncwarp();
        const uint64_t differ = exchange.differing(ones, zeros);
        const uint32_t bits = bits_of(range);
        if (bits > digits_of(differ) * digit_bits)
            return differ;
        for_elements([&](uint32_t i) { codes[i] = Code(codes[i] - least); });
        __syncthreads();
        return ~uint64_t(0) >> (64 - bits);
    }

    static constexpr uint32_t slots = sizeof(cooperative_counters::of_warp) / sizeof(uint32_t), count_bits = 16;

    /* Whether a sample, an element of each thread, shows a run that is too long: elements that agree above `shift` and
     * differ below. A slot of the table, for elements whose bits above `shift` have one hash, holds the thread that
     * sampled one of them, and their number. */
    __device__ bool has_long_run(uint32_t shift) const {
        for (uint32_t i = uint32_t(thread); i < slots; i += cooperative_threads)
            tile.free_counters()[i] = 0;
        __syncthreads();
        const uint32_t samples = min(count, uint32_t(cooperative_threads));
        const auto sample = [&](uint32_t s) {
            return codes[count > samples ? s * count / uint32_t(cooperative_threads) : s];
        };
        const bool has_sample = uint32_t(thread) < samples;
        const Code own = has_sample ? sample(uint32_t(thread)) : Code(0);
        uint32_t *const slot = tile.free_counters() + hash_of(own >> shift) % slots;
        if (has_sample && atomicCAS(slot, 0u, uint32_t(thread) << count_bits | 1u) != 0)
            atomicAdd(slot, 1u);
        __syncthreads();
        bool differs = false;
        if (has_sample && *slot % (1u << count_bits) >= max(likely_run * samples / count, least_sampled)) {
            const Code other = sample(*slot >> count_bits);
            differs = other != own && other >> shift == own >> shift;
        }
        return __syncthreads_or(differs);
    }
    static __device__ uint32_t hash_of(uint64_t code) { return uint32_t(code * 0x9e3779b97f4a7c15ull >> 32); }

    __device__ void pass(uint32_t shift, bool ordered) {
        tile.rank([&](uint32_t slot) {
            return slot < count ? uint32_t(codes[ordered ? order[slot] : slot] >> shift) & (radix - 1) : radix - 1;
        });
        tile.add_up(nullptr, [](int, uint32_t) {});
        tile.for_slots([&](uint32_t slot) {
            if (slot < count)
                next_order[tile.place_of(slot)] = ordered ? order[slot] : uint16_t(slot);
        });
        __syncthreads();
        swap_orders();
    }

    __device__ Code code_in_order(uint32_t i) const { return codes[order[i]]; }

    /* Whether the code at place i agrees above the shift with the one before. */
    __device__ bool agrees(uint32_t i, uint32_t shift) const {
        return i > 0 && i < count && code_in_order(i - 1) >> shift == code_in_order(i) >> shift;
    }

    /* Elements are in order but for the bits below `shift`: sorts runs of those that agree above it. False if a run
     * that is not in order is too long; then nothing has changed. */
    __device__ bool sort_runs(uint32_t shift) {
        bool too_long = false;
        for_elements([&](uint32_t i) {
            uint32_t begin = i, end = i + 1;
            tile.ranks[i] = 0;
            if (agrees(i, shift)) { /* the first of a run looks at its length, others at its order */
                if (code_in_order(i - 1) <= code_in_order(i))
                    return;
                while (i - begin < longest_run && agrees(begin, shift))
                    begin--;
            }
            while (end - begin <= longest_run && agrees(end, shift))
                end++;
            if (end - begin <= longest_run)
                tile.ranks[i] = begin == i ? end : 0;
            else
                too_long |= begin < i;
        });
        if (__syncthreads_or(too_long))
            return false;
        /* Now elements move within their runs. */
        for_elements([&](uint32_t i) {
            const uint32_t end = tile.ranks[i];
            for (uint32_t k = i + 1; k < end; k++) {
                const uint16_t own = order[k];
                const Code code = codes[own];
                uint32_t at = k;
                for (; at > i && codes[order[at - 1]] > code; at--)
                    order[at] = order[at - 1];
                order[at] = own;
            }
        });
        return true;
    }

    __device__ void take_passes(uint64_t differ) {
        uint32_t shift = 0; /* of the lowest digit that is tried */
        if (digits_of(differ) > most_digits && !has_long_run(shift_of_top(differ, tried_digits)))
            shift = shift_of_top(differ, tried_digits);
        for (uint64_t left = differ >> shift << shift;; left = differ, shift = 0) {
            for (bool ordered = false; left; ordered = true) {
                const uint32_t low = lowest_bit(left);
                left = above_digit(left, low);
                pass(low, ordered);
            }
            if (shift == 0 || sort_runs(shift))
                break;
        }
    }

    /* Codes move too. */
    __device__ void merge() {
        for_elements([&](uint32_t i) { order[i] = uint16_t(i); });
        merged_tile<merged_pieces(max_merged, cooperative_threads), Code>(codes, order, count).sort();
    }

  public:
    /* dynamic: shared memory, which the tile's ranks get too. */
    __device__ bucket_digits(const sort_job &job, cooperative_shared &shared, cooperative_counters &counters,
                             char *dynamic, uint32_t room, uint32_t start, uint32_t count)
        : job(job), exchange(job, shared), tile(counters), thread(threadIdx.x), start(start), count(count),
          order(reinterpret_cast<uint16_t *>(dynamic)), next_order(order + room),
          payload(reinterpret_cast<char *>(next_order + room)), codes(reinterpret_cast<Code *>(payload)), least(0),
          range(0) {
        tile.rows = (count + cooperative_threads - 1) / cooperative_threads;
        tile.ranks = reinterpret_cast<uint32_t *>(codes + room);
    }

  protected:
    __device__ void sort_by_digits() {
        const uint64_t differ = differing_bits();
        if (digits_of(differ) > most_digits && count <= max_merged)
            merge();
        else
            take_passes(differ);
    }
};

} /* namespace scan_cuda */

#endif
