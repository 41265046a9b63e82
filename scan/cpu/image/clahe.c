/* SPDX-License-Identifier: MIT
 *
 * CLAHE on the CPU: the tables of all tiles, then the blend. Threads take work items from a shared counter: tiles, then
 * bands of rows. A band is blended cell by cell (a cell is the set of pixels that blend the same four tables), so that
 * four tables stay in the cache. Colour images are processed as a plane: the luma, or one channel after another.
 */
#include <stdatomic.h>
#include <string.h>

#include "equalize_kernels.h"

enum { BAND_ROWS = 32, ALIGN = 256, WORK_PER_SAMPLE = 4 /* beside counting it */ };

typedef struct clahe {
    const scan_equalize_desc *desc;
    const scan_cpu_image_kernels *kernels;
    scan_clahe_grid grid;
    const unsigned char *in; /* a plane */
    unsigned char *out;      /* a plane; may be `in` */
    unsigned char *luts;     /* tiles_y * tiles_x tables */
    uint32_t *tables;        /* counters of each thread */
    unsigned threads;
    uint64_t *wide; /* 64-bit counters of each thread; NULL if tiles are small enough for 32 bits */
    float *weights; /* of the right tile, for each column of the image */
    atomic_size_t next;
    /* colour */
    const unsigned char *image;
    unsigned char *image_out;
    unsigned char *plane;
    unsigned channel;
} clahe;

static size_t align_up(size_t bytes) { return (bytes + ALIGN - 1) / ALIGN * ALIGN; }

/* ---- tables ------------------------------------------------------------------------------------------------------ */

static void flush(const scan_clahe_grid *g, const scan_cpu_counter *counter, uint64_t *wide) {
    scan_cpu_counter_end(counter);
    for (uint32_t i = 0; i < g->bins; i++)
        wide[i] += counter->counts[i];
}

static uint32_t sample_at(const clahe *c, size_t x, size_t y) {
    size_t i = y * c->grid.width + x;
    return c->desc->type == SCAN_U8 ? c->in[i] : ((const uint16_t *)(const void *)c->in)[i];
}

/* Columns [left, right) of one row of the extended image. */
static void count_row(const clahe *c, const scan_cpu_counter *counter, size_t y, size_t left, size_t right) {
    size_t width = c->grid.width, inside = left >= width ? 0 : (right < width ? right : width) - left;
    if (inside)
        scan_cpu_counter_add(counter, c->in + (y * width + left) * scan_type_size(c->desc->type), inside);
    for (size_t x = left + inside; x < right; x++)
        counter->counts[sample_at(c, scan_clahe_reflect(x, width), y)]++;
}

/* Fills counts, or for a tile of more than SCAN_CPU_COUNTED_AT_ONCE pixels `wide`. */
static void count_tile(const clahe *c, size_t tile_x, size_t tile_y, uint32_t *counts, uint64_t *wide) {
    const scan_clahe_grid *g = &c->grid;
    const size_t left = tile_x * g->tile_width, right = left + g->tile_width, top = tile_y * g->tile_height;
    if (wide)
        memset(wide, 0, g->bins * sizeof *wide);
    scan_cpu_counter counter = scan_cpu_counter_begin(c->desc->type, g->area, counts);
    size_t counted = 0;
    for (size_t row = 0; row < g->tile_height; row++)
        for (size_t x = left, next; x < right; x = next) {
            next = right - x > SCAN_CPU_COUNTED_AT_ONCE ? x + SCAN_CPU_COUNTED_AT_ONCE : right;
            if (counted + (next - x) > SCAN_CPU_COUNTED_AT_ONCE) {
                flush(g, &counter, wide);
                counter = scan_cpu_counter_begin(c->desc->type, g->area, counts);
                counted = 0;
            }
            count_row(c, &counter, scan_clahe_reflect(top + row, g->height), x, next);
            counted += next - x;
        }
    if (wide)
        flush(g, &counter, wide);
    else
        scan_cpu_counter_end(&counter);
}

/* Clips and refills the counts of a tile (see scan_clahe_count) and replaces them with their inclusive scan. */
static void equalize_counts(const scan_clahe_grid *g, uint32_t *counts) {
    uint32_t excess = 0, limit = g->limit < UINT32_MAX ? (uint32_t)g->limit : UINT32_MAX;
    for (uint32_t i = 0; i < g->bins; i++) {
        uint32_t kept = counts[i] < limit ? counts[i] : limit;
        excess += counts[i] - kept;
        counts[i] = kept;
    }
    scan_clahe_refill refill = scan_clahe_refill_of(g, excess);
    for (uint32_t i = 0; i < refill.rest; i++)
        counts[i * refill.step]++;
    uint32_t sum = 0, each = (uint32_t)refill.each;
    for (uint32_t i = 0; i < g->bins; i++)
        counts[i] = sum += counts[i] + each;
}

