/* SPDX-License-Identifier: MIT
 *
 * The CUDA backend's table: context state, memory, errors.
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "cuda.h"
#include "sort/kernels.h"

namespace scan_cuda {

/* ---- errors ------------------------------------------------------------------------------------------------------ */

/* Errors after which every call of the process fails. */
static bool is_sticky(cudaError_t error) {
    switch (error) {
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchFailure:
    case cudaErrorLaunchTimeout:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorAssert:
    case cudaErrorECCUncorrectable:
    case cudaErrorDevicesUnavailable:
    case cudaErrorContextIsDestroyed: return true;
    default: return false;
    }
}

scan_status check(scan_ctx *ctx, cudaError_t error, const char *call) {
    context_state *s = state_of(ctx);
    if (s->lost)
        return scan_fail(ctx, SCAN_ERR_DEVICE_LOST, "%s: the device was lost by an earlier error", call);
    if (error == cudaSuccess)
        return SCAN_OK;
    cudaGetLastError(); /* errors that are not sticky are reported once */
    int length = int(strcspn(call, "("));
    if (is_sticky(error)) {
        s->lost = true;
        return scan_fail(ctx, SCAN_ERR_DEVICE_LOST, "%.*s: %s (error %d)", length, call, cudaGetErrorString(error),
                         int(error));
    }
    scan_status status = error == cudaErrorMemoryAllocation ? SCAN_ERR_MEMORY : SCAN_ERR_DEVICE;
    return scan_fail(ctx, status, "%.*s: %s (error %d)", length, call, cudaGetErrorString(error), int(error));
}

static scan_status check_blocks(scan_ctx *ctx, uint64_t blocks) {
    if (blocks > 0x7fffffff)
        return scan_fail(ctx, SCAN_ERR_ARGUMENT, "n: this grid would need %llu blocks, a launch has at most 2^31 - 1",
                         (unsigned long long)blocks);
    return SCAN_OK;
}

scan_status launch(scan_ctx *ctx, const void *kernel, uint64_t blocks, int threads, void **arguments,
                   size_t shared_bytes) {
    SCAN_TRY(check_blocks(ctx, blocks));
    return check(ctx,
                 cudaLaunchKernel(kernel, dim3(unsigned(blocks)), dim3(unsigned(threads)), arguments, shared_bytes,
                                  state_of(ctx)->stream),
                 "cudaLaunchKernel");
}

scan_status launch_pdl(scan_ctx *ctx, const void *kernel, uint64_t blocks, int threads, void **arguments,
                       size_t shared_bytes) {
    if (state_of(ctx)->capability < 90)
        return launch(ctx, kernel, blocks, threads, arguments, shared_bytes);
    SCAN_TRY(check_blocks(ctx, blocks));
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    const cudaLaunchConfig_t config = {
        dim3(unsigned(blocks)), dim3(unsigned(threads)), shared_bytes, state_of(ctx)->stream, &attribute, 1};
    return check(ctx, cudaLaunchKernelExC(&config, kernel, arguments), "cudaLaunchKernelExC");
}

static cudaLaunchConfig_t one_cluster(const scan_ctx *ctx, int ctas, int threads, size_t shared_bytes,
                                      cudaLaunchAttribute *attribute) {
    *attribute = {};
    attribute->id = cudaLaunchAttributeClusterDimension;
    attribute->val.clusterDim.x = unsigned(ctas);
    attribute->val.clusterDim.y = attribute->val.clusterDim.z = 1;
    return {dim3(unsigned(ctas)), dim3(unsigned(threads)), shared_bytes, state_of(ctx)->stream, attribute, 1};
}

scan_status launch_cluster(scan_ctx *ctx, const void *kernel, int ctas, int threads, void **arguments,
                           size_t shared_bytes) {
    cudaLaunchAttribute attribute;
    const cudaLaunchConfig_t config = one_cluster(ctx, ctas, threads, shared_bytes, &attribute);
    return check(ctx, cudaLaunchKernelExC(&config, kernel, arguments), "cudaLaunchKernelExC");
}

