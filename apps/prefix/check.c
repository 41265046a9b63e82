/* SPDX-License-Identifier: MIT
 *
 * prefix --verify: computes every result again. Integers and float min and max are a plain fold; float add and mul
 * follow the tree of scan.h: vectors of 16 bytes, rows of 32, chunks of 8, tiles of 8, groups of 32. All floats are
 * computed in double and, for f32, rounded after every operation: for one addition or product of floats that is the
 * same as computing in float, because double has more than twice the digits.
 */
#include <math.h>
#include <string.h>

#include "apps/support/die.h"
#include "apps/support/report.h"
#include "prefix.h"

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

/* ---- operators --------------------------------------------------------------------------------------------------- */

static bool less(scan_type type, uint64_t a, uint64_t b) { return is_signed(type) ? (int64_t)a < (int64_t)b : a < b; }
static uint64_t largest(scan_type type) {
    unsigned unused = 64 - 8 * (unsigned)scan_type_size(type);
    return is_signed(type) ? (uint64_t)(INT64_MAX >> unused) : UINT64_MAX >> unused;
}
static uint64_t smallest(scan_type type) { return is_signed(type) ? ~largest(type) : 0; }
static uint64_t all_ones(scan_type type) { return is_signed(type) ? UINT64_MAX : largest(type); }

typedef struct integer_fold {
    uint64_t result, identity;
} integer_fold;

/* The fold of two integers extended to 64 bits, which next_integer wraps at the width of the type, and the identity. */
static integer_fold fold_integers(scan_op op, scan_type type, uint64_t a, uint64_t b) {
    switch (op) {
    case SCAN_ADD: return (integer_fold){a + b, 0};
    case SCAN_MUL: return (integer_fold){a * b, 1};
    case SCAN_MIN: return (integer_fold){less(type, b, a) ? b : a, largest(type)};
    case SCAN_MAX: return (integer_fold){less(type, b, a) ? a : b, smallest(type)};
    case SCAN_XOR: return (integer_fold){a ^ b, 0};
    case SCAN_AND: return (integer_fold){a & b, all_ones(type)};
    case SCAN_OR: return (integer_fold){a | b, 0};
    }
    die_usage("--verify cannot check operator %d", (int)op);
}

static double add_floats(double a, double b) { return a + b; }
static double mul_floats(double a, double b) { return a * b; }

/* True if b comes before a; -0 comes before +0. */
static bool float_less(double b, double a) { return b < a || (b == a && signbit(b) && !signbit(a)); }
static double min_floats(double a, double b) { return isnan(a) || isnan(b) ? NAN : float_less(b, a) ? b : a; }
static double max_floats(double a, double b) { return isnan(a) || isnan(b) ? NAN : float_less(b, a) ? a : b; }

/* The operators that take floats. */
static const struct {
    double (*fold)(double a, double b);
    double identity;
    bool tree; /* folded along the tree of scan.h, else one element after another */
} float_operators[] = {
    [SCAN_ADD] = {add_floats, -0.0, true},
    [SCAN_MUL] = {mul_floats, 1, true},
    [SCAN_MIN] = {min_floats, (double)INFINITY, false},
    [SCAN_MAX] = {max_floats, -(double)INFINITY, false},
};

double prefix_float_identity(scan_op op) { return float_operators[op].identity; }

/* ---- floats in the order of scan.h ------------------------------------------------------------------------------- */

static double fold_float(const prefix_check *c, double a, double b) {
    double r = float_operators[c->op].fold(a, b);
    return c->out_type == SCAN_F32 ? (double)(float)r : r;
}

/* The last value of the Kogge-Stone scan over n <= 32 totals. The step over a distance d computes only what the last
 * value needs: every 2 d-th value, counted from the last. They take the values between them, which it leaves alone.
 */
