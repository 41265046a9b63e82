/* SPDX-License-Identifier: MIT
 *
 * Loops around write() and pwrite(), which may write a part.
 */
#ifndef APPS_SUPPORT_WRITE_ALL_H
#define APPS_SUPPORT_WRITE_ALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Writes all or exits 3. name: of the output, for messages. The first waits for a pipe or socket that its other users
 * made non-blocking, and goes on through the page cache where bytes are not whole blocks of a disk. */
void write_all(const char *name, int fd, const void *data, size_t bytes);
void write_all_at(const char *name, int fd, const void *data, size_t bytes, uint64_t offset);

/* Returns true if the file was written past the page cache and no longer is. */
bool write_cached(int fd);

#endif
