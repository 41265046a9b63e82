/* SPDX-License-Identifier: MIT
 *
 * Associative operators: all operators on integers, and on floats those that SCAN_OPS lists as COMPARED (min, max).
 * They work on one element at a time, with the types as arguments: every caller passes constants, so that each switch
 * is decided when compiling.
 *
 * Inside a kernel a value is a 64-bit "word": integers extended by their sign; floats as a key, the bits with all but
 * the sign inverted if negative, which as a signed integer orders -0 < +0. NaN becomes a key that wins: the smallest
 * NaN for min, the largest for max. Then float min is integer min.
 */
#ifndef SCAN_CPU_PREFIX_ASSOC_H
#define SCAN_CPU_PREFIX_ASSOC_H

#include <math.h>
#include <string.h>

#include "prefix.h"

#define SCAN_F32_NAN INT32_C(0x7fc00000)
#define SCAN_F64_NAN INT64_C(0x7ff8000000000000)
#define SCAN_F32_INFINITY INT32_C(0x7f800000)
#define SCAN_F64_INFINITY INT64_C(0x7ff0000000000000)

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

SCAN_INLINE size_t scan_assoc_size(scan_type type) {
    switch (type) {
#define ROW(ENUM, name, ctype, CLASS)                                                                                  \
    case SCAN_##ENUM: return sizeof(ctype);
        SCAN_TYPES(ROW)
#undef ROW
    case SCAN_TYPE_NONE: break;
    }
    return 1;
}

SCAN_INLINE bool scan_assoc_is_unsigned(scan_type type) {
    switch (type) {
#define ROW(ENUM, name, ctype, CLASS)                                                                                  \
    case SCAN_##ENUM: return SCAN_##CLASS == SCAN_UNSIGNED;
        SCAN_TYPES(ROW)
#undef ROW
    case SCAN_TYPE_NONE: break;
    }
    return false;
}

/* ---- words ------------------------------------------------------------------------------------------------------- */

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

/* Floats to keys, and back by the same map. */
SCAN_INLINE int32_t scan_f32_flip(int32_t bits) { return bits ^ ((bits >> 31) & INT32_MAX); }
SCAN_INLINE int64_t scan_f64_flip(int64_t bits) { return bits ^ ((bits >> 63) & INT64_MAX); }

SCAN_INLINE uint64_t scan_assoc_highest(scan_type type) {
    switch (type) {
    case SCAN_U8: return UINT8_MAX;
    case SCAN_I8: return INT8_MAX;
    case SCAN_U16: return UINT16_MAX;
    case SCAN_I16: return INT16_MAX;
    case SCAN_U32: return UINT32_MAX;
    case SCAN_I32: return INT32_MAX;
    case SCAN_U64: return UINT64_MAX;
    case SCAN_I64: return INT64_MAX;
    case SCAN_F32: return SCAN_F32_INFINITY;
    case SCAN_F64: return SCAN_F64_INFINITY;
    case SCAN_TYPE_NONE: break;
    }
    return 0;
}

SCAN_INLINE uint64_t scan_assoc_lowest(scan_type type) {
    return scan_assoc_is_unsigned(type) ? 0 : ~scan_assoc_highest(type);
}

SCAN_INLINE bool scan_assoc_less(scan_type type, uint64_t a, uint64_t b) {
    return scan_assoc_is_unsigned(type) ? a < b : (int64_t)a < (int64_t)b;
}

/* ---- the operators: a function and its identity for each row of SCAN_OPS ----------------------------------------- */

SCAN_INLINE uint64_t scan_assoc_add(scan_type type, uint64_t a, uint64_t b) { return scan_assoc_wrap(type, a + b); }
SCAN_INLINE uint64_t scan_assoc_add_identity(scan_type type) { return (void)type, 0; }

SCAN_INLINE uint64_t scan_assoc_mul(scan_type type, uint64_t a, uint64_t b) { return scan_assoc_wrap(type, a * b); }
SCAN_INLINE uint64_t scan_assoc_mul_identity(scan_type type) { return (void)type, 1; }

SCAN_INLINE uint64_t scan_assoc_min(scan_type type, uint64_t a, uint64_t b) {
    return scan_assoc_less(type, b, a) ? b : a;
}
SCAN_INLINE uint64_t scan_assoc_min_identity(scan_type type) { return scan_assoc_highest(type); }

SCAN_INLINE uint64_t scan_assoc_max(scan_type type, uint64_t a, uint64_t b) {
    return scan_assoc_less(type, a, b) ? b : a;
}
SCAN_INLINE uint64_t scan_assoc_max_identity(scan_type type) { return scan_assoc_lowest(type); }

SCAN_INLINE uint64_t scan_assoc_xor(scan_type type, uint64_t a, uint64_t b) { return (void)type, a ^ b; }
SCAN_INLINE uint64_t scan_assoc_xor_identity(scan_type type) { return (void)type, 0; }

SCAN_INLINE uint64_t scan_assoc_and(scan_type type, uint64_t a, uint64_t b) { return (void)type, a & b; }
SCAN_INLINE uint64_t scan_assoc_and_identity(scan_type type) { return scan_assoc_wrap(type, UINT64_MAX); }

SCAN_INLINE uint64_t scan_assoc_or(scan_type type, uint64_t a, uint64_t b) { return (void)type, a | b; }
SCAN_INLINE uint64_t scan_assoc_or_identity(scan_type type) { return (void)type, 0; }

SCAN_INLINE uint64_t scan_assoc_op(scan_type type, scan_op op, uint64_t a, uint64_t b) {
    switch (op) {
#define ROW(OP, op, ...)                                                                                               \
    case SCAN_##OP: return scan_assoc_##op(type, a, b);
        SCAN_OPS(ROW, )
#undef ROW
    }
    return a;
}

SCAN_INLINE uint64_t scan_assoc_identity(scan_type type, scan_op op) {
    switch (op) {
#define ROW(OP, op, ...)                                                                                               \
    case SCAN_##OP: return scan_assoc_##op##_identity(type);
        SCAN_OPS(ROW, )
#undef ROW
    }
    return 0;
}

/* ---- words from and to memory ------------------------------------------------------------------------------------ */

/* NaN: of the keys of the smallest and the largest NaN, the one that the operator picks. */
SCAN_INLINE uint64_t scan_f32_key(float x, scan_op op) {
    int32_t bits;
    memcpy(&bits, &x, sizeof bits);
    if (isnan(x))
        return scan_assoc_op(SCAN_F32, op, (uint64_t) ~(int64_t)SCAN_F32_NAN, SCAN_F32_NAN);
    return (uint64_t)(int64_t)scan_f32_flip(bits);
}

SCAN_INLINE uint64_t scan_f64_key(double x, scan_op op) {
    int64_t bits;
    memcpy(&bits, &x, sizeof bits);
    if (isnan(x))
        return scan_assoc_op(SCAN_F64, op, (uint64_t)~SCAN_F64_NAN, SCAN_F64_NAN);
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
