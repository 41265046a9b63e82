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
 * All threads load such a part of a tile into shared memory, as operands at their places in the tile, and write its
 * outputs from there. In between one warp goes row by row: a lane has a vector of the row. Part of it may be in the
 * carry already: whole vectors' totals in `lanes`, the fold of the vector that was cut in `vector`. The rest are new
 * elements. Then the row is scanned as every row is.
 *
 * The elements are few: one kernel serves all operators (any_operator.cuh).
 *
 * Pieces that are multiples of a tile pay for two empty launches.
 */
#ifndef SCAN_CUDA_PREFIX_CARRY_CUH
#define SCAN_CUDA_PREFIX_CARRY_CUH

#include "../grid/job.cuh"
#include "any_operator.cuh"

namespace scan_cuda {

/* One warp that folds elements of one tile into the carry, from the carry's position on. */
template <class Op> class carry_walk {
    using T = typename Op::type;
    static constexpr int E = vector_elements<T>, R = row_elements<T>;

    const Op op;
    carry<T> &c;
    T *const elements; /* the tile's, as operands; those outside the piece may be anything */
    const int lane;

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
    __device__ carry_walk(Op op, carry<T> &c, T *elements, int lane) : op(op), c(c), elements(elements), lane(lane) {}

    /* The carry passes over `tiles` whole tiles of a grid that has ended: it has published their totals, and the fold
     * before every group that it began. */
    __device__ void pass(const scan_state &state, uint64_t tiles) {
        constexpr uint64_t words = tagged_words<T>, group_words = tiles_per_group * words;
        const uint32_t epoch = uint32_t(*state.ticket >> 32);
        const uint64_t last = uint64_t(tile()) + tiles, own = last / tiles_per_group;
        T fold = c.group, total{};
        uint64_t group = own;
        while (group && !try_load(state.groups + group * words, epoch, fold))
            group--;
        fold = group ? fold : c.group;
        for (;; group++) {
            const bool there = try_load(state.tiles + group * group_words + lane * words, epoch, total);
            total = there && group * tiles_per_group + lane < last ? total : op.identity();
            if (group == own)
                break;
            fold = op.apply(fold, T(__shfl_sync(all_lanes, warp_inclusive(total, lane, op), 31)));
        }
        __syncwarp();
        c.tiles[lane] = total;
        if (lane == 0) {
            c.group = fold;
            c.position += tiles * tile_elements<T>;
        }
        __syncwarp();
    }

    /* Takes in the `left` elements from the carry's position on, which end in its tile, and leaves their outputs, as
     * operands, in their place if `writes`. Returns the fold of everything so far. */
    __device__ T advance(int left, bool writes, bool exclusive) {
        T tile_base = warp_inclusive(lane < tile() ? c.tiles[lane] : op.identity(), lane, op);
        tile_base = op.apply(c.group, T(__shfl_sync(all_lanes, tile_base, (tile() + 31) % 32)));
        if (tile() == 0)
            tile_base = c.group;
        for (;;) {
            const row_place at = place(left, tile_base);
            T folds[E];
            const T fold = fold_vector(at, folds);
            const T total = lane < at.begin / E ? c.lanes[lane] : lane < at.end / E ? fold : op.identity();
            const T lanes = warp_inclusive(total, lane, op), before = __shfl_up_sync(all_lanes, lanes, 1);
            const T lane_base = lane ? op.apply(at.row_base, before) : at.row_base;
            const unit_folds units = fold_units(at, tile_base, __shfl_sync(all_lanes, lanes, 31));
            if (writes)
                write(at, folds, lane_base, lane < 31 ? op.apply(at.row_base, lanes) : units.next, exclusive);
            /* The fold of everything so far: the base of the vector that comes next, and what there is of it. */
            const T vector = __shfl_sync(all_lanes, fold, at.end / E % 32);
            T now = __shfl_sync(all_lanes, lane_base, at.end / E % 32);
            if (at.end % E)
                now = op.apply(now, vector);
            if (at.end == R)
                now = units.next;
            update(at, units, total, vector);
            left -= at.end - at.begin;
            if (!left)
                return now;
        }
    }

  private:
    /* The carry's tile, in its group. */
    __device__ int tile() const { return int(c.position / tile_elements<T> % tiles_per_group); }

    __device__ row_place place(int left, T tile_base) const {
        row_place at;
        at.row = int(c.position / R % rows_per_chunk);
        at.chunk = int(c.position / chunk_elements<T> % chunks_per_tile);
        at.begin = int(c.position % R);
        at.end = min(R, at.begin + left);
        at.chunk_base = at.chunk ? op.apply(tile_base, c.chunks) : tile_base;
        at.row_base = at.row ? op.apply(at.chunk_base, c.rows) : at.chunk_base;
        return at;
    }

    __device__ vector<T, E> *vector_of(const row_place &at) const {
        const int row = at.chunk * rows_per_chunk + at.row;
        return reinterpret_cast<vector<T, E> *>(elements + row * R) + lane;
    }

    /* folds[q]: of the lane's vector up to and including element q; of elements in the carry, only the last is known.
     * Returns the last. */
    __device__ T fold_vector(const row_place &at, T (&folds)[E]) const {
        const vector<T, E> x = *vector_of(at);
        T fold = c.vector;
#pragma unroll
        for (int q = 0; q < E; q++) {
            const int i = lane * E + q;
            if (i >= at.begin && i < at.end)
                fold = q ? op.apply(fold, x.v[q]) : x.v[q];
            folds[q] = fold;
        }
        return fold;
    }

    __device__ unit_folds fold_units(const row_place &at, T tile_base, T row_total) const {
        unit_folds u;
        u.rows = at.row ? op.apply(c.rows, row_total) : row_total;
        u.chunks = at.chunk ? op.apply(c.chunks, u.rows) : u.rows;
        u.ends_chunk = at.row == rows_per_chunk - 1;
        u.ends_tile = u.ends_chunk && at.chunk == chunks_per_tile - 1;
        const T own = lane == tile() ? u.chunks : lane < tile() ? c.tiles[lane] : op.identity();
        u.next_tile = op.apply(c.group, T(__shfl_sync(all_lanes, warp_inclusive(own, lane, op), tile())));
        u.next = u.ends_tile    ? u.next_tile
                 : u.ends_chunk ? op.apply(tile_base, u.chunks)
                                : op.apply(at.chunk_base, u.rows);
        return u;
    }

    __device__ void write(const row_place &at, const T (&folds)[E], T lane_base, T lane_next, bool exclusive) const {
        vector<T, E> x;
        T before = lane_base;
#pragma unroll
        for (int q = 0; q < E; q++) {
            const T next = q < E - 1 ? op.apply(lane_base, folds[q]) : lane_next;
            x.v[q] = exclusive ? before : next;
            before = next;
        }
        *vector_of(at) = x;
    }

    __device__ void update(const row_place &at, const unit_folds &units, T total, T vector) {
        const int own = tile();
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
                c.tiles[own] = units.chunks;
            if (whole && units.ends_tile && own == tiles_per_group - 1)
                c.group = units.next_tile;
            c.position += uint64_t(at.end - at.begin);
        }
        __syncwarp();
    }
};

