/* SPDX-License-Identifier: MIT
 *
 * equalize: spreads the brightness of images evenly, by global histogram equalization or CLAHE.
 *
 * Images are decoded in child processes that can only compute (support/sandbox.c). One image is worked on by all
 * threads of the library. Of many, each thread takes a whole image at a time, from file to encoded file, and the main
 * thread writes them in the order they were named.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "apps/support/alloc.h"
#include "batch.h"
#include "apps/support/cli.h"
#include "apps/support/die.h"
#include "job.h"
#include "apps/support/names.h"
#include "apps/support/number.h"
#include "apps/support/output.h"
#include "apps/support/parallel.h"
#include "plot.h"
#include "apps/support/report.h"
#include "sandbox.h"
#include "apps/support/session.h"

static const char help[] =
    "Examples:\n"
    "  @ moon.png -o clear.png\n"
    "  @ --method clahe --clip 3 --tiles 8x8 xray.png -o local.png\n"
    "  @ --like pillow photo.jpg -o photo-eq.jpg --quality 90\n"
    "  @ --plot histogram.svg moon.png -o clear.png\n"
    "  @ --method clahe photos/*.jpg --out-dir better\n"
    "\n"
    "Usage: @ [OPTION]... IMAGE [-o FILE]\n"
    "       @ [OPTION]... IMAGE... --out-dir DIR\n"
    "Spreads the brightness of images evenly over the whole range.\n"
    "\n"
    "Reads PNG, JPEG, PGM and PPM with 8- or 16-bit samples: grey, RGB, with or without alpha. Writes what the\n"
    "extension says: .png .jpg .jpeg .pgm .ppm .pnm. Depth and channels stay, alpha is copied, metadata are not.\n"
    "\n"
    "  --method M            global (default) or clahe: contrast limited, tile by tile\n"
    "  --like PEER           global: whose bytes to give: opencv (default), pillow, imagemagick, vips or skimage\n"
    "  --clip X              clahe: the clip limit, 0 for none (default 2.0)\n"
    "  --tiles COLSxROWS     clahe: the grid of tiles (default 8x8)\n"
    "  --color C             luma: equalize the brightness; channels: red, green and blue one by one\n"
    "                        (default: luma; channels like pillow and vips)\n"
    "  --mask IMAGE          global: only pixels where this grey image is not 0 count; all are mapped\n"
    "  --plot FILE           draw the histograms before and after as SVG\n"
    "  --quality N           of JPEG output, 1 to 100 (default 95)\n"
    "  --out-dir DIR         write each image to DIR under its own name; a bad image is reported and left out,\n"
    "                        the exit code is the worst of all\n" CLI_COMMON_HELP "\n"
    "Exit status: 0 done, 1 failed verification, 2 usage or bad data, 3 input, output or memory, 4 device.\n";

static const char short_help[] = "Usage: @ [OPTION]... IMAGE [-o FILE]   (@ --help says more)\n";

enum { METHOD = 1, LIKE, CLIP, TILES, COLOR, MASK, PLOT, QUALITY, OUT_DIR };

static const cli_option options[] = {
    {"method", 0, true, METHOD},   {"like", 0, true, LIKE}, {"clip", 0, true, CLIP}, {"tiles", 0, true, TILES},
    {"color", 0, true, COLOR},     {"mask", 0, true, MASK}, {"plot", 0, true, PLOT}, {"quality", 0, true, QUALITY},
    {"out-dir", 0, true, OUT_DIR}, {NULL, 0, false, 0},
};

typedef struct program {
    cli c;
    equalize_options options;
    bool like_given, clip_given, tiles_given, quality_given;
    const char *mask_path;
    const char *plot_path;
    const char *out_dir;
    image mask;
    session s;
    bool device_failed; /* and the CPU goes on */
} program;

/* ---- the command line -------------------------------------------------------------------------------------------- */

static double clip_of(const char *text) {
    number x;
    size_t where;
    bool good = number_parse(text, strlen(text), &x, &where) == NUMBER_OK;
    double value = !good                ? -1
                   : x.type == SCAN_F64 ? x.value.f
                   : x.type == SCAN_U64 ? (double)x.value.u
                                        : (double)x.value.i;
    if (!(value >= 0 && value <= 1e6))
        die_usage("--clip: \"%s\" is not a number from 0 to 1000000", text);
    return value > 0 ? value : -1; /* the library's 0 is its default, a negative limit is none */
}

