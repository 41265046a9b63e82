/* SPDX-License-Identifier: MIT
 *
 * scan_equalize against the formulas of scan.h written a second time, plainly: one histogram, one running sum, one
 * pixel at a time.
 */
#include <math.h>
#include <stdbool.h>

#include "image_support.h"
#include "tests/equalize_parts.h"

typedef struct image {
    scan_type type;
    unsigned channels;
    size_t n;
    const void *samples;
    const uint8_t *mask;
} image;

static int64_t descale(int64_t v) { return (v + 8192 - (((v + 8192) % 16384 + 16384) % 16384)) / 16384; }

static int64_t clamp(int64_t v, int64_t top) { return v < 0 ? 0 : v > top ? top : v; }

static uint32_t channel_of(const image *im, size_t i, unsigned c) {
    return sample_get(im->type, im->samples, i * im->channels + c);
}

static int64_t y_of(const image *im, size_t i) {
    return descale(4899 * (int64_t)channel_of(im, i, 0) + 9617 * (int64_t)channel_of(im, i, 1) +
                   1868 * (int64_t)channel_of(im, i, 2));
}

static uint32_t rec709_of(const image *im, size_t i) {
    double scale = im->type == SCAN_U8 ? 257 : 1;
    double luma = 0.212656 * (scale * channel_of(im, i, 0)) + 0.715158 * (scale * channel_of(im, i, 1)) +
                  0.072186 * (scale * channel_of(im, i, 2));
    return (uint32_t)floor(luma + 0.5);
}

/* h has `bins` bins; lut has bins_of(type) entries. */
static void oracle_lut(scan_like like, scan_type type, const uint64_t *h, size_t bins, uint32_t largest,
                       uint32_t *lut) {
    const size_t entries = bins_of(type);
    const uint64_t top = entries - 1;
    uint64_t *sums = malloc(bins * sizeof *sums), total = 0;
    size_t first = bins, last = 0, levels = 0;
    for (size_t i = 0; i < bins; i++) {
        sums[i] = total += h[i];
        if (h[i]) {
            first = first == bins ? i : first;
            last = i;
            levels++;
        }
    }
    for (size_t i = 0; i < entries; i++)
        lut[i] = (uint32_t)i;
    uint64_t step = levels ? (total - h[last]) / top : 0;
    for (size_t i = 0; i < entries && total; i++) {
        size_t bin = bins > entries ? 257 * i : i;
        uint64_t before = i ? sums[bin - 1] : 0;
        switch (like) {
        case SCAN_LIKE_OPENCV:
            if (levels > 1) {
                volatile float scale = (float)top / (float)(total - h[first]);
                volatile float value = (float)(sums[i] > h[first] ? sums[i] - h[first] : 0) * scale;
                lut[i] = (uint32_t)clamp((int64_t)nearbyint((double)value), (int64_t)top);
            }
            break;
        case SCAN_LIKE_PILLOW:
            if (levels > 1 && step)
                lut[i] = (uint32_t)clamp((int64_t)((step / 2 + before) / step), (int64_t)top);
            break;
        case SCAN_LIKE_IMAGEMAGICK:
            if (total != h[0]) {
                volatile double share = 65535.0 * (double)(sums[bin] - h[0]);
                share = share / (double)(total - h[0]);
                lut[i] = (uint32_t)floor(share + 0.5) / (type == SCAN_U8 ? 257 : 1);
            }
            break;
        case SCAN_LIKE_VIPS: {
            volatile float scale = (float)((type == SCAN_U8 ? 255.0 : largest) / (double)total);
            volatile float value = scale * (float)sums[i];
            lut[i] = (uint32_t)clamp((int64_t)floorf(value), (int64_t)top);
            break;
        }
        case SCAN_LIKE_SKIMAGE: lut[i] = (uint32_t)nearbyint((double)top * ((double)sums[i] / (double)total)); break;
        }
    }
    free(sums);
}

static bool is_luma(const image *im, scan_like like, scan_color color) {
    if (im->channels < 3)
        return false;
    return color == SCAN_COLOR_LUMA || (color == SCAN_COLOR_AUTO && like != SCAN_LIKE_PILLOW && like != SCAN_LIKE_VIPS);
}

