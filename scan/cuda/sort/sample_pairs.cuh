/* SPDX-License-Identifier: MIT
 *
 * What pairs of a sample's keys tell (sample.cuh): how large buckets are, and how many copies values have. Of keys in
 * buckets of one size there are as many pairs as keys of the sample squared, times that size, by twice all keys.
 */
#ifndef SCAN_CUDA_SORT_SAMPLE_PAIRS_CUH
#define SCAN_CUDA_SORT_SAMPLE_PAIRS_CUH

#include "sample.cuh"

namespace scan_cuda {

constexpr uint32_t crowded_bin = 16; /* keys in one */
/* So many others in a key's bin make the local stage take as long as a pass. Two passes of 4-byte keys take as long as
 * it does with 3 to 5, or 6 and 7 where there are values of 4 and 8 bytes, six of 8-byte keys with 12 to 20, or 27 to
 * 32 (H200, 2026-11-30: 2^22 to 2^26 keys in clusters of 1 to 48 that are 2 apart). Fewer keys of 4 bytes take a pass
 * in less time, and a CTA has one tile of them, so that the slowest warp counts: three passes take as long as the stage
 * with 3 copies of each value of 800,000 to 3,000,000 pairs (--verb pairs --type u32 --distribution few:K), and less
 * than with ten others alone, which keys in clusters have (--verb sort --type f32 --distribution clusters:10000). */
__device__ inline float crowded_each(const sort_job &job, uint64_t n) {
    if (n < wide_sample_least && job.key_bytes == 4)
        return job.value_bytes ? 1 : 1.5f;
    return 2 + (job.value_bytes ? float(job.key_bytes) / 4 : 0);
}

/* How many copies a value has, on average over those of which a sample has one or two keys: of values of which it has
 * lambda each it has lambda exp(-lambda) once, and half of lambda times that twice. */
__device__ inline float copies_of(float once, float twice, uint32_t samples, uint64_t n) {
    return once > 0 ? float(n) / float(samples) * (2 * twice / once) : 0;
}

/* How many pairs of a sample share a bucket, on average, where a key has so many in its bucket. */
__device__ inline float pairs_of(float bucket, uint64_t n, uint32_t samples = sample_size) {
    return float(samples) * samples / 2 * (bucket / float(n));
}

/* How many keys a key has in its bucket, itself too, from the pairs of the sample that share one. */
__device__ inline float bucket_of_pairs(uint32_t pairs, uint64_t n) { return 1 + float(pairs) / pairs_of(1, n); }

/* How many pairs of a sample share a bin at most where a local stage that saves so many passes pays. */
__device__ inline float crowded_pairs(const sort_job &job, uint64_t n, uint32_t saved, uint32_t samples) {
    return pairs_of(crowded_each(job, n) * float(saved), n, samples) + 3;
}

/* Whether pairs of a sample that share a bucket are no more than so large a one makes likely. */
__device__ inline bool explains_pairs(float bucket, float pairs, uint64_t n, uint32_t samples = sample_size) {
    const float likely = pairs_of(bucket, n, samples);
    return pairs <= likely + 3 * sqrtf(likely) + 3;
}

/* The sum over the threads of the CTA, which all call it. */
__device__ inline uint32_t cta_sum(uint32_t own) {
    __shared__ uint32_t sum;
    __syncthreads();
    if (threadIdx.x == 0)
        sum = 0;
    __syncthreads();
    own = warp_sum(own);
    if (threadIdx.x % 32 == 0)
        atomicAdd(&sum, own);
    __syncthreads();
    return sum;
}

/* By the CTA: how many pairs a sample has, from how often each thread's keys meet others in the table, which is cleared
 * first. table: `words` of shared memory, that nobody uses any more. */
template <class Meet> __device__ uint32_t count_pairs(uint32_t *table, uint32_t words, Meet meet) {
    for (uint32_t i = threadIdx.x; i < words; i += blockDim.x)
        table[i] = 0;
    __syncthreads();
    return cta_sum(meet());
}

/* How long runs of equal keys in the input are on average, from how many keys of the smaller sample repeat the one
 * before them. */
__device__ inline float run_of_equal(uint32_t repeats) { return sample_size / float(max(sample_size - repeats, 1u)); }

/* How many codes of the wide sample there is room for, from the first on, in so many words of shared memory: all, or a
 * quarter. */
__host__ __device__ constexpr uint32_t wide_size(uint32_t words) {
    return words >= 2 * wide_sample_size ? wide_sample_size : wide_sample_size / 4;
}

/* How many of them tell enough of so many keys: of fewer than all_pairs_least half at most. */
__host__ __device__ constexpr uint32_t wide_size_for(uint64_t n, uint32_t words) {
    return n >= all_pairs_least || wide_size(words) < wide_sample_size ? wide_size(words) : wide_sample_size / 2;
}

/* A code's bits from one on. */
struct prefix_above {
    uint32_t bits;

