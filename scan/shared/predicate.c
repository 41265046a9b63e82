/* SPDX-License-Identifier: MIT
 *
 * Compiles predicates into range tests.
 *
 * The values of an element type have ranks in ascending order; for floats -inf has the lowest rank of a number, and -0
 * comes just before +0. Both ends of a range are found by binary search over the ranks with one exact comparison of
 * element and constant, so that no rounding rule needs a case of its own: u32 x >= 4.5 becomes [5, max], f32 x < 0.1
 * becomes [-inf, largest float below 0.1], i8 x == 0.5 becomes the empty range. Two joined tests of one column become
 * one test if the result is a range, or everything outside a range.
 */
#include "predicate.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* ---- the values of a type in order ------------------------------------------------------------------------------- */

static uint64_t all_bits(scan_type type) { return ~0ull >> (64 - 8 * scan_type_size(type)); }

static uint64_t sign_bit(scan_type type) { return all_bits(type) ^ (all_bits(type) >> 1); }

static uint64_t infinity_bits(scan_type type) { return type == SCAN_F32 ? 0x7f800000ull : 0x7ff0000000000000ull; }

/* The rank of an element among all bit patterns. Negative floats ascend as their bits descend. */
static uint64_t rank_of_bits(scan_type type, uint64_t bits) {
    if (scan_is_float(type))
        return bits & sign_bit(type) ? all_bits(type) ^ bits : bits | sign_bit(type);
    return scan_is_signed(type) ? bits ^ sign_bit(type) : bits;
}

static uint64_t bits_of_rank(scan_type type, uint64_t rank) {
    if (scan_is_float(type))
        return rank & sign_bit(type) ? rank ^ sign_bit(type) : all_bits(type) ^ rank;
    return scan_is_signed(type) ? rank ^ sign_bit(type) : rank;
}

static uint64_t min_rank(scan_type type) {
    return scan_is_float(type) ? rank_of_bits(type, infinity_bits(type) | sign_bit(type)) : 0;
}

static uint64_t max_rank(scan_type type) {
    return scan_is_float(type) ? rank_of_bits(type, infinity_bits(type)) : all_bits(type);
}

/* A number as one of the three 64-bit types. */
typedef struct number {
    scan_type type;
    scan_value value;
} number;

static number number_of_rank(scan_type type, uint64_t rank) {
    uint64_t bits = bits_of_rank(type, rank);
    if (type == SCAN_F32) {
        uint32_t low = (uint32_t)bits;
        float f;
        memcpy(&f, &low, sizeof f);
        return (number){SCAN_F64, {.f = (double)f}};
    }
    if (type == SCAN_F64) {
        number x = {SCAN_F64, {.u = 0}};
        memcpy(&x.value.f, &bits, sizeof bits);
        return x;
    }
    if (scan_is_signed(type)) /* the sign bit, where set, extends to the left */
        return (number){SCAN_I64, {.u = (bits ^ sign_bit(type)) - sign_bit(type)}};
    return (number){SCAN_U64, {.u = bits}};
}

/* ---- exact comparison -------------------------------------------------------------------------------------------- */

#define ORDER(a, b) (((a) > (b)) - ((a) < (b)))

/* Compares an integer with a double that is not NaN. In the integer's range the double's whole part converts exactly.
 */
static int order_unsigned_double(uint64_t u, double d) {
    if (d < 0)
        return 1;
    if (d >= 0x1p64)
        return -1;
    uint64_t whole = (uint64_t)d;
    return u != whole ? ORDER(u, whole) : ORDER((double)whole, d);
}

static int order_signed_double(int64_t i, double d) {
    if (d < -0x1p63)
        return 1;
    if (d >= 0x1p63)
        return -1;
    int64_t whole = (int64_t)d;
    return i != whole ? ORDER(i, whole) : ORDER((double)whole, d);
}

/* Returns -1, 0, 1 if a is less than, equal to, greater than b. Neither is NaN. */
static int order(number a, number b) {
    if (a.type == SCAN_F64 && b.type == SCAN_F64)
        return ORDER(a.value.f, b.value.f);
    if (a.type == SCAN_F64)
        return -order(b, a);
    if (b.type == SCAN_F64)
        return a.type == SCAN_I64 ? order_signed_double(a.value.i, b.value.f)
                                  : order_unsigned_double(a.value.u, b.value.f);
    if (a.type == SCAN_I64 && a.value.i < 0)
        return b.type == SCAN_I64 ? ORDER(a.value.i, b.value.i) : -1;
    if (b.type == SCAN_I64 && b.value.i < 0)
        return 1;
    return ORDER(a.value.u, b.value.u);
}

