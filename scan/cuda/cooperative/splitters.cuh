/* SPDX-License-Identifier: MIT
 *
 * Splitters: keys of the input that cut it into buckets of nearly equal size, whatever the keys are.
 *
 * Every CTA gives a sorted sample of its keys, one from each of equal parts of its tile at a place that a hash picks,
 * and finds by binary search in the samples of all CTAs which rank each of its own has among all. The sample of rank
 * r * (samples / buckets) is splitter r. Equal keys are told apart by their positions, so buckets stay stable: one
 * holds the elements from one (code, position) to the next. A value that is two splitters or more has a bucket of its
 * own, with all of its copies, however many: that bucket is in order as it is.
 *
 * Sizes of buckets vary as sums of as many exponential variables as there are samples a bucket: with 32 of them the
 * largest of 132 buckets is mostly 1.5 times as large as the mean, with 16 the largest of 256 is 1.8 times as large.
 */
#ifndef SCAN_CUDA_COOPERATIVE_SPLITTERS_CUH
#define SCAN_CUDA_COOPERATIVE_SPLITTERS_CUH

#include "../device/hash.h"
#include "exchange.cuh"

namespace scan_cuda {

template <class Code> struct cooperative_splitters {
    Code code[max_buckets];            /* of splitter r + 1, in order; past the last: the greatest */
    uint32_t at[max_buckets];          /* their positions */
    uint8_t of_one_value[max_buckets]; /* whether the bucket is */
    Code own[cooperative_samples];
    uint32_t own_at[cooperative_samples], rank[cooperative_samples];

    static constexpr uint32_t samples = cooperative_samples, parts = cooperative_threads / samples;
    static_assert(cooperative_threads % samples == 0 && samples % 2 == 0, "threads share the work on samples");

    /* ---- the CTA's sample ---------------------------------------------------------------------------------------- */

    /* By all threads. code_at(position). first, count: the CTA's positions, `samples` of them at least. */
    template <class CodeAt>
    __device__ void give(cooperative_board &board, uint32_t first, uint32_t count, CodeAt code_at) {
        const uint32_t i = threadIdx.x % samples, part = threadIdx.x / samples;
        if (part == 0) {
            const uint32_t begin = uint32_t(uint64_t(i) * count / samples), width = count / samples;
            const uint32_t position = first + begin + uint32_t(hash_below(first + i, width));
            own[i] = code_at(position);
            own_at[i] = position;
            rank[i] = 0;
        }
        __syncthreads();
        uint32_t before = 0;
        for (uint32_t j = part; j < samples; j += parts)
            before += own[j] < own[i] || (own[j] == own[i] && j < i);
        atomicAdd(&rank[i], before);
        __syncthreads();
        if (part == 0) {
            reinterpret_cast<Code *>(board.sample_codes)[rank[i]] = own[i];
            board.sample_at[rank[i]] = own_at[i];
        }
    }

    /* ---- the splitters ------------------------------------------------------------------------------------------- */

  private:
    /* How many codes of a sorted sample are less than this one, or less or equal. */
    static __device__ uint32_t codes_before(const Code *sample, Code code, bool or_equal) {
        uint32_t before = 0;
#pragma unroll
        for (uint32_t step = samples / 2; step > 0; step /= 2) {
            const Code middle = sample[before + step - 1];
            before += middle < code || (or_equal && middle == code) ? step : 0;
        }
        return before + uint32_t(sample[before] < code || (or_equal && sample[before] == code));
    }

  public:
    /* By all threads, after a barrier of the grid: begins to copy the samples of all CTAs that have given some, the
     * first ones, to `all`. */
    __device__ void fetch(const cooperative_exchange &exchange, uint32_t ctas, Code *all) {
        const uint32_t thread = threadIdx.x;
        constexpr uint32_t each = samples * sizeof(Code) / sizeof(uint4);
        for (uint32_t k = thread; k < ctas * each; k += cooperative_threads) {
            uint32_t from = k + min(blockIdx.x, ctas - 1) * each; /* as in find_bases() */
            from -= from < ctas * each ? 0 : ctas * each;
            copy_to_shared(reinterpret_cast<uint4 *>(all) + from,
                           reinterpret_cast<const uint4 *>(exchange.boards[from / each].sample_codes) + from % each);
        }
        if (thread < samples)
            rank[thread] = 0;
        for (uint32_t k = thread; k < max_buckets; k += cooperative_threads) {
            code[k] = Code(~Code(0));
            at[k] = ~0u;
        }
    }

    /* By all threads, when the samples are there and after a barrier of the CTA; before another one. */
    __device__ void find(const cooperative_exchange &exchange, const scan_state &state, uint32_t ctas, uint32_t buckets,
                         const Code *all) {
        constexpr uint32_t together = 5; /* samples that a thread searches at a time: on an H200, all of its own */
        const uint32_t thread = threadIdx.x, i = thread % samples, part = thread / samples, total = ctas * samples;
        if (blockIdx.x < ctas) {
            const Code mine = all[blockIdx.x * samples + i];
            uint32_t before = part == 0 ? i : 0; /* those of this CTA */
            for (uint32_t c = part; c < ctas; c += together * parts)
#pragma unroll
                for (uint32_t t = 0; t < together; t++) {
                    const uint32_t other = c + t * parts,
                                   found = codes_before(all + min(other, ctas - 1) * samples, mine, other < blockIdx.x);
                    before += other < ctas && other != blockIdx.x ? found : 0;
                }
            atomicAdd(&rank[i], before);
        }
        __syncthreads();
        uint64_t *const words = state.tiles + max_cooperative_ctas, *const at_words = words + 2 * max_buckets;
        if (blockIdx.x < ctas && thread < samples) {
            const uint32_t r = (rank[i] * buckets + total - 1) / total;
            if (r > 0 && r < buckets && r * total / buckets == rank[i]) {
                publish(words + 2 * r, exchange.epoch(), uint64_t(all[blockIdx.x * samples + i]));
                publish(at_words + r, exchange.epoch(), exchange.boards[blockIdx.x].sample_at[i]);
            }
        }
        for (uint32_t r = thread + 1; r < buckets; r += cooperative_threads) {
            uint64_t found;
            uint32_t found_at;
            bool has_code, has_at;
            do {
                has_code = try_load(words + 2 * r, exchange.epoch(), found);
                has_at = try_load(at_words + r, exchange.epoch(), found_at);
            } while (!has_code || !has_at);
            code[r - 1] = Code(found);
            at[r - 1] = found_at;
        }
        __syncwarp();
        __syncthreads();
        for (uint32_t b = thread; b < max_buckets; b += cooperative_threads)
            of_one_value[b] = b > 0 && code[b - 1] == code[b];
    }

    /* The bucket of an element: how many splitters are not behind it, those of its value counted as one. */
    __device__ uint32_t bucket_of(Code own_code, uint32_t position) const {
        uint32_t before = 0;
#pragma unroll
        for (uint32_t step = max_buckets / 2; step > 0; step /= 2)
            before += code[before + step - 1] < own_code ? step : 0;
        if (code[before] == own_code && before + 1 < max_buckets)
            before += code[before + 1] == own_code || at[before] <= position;
        return before;
    }
};

} /* namespace scan_cuda */

#endif
