/* SPDX-License-Identifier: MIT
 *
 * Rows in registers: what the grids of one tile a CTA, look-back and cluster, have in common.
 *
 * Every warp takes rows_per_warp consecutive rows of a tile, half a chunk, reduces them and scans each but for its
 * prefix. Their totals go to shared memory; once the folds before the chunk and after it are known, each warp folds the
 * few rows of its chunk that come before its own, and writes. Rows are read and written once. A tile has many warps
 * with few rows each: little is in flight in all, but all of it at once, which is what small inputs need.
 *
 * One instance serves every input type of an operator: it tells them apart by their size.
 */
#ifndef SCAN_CUDA_GRID_REGISTER_ROWS_CUH
#define SCAN_CUDA_GRID_REGISTER_ROWS_CUH

#include "job.cuh"
#include "../device/tile.cuh"

namespace scan_cuda {

constexpr int rows_per_warp = 4;
constexpr int warps_per_chunk = rows_per_chunk / rows_per_warp;
constexpr int threads_per_chunk = warps_per_chunk * 32;

template <class T> __device__ uint32_t tile_count(uint64_t n, uint64_t t) {
    const uint64_t first = t * tile_elements<T>;
    return n > first ? uint32_t(min(n - first, uint64_t(tile_elements<T>))) : 0;
}

template <class Op> class register_rows {
    using T = typename Op::type;
    static constexpr int E = vector_elements<T>, last_vector = tile_elements<T> / E - 1;

    const scan_job &job;
    const grid_part<T> &part;
    const uint64_t t;
    const int first_row, lane;
    const int count; /* elements of the tile that exist */
    scanned_rows<Op, rows_per_warp> c;

    __device__ int vector_of_row(int k) const { return (first_row + k) * 32 + lane; }
    __device__ bool whole() const { return (first_row + rows_per_warp) * row_elements<T> <= count; }

  public:
    __device__ register_rows(const scan_job &job, const grid_part<T> &part, uint64_t t, int first_row)
        : job(job), part(part), t(t), first_row(first_row), lane(threadIdx.x % 32),
          count(int(tile_count<T>(part.n, t))) {}

    /* Reads the rows and scans them but for their prefix. totals: where those of this warp's rows go, in shared memory.
     */
    __device__ void scan(T *totals) {
        for_input<Op>(job.in_size, [&](auto type) { load<decltype(type)>(c.x); });
        scan();
        if (lane == 31)
#pragma unroll
            for (int k = 0; k < rows_per_warp; k++)
                totals[k] = c.lanes[k];
    }

    /* The same in two steps, totals first: for a grid where other CTAs wait for the totals. */
    __device__ void reduce(T *totals) {
        for_input<Op>(job.in_size, [&](auto type) { load<decltype(type)>(c.x); });
        const T total = row_totals<Op, rows_per_warp>([&](int k) { return c.x[k]; }, lane);
        if (lane < rows_per_warp)
            totals[lane] = total;
    }

    __device__ void scan() {
        c.scan([&](int k) { return c.x[k]; }, lane);
    }

    /* base: the fold before the chunk; next: before the one after it; totals: of the chunk's rows. */
    __device__ void write(T base, T next, const T *totals) const {
        row_writer<Op, rows_per_warp> to(tile_address<T>(part.out, part.n, t, tile_elements<T>, job.reverse),
                                         first_row * 32, lane, job.reverse);
        if (!whole()) {
            char *out = tile_address<T>(part.out, part.n, t, tile_elements<T>, job.reverse);
            write_rows(base, next, totals, [&](int k, uint4 x) {
                const int v = vector_of_row(k);
                store_some<T>(out + (job.reverse ? last_vector - v : v) * 16, count - v * E, job.reverse, x);
            });
        } else if (to.plain()) {
            write_rows(base, next, totals, [&](int k, uint4 x) { to.plain_row(k, x); });
        } else {
            write_rows(base, next, totals, [&](int k, uint4 x) { to.general_row(k, lane, x); });
        }
        if (t == 0 && count > 0 && first_row == 0)
            put_first(job, part, lane);
    }

  private:
    template <class I> __device__ void load(operands<Op> (&x)[rows_per_warp]) const {
        using raw = typename operands<Op>::template raw<I>;
        constexpr int bytes = E * sizeof(I);
        const char *tile = tile_address<I>(part.in, part.n, t, tile_elements<T>, job.reverse);
        const char *at = tile + (job.reverse ? last_vector - vector_of_row(0) : vector_of_row(0)) * bytes;
        const int step = (job.reverse ? -32 : 32) * bytes;
        if (whole() && !job.reverse && uintptr_t(tile) % bytes == 0) {
#pragma unroll
            for (int k = 0; k < rows_per_warp; k++)
                x[k] = operands<Op>::template from_elements<I>(load_vector<raw>(at + k * step), job.code);
            return;
        }
        const char *low = static_cast<const char *>(part.in), *high = low + part.n * sizeof(I);
#pragma unroll
        for (int k = 0; k < rows_per_warp; k++) {
            const int left = count - vector_of_row(k) * E;
            if constexpr (sizeof(I) < 4 && bytes == 16) {
                uint4 words;
                if (left >= E && vector_words(at + k * step, low, high, words)) {
                    x[k] = operands<Op>::template from_elements<I>(oriented_vector<I>(words, job.reverse), job.code);
                    continue;
                }
            }
            x[k] = load_some<I, Op>(at + k * step, left, job.reverse, job.code);
        }
    }

    template <class Write> __device__ void write_rows(T base, T next, const T *totals, Write write) const {
        const int before = first_row % rows_per_chunk;
        T folds{}, row_base = base;
        if (before) {
            folds = fold_of<Op, rows_per_warp>(totals);
            row_base = Op::apply(base, folds);
        }
#pragma unroll
        for (int k = 0; k < rows_per_warp; k++) {
            folds = before + k ? Op::apply(folds, totals[before + k]) : totals[0];
            T row_next = before + k == rows_per_chunk - 1 ? next : Op::apply(base, folds);
            write(k, c.outputs(k, row_base, row_next, job.exclusive, lane).to_elements(job.code));
            row_base = row_next;
        }
    }
};

static_assert(warps_per_chunk == 2, "write_rows: the rows before a warp's own are none or those of one warp");

} /* namespace scan_cuda */

#endif
