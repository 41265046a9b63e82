/* SPDX-License-Identifier: MIT
 *
 * What the tests on a GPU share: the contexts, arrays in device memory between red zones, input, sizes, and a main()
 * that runs one part of a program's tests. For C and C++.
 *
 *     static void sums(void **state) {
 *         (void)state;
 *         gpu_need();                                          // skips the test where there is no device
 *         static gpu_array in, out;                            // memory that is kept for the next call
 *         void *d_in = gpu_put(&in, host_in, n, size, offset); // `offset` elements past an aligned address
 *         void *d_out = gpu_put(&out, NULL, n, size, 0);
 *         gpu_ok(scan_prefix(gpu, &desc, d_in, d_out, n));
 *         gpu_get(&out, got);                                  // waits; fails if a red zone was written
 *         gpu_unchanged(&in, host_in);
 *     }
 *     int main(int argc, char **argv) {
 *         static const gpu_test tests[] = {GPU_TEST(GPU_MATRIX | GPU_SMALL, sums)};
 *         return gpu_main("gpu_sums", tests, sizeof tests / sizeof tests[0], argc, argv);
 *     }
 *
 * A program takes the name of a part: matrix, large, stress, or small, which is the tests marked so with fewer and
 * smaller sizes (gpu_is_small): for the emulator and for compute-sanitizer, a hundred times slower than the device.
 * The part listing holds kernels that are wrong on purpose, for compute-sanitizer or the emulator to find. Without
 * an argument it runs matrix and stress. A second argument picks tests by name, with * and ?, or, K/N, every Nth from
 * the Kth on.
 */
#ifndef TESTS_GPU_SUPPORT_H
#define TESTS_GPU_SUPPORT_H

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif
#include <cmocka.h>
#ifdef __cplusplus
}
#endif
/* cmocka's macro `fail` would change the headers that are included after this one. */
#undef fail
#undef fail_msg
#define fail_msg(...)                                                                                                  \
    do {                                                                                                               \
        print_error("ERROR: " __VA_ARGS__);                                                                            \
        print_error("\n");                                                                                             \
        _fail(__FILE__, __LINE__);                                                                                     \
    } while (0)

#include "scan/lists.h"
#include "tests/random.h"

/* ---- parts ------------------------------------------------------------------------------------------------------- */

enum { GPU_MATRIX = 1, GPU_LARGE = 2, GPU_STRESS = 4, GPU_SMALL = 8, GPU_LISTING = 16 };

typedef struct gpu_test {
    unsigned parts;
    struct CMUnitTest test;
} gpu_test;

