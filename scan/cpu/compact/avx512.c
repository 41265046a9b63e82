/* SPDX-License-Identifier: MIT
 *
 * Select kernels for AVX-512. Compares give bits directly; compression is VPCOMPRESS in its register form and a
 * full store: the form that writes memory is microcode on Zen 4. The masks merge into the source,
 * because the zeroing form waits for the old value of its destination. The last, partial word uses masked loads.
 */
#if defined(__AVX512VBMI2__)
#include <immintrin.h>
#include <string.h>

#include "select.h"

/* The first m of `lanes` bits. */
static inline uint64_t first_bits(size_t m, size_t lanes) {
    return m >= lanes ? ~0ull >> (64 - lanes) : (1ull << m) - 1;
}

/* m elements, then zeros; m known to be a whole vector at compile time makes a plain load. */
static inline __m512i load_8(const uint8_t *x, size_t m) { return _mm512_maskz_loadu_epi8(first_bits(m, 64), x); }
static inline __m512i load_16(const uint16_t *x, size_t m) {
    return _mm512_maskz_loadu_epi16((__mmask32)first_bits(m, 32), x);
}
static inline __m512i load_32(const uint32_t *x, size_t m) {
    return _mm512_maskz_loadu_epi32((__mmask16)first_bits(m, 16), x);
}
static inline __m512i load_64(const uint64_t *x, size_t m) {
    return _mm512_maskz_loadu_epi64((__mmask8)first_bits(m, 8), x);
}
static inline __m512 load_f32(const float *x, size_t m) {
    return _mm512_maskz_loadu_ps((__mmask16)first_bits(m, 16), x);
}
static inline __m512d load_f64(const double *x, size_t m) {
    return _mm512_maskz_loadu_pd((__mmask8)first_bits(m, 8), x);
}

/* A body for each word of `left` elements from `at` on. Written twice so that whole words are compiled on their own. */
#define FOR_WORDS(...)                                                                                                 \
    size_t at = 0;                                                                                                     \
    for (; at + 64 <= n; at += 64) {                                                                                   \
        const size_t left = 64;                                                                                        \
        __VA_ARGS__                                                                                                    \
    }                                                                                                                  \
    if (at < n) {                                                                                                      \
        const size_t left = n - at;                                                                                    \
        __VA_ARGS__                                                                                                    \
    }

/* ---- tests ------------------------------------------------------------------------------------------------------- */

/* TEST gives the bits of `lanes` elements from i on, of which m may be read. */
#define FILL_BITS(lanes, TEST, flip)                                                                                   \
    FOR_WORDS({                                                                                                        \
        uint64_t word = 0;                                                                                             \
        for (size_t first = 0; first < 64; first += (lanes)) {                                                         \
            const size_t i = at + first;                                                                               \
            const size_t m = left > first ? left - first : 0;                                                          \
            word |= (uint64_t)(TEST) << first;                                                                         \
        }                                                                                                              \
        bits[at / 64] = word ^ (flip);                                                                                 \
    })

#define INTEGER_KERNELS(width, lanes, ctype, itype)                                                                    \
    static void in_range_##width(const void *data, size_t n, uint64_t lo, uint64_t hi, uint64_t flip,                  \
                                 uint64_t *bits) {                                                                     \
        const ctype *x = data;                                                                                         \
        const __m512i min = _mm512_set1_epi##width((itype)(ctype)lo);                                                  \
        const __m512i span = _mm512_set1_epi##width((itype)(ctype)(hi - lo));                                          \
        FILL_BITS(lanes, _mm512_cmple_epu##width##_mask(_mm512_sub_epi##width(load_##width(x + i, m), min), span),     \
                  flip)                                                                                                \
    }                                                                                                                  \
    static void differs_##width(const void *data, size_t n, uint64_t *bits) {                                          \
        const ctype *x = data, *before = x - 1;                                                                        \
        FILL_BITS(lanes, _mm512_cmpneq_epu##width##_mask(load_##width(x + i, m), load_##width(before + i, m)), 0)      \
    }

INTEGER_KERNELS(8, 64, uint8_t, char)
INTEGER_KERNELS(16, 32, uint16_t, short)
INTEGER_KERNELS(32, 16, uint32_t, int)
INTEGER_KERNELS(64, 8, uint64_t, long long)