static void tiles_of(const char *text, equalize_options *o) {
    char columns[16];
    const char *x = strchr(text, 'x');
    if (!x || (size_t)(x - text) >= sizeof columns)
        die_usage("--tiles: \"%s\" is not of the form COLSxROWS, as in 8x8", text);
    memcpy(columns, text, (size_t)(x - text));
    columns[x - text] = 0;
    o->tiles_x = (uint32_t)cli_number("--tiles", columns, 1, 4096);
    o->tiles_y = (uint32_t)cli_number("--tiles", x + 1, 1, 4096);
}

static void take_option(program *p, int key) {
    static const char *const methods[] = {"global", "clahe", NULL};
    static const char *const colors[] = {"luma", "channels", NULL};
    cli *c = &p->c;
    equalize_options *o = &p->options;
    switch (key) {
    case METHOD: o->clahe = cli_choice(c->option, c->value, methods) == 1; break;
    case LIKE:
        o->like = (scan_like)cli_choice(c->option, c->value, like_names());
        p->like_given = true;
        break;
    case CLIP:
        o->clip = clip_of(c->value);
        p->clip_given = true;
        break;
    case TILES:
        tiles_of(c->value, o);
        p->tiles_given = true;
        break;
    case COLOR: o->color = cli_choice(c->option, c->value, colors) ? SCAN_COLOR_CHANNELS : SCAN_COLOR_LUMA; break;
    case MASK: p->mask_path = cli_file(c); break;
    case PLOT: p->plot_path = cli_file(c); break;
    case QUALITY:
        o->quality = (unsigned)cli_number(c->option, c->value, 1, 100);
        p->quality_given = true;
        break;
    case OUT_DIR: p->out_dir = cli_file(c); break;
    }
}

static void check_options(const program *p) {
    const equalize_options *o = &p->options;
    const cli_common *common = &p->c.common;
    image_format format;
    image_error error;
    if (o->clahe && p->like_given)
        die_usage("--like belongs to --method global; clahe gives OpenCV's bytes");
    if (o->clahe && p->mask_path)
        die_usage("--mask belongs to --method global");
    if (!o->clahe && (p->clip_given || p->tiles_given))
        die_usage("%s belongs to --method clahe", p->clip_given ? "--clip" : "--tiles");
    if (p->out_dir && common->output)
        die_usage("-o and --out-dir exclude each other");
    if (p->out_dir && p->plot_path)
        die_usage("--plot draws one image; it cannot go with --out-dir");
    if (!p->out_dir && p->c.argc > 1)
        die_usage("%d images need --out-dir DIR", p->c.argc);
    if (p->out_dir && p->c.argc == 0)
        die_usage("--out-dir needs images to work on");
    if (!common->output)
        return;
    if (!image_format_of_name(common->output, 1, &format, &error))
        die(error.code, "%s", error.text);
    if (p->quality_given && format != IMAGE_JPEG)
        die_usage("--quality is for JPEG output, not for %s", common->output);
}

/* ---- one image --------------------------------------------------------------------------------------------------- */

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

