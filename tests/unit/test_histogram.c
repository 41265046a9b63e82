/* SPDX-License-Identifier: MIT
 *
 * scan_histogram against counting one sample after another.
 */
#include "image_support.h"

static void count_slowly(const scan_histogram_desc *d, const void *in, size_t n, uint64_t *bins) {
    size_t count = bins_of(d->type);
    memset(bins, 0, d->channels * count * sizeof *bins);
    for (size_t i = 0; i < n; i++)
        for (unsigned c = 0; c < d->channels; c++)
            if (!d->mask || d->mask[i])
                bins[c * count + sample_get(d->type, in, i * d->channels + c)]++;
}

/* One image of n pixels, its last sample against a guard page, with and without a mask and a count on the device. */
static void check_one(scan_ctx *ctx, scan_type type, unsigned channels, picture kind, size_t n) {
    size_t bytes = n * channels * scan_type_size(type), bin_bytes = channels * bins_of(type) * sizeof(uint64_t);
    guarded samples = guarded_create(bytes + 1), flags = guarded_create(n + 1), counts = guarded_create(bin_bytes);
    void *in = guarded_end(samples, bytes);
    uint8_t *mask = guarded_end(flags, n);
    uint64_t *bins = guarded_end(counts, bin_bytes), *expected = malloc(bin_bytes), seed = n + 31 * channels;
    fill_picture(kind, type, in, n * channels, seed);
    for (size_t i = 0; i < n; i++)
        mask[i] = (uint8_t)(random_u64(&seed) % 3 * 77);
    scan_histogram_desc desc = {.struct_size = sizeof desc, .type = type, .channels = channels};
    for (int masked = 0; masked < 2; masked++)
        for (int shorter = 0; shorter < 2; shorter++) {
            uint64_t n_device = n / 3;
            desc.mask = masked ? mask : NULL;
            desc.n_device = shorter ? &n_device : NULL;
            memset(bins, 0xa5, bin_bytes);
            assert_int_equal(scan_histogram(ctx, &desc, in, bins, n), SCAN_OK);
            count_slowly(&desc, in, shorter ? n / 3 : n, expected);
            assert_memory_equal(bins, expected, bin_bytes);
        }
    free(expected);
    guarded_destroy(samples);
    guarded_destroy(flags);
    guarded_destroy(counts);
}

static void every_small_size(void **state) {
    (void)state;
    scan_ctx *ctx = context_with_threads(2);
    for (unsigned channels = 1; channels <= 4; channels++)
        for (size_t n = 0; n <= 130; n += ONLY_THREADS ? 26 : 1)
            check_one(ctx, SCAN_U8, channels, (picture)(n % PICTURES), n);
    for (size_t n = 0; n <= 130; n += ONLY_THREADS ? 26 : 1)
        check_one(ctx, SCAN_U16, (unsigned)(n % 4) + 1, (picture)(n % PICTURES), n);
    scan_ctx_destroy(ctx);
}

/* Around a block, and around the sizes from which threads are used and bytes are counted in pairs. */
static void switches_and_threads(void **state) {
    (void)state;
    static const size_t sizes[] = {2047, 2048, 2049, 65535, 65536, 65537, 131071, 131072, 131073, 263001};
    static const uint32_t threads[] = {1, 2, 3, 7};
    for (size_t t = ONLY_THREADS; t < sizeof threads / sizeof threads[0]; t++) {
        scan_ctx *ctx = context_with_threads(threads[t]);
        for (size_t s = t % (1 + ONLY_THREADS); s < sizeof sizes / sizeof sizes[0]; s += 1 + ONLY_THREADS) {
            check_one(ctx, SCAN_U8, 1, (picture)((s + t) % PICTURES), sizes[s]);
            check_one(ctx, SCAN_U16, 1, (picture)((s + t + 1) % PICTURES), sizes[s]);
            check_one(ctx, s % 2 ? SCAN_U8 : SCAN_U16, (unsigned)(s % 3) + 2, (picture)((s + t) % PICTURES), sizes[s]);
        }
        scan_ctx_destroy(ctx);
    }
}

static void every_picture(void **state) {
    (void)state;
    scan_ctx *ctx = context_with_threads(2);
    for (int kind = 0; kind < PICTURES; kind++)
        for (unsigned channels = 1; channels <= 4; channels++) {
            if (ONLY_THREADS && channels != 1 + (unsigned)kind % 4) /* threads do the same with every number */
                continue;
            check_one(ctx, SCAN_U8, channels, (picture)kind, 300007);
            check_one(ctx, SCAN_U16, channels, (picture)kind, 70001);
        }
    scan_ctx_destroy(ctx);
}

/* Bytes at every address modulo 64. */
static void unaligned(void **state) {
    (void)state;
    enum { N = 200003 };
    uint8_t *memory = malloc(N + 64);
    scan_ctx *ctx = context_with_threads(2);
    scan_histogram_desc desc = {.struct_size = sizeof desc, .type = SCAN_U8, .channels = 1};
    fill_picture(UNIFORM, SCAN_U8, memory, N + 64, 5);
    for (int offset = 0; offset < 64; offset++) {
        uint64_t bins[256], expected[256];
        assert_int_equal(scan_histogram(ctx, &desc, memory + offset, bins, N), SCAN_OK);
        count_slowly(&desc, memory + offset, N, expected);
        assert_memory_equal(bins, expected, sizeof bins);
    }
    scan_ctx_destroy(ctx);
    free(memory);
}

