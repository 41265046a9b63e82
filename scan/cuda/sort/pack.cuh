/* SPDX-License-Identifier: MIT
 *
 * Argsort of many 8-byte keys sorts 4-byte codes: four of the digits that vary, packed.
 *
 *     up to four digits vary     one round of passes over their codes
 *     more, and the top four     one round over the codes of those; then runs of one code, which are short, are put in
 *     make short runs            order by their keys, each by a thread, a warp or a CTA
 *     else, of very many keys    the same with codes that follow the keys' distribution (intervals.cuh)
 *     otherwise                  a round for the lowest four, and one for the others in the order of the first
 *
 * That no key moves costs less than passes with keys twice as wide, and the codes fit a workspace in which two arrays
 * of 8-byte keys would not. What is dear is to fetch keys in the order of a round: as much as four passes if it is all
 * of them, so runs are tried first. That they are short is a guess (plan.cuh); after a long one of different keys all
 * begins again.
 */
#ifndef SCAN_CUDA_SORT_PACK_CUH
#define SCAN_CUDA_SORT_PACK_CUH

#include "merge_tile.cuh"
#include "intervals.cuh"

namespace scan_cuda {

constexpr int pack_threads = 256;

template <class Key, class V>
__device__ void pack_codes(const sort_job &job, const sort_pass *pass, uint32_t count, const V *indices) {
    const uint64_t n = sort_count(job), stride = uint64_t(gridDim.x) * pack_threads;
    const uint64_t *keys = static_cast<const uint64_t *>(job.keys_in);
    uint32_t *codes = static_cast<uint32_t *>(job.keys_first);
    for (uint64_t i = uint64_t(blockIdx.x) * pack_threads + threadIdx.x; i < n; i += stride) {
        const uint64_t code = sort_code<Key>(keys[indices ? uint64_t(indices[i]) : i], job.order);
        uint32_t packed = 0;
        for (uint32_t d = 0; d < count; d++)
            packed |= uint32_t(code >> pass[d].row * digit_bits & (radix - 1)) << d * digit_bits;
        codes[i] = packed;
    }
}

/* which: the first pass of the round. */
template <class Key>
__global__ void __launch_bounds__(pack_threads) pack_kernel(const __grid_constant__ sort_job job, uint32_t which) {
    grid_dependency_wait();
    const sort_plan *plan = job.plan;
    const uint32_t end = pass_end(plan, which);
    if (which >= end || (which == 0 && plan->intervals))
        return;
    const sort_pass *pass = plan->pass + which;
    const uint32_t count = min(end - which, packed_passes);
    const void *indices = pass->values_from == BUFFER_NONE ? nullptr : values_source(job, pass->values_from);
    if (job.value_bytes == 4)
        pack_codes<Key>(job, pass, count, static_cast<const uint32_t *>(indices));
    else
        pack_codes<Key>(job, pass, count, static_cast<const uint64_t *>(indices));
}

/* ---- runs of one code -------------------------------------------------------------------------------------------- */

constexpr int run_rows = 16, run_tile = pack_threads * run_rows;

/* The run that begins at `begin`, by one thread. Returns whether it is short. */
template <class Key, class V>
__device__ bool sort_run_by_thread(const sort_job &job, const uint32_t *codes, V *indices, uint64_t begin, uint64_t n) {
    const uint64_t *keys = static_cast<const uint64_t *>(job.keys_in);
    const uint32_t code = codes[begin];
    for (uint64_t i = begin + 1; i < n && codes[i] == code; i++) {
        if (i - begin == max_thread_run)
            return false;
        const V index = indices[i];
        const uint64_t own = sort_code<Key>(keys[index], job.order);
        uint64_t to = i;
        for (; to > begin && sort_code<Key>(keys[indices[to - 1]], job.order) > own; to--)
            indices[to] = indices[to - 1];
        indices[to] = index;
    }
    return true;
}

/* Of position i of the tile the code is in code[i + 1]. When runs have been listed, codes of longer ones take the place
 * of those. */
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
};

/* A longer run by a warp. Returns whether all of its keys are equal, and so where they belong, or it could be sorted:
 * each key goes to as many places from the beginning as keys come before it. codes_there: of the run's first keys, for
 * the warp alone. */
template <class Key, class V>
__device__ bool sort_run_by_warp(const sort_job &job, const uint32_t *codes, V *indices, uint64_t begin, uint64_t n,
                                 uint64_t *codes_there) {
    constexpr uint32_t each = max_warp_run / 32;
    const uint64_t *keys = static_cast<const uint64_t *>(job.keys_in);
    const uint32_t code = codes[begin], lane = threadIdx.x % 32;
    const uint64_t first = sort_code<Key>(keys[indices[begin]], job.order);
    bool equal = true;
    uint64_t size = 0; /* of the run, as far as it has been looked at */
    for (bool more = true; more && (equal || size <= max_warp_run);) {
        const uint64_t i = begin + size + lane;
        const bool in_run = i < n && codes[i] == code;
        const uint64_t own = in_run ? sort_code<Key>(keys[indices[i]], job.order) : first;
        if (size < max_warp_run)
            codes_there[size + lane] = own;
        equal = equal && __all_sync(all_lanes, own == first);
        const uint32_t count = uint32_t(__popc(__ballot_sync(all_lanes, in_run)));
        size += count;
        more = count == 32;
    }
    if (equal)
        return true;
    if (size > max_warp_run)
        return false;
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

/* A still longer one by the CTA. Returns whether it could. Called, not made part of the kernel, which would lose
 * registers. */
template <class Key, class V>
__attribute__((noinline)) __device__ bool sort_run_by_cta(const sort_job &job, const uint32_t *codes, V *indices,
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
        const bool in_run = begin + i < n && i <= max_cta_run && codes[begin + i] == code;
        if (in_run && i < max_cta_run) {
            run[i] = sort_code<Key>(keys[indices[begin + i]], job.order);
            places[i] = uint16_t(i);
        }
        size += uint32_t(__syncthreads_count(in_run));
    }
    if (size > max_cta_run)
        return false;
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
    return true;
}

/* Few positions begin a run, so a tile's are listed first: threads then sort them at once, warps and the CTA the long
 * ones. Those of one key need not be looked at where a code by intervals says that they are. */
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
            code[0] = first > 0 ? codes[first - 1] : ~codes[first];
            code[count + 1] = first + count < n ? codes[first + count] : ~codes[n - 1];
        }
        __syncthreads();
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
        for (uint32_t r = 0; r < shared.cta_runs; r++)
            if (!sort_run_by_cta<Key>(job, codes, indices, first + shared.begins[r], n, shared) && threadIdx.x == 0)
                atomicOr(&plan->again, 1u);
        __syncthreads();
    }
}

template <class Key>
__global__ void __launch_bounds__(pack_threads, 5) runs_kernel(const __grid_constant__ sort_job job) {
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
