/* SPDX-License-Identifier: MIT
 *
 * compact on lines, of numbers or of text: what they are selected by.
 */
#include "line_query.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apps/support/alloc.h"
#include "apps/support/die.h"
#include "apps/support/parallel.h"
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

void line_query_open(line_query *q, const compact_job *job) {
    *q = (line_query){.job = job};
    if (job->selector == SELECT_MASK)
        compact_mask_open(&q->mask, job->mask, NULL);
    else if (!job->text && job->selector != SELECT_UNIQUE)
        compact_terms(job, &q->e);
    else if (job->selector == SELECT_WHERE && !expression_parse(&q->e, job->where, resolve, NULL))
        die_usage("--where '%s': %s", job->where, q->e.reason);
    text_tests_prepare(job, &q->e);
}

void line_query_close(line_query *q) {
    text_tests_release(&q->e);
    expression_free(&q->e);
}

const char *line_query_advice(const line_query *q) {
    return q->job->selector == SELECT_UNIQUE ? "--text takes lines as text" : NULL;
}

void line_query_read(const line_query *q, const text *t, uint64_t base, uint8_t *flags, source *from,
                     unsigned threads) {
    text_fault fault;
    *from = (source){.name = t->name, .n = t->n, .base = base, .e = q->e, .flags = flags};
    if (!q->job->text) {
        from->columns[0] = (scan_column){.type = t->values.type, .data = t->values.data};
        return;
    }
    strings_of_lines(&from->texts[0], t, threads);
    from->text_count = 1;
    from->lines = &from->texts[0];
    if (q->job->selector == SELECT_UNIQUE) {
        from->flags = must_alloc(t->n, 1);
        parallel_for(threads, t->n / PIECE_LINES + (t->n % PIECE_LINES != 0), flag_runs, from);
    } else if (q->job->selector == SELECT_WHERE && !text_tests_run(q->job, from, threads, &fault)) {
        die(EXIT_USAGE, "%s: line %zu: matches: %s", t->name, t->lines_before + fault.row + 1, fault.reason);
    }
}

void line_source_free(source *from) {
    free(from->flags);
    for (uint32_t k = 1; k <= from->column_count; k++)
        free((void *)(uintptr_t)from->columns[k].data);
    for (uint32_t k = 0; k < from->text_count; k++)
        strings_free(&from->texts[k]);
}
