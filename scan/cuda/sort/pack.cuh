/* SPDX-License-Identifier: MIT
 *
 * Argsort of many 8-byte keys sorts 4-byte codes, if it can: four of the digits that vary, packed.
 *
 *     up to four digits vary     passes over their codes
 *     more, and the top four     passes over the codes of those; then runs of one code, which are short, are put in
 *     make short runs            order by their keys, each by a thread, a warp or a CTA; of a longer run of equal keys
 *                                each tile checks its part
 *     else, of very many keys    the same with codes that follow the keys' distribution (intervals.cuh)
 *     otherwise                  passes over the keys themselves, which lose what has been sorted by: those over digits
 *                                that begin in the lower word are the kernels for 8-byte keys, the others the kernels
 *                                for codes, which the upper words are
 *
 * That runs are short is a guess (top_digits.cuh): long runs of different keys are sorted by clusters (large.cuh), and
 * after still longer ones, or too many, all begins again.
 *
 * Bytes moved for a key of eight digits and an index of 4 bytes: 72 for codes of the top four, and what the runs take;
 * 140 for the keys themselves, which have 8 bytes after the first pass, then 6, 6, 4, 4, 4, 4 and none; 180 if they
 * kept all 8, for which there is no room either. To fetch keys in the order of four passes over codes, for four more,
 * took 1.5 ms of 4.3 for 54 million keys, which take 3.2 now (H200, 2026-11-29: tools/bench --device cuda --hunt 1
 * --seed 10651505953880626220).
 */
#ifndef SCAN_CUDA_SORT_PACK_CUH
#define SCAN_CUDA_SORT_PACK_CUH

#include "intervals.cuh"
#include "kernels.h"
#include "merge_tile.cuh"

