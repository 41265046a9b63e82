/* SPDX-License-Identifier: MIT
 *
 * scan_sort and scan_argsort on the device against the CPU backend, bit for bit, and for short arrays against the
 * oracle of tests/unit too: every type and distribution, keys alone and with values, windows of bits, directions, NaN
 * first and last, addresses, in place, counts on the device, sizes around every switch.
 */

#include <math.h>

#include "gpu_sort.h"

/* Around: rows, where one launch ends, tiles of 14, 24 and 28 rows of 12 warps, of 33 rows of 16, and in the emulator
 * portions of three tiles and more. */
static const size_t sizes[] = {0,     1,     2,     31,    33,    511,   513,   1000,  2049,  4095,   4096,
                               4097,  5376,  5377,  8191,  8192,  8193,  9000,  9216,  9217,  10752,  10753,
                               16384, 16385, 16896, 16897, 20000, 21505, 30000, 32769, 33792, 33793,  43008,
                               43009, 50177, 53761, 65536, 65537, 70000, 86017, 98304, 98305, 1000003};
enum { SIZES = sizeof sizes / sizeof sizes[0], SMALL_SIZES = 37, SMALLEST_SIZES = 23 };

/* racecheck takes half a minute for a sort by one cluster, which has a program of its own. */
static scan_sort_method any_method(void) { return gpu_is_racecheck ? SCAN_SORT_RADIX : SCAN_SORT_AUTO; }

static scan_sort_method drawn_method(void) { return random_bool(&rng) ? any_method() : SCAN_SORT_RADIX; }

static void matrix(void **state) {
    (void)state;
    gpu_need();
    size_t next = 0;
    for (int type = 1; type <= SCAN_TYPE_COUNT; type++)
        for (int data = 0; data < DISTRIBUTIONS; data++)
            for (int repeat = 0; repeat < (gpu_is_small ? 1 : 12); repeat++) {
                if (gpu_is_racecheck && (type + data) % 4)
                    continue;
                if (gpu_is_small && !type_is_float((scan_type)type) && (type + data) % 2) /* signed, or not */
                    continue;
                const sort_case order = drawn_order((scan_type)type);
                next = (next + 1 + random_below(&rng, 5)) % (gpu_is_small ? SMALLEST_SIZES : SIZES);
                check_array(&order, drawn_method(), sizes[next], data, gpu_is_small ? 1 : 5);
            }
}

static void every_size(void **state) {
    (void)state;
    gpu_need();
    for (size_t s = 0; s < (gpu_is_small ? SMALL_SIZES : SIZES); s += gpu_is_racecheck ? 3 : 1)
        for (int repeat = 0; repeat < (gpu_is_small ? 1 : 10); repeat++) {
            const sort_case order = drawn_order(drawn_type());
            const scan_sort_method method = drawn_method();
            check_array(&order, method, sizes[s], repeat ? drawn_data() : 0, gpu_is_small ? 1 : 5);
        }
}

/* Every distribution on both sides of the size from which the survey's tables are large (thresholds.h,
 * wide_survey_least): keys alone out of place, which the survey copies as long as they are in order, and another call.
 */
static void many_keys(void **state) {
    (void)state;
    gpu_need();
    const bool few = GPU_EMULATED || gpu_is_small;
    static const scan_type types[] = {SCAN_U32, SCAN_F64, SCAN_I64, SCAN_F32, SCAN_U64, SCAN_I32, SCAN_U16};
    for (int data = 0; data < DISTRIBUTIONS; data++)
        for (int side = 0; side < 2; side++) {
            const scan_type type = types[(data + side) % 7];
            const sort_case order = side ? drawn_order(type) : ascending(type);
            const size_t n = few ? 19999 + (size_t)side : 8388607 + (size_t)side;
            if ((few && (data + side) % 2) || (gpu_is_racecheck && data % 4))
                continue;
            check_array(&order, SCAN_SORT_RADIX, n, data, few ? 1 : 2);
            const sort_call alone = {.order = order, .method = SCAN_SORT_RADIX, .n = n, .bound = n, .data = data};
            run_sort(&alone);
        }
}

/* On both sides of the size from which passes have large tiles (thresholds.h, large_tiles_each): of 24 warps and 14
 * rows of 8-byte keys, of 4-byte keys 29, 23 or 15 with values of 0, 4 or 8 bytes, or as many as fit. An argsort of
 * 8-byte keys passes over 4-byte codes. */
