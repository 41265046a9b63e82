/* SPDX-License-Identifier: MIT
 *
 * Sorts by a few digits at the top, whose buckets the local stage puts in order (scan/cuda/sort/local.cuh), beside
 * test_gpu_sort: keys that share buckets, bins and codes, on both sides of what a bucket, a bin and a sample may have.
 */

#include <math.h>

#include "gpu_sort.h"

enum local_shape {
    LOCAL_UNIFORM,
    LOCAL_SPIKE,    /* some have one value */
    LOCAL_BUCKET,   /* some share two digits at the top */
    LOCAL_CROWDED,  /* few values of the two digits at the top */
    LOCAL_REPEATED, /* few values */
    LOCAL_RARE,     /* few values, and some others that a sample does not see */
    LOCAL_THIRD,    /* a third has values with some dozen copies, next to each other by fours: crowded bins */
    LOCAL_TWO,      /* two values */
    LOCAL_DENSE,    /* most in a sixteenth of the range */
    LOCAL_EDGES,    /* often the first or the last of a bucket */
    LOCAL_HEAPS,    /* heaps of some keys each, of a few codes or of many next to each other */
    LOCAL_RUNS,     /* runs of equal keys */
    LOCAL_EVEN,     /* of floats: between two limits, but for a few that may have one value, or any */
    LOCAL_SHAPES
};

/* An array of a shape, and what all its keys share. */
typedef struct local_array {
    enum local_shape shape;
    size_t n, some;      /* some: how many of n have what the shape says, about */
    bool with_specials;  /* floats: with NaN and -0 */
    uint64_t prefix;     /* the value, or its upper bits */
    const float *limits; /* LOCAL_EVEN of floats, as what follows */
    uint32_t bend;
    uint32_t codes; /* LOCAL_HEAPS: of a heap */
    bool all_even;  /* without exceptions; else one value is the exception, or any */
    bool one_exception;
} local_array;

static local_array draw_array(enum local_shape shape, size_t n, size_t some, bool with_specials) {
    static const float limits[][2] = {{-1, 1}, {0, 1}, {1000, 1001}, {-3e38f, 3e38f}, {-1e-40f, 1e-40f}, {5, 300}};
    local_array a = {.shape = shape, .n = n, .some = some, .with_specials = with_specials};
    a.prefix = random_u64(&rng);
    a.limits = limits[random_below(&rng, 6)];
    a.bend = (uint32_t)random_below(&rng, 8);
    a.all_even = random_bool(&rng);
    a.one_exception = random_bool(&rng);
    static const uint32_t codes[] = {1, 2, 3, 8, 9, 60, 4000};
    a.codes = codes[random_below(&rng, 7)];
    return a;
}

/* True for about `some` of n keys. */
static bool is_one_of(size_t some, size_t n) { return random_below(&rng, n) < some; }

/* 64 bits, of which 4-byte keys are the upper ones. */
static uint64_t local_bits(const local_array *a) {
    const uint64_t x = random_u64(&rng);
    switch (a->shape) {
    case LOCAL_SPIKE: return is_one_of(a->some, a->n) ? a->prefix : x;
    case LOCAL_BUCKET: return is_one_of(a->some, a->n) ? (a->prefix & ~(~(uint64_t)0 >> 16)) | x >> 16 : x;
    case LOCAL_CROWDED: return random_below(&rng, 64) ? (x & ~((uint64_t)0x1ff << 48)) | (uint64_t)5 << 48 : x;
    case LOCAL_REPEATED: return random_mix(x % (a->some + 1));
    case LOCAL_THIRD: {
        const uint64_t which = (uint32_t)x % (a->n / 60 + 1);
        return random_below(&rng, 3) ? x : (random_mix(which / 4) & ~((uint64_t)3 << 32)) | which % 4 << 32;
    }
    case LOCAL_RARE: return is_one_of(a->some / 50, a->n) ? x : random_mix(x % 16);
    case LOCAL_TWO: return is_one_of(a->some, a->n) ? a->prefix : ~a->prefix;
    case LOCAL_DENSE: return random_below(&rng, 16) ? (a->prefix & ~(~(uint64_t)0 >> 4)) | x >> 4 : x;
    case LOCAL_HEAPS:
        return (random_mix(x % (a->n / a->some + 1)) & ~((uint64_t)0xfff << 32)) | random_below(&rng, a->codes) << 32;
    case LOCAL_EDGES: {
        const uint64_t rest = ~(uint64_t)0 >> (random_bool(&rng) ? 8 : 16);
        const uint64_t edge = random_below(&rng, 4);
        return edge == 0 ? x & ~rest : edge == 1 ? x | rest : x;
    }
    default: return x;
    }
}

