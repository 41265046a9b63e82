/* SPDX-License-Identifier: MIT
 *
 * Merge path: the two inputs span a grid, and merging is a walk through it from one corner to the other, a step right
 * for an element of a, a step down for one of b. The walk crosses every diagonal once. Diagonal d holds the points that
 * are d steps from the start, and a binary search finds the one that the walk passes: how many of the first d outputs
 * come from a. So any part of the output can be merged without those before it.
 *
 *     d = 5:   a  1 4 4 7 9        of the first 5 outputs, 1 2 3 4 4, three come from a: a[2] = 4 goes before
 *              b  2 3 5 8          b[2] = 5, and b[1] = 3 before a[3] = 7
 *
 * Twice: diagonals a tile apart, in global memory by a kernel of its own, because that waits for a chain of loads; then
 * those of each thread, in the shared memory of the CTA that merges the tile. A thread merges its elements one by one,
 * and writes where in shared memory each comes from. By these places the CTA then writes keys and values in order,
 * consecutive threads to consecutive addresses; it reads values at that time only, from two runs of global memory.
 *
 * Work: n comparisons, and a search of log2(tile) for each thread. Traffic: n reads, n writes. Inputs that are not
 * sorted give any counts between 0 and the tile's, all of which lie within the inputs.
 *
 * Source: Odeh, Green, Mwassi, Shmueli, Birk, "Merge Path - Parallel Merging Made Simple", 2012; Green, McColl, Bader,
 * "GPU Merge Path", 2012.
 */
#ifndef SCAN_CUDA_MERGE_MERGE_CUH
#define SCAN_CUDA_MERGE_MERGE_CUH

#include "../device/kernel.cuh"
#include "../device/ptx.cuh"
#include "../sort/key_bits.cuh"
#include "../thresholds.h"

