/* SPDX-License-Identifier: MIT
 *
 * The inner loops of histogram, equalize and clahe, one set for each SIMD level, and what the three verbs share. Colour
 * and interleaved images are copied to planar blocks of SCAN_CPU_BLOCK samples, so that counting reads contiguous
 * samples.
 */
#ifndef SCAN_CPU_IMAGE_EQUALIZE_KERNELS_H
#define SCAN_CPU_IMAGE_EQUALIZE_KERNELS_H

#include "../../shared/clahe_tiles.h"
#include "../cpu.h"

enum {
    SCAN_CPU_BLOCK = 2048,
    SCAN_CPU_BYTE_TABLES = 8,
    SCAN_CPU_PARALLEL_SAMPLES = 1 << 16, /* below this two threads are no faster */
    SCAN_CPU_SAMPLES_PER_US = 4000       /* counted by one thread, about */
};

/* Samples counted between two additions to 64-bit counters, so that 32-bit counters do not overflow. */
#define SCAN_CPU_COUNTED_AT_ONCE ((size_t)1 << 30)

/* A cell of CLAHE: the tables of the four tiles around its pixels. */
typedef struct scan_cpu_cell {
    const void *upper_left, *upper_right, *lower_left, *lower_right;
} scan_cpu_cell;

typedef struct scan_cpu_image_kernels {
    /* out = luts[channel][in] for n pixels of interleaved samples; luts are 256 or 65,536 entries each. stream: write
     * past the caches if possible. */
    void (*map_u8)(const uint8_t *in, uint8_t *out, size_t n, unsigned channels, const uint8_t *const luts[],
                   bool stream);
    void (*map_u16)(const uint16_t *in, uint16_t *out, size_t n, unsigned channels, const uint16_t *const luts[],
                    bool stream);
    /* plane[i] = in[i * channels], and back. */
    void (*take_u8)(const uint8_t *in, size_t n, unsigned channels, uint8_t *plane);
    void (*take_u16)(const uint16_t *in, size_t n, unsigned channels, uint16_t *plane);
    void (*put_u8)(const uint8_t *plane, size_t n, unsigned channels, uint8_t *out);
    void (*put_u16)(const uint16_t *plane, size_t n, unsigned channels, uint16_t *out);
    /* Y of n pixels of 3 or 4 channels; the pixels with their Y replaced. */
    void (*luma_u8)(const uint8_t *in, size_t n, unsigned channels, uint8_t *y);
    void (*luma_u16)(const uint16_t *in, size_t n, unsigned channels, uint16_t *y);
    void (*replace_u8)(const uint8_t *in, const uint8_t *to, uint8_t *out, size_t n, unsigned channels);
    void (*replace_u16)(const uint16_t *in, const uint16_t *to, uint16_t *out, size_t n, unsigned channels);
    /* ImageMagick's 65,536 levels of n pixels of 3 or 4 channels. */
    void (*rec709_u8)(const uint8_t *in, size_t n, unsigned channels, uint16_t *levels);
    void (*rec709_u16)(const uint16_t *in, size_t n, unsigned channels, uint16_t *levels);
    /* One row of a CLAHE cell: n pixels; u[i] is the weight of the right tiles, v of the lower tiles. */
    void (*blend_u8)(const uint8_t *in, uint8_t *out, size_t n, const scan_cpu_cell *cell, const float *u, float v);
    void (*blend_u16)(const uint16_t *in, uint16_t *out, size_t n, const scan_cpu_cell *cell, const float *u, float v);
    /* scan_clahe_entry of every bin's prefix sum. */
    void (*entries)(const int32_t *sums, const scan_clahe_grid *grid, void *lut);
} scan_cpu_image_kernels;

extern const scan_cpu_image_kernels scan_cpu_image_portable;
#if defined(__x86_64__)
extern const scan_cpu_image_kernels scan_cpu_image_avx2;
extern const scan_cpu_image_kernels scan_cpu_image_avx512;
#endif

