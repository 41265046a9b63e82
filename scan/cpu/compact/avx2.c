/* SPDX-License-Identifier: MIT
 *
 * Select kernels for AVX2, which has no compress instruction: eight bits of the mask pick a row of a table that lists
 * the lanes to take, and one shuffle takes them. The table holds bytes, 2 KiB in all, and is widened to the element
 * size of the shuffle. The last, partial word goes to the portable kernels.
 */
#if defined(__AVX2__)
#include <immintrin.h>
#include <string.h>

#include "select.h"

/* ---- tests ------------------------------------------------------------------------------------------------------- */

/* Whole words: vector j of a word gives `lanes` bits. The rest of n goes to the portable table's TAIL. */
#define FOR_WORDS(lanes, TEST, flip, TAIL)                                                                             \
    size_t whole = n - n % 64;                                                                                         \
    for (size_t at = 0; at < whole; at += 64) {                                                                        \
        uint64_t word = 0;                                                                                             \
        for (size_t first = 0; first < 64; first += (lanes)) {                                                         \
            size_t i = at + first;                                                                                     \
            word |= (uint64_t)(uint32_t)(TEST) << first;                                                               \
        }                                                                                                              \
        bits[at / 64] = word ^ (flip);                                                                                 \
    }                                                                                                                  \
    if (whole < n)                                                                                                     \
        TAIL;

#define LOAD(pointer) _mm256_loadu_si256((const __m256i *)(pointer))

/* One bit for each lane of an integer compare. */
static inline uint32_t lanes_8(__m256i v) { return (uint32_t)_mm256_movemask_epi8(v); }
static inline uint32_t lanes_16(__m256i v) {
    return (uint32_t)_mm_movemask_epi8(_mm_packs_epi16(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1)));
}
static inline uint32_t lanes_32(__m256i v) { return (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(v)); }
static inline uint32_t lanes_64(__m256i v) { return (uint32_t)_mm256_movemask_pd(_mm256_castsi256_pd(v)); }

/* Compares are signed: with the sign bit added to both sides they give x - lo > hi - lo, unsigned. */
#define INTEGER_KERNELS(width, set1, lanes, ctype, itype)                                                              \
    static void in_range_##width(const void *data, size_t n, uint64_t lo, uint64_t hi, uint64_t flip,                  \
                                 uint64_t *bits) {                                                                     \
        const ctype *x = data;                                                                                         \
        const uint64_t sign = 1ull << (width - 1);                                                                     \
        const __m256i min = set1((itype)(ctype)(lo ^ sign)), span = set1((itype)(ctype)((hi - lo) ^ sign));            \
        FOR_WORDS(                                                                                                     \
            lanes, lanes_##width(_mm256_cmpgt_epi##width(_mm256_sub_epi##width(LOAD(x + i), min), span)), ~flip,       \
            scan_select_portable.in_range[SCAN_LANE_##width](x + whole, n - whole, lo, hi, flip, bits + whole / 64))   \
    }                                                                                                                  \
    static void differs_##width(const void *data, size_t n, uint64_t *bits) {                                          \
        const ctype *x = data, *before = x - 1;                                                                        \
        FOR_WORDS(lanes, lanes_##width(_mm256_cmpeq_epi##width(LOAD(x + i), LOAD(before + i))), ~0ull,                 \
                  scan_select_portable.differs[SCAN_LANE_##width](x + whole, n - whole, bits + whole / 64))            \
    }

INTEGER_KERNELS(8, _mm256_set1_epi8, 32, uint8_t, char)
INTEGER_KERNELS(16, _mm256_set1_epi16, 16, uint16_t, short)
INTEGER_KERNELS(32, _mm256_set1_epi32, 8, uint32_t, int)
INTEGER_KERNELS(64, _mm256_set1_epi64x, 4, uint64_t, long long)

/* The compares are quiet, NaN is in no range; two NaN do not differ. */
#define FLOAT_KERNELS(name, LANE, suffix, lanes, ctype, bits_type, vector)                                             \
    static inline vector differ_##name(vector a, vector b) {                                                           \
        vector nan_a = _mm256_cmp_##suffix(a, a, _CMP_UNORD_Q), nan_b = _mm256_cmp_##suffix(b, b, _CMP_UNORD_Q);       \
        return _mm256_andnot_##suffix(_mm256_and_##suffix(nan_a, nan_b), _mm256_cmp_##suffix(a, b, _CMP_NEQ_UQ));      \
    }                                                                                                                  \
    static void in_range_##name(const void *data, size_t n, uint64_t lo, uint64_t hi, uint64_t flip, uint64_t *bits) { \
        const ctype *x = data;                                                                                         \
        const bits_type lo_bits = (bits_type)lo, hi_bits = (bits_type)hi;                                              \
        ctype lo_value, hi_value;                                                                                      \
        memcpy(&lo_value, &lo_bits, sizeof lo_value);                                                                  \
        memcpy(&hi_value, &hi_bits, sizeof hi_value);                                                                  \
        const vector min = _mm256_set1_##suffix(lo_value), max = _mm256_set1_##suffix(hi_value);                       \
        FOR_WORDS(lanes,                                                                                               \
                  _mm256_movemask_##suffix(                                                                            \
                      _mm256_and_##suffix(_mm256_cmp_##suffix(_mm256_loadu_##suffix(x + i), min, _CMP_GE_OQ),          \
                                          _mm256_cmp_##suffix(_mm256_loadu_##suffix(x + i), max, _CMP_LE_OQ))),        \
                  flip, scan_select_portable.in_range[LANE](x + whole, n - whole, lo, hi, flip, bits + whole / 64))    \
    }                                                                                                                  \
    static void differs_##name(const void *data, size_t n, uint64_t *bits) {                                           \
        const ctype *x = data, *before = x - 1;                                                                        \
        FOR_WORDS(                                                                                                     \
            lanes,                                                                                                     \
            _mm256_movemask_##suffix(differ_##name(_mm256_loadu_##suffix(x + i), _mm256_loadu_##suffix(before + i))),  \
            0, scan_select_portable.differs[LANE](x + whole, n - whole, bits + whole / 64))                            \
    }

