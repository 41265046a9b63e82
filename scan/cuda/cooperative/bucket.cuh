/* SPDX-License-Identifier: MIT
 *
 * A bucket of the cooperative sort (kernel.cuh), which a CTA sorts in its shared memory.
 *
 * What is sorted are indices of 2 bytes, by a pass over each digit of the codes, or of what they exceed the least one
 * by, whichever has fewer digits that differ; the codes stay where they are. Of more than four digits the highest three
 * are tried, unless a sample tells that they do not serve: mostly they tell all but a few elements of a bucket apart,
 * and runs of those are sorted by insertion. If a run is too long, all digits follow. Then keys and values are taken to
 * shared memory, one after the other, and from there in the order of the indices to the output.
 *
 *     shared memory   indices | indices | codes | ranks
 *     and then        indices | indices | keys, then values
 */
#ifndef SCAN_CUDA_COOPERATIVE_BUCKET_CUH
#define SCAN_CUDA_COOPERATIVE_BUCKET_CUH

#include <type_traits>

#include "tile.cuh"

namespace scan_cuda {

/* The code of the key at `position`. Code: 4 bytes for keys of up to 4, or 8. */
template <class Code> __device__ Code code_of_key(const sort_job &job, const void *keys, uint32_t position) {
    if constexpr (sizeof(Code) == 8) {
        const uint64_t key = static_cast<const uint64_t *>(keys)[position];
        return job.is_float ? sort_code<double>(key, job.order) : sort_code<uint64_t>(key, job.order);
    } else {
        const uint32_t key = job.key_bytes == 4   ? static_cast<const uint32_t *>(keys)[position]
                             : job.key_bytes == 2 ? static_cast<const uint16_t *>(keys)[position]
                                                  : static_cast<const uint8_t *>(keys)[position];
        return job.is_float ? sort_code<float>(key, job.order) : sort_code<uint32_t>(key, job.order);
    }
}

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
    static constexpr uint32_t most_digits = 4, tried_digits = 3, longest_run = 16;
    /* Elements of a run that is likely too long; and of a run in the sample, at least, for shorter runs show five at
     * most (five sets of keys in clusters, simulated, 2026-11-27). */
    static constexpr uint32_t likely_run = 24, least_sampled = 6;

    const sort_job &job;
    const cooperative_exchange &exchange;
    cooperative_tile tile;
    const int thread;
    const uint32_t start, count;  /* of the bucket's elements */
    uint16_t *order, *next_order; /* indices in the order so far, and after the pass */
    char *const payload;
    Code *const codes;
    Code base; /* from which digits are counted */

    template <class F> __device__ void for_elements(F f) const {
#pragma unroll 2
        for (uint32_t i = uint32_t(thread); i < count; i += cooperative_threads)
            f(i);
    }

    /* Returns the bits in which codes differ, counted from `base`. Zeroes the table of has_long_run(). */
    __device__ uint64_t load_codes(const void *keys) {
        for (uint32_t i = uint32_t(thread); i < slots; i += cooperative_threads)
            tile.free_counters()[i] = 0;
        Code least = ~Code(0), greatest = 0, ones = 0, zeros = 0;
        for_elements([&](uint32_t i) {
            const Code code = code_of_key<Code>(job, keys, start + i);
            codes[i] = code;
            least = min(least, code);
            greatest = max(greatest, code);
            ones |= code;
            zeros |= Code(~code);
        });
        __syncwarp();
        const uint64_t differ = exchange.differing(ones, zeros);
        exchange.find_bounds(least, greatest);
        const uint32_t bits = greatest > least ? bits_of(Code(greatest - least)) : 0;
        base = 0;
        if (bits > digits_of(differ) * digit_bits)
            return differ;
        base = least;
        return bits ? ~uint64_t(0) >> (64 - bits) : 0;
    }

    __device__ Code counted(uint32_t i) const { return Code(codes[i] - base); }

    static constexpr uint32_t slots = sizeof(cooperative_counters::of_warp) / sizeof(uint32_t), count_bits = 16;

