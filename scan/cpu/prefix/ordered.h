/* SPDX-License-Identifier: MIT
 *
 * Float add and mul: the operators that SCAN_OPS lists as ORDERED, because the order of operations shows in the result.
 * The order itself is in order.c and in the kernels of rows_*; here are one operation and its identity.
 */
#ifndef SCAN_CPU_PREFIX_ORDERED_H
#define SCAN_CPU_PREFIX_ORDERED_H

#include "prefix.h"

#define SCAN_ADD_FLOATS(a, b) ((a) + (b))
#define SCAN_ADD_FLOAT_IDENTITY -0.0F
#define SCAN_MUL_FLOATS(a, b) ((a) * (b))
#define SCAN_MUL_FLOAT_IDENTITY 1.0F

/* SCAN_IF_##FLOATS(code): code for rows that are ORDERED, nothing for the others. */
#define SCAN_IF_ORDERED(...) __VA_ARGS__
#define SCAN_IF_COMPARED(...)
#define SCAN_IF_NONE(...)

/* scan_f32_op(op, a, b), scan_f32_identity(op) and the same for f64. op is ORDERED: no other has a kernel of rows. */
#define SCAN_ORDERED_OP(OP, op_, FLOATS, ...) SCAN_IF_##FLOATS(if (op == SCAN_##OP) return SCAN_##OP##_FLOATS(a, b);)
#define SCAN_ORDERED_IDENTITY(OP, op_, FLOATS, ...)                                                                    \
    SCAN_IF_##FLOATS(if (op == SCAN_##OP) return SCAN_##OP##_FLOAT_IDENTITY;)
#define SCAN_ORDERED_FUNCTIONS(T, name)                                                                                \
    SCAN_INLINE T scan_##name##_op(scan_op op, T a, T b) {                                                             \
        SCAN_OPS(SCAN_ORDERED_OP, )                                                                                    \
        __builtin_unreachable();                                                                                       \
    }                                                                                                                  \
    SCAN_INLINE T scan_##name##_identity(scan_op op) {                                                                 \
        SCAN_OPS(SCAN_ORDERED_IDENTITY, )                                                                              \
        __builtin_unreachable();                                                                                       \
    }

SCAN_ORDERED_FUNCTIONS(float, f32)
SCAN_ORDERED_FUNCTIONS(double, f64)

#endif
