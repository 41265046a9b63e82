/* SPDX-License-Identifier: MIT
 *
 * Argument checks of predicates: the terms of scan_compact_desc leave exactly one result, columns and types exist.
 */
#include "predicate.h"

static scan_status check_leaf(scan_ctx *ctx, const scan_compact_desc *desc, uint32_t i) {
    const scan_term *term = &desc->terms[i];
    if (term->column > desc->column_count && term->column != SCAN_COLUMN_INDEX)
        return scan_fail(ctx, SCAN_ERR_ARGUMENT, "desc.terms[%u]: column %u, but column_count is %u", i, term->column,
                         desc->column_count);
    if (term->column == 0 && scan_type_size(desc->type) == 0)
        return scan_fail(ctx, SCAN_ERR_TYPE, "desc.terms[%u] reads column 0, but desc.type %d is not an element type",
                         i, (int)desc->type);
    scan_type type = term->constant_type;
    if (scan_term_is_comparison(term->op) && type != SCAN_U64 && type != SCAN_I64 && type != SCAN_F64)
        return scan_fail(ctx, SCAN_ERR_TYPE, "desc.terms[%u]: constant_type %d is none of u64, i64, f64", i, (int)type);
    return SCAN_OK;
}

static scan_status check_terms(scan_ctx *ctx, const scan_compact_desc *desc, bool *reads_in) {
    if (desc->term_count == 0 || desc->term_count > SCAN_MAX_TERMS)
        return scan_fail(ctx, SCAN_ERR_ARGUMENT, "desc.term_count: %u, not in 1 to %d", desc->term_count,
                         SCAN_MAX_TERMS);
    uint32_t alive = 0;
    for (uint32_t i = 0; i < desc->term_count; i++) {
        const scan_term *term = &desc->terms[i];
        if ((uint32_t)term->op > SCAN_TERM_NOT)
            return scan_fail(ctx, SCAN_ERR_ARGUMENT, "desc.terms[%u].op: %d is not a term", i, (int)term->op);
        if (term->reserved)
            return scan_fail(ctx, SCAN_ERR_ARGUMENT, "desc.terms[%u].reserved: not 0", i);
        if (scan_term_is_leaf(term->op)) {
            SCAN_TRY(check_leaf(ctx, desc, i));
            *reads_in |= term->column == 0;
            alive++;
            continue;
        }
        uint32_t takes = term->op == SCAN_TERM_NOT ? 1 : 2;
        if (alive < takes)
            return scan_fail(ctx, SCAN_ERR_ARGUMENT, "desc.terms[%u]: joins %u results, but only %u came before it", i,
                             takes, alive);
        alive -= takes - 1;
    }
    if (alive != 1)
        return scan_fail(ctx, SCAN_ERR_ARGUMENT, "desc.terms[%u]: %u results remain after this last term, not one",
                         desc->term_count - 1, alive);
    return SCAN_OK;
}

scan_status scan_predicate_check(scan_ctx *ctx, const scan_compact_desc *desc, bool *reads_in) {
    *reads_in = false;
    if (!desc->terms == !desc->flags)
        return scan_fail(ctx, SCAN_ERR_ARGUMENT, "desc: %s of terms and flags is given, it takes one",
                         desc->terms ? "each" : "none");
    if (!desc->terms && desc->term_count)
        return scan_fail(ctx, SCAN_ERR_ARGUMENT, "desc.term_count: %u, but terms is NULL", desc->term_count);
    if (desc->column_count > SCAN_MAX_COLUMNS)
        return scan_fail(ctx, SCAN_ERR_ARGUMENT, "desc.column_count: %u, at most %d", desc->column_count,
                         SCAN_MAX_COLUMNS);
    if (desc->column_count && !desc->columns)
        return scan_fail(ctx, SCAN_ERR_ARGUMENT, "desc.columns: is NULL, but column_count is %u", desc->column_count);
    for (uint32_t i = 0; i < desc->column_count; i++) {
        if (scan_type_size(desc->columns[i].type) == 0)
            return scan_fail(ctx, SCAN_ERR_TYPE, "desc.columns[%u].type: %d is not an element type", i,
                             (int)desc->columns[i].type);
        if (desc->columns[i].reserved)
            return scan_fail(ctx, SCAN_ERR_ARGUMENT, "desc.columns[%u].reserved: not 0", i);
    }
    return desc->terms ? check_terms(ctx, desc, reads_in) : SCAN_OK;
}
