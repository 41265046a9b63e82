/* SPDX-License-Identifier: MIT
 *
 * Lines and rows in a new order: gathered by all threads, written by the main thread as they come.
 */
#ifndef APPS_SUPPORT_ROWS_H
#define APPS_SUPPORT_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include "output.h"
#include "scan/scan.h"

/* Record i is bytes[starts[i] ... starts[i + 1] - 1], whole lines: text.h and table.h give both arrays. */
typedef struct rows {
    const unsigned char *bytes;
    const uint64_t *starts;
    uint64_t *line_hash; /* NULL, or the rows_line_hash of what is written is added to it */
} rows;

/* Writes records order[0], order[1], ... order[n - 1]; order has index_type SCAN_U32 or SCAN_U64. Exit 3 if the output
 * cannot be written. */
void rows_write(output *out, const rows *from, const void *order, scan_type index_type, size_t n, unsigned threads);

/* The same with no more than ring_bytes of memory, or one record, for what waits to be written; else it is 256 MiB. */
void rows_write_within(size_t ring_bytes, output *out, const rows *from, const void *order, scan_type index_type,
                       size_t n, unsigned threads);

/* Writes n numbers of a type, one a line, as number_format does. line_hash: as in struct rows. */
void rows_write_numbers(output *out, scan_type type, const void *values, size_t n, unsigned threads,
                        uint64_t *line_hash);

/* The ring behind both, for other kinds of lines. fill(arg, block, buffer) makes the bytes of one of the blocks 0 ...
 * blocks - 1, whole lines and at most block_bytes, and returns their count; blocks are filled by several threads and
 * written in order. */
typedef size_t rows_fill(void *arg, size_t block, unsigned char *buffer);
void rows_stream(output *out, size_t blocks, size_t block_bytes, rows_fill *fill, void *arg, unsigned threads,
                 uint64_t *line_hash);

/* A sum over all lines of a hash of each: equal for two texts that hold the same lines in any order. The last line ends
 * with a newline. */
uint64_t rows_line_hash(const unsigned char *bytes, size_t n_bytes, unsigned threads);

#endif
