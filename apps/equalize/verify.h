/* SPDX-License-Identifier: MIT
 *
 * `equalize --verify`: computes the result again, from the formulas as they are written in the documentation.
 */
#ifndef APPS_EQUALIZE_VERIFY_H
#define APPS_EQUALIZE_VERIFY_H

#include "image.h"
#include "options.h"

/* True if `out` is what equalizing `in` must give. A failure with code EXIT_NEGATIVE names the first wrong pixel. */
bool equalize_verify(const char *name, const equalize_options *options, const image *in, const void *out,
                     image_error *error);

#endif
