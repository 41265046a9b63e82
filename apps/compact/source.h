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
    uint64_t base; /* the index of the first row */
    expression e;
    uint8_t *flags;                  /* the mask, or where runs of equal lines begin; or NULL */
    const strings *lines;            /* of text, or NULL */
    strings texts[SCAN_MAX_COLUMNS]; /* what tests of text look at */
    uint32_t text_count;
    uint32_t first_test; /* the column that has the flags of the first test; the others follow */
} source;

/* Indices of rows, counted from source.base on. */
typedef struct selection {
    scan_type type;
    void *indices;
    size_t count;
} selection;

static inline uint64_t selection_at(const selection *s, size_t i) {
    return s->type == SCAN_U32 ? ((const uint32_t *)s->indices)[i] : ((const uint64_t *)s->indices)[i];
}

/* Selects the rows to keep, and if the job asks for them the others. --verify: exit 1 for a wrong result. */
void source_choose(const compact_job *job, session *s, const source *from, selection *kept, selection *rest);

/* The bytes of what rows are chosen by. */
uint64_t source_bytes(const source *from);

/* Chooses among `lines` and writes all outputs of the job. Kept and rejected lines follow the first head_bytes. */
void source_select(const compact_job *job, session *s, source *from, const rows *lines, size_t head_bytes);

/* Writes --indices. */
void source_write_indices(const compact_job *job, const selection *kept);

#endif
