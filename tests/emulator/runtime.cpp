/* SPDX-License-Identifier: MIT
 *
 * The emulated CUDA runtime: devices, errors, faults to order, kernels' attributes and launches.
 */
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "control.h"
#include "runtime.h"

namespace emulator {

/* ---- errors ------------------------------------------------------------------------------------------------------ */

static thread_local cudaError_t last_error;
std::atomic<size_t> objects;

cudaError_t note(cudaError_t error) {
    if (error != cudaSuccess)
        last_error = error;
    return error;
}

struct fault {
    std::mutex mutex;
    long calls = 0, call = 0;
    int error = 0;
    bool forever = false;
};

static fault &ordered() {
    static fault *f = [] {
        fault *made = new fault;
        if (const char *text = getenv("SCAN_EMULATED_FAIL")) {
            char *end;
            made->call = strtol(text, &end, 10);
            made->error = *end == ':' ? int(strtol(end + 1, &end, 10)) : int(cudaErrorMemoryAllocation);
            made->forever = !strcmp(end, ":forever");
        }
        return made;
    }();
    return *f;
}

cudaError_t enter() {
    fault &f = ordered();
    std::lock_guard<std::mutex> lock(f.mutex);
    f.calls++;
    if (f.call && (f.forever ? f.calls >= f.call : f.calls == f.call))
        return note(cudaError_t(f.error));
    return cudaSuccess;
}

/* ---- devices ----------------------------------------------------------------------------------------------------- */

static int device_count() { return environment("SCAN_EMULATED_DEVICES", 1); }
static thread_local int current_device;
bool is_device(int device) { return device >= 0 && device < device_count(); }

static void capability(int *major, int *minor) {
    const char *text = getenv("SCAN_EMULATED_CAPABILITY");
    if (!text || sscanf(text, "%d.%d", major, minor) != 2)
        *major = 9, *minor = 0;
}

bool has_mbarriers() {
    int major, minor;
    capability(&major, &minor);
    return major >= 9;
}

static cudaDeviceProp properties_of(int device) {
    cudaDeviceProp p = {};
    capability(&p.major, &p.minor);
    snprintf(p.name, sizeof p.name, "Emulated GPU %d", device);
    size_t left;
    cudaMemGetInfo(&left, &p.totalGlobalMem);
    p.sharedMemPerBlock = 48 << 10;
    p.sharedMemPerBlockOptin = p.major >= 9 ? 227 << 10 : p.major == 8 ? 99 << 10 : 64 << 10;
    p.sharedMemPerMultiprocessor = p.sharedMemPerBlockOptin + (p.major >= 8 ? 1 << 10 : 0);
    p.regsPerBlock = 65536;
    p.warpSize = 32;
    p.maxThreadsPerBlock = p.maxThreadsDim[0] = p.maxThreadsDim[1] = 1024;
    p.maxThreadsDim[2] = 64;
    p.maxThreadsPerMultiProcessor = 1024;
    p.maxBlocksPerMultiProcessor = 1;
    p.maxGridSize[0] = 0x7fffffff;
    p.maxGridSize[1] = p.maxGridSize[2] = 65535;
    p.multiProcessorCount = int(sm_count());
    p.l2CacheSize = 4 << 20;
    p.memoryBusWidth = 64;
    p.concurrentKernels = p.canMapHostMemory = p.unifiedAddressing = p.managedMemory = 1;
    p.cooperativeLaunch = 1;
    p.asyncEngineCount = 1;
    return p;
}

/* ---- kernels ----------------------------------------------------------------------------------------------------- */

struct kernel_attributes {
    int shared_bytes = 48 << 10;
    bool large_clusters = false;
};
static std::mutex attributes_mutex;
static std::map<const void *, kernel_attributes> *attributes = new std::map<const void *, kernel_attributes>;

static kernel_attributes attributes_of(const void *kernel) {
    std::lock_guard<std::mutex> lock(attributes_mutex);
    return (*attributes)[kernel];
}

static unsigned largest_cluster(const void *kernel) {
    return unsigned(std::min(attributes_of(kernel).large_clusters ? 16 : 8, environment("SCAN_EMULATED_CLUSTER", 16)));
}

static unsigned cluster_of(const cudaLaunchConfig_t *config) {
    unsigned cluster = 1;
    for (unsigned i = 0; i < config->numAttrs; i++)
        if (config->attrs[i].id == cudaLaunchAttributeClusterDimension)
            cluster = config->attrs[i].val.clusterDim.x * config->attrs[i].val.clusterDim.y *
                      config->attrs[i].val.clusterDim.z;
    return cluster;
}

static bool begins_early(const cudaLaunchConfig_t *config) {
    for (unsigned i = 0; i < config->numAttrs; i++)
        if (config->attrs[i].id == cudaLaunchAttributeProgrammaticStreamSerialization)
            return config->attrs[i].val.programmaticStreamSerializationAllowed;
    return false;
}

/* The arguments are copied: a graph runs them again when the caller's are gone. */
struct kept_launch {
    launch work;
    std::vector<std::unique_ptr<char[]>> memory;
    std::vector<void *> arguments;
};

static cudaError_t submit_kernel(const cudaLaunchConfig_t *config, const void *kernel, void **arguments) {
    const signature *how = find_kernel(kernel);
    const cudaDeviceProp device = properties_of(current_device);
    const dim3 grid = config->gridDim, block = config->blockDim;
    const unsigned cluster = cluster_of(config);
    if (!how)
        return cudaErrorInvalidDeviceFunction;
    if (!grid.x || !grid.y || !grid.z || grid.x > 0x7fffffff || grid.y > 65535 || grid.z > 65535 || !block.x ||
        !block.y || !block.z || uint64_t(block.x) * block.y * block.z > 1024)
        return cudaErrorInvalidConfiguration;
    if (config->dynamicSmemBytes > size_t(attributes_of(kernel).shared_bytes))
        return cudaErrorInvalidValue;
    if (cluster != 1 && (device.major < 9 || cluster == 0 || cluster > largest_cluster(kernel) || grid.x % cluster))
        return cudaErrorInvalidConfiguration;
    if (begins_early(config) && device.major < 9)
        return cudaErrorNotSupported;
    auto kept = std::make_shared<kept_launch>();
    for (int i = 0; i < how->count; i++) {
        kept->memory.emplace_back(new char[how->sizes[i]]);
        memcpy(kept->memory.back().get(), arguments[i], how->sizes[i]);
        kept->arguments.push_back(kept->memory.back().get());
    }
    kept->work = {
        kernel, how, kept->arguments.data(), grid, block, config->dynamicSmemBytes, cluster, begins_early(config)};
    return submit(config->stream, [kept] {
        run(kept->work);
        return cudaSuccess;
    });
}

} /* namespace emulator */

