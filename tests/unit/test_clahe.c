/* SPDX-License-Identifier: MIT
 *
 * scan_clahe against the algorithm written a second time, plainly: the grown image is made in memory, then one tile and
 * one pixel are computed after another.
 */
#include <math.h>

#include "image_support.h"

typedef struct plane {
    scan_type type;
    size_t width, height;
    uint32_t *samples;
} plane;

/* Reflect-101, step by step: the direction changes at the first and at the last sample. The caller frees the places. */
static size_t *walk(size_t steps, size_t side) {
    size_t at = 0, *places = malloc(steps * sizeof *places);
    int step = 1;
    for (size_t i = 0; i < steps; i++) {
        places[i] = at;
        if ((step > 0 && at == side - 1) || (step < 0 && at == 0))
            step = -step;
        at += side > 1 ? (size_t)step : 0;
    }
    return places;
}

static void oracle_tile(scan_type type, const uint32_t *tile, size_t area, double clip, uint32_t *lut) {
    const size_t bins = bins_of(type);
    int64_t *h = calloc(bins, sizeof *h), excess = 0, sum = 0;
    for (size_t i = 0; i < area; i++)
        h[tile[i]]++;
    if (clip > 0) {
        int64_t limit = (int64_t)fmin(clip * (double)area / (double)bins, 1e15);
        limit = limit < 1 ? 1 : limit;
        for (size_t i = 0; i < bins; i++)
            if (h[i] > limit) {
                excess += h[i] - limit;
                h[i] = limit;
            }
        int64_t each = excess / (int64_t)bins, rest = excess - each * (int64_t)bins;
        for (size_t i = 0; i < bins; i++)
            h[i] += each;
        if (rest) {
            size_t step = bins / (size_t)rest > 1 ? bins / (size_t)rest : 1;
            for (size_t i = 0; i < bins && rest > 0; i += step, rest--)
                h[i]++;
        }
    }
    const float scale = (float)(bins - 1) / (float)area;
    for (size_t i = 0; i < bins; i++) {
        sum += h[i];
        volatile float value = (float)sum * scale;
        long entry = lrintf(value);
        lut[i] = entry >= (long)bins ? (uint32_t)bins - 1 : (uint32_t)entry;
    }
    free(h);
}

static uint32_t blend(const uint32_t *const t[4], uint32_t value, float u, float v, uint32_t top) {
    volatile float left = 1.0f - u, above = 1.0f - v;
    volatile float a = (float)t[0][value] * left, b = (float)t[1][value] * u, upper = a + b;
    volatile float c = (float)t[2][value] * left, d = (float)t[3][value] * u, lower = c + d;
    volatile float e = upper * above, f = lower * v, sum = e + f;
    long result = lrintf(sum);
    return result > (long)top ? top : (uint32_t)result;
}

static size_t clamped(long tile, size_t tiles) {
    return tile < 0 ? 0 : (size_t)tile >= tiles ? tiles - 1 : (size_t)tile;
}

/* In place. */
static void oracle_clahe(plane *p, double clip, size_t tiles_x, size_t tiles_y) {
    const size_t bins = bins_of(p->type);
    size_t grown_x = p->width, grown_y = p->height;
    if (p->width % tiles_x || p->height % tiles_y) {
        grown_x += tiles_x - p->width % tiles_x;
        grown_y += tiles_y - p->height % tiles_y;
    }
    size_t tw = grown_x / tiles_x, th = grown_y / tiles_y;
    size_t *from_x = walk(grown_x, p->width), *from_y = walk(grown_y, p->height);
    uint32_t *luts = malloc(tiles_x * tiles_y * bins * sizeof *luts), *tile = malloc(tw * th * sizeof *tile);
    for (size_t ty = 0; ty < tiles_y; ty++)
        for (size_t tx = 0; tx < tiles_x; tx++) {
            for (size_t y = 0; y < th; y++)
                for (size_t x = 0; x < tw; x++)
                    tile[y * tw + x] = p->samples[from_y[ty * th + y] * p->width + from_x[tx * tw + x]];
            oracle_tile(p->type, tile, tw * th, clip, luts + (ty * tiles_x + tx) * bins);
        }
    const float inverse_x = 1.0f / (float)tw, inverse_y = 1.0f / (float)th;
    for (size_t y = 0; y < p->height; y++)
        for (size_t x = 0; x < p->width; x++) {
            volatile float at_x = (float)x * inverse_x, at_y = (float)y * inverse_y;
            volatile float xf = at_x - 0.5f, yf = at_y - 0.5f;
            long left = (long)floorf(xf), top = (long)floorf(yf);
            size_t x1 = clamped(left, tiles_x), x2 = clamped(left + 1, tiles_x);
            size_t y1 = clamped(top, tiles_y), y2 = clamped(top + 1, tiles_y);
            const uint32_t *const four[4] = {luts + (y1 * tiles_x + x1) * bins, luts + (y1 * tiles_x + x2) * bins,
                                             luts + (y2 * tiles_x + x1) * bins, luts + (y2 * tiles_x + x2) * bins};
            uint32_t *sample = &p->samples[y * p->width + x];
            *sample = blend(four, *sample, xf - (float)left, yf - (float)top, (uint32_t)bins - 1);
        }
    free(from_x);
    free(from_y);
    free(luts);
    free(tile);
}

