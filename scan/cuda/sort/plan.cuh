/* SPDX-License-Identifier: MIT
 *
 * The plan, made by the last CTA of the survey from what all of them counted.
 *
 *     sorted, reversed       no passes
 *     few bits vary          keys alone: a pass at most, then they are counted (narrow.cuh)
 *     digits that vary       a pass each, the least significant first; the buffers so that the last pass ends in `out`
 *     enough digits          the ones at the top alone, as few as make buckets that a CTA can sort (local.cuh), or that
 *                            hold one value, if that saves two passes (three with values but no labels)
 *     even floats            keys that are spread evenly between two limits: passes over a digit or two of their values
 *                            as integers (even.cuh), if those make such buckets
 *     8-byte keys, argsort   of many: passes over 4-byte codes made of the digits that vary, the top four alone if they
 *                            leave few keys to be told apart (pack.cuh)
 *
 * For one digit at the top the survey knows every bucket. For more it guesses: from the counts of the digits, which
 * show a value that many keys have, and from a sample (sample.cuh). A wrong guess costs time only: the local stage
 * finds a bucket that is too large, and all digits are sorted after all, from the keys that it was given.
 */
#ifndef SCAN_CUDA_SORT_PLAN_CUH
#define SCAN_CUDA_SORT_PLAN_CUH

#include "even.cuh"

