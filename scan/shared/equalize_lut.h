/* SPDX-License-Identifier: MIT
 *
 * The look-up tables of equalization, shared by the backends: the formulas of scan.h (enum scan_like) on the scanned
 * histogram of one channel. Every entry depends only on a few numbers about the whole histogram (scan_lut_facts) and on
 * the prefix sums at that entry, so a table can be filled in any order and in parallel.
 *
 * The rounding is that of the implementations reproduced: float32 or double exactly where they use it, one operation at
 * a time. Nothing here may be contracted to fused multiply-add (-ffp-contract=off, -fmad=false).
 */
#ifndef SCAN_SHARED_EQUALIZE_LUT_H
#define SCAN_SHARED_EQUALIZE_LUT_H

#include <math.h>
#include <stdbool.h>

#include "../scan.h"

#ifdef __CUDACC__
#define SCAN_LUT_FN static inline __host__ __device__
#else
#define SCAN_LUT_FN static inline
#endif

/* What the formulas use of a histogram h of `bins` bins with inclusive scan C. */
typedef struct scan_lut_facts {
    uint64_t total;       /* C[bins - 1] */
    uint64_t at_zero;     /* h[0] */
    uint64_t first_count; /* h[first] */
    uint64_t last_count;  /* h[last] */
    uint32_t first;       /* the first nonzero bin */
    uint32_t last;        /* the last nonzero bin */
    uint32_t largest;     /* vips, 16 bits: the largest sample counted in any channel of the image, alpha included */
    uint32_t top;         /* largest sample value: 255 or 65535 */
} scan_lut_facts;

/* True if the formula leaves the image as it is; true for a histogram without counts. */
SCAN_LUT_FN bool scan_lut_is_identity(scan_like like, const scan_lut_facts *f) {
    if (f->total == 0)
        return true;
    switch (like) {
    case SCAN_LIKE_OPENCV: return f->first_count == f->total;
    case SCAN_LIKE_PILLOW: return f->first_count == f->total || (f->total - f->last_count) / f->top == 0;
    case SCAN_LIKE_IMAGEMAGICK: return f->total == f->at_zero;
    case SCAN_LIKE_VIPS:
    case SCAN_LIKE_SKIMAGE: return false;
    }
    return true;
}

/* Returns the entry of sample value i, unless the table is the identity. inclusive is C[i], exclusive is C[i - 1] (0
 * for i = 0); for imagemagick with 8-bit samples, whose histogram has 65,536 bins, those at bin 257 i. */
SCAN_LUT_FN uint32_t scan_lut_entry(scan_like like, const scan_lut_facts *f, uint32_t i, uint64_t inclusive,
                                    uint64_t exclusive) {
    const uint32_t top = f->top;
    switch (like) {
    case SCAN_LIKE_OPENCV: {
        if (i <= f->first)
            return 0;
        const float scale = (float)top / (float)(f->total - f->first_count);
        const float value = rintf((float)(inclusive - f->first_count) * scale);
        return value >= (float)top ? top : (uint32_t)value;
    }
    case SCAN_LIKE_PILLOW: {
        const uint64_t step = (f->total - f->last_count) / top;
        const uint64_t value = (step / 2 + exclusive) / step;
        return value >= top ? top : (uint32_t)value;
    }
    case SCAN_LIKE_IMAGEMAGICK: {
        const double share = 65535.0 * (double)(inclusive - f->at_zero) / (double)(f->total - f->at_zero);
        const uint32_t value = (uint32_t)(share + 0.5);
        return top == 255 ? value / 257 : value;
    }
    case SCAN_LIKE_VIPS: {
        const float scale = (float)((double)(top == 255 ? 255 : f->largest) / (double)f->total);
        const float value = floorf(scale * (float)inclusive);
        return value >= (float)top ? top : (uint32_t)value;
    }
    case SCAN_LIKE_SKIMAGE: {
        const double value = (double)top * ((double)inclusive / (double)f->total);
        return (uint32_t)rint(value);
    }
    }
    return i;
}

#ifndef __CUDACC__
/* Fills lut (256 or 65,536 entries of type) from the histogram of one channel on the host. bin_type is the type of the
 * histogram's samples: type, or U16 for the 65,536-bin histogram of 8-bit samples that imagemagick's luma needs.
 * largest is scan_lut_facts.largest. */
void scan_equalize_lut(scan_like like, scan_type type, scan_type bin_type, const uint64_t *bins, uint32_t largest,
                       void *lut);

/* Returns the last nonzero bin of a histogram; 0 if all are zero. */
uint32_t scan_equalize_largest(const uint64_t *bins, size_t count);
#endif

#endif
