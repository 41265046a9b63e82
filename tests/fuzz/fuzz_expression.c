/* SPDX-License-Identifier: MIT
 *
 * --where: no crash; the library takes the predicate of an accepted expression and evaluates it as compact --verify
 * does.
 */
#include <math.h>
#include <string.h>

#include "apps/compact/compact.h"
#include "fuzz.h"

const char *const fuzz_seeds[] = {
    "x >= 4.5 && x < 6 || !(i == 3)",
    "isnan(x)||isfinite( `y` ) && 1e-3 != y",
    "((x > -9223372036854775808)) && !!x <= 18446744073709551615",
    "`a name` < inf && -Infinity <= i && x == nan",
    "1 < x",
    "x in (1, 2.5, -3) && y contains \"a\"\"b\" || !x is missing",
    "x > y || y != `x` && i <= x",
    "\"Boston\" >= y && y in (\"b\", \"a\", \"\") || x startswith \"\" && `y` matches \"^a\"",
    NULL,
};

static bool resolve(void *user, const char *name, bool quoted, column_use use, uint32_t *column, char *reason) {
    (void)user;
    (void)use;
    *column = strcmp(name, "x") == 0 ? 0 : strcmp(name, "y") == 0 ? 1 : SCAN_COLUMN_INDEX;
    if (strcmp(name, "none") == 0 && !quoted) {
        snprintf(reason, EXPRESSION_REASON_BYTES, "there is no %s", name);
        return false;
    }
    return true;
}

/* Tests of text and of two columns are flags to the terms: test i holds in rows of which bit i % 3 is set. Checks what
 * their texts are. */
static void make_tests(expression *e, uint8_t flags[3][8], scan_column *columns) {
    for (uint32_t i = 0; i < e->test_count; i++) {
        const text_test *test = &e->tests[i];
        size_t items = test->op == TEXT_IN ? test->item_count : !test->numbers && test->op != TEXT_MISSING;
        FUZZ_CHECK(test->item_count == items);
        for (size_t k = 0; k < test->item_count; k++)
            FUZZ_CHECK(test->items[k].begin >= e->bytes &&
                       (k == 0 || string_compare(&test->items[k - 1], &test->items[k]) <= 0));
    }
    for (uint32_t k = 0; k < 3; k++) {
        for (uint32_t row = 0; row < 8; row++)
            flags[k][row] = row >> k & 1;
        columns[2 + k] = (scan_column){.type = SCAN_U8, .data = flags[k]};
    }
    for (uint32_t i = 0; i < e->term_count; i++)
        if (e->terms[i].column >= EXPRESSION_TEST && e->terms[i].column != SCAN_COLUMN_INDEX)
            e->terms[i].column = 2 + (e->terms[i].column - EXPRESSION_TEST) % 3;
}

static void evaluate(expression *e) {
    static const double x[] = {0, -0.0, 1.5, 4.5, -7, 1e300, NAN, INFINITY};
    static const uint64_t y[] = {0, 1, 5, 6, UINT64_MAX, 1ull << 53, (1ull << 63) + 1, 100};
    static scan_ctx *ctx;
    if (!ctx)
        FUZZ_CHECK(scan_ctx_create(&ctx, &(scan_options){.struct_size = sizeof(scan_options), .threads = 1}) ==
                   SCAN_OK);
    uint8_t flags[3][8];
    scan_column columns[5] = {{.type = SCAN_F64, .data = x}, {.type = SCAN_U64, .data = y}};
    make_tests(e, flags, columns);
    scan_compact_desc desc = {.struct_size = sizeof desc,
                              .type = SCAN_F64,
                              .terms = e->terms,
                              .term_count = e->term_count,
                              .columns = columns + 1,
                              .column_count = 4};
    uint32_t indices[8];
    uint64_t count;
    scan_compact_out out = {.struct_size = sizeof out, .indices = indices, .count = &count};
    FUZZ_CHECK(scan_compact(ctx, &desc, x, &out, 8) == SCAN_OK);
    size_t kept = 0;
    for (size_t i = 0; i < 8; i++)
        if (compact_check_terms(e, columns, i, i))
            FUZZ_CHECK(kept < count && indices[kept++] == i);
    FUZZ_CHECK(kept == count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    char text[4097];
    expression e;
    bytes = bytes < sizeof text ? bytes : sizeof text - 1;
    memcpy(text, data, bytes);
    text[bytes] = 0;
    if (expression_parse(&e, text, resolve, NULL))
        evaluate(&e);
    else
        FUZZ_CHECK(strncmp(e.reason, "column ", 7) == 0 && memchr(e.reason, 0, sizeof e.reason));
    expression_free(&e);
    return 0;
}
