/* SPDX-License-Identifier: MIT
 *
 * What runs of one image and of many have in common.
 */
#include "program.h"

#include <stdio.h>
#include <string.h>

#include "apps/support/die.h"
#include "apps/support/report.h"

void program_choose_device(program *p, uint64_t file_bytes) {
    session_choose(&p->s, p->options.clahe ? WORK_CLAHE : WORK_EQUALIZE, file_bytes);
    session_ready(&p->s);
}

equalize_lane program_new_lane(const program *p, scan_ctx *ctx, unsigned threads) {
    return (equalize_lane){
        .ctx = ctx, .on_host = p->s.on_host, .must = strncmp(p->c.common.device, "cuda", 4) == 0, .threads = threads};
}

void program_note_failure(program *p, const char *failure) {
    if (!failure[0] || p->device_failed)
        return;
    p->device_failed = true;
    warn("%s; the CPU does the job", failure);
    report_text("device_failed", failure);
}

void program_note_profile(program *p, const equalize_job *job) {
    if (job->dropped == PROFILE_NONE || p->dropped_profile)
        return;
    p->dropped_profile = true;
    warn("%s: its ICC colour profile is not kept: %s", job->in_name,
         job->dropped == PROFILE_BROKEN ? "it is damaged" : "the output has no place for one; PNG and JPEG have");
}

void program_report_image(const program *p, const char *name, const image_header *h) {
    report_text("input", name);
    report_number("width", h->width);
    report_number("height", h->height);
    report_number("channels", h->channels);
    report_number("bits", h->depth);
    program_report_method(p);
}

void program_report_method(const program *p) {
    const equalize_options *o = &p->options;
    char tiles[32];
    report_text("method", o->clahe ? "clahe" : "global");
    if (o->clahe) {
        snprintf(tiles, sizeof tiles, "%ux%u", o->tiles_x, o->tiles_y);
        report_text("tiles", tiles);
    } else {
        report_text("like", scan_like_name(o->like));
    }
}
