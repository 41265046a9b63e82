/* SPDX-License-Identifier: MIT
 *
 * The arithmetic of CLAHE, shared by the backends (Zuiderveld, "Contrast limited adaptive histogram equalization",
 * Graphics Gems IV, 1994, as OpenCV computes it). The image is cut into tiles_x * tiles_y tiles of equal size; each
 * gets the table of its clipped histogram, and a pixel blends the results of the four tables around it.
 *
 * If a side is not a multiple of its tile count, the tiles cover more than the image, in both directions: pixels beyond
 * an edge are reflected about the last row or column, repeatedly if needed.
 *
 * All arithmetic is float32, one operation at a time, without contraction: the bytes are part of the contract.
 */
#ifndef SCAN_SHARED_CLAHE_TILES_H
#define SCAN_SHARED_CLAHE_TILES_H

#include <math.h>
#include <stddef.h>

#include "../scan.h"

#ifdef __CUDACC__
#define SCAN_CLAHE_FN static inline __host__ __device__
#else
#define SCAN_CLAHE_FN static inline
#endif

typedef struct scan_clahe_grid {
    size_t width, height;           /* of the image */
    size_t tile_width, tile_height; /* of a tile: tiles_x * tile_width >= width */
    size_t tiles_x, tiles_y;
    float inverse_width, inverse_height; /* 1 / tile_width, ... */
    uint64_t area;                       /* of a tile */
    uint64_t limit;                      /* of a bin; UINT64_MAX: none */
    float scale;                         /* top / area */
    uint32_t bins;
} scan_clahe_grid;

/* The position of a pixel between the centres of two tiles: `tile`, and tile + 1 with weight `weight`. Tile -1 is left
 * of the first centre; the caller clamps both to the grid. */
typedef struct scan_clahe_place {
    int64_t tile;
    float weight;
} scan_clahe_place;

SCAN_CLAHE_FN scan_clahe_place scan_clahe_place_of(size_t x, float inverse_side) {
    const float position = (float)x * inverse_side - 0.5f;
    const float left = floorf(position);
    scan_clahe_place place = {(int64_t)left, position - left};
    return place;
}

SCAN_CLAHE_FN size_t scan_clahe_clamp(int64_t tile, size_t tiles) {
    return tile < 0 ? 0 : (uint64_t)tile >= tiles ? tiles - 1 : (size_t)tile;
}

/* Returns the first position in [0, side) whose left tile is `tile` or a later one; `side` if there is none. Tiles
 * ascend with positions, so a binary search finds it with the same arithmetic that the blend uses. */
SCAN_CLAHE_FN size_t scan_clahe_cell_begin(int64_t tile, size_t side, float inverse_side) {
    size_t low = 0, high = side;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (scan_clahe_place_of(middle, inverse_side).tile >= tile)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* Returns the pixel at position x of the extended image: ... 2 1 0 1 2 ... side-2 side-1 side-2 ... */
SCAN_CLAHE_FN size_t scan_clahe_reflect(size_t x, size_t side) {
    if (x < side)
        return x;
    if (side == 1)
        return 0;
    const size_t period = 2 * (side - 1), within = x % period;
    return within < side ? within : period - within;
}

SCAN_CLAHE_FN scan_clahe_grid scan_clahe_grid_of(const scan_equalize_desc *desc, size_t width, size_t height) {
    scan_clahe_grid g;
    g.width = width;
    g.height = height;
    g.tiles_x = desc->tiles_x;
    g.tiles_y = desc->tiles_y;
    const int extended = width % g.tiles_x || height % g.tiles_y;
    g.tile_width = width / g.tiles_x + (extended ? 1 : 0);
    g.tile_height = height / g.tiles_y + (extended ? 1 : 0);
    g.inverse_width = 1.0f / (float)g.tile_width;
    g.inverse_height = 1.0f / (float)g.tile_height;
    g.area = (uint64_t)g.tile_width * g.tile_height;
    g.bins = desc->type == SCAN_U8 ? 256 : 65536;
    g.scale = (float)(g.bins - 1) / (float)g.area;
    g.limit = UINT64_MAX;
    if (desc->clip > 0) {
        const double limit = desc->clip * (double)g.area / g.bins;
        g.limit = limit < 1 ? 1 : limit < (double)g.area ? (uint64_t)limit : UINT64_MAX;
    }
    return g;
}

/* Rounds v half to even, for 0 <= v < 2^22: the sum has no fraction bits left. (rintf is a call on a plain x86-64.) */
SCAN_CLAHE_FN float scan_clahe_round(float v) {
    const float two_23 = 8388608.0f;
    return (v + two_23) - two_23;
}

/* Returns the blend of four table entries for one pixel: u is the weight of the right pair, v of the lower pair. */
SCAN_CLAHE_FN uint32_t scan_clahe_blend(float upper_left, float upper_right, float lower_left, float lower_right,
                                        float u, float v, uint32_t top) {
    const float upper = upper_left * (1.0f - u) + upper_right * u;
    const float lower = lower_left * (1.0f - u) + lower_right * u;
    const int32_t value = (int32_t)scan_clahe_round(upper * (1.0f - v) + lower * v);
    return value > (int32_t)top ? top : (uint32_t)value;
}

/* Returns the entry of a tile's table for a bin whose inclusive prefix sum, clipped and refilled, is `sum`. */
SCAN_CLAHE_FN uint32_t scan_clahe_entry(const scan_clahe_grid *g, uint64_t sum) {
    const float value = scan_clahe_round((float)sum * g->scale), top = (float)(g->bins - 1);
    return value > top ? g->bins - 1 : (uint32_t)value;
}

/* How the `excess` counts above the limit are redistributed: every bin gets `each`, and the first `rest` bins at
 * multiples of `step` get one more. */
typedef struct scan_clahe_refill {
    uint64_t each;
    uint32_t rest, step;
} scan_clahe_refill;

SCAN_CLAHE_FN scan_clahe_refill scan_clahe_refill_of(const scan_clahe_grid *g, uint64_t excess) {
    scan_clahe_refill r = {excess / g->bins, (uint32_t)(excess % g->bins), 1};
    if (r.rest && g->bins / r.rest > 1)
        r.step = g->bins / r.rest;
    return r;
}

/* Returns the count of bin `bin` after clipping and refilling. */
SCAN_CLAHE_FN uint64_t scan_clahe_count(const scan_clahe_grid *g, scan_clahe_refill r, uint32_t bin, uint64_t count) {
    const uint64_t kept = count < g->limit ? count : g->limit;
    return kept + r.each + (bin % r.step == 0 && bin / r.step < r.rest);
}

#endif
