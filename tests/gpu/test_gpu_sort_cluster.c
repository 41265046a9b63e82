/* SPDX-License-Identifier: MIT
 *
 * The sorts of one launch, beside test_gpu_sort: clusters of every size that the emulator grants (a GPU grants one),
 * sizes around every switch and every chunk, counts on the device far below the bound, windows of bits, graphs; and
 * where clusters are refused, the other methods.
 */

#include "gpu_sort.h"

/* As in scan/cuda/sort/cluster.cu and sort/cluster_rows.cuh. Up to MAX_COUNTED keys are sorted by counting; in place,
 * up to MAX_COUNTED_IN_PLACE. A cluster takes up to MAX_CLUSTER keys, or MAX_CLUSTER_WIDE by more than 32 bits, and a
 * CTA of it up to MAX_CHUNK. */
enum {
    MAX_COUNTED_IN_PLACE = 2048,
    MAX_COUNTED = 8192,
    MAX_CLUSTER = 1 << 16,
    MAX_CLUSTER_WIDE = 1 << 14,
    MAX_CHUNK = 8192
};

/* Opens a context of a GPU that grants clusters of up to `ctas` CTAs. */
static void grant(int ctas) {
    char text[16];
    snprintf(text, sizeof text, "%d", ctas);
    setenv("SCAN_EMULATED_CLUSTER", text, 1);
    scan_ctx_destroy(gpu);
    gpu = gpu_context();
    assert_non_null(gpu);
    unsetenv("SCAN_EMULATED_CLUSTER");
}

/* In the emulator, what was granted is known. */
static void check_path(const sort_case *order, size_t n, int ctas) {
    const size_t in_place = ctas == 1 ? MAX_COUNTED_IN_PLACE / 2 : MAX_COUNTED_IN_PLACE;
    const uint32_t bits = order->end_bit - order->begin_bit;
    const size_t max_n = bits > 32 ? MAX_CLUSTER_WIDE : MAX_CLUSTER;
    const bool granted = n <= (size_t)ctas * MAX_CHUNK && n <= max_n && ctas > 1;
    const bool small = !strcmp(scan_ctx_ran(gpu), "count"), cluster = !strcmp(scan_ctx_ran(gpu), "radix cluster");
    const bool right = n <= in_place     ? small
                       : n > MAX_COUNTED ? cluster == granted && !small
                                         : small || cluster == granted;
    if (GPU_EMULATED && !right)
        fail_msg("n %zu, clusters of %d: ran %s", n, ctas, scan_ctx_ran(gpu));
}

/* One size, drawn types and data; every other array is of 8-byte keys. */
static void check_size(size_t n, int ctas, int arrays, int calls) {
    for (int i = 0; i < arrays; i++) {
        static const scan_type wide[] = {SCAN_U64, SCAN_I64, SCAN_F64};
        const sort_case order = drawn_order(i % 2 ? wide[random_below(&rng, 3)] : drawn_type());
        const int data = random_bool(&rng) ? 0 : drawn_data();
        check_path(&order, check_array(&order, SCAN_SORT_AUTO, n, data, calls), ctas);
    }
}

/* Sizes around every group, row and switch of the sort by counting. */
static void counting(void **state) {
    (void)state;
    gpu_need();
    static const size_t sizes[] = {1,   2,    3,    4,    5,    31,   33,   63,   64,   65,   127,  128,  129,  255,
                                   257, 1023, 1024, 1025, 2047, 2048, 2049, 4095, 4097, 5000, 8183, 8191, 8192, 8193};
    for (int ctas = GPU_EMULATED ? 1 : 16; ctas <= 16; ctas *= 4) {
        grant(ctas);
        for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++)
            if (!gpu_is_small || sizes[s] < (gpu_is_racecheck ? 1500 : 3000) || ctas == 4)
                check_size(sizes[s], ctas, gpu_is_small ? 1 : 20, gpu_is_small && sizes[s] > 300 ? 2 : 5);
    }
}

/* racecheck takes seconds for a thousand stores of a CTA to another one: it gets sorts of a few keys by one digit. */
static void need_time(void) {
    gpu_need();
    if (gpu_is_racecheck)
        skip();
}

