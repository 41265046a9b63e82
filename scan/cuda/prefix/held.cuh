/* SPDX-License-Identifier: MIT
 *
 * Rows held in registers: what the scans of one tile a CTA, look-back and cluster, have in common.
 *
 * Every warp takes held_rows consecutive rows of a tile, half a chunk, reduces them and scans them as far as it can
 * alone. Their totals go to shared memory; once the folds before the chunk and after it are known, each warp folds the
 * few rows of its chunk that come before its own, and writes. Rows are read and written once, with few of them a warp
 * and many warps a tile: little is in flight, but everything at once, which is what small inputs need.
 *
 * One instance serves every input type of an operator: an input narrower than the accumulator is told by its size.
 */
#ifndef SCAN_CUDA_PREFIX_HELD_CUH
#define SCAN_CUDA_PREFIX_HELD_CUH

#include "job.cuh"
#include "../device/tile.cuh"

namespace scan_cuda {

constexpr int held_rows = 4;
constexpr int warps_per_chunk = rows_per_chunk / held_rows;
constexpr int threads_per_chunk = warps_per_chunk * 32;

template <class T> __device__ uint32_t tile_count(uint64_t n, uint64_t t) {
    const uint64_t first = t * tile_elements<T>;
    return n > first ? uint32_t(min(n - first, uint64_t(tile_elements<T>))) : 0;
}

template <class Op> class held {
    using T = typename Op::type;
    static constexpr int E = vector_elements<T>, last_vector = tile_elements<T> / E - 1;

    const scan_job &job;
    const grid_part<T> &part;
    const uint64_t t;
    const int first_row, lane;
    const int count; /* elements of the tile that exist */
    scanned_rows<Op, held_rows> c;

    __device__ int vector_of_row(int k) const { return (first_row + k) * 32 + lane; }
    __device__ bool whole() const { return (first_row + held_rows) * row_elements<T> <= count; }

  public:
    __device__ held(const scan_job &job, const grid_part<T> &part, uint64_t t, int first_row)
        : job(job), part(part), t(t), first_row(first_row), lane(threadIdx.x % 32),
          count(int(tile_count<T>(part.n, t))) {}

    /* Reads the rows and scans them as far as that goes without their prefix. totals: of the tile's rows that the CTA
     * holds, this warp's first. */
    __device__ void scan(T *totals) {
        for_input<Op>(job.in_size, [&](auto type) { load<decltype(type)>(c.x); });
        scan();
        if (lane == 31)
#pragma unroll
            for (int k = 0; k < held_rows; k++)
                totals[k] = c.lanes[k];
    }

    /* The same in two steps, the totals first: for those whom others wait for longer than they scan. */
    __device__ void reduce(T *totals) {
        for_input<Op>(job.in_size, [&](auto type) { load<decltype(type)>(c.x); });
        const T total = row_totals<Op, held_rows>([&](int k) { return c.x[k]; }, lane);
        if (lane < held_rows)
            totals[lane] = total;
    }

    __device__ void scan() {
        c.scan([&](int k) { return c.x[k]; }, lane);
    }

    /* base: the fold before the chunk; next: before the one after it; totals: of the chunk's rows. */
    __device__ void write(T base, T next, const T *totals) const {
        row_writer<Op, held_rows> to(tile_address<T>(part.out, part.n, t, tile_elements<T>, job.reverse),
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
            write_rows(base, next, totals, [&](int k, uint4 x) { to.odd_row(k, lane, x); });
        }
        if (t == 0 && count > 0 && first_row == 0)
            put_first(job, part, lane);
    }

  private:
    template <class I> __device__ void load(operands<Op> (&x)[held_rows]) const {
        using raw = typename operands<Op>::template raw<I>;
        constexpr int bytes = E * sizeof(I);
        const char *tile = tile_address<I>(part.in, part.n, t, tile_elements<T>, job.reverse);
        const char *at = tile + (job.reverse ? last_vector - vector_of_row(0) : vector_of_row(0)) * bytes;
        const int step = (job.reverse ? -32 : 32) * bytes;
        if (whole() && !job.reverse && uintptr_t(tile) % bytes == 0) {
#pragma unroll
            for (int k = 0; k < held_rows; k++)
                x[k] = operands<Op>::template lifted<I>(load_vector<raw>(at + k * step), job.code);
            return;
        }
        const char *low = static_cast<const char *>(part.in), *high = low + part.n * sizeof(I);
#pragma unroll
        for (int k = 0; k < held_rows; k++) {
            const int left = count - vector_of_row(k) * E;
            if constexpr (sizeof(I) < 4 && bytes == 16) {
                uint4 words;
                if (left >= E && vector_words(at + k * step, low, high, words)) {
                    x[k] = operands<Op>::template lifted<I>(turned_vector<I>(words, job.reverse), job.code);
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
            folds = fold_of<Op, held_rows>(totals);
            row_base = Op::apply(base, folds);
        }
#pragma unroll
        for (int k = 0; k < held_rows; k++) {
            folds = before + k ? Op::apply(folds, totals[before + k]) : totals[0];
            T row_next = before + k == rows_per_chunk - 1 ? next : Op::apply(base, folds);
            write(k, c.outputs(k, row_base, row_next, job.exclusive, lane).lowered(job.code));
            row_base = row_next;
        }
    }
};

static_assert(warps_per_chunk == 2, "write_rows: the rows before a warp's own are none or those of one warp");

} /* namespace scan_cuda */

#endif