const scan_cpu_image_kernels *scan_cpu_image(const scan_ctx *ctx);

/* The samples of an image to count. */
typedef enum scan_cpu_view {
    SCAN_CPU_CHANNELS, /* the first `planes` channels, one histogram each */
    SCAN_CPU_LUMA,     /* OpenCV's Y */
    SCAN_CPU_REC709    /* ImageMagick's intensity, 65,536 levels */
} scan_cpu_view;

typedef struct scan_cpu_counting {
    scan_type type;
    unsigned channels;
    unsigned planes; /* histograms */
    scan_cpu_view view;
    const uint8_t *mask;
} scan_cpu_counting;

static inline scan_type scan_cpu_bin_type(const scan_cpu_counting *c) {
    return c->view == SCAN_CPU_REC709 ? SCAN_U16 : c->type;
}

static inline size_t scan_cpu_bins(scan_type type) { return type == SCAN_U8 ? 256 : 65536; }

/* Writes c->planes histograms; workspace has scan_cpu_counting_workspace bytes. */
void scan_cpu_count_image(scan_ctx *ctx, const scan_cpu_counting *c, const void *in, size_t n, uint64_t *bins,
                          void *workspace, unsigned threads);
size_t scan_cpu_counting_workspace(const scan_ctx *ctx, const scan_cpu_counting *c);

/* Counts contiguous samples into 32-bit counters: begin, with an estimate of the number of samples; add any number of
 * times, fewer than 2^32 samples in all; end. Then counts[0 ... bins) is the histogram. counts has
 * scan_cpu_counter_size(type) elements. */
typedef struct scan_cpu_counter {
    scan_type type;
    bool one_table; /* u8: few samples */
    bool pairs;     /* u8: many */
    uint32_t *counts;
} scan_cpu_counter;

size_t scan_cpu_counter_size(scan_type type);
scan_cpu_counter scan_cpu_counter_begin(scan_type type, size_t estimate, uint32_t *counts);
void scan_cpu_counter_add(const scan_cpu_counter *counter, const void *samples, size_t n);
void scan_cpu_counter_end(const scan_cpu_counter *counter);

/* Copies one channel of n interleaved pixels into a plane, and back. */
static inline void scan_cpu_take_channel(const scan_cpu_image_kernels *kernels, scan_type type, const void *in,
                                         size_t n, unsigned channels, unsigned channel, void *plane) {
    if (type == SCAN_U8)
        kernels->take_u8((const uint8_t *)in + channel, n, channels, plane);
    else
        kernels->take_u16((const uint16_t *)in + channel, n, channels, plane);
}

static inline void scan_cpu_put_channel(const scan_cpu_image_kernels *kernels, scan_type type, const void *plane,
                                        size_t n, unsigned channels, unsigned channel, void *out) {
    if (type == SCAN_U8)
        kernels->put_u8(plane, n, channels, (uint8_t *)out + channel);
    else
        kernels->put_u16(plane, n, channels, (uint16_t *)out + channel);
}

/* Returns how many threads pay for a call that does about as much as counting `samples`. */
static inline unsigned scan_cpu_image_threads(const scan_ctx *ctx, size_t samples) {
    return samples < SCAN_CPU_PARALLEL_SAMPLES
               ? 1
               : scan_pool_choose(scan_cpu(ctx)->pool, samples / SCAN_CPU_SAMPLES_PER_US);
}

/* [begin, end) is part `index` of `count` of n elements, cut at multiples of `step`. */
static inline void scan_cpu_share(size_t n, size_t step, unsigned index, unsigned count, size_t *begin, size_t *end) {
    size_t steps = n / step + (n % step != 0), each = steps / count, rest = steps % count;
    size_t first = each * index + (index < rest ? index : rest);
    size_t last = first + each + (index < rest);
    *begin = first * step < n ? first * step : n;
    *end = last * step < n ? last * step : n;
}

#endif