FLOAT_KERNELS(f32, SCAN_LANE_F32, ps, 8, float, uint32_t, __m256)
FLOAT_KERNELS(f64, SCAN_LANE_F64, pd, 4, double, uint64_t, __m256d)

/* ---- compression ------------------------------------------------------------------------------------------------- */

/* Row m lists the set bits of m, ascending, one byte each: bit i is byte number (set bits below i). */
#define BIT(m, i) ((uint64_t)(m) >> (i)&1)
#define BELOW_1(m) BIT(m, 0)
#define BELOW_2(m) (BELOW_1(m) + BIT(m, 1))
#define BELOW_3(m) (BELOW_2(m) + BIT(m, 2))
#define BELOW_4(m) (BELOW_3(m) + BIT(m, 3))
#define BELOW_5(m) (BELOW_4(m) + BIT(m, 4))
#define BELOW_6(m) (BELOW_5(m) + BIT(m, 5))
#define BELOW_7(m) (BELOW_6(m) + BIT(m, 6))
#define AT(m, i) (BIT(m, i) * (i) << (8 * BELOW_##i(m)))
#define ROW(m) (AT(m, 1) | AT(m, 2) | AT(m, 3) | AT(m, 4) | AT(m, 5) | AT(m, 6) | AT(m, 7))
#define ROWS_4(m) ROW(m), ROW(m + 1), ROW(m + 2), ROW(m + 3)
#define ROWS_16(m) ROWS_4(m), ROWS_4(m + 4), ROWS_4(m + 8), ROWS_4(m + 12)
#define ROWS_64(m) ROWS_16(m), ROWS_16(m + 16), ROWS_16(m + 32), ROWS_16(m + 48)
static const uint64_t rows[256] = {ROWS_64(0), ROWS_64(64), ROWS_64(128), ROWS_64(192)};

/* The same for four lanes that are pairs of the shuffle's lanes. */
static const uint64_t pair_rows[16] = {ROW(0x00), ROW(0x03), ROW(0x0c), ROW(0x0f), ROW(0x30), ROW(0x33),
                                       ROW(0x3c), ROW(0x3f), ROW(0xc0), ROW(0xc3), ROW(0xcc), ROW(0xcf),
                                       ROW(0xf0), ROW(0xf3), ROW(0xfc), ROW(0xff)};

static inline __m128i vector_of(uint64_t row) { return _mm_cvtsi64_si128((long long)row); }

static inline size_t ones(uint64_t word) { return (size_t)__builtin_popcountll(word); }

/* PUT writes at out + kept the elements x[i] ... that the `lanes` bits of mask select. */
#define COMPRESS_WORDS(lanes, PUT, TAIL)                                                                               \
    size_t whole = n - n % 64, kept = 0;                                                                               \
    for (size_t at = 0; at < whole; at += 64) {                                                                        \
        uint64_t word = bits[at / 64] ^ flip;                                                                          \
        for (size_t first = 0; first < 64; first += (lanes)) {                                                         \
            size_t i = at + first;                                                                                     \
            uint64_t mask = word >> first & ((1u << (lanes)) - 1);                                                     \
            PUT;                                                                                                       \
            kept += ones(mask);                                                                                        \
        }                                                                                                              \
    }                                                                                                                  \
    return whole < n ? kept + TAIL : kept;

#define COMPRESS_KERNEL(width, log2_size, lanes, ctype)                                                                \
    static size_t compress_##width(const void *data, const uint64_t *bits, uint64_t flip, size_t n, void *to) {        \
        const ctype *x = data;                                                                                         \
        ctype *out = to;                                                                                               \
        COMPRESS_WORDS(                                                                                                \
            lanes, put_##width(out + kept, x + i, mask);                                                               \
            _mm_prefetch((const char *)(x + i + SCAN_SELECT_PIECE), _MM_HINT_T0),                                      \
            scan_select_portable.compress[log2_size](x + whole, bits + whole / 64, flip, n - whole, out + kept))       \
    }

