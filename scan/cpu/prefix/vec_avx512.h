/* SPDX-License-Identifier: MIT
 *
 * The primitives of vec.h for AVX-512.
 */
#ifndef SCAN_CPU_PREFIX_VEC_AVX512_H
#define SCAN_CPU_PREFIX_VEC_AVX512_H

#include <immintrin.h>

#include "assoc.h"

typedef __m512i vec;

SCAN_INLINE vec vec_load(const void *at) { return _mm512_loadu_si512(at); }
SCAN_INLINE void vec_store(void *at, vec x) { _mm512_storeu_si512(at, x); }
SCAN_INLINE void vec_stream(void *at, vec x) { _mm512_stream_si512(at, x); }
SCAN_INLINE void vec_fence(void) { _mm_sfence(); }

SCAN_INLINE vec vec_widen_u8_u32(const void *at) { return _mm512_cvtepu8_epi32(_mm_loadu_si128(at)); }
SCAN_INLINE vec vec_widen_u8_u64(const void *at) { return _mm512_cvtepu8_epi64(_mm_loadl_epi64(at)); }
SCAN_INLINE vec vec_widen_i8_i64(const void *at) { return _mm512_cvtepi8_epi64(_mm_loadl_epi64(at)); }
SCAN_INLINE vec vec_widen_u16_u64(const void *at) { return _mm512_cvtepu16_epi64(_mm_loadu_si128(at)); }
SCAN_INLINE vec vec_widen_i16_i64(const void *at) { return _mm512_cvtepi16_epi64(_mm_loadu_si128(at)); }
SCAN_INLINE vec vec_widen_u32_u64(const void *at) { return _mm512_cvtepu32_epi64(_mm256_loadu_si256(at)); }
SCAN_INLINE vec vec_widen_i32_i64(const void *at) { return _mm512_cvtepi32_epi64(_mm256_loadu_si256(at)); }
SCAN_INLINE vec vec_widen_f32_f64(const void *at) { return _mm512_castpd_si512(_mm512_cvtps_pd(_mm256_loadu_ps(at))); }

SCAN_INLINE vec vec_shift(vec x, vec fill, size_t bytes) {
    switch (bytes) {
    case 1: return _mm512_alignr_epi8(x, _mm512_alignr_epi32(x, fill, 12), 15);
    case 2: return _mm512_alignr_epi8(x, _mm512_alignr_epi32(x, fill, 12), 14);
    case 4: return _mm512_alignr_epi32(x, fill, 15);
    case 8: return _mm512_alignr_epi32(x, fill, 14);
    case 16: return _mm512_alignr_epi32(x, fill, 12);
    default: return _mm512_alignr_epi32(x, fill, 8);
    }
}

SCAN_INLINE vec vec_step(size_t size, vec x, vec none, size_t bytes) {
    (void)size;
    return vec_shift(x, none, bytes);
}

SCAN_INLINE vec vec_last(size_t size, vec x) {
    switch (size) {
    case 1: return _mm512_permutexvar_epi8(_mm512_set1_epi8(63), x);
    case 2: return _mm512_permutexvar_epi16(_mm512_set1_epi16(31), x);
    case 4: return _mm512_permutexvar_epi32(_mm512_set1_epi32(15), x);
    default: return _mm512_permutexvar_epi64(_mm512_set1_epi64(7), x);
    }
}

SCAN_INLINE vec vec_reverse(size_t size, vec x) {
    const vec bytes =
        _mm512_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25,
                        26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49,
                        50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63);
    switch (size) {
    case 1: return _mm512_permutexvar_epi8(bytes, x);
    case 2:
        return _mm512_permutexvar_epi16(_mm512_set_epi16(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17,
                                                         18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31),
                                        x);
    case 4: return _mm512_permutexvar_epi32(_mm512_set_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15), x);
    default: return _mm512_permutexvar_epi64(_mm512_set_epi64(0, 1, 2, 3, 4, 5, 6, 7), x);
    }
}

SCAN_INLINE vec vec_fill(size_t size, uint64_t word) {
    switch (size) {
    case 1: return _mm512_set1_epi8((char)word);
    case 2: return _mm512_set1_epi16((short)word);
    case 4: return _mm512_set1_epi32((int)word);
    default: return _mm512_set1_epi64((long long)word);
    }
}

/* The first element, not extended. */
SCAN_INLINE uint64_t vec_first(vec x) { return (uint64_t)_mm_cvtsi128_si64(_mm512_castsi512_si128(x)); }

SCAN_INLINE vec vec_mul_u8(vec a, vec b) {
    vec even = _mm512_mullo_epi16(a, b);
    vec odd = _mm512_mullo_epi16(_mm512_srli_epi16(a, 8), _mm512_srli_epi16(b, 8));
    return _mm512_mask_blend_epi8(UINT64_C(0xaaaaaaaaaaaaaaaa), even, _mm512_slli_epi16(odd, 8));
}

SCAN_INLINE vec vec_add(scan_type type, vec a, vec b) {
    switch (scan_assoc_size(type)) {
    case 1: return _mm512_add_epi8(a, b);
    case 2: return _mm512_add_epi16(a, b);
    case 4: return _mm512_add_epi32(a, b);
    default: return _mm512_add_epi64(a, b);
    }
}

SCAN_INLINE vec vec_mul(scan_type type, vec a, vec b) {
    switch (scan_assoc_size(type)) {
    case 1: return vec_mul_u8(a, b);
    case 2: return _mm512_mullo_epi16(a, b);
    case 4: return _mm512_mullo_epi32(a, b);
    default: return _mm512_mullo_epi64(a, b);
    }
}

