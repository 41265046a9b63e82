/* SPDX-License-Identifier: MIT
 *
 * One file that several ranks (ranks.h) write. Rank 0 makes it under its hidden name, which the others open; each
 * writes at the places that its bytes have in the whole. For output.c.
 */
#ifndef APPS_SUPPORT_OUTPUT_SHARE_H
#define APPS_SUPPORT_OUTPUT_SHARE_H

#include "output_file.h"
#include "ranks.h"

typedef struct output_share output_share;

/* Opens *file on every rank. Exits 2 unless path names a regular file, or a new one. Collective. */
output_share *output_share_open(output_file *file, const char *path, bool force);
void output_share_close(output_share *share);

/* Takes back all that was written and kept. Collective. */
void output_share_rewind(output_share *share);

/* Keeps bytes for the next turn. */
void output_share_add(output_share *share, const void *data, size_t bytes);

/* Writes what was kept, then the data, behind what lower ranks write in this turn. Collective. */
void output_share_turn(output_share *share, const void *data, size_t bytes);

#endif
