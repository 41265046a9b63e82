/* SPDX-License-Identifier: MIT
 *
 * Contexts on a GPU: memory that a verb accepts, the caller's device left as it was, several contexts at once.
 * test_gpu_context_faults.c has devices and calls that fail.
 */
#include <cuda_runtime_api.h>
#include <pthread.h>

#include "context_scan.h"
#include "tests/busy.h"

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
    refuse_memory_of_another_device();
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
    };
    return gpu_main("gpu_context", tests, sizeof tests / sizeof tests[0], argc, argv);
}
