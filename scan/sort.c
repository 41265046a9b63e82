/* SPDX-License-Identifier: MIT
 *
 * scan_sort and scan_argsort: argument checks, then the backend.
 */
#include <stddef.h>

#include "internal.h"

SCAN_FIRST_STRUCT(scan_sort_desc, n_device, 48);

/* Up to this length the sum of the sizes of a few arrays does not overflow. */
static const size_t MAX_ELEMENTS = SIZE_MAX / 64;

static scan_status check_bits(scan_ctx *ctx, scan_sort_desc *desc) {
    uint32_t width = (uint32_t)(8 * scan_type_size(desc->type));
    if (desc->end_bit == 0)
        desc->end_bit = width;
    if (desc->end_bit > width)
        return scan_fail(ctx, SCAN_ERR_ARGUMENT, "end_bit: %u, but %s has %u bits", desc->end_bit,
                         scan_type_name(desc->type), width);
    if (desc->begin_bit > desc->end_bit)
        return scan_fail(ctx, SCAN_ERR_ARGUMENT, "begin_bit: %u lies after end_bit %u", desc->begin_bit, desc->end_bit);
    if (scan_is_float(desc->type) && (desc->begin_bit != 0 || desc->end_bit != width))
        return scan_fail(ctx, SCAN_ERR_ARGUMENT, "begin_bit, end_bit: floats are sorted by all their bits");
    return SCAN_OK;
}

/* Copies the descriptor, checks the fields that sort and argsort share and fills in their defaults. */
static scan_status take_desc(scan_ctx *ctx, scan_sort_desc *copy, const scan_sort_desc *desc, size_t n) {
    SCAN_TRY(scan_take_struct(ctx, copy, desc, scan_sort_desc_first_size, sizeof *copy, "scan_sort_desc"));
    SCAN_TRY(scan_check_type(ctx, copy->type, "type"));
    if (copy->descending > 1 || copy->nan_first > 1)
        return scan_fail(ctx, SCAN_ERR_ARGUMENT, "descending, nan_first: %u, %u, each is 0 or 1", copy->descending,
                         copy->nan_first);
    if (!scan_sort_method_name(copy->method))
        return scan_fail(ctx, SCAN_ERR_ARGUMENT, "method: %d is not a sort method", (int)copy->method);
    if (copy->reserved)
        return scan_fail(ctx, SCAN_ERR_ARGUMENT, "reserved: %u, must be 0", copy->reserved);
    if (n > MAX_ELEMENTS)
        return scan_fail(ctx, SCAN_ERR_ARGUMENT, "n: %zu elements do not fit the address space", n);
    return check_bits(ctx, copy);
}

static scan_status take_sort_desc(scan_ctx *ctx, scan_sort_desc *copy, const scan_sort_desc *desc, size_t n) {
    SCAN_TRY(take_desc(ctx, copy, desc, n));
    if (copy->value_bytes != 0 && copy->value_bytes != 4 && copy->value_bytes != 8)
        return scan_fail(ctx, SCAN_ERR_ARGUMENT, "value_bytes: %u, must be 0, 4 or 8", copy->value_bytes);
    return SCAN_OK;
}

static scan_status take_argsort_desc(scan_ctx *ctx, scan_sort_desc *copy, const scan_sort_desc *desc, size_t n) {
    SCAN_TRY(take_desc(ctx, copy, desc, n));
    if (copy->index_type == SCAN_TYPE_NONE)
        copy->index_type = n <= UINT32_MAX ? SCAN_U32 : SCAN_U64;
    if (copy->index_type != SCAN_U32 && copy->index_type != SCAN_U64)
        return scan_fail(ctx, SCAN_ERR_TYPE, "index_type: %d, must be u32 or u64", (int)copy->index_type);
    if (copy->index_type == SCAN_U32 && n > (size_t)UINT32_MAX + 1)
        return scan_fail(ctx, SCAN_ERR_ARGUMENT, "index_type: u32 cannot number %zu elements", n);
    copy->value_bytes = (uint32_t)scan_type_size(copy->index_type);
    return SCAN_OK;
}

