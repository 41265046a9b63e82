/* SPDX-License-Identifier: MIT
 *
 * A long array in pieces of any size, with the bits of one call.
 *
 * The carry holds every unfinished fold of the order in scan.h, so that a piece may end inside a vector. Whole tiles
 * are the grid's work; the rest is done by one thread that follows the order literally, at most one tile at either end:
 *
 *   begin_kernel   the elements up to the next tile boundary, and a copy of the input of the last partial tile,
 *                  which an in-place scan is about to overwrite
 *   the grid       from there on, with tiles counted from the boundary's place in its group
 *   end_kernel     the last partial tile, from the copy, for its folds only
 *
 * Pieces that are multiples of a tile pay for two empty launches.
 */
#ifndef SCAN_CUDA_CARRY_CUH
#define SCAN_CUDA_CARRY_CUH

#include "groups.cuh"

namespace scan_cuda {

/* Kogge-Stone over z[0 ... l], the value at l, as the last of them would hold it. */
template <class Op> __device__ typename Op::type kogge_stone_at(const typename Op::type *z, int l) {
    typename Op::type x[32];
    for (int i = 0; i <= l; i++)
        x[i] = z[i];
    for (int d = 1; d <= l; d *= 2)
        for (int i = l; i >= d; i--)
            x[i] = Op::apply(x[i - d], x[i]);
    return x[l];
}

/* before(position) of scan.h. */
template <class Op> __device__ typename Op::type carry_before(const carry<typename Op::type> &c) {
    using T = typename Op::type;
    constexpr int E = vector_elements<T>;
    const int vector = int(c.position / E % 32), row = int(c.position / row_elements<T> % rows_per_chunk);
    const int chunk = int(c.position / chunk_elements<T> % chunks_per_tile);
    const int tile = int(c.position / tile_elements<T> % tiles_per_group);
    T x = c.group;
    if (tile)
        x = Op::apply(x, kogge_stone_at<Op>(c.tiles, tile - 1));
    if (chunk)
        x = Op::apply(x, c.chunks);
    if (row)
        x = Op::apply(x, c.rows);
    if (vector)
        x = Op::apply(x, kogge_stone_at<Op>(c.lanes, vector - 1));
    if (c.position % E)
        x = Op::apply(x, c.vector);
    return x;
}

/* Takes one element in, and closes the units that it completes. */
template <class Op> __device__ void carry_push(carry<typename Op::type> &c, typename Op::type x) {
    using T = typename Op::type;
    constexpr int E = vector_elements<T>;
    const uint64_t p = c.position++;
    c.vector = p % E ? Op::apply(c.vector, x) : x;
    if (c.position % E)
        return;
    c.lanes[p / E % 32] = c.vector;
    if (c.position % row_elements<T>)
        return;
    T row = kogge_stone_at<Op>(c.lanes, 31);
    c.rows = p / row_elements<T> % rows_per_chunk ? Op::apply(c.rows, row) : row;
    if (c.position % chunk_elements<T>)
        return;
    c.chunks = p / chunk_elements<T> % chunks_per_tile ? Op::apply(c.chunks, c.rows) : c.rows;
    if (c.position % tile_elements<T>)
        return;
    c.tiles[p / tile_elements<T> % tiles_per_group] = c.chunks;
    if (c.position % (uint64_t(tiles_per_group) * tile_elements<T>))
        return;
    c.group = Op::apply(c.group, kogge_stone_at<Op>(c.tiles, 31));
}

/* One block. from: NULL for the first piece; rest: room for a tile of input. */
template <class I, class Op>
__global__ void begin_kernel(const __grid_constant__ scan_job job, const void *from, void *to, void *rest) {
    using T = typename Op::type;
    constexpr int tile = tile_elements<T>;
    __shared__ uint64_t taken;
    const uint64_t n = job_count(job);
    const I *in = static_cast<const I *>(job.in);
    /* end_kernel reads this epoch's words after the launch that would clear them: clear them before it. */
    if (*job.state.ticket >> 32 > 0xfffffff0u) {
        for (uint64_t i = threadIdx.x; i < job.state.words; i += blockDim.x)
            job.state.tiles[i] = 0;
        __syncthreads();
        if (threadIdx.x == 0)
            *job.state.ticket = 0;
    }
    if (threadIdx.x == 0) {
        carry<T> c{};
        if (from)
            c = *static_cast<const carry<T> *>(from);
        else
            c.group = job_first<Op>(job);
        T *out = static_cast<T *>(job.out);
        taken = 0;
        for (; taken < n && c.position % tile; taken++) {
            uint64_t i = job.reverse ? n - 1 - taken : taken;
            T x = lift<Op>(in[i], job.code), before = carry_before<Op>(c);
            carry_push<Op>(c, x);
            out[i] = lower<Op>(job.exclusive ? before : carry_before<Op>(c), job.code);
        }
        piece<T> *p = static_cast<piece<T> *>(to);
        p->at = c;
        p->taken = taken;
    }
    __syncthreads();
    const uint64_t left = n - taken, kept = left % tile;
    for (uint64_t i = threadIdx.x; i < kept; i += blockDim.x)
        static_cast<I *>(rest)[i] = in[job.reverse ? i : n - kept + i];
}

/* One warp, after the grid. to: carry_out. */
template <class I, class Op>
__global__ void end_kernel(const __grid_constant__ scan_job job, const void *from, const void *rest, void *to) {
    using T = typename Op::type;
    constexpr int tile = tile_elements<T>;
    const piece<T> *p = static_cast<const piece<T> *>(from);
    const int lane = threadIdx.x;
    const uint64_t left = job_count(job) - p->taken, kept = left % tile;
    const uint64_t first = p->at.position / tile % tiles_per_group, end = first + left / tile;
    __shared__ carry<T> c;
    if (lane == 0)
        c = p->at;
    __syncwarp();
    if (left >= tile) {
        group_walk<Op> walk = {job.state, uint32_t(*job.state.ticket >> 32), 0, c.group};
        walk.jump(end / tiles_per_group, lane);
        T total = walk.to(end, lane);
        c.tiles[lane] = total;
        if (lane == 0) {
            c.group = walk.fold;
            c.position += left / tile * tile;
        }
        __syncwarp();
    }
    if (lane == 0) {
        const I *in = static_cast<const I *>(rest);
        for (uint64_t i = 0; i < kept; i++)
            carry_push<Op>(c, lift<Op>(in[job.reverse ? kept - 1 - i : i], job.code));
        c.total = lower<Op>(carry_before<Op>(c), job.code);
        *static_cast<carry<T> *>(to) = c;
    }
}

} /* namespace scan_cuda */

#endif
