/* SPDX-License-Identifier: MIT
 *
 * The device a program computes on: --device and --threads become a scan_ctx, a scan_status becomes an exit code and a
 * line, and arrays of the program become memory that the context can use.
 *
 * A device may fail at any time. With --device cuda that ends the program. With auto the job is done by the CPU, after
 * one line that says so, and with the same result. Hence the rule for all who use a session: what is in host memory
 * stays as it is until a result is complete, so that everything can be done again.
 */
#ifndef APPS_SUPPORT_SESSION_H
#define APPS_SUPPORT_SESSION_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "cli.h"
#include "scan/scan.h"

/* Forwards a status that is not SCAN_OK. */
#define SESSION_TRY(expr)                                                                                              \
    do {                                                                                                               \
        scan_status session_try_status_ = (expr);                                                                      \
        if (session_try_status_ != SCAN_OK)                                                                            \
            return session_try_status_;                                                                                \
    } while (0)

typedef struct session {
    scan_ctx *ctx;
    bool on_host;   /* context memory is host memory: nothing is copied */
    bool fell_back; /* because the device failed */
    scan_info info;
    /* the rest is private to session.c and stream.c */
    const cli_common *common;
    bool must; /* the device is not chosen but asked for: without it the program ends */
    struct {
        scan_options options;
        bool begun, threaded; /* begun and not yet waited for */
        pthread_t thread;
        scan_ctx *ctx;
        scan_status status;
        char detail[256];
    } opening;
    scan_ctx *failed; /* a device's context after it failed: threads may still be inside it */
    struct session_memory *owned;
    size_t owned_count, owned_room;
} session;

/* What a job is, as far as it matters for where it runs. */
typedef enum session_work {
    WORK_PREFIX,
    WORK_COMPACT,
    WORK_SORT,
    WORK_ARGSORT,
    WORK_EQUALIZE,
    WORK_CLAHE,
    WORK_COUNT
} session_work;

/* Begins to open the device that --device names; with auto, that waits for session_choose. A CUDA context takes a
 * quarter of a second and is made in a thread, while the program reads its input. */
void session_open(session *s, const cli_common *common);

/* auto: takes CUDA for jobs of so many bytes (session.c), else the CPU. No driver is loaded for less. Bytes that are
 * not known are 0. */
void session_choose(session *s, session_work work, uint64_t bytes);

/* auto: the algorithm asked for is CUDA's alone. `must`: the CPU would not give the same result, and does not do it
 * instead. */
void session_need_device(session *s, bool must);

/* Waits until the context is there; if it cannot be had, goes on with the CPU or exits 4. After that s->ctx, s->on_host
 * and s->info are good. */
void session_ready(session *s);

/* The same for any thread: the device's context in s->ctx, or why there is none in s->opening.detail. */
scan_status session_await(session *s);

/* One more context on the same device, for a thread of its own. detail, of detail_bytes: why it cannot be had; or NULL.
 */
scan_status session_another(const session *s, scan_ctx **ctx, char *detail, size_t detail_bytes);

/* After a failure on the device: exit 4 if it was asked for, exit 2 if the call itself was wrong; else says so and
 * makes s a session on the CPU. `detail` is the failure in words. */
void session_fall_back(session *s, const char *subject, scan_status status, const char *detail);

/* The exit code for a status: 3 for memory, 4 for the device, 2 for other failures. */
int session_exit_code(scan_status status);

/* True for what the device did, not the caller. */
bool session_is_device_failure(scan_status status);

/* Reports (report.h) the device, the threads and what the last verb ran. */
void session_report(const session *s);

void session_close(session *s);

/* ---- memory ------------------------------------------------------------------------------------------------------ */

/* The session keeps what it gave out, to give it back: all but the first `keep`. */
typedef enum session_kind { MEMORY_DEVICE, MEMORY_PINNED, MEMORY_HOST } session_kind;
scan_status session_alloc(session *s, session_kind kind, size_t bytes, void **memory);
size_t session_taken(const session *s);
void session_give_back(session *s, size_t keep);

/* For the library's workspace: MEMORY if the device does not have so much beside what was taken. The first call takes
 * it as its own; scan_ctx_reserve would do that now, but also load the kernels of all verbs, of which a program runs
 * one. */
scan_status session_probe(session *s, size_t bytes);

/* ---- whole arrays ------------------------------------------------------------------------------------------------ */

/* Runs attempt(arg, s) on the device; if that fails, again on the CPU. Memory that it took is given back at its end.
 * Failures that are left exit; subject is the input's name. */
typedef scan_status session_attempt(void *arg, session *s);
void session_try(session *s, const char *subject, session_attempt *attempt, void *arg);

/* For attempts. Context memory that holds what is at `host`, and room for results that will go to `host`: on the CPU
 * that memory itself. */
scan_status session_upload(session *s, const void *host, size_t bytes, void **context);
scan_status session_alloc_result(session *s, void *host, size_t bytes, void **context);

/* Waits for what was queued on the context. Calls of the library are counted into PHASE_COMPUTE by it. */
scan_status session_wait(session *s);

/* Brings results to where they were to go. */
scan_status session_download(session *s, void *host, const void *context, size_t bytes);

#endif
