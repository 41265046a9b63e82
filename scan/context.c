/* SPDX-License-Identifier: MIT
 *
 * Contexts: creation, workspace, memory, the text of the last failure. Devices and threads are opened by the backend
 * (scan_backend_table.open).
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "internal.h"

SCAN_FIRST_STRUCT(scan_options, detail_bytes, 64);
SCAN_FIRST_STRUCT(scan_info, name, 24);

scan_status scan_fail(scan_ctx *ctx, scan_status status, const char *format, ...) {
    if (ctx) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(ctx->detail, sizeof ctx->detail, format, arguments);
        va_end(arguments);
    }
    return status;
}

static scan_status open_with(scan_ctx *ctx, const scan_backend_table *backend, const scan_options *options) {
    ctx->backend = backend;
    return backend->open(ctx, options);
}

static scan_status open_cuda(scan_ctx *ctx, const scan_options *options) {
#ifdef SCAN_HAS_CUDA
    return open_with(ctx, &scan_cuda_backend, options);
#else
    (void)options;
    return scan_fail(ctx, SCAN_ERR_NO_BACKEND, "this build of scan has no CUDA backend");
#endif
}

static scan_status open_backend(scan_ctx *ctx, const scan_options *options) {
    scan_status status;
    switch (options->backend) {
    case SCAN_BACKEND_CPU: return open_with(ctx, &scan_cpu_backend, options);
    case SCAN_BACKEND_CUDA: return open_cuda(ctx, options);
    case SCAN_BACKEND_AUTO:
        status = open_cuda(ctx, options);
        if (status != SCAN_ERR_NO_BACKEND)
            return status;
        ctx->detail[0] = 0;
        return open_with(ctx, &scan_cpu_backend, options);
    }
    return scan_fail(ctx, SCAN_ERR_ARGUMENT, "options.backend: %d is not a backend", (int)options->backend);
}

static scan_status check_options(scan_ctx *ctx, const scan_options *options) {
    if (options->device < 0)
        return scan_fail(ctx, SCAN_ERR_ARGUMENT, "options.device: %d is not a device", options->device);
    if (!options->alloc != !options->free)
        return scan_fail(ctx, SCAN_ERR_ARGUMENT, "options.alloc and options.free come together or not at all");
    return SCAN_OK;
}

static scan_status open_context(scan_ctx *ctx, const scan_options *options) {
    ctx->ran = "";
    SCAN_TRY(check_options(ctx, options));
    ctx->alloc_hook = options->alloc;
    ctx->free_hook = options->free;
    ctx->hook_user = options->user;
    ctx->stream = options->stream;
    return open_backend(ctx, options);
}

scan_status scan_ctx_create(scan_ctx **out, const scan_options *given) {
    if (!out)
        return SCAN_ERR_ARGUMENT;
    *out = NULL;
    scan_options options = {.struct_size = sizeof options};
    if (given)
        SCAN_TRY(scan_take_struct(NULL, &options, given, scan_options_first_size, sizeof options, "scan_options"));
    scan_ctx *ctx = calloc(1, sizeof *ctx);
    scan_status status = ctx ? open_context(ctx, &options) : SCAN_ERR_MEMORY;
    if (status == SCAN_OK) {
        *out = ctx;
        return SCAN_OK;
    }
    if (options.detail && options.detail_bytes)
        snprintf(options.detail, options.detail_bytes, "%s",
                 ctx && ctx->detail[0] ? ctx->detail : scan_status_string(status));
    free(ctx);
    return status;
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static bool capturing(const scan_ctx *ctx) { return ctx->backend->capturing && ctx->backend->capturing(ctx); }

/* purpose: ends the detail if there is no memory; the backend describes other failures. */
static scan_status context_alloc(scan_ctx *ctx, size_t bytes, void **memory, const char *purpose) {
    scan_status status = SCAN_OK;
    *memory = NULL;
    if (!ctx->alloc_hook)
        status = ctx->backend->alloc(ctx, bytes, memory);
    else if (!(*memory = ctx->alloc_hook(bytes, ctx->hook_user, ctx->stream)))
        status = SCAN_ERR_MEMORY;
    if (status == SCAN_ERR_MEMORY)
        return scan_fail(ctx, status, "no memory for %zu bytes%s", bytes, purpose);
    return status;
}

/* A hook gets memory that no queued work uses any more. */
static void context_free(scan_ctx *ctx, void *memory, size_t bytes) {
    if (!memory)
        return;
    if (ctx->free_hook) {
        if (!capturing(ctx))
            ctx->backend->sync(ctx);
        ctx->free_hook(memory, bytes, ctx->hook_user, ctx->stream);
    } else {
        ctx->backend->free(ctx, memory, bytes);
    }
}