#define GPU_TEST(parts, function)                                                                                      \
    {                                                                                                                  \
        parts, { #function, function, NULL, NULL, NULL }                                                               \
    }

#ifdef SCAN_EMULATED
enum { GPU_EMULATED = 1 }; /* which is faster than compute-sanitizer: small runs may do more */
#else
enum { GPU_EMULATED = 0 };
#endif
static bool gpu_is_small;
static bool gpu_is_racecheck;  /* small, and for the slowest tool: fewer still, one of each kind */
static scan_ctx *gpu, *cpu;    /* gpu is NULL where there is no device */
static char gpu_folder[4096];  /* of the running program, for data that lies beside it */
static uint64_t gpu_put_count; /* in small runs every second array ends with its allocation */
static char *gpu_stage_memory; /* host memory of gpu_put and gpu_get */
static size_t gpu_stage_bytes;

static inline void gpu_status(scan_ctx *ctx, scan_status status, const char *file, int line) {
    if (status != SCAN_OK) {
        print_error("%s:%d: %s: %s\n", file, line, scan_status_string(status), scan_ctx_detail(ctx));
        _fail(file, line);
    }
}

/* Fails the test, with the detail of the context, unless the call returns SCAN_OK. */
#define gpu_ok(call) gpu_status(gpu, call, __FILE__, __LINE__)
#define cpu_ok(call) gpu_status(cpu, call, __FILE__, __LINE__)
#define gpu_need()                                                                                                     \
    do {                                                                                                               \
        if (!gpu)                                                                                                      \
            skip();                                                                                                    \
    } while (0)

/* A context on the device; NULL where there is none. */
static inline scan_ctx *gpu_context(void) {
    static char detail[256];
    scan_options options;
    memset(&options, 0, sizeof options);
    options.struct_size = sizeof options;
    options.backend = SCAN_BACKEND_CUDA;
    options.detail = detail;
    options.detail_bytes = sizeof detail;
    scan_ctx *ctx;
    scan_status status = scan_ctx_create(&ctx, &options);
    if (status == SCAN_ERR_NO_BACKEND)
        printf("skipped: %s\n", detail);
    else if (status != SCAN_OK)
        fail_msg("%s: %s", scan_status_string(status), detail);
    return ctx;
}

static inline int gpu_open(void **state) {
    (void)state;
    gpu = gpu_context();
    scan_info info;
    info.struct_size = sizeof info;
    if (gpu && scan_ctx_info(gpu, &info) == SCAN_OK)
        printf("scan %s on %s\n", scan_version(), info.name);
    return scan_ctx_create(&cpu, NULL) != SCAN_OK;
}

static inline int gpu_close(void **state) {
    (void)state;
    free(gpu_stage_memory);
    gpu_stage_memory = NULL;
    gpu_stage_bytes = 0;
    scan_ctx_destroy(gpu);
    scan_ctx_destroy(cpu);
    return 0;
}

static inline int gpu_main(const char *name, const gpu_test *tests, size_t count, int argc, char **argv) {
    static const struct {
        const char *name;
        unsigned parts;
    } parts[] = {{"matrix", GPU_MATRIX},
                 {"large", GPU_LARGE},
                 {"stress", GPU_STRESS},
                 {"small", GPU_SMALL},
                 {"listing", GPU_LISTING}};
    unsigned wanted = argc < 2 ? GPU_MATRIX | GPU_STRESS : 0;
    for (size_t i = 0; argc >= 2 && i < sizeof parts / sizeof parts[0]; i++)
        if (strcmp(argv[1], parts[i].name) == 0)
            wanted = parts[i].parts;
    unsigned share = 0, shares = 1; /* K/N: every Nth of them, from the Kth on */
    const bool shared = argc > 2 && sscanf(argv[2], "%u/%u", &share, &shares) == 2;
    struct CMUnitTest chosen[64];
    size_t chosen_count = 0;
    unsigned found = 0;
    for (size_t i = 0; i < count && chosen_count < 64 && share < shares; i++)
        if ((tests[i].parts & wanted) && found++ % shares == share)
            chosen[chosen_count++] = tests[i].test;
    if (wanted == 0 || count > 64 || share >= shares) {
        fprintf(stderr, "usage: %s [matrix|large|stress|small|listing [NAME|K/N]]\n", argv[0]);
        return 2;
    }
    if (chosen_count == 0) {
        printf("%s has no part %s\n", name, argv[1]);
        return 0;
    }
    const char *slash = strrchr(argv[0], '/');
    snprintf(gpu_folder, sizeof gpu_folder, "%.*s", slash ? (int)(slash - argv[0]) : 1, slash ? argv[0] : ".");
    gpu_is_small = wanted == GPU_SMALL;
    gpu_is_racecheck = gpu_is_small && getenv("SCAN_GPU_RACECHECK");
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc > 2 && !shared)
        cmocka_set_test_filter(argv[2]);
    return _cmocka_run_group_tests(name, chosen, chosen_count, gpu_open, gpu_close) != 0;
}

/* A file of the folder data: beside a program that was packed for another machine, else in the source tree. */
#ifdef TEST_DATA_DIR
static inline FILE *gpu_open_data(const char *name) {
    char path[sizeof gpu_folder + 256];
    snprintf(path, sizeof path, "%s/data/%s", gpu_folder, name);
    FILE *file = fopen(path, "rb");
    if (!file) {
        snprintf(path, sizeof path, "%s/%s", TEST_DATA_DIR, name);
        file = fopen(path, "rb");
    }
    return file;
}
#endif

/* ---- arrays ------------------------------------------------------------------------------------------------------ */

/* Device memory: a red zone, the array, a red zone. In small runs every second array is allocated anew and ends with
 * its allocation, so that the checker sees a read past the end. All zero before the first gpu_put. */
typedef struct gpu_array {
    char *memory, *at; /* allocation, first element */
    size_t room, bytes, after;
} gpu_array;

enum { GPU_ZONE = 512, GPU_ZONE_BYTE = 0xee };

static inline char *gpu_stage(size_t bytes) {
    if (bytes > gpu_stage_bytes) {
        free(gpu_stage_memory);
        gpu_stage_memory = (char *)malloc(bytes);
        assert_non_null(gpu_stage_memory);
        gpu_stage_bytes = bytes;
    }
    return gpu_stage_memory;
}

static inline void gpu_release(gpu_array *a) {
    scan_free(gpu, a->memory);
    memset(a, 0, sizeof *a);
}

/* n elements of `size` bytes, `offset` elements past an address aligned to 256 bytes, with the contents of `from`, or
 * red if that is NULL. Returns their address. */
