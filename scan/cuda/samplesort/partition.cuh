/* SPDX-License-Identifier: MIT
 *
 * A level splits regions into children: it counts, finds places, and moves.
 *
 *     count     a CTA takes a unit: how many keys of each child it has, and whether some of them differ from the
 *               child's splitter
 *     places    a CTA takes a region: where each unit's keys of each child begin, unit by unit; and what becomes of a
 *               child: nothing more if it is pure, a bucket of the local stage, or a region of the next level
 *     move      a CTA takes a unit, tile by tile (tile.cuh)
 *
 *     unit 0     3 of A, 2 of B            A at 0, B at 7
 *     unit 1     4 of A, 1 of B     ──>    A at 3, B at 9
 *
 * No CTA waits for another one: counts by unit take the place of look-back, and results depend on nothing but the keys.
 * A pure child goes to `out` at once, where that is not read at the time.
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

constexpr uint32_t impure = 1u << 31; /* in a warp's counter: some key differs from the splitter */

template <class K> struct count_shared {
    samplesort::tables<K> tables;
    uint32_t counters[warps][most_children];
};

/* Counts a row. valid: the lane has a key. */
template <class K>
__device__ void count_row(const tables<K> &tables, uint32_t *counters, K code, bool valid, unsigned below) {
    const uint32_t child = valid ? tables.child_of(code) : 0;
    const unsigned same = lanes_with_byte(child) & __ballot_sync(all_lanes, valid);
    const unsigned differ = __ballot_sync(all_lanes, valid && tables.splitters[child] != code);
    if (valid && (same & below) == 0)
        counters[child] = (counters[child] + uint32_t(__popc(same))) | (same & differ ? impure : 0);
    __syncwarp();
}

/* The keys of [begin, end), by vectors of 16 bytes where `keys` are neighbours; in any order. */
template <class K, int value_bytes>
__device__ void count_keys(const sort_job &job, const source<K, value_bytes> &from, count_shared<K> &shared,
                           uint64_t begin, uint64_t end) {
    constexpr uint32_t E = 16 / sizeof(K), batch = 2 * sizeof(K) / 4; /* elements of a vector; vectors of 8 keys */
    const uint32_t warp = uint32_t(warp_of_cta()), lane = threadIdx.x % 32;
    const unsigned below = (1u << lane) - 1;
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
            count_row(shared.tables, counters, code_of(key[k], job), i >= ahead && i < count, below);
        }
    }
}

template <class K, int value_bytes>
__global__ void __launch_bounds__(threads, 2) count_kernel(const __grid_constant__ job j, uint32_t level) {
    __shared__ count_shared<K> shared;
    grid_dependency_wait();
    const uint32_t units = j.counts->level[level].units;
    const source<K, value_bytes> from(j.sort, level);
    for (uint32_t u = blockIdx.x; u < units; u += gridDim.x) {
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
            unsigned long long count = 0, flag = 0;
#pragma unroll
            for (int w = 0; w < warps; w++) {
                count += shared.counters[w][child] & ~impure;
                flag |= shared.counters[w][child] & impure;
            }
            j.words[r.first_word + uint64_t(own.part) * r.children + child] = count | (flag ? word_flag : 0);
        }
        __syncthreads();
    }
}

/* ---- places ------------------------------------------------------------------------------------------------------ */

constexpr int places_threads = 256;
static_assert(places_threads >= int(most_children), "a thread has a child");

struct child_list {
    uint64_t begin[most_children], size[most_children];
    bool pure[most_children];
};

/* Of a thread's child: sums its counts over units. Returns the keys of it; flag: some differ from the splitter. */
__device__ inline unsigned long long sum_units(const unsigned long long *words, const region &r,
                                               unsigned long long &flag) {
    unsigned long long sum = 0;
#pragma unroll 8
    for (uint32_t u = 0; u < r.units; u++) {
        const unsigned long long word = words[uint64_t(u) * r.children];
        sum += word & ~word_flag;
        flag |= word & word_flag;
    }
    return sum;
}