using namespace emulator;

extern "C" {

void emulator_fail_call(long call, int error, bool forever) {
    fault &f = ordered();
    std::lock_guard<std::mutex> lock(f.mutex);
    f.calls = 0;
    f.call = call;
    f.error = error;
    f.forever = forever;
}

long emulator_calls(void) {
    fault &f = ordered();
    std::lock_guard<std::mutex> lock(f.mutex);
    return f.calls;
}

size_t emulator_objects(void) { return objects; }

/* ---- CUDA: errors ------------------------------------------------------------------------------------------------ */

cudaError_t cudaGetLastError(void) {
    cudaError_t error = last_error;
    last_error = cudaSuccess;
    return error;
}
cudaError_t cudaPeekAtLastError(void) { return last_error; }

#define EMULATED_ERRORS(X)                                                                                             \
    X(cudaSuccess, "no error")                                                                                         \
    X(cudaErrorInvalidValue, "invalid argument")                                                                       \
    X(cudaErrorMemoryAllocation, "out of memory")                                                                      \
    X(cudaErrorInvalidConfiguration, "invalid configuration argument")                                                 \
    X(cudaErrorInsufficientDriver, "CUDA driver version is insufficient for CUDA runtime version")                     \
    X(cudaErrorDevicesUnavailable, "CUDA-capable device(s) is/are busy or unavailable")                                \
    X(cudaErrorInvalidDeviceFunction, "invalid device function")                                                       \
    X(cudaErrorNoDevice, "no CUDA-capable device is detected")                                                         \
    X(cudaErrorInvalidDevice, "invalid device ordinal")                                                                \
    X(cudaErrorIllegalAddress, "an illegal memory access was encountered")                                             \
    X(cudaErrorLaunchFailure, "unspecified launch failure")                                                            \
    X(cudaErrorStreamCaptureUnsupported, "operation not permitted when stream is capturing")                           \
    X(cudaErrorStreamCaptureInvalidated, "operation failed due to a previous error during capture")
const char *cudaGetErrorString(cudaError_t error) {
    switch (error) {
#define ROW(name, text)                                                                                                \
    case name: return text;
        EMULATED_ERRORS(ROW)
#undef ROW
    default: return "unrecognized error code";
    }
}
const char *cudaGetErrorName(cudaError_t error) {
    switch (error) {
#define ROW(name, text)                                                                                                \
    case name: return #name;
        EMULATED_ERRORS(ROW)
#undef ROW
    default: return "unrecognized error code";
    }
}

/* ---- CUDA: devices ----------------------------------------------------------------------------------------------- */

cudaError_t cudaGetDeviceCount(int *count) {
    EMULATED_ENTER();
    *count = device_count();
    return note(*count ? cudaSuccess : cudaErrorNoDevice);
}
cudaError_t cudaGetDevice(int *device) {
    EMULATED_ENTER();
    *device = current_device;
    return note(device_count() ? cudaSuccess : cudaErrorNoDevice);
}
cudaError_t cudaSetDevice(int device) {
    EMULATED_ENTER();
    if (!is_device(device))
        return note(device_count() ? cudaErrorInvalidDevice : cudaErrorNoDevice);
    current_device = device;
    return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp *properties, int device) {
    EMULATED_ENTER();
    if (!is_device(device))
        return note(cudaErrorInvalidDevice);
    *properties = properties_of(device);
    return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device) {
    EMULATED_ENTER();
    if (!is_device(device))
        return note(cudaErrorInvalidDevice);
    cudaDeviceProp p = properties_of(device);
    switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock: *value = p.maxThreadsPerBlock; break;
    case cudaDevAttrMaxSharedMemoryPerBlock: *value = int(p.sharedMemPerBlock); break;
    case cudaDevAttrWarpSize: *value = p.warpSize; break;
    case cudaDevAttrClockRate: *value = 1000000; break;
    case cudaDevAttrMultiProcessorCount: *value = p.multiProcessorCount; break;
    case cudaDevAttrMemoryClockRate: *value = 1000000; break;
    case cudaDevAttrGlobalMemoryBusWidth: *value = p.memoryBusWidth; break;
    case cudaDevAttrL2CacheSize: *value = p.l2CacheSize; break;
    case cudaDevAttrMaxThreadsPerMultiProcessor: *value = p.maxThreadsPerMultiProcessor; break;
    case cudaDevAttrComputeCapabilityMajor: *value = p.major; break;
    case cudaDevAttrComputeCapabilityMinor: *value = p.minor; break;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor: *value = int(p.sharedMemPerMultiprocessor); break;
    case cudaDevAttrCooperativeLaunch: *value = 1; break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin: *value = int(p.sharedMemPerBlockOptin); break;
    default: return note(cudaErrorInvalidValue);
    }
    return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int *version) {
    EMULATED_ENTER();
    *version = CUDART_VERSION;
    return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int *version) {
    EMULATED_ENTER();
    *version = CUDART_VERSION;
    return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize(void) {
    EMULATED_ENTER();
    return note(outside_capture());
}
cudaError_t cudaDeviceReset(void) {
    EMULATED_ENTER();
    return cudaSuccess;
}

/* ---- CUDA: kernels ----------------------------------------------------------------------------------------------- */

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *kernel, void **arguments) {
    EMULATED_ENTER();
    return note(submit_kernel(config, kernel, arguments));
}
cudaError_t cudaLaunchKernel(const void *kernel, dim3 grid, dim3 block, void **arguments, size_t shared_bytes,
                             cudaStream_t stream) {
    EMULATED_ENTER();
    cudaLaunchConfig_t config = {grid, block, shared_bytes, stream, nullptr, 0};
    return note(submit_kernel(&config, kernel, arguments));
}
/* All CTAs at once: no more than there are SMs. */
cudaError_t cudaLaunchCooperativeKernel(const void *kernel, dim3 grid, dim3 block, void **arguments,
                                        size_t shared_bytes, cudaStream_t stream) {
    EMULATED_ENTER();
    if (uint64_t(grid.x) * grid.y * grid.z > sm_count())
        return note(cudaErrorInvalidConfiguration);
    cudaLaunchConfig_t config = {grid, block, shared_bytes, stream, nullptr, 0};
    return note(submit_kernel(&config, kernel, arguments));
}
cudaError_t cudaFuncSetAttribute(const void *kernel, enum cudaFuncAttribute attribute, int value) {
    EMULATED_ENTER();
    if (!find_kernel(kernel))
        return note(cudaErrorInvalidDeviceFunction);
    const int max_bytes = int(properties_of(current_device).sharedMemPerBlockOptin);
    std::lock_guard<std::mutex> lock(attributes_mutex);
    kernel_attributes &a = (*attributes)[kernel];
    if (attribute == cudaFuncAttributeMaxDynamicSharedMemorySize) {
        if (value < 0 || value > max_bytes)
            return note(cudaErrorInvalidValue);
        a.shared_bytes = value;
    } else if (attribute == cudaFuncAttributeNonPortableClusterSizeAllowed) {
        a.large_clusters = value;
    }
    return cudaSuccess;
}
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *attributes_out, const void *kernel) {
    EMULATED_ENTER();
    if (!find_kernel(kernel))
        return note(cudaErrorInvalidDeviceFunction);
    int major, minor;
    capability(&major, &minor);
    *attributes_out = {};
    attributes_out->maxThreadsPerBlock = 1024;
    attributes_out->numRegs = 32;
    attributes_out->ptxVersion = attributes_out->binaryVersion = major * 10 + minor;
    attributes_out->maxDynamicSharedSizeBytes = attributes_of(kernel).shared_bytes;
    return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *kernel, int threads,
                                                          size_t shared_bytes) {
    EMULATED_ENTER();
    if (!find_kernel(kernel))
        return note(cudaErrorInvalidDeviceFunction);
    *blocks = threads <= 1024 && shared_bytes <= size_t(attributes_of(kernel).shared_bytes);
    return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveClusters(int *clusters, const void *kernel, const cudaLaunchConfig_t *config) {
    EMULATED_ENTER();
    unsigned cluster = cluster_of(config);
    if (!find_kernel(kernel) || cluster == 0)
        return note(cudaErrorInvalidDeviceFunction);
    *clusters = cluster > largest_cluster(kernel) ? 0 : int(std::max(1u, sm_count() / cluster));
    return cudaSuccess;
}
cudaError_t cudaOccupancyMaxPotentialClusterSize(int *size, const void *kernel, const cudaLaunchConfig_t *) {
    EMULATED_ENTER();
    if (!find_kernel(kernel))
        return note(cudaErrorInvalidDeviceFunction);
    *size = attributes_of(kernel).large_clusters ? 16 : 8;
    return cudaSuccess;
}
}
