/* SPDX-License-Identifier: MIT
 *
 * Quicksort with AVX2: as quick_avx512.c, in vectors of half the size. AVX2 compares signed integers, so codes are
 * signed; and it has no compression, so a table says how lanes are permuted.
 */
#if defined(__x86_64__)
#include <float.h>
#include <immintrin.h>

#include "sort.h"

SCAN_INLINE size_t quick_count(uint32_t mask, unsigned lanes) {
    (void)lanes;
    return (size_t)__builtin_popcount(mask);
}

#define QUICK_PLACES 64
#define QUICK_KERNELS scan_cpu_sort_kernels_avx2
#include "quick.h"

/* Permutations of eight lanes that bring those of a mask to the front: lane numbers in half bytes, the first lane's
 * lowest. */
#define LANE(mask, i) ((mask) >> (i)&1 ? (i##u) << 4 * (unsigned)__builtin_popcount((mask) & ((1 << (i)) - 1)) : 0)
#define FRONT(mask)                                                                                                    \
    (LANE(mask, 0) | LANE(mask, 1) | LANE(mask, 2) | LANE(mask, 3) | LANE(mask, 4) | LANE(mask, 5) | LANE(mask, 6) |   \
     LANE(mask, 7))
#define FRONT_4(mask) FRONT(mask), FRONT((mask) + 1), FRONT((mask) + 2), FRONT((mask) + 3)
#define FRONT_16(mask) FRONT_4(mask), FRONT_4((mask) + 4), FRONT_4((mask) + 8), FRONT_4((mask) + 12)
#define FRONT_64(mask) FRONT_16(mask), FRONT_16((mask) + 16), FRONT_16((mask) + 32), FRONT_16((mask) + 48)
static const uint32_t fronts_32[256] = {FRONT_64(0), FRONT_64(64), FRONT_64(128), FRONT_64(192)};

/* The same of four lanes of 64 bits, as pairs of lanes of 32 bits. */
#define PAIRS(mask) FRONT(((mask)&1) * 3 + ((mask)&2) * 6 + ((mask)&4) * 12 + ((mask)&8) * 24)
static const uint32_t fronts_64[16] = {PAIRS(0),  PAIRS(1),  PAIRS(2),  PAIRS(3), PAIRS(4),  PAIRS(5),
                                       PAIRS(6),  PAIRS(7),  PAIRS(8),  PAIRS(9), PAIRS(10), PAIRS(11),
                                       PAIRS(12), PAIRS(13), PAIRS(14), PAIRS(15)};

/* A permutation uses the lowest three bits of each lane. */
SCAN_INLINE __m256i permute(__m256i v, uint32_t front) {
    const __m256i shifts = _mm256_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28);
    return _mm256_permutevar8x32_epi32(v, _mm256_srlv_epi32(_mm256_set1_epi32((int)front), shifts));
}

/* Vectors of the values of eight and of four keys, and those of a mask of keys brought to the front and stored. A whole
 * vector may be written. */
typedef __m256i vector_32_4, vector_64_8;
typedef __m128i vector_64_4;
typedef struct vector_32_8 {
    __m256i low, high;
} vector_32_8;

SCAN_INLINE __m256i load_32_4(const uint32_t *from) { return _mm256_loadu_si256((const __m256i *)(const void *)from); }
SCAN_INLINE __m256i load_64_8(const uint64_t *from) { return _mm256_loadu_si256((const __m256i *)(const void *)from); }
SCAN_INLINE __m128i load_64_4(const uint32_t *from) { return _mm_loadu_si128((const __m128i *)(const void *)from); }
SCAN_INLINE vector_32_8 load_32_8(const uint64_t *from) { return (vector_32_8){load_64_8(from), load_64_8(from + 4)}; }

