/* SPDX-License-Identifier: MIT
 *
 * compact on tables: which columns an expression means, and their values.
 */
#include "table_rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apps/support/alloc.h"
#include "apps/support/die.h"
#include "text_test.h"

/* Gives a column of the table its number among those that are asked for. */
static bool number_of(size_t index, size_t *asked, uint32_t *count, uint32_t *number, char *reason) {
    uint32_t k = 0;
    while (k < *count && asked[k] != index)
        k++;
    if (k == SCAN_MAX_COLUMNS) {
        snprintf(reason, EXPRESSION_REASON_BYTES, "more than %d columns", SCAN_MAX_COLUMNS);
        return false;
    }
    asked[k] = index;
    *count += k == *count;
    *number = k;
    return true;
}

static bool resolve(void *user, const char *name, bool quoted, column_use use, uint32_t *column_number, char *reason) {
    table_query *q = user;
    const table *t = q->head;
    if (!quoted && strcmp(name, "i") == 0 && table_find_name(t, name, 0) == t->columns) {
        q->has_index = true;
        *column_number = SCAN_COLUMN_INDEX;
        if (use == COLUMN_TEXT)
            snprintf(reason, EXPRESSION_REASON_BYTES, "i is the row's index, a number");
        return use != COLUMN_TEXT;
    }
    if (!t->has_names && t->columns && name[strspn(name, "0123456789")]) {
        char quote[NUMBER_QUOTE_BYTES];
        snprintf(reason, EXPRESSION_REASON_BYTES,
                 "there is no header with %s; the columns are `1` to `%zu`, with the backticks",
                 number_quote(quote, name, strlen(name)), t->columns);
        return false;
    }
    if (use == COLUMN_COMPARED && !quoted && table_find_name(t, name, 0) == t->columns && t->columns) {
        char *nearest = table_nearest_name(t, name);
        snprintf(reason, EXPRESSION_REASON_BYTES,
                 "the header has no column \"%.64s\"%s%.64s%s; text goes in double quotes", name,
                 nearest ? ": did you mean \"" : "", nearest ? nearest : "", nearest ? "\"?" : "");
        free(nearest);
        return false;
    }
    size_t index = table_find(t, name);
    if (use == COLUMN_TEXT)
        return number_of(index, q->text_index, &q->text_count, column_number, reason);
    if (use == COLUMN_NUMBERS) {
        if (!number_of(index, q->number_index, &q->number_count, column_number, reason))
            return false;
        ++*column_number; /* 0 is the element of arrays */
    }
    return true;
}

/* A missing field compares false, also with !=, but the NaN that represents it is != to everything. Such a comparison
 * is therefore joined by && with "is not missing", a column of flags. */
static void guard_missing(const compact_job *job, source *from, const column *numbers) {
    expression guarded = from->e;
    guarded.term_count = 0;
    uint32_t flags_of[SCAN_MAX_COLUMNS] = {0};
    for (uint32_t t = 0; t < from->e.term_count; t++) {
        scan_term term = from->e.terms[t];
        bool guard = term.op == SCAN_TERM_NE && term.column != SCAN_COLUMN_INDEX && numbers[term.column - 1].missing;
        if (guarded.term_count + (guard ? 3 : 1) > SCAN_MAX_TERMS)
            die_usage("--where '%s': too long", job->where);
        guarded.terms[guarded.term_count++] = term;
        if (!guard)
            continue;
        const column *c = &numbers[term.column - 1];
        if (!flags_of[term.column - 1]) {
            if (from->column_count == SCAN_MAX_COLUMNS)
                die_usage("--where '%s': too many columns", job->where);
            uint8_t *present = must_alloc(c->n, 1);
            for (size_t i = 0; i < c->n; i++)
                present[i] = c->u64[i] != COLUMN_MISSING_BITS;
            flags_of[term.column - 1] = ++from->column_count;
            from->columns[from->column_count] = (scan_column){.type = SCAN_U8, .data = present};
        }
        guarded.terms[guarded.term_count++] = (scan_term){
            .op = SCAN_TERM_EQ, .column = flags_of[term.column - 1], .constant_type = SCAN_U64, .constant.u = 1};
        guarded.terms[guarded.term_count++] = (scan_term){.op = SCAN_TERM_AND};
    }
    from->e = guarded;
}

void table_query_open(table_query *q, const compact_job *job, const table *head) {
    *q = (table_query){.job = job, .head = head};
    if (!expression_parse(&q->e, job->where, resolve, q))
        die_usage("--where '%s': %s", job->where, q->e.reason);
    text_tests_prepare(job, &q->e);
    for (uint32_t k = 0; k < q->number_count; k++)
        table_warn_of_header(head, q->number_index[k], false);
}

void table_query_close(table_query *q) {
    text_tests_release(&q->e);
    expression_free(&q->e);
}

void table_query_read(const table_query *q, const table *t, uint64_t base, source *from,
                      column numbers[SCAN_MAX_COLUMNS], unsigned threads) {
    text_fault fault;
    *from = (source){.name = t->name,
                     .n = t->n,
                     .base = base,
                     .e = q->e,
                     .column_count = q->number_count,
                     .text_count = q->text_count};
    for (uint32_t k = 0; k < q->number_count; k++) {
        table_numbers(t, q->number_index[k], &numbers[k], NULL, threads);
        from->columns[k + 1] = (scan_column){.type = numbers[k].type, .data = numbers[k].data};
    }
    for (uint32_t k = 0; k < q->text_count; k++)
        strings_of_column(&from->texts[k], t, q->text_index[k], STRING_BYTES, threads);
    if (t->n)
        guard_missing(q->job, from, numbers);
    if (!text_tests_run(q->job, from, threads, &fault))
        die(EXIT_USAGE, "%s: line %zu: matches: %s", t->name, table_line(t, fault.row), fault.reason);
}

void table_source_free(source *from) {
    for (uint32_t k = 1; k <= from->column_count; k++)
        free((void *)(uintptr_t)from->columns[k].data);
    for (uint32_t k = 0; k < from->text_count; k++)
        strings_free(&from->texts[k]);
}
