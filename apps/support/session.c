/* SPDX-License-Identifier: MIT
 *
 * Where a job runs, how errors of the library end or change it, and the memory of attempts.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "alloc.h"
#include "die.h"
#include "ranks.h"
#include "report.h"
#include "session_ranks.h"

/* auto takes CUDA for jobs of at least these bytes of numbers; SCAN_CUDA_FROM replaces the number. Measured on an H200
 * beside 16 CPU cores, 2026-11-20, files in the page cache (`--device cpu` and `--device cuda`, both with --stats):
 * CUDA costs 0.36 s until the first result. A sort of 4 GB takes the cores 1.7 s and the device 0.02 s, with upload and
 * download going on beside reading and writing; scans and selections are as fast as the file on either. The numbers for
 * equalization are computed from the CPU's rates, 0.12 s/GB and 0.43 s/GB for CLAHE. */
enum { MB = 1000000 };
static const uint64_t pays_from[WORK_COUNT] = {
    [WORK_PREFIX] = 8000ull * MB, [WORK_COMPACT] = 4000ull * MB,  [WORK_SORT] = 1000ull * MB,
    [WORK_ARGSORT] = 750ull * MB, [WORK_EQUALIZE] = 3000ull * MB, [WORK_CLAHE] = 1000ull * MB,
};

int session_exit_code(scan_status status) {
    switch (status) {
    case SCAN_OK: return EXIT_DONE;
    case SCAN_ERR_MEMORY:
    case SCAN_ERR_PEER: return EXIT_IO;
    case SCAN_ERR_NO_BACKEND:
    case SCAN_ERR_DEVICE:
    case SCAN_ERR_DEVICE_LOST: return EXIT_DEVICE;
    case SCAN_ERR_ARGUMENT:
    case SCAN_ERR_TYPE:
    case SCAN_ERR_ALGORITHM:
    case SCAN_ERR_VERSION:
    case SCAN_ERR_OVERLAP:
    case SCAN_ERR_ALIGNMENT:
    case SCAN_ERR_WORKSPACE:
    case SCAN_ERR_BUSY: return EXIT_USAGE;
    }
    return EXIT_USAGE;
}

bool session_is_device_failure(scan_status status) {
    return status == SCAN_ERR_MEMORY || session_exit_code(status) == EXIT_DEVICE;
}

static void check(const session *s, scan_status status, const char *subject) {
    if (status == SCAN_OK)
        return;
    const char *detail = scan_ctx_detail(s->ctx);
    die(session_exit_code(status), "%s: %s", subject, detail[0] ? detail : scan_status_string(status));
}

/* ---- opening ----------------------------------------------------------------------------------------------------- */

static void open_host(session *s) {
    char detail[256] = "";
    scan_options options = {
        .struct_size = sizeof options, .threads = s->common->threads, .detail = detail, .detail_bytes = sizeof detail};
    scan_status status = scan_ctx_create(&s->ctx, &options);
    if (status != SCAN_OK)
        die(session_exit_code(status), "device cpu: %s", detail[0] ? detail : scan_status_string(status));
    s->on_host = true;
    check(s, scan_ctx_info(s->ctx, &s->info), "device");
}

static void try_device(session *s, unsigned device) {
    s->opening.options.device = (int32_t)device;
    s->opening.status = scan_ctx_create(&s->opening.ctx, &s->opening.options);
}

/* A rank takes the device of its number on the machine, modulo those that it sees: the last one that can be opened
 * shows how many. */
static void *create_device(void *arg) {
    session *s = arg;
    const bool named = strncmp(s->common->device, "cuda:", 5) == 0;
    unsigned device = (unsigned)s->opening.options.device;
    try_device(s, device);
    while (!named && s->opening.status == SCAN_ERR_NO_BACKEND && device > 0)
        try_device(s, --device);
    const unsigned own = named ? device : ranks_local() % (device + 1);
    if (s->opening.status == SCAN_OK && own != device) {
        scan_ctx_destroy(s->opening.ctx);
        try_device(s, own);
    }
    return NULL;
}