SCAN_INLINE void store_some_32_4(uint32_t *to, __m256i v, uint32_t bits) {
    _mm256_storeu_si256((__m256i *)(void *)to, permute(v, fronts_32[bits & 0xff]));
}
SCAN_INLINE void store_some_64_8(uint64_t *to, __m256i v, uint32_t bits) {
    _mm256_storeu_si256((__m256i *)(void *)to, permute(v, fronts_64[bits & 0xf]));
}
SCAN_INLINE void store_some_64_4(uint32_t *to, __m128i v, uint32_t bits) {
    const __m128i lanes = _mm_srlv_epi32(_mm_set1_epi32((int)fronts_32[bits & 0xf]), _mm_setr_epi32(0, 4, 8, 12));
    _mm_storeu_si128((__m128i *)(void *)to, _mm_castps_si128(_mm_permutevar_ps(_mm_castsi128_ps(v), lanes)));
}
SCAN_INLINE void store_some_32_8(uint64_t *to, vector_32_8 v, uint32_t bits) {
    store_some_64_8(to, v.low, bits);
    store_some_64_8(to + quick_count(bits & 0xf, 4), v.high, bits >> 4);
}

#define LEAST_64 0x8000000000000000u
#define V_SET1_64(x) _mm256_set1_epi64x((long long)(x))
#define LEAST_32 0x80000000u
#define V_SET1_32(x) _mm256_set1_epi32((int)(x))
#define MAX_ROWS 16
#define V __m256i
#define V_LOAD(from) _mm256_loadu_si256((const __m256i *)(const void *)(from))
#define V_STORE(to, v) _mm256_storeu_si256((__m256i *)(void *)(to), v)
#define V_XOR _mm256_xor_si256
#define V_AND _mm256_and_si256
#define V_OR _mm256_or_si256

/* ---- 32 bits ----------------------------------------------------------------------------------------------------- */

SCAN_INLINE __m256i exchange_32(__m256i v, unsigned distance) {
    switch (distance) {
    case 1: return _mm256_shuffle_epi32(v, 0xb1);
    case 2: return _mm256_shuffle_epi32(v, 0x4e);
    case 3: return _mm256_shuffle_epi32(v, 0x1b);
    case 4: return _mm256_permute2x128_si256(v, v, 1);
    default: return _mm256_permutevar8x32_epi32(v, _mm256_setr_epi32(7, 6, 5, 4, 3, 2, 1, 0));
    }
}

/* Of b the lanes whose number has this bit, of a the others. */
SCAN_INLINE __m256i blend_32(__m256i a, __m256i b, unsigned bit) {
    switch (bit) {
    case 1: return _mm256_blend_epi32(a, b, 0xaa);
    case 2: return _mm256_blend_epi32(a, b, 0xcc);
    default: return _mm256_blend_epi32(a, b, 0xf0);
    }
}

SCAN_INLINE __m256i rotate_32(__m256i v, int lanes) {
    const __m256i numbers = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_permutevar8x32_epi32(v, _mm256_add_epi32(numbers, _mm256_set1_epi32(lanes)));
}

SCAN_INLINE __m256i interleave_32(__m256i a, __m256i b, bool high) {
    __m256i c = _mm256_unpacklo_epi32(a, b), d = _mm256_unpackhi_epi32(a, b);
    return high ? _mm256_permute2x128_si256(c, d, 0x31) : _mm256_permute2x128_si256(c, d, 0x20);
}

SCAN_INLINE __m256i below_32(__m256i count, unsigned r) {
    const __m256i numbers = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_cmpgt_epi32(count, _mm256_add_epi32(numbers, _mm256_set1_epi32((int)(8 * r))));
}

/* Lanes of b where `take` has its top bit, else of a. */
SCAN_INLINE __m256i select_32(__m256i a, __m256i b, __m256i take) {
    return _mm256_castps_si256(
        _mm256_blendv_ps(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b), _mm256_castsi256_ps(take)));
}

SCAN_INLINE __m256i mask_load_32(__m256i others, __m256i mask, const uint32_t *from) {
    return select_32(others, _mm256_maskload_epi32((const int *)from, mask), mask);
}

