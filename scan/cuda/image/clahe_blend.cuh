/* SPDX-License-Identifier: MIT
 *
 * The blend of CLAHE: every pixel is mapped by the four tables around it, and the results are weighted by its distances
 * from the tiles' centres.
 *
 * The pixels between the same four centres are a cell, and a CTA takes some rows of one. For bytes it first puts the
 * four entries of each of the 256 samples side by side in one word of shared memory, so that a pixel costs one look-up
 * instead of four; 16-bit tables are read from global memory.
 *
 * Traffic: a read and a write a pixel, and 1 KiB of tables a CTA. in == out is safe: a pixel is read by the thread that
 * writes it, and the tables are complete before.
 */
#ifndef SCAN_CUDA_IMAGE_CLAHE_BLEND_CUH
#define SCAN_CUDA_IMAGE_CLAHE_BLEND_CUH

#include "clahe_tables.cuh"

namespace scan_cuda {

constexpr int blend_threads = 256, max_planes = 3;

/* The tables around a cell, of the first plane: upper left, upper right, lower left, lower right. */
template <class S> struct cell_tables {
    const S *tables[4];
    uint64_t plane_samples; /* from a table of one plane to the same of the next */
};

template <class S> struct cell_blend;

template <> struct cell_blend<uint8_t> {
    uint32_t *entries; /* shared: max_planes * byte_bins words of four entries */

    __device__ cell_blend(const cell_tables<uint8_t> &cell, uint32_t planes, uint32_t *storage) : entries(storage) {
        for (uint32_t i = threadIdx.x; i < planes * byte_bins; i += blockDim.x) {
            const uint64_t at = i / byte_bins * cell.plane_samples + i % byte_bins;
            entries[i] = cell.tables[0][at] | uint32_t(cell.tables[1][at]) << 8 | uint32_t(cell.tables[2][at]) << 16 |
                         uint32_t(cell.tables[3][at]) << 24;
        }
    }
    __device__ uint32_t at(uint32_t plane, uint32_t level, float u, float v) const {
        const uint32_t four = entries[plane * byte_bins + level];
        return scan_clahe_blend(float(four & 255), float(four >> 8 & 255), float(four >> 16 & 255), float(four >> 24),
                                u, v, 255);
    }
};

template <> struct cell_blend<uint16_t> {
    cell_tables<uint16_t> cell;

    __device__ cell_blend(const cell_tables<uint16_t> &cell, uint32_t, uint32_t *) : cell(cell) {}
    __device__ uint32_t at(uint32_t plane, uint32_t level, float u, float v) const {
        const uint64_t at = plane * cell.plane_samples + level;
        return scan_clahe_blend(float(cell.tables[0][at]), float(cell.tables[1][at]), float(cell.tables[2][at]),
                                float(cell.tables[3][at]), u, v, 65535);
    }
};

/* Changes the samples of one pixel. */
template <class S>
__device__ void blend_pixel(const clahe_job &job, const cell_blend<S> &blend, uint32_t (&s)[4], uint64_t x,
                            uint64_t y) {
    const float u = scan_clahe_place_of(x, job.grid.inverse_width).weight;
    const float v = scan_clahe_place_of(y, job.grid.inverse_height).weight;
    if (job.view == VIEW_LUMA) {
        int32_t r = int32_t(s[0]), g = int32_t(s[1]), b = int32_t(s[2]);
        const int32_t luma = scan_color_y(r, g, b);
        scan_color_replace_y(&r, &g, &b, luma, int32_t(blend.at(0, uint32_t(luma), u, v)), int32_t(top_of<S>));
        s[0] = uint32_t(r), s[1] = uint32_t(g), s[2] = uint32_t(b);
        return;
    }
#pragma unroll
    for (uint32_t plane = 0; plane < max_planes; plane++)
        if (plane < job.planes)
            s[plane] = blend.at(plane, s[plane], u, v);
}

/* CTA b: band b % bands of the rows of cell b / bands. */
template <class S>
__global__ void __launch_bounds__(blend_threads) clahe_blend_kernel(const __grid_constant__ clahe_job job) {
    constexpr int at_once = 4;
    __shared__ uint64_t edges[4]; /* left, right, top, bottom of the cell */
    __shared__ uint32_t storage[sizeof(S) == 1 ? max_planes * byte_bins : 1];
    const scan_clahe_grid &g = job.grid;
    const uint64_t band = blockIdx.x % job.bands, cell = blockIdx.x / job.bands;
    const int64_t tile_x = job.first_cell_x + int64_t(cell % job.cells_x);
    const int64_t tile_y = job.first_cell_y + int64_t(cell / job.cells_x);
    if (threadIdx.x < 4) {
        const bool across = threadIdx.x < 2;
        edges[threadIdx.x] =
            scan_clahe_cell_begin((across ? tile_x : tile_y) + int64_t(threadIdx.x % 2), across ? g.width : g.height,
                                  across ? g.inverse_width : g.inverse_height);
    }
    const uint64_t left = scan_clahe_clamp(tile_x, g.tiles_x), right = scan_clahe_clamp(tile_x + 1, g.tiles_x);
    const uint64_t upper = scan_clahe_clamp(tile_y, g.tiles_y), lower = scan_clahe_clamp(tile_y + 1, g.tiles_y);
    const S *luts = static_cast<const S *>(job.luts);
    const cell_tables<S> tables = {
        {luts + (upper * g.tiles_x + left) * g.bins, luts + (upper * g.tiles_x + right) * g.bins,
         luts + (lower * g.tiles_x + left) * g.bins, luts + (lower * g.tiles_x + right) * g.bins},
        g.tiles_x * g.tiles_y * g.bins};
    const cell_blend<S> blend(tables, job.planes, storage);
    __syncthreads();

    const uint64_t top = edges[2] + band * job.band_rows;
    const uint64_t bottom = band == job.bands - 1 ? edges[3] : min(edges[3], top + job.band_rows);
    if (edges[0] >= edges[1] || top >= bottom)
        return;
    const uint64_t rows = bottom - top;
    const S *in = static_cast<const S *>(job.in);
    S *out = static_cast<S *>(job.out);
    for (rectangle_walk walk(edges[1] - edges[0]); walk.row < rows;) {
        uint32_t s[at_once][4];
        uint64_t x[at_once], y[at_once];
        bool exist[at_once];
#pragma unroll
        for (int k = 0; k < at_once; k++) {
            x[k] = edges[0] + walk.column;
            y[k] = top + walk.row;
            exist[k] = walk.row < rows;
            if (exist[k])
#pragma unroll
                for (uint32_t c = 0; c < 4; c++)
                    if (c < job.channels)
                        s[k][c] = in[(y[k] * g.width + x[k]) * job.channels + c];
            walk.step();
        }
#pragma unroll
        for (int k = 0; k < at_once; k++)
            if (exist[k]) {
                blend_pixel<S>(job, blend, s[k], x[k], y[k]);
#pragma unroll
                for (uint32_t c = 0; c < 4; c++)
                    if (c < job.channels)
                        out[(y[k] * g.width + x[k]) * job.channels + c] = S(s[k][c]);
            }
    }
}

} /* namespace scan_cuda */

#endif
