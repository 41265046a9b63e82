/* SPDX-License-Identifier: MIT
 *
 * The order of operations that scan.h promises, as warp-level pieces: 16-byte vectors of accumulators, rows of 32
 * vectors (one a lane), chunks of 8 rows, tiles of 8 chunks, groups of 32 tiles.
 *
 *   row_totals       reduces rows; the butterfly over lanes pairs operands as the last lane of Kogge-Stone does, so
 *                    a total is the row's own last inclusive fold, bit for bit
 *   chunk_folds      folds the totals of a tile's rows into those of its chunks, and of the tile
 *   scanned_rows     in-vector folds and Kogge-Stone over lanes, before any prefix is known
 *   write_chunk      once the chunk's base is known: hands every row's outputs to a writer
 *
 *   lane        0        1        2        3    ...
 *   vector   a b c d  e f g h  i j k l  m n o p        serial inside the vector
 *               |        |        |        |           Kogge-Stone over the vectors' last folds
 *   out      lane's base (fold before its vector) op each fold inside the vector
 *
 * Work for a row of 32 vectors of E operands: 32 (E - 1) for the folds, 129 for Kogge-Stone, 32 E for the outputs; the
 * reduction alone 32 (E - 1) + 36, eight rows together. Depth E + 5 + 2. No barrier and no shared memory: lanes
 * shuffle.
 */
#ifndef SCAN_CUDA_DEVICE_ORDER_CUH
#define SCAN_CUDA_DEVICE_ORDER_CUH

#include "ptx.cuh"
#include "vector.cuh"

namespace scan_cuda {

constexpr int rows_per_chunk = 8;
constexpr int chunks_per_tile = 8;
constexpr int tiles_per_group = 32;
constexpr int rows_per_tile = rows_per_chunk * chunks_per_tile;
template <class T> constexpr int row_elements = 32 * vector_elements<T>;
template <class T> constexpr int chunk_elements = rows_per_chunk *row_elements<T>;
template <class T> constexpr int tile_elements = chunks_per_tile *chunk_elements<T>;

/* Kogge-Stone over the lanes of a warp, inclusive. op: for an operator that is known at run time. */
template <class Op> __device__ typename Op::type warp_inclusive(typename Op::type x, int lane, const Op &op = Op()) {
#pragma unroll
    for (int d = 1; d < 32; d *= 2) {
        typename Op::type before = __shfl_up_sync(all_lanes, x, d);
        if (lane >= d)
            x = op.apply(before, x);
    }
    return x;
}

/* What the last lane of warp_inclusive would hold, in every lane. */
template <class Op> __device__ typename Op::type warp_total(typename Op::type x) {
#pragma unroll
    for (int d = 1; d < 32; d *= 2) {
        typename Op::type other = __shfl_xor_sync(all_lanes, x, d);
        bool left = !Op::commutative && (threadIdx.x & d); /* the other lane comes first */
        x = left ? Op::apply(other, x) : Op::apply(x, other);
    }
    return x;
}

/* Reductions of words: one instruction from sm_80 on. */
__device__ inline uint32_t warp_sum(uint32_t x) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    return __reduce_add_sync(all_lanes, x);
#else
    return warp_total<add<uint32_t>>(x);
#endif
}
/* The sum of numbers below 2^54, from two sums of 27 bits each. */
__device__ inline uint64_t warp_sum(uint64_t x) {
    constexpr int bits = 27; /* the sum of 32 such parts fits in 32 */
    return warp_sum(uint32_t(x) & ((1u << bits) - 1)) + (uint64_t(warp_sum(uint32_t(x >> bits))) << bits);
}

__device__ inline uint32_t warp_max(uint32_t x) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    return __reduce_max_sync(all_lanes, x);
#else
    return warp_total<maximum<uint32_t>>(x);
#endif
}
__device__ inline uint64_t warp_max(uint64_t x) {
    const uint32_t high = warp_max(uint32_t(x >> 32));
    return uint64_t(high) << 32 | warp_max(uint32_t(x >> 32) == high ? uint32_t(x) : 0);
}

__device__ inline uint32_t warp_or(uint32_t x) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    return __reduce_or_sync(all_lanes, x);
#else
#pragma unroll
    for (int d = 1; d < 32; d *= 2)
        x |= __shfl_xor_sync(all_lanes, x, d);
    return x;
#endif
}
__device__ inline uint64_t warp_or(uint64_t x) {
    return uint64_t(warp_or(uint32_t(x >> 32))) << 32 | warp_or(uint32_t(x));
}

