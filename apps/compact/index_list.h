/* SPDX-License-Identifier: MIT
 *
 * The indices of what is kept of an input whose length, which their type depends on, is known at the end.
 */
#ifndef APPS_COMPACT_INDEX_LIST_H
#define APPS_COMPACT_INDEX_LIST_H

#include "apps/support/spool.h"
#include "compact.h"

/* {0} at first. */
typedef struct index_list {
    spool indices; /* u64 */
} index_list;

void index_list_add(index_list *list, const uint64_t *indices, size_t n);

/* Writes --indices: u32 below 2^32 rows, else u64. */
void index_list_write(const index_list *list, const compact_job *job, uint64_t rows);
void index_list_free(index_list *list);

#endif
