/* SPDX-License-Identifier: MIT
 *
 * Writers of the compressed image formats, for image_encode.
 */
#ifndef APPS_EQUALIZE_ENCODE_H
#define APPS_EQUALIZE_ENCODE_H

#include "image.h"

bool png_write(const char *name, const image_header *header, const void *pixels, image_file *file, image_error *error);
bool jpeg_write(const char *name, const image_header *header, const void *pixels, unsigned quality, image_file *file,
                image_error *error);

#endif
