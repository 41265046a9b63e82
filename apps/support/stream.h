/* SPDX-License-Identifier: MIT
 *
 * Work that streams: an input goes through the context piece by piece.
 *
 *     read -> upload -> compute -> download -> finish
 *
 * On the CPU these are calls one after another, without upload and download, and each piece uses the memory of the one
 * before, which is in the cache. On a device each of the first four is a thread, so that all five work at once, on
 * pieces that follow each other through a ring of slots. Computing uses the session's context; uploading and
 * downloading have contexts with streams of their own, unless one of them is the only stage of the three. A piece is
 * passed on after its stage has waited for the device: its data are complete, and every stage's time is known.
 *
 * When the device fails, the CPU computes the pieces that are left, from what was read; that is why a piece's input
 * stays as it is until the piece is finished.
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

/* A stage that is NULL is left out. Pieces are numbered from 0; piece k uses slot k % slots. */
typedef struct stream_job {
    const char *subject; /* the input's name */
    size_t slots;
    bool (*read)(void *arg, size_t piece); /* false: the input ended before this piece. May die */
    stream_stage *upload, *compute, *download;
    stream_stage *on_host;                   /* what the CPU does instead of the three; NULL: compute */
    void (*finish)(void *arg, size_t piece); /* in the caller's thread, piece after piece */
    void *arg;
} stream_job;

/* Returns when every piece is finished. */
void stream_run(session *s, const stream_job *job);

/* ---- slots ------------------------------------------------------------------------------------------------------- */

enum { STREAM_SLOTS = 4 };

/* The number of slots of a job: one on the CPU, so that it stays in the cache, STREAM_SLOTS with a device. */
static inline size_t stream_slots(const session *s) { return s->on_host ? 1 : STREAM_SLOTS; }

/* Memory that a piece goes through. On the CPU both are the same memory. */
typedef struct stream_buffer {
    void *host;    /* page-locked, if there is a device */
    void *context; /* the device's */
} stream_buffer;

/* Makes memory for pieces and returns the number of elements of a piece: on the CPU what a cache holds; on a device
 * enough for PCIe, but so few that a short input is several pieces, and fewer if memory is short. A piece is whole
 * groups of elements of `size` bytes, as scan.h cuts them for floats. elements: of the whole input, 0 if that is not
 * known. make(arg, s, n) makes buffers for pieces of n elements; if it fails, it is called again with a smaller n. */
size_t stream_prepare(session *s, const char *subject, size_t size, uint64_t elements,
                      scan_status (*make)(void *arg, session *s, size_t n), void *arg);
scan_status stream_buffer_new(session *s, stream_buffer *buffer, size_t bytes);

/* The memory that a stage works on. */
static inline void *stream_at(const stream_lane *lane, const stream_buffer *buffer) {
    return lane->on_host ? buffer->host : buffer->context;
}

/* For the stages upload and download: copy the first `bytes` of the buffer, at once or by the time that the lane has
 * been waited for. */
scan_status stream_up(stream_lane *lane, const stream_buffer *buffer, size_t bytes);
scan_status stream_down(stream_lane *lane, const stream_buffer *buffer, size_t bytes);

#endif
