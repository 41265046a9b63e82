/* SPDX-License-Identifier: MIT
 *
 * Lines and rows to choose from: what lines.c and table.c have in common.
 */
#ifndef APPS_COMPACT_SOURCE_H
#define APPS_COMPACT_SOURCE_H

#include "apps/support/rows.h"
#include "apps/support/strings.h"
#include "compact.h"

/* The input. Columns are numbered as in scan_term: columns[0] is the elements of text; for tables its type is NONE. */
typedef struct source {
    const char *name;
    scan_column columns[1 + SCAN_MAX_COLUMNS];
    uint32_t column_count; /* besides columns[0] */
    size_t n;
    expression e;
    uint8_t *flags;                  /* the mask, or where runs of equal lines begin; or NULL */
    const strings *lines;            /* of text, or NULL */
    strings texts[SCAN_MAX_COLUMNS]; /* what tests of text look at */
    uint32_t text_count;
    uint32_t first_test; /* the column that has the flags of the first test; the others follow */
} source;

/* Selects among `lines` and writes all outputs of the job. Kept and rejected lines follow the first head_bytes. */
void source_select(const compact_job *job, session *s, source *from, const rows *lines, size_t head_bytes);

#endif