/* Returns the number of tables; luts has room for three of 65,536 entries. */
static unsigned oracle_luts(const image *im, scan_like like, scan_color color, uint32_t *luts) {
    bool luma = is_luma(im, like, color), rec709 = luma && like == SCAN_LIKE_IMAGEMAGICK;
    unsigned tables = im->channels >= 3 && !luma ? 3 : 1;
    size_t bins = rec709 ? 65536 : bins_of(im->type);
    uint32_t largest = 0;
    for (size_t i = 0; i < im->n; i++)
        for (unsigned c = 0; c < (luma ? 1 : im->channels); c++) {
            uint32_t value = luma ? (uint32_t)y_of(im, i) : channel_of(im, i, c);
            if ((!im->mask || im->mask[i]) && value > largest)
                largest = value;
        }
    uint64_t *h = malloc(bins * sizeof *h);
    for (unsigned t = 0; t < tables; t++) {
        memset(h, 0, bins * sizeof *h);
        for (size_t i = 0; i < im->n; i++)
            if (!im->mask || im->mask[i])
                h[rec709 ? rec709_of(im, i) : luma ? (uint32_t)y_of(im, i) : channel_of(im, i, t)]++;
        oracle_lut(like, im->type, h, bins, largest, luts + t * bins_of(im->type));
    }
    free(h);
    return tables;
}

static void oracle_map(const image *im, scan_like like, scan_color color, const uint32_t *luts, unsigned tables,
                       void *out) {
    const int64_t top = (int64_t)bins_of(im->type) - 1, half = (top + 1) / 2;
    const unsigned colors = im->channels >= 3 ? 3 : 1;
    for (size_t i = 0; i < im->n; i++) {
        int64_t pixel[4];
        for (unsigned c = 0; c < im->channels; c++) {
            pixel[c] = channel_of(im, i, c);
            if (c < colors)
                pixel[c] = luts[(tables == 3 ? c : 0) * bins_of(im->type) + (size_t)pixel[c]];
        }
        if (is_luma(im, like, color) && like != SCAN_LIKE_IMAGEMAGICK) {
            int64_t y = y_of(im, i), to = luts[y];
            int64_t cr = clamp(descale(11682 * (channel_of(im, i, 0) - y)) + half, top) - half;
            int64_t cb = clamp(descale(9241 * (channel_of(im, i, 2) - y)) + half, top) - half;
            pixel[0] = clamp(to + descale(22987 * cr), top);
            pixel[1] = clamp(to + descale(-11698 * cr - 5636 * cb), top);
            pixel[2] = clamp(to + descale(29049 * cb), top);
        }
        for (unsigned c = 0; c < im->channels; c++)
            sample_set(im->type, out, i * im->channels + c, (uint32_t)pixel[c]);
    }
}

typedef struct arrays {
    void *in, *out, *expected, *luts;
    uint32_t *oracle;
    uint8_t *mask;
    guarded guards[4];
} arrays;

static arrays arrays_create(const image *im, picture kind) {
    size_t bytes = im->n * im->channels * scan_type_size(im->type),
           table = bins_of(im->type) * scan_type_size(im->type);
    arrays a;
    for (int i = 0; i < 4; i++)
        a.guards[i] = guarded_create((i == 3 ? 3 * table : i == 2 ? im->n : bytes) + 1);
    a.in = guarded_end(a.guards[0], bytes);
    a.out = guarded_end(a.guards[1], bytes);
    a.mask = guarded_end(a.guards[2], im->n);
    a.luts = guarded_end(a.guards[3], 3 * table);
    a.expected = malloc(bytes + 1);
    a.oracle = malloc(3 * 65536 * sizeof *a.oracle);
    uint64_t seed = im->n * 4 + im->channels;
    fill_picture(kind, im->type, a.in, im->n * im->channels, seed);
    for (size_t i = 0; i < im->n; i++)
        a.mask[i] = (uint8_t)(random_u64(&seed) % 3 * 99);
    return a;
}

