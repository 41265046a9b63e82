/* SPDX-License-Identifier: MIT
 *
 * What `equalize` does with one image, from file to encoded file in memory. No function here prints or exits, so that
 * any thread can work on an image of its own.
 */
#ifndef APPS_EQUALIZE_JOB_H
#define APPS_EQUALIZE_JOB_H

#include "apps/support/report.h"
#include "image.h"
#include "options.h"

/* The context and the memory with which a worker computes image after image. */
typedef struct equalize_lane {
    scan_ctx *ctx;
    bool on_host;      /* context memory is host memory */
    bool must;         /* a failure of the device is an error; else the CPU takes over */
    unsigned threads;  /* of the CPU's context then */
    char failure[256]; /* of the device, or "" */
    bool lost;         /* the device answers no more (session.h) */
    /* private: device memory kept from image to image, the context that failed */
    void *pixels, *mask, *bins;
    size_t pixel_bytes;
    scan_ctx *failed;
} equalize_lane;

/* Frees what the lane holds, but not the context that it began with. */
void equalize_lane_close(equalize_lane *lane);

typedef struct equalize_job {
    const equalize_options *options;
    equalize_lane *lane;
    const char *in_name;
    const char *out_name; /* NULL: stdout, in the input's format */

    /* results; equalize_job_free frees them */
    image_error error;
    image in; /* with keep_input or verify */
    image out;
    image_file file;
    uint64_t *bins; /* of equalize_job_count: n_bins */
    size_t n_bins;
    profile_form dropped; /* NONE, or the ICC profile that the output does not have */
    size_t file_bytes;    /* read */
    char ran[64];
    uint64_t phase_ns[PHASE_COUNT]; /* on its own clock: any thread may do it */
    uint64_t moved[PHASE_COUNT];    /* bytes */
    report_phase phase;
    uint64_t since_ns;
} equalize_job;

bool equalize_job_run(equalize_job *job);

/* Counts the image's pixels in place of mapping them. job->out has its header. */
bool equalize_job_count(equalize_job *job);
void equalize_job_free(equalize_job *job);

/* Adds the job's times to the report. In the main thread. */
void equalize_job_report(const equalize_job *job);

#endif
