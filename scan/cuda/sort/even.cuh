/* SPDX-License-Identifier: MIT
 *
 * Floats alone that are spread evenly between two limits, as integers that are spread evenly too.
 *
 *     keys       0 ................. 0.25 ................. 0.5 ......................................... 1
 *     codes      half of them have one value of the top digit, seven eighths two
 *     even code  0 ................. 2^30 ................. 2^31 ........................................ 2^32
 *
 * So by a digit or two of the even code keys come in buckets of nearly one size, and by those of their own codes they
 * do not. A sample tells the limits, and whether the density between them is even enough; the counts of the digits
 * decide (plan.cuh).
 */
#ifndef SCAN_CUDA_SORT_EVEN_CUH
#define SCAN_CUDA_SORT_EVEN_CUH

#include <type_traits>

#include "digits.cuh"
#include "sample_pairs.cuh"

namespace scan_cuda {

/* Digits of the even code that make buckets, the ones at its top. Their counts have the rows after those of the codes'
 * digits. */
__device__ inline uint32_t even_digits(const sort_job &job) { return job.again_follows ? 2 : 1; }

/* Whether only digits of the even code are counted. */
__device__ inline bool counts_even_only(const sort_job &job, const even_code &even) {
    return even.exists() && job.again_follows;
}

template <class Key> __device__ double value_of(key_bits<Key> key) {
    if constexpr (sizeof(Key) == 4)
        return __uint_as_float(key);
    else
        return __longlong_as_double((long long)key);
}

__device__ inline even_code even_between(double first, double last, bool descending) {
    const double scale = 0x1p32 / (last - first);
    return descending ? even_code{-scale, last * scale} : even_code{scale, -first * scale};
}

constexpr uint32_t even_samples = 4096;
constexpr uint32_t even_slots = 4 * even_samples;                          /* of the table in which they meet */
constexpr uint32_t even_part_bits = 10, even_parts = 1u << even_part_bits; /* parts of the code that are looked at */
constexpr int even_only_threads = 1024; /* of a CTA of the survey of many keys, which may count no other digits */

/* Returns how many prefixes of this hash came to the table before. A slot has two words, the hash and how many came:
 * all that agree come to one slot, in whatever order they come, so that all CTAs find the same. */
__device__ inline uint32_t meet_by_hash(uint32_t *table, uint64_t prefix) {
    const uint32_t hash = max(sample_hash(prefix), 1u), step = hash >> 15 | 1; /* an odd one visits all slots */
    for (uint32_t slot = hash % even_slots;; slot = (slot + step) % even_slots) {
        uint32_t old = *static_cast<volatile uint32_t *>(table + 2 * slot);
        if (old == 0)
            old = atomicCAS(table + 2 * slot, 0u, hash);
        if (old == 0 || old == hash)
            return atomicAdd(table + 2 * slot + 1, 1u);
    }
}

/* Pairs of prefixes that agree, of which each thread has some. table: two words a slot, zero; they are zero again. By
 * the CTA. */
template <uint32_t each>
__attribute__((noinline)) __device__ float agreeing_pairs(const uint64_t (&prefix)[each], uint32_t *table) {
    __shared__ uint32_t pairs;
    if (threadIdx.x == 0)
        pairs = 0;
    __syncthreads();
    uint32_t met = 0;
#pragma unroll
    for (uint32_t k = 0; k < each; k++)
        met += meet_by_hash(table, prefix[k]);
    met = warp_sum(met);
    if (threadIdx.x % 32 == 0)
        atomicAdd(&pairs, met);
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < 2 * even_slots / 4; i += blockDim.x)
        reinterpret_cast<uint4 *>(table)[i] = uint4{};
    const float answer = float(pairs);
    __syncthreads();
    return answer;
}

/* Whether by two digits of the code some buckets would be too large, as the plan would find when codes had not been
 * counted: a part of it, or a finer one, has too many keys, or they come in runs, or have many copies, or too many
 * share a bucket. Keys whose logarithms are even crowd a fine part. repeats: keys of a sample of `threads` that are
 * equal to the one before. table: even_parts words, and two a slot for even_only_threads; they are zero, and zero
 * again afterwards. By the CTA. */
