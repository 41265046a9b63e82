/* SPDX-License-Identifier: MIT
 *
 * --where on tables: what an expression asks of the columns, found out once from the header, and then read from the
 * rows of the whole table or of one chunk after another.
 */
#ifndef APPS_COMPACT_TABLE_ROWS_H
#define APPS_COMPACT_TABLE_ROWS_H

#include "apps/support/table.h"
#include "source.h"

typedef struct table_query {
    const compact_job *job;
    const table *head;
    expression e;                                                        /* prepared (text_test.h) */
    size_t number_index[SCAN_MAX_COLUMNS], text_index[SCAN_MAX_COLUMNS]; /* in the table */
    uint32_t number_count, text_count;
    bool has_index; /* it asks for i, the row's index */
} table_query;

/* `head`: the table, or what its chunks have in common. Exit 2 for what is no expression over its columns. */
void table_query_open(table_query *q, const compact_job *job, const table *head);
void table_query_close(table_query *q);

/* Reads the columns from the rows of a table, whose first row has the index `base`, and evaluates the tests. numbers[k]
 * gets column q->number_index[k], whose memory belongs to *from. Exit 2 for what is no number, and where a pattern
 * passes the limits of PCRE2. */
void table_query_read(const table_query *q, const table *t, uint64_t base, source *from,
                      column numbers[SCAN_MAX_COLUMNS], unsigned threads);
void table_source_free(source *from);

/* The table in chunks, on the CPU. In table_stream.c. */
void compact_table_stream(const compact_job *job, input *in, session *s);

#endif
