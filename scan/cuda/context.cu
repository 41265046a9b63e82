/* SPDX-License-Identifier: MIT
 *
 * Contexts of the CUDA backend: a device opened, made current for a call, closed. Whatever keeps a device from
 * answering or from running this library's kernels is SCAN_ERR_NO_BACKEND, after which SCAN_BACKEND_AUTO takes the CPU.
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <type_traits>

#include "cuda.h"
#include "sort/kernels.h"

namespace scan_cuda {

/* ---- the current device ------------------------------------------------------------------------------------------ */

static cudaError_t find(const char *name, void **function) {
    cudaDriverEntryPointQueryResult result;
    *function = nullptr;
#if CUDART_VERSION >= 12050
    const cudaError_t error = cudaGetDriverEntryPointByVersion(name, function, 12000, cudaEnableDefault, &result);
#else
    const cudaError_t error = cudaGetDriverEntryPoint(name, function, cudaEnableDefault, &result);
#endif
    return error == cudaSuccess && !*function ? cudaErrorInsufficientDriver : error;
}

static cudaError_t find_driver(driver_functions *d) {
    cudaError_t error = cudaSuccess; /* the first */
    const auto need = [&error](const char *name, auto *function) {
        void *found;
        if (error == cudaSuccess && (error = find(name, &found)) == cudaSuccess)
            *function = reinterpret_cast<std::remove_pointer_t<decltype(function)>>(found);
    };
    need("cuDeviceGet", &d->device);
    need("cuDevicePrimaryCtxRetain", &d->retain);
    need("cuDevicePrimaryCtxRelease", &d->release);
    need("cuCtxGetCurrent", &d->current);
    need("cuCtxPushCurrent", &d->push);
    need("cuCtxPopCurrent", &d->pop);
    need("cuStreamIsCapturing", &d->is_capturing);
    need("cuPointerGetAttributes", &d->pointer_attributes);
    return error;
}

static cudaError_t retain_primary(context_state *s) {
    CUdevice device;
    CUresult result = s->driver.device(&device, s->device);
    if (result == CUDA_SUCCESS)
        result = s->driver.retain(&s->primary, device);
    return runtime_error(result);
}

static void release_primary(context_state *s) {
    CUdevice device;
    if (s->primary && s->driver.device(&device, s->device) == CUDA_SUCCESS)
        s->driver.release(device);
}

device_scope::device_scope(const context_state *s) : error(cudaSuccess) {
    CUcontext current;
    if (s->driver.current(&current) == CUDA_SUCCESS && current == s->primary)
        return;
    error = runtime_error(s->driver.push(s->primary));
    if (error == cudaSuccess)
        entered = s;
}

device_scope::~device_scope() {
    CUcontext ours;
    if (entered)
        entered->driver.pop(&ours);
}

/* ---- the timeout ------------------------------------------------------------------------------------------------- */

/* SCAN_DEVICE_TIMEOUT: whole seconds. */
static scan_status read_timeout(scan_ctx *ctx, context_state *s) {
    const char *text = getenv("SCAN_DEVICE_TIMEOUT");
    if (!text || !*text)
        return SCAN_OK;
    const size_t digits = strspn(text, "0123456789");
    const unsigned long seconds = strtoul(text, nullptr, 10);
    if (text[digits] || digits > 9 || seconds == 0)
        return scan_fail(ctx, SCAN_ERR_ARGUMENT, "SCAN_DEVICE_TIMEOUT=%s: not a number of seconds, 1 to 999999999",
                         text);
    s->timeout_ns = seconds * 1000000000ull;
    return SCAN_OK;
}

/* ---- open -------------------------------------------------------------------------------------------------------- */

static scan_status no_backend(scan_ctx *ctx, int device, const char *what, cudaError_t error) {
    cudaGetLastError();
    return scan_fail(ctx, SCAN_ERR_NO_BACKEND, "CUDA device %d %s: %s (error %d)", device, what,
                     cudaGetErrorString(error), int(error));
}

static scan_status find_device(scan_ctx *ctx, int device) {
    int count = 0;
    cudaError_t error = cudaGetDeviceCount(&count);
    if (error != cudaSuccess) {
        cudaGetLastError();
        return scan_fail(ctx, SCAN_ERR_NO_BACKEND, "no CUDA device: %s", cudaGetErrorString(error));
    }
    if (device >= count)
        return scan_fail(ctx, SCAN_ERR_NO_BACKEND, "no CUDA device %d: there %s %d", device, count == 1 ? "is" : "are",
                         count);
    return SCAN_OK;
}

