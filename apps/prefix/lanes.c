/* SPDX-License-Identifier: MIT
 *
 * prefix along an axis of an array: each lane by itself, into an array of the same shape.
 */
#include <stdlib.h>

#include "apps/support/die.h"
#include "apps/support/ranks.h"
#include "prefix.h"

typedef struct lane_scan {
    const prefix_job *job;
    const array_reader *reader;
    const session *s;
    scan_prefix_desc desc;
    lanes_share share;
    size_t stride;      /* elements of the share between those of a lane */
    prefix_check check; /* of --verify, before the first element */
    bool is_bool;       /* the result */
} lane_scan;

static scan_status scan_lane(void *arg, scan_ctx *ctx, bool on_host, const void *in, void *out, size_t n) {
    const lane_scan *a = arg;
    scan_prefix_desc desc = a->desc;
    desc.algorithm = prefix_algorithm(a->job, a->s, on_host);
    return scan_prefix(ctx, &desc, in, out, n);
}

static void finish_lane(void *arg, const void *in, void *out, size_t n, size_t first) {
    const lane_scan *a = arg;
    if (a->job->common->verify) {
        prefix_check check = a->check;
        const size_t wrong = prefix_check_run(&check, in, out, n, a->job->reverse);
        char place[AXIS_PLACE_BYTES];
        if (wrong != n)
            die(EXIT_NEGATIVE, "%s: verification failed: %s of the result is wrong", a->reader->in->name,
                axis_place(a->reader, lanes_share_place(&a->share, first + wrong * a->stride), place));
    }
    prefix_normalize(&a->desc, a->is_bool, out, n);
}

scan_prefix_desc prefix_lanes(const prefix_job *job, array_reader *r, session *s, const lanes *shape) {
    size_t n;
    prefix_value init;
    const bool several = ranks_several();
    array_refuse_ranks(r);
    lane_scan a = {.job = job, .reader = r, .s = s, .share = lanes_share_of(shape)};
    void *values = several ? lanes_share_read(&a.share, r) : array_read_all(r, &n);
    a.stride = a.share.shape.inner;
    a.desc = prefix_describe_array(job, r, &init, &a.is_bool);
    prefix_choose(job, s, &a.desc, 0); /* many small calls */
    if (job->common->verify)
        prefix_check_begin(&a.check, &a.desc);
    const array_writer w = prefix_writer(job, &a.desc, a.is_bool);
    const lanes_job work = {.shape = a.share.shape,
                            .share = several ? &a.share : NULL,
                            .in = values,
                            .in_size = r->size,
                            .out_size = scan_type_size(w.type),
                            .threads = w.threads,
                            .checks = job->common->verify,
                            .call = scan_lane,
                            .finish = finish_lane,
                            .arg = &a};
    lanes_write(&work, s, r->in->name, &w, &r->header);
    free(values);
    a.desc.init = NULL; /* it was here */
    return a.desc;
}
