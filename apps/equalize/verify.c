/* SPDX-License-Identifier: MIT
 *
 * Equalization and CLAHE, one pixel after another and independent of the library. A plane is the samples that one table
 * maps: the grey samples, one color channel, or the luma. Each plane is computed in full and equalized; the samples
 * that follow from it are compared with the result.
 *
 * Floating point is written one operation at a time in the peers' precision (-ffp-contract=off).
 */
#include "verify.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "apps/support/die.h"

typedef struct verifier {
    const equalize_options *options;
    const image *in;
    image result;
    size_t n;
    uint32_t top;     /* 255 or 65535 */
    uint32_t largest; /* sample that counts: of the whole image, or of the luma if that is equalized */
    uint16_t *plane;  /* n samples, before and after */
    uint64_t *counts; /* 65,536 */
    uint16_t *table;  /* 65,536 */
    uint16_t *tile_tables;
} verifier;

static uint32_t sample(const image *img, size_t pixel, uint32_t channel) {
    size_t i = pixel * img->header.channels + channel;
    return img->header.depth == 16 ? ((const uint16_t *)img->pixels)[i] : ((const uint8_t *)img->pixels)[i];
}

static bool counts_pixel(const verifier *v, size_t pixel) {
    return !v->options->mask || ((const uint8_t *)v->options->mask->pixels)[pixel];
}

static int32_t clamp(int32_t value, uint32_t top) {
    return value < 0 ? 0 : value > (int32_t)top ? (int32_t)top : value;
}

/* ---- one table for the plane ------------------------------------------------------------------------------------- */

static uint32_t entry(const verifier *v, uint32_t i, uint64_t up_to, uint64_t total, uint32_t first, uint32_t last) {
    const uint64_t *h = v->counts;
    double top = v->top;
    switch (v->options->like) {
    case SCAN_LIKE_OPENCV: {
        if (i <= first)
            return h[first] == total ? i : 0;
        if (h[first] == total)
            return i;
        float scale = (float)v->top / (float)(total - h[first]);
        float value = nearbyintf((float)(up_to - h[first]) * scale);
        return value > (float)v->top ? v->top : (uint32_t)value;
    }
    case SCAN_LIKE_PILLOW: {
        uint64_t step = (total - h[last]) / v->top;
        if (first == last || step == 0)
            return i;
        uint64_t value = (step / 2 + (up_to - h[i])) / step;
        return value > v->top ? v->top : (uint32_t)value;
    }
    case SCAN_LIKE_IMAGEMAGICK:
        if (h[0] == total)
            return i;
        return (uint32_t)floor(65535.0 * (double)(up_to - h[0]) / (double)(total - h[0]) + 0.5);
    case SCAN_LIKE_VIPS: {
        float value = floorf((float)((v->top == 255 ? 255.0 : (double)v->largest) / (double)total) * (float)up_to);
        return value > (float)v->top ? v->top : (uint32_t)value;
    }
    case SCAN_LIKE_SKIMAGE: return (uint32_t)nearbyint(top * ((double)up_to / (double)total));
    }
    return i;
}

/* imagemagick works on 65,536 levels for every depth, the others on the levels of the samples. */
static void map_plane(verifier *v) {
    bool magick = v->options->like == SCAN_LIKE_IMAGEMAGICK;
    uint32_t scale = magick && v->top == 255 ? 257 : 1, bins = magick ? 65536 : v->top + 1;
    memset(v->counts, 0, 65536 * sizeof *v->counts);
    for (size_t p = 0; p < v->n; p++)
        v->counts[v->plane[p] * scale] += counts_pixel(v, p);
    uint64_t total = 0, up_to = 0;
    uint32_t first = bins - 1, last = 0;
    for (uint32_t i = 0; i < bins; i++)
        if (v->counts[i]) {
            first = i < first ? i : first;
            last = i;
            total += v->counts[i];
        }
    for (uint32_t i = 0; i < bins; i++) {
        up_to += v->counts[i];
        v->table[i] = (uint16_t)(total ? entry(v, i, up_to, total, first, last) : i);
    }
    for (size_t p = 0; p < v->n; p++)
        v->plane[p] = (uint16_t)(v->table[v->plane[p] * scale] / scale);
}

/* ---- CLAHE ------------------------------------------------------------------------------------------------------- */

/* The coordinate inside the side that x means: the image is continued by reflection that does not repeat the border. */
static size_t reflected(size_t x, size_t side) {
    if (side == 1)
        return 0;
    size_t period = 2 * (side - 1), r = x % period;
    return r < side ? r : period - r;
}

