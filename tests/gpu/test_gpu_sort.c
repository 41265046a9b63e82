/* SPDX-License-Identifier: MIT
 *
 * scan_sort and scan_argsort on the device against the CPU backend, bit for bit, and for short arrays against the
 * oracle of tests/unit too: every type and distribution, keys alone and with values, windows of bits, directions, NaN
 * first and last, addresses, in place, counts on the device, sizes around every switch.
 */

#include <math.h>

#include "gpu_sort.h"

/* Around: rows, where one launch ends, tiles of 14, 24 and 28 rows of 12 warps, of 32 rows of 16, and in the emulator
 * portions of three tiles and more. */
static const size_t sizes[] = {0,     1,     2,     31,    33,    511,   513,   1000,  2049,   4095,
                               4096,  4097,  5376,  5377,  8191,  8192,  8193,  9000,  9216,   9217,
                               10752, 10753, 16384, 16385, 20000, 21505, 30000, 32769, 43008,  43009,
                               50177, 53761, 65536, 65537, 70000, 86017, 98304, 98305, 1000003};
enum { SIZES = sizeof sizes / sizeof sizes[0], SMALL_SIZES = 33, SMALLEST_SIZES = 23 };

/* racecheck takes half a minute for a sort by one cluster, which has a program of its own. */
static scan_sort_method choice(uint64_t z) { return z & 4 && !gpu_is_racecheck ? SCAN_SORT_AUTO : SCAN_SORT_RADIX; }

static void matrix(void **state) {
    (void)state;
    gpu_need();
    size_t next = 0;
    for (int type = 1; type <= SCAN_TYPE_COUNT; type++)
        for (int data = 0; data < DISTRIBUTIONS; data++)
            for (int repeat = 0; repeat < (gpu_is_small ? 1 : 12); repeat++) {
                const uint64_t z = random_mix(++turn);
                if (gpu_is_racecheck && (type + data) % 4)
                    continue;
                const sort_case order = whole((scan_type)type, z);
                next = (next + 1 + (z >> 8) % 5) % (gpu_is_small ? SMALLEST_SIZES : SIZES);
                check_array(&order, choice(z), sizes[next], data, gpu_is_small ? 1 : 5);
            }
}

static void every_size(void **state) {
    (void)state;
    gpu_need();
    for (size_t s = 0; s < (gpu_is_small ? SMALL_SIZES : SIZES); s += gpu_is_racecheck ? 3 : 1)
        for (int repeat = 0; repeat < (gpu_is_small ? 1 : 10); repeat++) {
            const uint64_t z = random_mix(++turn);
            const sort_case order = whole((scan_type)(1 + (z >> 8) % SCAN_TYPE_COUNT), z);
            check_array(&order, choice(z), sizes[s], repeat ? (int)((z >> 16) % DISTRIBUTIONS) : 0,
                        gpu_is_small ? 1 : 5);
        }
}

/* Every distribution on both sides of where the survey's tables are large (sort.cu, wide_survey_least): keys alone out
 * of place, which are copied while they are found in order, and another call. */
static void many_keys(void **state) {
    (void)state;
    gpu_need();
    const bool few = GPU_EMULATED || gpu_is_small;
    static const scan_type types[] = {SCAN_U32, SCAN_F64, SCAN_I64, SCAN_F32, SCAN_U64, SCAN_I32, SCAN_U16};
    for (int data = 0; data < DISTRIBUTIONS; data++)
        for (int side = 0; side < 2; side++) {
            const uint64_t z = random_mix(++turn);
            const sort_case order = whole(types[(data + side) % 7], side ? z : 0);
            const size_t n = few ? 19999 + (size_t)side : 8388607 + (size_t)side;
            if ((few && (data + side) % 2) || (gpu_is_racecheck && data % 4))
                continue;
            check_array(&order, SCAN_SORT_RADIX, n, data, few ? 1 : 2);
            const sort_call alone = {.order = order, .method = SCAN_SORT_RADIX, .n = n, .bound = n, .data = data};
            run_sort(&alone);
        }
}

