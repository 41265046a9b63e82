/* SPDX-License-Identifier: MIT
 *
 * A level splits regions into children: it counts, finds places, and moves.
 *
 *     count     a CTA takes a unit: how many keys of each child it has
 *     places    a CTA takes a region, or some children of the first one: where each unit's keys of each child
 *               begin, unit by unit; and what becomes of a child: nothing more if it is pure, a bucket of the local
 *               stage, or a region of the next level
 *     move      a CTA takes a unit, tile by tile (tile.cuh)
 *
 *     unit 0     3 of A, 2 of B            A at 0, B at 7
 *     unit 1     4 of A, 1 of B     ──>    A at 3, B at 9
 *
 * No unit waits for another one: counts by unit take the place of look-back, and results depend on nothing but the
 * keys. A pure child goes to `out` at once, where that is not read at the time.
 *
 * Work: a key is classified twice and ranked twice. Traffic: two reads of the keys and one of the values, one write of
 * both; a unit has its child's counts of 8 bytes three times.
 */
#ifndef SCAN_CUDA_SAMPLESORT_PARTITION_CUH
#define SCAN_CUDA_SAMPLESORT_PARTITION_CUH

#include "splitters.cuh"
#include "tile.cuh"

namespace scan_cuda {
namespace samplesort {

/* ---- count ------------------------------------------------------------------------------------------------------- */

template <class K> struct count_shared {
    samplesort::tables<K> tables;
    uint32_t counters[warps][most_children];
};

/* The keys of [begin, end), by vectors of 16 bytes where `keys` are neighbours; in any order. */
template <class K, int value_bytes>
__device__ void count_keys(const sort_job &job, const source<K, value_bytes> &from, count_shared<K> &shared,
                           uint64_t begin, uint64_t end) {
    constexpr uint32_t E = 16 / sizeof(K), batch = 2 * sizeof(K) / 4; /* elements of a vector; vectors of 8 keys */
    const uint32_t warp = uint32_t(warp_of_cta()), lane = threadIdx.x % 32;
    uint32_t *counters = shared.counters[warp];
    /* indices are counted from the vector that holds the first key, `ahead` keys before it */
    const uint32_t ahead = uint32_t(uintptr_t(from.keys + begin) / sizeof(K) % E);
    const K *keys = from.keys + begin;
    const uint64_t count = end - begin + ahead;
    for (uint64_t row = uint64_t(warp) * 32 * E * batch; row < count; row += uint64_t(threads) * E * batch) {
        K key[batch * E];
#pragma unroll
        for (uint32_t b = 0; b < batch; b++) {
            const uint64_t i = row + (b * 32 + lane) * E;
            if (!from.through() && i >= ahead && i + E <= count) {
                const uint4 x = *reinterpret_cast<const uint4 *>(keys + (i - ahead));
                memcpy(key + b * E, &x, sizeof x);
            } else {
#pragma unroll
                for (uint32_t e = 0; e < E; e++)
                    key[b * E + e] = i + e >= ahead && i + e < count ? from.key(begin + (i + e - ahead)) : K(0);
            }
        }
#pragma unroll
        for (uint32_t k = 0; k < batch * E; k++) {
            const uint64_t i = row + (k / E * 32 + lane) * E + k % E;
            if (i >= ahead && i < count)
                shared_add(counters, shared.tables.child_of(code_of(key[k], job)) * 4, 1);
        }
    }
}

template <class K, int value_bytes>
__device__ void count_unit(const job &j, count_shared<K> &shared, const source<K, value_bytes> &from, uint32_t level,
                           uint32_t u) {
    const unit own = j.units[u];
    const region &r = j.regions[level % 2][own.region];
    shared.tables.load(j, r);
    for (uint32_t i = threadIdx.x; i < warps * most_children; i += threads)
        shared.counters[i / most_children][i % most_children] = 0;
    __syncthreads();
    const uint64_t begin = r.begin + own.part * j.unit_keys, end = r.begin + r.size;
    count_keys(j.sort, from, shared, begin, end - begin < j.unit_keys ? end : begin + j.unit_keys);
    __syncthreads();
    for (uint32_t child = threadIdx.x; child < r.children; child += threads) {
        unsigned long long count = 0;
#pragma unroll
        for (int w = 0; w < warps; w++)
            count += shared.counters[w][child];
        j.words[r.first_word + uint64_t(own.part) * r.children + child] = count;
        if (level == 0 && count)
            atomicAdd(&j.counts->totals[child], count);
    }
    __syncthreads();
}

/* ---- places ------------------------------------------------------------------------------------------------------ */

constexpr uint32_t most_pieces = 1024; /* of a pure child, which CTAs share */

/* A CTA has a region's children or, of the one region of level 0, which has many units, a slice of them. Groups of its
 * threads take shares of the units; a thread of each has a child. */
constexpr uint32_t first_slices = 16;
static_assert(threads >= int(most_children) && most_children % first_slices == 0, "threads of a CTA");

struct places_shared {
    unsigned long long sums[threads], begins[most_children], totals[warps];
    uint32_t first_bucket, first_region;
};

/* What is before this thread's x in those of the CTA; total: of all. By the CTA, with a barrier before and one after.
 */
__device__ inline unsigned long long exclusive_in_cta(places_shared &shared, unsigned long long x,
                                                      unsigned long long &total) {
    const int lane = threadIdx.x % 32, warp = warp_of_cta();
    const unsigned long long inclusive = warp_inclusive<add<unsigned long long>>(x, lane);
    __syncthreads();
    if (lane == 31)
        shared.totals[warp] = inclusive;
    __syncthreads();
    unsigned long long before = inclusive - x;
    total = 0;
    for (int w = 0; w < warps; w++) {
        before += w < warp ? shared.totals[w] : 0;
        total += shared.totals[w];
    }
    return before;
}

/* Whether one code alone belongs to a child. */
__device__ inline bool is_pure(const job &j, const region &r, uint32_t child) {
    const uint32_t bytes = j.sort.key_bytes;
    const uint64_t most = bytes == 8 ? ~0ull : 0xffffffff;
    const uint64_t low = child ? load_bits(j.splitters, r.first_child + child, bytes) : 0;
    return child + 1 < r.children ? load_bits(j.splitters, r.first_child + child + 1, bytes) - low == 1 : low == most;
}

/* Turns a thread's counts of a child, in its group's units, into where the keys begin. */
__device__ inline void place_units(unsigned long long *words, const region &r, uint32_t first, uint32_t end,
                                   unsigned long long next) {
#pragma unroll 8
    for (uint32_t u = first; u < end; u++) {
        const unsigned long long count = words[uint64_t(u) * r.children];
        words[uint64_t(u) * r.children] = next;
        next += count;
    }
}

/* Lists the children for what is to come, a thread each. done: there is no child, or it lies in `out` sorted. */
__device__ inline void list_children(const job &j, places_shared &shared, uint32_t level, uint64_t begin, uint64_t size,
                                     bool pure, bool done) {
    /* what is too large for more levels is a bucket too */
    const bool opens = !done && !pure && size > j.most && level + 1 < j.levels;
    const uint64_t piece = pure ? max(uint64_t(j.most), size / most_pieces + 1) : size;
    const uint32_t pieces = done || opens ? 0 : uint32_t((size + piece - 1) / piece);
    unsigned long long all;
    const unsigned long long before =
        exclusive_in_cta(shared, (unsigned long long)pieces | (opens ? 1ull << 48 : 0), all);
    const uint32_t regions = uint32_t(all >> 48);
    if (threadIdx.x == 0) {
        shared.first_bucket = atomicAdd(&j.counts->buckets, uint32_t(all & 0xffffffff));
        shared.first_region = regions ? atomicAdd(&j.counts->level[level + 1].regions, regions) : 0;
    }
    __syncthreads();
    if (opens) {
        region next = {};
        next.begin = begin;
        next.size = size;
        j.regions[(level + 1) % 2][shared.first_region + uint32_t(before >> 48)] = next;
    }
    const uint32_t first = shared.first_bucket + uint32_t(before & 0xffffffff);
    for (uint32_t p = 0; p < pieces; p++) {
        const uint64_t at = p * piece;
        j.buckets[first + p] = {begin + at, size - at < piece ? size - at : piece, level + 1, pure};
    }
}

/* The regions' slices of a level. */
__device__ inline uint32_t slices_of(uint32_t level) { return level ? 1 : first_slices; }

/* By the CTA. */
__device__ inline void place_slice(const job &j, places_shared &shared, uint32_t level, uint32_t i) {
    const uint32_t slices = slices_of(level), each = most_children / slices, groups = threads / each,
                   group = threadIdx.x / each;
    const bool in_out = is_in_out(j, level + 1), direct = level == 0 && !in_out && !j.counts->from_out;
    const region &r = j.regions[level % 2][i / slices];
    const uint32_t child = i % slices * each + threadIdx.x % each;
    const bool exists = child < r.children;
    const uint32_t share = (r.units + groups - 1) / groups, first = min(group * share, r.units),
                   end = min(first + share, r.units);
    unsigned long long *words = j.words + r.first_word + child, sum = 0, size = 0, before = 0, all;
    if (exists)
#pragma unroll 8
        for (uint32_t u = first; u < end; u++)
            sum += words[uint64_t(u) * r.children];
    shared.sums[threadIdx.x] = sum;
    __syncthreads();
    for (uint32_t g = 0; g < groups; g++) {
        const unsigned long long part = shared.sums[g * each + threadIdx.x % each];
        before += g < group ? part : 0;
        size += part;
    }
    unsigned long long total = 0; /* of the child that has this thread's number */
    if (threadIdx.x < most_children)
        total = level ? size : j.counts->totals[threadIdx.x];
    const unsigned long long begin_in_region = exclusive_in_cta(shared, total, all);
    if (threadIdx.x < most_children)
        shared.begins[threadIdx.x] = begin_in_region;
    __syncthreads();
    const uint64_t begin = r.begin + shared.begins[child];
    const bool pure = exists && (size == 1 || is_pure(j, r, child));
    if (exists)
        place_units(words, r, first, end, (begin + before) | (direct && pure ? word_flag : 0));
    list_children(j, shared, level, begin, size, pure, !exists || group || !size || (pure && (in_out || direct)));
}

/* ---- move -------------------------------------------------------------------------------------------------------- */

template <class K, int value_bytes> struct partition_shared {
    move_shared<K, value_bytes> move;
    samplesort::tables<K> tables;
};

template <class K, int value_bytes>
__device__ void move_unit(const job &j, partition_shared<K, value_bytes> &shared, const source<K, value_bytes> &from,
                          const move_targets<K, value_bytes> &to, uint32_t level, uint32_t u) {
    using shape = move_shared<K, value_bytes>;
    const unit own = j.units[u];
    const region &r = j.regions[level % 2][own.region];
    shared.tables.load(j, r);
    for (uint32_t d = threadIdx.x; d < radix; d += threads)
        shared.move.next[d] = d < r.children ? j.words[r.first_word + uint64_t(own.part) * r.children + d] : 0;
    __syncthreads();
    const uint64_t part = own.part * j.unit_keys, end = r.size - part < j.unit_keys ? r.size : part + j.unit_keys;
    for (uint64_t at = part; at < end; at += shape::tile)
        move_tile<K, value_bytes>(shared.move, from, to, r.begin + at,
                                  uint32_t(end - at < shape::tile ? end - at : shape::tile),
                                  [&](K key) { return shared.tables.child_of(code_of(key, j.sort)); });
}

} /* namespace samplesort */
} /* namespace scan_cuda */

#endif