static void tile_table(verifier *v, size_t left, size_t top_row, size_t tile_w, size_t tile_h, uint16_t *table) {
    size_t width = v->in->header.width, height = v->in->header.height, bins = (size_t)v->top + 1;
    uint64_t area = (uint64_t)tile_w * tile_h, excess = 0, sum = 0;
    memset(v->counts, 0, bins * sizeof *v->counts);
    for (size_t y = top_row; y < top_row + tile_h; y++)
        for (size_t x = left; x < left + tile_w; x++)
            v->counts[v->plane[reflected(y, height) * width + reflected(x, width)]]++;
    if (v->options->clip > 0) {
        double limit = v->options->clip * (double)area / (double)bins;
        uint64_t max_count = limit < 1 ? 1 : limit < (double)INT32_MAX ? (uint64_t)limit : INT32_MAX;
        for (size_t i = 0; i < bins; i++)
            if (v->counts[i] > max_count) {
                excess += v->counts[i] - max_count;
                v->counts[i] = max_count;
            }
        uint64_t rest = excess % bins, step = rest && bins / rest > 1 ? bins / rest : 1;
        for (size_t i = 0; i < bins; i++)
            v->counts[i] += excess / bins;
        for (size_t i = 0; i < bins && rest; i += step, rest--)
            v->counts[i]++;
    }
    float scale = (float)v->top / (float)area;
    for (size_t i = 0; i < bins; i++) {
        sum += v->counts[i];
        float value = nearbyintf((float)sum * scale);
        table[i] = (uint16_t)(value > (float)v->top ? v->top : (uint32_t)value);
    }
}

static bool clahe_plane(verifier *v) {
    size_t width = v->in->header.width, height = v->in->header.height, bins = (size_t)v->top + 1;
    size_t tx = v->options->tiles_x, ty = v->options->tiles_y;
    size_t wide = width, high = height;
    if (width % tx || height % ty) { /* then a side that is divisible grows by its number of tiles too, as in OpenCV */
        wide += tx - width % tx;
        high += ty - height % ty;
    }
    size_t tile_w = wide / tx, tile_h = high / ty;
    if (!v->tile_tables)
        v->tile_tables = calloc(tx * ty, bins * sizeof *v->tile_tables);
    uint16_t *tables = v->tile_tables;
    if (!tables)
        return false;
    for (size_t j = 0; j < ty; j++)
        for (size_t i = 0; i < tx; i++)
            tile_table(v, i * tile_w, j * tile_h, tile_w, tile_h, tables + (j * tx + i) * bins);
    float inverse_w = 1.0f / (float)tile_w, inverse_h = 1.0f / (float)tile_h;
    for (size_t y = 0; y < height; y++) {
        float yf = (float)y * inverse_h - 0.5f, y_floor = floorf(yf), b = yf - y_floor;
        size_t j0 = y_floor < 0 ? 0 : (size_t)y_floor, j1 = (size_t)(y_floor + 1);
        j0 = j0 < ty ? j0 : ty - 1;
        j1 = j1 < ty ? j1 : ty - 1;
        for (size_t x = 0; x < width; x++) {
            float xf = (float)x * inverse_w - 0.5f, x_floor = floorf(xf), a = xf - x_floor;
            size_t i0 = x_floor < 0 ? 0 : (size_t)x_floor, i1 = (size_t)(x_floor + 1);
            i0 = i0 < tx ? i0 : tx - 1;
            i1 = i1 < tx ? i1 : tx - 1;
            uint16_t *pixel = &v->plane[y * width + x];
            float up = (float)tables[(j0 * tx + i0) * bins + *pixel] * (1.0f - a) +
                       (float)tables[(j0 * tx + i1) * bins + *pixel] * a;
            float down = (float)tables[(j1 * tx + i0) * bins + *pixel] * (1.0f - a) +
                         (float)tables[(j1 * tx + i1) * bins + *pixel] * a;
            float value = nearbyintf(up * (1.0f - b) + down * b);
            *pixel = (uint16_t)(value > (float)v->top ? v->top : (uint32_t)value);
        }
    }
    return true;
}

/* ---- planes and samples ------------------------------------------------------------------------------------------ */

static bool change_plane(verifier *v) {
    if (v->options->clahe)
        return clahe_plane(v);
    map_plane(v);
    return true;
}

static void store(verifier *v, size_t pixel, uint32_t channel, uint32_t value) {
    size_t i = pixel * v->in->header.channels + channel;
    if (v->top == 255)
        ((uint8_t *)v->result.pixels)[i] = (uint8_t)value;
    else
        ((uint16_t *)v->result.pixels)[i] = (uint16_t)value;
}

static bool change_channel(verifier *v, uint32_t channel) {
    for (size_t p = 0; p < v->n; p++)
        v->plane[p] = (uint16_t)sample(v->in, p, channel);
    if (!change_plane(v))
        return false;
    for (size_t p = 0; p < v->n; p++)
        store(v, p, channel, v->plane[p]);
    return true;
}

