/* SPDX-License-Identifier: MIT
 *
 * What the survey's counts say of each digit: which vary, and where the keys of each value begin.
 */
#ifndef SCAN_CUDA_SORT_DIGITS_CUH
#define SCAN_CUDA_SORT_DIGITS_CUH

#include "../device/order.cuh"
#include "job.cuh"

namespace scan_cuda {

struct digit_spread {
    uint64_t most;    /* keys of one value */
    uint32_t varying; /* bits in which values differ; 0 where nothing was counted */
    bool constant;    /* not where nothing was counted */
};

/* What some warps find of a row, each of a part of its values. Code that runs once takes as long as it takes to fetch:
 * so a lane has two values, and not a whole row's share. */
constexpr int row_parts = 4, part_values = radix / row_parts;

struct row_part {
    uint64_t keys, most; /* in all; of one value */
    uint32_t set, clear; /* bits that are set, and clear, in some value that keys have */
};

struct part_counts {
    uint64_t count[part_values / 32];

    __device__ part_counts(const sort_plan *plan, int row, int part, int lane) {
        const uint32_t first = first_of(part, lane);
#pragma unroll
        for (int k = 0; k < part_values / 32; k++)
            count[k] = __ldcg(&plan->counts[row][first + k]); /* not from L1: other SMs added to it */
    }
    static __device__ uint32_t first_of(int part, int lane) { return part * part_values + lane * (part_values / 32); }
};

/* By a warp. */
__device__ inline row_part find_part(const part_counts &own, int part, int lane) {
    uint64_t keys = 0, most = 0;
    uint32_t set = 0, clear = 0;
#pragma unroll
    for (int k = 0; k < part_values / 32; k++) {
        const uint32_t value = own.first_of(part, lane) + k;
        keys += own.count[k];
        most = max(most, own.count[k]);
        set |= own.count[k] ? value : 0;
        clear |= own.count[k] ? ~value : 0;
    }
    return {warp_sum(keys), warp_max(most), warp_or(set), warp_or(clear)};
}

/* By a warp: counts become the number of keys with smaller digits. */
__device__ inline void place_part(sort_plan *plan, int row, int part, const row_part *parts, int lane) {
    const part_counts own(plan, row, part, lane);
    uint64_t keys = 0, before = 0;
#pragma unroll
    for (int k = 0; k < part_values / 32; k++)
        keys += own.count[k];
#pragma unroll 1
    for (int p = 0; p < part; p++)
        before += parts[p].keys;
    before += warp_inclusive<add<uint64_t>>(keys, lane) - keys;
#pragma unroll
    for (int k = 0; k < part_values / 32; k++) {
        plan->before[row][own.first_of(part, lane) + k] = before;
        before += own.count[k];
    }
}

__device__ inline digit_spread spread_of(const row_part *parts, uint64_t n) {
    row_part all = parts[0];
    for (int p = 1; p < row_parts; p++) {
        all.most = max(all.most, parts[p].most);
        all.set |= parts[p].set;
        all.clear |= parts[p].clear;
    }
    return {all.most, all.set & all.clear, all.most == n};
}

/* The digits that vary, the lowest first. */
struct varying_digits {
    uint32_t row[max_digits], count;
    bool ties;      /* sort_plan.ties */
    bool coded;     /* floats that travel as codes, see key_bits.cuh */
    even_code even; /* of which they are, or of codes */
};

/* Returns the lowest bit of the top `digits` digits of the even code. */
__device__ constexpr uint32_t even_shift(uint32_t digits) { return 32 - digits * digit_bits; }

/* From the counts of rows, some of the even code. spread, digits: in shared memory. odd: sort_plan.odd. plan->before is
 * there after the CTA's next barrier: the first warp, which makes the plan, leaves it to the others. By the CTA. */
__device__ inline void find_digits(const sort_job &job, uint64_t n, int even_rows, bool odd, digit_spread *spread,
                                   varying_digits &digits) {
    __shared__ row_part parts[counted_rows][row_parts];
    const int rows = int((job.bits + digit_bits - 1) / digit_bits), all = (rows + even_rows) * row_parts,
              warps = int(blockDim.x) / 32, lane = threadIdx.x % 32;
    part_counts next(job.plan, warp_of_cta() / row_parts, warp_of_cta() % row_parts, lane);
#pragma unroll 1
    for (int i = warp_of_cta(); i < all; i += warps) { /* counts are loaded an iteration ahead */
        const part_counts own = next;
        if (i + warps < all)
            next = part_counts(job.plan, (i + warps) / row_parts, (i + warps) % row_parts, lane);
        const row_part part = find_part(own, i % row_parts, lane);
        if (lane == 0)
            parts[i / row_parts][i % row_parts] = part;
    }
    __syncthreads();
    if (warp_of_cta() == 0) {
        digit_spread own = {};
        if (lane < rows + even_rows)
            spread[lane] = own = spread_of(parts[lane], n);
        const bool varies = lane < rows && !own.constant;
        const unsigned all_varying = __ballot_sync(all_lanes, varies);
        if (varies)
            digits.row[__popc(all_varying & ((1u << lane) - 1))] = uint32_t(lane);
        if (lane == 0) {
            digits.count = uint32_t(__popc(all_varying));
            digits.even = {};
            digits.coded = job.is_float && (!job.keys_out || !odd); /* an argsort writes no keys */
        }
    }
    __syncthreads();
    if (warp_of_cta() > 0)
#pragma unroll 1
        for (int i = warp_of_cta() - 1; i < all; i += warps - 1)
            place_part(job.plan, i / row_parts, i % row_parts, parts[i / row_parts], lane);
}

} /* namespace scan_cuda */

#endif
