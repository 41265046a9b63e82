/* SPDX-License-Identifier: MIT
 *
 * Argument checks and defaults of the descriptor that scan_equalize and scan_clahe share.
 */
#ifndef SCAN_EQUALIZE_CHECK_H
#define SCAN_EQUALIZE_CHECK_H

#include "internal.h"

/* Copies the caller's descriptor, checks type, channels, color and reserved, and that n pixels are addressable. */
scan_status scan_check_equalize(scan_ctx *ctx, scan_equalize_desc *desc, const scan_equalize_desc *given, size_t n);

/* in and out: n pixels each; the same memory or disjoint. */
scan_status scan_check_images(scan_ctx *ctx, const scan_equalize_desc *desc, const void *in, void *out, size_t n);

#endif
