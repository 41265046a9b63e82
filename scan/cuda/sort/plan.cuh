/* SPDX-License-Identifier: MIT
 *
 * The plan, made by the last CTA of the survey from what all of them counted.
 *
 *     sorted, reversed       no passes
 *     digits that vary       a pass each, the least significant first; the buffers so that the last pass ends in `out`
 *     8-byte keys alone      the digits that vary at the top, as many as tell n random keys apart; then the few runs of
 *                            keys that agree in those are put in order where they lie (repair.cuh)
 *     8-byte keys, argsort   passes over 4-byte codes made of the digits that vary (pack.cuh)
 *
 * Whether the top digits will do is guessed from a sample: if two of its keys agree in them, they will not. A wrong
 * guess costs time only: the repair finds runs that are too long, and all digits are sorted after all, from `out` to
 * `out`.
 */
#ifndef SCAN_CUDA_SORT_PLAN_CUH
#define SCAN_CUDA_SORT_PLAN_CUH

#include "../order.cuh"
#include "job.cuh"

namespace scan_cuda {

/* crowded: one value has more than an eighth of the keys. A pass in any order adds to one counter for each, where lanes
 * take turns: then the ballots of a stable pass are quicker. */
struct digit_spread {
    bool constant, crowded;
};

/* A warp a digit: counts become the number of keys with smaller digits. */
__device__ inline digit_spread scan_digit(sort_plan *plan, int row, uint64_t n, int lane) {
    constexpr int each = radix / 32;
    uint64_t count[each], sum = 0;
    bool all = false, many = false;
#pragma unroll
    for (int k = 0; k < each; k++) {
        count[k] = __ldcg(&plan->counts[row][lane * each + k]); /* not from L1: other SMs added to it */
        sum += count[k];
        all |= count[k] == n;
        many |= count[k] > n / 8;
    }
    uint64_t next = warp_inclusive<add<uint64_t>>(sum, lane) - sum;
#pragma unroll
    for (int k = 0; k < each; k++) {
        plan->before[row][lane * each + k] = next;
        next += count[k];
    }
    return {bool(__any_sync(all_lanes, all)), bool(__any_sync(all_lanes, many))};
}

/* The digits that vary, the lowest first. */
struct varying_digits {
    uint32_t row[most_digits], count;
    uint32_t crowded; /* a bit a row */
};

/* Passes over `count` digits from the `first` that varies, from the given buffers to `out`. In place the first pass
 * cannot go from `in` to `out`, so an odd number of passes ends in the scratch, and a copy follows. */
__device__ inline sort_finish plan_passes(const sort_job &job, const varying_digits &digits, uint32_t first,
                                          uint32_t count, sort_pass *pass, sort_buffer keys, sort_buffer values,
                                          bool in_place) {
    const bool copies = in_place && count % 2;
    for (uint32_t i = 0; i < count; i++) {
        sort_pass &p = pass[i];
        const bool to_out = (count - i) % 2 != copies;
        p.order = job.order;
        p.row = digits.row[first + i];
        p.shift = job.order.begin + p.row * digit_bits;
        p.digit_mask = (1u << min(digit_bits, int(job.bits - p.row * digit_bits))) - 1;
        p.any_order = i == 0 && !job.ties && !(digits.crowded >> p.row & 1);
        p.keys_from = keys;
        p.values_from = values;
        p.values_to = to_out ? BUFFER_OUT : BUFFER_FIRST;
        p.keys_to = p.values_to;
        if (!job.keys_out) /* argsort: back and forth in the scratch, no keys from the last pass */
            p.keys_to = i + 1 == count ? BUFFER_NONE : i % 2 ? BUFFER_SECOND : BUFFER_FIRST;
        keys = p.keys_to;
        values = p.values_to;
    }
    return copies ? FINISH_COPY : FINISH_NOTHING;
}

/* The passes of a packed argsort read and write codes: rounds of four digits, each from the first buffer. */
__device__ inline void plan_packed(sort_plan *plan) {
    for (uint32_t i = 0; i < plan->passes; i++) {
        sort_pass &p = plan->pass[i];
        const bool ends = i % packed_passes == packed_passes - 1 || i + 1 == plan->passes;
        p.keys_from = i % 2 ? BUFFER_SECOND : BUFFER_FIRST;
        p.keys_to = ends ? BUFFER_NONE : i % 2 ? BUFFER_FIRST : BUFFER_SECOND;
        p.order = {};
        p.shift = i % packed_passes * digit_bits;
    }
}

/* ---- the top digits ---------------------------------------------------------------------------------------------- */

constexpr uint32_t prefix_samples = 1024, prefix_slots = 2 * prefix_samples;
constexpr uint64_t prefix_least_keys = 16 * prefix_samples;

/* How many of the top digits that vary tell n random keys apart but for one in 2^12, 0 if all are needed anyway: fewer
 * than two passes saved do not pay for the repair. In place their number is even, or a copy would come first. */
__device__ inline uint32_t prefix_digits(const varying_digits &digits, uint64_t n, bool in_place) {
    const uint32_t bits = 64 - uint32_t(__clzll((long long)n)) + 12;
    uint32_t count = (bits + digit_bits - 1) / digit_bits;
    count += in_place && count % 2;
    return n >= prefix_least_keys && count + 2 <= digits.count ? count : 0;
}

/* Whether two keys of a sample agree above `shift`. table: prefix_slots words. By the CTA. */
__device__ inline bool sample_collides(const sort_job &job, uint64_t n, uint32_t shift, unsigned long long *table) {
    for (uint32_t i = threadIdx.x; i < prefix_slots; i += blockDim.x)
        table[i] = 0;
    __syncthreads();
    const uint64_t *keys = static_cast<const uint64_t *>(job.keys_in), stretch = n / prefix_samples;
    bool met = false;
    for (uint32_t s = threadIdx.x; s < prefix_samples; s += blockDim.x) {
        const uint64_t i = s * stretch + (s * 2654435761u) % stretch;
        const unsigned long long prefix = ((keys[i] ^ job.order.flip) >> shift) + 1; /* 0 is an empty slot */
        for (uint64_t slot = prefix * 0x9e3779b97f4a7c15u >> 32;; slot++) {
            const unsigned long long old = atomicCAS(table + slot % prefix_slots, 0ull, prefix);
            met |= old == prefix;
            if (old == 0 || old == prefix)
                break;
        }
    }
    return __syncthreads_or(met);
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

/* By the last CTA. memory: prefix_slots words of shared memory, for 8-byte keys. */
__device__ inline void make_plan(const sort_job &job, uint64_t n, void *memory) {
    sort_plan *plan = job.plan;
    __shared__ digit_spread spread[most_digits];
    const int warp = threadIdx.x / 32, rows = int((job.bits + digit_bits - 1) / digit_bits);
    if (warp < rows) {
        const digit_spread s = scan_digit(plan, warp, n, threadIdx.x % 32);
        if (threadIdx.x % 32 == 0)
            spread[warp] = s;
    }
    __syncthreads();
    varying_digits digits;
    digits.count = digits.crowded = 0;
    for (int row = 0; row < rows; row++) {
        digits.crowded |= uint32_t(spread[row].crowded) << row;
        if (!spread[row].constant)
            digits.row[digits.count++] = uint32_t(row);
    }
    const bool sorted = __ldcg(&plan->falls) == 0, reversed = __ldcg(&plan->rises) == 0;
    const bool in_place = job.keys_in == job.keys_out || (job.value_bytes && job.values_in == job.values_out);
    uint32_t top = job.may_repair && !sorted && !reversed ? prefix_digits(digits, n, in_place) : 0;
    const uint32_t shift = top ? digits.row[digits.count - top] * digit_bits : 0;
    if (top && sample_collides(job, n, shift, static_cast<unsigned long long *>(memory)))
        top = 0;
    if (threadIdx.x > 0)
        return;

    plan->repair_shift = top ? shift : 0;
    plan->passes = sorted || reversed ? 0 : top ? top : digits.count;
    plan->passes_again = top ? digits.count : 0;
    if (sorted || reversed) {
        plan->finish = sorted ? FINISH_NOTHING : FINISH_REVERSE;
        return;
    }
    plan->finish = plan_passes(job, digits, digits.count - plan->passes, plan->passes, plan->pass, BUFFER_IN,
                               job.values_in ? BUFFER_IN : BUFFER_NONE, in_place);
    if (top)
        plan->finish_again =
            plan_passes(job, digits, 0, digits.count, plan->pass + most_digits, BUFFER_OUT, BUFFER_NONE, true);
    if (job.packed)
        plan_packed(plan);
}

} /* namespace scan_cuda */

#endif