static inline void put_8(uint8_t *out, const uint8_t *x, uint64_t mask) {
    _mm_storel_epi64((__m128i *)out, _mm_shuffle_epi8(_mm_loadl_epi64((const __m128i *)x), vector_of(rows[mask])));
}

static inline void put_16(uint16_t *out, const uint16_t *x, uint64_t mask) {
    __m128i lane = _mm_unpacklo_epi8(vector_of(rows[mask]), vector_of(rows[mask]));
    __m128i byte = _mm_add_epi8(_mm_add_epi8(lane, lane), _mm_set1_epi16(0x0100));
    _mm_storeu_si128((__m128i *)out, _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)x), byte));
}

static inline void put_32(uint32_t *out, const uint32_t *x, uint64_t mask) {
    _mm256_storeu_si256((__m256i *)out,
                        _mm256_permutevar8x32_epi32(LOAD(x), _mm256_cvtepu8_epi32(vector_of(rows[mask]))));
}

static inline void put_64(uint64_t *out, const uint64_t *x, uint64_t mask) {
    __m256i halves = _mm256_cvtepu8_epi32(vector_of(pair_rows[mask]));
    _mm256_storeu_si256((__m256i *)out, _mm256_permutevar8x32_epi32(LOAD(x), halves));
}

COMPRESS_KERNEL(8, 0, 8, uint8_t)
COMPRESS_KERNEL(16, 1, 8, uint16_t)
COMPRESS_KERNEL(32, 2, 8, uint32_t)
COMPRESS_KERNEL(64, 3, 4, uint64_t)

/* A widened row of the table holds positions. */
static size_t positions_u32(uint64_t base, const uint64_t *bits, size_t n, void *to) {
    uint32_t *out = to;
    const uint64_t flip = 0;
    COMPRESS_WORDS(
        8,
        _mm256_storeu_si256((__m256i *)(out + kept), _mm256_add_epi32(_mm256_set1_epi32((int)(uint32_t)(base + i)),
                                                                      _mm256_cvtepu8_epi32(vector_of(rows[mask])))),
        scan_select_portable.positions[0](base + whole, bits + whole / 64, n - whole, out + kept))
}

static inline void put_positions_u64(uint64_t *out, uint64_t base, uint64_t mask) {
    __m128i row = vector_of(rows[mask]);
    __m256i first = _mm256_set1_epi64x((long long)base);
    _mm256_storeu_si256((__m256i *)out, _mm256_add_epi64(first, _mm256_cvtepu8_epi64(row)));
    _mm256_storeu_si256((__m256i *)(out + 4), _mm256_add_epi64(first, _mm256_cvtepu8_epi64(_mm_srli_si128(row, 4))));
}

static size_t positions_u64(uint64_t base, const uint64_t *bits, size_t n, void *to) {
    uint64_t *out = to;
    const uint64_t flip = 0;
    COMPRESS_WORDS(8, put_positions_u64(out + kept, base + i, mask),
                   scan_select_portable.positions[1](base + whole, bits + whole / 64, n - whole, out + kept))
}

size_t scan_select_count_avx2(const uint64_t *bits, size_t n) {
    size_t kept = 0;
    for (size_t i = 0; i < n / 64; i++)
        kept += ones(bits[i]);
    return n % 64 ? kept + ones(bits[n / 64] << (64 - n % 64)) : kept;
}

/* Whole cache lines go past the caches; the fence orders them before later stores. Writes alone would leave the read
 * side of the memory idle, hence the prefetches. */
void scan_select_stream_avx2(void *to, const void *from, size_t bytes, scan_ahead *ahead) {
    enum { LINE = 64, LINES_AHEAD = 2 };
    char *out = to;
    const char *in = from, *next = ahead->next;
    size_t head = -(uintptr_t)out % LINE, at = head < bytes ? head : bytes;
    memcpy(out, in, at);
    for (; at + LINE <= bytes; at += LINE) {
        _mm256_stream_si256((__m256i *)(out + at), LOAD(in + at));
        _mm256_stream_si256((__m256i *)(out + at + LINE / 2), LOAD(in + at + LINE / 2));
        for (int i = 0; i < LINES_AHEAD && next < ahead->end; i++, next += LINE)
            _mm_prefetch(next, _MM_HINT_T0);
    }
    memcpy(out + at, in + at, bytes - at);
    ahead->next = next;
    _mm_sfence();
}

const scan_select_kernels scan_select_avx2 = {
    .in_range = {in_range_8, in_range_16, in_range_32, in_range_64, in_range_f32, in_range_f64},
    .differs = {differs_8, differs_16, differs_32, differs_64, differs_f32, differs_f64},
    .count = scan_select_count_avx2,
    .compress = {compress_8, compress_16, compress_32, compress_64},
    .positions = {positions_u32, positions_u64},
    .stream = scan_select_stream_avx2,
};
#endif