namespace scan_cuda {

constexpr int pack_threads = 256;

template <class Key> __global__ void __launch_bounds__(pack_threads) pack_kernel(const __grid_constant__ sort_job job) {
    grid_dependency_wait();
    const sort_plan *plan = job.plan;
    const uint32_t count = plan->passes;
    if (plan->intervals)
        return;
    const uint64_t n = count ? sort_count(job) : 0, stride = uint64_t(gridDim.x) * pack_threads;
    const uint64_t *keys = static_cast<const uint64_t *>(job.keys_in);
    uint32_t *codes = static_cast<uint32_t *>(job.keys_first);
    for (uint64_t i = uint64_t(blockIdx.x) * pack_threads + threadIdx.x; i < n; i += stride) {
        const uint64_t code = sort_code<Key>(keys[i], job.order);
        uint32_t packed = 0;
        for (uint32_t d = 0; d < count; d++)
            packed |= uint32_t(code >> plan->pass[d].row * digit_bits & (radix - 1)) << d * digit_bits;
        codes[i] = packed;
    }
}

/* ---- runs of one code -------------------------------------------------------------------------------------------- */

constexpr int run_rows = 16, run_tile = pack_threads * run_rows;

/* Whether the run of the code at `begin` has more than `most` positions from there on. Codes are in order. */
__device__ inline bool is_longer(const uint32_t *codes, uint64_t begin, uint64_t n, uint32_t most) {
    return begin + most < n && codes[begin + most] == codes[begin];
}

/* The run that begins at `begin`, by one thread. Returns whether it is short. All of its keys are asked for at once. */
template <class Key, class V>
__device__ bool sort_run_by_thread(const sort_job &job, const uint32_t *codes, V *indices, uint64_t begin, uint64_t n) {
    const uint64_t *keys = static_cast<const uint64_t *>(job.keys_in);
    const uint32_t code = codes[begin];
    if (is_longer(codes, begin, n, max_thread_run))
        return false;
    V index[max_thread_run];
    uint64_t own[max_thread_run];
    uint32_t place[max_thread_run], size = 0;
#pragma unroll
    for (uint32_t k = 0; k < max_thread_run; k++)
        size += begin + k < n && codes[begin + k] == code;
#pragma unroll
    for (uint32_t k = 0; k < max_thread_run; k++)
        if (k < size)
            index[k] = indices[begin + k];
#pragma unroll
    for (uint32_t k = 0; k < max_thread_run; k++)
        if (k < size)
            own[k] = sort_code<Key>(keys[index[k]], job.order);
#pragma unroll
    for (uint32_t k = 0; k < max_thread_run; k++) {
        if (k >= size)
            break;
        place[k] = k;
#pragma unroll
        for (uint32_t j = 0; j < k; j++) {
            const bool after = own[j] > own[k];
            place[j] += after;
            place[k] -= after;
        }
    }
#pragma unroll
    for (uint32_t k = 0; k < max_thread_run; k++)
        if (k < size && place[k] != k)
            indices[begin + place[k]] = index[k];
    return true;
}

/* Of position i of the tile the code is in code[i + 1]. When runs have been listed, codes of longer ones take the place
 * of those. given_up: all begins again. */
struct runs_shared {
    union {
        uint32_t code[run_tile + 2];
        uint64_t warp_codes[pack_threads / 32][max_warp_run];
        struct {
            uint64_t codes[max_cta_run];
            uint16_t places[max_cta_run];
        } cta;
    };
    uint16_t begins[run_tile / 2], warp_begins[run_tile / max_thread_run + 1];
    uint32_t runs, warp_runs, cta_runs;
    uint32_t given_up;
};

/* A longer run by a warp. Returns whether it could: each key goes to as many places from the beginning as keys come
 * before it; equal keys are where they belong. codes_there: of the run's keys, for the warp alone. */
template <class Key, class V>
__device__ bool sort_run_by_warp(const sort_job &job, const uint32_t *codes, V *indices, uint64_t begin, uint64_t n,
                                 uint64_t *codes_there) {
    constexpr uint32_t each = max_warp_run / 32;
    const uint64_t *keys = static_cast<const uint64_t *>(job.keys_in);
    const uint32_t code = codes[begin], lane = threadIdx.x % 32;
    const uint64_t first = sort_code<Key>(keys[indices[begin]], job.order);
    if (is_longer(codes, begin, n, max_warp_run))
        return false;
    bool equal = true;
    uint32_t size = 0; /* of the run, as far as it has been looked at */
    for (bool more = true; more && size < max_warp_run;) {
        const uint64_t i = begin + size + lane;
        const bool in_run = i < n && codes[i] == code;
        const uint64_t own = in_run ? sort_code<Key>(keys[indices[i]], job.order) : first;
        codes_there[size + lane] = own;
        equal = equal && __all_sync(all_lanes, own == first);
        const uint32_t count = uint32_t(__popc(__ballot_sync(all_lanes, in_run)));
        size += count;
        more = count == 32;
    }
    if (equal)
        return true;
    __syncwarp();
    V index[each];
    uint32_t place[each];
#pragma unroll
    for (uint32_t k = 0; k < each; k++) {
        const uint32_t i = k * 32 + lane;
        place[k] = 0;
        if (i < size) {
            index[k] = indices[begin + i];
            const uint64_t own = codes_there[i];
            for (uint32_t j = 0; j < size; j++)
                place[k] += codes_there[j] < own || (codes_there[j] == own && j < i);
        }
    }
    __syncwarp();
#pragma unroll
    for (uint32_t k = 0; k < each; k++)
        if (k * 32 + lane < size)
            indices[begin + place[k]] = index[k];
    __syncwarp(); /* the next run's codes come to the same place */
    return true;
}

/* A still longer one by the CTA. Called, not made part of the kernel, which would lose registers. */
template <class Key, class V>
__attribute__((noinline)) __device__ void sort_run_by_cta(const sort_job &job, const uint32_t *codes, V *indices,
                                                          uint64_t begin, uint64_t n, runs_shared &shared) {
    constexpr int each = max_cta_run / pack_threads + 1, merged = merged_pieces(max_cta_run, pack_threads);
    const uint64_t *keys = static_cast<const uint64_t *>(job.keys_in);
    const uint32_t code = codes[begin];
    uint64_t *run = shared.cta.codes;
    uint16_t *places = shared.cta.places;
    uint32_t size = 0;
    V index[each];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < each; k++) {
        const uint32_t i = k * pack_threads + threadIdx.x;
        const bool in_run = i < max_cta_run && begin + i < n && codes[begin + i] == code;
        if (in_run) {
            run[i] = sort_code<Key>(keys[indices[begin + i]], job.order);
            places[i] = uint16_t(i);
        }
        size += uint32_t(__syncthreads_count(in_run));
    }
    merged_tile<merged, uint64_t>(run, places, size).sort();
#pragma unroll
    for (int k = 0; k < each; k++) {
        const uint32_t i = k * pack_threads + threadIdx.x;
        if (i < size)
            index[k] = indices[begin + places[i]];
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < each; k++) {
        const uint32_t i = k * pack_threads + threadIdx.x;
        if (i < size)
            indices[begin + i] = index[k];
    }
}

/* Of a run that is too long for a CTA, the part from `begin` to the end of the tile, by the CTA of that tile. If all of
 * its keys equal the one at `known`, in the part or just before it, they are where they belong, else the run is noted.
 */
template <class Key, class V>
__attribute__((noinline)) __device__ void check_long_run(const sort_job &job, const uint32_t *codes, const V *indices,
                                                         uint64_t known, uint64_t begin, uint64_t end) {
    constexpr uint32_t together = 4;
    const uint64_t *keys = static_cast<const uint64_t *>(job.keys_in);
    const uint32_t code = codes[known];
    const uint64_t key = keys[indices[known]];
    bool differs = false;
    for (uint64_t i = begin + threadIdx.x; i < end; i += together * pack_threads)
#pragma unroll
        for (uint32_t k = 0; k < together; k++) {
            const uint64_t at = i + k * pack_threads;
            differs |= at < end && codes[at] == code &&
                       sort_code<Key>(keys[indices[at]], job.order) != sort_code<Key>(key, job.order);
        }
    if (__syncthreads_or(differs) && threadIdx.x == 0) {
        const uint64_t n = sort_count(job), reach = large_reach(n);
        if (begin + reach < n && codes[begin + reach] == code)
            atomicOr(&job.plan->again, 1u); /* too long for a cluster too */
        else
            note_large(job, begin);
    }
}

