/* SPDX-License-Identifier: MIT
 *
 * scan_equalize: argument checks, then the backend. An empty image still has tables and a histogram, so the backend is
 * called with n == 0 if luts or bins_out is given.
 */
#include "equalize_check.h"

SCAN_FIRST_STRUCT(scan_equalize_desc, mask, 48);

scan_status scan_check_equalize(scan_ctx *ctx, scan_equalize_desc *desc, const scan_equalize_desc *given, size_t n) {
    SCAN_TRY(scan_take_struct(ctx, desc, given, scan_equalize_desc_first_size, sizeof *desc, "scan_equalize_desc"));
    if (desc->type != SCAN_U8 && desc->type != SCAN_U16) {
        SCAN_TRY(scan_check_type(ctx, desc->type, "type"));
        return scan_fail(ctx, SCAN_ERR_TYPE, "type: %s, but samples are u8 or u16", scan_type_name(desc->type));
    }
    if (desc->channels > 4)
        return scan_fail(ctx, SCAN_ERR_ARGUMENT, "channels: %u, at most 4", desc->channels);
    if ((unsigned)desc->like > SCAN_LIKE_SKIMAGE)
        return scan_fail(ctx, SCAN_ERR_ARGUMENT, "like: %d is not a formula", (int)desc->like);
    if ((unsigned)desc->color > SCAN_COLOR_CHANNELS)
        return scan_fail(ctx, SCAN_ERR_ARGUMENT, "color: %d is not a way to treat colour", (int)desc->color);
    if (desc->reserved)
        return scan_fail(ctx, SCAN_ERR_ARGUMENT, "reserved: is not 0");
    if (!desc->channels)
        desc->channels = 1;
    if (n > SIZE_MAX / desc->channels / scan_type_size(desc->type))
        return scan_fail(ctx, SCAN_ERR_ARGUMENT, "%zu pixels of %u samples do not fit the address space", n,
                         desc->channels);
    return SCAN_OK;
}

scan_status scan_check_images(scan_ctx *ctx, const scan_equalize_desc *desc, const void *in, void *out, size_t n) {
    scan_array source = {in, n * desc->channels, scan_type_size(desc->type), "in"};
    scan_array result = {out, n * desc->channels, scan_type_size(desc->type), "out"};
    SCAN_TRY(scan_check_array(ctx, source));
    SCAN_TRY(scan_check_array(ctx, result));
    return in == out ? SCAN_OK : scan_check_disjoint(ctx, source, result);
}

static scan_status check_desc(scan_ctx *ctx, scan_equalize_desc *desc, const scan_equalize_desc *given, size_t n) {
    SCAN_TRY(scan_check_equalize(ctx, desc, given, n));
    if (desc->color == SCAN_COLOR_AUTO)
        desc->color =
            desc->like == SCAN_LIKE_PILLOW || desc->like == SCAN_LIKE_VIPS ? SCAN_COLOR_CHANNELS : SCAN_COLOR_LUMA;
    return SCAN_OK;
}

/* Histograms that tables are made of: one for grey and luma, three for channels; of 65,536 bins for the luma of
 * imagemagick. vips scales 16-bit images by the largest sample of all channels. */
static size_t bins_of(const scan_equalize_desc *desc) {
    const bool color = desc->channels >= 3, words = desc->type == SCAN_U16;
    if (color && desc->color == SCAN_COLOR_LUMA)
        return words || desc->like == SCAN_LIKE_IMAGEMAGICK ? 65536 : 256;
    const size_t planes = words && desc->like == SCAN_LIKE_VIPS ? desc->channels : color ? 3 : 1;
    return planes * (words ? 65536 : 256);
}

