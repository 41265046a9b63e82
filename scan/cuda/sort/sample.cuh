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
constexpr uint32_t crowded_bin = 16;  /* keys in one */
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
