/* SPDX-License-Identifier: MIT
 *
 * Short writes, EINTR, EAGAIN, and the end of O_DIRECT.
 */
#include "write_all.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "die.h"

enum { WRITE_MAX = 1 << 30 };

static void wait_writable(int fd) {
    struct pollfd p = {.fd = fd, .events = POLLOUT};
    poll(&p, 1, -1);
}

bool write_cached(int fd) {
    int flags = fcntl(fd, F_GETFL);
    return flags >= 0 && (flags & O_DIRECT) && fcntl(fd, F_SETFL, flags & ~O_DIRECT) == 0;
}

void write_all(const char *name, int fd, const void *data, size_t bytes) {
    for (size_t done = 0; done < bytes;) {
        size_t want = bytes - done < WRITE_MAX ? bytes - done : WRITE_MAX;
        ssize_t n = write(fd, (const char *)data + done, want);
        if (n >= 0)
            done += (size_t)n;
        else if (errno == EAGAIN)
            wait_writable(fd);
        else if (errno == EINVAL && write_cached(fd)) /* not whole blocks of this disk */
            continue;
        else if (errno != EINTR)
            die(EXIT_IO, "%s: cannot write: %s", name, strerror(errno));
    }
}

void write_all_at(const char *name, int fd, const void *data, size_t bytes, uint64_t offset) {
    for (size_t done = 0; done < bytes;) {
        ssize_t n = pwrite(fd, (const char *)data + done, bytes - done, (off_t)(offset + done));
        if (n >= 0)
            done += (size_t)n;
        else if (errno != EINTR)
            die(EXIT_IO, "%s: cannot write: %s", name, strerror(errno));
    }
}
