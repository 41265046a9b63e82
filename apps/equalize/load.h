/* SPDX-License-Identifier: MIT
 *
 * Reading an image from a file. PNG and JPEG are decoded in child processes (sandbox.h), PGM and PPM by pnm.h.
 */
#ifndef APPS_EQUALIZE_LOAD_H
#define APPS_EQUALIZE_LOAD_H

#include "image.h"

typedef struct image_load image_load;

/* Reads the file ("-" or NULL: stdin), checks its structure and starts to decode it in a child process, so that several
 * images can be on their way at once. A failure if the work on it needs more memory than max_bytes, which the message
 * then says. Needs sandbox_start. Never NULL except without memory. Any thread may call it. */
image_load *image_load_start(const char *path, size_t max_bytes);

/* Waits for the pixels. Frees the load in any case; a load that is NULL fails for lack of memory. */
bool image_load_finish(image_load *load, image *out, image_error *error);

/* The same for a file already in memory; `name` is for messages. The bytes must stay until the call to finish. */
image_load *image_load_memory(const char *name, const uint8_t *file, size_t file_bytes);

#endif
