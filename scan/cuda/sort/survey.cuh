/* SPDX-License-Identifier: MIT
 *
 * The survey: one read of the keys from which the whole sort is planned, on the device.
 *
 *     keys --> histograms of every digit --> where each digit's keys begin; a digit of one value needs no pass
 *          --> is a key less, or greater, than the one before it --> sorted or reversed input needs no pass
 *          --> is a float NaN or -0 --> without them no two keys that are equal in order can be told apart
 *          --> out, as long as all is in order: sorted keys are done when they have been read
 *
 * Copying costs an unsorted input next to nothing: a CTA does not begin if a sample is not in order, and stops at the
 * first descent that it sees, or hears of; and where it, or the sample, has shown a rise too, it looks at order no
 * more. Another launch, of one or two CTAs, which begins beside it, turns the counts into the plan (plan.cuh), but for
 * sorts by one digit (plan_passes.cuh). Of many keys, the first CTAs count a larger sample before they read
 * (larger_sample.cuh).
 *
 * Of floats alone that a sample finds spread evenly between two limits, digits of their values as integers are counted
 * (even.cuh): the top one beside the codes' if it is enough for the local stage, else the top two alone, and a second
 * survey counts the codes' if the plan needs them after all.
 *
 * Counting is the work. 32 lanes that add to one table of 256 counters meet three or four to a bank, and where keys
 * have few values all at one counter. So a counter is a row of columns, of which a lane has one: 32 as in
 * histogram_bytes.cuh, and no two lanes meet; or fewer for longer keys, and fewer for few keys, whose counters take
 * longer to clear and to sum than to count. Keys of one and two bytes stay packed in words, and are compared as they
 * lie.
 *
 * Traffic: n keys read, twice if a guess of even floats was wrong; sorted keys also written.
 */
#ifndef SCAN_CUDA_SORT_SURVEY_CUH
#define SCAN_CUDA_SORT_SURVEY_CUH

#include "../device/kernel.cuh"
#include "plan.cuh"
#include "survey_read.cuh"
#include "survey_start.cuh"

namespace scan_cuda {

constexpr uint32_t survey_asks = 4; /* tiles after each of which a CTA asks its threads whether one saw a rise */

/* A CTA's counters to the plan's. */
template <class Key, bool wide>
__device__ void add_counts(const uint32_t *counts, sort_plan *plan, int first_row, int rows) {
    using shape = survey_shape<Key, wide>;
    for (int i = threadIdx.x; i < rows * radix; i += shape::threads) {
        uint32_t sum = 0;
#pragma unroll 8
        for (int c = 0; c < shape::columns; c++) /* lanes begin at different columns: other banks */
            sum += counts[i * shape::columns + (i * shape::columns / 32 + c) % shape::columns];
        if (sum)
            atomicAdd(&plan->counts[first_row + i / radix][i % radix], (unsigned long long)sum);
    }
}

/* Keys at some places of the input, the first and the last among them: if one is less than the one before it, some key
 * is less than its neighbour. */
template <class Key, int threads> class order_sample {
    using K = key_bits<Key>;
    const sort_order order;
    K own, after; /* loaded before they are looked at */

  public:
    __device__ order_sample(const sort_job &job, uint64_t n) : order(job.order), own(0), after(0) {
        if (n == 0)
            return;
        const K *keys = static_cast<const K *>(job.keys_in);
        const auto place = [&](uint32_t s) { return s < threads ? stratified_place(s, n / threads) : n - 1; };
        own = keys[place(threadIdx.x)];
        after = keys[place(threadIdx.x + 1)];
    }
    __device__ K key() const { return own; } /* at stratified_place(threadIdx.x, n / threads) */
    /* By the CTA. */
    __device__ bool falls() const {
        return __syncthreads_or(sort_code<Key>(after, order) < sort_code<Key>(own, order));
    }
    __device__ bool rises() const {
        return __syncthreads_or(sort_code<Key>(after, order) > sort_code<Key>(own, order));
    }
};

/* Where a CTA's tiles begin: all take turns, but those that count a larger sample first come late, and sit out about as
 * many rounds as that takes. */
class survey_turns {
    uint64_t step;  /* keys from a tile to the next */
    uint32_t early; /* steps left until all take turns */

  public:
    uint64_t first;

