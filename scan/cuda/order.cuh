/* SPDX-License-Identifier: MIT
 *
 * The order of operations that scan.h promises, as warp-level pieces: 16-byte vectors of accumulators, rows of 32
 * vectors (one a lane), chunks of 8 rows, tiles of 8 chunks, groups of 32 tiles.
 *
 *   chunk_total    reduces a chunk; the butterfly over lanes pairs operands as the last lane of Kogge-Stone does, so
 * the total is the chunk's own last inclusive fold, bit for bit scanned_rows   in-vector folds and Kogge-Stone over
 * lanes, before any prefix is known write_chunk    once the chunk's base is known: hands every row's outputs to a
 * writer
 */
#ifndef SCAN_CUDA_ORDER_CUH
#define SCAN_CUDA_ORDER_CUH

#include "element.cuh"
#include "ptx.cuh"

namespace scan_cuda {

constexpr int rows_per_chunk = 8;
constexpr int chunks_per_tile = 8;
constexpr int tiles_per_group = 32;
template <class T> constexpr int vector_elements = 16 / int(sizeof(T));
template <class T> constexpr int row_elements = 32 * vector_elements<T>;
template <class T> constexpr int chunk_elements = rows_per_chunk *row_elements<T>;
template <class T> constexpr int tile_elements = chunks_per_tile *chunk_elements<T>;

/* One vector of accumulators, or the input elements it is made from. */
template <class T, int N> struct alignas(sizeof(T) * N) vector { T v[N]; };

template <class T> using accumulators = vector<T, vector_elements<T>>;

/* Kogge-Stone over the lanes of a warp, inclusive. */
template <class Op> __device__ typename Op::type warp_inclusive(typename Op::type x, int lane) {
#pragma unroll
    for (int d = 1; d < 32; d *= 2) {
        typename Op::type before = __shfl_up_sync(all_lanes, x, d);
        if (lane >= d)
            x = Op::apply(before, x);
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

/* row(k) gives this lane's vector of row k, lifted. */
template <class Op, class Row> __device__ typename Op::type chunk_total(Row row) {
    using T = typename Op::type;
    T total{};
#pragma unroll
    for (int k = 0; k < rows_per_chunk; k++) {
        accumulators<T> x = row(k);
        T fold = x.v[0];
#pragma unroll
        for (int q = 1; q < vector_elements<T>; q++)
            fold = Op::apply(fold, x.v[q]);
        fold = warp_total<Op>(fold);
        total = k ? Op::apply(total, fold) : fold;
    }
    return total;
}

/* Consecutive rows in a warp's registers, scanned as far as they can be before their prefix is known. */
template <class Op, int rows> struct scanned_rows {
    using T = typename Op::type;
    accumulators<T> x[rows]; /* in-vector inclusive folds */
    T lanes[rows];           /* inclusive over lanes; lane 31 holds the row's total */

    template <class Row> __device__ void scan(Row row, int lane) {
#pragma unroll
        for (int k = 0; k < rows; k++) {
            x[k] = row(k);
#pragma unroll
            for (int q = 1; q < vector_elements<T>; q++)
                x[k].v[q] = Op::apply(x[k].v[q - 1], x[k].v[q]);
            lanes[k] = warp_inclusive<Op>(x[k].v[vector_elements<T> - 1], lane);
        }
    }

    /* This lane's outputs of row k, given the folds before the row and before the next; not lowered yet. */
    __device__ accumulators<T> outputs(int k, T base, T next, bool exclusive, int lane) const {
        constexpr int E = vector_elements<T>;
        T before = __shfl_up_sync(all_lanes, lanes[k], 1);
        T lane_base = lane ? Op::apply(base, before) : base;
        accumulators<T> out;
        if (exclusive) {
            out.v[0] = lane_base;
#pragma unroll
            for (int q = 1; q < E; q++)
                out.v[q] = Op::apply(lane_base, x[k].v[q - 1]);
        } else {
#pragma unroll
            for (int q = 0; q < E - 1; q++)
                out.v[q] = Op::apply(lane_base, x[k].v[q]);
            out.v[E - 1] = lane == 31 ? next : Op::apply(base, lanes[k]);
        }
        return out;
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
