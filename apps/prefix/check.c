/* SPDX-License-Identifier: MIT
 *
 * prefix --verify: every result again. Integers and float min and max are a plain fold; float add and mul follow the
 * tree of scan.h: vectors of 16 bytes, rows of 32, chunks of 8, tiles of 8, groups of 32. All floats are computed in
 * double and, for f32, rounded after every operation: for one addition or product of floats that is the same as
 * computing in float, because double has more than twice the digits.
 */
#include <math.h>
#include <string.h>

#include "prefix.h"

static bool is_float(scan_type type) { return scan_type_class(type) == SCAN_FLOAT; }

static bool is_signed(scan_type type) { return scan_type_class(type) == SCAN_SIGNED; }

/* An integer of any type, extended to 64 bits. */
static uint64_t load_integer(scan_type type, const void *from) {
    uint64_t bits = 0;
    unsigned unused = 64 - 8 * (unsigned)scan_type_size(type);
    memcpy(&bits, from, scan_type_size(type));
    return is_signed(type) ? (uint64_t)((int64_t)(bits << unused) >> unused) : bits;
}

static double load_float(scan_type type, const void *from) {
    float f;
    double d;
    if (type == SCAN_F64) {
        memcpy(&d, from, sizeof d);
        return d;
    }
    memcpy(&f, from, sizeof f);
    return (double)f;
}

/* ---- integers ---------------------------------------------------------------------------------------------------- */

static uint64_t fold_integer(const prefix_check *c, uint64_t a, uint64_t b) {
    bool less = is_signed(c->out_type) ? (int64_t)b < (int64_t)a : b < a;
    switch (c->op) {
    case SCAN_ADD: return a + b;
    case SCAN_MUL: return a * b;
    case SCAN_MIN: return less ? b : a;
    case SCAN_MAX: return less ? a : b;
    }
    return 0;
}

static uint64_t integer_identity(const prefix_check *c) {
    unsigned unused = 64 - 8 * (unsigned)scan_type_size(c->out_type);
    uint64_t greatest = is_signed(c->out_type) ? (uint64_t)(INT64_MAX >> unused) : UINT64_MAX >> unused;
    switch (c->op) {
    case SCAN_ADD: return 0;
    case SCAN_MUL: return 1;
    case SCAN_MIN: return greatest;
    case SCAN_MAX: return is_signed(c->out_type) ? ~greatest : 0;
    }
    return 0;
}

/* ---- floats ------------------------------------------------------------------------------------------------------ */

static double fold_float(const prefix_check *c, double a, double b) {
    double r = c->op == SCAN_ADD ? a + b : a * b;
    return c->out_type == SCAN_F32 ? (double)(float)r : r;
}

static double fold_extreme(const prefix_check *c, double a, double b) {
    if (isnan(a) || isnan(b))
        return NAN;
    bool b_less = b < a || (b == a && signbit(b) && !signbit(a));
    return b_less == (c->op == SCAN_MIN) ? b : a;
}

/* The last value of the Kogge-Stone scan over n <= 32 totals. */
static double fold_lanes(const prefix_check *c, const double *totals, size_t n) {
    double z[32];
    memcpy(z, totals, n * sizeof *z);
    for (size_t d = 1; d < 32; d *= 2)
        for (size_t l = n; l-- > d;) /* downwards: z[l - d] is still the value of the step before */
            z[l] = fold_float(c, z[l - d], z[l]);
    return z[n - 1];
}

typedef struct place {
    size_t element, vector, row, chunk, tile;
    size_t vector_elements;
} place;

static place place_of(const prefix_check *c) {
    size_t e = 16 / scan_type_size(c->out_type);
    uint64_t v = c->n / e;
    return (place){.element = c->n % e,
                   .vector = v % 32,
                   .row = v / 32 % 8,
                   .chunk = v / (32 * 8) % 8,
                   .tile = v / (32 * 8 * 8) % 32,
                   .vector_elements = e};
}

