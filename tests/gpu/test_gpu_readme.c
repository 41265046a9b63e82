/* SPDX-License-Identifier: MIT
 *
 * The examples of README.md that need a device, as they stand there (CMake takes them from the page), against loops.
 */
#include "gpu_support.h"

#include "readme_examples.h"

static void sums_between_copies(void **state) {
    (void)state;
    gpu_need();
    enum { N = 50021 };
    static uint32_t numbers[N], want[N];
    cudaStream_t stream;
    assert_int_equal(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
    for (uint32_t i = 0, sum = 0; i < N; i++) {
        numbers[i] = i * 2654435761u;
        want[i] = sum += numbers[i];
    }
    assert_int_equal(sums_on_a_stream(numbers, N, stream), SCAN_OK);
    assert_memory_equal(numbers, want, sizeof want);
    assert_int_equal(cudaStreamDestroy(stream), cudaSuccess);
}

static int ascending(const void *a, const void *b) {
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

enum { CHAIN = 30011 };

/* Whole numbers, whose sums are exact in any order. Returns how many are positive; they go to `sorted`. */
static size_t draw_numbers(float *numbers, float *sorted, size_t n, uint64_t *random, uint64_t positive_of_8) {
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        const float size = (float)(1 + random_below(random, 200));
        numbers[i] = random_below(random, 8) < positive_of_8 ? size : -size;
        if (numbers[i] > 0)
            sorted[count++] = numbers[i];
    }
    qsort(sorted, count, sizeof *sorted, ascending);
    return count;
}

/* Replayed on other numbers, of which more or fewer are positive, with another call of the context's in between. */
static void chain_replayed(void **state) {
    (void)state;
    gpu_need();
    if (gpu_is_racecheck)
        skip(); /* takes minutes; the kernels are those of other tests */
    static float numbers[CHAIN], want[CHAIN], got[CHAIN];
    cudaStream_t stream;
    cudaGraphExec_t replay;
    scan_ctx *ctx;
    assert_int_equal(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
    const scan_options options = {.struct_size = sizeof options, .backend = SCAN_BACKEND_CUDA, .stream = stream};
    gpu_ok(scan_ctx_create(&ctx, &options));
    void *arrays[3], *count;
    for (int i = 0; i < 3; i++) { /* beyond the count nothing is written */
        gpu_ok(scan_malloc(ctx, sizeof numbers, &arrays[i]));
        gpu_ok(scan_upload(ctx, arrays[i], numbers, sizeof numbers));
    }
    gpu_ok(scan_malloc(ctx, 8, &count));
    assert_int_equal(capture_chain(ctx, stream, arrays[0], CHAIN, arrays[1], arrays[2], count, &replay), SCAN_OK);
    uint64_t random = 5;
    for (uint64_t share = 0; share <= 8; share += 2) {
        const size_t n = draw_numbers(numbers, want, CHAIN, &random, share);
        uint64_t counted = 0;
        gpu_ok(scan_upload(ctx, arrays[0], numbers, sizeof numbers));
        assert_int_equal(cudaGraphLaunch(replay, stream), cudaSuccess);
        gpu_ok(scan_download(ctx, &counted, count, sizeof counted));
        gpu_ok(scan_download(ctx, got, arrays[1], sizeof got));
        gpu_ok(scan_ctx_sync(ctx));
        assert_int_equal(counted, n);
        assert_memory_equal(got, want, n * sizeof *want);
        gpu_ok(scan_download(ctx, got, arrays[2], sizeof got));
        gpu_ok(scan_ctx_sync(ctx));
        float sum = 0;
        for (size_t i = 0; i < n; i++)
            assert_true(got[i] == (sum += want[i]));
        const scan_prefix_desc eager = {.struct_size = sizeof eager, .type = SCAN_F32};
        gpu_ok(scan_prefix(ctx, &eager, arrays[0], arrays[2], CHAIN));
    }
    gpu_ok(scan_ctx_sync(ctx));
    assert_int_equal(cudaGraphExecDestroy(replay), cudaSuccess);
    for (int i = 0; i < 3; i++)
        scan_free(ctx, arrays[i]);
    scan_free(ctx, count);
    scan_ctx_destroy(ctx);
    assert_int_equal(cudaStreamDestroy(stream), cudaSuccess);
}

int main(int argc, char **argv) {
    static const gpu_test tests[] = {
        GPU_TEST(GPU_MATRIX | GPU_SMALL, sums_between_copies),
        GPU_TEST(GPU_MATRIX | GPU_SMALL, chain_replayed),
    };
    return gpu_main("gpu_readme", tests, sizeof tests / sizeof tests[0], argc, argv);
}
