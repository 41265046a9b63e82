/* SPDX-License-Identifier: MIT
 *
 * One image through `equalize`: load, equalize (in place where the input is not needed any more), encode, verify.
 */
#include "apps/support/equalize_job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apps/support/cli.h"
#include "apps/support/equalize_verify.h"
#include "apps/support/report.h"
#include "apps/support/session.h"

static void enter(const equalize_job *job, report_phase phase) {
    if (job->reports)
        report_enter(phase);
}

bool equalize_by_channels(const equalize_options *o, uint32_t channels) {
    bool separate = o->color == SCAN_COLOR_CHANNELS || (o->color == SCAN_COLOR_AUTO && !o->clahe &&
                                                        (o->like == SCAN_LIKE_PILLOW || o->like == SCAN_LIKE_VIPS));
    return channels >= 3 && separate;
}

bool equalize_make_mask(const char *name, image *mask, image_error *error) {
    if (mask->header.channels != 1)
        return image_fail(error, EXIT_USAGE, "%s: a mask must be a grey image without alpha, this one has %u channels",
                          name, mask->header.channels);
    uint8_t *to = mask->pixels;
    const uint16_t *wide = mask->pixels;
    for (size_t i = 0, n = image_pixels(&mask->header); i < n; i++)
        to[i] = (mask->header.depth == 16 ? wide[i] : to[i]) != 0;
    mask->header.depth = 8;
    return true;
}

/* ---- the library ------------------------------------------------------------------------------------------------- */

static bool library_failed(equalize_job *job, scan_status status) {
    const char *detail = scan_ctx_detail(job->ctx);
    return image_fail(&job->error, session_exit_code(status), "%s: %s", job->in_name,
                      detail[0] ? detail : scan_status_string(status));
}

static scan_status call(const equalize_job *job, const uint8_t *mask, const void *in, void *out) {
    const equalize_options *o = job->options;
    const image_header *h = &job->out.header;
    scan_equalize_desc desc = {.struct_size = sizeof desc,
                               .type = h->depth == 16 ? SCAN_U16 : SCAN_U8,
                               .channels = h->channels,
                               .like = o->like,
                               .color = o->color,
                               .mask = mask};
    if (!o->clahe)
        return scan_equalize(job->ctx, &desc, in, out, NULL, image_pixels(h));
    desc.clip = o->clip;
    desc.tiles_x = o->tiles_x;
    desc.tiles_y = o->tiles_y;
    return scan_clahe(job->ctx, &desc, in, out, h->width, h->height);
}

/* The same through device memory. */
static scan_status call_on_device(equalize_job *job, const void *in) {
    const image_header *h = &job->out.header;
    const image *mask = job->options->mask;
    void *pixels = NULL, *mask_pixels = NULL;
    enter(job, PHASE_UPLOAD);
    scan_status status = scan_malloc(job->ctx, image_bytes(h), &pixels);
    if (status == SCAN_OK && mask)
        status = scan_malloc(job->ctx, image_pixels(h), &mask_pixels);
    if (status == SCAN_OK)
        status = scan_upload(job->ctx, pixels, in, image_bytes(h));
    if (status == SCAN_OK && mask)
        status = scan_upload(job->ctx, mask_pixels, mask->pixels, image_pixels(h));
    enter(job, PHASE_COMPUTE);
    if (status == SCAN_OK)
        status = call(job, mask_pixels, pixels, pixels);
    enter(job, PHASE_DOWNLOAD);
    if (status == SCAN_OK)
        status = scan_download(job->ctx, job->out.pixels, pixels, image_bytes(h));
    if (status == SCAN_OK)
        status = scan_ctx_sync(job->ctx);
    scan_free(job->ctx, mask_pixels);
    scan_free(job->ctx, pixels);
    return status;
}

/* From job->in, or in place in job->out. */
static bool equalize(equalize_job *job) {
    const image *mask = job->options->mask;
    const image_header *h = &job->out.header;
    const void *in = job->in.pixels ? job->in.pixels : job->out.pixels;
    if (mask && (mask->header.width != h->width || mask->header.height != h->height))
        return image_fail(&job->error, EXIT_USAGE, "%s: the image has %u x %u pixels, the mask %u x %u", job->in_name,
                          h->width, h->height, mask->header.width, mask->header.height);
    scan_status status =
        job->on_host ? call(job, mask ? mask->pixels : NULL, in, job->out.pixels) : call_on_device(job, in);
    if (status != SCAN_OK)
        return library_failed(job, status);
    snprintf(job->ran, sizeof job->ran, "%s", scan_ctx_ran(job->ctx));
    return true;
}

/* ---- verify ------------------------------------------------------------------------------------------------------ */

/* The pixels against plain formulas, and the encoded file against the pixels. JPEG loses: there only the shape. */
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
    if (same && a->format != IMAGE_JPEG)
        same = memcmp(again.pixels, job->out.pixels, image_bytes(b)) == 0;
    image_free(&again);
    return same || image_fail(error, EXIT_NEGATIVE, "%s: verify: the file does not hold the pixels", out_name);
}

/* ---- the job ----------------------------------------------------------------------------------------------------- */

static bool load(equalize_job *job) {
    const equalize_options *o = job->options;
    image in;
    if (!image_load_finish(image_load_start(job->in_name), &in, &job->error))
        return false;
    job->file_bytes = in.file_bytes;
    if (!o->keep_input && !o->verify) {
        job->out = in;
        return true;
    }
    job->in = in;
    return image_new(job->in_name, &in.header, &job->out, &job->error);
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
    if (!equalize(job))
        return false;
    enter(job, PHASE_WRITE);
    if (!image_encode(out_name, format, h, job->out.pixels, job->options->quality, &job->file, &job->error))
        return false;
    enter(job, PHASE_VERIFY);
    if (job->options->verify && !verify(job, out_name))
        return false;
    enter(job, PHASE_OTHER);
    return true;
}

void equalize_job_free(equalize_job *job) {
    image_free(&job->in);
    image_free(&job->out);
    free(job->file.data);
    job->file = (image_file){0};
}
