/* SPDX-License-Identifier: MIT
 *
 * An image in memory: 8- or 16-bit samples, one to four channels. load.h reads one from PNG, JPEG, PGM and PPM, save.h
 * writes it to the same.
 *
 * No function on images prints or exits: one bad file among many must not end the work on the others. A failure is an
 * exit code of die.h and one line of text that names the file.
 *
 * Limits, the same for files and for pipes. PNG and JPEG: a file of 1 GiB, sides of 65,535 pixels, 1 GiB of samples.
 * PGM and PPM: sides of 2^31 - 1 pixels, 64 GiB of samples, a header of 64 KiB, and in plain text 16 bytes a sample. Of
 * what is not an image 64 KiB are read.
 */
#ifndef APPS_EQUALIZE_IMAGE_H
#define APPS_EQUALIZE_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define IMAGE_MAX_SIDE 65535u
#define IMAGE_MAX_BYTES ((size_t)1 << 30)
#define IMAGE_MAX_PNM_BYTES ((size_t)64 << 30)
#define IMAGE_HEAD_BYTES ((size_t)64 << 10)

typedef enum image_format { IMAGE_NONE = 0, IMAGE_PNG = 1, IMAGE_JPEG = 2, IMAGE_PGM = 3, IMAGE_PPM = 4 } image_format;

typedef struct image_header {
    image_format format;
    uint32_t width;
    uint32_t height;
    uint32_t channels;    /* 1 grey, 2 grey and alpha, 3 RGB, 4 RGBA */
    uint32_t depth;       /* 8 or 16 bits a sample */
    uint32_t orientation; /* EXIF's, of the stored pixels: 2 to 8, or 0 for upright. Loaded images are upright */
} image_header;

/* An ICC profile: none; raw; as the content of a PNG's iCCP chunk; or one that was damaged, without data. */
typedef enum profile_form { PROFILE_NONE, PROFILE_RAW, PROFILE_PNG, PROFILE_BROKEN } profile_form;

typedef struct image_profile {
    uint8_t *data; /* malloc memory */
    size_t bytes;
    profile_form form;
} image_profile;

typedef struct image {
    image_header header;
    void *pixels; /* rows from the top without padding, samples interleaved, 16-bit ones in host order */
    void *map;    /* what owns the pixels: a mapping of map_bytes, or malloc memory if map_bytes is 0 */
    size_t map_bytes;
    size_t file_bytes; /* of the file it was read from */
    image_profile profile;
} image;

typedef struct image_error {
    int code;        /* EXIT_USAGE for a file that cannot be used, EXIT_IO for a failure of the system */
    char text[4352]; /* "FILE: reason" */
} image_error;

/* Writes the error and returns false. */
__attribute__((format(printf, 3, 4))) bool image_fail(image_error *error, int code, const char *format, ...);

size_t image_pixels(const image_header *header);
size_t image_bytes(const image_header *header);

/* "PNG", "JPEG", "PGM", "PPM". */
const char *image_format_name(image_format format);

/* An image with such a header, whose pixels are not set. */
bool image_new(const char *name, const image_header *header, image *out, image_error *error);

void image_free(image *img);

/* An encoded image in memory, to be freed with free(file->data). */
typedef struct image_file {
    uint8_t *data;
    size_t bytes;
    size_t capacity;
} image_file;

/* Makes room for more bytes; appends them. False without memory. */
bool image_file_reserve(image_file *file, size_t bytes);
bool image_file_append(image_file *file, const void *data, size_t bytes);

#endif
