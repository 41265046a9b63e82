/* SPDX-License-Identifier: MIT
 *
 * PNG through libpng.
 *
 * Level 1 without row filters. An equalized image has fewer distinct values, further apart: differences between
 * neighbours, which filters make, are then harder to compress than the values. Measured on the images in data/,
 * equalized: 65 to 230 MB/s a core and 20 to 73 % of the raw size; level 6 with all filters takes 5 to 10 times as long
 * for -29 % (retina) to +49 % (hubble) of that.
 */
#include "encode.h"

#include <png.h>

#include "apps/support/die.h"

typedef struct writer {
    image_file *file;
    const char *message;
} writer;

static void write_bytes(png_structp png, png_bytep data, size_t bytes) {
    writer *w = png_get_io_ptr(png);
    if (!image_file_append(w->file, data, bytes))
        png_error(png, "no memory for the file");
}

static void flush_nothing(png_structp png) { (void)png; }

/* libpng requires that its error handler does not return; no frame between here and setjmp owns memory. */
static void fail(png_structp png, png_const_charp message) {
    writer *w = png_get_error_ptr(png);
    w->message = message;
    png_longjmp(png, 1);
}

static void ignore_warning(png_structp png, png_const_charp message) {
    (void)png;
    (void)message;
}

static void write_image(png_structp png, png_infop info, const image_header *header, const void *pixels,
                        const image_profile *profile) {
    static const int color[5] = {0, PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB,
                                 PNG_COLOR_TYPE_RGB_ALPHA};
    size_t row_bytes = (size_t)header->width * header->channels * (header->depth / 8);
    png_set_user_limits(png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
    png_set_compression_level(png, 1);
    png_set_filter(png, PNG_FILTER_TYPE_BASE, PNG_FILTER_NONE);
    png_set_IHDR(png, info, header->width, header->height, (int)header->depth, color[header->channels],
                 PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(png, info);
    if (profile->data)
        png_write_chunk(png, (png_const_bytep) "iCCP", profile->data, profile->bytes);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    if (header->depth == 16)
        png_set_swap(png);
#endif
    for (uint32_t y = 0; y < header->height; y++)
        png_write_row(png, (png_const_bytep)pixels + y * row_bytes);
    png_write_end(png, NULL);
}

bool png_write(const char *name, const image_header *header, const void *pixels, const image_profile *profile,
               image_file *file, image_error *error) {
    writer w = {.file = file, .message = "no memory"};
    writer *volatile keep = &w;
    png_infop info = NULL;
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &w, fail, ignore_warning);
    if (png)
        info = png_create_info_struct(png);
    if (!info) {
        png_destroy_write_struct(&png, NULL);
        return image_fail(error, EXIT_IO, "%s: no memory for the PNG writer", name);
    }
    png_infop volatile kept_info = info;
    if (setjmp(png_jmpbuf(png))) {
        info = kept_info;
        png_destroy_write_struct(&png, &info);
        return image_fail(error, EXIT_IO, "%s: cannot write PNG: %s", name, keep->message);
    }
    png_set_write_fn(png, &w, write_bytes, flush_nothing);
    write_image(png, info, header, pixels, profile);
    png_destroy_write_struct(&png, &info);
    return true;
}
