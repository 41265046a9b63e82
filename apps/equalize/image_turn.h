/* SPDX-License-Identifier: MIT
 *
 * Turning an image upright.
 */
#ifndef APPS_EQUALIZE_IMAGE_TURN_H
#define APPS_EQUALIZE_IMAGE_TURN_H

#include "image.h"

/* Replaces the pixels by those the EXIF orientation asks for and clears header.turn. Frees the image on failure. */
bool image_upright(const char *name, image *img, image_error *error);

#endif
