/* SPDX-License-Identifier: MIT
 *
 * Quicksort with AVX-512. Keys alone become unsigned codes that can be turned back, the codes are sorted by
 * quick_lanes.h, and turned back: equal codes are equal keys, so a sort that is not stable serves. Keys of 2 bytes have
 * this only: with values, radix passes are as quick.
 */
#if defined(__x86_64__)
#include <float.h>
#include <immintrin.h>

#include "sort.h"

/* How many bits of a mask of `lanes` bits are set. gcc 12 may spill an 8-bit mask register as one byte and then count
 * four bytes of the stack (it does under -fsanitize=thread): hidden from it, the upper bits are cleared once more. */
static inline size_t quick_count(uint32_t mask, unsigned lanes) {
    __asm__("" : "+r"(mask));
    return (size_t)__builtin_popcount(mask & (uint32_t)((1ull << lanes) - 1));
}

/* Of a table of 32 * halves elements, at most 128, 16 of them: registers are selected by the lower five bits of a
 * place, and pairs of them by the others. */
SCAN_INLINE __m512i gather_16(const __m512i *table, unsigned halves, __m512i places) {
    __m512i found[4];
#pragma GCC unroll 4
    for (unsigned h = 0; h < halves; h++)
        found[h] = _mm512_permutex2var_epi32(table[2 * h], places, table[2 * h + 1]);
    const __mmask16 in_odd = _mm512_test_epi32_mask(places, _mm512_set1_epi32(32));
    __m512i low = _mm512_mask_blend_epi32(in_odd, found[0], found[1]);
    if (halves <= 2)
        return low;
    return _mm512_mask_blend_epi32(_mm512_test_epi32_mask(places, _mm512_set1_epi32(64)), low,
                                   _mm512_mask_blend_epi32(in_odd, found[2], found[3]));
}

SCAN_INLINE void gather_by(const void *table, const uint32_t *places, size_t n, uint32_t *to, unsigned halves) {
    __m512i t[8];
#pragma GCC unroll 8
    for (unsigned r = 0; r < 2 * halves; r++)
        t[r] = _mm512_loadu_si512((const char *)table + 64 * r);
    for (size_t i = 0; i < n; i += 16) {
        const __m512i found = gather_16(t, halves, _mm512_loadu_si512(places + i));
        if (i + 16 <= n)
            _mm512_storeu_si512(to + i, found);
        else
            _mm512_mask_storeu_epi32(to + i, (__mmask16)((1u << (n - i)) - 1), found);
    }
}

/* As quick.h has it for other levels. */
#define QUICK_GATHER_4
#define QUICK_PLACES 128
static void quick_gather_4(const void *table, const uint32_t *places, size_t n, void *to) {
    if (n <= 64)
        gather_by(table, places, n, to, 2);
    else
        gather_by(table, places, n, to, 4);
}

#define QUICK_IN_PLACE /* many keys are partitioned where they are */
#define QUICK_KERNELS scan_cpu_sort_kernels_avx512
#include "quick.h"
#include "quick_avx512_vectors.h"

/* ---- 32 bits ----------------------------------------------------------------------------------------------------- */

#define LEAST_64 0
#define V_SET1_64(x) _mm512_set1_epi64((long long)(x))
#define LEAST_32 0
#define V_SET1_32(x) _mm512_set1_epi32((int)(x))
#define KEY uint32_t
#define KEY_BITS 32
#define LANES 16
#define INFINITY_BITS 0x7f800000u
#define V_LOOK_UP look_up_32
#define MAX_ROWS 16
#define V __m512i
#define V_LOAD _mm512_loadu_si512
#define V_STORE _mm512_storeu_si512
#define V_XOR _mm512_xor_si512
#define V_AND _mm512_and_si512
#define V_OR _mm512_or_si512
#define V_BITS __mmask16
#define V_MASK __mmask16
#define V_EXCHANGE exchange_32
#define V_INTERLEAVE_LOW(a, b)                                                                                         \
    _mm512_permutex2var_epi32(a, _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23), b)
#define V_INTERLEAVE_HIGH(a, b)                                                                                        \
    _mm512_permutex2var_epi32(a, _mm512_setr_epi32(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31), b)
/* Of `count` keys in registers, those in register r. */
#define V_BELOW(count, r)                                                                                              \
    _mm512_cmpgt_epi32_mask(count, _mm512_add_epi32(_mm512_set1_epi32(16 * (int)(r)), lane_numbers_32()))
