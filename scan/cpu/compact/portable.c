/* SPDX-License-Identifier: MIT
 *
 * Select kernels in plain C, also used for the tails of the AVX2 ones. Tests write bytes that the compiler can
 * vectorize, bytes become bits, and compression stores every element but advances only after the selected ones.
 */
#include <string.h>

#include "select.h"

static inline size_t word_length(size_t n, size_t at) { return n - at < 64 ? n - at : 64; }

/* Byte j of t, 0 or 1, to bit j: the product brings the eight bytes of a word together in its top byte. */
static inline uint64_t bits_of_bytes(const uint8_t t[64]) {
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    const uint64_t gather = 0x0102040810204080u;
#else
    const uint64_t gather = 0x8040201008040201u;
#endif
    uint64_t bits = 0;
    for (int j = 0; j < 64; j += 8) {
        uint64_t eight;
        memcpy(&eight, t + j, sizeof eight);
        bits |= (eight * gather >> 56) << j;
    }
    return bits;
}

/* `test` over element number i. */
#define FILL_BITS(test)                                                                                                \
    for (size_t at = 0; at < n; at += 64) {                                                                            \
        uint8_t t[64] = {0};                                                                                           \
        size_t m = word_length(n, at);                                                                                 \
        if (m == 64)                                                                                                   \
            for (size_t j = 0; j < 64; j++) {                                                                          \
                size_t i = at + j;                                                                                     \
                t[j] = (uint8_t)(test);                                                                                \
            }                                                                                                          \
        else                                                                                                           \
            for (size_t j = 0; j < m; j++) {                                                                           \
                size_t i = at + j;                                                                                     \
                t[j] = (uint8_t)(test);                                                                                \
            }                                                                                                          \
        bits[at / 64] = bits_of_bytes(t) ^ flip;                                                                       \
    }

/* Stores `value` of every i, and advances where bit i is set. Inner loops of fixed length are unrolled. */
#define COMPRESS(ctype, value)                                                                                         \
    ctype *out = to;                                                                                                   \
    size_t kept = 0;                                                                                                   \
    for (size_t at = 0; at < n; at += 64) {                                                                            \
        uint64_t word = bits[at / 64] ^ flip;                                                                          \
        size_t end = at + word_length(n, at), first = at;                                                              \
        for (; first + 8 <= end; first += 8, word >>= 8)                                                               \
            for (size_t j = 0; j < 8; j++) {                                                                           \
                size_t i = first + j;                                                                                  \
                out[kept] = (value);                                                                                   \
                kept += word >> j & 1;                                                                                 \
            }                                                                                                          \
        for (size_t i = first; i < end; i++, word >>= 1) {                                                             \
            out[kept] = (value);                                                                                       \
            kept += word & 1;                                                                                          \
        }                                                                                                              \
    }                                                                                                                  \
    return kept;

#define INTEGER_KERNELS(name, ctype)                                                                                   \
    static void in_range_##name(const void *data, size_t n, uint64_t lo, uint64_t hi, uint64_t flip, uint64_t *bits) { \
        const ctype *x = data;                                                                                         \
        const ctype min = (ctype)lo, span = (ctype)(hi - lo);                                                          \
        FILL_BITS((ctype)(x[i] - min) <= span)                                                                         \
    }                                                                                                                  \
    static void differs_##name(const void *data, size_t n, uint64_t *bits) {                                           \
        const ctype *x = data, *before = x - 1;                                                                        \
        const uint64_t flip = 0;                                                                                       \
        FILL_BITS(x[i] != before[i])                                                                                   \
    }                                                                                                                  \
    static size_t compress_##name(const void *data, const uint64_t *bits, uint64_t flip, size_t n, void *to) {         \
        const ctype *x = data;                                                                                         \
        COMPRESS(ctype, x[i])                                                                                          \
    }

INTEGER_KERNELS(8, uint8_t)
INTEGER_KERNELS(16, uint16_t)
INTEGER_KERNELS(32, uint32_t)
INTEGER_KERNELS(64, uint64_t)

/* NaN is in no range: comparisons with it are false. Two NaN do not differ. */
#define FLOAT_KERNELS(name, ctype, bits_type)                                                                          \
    static void in_range_##name(const void *data, size_t n, uint64_t lo, uint64_t hi, uint64_t flip, uint64_t *bits) { \
        const ctype *x = data;                                                                                         \
        const bits_type lo_bits = (bits_type)lo, hi_bits = (bits_type)hi;                                              \
        ctype min, max;                                                                                                \
        memcpy(&min, &lo_bits, sizeof min);                                                                            \
        memcpy(&max, &hi_bits, sizeof max);                                                                            \
        FILL_BITS((x[i] >= min) & (x[i] <= max))                                                                       \
    }                                                                                                                  \
    static void differs_##name(const void *data, size_t n, uint64_t *bits) {                                           \
        const ctype *x = data, *before = x - 1;                                                                        \
        const uint64_t flip = 0;                                                                                       \
        FILL_BITS((x[i] != before[i]) & ((x[i] == x[i]) | (before[i] == before[i])))                                   \
    }

FLOAT_KERNELS(f32, float, uint32_t)
FLOAT_KERNELS(f64, double, uint64_t)

#define POSITION_KERNEL(name, ctype)                                                                                   \
    static size_t positions_##name(uint64_t base, const uint64_t *bits, size_t n, void *to) {                          \
        const uint64_t flip = 0;                                                                                       \
        COMPRESS(ctype, (ctype)(base + i))                                                                             \
    }

POSITION_KERNEL(u32, uint32_t)
POSITION_KERNEL(u64, uint64_t)

static inline size_t ones(uint64_t word) {
    word -= word >> 1 & 0x5555555555555555u;
    word = (word & 0x3333333333333333u) + (word >> 2 & 0x3333333333333333u);
    word = (word + (word >> 4)) & 0x0f0f0f0f0f0f0f0fu;
    return word * 0x0101010101010101u >> 56;
}

static size_t count(const uint64_t *bits, size_t n) {
    size_t kept = 0;
    for (size_t i = 0; i < n / 64; i++)
        kept += ones(bits[i]);
    return n % 64 ? kept + ones(bits[n / 64] << (64 - n % 64)) : kept;
}

static void stream(void *to, const void *from, size_t bytes, scan_ahead *ahead) {
    (void)ahead;
    memcpy(to, from, bytes);
}

const scan_select_kernels scan_select_portable = {
    .in_range = {in_range_8, in_range_16, in_range_32, in_range_64, in_range_f32, in_range_f64},
    .differs = {differs_8, differs_16, differs_32, differs_64, differs_f32, differs_f64},
    .count = count,
    .compress = {compress_8, compress_16, compress_32, compress_64},
    .positions = {positions_u32, positions_u64},
    .stream = stream,
};
