/* SPDX-License-Identifier: MIT
 *
 * scan_clahe on the device against the CPU backend, byte for byte; tests/unit compares the latter with OpenCV's
 * arithmetic and images. Sides that no grid divides, smaller than the grid, smaller than a reflection; tiles that
 * several CTAs count, and more tables than are counted at a time.
 */
#include "gpu_images.h"

static gpu_array d_in, d_out;

typedef struct clahe_case {
    scan_type type;
    scan_color color;
    uint32_t channels, tiles_x, tiles_y;
    double clip;
    int shape;
    size_t width, height, in_offset, out_offset;
    bool in_place;
} clahe_case;

static void check_image(const clahe_case *c, const void *in) {
    const size_t size = scan_type_size(c->type), samples = c->width * c->height * c->channels;
    char *expected = malloc(samples * size), *got = malloc(samples * size);
    scan_equalize_desc desc = {.struct_size = sizeof desc,
                               .type = c->type,
                               .channels = c->channels,
                               .color = c->color,
                               .tiles_x = c->tiles_x,
                               .tiles_y = c->tiles_y,
                               .clip = c->clip};
    cpu_ok(scan_clahe(cpu, &desc, in, expected, c->width, c->height));
    void *from = gpu_put(&d_in, in, samples, size, c->in_offset);
    void *to = c->in_place ? from : gpu_put(&d_out, NULL, samples, size, c->out_offset);
    gpu_ok(scan_clahe(gpu, &desc, from, to, c->width, c->height));
    gpu_get(c->in_place ? &d_in : &d_out, got);
    const size_t wrong = gpu_first_difference(got, expected, samples, size);
    if (wrong < samples)
        fail_msg("%s, color %d, %u channels, %zu x %zu, tiles %u x %u, clip %g, shape %d, offsets %zu %zu%s: sample "
                 "%zu",
                 scan_type_name(c->type), (int)c->color, c->channels, c->width, c->height, c->tiles_x, c->tiles_y,
                 c->clip, c->shape, c->in_offset, c->out_offset, c->in_place ? ", in place" : "", wrong);
    if (!c->in_place)
        gpu_unchanged(&d_in, in);
    free(expected);
    free(got);
}

static void check(const clahe_case *c) {
    const size_t samples = c->width * c->height * c->channels;
    char *in = malloc(samples * scan_type_size(c->type));
    gpu_fill_image(c->type, c->shape, in, samples, c->width * 31 + c->height);
    check_image(c, in);
    free(in);
}

/* Draws what is left open. */
static clahe_case draw(scan_type type, size_t width, size_t height, uint64_t seed) {
    static const double clips[] = {0, 0.5, 1, 2.5, 7.3, 40, -1, 1e300};
    uint64_t rng = seed;
    clahe_case c = {.type = type, .width = width, .height = height};
    c.channels = 1 + (uint32_t)random_below(&rng, 4);
    c.color = (scan_color)random_below(&rng, 3);
    c.tiles_x = (uint32_t)random_below(&rng, 10);
    c.tiles_y = (uint32_t)random_below(&rng, 10);
    c.clip = clips[random_below(&rng, 8)];
    c.shape = (int)random_below(&rng, GPU_IMAGE_SHAPES);
    c.in_place = random_bool(&rng);
    if (random_bool(&rng)) {
        c.in_offset = random_below(&rng, 16);
        c.out_offset = random_below(&rng, 16);
    }
    return c;
}

/* Sides that no grid divides, smaller than the grid, smaller than a reflection. */
static void matrix(void **state) {
    (void)state;
    gpu_need();
    uint64_t seed = 0;
    for (size_t width = 1; width <= 140; width += width < 12 ? (gpu_is_small ? 5 : 1) : (gpu_is_small ? 61 : 11))
        for (size_t height = 1; height <= 140;
             height += height < 8 ? (gpu_is_small ? 3 : 1) : (gpu_is_small ? 83 : 13)) {
            clahe_case c = draw(SCAN_U8, width, height, ++seed);
            check(&c);
            c = draw(SCAN_U16, width, height, ++seed);
            if (gpu_is_small) /* 16-bit tables take the emulator long */
                c.tiles_x = c.tiles_y = 1 + seed % 2;
            if (!gpu_is_small || seed % 5 == 0)
                check(&c);
        }
}

/* Tiles that several CTAs count, and more tables than are counted at a time. */
static void sizes(void **state) {
    (void)state;
    gpu_need();
    static const struct {
        size_t width, height;
        uint32_t tiles_x, tiles_y;
    } cases[] = {{515, 300, 1, 1}, {1024, 777, 1, 2}, {2001, 1503, 8, 8}, {640, 480, 40, 30}, {4096, 3000, 8, 8}};
    for (size_t i = 0; i < (gpu_is_small ? 1 : sizeof cases / sizeof cases[0]); i++)
        for (int t = 0; t < 2; t++)
            for (uint32_t channels = 1; channels <= (gpu_is_small ? 1 : 4); channels++)
                for (int shape = 0; shape < GPU_IMAGE_SHAPES; shape += gpu_is_small ? GPU_IMAGE_SHAPES - 1 : 1) {
                    clahe_case c = draw(gpu_sample_types[t], cases[i].width, cases[i].height, i + (size_t)shape);
                    c.channels = channels;
                    c.shape = shape;
                    c.tiles_x = cases[i].tiles_x;
                    c.tiles_y = cases[i].tiles_y;
                    check(&c);
                }
}

static void real_images(void **state) {
    (void)state;
    gpu_need();
    for (int i = 0; i < GPU_IMAGE_FILES; i++) {
        const gpu_image image = gpu_read_image(gpu_image_files[i]);
        clahe_case c = draw(image.type, image.width, image.height, 1);
        c.channels = image.channels;
        c.tiles_x = gpu_is_small ? 2 : 0;
        c.tiles_y = gpu_is_small ? 3 : 0;
        check_image(&c, image.samples);
        free(image.samples);
    }
}

/* More than 2^32 pixels, in one tile and in many. */
static void large(void **state) {
    (void)state;
    gpu_need();
    const size_t width = 1 << 16, height = (1 << 16) + 3, n = width * height;
    char *in = malloc(n);
    if (!in)
        skip();
    gpu_fill_image(SCAN_U8, GPU_LOW_CONTRAST, in, n, 1);
    clahe_case c = {.type = SCAN_U8, .channels = 1, .tiles_x = 1, .tiles_y = 1, .width = width, .height = height};
    check_image(&c, in);
    c.tiles_x = c.tiles_y = 8;
    check_image(&c, in);
    c.type = SCAN_U16;
    c.height /= 2;
    check_image(&c, in);
    free(in);
}

int main(int argc, char **argv) {
    static const gpu_test tests[] = {
        GPU_TEST(GPU_MATRIX | GPU_SMALL, matrix),
        GPU_TEST(GPU_MATRIX | GPU_SMALL, sizes),
        GPU_TEST(GPU_MATRIX | GPU_SMALL, real_images),
        GPU_TEST(GPU_LARGE, large),
    };
    return gpu_main("gpu_clahe", tests, sizeof tests / sizeof tests[0], argc, argv);
}