static void arrays_destroy(arrays *a) {
    for (int i = 0; i < 4; i++)
        guarded_destroy(a->guards[i]);
    free(a->expected);
    free(a->oracle);
}

/* One image through one formula: out of place with tables, then in place without. */
static void check_call(scan_ctx *ctx, const image *im, scan_like like, scan_color color, arrays *a) {
    size_t size = scan_type_size(im->type), bytes = im->n * im->channels * size;
    unsigned tables = oracle_luts(im, like, color, a->oracle);
    oracle_map(im, like, color, a->oracle, tables, a->expected);
    scan_equalize_desc desc = {.struct_size = sizeof desc,
                               .type = im->type,
                               .channels = im->channels,
                               .like = like,
                               .color = color,
                               .mask = im->mask};
    memset(a->out, 0x5a, bytes);
    assert_int_equal(scan_equalize(ctx, &desc, a->in, a->out, a->luts, im->n), SCAN_OK);
    for (size_t i = 0; i < tables * bins_of(im->type); i++)
        assert_int_equal(sample_get(im->type, a->luts, i), a->oracle[i]);
    assert_memory_equal(a->out, a->expected, bytes);
    memcpy(a->out, a->in, bytes);
    assert_int_equal(scan_equalize(ctx, &desc, a->out, a->out, NULL, im->n), SCAN_OK);
    assert_memory_equal(a->out, a->expected, bytes);
}

static void check_image(scan_ctx *ctx, scan_type type, unsigned channels, picture kind, size_t n, unsigned likes) {
    image im = {.type = type, .channels = channels, .n = n};
    arrays a = arrays_create(&im, kind);
    im.samples = a.in;
    for (int like = SCAN_LIKE_OPENCV; like <= SCAN_LIKE_SKIMAGE; like++)
        for (int color = SCAN_COLOR_AUTO; color <= (channels >= 3 ? SCAN_COLOR_CHANNELS : SCAN_COLOR_AUTO); color++)
            for (unsigned masked = 0; likes >> like & 1 && masked < 2; masked++) {
                if (ONLY_THREADS && masked != (n + channels + (unsigned)color) % 2) /* threads do the same with both */
                    continue;
                im.mask = masked ? a.mask : NULL;
                check_call(ctx, &im, (scan_like)like, (scan_color)color, &a);
            }
    arrays_destroy(&a);
}

enum { ALL_LIKES = 31 };

static void every_small_size(void **state) {
    (void)state;
    scan_ctx *ctx = context_with_threads(2);
    for (size_t n = 0; n <= 130; n += ONLY_THREADS ? 65 : FEWER && n >= 70 ? 7 : 1)
        for (unsigned channels = 1; channels <= 4; channels++)
            check_image(ctx, SCAN_U8, channels, (picture)((n + channels) % PICTURES), n,
                        n < 20 ? ALL_LIKES : 1u << n % 5);
    for (size_t n = 0; n <= 130; n += ONLY_THREADS ? 65 : 1 + n / 12)
        check_image(ctx, SCAN_U16, (unsigned)(n % 4) + 1, (picture)(n % PICTURES), n, 1u << n % 5);
    scan_ctx_destroy(ctx);
}

static void every_picture(void **state) {
    (void)state;
    scan_ctx *ctx = context_with_threads(2);
    for (int kind = 0; kind < PICTURES; kind++)
        for (unsigned channels = 1; channels <= 4; channels++) {
            const unsigned one = 1u << kind % 5;
            if (ONLY_THREADS && channels != 1 + (unsigned)kind % 4) /* threads do the same with every number */
                continue;
            check_image(ctx, SCAN_U8, channels, (picture)kind, 10007, FEWER ? one : ALL_LIKES);
            check_image(ctx, SCAN_U16, channels, (picture)kind, 5003, FEWER || channels > 1 ? one : ALL_LIKES);
        }
    scan_ctx_destroy(ctx);
}

