/* SPDX-License-Identifier: MIT
 *
 * The plan, made from what the survey counts by a kernel of its own, which begins beside it; that of a sort by one
 * digit is made by its pass (plan_passes.cuh). plan_packed.cuh plans passes over codes, and counts.
 *
 *     sorted, reversed       no passes
 *     few bits vary          integers alone: a pass at most, then they are counted (narrow.cuh)
 *     digits that vary       a pass each, the least significant first; the buffers so that the last pass ends in `out`
 *     enough digits          the ones at the top alone, as few as make buckets that a CTA can sort (local.cuh), or that
 *                            hold one value, if that saves two passes (three with values but no labels), and keys do
 *                            not crowd in the bins of a tile (top_digits.cuh)
 *     even floats            keys that are spread evenly between two limits: passes over a digit or two of their values
 *                            as integers (even.cuh), if those make such buckets
 *     8-byte keys, many      a sample sort (samplesort/) in place of passes over many digits, or after the top ones if
 *                            those leave too large buckets; likewise pairs with 4-byte keys, of more if
 *                            values have 4 bytes
 *     8-byte keys, argsort   of many by three digits and more: passes over 4-byte codes made of the digits that vary,
 *                            the top four alone if they leave few keys to be told apart (pack.cuh), or, of more keys
 *                            and by six digits at least, of places among a sample's keys (intervals.cuh); where neither
 *                            serves, passes over all digits of the keys, of which each hands on what the others need;
 *                            or a sample sort, if it takes less time than those, after intervals or in place of them
 */
#ifndef SCAN_CUDA_SORT_PLAN_CUH
#define SCAN_CUDA_SORT_PLAN_CUH

#include "../device/kernel.cuh"
#include "plan_packed.cuh"
#include "plan_passes.cuh"
#include "survey_read.cuh"
#include "survey_start.cuh"
#include "top_digits.cuh"

