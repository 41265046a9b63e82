/* SPDX-License-Identifier: MIT
 *
 * Input by read(): loops over short reads, EINTR and EAGAIN, a look-ahead for telling formats apart, and reading all of
 * a file or pipe whose size is a hint at best.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "alloc.h"
#include "die.h"
#include "input.h"
#include "report_phase.h"

enum { TAIL_BYTES = 64, READ_MAX = 1 << 30, PIPE_BYTES = 1 << 20 };

/* Files in /sys have a nominal size, a page, whatever is in them. */
static bool has_true_size(int fd, const struct stat *st) {
    struct statfs system;
    return S_ISREG(st->st_mode) && st->st_size > 0 && !(fstatfs(fd, &system) == 0 && system.f_type == SYSFS_MAGIC);
}

int input_extent_of(int fd, input_extent *extent) {
    struct stat st;
    *extent = (input_extent){.sized = false};
    if (fstat(fd, &st) != 0)
        return errno;
    if (S_ISDIR(st.st_mode))
        return EISDIR;
    off_t at = has_true_size(fd, &st) ? lseek(fd, 0, SEEK_CUR) : -1;
    if (at >= 0)
        *extent = (input_extent){
            .sized = true, .start = (uint64_t)at, .size = st.st_size > at ? (uint64_t)(st.st_size - at) : 0};
    if (at >= 0)
        posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    else if (S_ISFIFO(st.st_mode))
        fcntl(fd, F_SETPIPE_SZ, PIPE_BYTES); /* fewer switches between writer and reader; may be refused */
    return 0;
}

void input_open(input *in, const char *path) {
    *in = (input){.fd = STDIN_FILENO, .name = "stdin"};
    if (path && strcmp(path, "-") != 0) {
        in->name = path;
        in->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
        if (in->fd < 0)
            die(EXIT_IO, "%s: cannot open: %s", path, strerror(errno));
    }
    int error_number = input_extent_of(in->fd, &in->extent);
    if (error_number)
        die(EXIT_IO, "%s: cannot read: %s", in->name, strerror(error_number));
}

/* Returns true if a read that failed is to be tried again. */
static bool retry(int fd) {
    if (errno == EAGAIN) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        poll(&p, 1, -1);
        return true;
    }
    return errno == EINTR;
}

ssize_t input_fill(int fd, void *to, size_t bytes) {
    size_t have = 0;
    while (have < bytes) {
        size_t want = bytes - have < READ_MAX ? bytes - have : READ_MAX;
        ssize_t got = read(fd, (char *)to + have, want);
        if (got == 0)
            break;
        if (got > 0)
            have += (size_t)got;
        else if (!retry(fd))
            return -1;
    }
    return (ssize_t)have;
}

__attribute__((noreturn)) static void die_shorter(const input *in, uint64_t bytes) {
    die(EXIT_IO, "%s: " INPUT_SHORTER, in->name, (unsigned long long)bytes, (unsigned long long)in->extent.size);
}

static size_t read_full(input *in, void *to, size_t bytes) {
    if (in->extent.sized && bytes > in->extent.size - in->fetched)
        bytes = (size_t)(in->extent.size - in->fetched);
    ssize_t have = input_fill(in->fd, to, bytes);
    if (have < 0)
        die(EXIT_IO, "%s: cannot read: %s", in->name, strerror(errno));
    in->fetched += (uint64_t)have;
    if (in->extent.sized && (size_t)have < bytes)
        die_shorter(in, in->fetched);
    return (size_t)have;
}

size_t input_peek(input *in, const unsigned char **data, size_t bytes) {
    report_phase before = report_enter(PHASE_READ);
    if (bytes > INPUT_PEEK_MAX)
        bytes = INPUT_PEEK_MAX;
    if (!in->peek)
        in->peek = must_alloc(INPUT_PEEK_MAX, 1);
    if (in->peek_bytes < bytes)
        in->peek_bytes += read_full(in, in->peek + in->peek_bytes, bytes - in->peek_bytes);
    *data = in->peek;
    report_enter(before);
    return in->peek_bytes < bytes ? in->peek_bytes : bytes;
}

static size_t take_peeked(input *in, void *to, size_t bytes) {
    size_t n = bytes < in->peek_bytes ? bytes : in->peek_bytes;
    if (n) {
        memcpy(to, in->peek, n);
        memmove(in->peek, in->peek + n, in->peek_bytes - n);
        in->peek_bytes -= n;
    }
    return n;
}

static size_t read_and_count(input *in, void *to, size_t bytes) {
    size_t have = take_peeked(in, to, bytes);
    have += read_full(in, (char *)to + have, bytes - have);
    in->taken += have;
    report_bytes(have, 0);
    return have;
}

size_t input_read(input *in, void *to, size_t bytes) {
    report_phase before = report_enter(PHASE_READ);
    size_t have = read_and_count(in, to, bytes);
    report_enter(before);
    return have;
}

/* The buffer of a pipe doubles; realloc moves large blocks by remapping their pages, not by copying. */
unsigned char *input_read_all(input *in, size_t *bytes) {
    report_phase before = report_enter(PHASE_READ);
    bool sized = in->extent.sized;
    size_t capacity = sized ? (size_t)(in->extent.size - in->taken) : PIPE_BYTES, have = 0;
    unsigned char *data = must_alloc(capacity + TAIL_BYTES, 1);
    for (;;) {
        have += read_and_count(in, data + have, capacity - have);
        if (sized || have < capacity)
            break;
        capacity = capacity > SIZE_MAX / 4 ? SIZE_MAX - TAIL_BYTES : capacity * 2;
        data = must_realloc(data, capacity + TAIL_BYTES, 1);
    }
    memset(data + have, 0, TAIL_BYTES);
    *bytes = have;
    report_enter(before);
    return data;
}

size_t input_mark_bytes(const input *in, const unsigned char *text, size_t bytes) {
    if (bytes >= 2 && (memcmp(text, "\xff\xfe", 2) == 0 || memcmp(text, "\xfe\xff", 2) == 0))
        die(EXIT_USAGE, "%s: line 1: this is UTF-16: convert it to UTF-8 (iconv -f UTF-16 -t UTF-8)", in->name);
    return bytes >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
}

void input_read_at(const input *in, void *to, size_t bytes, uint64_t offset) {
    report_phase before = report_enter(PHASE_READ);
    size_t have = 0;
    while (have < bytes) {
        size_t want = bytes - have < READ_MAX ? bytes - have : READ_MAX;
        ssize_t got = pread(in->fd, (char *)to + have, want, (off_t)(in->extent.start + offset + have));
        if (got == 0)
            die_shorter(in, offset + have);
        if (got > 0)
            have += (size_t)got;
        else if (errno != EINTR)
            die(EXIT_IO, "%s: cannot read: %s", in->name, strerror(errno));
    }
    report_bytes(bytes, 0);
    report_enter(before);
}

void input_close(input *in) {
    if (in->fd > STDIN_FILENO)
        close(in->fd);
    free(in->peek);
    *in = (input){.fd = -1, .name = in->name};
}
