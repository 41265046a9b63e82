/* SPDX-License-Identifier: MIT
 *
 * How many digits at the top are enough for the local stage, and for a packed argsort.
 *
 * For one digit the survey knows every bucket. For more this guesses: from the counts of the digits, which show a value
 * that many keys have, and from a sample (sample.cuh). A wrong guess costs time only: the local stage finds a bucket
 * that is too large, and all digits are sorted after all (plan_all()).
 */
#ifndef SCAN_CUDA_SORT_TOP_DIGITS_CUH
#define SCAN_CUDA_SORT_TOP_DIGITS_CUH

#include "digits.cuh"
#include "even.cuh"
#include "gaps.cuh"
#include "larger_sample.cuh"

namespace scan_cuda {

struct top_choice {
    uint32_t digits; /* 0: none */
    uint32_t reach;  /* keys in a bucket, at most */
    bool values;     /* buckets are large, and may be of one value each */
    bool copies;     /* without digits: most keys are of values that have many copies, and no bucket of their own */
    uint32_t pairs;  /* of the sample that share a bucket, of several digits */
};

/* Top digits, at most, where a sample sort may follow: more would leave it too little to save. */
constexpr uint32_t sampled_top = 4;

constexpr float local_passes = 1.5f; /* that take as long as the local stage, at most */

/* Whether passes over `top` of `count` digits are worth the risk that a bucket of more than `widest` keys makes all
 * digits follow. pairs: of the sample, different keys of one bucket; bucket: the largest, if digits do not hang
 * together. If that explains the pairs, there are none larger. Else sizes vary as nobody knows, but where a key's
 * bucket is a tenth of the widest on average, one key in ten at most has a larger one: that may be the share of the
 * passes that is saved, but for one and a half, which the local stage costs at most. */
__device__ inline bool is_worth(uint32_t top, uint32_t count, float bucket, float pairs, uint64_t n, uint32_t widest) {
    const float saved = (float(count - top) - local_passes) / float(count);
    return explains_pairs(bucket, pairs, n) || pairs <= pairs_of(saved * float(widest), n);
}

/* Whether counts say that the largest bucket by the top digits is too large to be sorted, and not of one value. It
 * lacks `others` keys at most, and at least as many as have another value of one of these digits than most have. More
 * of all keys than these have another digit below: surely, if they are more than `others`, and as a rule if they are
 * more than 9/8 of that least number. */
__device__ inline bool is_mixed(const sort_job &job, const varying_digits &digits, const digit_spread *spread,
                                uint64_t n, uint32_t top, uint64_t others) {
    const uint64_t large = job.max_notes ? large_reach(n) : job.local.reach;
    if (others >= n || n - others <= 2 * large)
        return false;
    uint64_t above = 0, below = 0; /* keys with another digit than most, of the digit that has the most such keys */
    for (uint32_t i = 0; i < digits.count; i++) {
        uint64_t &outside = i + top < digits.count ? below : above;
        outside = max(outside, n - spread[digits.row[i]].most);
    }
    return below > min(others, above + above / 8);
}

/* Whether the bucket of which the sample has `most` keys is too large to be sorted: a small one has three at most. */
__device__ inline bool shows_too_large(const sort_job &job, uint64_t n, uint32_t most) {
    const uint64_t large = job.max_notes ? large_reach(n) : widest_bucket(job);
    return float(most) > 3 + 0.9f * sample_size * (float(large) / float(n));
}

constexpr uint32_t too_large_least = 8;      /* keys of a sample that the largest of many small buckets seldom has */
constexpr uint32_t bucket_sample_least = 16; /* keys of a sample that tell how large their bucket is */

/* Fewer, each counted thrice, tell no size: keys that are spread evenly have about one. */
constexpr float triples_least = 24;

/* Keys in a bucket for which the local stage should have room, from how many pairs and triples of the sample share one,
 * those of equal keys left out; 0 where they ask for no more than it has anyway; or more than any tile has, where that
 * costs more than the passes that are `saved`.
 *
 * Of keys in buckets of one size there are pairs by that size, triples by its square; where sizes differ, larger
 * buckets have more of both. So triples and pairs tell the size of the buckets in which pairs meet, on average, and
 * then pairs the share of the keys that are in such buckets, if all others are small. If so large a bucket fits, tiles
 * are dealt out at shorter strides, and there are more of them. If not, clusters sort it: on an H200 such keys took as
 * long as 21 passes of 8-byte keys, and as 32 of pairs of 4-byte ones (2026-11-29: tools/bench --device cuda --hunt 1
 * --seed 9531206545206719084, and 18075017180354747330). Called, for most sorts do without. */
__attribute__((noinline)) __device__ inline float reach_of_shared(const sort_job &job, uint64_t n, float pairs,
                                                                  float triples, float saved) {
    if (triples < triples_least || pairs <= 0)
        return 0;
    const float widest = float(widest_bucket(job)), usual = float(job.local.reach),
                size = triples / (pairs * sample_size) * float(n), share = 2 * pairs * pairs / (triples * sample_size),
                large = job.max_notes ? large_passes_each * share : float(max_digits);
    if (large <= 0.5f || 1.5f * size <= usual)
        return 0;
    const float reach = size > 0.75f * widest ? 0 : fminf(1.5f * size, 0.8f * widest),
                longer = local_passes * (reach - usual) / (float(job.local.stride) + usual - reach);
    return (reach > 0 ? longer : large) > saved ? 2 * widest : reach;
}

/* How many of the top digits that vary make buckets for the local stage; none if they are too many to save the passes
 * that it costs. If no key of the sample is alone, all buckets may be of one value: then pairs of equal keys do not
 * count. By the CTA. */
__device__ inline top_choice top_digits(const sort_job &job, const varying_digits &digits, const digit_spread *spread,
                                        uint64_t n, const sample_counts &equal, float copies, uint32_t *table) {
    const uint32_t widest = widest_bucket(job);
    float bucket = float(n); /* the largest, if digits did not hang together */
    uint64_t others = 0;     /* keys outside the largest bucket, at most */
    const uint32_t most_top = job.sampled ? sampled_top : digits.count;
    sample_counts counted = {}; /* by the codes above counted_shift */
    uint32_t counted_shift = ~0u;
    const auto count = [&](uint32_t shift) {
        if (shift != counted_shift)
            counted = count_sample(job.plan, SAMPLE_CODES, shift, table);
        counted_shift = shift;
    };
    const bool values = equal.singles == 0;
    /* Copies that lie together, in runs of such a length on average, wait for each other when they are counted in a
     * bin: with half as many the local stage takes as long. 170,546,730 keys, each 15 times, took 3.36 ms in place
     * of 2.80 (H200, 2026-11-30: tools/bench --device cuda --hunt 1 --seed 10018657452941071030). */
    const float run = values ? 0 : run_of_equal(equal.repeats);
    for (uint32_t top = 1; job.local.stride && top + job.local.cost <= digits.count && top <= most_top; top++) {
        const uint32_t row = digits.row[digits.count - top];
        bucket *= float(spread[row].most) / float(n);
        others += n - spread[row].most;
        if (top == 1 && bucket <= float(job.local.reach))
            return {1, uint32_t(spread[row].most), false, false, 0};
        if (!job.again_follows || !takes_sample(job, n))
            break;
        if (fmaxf(copies, 2 * run) > most_copies(job))
            return {0, 0, false, 4 * (equal.singles + 2 * equal.doubles) > 3 * sample_size, 0};
        float largest = largest_bucket(bucket, equal.repeats);
        if (!values && top > 2 && largest <= float(widest)) { /* do the digits above hang together? */
            count(digits.row[digits.count - top + 1] * digit_bits);
            const float size = float(counted.most) / sample_size * float(spread[row].most);
            if (counted.most >= bucket_sample_least)
                largest = fmaxf(largest, largest_bucket(size, equal.repeats));
        }
        if ((!values && (top == 1 || largest > float(widest))) || is_mixed(job, digits, spread, n, top, others))
            continue;
        count(row * digit_bits);
        const bool too_large =
            !values && job.max_notes && counted.most >= too_large_least && shows_too_large(job, n, counted.most);
        if (too_large && counted.most > equal.most)
            continue; /* that bucket is of several values */
        if (!values && !job.max_notes && shows_too_large(job, n, equal.most))
            break; /* hardly any bucket of a frequent value is without others */
        if (!values && counted.triples >= triples_least) {
            const float reach = reach_of_shared(job, n, float(counted.pairs) - float(equal.pairs),
                                                float(counted.triples) - float(equal.triples),
                                                float(digits.count - top) - local_passes);
            if (reach > float(widest))
                continue;
            largest = fmaxf(largest, reach);
        }
        const uint32_t pairs = counted.pairs;
        if (values ? pairs == equal.pairs /* a bucket of two values would be large */
                   : few_pairs(float(pairs), n, widest) && is_worth(top, digits.count, bucket, float(pairs), n, widest))
            return {top, values ? job.local.reach : max(job.local.reach, uint32_t(largest)), values, false, pairs};
    }
    return {};
}

/* Where there is no wide sample, sorts that save fewer passes than this by the local stage do not ask whether keys
 * crowd its bins after several digits: the answer takes 3 us, which is 4 % of the time of 3 million 4-byte keys.
 * 3,145,729 pairs of 16 bytes with 25 keys in a bin took 433 us, and 275 by all digits (H200, 2026-11-30: tools/bench
 * --device cuda --hunt 1 --seed 2018586783289027891). */
constexpr uint32_t bins_saved_least = 4;

/* Whether keys crowd the bins of the local stage after `top` digits so much that passes over all digits take less time.
 * It makes two to four bins for each of a bucket's keys, all of one width, so that keys that lie close together share
 * one while those between are empty. After several digits equal keys are left out: top_digits() looks at them. After
 * one digit they count if they can be told apart, and of 4-byte keys alone: 2.2 and 4.1 million integers in runs of
 * four, of which a key has six others, took 81 and 122 us with the local stage and 69 and 106 with passes, floats 101
 * and 132, and 72 and 113; with four others about as long (H200, 2026-11-30: tools/bench --device cuda --verb sort
 * --type u32,f32 --n 2200000,4100000 --distribution few:K,runs:K). With thousands, additions to one counter wait for
 * each other: 1.4 and 4 million floats of 1,024 values took 55 and 123 us, and 44 and 87 (2026-12-01: --type f32 --n
 * 1400000,4000000 --distribution bits:10). Of the wide sample a key counts as if its bin had 256 at most, that is,
 * once: larger ones are counted by code, or sorted by digits or clusters, and take no longer for more. table: `words`
 * of shared memory. By the CTA. */
__device__ inline bool crowds_bins(const sort_job &job, const varying_digits &digits, const digit_spread *spread,
                                   uint64_t n, const top_choice &choice, uint32_t *table, uint32_t words) {
    const uint32_t top = choice.digits;
    const bool wide = takes_wide_sample(job, n);
    if (!takes_sample(job, n) || (top > 1 && !wide && digits.count - top < bins_saved_least))
        return false;
    const uint32_t row = digits.row[digits.count - top], shift = row * digit_bits,
                   size = wide ? wide_size_for(n, words) : sample_size,
                   each = max(1u, uint32_t(256 * uint64_t(size) / n));
    const auto pairs_above = [&](uint32_t bits) {
        return wide ? wide_pairs(job.plan, table, words, size, each, prefix_above{bits})
                    : float(count_sample(job.plan, SAMPLE_CODES, bits, table).pairs);
    };
    const float bucket = top == 1 ? float(spread[row].most) : bucket_of_pairs(choice.pairs, n);
    const uint32_t bin_shift = shift - min(shift, bits_of(uint32_t(2 * bucket)) - 1);
    const float most = crowded_pairs(job, n, digits.count - top, size), pairs = pairs_above(bin_shift);
    if (pairs <= most || (top == 1 && job.ties))
        return pairs > most;
    return (top == 1 && job.key_bytes == 4) || pairs - pairs_above(0) > most;
}

/* Whether 8-byte keys crowd the bins of a tile so much that all digits had better take a pass: the local stage takes as
 * long as two passes, from a share of `crowding` uneven gaps (gaps.cuh) on as long as four to seven. That pays
 * nevertheless, up to `crowding_more`, after three top digits, or if it saves four passes of keys alone; but not where
 * keys lie close together: there the local stage took 2.2 of 3.2 ms of 32,429,475 pairs, which CUB sorts in 2.5.
 * Measured on an H200, 2026-11-28: 40 sets, see cost_of_samples(); 2026-11-30: tools/bench --device cuda --hunt 1
 * --seed 11267717494114309265. By the CTA. */
__device__ inline bool crowds_tiles(const sort_job &job, uint64_t n, uint32_t top, uint32_t saved, sample_gaps &gaps) {
    constexpr float crowding = 0.08f, crowding_more = 0.3f;
    if (job.key_bytes < 8 || top < 3 || (top == 3 && n < gaps_least))
        return false;
    const bool pays_less = top > 3 && (job.value_bytes || saved < 4);
    return gaps.uneven() > (pays_less || lies_close(gaps.close(), close_most) ? crowding : crowding_more);
}

/* Whether constant bits between those that vary crowd the bins of a tile. If keys were even in the bits that vary, some
 * of these at the top tell tiles apart, and the next below_bucket bits bins; each constant bit among those leaves every
 * second bin empty, so that the others have twice as many keys. 230,620,654 pairs with seven such bits took 28.3 ms in
 * place of 16.6 (H200, 2026-11-29: tools/bench --device cuda --hunt 1 --seed 16841948260424449887). */
__device__ inline bool has_holes(const sort_job &job, const digit_spread *spread, uint64_t n) {
    uint64_t varying = 0;
    for (uint32_t row = 0; row * digit_bits < job.bits; row++)
        varying |= uint64_t(spread[row].varying) << row * digit_bits;
    for (uint64_t tiles = n / job.local.stride; tiles > 1 && varying; tiles /= 2)
        varying &= ~(uint64_t(1) << (bits_of(varying) - 1));
    const uint32_t bits = bits_of(varying);
    if (bits <= below_bucket)
        return false;
    const uint64_t bins = varying >> (bits - below_bucket);
    return (1u << (below_bucket - uint32_t(__popcll((long long)bins)))) >= 2 * crowded_bin;
}

/* The top digits, unless the local stage's bins would be crowded. By the CTA. */
__device__ inline top_choice choose_top(const sort_job &job, const varying_digits &digits, const digit_spread *spread,
                                        uint64_t n, const sample_counts &equal, float copies, sample_gaps &gaps,
                                        uint32_t *table, uint32_t words) {
    const top_choice choice = top_digits(job, digits, spread, n, equal, copies, table);
    if (choice.digits > 1 && !choice.values && has_holes(job, spread, n))
        return {};
    if (choice.digits && !choice.values && crowds_bins(job, digits, spread, n, choice, table, words))
        return {};
    if (!choice.values && crowds_tiles(job, n, choice.digits, digits.count - choice.digits, gaps))
        return {};
    return choice;
}

/* Whether the even code's digits, which have the rows after the codes', make buckets. crowded: keys crowd the bins that
 * follow one digit: then passes over codes took 68 us, and the local stage 113 (1,572,865 keys, H200, 2026-11-29:
 * tools/bench --device cuda --hunt 1 --seed 8931749581087572817). By the CTA. */
__device__ inline top_choice even_choice(const sort_job &job, const digit_spread *spread, uint64_t n, float copies,
                                         bool crowded, uint32_t *table) {
    const uint32_t widest = widest_bucket(job), digits = even_digits(job), row = job.key_bytes;
    if (digits == 1)
        return spread[row].most <= widest && !crowded ? top_choice{1, uint32_t(spread[row].most), false, false, 0}
                                                      : top_choice{};
    __syncthreads();                                    /* see find_digits() */
    const uint64_t *before = job.plan->before[row + 1]; /* beyond the limits there may be many in a bucket */
    if (before[1] > widest || n - before[radix - 1] > widest)
        return {};
    const float size = float(spread[row].most) * (float(spread[row + 1].most) / float(n));
    if (copies > most_copies(job))
        return {};
    const sample_counts sample = count_sample(job.plan, SAMPLE_EVEN_CODES, even_shift(digits), table);
    const float largest =
        fmaxf(largest_bucket(size, sample.repeats), reach_of_shared(job, n, float(sample.pairs), float(sample.triples),
                                                                    float(job.key_bytes - digits) - local_passes));
    if (largest > float(widest) || !few_pairs(float(sample.pairs), n, widest) || shows_too_large(job, n, sample.most))
        return {};
    return {digits, max(job.local.reach, uint32_t(largest)), false, false, sample.pairs};
}

/* Whether the top four digits of those that vary make runs so short that a packed argsort tries them. */
__device__ inline bool short_runs(const sort_job &job, const varying_digits &digits, const digit_spread *spread,
                                  uint64_t n, uint32_t *table, uint32_t words) {
    if (!job.packed || digits.count <= packed_passes || !takes_sample(job, n))
        return false;
    float run = float(n); /* if digits did not hang together */
    for (uint32_t top = 1; top <= packed_passes; top++)
        run *= float(spread[digits.row[digits.count - top]].most) / float(n);
    const uint32_t shift = digits.row[digits.count - packed_passes] * digit_bits;
    return run <= 1 && few_pairs(count_sample(job.plan, SAMPLE_CODES, shift, table).pairs, n, 1) &&
           (!tries_intervals(job, n) || few_share(job.plan, n, table, words, prefix_above{shift}));
}

} /* namespace scan_cuda */

#endif
