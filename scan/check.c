/* SPDX-License-Identifier: MIT
 *
 * Argument checks shared by the verbs.
 */
#include <string.h>

#include "internal.h"

scan_status scan_take_struct(scan_ctx *ctx, void *copy, const void *from, size_t first_size, size_t known_size,
                             const char *what) {
    if (!from)
        return scan_fail(ctx, SCAN_ERR_ARGUMENT, "%s: is NULL", what);
    uint32_t size;
    memcpy(&size, from, sizeof size);
    if (size < first_size)
        return scan_fail(ctx, SCAN_ERR_VERSION, "%s: struct_size is %u, this library knows %zu", what, size,
                         known_size);
    for (size_t i = known_size; i < size; i++)
        if (((const unsigned char *)from)[i])
            return scan_fail(ctx, SCAN_ERR_VERSION, "%s: a field that this library does not know is set", what);
    const size_t has = size < known_size ? size : known_size;
    memcpy(copy, from, has);
    memset((char *)copy + has, 0, known_size - has);
    return SCAN_OK;
}

scan_status scan_give_struct(void *to, const void *from, size_t first_size, size_t known_size) {
    uint32_t size;
    memcpy(&size, to, sizeof size);
    if (size < first_size)
        return SCAN_ERR_VERSION;
    memset(to, 0, size);
    memcpy(to, from, size < known_size ? size : known_size);
    memcpy(to, &size, sizeof size);
    return SCAN_OK;
}

scan_status scan_check_type(scan_ctx *ctx, scan_type type, const char *what) {
    if (scan_type_size(type) == 0)
        return scan_fail(ctx, SCAN_ERR_TYPE, "%s: %d is not an element type", what, (int)type);
    return SCAN_OK;
}

scan_status scan_check_grid(scan_ctx *ctx, scan_grid grid, const char *what) {
    if (!scan_grid_name(grid))
        return scan_fail(ctx, SCAN_ERR_ARGUMENT, "%s: %d is not in the enum", what, (int)grid);
    return SCAN_OK;
}

scan_status scan_check_array(scan_ctx *ctx, scan_array array) {
    if (array.count == 0)
        return SCAN_OK;
    if (!array.pointer)
        return scan_fail(ctx, SCAN_ERR_ARGUMENT, "%s: is NULL", array.name);
    if ((uintptr_t)array.pointer % array.size)
        return scan_fail(ctx, SCAN_ERR_ALIGNMENT, "%s: not aligned to its %zu-byte elements", array.name, array.size);
    if (array.count > (SIZE_MAX - (uintptr_t)array.pointer) / array.size)
        return scan_fail(ctx, SCAN_ERR_ARGUMENT, "%s: %zu elements do not fit the address space", array.name,
                         array.count);
    if (ctx && ctx->backend->check_memory)
        return ctx->backend->check_memory(ctx, array.pointer, array.name);
    return SCAN_OK;
}

bool scan_arrays_overlap(scan_array a, scan_array b) {
    if (!a.pointer || !b.pointer || a.count == 0 || b.count == 0)
        return false;
    uintptr_t a0 = (uintptr_t)a.pointer, b0 = (uintptr_t)b.pointer;
    return a0 < b0 + b.count * b.size && b0 < a0 + a.count * a.size;
}

scan_status scan_check_disjoint(scan_ctx *ctx, scan_array a, scan_array b) {
    if (scan_arrays_overlap(a, b))
        return scan_fail(ctx, SCAN_ERR_OVERLAP, "%s and %s overlap", a.name, b.name);
    return SCAN_OK;
}

scan_status scan_settle_index_type(scan_ctx *ctx, scan_type *type, uint64_t index_base, size_t n) {
    const uint64_t u32_indices = 1ull << 32;
    if (n > UINT64_MAX - index_base)
        return scan_fail(ctx, SCAN_ERR_ARGUMENT, "desc.index_base: index_base + n does not fit 64 bits");
    if (*type == SCAN_TYPE_NONE)
        *type = index_base + n < u32_indices ? SCAN_U32 : SCAN_U64;
    if (*type != SCAN_U32 && *type != SCAN_U64)
        return scan_fail(ctx, SCAN_ERR_TYPE, "desc.index_type: %d is neither u32 nor u64", (int)*type);
    if (*type == SCAN_U32 && index_base + n > u32_indices)
        return scan_fail(ctx, SCAN_ERR_ARGUMENT, "desc.index_type: u32 cannot hold the indices up to index_base + n");
    return SCAN_OK;
}
