/* SPDX-License-Identifier: MIT
 *
 * Arrays of numbers in files: .npy, and raw bytes of a type given by --dtype. Both are read in pieces, from files and
 * pipes; elements are given out little-endian, in whatever order the file has them.
 */
#ifndef APPS_SUPPORT_ARRAY_H
#define APPS_SUPPORT_ARRAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "input.h"
#include "npy.h"
#include "output.h"
#include "scan/scan.h"

typedef enum data_format { FORMAT_NPY, FORMAT_RAW, FORMAT_CSV, FORMAT_TSV, FORMAT_TEXT } data_format;

/* Binary formats are read by an array_reader, the others as a whole, by table.h or text.h. */
bool format_is_binary(data_format format);
bool format_is_table(data_format format);

/* The format of the input: .npy by its magic; else raw if there is a dtype; else a table by its name or by --csv,
 * --tsv; else text. */
data_format data_format_of(input *in, scan_type dtype, bool csv, bool tsv);

typedef struct array_reader {
    input *in;
    bool npy;
    npy_header header; /* raw: type only */
    scan_type type;
    size_t size;          /* bytes of one element */
    bool counted;         /* header.count is known: .npy, and raw files that are seekable */
    uint64_t done;        /* elements read */
    uint64_t data_offset; /* bytes before the first element, from in->start */
} array_reader;

/* For FORMAT_NPY and FORMAT_RAW. dtype: of --dtype, which must agree with an .npy header. Malformed files exit 2 with
 * the reason, here and below. */
void array_open(array_reader *reader, input *in, data_format format, scan_type dtype);

/* Reads the next n elements, fewer only at the end of the array; returns how many. There, what follows the array is
 * refused. */
size_t array_read(array_reader *reader, void *to, size_t n);

/* Reads all elements that are left, into one allocation. */
void *array_read_all(array_reader *reader, size_t *n);

/* Returns true if array_read_at works. */
bool array_can_seek(const array_reader *reader);

/* Reads elements first ... first + n - 1, in any order of calls. */
void array_read_at(array_reader *reader, void *to, size_t n, uint64_t first);

/* Writes an .npy header; raw output has none. */
void array_write_header(output *out, scan_type type, unsigned dimensions, const uint64_t *shape);

#endif
