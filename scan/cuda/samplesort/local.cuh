/* SPDX-License-Identifier: MIT
 *
 * The local stage: a CTA sorts a bucket in shared memory, whatever its keys are.
 *
 *     bins        the range of the bucket's codes is divided evenly into about twice as many as there are keys
 *     merging     where one of those is crowded (merge_tile.cuh)
 *
 * A crowded bin has more than 32 keys, not all of one code. Buckets are much alike in this, so after one with crowded
 * bins a CTA merges some at once.
 *
 *     keys ──> bins, counted ──> keys in order by bin ──> a key's rank: its bin's begin, and the keys of its bin that
 *                                                         come before it by code, then by place ──> out
 *
 * Most bins have a key or two. Atomics number the keys of a bin in any order, and ranks do not depend on it: codes and
 * places decide. A bin of many copies of one code is ranked by places alone, as a digit of a tile is. Both ways are
 * stable. None compares a key with more than 32 others, so that copies cost no more than other keys.
 *
 * Work: bins take an atomic addition and a comparison or two a key, merging the logarithm of the bucket's size.
 * Traffic: one read and one write, of neighbours as a rule: keys are in order but for those of a bin.
 *
 * Source: Stehle, Jacobsen, "A memory bandwidth-efficient hybrid radix sort on GPUs", 2017: local sorts of buckets. The
 * bins of the radix sort (sort/local_bins.cuh) are for tiles of many buckets, and stable for few copies only.
 */
#ifndef SCAN_CUDA_SAMPLESORT_LOCAL_CUH
#define SCAN_CUDA_SAMPLESORT_LOCAL_CUH

#include "large.cuh"
#include "local_shared.cuh"
#include "splitters.cuh"

