/* SPDX-License-Identifier: MIT
 *
 * The order of float add and mul, as scan.h states it, written for reading: one loop per unit.
 *
 *     float_order_f32(x, n, mul, init, before)
 *
 * x: n elements in scan order, converted to the accumulator's type. init: NULL or one value. before: n + 1 values;
 * exclusive[i] is before[i] and inclusive[i] is before[i + 1]. (Exclusive without init shows +0 for a -0 at [0].)
 */
#ifndef TESTS_UNIT_FLOAT_ORDER_H
#define TESTS_UNIT_FLOAT_ORDER_H

#include <stddef.h>
#include <string.h>

#define FLOAT_ORDER(T, name)                                                                                           \
    static inline T float_order_op_##name(int mul, T a, T b) { return mul ? a * b : a + b; }                           \
                                                                                                                       \
    /* The last value of the Kogge-Stone scan of n <= 32 totals. */                                                    \
    static inline T float_order_fold_##name(int mul, const T *totals, int n) {                                         \
        T z[32];                                                                                                       \
        for (int l = 0; l < n; l++)                                                                                    \
            z[l] = totals[l];                                                                                          \
        for (int d = 1; d <= 16; d *= 2)                                                                               \
            for (int l = n - 1; l >= d; l--) /* from the last on, so that z[l - d] is still of the round before */     \
                z[l] = float_order_op_##name(mul, z[l - d], z[l]);                                                     \
        return z[n - 1];                                                                                               \
    }                                                                                                                  \
                                                                                                                       \
    static inline void float_order_##name(const T *x, size_t n, int mul, const T *init, T *before) {                   \
        const int E = 16 / (int)sizeof(T);                                                                             \
        T P = init ? *init : mul ? (T)1 : (T)-0.0;                                                                     \
        for (size_t i = 0;;) { /* a group */                                                                           \
            T tiles[32];                                                                                               \
            for (int t = 0; t < 32; t++) { /* a tile */                                                                \
                T chunks = 0;                                                                                          \
                T at_tile = t ? float_order_op_##name(mul, P, float_order_fold_##name(mul, tiles, t)) : P;             \
                for (int c = 0; c < 8; c++) { /* a chunk */                                                            \
                    T rows = 0;                                                                                        \
                    T at_chunk = c ? float_order_op_##name(mul, at_tile, chunks) : at_tile;                            \
                    for (int r = 0; r < 8; r++) { /* a row */                                                          \
                        T vectors[32];                                                                                 \
                        T at_row = r ? float_order_op_##name(mul, at_chunk, rows) : at_chunk;                          \
                        for (int v = 0; v < 32; v++) { /* a vector */                                                  \
                            T elements = 0;                                                                            \
                            T at_vector = at_row;                                                                      \
                            if (v)                                                                                     \
                                at_vector =                                                                            \
                                    float_order_op_##name(mul, at_row, float_order_fold_##name(mul, vectors, v));      \
                            for (int e = 0; e < E; e++, i++) {                                                         \
                                before[i] = e ? float_order_op_##name(mul, at_vector, elements) : at_vector;           \
                                if (i == n)                                                                            \
                                    return;                                                                            \
                                elements = e ? float_order_op_##name(mul, elements, x[i]) : x[i];                      \
                            }                                                                                          \
                            vectors[v] = elements;                                                                     \
                        }                                                                                              \
                        T row = float_order_fold_##name(mul, vectors, 32);                                             \
                        rows = r ? float_order_op_##name(mul, rows, row) : row;                                        \
                    }                                                                                                  \
                    chunks = c ? float_order_op_##name(mul, chunks, rows) : rows;                                      \
                }                                                                                                      \
                tiles[t] = chunks;                                                                                     \
            }                                                                                                          \
            P = float_order_op_##name(mul, P, float_order_fold_##name(mul, tiles, 32));                                \
        }                                                                                                              \
    }

FLOAT_ORDER(float, f32)
FLOAT_ORDER(double, f64)

#endif
