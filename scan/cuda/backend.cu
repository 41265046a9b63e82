/* SPDX-License-Identifier: MIT
 *
 * The CUDA backend's table: launches, memory, errors.
 */
#include <cstdio>
#include <cstring>
#include <ctime>

#include "../shared/float_control.h"
#include "cuda.h"

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
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorContained:
    case cudaErrorTensorMemoryLeak:
    case cudaErrorMpsClientTerminated:
    case cudaErrorExternalDevice:
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
    state_of(ctx)->launched = true;
    return check(ctx,
                 cudaLaunchKernel(kernel, dim3(unsigned(blocks)), dim3(unsigned(threads)), arguments, shared_bytes,
                                  state_of(ctx)->stream),
                 "cudaLaunchKernel");
}

static cudaLaunchConfig_t in_clusters(const scan_ctx *ctx, int cluster, int ctas, int threads, size_t shared_bytes,
                                      cudaLaunchAttribute *attribute) {
    *attribute = {};
    attribute->id = cudaLaunchAttributeClusterDimension;
    attribute->val.clusterDim.x = unsigned(cluster);
    attribute->val.clusterDim.y = attribute->val.clusterDim.z = 1;
    return {dim3(unsigned(ctas)), dim3(unsigned(threads)), shared_bytes, state_of(ctx)->stream, attribute, 1};
}

scan_status launch_clusters(scan_ctx *ctx, const void *kernel, int cluster, int ctas, int threads, void **arguments,
                            size_t shared_bytes) {
    cudaLaunchAttribute attribute;
    const cudaLaunchConfig_t config = in_clusters(ctx, cluster, ctas, threads, shared_bytes, &attribute);
    state_of(ctx)->launched = true;
    return check(ctx, cudaLaunchKernelExC(&config, kernel, arguments), "cudaLaunchKernelExC");
}

