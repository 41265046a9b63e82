/* SPDX-License-Identifier: MIT
 *
 * A case of scan_compact for the tests on a device: its elements, other columns and flags, a predicate of some kind,
 * random programs among them, and patterns in which the elements lie that are kept.
 */
#ifndef TESTS_GPU_COMPACT_CASE_H
#define TESTS_GPU_COMPACT_CASE_H

#include "../unit/compact_oracle.h"
#include "gpu_select.h"

enum { OUT_KEPT = 1, OUT_REJECTED = 2, OUT_INDICES = 4, OUT_COUNT = 8 };

/* PROGRAM and WIDEST are for the test programs; the case says how many terms and columns. */
typedef enum predicate_kind {
    ONE,
    BETWEEN,
    FLAGS,
    OTHER,
    INDEX,
    TWO,
    ALL,
    KINDS,
    PROGRAM = KINDS,
    WIDEST
} predicate_kind;

static const char *const kind_names[] = {"one",         "between", "flags",   "other column", "index",
                                         "two columns", "all",     "program", "widest"};

/* X(enum, name): where the elements lie that the predicate, or flags, choose. For ONE and FLAGS. */
#define PATTERNS(X)                                                                                                    \
    X(SCATTERED, scattered) /* as they come */                                                                         \
    X(FIRST_HALF, first half)                                                                                          \
    X(ALTERNATING, alternating)                                                                                        \
    X(LONG_RUNS, runs of 5000)                                                                                         \
    X(SHORT_RUNS, 100 of 1000)   /* rows of 32 are full while most elements are rejected */                            \
    X(TEN_A_ROW, 10 or 11 a row) /* rows.cuh: max_short_row */                                                         \
    X(ONLY_FIRST, only the first)                                                                                      \
    X(ONLY_LAST, only the last)                                                                                        \
    X(ONE_A_TILE, one a tile)

typedef enum keep_pattern {
#define PATTERN_ROW(ENUM, name) ENUM,
    PATTERNS(PATTERN_ROW)
#undef PATTERN_ROW
        PATTERN_COUNT
} keep_pattern;

static const char *const pattern_names[] = {
#define PATTERN_ROW(ENUM, name) #name,
    PATTERNS(PATTERN_ROW)
#undef PATTERN_ROW
};

typedef struct compact_case {
    scan_type type;
    size_t n, bound; /* bound: the n of the call, more than n if the count is on the device */
    predicate_kind kind;
    double share; /* kept, in percent, about */
    unsigned outputs;
    uint32_t invert;
    scan_type index_type;
    uint64_t index_base;
    size_t offset;
    bool in_place;
    uint64_t asks; /* 1: for look-back, 2: for the wave, where it serves; else for none */
    keep_pattern pattern;
    uint32_t columns, terms; /* of a program */
} compact_case;

/* ---- arrays ------------------------------------------------------------------------------------------------------ */

enum { MAX_PLAIN_LOOP = 1 << 17 }; /* longer arrays are compared with the CPU backend */

static gpu_array d_in, d_flags, d_columns[SCAN_MAX_COLUMNS], d_count_in, d_kept, d_rejected, d_indices, d_count;
static char *host_in, *host_columns, *want_kept, *want_rejected, *want_indices, *got;
static uint8_t *host_flags;
static size_t room;
static uint64_t rng = 11;

static inline void make_room(size_t n) {
    if (n <= room)
        return;
    char **const all[] = {&host_in, &host_columns, &want_kept, &want_rejected, &want_indices, &got};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        free(*all[i]);
        assert_non_null(*all[i] = malloc(n * 8));
    }
    free(host_flags);
    assert_non_null(host_flags = malloc(n));
    room = n;
}

/* ---- one case ---------------------------------------------------------------------------------------------------- */

typedef struct predicate {
    scan_term terms[SCAN_MAX_TERMS];
    scan_column columns[SCAN_MAX_COLUMNS];
} predicate;

static inline uint32_t columns_of(const compact_case *c) {
    return c->kind >= PROGRAM ? c->columns : c->kind == OTHER || c->kind == TWO;
}

static inline scan_term less_than(scan_type type, double share, uint32_t column) {
    return (scan_term){
        .op = SCAN_TERM_LT, .column = column, .constant_type = SCAN_F64, .constant.f = quantile(type, share)};
}

