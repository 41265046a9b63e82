/* SPDX-License-Identifier: MIT
 *
 * The local stage: a CTA sorts a bucket in shared memory, whatever its keys are.
 *
 *     bins      the range of the bucket's codes is divided evenly into about as many bins as there are keys; a
 *               key's bin counts it, and a key's rank in its bin is the number of keys there that come before it by
 *               code, then by place. Most bins have a key or two.
 *     digits    where some bin has more than 32 keys: passes over those digits of 8 bits that vary, stable
 *
 * Bins are numbered by atomics, in any order, and ranks do not depend on it: codes and places decide. Both ways are
 * stable. Neither compares equal keys with each other more than 32 times, so that copies cost no more than other keys.
 *
 * Only places move until a key's rank is known: 2 bytes each. Then keys and after them values go to their ranks in
 * shared memory and from there to `out`.
 *
 * Work: bins take an atomic addition and a comparison or two a key; digits rank a key up to 4 or 8 times. Traffic: one
 * read and one write.
 *
 * Source: Stehle, Jacobsen, "A memory bandwidth-efficient hybrid radix sort on GPUs", 2017: local sorts of buckets. The
 * bins of the radix sort (sort/local_bins.cuh) are for tiles of many buckets, and stable for few copies only.
 */
#ifndef SCAN_CUDA_SAMPLESORT_LOCAL_CUH
#define SCAN_CUDA_SAMPLESORT_LOCAL_CUH

#include "large.cuh"
#include "splitters.cuh"

namespace scan_cuda {
namespace samplesort {

constexpr uint32_t crowd = 32; /* keys of a bin, at most */

template <class K, int value_bytes, bool roomy> struct local_shape {
    static constexpr int rows = local_rows_of(is_wide<K, value_bytes>, roomy);
    static constexpr uint32_t most = rows * threads;
    static constexpr uint32_t bins = threads * (roomy && sizeof(K) == 4 ? 16 : 8);
    static constexpr uint32_t bin_rows = bins / (threads * 4); /* of 4 bins a lane */
};

template <class K, int value_bytes, class Shape> struct local_shared {
    union {
        K codes[Shape::most]; /* by place in the bucket */
        K keys[Shape::most];  /* by rank */
        value_type<value_bytes> values[value_bytes ? Shape::most : 1];
    };
    uint16_t order[Shape::most]; /* places, in order by bin or digit; then ranks, by place */
    union {
        alignas(16) uint32_t bins[Shape::bins + 4]; /* counts, then where they begin */
        rank_shared ranks;
    };
    K low[warps], high[warps];
    uint32_t sums[warps];
    unsigned long long varying;
};

/* ---- digits ------------------------------------------------------------------------------------------------------ */

/* The bits in which the first `size` codes differ. */
template <class K, class Shape, class Shared> __device__ uint64_t varying_codes(Shared &shared, uint32_t size) {
    if (threadIdx.x == 0)
        shared.varying = 0;
    __syncthreads();
    const K first = shared.codes[0];
    K differ = 0;
    for (uint32_t i = threadIdx.x; i < size; i += threads)
        differ |= K(shared.codes[i] ^ first);
    if (differ)
        atomicOr(&shared.varying, (unsigned long long)differ);
    __syncthreads();
    return shared.varying;
}

/* Places are in order by the digits so far; those past the bucket stay behind the others. */
template <class Shape, class Shared> __device__ void order_by_digit(Shared &shared, uint32_t size, uint32_t shift) {
    constexpr int rows = Shape::rows;
    packed_u8<rows> digits;
    packed_u16<rows> places, to;
#pragma unroll
    for (int r = 0; r < rows; r++) {
        const uint32_t at = shared.order[place_in_tile<rows>(r)];
        places.set(r, at);
        digits.set(r, at < size ? uint32_t(shared.codes[at] >> shift) & (radix - 1) : uint32_t(radix - 1));
    }
    rank_tile<rows>(shared.ranks, digits, to);
#pragma unroll
    for (int r = 0; r < rows; r++)
        shared.order[to.get(r)] = uint16_t(places.get(r));
    __syncthreads();
}

/* Leaves ranks in `order`, by place. Not made part of the kernel, whose registers it would take. */
template <class K, class Shape, class Shared>
__attribute__((noinline)) __device__ void rank_by_digits(Shared &shared, uint32_t size) {
    constexpr int rows = Shape::rows;
    const uint64_t varying = varying_codes<K, Shape>(shared, size);
    for (uint32_t i = threadIdx.x; i < Shape::most; i += threads)
        shared.order[i] = uint16_t(i);
    __syncthreads();
#pragma unroll 1
    for (uint32_t shift = 0; shift < 8 * sizeof(K); shift += digit_bits)
        if (varying >> shift & (radix - 1))
            order_by_digit<Shape>(shared, size, shift);
    packed_u16<rows> places;
#pragma unroll
    for (int r = 0; r < rows; r++)
        places.set(r, shared.order[uint32_t(r) * threads + threadIdx.x]);
    __syncthreads();
#pragma unroll
    for (int r = 0; r < rows; r++)
        shared.order[places.get(r)] = uint16_t(uint32_t(r) * threads + threadIdx.x);
    __syncthreads();
}

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
    K low, high; /* codes */
    K key[rows];

    /* Which key a thread has in row r. */
    static __device__ uint32_t place(int r) { return uint32_t(r) * threads + threadIdx.x; }

  public:
    __device__ local_sort(const sort_job &job, shared_type &shared, const bucket &b)
        : job(job), shared(shared), b(b), from(job, b.level), size(uint32_t(b.size)) {}