static int64_t descale(int64_t v) { return (int64_t)floor((double)(v + 8192) / 16384); }

static int64_t clamp(int64_t v, int64_t top) { return v < 0 ? 0 : v > top ? top : v; }

/* The whole image: grey, the luma, or channel by channel. */
static void oracle_image(scan_type type, const void *in, void *out, size_t width, size_t height, unsigned channels,
                         scan_color color, double clip, size_t tiles_x, size_t tiles_y) {
    const size_t n = width * height;
    const int64_t top = (int64_t)bins_of(type) - 1, half = (top + 1) / 2;
    plane p = {type, width, height, malloc((n + 1) * sizeof *p.samples)};
    memcpy(out, in, n * channels * scan_type_size(type));
    if (channels >= 3 && color != SCAN_COLOR_CHANNELS) {
        for (size_t i = 0; i < n; i++)
            p.samples[i] = (uint32_t)descale(4899 * (int64_t)sample_get(type, in, i * channels) +
                                             9617 * (int64_t)sample_get(type, in, i * channels + 1) +
                                             1868 * (int64_t)sample_get(type, in, i * channels + 2));
        uint32_t *before = malloc((n + 1) * sizeof *before);
        memcpy(before, p.samples, n * sizeof *before);
        oracle_clahe(&p, clip, tiles_x, tiles_y);
        for (size_t i = 0; i < n; i++) {
            int64_t y = before[i], to = p.samples[i];
            int64_t cr = clamp(descale(11682 * (sample_get(type, in, i * channels) - y)) + half, top) - half;
            int64_t cb = clamp(descale(9241 * (sample_get(type, in, i * channels + 2) - y)) + half, top) - half;
            sample_set(type, out, i * channels, (uint32_t)clamp(to + descale(22987 * cr), top));
            sample_set(type, out, i * channels + 1, (uint32_t)clamp(to + descale(-11698 * cr - 5636 * cb), top));
            sample_set(type, out, i * channels + 2, (uint32_t)clamp(to + descale(29049 * cb), top));
        }
        free(before);
    } else {
        for (unsigned c = 0; c < (channels >= 3 ? 3 : 1); c++) {
            for (size_t i = 0; i < n; i++)
                p.samples[i] = sample_get(type, in, i * channels + c);
            oracle_clahe(&p, clip, tiles_x, tiles_y);
            for (size_t i = 0; i < n; i++)
                sample_set(type, out, i * channels + c, p.samples[i]);
        }
    }
    free(p.samples);
}

typedef struct call {
    scan_type type;
    unsigned channels;
    size_t width, height;
    scan_color color;
    double clip;
    uint32_t tiles_x, tiles_y;
    picture kind;
} call;

