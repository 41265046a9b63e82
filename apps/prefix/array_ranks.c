/* SPDX-License-Identifier: MIT
 *
 * prefix on arrays that several ranks scan together. Pieces of whole groups (scan.h) go round the ranks: rank r of R
 * has the pieces r, r + R, r + 2 R, ...; so that it holds one at a time, and writes it when the ranks before it have
 * written theirs.
 *
 *     1. each rank reads its pieces for the totals of their groups, as carry_out gives them;
 *     2. all get the totals of all, and each folds them in the order of the scan: what is before each of its pieces;
 *     3. each reads its pieces again, and scans them with that as init.
 *
 * Where any grouping of the elements gives the same bits a piece has one total. In reverse groups and pieces are
 * counted from the end of the array, as in array.c.
 */
#include <stdlib.h>
#include <string.h>

#include "apps/support/alloc.h"
#include "apps/support/die.h"
#include "apps/support/ranks.h"
#include "apps/support/report.h"
#include "prefix.h"

enum { GROUP_BYTES = 1 << 20, HOST_GROUPS = 4, DEVICE_GROUPS = 16 };

/* Of a group; `check` is what --verify finds itself. */
typedef struct total {
    prefix_value value;
    prefix_total check;
} total;

typedef struct work {
    const prefix_job *job;
    session *s;
    array_reader *r;
    scan_prefix_desc desc;
    prefix_value init;
    array_writer out;
    size_t size, out_size; /* bytes of an element */
    size_t group, piece;   /* elements */
    size_t group_count;    /* totals of a piece */
    uint64_t n, pieces, rounds;
    unsigned char *in, *results, *carry;
    scan_ctx *host;       /* for folds */
    prefix_value *folds;  /* before each piece of this rank */
    prefix_check *checks; /* the same for --verify */
} work;

typedef struct range {
    uint64_t first;
    size_t n;
} range;

static range piece_of(const work *w, uint64_t p) {
    if (!w->job->reverse) {
        const uint64_t left = w->n - p * w->piece;
        return (range){p * w->piece, left < w->piece ? (size_t)left : w->piece};
    }
    const uint64_t end = w->n - (w->pieces - 1 - p) * w->piece;
    return (range){p ? end - w->piece : 0, p ? w->piece : (size_t)end};
}

/* Group g of n elements, in the direction of the scan. */
static range group_of(const work *w, size_t n, size_t g) {
    const size_t before = g * w->group, count = n - before < w->group ? n - before : w->group;
    return (range){w->job->reverse ? n - before - count : before, count};
}

static void prepare(work *w) {
    bool is_bool;
    w->desc = prefix_describe_array(w->job, w->r, &w->init, &is_bool);
    w->out = prefix_writer(w->job, &w->desc, is_bool);
    w->size = w->r->size;
    w->out_size = scan_type_size(w->desc.out_type);
    w->n = w->r->header.count;
    prefix_choose(w->job, w->s, &w->desc, w->n / ranks_count());
    session_ready(w->s);
    const size_t groups = w->s->on_host ? HOST_GROUPS : DEVICE_GROUPS;
    const bool ordered = prefix_is_float(w->desc.out_type) && (w->desc.op == SCAN_ADD || w->desc.op == SCAN_MUL);
    w->piece = groups * (GROUP_BYTES / w->out_size);
    w->group = ordered ? GROUP_BYTES / w->out_size : w->piece;
    w->group_count = w->piece / w->group;
    w->pieces = w->n / w->piece + (w->n % w->piece != 0);
    w->rounds = w->pieces / ranks_count() + (w->pieces % ranks_count() != 0);
    w->in = must_alloc(w->piece, w->size);
    w->results = must_alloc(w->piece, w->out_size);
    w->carry = must_alloc(SCAN_CARRY_BYTES, 1);
    const scan_options one_thread = {.struct_size = sizeof one_thread, .threads = 1};
    const scan_status status = scan_ctx_create(&w->host, &one_thread);
    if (status != SCAN_OK)
        die(session_exit_code(status), "device cpu: %s", scan_status_string(status));
}

/* ---- totals ------------------------------------------------------------------------------------------------------ */

static void find_total(work *w, range of, total *to) {
    scan_prefix_desc desc = w->desc;
    const unsigned char *elements = w->in + of.first * w->size;
    desc.init = NULL;
    desc.kind = SCAN_INCLUSIVE;
    prefix_scan(w->job, w->s, w->r->in->name, &desc, elements, w->results, of.n, w->carry);
    memcpy(&to->value, w->carry, sizeof to->value);
    if (w->job->common->verify)
        to->check = prefix_check_total(&desc, elements, of.n, w->job->reverse);
}

