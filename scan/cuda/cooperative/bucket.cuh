/* SPDX-License-Identifier: MIT
 *
 * A bucket of the cooperative sort (kernel.cuh), which a CTA sorts in its shared memory.
 *
 * What is sorted are indices of 2 bytes; the codes stay where they are. Bins of equal width between the least code and
 * the greatest, half a bin to two for an element, put most elements where they belong; those of one bin are compared
 * with each other, so that ties keep their order.
 *
 * Where those that are counted first tell that bins are crowded, or one has too many elements, the range is divided
 * at a sample's codes into pieces, which have as many bins each. Where that does not serve either, or codes differ in
 * one digit only, there is a pass over each digit of the codes, or of what they exceed the least one by, whichever has
 * fewer digits that differ. Small buckets whose codes differ in more than four digits are merged. Of larger ones the
 * highest three digits are tried, unless a sample tells that they do not serve: mostly they tell all but a few elements
 * of a bucket apart, and runs of those are sorted by insertion. If a run is too long, all digits follow.
 *
 * Then keys and values are taken to shared memory, one after the other, and from there in the order of the indices to
 * the output.
 *
 *     shared memory   indices | indices | codes | ranks
 *     and then        indices | indices | keys, then values
 */
#ifndef SCAN_CUDA_COOPERATIVE_BUCKET_CUH
#define SCAN_CUDA_COOPERATIVE_BUCKET_CUH

#include <type_traits>

#include "../device/hash.h"
#include "../sort/merge_tile.cuh"
#include "tile.cuh"

