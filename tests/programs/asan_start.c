/* SPDX-License-Identifier: MIT
 *
 * Linked into programs with AddressSanitizer, of which tests start thousands, with -Wl,--wrap for dlsym and for
 * libasan's own memset. The two functions run before any is intercepted: compiled without sanitizers, they call nothing
 * else.
 *
 * When such a program starts, libasan looks up each function that it could intercept. For each that no library has, the
 * C library allocates what dlerror() would say, and the allocator that libasan has until it is ready takes 64 KiB for
 * each size: a third of the pages that a start touches, a fifth of its time. Here the functions that the C library does
 * not offer to new programs are not looked up, nor those of C++ that throw, as no program does: libasan, and the
 * program, do without them all the same.
 *
 * Then that allocator clears two parts of static memory, 512 KiB together, which begins as zeros: a quarter of the
 * pages that are left, a tenth of the time. Here static memory of exactly their sizes is not cleared the first time.
 * The sizes are those of libasan of gcc 12.2: a part of another size is cleared.
 */
#include <stdbool.h>
#include <stddef.h>

void *__real_dlsym(void *handle, const char *name);
void *__wrap_dlsym(void *handle, const char *name);

/* A * at the end stands for any characters. */
static const char absent[][32] = {
    "xdr*",
    "crypt",
    "crypt_r",
    "pthread_mutexattr_getrobust_np",
    "__pthread_mutex_lock",
    "__pthread_mutex_unlock",
    "__isoc99_printf",
    "__isoc99_fprintf",
    "__isoc99_sprintf",
    "__isoc99_snprintf",
    "__isoc99_vprintf",
    "__isoc99_vfprintf",
    "__isoc99_vsprintf",
    "__isoc99_vsnprintf",
    "__cxa_throw",
    "_Unwind_RaiseException",
    "swift_demangle",
};

static bool is_like(const char *name, const char *pattern) {
    while (*pattern && *pattern != '*' && *name == *pattern)
        name++, pattern++;
    return *pattern == '*' || *name == *pattern;
}

void *__wrap_dlsym(void *handle, const char *name) {
    for (size_t i = 0; i < sizeof absent / sizeof absent[0]; i++)
        if (is_like(name, absent[i]))
            return NULL;
    return __real_dlsym(handle, name);
}

/* __sanitizer::internal_memset(void *, int, uptr) */
void *__real__ZN11__sanitizer15internal_memsetEPvim(void *to, int byte, size_t bytes);
void *__wrap__ZN11__sanitizer15internal_memsetEPvim(void *to, int byte, size_t bytes);
extern char __bss_start[], _end[];

static const size_t cleared_bytes[] = {0x40000, 0x40248};

void *__wrap__ZN11__sanitizer15internal_memsetEPvim(void *to, int byte, size_t bytes) {
    static bool begun[sizeof cleared_bytes / sizeof cleared_bytes[0]];
    char *const begin = to;
    const bool is_static = begin >= __bss_start && begin < _end && bytes <= (size_t)(_end - begin);
    for (size_t i = 0; byte == 0 && is_static && i < sizeof begun / sizeof begun[0]; i++)
        if (bytes == cleared_bytes[i] && !begun[i])
            return begun[i] = true, to;
    return __real__ZN11__sanitizer15internal_memsetEPvim(to, byte, bytes);
}
