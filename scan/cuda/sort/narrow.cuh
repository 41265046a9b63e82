/* SPDX-License-Identifier: MIT
 *
 * Integers alone that vary in few bits, many of each: a counting sort. Equal keys are the same key, so none needs to
 * go to its place.
 *
 *     up to 12 bits   keys --> how many of each --> written out, see fill.cuh
 *     up to 20 bits   keys --> a pass by the second digit --> how many of each --> written out
 *
 * A CTA counts in shared memory, of which it has enough for 12 bits: it goes through its share of the keys, in order by
 * the second digit after the pass, and wherever that changes it adds its counts to those of all keys. With the second
 * digit of three, and not another one, counts that lie together are added to places that lie together.
 *
 *     code       top digit | second digit | lowest digit     at its shift in the key
 *     counter    top digit |                lowest digit     of a bucket
 *
 * Traffic: a read to count and a write; before them the pass, a read and a write. The counts, 8 bytes a code, are at
 * most an eighth of a byte a key, and stay in L2. In place is safe: all is read before anything is written. Of the
 * 1.9 ms for 2^28 4-byte keys of 20 bits on an H200 the survey takes 0.27, the pass 0.95, counting 0.34, writing 0.31.
 */
#ifndef SCAN_CUDA_SORT_NARROW_CUH
#define SCAN_CUDA_SORT_NARROW_CUH

#include "fill.cuh"

namespace scan_cuda {

constexpr int narrow_threads = 512;
constexpr int narrow_vectors = 4; /* of 16 bytes, of a thread, loaded together */

struct key_range {
    uint64_t begin, end;
};

/* The share of this CTA, from a vector's begin. */
template <class K> __device__ key_range own_keys(uint64_t n) {
    constexpr uint64_t E = vector_elements<K>;
    const uint64_t vectors = (n + E - 1) / E, each = (vectors + gridDim.x - 1) / gridDim.x * E;
    return {min(n, blockIdx.x * each), min(n, (blockIdx.x + 1) * each)};
}

/* All keys of a range to f, by the CTA. n: keys that exist. */
template <class K, class F> __device__ void each_key(const K *keys, uint64_t n, key_range range, F f) {
    constexpr int E = vector_elements<K>;
    constexpr uint64_t step = narrow_threads * E;
    const bool aligned = uintptr_t(keys) % 16 == 0;
    for (uint64_t first = range.begin / E * E; first < range.end; first += narrow_vectors * step) {
        vector<K, E> v[narrow_vectors];
        const uint64_t at = first + threadIdx.x * E;
#pragma unroll
        for (int k = 0; k < narrow_vectors; k++) {
            const uint64_t i = at + k * step;
            v[k] = load_elements(keys + i, i < n ? n - i : 0, aligned);
        }
#pragma unroll
        for (int k = 0; k < narrow_vectors; k++) {
            const uint64_t i = at + k * step;
            const bool whole = i >= range.begin && i + E <= range.end;
#pragma unroll
            for (int e = 0; e < E; e++)
                if (whole || (i + e >= range.begin && i + e < range.end))
                    f(v[k].v[e]);
        }
    }
}

/* By a warp: adds counters to the counts of a group, whose first code is `first`, and makes them 0. */
__device__ inline void add_group(unsigned long long *counts, uint32_t codes, uint32_t first, uint32_t *counters) {
    const uint32_t lane = threadIdx.x % 32;
    uint32_t sum = 0;
#pragma unroll
    for (uint32_t i = lane; i < fill_group; i += 32) {
        const uint32_t count = counters[i];
        counters[i] = 0;
        sum += count;
        if (count)
            atomicAdd(counts + first + i, (unsigned long long)count);
    }
    sum = warp_sum(sum);
    if (sum && lane == 0)
        atomicAdd(counts + codes + first / fill_group, (unsigned long long)sum);
}

template <class K> class narrow_share_of_cta {
    static_assert(fill_group == radix, "a group is the lowest digit");

    const sort_narrow &narrow;
    const K *const keys;
    const uint64_t n;
    const K flip;
    uint32_t *const counters;
    const bool in_buckets;

  public:
    __device__ narrow_share_of_cta(const sort_job &job, uint64_t n, uint32_t *counters)
        : narrow(job.plan->narrow),
          keys(static_cast<const K *>(keys_source(job, job.plan->passes ? BUFFER_FIRST : BUFFER_IN))), n(n),
          flip(K(job.order.flip)), counters(counters), in_buckets(job.plan->passes > 0) {}

    __device__ uint32_t code(K key) const { return uint32_t((key ^ flip) >> narrow.shift) & (narrow.codes - 1); }
    __device__ uint32_t second_digit(uint64_t i) const {
        return uint32_t((keys[i] ^ flip) >> (narrow.shift + digit_bits)) & (radix - 1);
    }

    __device__ void add(K key) {
        const uint32_t c = code(key);
        atomicAdd(counters + (in_buckets ? c >> 2 * digit_bits << digit_bits | (c & (radix - 1)) : c), 1u);
    }

    __device__ void count(key_range range) {
        each_key(keys, n, range, [&](K key) { add(key); });
    }

    /* To the counts of all keys; counters are 0 again. Where two digits vary the second may have fewer bits. */
    __device__ void flush(unsigned long long *counts, uint32_t digit) {
        const uint32_t groups = max(narrow.codes >> (in_buckets ? 2 * digit_bits : digit_bits), 1u);
        for (uint32_t group = threadIdx.x / 32; group < groups; group += narrow_threads / 32) {
            const uint32_t own = in_buckets ? group << digit_bits | digit : group;
            add_group(counts, narrow.codes, own * fill_group & (narrow.codes - 1), counters + group * fill_group);
        }
    }
};

template <class K>
__global__ void __launch_bounds__(narrow_threads) narrow_count_kernel(const __grid_constant__ sort_job job) {
    __shared__ uint32_t counters[1 << narrow_counted_bits];
    grid_dependency_wait();
    const sort_plan *plan = job.plan;
    if (!plan->narrow.codes)
        return;
    for (int i = threadIdx.x; i < 1 << narrow_counted_bits; i += narrow_threads)
        counters[i] = 0;
    const uint64_t n = sort_count(job);
    narrow_share_of_cta<K> share(job, n, counters);
    const uint64_t *before = plan->before[plan->pass[0].row];
    for (key_range left = own_keys<K>(n); left.begin < left.end;) {
        uint64_t stop = left.end;
        uint32_t digit = 0;
        if (plan->passes) {
            digit = share.second_digit(left.begin);
            if (digit < radix - 1) /* past the key, unless the caller's keys change under the sort */
                stop = min(stop, max(before[digit + 1], left.begin + 1));
        }
        __syncthreads();
        share.count({left.begin, stop});
        __syncthreads();
        share.flush(job.narrow_counts, digit);
        left.begin = stop;
    }
}

template <class K>
__global__ void __launch_bounds__(fill_threads) narrow_fill_kernel(const __grid_constant__ sort_job job) {
    grid_dependency_wait();
    const sort_narrow &narrow = job.plan->narrow;
    if (narrow.codes)
        fill_keys<K, 1 << narrow_most_bits>(static_cast<K *>(job.keys_out), sort_count(job), job.narrow_counts,
                                            narrow.codes, 0, narrow.shift, K(narrow.rest));
}

} /* namespace scan_cuda */

#endif