/* The lanes that a mask does not have. */
SCAN_INLINE uint32_t unset_32(__m256i mask) { return ~(uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(mask)) & 0xff; }

/* The slots of keys in a hash table, or QUICK_SLOTS. Returns which lanes differ from what their slots hold. */
SCAN_INLINE uint32_t look_up_32(__m256i keys, uint32_t multiplier, const uint32_t *table, uint16_t *slots) {
    const __m256i at =
        _mm256_srli_epi32(_mm256_mullo_epi32(keys, _mm256_set1_epi32((int)multiplier)), 32 - QUICK_SLOT_BITS);
    const __m256i same = _mm256_cmpeq_epi32(_mm256_i32gather_epi32((const int *)table, at, 4), keys);
    const __m256i found = select_32(_mm256_set1_epi32(QUICK_SLOTS), at, same);
    _mm_storeu_si128((__m128i *)(void *)slots,
                     _mm_packus_epi32(_mm256_castsi256_si128(found), _mm256_extracti128_si256(found, 1)));
    return unset_32(same);
}

#define KEY uint32_t
#define KEY_BITS 32
#define V_LOOK_UP look_up_32
#define LANES 8
#define INFINITY_BITS 0x7f800000u
#define V_BITS uint32_t
#define V_MASK __m256i
#define V_EXCHANGE exchange_32
#define V_INTERLEAVE_LOW(a, b) interleave_32(a, b, false)
#define V_INTERLEAVE_HIGH(a, b) interleave_32(a, b, true)
#define V_BELOW below_32
#define V_MASK_LOAD mask_load_32
#define V_MASK_STORE(to, mask, v) _mm256_maskstore_epi32((int *)(to), mask, v)
#define V_SET1(x) _mm256_set1_epi32((int)(x))
#define V_FIRST(v) ((uint32_t)_mm256_cvtsi256_si32(v))
#define V_ROTATE(v, lanes) rotate_32(v, lanes)
#define V_ADD _mm256_add_epi32
#define V_EQUAL _mm256_cmpeq_epi32
#define V_GREATER _mm256_cmpgt_epi32
#define V_NEGATIVE(v) (v)
#define V_SELECT(mask, a, b) select_32(b, a, mask)
#define V_TALLY _mm256_sub_epi32
#define V_MASK_OR _mm256_or_si256
#define V_UNSET unset_32
#define V_COMPRESS(v, bits) permute(v, fronts_32[(bits)&0xff])
#define FLOAT(name) name##_f32
#define V_FLOAT_MIN(a, b) _mm256_castps_si256(_mm256_min_ps(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b)))
#define V_FLOAT_MAX(a, b) _mm256_castps_si256(_mm256_max_ps(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b)))
#define V_FLOAT_MIN_MAX(a, b, bit) blend_32(V_FLOAT_MIN(a, b), V_FLOAT_MAX(a, b), bit)
#define V_FLOAT_MAX_MIN(a, b, bit) blend_32(V_FLOAT_MAX(a, b), V_FLOAT_MIN(a, b), bit)
#define V_FLOAT_LOWS(v, pivot)                                                                                         \
    ((uint32_t)_mm256_movemask_ps(_mm256_cmp_ps(_mm256_castsi256_ps(v), _mm256_castsi256_ps(pivot), _CMP_LE_OQ)))
#include "quick_numbers.h"
#define NAME(name) name##_32
#define LEAST 0x80000000u
#define MOST 0x7fffffffu
#define V_MIN _mm256_min_epi32
#define V_MAX _mm256_max_epi32
#define V_MIN_MAX(a, b, bit) blend_32(V_MIN(a, b), V_MAX(a, b), bit)
#define V_MAX_MIN(a, b, bit) blend_32(V_MAX(a, b), V_MIN(a, b), bit)
#define V_LOWS(v, pivot) unset_32(_mm256_cmpgt_epi32(v, pivot))
#define RANK(code) ((KEY)((code) ^ LEAST))
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

