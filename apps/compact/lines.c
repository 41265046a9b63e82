/* SPDX-License-Identifier: MIT
 *
 * compact on lines, of numbers or of text.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apps/support/alloc.h"
#include "apps/support/die.h"
#include "apps/support/parallel.h"
#include "apps/support/report.h"
#include "apps/support/text.h"
#include "source.h"
#include "text_test.h"

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

/* In lines of text x is the line. */
static bool resolve(void *user, const char *name, bool quoted, column_use use, uint32_t *column, char *reason) {
    (void)user;
    (void)quoted;
    bool line = strcmp(name, "x") == 0, index = strcmp(name, "i") == 0;
    *column = line ? 0 : SCAN_COLUMN_INDEX;
    if (!line && !index)
        snprintf(reason, EXPRESSION_REASON_BYTES, "there is no column \"%.64s\"; x is the line, i its index", name);
    else if (use == COLUMN_COMPARED)
        snprintf(reason, EXPRESSION_REASON_BYTES,
                 "columns are compared with each other in tables; text goes in double "
                 "quotes");
    else if (line && use == COLUMN_NUMBERS)
        snprintf(reason, EXPRESSION_REASON_BYTES, "x is text, which compares with text in double quotes");
    else if (index && use == COLUMN_TEXT)
        snprintf(reason, EXPRESSION_REASON_BYTES, "i is the line's index, a number");
    else
        return true;
    return false;
}

/* --where on lines of text. */
static void run_tests(const compact_job *job, source *from, unsigned threads) {
    text_fault fault;
    from->texts[0] = *from->lines;
    from->text_count = 1;
    text_tests_prepare(job, &from->e);
    if (!text_tests_run(job, from, threads, &fault))
        die(EXIT_USAGE, "%s: line %zu: matches: %s", from->name, fault.row + 1, fault.reason);
}

void compact_text(const compact_job *job, input *in, session *s) {
    unsigned threads = parallel_threads(job->common->threads);
    text t;
    strings lines = {0};
    source from = {.name = in->name};
    if (job->text && job->selector == SELECT_WHERE && !expression_parse(&from.e, job->where, resolve, NULL))
        die_usage("--where '%s': %s", job->where, from.e.reason);
    if (!job->text && job->selector != SELECT_MASK && job->selector != SELECT_UNIQUE)
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
    if (job->selector == SELECT_MASK || (job->text && job->selector == SELECT_UNIQUE))
        from.flags = must_alloc(t.n, 1);
    if (job->selector == SELECT_MASK)
        read_mask(job, &from);
    else if (job->text && job->selector == SELECT_WHERE)
        run_tests(job, &from, threads);
    else if (job->text)
        parallel_for(threads, t.n / PIECE_LINES + (t.n % PIECE_LINES != 0), flag_runs, &from);
    report_text("type", job->text ? "text" : scan_type_name(t.values.type));
    report_number("elements", t.n);
    source_select(job, s, &from, &(rows){.bytes = t.bytes, .starts = t.starts}, t.head_bytes);
    free(from.flags);
    for (uint32_t k = 1; k <= from.column_count; k++)
        free((void *)(uintptr_t)from.columns[k].data);
    text_tests_release(&from.e);
    expression_free(&from.e);
    strings_free(&lines);
    text_free(&t);
}
