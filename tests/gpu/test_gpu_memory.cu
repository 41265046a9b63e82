/* SPDX-License-Identifier: MIT
 *
 * Errors on a device, and its memory after them: what was free before is free again when the contexts are destroyed,
 * or, after an error that a process does not survive, when the process has ended.
 */
#include "gpu_support.h"

#include <cuda_runtime_api.h>
#include <time.h>
#ifndef SCAN_EMULATED
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#endif

#include "scan/cuda/device/kernel.cuh"
#include "spin.cuh"

#define cuda_ok(call) assert_int_equal(call, cudaSuccess)

enum { N = 100000, TIMEOUT = 1, HANG = 20, WAIT = 60 /* seconds */ };
static const size_t held_bytes = GPU_EMULATED ? size_t(1) << 20 : size_t(1) << 30;

static size_t free_bytes() {
    size_t left, total;
    cuda_ok(cudaMemGetInfo(&left, &total));
    return left;
}

static scan_ctx *create(cudaStream_t stream) {
    scan_ctx *ctx;
    scan_options options = {};
    options.struct_size = sizeof options;
    options.backend = SCAN_BACKEND_CUDA;
    options.stream = stream;
    assert_int_equal(scan_ctx_create(&ctx, &options), SCAN_OK);
    return ctx;
}

static scan_status sort(scan_ctx *ctx, void *keys, size_t n) {
    scan_sort_desc desc = {};
    desc.struct_size = sizeof desc;
    desc.type = SCAN_U32;
    return scan_sort(ctx, &desc, keys, keys, NULL, NULL, n);
}

/* The context does its work: it sorts numbers that descend. */
static void works(scan_ctx *ctx) {
    static uint32_t host[N];
    void *keys;
    for (uint32_t i = 0; i < N; i++)
        host[i] = N - 1 - i;
    assert_int_equal(scan_malloc(ctx, sizeof host, &keys), SCAN_OK);
    assert_int_equal(scan_upload(ctx, keys, host, sizeof host), SCAN_OK);
    assert_int_equal(sort(ctx, keys, N), SCAN_OK);
    assert_int_equal(scan_download(ctx, host, keys, sizeof host), SCAN_OK);
    assert_int_equal(scan_ctx_sync(ctx), SCAN_OK);
    for (uint32_t i = 0; i < N; i++)
        assert_int_equal(host[i], i);
    scan_free(ctx, keys);
}

/* ---- errors that a context survives ------------------------------------------------------------------------------ */

/* All of the device's memory but `left` bytes, in pieces. Returns how many there are. */
static size_t take_memory(void **pieces, size_t max_pieces, size_t left) {
    size_t count = 0;
    for (size_t piece = held_bytes * 16; piece >= (GPU_EMULATED ? 4096 : 2 << 20) && count < max_pieces; piece /= 2)
        while (count < max_pieces && free_bytes() > left + piece && cudaMalloc(&pieces[count], piece) == cudaSuccess)
            count++;
    cudaGetLastError();
    return count;
}

/* With 64 MiB left the keys fit and the workspace of a sort does not. */
static void memory_short(scan_ctx *ctx) {
    enum { MAX_PIECES = 4096 };
    static void *pieces[MAX_PIECES];
    const size_t left = GPU_EMULATED ? 16 << 20 : 64 << 20, n = left / 8; /* keys take half of it */
    void *keys, *none = &keys;
    const size_t count = take_memory(pieces, MAX_PIECES, left);
    assert_int_equal(scan_malloc(ctx, left * 4, &none), SCAN_ERR_MEMORY);
    assert_null(none);
    assert_int_equal(scan_ctx_reserve(ctx, left * 4), SCAN_ERR_MEMORY);
    assert_int_equal(scan_malloc(ctx, n * 4, &keys), SCAN_OK);
    assert_int_equal(sort(ctx, keys, n), SCAN_ERR_MEMORY);
    assert_true(strstr(scan_ctx_detail(ctx), "memory") != NULL);
    scan_free(ctx, keys);
    works(ctx); /* what is small still fits */
    for (size_t i = 0; i < count; i++)
        cuda_ok(cudaFree(pieces[i]));
}

