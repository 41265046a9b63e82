/* SPDX-License-Identifier: MIT
 *
 * Cluster scan: small inputs by one cluster of CTAs, or by one CTA, with no state outside it.
 *
 *     CTA 0             CTA 1             ...  CTA 15          up to 16 CTAs, 1, 2, 4, 8 or 16 chunks each
 *     rows, chunks      rows, chunks           rows, chunks    scanned in registers
 *       |  \_______________|__________________ / |             every chunk's total goes to every CTA's shared memory
 *     [ all chunk totals ] [ all ]               [ all ]       cluster barrier
 *     base, write       base, write            base, write     each warp folds what comes before it for itself
 *
 * Idea. What look-back spends on a small input is waiting: for a ticket, and for totals that travel through global
 * memory. Here a tile's place is its CTA's, totals travel from one SM's shared memory to another's, and all CTAs wait
 * once. An input of one group of tiles at most needs no prefix beyond them. Every warp folds chunks and tiles in the
 * order of scan.h for itself: redundant work, but no other warp waits for it.
 *
 * Tiles may be split between CTAs: the unit is the chunk, so that an input of 16 chunks already keeps 16 SMs busy. With
 * one CTA there is no cluster, and the kernel runs on any GPU.
 *
 * Work: as look-back, and 8 + 5 * 32 operations a warp for the chunks and tiles. Depth: that of a chunk, 8 + 5 + 8.
 * Traffic: n reads and n writes. Barriers: one of the CTA, two of the cluster, the first of which (all CTAs have
 * started, so that their shared memory may be written) waits while the input is loaded; a CTA alone has two of its own.
 *
 * Limits: 32 tiles; 16 CTAs need a GPU that runs clusters of that size; every GPU from sm_90 on runs clusters of 8.
 */
#ifndef SCAN_CUDA_GRID_CLUSTER_CUH
#define SCAN_CUDA_GRID_CLUSTER_CUH

#include "register_rows.cuh"

namespace scan_cuda {

constexpr int cluster_max_threads = max_chunks_per_cta * threads_per_chunk;

template <class Op>
__global__ void __launch_bounds__(cluster_max_threads) cluster_kernel(const __grid_constant__ scan_job job) {
    using T = typename Op::type;
    __shared__ T row_totals[max_chunks_per_cta * rows_per_chunk];
    __shared__ T chunks[chunks_per_tile][tiles_per_group]; /* totals, of the whole input */
    const bool alone = cluster_size() == 1;
    if (!alone)
        cluster_arrive_relaxed();
    grid_dependency_wait();
    const grid_part<T> part = job_grid_part<Op>(job);
    const int lane = threadIdx.x % 32, warp = warp_of_cta();
    const int chunks_here = int(blockDim.x) / threads_per_chunk, all_chunks = chunks_here * int(cluster_size());
    const int chunk_here = warp / warps_per_chunk, chunk = int(cluster_rank()) * chunks_here + chunk_here;
    const int t = chunk / chunks_per_tile, chunk_in_tile = chunk % chunks_per_tile;
    register_rows<Op> rows(job, part, uint64_t(t),
                           chunk_in_tile * rows_per_chunk + warp % warps_per_chunk * rows_per_warp);
    rows.scan(row_totals + warp * rows_per_warp);
    __syncthreads();
    if (!alone)
        cluster_wait();

    const T *totals = row_totals + chunk_here * rows_per_chunk;
    if (warp % warps_per_chunk == 0) {
        const T total = fold_of<Op, rows_per_chunk>(totals);
        if (lane < int(cluster_size()))
            *cluster_at(&chunks[chunk_in_tile][t], unsigned(lane)) = total;
        __syncwarp();
    }
    perturb();
    if (alone) {
        __syncthreads();
    } else {
        cluster_arrive();
        cluster_wait();
    }

    /* This lane's tile, and from it the folds before and after this warp's. */
    T tile = Op::identity();
#pragma unroll
    for (int c = 0; c < chunks_per_tile; c++)
        if (lane * chunks_per_tile + c < all_chunks)
            tile = c ? Op::apply(tile, chunks[c][lane]) : chunks[c][lane];
    tile = Op::apply(part.group, warp_inclusive<Op>(tile, lane));
    const T earlier = __shfl_sync(all_lanes, tile, (t + 31) % 32), after = __shfl_sync(all_lanes, tile, t);
    const T before = t ? earlier : part.group;
    T folds{}, base = before;
    for (int c = 0; c <= chunk_in_tile; c++) {
        if (c)
            base = Op::apply(before, folds);
        folds = c ? Op::apply(folds, chunks[c][t]) : chunks[c][t];
    }
    rows.write(base, chunk_in_tile == chunks_per_tile - 1 ? after : Op::apply(before, folds), totals);
}

} /* namespace scan_cuda */

#endif
