/* SPDX-License-Identifier: MIT
 *
 * sort along an axis of an array: each lane by itself. What does not fit the memory is read in parts, of all lanes that
 * one place on the axes before has or of several such places, and each part is written before the next is read.
 */
#include <stdlib.h>

#include "apps/support/alloc.h"
#include "apps/support/die.h"
#include "apps/support/ranks.h"
#include "apps/support/report.h"
#include "row_check.h"
#include "row_sort.h"
#include "sort.h"

typedef struct lane_sort {
    sort_job *j;
    const array_reader *reader;
    const order_key *key;
    lanes_share share; /* of several ranks, or the whole array */
    size_t stride;     /* elements of the array between those of a lane */
    size_t before;     /* elements of the parts before */
    uint64_t lane;     /* the first that is out of order, UINT64_MAX: none; and where */
    size_t disorder;
    scan_type index_type; /* of --argsort */
} lane_sort;

/* The element of the array that is element i of the part that is worked on. */
static size_t place_of(const lane_sort *a, size_t i) { return lanes_share_place(&a->share, a->before + i); }

static scan_status sort_lane(void *arg, scan_ctx *ctx, bool on_host, const void *in, void *out, size_t n) {
    const lane_sort *a = arg;
    (void)on_host;
    scan_sort_desc desc = order_describe(a->key, a->j->method, &a->j->session);
    if (!a->j->argsort)
        return scan_sort(ctx, &desc, in, out, NULL, NULL, n);
    desc.index_type = a->index_type;
    return scan_argsort(ctx, &desc, in, out, n);
}

static order order_of(const lane_sort *a, order_key *key, const void *data, size_t n) {
    *key = *a->key;
    key->data = (void *)(uintptr_t)data; /* is only read */
    return (order){.keys = key, .key_count = 1, .n = n};
}

static void verify_lane(void *arg, const void *in, void *out, size_t n, size_t first) {
    const lane_sort *a = arg;
    order_key key;
    order o = order_of(a, &key, a->j->argsort ? in : out, n);
    char place[AXIS_PLACE_BYTES];
    if (a->j->argsort) {
        o.index = out;
        o.type = a->index_type;
    }
    if ((!a->j->argsort && order_hash(key.type, out, n, 1) != order_hash(key.type, (void *)(uintptr_t)in, n, 1)) ||
        !order_is_permutation(&o) || order_first_disorder(&o, false, 1) != ORDER_NONE)
        die(EXIT_NEGATIVE, "%s: verification failed: what begins with %s is not in order, or not the input's elements",
            a->j->in.name, axis_place(a->reader, place_of(a, first), place));
}

/* Lanes come in their order: the first disorder is noted. */
static void check_lane(void *arg, const void *in, void *out, size_t n, size_t first) {
    lane_sort *a = arg;
    order_key key;
    const order o = order_of(a, &key, in, n);
    const size_t inner = a->share.whole.inner, begin = place_of(a, first);
    (void)out;
    if (a->lane != UINT64_MAX)
        return;
    const size_t place = order_first_disorder(&o, false, 1);
    if (place == ORDER_NONE)
        return;
    a->lane = begin / (a->share.whole.length * inner) * inner + begin % inner;
    a->disorder = place_of(a, first + place * a->stride);
}

/* What a lane takes beside itself: its result, and the workspace of the sort, as scan.h bounds it. */
static const double BESIDE_LANE = 1 + 1.15;

/* What several ranks exchange, of elements and results, is there twice. */
static const double BESIDE_SHARE = 2;

/* How many places on the axes before are worked on at once: all of them if they fit the memory, with what each thread
 * has beside them for a batch of lanes; or if they cannot be parted and no -S says that they must fit. */
static size_t outer_of_part(const sort_job *j, const array_reader *reader, const lanes *shape) {
    const double element =
        (double)(reader->size + (j->argsort ? sizeof(uint64_t) : 0) + (j->verify ? reader->size : 0));
    const double lane = element * (double)shape->length, block = lane * (double)shape->inner;
    const double lanes_beside = (shape->inner > 1 ? 2 * LANES_MOVED : BESIDE_LANE) * (double)j->threads;
    const double lanes_there = BESIDE_LANE * (double)shape->outer * (double)shape->inner;
    const double beside = lane * (lanes_beside < lanes_there ? lanes_beside : lanes_there);
    const double fitting = block > 0 ? ((double)j->memory - beside) / block : (double)shape->outer;
    if (fitting >= (double)shape->outer)
        return shape->outer;
    if (j->memory_given && (fitting < 1 || reader->header.fortran))
        die_usage("%s: does not fit -S, and %s is sorted in memory only: give -S more", j->in.name,
                  reader->header.fortran ? "an array in Fortran order" : "what lies along this axis");
    return reader->header.fortran ? shape->outer : fitting < 1 ? 1 : (size_t)fitting;
}

