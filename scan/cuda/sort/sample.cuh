/* SPDX-License-Identifier: MIT
 *
 * What a sample of the keys tells of buckets, before any key has moved: keys of large buckets meet in it, and keys
 * equal to their neighbours tell of runs, by which sizes of buckets vary more than those of scattered keys.
 */
#ifndef SCAN_CUDA_SORT_SAMPLE_CUH
#define SCAN_CUDA_SORT_SAMPLE_CUH

#include "../order.cuh"
#include "job.cuh"

namespace scan_cuda {

constexpr uint32_t sample_each = 8, sample_size = 256 * sample_each; /* of a thread at most, of its CTA */
constexpr uint32_t sample_slots = 2 * sample_size, sample_count_bits = 12;
constexpr uint64_t sample_least_keys = 4 * sample_size;

/* Where the sample's key s is: somewhere in its stretch of the keys. */
__device__ inline uint64_t sample_at(uint32_t s, uint64_t stretch) {
    return s * stretch + (s * 2654435761u * stretch >> 32);
}

/* Of a sample of keys, by their codes above some shift. */
struct sample_counts {
    uint32_t pairs;   /* whose codes agree */
    uint32_t singles; /* keys in none of them */
    uint32_t most;    /* keys whose codes agree, at most */
    uint32_t repeats; /* keys that are equal to the one before */
};

/* By the codes above `shift`. table: sample_slots words, each a tag from the hash of a prefix and how many keys have
 * it. even: if it is one, the code that is meant. By the CTA. Not inlined: the survey of fewer keys would take 105 to
 * 119 registers instead of 64 to 80. */
__attribute__((noinline)) __device__ inline sample_counts count_sample(const sort_job &job, uint64_t n, uint32_t shift,
                                                                       uint32_t *table, const even_code &even = {}) {
    __shared__ sample_counts counts;
    for (uint32_t i = threadIdx.x; i < sample_slots; i += blockDim.x)
        table[i] = 0;
    if (threadIdx.x == 0)
        counts = {};
    __syncthreads();
    const uint64_t stretch = n / sample_size;
    uint64_t prefix[sample_each];
    uint32_t repeats = 0;
#pragma unroll
    for (uint32_t k = 0; k < sample_each; k++) {
        const uint32_t s = k * blockDim.x + threadIdx.x;
        const uint64_t i = sample_at(s, stretch);
        if (s < sample_size) {
            const uint64_t own = load_bits(job.keys_in, i, job.key_bytes),
                           neighbour = load_bits(job.keys_in, i ? i - 1 : 1, job.key_bytes);
            const uint64_t code = !even.exists()       ? code_of_bits(job, own)
                                  : job.key_bytes == 4 ? even.of<float>(uint32_t(own))
                                                       : even.of<double>(own);
            prefix[k] = code >> shift;
            repeats += own == neighbour;
        }
    }
    uint32_t met = 0;
#pragma unroll
    for (uint32_t k = 0; k < sample_each && k * blockDim.x + threadIdx.x < sample_size; k++) {
        const uint32_t hash = uint32_t(prefix[k] * 0x9e3779b97f4a7c15u >> 32), tag = hash >> sample_count_bits;
        for (uint32_t slot = hash % sample_slots;; slot = (slot + 1) % sample_slots) {
            const uint32_t old = atomicCAS(table + slot, 0u, tag << sample_count_bits | 1);
            if (old == 0)
                break;
            if (old >> sample_count_bits == tag) {
                met += atomicAdd(table + slot, 1u) & ((1u << sample_count_bits) - 1);
                break;
            }
        }
    }
    __syncthreads();
    uint32_t singles = 0, most = 0;
    for (uint32_t i = threadIdx.x; i < sample_slots; i += blockDim.x) {
        const uint32_t agree = table[i] % (1u << sample_count_bits);
        singles += agree == 1;
        most = max(most, agree);
    }
    met = warp_sum(met);
    singles = warp_sum(singles);
    repeats = warp_sum(repeats);
    most = warp_max(most);
    if (threadIdx.x % 32 == 0) {
        atomicAdd(&counts.pairs, met);
        atomicAdd(&counts.singles, singles);
        atomicAdd(&counts.repeats, repeats);
        atomicMax(&counts.most, most);
    }
    __syncthreads();
    const sample_counts answer = counts;
    __syncthreads();
    return answer;
}

/* From a key, a bucket should hold less than three quarters of `reach` keys: whether pairs of the sample that share a
 * bucket are no more than that makes likely. */
__device__ inline bool few_pairs(float pairs, uint64_t n, uint32_t reach) {
    const float likely = float(sample_size) * sample_size / 2 * (0.75f * float(reach) / float(n));
    return pairs <= likely + 3 * sqrtf(likely) + 3;
}

/* The largest of many buckets of this size on average: six deviations more. Runs of equal keys, as long as those that
 * repeat tell, lengths varying as if each key ended one by chance, make a deviation larger. */
__device__ inline float largest_bucket(float size, uint32_t repeats) {
    const float ends = fmaxf(1 - float(repeats) / sample_size, 1.0f / sample_size);
    return size + 6 * sqrtf(size * (2 / ends - 1));
}

/* Keys in a bucket for which a tile has room, and for some beside it. */
__device__ inline uint32_t widest_bucket(const sort_job &job) {
    const uint32_t capacity = job.local.stride + job.local.reach;
    return capacity - capacity / 16;
}

} /* namespace scan_cuda */

#endif
