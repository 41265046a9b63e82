/* SPDX-License-Identifier: MIT
 *
 * Lines or rows of an input that several ranks see (apps/support/ranks.h): each reads a part of equal bytes, cut
 * between rows.
 */
#ifndef APPS_SORT_ROW_SHARE_H
#define APPS_SORT_ROW_SHARE_H

#include "row_reader.h"

typedef struct row_share {
    unsigned char *head; /* what stands before the rows of all */
    size_t head_bytes;
    unsigned char *bytes; /* this rank's rows */
    uint64_t first;       /* where they begin in the input */
    uint64_t total;       /* bytes of the input */
    size_t n_bytes;
    size_t lines_before; /* of the file */
} row_share;

/* Reads the head, which starts the kind, and this rank's share. Collective. Exit 2 for what several ranks cannot read.
 */
void row_share_read(row_share *s, row_kind *kind);
void row_share_free(row_share *s);

/* A batch of rows: those in `before`, then those in `rows`, of which lines_before come first in the file. */
void row_share_batch(row_batch *b, row_kind *kind, const unsigned char *before, size_t before_bytes,
                     const unsigned char *rows, size_t n_bytes, size_t lines_before);

/* After the shares have been read: numbers in one column, or in lines, of all ranks must go with each other, else exit
 * 2. Collective. */
void row_share_agree(const row_kind *kind);

/* --check: exit 1 naming the first row that is out of order. Collective. In row_check_ranks.c. */
void row_share_check(const row_share *s, row_kind *kind);

#endif