static inline void *gpu_put(gpu_array *a, const void *from, size_t n, size_t size, size_t offset) {
    const bool exact = gpu_is_small && gpu_put_count++ % 2;
    const size_t before = GPU_ZONE + offset * size;
    a->bytes = n * size;
    a->after = exact ? 0 : GPU_ZONE;
    const size_t all = before + a->bytes + a->after;
    if (exact || all > a->room) {
        scan_free(gpu, a->memory);
        a->memory = NULL;
        a->room = exact || gpu_is_small ? all : all + all / 4;
        void *memory;
        gpu_ok(scan_malloc(gpu, a->room, &memory));
        a->memory = (char *)memory;
    }
    char *stage = gpu_stage(all);
    memset(stage, GPU_ZONE_BYTE, all);
    if (from && n)
        memcpy(stage + before, from, a->bytes);
    gpu_ok(scan_upload(gpu, a->memory, stage, all));
    a->at = a->memory + before;
    return a->at;
}

/* Waits, checks the red zones, and copies the array to `to`, if that is not NULL. */
static inline void gpu_get(gpu_array *a, void *to) {
    const size_t before = (size_t)(a->at - a->memory), all = before + a->bytes + a->after;
    char *stage = gpu_stage(all);
    gpu_ok(scan_download(gpu, stage, a->memory, all));
    gpu_ok(scan_ctx_sync(gpu));
    for (size_t i = 0; i < before; i++)
        if ((unsigned char)stage[i] != GPU_ZONE_BYTE)
            fail_msg("byte %zu before an array of %zu bytes was written", before - i, a->bytes);
    for (size_t i = before + a->bytes; i < all; i++)
        if ((unsigned char)stage[i] != GPU_ZONE_BYTE)
            fail_msg("byte %zu after an array of %zu bytes was written", i - before - a->bytes, a->bytes);
    if (to && a->bytes)
        memcpy(to, stage + before, a->bytes);
}

/* Checks that the array, an input, has not changed. */
static inline void gpu_unchanged(gpu_array *a, const void *from) {
    gpu_get(a, NULL);
    if (a->bytes && memcmp(gpu_stage_memory + (a->at - a->memory), from, a->bytes) != 0)
        fail_msg("an input of %zu bytes was written", a->bytes);
}

/* Returns the position of the first element that differs, n if none does. */
static inline size_t gpu_first_difference(const void *a, const void *b, size_t n, size_t size) {
    if (n == 0 || memcmp(a, b, n * size) == 0)
        return n;
    size_t i = 0;
    while (memcmp((const char *)a + i * size, (const char *)b + i * size, size) == 0)
        i++;
    return i;
}

static inline bool gpu_is_float(scan_type type) { return scan_is_float(type); }
static inline bool gpu_is_signed(scan_type type) { return scan_is_signed(type); }

/* ---- input ------------------------------------------------------------------------------------------------------- */

/* X(enum, name): what an array may look like. Random integers are any bits, random floats +-[0, 1) * 2^-(0 ... 7). */
#define GPU_SHAPES(X)                                                                                                  \
    X(RANDOM, random)                                                                                                  \
    X(CONSTANT, constant)                                                                                              \
    X(ASCENDING, ascending)                                                                                            \
    X(DESCENDING, descending)                                                                                          \
    X(FEW, few)         /* three values */                                                                             \
    X(SPARSE, sparse)   /* zero but for one element in 97 */                                                           \
    X(EXTREMES, ends)   /* the minimum and the maximum, 0, 1, -1 */                                                    \
    X(SPECIAL, special) /* floats: NaN of both signs, infinities, -0, denormals; integers: powers of two */

typedef enum gpu_shape {
#define GPU_SHAPE_ROW(ENUM, name) GPU_##ENUM,
    GPU_SHAPES(GPU_SHAPE_ROW)
#undef GPU_SHAPE_ROW
        GPU_SHAPE_COUNT
} gpu_shape;

static inline const char *gpu_shape_name(gpu_shape shape) {
    static const char *const names[] = {
#define GPU_SHAPE_ROW(ENUM, name) #name,
        GPU_SHAPES(GPU_SHAPE_ROW)
#undef GPU_SHAPE_ROW
    };
    return names[shape];
}

static inline double gpu_random_float(uint64_t *rng) {
    const double x = ((double)random_below(rng, 1 << 24) - 0x1p23) * 0x1p-23;
    return ldexp(x, -(int)random_below(rng, 8));
}

