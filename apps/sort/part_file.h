/* SPDX-License-Identifier: MIT
 *
 * Files for the sorted parts of an input that is larger than the memory it may have: spools (apps/support/spool.h) that
 * are written from start to end, and then read at any place. Both go past the page cache where they can: what is read
 * once is not worth the copy, which takes longer than a fast disk.
 */
#ifndef APPS_SORT_PART_FILE_H
#define APPS_SORT_PART_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "apps/support/alloc.h"
#include "apps/support/output.h"

typedef struct part_file {
    output *out;           /* NULL: none, or all is written */
    int fd;                /* -1: none */
    unsigned char *window; /* of part_file_read: whole blocks of the file; NULL until it is needed */
} part_file;

/* Exit 3, here and below, for what the system refuses. */
void part_file_open(part_file *f);
void part_file_close(part_file *f);

/* From now on the file is read. */
void part_file_end(part_file *f);

/* Reads bytes that have been written. */
void part_file_read(part_file *f, void *to, size_t bytes, uint64_t offset);

/* Like part_file_read, but without a copy, for a range of the file that is read from start to end. Memory of whole
 * blocks (must_alloc_blocks), `room` bytes at `to`, has the last bytes before `offset` at to[begin] ... to[used - 1],
 * where begin = part_file_begin(used - begin, offset). Reads what follows them up to `end`, as far as there is room;
 * returns how many bytes. In any thread. */
size_t part_file_append(const part_file *f, unsigned char *to, size_t used, size_t room, uint64_t offset, uint64_t end);

/* The size of memory of whole blocks for `bytes` bytes that begin anywhere in one. */
size_t part_file_room(size_t bytes);

static inline size_t part_file_begin(size_t bytes, uint64_t offset) {
    return (size_t)(offset - bytes) % ALLOC_BLOCK_BYTES;
}

/* Exit 3 unless the folder of spools has room for so many bytes, beside so many more for the output where that, a file
 * of this path, goes to the same file system. path: NULL for stdout. in_levels: parts are merged into others before the
 * output is written, which are there beside them. */
void part_file_need_room(uint64_t bytes, const char *path, uint64_t output_bytes, bool in_levels);

#endif
