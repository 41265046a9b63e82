/* SPDX-License-Identifier: MIT
 *
 * scan_histogram on the device against one loop over the samples: both types, all channels, masks, counts on the
 * device, every address modulo 16, and data from random to one value, which fills the 16-bit counters of the device
 * many times.
 */
#include "gpu_support.h"

typedef struct histogram_case {
    scan_type type;
    uint32_t channels;
    gpu_shape shape;
    size_t n, bound; /* bound: the n of the call, more than n if the count is on the device */
    size_t offset, mask_offset;
    bool masked;
} histogram_case;

static gpu_array d_in, d_mask, d_bins, d_count;

static size_t bins_of(scan_type type) { return type == SCAN_U8 ? 256 : 65536; }

static void oracle(const histogram_case *c, const void *in, const uint8_t *mask, uint64_t *bins) {
    memset(bins, 0, c->channels * bins_of(c->type) * sizeof *bins);
    for (size_t i = 0; i < c->n * c->channels; i++)
        if (!mask || mask[i / c->channels]) {
            size_t level = c->type == SCAN_U8 ? ((const uint8_t *)in)[i] : ((const uint16_t *)in)[i];
            bins[i % c->channels * bins_of(c->type) + level]++;
        }
}

/* In runs of 7; a third of them 0, the others of one bit. */
static uint8_t *make_mask(size_t n, uint64_t seed) {
    uint8_t *mask = malloc(n + 1), value = 0;
    uint64_t rng = seed;
    for (size_t i = 0; i < n; i++) {
        if (i % 7 == 0)
            value = (uint8_t)(random_below(&rng, 3) ? 1u << random_below(&rng, 8) : 0);
        mask[i] = value;
    }
    return mask;
}

static void check(const histogram_case *c) {
    const size_t size = scan_type_size(c->type), samples = c->bound * c->channels;
    const size_t bins = c->channels * bins_of(c->type);
    char *in = malloc(samples * size + 1);
    uint64_t *expected = malloc(bins * sizeof *expected), *got = malloc(bins * sizeof *got), count = c->n;
    gpu_fill(c->type, c->shape, in, samples, c->n + c->channels);
    uint8_t *mask = c->masked ? make_mask(c->bound, c->n) : NULL;
    oracle(c, in, mask, expected);

    scan_histogram_desc desc = {.struct_size = sizeof desc, .type = c->type, .channels = c->channels};
    const void *from = gpu_put(&d_in, in, samples, size, c->offset);
    if (mask)
        desc.mask = gpu_put(&d_mask, mask, c->bound, 1, c->mask_offset);
    if (c->bound > c->n)
        desc.n_device = gpu_put(&d_count, &count, 1, sizeof count, 0);
    gpu_ok(scan_histogram(gpu, &desc, from, gpu_put(&d_bins, NULL, bins, sizeof *got, 0), c->bound));
    gpu_get(&d_bins, got);
    const size_t wrong = gpu_first_difference(got, expected, bins, sizeof *got);
    if (wrong < bins)
        fail_msg("%s, %u channels, %s, n %zu of %zu, offsets %zu %zu%s: bin %zu is %llu, not %llu",
                 scan_type_name(c->type), c->channels, gpu_shape_name(c->shape), c->n, c->bound, c->offset,
                 c->mask_offset, mask ? ", mask" : "", wrong, (unsigned long long)got[wrong],
                 (unsigned long long)expected[wrong]);
    gpu_unchanged(&d_in, in);
    if (mask)
        gpu_unchanged(&d_mask, mask);
    free(in);
    free(mask);
    free(expected);
    free(got);
}

/* Draws what is left open. */
static histogram_case draw(scan_type type, uint32_t channels, size_t n, uint64_t seed) {
    uint64_t rng = seed;
    histogram_case c = {.type = type, .channels = channels, .n = n, .bound = n};
    c.shape = (gpu_shape)random_below(&rng, GPU_SHAPE_COUNT);
    c.masked = random_bool(&rng);
    if (random_bool(&rng))
        c.offset = random_below(&rng, 16);
    if (random_bool(&rng))
        c.mask_offset = random_below(&rng, 16);
    if (random_below(&rng, 5) == 0)
        c.bound = n + 1 + random_below(&rng, 100);
    return c;
}

static void matrix(void **state) {
    (void)state;
    gpu_need();
    static const scan_type types[] = {SCAN_U8, SCAN_U16};
    size_t sizes[GPU_MAX_SIZES];
    uint64_t seed = 0;
    for (int t = 0; t < 2; t++) {
        const size_t count = gpu_sizes(scan_type_size(types[t]), sizes);
        for (uint32_t channels = 1; channels <= 4; channels++)
            for (size_t s = 0; s < count; s++)
                for (int variant = 0; variant < (gpu_is_small ? 1 : 4); variant++) {
                    if (gpu_is_small && t == 1 && (s + channels) % 4)
                        continue;
                    histogram_case c = draw(types[t], channels, sizes[s], ++seed);
                    check(&c);
                }
    }
}