namespace scan_cuda {

/* ---- all of it --------------------------------------------------------------------------------------------------- */

__device__ inline float rare_share(const sample_counts &equal) {
    return float(equal.singles + 2 * equal.doubles) / sample_size;
}

/* How many passes over all keys take as long as a sample sort of 8-byte keys and what comes before it: its launches, as
 * long as a pass over such a share of sampled_launches keys; of any keys; in addition, of rare ones, the share of them
 * times that; of keys that are neither rare nor frequent; of rare ones of which values have few copies, dozens, beside
 * passes_of_copies(), or more; and of rare ones, if the sample's gaps were all uneven. */
struct sampled_cost {
    float launches, any, rare, others, few, dozens, more, uneven;
};

/* An argsort by more than four digits takes passes over whole keys, another one passes over codes, which are made
 * first. Of very many keys rare ones take longer, some of them at a third level. Fitted on an H200, 2026-11-29, to
 * times with --algorithm radix and with sample: keys and pairs to 126 sets (tools/bench --device cuda --hunt 116 --seed
 * 84 --type u64,i64,f64 --min-n 4200000 --max-n 2^27, with --verb sort and --verb pairs), very many to --hunt 36 --seed
 * 661 --min-n 60000000 --max-n 2^28, argsorts by more than four digits to 110 sets (--hunt 170 --seed 71 --verb argsort
 * --min-n 2000000 --max-n 2^27); keys alone of few copies, 2026-11-30, to --hunt 116 --seed 20261541 --type u64,i64,f64
 * --min-n 4200000 --max-n 2^27: samples lost if more than four keys in five were rare, and won up to two in three;
 * 4-byte values of dozens of copies and more, 2026-12-01, as passes_of_copies(). */
__device__ inline sampled_cost cost_of_samples(const sort_job &job, uint32_t digits, uint64_t n) {
    if (job.packed) {
        const bool many = n > sampled_many_argsort;
        return digits > packed_passes ? sampled_cost{1, 3.9f, many ? 12 : 4.2f, 0, 0, 0, 1, 22}
                                      : sampled_cost{1, 3, many ? 18 : 7.6f, 0, 0, 0, 1, 22};
    }
    const bool many = n > sampled_many;
    if (job.value_bytes == 4)
        return {0.38f, 3.5f, many ? 5.3f : 2.6f, 1.6f, 0, 1.3f, 1.2f, 8.4f};
    if (job.value_bytes == 8)
        return {0.29f, 2.8f, many ? 4.7f : 3.5f, 2.5f, 0, 0.1f, 1, 3.5f};
    return {0.56f, 4.2f, many ? 5.8f : 3.1f, 1.7f, 0.7f, 0.7f, 0.9f, 10.7f};
}

/* So many passes it has to save: what a sort loses by samples in place of passes may make it slower than others, what
 * it does not gain by them does not. */
constexpr float sampled_margin = 0.4f;

/* So many passes more it takes for rare keys that lie close together: their bins are divided then
 * (samplesort/local_groups.cuh). For 25 million pairs to 160 million it took 1.07 to 1.16 times as long as passes
 * (H200, 2026-11-30: tools/bench --device cuda --hunt 1 --seed 4060224762951057459, 8074263811265490861,
 * 10302754181932150058, 14148954187775473599). Of fewer keys a pass takes longer: 4 to 20 million of which a key had
 * more than a hundred close to it took 0.79 to 0.85 of the time of passes (7 sets of --hunt 80 --seed 20261561 --verb
 * pairs and --hunt 60 --seed 20261562 --verb sort, both with --type u64,i64,f64 --min-n 4200000 --max-n 50000000). */
constexpr float sampled_close = 2, close_most_of_few = 100;

/* In how many digits the sample's codes differ. By the CTA. */
__device__ inline uint32_t sampled_digits_of(const sort_plan *plan) {
    __shared__ unsigned long long differ;
    if (threadIdx.x == 0)
        differ = 0;
    __syncthreads();
    uint64_t own = 0;
    for (uint32_t s = threadIdx.x; s < sample_size; s += blockDim.x)
        own |= __ldcg(&plan->sample[SAMPLE_CODES][s]) ^ __ldcg(&plan->sample[SAMPLE_CODES][0]);
    atomicOr(&differ, (unsigned long long)own);
    __syncthreads();
    uint32_t digits = 0;
    for (uint64_t left = differ; left; left >>= digit_bits)
        digits += (left & (radix - 1)) != 0;
    return digits;
}

/* So many passes more a sample sort takes for keys of values that have dozens of copies: up to 32 are compared with
 * each other, more are ranked as a digit is (samplesort/local_bins.cuh). With 3, 6, 12, 20, 30, 60 and 250 copies 6 and
 * 25 million pairs with 8-byte keys took 0, 0.4, 1.4, 2.2, 1.9, 0.9 and 0.3 passes more (H200, 2026-12-01: tools/bench
 * --device cuda --verb pairs --algorithm sample --type u64 --n 6000000,25000000 --distribution few:K). */
constexpr float few_copies = 3, worst_copies = 22, worst_copies_passes = 2.2f, copies_octaves = 2.2f;

__device__ inline float passes_of_copies(float copies) {
    return worst_copies_passes * fmaxf(0, 1 - fabsf(log2f(copies / worst_copies)) / copies_octaves);
}

/* How many copies a value has on average, where no value is frequent. The smaller sample has too few pairs of 4 to 8
 * million keys to tell: of 6 million with 30 copies each 10, give or take 3. By the CTA. */
__device__ inline float copies_by_wide_sample(const sort_job &job, uint64_t n, uint32_t *table, uint32_t words) {
    const uint32_t size = wide_size_for(n, words);
    return wide_pairs(job.plan, table, words, size, size, prefix_above{0}) / pairs_of(1, n, size);
}

/* Whether a sample sort, if one may follow, takes less time than passes over all digits, from the share of the keys
 * that are rare, those of values that the sample has once or twice. Keys of other values lie where they belong after
 * its first level or its second one. Where codes are spread so unevenly that bins of the local stage are crowded, or
 * lie close together, rare keys cost more. A sort of pairs with 4-byte keys takes as long as 2.4 passes or, with 4-byte
 * values, 3.4, and 2 more for keys that are not frequent, which the first level does not put where they belong, and 4
 * more for rare ones: fitted to 246 sets, 2026-11-27, --verb pairs --seed 4343 and 5151 --min-n 2^26 --max-n 2^28
 * --type u32,i32,f32; of fewer it took up to 0.8 passes more (2026-11-29: 8.4 to 60 million, --verb pairs --seed 5512,
 * and --hunt 1 --seed 8333104584235227492), so it has to save one. tops: top digits are tried first. The local stage
 * after them gives up sooner where a sample sort follows, so that has to save two passes. The gaps are looked at only
 * if they can decide. equal: of the sample's codes. By the CTA. */
__device__ inline bool samples_pay(const sort_job &job, const varying_digits &digits, bool only_even, bool tops,
                                   uint64_t n, const sample_counts &equal, float copies, sample_gaps &gaps,
                                   uint32_t *table, uint32_t words) {
    if (!job.sampled || !takes_sample(job, n))
        return job.sampled;
    const uint32_t passes = only_even ? sampled_digits_of(job.plan) : digits.count;
    const float rare = rare_share(equal), frequent = float(equal.frequent) / sample_size;
    if (job.key_bytes == 4)
        return float(passes) >
               (job.value_bytes == 8 && n >= sampled_pairs_least ? 2.4f : 3.4f) + 2 * (1 - frequent) + 4 * rare;
    const sampled_cost cost = cost_of_samples(job, passes, n);
    const float most = float(passes) - cost.launches * (sampled_launches / float(n)) - cost.any - cost.rare * rare -
                       cost.others * (1 - frequent - rare) - (tops ? 2 : 0);
    const auto saved_with = [&](float each) {
        return most - rare * (each < few_copies           ? cost.few
                              : each < hundreds_of_copies ? cost.dozens + passes_of_copies(each)
                              : each < own_bucket_copies  ? cost.more
                                                          : 0);
    };
    float saved = saved_with(copies);
    const bool may_differ = equal.doubles > 0 && copies < hundreds_of_copies && saved_with(1) > sampled_margin &&
                            saved_with(worst_copies) <= sampled_margin;
    if (may_differ && equal.frequent == 0 && takes_wide_sample(job, n) && !takes_larger_sample(job, n))
        saved = saved_with(copies_by_wide_sample(job, n, table, words));
    if (saved <= sampled_margin || (saved <= cost.uneven * rare && saved <= cost.uneven * rare * gaps.uneven()))
        return false;
    if (rare < 0.5f || saved > sampled_margin + sampled_close * rare)
        return true;
    return !lies_close(gaps.close(), n < close_many ? close_most_of_few : close_most);
}

/* Whether a sample sort, if it pays, is better than top digits whose buckets are of one value each, for it takes one
 * level then: of few keys only than three digits and more. Of 76 million pairs, a bucket of which held two values, it
 * took 1.2 ms in place of 7.7; of 103 million, none of which did, 1.8 in place of 2.5; of 12 million 0.38 in place of
 * 0.39 (H200, 2026-11-29: tools/bench --device cuda --algorithm sample, and radix, --hunt 1 --seed 6769037185112761052,
 * 12883666741797751853, 1308613984569166292). */
__device__ inline bool has_frequent_only(const sort_job &job, uint32_t top, uint64_t n, const sample_counts &equal) {
    return job.sampled && job.key_bytes == 8 && equal.frequent >= sample_size - sample_size / 64 &&
           top >= (n >= sampled_values_least ? 2 : 3);
}

/* Plans passes over all digits that vary, for when the top ones are not enough. at: where these leave the keys. Passes
 * from there that would not end in `out` begin with the input instead, unless the sort is in place. */
__device__ inline void plan_all(const sort_job &job, const varying_digits &digits, sort_place at) {
    sort_plan *plan = job.plan;
    const bool odd = digits.count % 2 != 0, in_place = is_in_place(job);
    if (!in_place && (at.values == BUFFER_OUT) == odd)
        at = place_of_input(job);
    const bool to_out = at.keys == BUFFER_IN ? !in_place && odd : at.values != BUFFER_OUT;
    plan->passes_again = digits.count;
    const sort_place end = plan_passes(job, digits, 0, digits.count, plan->pass + max_digits, at, to_out, false);
    plan->finish_again = end.values == BUFFER_OUT ? FINISH_NOTHING : FINISH_COPY;
}

/* By the last CTA of a second survey, of floats alone. Called, not made part of its kernel: its loops would lose
 * registers. */
__attribute__((noinline)) __device__ inline void make_second_plan(const sort_job &job, uint64_t n) {
    __shared__ digit_spread spread[counted_rows];
    __shared__ varying_digits digits;
    find_digits(job, n, 0, job.plan->odd != 0, spread, digits);
    if (warp_of_cta() > 0)
        return;
    const sort_buffer at = job.plan->local_keys;
    digits.ties = job.plan->ties;
    __syncwarp();
    plan_all(job, digits, {at, at});
}

/* Whether the plan has more to choose from than passes over all digits that vary. */
__device__ inline bool has_choice(const sort_job &job) { return job.local.stride || job.packed || job.sampled; }

/* Whether the plan looks at equal keys of the sample. */
__device__ inline bool counts_equal(const sort_job &job, uint64_t n) {
    return takes_sample(job, n) && (job.sampled || job.again_follows);
}

/* When the survey has counted. What is written at the end, the first warp writes, each lane the same but for its pass.
 * memory: `words` of shared memory, at least sample_slots for keys of four bytes and more. equal: counts_equal(), of
 * the sample's codes. Type by type, for most of it is for some types only, and code that runs once takes as long as it
 * takes to fetch. By the CTA. */
template <class Key>
__device__ void make_plan(const sort_job &job, uint64_t n, uint32_t *memory, uint32_t words, const even_code &even,
                          bool even_crowded, const sample_counts &equal, sample_gaps &gaps) {
    constexpr bool is_word = sizeof(Key) >= 4, is_long = sizeof(Key) == 8, is_float = sort_key<Key>::is_float;
    sort_plan *plan = job.plan;
    __shared__ digit_spread spread[counted_rows];
    __shared__ varying_digits digits, digits_of_even;
    const uint32_t falls = __ldcg(&plan->falls), rises = __ldcg(&plan->rises), odds = __ldcg(&plan->odd);
    const bool odd = odds != 0, sorted = falls == 0, scattered = !sorted && rises != 0,
               only_even = is_float && counts_even_only(job, even);
    find_digits(job, n, is_float && even.exists() ? int(even_digits(job)) : 0, odd, spread, digits);
    const sort_narrow narrow = is_word && !is_float && scattered ? narrow_keys(job, digits, spread, n) : sort_narrow{};
    if (narrow.codes) {
        if (warp_of_cta() == 0)
            plan_narrow(job, digits, narrow);
        return;
    }
    top_choice choice = {};
    bool by_even = false, runs = false, sampled = false, intervals = false;
    if (is_word && scattered && has_choice(job)) {
        const float copies = counts_equal(job, n) ? find_copies(job, n, equal) : 0;
        if constexpr (is_word)
            if (!only_even)
                choice = choose_top(job, digits, spread, n, equal, copies, gaps, memory, words);
        if (is_float && choice.digits == 0 && !choice.copies && even.exists() && !odd &&
            digits.count >= even_digits(job) + job.local.cost) {
            choice = even_choice(job, spread, n, copies, even_crowded, memory);
            by_even = choice.digits > 0;
        }
        runs = is_long && short_runs(job, digits, spread, n, memory, words);
        const bool one_level = choice.values && has_frequent_only(job, choice.digits, n, equal);
        sampled =
            samples_pay(job, digits, only_even, choice.digits > 0 && !one_level, n, equal, copies, gaps, memory, words);
        if (one_level && sampled)
            choice = {};
        intervals = is_long && tries_intervals(job, n) && digits.count >= intervals_digits && !runs &&
                    !(sampled && rare_share(equal) < intervals_rare);
    }
    const uint32_t top = choice.digits;
    if (warp_of_cta() > 0)
        return;

    const bool ties = job.ties && (!is_float || job.value_bytes || odd);
    plan->ties = digits.ties = ties;
    __syncwarp();
    plan->counts_missing = only_even && !sampled;
    if (!scattered) {
        plan->finish = !sorted ? FINISH_REVERSE : job.value_bytes ? FINISH_VALUES : FINISH_NOTHING;
        return;
    }
    if (top == 0 && !runs && !intervals && (sampled || only_even)) {
        plan->again = 1;
        plan->local_keys = BUFFER_IN;
        return;
    }
    if (by_even) {
        if (threadIdx.x < top)
            digits_of_even.row[threadIdx.x] = job.key_bytes + threadIdx.x;
        digits_of_even.count = top;
        digits_of_even.ties = ties;
        digits_of_even.coded = false;
        plan->even = digits_of_even.even = even;
        __syncwarp();
    }
    const varying_digits &first = by_even ? digits_of_even : digits; /* the first passes are over some of these */
    const uint32_t passes = top ? top : first.count;
    plan->passes = passes;
    plan->local_shift = top ? by_even ? even_shift(top) : first.row[first.count - top] * digit_bits : 0;
    if (is_long && job.packed) {
        plan_packed(job, digits, runs, intervals, sampled);
        return;
    }
    /* In place the first pass cannot go to `out`. The last one had better go there if it is the last of all, or if the
     * local stage moves nothing, else to the scratch; a copy follows if it cannot, or the local stage works in place.
     * Not so in an argsort: its local stage moves no keys, and values that it moved in place would no longer be theirs.
     */
    const bool to_out = !is_in_place(job) && (passes % 2 != 0) == (!top || (choice.values && job.keys_out));
    const sort_place at =
        plan_passes(job, first, first.count - passes, passes, plan->pass, place_of_input(job), to_out, top > 0);
    plan->finish = top || at.values == BUFFER_OUT ? FINISH_NOTHING : FINISH_COPY;
    if (top) {
        plan->local_keys = at.keys;
        plan->local_values = at.values;
        plan->local_reach = choice.reach;
        plan->local_stride = job.local.stride - (max(choice.reach, job.local.reach) - job.local.reach);
        if (!only_even && !sampled)
            plan_all(job, digits, at);
    }
}

/* One CTA makes the plan. It begins while those of the survey read the keys, and fits beside one of them. What it asks
 * of the sample whatever their digits, it finds then; of many 8-byte keys another one puts a sample in order
 * (gaps.cuh). Made by the last CTA of the survey instead, the plan took 2 to 5 us of an H200 longer: 4 to 9 % of the
 * time of 6 x 10^5 to 4 x 10^6 keys of four bytes (2026-11-29: tools/bench --hunt 100 --device cuda --seed 4343 --min-n
 * 600000 --max-n 4200000). */
template <class Key, bool wide>
__global__ void __launch_bounds__(survey_shape<Key, wide>::threads, survey_shape<Key, wide>::ctas)
    plan_kernel(const __grid_constant__ sort_job job, uint32_t survey_ctas) {
    using shape = survey_shape<Key, wide>;
    uint32_t *memory = dynamic_shared<uint32_t>();
    sort_plan *plan = job.plan;
    __shared__ uint32_t in_bins, copies; /* keys of the sample that lie in a bin with another value, or the same */
    __shared__ ticket own;
    survey_start start(survey_ctas + gridDim.x);
    start.open(job);
    start.wait(job); /* for the survey, which has waited for the launches before: keys and *n_device are there */
    if (threadIdx.x == 0) {
        in_bins = copies = 0;
        own = start.own_ticket();
    }
    __syncthreads();
    const uint64_t n = sort_count(job);
    sample_gaps gaps(job, n, memory, own.epoch, gridDim.x > 1);
    if (own.number - survey_ctas + 1 < gridDim.x) { /* the last one makes the plan */
        if (sizeof(Key) == 8 && takes_sample(job, n))
            gaps.publish_gaps();
        start.close(job);
        grid_dependency_wait();
        return;
    }
    even_code even = {};
    sample_counts equal = {};
    bool even_crowded = false;
    if constexpr (sizeof(Key) >= 4)
        if (takes_sample(job, n)) {
            if constexpr (shape::tries_even)
                if (!wide || job.again_follows) {
                    for (int i = threadIdx.x; i < shape::words / 4; i += shape::threads)
                        reinterpret_cast<uint4 *>(memory)[i] = uint4{};
                    const auto *keys = static_cast<const key_bits<Key> *>(job.keys_in);
                    const key_bits<Key> key = keys[stratified_place(threadIdx.x, n / shape::threads)];
                    __syncthreads();
                    even = find_even<Key, shape::threads>(job, n, key, memory);
                }
            /* One digit of the even code would make buckets; if there is one, find_even() has left memory zero. */
            const bool looks_at_bins = shape::tries_even && !job.again_follows;
            const sample_neighbours found =
                take_sample<Key, shape::threads>(job, n, even, looks_at_bins ? memory : nullptr);
            if (found.repeats)
                atomicAdd(&plan->repeats, found.repeats);
            if (found.in_bins)
                atomicAdd(&in_bins, found.in_bins);
            if (found.copies)
                atomicAdd(&copies, found.copies);
            __syncthreads();
            const uint32_t met = in_bins + (job.key_bytes == 4 ? copies : 0); /* see crowds_bins() */
            even_crowded = float(met) > crowded_pairs(job, n, job.key_bytes - 1, sample_size);
            if (counts_equal(job, n))
                equal = count_sample(plan, SAMPLE_CODES, 0, memory);
        }
    if (threadIdx.x == 0) {
        wait_for(&plan->done, survey_ctas);
        plan->done = 0; /* for a second survey */
    }
    __syncthreads();
    make_plan<Key>(job, n, memory, shape::words, even, even_crowded, equal, gaps);
    start.close(job);
    grid_dependency_wait(); /* passes wait for this launch alone, so it ends after the survey has */
}

} /* namespace scan_cuda */

#endif
