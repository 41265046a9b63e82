/* SPDX-License-Identifier: MIT
 *
 * Columns compared with columns: every pair of types and every comparison, over more rows than one thread takes,
 * against exact arithmetic. Columns and flags end at a page that faults.
 */
#include <math.h>

#include "apps/compact/column_test.h"
#include "apps/support/column.h"
#include "support.h"

enum { ROWS = (1 << 15) + 5 }; /* two full pieces and a third */

/* Integers and floats around every boundary of the others, as 64 bits. */
static uint64_t value_bits(uint64_t *random, scan_type type) {
    static const double floats[] = {0,      -0.0,    0.5,    -0.5,    1,        -1,        0x1p53, 0x1p53 + 2,
                                    0x1p63, -0x1p63, 0x1p64, -0x1p64, INFINITY, -INFINITY, NAN,    2.5};
    static const uint64_t integers[] = {
        0, 1, 2, 3, UINT64_MAX, UINT64_MAX - 1, 1ull << 63, (1ull << 63) - 1, (1ull << 53) + 1, 1ull << 53};
    const uint64_t r = random_u64(random);
    if (type != SCAN_F64)
        return integers[r % (sizeof integers / sizeof *integers)];
    uint64_t bits;
    memcpy(&bits, &floats[r / 8 % (sizeof floats / sizeof *floats)], sizeof bits);
    return r % 8 ? bits : COLUMN_MISSING_BITS;
}

/* A long double holds any of these numbers exactly. */
static long double number_of(uint64_t bits, scan_type type) {
    double number;
    memcpy(&number, &bits, sizeof number);
    return type == SCAN_F64 ? (long double)number : type == SCAN_U64 ? (long double)bits : (long double)(int64_t)bits;
}

static bool expected(text_op op, uint64_t x, scan_type x_type, uint64_t y, scan_type y_type) {
    if ((x_type == SCAN_F64 && x == COLUMN_MISSING_BITS) || (y_type == SCAN_F64 && y == COLUMN_MISSING_BITS))
        return false;
    const long double a = number_of(x, x_type), b = number_of(y, y_type);
    return op == TEXT_LT   ? a < b
           : op == TEXT_LE ? a <= b
           : op == TEXT_GT ? a > b
           : op == TEXT_GE ? a >= b
           : op == TEXT_EQ ? a == b
                           : a != b;
}

static void test_all_pairs(void **state) {
    (void)state;
    static const scan_type types[] = {SCAN_I64, SCAN_U64, SCAN_F64, SCAN_TYPE_NONE}; /* NONE: the index */
    static const text_op ops[] = {TEXT_LT, TEXT_LE, TEXT_GT, TEXT_GE, TEXT_EQ, TEXT_NE};
    const guarded memory[2] = {guarded_create(8 * ROWS), guarded_create(8 * ROWS)}, flags = guarded_create(ROWS);
    source *from = calloc(1, sizeof *from);
    uint64_t random = 1;
    assert_non_null(from);
    from->base = 3;
    for (int k = 0; k < 16; k++) {
        uint32_t columns[2];
        from->n = k % 3 ? ROWS - (size_t)k : (size_t)k;
        for (int side = 0; side < 2; side++) {
            const scan_type type = types[side ? k / 4 : k % 4];
            uint64_t *values = guarded_end(memory[side], 8 * from->n);
            columns[side] = type == SCAN_TYPE_NONE ? SCAN_COLUMN_INDEX : (uint32_t)side;
            from->columns[side] = (scan_column){.type = type == SCAN_TYPE_NONE ? SCAN_U64 : type, .data = values};
            for (size_t i = 0; i < from->n; i++)
                values[i] = type == SCAN_TYPE_NONE ? from->base + i : value_bits(&random, type);
        }
        const scan_column *x = &from->columns[0], *y = &from->columns[1];
        for (size_t o = 0; o < sizeof ops / sizeof *ops; o++) {
            uint8_t *out = guarded_end(flags, from->n);
            const text_test test = {.op = ops[o], .column = columns[0], .other = columns[1]};
            column_test_run(from, &test, out, 2);
            for (size_t i = 0; i < from->n; i++) {
                const uint64_t a = ((const uint64_t *)x->data)[i], b = ((const uint64_t *)y->data)[i];
                const bool right = expected(ops[o], a, x->type, b, y->type);
                if (out[i] != right)
                    fail_msg("pair %d, comparison %d: row %zu is %d", k, (int)ops[o], i, out[i]);
                if (i < 300 || i + 9 > from->n)
                    assert_int_equal(column_test_check(from, &test, i), right);
            }
        }
    }
    free(from);
    guarded_destroy(flags);
    guarded_destroy(memory[0]);
    guarded_destroy(memory[1]);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_all_pairs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
