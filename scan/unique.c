/* SPDX-License-Identifier: MIT
 *
 * scan_unique: argument checks, then the backend.
 */
#include "internal.h"

SCAN_FIRST_STRUCT(scan_unique_desc, n_device, 32);
SCAN_FIRST_STRUCT(scan_unique_out, count, 40);

static scan_status take_desc(scan_ctx *ctx, const scan_unique_desc *given, size_t n, scan_unique_desc *desc) {
    SCAN_TRY(scan_take_struct(ctx, desc, given, scan_unique_desc_first_size, sizeof *desc, "scan_unique_desc"));
    SCAN_TRY(scan_check_type(ctx, desc->type, "desc.type"));
    SCAN_TRY(scan_check_grid(ctx, desc->grid, "desc.grid"));
    return scan_settle_index_type(ctx, &desc->index_type, desc->index_base, n);
}

static scan_status unique_entered(scan_ctx *ctx, const scan_unique_desc *given, const void *in,
                                  const scan_unique_out *given_out, size_t n) {
    scan_unique_desc desc;
    scan_unique_out out;
    SCAN_TRY(take_desc(ctx, given, n, &desc));
    SCAN_TRY(scan_take_struct(ctx, &out, given_out, scan_unique_out_first_size, sizeof out, "scan_unique_out"));
    if (n && !out.kept && !out.indices && !out.run_lengths && !out.count)
        return scan_fail(ctx, SCAN_ERR_ARGUMENT, "out: every field is NULL");
    if (out.run_lengths && desc.index_type == SCAN_U32 && n > UINT32_MAX)
        return scan_fail(ctx, SCAN_ERR_ARGUMENT, "desc.index_type: u32 cannot hold the length of a run of %zu", n);

    size_t size = scan_type_size(desc.type), index_size = scan_type_size(desc.index_type);
    scan_array source = {in, n, size, "in"};
    scan_array n_device = {desc.n_device, desc.n_device != NULL, sizeof *desc.n_device, "desc.n_device"};
    const scan_array outputs[] = {{out.kept, n, size, "out.kept"},
                                  {out.indices, n, index_size, "out.indices"},
                                  {out.run_lengths, n, index_size, "out.run_lengths"},
                                  {out.count, 1, sizeof *out.count, "out.count"}};
    bool in_place = in && out.kept == in && !out.indices && !out.run_lengths;
    SCAN_TRY(scan_check_array(ctx, source));
    SCAN_TRY(scan_check_array(ctx, n_device));
    for (size_t i = 0; i < sizeof outputs / sizeof outputs[0]; i++) {
        if (!outputs[i].pointer)
            continue;
        SCAN_TRY(scan_check_array(ctx, outputs[i]));
        if (i > 0 || !in_place)
            SCAN_TRY(scan_check_disjoint(ctx, outputs[i], source));
        SCAN_TRY(scan_check_disjoint(ctx, outputs[i], n_device));
        for (size_t k = 0; k < i; k++)
            SCAN_TRY(scan_check_disjoint(ctx, outputs[k], outputs[i]));
    }
    return ctx->backend->unique(ctx, &desc, in, &out, n);
}

scan_status scan_unique(scan_ctx *ctx, const scan_unique_desc *given, const void *in, const scan_unique_out *given_out,
                        size_t n) {
    SCAN_TRY(scan_enter(ctx));
    return scan_leave(ctx, unique_entered(ctx, given, in, given_out, n));
}

scan_status scan_unique_workspace(const scan_ctx *ctx, const scan_unique_desc *given, size_t n, size_t *bytes) {
    if (!ctx || !bytes)
        return SCAN_ERR_ARGUMENT;
    scan_unique_desc desc;
    SCAN_TRY(take_desc(NULL, given, n, &desc));
    *bytes = ctx->backend->unique_workspace(ctx, &desc, n);
    return SCAN_OK;
}