static void make_wide_table(const clahe *c, const uint64_t *counts, void *lut) {
    const scan_clahe_grid *g = &c->grid;
    uint64_t excess = 0, sum = 0;
    for (uint32_t i = 0; i < g->bins; i++)
        excess += counts[i] > g->limit ? counts[i] - g->limit : 0;
    scan_clahe_refill refill = scan_clahe_refill_of(g, excess);
    for (uint32_t i = 0; i < g->bins; i++) {
        sum += scan_clahe_count(g, refill, i, counts[i]);
        uint32_t entry = scan_clahe_entry(g, sum);
        if (c->desc->type == SCAN_U8)
            ((uint8_t *)lut)[i] = (uint8_t)entry;
        else
            ((uint16_t *)lut)[i] = (uint16_t)entry;
    }
}

static unsigned char *table_of(const clahe *c, size_t tile_x, size_t tile_y) {
    return c->luts + (tile_y * c->grid.tiles_x + tile_x) * c->grid.bins * scan_type_size(c->desc->type);
}

static void table_task(void *arg, unsigned index, unsigned count) {
    clahe *c = arg;
    (void)count;
    uint32_t *counts = c->tables + index * scan_cpu_counter_size(c->desc->type);
    uint64_t *wide = c->wide ? c->wide + index * c->grid.bins : NULL;
    size_t tiles = c->grid.tiles_x * c->grid.tiles_y;
    for (size_t tile; (tile = atomic_fetch_add_explicit(&c->next, 1, memory_order_relaxed)) < tiles;) {
        size_t tile_x = tile % c->grid.tiles_x, tile_y = tile / c->grid.tiles_x;
        void *lut = table_of(c, tile_x, tile_y);
        count_tile(c, tile_x, tile_y, counts, wide);
        if (wide) {
            make_wide_table(c, wide, lut);
        } else {
            equalize_counts(&c->grid, counts);
            c->kernels->entries((const int32_t *)counts, &c->grid, lut);
        }
    }
}

/* ---- blend ------------------------------------------------------------------------------------------------------- */

static void blend_row(const clahe *c, size_t y, size_t left, size_t right, const scan_cpu_cell *cell) {
    float v = scan_clahe_place_of(y, c->grid.inverse_height).weight;
    size_t at = y * c->grid.width + left;
    if (c->desc->type == SCAN_U8)
        c->kernels->blend_u8(c->in + at, c->out + at, right - left, cell, c->weights + left, v);
    else
        c->kernels->blend_u16((const uint16_t *)(const void *)c->in + at, (uint16_t *)(void *)c->out + at, right - left,
                              cell, c->weights + left, v);
}

/* Rows [top, bottom), all between the centres of the same tiles. */
static void blend_rows(const clahe *c, size_t top, size_t bottom) {
    const scan_clahe_grid *g = &c->grid;
    int64_t tile_y = scan_clahe_place_of(top, g->inverse_height).tile;
    size_t upper = scan_clahe_clamp(tile_y, g->tiles_y), lower = scan_clahe_clamp(tile_y + 1, g->tiles_y);
    for (size_t left = 0; left < g->width;) {
        int64_t tile_x = scan_clahe_place_of(left, g->inverse_width).tile;
        size_t right = scan_clahe_cell_begin(tile_x + 1, g->width, g->inverse_width);
        size_t before = scan_clahe_clamp(tile_x, g->tiles_x), after = scan_clahe_clamp(tile_x + 1, g->tiles_x);
        scan_cpu_cell cell = {table_of(c, before, upper), table_of(c, after, upper), table_of(c, before, lower),
                              table_of(c, after, lower)};
        for (size_t y = top; y < bottom; y++)
            blend_row(c, y, left, right, &cell);
        left = right;
    }
}

static void blend_task(void *arg, unsigned index, unsigned count) {
    clahe *c = arg;
    (void)index, (void)count;
    const scan_clahe_grid *g = &c->grid;
    for (size_t top; (top = atomic_fetch_add_explicit(&c->next, BAND_ROWS, memory_order_relaxed)) < g->height;) {
        size_t bottom = g->height - top < BAND_ROWS ? g->height : top + BAND_ROWS;
        while (top < bottom) {
            int64_t tile = scan_clahe_place_of(top, g->inverse_height).tile;
            size_t end = scan_clahe_cell_begin(tile + 1, bottom, g->inverse_height);
            blend_rows(c, top, end);
            top = end;
        }
    }
}

static void run_plane(scan_ctx *ctx, clahe *c, const void *in, void *out) {
    c->in = in;
    c->out = out;
    for (size_t x = 0; x < c->grid.width; x++)
        c->weights[x] = scan_clahe_place_of(x, c->grid.inverse_width).weight;
    atomic_init(&c->next, 0);
    scan_pool_run(scan_cpu(ctx)->pool, c->threads, table_task, c);
    atomic_init(&c->next, 0);
    scan_pool_run(scan_cpu(ctx)->pool, c->threads, blend_task, c);
}

/* ---- colour ------------------------------------------------------------------------------------------------------ */

static void share_pixels(const clahe *c, unsigned index, unsigned count, size_t *begin, size_t *end) {
    scan_cpu_share(c->grid.width * c->grid.height, SCAN_CPU_BLOCK, index, count, begin, end);
}

