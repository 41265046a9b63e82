/* SPDX-License-Identifier: MIT
 *
 * What --verify of prefix and compact rests on: right results pass, and one wrong bit anywhere is found and named.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

#include "scan/lists.h"

#include "apps/compact/text_test.h"
#include "apps/prefix/prefix.h"

enum { N = 70000 }; /* f64: more than a group of 32 tiles */

static scan_ctx *ctx;

static void fill(scan_type type, void *data, size_t n, uint64_t seed) {
    size_t size = scan_type_size(type);
    for (size_t i = 0; i < n * size / 8 + 1; i++)
        ((uint64_t *)data)[i] = random_u64(&seed);
    for (size_t i = 0; i < n; i++) {
        double x = (double)(random_u64(&seed) % 1000) / 999 + 0.5;
        if (type == SCAN_F32)
            ((float *)data)[i] = (float)x;
        else if (type == SCAN_F64)
            ((double *)data)[i] = x;
    }
}

static void check_prefix(scan_type type, scan_type out_type, scan_op op, scan_kind kind, bool reverse, size_t n) {
    static uint64_t in[N + 1], out[N + 1];
    size_t out_size = scan_type_size(out_type);
    uint64_t seed = n + (uint64_t)type;
    scan_prefix_desc desc = {
        .struct_size = sizeof desc, .type = type, .out_type = out_type, .op = op, .kind = kind, .reverse = reverse};
    fill(type, in, n, seed);
    assert_int_equal(scan_prefix(ctx, &desc, in, out, n), SCAN_OK);

    prefix_check c;
    prefix_check_begin(&c, &desc);
    assert_int_equal(prefix_check_run(&c, in, out, n, reverse), n);
    size_t places[] = {0, n / 2, n - 1, (size_t)(random_u64(&seed) % n)};
    for (size_t p = 0; p < 4; p++) {
        unsigned char *byte = (unsigned char *)out + places[p] * out_size;
        *byte ^= 1;
        prefix_check_begin(&c, &desc);
        assert_int_equal(prefix_check_run(&c, in, out, n, reverse), places[p]);
        *byte ^= 1;
    }
}

static void every_prefix_is_checked(void **state) {
    (void)state;
    static const size_t sizes[] = {1, 2, 5, 127, 128, 129, 1025, 4097};
    for (int type = 1; type <= SCAN_TYPE_COUNT; type++)
        for (int op = 0; op < SCAN_OP_COUNT; op++)
            for (int way = 0; way < 4 && scan_op_takes((scan_op)op, (scan_type)type); way += ONLY_THREADS ? 3 : 1)
                for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i += ONLY_THREADS ? 7 : 1)
                    check_prefix((scan_type)type, (scan_type)type, (scan_op)op, (scan_kind)(way & 1), way & 2,
                                 sizes[i]);
}

static void wider_and_longer_prefixes_are_checked(void **state) {
    (void)state;
    check_prefix(SCAN_U8, SCAN_U64, SCAN_ADD, SCAN_INCLUSIVE, false, N);
    check_prefix(SCAN_I16, SCAN_I64, SCAN_MUL, SCAN_EXCLUSIVE, true, N);
    check_prefix(SCAN_F32, SCAN_F64, SCAN_ADD, SCAN_INCLUSIVE, true, N);
    check_prefix(SCAN_F32, SCAN_F32, SCAN_ADD, SCAN_INCLUSIVE, false, N);
    check_prefix(SCAN_F64, SCAN_F64, SCAN_ADD, SCAN_EXCLUSIVE, false, N);
}

/* The state may be copied: pieces are checked from where the one before ended. */
static void checks_go_on_from_a_copy(void **state) {
    (void)state;
    static double in[5000], out[5000];
    scan_prefix_desc desc = {.struct_size = sizeof desc, .type = SCAN_F64, .out_type = SCAN_F64};
    prefix_check c, copy;
    fill(SCAN_F64, in, 4999, 1);
    assert_int_equal(scan_prefix(ctx, &desc, in, out, 4999), SCAN_OK);
    prefix_check_begin(&c, &desc);
    assert_int_equal(prefix_check_run(&c, in, NULL, 1777, false), 1777);
    copy = c;
    assert_int_equal(prefix_check_run(&c, in + 1777, out + 1777, 3222, false), 3222);
    assert_int_equal(prefix_check_run(&copy, in + 1777, out + 1777, 3222, false), 3222);
}