static void report_method(const program *p) {
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

static void choose_device(program *p, uint64_t file_bytes) {
    session_choose(&p->s, p->options.clahe ? WORK_CLAHE : WORK_EQUALIZE, file_bytes);
    session_ready(&p->s);
}

static equalize_lane new_lane(const program *p, scan_ctx *ctx, unsigned threads) {
    return (equalize_lane){
        .ctx = ctx, .on_host = p->s.on_host, .must = strncmp(p->c.common.device, "cuda", 4) == 0, .threads = threads};
}

/* Says once that a device failed. */
static void note_failure(program *p, const char *failure) {
    if (!failure[0] || p->device_failed)
        return;
    p->device_failed = true;
    warn("%s; the CPU does the job", failure);
    report_text("device_failed", failure);
}

static int run_one(program *p, const char *path) {
    const cli_common *common = &p->c.common;
    output *out = output_open(common->output, common->force, true);
    output *plot_out = p->plot_path ? output_open(p->plot_path, common->force, false) : NULL;
    struct stat st;
    choose_device(p, path && stat(path, &st) == 0 ? (uint64_t)st.st_size : 0);
    equalize_lane lane = new_lane(p, p->s.ctx, common->threads);
    equalize_job job = {
        .options = &p->options, .lane = &lane, .in_name = path ? path : "-", .out_name = common->output};
    report_enter(PHASE_WAIT);
    bool good = equalize_job_run(&job);
    report_enter(PHASE_OTHER);
    equalize_job_report(&job);
    note_failure(p, lane.failure);
    if (!good)
        die(job.error.code, "%s", job.error.text);
    report_bytes(job.file_bytes, 0);
    output_write(out, job.file.data, job.file.bytes);
    if (plot_out)
        write_plot(p, &job, plot_out);
    report_text("input", job.in_name);
    report_number("width", job.out.header.width);
    report_number("height", job.out.header.height);
    report_number("channels", job.out.header.channels);
    report_number("bits", job.out.header.depth);
    report_method(p);
    if (common->verify)
        report_flag("verified", true);
    session_report(&p->s);
    report_text("ran", job.ran);
    equalize_job_free(&job);
    equalize_lane_close(&lane);
    report_finish();
    return EXIT_DONE;
}

/* ---- many images ------------------------------------------------------------------------------------------------- */

typedef struct many {
    program *p;
    char **out_names;
    struct slot {
        equalize_job job;
        bool good;
        char failure[256]; /* of the worker's device */
    } * slots;
    size_t slot_count;
    equalize_lane *lanes; /* one a worker */
    char ran[64];         /* by the last image */
    uint64_t done_bytes, total_bytes;
    size_t failed;
    int worst;
} many;

static const char *name_of(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* DIR/NAME for each image; two of one name are refused before any work is done. */
static char **name_outputs(const program *p, size_t count) {
    char **names = must_alloc(count, sizeof *names), **sorted = must_alloc(count, sizeof *sorted);
    size_t dir_bytes = strlen(p->out_dir);
    bool slash = dir_bytes && p->out_dir[dir_bytes - 1] == '/';
    for (size_t i = 0; i < count; i++) {
        const char *path = p->c.argv[i], *name = name_of(path);
        if (strcmp(path, "-") == 0 || !name[0])
            die_usage("\"%s\" has no name to keep in --out-dir", path);
        size_t bytes = dir_bytes + strlen(name) + 2;
        names[i] = must_alloc(bytes, 1);
        snprintf(names[i], bytes, "%s%s%s", p->out_dir, slash ? "" : "/", name);
        sorted[i] = names[i];
    }
    qsort(sorted, count, sizeof *sorted, by_name);
    for (size_t i = 1; i < count; i++)
        if (strcmp(sorted[i - 1], sorted[i]) == 0)
            die_usage("two images are named %s", name_of(sorted[i]));
    free(sorted);
    return names;
}

static void work(void *arg, size_t index, unsigned worker) {
    many *m = arg;
    struct slot *slot = &m->slots[index % m->slot_count];
    equalize_job *job = &slot->job;
    struct stat st;
    *job = (equalize_job){.options = &m->p->options,
                          .lane = &m->lanes[worker],
                          .in_name = m->p->c.argv[index],
                          .out_name = m->out_names[index]};
    if (!m->p->c.common.force && lstat(job->out_name, &st) == 0)
        slot->good = image_fail(&job->error, EXIT_USAGE, "%s: exists; use --force to replace it", job->out_name);
    else
        slot->good = equalize_job_run(job);
    image_free(&job->in); /* what waits to be written is the file alone */
    image_free(&job->out);
    snprintf(slot->failure, sizeof slot->failure, "%s", job->lane->failure);
}

static void take(void *arg, size_t index) {
    many *m = arg;
    struct slot *slot = &m->slots[index % m->slot_count];
    equalize_job *job = &slot->job;
    if (slot->good) {
        output *out = output_open(job->out_name, m->p->c.common.force, true);
        output_write(out, job->file.data, job->file.bytes);
        output_commit(out);
        memcpy(m->ran, job->ran, sizeof m->ran);
    } else {
        warn("%s", job->error.text);
        m->failed++;
        m->worst = job->error.code > m->worst ? job->error.code : m->worst;
    }
    note_failure(m->p, slot->failure);
    equalize_job_report(job);
    report_bytes(job->file_bytes, 0);
    m->done_bytes += job->file_bytes;
    equalize_job_free(job);
    report_progress(m->done_bytes, m->total_bytes);
}

/* A context for each worker: one of one thread, or one more on the device, so that an image is decoded while another is
 * computed. Answers how many there are. */
static unsigned open_lanes(many *m, size_t count) {
    session *s = &m->p->s;
    unsigned threads = parallel_threads(m->p->c.common.threads);
    unsigned wanted = threads < count ? threads : (unsigned)count;
    m->lanes = must_alloc(wanted, sizeof *m->lanes);
    m->lanes[0] = new_lane(m->p, s->ctx, wanted > 1 ? 1 : m->p->c.common.threads);
    for (unsigned k = s->on_host ? 0 : 1; wanted > 1 && k < wanted; k++) {
        scan_ctx *ctx = NULL;
        scan_options one = {.struct_size = sizeof one, .threads = 1};
        scan_status status = s->on_host ? scan_ctx_create(&ctx, &one) : session_another(s, &ctx, NULL, 0);
        if (status != SCAN_OK && !s->on_host)
            return k;
        if (status != SCAN_OK)
            die(session_exit_code(status), "threads: %s", scan_status_string(status));
        m->lanes[k] = new_lane(m->p, ctx, 1);
    }
    return wanted;
}

/* The first lane's context on a device, or the only one, is the session's. */
static void close_lanes(many *m, unsigned count) {
    for (unsigned k = 0; k < count; k++) {
        equalize_lane *lane = &m->lanes[k];
        scan_ctx *own = lane->failed ? lane->failed : lane->ctx;
        equalize_lane_close(lane);
        if (own != m->p->s.ctx)
            scan_ctx_destroy(own);
    }
    free(m->lanes);
}

static int run_many(program *p) {
    size_t count = (size_t)p->c.argc;
    many m = {.p = p, .out_names = name_outputs(p, count)};
    struct stat st;
    if (stat(p->out_dir, &st) != 0 || !S_ISDIR(st.st_mode))
        die(EXIT_IO, "%s: not a folder: %s", p->out_dir, strerror(errno ? errno : ENOTDIR));
    for (size_t i = 0; i < count; i++)
        if (stat(p->c.argv[i], &st) == 0)
            m.total_bytes += (uint64_t)st.st_size;
    choose_device(p, m.total_bytes);
    unsigned workers = open_lanes(&m, count);
    m.slot_count = batch_window(workers);
    m.slots = must_alloc(m.slot_count, sizeof *m.slots);
    report_enter(PHASE_WAIT);
    report_overlap();
    batch_run(&(batch){.count = count, .threads = workers, .work = work, .take = take, .arg = &m});
    report_enter(PHASE_OTHER);
    report_number("images", count);
    report_number("failed", m.failed);
    report_method(p);
    session_report(&p->s);
    report_text("ran", m.ran);
    report_finish();
    close_lanes(&m, workers);
    for (size_t i = 0; i < count; i++)
        free(m.out_names[i]);
    free(m.out_names);
    free(m.slots);
    return m.worst;
}

/* ---- main -------------------------------------------------------------------------------------------------------- */

static void load_mask(program *p) {
    image_error error;
    if (!image_load_finish(image_load_start(p->mask_path), &p->mask, &error) ||
        !equalize_make_mask(p->mask_path, &p->mask, &error))
        die(error.code, "--mask %s", error.text);
    p->options.mask = &p->mask;
}

int main(int argc, char **argv) {
    program p = {.c = {.help = help, .short_help = short_help, .options = options},
                 .options = {.clip = 2.0, .tiles_x = 8, .tiles_y = 8, .quality = 95}};
    cli_start(&p.c, argc, argv);
    if (!sandbox_start())
        die(EXIT_IO, "cannot start the image decoder: %s", strerror(errno));
    for (int key; (key = cli_next(&p.c));)
        take_option(&p, key);
    check_options(&p);
    p.options.verify = p.c.common.verify;
    p.options.keep_input = p.plot_path != NULL;
    const char *path = p.out_dir ? NULL : cli_operand(&p.c);
    report_start(&p.c.common);
    session_open(&p.s, &p.c.common);
    if (p.mask_path)
        load_mask(&p);
    int code = p.out_dir ? run_many(&p) : run_one(&p, path);
    image_free(&p.mask);
    session_close(&p.s);
    return code;
}
