/* SPDX-License-Identifier: MIT
 *
 * Integer add and mul, and min and max of any type: operators whose order of operations cannot be seen. One element at
 * a time, with the types as arguments: every caller passes constants, so that each switch is decided when compiling.
 *
 * Inside a kernel a value is a 64-bit "word": integers extended by their sign; floats, which are here for min and max
 * only, as a key: the bits with all but the sign inverted if negative, which as a signed integer orders -0 < +0. NaN
 * becomes a key that wins: the smallest NaN for min, the largest for max. Then float min is integer min.
 */
#ifndef SCAN_CPU_PREFIX_ASSOC_H
#define SCAN_CPU_PREFIX_ASSOC_H

#include <math.h>
#include <string.h>

#include "prefix.h"

#define SCAN_INLINE static inline __attribute__((always_inline))

#define SCAN_F32_NAN INT32_C(0x7fc00000)
#define SCAN_F64_NAN INT64_C(0x7ff8000000000000)

/* Arrays are read and written as their own type, a fold by whoever has it. */
typedef uint8_t __attribute__((may_alias)) scan_alias_u8;
typedef int8_t __attribute__((may_alias)) scan_alias_i8;
typedef uint16_t __attribute__((may_alias)) scan_alias_u16;
typedef int16_t __attribute__((may_alias)) scan_alias_i16;
typedef uint32_t __attribute__((may_alias)) scan_alias_u32;
typedef int32_t __attribute__((may_alias)) scan_alias_i32;
typedef uint64_t __attribute__((may_alias)) scan_alias_u64;
typedef int64_t __attribute__((may_alias)) scan_alias_i64;
typedef float __attribute__((may_alias)) scan_alias_f32;
typedef double __attribute__((may_alias)) scan_alias_f64;

/* The same map there and back. */
SCAN_INLINE int32_t scan_f32_flip(int32_t bits) { return bits ^ ((bits >> 31) & INT32_MAX); }
SCAN_INLINE int64_t scan_f64_flip(int64_t bits) { return bits ^ ((bits >> 63) & INT64_MAX); }

SCAN_INLINE uint64_t scan_f32_key(float x, scan_op op) {
    int32_t bits;
    memcpy(&bits, &x, sizeof bits);
    if (isnan(x))
        bits = op == SCAN_MIN ? INT32_MIN | SCAN_F32_NAN : SCAN_F32_NAN;
    return (uint64_t)(int64_t)scan_f32_flip(bits);
}

SCAN_INLINE uint64_t scan_f64_key(double x, scan_op op) {
    int64_t bits;
    memcpy(&bits, &x, sizeof bits);
    if (isnan(x))
        bits = op == SCAN_MIN ? INT64_MIN | SCAN_F64_NAN : SCAN_F64_NAN;
    return (uint64_t)scan_f64_flip(bits);
}

SCAN_INLINE uint64_t scan_assoc_load(scan_type in_type, scan_type type, scan_op op, const void *at) {
    switch (in_type) {
    case SCAN_U8: return *(const scan_alias_u8 *)at;
    case SCAN_I8: return (uint64_t) * (const scan_alias_i8 *)at;
    case SCAN_U16: return *(const scan_alias_u16 *)at;
    case SCAN_I16: return (uint64_t) * (const scan_alias_i16 *)at;
    case SCAN_U32: return *(const scan_alias_u32 *)at;
    case SCAN_I32: return (uint64_t) * (const scan_alias_i32 *)at;
    case SCAN_U64: return *(const scan_alias_u64 *)at;
    case SCAN_I64: return (uint64_t) * (const scan_alias_i64 *)at;
    case SCAN_F32:
        return type == SCAN_F64 ? scan_f64_key(*(const scan_alias_f32 *)at, op)
                                : scan_f32_key(*(const scan_alias_f32 *)at, op);
    case SCAN_F64: return scan_f64_key(*(const scan_alias_f64 *)at, op);
    case SCAN_TYPE_NONE: break;
    }
    return 0;
}

SCAN_INLINE void scan_assoc_store(scan_type type, void *at, uint64_t word) {
    switch (type) {
    case SCAN_U8:
    case SCAN_I8: *(scan_alias_u8 *)at = (uint8_t)word; break;
    case SCAN_U16:
    case SCAN_I16: *(scan_alias_u16 *)at = (uint16_t)word; break;
    case SCAN_U32:
    case SCAN_I32: *(scan_alias_u32 *)at = (uint32_t)word; break;
    case SCAN_U64:
    case SCAN_I64: *(scan_alias_u64 *)at = word; break;
    case SCAN_F32: {
        int32_t bits = scan_f32_flip((int32_t)word);
        bits = bits == (INT32_MIN | SCAN_F32_NAN) ? SCAN_F32_NAN : bits;
        memcpy(at, &bits, sizeof bits);
        break;
    }
    case SCAN_F64: {
        int64_t bits = scan_f64_flip((int64_t)word);
        bits = bits == (INT64_MIN | SCAN_F64_NAN) ? SCAN_F64_NAN : bits;
        memcpy(at, &bits, sizeof bits);
        break;
    }
    case SCAN_TYPE_NONE: break;
    }
}

