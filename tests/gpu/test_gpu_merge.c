/* SPDX-License-Identifier: MIT
 *
 * scan_merge on the device: merging two sorted arrays gives what a stable sort makes of the first followed by the
 * second. Every type and distribution, values, directions, NaN first and last, addresses, counts on the device, lengths
 * alike and not, sizes around tiles; inputs that are not sorted; a captured graph.
 */
#include "gpu_sort.h"

static gpu_array d_a_keys, d_b_keys, d_a_values, d_b_values, d_a_count, d_b_count;

/* Around tiles of 64 threads with 6 or 10 outputs and of 256 with 10 or 18. */
static const size_t sizes[] = {0,    1,    2,    17,   33,   383,  384,  385,  639,  640,   641,   1000,   1281,   2559,
                               2560, 2561, 4607, 4608, 4609, 5121, 9215, 9216, 9217, 20011, 46081, 100003, 1000003};
enum { SIZES = sizeof sizes / sizeof sizes[0], SMALL_SIZES = 20 };

typedef struct merge_case {
    sort_case order;
    size_t a_n, b_n;
    uint32_t value_bytes;
    bool counted; /* the lengths are on the device, those of the call are larger */
    int data;
} merge_case;

static scan_merge_desc merge_desc(const merge_case *c) {
    return (scan_merge_desc){.struct_size = sizeof(scan_merge_desc),
                             .type = c->order.type,
                             .descending = c->order.descending,
                             .nan_first = c->order.nan_first,
                             .value_bytes = c->value_bytes};
}

/* Sorts n keys where they lie. */
static void sort_part(const merge_case *c, char *part, size_t n) {
    const scan_sort_desc d = {.struct_size = sizeof d,
                              .type = c->order.type,
                              .descending = c->order.descending,
                              .nan_first = c->order.nan_first};
    cpu_ok(scan_sort(cpu, &d, part, part, NULL, NULL, n));
}

static void *put_part(gpu_array *to, const char *from, size_t n, size_t extra, size_t size) {
    char *padded = malloc((n + extra) * size + 1);
    assert_non_null(padded);
    memcpy(padded, from, n * size);
    memset(padded + n * size, GPU_ZONE_BYTE, extra * size);
    void *at = gpu_put(to, padded, n + extra, size, random_below(&rng, 2) * random_below(&rng, OFFSETS));
    free(padded);
    return at;
}

/* keys: those of a, then those of b, each sorted; permutation: their stable order. */
static void run_merge(const merge_case *c) {
    const size_t n = c->a_n + c->b_n, size = scan_type_size(c->order.type), value = c->value_bytes;
    const size_t a_extra = c->counted ? random_below(&rng, 700) : 0, b_extra = c->counted ? random_below(&rng, 9) : 0;
    const sort_call call = {
        .order = c->order, .value_bytes = c->value_bytes, .n = n, .bound = n + a_extra + b_extra, .data = c->data};
    scan_merge_desc d = merge_desc(c);
    make_room(call.bound + 1);
    if (c->counted) {
        const uint64_t counts[] = {c->a_n, c->b_n};
        d.a_n_device = gpu_put(&d_a_count, &counts[0], 1, 8, 0);
        d.b_n_device = gpu_put(&d_b_count, &counts[1], 1, 8, 0);
    }
    const void *a = put_part(&d_a_keys, keys, c->a_n, a_extra, size),
               *b = put_part(&d_b_keys, keys + c->a_n * size, c->b_n, b_extra, size), *a_values = NULL,
               *b_values = NULL;
    void *out = gpu_put(&d_keys_out, NULL, call.bound, size, random_below(&rng, OFFSETS)), *values_out = NULL;
    for (size_t i = 0; i < n && value; i++) {
        const uint64_t x = random_mix(i);
        memcpy(values + i * value, &x, value);
    }
    if (value) {
        a_values = put_part(&d_a_values, values, c->a_n, a_extra, value);
        b_values = put_part(&d_b_values, values + c->a_n * value, c->b_n, b_extra, value);
        values_out = gpu_put(&d_values_out, NULL, call.bound, value, random_below(&rng, OFFSETS));
    }
    gpu_ok(scan_merge(gpu, &d, a, a_values, c->a_n + a_extra, b, b_values, c->b_n + b_extra, out, values_out));
    gather(keys, &call, size);
    compare(&call, &d_keys_out, "key", size);
    if (value) {
        gather(values, &call, value);
        compare(&call, &d_values_out, "value", value);
    }
}

