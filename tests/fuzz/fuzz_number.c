/* SPDX-License-Identifier: MIT
 *
 * Numbers in text: no crash; an accepted number reads the same when written again; floats agree with strtod.
 */
#include <math.h>
#include <string.h>

#include "apps/support/number.h"
#include "fuzz.h"

const char *const fuzz_seeds[] = {
    "0",   "-0",        "18446744073709551615", "-9223372036854775808",    " +12.5e-3\r", "1e308",
    "nan", "-Infinity", "9007199254740993",     "4.9406564584124654e-324", ".5",          "179769313486231580793e289",
    NULL,
};

static const void *element(const number *x) {
    return x->type == SCAN_F64   ? (const void *)&x->value.f
           : x->type == SCAN_I64 ? (const void *)&x->value.i
                                 : (const void *)&x->value.u;
}

static void check(const char *text, const number *x) {
    char again[NUMBER_FORMAT_BYTES + 1];
    size_t n = number_format(again, x->type, element(x)), where;
    number y;
    FUZZ_CHECK(n <= NUMBER_FORMAT_BYTES && number_parse(again, n, &y, &where) == NUMBER_OK);
    if (x->type != SCAN_F64) {
        FUZZ_CHECK(y.type == x->type && y.value.u == x->value.u);
        return;
    }
    double back = y.type == SCAN_F64 ? y.value.f : y.minus_zero ? -0.0 : (double)y.value.i;
    double expected = strtod(text, NULL);
    FUZZ_CHECK(isnan(x->value.f)
                   ? isnan(back) && isnan(expected)
                   : x->value.f == back && x->value.f == expected && !signbit(back) == !signbit(x->value.f));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    char text[512];
    number x;
    size_t where = 0;
    if (bytes >= sizeof text)
        return 0;
    number_status status = number_parse((const char *)data, bytes, &x, &where);
    memcpy(text, data, bytes);
    text[bytes] = 0;
    if (status == NUMBER_OK)
        check(text, &x);
    else
        FUZZ_CHECK(where <= bytes && number_complaint(status)[0]);
    return 0;
}