static void switches_and_threads(void **state) {
    (void)state;
    static const size_t sizes[] = {2047, 2048, 2049, 32767, 32769, 65535, 65537, 131073, 263001};
    static const uint32_t threads[] = {1, 2, 3, 7};
    for (size_t t = ONLY_THREADS; t < sizeof threads / sizeof threads[0]; t++) {
        scan_ctx *ctx = context_with_threads(threads[t]);
        for (size_t s = ONLY_THREADS ? 4 + t % 2 : 0; s < sizeof sizes / sizeof sizes[0]; s += 1 + ONLY_THREADS) {
            check_image(ctx, SCAN_U8, 1, (picture)((s + t) % PICTURES), sizes[s], 1u << (s + t) % 5);
            check_image(ctx, SCAN_U8, (unsigned)(s + t) % 3 + 2, (picture)(s % PICTURES), sizes[s], 1u << (s + t) % 5);
        }
        check_image(ctx, SCAN_U16, 1, LOW_CONTRAST, 70001, 1u << t);
        check_image(ctx, SCAN_U16, 4, UNIFORM, 70001, 1u << t);
        scan_ctx_destroy(ctx);
    }
}

/* Large enough for streaming stores, with the output at every address modulo 64. */
static void streamed(void **state) {
    (void)state;
    enum { BYTES = (8 << 20) + 7919, SPARE = 64 };
    uint8_t *in = malloc(BYTES), *expected = malloc(BYTES), *out = malloc(BYTES + SPARE), luts[3 * 256], first[3 * 256];
    scan_ctx *ctx = context_with_threads(2);
    fill_picture(SKEWED, SCAN_U8, in, BYTES, 3);
    for (unsigned channels = 1; channels <= 4; channels++) {
        scan_equalize_desc desc = {
            .struct_size = sizeof desc, .type = SCAN_U8, .channels = channels, .color = SCAN_COLOR_CHANNELS};
        for (size_t offset = 0; offset < 64; offset += ONLY_THREADS ? 64 : SLOW_BUILD ? 21 : channels == 1 ? 1 : 7) {
            const size_t n = BYTES / channels, colors = channels >= 3 ? 3 : 1, tables = colors * 256;
            memset(out, 0x5a, BYTES + SPARE);
            assert_int_equal(scan_equalize(ctx, &desc, in, out + offset, luts, n), SCAN_OK);
            if (offset == 0) {
                memcpy(first, luts, tables);
                for (size_t i = 0; i < n * channels; i++) {
                    const size_t c = i % channels;
                    expected[i] = c >= colors ? in[i] : luts[256 * (colors == 3 ? c : 0) + in[i]];
                }
            }
            assert_memory_equal(luts, first, tables);
            assert_true(memcmp(out + offset, expected, n * channels) == 0);
            for (size_t i = 0; i < offset; i++)
                assert_int_equal(out[i], 0x5a);
            for (size_t i = offset + n * channels; i < BYTES + SPARE; i++)
                assert_int_equal(out[i], 0x5a);
        }
    }
    scan_ctx_destroy(ctx);
    free(in);
    free(expected);
    free(out);
}

