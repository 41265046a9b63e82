/* SPDX-License-Identifier: MIT
 *
 * Argsort of many 8-byte keys sorts 4-byte codes: four of the digits that vary, packed.
 *
 *     up to four digits vary     one round of passes over their codes
 *     more, and the top four     one round over the codes of those; then runs of one code, which are short, are put in
 *     make short runs            order by their keys, one by one
 *     otherwise                  a round for the lowest four, and one for the others in the order of the first
 *
 * That no key moves costs less than passes with keys twice as wide, and the codes fit a workspace in which two arrays
 * of 8-byte keys would not. What is dear is to fetch keys in the order of a round: as much as four passes if it is all
 * of them, so runs are tried first. That they are short is a guess (plan.cuh); after a long one all begins again.
 */
#ifndef SCAN_CUDA_SORT_PACK_CUH
#define SCAN_CUDA_SORT_PACK_CUH

#include "job.cuh"

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
    if (which >= end)
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

/* The run that begins at `begin`, by one thread. Answers whether it is short. */
template <class Key, class V>
__device__ bool sort_run(const sort_job &job, const uint32_t *codes, V *indices, uint64_t begin, uint64_t n) {
    const uint64_t *keys = static_cast<const uint64_t *>(job.keys_in);
    const uint32_t code = codes[begin];
    for (uint64_t i = begin + 1; i < n && codes[i] == code; i++) {
        if (i - begin == longest_run)
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

struct runs_shared {
    uint32_t code[run_tile + 2]; /* of position i of the tile in i + 1 */
    uint16_t begins[run_tile / 2];
    uint32_t runs;
};

/* Few positions begin a run, so a tile's are listed first: threads then sort them at once. */
template <class Key, class V>
__device__ void sort_runs(const sort_job &job, runs_shared &shared, const uint32_t *codes, V *indices) {
    uint32_t *code = shared.code;
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
            shared.runs = 0;
            code[0] = first > 0 ? codes[first - 1] : ~codes[first];
            code[count + 1] = first + count < n ? codes[first + count] : ~codes[n - 1];
        }
        __syncthreads();
        for (uint32_t i = threadIdx.x + 1; i <= count; i += pack_threads)
            if (code[i] == code[i + 1] && code[i] != code[i - 1])
                shared.begins[atomicAdd(&shared.runs, 1u)] = uint16_t(i - 1);
        __syncthreads();
        for (uint32_t r = threadIdx.x; r < shared.runs; r += pack_threads)
            if (!sort_run<Key>(job, codes, indices, first + shared.begins[r], n))
                atomicOr(&job.plan->again, 1u);
        __syncthreads();
    }
}

template <class Key> __global__ void __launch_bounds__(pack_threads) runs_kernel(const __grid_constant__ sort_job job) {
    __shared__ runs_shared shared;
    grid_dependency_wait();
    const sort_plan *plan = job.plan;
    if (!plan->local_shift)
        return;
    const uint32_t *codes = static_cast<const uint32_t *>(keys_source(job, plan->local_keys));
    if (job.value_bytes == 4)
        sort_runs<Key>(job, shared, codes, static_cast<uint32_t *>(job.values_out));
    else
        sort_runs<Key>(job, shared, codes, static_cast<uint64_t *>(job.values_out));
}

} /* namespace scan_cuda */

#endif
