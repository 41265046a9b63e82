/* SPDX-License-Identifier: MIT
 *
 * Spools: temporary files without names, for what is too large for memory and is needed once more. The system frees
 * them when the process ends, however it ends. They lie in the folder that --tmp names, else in $TMPDIR, else beside
 * the file that -o names, else in /tmp.
 */
#ifndef APPS_SUPPORT_SPOOL_H
#define APPS_SUPPORT_SPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --tmp and -o, for all spools that are opened later. The strings are kept. */
void spool_in(const char *folder);
void spool_beside(const char *output);

/* {0} at first. What is short stays in memory. */
typedef struct spool {
    unsigned char *memory; /* the bytes, as long as there is no file */
    int fd;
    bool has_file;
    uint64_t bytes;
} spool;

/* Errors exit 3, a full disk too. Writes begin at no more than spool->bytes. */
void spool_write(spool *s, const void *data, size_t bytes, uint64_t offset);

/* Returns how many of the bytes there are. */
size_t spool_read(const spool *s, void *to, size_t bytes, uint64_t offset);

/* Makes it empty, and frees what it has. */
void spool_clear(spool *s);

/* For files that are written in another way: opens an empty one there. Returns the descriptor, to be closed. */
int spool_file(void);

/* Returns the folder that they are made in; `room` is for its name. */
enum { SPOOL_FOLDER_BYTES = 4096 };
const char *spool_folder(char room[SPOOL_FOLDER_BYTES]);

#endif