/* Elements, columns one after another in host_columns, and flags. */
static inline void fill(const compact_case *c, predicate *p) {
    random_elements(c->type, host_in, c->bound, &rng);
    for (uint32_t k = 0; k < columns_of(c); k++) {
        const scan_type type =
            c->kind < PROGRAM ? SCAN_F64 - c->type + SCAN_U8 : (scan_type)(1 + random_below(&rng, SCAN_TYPE_COUNT));
        p->columns[k] = (scan_column){.type = type, .data = host_columns + k * c->bound * 8};
        random_elements(type, host_columns + k * c->bound * 8, c->bound, &rng);
    }
    for (size_t i = 0; c->kind == FLAGS && i < c->bound; i++) {
        const double percent = (double)(random_u64(&rng) >> 11) * 0x1p-53 * 100;
        host_flags[i] = percent < c->share ? (uint8_t)(random_below(&rng, 255) + 1) : 0;
    }
}

/* Any test of any column or of the index, mostly with an element of the column as its constant. */
static inline scan_term random_leaf(const compact_case *c, const predicate *p) {
    const uint32_t column = (uint32_t)random_below(&rng, c->columns + 2);
    const bool is_index = column > c->columns, is_element = random_below(&rng, 4) != 0;
    const scan_column x =
        column == 0 || is_index ? (scan_column){.type = c->type, .data = host_in} : p->columns[column - 1];
    const size_t i = random_below(&rng, c->n);
    const uint64_t tests = random_bool(&rng) ? SCAN_TERM_ISFINITE + 1 : SCAN_TERM_GE + 1; /* any, or < <= > >= */
    scan_term term = {.op = (scan_term_op)random_below(&rng, tests), .column = is_index ? SCAN_COLUMN_INDEX : column};
    if (term.op > SCAN_TERM_NE)
        return term;
    if (is_index)
        term.constant_type = SCAN_U64, term.constant.u = c->index_base + i;
    else if (type_is_float(x.type) && is_element)
        term.constant_type = SCAN_F64, term.constant.f = double_at(x.type, x.data, i);
    else if (type_is_float(x.type))
        term.constant_type = SCAN_I64, term.constant.i = (int64_t)(i % 4) - 1;
    else if (!is_element)
        term.constant_type = SCAN_F64, term.constant.f = quantile(x.type, (double)(i % 1050) / 10);
    else if (gpu_is_signed(x.type))
        term.constant_type = SCAN_I64, term.constant.i = (int64_t)integer_at(x.type, x.data, i);
    else
        term.constant_type = SCAN_U64, term.constant.u = (uint64_t)integer_at(x.type, x.data, i);
    return term;
}

/* c->terms terms in postfix order. There are never more results than the terms left can join to one. */
static inline void random_program(const compact_case *c, predicate *p) {
    for (uint32_t i = 0, results = 0; i < c->terms; i++) {
        const uint32_t left = c->terms - i;
        if (results < left && (results == 0 || random_bool(&rng))) {
            p->terms[i] = random_leaf(c, p);
            results++;
        } else if (results > left || (results > 1 && random_below(&rng, 4))) {
            p->terms[i] = (scan_term){.op = random_bool(&rng) ? SCAN_TERM_AND : SCAN_TERM_OR};
            results--;
        } else {
            p->terms[i] = (scan_term){.op = SCAN_TERM_NOT};
        }
    }
}

/* As many results at a time as terms allow, over all columns and the index; each rejects a few elements. */
static inline void widest_program(const compact_case *c, predicate *p) {
    enum { LEAVES = SCAN_MAX_TERMS / 2 };
    for (uint32_t i = 0; i < LEAVES; i++) {
        const uint32_t column = i % (c->columns + 2);
        const scan_type type = column == 0 || column > c->columns ? c->type : p->columns[column - 1].type;
        p->terms[i] = less_than(type, i % 2 ? 98.5 : 1.5, column);
        if (column > c->columns) {
            p->terms[i].column = SCAN_COLUMN_INDEX;
            p->terms[i].constant.f = (double)c->index_base + (double)c->n * (i % 2 ? 0.985 : 0.015);
        }
        if (i % 2 == 0)
            p->terms[i].op = SCAN_TERM_GE;
    }
    for (uint32_t i = LEAVES; i < SCAN_MAX_TERMS; i++)
        p->terms[i] = (scan_term){.op = i < SCAN_MAX_TERMS - 1 ? SCAN_TERM_AND : SCAN_TERM_NOT};
}

