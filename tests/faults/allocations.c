/* SPDX-License-Identifier: MIT
 *
 * Loaded before the C library (LD_PRELOAD) by parts.py: makes one allocation fail.
 *
 *     FAULT_AT     the number of the call of malloc, calloc, realloc and so on that fails, from 1 on; 0: none
 *     FAULT_EVER   if set, all later calls fail too
 *     FAULT_COUNT  a file that gets one byte appended for every call counted, to learn how many there are
 *
 * Only calls from main() on are counted: not those of the dynamic loader, nor those of libraries before main(), whose
 * failures the program cannot handle.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static atomic_long calls;
static long at;
static int ever, count_fd = -1;

__attribute__((constructor)) static void begin(void) {
    const char *number = getenv("FAULT_AT"), *count = getenv("FAULT_COUNT");
    ever = getenv("FAULT_EVER") != NULL;
    at = number ? atol(number) : 0;
    if (count)
        count_fd = (int)syscall(SYS_openat, AT_FDCWD, count, O_WRONLY | O_CREAT | O_APPEND, 0600);
}

/* glibc's __libc_start_main runs constructors, then main(). */
typedef int main_function(int, char **, char **);
static main_function *program;
static int program_runs;

static int counted_main(int argc, char **argv, char **environment) {
    program_runs = 1;
    return program(argc, argv, environment);
}

int __libc_start_main(main_function *main, int argc, char **argv, void (*init)(void), void (*fini)(void),
                      void (*rtld_fini)(void), void *stack_end) {
    typedef int start_function(main_function *, int, char **, void (*)(void), void (*)(void), void (*)(void), void *);
    start_function *real = (start_function *)dlsym(RTLD_NEXT, "__libc_start_main");
    program = main;
    return real(counted_main, argc, argv, init, fini, rtld_fini, stack_end);
}

static int fails(void) {
    if (!program_runs)
        return 0;
    long n = ++calls;
    if (count_fd >= 0)
        syscall(SYS_write, count_fd, "x", 1);
    if (!at || (n != at && !(ever && n > at)))
        return 0;
    errno = ENOMEM;
    return 1;
}

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t),
    *__libc_memalign(size_t, size_t);

void *malloc(size_t n) { return fails() ? NULL : __libc_malloc(n); }
void *calloc(size_t n, size_t m) { return fails() ? NULL : __libc_calloc(n, m); }
void *realloc(void *p, size_t n) { return fails() ? NULL : __libc_realloc(p, n); }
void *aligned_alloc(size_t a, size_t n) { return fails() ? NULL : __libc_memalign(a, n); }
int posix_memalign(void **p, size_t a, size_t n) {
    *p = fails() ? NULL : __libc_memalign(a, n);
    return *p ? 0 : ENOMEM;
}
