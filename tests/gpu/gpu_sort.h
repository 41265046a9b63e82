/* SPDX-License-Identifier: MIT
 *
 * For the tests of sort: one call of scan_sort or scan_argsort on the device, compared bit for bit with the CPU
 * backend's permutation, and that with the oracle of tests/unit where the array is short.
 */
#ifndef TESTS_GPU_SORT_H
#define TESTS_GPU_SORT_H

#include <cuda_runtime_api.h>

#include "gpu_sm_count.h"
#include "gpu_support.h"
#include "tests/unit/sort_oracle.h"

enum { OFFSETS = 4, MAX_ORACLE = 3000 };

/* ---- one call ---------------------------------------------------------------------------------------------------- */

typedef struct sort_call {
    sort_case order;
    scan_sort_method method;
    uint32_t value_bytes;
    size_t n, bound; /* bound: the n of the call, more than n if the count is on the device */
    size_t offset[4];
    bool keys_in_place, values_in_place, argsort;
    int data;
} sort_call;

static gpu_array d_keys_in, d_keys_out, d_values_in, d_values_out, d_count;
static char *keys, *want, *got, *values;
static uint64_t *permutation;
static size_t room;

static inline void make_room(size_t n) {
    if (n <= room)
        return;
    room = n;
    keys = realloc(keys, n * 8);
    want = realloc(want, n * 8);
    got = realloc(got, n * 8);
    values = realloc(values, n * 8);
    permutation = realloc(permutation, n * 8);
    assert_true(keys && want && got && values && permutation);
}

static inline void drop_room(void) {
    free(keys);
    free(want);
    free(got);
    free(values);
    free(permutation);
}

static inline void fail_call(const sort_call *c, const char *what, size_t i) {
    fail_msg("%s %s%s bits %u..%u%s, values of %u, ran %s, n %zu of %zu, offsets %zu %zu %zu %zu%s%s, data %d: %s "
             "differs at %zu",
             scan_type_name(c->order.type), c->order.descending ? "descending" : "ascending",
             c->order.nan_first ? " nan first" : "", c->order.begin_bit, c->order.end_bit, c->argsort ? " argsort" : "",
             c->value_bytes, scan_ctx_ran(gpu), c->n, c->bound, c->offset[0], c->offset[1], c->offset[2], c->offset[3],
             c->keys_in_place ? ", keys in place" : "", c->values_in_place ? ", values in place" : "", c->data, what,
             i);
}

static inline scan_sort_desc desc_of(const sort_call *c) {
    scan_sort_desc d = {.struct_size = sizeof d,
                        .type = c->order.type,
                        .descending = c->order.descending,
                        .nan_first = c->order.nan_first,
                        .begin_bit = c->order.begin_bit,
                        .end_bit = c->order.end_bit,
                        .method = c->method};
    if (c->argsort)
        d.index_type = c->value_bytes == 4 ? SCAN_U32 : SCAN_U64;
    else
        d.value_bytes = c->value_bytes;
    if (c->bound > c->n) {
        const uint64_t n = c->n;
        d.n_device = gpu_put(&d_count, &n, 1, 8, 0);
    }
    return d;
}

/* want[i] = from[permutation[i]]; red past the count. A copy of a constant size is one load and one store. */
static inline void gather(const char *from, const sort_call *c, size_t size) {
    for (size_t i = 0; i < c->n; i++) {
        const char *element = from + permutation[i] * size;
        switch (size) {
        case 4: memcpy(want + i * 4, element, 4); break;
        case 8: memcpy(want + i * 8, element, 8); break;
        default: memcpy(want + i * size, element, size);
        }
    }
    memset(want + c->n * size, GPU_ZONE_BYTE, (c->bound - c->n) * size);
}

static inline void compare(const sort_call *c, gpu_array *out, const char *what, size_t size) {
    gpu_get(out, got);
    size_t i = gpu_first_difference(got, want, c->bound, size);
    if (i < c->bound)
        fail_call(c, what, i);
}

static inline void run_sort(const sort_call *c) {
    const size_t size = scan_type_size(c->order.type);
    scan_sort_desc d = desc_of(c);
    memset(keys + c->n * size, GPU_ZONE_BYTE, (c->bound - c->n) * size);
    const void *keys_in = NULL, *values_in = NULL;
    void *values_out = NULL;
    if (!c->keys_in_place)
        keys_in = gpu_put(&d_keys_in, keys, c->bound, size, c->offset[0]);
    void *keys_out = gpu_put(&d_keys_out, c->keys_in_place ? keys : NULL, c->bound, size, c->offset[1]);
    if (c->value_bytes) {
        for (size_t i = 0; i < c->n; i++) {
            const uint64_t value = i * 0x9e3779b97f4a7c15u;
            memcpy(values + i * c->value_bytes, &value, c->value_bytes);
        }
        memset(values + c->n * c->value_bytes, GPU_ZONE_BYTE, (c->bound - c->n) * c->value_bytes);
        if (!c->values_in_place)
            values_in = gpu_put(&d_values_in, values, c->bound, c->value_bytes, c->offset[2]);
        values_out = gpu_put(&d_values_out, c->values_in_place ? values : NULL, c->bound, c->value_bytes, c->offset[3]);
    }
    gpu_ok(scan_sort(gpu, &d, c->keys_in_place ? keys_out : keys_in, keys_out,
                     c->values_in_place ? values_out : values_in, values_out, c->bound));
    gather(keys, c, size);
    compare(c, &d_keys_out, "key", size);
    if (!c->keys_in_place)
        gpu_unchanged(&d_keys_in, keys);
    if (!c->value_bytes)
        return;
    gather(values, c, c->value_bytes);
    compare(c, &d_values_out, "value", c->value_bytes);
    if (!c->values_in_place)
        gpu_unchanged(&d_values_in, values);
}

