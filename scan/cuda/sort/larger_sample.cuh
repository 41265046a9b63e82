/* SPDX-License-Identifier: MIT
 *
 * A larger sample of many keys, which tells how many copies values have, counted while the survey reads them.
 *
 *     CTA 0 ... 3    a part each    ──> how many values it has once, and twice ──> the plan
 *     others         read keys
 *
 * The sample that the plan's CTA takes (sample.cuh) has a pair or two of keys of which there are dozens of copies: of
 * sets with 50 copies of each value it took one in fifteen for keys without, and the local stage, which gave up in the
 * end, doubled their time (H200, 2026-11-28: tools/bench --device cuda --hunt 1 --seed 15645309850218905155).
 */
#ifndef SCAN_CUDA_SORT_LARGER_SAMPLE_CUH
#define SCAN_CUDA_SORT_LARGER_SAMPLE_CUH

#include "sample_pairs.cuh"

namespace scan_cuda {

/* Keys of a part: an SM reads half of larger_part, from anywhere, in some 10 us while the others read theirs. */
__device__ inline uint32_t part_size(uint64_t n) { return n >= parts_least ? larger_part : larger_part / 2; }

/* Whether there is one, in a survey of many keys: while fewer are read there is no time to count it. */
__device__ inline bool takes_larger_sample(const sort_job &job, uint64_t n) {
    return job.wide_survey && n >= larger_parts * larger_part && takes_sample(job, n) &&
           (job.again_follows || job.sampled);
}

/* Counts a part. table: 2 * larger_part words of shared memory. By the CTA. Not inlined: the survey's loops would lose
 * registers. */
template <class Key>
__attribute__((noinline)) __device__ void count_part(const sort_job &job, uint64_t n, uint32_t part, uint32_t *table) {
    constexpr uint32_t slots = 2 * larger_part;
    static_assert(larger_part <= 1u << sample_count_bits, "a count overflows with the last key of a part, if at all");
    const auto *keys = static_cast<const key_bits<Key> *>(job.keys_in);
    const uint32_t size = part_size(n);
    __shared__ larger_counts counts;
    for (uint32_t i = threadIdx.x; i < slots; i += blockDim.x)
        table[i] = 0;
    if (threadIdx.x == 0)
        counts = {0, 0};
    __syncthreads();
    for (uint32_t s = threadIdx.x; s < size; s += sample_each * blockDim.x) {
        key_bits<Key> key[sample_each];
#pragma unroll
        for (uint32_t k = 0; k < sample_each; k++) {
            const uint32_t place = min(s + k * blockDim.x, size - 1) * larger_parts + part;
            key[k] = keys[uniform_place(sample_size + place, n)]; /* others than those of the smaller one */
        }
#pragma unroll
        for (uint32_t k = 0; k < sample_each; k++)
            if (s + k * blockDim.x < size)
                atomicAdd(find_in_table(table, slots, sort_code<Key>(key[k], job.order)), 1u);
    }
    __syncthreads();
    uint32_t once = 0, twice = 0;
    for (uint32_t i = threadIdx.x; i < slots; i += blockDim.x) {
        const uint32_t agree = table[i] % (1u << sample_count_bits);
        once += agree == 1;
        twice += agree == 2;
    }
    once = warp_sum(once);
    twice = warp_sum(twice);
    if (threadIdx.x % 32 == 0) {
        atomicAdd(&counts.once, once);
        atomicAdd(&counts.twice, twice);
    }
    __syncthreads();
    if (threadIdx.x == 0)
        job.plan->larger[part] = counts;
    __syncthreads();
}

/* How many copies a value that is not frequent has, on average: from the larger sample, if there is one in which enough
 * values are not frequent. equal: counts of the smaller one. */
__device__ inline float find_copies(const sort_job &job, uint64_t n, const sample_counts &equal) {
    uint32_t once = 0, twice = 0;
    if (takes_larger_sample(job, n))
        for (const larger_counts &part : job.plan->larger) { /* not from L1: other SMs wrote them */
            once += __ldcg(&part.once);
            twice += __ldcg(&part.twice);
        }
    return once + twice >= sample_size / 16 ? copies_of(float(once), float(twice), part_size(n), n)
                                            : copies_of(float(equal.singles), float(equal.doubles), sample_size, n);
}

} /* namespace scan_cuda */

#endif
