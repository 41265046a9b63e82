/* SPDX-License-Identifier: MIT
 *
 * What the CTAs of a cooperative sort (kernel.cuh) tell each other: that they have come to a barrier of the grid, how
 * many keys of each digit they hold, and what their codes look like.
 *
 * A barrier of the grid is a word of each CTA, tagged with the launch's epoch (tickets.cuh), that counts the barriers
 * to which the CTA has come. Threads wait for the words of all CTAs, one each: so there is no atomic that all CTAs
 * would queue for.
 */
#ifndef SCAN_CUDA_COOPERATIVE_EXCHANGE_CUH
#define SCAN_CUDA_COOPERATIVE_EXCHANGE_CUH

#include "../device/order.cuh"
#include "../device/tickets.cuh"
#include "../sort/job.cuh"

namespace scan_cuda {

constexpr int cooperative_warps = cooperative_threads / 32;
constexpr uint32_t max_cooperative_ctas = 256, max_buckets = 256;

/* In job.state.tiles: the words of the barriers, then splitters' codes, two words each, and their positions. */
constexpr uint32_t cooperative_state_words = max_cooperative_ctas + 3 * max_buckets;

/* Keys that a CTA gives to the sample that splitters are taken from. */
constexpr uint32_t cooperative_samples = 32;

/* In job.plan, of each CTA. */
struct cooperative_look {
    uint64_t ones, zeros;  /* bits that are 1, 0 in some code */
    uint64_t falls, rises; /* whether some code is less than the one before it; greater, or equal where that matters */
};
struct cooperative_board {
    cooperative_look look;
    uint16_t counts[2][radix];
    alignas(16) uint64_t sample_codes[cooperative_samples]; /* in order; of 4 bytes, in the first half */
    uint32_t sample_at[cooperative_samples];                /* their positions */
};

struct cooperative_shared {
    uint32_t begins[radix];         /* in the sorted tile, of each digit */
    uint32_t base[radix];           /* where the digit's keys go, less `begins` */
    uint32_t starts[radix];         /* of each digit in the array */
    uint32_t warp_sums[radix / 32]; /* keys of 32 digits */
    uint64_t warp_ones[cooperative_warps], warp_zeros[cooperative_warps];
    uint32_t warp_order[cooperative_warps]; /* bit 0: falls, bit 1: rises */
    ticket own;                             /* of the CTA */
};

class cooperative_exchange {
    const sort_job &job;
    cooperative_shared &shared;
    const int thread, warp, lane;
    uint32_t barriers; /* to which this CTA has come */

  public:
    cooperative_board *const boards;

    __device__ cooperative_exchange(const sort_job &job, cooperative_shared &shared)
        : job(job), shared(shared), thread(threadIdx.x), warp(warp_of_cta()), lane(threadIdx.x % 32), barriers(0),
          boards(reinterpret_cast<cooperative_board *>(job.plan)) {}

    /* Comes before all else that CTAs tell each other. */
    __device__ void open() const {
        if (thread == 0) {
            shared.own = take_ticket(job.state);
            if (shared.own.number == gridDim.x - 1)
                hand_over(job.state, shared.own.epoch);
        }
    }

    __device__ void close() const { leave(job.state, shared.own.epoch); }

    /* After a barrier of the CTA. */
    __device__ uint32_t epoch() const { return shared.own.epoch; }

    /* By all threads: what they have written is there for those who wait. */
    __device__ void arrive() {
        perturb();
        barriers++;
        __syncthreads();
        if (thread == 0) {
            gpu_fence();
            publish(job.state.tiles + blockIdx.x, epoch(), barriers);
        }
    }
    /* By all threads: until all CTAs have arrived. */
    __device__ void wait() {
        uint32_t reached;
        for (uint32_t c = uint32_t(thread); c < gridDim.x; c += cooperative_threads)
            while (!try_load_acquire(job.state.tiles + c, epoch(), reached) || reached < barriers)
                ;
        __syncwarp();
        __syncthreads();
    }

    /* ---- looks --------------------------------------------------------------------------------------------------- */

  private:
    /* Returns what the threads of the CTA see, together. */
    __device__ cooperative_look together(uint64_t ones, uint64_t zeros, bool falls, bool rises) const {
        ones = warp_or(ones);
        zeros = warp_or(zeros);
        const uint32_t order = warp_or(uint32_t(falls) | uint32_t(rises) << 1);
        if (lane == 0) {
            shared.warp_ones[warp] = ones;
            shared.warp_zeros[warp] = zeros;
            shared.warp_order[warp] = order;
        }
        __syncthreads();
        const bool reads = lane < cooperative_warps;
        const uint32_t order_of_all = warp_or(reads ? shared.warp_order[lane] : 0);
        cooperative_look look;
        look.ones = warp_or(reads ? shared.warp_ones[lane] : 0);
        look.zeros = warp_or(reads ? shared.warp_zeros[lane] : 0);
        look.falls = order_of_all % 2;
        look.rises = order_of_all / 2;
        __syncthreads();
        return look;
    }

  public:
    /* By all threads: the bits in which codes of the CTA differ. */
    __device__ uint64_t differing(uint64_t ones, uint64_t zeros) const {
        const cooperative_look look = together(ones, zeros, false, false);
        return look.ones & look.zeros;
    }