/* A workspace that a graph may use is kept. Without memory to note it, it is never freed. */
static void keep_workspace(scan_ctx *ctx) {
    scan_workspace_memory *kept = realloc(ctx->kept, (ctx->kept_count + 1) * sizeof *kept);
    if (!kept)
        return;
    ctx->kept = kept;
    kept[ctx->kept_count++] = ctx->workspace;
}

static void drop_workspace(scan_ctx *ctx) {
    const scan_workspace_memory w = ctx->workspace;
    if (w.captured && !w.lent)
        keep_workspace(ctx);
    else if (!w.lent)
        context_free(ctx, w.memory, w.bytes);
    ctx->workspace = (scan_workspace_memory){0};
}

static void free_workspaces(scan_ctx *ctx) {
    ctx->workspace.captured = false;
    drop_workspace(ctx);
    for (size_t i = 0; i < ctx->kept_count; i++)
        context_free(ctx, ctx->kept[i].memory, ctx->kept[i].bytes);
    free(ctx->kept);
}

static scan_status prepare_workspace(scan_ctx *ctx) {
    scan_status status = SCAN_OK;
    if (ctx->backend->prepare)
        status = ctx->backend->prepare(ctx, ctx->workspace.memory, ctx->workspace.bytes);
    if (status != SCAN_OK)
        drop_workspace(ctx);
    return status;
}

static scan_status grow_workspace(scan_ctx *ctx, size_t bytes, bool captured) {
    scan_workspace_memory *w = &ctx->workspace;
    if (w->lent)
        return scan_fail(ctx, SCAN_ERR_WORKSPACE, "the lent workspace has %zu bytes, this call needs %zu", w->bytes,
                         bytes);
    if (captured)
        return scan_fail(
            ctx, SCAN_ERR_WORKSPACE,
            "a graph is being captured, and the workspace has %zu bytes, this call needs %zu: reserve them "
            "before the capture",
            w->bytes, bytes);
    drop_workspace(ctx);
    SCAN_TRY(context_alloc(ctx, bytes, &w->memory, " of workspace"));
    w->bytes = bytes;
    return prepare_workspace(ctx);
}

/* Loading code allocates device memory: after reserve and lend no later call does, nor any that is captured. */
static scan_status load_code(scan_ctx *ctx) { return ctx->backend->load ? ctx->backend->load(ctx) : SCAN_OK; }

scan_status scan_workspace(scan_ctx *ctx, size_t bytes, void **memory) {
    const bool captured = capturing(ctx);
    if (bytes > ctx->workspace.bytes)
        SCAN_TRY(grow_workspace(ctx, bytes, captured));
    if (captured) {
        ctx->workspace.captured = true;
        SCAN_TRY(load_code(ctx));
    }
    *memory = ctx->workspace.memory;
    return SCAN_OK;
}

static scan_status reserve_entered(scan_ctx *ctx, size_t bytes) {
    void *memory;
    SCAN_TRY(scan_workspace(ctx, bytes, &memory));
    return load_code(ctx);
}

scan_status scan_ctx_reserve(scan_ctx *ctx, size_t bytes) {
    SCAN_TRY(scan_enter(ctx));
    return scan_leave(ctx, reserve_entered(ctx, bytes));
}

static scan_status lend_entered(scan_ctx *ctx, void *memory, size_t bytes) {
    if (!memory && bytes)
        return scan_fail(ctx, SCAN_ERR_ARGUMENT, "scan_ctx_lend: memory is NULL");
    if ((uintptr_t)memory % 256)
        return scan_fail(ctx, SCAN_ERR_ALIGNMENT, "scan_ctx_lend: memory is not aligned to 256 bytes");
    SCAN_TRY(ctx->backend->sync(ctx));
    drop_workspace(ctx);
    if (memory) {
        ctx->workspace = (scan_workspace_memory){.memory = memory, .bytes = bytes, .lent = true};
        SCAN_TRY(prepare_workspace(ctx));
        return load_code(ctx);
    }
    return SCAN_OK;
}

scan_status scan_ctx_lend(scan_ctx *ctx, void *memory, size_t bytes) {
    SCAN_TRY(scan_enter(ctx));
    return scan_leave(ctx, lend_entered(ctx, memory, bytes));
}

/* scan_free has no size to pass to a free hook, so with hooks the size is stored in a header before the caller's bytes.
 */
static size_t header_bytes(const scan_ctx *ctx) { return ctx->free_hook ? 256 : 0; }

