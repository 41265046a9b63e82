/* SPDX-License-Identifier: MIT
 *
 * Loaded before the C library (LD_PRELOAD) by output_loops.py and the tests of outputs: makes file systems look less
 * able than they are, and interrupts a program at a chosen step.
 *
 *     FILESYSTEM   words: no_tmpfile, no_proc, no_flock, flock_writable (locks are for writable descriptors),
 * no_renameat2, no_acl (setting one is refused), no_group (changing it is refused), no_chmod, stale (the first look at
 * a name in a folder fails with ESTALE), hang (opening a folder takes half a minute), slow_readlink, slow_create,
 * slow_open, slow_look (0.3 s before following a link, and after making a file, before opening a path for writing,
 * after looking at a path) STOP_AT      the number of the step, from 1 on, before which STOP_SIGNAL is raised. A step
 * is a call that changes what is on the disk STOP_COUNT   a file that gets one byte appended for every step
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static atomic_long steps;
static atomic_int looks;

static int has(const char *word) {
    const char *all = getenv("FILESYSTEM"), *at = all ? strstr(all, word) : NULL;
    return at && (at == all || at[-1] == ' ') && (at[strlen(word)] == ' ' || !at[strlen(word)]);
}

static void wait_for(long ms) {
    struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    while (nanosleep(&t, &t) != 0)
        ;
}

static int refuse(int error) {
    errno = error;
    return -1;
}

static void step(void) {
    const char *at = getenv("STOP_AT"), *number = getenv("STOP_SIGNAL"), *count = getenv("STOP_COUNT");
    if (++steps == (at ? atol(at) : 0))
        raise(number ? atoi(number) : SIGKILL);
    if (count) {
        int fd = (int)syscall(SYS_openat, AT_FDCWD, count, O_WRONLY | O_CREAT | O_APPEND, 0600);
        syscall(SYS_write, fd, "x", 1);
        close(fd);
    }
}

static int in_proc(const char *path) { return strncmp(path, "/proc", 5) == 0 && has("no_proc"); }

static int open_at(int folder, const char *path, int flags, int mode) {
    if (in_proc(path))
        return refuse(ENOENT);
    if ((flags & O_TMPFILE) == O_TMPFILE && has("no_tmpfile"))
        return refuse(EOPNOTSUPP);
    if (flags & O_DIRECTORY && has("hang"))
        wait_for(30000);
    if (flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE)
        step();
    else if ((flags & O_ACCMODE) == O_WRONLY && has("slow_open"))
        wait_for(300);
    int fd = (int)syscall(SYS_openat, folder, path, flags, mode);
    if (flags & O_CREAT && has("slow_create"))
        wait_for(300);
    return fd;
}

#define OPEN(NAME, PARAMETERS, FOLDER)                                                                                 \
    int NAME(PARAMETERS const char *path, int flags, ...) {                                                            \
        va_list list;                                                                                                  \
        va_start(list, flags);                                                                                         \
        int mode = va_arg(list, int);                                                                                  \
        va_end(list);                                                                                                  \
        return open_at(FOLDER, path, flags, mode);                                                                     \
    }
#define FOLDER_PARAMETER int folder,
OPEN(open, , AT_FDCWD)
OPEN(open64, , AT_FDCWD)
OPEN(__open_2, , AT_FDCWD)
OPEN(__open64_2, , AT_FDCWD)
OPEN(openat, FOLDER_PARAMETER, folder)
OPEN(openat64, FOLDER_PARAMETER, folder)
OPEN(__openat_2, FOLDER_PARAMETER, folder)
OPEN(__openat64_2, FOLDER_PARAMETER, folder)

int access(const char *path, int mode) {
    return in_proc(path) ? refuse(ENOENT) : (int)syscall(SYS_faccessat, AT_FDCWD, path, mode);
}

static ssize_t read_link(const char *path, char *to, size_t n) {
    if (has("slow_readlink"))
        wait_for(300);
    return in_proc(path) ? refuse(ENOENT) : (ssize_t)syscall(SYS_readlinkat, AT_FDCWD, path, to, n);
}
ssize_t readlink(const char *path, char *to, size_t n) { return read_link(path, to, n); }
ssize_t __readlink_chk(const char *path, char *to, size_t n, size_t room) {
    return read_link(path, to, n < room ? n : room);
}

static int look(int folder, const char *path, struct stat *st, int flags) {
    if (in_proc(path))
        return refuse(ENOENT);
    if (folder != AT_FDCWD && has("stale") && looks++ == 0)
        return refuse(ESTALE);
    int result = (int)syscall(SYS_newfstatat, folder, path, st, flags);
    if (folder == AT_FDCWD && has("slow_look"))
        wait_for(300);
    return result;
}
int stat(const char *path, struct stat *st) { return look(AT_FDCWD, path, st, 0); }
int stat64(const char *path, struct stat64 *st) { return look(AT_FDCWD, path, (struct stat *)st, 0); }
int fstatat(int folder, const char *path, struct stat *st, int flags) { return look(folder, path, st, flags); }
int fstatat64(int folder, const char *path, struct stat64 *st, int flags) {
    return look(folder, path, (struct stat *)st, flags);
}

int flock(int fd, int operation) {
    int flags = (int)syscall(SYS_fcntl, fd, F_GETFL);
    if (has("no_flock"))
        return refuse(ENOLCK);
    if (has("flock_writable") && (flags & O_ACCMODE) == O_RDONLY)
        return refuse(EBADF);
    step();
    return (int)syscall(SYS_flock, fd, operation);
}

int fchmod(int fd, mode_t mode) {
    step();
    return has("no_chmod") ? refuse(EPERM) : (int)syscall(SYS_fchmod, fd, mode);
}
int fchown(int fd, uid_t user, gid_t group) {
    step();
    return group != (gid_t)-1 && has("no_group") ? refuse(EPERM) : (int)syscall(SYS_fchown, fd, user, group);
}
int fsetxattr(int fd, const char *name, const void *value, size_t n, int flags) {
    step();
    return strncmp(name, "system.", 7) == 0 && has("no_acl") ? refuse(EPERM)
                                                             : (int)syscall(SYS_fsetxattr, fd, name, value, n, flags);
}
int fremovexattr(int fd, const char *name) {
    step();
    return (int)syscall(SYS_fremovexattr, fd, name);
}

int linkat(int a, const char *from, int b, const char *to, int flags) {
    step();
    return in_proc(from) ? refuse(ENOENT) : (int)syscall(SYS_linkat, a, from, b, to, flags);
}
int renameat(int a, const char *from, int b, const char *to) {
    step();
    return (int)syscall(SYS_renameat2, a, from, b, to, 0);
}
int renameat2(int a, const char *from, int b, const char *to, unsigned flags) {
    if (has("no_renameat2"))
        return refuse(EINVAL);
    step();
    return (int)syscall(SYS_renameat2, a, from, b, to, flags);
}
int unlinkat(int folder, const char *name, int flags) {
    step();
    return (int)syscall(SYS_unlinkat, folder, name, flags);
}
int fsync(int fd) {
    step();
    return (int)syscall(SYS_fsync, fd);
}