#define V_MASK_LOAD _mm512_mask_loadu_epi32
#define V_MASK_STORE _mm512_mask_storeu_epi32
#define V_SET1(x) _mm512_set1_epi32((int)(x))
#define V_FIRST(v) ((uint32_t)_mm512_cvtsi512_si32(v))
#define V_ROTATE(v, lanes) _mm512_alignr_epi32(v, v, lanes)
#define V_ADD _mm512_add_epi32
#define V_EQUAL _mm512_cmpeq_epi32_mask
#define V_GREATER _mm512_cmpgt_epi32_mask
#define V_NEGATIVE _mm512_movepi32_mask
#define V_SELECT(mask, a, b) _mm512_mask_blend_epi32(mask, b, a)
#define V_TALLY(counts, mask) _mm512_mask_add_epi32(counts, mask, counts, V_SET1(1))
#define V_MASK_OR(a, b) ((__mmask16)((a) | (b)))
#define V_UNSET(mask) ((__mmask16) ~(mask))
#define V_COMPRESS(v, bits) _mm512_mask_compress_epi32(v, bits, v)
#define V_FRONT V_COMPRESS
#define V_BACK(v, low, count) to_back_32(_mm512_maskz_compress_epi32(_knot_mask16(low), v), count)
#define FLOAT(name) name##_f32
#define V_FLOAT_MIN(a, b) _mm512_castps_si512(_mm512_min_ps(_mm512_castsi512_ps(a), _mm512_castsi512_ps(b)))
#define V_FLOAT_MAX(a, b) _mm512_castps_si512(_mm512_max_ps(_mm512_castsi512_ps(a), _mm512_castsi512_ps(b)))
#define V_FLOAT_MIN_MAX(a, b, bit) min_max_f32(a, b, lanes_with_bit(bit))
#define V_FLOAT_MAX_MIN(a, b, bit) max_min_f32(a, b, lanes_with_bit(bit))
#define V_FLOAT_LOWS(v, pivot) _mm512_cmp_ps_mask(_mm512_castsi512_ps(v), _mm512_castsi512_ps(pivot), _CMP_LE_OQ)
#include "quick_numbers.h"
#define NAME(name) name##_32
#define LEAST 0
#define MOST UINT32_MAX
#define V_MIN _mm512_min_epu32
#define V_MAX _mm512_max_epu32
#define V_MIN_MAX(a, b, bit) _mm512_mask_max_epu32(V_MIN(a, b), lanes_with_bit(bit), a, b)
#define V_MAX_MIN(a, b, bit) _mm512_mask_min_epu32(V_MAX(a, b), lanes_with_bit(bit), a, b)
#define V_LOWS _mm512_cmple_epu32_mask
#define RANK(code) (code)
#define BEFORE(code) ((KEY)((code)-1))
#include "quick_lanes.h"
#include "quick_split.h"
#include "quick_keys.h"
#include "quick_floats.h"
#define VALUE uint32_t
#define PAIR(name) name##_32_4
#include "quick_pairs.h"
#define VALUE uint64_t
#define PAIR(name) name##_32_8
#include "quick_pairs.h"
#include "quick_end.h"

/* ---- 16 bits, keys alone ----------------------------------------------------------------------------------------- */

#define KEY uint16_t
#define LANES 32
#define NAME(name) name##_16
#define LEAST 0
#define MOST UINT16_MAX
#define V_BITS __mmask32
#define V_MASK __mmask32
#define V_MIN _mm512_min_epu16
#define V_MAX _mm512_max_epu16
#define V_MIN_MAX(a, b, bit) _mm512_mask_max_epu16(V_MIN(a, b), lanes_with_bit_16(bit), a, b)
#define V_MAX_MIN(a, b, bit) _mm512_mask_min_epu16(V_MAX(a, b), lanes_with_bit_16(bit), a, b)
#define V_EXCHANGE exchange_16
#define V_INTERLEAVE_LOW(a, b) interleave_16(a, b, 0)
#define V_INTERLEAVE_HIGH(a, b) interleave_16(a, b, 16)
#define V_BELOW(count, r)                                                                                              \
    _mm512_cmpgt_epi16_mask(count, _mm512_add_epi16(_mm512_set1_epi16((short)(32 * (r))), lane_numbers_16()))
#define V_MASK_LOAD _mm512_mask_loadu_epi16
#define V_MASK_STORE _mm512_mask_storeu_epi16
#define V_SET1(x) _mm512_set1_epi16((short)(x))
#define V_FIRST(v) ((uint16_t)_mm512_cvtsi512_si32(v))
#define V_ROTATE(v, lanes) _mm512_permutexvar_epi16(_mm512_add_epi16(lane_numbers_16(), V_SET1(lanes)), v)
#define V_LOWS _mm512_cmple_epu16_mask
#define V_EQUAL _mm512_cmpeq_epi16_mask
#define V_TALLY(counts, mask) _mm512_mask_add_epi16(counts, mask, counts, V_SET1(1))
#define V_MASK_OR(a, b) ((__mmask32)((a) | (b)))
#define V_UNSET(mask) ((__mmask32) ~(mask))
#define V_COMPRESS(v, bits) _mm512_mask_compress_epi16(v, bits, v)
#define V_FRONT V_COMPRESS
#define V_BACK(v, low, count) to_back_16(_mm512_maskz_compress_epi16(_knot_mask32(low), v), count)
#define RANK(code) (code)
#define BEFORE(code) ((KEY)((code)-1))
#include "quick_lanes.h"
#include "quick_keys.h"
#include "quick_end.h"

/* ---- 64 bits ----------------------------------------------------------------------------------------------------- */