static double fold_lanes(const prefix_check *c, const double *totals, size_t n) {
    double z[32];
    memcpy(z, totals, n * sizeof *z);
    for (size_t d = 1; d < n; d *= 2)
        for (size_t end = n; end > d; end -= end > 2 * d ? 2 * d : end)
            z[end - 1] = fold_float(c, z[end - 1 - d], z[end - 1]);
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
    const size_t float_count = sizeof float_operators / sizeof float_operators[0];
    if (prefix_is_float(desc->out_type) && ((size_t)desc->op >= float_count || !float_operators[desc->op].fold))
        die_usage("--verify cannot check --op %s of %s", scan_op_name(desc->op), scan_type_name(desc->out_type));
    *c = (prefix_check){.type = desc->type, .out_type = desc->out_type, .op = desc->op, .kind = desc->kind};
    if (!prefix_is_float(desc->out_type)) {
        c->integer = desc->init ? load_integer(desc->out_type, desc->init)
                                : fold_integers(desc->op, desc->out_type, 0, 0).identity;
        return;
    }
    c->writes_plus_zero = !desc->init && desc->op == SCAN_ADD;
    c->groups = c->extreme = desc->init ? load_float(desc->out_type, desc->init) : prefix_float_identity(desc->op);
}

static bool same_float(const prefix_check *c, double expected, const void *result) {
    double r = load_float(c->out_type, result);
    if (isnan(expected) || isnan(r))
        return isnan(expected) && isnan(r);
    return expected == r && signbit(expected) == signbit(r);
}

static bool next_integer(prefix_check *c, const void *element, const void *result) {
    uint64_t expected = c->integer;
    c->integer = fold_integers(c->op, c->out_type, c->integer, load_integer(c->type, element)).result;
    /* wrapped at the width of the output */
    c->integer = load_integer(c->out_type, &c->integer);
    if (c->kind == SCAN_INCLUSIVE)
        expected = c->integer;
    return !result || memcmp(&expected, result, scan_type_size(c->out_type)) == 0;
}

/* Floats folded one after another. */
static bool next_extreme(prefix_check *c, const void *element, const void *result) {
    double expected = c->extreme;
    c->extreme = float_operators[c->op].fold(c->extreme, load_float(c->type, element));
    return !result || same_float(c, c->kind == SCAN_INCLUSIVE ? c->extreme : expected, result);
}

/* Floats folded along the tree. */
static bool next_float(prefix_check *c, const void *element, const void *result) {
    double expected = before(c);
    if (c->n == 0 && c->writes_plus_zero)
        expected = 0;
    append(c, load_float(c->type, element));
    if (c->kind == SCAN_INCLUSIVE)
        expected = before(c);
    return !result || same_float(c, expected, result);
}

bool prefix_check_next(prefix_check *c, const void *element, const void *result) {
    if (!prefix_is_float(c->out_type))
        return next_integer(c, element, result);
    return float_operators[c->op].tree ? next_float(c, element, result) : next_extreme(c, element, result);
}

prefix_total prefix_check_total(const scan_prefix_desc *desc, const void *in, size_t n, bool reverse) {
    prefix_check c;
    scan_prefix_desc alone = *desc;
    alone.init = NULL;
    prefix_check_begin(&c, &alone);
    prefix_check_run(&c, in, NULL, n, reverse);
    return (prefix_total){n, c.integer, c.extreme, c.groups};
}

void prefix_check_add(prefix_check *c, const prefix_total *total) {
    c->n += total->n;
    if (prefix_is_float(c->out_type)) {
        c->extreme = fold_float(c, c->extreme, total->extreme);
        c->groups = fold_float(c, c->groups, total->groups);
    } else {
        c->integer = fold_integers(c->op, c->out_type, c->integer, total->integer).result;
        c->integer = load_integer(c->out_type, &c->integer);
    }
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

void prefix_check_result(prefix_check *c, const prefix_job *job, const char *name, const void *values,
                         const void *results, size_t n, uint64_t first) {
    report_phase before = report_enter(PHASE_VERIFY);
    const size_t wrong = prefix_check_run(c, values, results, n, job->reverse);
    if (wrong != n)
        die(EXIT_NEGATIVE, "%s: verification failed: element %llu of the result is wrong", name,
            (unsigned long long)(first + wrong));
    report_enter(before);
}
