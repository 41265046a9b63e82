/* SPDX-License-Identifier: MIT
 *
 * equalize: spreads the brightness of images evenly, by global histogram equalization or CLAHE.
 *
 * Images are decoded in child processes that can only compute (sandbox.c). One image is worked on by all threads of the
 * library; of many, each thread takes a whole image at a time.
 */
#include <errno.h>
#include <string.h>

#include "apps/support/cli.h"
#include "apps/support/die.h"
#include "apps/support/memory.h"
#include "apps/support/names.h"
#include "apps/support/number.h"
#include "apps/support/ranks.h"
#include "apps/support/report.h"
#include "load.h"
#include "run.h"
#include "sandbox.h"
#include "save.h"

static const char help[] =
    "Examples:\n"
    "  @ moon.png -o clear.png\n"
    "  @ --method clahe --clip 3 --tiles 8x8 xray.png -o local.png\n"
    "  @ --like pillow photo.jpg -o photo-eq.jpg --quality 90\n"
    "  @ --plot histogram.svg moon.png -o clear.png\n"
    "  @ --method clahe photos --out-dir better           every image in the folder\n"
    "\n"
    "Usage: @ [OPTION]... IMAGE [-o FILE]\n"
    "       @ [OPTION]... IMAGE|FOLDER... --out-dir DIR\n"
    "Spreads the brightness of images evenly over the whole range.\n"
    "\n"
    "Reads PNG, JPEG, PGM and PPM with 8- or 16-bit samples: grey, RGB, with or without alpha. Writes what the\n"
    "extension says: .png .jpg .jpeg .pgm .ppm .pnm. Depth and channels stay, alpha is copied. Of the metadata PNG "
    "and\n"
    "JPEG keep the ICC colour profile.\n"
    "\n"
    "  --method M            global (default) or clahe: contrast limited, tile by tile\n"
    "  --like PEER           global: implementation to reproduce bit for bit: opencv (default), pillow, imagemagick,\n"
    "                        vips or skimage\n"
    "  --clip X              clahe: the clip limit, 0 for none (default 2.0)\n"
    "  --tiles COLSxROWS     clahe: the grid of tiles (default 8x8)\n"
    "  --color C             luma: equalize the brightness; channels: red, green and blue one by one\n"
    "                        (default: luma; channels like pillow and vips)\n"
    "  --mask IMAGE          global: only pixels where this grey image is not 0 count; all are mapped\n"
    "  --plot FILE           draw the histograms before and after as SVG\n"
    "  -S, --memory SIZE     use so much memory for an image: a number of K, or with b, K, M, G, T, P, E or %; from "
    "1M\n"
    "                        (default half of what is free). Binary PGM and PPM that are larger go to the same in\n"
    "                        bands; what does not go in bands and needs more is refused\n"
    "  --quality N           of JPEG output, 1 to 100 (default 95)\n"
    "  --out-dir DIR         write each image to DIR, made if it is missing, under its own name; a folder stands for\n"
    "                        the images in it by their extensions, without subfolders; a bad image is reported and\n"
    "                        left out, the exit code is the worst of all\n"
    "  --together            of --out-dir, global: one table for all images, of their pixels together; they are of "
    "one\n"
    "                        kind, as grey of 8 bits\n" CLI_COMMON_HELP "\n"
    "Several processes that mpirun or srun has started work together, on the images of --out-dir.\n"
    "Exit status: 0 done, 1 failed verification, 2 usage or bad data, 3 input, output or memory, 4 device.\n";

static const char short_help[] = "Usage: @ [OPTION]... IMAGE [-o FILE]   (@ --help says more)\n";

enum { METHOD = 1, LIKE, CLIP, TILES, COLOR, MASK, PLOT, QUALITY, OUT_DIR, MEMORY, TOGETHER };

static const cli_option options[] = {
    {"method", 0, true, METHOD},   {"like", 0, true, LIKE},          {"clip", 0, true, CLIP},
    {"tiles", 0, true, TILES},     {"color", 0, true, COLOR},        {"mask", 0, true, MASK},
    {"plot", 0, true, PLOT},       {"quality", 0, true, QUALITY},    {"out-dir", 0, true, OUT_DIR},
    {"memory", 'S', true, MEMORY}, {"together", 0, false, TOGETHER}, {NULL, 0, false, 0},
};

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
    case TOGETHER: p->together = true; break;
    case MEMORY:
        p->memory = memory_of_option(c->option, c->value);
        p->memory_given = true;
        break;
    case OUT_DIR:
        p->out_dir = cli_file(c);
        c->data_in_files = true;
        break;
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
    if (p->together && (!p->out_dir || o->clahe))
        die_usage("--together is for the images of --out-dir, by --method global");
    if (p->together && common->verify)
        die_usage("--verify looks at one image at a time: --together does not go with it");
    if (p->out_dir && p->plot_path)
        die_usage("--plot draws one image; it cannot go with --out-dir");
    if (!p->out_dir && p->c.argc > 1)
        die_usage("%d images need --out-dir DIR", p->c.argc);
    if (p->out_dir && p->c.argc == 0)
        die_usage("--out-dir needs images to work on");
    if (!p->out_dir)
        ranks_refuse("each has images of its own: --out-dir DIR takes many");
    if (!common->output)
        return;
    if (!image_format_of_name(common->output, 1, &format, &error))
        die(error.code, "%s", error.text);
    if (p->quality_given && format != IMAGE_JPEG)
        die_usage("--quality is for JPEG output, not for %s", common->output);
}

/* ---- main -------------------------------------------------------------------------------------------------------- */

/* The image as a mask of 0 and 1, in place. */
static bool make_mask(const char *name, image *mask, image_error *error) {
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

static void load_mask(program *p) {
    image_error error;
    if (!image_load_finish(image_load_start(p->mask_path, SIZE_MAX), &p->mask, &error) ||
        !make_mask(p->mask_path, &p->mask, &error))
        die(error.code, "--mask %s", error.text);
    p->options.mask = &p->mask;
}

int main(int argc, char **argv) {
    program p = {.c = {.help = help, .short_help = short_help, .options = options},
                 .options = {.clip = 2.0, .tiles_x = 8, .tiles_y = 8, .quality = 95}};
    cli_start(&p.c, argc, argv);
    if (!sandbox_start(argv))
        die(EXIT_IO, "cannot start the image decoder: %s", strerror(errno));
    ranks_start(argc, argv);
    for (int key; (key = cli_next(&p.c));)
        take_option(&p, key);
    check_options(&p);
    p.options.verify = p.c.common.verify;
    p.options.keep_input = p.plot_path != NULL;
    p.options.max_bytes = p.memory_given ? p.memory : SIZE_MAX;
    if (!p.memory_given)
        p.memory = memory_default();
    const char *path = p.out_dir ? NULL : cli_operand(&p.c);
    report_start(&p.c.common);
    session_open(&p.s, &p.c.common);
    if (p.mask_path)
        load_mask(&p);
    int code = p.out_dir ? run_many(&p) : run_one(&p, path);
    image_free(&p.mask);
    session_close(&p.s);
    return session_leave(&p.s, code);
}