static void large_tiles(void **state) {
    (void)state;
    gpu_need();
    static const struct {
        scan_type type;
        int kind;          /* of call, see set_call_kind() */
        size_t key, value; /* bytes that a pass moves */
    } cases[] = {{SCAN_U64, 0, 8, 0}, {SCAN_F32, 1, 4, 4}, {SCAN_I64, 2, 8, 8}, {SCAN_U32, 0, 4, 0},
                 {SCAN_U32, 2, 4, 8}, {SCAN_F64, 1, 8, 4}, {SCAN_I32, 3, 4, 4}, {SCAN_F64, 4, 4, 8}};
    const int count = gpu_is_racecheck ? 0 : gpu_is_small && !GPU_EMULATED ? 2 : (int)(sizeof cases / sizeof cases[0]);
    for (int c = 0; c < count; c++) {
        const size_t key = cases[c].key, value = cases[c].value, row = 24 * 32,
                     best = key == 8     ? 14
                            : value == 8 ? 15
                            : value == 4 ? 23
                                         : 29,
                     fitting = ((GPU_EMULATED ? 60 : 148) << 10) / (row * (key + value)) / 2 * 2,
                     tile = row * (best < fitting ? best : fitting);
        for (size_t side = 0; side < 2; side++) {
            const sort_case order = drawn_order(cases[c].type);
            const size_t n = (GPU_EMULATED ? 2 : 8) * gpu_sm_count() * tile - 1 + side;
            sort_call call = {.order = order, .method = SCAN_SORT_RADIX, .n = n, .bound = n, .data = drawn_data()};
            set_call_kind(&call, cases[c].kind);
            make_room(n + 8);
            fill(keys, n, order.type, distributions[call.data], random_u64(&rng));
            expect(n, &order);
            run_call(&call);
        }
    }
}

/* 4-byte floats with values, or indices, of 4 bytes where passes are launched by kind (thresholds.h, pass_kinds_least),
 * and of one fewer: passes of codes, and of keys where some share their code; in portions too. */
static void passes_by_kind(void **state) {
    (void)state;
    gpu_need();
    if (gpu_is_small && !GPU_EMULATED)
        skip();
    static const size_t emulated_n[] = {49999, 50000, 55000, 110000};
    for (int data = 0; data < DISTRIBUTIONS; data++) {
        if (!GPU_EMULATED && data % 7 != 2)
            continue;
        const sort_case order = drawn_order(SCAN_F32);
        const size_t n = GPU_EMULATED ? emulated_n[data % 4] : 33554432;
        check_array(&order, SCAN_SORT_RADIX, n, data, 0);
        for (int kind = 1; kind <= 3; kind += 2) {
            if (GPU_EMULATED && (kind == 1) == data / 8 % 2) /* each with half of the distributions, for any size */
                continue;
            sort_call c = {.order = order, .method = SCAN_SORT_RADIX, .n = n, .data = data};
            set_call_kind(&c, kind);
            c.bound = n + (size_t)(data & 4);
            c.keys_in_place = random_bool(&rng);
            c.values_in_place = random_bool(&rng);
            run_call(&c);
        }
    }
}

/* A count on the device may leave few of many keys, or none. Nothing lies before them in the allocation. */
static void few_of_many_keys(void **state) {
    (void)state;
    gpu_need();
    static gpu_array d_count;
    const size_t bound = GPU_EMULATED || gpu_is_small ? 20000 : 8388608;
    static const uint32_t few[] = {7, 3, 5}, want[][3] = {{0}, {7}, {3, 7}, {3, 5, 7}};
    void *in, *out;
    gpu_ok(scan_malloc(gpu, bound * sizeof *few, &in));
    gpu_ok(scan_malloc(gpu, bound * sizeof *few, &out));
    for (uint64_t n = 0; n <= 3; n++) {
        uint32_t got[3] = {0};
        const scan_sort_desc d = {.struct_size = sizeof d,
                                  .type = SCAN_U32,
                                  .method = SCAN_SORT_RADIX,
                                  .n_device = gpu_put(&d_count, &n, 1, sizeof n, 0)};
        gpu_ok(scan_upload(gpu, in, few, n * sizeof *few));
        gpu_ok(scan_sort(gpu, &d, in, out, NULL, NULL, bound));
        gpu_ok(scan_download(gpu, got, out, n * sizeof *few));
        gpu_ok(scan_ctx_sync(gpu));
        assert_memory_equal(got, want[n], sizeof got);
    }
    scan_free(gpu, in);
    scan_free(gpu, out);
    gpu_release(&d_count);
}

