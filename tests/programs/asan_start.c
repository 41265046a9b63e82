/* SPDX-License-Identifier: MIT
 *
 * Linked into programs with AddressSanitizer, of which tests start thousands, with -Wl,--wrap=dlsym. When such a
 * program starts, libasan looks up each function that it could intercept. For each that no library has, the C library
 * allocates what dlerror() would say, and the allocator that libasan has until it is ready takes 64 KiB for each size:
 * a third of the pages that a start touches, a fifth of its time. Here the functions that the C library does not offer
 * to new programs are not looked up, nor those of C++ that throw, as no program does: libasan, and the program, do
 * without them all the same.
 *
 * It runs before any function is intercepted: compiled without sanitizers, it calls nothing else.
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
