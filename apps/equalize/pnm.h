/* SPDX-License-Identifier: MIT
 *
 * PGM and PPM, binary (P5, P6) and plain (P2, P3), one image a file.
 */
#ifndef APPS_EQUALIZE_PNM_H
#define APPS_EQUALIZE_PNM_H

#include "image.h"

/* Reads the image in place: the samples replace the file's bytes and begin at *pixels, inside file[0 ... bytes-1].
 * file must be aligned for 16-bit samples. Up to maxval 255 samples are 8 bits, above 16 bits. A maxval other than 255
 * and 65535 is scaled to it, (v * full + maxval / 2) / maxval: the picture stays the same, and distinct values
 * distinct. Strict: fewer or more bytes than the header says, and samples above maxval, are failures. */
bool pnm_read(const char *name, uint8_t *file, size_t bytes, image_header *header, uint8_t **pixels,
              image_error *error);

/* The largest size that a file with such a head can have, by its header and the limits of image.h. A failure if the
 * head, up to IMAGE_HEAD_BYTES of the file or all of it, has no good header. */
bool pnm_max_bytes(const char *name, const uint8_t *head, size_t bytes, size_t *max_bytes, image_error *error);

/* The failure of a file that has more. */
bool pnm_too_long(const char *name, const uint8_t *head, image_error *error);

/* ---- in bands ---------------------------------------------------------------------------------------------------- */

/* What a header says. */
typedef struct pnm_layout {
    image_header header;
    bool plain; /* text */
    uint32_t maxval;
    size_t at; /* where the samples begin in the file */
    size_t samples;
    size_t bytes; /* of the samples in memory; the same in the file if it is not plain */
} pnm_layout;

/* A failure if the head, of up to IMAGE_HEAD_BYTES, has no good header. */
bool pnm_read_layout(const char *name, const uint8_t *head, size_t bytes, pnm_layout *l, image_error *error);

/* Makes n samples of a file that is not plain, from number `first` on, those of the image, where they are. */
bool pnm_read_samples(const char *name, const pnm_layout *l, void *samples, size_t n, size_t first, image_error *error);

/* The other way round. */
void pnm_write_samples(const image_header *header, void *samples, size_t n);

/* The header of pnm_write. Returns its length. */
enum { PNM_HEADER_BYTES = 64 };
size_t pnm_write_header(const image_header *header, char to[PNM_HEADER_BYTES]);

/* ---- in memory --------------------------------------------------------------------------------------------------- */

/* P5 or P6 with maxval 255 or 65535, appended to file. */
bool pnm_write(const char *name, const image_header *header, const void *pixels, image_file *file, image_error *error);

#endif