static void check_merge(const sort_case *order, size_t a_n, size_t b_n, int data, uint32_t value_bytes) {
    const merge_case c = {.order = *order,
                          .a_n = a_n,
                          .b_n = b_n,
                          .value_bytes = value_bytes,
                          .counted = random_below(&rng, 4) == 0,
                          .data = data};
    const size_t size = scan_type_size(order->type);
    make_room(a_n + b_n + 1);
    fill(keys, a_n + b_n, order->type, distributions[data], random_u64(&rng));
    sort_part(&c, keys, a_n);
    sort_part(&c, keys + a_n * size, b_n);
    expect(a_n + b_n, order);
    run_merge(&c);
}

static void matrix(void **state) {
    (void)state;
    gpu_need();
    size_t next = 0;
    for (int type = 1; type <= SCAN_TYPE_COUNT; type++)
        for (int data = 0; data < DISTRIBUTIONS; data++)
            for (int repeat = 0; repeat < (gpu_is_small ? 1 : 10); repeat++) {
                if (gpu_is_racecheck && (type + data) % 4)
                    continue;
                const sort_case order = drawn_order((scan_type)type);
                next = (next + 1 + random_below(&rng, 5)) % (gpu_is_small ? SMALL_SIZES : SIZES);
                const size_t a_n = random_below(&rng, sizes[next] + 1);
                check_merge(&order, a_n, sizes[next] - a_n, data, (uint32_t)(type + data + repeat) % 3 * 4);
            }
}

/* One array empty, of one element, of few, or as long as the other. */
static void lengths(void **state) {
    (void)state;
    gpu_need();
    for (size_t s = 0; s < (gpu_is_small ? SMALL_SIZES : SIZES); s += gpu_is_racecheck ? 4 : 1) {
        const size_t n = sizes[s], parts[] = {0, 1, 7, n / 2, n};
        for (int p = 0; p < 5; p++) {
            const sort_case order = drawn_order(drawn_type());
            if (parts[p] <= n && (!gpu_is_small || (s + (size_t)p) % 2))
                check_merge(&order, parts[p], n - parts[p], drawn_data(), (uint32_t)random_below(&rng, 3) * 4);
        }
    }
}

/* What is unspecified lies in the output alone: red zones and inputs stay, and no address is wrong. */
static void unsorted(void **state) {
    (void)state;
    gpu_need();
    for (int round = 0; round < (gpu_is_racecheck ? 4 : gpu_is_small ? 20 : 200); round++) {
        const scan_type type = drawn_type();
        const size_t size = scan_type_size(type), n = sizes[random_below(&rng, gpu_is_small ? SMALL_SIZES : SIZES)],
                     a_n = random_below(&rng, n + 1);
        const merge_case c = {.order = drawn_order(type), .value_bytes = (uint32_t)round % 3 * 4};
        const scan_merge_desc d = merge_desc(&c);
        make_room(n + 1);
        fill(keys, n, type, distributions[round % DISTRIBUTIONS], random_u64(&rng));
        memset(values, 0, n * 8);
        const bool pairs = c.value_bytes > 0;
        const void *a = gpu_put(&d_a_keys, keys, a_n, size, 1),
                   *b = gpu_put(&d_b_keys, keys + a_n * size, n - a_n, size, 2),
                   *a_values = pairs ? gpu_put(&d_a_values, values, a_n, c.value_bytes, 1) : NULL,
                   *b_values = pairs ? gpu_put(&d_b_values, values, n - a_n, c.value_bytes, 0) : NULL;
        void *out = gpu_put(&d_keys_out, NULL, n, size, 3),
             *values_out = pairs ? gpu_put(&d_values_out, NULL, n, c.value_bytes, 1) : NULL;
        gpu_ok(scan_merge(gpu, &d, a, a_values, a_n, b, b_values, n - a_n, out, values_out));
        gpu_get(&d_keys_out, NULL);
        if (pairs)
            gpu_get(&d_values_out, NULL);
        gpu_unchanged(&d_a_keys, keys);
        gpu_unchanged(&d_b_keys, keys + a_n * size);
    }
}

static void workspace_is_within_bounds(void **state) {
    (void)state;
    gpu_need();
    for (int type = 1; type <= SCAN_TYPE_COUNT; type++)
        for (size_t n = 1; n < (size_t)1 << 40; n = n * 3 + 7) {
            const scan_merge_desc d = {.struct_size = sizeof d, .type = (scan_type)type};
            size_t bytes;
            gpu_ok(scan_merge_workspace(gpu, &d, n / 3, n - n / 3, &bytes));
            if (!GPU_EMULATED && bytes > n * scan_type_size((scan_type)type) / 64 + (64 << 10))
                fail_msg("%s, n %zu: %zu bytes", scan_type_name((scan_type)type), n, bytes);
        }
}

