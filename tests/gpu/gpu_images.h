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
    const uint32_t top = (uint32_t)gpu_levels(type) - 1, base = (uint32_t)(gpu_mix(seed) % (top - top / 4));
    for (size_t i = 0; i < n; i++) {
        const uint64_t r = gpu_mix(seed + i);
        const uint32_t value = base + (uint32_t)((r & 255) * (r >> 8 & 255) % (top / 8));
        if (type == SCAN_U8)
            ((uint8_t *)samples)[i] = (uint8_t)value;
        else
            ((uint16_t *)samples)[i] = (uint16_t)value;
    }
}

/* A binary PGM or PPM of the folder data: its samples in this machine's order; NULL if it is not there. */
static inline void *gpu_read_pnm(const char *name, scan_type *type, uint32_t *channels, size_t *width, size_t *height) {
    FILE *file = gpu_open_data(name);
    if (!file)
        return NULL;
    char kind;
    unsigned w, h, top;
    assert_int_equal(fscanf(file, "P%c %u %u %u", &kind, &w, &h, &top), 4);
    fgetc(file);
    *type = top > 255 ? SCAN_U16 : SCAN_U8;
    *channels = kind == '6' ? 3 : 1;
    *width = w;
    *height = h;
    const size_t bytes = (size_t)w * h * *channels * scan_type_size(*type);
    uint8_t *samples = malloc(bytes);
    assert_int_equal(fread(samples, 1, bytes, file), bytes);
    fclose(file);
    if (*type == SCAN_U16)
        for (size_t i = 0; i < bytes; i += 2) {
            uint8_t high = samples[i];
            samples[i] = samples[i + 1];
            samples[i + 1] = high;
        }
    return samples;
}

#endif
