/* SPDX-License-Identifier: MIT
 *
 * Radix sort of a range of keys, by a CTA alone or by all CTAs of a cluster: a stable pass over each digit in which
 * codes of the range differ, the least significant first, between two buffers in global memory. Each CTA has a share of
 * the positions:
 *
 *          CTA 0                      CTA 1                      ...
 *     count digits               count digits                         in the CTA's own shared memory
 *     -------------------------- barrier of the cluster --------------------------
 *     begins of digits           begins of digits                     of all CTAs smaller digits, then of lower CTAs
 *                                                                     the digit: their counts are read where they are
 *     rank, add up warps, store  rank, add up warps, store            tile by tile
 *     -------------------------- barrier of the cluster --------------------------
 *
 * A warp ranks its rows of a tile (rank.cuh), which counts them too; a thread adds up a digit's counts over the warps;
 * an element goes to where the tile's elements of its digit begin + those of lower warps + its rank.
 *
 * Why right. A barrier of the cluster releases what its threads have written, to global memory too, and acquires what
 * others have: it waits for the stores, and what the SM's L1 cache holds is dropped. So after the second one all see
 * the pass as a whole. It also comes after all have used the counts: these may be cleared then, and no CTA ends while
 * another reads its shared memory. A lone CTA has barriers of the CTA in their place.
 *
 * Traffic: two reads and a write for each digit that differs, one read to see which do, and a copy if their number is
 * odd; where keys are read through indices, only those are written. Barriers: two of the cluster and three of the CTA a
 * pass, two of the CTA a tile.
 *
 * Work: about 120 instructions of a warp for a row of 32 4-byte keys and a pass, 145 for 8-byte keys, of them a quarter
 * to count, half to rank. 128 registers.
 */
#ifndef SCAN_CUDA_SORT_LARGE_PASSES_CUH
#define SCAN_CUDA_SORT_LARGE_PASSES_CUH

#include <type_traits>

#include "rank.cuh"

namespace scan_cuda {

static_assert(large_threads >= radix, "a thread has a digit");

constexpr int large_warps = large_threads / 32;

/* Positions in the array. */
struct large_range {
    uint64_t begin;
    uint32_t size;
};

struct large_shared {
    uint16_t counters[large_warps][radix]; /* elements of a warp in the tile, by digit; then of the warps before it */
    uint32_t next[radix];                  /* where the tile's elements of each digit begin, in the range */
    /* Other CTAs read these: */
    uint32_t counts[radix]; /* elements of the share, by digit */
    unsigned long long differ;
    large_range left; /* to the cluster, see large.cuh */
};

/* Keys and values in one buffer. */
struct large_arrays {
    char *keys, *values;
};

/* A thread's elements of a tile, whose warps have `rows` rows of 32 each in a run. */
struct large_tile {
    static constexpr uint32_t elements = large_rows * large_threads;
    const uint32_t rows, first, end; /* positions in the range */

    __device__ large_tile(uint32_t at, uint32_t share_end)
        : rows(min(large_rows, (share_end - at + large_threads - 1) / large_threads)),
          first(at + uint32_t(warp_of_cta()) * rows * 32 + threadIdx.x % 32), end(min(share_end, first + rows * 32)) {}

    __device__ bool has(uint32_t row) const { return first + row * 32 < end; }

