/* SPDX-License-Identifier: MIT
 *
 * The primitives of vec.h for AVX2. Moves across the two 16-byte lanes take two
 * instructions, and 64-bit min, max and mul are made from smaller ones.
 */
#ifndef SCAN_CPU_PREFIX_VEC_AVX2_H
#define SCAN_CPU_PREFIX_VEC_AVX2_H

#include <immintrin.h>

#include "assoc.h"

typedef __m256i vec;

SCAN_INLINE vec vec_load(const void *at) { return _mm256_loadu_si256(at); }
SCAN_INLINE void vec_store(void *at, vec x) { _mm256_storeu_si256(at, x); }
SCAN_INLINE void vec_stream(void *at, vec x) { _mm256_stream_si256(at, x); }
SCAN_INLINE void vec_fence(void) { _mm_sfence(); }

SCAN_INLINE vec vec_widen_u8_u32(const void *at) { return _mm256_cvtepu8_epi32(_mm_loadl_epi64(at)); }
SCAN_INLINE vec vec_widen_u8_u64(const void *at) { return _mm256_cvtepu8_epi64(_mm_loadu_si32(at)); }
SCAN_INLINE vec vec_widen_i8_i64(const void *at) { return _mm256_cvtepi8_epi64(_mm_loadu_si32(at)); }
SCAN_INLINE vec vec_widen_u16_u64(const void *at) { return _mm256_cvtepu16_epi64(_mm_loadl_epi64(at)); }
SCAN_INLINE vec vec_widen_i16_i64(const void *at) { return _mm256_cvtepi16_epi64(_mm_loadl_epi64(at)); }
SCAN_INLINE vec vec_widen_u32_u64(const void *at) { return _mm256_cvtepu32_epi64(_mm_loadu_si128(at)); }
SCAN_INLINE vec vec_widen_i32_i64(const void *at) { return _mm256_cvtepi32_epi64(_mm_loadu_si128(at)); }
SCAN_INLINE vec vec_widen_f32_f64(const void *at) { return _mm256_castpd_si256(_mm256_cvtps_pd(_mm_loadu_ps(at))); }

SCAN_INLINE vec vec_align(vec x, vec fill, size_t bytes) {
    switch (bytes) {
    case 4: return _mm256_alignr_epi8(x, fill, 4);
    case 8: return _mm256_alignr_epi8(x, fill, 8);
    case 12: return _mm256_alignr_epi8(x, fill, 12);
    case 14: return _mm256_alignr_epi8(x, fill, 14);
    default: return _mm256_alignr_epi8(x, fill, 15);
    }
}

SCAN_INLINE vec vec_shift(vec x, vec fill, size_t bytes) {
    vec lane_up = _mm256_permute2x128_si256(fill, x, 0x21);
    return bytes == 16 ? lane_up : vec_align(x, lane_up, 16 - bytes);
}

/* The last element of each lane, everywhere in it. */
SCAN_INLINE vec vec_last_of_lane(size_t size, vec x) {
    switch (size) {
    case 1: return _mm256_shuffle_epi8(x, _mm256_set1_epi8(15));
    case 2: return _mm256_shuffle_epi8(x, _mm256_set1_epi16(0x0f0e));
    case 4: return _mm256_shuffle_epi32(x, 0xff);
    default: return _mm256_shuffle_epi32(x, 0xee);
    }
}

SCAN_INLINE vec vec_lane_down(vec x, vec next) { return _mm256_permute2x128_si256(x, next, 0x21); }

SCAN_INLINE vec vec_last(size_t size, vec x) { return vec_last_of_lane(size, _mm256_permute4x64_epi64(x, 0xff)); }

/* Each lane by itself, which takes no move across them, then the second lane takes the last element of the first. */
SCAN_INLINE vec vec_step(size_t size, vec x, vec none, size_t bytes) {
    return bytes < 16 ? vec_align(x, none, 16 - bytes) : vec_last_of_lane(size, vec_shift(x, none, 16));
}

