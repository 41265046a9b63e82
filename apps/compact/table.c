/* SPDX-License-Identifier: MIT
 *
 * compact on tables: in chunks, or for the device of one process as a whole.
 */
#include "apps/support/parallel.h"
#include "apps/support/ranks.h"
#include "apps/support/report.h"
#include "table_rows.h"

static void whole_table(const compact_job *job, input *in, session *s) {
    unsigned threads = parallel_threads(job->common->threads);
    table t;
    table_query query;
    source from;
    column numbers[SCAN_MAX_COLUMNS];
    table_read(&t, in, &job->dialect, threads);
    table_query_open(&query, job, &t);
    table_query_read(&query, &t, 0, &from, numbers, threads);
    report_number("rows", t.n);
    source_select(job, s, &from, &(rows){.bytes = t.bytes, .starts = t.starts}, t.head_bytes);
    table_source_free(&from);
    table_query_close(&query);
    table_free(&t);
}

void compact_table(const compact_job *job, input *in, session *s) {
    compact_choose(job, s, ranks_several() ? 0 : in->extent.size);
    if (s->on_host || ranks_several())
        compact_table_stream(job, in, s);
    else
        whole_table(job, in, s);
}
