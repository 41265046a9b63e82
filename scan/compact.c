/* SPDX-License-Identifier: MIT
 *
 * scan_compact: argument checks, then the backend; unique.c is alike.
 */
#include <stdio.h>

#include "shared/predicate.h"

SCAN_FIRST_STRUCT(scan_compact_desc, reserved, 72);
SCAN_FIRST_STRUCT(scan_compact_out, count, 40);

enum { NAME_BYTES = 32 };

/* Column i + 1; its name is written to `name`. */
static scan_array column_array(const scan_compact_desc *desc, uint32_t i, size_t n, char name[NAME_BYTES]) {
    snprintf(name, NAME_BYTES, "desc.columns[%u].data", i);
    return (scan_array){desc->columns[i].data, n, scan_type_size(desc->columns[i].type), name};
}

/* Takes the descriptor and settles the type of the indices. */
static scan_status take_desc(scan_ctx *ctx, const scan_compact_desc *given, size_t n, scan_compact_desc *desc,
                             bool *reads_in) {
    static const uint8_t no_flags[1] = {0};
    SCAN_TRY(scan_take_struct(ctx, desc, given, scan_compact_desc_first_size, sizeof *desc, "scan_compact_desc"));
    if (desc->invert > 1)
        return scan_fail(ctx, SCAN_ERR_ARGUMENT, "desc.invert: %u is neither 0 nor 1", desc->invert);
    if (desc->reserved)
        return scan_fail(ctx, SCAN_ERR_ARGUMENT, "desc.reserved: not 0");
    SCAN_TRY(scan_check_grid(ctx, desc->grid, "desc.grid"));
    if (n == 0 && !desc->terms && !desc->flags)
        desc->flags = no_flags; /* an array of no elements may be NULL */
    SCAN_TRY(scan_predicate_check(ctx, desc, reads_in));
    return scan_settle_index_type(ctx, &desc->index_type, desc->index_base, n);
}

/* No output may overlap an input or another output, except that kept may be `in` itself. */
static scan_status check_overlaps(scan_ctx *ctx, const scan_compact_desc *desc, scan_array in,
                                  const scan_array *outputs, size_t output_count, size_t n) {
    bool in_place = in.pointer && outputs[0].pointer == in.pointer && !outputs[1].pointer && !outputs[2].pointer;
    scan_array flags = {desc->flags, n, 1, "desc.flags"};
    scan_array n_device = {desc->n_device, 1, sizeof *desc->n_device, "desc.n_device"};
    for (size_t i = 0; i < output_count; i++) {
        if (i > 0 || !in_place)
            SCAN_TRY(scan_check_disjoint(ctx, outputs[i], in));
        SCAN_TRY(scan_check_disjoint(ctx, outputs[i], flags));
        SCAN_TRY(scan_check_disjoint(ctx, outputs[i], n_device));
        for (uint32_t k = 0; k < desc->column_count; k++)
            SCAN_TRY(scan_check_disjoint(ctx, outputs[i], column_array(desc, k, n, (char[NAME_BYTES]){0})));
        for (size_t k = 0; k < i; k++)
            SCAN_TRY(scan_check_disjoint(ctx, outputs[k], outputs[i]));
    }
    return SCAN_OK;
}

static scan_status check_inputs(scan_ctx *ctx, const scan_compact_desc *desc, scan_array in, size_t n) {
    if (in.size)
        SCAN_TRY(scan_check_array(ctx, in));
    if (desc->flags)
        SCAN_TRY(scan_check_array(ctx, (scan_array){desc->flags, n, 1, "desc.flags"}));
    if (desc->n_device)
        SCAN_TRY(scan_check_array(ctx, (scan_array){desc->n_device, 1, sizeof *desc->n_device, "desc.n_device"}));
    for (uint32_t i = 0; i < desc->column_count; i++)
        SCAN_TRY(scan_check_array(ctx, column_array(desc, i, n, (char[NAME_BYTES]){0})));
    return SCAN_OK;
}

static scan_status compact_entered(scan_ctx *ctx, const scan_compact_desc *given, const void *in,
                                   const scan_compact_out *given_out, size_t n) {
    scan_compact_desc desc;
    scan_compact_out out;
    bool reads_in = false;
    SCAN_TRY(take_desc(ctx, given, n, &desc, &reads_in));
    SCAN_TRY(scan_take_struct(ctx, &out, given_out, scan_compact_out_first_size, sizeof out, "scan_compact_out"));
    if (n && !out.kept && !out.rejected && !out.indices && !out.count)
        return scan_fail(ctx, SCAN_ERR_ARGUMENT, "out: every field is NULL");

    if (out.kept || out.rejected)
        SCAN_TRY(scan_check_type(ctx, desc.type, "desc.type"));
    else if (!reads_in) {
        in = NULL;
        desc.type = SCAN_TYPE_NONE;
    }
    size_t size = scan_type_size(desc.type);
    scan_array source = {in, n, size, "in"};
    const scan_array outputs[] = {{out.kept, n, size, "out.kept"},
                                  {out.rejected, n, size, "out.rejected"},
                                  {out.indices, n, scan_type_size(desc.index_type), "out.indices"},
                                  {out.count, 1, sizeof *out.count, "out.count"}};
    size_t output_count = sizeof outputs / sizeof outputs[0];
    SCAN_TRY(check_inputs(ctx, &desc, source, n));
    for (size_t i = 0; i < output_count; i++)
        if (outputs[i].pointer)
            SCAN_TRY(scan_check_array(ctx, outputs[i]));
    SCAN_TRY(check_overlaps(ctx, &desc, source, outputs, output_count, n));
    return ctx->backend->compact(ctx, &desc, in, &out, n);
}

scan_status scan_compact(scan_ctx *ctx, const scan_compact_desc *given, const void *in,
                         const scan_compact_out *given_out, size_t n) {
    SCAN_TRY(scan_enter(ctx));
    return scan_leave(ctx, compact_entered(ctx, given, in, given_out, n));
}

scan_status scan_compact_workspace(const scan_ctx *ctx, const scan_compact_desc *given, size_t n, size_t *bytes) {
    if (!ctx || !bytes)
        return SCAN_ERR_ARGUMENT;
    scan_compact_desc desc;
    bool reads_in = false;
    SCAN_TRY(take_desc(NULL, given, n, &desc, &reads_in));
    if (scan_type_size(desc.type) == 0)
        desc.type = SCAN_TYPE_NONE;
    *bytes = ctx->backend->compact_workspace(ctx, &desc, n);
    return SCAN_OK;
}