static void begin_device(session *s) {
    const char *device = s->common->device;
    s->on_host = false;
    s->opening.begun = true;
    s->opening.options = (scan_options){.struct_size = sizeof s->opening.options,
                                        .backend = SCAN_BACKEND_CUDA,
                                        .device = (int32_t)ranks_local(),
                                        .detail = s->opening.detail,
                                        .detail_bytes = sizeof s->opening.detail};
    if (strncmp(device, "cuda:", 5) == 0)
        s->opening.options.device = (int32_t)strtol(device + 5, NULL, 10); /* checked by cli.c */
    sigset_t all, before; /* signals are the main thread's, and the driver starts threads of its own */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    s->opening.threaded = pthread_create(&s->opening.thread, NULL, create_device, s) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!s->opening.threaded)
        create_device(s);
}

void session_open(session *s, const cli_common *common) {
    *s = (session){.info = {.struct_size = sizeof s->info}, .common = common};
    if (strncmp(common->device, "cuda", 4) == 0) {
        s->must = true;
        begin_device(s);
    } else if (strcmp(common->device, "cpu") == 0) {
        open_host(s);
    }
}

static bool is_open(const session *s) { return s->ctx || s->opening.begun; }

/* SCAN_CUDA_FROM, NULL if it is not set. */
static const char *cuda_from(void) {
    const char *from = getenv("SCAN_CUDA_FROM");
    return from && from[0] ? from : NULL;
}

/* The size of a job from which auto takes the device: SCAN_CUDA_FROM=BYTES, or the table. */
static uint64_t min_bytes(session_work work) {
#ifdef SCAN_HAS_CUDA
    const char *from = cuda_from();
    return from ? cli_number("SCAN_CUDA_FROM", from, 1, UINT64_MAX) : pays_from[work];
#else
    (void)pays_from;
    (void)work;
    return UINT64_MAX;
#endif
}

void session_choose(session *s, session_work work, uint64_t bytes) {
    if (is_open(s))
        return;
    if (bytes < min_bytes(work))
        open_host(s);
    else
        begin_device(s);
}

void session_need_device(session *s, bool must) {
    if (is_open(s))
        return;
    begin_device(s);
    scan_status status = session_settle(s, session_await(s));
    s->must = must;
    if (status == SCAN_ERR_NO_BACKEND)
        open_host(s); /* the call will then fail: the CPU does not have the algorithm */
    else if (status != SCAN_OK)
        session_fall_back_together(s, NULL, status, s->opening.detail, ranks_own() == 0);
}

scan_status session_await(session *s) {
    if (s->opening.begun) {
        if (s->opening.threaded)
            pthread_join(s->opening.thread, NULL);
        s->opening.begun = false;
        s->ctx = s->opening.ctx;
    }
    return s->opening.status;
}

void session_ready(session *s) {
    if (s->on_host)
        return;
    report_phase before = report_enter(PHASE_OPEN);
    scan_status status = session_settle(s, session_await(s));
    if (status != SCAN_OK)
        session_fall_back_together(s, NULL, status, s->opening.detail, ranks_own() == 0);
    else
        check(s, scan_ctx_info(s->ctx, &s->info), "device");
    report_enter(before);
}

scan_status session_another(const session *s, scan_ctx **ctx, char *detail, size_t detail_bytes) {
    scan_options options = s->opening.options;
    options.detail = detail;
    options.detail_bytes = detail_bytes;
    return scan_ctx_create(ctx, &options);
}

void session_report(const session *s) {
    report_text("device", s->info.name);
    report_number("threads", s->info.threads);
    report_text("ran", scan_ctx_ran(s->ctx));
}

bool session_has_timeout(void) {
    const char *timeout = getenv("SCAN_DEVICE_TIMEOUT");
    return timeout && timeout[0];
}

void session_drop(const session *s, scan_ctx *ctx) {
    if (!s->lost)
        scan_ctx_destroy(ctx);
}

void session_close(session *s) {
    session_await(s);
    session_give_back(s, 0);
    session_free_staging(s);
    scan_ctx_destroy(s->ctx);
    session_drop(s, s->failed);
    free(s->owned);
    *s = (session){.common = s->common, .lost = s->lost};
}

