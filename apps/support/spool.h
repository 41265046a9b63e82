/* SPDX-License-Identifier: MIT
 *
 * Spools: temporary files without names, for what is too large for memory and is needed once more. The system frees
 * them when the process ends, however it ends. They lie in the folder that --tmp names, else in $TMPDIR, else beside
 * the file that -o names, else in /tmp.
 */
#ifndef APPS_SUPPORT_SPOOL_H
#define APPS_SUPPORT_SPOOL_H

#include <stddef.h>
#include <stdint.h>

/* --tmp and -o, for all spools that are opened later. The strings are kept. */
void spool_in(const char *folder);
void spool_beside(const char *output);

/* Returns the descriptor of an empty spool, to be closed. Errors exit 3, here and below, a full disk too. */
int spool_open(void);

void spool_write(int spool, const void *data, size_t bytes, uint64_t offset);

/* Returns how many of the bytes there are. */
size_t spool_read(int spool, void *to, size_t bytes, uint64_t offset);

#endif
