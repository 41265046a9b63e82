/* SPDX-License-Identifier: MIT
 *
 * The tables of CLAHE: the histogram of a tile is clipped, refilled and scanned, and the sums become entries
 * (clahe_tiles.h).
 *
 * One CTA does all of that for a tile of bytes, and the counts stay in it. Where tiles are large and few, several CTAs
 * count the rows of one tile and add their counts in global memory; the last CTA to arrive makes the table. A tile of
 * 16-bit samples always goes that way, because a CTA's 16-bit counters cannot hold the final counts of 65,536 bins.
 *
 * A tile begins and ends anywhere, its rows may be a few pixels, and pixels beyond the image are reflected. A warp
 * counts a row of bytes: grey ones by words, between whose ends and the row's a few bytes are left. Other samples are
 * read one a thread; in a warp, the 16-bit samples that equal its first are one addition, since neighbours are often
 * equal.
 */
#ifndef SCAN_CUDA_IMAGE_CLAHE_TABLES_CUH
#define SCAN_CUDA_IMAGE_CLAHE_TABLES_CUH

#include "equalize_table.cuh"
#include "histogram_bytes.cuh"
#include "histogram_words.cuh"

extern "C" {
#include "../../shared/clahe_tiles.h"
}

namespace scan_cuda {

struct clahe_job {
    const void *in;
    void *out;
    void *luts; /* tables of S: table t is of plane t / tiles and tile t % tiles */
    scan_clahe_grid grid;
    uint32_t channels, view, planes; /* VIEW_LUMA, one plane; or channels 0 ... planes - 1 */
    /* tables */
    uint64_t first_table; /* of this launch */
    uint64_t *counts;     /* of this launch's tables, zero; NULL: they stay in the CTA */
    uint32_t *arrived;    /* CTAs that have counted for each of them, zero */
    uint32_t splits, ranges;
    /* blend */
    int64_t first_cell_x, first_cell_y;
    uint64_t first_cell; /* of this launch */
    void *entries;       /* 16 bits: the tables of this launch's cells (clahe_blend.cuh) */
    uint32_t cells_x, bands;
    uint64_t band_rows;
    uint32_t across; /* threads of a CTA that share a row, a power of two */
};

/* ---- counting ---------------------------------------------------------------------------------------------------- */

/* A thread's pixels of a rectangle, blockDim.x apart in the order of rows. */
struct rectangle_walk {
    uint64_t row, column;
    uint64_t width, step_rows, step_columns;

