/* SPDX-License-Identifier: MIT
 *
 * What the compaction tests expect, element by element: exact comparison in 128-bit integers, predicates evaluated
 * term by term, selection by a plain loop.
 */
#ifndef TESTS_UNIT_COMPACT_ORACLE_H
#define TESTS_UNIT_COMPACT_ORACLE_H

#include <math.h>

#include "support.h"

enum { UNORDERED = 2 };

static inline int order_of(__int128 a, __int128 b) { return (a > b) - (a < b); }

/* d = whole * 2^e, so i is compared with a whole number after both are scaled. */
static inline int order_integer_double(__int128 i, double d) {
    if (isnan(d))
        return UNORDERED;
    if (isinf(d))
        return d > 0 ? -1 : 1;
    int e;
    __int128 whole = (__int128)ldexp(frexp(d, &e), 53);
    e -= 53;
    if (e > 70)
        return d > 0 ? -1 : 1;
    if (e >= 0)
        return order_of(i, whole * ((__int128)1 << e));
    if (e < -60) /* |d| < 1 */
        return i ? order_of(i, 0) : order_of(0, whole);
    return order_of(i * ((__int128)1 << -e), whole);
}

/* Element i of an array as an integer, or as a double. */
static inline __int128 integer_at(scan_type type, const void *array, size_t i) {
    switch (type) {
#define ROW(ENUM, name, ctype, CLASS)                                                                                  \
    case SCAN_##ENUM: return (__int128)((const ctype *)array)[i];
        SCAN_TYPES(ROW)
#undef ROW
    case SCAN_TYPE_NONE: break;
    }
    abort();
}

static inline double double_at(scan_type type, const void *array, size_t i) {
    return type == SCAN_F32 ? (double)((const float *)array)[i] : ((const double *)array)[i];
}

/* -1, 0, 1 or UNORDERED: element i against the constant of a term. */
static inline int exact_order(scan_type type, const void *array, size_t i, const scan_term *term) {
    __int128 constant = term->constant_type == SCAN_U64 ? (__int128)term->constant.u : (__int128)term->constant.i;
    if (!type_is_float(type))
        return term->constant_type == SCAN_F64 ? order_integer_double(integer_at(type, array, i), term->constant.f)
                                               : order_of(integer_at(type, array, i), constant);
    double x = double_at(type, array, i);
    if (term->constant_type == SCAN_F64) {
        double c = term->constant.f;
        return isnan(x) || isnan(c) ? UNORDERED : (x > c) - (x < c);
    }
    int order = order_integer_double(constant, x);
    return order == UNORDERED ? UNORDERED : -order;
}

static inline bool leaf_holds(scan_type type, const void *array, size_t i, const scan_term *term) {
    if (term->op == SCAN_TERM_ISNAN)
        return type_is_float(type) && isnan(double_at(type, array, i));
    if (term->op == SCAN_TERM_ISFINITE)
        return !type_is_float(type) || isfinite(double_at(type, array, i));
    int order = exact_order(type, array, i, term);
    switch (term->op) {
    case SCAN_TERM_LT: return order == -1;
    case SCAN_TERM_LE: return order == -1 || order == 0;
    case SCAN_TERM_GT: return order == 1;
    case SCAN_TERM_GE: return order == 1 || order == 0;
    case SCAN_TERM_EQ: return order == 0;
    default: return order != 0;
    }
}

/* What the descriptor says about element i of `in`. */
static inline bool is_selected(const scan_compact_desc *desc, const void *in, size_t i) {
    bool stack[SCAN_MAX_TERMS];
    size_t top = 0;
    if (desc->flags)
        stack[top++] = desc->flags[i] != 0;
    for (uint32_t k = 0; k < desc->term_count; k++) {
        const scan_term *term = &desc->terms[k];
        if (term->op == SCAN_TERM_NOT)
            stack[top - 1] = !stack[top - 1];
        else if (term->op == SCAN_TERM_AND || term->op == SCAN_TERM_OR) {
            bool right = stack[--top], left = stack[top - 1];
            stack[top - 1] = term->op == SCAN_TERM_AND ? left && right : left || right;
        } else if (term->column == SCAN_COLUMN_INDEX) {
            uint64_t index = desc->index_base + i;
            stack[top++] = leaf_holds(SCAN_U64, &index, 0, term);
        } else if (term->column == 0) {
            stack[top++] = leaf_holds(desc->type, in, i, term);
        } else {
            const scan_column *column = &desc->columns[term->column - 1];
            stack[top++] = leaf_holds(column->type, column->data, i, term);
        }
    }
    return stack[0] != (desc->invert == 1);
}

/* Random bits, but floats in [0, 1) with a few NaN, infinities and zeros of both signs. */
static inline void random_elements(scan_type type, void *array, size_t n, uint64_t *random) {
    static const double odd[] = {NAN, INFINITY, -INFINITY, 0.0, -0.0, -1.0};
    for (size_t i = 0; i < n; i++) {
        uint64_t r = random_u64(random);
        double f = r % 64 < 6 ? odd[r % 64] : (double)(r >> 11) * 0x1p-53;
        if (type == SCAN_F32)
            ((float *)array)[i] = (float)f;
        else if (type == SCAN_F64)
            ((double *)array)[i] = f;
        else
            store_element(array, i, size_of_type(type), r);
    }
}

/* The constant below which about `share` percent of random_elements lie. */
static inline double quantile(scan_type type, double share) {
    double width = ldexp(1, 8 * (int)scan_type_size(type));
    if (type_is_float(type))
        return share / 100;
    return (share / 100 - (type_is_signed(type) ? 0.5 : 0)) * width;
}

static inline uint64_t index_at(scan_type type, const void *array, size_t i) {
    return type == SCAN_U32 ? ((const uint32_t *)array)[i] : ((const uint64_t *)array)[i];
}

#endif
