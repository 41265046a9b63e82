/* SPDX-License-Identifier: MIT
 *
 * scan_equalize on the device against the CPU backend, byte for byte; tests/unit compares the latter with the formulas
 * and with the peers' results for the images in data/. Every formula, type, number of channels and treatment of colour,
 * with masks, tables, addresses and in place drawn at random. And calls of the image verbs together: queued, captured,
 * with just enough workspace.
 */
#include <cuda_runtime_api.h>

#include "gpu_images.h"
#include "tests/equalize_parts.h"

enum mask_kind { MASK_NONE, MASK_SOME, MASK_EMPTY, MASK_FULL };

typedef struct equalize_case {
    scan_type type;
    scan_like like;
    scan_color color;
    uint32_t channels;
    int shape;
    size_t n, in_offset, out_offset, mask_offset;
    enum mask_kind mask;
    bool in_place, luts;
} equalize_case;

static gpu_array d_in, d_out, d_mask, d_luts;

static uint8_t *make_mask(enum mask_kind kind, size_t n, uint64_t seed) {
    if (kind == MASK_NONE)
        return NULL;
    uint8_t *mask = malloc(n + 1);
    memset(mask, kind == MASK_FULL, n);
    uint64_t rng = seed;
    for (size_t run = 0; run < n && kind == MASK_SOME; run += 9)
        memset(mask + run, (int)random_below(&rng, 3), n - run < 9 ? n - run : 9);
    return mask;
}

static void check_image(const equalize_case *c, const void *in) {
    const size_t size = scan_type_size(c->type), samples = c->n * c->channels;
    const size_t tables = c->channels >= 3 ? 3 : 1, entries = tables * gpu_levels(c->type);
    char *expected = malloc(samples * size + 1), *got = malloc(samples * size + 1);
    char *luts = malloc(entries * size), *got_luts = malloc(entries * size);
    uint8_t *mask = make_mask(c->mask, c->n, c->n);
    memset(luts, GPU_ZONE_BYTE, entries * size);
    scan_equalize_desc desc = {.struct_size = sizeof desc,
                               .type = c->type,
                               .channels = c->channels,
                               .like = c->like,
                               .color = c->color,
                               .mask = mask};
    cpu_ok(scan_equalize(cpu, &desc, in, expected, luts, c->n));

    void *from = gpu_put(&d_in, in, samples, size, c->in_offset);
    void *to = c->in_place ? from : gpu_put(&d_out, NULL, samples, size, c->out_offset);
    void *d_tables = c->luts ? gpu_put(&d_luts, luts, entries, size, c->out_offset) : NULL;
    if (d_tables) { /* other bytes where tables are to be written; the rest must stay red */
        char red[4096];
        memset(red, GPU_ZONE_BYTE, sizeof red);
        const bool one = c->channels < 3 || memcmp(luts + gpu_levels(c->type) * size, red, 256) == 0;
        memset(gpu_stage(entries * size), 0x5d, entries * size);
        gpu_ok(scan_upload(gpu, d_tables, gpu_stage(0), (one ? 1 : tables) * gpu_levels(c->type) * size));
    }
    if (mask)
        desc.mask = gpu_put(&d_mask, mask, c->n, 1, c->mask_offset);
    gpu_ok(scan_equalize(gpu, &desc, from, to, d_tables, c->n));
    gpu_get(c->in_place ? &d_in : &d_out, got);
    const size_t wrong = gpu_first_difference(got, expected, samples, size);
    size_t wrong_entry = entries;
    if (d_tables) {
        gpu_get(&d_luts, got_luts);
        wrong_entry = gpu_first_difference(got_luts, luts, entries, size);
    }
    if (wrong < samples || wrong_entry < entries)
        fail_msg("%s like %s, color %d, %u channels, shape %d, n %zu, offsets %zu %zu %zu, mask %d%s%s ran %s: sample "
                 "%zu, entry %zu",
                 scan_type_name(c->type), scan_like_name(c->like), (int)c->color, c->channels, c->shape, c->n,
                 c->in_offset, c->out_offset, c->mask_offset, (int)c->mask, c->in_place ? ", in place" : "",
                 c->luts ? ", luts" : "", scan_ctx_ran(gpu), wrong, wrong_entry);
    if (!c->in_place)
        gpu_unchanged(&d_in, in);
    if (mask)
        gpu_unchanged(&d_mask, mask);
    free(expected);
    free(got);
    free(luts);
    free(got_luts);
    free(mask);
}

