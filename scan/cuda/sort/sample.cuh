/* SPDX-License-Identifier: MIT
 *
 * What a sample of the keys tells of buckets, before any key has moved: keys of large buckets meet in it, and keys
 * equal to their neighbours tell of runs, by which sizes of buckets vary more than those of scattered keys. The CTA
 * that makes the plan takes it while others read. gaps.cuh has what a sample in order tells.
 */
#ifndef SCAN_CUDA_SORT_SAMPLE_CUH
#define SCAN_CUDA_SORT_SAMPLE_CUH

#include "../device/hash.h"
#include "../device/order.cuh"
#include "job.cuh"

namespace scan_cuda {

constexpr uint32_t sample_each = 4; /* of a thread of the plan's CTA, at most */
constexpr uint32_t sample_slots = 4 * sample_size, sample_count_bits = 12;
constexpr uint64_t sample_least_keys = 4 * sample_size;
/* Where key s of a sample of all parts of the keys is: anywhere in its stretch of them, as if by chance; key 0 is the
 * first of all. */
__host__ __device__ inline uint64_t stratified_place(uint32_t s, uint64_t stretch) {
    return s * stretch + hash_below(s, stretch);
}

/* Where key s of a sample that tells of buckets is: anywhere, as if by chance. One in each stretch would meet fewer
 * keys of a bucket, or copies, than there are where these lie together; places at a regular distance, where they repeat
 * after a while. Some places are taken twice: distinct keys seem to have a copy each. Intervals begin at keys of this
 * sample too (intervals.cuh). */
__host__ __device__ inline uint64_t uniform_place(uint32_t s, uint64_t n) {
    if (n >> 32 == 0)
        return hash_below(s, n);
    const uint64_t step = (n >> 32) + 1; /* hash_below() has 32 bits */
    return hash_below(s, n / step) * step + s % step;
}

/* Whether the plan may look at a sample. */
__device__ inline bool takes_sample(const sort_job &job, uint64_t n) {
    return (job.local.stride || job.packed || job.sampled) && n >= sample_least_keys;
}

/* All 32 bits depend on the prefix, the lowest too, from which a table's slots are taken: the product of a multiple of
 * 2^k has k zeros there. The mixing is MurmurHash3's. */
__host__ __device__ inline uint32_t sample_hash(uint64_t prefix) {
    uint32_t x = uint32_t(prefix * 0x9e3779b97f4a7c15u >> 32);
    x = (x ^ x >> 16) * 0x85ebca6bu;
    return x ^ x >> 13;
}

constexpr uint32_t below_bucket = 13; /* bits that tell bins of a bucket apart: see local_bins.cuh */

/* Of the sample's keys, when it is taken: those of a warp, to one of its lanes. */
struct sample_neighbours {
    uint32_t repeats; /* that are equal to the one before them */
    uint32_t in_bins; /* that lie in a bin with another value */
    uint32_t copies;  /* that lie in a bin with the same value */
};

/* Takes the sample. table: NULL, or sample_slots words of shared memory, zero, in which keys meet that one digit of the
 * even code, and the bins of the local stage below it, do not tell apart. By a CTA of `threads`. */
template <class Key, int threads>
__device__ sample_neighbours take_sample(const sort_job &job, uint64_t n, const even_code &even, uint32_t *table) {
    using K = key_bits<Key>;
    constexpr int each = int(sample_size) / threads;
    const K *keys = static_cast<const K *>(job.keys_in);
    K key[each], before[each]; /* loaded before they are looked at */
#pragma unroll
    for (int k = 0; k < each; k++) {
        const uint64_t i = uniform_place(k * threads + threadIdx.x, n);
        key[k] = keys[i];
        before[k] = keys[i ? i - 1 : 1];
    }
    sample_neighbours found = {};
#pragma unroll
    for (int k = 0; k < each; k++) {
        const uint32_t s = k * threads + threadIdx.x;
        job.plan->sample[SAMPLE_CODES][s] = sort_code<Key>(key[k], job.order);
        if constexpr (sort_key<Key>::is_float)
            if (even.exists()) {
                const uint32_t code = even.of<Key>(key[k]);
                job.plan->sample[SAMPLE_EVEN_CODES][s] = code;
                if (table) {
                    const uint32_t bin = code >> (32 - digit_bits - below_bucket), own = code | 1,
                                   other = atomicCAS(table + sample_hash(bin) % sample_slots, 0u, own);
                    found.in_bins += other != 0 && other != own && other >> (32 - digit_bits - below_bucket) == bin;
                    found.copies += other == own;
                }
            }
        found.repeats += key[k] == before[k];
    }
    found.repeats = warp_sum(found.repeats);
    found.in_bins = warp_sum(found.in_bins);
    found.copies = warp_sum(found.copies);
    return threadIdx.x % 32 == 0 ? found : sample_neighbours{};
}

/* Whether codes may be made by intervals. */
__device__ inline bool tries_intervals(const sort_job &job, uint64_t n) { return job.packed && n >= intervals_least; }

/* Whether the survey takes a wide sample too. */
__device__ inline bool takes_wide_sample(const sort_job &job, uint64_t n) {
    return n >= wide_sample_least && takes_sample(job, n);
}

template <class Key> __device__ void take_wide_sample(const sort_job &job, uint64_t n) {
    const auto *keys = static_cast<const key_bits<Key> *>(job.keys_in);
    for (uint32_t s = threadIdx.x * gridDim.x + blockIdx.x; s < wide_sample_size; s += gridDim.x * blockDim.x)
        job.plan->wide_sample[s] = sort_code<Key>(keys[uniform_place(sample_size + s, n)], job.order);
}

/* A value with so many keys in the sample, one and a half times what one of 256 children has, gets a child of its own
 * at the first level of a sample sort, as a rule. */
constexpr uint32_t frequent_least = 12;

/* Of a sample of keys, by their codes above some shift. */
struct sample_counts {
    uint32_t pairs;    /* whose codes agree */
    uint32_t triples;  /* three times the number of triples whose codes agree: of 2,048 keys less than 2^32 */
    uint32_t singles;  /* keys in none of them */
    uint32_t doubles;  /* codes of exactly two */
    uint32_t most;     /* keys whose codes agree, at most */
    uint32_t frequent; /* keys in those of frequent_least and more */
    uint32_t repeats;  /* keys that are equal to the one before */
};

/* Returns the word for a prefix in a table of `slots` words, each a tag from the hash of a prefix and how many keys
 * have it, and takes a free one for a new prefix. slots: a power of two, so that an odd distance visits all. A tag is
 * odd, so that no word is 0 that is taken. The next slot that a prefix tries is a distance of its own away: with the
 * neighbouring one the longest way to a free slot, for which the CTA waits, is three times as long. */
__device__ inline uint32_t *find_in_table(uint32_t *table, uint32_t slots, uint64_t prefix) {
    const uint32_t hash = sample_hash(prefix), tag = hash >> sample_count_bits | 1;
    for (uint32_t slot = hash & (slots - 1);; slot = (slot + tag) & (slots - 1)) {
        uint32_t old = *static_cast<volatile uint32_t *>(table + slot);
        if (old == 0)
            old = atomicCAS(table + slot, 0u, tag << sample_count_bits);
        if (old == 0 || old >> sample_count_bits == tag)
            return table + slot;
    }
}

/* How many keys with this prefix came to the table before. */
__device__ inline uint32_t meet_in_table(uint32_t *table, uint32_t slots, uint64_t prefix) {
    return atomicAdd(find_in_table(table, slots, prefix), 1u) & ((1u << sample_count_bits) - 1);
}

/* By the codes above `shift`, which are told apart by hashes of 32 bits. table: sample_slots words of shared memory.
 *
 * Keys of one prefix choose one of them to stand for it, in rounds: each puts its number in the slot that the prefix
 * hashes to, and who is there last stands for all who have its prefix. The others go on to their prefix's next slot, of
 * which nobody needs what is there: four keys in five find theirs in the first round, and the last one in the fifth or
 * so.
 *
 * By the CTA. Not inlined: the time is also that of fetching code that runs once a sort, and several places call it. */
__attribute__((noinline)) __device__ inline sample_counts count_sample(const sort_plan *plan, sample_codes codes,
                                                                       uint32_t shift, uint32_t *table) {
    __shared__ sample_counts counts;
    constexpr uint32_t slots = 2 * sample_size;
    uint32_t *const hashes = table, *const agree = hashes + sample_size, /* keys with the prefix it stands for */
                                        *const chosen = agree + sample_size;
    static_assert(2 * sample_size + slots <= sample_slots, "the table");
    uint32_t hash[sample_each], slot[sample_each], left = 0; /* a bit for each key that has not found its like */
    const auto key = [&](uint32_t k) { return k * blockDim.x + threadIdx.x; };
    uint64_t code[sample_each];
#pragma unroll
    for (uint32_t k = 0; k < sample_each; k++)
        code[k] = __ldcg(&plan->sample[codes][key(k) % sample_size]);
    if (threadIdx.x == 0)
        counts = {0, 0, 0, 0, 0, 0, __ldcg(&plan->repeats)};
#pragma unroll
    for (uint32_t k = 0; k < sample_each; k++) {
        hash[k] = sample_hash(code[k] >> shift);
        slot[k] = hash[k] % slots;
        if (key(k) < sample_size) {
            left |= 1u << k;
            hashes[key(k)] = hash[k];
            agree[key(k)] = 0;
        }
    }
    do {
#pragma unroll
        for (uint32_t k = 0; k < sample_each; k++)
            if (left >> k & 1)
                atomicExch(chosen + slot[k], key(k));
        __syncthreads();
#pragma unroll
        for (uint32_t k = 0; k < sample_each; k++)
            if (left >> k & 1) {
                const uint32_t other = chosen[slot[k]];
                if (hashes[other] == hash[k]) {
                    atomicAdd(agree + other, 1u);
                    left &= ~(1u << k);
                }
                slot[k] = (slot[k] + (hash[k] / slots | 1)) % slots; /* an odd distance visits all */
            }
    } while (__syncthreads_or(left));
    uint32_t pairs = 0, triples = 0, singles = 0, doubles = 0, most = 0, frequent = 0;
#pragma unroll
    for (uint32_t k = 0; k < sample_each; k++) {
        const uint32_t own = key(k) < sample_size ? agree[key(k)] : 0;
        const uint32_t own_pairs = own * (own - 1) / 2; /* none of 0, and of 2,048 some 2^21 */
        pairs += own_pairs;
        triples += own_pairs * (own - 2);
        singles += own == 1;
        doubles += own == 2;
        most = max(most, own);
        frequent += own >= frequent_least ? own : 0;
    }
    pairs = warp_sum(pairs);
    triples = warp_sum(triples);
    singles = warp_sum(singles);
    doubles = warp_sum(doubles);
    most = warp_max(most);
    frequent = warp_sum(frequent);
    if (threadIdx.x % 32 == 0) {
        atomicAdd(&counts.pairs, pairs);
        atomicAdd(&counts.triples, triples);
        atomicAdd(&counts.singles, singles);
        atomicAdd(&counts.doubles, doubles);
        atomicMax(&counts.most, most);
        atomicAdd(&counts.frequent, frequent);
    }
    __syncthreads();
    const sample_counts answer = counts;
    __syncthreads();
    return answer;
}

} /* namespace scan_cuda */

#endif