int session_leave(const session *s, int code) {
    if (!s->lost)
        return code;
    fflush(NULL);
    _exit(code);
}

/* ---- failures ---------------------------------------------------------------------------------------------------- */

void session_fall_back_together(session *s, const char *subject, scan_status status, const char *detail, bool says) {
    char text[256]; /* a copy: `detail` may belong to the context, which is replaced */
    snprintf(text, sizeof text, "%s", detail && detail[0] ? detail : scan_status_string(status));
    const char *name = subject ? subject : "", *colon = subject ? ": " : "";
    if (s->on_host || !session_is_device_failure(status))
        die(session_exit_code(status), "%s%s%s", name, colon, text);
    if (s->must)
        die(EXIT_DEVICE, "%s%sdevice %s: %s", name, colon, s->common->device, text);
    if ((status != SCAN_ERR_NO_BACKEND || cuda_from()) && says) /* no line where there is no GPU at all */
        warn("%s%s%s; the CPU does the job", name, colon, text);
    report_text("device_failed", text);
    s->failed = s->ctx;
    s->fell_back = true;
    s->lost = status == SCAN_ERR_DEVICE_LOST;
    open_host(s);
}

void session_fall_back(session *s, const char *subject, scan_status status, const char *detail) {
    session_fall_back_together(s, subject, status, detail, true);
}

bool session_must(const session *s) { return s->must; }

/* ---- memory ------------------------------------------------------------------------------------------------------ */

typedef struct session_memory {
    session_kind kind;
    void *memory;
} session_memory;

scan_status session_alloc(session *s, session_kind kind, size_t bytes, void **memory) {
    if (s->owned_count == s->owned_room) {
        s->owned_room = s->owned_room * 2 + 32;
        s->owned = must_realloc(s->owned, s->owned_room, sizeof *s->owned);
    }
    scan_status status = SCAN_OK;
    switch (kind) {
    case MEMORY_DEVICE: status = scan_malloc(s->ctx, bytes, memory); break;
    case MEMORY_PINNED: status = scan_malloc_host(s->ctx, bytes, memory); break;
    case MEMORY_HOST: *memory = must_alloc(bytes, 1); break;
    }
    if (status == SCAN_OK)
        s->owned[s->owned_count++] = (session_memory){kind, *memory};
    return status;
}

size_t session_taken(const session *s) { return s->owned_count; }

void session_give_back(session *s, size_t keep) {
    scan_ctx *device = s->failed ? s->failed : s->ctx;
    while (s->owned_count > keep) {
        session_memory m = s->owned[--s->owned_count];
        switch (m.kind) {
        case MEMORY_DEVICE: scan_free(device, m.memory); break;
        case MEMORY_PINNED: scan_free_host(device, m.memory); break;
        case MEMORY_HOST: free(m.memory); break;
        }
    }
}

scan_status session_probe(session *s, size_t bytes) {
    void *memory;
    scan_status status = scan_malloc(s->ctx, bytes, &memory);
    if (status == SCAN_OK)
        scan_free(s->ctx, memory);
    return status;
}

/* ---- whole arrays ------------------------------------------------------------------------------------------------ */

void session_try(session *s, const char *subject, session_attempt *attempt, void *arg) {
    session_ready(s);
    report_phase before = report_enter(PHASE_COMPUTE);
    size_t keep = session_taken(s);
    scan_status status = attempt(arg, s);
    if (status != SCAN_OK && !s->on_host) {
        char detail[256];
        snprintf(detail, sizeof detail, "%s", scan_ctx_detail(s->ctx));
        session_give_back(s, keep);
        session_fall_back(s, subject, status, detail);
        status = attempt(arg, s);
    }
    check(s, status, subject);
    session_give_back(s, keep);
    report_enter(before);
}

scan_status session_alloc_result(session *s, void *host, size_t bytes, void **context) {
    *context = host;
    if (s->on_host || bytes == 0)
        return SCAN_OK;
    return session_alloc(s, MEMORY_DEVICE, bytes, context);
}