/* The key without NaN and -0, or, with them, one of them now and then. */
static uint64_t local_float(uint64_t key, uint32_t width, bool with_specials) {
    const uint64_t sign = (uint64_t)1 << (width - 1), infinity = width == 32 ? 0x7f800000 : (uint64_t)0x7ff << 52;
    if ((key & ~sign) > infinity || key == sign)
        key ^= (uint64_t)3 << (width - 3);
    const uint64_t which = with_specials ? random_below(&rng, 50) : 3;
    if (which == 0)
        key = 0;
    else if (which < 3)
        key = infinity | random_below(&rng, 8);
    if (which < 3 && random_bool(&rng))
        key ^= sign;
    return key;
}

static double random_unit(void) { return (double)(random_u64(&rng) >> 11) * 0x1p-53; }

static double random_bell(void) {
    double sum = 0;
    for (int i = 0; i < 3; i++)
        sum += random_unit();
    return sum / 3;
}

/* A share of 1: a bell, two bells apart, exponential, many near the first limit, nearly all at it, even. */
static double bent_share(uint32_t bend) {
    const double x = bend < 2 ? random_bell() : random_unit();
    switch (bend) {
    case 0: return x;
    case 1: return random_bool(&rng) ? x / 16 : (x + 15) / 16;
    case 2: return -log(1 - x * (1 - 0x1p-30)) / 21;
    case 3: return x * x * x;
    case 4: return pow(x, 40);
    default: return x;
    }
}

static uint64_t even_float(scan_type type, const local_array *a) {
    const double share = bent_share(a->bend), x = a->limits[0] * (1 - share) + a->limits[1] * share;
    if (is_one_of(a->some, a->n) && !a->all_even)
        return a->one_exception ? a->prefix >> 32 : random_u64(&rng) >> (type == SCAN_F32 ? 32 : 0);
    return bits_of_double(x, type);
}

/* Keys like those of `a`, sorted by a call of one kind. */
static void check_local(const sort_case *order, const local_array *a, int kind) {
    const size_t size = scan_type_size(order->type);
    make_room(a->n + 8);
    for (size_t i = 0; i < a->n; i++) {
        uint64_t key = local_bits(a) >> (64 - 8 * size);
        if (a->shape == LOCAL_RUNS && i > 0 && random_below(&rng, a->some) > 0) {
            memcpy(keys + i * size, keys + (i - 1) * size, size);
            continue;
        }
        if (a->shape == LOCAL_EVEN && type_is_float(order->type))
            key = even_float(order->type, a);
        if (type_is_float(order->type))
            key = local_float(key, type_bits(order->type), a->with_specials);
        memcpy(keys + i * size, &key, size);
    }
    expect(a->n, order);
    sort_call c = {.order = *order,
                   .method = SCAN_SORT_RADIX, /* AUTO sorts few keys by a cluster */
                   .n = a->n,
                   .data = (int)a->shape};
    set_call_kind(&c, kind);
    c.bound = a->n + (random_below(&rng, 4) ? 0 : random_below(&rng, 8));
    draw_places(&c);
    run_call(&c);
}

/* On both sides of the limits between one digit at the top and several, of the largest bucket, of crowded bins and of
 * portions. */