/* Small cases worked out by hand. */
static void by_hand(void **state) {
    (void)state;
    scan_ctx *ctx = context_with_threads(1);
    const uint8_t in[6] = {10, 10, 20, 30, 30, 30};
    uint8_t out[6];
    scan_equalize_desc desc = {.struct_size = sizeof desc, .type = SCAN_U8};
    /* h[10] = 2 is dropped: 1 and 4 of 4 give 255 / 4 = 63.75 and 255. */
    const uint8_t opencv[6] = {0, 0, 64, 255, 255, 255};
    assert_int_equal(scan_equalize(ctx, &desc, in, out, NULL, 6), SCAN_OK);
    assert_memory_equal(out, opencv, 6);
    /* (6 - 3) / 255 is 0: unchanged. */
    desc.like = SCAN_LIKE_PILLOW;
    assert_int_equal(scan_equalize(ctx, &desc, in, out, NULL, 6), SCAN_OK);
    assert_memory_equal(out, in, 6);
    /* C[0] = 0; 2/6, 3/6 and 6/6 of 65535: 21845, 32768 (32767.5 rounded), 65535; over 257: 85, 127, 255. */
    desc.like = SCAN_LIKE_IMAGEMAGICK;
    const uint8_t imagemagick[6] = {85, 85, 127, 255, 255, 255};
    assert_int_equal(scan_equalize(ctx, &desc, in, out, NULL, 6), SCAN_OK);
    assert_memory_equal(out, imagemagick, 6);
    /* 255 / 6 = 42.5 times 2, 3, 6: 85, 127.5, 255. */
    desc.like = SCAN_LIKE_VIPS;
    const uint8_t vips[6] = {85, 85, 127, 255, 255, 255};
    assert_int_equal(scan_equalize(ctx, &desc, in, out, NULL, 6), SCAN_OK);
    assert_memory_equal(out, vips, 6);
    /* The same, half to even. */
    desc.like = SCAN_LIKE_SKIMAGE;
    const uint8_t skimage[6] = {85, 85, 128, 255, 255, 255};
    assert_int_equal(scan_equalize(ctx, &desc, in, out, NULL, 6), SCAN_OK);
    assert_memory_equal(out, skimage, 6);
    /* Pillow where it does change: 255 zeros, 255 fives, one nine: step = 510 / 255 = 2; (1 + C[i-1]) / 2. */
    uint8_t many[511], mapped[511];
    for (int i = 0; i < 511; i++)
        many[i] = i < 255 ? 0 : i < 510 ? 5 : 9;
    desc.like = SCAN_LIKE_PILLOW;
    assert_int_equal(scan_equalize(ctx, &desc, many, mapped, NULL, 511), SCAN_OK);
    assert_int_equal(mapped[0], 0);
    assert_int_equal(mapped[300], 128);
    assert_int_equal(mapped[510], 255);
    /* Nothing under the mask: unchanged. */
    const uint8_t nothing[6] = {0};
    desc.mask = nothing;
    for (int like = SCAN_LIKE_OPENCV; like <= SCAN_LIKE_SKIMAGE; like++) {
        desc.like = (scan_like)like;
        assert_int_equal(scan_equalize(ctx, &desc, in, out, NULL, 6), SCAN_OK);
        assert_memory_equal(out, in, 6);
    }
    scan_ctx_destroy(ctx);
}

/* More than 2^32 pixels of a repeated pattern have the tables of one repeat. The output's memory may repeat too,
 * because equal pixels map to equal pixels. */
static void beyond_32_bits(void **state) {
    (void)state;
    if (SLOW_BUILD || !is_highest_level())
        skip();
    const size_t unit = 16 << 20, repeats = 257, n = unit * repeats;
    repeated in = repeated_create(unit, n), out = repeated_create(unit, n);
    if (!in.memory || !out.memory)
        skip();
    uint8_t *once = malloc(unit);
    fill_picture(LOW_CONTRAST, SCAN_U8, in.memory, unit, 1);
    scan_ctx *ctx = context_with_threads(0);
    scan_equalize_desc desc = {.struct_size = sizeof desc, .type = SCAN_U8, .like = SCAN_LIKE_IMAGEMAGICK};
    assert_int_equal(scan_equalize(ctx, &desc, in.memory, out.memory, NULL, n), SCAN_OK);
    assert_int_equal(scan_equalize(ctx, &desc, in.memory, once, NULL, unit), SCAN_OK);
    assert_memory_equal(out.memory, once, unit);
    scan_ctx_destroy(ctx);
    free(once);
    repeated_destroy(in);
    repeated_destroy(out);
}