/* A call captured once and replayed on other keys and counts. */
static void graphs(void **state) {
    (void)state;
    gpu_need();
    const size_t most = gpu_is_small ? 5000 : 300000;
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t replay;
    scan_ctx *ctx;
    size_t bytes;
    void *a, *b, *out, *counts;
    assert_int_equal(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
    const scan_options options = {.struct_size = sizeof options, .backend = SCAN_BACKEND_CUDA, .stream = stream};
    assert_int_equal(scan_ctx_create(&ctx, &options), SCAN_OK);
    gpu_ok(scan_malloc(ctx, most * 4, &a));
    gpu_ok(scan_malloc(ctx, most * 4, &b));
    gpu_ok(scan_malloc(ctx, most * 8, &out));
    gpu_ok(scan_malloc(ctx, 16, &counts));
    const scan_merge_desc d = {
        .struct_size = sizeof d, .type = SCAN_F32, .a_n_device = counts, .b_n_device = (uint64_t *)counts + 1};
    gpu_ok(scan_merge_workspace(ctx, &d, most, most, &bytes));
    gpu_ok(scan_ctx_reserve(ctx, bytes));
    assert_int_equal(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), cudaSuccess);
    gpu_ok(scan_merge(ctx, &d, a, NULL, most, b, NULL, most, out, NULL));
    assert_int_equal(cudaStreamEndCapture(stream, &graph), cudaSuccess);
    assert_int_equal(cudaGraphInstantiate(&replay, graph, 0), cudaSuccess);
    make_room(2 * most);
    for (int round = 0; round < (gpu_is_small ? 3 : 20); round++) {
        const merge_case c = {.order = ascending(SCAN_F32),
                              .a_n = random_below(&rng, most + 1),
                              .b_n = round ? random_below(&rng, most + 1) : most};
        const size_t n = c.a_n + c.b_n;
        const sort_call call = {.order = c.order, .n = n, .bound = n};
        const uint64_t lengths_now[] = {c.a_n, c.b_n};
        fill(keys, n, SCAN_F32, distributions[round % DISTRIBUTIONS], random_u64(&rng));
        sort_part(&c, keys, c.a_n);
        sort_part(&c, keys + c.a_n * 4, c.b_n);
        expect(n, &c.order);
        gpu_ok(scan_upload(ctx, a, keys, c.a_n * 4));
        gpu_ok(scan_upload(ctx, b, keys + c.a_n * 4, c.b_n * 4));
        gpu_ok(scan_upload(ctx, counts, lengths_now, sizeof lengths_now));
        assert_int_equal(cudaGraphLaunch(replay, stream), cudaSuccess);
        gpu_ok(scan_download(ctx, got, out, n * 4));
        gpu_ok(scan_ctx_sync(ctx));
        gather(keys, &call, 4);
        const size_t wrong = gpu_first_difference(got, want, n, 4);
        if (wrong < n)
            fail_msg("round %d, %zu and %zu: differs at %zu", round, c.a_n, c.b_n, wrong);
    }
    cudaGraphExecDestroy(replay);
    cudaGraphDestroy(graph);
    void *const all[] = {a, b, out, counts};
    for (int i = 0; i < 4; i++)
        scan_free(ctx, all[i]);
    scan_ctx_destroy(ctx);
    cudaStreamDestroy(stream);
}

/* The same call many times, with others of other lengths on the same workspace in between. */
static void repeats(void **state) {
    (void)state;
    gpu_need();
    const size_t n = gpu_is_racecheck ? 6000 : gpu_is_small ? 9000 : 200003;
    const sort_case order = ascending(SCAN_U64);
    for (int repeat = 0; repeat < (gpu_is_small ? 2 : 300); repeat++)
        check_merge(&order, n / 3 + (size_t)repeat, n - n / 3 - (size_t)repeat * 2, repeat % 2 * 8, 4);
}

int main(int argc, char **argv) {
    static const gpu_test tests[] = {
        GPU_TEST(GPU_MATRIX | GPU_SMALL, matrix),   GPU_TEST(GPU_MATRIX | GPU_SMALL, lengths),
        GPU_TEST(GPU_MATRIX | GPU_SMALL, unsorted), GPU_TEST(GPU_MATRIX | GPU_SMALL, workspace_is_within_bounds),
        GPU_TEST(GPU_MATRIX | GPU_SMALL, graphs),   GPU_TEST(GPU_STRESS | GPU_SMALL, repeats),
    };
    int result = gpu_main("gpu_merge", tests, sizeof tests / sizeof tests[0], argc, argv);
    drop_room();
    return result;
}
