/* SPDX-License-Identifier: MIT
 *
 * The emulated CUDA runtime: errors, faults to order, kernels' attributes and launches.
 */
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <unistd.h>
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

static void write_calls();
static fault &ordered() {
    static fault *f = [] {
        fault *made = new fault;
        if (const char *text = getenv("SCAN_EMULATED_FAIL")) {
            char *end;
            made->call = strtol(text, &end, 10);
            made->error = *end == ':' ? int(strtol(end + 1, &end, 10)) : int(cudaErrorMemoryAllocation);
            made->forever = !strcmp(end, ":forever");
        }
        if (getenv("SCAN_EMULATED_CALLS"))
            atexit(write_calls);
        return made;
    }();
    return *f;
}

/* Where the tests want to know how many calls there are, so that each can be made to fail. */
static void write_calls() {
    if (FILE *file = fopen(getenv("SCAN_EMULATED_CALLS"), "w")) {
        fprintf(file, "%ld\n", ordered().calls);
        fclose(file);
    }
}

cudaError_t enter() {
    fault &f = ordered();
    std::lock_guard<std::mutex> lock(f.mutex);
    f.calls++;
    if (f.call && (f.forever ? f.calls >= f.call : f.calls == f.call))
        return note(cudaError_t(f.error));
    return cudaSuccess;
}

/* ---- a device that hangs ----------------------------------------------------------------------------------------- */

static std::atomic<long> launches_to_hang{[] {
    const long launch = environment("SCAN_EMULATED_HANG", 0);
    if (launch)
        atexit(wait_for_device); /* as the driver's end does */
    return launch;
}()};
static std::atomic<bool> hanging;

void count_launch() {
    if (launches_to_hang && --launches_to_hang == 0)
        hanging = true;
}

bool hangs() { return hanging; }

void wait_for_device() {
    while (hanging)
        pause();
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

static std::atomic<size_t> early_launches;
static std::atomic<unsigned> cluster_launched;

static cudaError_t submit_kernel(const cudaLaunchConfig_t *config, const void *kernel, void **arguments) {
    const signature *how = find_kernel(kernel);
    const cudaDeviceProp device = properties_of(current_device());
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
    early_launches += begins_early(config);
    cluster_launched = std::max(cluster_launched.load(), cluster);
    auto kept = std::make_shared<kept_launch>();
    for (int i = 0; i < how->count; i++) {
        kept->memory.emplace_back(new char[how->sizes[i]]);
        memcpy(kept->memory.back().get(), arguments[i], how->sizes[i]);
        kept->arguments.push_back(kept->memory.back().get());
    }
    kept->work = {
        kernel, how, kept->arguments.data(), grid, block, config->dynamicSmemBytes, cluster, begins_early(config)};
    return submit(config->stream, [kept] {
        count_launch();
        if (hangs())
            return cudaSuccess;
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

void emulator_hang_at(long launch) {
    launches_to_hang = launch;
    hanging = false;
}

size_t emulator_objects(void) { return objects; }

size_t emulator_early_launches(void) { return early_launches; }

unsigned emulator_cluster_launched(void) { return cluster_launched; }

void emulator_forget_launches(void) { early_launches = 0, cluster_launched = 0; }

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
    X(cudaErrorNoKernelImageForDevice, "no kernel image is available for execution on the device")                     \
    X(cudaErrorInvalidDevice, "invalid device ordinal")                                                                \
    X(cudaErrorIllegalAddress, "an illegal memory access was encountered")                                             \
    X(cudaErrorLaunchFailure, "unspecified launch failure")                                                            \
    X(cudaErrorCooperativeLaunchTooLarge, "too many blocks in cooperative launch")                                     \
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

/* ---- CUDA: kernels ----------------------------------------------------------------------------------------------- */

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *kernel, void **arguments) {
    EMULATED_ENTER_CONTEXT();
    return note(submit_kernel(config, kernel, arguments));
}
cudaError_t cudaLaunchKernel(const void *kernel, dim3 grid, dim3 block, void **arguments, size_t shared_bytes,
                             cudaStream_t stream) {
    EMULATED_ENTER_CONTEXT();
    cudaLaunchConfig_t config = {grid, block, shared_bytes, stream, nullptr, 0};
    return note(submit_kernel(&config, kernel, arguments));
}
/* All CTAs at once: no more than there are SMs. */
cudaError_t cudaLaunchCooperativeKernel(const void *kernel, dim3 grid, dim3 block, void **arguments,
                                        size_t shared_bytes, cudaStream_t stream) {
    EMULATED_ENTER_CONTEXT();
    if (uint64_t(grid.x) * grid.y * grid.z > sm_count())
        return note(cudaErrorCooperativeLaunchTooLarge);
    cudaLaunchConfig_t config = {grid, block, shared_bytes, stream, nullptr, 0};
    return note(submit_kernel(&config, kernel, arguments));
}
cudaError_t cudaFuncSetAttribute(const void *kernel, enum cudaFuncAttribute attribute, int value) {
    EMULATED_ENTER_CONTEXT();
    if (!find_kernel(kernel))
        return note(cudaErrorInvalidDeviceFunction);
    const int max_bytes = int(properties_of(current_device()).sharedMemPerBlockOptin);
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
    EMULATED_ENTER_CONTEXT();
    if (!find_kernel(kernel))
        return note(cudaErrorInvalidDeviceFunction);
    wait_for_device(); /* loading code waits for kernels that run */
    if (const int error = environment("SCAN_EMULATED_NO_CODE", 0))
        return note(cudaError_t(error));
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
    EMULATED_ENTER_CONTEXT();
    if (!find_kernel(kernel))
        return note(cudaErrorInvalidDeviceFunction);
    *blocks = threads <= 1024 && shared_bytes <= size_t(attributes_of(kernel).shared_bytes);
    return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveClusters(int *clusters, const void *kernel, const cudaLaunchConfig_t *config) {
    EMULATED_ENTER_CONTEXT();
    unsigned cluster = cluster_of(config);
    if (!find_kernel(kernel) || cluster == 0)
        return note(cudaErrorInvalidDeviceFunction);
    const int rare = environment("SCAN_EMULATED_RARE_CLUSTER", 0); /* of this size one CTA after another finds room */
    *clusters = cluster > largest_cluster(kernel) ? 0
                : rare && int(cluster) < rare     ? 64
                                                  : int(std::max(1u, sm_count() / cluster));
    return cudaSuccess;
}
cudaError_t cudaOccupancyMaxPotentialClusterSize(int *size, const void *kernel, const cudaLaunchConfig_t *) {
    EMULATED_ENTER_CONTEXT();
    if (!find_kernel(kernel))
        return note(cudaErrorInvalidDeviceFunction);
    *size = attributes_of(kernel).large_clusters ? 16 : 8;
    return cudaSuccess;
}
}