static void check(const equalize_case *c) {
    char *in = malloc(c->n * c->channels * scan_type_size(c->type) + 1);
    gpu_fill_image(c->type, c->shape, in, c->n * c->channels, c->n + c->channels);
    check_image(c, in);
    free(in);
}

/* Draws what is left open. */
static equalize_case draw(scan_type type, scan_like like, uint32_t channels, size_t n, uint64_t seed) {
    static const enum mask_kind masks[] = {MASK_NONE, MASK_NONE, MASK_NONE,  MASK_NONE,
                                           MASK_SOME, MASK_SOME, MASK_EMPTY, MASK_FULL};
    uint64_t rng = seed;
    equalize_case c = {.type = type, .like = like, .channels = channels, .n = n};
    c.color = (scan_color)random_below(&rng, 3);
    c.shape = (int)random_below(&rng, GPU_IMAGE_SHAPES);
    c.in_place = random_bool(&rng);
    c.luts = random_bool(&rng);
    if (random_bool(&rng)) {
        c.in_offset = random_below(&rng, 16);
        c.out_offset = random_bool(&rng) ? c.in_offset : random_below(&rng, 16);
        c.mask_offset = random_below(&rng, 16);
    }
    c.mask = masks[random_below(&rng, 8)];
    return c;
}

static void matrix(void **state) {
    (void)state;
    gpu_need();
    static const size_t few[] = {0, 1, 33, 3001};
    size_t sizes[GPU_MAX_SIZES], count = gpu_sizes(2, sizes);
    uint64_t seed = 0;
    if (gpu_is_small) {
        count = sizeof few / sizeof few[0];
        memcpy(sizes, few, sizeof few);
    }
    for (int t = 0; t < 2; t++)
        for (int like = 0; like <= SCAN_LIKE_SKIMAGE; like++)
            for (uint32_t channels = 1; channels <= 4; channels++)
                for (size_t s = 0; s < count; s++) {
                    equalize_case c = draw(gpu_sample_types[t], (scan_like)like, channels, sizes[s], ++seed);
                    const bool wide =
                        t == 1 || (like == SCAN_LIKE_IMAGEMAGICK && channels >= 3); /* slow in the emulator */
                    if (!gpu_is_small || !wide || (s + channels + (size_t)like) % 7 == 0)
                        check(&c);
                }
}

/* Tables of two parts together are those that the CPU backend makes of the whole. */
static void in_parts(void **state) {
    (void)state;
    gpu_need();
    enum { N = 3001 };
    static uint16_t in[4 * N], expected[4 * N], got[4 * N], luts[3 * 65536], got_luts[3 * 65536];
    static uint8_t mask[N];
    for (unsigned k = 0; k < 2 * 5 * 4 * 2; k += gpu_is_small ? 7 : 1) {
        const scan_type type = gpu_sample_types[k % 2];
        scan_equalize_desc d = {.struct_size = sizeof d, .type = type, .channels = 1 + k / 10 % 4};
        d.like = (scan_like)(k / 2 % 5);
        d.color = k / 40 ? SCAN_COLOR_CHANNELS : SCAN_COLOR_LUMA;
        d.mask = k % 3 ? NULL : mask;
        gpu_fill_image(type, (int)(k % GPU_IMAGE_SHAPES), in, N * d.channels, k);
        for (size_t i = 0; i < N; i++)
            mask[i] = (uint8_t)(i % (2 + k) == 0 ? 1 : 0);
        const size_t tables = d.channels >= 3 && k / 40 ? 3 : 1;
        const size_t lut_bytes = tables * gpu_levels(type) * scan_type_size(type);
        cpu_ok(scan_equalize(cpu, &d, in, expected, luts, N));
        gpu_ok(equalize_in_parts(gpu, &d, in, got, got_luts, lut_bytes, N, k % 8 ? N / 3 : 0));
        assert_memory_equal(got, expected, N * d.channels * scan_type_size(type));
        assert_memory_equal(got_luts, luts, lut_bytes);
    }
}

/* Grey images of 8 bits: both sides of what each CTA of one launch takes, and of what the largest cluster does. */
static void one_launch_ends(void **state) {
    (void)state;
    gpu_need();
    enum { CTA_PIXELS = 65536, MAX_CTAS = 16 };
    size_t last = 0, first_other = 0;
    for (size_t ctas = 1; ctas <= (gpu_is_small ? 2 : MAX_CTAS); ctas *= 2)
        for (size_t n = ctas * CTA_PIXELS - 1; n <= ctas * CTA_PIXELS + 1; n++) {
            const equalize_case c = draw(SCAN_U8, (scan_like)(n % 5), 1, n, n);
            check(&c);
            if (strcmp(scan_ctx_ran(gpu), "one launch") == 0)
                last = n;
            else if (first_other == 0)
                first_other = n;
        }
    if (!gpu_is_small)
        assert_true(last > 0 && last % CTA_PIXELS == 0 && first_other == last + 1);
}

