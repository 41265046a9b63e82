/* SPDX-License-Identifier: MIT
 *
 * The inner loops of equalize and clahe for AVX-512 with VBMI: a table of 256 bytes lives in four registers, and one
 * look-up of 64 samples is two two-register byte permutes (by the low seven bits of the sample) and a blend by its top
 * bit. CLAHE holds the tables of all four tiles around a cell in 16 registers.
 */
#if defined(__x86_64__)
#include <immintrin.h>

#include "equalize_loops.h"

#define INLINE static inline __attribute__((always_inline))

typedef struct table {
    __m512i part[4];
} table;

INLINE table load_table(const uint8_t *lut) {
    table t;
    for (int i = 0; i < 4; i++)
        t.part[i] = _mm512_loadu_si512(lut + 64 * i);
    return t;
}

INLINE __m512i look_up(const table *t, __m512i samples) {
    __m512i low = _mm512_permutex2var_epi8(t->part[0], samples, t->part[1]);
    __m512i high = _mm512_permutex2var_epi8(t->part[2], samples, t->part[3]);
    return _mm512_mask_blend_epi8(_mm512_movepi8_mask(samples), low, high);
}

/* The bytes below `n`. */
INLINE __mmask64 first_bytes(size_t n) { return n >= 64 ? ~(__mmask64)0 : ((__mmask64)1 << n) - 1; }

/* ---- map --------------------------------------------------------------------------------------------------------- */

enum { MAP_CHANNELS = 4, MAP_VECTORS = 3 };

typedef struct map {
    table tables[MAP_CHANNELS];
    __mmask64 lanes[MAP_VECTORS][MAP_CHANNELS]; /* the bytes of a channel in vector i of a group that begins a pixel */
} map;

INLINE void load_map(map *m, const uint8_t *const luts[], unsigned channels) {
    for (unsigned c = 0; c < channels; c++) {
        m->tables[c] = load_table(luts[c]);
        for (unsigned v = 0; v < MAP_VECTORS; v++) {
            m->lanes[v][c] = 0;
            for (unsigned i = 0; i < 64; i++)
                m->lanes[v][c] |= (__mmask64)((64 * v + i) % channels == c) << i;
        }
    }
}

INLINE __m512i map_vector(const map *m, __m512i samples, unsigned channels, unsigned vector) {
    __m512i result = look_up(&m->tables[0], samples);
    for (unsigned c = 1; c < channels; c++)
        result = _mm512_mask_blend_epi8(m->lanes[vector][c], result, look_up(&m->tables[c], samples));
    return result;
}

/* At most a group: 192 bytes. */
INLINE void map_some(const map *m, const uint8_t *in, uint8_t *out, size_t bytes, unsigned channels) {
    for (unsigned v = 0; v < MAP_VECTORS && 64 * v < bytes; v++) {
        __mmask64 k = first_bytes(bytes - 64 * v);
        __m512i samples = _mm512_maskz_loadu_epi8(k, in + 64 * v);
        _mm512_mask_storeu_epi8(out + 64 * v, k, map_vector(m, samples, channels, v));
    }
}

INLINE void map_groups(const map *m, const uint8_t *in, uint8_t *out, size_t bytes, unsigned channels, bool stream) {
    size_t i = 0;
    for (; i + 64 * MAP_VECTORS <= bytes; i += 64 * MAP_VECTORS)
        for (unsigned v = 0; v < MAP_VECTORS; v++) {
            __m512i mapped = map_vector(m, _mm512_loadu_si512(in + i + 64 * v), channels, v);
            if (stream)
                _mm512_stream_si512((void *)(out + i + 64 * v), mapped);
            else
                _mm512_storeu_si512(out + i + 64 * v, mapped);
        }
    map_some(m, in + i, out + i, bytes - i, channels);
}

/* How many pixels to map before the output is at the start of a cache line; 64 if that never happens. */
static size_t pixels_to_line(const uint8_t *out, unsigned channels) {
    size_t n = 0;
    while (n < 64 && ((uintptr_t)out + n * channels) % 64)
        n++;
    return n;
}

