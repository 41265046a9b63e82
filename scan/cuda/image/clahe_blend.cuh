/* SPDX-License-Identifier: MIT
 *
 * The blend of CLAHE: every pixel is mapped by the four tables around it, and the results are weighted by its distances
 * from the tiles' centres.
 *
 * The pixels between the same four centres are a cell, and a CTA takes some rows of one. A thread keeps its columns, so
 * that their weights stay in registers; a row's weight is computed once for the CTA. The four entries of a sample are
 * put side by side first, so that a pixel costs one look-up instead of four: for bytes by the CTA, in a word of shared
 * memory; for 16 bits by a kernel of its own, in 8 bytes of global memory, for as many cells as fit the L2 cache.
 *
 * Four grey pixels are one load and one store where all rows are aligned to four; at the cell's sides, and in other
 * images, samples are read and written one by one.
 *
 * Traffic: a read and a write a pixel, and 1 KiB of tables a CTA; for 16 bits 32 bytes of the L2 cache a pixel where
 * neighbours differ, and 1 MiB a cell. in == out is safe: a pixel is read by the thread that
 * writes it, and the tables are complete before.
 */
#ifndef SCAN_CUDA_IMAGE_CLAHE_BLEND_CUH
#define SCAN_CUDA_IMAGE_CLAHE_BLEND_CUH

#include "clahe_tables.cuh"

namespace scan_cuda {

constexpr int blend_threads = 256, max_planes = 3;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
constexpr int grey_ctas = 4; /* an SM holds 1,024 threads */
#else
constexpr int grey_ctas = 5;
#endif
constexpr int blend_pixels = 4;  /* of a row, that a thread blends at a time */
constexpr int max_weights = 256; /* rows whose weights a CTA computes at a time */

/* The tables around a cell, of the first plane: upper left, upper right, lower left, lower right. */
template <class S> struct cell_tables {
    const S *tables[4];
    uint64_t plane_samples; /* from a table of one plane to the same of the next */
};

/* The cell between the centres of tiles x, x + 1 and y, y + 1, of which some may be outside the image. */
struct clahe_cell {
    uint64_t slot; /* its number in this launch */
    int64_t x, y;

    __device__ clahe_cell(const clahe_job &job, uint64_t slot)
        : slot(slot), x(job.first_cell_x + int64_t((job.first_cell + slot) % job.cells_x)),
          y(job.first_cell_y + int64_t((job.first_cell + slot) / job.cells_x)) {}

