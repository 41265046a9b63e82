/* SPDX-License-Identifier: MIT
 *
 * prefix on .npy and raw arrays, in pieces: memory stays the same however long the array is. Forward, a carry goes from
 * piece to piece. Reverse, the scan runs from the last piece to the first but is written from the first to the last: a
 * first pass from the end keeps the carry before each piece, a second writes. A pipe that is to be scanned in reverse
 * is read as a whole.
 */
#include <stdlib.h>
#include <string.h>

#include "prefix.h"
#include "report.h"

enum { PIECE_BYTES = 2 << 20 };

typedef struct work {
    const prefix_job *job;
    session *s;
    array_reader *r;
    scan_prefix_desc desc;
    prefix_value init;
    size_t size, out_size; /* bytes of an element */
    size_t piece;          /* elements of a full piece */
    session_buffer in, out, carry;
    bool in_place;
    prefix_check check;
} work;

static void prepare(work *w) {
    w->desc = prefix_describe(w->job, w->r->type, &w->init);
    w->size = w->r->size;
    w->out_size = scan_type_size(w->desc.out_type);
    w->piece = PIECE_BYTES / w->out_size;
    w->in = session_alloc(w->s, w->piece * w->size);
    w->in_place = w->size == w->out_size && !w->job->common->verify;
    w->out = w->in_place ? w->in : session_alloc(w->s, w->piece * w->out_size);
    prefix_check_begin(&w->check, &w->desc);
}

/* The piece in w->in into w->out. The first in the order of the scan has no carry but perhaps an init. */
static void scan_piece(work *w, size_t n, const void *carry_in, void *carry_out) {
    scan_prefix_desc desc = w->desc;
    desc.carry_in = carry_in;
    desc.carry_out = carry_out;
    if (carry_in)
        desc.init = NULL;
    session_upload(w->s, &w->in, n * w->size);
    report_phase before = report_enter(PHASE_COMPUTE);
    session_check(w->s, scan_prefix(w->s->ctx, &desc, w->in.context, w->out.context, n), w->r->in->name);
    report_enter(before);
}

static void verify_piece(work *w, prefix_check *check, size_t n, uint64_t base) {
    report_phase before = report_enter(PHASE_VERIFY);
    size_t wrong = prefix_check_run(check, w->in.host, w->out.host, n, w->job->reverse);
    if (wrong != n)
        die(EXIT_NEGATIVE, "%s: verification failed: element %llu of the result is wrong", w->r->in->name,
            (unsigned long long)(base + wrong));
    report_enter(before);
}

static void write_piece(work *w, prefix_check *check, size_t n, uint64_t base) {
    session_download(w->s, &w->out, n * w->out_size);
    if (w->job->common->verify)
        verify_piece(w, check, n, base);
    output_write(w->job->out, w->out.host, n * w->out_size);
}

/* ---- forward ----------------------------------------------------------------------------------------------------- */

static uint64_t scan_forward(work *w) {
    uint64_t base = 0;
    w->carry = session_alloc(w->s, SCAN_CARRY_BYTES);
    for (;;) {
        size_t n = array_read(w->r, w->in.host, w->piece);
        if (n == 0)
            return base;
        scan_piece(w, n, base ? w->carry.context : NULL, w->carry.context);
        write_piece(w, &w->check, n, base);
        base += n;
        report_progress(w->r->in->taken, w->r->in->size_hint);
    }
}

/* ---- reverse ----------------------------------------------------------------------------------------------------- */

typedef struct backward {
    uint64_t n;
    unsigned char *all;   /* what was read from a pipe, NULL if pieces are read from the file */
    prefix_check *checks; /* with --verify: the state before each piece, in the order of the scan */
} backward;

static size_t load_piece(work *w, const backward *b, uint64_t p) {
    uint64_t first = p * w->piece;
    size_t n = b->n - first < w->piece ? (size_t)(b->n - first) : w->piece;
    if (b->all)
        memcpy(w->in.host, b->all + first * w->size, n * w->size);
    else
        array_read_at(w->r, w->in.host, n, first);
    return n;
}

static char *carry_of(const work *w, uint64_t p) { return (char *)w->carry.context + p * SCAN_CARRY_BYTES; }

/* The carry before piece p is kept in slot p; the last piece, first in the scan, has none. */
static void collect_carries(work *w, const backward *b, uint64_t pieces) {
    for (uint64_t p = pieces; p-- > 1;) {
        size_t n = load_piece(w, b, p);
        if (b->checks) {
            b->checks[p] = w->check;
            prefix_check_run(&w->check, w->in.host, NULL, n, true);
        }
        scan_piece(w, n, p + 1 < pieces ? carry_of(w, p) : NULL, carry_of(w, p - 1));
        report_progress((pieces - p) * w->piece * w->size, 2 * b->n * w->size);
    }
    if (b->checks && pieces)
        b->checks[0] = w->check;
}

static uint64_t scan_backward(work *w) {
    backward b = {.n = w->r->header.count};
    if (!array_can_seek(w->r)) {
        size_t n;
        b.all = array_read_all(w->r, &n);
        b.n = n;
    }
    uint64_t pieces = b.n / w->piece + (b.n % w->piece != 0);
    w->carry = session_alloc(w->s, (size_t)pieces * SCAN_CARRY_BYTES);
    if (w->job->common->verify)
        b.checks = must_alloc(pieces, sizeof *b.checks);
    collect_carries(w, &b, pieces);
    for (uint64_t p = 0; p < pieces; p++) {
        size_t n = load_piece(w, &b, p);
        scan_piece(w, n, p + 1 < pieces ? carry_of(w, p) : NULL, NULL);
        write_piece(w, b.checks ? &b.checks[p] : NULL, n, p * w->piece);
        report_progress((pieces + p) * w->piece * w->size, 2 * b.n * w->size);
    }
    free(b.all);
    free(b.checks);
    return b.n;
}

/* ------------------------------------------------------------------------------------------------------------------ */

void prefix_array(const prefix_job *job, array_reader *r, session *s) {
    work w = {.job = job, .s = s, .r = r};
    prepare(&w);
    if (r->npy)
        array_write_header(job->out, w.desc.out_type, 1, &r->header.count);
    uint64_t n = job->reverse ? scan_backward(&w) : scan_forward(&w);
    report_text("type", scan_type_name(w.desc.type));
    report_text("out_type", scan_type_name(w.desc.out_type));
    report_number("elements", n);
    if (!w.in_place)
        session_free(s, &w.out);
    session_free(s, &w.in);
    session_free(s, &w.carry);
}
