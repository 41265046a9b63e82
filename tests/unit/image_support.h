/* SPDX-License-Identifier: MIT
 *
 * What the tests of histogram, equalize and clahe share: images of several kinds, and arrays far longer than memory.
 */
#ifndef TESTS_UNIT_IMAGE_SUPPORT_H
#define TESTS_UNIT_IMAGE_SUPPORT_H

#include "support.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SLOW_BUILD 1
#else
#define SLOW_BUILD 0
#endif

/* Whether SCAN_SIMD names the highest level of the processor, or none. Kernels get blocks and rows: beyond 32 bits all
 * levels do the same. */
static inline bool is_highest_level(void) {
    char *level = getenv("SCAN_SIMD");
    if (!level || !level[0])
        return true;
    level = strdup(level);
    unsetenv("SCAN_SIMD");
    scan_ctx *ctx = context_with_threads(1);
    const bool is_highest = strcmp(scan_simd_name(scan_cpu(ctx)->simd), level) == 0;
    scan_ctx_destroy(ctx);
    setenv("SCAN_SIMD", level, 1);
    free(level);
    return is_highest;
}

typedef enum picture { UNIFORM, LOW_CONTRAST, CONSTANT, TWO_LEVELS, GRADIENT, SKEWED, RUNS, PICTURES } picture;

static inline uint32_t sample_get(scan_type type, const void *samples, size_t i) {
    return type == SCAN_U8 ? ((const uint8_t *)samples)[i] : ((const uint16_t *)samples)[i];
}

static inline void sample_set(scan_type type, void *samples, size_t i, uint32_t value) {
    if (type == SCAN_U8)
        ((uint8_t *)samples)[i] = (uint8_t)value;
    else
        ((uint16_t *)samples)[i] = (uint16_t)value;
}

static inline size_t bins_of(scan_type type) { return type == SCAN_U8 ? 256 : 65536; }

static inline void fill_picture(picture kind, scan_type type, void *samples, size_t n, uint64_t seed) {
    const uint32_t top = (uint32_t)bins_of(type) - 1;
    const uint32_t base = (uint32_t)(random_u64(&seed) % (top - top / 4));
    for (size_t i = 0; i < n; i++) {
        uint64_t r = random_u64(&seed);
        uint32_t value = 0;
        switch (kind) {
        case UNIFORM: value = (uint32_t)(r & top); break;
        case LOW_CONTRAST: value = base + (uint32_t)(r % (top / 8)); break;
        case CONSTANT: value = base; break;
        case TWO_LEVELS: value = r & 1 ? base : base + top / 5; break;
        case GRADIENT: value = (uint32_t)(i * (top + 1) / n); break;
        case SKEWED:
            value = (uint32_t)((r & 0xffff) * (r >> 16 & 0xffff) >> 16 & top) / (uint32_t)(1 + (r >> 40) % 9);
            break;
        case RUNS: value = i / 100 % 3 == 0 ? base : (uint32_t)(r & top); break;
        case PICTURES: break;
        }
        sample_set(type, samples, i, value);
    }
}

/* An array of `bytes` whose pages repeat the `unit_bytes` of a small file: unit_bytes of memory in all. NULL where the
 * system does not give such a mapping. */
typedef struct repeated {
    unsigned char *memory;
    size_t bytes;
} repeated;

static inline repeated repeated_create(size_t unit_bytes, size_t bytes) {
    repeated r = {NULL, (bytes + unit_bytes - 1) / unit_bytes * unit_bytes};
    int file = memfd_create("repeated", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, (off_t)unit_bytes) != 0)
        return r;
    void *all = mmap(NULL, r.bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (all != MAP_FAILED) {
        r.memory = all;
        for (size_t i = 0; i < r.bytes; i += unit_bytes)
            if (mmap(r.memory + i, unit_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_POPULATE, file,
                     0) == MAP_FAILED) {
                munmap(all, r.bytes);
                r.memory = NULL;
                break;
            }
    }
    close(file);
    return r;
}

static inline void repeated_destroy(repeated r) {
    if (r.memory)
        munmap(r.memory, r.bytes);
}

#endif