/* The descriptor with host pointers. */
static inline scan_compact_desc describe(const compact_case *c, predicate *p) {
    scan_compact_desc d = {.struct_size = sizeof d,
                           .type = c->type,
                           .index_type = c->index_type,
                           .invert = c->invert,
                           .terms = p->terms,
                           .term_count = 1,
                           .index_base = c->index_base};
    const uint64_t cut = c->index_base + (uint64_t)((double)c->n * c->share / 100);
    const scan_term of_index = {
        .op = SCAN_TERM_LT, .column = SCAN_COLUMN_INDEX, .constant_type = SCAN_U64, .constant.u = cut};
    switch (c->kind) {
    case ONE: p->terms[0] = less_than(c->type, c->share, 0); break;
    case BETWEEN:
        p->terms[0] = less_than(c->type, 50 + c->share / 2, 0);
        p->terms[1] = less_than(c->type, 50 - c->share / 2, 0);
        p->terms[1].op = SCAN_TERM_GE;
        p->terms[2] = (scan_term){.op = SCAN_TERM_AND};
        d.term_count = 3;
        break;
    case FLAGS:
        d.flags = host_flags;
        d.terms = NULL;
        d.term_count = 0;
        break;
    case INDEX: p->terms[0] = of_index; break;
    case OTHER: p->terms[0] = less_than(p->columns[0].type, c->share, 1); break;
    case TWO: /* x < a || !(y < b && i < c) */
        p->terms[0] = less_than(c->type, c->share / 2, 0);
        p->terms[1] = less_than(p->columns[0].type, 100 - c->share / 2, 1);
        p->terms[2] = of_index;
        p->terms[3] = (scan_term){.op = SCAN_TERM_AND};
        p->terms[4] = (scan_term){.op = SCAN_TERM_NOT};
        p->terms[5] = (scan_term){.op = SCAN_TERM_OR};
        d.term_count = 6;
        break;
    case PROGRAM:
        random_program(c, p);
        d.term_count = c->terms;
        break;
    case WIDEST:
        widest_program(c, p);
        d.term_count = SCAN_MAX_TERMS;
        break;
    default: /* the constant alone decides: x != NaN is always true */
        p->terms[0] = (scan_term){.op = SCAN_TERM_NE, .constant_type = SCAN_F64, .constant.f = (double)NAN};
        break;
    }
    d.column_count = columns_of(c);
    d.columns = d.column_count ? p->columns : NULL;
    return d;
}

/* ---- patterns ---------------------------------------------------------------------------------------------------- */

static inline size_t tile_of(const compact_case *c) {
    const size_t size = scan_type_size(c->type);
    return c->asks != 2 || !has_wave() ? look_back_tile(size)
           : c->kind == FLAGS          ? flags_wave_tile(size)
                                       : wave_tile(size);
}

static inline bool is_chosen(const compact_case *c, size_t i) {
    const size_t tile = tile_of(c);
    switch (c->pattern) {
    case FIRST_HALF: return i < c->n / 2;
    case ALTERNATING: return i % 2 == 1;
    case LONG_RUNS: return i / 5000 % 2 == 0;
    case SHORT_RUNS: return i % 1000 < 100;
    case TEN_A_ROW: return i % 32 < 10 + i / 3000 % 2;
    case ONLY_FIRST: return i == 0;
    case ONLY_LAST: return i + 1 == c->n;
    case ONE_A_TILE: return i % tile == i / tile * 997 % tile;
    case SCATTERED:
    case PATTERN_COUNT: break;
    }
    abort();
}

/* Draws elements again, and sets flags, until the predicate chooses those of the pattern. */
static inline void lay_out(const compact_case *c, const scan_compact_desc *d) {
    const size_t size = scan_type_size(c->type);
    for (size_t i = 0; c->pattern != SCATTERED && i < c->bound; i++) {
        const bool chosen = is_chosen(c, i);
        if (c->kind == FLAGS)
            host_flags[i] = chosen ? (uint8_t)(random_below(&rng, 255) + 1) : 0;
        else
            while (is_selected(d, host_in, i) != (chosen != (d->invert == 1)))
                random_elements(c->type, host_in + i * size, 1, &rng);
    }
}

#endif
