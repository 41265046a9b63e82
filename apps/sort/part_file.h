/* SPDX-License-Identifier: MIT
 *
 * Files for the sorted parts of an input that is larger than the memory it may have: spools (apps/support/spool.h) that
 * are written like an output, one piece after another from part_file_begin to part_file_end, and read at any place.
 */
#ifndef APPS_SORT_PART_FILE_H
#define APPS_SORT_PART_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "apps/support/output.h"

typedef struct part_file {
    int fd;           /* -1: none */
    uint64_t written; /* bytes, up to the last part_file_end */
} part_file;

/* Exit 3, here and below, for what the system refuses. */
void part_file_open(part_file *f);
void part_file_close(part_file *f);

/* An output to the end of the file. */
output *part_file_begin(part_file *f);
void part_file_end(part_file *f, output *out);

/* Reads bytes that have been written. */
void part_file_read(const part_file *f, void *to, size_t bytes, uint64_t offset);

/* Says that these bytes will be read soon: the system reads them meanwhile. */
void part_file_expect(const part_file *f, uint64_t bytes, uint64_t offset);

/* Exit 3 unless the folder of spools has room for so many bytes, beside so many more for the output where that, a file
 * of this path, goes to the same file system. path: NULL for stdout. */
void part_file_need_room(uint64_t bytes, const char *path, uint64_t output_bytes);

#endif