static void split(void **state) {
    (void)state;
    gpu_need();
    static const size_t split_sizes[] = {0, 1, 33, 1023, 1024, 1025, 3000, 5000, 100003};
    size_t next = 0;
    for (int type = 1; type <= SCAN_TYPE_COUNT; type += gpu_is_racecheck ? 3 : 1)
        for (int repeat = 0; repeat < (gpu_is_small ? 1 : 20); repeat++) {
            const uint64_t z = random_mix(++turn);
            const sort_case order = whole((scan_type)type, z);
            next = (next + 1) % (gpu_is_small ? 6 : 9);
            check_array(&order, SCAN_SORT_SPLIT, split_sizes[next], (int)((z >> 8) % DISTRIBUTIONS), 2);
        }
}

static void windows(void **state) {
    (void)state;
    gpu_need();
    for (int round = 0; round < (gpu_is_racecheck ? 4 : gpu_is_small ? 16 : 300); round++) {
        const uint64_t z = random_mix(++turn);
        const scan_type type = (scan_type)(1 + z % 8);
        const uint32_t width = type_bits(type), end = (z >> 8) % 4 ? 1 + (uint32_t)((z >> 16) % width) : width;
        const sort_case order = {type, z >> 40 & 1, false, (uint32_t)((z >> 24) % (end + 1)), end};
        const size_t n = sizes[(z >> 48) % SMALL_SIZES];
        const bool splits = z >> 41 & 1 && n < 10000;
        check_array(&order, splits ? SCAN_SORT_SPLIT : SCAN_SORT_RADIX, n,
                    round % 3 ? 0 : (int)((z >> 32) % DISTRIBUTIONS), 2);
    }
    for (uint32_t digits = 1; digits <= 5; digits++) { /* all kinds of call */
        const sort_case order = {SCAN_U64, digits & 1, false, 3, 3 + 8 * digits - 2};
        check_array(&order, SCAN_SORT_RADIX, 5000 + digits, 0, 5);
    }
}

/* ---- a few digits at the top, and buckets of keys that agree in them ----------------------------------------------
 */

enum local_shape {
    LOCAL_UNIFORM,
    LOCAL_SPIKE,    /* some have one value */
    LOCAL_BUCKET,   /* some share two digits at the top */
    LOCAL_CROWDED,  /* few values of the two digits at the top */
    LOCAL_REPEATED, /* few values */
    LOCAL_RARE,     /* few values, and some others that a sample does not see */
    LOCAL_TWO,      /* two values */
    LOCAL_DENSE,    /* most in a sixteenth of the range */
    LOCAL_EDGES,    /* often the first or the last of a bucket */
    LOCAL_EVEN,     /* of floats: between two limits, but for a few that may have one value, or any */
    LOCAL_SHAPES
};

/* 64 bits, of which 4-byte keys are the upper ones. some: how many of n, about. */
static uint64_t local_bits(enum local_shape shape, uint64_t z, uint64_t y, uint64_t prefix, size_t some, size_t n) {
    switch (shape) {
    case LOCAL_SPIKE: return y % n < some ? prefix : z;
    case LOCAL_BUCKET: return y % n < some ? (prefix & ~(~(uint64_t)0 >> 16)) | z >> 16 : z;
    case LOCAL_CROWDED: return y % 64 ? (z & ~((uint64_t)0x1ff << 48)) | (uint64_t)5 << 48 : z;
    case LOCAL_REPEATED: return random_mix(z % (some + 1));
    case LOCAL_RARE: return y % n < some / 50 ? z : random_mix(z % 16);
    case LOCAL_TWO: return y % n < some ? prefix : ~prefix;
    case LOCAL_DENSE: return y % 16 ? (prefix & ~(~(uint64_t)0 >> 4)) | z >> 4 : z;
    case LOCAL_EDGES: {
        const uint64_t rest = ~(uint64_t)0 >> (y & 4 ? 8 : 16);
        return y % 4 == 0 ? z & ~rest : y % 4 == 1 ? z | rest : z;
    }
    default: return z;
    }
}

/* Floats: no NaN and no -0, or some of both. */
static uint64_t local_float(uint64_t key, uint32_t width, bool odd, uint64_t y) {
    const uint64_t sign = (uint64_t)1 << (width - 1), infinity = width == 32 ? 0x7f800000 : (uint64_t)0x7ff << 52;
    if ((key & ~sign) > infinity || key == sign)
        key ^= (uint64_t)3 << (width - 3);
    if (odd && y % 50 < 3)
        key = y % 50 == 0 ? sign & y << 32 : infinity | (y & (sign | 7));
    return key;
}

