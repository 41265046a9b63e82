/* SPDX-License-Identifier: MIT
 *
 * Codes of 4 bytes for 8-byte keys, in the keys' order, of which few are the same though the keys differ. An argsort
 * sorts by them (pack.cuh), wherever the keys' bits vary.
 *
 *     sorted sample      a        b  c d                     e       of 2,047 keys
 *     intervals      0   |   1    |2 |3|          4          |  5    the keys from one of them to the next
 *     code           11 bits say which interval, 21 bits where in it:
 *       of up to 2^21 codes     the distance from its first one: no two keys share it, unless they are equal
 *       of more                 two quarters of the places divide it evenly; at either end a quarter divides a 64th of
 *                               it, the finer the nearer to the end, as floating-point numbers are
 *
 * So the share of the 2^32 codes that an interval gets follows the share of the keys that it has. A sample says little
 * of what lies inside an interval, so codes are finest at its ends: an interval between two clusters holds the end of
 * one and the beginning of the other, and no key between. A value that the sample has twice has an interval of its own.
 *
 * The codes of a larger sample tell how many keys share theirs with others. If they are too many, or if a run of one
 * code is long in spite of it, all digits of the keys are sorted.
 *
 * Work: a key takes 11 steps of a binary search in shared memory, some 40 instructions more and four additions to
 * counters of its code's digits. Traffic: a read of the keys, a write of the codes.
 *
 * Source: the search goes down a tree laid out level by level, Khuong and Morin, "Array Layouts for Comparison-Based
 * Searching", 2017: lanes on one level meet in few banks.
 */
#ifndef SCAN_CUDA_SORT_INTERVALS_CUH
#define SCAN_CUDA_SORT_INTERVALS_CUH

#include "digits.cuh"
#include "merge_tile.cuh"
#include "sample_pairs.cuh"

namespace scan_cuda {

constexpr int intervals_threads = 1024, interval_codes_threads = 512;
constexpr uint32_t interval_bits = 11, offset_bits = 32 - interval_bits, end_bits = offset_bits - 2,
                   interval_count = 1u << interval_bits;
static_assert(interval_count == sample_size, "an interval begins at each sampled key but one, and one at 0");

__host__ __device__ inline uint32_t leading_zeros(uint64_t x) {
#ifdef __CUDA_ARCH__
    return uint32_t(__clzll((long long)x));
#else
    return uint32_t(__builtin_clzll(x));
#endif
}

/* The keys' codes from the first to the last. */
struct sort_interval {
    uint64_t first, last;

    /* Whether different codes have different places. */
    __host__ __device__ bool is_exact() const { return last - first < uint64_t(1) << offset_bits; }

    /* A distance as a floating-point number: with `mantissa` bits below the leading one, but for distances that have no
     * more bits than that, which are as they are. */
    static __host__ __device__ uint32_t float_of(uint64_t distance, uint32_t mantissa) {
        const uint64_t x = distance + (uint64_t(1) << mantissa);
        const uint32_t zeros = leading_zeros(x), exponent = 63 - zeros;
        return ((exponent - mantissa) << mantissa) +
               (uint32_t((x << zeros) >> (63 - mantissa)) & ((1u << mantissa) - 1));
    }

    /* As many bits as leave a quarter of the places to either end, see offset_of(). cut: the largest distance. */
    static __host__ __device__ uint32_t mantissa_of(uint64_t cut) {
        uint32_t octaves = 2; /* 2^octaves exponents: as many as lie above the mantissa */
        for (uint32_t o = 3; o <= 6; o++)
            octaves += cut + (uint64_t(1) << end_bits) >= uint64_t(1) << (end_bits - octaves + (1u << octaves));
        return end_bits - octaves;
    }

    /* Where a code of the interval is in it: 0 to 2^offset_bits - 1, in order. */
    __host__ __device__ uint32_t offset_of(uint64_t code) const {
        const uint64_t distance = code - first, size = last - first, cut = size >> 6;
        if (is_exact())
            return uint32_t(distance);
        const bool is_low = distance < cut, is_high = size - distance < cut;
        if (is_low || is_high) {
            const uint32_t place = float_of(is_low ? distance : size - distance, mantissa_of(cut));
            return is_low ? place : (1u << offset_bits) - 1 - place;
        }
        const uint32_t shift = 64 - leading_zeros(size) - (offset_bits - 1);
        return (1u << end_bits) + uint32_t((distance - cut) >> shift);
    }
};

/* Interval i, of which the first begins at 0 and the others at splitters. */
__device__ inline sort_interval interval_at(const uint64_t *splitters, uint32_t i) {
    return {i ? splitters[i - 1] : 0, i < interval_count - 1 ? splitters[i] - 1 : ~uint64_t(0)};
}

/* Whether different keys have different codes where this one is. */
__device__ inline bool has_exact_interval(const sort_plan *plan, uint32_t packed_code) {
    return interval_at(plan->splitters, packed_code >> offset_bits).is_exact();
}

/* Where the intervals begin, in shared memory: node k has the children 2 k and 2 k + 1, and the root is node 1. */
struct splitter_tree {
    uint64_t begins[interval_count];

    /* By the CTA; a barrier follows. sorted: interval_count - 1 of them. */
    __device__ void load(const uint64_t *sorted) {
        for (uint32_t node = 1 + threadIdx.x; node < interval_count; node += blockDim.x) {
            const uint32_t level = bits_of(node) - 1, across = 2 * (node - (1u << level)) + 1;
            begins[node] = sorted[(across << (interval_bits - 1 - level)) - 1];
        }
    }