static void refuse_nan(const lane_sort *a, size_t n) {
    const size_t nan = sort_refused_nan(a->j, a->key, n, NULL);
    const uint64_t first = ranks_min(nan == ORDER_NONE ? UINT64_MAX : place_of(a, nan));
    char text[AXIS_PLACE_BYTES];
    if (first != UINT64_MAX)
        die(EXIT_USAGE, "%s: %s is NaN", a->j->in.name, axis_place(a->reader, (size_t)first, text));
}

static void check_part(lane_sort *a, const lanes_job *job) {
    char text[AXIS_PLACE_BYTES];
    a->lane = UINT64_MAX;
    lanes_check(job, a->j->in.name);
    if (ranks_has_first(a->lane))
        die(EXIT_NEGATIVE, "%s: %s is out of order", a->j->in.name, axis_place(a->reader, a->disorder, text));
}

/* Sorts or checks the part that has been read. */
static void sort_part(lane_sort *a, const lanes *shape, const array_writer *w, bool first) {
    sort_job *j = a->j;
    const array_reader *reader = a->reader;
    refuse_nan(a, lanes_elements(shape));
    lanes_job job = {.shape = *shape,
                     .share = ranks_several() ? &a->share : NULL,
                     .in = a->key->data,
                     .in_size = reader->size,
                     .threads = j->threads,
                     .checks = j->verify,
                     .apart = j->argsort,
                     .call = sort_lane,
                     .finish = j->check    ? check_lane
                               : j->verify ? verify_lane
                                           : NULL,
                     .arg = a};
    if (j->check) {
        check_part(a, &job);
    } else {
        job.out_size = scan_type_size(w->type);
        lanes_write(&job, &j->session, j->in.name, w, first ? &reader->header : NULL);
    }
}

void sort_lanes(sort_job *j, array_reader *reader, const lanes *shape) {
    if (j->unique)
        die_usage("--unique would leave lanes of different lengths: --flat takes the array as one row; compact "
                  "--unique --axis 0 drops whole rows");
    array_refuse_ranks(reader);
    const size_t outer = ranks_several() ? shape->outer : outer_of_part(j, reader, shape);
    const size_t block = shape->length * shape->inner;
    order_key key = sort_key(j, reader->type, NULL, NULL);
    lane_sort a = {.j = j, .reader = reader, .key = &key, .share = {*shape, *shape, 0, false}, .stride = shape->inner};
    a.index_type = shape->length >> 32 ? SCAN_U64 : SCAN_U32;
    const array_writer w = sort_writer(j, reader, j->argsort ? a.index_type : reader->type);
    size_t n = 0;
    if (!j->check)
        sort_choose_device(j, 0); /* many small calls */
    if (ranks_several()) {
        n = (size_t)reader->header.count;
        a.share = lanes_share_of(shape);
        sort_refuse_share(j,
                          BESIDE_SHARE * (double)(lanes_elements(&a.share.shape) * (reader->size + sizeof(uint64_t))));
        a.stride = a.share.shape.inner;
        key.data = lanes_share_read(&a.share, reader);
        sort_part(&a, &a.share.shape, &w, true);
    } else if (outer == shape->outer) {
        key.data = array_read_all(reader, &n);
        sort_part(&a, shape, &w, true);
    } else {
        key.data = must_alloc(outer * block, reader->size);
        for (size_t done = 0; done < shape->outer; done += outer, a.before = n) {
            lanes part = *shape;
            part.outer = shape->outer - done < outer ? shape->outer - done : outer;
            n += array_read(reader, key.data, part.outer * block);
            sort_part(&a, &part, &w, done == 0);
            report_progress(n * reader->size, (uint64_t)reader->header.count * reader->size);
        }
    }
    report_number("elements", n);
    if (!j->check)
        report_number("kept", n);
    free(key.data);
}
