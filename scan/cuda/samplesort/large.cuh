/* SPDX-License-Identifier: MIT
 *
 * Buckets that are too large for shared memory after the last level: their keys lie where no sample saw them. One CTA
 * sorts such a bucket by digits of 8 bits, the least significant first, between the two buffers. Only digits that vary
 * take a pass, so the cost is bounded: 4 or 8 passes by one CTA. It is slow and hardly ever needed.
 */
#ifndef SCAN_CUDA_SAMPLESORT_LARGE_CUH
#define SCAN_CUDA_SAMPLESORT_LARGE_CUH

#include "tile.cuh"

namespace scan_cuda {
namespace samplesort {

/* To `out`, if the keys are not there. By the CTA. */
template <class K, int value_bytes> __device__ void copy_bucket(const job &j, const bucket &b) {
    const source<K, value_bytes> from(j, b.level);
    const target<K, value_bytes> to(j.sort);
    if (b.level > 0 && is_in_out(j, b.level))
        return;
    for (uint64_t i = b.begin + threadIdx.x; i < b.begin + b.size; i += threads) {
        if (to.keys)
            to.keys[i] = from.keys[i];
        if constexpr (value_bytes > 0)
            to.values[i] = from.value(i);
    }
}

/* The bits in which codes of a bucket differ. word: of shared memory. By the CTA. */
template <class K, int value_bytes>
__device__ uint64_t varying_bits(const sort_job &job, const source<K, value_bytes> &from, const bucket &b,
                                 unsigned long long *word) {
    if (threadIdx.x == 0)
        *word = 0;
    __syncthreads();
    const K first = code_of(from.key(b.begin), job);
    uint64_t differ = 0;
    for (uint64_t i = b.begin + threadIdx.x; i < b.begin + b.size; i += threads)
        differ |= code_of(from.key(i), job) ^ first;
    if (differ)
        atomicOr(word, (unsigned long long)differ);
    __syncthreads();
    differ = *word;
    __syncthreads();
    return differ;
}

/* By the CTA, which has counted the digits in `next`. */
__device__ inline void begins_from_counts(unsigned long long *next, uint64_t begin) {
    __syncthreads();
    if (threadIdx.x == 0)
        for (uint32_t d = 0; d < radix; d++) {
            const unsigned long long count = next[d];
            next[d] = begin;
            begin += count;
        }
    __syncthreads();
}

/* Not made part of the kernel, whose registers it would take. */
template <class K, int value_bytes>
__attribute__((noinline)) __device__ void sort_large(const job &j, bucket b, move_shared<K, value_bytes> &shared) {
    using shape = move_shared<K, value_bytes>;
    const uint64_t varying = varying_bits(j.sort, source<K, value_bytes>(j, b.level), b, shared.next),
                   end = b.begin + b.size;
#pragma unroll 1
    for (uint32_t shift = 0; shift < 8 * sizeof(K); shift += digit_bits) {
        if ((varying >> shift & (radix - 1)) == 0)
            continue;
        const source<K, value_bytes> from(j, b.level);
        const target<K, value_bytes> plain(j, b.level + 1);
        const auto digit_of = [&](K key) { return uint32_t(code_of(key, j.sort) >> shift) & (radix - 1); };
        for (uint32_t d = threadIdx.x; d < radix; d += threads)
            shared.next[d] = 0;
        __syncthreads();
        for (uint64_t i = b.begin + threadIdx.x; i < end; i += threads)
            atomicAdd(&shared.next[digit_of(from.key(i))], 1ull);
        begins_from_counts(shared.next, b.begin);
        for (uint64_t at = b.begin; at < end; at += shape::tile)
            move_tile<K, value_bytes>(shared, from, {plain, plain}, at,
                                      uint32_t(end - at < shape::tile ? end - at : shape::tile), digit_of);
        b.level++;
    }
    copy_bucket<K, value_bytes>(j, b);
    __syncthreads();
}

} /* namespace samplesort */
} /* namespace scan_cuda */

#endif
