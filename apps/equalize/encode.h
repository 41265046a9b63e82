/* SPDX-License-Identifier: MIT
 *
 * Writers of the compressed image formats, for image_encode.
 */
#ifndef APPS_EQUALIZE_ENCODE_H
#define APPS_EQUALIZE_ENCODE_H

#include "image.h"

/* profile: in the format's form (profile_convert), or none. */
bool png_write(const char *name, const image_header *header, const void *pixels, const image_profile *profile,
               image_file *file, image_error *error);
bool jpeg_write(const char *name, const image_header *header, const void *pixels, const image_profile *profile,
                unsigned quality, image_file *file, image_error *error);

#endif