    /* f(row, position) */
    template <class F> __device__ void each(F f) const {
#pragma unroll
        for (uint32_t r = 0; r < large_rows; r++)
            if (has(r))
                f(r, first + r * 32);
    }
    template <class T> __device__ void load(T (&x)[large_rows], const char *from) const {
        each([&](uint32_t r, uint32_t i) { x[r] = reinterpret_cast<const T *>(from)[i]; });
    }
    template <class T>
    __device__ void store(const T (&x)[large_rows], char *to, const uint32_t (&at)[large_rows]) const {
        each([&](uint32_t r, uint32_t) { reinterpret_cast<T *>(to)[at[r]] = x[r]; });
    }
    template <class T> __device__ void move(const char *from, char *to, const uint32_t (&at)[large_rows]) const {
        T x[large_rows];
        load(x, from);
        store(x, to, at);
    }
};

/* Keys of the size of K, which is unsigned. by_index: only values move, and they are the numbers of the keys in the
 * input. */
template <class K, bool by_index> class large_passes {
    using F = std::conditional_t<sizeof(K) == 8, double, float>;
    const sort_job &job;
    large_shared &shared;
    const uint32_t thread, lane;
    const int warp;
    uint32_t ctas, rank; /* that sort together; which of them this one is */

  public:
    __device__ large_passes(const sort_job &job, large_shared &shared)
        : job(job), shared(shared), thread(threadIdx.x), lane(threadIdx.x % 32), warp(warp_of_cta()), ctas(1), rank(0) {
    }

    __device__ void be_alone() { ctas = 1, rank = 0; }
    __device__ void be_in_cluster() { ctas = cluster_size(), rank = cluster_rank(); }

    /* Of the CTAs that sort together. */
    __device__ void barrier() const {
        perturb();
        if (ctas == 1) {
            __syncthreads();
        } else {
            __syncwarp();
            cluster_arrive();
            cluster_wait();
        }
    }
    template <class T> __device__ T of_cta(T &mine, uint32_t which) const {
        return ctas == 1 ? mine : *cluster_at(&mine, which);
    }

    __device__ K code_of(K key) const {
        return job.is_float ? sort_code<F>(key, job.order) : sort_code<K>(key, job.order);
    }

  private:
    __device__ uint32_t digit_of(K key, uint32_t shift) const { return uint32_t(code_of(key) >> shift) % radix; }

    /* The tiles of this CTA's share. */
    template <class Tile> __device__ void for_tiles(uint32_t size, Tile f) const {
        const uint32_t end = size * (rank + 1) / ctas;
#pragma unroll 1
        for (uint32_t at = size * rank / ctas; at < end; at += large_tile::elements)
            f(large_tile(at, end));
    }

    template <class V> __device__ void load_by(const V *indices, const large_tile &tile, K (&key)[large_rows]) const {
        V index[large_rows];
        tile.load(index, reinterpret_cast<const char *>(indices));
        tile.each([&](uint32_t r, uint32_t) { key[r] = static_cast<const K *>(job.keys_in)[index[r]]; });
    }
    __device__ void load(K (&key)[large_rows], const large_tile &tile, const large_arrays &from) const {
        if (!by_index)
            tile.load(key, from.keys);
        else if (job.value_bytes == 8)
            load_by(reinterpret_cast<const uint64_t *>(from.values), tile, key);
        else
            load_by(reinterpret_cast<const uint32_t *>(from.values), tile, key);
    }

    /* The bits in which codes differ. */
    __device__ uint64_t differing(const large_arrays &from, uint32_t size) {
        const K first =
            code_of(by_index ? static_cast<const K *>(job.keys_in)[load_bits(from.values, 0, job.value_bytes)]
                             : *reinterpret_cast<const K *>(from.keys));
        uint64_t differ = 0;
        if (thread == 0)
            shared.differ = 0;
        __syncthreads();
        for_tiles(size, [&](const large_tile &tile) {
            K key[large_rows];
            load(key, tile, from);
            tile.each([&](uint32_t r, uint32_t) { differ |= code_of(key[r]) ^ first; });
        });
        differ = warp_or(differ);
        if (lane == 0)
            atomicOr(&shared.differ, (unsigned long long)(differ));
        barrier();
#pragma unroll 1
        for (uint32_t c = 0; c < ctas; c++)
            differ |= of_cta(shared.differ, c);
        barrier();
        return differ;
    }

    __device__ void count(const large_arrays &from, uint32_t size, uint32_t shift) {
        if (thread < radix)
            shared.counts[thread] = 0;
        __syncthreads();
        for_tiles(size, [&](const large_tile &tile) {
            K key[large_rows];
            load(key, tile, from);
            tile.each([&](uint32_t r, uint32_t) { atomicAdd(&shared.counts[digit_of(key[r], shift)], 1u); });
        });
        barrier();
    }

    /* For the thread of a digit: where its elements of this share begin. */
    __device__ uint32_t begin_of_digit() {
        uint32_t all = 0, lower = 0;
        if (thread < radix) {
#pragma unroll
            for (uint32_t c = 0; c < large_ctas; c++) {
                const uint32_t own = c < ctas ? of_cta(shared.counts[thread], c) : 0;
                all += own;
                lower += c < rank ? own : 0;
            }
            shared.next[thread] = all;
        }
        __syncthreads();
        if (warp == 0)
            begins_of_digits(shared.next, shared.next, int(lane));
        __syncthreads();
        return thread < radix ? shared.next[thread] + lower : 0;
    }

    /* next: where elements of the thread's digit go; then those of the next tile. */
    __device__ void move(const large_tile &tile, const large_arrays &from, const large_arrays &to, uint32_t shift,
                         uint32_t &next) {
        uint16_t *own = shared.counters[warp];
        K key[large_rows] = {};
        uint32_t place[large_rows]; /* rank in the warp, and digit; then where the element goes */
        load(key, tile, from);
        __syncwarp();
        for (uint32_t i = lane; i < radix / 2; i += 32)
            reinterpret_cast<uint32_t *>(own)[i] = 0;
        __syncwarp();
#pragma unroll
        for (uint32_t r = 0; r < large_rows; r++)
            if (r < tile.rows) { /* what is past the share has the greatest digit: it is behind all others */
                const uint32_t digit = tile.has(r) ? digit_of(key[r], shift) : radix - 1;
                place[r] = rank_row(own, digit, (1u << lane) - 1) << digit_bits | digit;
            }
        __syncthreads();
        if (thread < radix) {
            uint32_t before = 0;
#pragma unroll 8
            for (int w = 0; w < large_warps; w++) {
                const uint32_t counted = shared.counters[w][thread];
                shared.counters[w][thread] = uint16_t(before);
                before += counted;
            }
            shared.next[thread] = next;
            next += before;
        }
        __syncthreads();
        tile.each([&](uint32_t r, uint32_t) {
            const uint32_t digit = place[r] % radix;
            place[r] = shared.next[digit] + own[digit] + (place[r] >> digit_bits);
        });
        if (!by_index)
            tile.store(key, to.keys, place);
        if (job.value_bytes == 8)
            tile.template move<uint64_t>(from.values, to.values, place);
        else if (job.value_bytes == 4)
            tile.template move<uint32_t>(from.values, to.values, place);
    }

    /* Of this CTA's share. An element is stored as a whole: other CTAs may read the keys meanwhile (large.cuh). */
    template <class T> __device__ void copy(const char *from, char *to, uint32_t size) const {
        const uint32_t end = size * (rank + 1) / ctas;
#pragma unroll 4
        for (uint32_t i = size * rank / ctas + thread; i < end; i += large_threads)
            reinterpret_cast<T *>(to)[i] = reinterpret_cast<const T *>(from)[i];
    }

  public:
    /* By all threads of the CTAs that sort together: the elements of `from`, with room in `to`. In the end they are
     * where they were. At most 2^28. */
    __device__ void sort(large_arrays from, large_arrays to, uint32_t size) {
        bool moved = false;
#pragma unroll 1
        for (uint64_t left = differing(from, size); left; moved = !moved) {
            const uint32_t shift = uint32_t(__ffsll((long long)(left))) - 1;
            left &= ~(uint64_t(radix - 1) << shift);
            count(from, size, shift);
            uint32_t next = begin_of_digit();
            for_tiles(size, [&](const large_tile &tile) { move(tile, from, to, shift, next); });
            barrier();
            const large_arrays done = to;
            to = from;
            from = done;
        }
        if (moved) {
            if (!by_index)
                copy<K>(from.keys, to.keys, size);
            if (job.value_bytes == 8)
                copy<uint64_t>(from.values, to.values, size);
            else if (job.value_bytes == 4)
                copy<uint32_t>(from.values, to.values, size);
        }
    }
};

} /* namespace scan_cuda */

#endif
