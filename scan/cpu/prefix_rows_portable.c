/* SPDX-License-Identifier: MIT
 *
 * Rows of float add and mul in plain C. A row is folded as a table of 32 vectors; every loop runs over vectors or over
 * the lanes of a Kogge-Stone step, none from element to element, so a compiler can use what vectors it has.
 */
#include <string.h>

#include "prefix.h"

#define SCAN_INLINE static inline __attribute__((always_inline))

enum { VECTORS = SCAN_CPU_ROW_VECTORS };

/* folds[j][v]: the fold of elements 0 ... j of vector v. z[v]: the scan over the vectors' totals. */
#define ROW_KERNEL(IN, in_name, T, name, OP, op, identity)                                                             \
    enum { E_##in_name##_##name##_##op = SCAN_CPU_VECTOR_BYTES / sizeof(T) };                                          \
                                                                                                                       \
    SCAN_INLINE void fold_##in_name##_##name##_##op(const IN *in, bool reverse,                                        \
                                                    T folds[E_##in_name##_##name##_##op][VECTORS], T z[VECTORS]) {     \
        enum { E = E_##in_name##_##name##_##op };                                                                      \
        for (int v = 0; v < VECTORS; v++) {                                                                            \
            T fold = identity;                                                                                         \
            for (int j = 0; j < E; j++) {                                                                              \
                int i = v * E + j;                                                                                     \
                fold = fold OP(T)(reverse ? in[-i] : in[i]);                                                           \
                folds[j][v] = fold;                                                                                    \
            }                                                                                                          \
        }                                                                                                              \
        memcpy(z, folds[E - 1], sizeof(T[VECTORS]));                                                                   \
        for (int d = 1; d < VECTORS; d *= 2) {                                                                         \
            T last[VECTORS];                                                                                           \
            memcpy(last, z, sizeof last);                                                                              \
            for (int v = d; v < VECTORS; v++)                                                                          \
                z[v] = last[v - d] OP last[v];                                                                         \
        }                                                                                                              \
    }                                                                                                                  \
                                                                                                                       \
    static void scan_##in_name##_##name##_##op(const scan_cpu_piece *piece, size_t first_row, void *memory) {          \
        enum { E = E_##in_name##_##name##_##op, ROW = E * VECTORS };                                                   \
        T *folds = memory;                                                                                             \
        const IN *in = piece->in;                                                                                      \
        T *out = piece->out;                                                                                           \
        bool reverse = piece->reverse;                                                                                 \
        ptrdiff_t step = reverse ? -ROW : ROW;                                                                         \
        T before = folds[0] OP folds[1] OP folds[2];                                                                   \
        for (size_t row = first_row; row < first_row + piece->n / ROW; row++, in += step, out += step) {               \
            T inside[E][VECTORS], z[VECTORS], values[ROW + 1];                                                         \
            fold_##in_name##_##name##_##op(in, reverse, inside, z);                                                    \
            folds[2] = folds[2] OP z[VECTORS - 1];                                                                     \
            if (row % SCAN_CPU_CHUNK_ROWS == SCAN_CPU_CHUNK_ROWS - 1) {                                                \
                folds[1] = folds[1] OP folds[2];                                                                       \
                folds[2] = identity;                                                                                   \
            }                                                                                                          \
            for (int v = 0; v < VECTORS; v++) {                                                                        \
                T before_vector = v ? before OP z[v - 1] : before;                                                     \
                values[v * E] = before_vector;                                                                         \
                for (int j = 1; j < E; j++)                                                                            \
                    values[v * E + j] = before_vector OP inside[j - 1][v];                                             \
            }                                                                                                          \
            values[ROW] = before = folds[0] OP folds[1] OP folds[2];                                                   \
            const T *from = values + !piece->exclusive;                                                                \
            for (int i = 0; i < ROW; i++)                                                                              \
                out[reverse ? -i : i] = from[i];                                                                       \
        }                                                                                                              \
    }                                                                                                                  \
                                                                                                                       \
    static void totals_##in_name##_##name##_##op(const scan_cpu_piece *piece, void *memory) {                          \
        enum { E = E_##in_name##_##name##_##op, ROW = E * VECTORS, TILE = ROW * SCAN_CPU_TILE_ROWS };                  \
        T *totals = memory;                                                                                            \
        const IN *in = piece->in;                                                                                      \
        ptrdiff_t step = piece->reverse ? -ROW : ROW;                                                                  \
        for (size_t tile = 0; tile < piece->n / TILE; tile++) {                                                        \
            T chunks = identity;                                                                                       \
            for (int c = 0; c < SCAN_CPU_TILE_CHUNKS; c++) {                                                           \
                T rows = identity;                                                                                     \
                for (int r = 0; r < SCAN_CPU_CHUNK_ROWS; r++, in += step) {                                            \
                    T inside[E][VECTORS], z[VECTORS];                                                                  \
                    fold_##in_name##_##name##_##op(in, piece->reverse, inside, z);                                     \
                    rows = rows OP z[VECTORS - 1];                                                                     \
                }                                                                                                      \
                chunks = chunks OP rows;                                                                               \
            }                                                                                                          \
            totals[tile] = chunks;                                                                                     \
        }                                                                                                              \
    }

ROW_KERNEL(float, f32, float, f32, +, add, -0.0F)
ROW_KERNEL(float, f32, float, f32, *, mul, 1.0F)
ROW_KERNEL(float, f32, double, f64, +, add, -0.0)
ROW_KERNEL(float, f32, double, f64, *, mul, 1.0)
ROW_KERNEL(double, f64, double, f64, +, add, -0.0)
ROW_KERNEL(double, f64, double, f64, *, mul, 1.0)

#define ENTRY(in_name, name, op)                                                                                       \
    { scan_##in_name##_##name##_##op, totals_##in_name##_##name##_##op }

scan_cpu_rows_table scan_cpu_rows_portable = {
    [SCAN_F32][SCAN_F32] = {[SCAN_ADD] = ENTRY(f32, f32, add), [SCAN_MUL] = ENTRY(f32, f32, mul)},
    [SCAN_F32][SCAN_F64] = {[SCAN_ADD] = ENTRY(f32, f64, add), [SCAN_MUL] = ENTRY(f32, f64, mul)},
    [SCAN_F64][SCAN_F64] = {[SCAN_ADD] = ENTRY(f64, f64, add), [SCAN_MUL] = ENTRY(f64, f64, mul)},
};
