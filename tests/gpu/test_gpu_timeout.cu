/* SPDX-License-Identifier: MIT
 *
 * SCAN_DEVICE_TIMEOUT: a device that does not answer is lost after that time, and nothing waits for it any more.
 */
#include "gpu_support.h"

#include <cuda_runtime_api.h>
#include <time.h>

#include "scan/cuda/device/kernel.cuh"
#include "spin.cuh"
#ifdef SCAN_EMULATED
#include "tests/emulator/control.h"
enum { PART = GPU_SMALL };
#else
enum { PART = GPU_STRESS }; /* under compute-sanitizer nothing is done in time */
#endif

enum { N = 5000, TIMEOUT = 1, HANG = 4 /* seconds */ };

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
}

/* Nothing that is submitted from now on is done: for HANG seconds, or in the emulator until end_hang(). */
#ifdef SCAN_EMULATED
static void begin_hang(cudaStream_t) { emulator_hang_at(1); }
static void end_hang(void) { emulator_hang_at(0); }
#else
static __global__ void hang_kernel(uint64_t nanoseconds) { spin_ns(nanoseconds); }
static void begin_hang(cudaStream_t stream) {
    uint64_t nanoseconds = HANG * 1000000000ull;
    void *arguments[] = {&nanoseconds};
    assert_int_equal(cudaLaunchKernel(scan_cuda::address(hang_kernel), dim3(1), dim3(32), arguments, 0, stream),
                     cudaSuccess);
}
static void end_hang(void) { assert_int_equal(cudaDeviceSynchronize(), cudaSuccess); }
#endif

static scan_status create(scan_ctx **ctx, const char *timeout, cudaStream_t stream) {
    scan_options options = {};
    options.struct_size = sizeof options;
    options.backend = SCAN_BACKEND_CUDA;
    options.stream = stream;
    if (timeout)
        setenv("SCAN_DEVICE_TIMEOUT", timeout, 1);
    const scan_status status = scan_ctx_create(ctx, &options);
    unsetenv("SCAN_DEVICE_TIMEOUT");
    return status;
}

static scan_status sum(scan_ctx *ctx, const void *in, void *out, scan_grid grid) {
    scan_prefix_desc desc = {};
    desc.struct_size = sizeof desc;
    desc.type = desc.out_type = SCAN_U32;
    desc.op = SCAN_ADD;
    desc.algorithm.grid = grid;
    return scan_prefix(ctx, &desc, in, out, N);
}

static void fill(uint32_t *host) {
    for (uint32_t i = 0; i < N; i++)
        host[i] = i * 2654435761u;
}

/* From pageable and from pinned memory, and where the host waits in between. */
static void what_answers_in_time(void **state) {
    (void)state;
    gpu_need();
    for (int pinned = 0; pinned < 2; pinned++)
        for (scan_grid grid : {SCAN_GRID_AUTO, SCAN_GRID_HOST_SUMS}) {
            static uint32_t pageable[N];
            scan_ctx *ctx;
            void *memory, *host = pageable;
            assert_int_equal(create(&ctx, "600", nullptr), SCAN_OK);
            if (pinned)
                assert_int_equal(scan_malloc_host(ctx, sizeof pageable, &host), SCAN_OK);
            fill(static_cast<uint32_t *>(host));
            assert_int_equal(scan_malloc(ctx, sizeof pageable, &memory), SCAN_OK);
            assert_int_equal(scan_upload(ctx, memory, host, sizeof pageable), SCAN_OK);
            assert_int_equal(sum(ctx, memory, memory, grid), SCAN_OK);
            assert_int_equal(scan_download(ctx, host, memory, sizeof pageable), SCAN_OK);
            assert_int_equal(scan_ctx_sync(ctx), SCAN_OK);
            uint32_t expected = 0;
            for (uint32_t i = 0; i < N; i++)
                assert_int_equal(static_cast<uint32_t *>(host)[i], expected += i * 2654435761u);
            if (pinned)
                scan_free_host(ctx, host);
            scan_free(ctx, memory);
            scan_ctx_destroy(ctx);
        }
}

/* The call that notices it: a wait, an upload or a download of pageable memory, a free. After it no call waits. */
static void what_does_not(void **state) {
    (void)state;
    gpu_need();
    for (int how = 0; how < 5; how++) {
        static uint32_t host[N];
        scan_ctx *ctx;
        void *memory, *pinned;
        cudaStream_t stream;
        assert_int_equal(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
        assert_int_equal(create(&ctx, "1", stream), SCAN_OK);
        assert_int_equal(scan_malloc(ctx, sizeof host, &memory), SCAN_OK);
        assert_int_equal(scan_malloc_host(ctx, sizeof host, &pinned), SCAN_OK);
        assert_int_equal(sum(ctx, memory, memory, SCAN_GRID_AUTO), SCAN_OK); /* the workspace is there */
        assert_int_equal(scan_ctx_sync(ctx), SCAN_OK);
        begin_hang(stream);
        assert_int_equal(sum(ctx, memory, memory, SCAN_GRID_AUTO), SCAN_OK);
        assert_int_equal(scan_upload(ctx, memory, pinned, sizeof host), SCAN_OK); /* which is queued */

        const double begin = seconds();
        switch (how) {
        case 0: assert_int_equal(scan_ctx_sync(ctx), SCAN_ERR_DEVICE_LOST); break;
        case 1: assert_int_equal(scan_upload(ctx, memory, host, sizeof host), SCAN_ERR_DEVICE_LOST); break;
        case 2: assert_int_equal(scan_download(ctx, host, memory, sizeof host), SCAN_ERR_DEVICE_LOST); break;
        case 3: scan_free(ctx, memory); break;
        case 4: scan_free_host(ctx, pinned); break;
        }
        const double noticed = seconds();
        if (how < 3)
            assert_non_null(strstr(scan_ctx_detail(ctx), "the device has not answered for 1 s (SCAN_DEVICE_TIMEOUT)"));
        assert_int_equal(sum(ctx, memory, memory, SCAN_GRID_HOST_SUMS), SCAN_ERR_DEVICE_LOST);
        assert_int_equal(scan_ctx_sync(ctx), SCAN_ERR_DEVICE_LOST);
        assert_int_equal(scan_ctx_reserve(ctx, 64 << 20), SCAN_ERR_DEVICE_LOST);
        scan_free(ctx, memory);
        scan_free_host(ctx, pinned);
        scan_ctx_destroy(ctx);
        assert_true(noticed - begin >= TIMEOUT && seconds() - begin < TIMEOUT + 1);
        end_hang();
        assert_int_equal(cudaStreamDestroy(stream), cudaSuccess);
    }
    assert_int_equal(scan_ctx_sync(gpu), SCAN_OK); /* a context without a limit */
}

static void what_is_no_time(void **state) {
    (void)state;
    gpu_need();
    static const char *const bad[] = {"0", "-1", "1s", "1.5", " 1", "9999999999", "x"};
    scan_ctx *ctx;
    for (const char *text : bad)
        assert_int_equal(create(&ctx, text, nullptr), SCAN_ERR_ARGUMENT);
    for (const char *text : {"", "1", "999999999"}) {
        assert_int_equal(create(&ctx, text, nullptr), SCAN_OK);
        scan_ctx_destroy(ctx);
    }
}

int main(int argc, char **argv) {
    static const gpu_test tests[] = {
        GPU_TEST(PART, what_answers_in_time),
        GPU_TEST(PART, what_does_not),
        GPU_TEST(PART, what_is_no_time),
    };
    return gpu_main("gpu_timeout", tests, sizeof tests / sizeof tests[0], argc, argv);
}
