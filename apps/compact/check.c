/* SPDX-License-Identifier: MIT
 *
 * compact --verify: evaluates the predicate again, one element and one term at a time. long double holds every element
 * and every constant exactly (at least 64 bits of mantissa), so that one comparison serves all types.
 */
#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "apps/support/die.h"
#include "compact.h"

_Static_assert(LDBL_MANT_DIG >= 64, "integers of 64 bits that differ would compare as equal");

static long double element(scan_type type, const void *data, size_t i) {
    switch (type) {
    case SCAN_U8: return ((const uint8_t *)data)[i];
    case SCAN_I8: return ((const int8_t *)data)[i];
    case SCAN_U16: return ((const uint16_t *)data)[i];
    case SCAN_I16: return ((const int16_t *)data)[i];
    case SCAN_U32: return ((const uint32_t *)data)[i];
    case SCAN_I32: return ((const int32_t *)data)[i];
    case SCAN_U64: return (long double)((const uint64_t *)data)[i];
    case SCAN_I64: return (long double)((const int64_t *)data)[i];
    case SCAN_F32: return ((const float *)data)[i];
    case SCAN_F64: return ((const double *)data)[i];
    case SCAN_TYPE_NONE: break;
    }
    return 0;
}

static bool test(const scan_term *term, long double x) {
    long double c = term->constant_type == SCAN_U64   ? (long double)term->constant.u
                    : term->constant_type == SCAN_I64 ? (long double)term->constant.i
                                                      : (long double)term->constant.f;
    switch (term->op) {
    case SCAN_TERM_LT: return x < c;
    case SCAN_TERM_LE: return x <= c;
    case SCAN_TERM_GT: return x > c;
    case SCAN_TERM_GE: return x >= c;
    case SCAN_TERM_EQ: return x == c;
    case SCAN_TERM_NE: return x != c;
    case SCAN_TERM_ISNAN: return isnan(x);
    case SCAN_TERM_ISFINITE: return isfinite(x);
    case SCAN_TERM_AND:
    case SCAN_TERM_OR:
    case SCAN_TERM_NOT: break;
    }
    return false;
}

bool compact_check_terms(const expression *e, const scan_column *columns, size_t row, uint64_t index) {
    bool stack[SCAN_MAX_TERMS];
    size_t n = 0;
    for (uint32_t t = 0; t < e->term_count; t++) {
        const scan_term *term = &e->terms[t];
        if (term->op == SCAN_TERM_NOT) {
            stack[n - 1] = !stack[n - 1];
        } else if (term->op == SCAN_TERM_AND || term->op == SCAN_TERM_OR) {
            bool right = stack[--n];
            stack[n - 1] = term->op == SCAN_TERM_AND ? stack[n - 1] && right : stack[n - 1] || right;
        } else if (term->column == SCAN_COLUMN_INDEX) {
            stack[n++] = test(term, (long double)index);
        } else {
            const scan_column *column = &columns[term->column];
            stack[n++] = test(term, element(column->type, column->data, row));
        }
    }
    return stack[0];
}

bool compact_check_equal(scan_type type, const void *a, const void *b) {
    long double x = element(type, a, 0), y = element(type, b, 0);
    return x == y || (isnan(x) && isnan(y));
}

void compact_check_failed(const char *name, const char *format, ...) {
    char what[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    die(EXIT_NEGATIVE, "%s: verification failed: %s", name, what);
}
