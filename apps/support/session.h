/* SPDX-License-Identifier: MIT
 *
 * The device a program computes on: --device and --threads become a scan_ctx, a scan_status becomes an exit code and a
 * line, and arrays of the program become memory that the context can use.
 *
 * A device may fail at any time. With --device cuda that ends the program. With auto one line says so, and the CPU does
 * the job, with the same result. Hence the rule for all code that uses a session: input in host memory stays as it is
 * until a result is complete, so that everything can be done again.
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
    bool lost;      /* the device answers no more: what is on it stays there, and session_leave() ends the process */
    scan_info info;
    /* the rest is private to session.c, session_transfer.c and stream.c */
    const cli_common *common;
    bool settled; /* all ranks know that they work on the same kind of device */
    bool must;    /* without the device the program ends: the user asked for it, or the CPU gives another result */
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
    void *staging[2]; /* page-locked, for what goes to the device and comes from it */
} session;

/* The kinds of jobs that `auto` tells apart. */
typedef enum session_work {
    WORK_PREFIX,
    WORK_COMPACT,
    WORK_SORT,
    WORK_ARGSORT,
    WORK_EQUALIZE,
    WORK_CLAHE,
    WORK_COUNT
} session_work;

/* Begins to open the device that --device names; with auto session_choose does it. A CUDA context takes a quarter of a
 * second and is made in a thread, while the program reads its input. */
void session_open(session *s, const cli_common *common);

/* auto: takes CUDA for jobs from a number of bytes on (session.c), else the CPU, without loading the driver. Bytes that
 * are not known are 0. */
void session_choose(session *s, session_work work, uint64_t bytes);

/* auto: the algorithm asked for exists on CUDA only. `must`: the CPU would give another result, and does not replace a
 * device that fails. */
void session_need_device(session *s, bool must);

/* Waits until the context is open; if it cannot be opened, goes on with the CPU or exits 4. Sets s->ctx, s->on_host and
 * s->info. Of several ranks (ranks.h) all go on with the CPU if one has to; collective at the first call. */
void session_ready(session *s);

/* The same in any thread, for the device alone: its context is then in s->ctx, or the reason for a failure in
 * s->opening.detail. */
scan_status session_await(session *s);

/* Makes one more context on the same device, for a thread of its own. detail, of detail_bytes, gets the reason for a
 * failure; or NULL. */
scan_status session_another(const session *s, scan_ctx **ctx, char *detail, size_t detail_bytes);

/* True if waits for the device are limited (SCAN_DEVICE_TIMEOUT). CUDA frees memory when all work of a device is done,
 * so another context would wait for a kernel that hangs without noticing: one context alone may then allocate and free.
 */
bool session_has_timeout(void);

/* Destroys a context of session_another, unless the device is lost. */
void session_drop(const session *s, scan_ctx *ctx);

/* After a failure on the device: exits 4 if the user asked for it, exits 2 if the call itself was wrong; else warns and
 * makes s a session on the CPU. `detail` is the failure in words. */
void session_fall_back(session *s, const char *subject, scan_status status, const char *detail);

/* Returns true if a failure of the device ends the program, so that the CPU will not need what is on the host. */
bool session_must(const session *s);

/* Returns the exit code for a status: 3 for memory, 4 for the device, 2 for other failures. */
int session_exit_code(scan_status status);

/* Returns true for failures of the device, false for errors of the caller. */
bool session_is_device_failure(scan_status status);

/* Reports (report.h) the device, the threads and what the last verb ran. */
void session_report(const session *s);

void session_close(session *s);

/* Returns the exit code; if the device was lost the process ends here, because exit() would wait for the driver. */
int session_leave(const session *s, int code);

/* ---- memory ------------------------------------------------------------------------------------------------------ */

/* The session keeps a list of what it allocated. session_taken is its length, session_give_back frees all but the first
 * `keep`. */
typedef enum session_kind { MEMORY_DEVICE, MEMORY_PINNED, MEMORY_HOST } session_kind;
scan_status session_alloc(session *s, session_kind kind, size_t bytes, void **memory);
size_t session_taken(const session *s);
void session_give_back(session *s, size_t keep);

/* For the library's workspace: returns SCAN_ERR_MEMORY if the device does not have `bytes` beside what was allocated.
 * The first call of the library allocates them; scan_ctx_reserve would do that now, but would also load the kernels of
 * all verbs, and a program runs one verb. */
scan_status session_probe(session *s, size_t bytes);

/* ---- whole arrays ------------------------------------------------------------------------------------------------ */

/* Runs attempt(arg, s) on the device; if that fails, again on the CPU. Frees the memory that the attempt allocated. If
 * it still fails, exits; subject is the input's name. */
typedef scan_status session_attempt(void *arg, session *s);
void session_try(session *s, const char *subject, session_attempt *attempt, void *arg);

/* The same for an attempt that is a collective call of libscan_dist in the end: all ranks make one more, or none.
 * Whether everything before that call has succeeded is for the attempt to tell, by ranks_agree. */
void session_try_together(session *s, const char *subject, session_attempt *attempt, void *arg);

/* For attempts. session_upload gives context memory with the data at `host`, session_alloc_result context memory for
 * results that will go to `host`; on the CPU both are the host's memory itself. */
scan_status session_upload(session *s, const void *host, size_t bytes, void **context);
scan_status session_alloc_result(session *s, void *host, size_t bytes, void **context);

/* Waits for what was queued on the context, so that the time of library calls counts into PHASE_COMPUTE. */
scan_status session_wait(session *s);

/* Copies results to `host`. */
scan_status session_download(session *s, void *host, const void *context, size_t bytes);

/* For session_close. */
void session_free_staging(session *s);

#endif
