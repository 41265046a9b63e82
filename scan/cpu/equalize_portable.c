/* SPDX-License-Identifier: MIT
 *
 * The portable inner loops of histogram, equalize and clahe, and the table that picks a set.
 */
#include <math.h>

#include "../equalize_color.h"
#include "equalize_kernels.h"

#define MAP(NAME, T)                                                                                                   \
    static void NAME(const T *in, T *out, size_t n, unsigned channels, const T *const luts[]) {                        \
        if (channels == 1) {                                                                                           \
            const T *lut = luts[0];                                                                                    \
            for (size_t i = 0; i < n; i++)                                                                             \
                out[i] = lut[in[i]];                                                                                   \
            return;                                                                                                    \
        }                                                                                                              \
        for (size_t i = 0; i < n; i++)                                                                                 \
            for (unsigned c = 0; c < channels; c++)                                                                    \
                out[i * channels + c] = luts[c][in[i * channels + c]];                                                 \
    }
MAP(map_u8, uint8_t)
MAP(map_u16, uint16_t)

#define LUMA(NAME, T)                                                                                                  \
    static void NAME(const T *in, size_t n, unsigned channels, T *y) {                                                 \
        for (size_t i = 0; i < n; i++, in += channels)                                                                 \
            y[i] = (T)scan_color_y(in[0], in[1], in[2]);                                                               \
    }
LUMA(luma_u8, uint8_t)
LUMA(luma_u16, uint16_t)

#define REPLACE(NAME, T, TOP)                                                                                          \
    static void NAME(const T *in, const T *to, T *out, size_t n, unsigned channels) {                                  \
        for (size_t i = 0; i < n; i++, in += channels, out += channels) {                                              \
            int32_t r = in[0], g = in[1], b = in[2];                                                                   \
            if (channels == 4)                                                                                         \
                out[3] = in[3];                                                                                        \
            scan_color_replace_y(&r, &g, &b, scan_color_y(r, g, b), to[i], TOP);                                       \
            out[0] = (T)r;                                                                                             \
            out[1] = (T)g;                                                                                             \
            out[2] = (T)b;                                                                                             \
        }                                                                                                              \
    }
REPLACE(replace_u8, uint8_t, 255)
REPLACE(replace_u16, uint16_t, 65535)

#define REC709(NAME, T, SCALE)                                                                                         \
    static void NAME(const T *in, size_t n, unsigned channels, uint16_t *levels) {                                     \
        for (size_t i = 0; i < n; i++, in += channels)                                                                 \
            levels[i] = (uint16_t)scan_color_rec709(SCALE * in[0], SCALE * in[1], SCALE * in[2]);                      \
    }
REC709(rec709_u8, uint8_t, 257u)
REC709(rec709_u16, uint16_t, 1u)

#define BLEND(NAME, T, TOP)                                                                                            \
    static void NAME(const T *in, T *out, size_t n, const scan_cpu_cell *cell, const float *u, float v) {              \
        const T *a = cell->upper_left, *b = cell->upper_right, *c = cell->lower_left, *d = cell->lower_right;          \
        for (size_t i = 0; i < n; i++) {                                                                               \
            const float right = u[i], left = 1.0f - right;                                                             \
            const float upper = (float)a[in[i]] * left + (float)b[in[i]] * right;                                      \
            const float lower = (float)c[in[i]] * left + (float)d[in[i]] * right;                                      \
            const float value = rintf(upper * (1.0f - v) + lower * v);                                                 \
            out[i] = value > (float)TOP ? (T)TOP : (T)value;                                                           \
        }                                                                                                              \
    }
BLEND(blend_u8, uint8_t, 255)
BLEND(blend_u16, uint16_t, 65535)

const scan_cpu_image_kernels scan_cpu_image_portable = {
    .map_u8 = map_u8,
    .map_u16 = map_u16,
    .luma_u8 = luma_u8,
    .luma_u16 = luma_u16,
    .replace_u8 = replace_u8,
    .replace_u16 = replace_u16,
    .rec709_u8 = rec709_u8,
    .rec709_u16 = rec709_u16,
    .blend_u8 = blend_u8,
    .blend_u16 = blend_u16,
};

static const scan_cpu_image_kernels *const levels[SCAN_SIMD_LEVELS] = {
    [SCAN_SIMD_PORTABLE] = &scan_cpu_image_portable,
    [SCAN_SIMD_AVX2] = &scan_cpu_image_portable,
    [SCAN_SIMD_AVX512] = &scan_cpu_image_portable,
};

const scan_cpu_image_kernels *scan_cpu_image(const scan_ctx *ctx) { return levels[scan_cpu(ctx)->simd]; }
