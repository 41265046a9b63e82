/* SPDX-License-Identifier: MIT
 *
 * The device a program computes on: --device and --threads become a scan_ctx, a scan_status becomes an exit code and a
 * line, and a buffer is memory that both the program and the device can reach.
 */
#ifndef APPS_SUPPORT_SESSION_H
#define APPS_SUPPORT_SESSION_H

#include <stdbool.h>
#include <stddef.h>

#include "cli.h"
#include "scan/scan.h"

typedef struct session {
    scan_ctx *ctx;
    bool on_host; /* context memory is host memory: nothing is copied */
    scan_info info;
} session;

/* Exit 4 if the device asked for is not there. auto is the CPU: the CUDA backend lacks verbs. */
void session_open(session *s, const cli_common *common);

/* The exit code for a status: 3 for memory, 4 for the device, 2 for other failures. */
int session_exit_code(scan_status status);

/* SCAN_OK, or exits with that code and what went wrong. `subject` is the input's name
 * or what was being done. */
void session_check(const session *s, scan_status status, const char *subject);

/* Reports (report.h) the device, the threads and what the last verb ran. */
void session_report(const session *s);

void session_close(session *s);

/* `host` is for the program, `context` for the library; they are the same on the CPU. */
typedef struct session_buffer {
    void *host;
    void *context;
    size_t bytes;
} session_buffer;

session_buffer session_alloc(session *s, size_t bytes);
void session_free(session *s, session_buffer *buffer);

/* Context memory that holds what is at `host`: on the CPU that memory itself. session_drop ends its use. */
void *session_put(session *s, void *host, size_t bytes);
void session_drop(session *s, void *context);

/* Brings back what became of memory that session_put gave. */
void session_get(session *s, void *host, const void *context, size_t bytes);

/* The first `bytes` bytes, from host to context and back; the latter waits for what was queued. */
void session_upload(session *s, const session_buffer *buffer, size_t bytes);
void session_download(session *s, const session_buffer *buffer, size_t bytes);

#endif
