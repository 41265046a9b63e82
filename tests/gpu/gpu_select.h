/* SPDX-License-Identifier: MIT
 *
 * For the tests of compact and unique: the tile sizes of the select engine's grids, and array sizes around every
 * switch.
 */
#ifndef TESTS_GPU_SELECT_H
#define TESTS_GPU_SELECT_H

#include <cuda_runtime_api.h>

#include "gpu_sm_count.h"
#include "gpu_support.h"

/* Whether the engine's wave runs here: without it a selection by wave has no workspace. */
static inline bool has_wave(void) {
    const uint8_t flag = 1;
    const scan_compact_desc desc = {
        .struct_size = sizeof desc, .type = SCAN_U32, .flags = &flag, .grid = SCAN_GRID_WAVE};
    size_t bytes = 0;
    gpu_ok(scan_compact_workspace(gpu, &desc, 1, &bytes));
    return bytes > 0;
}

/* Elements of a tile, by element size: for look-back, for the wave, for the wave with flags. */
static inline size_t look_back_tile(size_t size) { return size == 1 ? 8192 : 16384 / size; }
static inline size_t wave_tile(size_t size) { return size == 1 ? 24576 : size == 2 ? 14336 : 32768 / size; }
static inline size_t flags_wave_tile(size_t size) {
    return size == 1 ? 14336 : size == 2 ? 8192 : size == 4 ? 6144 : 3584;
}

enum { MAX_SELECT_SIZES = GPU_MAX_SIZES + 24 };

/* Around the sizes where one CTA no longer suffices, where tiles of either grid end, and where AUTO picks the wave. */
static inline size_t select_sizes(scan_type type, size_t *sizes) {
    const size_t size = scan_type_size(type), look_back = look_back_tile(size);
    const size_t wave = wave_tile(size), all_sms = gpu_sm_count() * wave; /* a tile for each SM */
    const size_t ends[] = {look_back, 2 * look_back,  5 * look_back,   40 * look_back,
                           all_sms,   all_sms + wave, 2 * all_sms + 77};
    size_t count = gpu_sizes(size, sizes);
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
        for (size_t n = ends[i] - 1; n <= ends[i] + 1 && (!gpu_is_small || ends[i] < 70000); n++) {
            assert_true(count < MAX_SELECT_SIZES);
            sizes[count++] = n;
        }
    return count;
}

static inline void put_index(scan_type type, void *array, size_t i, uint64_t index) {
    if (type == SCAN_U32)
        ((uint32_t *)array)[i] = (uint32_t)index;
    else
        ((uint64_t *)array)[i] = index;
}

#endif
