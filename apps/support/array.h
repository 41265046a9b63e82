/* SPDX-License-Identifier: MIT
 *
 * Arrays of numbers in files: .npy, and raw bytes of a type given by --dtype. Both are read in pieces, from files and
 * pipes; elements are given out little-endian, and in C order. A file in Fortran order is read as a whole for that.
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
    unsigned char *whole; /* Fortran order: all elements, in C order; NULL before they are read */
} array_reader;

/* For FORMAT_NPY and FORMAT_RAW. dtype: of --dtype, which must agree with an .npy header. Malformed files exit 2 with
 * the reason, here and below. */
void array_open(array_reader *reader, input *in, data_format format, scan_type dtype);

/* Reads the next n elements, fewer only at the end of the array; returns how many. There, what follows the array is
 * refused. */
size_t array_read(array_reader *reader, void *to, size_t n);

/* Reads all elements that are left, into one allocation. */
void *array_read_all(array_reader *reader, size_t *n);

/* Returns true if array_read_at works, and takes no longer for any order of calls. */
bool array_can_seek(const array_reader *reader);

/* If there are several ranks: exit 2 unless it works. Of a compressed file a part is read through from the beginning,
 * or from the part that was read last if that comes before. */
void array_refuse_ranks(array_reader *reader);

/* Reads elements first ... first + n - 1, in any order of calls. */
void array_read_at(array_reader *reader, void *to, size_t n, uint64_t first);

/* "(3, 4)" */
enum { ARRAY_SHAPE_BYTES = NPY_MAX_DIMENSIONS * 22 + 4 };
const char *array_shape_text(const npy_header *header, char text[ARRAY_SHAPE_BYTES]);

/* ---- writing ----------------------------------------------------------------------------------------------------- */

/* The format of an array's output: .npy, .raw and .txt by the ending of its name, else the input's, which is binary.
 * path: NULL for stdout. */
data_format array_output_format(const char *path, data_format input);

/* An array on its way out: .npy behind its header, raw bytes, or text with one number a line. */
typedef struct array_writer {
    output *out;
    data_format format;
    scan_type type;
    bool is_bool; /* elements are 0 and 1; .npy says so */
    unsigned threads;
} array_writer;

/* Every byte but 0 becomes 1, as NumPy understands bool. */
void array_make_bool(uint8_t *data, size_t n);

/* Writes the header of an array of this shape, where the format has one. */
void array_write_header(const array_writer *w, unsigned dimensions, const uint64_t *shape);

/* For one dimension of a length that is known at the end only: before the elements, and after them. */
void array_reserve_header(const array_writer *w);
void array_write_length(const array_writer *w, uint64_t n);

void array_write(const array_writer *w, const void *elements, size_t n);

/* All of these are collective for a shared output: the header is rank 0's, elements of each rank follow those of lower
 * ranks (output_write_in_turn). */

#endif
