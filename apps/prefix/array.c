/* SPDX-License-Identifier: MIT
 *
 * prefix on .npy and raw arrays, in pieces: memory does not grow with the array. Pieces are whole groups of the order
 * in scan.h, so that one value connects a piece with the next: the fold of everything before, which is the next one's
 * init. On a device pieces follow each other without waiting, and the value stays there as a carry; it is also
 * downloaded with each piece, so that the CPU can continue if the device fails.
 *
 * A reverse scan runs from the last piece to the first, but is written from the first to the last: a first pass from
 * the end keeps the fold before each piece, a second pass writes. Groups are then counted from the end, and so are
 * pieces: the first in the file is the short one. A pipe that is scanned in reverse is copied to a spool first.
 */
#include <stdlib.h>
#include <string.h>

#include "apps/support/alloc.h"
#include "apps/support/die.h"
#include "apps/support/ranks.h"
#include "apps/support/report.h"
#include "apps/support/spool.h"
#include "apps/support/stream.h"
#include "prefix.h"

typedef struct slot {
    stream_buffer in, out, carry;
    size_t n;
    uint64_t first; /* index of the first element */
    uint64_t taken; /* bytes of the input so far */
} slot;

typedef struct work {
    const prefix_job *job;
    session *s;
    array_reader *r;
    scan_prefix_desc desc;
    prefix_value init;
    array_writer out;
    size_t size, out_size; /* bytes of an element */
    size_t piece;          /* elements of a full piece */
    bool in_place;
    slot slots[STREAM_SLOTS];
    size_t slot_count;
    uint64_t have;     /* elements read */
    prefix_value fold; /* of all finished pieces */
    prefix_check check;

    /* reverse */
    uint64_t n, pieces;
    spool all;            /* the elements of a pipe */
    bool spooled;         /* pieces are read from there */
    prefix_value *folds;  /* before each piece, in the order of the scan */
    prefix_check *checks; /* the same for --verify */
} work;

static slot *slot_of(work *w, size_t piece) { return &w->slots[piece % w->slot_count]; }

static scan_status make_slots(void *arg, session *s, size_t n) {
    work *w = arg;
    w->in_place = s->on_host && w->size == w->out_size && !w->job->common->verify;
    w->slot_count = stream_slots(s);
    for (size_t i = 0; i < w->slot_count; i++) {
        slot *x = &w->slots[i];
        SESSION_TRY(stream_buffer_new(s, &x->in, n * w->size));
        SESSION_TRY(stream_buffer_new(s, &x->carry, SCAN_CARRY_BYTES));
        x->out = x->in;
        if (!w->in_place)
            SESSION_TRY(stream_buffer_new(s, &x->out, n * w->out_size));
    }
    if (s->on_host)
        return SCAN_OK;
    size_t bytes;
    bool known = scan_prefix_workspace(s->ctx, &w->desc, n, &bytes) == SCAN_OK; /* else scan_prefix will say why */
    return known ? session_probe(s, bytes) : SCAN_OK;
}

static void describe(work *w) {
    bool is_bool;
    w->desc = prefix_describe_array(w->job, w->r, &w->init, &is_bool);
    w->out = prefix_writer(w->job, &w->desc, is_bool);
}

static void prepare(work *w, uint64_t elements) {
    describe(w);
    if (w->job->common->verify)
        prefix_check_begin(&w->check, &w->desc);
    w->size = w->r->size;
    w->out_size = scan_type_size(w->desc.out_type);
    prefix_choose(w->job, w->s, &w->desc, elements);
    session_ready(w->s);
    w->piece = stream_prepare(w->s, w->r->in->name, w->out_size, elements, make_slots, w);
}

/* ---- stages ------------------------------------------------------------------------------------------------------ */

static scan_status upload(void *arg, stream_lane *lane, size_t piece) {
    slot *x = slot_of(arg, piece);
    return stream_up(lane, &x->in, x->n * ((work *)arg)->size);
}