scan_status launch_pdl(scan_ctx *ctx, const void *kernel, uint64_t blocks, int threads, void **arguments,
                       size_t shared_bytes, int cluster) {
    const context_state *s = state_of(ctx);
    SCAN_TRY(check_blocks(ctx, blocks));
    if (s->capability < 90 || (s->plain_start && !s->launched))
        return cluster > 1 ? launch_clusters(ctx, kernel, cluster, int(blocks), threads, arguments, shared_bytes)
                           : launch(ctx, kernel, blocks, threads, arguments, shared_bytes);
    cudaLaunchAttribute attributes[2];
    cudaLaunchConfig_t config = in_clusters(ctx, cluster, int(blocks), threads, shared_bytes, &attributes[1]);
    attributes[0] = {};
    attributes[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attributes[0].val.programmaticStreamSerializationAllowed = 1;
    config.attrs = attributes;
    config.numAttrs = cluster > 1 ? 2 : 1;
    return check(ctx, cudaLaunchKernelExC(&config, kernel, arguments), "cudaLaunchKernelExC");
}

/* Clusters of this many CTAs that the device runs at once; 0: none. */
static int clusters_at_once(const scan_ctx *ctx, const void *kernel, int ctas, int threads, size_t shared_bytes) {
    cudaLaunchAttribute attribute;
    const cudaLaunchConfig_t config = in_clusters(ctx, ctas, ctas, threads, shared_bytes, &attribute);
    int clusters = 0;
    if (cudaOccupancyMaxActiveClusters(&clusters, kernel, &config) == cudaSuccess)
        return clusters;
    cudaGetLastError();
    return 0;
}

/* A cluster needs its SMs free at once, in one GPC. Where half the size finds far more room, the larger one would wait
 * for the only GPC that has it, behind whatever runs there. */
int max_cluster_size(const scan_ctx *ctx, const void *kernel, int max_ctas, int threads, size_t shared_bytes) {
    int ctas = max_ctas, clusters = ctas > 1 ? clusters_at_once(ctx, kernel, ctas, threads, shared_bytes) : 0;
    while (ctas > 1) {
        const int half = ctas / 2, halves = half > 1 ? clusters_at_once(ctx, kernel, half, threads, shared_bytes) : 0;
        if (clusters > 0 && halves <= 4 * clusters)
            return ctas;
        ctas = half;
        clusters = halves;
    }
    return ctas;
}

scan_status load_kernel(scan_ctx *ctx, const void *kernel) {
    cudaFuncAttributes attributes;
    return kernel ? check(ctx, cudaFuncGetAttributes(&attributes, kernel), "cudaFuncGetAttributes") : SCAN_OK;
}

/* ---- streams ----------------------------------------------------------------------------------------------------- */

bool capturing(const scan_ctx *ctx) {
    const context_state *s = state_of(ctx);
    CUstreamCaptureStatus status; /* the question fails for the legacy default stream while another is captured */
    return s->driver.is_capturing(s->stream, &status) == CUDA_SUCCESS && status != CU_STREAM_CAPTURE_STATUS_NONE;
}

static uint64_t now_ns() {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return uint64_t(t.tv_sec) * 1000000000 + uint64_t(t.tv_nsec);
}

/* The first queries follow each other at once, as most work is short; the later ones leave the processor to others. */
scan_status wait_for_stream(scan_ctx *ctx) {
    context_state *s = state_of(ctx);
    if (!s->timeout_ns)
        return check(ctx, cudaStreamSynchronize(s->stream), "cudaStreamSynchronize");
    constexpr int queries_at_once = 1000;
    constexpr timespec pause = {0, 20000};
    const uint64_t begin = now_ns();
    cudaError_t error;
    for (int queries = 0; (error = cudaStreamQuery(s->stream)) == cudaErrorNotReady; queries++) {
        if (now_ns() - begin > s->timeout_ns) {
            s->lost = s->hung = true;
            return scan_fail(ctx, SCAN_ERR_DEVICE_LOST, "the device has not answered for %llu s (SCAN_DEVICE_TIMEOUT)",
                             (unsigned long long)(s->timeout_ns / 1000000000));
        }
        if (queries >= queries_at_once)
            nanosleep(&pause, nullptr);
    }
    return check(ctx, error, "cudaStreamQuery");
}

static scan_status sync(scan_ctx *ctx) {
    if (capturing(ctx))
        return scan_fail(ctx, SCAN_ERR_DEVICE, "the stream is being captured: nothing that it does has begun");
    return wait_for_stream(ctx);
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

/* A kernel that touches memory that the device does not see loses the device. Legal in a capture. */
static scan_status check_memory(scan_ctx *ctx, const void *memory, const char *name) {
    const context_state *s = state_of(ctx);
    unsigned type = 0, managed = 0;
    int device = 0;
    CUdeviceptr alias = 0;
    CUpointer_attribute attributes[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                        CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_DEVICE_POINTER};
    void *values[] = {&type, &managed, &device, &alias};
    const CUresult result = s->driver.pointer_attributes(4, attributes, values, CUdeviceptr(memory));
    SCAN_TRY(check(ctx, runtime_error(result), "cuPointerGetAttributes"));
    if (managed)
        return SCAN_OK;
    if (type == CU_MEMORYTYPE_DEVICE && device != s->device)
        return scan_fail(ctx, SCAN_ERR_ARGUMENT, "%s: memory of device %d, the context is on device %d", name, device,
                         s->device);
    if (type == CU_MEMORYTYPE_HOST && alias != CUdeviceptr(memory))
        return scan_fail(ctx, SCAN_ERR_ARGUMENT, "%s: memory of the host, which the GPU knows by another address",
                         name);
    if (type == 0 && !s->reads_pageable)
        return scan_fail(ctx, SCAN_ERR_ARGUMENT, "%s: memory of the host, which the GPU cannot address", name);
    return SCAN_OK;
}

static scan_status alloc(scan_ctx *ctx, size_t bytes, void **memory) {
    return check(ctx, cudaMalloc(memory, bytes), "cudaMalloc");
}

/* Memory of a device that hangs is left to the end of the process, because freeing it would wait. */
static void release(scan_ctx *ctx, void *memory, size_t) {
    if (!capturing(ctx))
        wait_for_stream(ctx); /* queued work may still use it */
    if (!state_of(ctx)->hung)
        cudaFree(memory);
}

static scan_status alloc_host(scan_ctx *ctx, size_t bytes, void **memory) {
    return check(ctx, cudaMallocHost(memory, bytes), "cudaMallocHost");
}

static void free_host(scan_ctx *ctx, void *memory) {
    if (state_of(ctx)->timeout_ns && !capturing(ctx)) /* cudaFreeHost() waits too, but without end */
        wait_for_stream(ctx);
    if (!state_of(ctx)->hung)
        cudaFreeHost(memory);
}

/* A copy from or to pageable memory returns when the driver has moved the bytes, so it waits for all work before it.
 * With a timeout that wait comes first, where it can end. */
static scan_status wait_before_copy(scan_ctx *ctx, const void *host) {
    const context_state *s = state_of(ctx);
    if (!s->timeout_ns || capturing(ctx))
        return SCAN_OK;
    unsigned type = 0;
    CUpointer_attribute attribute = CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
    void *value = &type;
    SCAN_TRY(check(ctx, runtime_error(s->driver.pointer_attributes(1, &attribute, &value, CUdeviceptr(host))),
                   "cuPointerGetAttributes"));
    return type == CU_MEMORYTYPE_HOST ? SCAN_OK : wait_for_stream(ctx);
}

scan_status upload(scan_ctx *ctx, void *to, const void *from, size_t bytes) {
    SCAN_TRY(wait_before_copy(ctx, from));
    return check(ctx, cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, state_of(ctx)->stream),
                 "cudaMemcpyAsync");
}

scan_status download(scan_ctx *ctx, void *to, const void *from, size_t bytes) {
    SCAN_TRY(wait_before_copy(ctx, to));
    return check(ctx, cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, state_of(ctx)->stream),
                 "cudaMemcpyAsync");
}

