/* SPDX-License-Identifier: MIT
 *
 * prefix on what is scanned as a whole: arrays, text and tables by an algorithm without a carry.
 */
#include <stdlib.h>

#include "apps/support/alloc.h"
#include "apps/support/die.h"
#include "apps/support/parallel.h"
#include "apps/support/report.h"
#include "apps/support/rows.h"
#include "apps/support/table.h"
#include "apps/support/text.h"
#include "prefix.h"
#include "row_write.h"

/* ---- a whole array ----------------------------------------------------------------------------------------------- */

typedef struct scanning {
    const prefix_job *job;
    scan_prefix_desc desc;
    const void *values;
    void *results;
    size_t n;
    void *carry; /* NULL: not wanted */
} scanning;

static scan_status scan_values(void *arg, session *s) {
    const scanning *a = arg;
    scan_prefix_desc desc = a->desc;
    const size_t out_bytes = a->n * scan_type_size(desc.out_type);
    void *in, *out, *carry = NULL;
    desc.algorithm = prefix_algorithm(a->job, s, s->on_host);
    SESSION_TRY(session_upload(s, a->values, a->n * scan_type_size(desc.type), &in));
    SESSION_TRY(session_alloc_result(s, a->results, out_bytes, &out));
    if (a->carry)
        SESSION_TRY(session_alloc_result(s, a->carry, SCAN_CARRY_BYTES, &carry));
    desc.carry_out = carry;
    SESSION_TRY(scan_prefix(s->ctx, &desc, in, out, a->n));
    SESSION_TRY(session_wait(s));
    if (a->carry)
        SESSION_TRY(session_download(s, a->carry, carry, sizeof(uint64_t)));
    return session_download(s, a->results, out, out_bytes);
}

void prefix_scan(const prefix_job *job, session *s, const char *name, const scan_prefix_desc *desc, const void *values,
                 void *results, size_t n, void *carry) {
    session_try(s, name, scan_values, &(scanning){job, *desc, values, results, n, carry});
    report_moved(PHASE_COMPUTE, n * (scan_type_size(desc->type) + scan_type_size(desc->out_type)));
}

void *prefix_whole(const prefix_job *job, session *s, const char *name, const scan_prefix_desc *desc,
                   const void *values, size_t n) {
    void *result = must_alloc(n, scan_type_size(desc->out_type));
    prefix_check check;
    if (job->common->verify)
        prefix_check_begin(&check, desc);
    prefix_choose(job, s, desc, n);
    prefix_scan(job, s, name, desc, values, result, n, NULL);
    if (job->common->verify)
        prefix_check_result(&check, job, name, values, result, n, 0);
    prefix_normalize(desc, false, result, n);
    return result;
}

void prefix_report_types(const scan_prefix_desc *desc, const char *what, size_t n) {
    report_text("type", scan_type_name(desc->type));
    report_text("out_type", scan_type_name(desc->out_type));
    report_number(what, n);
}

/* ---- text -------------------------------------------------------------------------------------------------------- */

void prefix_text_whole(const prefix_job *job, input *in, session *s) {
    unsigned threads = parallel_threads(job->common->threads);
    text t;
    prefix_value init;
    text_read(&t, in, NULL, threads);
    scan_prefix_desc desc = prefix_describe(job, in->name, t.values.type, &init);
    void *result = prefix_whole(job, s, in->name, &desc, t.values.data, t.n);
    output_write(job->out, t.bytes, t.head_bytes);
    rows_write_numbers(job->out, desc.out_type, result, t.n, threads, NULL);
    prefix_report_types(&desc, "elements", t.n);
    free(result);
    text_free(&t);
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

void prefix_table_whole(const prefix_job *job, input *in, session *s) {
    unsigned threads = parallel_threads(job->common->threads);
    table t;
    column c = {.type = SCAN_I64};
    prefix_value init;
    table_begin(&t, in, &job->dialect);
    size_t index = table_seek(&t, job->key);
    table_end(&t, &index, 1, threads);
    index = table_find(&t, job->key);
    if (t.columns)
        table_warn_of_header(&t, index, false);
    if (t.columns)
        table_numbers(&t, index, &c, NULL, threads);
    scan_prefix_desc desc = prefix_describe(job, in->name, c.type, &init);
    uint64_t *filled = must_alloc(c.n, sizeof *filled);
    row_fill_missing(job, &c, filled);
    uint64_t *result = prefix_whole(job, s, in->name, &desc, filled, t.n);
    row_mark_missing(&c, result);
    row_write_header(job, &t, index);
    row_write(job->out, &(row_part){&t, result}, 1, desc.out_type, threads);
    prefix_report_types(&desc, "rows", t.n);
    free(filled);
    free(result);
    free(c.data);
    table_free(&t);
}
