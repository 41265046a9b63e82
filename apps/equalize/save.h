/* SPDX-License-Identifier: MIT
 *
 * Writing an image to a file in memory, in the format that the extension of a name asks for.
 */
#ifndef APPS_EQUALIZE_SAVE_H
#define APPS_EQUALIZE_SAVE_H

#include "image.h"

/* By the extension, in any case: png, jpg, jpeg, pgm, ppm, pnm (pgm or ppm by the channels). */
bool image_format_of_name(const char *name, uint32_t channels, image_format *format, image_error *error);

/* True if the format can hold such an image. */
bool image_format_holds(const char *name, image_format format, const image_header *header, image_error *error);

/* The whole file in memory, to be freed with free(file->data). image_format_holds has agreed. profile: in the format's
 * form (profile_convert), or none. quality: JPEG, 1 to 100. */
bool image_encode(const char *name, image_format format, const image_header *header, const void *pixels,
                  const image_profile *profile, unsigned quality, image_file *file, image_error *error);

#endif
