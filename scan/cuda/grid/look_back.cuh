/* SPDX-License-Identifier: MIT
 *
 * Look-back scan: one pass, one CTA a tile, for any GPU.
 *
 * A CTA takes a ticket, which is its tile: a tile then waits only for tiles of lower tickets, whose CTAs run already,
 * in whatever order the GPU starts them. Each warp scans some rows in registers, the tile's total is published, and one
 * warp folds the totals before it (groups.cuh): decoupled look-back (Merrill and Garland, "Single-pass Parallel Prefix
 * Scan with Decoupled Look-back", 2016), except that inclusive prefixes stand only where a group of 32 tiles begins, so
 * that the order of operations is that of scan.h whoever was first.
 *
 * Traffic: n reads and n writes, 8 or 16 bytes of state a tile. Barriers: three a tile. One tile a CTA and no ring make
 * it the quicker start for small inputs; on large ones every tile waits out its look-back with its registers held,
 * which is what the wave scan avoids.
 */
#ifndef SCAN_CUDA_GRID_LOOK_BACK_CUH
#define SCAN_CUDA_GRID_LOOK_BACK_CUH

#include "../groups.cuh"
#include "../tile.cuh"

namespace scan_cuda {

constexpr int rows_per_tile = rows_per_chunk * chunks_per_tile;

/* One tile by a CTA whose warps take `rows` rows each. prefix(total, before, after) is called by warp 0 with the tile's
 * total in every lane; some lane sets the fold before the tile, some lane the fold after it. */
template <class I, class Op, int rows, class Prefix>
__device__ void scan_one_tile(const scan_job &job, const grid_part<typename Op::type> &part, uint64_t t,
                              Prefix prefix) {
    using T = typename Op::type;
    constexpr int tile = tile_elements<T>;
    __shared__ T row_fold[rows_per_tile]; /* totals of rows, then inclusive folds of rows within their chunk */
    __shared__ T chunk_fold[chunks_per_tile], before_tile, after_tile;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, first_row = warp * rows;
    const uint32_t count = uint32_t(min(part.n - t * tile, uint64_t(tile)));

    input_tile<I, Op, false> in = {tile_address<I>(part.in, part.n, t, tile, job.reverse), count, job.reverse,
                                   &job.code};
    scanned_rows<Op, rows> c;
    if (in.plain())
        c.scan([&](int k) { return in.plain_vector((first_row + k) * 32 + lane); }, lane);
    else
        c.scan([&](int k) { return in.any_vector((first_row + k) * 32 + lane); }, lane);
    if (lane == 31)
#pragma unroll
        for (int k = 0; k < rows; k++)
            row_fold[first_row + k] = c.lanes[k];
    __syncthreads();

    if (warp == 0) {
        T chunk{};
        if (lane < chunks_per_tile)
#pragma unroll
            for (int r = 0; r < rows_per_chunk; r++) {
                T total = row_fold[lane * rows_per_chunk + r];
                chunk = r ? Op::apply(chunk, total) : total;
                row_fold[lane * rows_per_chunk + r] = chunk;
            }
        T fold = __shfl_sync(all_lanes, chunk, 0);
        T mine = fold;
#pragma unroll
        for (int i = 1; i < chunks_per_tile; i++) {
            fold = Op::apply(fold, T(__shfl_sync(all_lanes, chunk, i)));
            if (lane == i)
                mine = fold;
        }
        if (lane < chunks_per_tile)
            chunk_fold[lane] = mine;
        prefix(fold, before_tile, after_tile);
    }
    __syncthreads();

    const int chunk = first_row / rows_per_chunk, row_in_chunk = first_row % rows_per_chunk;
    const T before = before_tile, chunk_base = chunk ? Op::apply(before, chunk_fold[chunk - 1]) : before;
    const T next_chunk = chunk == chunks_per_tile - 1 ? after_tile : Op::apply(before, chunk_fold[chunk]);
    T base = row_in_chunk ? Op::apply(chunk_base, row_fold[first_row - 1]) : chunk_base;
    row_writer<Op, rows> to = {
        tile_address<T>(part.out, part.n, t, tile, job.reverse), first_row * 32, count, job.reverse, &job.code, {}};
    auto write = [&](auto write_row) {
#pragma unroll
        for (int k = 0; k < rows; k++) {
            bool last = row_in_chunk + k == rows_per_chunk - 1;
            T next = last ? next_chunk : Op::apply(chunk_base, row_fold[first_row + k]);
            write_row(k, c.outputs(k, base, next, job.exclusive, lane));
            base = next;
        }
    };
    if (to.plain())
        write([&](int k, accumulators<T> x) { to.plain_row(k, lane, x); });
    else
        write([&](int k, accumulators<T> x) { to.any_row(k, lane, x); });
    if (t == 0 && threadIdx.x == 0 && job.show_first)
        static_cast<T *>(part.out)[job.reverse ? part.n - 1 : 0] = from_bits<T>(job.shown);
}

template <class I, class Op, int rows>
__global__ void __launch_bounds__(rows_per_tile / rows * 32) look_back_kernel(const __grid_constant__ scan_job job) {
    using T = typename Op::type;
    __shared__ ticket mine;
    if (threadIdx.x == 0) {
        mine = take_ticket(job.state);
        if (mine.number == gridDim.x - 1)
            hand_over(job.state, mine.epoch);
    }
    __syncthreads();
    const grid_part<T> part = job_grid_part<I, Op>(job);
    const uint32_t epoch = mine.epoch;
    const uint64_t t = mine.number;
    if (t * tile_elements<T> < part.n)
        scan_one_tile<I, Op, rows>(job, part, t, [&](T total, T &before, T &after) {
            const uint64_t place = part.first_tile + t;
            const int lane = threadIdx.x, own = int(place % tiles_per_group);
            if (t == 0)
                publish_earlier(job.state, part, epoch, lane);
            perturb();
            if (lane == 0)
                publish(job.state.tiles + place * tagged_words<T>, epoch, total);
            perturb();
            group_walk<Op> walk = {job.state, epoch, 0, part.group};
            walk.jump(place / tiles_per_group, lane);
            T tiles = walk.to(place, lane);
            tiles = warp_inclusive<Op>(lane == own ? total : tiles, lane);
            if (lane == own)
                after = Op::apply(walk.fold, tiles);
            if (lane + 1 == own)
                before = Op::apply(walk.fold, tiles);
            if (own == 0 && lane == 0)
                before = walk.fold;
        });
    leave(job.state, epoch);
}

/* Small inputs: one CTA takes the tiles of one group in turn, with no state outside itself. */
template <class I, class Op, int rows>
__global__ void __launch_bounds__(rows_per_tile / rows * 32) single_kernel(const __grid_constant__ scan_job job) {
    using T = typename Op::type;
    const grid_part<T> part = job_grid_part<I, Op>(job);
    const int lane = threadIdx.x % 32;
    T tiles = Op::identity(); /* this lane's tile total, warp 0 */
    for (uint64_t t = 0; t * tile_elements<T> < part.n; t++) {
        if (t > 0)
            __syncthreads(); /* all have read the folds of the tile before, which this one writes over */
        scan_one_tile<I, Op, rows>(job, part, t, [&](T total, T &before, T &after) {
            if (uint64_t(lane) == t)
                tiles = total;
            T fold = Op::apply(part.group, t == 0 ? total : warp_inclusive<Op>(tiles, lane));
            if (uint64_t(lane) + 1 == t)
                before = fold;
            if (uint64_t(lane) == t)
                after = fold;
            if (t == 0 && lane == 0)
                before = part.group;
        });
    }
}

} /* namespace scan_cuda */

#endif