/* Out of place between guard pages, then in place. */
static void check(scan_ctx *ctx, call c) {
    size_t n = c.width * c.height, bytes = n * c.channels * scan_type_size(c.type);
    guarded source = guarded_create(bytes), result = guarded_create(bytes);
    void *in = guarded_end(source, bytes), *out = guarded_end(result, bytes), *expected = malloc(bytes);
    fill_picture(c.kind, c.type, in, n * c.channels, n + c.tiles_x);
    oracle_image(c.type, in, expected, c.width, c.height, c.channels, c.color, c.clip ? c.clip : 2.0,
                 c.tiles_x ? c.tiles_x : 8, c.tiles_y ? c.tiles_y : 8);
    scan_equalize_desc desc = {.struct_size = sizeof desc,
                               .type = c.type,
                               .channels = c.channels,
                               .color = c.color,
                               .clip = c.clip,
                               .tiles_x = c.tiles_x,
                               .tiles_y = c.tiles_y};
    assert_int_equal(scan_clahe(ctx, &desc, in, out, c.width, c.height), SCAN_OK);
    assert_memory_equal(out, expected, bytes);
    assert_int_equal(scan_clahe(ctx, &desc, in, in, c.width, c.height), SCAN_OK);
    assert_memory_equal(in, expected, bytes);
    free(expected);
    guarded_destroy(source);
    guarded_destroy(result);
}

static const double clips[] = {0, 0.5, 1, 2.5, 7.3, 40, -1, 1e300};

static void every_small_size(void **state) {
    (void)state;
    scan_ctx *ctx = context_with_threads(2);
    for (size_t width = 1; width <= 130; width += ONLY_THREADS ? 13 : width < 20 ? 1 : 7)
        for (size_t height = 1; height <= 130; height += height < 10 ? 1 : 11) {
            uint32_t pick = (uint32_t)(width * 31 + height);
            check(ctx, (call){SCAN_U8, pick % 4 + 1, width, height, (scan_color)(pick / 4 % 3),
                              clips[pick % (sizeof clips / sizeof clips[0])], pick % 9, pick / 9 % 9,
                              (picture)(pick % PICTURES)});
        }
    scan_ctx_destroy(ctx);
}

static void every_clip_and_picture(void **state) {
    (void)state;
    scan_ctx *ctx = context_with_threads(2);
    for (size_t k = 0; k < sizeof clips / sizeof clips[0]; k++)
        for (int kind = ONLY_THREADS ? (int)k % PICTURES : 0; kind < PICTURES; kind += ONLY_THREADS ? PICTURES : 1) {
            check(ctx, (call){SCAN_U8, 1, 160, 96, SCAN_COLOR_AUTO, clips[k], 8, 8, (picture)kind});
            check(ctx, (call){SCAN_U8, 1, 163, 97, SCAN_COLOR_AUTO, clips[k], 4, 3, (picture)kind});
            check(ctx, (call){SCAN_U16, 1, 81, 64, SCAN_COLOR_AUTO, clips[k], 2, 2, (picture)kind});
        }
    scan_ctx_destroy(ctx);
}

static void channels_and_colors(void **state) {
    (void)state;
    scan_ctx *ctx = context_with_threads(2);
    for (unsigned channels = 1; channels <= 4; channels++)
        for (int color = 0; color < 3; color++) {
            check(ctx, (call){SCAN_U8, channels, 77, 53, (scan_color)color, 3, 5, 4, SKEWED});
            check(ctx, (call){SCAN_U16, channels, 61, 43, (scan_color)color, 3, 2, 3, UNIFORM});
        }
    scan_ctx_destroy(ctx);
}

/* Images smaller than the grid: the image is reflected again and again. */
static void smaller_than_the_grid(void **state) {
    (void)state;
    scan_ctx *ctx = context_with_threads(3);
    for (size_t side = 1; side <= 9; side += 1 + 3 * ONLY_THREADS) {
        check(ctx, (call){SCAN_U8, 1, side, 1, SCAN_COLOR_AUTO, 2, 16, 7, UNIFORM});
        check(ctx, (call){SCAN_U8, 1, 2, side, SCAN_COLOR_AUTO, 2, 13, 29, UNIFORM});
        check(ctx, (call){SCAN_U16, 1, side, 3, SCAN_COLOR_AUTO, 2, 4, 5, UNIFORM});
    }
    scan_ctx_destroy(ctx);
}

