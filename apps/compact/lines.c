/* SPDX-License-Identifier: MIT
 *
 * compact on lines, of numbers or of text.
 */
#include <stdlib.h>
#include <string.h>

#include "apps/support/alloc.h"
#include "apps/support/parallel.h"
#include "apps/support/report.h"
#include "apps/support/text.h"
#include "source.h"

enum { PIECE_LINES = 1 << 16 };

/* Flags the first line of each run of equal ones. */
static void flag_runs(void *arg, size_t piece) {
    const source *from = arg;
    const string *line = from->lines->at;
    size_t i = piece * PIECE_LINES, end = from->n - i > PIECE_LINES ? i + PIECE_LINES : from->n;
    for (; i < end; i++)
        from->flags[i] = i == 0 || line[i].bytes != line[i - 1].bytes ||
                         memcmp(line[i].begin, line[i - 1].begin, line[i].bytes) != 0;
}

static void read_mask(const compact_job *job, source *from) {
    compact_mask mask;
    compact_mask_open(&mask, job->mask);
    compact_mask_read(&mask, from->flags, from->n);
    compact_mask_end(&mask, from->n);
}

void compact_text(const compact_job *job, input *in, session *s) {
    unsigned threads = parallel_threads(job->common->threads);
    text t;
    strings lines = {0};
    source from = {.name = in->name};
    if (job->selector != SELECT_MASK && job->selector != SELECT_UNIQUE)
        compact_terms(job, &from.e);
    if (job->text) {
        text_read_lines(&t, in, threads);
        strings_of_lines(&lines, &t, threads);
        from.lines = &lines;
    } else {
        text_read(&t, in, job->selector == SELECT_UNIQUE ? "--text takes lines as text" : NULL, threads);
        text_index(&t, threads);
        from.columns[0] = (scan_column){.type = t.values.type, .data = t.values.data};
    }
    from.n = t.n;
    if (job->text || job->selector == SELECT_MASK)
        from.flags = must_alloc(t.n, 1);
    if (job->selector == SELECT_MASK)
        read_mask(job, &from);
    else if (job->text)
        parallel_for(threads, t.n / PIECE_LINES + (t.n % PIECE_LINES != 0), flag_runs, &from);
    report_text("type", job->text ? "text" : scan_type_name(t.values.type));
    report_number("elements", t.n);
    source_select(job, s, &from, &(rows){.bytes = t.bytes, .starts = t.starts}, t.head_bytes);
    free(from.flags);
    strings_free(&lines);
    text_free(&t);
}
