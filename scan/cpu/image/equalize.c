/* SPDX-License-Identifier: MIT
 *
 * Equalization on the CPU: histograms (histogram.c), tables (scan/shared/equalize_lut.c), map. The map runs from the
 * end of the image to its start, so that it begins with the part that counting has left in the caches. Alpha is a
 * channel whose table is the identity.
 */
#include <string.h>

#include "../../shared/equalize_lut.h"
#include "equalize_kernels.h"

enum { MAP_BLOCK = 1 << 15 };

enum { STREAM_BYTES = 8 << 20 /* outputs from this size on are written past the caches */ };

typedef struct plan {
    scan_cpu_counting counting;
    bool luma;       /* the map replaces Y */
    unsigned tables; /* in the caller's luts */
} plan;

typedef struct mapping {
    const scan_equalize_desc *desc;
    const scan_cpu_image_kernels *kernels;
    const plan *plan;
    const unsigned char *in;
    unsigned char *out;
    size_t n;
    const void *luts[4];
    bool stream;
} mapping;

static const scan_cpu_image_kernels *const levels[SCAN_SIMD_LEVELS] = {
    [SCAN_SIMD_PORTABLE] = &scan_cpu_image_portable,
#if SCAN_HAS_SIMD
    [SCAN_SIMD_AVX2] = &scan_cpu_image_avx2,
    [SCAN_SIMD_AVX512] = &scan_cpu_image_avx512,
#endif
};

const scan_cpu_image_kernels *scan_cpu_image(const scan_ctx *ctx) { return levels[scan_cpu(ctx)->simd]; }

static plan plan_of(const scan_equalize_desc *desc) {
    bool color = desc->channels >= 3;
    plan p = {.counting = {.type = desc->type, .channels = desc->channels, .planes = 1, .mask = desc->mask},
              .tables = 1};
    if (color && desc->color == SCAN_COLOR_CHANNELS) {
        p.counting.planes = p.tables = 3;
    } else if (color) {
        p.luma = desc->like != SCAN_LIKE_IMAGEMAGICK;
        p.counting.view = p.luma ? SCAN_CPU_LUMA : SCAN_CPU_REC709;
    }
    /* vips scales 16-bit images by their largest sample, alpha included. */
    if (desc->like == SCAN_LIKE_VIPS && desc->type == SCAN_U16 && p.counting.view == SCAN_CPU_CHANNELS)
        p.counting.planes = desc->channels;
    return p;
}

static size_t table_bytes(scan_type type) { return type == SCAN_U8 ? 256 : 65536 * sizeof(uint16_t); }

static void map_luma(const mapping *m, const void *in, void *out, size_t n) {
    uint16_t y[SCAN_CPU_BLOCK];
    unsigned channels = m->desc->channels;
    if (m->desc->type == SCAN_U8) {
        uint8_t *luma = (uint8_t *)y;
        m->kernels->luma_u8(in, n, channels, luma);
        m->kernels->map_u8(luma, luma, n, 1, (const uint8_t *const[]){m->luts[0]}, false);
        m->kernels->replace_u8(in, luma, out, n, channels);
    } else {
        m->kernels->luma_u16(in, n, channels, y);
        m->kernels->map_u16(y, y, n, 1, (const uint16_t *const[]){m->luts[0]}, false);
        m->kernels->replace_u16(in, y, out, n, channels);
    }
}

static void map_channels(const mapping *m, const void *in, void *out, size_t n) {
    const void *const *t = m->luts;
    unsigned channels = m->desc->channels;
    if (channels == 3 && m->plan->tables == 1) { /* one table for all samples */
        n *= channels;
        channels = 1;
    }
    if (m->desc->type == SCAN_U8)
        m->kernels->map_u8(in, out, n, channels, (const uint8_t *const[]){t[0], t[1], t[2], t[3]}, m->stream);
    else
        m->kernels->map_u16(in, out, n, channels, (const uint16_t *const[]){t[0], t[1], t[2], t[3]}, m->stream);
}

