/* SPDX-License-Identifier: MIT
 *
 * sort: an array through a device.
 *
 * One thread reads, into ordinary memory. From the page cache a thread reads 12 GB/s (two read 14), so 3 GB have been
 * read when the device is ready: its context takes 0.27 s. The driver's own staging of ordinary memory then uploads at
 * 17 GB/s and more. For 4 GB that leaves a quarter of a second. Page-locked memory would leave a tenth, but it cannot
 * be allocated before the context; and the array has to stay on the host, for the CPU to sort it if the device fails.
 * Writing takes longest, a second at the disk's 3.7 GB/s: output.c lets the disk be the only limit.
 */
#include "device_stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apps/support/alloc.h"
#include "apps/support/die.h"
#include "apps/support/report.h"
#include "row_sort.h"

enum { READ_BYTES = 8 << 20 };

static scan_sort_desc describe(const sort_stream *w) { return order_describe(&w->key, w->method, w->s); }

static size_t result_size(const sort_stream *w) { return scan_type_size(w->type); }

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static size_t piece_elements(const sort_stream *w, size_t piece) {
    size_t first = piece * w->piece;
    return first >= w->n ? 0 : w->n - first < w->piece ? w->n - first : w->piece;
}

static char *key_at(const sort_stream *w, size_t piece) {
    return (char *)w->key.data + piece * w->piece * w->reader->size;
}

static bool read_piece(void *arg, size_t piece) {
    sort_stream *w = arg;
    size_t n = piece_elements(w, piece);
    return n > 0 && array_read(w->reader, key_at(w, piece), n) == n;
}

/* Bytes of the library's workspace; 0 if the call will refuse the sort. */
static size_t workspace(const sort_stream *w) {
    scan_sort_desc desc = describe(w);
    scan_unique_desc runs = {.struct_size = sizeof runs, .type = w->key.type};
    size_t sort = 0, unique = 0;
    desc.index_type = w->argsort ? w->type : SCAN_TYPE_NONE;
    if ((w->argsort ? scan_argsort_workspace : scan_sort_workspace)(w->s->ctx, &desc, w->n, &sort) != SCAN_OK)
        return 0;
    if (w->unique && scan_unique_workspace(w->s->ctx, &runs, w->n, &unique) != SCAN_OK)
        return 0;
    return sort > unique ? sort : unique;
}

/* Allocates all memory of the job at once, so that a lack of it shows before the rest is read. */
static scan_status take_memory(sort_stream *w) {
    session *s = w->s;
    size_t keys = w->n * w->reader->size, indices = w->argsort ? w->n * result_size(w) : 0, work = workspace(w);
    w->need_bytes = (uint64_t)keys + indices + work;
    SESSION_TRY(session_alloc(s, MEMORY_DEVICE, keys, &w->device_keys));
    w->device_result = w->device_keys;
    if (indices)
        SESSION_TRY(session_alloc(s, MEMORY_DEVICE, indices, &w->device_result));
    return session_probe(s, work);
}

static scan_status begin(sort_stream *w, stream_lane *lane) {
    scan_status status = session_await(w->s);
    lane->detail = w->s->opening.detail;
    if (status != SCAN_OK)
        return status;
    status = take_memory(w);
    if (status == SCAN_ERR_MEMORY) {
        snprintf(w->detail, sizeof w->detail, "%llu bytes of its memory are needed: %s",
                 (unsigned long long)w->need_bytes, scan_ctx_detail(w->s->ctx));
        lane->detail = w->detail;
    } else if (status != SCAN_OK) {
        snprintf(w->detail, sizeof w->detail, "%s", scan_ctx_detail(w->s->ctx));
        lane->detail = w->detail;
    } else {
        lane->ctx = w->s->ctx;
    }
    return status;
}

static scan_status upload(void *arg, stream_lane *lane, size_t piece) {
    sort_stream *w = arg;
    if (piece == 0)
        SESSION_TRY(begin(w, lane));
    size_t bytes = piece_elements(w, piece) * w->reader->size;
    lane->bytes += bytes;
    return scan_upload(lane->ctx, (char *)w->device_keys + (key_at(w, piece) - (char *)w->key.data), key_at(w, piece),
                       bytes);
}

static void finish_reading(void *arg, size_t piece) {
    const sort_stream *w = arg;
    report_progress((piece + 1) * READ_BYTES / 3, w->n * w->reader->size);
}

void sort_stream_read(sort_stream *w) {
    size_t size = w->reader->size;
    w->n = (size_t)w->reader->header.count;
    w->kept = w->n;
    w->type = !w->argsort ? w->key.type : w->n >> 32 ? SCAN_U64 : SCAN_U32;
    w->piece = READ_BYTES / size;
    w->key.data = must_alloc(w->n, size);
    stream_run(w->s, &(stream_job){.subject = w->reader->in->name,
                                   .slots = SIZE_MAX,
                                   .read = read_piece,
                                   .upload = upload,
                                   .finish = finish_reading,
                                   .arg = w});
    if (w->n == 0)
        array_read(w->reader, w->key.data, 0); /* refuses data after the end */
    session_ready(w->s);
}