/* ---- the kernels of a piece, one CTA each ------------------------------------------------------------------------ */

constexpr int carry_threads = 256;

/* What both have in shared memory. */
template <class T> struct carry_shared {
    carry<T> at;
    alignas(16) T elements[tile_elements<T>];
};

/* By all threads of the CTA, as what follows. from: NULL for zeros. */
template <class T> __device__ void copy_carry(void *to, const void *from) {
    static_assert(sizeof(carry<T>) % 8 == 0, "copied in words of 8 bytes");
#pragma unroll 1
    for (int i = threadIdx.x; i < int(sizeof(carry<T>) / 8); i += carry_threads)
        static_cast<uint64_t *>(to)[i] = from ? static_cast<const uint64_t *>(from)[i] : 0;
}

/* Several at a time, for each round waits for memory. */
__device__ inline void copy_bytes(char *to, const char *from, int bytes) {
    constexpr int each = 8;
#pragma unroll 1
    for (int i = threadIdx.x; i < bytes; i += each * carry_threads) {
        char x[each] = {};
#pragma unroll
        for (int k = 0; k < each; k++)
            if (i + k * carry_threads < bytes)
                x[k] = from[i + k * carry_threads];
#pragma unroll
        for (int k = 0; k < each; k++)
            if (i + k * carry_threads < bytes)
                to[i + k * carry_threads] = x[k];
    }
}

