/* SPDX-License-Identifier: MIT
 *
 * Whole arrays to a device and back.
 *
 * What is large goes through two page-locked buffers: threads copy from or to one of them while the device empties or
 * fills the other. The driver copies ordinary memory in one thread, which gets a quarter of what PCIe carries; and of
 * results it gets the pages of memory that is new on the way, one after another.
 */
#include <string.h>

#include "parallel.h"
#include "report.h"
#include "session.h"

#ifndef SESSION_PIECE_BYTES /* smaller where the device is emulated */
#define SESSION_PIECE_BYTES ((size_t)32 << 20)
#endif
enum { COPY_BYTES = 1 << 20, NEW_STAGING_PIECES = 8 }; /* an upload of that many pieces is worth making the buffers */

typedef struct copying {
    char *to;
    const char *from;
    size_t bytes;
} copying;

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

static void copy_part(void *arg, size_t part) {
    const copying *c = arg;
    const size_t begin = part * COPY_BYTES;
    memcpy(c->to + begin, c->from + begin, least(c->bytes - begin, COPY_BYTES));
}

static void copy(const session *s, void *to, const void *from, size_t bytes) {
    parallel_for(parallel_threads(s->common->threads), (bytes + COPY_BYTES - 1) / COPY_BYTES, copy_part,
                 &(copying){to, from, bytes});
}

/* Buffers are made once. Returns false if there is no memory for them. */
static bool take_staging(session *s) {
    for (int i = 0; i < 2; i++)
        if (!s->staging[i] && scan_malloc_host(s->ctx, SESSION_PIECE_BYTES, &s->staging[i]) != SCAN_OK)
            return false;
    return true;
}

void session_free_staging(session *s) {
    for (int i = 0; i < 2; i++)
        scan_free_host(s->failed ? s->failed : s->ctx, s->staging[i]);
}

static scan_status download_staged(const session *s, char *to, const char *from, size_t bytes) {
    size_t n = least(bytes, SESSION_PIECE_BYTES);
    SESSION_TRY(scan_download(s->ctx, s->staging[0], from, n));
    for (size_t done = 0, piece = 0; done < bytes; piece++) {
        const size_t end = done + n, next = least(bytes - end, SESSION_PIECE_BYTES);
        SESSION_TRY(scan_ctx_sync(s->ctx));
        if (next)
            SESSION_TRY(scan_download(s->ctx, s->staging[(piece + 1) % 2], from + end, next));
        copy(s, to + done, s->staging[piece % 2], n);
        done = end;
        n = next;
    }
    return SCAN_OK;
}

/* A buffer is free when the upload before the last one is done. */
static scan_status upload_staged(const session *s, char *to, const char *from, size_t bytes) {
    for (size_t done = 0, piece = 0; done < bytes; piece++) {
        const size_t n = least(bytes - done, SESSION_PIECE_BYTES);
        copy(s, s->staging[piece % 2], from + done, n);
        SESSION_TRY(scan_ctx_sync(s->ctx));
        SESSION_TRY(scan_upload(s->ctx, to + done, s->staging[piece % 2], n));
        done += n;
    }
    return SCAN_OK;
}

scan_status session_upload(session *s, const void *host, size_t bytes, void **context) {
    if (s->on_host || bytes == 0)
        return session_alloc_result(s, (void *)(uintptr_t)host, bytes, context);
    report_phase before = report_enter(PHASE_UPLOAD);
    scan_status status = session_alloc_result(s, NULL, bytes, context);
    const size_t least_pieces = s->staging[1] ? 2 : NEW_STAGING_PIECES;
    const bool staged = status == SCAN_OK && bytes >= least_pieces * SESSION_PIECE_BYTES && take_staging(s);
    if (status == SCAN_OK)
        status = staged ? upload_staged(s, *context, host, bytes) : scan_upload(s->ctx, *context, host, bytes);
    if (status == SCAN_OK)
        status = scan_ctx_sync(s->ctx);
    report_moved(PHASE_UPLOAD, bytes);
    report_enter(before);
    return status;
}

scan_status session_wait(session *s) { return scan_ctx_sync(s->ctx); }

scan_status session_download(session *s, void *host, const void *context, size_t bytes) {
    if (s->on_host || bytes == 0)
        return SCAN_OK;
    report_phase before = report_enter(PHASE_DOWNLOAD);
    const bool staged = bytes >= 2 * SESSION_PIECE_BYTES && take_staging(s);
    scan_status status =
        staged ? download_staged(s, host, context, bytes) : scan_download(s->ctx, host, context, bytes);
    if (status == SCAN_OK)
        status = scan_ctx_sync(s->ctx);
    report_moved(PHASE_DOWNLOAD, bytes);
    report_enter(before);
    return status;
}