SCAN_INLINE vec vec_min(scan_type type, vec a, vec b) {
    switch (type) {
    case SCAN_U8: return _mm512_min_epu8(a, b);
    case SCAN_I8: return _mm512_min_epi8(a, b);
    case SCAN_U16: return _mm512_min_epu16(a, b);
    case SCAN_I16: return _mm512_min_epi16(a, b);
    case SCAN_U32: return _mm512_min_epu32(a, b);
    case SCAN_U64: return _mm512_min_epu64(a, b);
    case SCAN_I32:
    case SCAN_F32: return _mm512_min_epi32(a, b);
    case SCAN_I64:
    case SCAN_F64: return _mm512_min_epi64(a, b);
    case SCAN_TYPE_NONE: break;
    }
    return a;
}

SCAN_INLINE vec vec_max(scan_type type, vec a, vec b) {
    switch (type) {
    case SCAN_U8: return _mm512_max_epu8(a, b);
    case SCAN_I8: return _mm512_max_epi8(a, b);
    case SCAN_U16: return _mm512_max_epu16(a, b);
    case SCAN_I16: return _mm512_max_epi16(a, b);
    case SCAN_U32: return _mm512_max_epu32(a, b);
    case SCAN_U64: return _mm512_max_epu64(a, b);
    case SCAN_I32:
    case SCAN_F32: return _mm512_max_epi32(a, b);
    case SCAN_I64:
    case SCAN_F64: return _mm512_max_epi64(a, b);
    case SCAN_TYPE_NONE: break;
    }
    return a;
}

SCAN_INLINE vec vec_flip_f32(vec x) {
    return _mm512_xor_si512(x, _mm512_and_si512(_mm512_srai_epi32(x, 31), _mm512_set1_epi32(INT32_MAX)));
}

SCAN_INLINE vec vec_flip_f64(vec x) {
    return _mm512_xor_si512(x, _mm512_and_si512(_mm512_srai_epi64(x, 63), _mm512_set1_epi64(INT64_MAX)));
}

SCAN_INLINE vec vec_to_key(scan_type type, scan_op op, vec x) {
    if (type == SCAN_F32) {
        __m512 f = _mm512_castsi512_ps(x);
        vec nan = vec_fill(4, scan_f32_key(NAN, op));
        return _mm512_mask_mov_epi32(vec_flip_f32(x), _mm512_cmp_ps_mask(f, f, _CMP_UNORD_Q), nan);
    }
    if (type == SCAN_F64) {
        __m512d f = _mm512_castsi512_pd(x);
        vec nan = vec_fill(8, scan_f64_key(NAN, op));
        return _mm512_mask_mov_epi64(vec_flip_f64(x), _mm512_cmp_pd_mask(f, f, _CMP_UNORD_Q), nan);
    }
    return x;
}

SCAN_INLINE vec vec_from_key(scan_type type, scan_op op, vec x) {
    if (type == SCAN_F32) {
        vec nan = vec_fill(4, scan_f32_key(NAN, op));
        return _mm512_mask_mov_epi32(vec_flip_f32(x), _mm512_cmpeq_epi32_mask(x, nan), _mm512_set1_epi32(SCAN_F32_NAN));
    }
    if (type == SCAN_F64) {
        vec nan = vec_fill(8, scan_f64_key(NAN, op));
        return _mm512_mask_mov_epi64(vec_flip_f64(x), _mm512_cmpeq_epi64_mask(x, nan), _mm512_set1_epi64(SCAN_F64_NAN));
    }
    return x;
}

/* ---- for rows of floats ------------------------------------------------------------------------------------------ */

SCAN_INLINE vec vec_float_add(scan_type type, vec a, vec b) {
    if (type == SCAN_F32)
        return _mm512_castps_si512(_mm512_add_ps(_mm512_castsi512_ps(a), _mm512_castsi512_ps(b)));
    return _mm512_castpd_si512(_mm512_add_pd(_mm512_castsi512_pd(a), _mm512_castsi512_pd(b)));
}

SCAN_INLINE vec vec_float_mul(scan_type type, vec a, vec b) {
    if (type == SCAN_F32)
        return _mm512_castps_si512(_mm512_mul_ps(_mm512_castsi512_ps(a), _mm512_castsi512_ps(b)));
    return _mm512_castpd_si512(_mm512_mul_pd(_mm512_castsi512_pd(a), _mm512_castsi512_pd(b)));
}

SCAN_INLINE vec vec_align(vec x, vec fill, size_t bytes) {
    switch (bytes) {
    case 4: return _mm512_alignr_epi8(x, fill, 4);
    case 8: return _mm512_alignr_epi8(x, fill, 8);
    default: return _mm512_alignr_epi8(x, fill, 12);
    }
}

SCAN_INLINE vec vec_lane_down(vec x, vec next) { return _mm512_alignr_epi64(next, x, 2); }

SCAN_INLINE vec vec_unpack_low(size_t size, vec a, vec b) {
    return size == 4 ? _mm512_unpacklo_epi32(a, b) : _mm512_unpacklo_epi64(a, b);
}

SCAN_INLINE vec vec_unpack_high(size_t size, vec a, vec b) {
    return size == 4 ? _mm512_unpackhi_epi32(a, b) : _mm512_unpackhi_epi64(a, b);
}

#endif
