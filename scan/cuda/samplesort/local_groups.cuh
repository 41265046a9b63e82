/* SPDX-License-Identifier: MIT
 *
 * Sample sort, local stage: bins that have many keys are divided. Keys that lie close together, far from others, share
 * one of the bins of equal width, while most bins are empty. Each bin becomes a group:
 *
 *     11 | 1000000 1000001 1000011 1000010 | 52           the second one has four keys, which differ in the lowest bits
 *     11 | 1000000 | 1000001 | 1000010 | 1000011 | 52     it is divided by two bits, for four keys have four numbers
 *
 * In truth it has more than eight keys: fewer are compared with each other sooner.
 *
 * A group is divided by the highest bits in which its keys differ, so that bits that all of them share cost nothing. It
 * may leave groups that are too large, which are divided again.
 *
 * Work: a key takes two atomics and some ten accesses of shared memory a level. Barriers: ten a level. Where buckets
 * were merged before, a sort takes up to 1/1.2 of the time, on average over all keys 1/1.02 (H200, 2026-11-30:
 * tools/bench --device cuda --algorithm sample --hunt 60 --seed 20261541 --type u64,i64,f64 --min-n 4200000 --max-n
 * 2^27).
 *
 * Source: Leis, Kemper, Neumann, "The adaptive radix tree", 2013: nodes of one child are left out.
 */
#ifndef SCAN_CUDA_SAMPLESORT_LOCAL_GROUPS_CUH
#define SCAN_CUDA_SAMPLESORT_LOCAL_GROUPS_CUH

#include "../sort/job.cuh"
#include "local_shared.cuh"

