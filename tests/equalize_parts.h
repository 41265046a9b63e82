/* SPDX-License-Identifier: MIT
 *
 * An image equalized in two parts, for the tests of both backends: each part is counted, the histograms are added, and
 * each part is mapped by the tables of the sums (scan_equalize_desc.bins_in and bins_out).
 */
#ifndef TESTS_EQUALIZE_PARTS_H
#define TESTS_EQUALIZE_PARTS_H

#include <stdlib.h>

#include "scan/scan.h"

typedef struct equalize_part {
    void *in, *out, *mask, *bins, *luts; /* context memory */
    size_t n, bytes;
} equalize_part;

static inline scan_status equalize_count_part(scan_ctx *ctx, const scan_equalize_desc *whole, equalize_part *p,
                                              const void *in, const uint8_t *mask, size_t bins) {
    scan_equalize_desc desc = *whole;
    scan_status s = scan_malloc(ctx, p->bytes, &p->in);
    s = s ? s : scan_malloc(ctx, p->bytes, &p->out);
    s = s ? s : scan_malloc(ctx, p->n, &p->mask);
    s = s ? s : scan_malloc(ctx, bins * sizeof(uint64_t), &p->bins);
    s = s ? s : scan_malloc(ctx, 3 * 65536 * sizeof(uint16_t), &p->luts);
    s = s ? s : scan_upload(ctx, p->in, in, p->bytes);
    if (mask && p->n) {
        s = s ? s : scan_upload(ctx, p->mask, mask, p->n);
        desc.mask = (const uint8_t *)p->mask;
    }
    desc.bins_out = (uint64_t *)p->bins;
    return s ? s : scan_equalize(ctx, &desc, p->in, NULL, NULL, p->n);
}

static inline scan_status equalize_add_parts(scan_ctx *ctx, const equalize_part *a, const equalize_part *b,
                                             size_t bins) {
    uint64_t *sums = (uint64_t *)calloc(2 * bins, sizeof *sums);
    scan_status s = scan_download(ctx, sums, a->bins, bins * sizeof *sums);
    s = s ? s : scan_download(ctx, sums + bins, b->bins, bins * sizeof *sums);
    s = s ? s : scan_ctx_sync(ctx);
    for (size_t i = 0; i < bins; i++)
        sums[i] += sums[bins + i];
    s = s ? s : scan_upload(ctx, a->bins, sums, bins * sizeof *sums);
    s = s ? s : scan_upload(ctx, b->bins, sums, bins * sizeof *sums);
    s = s ? s : scan_ctx_sync(ctx);
    free(sums);
    return s;
}

/* in, out, luts and the descriptor's mask are in host memory; luts receives lut_bytes. The first part has `cut` pixels
 * of n. bins_out of the second call must be what bins_in was. */
static inline scan_status equalize_in_parts(scan_ctx *ctx, const scan_equalize_desc *whole, const void *in, void *out,
                                            void *luts, size_t lut_bytes, size_t n, size_t cut) {
    const size_t pixel = whole->channels * scan_type_size(whole->type);
    equalize_part parts[2] = {{0}};
    size_t bins, at = 0;
    scan_status s = scan_equalize_bins(whole, &bins);
    for (int i = 0; i < 2; i++, at = cut) {
        parts[i].n = i ? n - cut : cut;
        parts[i].bytes = parts[i].n * pixel;
        s = s ? s
              : equalize_count_part(ctx, whole, &parts[i], (const char *)in + at * pixel,
                                    whole->mask ? whole->mask + at : NULL, bins);
    }
    s = s ? s : equalize_add_parts(ctx, &parts[0], &parts[1], bins);
    at = 0;
    for (int i = 0; i < 2; i++, at = cut) {
        scan_equalize_desc desc = *whole;
        desc.mask = NULL;
        desc.bins_in = (const uint64_t *)parts[i].bins;
        s = s ? s : scan_equalize(ctx, &desc, parts[i].in, parts[i].out, i ? parts[i].luts : NULL, parts[i].n);
        s = s ? s : scan_download(ctx, (char *)out + at * pixel, parts[i].out, parts[i].bytes);
    }
    s = s ? s : scan_download(ctx, luts, parts[1].luts, lut_bytes);
    s = s ? s : scan_ctx_sync(ctx);
    for (int i = 0; i < 2; i++) {
        scan_free(ctx, parts[i].in);
        scan_free(ctx, parts[i].out);
        scan_free(ctx, parts[i].mask);
        scan_free(ctx, parts[i].bins);
        scan_free(ctx, parts[i].luts);
    }
    return s;
}

#endif