static size_t state_part(size_t bytes) { return bytes / state_share / workspace_alignment * workspace_alignment; }

/* The workspace is new: no word of its state may carry an epoch. */
static scan_status prepare(scan_ctx *ctx, void *workspace, size_t bytes) {
    return check(ctx, cudaMemsetAsync(workspace, 0, state_part(bytes), state_of(ctx)->stream), "cudaMemsetAsync");
}

scan_status take_workspace(scan_ctx *ctx, size_t state_bytes, size_t scratch_bytes, char **state, char **scratch) {
    void *memory;
    SCAN_TRY(scan_workspace(ctx, workspace_bytes(state_bytes, scratch_bytes), &memory));
    *state = static_cast<char *>(memory);
    *scratch = *state + state_part(ctx->workspace.bytes);
    return SCAN_OK;
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

/* The default modes for floats, for a scope. */
class default_floats {
    const scan_float_control callers = scan_default_float_control();

  public:
    ~default_floats() { scan_restore_float_control(callers); }
};

/* A function of the table, run with the context's device current. */
template <class Function, Function function> struct on_device;

template <class... Arguments, scan_status (*function)(scan_ctx *, Arguments...)>
struct on_device<scan_status (*)(scan_ctx *, Arguments...), function> {
    static scan_status call(scan_ctx *ctx, Arguments... arguments) {
        if (state_of(ctx)->hung)
            return scan_fail(ctx, SCAN_ERR_DEVICE_LOST, "the device was lost: it did not answer in time");
        const device_scope scope(state_of(ctx));
        const relaxed_capture relaxed;
        const default_floats modes;
        SCAN_TRY(check(ctx, scope.error, "cuCtxPushCurrent"));
        state_of(ctx)->launched = false;
        return function(ctx, arguments...);
    }
};

template <class... Arguments, void (*function)(scan_ctx *, Arguments...)>
struct on_device<void (*)(scan_ctx *, Arguments...), function> {
    static void call(scan_ctx *ctx, Arguments... arguments) {
        if (state_of(ctx)->hung)
            return;
        const device_scope scope(state_of(ctx));
        const relaxed_capture relaxed;
        function(ctx, arguments...);
    }
};

} /* namespace scan_cuda */

#define ON_DEVICE(function) scan_cuda::on_device<decltype(&scan_cuda::function), scan_cuda::function>::call

extern "C" const scan_backend_table scan_cuda_backend = {
    .open = scan_cuda::open,
    .close = scan_cuda::close,
    .sync = ON_DEVICE(sync),
    .capturing = scan_cuda::capturing,
    .prepare = ON_DEVICE(prepare),
    .load = ON_DEVICE(load),
    .check_memory = scan_cuda::check_memory,
    .alloc = ON_DEVICE(alloc),
    .free = ON_DEVICE(release),
    .alloc_host = ON_DEVICE(alloc_host),
    .free_host = ON_DEVICE(free_host),
    .upload = ON_DEVICE(upload),
    .download = ON_DEVICE(download),
    .prefix = ON_DEVICE(prefix),
    .prefix_workspace = scan_cuda::prefix_workspace,
    .compact = ON_DEVICE(compact),
    .compact_workspace = scan_cuda::compact_workspace,
    .unique = ON_DEVICE(unique),
    .unique_workspace = scan_cuda::unique_workspace,
    .sort = ON_DEVICE(sort),
    .sort_workspace = scan_cuda::sort_workspace,
    .argsort = ON_DEVICE(argsort),
    .argsort_workspace = scan_cuda::argsort_workspace,
    .merge = ON_DEVICE(merge),
    .merge_workspace = scan_cuda::merge_workspace,
    .histogram = ON_DEVICE(histogram),
    .histogram_workspace = scan_cuda::histogram_workspace,
    .equalize = ON_DEVICE(equalize),
    .equalize_workspace = scan_cuda::equalize_workspace,
    .clahe = ON_DEVICE(clahe),
    .clahe_workspace = scan_cuda::clahe_workspace,
};
