/* SPDX-License-Identifier: MIT
 *
 * scan_clahe: argument checks, then the backend.
 */
#include <math.h>

#include "equalize_check.h"

static scan_status check_desc(scan_ctx *ctx, scan_equalize_desc *desc, const scan_equalize_desc *given, size_t width,
                              size_t height) {
    size_t n;
    if (__builtin_mul_overflow(width, height, &n))
        return scan_fail(ctx, SCAN_ERR_ARGUMENT, "width * height: %zu * %zu pixels do not fit the address space", width,
                         height);
    SCAN_TRY(scan_check_equalize(ctx, desc, given, n));
    if (desc->color == SCAN_COLOR_AUTO)
        desc->color = SCAN_COLOR_LUMA;
    if (isnan(desc->clip))
        return scan_fail(ctx, SCAN_ERR_ARGUMENT, "clip: is not a number");
    if (desc->clip == 0)
        desc->clip = 2.0;
    if (!desc->tiles_x)
        desc->tiles_x = 8;
    if (!desc->tiles_y)
        desc->tiles_y = 8;
    /* The tables get at most a quarter of the address space, so that a backend can add an image's size to theirs. */
    size_t table_bytes = desc->type == SCAN_U8 ? 256 : 2 * 65536, tiles, bytes;
    if (__builtin_mul_overflow((size_t)desc->tiles_x, desc->tiles_y, &tiles) ||
        __builtin_mul_overflow(tiles, table_bytes, &bytes) || bytes > SIZE_MAX / 4 || width > SIZE_MAX / 64 ||
        height > SIZE_MAX / 64)
        return scan_fail(ctx, SCAN_ERR_ARGUMENT, "tiles_x, tiles_y: the tables of %u * %u tiles do not fit memory",
                         desc->tiles_x, desc->tiles_y);
    return SCAN_OK;
}

static scan_status clahe_entered(scan_ctx *ctx, const scan_equalize_desc *given, const void *in, void *out,
                                 size_t width, size_t height) {
    scan_equalize_desc desc;
    SCAN_TRY(check_desc(ctx, &desc, given, width, height));
    SCAN_TRY(scan_check_images(ctx, &desc, in, out, width * height));
    if (width == 0 || height == 0)
        return SCAN_OK;
    return ctx->backend->clahe(ctx, &desc, in, out, width, height);
}

scan_status scan_clahe(scan_ctx *ctx, const scan_equalize_desc *given, const void *in, void *out, size_t width,
                       size_t height) {
    SCAN_TRY(scan_enter(ctx));
    return scan_leave(ctx, clahe_entered(ctx, given, in, out, width, height));
}

scan_status scan_clahe_workspace(const scan_ctx *ctx, const scan_equalize_desc *given, size_t width, size_t height,
                                 size_t *bytes) {
    if (!ctx || !bytes)
        return SCAN_ERR_ARGUMENT;
    scan_equalize_desc desc;
    SCAN_TRY(check_desc(NULL, &desc, given, width, height));
    *bytes = ctx->backend->clahe_workspace(ctx, &desc, width, height);
    return SCAN_OK;
}
