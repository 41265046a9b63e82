/* SPDX-License-Identifier: MIT
 *
 * The local stage: a CTA sorts a bucket in shared memory, whatever its keys are.
 *
 *     bins        the range of the bucket's codes is divided evenly into about as many as there are keys
 *                 (local_bins.cuh)
 *     groups      bins that have many keys are divided by the bits in which these differ (local_groups.cuh)
 *     merging     where one of those is still crowded, or some float shares its code with others (merge_tile.cuh)
 *
 * A crowded bin, or group, has more than 32 keys, not all of one code. Neighbouring buckets are much alike in this:
 * where many trials of bins have failed, a CTA merges seven buckets of eight without a trial. Both ways are stable.
 *
 * A CTA's time for a bucket is mostly that of its barriers. So two buckets that are neighbours and fit together are
 * sorted as one, unless the first is merged without a trial, and what comes next is fetched to L2 meanwhile. On an H200
 * the local stage of keys of 8 bytes takes a fifth less time for both (2026-11-27: tools/bench --device cuda
 * --algorithm sample --hunt 1 --seed 1839827231382794529 and 16169819500440725633).
 *
 * Work: bins take an atomic addition and a comparison or two a key, merging the logarithm of the bucket's size.
 * Traffic: one read and one write, of neighbours as a rule: keys are in order but for those of a bin.
 *
 * Source: Stehle, Jacobsen, "A memory bandwidth-efficient hybrid radix sort on GPUs", 2017: local sorts of buckets. The
 * bins of the radix sort (sort/local_bins.cuh) are for tiles of many buckets, and stable for few copies only.
 */
#ifndef SCAN_CUDA_SAMPLESORT_LOCAL_CUH
#define SCAN_CUDA_SAMPLESORT_LOCAL_CUH

#include "../device/ptx.cuh"
#include "large.cuh"
#include "local_bins.cuh"

namespace scan_cuda {
namespace samplesort {

constexpr uint32_t merged_without_trial = 7, failed_share_most = 100; /* buckets; in 256ths */

/* Buckets that are merged without a trial of bins: some after each trial, if many of the latest ones failed. */
class merged_ahead {
    uint32_t left = 0, failed_share = 0; /* of the trials, the latest counting most */

  public:
    __device__ bool any() const { return left > 0; }
    __device__ bool take() { return left > 0 && left--; }
    __device__ void record(bool failed) {
        failed_share = (3 * failed_share + (failed ? 256 : 0)) / 4;
        left = failed_share > failed_share_most ? merged_without_trial : 0;
    }
};

/* Fetches the whole 16-byte vectors of an array to L2. By one thread. */
template <class T> __device__ void fetch_to_l2(const T *from, uint64_t count) {
    const uintptr_t begin = (uintptr_t(from) + 15) / 16 * 16, end = uintptr_t(from + count) / 16 * 16;
    if (begin < end)
        bulk_prefetch(reinterpret_cast<const void *>(begin), uint32_t(end - begin));
}

/* ---- a bucket ---------------------------------------------------------------------------------------------------- */

template <class K, int value_bytes, class Shape> class local_sort : bucket_bins<K, value_bytes, Shape> {
    using V = value_type<value_bytes>;
    using B = bucket_bins<K, value_bytes, Shape>;
    using B::each_key, B::job, B::key, B::place, B::rows, B::shared, B::size;

    const bucket &b;
    const source<K, value_bytes> from;

  public:
    __device__ local_sort(const samplesort::job &j, typename B::shared_type &shared, const bucket &b)
        : B(j.sort, shared, uint32_t(b.size)), b(b), from(j, b.level) {}

    /* next: buckets that the CTA sorts afterwards, which are there after a barrier. */
    __device__ void run(merged_ahead &merges, const bucket (&next)[2]) {
        const target<K, value_bytes> to(job);
        K *const out = to.keys ? to.keys + b.begin : nullptr;
        from.template load_keys<threads>(key, b.begin, threadIdx.x, size);
        copies_arrive(); /* `next` has */
        bool bins = false;
        if (!merges.take()) {
            bins = B::fill_bins();
            merges.record(!bins);
        }
        if (bins) {
            fetch(next);
            B::rank_bins(out);
        } else {
            merge(out);
            fetch(next);
        }
        if constexpr (value_bytes > 0)
            write_values(to.values + b.begin);
        __syncthreads();
    }

  private:
    /* Fetches the keys and values of those that lie in the buffers of this bucket. By a lane for each array. */
    __device__ void fetch(const bucket (&next)[2]) const {
        if (threadIdx.x % 32 > 0 || threadIdx.x >= 128)
            return;
        const bucket &own = next[threadIdx.x / 64];
        if (own.level != b.level || own.sorted || own.size > Shape::most || from.through())
            return;
        if (threadIdx.x % 64 == 0)
            fetch_to_l2(from.keys + own.begin, own.size);
        else if (value_bytes > 0 && from.values)
            fetch_to_l2(from.values + own.begin, own.size);
    }

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
                out[i] = shared.keys[place];
            if (value_bytes)
                shared.ranked[place] = uint16_t(i);
        }
    }

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
            out[i] = shared.values[i];
    }
};

