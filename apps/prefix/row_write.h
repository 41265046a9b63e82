/* SPDX-License-Identifier: MIT
 *
 * The rows of a table with one more field, the result.
 */
#ifndef APPS_PREFIX_ROW_WRITE_H
#define APPS_PREFIX_ROW_WRITE_H

#include "apps/support/table.h"
#include "prefix.h"

/* Rows of a table, or of a chunk of it, and their results, of 8 bytes. Among floats one that is COLUMN_MISSING_BITS is
 * left empty. */
typedef struct row_part {
    const table *t;
    const uint64_t *results;
} row_part;

/* The header, with the name of the new column. */
void row_write_header(const prefix_job *job, const table *t, size_t index);

void row_write(output *out, const row_part *parts, size_t part_count, scan_type type, unsigned threads);

/* Gives missing values of a column the identity, in a copy; and marks their results. */
void row_fill_missing(const prefix_job *job, const column *c, uint64_t *values);
void row_mark_missing(const column *c, uint64_t *results);

#endif