SCAN_INLINE vec vec_reverse(size_t size, vec x) {
    const vec swap = _mm256_permute4x64_epi64(x, 0x4e);
    switch (size) {
    case 1:
        return _mm256_shuffle_epi8(swap, _mm256_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2,
                                                         3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
    case 2:
        return _mm256_shuffle_epi8(swap, _mm256_set_epi8(1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14, 1, 0, 3,
                                                         2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14));
    case 4: return _mm256_shuffle_epi32(swap, 0x1b);
    default: return _mm256_permute4x64_epi64(x, 0x1b);
    }
}

SCAN_INLINE vec vec_fill(size_t size, uint64_t word) {
    switch (size) {
    case 1: return _mm256_set1_epi8((char)word);
    case 2: return _mm256_set1_epi16((short)word);
    case 4: return _mm256_set1_epi32((int)word);
    default: return _mm256_set1_epi64x((long long)word);
    }
}

/* The first element, not extended. */
SCAN_INLINE uint64_t vec_first(vec x) { return (uint64_t)_mm_cvtsi128_si64(_mm256_castsi256_si128(x)); }

SCAN_INLINE vec vec_add(scan_type type, vec a, vec b) {
    switch (scan_assoc_size(type)) {
    case 1: return _mm256_add_epi8(a, b);
    case 2: return _mm256_add_epi16(a, b);
    case 4: return _mm256_add_epi32(a, b);
    default: return _mm256_add_epi64(a, b);
    }
}

SCAN_INLINE vec vec_mul_8(vec a, vec b) {
    vec even = _mm256_and_si256(_mm256_mullo_epi16(a, b), _mm256_set1_epi16(0xff));
    vec odd = _mm256_mullo_epi16(_mm256_srli_epi16(a, 8), _mm256_srli_epi16(b, 8));
    return _mm256_or_si256(even, _mm256_slli_epi16(odd, 8));
}

/* low * low + ((high * low + low * high) << 32) */
SCAN_INLINE vec vec_mul_64(vec a, vec b) {
    vec crossed = _mm256_mullo_epi32(a, _mm256_shuffle_epi32(b, 0xb1));
    vec high = _mm256_add_epi32(_mm256_slli_epi64(crossed, 32), crossed);
    high = _mm256_and_si256(high, _mm256_set1_epi64x((long long)UINT64_C(0xffffffff00000000)));
    return _mm256_add_epi64(_mm256_mul_epu32(a, b), high);
}

SCAN_INLINE vec vec_mul(scan_type type, vec a, vec b) {
    switch (scan_assoc_size(type)) {
    case 1: return vec_mul_8(a, b);
    case 2: return _mm256_mullo_epi16(a, b);
    case 4: return _mm256_mullo_epi32(a, b);
    default: return vec_mul_64(a, b);
    }
}

/* All ones where a > b, of 64 bits. */
SCAN_INLINE vec vec_greater_64(scan_type type, vec a, vec b) {
    vec sign = _mm256_set1_epi64x(type == SCAN_U64 ? INT64_MIN : 0);
    return _mm256_cmpgt_epi64(_mm256_xor_si256(a, sign), _mm256_xor_si256(b, sign));
}

SCAN_INLINE vec vec_min(scan_type type, vec a, vec b) {
    switch (type) {
    case SCAN_U8: return _mm256_min_epu8(a, b);
    case SCAN_I8: return _mm256_min_epi8(a, b);
    case SCAN_U16: return _mm256_min_epu16(a, b);
    case SCAN_I16: return _mm256_min_epi16(a, b);
    case SCAN_U32: return _mm256_min_epu32(a, b);
    case SCAN_I32:
    case SCAN_F32: return _mm256_min_epi32(a, b);
    case SCAN_U64:
    case SCAN_I64:
    case SCAN_F64: return _mm256_blendv_epi8(a, b, vec_greater_64(type, a, b));
    case SCAN_TYPE_NONE: break;
    }
    return a;
}

SCAN_INLINE vec vec_max(scan_type type, vec a, vec b) {
    switch (type) {
    case SCAN_U8: return _mm256_max_epu8(a, b);
    case SCAN_I8: return _mm256_max_epi8(a, b);
    case SCAN_U16: return _mm256_max_epu16(a, b);
    case SCAN_I16: return _mm256_max_epi16(a, b);
    case SCAN_U32: return _mm256_max_epu32(a, b);
    case SCAN_I32:
    case SCAN_F32: return _mm256_max_epi32(a, b);
    case SCAN_U64:
    case SCAN_I64:
    case SCAN_F64: return _mm256_blendv_epi8(b, a, vec_greater_64(type, a, b));
    case SCAN_TYPE_NONE: break;
    }
    return a;
}

SCAN_INLINE vec vec_flip_f32(vec x) { return _mm256_xor_si256(x, _mm256_srli_epi32(_mm256_srai_epi32(x, 31), 1)); }

SCAN_INLINE vec vec_flip_f64(vec x) {
    return _mm256_xor_si256(x, _mm256_srli_epi64(_mm256_cmpgt_epi64(_mm256_setzero_si256(), x), 1));
}

SCAN_INLINE vec vec_to_key(scan_type type, scan_op op, vec x) {
    if (type == SCAN_F32) {
        __m256 f = _mm256_castsi256_ps(x);
        vec nan = _mm256_castps_si256(_mm256_cmp_ps(f, f, _CMP_UNORD_Q));
        return _mm256_blendv_epi8(vec_flip_f32(x), vec_fill(4, scan_f32_key(NAN, op)), nan);
    }
    if (type == SCAN_F64) {
        __m256d f = _mm256_castsi256_pd(x);
        vec nan = _mm256_castpd_si256(_mm256_cmp_pd(f, f, _CMP_UNORD_Q));
        return _mm256_blendv_epi8(vec_flip_f64(x), vec_fill(8, scan_f64_key(NAN, op)), nan);
    }
    return x;
}

SCAN_INLINE vec vec_from_key(scan_type type, scan_op op, vec x) {
    if (type == SCAN_F32) {
        vec nan = _mm256_cmpeq_epi32(x, vec_fill(4, scan_f32_key(NAN, op)));
        return _mm256_blendv_epi8(vec_flip_f32(x), _mm256_set1_epi32(SCAN_F32_NAN), nan);
    }
    if (type == SCAN_F64) {
        vec nan = _mm256_cmpeq_epi64(x, vec_fill(8, scan_f64_key(NAN, op)));
        return _mm256_blendv_epi8(vec_flip_f64(x), _mm256_set1_epi64x(SCAN_F64_NAN), nan);
    }
    return x;
}

/* ---- for rows of floats ------------------------------------------------------------------------------------------ */

SCAN_INLINE vec vec_float_add(scan_type type, vec a, vec b) {
    if (type == SCAN_F32)
        return _mm256_castps_si256(_mm256_add_ps(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b)));
    return _mm256_castpd_si256(_mm256_add_pd(_mm256_castsi256_pd(a), _mm256_castsi256_pd(b)));
}

SCAN_INLINE vec vec_float_mul(scan_type type, vec a, vec b) {
    if (type == SCAN_F32)
        return _mm256_castps_si256(_mm256_mul_ps(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b)));
    return _mm256_castpd_si256(_mm256_mul_pd(_mm256_castsi256_pd(a), _mm256_castsi256_pd(b)));
}

SCAN_INLINE vec vec_unpack_low(size_t size, vec a, vec b) {
    return size == 4 ? _mm256_unpacklo_epi32(a, b) : _mm256_unpacklo_epi64(a, b);
}

SCAN_INLINE vec vec_unpack_high(size_t size, vec a, vec b) {
    return size == 4 ? _mm256_unpackhi_epi32(a, b) : _mm256_unpackhi_epi64(a, b);
}

#endif
