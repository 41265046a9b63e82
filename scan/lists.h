/* SPDX-License-Identifier: MIT
 *
 * The one list of element types, the one list of operators and the one list of widening pairs. Everything that exists
 * once a type or once an operator is generated from these rows: dispatch tables, names, tests, bench.
 */
#ifndef SCAN_LISTS_H
#define SCAN_LISTS_H

#include "scan.h"

/* X(enum, name, C type, class), class of enum scan_class */
#define SCAN_TYPES(X)                                                                                                  \
    X(U8, u8, uint8_t, UNSIGNED)                                                                                       \
    X(I8, i8, int8_t, SIGNED)                                                                                          \
    X(U16, u16, uint16_t, UNSIGNED)                                                                                    \
    X(I16, i16, int16_t, SIGNED)                                                                                       \
    X(U32, u32, uint32_t, UNSIGNED)                                                                                    \
    X(I32, i32, int32_t, SIGNED)                                                                                       \
    X(U64, u64, uint64_t, UNSIGNED)                                                                                    \
    X(I64, i64, int64_t, SIGNED)                                                                                       \
    X(F32, f32, float, FLOAT)                                                                                          \
    X(F64, f64, double, FLOAT)

/* X(enum, name, floats, more ...); what follows X in the call is appended to each row. `floats` says what the operator
 * does with floats:
 *   ORDERED   the result depends on the order of operations, which scan.h fixes
 *   COMPARED  it compares, and so may work on keys that are ordered as the floats are
 *   NONE      it takes integers only
 * In C++ xor, and, or are operators themselves: a row uses `name` behind # or beside ##, never alone. */
#define SCAN_OPS(X, ...)                                                                                               \
    X(ADD, add, ORDERED, __VA_ARGS__)                                                                                  \
    X(MUL, mul, ORDERED, __VA_ARGS__)                                                                                  \
    X(MIN, min, COMPARED, __VA_ARGS__)                                                                                 \
    X(MAX, max, COMPARED, __VA_ARGS__)                                                                                 \
    X(XOR, xor, NONE, __VA_ARGS__)                                                                                     \
    X(AND, and, NONE, __VA_ARGS__)                                                                                     \
    X(OR, or, NONE, __VA_ARGS__)

/* X(enum, name, C type, wider enum, wider name, wider C type): accumulators other than the element type */
#define SCAN_WIDENINGS(X)                                                                                              \
    X(U8, u8, uint8_t, U32, u32, uint32_t)                                                                             \
    X(U8, u8, uint8_t, U64, u64, uint64_t)                                                                             \
    X(I8, i8, int8_t, I64, i64, int64_t)                                                                               \
    X(U16, u16, uint16_t, U64, u64, uint64_t)                                                                          \
    X(I16, i16, int16_t, I64, i64, int64_t)                                                                            \
    X(U32, u32, uint32_t, U64, u64, uint64_t)                                                                          \
    X(I32, i32, int32_t, I64, i64, int64_t)                                                                            \
    X(F32, f32, float, F64, f64, double)

#define SCAN_COUNT_ROW(...) +1
enum { SCAN_TYPE_COUNT = 0 SCAN_TYPES(SCAN_COUNT_ROW), SCAN_OP_COUNT = 0 SCAN_OPS(SCAN_COUNT_ROW, ) };

/* The enums are dense and in the order of the lists, so that tables can be indexed by them. */
enum {
    SCAN_TYPE_POSITION_NONE,
#define SCAN_POSITION(ENUM, ...) SCAN_TYPE_POSITION_##ENUM,
    SCAN_TYPES(SCAN_POSITION)
#undef SCAN_POSITION
};
enum {
#define SCAN_POSITION(ENUM, ...) SCAN_OP_POSITION_##ENUM,
    SCAN_OPS(SCAN_POSITION, )
#undef SCAN_POSITION
};
#ifdef __cplusplus
#define SCAN_ASSERT static_assert
#else
#define SCAN_ASSERT _Static_assert
#endif
#define SCAN_ASSERT_ROW(ENUM, name, ...)                                                                               \
    SCAN_ASSERT((int)SCAN_##ENUM == (int)SCAN_TYPE_POSITION_##ENUM, #name ": the list and enum scan_type disagree");
SCAN_TYPES(SCAN_ASSERT_ROW)
#undef SCAN_ASSERT_ROW
#define SCAN_ASSERT_ROW(ENUM, name, ...)                                                                               \
    SCAN_ASSERT((int)SCAN_##ENUM == (int)SCAN_OP_POSITION_##ENUM, #name ": the list and enum scan_op disagree");
SCAN_OPS(SCAN_ASSERT_ROW, )
#undef SCAN_ASSERT_ROW
SCAN_ASSERT((int)SCAN_TYPE_COUNT == (int)SCAN_F64, "enum scan_type has a member without a row in SCAN_TYPES");
SCAN_ASSERT((int)SCAN_OP_COUNT == (int)SCAN_OR + 1, "enum scan_op has a member without a row in SCAN_OPS");

#endif
