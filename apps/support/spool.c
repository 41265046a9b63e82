/* SPDX-License-Identifier: MIT
 *
 * O_TMPFILE makes a file without a name; where a file system has none, the name is removed at once.
 */
#include "spool.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "alloc.h"
#include "die.h"

enum { PIECE_MAX = 1 << 30, MEMORY_BYTES = 256 << 10 };

static const char *asked, *beside;

void spool_in(const char *folder) { asked = folder; }
void spool_beside(const char *output) { beside = output; }

/* Beside an output that is no regular file, such as /dev/null, temporary files are not wanted. */
static const char *folder_of_output(char to[SPOOL_FOLDER_BYTES]) {
    struct stat st;
    const char *slash = beside ? strrchr(beside, '/') : NULL;
    if (!beside || (stat(beside, &st) == 0 && !S_ISREG(st.st_mode)) || strlen(beside) >= SPOOL_FOLDER_BYTES)
        return NULL;
    snprintf(to, SPOOL_FOLDER_BYTES, "%.*s",
             slash == beside ? 1
             : slash         ? (int)(slash - beside)
                             : 1,
             slash ? beside : ".");
    return to;
}

const char *spool_folder(char room[SPOOL_FOLDER_BYTES]) {
    const char *environment = getenv("TMPDIR");
    const char *folder = asked ? asked : environment && environment[0] ? environment : folder_of_output(room);
    return folder ? folder : "/tmp";
}

/* Signals wait while the file has a name. Returns -1 with errno. */
static int unlinked_file(const char *folder) {
    char path[SPOOL_FOLDER_BYTES];
    sigset_t all, before;
    if (snprintf(path, sizeof path, "%s/scan-XXXXXX", folder) >= (int)sizeof path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);
    int fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0 && unlink(path) != 0) {
        const int error = errno;
        close(fd);
        fd = -1;
        errno = error;
    }
    const int error = errno;
    sigprocmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return fd;
}

int spool_file(void) {
    char room[SPOOL_FOLDER_BYTES];
    const char *folder = spool_folder(room);
    int fd = open(folder, O_TMPFILE | O_RDWR | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        fd = unlinked_file(folder);
    if (fd < 0)
        die(EXIT_IO, "%s: cannot make a temporary file there: %s (--tmp or TMPDIR names the folder)", folder,
            strerror(errno));
    return fd;
}

__attribute__((noreturn)) static void die_of_spool(const char *what) {
    char room[SPOOL_FOLDER_BYTES];
    die(EXIT_IO, "temporary file in %s: cannot %s: %s (--tmp or TMPDIR names the folder)", spool_folder(room), what,
        strerror(errno));
}

static void write_file(int fd, const void *data, size_t bytes, uint64_t offset) {
    for (size_t done = 0; done < bytes;) {
        size_t want = bytes - done < PIECE_MAX ? bytes - done : PIECE_MAX;
        ssize_t n = pwrite(fd, (const char *)data + done, want, (off_t)(offset + done));
        if (n >= 0)
            done += (size_t)n;
        else if (errno != EINTR)
            die_of_spool("write");
    }
}

static void read_file(int fd, void *to, size_t bytes, uint64_t offset) {
    for (size_t done = 0; done < bytes;) {
        size_t want = bytes - done < PIECE_MAX ? bytes - done : PIECE_MAX;
        ssize_t n = pread(fd, (char *)to + done, want, (off_t)(offset + done));
        if (n == 0)
            errno = ENODATA; /* it is shorter than what was written */
        if (n > 0)
            done += (size_t)n;
        else if (errno != EINTR)
            die_of_spool("read");
    }
}

static void begin_file(spool *s) {
    s->fd = spool_file();
    s->has_file = true;
    write_file(s->fd, s->memory, (size_t)s->bytes, 0);
    free(s->memory);
    s->memory = NULL;
}

void spool_write(spool *s, const void *data, size_t bytes, uint64_t offset) {
    const uint64_t end = offset + bytes;
    if (bytes == 0)
        return;
    if (!s->has_file && end > MEMORY_BYTES)
        begin_file(s);
    if (s->has_file) {
        write_file(s->fd, data, bytes, offset);
    } else {
        if (!s->memory)
            s->memory = must_alloc(MEMORY_BYTES, 1);
        memcpy(s->memory + offset, data, bytes);
    }
    s->bytes = s->bytes > end ? s->bytes : end;
}

size_t spool_read(const spool *s, void *to, size_t bytes, uint64_t offset) {
    size_t there = offset >= s->bytes ? 0 : s->bytes - offset < bytes ? (size_t)(s->bytes - offset) : bytes;
    if (s->has_file)
        read_file(s->fd, to, there, offset);
    else if (there)
        memcpy(to, s->memory + offset, there);
    return there;
}

void spool_clear(spool *s) {
    if (s->has_file)
        close(s->fd);
    free(s->memory);
    *s = (spool){0};
}
