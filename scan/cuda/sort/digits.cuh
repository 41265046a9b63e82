/* SPDX-License-Identifier: MIT
 *
 * What the survey's counts say of each digit: which vary, and where the keys of each value begin.
 */
#ifndef SCAN_CUDA_SORT_DIGITS_CUH
#define SCAN_CUDA_SORT_DIGITS_CUH

#include "../device/order.cuh"
#include "job.cuh"

namespace scan_cuda {

/* crowded: one value has more than an eighth of the keys. A pass in any order adds to one counter for each, where lanes
 * take turns: then the ballots of a stable pass are quicker. */
struct digit_spread {
    uint64_t most;    /* keys of one value */
    uint32_t varying; /* bits in which values differ; 0 where nothing was counted */
    bool constant;    /* not where nothing was counted */
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
    return {most, warp_or(set) & warp_or(clear), most == n, most > n / 8};
}

/* The digits that vary, the lowest first. */
struct varying_digits {
    uint32_t row[max_digits], count;
    uint32_t crowded; /* a bit a row */
    bool ties;        /* sort_plan.ties */
    even_code even;   /* of which they are, or of codes */
};

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
        if (!spread[row].constant)
            digits.row[digits.count++] = uint32_t(row);
    }
    return digits;
}

} /* namespace scan_cuda */

#endif