/* ---- 64 bits ----------------------------------------------------------------------------------------------------- */

SCAN_INLINE __m256i exchange_64(__m256i v, unsigned distance) {
    switch (distance) {
    case 1: return _mm256_shuffle_epi32(v, 0x4e);
    case 2: return _mm256_permute4x64_epi64(v, 0x4e);
    default: return _mm256_permute4x64_epi64(v, 0x1b);
    }
}

/* Lanes of b where `take` has its top bit, else of a. */
SCAN_INLINE __m256i select_64(__m256i a, __m256i b, __m256i take) {
    return _mm256_castpd_si256(
        _mm256_blendv_pd(_mm256_castsi256_pd(a), _mm256_castsi256_pd(b), _mm256_castsi256_pd(take)));
}

/* Of b the lanes whose number has this bit, of a the others. */
SCAN_INLINE __m256i blend_64(__m256i a, __m256i b, unsigned bit) {
    return bit == 1 ? _mm256_blend_epi32(a, b, 0xcc) : _mm256_blend_epi32(a, b, 0xf0);
}

/* The smaller codes, but the larger ones in the lanes whose number has this bit; or the other way round. */
SCAN_INLINE __m256i min_max_64(__m256i a, __m256i b, unsigned bit, bool max_first) {
    const __m256i far = bit == 1 ? _mm256_setr_epi64x(0, -1, 0, -1) : _mm256_setr_epi64x(0, 0, -1, -1);
    __m256i is_far = _mm256_xor_si256(_mm256_cmpgt_epi64(a, b), far);
    return max_first ? select_64(b, a, is_far) : select_64(a, b, is_far);
}

SCAN_INLINE __m256i rotate_64(__m256i v, unsigned lanes) {
    switch (lanes % 4) {
    case 1: return _mm256_permute4x64_epi64(v, 0x39);
    case 2: return _mm256_permute4x64_epi64(v, 0x4e);
    default: return _mm256_permute4x64_epi64(v, 0x93);
    }
}

SCAN_INLINE __m256i interleave_64(__m256i a, __m256i b, bool high) {
    __m256i c = _mm256_unpacklo_epi64(a, b), d = _mm256_unpackhi_epi64(a, b);
    return high ? _mm256_permute2x128_si256(c, d, 0x31) : _mm256_permute2x128_si256(c, d, 0x20);
}

SCAN_INLINE __m256i below_64(__m256i count, unsigned r) {
    const __m256i numbers = _mm256_setr_epi64x(0, 1, 2, 3);
    return _mm256_cmpgt_epi64(count, _mm256_add_epi64(numbers, _mm256_set1_epi64x(4 * (long long)r)));
}

SCAN_INLINE __m256i mask_load_64(__m256i others, __m256i mask, const uint64_t *from) {
    return select_64(others, _mm256_maskload_epi64((const long long *)(const void *)from, mask), mask);
}

SCAN_INLINE uint32_t unset_64(__m256i mask) { return ~(uint32_t)_mm256_movemask_pd(_mm256_castsi256_pd(mask)) & 0xf; }

SCAN_INLINE uint32_t look_up_64(__m256i keys, uint64_t multiplier, const uint64_t *table, uint16_t *slots) {
    uint64_t lanes[4];
    uint32_t differ = 0;
    V_STORE(lanes, keys);
    for (unsigned i = 0; i < 4; i++) {
        const uint64_t at = lanes[i] * multiplier >> (64 - QUICK_SLOT_BITS);
        const bool found = table[at] == lanes[i];
        slots[i] = (uint16_t)(found ? at : QUICK_SLOTS);
        differ |= (uint32_t)!found << i;
    }
    return differ;
}

