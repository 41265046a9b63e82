/* SPDX-License-Identifier: MIT
 *
 * Writing a file past the page cache, from its start to its end, while the caller makes what comes next.
 */
#ifndef APPS_SUPPORT_UNCACHED_H
#define APPS_SUPPORT_UNCACHED_H

#include <stddef.h>

typedef struct uncached uncached;

/* Returns NULL if the file system cannot do it. name: of the output, for messages. */
uncached *uncached_open(const char *name, int fd);

/* Exit 3 for what the system refuses, at this call or at one of the next. */
void uncached_write(uncached *u, const void *data, size_t bytes);

/* The same, but the data, which may be none, must stay as they are until the next call of uncached_lend or
 * uncached_end. They are not copied where they lie in memory as in the file: at the same offset from a multiple of
 * ALLOC_BLOCK_BYTES.
 */
void uncached_lend(uncached *u, const void *data, size_t bytes);

/* Writes the rest, which may end within a block, through the page cache, as all later writes to the file go; frees u.
 */
void uncached_end(uncached *u);

#endif
