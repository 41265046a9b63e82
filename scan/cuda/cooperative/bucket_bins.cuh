/* SPDX-License-Identifier: MIT
 *
 * The order of a bucket's indices (bucket.cuh) by bins of codes: of one width, or of a width for each piece of their
 * range.
 */
#ifndef SCAN_CUDA_COOPERATIVE_BUCKET_BINS_CUH
#define SCAN_CUDA_COOPERATIVE_BUCKET_BINS_CUH

#include "../device/hash.h"
#include "bucket_digits.cuh"

namespace scan_cuda {

template <class Code> class bucket_bins : protected bucket_digits<Code> {
  protected:
    using base = bucket_digits<Code>;
    using base::codes, base::count, base::for_elements, base::least, base::most_digits, base::next_order, base::order,
        base::range, base::swap_orders, base::thread, base::tile;

  private:
    /* Bins are left for digits where one has more elements, or where elements would be compared with so many others of
     * their bin for each pass over a digit but one. Keys that are spread evenly took 1.2 to 1.3 times as long by
     * digits. With 3 sorts took 1.01 times as long on average as with 10 (H200, 2026-11-29: tools/bench --device
     * cuda --type u32,u64 --n 100K,2^18,500K,1M, and --hunt 160 --seed 41 --min-n 100000 --max-n 1100000). */
    static constexpr uint32_t max_in_even_bin = 128, max_in_uneven_bin = 256, max_compared = 9;

    /* All bins have one width. */
    struct even_bins {
        Code least;
        uint32_t shift;
        __device__ uint32_t of(Code code) const { return uint32_t(Code(code - least) >> shift); }
    };

    /* Pieces of the range, with about as many elements each, have as many bins each: for codes that are spread
     * unevenly, as those of floats are near zero. A piece begins at a code of a sample, the first one at the least
     * code. 100,000 to 480,000 floats took 27 to 38 us in place of 32 to 43 by digits (H200, 2026-12-01: tools/bench
     * --device cuda --type f32 --n 100000,300000,480000). */
    static constexpr uint32_t pieces = 64;
    struct cut_shared { /* in the counters of a tile, behind words that try_bins() uses */
        uint32_t used[cooperative_warps];
        Code sample[pieces], first[pieces];
        uint32_t rank[pieces], shift[pieces];
    };
    static_assert(sizeof(cut_shared) <= sizeof(cooperative_counters::of_warp), "no room");
    struct uneven_bins {
        const cut_shared &cut;
        const uint32_t each; /* bins of a piece */
        __device__ uint32_t of(Code code) const {
            uint32_t piece = 0;
#pragma unroll
            for (uint32_t step = pieces / 2; step > 0; step /= 2)
                piece += cut.first[piece + step] <= code ? step : 0;
            return piece * each + uint32_t(Code(code - cut.first[piece]) >> cut.shift[piece]);
        }
    };

    __device__ cut_shared &cut() const { return *reinterpret_cast<cut_shared *>(tile.free_counters()); }

    /* A code of each of equal parts of the bucket, and its rank among these, which is there after another barrier. */
    __device__ void take_sample() const {
        constexpr uint32_t parts = cooperative_threads / pieces;
        const uint32_t i = uint32_t(thread) % pieces, part = uint32_t(thread) / pieces, stretch = count / pieces;
        cut_shared &own = cut();
        if (part == 0) {
            own.sample[i] = codes[i * stretch + uint32_t(hash_below(i, stretch))];
            own.rank[i] = 0;
        }
        __syncthreads();
        uint32_t before = 0;
#pragma unroll 4
        for (uint32_t k = part; k < pieces; k += parts)
            before += own.sample[k] < own.sample[i] || (own.sample[k] == own.sample[i] && k < i);
        atomicAdd(&own.rank[i], before);
    }

    /* Elements that may lie in pieces between clusters: these are far wider than their neighbours, and most of their
     * bins are empty. With up to ten times as many, 520,000 keys of 1000 clusters took 55 us in place of 48 by digits
     * (H200, 2026-12-01: tools/bench --device cuda --type u32 --n 520000 --distribution clusters:1000). */
    static constexpr uint32_t max_between = 128, far_wider = 16;

    /* False if bins of the pieces would be crowded: many of the sample are copies, or clusters lie far apart. each:
     * bins of a piece. By the CTA. */
    __device__ bool cut_pieces(uint32_t each) const {
        cut_shared &own = cut();
        const uint32_t i = uint32_t(thread);
        if (i < pieces)
            own.first[own.rank[i]] = own.rank[i] ? own.sample[i] : least;
        __syncthreads();
        const auto width = [&](uint32_t k) {
            return Code(k + 1 < pieces ? own.first[k + 1] - own.first[k] : least + range - own.first[k]);
        };
        bool is_copy = false, is_between = false;
        if (i < pieces) { /* far: the last code of the piece, less its first */
            const Code own_width = width(i), far = i + 1 < pieces && own_width > 0 ? Code(own_width - 1) : own_width;
            const uint32_t shift = max(bits_of(far), bits_of(each)) - bits_of(each);
            own.shift[i] = shift + (far >> shift >= each);
            is_copy = own_width == 0;
            is_between = i > 0 && i + 1 < pieces && own_width / far_wider > max(width(i - 1), width(i + 1));
        }
        return uint32_t(__syncthreads_count(is_copy)) <= pieces / 4 &&
               uint32_t(__syncthreads_count(is_between)) * (count / pieces) <= max_between;
    }

    /* The place of element i among those that are in order[begin ... end). */
    __device__ uint32_t place_among(uint32_t begin, uint32_t end, uint32_t i) const {
        const Code code = codes[i];
        uint32_t at = begin;
#pragma unroll 2
        for (uint32_t k = begin; k < end; k++) {
            const uint32_t other = order[k];
            at += codes[other] < code || (codes[other] == code && other < i);
        }
        return at;
    }

    /* An element's place is where its bin begins and how many of the bin come before it: it is compared with all of
     * them. False if a bin has most_in_bin or more, or if elements would be compared with more than `compared` others
     * on average; then scratch alone has changed. Each warp counts the first of its `rows` before the others: bins of
     * that share of the elements have 1 / rows^2 of all pairs, if they are spread like the others. */
    template <class Bins>
    __device__ bool try_bins(const Bins &in, uint32_t bins, uint32_t compared, uint32_t most_in_bin) {
        const uint32_t rows = tile.rows, used = bins / 2 + 1; /* words, and a begin past the last */
        uint32_t *const words = tile.ranks;                   /* two counters each */
        uint32_t *const pairs = tile.free_counters();
        uint16_t *const begins = reinterpret_cast<uint16_t *>(words), *const rank = next_order;
        for (uint32_t w = uint32_t(thread); w < used; w += cooperative_threads)
            words[w] = 0;
        if (thread == 0)
            *pairs = 0;
        __syncthreads();
        uint32_t most = 0, own_pairs = 0;
        const uint32_t first = uint32_t(warp_of_cta()) * rows * 32 + uint32_t(thread % 32);
        const auto count_row = [&](uint32_t row) {
            const uint32_t i = first + row * 32;
            if (i >= count)
                return;
            const uint32_t bin = in.of(codes[i]), half = bin % 2 * 16,
                           before = atomicAdd(words + bin / 2, 1u << half) >> half & 0xffff;
            rank[i] = uint16_t(before);
            most = max(most, before);
            own_pairs += before;
        };
        count_row(0);
        __syncwarp();
        own_pairs = warp_sum(own_pairs);
        if (thread % 32 == 0)
            atomicAdd(pairs, own_pairs);
        __syncthreads();
        if (2 * uint64_t(*pairs) * rows * rows > uint64_t(compared) * count) {
            __syncthreads(); /* all have read it */
            return false;
        }
#pragma unroll 2
        for (uint32_t row = 1; row < rows; row++)
            count_row(row);
        if (__syncthreads_or(most >= most_in_bin))
            return false;
        tile.scan_pairs(words, used);
        for_elements([&](uint32_t i) { order[begins[in.of(codes[i])] + rank[i]] = uint16_t(i); });
        __syncthreads();
        for_elements([&](uint32_t s) {
            const uint32_t i = order[s], bin = in.of(codes[i]);
            next_order[place_among(begins[bin], begins[bin + 1], i)] = uint16_t(i);
        });
        __syncthreads();
        swap_orders();
        return true;
    }

    __device__ bool try_even_bins(uint32_t compared) {
        uint32_t shift = max(bits_of(range), bits_of(count)) - bits_of(count);
        while (range >> shift > 2 * count - 3)
            shift++;
        return try_bins(even_bins{least, shift}, uint32_t(range >> shift) + 1, compared, max_in_even_bin);
    }
    __device__ bool try_uneven_bins(uint32_t compared) {
        const uint32_t each = (2 * count - 3) / pieces;
        return cut_pieces(each) && try_bins(uneven_bins{cut(), each}, pieces * each, compared, max_in_uneven_bin);
    }

  public:
    using base::base;

  protected:
    /* Of codes that are not all one. False if bins do not serve; then scratch alone has changed. */
    __device__ bool sort_by_bins() {
        const uint32_t digits = (bits_of(range) + digit_bits - 1) / digit_bits,
                       compared = max_compared * (min(digits, most_digits) - 1);
        if (digits > 1) {
            const bool samples = count >= 2 * pieces;
            if (samples)
                take_sample();
            if (try_even_bins(compared) || (samples && try_uneven_bins(compared)))
                return true;
        }
        return false;
    }
};

} /* namespace scan_cuda */

#endif
