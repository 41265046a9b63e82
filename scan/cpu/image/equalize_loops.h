/* SPDX-License-Identifier: MIT
 *
 * The inner loops of equalize and clahe in plain C, pixel by pixel. Each SIMD level compiles them with its own flags
 * and replaces some by faster intrinsics. The number of channels is a constant in each loop, so that the compiler can
 * vectorize it.
 */
#ifndef SCAN_CPU_IMAGE_EQUALIZE_LOOPS_H
#define SCAN_CPU_IMAGE_EQUALIZE_LOOPS_H

#include "../../shared/clahe_tiles.h"
#include "../../shared/equalize_color.h"
#include "equalize_kernels.h"

#define LOOP static inline __attribute__((always_inline))

#define MAP(NAME, T)                                                                                                   \
    LOOP void NAME##_channels(const T *in, T *out, size_t n, unsigned channels, const T *const luts[]) {               \
        for (size_t i = 0; i < n; i++)                                                                                 \
            for (unsigned c = 0; c < channels; c++)                                                                    \
                out[i * channels + c] = luts[c][in[i * channels + c]];                                                 \
    }                                                                                                                  \
    static inline void NAME(const T *in, T *out, size_t n, unsigned channels, const T *const luts[], bool stream) {    \
        (void)stream;                                                                                                  \
        switch (channels) {                                                                                            \
        case 1: NAME##_channels(in, out, n, 1, luts); break;                                                           \
        case 2: NAME##_channels(in, out, n, 2, luts); break;                                                           \
        case 3: NAME##_channels(in, out, n, 3, luts); break;                                                           \
        case 4: NAME##_channels(in, out, n, 4, luts); break;                                                           \
        }                                                                                                              \
    }
MAP(loop_map_u8, uint8_t)
MAP(loop_map_u16, uint16_t)
#undef MAP

#define TAKE(TAKE_NAME, PUT_NAME, T)                                                                                   \
    LOOP void TAKE_NAME##_channels(const T *in, size_t n, unsigned channels, T *restrict plane) {                      \
        for (size_t i = 0; i < n; i++)                                                                                 \
            plane[i] = in[i * channels];                                                                               \
    }                                                                                                                  \
    static inline void TAKE_NAME(const T *in, size_t n, unsigned channels, T *plane) {                                 \
        switch (channels) {                                                                                            \
        case 1: TAKE_NAME##_channels(in, n, 1, plane); break;                                                          \
        case 2: TAKE_NAME##_channels(in, n, 2, plane); break;                                                          \
        case 3: TAKE_NAME##_channels(in, n, 3, plane); break;                                                          \
        case 4: TAKE_NAME##_channels(in, n, 4, plane); break;                                                          \
        }                                                                                                              \
    }                                                                                                                  \
    static inline void PUT_NAME(const T *plane, size_t n, unsigned channels, T *out) {                                 \
        for (size_t i = 0; i < n; i++)                                                                                 \
            out[i * channels] = plane[i];                                                                              \
    }
TAKE(loop_take_u8, loop_put_u8, uint8_t)
TAKE(loop_take_u16, loop_put_u16, uint16_t)
#undef TAKE

#define LUMA(NAME, T)                                                                                                  \
    LOOP void NAME##_channels(const T *in, size_t n, unsigned channels, T *restrict y) {                               \
        for (size_t i = 0; i < n; i++)                                                                                 \
            y[i] = (T)scan_color_y(in[i * channels], in[i * channels + 1], in[i * channels + 2]);                      \
    }                                                                                                                  \
    static inline void NAME(const T *in, size_t n, unsigned channels, T *y) {                                          \
        if (channels == 3)                                                                                             \
            NAME##_channels(in, n, 3, y);                                                                              \
        else                                                                                                           \
            NAME##_channels(in, n, 4, y);                                                                              \
    }
LUMA(loop_luma_u8, uint8_t)
LUMA(loop_luma_u16, uint16_t)
#undef LUMA