static int32_t rounded(int32_t value) { return (value + 8192) >> 14; }

/* OpenCV's YCrCb with 14 bits of fraction: Y is replaced, Cr and Cb stay. */
static bool change_luma(verifier *v) {
    int32_t middle = (int32_t)(v->top / 2 + 1);
    v->largest = 0;
    for (size_t p = 0; p < v->n; p++) {
        v->plane[p] = (uint16_t)rounded(
            (int32_t)(4899 * sample(v->in, p, 0) + 9617 * sample(v->in, p, 1) + 1868 * sample(v->in, p, 2)));
        if (counts_pixel(v, p) && v->plane[p] > v->largest)
            v->largest = v->plane[p];
    }
    if (!change_plane(v))
        return false;
    for (size_t p = 0; p < v->n; p++) {
        int32_t r = (int32_t)sample(v->in, p, 0), g = (int32_t)sample(v->in, p, 1), b = (int32_t)sample(v->in, p, 2);
        int32_t before = rounded(4899 * r + 9617 * g + 1868 * b), y = v->plane[p];
        int32_t cr = clamp(rounded(11682 * (r - before)) + middle, v->top) - middle;
        int32_t cb = clamp(rounded(9241 * (b - before)) + middle, v->top) - middle;
        store(v, p, 0, (uint32_t)clamp(y + rounded(22987 * cr), v->top));
        store(v, p, 1, (uint32_t)clamp(y + rounded(-11698 * cr - 5636 * cb), v->top));
        store(v, p, 2, (uint32_t)clamp(y + rounded(29049 * cb), v->top));
    }
    return true;
}

/* ImageMagick's color: one table from the Rec. 709 luma in 65,536 levels, used for R, G and B. */
static void change_by_magick(verifier *v) {
    uint32_t top = v->top, scale = top == 255 ? 257 : 1;
    for (size_t p = 0; p < v->n; p++) {
        double luma = 0.212656 * (double)(scale * sample(v->in, p, 0)) +
                      0.715158 * (double)(scale * sample(v->in, p, 1)) +
                      0.072186 * (double)(scale * sample(v->in, p, 2));
        v->plane[p] = (uint16_t)fmin(luma + 0.5, 65535);
    }
    v->top = 65535;
    map_plane(v); /* for its table */
    v->top = top;
    for (size_t p = 0; p < v->n; p++)
        for (uint32_t c = 0; c < 3; c++)
            store(v, p, c, v->table[sample(v->in, p, c) * scale] / scale);
}

static bool change_image(verifier *v) {
    const image_header *h = &v->in->header;
    memcpy(v->result.pixels, v->in->pixels, image_bytes(h)); /* alpha stays */
    for (size_t p = 0; p < v->n; p++)
        for (uint32_t c = 0; counts_pixel(v, p) && c < h->channels; c++)
            if (sample(v->in, p, c) > v->largest)
                v->largest = sample(v->in, p, c);
    if (h->channels <= 2)
        return change_channel(v, 0);
    if (equalize_by_channels(v->options, h->channels))
        return change_channel(v, 0) && change_channel(v, 1) && change_channel(v, 2);
    if (!v->options->clahe && v->options->like == SCAN_LIKE_IMAGEMAGICK) {
        change_by_magick(v);
        return true;
    }
    return change_luma(v);
}

bool equalize_verify(const char *name, const equalize_options *options, const image *in, const void *out,
                     image_error *error) {
    const image_header *h = &in->header;
    verifier v = {.options = options, .in = in, .n = image_pixels(h), .top = h->depth == 16 ? 65535 : 255};
    v.plane = malloc(v.n * sizeof *v.plane);
    v.counts = malloc(65536 * sizeof *v.counts);
    v.table = malloc(65536 * sizeof *v.table);
    bool good = image_new(name, h, &v.result, error);
    if (good && (!v.plane || !v.counts || !v.table || !change_image(&v)))
        good = image_fail(error, EXIT_IO, "%s: no memory to verify", name);
    if (good && memcmp(v.result.pixels, out, image_bytes(h)) != 0) {
        const uint8_t *a = v.result.pixels, *b = out;
        size_t at = 0;
        while (a[at] == b[at])
            at++;
        size_t pixel = at / (h->depth / 8) / h->channels;
        good = image_fail(error, EXIT_NEGATIVE, "%s: verify: the pixel at column %zu, row %zu is wrong", name,
                          pixel % h->width, pixel / h->width);
    }
    image_free(&v.result);
    free(v.plane);
    free(v.counts);
    free(v.table);
    free(v.tile_tables);
    return good;
}