static scan_status check_values(scan_ctx *ctx, const scan_sort_desc *desc, scan_array in, scan_array out,
                                scan_array keys_in, scan_array keys_out) {
    if (desc->value_bytes == 0) {
        if (in.pointer || out.pointer)
            return scan_fail(ctx, SCAN_ERR_ARGUMENT, "value_bytes is 0, but values are given");
        return SCAN_OK;
    }
    SCAN_TRY(scan_check_array(ctx, in));
    SCAN_TRY(scan_check_array(ctx, out));
    if (in.pointer != out.pointer)
        SCAN_TRY(scan_check_disjoint(ctx, in, out));
    SCAN_TRY(scan_check_disjoint(ctx, keys_in, out));
    SCAN_TRY(scan_check_disjoint(ctx, keys_out, in));
    return scan_check_disjoint(ctx, keys_out, out);
}

/* n_device is read while the outputs are written. */
static scan_status check_count(scan_ctx *ctx, const scan_sort_desc *desc, scan_array keys_out, scan_array values_out) {
    scan_array count = {desc->n_device, desc->n_device ? 1 : 0, sizeof *desc->n_device, "n_device"};
    SCAN_TRY(scan_check_array(ctx, count));
    SCAN_TRY(scan_check_disjoint(ctx, count, keys_out));
    return scan_check_disjoint(ctx, count, values_out);
}

static scan_status sort_entered(scan_ctx *ctx, const scan_sort_desc *given, const void *keys_in, void *keys_out,
                                const void *values_in, void *values_out, size_t n) {
    scan_sort_desc desc;
    SCAN_TRY(take_sort_desc(ctx, &desc, given, n));
    size_t key_bytes = scan_type_size(desc.type);
    scan_array in = {keys_in, n, key_bytes, "keys_in"};
    scan_array out = {keys_out, n, key_bytes, "keys_out"};
    scan_array carried_in = {values_in, n, desc.value_bytes, "values_in"};
    scan_array carried_out = {values_out, n, desc.value_bytes, "values_out"};
    SCAN_TRY(scan_check_array(ctx, in));
    SCAN_TRY(scan_check_array(ctx, out));
    if (keys_in != keys_out)
        SCAN_TRY(scan_check_disjoint(ctx, in, out));
    SCAN_TRY(check_values(ctx, &desc, carried_in, carried_out, in, out));
    SCAN_TRY(check_count(ctx, &desc, out, carried_out));
    return ctx->backend->sort(ctx, &desc, keys_in, keys_out, values_in, values_out, n);
}

scan_status scan_sort(scan_ctx *ctx, const scan_sort_desc *given, const void *keys_in, void *keys_out,
                      const void *values_in, void *values_out, size_t n) {
    SCAN_TRY(scan_enter(ctx));
    return scan_leave(ctx, sort_entered(ctx, given, keys_in, keys_out, values_in, values_out, n));
}

scan_status scan_sort_workspace(const scan_ctx *ctx, const scan_sort_desc *given, size_t n, size_t *bytes) {
    if (!ctx || !bytes)
        return SCAN_ERR_ARGUMENT;
    scan_sort_desc desc;
    SCAN_TRY(take_sort_desc(NULL, &desc, given, n));
    *bytes = ctx->backend->sort_workspace(ctx, &desc, n);
    return SCAN_OK;
}

static scan_status argsort_entered(scan_ctx *ctx, const scan_sort_desc *given, const void *keys, void *indices,
                                   size_t n) {
    scan_sort_desc desc;
    SCAN_TRY(take_argsort_desc(ctx, &desc, given, n));
    scan_array in = {keys, n, scan_type_size(desc.type), "keys"};
    scan_array out = {indices, n, desc.value_bytes, "indices"};
    SCAN_TRY(scan_check_array(ctx, in));
    SCAN_TRY(scan_check_array(ctx, out));
    SCAN_TRY(scan_check_disjoint(ctx, in, out));
    SCAN_TRY(check_count(ctx, &desc, (scan_array){0}, out));
    return ctx->backend->argsort(ctx, &desc, keys, indices, n);
}

scan_status scan_argsort(scan_ctx *ctx, const scan_sort_desc *given, const void *keys, void *indices, size_t n) {
    SCAN_TRY(scan_enter(ctx));
    return scan_leave(ctx, argsort_entered(ctx, given, keys, indices, n));
}

scan_status scan_argsort_workspace(const scan_ctx *ctx, const scan_sort_desc *given, size_t n, size_t *bytes) {
    if (!ctx || !bytes)
        return SCAN_ERR_ARGUMENT;
    scan_sort_desc desc;
    SCAN_TRY(take_argsort_desc(NULL, &desc, given, n));
    *bytes = ctx->backend->argsort_workspace(ctx, &desc, n);
    return SCAN_OK;
}
