/* SPDX-License-Identifier: MIT
 *
 * scan_merge: argument checks, then the backend.
 */
#include "internal.h"

SCAN_FIRST_STRUCT(scan_merge_desc, b_n_device, 40);

/* Up to this length in all, the sum of the sizes of a few arrays does not overflow. */
static const size_t MAX_ELEMENTS = SIZE_MAX / 64;

scan_sort_desc scan_merge_order(const scan_merge_desc *desc) {
    return (scan_sort_desc){.struct_size = sizeof(scan_sort_desc),
                            .type = desc->type,
                            .descending = desc->descending,
                            .nan_first = desc->nan_first,
                            .end_bit = (uint32_t)(8 * scan_type_size(desc->type))};
}

/* Copies the descriptor and checks its fields. */
static scan_status take_desc(scan_ctx *ctx, scan_merge_desc *copy, const scan_merge_desc *desc, size_t a_n,
                             size_t b_n) {
    SCAN_TRY(scan_take_struct(ctx, copy, desc, scan_merge_desc_first_size, sizeof *copy, "scan_merge_desc"));
    SCAN_TRY(scan_check_type(ctx, copy->type, "type"));
    if (copy->descending > 1 || copy->nan_first > 1)
        return scan_fail(ctx, SCAN_ERR_ARGUMENT, "descending, nan_first: %u, %u, each is 0 or 1", copy->descending,
                         copy->nan_first);
    if (copy->value_bytes != 0 && copy->value_bytes != 4 && copy->value_bytes != 8)
        return scan_fail(ctx, SCAN_ERR_ARGUMENT, "value_bytes: %u, must be 0, 4 or 8", copy->value_bytes);
    if (copy->reserved)
        return scan_fail(ctx, SCAN_ERR_ARGUMENT, "reserved: %u, must be 0", copy->reserved);
    if (a_n > MAX_ELEMENTS || b_n > MAX_ELEMENTS - a_n)
        return scan_fail(ctx, SCAN_ERR_ARGUMENT, "a_n, b_n: %zu and %zu elements do not fit the address space", a_n,
                         b_n);
    return SCAN_OK;
}

/* Outputs overlap neither an input nor one another; inputs may overlap. */
static scan_status check_arrays(scan_ctx *ctx, const scan_merge_desc *desc, const scan_merge_in *a,
                                const scan_merge_in *b, void *keys_out, void *values_out) {
    const size_t key_bytes = scan_type_size(desc->type), n = a->n + b->n;
    const scan_array inputs[] = {{a->keys, a->n, key_bytes, "a_keys"},
                                 {b->keys, b->n, key_bytes, "b_keys"},
                                 {desc->a_n_device, desc->a_n_device != NULL, sizeof *desc->a_n_device, "a_n_device"},
                                 {desc->b_n_device, desc->b_n_device != NULL, sizeof *desc->b_n_device, "b_n_device"},
                                 {a->values, a->n, desc->value_bytes, "a_values"},
                                 {b->values, b->n, desc->value_bytes, "b_values"}};
    const scan_array outputs[] = {{keys_out, n, key_bytes, "keys_out"},
                                  {values_out, n, desc->value_bytes, "values_out"}};
    const size_t input_count = desc->value_bytes ? 6 : 4, output_count = desc->value_bytes ? 2 : 1;
    if (!desc->value_bytes && (a->values || b->values || values_out))
        return scan_fail(ctx, SCAN_ERR_ARGUMENT, "value_bytes is 0, but values are given");
    for (size_t i = 0; i < input_count; i++)
        SCAN_TRY(scan_check_array(ctx, inputs[i]));
    for (size_t o = 0; o < output_count; o++) {
        SCAN_TRY(scan_check_array(ctx, outputs[o]));
        for (size_t i = 0; i < input_count; i++)
            SCAN_TRY(scan_check_disjoint(ctx, inputs[i], outputs[o]));
    }
    return output_count == 2 ? scan_check_disjoint(ctx, outputs[0], outputs[1]) : SCAN_OK;
}

static scan_status merge_entered(scan_ctx *ctx, const scan_merge_desc *given, const scan_merge_in *a,
                                 const scan_merge_in *b, void *keys_out, void *values_out) {
    scan_merge_desc desc;
    SCAN_TRY(take_desc(ctx, &desc, given, a->n, b->n));
    SCAN_TRY(check_arrays(ctx, &desc, a, b, keys_out, values_out));
    return ctx->backend->merge(ctx, &desc, a, b, keys_out, values_out);
}

scan_status scan_merge(scan_ctx *ctx, const scan_merge_desc *given, const void *a_keys, const void *a_values,
                       size_t a_n, const void *b_keys, const void *b_values, size_t b_n, void *keys_out,
                       void *values_out) {
    const scan_merge_in a = {a_keys, a_values, a_n}, b = {b_keys, b_values, b_n};
    SCAN_TRY(scan_enter(ctx));
    return scan_leave(ctx, merge_entered(ctx, given, &a, &b, keys_out, values_out));
}

scan_status scan_merge_workspace(const scan_ctx *ctx, const scan_merge_desc *given, size_t a_n, size_t b_n,
                                 size_t *bytes) {
    if (!ctx || !bytes)
        return SCAN_ERR_ARGUMENT;
    scan_merge_desc desc;
    SCAN_TRY(take_desc(NULL, &desc, given, a_n, b_n));
    *bytes = ctx->backend->merge_workspace(ctx, &desc, a_n + b_n);
    return SCAN_OK;
}