/* ---- sorting ----------------------------------------------------------------------------------------------------- */

/* keys, result and count are in the context's memory: on the host, keys is the array itself, and so is result unless it
 * is that of argsort. */
static scan_status sort(sort_stream *w, void *keys, void *result, void *count) {
    session *s = w->s;
    scan_sort_desc desc = describe(w);
    if (w->argsort) {
        desc.index_type = w->type;
        return scan_argsort(s->ctx, &desc, keys, result, w->n);
    }
    SESSION_TRY(scan_sort(s->ctx, &desc, keys, keys, NULL, NULL, w->n));
    if (!w->unique || w->n == 0)
        return SCAN_OK;
    scan_unique_desc runs = {.struct_size = sizeof runs, .type = w->key.type};
    scan_unique_out out = {.struct_size = sizeof out, .kept = keys, .count = count};
    return scan_unique(s->ctx, &runs, keys, &out, w->n);
}

static scan_status sort_attempt(void *arg, session *s) {
    sort_stream *w = arg;
    uint64_t kept = w->n;
    void *count;
    if (s->on_host) {
        w->host_result = w->argsort ? must_alloc(w->n, result_size(w)) : w->key.data;
        SESSION_TRY(sort(w, w->key.data, w->host_result, &kept));
    } else {
        SESSION_TRY(session_upload(s, &kept, sizeof kept, &count));
        SESSION_TRY(sort(w, w->device_keys, w->device_result, count));
        SESSION_TRY(session_wait(s));
        SESSION_TRY(session_download(s, &kept, count, sizeof kept));
    }
    if (w->kept != kept) /* in a second attempt other threads read it */
        w->kept = (size_t)kept;
    return SCAN_OK;
}

void sort_stream_sort(sort_stream *w) {
    session_try(w->s, w->reader->in->name, sort_attempt, w);
    report_moved(PHASE_COMPUTE, w->n * w->reader->size + w->kept * result_size(w));
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static size_t result_elements(const sort_stream *w, size_t piece) {
    size_t first = piece * w->piece;
    return first >= w->kept ? 0 : w->kept - first < w->piece ? w->kept - first : w->piece;
}

static bool next_piece(void *arg, size_t piece) { return result_elements(arg, piece) > 0; }

/* Used once the device has failed. */
static scan_status sort_on_host(void *arg, stream_lane *lane, size_t piece) {
    sort_stream *w = arg;
    size_t size = result_size(w);
    (void)lane;
    if (!w->host_result)
        SESSION_TRY(sort_attempt(w, w->s));
    memcpy(w->slots[piece % STREAM_SLOTS].host, (const char *)w->host_result + piece * w->piece * size,
           result_elements(w, piece) * size);
    return SCAN_OK;
}

static scan_status download(void *arg, stream_lane *lane, size_t piece) {
    sort_stream *w = arg;
    size_t bytes = result_elements(w, piece) * result_size(w);
    lane->bytes += bytes;
    return scan_download(lane->ctx, w->slots[piece % STREAM_SLOTS].host,
                         (const char *)w->device_result + piece * w->piece * result_size(w), bytes);
}

static void write_piece(void *arg, size_t piece) {
    sort_stream *w = arg;
    array_write(w->out, w->slots[piece % STREAM_SLOTS].host, result_elements(w, piece));
}

static scan_status make_slots(void *arg, session *s, size_t n) {
    sort_stream *w = arg;
    for (size_t i = 0; i < STREAM_SLOTS && !s->on_host; i++)
        SESSION_TRY(session_alloc(s, MEMORY_PINNED, n * result_size(w), &w->slots[i].host));
    return SCAN_OK;
}

void sort_stream_write(sort_stream *w, const array_writer *out) {
    w->out = out;
    if (!w->s->on_host)
        w->piece = stream_prepare(w->s, w->reader->in->name, result_size(w), w->kept, make_slots, w);
    if (w->s->on_host) {
        if (!w->host_result)
            session_try(w->s, w->reader->in->name, sort_attempt, w);
        array_write(out, w->host_result, w->kept);
    } else {
        stream_run(w->s, &(stream_job){.subject = w->reader->in->name,
                                       .slots = STREAM_SLOTS,
                                       .read = next_piece,
                                       .download = download,
                                       .on_host = sort_on_host,
                                       .finish = write_piece,
                                       .arg = w});
    }
    if (w->host_result != w->key.data)
        free(w->host_result);
    free(w->key.data);
}
