/* SPDX-License-Identifier: MIT
 *
 * Histogram and cumulative distribution before and after, side by side, as an SVG file.
 */
#ifndef APPS_EQUALIZE_PLOT_H
#define APPS_EQUALIZE_PLOT_H

#include <stddef.h>
#include <stdint.h>

#include "apps/support/output.h"

enum { PLOT_MAX_CHANNELS = 3 };

typedef struct plot_side {
    const char *title;      /* "before" */
    const uint64_t *counts; /* channels histograms of `bins` counts */
} plot_side;

typedef struct plot {
    const char *title;
    uint32_t bins;     /* 256 or 65,536 */
    uint32_t channels; /* 1, or 3 for red, green and blue */
    plot_side sides[2];
} plot;

void plot_write(const plot *p, output *out);

#endif