/* Where 16-bit tables go to shared memory, and far from it. */
static void image_sizes(void **state) {
    (void)state;
    gpu_need();
    static const size_t sizes[] = {65537, 200000, 5000000, 20000003};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        for (int t = 0; t < 2; t++)
            for (int like = 0; like <= SCAN_LIKE_SKIMAGE; like++) {
                if (gpu_is_small && (like > 0 || sizes[i] > 200000))
                    continue;
                equalize_case c = draw(gpu_sample_types[t], (scan_like)like, 1, sizes[i], i * 7 + (size_t)like);
                check(&c);
                c = draw(gpu_sample_types[t], (scan_like)like, 3, sizes[i], i * 77 + (size_t)like);
                if (!gpu_is_small)
                    check(&c);
            }
}

static void addresses(void **state) {
    (void)state;
    gpu_need();
    for (int t = 0; t < 2; t++)
        for (uint32_t channels = 1; channels <= 4; channels++)
            for (size_t from = 0; from < 16; from += gpu_is_small ? 5 : 1)
                for (size_t to = 0; to < 16; to += gpu_is_small ? 7 : 1) {
                    if (gpu_is_small && t == 1 && from != to % 3)
                        continue;
                    equalize_case c = draw(gpu_sample_types[t], SCAN_LIKE_OPENCV, channels, 500 + from, from * 16 + to);
                    c.in_offset = from;
                    c.out_offset = to;
                    c.color = (from + to) % 3 ? SCAN_COLOR_LUMA : SCAN_COLOR_CHANNELS;
                    check(&c);
                }
}

