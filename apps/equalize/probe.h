/* SPDX-License-Identifier: MIT
 *
 * Reads the header of an image file and checks that the file is whole, before a decoder sees it.
 */
#ifndef APPS_EQUALIZE_PROBE_H
#define APPS_EQUALIZE_PROBE_H

#include "image.h"

/* The format that a file begins like, IMAGE_NONE if it is not one that is read. */
image_format probe_format(const uint8_t *file, size_t bytes);

/* PNG or JPEG by magic number, else PGM or PPM (of which only the format is set), else a failure that names the kind of
 * file where it can. A PNG must have all its chunks with right checksums up to IEND, a JPEG all its segments and scans
 * up to the end-of-image marker. */
bool probe_image(const char *name, const uint8_t *file, size_t bytes, image_header *header, image_error *error);

#endif