namespace scan_cuda {

/* crowded: one value has more than an eighth of the keys. A pass in any order adds to one counter for each, where lanes
 * take turns: then the ballots of a stable pass are quicker. */
struct digit_spread {
    uint64_t most;    /* keys of one value */
    uint32_t varying; /* bits in which values differ */
    bool crowded;
};

/* A warp a digit: counts become the number of keys with smaller digits. */
__device__ inline digit_spread scan_digit(sort_plan *plan, int row, uint64_t n, int lane) {
    constexpr int each = radix / 32;
    uint64_t count[each], sum = 0;
    uint64_t most = 0;
    uint32_t set = 0, clear = 0;
#pragma unroll
    for (int k = 0; k < each; k++) {
        const uint32_t value = lane * each + k;
        count[k] = __ldcg(&plan->counts[row][value]); /* not from L1: other SMs added to it */
        sum += count[k];
        most = max(most, count[k]);
        set |= count[k] ? value : 0;
        clear |= count[k] ? ~value : 0;
    }
    uint64_t next = warp_inclusive<add<uint64_t>>(sum, lane) - sum;
#pragma unroll
    for (int k = 0; k < each; k++) {
        plan->before[row][lane * each + k] = next;
        next += count[k];
    }
    most = warp_total<maximum<uint64_t>>(most);
    return {most, warp_or(set) & warp_or(clear), most > n / 8};
}

/* The digits that vary, the lowest first. */
struct varying_digits {
    uint32_t row[most_digits], count;
    uint32_t crowded; /* a bit a row */
    bool ties;        /* sort_plan.ties */
    even_code even;   /* of which they are, or of codes */
};

/* Where elements are. */
struct sort_place {
    sort_buffer keys, values;
};

/* Passes over `count` digits from the `first` that varies. to_out: where the first one goes, to `out` or else to the
 * scratch; the others take turns. more: something follows them. Answers where the last one goes. */
__device__ inline sort_place plan_passes(const sort_job &job, const varying_digits &digits, uint32_t first,
                                         uint32_t count, sort_pass *pass, sort_place at, bool to_out, bool more) {
    for (uint32_t i = 0; i < count; i++, to_out = !to_out) {
        sort_pass &p = pass[i];
        p.order = job.order;
        p.order.even = digits.even;
        p.row = digits.row[first + i];
        if (digits.even.exists()) {
            p.shift = even_shift(digits.count - i);
            p.digit_mask = radix - 1;
        } else {
            p.shift = job.order.begin + p.row * digit_bits;
            p.digit_mask = (1u << min(digit_bits, int(job.bits - p.row * digit_bits))) - 1;
        }
        p.any_order = i == 0 && !digits.ties && !(digits.crowded >> p.row & 1);
        p.keys_from = at.keys;
        p.values_from = at.values;
        at.keys = at.values = to_out ? BUFFER_OUT : BUFFER_FIRST;
        if (!job.keys_out) /* argsort: back and forth in the scratch, no keys from the last pass of all */
            at.keys = i + 1 == count && !more       ? BUFFER_NONE
                      : p.keys_from == BUFFER_FIRST ? BUFFER_SECOND
                                                    : BUFFER_FIRST;
        p.keys_to = at.keys;
        p.values_to = at.values;
    }
    return at;
}

/* Passes of a packed argsort read and write codes: rounds of four digits, each from the first buffer. ends: what
 * becomes of the codes in the last one. */
__device__ inline void plan_rounds(const sort_job &job, const varying_digits &digits, uint32_t first, uint32_t count,
                                   sort_pass *pass, sort_buffer ends) {
    plan_passes(job, digits, first, count, pass, {BUFFER_FIRST, BUFFER_NONE}, count % 2 != 0, true);
    for (uint32_t i = 0; i < count; i++) {
        sort_pass &p = pass[i];
        const bool last = i % packed_passes == packed_passes - 1 || i + 1 == count;
        p.keys_from = i % 2 ? BUFFER_SECOND : BUFFER_FIRST;
        p.keys_to = last ? ends : i % 2 ? BUFFER_FIRST : BUFFER_SECOND;
        p.order = {};
        p.shift = i % packed_passes * digit_bits;
    }
}

/* runs: the top digits are tried first, see pack.cuh. */
__device__ inline void plan_packed(const sort_job &job, const varying_digits &digits, bool runs) {
    sort_plan *plan = job.plan;
    const bool rounds = digits.count > packed_passes;
    plan->again = rounds && !runs;
    plan->passes = plan->again ? 0 : min(digits.count, packed_passes);
    plan->passes_again = rounds ? digits.count : 0;
    plan->local_shift = runs ? digits.row[digits.count - packed_passes] * digit_bits : 0;
    plan->local_keys = BUFFER_FIRST;
    plan_rounds(job, digits, digits.count - plan->passes, plan->passes, plan->pass, runs ? BUFFER_FIRST : BUFFER_NONE);
    plan_rounds(job, digits, 0, plan->passes_again, plan->pass + most_digits, BUFFER_NONE);
}

/* ---- few bits that vary ------------------------------------------------------------------------------------------ */

/* Whether there are so few codes, and so many keys of each, that keys are counted. */
__device__ inline sort_narrow narrow_keys(const sort_job &job, const varying_digits &digits, const digit_spread *spread,
                                          uint64_t n) {
    if (!job.narrow_codes || !digits.count)
        return {};
    const uint32_t low = digits.row[0], top = digits.row[digits.count - 1],
                   bits = (top - low) * digit_bits + 32 - uint32_t(__clz(int(spread[top].varying)));
    if (bits > narrow_most_bits || 1u << bits > job.narrow_codes || uint64_t(narrow_share) << bits > n)
        return {};
    if (bits > narrow_counted_bits && !spread[low + 1].varying)
        return {};
    const uint64_t key = load_bits(job.keys_in, 0, job.key_bytes), mask = (uint64_t(1) << bits) - 1,
                   shift = low * digit_bits;
    return {1u << bits, uint32_t(shift), (key & ~(mask << shift)) | (job.order.flip & mask << shift)};
}

/* One pass, if there are too many codes for a CTA to count all. */
__device__ inline void plan_narrow(const sort_job &job, const varying_digits &digits, const sort_narrow &narrow) {
    sort_plan *plan = job.plan;
    plan->narrow = narrow;
    plan->passes = narrow.codes > 1u << narrow_counted_bits;
    varying_digits second = digits;
    second.row[0] = digits.row[0] + 1;
    second.ties = false;
    plan_passes(job, second, 0, plan->passes, plan->pass, {BUFFER_IN, BUFFER_NONE}, false, true);
}

/* ---- the top digits ---------------------------------------------------------------------------------------------- */

struct top_choice {
    uint32_t digits; /* 0: none */
    uint32_t reach;  /* keys in a bucket, at most */
    bool values;     /* buckets are large, and may be of one value each */
};

constexpr uint32_t bucket_sample_least = 16; /* keys of a sample that tell how large their bucket is */

/* How many of the top digits that vary make buckets for the local stage; none if they are too many to save the passes
 * that it costs. If no key of the sample is alone, all buckets may be of one value: then pairs of equal keys do not
 * count. By the CTA. */
__device__ inline top_choice top_digits(const sort_job &job, const varying_digits &digits, const digit_spread *spread,
                                        uint64_t n, uint32_t *table) {
    const uint32_t widest = widest_bucket(job);
    float bucket = float(n); /* the largest, if digits did not hang together */
    sample_counts equal = {};
    for (uint32_t top = 1; job.local.stride && top + job.local.cost <= digits.count; top++) {
        const uint32_t row = digits.row[digits.count - top];
        bucket *= float(spread[row].most) / float(n);
        if (top == 1 && bucket <= float(job.local.reach))
            return {1, uint32_t(spread[row].most), false};
        if (!takes_sample(job, n))
            break;
        if (top == 1)
            equal = count_sample(job.plan, SAMPLE_CODES, 0, table);
        const bool values = equal.singles == 0;
        float largest = largest_bucket(bucket, equal.repeats);
        if (!values && top > 2 && largest <= float(widest)) { /* do the digits above hang together? */
            const uint32_t shift = digits.row[digits.count - top + 1] * digit_bits,
                           most = count_sample(job.plan, SAMPLE_CODES, shift, table).most;
            const float size = float(most) / sample_size * float(spread[row].most);
            if (most >= bucket_sample_least)
                largest = fmaxf(largest, largest_bucket(size, equal.repeats));
        }
        if (!values && (top == 1 || largest > float(widest)))
            continue;
        const uint32_t pairs = count_sample(job.plan, SAMPLE_CODES, row * digit_bits, table).pairs;
        if (few_pairs(float(pairs) - float(values ? equal.pairs : 0), n, widest))
            return {top, values ? job.local.reach : max(job.local.reach, uint32_t(largest)), values};
    }
    return {};
}

/* Whether the even code's digits, which have the rows after the codes', make buckets. By the CTA. */
__device__ inline top_choice even_choice(const sort_job &job, const digit_spread *spread, uint64_t n, uint32_t *table) {
    const uint32_t widest = widest_bucket(job), digits = even_digits(job), row = job.key_bytes;
    if (digits == 1)
        return spread[row].most <= widest ? top_choice{1, uint32_t(spread[row].most), false} : top_choice{};
    const uint64_t *before = job.plan->before[row + 1]; /* beyond the limits there may be many in a bucket */
    if (before[1] > widest || n - before[radix - 1] > widest)
        return {};
    const float size = float(spread[row].most) * (float(spread[row + 1].most) / float(n));
    const sample_counts sample = count_sample(job.plan, SAMPLE_EVEN_CODES, even_shift(digits), table);
    const float largest = largest_bucket(size, sample.repeats);
    if (largest > float(widest) || !few_pairs(float(sample.pairs), n, widest))
        return {};
    return {digits, max(job.local.reach, uint32_t(largest)), false};
}

/* Whether the top four digits of those that vary make runs so short that a packed argsort tries them. */
__device__ inline bool short_runs(const sort_job &job, const varying_digits &digits, const digit_spread *spread,
                                  uint64_t n, uint32_t *table) {
    if (!job.packed || digits.count <= packed_passes || !takes_sample(job, n))
        return false;
    float run = float(n); /* if digits did not hang together */
    for (uint32_t top = 1; top <= packed_passes; top++)
        run *= float(spread[digits.row[digits.count - top]].most) / float(n);
    const uint32_t shift = digits.row[digits.count - packed_passes] * digit_bits;
    return run <= 1 && few_pairs(count_sample(job.plan, SAMPLE_CODES, shift, table).pairs, n, 1);
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

/* From the counts of rows, some of the even code. By the CTA. */
__device__ inline varying_digits find_digits(const sort_job &job, uint64_t n, int even_rows, digit_spread *spread) {
    const int rows = int((job.bits + digit_bits - 1) / digit_bits);
    for (int row = warp_of_cta(); row < rows + even_rows; row += int(blockDim.x) / 32) {
        const digit_spread s = scan_digit(job.plan, row, n, threadIdx.x % 32);
        if (threadIdx.x % 32 == 0)
            spread[row] = s;
    }
    __syncthreads();
    varying_digits digits;
    digits.count = digits.crowded = 0;
    digits.even = {};
    for (int row = 0; row < rows; row++) {
        digits.crowded |= uint32_t(spread[row].crowded) << row;
        if (spread[row].varying)
            digits.row[digits.count++] = uint32_t(row);
    }
    return digits;
}

/* All digits that vary, if the top ones are not enough. */
__device__ inline void plan_all(const sort_job &job, const varying_digits &digits, sort_place at, bool to_out) {
    sort_plan *plan = job.plan;
    plan->passes_again = digits.count;
    const sort_place end = plan_passes(job, digits, 0, digits.count, plan->pass + most_digits, at, to_out, false);
    plan->finish_again = end.values == BUFFER_OUT ? FINISH_NOTHING : FINISH_COPY;
}

/* By the last CTA of a second survey, of floats alone. */
__device__ inline void make_second_plan(const sort_job &job, uint64_t n) {
    __shared__ digit_spread spread[most_rows];
    varying_digits digits = find_digits(job, n, 0, spread);
    if (threadIdx.x > 0)
        return;
    const sort_buffer at = job.plan->local_keys;
    digits.ties = job.plan->ties;
    plan_all(job, digits, {at, BUFFER_NONE},
             at == BUFFER_IN ? job.keys_in != job.keys_out && digits.count % 2 != 0 : at != BUFFER_OUT);
}

/* By the last CTA of the first survey. memory: sample_slots words of shared memory, for keys of four bytes and more. */
__device__ inline void make_first_plan(const sort_job &job, uint64_t n, uint32_t *memory, const even_code &even) {
    sort_plan *plan = job.plan;
    __shared__ digit_spread spread[most_rows];
    const bool sorted = __ldcg(&plan->falls) == 0, reversed = __ldcg(&plan->rises) == 0;
    const bool odd = __ldcg(&plan->odd) != 0;
    varying_digits digits = find_digits(job, n, even.exists() ? int(even_digits(job)) : 0, spread);
    const bool scattered = !sorted && !reversed, only_even = counts_even_only(job, even);
    const sort_narrow narrow = scattered ? narrow_keys(job, digits, spread, n) : sort_narrow{};
    if (narrow.codes) {
        if (threadIdx.x == 0)
            plan_narrow(job, digits, narrow);
        return;
    }
    top_choice choice = scattered && !only_even ? top_digits(job, digits, spread, n, memory) : top_choice{};
    const bool tries_even =
        scattered && choice.digits == 0 && even.exists() && !odd && digits.count >= even_digits(job) + job.local.cost;
    if (tries_even)
        choice = even_choice(job, spread, n, memory);
    const bool by_even = tries_even && choice.digits > 0;
    const uint32_t top = choice.digits;
    const bool runs = scattered && short_runs(job, digits, spread, n, memory);
    if (threadIdx.x > 0)
        return;

    plan->ties = digits.ties = job.ties && (!job.is_float || job.value_bytes || odd);
    plan->counts_missing = only_even;
    if (!scattered) {
        plan->finish = sorted ? FINISH_NOTHING : FINISH_REVERSE;
        return;
    }
    if (only_even && top == 0) {
        plan->again = 1;
        plan->local_keys = BUFFER_IN;
        return;
    }
    const varying_digits codes = digits;
    if (by_even) {
        plan->even = digits.even = even;
        digits.count = top;
        for (uint32_t i = 0; i < top; i++)
            digits.row[i] = job.key_bytes + i;
        digits.crowded = uint32_t(spread[job.key_bytes].crowded) << job.key_bytes;
    }
    const uint32_t passes = top ? top : digits.count;
    plan->passes = passes;
    plan->local_shift = top ? by_even ? even_shift(top) : digits.row[digits.count - top] * digit_bits : 0;
    if (job.packed) {
        plan_packed(job, digits, runs);
        return;
    }
    /* In place the first pass cannot go to `out`. The last one had better go there if it is the last of all, or if the
     * local stage moves nothing, else to the scratch; a copy follows if it cannot, or the local stage works in place.
     * Not so in an argsort: its local stage moves no keys, and values that it moved in place would no longer be theirs.
     */
    const bool in_place = job.keys_in == job.keys_out || (job.value_bytes && job.values_in == job.values_out);
    const bool to_out = !in_place && (passes % 2 != 0) == (!top || (choice.values && job.keys_out));
    const sort_place in = {BUFFER_IN, job.values_in ? BUFFER_IN : BUFFER_NONE};
    const sort_place at = plan_passes(job, digits, digits.count - passes, passes, plan->pass, in, to_out, top > 0);
    plan->finish = top || at.values == BUFFER_OUT ? FINISH_NOTHING : FINISH_COPY;
    if (top) {
        plan->local_keys = at.keys;
        plan->local_values = at.values;
        plan->local_reach = choice.reach;
        plan->local_stride = job.local.stride - (max(choice.reach, job.local.reach) - job.local.reach);
        if (!only_even)
            plan_all(job, codes, at, at.values != BUFFER_OUT);
    }
}

__device__ inline void make_plan(const sort_job &job, uint64_t n, uint32_t *memory, const even_code &even,
                                 bool second) {
    if (second)
        make_second_plan(job, n);
    else
        make_first_plan(job, n, memory, even);
}

/* Called, not made part of the survey's kernel, where that has few registers: its loops would lose them. */
__attribute__((noinline)) __device__ inline void call_plan(const sort_job &job, uint64_t n, uint32_t *memory,
                                                           const even_code &even, bool second) {
    make_plan(job, n, memory, even, second);
}

} /* namespace scan_cuda */

#endif