static void addresses(void **state) {
    (void)state;
    gpu_need();
    for (uint32_t channels = 1; channels <= 4; channels++)
        for (size_t offset = 0; offset < 16; offset += gpu_is_small ? 3 : 1) {
            histogram_case c = {SCAN_U8, channels, GPU_RANDOM, 700, 700, offset, (offset * 5 + 3) % 16, offset % 2};
            check(&c);
            c.type = SCAN_U16;
            if (!gpu_is_small || offset == 3 * (channels % 3))
                check(&c);
        }
}

/* The 16-bit counters of a CTA fill several times: one level in the low halves of words and in the high halves, few
 * levels, many. */
static void full_counters(void **state) {
    (void)state;
    gpu_need();
    static const gpu_shape shapes[] = {GPU_CONSTANT, GPU_EXTREMES, GPU_FEW, GPU_SPARSE};
    for (int i = 0; i < 4; i++)
        for (size_t n = 65535; n <= (gpu_is_small ? 500000 : 20000000); n = n * 7 + 1) {
            histogram_case c = {SCAN_U16, 1, shapes[i], n, n, 0, 0, false};
            check(&c);
            c.type = SCAN_U8;
            check(&c);
        }
}

static void errors(void **state) {
    (void)state;
    gpu_need();
    uint64_t *bins = gpu_put(&d_bins, NULL, 256, 8, 0), got[256];
    const void *in = gpu_put(&d_in, NULL, 100, 1, 0);
    scan_histogram_desc desc = {.struct_size = sizeof desc, .type = SCAN_U8};
    assert_int_equal(scan_histogram(gpu, &desc, in, NULL, 100), SCAN_ERR_ARGUMENT);
    assert_int_equal(scan_histogram(gpu, &desc, NULL, bins, 100), SCAN_ERR_ARGUMENT);
    desc.type = SCAN_U32;
    assert_int_equal(scan_histogram(gpu, &desc, in, bins, 100), SCAN_ERR_TYPE);
    desc.type = SCAN_U8;
    gpu_ok(scan_histogram(gpu, &desc, NULL, bins, 0));
    gpu_get(&d_bins, got);
    for (int i = 0; i < 256; i++)
        assert_int_equal(got[i], 0);
    size_t bytes = 1;
    gpu_ok(scan_histogram_workspace(gpu, &desc, 100, &bytes));
    gpu_ok(scan_ctx_reserve(gpu, bytes));
}

/* More than 2^31 and 2^32 samples: a pattern again and again, or one value alone. */
static void large(void **state) {
    (void)state;
    gpu_need();
    enum { UNIT = 1 << 24 };
    static const size_t counts[] = {((size_t)1 << 31) + 1, ((size_t)1 << 32) - 1, (size_t)1 << 32,
                                    ((size_t)1 << 32) + 1};
    static uint64_t unit_bins[65536], rest_bins[65536], got[65536];
    for (int round = 0; round < 4; round++) {
        const scan_type type = round % 2 ? SCAN_U16 : SCAN_U8;
        const size_t size = scan_type_size(type), repeats = counts[3] / UNIT + 1;
        histogram_case c = {.type = type, .channels = 1, .n = UNIT};
        char *pattern = malloc(UNIT * size);
        void *in, *bins = gpu_put(&d_bins, NULL, bins_of(type), 8, 0);
        gpu_fill(type, round < 2 ? GPU_CONSTANT : GPU_RANDOM, pattern, UNIT, 7);
        oracle(&c, pattern, NULL, unit_bins);
        gpu_ok(scan_malloc(gpu, repeats * UNIT * size, &in));
        for (size_t i = 0; i < repeats; i++)
            gpu_ok(scan_upload(gpu, (char *)in + i * UNIT * size, pattern, UNIT * size));
        for (size_t k = 0; k < sizeof counts / sizeof counts[0]; k++) {
            c.n = counts[k] % UNIT;
            oracle(&c, pattern, NULL, rest_bins);
            scan_histogram_desc desc = {.struct_size = sizeof desc, .type = type};
            gpu_ok(scan_histogram(gpu, &desc, in, bins, counts[k]));
            gpu_get(&d_bins, got);
            for (size_t bin = 0; bin < bins_of(type); bin++)
                assert_int_equal(got[bin], counts[k] / UNIT * unit_bins[bin] + rest_bins[bin]);
        }
        scan_free(gpu, in);
        free(pattern);
    }
}

int main(int argc, char **argv) {
    static const gpu_test tests[] = {
        GPU_TEST(GPU_MATRIX | GPU_SMALL, matrix),
        GPU_TEST(GPU_MATRIX | GPU_SMALL, addresses),
        GPU_TEST(GPU_MATRIX | GPU_SMALL, full_counters),
        GPU_TEST(GPU_MATRIX | GPU_SMALL, errors),
        GPU_TEST(GPU_LARGE, large),
    };
    return gpu_main("gpu_histogram", tests, sizeof tests / sizeof tests[0], argc, argv);
}