    __device__ bool operator()(uint64_t code, uint64_t &prefix) const {
        prefix = code >> bits;
        return true;
    }
};

/* How many of these codes share a prefix with codes before them, each counted as often as there are such codes, up to
 * `most`. prefix_of(code, prefix) finds one, or returns false where a key shares none. table: `words` of shared memory,
 * two at least for each of the `size` codes. The count of 4,096 codes of one prefix runs into its tag
 * (find_in_table()), and the next ones take another slot. Time is that of the lane in a warp that finds the most slots
 * taken, so that half of the codes in twice as many slots each take a quarter. By the CTA. */
template <class Prefix>
__device__ float wide_pairs(const sort_plan *plan, uint32_t *table, uint32_t words, uint32_t size, uint32_t most,
                            Prefix prefix_of) {
    const uint32_t slots = 4 * size <= words ? 4 * size : 2 * size;
    __syncthreads();
    return float(count_pairs(table, slots, [&] {
        constexpr uint32_t together = 8; /* codes that are asked for together */
        uint32_t met = 0;
#pragma unroll 1
        for (uint32_t first = threadIdx.x; first < size; first += together * blockDim.x) {
            uint64_t code[together];
#pragma unroll
            for (uint32_t k = 0; k < together; k++)
                code[k] = __ldcg(plan->wide_sample + min(first + k * blockDim.x, size - 1));
#pragma unroll 1
            for (uint32_t s = first; s < min(first + together * blockDim.x, size); s += blockDim.x) {
                uint64_t prefix;
                if (prefix_of(code[0], prefix))
                    met += min(meet_in_table(table, slots, prefix), most);
#pragma unroll
                for (uint32_t k = 0; k + 1 < together; k++)
                    code[k] = code[k + 1];
            }
        }
        return met;
    }));
}

/* Whether few keys share a prefix, a key with one other at most on average: so says the wide sample. Equal keys count,
 * too, for those that share a prefix with others make long runs, but for neighbours in the input, which are fetched
 * together: sorts of keys in runs of 33 equal ones took 1.2 times as long without this exception (H200, 2026-11-30:
 * tools/bench --device cuda --hunt 1 --seed 2389237031073307811). prefix_of(), table, words: as wide_pairs() has them.
 * By the CTA. */
template <class Prefix>
__device__ bool few_share(const sort_plan *plan, uint64_t n, uint32_t *table, uint32_t words, Prefix prefix_of) {
    const uint32_t size = wide_size(words);
    const float pairs = wide_pairs(plan, table, words, size, size, prefix_of);
    if (explains_pairs(1, pairs, n, size))
        return true;
    const float equal = wide_pairs(plan, table, words, size, size,
                                   [&](uint64_t code, uint64_t &prefix) {
                                       const bool shares = prefix_of(code, prefix);
                                       prefix = code;
                                       return shares;
                                   }),
                run = run_of_equal(__ldcg(&plan->repeats));
    return explains_pairs(1, pairs - equal, n, size) && explains_pairs(1 + 3 * (run - 1), equal, n, size);
}

/* From a key, a bucket should hold less than three quarters of `reach` keys. */
__device__ inline bool few_pairs(float pairs, uint64_t n, uint32_t reach, uint32_t samples = sample_size) {
    return explains_pairs(0.75f * float(reach), pairs, n, samples);
}

/* Copies of a value, with more of which a local stage after several top digits takes longer than what it saves. By
 * labels (local_bins.cuh) half as many, for no two keys share one: with 24 copies the stage fell back to all digits
 * when most of its work was done. Of 8-byte keys two thirds as many: with 20 copies the stage took 211 us of the 304
 * for 3,145,730 keys, and 4.1 ms of the 7.3 for 70 million pairs (H200, 2026-11-29: tools/bench --device cuda --hunt 1
 * --seed 11005903375445535264, and 7865637384743632943). */
constexpr float many_copies = 24, many_copies_wide = 16, many_copies_labelled = 12;
/* Likewise of 4-byte keys alone, which save two passes only: 6, 12 and 25 million of which each value has 12 copies
 * took 186, 344 and 577 us with the local stage, and 146, 248 and 440 with all passes; floats, by an even code, 204,
 * 304 and 530, and 178, 264 and 462. With two to six copies integers took up to a tenth longer, floats less (H200,
 * 2026-11-30: tools/bench --device cuda --verb sort --type u32,f32 --n 6000000,12000000,25000000 --distribution few:K,
 * runs:K). After one digit crowds_bins() counts them. */
constexpr float many_copies_alone = 6, many_copies_of_floats = 12;
/* Likewise of 8-byte keys alone that their codes tell, for a bin of one code is in order: with 12 to 130 copies sorts
 * took 0.5 to 0.9 of the time of passes, with a thousand 1.2 to 1.5 (H200, 2026-11-30: --type i64,f64 --n
 * 1500000,6000000,25000000 --distribution few:K). */
constexpr float many_copies_alone_wide = 128;

__device__ inline float most_copies(const sort_job &job) {
    const bool codes_alone = !job.value_bytes && (job.is_float || !job.ties);
    if (job.key_bytes == 8)
        return codes_alone ? many_copies_alone_wide : many_copies_wide;
    return job.local.labels ? many_copies_labelled
           : !codes_alone   ? many_copies
           : job.is_float   ? many_copies_of_floats
                            : many_copies_alone;
}

/* Copies of a value from which on a bucket of the sample sort has few values only; and from which on a value has a
 * child of its own, as a rule, so that none is left to the local stage, which takes longer for copies. */
constexpr float hundreds_of_copies = 256, own_bucket_copies = 4096;

/* The largest of many buckets of this size on average: six deviations more. Runs of equal keys, as long as those that
 * repeat tell, lengths varying as if each key ended one by chance, make a deviation larger. */
__device__ inline float largest_bucket(float size, uint32_t repeats) {
    return size + 6 * sqrtf(size * (2 * run_of_equal(repeats) - 1));
}

/* Keys in a bucket for which a tile has room, and for some beside it. */
__device__ inline uint32_t widest_bucket(const sort_job &job) {
    const uint32_t capacity = job.local.stride + job.local.reach;
    return capacity - capacity / 16;
}

} /* namespace scan_cuda */

#endif