static scan_status scan_slot(work *w, stream_lane *lane, slot *x, scan_prefix_desc desc) {
    desc.algorithm = prefix_algorithm(w->job, w->s, lane->on_host);
    lane->bytes += x->n * (w->size + w->out_size);
    return scan_prefix(lane->ctx, &desc, stream_at(lane, &x->in), stream_at(lane, &x->out), x->n);
}

/* The next piece in the order of the scan, and its carry for the piece after it. */
static scan_status compute_next(void *arg, stream_lane *lane, size_t piece) {
    work *w = arg;
    slot *x = slot_of(w, piece);
    scan_prefix_desc desc = w->desc;
    desc.carry_out = stream_at(lane, &x->carry);
    if (piece)
        desc.init = lane->on_host ? w->fold.bytes : NULL;
    if (piece && !lane->on_host)
        desc.carry_in = slot_of(w, piece - 1)->carry.context;
    return scan_slot(w, lane, x, desc);
}

static scan_status download_fold(void *arg, stream_lane *lane, size_t piece) {
    return stream_down(lane, &slot_of(arg, piece)->carry, sizeof(prefix_value));
}

static scan_status download_next(void *arg, stream_lane *lane, size_t piece) {
    slot *x = slot_of(arg, piece);
    SESSION_TRY(download_fold(arg, lane, piece));
    return stream_down(lane, &x->out, x->n * ((work *)arg)->out_size);
}

/* ---- finishing --------------------------------------------------------------------------------------------------- */

static void keep_fold(work *w, const slot *x) { memcpy(w->fold.bytes, x->carry.host, sizeof w->fold); }

static void verify_piece(const work *w, prefix_check *check, const slot *x) {
    prefix_check_result(check, w->job, w->r->in->name, x->in.host, x->out.host, x->n, x->first);
}

static void write_piece(const work *w, prefix_check *check, const slot *x) {
    if (w->job->common->verify)
        verify_piece(w, check, x);
    prefix_normalize(&w->desc, w->out.is_bool, x->out.host, x->n);
    array_write(&w->out, x->out.host, x->n);
}

/* ---- forward ----------------------------------------------------------------------------------------------------- */

static bool read_forward(void *arg, size_t piece) {
    work *w = arg;
    slot *x = slot_of(w, piece);
    x->n = array_read(w->r, x->in.host, w->piece);
    x->first = w->have;
    x->taken = w->r->in->taken;
    w->have += x->n;
    return x->n > 0;
}

static void finish_forward(void *arg, size_t piece) {
    work *w = arg;
    const slot *x = slot_of(w, piece);
    keep_fold(w, x);
    write_piece(w, &w->check, x);
    report_progress(x->taken, w->r->in->extent.size);
}

static uint64_t scan_forward(work *w) {
    prepare(w, w->r->counted ? w->r->header.count : 0);
    if (w->r->counted)
        array_write_header(&w->out, 1, &w->r->header.count);
    else
        array_reserve_header(&w->out);
    stream_run(w->s, &(stream_job){.subject = w->r->in->name,
                                   .slots = w->slot_count,
                                   .read = read_forward,
                                   .upload = upload,
                                   .compute = compute_next,
                                   .download = download_next,
                                   .finish = finish_forward,
                                   .arg = w});
    if (!w->r->counted)
        array_write_length(&w->out, w->have);
    return w->have;
}

/* ---- reverse ----------------------------------------------------------------------------------------------------- */

/* Piece p of the file. */
static void load(work *w, slot *x, uint64_t p) {
    uint64_t end = w->n - (w->pieces - 1 - p) * w->piece;
    x->first = p ? end - w->piece : 0;
    x->n = (size_t)(end - x->first);
    if (w->spooled)
        spool_read(&w->all, x->in.host, x->n * w->size, x->first * w->size);
    else
        array_read_at(w->r, x->in.host, x->n, x->first);
}

static bool read_from_end(void *arg, size_t piece) {
    work *w = arg;
    if (piece + 1 >= w->pieces)
        return false;
    load(w, slot_of(w, piece), w->pieces - 1 - piece);
    return true;
}

