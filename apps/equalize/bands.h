/* SPDX-License-Identifier: MIT
 *
 * equalize: an image that is larger than the memory it may have, in bands of pixels. The file is read twice: for the
 * histogram, and for the map. Binary PGM and PPM from a regular file to the same, by --method global, without --plot
 * and --verify, which need the whole image.
 */
#ifndef APPS_EQUALIZE_BANDS_H
#define APPS_EQUALIZE_BANDS_H

#include "apps/support/input.h"
#include "apps/support/output.h"
#include "pnm.h"
#include "program.h"

typedef struct bands_image {
    input in;
    pnm_layout layout;
} bands_image;

/* Returns true if the image at path (NULL: stdin) is one for bands, which is then open. */
bool bands_open(bands_image *image, const program *p, const char *path);

/* Equalizes it into the output; closes it. A failure ends the program. */
void bands_run(bands_image *image, program *p, output *out);

#endif
