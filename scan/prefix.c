/* SPDX-License-Identifier: MIT
 *
 * scan_prefix: argument checks and defaults; the work is in the backend's table.
 */
#include "internal.h"

SCAN_FIRST_STRUCT(scan_prefix_desc, n_device, 64);

static bool widens(scan_type type, scan_type out_type) {
    static const bool table[SCAN_TYPE_COUNT + 1][SCAN_TYPE_COUNT + 1] = {
#define ROW(ENUM, ...) [SCAN_##ENUM][SCAN_##ENUM] = true,
        SCAN_TYPES(ROW)
#undef ROW
#define ROW(ENUM, name, ctype, WIDE, wide_name, wide_ctype, ...) [SCAN_##ENUM][SCAN_##WIDE] = true,
            SCAN_WIDENINGS(ROW)
#undef ROW
    };
    return table[type][out_type];
}

static scan_status check_enums(scan_ctx *ctx, const scan_prefix_desc *desc) {
    if (!scan_op_name(desc->op))
        return scan_fail(ctx, SCAN_ERR_ARGUMENT, "scan_prefix_desc.op: %d is not an operator", (int)desc->op);
    if (desc->kind != SCAN_INCLUSIVE && desc->kind != SCAN_EXCLUSIVE)
        return scan_fail(ctx, SCAN_ERR_ARGUMENT, "scan_prefix_desc.kind: %d is not a kind", (int)desc->kind);
    if (desc->reverse > 1)
        return scan_fail(ctx, SCAN_ERR_ARGUMENT, "scan_prefix_desc.reverse: %u is neither 0 nor 1", desc->reverse);
    if (!scan_grid_name(desc->algorithm.grid) || !scan_block_name(desc->algorithm.block))
        return scan_fail(ctx, SCAN_ERR_ARGUMENT, "scan_prefix_desc.algorithm: {%d, %d} is not in the enums",
                         (int)desc->algorithm.grid, (int)desc->algorithm.block);
    if (desc->init && desc->carry_in)
        return scan_fail(ctx, SCAN_ERR_ARGUMENT, "scan_prefix_desc: init and carry_in exclude each other");
    return SCAN_OK;
}

/* Takes the caller's descriptor into `desc` with defaults filled in. */
static scan_status take_desc(scan_ctx *ctx, scan_prefix_desc *desc, const scan_prefix_desc *given) {
    SCAN_TRY(scan_take_struct(ctx, desc, given, scan_prefix_desc_first_size, sizeof *desc, "scan_prefix_desc"));
    SCAN_TRY(scan_check_type(ctx, desc->type, "scan_prefix_desc.type"));
    if (desc->out_type == SCAN_TYPE_NONE)
        desc->out_type = desc->type;
    SCAN_TRY(scan_check_type(ctx, desc->out_type, "scan_prefix_desc.out_type"));
    if (!widens(desc->type, desc->out_type))
        return scan_fail(ctx, SCAN_ERR_TYPE, "scan_prefix: %s cannot be accumulated in %s", scan_type_name(desc->type),
                         scan_type_name(desc->out_type));
    SCAN_TRY(check_enums(ctx, desc));
    if (!scan_op_takes(desc->op, desc->type))
        return scan_fail(ctx, SCAN_ERR_TYPE, "scan_prefix: %s does not take %s", scan_op_name(desc->op),
                         scan_type_name(desc->type));
    return SCAN_OK;
}

static scan_status check_arrays(scan_ctx *ctx, const scan_prefix_desc *desc, const void *in, void *out, size_t n) {
    scan_array input = {in, n, scan_type_size(desc->type), "in"};
    scan_array output = {out, n, scan_type_size(desc->out_type), "out"};
    scan_array carry_in = {desc->carry_in, SCAN_CARRY_BYTES / 8, 8, "carry_in"};
    scan_array carry_out = {desc->carry_out, SCAN_CARRY_BYTES / 8, 8, "carry_out"};
    scan_array count = {desc->n_device, 1, 8, "n_device"};
    const scan_array read[] = {input, carry_in, count};
    const scan_array written[] = {output, carry_out};

    SCAN_TRY(scan_check_array(ctx, input));
    SCAN_TRY(scan_check_array(ctx, output));
    if (desc->carry_in)
        SCAN_TRY(scan_check_array(ctx, carry_in));
    if (desc->carry_out)
        SCAN_TRY(scan_check_array(ctx, carry_out));
    if (desc->n_device)
        SCAN_TRY(scan_check_array(ctx, count));

    SCAN_TRY(scan_check_disjoint(ctx, output, carry_out));
    for (int w = 0; w < 2; w++)
        for (int r = 0; r < 3; r++) {
            bool in_place = w == 0 && r == 0 && in == out && input.size == output.size;
            bool same_carry = w == 1 && r == 1 && desc->carry_in == desc->carry_out;
            if (!in_place && !same_carry)
                SCAN_TRY(scan_check_disjoint(ctx, read[r], written[w]));
        }
    return SCAN_OK;
}

static scan_status prefix_entered(scan_ctx *ctx, const scan_prefix_desc *given, const void *in, void *out, size_t n) {
    scan_prefix_desc desc;
    SCAN_TRY(take_desc(ctx, &desc, given));
    SCAN_TRY(check_arrays(ctx, &desc, in, out, n));
    return ctx->backend->prefix(ctx, &desc, in, out, n);
}

scan_status scan_prefix(scan_ctx *ctx, const scan_prefix_desc *given, const void *in, void *out, size_t n) {
    SCAN_TRY(scan_enter(ctx));
    return scan_leave(ctx, prefix_entered(ctx, given, in, out, n));
}

/* The context is const here, so the status alone says what is wrong with the descriptor. */
scan_status scan_prefix_workspace(const scan_ctx *ctx, const scan_prefix_desc *given, size_t n, size_t *bytes) {
    if (!ctx || !bytes)
        return SCAN_ERR_ARGUMENT;
    scan_prefix_desc desc;
    SCAN_TRY(take_desc(NULL, &desc, given));
    *bytes = ctx->backend->prefix_workspace(ctx, &desc, n);
    return SCAN_OK;
}