/* The compares are quiet, NaN is in no range; two NaN do not differ. */
#define FLOAT_KERNELS(name, suffix, lanes, ctype, bits_type, vector)                                                   \
    static inline uint64_t differ_##name(vector a, vector b) {                                                         \
        uint64_t nan_a = _mm512_cmp_##suffix##_mask(a, a, _CMP_UNORD_Q);                                               \
        uint64_t nan_b = _mm512_cmp_##suffix##_mask(b, b, _CMP_UNORD_Q);                                               \
        return _mm512_cmp_##suffix##_mask(a, b, _CMP_NEQ_UQ) & ~(nan_a & nan_b);                                       \
    }                                                                                                                  \
    static inline uint64_t between_##name(vector a, vector min, vector max) {                                          \
        return _mm512_mask_cmp_##suffix##_mask(_mm512_cmp_##suffix##_mask(a, min, _CMP_GE_OQ), a, max, _CMP_LE_OQ);    \
    }                                                                                                                  \
    static void in_range_##name(const void *data, size_t n, uint64_t lo, uint64_t hi, uint64_t flip, uint64_t *bits) { \
        const ctype *x = data;                                                                                         \
        const bits_type lo_bits = (bits_type)lo, hi_bits = (bits_type)hi;                                              \
        ctype lo_value, hi_value;                                                                                      \
        memcpy(&lo_value, &lo_bits, sizeof lo_value);                                                                  \
        memcpy(&hi_value, &hi_bits, sizeof hi_value);                                                                  \
        const vector min = _mm512_set1_##suffix(lo_value), max = _mm512_set1_##suffix(hi_value);                       \
        FILL_BITS(lanes, between_##name(load_##name(x + i, m), min, max), flip)                                        \
    }                                                                                                                  \
    static void differs_##name(const void *data, size_t n, uint64_t *bits) {                                           \
        const ctype *x = data, *before = x - 1;                                                                        \
        FILL_BITS(lanes, differ_##name(load_##name(x + i, m), load_##name(before + i, m)), 0)                          \
    }

FLOAT_KERNELS(f32, ps, 16, float, uint32_t, __m512)
FLOAT_KERNELS(f64, pd, 8, double, uint64_t, __m512d)

/* ---- compression ------------------------------------------------------------------------------------------------- */

/* VECTOR gives what to store of the `lanes` elements from i on, of which m are in the array. */
#define COMPRESS(width, lanes, ctype, VECTOR)                                                                          \
    ctype *out = to;                                                                                                   \
    size_t kept = 0;                                                                                                   \
    FOR_WORDS({                                                                                                        \
        const uint64_t word = (bits[at / 64] ^ flip) & first_bits(left, 64);                                           \
        for (size_t first = 0; first < left; first += (lanes)) {                                                       \
            const size_t i = at + first;                                                                               \
            const size_t m = left - first;                                                                             \
            const uint64_t mask = word >> first & first_bits(lanes, lanes);                                            \
            __m512i v = VECTOR;                                                                                        \
            (void)i, (void)m;                                                                                          \
            _mm512_storeu_si512(out + kept, COMPRESS_##width(v, mask));                                                \
            kept += (size_t)__builtin_popcountll(mask);                                                                \
        }                                                                                                              \
    })                                                                                                                 \
    return kept;

#define COMPRESS_8(v, mask) _mm512_mask_compress_epi8(v, mask, v)
#define COMPRESS_16(v, mask) _mm512_mask_compress_epi16(v, (__mmask32)(mask), v)
#define COMPRESS_32(v, mask) _mm512_mask_compress_epi32(v, (__mmask16)(mask), v)
#define COMPRESS_64(v, mask) _mm512_mask_compress_epi64(v, (__mmask8)(mask), v)

/* Meanwhile memory delivers the piece that `select` reads next. */
#define COMPRESS_KERNEL(width, lanes, ctype)                                                                           \
    static size_t compress_##width(const void *data, const uint64_t *bits, uint64_t flip, size_t n, void *to) {        \
        const ctype *x = data;                                                                                         \
        COMPRESS(width, lanes, ctype, load_##width(x + i, m);                                                          \
                 _mm_prefetch((const char *)(x + i + SCAN_SELECT_PIECE), _MM_HINT_T0))                                 \
    }

COMPRESS_KERNEL(8, 64, uint8_t)
COMPRESS_KERNEL(16, 32, uint16_t)
COMPRESS_KERNEL(32, 16, uint32_t)
COMPRESS_KERNEL(64, 8, uint64_t)

static size_t positions_u32(uint64_t base, const uint64_t *bits, size_t n, void *to) {
    const __m512i ascending = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const uint64_t flip = 0;
    COMPRESS(32, 16, uint32_t, _mm512_add_epi32(_mm512_set1_epi32((int)(uint32_t)(base + i)), ascending))
}

static size_t positions_u64(uint64_t base, const uint64_t *bits, size_t n, void *to) {
    const __m512i ascending = _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7);
    const uint64_t flip = 0;
    COMPRESS(64, 8, uint64_t, _mm512_add_epi64(_mm512_set1_epi64((long long)(base + i)), ascending))
}

const scan_select_kernels scan_select_avx512 = {
    .in_range = {in_range_8, in_range_16, in_range_32, in_range_64, in_range_f32, in_range_f64},
    .differs = {differs_8, differs_16, differs_32, differs_64, differs_f32, differs_f64},
    .count = scan_select_count_avx2,
    .compress = {compress_8, compress_16, compress_32, compress_64},
    .positions = {positions_u32, positions_u64},
    .stream = scan_select_stream_avx2,
};
#endif