/* bins_in and bins_out may be the same memory: it then stays as it is. */
static scan_status check_bins(scan_ctx *ctx, const scan_equalize_desc *desc, const void *in, void *out, void *luts,
                              size_t n) {
    const size_t size = scan_type_size(desc->type), tables = luts ? 3 * (size == 1 ? 256u : 65536u) : 0;
    const scan_array from = {desc->bins_in, desc->bins_in ? bins_of(desc) : 0, 8, "bins_in"};
    const scan_array to = {desc->bins_out, desc->bins_out ? bins_of(desc) : 0, 8, "bins_out"};
    const scan_array others[] = {{in, n * desc->channels, size, "in"},
                                 {out, n * desc->channels, size, "out"},
                                 {desc->mask, desc->mask ? n : 0, 1, "mask"},
                                 {luts, tables, size, "luts"}};
    SCAN_TRY(scan_check_array(ctx, from));
    SCAN_TRY(scan_check_array(ctx, to));
    for (int i = 0; i < 4; i++) {
        SCAN_TRY(scan_check_disjoint(ctx, to, others[i]));
        if (i % 2) /* written */
            SCAN_TRY(scan_check_disjoint(ctx, from, others[i]));
    }
    return desc->bins_in == desc->bins_out ? SCAN_OK : scan_check_disjoint(ctx, from, to);
}

static scan_status check_luts(scan_ctx *ctx, const scan_equalize_desc *desc, const void *in, void *out, void *luts,
                              size_t n) {
    size_t size = scan_type_size(desc->type);
    size_t tables = desc->channels >= 3 && desc->color == SCAN_COLOR_CHANNELS ? 3 : 1;
    scan_array source = {in, n * desc->channels, size, "in"};
    scan_array result = {out, n * desc->channels, size, "out"};
    scan_array mask = {desc->mask, desc->mask ? n : 0, 1, "mask"};
    scan_array table = {luts, luts ? tables * (size == 1 ? 256u : 65536u) : 0, size, "luts"};
    SCAN_TRY(scan_check_array(ctx, mask));
    SCAN_TRY(scan_check_array(ctx, table));
    SCAN_TRY(scan_check_disjoint(ctx, source, table));
    SCAN_TRY(scan_check_disjoint(ctx, result, table));
    SCAN_TRY(scan_check_disjoint(ctx, mask, table));
    return scan_check_disjoint(ctx, mask, result);
}

static scan_status equalize_entered(scan_ctx *ctx, const scan_equalize_desc *given, const void *in, void *out,
                                    void *luts, size_t n) {
    scan_equalize_desc desc;
    SCAN_TRY(check_desc(ctx, &desc, given, n));
    const bool count_only = desc.bins_out && !out && !luts;
    SCAN_TRY(scan_check_images(ctx, &desc, in, count_only ? (void *)(uintptr_t)in : out, n));
    SCAN_TRY(check_luts(ctx, &desc, in, out, luts, n));
    SCAN_TRY(check_bins(ctx, &desc, in, out, luts, n));
    if (n == 0 && !luts && !desc.bins_out)
        return SCAN_OK;
    return ctx->backend->equalize(ctx, &desc, in, out, luts, n);
}

scan_status scan_equalize(scan_ctx *ctx, const scan_equalize_desc *given, const void *in, void *out, void *luts,
                          size_t n) {
    SCAN_TRY(scan_enter(ctx));
    return scan_leave(ctx, equalize_entered(ctx, given, in, out, luts, n));
}

scan_status scan_equalize_bins(const scan_equalize_desc *given, size_t *count) {
    if (!count)
        return SCAN_ERR_ARGUMENT;
    scan_equalize_desc desc;
    SCAN_TRY(check_desc(NULL, &desc, given, 0));
    *count = bins_of(&desc);
    return SCAN_OK;
}

scan_status scan_equalize_workspace(const scan_ctx *ctx, const scan_equalize_desc *given, size_t n, size_t *bytes) {
    if (!ctx || !bytes)
        return SCAN_ERR_ARGUMENT;
    scan_equalize_desc desc;
    SCAN_TRY(check_desc(NULL, &desc, given, n));
    *bytes = ctx->backend->equalize_workspace(ctx, &desc, n);
    return SCAN_OK;
}