/* Of all pieces of this rank: group_count for each, of which those behind its elements stay 0. */
static total *find_totals(work *w) {
    const size_t count = (size_t)w->rounds * w->group_count;
    total *totals = must_alloc(count, sizeof *totals);
    memset(totals, 0, count * sizeof *totals);
    for (uint64_t k = 0, p = ranks_own(); p < w->pieces; k++, p += ranks_count()) {
        const range piece = piece_of(w, p);
        array_read_at(w->r, w->in, piece.n, piece.first);
        for (size_t g = 0; g * w->group < piece.n; g++)
            find_total(w, group_of(w, piece.n, g), &totals[k * w->group_count + g]);
        report_progress((k + 1) * w->piece * w->size, 2 * w->rounds * w->piece * w->size);
    }
    return totals;
}

/* before op total, by the library itself: a scan of one value with `before` as init. */
static void add_total(const work *w, prefix_value *before, const bool any, const prefix_value *value) {
    scan_prefix_desc desc = w->desc;
    const prefix_value init = *before;
    desc.type = desc.out_type;
    desc.kind = SCAN_INCLUSIVE;
    desc.algorithm = (scan_algorithm){SCAN_GRID_AUTO, SCAN_BLOCK_AUTO};
    desc.init = any ? init.bytes : NULL;
    const scan_status status = scan_prefix(w->host, &desc, value->bytes, before->bytes, 1);
    if (status != SCAN_OK)
        die(session_exit_code(status), "%s: %s", w->r->in->name, scan_ctx_detail(w->host));
}

/* Folds the totals of all ranks in the order of the scan. */
static void find_folds(work *w, const total *mine) {
    const size_t count = (size_t)w->rounds * w->group_count;
    const bool verifies = w->job->common->verify;
    total *all = must_alloc(count * ranks_count(), sizeof *all);
    prefix_value fold = w->init;
    prefix_check check;
    bool any = w->desc.init;
    ranks_gather(mine, count * sizeof *mine, all);
    w->folds = must_alloc((size_t)w->rounds, sizeof *w->folds);
    w->checks = verifies ? must_alloc((size_t)w->rounds, sizeof *w->checks) : NULL;
    if (verifies)
        prefix_check_begin(&check, &w->desc);
    for (uint64_t step = 0; step < w->pieces; step++) {
        const uint64_t p = w->job->reverse ? w->pieces - 1 - step : step, k = p / ranks_count();
        const unsigned rank = (unsigned)(p % ranks_count());
        const total *totals = &all[rank * count + k * w->group_count];
        if (rank == ranks_own()) {
            w->folds[k] = fold;
            if (verifies)
                w->checks[k] = check;
        }
        for (size_t g = 0, n = piece_of(w, p).n; g * w->group < n; g++) {
            add_total(w, &fold, any, &totals[g].value);
            any = true;
            if (verifies)
                prefix_check_add(&check, &totals[g].check);
        }
    }
    free(all);
}

/* ---- results ----------------------------------------------------------------------------------------------------- */

static void scan_piece(work *w, uint64_t p, size_t k, range piece) {
    scan_prefix_desc desc = w->desc;
    const bool is_first = p == (w->job->reverse ? w->pieces - 1 : 0);
    array_read_at(w->r, w->in, piece.n, piece.first);
    if (!is_first)
        desc.init = w->folds[k].bytes;
    prefix_scan(w->job, w->s, w->r->in->name, &desc, w->in, w->results, piece.n, NULL);
    if (w->checks)
        prefix_check_result(&w->checks[k], w->job, w->r->in->name, w->in, w->results, piece.n, piece.first);
    prefix_normalize(&w->desc, w->out.is_bool, w->results, piece.n);
}

static void write_results(work *w) {
    array_write_header(&w->out, 1, &w->n);
    for (uint64_t k = 0; k < w->rounds; k++) {
        const uint64_t p = k * ranks_count() + ranks_own();
        const range piece = p < w->pieces ? piece_of(w, p) : (range){0};
        if (p < w->pieces)
            scan_piece(w, p, (size_t)k, piece);
        array_write(&w->out, w->results, piece.n);
        report_progress((w->rounds + k + 1) * w->piece * w->size, 2 * w->rounds * w->piece * w->size);
    }
}

scan_prefix_desc prefix_array_ranks(const prefix_job *job, array_reader *r, session *s) {
    work w = {.job = job, .s = s, .r = r};
    array_refuse_ranks(r);
    if (prefix_is_whole(job))
        ranks_refuse("an array is scanned in pieces, which this --algorithm does not do");
    prepare(&w);
    total *totals = find_totals(&w);
    find_folds(&w, totals);
    write_results(&w);
    scan_ctx_destroy(w.host);
    free(totals);
    free(w.folds);
    free(w.checks);
    free(w.in);
    free(w.results);
    free(w.carry);
    w.desc.init = NULL; /* it was here */
    return w.desc;
}