#define REPLACE(NAME, T, TOP)                                                                                          \
    LOOP void NAME##_channels(const T *in, const T *restrict to, T *out, size_t n, unsigned channels) {                \
        for (size_t i = 0; i < n; i++) {                                                                               \
            int32_t r = in[i * channels], g = in[i * channels + 1], b = in[i * channels + 2];                          \
            T alpha = in[i * channels + channels - 1];                                                                 \
            scan_color_replace_y(&r, &g, &b, scan_color_y(r, g, b), to[i], TOP);                                       \
            out[i * channels] = (T)r;                                                                                  \
            out[i * channels + 1] = (T)g;                                                                              \
            out[i * channels + 2] = (T)b;                                                                              \
            if (channels == 4)                                                                                         \
                out[i * channels + 3] = alpha;                                                                         \
        }                                                                                                              \
    }                                                                                                                  \
    static inline void NAME(const T *in, const T *to, T *out, size_t n, unsigned channels) {                           \
        if (channels == 3)                                                                                             \
            NAME##_channels(in, to, out, n, 3);                                                                        \
        else                                                                                                           \
            NAME##_channels(in, to, out, n, 4);                                                                        \
    }
REPLACE(loop_replace_u8, uint8_t, 255)
REPLACE(loop_replace_u16, uint16_t, 65535)
#undef REPLACE

#define REC709(NAME, T, SCALE)                                                                                         \
    LOOP void NAME##_channels(const T *in, size_t n, unsigned channels, uint16_t *restrict levels) {                   \
        for (size_t i = 0; i < n; i++)                                                                                 \
            levels[i] = (uint16_t)scan_color_rec709(SCALE * in[i * channels], SCALE * in[i * channels + 1],            \
                                                    SCALE * in[i * channels + 2]);                                     \
    }                                                                                                                  \
    static inline void NAME(const T *in, size_t n, unsigned channels, uint16_t *levels) {                              \
        if (channels == 3)                                                                                             \
            NAME##_channels(in, n, 3, levels);                                                                         \
        else                                                                                                           \
            NAME##_channels(in, n, 4, levels);                                                                         \
    }
REC709(loop_rec709_u8, uint8_t, 257)
REC709(loop_rec709_u16, uint16_t, 1)
#undef REC709

/* Arithmetic vectorizes, look-ups do not: hence blocks of look-ups, each followed by its block of arithmetic. */
enum { BLEND_BLOCK = 256 };

#define BLEND(NAME, T, TOP)                                                                                            \
    static inline void NAME(const T *in, T *out, size_t n, const scan_cpu_cell *cell, const float *u, float v) {       \
        const T *upper_left = cell->upper_left, *upper_right = cell->upper_right;                                      \
        const T *lower_left = cell->lower_left, *lower_right = cell->lower_right;                                      \
        uint16_t a[BLEND_BLOCK], b[BLEND_BLOCK], c[BLEND_BLOCK], d[BLEND_BLOCK];                                       \
        while (n) {                                                                                                    \
            size_t block = n < BLEND_BLOCK ? n : BLEND_BLOCK;                                                          \
            for (size_t i = 0; i < block; i++) {                                                                       \
                a[i] = upper_left[in[i]];                                                                              \
                b[i] = upper_right[in[i]];                                                                             \
                c[i] = lower_left[in[i]];                                                                              \
                d[i] = lower_right[in[i]];                                                                             \
            }                                                                                                          \
            for (size_t i = 0; i < block; i++)                                                                         \
                out[i] = (T)scan_clahe_blend((float)a[i], (float)b[i], (float)c[i], (float)d[i], u[i], v, TOP);        \
            in += block, out += block, u += block, n -= block;                                                         \
        }                                                                                                              \
    }
BLEND(loop_blend_u8, uint8_t, 255)
BLEND(loop_blend_u16, uint16_t, 65535)
#undef BLEND

static inline void loop_entries(const int32_t *sums, const scan_clahe_grid *grid, void *lut) {
    const float scale = grid->scale, top = (float)(grid->bins - 1);
    for (uint32_t i = 0; i < grid->bins; i++) {
        const float value = scan_clahe_round((float)sums[i] * scale);
        const uint32_t entry = (uint32_t)(value < top ? value : top);
        if (grid->bins == 256)
            ((uint8_t *)lut)[i] = (uint8_t)entry;
        else
            ((uint16_t *)lut)[i] = (uint16_t)entry;
    }
}
#undef LOOP

/* The kernels that every SIMD level takes from here. */
#define LOOP_KERNELS                                                                                                   \
    .map_u16 = loop_map_u16, .take_u8 = loop_take_u8, .take_u16 = loop_take_u16, .put_u8 = loop_put_u8,                \
    .put_u16 = loop_put_u16, .luma_u8 = loop_luma_u8, .luma_u16 = loop_luma_u16, .replace_u8 = loop_replace_u8,        \
    .replace_u16 = loop_replace_u16, .rec709_u8 = loop_rec709_u8, .rec709_u16 = loop_rec709_u16,                       \
    .blend_u16 = loop_blend_u16, .entries = loop_entries

#endif