/* A word cut to its type and extended again. */
SCAN_INLINE uint64_t scan_assoc_wrap(scan_type type, uint64_t word) {
    switch (type) {
    case SCAN_U8: return (uint8_t)word;
    case SCAN_I8: return (uint64_t)(int8_t)word;
    case SCAN_U16: return (uint16_t)word;
    case SCAN_I16: return (uint64_t)(int16_t)word;
    case SCAN_U32: return (uint32_t)word;
    case SCAN_I32:
    case SCAN_F32: return (uint64_t)(int32_t)word;
    case SCAN_U64:
    case SCAN_I64:
    case SCAN_F64:
    case SCAN_TYPE_NONE: break;
    }
    return word;
}

SCAN_INLINE bool scan_assoc_less(scan_type type, uint64_t a, uint64_t b) {
    bool is_unsigned = type == SCAN_U8 || type == SCAN_U16 || type == SCAN_U32 || type == SCAN_U64;
    return is_unsigned ? a < b : (int64_t)a < (int64_t)b;
}

SCAN_INLINE uint64_t scan_assoc_op(scan_type type, scan_op op, uint64_t a, uint64_t b) {
    switch (op) {
    case SCAN_ADD: return scan_assoc_wrap(type, a + b);
    case SCAN_MUL: return scan_assoc_wrap(type, a * b);
    case SCAN_MIN: return scan_assoc_less(type, b, a) ? b : a;
    case SCAN_MAX: return scan_assoc_less(type, a, b) ? b : a;
    case SCAN_XOR: return a ^ b;
    case SCAN_AND: return a & b;
    case SCAN_OR: return a | b;
    }
    return a;
}

/* The word that changes nothing. */
SCAN_INLINE uint64_t scan_assoc_identity(scan_type type, scan_op op) {
    if (op == SCAN_AND)
        return UINT64_MAX;
    if (op != SCAN_MIN && op != SCAN_MAX)
        return op == SCAN_MUL;
    bool min = op == SCAN_MIN;
    switch (type) {
    case SCAN_U8: return min ? UINT8_MAX : 0;
    case SCAN_I8: return (uint64_t)(min ? INT8_MAX : INT8_MIN);
    case SCAN_U16: return min ? UINT16_MAX : 0;
    case SCAN_I16: return (uint64_t)(min ? INT16_MAX : INT16_MIN);
    case SCAN_U32: return min ? UINT32_MAX : 0;
    case SCAN_I32: return (uint64_t)(min ? INT32_MAX : INT32_MIN);
    case SCAN_U64: return min ? UINT64_MAX : 0;
    case SCAN_I64: return (uint64_t)(min ? INT64_MAX : INT64_MIN);
    case SCAN_F32: return scan_f32_key(min ? INFINITY : -INFINITY, op);
    case SCAN_F64: return scan_f64_key(min ? (double)INFINITY : -(double)INFINITY, op);
    case SCAN_TYPE_NONE: break;
    }
    return 0;
}

SCAN_INLINE size_t scan_assoc_size(scan_type type) {
    switch (type) {
    case SCAN_U8:
    case SCAN_I8: return 1;
    case SCAN_U16:
    case SCAN_I16: return 2;
    case SCAN_U32:
    case SCAN_I32:
    case SCAN_F32: return 4;
    case SCAN_U64:
    case SCAN_I64:
    case SCAN_F64: return 8;
    case SCAN_TYPE_NONE: break;
    }
    return 1;
}

/* Elements [begin, end) of the piece: the fold of `fold` and all of them. */
SCAN_INLINE uint64_t scan_assoc_reduce_elements(scan_type in_type, scan_type type, scan_op op,
                                                const scan_cpu_piece *piece, size_t begin, size_t end, uint64_t fold) {
    ptrdiff_t step = (ptrdiff_t)scan_assoc_size(in_type) * (piece->reverse ? -1 : 1);
    const char *in = (const char *)piece->in + (ptrdiff_t)begin * step;
    for (size_t i = begin; i < end; i++, in += step)
        fold = scan_assoc_op(type, op, fold, scan_assoc_load(in_type, type, op, in));
    return fold;
}

SCAN_INLINE uint64_t scan_assoc_scan_elements(scan_type in_type, scan_type type, scan_op op,
                                              const scan_cpu_piece *piece, size_t begin, size_t end, uint64_t fold) {
    ptrdiff_t direction = piece->reverse ? -1 : 1;
    ptrdiff_t in_step = (ptrdiff_t)scan_assoc_size(in_type) * direction;
    ptrdiff_t out_step = (ptrdiff_t)scan_assoc_size(type) * direction;
    const char *in = (const char *)piece->in + (ptrdiff_t)begin * in_step;
    char *out = (char *)piece->out + (ptrdiff_t)begin * out_step;
    for (size_t i = begin; i < end; i++, in += in_step, out += out_step) {
        uint64_t before = fold;
        fold = scan_assoc_op(type, op, fold, scan_assoc_load(in_type, type, op, in));
        scan_assoc_store(type, out, piece->exclusive ? before : fold);
    }
    return fold;
}

#endif