    /* Whether a sample, an element of each thread, shows a run that is too long: elements that agree above `shift` and
     * differ below. A slot of the table, for elements whose bits above `shift` have one hash, holds the thread that
     * sampled one of them, and their number. The table is zero. */
    __device__ bool has_long_run(uint32_t shift) const {
        const uint32_t samples = min(count, uint32_t(cooperative_threads));
        const auto sample = [&](uint32_t s) {
            return counted(count > samples ? s * count / uint32_t(cooperative_threads) : s);
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
            return slot < count ? uint32_t(counted(ordered ? order[slot] : slot) >> shift) & (radix - 1) : radix - 1;
        });
        tile.add_up(nullptr, [](int, uint32_t) {});
        tile.for_slots([&](uint32_t slot) {
            if (slot < count)
                next_order[tile.place_of(slot)] = ordered ? order[slot] : uint16_t(slot);
        });
        __syncthreads();
        uint16_t *const done = next_order;
        next_order = order;
        order = done;
    }

    __device__ Code code_in_order(uint32_t i) const { return counted(order[i]); }

    __device__ bool agree(uint32_t i, uint32_t shift) const { /* above the shift, with the one before */
        return i > 0 && i < count && code_in_order(i - 1) >> shift == code_in_order(i) >> shift;
    }

    /* Elements are in order but for the bits below `shift`: sorts runs of those that agree above it. False if a run
     * that is not in order is too long; then nothing has changed. */
    __device__ bool sort_runs(uint32_t shift) {
        bool too_long = false;
        for_elements([&](uint32_t i) {
            if (too_long || !agree(i, shift) || code_in_order(i - 1) <= code_in_order(i))
                return;
            uint32_t begin = i, end = i + 1;
            while (i - begin < longest_run && agree(begin, shift))
                begin--;
            while (end - i < longest_run && agree(end, shift))
                end++;
            too_long = end - begin > longest_run;
        });
        if (__syncthreads_or(too_long))
            return false;
        for_elements([&](uint32_t i) {
            uint32_t end = i + 1;
            if (!agree(i, shift))
                while (end - i <= longest_run && agree(end, shift))
                    end++;
            tile.ranks[i] = end - i <= longest_run ? end : i;
        });
        __syncthreads(); /* now elements move within their runs */
        for_elements([&](uint32_t i) {
            const uint32_t end = tile.ranks[i];
            for (uint32_t k = i + 1; k < end; k++) {
                const uint16_t own = order[k];
                uint32_t at = k;
                for (; at > i && codes[order[at - 1]] > codes[own]; at--)
                    order[at] = order[at - 1];
                order[at] = own;
            }
        });
        return true;
    }

    template <class T> __device__ void permute(const void *from, void *to) {
        const T *const source = static_cast<const T *>(from) + start;
        T *const target = static_cast<T *>(to) + start, *const held = reinterpret_cast<T *>(payload);
        __syncthreads();
        for_elements([&](uint32_t i) { held[i] = source[i]; });
        __syncthreads();
        for_elements([&](uint32_t i) { target[i] = held[order[i]]; });
    }

  public:
    /* dynamic: shared memory, which the tile's ranks get too. */
    __device__ bucket_sort(const sort_job &job, const cooperative_exchange &exchange, const cooperative_tile &grid_tile,
                           char *dynamic, uint32_t room, uint32_t start, uint32_t count)
        : job(job), exchange(exchange), tile(grid_tile), thread(threadIdx.x), start(start), count(count),
          order(reinterpret_cast<uint16_t *>(dynamic)), next_order(order + room),
          payload(reinterpret_cast<char *>(next_order + room)), codes(reinterpret_cast<Code *>(payload)), base(0) {
        tile.rows = (count + cooperative_threads - 1) / cooperative_threads;
        tile.ranks = reinterpret_cast<uint32_t *>(codes + room);
    }

    /* From these arrays to the output. */
    __device__ void sort(const void *keys, const void *values) {
        const uint64_t differ = load_codes(keys);
        uint32_t shift = 0; /* of the lowest digit that is tried */
        uint64_t top = digits_of(differ) > most_digits ? differ : 0;
        for (uint32_t digits = 0; top && digits < tried_digits; digits++) {
            const uint32_t bits = bits_of(top);
            shift = bits < digit_bits ? 0 : bits - digit_bits;
            top &= (uint64_t(1) << shift) - 1;
        }
        if (top && has_long_run(shift))
            top = shift = 0;
        if (!differ)
            for_elements([&](uint32_t i) { order[i] = uint16_t(i); });
        for (uint64_t left = differ >> shift << shift;; left = differ, top = 0) {
            for (bool ordered = false; left; ordered = true) {
                const uint32_t low = lowest_bit(left);
                left = above_digit(left, low);
                pass(low, ordered);
            }
            if (!top || sort_runs(shift))
                break;
        }
        if (job.keys_out)
            with_key_type<Code>(job, [&](auto t) { permute<decltype(t)>(keys, job.keys_out); });
        with_value_type(job, [&](auto t) { permute<decltype(t)>(values, job.values_out); });
        __syncthreads();
    }
};

} /* namespace scan_cuda */

#endif