/* What the device is, and that it answers. */
static scan_status take_device(scan_ctx *ctx, context_state *s) {
    cudaDeviceProp properties;
    cudaError_t error = cudaGetDeviceProperties(&properties, s->device);
    if (error == cudaSuccess)
        error = find_driver(&s->driver);
    if (error == cudaSuccess)
        error = retain_primary(s);
    if (error != cudaSuccess)
        return no_backend(ctx, s->device, "does not answer", error);
    snprintf(s->name, sizeof s->name, "%s", properties.name);
    s->sm_count = properties.multiProcessorCount;
    s->capability = properties.major * 10 + properties.minor;
    s->shared_bytes = properties.sharedMemPerBlockOptin;
    s->reads_pageable = properties.pageableMemoryAccess;
    return SCAN_OK;
}

/* Kernels of an architecture that the device runs, or PTX that it compiles; those of an older architecture have no
 * clusters and no bulk copies. */
static scan_status find_code(scan_ctx *ctx, context_state *s) {
    cudaFuncAttributes any;
    const cudaError_t error = cudaFuncGetAttributes(&any, sort_common.finish);
    char what[96];
    snprintf(what, sizeof what, "of compute capability %d.%d runs none of this library's code", s->capability / 10,
             s->capability % 10);
    if (error != cudaSuccess)
        return no_backend(ctx, s->device, what, error);
    if (s->capability > any.ptxVersion)
        s->capability = any.ptxVersion;
    return SCAN_OK;
}

static scan_status open_stream(scan_ctx *ctx, context_state *s, cudaStream_t given) {
    s->stream = given;
    if (!given) {
        SCAN_CUDA_TRY(ctx, cudaStreamCreateWithFlags(&s->stream, cudaStreamNonBlocking));
        s->owns_stream = true;
    }
    ctx->stream = s->stream;
    return SCAN_OK;
}

static scan_status open_on_device(scan_ctx *ctx, context_state *s, const scan_options *options) {
    SCAN_TRY(take_device(ctx, s));
    const device_scope scope(s);
    if (scope.error != cudaSuccess)
        return no_backend(ctx, s->device, "does not answer", scope.error);
    SCAN_TRY(find_code(ctx, s));
    SCAN_TRY(open_stream(ctx, s, options->stream));
    SCAN_TRY(prefix_open(ctx));
    SCAN_TRY(select_open(ctx));
    SCAN_TRY(sort_open(ctx));
    SCAN_TRY(histogram_open(ctx));
    SCAN_TRY(equalize_open(ctx));
    SCAN_TRY(clahe_open(ctx));
    return s->timeout_ns ? load(ctx) : SCAN_OK; /* later it would wait for kernels that run, without end */
}

void close(scan_ctx *ctx) {
    context_state *s = state_of(ctx);
    const relaxed_capture relaxed;
    if (s->owns_stream && !s->hung) {
        const device_scope scope(s);
        cudaStreamDestroy(s->stream);
    }
    if (!s->hung)
        release_primary(s);
    free(s);
    ctx->state = nullptr;
}

scan_status open(scan_ctx *ctx, const scan_options *options) {
    const relaxed_capture relaxed;
    SCAN_TRY(find_device(ctx, options->device));
    context_state *s = static_cast<context_state *>(calloc(1, sizeof *s));
    if (!s)
        return scan_fail(ctx, SCAN_ERR_MEMORY, "no memory for a context");
    s->device = options->device;
    s->plain_start = options->plain_start;
    ctx->state = s;
    scan_status status = read_timeout(ctx, s);
    if (status == SCAN_OK)
        status = open_on_device(ctx, s, options);
    if (status != SCAN_OK) {
        close(ctx);
        return status;
    }
    ctx->info.backend = SCAN_BACKEND_CUDA;
    ctx->info.device = s->device;
    ctx->info.threads = 0;
    ctx->info.name = s->name;
    return SCAN_OK;
}

scan_status load(scan_ctx *ctx) {
    context_state *s = state_of(ctx);
    if (s->loaded)
        return SCAN_OK;
    SCAN_TRY(prefix_load(ctx));
    SCAN_TRY(select_load(ctx));
    SCAN_TRY(sort_load(ctx));
    SCAN_TRY(merge_load(ctx));
    SCAN_TRY(histogram_load(ctx));
    SCAN_TRY(equalize_load(ctx));
    SCAN_TRY(clahe_load(ctx));
    s->loaded = true;
    return SCAN_OK;
}

} /* namespace scan_cuda */
