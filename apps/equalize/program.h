/* SPDX-License-Identifier: MIT
 *
 * One run of the program `equalize`, of one image or of many.
 */
#ifndef APPS_EQUALIZE_PROGRAM_H
#define APPS_EQUALIZE_PROGRAM_H

#include "apps/support/cli.h"
#include "apps/support/session.h"
#include "image.h"
#include "job.h"
#include "options.h"

typedef struct program {
    cli c;
    equalize_options options;
    bool like_given, clip_given, tiles_given, quality_given;
    const char *mask_path;
    const char *plot_path;
    const char *out_dir;
    bool together;
    image mask;
    size_t memory;     /* -S, or what a run without it may use */
    bool memory_given; /* -S */
    session s;
    bool device_failed; /* the CPU has taken over */
    bool dropped_profile;
} program;

/* Decides where the images are computed, by the size of their files; opens the device. */
void program_choose_device(program *p, uint64_t file_bytes);

/* A lane of the session's device that computes with ctx. */
equalize_lane program_new_lane(const program *p, scan_ctx *ctx, unsigned threads);

/* Warns and reports, once, that a device failed; "" is no failure. */
void program_note_failure(program *p, const char *failure);

/* Warns, once, that an image has lost its ICC profile. */
void program_note_profile(program *p, const equalize_job *job);

/* Reports an image and what was done with it. */
void program_report_image(const program *p, const char *name, const image_header *h);

/* Reports the method and its parameters. */
void program_report_method(const program *p);

#endif
