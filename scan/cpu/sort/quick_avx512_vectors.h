/* SPDX-License-Identifier: MIT
 *
 * What quick_lanes.h asks of vectors that is more than one instruction of AVX-512: lanes exchanged, brought to either
 * end or stored by a mask, and looked up in a hash table. quick_avx512.c, which has quick_count(), gives them their
 * names, once a width.
 */
#ifndef SCAN_CPU_SORT_QUICK_AVX512_VECTORS_H
#define SCAN_CPU_SORT_QUICK_AVX512_VECTORS_H

#include <immintrin.h>

#include "quick.h"

/* ---- 32 bits ----------------------------------------------------------------------------------------------------- */

/* Lanes i and i ^ distance exchanged, distance 1, 3, 7, 15 (reversal in groups) or a power of two. */
SCAN_INLINE __m512i exchange_32(__m512i v, unsigned distance) {
    switch (distance) {
    case 1: return _mm512_shuffle_epi32(v, _MM_PERM_CDAB);
    case 2: return _mm512_shuffle_epi32(v, _MM_PERM_BADC);
    case 3: return _mm512_shuffle_epi32(v, _MM_PERM_ABCD);
    case 4: return _mm512_permutex_epi64(v, 0x4e);
    case 8: return _mm512_shuffle_i64x2(v, v, 0x4e);
    case 7: return _mm512_permutexvar_epi32(_mm512_setr_epi32(7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8), v);
    default:
        return _mm512_permutexvar_epi32(_mm512_setr_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0), v);
    }
}

/* The lanes whose number has this bit. */
SCAN_INLINE __mmask16 lanes_with_bit(unsigned bit) {
    return bit == 1 ? 0xaaaa : bit == 2 ? 0xcccc : bit == 4 ? 0xf0f0 : 0xff00;
}

SCAN_INLINE __m512i lane_numbers_32(void) {
    return _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
}

#define LANES_OF_2(x) x, (x) + 1
#define LANES_OF_8(x) LANES_OF_2(x), LANES_OF_2((x) + 2), LANES_OF_2((x) + 4), LANES_OF_2((x) + 6)
static const uint32_t lanes_32[32] = {LANES_OF_8(0), LANES_OF_8(8), LANES_OF_8(0), LANES_OF_8(8)};

/* All but `count` lanes, which are at the front, go to the back. */
SCAN_INLINE __m512i to_back_32(__m512i v, size_t count) {
    return _mm512_permutexvar_epi32(_mm512_loadu_si512(lanes_32 + 16 - count), v);
}

/* The lesser floats, but the greater ones in the lanes of a mask; or the other way round. */
SCAN_INLINE __m512i min_max_f32(__m512i a, __m512i b, __mmask16 far) {
    const __m512 x = _mm512_castsi512_ps(a), y = _mm512_castsi512_ps(b);
    return _mm512_castps_si512(_mm512_mask_max_ps(_mm512_min_ps(x, y), far, x, y));
}
SCAN_INLINE __m512i max_min_f32(__m512i a, __m512i b, __mmask16 far) {
    const __m512 x = _mm512_castsi512_ps(a), y = _mm512_castsi512_ps(b);
    return _mm512_castps_si512(_mm512_mask_min_ps(_mm512_max_ps(x, y), far, x, y));
}

/* Vectors of the values of 16 and of 8 keys, and those of a mask of keys brought to the front and stored. A whole
 * vector may be written. */
typedef __m512i vector_32_4, vector_64_8;
typedef __m256i vector_64_4;
typedef struct vector_32_8 {
    __m512i low, high;
} vector_32_8;

SCAN_INLINE __m512i load_32_4(const uint32_t *from) { return _mm512_loadu_si512(from); }
SCAN_INLINE __m512i load_64_8(const uint64_t *from) { return _mm512_loadu_si512(from); }
SCAN_INLINE __m256i load_64_4(const uint32_t *from) { return _mm256_loadu_si256((const __m256i *)(const void *)from); }
SCAN_INLINE vector_32_8 load_32_8(const uint64_t *from) { return (vector_32_8){load_64_8(from), load_64_8(from + 8)}; }

