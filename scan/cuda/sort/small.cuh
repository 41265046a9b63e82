/* SPDX-License-Identifier: MIT
 *
 * Few keys: each finds its place by counting the keys that come before it. One launch, no passes, no workspace.
 *
 *     place of key i  =  keys with smaller codes  +  keys with the same code and a smaller index
 *
 * So the order is stable whatever the codes are. Every CTA has the order codes (order.cuh) of all keys in shared
 * memory, each of its warps some keys to place:
 *
 *     all keys ──> codes ──> a lane compares those of its columns with a few keys of its warp ──> sums over lanes:
 *                                                                       places ──> keys and values go there
 *
 * In rows before that of the warp's keys, codes up to the key's own come before it; in rows after it, smaller ones; so
 * the index is asked for in one row only.
 *
 * In place a CTA may write only when all have read: then they are one cluster, on a GPU without clusters one CTA.
 *
 * Work: n^2 comparisons of 2 instructions (8-byte codes: 3), one for each of the two pipes of integers and of floats:
 * that is why the counters are floats, exact far beyond these sizes. Traffic: every CTA reads all keys, from L2 as a
 * rule; each key and value is read once more and written once. Barriers: one, and in place one of the cluster.
 */
#ifndef SCAN_CUDA_SORT_SMALL_CUH
#define SCAN_CUDA_SORT_SMALL_CUH

#include "../device/kernel.cuh"
#include "../device/order.cuh"
#include "job.cuh"

namespace scan_cuda {

constexpr uint32_t small_group = 4; /* keys that a warp places together; measured on an H200 */
constexpr uint32_t small_most_own = 32, small_most_threads = 1024; /* keys of a warp, a lane each; threads of a CTA */

template <class Code> constexpr uint32_t small_vector = 16 / sizeof(Code);
template <class Code> constexpr uint32_t small_row = 32 * small_vector<Code>; /* codes */
constexpr uint32_t small_batch = 8;                                           /* keys that a thread loads together */

/* Codes of n keys, rounded up to what the threads load together, and a row that is loaded ahead. */
constexpr size_t small_shared_bytes(uint32_t n, uint32_t threads, uint32_t code_bytes) {
    return size_t((n + small_batch * threads - 1) / (small_batch * threads)) * small_batch * threads * code_bytes + 512;
}

/* Codes of all keys, and beyond them codes that are less than none. By the CTA. */
template <class Key, class Code> __device__ void small_codes(const sort_job &job, uint32_t n, Code *codes) {
    using K = key_bits<Key>;
    const K *keys = static_cast<const K *>(job.keys_in);
    for (uint32_t first = threadIdx.x; first - threadIdx.x < n; first += small_batch * blockDim.x) {
        K key[small_batch];
#pragma unroll
        for (uint32_t b = 0; b < small_batch; b++)
            key[b] = first + b * blockDim.x < n ? keys[first + b * blockDim.x] : K(0);
#pragma unroll
        for (uint32_t b = 0; b < small_batch; b++)
            codes[first + b * blockDim.x] =
                first + b * blockDim.x < n ? Code(sort_code<Key>(key[b], job.order)) : Code(~Code(0));
    }
}

/* Where the small_group keys from key i on, which is a multiple of it, belong: lanes with lane % small_group == k are
 * told of key i + k. By a warp. */
template <class Code> __device__ uint32_t small_places(const Code *codes, uint32_t n, uint32_t i, uint32_t lane) {
    constexpr uint32_t V = small_vector<Code>, row = small_row<Code>;
    using columns = vector<Code, int(V)>;
    const columns *own = reinterpret_cast<const columns *>(codes) + lane;
    Code key[small_group];
    float count[small_group];
#pragma unroll
    for (uint32_t k = 0; k < small_group; k++) {
        key[k] = codes[i + k];
        count[k] = 0;
    }
    columns next = load_vector<columns>(own);
    /* before(code of a column, its index in the row, k): whether it comes before key i + k */
    auto compare_row = [&](uint32_t r, auto before) {
        const columns c = next;
        next = load_vector<columns>(own + (r + 1) * 32);
#pragma unroll
        for (uint32_t e = 0; e < V; e++)
#pragma unroll
            for (uint32_t k = 0; k < small_group; k++)
                if (before(c.v[e], lane * V + e, k))
                    count[k] += 1;
    };
    const uint32_t rows = (n + row - 1) / row, key_row = i / row;
#pragma unroll 2
    for (uint32_t r = 0; r < key_row; r++)
        compare_row(r, [&](Code code, uint32_t, uint32_t k) { return code <= key[k]; });
    compare_row(key_row, [&](Code code, uint32_t column, uint32_t k) {
        return code < key[k] || (code == key[k] && column < i % row + k);
    });
#pragma unroll 2
    for (uint32_t r = key_row + 1; r < rows; r++)
        compare_row(r, [&](Code code, uint32_t, uint32_t k) { return code < key[k]; });
    uint32_t place = 0;
#pragma unroll
    for (uint32_t k = 0; k < small_group; k++) {
        const uint32_t sum = warp_sum(uint32_t(count[k]));
        place = lane % small_group == k ? sum : place;
    }
    return place;
}

/* own: keys of a warp, a multiple of small_group. */
template <class Code>
__global__ void __launch_bounds__(small_most_threads) small_kernel(const __grid_constant__ sort_job job, uint32_t own) {
    grid_dependency_wait();
    Code *codes = dynamic_shared<Code>();
    const uint32_t n = uint32_t(sort_count(job)), lane = threadIdx.x % 32;
    const uint32_t first = (blockIdx.x * (blockDim.x / 32) + uint32_t(warp_of_cta())) * own, i = first + lane;
    const bool there = lane < own && i < n;
    uint64_t key = 0, value = i;
    if (there && job.keys_out)
        key = load_bits(job.keys_in, i, job.key_bytes);
    if (there && job.values_in)
        value = load_bits(job.values_in, i, job.value_bytes);
    if constexpr (sizeof(Code) == 8) {
        if (job.is_float)
            small_codes<double>(job, n, codes);
        else
            small_codes<uint64_t>(job, n, codes);
    } else {
        if (job.is_float)
            small_codes<float>(job, n, codes);
        else if (job.key_bytes == 4)
            small_codes<uint32_t>(job, n, codes);
        else if (job.key_bytes == 2)
            small_codes<uint16_t>(job, n, codes);
        else
            small_codes<uint8_t>(job, n, codes);
    }
    __syncthreads();
    uint32_t place = 0;
    for (uint32_t g = 0; g < own && first + g < n; g += small_group) {
        const uint32_t found = small_places(codes, n, first + g, lane);
        place = lane / small_group == g / small_group ? found : place;
    }
    if (is_in_place(job)) {
        __syncwarp();
        cluster_arrive();
        cluster_wait();
    }
    if (there && job.keys_out)
        store_bits(job.keys_out, place, key, job.key_bytes);
    if (there && job.value_bytes)
        store_bits(job.values_out, place, value, job.value_bytes);
}

} /* namespace scan_cuda */

#endif