int max_cluster_size(const scan_ctx *ctx, const void *kernel, int max_ctas, int threads, size_t shared_bytes) {
    int ctas = max_ctas;
    for (; ctas > 1; ctas /= 2) {
        cudaLaunchAttribute attribute;
        const cudaLaunchConfig_t config = one_cluster(ctx, ctas, threads, shared_bytes, &attribute);
        int clusters = 0;
        if (cudaOccupancyMaxActiveClusters(&clusters, kernel, &config) == cudaSuccess && clusters > 0)
            break;
        cudaGetLastError();
    }
    return ctas;
}

scan_status load_kernel(scan_ctx *ctx, const void *kernel) {
    cudaFuncAttributes attributes;
    return kernel ? check(ctx, cudaFuncGetAttributes(&attributes, kernel), "cudaFuncGetAttributes") : SCAN_OK;
}

/* ---- contexts ---------------------------------------------------------------------------------------------------- */

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

static void close(scan_ctx *ctx) {
    context_state *s = state_of(ctx);
    device_scope scope(s->device);
    if (s->owns_stream)
        cudaStreamDestroy(s->stream);
    free(s);
}

static scan_status open_on_device(scan_ctx *ctx, const scan_options *options) {
    context_state *s = state_of(ctx);
    cudaDeviceProp properties;
    cudaFuncAttributes any;
    SCAN_CUDA_TRY(ctx, cudaGetDeviceProperties(&properties, s->device));
    snprintf(s->name, sizeof s->name, "%s", properties.name);
    s->sm_count = properties.multiProcessorCount;
    SCAN_CUDA_TRY(ctx, cudaFuncGetAttributes(&any, sort_common.finish));
    s->capability = properties.major * 10 + properties.minor;
    if (s->capability > any.ptxVersion) /* kernels of an older architecture have no clusters and no bulk copies */
        s->capability = any.ptxVersion;
    s->shared_bytes = properties.sharedMemPerBlockOptin;
    s->stream = options->stream;
    if (!s->stream) {
        SCAN_CUDA_TRY(ctx, cudaStreamCreateWithFlags(&s->stream, cudaStreamNonBlocking));
        s->owns_stream = true;
    }
    ctx->stream = s->stream;
    SCAN_TRY(prefix_open(ctx));
    SCAN_TRY(select_open(ctx));
    SCAN_TRY(sort_open(ctx));
    SCAN_TRY(histogram_open(ctx));
    SCAN_TRY(equalize_open(ctx));
    return clahe_open(ctx);
}

static scan_status open(scan_ctx *ctx, const scan_options *options) {
    SCAN_TRY(find_device(ctx, options->device));
    context_state *s = static_cast<context_state *>(calloc(1, sizeof *s));
    if (!s)
        return scan_fail(ctx, SCAN_ERR_MEMORY, "no memory for a context");
    s->device = options->device;
    ctx->state = s;
    device_scope scope(s->device);
    scan_status status = open_on_device(ctx, options);
    if (status != SCAN_OK) {
        close(ctx);
        ctx->state = nullptr;
        return status;
    }
    ctx->info.backend = SCAN_BACKEND_CUDA;
    ctx->info.device = s->device;
    ctx->info.threads = 0;
    ctx->info.name = s->name;
    return SCAN_OK;
}

/* Once a context. Kernels that another context has loaded stay loaded. */
static scan_status load(scan_ctx *ctx) {
    context_state *s = state_of(ctx);
    if (s->loaded)
        return SCAN_OK;
    device_scope scope(s->device);
    SCAN_TRY(prefix_load(ctx));
    SCAN_TRY(select_load(ctx));
    SCAN_TRY(sort_load(ctx));
    SCAN_TRY(histogram_load(ctx));
    SCAN_TRY(equalize_load(ctx));
    SCAN_TRY(clahe_load(ctx));
    s->loaded = true;
    return SCAN_OK;
}

