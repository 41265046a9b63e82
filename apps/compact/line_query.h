/* SPDX-License-Identifier: MIT
 *
 * What a job asks of lines, found out once, and then read from the lines of the whole text or of one chunk after
 * another.
 */
#ifndef APPS_COMPACT_LINE_QUERY_H
#define APPS_COMPACT_LINE_QUERY_H

#include "apps/support/text.h"
#include "source.h"

typedef struct line_query {
    const compact_job *job;
    expression e; /* prepared (text_test.h) */
    compact_mask mask;
} line_query;

/* Exit 2 for what is no expression over lines, and no mask. */
void line_query_open(line_query *q, const compact_job *job);
void line_query_close(line_query *q);

/* What follows numbers that are none, or NULL. */
const char *line_query_advice(const line_query *q);

/* Fills *from, which is not moved as long as it is used, from a text: numbers that are parsed, or lines that are
 * indexed. flags: the mask for them, or NULL; they belong to *from then. Exit 2 where a pattern passes the limits of
 * PCRE2. */
void line_query_read(const line_query *q, const text *t, uint64_t base, uint8_t *flags, source *from, unsigned threads);
void line_source_free(source *from);

/* The text in chunks. In line_stream.c. */
void compact_line_stream(const compact_job *job, input *in, session *s);

#endif