    /* By all threads: the least and the greatest code of the CTA, from each thread's. */
    template <class Code> __device__ void find_bounds(Code &least, Code &greatest) const {
        least = Code(~warp_max(Code(~least)));
        greatest = warp_max(greatest);
        if (lane == 0) {
            shared.warp_ones[warp] = least;
            shared.warp_zeros[warp] = greatest;
        }
        __syncthreads();
        least = Code(~warp_max(lane < cooperative_warps ? Code(~shared.warp_ones[lane]) : Code(0)));
        greatest = warp_max(lane < cooperative_warps ? Code(shared.warp_zeros[lane]) : Code(0));
        __syncthreads();
    }

    __device__ void give_look(uint64_t ones, uint64_t zeros, bool falls, bool rises) const {
        const cooperative_look own = together(ones, zeros, falls, rises);
        if (thread == 0)
            boards[blockIdx.x].look = own;
    }

    /* By all threads, after a barrier of the grid. What threads have begun to copy to shared memory arrives too. */
    __device__ cooperative_look look_of_all() const {
        uint64_t ones = 0, zeros = 0, falls = 0, rises = 0;
        for (uint32_t c = uint32_t(thread); c < gridDim.x; c += cooperative_threads) {
            const cooperative_look &look = boards[c].look;
            ones |= __ldcg(&look.ones);
            zeros |= __ldcg(&look.zeros);
            falls |= __ldcg(&look.falls);
            rises |= __ldcg(&look.rises);
        }
        __syncwarp();
        copies_arrive();
        return together(ones, zeros, falls != 0, rises != 0);
    }

    /* ---- counts -------------------------------------------------------------------------------------------------- */

    /* Counts have two buffers, which passes take in turns, because a pass that moves nothing ends without a barrier: a
     * CTA that gives counts for pass p + 2 has seen all give those for pass p + 1, and so all have used those for pass
     * p. */
    __device__ void give_count(uint32_t pass, int digit, uint32_t count) const {
        boards[blockIdx.x].counts[pass % 2][digit] = uint16_t(count);
    }

  private:
    static constexpr int adding_warps = cooperative_warps < 16 ? cooperative_warps : 16, adding_groups = 8,
                         adding_rounds = adding_warps / adding_groups;
    static_assert(adding_warps % adding_groups == 0, "rounds of all groups");

    /* A lane adds eight digits of a CTA to eight sums. */
    static __device__ void add_counts(uint32_t (&sums)[8], const uint4 &counts) {
        const uint32_t pairs[4] = {counts.x, counts.y, counts.z, counts.w};
#pragma unroll
        for (int k = 0; k < 4; k++) {
            sums[2 * k] += pairs[k] & 0xffff;
            sums[2 * k + 1] += pairs[k] >> 16;
        }
    }

  public:
    /* By all threads, after a barrier of the grid: where each digit begins, and where its keys of this CTA go. digits:
     * no CTA has keys of others from there on. sums: room for two arrays of each of eight groups. A CTA begins with its
     * own counts, so that CTAs read different ones at a time. */
    __device__ void find_bases(uint32_t pass, uint32_t digits, uint32_t (*sums)[2][radix]) const {
        static_assert(radix == 32 * 8, "a lane adds up eight digits");
        constexpr uint32_t together = 3;
        uint32_t lower[8] = {}, upper[8] = {};
        if (warp < adding_warps)
            for (uint32_t k = uint32_t(warp); k < gridDim.x; k += together * adding_warps) {
                uint4 counts[together];
                uint32_t cta[together];
#pragma unroll
                for (uint32_t t = 0; t < together; t++) {
                    const uint32_t at = k + t * adding_warps, from = blockIdx.x + at;
                    cta[t] = from < gridDim.x ? from : from - gridDim.x;
                    counts[t] = at < gridDim.x && uint32_t(lane) * 8 < digits
                                    ? __ldcg(reinterpret_cast<const uint4 *>(boards[cta[t]].counts[pass % 2]) + lane)
                                    : uint4{};
                }
#pragma unroll
                for (uint32_t t = 0; t < together; t++)
                    if (cta[t] < blockIdx.x)
                        add_counts(lower, counts[t]);
                    else
                        add_counts(upper, counts[t]);
            }
        for (int round = 0; round < adding_rounds; round++) {
            if (warp / adding_groups == round) {
                uint32_t(*own)[radix] = sums[warp % adding_groups];
#pragma unroll
                for (int k = 0; k < 8; k++) { /* digit d at [d % 8 * 32 + d / 8]: lanes store to neighbours */
                    own[0][k * 32 + lane] = lower[k] + upper[k] + (round ? own[0][k * 32 + lane] : 0);
                    own[1][k * 32 + lane] = lower[k] + (round ? own[1][k * 32 + lane] : 0);
                }
            }
            __syncthreads();
        }
        uint32_t all = 0, below = 0, through = 0;
        if (thread < radix) {
#pragma unroll
            for (int g = 0; g < adding_groups; g++) {
                all += sums[g][0][thread % 8 * 32 + thread / 8];
                below += sums[g][1][thread % 8 * 32 + thread / 8];
            }
            through = warp_inclusive<add<uint32_t>>(all, lane);
            if (lane == 31)
                shared.warp_sums[warp] = through;
        }
        __syncthreads();
        if (thread < radix) {
            uint32_t start = through - all;
#pragma unroll
            for (int w = 0; w < radix / 32 - 1; w++)
                start += w < warp ? shared.warp_sums[w] : 0;
            shared.starts[thread] = start;
            shared.base[thread] = start + below - shared.begins[thread];
        }
        __syncthreads();
    }
};

} /* namespace scan_cuda */

#endif
