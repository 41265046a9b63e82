/* SPDX-License-Identifier: MIT
 *
 * What tests of contexts share: a scan, and what it has to give.
 */
#ifndef TESTS_GPU_CONTEXT_SCAN_H
#define TESTS_GPU_CONTEXT_SCAN_H

#include <cuda_runtime_api.h>

#include "gpu_support.h"

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

/* Where there are two devices, and the tests' context is on the first. */
static void refuse_memory_of_another_device(void) {
    gpu_need();
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

#endif
