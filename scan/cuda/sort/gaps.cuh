/* SPDX-License-Identifier: MIT
 *
 * What the gaps between a sample's codes, in order, tell of 8-byte keys: whether they crowd.
 *
 *     codes    . . .  .   . .  .  .     even gaps: bins of one width have a key or two each
 *              ...        ....  ..      wide ones beside narrow ones: most bins are empty, the others crowded
 *
 * Sorting the sample takes 12 us of an H200, and 20 if it is twice as large (2026-11-30). Of many keys a second CTA of
 * the plan's launch does it while the survey reads. Of fewer keys the survey ends sooner than that, so the plan's CTA
 * does it, and only if the plan asks. When the plan's CTA always did it, and once for each question, sorts of 5 to 9
 * million keys took up to 6 % longer (tools/bench --device cuda --hunt 1 --seed 10338885994620109162,
 * 9207670978409701642).
 */
#ifndef SCAN_CUDA_SORT_GAPS_CUH
#define SCAN_CUDA_SORT_GAPS_CUH

#include "../device/tickets.cuh"
#include "merge_tile.cuh"
#include "sample_pairs.cuh"

namespace scan_cuda {

/* The share of the gaps that are 64 times as wide as the one before, or as narrow: a thirtieth where codes are spread
 * smoothly between neighbours, a fifth and more where they lie in clusters, or with bits between others that hardly
 * vary. codes: in order. By the CTA. */
__device__ inline float uneven_share(const uint64_t *codes, uint32_t size) {
    uint32_t gaps = 0, uneven = 0;
    for (uint32_t s = threadIdx.x + 1; s + 1 < size; s += blockDim.x) {
        const uint64_t before = codes[s] - codes[s - 1], after = codes[s + 1] - codes[s];
        const int ratio = int(bits_of(before)) - int(bits_of(after));
        gaps += before > 0 && after > 0;
        uneven += before > 0 && after > 0 && abs(ratio) > 6;
    }
    return float(cta_sum(uneven)) / float(max(cta_sum(gaps), 1u));
}

/* How many keys lie above a key within two gaps between keys, as wide as these are on average on the denser side of it,
 * equal ones left out: two where codes are spread smoothly, as many as a cluster has where they lie in clusters. codes:
 * in order. By the CTA. */
__device__ inline float close_keys(const uint64_t *codes, uint32_t size, uint64_t n) {
    constexpr uint32_t reach = 4; /* neighbours of a gap on a side */
    uint32_t close = 0;
    for (uint32_t s = threadIdx.x + reach; s + 1 + reach < size; s += blockDim.x) {
        const float gap = float(codes[s + 1] - codes[s]), below = float(codes[s] - codes[s - reach]),
                    above = float(codes[s + 1 + reach] - codes[s + 1]);
        close += gap > 0 && gap < 2 * (fminf(below, above) / reach) * (float(size) / float(n));
    }
    return float(cta_sum(close)) * float(n) / (float(size) * float(size));
}

/* As many as a bucket has. */
constexpr float close_most = 4000;
/* Whether bins hold several keys each: from close_least close keys on, up to `most`. */
__device__ inline bool lies_close(float close, float most) { return close >= close_least && close <= most; }

/* The gaps of one sample. The CTA sorts the sample at the first question, or, if `ahead`, waits for the CTA that sorts
 * it and publishes both results in the state's words 1 and 2; word 0 says that the plan is zero. */
class sample_gaps {
    const sort_job &job;
    const uint64_t n;
    uint64_t *const codes; /* shared memory for the sample */
    const uint32_t epoch;
    const bool ahead; /* another CTA finds it */
    bool found = false;
    float share = 0, close_by = 0;

    __device__ uint64_t *words() const { return job.state.tiles + 1; }
    __device__ float received(uint32_t which) const {
        float x;
        while (!try_load(words() + which, epoch, x))
            ;
        __syncwarp();
        return x;
    }
    /* Not inlined, for several places ask: the time is that of fetching code that runs once. */
    __attribute__((noinline)) __device__ void find() {
        if (ahead) {
            share = received(0);
            close_by = received(1);
        } else {
            order();
        }
        found = true;
    }
    __device__ void order() {
        const uint32_t size = blockDim.x >= gap_samples / 4 ? gap_samples : gap_samples / 2;
        const auto *keys = static_cast<const uint64_t *>(job.keys_in);
#pragma unroll 4
        for (uint32_t s = threadIdx.x; s < size; s += blockDim.x)
            codes[s] = code_of_bits(job, keys[uniform_place(sample_size + s, n)]);
        merged_tile<1, uint64_t, false>(codes, size).sort();
        share = uneven_share(codes, size);
        close_by = close_keys(codes, size, n);
    }

  public:
    __device__ sample_gaps(const sort_job &job, uint64_t n, void *memory, uint32_t epoch, bool ahead)
        : job(job), n(n), codes(static_cast<uint64_t *>(memory)), epoch(epoch), ahead(ahead) {}

    /* uneven_share() and close_keys(). By the CTA. */
    __device__ float uneven() {
        if (!found)
            find();
        return share;
    }
    __device__ float close() {
        if (!found)
            find();
        return close_by;
    }
    /* By the other CTA. */
    __device__ void publish_gaps() {
        order();
        if (threadIdx.x == 0) {
            publish(words(), epoch, share);
            publish(words() + 1, epoch, close_by);
        }
    }
};

} /* namespace scan_cuda */

#endif