static void finish_from_end(void *arg, size_t piece) {
    work *w = arg;
    const slot *x = slot_of(w, piece);
    uint64_t p = w->pieces - 1 - piece;
    keep_fold(w, x);
    w->folds[p - 1] = w->fold;
    if (w->checks) {
        w->checks[p] = w->check;
        prefix_check_run(&w->check, x->in.host, NULL, x->n, true);
    }
    report_progress((piece + 1) * w->piece * w->size, 2 * w->n * w->size);
}

static bool read_again(void *arg, size_t piece) {
    work *w = arg;
    if (piece == w->pieces)
        return false;
    load(w, slot_of(w, piece), piece);
    return true;
}

static scan_status compute_from_fold(void *arg, stream_lane *lane, size_t piece) {
    work *w = arg;
    scan_prefix_desc desc = w->desc;
    if (piece + 1 < w->pieces)
        desc.init = w->folds[piece].bytes;
    return scan_slot(w, lane, slot_of(w, piece), desc);
}

static scan_status download(void *arg, stream_lane *lane, size_t piece) {
    slot *x = slot_of(arg, piece);
    return stream_down(lane, &x->out, x->n * ((work *)arg)->out_size);
}

static void finish_backward(void *arg, size_t piece) {
    work *w = arg;
    write_piece(w, w->checks ? &w->checks[piece] : NULL, slot_of(w, piece));
    report_progress((w->pieces + piece) * w->piece * w->size, 2 * w->n * w->size);
}

static void copy_pipe(work *w) {
    enum { BYTES = 1 << 20 };
    const size_t size = w->r->size;
    unsigned char *piece = must_alloc(BYTES, 1);
    for (size_t n; (n = array_read(w->r, piece, BYTES / size)) > 0;)
        spool_write(&w->all, piece, n * size, w->all.bytes);
    free(piece);
    w->n = w->all.bytes / size;
    w->spooled = true;
}

static uint64_t scan_backward(work *w) {
    w->n = w->r->header.count;
    if (!array_can_seek(w->r))
        copy_pipe(w);
    prepare(w, w->n);
    array_write_header(&w->out, 1, &w->n);
    w->pieces = w->n / w->piece + (w->n % w->piece != 0);
    w->folds = must_alloc(w->pieces, sizeof *w->folds);
    if (w->job->common->verify)
        w->checks = must_alloc(w->pieces, sizeof *w->checks);
    stream_job job = {.subject = w->r->in->name,
                      .slots = w->slot_count,
                      .read = read_from_end,
                      .upload = upload,
                      .compute = compute_next,
                      .download = download_fold,
                      .finish = finish_from_end,
                      .arg = w};
    stream_run(w->s, &job);
    if (w->checks && w->pieces)
        w->checks[0] = w->check;
    job.read = read_again;
    job.compute = compute_from_fold;
    job.download = download;
    job.finish = finish_backward;
    stream_run(w->s, &job);
    spool_clear(&w->all);
    free(w->folds);
    free(w->checks);
    return w->n;
}

/* ---- arrays as a whole ------------------------------------------------------------------------------------------- */

/* For algorithms without a carry. */
static uint64_t scan_whole(work *w) {
    size_t n;
    unsigned char *values = array_read_all(w->r, &n);
    describe(w);
    void *result = prefix_whole(w->job, w->s, w->r->in->name, &w->desc, values, n);
    prefix_normalize(&w->desc, w->out.is_bool, result, n);
    array_write_header(&w->out, 1, &(uint64_t){n});
    array_write(&w->out, result, n);
    free(result);
    free(values);
    return n;
}

void prefix_array(const prefix_job *job, array_reader *r, session *s) {
    work w = {.job = job, .s = s, .r = r};
    lanes shape;
    uint64_t n = r->header.count;
    const bool by_lanes = axis_lanes(&job->axis, r, "scans", &shape);
    if (by_lanes)
        w.desc = prefix_lanes(job, r, s, &shape);
    else if (ranks_several())
        w.desc = prefix_array_ranks(job, r, s);
    else
        n = prefix_is_whole(job) ? scan_whole(&w) : job->reverse ? scan_backward(&w) : scan_forward(&w);
    report_text("type", scan_type_name(w.desc.type));
    report_text("out_type", scan_type_name(w.desc.out_type));
    report_number("elements", n);
}
