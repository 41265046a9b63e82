/* SPDX-License-Identifier: MIT
 *
 * sort along an axis of an array: each lane by itself.
 */
#include <stdlib.h>

#include "apps/support/die.h"
#include "apps/support/report.h"
#include "row_check.h"
#include "row_sort.h"
#include "sort.h"

typedef struct lane_sort {
    sort_job *j;
    const array_reader *reader;
    const order_key *key;
    size_t stride;        /* elements of the array between those of a lane */
    scan_type index_type; /* of --argsort */
} lane_sort;

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
            a->j->in.name, axis_place(a->reader, first, place));
}

static void check_lane(void *arg, const void *in, void *out, size_t n, size_t first) {
    const lane_sort *a = arg;
    order_key key;
    const order o = order_of(a, &key, in, n);
    const size_t place = order_first_disorder(&o, false, 1);
    char text[AXIS_PLACE_BYTES];
    (void)out;
    if (place != ORDER_NONE)
        die(EXIT_NEGATIVE, "%s: %s is out of order", a->j->in.name,
            axis_place(a->reader, first + place * a->stride, text));
}

void sort_lanes(sort_job *j, array_reader *reader, const lanes *shape) {
    if (j->unique)
        die_usage("--unique would leave lanes of different lengths: --flat takes the array as one row; compact "
                  "--unique --axis 0 drops whole rows");
    size_t n;
    order_key key = sort_key(j, reader->type, NULL, NULL);
    key.data = array_read_all(reader, &n);
    report_number("elements", n);
    sort_refuse_nan(j, reader, &key, n, 0);
    lane_sort a = {.j = j, .reader = reader, .key = &key, .stride = shape->inner};
    lanes_job job = {.shape = *shape,
                     .in = key.data,
                     .in_size = reader->size,
                     .threads = j->threads,
                     .checks = j->verify,
                     .call = sort_lane,
                     .finish = j->check    ? check_lane
                               : j->verify ? verify_lane
                                           : NULL,
                     .arg = &a};
    if (j->check) {
        lanes_check(&job, j->in.name);
    } else {
        a.index_type = shape->length >> 32 ? SCAN_U64 : SCAN_U32;
        const array_writer w = sort_writer(j, reader, j->argsort ? a.index_type : reader->type);
        job.out_size = scan_type_size(w.type);
        sort_choose_device(j, 0); /* many small calls */
        lanes_write(&job, &j->session, j->in.name, &w, &reader->header);
        report_number("kept", n);
    }
    free(key.data);
}