static void threads(void **state) {
    (void)state;
    static const uint32_t counts[] = {1, 2, 3, 7};
    for (size_t t = ONLY_THREADS; t < sizeof counts / sizeof counts[0]; t++) {
        scan_ctx *ctx = context_with_threads(counts[t]);
        check(ctx, (call){SCAN_U8, 1, 640, 479, SCAN_COLOR_AUTO, 2, 8, 8, LOW_CONTRAST});
        check(ctx, (call){SCAN_U8, 3, 321, 240, SCAN_COLOR_AUTO, 2, 3, 8, SKEWED});
        check(ctx, (call){SCAN_U8, 1, 517, 512, SCAN_COLOR_AUTO, 2, 1, 1, GRADIENT});
        check(ctx, (call){SCAN_U16, 4, 100, 75, SCAN_COLOR_CHANNELS, 2, 2, 1, RUNS});
        scan_ctx_destroy(ctx);
    }
}

/* One tile of 2 x 2: h = 1 at 10, 1 at 20, 2 at 30; clip 128 makes the limit 128 * 4 / 256 = 2: nothing is clipped, and
 * C * 255 / 4 is 63.75, 127.5 (to even: 128), 255. With clip 64 the limit is 1: the one count above it goes to bin 0,
 * and C is 1 up to bin 9, 2 at 10, 3 at 20, 4 at 30. */
static void by_hand(void **state) {
    (void)state;
    scan_ctx *ctx = context_with_threads(1);
    const uint8_t in[4] = {10, 20, 30, 30}, loose[4] = {64, 128, 255, 255}, tight[4] = {128, 191, 255, 255};
    uint8_t out[4];
    scan_equalize_desc desc = {.struct_size = sizeof desc, .type = SCAN_U8, .tiles_x = 1, .tiles_y = 1, .clip = 128};
    assert_int_equal(scan_clahe(ctx, &desc, in, out, 2, 2), SCAN_OK);
    assert_memory_equal(out, loose, 4);
    desc.clip = 64;
    assert_int_equal(scan_clahe(ctx, &desc, in, out, 2, 2), SCAN_OK);
    assert_memory_equal(out, tight, 4);
    scan_ctx_destroy(ctx);
}

/* A tile of more pixels than 32-bit counters hold. The pattern repeats, so the table of the large tile is that of one
 * repeat: each bin has the same share of the pixels. */
static void large_tile(void **state) {
    (void)state;
    if (SLOW_BUILD || !is_highest_level())
        skip();
    const size_t width = 1 << 16, rows = 256, unit = width * rows, height = rows * 65;
    repeated in = repeated_create(unit, width * height), out = repeated_create(unit, width * height);
    if (!in.memory || !out.memory)
        skip();
    uint8_t *once = malloc(unit);
    fill_picture(LOW_CONTRAST, SCAN_U8, in.memory, unit, 1);
    scan_ctx *ctx = context_with_threads(0);
    scan_equalize_desc desc = {.struct_size = sizeof desc, .type = SCAN_U8, .tiles_x = 1, .tiles_y = 1, .clip = -1};
    assert_int_equal(scan_clahe(ctx, &desc, in.memory, out.memory, width, height), SCAN_OK);
    assert_int_equal(scan_clahe(ctx, &desc, in.memory, once, width, rows), SCAN_OK);
    for (size_t i = 0; i < unit; i++) /* float32 sums of 65 times as many pixels round a little differently */
        if (abs(out.memory[i] - once[i]) > 1)
            assert_int_equal(out.memory[i], once[i]);
    scan_ctx_destroy(ctx);
    free(once);
    repeated_destroy(in);
    repeated_destroy(out);
}

