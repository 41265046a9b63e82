/* SPDX-License-Identifier: MIT
 *
 * The EXIF orientation of an image.
 */
#ifndef APPS_EQUALIZE_ORIENTATION_H
#define APPS_EQUALIZE_ORIENTATION_H

#include "image.h"

/* Replaces the pixels by those that the orientation asks for and clears header.orientation. Frees the image on failure.
 */
bool image_upright(const char *name, image *img, image_error *error);

#endif
