/* SPDX-License-Identifier: MIT
 *
 * The plan of passes over some digits: where each reads and writes; and all of that of a sort by one digit.
 */
#ifndef SCAN_CUDA_SORT_PLAN_PASSES_CUH
#define SCAN_CUDA_SORT_PLAN_PASSES_CUH

#include "digits.cuh"

namespace scan_cuda {

/* Where elements are. */
struct sort_place {
    sort_buffer keys, values;
};

/* Before the first pass. */
__device__ inline sort_place place_of_input(const sort_job &job) {
    return {BUFFER_IN, job.values_in ? BUFFER_IN : BUFFER_NONE};
}

/* Passes over `count` digits from the `first` that varies. to_out: where the first one goes, to `out` or else to the
 * scratch; the others take turns. more: something follows them. Returns where the last one goes. By the first warp, a
 * lane for a pass. */
__device__ inline sort_place plan_passes(const sort_job &job, const varying_digits &digits, uint32_t first,
                                         uint32_t count, sort_pass *pass, sort_place at, bool to_out, bool more) {
    const auto place_after = [&](uint32_t passes) -> sort_place {
        if (passes == 0)
            return at;
        const bool odd = passes % 2 != 0;
        const sort_buffer turn = to_out == odd ? BUFFER_OUT : BUFFER_FIRST;
        if (job.keys_out)
            return {turn, turn};
        /* argsort: back and forth in the scratch, no keys from the last pass of all */
        return {passes == count && !more           ? BUFFER_NONE
                : (at.keys == BUFFER_FIRST) == odd ? BUFFER_SECOND
                                                   : BUFFER_FIRST,
                turn};
    };
    const uint32_t i = threadIdx.x;
    if (i < count) {
        sort_pass &p = pass[i];
        const sort_place from = place_after(i), to = place_after(i + 1);
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
        p.coded = digits.coded && !digits.even.exists();
        p.codes_from = p.coded && i > 0;
        p.codes_to = p.coded && i + 1 < count;
        p.any_order = i == 0 && !digits.ties;
        p.part_from = p.part_to = WHOLE_KEYS;
        p.keys_from = from.keys;
        p.values_from = from.values;
        p.keys_to = to.keys;
        p.values_to = to.values;
    }
    return place_after(count);
}

/* Each CTA of the pass makes the plan of a sort by one digit from the survey's counts, which nobody changes any more.
 * All store equal values, and each reads them after its own barrier, so that stores of other CTAs change nothing. Keys
 * have ties and are no floats, and there are less than 2^32. A plan made before the pass began took
 * 2 to 4 us of an H200 more, a tenth of the time of 10^6 keys (2026-11-29: tools/bench --device cuda --hunt 1 --seed
 * 9013703220934676765). Called, for a pass has no registers to spare. By all threads of the CTA, `radix` at least. */
__attribute__((noinline)) __device__ inline void plan_one_digit(const sort_job &job) {
    __shared__ uint32_t sums[radix / 32];
    sort_plan *plan = job.plan;
    const uint32_t d = threadIdx.x, falls = plan->falls, rises = plan->rises,
                   own = d < radix ? uint32_t(plan->counts[0][d]) : 0,
                   upto = warp_inclusive<add<uint32_t>>(own, d % 32);
    if (d < radix && d % 32 == 31)
        sums[d / 32] = upto;
    __syncthreads();
    if (d < radix) {
        uint32_t lower = upto - own;
        for (uint32_t w = 0; w < d / 32; w++)
            lower += sums[w];
        plan->before[0][d] = lower;
    }
    varying_digits digits = {};
    digits.count = 1;
    digits.ties = true;
    const bool to_out = !is_in_place(job), scattered = falls != 0 && rises != 0;
    plan_passes(job, digits, 0, 1, plan->pass, place_of_input(job), to_out, false);
    if (d == 0) {
        plan->passes = scattered;
        plan->finish = scattered         ? to_out ? FINISH_NOTHING : FINISH_COPY
                       : falls           ? FINISH_REVERSE
                       : job.value_bytes ? FINISH_VALUES
                                         : FINISH_NOTHING;
    }
    __syncthreads();
}

} /* namespace scan_cuda */

#endif