static bool resolve(void *user, const char *name, bool quoted, column_use use, uint32_t *column, char *reason) {
    (void)user, (void)quoted, (void)use, (void)reason;
    *column = name[0] == 'x' ? 0 : SCAN_COLUMN_INDEX;
    return true;
}

static bool holds(const char *text, scan_type type, const void *element, uint64_t index) {
    expression e;
    scan_column column = {.type = type, .data = element};
    assert_true(expression_parse(&e, text, resolve, NULL));
    bool result = compact_check_terms(&e, &column, 0, index);
    expression_free(&e);
    return result;
}

/* The flags of all tests of text pass the check, and no wrong one does. */
static void wrong_tests_of_text_are_found(void **state) {
    (void)state;
    static const char where[] =
        "x == \"ab\" || x != \"ab\" || x < \"b\" || x >= \"abc\" || x contains \"b\" || "
        "x startswith \"a\" || x endswith \"bc\" || x in (\"\", \"abc\", \"z\") || x is missing";
    static const char *const words[] = {"", "a", "ab", "abc", "b", "bab", "zbc", NULL};
    enum { WORDS = sizeof words / sizeof words[0] };
    string strings_of[WORDS];
    for (size_t i = 0; i < WORDS; i++)
        strings_of[i] = (string){(const unsigned char *)words[i], words[i] ? strlen(words[i]) : 0};
    static source from;
    text_fault fault;
    compact_job job = {.where = where};
    from = (source){.n = WORDS, .text_count = 1, .texts[0] = {.at = strings_of, .n = WORDS}};
    assert_true(expression_parse(&from.e, where, resolve, NULL));
    assert_true(text_tests_run(&job, &from, 2, &fault));
    for (uint32_t k = 1; k <= from.column_count; k++) {
        uint8_t *flags = (uint8_t *)(uintptr_t)from.columns[k].data;
        for (size_t row = 0; row < WORDS; row++) {
            assert_true(text_tests_check(&from, row));
            flags[row] ^= 1;
            assert_false(text_tests_check(&from, row));
            flags[row] ^= 1;
        }
    }
    assert_int_equal(from.column_count, 9);
    for (uint32_t k = 1; k <= from.column_count; k++)
        free((void *)(uintptr_t)from.columns[k].data);
    expression_free(&from.e);
}

static void predicates_are_exact(void **state) {
    (void)state;
    uint64_t big = UINT64_MAX;
    int64_t low = INT64_MIN;
    float tenth = 0.1f;
    double not_a_number = NAN;
    assert_true(holds("x > 18446744073709551614", SCAN_U64, &big, 0));
    assert_false(holds("x > 18446744073709551615", SCAN_U64, &big, 0));
    assert_true(holds("x < 18446744073709551616.0", SCAN_U64, &big, 0));
    assert_true(holds("x == -9223372036854775808 && !x > -9223372036854775808", SCAN_I64, &low, 0));
    assert_true(holds("x > 0.1 && x < 0.1000001", SCAN_F32, &tenth, 0));
    assert_true(holds("x != 0 && isnan(x) && !isfinite(x) && !(x < 0 || x >= 0)", SCAN_F64, &not_a_number, 0));
    assert_true(holds("i == 9007199254740993", SCAN_F64, &not_a_number, 9007199254740993u));
    assert_false(holds("i == 9007199254740992", SCAN_F64, &not_a_number, 9007199254740993u));
}

static void equal_as_unique_means_it(void **state) {
    (void)state;
    double a = 0.0, b = -0.0, c = NAN, d = -NAN, e = 1;
    assert_true(compact_check_equal(SCAN_F64, &a, &b) && compact_check_equal(SCAN_F64, &c, &d));
    assert_false(compact_check_equal(SCAN_F64, &a, &e) || compact_check_equal(SCAN_F64, &c, &e));
    int64_t f = INT64_MAX, g = INT64_MAX - 1;
    assert_false(compact_check_equal(SCAN_I64, &f, &g));
}

int main(void) {
    ctx = context_with_threads(2);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_prefix_is_checked),       cmocka_unit_test(wider_and_longer_prefixes_are_checked),
        cmocka_unit_test(checks_go_on_from_a_copy),      cmocka_unit_test(predicates_are_exact),
        cmocka_unit_test(wrong_tests_of_text_are_found), cmocka_unit_test(equal_as_unique_means_it),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    scan_ctx_destroy(ctx);
    return failed;
}
