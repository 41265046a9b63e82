/* SPDX-License-Identifier: MIT
 *
 * What `equalize` does with one image, from file to file in memory. Prints nothing and ends nothing, so that any thread
 * can work on an image of its own.
 */
#ifndef APPS_SUPPORT_EQUALIZE_JOB_H
#define APPS_SUPPORT_EQUALIZE_JOB_H

#include "apps/support/image.h"
#include "scan/scan.h"

typedef struct equalize_options {
    bool clahe;
    scan_like like;
    scan_color color;
    double clip; /* as in scan_equalize_desc */
    uint32_t tiles_x;
    uint32_t tiles_y;
    unsigned quality;
    bool verify;
    bool keep_input;   /* for the plot */
    const image *mask; /* one byte a pixel, 0 or 1; NULL: none */
} equalize_options;

typedef struct equalize_job {
    const equalize_options *options;
    scan_ctx *ctx;
    bool on_host; /* context memory is host memory */
    bool reports; /* in the main thread: time counts into the phases of report.h */
    const char *in_name;
    const char *out_name; /* NULL: stdout, in the input's format */

    /* results; equalize_job_free frees them */
    image_error error;
    image in; /* with keep_input or verify */
    image out;
    image_file file;
    size_t file_bytes; /* read */
    char ran[64];
} equalize_job;

bool equalize_job_run(equalize_job *job);
void equalize_job_free(equalize_job *job);

/* Whether the colors of such an image are equalized one by one. */
bool equalize_by_channels(const equalize_options *options, uint32_t channels);

/* The image as a mask of 0 and 1, in place. */
bool equalize_make_mask(const char *name, image *mask, image_error *error);

#endif