static void errors(void **state) {
    (void)state;
    scan_ctx *ctx = context_with_threads(1);
    static uint16_t in[256], out[256];
    const scan_equalize_desc good = {.struct_size = sizeof good, .type = SCAN_U16};
    scan_equalize_desc d = good;
    assert_int_equal(scan_clahe(ctx, &d, in, out, 8, 8), SCAN_OK);
    assert_int_equal(scan_clahe(NULL, &d, in, out, 8, 8), SCAN_ERR_ARGUMENT);
    assert_int_equal(scan_clahe(ctx, NULL, in, out, 8, 8), SCAN_ERR_ARGUMENT);
    assert_int_equal(scan_clahe(ctx, &d, NULL, out, 8, 8), SCAN_ERR_ARGUMENT);
    assert_int_equal(scan_clahe(ctx, &d, in, NULL, 8, 8), SCAN_ERR_ARGUMENT);
    assert_int_equal(scan_clahe(ctx, &d, in, in + 1, 8, 8), SCAN_ERR_OVERLAP);
    assert_int_equal(scan_clahe(ctx, &d, in, (char *)out + 1, 8, 8), SCAN_ERR_ALIGNMENT);
    assert_int_equal(scan_clahe(ctx, &d, in, out, SIZE_MAX, 2), SCAN_ERR_ARGUMENT);
    assert_int_equal(scan_clahe(ctx, &d, in, out, (size_t)1 << 32, (size_t)1 << 32), SCAN_ERR_ARGUMENT);
    d.channels = 4; /* width * height fits in size_t, width * height * channels does not */
    assert_int_equal(scan_clahe(ctx, &d, in, out, (size_t)1 << 31, (size_t)1 << 31), SCAN_ERR_ARGUMENT);
    d = good, d.channels = 5;
    assert_int_equal(scan_clahe(ctx, &d, in, out, 8, 8), SCAN_ERR_ARGUMENT);
    d = good, d.clip = (double)NAN;
    assert_int_equal(scan_clahe(ctx, &d, in, out, 8, 8), SCAN_ERR_ARGUMENT);
    d = good, d.clip = (double)INFINITY;
    assert_int_equal(scan_clahe(ctx, &d, in, out, 8, 8), SCAN_OK);
    d = good, d.tiles_x = UINT32_MAX, d.tiles_y = UINT32_MAX;
    assert_int_equal(scan_clahe(ctx, &d, in, out, 8, 8), SCAN_ERR_ARGUMENT);
    d = good, d.reserved = 1;
    assert_int_equal(scan_clahe(ctx, &d, in, out, 8, 8), SCAN_ERR_ARGUMENT);
    d = good, d.color = (scan_color)9;
    assert_int_equal(scan_clahe(ctx, &d, in, out, 8, 8), SCAN_ERR_ARGUMENT);
    d = good, d.type = SCAN_U32;
    assert_int_equal(scan_clahe(ctx, &d, in, out, 8, 8), SCAN_ERR_TYPE);
    d = good, d.struct_size = 0;
    assert_int_equal(scan_clahe(ctx, &d, in, out, 8, 8), SCAN_ERR_VERSION);
    assert_int_equal(scan_clahe(ctx, &good, NULL, NULL, 0, 8), SCAN_OK);
    assert_int_equal(scan_clahe(ctx, &good, NULL, NULL, 8, 0), SCAN_OK);

    size_t bytes;
    assert_int_equal(scan_clahe_workspace(ctx, &good, 8, 8, &bytes), SCAN_OK);
    assert_int_equal(scan_clahe_workspace(ctx, &good, SIZE_MAX, 8, &bytes), SCAN_ERR_ARGUMENT);
    assert_int_equal(scan_clahe_workspace(ctx, &good, 8, 8, &bytes), SCAN_OK);
    void *memory = aligned_alloc(256, (bytes + 255) / 256 * 256);
    assert_int_equal(scan_ctx_lend(ctx, memory, bytes), SCAN_OK);
    assert_int_equal(scan_clahe(ctx, &good, in, out, 8, 8), SCAN_OK);
    assert_int_equal(scan_ctx_lend(ctx, memory, bytes - 1), SCAN_OK);
    assert_int_equal(scan_clahe(ctx, &good, in, out, 8, 8), SCAN_ERR_WORKSPACE);
    scan_ctx_destroy(ctx);
    free(memory);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_small_size),
        cmocka_unit_test(every_clip_and_picture),
        cmocka_unit_test(channels_and_colors),
        cmocka_unit_test(smaller_than_the_grid),
        cmocka_unit_test(threads),
        cmocka_unit_test(by_hand),
        cmocka_unit_test(large_tile),
        cmocka_unit_test(errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
