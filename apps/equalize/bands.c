/* SPDX-License-Identifier: MIT
 *
 * Two streams of bands: one is counted, or mapped, while the one before is written and the next is read.
 */
#include "bands.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "apps/support/alloc.h"
#include "apps/support/die.h"
#include "apps/support/pipeline.h"
#include "apps/support/report.h"
#include "save.h"

enum { BANDS = 2, MAX_BAND_BYTES = 32 << 20 };

typedef struct band {
    unsigned char *in, *out; /* samples; the same memory if all is computed on the host */
    uint64_t *bins;
    size_t n; /* pixels */
    uint64_t first;
} band;

typedef struct bands {
    program *p;
    bands_image *image;
    output *out;
    scan_equalize_desc desc;
    size_t pixel_bytes, most; /* pixels of a band */
    size_t n_bins;
    uint64_t *sums;
    uint64_t pixels, next; /* of the image; to be read */
    band slots[BANDS];
} bands;

/* ---- which images ------------------------------------------------------------------------------------------------ */

static bool goes_to_pnm(const program *p, const pnm_layout *l) {
    const char *path = p->c.common.output;
    image_format format = l->header.format;
    image_error error;
    return !path || (image_format_of_name(path, l->header.channels, &format, &error) && format == l->header.format);
}

/* What has no size does not go by in bands. It is not opened here either: a pipe with a name is there once. */
static bool is_file(const char *path) {
    struct stat st;
    return (path ? stat(path, &st) : fstat(STDIN_FILENO, &st)) == 0 && S_ISREG(st.st_mode);
}