static void map_task(void *arg, unsigned index, unsigned count) {
    const mapping *m = arg;
    size_t block = m->plan->luma ? SCAN_CPU_BLOCK : MAP_BLOCK;
    size_t pixel_bytes = m->desc->channels * scan_type_size(m->desc->type);
    size_t begin, end;
    scan_cpu_share(m->n, SCAN_CPU_BLOCK, index, count, &begin, &end);
    while (end > begin) {
        size_t n = (end - begin - 1) % block + 1;
        end -= n;
        const void *in = m->in + end * pixel_bytes;
        void *out = m->out + end * pixel_bytes;
        if (m->plan->luma)
            map_luma(m, in, out, n);
        else
            map_channels(m, in, out, n);
    }
}

/* Workspace: counters of the threads, histograms, then tables: one for each equalized channel, and the identity. */
typedef struct layout {
    size_t bins, luts, bytes;
} layout;

static layout layout_of(const scan_ctx *ctx, const scan_equalize_desc *desc, const plan *p) {
    layout l;
    l.bins = scan_cpu_counting_workspace(ctx, &p->counting);
    l.luts = l.bins + p->counting.planes * scan_cpu_bins(scan_cpu_bin_type(&p->counting)) * sizeof(uint64_t);
    l.bytes = l.luts + (p->tables + 1) * table_bytes(desc->type);
    return l;
}

static void fill_identity(scan_type type, void *lut) {
    for (size_t i = 0; i < scan_cpu_bins(type); i++)
        if (type == SCAN_U8)
            ((uint8_t *)lut)[i] = (uint8_t)i;
        else
            ((uint16_t *)lut)[i] = (uint16_t)i;
}

static void fill_tables(const scan_equalize_desc *desc, const plan *p, const uint64_t *bins, unsigned char *luts) {
    scan_type bin_type = scan_cpu_bin_type(&p->counting);
    size_t count = scan_cpu_bins(bin_type), bytes = table_bytes(desc->type);
    uint32_t largest = 0;
    for (unsigned i = 0; i < p->counting.planes; i++) {
        uint32_t here = scan_equalize_largest(bins + i * count, count);
        largest = here > largest ? here : largest;
    }
    for (unsigned i = 0; i < p->tables; i++)
        scan_equalize_lut(desc->like, desc->type, bin_type, bins + i * count, largest, luts + i * bytes);
    fill_identity(desc->type, luts + p->tables * bytes);
}

scan_status scan_cpu_equalize(scan_ctx *ctx, const scan_equalize_desc *desc, const void *in, void *out, void *luts,
                              size_t n) {
    plan p = plan_of(desc);
    layout l = layout_of(ctx, desc, &p);
    void *memory;
    SCAN_TRY(scan_workspace(ctx, l.bytes, &memory));
    unsigned char *workspace = memory, *tables = workspace + l.luts;
    uint64_t *bins = (uint64_t *)(workspace + l.bins);
    const unsigned threads = scan_cpu_image_threads(ctx, n * desc->channels);
    const size_t bin_bytes = p.counting.planes * scan_cpu_bins(scan_cpu_bin_type(&p.counting)) * sizeof *bins;
    if (desc->bins_in)
        memcpy(bins, desc->bins_in, bin_bytes);
    else
        scan_cpu_count_image(ctx, &p.counting, in, n, bins, workspace, threads);
    if (desc->bins_out)
        memcpy(desc->bins_out, bins, bin_bytes);
    scan_cpu_note(ctx, "histogram and map");
    if (!out && !luts)
        return SCAN_OK;
    fill_tables(desc, &p, bins, tables);
    if (luts)
        memcpy(luts, tables, p.tables * table_bytes(desc->type));

    mapping m = {.desc = desc, .kernels = scan_cpu_image(ctx), .plan = &p, .in = in, .out = out, .n = n};
    m.stream = in != out && n * desc->channels * scan_type_size(desc->type) >= STREAM_BYTES;
    unsigned colors = desc->channels >= 3 ? 3 : 1;
    for (unsigned i = 0; i < 4; i++) {
        unsigned table = i >= colors ? p.tables : p.tables == 1 ? 0 : i;
        m.luts[i] = tables + table * table_bytes(desc->type);
    }
    scan_pool_run(scan_cpu(ctx)->pool, threads, map_task, &m);
    return SCAN_OK;
}

size_t scan_cpu_equalize_workspace(const scan_ctx *ctx, const scan_equalize_desc *desc, size_t n) {
    (void)n;
    plan p = plan_of(desc);
    return layout_of(ctx, desc, &p).bytes;
}