#define KEY uint64_t
#define KEY_BITS 64
#define V_LOOK_UP look_up_64
#define LANES 4
#define INFINITY_BITS 0x7ff0000000000000u
#define V_BITS uint32_t
#define V_MASK __m256i
#define V_EXCHANGE exchange_64
#define V_INTERLEAVE_LOW(a, b) interleave_64(a, b, false)
#define V_INTERLEAVE_HIGH(a, b) interleave_64(a, b, true)
#define V_BELOW below_64
#define V_MASK_LOAD mask_load_64
#define V_MASK_STORE(to, mask, v) _mm256_maskstore_epi64((long long *)(void *)(to), mask, v)
#define V_SET1(x) _mm256_set1_epi64x((long long)(x))
#define V_FIRST(v) ((uint64_t)_mm_cvtsi128_si64(_mm256_castsi256_si128(v)))
#define V_ROTATE rotate_64
#define V_ADD _mm256_add_epi64
#define V_EQUAL _mm256_cmpeq_epi64
#define V_GREATER _mm256_cmpgt_epi64
#define V_NEGATIVE(v) (v)
#define V_SELECT(mask, a, b) select_64(b, a, mask)
#define V_TALLY _mm256_sub_epi64
#define V_MASK_OR _mm256_or_si256
#define V_UNSET unset_64
#define V_COMPRESS(v, bits) permute(v, fronts_64[(bits)&0xf])
#define FLOAT(name) name##_f64
#define V_FLOAT_MIN(a, b) _mm256_castpd_si256(_mm256_min_pd(_mm256_castsi256_pd(a), _mm256_castsi256_pd(b)))
#define V_FLOAT_MAX(a, b) _mm256_castpd_si256(_mm256_max_pd(_mm256_castsi256_pd(a), _mm256_castsi256_pd(b)))
#define V_FLOAT_MIN_MAX(a, b, bit) blend_64(V_FLOAT_MIN(a, b), V_FLOAT_MAX(a, b), bit)
#define V_FLOAT_MAX_MIN(a, b, bit) blend_64(V_FLOAT_MAX(a, b), V_FLOAT_MIN(a, b), bit)
#define V_FLOAT_LOWS(v, pivot)                                                                                         \
    ((uint32_t)_mm256_movemask_pd(_mm256_cmp_pd(_mm256_castsi256_pd(v), _mm256_castsi256_pd(pivot), _CMP_LE_OQ)))
#include "quick_numbers.h"
#define NAME(name) name##_64
#define LEAST 0x8000000000000000u
#define MOST 0x7fffffffffffffffu
#define V_MIN(a, b) select_64(a, b, _mm256_cmpgt_epi64(a, b))
#define V_MAX(a, b) select_64(b, a, _mm256_cmpgt_epi64(a, b))
#define V_MIN_MAX(a, b, bit) min_max_64(a, b, bit, false)
#define V_MAX_MIN(a, b, bit) min_max_64(a, b, bit, true)
#define V_LOWS(v, pivot) unset_64(_mm256_cmpgt_epi64(v, pivot))
#define RANK(code) ((KEY)((code) ^ LEAST))
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

scan_sort_quick_table scan_cpu_sort_quick_avx2 = {
    {NULL},
    {NULL},
    {quick_integers_32, quick_integers_32_4, quick_integers_32_8},
    {quick_integers_64, quick_integers_64_4, quick_integers_64_8},
    {quick_floats_32, quick_floats_32_4, quick_floats_32_8},
    {quick_floats_64, quick_floats_64_4, quick_floats_64_8},
};

scan_sort_split_table scan_cpu_sort_split_avx2 = {
    {NULL},
    {NULL},
    {split_pieces_integers_32, divide_pieces_integers_32_4, divide_pieces_integers_32_8},
    {split_pieces_integers_64, divide_pieces_integers_64_4, divide_pieces_integers_64_8},
    {split_pieces_floats_32, divide_pieces_floats_32_4, divide_pieces_floats_32_8},
    {split_pieces_floats_64, divide_pieces_floats_64_4, divide_pieces_floats_64_8},
};

scan_sort_halves_table scan_cpu_sort_halves_avx2 = QUICK_HALVES;
#endif
