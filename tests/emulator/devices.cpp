/* SPDX-License-Identifier: MIT
 *
 * Devices, their primary contexts, and which is current: by the runtime (cudaSetDevice makes a context) and by the
 * driver (contexts are pushed and popped).
 */
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda.h>

#include "control.h"
#include "cta.h"
#include "runtime.h"

struct CUctx_st {
    std::atomic<bool> made;
    std::atomic<int> users; /* of cuDevicePrimaryCtxRetain */
};

namespace emulator {

constexpr int max_devices = 16;
static CUctx_st primaries[max_devices];
static thread_local std::vector<CUcontext> contexts; /* the last is current */

static int device_count() { return environment("SCAN_EMULATED_DEVICES", 1); }
bool is_device(int device) { return device >= 0 && device < device_count() && device < max_devices; }

static CUcontext primary(int device) {
    primaries[device].made = true;
    return &primaries[device];
}

int current_device() { return contexts.empty() ? 0 : int(contexts.back() - primaries); }

void need_context() {
    if (contexts.empty())
        contexts.push_back(primary(0));
}

void capability(int *major, int *minor) {
    const char *text = getenv("SCAN_EMULATED_CAPABILITY");
    if (!text || sscanf(text, "%d.%d", major, minor) != 2)
        *major = 9, *minor = 0;
}

int capability_number() {
    int major, minor;
    capability(&major, &minor);
    return major * 10 + minor;
}

cudaDeviceProp properties_of(int device) {
    cudaDeviceProp p = {};
    capability(&p.major, &p.minor);
    snprintf(p.name, sizeof p.name, "Emulated GPU %d", device);
    size_t left;
    cudaMemGetInfo(&left, &p.totalGlobalMem);
    p.sharedMemPerBlock = 48 << 10;
    const int number = 10 * p.major + p.minor; /* what CUDA's programming guide lists for a compute capability */
    p.sharedMemPerBlockOptin = number < 80                    ? 64 << 10
                               : number == 80 || number == 87 ? 163 << 10
                               : number >= 90 && number < 120 ? 227 << 10
                                                              : 99 << 10;
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
    p.pageableMemoryAccess = environment("SCAN_EMULATED_PAGEABLE", 0);
    p.asyncEngineCount = 1;
    return p;
}

/* ---- the driver -------------------------------------------------------------------------------------------------- */

static CUresult enter_driver() { return CUresult(enter()); }

static CUresult device_get(CUdevice *device, int ordinal) {
    *device = ordinal;
    return is_device(ordinal) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

static CUresult retain(CUcontext *context, CUdevice device) {
    if (const CUresult error = enter_driver())
        return error;
    *context = primary(device);
    (*context)->users++;
    objects++;
    return CUDA_SUCCESS;
}

static CUresult release(CUdevice device) {
    wait_for_device();
    if (primaries[device].users-- <= 0)
        die("cuDevicePrimaryCtxRelease() of a context that is not retained");
    objects--;
    return CUDA_SUCCESS;
}

static CUresult get_current(CUcontext *context) {
    *context = contexts.empty() ? nullptr : contexts.back();
    return CUDA_SUCCESS;
}

static CUresult push(CUcontext context) {
    if (const CUresult error = enter_driver())
        return error;
    contexts.push_back(context);
    return CUDA_SUCCESS;
}

static CUresult pop(CUcontext *context) {
    if (contexts.empty())
        die("cuCtxPopCurrent() without a context");
    *context = contexts.back();
    contexts.pop_back();
    return CUDA_SUCCESS;
}

static CUresult is_capturing(CUstream stream, CUstreamCaptureStatus *status) {
    cudaStreamCaptureStatus found = cudaStreamCaptureStatusNone;
    const cudaError_t error = cudaStreamIsCapturing(stream, &found);
    *status = CUstreamCaptureStatus(found);
    return CUresult(error);
}

static CUresult pointer_attributes(unsigned count, CUpointer_attribute *which, void **data, CUdeviceptr pointer) {
    cudaPointerAttributes a;
    if (const cudaError_t error = cudaPointerGetAttributes(&a, reinterpret_cast<void *>(pointer)))
        return CUresult(error);
    for (unsigned i = 0; i < count; i++)
        switch (which[i]) {
        case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
            *static_cast<unsigned *>(data[i]) =
                a.type == cudaMemoryTypeManaged ? unsigned(CU_MEMORYTYPE_DEVICE) : unsigned(a.type);
            break;
        case CU_POINTER_ATTRIBUTE_IS_MANAGED:
            *static_cast<unsigned *>(data[i]) = a.type == cudaMemoryTypeManaged;
            break;
        case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: *static_cast<int *>(data[i]) = a.device; break;
        case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
            *static_cast<CUdeviceptr *>(data[i]) = reinterpret_cast<CUdeviceptr>(a.devicePointer);
            break;
        }
    return CUDA_SUCCESS;
}

} /* namespace emulator */

using namespace emulator;

extern "C" {

int emulator_has_context(int device) { return primaries[device].made; }

void emulator_forget_contexts(void) {
    contexts.clear();
    for (CUctx_st &p : primaries)
        p.made = false;
}

cudaError_t cudaGetDriverEntryPointByVersion(const char *name, void **function, unsigned, unsigned long long,
                                             cudaDriverEntryPointQueryResult *result) {
    EMULATED_ENTER();
    static const struct {
        const char *name;
        void *function;
    } functions[] = {{"cuDeviceGet", reinterpret_cast<void *>(device_get)},
                     {"cuDevicePrimaryCtxRetain", reinterpret_cast<void *>(retain)},
                     {"cuDevicePrimaryCtxRelease", reinterpret_cast<void *>(release)},
                     {"cuCtxGetCurrent", reinterpret_cast<void *>(get_current)},
                     {"cuCtxPushCurrent", reinterpret_cast<void *>(push)},
                     {"cuCtxPopCurrent", reinterpret_cast<void *>(pop)},
                     {"cuStreamIsCapturing", reinterpret_cast<void *>(is_capturing)},
                     {"cuPointerGetAttributes", reinterpret_cast<void *>(pointer_attributes)}};
    for (const auto &f : functions)
        if (!strcmp(f.name, name)) {
            *function = f.function;
            *result = cudaDriverEntryPointSuccess;
            return cudaSuccess;
        }
    *function = nullptr;
    *result = cudaDriverEntryPointSymbolNotFound;
    return cudaSuccess;
}

/* ---- CUDA: devices ----------------------------------------------------------------------------------------------- */

cudaError_t cudaGetDeviceCount(int *count) {
    EMULATED_ENTER();
    *count = device_count();
    return note(*count ? cudaSuccess : cudaErrorNoDevice);
}
cudaError_t cudaGetDevice(int *device) {
    EMULATED_ENTER();
    *device = current_device();
    return note(device_count() ? cudaSuccess : cudaErrorNoDevice);
}
cudaError_t cudaSetDevice(int device) {
    EMULATED_ENTER();
    if (!is_device(device))
        return note(device_count() ? cudaErrorInvalidDevice : cudaErrorNoDevice);
    if (!contexts.empty())
        contexts.pop_back();
    contexts.push_back(primary(device));
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
    case cudaDevAttrPageableMemoryAccess: *value = p.pageableMemoryAccess; break;
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
}
