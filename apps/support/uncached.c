/* SPDX-License-Identifier: MIT
 *
 * Two buffers: the caller fills one while a thread writes the other, and after it what the caller has lent.
 */
#include "uncached.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "background.h"
#include "report_phase.h"
#include "write_all.h"

/* A virtual disk wrote 2 GB/s in pieces of 4 MiB and in larger ones, and half of that in pieces of 256 KiB. */
enum { BUFFER_BYTES = 4 << 20, LENT_MIN_BYTES = 64 << 10 };

typedef struct span {
    const unsigned char *begin;
    size_t bytes;
} span;

struct uncached {
    const char *name;
    int fd;
    unsigned char *memory; /* of both buffers; NULL until it is needed */
    unsigned char *buffer, *other;
    size_t used;
    span full, lent; /* what is written: of the other buffer, and memory of the caller's that comes after it */
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

static void make_memory(uncached *u) {
    if (u->memory)
        return;
    u->buffer = u->memory = must_alloc_blocks(2 * BUFFER_BYTES);
    u->other = u->memory + BUFFER_BYTES;
}

/* In pieces, between which others can read. */
static void write_span(const uncached *u, span s) {
    for (size_t done = 0; done < s.bytes; done += BUFFER_BYTES)
        write_all(u->name, u->fd, s.begin + done, s.bytes - done < BUFFER_BYTES ? s.bytes - done : BUFFER_BYTES);
}

static void write_both(void *arg) {
    const uncached *u = arg;
    report_phase before = report_enter(PHASE_WRITE);
    write_span(u, u->full);
    write_span(u, u->lent);
    report_enter(before);
}

/* What is in the buffer, whole blocks, and then `lent`. */
static void start_writing(uncached *u, span lent) {
    background_wait(u->writing);
    unsigned char *full = u->buffer;
    u->buffer = u->other;
    u->other = full;
    u->full = (span){full, u->used};
    u->lent = lent;
    u->used = 0;
    background_start(u->writing, write_both, u);
}

void uncached_write(uncached *u, const void *data, size_t bytes) {
    make_memory(u);
    for (const unsigned char *from = data; bytes > 0;) {
        const size_t n = bytes < BUFFER_BYTES - u->used ? bytes : BUFFER_BYTES - u->used;
        memcpy(u->buffer + u->used, from, n);
        u->used += n;
        from += n;
        bytes -= n;
        if (u->used == BUFFER_BYTES)
            start_writing(u, (span){NULL, 0});
    }
}

/* Blocks of the file that are blocks of the memory, too, are not copied. */
void uncached_lend(uncached *u, const void *data, size_t bytes) {
    const unsigned char *from = data;
    make_memory(u);
    background_wait(u->writing);
    const size_t over = u->used % ALLOC_BLOCK_BYTES, before = over ? ALLOC_BLOCK_BYTES - over : 0;
    if (bytes < LENT_MIN_BYTES || (uintptr_t)(from + before) % ALLOC_BLOCK_BYTES != 0) {
        uncached_write(u, data, bytes);
        return;
    }
    const size_t lent = (bytes - before) / ALLOC_BLOCK_BYTES * ALLOC_BLOCK_BYTES;
    uncached_write(u, from, before);
    start_writing(u, (span){from + before, lent});
    uncached_write(u, from + before + lent, bytes - before - lent);
}

void uncached_end(uncached *u) {
    background_close(u->writing);
    write_cached(u->fd);
    if (u->used)
        write_all(u->name, u->fd, u->buffer, u->used);
    free(u->memory);
    free(u);
}