/* More pixels than 32-bit counters hold: nearly all of one value, and a short run of another that repeats. */
static void beyond_32_bits(void **state) {
    (void)state;
    if (SLOW_BUILD || !is_highest_level())
        skip();
    const size_t unit = 16 << 20, n = ((size_t)1 << 32) + 12345;
    repeated image = repeated_create(unit, n);
    if (!image.memory)
        skip();
    memset(image.memory, 200, unit);
    memset(image.memory, 3, 1000);
    scan_ctx *ctx = context_with_threads(0);
    uint64_t bins[256];
    scan_histogram_desc desc = {.struct_size = sizeof desc, .type = SCAN_U8};
    assert_int_equal(scan_histogram(ctx, &desc, image.memory, bins, n), SCAN_OK);
    uint64_t threes = 1000 * (n / unit + 1);
    for (int i = 0; i < 256; i++)
        assert_true(bins[i] == (i == 3 ? threes : i == 200 ? n - threes : 0));
    scan_ctx_destroy(ctx);
    repeated_destroy(image);
}

static void errors(void **state) {
    (void)state;
    scan_ctx *ctx = context_with_threads(1);
    static uint16_t in[64];
    static uint64_t bins[4 * 65536];
    const scan_histogram_desc good = {.struct_size = sizeof good, .type = SCAN_U16};
    scan_histogram_desc d = good;
    assert_int_equal(scan_histogram(ctx, &d, in, bins, 64), SCAN_OK);
    assert_int_equal(scan_histogram(NULL, &d, in, bins, 64), SCAN_ERR_ARGUMENT);
    assert_int_equal(scan_histogram(ctx, NULL, in, bins, 64), SCAN_ERR_ARGUMENT);
    assert_int_equal(scan_histogram(ctx, &d, NULL, bins, 64), SCAN_ERR_ARGUMENT);
    assert_int_equal(scan_histogram(ctx, &d, in, NULL, 64), SCAN_ERR_ARGUMENT);
    assert_int_equal(scan_histogram(ctx, &d, (char *)in + 1, bins, 8), SCAN_ERR_ALIGNMENT);
    assert_int_equal(scan_histogram(ctx, &d, in, (uint64_t *)(void *)((char *)bins + 4), 8), SCAN_ERR_ALIGNMENT);
    assert_int_equal(scan_histogram(ctx, &d, bins + 7, bins, 8), SCAN_ERR_OVERLAP);
    assert_int_equal(scan_histogram(ctx, &d, in, bins, SIZE_MAX), SCAN_ERR_ARGUMENT);
    d.mask = (uint8_t *)bins;
    assert_int_equal(scan_histogram(ctx, &d, in, bins, 8), SCAN_ERR_OVERLAP);
    d = good, d.n_device = bins + 100;
    assert_int_equal(scan_histogram(ctx, &d, in, bins, 8), SCAN_ERR_OVERLAP);
    d = good, d.channels = 5;
    assert_int_equal(scan_histogram(ctx, &d, in, bins, 8), SCAN_ERR_ARGUMENT);
    d = good, d.channels = 4;
    assert_int_equal(scan_histogram(ctx, &d, in, bins, SIZE_MAX / 4), SCAN_ERR_ARGUMENT);
    d = good, d.reserved = 1;
    assert_int_equal(scan_histogram(ctx, &d, in, bins, 8), SCAN_ERR_ARGUMENT);
    d = good, d.type = SCAN_I16;
    assert_int_equal(scan_histogram(ctx, &d, in, bins, 8), SCAN_ERR_TYPE);
    d = good, d.type = (scan_type)99;
    assert_int_equal(scan_histogram(ctx, &d, in, bins, 8), SCAN_ERR_TYPE);
    d = good, d.struct_size = 4;
    assert_int_equal(scan_histogram(ctx, &d, in, bins, 8), SCAN_ERR_VERSION);
    d = good;
    assert_int_equal(scan_histogram(ctx, &d, NULL, NULL, 0), SCAN_OK);
    bins[65535] = 1;
    assert_int_equal(scan_histogram(ctx, &d, NULL, bins, 0), SCAN_OK);
    assert_true(bins[65535] == 0);

    size_t bytes;
    assert_int_equal(scan_histogram_workspace(ctx, &good, 64, &bytes), SCAN_OK);
    assert_int_equal(scan_histogram_workspace(ctx, &good, 64, NULL), SCAN_ERR_ARGUMENT);
    void *memory = aligned_alloc(256, (bytes + 255) / 256 * 256);
    assert_int_equal(scan_ctx_lend(ctx, memory, bytes), SCAN_OK);
    assert_int_equal(scan_histogram(ctx, &good, in, bins, 64), SCAN_OK);
    assert_int_equal(scan_ctx_lend(ctx, memory, bytes - 1), SCAN_OK);
    assert_int_equal(scan_histogram(ctx, &good, in, bins, 64), SCAN_ERR_WORKSPACE);
    scan_ctx_destroy(ctx);
    free(memory);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_small_size), cmocka_unit_test(switches_and_threads), cmocka_unit_test(every_picture),
        cmocka_unit_test(unaligned),        cmocka_unit_test(beyond_32_bits),       cmocka_unit_test(errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
