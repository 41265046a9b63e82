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
#include "report_phase.h"
#include "write_all.h"

/* A virtual disk wrote 2 GB/s in pieces of 4 MiB and in larger ones, and half of that in pieces of 256 KiB. */
enum { BUFFER_BYTES = 4 << 20 };

struct uncached {
    const char *name;
    int fd;
    unsigned char *memory; /* of both buffers; NULL until it is needed */
    unsigned char *buffer, *other;
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

static void write_full(uncached *u) {
    background_wait(u->writing);
    unsigned char *full = u->buffer;
    u->buffer = u->other;
    u->other = full;
    background_start(u->writing, write_other, u);
    u->used = 0;
}

void uncached_write(uncached *u, const void *data, size_t bytes) {
    if (!u->memory) {
        u->buffer = u->memory = must_alloc_blocks(2 * BUFFER_BYTES);
        u->other = u->memory + BUFFER_BYTES;
    }
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
    free(u->memory);
    free(u);
}
