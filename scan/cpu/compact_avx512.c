/* SPDX-License-Identifier: MIT
 *
 * Selection kernels with AVX-512. Compares give bits directly; compression is VPCOMPRESS in its register form and a
 * full store: the form that writes memory is microcode on Zen 4. The masks merge into the source, which is at hand,
 * because the zeroing form waits for the old value of its destination. The last, partial word uses masked loads.
 */
#if defined(__AVX512VBMI2__)
#include <immintrin.h>
#include <string.h>

#include "compact.h"

/* The first `left` of `lanes` bits. */
static inline uint64_t first_bits(size_t left, size_t lanes) {
    return left >= lanes ? ~0ull >> (64 - lanes) : (1ull << left) - 1;
}

/* `left` elements of a word, in vectors of `lanes`: vector j of them as TEST(j, load mask) bits, then joined. */
#define WORD_OF(lanes, left, TEST)                                                                                     \
    ({                                                                                                                 \
        uint64_t word_ = 0;                                                                                            \
        _Pragma("GCC unroll 8") for (size_t j = 0; j < 64 / (lanes); j++) {                                            \
            size_t first_ = j * (lanes), left_ = (left) > first_ ? (left)-first_ : 0;                                  \
            word_ |= (uint64_t)(TEST(first_, first_bits(left_, lanes))) << first_;                                     \
        }                                                                                                              \
        word_;                                                                                                         \
    })

/* Whole words first, with constants the compiler folds to plain loads. */
#define FOR_WORDS(BODY)                                                                                                \
    size_t at = 0;                                                                                                     \
    for (; at + 64 <= n; at += 64) {                                                                                   \
        const size_t left = 64;                                                                                        \
        BODY                                                                                                           \
    }                                                                                                                  \
    if (at < n) {                                                                                                      \
        const size_t left = n - at;                                                                                    \
        BODY                                                                                                           \
    }

#define LOAD(width, array, first, mask) _mm512_maskz_loadu_epi##width(LANE_MASK(width, mask), (array) + at + (first))
#define LANE_MASK(width, mask) (MASK_##width)(mask)
#define MASK_8 __mmask64
#define MASK_16 __mmask32
#define MASK_32 __mmask16
#define MASK_64 __mmask8

/* ---- tests ------------------------------------------------------------------------------------------------------- */

