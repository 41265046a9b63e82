/* SPDX-License-Identifier: MIT
 *
 * Device choice, errors of the library as exit codes, buffers.
 */
#include <stdlib.h>
#include <string.h>

#include "report.h"
#include "session.h"

int session_exit_code(scan_status status) {
    switch (status) {
    case SCAN_OK: return EXIT_DONE;
    case SCAN_ERR_MEMORY: return EXIT_IO;
    case SCAN_ERR_NO_BACKEND:
    case SCAN_ERR_DEVICE:
    case SCAN_ERR_DEVICE_LOST: return EXIT_DEVICE;
    case SCAN_ERR_ARGUMENT:
    case SCAN_ERR_TYPE:
    case SCAN_ERR_ALGORITHM:
    case SCAN_ERR_VERSION:
    case SCAN_ERR_OVERLAP:
    case SCAN_ERR_ALIGNMENT:
    case SCAN_ERR_WORKSPACE: return EXIT_USAGE;
    }
    return EXIT_USAGE;
}

void session_open(session *s, const cli_common *common) {
    char detail[256] = "";
    scan_options options = {.struct_size = sizeof options,
                            .backend = SCAN_BACKEND_CPU,
                            .threads = common->threads,
                            .detail = detail,
                            .detail_bytes = sizeof detail};
    /* auto: the CPU, until the CUDA backend has every verb */
    if (strncmp(common->device, "cuda", 4) == 0) {
        options.backend = SCAN_BACKEND_CUDA;
        if (common->device[4] == ':')
            options.device = (int32_t)strtol(common->device + 5, NULL, 10); /* checked by cli.c */
    }
    *s = (session){.info = {.struct_size = sizeof s->info}};
    scan_status status = scan_ctx_create(&s->ctx, &options);
    if (status != SCAN_OK)
        die(session_exit_code(status), "device %s: %s", common->device,
            detail[0] ? detail : scan_status_string(status));
    session_check(s, scan_ctx_info(s->ctx, &s->info), "device");
    s->on_host = s->info.backend == SCAN_BACKEND_CPU;
}

void session_check(const session *s, scan_status status, const char *subject) {
    if (status == SCAN_OK)
        return;
    const char *detail = scan_ctx_detail(s->ctx);
    die(session_exit_code(status), "%s: %s", subject, detail[0] ? detail : scan_status_string(status));
}

void session_report(const session *s) {
    report_text("device", s->info.name);
    report_number("threads", s->info.threads);
    report_text("ran", scan_ctx_ran(s->ctx));
}

void session_close(session *s) {
    scan_ctx_destroy(s->ctx);
    s->ctx = NULL;
}

session_buffer session_alloc(session *s, size_t bytes) {
    session_buffer buffer = {.bytes = bytes};
    if (s->on_host) {
        buffer.host = buffer.context = must_alloc(bytes, 1);
    } else {
        session_check(s, scan_malloc_host(s->ctx, bytes, &buffer.host), "memory");
        session_check(s, scan_malloc(s->ctx, bytes, &buffer.context), "memory");
    }
    return buffer;
}

void session_free(session *s, session_buffer *buffer) {
    if (s->on_host) {
        free(buffer->host);
    } else {
        scan_free(s->ctx, buffer->context);
        scan_free_host(s->ctx, buffer->host);
    }
    *buffer = (session_buffer){0};
}

void *session_put(session *s, void *host, size_t bytes) {
    if (s->on_host)
        return host;
    report_phase before = report_enter(PHASE_UPLOAD);
    void *context;
    session_check(s, scan_malloc(s->ctx, bytes, &context), "memory");
    session_check(s, scan_upload(s->ctx, context, host, bytes), "upload");
    session_check(s, scan_ctx_sync(s->ctx), "upload");
    report_enter(before);
    return context;
}

void session_get(session *s, void *host, const void *context, size_t bytes) {
    if (s->on_host)
        return;
    report_phase before = report_enter(PHASE_DOWNLOAD);
    session_check(s, scan_download(s->ctx, host, context, bytes), "download");
    session_check(s, scan_ctx_sync(s->ctx), "download");
    report_enter(before);
}

void session_drop(session *s, void *context) {
    if (!s->on_host)
        scan_free(s->ctx, context);
}

void session_upload(session *s, const session_buffer *buffer, size_t bytes) {
    if (s->on_host)
        return;
    report_phase before = report_enter(PHASE_UPLOAD);
    session_check(s, scan_upload(s->ctx, buffer->context, buffer->host, bytes), "upload");
    report_enter(before);
}

void session_download(session *s, const session_buffer *buffer, size_t bytes) {
    if (s->on_host)
        return;
    report_phase before = report_enter(PHASE_DOWNLOAD);
    session_check(s, scan_download(s->ctx, buffer->host, buffer->context, bytes), "download");
    session_check(s, scan_ctx_sync(s->ctx), "download");
    report_enter(before);
}
