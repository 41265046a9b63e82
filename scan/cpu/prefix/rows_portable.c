/* SPDX-License-Identifier: MIT
 *
 * Rows of float add and mul in plain C (the order: order.c). A row is a table of 32 vectors, and its loops run
 * over vectors or over the places of a Kogge-Stone step, not along a chain of additions, so that a compiler can use
 * what SIMD it has.
 */
#include <string.h>

#include "ordered.h"

enum { VECTORS = SCAN_CPU_ROW_VECTORS };

#define IN float
#define T float
#define OP(x) scan_f32_##x
#define NAME(x) f32_f32_##x
#include "rows_portable.inc"
#undef IN
#undef T
#undef OP
#undef NAME

#define IN float
#define T double
#define OP(x) scan_f64_##x
#define NAME(x) f32_f64_##x
#include "rows_portable.inc"
#undef IN
#undef T
#undef OP
#undef NAME

#define IN double
#define T double
#define OP(x) scan_f64_##x
#define NAME(x) f64_f64_##x
#include "rows_portable.inc"

#define KERNEL(IN, in, ENUM, name, OP, op)                                                                             \
    static void scan_##in##_##name##_##op(const scan_cpu_piece *piece, size_t first_row, void *folds) {                \
        in##_##name##_scan(SCAN_##OP, piece, first_row, folds);                                                        \
    }                                                                                                                  \
    static void totals_##in##_##name##_##op(const scan_cpu_piece *piece, void *totals) {                               \
        in##_##name##_totals(SCAN_##OP, piece, totals);                                                                \
    }
SCAN_CPU_ROWS_KERNELS

#undef KERNEL
#define KERNEL(IN, in, ENUM, name, OP, op)                                                                             \
    [SCAN_##IN][SCAN_##ENUM][SCAN_##OP] = {scan_##in##_##name##_##op, totals_##in##_##name##_##op},

scan_cpu_rows_table scan_cpu_rows_portable = {SCAN_CPU_ROWS_KERNELS};