/* The first `count` of n elements in the order of positions, as operands. */
template <class Op>
__device__ void load_operands(typename Op::type *operands, const scan_job &job, const void *in, uint64_t n, int count) {
#pragma unroll(sizeof(typename Op::type) < 4 ? 4 : 1)
    for (int i = threadIdx.x; i < count; i += carry_threads)
        operands[i] = load_operand<Op>(in, job.in_size, job.reverse ? n - 1 - i : i, job.code);
}

/* A launch of last_epoch clears all words as it ends (tickets.cuh), and the end of a piece reads those of the grid's
 * launch, which takes one epoch: so they are cleared before that one. */
__device__ inline void clear_before_wrap(const scan_state &state) {
    if ((*state.ticket >> 32) + 1 < last_epoch)
        return;
#pragma unroll 1
    for (uint64_t i = threadIdx.x; i < state.words; i += carry_threads)
        state.tiles[i] = 0;
    __syncthreads();
    if (threadIdx.x == 0)
        *state.ticket = 0;
}

/* Before the grid. carry_in: NULL for the first piece; in_between: the struct piece to be made; rest: room for a tile
 * of input. */
template <class Op>
__global__ void __launch_bounds__(carry_threads, 1)
    carry_begin_kernel(const __grid_constant__ scan_job job, const void *carry_in, void *in_between, void *rest) {
    using T = typename Op::type;
    using coded = typename operator_value<Op>::coded_as;
    constexpr int tile = tile_elements<T>;
    __shared__ carry_shared<T> shared;
    const Op op = operator_value<Op>::of(job.code);
    const uint64_t n = job_count(job);
    clear_before_wrap(job.state);
    copy_carry<T>(&shared.at, carry_in);
    __syncthreads();
    if (!carry_in && threadIdx.x == 0)
        shared.at.group = job.has_init ? job_first<coded>(job) : op.identity();
    T *const elements = shared.elements + shared.at.position % tile;
    const int left = int(min(n, (tile - shared.at.position % tile) % tile));
    const int kept = int((n - left) % tile * job.in_size);
    const uint64_t first = job.reverse ? 0 : n * job.in_size - kept;
    copy_bytes(static_cast<char *>(rest), static_cast<const char *>(job.in) + first, kept);
    load_operands<coded>(elements, job, job.in, n, left);
    __syncthreads(); /* all threads know `left`, which the walk changes */
    if (threadIdx.x < 32)
        carry_walk<Op>(op, shared.at, shared.elements, int(threadIdx.x)).advance(left, true, job.exclusive);
    __syncthreads();
#pragma unroll 1
    for (int i = threadIdx.x; i < left; i += carry_threads)
        static_cast<T *>(job.out)[job.reverse ? n - 1 - i : i] = from_operand<coded>(elements[i], job.code);
    piece<T> *const p = static_cast<piece<T> *>(in_between);
    copy_carry<T>(&p->at, &shared.at);
    if (threadIdx.x == 0)
        p->taken = uint64_t(left);
}

/* After the grid: its whole tiles, of which it has published the totals, then what `rest` holds. */
template <class Op>
__global__ void __launch_bounds__(carry_threads, 1)
    carry_end_kernel(const __grid_constant__ scan_job job, const void *in_between, const void *rest, void *carry_out) {
    using T = typename Op::type;
    using coded = typename operator_value<Op>::coded_as;
    constexpr int tile = tile_elements<T>;
    __shared__ carry_shared<T> shared;
    const piece<T> *const p = static_cast<const piece<T> *>(in_between);
    const uint64_t of_grid = job_count(job) - p->taken;
    const int left = int(of_grid % tile);
    copy_carry<T>(&shared.at, &p->at);
    load_operands<coded>(shared.elements, job, rest, uint64_t(left), left);
    __syncthreads();
    if (threadIdx.x < 32) {
        carry_walk<Op> walk(operator_value<Op>::of(job.code), shared.at, shared.elements, int(threadIdx.x));
        if (of_grid >= tile)
            walk.pass(job.state, of_grid / tile);
        const T now = walk.advance(left, false, false);
        if (threadIdx.x == 0)
            shared.at.total = from_operand<coded>(now, job.code);
    }
    __syncthreads();
    copy_carry<T>(carry_out, &shared.at);
}

} /* namespace scan_cuda */

#endif
