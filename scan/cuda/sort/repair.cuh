/* SPDX-License-Identifier: MIT
 *
 * Keys sorted by their top digits alone: what is left are short runs of keys that agree in those. The thread at the
 * start of a run puts it in order where it lies.
 *
 *     prefix   3 5 5 5 6 7 7 8
 *     rest     9 4 1 2 0 1 3 7        run of 5: 4 1 2 -> 1 2 4; run of 7 is in order
 *
 * Where a run begins is seen from prefixes only, which a repair does not change, so every run has one owner whatever
 * others write meanwhile. A run longer than `repair_most` that is not in order is left alone and reported: the plan
 * then sorts by all digits (plan.cuh). Long runs of one key are in order.
 *
 * Traffic: n reads.
 */
#ifndef SCAN_CUDA_SORT_REPAIR_CUH
#define SCAN_CUDA_SORT_REPAIR_CUH

#include "job.cuh"

namespace scan_cuda {

constexpr int repair_threads = 256;
constexpr uint32_t repair_most = 16;

struct repair {
    uint64_t *keys;
    uint64_t n, flip;
    uint32_t shift;

    __device__ uint64_t code(uint64_t i) const { return keys[i] ^ flip; }
    __device__ uint64_t prefix(uint64_t i) const { return code(i) >> shift; }

    /* From the start of a run. Answers whether all digits are needed. */
    __device__ bool run(uint64_t first) const {
        uint64_t sorted[repair_most], own = prefix(first), last = 0;
        uint32_t count = 0;
        bool falls = false;
        for (; count < repair_most && first + count < n && prefix(first + count) == own; count++) {
            const uint64_t x = code(first + count);
            falls |= x < last;
            last = x;
            uint32_t at = count;
            for (; at > 0 && sorted[at - 1] > x; at--)
                sorted[at] = sorted[at - 1];
            sorted[at] = x;
        }
        if (first + count < n && prefix(first + count) == own) /* too long */
            return falls || code(first + count) < last;
        for (uint32_t k = 0; falls && k < count; k++)
            keys[first + k] = sorted[k] ^ flip;
        return false;
    }

    /* A key greater than the next one with its prefix, not at the start of its run: whether it is beyond the owner's
     * reach. */
    __device__ bool is_far(uint64_t i) const {
        const uint64_t own = prefix(i);
        for (uint32_t back = 1; back < repair_most; back++)
            if (i < back || prefix(i - back) != own)
                return false;
        return i >= repair_most && prefix(i - repair_most) == own;
    }
};

static __global__ void __launch_bounds__(repair_threads) repair_kernel(const __grid_constant__ sort_job job) {
    sort_plan *plan = job.plan;
    if (plan->repair_shift == 0)
        return;
    const uint64_t n = sort_count(job), stride = uint64_t(gridDim.x) * repair_threads;
    const repair r = {static_cast<uint64_t *>(job.keys_out), n, job.order.flip, plan->repair_shift};
    bool again = false;
    for (uint64_t i = uint64_t(blockIdx.x) * repair_threads + threadIdx.x; i + 1 < n; i += stride) {
        const uint64_t own = r.code(i), next = r.code(i + 1);
        if (own >> r.shift != next >> r.shift)
            continue;
        if (i == 0 || r.prefix(i - 1) != own >> r.shift)
            again |= r.run(i);
        else if (own > next)
            again |= r.is_far(i);
    }
    if (again)
        atomicOr(&plan->again, 1u);
}

} /* namespace scan_cuda */

#endif