SCAN_INLINE void store_some_32_4(uint32_t *to, __m512i v, __mmask16 bits) {
    _mm512_storeu_si512(to, _mm512_maskz_compress_epi32(bits, v));
}
SCAN_INLINE void store_some_64_8(uint64_t *to, __m512i v, __mmask8 bits) {
    _mm512_storeu_si512(to, _mm512_maskz_compress_epi64(bits, v));
}
SCAN_INLINE void store_some_64_4(uint32_t *to, __m256i v, __mmask8 bits) {
    _mm256_storeu_si256((__m256i *)(void *)to, _mm256_maskz_compress_epi32(bits, v));
}
SCAN_INLINE void store_some_32_8(uint64_t *to, vector_32_8 v, __mmask16 bits) {
    store_some_64_8(to, v.low, (__mmask8)bits);
    store_some_64_8(to + quick_count(bits, 8), v.high, (__mmask8)(bits >> 8));
}

/* The slots of keys in a hash table, or QUICK_SLOTS. Returns which lanes differ from what their slots hold. */
SCAN_INLINE __mmask16 look_up_32(__m512i keys, uint32_t multiplier, const uint32_t *table, uint16_t *slots) {
    const __m512i at =
        _mm512_srli_epi32(_mm512_mullo_epi32(keys, _mm512_set1_epi32((int)multiplier)), 32 - QUICK_SLOT_BITS);
    const __mmask16 differ = _mm512_cmpneq_epi32_mask(_mm512_i32gather_epi32(at, table, 4), keys);
    const __m512i found = _mm512_mask_mov_epi32(at, differ, _mm512_set1_epi32(QUICK_SLOTS));
    _mm256_storeu_si256((__m256i *)(void *)slots, _mm512_cvtepi32_epi16(found));
    return differ;
}
SCAN_INLINE __mmask8 look_up_64(__m512i keys, uint64_t multiplier, const uint64_t *table, uint16_t *slots) {
    const __m512i at =
        _mm512_srli_epi64(_mm512_mullo_epi64(keys, _mm512_set1_epi64((long long)multiplier)), 64 - QUICK_SLOT_BITS);
    const __mmask8 differ = _mm512_cmpneq_epi64_mask(_mm512_i64gather_epi64(at, table, 8), keys);
    const __m512i found = _mm512_mask_mov_epi64(at, differ, _mm512_set1_epi64(QUICK_SLOTS));
    _mm_storeu_si128((__m128i *)(void *)slots, _mm512_cvtepi64_epi16(found));
    return differ;
}

/* ---- 16 bits, keys alone ----------------------------------------------------------------------------------------- */

#define INTERLEAVED_2(x) x, (x) + 32
#define INTERLEAVED_8(x) INTERLEAVED_2(x), INTERLEAVED_2((x) + 1), INTERLEAVED_2((x) + 2), INTERLEAVED_2((x) + 3)
static const uint16_t lanes_16[64] = {LANES_OF_8(0), LANES_OF_8(8), LANES_OF_8(16), LANES_OF_8(24),
                                      LANES_OF_8(0), LANES_OF_8(8), LANES_OF_8(16), LANES_OF_8(24)};
static const uint16_t interleaved_low[32] = {INTERLEAVED_8(0), INTERLEAVED_8(4), INTERLEAVED_8(8), INTERLEAVED_8(12)};

SCAN_INLINE __m512i lane_numbers_16(void) { return _mm512_loadu_si512(lanes_16); }

SCAN_INLINE __m512i to_back_16(__m512i v, size_t count) {
    return _mm512_permutexvar_epi16(_mm512_loadu_si512(lanes_16 + 32 - count), v);
}