static void split(void **state) {
    (void)state;
    gpu_need();
    static const size_t split_sizes[] = {0, 1, 33, 1023, 1024, 1025, 3000, 5000, 100003};
    size_t next = 0;
    for (int type = 1; type <= SCAN_TYPE_COUNT; type += gpu_is_racecheck ? 3 : 1)
        for (int repeat = 0; repeat < (gpu_is_small ? 1 : 20); repeat++) {
            const sort_case order = drawn_order((scan_type)type);
            next = (next + 1) % (gpu_is_small ? 6 : 9);
            check_array(&order, SCAN_SORT_SPLIT, split_sizes[next], drawn_data(), 2);
        }
}

static void windows(void **state) {
    (void)state;
    gpu_need();
    for (int round = 0; round < (gpu_is_racecheck ? 4 : gpu_is_small ? 16 : 300); round++) {
        const scan_type type = (scan_type)(1 + random_below(&rng, 8));
        const uint32_t width = type_bits(type);
        const uint32_t end = random_below(&rng, 4) ? 1 + (uint32_t)random_below(&rng, width) : width;
        const uint32_t begin = (uint32_t)random_below(&rng, end + 1);
        const sort_case order = {type, random_bool(&rng), false, begin, end};
        const size_t n = sizes[random_below(&rng, SMALL_SIZES)];
        const bool splits = random_bool(&rng) && n < 10000;
        check_array(&order, splits ? SCAN_SORT_SPLIT : SCAN_SORT_RADIX, n, round % 3 ? 0 : drawn_data(), 2);
    }
    for (uint32_t digits = 1; digits <= 5; digits++) { /* all kinds of call */
        const sort_case order = {SCAN_U64, digits & 1, false, 3, 3 + 8 * digits - 2};
        check_array(&order, SCAN_SORT_RADIX, 5000 + digits, 0, 5);
    }
    /* A smaller tile for each SM (SMALL_TILES), of keys and of keys with 4-byte values: both sides. */
    const size_t most[] = {gpu_sm_count() * 10240, gpu_sm_count() * 5376};
    for (uint32_t round = 0; round < 4; round++) {
        const sort_case order = {round ? SCAN_U16 : SCAN_I8, round & 1, false, 1, round ? 15 : 8};
        check_array(&order, SCAN_SORT_RADIX, most[round / 2] + round % 2, 0, round < 2 ? 2 : 5);
    }
}

/* ---- a few digits at the top, and buckets of keys that agree in them --------------------------------------------- */

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
    c.keys_in_place = random_bool(&rng);
    c.values_in_place = random_bool(&rng);
    const bool aligned = random_bool(&rng);
    for (int i = 0; i < 4; i++)
        c.offset[i] = aligned ? 0 : random_below(&rng, OFFSETS);
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

/* Argsorts of many 8-byte keys of which five digits and more vary, of seven values each, so that the top four leave
 * long runs and a sample has not all values: passes over the keys themselves (scan/cuda/sort/pack.cuh), whichever
 * digits those are, and wherever the window begins. One in three sorts of floats has -0 and NaNs. */