/* By the CTA: whether the run that the positions before and from `at` on belong to is too long for a CTA. */
__device__ inline bool is_in_long_run(const uint32_t *codes, uint64_t at, uint64_t n) {
    constexpr uint32_t half = max_cta_run / 2; /* so far it reaches on one side at least */
    const uint32_t code = codes[at];
    if (!is_longer(codes, at, n, half) && (at < half || codes[at - half] != code))
        return false;
    uint32_t before = 0;
    for (uint32_t first = 1; first <= max_cta_run; first += pack_threads) {
        const uint32_t back = first + threadIdx.x;
        before += uint32_t(__syncthreads_count(back <= max_cta_run && back <= at && codes[at - back] == code));
    }
    return before == max_cta_run || is_longer(codes, at - before, n, max_cta_run);
}

/* Few positions begin a run, so a tile's are listed first: threads then sort them at once, warps and the CTA the long
 * ones. Those of one key need not be looked at where a code by intervals says that they are. Of a run that is too long
 * each tile checks its own part. Once all begins again, a CTA takes no further tile. */
template <class Key, class V>
__device__ void sort_runs(const sort_job &job, runs_shared &shared, const uint32_t *codes, V *indices) {
    uint32_t *code = shared.code;
    sort_plan *plan = job.plan;
    const bool intervals = plan->intervals;
    const uint64_t n = sort_count(job), stride = uint64_t(gridDim.x) * run_tile;
    for (uint64_t first = uint64_t(blockIdx.x) * run_tile; first < n; first += stride) {
        const uint32_t count = uint32_t(min(n - first, uint64_t(run_tile)));
#pragma unroll
        for (int k = 0; k < run_rows; k++) {
            const uint32_t i = k * pack_threads + threadIdx.x;
            if (i < count)
                code[i + 1] = __ldcs(codes + first + i);
        }
        if (threadIdx.x == 0) {
            shared.runs = shared.warp_runs = shared.cta_runs = 0;
            shared.given_up = __ldcg(&plan->again);
            code[0] = first > 0 ? codes[first - 1] : ~codes[first];
            code[count + 1] = first + count < n ? codes[first + count] : ~codes[n - 1];
        }
        __syncthreads();
        if (shared.given_up)
            return;
        const bool continues = code[0] == code[1] && !(intervals && has_exact_interval(plan, code[1]));
        for (uint32_t i = threadIdx.x + 1; i <= count; i += pack_threads)
            if (code[i] == code[i + 1] && code[i] != code[i - 1] && !(intervals && has_exact_interval(plan, code[i])))
                shared.begins[atomicAdd(&shared.runs, 1u)] = uint16_t(i - 1);
        __syncthreads();
        for (uint32_t r = threadIdx.x; r < shared.runs; r += pack_threads)
            if (!sort_run_by_thread<Key>(job, codes, indices, first + shared.begins[r], n))
                shared.warp_begins[atomicAdd(&shared.warp_runs, 1u)] = shared.begins[r];
        __syncthreads();
        for (uint32_t r = warp_of_cta(); r < shared.warp_runs; r += pack_threads / 32)
            if (!sort_run_by_warp<Key>(job, codes, indices, first + shared.warp_begins[r], n,
                                       shared.warp_codes[warp_of_cta()]) &&
                threadIdx.x % 32 == 0)
                shared.begins[atomicAdd(&shared.cta_runs, 1u)] = shared.warp_begins[r];
        __syncthreads();
        for (uint32_t r = 0; r < shared.cta_runs; r++) {
            const uint64_t begin = first + shared.begins[r];
            if (is_longer(codes, begin, n, max_cta_run))
                check_long_run<Key>(job, codes, indices, begin, begin + 1, first + count);
            else
                sort_run_by_cta<Key>(job, codes, indices, begin, n, shared);
        }
        if (continues && is_in_long_run(codes, first, n))
            check_long_run<Key>(job, codes, indices, first - 1, first, first + count);
        __syncthreads();
    }
}

template <class Key>
__global__ void __launch_bounds__(pack_threads, runs_ctas) runs_kernel(const __grid_constant__ sort_job job) {
    __shared__ runs_shared shared;
    grid_dependency_wait();
    const sort_plan *plan = job.plan;
    if (!plan->local_shift && !plan->intervals)
        return;
    const uint32_t *codes = static_cast<const uint32_t *>(keys_source(job, plan->local_keys));
    if (job.value_bytes == 4)
        sort_runs<Key>(job, shared, codes, static_cast<uint32_t *>(job.values_out));
    else
        sort_runs<Key>(job, shared, codes, static_cast<uint64_t *>(job.values_out));
}

} /* namespace scan_cuda */

#endif
