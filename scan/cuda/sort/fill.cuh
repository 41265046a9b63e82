/* SPDX-License-Identifier: MIT
 *
 * Keys of one or two bytes, alone and compared by all their bits: equal keys are the same key, so none needs to move.
 *
 *     keys ──> how many there are of each ──> scan: where each begins ──> that many written out
 *
 * Counters of two-byte keys do not fit a CTA's shared memory: a CTA counts the keys of one slice of the codes, and as
 * many CTAs as there are slices read the same keys, at the same time as a rule, so that all but one find them in L2.
 * To write, a CTA finds the keys at both ends of its tile by a 32-way search of the scanned counts, and its threads
 * search between those.
 *
 * Traffic: n reads, n writes. In place is safe: all is read before anything is written.
 */
#ifndef SCAN_CUDA_SORT_FILL_CUH
#define SCAN_CUDA_SORT_FILL_CUH

#include "../kernel.cuh"
#include "../order.cuh"
#include "job.cuh"

namespace scan_cuda {

constexpr int fill_threads = 512, fill_offset_threads = 1024;
constexpr int fill_shared_bytes = 64 << 10; /* all that sm_75 has */
constexpr uint32_t fill_offset_rows = 8;    /* of a warp's codes, loaded together */

template <class K> constexpr uint32_t fill_codes = 1u << 8 * sizeof(K);
template <class K> constexpr uint32_t fill_slice = 8 * sizeof(K) == 8 ? 256 : fill_shared_bytes / 4; /* codes */
template <class K> constexpr uint32_t fill_slices = fill_codes<K> / fill_slice<K>;
template <class K> constexpr int fill_vector = 16 / int(sizeof(K));
template <class K> constexpr int fill_tile = fill_threads *fill_vector<K>;

/* counts: one a code, zero before. CTAs come in groups of fill_slices. */
template <class K>
__global__ void __launch_bounds__(fill_threads)
    fill_count_kernel(const __grid_constant__ sort_job job, unsigned long long *counts) {
    uint32_t *own = dynamic_shared<uint32_t>();
    const uint32_t first_code = blockIdx.x % fill_slices<K> * fill_slice<K>;
    for (uint32_t i = threadIdx.x; i < fill_slice<K>; i += fill_threads)
        own[i] = 0;
    __syncthreads();
    const uint64_t n = sort_count(job), group = blockIdx.x / fill_slices<K>, groups = gridDim.x / fill_slices<K>;
    const K *keys = static_cast<const K *>(job.keys_in);
    const bool aligned = uintptr_t(keys) % 16 == 0;
    for (uint64_t i = (group * fill_threads + threadIdx.x) * fill_vector<K>; i < n; i += groups * fill_tile<K>) {
        vector<K, fill_vector<K>> k;
        const bool whole = i + fill_vector<K> <= n;
        if (aligned && whole)
            k = *reinterpret_cast<const vector<K, fill_vector<K>> *>(keys + i);
        else
#pragma unroll
            for (int e = 0; e < fill_vector<K>; e++)
                k.v[e] = i + e < n ? keys[i + e] : K(0);
#pragma unroll
        for (int e = 0; e < fill_vector<K>; e++) {
            const uint32_t code = uint32_t(K(k.v[e] ^ K(job.order.flip))) - first_code;
            if (code < fill_slice<K> && (whole || i + e < n))
                atomicAdd(own + code, 1u);
        }
    }
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < fill_slice<K>; i += fill_threads)
        if (own[i])
            atomicAdd(counts + first_code + i, (unsigned long long)own[i]);
}

/* One CTA: counts become the places where the keys of each code begin, and the place past them all. A warp takes a run
 * of codes. */
