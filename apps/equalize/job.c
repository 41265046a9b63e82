/* SPDX-License-Identifier: MIT
 *
 * One image through `equalize`: load, equalize (in place where the input is not needed any more), encode, verify.
 */
#include "job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apps/support/die.h"
#include "apps/support/report.h"
#include "apps/support/session.h"
#include "load.h"
#include "profile.h"
#include "save.h"
#include "verify.h"

static void enter(equalize_job *job, report_phase phase) {
    uint64_t now = report_clock();
    if (job->since_ns)
        job->phase_ns[job->phase] += now - job->since_ns;
    job->since_ns = now;
    job->phase = phase;
}

/* ---- the library ------------------------------------------------------------------------------------------------- */

/* bins: context memory of job->n_bins, or NULL. It receives the image's histograms if there are none for all images. */
static scan_status call(const equalize_job *job, const uint8_t *mask, uint64_t *bins, const void *in, void *out) {
    const equalize_options *o = job->options;
    const image_header *h = &job->out.header;
    scan_equalize_desc desc = {.struct_size = sizeof desc,
                               .type = h->depth == 16 ? SCAN_U16 : SCAN_U8,
                               .channels = h->channels,
                               .like = o->like,
                               .color = o->color,
                               .mask = mask,
                               .bins_in = o->bins ? bins : NULL,
                               .bins_out = o->bins ? NULL : bins};
    if (!o->clahe)
        return scan_equalize(job->lane->ctx, &desc, in, job->bins ? NULL : out, NULL, image_pixels(h));
    desc.clip = o->clip;
    desc.tiles_x = o->tiles_x;
    desc.tiles_y = o->tiles_y;
    return scan_clahe(job->lane->ctx, &desc, in, out, h->width, h->height);
}

static scan_status reserve_pixels(const equalize_job *job) {
    equalize_lane *lane = job->lane;
    size_t bytes = image_bytes(&job->out.header);
    if (bytes <= lane->pixel_bytes)
        return SCAN_OK;
    scan_free(lane->ctx, lane->pixels);
    lane->pixels = NULL;
    lane->pixel_bytes = 0;
    SESSION_TRY(scan_malloc(lane->ctx, bytes, &lane->pixels));
    lane->pixel_bytes = bytes;
    return SCAN_OK;
}

/* Once for each lane: all images have one mask. */
static scan_status upload_mask(equalize_job *job) {
    equalize_lane *lane = job->lane;
    const image *mask = job->options->mask;
    if (!mask || lane->mask)
        return SCAN_OK;
    size_t bytes = image_pixels(&mask->header);
    SESSION_TRY(scan_malloc(lane->ctx, bytes, &lane->mask));
    job->moved[PHASE_UPLOAD] += bytes;
    return scan_upload(lane->ctx, lane->mask, mask->pixels, bytes);
}

/* Makes device memory for the histograms: those of all images, or room for those of one. */
static scan_status upload_bins(equalize_job *job) {
    equalize_lane *lane = job->lane;
    const uint64_t *all = job->options->bins;
    const size_t bytes = job->n_bins * sizeof *all;
    if (bytes == 0)
        return SCAN_OK;
    if (!lane->bins)
        SESSION_TRY(scan_malloc(lane->ctx, bytes, &lane->bins));
    return all ? scan_upload(lane->ctx, lane->bins, all, bytes) : SCAN_OK;
}

/* Through device memory. The input stays as it is. */
static scan_status call_on_device(equalize_job *job) {
    const equalize_lane *lane = job->lane;
    size_t bytes = image_bytes(&job->out.header);
    enter(job, PHASE_UPLOAD);
    SESSION_TRY(reserve_pixels(job));
    SESSION_TRY(upload_mask(job));
    SESSION_TRY(upload_bins(job));
    SESSION_TRY(scan_upload(lane->ctx, lane->pixels, job->in.pixels ? job->in.pixels : job->out.pixels, bytes));
    SESSION_TRY(scan_ctx_sync(lane->ctx));
    enter(job, PHASE_COMPUTE);
    SESSION_TRY(call(job, lane->mask, job->n_bins ? lane->bins : NULL, lane->pixels, lane->pixels));
    SESSION_TRY(scan_ctx_sync(lane->ctx));
    snprintf(job->ran, sizeof job->ran, "%s", scan_ctx_ran(lane->ctx));
    enter(job, PHASE_DOWNLOAD);
    if (job->bins)
        SESSION_TRY(scan_download(lane->ctx, job->bins, lane->bins, job->n_bins * sizeof *job->bins));
    else
        SESSION_TRY(scan_download(lane->ctx, job->out.pixels, lane->pixels, bytes));
    SESSION_TRY(scan_ctx_sync(lane->ctx));
    job->moved[PHASE_UPLOAD] += bytes;
    job->moved[PHASE_DOWNLOAD] += bytes;
    enter(job, PHASE_COMPUTE);
    return SCAN_OK;
}