template <class Key, int threads>
__device__ bool has_large_buckets(const sort_job &job, uint64_t n, const even_code &even, uint32_t repeats,
                                  uint32_t *table) {
    constexpr uint32_t parts = 32, each = even_samples / threads;
    static_assert(even_samples % threads == 0 && sample_size % threads == 0 && threads >= parts,
                  "the sample's threads");
    __shared__ uint32_t count[parts];
    if (threadIdx.x < parts)
        count[threadIdx.x] = 0;
    __syncthreads();
    const key_bits<Key> *keys = static_cast<const key_bits<Key> *>(job.keys_in);
    uint64_t sample[each];
#pragma unroll
    for (uint32_t k = 0; k < each; k++)
        sample[k] = keys[uniform_place(k * threads + threadIdx.x, n)];
#pragma unroll
    for (uint32_t k = 0; k < each; k++) {
        const uint32_t code = even.of<Key>(key_bits<Key>(sample[k]));
        atomicAdd(&count[code >> 27], 1u);
        atomicAdd(&table[code >> (32 - even_part_bits)], 1u);
    }
    __syncthreads();
    uint32_t fine_most = 0;
    for (uint32_t i = threadIdx.x; i < even_parts; i += threads) {
        fine_most = max(fine_most, table[i]);
        table[i] = 0;
    }
    const float size = float(n) / (radix * radix), widest = float(widest_bucket(job)),
                most =
                    fmaxf(0.8f * widest / size, 1.45f) * (even_samples / parts); /* of even keys 136, varying by 12 */
    const float fine_mean = fmaxf(0.8f * widest / size, 1.45f) * (even_samples / even_parts), /* of even keys 4 */
        fine_limit = fine_mean + 5 * sqrtf(fine_mean);
    if (__syncthreads_or(float(count[threadIdx.x % parts]) > most || float(fine_most) > fine_limit) ||
        largest_bucket(size, repeats * (sample_size / threads)) > widest)
        return true;
    if constexpr (threads == even_only_threads) { /* of few keys a second survey takes no longer than this */
        if (!explains_pairs(many_copies, agreeing_pairs(sample, table), n, even_samples))
            return true;
#pragma unroll
        for (uint32_t k = 0; k < each; k++)
            sample[k] = even.of<Key>(key_bits<Key>(sample[k])) >> even_shift(2);
        return !few_pairs(agreeing_pairs(sample, table), n, uint32_t(widest), even_samples);
    }
    return false;
}

/* An even code between the limits of a sample, with some room, more if there are few keys near them; none if that is
 * not even enough. key: the thread's, of those at stratified_place(threadIdx.x, n / threads). table: as
 * has_large_buckets() has it. By all threads of a CTA, and the same in every CTA of the survey and of the plan, which
 * relies on it: products and sums are not fused (-fmad=false). */
template <class Key, int threads>
__device__ even_code find_even(const sort_job &job, uint64_t n, key_bits<Key> key, uint32_t *table) {
    using K = key_bits<Key>;
    using word = std::conditional_t<sizeof(K) == 8, unsigned long long, unsigned>;
    __shared__ word lowest, highest;
    if (job.value_bytes || !job.local.stride || n < sample_least_keys)
        return {};
    if (threadIdx.x == 0) {
        lowest = ~word(0);
        highest = 0;
    }
    __syncthreads();
    const uint64_t i = stratified_place(threadIdx.x, n / threads);
    const K *keys = static_cast<const K *>(job.keys_in), neighbour = job.again_follows ? keys[i ? i - 1 : 1] : 0;
    const K low = ~warp_total<maximum<K>>(~exact_code<Key>(key, {})),
            high = warp_total<maximum<K>>(exact_code<Key>(key, {}));
    if (threadIdx.x % 32 == 0) {
        atomicMin(&lowest, word(low));
        atomicMax(&highest, word(high));
    }
    __syncthreads();
    const double first = value_of<Key>(key_of_exact_code<Key>(K(lowest), {})),
                 last = value_of<Key>(key_of_exact_code<Key>(K(highest), {})), range = last - first,
                 value = value_of<Key>(key);
    const bool near = value < first + range / 16 || value > last - range / 16;
    const double room = range * (__syncthreads_count(near) < threads / 16 ? 0.25 : 1.0 / 32);
    const even_code even = even_between(first - room, last + room, job.order.flip != 0);
    const double scale = fabs(even.scale);                                         /* 0 where limits are infinite */
    if (!(range > 0 && scale > 0 && scale < 0x1p90 && fabs(even.offset) < 0x1p90)) /* nor with NaN or infinity */
        return {};
    if (job.again_follows &&
        has_large_buckets<Key, threads>(job, n, even, uint32_t(__syncthreads_count(key == neighbour)), table))
        return {};
    return even;
}

} /* namespace scan_cuda */

#endif
