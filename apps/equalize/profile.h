/* SPDX-License-Identifier: MIT
 *
 * ICC colour profiles: found in a file, carried along as bytes that nobody looks into, and given the form that the
 * output's format has for them.
 */
#ifndef APPS_EQUALIZE_PROFILE_H
#define APPS_EQUALIZE_PROFILE_H

#include "image.h"

/* The profile in a PNG or JPEG file that probe_image has accepted, or none. One that is damaged is PROFILE_BROKEN.
 * False without memory. */
bool profile_find(const uint8_t *file, size_t bytes, image_format format, image_profile *profile);

/* The profile in the form of this format: raw for JPEG, as the content of an iCCP chunk for PNG. None if the format has
 * no place for it, or it is broken. False without memory. */
bool profile_convert(const image_profile *profile, image_format format, image_profile *converted);

void profile_free(image_profile *profile);

/* Of a raw profile in JPEG, in segments: bytes of one, and how many there may be. */
enum { PROFILE_SEGMENT_BYTES = 65519, PROFILE_SEGMENTS = 255 };
#define PROFILE_SEGMENT_HEAD "ICC_PROFILE" /* and its 0; then a byte for the segment's number, and one for how many */

#endif
