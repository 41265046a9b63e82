/* SPDX-License-Identifier: MIT
 *
 * Merges of integers of 4 and 8 bytes with AVX2. Equal integers are the same, so that it does not matter which comes
 * first.
 *
 * A step reads a vector of a and one of b. Of the first reversed b and a, lane by lane, the lesser ones are the least
 * of all (the half-cleaner of a bitonic network), and how many of them are a's says how far a and b move on. The next
 * step waits for nothing else: the rest of the network, which puts the vector in order, is done beside it.
 *
 * Source: Papaphilippou, Luk, Brooks, "FLiMS: a Fast Lightweight 2-way Merger for Sorting", 2022.
 */
#if defined(__AVX2__)
#include <immintrin.h>

#include "chains.h"

enum { WIDTH_4 = 8, WIDTH_8 = 4 };

typedef __m256i vector;

#define LOAD(at) _mm256_loadu_si256((const __m256i *)(at))

#define STORE(at, x) _mm256_store_si256(at, x)
#define STREAM(at, x) _mm256_stream_si256(at, x)

/* A stage of the network: the lesser of each pair goes to the lanes that `upper` does not name. */
#define STAGE_4(x, other, upper) _mm256_blend_epi32(_mm256_min_epu32(x, other), _mm256_max_epu32(x, other), upper)

SCAN_INLINE vector next_4(const scan_merge_job *job, size_t *i, size_t out) {
    const __m256i flip = _mm256_set1_epi32((int)(uint32_t)job->order.flip);
    const __m256i a = _mm256_xor_si256(LOAD((const uint32_t *)job->a.keys + *i), flip);
    const __m256i forward = LOAD((const uint32_t *)job->b.keys + (out - *i));
    const __m256i b =
        _mm256_xor_si256(_mm256_permutevar8x32_epi32(forward, _mm256_setr_epi32(7, 6, 5, 4, 3, 2, 1, 0)), flip);
    __m256i x = _mm256_min_epu32(a, b);
    const int from_a = _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(x, a)));
    x = STAGE_4(x, _mm256_permute2x128_si256(x, x, 1), 0xf0);
    x = STAGE_4(x, _mm256_shuffle_epi32(x, 0x4e), 0xcc);
    x = STAGE_4(x, _mm256_shuffle_epi32(x, 0xb1), 0xaa);
    *i += (size_t)_mm_popcnt_u32((unsigned)from_a);
    return _mm256_xor_si256(x, flip);
}

/* The same for signed codes of 8 bytes, for which there is no minimum. `upper` has those lanes set. */
SCAN_INLINE __m256i stage_8(__m256i x, __m256i other, __m256i upper) {
    const __m256i swap = _mm256_xor_si256(_mm256_cmpgt_epi64(x, other), upper);
    return _mm256_blendv_epi8(x, other, swap);
}

SCAN_INLINE vector next_8(const scan_merge_job *job, size_t *i, size_t out) {
    const __m256i flip = _mm256_set1_epi64x((int64_t)(job->order.flip ^ (uint64_t)INT64_MIN));
    const __m256i a = _mm256_xor_si256(LOAD((const uint64_t *)job->a.keys + *i), flip);
    const __m256i b =
        _mm256_xor_si256(_mm256_permute4x64_epi64(LOAD((const uint64_t *)job->b.keys + (out - *i)), 0x1b), flip);
    const __m256i from_b = _mm256_cmpgt_epi64(a, b);
    __m256i x = _mm256_blendv_epi8(a, b, from_b);
    x = stage_8(x, _mm256_permute4x64_epi64(x, 0x4e), _mm256_setr_epi64x(0, 0, -1, -1));
    x = stage_8(x, _mm256_shuffle_epi32(x, 0x4e), _mm256_setr_epi64x(0, -1, 0, -1));
    *i += WIDTH_8 - (size_t)_mm_popcnt_u32((unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(from_b)));
    return _mm256_xor_si256(x, flip);
}

#include "simd_share.h"

scan_merge_simd_kernels scan_merge_avx2 = {NULL, NULL, merge_4, merge_8};
#endif
