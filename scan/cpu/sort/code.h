/* SPDX-License-Identifier: MIT
 *
 * Keys as unsigned codes whose order is the order asked for: then every sort is a sort of unsigned integers.
 *
 *   integers   flip the sign bit of signed types; flip all bits for descending order; keep the bits of the window only.
 *   floats     IEEE 754 orders as sign and magnitude: flip the sign bit of positive numbers, all bits of negative ones;
 *              flip all for descending. Then -0 takes the code of +0, and all NaNs one code at an end: no number has
 *              the code 0 or ~0, which belong to NaNs of either sign.
 *
 * Descending order is a flipped code, not a reversed sort, so ties keep their input order in both directions.
 */
#ifndef SCAN_CPU_SORT_CODE_H
#define SCAN_CPU_SORT_CODE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "../../scan.h"

#define SCAN_INLINE static inline __attribute__((always_inline))

typedef struct scan_sort_order {
    uint64_t flip; /* bits to invert */
    uint64_t mask; /* integers: the bits that decide */
    uint64_t nan;  /* floats: the code of NaN */
} scan_sort_order;

/* In plan.c. */
scan_sort_order scan_cpu_sort_order(const scan_sort_desc *desc);

/* What the generic routines are instantiated over; always compile-time constants. */
typedef struct scan_sort_kind {
    unsigned key_bytes; /* 1, 2, 4, 8 */
    bool is_float;
    unsigned value_bytes; /* 0, 4, 8 */
} scan_sort_kind;

/* Elements as they lie in the caller's arrays, whatever type of their size these have. */
typedef uint8_t scan_sort_u8;
typedef uint16_t __attribute__((may_alias)) scan_sort_u16;
typedef uint32_t __attribute__((may_alias)) scan_sort_u32;
typedef uint64_t __attribute__((may_alias)) scan_sort_u64;

/* Element i of an array of `bytes`-wide elements. */
SCAN_INLINE uint64_t scan_sort_load(const void *array, size_t i, unsigned bytes) {
    switch (bytes) {
    case 1: return ((const uint8_t *)array)[i];
    case 2: return ((const scan_sort_u16 *)array)[i];
    case 4: return ((const scan_sort_u32 *)array)[i];
    default: return ((const scan_sort_u64 *)array)[i];
    }
}

SCAN_INLINE void scan_sort_store(void *array, size_t i, uint64_t x, unsigned bytes) {
    switch (bytes) {
    case 1: ((uint8_t *)array)[i] = (uint8_t)x; return;
    case 2: ((scan_sort_u16 *)array)[i] = (uint16_t)x; return;
    case 4: ((scan_sort_u32 *)array)[i] = (uint32_t)x; return;
    default: ((scan_sort_u64 *)array)[i] = x; return;
    }
}

SCAN_INLINE uint64_t scan_sort_code(uint64_t key, scan_sort_order order, scan_sort_kind kind) {
    if (!kind.is_float)
        return (key ^ order.flip) & order.mask;
    if (kind.key_bytes == 4) {
        uint32_t x = (uint32_t)key, magnitude = x & 0x7fffffffu;
        uint32_t code = magnitude ? x ^ ((uint32_t)((int32_t)x >> 31) | 0x80000000u) : 0x80000000u;
        return magnitude > 0x7f800000u ? (uint32_t)order.nan : code ^ (uint32_t)order.flip;
    }
    uint64_t magnitude = key & 0x7fffffffffffffffu;
    uint64_t code = magnitude ? key ^ ((uint64_t)((int64_t)key >> 63) | 0x8000000000000000u) : 0x8000000000000000u;
    return magnitude > 0x7ff0000000000000u ? order.nan : code ^ order.flip;
}

/* The key that has this code, if all bits decide; of zeros and NaNs one of them. */
static inline uint64_t scan_sort_key_of(uint64_t code, scan_sort_order order, unsigned key_bytes, bool is_float) {
    const uint64_t sign = 1ull << (8 * key_bytes - 1), bits = code ^ order.flip;
    return !is_float ? bits : bits & sign ? bits ^ sign : ~bits & ((sign << 1) - 1);
}

/* Codes as signed integers of the same order, which SIMD levels compare: of a width that has room for a key. */
#define SIGNED_CODE(width)                                                                                             \
    SCAN_INLINE int##width##_t scan_sort_signed_code_##width(const void *keys, size_t i, scan_sort_order order,        \
                                                             scan_sort_kind kind) {                                    \
        const uint64_t code = scan_sort_code(scan_sort_load(keys, i, kind.key_bytes), order, kind);                    \
        return (int##width##_t)(uint##width##_t)((uint##width##_t)code ^ (uint##width##_t)INT##width##_MIN);           \
    }
SIGNED_CODE(8)
SIGNED_CODE(16)
SIGNED_CODE(32)
SIGNED_CODE(64)
#undef SIGNED_CODE

#endif
