/* SPDX-License-Identifier: MIT
 *
 * Images for the tests of equalization: synthetic ones, from random to one level, and those of data/ that need no
 * decoder.
 */
#ifndef TESTS_GPU_IMAGES_H
#define TESTS_GPU_IMAGES_H

#include "gpu_support.h"

static const scan_type gpu_sample_types[] = {SCAN_U8, SCAN_U16};

static inline size_t gpu_levels(scan_type type) { return type == SCAN_U8 ? 256 : 65536; }

/* Shapes after those of gpu_support.h. */
enum { GPU_LOW_CONTRAST = GPU_SHAPE_COUNT, GPU_IMAGE_SHAPES };

static inline void gpu_fill_image(scan_type type, int shape, void *samples, size_t n, uint64_t seed) {
    if (shape != GPU_LOW_CONTRAST) {
        gpu_fill(type, (gpu_shape)shape, samples, n, seed);
        return;
    }
    uint64_t rng = seed;
    const uint32_t top = (uint32_t)gpu_levels(type) - 1, base = (uint32_t)random_below(&rng, top - top / 4);
    for (size_t i = 0; i < n; i++) {
        const uint64_t product = random_below(&rng, 256) * random_below(&rng, 256);
        const uint32_t value = base + (uint32_t)(product % (top / 8));
        if (type == SCAN_U8)
            ((uint8_t *)samples)[i] = (uint8_t)value;
        else
            ((uint16_t *)samples)[i] = (uint16_t)value;
    }
}

/* The images of data/ that need no decoder. */
static const char *const gpu_image_files[] = {"jacksboro_dem.pgm", "expected/color.ppm"};
enum { GPU_IMAGE_FILES = sizeof gpu_image_files / sizeof gpu_image_files[0] };

typedef struct gpu_image {
    scan_type type;
    uint32_t channels;
    size_t width, height;
    void *samples; /* in this machine's order; the caller's to free */
} gpu_image;

/* Reads a binary PGM or PPM, the upper quarter of it in small runs. Skips the test if it is not there. */
static inline gpu_image gpu_read_image(const char *name) {
    FILE *file = gpu_open_data(name);
    if (!file)
        skip();
    char kind;
    unsigned w, h, top;
    assert_int_equal(fscanf(file, "P%c %u %u %u", &kind, &w, &h, &top), 4);
    fgetc(file);
    gpu_image image = {top > 255 ? SCAN_U16 : SCAN_U8, kind == '6' ? 3 : 1, w, gpu_is_small ? h / 4 : h, NULL};
    const size_t bytes = (size_t)w * h * image.channels * scan_type_size(image.type);
    uint8_t *samples = malloc(bytes);
    assert_int_equal(fread(samples, 1, bytes, file), bytes);
    fclose(file);
    if (image.type == SCAN_U16)
        for (size_t i = 0; i < bytes; i += 2) {
            uint8_t high = samples[i];
            samples[i] = samples[i + 1];
            samples[i + 1] = high;
        }
    image.samples = samples;
    return image;
}

#endif
