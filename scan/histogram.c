/* SPDX-License-Identifier: MIT
 *
 * scan_histogram: argument checks, then the backend. The histogram of an empty image is all zero, so the backend is
 * called with n == 0 if there are bins to clear.
 */
#include "internal.h"

SCAN_FIRST_STRUCT(scan_histogram_desc, n_device, 32);

static scan_status check_desc(scan_ctx *ctx, scan_histogram_desc *desc, const scan_histogram_desc *given, size_t n) {
    SCAN_TRY(scan_take_struct(ctx, desc, given, scan_histogram_desc_first_size, sizeof *desc, "scan_histogram_desc"));
    if (desc->type != SCAN_U8 && desc->type != SCAN_U16) {
        SCAN_TRY(scan_check_type(ctx, desc->type, "type"));
        return scan_fail(ctx, SCAN_ERR_TYPE, "type: %s, but samples are u8 or u16", scan_type_name(desc->type));
    }
    if (desc->channels > 4)
        return scan_fail(ctx, SCAN_ERR_ARGUMENT, "channels: %u, at most 4", desc->channels);
    if (desc->reserved)
        return scan_fail(ctx, SCAN_ERR_ARGUMENT, "reserved: is not 0");
    if (!desc->channels)
        desc->channels = 1;
    if (n > SIZE_MAX / desc->channels / scan_type_size(desc->type))
        return scan_fail(ctx, SCAN_ERR_ARGUMENT, "n: %zu pixels of %u samples do not fit the address space", n,
                         desc->channels);
    return SCAN_OK;
}

static scan_status histogram_entered(scan_ctx *ctx, const scan_histogram_desc *given, const void *in, uint64_t *bins,
                                     size_t n) {
    scan_histogram_desc desc;
    SCAN_TRY(check_desc(ctx, &desc, given, n));
    if (n == 0 && !bins)
        return SCAN_OK;
    size_t bin_count = (desc.type == SCAN_U8 ? 256u : 65536u) * (size_t)desc.channels;
    scan_array samples = {in, n * desc.channels, scan_type_size(desc.type), "in"};
    scan_array mask = {desc.mask, desc.mask ? n : 0, 1, "mask"};
    scan_array counts = {bins, bin_count, sizeof *bins, "bins"};
    scan_array count = {desc.n_device, desc.n_device ? 1 : 0, sizeof *desc.n_device, "n_device"};
    SCAN_TRY(scan_check_array(ctx, samples));
    SCAN_TRY(scan_check_array(ctx, mask));
    SCAN_TRY(scan_check_array(ctx, counts));
    SCAN_TRY(scan_check_array(ctx, count));
    SCAN_TRY(scan_check_disjoint(ctx, samples, counts));
    SCAN_TRY(scan_check_disjoint(ctx, mask, counts));
    SCAN_TRY(scan_check_disjoint(ctx, count, counts));
    return ctx->backend->histogram(ctx, &desc, in, bins, n);
}

scan_status scan_histogram(scan_ctx *ctx, const scan_histogram_desc *given, const void *in, uint64_t *bins, size_t n) {
    SCAN_TRY(scan_enter(ctx));
    return scan_leave(ctx, histogram_entered(ctx, given, in, bins, n));
}

scan_status scan_histogram_workspace(const scan_ctx *ctx, const scan_histogram_desc *given, size_t n, size_t *bytes) {
    if (!ctx || !bytes)
        return SCAN_ERR_ARGUMENT;
    scan_histogram_desc desc;
    SCAN_TRY(check_desc(NULL, &desc, given, n));
    *bytes = ctx->backend->histogram_workspace(ctx, &desc, n);
    return SCAN_OK;
}
