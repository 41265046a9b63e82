/* SPDX-License-Identifier: MIT
 *
 * The inner loops of equalize and clahe for AVX2. Most are the plain loops compiled for AVX2; the map of bytes looks up
 * 32 samples at a time with byte shuffles of 16 entries each.
 *
 * A shuffle gives 0 where the index has its top bit set. Let T[0], T[1], ... be the rows of 16 entries of half a table.
 * The differences T[0], T[1] ^ T[0], T[2] ^ T[1], ... are shuffled by x, x - 16, x - 32, ... (saturated, so an index
 * that has become negative stays negative); the xor of the results is the entry in the row that x lies in. Samples of
 * the other half begin negative and give 0 throughout.
 */
#if defined(__x86_64__)
#include <immintrin.h>

#include "equalize_loops.h"

enum { ROW = 16, HALF_ROWS = 8 };

static void load_rows(const uint8_t *lut, __m256i rows[2 * HALF_ROWS]) {
    __m128i before = _mm_setzero_si128();
    for (int i = 0; i < 2 * HALF_ROWS; i++) {
        __m128i row = _mm_loadu_si128((const void *)(lut + ROW * i));
        if (i == HALF_ROWS)
            before = _mm_setzero_si128();
        rows[i] = _mm256_broadcastsi128_si256(_mm_xor_si128(row, before));
        before = row;
    }
}

static inline __attribute__((always_inline)) __m256i look_up(const __m256i rows[2 * HALF_ROWS], __m256i samples) {
    const __m256i sixteen = _mm256_set1_epi8(ROW);
    __m256i low = samples, high = _mm256_xor_si256(samples, _mm256_set1_epi8(-128));
    __m256i result = _mm256_xor_si256(_mm256_shuffle_epi8(rows[0], low), _mm256_shuffle_epi8(rows[HALF_ROWS], high));
    for (int i = 1; i < HALF_ROWS; i++) {
        low = _mm256_subs_epi8(low, sixteen);
        high = _mm256_subs_epi8(high, sixteen);
        result = _mm256_xor_si256(result, _mm256_shuffle_epi8(rows[i], low));
        result = _mm256_xor_si256(result, _mm256_shuffle_epi8(rows[HALF_ROWS + i], high));
    }
    return result;
}

static void map_u8(const uint8_t *in, uint8_t *out, size_t n, unsigned channels, const uint8_t *const luts[],
                   bool stream) {
    if (channels > 1) {
        loop_map_u8(in, out, n, channels, luts, stream);
        return;
    }
    __m256i rows[2 * HALF_ROWS];
    load_rows(luts[0], rows);
    size_t i = 0;
    if (stream) {
        for (; i < n && (uintptr_t)(out + i) % 32; i++)
            out[i] = luts[0][in[i]];
        for (; i + 32 <= n; i += 32)
            _mm256_stream_si256((void *)(out + i), look_up(rows, _mm256_loadu_si256((const void *)(in + i))));
        _mm_sfence();
    }
    for (; i + 32 <= n; i += 32)
        _mm256_storeu_si256((void *)(out + i), look_up(rows, _mm256_loadu_si256((const void *)(in + i))));
    for (; i < n; i++)
        out[i] = luts[0][in[i]];
}

const scan_cpu_image_kernels scan_cpu_image_avx2 = {.map_u8 = map_u8, .blend_u8 = loop_blend_u8, LOOP_KERNELS};
#endif
