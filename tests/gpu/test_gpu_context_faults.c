/* SPDX-License-Identifier: MIT
 *
 * Contexts, where something fails that no test can order from a real device, in the emulator only: no device, an old
 * driver, and every call of the CUDA runtime failing in turn, once or for ever.
 */
#include <cuda_runtime_api.h>

#include "context_scan.h"
#include "control.h"

static void without_a_device(void **state) {
    (void)state;
    set_input();
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
    refuse_memory_of_another_device();
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

int main(int argc, char **argv) {
    static const gpu_test tests[] = {
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
    };
    return gpu_main("gpu_context_faults", tests, sizeof tests / sizeof tests[0], argc, argv);
}
