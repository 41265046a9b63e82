/* SPDX-License-Identifier: MIT
 *
 * Contexts on a GPU: memory that a verb accepts, the caller's device left as it was, several contexts at once. In the
 * emulator also what no test can order from a real device: no device, an old driver, and every call of the CUDA
 * runtime failing in turn, once or for ever.
 */
#include "gpu_support.h"

#include <cuda_runtime_api.h>
#include <pthread.h>

#include "tests/busy.h"

enum { N = 5000 };

static uint32_t input[N], want[N];

static void set_input(void) {
    uint32_t sum = 0;
    for (uint32_t i = 0; i < N; i++) {
        input[i] = i * 2654435761u;
        want[i] = sum += input[i];
    }
}

static scan_prefix_desc sum_of_u32(void) {
    scan_prefix_desc desc = {.struct_size = sizeof desc, .type = SCAN_U32};
    return desc;
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static bool reads_pageable(int device) {
    int value = 0;
    assert_int_equal(cudaDeviceGetAttribute(&value, cudaDevAttrPageableMemoryAccess, device), cudaSuccess);
    return value;
}

static void host_memory_is_refused(void **state) {
    (void)state;
    gpu_need();
    set_input();
    static uint32_t on_host[N];
    if (reads_pageable(0)) {
        print_message("this device reads ordinary host memory\n");
        skip();
    }
    const scan_prefix_desc desc = sum_of_u32();
    gpu_array in = {0};
    void *d_in = gpu_put(&in, input, N, 4, 0);
    assert_int_equal(scan_prefix(gpu, &desc, input, d_in, N), SCAN_ERR_ARGUMENT);
    assert_non_null(strstr(scan_ctx_detail(gpu), "in: memory of the host"));
    assert_int_equal(scan_prefix(gpu, &desc, d_in, on_host, N), SCAN_ERR_ARGUMENT);
    assert_non_null(strstr(scan_ctx_detail(gpu), "out: memory of the host"));
    gpu_ok(scan_prefix(gpu, &desc, input, on_host, 0)); /* nothing is there, so nothing is wrong */
    gpu_ok(scan_prefix(gpu, &desc, d_in, d_in, N));     /* and the device is not lost */
    gpu_ok(scan_download(gpu, on_host, d_in, sizeof on_host));
    gpu_ok(scan_ctx_sync(gpu));
    assert_memory_equal(on_host, want, sizeof want);
}

static void pinned_and_managed_memory_is_taken(void **state) {
    (void)state;
    gpu_need();
    set_input();
    const scan_prefix_desc desc = sum_of_u32();
    uint32_t *pinned, *managed;
    assert_int_equal(cudaMallocHost((void **)&pinned, sizeof input), cudaSuccess);
    assert_int_equal(cudaMallocManaged((void **)&managed, sizeof input, cudaMemAttachGlobal), cudaSuccess);
    memcpy(pinned, input, sizeof input);
    gpu_ok(scan_prefix(gpu, &desc, pinned, managed, N));
    gpu_ok(scan_prefix(gpu, &desc, pinned, pinned, N));
    gpu_ok(scan_ctx_sync(gpu));
    assert_memory_equal(pinned, want, sizeof want);
    assert_memory_equal(managed, want, sizeof want);
    assert_int_equal(cudaFreeHost(pinned), cudaSuccess);
    assert_int_equal(cudaFree(managed), cudaSuccess);
}

static void check_is_legal_in_a_capture(void **state) {
    (void)state;
    gpu_need();
    set_input();
    const scan_prefix_desc desc = sum_of_u32();
    static gpu_array in;
    void *d_in = gpu_put(&in, input, N, 4, 0);
    cudaStream_t stream;
    cudaGraph_t graph;
    assert_int_equal(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
    scan_ctx *ctx;
    scan_options options = {.struct_size = sizeof options, .backend = SCAN_BACKEND_CUDA, .stream = stream};
    gpu_ok(scan_ctx_create(&ctx, &options));
    gpu_ok(scan_ctx_reserve(ctx, 1 << 20));
    gpu_ok(scan_ctx_sync(ctx));
    assert_int_equal(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
    assert_int_equal(scan_prefix(ctx, &desc, input, d_in, N), SCAN_ERR_ARGUMENT);
    assert_int_equal(scan_prefix(ctx, &desc, d_in, d_in, N), SCAN_OK);
    assert_int_equal(cudaStreamEndCapture(stream, &graph), cudaSuccess);
    assert_int_equal(cudaGraphDestroy(graph), cudaSuccess);
    scan_ctx_destroy(ctx);
    assert_int_equal(cudaStreamDestroy(stream), cudaSuccess);
}

/* A failed call of the caller's stays the last error of the runtime, whatever the library asks the device. */
static void a_pending_error_is_the_callers(void **state) {
    (void)state;
    gpu_need();
    void *none;
    assert_int_equal(cudaMalloc(&none, (size_t)1 << 50), cudaErrorMemoryAllocation);
    scan_ctx *ctx;
    const scan_options options = {.struct_size = sizeof options, .backend = SCAN_BACKEND_CUDA};
    gpu_ok(scan_ctx_create(&ctx, &options));
    scan_ctx_destroy(ctx);
    assert_int_equal(cudaGetLastError(), cudaErrorMemoryAllocation);
}

static void *hook_alloc(size_t bytes, void *user, struct CUstream_st *stream) {
    (void)user, (void)stream;
    void *memory = NULL;
    return cudaMalloc(&memory, bytes) == cudaSuccess ? memory : NULL;
}

static void hook_free(void *memory, size_t bytes, void *user, struct CUstream_st *stream) {
    (void)bytes;
    *(int *)user += cudaStreamQuery(stream) != cudaSuccess; /* work is left */
    cudaFree(memory);
}

/* The workspace grows again and again while scans are queued. */
static void a_free_hook_gets_idle_memory(void **state) {
    (void)state;
    gpu_need();
    const size_t max_n = gpu_is_small ? 1 << 16 : 1 << 26;
    int busy = 0;
    scan_ctx *ctx;
    const scan_options options = {.struct_size = sizeof options,
                                  .backend = SCAN_BACKEND_CUDA,
                                  .alloc = hook_alloc,
                                  .free = hook_free,
                                  .user = &busy};
    gpu_ok(scan_ctx_create(&ctx, &options));
    void *memory = hook_alloc(max_n * 4, NULL, NULL);
    assert_non_null(memory);
    assert_int_equal(cudaMemset(memory, 1, max_n * 4), cudaSuccess);
    const scan_prefix_desc desc = {
        .struct_size = sizeof desc, .type = SCAN_U32, .algorithm = {SCAN_GRID_LOOKBACK, SCAN_BLOCK_AUTO}};
    for (size_t n = max_n / 16; n <= max_n; n *= 2)
        assert_int_equal(scan_prefix(ctx, &desc, memory, memory, n), SCAN_OK);
    scan_ctx_destroy(ctx);
    assert_int_equal(busy, 0);
    assert_int_equal(cudaFree(memory), cudaSuccess);
}

/* ---- devices and threads ----------------------------------------------------------------------------------------- */

/* One scan on a context of its own; returns the first status that is not SCAN_OK. */
static scan_status scan_once(const scan_options *options, scan_algorithm algorithm) {
    scan_ctx *ctx;
    uint32_t *d_in = NULL, *d_out = NULL, *got = (uint32_t *)malloc(sizeof input);
    scan_prefix_desc desc = sum_of_u32();
    desc.algorithm = algorithm;
    scan_status status = scan_ctx_create(&ctx, options);
    if (status == SCAN_OK)
        status = scan_malloc(ctx, sizeof input, (void **)&d_in);
    if (status == SCAN_OK)
        status = scan_malloc(ctx, sizeof input, (void **)&d_out);
    if (status == SCAN_OK)
        status = scan_upload(ctx, d_in, input, sizeof input);
    if (status == SCAN_OK)
        status = scan_prefix(ctx, &desc, d_in, d_out, N);
    if (status == SCAN_OK)
        status = scan_download(ctx, got, d_out, sizeof input);
    if (status == SCAN_OK)
        status = scan_ctx_sync(ctx);
    if (status == SCAN_OK)
        assert_memory_equal(got, want, sizeof want);
    else if (ctx)
        assert_true(scan_ctx_detail(ctx)[0] != 0);
    if (ctx) {
        scan_free(ctx, d_in);
        scan_free(ctx, d_out);
    }
    scan_ctx_destroy(ctx);
    free(got);
    return status;
}

static void the_callers_device_stays_current(void **state) {
    (void)state;
    gpu_need();
    set_input();
    int devices, device;
    assert_int_equal(cudaGetDeviceCount(&devices), cudaSuccess);
    for (int current = 0; current < devices && current < 2; current++)
        for (int used = 0; used < devices && used < 2; used++) {
            assert_int_equal(cudaSetDevice(current), cudaSuccess);
            scan_options options = {
                .struct_size = sizeof options, .backend = SCAN_BACKEND_CUDA, .device = (int32_t)used};
            assert_int_equal(scan_once(&options, (scan_algorithm){SCAN_GRID_AUTO, SCAN_BLOCK_AUTO}), SCAN_OK);
            assert_int_equal(cudaGetDevice(&device), cudaSuccess);
            assert_int_equal(device, current);
        }
    assert_int_equal(cudaSetDevice(0), cudaSuccess);
    scan_options missing = {.struct_size = sizeof missing, .backend = SCAN_BACKEND_CUDA, .device = (int32_t)devices};
    assert_int_equal(scan_once(&missing, (scan_algorithm){SCAN_GRID_AUTO, SCAN_BLOCK_AUTO}), SCAN_ERR_NO_BACKEND);
}

static void memory_of_another_device_is_refused(void **state) {
    (void)state;
    gpu_need();
    int devices;
    assert_int_equal(cudaGetDeviceCount(&devices), cudaSuccess);
    if (devices < 2) {
        print_message("one device\n");
        skip();
    }
    void *there, *here;
    assert_int_equal(cudaSetDevice(1), cudaSuccess);
    assert_int_equal(cudaMalloc(&there, sizeof input), cudaSuccess);
    assert_int_equal(cudaSetDevice(0), cudaSuccess);
    assert_int_equal(cudaMalloc(&here, sizeof input), cudaSuccess);
    const scan_prefix_desc desc = sum_of_u32();
    assert_int_equal(scan_prefix(gpu, &desc, here, there, N), SCAN_ERR_ARGUMENT);
    assert_string_equal(scan_ctx_detail(gpu), "out: memory of device 1, the context is on device 0");
    assert_int_equal(scan_prefix(gpu, &desc, there, here, N), SCAN_ERR_ARGUMENT);
    gpu_ok(scan_prefix(gpu, &desc, here, here, N));
    gpu_ok(scan_ctx_sync(gpu));
    assert_int_equal(cudaFree(there), cudaSuccess);
    assert_int_equal(cudaFree(here), cudaSuccess);
}

/* A context opens, grows its workspace and ends while another thread captures in global mode, which forbids every
 * thread to allocate, and voids the capture if one does. */
static void *scan_and_grow(void *status) {
    const scan_options options = {.struct_size = sizeof options, .backend = SCAN_BACKEND_CUDA};
    *(scan_status *)status = scan_once(&options, (scan_algorithm){SCAN_GRID_LOOKBACK, SCAN_BLOCK_AUTO});
    return NULL;
}

static void another_threads_capture_goes_on(void **state) {
    (void)state;
    gpu_need();
    set_input();
    cudaStream_t stream;
    cudaGraph_t graph;
    pthread_t thread;
    scan_status status;
    assert_int_equal(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
    assert_int_equal(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
    assert_int_equal(pthread_create(&thread, NULL, scan_and_grow, &status), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(cudaStreamEndCapture(stream, &graph), cudaSuccess);
    assert_int_equal(status, SCAN_OK);
    assert_int_equal(cudaGraphDestroy(graph), cudaSuccess);
    assert_int_equal(cudaStreamDestroy(stream), cudaSuccess);
}

static void *scan_often(void *status) {
    const scan_options options = {.struct_size = sizeof options, .backend = SCAN_BACKEND_CUDA};
    for (int i = 0; i < 20 && *(scan_status *)status == SCAN_OK; i++)
        *(scan_status *)status = scan_once(&options, (scan_algorithm){SCAN_GRID_LOOKBACK, SCAN_BLOCK_AUTO});
    return NULL;
}

static void contexts_in_two_threads(void **state) {
    (void)state;
    gpu_need();
    set_input();
    pthread_t threads[2];
    scan_status status[2] = {SCAN_OK, SCAN_OK};
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, scan_often, &status[i]), 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(status[i], SCAN_OK);
    }
}

/* As the CPU's test_context_threads.c: the workspace of a scan is allocated, and meanwhile another thread calls. */
static void *hook_calls(size_t bytes, void *user, struct CUstream_st *stream) {
    busy_calls *calls = (busy_calls *)user;
    if (calls->ctx && !calls->detail[0])
        assert_int_equal(busy_call_from_a_thread(calls), 0);
    return hook_alloc(bytes, NULL, stream);
}

static void hook_drops(void *memory, size_t bytes, void *user, struct CUstream_st *stream) {
    (void)bytes, (void)user, (void)stream;
    cudaFree(memory);
}

static void one_context_in_two_threads(void **state) {
    (void)state;
    gpu_need();
    set_input();
    busy_calls calls = {0};
    uint32_t *memory, *array, got[N];
    const scan_prefix_desc desc = {
        .struct_size = sizeof desc, .type = SCAN_U32, .algorithm = {SCAN_GRID_LOOKBACK, SCAN_BLOCK_AUTO}};
    const scan_options options = {.struct_size = sizeof options,
                                  .backend = SCAN_BACKEND_CUDA,
                                  .alloc = hook_calls,
                                  .free = hook_drops,
                                  .user = &calls};
    scan_ctx *ctx;
    gpu_ok(scan_ctx_create(&ctx, &options));
    assert_int_equal(cudaMalloc((void **)&memory, 4096), cudaSuccess);
    assert_int_equal(cudaMalloc((void **)&array, sizeof input), cudaSuccess);
    gpu_ok(scan_upload(ctx, array, input, sizeof input));
    calls.memory = (unsigned char *)memory;
    calls.ctx = ctx;
    gpu_ok(scan_prefix(ctx, &desc, array, array, N));
    busy_assert_refused(&calls);
    gpu_ok(scan_download(ctx, got, array, sizeof got));
    gpu_ok(scan_ctx_sync(ctx));
    assert_memory_equal(got, want, sizeof want);
    scan_ctx_destroy(ctx);
    assert_int_equal(cudaFree(memory), cudaSuccess);
    assert_int_equal(cudaFree(array), cudaSuccess);
}

/* ---- faults, in the emulator ------------------------------------------------------------------------------------- */

#ifdef SCAN_EMULATED
#include "control.h"

static void without_a_device(void **state) {
    (void)state;
    scan_ctx *ctx;
    char detail[256];
    scan_options options = {
        .struct_size = sizeof options, .backend = SCAN_BACKEND_CUDA, .detail = detail, .detail_bytes = sizeof detail};
    setenv("SCAN_EMULATED_DEVICES", "0", 1);
    assert_int_equal(scan_ctx_create(&ctx, &options), SCAN_ERR_NO_BACKEND);
    assert_string_equal(detail, "no CUDA device: no CUDA-capable device is detected");
    options.backend = SCAN_BACKEND_AUTO;
    assert_int_equal(scan_once(&options, (scan_algorithm){SCAN_GRID_AUTO, SCAN_BLOCK_AUTO}), SCAN_OK);
    unsetenv("SCAN_EMULATED_DEVICES");
    emulator_fail_call(1, cudaErrorInsufficientDriver, true);
    options.backend = SCAN_BACKEND_CUDA;
    assert_int_equal(scan_ctx_create(&ctx, &options), SCAN_ERR_NO_BACKEND);
    assert_non_null(strstr(detail, "driver version is insufficient"));
    emulator_fail_call(0, 0, false);
}

static void on_an_older_device(void **state) {
    (void)state;
    set_input();
    const scan_options options = {.struct_size = sizeof options, .backend = SCAN_BACKEND_CUDA};
    static const char *const capabilities[] = {"7.5", "8.0", "8.6", "8.9"};
    for (size_t i = 0; i < sizeof capabilities / sizeof capabilities[0]; i++) {
        setenv("SCAN_EMULATED_CAPABILITY", capabilities[i], 1);
        assert_int_equal(scan_once(&options, (scan_algorithm){SCAN_GRID_AUTO, SCAN_BLOCK_AUTO}), SCAN_OK);
        assert_int_equal(scan_once(&options, (scan_algorithm){SCAN_GRID_LOOKBACK, SCAN_BLOCK_AUTO}), SCAN_OK);
        assert_int_equal(scan_once(&options, (scan_algorithm){SCAN_GRID_WAVE, SCAN_BLOCK_AUTO}),
                         i == 0 ? SCAN_ERR_ALGORITHM : SCAN_OK);
    }
    unsetenv("SCAN_EMULATED_CAPABILITY");
}

/* The device answers, and runs none of the library's code: no image for it, or PTX that its driver does not compile. */
static void without_code_for_the_device(void **state) {
    (void)state;
    set_input();
    static const char *const errors[] = {"98", "200", "209", "218", "221", "222", "223"};
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        setenv("SCAN_EMULATED_NO_CODE", errors[i], 1);
        char detail[256];
        scan_ctx *ctx;
        scan_info info = {.struct_size = sizeof info};
        scan_options options = {.struct_size = sizeof options,
                                .backend = SCAN_BACKEND_CUDA,
                                .detail = detail,
                                .detail_bytes = sizeof detail};
        assert_int_equal(scan_ctx_create(&ctx, &options), SCAN_ERR_NO_BACKEND);
        assert_non_null(strstr(detail, "CUDA device 0 of compute capability 9.0 runs none of this library's code"));
        options.backend = SCAN_BACKEND_AUTO;
        assert_int_equal(scan_ctx_create(&ctx, &options), SCAN_OK);
        assert_int_equal(scan_ctx_info(ctx, &info), SCAN_OK);
        assert_int_equal(info.backend, SCAN_BACKEND_CPU);
        scan_ctx_destroy(ctx);
    }
    unsetenv("SCAN_EMULATED_NO_CODE");
}

/* A context on one device makes none on another, which the thread would have by default. */
static void no_other_device_is_touched(void **state) {
    (void)state;
    set_input();
    setenv("SCAN_EMULATED_DEVICES", "2", 1);
    const scan_options options = {.struct_size = sizeof options, .backend = SCAN_BACKEND_CUDA, .device = 1};
    emulator_forget_contexts();
    assert_int_equal(scan_once(&options, (scan_algorithm){SCAN_GRID_AUTO, SCAN_BLOCK_AUTO}), SCAN_OK);
    assert_int_equal(emulator_has_context(1), 1);
    assert_int_equal(emulator_has_context(0), 0);
    memory_of_another_device_is_refused(state);
    unsetenv("SCAN_EMULATED_DEVICES");
}

static void host_memory_as_the_device_sees_it(void **state) {
    (void)state;
    set_input();
    const scan_prefix_desc desc = sum_of_u32();
    static uint32_t out[N];
    uint32_t *pinned;
    assert_int_equal(cudaMallocHost((void **)&pinned, sizeof input), cudaSuccess);
    setenv("SCAN_EMULATED_HOST_ALIAS", "1", 1);
    assert_int_equal(scan_prefix(gpu, &desc, pinned, pinned, N), SCAN_ERR_ARGUMENT);
    assert_non_null(strstr(scan_ctx_detail(gpu), "in: memory of the host, which the GPU knows by another address"));
    unsetenv("SCAN_EMULATED_HOST_ALIAS");
    assert_int_equal(cudaFreeHost(pinned), cudaSuccess);
    setenv("SCAN_EMULATED_PAGEABLE", "1", 1);
    scan_ctx *ctx;
    const scan_options options = {.struct_size = sizeof options, .backend = SCAN_BACKEND_CUDA};
    assert_int_equal(scan_ctx_create(&ctx, &options), SCAN_OK);
    assert_int_equal(scan_prefix(ctx, &desc, input, out, N), SCAN_OK);
    assert_int_equal(scan_ctx_sync(ctx), SCAN_OK);
    assert_memory_equal(out, want, sizeof want);
    scan_ctx_destroy(ctx);
    unsetenv("SCAN_EMULATED_PAGEABLE");
}

/* Errors after which a device serves this process no more. */
static void errors_that_lose_the_device(void **state) {
    (void)state;
    static const int errors[] = {46, 214, 220, 226, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 721, 810, 911};
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        scan_ctx *ctx;
        const scan_options options = {.struct_size = sizeof options, .backend = SCAN_BACKEND_CUDA};
        assert_int_equal(scan_ctx_create(&ctx, &options), SCAN_OK);
        emulator_fail_call(1, errors[i], true);
        assert_int_equal(scan_ctx_sync(ctx), SCAN_ERR_DEVICE_LOST);
        emulator_fail_call(0, 0, false);
        assert_int_equal(scan_ctx_sync(ctx), SCAN_ERR_DEVICE_LOST);
        scan_ctx_destroy(ctx);
    }
}

/* A call's first kernel begins early, unless the caller asks for plain launches; the call's later kernels still may. */
static void plain_first_launches(void **state) {
    (void)state;
    set_input();
    for (uint32_t plain = 0; plain < 2; plain++) {
        const scan_options options = {
            .struct_size = sizeof options, .backend = SCAN_BACKEND_CUDA, .plain_start = plain};
        emulator_forget_launches();
        assert_int_equal(scan_once(&options, (scan_algorithm){SCAN_GRID_LOOKBACK, SCAN_BLOCK_AUTO}), SCAN_OK);
        assert_int_equal(emulator_early_launches(), plain ? 0 : 1);
    }
}

/* A cluster of 16 CTAs that finds room once is not taken where 8 find it 64 times. */
static void clusters_that_find_room(void **state) {
    (void)state;
    static uint32_t zeros[12000];
    static const struct {
        const char *rare;
        unsigned ctas;
    } cases[] = {{"0", 16}, {"16", 8}};
    for (size_t i = 0; i < 2; i++) {
        setenv("SCAN_EMULATED_RARE_CLUSTER", cases[i].rare, 1);
        scan_ctx *ctx;
        void *memory;
        const scan_options options = {.struct_size = sizeof options, .backend = SCAN_BACKEND_CUDA};
        const scan_prefix_desc desc = sum_of_u32();
        assert_int_equal(scan_ctx_create(&ctx, &options), SCAN_OK);
        assert_int_equal(scan_malloc(ctx, sizeof zeros, &memory), SCAN_OK);
        assert_int_equal(scan_upload(ctx, memory, zeros, sizeof zeros), SCAN_OK);
        emulator_forget_launches();
        assert_int_equal(scan_prefix(ctx, &desc, memory, memory, sizeof zeros / 4), SCAN_OK);
        assert_int_equal(scan_ctx_sync(ctx), SCAN_OK);
        assert_int_equal(emulator_cluster_launched(), cases[i].ctas);
        scan_free(ctx, memory);
        scan_ctx_destroy(ctx);
    }
    unsetenv("SCAN_EMULATED_RARE_CLUSTER");
}

/* A sort of which any call has failed leaves the next one of the context a state that serves. */
static void sorts_after_a_failed_call(void **state) {
    (void)state;
    enum { N = 20011 }; /* a prime */
    static uint32_t keys[N], sorted[N];
    for (uint32_t i = 0; i < N; i++)
        keys[i] = i * 7919 % N;
    scan_ctx *ctx;
    void *in, *out;
    const scan_options options = {.struct_size = sizeof options, .backend = SCAN_BACKEND_CUDA};
    const scan_sort_desc desc = {.struct_size = sizeof desc, .type = SCAN_U32, .method = SCAN_SORT_RADIX};
    assert_int_equal(scan_ctx_create(&ctx, &options), SCAN_OK);
    assert_int_equal(scan_malloc(ctx, sizeof keys, &in), SCAN_OK);
    assert_int_equal(scan_malloc(ctx, sizeof keys, &out), SCAN_OK);
    assert_int_equal(scan_upload(ctx, in, keys, sizeof keys), SCAN_OK);
    assert_int_equal(scan_sort(ctx, &desc, in, out, NULL, NULL, N), SCAN_OK);
    unsigned failures = 0;
    bool reached = true;
    for (long call = 1; reached; call++) {
        emulator_fail_call(call, cudaErrorMemoryAllocation, false);
        const scan_status status = scan_sort(ctx, &desc, in, out, NULL, NULL, N);
        reached = emulator_calls() >= call;
        emulator_fail_call(0, 0, false);
        assert_true(status == SCAN_OK || status == SCAN_ERR_MEMORY);
        failures += status != SCAN_OK;
        memset(sorted, 0, sizeof sorted);
        assert_int_equal(scan_upload(ctx, out, sorted, sizeof sorted), SCAN_OK);
        assert_int_equal(scan_sort(ctx, &desc, in, out, NULL, NULL, N), SCAN_OK);
        assert_int_equal(scan_download(ctx, sorted, out, sizeof sorted), SCAN_OK);
        for (uint32_t i = 0; i < N; i++)
            if (sorted[i] != i)
                fail_msg("after call %ld failed: %u at %u", call, sorted[i], i);
    }
    assert_true(failures > 3);
    scan_free(ctx, in);
    scan_free(ctx, out);
    scan_ctx_destroy(ctx);
}

/* The status that a failed call must lead to, where it leads to any. */
static bool is_status_of(scan_status status, int error) {
    switch (error) {
    case cudaErrorMemoryAllocation: return status == SCAN_ERR_MEMORY || status == SCAN_ERR_NO_BACKEND;
    case cudaErrorInsufficientDriver:
    case cudaErrorNoDevice: return status == SCAN_ERR_DEVICE || status == SCAN_ERR_NO_BACKEND;
    default: return status == SCAN_ERR_DEVICE_LOST || status == SCAN_ERR_NO_BACKEND;
    }
}

/* Creating a context, a scan and destroying it, with each call of the runtime failing in turn: the status is the
 * error's, or the result is right because nothing depended on the call; nothing is left behind. */
static void every_call_fails_in_turn(void **state) {
    (void)state;
    set_input();
    static const int errors[] = {cudaErrorMemoryAllocation, cudaErrorInsufficientDriver, cudaErrorDevicesUnavailable,
                                 cudaErrorNoDevice,         cudaErrorIllegalAddress,     cudaErrorLaunchFailure};
    static const scan_grid grids[] = {SCAN_GRID_AUTO, SCAN_GRID_LOOKBACK, SCAN_GRID_WAVE, SCAN_GRID_HIERARCHICAL,
                                      SCAN_GRID_HOST_SUMS};
    const scan_options options = {.struct_size = sizeof options, .backend = SCAN_BACKEND_CUDA};
    const size_t objects = emulator_objects();
    unsigned points = 0, failures = 0;
    for (size_t e = 0; e < sizeof errors / sizeof errors[0]; e++)
        for (unsigned forever = 0; forever < 2; forever++)
            for (size_t g = 0; g < (forever ? 1 : sizeof grids / sizeof grids[0]); g++)
                for (long call = 1;; call++) {
                    emulator_fail_call(call, errors[e], forever);
                    scan_status status = scan_once(&options, (scan_algorithm){grids[g], SCAN_BLOCK_AUTO});
                    const bool reached = emulator_calls() >= call;
                    emulator_fail_call(0, 0, false);
                    if (status != SCAN_OK && !is_status_of(status, errors[e]))
                        fail_msg("call %ld fails with %d%s, grid %d: %s", call, errors[e], forever ? " for ever" : "",
                                 (int)grids[g], scan_status_string(status));
                    if (emulator_objects() != objects)
                        fail_msg("call %ld fails with %d%s, grid %d: %zu objects are left behind", call, errors[e],
                                 forever ? " for ever" : "", (int)grids[g], emulator_objects() - objects);
                    failures += status != SCAN_OK;
                    points += reached;
                    if (!reached)
                        break;
                }
    print_message("%u points, %u of them felt\n", points, failures);
    assert_true(points > 1000 && failures > points / 4);
}
#endif

int main(int argc, char **argv) {
    static const gpu_test tests[] = {
        GPU_TEST(GPU_MATRIX | GPU_SMALL, host_memory_is_refused),
        GPU_TEST(GPU_MATRIX | GPU_SMALL, pinned_and_managed_memory_is_taken),
        GPU_TEST(GPU_MATRIX | GPU_SMALL, check_is_legal_in_a_capture),
        GPU_TEST(GPU_MATRIX | GPU_SMALL, a_pending_error_is_the_callers),
        GPU_TEST(GPU_STRESS | GPU_SMALL, a_free_hook_gets_idle_memory),
        GPU_TEST(GPU_MATRIX | GPU_SMALL, the_callers_device_stays_current),
        GPU_TEST(GPU_MATRIX, memory_of_another_device_is_refused),
        GPU_TEST(GPU_STRESS | GPU_SMALL, another_threads_capture_goes_on),
        GPU_TEST(GPU_STRESS | GPU_SMALL, contexts_in_two_threads),
        GPU_TEST(GPU_MATRIX | GPU_SMALL, one_context_in_two_threads),
#ifdef SCAN_EMULATED
        GPU_TEST(GPU_SMALL, without_a_device),
        GPU_TEST(GPU_SMALL, on_an_older_device),
        GPU_TEST(GPU_SMALL, without_code_for_the_device),
        GPU_TEST(GPU_SMALL, no_other_device_is_touched),
        GPU_TEST(GPU_SMALL, host_memory_as_the_device_sees_it),
        GPU_TEST(GPU_SMALL, errors_that_lose_the_device),
        GPU_TEST(GPU_SMALL, plain_first_launches),
        GPU_TEST(GPU_SMALL, clusters_that_find_room),
        GPU_TEST(GPU_SMALL, every_call_fails_in_turn),
        GPU_TEST(GPU_SMALL, sorts_after_a_failed_call),
#endif
    };
    return gpu_main("gpu_context", tests, sizeof tests / sizeof tests[0], argc, argv);
}
