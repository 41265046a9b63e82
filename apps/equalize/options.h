/* SPDX-License-Identifier: MIT
 *
 * What the command line asks of every image.
 */
#ifndef APPS_EQUALIZE_OPTIONS_H
#define APPS_EQUALIZE_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "scan/scan.h"
#include "image.h"

typedef struct equalize_options {
    bool clahe;
    scan_like like;
    scan_color color;
    double clip; /* as in scan_equalize_desc */
    uint32_t tiles_x;
    uint32_t tiles_y;
    unsigned quality;
    bool verify;
    bool keep_input;      /* the plot needs it */
    size_t max_bytes;     /* of memory, of what is loaded: with -S */
    const uint64_t *bins; /* --together: the histograms that all images' tables are made of, or NULL */
    const image *mask;    /* one byte a pixel, 0 or 1; NULL: none */
} equalize_options;

/* True if red, green and blue of such an image are equalized one by one. */
static inline bool equalize_by_channels(const equalize_options *o, uint32_t channels) {
    bool separate = o->color == SCAN_COLOR_CHANNELS || (o->color == SCAN_COLOR_AUTO && !o->clahe &&
                                                        (o->like == SCAN_LIKE_PILLOW || o->like == SCAN_LIKE_VIPS));
    return channels >= 3 && separate;
}

#endif
