/* SPDX-License-Identifier: MIT
 *
 * The bench on a GPU: a stream, a clock made of two events on it, plain copies, and a line about the machine. The
 * module has its own CUDA runtime; streams, events and memory belong to the driver and are valid in the library's too.
 */
#include <cstdio>
#include <cstring>

#include "bench_cuda.h"

namespace bench_cuda {

cudaStream_t stream;
static cudaEvent_t began, ended;
static cudaDeviceProp properties;

/* bench_sets.cu's functions call themselves, as deep as a set has nodes. */
static cudaError_t allow_recursion() {
#ifdef SCAN_EMULATED
    return cudaSuccess;
#else
    return cudaDeviceSetLimit(cudaLimitStackSize, 4096);
#endif
}

static bool open(int ordinal, const char **wrong) {
    cudaError_t error = cudaSetDevice(ordinal);
    if (error == cudaSuccess)
        error = allow_recursion();
    if (error == cudaSuccess)
        error = cudaGetDeviceProperties(&properties, ordinal);
    if (error == cudaSuccess)
        error = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    if (error == cudaSuccess)
        error = cudaEventCreate(&began);
    if (error == cudaSuccess)
        error = cudaEventCreate(&ended);
    *wrong = cudaGetErrorString(error);
    return error == cudaSuccess;
}

static void close() {
    cudaEventDestroy(began);
    cudaEventDestroy(ended);
    cudaStreamDestroy(stream);
}

static cudaStream_t stream_of() { return stream; }

/* The device is idle when the clock starts. */
static bool start() {
    return cudaStreamSynchronize(stream) == cudaSuccess && cudaEventRecord(began, stream) == cudaSuccess;
}

static bool stop(uint64_t *ns) {
    float milliseconds;
    if (cudaEventRecord(ended, stream) != cudaSuccess || cudaEventSynchronize(ended) != cudaSuccess ||
        cudaEventElapsedTime(&milliseconds, began, ended) != cudaSuccess)
        return false;
    *ns = uint64_t(double(milliseconds) * 1e6);
    return cudaGetLastError() == cudaSuccess;
}

static bool copy(void *to, const void *from, size_t bytes) {
    return cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream) == cudaSuccess;
}

static bool fill(void *to, int byte, size_t bytes) {
    return bytes == 0 || cudaMemsetAsync(to, byte, bytes, stream) == cudaSuccess;
}

static void describe(char *text, size_t bytes) {
    int driver = 0, runtime = 0;
    char module[32] = "";
    FILE *file = fopen("/sys/module/nvidia/version", "r");
    if (file && fgets(module, sizeof module, file))
        module[strcspn(module, "\n")] = '\0';
    if (file)
        fclose(file);
    cudaDriverGetVersion(&driver);
    cudaRuntimeGetVersion(&runtime);
    snprintf(text, bytes, "%s (%d SMs, %d MB L2), driver %s%sfor CUDA %d.%d, runtime %d.%d, %s", properties.name,
             properties.multiProcessorCount, properties.l2CacheSize >> 20, module, module[0] ? " " : "", driver / 1000,
             driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10, cub_version());
}

static size_t cache_bytes() { return size_t(properties.l2CacheSize); }

#ifdef SCAN_EMULATED
const char *cub_version() { return "no CUB"; }
size_t contenders(const job *, contender *) { return 0; }
#endif

} /* namespace bench_cuda */

extern "C" __attribute__((visibility("default"))) const bench_device bench_cuda_device;
const bench_device bench_cuda_device = {
    bench_cuda::open,        bench_cuda::close,      bench_cuda::stream_of, bench_cuda::start,
    bench_cuda::stop,        bench_cuda::copy,       bench_cuda::fill,      bench_cuda::describe,
    bench_cuda::cache_bytes, bench_cuda::contenders, bench_cuda::additions, bench_cuda::make_sets,
    bench_cuda::check_sort,
};