static void one_digit(void **state) {
    (void)state;
    gpu_need();
    static const sort_case orders[] = {
        {SCAN_U8, true, false, 0, 8}, {SCAN_U32, false, false, 5, 13}, {SCAN_I64, false, false, 60, 64}};
    grant(GPU_EMULATED ? 4 : 16);
    for (size_t i = 0; i < sizeof orders / sizeof orders[0]; i++) {
        const sort_call c = {
            .order = orders[i], .value_bytes = 4 * (uint32_t)i, .n = 1500 + i * 100, .bound = MAX_COUNTED + 1};
        make_room(c.bound);
        fill(keys, c.n, c.order.type, data_uniform, random_u64(&rng));
        expect(c.n, &c.order);
        run_sort(&c);
        check_path(&c.order, c.bound, GPU_EMULATED ? 4 : 16);
    }
}

/* Where a CTA gets another row, and where the cluster is full. */
static void edges(void **state) {
    (void)state;
    need_time();
    static const int sizes[] = {2, 4, 8, 16};
    for (int s = GPU_EMULATED ? 0 : 3; s < 4; s++) {
        const size_t ctas = (size_t)sizes[s];
        grant(sizes[s]);
        check_size(MAX_COUNTED + 1, sizes[s], gpu_is_small ? 1 : 10, 1);
        for (size_t rows = 1; rows <= 8; rows *= 2)
            for (int off = -1; off <= 1; off++) {
                const size_t n = ctas * 1024 * rows + (size_t)off;
                const bool full = rows == 8 && off == 0, rare = gpu_is_small && ctas > 4 && off != (rows < 8);
                if (n > MAX_COUNTED_IN_PLACE && n <= MAX_CLUSTER + 1 && !rare)
                    check_size(n, sizes[s], gpu_is_small ? 1 + full : 20, gpu_is_small ? 1 : 5);
            }
    }
}

static void types_and_data(void **state) {
    (void)state;
    need_time();
    grant(GPU_EMULATED ? 2 : 16);
    check_size(MAX_COUNTED + 1, GPU_EMULATED ? 2 : 16, 1, 1);
    printf("%d keys: %s\n", MAX_COUNTED + 1, scan_ctx_ran(gpu));
    for (int type = 1; type <= SCAN_TYPE_COUNT; type++)
        for (int data = 0; data < DISTRIBUTIONS; data++)
            for (int repeat = 0; repeat < (gpu_is_small ? 1 : 10); repeat++) {
                if (gpu_is_small && !type_is_float((scan_type)type) && (type + data) % 2) /* signed, or not */
                    continue;
                const sort_case order = drawn_order((scan_type)type);
                const size_t max_n = gpu_is_small ? 9000 : 65528;
                const size_t n = MAX_COUNTED + 1 + random_below(&rng, max_n - MAX_COUNTED);
                check_path(&order, check_array(&order, SCAN_SORT_AUTO, n, data, gpu_is_small ? 1 : 5), 2);
            }
}

/* All five kinds of call, windows of all positions. */
static void windows(void **state) {
    (void)state;
    need_time();
    grant(GPU_EMULATED ? 4 : 16);
    for (int round = 0; round < (gpu_is_small ? 12 : 300); round++) {
        const scan_type type = (scan_type)(1 + random_below(&rng, 8));
        const uint32_t width = type_bits(type), end = round % 4 ? 1 + (uint32_t)random_below(&rng, width) : width;
        const uint32_t begin = round % 5 ? (uint32_t)random_below(&rng, end + 1) : end;
        const sort_case order = {type, random_bool(&rng), false, begin, end};
        const size_t min_n = random_bool(&rng) ? MAX_COUNTED + 1 : 1;
        check_array(&order, SCAN_SORT_AUTO, min_n + random_below(&rng, gpu_is_small ? 2000 : 20000), 0, 5);
    }
}