static scan_status call_on_host(equalize_job *job) {
    const image *mask = job->options->mask;
    uint64_t *bins = job->bins ? job->bins : (uint64_t *)(uintptr_t)job->options->bins;
    SESSION_TRY(call(job, mask ? mask->pixels : NULL, bins, job->in.pixels ? job->in.pixels : job->out.pixels,
                     job->out.pixels));
    snprintf(job->ran, sizeof job->ran, "%s", scan_ctx_ran(job->lane->ctx));
    return SCAN_OK;
}

/* Gives the lane a context of the CPU, after its device has failed. */
static scan_status switch_to_host(equalize_lane *lane) {
    scan_options options = {.struct_size = sizeof options, .threads = lane->threads};
    snprintf(lane->failure, sizeof lane->failure, "%s", scan_ctx_detail(lane->ctx));
    lane->failed = lane->ctx;
    lane->ctx = NULL;
    lane->on_host = true;
    return scan_ctx_create(&lane->ctx, &options);
}

void equalize_lane_close(equalize_lane *lane) {
    scan_ctx *device = lane->failed ? lane->failed : lane->ctx;
    scan_free(device, lane->pixels);
    scan_free(device, lane->mask);
    scan_free(device, lane->bins);
    if (lane->failed)
        scan_ctx_destroy(lane->ctx);
    *lane = (equalize_lane){0};
}

/* Equalizes job->in into job->out, or job->out in place. */
static bool equalize(equalize_job *job) {
    const image *mask = job->options->mask;
    const image_header *h = &job->out.header;
    equalize_lane *lane = job->lane;
    if (mask && (mask->header.width != h->width || mask->header.height != h->height))
        return image_fail(&job->error, EXIT_USAGE, "%s: the image has %u x %u pixels, the mask %u x %u", job->in_name,
                          h->width, h->height, mask->header.width, mask->header.height);
    scan_status status = lane->on_host ? call_on_host(job) : call_on_device(job);
    bool device_failed = !lane->on_host && session_is_device_failure(status);
    enter(job, PHASE_COMPUTE);
    lane->lost = lane->lost || status == SCAN_ERR_DEVICE_LOST;
    if (device_failed && !lane->must) {
        status = switch_to_host(lane);
        if (status == SCAN_OK)
            status = call_on_host(job);
    }
    job->moved[PHASE_COMPUTE] = 2 * image_bytes(h) + (mask ? image_pixels(h) : 0);
    if (status == SCAN_OK)
        return true;
    const char *detail = scan_ctx_detail(lane->ctx);
    return image_fail(&job->error, device_failed && lane->must ? EXIT_DEVICE : session_exit_code(status), "%s: %s%s",
                      job->in_name, device_failed ? "device: " : "", detail[0] ? detail : scan_status_string(status));
}

/* ---- verify ------------------------------------------------------------------------------------------------------ */

/* Compares the pixels with plain formulas, and the encoded file with the pixels; JPEG is lossy: only its shape. */
static bool verify(equalize_job *job, const char *out_name) {
    image_error *error = &job->error;
    image again;
    if (!equalize_verify(job->in_name, job->options, &job->in, job->out.pixels, error))
        return false;
    if (!image_load_finish(image_load_memory(out_name, job->file.data, job->file.bytes), &again, error)) {
        error->code = error->code == EXIT_USAGE ? EXIT_NEGATIVE : error->code;
        return false;
    }
    const image_header *a = &again.header, *b = &job->out.header;
    bool same = a->width == b->width && a->height == b->height && a->channels == b->channels && a->depth == b->depth;
    same = same && (again.profile.data != NULL) == (job->in.profile.data && job->dropped == PROFILE_NONE);
    if (same && a->format != IMAGE_JPEG)
        same = memcmp(again.pixels, job->out.pixels, image_bytes(b)) == 0;
    image_free(&again);
    return same || image_fail(error, EXIT_NEGATIVE, "%s: verify: the file does not hold the pixels", out_name);
}