SCAN_INLINE __m512i exchange_16(__m512i v, unsigned distance) {
    switch (distance) {
    case 1: return _mm512_rol_epi32(v, 16);
    case 2: return _mm512_shuffle_epi32(v, _MM_PERM_CDAB);
    case 4: return _mm512_shuffle_epi32(v, _MM_PERM_BADC);
    case 8: return _mm512_permutex_epi64(v, 0x4e);
    case 16: return _mm512_shuffle_i64x2(v, v, 0x4e);
    default:
        return _mm512_permutexvar_epi16(_mm512_xor_si512(lane_numbers_16(), _mm512_set1_epi16((short)distance)), v);
    }
}

SCAN_INLINE __mmask32 lanes_with_bit_16(unsigned bit) {
    return bit == 16 ? 0xffff0000u : lanes_with_bit(bit) * 0x10001u;
}

SCAN_INLINE __m512i interleave_16(__m512i a, __m512i b, short first) {
    return _mm512_permutex2var_epi16(a, _mm512_add_epi16(_mm512_loadu_si512(interleaved_low), _mm512_set1_epi16(first)),
                                     b);
}

/* ---- 64 bits ----------------------------------------------------------------------------------------------------- */

SCAN_INLINE __m512i exchange_64(__m512i v, unsigned distance) {
    switch (distance) {
    case 1: return _mm512_shuffle_epi32(v, _MM_PERM_BADC);
    case 2: return _mm512_permutex_epi64(v, 0x4e);
    case 3: return _mm512_permutex_epi64(v, 0x1b);
    case 4: return _mm512_shuffle_i64x2(v, v, 0x4e);
    default: return _mm512_permutexvar_epi64(_mm512_setr_epi64(7, 6, 5, 4, 3, 2, 1, 0), v);
    }
}

/* Permutations of eight lanes that bring those of a mask to the front, and the others behind them: a byte a lane. */
#define SET_BELOW(mask, i) (unsigned)__builtin_popcount((mask) & ((1 << (i)) - 1))
#define LANE(mask, i)                                                                                                  \
    ((i##ull) << 8 * ((mask) >> (i)&1 ? SET_BELOW(mask, i) : SET_BELOW(mask, 8) + i##u - SET_BELOW(mask, i)))
#define SIDES(mask)                                                                                                    \
    (LANE(mask, 0) | LANE(mask, 1) | LANE(mask, 2) | LANE(mask, 3) | LANE(mask, 4) | LANE(mask, 5) | LANE(mask, 6) |   \
     LANE(mask, 7))
#define SIDES_4(mask) SIDES(mask), SIDES((mask) + 1), SIDES((mask) + 2), SIDES((mask) + 3)
#define SIDES_16(mask) SIDES_4(mask), SIDES_4((mask) + 4), SIDES_4((mask) + 8), SIDES_4((mask) + 12)
#define SIDES_64(mask) SIDES_16(mask), SIDES_16((mask) + 16), SIDES_16((mask) + 32), SIDES_16((mask) + 48)
static const uint64_t sides_64[256] = {SIDES_64(0), SIDES_64(64), SIDES_64(128), SIDES_64(192)};

SCAN_INLINE __m512i sides_of_64(__m512i v, __mmask8 front) {
    return _mm512_permutexvar_epi64(_mm512_cvtepu8_epi64(_mm_loadl_epi64((const __m128i *)(sides_64 + front))), v);
}

SCAN_INLINE __m512i lane_numbers_64(void) { return _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7); }

/* The lesser floats, but the greater ones in the lanes of a mask; or the other way round. */
SCAN_INLINE __m512i min_max_f64(__m512i a, __m512i b, __mmask8 far) {
    const __m512d x = _mm512_castsi512_pd(a), y = _mm512_castsi512_pd(b);
    return _mm512_castpd_si512(_mm512_mask_max_pd(_mm512_min_pd(x, y), far, x, y));
}
SCAN_INLINE __m512i max_min_f64(__m512i a, __m512i b, __mmask8 far) {
    const __m512d x = _mm512_castsi512_pd(a), y = _mm512_castsi512_pd(b);
    return _mm512_castpd_si512(_mm512_mask_min_pd(_mm512_max_pd(x, y), far, x, y));
}

#endif
