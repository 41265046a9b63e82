/* SPDX-License-Identifier: MIT
 *
 * How a survey and the plan's kernel begin: what they add to they zero themselves, so that no launch before them has
 * to.
 */
#ifndef SCAN_CUDA_SORT_SURVEY_START_CUH
#define SCAN_CUDA_SORT_SURVEY_START_CUH

#include <cstddef>

#include "../device/tickets.cuh"
#include "job.cuh"

namespace scan_cuda {

/* The plan is zero before anything is added to it: the CTA with the first ticket sees to that, while the others read
 * keys. All of the survey zero the counts of narrow keys and of a sample sort, which nobody touches before the survey
 * is over. The first warp alone knows that the plan is zero. */
class survey_start {
    const uint32_t tickets; /* for the CTAs of the survey, and for those of the plan's launch */
    ticket own;             /* of the CTA */
    bool is_open;           /* the plan is zero */

    __device__ static void zero(void *at, size_t bytes, uint64_t first, uint64_t step) {
        for (uint64_t i = first; i < bytes / sizeof(uint4); i += step)
            static_cast<uint4 *>(at)[i] = uint4{};
    }

  public:
    __device__ explicit survey_start(uint32_t tickets) : tickets(tickets) {}

    /* By the CTAs of the survey. */
    __device__ void zero_counts(const sort_job &job) {
        const uint64_t thread = uint64_t(blockIdx.x) * blockDim.x + threadIdx.x,
                       threads = uint64_t(gridDim.x) * blockDim.x;
        if (job.narrow_codes)
            zero(job.narrow_counts, fill_counts_bytes(job.narrow_codes), thread, threads);
        if (job.sampled)
            zero(job.lists, job.lists_zeroed, thread, threads);
    }

    __device__ void open(const sort_job &job) {
        if (warp_of_cta() > 0)
            return;
        if (threadIdx.x == 0)
            own = take_ticket(job.state);
        own.epoch = __shfl_sync(all_lanes, own.epoch, 0);
        own.number = __shfl_sync(all_lanes, own.number, 0);
        is_open = own.number == 0;
        if (is_open) {
            static_assert(offsetof(sort_plan, before) % sizeof(uint4) == 0, "all of what precedes it is zeroed");
            zero(job.plan, offsetof(sort_plan, before), threadIdx.x, 32);
            __syncwarp();
            if (threadIdx.x == 0) {
                gpu_fence();
                publish(job.state.tiles, own.epoch, 1u);
            }
        }
        if (threadIdx.x == 0 && own.number == tickets - 1)
            hand_over(job.state, own.epoch);
    }

    /* Of the first thread. */
    __device__ ticket own_ticket() const { return own; }

    /* By all threads: the first one may touch the plan then, the others after the CTA's next barrier. */
    __device__ void wait(const sort_job &job) {
        uint32_t opened;
        if (threadIdx.x == 0 && !is_open) {
            while (!try_load(job.state.tiles, own.epoch, opened))
                ;
            gpu_fence();
            is_open = true;
        }
        __syncwarp();
    }

    /* By all threads, once the CTA has done with the plan. */
    __device__ void close(const sort_job &job) {
        __shared__ uint32_t epoch;
        if (threadIdx.x == 0)
            epoch = own.epoch;
        __syncthreads();
        leave(job.state, epoch, tickets);
    }
};

} /* namespace scan_cuda */

#endif
