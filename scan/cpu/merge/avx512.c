/* SPDX-License-Identifier: MIT
 *
 * As avx2.c, with vectors of 64 bytes.
 */
#if defined(__AVX512F__)
#include <immintrin.h>

#include "chains.h"

enum { WIDTH_4 = 16, WIDTH_8 = 8 };

typedef __m512i vector;

#define LOAD(at) _mm512_loadu_si512(at)

#define STORE(at, x) _mm512_store_si512(at, x)
#define STREAM(at, x) _mm512_stream_si512(at, x)

/* A stage of the network: the lesser of each pair goes to the lanes that `upper` does not name. */
SCAN_INLINE __m512i stage_4(__m512i x, __m512i other, __mmask16 upper) {
    return _mm512_mask_max_epu32(_mm512_min_epu32(x, other), upper, x, other);
}
SCAN_INLINE __m512i stage_8(__m512i x, __m512i other, __mmask8 upper) {
    return _mm512_mask_max_epu64(_mm512_min_epu64(x, other), upper, x, other);
}

SCAN_INLINE vector next_4(const scan_merge_job *job, size_t *i, size_t out) {
    const __m512i flip = _mm512_set1_epi32((int)(uint32_t)job->order.flip);
    const __m512i reverse = _mm512_setr_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    const __m512i a = _mm512_xor_si512(LOAD((const uint32_t *)job->a.keys + *i), flip);
    const __m512i b =
        _mm512_xor_si512(_mm512_permutexvar_epi32(reverse, LOAD((const uint32_t *)job->b.keys + (out - *i))), flip);
    const __mmask16 from_a = _mm512_cmple_epu32_mask(a, b);
    __m512i x = _mm512_min_epu32(a, b);
    x = stage_4(x, _mm512_shuffle_i64x2(x, x, 0x4e), 0xff00);
    x = stage_4(x, _mm512_shuffle_i64x2(x, x, 0xb1), 0xf0f0);
    x = stage_4(x, _mm512_shuffle_epi32(x, (_MM_PERM_ENUM)0x4e), 0xcccc);
    x = stage_4(x, _mm512_shuffle_epi32(x, (_MM_PERM_ENUM)0xb1), 0xaaaa);
    *i += (size_t)_mm_popcnt_u32(from_a);
    return _mm512_xor_si512(x, flip);
}

SCAN_INLINE vector next_8(const scan_merge_job *job, size_t *i, size_t out) {
    const __m512i flip = _mm512_set1_epi64((int64_t)job->order.flip);
    const __m512i reverse = _mm512_setr_epi64(7, 6, 5, 4, 3, 2, 1, 0);
    const __m512i a = _mm512_xor_si512(LOAD((const uint64_t *)job->a.keys + *i), flip);
    const __m512i b =
        _mm512_xor_si512(_mm512_permutexvar_epi64(reverse, LOAD((const uint64_t *)job->b.keys + (out - *i))), flip);
    const __mmask8 from_a = _mm512_cmple_epu64_mask(a, b);
    __m512i x = _mm512_min_epu64(a, b);
    x = stage_8(x, _mm512_shuffle_i64x2(x, x, 0x4e), 0xf0);
    x = stage_8(x, _mm512_shuffle_i64x2(x, x, 0xb1), 0xcc);
    x = stage_8(x, _mm512_shuffle_epi32(x, (_MM_PERM_ENUM)0x4e), 0xaa);
    *i += (size_t)_mm_popcnt_u32(from_a);
    return _mm512_xor_si512(x, flip);
}

#include "simd_share.h"

scan_merge_simd_kernels scan_merge_avx512 = {NULL, NULL, merge_4, merge_8};
#endif
