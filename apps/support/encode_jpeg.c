/* SPDX-License-Identifier: MIT
 *
 * JPEG through stb_image_write: baseline, 4:4:4 above quality 90, else 4:2:0.
 */
#include "apps/support/encode.h"

#include <stdlib.h>

#include "apps/support/cli.h"

#define STB_IMAGE_WRITE_IMPLEMENTATION
#define STBI_WRITE_NO_STDIO
#include <stb_image_write.h>

typedef struct writer {
    image_file *file;
    bool failed;
} writer;

static void write_bytes(void *context, void *data, int bytes) {
    writer *w = context;
    if (!w->failed)
        w->failed = !image_file_append(w->file, data, (size_t)bytes);
}

bool jpeg_write(const char *name, const image_header *header, const void *pixels, unsigned quality, image_file *file,
                image_error *error) {
    int row_bytes, all_bytes;
    int width = (int)header->width, height = (int)header->height, channels = (int)header->channels;
    /* stb_image_write computes offsets as int. */
    if (__builtin_mul_overflow(width, channels, &row_bytes) ||
        __builtin_mul_overflow(row_bytes + 1, height, &all_bytes))
        return image_fail(error, EXIT_USAGE, "%s: %u x %u pixels are too many for JPEG here", name, header->width,
                          header->height);
    writer w = {.file = file};
    bool good = stbi_write_jpg_to_func(write_bytes, &w, width, height, channels, pixels, (int)quality) != 0;
    if (!good || w.failed)
        return image_fail(error, EXIT_IO, "%s: no memory for the JPEG file", name);
    return true;
}