namespace scan_cuda {

/* The codes of keys. It has what it needs of the job, which a called function would load again for each key. Code: 4
 * bytes for keys of up to 4, or 8. */
template <class Code> struct key_codes {
    const sort_order order;
    const bool is_float;
    const uint32_t key_bytes;

    __device__ explicit key_codes(const sort_job &job)
        : order(job.order), is_float(job.is_float), key_bytes(job.key_bytes) {}

    __device__ Code at(const void *keys, uint32_t position) const {
        if constexpr (sizeof(Code) == 8) {
            const uint64_t key = static_cast<const uint64_t *>(keys)[position];
            return is_float ? sort_code<double>(key, order) : sort_code<uint64_t>(key, order);
        } else {
            const uint32_t key = key_bytes == 4   ? static_cast<const uint32_t *>(keys)[position]
                                 : key_bytes == 2 ? static_cast<const uint16_t *>(keys)[position]
                                                  : static_cast<const uint8_t *>(keys)[position];
            return is_float ? sort_code<float>(key, order) : sort_code<uint32_t>(key, order);
        }
    }
};

/* Calls f with a value of the keys' unsigned type, or the values'. */
template <class Code, class F> __device__ void with_key_type(const sort_job &job, F f) {
    if constexpr (sizeof(Code) == 8)
        return f(uint64_t(0));
    else if (job.key_bytes == 4)
        return f(uint32_t(0));
    else if (job.key_bytes == 2)
        return f(uint16_t(0));
    else
        return f(uint8_t(0));
}
template <class F> __device__ void with_value_type(const sort_job &job, F f) {
    if (job.value_bytes == 4)
        f(uint32_t(0));
    else if (job.value_bytes == 8)
        f(uint64_t(0));
}

/* ---- digits that differ ------------------------------------------------------------------------------------------ */

__device__ inline uint32_t lowest_bit(uint64_t bits) { return uint32_t(__ffsll((long long)(bits))) - 1; }
__device__ inline uint64_t above_digit(uint64_t bits, uint32_t shift) {
    return shift + digit_bits < 64 ? bits >> (shift + digit_bits) << (shift + digit_bits) : 0;
}
/* The lowest bit of the top `count` digits. */
__device__ inline uint32_t shift_of_top(uint64_t bits, uint32_t count) {
    uint32_t shift = 0;
    for (; count && bits; count--) {
        shift = bits_of(bits) < digit_bits ? 0 : bits_of(bits) - digit_bits;
        bits &= (uint64_t(1) << shift) - 1;
    }
    return shift;
}
/* How many passes take all these bits. */
__device__ inline uint32_t digits_of(uint64_t differ) {
    uint32_t digits = 0;
    for (; differ; digits++)
        differ = above_digit(differ, lowest_bit(differ));
    return digits;
}

/* ---- the bucket -------------------------------------------------------------------------------------------------- */

/* Of shared memory for an element. */
template <class Code> constexpr size_t bucket_element_bytes = 2 * sizeof(uint16_t) + sizeof(Code) + sizeof(uint32_t);

/* How many elements a bucket may have, rounded down to whole rows of all warps. */
template <class Code> __host__ __device__ constexpr uint32_t bucket_room(size_t bytes) {
    return uint32_t(bytes / bucket_element_bytes<Code> / cooperative_threads * cooperative_threads);
}

template <class Code> class bucket_sort {
    /* Bins are left for digits where one has more elements, or where elements would be compared with so many others of
     * their bin for each pass over a digit but one. Keys that are spread evenly took 1.2 to 1.3 times as long by
     * digits. With 3 sorts took 1.01 times as long on average as with 10 (H200, 2026-11-29: tools/bench --device
     * cuda --type u32,u64 --n 100K,2^18,500K,1M, and --hunt 160 --seed 41 --min-n 100000 --max-n 1100000). */
    static constexpr uint32_t max_in_even_bin = 128, max_in_uneven_bin = 256, max_compared = 9;
    static constexpr uint32_t most_digits = 4, tried_digits = 3, longest_run = 16;
    /* Up to so many elements merging takes less time than passes over more digits: up to 1.2 times less for 10^5
     * elements in all, 1.4 times for 2 x 10^5. Merging buckets of 10^6 elements took up to 1.3 times as long (the same
     * hunt, and --hunt 100 --seed 31 --min-n 20000 --max-n 100000). */
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

    __device__ void swap_orders() {
        uint16_t *const done = next_order;
        next_order = order;
        order = done;
    }

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

    __device__ void sort_by_digits(uint64_t differ) {
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
    __device__ void sort_by_merging() {
        for_elements([&](uint32_t i) { order[i] = uint16_t(i); });
        merged_tile<merged_pieces(max_merged, cooperative_threads), Code>(codes, order, count).sort();
    }

    /* ---- bins ---------------------------------------------------------------------------------------------------- */

    /* All bins have one width. */
    struct even_bins {
        Code least;
        uint32_t shift;
        __device__ uint32_t of(Code code) const { return uint32_t(Code(code - least) >> shift); }
    };

    /* Pieces of the range, with about as many elements each, have as many bins each: for codes that are spread
     * unevenly, as those of floats are near zero. A piece begins at a code of a sample, the first one at the least
     * code. 100,000 to 480,000 floats took 27 to 38 us in place of 32 to 43 by digits (H200, 2026-12-01: tools/bench
     * --device cuda
     * --type f32 --n 100000,300000,480000). */
    static constexpr uint32_t pieces = 64;
    struct cut_shared { /* in the counters of a tile, behind words that sort_by_bins() uses */
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
     * on average; then scratch alone has changed. Each warp counts the first of its `rows` before the others: so many
     * fewer elements meet rows^2 times fewer pairs in their bins. */
    template <class Bins>
    __device__ bool sort_by_bins(const Bins &in, uint32_t bins, uint32_t compared, uint32_t most_in_bin) {
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

    __device__ bool sort_by_even_bins(uint32_t compared) {
        uint32_t shift = max(bits_of(range), bits_of(count)) - bits_of(count);
        while (range >> shift > 2 * count - 3)
            shift++;
        return sort_by_bins(even_bins{least, shift}, uint32_t(range >> shift) + 1, compared, max_in_even_bin);
    }
    __device__ bool sort_by_uneven_bins(uint32_t compared) {
        const uint32_t each = (2 * count - 3) / pieces;
        return cut_pieces(each) && sort_by_bins(uneven_bins{cut(), each}, pieces * each, compared, max_in_uneven_bin);
    }

    __device__ void sort_codes() {
        if (range == 0) {
            for_elements([&](uint32_t i) { order[i] = uint16_t(i); });
            return;
        }
        const uint32_t digits = (bits_of(range) + digit_bits - 1) / digit_bits,
                       compared = max_compared * (min(digits, most_digits) - 1);
        if (digits > 1) {
            const bool samples = count >= 2 * pieces;
            if (samples)
                take_sample();
            if (sort_by_even_bins(compared) || (samples && sort_by_uneven_bins(compared)))
                return;
        }
        const uint64_t differ = differing_bits();
        if (digits_of(differ) > most_digits && count <= max_merged)
            sort_by_merging();
        else
            sort_by_digits(differ);
    }

    template <class T> __device__ void permute(const void *from, void *to) {
        const T *const source = static_cast<const T *>(from) + start;
        T *const target = static_cast<T *>(to) + start, *const held = reinterpret_cast<T *>(payload);
        __syncthreads();
        for_elements<4>([&](uint32_t i) { held[i] = source[i]; });
        __syncthreads();
        for_elements([&](uint32_t i) { target[i] = held[order[i]]; });
    }

  public:
    /* dynamic: shared memory, which the tile's ranks get too. */
    __device__ bucket_sort(const sort_job &job, cooperative_shared &shared, cooperative_counters &counters,
                           char *dynamic, uint32_t room, uint32_t start, uint32_t count)
        : job(job), exchange(job, shared), tile(counters), thread(threadIdx.x), start(start), count(count),
          order(reinterpret_cast<uint16_t *>(dynamic)), next_order(order + room),
          payload(reinterpret_cast<char *>(next_order + room)), codes(reinterpret_cast<Code *>(payload)), least(0),
          range(0) {
        tile.rows = (count + cooperative_threads - 1) / cooperative_threads;
        tile.ranks = reinterpret_cast<uint32_t *>(codes + room);
    }

    /* From these arrays to the output. */
    __device__ void sort(const void *keys, const void *values) {
        load_codes(keys);
        sort_codes();
        if (job.keys_out)
            with_key_type<Code>(job, [&](auto t) { permute<decltype(t)>(keys, job.keys_out); });
        with_value_type(job, [&](auto t) { permute<decltype(t)>(values, job.values_out); });
        __syncthreads();
    }
};

} /* namespace scan_cuda */

#endif
