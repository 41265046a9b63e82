/* SPDX-License-Identifier: MIT
 *
 * Loaded before the C library (LD_PRELOAD) by test_faults.py: makes one call fail.
 *
 *     FAULT_CALL   malloc (and calloc, realloc, aligned_alloc), open, read, write, fsync, link, rename, thread
 *     FAULT_AT     the number of the call that fails, from 1 on; 0: none
 *     FAULT_KIND   a number: that errno; "short": half of what was asked for, for read and write
 *     FAULT_EVER   if set, all later calls fail too
 *     FAULT_COUNT  a file that gets one byte appended for every call counted, to learn how many there are
 *
 * Only calls by the program itself are counted, from main() on: not the C library's own, and not those of the CUDA
 * runtime before main(), whose failures the program cannot handle.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

static atomic_long calls;
static const char *which, *kind;
static long at;
static int ever, count_fd = -1;

__attribute__((constructor)) static void begin(void) {
    which = getenv("FAULT_CALL");
    kind = getenv("FAULT_KIND");
    ever = getenv("FAULT_EVER") != NULL;
    at = getenv("FAULT_AT") ? atol(getenv("FAULT_AT")) : 0;
    const char *count = getenv("FAULT_COUNT");
    if (count)
        count_fd = (int)syscall(SYS_openat, AT_FDCWD, count, O_WRONLY | O_CREAT | O_APPEND, 0600);
    calls = 0;
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

static int fails(const char *call) {
    if (!program_runs || !which || strcmp(which, call) != 0)
        return 0;
    long n = ++calls;
    if (count_fd >= 0)
        syscall(SYS_write, count_fd, "x", 1);
    return at && (n == at || (ever && n > at));
}

static int is_short(void) { return kind && strcmp(kind, "short") == 0; }

static int fail(void) {
    errno = kind ? atoi(kind) : EIO;
    return -1;
}

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t),
    *__libc_memalign(size_t, size_t);

static void *no_memory(void) {
    errno = ENOMEM;
    return NULL;
}

void *malloc(size_t n) { return fails("malloc") ? no_memory() : __libc_malloc(n); }
void *calloc(size_t n, size_t m) { return fails("malloc") ? no_memory() : __libc_calloc(n, m); }
void *realloc(void *p, size_t n) { return fails("malloc") ? no_memory() : __libc_realloc(p, n); }
void *aligned_alloc(size_t a, size_t n) { return fails("malloc") ? no_memory() : __libc_memalign(a, n); }
int posix_memalign(void **p, size_t a, size_t n) {
    *p = fails("malloc") ? NULL : __libc_memalign(a, n);
    return *p ? 0 : ENOMEM;
}

#define OPEN_MODE(last)                                                                                                \
    va_list list;                                                                                                      \
    va_start(list, last);                                                                                              \
    int mode = va_arg(list, int);                                                                                      \
    va_end(list)

int openat(int directory, const char *path, int flags, ...) {
    OPEN_MODE(flags);
    return fails("open") ? fail() : (int)syscall(SYS_openat, directory, path, flags, mode);
}
int openat64(int directory, const char *path, int flags, ...) {
    OPEN_MODE(flags);
    return fails("open") ? fail() : (int)syscall(SYS_openat, directory, path, flags, mode);
}
int open(const char *path, int flags, ...) {
    OPEN_MODE(flags);
    return fails("open") ? fail() : (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}
int open64(const char *path, int flags, ...) {
    OPEN_MODE(flags);
    return fails("open") ? fail() : (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

static size_t part(size_t n) { return is_short() && n > 1 ? n / 2 : n; }

ssize_t read(int fd, void *to, size_t n) {
    int now = fails("read");
    return now && !is_short() ? fail() : (ssize_t)syscall(SYS_read, fd, to, now ? part(n) : n);
}
ssize_t pread64(int fd, void *to, size_t n, off_t offset) {
    int now = fails("read");
    return now && !is_short() ? fail() : (ssize_t)syscall(SYS_pread64, fd, to, now ? part(n) : n, offset);
}
ssize_t write(int fd, const void *from, size_t n) {
    if (fd == 2) /* messages are not counted */
        return (ssize_t)syscall(SYS_write, fd, from, n);
    int now = fails("write");
    return now && !is_short() ? fail() : (ssize_t)syscall(SYS_write, fd, from, now ? part(n) : n);
}
ssize_t pwrite64(int fd, const void *from, size_t n, off_t offset) {
    int now = fails("write");
    return now && !is_short() ? fail() : (ssize_t)syscall(SYS_pwrite64, fd, from, now ? part(n) : n, offset);
}
int fsync(int fd) { return fails("fsync") ? fail() : (int)syscall(SYS_fsync, fd); }
int linkat(int a, const char *from, int b, const char *to, int flags) {
    return fails("link") ? fail() : (int)syscall(SYS_linkat, a, from, b, to, flags);
}
int renameat(int a, const char *from, int b, const char *to) {
    return fails("rename") ? fail() : (int)syscall(SYS_renameat2, a, from, b, to, 0);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *argument) {
    if (fails("thread"))
        return EAGAIN;
    int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) =
        (int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))dlsym(RTLD_NEXT, "pthread_create");
    return real(thread, attributes, start, argument);
}