template <class K, int value_bytes, class Shape> constexpr size_t local_bytes() {
    constexpr size_t own = sizeof(local_shared<K, value_bytes, Shape>), large = sizeof(move_shared<K, value_bytes>);
    return own > large ? own : large;
}

/* Starts copying two buckets of the list, empty ones past its end. By the CTA, which has them after copies_arrive() and
 * a barrier. */
__device__ inline void list_buckets(const job &j, bucket (&listed)[2], uint32_t first, uint32_t count) {
    constexpr uint32_t words = sizeof(bucket) / sizeof(uint64_t);
    static_assert(sizeof(bucket) % sizeof(uint64_t) == 0, "copied in words");
    const uint32_t which = threadIdx.x / words, word = threadIdx.x % words;
    if (which < 2) {
        uint64_t *to = reinterpret_cast<uint64_t *>(listed + which) + word;
        if (first + which < count)
            copy_to_shared(to, reinterpret_cast<const uint64_t *>(j.buckets + first + which) + word);
        else
            *to = 0;
    }
}

/* Makes one bucket of two, if they are neighbours and not too large for that. */
template <class Shape> __device__ void join(bucket &b, bucket &other) {
    if (b.begin + b.size == other.begin && b.size + other.size <= Shape::most && b.level == other.level && !b.sorted &&
        !other.sorted) {
        b.size += other.size;
        other.size = 0;
    }
}

template <class K, int value_bytes>
__global__ void __launch_bounds__(threads, 2) local_kernel(const __grid_constant__ job j) {
    using shape = local_shape<K, value_bytes, has_room<value_bytes>>;
    __shared__ bucket listed[2][2];
    grid_dependency_wait();
    const uint32_t count = j.levels ? j.counts->buckets : 0;
    if (j.levels)
        list_buckets(j, listed[0], 2 * blockIdx.x, count);
    else if (threadIdx.x < 2)
        listed[0][threadIdx.x] = {0, threadIdx.x ? 0 : sort_count(j.sort), 0, false};
    copies_arrive();
    __syncthreads();
    merged_ahead merges;
    uint32_t parity = 0, first = 2 * blockIdx.x;
    do {
        bucket b = listed[parity][0], other = listed[parity][1];
        first += 2 * gridDim.x;
        list_buckets(j, listed[parity ^ 1], first, count);
        if (!merges.any())
            join<shape>(b, other);
#pragma unroll 1
        while (b.size > 0) {
            if (b.sorted)
                copy_bucket<K, value_bytes>(j, b);
            else if (b.size > shape::most)
                sort_large<K, value_bytes>(j, b, *dynamic_shared<move_shared<K, value_bytes>>());
            else
                local_sort<K, value_bytes, shape>(j, *dynamic_shared<local_shared<K, value_bytes, shape>>(), b)
                    .run(merges, listed[parity ^ 1]);
            b = other;
            other.size = 0;
        }
        copies_arrive();
        __syncthreads();
        parity ^= 1;
    } while (first < count);
}

} /* namespace samplesort */
} /* namespace scan_cuda */

#endif
