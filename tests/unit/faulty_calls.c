/* SPDX-License-Identifier: MIT */
#include "faulty_calls.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/types.h>

/* Shared with child processes. */
static struct {
    faulty_call calls[FAULTY_MAX];
    int made[FAULTY_MAX];
} * faults;

static bool begun;

void faulty_calls_begin(void) { begun = true; }

void faulty_calls_set(const faulty_call *calls) {
    if (!faults)
        faults = mmap(NULL, sizeof *faults, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    memset(faults, 0, sizeof *faults);
    for (int i = 0; i < FAULTY_MAX && calls[i].name; i++)
        faults->calls[i] = calls[i];
}

const char *faulty_calls_missing(void) {
    for (int i = 0; i < FAULTY_MAX; i++)
        if (faults->calls[i].name && faults->made[i] < (faults->calls[i].at == ALWAYS ? 1 : faults->calls[i].at))
            return faults->calls[i].name;
    return NULL;
}

/* Whether this call fails, with errno. */
static bool fails(const char *name) {
    int before = errno, error = 0;
    for (int i = 0; begun && i < FAULTY_MAX && faults->calls[i].name; i++) {
        const faulty_call *call = &faults->calls[i];
        if (strcmp(call->name, name) != 0)
            continue;
        int made = ++faults->made[i];
        if (call->at != ALWAYS && made != call->at)
            continue;
        if (call->act)
            call->act();
        if (call->error)
            error = call->error;
    }
    errno = error ? error : before;
    return error != 0;
}

/* CALL(result, name, parameters, arguments) */
#define CALL(type, name, symbol, parameters, arguments)                                                                \
    type __real_##symbol parameters;                                                                                   \
    type __wrap_##symbol parameters;                                                                                   \
    type __wrap_##symbol parameters { return fails(name) ? (type)-1 : __real_##symbol arguments; }

struct statx;
CALL(int, "access", access, (const char *path, int mode), (path, mode))
CALL(int, "close", close, (int fd), (fd))
CALL(int, "dup", dup, (int fd), (fd))
CALL(int, "fchmod", fchmod, (int fd, mode_t mode), (fd, mode))
CALL(int, "fchown", fchown, (int fd, uid_t user, gid_t group), (fd, user, group))
CALL(int, "flock", flock, (int fd, int how), (fd, how))
CALL(int, "fsync", fsync, (int fd), (fd))
CALL(int, "fstat", fstat64, (int fd, struct stat *st), (fd, st))
CALL(int, "fstatat", fstatat64, (int folder, const char *name, struct stat *st, int flags), (folder, name, st, flags))
CALL(int, "isatty", isatty, (int fd), (fd))
CALL(int, "linkat", linkat, (int a, const char *from, int b, const char *to, int flags), (a, from, b, to, flags))
CALL(int, "mkostemp", mkostemp64, (char *path, int flags), (path, flags))
CALL(int, "poll", poll, (struct pollfd * p, nfds_t n, int timeout), (p, n, timeout))
CALL(int, "renameat", renameat, (int a, const char *from, int b, const char *to), (a, from, b, to))
CALL(int, "renameat2", renameat2, (int a, const char *from, int b, const char *to, unsigned flags),
     (a, from, b, to, flags))
CALL(int, "stat", stat64, (const char *path, struct stat *st), (path, st))
CALL(int, "statvfs", statvfs64, (const char *path, struct statvfs *system), (path, system))
CALL(int, "statx", statx, (int folder, const char *name, int flags, unsigned mask, struct statx *st),
     (folder, name, flags, mask, st))
CALL(int, "unlink", unlink, (const char *path), (path))
CALL(int, "unlinkat", unlinkat, (int folder, const char *name, int flags), (folder, name, flags))
CALL(int, "fremovexattr", fremovexattr, (int fd, const char *name), (fd, name))
CALL(int, "fsetxattr", fsetxattr, (int fd, const char *name, const void *value, size_t n, int flags),
     (fd, name, value, n, flags))
CALL(long, "fpathconf", fpathconf, (int fd, int name), (fd, name))
CALL(ssize_t, "fgetxattr", fgetxattr, (int fd, const char *name, void *value, size_t n), (fd, name, value, n))
CALL(ssize_t, "flistxattr", flistxattr, (int fd, char *names, size_t n), (fd, names, n))
CALL(ssize_t, "getrandom", getrandom, (void *to, size_t n, unsigned flags), (to, n, flags))
CALL(ssize_t, "pread", pread64, (int fd, void *to, size_t n, off_t at), (fd, to, n, at))
CALL(ssize_t, "read", read, (int fd, void *to, size_t n), (fd, to, n))
CALL(ssize_t, "readlink", readlink, (const char *path, char *to, size_t n), (path, to, n))
CALL(ssize_t, "write", write, (int fd, const void *from, size_t n), (fd, from, n))
CALL(ssize_t, "pwrite", pwrite64, (int fd, const void *from, size_t n, off_t at), (fd, from, n, at))

DIR *__real_fdopendir(int fd);
DIR *__wrap_fdopendir(int fd);
DIR *__wrap_fdopendir(int fd) { return fails("fdopendir") ? NULL : __real_fdopendir(fd); }

int __real_fcntl64(int fd, int command, long argument);
int __wrap_fcntl64(int fd, int command, ...);
int __wrap_fcntl64(int fd, int command, ...) {
    va_list rest;
    va_start(rest, command);
    long argument = command == F_SETFL ? va_arg(rest, int) : 0;
    va_end(rest);
    return fails("fcntl") ? -1 : __real_fcntl64(fd, command, argument);
}

/* The mode is passed on where there is one. */
int __real_open64(const char *path, int flags, mode_t mode);
int __wrap_open64(const char *path, int flags, ...);
int __real_openat64(int folder, const char *path, int flags, mode_t mode);
int __wrap_openat64(int folder, const char *path, int flags, ...);

static mode_t mode_of(int flags, va_list rest) {
    return flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(rest, mode_t) : 0;
}

int __wrap_open64(const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    mode_t mode = mode_of(flags, rest);
    va_end(rest);
    return fails("open") ? -1 : __real_open64(path, flags, mode);
}

int __wrap_openat64(int folder, const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    mode_t mode = mode_of(flags, rest);
    va_end(rest);
    const char *name = (flags & O_TMPFILE) == O_TMPFILE ? "unnamed"
                       : flags & O_CREAT                ? "hidden"
                       : flags & O_DIRECTORY            ? "folder"
                       : flags & O_NOATIME              ? "owned"
                                                        : "openat";
    return fails(name) ? -1 : __real_openat64(folder, path, flags, mode);
}
