/* SPDX-License-Identifier: MIT
 *
 * equalize: many images to a folder. Each worker takes an image at a time, from file to encoded file; the main thread
 * writes the files in the order in which the images were named.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "apps/support/alloc.h"
#include "apps/support/die.h"
#include "apps/support/output.h"
#include "apps/support/parallel.h"
#include "apps/support/ranks.h"
#include "apps/support/report.h"
#include "batch.h"
#include "run.h"

typedef struct many {
    program *p;
    path_list in; /* of all ranks: this one has every ranks_count()-th, from number ranks_own() on */
    char **out_names;
    struct slot {
        equalize_job job;
        bool good;
        bool lost;         /* the worker's device, and the CPU does not replace it */
        char failure[256]; /* of the worker's device */
    } * slots;
    size_t slot_count;
    equalize_lane *lanes; /* one a worker */
    char ran[64];         /* by the last image */
    uint64_t done_bytes, total_bytes;
    struct kind {
        uint32_t depth, channels;
        uint64_t first; /* the image that shows it */
    } kind;             /* --together */
    uint64_t *bins;     /* of all images */
    size_t n_bins;
    size_t failed;
    int worst;
} many;

static const char *name_of(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* DIR/NAME for each image; two of one name are refused before any work is done. What ends in a slash is no image, and
 * fails when its turn comes: its output is NULL. */
static char **name_outputs(const program *p, const path_list *in) {
    const size_t count = in->count;
    char **names = must_alloc(count, sizeof *names), **sorted = must_alloc(count, sizeof *sorted);
    size_t dir_bytes = strlen(p->out_dir);
    bool slash = dir_bytes && p->out_dir[dir_bytes - 1] == '/';
    size_t named = 0;
    for (size_t i = 0; i < count; i++) {
        const char *path = in->paths[i], *name = name_of(path);
        names[i] = NULL;
        if (strcmp(path, "-") == 0 || !path[0])
            die_usage("\"%s\" has no name to keep in --out-dir", path);
        if (!name[0])
            continue;
        size_t bytes = dir_bytes + strlen(name) + 2;
        names[i] = must_alloc(bytes, 1);
        snprintf(names[i], bytes, "%s%s%s", p->out_dir, slash ? "" : "/", name);
        sorted[named++] = names[i];
    }
    qsort(sorted, named, sizeof *sorted, by_name);
    for (size_t i = 1; i < named; i++)
        if (strcmp(sorted[i - 1], sorted[i]) == 0)
            die_usage("two images are named %s", name_of(sorted[i]));
    free(sorted);
    return names;
}

/* What would end the program when the output is opened ends this image alone. */
static bool may_write(const many *m, equalize_job *job) {
    struct stat st;
    if (!job->out_name)
        return image_fail(&job->error, EXIT_IO, "%s: cannot open: %s", job->in_name, strerror(ENOENT));
    if (stat(job->out_name, &st) == 0 && S_ISDIR(st.st_mode))
        return image_fail(&job->error, EXIT_IO, "%s: cannot write: it is a directory", job->out_name);
    if (!m->p->c.common.force && lstat(job->out_name, &st) == 0)
        return image_fail(&job->error, EXIT_USAGE, "%s: exists; use --force to replace it", job->out_name);
    return true;
}

static void note_device(struct slot *slot) {
    const equalize_lane *lane = slot->job.lane;
    slot->lost = lane->lost && lane->must;
    snprintf(slot->failure, sizeof slot->failure, "%s", lane->failure);
}

/* Without its device every image would fail. */
static void refuse_lost(const struct slot *slot) {
    if (!slot->good && slot->lost && slot->job.error.code == EXIT_DEVICE)
        die(EXIT_DEVICE, "%s", slot->job.error.text);
}

static void work(void *arg, size_t index, unsigned worker) {
    many *m = arg;
    struct slot *slot = &m->slots[index % m->slot_count];
    equalize_job *job = &slot->job;
    const size_t image = index * ranks_count() + ranks_own();
    *job = (equalize_job){.options = &m->p->options,
                          .lane = &m->lanes[worker],
                          .in_name = m->in.paths[image],
                          .out_name = m->out_names[image]};
    slot->good = may_write(m, job) && equalize_job_run(job);
    image_free(&job->in); /* only the encoded file waits to be written */
    image_free(&job->out);
    note_device(slot);
}

static void take(void *arg, size_t index) {
    many *m = arg;
    struct slot *slot = &m->slots[index % m->slot_count];
    equalize_job *job = &slot->job;
    refuse_lost(slot);
    if (slot->good) {
        output *out = output_open(job->out_name, m->p->c.common.force, true);
        output_write(out, job->file.data, job->file.bytes);
        output_commit(out);
        memcpy(m->ran, job->ran, sizeof m->ran);
        program_note_profile(m->p, job);
    } else {
        warn("%s", job->error.text);
        m->failed++;
        m->worst = job->error.code > m->worst ? job->error.code : m->worst;
    }
    program_note_failure(m->p, slot->failure);
    equalize_job_report(job);
    report_bytes(job->file_bytes, 0);
    m->done_bytes += job->file_bytes;
    equalize_job_free(job);
    report_progress(m->done_bytes, m->total_bytes);
}

/* ---- --together -------------------------------------------------------------------------------------------------- */

static void count(void *arg, size_t index, unsigned worker) {
    many *m = arg;
    struct slot *slot = &m->slots[index % m->slot_count];
    equalize_job *job = &slot->job;
    *job = (equalize_job){.options = &m->p->options,
                          .lane = &m->lanes[worker],
                          .in_name = m->in.paths[index * ranks_count() + ranks_own()]};
    slot->good = equalize_job_count(job);
    note_device(slot);
}

static void refuse_other_kind(const many *m, const struct kind *other) {
    const struct kind *one = &m->kind;
    if (other->channels != one->channels || other->depth != one->depth)
        die(EXIT_USAGE, "%s: has %u channels of %u bits, but %s has %u of %u: --together is for images of one kind",
            m->in.paths[other->first], other->channels, other->depth, m->in.paths[one->first], one->channels,
            one->depth);
}

/* An image that fails is reported when it would be written. */
static void add(void *arg, size_t index) {
    many *m = arg;
    struct slot *slot = &m->slots[index % m->slot_count];
    equalize_job *job = &slot->job;
    const image_header *h = &job->out.header;
    const struct kind kind = {h->depth, h->channels, index * ranks_count() + ranks_own()};
    refuse_lost(slot);
    program_note_failure(m->p, slot->failure);
    if (slot->good && !m->bins) {
        m->kind = kind;
        m->n_bins = job->n_bins;
        m->bins = must_alloc(m->n_bins, sizeof *m->bins);
        memset(m->bins, 0, m->n_bins * sizeof *m->bins);
    }
    if (slot->good)
        refuse_other_kind(m, &kind);
    for (size_t i = 0; i < m->n_bins && slot->good; i++)
        m->bins[i] += job->bins[i];
    equalize_job_report(job);
    report_bytes(job->file_bytes, 0);
    equalize_job_free(job);
}

/* The histograms of all ranks' images. */
static void add_ranks(many *m) {
    struct kind *kinds = must_alloc(ranks_count(), sizeof *kinds);
    ranks_gather(&m->kind, sizeof m->kind, kinds);
    for (unsigned r = 0; r < ranks_count(); r++) {
        if (!m->kind.channels)
            m->kind = kinds[r];
        if (kinds[r].channels)
            refuse_other_kind(m, &kinds[r]);
    }
    free(kinds);
    m->n_bins = (size_t)(UINT64_MAX - ranks_min(UINT64_MAX - m->n_bins));
    if (!m->bins) {
        m->bins = must_alloc(m->n_bins, sizeof *m->bins);
        memset(m->bins, 0, m->n_bins * sizeof *m->bins);
    }
    uint64_t *all = must_alloc(m->n_bins * ranks_count(), sizeof *all);
    ranks_gather(m->bins, m->n_bins * sizeof *m->bins, all);
    memset(m->bins, 0, m->n_bins * sizeof *m->bins);
    for (size_t i = 0; i < m->n_bins * ranks_count(); i++)
        m->bins[i % m->n_bins] += all[i];
    free(all);
    m->p->options.bins = m->n_bins ? m->bins : NULL;
}

/* ---- the batch --------------------------------------------------------------------------------------------------- */

/* Opens a context for each worker: one of one thread, or one more on the device, so that an image is decoded while
 * another is computed. Returns their number. */
static unsigned open_lanes(many *m, size_t count) {
    session *s = &m->p->s;
    unsigned threads = parallel_threads(m->p->c.common.threads);
    unsigned wanted = threads < count ? threads : count ? (unsigned)count : 1;
    if (!s->on_host && session_has_timeout())
        wanted = 1;
    m->lanes = must_alloc(wanted, sizeof *m->lanes);
    m->lanes[0] = program_new_lane(m->p, s->ctx, wanted > 1 ? 1 : m->p->c.common.threads);
    for (unsigned k = s->on_host ? 0 : 1; wanted > 1 && k < wanted; k++) {
        scan_ctx *ctx = NULL;
        scan_options one = {.struct_size = sizeof one, .threads = 1};
        scan_status status = s->on_host ? scan_ctx_create(&ctx, &one) : session_another(s, &ctx, NULL, 0);
        if (status != SCAN_OK && !s->on_host)
            return k;
        if (status != SCAN_OK)
            die(session_exit_code(status), "threads: %s", scan_status_string(status));
        m->lanes[k] = program_new_lane(m->p, ctx, 1);
    }
    return wanted;
}

/* The first lane's context on a device, or the only one, is the session's. */
static void close_lanes(many *m, unsigned count) {
    for (unsigned k = 0; k < count; k++) {
        equalize_lane *lane = &m->lanes[k];
        scan_ctx *own = lane->failed ? lane->failed : lane->ctx;
        m->p->s.lost = m->p->s.lost || lane->lost;
        equalize_lane_close(lane);
        if (own != m->p->s.ctx)
            scan_ctx_destroy(own);
    }
    free(m->lanes);
}

/* The worst exit code of any rank, and how many images failed on all. */
static void add_failures(many *m) {
    m->failed = (size_t)ranks_add(m->failed).total;
    m->worst = INT_MAX - (int)ranks_min((uint64_t)(INT_MAX - m->worst));
}

int run_many(program *p) {
    many m = {.p = p, .in = paths_of(p)};
    const size_t images = m.in.count, ranks = ranks_count(), own = (images + ranks - 1 - ranks_own()) / ranks;
    struct stat st;
    m.out_names = name_outputs(p, &m.in);
    if (ranks_own() == 0)
        make_out_dir(p->out_dir);
    if (ranks_add(images).total != images * ranks)
        die(EXIT_IO, "%s: not all processes see the same images there", p->c.argv[0]);
    for (size_t i = 0; i < images; i++)
        if (stat(m.in.paths[i], &st) == 0)
            m.total_bytes += (uint64_t)st.st_size;
    m.total_bytes /= ranks;
    program_choose_device(p, m.total_bytes);
    unsigned workers = open_lanes(&m, own);
    m.slot_count = batch_window(workers);
    m.slots = must_alloc(m.slot_count, sizeof *m.slots);
    report_enter(PHASE_WAIT);
    report_overlap();
    if (p->together) {
        batch_run(&(batch){.count = own, .threads = workers, .work = count, .take = add, .arg = &m});
        add_ranks(&m);
    }
    batch_run(&(batch){.count = own, .threads = workers, .work = work, .take = take, .arg = &m});
    report_enter(PHASE_OTHER);
    add_failures(&m);
    report_number("images", images);
    report_number("failed", m.failed);
    program_report_method(p);
    session_report(&p->s);
    report_text("ran", m.ran);
    report_finish();
    close_lanes(&m, workers);
    for (size_t i = 0; i < images; i++)
        free(m.out_names[i]);
    free(m.out_names);
    free_paths(&m.in);
    free(m.slots);
    free(m.bins);
    return m.worst;
}