/* A share of 1 from an even one: a bell, two bells apart, exponential, many near the first limit, nearly all at it. */
static double bent(double x, uint64_t y, uint32_t bend) {
    const double bell = (x + (double)(y & 0xffff) * 0x1p-16 + (double)(y >> 16 & 0xffff) * 0x1p-16) / 3;
    switch (bend) {
    case 0: return bell;
    case 1: return y >> 32 & 1 ? bell / 16 : (bell + 15) / 16;
    case 2: return -log(1 - x * (1 - 0x1p-30)) / 21;
    case 3: return x * x * x;
    case 4: return pow(x, 40);
    default: return x;
    }
}

static uint64_t even_float(scan_type type, uint64_t z, uint64_t y, uint64_t prefix, size_t some, size_t n) {
    static const float limits[][2] = {{-1, 1}, {0, 1}, {1000, 1001}, {-3e38f, 3e38f}, {-1e-40f, 1e-40f}, {5, 300}};
    const float *limit = limits[prefix % 6];
    const double share = bent((double)(z >> 11) * 0x1p-53, y, prefix >> 16 & 7),
                 x = limit[0] * (1 - share) + limit[1] * share;
    const float single = (float)x;
    uint32_t word;
    uint64_t bits;
    memcpy(&word, &single, sizeof word);
    memcpy(&bits, &x, sizeof bits);
    if (y % n < some && !(prefix >> 8 & 1))
        return prefix >> 9 & 1 ? prefix >> 32 : z >> (type == SCAN_F32 ? 32 : 0);
    return type == SCAN_F32 ? word : bits;
}

static void check_local(const sort_case *order, enum local_shape shape, size_t n, size_t some, bool odd, int kind,
                        uint64_t z) {
    const size_t size = scan_type_size(order->type);
    uint64_t random = z, prefix = random_u64(&random);
    make_room(n + 8);
    for (size_t i = 0; i < n; i++) {
        const uint64_t x = random_u64(&random), y = random_u64(&random) >> 8;
        uint64_t key = local_bits(shape, x, y, prefix, some, n) >> (64 - 8 * size);
        if (shape == LOCAL_EVEN && type_is_float(order->type))
            key = even_float(order->type, x, y, prefix, some, n);
        if (type_is_float(order->type))
            key = local_float(key, type_bits(order->type), odd, y);
        memcpy(keys + i * size, &key, size);
    }
    expect(n, order);
    static const uint32_t value_bytes[] = {0, 4, 8, 4, 8};
    sort_call c = {.order = *order,
                   .method = SCAN_SORT_RADIX, /* few keys are a cluster's otherwise */
                   .value_bytes = value_bytes[kind],
                   .argsort = kind >= 3,
                   .n = n,
                   .bound = n + (z % 4 ? 0 : z >> 8 & 7),
                   .keys_in_place = z & 16,
                   .values_in_place = z & 32,
                   .data = (int)shape};
    for (int i = 0; i < 4; i++)
        c.offset[i] = z & 64 ? 0 : z >> (16 + 4 * i) & (OFFSETS - 1);
    (c.argsort ? run_argsort : run_sort)(&c);
}