static void take_task(void *arg, unsigned index, unsigned count) {
    const clahe *c = arg;
    size_t begin, end, size = scan_type_size(c->desc->type);
    share_pixels(c, index, count, &begin, &end);
    const void *in = c->image + begin * c->desc->channels * size;
    void *plane = c->plane + begin * size;
    if (c->desc->channels < 3 || c->desc->color == SCAN_COLOR_CHANNELS)
        scan_cpu_take_channel(c->kernels, c->desc->type, in, end - begin, c->desc->channels, c->channel, plane);
    else if (c->desc->type == SCAN_U8)
        c->kernels->luma_u8(in, end - begin, c->desc->channels, plane);
    else
        c->kernels->luma_u16(in, end - begin, c->desc->channels, plane);
}

static void put_task(void *arg, unsigned index, unsigned count) {
    const clahe *c = arg;
    size_t begin, end, size = scan_type_size(c->desc->type);
    share_pixels(c, index, count, &begin, &end);
    const void *in = c->image + begin * c->desc->channels * size, *plane = c->plane + begin * size;
    void *out = c->image_out + begin * c->desc->channels * size;
    if (c->desc->channels < 3 || c->desc->color == SCAN_COLOR_CHANNELS)
        scan_cpu_put_channel(c->kernels, c->desc->type, plane, end - begin, c->desc->channels, c->channel, out);
    else if (c->desc->type == SCAN_U8)
        c->kernels->replace_u8(in, plane, out, end - begin, c->desc->channels);
    else
        c->kernels->replace_u16(in, plane, out, end - begin, c->desc->channels);
}

/* Copies a channel: alpha, where the luma's put_task has not copied it. */
static void copy_task(void *arg, unsigned index, unsigned count) {
    take_task(arg, index, count);
    put_task(arg, index, count);
}

static void run_color(scan_ctx *ctx, clahe *c) {
    scan_pool *pool = scan_cpu(ctx)->pool;
    unsigned channels = c->desc->channels;
    bool luma = channels >= 3 && c->desc->color == SCAN_COLOR_LUMA;
    unsigned planes = luma || channels < 3 ? 1 : 3;
    for (c->channel = 0; c->channel < planes; c->channel++) {
        scan_pool_run(pool, c->threads, take_task, c);
        run_plane(ctx, c, c->plane, c->plane);
        scan_pool_run(pool, c->threads, put_task, c);
    }
    if (!luma && channels % 2 == 0 && c->image != c->image_out) {
        c->channel = channels - 1;
        scan_pool_run(pool, c->threads, copy_task, c);
    }
}

/* ---- the verb ---------------------------------------------------------------------------------------------------- */

typedef struct layout {
    size_t wide, luts, weights, plane, bytes;
} layout;

/* Workspace: counters of the threads, 64-bit ones if needed, tables of the tiles, column weights, a plane if the image
 * has several channels. */
static layout layout_of(const scan_ctx *ctx, const scan_equalize_desc *desc, const scan_clahe_grid *g) {
    size_t size = scan_type_size(desc->type);
    layout l;
    size_t threads = scan_pool_threads(scan_cpu(ctx)->pool);
    l.wide = align_up(threads * scan_cpu_counter_size(desc->type) * sizeof(uint32_t));
    l.luts = l.wide + (g->area > SCAN_CPU_COUNTED_AT_ONCE ? align_up(threads * g->bins * sizeof(uint64_t)) : 0);
    l.weights = l.luts + align_up(g->tiles_x * g->tiles_y * g->bins * size);
    l.plane = l.weights + align_up(g->width * sizeof(float));
    l.bytes = l.plane + (desc->channels > 1 ? align_up(g->width * g->height * size) : 0);
    return l;
}

scan_status scan_cpu_clahe(scan_ctx *ctx, const scan_equalize_desc *desc, const void *in, void *out, size_t width,
                           size_t height) {
    clahe c = {.desc = desc,
               .kernels = scan_cpu_image(ctx),
               .grid = scan_clahe_grid_of(desc, width, height),
               .image = in,
               .image_out = out};
    layout l = layout_of(ctx, desc, &c.grid);
    c.threads = scan_cpu_image_threads(
        ctx, WORK_PER_SAMPLE * (width * height * desc->channels + c.grid.tiles_x * c.grid.tiles_y * c.grid.bins));
    void *memory;
    SCAN_TRY(scan_workspace(ctx, l.bytes, &memory));
    unsigned char *workspace = memory;
    c.tables = memory;
    c.wide = c.grid.area > SCAN_CPU_COUNTED_AT_ONCE ? (uint64_t *)(void *)(workspace + l.wide) : NULL;
    c.luts = workspace + l.luts;
    c.weights = (float *)(void *)(workspace + l.weights);
    c.plane = workspace + l.plane;
    if (desc->channels == 1)
        run_plane(ctx, &c, in, out);
    else
        run_color(ctx, &c);
    scan_cpu_note(ctx, "clahe");
    return SCAN_OK;
}

size_t scan_cpu_clahe_workspace(const scan_ctx *ctx, const scan_equalize_desc *desc, size_t width, size_t height) {
    scan_clahe_grid grid = scan_clahe_grid_of(desc, width, height);
    return layout_of(ctx, desc, &grid).bytes;
}