    __device__ explicit rectangle_walk(uint64_t width)
        : row(threadIdx.x / width), column(threadIdx.x % width), width(width), step_rows(blockDim.x / width),
          step_columns(blockDim.x % width) {}
    __device__ void step() {
        row += step_rows;
        column += step_columns;
        if (column >= width) {
            column -= width;
            row++;
        }
    }
};

constexpr int walk_at_once = 4; /* loads in flight a thread */

/* Calls add(levels, exist) for all pixels of rows [top, bottom) of a tile, in every thread equally often. */
template <class S, class Add>
__device__ void walk_tile(const clahe_job &job, uint64_t tile, uint32_t view, uint64_t top, uint64_t bottom, Add add) {
    const scan_clahe_grid &g = job.grid;
    const S *in = static_cast<const S *>(job.in);
    const uint64_t left = tile % g.tiles_x * g.tile_width, above = tile / g.tiles_x * g.tile_height + top;
    const uint64_t rows = bottom - top, pixels = rows * g.tile_width;
    rectangle_walk walk(g.tile_width);
    for (uint64_t done = 0; done < pixels; done += uint64_t(blockDim.x) * walk_at_once) {
        uint32_t levels[walk_at_once];
        bool exist[walk_at_once];
#pragma unroll
        for (int k = 0; k < walk_at_once; k++) {
            levels[k] = 0;
            exist[k] = walk.row < rows;
            if (exist[k]) {
                const uint64_t x = scan_clahe_reflect(left + walk.column, g.width);
                const uint64_t y = scan_clahe_reflect(above + walk.row, g.height);
                levels[k] = level_at(in + (y * g.width + x) * job.channels, view);
            }
            walk.step();
        }
        add(levels, exist);
    }
}

/* Calls add(level) for the bytes of [from, from + n) in one warp. */
template <class Add> __device__ void visit_bytes(const uint8_t *from, uint64_t n, Add add) {
    constexpr int at_once = 8;
    const uint32_t lane = threadIdx.x % 32, apart = uint32_t(-uintptr_t(from) % 4);
    const uint64_t head = apart < n ? apart : n, words = (n - head) / 4;
    const uint32_t *word = reinterpret_cast<const uint32_t *>(from + head);
    if (lane < n - words * 4)
        add(from[lane < head ? lane : lane + words * 4]);
    for (uint64_t i = 0; i < words; i += 32 * at_once) {
        const uint32_t left = uint32_t(min(words - i, uint64_t(32 * at_once)));
        const uint32_t *here = word + i + lane;
        uint32_t w[at_once];
#pragma unroll
        for (int k = 0; k < at_once; k++)
            if (lane + 32 * k < left)
                w[k] = here[32 * k];
#pragma unroll
        for (int k = 0; k < at_once; k++)
            if (lane + 32 * k < left)
#pragma unroll
                for (int b = 0; b < 4; b++)
                    add(w[k] >> (8 * b) & 255);
    }
}

/* Calls add(level) for all pixels of rows [top, bottom) of a tile of bytes. */
template <class Add>
__device__ void visit_rows(const clahe_job &job, uint64_t tile, uint32_t view, uint64_t top, uint64_t bottom, Add add) {
    const scan_clahe_grid &g = job.grid;
    const uint64_t left = tile % g.tiles_x * g.tile_width, right = left + g.tile_width, inside = min(right, g.width);
    for (uint64_t row = top + threadIdx.x / 32; row < bottom; row += blockDim.x / 32) {
        const uint64_t y = scan_clahe_reflect(tile / g.tiles_x * g.tile_height + row, g.height);
        const uint8_t *pixels = static_cast<const uint8_t *>(job.in) + y * g.width * job.channels;
        const bool by_words = job.channels == 1 && left < inside;
        if (by_words)
            visit_bytes(pixels + left, inside - left, add);
        for (uint64_t x = (by_words ? inside : left) + threadIdx.x % 32; x < right; x += 32 * walk_at_once) {
            uint32_t levels[walk_at_once];
#pragma unroll
            for (int k = 0; k < walk_at_once; k++)
                if (x + 32 * k < right)
                    levels[k] = level_at(pixels + scan_clahe_reflect(x + 32 * k, g.width) * job.channels, view);
#pragma unroll
            for (int k = 0; k < walk_at_once; k++)
                if (x + 32 * k < right)
                    add(levels[k]);
        }
    }
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

__device__ inline uint64_t excess_of(const scan_clahe_grid &g, uint64_t count) {
    return count > g.limit ? count - g.limit : 0;
}

/* count: of bin threadIdx.x. */
__device__ inline void make_clahe_table(table_storage &storage, const scan_clahe_grid &g, uint64_t count,
                                        uint8_t *table) {
    block_inclusive(storage, excess_of(g, count));
    const scan_clahe_refill refill = scan_clahe_refill_of(&g, storage.counts[blockDim.x - 1]);
    __syncthreads();
    const uint32_t i = threadIdx.x;
    const uint64_t sum = block_inclusive(storage, i < byte_bins ? scan_clahe_count(&g, refill, i, count) : 0);
    if (i < byte_bins)
        table[i] = uint8_t(scan_clahe_entry(&g, sum));
}

/* counts: of 65,536 bins, by other CTAs too. The CTA takes four bins a thread at a time. */
__device__ inline void make_clahe_table(table_storage &storage, const scan_clahe_grid &g, const uint64_t *counts,
                                        uint16_t *table) {
    constexpr int each = 4;
    uint64_t excess = 0;
    for (uint32_t i = threadIdx.x; i < word_bins; i += blockDim.x)
        excess += excess_of(g, __ldcg(counts + i));
    block_inclusive(storage, excess);
    const scan_clahe_refill refill = scan_clahe_refill_of(&g, storage.counts[blockDim.x - 1]);
    __syncthreads();
    uint64_t before = 0;
    for (uint32_t i = threadIdx.x * each; i < word_bins; i += blockDim.x * each) {
        uint64_t sums[each], sum = 0;
#pragma unroll
        for (int k = 0; k < each; k++)
            sums[k] = sum += scan_clahe_count(&g, refill, i + uint32_t(k), __ldcg(counts + i + k));
        const uint64_t inclusive = block_inclusive(storage, sum);
        uint64_t entries = 0;
#pragma unroll
        for (int k = 0; k < each; k++)
            entries |= uint64_t(scan_clahe_entry(&g, before + inclusive - sum + sums[k])) << (16 * k);
        *reinterpret_cast<uint64_t *>(table + i) = entries;
        before += storage.counts[blockDim.x - 1];
        __syncthreads();
    }
}

/* To be called after the CTA's additions to counts. Returns true in the last of `parts` CTAs, which sees the additions
 * of all. */
__device__ inline bool arrive_last(uint32_t *arrived, uint32_t parts) {
    __threadfence();
    __syncthreads();
    const bool last = __syncthreads_or(threadIdx.x == 0 && atomicAdd(arrived, 1u) == parts - 1);
    __threadfence();
    return last;
}

/* ---- kernels ----------------------------------------------------------------------------------------------------- */

/* CTA b counts part b % splits of the rows of table b / splits. */
static __global__ void __launch_bounds__(byte_threads, byte_ctas)
    clahe_bytes_kernel(const __grid_constant__ clahe_job job) {
    const scan_clahe_grid &g = job.grid;
    const uint32_t slot = blockIdx.x / job.splits, part = blockIdx.x % job.splits;
    const uint64_t table = job.first_table + slot;
    const uint64_t tiles = g.tiles_x * g.tiles_y;
    const byte_counter<1> counter = {dynamic_shared<uint32_t>()};
    counter.clear();
    __syncthreads();
    uint32_t *column = opaque_shared(counter.table + threadIdx.x % 32);
    visit_rows(job, table % tiles, job.view + uint32_t(table / tiles), g.tile_height * part / job.splits,
               g.tile_height * (part + 1) / job.splits,
               [=](uint32_t level) { shared_add(column, level * (counter.columns * 4), 1); });
    __syncthreads();
    uint64_t count = threadIdx.x < byte_bins ? counter.total(threadIdx.x) : 0;
    if (job.counts) {
        uint64_t *counts = job.counts + slot * byte_bins;
        if (count)
            atomicAdd((unsigned long long *)counts + threadIdx.x, (unsigned long long)count);
        if (!arrive_last(job.arrived + slot, job.splits))
            return;
        count = threadIdx.x < byte_bins ? __ldcg(counts + threadIdx.x) : 0;
    }
    __syncthreads();
    make_clahe_table(*dynamic_shared<table_storage>(), g, count, static_cast<uint8_t *>(job.luts) + table * byte_bins);
}

/* CTA b counts range b % ranges of part b / ranges % splits of the rows of table b / ranges / splits. */
static __global__ void __launch_bounds__(word_threads, 1) clahe_words_kernel(const __grid_constant__ clahe_job job) {
    constexpr uint32_t max_steps = max_unmoved / (word_threads * walk_at_once); /* between two barriers */
    const scan_clahe_grid &g = job.grid;
    const uint32_t size = half_bins / job.ranges, range = blockIdx.x % job.ranges, parts = job.splits * job.ranges;
    const uint64_t slot = blockIdx.x / parts, part = blockIdx.x / job.ranges % job.splits;
    const uint64_t table = job.first_table + slot, tiles = g.tiles_x * g.tiles_y;
    const word_counter counter = {dynamic_shared<uint32_t>(), job.counts + slot * word_bins, range * size, size};
    counter.clear();
    __syncthreads();
    uint32_t steps = 0;
    walk_tile<uint16_t>(job, table % tiles, job.view + uint32_t(table / tiles), g.tile_height * part / job.splits,
                        g.tile_height * (part + 1) / job.splits, [&](const uint32_t *levels, const bool *exist) {
#pragma unroll
                            for (int k = 0; k < walk_at_once; k++) {
                                const uint32_t first = __shfl_sync(all_lanes, levels[k], 0);
                                const unsigned same = __ballot_sync(all_lanes, exist[k] && levels[k] == first);
                                const bool leads = threadIdx.x % 32 == 0, alone = exist[k] && levels[k] != first;
                                counter.add(levels[k], leads ? uint32_t(__popc(same)) : uint32_t(alone));
                            }
                            if (++steps % max_steps == 0)
                                __syncthreads();
                        });
    __syncthreads();
    counter.flush(1);
    if (arrive_last(job.arrived + slot, parts))
        make_clahe_table(*dynamic_shared<table_storage>(), g, counter.bins,
                         static_cast<uint16_t *>(job.luts) + table * word_bins);
}

} /* namespace scan_cuda */

#endif
