/* SPDX-License-Identifier: MIT
 *
 * Memory of the host, to be freed by free().
 */
#ifndef APPS_SUPPORT_ALLOC_H
#define APPS_SUPPORT_ALLOC_H

#include <stddef.h>

/* malloc, but large blocks use huge pages: the first touch then costs less than half. */
void *try_alloc(size_t bytes);

/* The memory of the machine, or of this process's control group or limit of address space where that is less. */
size_t memory_bytes(void);

/* The same or exit 3; never NULL. Sizes are count * size, checked. */
void *must_alloc(size_t count, size_t size);
void *must_realloc(void *memory, size_t count, size_t size);

/* For reading and writing files past the page cache: memory that begins at a multiple of ALLOC_BLOCK_BYTES. Large
 * blocks use huge pages, so that one request goes to the disk as a few ranges of memory: with pages of 4 KiB a virtual
 * disk took twice as long. */
enum { ALLOC_BLOCK_BYTES = 4 << 10 };
void *must_alloc_blocks(size_t bytes);

#endif