INLINE void map_channels(const uint8_t *in, uint8_t *out, size_t n, const uint8_t *const luts[], unsigned channels,
                         bool stream) {
    map m;
    load_map(&m, luts, channels);
    size_t head = stream ? pixels_to_line(out, channels) : 64;
    if (head == 64 || head >= n || head * channels > 64 * MAP_VECTORS) {
        map_groups(&m, in, out, n * channels, channels, false);
        return;
    }
    map_some(&m, in, out, head * channels, channels);
    map_groups(&m, in + head * channels, out + head * channels, (n - head) * channels, channels, true);
    _mm_sfence();
}

static void map_u8(const uint8_t *in, uint8_t *out, size_t n, unsigned channels, const uint8_t *const luts[],
                   bool stream) {
    switch (channels) {
    case 1: map_channels(in, out, n, luts, 1, stream); break;
    case 2: map_channels(in, out, n, luts, 2, stream); break;
    case 3: map_channels(in, out, n, luts, 3, stream); break;
    case 4: map_channels(in, out, n, luts, 4, stream); break;
    }
}

/* ---- blend ------------------------------------------------------------------------------------------------------- */

typedef struct weights {
    __m512 above, below; /* of the upper tiles, of the lower ones */
} weights;

INLINE weights weights_of(float v) { return (weights){_mm512_set1_ps(1.0f - v), _mm512_set1_ps(v)}; }

/* scan_clahe_blend of 16 pixels, not yet saturated. */
INLINE __m512i blend(__m512 a, __m512 b, __m512 c, __m512 d, __m512 right, weights w) {
    __m512 left = _mm512_sub_ps(_mm512_set1_ps(1.0f), right);
    __m512 upper = _mm512_add_ps(_mm512_mul_ps(a, left), _mm512_mul_ps(b, right));
    __m512 lower = _mm512_add_ps(_mm512_mul_ps(c, left), _mm512_mul_ps(d, right));
    __m512 value = _mm512_add_ps(_mm512_mul_ps(upper, w.above), _mm512_mul_ps(lower, w.below));
    return _mm512_cvt_roundps_epi32(value, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

/* Sixteen samples, number `part` of 64, as floats. */
#define FLOATS(samples, part) _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm512_extracti32x4_epi32(samples, part)))

#define BLEND_PART(part)                                                                                               \
    do {                                                                                                               \
        __mmask16 kept = (__mmask16)(k >> (16 * (part)));                                                              \
        __m512 right = _mm512_maskz_loadu_ps(kept, u + i + 16 * (part));                                               \
        __m512i whole = blend(FLOATS(a, part), FLOATS(b, part), FLOATS(c, part), FLOATS(d, part), right, w);           \
        _mm_mask_storeu_epi8(out + i + 16 * (part), kept, _mm512_cvtusepi32_epi8(whole));                              \
    } while (0)

static void blend_u8(const uint8_t *in, uint8_t *out, size_t n, const scan_cpu_cell *cell, const float *u, float v) {
    const table upper_left = load_table(cell->upper_left), upper_right = load_table(cell->upper_right);
    const table lower_left = load_table(cell->lower_left), lower_right = load_table(cell->lower_right);
    const weights w = weights_of(v);
    for (size_t i = 0; i < n; i += 64) {
        __mmask64 k = first_bytes(n - i);
        __m512i samples = _mm512_maskz_loadu_epi8(k, in + i);
        __m512i a = look_up(&upper_left, samples), b = look_up(&upper_right, samples);
        __m512i c = look_up(&lower_left, samples), d = look_up(&lower_right, samples);
        BLEND_PART(0);
        BLEND_PART(1);
        BLEND_PART(2);
        BLEND_PART(3);
    }
}

const scan_cpu_image_kernels scan_cpu_image_avx512 = {.map_u8 = map_u8, .blend_u8 = blend_u8, LOOP_KERNELS};
#endif