/* warp_total of N values at once; the lanes i, i + N, ... get that of value i. In each of the first steps a lane keeps
 * one of two values and gives its neighbour the other, which halves their number. */
template <class Op, int N> __device__ typename Op::type warp_totals(typename Op::type (&x)[N], int lane) {
    using T = typename Op::type;
    static_assert((N & (N - 1)) == 0 && N > 1 && N <= 32, "lanes are halved");
#pragma unroll
    for (int d = 1; d < 32; d *= 2) {
        const bool odd = lane & d, left = !Op::commutative && odd; /* the other lane comes first */
#pragma unroll
        for (int i = 0; i < N / 2; i++) {
            if (i > 0 && i >= N / d / 2)
                break;
            const T mine = d < N && odd ? x[2 * i + 1] : x[2 * i];
            const T other = __shfl_xor_sync(all_lanes, d < N && !odd ? x[2 * i + 1] : x[2 * i], d);
            x[i] = left ? Op::apply(other, mine) : Op::apply(mine, other);
        }
    }
    return x[0];
}

/* The totals of rows; the lanes i, i + rows, ... get that of row i. row(k) returns this lane's operands of row k. */
template <class Op, int rows, class Row> __device__ typename Op::type row_totals(Row row, int lane) {
    typename Op::type folds[rows];
#pragma unroll
    for (int k = 0; k < rows; k++)
        folds[k] = row(k).fold();
    return warp_totals<Op, rows>(folds, lane);
}

/* The serial fold of x[0], x[stride], ... */
template <class Op, int count> __device__ typename Op::type fold_of(const typename Op::type *x, int stride = 1) {
    typename Op::type v[count], fold;
#pragma unroll
    for (int i = 0; i < count; i++)
        v[i] = x[i * stride];
    fold = v[0];
#pragma unroll
    for (int i = 1; i < count; i++)
        fold = Op::apply(fold, v[i]);
    return fold;
}

/* From the totals of a tile's rows, by a warp: lane i of the first has the fold of the tile's chunks up to and
 * including chunk i, all lanes the tile's total. */
template <class Op> struct chunk_folds {
    using T = typename Op::type;
    T mine, total;

    __device__ chunk_folds(const T *row_totals, int lane) {
        T chunk = fold_of<Op, rows_per_chunk>(row_totals + lane % chunks_per_tile * rows_per_chunk);
        total = mine = __shfl_sync(all_lanes, chunk, 0);
#pragma unroll
        for (int i = 1; i < chunks_per_tile; i++) {
            total = Op::apply(total, T(__shfl_sync(all_lanes, chunk, i)));
            if (lane == i)
                mine = total;
        }
    }
};

/* Consecutive rows in a warp's registers, scanned but for their prefix. */
template <class Op, int rows> struct scanned_rows {
    using T = typename Op::type;
    operands<Op> x[rows]; /* scanned inside each vector */
    T lanes[rows];        /* inclusive over lanes; lane 31 holds the row's total */

    template <class Row> __device__ void scan(Row row, int lane) {
#pragma unroll
        for (int k = 0; k < rows; k++) {
            x[k] = row(k);
            lanes[k] = warp_inclusive<Op>(x[k].scan(), lane);
        }
    }

    /* This lane's outputs of row k, given the folds before the row and before the next, as operands. */
    __device__ operands<Op> outputs(int k, T base, T next, bool exclusive, int lane) const {
        T before = __shfl_up_sync(all_lanes, lanes[k], 1);
        T lane_base = lane ? Op::apply(base, before) : base;
        T lane_next = lane == 31 ? next : Op::apply(base, lanes[k]);
        return x[k].outputs(lane_base, lane_next, exclusive);
    }
};

/* A chunk in one warp: base is the fold before it, next the fold before the following chunk. */
template <class Op, class Write>
__device__ void write_chunk(const scanned_rows<Op, rows_per_chunk> &c, typename Op::type base, typename Op::type next,
                            bool exclusive, int lane, Write write) {
    using T = typename Op::type;
    T rows{}, row_base = base;
#pragma unroll
    for (int k = 0; k < rows_per_chunk; k++) {
        T total = __shfl_sync(all_lanes, c.lanes[k], 31);
        rows = k ? Op::apply(rows, total) : total;
        T next_row = k == rows_per_chunk - 1 ? next : Op::apply(base, rows);
        write(k, c.outputs(k, row_base, next_row, exclusive, lane));
        row_base = next_row;
    }
}

} /* namespace scan_cuda */

#endif