bool bands_open(bands_image *image, const program *p, const char *path) {
    const equalize_options *o = &p->options;
    input *in = &image->in;
    image_error error;
    if (o->clahe || o->verify || o->keep_input || !is_file(path))
        return false;
    input_open(in, path);
    const size_t bytes = in->extent.size < IMAGE_HEAD_BYTES ? (size_t)in->extent.size : IMAGE_HEAD_BYTES;
    unsigned char *head = must_alloc(bytes, 1);
    bool good = in->extent.sized && in->extent.size / 2 > p->memory / 4;
    if (good)
        input_read_at(in, head, bytes, 0);
    good = good && pnm_read_layout(in->name, head, bytes, &image->layout, &error) && !image->layout.plain &&
           image->layout.at + image->layout.bytes == in->extent.size && goes_to_pnm(p, &image->layout);
    free(head);
    if (!good)
        input_close(in);
    return good;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static bool read_band(void *arg, size_t slot) {
    bands *b = arg;
    band *to = &b->slots[slot];
    const pnm_layout *l = &b->image->layout;
    const size_t channels = l->header.channels;
    image_error error;
    to->first = b->next;
    to->n = b->pixels - b->next < b->most ? (size_t)(b->pixels - b->next) : b->most;
    if (to->n == 0)
        return false;
    input_read_at(&b->image->in, to->in, to->n * b->pixel_bytes, l->at + to->first * b->pixel_bytes);
    if (!pnm_read_samples(b->image->in.name, l, to->in, to->n * channels, (size_t)to->first * channels, &error))
        die(error.code, "%s", error.text);
    b->next += to->n;
    return true;
}

/* ---- the histogram ----------------------------------------------------------------------------------------------- */

typedef struct attempt {
    bands *b;
    band *band;
} attempt;

static scan_status count_attempt(void *arg, session *s) {
    const attempt *a = arg;
    const bands *b = a->b;
    scan_equalize_desc desc = b->desc;
    void *in, *mask = NULL, *bins;
    SESSION_TRY(session_upload(s, a->band->in, a->band->n * b->pixel_bytes, &in));
    if (b->p->options.mask)
        SESSION_TRY(session_upload(s, (const char *)b->p->options.mask->pixels + a->band->first, a->band->n, &mask));
    SESSION_TRY(session_alloc_result(s, a->band->bins, b->n_bins * sizeof(uint64_t), &bins));
    desc.mask = mask;
    desc.bins_out = bins;
    SESSION_TRY(scan_equalize(s->ctx, &desc, in, NULL, NULL, a->band->n));
    SESSION_TRY(session_wait(s));
    return session_download(s, a->band->bins, bins, b->n_bins * sizeof(uint64_t));
}

static void count_band(void *arg, size_t slot, unsigned worker) {
    bands *b = arg;
    (void)worker;
    session_try(&b->p->s, b->image->in.name, count_attempt, &(attempt){b, &b->slots[slot]});
    report_moved(PHASE_COMPUTE, b->slots[slot].n * b->pixel_bytes);
}

static void add_counts(void *arg, size_t slot) {
    const bands *b = arg;
    for (size_t i = 0; i < b->n_bins; i++)
        b->sums[i] += b->slots[slot].bins[i];
    report_progress(b->next * b->pixel_bytes / 2, b->image->layout.bytes);
}

/* ---- the map ----------------------------------------------------------------------------------------------------- */

static scan_status map_attempt(void *arg, session *s) {
    const attempt *a = arg;
    const bands *b = a->b;
    const size_t bytes = a->band->n * b->pixel_bytes;
    scan_equalize_desc desc = b->desc;
    void *in, *sums, *out;
    SESSION_TRY(session_upload(s, a->band->in, bytes, &in));
    SESSION_TRY(session_upload(s, b->sums, b->n_bins * sizeof(uint64_t), &sums));
    SESSION_TRY(session_alloc_result(s, a->band->out, bytes, &out));
    desc.bins_in = sums;
    SESSION_TRY(scan_equalize(s->ctx, &desc, in, out, NULL, a->band->n));
    SESSION_TRY(session_wait(s));
    return session_download(s, a->band->out, out, bytes);
}

static void map_band(void *arg, size_t slot, unsigned worker) {
    bands *b = arg;
    const band *of = &b->slots[slot];
    const image_header *h = &b->image->layout.header;
    (void)worker;
    session_try(&b->p->s, b->image->in.name, map_attempt, &(attempt){b, &b->slots[slot]});
    pnm_write_samples(h, of->out, of->n * h->channels);
    report_moved(PHASE_COMPUTE, 2 * of->n * b->pixel_bytes);
}

static void write_band(void *arg, size_t slot) {
    const bands *b = arg;
    const band *from = &b->slots[slot];
    output_write(b->out, from->out, from->n * b->pixel_bytes);
    report_progress((b->pixels + b->next) * b->pixel_bytes / 2, b->image->layout.bytes);
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

static void refuse_other_mask(const bands *b) {
    const image *mask = b->p->options.mask;
    const image_header *h = &b->image->layout.header;
    if (mask && (mask->header.width != h->width || mask->header.height != h->height))
        die(EXIT_USAGE, "%s: the image has %u x %u pixels, the mask %u x %u", b->image->in.name, h->width, h->height,
            mask->header.width, mask->header.height);
}

static void make_slots(bands *b) {
    const size_t part = b->p->memory / (2 * BANDS), bytes = part < MAX_BAND_BYTES ? part : MAX_BAND_BYTES;
    b->most = bytes / b->pixel_bytes;
    for (size_t i = 0; i < BANDS; i++) {
        band *to = &b->slots[i];
        to->bins = must_alloc(b->n_bins, sizeof *to->bins);
        to->in = must_alloc(b->most, b->pixel_bytes);
        to->out = must_alloc(b->most, b->pixel_bytes);
    }
}

static void free_slots(bands *b) {
    for (size_t i = 0; i < BANDS; i++) {
        free(b->slots[i].bins);
        free(b->slots[i].in);
        free(b->slots[i].out);
    }
    free(b->sums);
}

void bands_run(bands_image *image, program *p, output *out) {
    const image_header *h = &image->layout.header;
    const equalize_options *o = &p->options;
    bands b = {.p = p, .image = image, .out = out, .pixels = image_pixels(h)};
    char head[PNM_HEADER_BYTES];
    b.desc = (scan_equalize_desc){.struct_size = sizeof b.desc,
                                  .type = h->depth == 16 ? SCAN_U16 : SCAN_U8,
                                  .channels = h->channels,
                                  .like = o->like,
                                  .color = o->color};
    refuse_other_mask(&b);
    b.pixel_bytes = h->channels * h->depth / 8;
    if (scan_equalize_bins(&b.desc, &b.n_bins) != SCAN_OK)
        die(EXIT_USAGE, "%s: cannot be equalized so", image->in.name);
    b.sums = must_alloc(b.n_bins, sizeof *b.sums);
    memset(b.sums, 0, b.n_bins * sizeof *b.sums);
    make_slots(&b);
    report_stage("counting ");
    pipeline_run(&(pipeline){read_band, count_band, add_counts, &b, .slots = BANDS, .serial = true});
    report_number("bands", (b.pixels + b.most - 1) / b.most);
    b.next = 0;
    report_stage("mapping ");
    output_pass_cache(out);
    output_write(out, head, pnm_write_header(h, head));
    pipeline_run(&(pipeline){read_band, map_band, write_band, &b, .slots = BANDS, .serial = true});
    free_slots(&b);
    input_close(&image->in);
}