namespace scan_cuda {
namespace samplesort {

constexpr int group_levels = 3;
/* Bins are divided if one key in so many is in one with more than a few, and differs from the first one there. */
constexpr uint32_t dense_share = 8;

/* What has become of a bucket's bins, for the whole CTA. */
struct divided {
    bool grouped; /* groups have taken their place */
    bool crowded; /* some has more keys than are compared with each other, not all of one code */
    bool copies;  /* some has so many of one code */
    bool told;    /* of those with more than a few keys local_shared.is_mixed() tells */
};

/* Keys are in shared memory in order by bin. mask: bits that decide. */
template <class K, int value_bytes, class Shape> class bucket_groups {
    static constexpr int rows = Shape::rows;

    using table = group_table<Shape>;

    local_shared<K, value_bytes, Shape> &shared;
    const uint32_t size;
    const bin_range<K> range;
    const K mask;
    bool grouped = false, copies = false;

    /* Of this thread's slots, those that have a key. */
    template <class Do> __device__ void each_slot(Do f) const {
#pragma unroll
        for (int r = 0; r < rows; r++)
            if (uint32_t(r) * threads + threadIdx.x < size)
                f(r, uint32_t(r) * threads + threadIdx.x);
    }
    __device__ K code_at(uint32_t slot) const { return shared.keys[slot] & mask; }
    __device__ slots slots_of(uint32_t slot, K code) const { return shared.slots_of(range, grouped, slot, code); }

    /* Of a group of more than a few keys: how many of the lowest bits some of them differ in. */
    __device__ uint32_t &differing_bits(uint32_t begin) const {
        static_assert(Shape::most / few * sizeof(uint32_t) <= sizeof shared.ranks.counters, "each has a place");
        return reinterpret_cast<uint32_t *>(shared.ranks.counters)[begin / few];
    }

    /* Whether some group is crowded, or more than `most` keys, in groups of more than a few, differ from the first one
     * there. Finds copies, and groups of several codes. */
    __device__ bool is_crowded(uint32_t most) {
        uint32_t dense = 0;
        bool many = false, crowded = false;
        for (uint32_t slot = threadIdx.x; slot < size; slot += threads) {
            const K own = code_at(slot);
            const slots s = slots_of(slot, own);
            const bool differs = s.count() > few && code_at(s.begin) != own;
            many |= s.count() > crowd;
            crowded |= s.count() > crowd && differs;
            if (differs && !shared.is_mixed(s.begin))
                shared.set_mixed(s.begin);
            dense += differs;
        }
        copies = __syncthreads_or(many);
        dense = warp_sum(dense);
        if (threadIdx.x % 32 == 0)
            shared.sums[threadIdx.x / 32] = dense;
        crowded = __syncthreads_or(crowded);
        return crowded || warp_sum(threadIdx.x % 32 < warps ? shared.sums[threadIdx.x % 32] : 0) > most;
    }

    /* Returns whether some group has more keys then than are compared. */
    __device__ bool divide() {
        uint16_t *const begins = shared.groups.begins;
        K key[rows];
        packed_u16<rows> places, numbers, ranks;
        for (uint32_t begin = threadIdx.x * few; begin < size; begin += threads * few)
            differing_bits(begin) = 0;
        shared.clear_mixed();
        __syncthreads();
        each_slot([&](int r, uint32_t slot) {
            key[r] = shared.keys[slot];
            places.set(r, shared.order[slot]);
            const slots s = slots_of(slot, key[r] & mask);
            if (s.count() > few)
                atomicMax(&differing_bits(s.begin), bits_of(K((key[r] ^ shared.keys[s.begin]) & mask)));
        });
        __syncthreads();
        each_slot([&](int r, uint32_t slot) {
            const slots s = slots_of(slot, key[r] & mask);
            const uint32_t bits = 31 - uint32_t(__clz(int(s.count()))),
                           differing = s.count() > few ? differing_bits(s.begin) : 0;
            const K below = differing ? K(key[r] & mask & K(~K(0)) >> (8 * sizeof(K) - differing)) : K(0);
            numbers.set(r, s.begin + uint32_t(below >> (differing > bits ? differing - bits : 0)));
        });
        __syncthreads();
        for (uint32_t i = threadIdx.x; i <= size / table::vector; i += threads)
            reinterpret_cast<uint4 *>(begins)[i] = uint4{};
        __syncthreads();
        each_slot([&](int r, uint32_t) {
            const uint32_t shift = numbers.get(r) % 2 * 16;
            uint32_t *pair = reinterpret_cast<uint32_t *>(begins) + numbers.get(r) / 2;
            ranks.set(r, atomicAdd(pair, 1u << shift) >> shift & 0xffff);
        });
        __syncthreads();
        const bool many = __syncthreads_or(scan_counts() > crowd);
        each_slot([&](int r, uint32_t) {
            const uint32_t slot = begins[numbers.get(r)] + ranks.get(r);
            shared.keys[slot] = key[r];
            shared.order[slot] = uint16_t(places.get(r));
            shared.groups.number[slot] = uint16_t(numbers.get(r));
        });
        grouped = true;
        __syncthreads();
        return many;
    }

    /* Turns counts into where the groups begin, and the last one ends. Returns the largest count of this thread's. */
    __device__ uint32_t scan_counts() {
        const auto both = [](uint32_t pair) { return (pair & 0xffff) + (pair >> 16); };
        const auto larger = [](uint32_t pair) { return max(pair & 0xffff, pair >> 16); };
        uint32_t largest = 0;
        scan_vectors<Shape::group_rows>(
            reinterpret_cast<uint4 *>(shared.groups.begins), (size + table::vector - 1) / table::vector, shared.sums,
            [&](const uint4 &x) {
                largest = max(largest, max(max(larger(x.x), larger(x.y)), max(larger(x.z), larger(x.w))));
                return both(x.x) + both(x.y) + both(x.z) + both(x.w);
            },
            [&](uint4 x, uint32_t begin) {
                for (uint32_t *pair : {&x.x, &x.y, &x.z, &x.w}) {
                    const uint32_t low = *pair & 0xffff, all = both(*pair);
                    *pair = begin | (begin + low) << 16;
                    begin += all;
                }
                return x;
            });
        if (threadIdx.x == 0 && size % table::vector == 0) /* else its vector has it */
            shared.groups.begins[size] = uint16_t(size);
        return largest;
    }

  public:
    __device__ bucket_groups(local_shared<K, value_bytes, Shape> &shared, uint32_t size, const bin_range<K> &range,
                             K mask)
        : shared(shared), size(size), range(range), mask(mask) {}

    __device__ divided run() {
        bool crowded = is_crowded(Shape::has_groups ? size / dense_share : size), told = true;
        if constexpr (Shape::has_groups)
            for (int level = 0; level < group_levels && crowded; level++) {
                const bool many = divide();
                copies = false;
                crowded = many && is_crowded(size);
                told = many;
            }
        return {grouped, crowded, copies, told};
    }
};

/* Divides bins of many keys, if they are many. By the CTA, after a barrier, and with one at its end. Not made part of
 * the kernel, whose registers it would take. */
template <class K, int value_bytes, class Shape>
__attribute__((noinline)) __device__ divided divide_bins(local_shared<K, value_bytes, Shape> &shared, uint32_t size,
                                                         bin_range<K> range, K mask) {
    return bucket_groups<K, value_bytes, Shape>(shared, size, range, mask).run();
}

} /* namespace samplesort */
} /* namespace scan_cuda */

#endif
