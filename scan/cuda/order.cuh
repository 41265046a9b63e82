/* SPDX-License-Identifier: MIT
 *
 * The order of operations that scan.h promises, as warp-level pieces: 16-byte vectors of accumulators, rows of 32
 * vectors (one a lane), chunks of 8 rows, tiles of 8 chunks, groups of 32 tiles.
 *
 *   chunk_total      reduces a chunk; its butterfly over lanes pairs operands as the last lane of Kogge-Stone does,
 *                    so the total is the chunk's own last inclusive fold, bit for bit
 *   scanned_rows     in-vector folds and Kogge-Stone over lanes, before any prefix is known
 *   write_chunk      once the chunk's base is known: hands every row's outputs to a writer
 *
 *   lane        0        1        2        3    ...
 *   vector   a b c d  e f g h  i j k l  m n o p        serial inside the vector
 *               |        |        |        |           Kogge-Stone over the vectors' last folds
 *   out      lane's base (fold before its vector) op each fold inside the vector
 *
 * Work for a row of 32 vectors of E operands: 32 (E - 1) for the folds, 129 for Kogge-Stone, 32 E for the outputs; the
 * reduction alone 32 (E - 1) + 160. Depth E + 5 + 2. No barrier and no shared memory: lanes shuffle.
 */
#ifndef SCAN_CUDA_ORDER_CUH
#define SCAN_CUDA_ORDER_CUH

#include "ptx.cuh"
#include "vector.cuh"

namespace scan_cuda {

constexpr int rows_per_chunk = 8;
constexpr int chunks_per_tile = 8;
constexpr int tiles_per_group = 32;
template <class T> constexpr int row_elements = 32 * vector_elements<T>;
template <class T> constexpr int chunk_elements = rows_per_chunk *row_elements<T>;
template <class T> constexpr int tile_elements = chunks_per_tile *chunk_elements<T>;

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

/* row(k) gives this lane's operands of row k. */
template <class Op, class Row> __device__ typename Op::type chunk_total(Row row) {
    using T = typename Op::type;
    T total{};
#pragma unroll
    for (int k = 0; k < rows_per_chunk; k++) {
        T fold = warp_total<Op>(row(k).fold());
        total = k ? Op::apply(total, fold) : fold;
    }
    return total;
}

/* Consecutive rows in a warp's registers, scanned as far as they can be before their prefix is known. */
template <class Op, int rows> struct scanned_rows {
    using T = typename Op::type;
    operands<Op> x[rows]; /* scanned as far as they go */
    T lanes[rows];        /* inclusive over lanes; lane 31 holds the row's total */

    template <class Row> __device__ void scan(Row row, int lane) {
#pragma unroll
        for (int k = 0; k < rows; k++) {
            x[k] = row(k);
            lanes[k] = warp_inclusive<Op>(x[k].scan(), lane);
        }
    }

    /* This lane's outputs of row k, given the folds before the row and before the next; not lowered yet. */
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
