/* SPDX-License-Identifier: MIT
 *
 * For targets that read whole inputs (text.h, table.h): an input that holds the fuzzer's bytes, the line that a refusal
 * names, and a second implementation of the rule for a column's type.
 */
#ifndef TESTS_FUZZ_READING_H
#define TESTS_FUZZ_READING_H

#include <fcntl.h>
#include <string.h>

#include "apps/support/die.h"
#include "apps/support/input.h"
#include "apps/support/number.h"
#include "fuzz.h"

/* An input with these bytes. The caller frees in.peek. */
static inline input reading_of(const uint8_t *data, size_t bytes) {
    static int nothing = -1;
    if (nothing < 0)
        nothing = open("/dev/null", O_RDONLY);
    input in = {.fd = nothing,
                .name = "in",
                .extent = {.sized = true, .size = bytes},
                .fetched = bytes,
                .peek = malloc(bytes + 1),
                .peek_bytes = bytes};
    FUZZ_CHECK(in.peek && nothing >= 0);
    if (bytes)
        memcpy(in.peek, data, bytes);
    return in;
}

/* Checks that a refusal is one line with exit code 2; returns the line of the input that it names. */
static inline size_t refused_line(const fatal_error *error) {
    size_t line = 0, length = strlen(error->line);
    FUZZ_CHECK(error->code == EXIT_USAGE && length > 0 && strchr(error->line, '\n') == error->line + length - 1);
    FUZZ_CHECK(sscanf(error->line, "scan: in: line %zu", &line) == 1 && line > 0);
    return line;
}

/* A column, parsed row by row. */
typedef struct expected_column {
    number *values;
    bool *missing;
    size_t n;
    bool refused;
    size_t row; /* of the refusal */
    scan_type type;
} expected_column;

/* Gives the column its type, after all rows are parsed and none is refused. */
static inline void settle(expected_column *c) {
    const int64_t exact = INT64_C(1) << 53;
    bool any_float = false, any_large = false, any_negative = false;
    for (size_t i = 0; i < c->n; i++) {
        const number *x = &c->values[i];
        any_float |= c->missing[i] || x->type == SCAN_F64;
        any_large |= !c->missing[i] && x->type == SCAN_U64;
        any_negative |= !c->missing[i] && x->type == SCAN_I64 && x->value.i < 0;
    }
    c->type = any_float ? SCAN_F64 : any_large ? SCAN_U64 : SCAN_I64;
    for (size_t i = 0; i < c->n && !c->refused; i++) {
        const number *x = &c->values[i];
        bool integer = !c->missing[i] && x->type != SCAN_F64;
        if (any_float && integer && (x->type == SCAN_U64 || x->value.i > exact || x->value.i < -exact))
            c->refused = true;
        if (!any_float && any_large && any_negative && x->type == SCAN_U64)
            c->refused = true;
        c->row = i;
    }
}

/* The 64 bits that row i has in the column. */
static inline uint64_t expected_bits(const expected_column *c, size_t i) {
    const number *x = &c->values[i];
    if (c->type != SCAN_F64)
        return x->value.u;
    double value = x->type == SCAN_F64 ? x->value.f : x->minus_zero ? -0.0 : (double)x->value.i;
    uint64_t bits = UINT64_C(0x7ff80000000007a2); /* missing */
    if (!c->missing[i])
        memcpy(&bits, &value, sizeof bits);
    return bits;
}

#endif
