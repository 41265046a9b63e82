/* SPDX-License-Identifier: MIT
 *
 * Histograms on the CPU. Every thread counts its share of the pixels in tables of its own (histogram_counter.c);
 * then the threads add up all tables, each for its share of the bins. Grey images are counted in place; other views (a
 * channel, a luma, pixels under a mask) are first copied block by block into a short plane.
 */
#include <string.h>

#include "equalize_kernels.h"

typedef struct counting {
    const scan_cpu_counting *what;
    const scan_cpu_image_kernels *kernels;
    const unsigned char *in;
    const uint8_t *mask;
    size_t n;
    uint32_t *tables;    /* per thread: planes * scan_cpu_counter_size */
    unsigned table_sets; /* threads that counted */
    uint64_t *bins;
} counting;

/* Moves the samples under the mask to the front and returns their number. */
static size_t keep_masked(scan_type type, void *plane, const uint8_t *mask, size_t n) {
    size_t kept = 0;
    if (type == SCAN_U8) {
        uint8_t *samples = plane;
        for (size_t i = 0; i < n; i++) {
            samples[kept] = samples[i];
            kept += mask[i] != 0;
        }
    } else {
        uint16_t *samples = plane;
        for (size_t i = 0; i < n; i++) {
            samples[kept] = samples[i];
            kept += mask[i] != 0;
        }
    }
    return kept;
}

static void fill_plane(const counting *c, const void *in, size_t n, unsigned plane, void *samples) {
    unsigned channels = c->what->channels;
    bool bytes = c->what->type == SCAN_U8;
    switch (c->what->view) {
    case SCAN_CPU_CHANNELS: scan_cpu_take_channel(c->kernels, c->what->type, in, n, channels, plane, samples); break;
    case SCAN_CPU_LUMA:
        if (bytes)
            c->kernels->luma_u8(in, n, channels, samples);
        else
            c->kernels->luma_u16(in, n, channels, samples);
        break;
    case SCAN_CPU_REC709:
        if (bytes)
            c->kernels->rec709_u8(in, n, channels, samples);
        else
            c->kernels->rec709_u16(in, n, channels, samples);
        break;
    }
}

static void count_blocks(const counting *c, size_t begin, size_t end, const scan_cpu_counter *counters) {
    uint16_t samples[SCAN_CPU_BLOCK];
    scan_type bin_type = scan_cpu_bin_type(c->what);
    size_t pixel_bytes = c->what->channels * scan_type_size(c->what->type);
    for (size_t i = begin; i < end; i += SCAN_CPU_BLOCK) {
        size_t n = end - i < SCAN_CPU_BLOCK ? end - i : SCAN_CPU_BLOCK;
        for (unsigned plane = 0; plane < c->what->planes; plane++) {
            fill_plane(c, c->in + i * pixel_bytes, n, plane, samples);
            size_t kept = c->mask ? keep_masked(bin_type, samples, c->mask + i, n) : n;
            scan_cpu_counter_add(&counters[plane], samples, kept);
        }
    }
}

static void count_task(void *arg, unsigned index, unsigned count) {
    const counting *c = arg;
    scan_type bin_type = scan_cpu_bin_type(c->what);
    size_t begin, end, size = scan_cpu_counter_size(bin_type);
    scan_cpu_share(c->n, SCAN_CPU_BLOCK, index, count, &begin, &end);
    scan_cpu_counter counters[4];
    for (unsigned plane = 0; plane < c->what->planes; plane++) {
        uint32_t *counts = c->tables + (index * c->what->planes + plane) * size;
        counters[plane] = scan_cpu_counter_begin(bin_type, end - begin, counts);
    }
    if (c->what->channels == 1 && !c->mask)
        scan_cpu_counter_add(&counters[0], c->in + begin * scan_type_size(c->what->type), end - begin);
    else
        count_blocks(c, begin, end, counters);
    for (unsigned plane = 0; plane < c->what->planes; plane++)
        scan_cpu_counter_end(&counters[plane]);
}

/* bins += the tables of all threads, for this thread's share of the bins. */
static void sum_task(void *arg, unsigned index, unsigned count) {
    const counting *c = arg;
    scan_type bin_type = scan_cpu_bin_type(c->what);
    size_t bins = scan_cpu_bins(bin_type), size = scan_cpu_counter_size(bin_type), planes = c->what->planes;
    size_t begin, end;
    scan_cpu_share(bins, 64, index, count, &begin, &end);
    for (size_t plane = 0; plane < planes; plane++)
        for (size_t set = 0; set < c->table_sets; set++) {
            const uint32_t *table = c->tables + (set * planes + plane) * size;
            for (size_t b = begin; b < end; b++)
                c->bins[plane * bins + b] += table[b];
        }
}

void scan_cpu_count_image(scan_ctx *ctx, const scan_cpu_counting *what, const void *in, size_t n, uint64_t *bins,
                          void *workspace, unsigned threads) {
    scan_pool *pool = scan_cpu(ctx)->pool;
    size_t bin_count = what->planes * scan_cpu_bins(scan_cpu_bin_type(what));
    memset(bins, 0, bin_count * sizeof *bins);
    size_t pixel_bytes = what->channels * scan_type_size(what->type);
    for (size_t done = 0; done < n; done += SCAN_CPU_COUNTED_AT_ONCE) {
        counting c = {.what = what,
                      .kernels = scan_cpu_image(ctx),
                      .in = (const unsigned char *)in + done * pixel_bytes,
                      .mask = what->mask ? what->mask + done : NULL,
                      .n = n - done < SCAN_CPU_COUNTED_AT_ONCE ? n - done : SCAN_CPU_COUNTED_AT_ONCE,
                      .tables = workspace,
                      .table_sets = threads,
                      .bins = bins};
        scan_pool_run(pool, threads, count_task, &c);
        scan_pool_run(pool, bin_count * threads > 65536 ? threads : 1, sum_task, &c);
    }
}

size_t scan_cpu_counting_workspace(const scan_ctx *ctx, const scan_cpu_counting *c) {
    return scan_pool_threads(scan_cpu(ctx)->pool) * c->planes * scan_cpu_counter_size(scan_cpu_bin_type(c)) *
           sizeof(uint32_t);
}

static scan_cpu_counting counting_of(const scan_histogram_desc *desc) {
    return (scan_cpu_counting){
        .type = desc->type, .channels = desc->channels, .planes = desc->channels, .mask = desc->mask};
}

scan_status scan_cpu_histogram(scan_ctx *ctx, const scan_histogram_desc *desc, const void *in, uint64_t *bins,
                               size_t n) {
    scan_cpu_counting what = counting_of(desc);
    void *workspace;
    SCAN_TRY(scan_workspace(ctx, scan_cpu_counting_workspace(ctx, &what), &workspace));
    n = scan_cpu_count(n, desc->n_device);
    scan_cpu_count_image(ctx, &what, in, n, bins, workspace, scan_cpu_image_threads(ctx, n * desc->channels));
    scan_cpu_note(ctx, "histogram");
    return SCAN_OK;
}

size_t scan_cpu_histogram_workspace(const scan_ctx *ctx, const scan_histogram_desc *desc, size_t n) {
    (void)n;
    scan_cpu_counting what = counting_of(desc);
    return scan_cpu_counting_workspace(ctx, &what);
}
