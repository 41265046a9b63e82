/* SPDX-License-Identifier: MIT
 *
 * A libcuda.so.1 that loses its device: found before the driver's (LD_LIBRARY_PATH), which it hands every call to,
 * until a chosen kernel launch. That and every call after it that is listed here fails with CUDA_ERROR_LAUNCH_FAILED.
 * The driver's own library is what this one needs, under the name libcuda_real.so.1.
 *
 *     LOSE_DEVICE_AT   the number of the launch, from 1 on; 0 or nothing: none fails
 *     LAUNCH_COUNT     a file that gets one byte appended for every launch
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LAUNCH_FAILED = 719, PER_THREAD_STREAM = 2 };

static atomic_long launches;
static atomic_int lost;

static void count_launch(void) {
    const char *at = getenv("LOSE_DEVICE_AT"), *file = getenv("LAUNCH_COUNT");
    const long number = atomic_fetch_add(&launches, 1) + 1;
    if (at && number == atol(at))
        atomic_store(&lost, 1);
    if (file) {
        const int fd = open(file, O_WRONLY | O_CREAT | O_APPEND, 0600);
        if (fd >= 0 && write(fd, ".", 1) == 1)
            close(fd);
    }
}

/* Arguments as they are in registers: more are passed than a call has. */
#define FORWARD(name, is_launch)                                                                                       \
    static int (*real_##name)(uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t);                       \
    static int lossy_##name(uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d, uintptr_t e, uintptr_t f) {            \
        if (is_launch)                                                                                                 \
            count_launch();                                                                                            \
        return lost ? LAUNCH_FAILED : real_##name(a, b, c, d, e, f);                                                   \
    }
#define LIST(X)                                                                                                        \
    X(cuLaunchKernelEx, 1)                                                                                             \
    X(cuGraphLaunch, 1)                                                                                                \
    X(cuMemcpy, 0)                                                                                                     \
    X(cuMemcpyHtoD, 0)                                                                                                 \
    X(cuMemcpyDtoH, 0)                                                                                                 \
    X(cuMemcpyAsync, 0)                                                                                                \
    X(cuMemcpyHtoDAsync, 0)                                                                                            \
    X(cuMemcpyDtoHAsync, 0)                                                                                            \
    X(cuMemcpyDtoDAsync, 0)                                                                                            \
    X(cuMemsetD8Async, 0)                                                                                              \
    X(cuMemAlloc, 0)                                                                                                   \
    X(cuMemAllocAsync, 0)                                                                                              \
    X(cuEventRecord, 0)                                                                                                \
    X(cuEventQuery, 0)                                                                                                 \
    X(cuEventSynchronize, 0)                                                                                           \
    X(cuStreamQuery, 0)                                                                                                \
    X(cuStreamSynchronize, 0)                                                                                          \
    X(cuStreamWaitEvent, 0)                                                                                            \
    X(cuCtxSynchronize, 0)
LIST(FORWARD)

static int (*real_cuLaunchKernel)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *,
                                  void **, void **);
static int lossy_cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                                unsigned shared, void *stream, void **arguments, void **extra) {
    count_launch();
    return lost ? LAUNCH_FAILED : real_cuLaunchKernel(f, gx, gy, gz, bx, by, bz, shared, stream, arguments, extra);
}

static int (*real_cuLaunchCooperativeKernel)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                             unsigned, void *, void **);
static int lossy_cuLaunchCooperativeKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                                           unsigned bz, unsigned shared, void *stream, void **arguments) {
    count_launch();
    return lost ? LAUNCH_FAILED : real_cuLaunchCooperativeKernel(f, gx, gy, gz, bx, by, bz, shared, stream, arguments);
}

typedef struct replacement {
    const char *name;
    void *lossy, *real;
} replacement;

#define ROW(name, is_launch) {#name, lossy_##name, &real_##name},
static const replacement replacements[] = {
    LIST(ROW){"cuLaunchKernel", lossy_cuLaunchKernel, &real_cuLaunchKernel},
    {"cuLaunchCooperativeKernel", lossy_cuLaunchCooperativeKernel, &real_cuLaunchCooperativeKernel},
};

/* ---- what the runtime looks for ---------------------------------------------------------------------------------- */

int cuGetProcAddress_v2(const char *name, void **function, int version, uint64_t flags, int *found);
int cuGetProcAddress(const char *name, void **function, int version, uint64_t flags);

/* The driver has functions of two kinds of streams: no program here has those of per-thread streams. */
int cuGetProcAddress_v2(const char *name, void **function, int version, uint64_t flags, int *found) {
    static int (*real)(const char *, void **, int, uint64_t, int *);
    if (!real)
        real = (int (*)(const char *, void **, int, uint64_t, int *))(uintptr_t)dlsym(
            dlopen("libcuda_real.so.1", RTLD_NOW), "cuGetProcAddress_v2");
    const int status = real(name, function, version, flags, found);
    if (status != 0 || !*function || (flags & PER_THREAD_STREAM))
        return status;
    if (strcmp(name, "cuGetProcAddress") == 0) {
        uintptr_t own = (uintptr_t)cuGetProcAddress_v2;
        if (version < 12000)
            own = (uintptr_t)cuGetProcAddress;
        memcpy(function, &own, sizeof own);
    }
    for (size_t i = 0; i < sizeof replacements / sizeof *replacements; i++)
        if (strcmp(name, replacements[i].name) == 0) {
            memcpy(replacements[i].real, function, sizeof *function);
            *function = replacements[i].lossy;
        }
    return status;
}

int cuGetProcAddress(const char *name, void **function, int version, uint64_t flags) {
    int found;
    return cuGetProcAddress_v2(name, function, version, flags, &found);
}