/* Both sides of: one digit at the top, several; the largest bucket; crowded bins; portions. */
static void top_digits(void **state) {
    (void)state;
    gpu_need();
    static const scan_type types[] = {SCAN_U64, SCAN_U32, SCAN_I64, SCAN_I32, SCAN_F64, SCAN_F32};
    static const size_t small_sizes[] = {4097, 8193, 9000, 9001, 28000, 30000, 30001, 55000},
                        large_sizes[] = {10000,   70001,   300000,  1000003, 1835008, 1835009,
                                         3000000, 4700001, 5000000, 8388607, 8388608, 9000000};
    const int rounds = gpu_is_racecheck ? 30 : gpu_is_small ? 200 : 800;
    for (int round = 0; round < rounds; round++) {
        const uint64_t z = random_mix(++turn);
        sort_case order = whole(types[round % 6], z >> 3);
        if (!type_is_float(order.type) && z >> 40 & 1)
            order.begin_bit = (uint32_t)(z >> 41) % 4, order.end_bit -= (uint32_t)(z >> 43) % 4;
        const enum local_shape shape = (enum local_shape)(round % 3 ? round % (2 * LOCAL_SHAPES) / 2 : 0);
        size_t n = gpu_is_small ? small_sizes[(z >> 48) % 8] : large_sizes[(z >> 48) % 12];
        if (gpu_is_small && n == 55000 && round % 20)
            n = 8500;
        static const size_t small_some[] = {20, 70, 90, 96, 100, 180, 400, 2000},
                            large_some[] = {20, 1000, 4000, 4096, 4200, 5000, 12000, 100000};
        const size_t some = (gpu_is_small ? small_some : large_some)[(z >> 52) % 8];
        check_local(&order, shape, n, some, z >> 55 & 1, (int)((z >> 56) % 5), z);
    }
    for (int round = 0; round < (gpu_is_racecheck ? 3 : 36); round++) {
        const uint64_t z = random_mix(++turn);
        const size_t n = round & 2 ? gpu_is_small ? 30001 : 9000000 : gpu_is_small ? 8500 : 200000;
        const sort_case order = whole(round & 1 ? SCAN_F64 : SCAN_F32, z);
        check_local(&order, LOCAL_EVEN, n, round % 3 ? 0 : (size_t)(z >> 48) % (n / 100), round % 7 == 6, 0, z);
    }
    for (int round = 0; round < 12; round += gpu_is_racecheck ? 4 : 1) {
        const uint64_t z = random_mix(++turn);
        const size_t n = gpu_is_small ? 30001 : 9000000;
        const sort_case order = whole(types[round % 3 * 2], z), any = whole(types[round % 6], z);
        if (round < 6) /* so many agree in two digits that three are needed */
            check_local(&order, LOCAL_BUCKET, n, gpu_is_small ? 2000 : 300000, false, round % 2, z);
        else /* too many for the local stage, but too few for the sample */
            check_local(&any, LOCAL_BUCKET, n, gpu_is_small ? 250 : 12000, false, round / 3 % 2, z);
    }
}

/* Pairs and argsorts of 4-byte keys, both sides of what makes tiles of labels (sort.cu, labels_least). */
static void labels(void **state) {
    (void)state;
    gpu_need();
    static const size_t emulated_n[] = {8999, 9000, 12000, 30001}, device_n[] = {8388607, 8388608, 12000000, 17000000};
    const int rounds = GPU_EMULATED ? 6 * LOCAL_EVEN : !gpu_is_small ? 4 * LOCAL_EVEN : gpu_is_racecheck ? 2 : 4;
    for (int round = 0; round < rounds; round++) {
        const uint64_t z = random_mix(++turn);
        const sort_case order = whole(z >> 40 & 1 ? SCAN_I32 : SCAN_U32, z >> 3);
        const bool rare = round % 2; /* the plan is wrong, and the local stage finds out */
        const size_t n = GPU_EMULATED   ? emulated_n[rare ? 3 : (z >> 48) % 4]
                         : gpu_is_small ? device_n[1]
                                        : device_n[(z >> 48) % 4];
        check_local(&order, rare ? LOCAL_RARE : (enum local_shape)(round / 2 % LOCAL_EVEN), n,
                    (GPU_EMULATED ? 100 : 4000) << (rare ? round / 4 % 3 : 0), false,
                    rare ? 3 + round / 2 % 2 : 1 + (int)((z >> 56) % 4), z);
    }
}

/* ---- workspace --------------------------------------------------------------------------------------------------- */

static void workspace_is_within_bounds(void **state) {
    (void)state;
    gpu_need();
    static const scan_sort_method methods[] = {SCAN_SORT_AUTO, SCAN_SORT_RADIX, SCAN_SORT_SPLIT};
    for (int type = 1; type <= SCAN_TYPE_COUNT; type++)
        for (int m = 0; m < 3; m++)
            for (size_t n = 1; n < (size_t)1 << 40; n = n * 3 + 7)
                for (uint32_t bits = 1; bits <= type_bits((scan_type)type); bits += 7) {
                    const size_t key = scan_type_size((scan_type)type);
                    const bool is_float = type_is_float((scan_type)type);
                    scan_sort_desc d = {.struct_size = sizeof d,
                                        .type = (scan_type)type,
                                        .end_bit = is_float ? 0 : bits,
                                        .method = methods[m]};
                    size_t bytes;
                    for (d.value_bytes = 0; d.value_bytes <= 8; d.value_bytes += 4) {
                        gpu_ok(scan_sort_workspace(gpu, &d, n, &bytes));
                        const size_t data = n * (key + d.value_bytes);
                        if (bytes > data + data / 10 + (4 << 20))
                            fail_msg("%s, values of %u, n %zu: %zu bytes", scan_type_name((scan_type)type),
                                     d.value_bytes, n, bytes);
                    }
                    d.value_bytes = 0;
                    for (int wide = n > UINT32_MAX; wide < 2; wide++) {
                        d.index_type = wide ? SCAN_U64 : SCAN_U32;
                        gpu_ok(scan_argsort_workspace(gpu, &d, n, &bytes));
                        const size_t data = n * (key + (wide ? 8 : 4));
                        if (bytes > data / 10 * 16 + (4 << 20))
                            fail_msg("argsort of %s, %s, n %zu: %zu bytes", scan_type_name((scan_type)type),
                                     scan_type_name(d.index_type), n, bytes);
                    }
                }
}

