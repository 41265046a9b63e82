/* SPDX-License-Identifier: MIT
 *
 * Two buffers: the caller fills one while a thread writes the other.
 */
#include "uncached.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "background.h"
#include "die.h"
#include "report_phase.h"
#include "write_all.h"

/* Whole blocks are written, of a size that is a multiple of most disks' own. A virtual disk wrote 2 GB/s in pieces of
 * 4 MiB and in larger ones, and half of that in pieces of 256 KiB. */
enum { BLOCK_BYTES = 4 << 10, BUFFER_BYTES = 4 << 20 };

struct uncached {
    const char *name;
    int fd;
    unsigned char *buffer, *other; /* NULL until they are needed, and other if there is no memory for it */
    size_t used;
    background *writing;
};

uncached *uncached_open(const char *name, int fd) {
    const int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_DIRECT) != 0)
        return NULL;
    uncached *u = must_alloc(1, sizeof *u);
    *u = (uncached){.name = name, .fd = fd, .writing = background_open()};
    return u;
}

static void write_other(void *arg) {
    const uncached *u = arg;
    report_phase before = report_enter(PHASE_WRITE);
    write_all(u->name, u->fd, u->other, BUFFER_BYTES);
    report_enter(before);
}

static unsigned char *make_buffer(void) { return aligned_alloc(BLOCK_BYTES, BUFFER_BYTES); }

static void write_full(uncached *u) {
    if (!u->other)
        u->other = make_buffer();
    if (u->other) {
        background_wait(u->writing);
        unsigned char *full = u->buffer;
        u->buffer = u->other;
        u->other = full;
        background_start(u->writing, write_other, u);
    } else {
        write_all(u->name, u->fd, u->buffer, BUFFER_BYTES);
    }
    u->used = 0;
}

void uncached_write(uncached *u, const void *data, size_t bytes) {
    if (!u->buffer && !(u->buffer = make_buffer()))
        die(EXIT_IO, "no memory for %d bytes", BUFFER_BYTES);
    for (const unsigned char *from = data; bytes > 0;) {
        const size_t n = bytes < BUFFER_BYTES - u->used ? bytes : BUFFER_BYTES - u->used;
        memcpy(u->buffer + u->used, from, n);
        u->used += n;
        from += n;
        bytes -= n;
        if (u->used == BUFFER_BYTES)
            write_full(u);
    }
}

void uncached_end(uncached *u) {
    background_close(u->writing);
    write_cached(u->fd);
    if (u->used)
        write_all(u->name, u->fd, u->buffer, u->used);
    free(u->buffer);
    free(u->other);
    free(u);
}
