/* SPDX-License-Identifier: MIT
 *
 * The plan of a packed argsort (pack.cuh), and that of keys that are counted because few bits vary (narrow.cuh).
 */
#ifndef SCAN_CUDA_SORT_PLAN_PACKED_CUH
#define SCAN_CUDA_SORT_PLAN_PACKED_CUH

#include "plan_passes.cuh"

namespace scan_cuda {

/* Passes over packed codes, of up to four digits from the `first` that varies, are in the first buffer at the end if
 * they are asked for. intervals: they are codes by intervals. */
__device__ inline void plan_codes(const sort_job &job, const varying_digits &digits, uint32_t first, uint32_t count,
                                  bool asked_for, bool intervals) {
    plan_passes(job, digits, first, count, job.plan->pass, {BUFFER_FIRST, BUFFER_NONE}, count % 2 != 0, true);
    const uint32_t i = threadIdx.x;
    if (i < count) {
        sort_pass &p = job.plan->pass[i];
        p.keys_from = i % 2 ? BUFFER_SECOND : BUFFER_FIRST;
        p.keys_to = i + 1 < count ? i % 2 ? BUFFER_FIRST : BUFFER_SECOND : asked_for ? BUFFER_FIRST : BUFFER_NONE;
        p.order = {};
        p.shift = i * digit_bits;
        if (intervals) {
            p.row = counted_rows + i;
            p.digit_mask = radix - 1;
        }
    }
}

/* Passes over all digits of the keys: those that begin in the lower word hand on what is left of the keys, which after
 * the first one fits the buffers, and those in the upper word take that for keys of 4 bytes. */
__device__ inline void plan_parts(const sort_job &job, const varying_digits &digits) {
    sort_plan *plan = job.plan;
    constexpr uint32_t word = 32;
    const uint32_t i = threadIdx.x;
    const auto shift_of = [&](uint32_t digit) { return job.order.begin + digits.row[digit] * digit_bits; };
    const uint32_t lower = __popc(__ballot_sync(all_lanes, i < digits.count && shift_of(i) < word)),
                   upper = digits.count - lower;
    sort_pass *const whole = plan->pass + max_digits, *const words = plan->pass + upper_passes;
    plan->passes_again = lower;
    plan->passes_upper = upper;
    const sort_place at =
        plan_passes(job, digits, 0, lower, whole, place_of_input(job), digits.count % 2 != 0, upper > 0);
    plan_passes(job, digits, lower, upper, words, at, at.values != BUFFER_OUT, false);
    /* What a digit is taken from. */
    const auto part_of = [&](uint32_t digit) {
        return digit == 0 || shift_of(digit) < 16 ? WHOLE_KEYS : shift_of(digit) < word ? UPPER_48 : UPPER_32;
    };
    if (i < lower) {
        sort_pass &p = whole[i];
        p.part_from = part_of(i);
        p.part_to = i + 1 < digits.count ? part_of(i + 1) : WHOLE_KEYS;
        p.codes_to = p.coded && i + 1 < digits.count;
    }
    if (i < upper) {
        sort_pass &p = words[i];
        p.shift -= word;
        p.order.flip = p.coded ? 0 : p.order.flip >> word;
        p.coded = false;
    }
}

/* runs: the top digits are tried first, see pack.cuh; intervals: codes by intervals are. sampled: a sample sort follows
 * that, not passes. */
__device__ inline void plan_packed(const sort_job &job, const varying_digits &digits, bool runs, bool intervals,
                                   bool sampled) {
    sort_plan *plan = job.plan;
    const bool more = digits.count > packed_passes;
    plan->intervals = intervals;
    plan->again = more && !runs && !intervals;
    plan->passes = plan->again ? 0 : min(digits.count, packed_passes);
    plan->local_shift = runs ? digits.row[digits.count - packed_passes] * digit_bits : 0;
    plan->local_keys = BUFFER_FIRST;
    plan_codes(job, digits, digits.count - plan->passes, plan->passes, runs || intervals, intervals);
    if (more && !sampled)
        plan_parts(job, digits);
}

/* ---- few bits that vary ------------------------------------------------------------------------------------------ */

/* Whether there are so few codes, and so many keys of each, that keys are counted. */
__device__ inline sort_narrow narrow_keys(const sort_job &job, const varying_digits &digits, const digit_spread *spread,
                                          uint64_t n) {
    if (!job.narrow_codes || !digits.count)
        return {};
    const uint32_t low = digits.row[0], top = digits.row[digits.count - 1],
                   bits = (top - low) * digit_bits + bits_of(spread[top].varying);
    if (bits > narrow_most_bits || 1u << bits > job.narrow_codes || uint64_t(narrow_copies) << bits > n)
        return {};
    if (bits > narrow_counted_bits && spread[low + 1].constant)
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

} /* namespace scan_cuda */

#endif
