/* SPDX-License-Identifier: MIT
 *
 * scan_compact and scan_unique where order and size are put to the test: in place beside kernels that hold most of the
 * device, in graphs that are replayed on other data and other counts, and on more than 2^32 elements, whose results are
 * known in closed form.
 */
#include <cuda_runtime_api.h>

#include "../unit/compact_oracle.h"
#include "gpu_support.h"

#define cuda_ok(call) assert_int_equal(call, cudaSuccess)

static uint64_t seed = 23;

static scan_ctx *context_on(cudaStream_t stream) {
    scan_options options = {.struct_size = sizeof options, .backend = SCAN_BACKEND_CUDA, .stream = stream};
    scan_ctx *ctx;
    assert_int_equal(scan_ctx_create(&ctx, &options), SCAN_OK);
    return ctx;
}

static void *device_memory(size_t bytes) {
    void *memory;
    gpu_ok(scan_malloc(gpu, bytes, &memory));
    return memory;
}

/* ---- in place, under load ---------------------------------------------------------------------------------------- */

/* Answers how many elements of the first n are left. */
static size_t select_on_host(scan_type type, bool unique, double share, const char *in, char *kept, size_t n) {
    uint64_t count;
    if (unique) {
        scan_unique_desc d = {.struct_size = sizeof d, .type = type};
        scan_unique_out out = {.struct_size = sizeof out, .kept = kept, .count = &count};
        cpu_ok(scan_unique(cpu, &d, in, &out, n));
    } else {
        scan_term term = {.op = SCAN_TERM_LT, .constant_type = SCAN_F64, .constant.f = quantile(type, share)};
        scan_compact_desc d = {.struct_size = sizeof d, .type = type, .terms = &term, .term_count = 1};
        scan_compact_out out = {.struct_size = sizeof out, .kept = kept, .count = &count};
        cpu_ok(scan_compact(cpu, &d, in, &out, n));
    }
    return count;
}

static void select_in_place(scan_ctx *ctx, scan_type type, bool unique, double share, char *d_array, uint64_t *d_count,
                            size_t n) {
    if (unique) {
        scan_unique_desc d = {.struct_size = sizeof d, .type = type};
        scan_unique_out out = {.struct_size = sizeof out, .kept = d_array, .count = d_count};
        gpu_status(ctx, scan_unique(ctx, &d, d_array, &out, n), __FILE__, __LINE__);
    } else {
        scan_term term = {.op = SCAN_TERM_LT, .constant_type = SCAN_F64, .constant.f = quantile(type, share)};
        scan_compact_desc d = {.struct_size = sizeof d, .type = type, .terms = &term, .term_count = 1};
        scan_compact_out out = {.struct_size = sizeof out, .kept = d_array, .count = d_count};
        gpu_status(ctx, scan_compact(ctx, &d, d_array, &out, n), __FILE__, __LINE__);
    }
}

/* Keeps the device busy with selections of its own. */
typedef struct load {
    cudaStream_t stream;
    scan_ctx *ctx;
    char *in, *out;
    uint64_t *count;
    size_t n;
} load;

static load start_load(void) {
    load l = {.n = gpu_is_small ? 20000 : 1 << 24};
    cuda_ok(cudaStreamCreateWithFlags(&l.stream, cudaStreamNonBlocking));
    l.ctx = context_on(l.stream);
    l.in = device_memory(l.n * 4);
    l.out = device_memory(l.n * 4);
    l.count = device_memory(8);
    char *host = malloc(l.n * 4);
    gpu_fill(SCAN_U32, GPU_RANDOM, host, l.n, 5);
    gpu_ok(scan_upload(gpu, l.in, host, l.n * 4));
    gpu_ok(scan_ctx_sync(gpu));
    free(host);
    return l;
}

static void add_load(load *l, unsigned calls) {
    scan_term term = {.op = SCAN_TERM_GE, .constant_type = SCAN_U64, .constant.u = 1u << 30};
    scan_compact_desc d = {.struct_size = sizeof d, .type = SCAN_U32, .terms = &term, .term_count = 1};
    scan_compact_out out = {.struct_size = sizeof out, .kept = l->out, .count = l->count};
    for (unsigned i = 0; i < calls; i++)
        gpu_status(l->ctx, scan_compact(l->ctx, &d, l->in, &out, l->n), __FILE__, __LINE__);
}