#define INTEGER_KERNELS(width, lanes, ctype, itype)                                                                    \
    static void in_range_##width(const void *data, size_t n, uint64_t lo, uint64_t hi, uint64_t flip,                  \
                                 uint64_t *bits) {                                                                     \
        const ctype *x = data;                                                                                         \
        const __m512i least = SET1_##width((itype)(ctype)lo), span = SET1_##width((itype)(ctype)(hi - lo));            \
        FOR_WORDS(bits[at / 64] = WORD_OF(lanes, left, IN_RANGE_##width) ^ flip;)                                      \
    }                                                                                                                  \
    static void differs_##width(const void *data, size_t n, uint64_t *bits) {                                          \
        const ctype *x = data, *before = x - 1;                                                                        \
        FOR_WORDS(bits[at / 64] = WORD_OF(lanes, left, DIFFERS_##width);)                                              \
    }

#define SET1_8(value) _mm512_set1_epi8(value)
#define SET1_16(value) _mm512_set1_epi16(value)
#define SET1_32(value) _mm512_set1_epi32(value)
#define SET1_64(value) _mm512_set1_epi64(value)

#define IN_RANGE(width, first, mask)                                                                                   \
    _mm512_cmple_epu##width##_mask(_mm512_sub_epi##width(LOAD(width, x, first, mask), least), span)
#define IN_RANGE_8(first, mask) IN_RANGE(8, first, mask)
#define IN_RANGE_16(first, mask) IN_RANGE(16, first, mask)
#define IN_RANGE_32(first, mask) IN_RANGE(32, first, mask)
#define IN_RANGE_64(first, mask) IN_RANGE(64, first, mask)

#define DIFFERS(width, first, mask)                                                                                    \
    _mm512_cmpneq_epu##width##_mask(LOAD(width, x, first, mask), LOAD(width, before, first, mask))
#define DIFFERS_8(first, mask) DIFFERS(8, first, mask)
#define DIFFERS_16(first, mask) DIFFERS(16, first, mask)
#define DIFFERS_32(first, mask) DIFFERS(32, first, mask)
#define DIFFERS_64(first, mask) DIFFERS(64, first, mask)

INTEGER_KERNELS(8, 64, uint8_t, char)
INTEGER_KERNELS(16, 32, uint16_t, short)
INTEGER_KERNELS(32, 16, uint32_t, int)
INTEGER_KERNELS(64, 8, uint64_t, long long)

/* The compares are quiet, NaN is in no range; two NaN do not differ. */
#define FLOAT_KERNELS(name, suffix, width, lanes, ctype, bits_type, vector, cast)                                      \
    static inline uint64_t differ_##name(vector a, vector b) {                                                         \
        uint64_t nan_a = _mm512_cmp_##suffix##_mask(a, a, _CMP_UNORD_Q);                                               \
        uint64_t nan_b = _mm512_cmp_##suffix##_mask(b, b, _CMP_UNORD_Q);                                               \
        return _mm512_cmp_##suffix##_mask(a, b, _CMP_NEQ_UQ) & ~(nan_a & nan_b);                                       \
    }                                                                                                                  \
    static void in_range_##name(const void *data, size_t n, uint64_t lo, uint64_t hi, uint64_t flip, uint64_t *bits) { \
        const ctype *x = data;                                                                                         \
        const bits_type lo_bits = (bits_type)lo, hi_bits = (bits_type)hi;                                              \
        ctype lo_value, hi_value;                                                                                      \
        memcpy(&lo_value, &lo_bits, sizeof lo_value);                                                                  \
        memcpy(&hi_value, &hi_bits, sizeof hi_value);                                                                  \
        const vector least = _mm512_set1_##suffix(lo_value), greatest = _mm512_set1_##suffix(hi_value);                \
        FOR_WORDS(bits[at / 64] = WORD_OF(lanes, left, IN_RANGE_##name) ^ flip;)                                       \
    }                                                                                                                  \
    static void differs_##name(const void *data, size_t n, uint64_t *bits) {                                           \
        const ctype *x = data, *before = x - 1;                                                                        \
        FOR_WORDS(bits[at / 64] = WORD_OF(lanes, left, DIFFERS_##name);)                                               \
    }

#define FLOAT_IN_RANGE(suffix, vector)                                                                                 \
    _mm512_mask_cmp_##suffix##_mask(_mm512_cmp_##suffix##_mask(vector, least, _CMP_GE_OQ), vector, greatest, _CMP_LE_OQ)
#define LOAD_F32(array, first, mask) _mm512_maskz_loadu_ps((__mmask16)(mask), (array) + at + (first))
#define LOAD_F64(array, first, mask) _mm512_maskz_loadu_pd((__mmask8)(mask), (array) + at + (first))
#define IN_RANGE_f32(first, mask) FLOAT_IN_RANGE(ps, LOAD_F32(x, first, mask))
#define IN_RANGE_f64(first, mask) FLOAT_IN_RANGE(pd, LOAD_F64(x, first, mask))
#define DIFFERS_f32(first, mask) differ_f32(LOAD_F32(x, first, mask), LOAD_F32(before, first, mask))
#define DIFFERS_f64(first, mask) differ_f64(LOAD_F64(x, first, mask), LOAD_F64(before, first, mask))

FLOAT_KERNELS(f32, ps, 32, 16, float, uint32_t, __m512, )
FLOAT_KERNELS(f64, pd, 64, 8, double, uint64_t, __m512d, )

/* ---- compression ------------------------------------------------------------------------------------------------- */

/* VECTOR is what the lanes [first, first + lanes) of the current word hold. */
#define COMPRESS_WORD(width, lanes, VECTOR)                                                                            \
    _Pragma("GCC unroll 8") for (size_t first = 0; first < 64 && first < left; first += lanes) {                       \
        MASK_##width mask = (MASK_##width)(word >> first);                                                             \
        __m512i v = VECTOR;                                                                                            \
        _mm512_storeu_si512(out + kept, _mm512_mask_compress_epi##width(v, mask, v));                                  \
        kept += (size_t)__builtin_popcountll(mask);                                                                    \
    }

#define COMPRESS_KERNEL(width, lanes, ctype)                                                                           \
    static size_t compress_##width(const void *data, const uint64_t *bits, uint64_t flip, size_t n, void *to) {        \
        const ctype *x = data;                                                                                         \
        ctype *out = to;                                                                                               \
        size_t kept = 0;                                                                                               \
        FOR_WORDS({                                                                                                    \
            uint64_t word = (bits[at / 64] ^ flip) & first_bits(left, 64);                                             \
            COMPRESS_WORD(width, lanes, LOAD(width, x, first, first_bits(left - first, lanes));                        \
                          _mm_prefetch((const char *)(x + at + first + SCAN_SELECT_PIECE), _MM_HINT_T0))               \
        })                                                                                                             \
        return kept;                                                                                                   \
    }

COMPRESS_KERNEL(8, 64, uint8_t)
COMPRESS_KERNEL(16, 32, uint16_t)
COMPRESS_KERNEL(32, 16, uint32_t)
COMPRESS_KERNEL(64, 8, uint64_t)

#define POSITION_KERNEL(name, width, lanes, ctype, itype, FIRST_LANES)                                                 \
    static size_t positions_##name(uint64_t base, const uint64_t *bits, size_t n, void *to) {                          \
        const __m512i step = SET1_##width((itype)(lanes));                                                             \
        __m512i position = _mm512_add_epi##width(SET1_##width((itype)base), FIRST_LANES);                              \
        ctype *out = to;                                                                                               \
        size_t kept = 0;                                                                                               \
        FOR_WORDS({                                                                                                    \
            uint64_t word = bits[at / 64] & first_bits(left, 64);                                                      \
            COMPRESS_WORD(width, lanes, position; position = _mm512_add_epi##width(position, step))                    \
        })                                                                                                             \
        return kept;                                                                                                   \
    }

POSITION_KERNEL(u32, 32, 16, uint32_t, int, _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15))
POSITION_KERNEL(u64, 64, 8, uint64_t, long long, _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7))

const scan_select_kernels scan_select_avx512 = {
    .in_range = {in_range_8, in_range_16, in_range_32, in_range_64, in_range_f32, in_range_f64},
    .differs = {differs_8, differs_16, differs_32, differs_64, differs_f32, differs_f64},
    .count = scan_select_count_avx2,
    .compress = {compress_8, compress_16, compress_32, compress_64},
    .positions = {positions_u32, positions_u64},
    .stream = scan_select_stream_avx2,
};
#endif