static void real_images(void **state) {
    (void)state;
    gpu_need();
    for (int i = 0; i < GPU_IMAGE_FILES; i++) {
        const gpu_image image = gpu_read_image(gpu_image_files[i]);
        for (int like = 0; like <= SCAN_LIKE_SKIMAGE; like++)
            for (int color = 0; color < (image.channels == 3 ? 3 : 1); color++) {
                equalize_case c =
                    draw(image.type, (scan_like)like, image.channels, image.width * image.height, (uint64_t)like);
                c.color = (scan_color)color;
                if (!gpu_is_small || color == like % 3)
                    check_image(&c, image.samples);
            }
        free(image.samples);
    }
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

enum { QUEUED = 60, QUEUED_BYTES = 5000 };

/* Many small images, one call after another without a wait. */
static void queued(void **state) {
    (void)state;
    gpu_need();
    const int count = gpu_is_small ? 6 : QUEUED;
    static uint8_t images[QUEUED][QUEUED_BYTES], got[QUEUED][QUEUED_BYTES], expected[QUEUED_BYTES];
    void *d[QUEUED];
    scan_equalize_desc desc = {.struct_size = sizeof desc, .type = SCAN_U8, .tiles_x = 2, .tiles_y = 2};
    for (int i = 0; i < count; i++) {
        gpu_fill_image(SCAN_U8, i % GPU_IMAGE_SHAPES, images[i], QUEUED_BYTES, (uint64_t)i);
        gpu_ok(scan_malloc(gpu, QUEUED_BYTES, &d[i]));
        gpu_ok(scan_upload(gpu, d[i], images[i], QUEUED_BYTES));
    }
    for (int i = 0; i < count; i++) {
        desc.like = (scan_like)(i % 5);
        gpu_ok(i % 3 ? scan_equalize(gpu, &desc, d[i], d[i], NULL, QUEUED_BYTES - (size_t)i)
                     : scan_clahe(gpu, &desc, d[i], d[i], 50, 40 + (size_t)i));
        gpu_ok(scan_download(gpu, got[i], d[i], QUEUED_BYTES));
    }
    gpu_ok(scan_ctx_sync(gpu));
    for (int i = 0; i < count; i++) {
        memcpy(expected, images[i], QUEUED_BYTES);
        desc.like = (scan_like)(i % 5);
        cpu_ok(i % 3 ? scan_equalize(cpu, &desc, expected, expected, NULL, QUEUED_BYTES - (size_t)i)
                     : scan_clahe(cpu, &desc, expected, expected, 50, 40 + (size_t)i));
        assert_memory_equal(got[i], expected, QUEUED_BYTES);
        scan_free(gpu, d[i]);
    }
}

/* A graph of a histogram, an equalization and a CLAHE, replayed on other images than it was captured with. */
static void captured(void **state) {
    (void)state;
    gpu_need();
    enum { WIDTH = 60, HEIGHT = 50, N = WIDTH * HEIGHT };
    cudaStream_t stream;
    assert_int_equal(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
    scan_options options = {.struct_size = sizeof options, .backend = SCAN_BACKEND_CUDA, .stream = stream};
    scan_ctx *ctx;
    assert_int_equal(scan_ctx_create(&ctx, &options), SCAN_OK);
    for (int t = 0; t < 2; t++) {
        const size_t size = scan_type_size(gpu_sample_types[t]), bins = gpu_levels(gpu_sample_types[t]);
        scan_histogram_desc counts = {.struct_size = sizeof counts, .type = gpu_sample_types[t], .channels = 3};
        scan_equalize_desc desc = {.struct_size = sizeof desc,
                                   .type = gpu_sample_types[t],
                                   .channels = 3,
                                   .like = SCAN_LIKE_VIPS,
                                   .tiles_x = 2,
                                   .tiles_y = 2};
        char *in = malloc(3 * N * size), *expected = malloc(3 * N * size), *got = malloc(3 * N * size);
        uint64_t *h = malloc(3 * bins * sizeof *h), *h_got = malloc(3 * bins * sizeof *h);
        void *d_image, *d_equal, *d_adapted, *d_counts;
        gpu_status(ctx, scan_malloc(ctx, 3 * N * size, &d_image), __FILE__, __LINE__);
        gpu_status(ctx, scan_malloc(ctx, 3 * N * size, &d_equal), __FILE__, __LINE__);
        gpu_status(ctx, scan_malloc(ctx, 3 * N * size, &d_adapted), __FILE__, __LINE__);
        gpu_status(ctx, scan_malloc(ctx, 3 * bins * sizeof *h, &d_counts), __FILE__, __LINE__);
        size_t a, b;
        assert_int_equal(scan_equalize_workspace(ctx, &desc, N, &a), SCAN_OK);
        assert_int_equal(scan_clahe_workspace(ctx, &desc, WIDTH, HEIGHT, &b), SCAN_OK);
        gpu_status(ctx, scan_ctx_reserve(ctx, a > b ? a : b), __FILE__, __LINE__);
        gpu_status(ctx, scan_ctx_sync(ctx), __FILE__, __LINE__);

        cudaGraph_t graph;
        cudaGraphExec_t replay;
        assert_int_equal(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), cudaSuccess);
        gpu_status(ctx, scan_histogram(ctx, &counts, d_image, d_counts, N), __FILE__, __LINE__);
        gpu_status(ctx, scan_equalize(ctx, &desc, d_image, d_equal, NULL, N), __FILE__, __LINE__);
        gpu_status(ctx, scan_clahe(ctx, &desc, d_equal, d_adapted, WIDTH, HEIGHT), __FILE__, __LINE__);
        assert_int_equal(cudaStreamEndCapture(stream, &graph), cudaSuccess);
        assert_int_equal(cudaGraphInstantiate(&replay, graph, 0), cudaSuccess);
        for (int i = 0; i < (gpu_is_small ? 2 : 20); i++) {
            gpu_fill_image(gpu_sample_types[t], i % GPU_IMAGE_SHAPES, in, 3 * N, (uint64_t)i);
            gpu_status(ctx, scan_upload(ctx, d_image, in, 3 * N * size), __FILE__, __LINE__);
            assert_int_equal(cudaGraphLaunch(replay, stream), cudaSuccess);
            gpu_status(ctx, scan_download(ctx, got, d_adapted, 3 * N * size), __FILE__, __LINE__);
            gpu_status(ctx, scan_download(ctx, h_got, d_counts, 3 * bins * sizeof *h), __FILE__, __LINE__);
            gpu_status(ctx, scan_ctx_sync(ctx), __FILE__, __LINE__);
            cpu_ok(scan_histogram(cpu, &counts, in, h, N));
            cpu_ok(scan_equalize(cpu, &desc, in, expected, NULL, N));
            cpu_ok(scan_clahe(cpu, &desc, expected, expected, WIDTH, HEIGHT));
            assert_memory_equal(got, expected, 3 * N * size);
            assert_memory_equal(h_got, h, 3 * bins * sizeof *h);
        }
        assert_int_equal(cudaGraphExecDestroy(replay), cudaSuccess);
        assert_int_equal(cudaGraphDestroy(graph), cudaSuccess);
        scan_free(ctx, d_image);
        scan_free(ctx, d_equal);
        scan_free(ctx, d_adapted);
        scan_free(ctx, d_counts);
        free(in);
        free(expected);
        free(got);
        free(h);
        free(h_got);
    }
    scan_ctx_destroy(ctx);
    cudaStreamDestroy(stream);
}

/* The workspace that is asked for is enough, and a byte less is not. */
static void workspace(void **state) {
    (void)state;
    gpu_need();
    scan_ctx *ctx = gpu_context();
    uint64_t rng = 0;
    for (int round = 0; round < (gpu_is_small ? 6 : 60); round++) {
        scan_equalize_desc desc = {.struct_size = sizeof desc, .type = gpu_sample_types[round % 2]};
        desc.channels = 1 + (uint32_t)random_below(&rng, 4);
        desc.like = (scan_like)random_below(&rng, 5);
        desc.color = (scan_color)random_below(&rng, 3);
        desc.tiles_x = 1 + random_bool(&rng);
        desc.tiles_y = 1 + random_bool(&rng);
        const size_t width = 30, height = 40, n = width * height;
        void *image = gpu_put(&d_in, NULL, n * desc.channels, scan_type_size(desc.type), 0), *memory;
        gpu_ok(scan_ctx_sync(gpu));
        for (int verb = 0; verb < 2; verb++) {
            size_t bytes;
            assert_int_equal(verb ? scan_clahe_workspace(ctx, &desc, width, height, &bytes)
                                  : scan_equalize_workspace(ctx, &desc, n, &bytes),
                             SCAN_OK);
            if (bytes == 0)
                continue;
            gpu_ok(scan_malloc(gpu, bytes, &memory));
            for (size_t less = 0; less < 2; less++) {
                assert_int_equal(scan_ctx_lend(ctx, memory, bytes - less), SCAN_OK);
                assert_int_equal(verb ? scan_clahe(ctx, &desc, image, image, width, height)
                                      : scan_equalize(ctx, &desc, image, image, NULL, n),
                                 less ? SCAN_ERR_WORKSPACE : SCAN_OK);
            }
            assert_int_equal(scan_ctx_sync(ctx), SCAN_OK);
            assert_int_equal(scan_ctx_lend(ctx, NULL, 0), SCAN_OK);
            scan_free(gpu, memory);
        }
    }
    scan_ctx_destroy(ctx);
}

/* More than 2^32 pixels of 8 bits and 2^31 of 16, one call each; and as many samples in three channels. */
static void large(void **state) {
    (void)state;
    gpu_need();
    const size_t width = 1 << 16, height = (1 << 16) + 3, n = width * height;
    char *in = malloc(n);
    if (!in)
        skip();
    gpu_fill_image(SCAN_U8, GPU_LOW_CONTRAST, in, n, 1);
    for (int like = 0; like <= SCAN_LIKE_SKIMAGE; like++) {
        equalize_case c = {.type = SCAN_U8, .like = (scan_like)like, .channels = 1, .n = n, .in_place = like % 2};
        check_image(&c, in);
    }
    equalize_case c = {.type = SCAN_U16, .channels = 1, .n = n / 2};
    check_image(&c, in);
    c.type = SCAN_U8;
    c.channels = 3;
    c.n = n / 3;
    check_image(&c, in);
    free(in);
}

int main(int argc, char **argv) {
    static const gpu_test tests[] = {
        GPU_TEST(GPU_MATRIX | GPU_SMALL, matrix),          GPU_TEST(GPU_MATRIX | GPU_SMALL, in_parts),
        GPU_TEST(GPU_MATRIX | GPU_SMALL, one_launch_ends), GPU_TEST(GPU_MATRIX | GPU_SMALL, image_sizes),
        GPU_TEST(GPU_MATRIX | GPU_SMALL, addresses),       GPU_TEST(GPU_MATRIX | GPU_SMALL, real_images),
        GPU_TEST(GPU_STRESS | GPU_SMALL, queued),          GPU_TEST(GPU_STRESS | GPU_SMALL, captured),
        GPU_TEST(GPU_MATRIX | GPU_SMALL, workspace),       GPU_TEST(GPU_LARGE, large),
    };
    return gpu_main("gpu_equalize", tests, sizeof tests / sizeof tests[0], argc, argv);
}