namespace scan_cuda {

struct merge_side {
    const void *keys, *values;
    uint64_t n;
    const uint64_t *n_device;
};

struct merge_job {
    merge_side a, b;
    void *keys_out, *values_out;
    uint64_t *splits; /* of each tile and of the end: how many elements of a lie before it */
    uint32_t key_bytes, value_bytes;
    bool is_float;
    sort_order order;
};

/* Only keys of 4 bytes take more time to be merged than to be moved. */
template <class Key> constexpr int merge_unroll = sizeof(Key) == 4 ? merge_items<Key> : 6;

template <class Key> constexpr int merge_tile = merge_threads *merge_items<Key>;

__device__ inline uint64_t merge_count(const merge_side &side) {
    return side.n_device ? min(side.n, *side.n_device) : side.n;
}

/* Of the first d outputs, how many come from a: between low and high. Of equal keys those of a come first: a[i] is
 * among them unless b[d - 1 - i], the last that b would then have there, comes before it, which is what takes(i) says.
 */
template <class N, class Takes> __device__ N merge_split(N low, N high, Takes takes) {
    while (low < high) {
        const N middle = low + (high - low) / 2;
        if (takes(middle))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The same by a warp, in steps of 32 comparisons at once. */
template <class Takes> __device__ uint64_t merge_split_warp(uint64_t low, uint64_t high, Takes takes) {
    while (low < high) {
        const uint64_t step = (high - low) / 32 + 1, i = low + threadIdx.x % 32 * step;
        const uint32_t taken = __popc(__ballot_sync(all_lanes, i < high && takes(i)));
        high = min(high, low + taken * step);
        low = taken ? low + (taken - 1) * step + 1 : high;
    }
    return low;
}

template <class Key> __device__ uint64_t merge_code_at(const void *keys, uint64_t i, const sort_order &order) {
    return plain_code<Key>(static_cast<const key_bits<Key> *>(keys)[i], order);
}

/* For any type, because it is the load that takes time. */
__device__ inline uint64_t merge_code(const merge_job &job, const void *keys, uint64_t i) {
    switch (job.key_bytes) {
    case 1: return merge_code_at<uint8_t>(keys, i, job.order);
    case 2: return merge_code_at<uint16_t>(keys, i, job.order);
    case 4:
        return job.is_float ? merge_code_at<float>(keys, i, job.order) : merge_code_at<uint32_t>(keys, i, job.order);
    default:
        return job.is_float ? merge_code_at<double>(keys, i, job.order) : merge_code_at<uint64_t>(keys, i, job.order);
    }
}

/* The split of this thread's tile among those of a_n and b_n elements; past the last one it is the end. takes(d, i): as
 * above, of diagonal d. A CTA of merge_split_threads finds the splits of its first and its last diagonal, far apart,
 * and between these each thread finds one. So what most loads touch is a short part of either input, of which few pages
 * are in use at once. */
template <class Takes> __device__ uint64_t merge_split_of_tile(uint64_t a_n, uint64_t b_n, uint64_t tile, Takes takes) {
    __shared__ uint64_t ends[2];
    const uint64_t t = uint64_t(blockIdx.x) * merge_split_threads + threadIdx.x, n = a_n + b_n;
    const uint64_t first = min((t - threadIdx.x) * tile, n), last = min(first + merge_split_threads * tile, n);
    if (threadIdx.x < 64) {
        const uint64_t d = threadIdx.x < 32 ? first : last;
        const uint64_t split =
            merge_split_warp(d > b_n ? d - b_n : 0, min(d, a_n), [&](uint64_t i) { return takes(d, i); });
        if (threadIdx.x % 32 == 0)
            ends[threadIdx.x / 32] = split;
    }
    __syncthreads();
    /* The path goes from one end to the other. If the keys are not sorted it may not, but it stays within the inputs.
     */
    const uint64_t d = min(t * tile, n), least = d > b_n ? d - b_n : 0, most = min(d, a_n), b_last = last - ends[1];
    const uint64_t low = min(max(max(least, ends[0]), d > b_last ? d - b_last : 0), most);
    const uint64_t high = max(low, min(min(most, ends[1]), ends[0] + (d - first)));
    return merge_split(low, high, [&](uint64_t i) { return takes(d, i); });
}

/* A tile of the output, and what it is merged from. */
struct merge_range {
    uint64_t first, a_first, b_first;
    uint32_t count, a_count;
};

template <class Key> __device__ merge_range range_of_tile(const merge_job &job, uint64_t tile, uint64_t n) {
    merge_range r;
    r.first = tile * merge_tile<Key>;
    r.count = uint32_t(min(n - r.first, uint64_t(merge_tile<Key>)));
    r.a_first = job.splits[tile];
    r.b_first = r.first - r.a_first;
    const uint64_t a_end = job.splits[tile + 1];
    r.a_count = a_end > r.a_first ? uint32_t(min(a_end - r.a_first, uint64_t(r.count))) : 0;
    return r;
}

/* Element i of a tile's elements of a and those of b behind them. */
template <class T> __device__ const T *merge_source(const void *a, const void *b, const merge_range &r, uint32_t i) {
    return i < r.a_count ? static_cast<const T *>(a) + (r.a_first + i)
                         : static_cast<const T *>(b) + (r.b_first + (i - r.a_count));
}

template <class Key> struct merge_shared {
    key_bits<Key> keys[merge_tile<Key> + merge_items<Key>]; /* of the last tile's threads some go on past its end */
    uint32_t places[merge_tile<Key> / 2];                   /* of an output and the next, 16 bits each */
};

template <class Key> __device__ void load_keys(const merge_job &job, const merge_range &r, key_bits<Key> *keys) {
    using K = key_bits<Key>;
#pragma unroll merge_unroll < Key>
    for (int k = 0; k < merge_items<Key>; k++) {
        const uint32_t i = uint32_t(k) * merge_threads + threadIdx.x;
        if (i < r.count) {
            const K *from = merge_source<K>(job.a.keys, job.b.keys, r, i);
            if constexpr (sizeof(K) >= 4)
                copy_to_shared(&keys[i], from);
            else
                keys[i] = *from;
        }
    }
    copies_arrive();
    __syncthreads();
}

/* Merges this thread's outputs: where each lies in shared memory. */
template <class Key>
__device__ void merge_places(merge_shared<Key> &shared, const merge_range &r, const sort_order &order) {
    using K = key_bits<Key>;
    const uint32_t d = min(threadIdx.x * merge_items<Key>, r.count);
    const K *b_keys = shared.keys + r.a_count;
    const uint32_t b_count = r.count - r.a_count;
    uint32_t a = merge_split(d > b_count ? d - b_count : 0, min(d, r.a_count), [&](uint32_t i) {
        return plain_code<Key>(shared.keys[i], order) <= plain_code<Key>(b_keys[d - 1 - i], order);
    });
    uint32_t b = r.a_count + (d - a);
    K a_code = plain_code<Key>(shared.keys[a], order), b_code = plain_code<Key>(shared.keys[b], order);
    uint32_t word = 0;
#pragma unroll merge_unroll < Key>
    for (int k = 0; k < merge_items<Key>; k++) {
        const bool from_a = a < r.a_count && (b >= r.count || a_code <= b_code);
        const uint32_t place = from_a ? a : b;
        const K next = plain_code<Key>(shared.keys[place + 1], order);
        a += from_a;
        b += !from_a;
        a_code = from_a ? next : a_code;
        b_code = from_a ? b_code : next;
        if (k % 2)
            shared.places[(threadIdx.x * merge_items<Key> + uint32_t(k)) / 2] = word | place << 16;
        word = place;
    }
    __syncthreads();
}

__device__ inline uint32_t merged_place(const uint32_t *places, uint32_t i) {
    return places[i / 2] >> i % 2 * 16 & 0xffff;
}

template <class V> __device__ void store_values(const merge_job &job, const merge_range &r, const uint32_t *places) {
    V *out = static_cast<V *>(job.values_out) + r.first;
#pragma unroll 8
    for (uint32_t i = threadIdx.x; i < r.count; i += merge_threads)
        out[i] = *merge_source<V>(job.a.values, job.b.values, r, merged_place(places, i));
}

/* A CTA a tile. */
template <class Key>
__global__ void __launch_bounds__(merge_threads) merge_kernel(const __grid_constant__ merge_job job) {
    using K = key_bits<Key>;
    __shared__ merge_shared<Key> shared;
    grid_dependency_wait();
    const uint64_t n = merge_count(job.a) + merge_count(job.b);
    if (uint64_t(blockIdx.x) * merge_tile<Key> >= n)
        return;
    const merge_range r = range_of_tile<Key>(job, blockIdx.x, n);
    load_keys<Key>(job, r, shared.keys);
    merge_places<Key>(shared, r, job.order);
    K *out = static_cast<K *>(job.keys_out) + r.first;
#pragma unroll merge_unroll < Key>
    for (int k = 0; k < merge_items<Key>; k++) {
        const uint32_t i = uint32_t(k) * merge_threads + threadIdx.x;
        if (i < r.count)
            out[i] = shared.keys[merged_place(shared.places, i)];
    }
    if (job.value_bytes == 4)
        store_values<uint32_t>(job, r, shared.places);
    else if (job.value_bytes == 8)
        store_values<uint64_t>(job, r, shared.places);
}

} /* namespace scan_cuda */

#endif