static void stop_load(load *l) {
    gpu_status(l->ctx, scan_ctx_sync(l->ctx), __FILE__, __LINE__);
    scan_ctx_destroy(l->ctx);
    cuda_ok(cudaStreamDestroy(l->stream));
    scan_free(gpu, l->in);
    scan_free(gpu, l->out);
    scan_free(gpu, l->count);
}

static void in_place_under_load(void **state) {
    (void)state;
    gpu_need();
    static const scan_type types[] = {SCAN_U32, SCAN_U8, SCAN_F64, SCAN_I16};
    static const double shares[] = {99.99, 50, 2};
    const size_t most = gpu_is_small ? 40000 : 3 << 20, room = most * 8 + 64;
    const unsigned repeats = gpu_is_small ? 1 : 12;
    load l = start_load();
    cudaStream_t stream;
    cuda_ok(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    scan_ctx *ctx = context_on(stream);
    char *host = malloc(room), *want = malloc(room), *got = malloc(room);
    char *d_master = device_memory(room), *d_array = device_memory(room);
    uint64_t *d_count = device_memory(8), count;
    for (unsigned round = 0; round < (gpu_is_small ? 6u : 48u); round++) {
        const scan_type type = types[round % 4];
        const bool unique = round / 4 % 2;
        const size_t size = scan_type_size(type), n = most / size - round * 77, offset = round % 3 * size;
        random_elements(type, host, n, &seed);
        for (size_t i = 1; unique && i < n; i++) /* runs of a hundred or of two */
            if (random_u64(&seed) % (round % 8 ? 100 : 2))
                memcpy(host + i * size, host + (i - 1) * size, size);
        const size_t kept = select_on_host(type, unique, shares[round % 3], host, want, n);
        gpu_ok(scan_upload(gpu, d_master, host, n * size));
        gpu_ok(scan_ctx_sync(gpu));
        for (unsigned k = 0; k < repeats; k++) {
            add_load(&l, 1 + k % 3);
            cuda_ok(cudaMemcpyAsync(d_array + offset, d_master, n * size, cudaMemcpyDeviceToDevice, stream));
            select_in_place(ctx, type, unique, shares[round % 3], d_array + offset, d_count, n);
            gpu_ok(scan_download(ctx, got, d_array + offset, kept * size));
            gpu_ok(scan_download(ctx, &count, d_count, 8));
            gpu_ok(scan_ctx_sync(ctx));
            assert_int_equal(count, kept);
            const size_t wrong = gpu_first_difference(got, want, kept, size);
            if (wrong != kept)
                fail_msg("%s %s, n %zu, round %u, repeat %u, %s: element %zu of %zu", unique ? "unique" : "compact",
                         scan_type_name(type), n, round, k, scan_ctx_ran(ctx), wrong, kept);
        }
    }
    stop_load(&l);
    scan_ctx_destroy(ctx);
    cuda_ok(cudaStreamDestroy(stream));
    scan_free(gpu, d_master);
    scan_free(gpu, d_array);
    scan_free(gpu, d_count);
    free(host), free(want), free(got);
}

/* ---- graphs ------------------------------------------------------------------------------------------------------ */

/* compact, then unique of as many as it kept, captured once; replayed on other data and other counts. */
static void chain_in_a_graph(void **state) {
    (void)state;
    gpu_need();
    const size_t sizes[] = {3000, gpu_is_small ? 30000 : 200000, gpu_is_small ? 50000 : 4000000};
    cudaStream_t stream;
    cuda_ok(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    scan_ctx *ctx = context_on(stream);
    for (size_t s = 0; s < 3; s++) {
        const size_t n = sizes[s];
        uint32_t *host = malloc(n * 4), *kept = malloc(n * 4), *runs = malloc(n * 4), *got = malloc(n * 4);
        uint32_t *d_in = device_memory(n * 4), *d_kept = device_memory(n * 4), *d_runs = device_memory(n * 4);
        uint64_t *d_counts = device_memory(3 * 8); /* elements, kept, runs */
        scan_term term = {.op = SCAN_TERM_GE, .constant_type = SCAN_U64, .constant.u = 3};
        scan_compact_desc first = {
            .struct_size = sizeof first, .type = SCAN_U32, .terms = &term, .term_count = 1, .n_device = d_counts};
        scan_compact_out first_out = {.struct_size = sizeof first_out, .kept = d_kept, .count = d_counts + 1};
        scan_unique_desc second = {.struct_size = sizeof second, .type = SCAN_U32, .n_device = d_counts + 1};
        scan_unique_out second_out = {.struct_size = sizeof second_out, .kept = d_runs, .count = d_counts + 2};
        size_t bytes, more;
        gpu_ok(scan_compact_workspace(ctx, &first, n, &bytes));
        gpu_ok(scan_unique_workspace(ctx, &second, n, &more));
        gpu_ok(scan_ctx_reserve(ctx, bytes > more ? bytes : more));
        gpu_ok(scan_ctx_sync(ctx));
        cudaGraph_t graph;
        cudaGraphExec_t exec;
        cuda_ok(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
        gpu_ok(scan_compact(ctx, &first, d_in, &first_out, n));
        gpu_ok(scan_unique(ctx, &second, d_kept, &second_out, n));
        cuda_ok(cudaStreamEndCapture(stream, &graph));
        cuda_ok(cudaGraphInstantiate(&exec, graph, 0));
        for (unsigned round = 0; round < (gpu_is_small ? 3u : 30u); round++) {
            uint64_t counts[3] = {round == 0 ? n : round == 1 ? 0 : random_u64(&seed) % n, 7, 7}, want[3];
            for (size_t i = 0; i < n; i++)
                host[i] = (uint32_t)(random_u64(&seed) % 7);
            want[0] = counts[0];
            want[1] = want[2] = 0;
            for (size_t i = 0; i < counts[0]; i++)
                if (host[i] >= 3)
                    kept[want[1]++] = host[i];
            for (size_t i = 0; i < want[1]; i++)
                if (i == 0 || kept[i] != kept[i - 1])
                    runs[want[2]++] = kept[i];
            gpu_ok(scan_upload(ctx, d_in, host, n * 4));
            gpu_ok(scan_upload(ctx, d_counts, counts, sizeof counts));
            for (unsigned k = 0; k < 2; k++)
                cuda_ok(cudaGraphLaunch(exec, stream));
            gpu_ok(scan_compact(ctx, &first, d_in, &first_out, n)); /* an eager call between replays */
            cuda_ok(cudaGraphLaunch(exec, stream));
            gpu_ok(scan_download(ctx, counts, d_counts, sizeof counts));
            gpu_ok(scan_download(ctx, got, d_runs, want[2] * 4));
            gpu_ok(scan_ctx_sync(ctx));
            assert_memory_equal(counts, want, sizeof counts);
            assert_int_equal(gpu_first_difference(got, runs, want[2], 4), want[2]);
        }
        cuda_ok(cudaGraphExecDestroy(exec));
        cuda_ok(cudaGraphDestroy(graph));
        scan_free(gpu, d_in), scan_free(gpu, d_kept), scan_free(gpu, d_runs), scan_free(gpu, d_counts);
        free(host), free(kept), free(runs), free(got);
    }
    scan_ctx_destroy(ctx);
    cuda_ok(cudaStreamDestroy(stream));
}

/* ---- beyond 2^32 ------------------------------------------------------------------------------------------------- */

enum { VALUES = 251, CHUNK = 1 << 24 };

/* Elements checked at a time: whole periods. */
static size_t chunk_of(uint64_t n, uint64_t period) { return ((n < CHUNK ? n : CHUNK) / period + 1) * period; }

static void *allocate(size_t bytes) {
    void *memory = NULL;
    return scan_malloc(gpu, bytes, &memory) == SCAN_OK ? memory : NULL;
}

static void put_value(size_t size, void *array, size_t i, uint64_t value) {
    if (size == 1)
        ((uint8_t *)array)[i] = (uint8_t)value;
    else if (size == 4)
        ((uint32_t *)array)[i] = (uint32_t)value;
    else
        ((uint64_t *)array)[i] = value;
}

/* Element i is (i / run) % VALUES. */
static void upload_large(char *to, size_t size, uint64_t n, uint64_t run) {
    const size_t chunk = chunk_of(n, run * VALUES);
    char *part = malloc(chunk * size);
    for (size_t i = 0; i < chunk; i++)
        put_value(size, part, i, i / run % VALUES);
    for (uint64_t at = 0; at < n; at += chunk)
        gpu_ok(scan_upload(gpu, to + at * size, part, (n - at < chunk ? n - at : chunk) * size));
    gpu_ok(scan_ctx_sync(gpu));
    free(part);
}

/* Element k of the array is first + k % period * step, or first + k * step if period is 0. */
static void expect_large(const char *what, const char *array, size_t size, uint64_t n, uint64_t first, uint64_t period,
                         uint64_t step) {
    const size_t chunk = chunk_of(n, period ? period : 1);
    char *got = malloc(chunk * size), *want = malloc(chunk * size);
    for (uint64_t at = 0; at < n; at += chunk) {
        const size_t m = n - at < chunk ? n - at : chunk;
        if (at == 0 || !period)
            for (size_t k = 0; k < chunk; k++)
                put_value(size, want, k, first + (period ? k % period : at + k) * step);
        gpu_ok(scan_download(gpu, got, array + at * size, m * size));
        gpu_ok(scan_ctx_sync(gpu));
        const size_t wrong = gpu_first_difference(got, want, m, size);
        if (wrong != m)
            fail_msg("%s, %zu bytes: element %llu of %llu", what, size, (unsigned long long)(at + wrong),
                     (unsigned long long)n);
    }
    free(got), free(want);
}

static uint64_t count_at(const uint64_t *d_count) {
    uint64_t count;
    gpu_ok(scan_download(gpu, &count, d_count, 8));
    gpu_ok(scan_ctx_sync(gpu));
    return count;
}

/* Keeps the values below 100, of every 251; then the same in place. */
static void large_partition(scan_type type, uint64_t n) {
    enum { KEPT = 100 };
    const size_t size = scan_type_size(type);
    const uint64_t kept = n / VALUES * KEPT + (n % VALUES < KEPT ? n % VALUES : KEPT);
    char *in = allocate(n * size), *d_kept = allocate(n * size), *d_rest = allocate(n * size);
    uint64_t *d_count = allocate(8);
    if (in && d_kept && d_rest && d_count) {
        upload_large(in, size, n, 1);
        scan_term term = {.op = SCAN_TERM_LT, .constant_type = SCAN_U64, .constant.u = KEPT};
        scan_compact_desc d = {.struct_size = sizeof d, .type = type, .terms = &term, .term_count = 1};
        scan_compact_out out = {.struct_size = sizeof out, .kept = d_kept, .rejected = d_rest, .count = d_count};
        gpu_ok(scan_compact(gpu, &d, in, &out, n));
        assert_int_equal(count_at(d_count), kept);
        expect_large("kept", d_kept, size, kept, 0, KEPT, 1);
        expect_large("rejected", d_rest, size, n - kept, KEPT, VALUES - KEPT, 1);
        out.kept = in;
        out.rejected = NULL;
        gpu_ok(scan_compact(gpu, &d, in, &out, n));
        assert_int_equal(count_at(d_count), kept);
        expect_large("kept in place", in, size, kept, 0, KEPT, 1);
    } else {
        printf("skipped: %llu elements of %s: no memory\n", (unsigned long long)n, scan_type_name(type));
    }
    scan_free(gpu, in), scan_free(gpu, d_kept), scan_free(gpu, d_rest), scan_free(gpu, d_count);
}

/* Flags that are 0 once in 251. */
static void large_flags(uint64_t n) {
    const uint64_t zeros = (n + VALUES - 1) / VALUES;
    uint16_t *in = allocate(n * 2), *d_rest = allocate(n * 2);
    uint64_t *d_indices = allocate(n * 8), *d_count = allocate(8);
    uint8_t *flags = allocate(n);
    if (in && d_rest && d_indices && d_count && flags) {
        upload_large((char *)flags, 1, n, 1);
        if (gpu_is_small) /* what the values are does not matter, but a checker sees that they are read */
            upload_large((char *)in, 1, 2 * n, 1);
        scan_compact_desc d = {
            .struct_size = sizeof d, .type = SCAN_U16, .index_type = SCAN_U64, .flags = flags, .invert = 1};
        scan_compact_out out = {.struct_size = sizeof out, .rejected = d_rest, .indices = d_indices, .count = d_count};
        gpu_ok(scan_compact(gpu, &d, in, &out, n));
        assert_int_equal(count_at(d_count), zeros);
        expect_large("indices of zeros", (char *)d_indices, 8, zeros, 0, 0, VALUES);
    } else {
        printf("skipped: %llu flags: no memory\n", (unsigned long long)n);
    }
    scan_free(gpu, in), scan_free(gpu, d_rest), scan_free(gpu, d_indices), scan_free(gpu, d_count);
    scan_free(gpu, flags);
}

/* Runs of 7. */
static void large_unique(uint64_t n) {
    enum { RUN = 7 };
    const uint64_t runs = (n + RUN - 1) / RUN;
    char *in = allocate(n), *d_kept = allocate(n), *d_indices = allocate(n * 8), *d_lengths = allocate(n * 8);
    uint64_t *d_count = allocate(8);
    if (in && d_kept && d_indices && d_lengths && d_count) {
        upload_large(in, 1, n, RUN);
        scan_unique_desc d = {.struct_size = sizeof d, .type = SCAN_U8, .index_type = SCAN_U64};
        scan_unique_out out = {.struct_size = sizeof out,
                               .kept = d_kept,
                               .indices = d_indices,
                               .run_lengths = d_lengths,
                               .count = d_count};
        gpu_ok(scan_unique(gpu, &d, in, &out, n));
        assert_int_equal(count_at(d_count), runs);
        expect_large("unique", d_kept, 1, runs, 0, VALUES, 1);
        expect_large("starts of runs", d_indices, 8, runs, 0, 0, RUN);
        expect_large("lengths of runs", d_lengths, 8, runs - 1, RUN, 1, 0);
        assert_int_equal(count_at((uint64_t *)d_lengths + runs - 1), n - (runs - 1) * RUN);
    } else {
        printf("skipped: unique of %llu elements: no memory\n", (unsigned long long)n);
    }
    scan_free(gpu, in), scan_free(gpu, d_kept), scan_free(gpu, d_indices), scan_free(gpu, d_lengths);
    scan_free(gpu, d_count);
}

static void large(void **state) {
    (void)state;
    gpu_need();
    const uint64_t edge = gpu_is_small ? 1u << 17 : 1ull << 32, sizes[] = {edge / 2 + 1, edge - 1, edge, edge + 1};
    for (size_t i = 0; i < 4; i++) {
        large_partition(SCAN_U8, sizes[i]);
        large_partition(SCAN_U32, sizes[i]);
        large_flags(sizes[i]);
        large_unique(sizes[i]);
    }
}

/* Nothing is read here, so that elements may be more than memory has. */
static void large_indices(void **state) {
    (void)state;
    gpu_need();
    const uint64_t edge = gpu_is_small ? 1u << 18 : 1ull << 32, n = edge + 70000;
    uint64_t *d_count = device_memory(8);
    scan_term term = {
        .op = SCAN_TERM_GE, .column = SCAN_COLUMN_INDEX, .constant_type = SCAN_U64, .constant.u = edge - 3};
    scan_compact_desc d = {.struct_size = sizeof d, .index_type = SCAN_U64, .terms = &term, .term_count = 1};
    scan_compact_out out = {.struct_size = sizeof out, .count = d_count};
    gpu_ok(scan_compact(gpu, &d, NULL, &out, n));
    assert_int_equal(count_at(d_count), 70003);
    scan_free(gpu, d_count);
}

int main(int argc, char **argv) {
    static const gpu_test tests[] = {
        GPU_TEST(GPU_STRESS | GPU_SMALL, in_place_under_load),
        GPU_TEST(GPU_STRESS | GPU_SMALL, chain_in_a_graph),
        GPU_TEST(GPU_LARGE | GPU_SMALL, large),
        GPU_TEST(GPU_LARGE | GPU_SMALL, large_indices),
    };
    return gpu_main("gpu_compact_stress", tests, sizeof tests / sizeof tests[0], argc, argv);
}
