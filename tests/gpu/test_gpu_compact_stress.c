/* SPDX-License-Identifier: MIT
 *
 * scan_compact and scan_unique under load and on large inputs: in place beside kernels that hold most of the
 * device, in graphs that are replayed on other data and other counts, and on more than 2^32 elements, whose results are
 * known in closed form.
 */
#include <cuda_runtime_api.h>

#include "../unit/compact_oracle.h"
#include "gpu_select.h"

#define cuda_ok(call) assert_int_equal(call, cudaSuccess)

static uint64_t rng = 23;

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

/* Returns how many of n elements are kept. */
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

static void select_in_place(scan_ctx *ctx, scan_grid grid, scan_type type, bool unique, double share, char *d_array,
                            uint64_t *d_count, size_t n) {
    if (unique) {
        scan_unique_desc d = {.struct_size = sizeof d, .type = type, .grid = grid};
        scan_unique_out out = {.struct_size = sizeof out, .kept = d_array, .count = d_count};
        gpu_status(ctx, scan_unique(ctx, &d, d_array, &out, n), __FILE__, __LINE__);
    } else {
        scan_term term = {.op = SCAN_TERM_LT, .constant_type = SCAN_F64, .constant.f = quantile(type, share)};
        scan_compact_desc d = {.struct_size = sizeof d, .type = type, .terms = &term, .term_count = 1, .grid = grid};
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

/* Rounds 16 to 31 are long: more tiles than the device holds at a time. */
static void in_place_under_load(void **state) {
    (void)state;
    gpu_need();
    static const scan_type types[] = {SCAN_U32, SCAN_U8, SCAN_F64, SCAN_I16};
    static const double shares[] = {99.6, 50, 2}; /* of bytes too neither all nor none */
    const scan_grid grids[] = {has_wave() ? SCAN_GRID_WAVE : SCAN_GRID_LOOKBACK, SCAN_GRID_LOOKBACK, SCAN_GRID_AUTO};
    const size_t usual = gpu_is_small ? 40000 : 3 << 20, large = gpu_is_small ? usual : 24 << 20, room = large + 64;
    unsigned ran_wave[2] = {0}, ran_look_back[2] = {0}; /* rounds, usual and long */
    load l = start_load();
    cudaStream_t stream;
    cuda_ok(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    scan_ctx *ctx = context_on(stream);
    char *host = malloc(room), *want = malloc(room), *got = malloc(room);
    char *d_master = device_memory(room), *d_array = device_memory(room);
    uint64_t *d_count = device_memory(8), count;
    for (unsigned round = 0; round < (gpu_is_small ? 6u : 48u); round++) {
        const scan_type type = types[round % 4];
        const scan_grid grid = grids[round / 3 % 3];
        const bool unique = round / 4 % 2, is_long = round / 16 == 1;
        const unsigned repeats = gpu_is_small ? 1 : is_long ? 4 : 12;
        const size_t size = scan_type_size(type), offset = round % 3 * size;
        const size_t n = (is_long ? large : usual) / size - round * 77;
        random_elements(type, host, n, &rng);
        for (size_t i = 1; unique && i < n; i++) /* runs of a hundred or of two */
            if (random_below(&rng, round % 8 ? 100 : 2))
                memcpy(host + i * size, host + (i - 1) * size, size);
        const size_t kept = select_on_host(type, unique, shares[round % 3], host, want, n);
        gpu_ok(scan_upload(gpu, d_master, host, n * size));
        gpu_ok(scan_ctx_sync(gpu));
        for (unsigned k = 0; k < repeats; k++) {
            add_load(&l, 1 + k % 3);
            cuda_ok(cudaMemcpyAsync(d_array + offset, d_master, n * size, cudaMemcpyDeviceToDevice, stream));
            select_in_place(ctx, grid, type, unique, shares[round % 3], d_array + offset, d_count, n);
            gpu_ok(scan_download(ctx, got, d_array + offset, kept * size));
            gpu_ok(scan_download(ctx, &count, d_count, 8));
            gpu_ok(scan_ctx_sync(ctx));
            assert_int_equal(count, kept);
            const size_t wrong = gpu_first_difference(got, want, kept, size);
            if (wrong != kept)
                fail_msg("%s %s, n %zu, round %u, repeat %u, %s: element %zu of %zu", unique ? "unique" : "compact",
                         scan_type_name(type), n, round, k, scan_ctx_ran(ctx), wrong, kept);
        }
        ran_wave[is_long] += strcmp(scan_ctx_ran(ctx), "wave") == 0;
        ran_look_back[is_long] += strcmp(scan_ctx_ran(ctx), "look-back") == 0;
    }
    for (unsigned is_long = 0; is_long < (gpu_is_small ? 1 : 2); is_long++) {
        assert_int_equal(ran_wave[is_long] > 0, has_wave());
        assert_true(ran_look_back[is_long] > 0);
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
            uint64_t counts[3] = {round == 0 ? n : round == 1 ? 0 : random_below(&rng, n), 7, 7}, want[3];
            for (size_t i = 0; i < n; i++)
                host[i] = (uint32_t)random_below(&rng, 7);
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

enum { VALUES = 251 };

/* Elements checked at a time: whole periods. */
static size_t chunk_of(uint64_t n, uint64_t period) {
    const uint64_t max_chunk = gpu_is_small ? 1 << 15 : 1 << 24;
    return ((n < max_chunk ? n : max_chunk) / period + 1) * period;
}

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

/* Element i is (i / run) % VALUES. The first chunk is uploaded, the device repeats it. */
static void upload_large(char *to, size_t size, uint64_t n, uint64_t run) {
    const size_t chunk = chunk_of(n, run * VALUES);
    char *part = malloc(chunk * size);
    for (size_t i = 0; i < chunk; i++)
        put_value(size, part, i, i / run % VALUES);
    gpu_ok(scan_upload(gpu, to, part, (n < chunk ? n : chunk) * size));
    gpu_ok(scan_ctx_sync(gpu));
    for (uint64_t at = chunk; at < n; at += chunk)
        cuda_ok(cudaMemcpyAsync(to + at * size, to, (n - at < chunk ? n - at : chunk) * size, cudaMemcpyDeviceToDevice,
                                NULL));
    cuda_ok(cudaDeviceSynchronize());
    free(part);
}

/* Element k of the array is first + k % period * step, or first + k * step if period is 0. */
static void expect_large(const char *what, const char *array, size_t size, uint64_t n, uint64_t first, uint64_t period,
                         uint64_t step) {
    const size_t chunk = chunk_of(n, period ? period : 1);
    char *want = malloc(chunk * size);
    void *got;
    gpu_ok(scan_malloc_host(gpu, chunk * size, &got));
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
    scan_free_host(gpu, got);
    free(want);
}

static uint64_t count_at(const uint64_t *d_count) {
    uint64_t count;
    gpu_ok(scan_download(gpu, &count, d_count, 8));
    gpu_ok(scan_ctx_sync(gpu));
    return count;
}

/* Keeps the values below `below`, of every 251; then the same in place. Bytes have indices too, of which the last is
 * looked at. */
static void large_partition(scan_grid grid, scan_type type, uint64_t n, uint64_t below) {
    const size_t size = scan_type_size(type);
    const uint64_t kept = n / VALUES * below + (n % VALUES < below ? n % VALUES : below);
    char *in = allocate(n * size), *d_kept = allocate(n * size), *d_rest = allocate(n * size);
    uint64_t *d_count = allocate(8), *d_indices = size == 1 ? allocate(n * 8) : NULL;
    if (in && d_kept && d_rest && d_count && (d_indices || size > 1)) {
        upload_large(in, size, n, 1);
        scan_term term = {.op = SCAN_TERM_LT, .constant_type = SCAN_U64, .constant.u = below};
        scan_compact_desc d = {.struct_size = sizeof d,
                               .type = type,
                               .index_type = SCAN_U64,
                               .terms = &term,
                               .term_count = 1,
                               .grid = grid};
        scan_compact_out out = {
            .struct_size = sizeof out, .kept = d_kept, .rejected = d_rest, .indices = d_indices, .count = d_count};
        gpu_ok(scan_compact(gpu, &d, in, &out, n));
        assert_int_equal(count_at(d_count), kept);
        expect_large("kept", d_kept, size, kept, 0, below, 1);
        expect_large("rejected", d_rest, size, n - kept, below, VALUES - below, 1);
        if (d_indices)
            assert_int_equal(count_at(d_indices + kept - 1), (kept - 1) / below * VALUES + (kept - 1) % below);
        out.kept = in;
        out.rejected = out.indices = NULL;
        gpu_ok(scan_compact(gpu, &d, in, &out, n));
        assert_int_equal(count_at(d_count), kept);
        expect_large("kept in place", in, size, kept, 0, below, 1);
    } else {
        printf("skipped: %llu elements of %s: no memory\n", (unsigned long long)n, scan_type_name(type));
    }
    scan_free(gpu, in), scan_free(gpu, d_kept), scan_free(gpu, d_rest), scan_free(gpu, d_count);
    scan_free(gpu, d_indices);
}

/* Flags that are 0 once in 251. */
static void large_flags(scan_grid grid, uint64_t n) {
    const uint64_t zeros = (n + VALUES - 1) / VALUES;
    uint16_t *in = allocate(n * 2), *d_rest = allocate(n * 2);
    uint64_t *d_indices = allocate(n * 8), *d_count = allocate(8);
    uint8_t *flags = allocate(n);
    if (in && d_rest && d_indices && d_count && flags) {
        upload_large((char *)flags, 1, n, 1);
        if (gpu_is_small) /* what the values are does not matter, but a checker sees that they are read */
            upload_large((char *)in, 1, 2 * n, 1);
        scan_compact_desc d = {.struct_size = sizeof d,
                               .type = SCAN_U16,
                               .index_type = SCAN_U64,
                               .flags = flags,
                               .invert = 1,
                               .grid = grid};
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

/* Runs of `run`. Where that is 1, the starts and lengths of the last ones only are looked at. */
static void large_unique(scan_grid grid, uint64_t n, uint64_t run) {
    const uint64_t runs = (n + run - 1) / run, first = run == 1 && runs > 1 << 16 ? runs - (1 << 16) : 0;
    char *in = allocate(n), *d_kept = allocate(n);
    uint64_t *d_indices = allocate(n * 8), *d_lengths = allocate(n * 8), *d_count = allocate(8);
    if (in && d_kept && d_indices && d_lengths && d_count) {
        upload_large(in, 1, n, run);
        scan_unique_desc d = {.struct_size = sizeof d, .type = SCAN_U8, .index_type = SCAN_U64, .grid = grid};
        scan_unique_out out = {.struct_size = sizeof out,
                               .kept = d_kept,
                               .indices = d_indices,
                               .run_lengths = d_lengths,
                               .count = d_count};
        gpu_ok(scan_unique(gpu, &d, in, &out, n));
        assert_int_equal(count_at(d_count), runs);
        expect_large("unique", d_kept, 1, runs, 0, VALUES, 1);
        expect_large("starts of runs", (char *)(d_indices + first), 8, runs - first, first * run, 0, run);
        expect_large("lengths of runs", (char *)(d_lengths + first), 8, runs - 1 - first, run, 1, 0);
        assert_int_equal(count_at(d_lengths + runs - 1), n - (runs - 1) * run);
    } else {
        printf("skipped: unique of %llu elements: no memory\n", (unsigned long long)n);
    }
    scan_free(gpu, in), scan_free(gpu, d_kept), scan_free(gpu, d_indices), scan_free(gpu, d_lengths);
    scan_free(gpu, d_count);
}

/* The wave takes every size, look-back those past an edge by one; where there is no wave, look-back takes them all.
 * Bytes are cheap; words, and runs, whose lengths take long to check, have fewer sizes. */
static void large(void **state) {
    (void)state;
    gpu_need();
    const uint64_t edge = gpu_is_small ? 1u << 17 : 1ull << 32;
    const uint64_t sizes[] = {edge / 2 - 1, edge / 2, edge / 2 + 1, edge - 1, edge, edge + 1};
    const scan_grid grids[] = {has_wave() ? SCAN_GRID_WAVE : SCAN_GRID_LOOKBACK, SCAN_GRID_LOOKBACK};
    for (unsigned g = 0; g < (has_wave() ? 2 : 1); g++)
        for (size_t i = 0; i < 6; i++) {
            const bool is_past = i == 2 || i == 5;
            if (g == 0 || is_past) {
                large_partition(grids[g], SCAN_U8, sizes[i], 100);
                large_flags(grids[g], sizes[i]);
            }
            if (is_past || (g == 0 && i == 4))
                large_partition(grids[g], SCAN_U32, sizes[i], 100);
            if (is_past || (g == 0 && i > 2))
                large_unique(grids[g], sizes[i], 7);
        }
}

/* Positions in the outputs past 2^32 too: almost all is kept, almost all is rejected, each element is a run. */
static void large_outputs(void **state) {
    (void)state;
    gpu_need();
    const uint64_t edge = gpu_is_small ? 1u << 17 : 1ull << 32, n = edge + edge / 64;
    const scan_grid grids[] = {SCAN_GRID_LOOKBACK, SCAN_GRID_WAVE};
    for (unsigned g = 0; g < (has_wave() ? 2 : 1); g++) {
        large_partition(grids[g], SCAN_U8, n, VALUES - 1);
        large_partition(grids[g], SCAN_U8, n, 1);
        large_unique(grids[g], n, 1);
    }
}

/* 103 GB of arrays. */
static void large_words(void **state) {
    (void)state;
    gpu_need();
    large_partition(SCAN_GRID_AUTO, SCAN_U64, (gpu_is_small ? 1ull << 17 : 1ull << 32) + 1, 100);
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
        GPU_TEST(GPU_LARGE | GPU_SMALL, large_outputs),
        GPU_TEST(GPU_LARGE | GPU_SMALL, large_words),
        GPU_TEST(GPU_LARGE | GPU_SMALL, large_indices),
    };
    return gpu_main("gpu_compact_stress", tests, sizeof tests / sizeof tests[0], argc, argv);
}
