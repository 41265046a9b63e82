/* SPDX-License-Identifier: MIT
 *
 * Images and encoded images in memory.
 */
#include "image.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "apps/support/alloc.h"
#include "apps/support/die.h"

bool image_fail(image_error *error, int code, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    error->code = code;
    vsnprintf(error->text, sizeof error->text, format, arguments);
    va_end(arguments);
    return false;
}

size_t image_pixels(const image_header *header) { return (size_t)header->width * header->height; }

size_t image_bytes(const image_header *header) { return image_pixels(header) * header->channels * (header->depth / 8); }

void image_free(image *img) {
    if (img->map_bytes)
        munmap(img->map, img->map_bytes);
    else
        free(img->map);
    free(img->profile.data);
    *img = (image){0};
}

bool image_new(const char *name, const image_header *header, image *out, image_error *error) {
    size_t bytes = image_bytes(header);
    void *pixels = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pixels == MAP_FAILED)
        return image_fail(error, EXIT_IO, "%s: no memory for %zu bytes of pixels", name, bytes);
    madvise(pixels, bytes, MADV_HUGEPAGE);
    *out = (image){.header = *header, .pixels = pixels, .map = pixels, .map_bytes = bytes};
    return true;
}

const char *image_format_name(image_format format) {
    static const char *const names[] = {"", "PNG", "JPEG", "PGM", "PPM"};
    return names[format];
}

/* ---- encoded images ---------------------------------------------------------------------------------------------- */

bool image_file_reserve(image_file *file, size_t bytes) {
    if (bytes <= file->capacity - file->bytes)
        return true;
    size_t capacity = file->bytes + bytes + file->capacity / 2;
    uint8_t *grown = file->data ? realloc(file->data, capacity) : try_alloc(capacity);
    if (!grown)
        return false;
    file->data = grown;
    file->capacity = capacity;
    return true;
}

bool image_file_append(image_file *file, const void *data, size_t bytes) {
    if (!image_file_reserve(file, bytes))
        return false;
    memcpy(file->data + file->bytes, data, bytes);
    file->bytes += bytes;
    return true;
}