    template <class S> __device__ cell_tables<S> tables(const clahe_job &job) const {
        const scan_clahe_grid &g = job.grid;
        const uint64_t left = scan_clahe_clamp(x, g.tiles_x), right = scan_clahe_clamp(x + 1, g.tiles_x);
        const uint64_t upper = scan_clahe_clamp(y, g.tiles_y), lower = scan_clahe_clamp(y + 1, g.tiles_y);
        const S *luts = static_cast<const S *>(job.luts);
        return {{luts + (upper * g.tiles_x + left) * g.bins, luts + (upper * g.tiles_x + right) * g.bins,
                 luts + (lower * g.tiles_x + left) * g.bins, luts + (lower * g.tiles_x + right) * g.bins},
                g.tiles_x * g.tiles_y * g.bins};
    }
};

/* ---- look-ups ---------------------------------------------------------------------------------------------------- */

template <class S> struct cell_blend;

/* Byte k of a word as a float: the bits of 2^23 + byte are put together, which takes less time than a conversion. */
__device__ inline float byte_as_float(uint32_t word, uint32_t k) {
    return __uint_as_float(__byte_perm(word, 0x4b000000, 0x7650 + k)) - 8388608.0f;
}

template <> struct cell_blend<uint8_t> {
    uint32_t *entries; /* shared: max_planes * byte_bins words of four entries */

    __device__ cell_blend(const clahe_job &job, const clahe_cell &cell, uint32_t planes, uint32_t *storage)
        : entries(storage) {
        const cell_tables<uint8_t> from = cell.tables<uint8_t>(job);
        for (uint32_t i = threadIdx.x; i < planes * byte_bins; i += blockDim.x) {
            const uint64_t at = i / byte_bins * from.plane_samples + i % byte_bins;
            entries[i] = from.tables[0][at] | uint32_t(from.tables[1][at]) << 8 | uint32_t(from.tables[2][at]) << 16 |
                         uint32_t(from.tables[3][at]) << 24;
        }
    }
    __device__ uint32_t at(uint32_t plane, uint32_t level, float u, float v) const {
        const uint32_t four = entries[plane * byte_bins + level];
        return scan_clahe_blend(byte_as_float(four, 0), byte_as_float(four, 1), byte_as_float(four, 2),
                                byte_as_float(four, 3), u, v, 255);
    }
};

template <> struct cell_blend<uint16_t> {
    const uint2 *entries; /* global: for each plane word_bins times four entries */

    __device__ cell_blend(const clahe_job &job, const clahe_cell &cell, uint32_t planes, uint32_t *)
        : entries(static_cast<const uint2 *>(job.entries) + cell.slot * planes * word_bins) {}
    __device__ uint32_t at(uint32_t plane, uint32_t level, float u, float v) const {
        const uint2 four = entries[plane * word_bins + level];
        return scan_clahe_blend(float(four.x & 0xffff), float(four.x >> 16), float(four.y & 0xffff),
                                float(four.y >> 16), u, v, 65535);
    }
};

constexpr int interleave_threads = 256, interleave_levels = 4;                             /* a thread */
constexpr uint32_t interleave_ctas = word_bins / (interleave_threads * interleave_levels); /* a cell's plane */

/* Puts the four entries of each level of 16 bits side by side, for the cells of this launch and their planes. */
static __global__ void __launch_bounds__(interleave_threads)
    clahe_interleave_kernel(const __grid_constant__ clahe_job job) {
    const uint64_t table = blockIdx.x / interleave_ctas;
    const cell_tables<uint16_t> from = clahe_cell(job, table / job.planes).tables<uint16_t>(job);
    const uint32_t level = (blockIdx.x % interleave_ctas * interleave_threads + threadIdx.x) * interleave_levels;
    const uint64_t at = table % job.planes * from.plane_samples + level;
    uint2 corners[4]; /* four levels of a table */
#pragma unroll
    for (int k = 0; k < 4; k++)
        corners[k] = *reinterpret_cast<const uint2 *>(from.tables[k] + at);
    const auto low = [](uint32_t a, uint32_t b) { return __byte_perm(a, b, 0x5410); };
    const auto high = [](uint32_t a, uint32_t b) { return __byte_perm(a, b, 0x7632); };
    uint4 *to = reinterpret_cast<uint4 *>(static_cast<uint2 *>(job.entries) + table * word_bins + level);
    to[0] = make_uint4(low(corners[0].x, corners[1].x), low(corners[2].x, corners[3].x),
                       high(corners[0].x, corners[1].x), high(corners[2].x, corners[3].x));
    to[1] = make_uint4(low(corners[0].y, corners[1].y), low(corners[2].y, corners[3].y),
                       high(corners[0].y, corners[1].y), high(corners[2].y, corners[3].y));
}

/* Changes the samples of one pixel. */
template <class S>
__device__ void blend_pixel(const clahe_job &job, const cell_blend<S> &blend, uint32_t (&s)[4], float u, float v) {
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

/* ---- pixels ------------------------------------------------------------------------------------------------------ */

/* VECTORS: grey, and every row begins at a vector of blend_pixels. */
enum blend_kind { BLEND_COLOR, BLEND_GREY, BLEND_VECTORS };

/* Four grey pixels side by side. */
template <class S> struct vector_of;
template <> struct vector_of<uint8_t> { using type = uint32_t; };
template <> struct vector_of<uint16_t> { using type = uint64_t; };

/* The pixels of a row that a thread blends at a time: the columns, `apart` columns from each other, that are in the
 * cell. */
template <class S, blend_kind kind> struct pixel_group {
    using vector = typename vector_of<S>::type;
    uint32_t channels, apart;
    bool exist[blend_pixels];

    __device__ void load(const S *from, uint32_t (&s)[blend_pixels][4]) const {
        if constexpr (kind == BLEND_VECTORS) {
            const vector v = *reinterpret_cast<const vector *>(from);
#pragma unroll
            for (int k = 0; k < blend_pixels; k++)
                s[k][0] = uint32_t(v >> (k * 8 * sizeof(S))) & top_of<S>;
        } else {
#pragma unroll
            for (int k = 0; k < blend_pixels; k++)
#pragma unroll
                for (uint32_t c = 0; c < (kind == BLEND_COLOR ? 4 : 1); c++)
                    s[k][c] = exist[k] && (c == 0 || c < channels) ? from[k * apart * channels + c] : 0;
        }
    }
    __device__ void store(S *to, const uint32_t (&s)[blend_pixels][4]) const {
        if constexpr (kind == BLEND_VECTORS) {
            vector v = 0;
#pragma unroll
            for (int k = 0; k < blend_pixels; k++)
                v |= vector(s[k][0]) << (k * 8 * sizeof(S));
            *reinterpret_cast<vector *>(to) = v;
        } else {
#pragma unroll
            for (int k = 0; k < blend_pixels; k++)
#pragma unroll
                for (uint32_t c = 0; c < (kind == BLEND_COLOR ? 4 : 1); c++)
                    if (exist[k] && (c == 0 || c < channels))
                        to[k * apart * channels + c] = S(s[k][c]);
        }
    }
};

/* Blends this thread's rows, [0, rows) by `step`, of a group whose first pixel of row 0 is the pixel `at`. */
template <class S, blend_kind kind>
__device__ void blend_group(const clahe_job &job, const cell_blend<S> &blend, const pixel_group<S, kind> &group,
                            const float (&u)[blend_pixels], const float *weights, uint32_t rows, uint64_t at) {
    constexpr uint32_t at_once = kind == BLEND_COLOR ? 1 : 2; /* rows a thread */
    const uint32_t step = blend_threads / job.across, first = threadIdx.x / job.across;
    const uint64_t pitch = step * job.grid.width * group.channels;
    const S *from = static_cast<const S *>(job.in) + (at + first * job.grid.width) * group.channels;
    S *to = static_cast<S *>(job.out) + (at + first * job.grid.width) * group.channels;
    for (uint32_t row = first; row < rows; row += step * at_once) {
        uint32_t s[at_once][blend_pixels][4];
#pragma unroll
        for (uint32_t i = 0; i < at_once; i++) {
            if (row + i * step < rows)
                group.load(from, s[i]);
            from += pitch;
        }
#pragma unroll
        for (uint32_t i = 0; i < at_once; i++) {
            if (row + i * step < rows) {
                const float v = weights[row + i * step];
#pragma unroll
                for (int k = 0; k < blend_pixels; k++)
                    if (kind == BLEND_COLOR)
                        blend_pixel<S>(job, blend, s[i][k], u[k], v);
                    else
                        s[i][k][0] = blend.at(0, s[i][k][0], u[k], v);
                group.store(to, s[i]);
            }
            to += pitch;
        }
    }
}

/* Blends rows [top, top + rows) of the cell's columns [left, right). weights: of the rows. */
template <class S, blend_kind kind>
__device__ void blend_rows(const clahe_job &job, const cell_blend<S> &blend, const float *weights, uint64_t top,
                           uint32_t rows, uint64_t left, uint64_t right) {
    constexpr bool vectors = kind == BLEND_VECTORS;
    const uint32_t apart = vectors ? 1 : job.across, lane = threadIdx.x % job.across;
    const uint64_t begin = vectors ? left / blend_pixels * blend_pixels + lane * blend_pixels : left + lane;
    for (uint64_t x = begin; x < right; x += job.across * blend_pixels) {
        bool exist[blend_pixels];
        float u[blend_pixels];
#pragma unroll
        for (int k = 0; k < blend_pixels; k++) {
            u[k] = scan_clahe_place_of(x + k * apart, job.grid.inverse_width).weight;
            exist[k] = left <= x + k * apart && x + k * apart < right;
        }
        const uint64_t at = top * job.grid.width + x;
        if (vectors && exist[0] && exist[blend_pixels - 1]) {
            const pixel_group<S, kind> group = {1, apart};
            blend_group(job, blend, group, u, weights, rows, at);
        } else {
            constexpr blend_kind others = vectors ? BLEND_GREY : kind;
            pixel_group<S, others> group = {others == BLEND_GREY ? 1 : job.channels, apart};
#pragma unroll
            for (int k = 0; k < blend_pixels; k++)
                group.exist[k] = exist[k];
            blend_group(job, blend, group, u, weights, rows, at);
        }
    }
}

/* CTA b: band b % bands of the rows of this launch's cell b / bands. */
template <class S, blend_kind kind>
__global__ void __launch_bounds__(blend_threads, kind == BLEND_COLOR ? 3 : grey_ctas)
    clahe_blend_kernel(const __grid_constant__ clahe_job job) {
    __shared__ uint64_t edges[4]; /* left, right, top, bottom of the cell */
    __shared__ float weights[max_weights];
    __shared__ uint32_t storage[sizeof(S) == 1 ? (kind == BLEND_COLOR ? max_planes : 1) * byte_bins : 1];
    const scan_clahe_grid &g = job.grid;
    const uint32_t band = blockIdx.x % job.bands;
    const clahe_cell cell(job, blockIdx.x / job.bands);
    if (threadIdx.x < 4) {
        const bool across = threadIdx.x < 2;
        edges[threadIdx.x] =
            scan_clahe_cell_begin((across ? cell.x : cell.y) + int64_t(threadIdx.x % 2), across ? g.width : g.height,
                                  across ? g.inverse_width : g.inverse_height);
    }
    const cell_blend<S> blend(job, cell, kind == BLEND_COLOR ? job.planes : 1, storage);
    __syncthreads();

    const uint64_t top = edges[2] + band * job.band_rows;
    const uint64_t bottom = band == job.bands - 1 ? edges[3] : min(edges[3], top + job.band_rows);
    for (uint64_t row = top; row < bottom; row += max_weights) {
        const uint32_t rows = uint32_t(min(bottom - row, uint64_t(max_weights)));
        __syncthreads();
        for (uint32_t i = threadIdx.x; i < rows; i += blockDim.x)
            weights[i] = scan_clahe_place_of(row + i, g.inverse_height).weight;
        __syncthreads();
        blend_rows<S, kind>(job, blend, weights, row, rows, edges[0], edges[1]);
    }
}

} /* namespace scan_cuda */

#endif