namespace scan_cuda {
namespace samplesort {

constexpr uint32_t buckets_passed_over = 7;

/* ---- a bucket ---------------------------------------------------------------------------------------------------- */

template <class K, int value_bytes, class Shape> class local_sort {
    using V = value_type<value_bytes>;
    using shared_type = local_shared<K, value_bytes, Shape>;
    static constexpr int rows = Shape::rows;

    const sort_job &job;
    shared_type &shared;
    const bucket &b;
    const source<K, value_bytes> from;
    const uint32_t size;
    K key[rows]; /* by place */
    bin_range<K> range;
    bool copies; /* some bin has more keys than are compared with each other */

    /* What a thread has in row r: the key at that place, or in that slot of an order. */
    static __device__ uint32_t place(int r) { return uint32_t(r) * threads + threadIdx.x; }
    /* Whether the row has any key, for all threads alike. */
    __device__ bool has(int r) const { return uint32_t(r) * threads < size; }

    __device__ uint32_t bin_of(K code) const { return range.of(code); }

    /* Of this thread's rows, those that have a key. */
    template <class F> __device__ void each_key(F f) const {
#pragma unroll
        for (int r = 0; r < rows; r++) {
            if (!has(r))
                break;
            if (place(r) < size)
                f(r);
        }
    }

  public:
    __device__ local_sort(const samplesort::job &j, shared_type &shared, const bucket &b)
        : job(j.sort), shared(shared), b(b), from(j, b.level), size(uint32_t(b.size)) {}

    /* passed_over: buckets that are merged without a trial of bins; set where bins were crowded. */
    __device__ void run(uint32_t &passed_over) {
        const target<K, value_bytes> to(job);
        from.template load_keys<threads>(key, b.begin, threadIdx.x, size);
        bool bins = false;
        if (passed_over) {
            passed_over--;
        } else {
            find_range();
            bins = fill_bins();
            passed_over = bins ? 0 : buckets_passed_over;
        }
        if (bins) {
            if (copies && job.ties)
                rank_copies();
            rank_bins(to.keys);
        } else {
            merge(to.keys);
        }
        if constexpr (value_bytes > 0)
            write_values(to.values);
        __syncthreads();
    }

  private:
    /* Bins for the range of the codes. */
    __device__ void find_range() {
        K low = K(~K(0)), high = 0;
        each_key([&](int r) {
            const K code = code_of(key[r], job);
            low = code < low ? code : low;
            high = code > high ? code : high;
        });
        low = K(~warp_total<maximum<K>>(K(~low)));
        high = warp_total<maximum<K>>(high);
        if (threadIdx.x % 32 == 0) {
            shared.low[threadIdx.x / 32] = low;
            shared.high[threadIdx.x / 32] = high;
        }
        __syncthreads();
        if (warp_of_cta() == 0) {
            const uint32_t w = threadIdx.x % warps;
            low = K(~warp_total<maximum<K>>(K(~shared.low[w])));
            high = warp_total<maximum<K>>(shared.high[w]);
        }
        if (threadIdx.x == 0)
            shared.range.set(low, high, min(max(power_from(2 * size), 128u), Shape::bins));
    }

    /* ---- bins ---------------------------------------------------------------------------------------------------- */

    /* Turns counts of bins into where they begin. Returns the largest count of this thread's bins. */
    __device__ uint32_t scan_bins(uint32_t used) {
        const uint32_t warp = uint32_t(warp_of_cta()), lane = threadIdx.x % 32;
        uint4 *own = reinterpret_cast<uint4 *>(shared.bins) + warp * 32 * Shape::bin_rows + lane;
        const uint32_t first = warp * 128 * Shape::bin_rows; /* bin */
        uint32_t before[Shape::bin_rows], sum = 0, largest = 0;
#pragma unroll
        for (uint32_t q = 0; q < Shape::bin_rows; q++) {
            before[q] = sum;
            if (first + q * 128 < used) {
                const uint4 x = own[q * 32];
                const uint32_t all = x.x + x.y + x.z + x.w, inclusive = warp_inclusive<add<uint32_t>>(all, int(lane));
                largest = max(largest, max(max(x.x, x.y), max(x.z, x.w)));
                before[q] = sum + inclusive - all;
                sum += __shfl_sync(all_lanes, inclusive, 31);
            }
        }
        if (lane == 0)
            shared.sums[warp] = sum;
        __syncthreads();
        uint32_t base = 0;
        for (uint32_t w = 0; w < warp; w++)
            base += shared.sums[w];
#pragma unroll
        for (uint32_t q = 0; q < Shape::bin_rows; q++)
            if (first + q * 128 < used) {
                uint4 x = own[q * 32];
                const uint32_t a = base + before[q], c = a + x.x, d = c + x.y;
                own[q * 32] = make_uint4(a, c, d, d + x.z);
            }
        return largest;
    }

    /* Puts keys, and their places, in order by bin. Returns false, for the whole CTA, if some bin is crowded. */
    __device__ bool fill_bins() {
        __syncthreads();
        range = shared.range;
        for (uint32_t i = threadIdx.x; i < range.used / 4; i += threads)
            reinterpret_cast<uint4 *>(shared.bins)[i] = make_uint4(0, 0, 0, 0);
        __syncthreads();
        packed_u16<rows> slots;
#pragma unroll
        for (int r = 0; r < rows; r++) {
            if (!has(r))
                break;
            slots.set(r, place(r) < size ? atomicAdd(&shared.bins[bin_of(code_of(key[r], job))], 1u) : 0);
        }
        __syncthreads();
        const uint32_t largest = scan_bins(range.used);
        if (threadIdx.x == 0)
            shared.bins[range.used] = size;
        copies = __syncthreads_or(largest > crowd);
        each_key([&](int r) {
            const uint32_t slot = shared.bins[bin_of(code_of(key[r], job))] + slots.get(r);
            shared.keys[slot] = key[r];
            shared.order[slot] = uint16_t(place(r));
        });
        __syncthreads();
        return !copies || !__syncthreads_or(sees_crowd());
    }

    __device__ bool is_copy(const uint32_t *bin) const { return bin[1] - bin[0] > crowd; }

    /* Whether a key of this thread's is in a bin of many keys, and differs from the first one there. */
    __device__ bool sees_crowd() const {
        bool crowded = false;
        for (uint32_t slot = threadIdx.x; slot < size; slot += threads) {
            const K code = code_of(shared.keys[slot], job);
            const uint32_t *bin = shared.bins + bin_of(code);
            crowded |= is_copy(bin) && code_of(shared.keys[bin[0]], job) != code;
        }
        return crowded;
    }

    /* Leaves the ranks of copies in `ranked`. Bins that are 32 keys apart have different digits; the last digit is for
     * all other keys. */
    __device__ void rank_copies() {
        for (uint32_t slot = threadIdx.x; slot < size; slot += threads) {
            const uint32_t *bin = shared.bins + bin_of(code_of(shared.keys[slot], job)), digit = bin[0] / crowd;
            shared.ranked[shared.order[slot]] = uint16_t(is_copy(bin) ? digit : radix - 1);
            if (is_copy(bin) && slot == bin[0])
                shared.copies_begin[digit] = uint16_t(slot);
        }
        __syncthreads();
        const uint32_t used = rows_of_tile(size);
        packed_u8<rows> digits;
        packed_u16<rows> to;
        each_used_row<rows>(used, [&](int r) {
            const uint32_t at = place_in_tile(r, used);
            digits.set(r, at < size ? uint32_t(shared.ranked[at]) : uint32_t(radix - 1));
        });
        rank_tile<rows>(shared.ranks, digits, to, used);
        each_used_row<rows>(used, [&](int r) {
            const uint32_t digit = digits.get(r);
            if (digit < radix - 1)
                shared.ranked[place_in_tile(r, used)] =
                    uint16_t(to.get(r) - shared.ranks.begins[digit] + shared.copies_begin[digit]);
        });
        __syncthreads();
    }

    /* Where the key of a slot belongs: behind those of its bin that come before it. */
    __device__ uint32_t rank_of(uint32_t slot, K code) const {
        const uint32_t *bin = shared.bins + bin_of(code), begin = bin[0], end = bin[1];
        if (end - begin == 1)
            return begin;
        if (is_copy(bin))
            return job.ties ? shared.ranked[shared.order[slot]] : slot;
        uint32_t rank = begin;
#pragma unroll 1
        for (uint32_t i = begin; i < end; i++) {
            const K other = code_of(shared.keys[i], job);
            rank += other < code || (other == code && shared.order[i] < shared.order[slot]);
        }
        return rank;
    }

    /* Keys go to `out`, and their ranks to `ranked`. The rank of a copy is read there before. */
    __device__ void rank_bins(K *out) {
        for (uint32_t slot = threadIdx.x; slot < size; slot += threads) {
            const K own = shared.keys[slot];
            const uint32_t rank = rank_of(slot, code_of(own, job));
            if (out)
                out[b.begin + rank] = own;
            if (value_bytes)
                shared.ranked[shared.order[slot]] = uint16_t(rank);
        }
    }

    /* ---- merging ------------------------------------------------------------------------------------------------- */

    __device__ void merge(K *out) {
        __syncthreads();
        each_key([&](int r) {
            shared.keys[place(r)] = code_of(key[r], job);
            shared.order[place(r)] = uint16_t(place(r));
        });
        order_by_merging<K, Shape>(shared, size);
        if (out) {
            each_key([&](int r) { shared.keys[place(r)] = key[r]; });
            __syncthreads();
        }
        for (uint32_t i = threadIdx.x; i < size; i += threads) {
            const uint32_t place = shared.order[i];
            if (out)
                out[b.begin + i] = shared.keys[place];
            if (value_bytes)
                shared.ranked[place] = uint16_t(i);
        }
    }

    /* ---- values -------------------------------------------------------------------------------------------------- */

    /* All values are in shared memory before the first is written: `from` may be `out`. */
    __device__ void write_values(V *out) {
        {
            V value[rows];
            from.template load_values<threads>(value, b.begin, threadIdx.x, size);
            __syncthreads();
            each_key([&](int r) { shared.values[shared.ranked[place(r)]] = value[r]; });
        }
        __syncthreads();
        for (uint32_t i = threadIdx.x; i < size; i += threads)
            out[b.begin + i] = shared.values[i];
    }
};

template <class K, int value_bytes, class Shape> constexpr size_t local_bytes() {
    constexpr size_t own = sizeof(local_shared<K, value_bytes, Shape>), large = sizeof(move_shared<K, value_bytes>);
    return own > large ? own : large;
}

template <class K, int value_bytes>
__global__ void __launch_bounds__(threads, 2) local_kernel(const __grid_constant__ job j) {
    using shape = local_shape<K, value_bytes, has_room>;
    grid_dependency_wait();
    const uint32_t count = j.levels ? j.counts->buckets : 1;
    uint32_t passed_over = 0;
    for (uint32_t i = blockIdx.x; i < count; i += gridDim.x) {
        const bucket b = j.levels ? j.buckets[i] : bucket{0, sort_count(j.sort), 0, false};
        if (b.sorted)
            copy_bucket<K, value_bytes>(j, b);
        else if (b.size > shape::most)
            sort_large<K, value_bytes>(j, b, *dynamic_shared<move_shared<K, value_bytes>>());
        else
            local_sort<K, value_bytes, shape>(j, *dynamic_shared<local_shared<K, value_bytes, shape>>(), b)
                .run(passed_over);
    }
}

} /* namespace samplesort */
} /* namespace scan_cuda */

#endif