static scan_status sync(scan_ctx *ctx) {
    device_scope scope(state_of(ctx)->device);
    return check(ctx, cudaStreamSynchronize(state_of(ctx)->stream), "cudaStreamSynchronize");
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

/* A kernel that touches ordinary host memory loses the device; managed and pinned memory is fine. Legal in a capture.
 */
static scan_status check_memory(scan_ctx *ctx, const void *memory, const char *name) {
    device_scope scope(state_of(ctx)->device);
    cudaPointerAttributes attributes;
    SCAN_CUDA_TRY(ctx, cudaPointerGetAttributes(&attributes, memory));
    if (attributes.type == cudaMemoryTypeUnregistered)
        return scan_fail(ctx, SCAN_ERR_ARGUMENT, "%s: memory of the host, which the GPU cannot address", name);
    return SCAN_OK;
}

static scan_status alloc(scan_ctx *ctx, size_t bytes, void **memory) {
    device_scope scope(state_of(ctx)->device);
    return check(ctx, cudaMalloc(memory, bytes), "cudaMalloc");
}

static void release(scan_ctx *ctx, void *memory, size_t) {
    device_scope scope(state_of(ctx)->device);
    cudaStreamSynchronize(state_of(ctx)->stream); /* queued work may still use it */
    cudaFree(memory);
}

static scan_status alloc_host(scan_ctx *ctx, size_t bytes, void **memory) {
    device_scope scope(state_of(ctx)->device);
    return check(ctx, cudaMallocHost(memory, bytes), "cudaMallocHost");
}

static void free_host(scan_ctx *ctx, void *memory) {
    device_scope scope(state_of(ctx)->device);
    cudaFreeHost(memory);
}

static scan_status upload(scan_ctx *ctx, void *to, const void *from, size_t bytes) {
    device_scope scope(state_of(ctx)->device);
    return check(ctx, cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, state_of(ctx)->stream),
                 "cudaMemcpyAsync");
}

static scan_status download(scan_ctx *ctx, void *to, const void *from, size_t bytes) {
    device_scope scope(state_of(ctx)->device);
    return check(ctx, cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, state_of(ctx)->stream),
                 "cudaMemcpyAsync");
}

size_t workspace_bytes(size_t state_bytes, size_t scratch_bytes) {
    size_t state = state_bytes * state_share;
    size_t scratch = scratch_bytes / (state_share - 1) * state_share + state_share * workspace_alignment;
    size_t bytes = state > scratch || !scratch_bytes ? state : scratch;
    return ceil_div(bytes, state_share * workspace_alignment) * state_share * workspace_alignment;
}

static size_t state_part(size_t bytes) { return bytes / state_share / workspace_alignment * workspace_alignment; }

/* The workspace is new: no word of its state may carry an epoch. */
static scan_status prepare(scan_ctx *ctx, void *workspace, size_t bytes) {
    device_scope scope(state_of(ctx)->device);
    return check(ctx, cudaMemsetAsync(workspace, 0, state_part(bytes), state_of(ctx)->stream), "cudaMemsetAsync");
}

scan_status take_workspace(scan_ctx *ctx, size_t state_bytes, size_t scratch_bytes, char **state, char **scratch) {
    void *memory;
    SCAN_TRY(scan_workspace(ctx, workspace_bytes(state_bytes, scratch_bytes), &memory));
    *state = static_cast<char *>(memory);
    *scratch = *state + state_part(ctx->workspace_bytes);
    return SCAN_OK;
}

} /* namespace scan_cuda */

extern "C" const scan_backend_table scan_cuda_backend = {
    .open = scan_cuda::open,
    .close = scan_cuda::close,
    .sync = scan_cuda::sync,
    .prepare = scan_cuda::prepare,
    .load = scan_cuda::load,
    .check_memory = scan_cuda::check_memory,
    .alloc = scan_cuda::alloc,
    .free = scan_cuda::release,
    .alloc_host = scan_cuda::alloc_host,
    .free_host = scan_cuda::free_host,
    .upload = scan_cuda::upload,
    .download = scan_cuda::download,
    .prefix = scan_cuda::prefix,
    .prefix_workspace = scan_cuda::prefix_workspace,
    .compact = scan_cuda::compact,
    .compact_workspace = scan_cuda::compact_workspace,
    .unique = scan_cuda::unique,
    .unique_workspace = scan_cuda::unique_workspace,
    .sort = scan_cuda::sort,
    .sort_workspace = scan_cuda::sort_workspace,
    .argsort = scan_cuda::argsort,
    .argsort_workspace = scan_cuda::argsort_workspace,
    .histogram = scan_cuda::histogram,
    .histogram_workspace = scan_cuda::histogram_workspace,
    .equalize = scan_cuda::equalize,
    .equalize_workspace = scan_cuda::equalize_workspace,
    .clahe = scan_cuda::clahe,
    .clahe_workspace = scan_cuda::clahe_workspace,
};
