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
 *   begin    carry_begin_kernel: the elements up to the next tile boundary, and a copy of the input of the last partial
 *            tile, which an in-place scan is about to overwrite
 *   grid     from there on, with tiles counted from the boundary's place in its group
 *   end      carry_end_kernel: the last partial tile, from the copy, for its folds only
 *
 * A lane has a vector of the row. Part of it may be in the carry already: whole vectors' totals in `lanes`, the fold of
 * the vector that was cut in `vector`. The rest are new elements. Then the row is scanned as every row is.
 *
 * Pieces that are multiples of a tile pay for two empty launches.
 */
#ifndef SCAN_CUDA_PREFIX_CARRY_CUH
#define SCAN_CUDA_PREFIX_CARRY_CUH

#include "../grid/look_back_walk.cuh"

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

/* One warp that folds elements of one tile into the carry, from the carry's position on. */
template <class Op> class carry_walk {
    using T = typename Op::type;
    static constexpr int E = vector_elements<T>, R = row_elements<T>;

    carry<T> &c;
    const element_source &from;
    const element_code &code;
    const int lane, tile; /* tile: the carry's, in its group */
    T tile_base;          /* fold before it */

    /* A row in its chunk and in its tile; [begin, end) are its elements that are new. */
    struct row_place {
        int row, chunk, begin, end;
        T chunk_base, row_base; /* folds before the chunk and before the row */
    };

    /* Folds that include this row: of the chunk's rows, of the tile's chunks; and the folds before the next tile and
     * before the next row. Each is of use if the row is whole and the last of its unit. */
    struct unit_folds {
        T rows, chunks, next_tile, next;
        bool ends_chunk, ends_tile;
    };

  public:
    __device__ carry_walk(carry<T> &c, const element_source &from, const element_code &code, int lane)
        : c(c), from(from), code(code), lane(lane), tile(int(c.position / tile_elements<T> % tiles_per_group)) {
        T tiles = warp_inclusive<Op>(lane < tile ? c.tiles[lane] : Op::identity(), lane);
        tiles = __shfl_sync(all_lanes, tiles, (tile + 31) % 32);
        tile_base = tile ? Op::apply(c.group, tiles) : c.group;
    }

    /* Takes in the first `left` elements of `from`, which end in the carry's tile; writes their outputs to `out` unless
     * it is NULL. Returns the fold of everything so far. */
    __device__ T advance(uint64_t left, T *out, bool exclusive) {
        uint64_t done = 0;
        for (;;) {
            const row_place at = place(left);
            T folds[E];
            const T fold = fold_vector(at, done, folds);
            const T total = lane < at.begin / E ? c.lanes[lane] : lane < at.end / E ? fold : Op::identity();
            const T lanes = warp_inclusive<Op>(total, lane), before = __shfl_up_sync(all_lanes, lanes, 1);
            const T lane_base = lane ? Op::apply(at.row_base, before) : at.row_base;
            const unit_folds units = fold_units(at, __shfl_sync(all_lanes, lanes, 31));
            if (out) {
                const T lane_next = lane < 31 ? Op::apply(at.row_base, lanes) : units.next;
                write(out, at, done, folds, lane_base, lane_next, exclusive);
            }
            /* The fold of everything so far: the base of the vector that comes next, and what there is of it. */
            const T vector = __shfl_sync(all_lanes, fold, at.end / E % 32);
            T now = __shfl_sync(all_lanes, lane_base, at.end / E % 32);
            if (at.end % E)
                now = Op::apply(now, vector);
            if (at.end == R)
                now = units.next;
            update(at, units, total, vector);
            done += uint64_t(at.end - at.begin);
            left -= uint64_t(at.end - at.begin);
            if (!left)
                return now;
        }
    }

  private:
    __device__ row_place place(uint64_t left) const {
        row_place at;
        at.row = int(c.position / R % rows_per_chunk);
        at.chunk = int(c.position / chunk_elements<T> % chunks_per_tile);
        at.begin = int(c.position % R);
        at.end = int(min(uint64_t(R), at.begin + left));
        at.chunk_base = at.chunk ? Op::apply(tile_base, c.chunks) : tile_base;
        at.row_base = at.row ? Op::apply(at.chunk_base, c.rows) : at.chunk_base;
        return at;
    }

    /* folds[q]: of the lane's vector up to and including element q; of elements in the carry, only the last is known.
     * Returns the last. done: elements of `from` before the row's new ones. */
    __device__ T fold_vector(const row_place &at, uint64_t done, T (&folds)[E]) const {
        T fold = c.vector;
#pragma unroll
        for (int q = 0; q < E; q++) {
            const int i = lane * E + q;
            if (i >= at.begin && i < at.end) {
                T x = from.at<Op>(done + uint64_t(i - at.begin), code);
                fold = q ? Op::apply(fold, x) : x;
            }
            folds[q] = fold;
        }
        return fold;
    }

    __device__ unit_folds fold_units(const row_place &at, T row_total) const {
        unit_folds u;
        u.rows = at.row ? Op::apply(c.rows, row_total) : row_total;
        u.chunks = at.chunk ? Op::apply(c.chunks, u.rows) : u.rows;
        u.ends_chunk = at.row == rows_per_chunk - 1;
        u.ends_tile = u.ends_chunk && at.chunk == chunks_per_tile - 1;
        const T in_group = warp_inclusive<Op>(lane == tile  ? u.chunks
                                              : lane < tile ? c.tiles[lane]
                                                            : Op::identity(),
                                              lane);
        u.next_tile = Op::apply(c.group, T(__shfl_sync(all_lanes, in_group, tile)));
        u.next = u.ends_tile    ? u.next_tile
                 : u.ends_chunk ? Op::apply(tile_base, u.chunks)
                                : Op::apply(at.chunk_base, u.rows);
        return u;
    }

    __device__ void write(T *out, const row_place &at, uint64_t done, const T (&folds)[E], T lane_base, T lane_next,
                          bool exclusive) const {
#pragma unroll
        for (int q = 0; q < E; q++) {
            const int i = lane * E + q;
            T x = q == 0 ? lane_base : Op::apply(lane_base, folds[q ? q - 1 : 0]);
            if (!exclusive)
                x = q < E - 1 ? Op::apply(lane_base, folds[q]) : lane_next;
            const uint64_t p = done + uint64_t(i - at.begin);
            if (i >= at.begin && i < at.end)
                out[from.reverse ? from.n - 1 - p : p] = from_operand<Op>(x, code);
        }
    }

    __device__ void update(const row_place &at, const unit_folds &units, T total, T vector) {
        __syncwarp();
        c.lanes[lane] = total;
        if (lane == 0) {
            const bool whole = at.end == R;
            c.vector = vector;
            if (whole)
                c.rows = units.rows;
            if (whole && units.ends_chunk)
                c.chunks = units.chunks;
            if (whole && units.ends_tile)
                c.tiles[tile] = units.chunks;
            if (whole && units.ends_tile && tile == tiles_per_group - 1)
                c.group = units.next_tile;
            c.position += uint64_t(at.end - at.begin);
        }
        __syncwarp();
    }
};

