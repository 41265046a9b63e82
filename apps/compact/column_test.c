/* SPDX-License-Identifier: MIT
 *
 * Columns compared with columns: exactly, also an integer of 64 bits with a double. A missing field compares false, and
 * NaN does, except with !=.
 */
#include "column_test.h"

#include <math.h>

#include "apps/support/column.h"
#include "apps/support/parallel.h"

enum { PIECE_ROWS = 1 << 14, UNORDERED = 2 };

/* An integer of a column, or a float. */
typedef struct element {
    bool is_float, missing;
    __int128 integer;
    double number;
} element;

static inline element element_at(const source *from, uint32_t column, size_t row) {
    if (column == SCAN_COLUMN_INDEX)
        return (element){.integer = (__int128)(from->base + row)};
    const scan_column *c = &from->columns[column];
    if (c->type == SCAN_F64)
        return (element){.is_float = true,
                         .missing = ((const uint64_t *)c->data)[row] == COLUMN_MISSING_BITS,
                         .number = ((const double *)c->data)[row]};
    return (element){.integer = c->type == SCAN_U64 ? (__int128)((const uint64_t *)c->data)[row]
                                                    : (__int128)((const int64_t *)c->data)[row]};
}

/* Below 0, 0 or above 0, or UNORDERED. An integer is of 64 bits, so that a float beyond those is on one side of it;
 * else its whole part is compared, then the fraction decides. */
static int compare_with_float(__int128 integer, double number) {
    if (isnan(number))
        return UNORDERED;
    if (number >= 0x1p64)
        return -1;
    if (number < -0x1p63)
        return 1;
    __int128 whole = (__int128)number;
    double fraction = number - (double)whole;
    if (integer != whole)
        return integer < whole ? -1 : 1;
    return (fraction < 0) - (fraction > 0);
}

static inline int compare(const element *a, const element *b) {
    if (a->is_float && b->is_float)
        return a->number < b->number ? -1 : a->number > b->number ? 1 : a->number == b->number ? 0 : UNORDERED;
    if (!a->is_float && !b->is_float)
        return (a->integer > b->integer) - (a->integer < b->integer);
    if (b->is_float)
        return compare_with_float(a->integer, b->number);
    int mirrored = compare_with_float(b->integer, a->number);
    return mirrored == UNORDERED ? UNORDERED : -mirrored;
}

static bool holds(text_op op, int result) {
    switch (op) {
    case TEXT_LT: return result < 0;
    case TEXT_LE: return result <= 0;
    case TEXT_GT: return result == 1;
    case TEXT_GE: return result == 0 || result == 1;
    case TEXT_EQ: return result == 0;
    case TEXT_NE: return result != 0;
    case TEXT_CONTAINS:
    case TEXT_STARTS:
    case TEXT_ENDS:
    case TEXT_MATCHES:
    case TEXT_IN:
    case TEXT_MISSING: break;
    }
    return false;
}

typedef struct testing {
    const source *from;
    const text_test *test;
    uint8_t *flags;
} testing;

static void test_piece(void *arg, size_t piece) {
    const testing *a = arg;
    size_t row = piece * PIECE_ROWS, n = a->from->n, end = n - row > PIECE_ROWS ? row + PIECE_ROWS : n;
    for (; row < end; row++) {
        element x = element_at(a->from, a->test->column, row), y = element_at(a->from, a->test->other, row);
        a->flags[row] = !x.missing && !y.missing && holds(a->test->op, compare(&x, &y));
    }
}

void column_test_run(const source *from, const text_test *test, uint8_t *flags, unsigned threads) {
    parallel_for(threads, from->n / PIECE_ROWS + (from->n % PIECE_ROWS != 0), test_piece,
                 &(testing){from, test, flags});
}

/* ---- --verify ---------------------------------------------------------------------------------------------------- */

bool column_test_check(const source *from, const text_test *test, size_t row) {
    element x = element_at(from, test->column, row), y = element_at(from, test->other, row);
    long double a = x.is_float ? (long double)x.number : (long double)x.integer;
    long double b = y.is_float ? (long double)y.number : (long double)y.integer;
    if (x.missing || y.missing)
        return false;
    switch (test->op) {
    case TEXT_LT: return a < b;
    case TEXT_LE: return a <= b;
    case TEXT_GT: return a > b;
    case TEXT_GE: return a >= b;
    case TEXT_EQ: return a == b;
    default: return a != b;
    }
}