static void bad_arguments(scan_ctx *ctx) {
    static uint32_t host[N];
    void *keys;
    scan_sort_desc desc = {};
    desc.struct_size = sizeof desc;
    desc.type = SCAN_U32;
    assert_int_equal(scan_malloc(ctx, sizeof host, &keys), SCAN_OK);
    assert_int_equal(scan_sort(ctx, &desc, NULL, keys, NULL, NULL, N), SCAN_ERR_ARGUMENT);
    assert_int_equal(scan_sort(ctx, &desc, keys, (char *)keys + 4, NULL, NULL, N - 1), SCAN_ERR_OVERLAP);
    assert_int_equal(scan_sort(ctx, &desc, (char *)keys + 1, keys, NULL, NULL, N - 1), SCAN_ERR_ALIGNMENT);
    desc.type = scan_type(99);
    assert_int_equal(scan_sort(ctx, &desc, keys, keys, NULL, NULL, N), SCAN_ERR_TYPE);
    scan_free(ctx, keys);
}

/* A launch that is refused: in a capture, where the workspace cannot grow. */
static void refused_launch(scan_ctx *ctx, cudaStream_t stream) {
    void *keys;
    cudaGraph_t graph;
    const size_t n = GPU_EMULATED ? 1 << 20 : 1 << 24;
    assert_int_equal(scan_malloc(ctx, n * 4, &keys), SCAN_OK);
    cuda_ok(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    assert_int_equal(sort(ctx, keys, n), SCAN_ERR_WORKSPACE);
    cuda_ok(cudaStreamEndCapture(stream, &graph));
    cuda_ok(cudaGraphDestroy(graph));
    scan_free(ctx, keys);
}

/* The errors one after the other, each in a context of its own and then all in one. What CUDA itself keeps, such as
 * the code of kernels, is there after the first round. */
static void after_errors_all_is_free(void **state) {
    (void)state;
    gpu_need();
    if (getenv("SCAN_GPU_SHARED")) /* the device's free memory is what is compared */
        skip();
    size_t before = 0;
    for (int round = 0; round < 4; round++) {
        for (unsigned errors = 0; errors < 5; errors++) { /* 0: none; 4: all */
            cudaStream_t stream;
            cuda_ok(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
            scan_ctx *ctx = create(stream);
            if (errors == 1 || errors == 4)
                memory_short(ctx);
            if (errors == 2 || errors == 4)
                bad_arguments(ctx);
            if (errors == 3 || errors == 4)
                refused_launch(ctx, stream);
            works(ctx);
            scan_ctx_destroy(ctx);
            cuda_ok(cudaStreamDestroy(stream));
        }
        cuda_ok(cudaDeviceSynchronize());
        if (round == 0)
            before = free_bytes();
        else if (free_bytes() < before)
            fail_msg("round %d: %zu bytes of device memory are gone", round, before - free_bytes());
    }
}

/* ---- errors that end a process ----------------------------------------------------------------------------------- */

#ifndef SCAN_EMULATED
static __global__ void trap_kernel() { asm volatile("trap;"); }
static __global__ void wild_kernel(uint32_t *nowhere) { *nowhere = 1; }
static __global__ void hang_kernel(uint64_t nanoseconds) { spin_ns(nanoseconds); }

static bool launch(const char *how, cudaStream_t stream) {
    uint64_t nanoseconds = HANG * 1000000000ull;
    uint32_t *nowhere = reinterpret_cast<uint32_t *>(uintptr_t(1) << 46);
    void *wild[] = {&nowhere}, *hang[] = {&nanoseconds};
    const void *kernel = scan_cuda::address(trap_kernel);
    void **arguments = NULL;
    if (strcmp(how, "wild") == 0) {
        kernel = scan_cuda::address(wild_kernel);
        arguments = wild;
    } else if (strcmp(how, "hang") == 0) {
        kernel = scan_cuda::address(hang_kernel);
        arguments = hang;
    }
    return cudaLaunchKernel(kernel, dim3(1), dim3(32), arguments, 0, stream) == cudaSuccess;
}

/* The process that the error is made in: holds memory, loses the device, and is told so by every call from then on.
 * Returns its exit code, a number of its own for each thing that can be wrong. */
static int lose_device(const char *how) {
    scan_ctx *ctx;
    scan_options options = {};
    void *held, *small, *pinned;
    cudaStream_t stream;
    options.struct_size = sizeof options;
    options.backend = SCAN_BACKEND_CUDA;
    if (strcmp(how, "hang") == 0)
        setenv("SCAN_DEVICE_TIMEOUT", "1", 1);
    if (cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) != cudaSuccess)
        return 10;
    options.stream = stream;
    if (scan_ctx_create(&ctx, &options) != SCAN_OK || scan_malloc(ctx, held_bytes, &held) != SCAN_OK ||
        scan_malloc(ctx, N * 4, &small) != SCAN_OK || scan_malloc_host(ctx, N * 4, &pinned) != SCAN_OK ||
        scan_ctx_reserve(ctx, held_bytes) != SCAN_OK || sort(ctx, held, N) != SCAN_OK || scan_ctx_sync(ctx) != SCAN_OK)
        return 11;
    if (!launch(how, stream))
        return 12;
    if (scan_ctx_sync(ctx) != SCAN_ERR_DEVICE_LOST)
        return 13;
    if (sort(ctx, held, N) != SCAN_ERR_DEVICE_LOST || scan_upload(ctx, small, pinned, N * 4) != SCAN_ERR_DEVICE_LOST ||
        scan_ctx_sync(ctx) != SCAN_ERR_DEVICE_LOST || !scan_ctx_detail(ctx)[0])
        return 14;
    scan_free(ctx, small);
    scan_free_host(ctx, pinned);
    scan_ctx_destroy(ctx);
    return 0;
}

static double seconds() {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
}

static const char *this_program;

/* A context of this process survives what happens to another process. */
static void after_a_lost_process_all_is_free(void **state) {
    (void)state;
    gpu_need();
    if (getenv("SCAN_GPU_SHARED"))
        skip();
    for (const char *how : {"trap", "wild", "hang"}) {
        const size_t before = free_bytes();
        char program[4096], word[] = "lose", kind[8];
        snprintf(program, sizeof program, "%s", this_program);
        snprintf(kind, sizeof kind, "%s", how);
        char *arguments[] = {program, word, kind, NULL};
        pid_t process;
        int status;
        const double begin = seconds();
        assert_int_equal(posix_spawn(&process, program, NULL, NULL, arguments, environ), 0);
        bool held = false; /* that the process has memory is seen from here */
        for (struct timespec pause = {0, 10000000}; waitpid(process, &status, WNOHANG) == 0; nanosleep(&pause, NULL))
            held = held || free_bytes() + held_bytes <= before;
        const double ended = seconds();
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
        assert_true(held);
        while (free_bytes() < before && seconds() < ended + WAIT)
            ;
        printf("%s: the process ended after %.1f s, its memory was free %.1f s later\n", how, ended - begin,
               seconds() - ended);
        if (free_bytes() < before)
            fail_msg("%s: %zu bytes of device memory are gone", how, before - free_bytes());
        works(gpu);
    }
}
#endif

int main(int argc, char **argv) {
#ifdef SCAN_EMULATED
    setenv("SCAN_EMULATED_MEMORY", "0x4000000", 1); /* 64 MiB */
#else
    if (argc == 3 && strcmp(argv[1], "lose") == 0)
        _exit(lose_device(argv[2])); /* exit() would wait for a kernel that hangs */
    this_program = argv[0];
#endif
    static const gpu_test tests[] = {
        GPU_TEST(GPU_STRESS | (GPU_EMULATED ? GPU_SMALL : 0), after_errors_all_is_free),
#ifndef SCAN_EMULATED
        GPU_TEST(GPU_STRESS, after_a_lost_process_all_is_free),
#endif
    };
    return gpu_main("gpu_memory", tests, sizeof tests / sizeof tests[0], argc, argv);
}
