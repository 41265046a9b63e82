/* SPDX-License-Identifier: MIT
 *
 * Files for the sorted parts of an input that is larger than the memory it may have: spools (apps/support/spool.h) that
 * are written from their begin to their end, and then read at any place. Both go past the page cache where they can:
 * what is read once is not worth the copy, which takes longer than a fast disk.
 */
#ifndef APPS_SORT_PART_FILE_H
#define APPS_SORT_PART_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "apps/support/output.h"

typedef struct part_file {
    output *out;           /* NULL: none, or all is written */
    int fd;                /* -1: none */
    unsigned char *window; /* whole blocks of the file, on their way to who reads */
} part_file;

/* Exit 3, here and below, for what the system refuses. */
void part_file_open(part_file *f);
void part_file_close(part_file *f);

/* From now on the file is read. */
void part_file_end(part_file *f);

/* Reads bytes that have been written. */
void part_file_read(const part_file *f, void *to, size_t bytes, uint64_t offset);

/* Exit 3 unless the folder of spools has room for so many bytes, beside so many more for the output where that, a file
 * of this path, goes to the same file system. path: NULL for stdout. in_levels: parts are merged into others before the
 * output is written, which are there beside them. */
void part_file_need_room(uint64_t bytes, const char *path, uint64_t output_bytes, bool in_levels);

#endif
