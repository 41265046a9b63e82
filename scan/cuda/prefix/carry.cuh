/* SPDX-License-Identifier: MIT
 *
 * A long array in pieces of any size, with the bits of one call.
 *
 * The carry holds every unfinished fold of the order in scan.h, so that a piece may end inside a vector. Whole tiles
 * are the grid's work; the rest, at most one tile at either end, is done by one warp that goes on from the carry row by
 * row:
 *
 *     piece   ..|xxxxxxx|______|______|______|xxxx|..       | tile boundaries, counted from the first piece
 *                begin            grid         end
 *
 *   begin    the elements up to the next tile boundary, and a copy of the input of the last partial tile,
 *            which an in-place scan is about to overwrite
 *   grid     from there on, with tiles counted from the boundary's place in its group
 *   end      the last partial tile, from the copy, for its folds only
 *
 * A lane has a vector of the row: what it has of it already is in the carry (whole vectors' totals in `lanes`, the last
 * one's fold in `vector`), the rest are new elements; then the row is scanned as every row is.
 *
 * Pieces that are multiples of a tile pay for two empty launches.
 */
#ifndef SCAN_CUDA_PREFIX_CARRY_CUH
#define SCAN_CUDA_PREFIX_CARRY_CUH

#include "groups.cuh"

namespace scan_cuda {

/* Elements of an array in the order of positions. */
struct element_source {
    const void *in;
    uint64_t n;
    uint32_t size;
    bool reverse;
    template <class Op> __device__ typename Op::type at(uint64_t p, const element_code &code) const {
        return load_operand<Op>(in, size, reverse ? n - 1 - p : p, code);
    }
};

/* One warp. Takes in the first `left` elements of `from`, fewer than reach beyond the tile in which the carry is;
 * writes their outputs to job.out unless it is NULL. Answers the fold of everything so far. */
template <class Op>
__device__ typename Op::type advance(carry<typename Op::type> &c, const scan_job &job, const element_source &from,
                                     uint64_t left, typename Op::type *out, int lane) {
    using T = typename Op::type;
    constexpr int E = vector_elements<T>, R = row_elements<T>;
    const int tile = int(c.position / tile_elements<T> % tiles_per_group);
    T tiles = warp_inclusive<Op>(lane < tile ? c.tiles[lane] : Op::identity(), lane);
    tiles = __shfl_sync(all_lanes, tiles, (tile + 31) % 32);
    const T tile_base = tile ? Op::apply(c.group, tiles) : c.group;
    uint64_t done = 0;
    for (;;) {
        const int row = int(c.position / R % rows_per_chunk);
        const int chunk = int(c.position / chunk_elements<T> % chunks_per_tile);
        const int begin = int(c.position % R), end = int(min(uint64_t(R), begin + left));
        const T chunk_base = chunk ? Op::apply(tile_base, c.chunks) : tile_base;
        const T row_base = row ? Op::apply(chunk_base, c.rows) : chunk_base;

        /* folds[q]: of the lane's vector up to and including element q; of what it had, only the last is known. */
        T folds[E], fold = c.vector;
#pragma unroll
        for (int q = 0; q < E; q++) {
            const int i = lane * E + q;
            if (i >= begin && i < end) {
                T x = from.at<Op>(done + uint64_t(i - begin), job.code);
                fold = q ? Op::apply(fold, x) : x;
            }
            folds[q] = fold;
        }
        const T total = lane < begin / E ? c.lanes[lane] : lane < end / E ? fold : Op::identity();
        const T lanes = warp_inclusive<Op>(total, lane), before = __shfl_up_sync(all_lanes, lanes, 1);
        const T lane_base = lane ? Op::apply(row_base, before) : row_base;

        /* The units that end with this row, and the fold before the next. */
        const T row_total = __shfl_sync(all_lanes, lanes, 31);
        const T rows = row ? Op::apply(c.rows, row_total) : row_total;
        const T chunks = chunk ? Op::apply(c.chunks, rows) : rows;
        const bool last_row = row == rows_per_chunk - 1, last_chunk = last_row && chunk == chunks_per_tile - 1;
        const T in_group = warp_inclusive<Op>(lane == tile  ? chunks
                                              : lane < tile ? c.tiles[lane]
                                                            : Op::identity(),
                                              lane);
        const T after_tile = Op::apply(c.group, T(__shfl_sync(all_lanes, in_group, tile)));
        const T next = last_chunk ? after_tile : last_row ? Op::apply(tile_base, chunks) : Op::apply(chunk_base, rows);

        if (out)
#pragma unroll
            for (int q = 0; q < E; q++) {
                const int i = lane * E + q;
                T x = q == 0 ? lane_base : Op::apply(lane_base, folds[q ? q - 1 : 0]);
                if (!job.exclusive)
                    x = q < E - 1 ? Op::apply(lane_base, folds[q]) : lane < 31 ? Op::apply(row_base, lanes) : next;
                const uint64_t p = done + uint64_t(i - begin);
                if (i >= begin && i < end)
                    out[from.reverse ? from.n - 1 - p : p] = from_operand<Op>(x, job.code);
            }

        /* The fold of everything so far: the base of the vector that comes next, and what there is of it. */
        const T vector = __shfl_sync(all_lanes, fold, end / E % 32);
        T now = __shfl_sync(all_lanes, lane_base, end / E % 32);
        if (end % E)
            now = Op::apply(now, vector);
        if (end == R)
            now = next;
        const uint64_t taken = uint64_t(end - begin);
        __syncwarp();
        c.lanes[lane] = total;
        if (lane == 0) {
            c.vector = vector;
            if (end == R)
                c.rows = rows;
            if (end == R && last_row)
                c.chunks = chunks;
            if (end == R && last_chunk)
                c.tiles[tile] = chunks;
            if (end == R && last_chunk && tile == tiles_per_group - 1)
                c.group = after_tile;
            c.position += taken;
        }
        __syncwarp();
        done += taken;
        left -= taken;
        if (!left)
            return now;
    }
}

/* One CTA. Not `end`: carry_in (NULL for the first piece) to a piece, before the grid. `end`: the piece to carry_out,
 * after it. rest: room for a tile of input. */
template <class Op>
__global__ void __launch_bounds__(256, 1) carry_kernel(const __grid_constant__ scan_job job, const void *carry_in,
                                                       void *in_between, void *rest, void *carry_out, bool end) {
    using T = typename Op::type;
    constexpr int tile = tile_elements<T>;
    __shared__ carry<T> c;
    const uint64_t n = job_count(job);
    piece<T> *p = static_cast<piece<T> *>(in_between);
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;

    /* Where the carry is, and how many elements it is to take in. */
    uint64_t left;
    if (!end) {
        /* `end` reads this epoch's words after the launch that would clear them: clear them before it. */
        if (*job.state.ticket >> 32 > 0xfffffff0u) {
            for (uint64_t i = threadIdx.x; i < job.state.words; i += blockDim.x)
                job.state.tiles[i] = 0;
            __syncthreads();
            if (threadIdx.x == 0)
                *job.state.ticket = 0;
        }
        if (threadIdx.x == 0) {
            if (carry_in)
                c = *static_cast<const carry<T> *>(carry_in);
            else
                c = carry<T>(), c.group = job_first<Op>(job);
        }
        __syncthreads();
        left = min(n, (tile - c.position % tile) % tile);
        const uint64_t kept = (n - left) % tile, first = job.reverse ? 0 : (n - kept) * job.in_size;
        for (uint64_t i = threadIdx.x; i < kept * job.in_size; i += blockDim.x)
            static_cast<char *>(rest)[i] = static_cast<const char *>(job.in)[first + i];
        if (threadIdx.x == 0)
            p->taken = left;
        __syncthreads();
    } else {
        const uint64_t of_grid = n - p->taken;
        left = of_grid % tile;
        if (threadIdx.x == 0)
            c = p->at;
        __syncthreads();
        if (warp == 0 && of_grid >= tile) {
            const uint64_t last = c.position / tile % tiles_per_group + of_grid / tile;
            group_walk<Op> walk = {job.state, uint32_t(*job.state.ticket >> 32), 0, c.group};
            walk.jump(last / tiles_per_group, lane);
            c.tiles[lane] = walk.to(last, lane);
            if (lane == 0) {
                c.group = walk.fold;
                c.position += of_grid - left;
            }
            __syncwarp();
        }
    }
    if (warp)
        return;

    /* Not a struct of the job's own fields that `end` then assigns to: nvcc 13.0 loses such assignments. */
    const element_source from = {end ? rest : job.in, end ? left : n, job.in_size, job.reverse};
    const T now = advance<Op>(c, job, from, left, end ? nullptr : static_cast<T *>(job.out), lane);
    if (!end) {
        if (lane == 0)
            p->at = c;
    } else if (lane == 0) {
        c.total = from_operand<Op>(now, job.code);
        *static_cast<carry<T> *>(carry_out) = c;
    }
}

} /* namespace scan_cuda */

#endif