static inline void run_argsort(const sort_call *c) {
    const size_t size = scan_type_size(c->order.type);
    scan_sort_desc d = desc_of(c);
    const void *in = gpu_put(&d_keys_in, keys, c->bound, size, c->offset[0]);
    void *out = gpu_put(&d_values_out, NULL, c->bound, c->value_bytes, c->offset[3]);
    gpu_ok(scan_argsort(gpu, &d, in, out, c->bound));
    for (size_t i = 0; i < c->n; i++)
        memcpy(want + i * c->value_bytes, &permutation[i], c->value_bytes);
    memset(want + c->n * c->value_bytes, GPU_ZONE_BYTE, (c->bound - c->n) * c->value_bytes);
    compare(c, &d_values_out, "index", c->value_bytes);
    gpu_unchanged(&d_keys_in, keys);
}

/* ---- arrays under an order --------------------------------------------------------------------------------------- */

static inline void expect(size_t n, const sort_case *order) {
    scan_sort_desc d = {.struct_size = sizeof d,
                        .type = order->type,
                        .descending = order->descending,
                        .nan_first = order->nan_first,
                        .begin_bit = order->begin_bit,
                        .end_bit = order->end_bit,
                        .index_type = SCAN_U64};
    cpu_ok(scan_argsort(cpu, &d, keys, permutation, n));
    if (n == 0 || n > MAX_ORACLE)
        return;
    sort_item *items = malloc(n * sizeof *items);
    assert_non_null(items);
    sort_oracle(items, keys, n, *order);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(permutation[i], items[i].index);
    free(items);
}

static uint64_t rng = 1;

/* The five kinds of call: keys alone, with values of 4 and of 8 bytes, argsorts to indices of 4 and of 8 bytes. */
enum { CALL_KINDS = 5 };

static inline void set_call_kind(sort_call *c, int kind) {
    static const uint32_t value_bytes[CALL_KINDS] = {0, 4, 8, 4, 8};
    c->value_bytes = value_bytes[kind];
    c->argsort = kind >= 3;
}

/* The kinds one after another, over all arrays. */
static inline int next_call_kind(void) {
    static int next;
    return next++ % CALL_KINDS;
}

static inline void run_call(const sort_call *c) { (c->argsort ? run_argsort : run_sort)(c); }

/* Draws whether a call is in place, and where in memory its arrays begin. */
static inline void draw_places(sort_call *c) {
    c->keys_in_place = random_bool(&rng);
    c->values_in_place = random_bool(&rng);
    const bool aligned = random_bool(&rng);
    for (int i = 0; i < 4; i++)
        c->offset[i] = aligned ? 0 : random_below(&rng, OFFSETS);
}

/* Sorts one array `calls` times, by the next kinds of call. Returns the n of the last call, which may be a bound. */
static inline size_t check_array(const sort_case *order, scan_sort_method method, size_t n, int data, int calls) {
    make_room(n + 8);
    fill(keys, n, order->type, distributions[data], random_u64(&rng));
    expect(n, order);
    size_t bound = n;
    for (int k = 0; k < calls; k++) {
        sort_call c = {.order = *order, .method = method, .n = n, .data = data};
        set_call_kind(&c, next_call_kind());
        c.bound = random_below(&rng, 5) ? n : n + random_below(&rng, 8);
        draw_places(&c);
        run_call(&c);
        bound = c.bound;
    }
    return bound;
}

/* By all bits, ascending. */
static inline sort_case ascending(scan_type type) { return (sort_case){type, false, false, 0, type_bits(type)}; }

/* By all bits, in a drawn direction and with NaN at a drawn end. */
static inline sort_case drawn_order(scan_type type) {
    sort_case order = ascending(type);
    order.descending = random_bool(&rng);
    order.nan_first = type_is_float(type) && random_bool(&rng);
    return order;
}

static inline scan_type drawn_type(void) { return (scan_type)(1 + random_below(&rng, SCAN_TYPE_COUNT)); }

static inline int drawn_data(void) { return (int)random_below(&rng, DISTRIBUTIONS); }

/* ---- captured once, replayed on other keys and counts ------------------------------------------------------------ */

typedef struct captured_sort {
    scan_ctx *ctx;
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t replay;
    scan_type type;
    size_t n, workspace_bytes;
    void *in, *out, *indices, *count;
    void *numbers, *pairs_out, *moved; /* values 0, 1, 2, ...; where pairs go */
} captured_sort;

