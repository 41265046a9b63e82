/* SPDX-License-Identifier: MIT
 *
 * Colour conversions of equalization, shared by the backends: OpenCV's fixed-point YCrCb (14 fractional bits) and the
 * Rec. 709 luma of ImageMagick. `top` is the largest sample, 255 or 65535. All of YCrCb fits 32-bit integers; shifts of
 * negative numbers are arithmetic.
 */
#ifndef SCAN_SHARED_EQUALIZE_COLOR_H
#define SCAN_SHARED_EQUALIZE_COLOR_H

#include <stdint.h>

#ifdef __CUDACC__
#define SCAN_COLOR_FN static inline __host__ __device__
#else
#define SCAN_COLOR_FN static inline
#endif

/* Returns v / 2^14, rounded half up. */
SCAN_COLOR_FN int32_t scan_color_descale(int32_t v) { return (v + 8192) >> 14; }

SCAN_COLOR_FN int32_t scan_color_saturate(int32_t v, int32_t top) { return v < 0 ? 0 : v > top ? top : v; }

SCAN_COLOR_FN int32_t scan_color_y(int32_t r, int32_t g, int32_t b) {
    return scan_color_descale(4899 * r + 9617 * g + 1868 * b); /* weights sum to 2^14: never above top */
}

/* Replaces the luma of one pixel: computes Cr and Cb with its luma `y`, then R, G, B of these and the luma `to`. */
SCAN_COLOR_FN void scan_color_replace_y(int32_t *r, int32_t *g, int32_t *b, int32_t y, int32_t to, int32_t top) {
    const int32_t half = (top + 1) / 2;
    const int32_t cr = scan_color_saturate(scan_color_descale(11682 * (*r - y)) + half, top) - half;
    const int32_t cb = scan_color_saturate(scan_color_descale(9241 * (*b - y)) + half, top) - half;
    *r = scan_color_saturate(to + scan_color_descale(22987 * cr), top);
    *g = scan_color_saturate(to + scan_color_descale(-11698 * cr - 5636 * cb), top);
    *b = scan_color_saturate(to + scan_color_descale(29049 * cb), top);
}

/* Returns ImageMagick's intensity of a pixel as one of 65,536 levels. The caller multiplies 8-bit samples by 257. */
SCAN_COLOR_FN uint32_t scan_color_rec709(uint32_t r, uint32_t g, uint32_t b) {
    const double luma = 0.212656 * (double)r + 0.715158 * (double)g + 0.072186 * (double)b;
    return luma >= 65535.0 ? 65535u : (uint32_t)(luma + 0.5);
}

#endif