/* Everything before the next element. */
static double before(prefix_check *c) {
    place at = place_of(c);
    if (at.element)
        return fold_float(c, c->before_vector, c->elements);
    double b = c->groups;
    b = at.tile ? fold_float(c, b, fold_lanes(c, c->tiles, at.tile)) : b;
    b = at.chunk ? fold_float(c, b, c->chunks) : b;
    b = at.row ? fold_float(c, b, c->rows) : b;
    b = at.vector ? fold_float(c, b, fold_lanes(c, c->vectors, at.vector)) : b;
    c->before_vector = b;
    return b;
}

static void append(prefix_check *c, double x) {
    place at = place_of(c);
    c->n++;
    c->elements = at.element ? fold_float(c, c->elements, x) : x;
    if (at.element + 1 < at.vector_elements)
        return;
    c->vectors[at.vector] = c->elements;
    if (at.vector < 31)
        return;
    double row = fold_lanes(c, c->vectors, 32);
    c->rows = at.row ? fold_float(c, c->rows, row) : row;
    if (at.row < 7)
        return;
    c->chunks = at.chunk ? fold_float(c, c->chunks, c->rows) : c->rows;
    if (at.chunk < 7)
        return;
    c->tiles[at.tile] = c->chunks;
    if (at.tile == 31)
        c->groups = fold_float(c, c->groups, fold_lanes(c, c->tiles, 32));
}

/* ---- the check --------------------------------------------------------------------------------------------------- */

void prefix_check_begin(prefix_check *c, const scan_prefix_desc *desc) {
    *c = (prefix_check){.type = desc->type, .out_type = desc->out_type, .op = desc->op, .kind = desc->kind};
    c->first_shows_zero = !desc->init && desc->op == SCAN_ADD && is_float(desc->out_type);
    if (!is_float(desc->out_type)) {
        c->integer = desc->init ? load_integer(desc->out_type, desc->init) : integer_identity(c);
        return;
    }
    double init = desc->init ? load_float(desc->out_type, desc->init) : 0;
    c->groups = desc->init ? init : desc->op == SCAN_ADD ? -0.0 : 1;
    c->extreme = desc->init ? init : desc->op == SCAN_MIN ? (double)INFINITY : -(double)INFINITY;
}

static bool same_float(const prefix_check *c, double expected, const void *result) {
    double r = load_float(c->out_type, result);
    if (isnan(expected) || isnan(r))
        return isnan(expected) && isnan(r);
    return expected == r && signbit(expected) == signbit(r);
}

static bool next_integer(prefix_check *c, const void *element, const void *result) {
    uint64_t expected = c->integer;
    c->integer = fold_integer(c, c->integer, load_integer(c->type, element));
    /* wrapped at the width of the output */
    c->integer = load_integer(c->out_type, &c->integer);
    if (c->kind == SCAN_INCLUSIVE)
        expected = c->integer;
    return !result || memcmp(&expected, result, scan_type_size(c->out_type)) == 0;
}

static bool next_extreme(prefix_check *c, const void *element, const void *result) {
    double expected = c->extreme;
    c->extreme = fold_extreme(c, c->extreme, load_float(c->type, element));
    return !result || same_float(c, c->kind == SCAN_INCLUSIVE ? c->extreme : expected, result);
}

static bool next_float(prefix_check *c, const void *element, const void *result) {
    double expected = before(c);
    if (c->n == 0 && c->first_shows_zero)
        expected = 0;
    append(c, load_float(c->type, element));
    if (c->kind == SCAN_INCLUSIVE)
        expected = before(c);
    return !result || same_float(c, expected, result);
}

bool prefix_check_next(prefix_check *c, const void *element, const void *result) {
    if (!is_float(c->out_type))
        return next_integer(c, element, result);
    if (c->op == SCAN_MIN || c->op == SCAN_MAX)
        return next_extreme(c, element, result);
    return next_float(c, element, result);
}

size_t prefix_check_run(prefix_check *c, const void *in, const void *out, size_t n, bool reverse) {
    size_t size = scan_type_size(c->type), out_size = scan_type_size(c->out_type), wrong = n;
    for (size_t k = 0; k < n; k++) {
        size_t i = reverse ? n - 1 - k : k;
        const char *result = out ? (const char *)out + i * out_size : NULL;
        if (!prefix_check_next(c, (const char *)in + i * size, result) && wrong == n)
            wrong = i;
    }
    return wrong;
}
