/* SPDX-License-Identifier: MIT
 *
 * Output files that are complete or absent.
 */
#ifndef APPS_SUPPORT_OUTPUT_H
#define APPS_SUPPORT_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

typedef struct output output;

/* path NULL or "-": stdout. Exit 2 for an existing file without force and for binary data on a terminal, exit 3 for
 * what the system refuses. Everything is checked here, before any work is done. */
output *output_open(const char *path, bool force, bool binary);

/* Writes all or exits 3 (silently, as by SIGPIPE, if stdout's reader is gone). */
void output_write(output *out, const void *data, size_t bytes);

const char *output_name(const output *out);

/* Makes all outputs opened so far real: every one is flushed and synced before the first gets its name. */
void output_commit_all(void);

/* Removes what is left of uncommitted outputs. die() calls it; it may be called from a signal handler. */
void output_abandon_all(void);

#endif