static scan_status malloc_entered(scan_ctx *ctx, size_t bytes, void **memory) {
    const size_t header = header_bytes(ctx), total = header + bytes;
    void *block;
    if (bytes == 0)
        return SCAN_OK;
    if (total < bytes)
        return scan_fail(ctx, SCAN_ERR_MEMORY, "no memory for %zu bytes", bytes);
    SCAN_TRY(context_alloc(ctx, total, &block, ""));
    scan_status status = header ? ctx->backend->upload(ctx, block, &total, sizeof total) : SCAN_OK;
    if (status != SCAN_OK) {
        context_free(ctx, block, total);
        return status;
    }
    *memory = (char *)block + header;
    return SCAN_OK;
}

scan_status scan_malloc(scan_ctx *ctx, size_t bytes, void **memory) {
    if (memory)
        *memory = NULL;
    SCAN_TRY(scan_enter(ctx));
    return scan_leave(ctx, memory ? malloc_entered(ctx, bytes, memory)
                                  : scan_fail(ctx, SCAN_ERR_ARGUMENT, "scan_malloc: memory is NULL"));
}

scan_status scan_malloc_host(scan_ctx *ctx, size_t bytes, void **memory) {
    if (memory)
        *memory = NULL;
    SCAN_TRY(scan_enter(ctx));
    if (!memory)
        return scan_leave(ctx, scan_fail(ctx, SCAN_ERR_ARGUMENT, "scan_malloc_host: memory is NULL"));
    return scan_leave(ctx, bytes ? ctx->backend->alloc_host(ctx, bytes, memory) : SCAN_OK);
}

/* For calls that have no status to return: when the call that is inside has left. */
static void enter_after_others(scan_ctx *ctx) {
    while (scan_enter(ctx) != SCAN_OK)
        nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
}

void scan_free(scan_ctx *ctx, void *memory) {
    if (!ctx || !memory)
        return;
    enter_after_others(ctx);
    const size_t header = header_bytes(ctx);
    char *block = (char *)memory - header;
    size_t total = 0;
    if (!header ||
        (ctx->backend->download(ctx, &total, block, sizeof total) == SCAN_OK && ctx->backend->sync(ctx) == SCAN_OK))
        context_free(ctx, block, total);
    scan_leave(ctx, SCAN_OK);
}

void scan_free_host(scan_ctx *ctx, void *memory) {
    if (!ctx || !memory)
        return;
    enter_after_others(ctx);
    ctx->backend->free_host(ctx, memory);
    scan_leave(ctx, SCAN_OK);
}

/* One of the backend's copies; `name` is that of the call. */
static scan_status copy(scan_ctx *ctx, scan_status (*copy_with)(scan_ctx *, void *, const void *, size_t),
                        const char *name, void *to, const void *from, size_t bytes) {
    if (bytes == 0)
        return SCAN_OK;
    return to && from ? copy_with(ctx, to, from, bytes)
                      : scan_fail(ctx, SCAN_ERR_ARGUMENT, "%s: a pointer is NULL", name);
}

scan_status scan_upload(scan_ctx *ctx, void *to, const void *from_host, size_t bytes) {
    SCAN_TRY(scan_enter(ctx));
    return scan_leave(ctx, copy(ctx, ctx->backend->upload, "scan_upload", to, from_host, bytes));
}

scan_status scan_download(scan_ctx *ctx, void *to_host, const void *from, size_t bytes) {
    SCAN_TRY(scan_enter(ctx));
    return scan_leave(ctx, copy(ctx, ctx->backend->download, "scan_download", to_host, from, bytes));
}

/* ---- the rest ---------------------------------------------------------------------------------------------------- */

void scan_ctx_destroy(scan_ctx *ctx) {
    if (!ctx)
        return;
    enter_after_others(ctx);
    ctx->backend->sync(ctx);
    free_workspaces(ctx);
    ctx->backend->close(ctx);
    free(ctx);
}

scan_status scan_ctx_sync(scan_ctx *ctx) {
    SCAN_TRY(scan_enter(ctx));
    return scan_leave(ctx, ctx->backend->sync(ctx));
}

/* While a call is inside, its texts are being written. */
static bool in_use(const scan_ctx *ctx) { return __atomic_load_n(&ctx->entered, __ATOMIC_ACQUIRE); }

const char *scan_ctx_detail(const scan_ctx *ctx) {
    if (!ctx)
        return "no context";
    return in_use(ctx) ? scan_status_string(SCAN_ERR_BUSY) : ctx->detail;
}

const char *scan_ctx_ran(const scan_ctx *ctx) { return ctx && !in_use(ctx) ? ctx->ran : ""; }

scan_status scan_ctx_info(const scan_ctx *ctx, scan_info *info) {
    if (!ctx || !info)
        return SCAN_ERR_ARGUMENT;
    return scan_give_struct(info, &ctx->info, scan_info_first_size, sizeof *info);
}