static void top_digits(void **state) {
    (void)state;
    gpu_need();
    static const scan_type types[] = {SCAN_U64, SCAN_U32, SCAN_I64, SCAN_I32, SCAN_F64, SCAN_F32};
    static const size_t small_sizes[] = {4097, 8193, 9000, 9001, 12000, 12001, 20001, 55000},
                        large_sizes[] = {10000,   70001,   300000,  1000003, 1835008, 1835009,
                                         3000000, 4700001, 5000000, 8388607, 8388608, 9000000};
    const int rounds = gpu_is_racecheck ? 30 : gpu_is_small ? 88 : 300;
    for (int round = 0; round < rounds; round++) {
        sort_case order = drawn_order(types[round % 6]);
        if (!type_is_float(order.type) && random_bool(&rng)) {
            order.begin_bit = (uint32_t)random_below(&rng, 4);
            order.end_bit -= (uint32_t)random_below(&rng, 4);
        }
        const enum local_shape shape = (enum local_shape)(round % 3 ? round % (2 * LOCAL_SHAPES) / 2 : 0);
        size_t n = gpu_is_small ? small_sizes[random_below(&rng, 8)] : large_sizes[random_below(&rng, 12)];
        if (gpu_is_small && n == 55000 && round % 20)
            n = 8500;
        static const size_t small_some[] = {20, 70, 90, 96, 100, 180, 400, 2000},
                            large_some[] = {20, 1000, 4000, 4096, 4200, 5000, 12000, 100000};
        const size_t some = (gpu_is_small ? small_some : large_some)[random_below(&rng, 8)];
        const local_array a = draw_array(shape, n, some, random_bool(&rng));
        check_local(&order, &a, (int)random_below(&rng, CALL_KINDS));
    }
    for (int round = 0; round < (gpu_is_racecheck ? 3 : 36); round++) {
        const size_t n = round & 2 ? gpu_is_small ? 12001 : 9000000 : gpu_is_small ? 8500 : 200000;
        const sort_case order = drawn_order(round & 1 ? SCAN_F64 : SCAN_F32);
        const size_t some = round % 3 ? 0 : random_below(&rng, n / 100);
        const local_array a = draw_array(LOCAL_EVEN, n, some, round % 7 == 6);
        check_local(&order, &a, 0);
    }
    for (int round = 0; round < 12; round += gpu_is_racecheck ? 4 : 1) {
        /* First so many keys agree in two digits that three are needed; then too many for the local stage, but too few
         * for the sample to see. */
        const bool many = round < 6;
        const size_t n = gpu_is_small ? 30001 : 9000000;
        const size_t some = many ? (gpu_is_small ? 2000 : 300000) : (gpu_is_small ? 250 : 12000);
        const sort_case order = drawn_order(types[many ? round % 3 * 2 : round % 6]);
        const local_array a = draw_array(LOCAL_BUCKET, n, some, false);
        check_local(&order, &a, many ? round % 2 : round / 3 % 2);
    }
    for (int round = 0; round < CALL_KINDS; round++) { /* so many crowded bins that the local stage gives up */
        const sort_case order = drawn_order(types[1 + round % 3 * 2]);
        const local_array a = draw_array(LOCAL_THIRD, gpu_is_small ? 12001 : 5000000, 0, false);
        check_local(&order, &a, round);
    }
}

/* Bins of the local stage with more keys than a thread puts in order, and than a rank has bits for: of one code, of few
 * and of many. Of fewer keys than 8,192 no sample tells the plan about them. */
static void full_bins(void **state) {
    (void)state;
    gpu_need();
    static const scan_type types[] = {SCAN_U64, SCAN_U32, SCAN_F64, SCAN_F32, SCAN_I32, SCAN_I64};
    static const size_t sizes[] = {8191, 5000, 8000, 1500000, 3000001},
                        some[] = {5, 12, 23, 24, 25, 26, 60, 130, 240, 256, 300, 700, 5000};
    const int rounds = gpu_is_racecheck ? 12 : gpu_is_small ? 104 : 312;
    for (int round = 0; round < rounds; round++) {
        const sort_case order = drawn_order(types[random_below(&rng, 6)]);
        const local_array a =
            draw_array(round % 4 ? LOCAL_HEAPS : LOCAL_RUNS, sizes[random_below(&rng, gpu_is_small ? 3 : 5)],
                       some[round % 13], round % 5 == 0);
        check_local(&order, &a, round % 2 ? 0 : (int)random_below(&rng, CALL_KINDS));
    }
}

/* Pairs and argsorts of 4-byte keys, on both sides of the size from which tiles have labels (thresholds.h,
 * labels_least). */
static void labels(void **state) {
    (void)state;
    gpu_need();
    static const size_t emulated_n[] = {8999, 9000, 12000, 30001}, device_n[] = {8388607, 8388608, 12000000, 17000000};
    const int rounds = GPU_EMULATED ? 4 * LOCAL_EVEN : !gpu_is_small ? 4 * LOCAL_EVEN : gpu_is_racecheck ? 2 : 4;
    for (int round = 0; round < rounds; round++) {
        const sort_case order = drawn_order(random_bool(&rng) ? SCAN_I32 : SCAN_U32);
        const bool rare = round % 2; /* the plan is wrong, which the local stage detects */
        const size_t n = GPU_EMULATED   ? emulated_n[rare ? 3 : random_below(&rng, 4)]
                         : gpu_is_small ? device_n[1]
                                        : device_n[random_below(&rng, 4)];
        const enum local_shape shape = rare ? LOCAL_RARE : (enum local_shape)(round / 2 % LOCAL_EVEN);
        const size_t some = (size_t)(GPU_EMULATED ? 100 : 4000) << (rare ? round / 4 % 3 : 0);
        const local_array a = draw_array(shape, n, some, false);
        check_local(&order, &a, rare ? 3 + round / 2 % 2 : 1 + (int)random_below(&rng, 4));
    }
}

int main(int argc, char **argv) {
    const gpu_test tests[] = {
        GPU_TEST(GPU_MATRIX | GPU_SMALL, top_digits),
        GPU_TEST(GPU_MATRIX | GPU_SMALL, full_bins),
        GPU_TEST(GPU_MATRIX | GPU_SMALL, labels),
    };
    int result = gpu_main("gpu_sort_local", tests, sizeof tests / sizeof tests[0], argc, argv);
    drop_room();
    return result;
}