/* ---- repeats ----------------------------------------------------------------------------------------------------- */

/* The same call again and again, scans of other lengths on the same workspace in between. */
static void repeats(void **state) {
    (void)state;
    gpu_need();
    enum { N = 300007 };
    const size_t n = gpu_is_racecheck ? 17000 : gpu_is_small ? 40000 : N;
    make_room(n + 8);
    gpu_array d_scan = {0};
    const sort_case order = {SCAN_U32, false, false, 0, 32};
    fill(keys, n, SCAN_U32, data_uniform, 5);
    expect(n, &order);
    for (int repeat = 0; repeat < (gpu_is_small ? 3 : 1000); repeat++) {
        const size_t m = 1 + random_mix((uint64_t)repeat) % n;
        scan_prefix_desc scan = {.struct_size = sizeof scan, .type = SCAN_U64, .out_type = SCAN_U64};
        void *at = gpu_put(&d_scan, NULL, m, 8, 0);
        gpu_ok(scan_prefix(gpu, &scan, at, at, m));
        const sort_call c = {
            .order = order, .method = choice(4), .value_bytes = (uint32_t)repeat % 3 * 4, .n = n, .bound = n};
        run_sort(&c);
    }
    gpu_release(&d_scan);
}

/* A sort and an argsort captured once and replayed on other keys and counts: what the plan finds differs each time. */
static void graphs(void **state) {
    (void)state;
    gpu_need();
    const size_t n = gpu_is_small ? 17000 : 2100000; /* argsorts of 8-byte keys by codes of 4, 2-byte keys counted */
    const struct {
        scan_type type;
        scan_sort_method method;
    } cases[] = {{SCAN_U64, choice(4)},
                 {SCAN_F32, choice(4)},
                 {SCAN_U16, choice(4)},
                 {SCAN_I8, SCAN_SORT_SPLIT},
                 {SCAN_U8, choice(4)}};
    for (size_t t = 0; t < sizeof cases / sizeof cases[0]; t++) {
        const scan_type type = cases[t].type;
        captured_sort c = capture_sort(type, cases[t].method, n);
        for (int data = 0; data < (gpu_is_small ? 3 : DISTRIBUTIONS); data++) {
            const sort_case order = {type, false, false, 0, type_bits(type)};
            const uint64_t used = data % 3 ? n - (size_t)data * 100 : n;
            fill(keys, used, type, distributions[data], ++turn);
            expect(used, &order);
            replay_sort(&c, used, 2, data);
        }
        release_sort(&c);
    }
}

int main(int argc, char **argv) {
    setenv("SCAN_EMULATED_CLUSTER", "2", 0); /* sizes above 16,384 by radix passes; test_gpu_sort_cluster has others */
    const gpu_test tests[] = {
        GPU_TEST(GPU_MATRIX | GPU_SMALL, matrix),    GPU_TEST(GPU_MATRIX | GPU_SMALL, every_size),
        GPU_TEST(GPU_MATRIX | GPU_SMALL, many_keys), GPU_TEST(GPU_MATRIX | GPU_SMALL, split),
        GPU_TEST(GPU_MATRIX | GPU_SMALL, windows),   GPU_TEST(GPU_MATRIX | GPU_SMALL, top_digits),
        GPU_TEST(GPU_MATRIX | GPU_SMALL, labels),    GPU_TEST(GPU_MATRIX | GPU_SMALL, workspace_is_within_bounds),
        GPU_TEST(GPU_MATRIX | GPU_SMALL, graphs),    GPU_TEST(GPU_STRESS | GPU_SMALL, repeats),
    };
    int result = gpu_main("gpu_sort", tests, sizeof tests / sizeof tests[0], argc, argv);
    drop_room();
    return result;
}
