/* SPDX-License-Identifier: MIT
 *
 * sort: the steps that arrays, lines and tables have in common.
 */
#include <stdlib.h>

#include "apps/support/die.h"
#include "apps/support/report.h"
#include "apps/support/rows.h"
#include "row_check.h"
#include "row_sort.h"
#include "sort.h"

static nan_place nan_of(const sort_job *j, const key_option *option) {
    return option && option->nan != NAN_DEFAULT ? option->nan : j->nan;
}

order_key sort_key(const sort_job *j, scan_type type, void *data, const key_option *option) {
    return (order_key){.type = type,
                       .data = data,
                       .descending = j->reverse != (option && option->descending),
                       .nan_first = nan_of(j, option) == NAN_FIRST};
}

bool sort_refuses_nan(const sort_job *j, const key_option *option) { return nan_of(j, option) == NAN_ERROR; }

size_t sort_refused_nan(const sort_job *j, const order_key *key, size_t n, const key_option *option) {
    return sort_refuses_nan(j, option) ? order_first_nan(key, n, j->threads) : ORDER_NONE;
}

void sort_choose_device(sort_job *j, uint64_t bytes) {
    if (j->check)
        return; /* no library is needed */
    if (j->method == SCAN_SORT_SPLIT || j->method == SCAN_SORT_SAMPLE)
        session_need_device(&j->session, false);
    else
        session_choose(&j->session, j->argsort ? WORK_ARGSORT : WORK_SORT, j->method == SCAN_SORT_QUICK ? 0 : bytes);
}

/* ---- --verify ---------------------------------------------------------------------------------------------------- */

void sort_fail_verification(const sort_job *j, const char *what) {
    die(EXIT_NEGATIVE, "%s: verification failed: %s", j->in.name, what);
}

/* Exit 1 unless the order is a permutation and sorted. */
static void verify_sorted(const sort_job *j, const order *o) {
    report_phase before = report_enter(PHASE_VERIFY);
    if (!order_is_permutation(o))
        sort_fail_verification(j, "a row is missing or there twice");
    if (order_first_disorder(o, false, j->threads) != ORDER_NONE)
        sort_fail_verification(j, "the result is not in order");
    report_enter(before);
}

void sort_verify_order(const sort_job *j, const order *o, bool strict) {
    report_phase before = report_enter(PHASE_VERIFY);
    if ((!strict && !order_is_permutation(o)) || order_first_disorder(o, strict, j->threads) != ORDER_NONE)
        sort_fail_verification(j, "what was merged is not in order");
    report_enter(before);
}

/* Exit 1 unless of `runs` runs of equal keys one element each is left. */
static void verify_unique(const sort_job *j, const order *o, size_t runs) {
    report_phase before = report_enter(PHASE_VERIFY);
    if (o->n != runs || order_first_disorder(o, true, j->threads) != ORDER_NONE)
        sort_fail_verification(j, "the result has repetitions, or too few elements");
    report_enter(before);
}

void sort_verify_lines(const sort_job *j, const unsigned char *bytes, size_t n_bytes, uint64_t written) {
    report_phase before = report_enter(PHASE_VERIFY);
    if (rows_line_hash(bytes, n_bytes, j->threads) != written)
        sort_fail_verification(j, "the result does not have the input's lines");
    report_enter(before);
}

/* ---- sorting ----------------------------------------------------------------------------------------------------- */

/* Reading, sorting and writing count as a third of the work each. */
static void show_progress(const sort_job *j, int thirds) {
    if (!j->in_parts)
        report_progress((uint64_t)thirds * j->in.taken / 3, j->in.taken);
}

void sort_rows(sort_job *j, order *o) {
    show_progress(j, 1);
    order_sort(o, &j->session, j->in.name, j->threads);
    show_progress(j, 2);
    if (j->verify)
        verify_sorted(j, o);
    if (j->unique) {
        size_t runs = j->verify ? order_find_runs(o, NULL, j->threads) : 0;
        order_unique(o, &j->session, j->in.name, j->threads);
        if (j->verify)
            verify_unique(j, o, runs);
    }
}

/* With --verify, --unique is a second sort, of keys that are sorted and verified. */
size_t sort_keys(sort_job *j, order_key *key, size_t n) {
    show_progress(j, 1);
    uint64_t hash = j->verify ? order_hash(key->type, key->data, n, j->threads) : 0;
    order o = {.keys = key, .key_count = 1, .method = j->method};
    o.n = order_sort_keys(key, n, j->unique && !j->verify, j->method, &j->session, j->in.name);
    if (j->verify) {
        if (order_hash(key->type, key->data, n, j->threads) != hash)
            sort_fail_verification(j, "the result does not have the input's elements");
        verify_sorted(j, &o);
    }
    if (j->verify && j->unique && n > 0) {
        size_t runs = order_find_runs(&o, NULL, j->threads);
        o.n = order_sort_keys(key, n, true, j->method, &j->session, j->in.name);
        verify_unique(j, &o, runs);
    }
    show_progress(j, 2);
    return o.n;
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

void sort_and_write(sort_job *j, order *o, const rows *all, size_t head_bytes, size_t n_bytes) {
    sort_rows(j, o);
    if (j->argsort) {
        rows_write_numbers(j->out, o->type, o->index, o->n, j->threads, NULL);
    } else {
        uint64_t written = 0, *hash = j->verify && !j->unique ? &written : NULL;
        output_write(j->out, all->bytes, head_bytes);
        rows_write(j->out, &(rows){all->bytes, all->starts, hash}, o->index, o->type, o->n, j->threads);
        if (hash)
            sort_verify_lines(j, all->bytes + head_bytes, n_bytes - head_bytes, written);
    }
    free(o->index);
}
