/* SPDX-License-Identifier: MIT
 *
 * The one list of element types, the one list of operators and the one list of widening pairs. Whatever exists once for
 * each type or operator is generated from these rows: dispatch tables, names, tests, bench. What a new row lacks is a
 * compile error (tests/install/test_lists.py).
 */
#ifndef SCAN_LISTS_H
#define SCAN_LISTS_H

#include <stdbool.h>

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
 * In C++ the words xor, and, or are operators: use `name` behind # or beside ##, never alone. */
#define SCAN_OPS(X, ...)                                                                                               \
    X(ADD, add, ORDERED, __VA_ARGS__)                                                                                  \
    X(MUL, mul, ORDERED, __VA_ARGS__)                                                                                  \
    X(MIN, min, COMPARED, __VA_ARGS__)                                                                                 \
    X(MAX, max, COMPARED, __VA_ARGS__)                                                                                 \
    X(XOR, xor, NONE, __VA_ARGS__)                                                                                     \
    X(AND, and, NONE, __VA_ARGS__)                                                                                     \
    X(OR, or, NONE, __VA_ARGS__)

/* Accumulators other than the element type: X(enum, name, C type, wider enum, wider name, wider C type, class of both)
 */
#define SCAN_WIDENINGS(X)                                                                                              \
    X(U8, u8, uint8_t, U32, u32, uint32_t, UNSIGNED)                                                                   \
    X(U8, u8, uint8_t, U64, u64, uint64_t, UNSIGNED)                                                                   \
    X(I8, i8, int8_t, I64, i64, int64_t, SIGNED)                                                                       \
    X(U16, u16, uint16_t, U64, u64, uint64_t, UNSIGNED)                                                                \
    X(I16, i16, int16_t, I64, i64, int64_t, SIGNED)                                                                    \
    X(U32, u32, uint32_t, U64, u64, uint64_t, UNSIGNED)                                                                \
    X(I32, i32, int32_t, I64, i64, int64_t, SIGNED)                                                                    \
    X(F32, f32, float, F64, f64, double, FLOAT)

#define SCAN_COUNT_ROW(...) +1
enum { SCAN_TYPE_COUNT = 0 SCAN_TYPES(SCAN_COUNT_ROW), SCAN_OP_COUNT = 0 SCAN_OPS(SCAN_COUNT_ROW, ) };

/* The enums are dense and in the order of the lists, so that tables can be indexed by them. A member without a row is
 * found by the switches over the rows (-Werror=switch). */
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

/* scan_type_class(type) == wanted, inline: a predicate asks some hundred times, a sort's oracle at every comparison. */
static inline bool scan_has_class(scan_type type, scan_class wanted) {
    switch (type) {
#define ROW(ENUM, name, ctype, CLASS)                                                                                  \
    case SCAN_##ENUM: return SCAN_##CLASS == wanted;
        SCAN_TYPES(ROW)
#undef ROW
    case SCAN_TYPE_NONE: break;
    }
    return false;
}
static inline bool scan_is_float(scan_type type) { return scan_has_class(type, SCAN_FLOAT); }
static inline bool scan_is_signed(scan_type type) { return scan_has_class(type, SCAN_SIGNED); }

#endif