/* Tables of two parts together are those of the whole, whose formulas the tests above check. */
static void in_parts(void **state) {
    (void)state;
    enum { N = 5003 };
    static uint16_t in[4 * N], whole[4 * N], parts[4 * N], luts[3 * 65536], part_luts[3 * 65536];
    static uint8_t mask[N];
    scan_ctx *ctx = context_with_threads(2);
    for (unsigned k = 0; k < 2 * 5 * 4 * 2; k += ONLY_THREADS ? 7 : 1) {
        const scan_type type = k % 2 ? SCAN_U16 : SCAN_U8;
        const uint32_t channels = 1 + k / 10 % 4;
        scan_equalize_desc d = {
            .struct_size = sizeof d, .type = type, .channels = channels, .mask = k % 3 ? NULL : mask};
        d.like = (scan_like)(k / 2 % 5);
        d.color = k / 40 ? SCAN_COLOR_CHANNELS : SCAN_COLOR_LUMA;
        fill_picture((picture)(k % PICTURES), type, in, N * channels, k);
        for (size_t i = 0; i < N; i++)
            mask[i] = (uint8_t)(i % (2 + k) == 0 ? k : 0);
        memset(luts, 0, sizeof luts);
        memset(part_luts, 0, sizeof part_luts);
        assert_int_equal(scan_equalize(ctx, &d, in, whole, luts, N), SCAN_OK);
        const size_t tables = channels >= 3 && k / 40 ? 3 : 1,
                     lut_bytes = tables * bins_of(type) * scan_type_size(type);
        assert_int_equal(equalize_in_parts(ctx, &d, in, parts, part_luts, lut_bytes, N, k % 7 ? N / 3 : 0), SCAN_OK);
        assert_memory_equal(parts, whole, N * channels * scan_type_size(type));
        assert_memory_equal(part_luts, luts, lut_bytes);
    }
    scan_ctx_destroy(ctx);
}

static void bins_errors(scan_ctx *ctx) {
    static uint64_t bins[65536];
    static uint8_t in[600], out[600];
    const scan_equalize_desc good = {.struct_size = sizeof good, .type = SCAN_U8};
    scan_equalize_desc d = good;
    size_t count;
    assert_int_equal(scan_equalize_bins(&d, &count), SCAN_OK);
    assert_int_equal(count, 256);
    assert_int_equal(scan_equalize_bins(&d, NULL), SCAN_ERR_ARGUMENT);
    assert_int_equal(scan_equalize_bins(NULL, &count), SCAN_ERR_ARGUMENT);
    d.bins_out = bins;
    assert_int_equal(scan_equalize(ctx, &d, in, NULL, NULL, 600), SCAN_OK);
    assert_int_equal(bins[0], 600);
    assert_int_equal(scan_equalize(ctx, &d, in, NULL, out, 256), SCAN_ERR_ARGUMENT); /* tables without a map */
    assert_int_equal(scan_equalize(ctx, &d, (uint8_t *)bins + 2040, NULL, NULL, 600), SCAN_ERR_OVERLAP);
    assert_int_equal(scan_equalize(ctx, &d, NULL, NULL, NULL, 0), SCAN_OK);
    assert_int_equal(bins[0], 0);
    d.bins_out = (uint64_t *)(void *)((uint8_t *)bins + 1);
    assert_int_equal(scan_equalize(ctx, &d, in, out, NULL, 600), SCAN_ERR_ALIGNMENT);
    d = good, d.bins_in = bins;
    assert_int_equal(scan_equalize(ctx, &d, in, (uint8_t *)bins, NULL, 600), SCAN_ERR_OVERLAP);
    assert_int_equal(scan_equalize(ctx, &d, in, NULL, NULL, 600), SCAN_ERR_ARGUMENT);
    d.bins_out = bins + 1;
    assert_int_equal(scan_equalize(ctx, &d, in, out, NULL, 600), SCAN_ERR_OVERLAP);
    d.bins_out = bins;
    bins[5] = 7;
    assert_int_equal(scan_equalize(ctx, &d, in, out, NULL, 600), SCAN_OK);
    assert_int_equal(bins[5], 7);
}

