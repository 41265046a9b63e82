/* SPDX-License-Identifier: MIT
 *
 * Compiled predicates. On an ordered domain every comparison with a constant is a range test, so a compiled predicate
 * has one kind of leaf, lo <= x <= hi in the column's own type, and AND and OR over the results. NOT is a flag of the
 * step whose result it inverts. Terms that are true or false for every element are folded away.
 */
#ifndef SCAN_SHARED_PREDICATE_H
#define SCAN_SHARED_PREDICATE_H

#include "../internal.h"

/* The column of scan_compact_desc.flags: u8, selected where it is in [1, 255]. */
#define SCAN_COLUMN_FLAGS 0xfffffffeu

typedef enum scan_step_kind { SCAN_STEP_RANGE, SCAN_STEP_AND, SCAN_STEP_OR } scan_step_kind;

typedef struct scan_step {
    scan_step_kind kind;
    bool negate;     /* the result of this step is inverted */
    uint32_t column; /* RANGE: 0 is in, 1 ... desc.columns, SCAN_COLUMN_INDEX, SCAN_COLUMN_FLAGS */
    scan_type type;  /* RANGE: of the column; U64 for the index */
    uint64_t lo, hi; /* RANGE: bits of the column's type, zero-extended; as values lo <= hi, neither is NaN. Floats are
                        to be compared with quiet compares: then NaN is in no range, and -0 is where +0 is */
} scan_step;

typedef struct scan_predicate {
    uint32_t step_count; /* 0: `constant` is the result for every element */
    bool constant;
    scan_step steps[SCAN_MAX_TERMS]; /* postfix */
} scan_predicate;

static inline bool scan_term_is_comparison(scan_term_op op) { return op <= SCAN_TERM_NE; }

/* Comparisons and tests, which read a column; the others join results. */
static inline bool scan_term_is_leaf(scan_term_op op) { return op <= SCAN_TERM_ISFINITE; }

/* Checks terms, flags and the types of columns; the detail names the term at fault. *reads_in: a term reads column 0,
 * whose type is then checked too. */
scan_status scan_predicate_check(scan_ctx *ctx, const scan_compact_desc *desc, bool *reads_in);

/* Compiles what scan_predicate_check accepted, desc->invert included. */
void scan_predicate_compile(const scan_compact_desc *desc, scan_predicate *predicate);

#endif