    __device__ void run() {
        load();
        packed_u16<rows> ranks;
        if (!rank_by_bins(ranks)) {
            rank_by_digits<K, Shape>(shared, size);
#pragma unroll
            for (int r = 0; r < rows; r++)
                ranks.set(r, shared.order[place(r)]);
        }
        write(ranks);
    }

  private:
    /* Keys to registers, codes to shared memory, and the least and the greatest of them. */
    __device__ void load() {
        low = K(~K(0));
        high = 0;
        from.template load_keys<threads>(key, b.begin, threadIdx.x, size);
#pragma unroll
        for (int r = 0; r < rows; r++)
            if (place(r) < size) {
                const K code = code_of(key[r], job);
                shared.codes[place(r)] = code;
                low = code < low ? code : low;
                high = code > high ? code : high;
            }
        low = K(~warp_total<maximum<K>>(K(~low)));
        high = warp_total<maximum<K>>(high);
        if (threadIdx.x % 32 == 0) {
            shared.low[threadIdx.x / 32] = low;
            shared.high[threadIdx.x / 32] = high;
        }
        __syncthreads();
        for (int w = 0; w < warps; w++) {
            low = shared.low[w] < low ? shared.low[w] : low;
            high = shared.high[w] > high ? shared.high[w] : high;
        }
    }

    /* ---- bins ---------------------------------------------------------------------------------------------------- */

    /* Turns counts of `used` bins into where they begin. Returns the largest count of this thread's bins. */
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

    /* How many keys of its bin come before a key. */
    __device__ uint32_t rank_in_bin(uint32_t begin, uint32_t end, uint32_t own, K code) const {
        uint32_t rank = begin;
#pragma unroll 1
        for (uint32_t i = begin; i < end; i++) {
            const uint32_t other = shared.order[i];
            const K its = shared.codes[other];
            rank += its < code || (its == code && other < own);
        }
        return rank;
    }

    /* Returns false, for the whole CTA, if some bin has too many keys. */
    __device__ bool rank_by_bins(packed_u16<rows> &ranks) {
        const uint32_t used = min(max(power_from(2 * size), 128u), Shape::bins); /* a power of two */
        const uint32_t bin_bits = 31 - uint32_t(__clz(int(used)));
        const uint32_t range_bits = high > low ? bits_of(K(high - low)) : 0;
        const uint32_t shift = range_bits > bin_bits ? range_bits - bin_bits : 0;
        for (uint32_t i = threadIdx.x; i < used / 4; i += threads)
            reinterpret_cast<uint4 *>(shared.bins)[i] = make_uint4(0, 0, 0, 0);
        __syncthreads();
        packed_u16<rows> slots;
#pragma unroll
        for (int r = 0; r < rows; r++) {
            uint32_t slot = 0;
            if (place(r) < size)
                slot = atomicAdd(&shared.bins[K(shared.codes[place(r)] - low) >> shift], 1u);
            slots.set(r, slot);
        }
        __syncthreads();
        const uint32_t largest = scan_bins(used);
        if (threadIdx.x == 0)
            shared.bins[used] = size;
        if (__syncthreads_or(largest > crowd))
            return false;
#pragma unroll
        for (int r = 0; r < rows; r++)
            if (place(r) < size)
                shared.order[shared.bins[K(shared.codes[place(r)] - low) >> shift] + slots.get(r)] = uint16_t(place(r));
        __syncthreads();
#pragma unroll
        for (int r = 0; r < rows; r++) {
            uint32_t rank = 0;
            if (place(r) < size) {
                const K code = shared.codes[place(r)];
                const uint32_t *bin = shared.bins + (K(code - low) >> shift);
                rank = rank_in_bin(bin[0], bin[1], place(r), code);
            }
            ranks.set(r, rank);
        }
        __syncthreads();
        return true;
    }

    /* ---- out ----------------------------------------------------------------------------------------------------- */

    /* All elements are in registers before the first is written: `from` may be `out`. */
    template <class T> __device__ void write_array(const T *x, T *staged, T *out, const packed_u16<rows> &ranks) {
        __syncthreads();
#pragma unroll
        for (int r = 0; r < rows; r++)
            if (place(r) < size)
                staged[ranks.get(r)] = x[r];
        __syncthreads();
#pragma unroll 4
        for (uint32_t i = threadIdx.x; i < size; i += threads)
            out[b.begin + i] = staged[i];
    }

    __device__ void write(const packed_u16<rows> &ranks) {
        const target<K, value_bytes> to(job);
        if (to.keys)
            write_array(key, shared.keys, to.keys, ranks);
        if constexpr (value_bytes > 0) {
            V value[rows];
            from.template load_values<threads>(value, b.begin, threadIdx.x, size);
            write_array(value, shared.values, to.values, ranks);
        }
        __syncthreads();
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
    for (uint32_t i = blockIdx.x; i < count; i += gridDim.x) {
        const bucket b = j.levels ? j.buckets[i] : bucket{0, sort_count(j.sort), 0, false};
        if (b.sorted)
            copy_bucket<K, value_bytes>(j.sort, b);
        else if (b.size > shape::most)
            sort_large<K, value_bytes>(j.sort, b, *dynamic_shared<move_shared<K, value_bytes>>());
        else
            local_sort<K, value_bytes, shape>(j.sort, *dynamic_shared<local_shared<K, value_bytes, shape>>(), b).run();
    }
}

} /* namespace samplesort */
} /* namespace scan_cuda */

#endif
