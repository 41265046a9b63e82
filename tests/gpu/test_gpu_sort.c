/* SPDX-License-Identifier: MIT
 *
 * scan_sort and scan_argsort on the device against the CPU backend, bit for bit, and for short arrays against the
 * oracle of tests/unit too: every type and distribution, keys alone and with values, windows of bits, directions, NaN
 * first and last, addresses, in place, counts on the device, sizes around every switch.
 */

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
        GPU_TEST(GPU_MATRIX | GPU_SMALL, argsorts_by_parts),
        GPU_TEST(GPU_MATRIX | GPU_SMALL, workspace_is_within_bounds),
        GPU_TEST(GPU_MATRIX | GPU_SMALL, graphs),
        GPU_TEST(GPU_STRESS | GPU_SMALL, repeats),
    };
    int result = gpu_main("gpu_sort", tests, sizeof tests / sizeof tests[0], argc, argv);
    drop_room();
    return result;
}
