/* SPDX-License-Identifier: MIT
 *
 * Work that streams: an input goes through the context piece by piece.
 *
 *     read -> upload -> compute -> download -> finish
 *
 * On the CPU these are calls one after another, without upload and download, and the next piece finds the last one's
 * memory in the cache. On a device each of the first four is a thread, so that all five work at once, on pieces that
 * follow each other through a ring of slots. Of the middle three, one that is the only one uses the session's context;
 * beside computing, the others have contexts with streams of their own. A piece goes on when its stage has waited for
 * the device: nothing is handed over that is not there, and every stage's time is known.
 *
 * When the device fails, the pieces that did not come through are computed by the CPU, from what was read; that is why
 * a piece's input stays as it is until it is finished.
 */
#ifndef APPS_SUPPORT_STREAM_H
#define APPS_SUPPORT_STREAM_H

#include "session.h"

/* Where a stage works. */
typedef struct stream_lane {
    scan_ctx *ctx;
    bool on_host;       /* this call works on host memory */
    uint64_t bytes;     /* stages add what they move */
    const char *detail; /* of a failure, where there is no context to ask */
} stream_lane;

typedef scan_status stream_stage(void *arg, stream_lane *lane, size_t piece);

/* A stage that is NULL is left out. Pieces are counted from 0; piece k uses slot k % slots. */
typedef struct stream_job {
    const char *subject; /* the input's name */
    size_t slots;
    bool (*read)(void *arg, size_t piece); /* false: there is no such piece. May die */
    stream_stage *upload, *compute, *download;
    stream_stage *on_host;                   /* what the CPU does for the three; NULL: compute, it alone */
    void (*finish)(void *arg, size_t piece); /* in the caller's thread, piece after piece */
    void *arg;
} stream_job;

/* Returns when every piece is finished. */
void stream_run(session *s, const stream_job *job);

/* ---- slots ------------------------------------------------------------------------------------------------------- */

enum { STREAM_SLOTS = 4 };

/* How many a job has: one on the CPU, so that it stays in the cache, STREAM_SLOTS with a device. */
static inline size_t stream_slots(const session *s) { return s->on_host ? 1 : STREAM_SLOTS; }

/* Memory that a piece goes through: on the CPU `host` alone, which is what `context` is too. */
typedef struct stream_buffer {
    void *host;    /* page-locked, if there is a device */
    void *context; /* the device's */
} stream_buffer;

/* Makes memory for pieces and answers how many elements a piece has: on the CPU what a cache holds; on a device enough
 * for PCIe, but little enough for a short input to be several pieces, and less while memory is short. It is a number of
 * whole groups of elements of `size` bytes, as scan.h cuts them for floats. elements: of the whole input, 0 if that is
 * not known. make(arg, s, n) makes buffers for pieces of n, and is called again with a smaller n after it failed. */
size_t stream_prepare(session *s, const char *subject, size_t size, uint64_t elements,
                      scan_status (*make)(void *arg, session *s, size_t n), void *arg);
scan_status stream_buffer_new(session *s, stream_buffer *buffer, size_t bytes);

/* The one that a stage works on. */
static inline void *stream_at(const stream_lane *lane, const stream_buffer *buffer) {
    return lane->on_host ? buffer->host : buffer->context;
}

/* For upload and download: the first bytes of the buffer, at once or when the lane is waited for. */
scan_status stream_up(stream_lane *lane, const stream_buffer *buffer, size_t bytes);
scan_status stream_down(stream_lane *lane, const stream_buffer *buffer, size_t bytes);

#endif