    __device__ survey_turns(uint32_t late, uint64_t n, uint64_t tile)
        : step(gridDim.x * tile), early(0), first(blockIdx.x * tile) {
        if (late == 0)
            return;
        const uint64_t fewer = (gridDim.x - late) * tile, missed = max(min(n / step / 3, uint64_t(12)), uint64_t(4));
        if (blockIdx.x < late) {
            first += missed * fewer;
        } else {
            first -= late * tile;
            step = fewer;
            early = uint32_t(missed) - 1;
        }
    }
    __device__ bool more(uint64_t n) const { return n - first > step; }
    __device__ void next(uint64_t tile) {
        first += step;
        if (early > 0 && --early == 0)
            step = gridDim.x * tile;
    }
};

/* second: the second survey, of floats, which counts codes. */
template <class Key, bool wide>
__global__ void __launch_bounds__(survey_shape<Key, wide>::threads, survey_shape<Key, wide>::ctas)
    survey_kernel(const __grid_constant__ sort_job job, bool second) {
    using shape = survey_shape<Key, wide>;
    if (!shape::tries_even)
        second = false; /* for the compiler: integers have none */
    uint32_t *counts = dynamic_shared<uint32_t>();
    sort_plan *plan = job.plan;
    if (second) {
        grid_dependency_wait();
        if (!(plan->again && plan->counts_missing))
            return;
    }
    const int rows = shape::tries_even || wide ? shape::digits : int((job.bits + digit_bits - 1) / digit_bits);
    const auto clear = [&] {
        for (int i = threadIdx.x; i < rows * (radix * shape::columns / 4); i += shape::threads)
            reinterpret_cast<uint4 *>(counts)[i] = uint4{};
    };
    clear();
    if (!second)
        grid_dependency_wait();
    __syncthreads();
    const uint64_t n = sort_count(job), tile = shape::tile_of(n);
    const bool samples = !second && n > 0;
    const order_sample<Key, shape::threads> order(job, samples ? n : 0);
    const bool plan_follows = !second && job.plan_ctas > 0;
    survey_start start(gridDim.x + job.plan_ctas);
    if (!second) {
        start.zero_counts(job);
        start.open(job);
    }
    if (plan_follows && threadIdx.x == 0) /* when the CTA has its ticket: the plan's get the last ones */
        grid_dependents_launch();

    const bool copies_keys = job.keys_out && job.keys_out != job.keys_in;
    const bool aligned = (uintptr_t(job.keys_in) | (copies_keys ? uintptr_t(job.keys_out) : 0)) % 16 == 0;
    even_code even = {};
    bool falls = false, rises = false; /* in a sample */
    if (samples) {
        if constexpr (shape::tries_even)
            if (!wide || job.again_follows)
                even = find_even<Key, shape::threads>(job, n, order.key(), counts);
        if constexpr (sizeof(Key) >= 4)
            if (takes_wide_sample(job, n))
                take_wide_sample<Key>(job, n);
        falls = order.falls();
        rises = falls && order.rises();
    }
    uint32_t late = 0; /* CTAs */
    if constexpr (sizeof(Key) >= 4 && wide)
        if (!second && takes_larger_sample(job, n)) {
            late = larger_parts < gridDim.x ? larger_parts : 0; /* or else all are */
            __syncthreads();
            for (uint32_t part = blockIdx.x; part < larger_parts; part += gridDim.x)
                count_part<Key>(job, n, part, counts);
            if (blockIdx.x < larger_parts)
                clear();
            __syncthreads();
        }
    survey<Key, wide> s(job, n, counts + threadIdx.x % shape::columns, even);
    /* What is not in order is not copied up to the first descent, which may come late; and if it is neither sorted nor
     * reversed, nobody looks at order. */
    bool in_order = !falls, rose = rises;
    uint32_t asked = 0;
    survey_turns turns(late, n, tile);
    for (; turns.first < n && !rose && !second; turns.next(tile)) {
        const uint64_t first = turns.first;
        const bool more = turns.more(n);
        s.template tile<true>(first, min(n, first + tile), aligned, in_order && copies_keys);
        if (in_order) {
            start.wait(job);
            const bool heard = more && threadIdx.x == 0 && __ldcg(&plan->falls);
            in_order = !__syncthreads_or(s.fell() || heard);
            if (!in_order && threadIdx.x == 0 && !heard)
                atomicOr(&plan->falls, 1u);
        }
        if (!in_order && more && asked++ < survey_asks)
            rose = __syncthreads_or(s.rose());
    }
    for (; turns.first < n; turns.next(tile)) {
        s.template tile<false>(turns.first, min(n, turns.first + tile), aligned, false);
        if (!second)
            start.wait(job); /* here no warp waits for another one's */
    }
    if (!second)
        start.wait(job);
    const bool tells = blockIdx.x == 0; /* what all know of the sample */
    if (__syncthreads_or(s.rose() || (tells && rises)) && threadIdx.x == 0)
        atomicOr(&plan->rises, 1u);
    if (tells && falls && threadIdx.x == 0)
        atomicOr(&plan->falls, 1u);
    if (shape::tries_even && __syncthreads_or(s.is_odd()) && threadIdx.x == 0)
        atomicOr(&plan->odd, 1u);

    const bool only_even = shape::tries_even && counts_even_only(job, even);
    add_counts<Key, wide>(counts, plan, only_even ? int(sizeof(Key)) : 0, only_even ? 2 : rows);
    __syncthreads();
    if (!second) {
        if (plan_follows && threadIdx.x == 0)
            add_release(&plan->done, 1u);
        return start.close(job);
    }
    __shared__ bool last;
    if (threadIdx.x == 0) {
        gpu_fence(); /* for what the CTA added before the barrier, and what the others did */
        last = atomicAdd(&plan->done, 1u) == gridDim.x - 1;
        gpu_fence();
    }
    __syncthreads();
    if (last)
        make_second_plan(job, n);
}

} /* namespace scan_cuda */

#endif
