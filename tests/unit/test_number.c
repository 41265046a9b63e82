/* SPDX-License-Identifier: MIT
 *
 * Numbers in text against the C library: strtod and strtof read the same value, printf's precisions show that nothing
 * shorter would do. Text is parsed at the end of a page, so that a byte read too far faults.
 *
 * Not with ThreadSanitizer: one thread.
 */
#include "support.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "apps/support/number.h"

enum { ROUNDS = 100000, PAGE_ROOM = 4096 };

static guarded page;

static number_status parse(const char *text, size_t bytes, number *x, size_t *where) {
    return number_parse(memcpy(guarded_end(page, bytes), text, bytes), bytes, x, where);
}

static number parse_good(const char *text) {
    number x;
    size_t where;
    assert_int_equal(parse(text, strlen(text), &x, &where), NUMBER_OK);
    return x;
}

static uint64_t bits_of(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static void test_integers(void **state) {
    (void)state;
    uint64_t seed = 1;
    for (int i = 0; i < ROUNDS; i++) {
        char text[64];
        uint64_t u = random_u64(&seed) >> (random_u64(&seed) % 64);
        snprintf(text, sizeof text, "%*s%llu", (int)(random_u64(&seed) % 3), "", (unsigned long long)u);
        number x = parse_good(text);
        assert_int_equal(x.type, u > INT64_MAX ? SCAN_U64 : SCAN_I64);
        assert_true(x.value.u == u);
        int64_t s = (int64_t)u;
        snprintf(text, sizeof text, "%lld\t\r", (long long)s);
        x = parse_good(text);
        assert_int_equal(x.type, SCAN_I64);
        assert_true(x.value.i == s);
    }
}

static void test_floats(void **state) {
    (void)state;
    uint64_t seed = 2;
    static const char *const formats[] = {"%.17g", "%.6f", "%.3e", "%.25e", "%+.17E", "%.800f", "%#.0f"};
    for (int i = 0; i < ROUNDS; i++) {
        char text[1400];
        double value;
        uint64_t bits = random_u64(&seed);
        memcpy(&value, &bits, sizeof value);
        if (!isfinite(value) || i % 2)
            value = (double)(int64_t)bits * 0x1p-60;
        const char *format = formats[(size_t)i % (sizeof formats / sizeof formats[0])];
        if (strchr(format, 'f') && fabs(value) > 1e300)
            value = 1 / value;
        snprintf(text, sizeof text, format, value);
        number x = parse_good(text);
        if (x.type == SCAN_F64)
            assert_true(bits_of(x.value.f) == bits_of(strtod(text, NULL)));
        else
            assert_true((double)x.value.i == strtod(text, NULL));
    }
}

/* Around the limits of doubles, where from_chars returns only "out of range". */
static void test_limits(void **state) {
    (void)state;
    for (int exponent = -420; exponent <= 420; exponent++)
        for (int zeros = 0; zeros <= 400; zeros += 50)
            for (int point = 0; point < 2; point++) {
                char text[900];
                if (point)
                    snprintf(text, sizeof text, "0.%0*d1e%d", zeros, 0, exponent + zeros + 1);
                else
                    snprintf(text, sizeof text, "00%d%0*d.0e%d", 123, zeros + 1, 0, exponent - zeros);
                number x;
                size_t where;
                errno = 0;
                double expected = strtod(text, NULL);
                number_status status = parse(text, strlen(text), &x, &where);
                if (isinf(expected)) {
                    assert_int_equal(status, NUMBER_FLOAT_RANGE);
                } else {
                    assert_int_equal(status, NUMBER_OK);
                    assert_true(bits_of(x.value.f) == bits_of(expected));
                }
            }
}

static void test_minus_zero(void **state) {
    (void)state;
    number x = parse_good("-0");
    assert_true(x.minus_zero && x.type == SCAN_I64 && x.value.i == 0);
    assert_false(parse_good("0").minus_zero);
    assert_true(signbit(parse_good("-0.0").value.f));
    assert_true(signbit(parse_good("-1e-500").value.f));
    assert_false(signbit(parse_good("+0.0").value.f));
}

/* Random short strings of the bytes that numbers are made of: accepted exactly if this small automaton accepts them. */
static bool is_number(const char *p) {
    while (*p == ' ' || *p == '\t')
        p++;
    p += *p == '-' || *p == '+';
    size_t digits = strspn(p, "0123456789"), fraction = 0;
    p += digits;
    if (*p == '.') {
        fraction = strspn(p + 1, "0123456789");
        p += fraction + 1;
    }
    if (digits + fraction == 0)
        return false;
    if (*p == 'e' || *p == 'E') {
        p++;
        p += *p == '-' || *p == '+';
        if (strspn(p, "0123456789") == 0)
            return false;
        p += strspn(p, "0123456789");
    }
    p += strspn(p, " \t");
    p += *p == '\r';
    return *p == 0;
}

static void test_grammar(void **state) {
    (void)state;
    static const char letters[] = "0123456789..eE+-  \t\rxn";
    uint64_t seed = 3;
    for (int i = 0; i < 10 * ROUNDS; i++) {
        char text[10];
        size_t length = random_u64(&seed) % 9;
        for (size_t k = 0; k < length; k++)
            text[k] = letters[random_u64(&seed) % (sizeof letters - 1)];
        text[length] = 0;
        number x;
        size_t where = 0;
        number_status status = parse(text, length, &x, &where);
        if (is_number(text) ? status != NUMBER_OK && status != NUMBER_FLOAT_RANGE
                            : status != NUMBER_SYNTAX && status != NUMBER_EMPTY)
            fail_msg("\"%s\": %d", text, (int)status);
        assert_true(where <= length);
    }
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static const char *format(char to[NUMBER_FORMAT_BYTES + 1], scan_type type, const void *element) {
    size_t length = number_format(to, type, element);
    assert_true(length > 0 && length <= NUMBER_FORMAT_BYTES);
    to[length] = 0;
    return to;
}

static int digits_in(const char *text) {
    int digits = 0;
    text += strspn(text, "-0.");
    for (; *text && *text != 'e'; text++)
        digits += *text >= '0' && *text <= '9';
    return digits;
}

static void test_format_f64(void **state) {
    (void)state;
    uint64_t seed = 4;
    for (int i = 0; i < ROUNDS; i++) {
        char text[NUMBER_FORMAT_BYTES + 1], other[64];
        uint64_t bits = random_u64(&seed);
        double value;
        memcpy(&value, &bits, sizeof value);
        if (!isfinite(value) || i % 2)
            value = (double)(int64_t)bits * 0x1p-50;
        format(text, SCAN_F64, &value);
        assert_true(bits_of(strtod(text, NULL)) == bits_of(value));
        int min_digits = 17;
        while (min_digits > 1 &&
               (snprintf(other, sizeof other, "%.*e", min_digits - 2, value), strtod(other, NULL) == value))
            min_digits--;
        if (strpbrk(text, ".e")) /* an integer needs its trailing zeros */
            assert_true(digits_in(text) <= min_digits);
        number x = parse_good(text);
        assert_true(x.type == SCAN_F64 || (x.type == SCAN_I64 && llabs(x.value.i) <= INT64_C(1) << 53));
    }
}

static void test_format_f32(void **state) {
    (void)state;
    uint64_t seed = 5;
    for (int i = 0; i < ROUNDS; i++) {
        char text[NUMBER_FORMAT_BYTES + 1];
        uint32_t bits = (uint32_t)random_u64(&seed);
        float value;
        memcpy(&value, &bits, sizeof value);
        format(text, SCAN_F32, &value);
        if (isnan(value)) {
            assert_string_equal(text, "nan");
            continue;
        }
        float again = strtof(text, NULL);
        assert_memory_equal(&again, &value, sizeof value);
        if (strpbrk(text, ".e"))
            assert_true(digits_in(text) <= 9);
    }
}

static void test_format_special(void **state) {
    (void)state;
    char text[NUMBER_FORMAT_BYTES + 1];
    static const struct {
        double value;
        const char *text;
    } rows[] = {{0, "0"},
                {-0.0, "-0"},
                {1, "1"},
                {0.1, "0.1"},
                {NAN, "nan"},
                {-NAN, "nan"},
                {INFINITY, "inf"},
                {-INFINITY, "-inf"},
                {5e-324, "5e-324"},
                {1e22, "1e+22"},
                {0x1p53, "9007199254740992"},
                {0x1p60, "1.152921504606847e+18"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_string_equal(format(text, SCAN_F64, &rows[i].value), rows[i].text);
}

#define FORMAT_EXTREMES(name, ENUM, ctype, low, high, low_text, high_text)                                             \
    do {                                                                                                               \
        ctype min = low, max = high;                                                                                   \
        assert_string_equal(format(text, ENUM, &min), low_text);                                                       \
        assert_string_equal(format(text, ENUM, &max), high_text);                                                      \
    } while (0)

static void test_format_integers(void **state) {
    (void)state;
    char text[NUMBER_FORMAT_BYTES + 1];
    FORMAT_EXTREMES(u8, SCAN_U8, uint8_t, 0, UINT8_MAX, "0", "255");
    FORMAT_EXTREMES(i8, SCAN_I8, int8_t, INT8_MIN, INT8_MAX, "-128", "127");
    FORMAT_EXTREMES(u16, SCAN_U16, uint16_t, 0, UINT16_MAX, "0", "65535");
    FORMAT_EXTREMES(i16, SCAN_I16, int16_t, INT16_MIN, INT16_MAX, "-32768", "32767");
    FORMAT_EXTREMES(u32, SCAN_U32, uint32_t, 0, UINT32_MAX, "0", "4294967295");
    FORMAT_EXTREMES(i32, SCAN_I32, int32_t, INT32_MIN, INT32_MAX, "-2147483648", "2147483647");
    FORMAT_EXTREMES(u64, SCAN_U64, uint64_t, 0, UINT64_MAX, "0", "18446744073709551615");
    FORMAT_EXTREMES(i64, SCAN_I64, int64_t, INT64_MIN, INT64_MAX, "-9223372036854775808", "9223372036854775807");
}

/* ---- quoting ----------------------------------------------------------------------------------------------------- */

static void test_quote(void **state) {
    (void)state;
    char quoted[NUMBER_QUOTE_BYTES], text[400];
    assert_string_equal(number_quote(quoted, "12x", 3), "\"12x\"");
    assert_string_equal(number_quote(quoted, "", 0), "\"\"");
    assert_string_equal(number_quote(quoted, "a\0\n\x7f", 4), "\"a\\x00\\x0a\\x7f\"");
    memset(text, 0xff, sizeof text);
    number_quote(quoted, text, sizeof text);
    assert_int_equal(strlen(quoted), 40 * 4 + 5);
    assert_true(strlen(quoted) < sizeof quoted);
    memset(text, 'a', sizeof text);
    assert_int_equal(strlen(number_quote(quoted, text, 40)), 42);
}

static int open_page(void **state) {
    (void)state;
    page = guarded_create(PAGE_ROOM);
    return 0;
}

static int close_page(void **state) {
    (void)state;
    guarded_destroy(page);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_integers),        cmocka_unit_test(test_floats),
        cmocka_unit_test(test_limits),          cmocka_unit_test(test_minus_zero),
        cmocka_unit_test(test_grammar),         cmocka_unit_test(test_format_f64),
        cmocka_unit_test(test_format_f32),      cmocka_unit_test(test_format_special),
        cmocka_unit_test(test_format_integers), cmocka_unit_test(test_quote),
    };
    return cmocka_run_group_tests(tests, open_page, close_page);
}