static __global__ void __launch_bounds__(fill_offset_threads)
    fill_offsets_kernel(unsigned long long *counts, uint32_t codes) {
    __shared__ uint64_t totals[fill_offset_threads / 32];
    const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32, run = codes / (fill_offset_threads / 32);
    unsigned long long *own = counts + warp * run;
    uint64_t sum = 0;
#pragma unroll 8
    for (uint32_t i = lane; i < run; i += 32)
        sum += own[i];
    sum = warp_total<add<uint64_t>>(sum);
    if (lane == 0)
        totals[warp] = sum;
    __syncthreads();
    uint64_t before = 0;
    for (uint32_t w = 0; w < warp; w++)
        before += totals[w];
    for (uint32_t row = 0; row < run; row += fill_offset_rows * 32) { /* of codes of one byte, less than a row */
        uint64_t count[fill_offset_rows];
#pragma unroll
        for (uint32_t k = 0; k < fill_offset_rows; k++)
            count[k] = row + k * 32 + lane < run ? own[row + k * 32 + lane] : 0;
#pragma unroll
        for (uint32_t k = 0; k < fill_offset_rows; k++) {
            const uint64_t fold = warp_inclusive<add<uint64_t>>(count[k], int(lane));
            if (row + k * 32 + lane < run)
                own[row + k * 32 + lane] = before + fold - count[k];
            before += __shfl_sync(all_lanes, fold, 31);
        }
    }
    if (threadIdx.x == fill_offset_threads - 1)
        counts[codes] = before;
}

/* By a warp: the code of element i, which exists, is the last that begins at or before it. */
__device__ inline uint32_t code_at(const unsigned long long *begins, uint32_t codes, uint64_t i, uint32_t lane) {
    uint32_t low = 0;
    for (uint32_t left = codes; left > 1;) {
        const uint32_t step = left > 32 ? left / 32 : 1;
        const bool before = lane * step < left && begins[low + lane * step] <= i;
        low += (__popc(__ballot_sync(all_lanes, before)) - 1) * step;
        left = step;
    }
    return low;
}

/* The same by one thread, among codes [low, high]. */
__device__ inline uint32_t code_between(const unsigned long long *begins, uint32_t low, uint32_t high, uint64_t i) {
    while (low < high) {
        const uint32_t middle = low + (high - low + 1) / 2;
        if (begins[middle] <= i)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

template <class K>
__global__ void __launch_bounds__(fill_threads)
    fill_kernel(const __grid_constant__ sort_job job, const unsigned long long *begins) {
    __shared__ uint32_t ends[2];
    const uint64_t n = sort_count(job), stride = uint64_t(gridDim.x) * fill_tile<K>;
    K *keys = static_cast<K *>(job.keys_out);
    const bool aligned = uintptr_t(keys) % 16 == 0;
    for (uint64_t first = uint64_t(blockIdx.x) * fill_tile<K>; first < n; first += stride) {
        const uint64_t last = min(n, first + fill_tile<K>) - 1;
        const uint32_t warp = threadIdx.x / 32;
        if (warp < 2) {
            const uint32_t code = code_at(begins, fill_codes<K>, warp ? last : first, threadIdx.x % 32);
            if (threadIdx.x % 32 == 0)
                ends[warp] = code;
        }
        __syncthreads();
        const uint32_t high = ends[1];
        const uint64_t at = first + uint64_t(threadIdx.x) * fill_vector<K>;
        if (at <= last) {
            uint32_t code = code_between(begins, ends[0], high, at);
            uint64_t next = begins[code + 1];
            const bool whole = at + fill_vector<K> <= n;
            vector<K, fill_vector<K>> k;
#pragma unroll
            for (int e = 0; e < fill_vector<K>; e++) {
                if (at + e >= next && at + e <= last) {
                    code = code_between(begins, code + 1, high, at + e);
                    next = begins[code + 1];
                }
                k.v[e] = K(code ^ uint32_t(job.order.flip));
            }
            if (aligned && whole)
                *reinterpret_cast<vector<K, fill_vector<K>> *>(keys + at) = k;
            else
#pragma unroll
                for (int e = 0; e < fill_vector<K>; e++)
                    if (at + e < n)
                        keys[at + e] = k.v[e];
        }
        __syncthreads();
    }
}

} /* namespace scan_cuda */

#endif
