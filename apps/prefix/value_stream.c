/* SPDX-License-Identifier: MIT */
#include "value_stream.h"

#include <stdlib.h>
#include <string.h>

#include "apps/support/alloc.h"
#include "apps/support/die.h"
#include "apps/support/report.h"

/* The next n values; if they are whole groups, their fold is kept. */
static void scan_next(value_stream *v, const uint64_t *values, uint64_t *results, size_t n, bool whole) {
    uint64_t carry[SCAN_CARRY_BYTES / sizeof(uint64_t)];
    scan_prefix_desc desc = v->desc;
    if (v->folded)
        desc.init = v->fold.bytes;
    prefix_scan(v->job, v->s, v->name, &desc, values, results, n, whole ? carry : NULL);
    if (!whole)
        return;
    v->fold.bits = carry[0];
    v->folded = true;
}

void value_stream_open(value_stream *v, const prefix_job *job, session *s, const char *name, scan_type type) {
    uint64_t none;
    *v = (value_stream){.job = job, .s = s, .name = name};
    v->desc = prefix_describe(job, name, type, &v->init);
    if (job->common->verify)
        prefix_check_begin(&v->check, &v->desc);
    scan_next(v, &none, &none, 0, false);
}

uint64_t *value_stream_room(value_stream *v, size_t n) {
    if (v->room < v->open + n) {
        v->room = v->open + n;
        v->values = must_realloc(v->values, v->room, sizeof *v->values);
        free(v->results);
        v->results = must_alloc(v->room, sizeof *v->results);
    }
    return v->values + v->open;
}

static void verify(value_stream *v, const uint64_t *values, const uint64_t *results, size_t n, uint64_t first) {
    if (v->job->common->verify)
        prefix_check_result(&v->check, v->job, v->name, values, results, n, first);
}

uint64_t *value_stream_scan(value_stream *v, size_t n) {
    const size_t total = v->open + n, whole = total - total % VALUE_GROUP;
    uint64_t *results = v->results + v->open;
    if (whole)
        scan_next(v, v->values, v->results, whole, true);
    if (total > whole)
        scan_next(v, v->values + whole, v->results + whole, total - whole, false);
    verify(v, v->values + v->open, results, n, v->n);
    prefix_normalize(&v->desc, false, results, n);
    v->open = total - whole;
    memmove(v->values, v->values + whole, v->open * sizeof *v->values);
    v->n += n;
    return results;
}

void value_stream_scan_before(value_stream *v, const uint64_t *values, uint64_t *results, size_t n, uint64_t first) {
    scan_next(v, values, results, n, true);
    verify(v, values, results, n, first);
    prefix_normalize(&v->desc, false, results, n);
}

void value_stream_close(value_stream *v) {
    free(v->values);
    free(v->results);
}