/* ---- the job ----------------------------------------------------------------------------------------------------- */

static bool load(equalize_job *job) {
    const equalize_options *o = job->options;
    image in;
    if (!image_load_finish(image_load_start(job->in_name, o->max_bytes), &in, &job->error))
        return false;
    job->file_bytes = in.file_bytes;
    if (!o->keep_input && !o->verify && job->lane->on_host) {
        job->out = in;
        return true;
    }
    job->in = in;
    return image_new(job->in_name, &in.header, &job->out, &job->error);
}

static bool encode(equalize_job *job, const char *out_name, image_format format) {
    const image_profile *had = job->in.pixels ? &job->in.profile : &job->out.profile;
    image_profile profile;
    if (!profile_convert(had, format, &profile))
        return image_fail(&job->error, EXIT_IO, "%s: no memory for its colour profile", job->in_name);
    job->dropped = profile.data ? PROFILE_NONE : had->form;
    const bool good = image_encode(out_name, format, &job->out.header, job->out.pixels, &profile, job->options->quality,
                                   &job->file, &job->error);
    profile_free(&profile);
    return good;
}

/* How many numbers the histograms of the image are. */
static bool find_bins(equalize_job *job) {
    const equalize_options *o = job->options;
    const image_header *h = &job->out.header;
    const scan_equalize_desc desc = {.struct_size = sizeof desc,
                                     .type = h->depth == 16 ? SCAN_U16 : SCAN_U8,
                                     .channels = h->channels,
                                     .like = o->like,
                                     .color = o->color};
    const scan_status status = scan_equalize_bins(&desc, &job->n_bins);
    return status == SCAN_OK ||
           image_fail(&job->error, session_exit_code(status), "%s: %s", job->in_name, scan_status_string(status));
}

bool equalize_job_count(equalize_job *job) {
    enter(job, PHASE_READ);
    if (!image_load_finish(image_load_start(job->in_name, job->options->max_bytes), &job->out, &job->error))
        return false;
    job->file_bytes = job->out.file_bytes;
    enter(job, PHASE_COMPUTE);
    if (!find_bins(job))
        return false;
    job->bins = malloc(job->n_bins * sizeof *job->bins);
    const bool good = job->bins ? equalize(job) : image_fail(&job->error, EXIT_IO, "%s: no memory", job->in_name);
    enter(job, PHASE_OTHER);
    return good;
}

bool equalize_job_run(equalize_job *job) {
    const char *out_name = job->out_name ? job->out_name : "stdout";
    enter(job, PHASE_READ);
    if (!load(job))
        return false;
    const image_header *h = &job->out.header;
    image_format format = h->format;
    if (job->out_name && !image_format_of_name(job->out_name, h->channels, &format, &job->error))
        return false;
    if (!image_format_holds(out_name, format, h, &job->error))
        return false;
    enter(job, PHASE_COMPUTE);
    if (job->options->bins && !find_bins(job))
        return false;
    if (!equalize(job))
        return false;
    enter(job, PHASE_WRITE);
    if (!encode(job, out_name, format))
        return false;
    enter(job, PHASE_VERIFY);
    if (job->options->verify && !verify(job, out_name))
        return false;
    enter(job, PHASE_OTHER);
    return true;
}

void equalize_job_report(const equalize_job *job) {
    for (int phase = 0; phase < PHASE_COUNT; phase++) {
        report_time((report_phase)phase, job->phase_ns[phase]);
        report_moved((report_phase)phase, job->moved[phase]);
    }
}

void equalize_job_free(equalize_job *job) {
    image_free(&job->in);
    image_free(&job->out);
    free(job->file.data);
    free(job->bins);
    job->file = (image_file){0};
    job->bins = NULL;
}
