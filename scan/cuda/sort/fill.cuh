/* SPDX-License-Identifier: MIT
 *
 * Counting sort, of keys alone: equal keys are the same key, so none needs to move.
 *
 *     keys ──> how many there are of each ──> scan: where each begins ──> that many written out
 *
 * Here for keys of one or two bytes, compared by all their bits, which the histogram counts; narrow.cuh has larger
 * ones.
 *
 * The scan has two levels. There are totals of groups of 256 codes. To write, a CTA scans the totals of all groups, in
 * shared memory, and a warp scans the counts of the group that it is in.
 *
 * Warps share the work of both levels: a group counts as `fill_group_cost` keys. By keys alone one warp would have all
 * the groups of rare keys, and scan them one after another while the others have done: 100 us on an H200 where 0.3 % of
 * the keys are spread over all 65,536 codes.
 *
 * Traffic: n reads, n writes. In place is safe: all is read before anything is written.
 */
#ifndef SCAN_CUDA_SORT_FILL_CUH
#define SCAN_CUDA_SORT_FILL_CUH

#include "../device/order.cuh"
#include "job.cuh"

namespace scan_cuda {

constexpr int fill_threads = 512;
constexpr uint32_t fill_rows = 64;        /* of a warp's work, at most, at a time */
constexpr uint32_t fill_group_cost = 256; /* in keys */

template <class K> constexpr uint32_t fill_codes = 1u << 8 * sizeof(K);

/* By a CTA: begins[i] becomes the sum of the totals before i, i up to `groups`. Total i is totals[i ^ flip]. */
__device__ inline void scan_totals(const unsigned long long *totals, uint32_t groups, uint32_t flip, uint64_t *begins) {
    __shared__ uint64_t sums[fill_threads / 32];
    const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32, each = (groups + fill_threads - 1) / fill_threads,
                   first = min(groups, threadIdx.x * each), end = min(groups, first + each);
    uint64_t sum = 0;
    for (uint32_t i = first; i < end; i++)
        sum += totals[i ^ flip];
    const uint64_t fold = warp_inclusive<add<uint64_t>>(sum, int(lane));
    if (lane == 31)
        sums[warp] = fold;
    __syncthreads();
    uint64_t before = fold - sum;
    for (uint32_t w = 0; w < warp; w++)
        before += sums[w];
    for (uint32_t i = first; i < end; i++) {
        begins[i] = before;
        before += totals[i ^ flip];
    }
    if (threadIdx.x == fill_threads - 1)
        begins[groups] = before;
    __syncthreads();
}

/* By a warp: the last of `count` places that is not past `i`. Of those that begin at one all but the last are empty. */
template <class T> __device__ uint32_t last_begun(const T *begins, uint32_t count, uint64_t i, uint32_t lane) {
    uint32_t low = 0;
    for (uint32_t left = count; left > 1;) {
        const uint32_t step = left > 32 ? (left + 31) / 32 : 1;
        const bool begun = lane * step < left && begins[low + lane * step] <= i;
        const uint32_t at = (__popc(__ballot_sync(all_lanes, begun)) - 1) * step;
        low += at;
        left = min(step, left - at);
    }
    return low;
}

/* The same by one thread, among [low, high]. */
template <class T> __device__ uint32_t last_begun_between(const T *begins, uint32_t low, uint32_t high, uint64_t i) {
    while (low < high) {
        const uint32_t middle = low + (high - low + 1) / 2;
        if (begins[middle] <= i)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* Writes keys by what was counted: `code << shift ^ rest`. Positions are a stretch's own, short enough for 16 bits. */
template <class K> class fill_warp {
    static constexpr int E = vector_elements<K>;

    K *const keys;
    const uint64_t n;
    const uint32_t shift, flip, lane;
    const K rest;
    const bool aligned;
    uint16_t *const begins; /* of the codes of a group, and the end of the last one */
    uint64_t first;         /* the stretch, from where a row begins */
    uint32_t size;

    __device__ uint16_t place(uint64_t i) const { return uint16_t(i <= first ? 0 : min(i - first, uint64_t(size))); }

    /* How many keys precede a place in the work, of all groups: up to where a row begins, if that is in the same group,
     * else a vector. By sixteen lanes, each sixteen of the warp for a place of their own. */
    __device__ uint64_t keys_before(uint64_t work, uint32_t groups, const uint64_t *group_begins) const {
        constexpr uint32_t lanes = 16;
        const uint32_t own = lane % lanes;
        uint32_t group = 0;
        for (uint32_t left = groups; __any_sync(all_lanes, left > 1);) {
            const uint32_t step = (left + lanes - 1) / lanes, at = group + own * step;
            const bool begun = own * step < left && group_begins[at] + uint64_t(at) * fill_group_cost <= work;
            const uint32_t all = __ballot_sync(all_lanes, begun) >> lane / lanes * lanes & ((1u << lanes) - 1),
                           past = (__popc(all) - 1) * step;
            group += past;
            left = min(step, left - past);
        }
        const uint64_t begin = group_begins[group], opened = begin + uint64_t(group + 1) * fill_group_cost;
        const uint64_t before = min(begin + (work > opened ? work - opened : 0), group_begins[group + 1]),
                       row = before / (32 * E) * (32 * E);
        return row >= begin ? row : before / E * E;
    }

    /* Where the group's codes begin, from how many keys there are of each of `codes`. Code i's count is at i ^ flip. */
    __device__ void scan_codes(const unsigned long long *counts, uint32_t codes, uint64_t begin) {
        constexpr int each = fill_group / 32;
        uint64_t count[each];
#pragma unroll
        for (int k = 0; k < each; k++)
            count[k] = k * 32 + lane < codes ? counts[(k * 32 + lane) ^ (flip % fill_group)] : 0;
        __syncwarp();
#pragma unroll
        for (int k = 0; k < each; k++) {
            const uint64_t fold = warp_inclusive<add<uint64_t>>(count[k], int(lane));
            begins[k * 32 + lane] = place(begin + fold - count[k]);
            begin += __shfl_sync(all_lanes, fold, 31);
        }
        if (lane == 0)
            begins[fill_group] = place(begin);
        __syncwarp();
    }

    /* The codes of a row's keys, of which those up to `last` are asked for. code: of its first key; becomes that of
     * the last one. Where codes have many keys, few of them begin in one row. */
    __device__ void find_codes(uint32_t own, uint32_t last, uint32_t &code, uint32_t (&codes)[E]) const {
        const uint32_t next = begins[min(code + 1 + lane, fill_group)],
                       begun = __popc(__ballot_sync(all_lanes, next <= last));
        if (begun < 32) {
#pragma unroll
            for (int e = 0; e < E; e++)
                codes[e] = code;
            for (uint32_t k = 0; k < begun; k++) {
                const uint32_t begin = __shfl_sync(all_lanes, next, int(k));
#pragma unroll
                for (int e = 0; e < E; e++)
                    codes[e] += own + e >= begin;
            }
            code += begun;
        } else {
            const uint32_t high = last_begun(begins, fill_group, last, lane);
            uint32_t low = code;
#pragma unroll
            for (int e = 0; e < E; e++)
                codes[e] = low = last_begun_between(begins, low, high, own + e);
            code = high;
        }
    }

    /* The stretch's keys [begin, end), of codes from `group` on. */
    __device__ void write(uint32_t begin, uint32_t end, uint32_t group) const {
        constexpr uint32_t row = 32 * E;
        uint32_t code = last_begun(begins, fill_group, begin, lane);
        for (uint32_t at = begin / row * row; at < end; at += row) {
            const uint32_t own = at + lane * E;
            uint32_t codes[E];
            find_codes(own, min(end, at + row) - 1, code, codes);
            vector<K, E> v;
#pragma unroll
            for (int e = 0; e < E; e++)
                v.v[e] = K(K(K(group + codes[e]) << shift) ^ rest);
            if (aligned && own >= begin && own + E <= end)
                store_vector<K>(keys + first + own, v);
            else
#pragma unroll
                for (int e = 0; e < E; e++)
                    if (own + e >= begin && own + e < end)
                        keys[first + own + e] = v.v[e];
        }
    }

  public:
    __device__ fill_warp(K *keys, uint64_t n, uint32_t shift, K rest, uint32_t flip, uint16_t *begins)
        : keys(keys), n(n), shift(shift), flip(flip), lane(threadIdx.x % 32), rest(rest),
          aligned(uintptr_t(keys) % 16 == 0), begins(begins), first(0), size(0) {}

    /* Work [begin, end) of all, a key's 1 and a group's fill_group_cost before its keys. group_begins: of all groups,
     * and the end of the last one. */
    __device__ void take(uint64_t begin, uint64_t end, const unsigned long long *counts, uint32_t codes,
                         const uint64_t *group_begins) {
        const uint32_t groups = fill_groups(codes);
        const uint64_t keys = keys_before(lane < 16 ? begin : end, groups, group_begins),
                       from = __shfl_sync(all_lanes, keys, 0), last = __shfl_sync(all_lanes, keys, 16),
                       to = end < n + uint64_t(groups) * fill_group_cost ? last : n;
        first = from / (32 * E) * (32 * E);
        size = uint32_t(to - first);
        for (uint32_t at = uint32_t(from - first); at < size;) {
            const uint32_t group = last_begun(group_begins, groups, first + at, lane),
                           stop = place(group_begins[group + 1]);
            scan_codes(counts + (group ^ flip / fill_group) * fill_group, codes - group * fill_group,
                       group_begins[group]);
            write(at, stop, group * fill_group);
            at = stop;
        }
    }
};

/* By a grid: all keys, of `codes` codes. counts: code i's at i ^ flip, and then the totals of groups, if
 * `max_codes` make several. */
template <class K, uint32_t max_codes>
__device__ void fill_keys(K *keys, uint64_t n, const unsigned long long *counts, uint32_t codes, uint32_t flip,
                          uint32_t shift, K rest) {
    constexpr uint32_t row = 32 * vector_elements<K>, warps_of_cta = fill_threads / 32;
    static_assert((fill_rows + 1) * row <= UINT16_MAX, "positions in a stretch have 16 bits");
    __shared__ uint64_t group_begins[fill_groups(max_codes) + 1];
    __shared__ uint16_t begins[warps_of_cta][fill_group + 1];
    if constexpr (fill_groups(max_codes) > 1) {
        scan_totals(counts + codes, fill_groups(codes), flip / fill_group, group_begins);
    } else {
        if (threadIdx.x < 2)
            group_begins[threadIdx.x] = threadIdx.x * n;
        __syncthreads();
    }
    const uint64_t warps = uint64_t(gridDim.x) * warps_of_cta, warp = blockIdx.x * warps_of_cta + threadIdx.x / 32,
                   work = n + uint64_t(fill_groups(codes)) * fill_group_cost,
                   each = min((work + warps * row - 1) / (warps * row), uint64_t(fill_rows)) * row;
    fill_warp<K> filler(keys, n, shift, rest, flip, begins[threadIdx.x / 32]);
    for (uint64_t first = warp * each; first < work; first += warps * each)
        filler.take(first, min(first + each, work), counts, codes, group_begins);
}

/* ---- keys of one and two bytes ----------------------------------------------------------------------------------- */

/* By a warp for each group of codes. */
__device__ inline void add_totals(unsigned long long *counts, uint32_t codes) {
    const uint32_t group = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (group >= fill_groups(codes))
        return;
    uint64_t sum = 0;
#pragma unroll
    for (uint32_t i = threadIdx.x % 32; i < fill_group; i += 32)
        sum += counts[group * fill_group + i];
    sum = warp_total<add<uint64_t>>(sum);
    if (threadIdx.x % 32 == 0)
        counts[codes + group] = sum;
}

/* counts: by bits of keys, and the groups' totals. */
template <class K>
__global__ void __launch_bounds__(fill_threads)
    fill_kernel(const __grid_constant__ sort_job job, const unsigned long long *counts) {
    grid_dependency_wait();
    const uint32_t flip = K(job.order.flip);
    fill_keys<K, fill_codes<K>>(static_cast<K *>(job.keys_out), sort_count(job), counts, fill_codes<K>, flip, 0,
                                K(flip));
}

} /* namespace scan_cuda */

#endif