/* What is before this thread's x in those of the CTA. */
__device__ inline unsigned long long exclusive_in_cta(unsigned long long x) {
    __shared__ unsigned long long totals[places_threads / 32];
    const int lane = threadIdx.x % 32, warp = warp_of_cta();
    const unsigned long long inclusive = warp_inclusive<add<unsigned long long>>(x, lane);
    if (lane == 31)
        totals[warp] = inclusive;
    __syncthreads();
    unsigned long long before = inclusive - x;
    for (int w = 0; w < warp; w++)
        before += totals[w];
    return before;
}

/* Lists a child for what is to come. By the CTA. finished: it lies in `out`. */
__device__ inline void list_child(const job &j, uint32_t level, uint64_t begin, uint64_t size, bool sorted,
                                  bool finished) {
    if (size == 0 || (sorted && finished))
        return;
    if (sorted || size <= j.most || level + 1 == j.levels) { /* what is too large for more levels is a bucket too */
        const uint64_t piece = sorted ? j.most : size;
        const uint32_t pieces = uint32_t((size + piece - 1) / piece);
        __shared__ uint32_t first;
        if (threadIdx.x == 0)
            first = atomicAdd(&j.counts->buckets, pieces);
        __syncthreads();
        for (uint32_t p = threadIdx.x; p < pieces; p += places_threads) {
            const uint64_t at = p * piece;
            j.buckets[first + p] = {begin + at, size - at < piece ? size - at : piece, level + 1, sorted};
        }
        __syncthreads();
    } else if (threadIdx.x == 0) {
        region next = {};
        next.begin = begin;
        next.size = size;
        j.regions[(level + 1) % 2][atomicAdd(&j.counts->level[level + 1].regions, 1u)] = next;
    }
}

static __global__ void __launch_bounds__(places_threads) places_kernel(const __grid_constant__ job j, uint32_t level) {
    __shared__ child_list list;
    grid_dependency_wait();
    const uint32_t regions = j.counts->level[level].regions, child = threadIdx.x;
    const bool in_out = level % 2 != 0, direct = level == 0 && !j.in_place;
    for (uint32_t i = blockIdx.x; i < regions; i += gridDim.x) {
        const region &r = j.regions[level % 2][i];
        unsigned long long *words = j.words + r.first_word + child, flag = 0, size = 0;
        if (child < r.children)
            size = sum_units(words, r, flag);
        const uint64_t begin = r.begin + exclusive_in_cta(size);
        const bool pure = flag == 0 || size == 1;
        if (child < r.children) {
            list.begin[child] = begin;
            list.size[child] = size;
            list.pure[child] = pure;
            unsigned long long next = begin | (direct && pure ? word_flag : 0);
#pragma unroll 8
            for (uint32_t u = 0; u < r.units; u++) {
                const unsigned long long count = words[uint64_t(u) * r.children] & ~word_flag;
                words[uint64_t(u) * r.children] = next;
                next += count;
            }
        }
        __syncthreads();
        for (uint32_t c = 0; c < r.children; c++)
            list_child(j, level, list.begin[c], list.size[c], list.pure[c], in_out || direct);
        __syncthreads();
    }
}

/* ---- move -------------------------------------------------------------------------------------------------------- */

template <class K, int value_bytes> struct partition_shared {
    move_shared<K, value_bytes> move;
    samplesort::tables<K> tables;
};

template <class K, int value_bytes>
__global__ void __launch_bounds__(threads, 2) move_kernel(const __grid_constant__ job j, uint32_t level) {
    using shape = move_shared<K, value_bytes>;
    grid_dependency_wait();
    auto &shared = *dynamic_shared<partition_shared<K, value_bytes>>();
    const uint32_t units = j.counts->level[level].units;
    const source<K, value_bytes> from(j.sort, level);
    const move_targets<K, value_bytes> to = {target<K, value_bytes>(j.sort, level + 1), target<K, value_bytes>(j.sort)};
    for (uint32_t u = blockIdx.x; u < units; u += gridDim.x) {
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
}

} /* namespace samplesort */
} /* namespace scan_cuda */

#endif