/* ---- the kernels of a piece, one CTA each ------------------------------------------------------------------------ */

/* By all threads of the CTA. The launch whose epoch is the last before the wrap clears all words as it ends
 * (tickets.cuh), and the end of a piece reads those of the grid's launch: so they are cleared some epochs earlier. */
__device__ inline void clear_before_wrap(const scan_state &state) {
    if (*state.ticket >> 32 <= 0xfffffff0u)
        return;
    for (uint64_t i = threadIdx.x; i < state.words; i += blockDim.x)
        state.tiles[i] = 0;
    __syncthreads();
    if (threadIdx.x == 0)
        *state.ticket = 0;
}

/* Before the grid. carry_in: NULL for the first piece; in_between: the struct piece to be made; rest: room for a tile
 * of input. */
template <class Op>
__device__ void begin_piece(const scan_job &job, const void *carry_in, void *in_between, void *rest) {
    using T = typename Op::type;
    constexpr int tile = tile_elements<T>;
    __shared__ carry<T> c;
    const uint64_t n = job_count(job);
    clear_before_wrap(job.state);
    if (threadIdx.x == 0) {
        if (carry_in)
            c = *static_cast<const carry<T> *>(carry_in);
        else
            c = carry<T>(), c.group = job_first<Op>(job);
    }
    __syncthreads();
    const uint64_t left = min(n, (tile - c.position % tile) % tile);
    const uint64_t kept = (n - left) % tile, first = job.reverse ? 0 : (n - kept) * job.in_size;
    for (uint64_t i = threadIdx.x; i < kept * job.in_size; i += blockDim.x)
        static_cast<char *>(rest)[i] = static_cast<const char *>(job.in)[first + i];
    __syncthreads();
    if (threadIdx.x >= 32)
        return;
    const element_source from = {job.in, n, job.in_size, job.reverse};
    carry_walk<Op>(c, from, job.code, int(threadIdx.x)).advance(left, static_cast<T *>(job.out), job.exclusive);
    if (threadIdx.x == 0) {
        piece<T> *p = static_cast<piece<T> *>(in_between);
        p->at = c;
        p->taken = left;
    }
}

template <class Op>
__global__ void __launch_bounds__(256, 1)
    carry_begin_kernel(const __grid_constant__ scan_job job, const void *carry_in, void *in_between, void *rest) {
    for_operator(Op(), job.code, [&](auto op) { begin_piece<decltype(op)>(job, carry_in, in_between, rest); });
}

/* After the grid, by one warp: its whole tiles, of which it has published the totals, then what `rest` holds. */
template <class Op>
__device__ void end_piece(const scan_job &job, const void *in_between, const void *rest, void *carry_out) {
    using T = typename Op::type;
    constexpr int tile = tile_elements<T>;
    __shared__ carry<T> c;
    const int lane = threadIdx.x;
    const piece<T> *p = static_cast<const piece<T> *>(in_between);
    const uint64_t of_grid = job_count(job) - p->taken, left = of_grid % tile;
    if (lane == 0)
        c = p->at;
    __syncwarp();
    if (of_grid >= tile) {
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
    const element_source from = {rest, left, job.in_size, job.reverse};
    const T now = carry_walk<Op>(c, from, job.code, lane).advance(left, nullptr, job.exclusive);
    if (lane == 0) {
        c.total = from_operand<Op>(now, job.code);
        *static_cast<carry<T> *>(carry_out) = c;
    }
}

template <class Op>
__global__ void __launch_bounds__(32, 1)
    carry_end_kernel(const __grid_constant__ scan_job job, const void *in_between, const void *rest, void *carry_out) {
    for_operator(Op(), job.code, [&](auto op) { end_piece<decltype(op)>(job, in_between, rest, carry_out); });
}

} /* namespace scan_cuda */

#endif