/* A sort of up to n keys, one with values, and an argsort of the same, by a context that has its workspace. */
static inline captured_sort capture_sort(scan_type type, scan_sort_method method, size_t n) {
    captured_sort c = {.type = type, .n = n};
    assert_int_equal(cudaStreamCreateWithFlags(&c.stream, cudaStreamNonBlocking), cudaSuccess);
    scan_options options = {.struct_size = sizeof options, .backend = SCAN_BACKEND_CUDA, .stream = c.stream};
    gpu_ok(scan_ctx_create(&c.ctx, &options));
    make_room(n);
    gpu_ok(scan_malloc(gpu, n * scan_type_size(type), &c.in));
    gpu_ok(scan_malloc(gpu, n * scan_type_size(type), &c.out));
    gpu_ok(scan_malloc(gpu, n * 4, &c.indices));
    gpu_ok(scan_malloc(gpu, 8, &c.count));
    gpu_ok(scan_malloc(gpu, n * 4, &c.numbers));
    gpu_ok(scan_malloc(gpu, n * scan_type_size(type), &c.pairs_out));
    gpu_ok(scan_malloc(gpu, n * 4, &c.moved));
    for (size_t i = 0; i < n; i++)
        ((uint32_t *)(void *)values)[i] = (uint32_t)i;
    gpu_ok(scan_upload(gpu, c.numbers, values, n * 4));
    gpu_ok(scan_ctx_sync(gpu));
    scan_sort_desc d = {.struct_size = sizeof d, .type = type, .method = method, .n_device = c.count}, pairs = d;
    pairs.value_bytes = 4;
    size_t bytes[3];
    gpu_ok(scan_sort_workspace(c.ctx, &d, n, &bytes[0]));
    gpu_ok(scan_sort_workspace(c.ctx, &pairs, n, &bytes[1]));
    gpu_ok(scan_argsort_workspace(c.ctx, &d, n, &bytes[2]));
    for (int i = 0; i < 3; i++)
        c.workspace_bytes = bytes[i] > c.workspace_bytes ? bytes[i] : c.workspace_bytes;
    gpu_ok(scan_ctx_reserve(c.ctx, c.workspace_bytes));
    gpu_ok(scan_ctx_sync(c.ctx));
    assert_int_equal(cudaStreamBeginCapture(c.stream, cudaStreamCaptureModeThreadLocal), cudaSuccess);
    gpu_ok(scan_sort(c.ctx, &d, c.in, c.out, NULL, NULL, n));
    gpu_ok(scan_sort(c.ctx, &pairs, c.in, c.pairs_out, c.numbers, c.moved, n));
    gpu_ok(scan_argsort(c.ctx, &d, c.in, c.indices, n));
    assert_int_equal(cudaStreamEndCapture(c.stream, &c.graph), cudaSuccess);
    assert_int_equal(cudaGraphInstantiate(&c.replay, c.graph, 0), cudaSuccess);
    return c;
}

/* `times` replays, one after another, on the first `used` of `keys`, whose order expect() has found. */
static inline void replay_sort(const captured_sort *c, uint64_t used, int times, int data) {
    const size_t size = scan_type_size(c->type);
    gpu_ok(scan_upload(c->ctx, c->in, keys, used * size));
    gpu_ok(scan_upload(c->ctx, c->count, &used, sizeof used));
    gpu_ok(scan_ctx_sync(c->ctx));
    for (int i = 0; i < times; i++)
        assert_int_equal(cudaGraphLaunch(c->replay, c->stream), cudaSuccess);
    void *const sorted[] = {c->out, c->pairs_out}, *const indices[] = {c->indices, c->moved};
    for (int k = 0; k < 2; k++) {
        gpu_ok(scan_download(c->ctx, got, sorted[k], used * size));
        gpu_ok(scan_download(c->ctx, values, indices[k], used * 4));
        gpu_ok(scan_ctx_sync(c->ctx));
        for (size_t i = 0; i < used; i++) {
            const uint32_t from = (uint32_t)permutation[i];
            if (memcmp(got + i * size, keys + from * size, size) != 0 || memcmp(values + i * 4, &from, 4) != 0)
                fail_msg("%s%s, data %d: wrong at %zu of %zu", scan_type_name(c->type), k ? ", pairs" : "", data, i,
                         (size_t)used);
        }
    }
}

static inline void release_sort(captured_sort *c) {
    assert_int_equal(cudaGraphExecDestroy(c->replay), cudaSuccess);
    assert_int_equal(cudaGraphDestroy(c->graph), cudaSuccess);
    scan_free(gpu, c->in);
    scan_free(gpu, c->out);
    scan_free(gpu, c->indices);
    scan_free(gpu, c->count);
    scan_free(gpu, c->numbers);
    scan_free(gpu, c->pairs_out);
    scan_free(gpu, c->moved);
    scan_ctx_destroy(c->ctx);
    assert_int_equal(cudaStreamDestroy(c->stream), cudaSuccess);
}

#endif