/* Keys of 8 bytes by as many bits as codes of 4 bytes have, and one more. */
static void narrow_windows(void **state) {
    (void)state;
    need_time();
    const int ctas = GPU_EMULATED ? 4 : 16;
    grant(ctas);
    for (uint32_t bits = 31; bits <= 33; bits++)
        for (int i = 0; i < 2; i++) {
            const sort_case order = {i ? SCAN_I64 : SCAN_U64, i == 1, false, i ? 64 - bits : 0, i ? 64 : bits};
            check_path(&order, check_array(&order, SCAN_SORT_AUTO, MAX_CLUSTER_WIDE + 1, 0, 5), ctas);
        }
}

/* The cluster's chunks are cut from the count on the device, which is far below the bound. */
static void counts(void **state) {
    (void)state;
    need_time();
    static const size_t used[] = {0, 1, 31, 32, 33, 1000, 1024, 1025, 4096, 4097, 8191, 8193, 16000, 32768, 32769};
    for (int ctas = GPU_EMULATED ? 4 : 16; ctas <= (gpu_is_small ? 4 : 16); ctas *= 2) {
        grant(ctas);
        for (size_t u = 0; u < sizeof used / sizeof used[0]; u++)
            for (int i = 0; i < (gpu_is_small ? 1 : CALL_KINDS); i++) {
                const sort_case order = drawn_order(drawn_type());
                const size_t n = used[u], bound = u % 2 ? 32768 : 20000;
                if (n > bound)
                    continue;
                make_room(32769);
                fill(keys, n, order.type, distributions[drawn_data()], random_u64(&rng));
                expect(n, &order);
                sort_call c = {.order = order, .n = n, .bound = bound};
                set_call_kind(&c, next_call_kind());
                c.keys_in_place = random_bool(&rng);
                c.values_in_place = random_bool(&rng);
                run_call(&c);
                check_path(&order, bound, ctas);
            }
    }
}

/* A sort and an argsort captured once and replayed on other keys and counts. */
static void graphs(void **state) {
    (void)state;
    need_time();
    enum { N = 9000 };
    grant(GPU_EMULATED ? 2 : 16);
    captured_sort c = capture_sort(SCAN_F32, SCAN_SORT_AUTO, N);
    assert_true(!GPU_EMULATED || c.workspace_bytes == 0);
    const sort_case order = ascending(SCAN_F32);
    for (int round = 0; round < (gpu_is_small ? 4 : 100); round++) {
        const uint64_t n = round % 2 ? N : random_below(&rng, N);
        fill(keys, n, SCAN_F32, distributions[(size_t)round * 3 % DISTRIBUTIONS], random_u64(&rng));
        expect(n, &order);
        replay_sort(&c, n, 1, round);
    }
    release_sort(&c);
}

/* Where no cluster is granted, and where the GPU has none. */
static void refused(void **state) {
    (void)state;
    need_time();
    for (int old = 0; old < 2; old++) {
        if (old)
            setenv("SCAN_EMULATED_CAPABILITY", "7.5", 1);
        grant(old ? 16 : 1);
        check_size(5000, 1, 2, 1);
        check_size(9000, 1, 2, 1);
        unsetenv("SCAN_EMULATED_CAPABILITY");
    }
    grant(16);
}

int main(int argc, char **argv) {
    const gpu_test tests[] = {
        GPU_TEST(GPU_MATRIX | GPU_SMALL, counting),       GPU_TEST(GPU_MATRIX | GPU_SMALL, edges),
        GPU_TEST(GPU_MATRIX | GPU_SMALL, types_and_data), GPU_TEST(GPU_MATRIX | GPU_SMALL, windows),
        GPU_TEST(GPU_MATRIX | GPU_SMALL, counts),         GPU_TEST(GPU_MATRIX | GPU_SMALL, graphs),
        GPU_TEST(GPU_MATRIX | GPU_SMALL, refused),        GPU_TEST(GPU_MATRIX | GPU_SMALL, one_digit),
        GPU_TEST(GPU_MATRIX | GPU_SMALL, narrow_windows),
    };
    int result = gpu_main("gpu_sort_cluster", tests, sizeof tests / sizeof tests[0], argc, argv);
    drop_room();
    return result;
}