/* Finds the first rank whose value is at least the constant, or, if `above`, greater than it; false if there is none.
 */
static bool first_rank(scan_type type, number constant, bool above, uint64_t *rank) {
    uint64_t lo = min_rank(type), hi = max_rank(type);
    if (order(number_of_rank(type, hi), constant) < (int)above)
        return false;
    while (lo < hi) {
        uint64_t middle = lo + (hi - lo) / 2;
        if (order(number_of_rank(type, middle), constant) < (int)above)
            lo = middle + 1;
        else
            hi = middle;
    }
    *rank = lo;
    return true;
}

/* ---- compilation ------------------------------------------------------------------------------------------------- */

/* A result on the stack while compiling: steps [first, the next result's first), or a constant without steps. */
typedef struct operand {
    uint32_t first;
    bool is_constant;
    bool constant;
} operand;

typedef struct compiler {
    scan_predicate *out; /* ranges hold ranks until the end */
    operand stack[SCAN_MAX_TERMS];
    uint32_t alive;
} compiler;

static void push_constant(compiler *c, bool constant) {
    c->stack[c->alive++] = (operand){c->out->step_count, true, constant};
}

static void push_range(compiler *c, scan_type type, uint32_t column, uint64_t lo, uint64_t hi, bool negate) {
    bool everything = !scan_is_float(type) && lo == min_rank(type) && hi == max_rank(type);
    if (everything) {
        push_constant(c, !negate);
        return;
    }
    c->stack[c->alive++] = (operand){.first = c->out->step_count};
    c->out->steps[c->out->step_count++] =
        (scan_step){.kind = SCAN_STEP_RANGE, .negate = negate, .column = column, .type = type, .lo = lo, .hi = hi};
}

static void push_comparison(compiler *c, scan_type type, const scan_term *term) {
    number constant = {term->constant_type, term->constant};
    bool negate = term->op == SCAN_TERM_NE;
    if (constant.type == SCAN_F64 && isnan(constant.value.f)) {
        push_constant(c, negate);
        return;
    }
    /* The range is [lo, end), or [lo, max_rank] if `open`. */
    uint64_t at = 0, above = 0;
    bool has_at = first_rank(type, constant, false, &at), has_above = first_rank(type, constant, true, &above);
    uint64_t lo = min_rank(type), end = 0;
    bool starts = true, open = false;
    switch (term->op) {
    case SCAN_TERM_LT: end = at, open = !has_at; break;
    case SCAN_TERM_LE: end = above, open = !has_above; break;
    case SCAN_TERM_GT: lo = above, starts = has_above, open = true; break;
    case SCAN_TERM_GE: lo = at, starts = has_at, open = true; break;
    default: lo = at, starts = has_at, end = above, open = !has_above; break;
    }
    if (!starts || (!open && end <= lo))
        push_constant(c, negate);
    else
        push_range(c, type, term->column, lo, open ? max_rank(type) : end - 1, negate);
}

static void push_leaf(compiler *c, scan_type type, const scan_term *term) {
    if (scan_term_is_comparison(term->op)) {
        push_comparison(c, type, term);
    } else if (!scan_is_float(type)) {
        push_constant(c, term->op == SCAN_TERM_ISFINITE);
    } else if (term->op == SCAN_TERM_ISNAN) {
        push_range(c, type, term->column, min_rank(type), max_rank(type), true);
    } else {
        push_range(c, type, term->column, min_rank(type) + 1, max_rank(type) - 1, false);
    }
}

static void negate_top(compiler *c) {
    operand *top = &c->stack[c->alive - 1];
    if (top->is_constant)
        top->constant = !top->constant;
    else
        c->out->steps[c->out->step_count - 1].negate ^= true;
}

/* The intersection of a and b, each a range or, negated, everything outside a range. True if the result is one of the
 * two again; lo > hi is the empty range. NaN is in no range, so it is in every negated one. */
