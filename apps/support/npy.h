/* SPDX-License-Identifier: MIT
 *
 * The header of NumPy's .npy files, versions 1 to 3: a small Python dict literal, parsed strictly and never evaluated.
 */
#ifndef APPS_SUPPORT_NPY_H
#define APPS_SUPPORT_NPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scan/scan.h"

enum {
    NPY_MAX_DIMENSIONS = 32,
    NPY_PREFIX_BYTES = 12,        /* magic, version and the length of the header; 10 in version 1 */
    NPY_HEADER_MAX = 64 << 10,    /* longer dicts are refused */
    NPY_VECTOR_HEADER_BYTES = 128 /* what npy_format makes for one dimension of any length */
};

typedef struct npy_header {
    scan_type type;
    bool is_bool;    /* stored as '|b1'; type is then SCAN_U8 */
    bool big_endian; /* bytes must be swapped */
    bool fortran;    /* the first axis is contiguous; false where that makes no difference */
    unsigned dimensions;
    uint64_t shape[NPY_MAX_DIMENSIONS];
    uint64_t count; /* product of shape; count times the element's size is below 2^63 */
} npy_header;

bool npy_is_magic(const unsigned char *data, size_t bytes);

/* From the first NPY_PREFIX_BYTES bytes of a file (fewer if it is shorter): where the dict begins and how long it is.
 * False: reason says why not. */
bool npy_prefix(const unsigned char *data, size_t bytes, size_t *dict_offset, size_t *dict_bytes, char reason[256]);

/* Parses the dict. False: reason says what is wrong, as the end of a sentence that begins with the file's name. */
bool npy_parse(const unsigned char *dict, size_t bytes, npy_header *header, char reason[256]);

/* Writes a version 1 header as NumPy does (C order, padded to 64 bytes) and returns its length. Room for
 * NPY_FORMAT_MAX. is_bool: of SCAN_U8, as '|b1'. */
enum { NPY_FORMAT_MAX = 1024 };
size_t npy_format(unsigned char *to, scan_type type, bool is_bool, unsigned dimensions, const uint64_t *shape);

#endif
