/* SPDX-License-Identifier: MIT
 *
 * An image in memory: 8- or 16-bit samples, one to four channels. Read from PNG, JPEG, PGM and PPM, written to the
 * same.
 *
 * Nothing here prints or exits: one bad file among many must not end the work on the others. A failure is an exit code
 * of cli.h and one line of text that names the file.
 *
 * Limits: sides up to 65,535 pixels and 1 GiB of samples for PNG and JPEG. PGM and PPM have what memory holds.
 */
#ifndef APPS_EQUALIZE_IMAGE_H
#define APPS_EQUALIZE_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define IMAGE_MAX_SIDE 65535u
#define IMAGE_MAX_BYTES ((size_t)1 << 30)

typedef enum image_format { IMAGE_NONE = 0, IMAGE_PNG = 1, IMAGE_JPEG = 2, IMAGE_PGM = 3, IMAGE_PPM = 4 } image_format;

typedef struct image_header {
    image_format format;
    uint32_t width;
    uint32_t height;
    uint32_t channels; /* 1 grey, 2 grey and alpha, 3 RGB, 4 RGBA */
    uint32_t depth;    /* 8 or 16 bits a sample */
    uint32_t turn;     /* EXIF orientation of the stored pixels, 2 to 8; 0: none. Loaded images are upright */
} image_header;

typedef struct image {
    image_header header;
    void *pixels; /* rows from the top without padding, samples interleaved, 16-bit ones in host order */
    void *map;    /* what owns the pixels: a mapping of map_bytes, or malloc memory if map_bytes is 0 */
    size_t map_bytes;
    size_t file_bytes; /* of the file it was read from */
} image;

typedef struct image_error {
    int code;        /* EXIT_USAGE for a file that cannot be used, EXIT_IO for what the system refuses */
    char text[4352]; /* "FILE: reason" */
} image_error;

/* Writes the error and answers false. */
__attribute__((format(printf, 3, 4))) bool image_fail(image_error *error, int code, const char *format, ...);

size_t image_pixels(const image_header *header);
size_t image_bytes(const image_header *header);

/* "PNG", "JPEG", "PGM", "PPM". */
const char *image_format_name(image_format format);

/* ---- reading ----------------------------------------------------------------------------------------------------- */

typedef struct image_load image_load;

/* Reads the file ("-" or NULL: stdin), checks its structure and starts to decode it in a child process, so that several
 * images can be on their way at once. Needs sandbox_start. Never NULL except without memory. Any thread may call it. */
image_load *image_load_start(const char *path);

/* Waits for the pixels. Frees the load in any case; NULL is the answer to a start without memory. */
bool image_load_finish(image_load *load, image *out, image_error *error);

/* The same for a file already in memory; `name` is for messages. The bytes must stay until the call to finish. */
image_load *image_load_memory(const char *name, const uint8_t *file, size_t file_bytes);

/* Room for an image; its pixels are not set. */
bool image_new(const char *name, const image_header *header, image *out, image_error *error);

void image_free(image *img);

/* ---- writing ----------------------------------------------------------------------------------------------------- */

/* By the extension, in any case: png, jpg, jpeg, pgm, ppm, pnm (pgm or ppm by the channels). */
bool image_format_of_name(const char *name, uint32_t channels, image_format *format, image_error *error);

/* Whether a format can hold such an image. */
bool image_format_holds(const char *name, image_format format, const image_header *header, image_error *error);

typedef struct image_file {
    uint8_t *data;
    size_t bytes;
    size_t room;
} image_file;

/* The whole file in memory, to be freed with free(file->data). image_format_holds has agreed. quality: JPEG, 1 to 100.
 */
bool image_encode(const char *name, image_format format, const image_header *header, const void *pixels,
                  unsigned quality, image_file *file, image_error *error);

/* Room for so many bytes more, and appending; false without memory. */
bool image_file_reserve(image_file *file, size_t bytes);
bool image_file_append(image_file *file, const void *data, size_t bytes);

#endif