static inline double gpu_float_element(scan_type type, gpu_shape shape, size_t i, size_t n, uint64_t *rng) {
    const bool wide = type == SCAN_F64;
    const double greatest = wide ? DBL_MAX : (double)FLT_MAX, smallest = wide ? 0x1p-1074 : 0x1p-149;
    const double ends[] = {greatest, -greatest, 0, -0.0, 1, -1, smallest, -smallest};
    const double nan = (double)NAN, infinity = (double)INFINITY;
    const double special[] = {nan, -nan, infinity, -infinity, -0.0, 0, smallest * 5, -smallest * 3};
    switch (shape) {
    case GPU_CONSTANT: return 1.25;
    case GPU_ASCENDING: return (double)i - (double)n / 2;
    case GPU_DESCENDING: return (double)n / 2 - (double)i;
    case GPU_FEW: return (double)random_below(rng, 3) - 1.5;
    case GPU_SPARSE: return random_below(rng, 97) ? 0 : gpu_random_float(rng);
    case GPU_EXTREMES: return ends[random_below(rng, 8)];
    case GPU_SPECIAL: return random_below(rng, 11) ? gpu_random_float(rng) : special[random_below(rng, 8)];
    default: return gpu_random_float(rng);
    }
}

static inline uint64_t gpu_integer_element(scan_type type, gpu_shape shape, size_t i, size_t n, uint64_t *rng) {
    const unsigned bits = (unsigned)scan_type_size(type) * 8;
    const uint64_t all = ~(uint64_t)0 >> (64 - bits), top = (uint64_t)1 << (bits - 1);
    const uint64_t ends[] = {gpu_is_signed(type) ? top : 0, gpu_is_signed(type) ? all ^ top : all, 0, 1, all};
    const uint64_t lowest = gpu_is_signed(type) ? top : 0; /* ascending covers the type's whole range */
    const uint64_t rank = n ? (uint64_t)((unsigned __int128)i * all / n) : 0;
    switch (shape) {
    case GPU_CONSTANT: return 1;
    case GPU_ASCENDING: return lowest + rank;
    case GPU_DESCENDING: return lowest + (all - rank);
    case GPU_FEW: return random_mix(random_below(rng, 3) + 17);
    case GPU_SPARSE: return random_below(rng, 97) ? 0 : random_u64(rng);
    case GPU_EXTREMES: return ends[random_below(rng, 5)];
    case GPU_SPECIAL: return (uint64_t)1 << random_below(rng, bits);
    default: return random_u64(rng);
    }
}

/* n elements of a shape; the same for the same seed. */
static inline void gpu_fill(scan_type type, gpu_shape shape, void *memory, size_t n, uint64_t seed) {
    const size_t size = scan_type_size(type);
    char *at = (char *)memory;
    uint64_t rng = seed;
    for (size_t i = 0; i < n; i++, at += size) {
        if (!gpu_is_float(type)) {
            uint64_t x = gpu_integer_element(type, shape, i, n, &rng);
            memcpy(at, &x, size);
        } else {
            double f64 = gpu_float_element(type, shape, i, n, &rng);
            float f32 = (float)f64;
            memcpy(at, size == 4 ? (void *)&f32 : (void *)&f64, size);
        }
    }
}

/* ---- sizes ------------------------------------------------------------------------------------------------------- */

enum { GPU_MAX_SIZES = 128 };

/* Sizes for elements (or accumulators) of `size` bytes: small ones at the ends of rows and warps, powers of two, some
 * chunks of 4 KiB and tiles of 32 KiB, each with its neighbours. In small runs about a fifth of them, the largest a
 * little more than two tiles. Returns how many. */
static inline size_t gpu_sizes(size_t size, size_t *sizes) {
    static const size_t few[] = {0, 1, 2, 3, 31, 32, 33, 129, 1000, 1025, 2049};
    static const size_t low[] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  15, 16, 17, 24,  31,
                                 32, 33, 47, 63, 64, 65, 95, 96, 97, 99, 12, 13, 30, 110, 130};
    size_t count = 0, chunk = 4096 / size, tile = 8 * chunk;
    if (gpu_is_small) {
        for (size_t i = 0; i < sizeof few / sizeof few[0]; i++)
            sizes[count++] = few[i];
        sizes[count++] = chunk + 1;
        sizes[count++] = tile - 1;
        sizes[count++] = tile + 1;
        sizes[count++] = 2 * tile + 77;
        return count;
    }
    for (size_t i = 0; i < sizeof low / sizeof low[0]; i++)
        sizes[count++] = low[i];
    for (size_t power = 128; power <= 131072; power *= 2)
        for (size_t n = power - 1; n <= power + 1; n++)
            sizes[count++] = n;
    for (size_t chunks = 3; chunks <= 33; chunks = 2 * chunks - 1) /* 3, 5, 9, 17, 33 */
        for (size_t n = chunks * chunk - 1; n <= chunks * chunk + 1; n++)
            sizes[count++] = n;
    for (size_t tiles = 3; tiles <= 33; tiles += 10)
        for (size_t n = tiles * tile - 1; n <= tiles * tile + 1; n++)
            sizes[count++] = n;
    sizes[count++] = 100003;
    return count;
}

#endif