static bool intersect(const scan_step *a, const scan_step *b, scan_step *result) {
    *result = *a;
    if (a->negate != b->negate) {
        const scan_step *range = a->negate ? b : a, *hole = a->negate ? a : b;
        *result = *range;
        if (hole->lo > range->hi || hole->hi < range->lo)
            return true;
        if (hole->hi >= range->hi && hole->lo <= range->lo)
            result->lo = 1, result->hi = 0;
        else if (hole->hi >= range->hi)
            result->hi = hole->lo - 1;
        else
            result->lo = hole->hi + 1;
        return hole->lo <= range->lo || hole->hi >= range->hi;
    }
    const scan_step *first = a->lo <= b->lo ? a : b, *second = first == a ? b : a;
    uint64_t min_hi = a->hi < b->hi ? a->hi : b->hi, max_hi = a->hi < b->hi ? b->hi : a->hi;
    if (!a->negate) {
        result->lo = second->lo;
        result->hi = min_hi;
        return true;
    }
    if (second->lo <= first->hi || second->lo - first->hi == 1) { /* two holes that touch */
        result->lo = first->lo;
        result->hi = max_hi;
        return true;
    }
    if (scan_is_float(a->type) || first->lo != min_rank(a->type) || max_hi != max_rank(a->type))
        return false;
    result->negate = false; /* two holes that reach the ends leave the range between them */
    result->lo = first->hi + 1;
    result->hi = second->lo - 1;
    return true;
}

/* a AND b, or a OR b = NOT (NOT a AND NOT b), of one column: one range where possible. */
static bool merge_ranges(compiler *c, scan_step_kind kind, const operand *left, const operand *right) {
    scan_step a = c->out->steps[left->first], b = c->out->steps[right->first], both;
    if (right->first != left->first + 1 || c->out->step_count != right->first + 1 || a.column != b.column)
        return false;
    const bool de_morgan = kind == SCAN_STEP_OR;
    a.negate ^= de_morgan;
    b.negate ^= de_morgan;
    if (!intersect(&a, &b, &both))
        return false;
    c->out->step_count = left->first;
    if (both.lo > both.hi)
        push_constant(c, both.negate != de_morgan);
    else
        push_range(c, both.type, both.column, both.lo, both.hi, both.negate != de_morgan);
    return true;
}

static void join(compiler *c, scan_step_kind kind) {
    operand right = c->stack[--c->alive], left = c->stack[--c->alive];
    bool decides = kind == SCAN_STEP_OR; /* the constant that decides the join; the other one is its identity */
    if ((left.is_constant && left.constant == decides) || (right.is_constant && right.constant == decides)) {
        c->out->step_count = left.first;
        push_constant(c, decides);
    } else if (left.is_constant || right.is_constant) {
        c->stack[c->alive++] = left.is_constant ? right : left;
    } else if (!merge_ranges(c, kind, &left, &right)) {
        c->stack[c->alive++] = left;
        c->out->steps[c->out->step_count++] = (scan_step){.kind = kind};
    }
}

static void finish(compiler *c) {
    scan_predicate *out = c->out;
    out->constant = c->stack[0].is_constant && c->stack[0].constant;
    for (uint32_t i = 0; i < out->step_count; i++) {
        scan_step *step = &out->steps[i];
        if (step->kind != SCAN_STEP_RANGE)
            continue;
        step->lo = bits_of_rank(step->type, step->lo);
        step->hi = bits_of_rank(step->type, step->hi);
    }
}

void scan_predicate_compile(const scan_compact_desc *desc, scan_predicate *predicate) {
    compiler c = {.out = predicate};
    predicate->step_count = 0;
    if (desc->flags)
        push_range(&c, SCAN_U8, SCAN_COLUMN_FLAGS, 1, 255, false);
    for (uint32_t i = 0; i < desc->term_count; i++) {
        const scan_term *term = &desc->terms[i];
        if (scan_term_is_leaf(term->op))
            push_leaf(&c,
                      term->column == SCAN_COLUMN_INDEX ? SCAN_U64
                      : term->column == 0               ? desc->type
                                                        : desc->columns[term->column - 1].type,
                      term);
        else if (term->op == SCAN_TERM_NOT)
            negate_top(&c);
        else
            join(&c, term->op == SCAN_TERM_AND ? SCAN_STEP_AND : SCAN_STEP_OR);
    }
    if (desc->invert)
        negate_top(&c);
    finish(&c);
}
