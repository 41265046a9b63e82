/* SPDX-License-Identifier: MIT
 *
 * equalize: one image to one file, and its plot.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "apps/support/alloc.h"
#include "apps/support/die.h"
#include "apps/support/output.h"
#include "apps/support/report.h"
#include "bands.h"
#include "plot.h"
#include "run.h"

/* ---- the plot ---------------------------------------------------------------------------------------------------- */

/* The histograms of what was equalized: the grey samples, the luma, or R, G and B. */
static uint64_t *histogram_of(program *p, const image *img, uint32_t *channels) {
    image_header h = img->header;
    size_t n = image_pixels(&h), bins = h.depth == 16 ? 65536 : 256;
    bool separate = equalize_by_channels(&p->options, h.channels);
    *channels = separate ? 3 : 1;
    uint64_t *counts = must_alloc(bins * *channels, sizeof *counts);
    memset(counts, 0, bins * *channels * sizeof *counts);
    const uint8_t *narrow = img->pixels;
    const uint16_t *wide = img->pixels;
    for (size_t i = 0; i < n; i++) {
        uint32_t v[4] = {0};
        for (uint32_t c = 0; c < h.channels; c++)
            v[c] = h.depth == 16 ? wide[i * h.channels + c] : narrow[i * h.channels + c];
        if (p->mask_path && !((const uint8_t *)p->mask.pixels)[i])
            continue;
        if (h.channels >= 3 && !separate)
            v[0] = (4899 * v[0] + 9617 * v[1] + 1868 * v[2] + 8192) >> 14;
        for (uint32_t c = 0; c < *channels; c++)
            counts[c * bins + v[c]]++;
    }
    return counts;
}

static void write_plot(program *p, const equalize_job *job, output *out) {
    const char *slash = strrchr(job->in_name, '/');
    plot picture = {.title = slash && slash[1] ? slash + 1 : job->in_name,
                    .bins = job->in.header.depth == 16 ? 65536 : 256};
    uint64_t *before = histogram_of(p, &job->in, &picture.channels);
    uint64_t *after = histogram_of(p, &job->out, &picture.channels);
    picture.sides[0] = (plot_side){.title = "before", .counts = before};
    picture.sides[1] = (plot_side){.title = p->options.clahe ? "after CLAHE" : "after equalization", .counts = after};
    plot_write(&picture, out);
    free(before);
    free(after);
}

/* ---- in bands ---------------------------------------------------------------------------------------------------- */

static int run_bands(program *p, bands_image *image, output *out) {
    program_choose_device(p, image->in.extent.size);
    bands_run(image, p, out);
    program_report_image(p, image->in.name, &image->layout.header);
    session_report(&p->s);
    report_finish();
    return EXIT_DONE;
}

/* ---- the image --------------------------------------------------------------------------------------------------- */

int run_one(program *p, const char *path) {
    const cli_common *common = &p->c.common;
    struct stat st;
    if (path && stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        die_usage("%s: is a folder; --out-dir DIR says where its images go", path);
    output *out = output_open(common->output, common->force, true);
    output *plot_out = p->plot_path ? output_open(p->plot_path, common->force, false) : NULL;
    bands_image bands;
    if (bands_open(&bands, p, path))
        return run_bands(p, &bands, out);
    program_choose_device(p, path && stat(path, &st) == 0 ? (uint64_t)st.st_size : 0);
    equalize_lane lane = program_new_lane(p, p->s.ctx, common->threads);
    equalize_job job = {
        .options = &p->options, .lane = &lane, .in_name = path ? path : "-", .out_name = common->output};
    report_enter(PHASE_WAIT);
    bool good = equalize_job_run(&job);
    report_enter(PHASE_OTHER);
    equalize_job_report(&job);
    p->s.lost = lane.lost;
    program_note_failure(p, lane.failure);
    if (!good)
        die(job.error.code, "%s", job.error.text);
    report_bytes(job.file_bytes, 0);
    output_write(out, job.file.data, job.file.bytes);
    program_note_profile(p, &job);
    if (plot_out)
        write_plot(p, &job, plot_out);
    program_report_image(p, job.in_name, &job.out.header);
    if (common->verify)
        report_flag("verified", true);
    session_report(&p->s);
    report_text("ran", job.ran);
    equalize_job_free(&job);
    equalize_lane_close(&lane);
    report_finish();
    return EXIT_DONE;
}
