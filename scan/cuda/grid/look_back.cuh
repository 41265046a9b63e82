/* SPDX-License-Identifier: MIT
 *
 * Look-back scan: one pass, one CTA a tile, for any GPU.
 *
 *     ticket     0          1          2          3     ...    a CTA each, in whatever order the GPU starts them
 *     tile   [ scan ]   [ scan ]   [ scan ]   [ scan ]         rows in registers, totals published at once
 *               | total    | total    | total    | total
 *     before    P          P+0        P+0..1     P+0..2        every CTA folds the totals before it for itself
 *            [ write ]  [ write ]  [ write ]  [ write ]
 *
 * Idea. A CTA takes a ticket, which is its tile: a tile then waits only for tiles of lower tickets, whose CTAs run
 * already. Each warp reduces some rows in registers, the tile's total is published, and while the warps scan their rows
 * one folds the totals before the tile (look_back_walk.cuh). It is decoupled look-back, except that inclusive prefixes
 * stand only where a group of 32 tiles begins, so that the order of operations is that of scan.h whichever CTA is
 * first.
 *
 * Work: n log2(32) / E for the rows' Kogge-Stone and 3n for totals, folds and outputs (order.cuh), and for every tile
 * 5 * 32 for itself and 9 * 32 for each 7 groups. Depth: that of a tile, and one round trip to memory for 7 groups.
 * Traffic: n reads and n writes, 8 or 16 bytes of state a tile. Barriers: three a tile.
 *
 * Limits. One tile a CTA and no ring make it quick to start on small inputs; on large ones every tile keeps its
 * registers while it waits for its look-back, which the wave scan avoids. 2^31 - 1 tiles.
 *
 * Source: Merrill and Garland, "Single-pass Parallel Prefix Scan with Decoupled Look-back", 2016.
 */
#ifndef SCAN_CUDA_GRID_LOOK_BACK_CUH
#define SCAN_CUDA_GRID_LOOK_BACK_CUH

#include "look_back_walk.cuh"
#include "register_rows.cuh"

namespace scan_cuda {

constexpr int look_back_threads = chunks_per_tile * threads_per_chunk;

template <class Op>
__global__ void __launch_bounds__(look_back_threads, 2) look_back_kernel(const __grid_constant__ scan_job job) {
    using T = typename Op::type;
    __shared__ ticket mine;
    __shared__ T row_totals[rows_per_tile];
    __shared__ T chunks[chunks_per_tile]; /* folds up to and including each */
    __shared__ T before, after;           /* folds before and after the tile */
    const int lane = threadIdx.x % 32, warp = warp_of_cta();
    grid_dependency_wait();
    if (threadIdx.x == 0) {
        mine = take_ticket(job.state);
        if (mine.number == gridDim.x - 1)
            hand_over(job.state, mine.epoch);
    }
    __syncthreads();
    const grid_part<T> part = job_grid_part<Op>(job);
    const uint32_t epoch = mine.epoch;
    const uint64_t t = mine.number;
    if (t * tile_elements<T> < part.n) {
        const int first_row = warp * rows_per_warp, chunk = warp / warps_per_chunk;
        register_rows<Op> rows(job, part, t, first_row);
        rows.reduce(row_totals + first_row);
        __syncthreads();
        if (warp == 0) {
            const uint64_t place = part.first_tile + t, group = place / tiles_per_group;
            const int own = int(place % tiles_per_group);
            if (t == 0)
                publish_earlier(job.state, part, epoch, lane);
            const chunk_folds<Op> folds(row_totals, lane);
            perturb();
            if (lane == 0)
                publish(job.state.tiles + place * tagged_words<T>, epoch, folds.total);
            if (lane < chunks_per_tile)
                chunks[lane] = folds.mine;
            perturb();
            group_walk<Op> walk = {job.state, epoch, 0, part.group};
            if (group > walk.groups_at_once) /* fewer take one round trip anyway */
                walk.jump(group, lane);
            T tiles = walk.to(place, lane);
            tiles = warp_inclusive<Op>(lane == own ? folds.total : tiles, lane);
            if (lane == own)
                after = Op::apply(walk.fold, tiles);
            if (lane + 1 == own)
                before = Op::apply(walk.fold, tiles);
            if (own == 0 && lane == 0)
                before = walk.fold;
        }
        rows.scan();
        __syncthreads();
        rows.write(chunk ? Op::apply(before, chunks[chunk - 1]) : before,
                   chunk == chunks_per_tile - 1 ? after : Op::apply(before, chunks[chunk]),
                   row_totals + chunk * rows_per_chunk);
    }
    leave(job.state, epoch);
}

} /* namespace scan_cuda */

#endif