static void argsorts_by_parts(void **state) {
    (void)state;
    gpu_need();
    static const scan_type types[] = {SCAN_U64, SCAN_I64, SCAN_F64};
    static const size_t emulated_n[] = {12001, 20000, 30000, 30001, 50001, 100003},
                        device_n[] = {1835009, 4194304, 4194305, 17000000};
    static const uint64_t odd[] = {0, 1ull << 63, 0x7ff8000000000001, 0xfff0000000000002};
    int set = 0;
    for (unsigned varying = 0; varying < 256; varying++) {
        const int digits = __builtin_popcount(varying);
        if (digits < 5 || set++ % (GPU_EMULATED ? 1 : gpu_is_small ? 31 : 5))
            continue;
        sort_case order = drawn_order(types[random_below(&rng, 3)]);
        const bool is_float = type_is_float(order.type), has_odd = is_float && random_below(&rng, 3) == 0;
        order.begin_bit = is_float || random_bool(&rng) ? 0 : (uint32_t)random_below(&rng, 25);
        order.end_bit = is_float ? 64 : 64 - (uint32_t)random_below(&rng, 25 - order.begin_bit);
        /* of five digits codes by intervals may tell all values apart where they are tried (intervals_least) */
        const size_t n = GPU_EMULATED   ? digits == 5 ? emulated_n[0] : emulated_n[random_below(&rng, 6)]
                           : gpu_is_small ? device_n[0]
                                        : device_n[random_below(&rng, digits == 5 ? 3 : 4)],
                     bound = n + random_below(&rng, 8);
        uint64_t values[7];
        for (int v = 0; v < 7; v++)
            values[v] = random_u64(&rng);
        make_room(bound);
        for (size_t i = 0; i < bound; i++) {
            uint64_t z = random_u64(&rng), key = z >> 40 & ((1ull << order.begin_bit) - 1);
            for (unsigned digit = 0; digit < 8; digit++, z /= 7) {
                const unsigned shift = order.begin_bit + 8 * digit;
                const uint64_t value = values[varying >> digit & 1 ? z % 7 : 0] >> 8 * digit & 255;
                key |= shift < 64 ? value << shift : 0;
            }
            if (has_odd && z % 8 == 0)
                key = odd[z / 8 % 4];
            memcpy(keys + i * sizeof key, &key, sizeof key);
        }
        expect(n, &order);
        sort_call call = {.order = order, .method = SCAN_SORT_RADIX, .n = n, .bound = bound};
        set_call_kind(&call, 3 + (int)random_below(&rng, 2));
        for (int i = 0; i < 4; i++)
            call.offset[i] = random_below(&rng, OFFSETS);
        run_call(&call);
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

/* The same call many times, with scans of other lengths on the same workspace in between. */
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
        const size_t m = 1 + random_below(&rng, n);
        scan_prefix_desc scan = {.struct_size = sizeof scan, .type = SCAN_U64, .out_type = SCAN_U64};
        void *at = gpu_put(&d_scan, NULL, m, 8, 0);
        gpu_ok(scan_prefix(gpu, &scan, at, at, m));
        const sort_call c = {
            .order = order, .method = any_method(), .value_bytes = (uint32_t)repeat % 3 * 4, .n = n, .bound = n};
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
    } cases[] = {{SCAN_U64, any_method()},
                 {SCAN_F32, any_method()},
                 {SCAN_U16, any_method()},
                 {SCAN_I8, SCAN_SORT_SPLIT},
                 {SCAN_U8, any_method()}};
    for (size_t t = 0; t < sizeof cases / sizeof cases[0]; t++) {
        const scan_type type = cases[t].type;
        captured_sort c = capture_sort(type, cases[t].method, n);
        for (int data = 0; data < (gpu_is_small ? 3 : DISTRIBUTIONS); data++) {
            const sort_case order = {type, false, false, 0, type_bits(type)};
            const uint64_t used = data % 3 ? n - (size_t)data * 100 : n;
            fill(keys, used, type, distributions[data], random_u64(&rng));
            expect(used, &order);
            replay_sort(&c, used, gpu_is_small && data > 0 ? 1 : 2, data);
        }
        release_sort(&c);
    }
}

int main(int argc, char **argv) {
    setenv("SCAN_EMULATED_CLUSTER", "2", 0); /* sizes above 16,384 by radix passes; test_gpu_sort_cluster has others */
    const gpu_test tests[] = {
        GPU_TEST(GPU_MATRIX | GPU_SMALL, matrix),
        GPU_TEST(GPU_MATRIX | GPU_SMALL, every_size),
        GPU_TEST(GPU_MATRIX | GPU_SMALL, many_keys),
        GPU_TEST(GPU_MATRIX | GPU_SMALL, passes_by_kind),
        GPU_TEST(GPU_MATRIX | GPU_SMALL, large_tiles),
        GPU_TEST(GPU_MATRIX | GPU_SMALL, few_of_many_keys),
        GPU_TEST(GPU_MATRIX | GPU_SMALL, split),
        GPU_TEST(GPU_MATRIX | GPU_SMALL, windows),
        GPU_TEST(GPU_MATRIX | GPU_SMALL, top_digits),
        GPU_TEST(GPU_MATRIX | GPU_SMALL, full_bins),
        GPU_TEST(GPU_MATRIX | GPU_SMALL, labels),
        GPU_TEST(GPU_MATRIX | GPU_SMALL, argsorts_by_parts),
        GPU_TEST(GPU_MATRIX | GPU_SMALL, workspace_is_within_bounds),
        GPU_TEST(GPU_MATRIX | GPU_SMALL, graphs),
        GPU_TEST(GPU_STRESS | GPU_SMALL, repeats),
    };
    int result = gpu_main("gpu_sort", tests, sizeof tests / sizeof tests[0], argc, argv);
    drop_room();
    return result;
}