static void errors(void **state) {
    (void)state;
    scan_ctx *ctx = context_with_threads(1);
    static uint16_t in[256], out[256], luts[3 * 65536];
    const scan_equalize_desc good = {.struct_size = sizeof good, .type = SCAN_U16};
    scan_equalize_desc d = good;
    assert_int_equal(scan_equalize(NULL, &d, in, out, NULL, 64), SCAN_ERR_ARGUMENT);
    assert_int_equal(scan_equalize(ctx, NULL, in, out, NULL, 64), SCAN_ERR_ARGUMENT);
    assert_int_equal(scan_equalize(ctx, &d, NULL, out, NULL, 64), SCAN_ERR_ARGUMENT);
    assert_int_equal(scan_equalize(ctx, &d, in, NULL, NULL, 64), SCAN_ERR_ARGUMENT);
    assert_int_equal(scan_equalize(ctx, &d, in, in + 1, NULL, 64), SCAN_ERR_OVERLAP);
    assert_int_equal(scan_equalize(ctx, &d, (char *)in + 1, out, NULL, 64), SCAN_ERR_ALIGNMENT);
    assert_int_equal(scan_equalize(ctx, &d, in, (char *)out + 1, NULL, 64), SCAN_ERR_ALIGNMENT);
    assert_int_equal(scan_equalize(ctx, &d, in, out, (char *)luts + 1, 64), SCAN_ERR_ALIGNMENT);
    assert_int_equal(scan_equalize(ctx, &d, luts, out, luts, 64), SCAN_ERR_OVERLAP);
    assert_int_equal(scan_equalize(ctx, &d, in, luts + 65535, luts, 64), SCAN_ERR_OVERLAP);
    assert_int_equal(scan_equalize(ctx, &d, in, luts + 65536, luts, 64), SCAN_OK);
    assert_int_equal(scan_equalize(ctx, &d, in, out, NULL, SIZE_MAX), SCAN_ERR_ARGUMENT);
    d.mask = (uint8_t *)out;
    assert_int_equal(scan_equalize(ctx, &d, in, out, NULL, 64), SCAN_ERR_OVERLAP);
    d = good, d.channels = 5;
    assert_int_equal(scan_equalize(ctx, &d, in, out, NULL, 8), SCAN_ERR_ARGUMENT);
    d = good, d.channels = 3, d.color = SCAN_COLOR_CHANNELS; /* three tables */
    assert_int_equal(scan_equalize(ctx, &d, in, luts + 2 * 65536, luts, 8), SCAN_ERR_OVERLAP);
    d = good, d.like = (scan_like)5;
    assert_int_equal(scan_equalize(ctx, &d, in, out, NULL, 8), SCAN_ERR_ARGUMENT);
    d = good, d.color = (scan_color)3;
    assert_int_equal(scan_equalize(ctx, &d, in, out, NULL, 8), SCAN_ERR_ARGUMENT);
    d = good, d.reserved = 1;
    assert_int_equal(scan_equalize(ctx, &d, in, out, NULL, 8), SCAN_ERR_ARGUMENT);
    d = good, d.type = SCAN_F32;
    assert_int_equal(scan_equalize(ctx, &d, in, out, NULL, 8), SCAN_ERR_TYPE);
    d = good, d.struct_size = 8;
    assert_int_equal(scan_equalize(ctx, &d, in, out, NULL, 8), SCAN_ERR_VERSION);
    assert_int_equal(scan_equalize(ctx, &good, NULL, NULL, NULL, 0), SCAN_OK);
    assert_int_equal(scan_equalize(ctx, &good, NULL, NULL, luts, 0), SCAN_OK);
    assert_int_equal(luts[40000], 40000);

    bins_errors(ctx);
    size_t bytes;
    assert_int_equal(scan_equalize_workspace(ctx, &good, 64, &bytes), SCAN_OK);
    void *memory = aligned_alloc(256, (bytes + 255) / 256 * 256);
    assert_int_equal(scan_ctx_lend(ctx, memory, bytes), SCAN_OK);
    assert_int_equal(scan_equalize(ctx, &good, in, out, NULL, 64), SCAN_OK);
    assert_int_equal(scan_ctx_lend(ctx, memory, bytes - 1), SCAN_OK);
    assert_int_equal(scan_equalize(ctx, &good, in, out, NULL, 64), SCAN_ERR_WORKSPACE);
    scan_ctx_destroy(ctx);
    free(memory);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_small_size), cmocka_unit_test(every_picture), cmocka_unit_test(switches_and_threads),
        cmocka_unit_test(streamed),         cmocka_unit_test(by_hand),       cmocka_unit_test(beyond_32_bits),
        cmocka_unit_test(in_parts),         cmocka_unit_test(errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
