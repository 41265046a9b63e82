/* SPDX-License-Identifier: MIT
 *
 * compact on lines: in chunks, or for the device of one process as a whole.
 */
#include "apps/support/alloc.h"
#include "apps/support/parallel.h"
#include "apps/support/ranks.h"
#include "apps/support/report.h"
#include "line_query.h"

static uint8_t *read_mask(line_query *q, size_t n) {
    uint8_t *flags = must_alloc(n, 1);
    compact_mask_read(&q->mask, flags, n);
    compact_mask_end(&q->mask, n);
    return flags;
}

static void whole_text(const compact_job *job, input *in, session *s) {
    unsigned threads = parallel_threads(job->common->threads);
    line_query q;
    text t;
    source from;
    line_query_open(&q, job);
    if (job->text) {
        text_read_lines(&t, in, threads);
    } else {
        text_read(&t, in, line_query_advice(&q), threads);
        text_index(&t, threads);
    }
    line_query_read(&q, &t, 0, job->selector == SELECT_MASK ? read_mask(&q, t.n) : NULL, &from, threads);
    report_text("type", job->text ? "text" : scan_type_name(t.values.type));
    report_number("elements", t.n);
    source_select(job, s, &from, &(rows){.bytes = t.bytes, .starts = t.starts}, t.head_bytes);
    line_source_free(&from);
    line_query_close(&q);
    text_free(&t);
}

void compact_text(const compact_job *job, input *in, session *s) {
    compact_choose(job, s, ranks_several() ? 0 : in->extent.size);
    if (s->on_host || ranks_several())
        compact_line_stream(job, in, s);
    else
        whole_text(job, in, s);
}