#define KEY uint64_t
#define KEY_BITS 64
#define LANES 8
#define INFINITY_BITS 0x7ff0000000000000u
#define V_LOOK_UP look_up_64
#define V_BITS __mmask8
#define V_MASK __mmask8
#define V_EXCHANGE exchange_64
#define V_INTERLEAVE_LOW(a, b) _mm512_permutex2var_epi64(a, _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11), b)
#define V_INTERLEAVE_HIGH(a, b) _mm512_permutex2var_epi64(a, _mm512_setr_epi64(4, 12, 5, 13, 6, 14, 7, 15), b)
#define V_BELOW(count, r)                                                                                              \
    _mm512_cmpgt_epi64_mask(count, _mm512_add_epi64(_mm512_set1_epi64(8 * (int)(r)), lane_numbers_64()))
#define V_MASK_LOAD _mm512_mask_loadu_epi64
#define V_MASK_STORE _mm512_mask_storeu_epi64
#define V_SET1(x) _mm512_set1_epi64((long long)(x))
#define V_FIRST(v) ((uint64_t)_mm_cvtsi128_si64(_mm512_castsi512_si128(v)))
#define V_ROTATE(v, lanes) _mm512_alignr_epi64(v, v, lanes)
#define V_ADD _mm512_add_epi64
#define V_EQUAL _mm512_cmpeq_epi64_mask
#define V_GREATER _mm512_cmpgt_epi64_mask
#define V_NEGATIVE _mm512_movepi64_mask
#define V_SELECT(mask, a, b) _mm512_mask_blend_epi64(mask, b, a)
#define V_TALLY(counts, mask) _mm512_mask_add_epi64(counts, mask, counts, V_SET1(1))
#define V_MASK_OR(a, b) ((__mmask8)((a) | (b)))
#define V_UNSET(mask) ((__mmask8) ~(mask))
#define V_COMPRESS(v, bits) _mm512_mask_compress_epi64(v, bits, v)
#define V_FRONT sides_of_64
#define V_BACK(v, low, count) sides_of_64(v, low)
#define FLOAT(name) name##_f64
#define V_FLOAT_MIN(a, b) _mm512_castpd_si512(_mm512_min_pd(_mm512_castsi512_pd(a), _mm512_castsi512_pd(b)))
#define V_FLOAT_MAX(a, b) _mm512_castpd_si512(_mm512_max_pd(_mm512_castsi512_pd(a), _mm512_castsi512_pd(b)))
#define V_FLOAT_MIN_MAX(a, b, bit) min_max_f64(a, b, (__mmask8)lanes_with_bit(bit))
#define V_FLOAT_MAX_MIN(a, b, bit) max_min_f64(a, b, (__mmask8)lanes_with_bit(bit))
#define V_FLOAT_LOWS(v, pivot) _mm512_cmp_pd_mask(_mm512_castsi512_pd(v), _mm512_castsi512_pd(pivot), _CMP_LE_OQ)
#include "quick_numbers.h"
#define NAME(name) name##_64
#define LEAST 0
#define MOST UINT64_MAX
#define V_MIN _mm512_min_epu64
#define V_MAX _mm512_max_epu64
#define V_MIN_MAX(a, b, bit) _mm512_mask_max_epu64(V_MIN(a, b), (__mmask8)lanes_with_bit(bit), a, b)
#define V_MAX_MIN(a, b, bit) _mm512_mask_min_epu64(V_MAX(a, b), (__mmask8)lanes_with_bit(bit), a, b)
#define V_LOWS _mm512_cmple_epu64_mask
#define RANK(code) (code)
#define BEFORE(code) ((KEY)((code)-1))
#include "quick_lanes.h"
#include "quick_split.h"
#include "quick_keys.h"
#include "quick_floats.h"
#define VALUE uint32_t
#define PAIR(name) name##_64_4
#include "quick_pairs.h"
#define VALUE uint64_t
#define PAIR(name) name##_64_8
#include "quick_pairs.h"
#include "quick_end.h"

/* ---- the table --------------------------------------------------------------------------------------------------- */

scan_sort_quick_table scan_cpu_sort_quick_avx512 = {
    {NULL},
    {quick_integers_16, NULL, NULL},
    {quick_integers_32, quick_integers_32_4, quick_integers_32_8},
    {quick_integers_64, quick_integers_64_4, quick_integers_64_8},
    {quick_floats_32, quick_floats_32_4, quick_floats_32_8},
    {quick_floats_64, quick_floats_64_4, quick_floats_64_8},
};

scan_sort_split_table scan_cpu_sort_split_avx512 = {
    {NULL},
    {NULL},
    {split_pieces_integers_32, divide_pieces_integers_32_4, divide_pieces_integers_32_8},
    {split_pieces_integers_64, divide_pieces_integers_64_4, divide_pieces_integers_64_8},
    {split_pieces_floats_32, divide_pieces_floats_32_4, divide_pieces_floats_32_8},
    {split_pieces_floats_64, divide_pieces_floats_64_4, divide_pieces_floats_64_8},
};

scan_sort_halves_table scan_cpu_sort_halves_avx512 = QUICK_HALVES;
#endif