    __device__ uint32_t packed_code(uint64_t code, bool *exact = nullptr) const {
        sort_interval interval = {0, ~uint64_t(0)};
        uint32_t node = 1;
#pragma unroll
        for (uint32_t level = 0; level < interval_bits; level++) {
            const uint64_t begin = begins[node];
            const bool after = code >= begin;
            interval.first = after ? begin : interval.first;
            interval.last = after ? interval.last : begin - 1;
            node = 2 * node + after;
        }
        if (exact)
            *exact = interval.is_exact();
        return (node - interval_count) << offset_bits | interval.offset_of(code);
    }
};

/* ---- from a sample ----------------------------------------------------------------------------------------------- */

/* Where intervals begin, from the sample (sample.cuh), of which the last key is left out: at each of its codes, and
 * behind one that it has twice. By the CTA. */
__device__ inline void find_splitters(sort_plan *plan, uint64_t *sorted) {
    for (uint32_t s = threadIdx.x; s < interval_count; s += blockDim.x)
        sorted[s] = s + 1 < interval_count ? __ldcg(&plan->sample[SAMPLE_CODES][s]) : ~uint64_t(0);
    merged_tile<merged_pieces(interval_count, intervals_threads), uint64_t, false>(sorted, interval_count).sort();
    for (uint32_t s = threadIdx.x; s + 1 < interval_count; s += blockDim.x) {
        const uint64_t code = sorted[s];
        plan->splitters[s] = code + (s > 0 && code == sorted[s - 1] && code != ~uint64_t(0));
    }
    __syncthreads();
}

/* Finds the intervals, or finds that all digits of the keys had better be sorted: a key in an interval that tells keys
 * apart shares its code with none. words: of dynamic shared memory. By one CTA. */
__device__ inline void make_intervals(const sort_job &job, uint32_t words, splitter_tree &tree) {
    sort_plan *plan = job.plan;
    const uint64_t n = sort_count(job);
    uint32_t *table = dynamic_shared<uint32_t>();
    find_splitters(plan, dynamic_shared<uint64_t>());
    tree.load(plan->splitters);
    const bool tell = few_share(plan, n, table, words, [&](uint64_t code, uint64_t &packed) {
        bool exact;
        packed = tree.packed_code(code, &exact);
        return !exact;
    });
    if (threadIdx.x == 0 && !tell) {
        plan->intervals = false;
        plan->passes = 0;
        plan->again = 1;
    }
}

/* ---- the codes --------------------------------------------------------------------------------------------------- */

constexpr int interval_columns = 4; /* of a counter: lanes that add to one at once take turns */

/* By the last CTA: counts of the codes' digits become the number of codes with smaller ones. */
__device__ inline void place_interval_digits(sort_plan *plan) {
    __shared__ row_part parts[packed_passes][row_parts];
    const int warps = int(blockDim.x) / 32, lane = threadIdx.x % 32, all = int(packed_passes) * row_parts;
    for (int i = warp_of_cta(); i < all; i += warps) {
        const part_counts own(plan, counted_rows + i / row_parts, i % row_parts, lane);
        const row_part part = find_part(own, i % row_parts, lane);
        if (lane == 0)
            parts[i / row_parts][i % row_parts] = part;
    }
    __syncthreads();
    for (int i = warp_of_cta(); i < all; i += warps)
        place_part(plan, counted_rows + i / row_parts, i % row_parts, parts[i / row_parts], lane);
}

template <class Key>
__global__ void __launch_bounds__(interval_codes_threads) interval_codes_kernel(const __grid_constant__ sort_job job) {
    __shared__ splitter_tree tree;
    __shared__ uint32_t counts[packed_passes * radix * interval_columns];
    __shared__ bool last;
    grid_dependency_wait();
    sort_plan *plan = job.plan;
    if (!plan->intervals)
        return;
    tree.load(plan->splitters);
    for (uint32_t i = threadIdx.x; i < packed_passes * radix * interval_columns; i += interval_codes_threads)
        counts[i] = 0;
    __syncthreads();
    const auto *keys = static_cast<const key_bits<Key> *>(job.keys_in);
    uint32_t *codes = static_cast<uint32_t *>(job.keys_first), *own = counts + threadIdx.x % interval_columns;
    const uint64_t n = sort_count(job), stride = uint64_t(gridDim.x) * interval_codes_threads;
    const auto take = [&](uint64_t i, uint64_t key) {
        const uint32_t code = tree.packed_code(sort_code<Key>(key, job.order));
        codes[i] = code;
#pragma unroll
        for (uint32_t d = 0; d < packed_passes; d++)
            shared_add(own, (d * radix + (code >> d * digit_bits & (radix - 1))) * (interval_columns * 4), 1);
    };
    uint64_t i = uint64_t(blockIdx.x) * interval_codes_threads + threadIdx.x;
    for (; i + stride < n; i += 2 * stride) { /* two searches at once */
        const uint64_t first = __ldcs(keys + i), second = __ldcs(keys + i + stride);
        take(i, first);
        take(i + stride, second);
    }
    if (i < n)
        take(i, __ldcs(keys + i));
    __syncthreads();
    for (uint32_t c = threadIdx.x; c < packed_passes * radix; c += interval_codes_threads) {
        uint32_t sum = 0;
#pragma unroll
        for (int k = 0; k < interval_columns; k++)
            sum += counts[c * interval_columns + k];
        if (sum)
            atomicAdd(&plan->counts[counted_rows + c / radix][c % radix], (unsigned long long)sum);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        gpu_fence(); /* for what the CTA added before the barrier, and what the others did */
        last = atomicAdd(&plan->intervals_done, 1u) == gridDim.x - 1;
        gpu_fence();
    }
    __syncthreads();
    if (last)
        place_interval_digits(plan);
}

} /* namespace scan_cuda */

#endif
