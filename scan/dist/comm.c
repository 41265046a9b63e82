/* SPDX-License-Identifier: MIT
 *
 * Communicators: creation, the context in use, copies between host and context memory, the text of the last failure.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dist.h"

scan_status scan_dist_fail(scan_dist_comm *comm, scan_status status, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(comm->detail, sizeof comm->detail, format, arguments);
    va_end(arguments);
    if (status != SCAN_ERR_PEER) {
        comm->cause = status;
        comm->cause_rank = comm->rank;
    }
    return status;
}

scan_status scan_dist_take(scan_dist_comm *comm, const scan_ctx *ctx, scan_status status) {
    if (status == SCAN_OK)
        return status;
    const char *words = scan_ctx_detail(ctx);
    return scan_dist_fail(comm, status, "%s", words[0] ? words : scan_status_string(status));
}

/* ---- creation ---------------------------------------------------------------------------------------------------- */

enum { FIRST_OPTIONS_SIZE = 32, FIRST_INFO_SIZE = 24, DEFAULT_TIMEOUT = 10 };

_Static_assert(sizeof(scan_dist_options) == FIRST_OPTIONS_SIZE, "a struct that was published has grown: see Structs");
_Static_assert(sizeof(scan_dist_info) == FIRST_INFO_SIZE, "a struct that was published has grown: see Structs");

/* The part of a caller's struct that is unknown here must be zero. */
static bool rest_is_zero(const void *given, size_t known) {
    uint32_t size;
    memcpy(&size, given, sizeof size);
    for (size_t i = known; i < size; i++)
        if (((const unsigned char *)given)[i])
            return false;
    return true;
}

double scan_dist_timeout(void) {
    const char *text = getenv("SCAN_DIST_TIMEOUT");
    char *end;
    const double seconds = text ? strtod(text, &end) : 0;
    return seconds > 0 && seconds < 1e6 && *end == 0 ? seconds : DEFAULT_TIMEOUT;
}

scan_status scan_dist_comm_init(scan_dist_comm *comm) {
    const scan_options one_thread = {.struct_size = sizeof one_thread, .threads = 1};
    comm->timeout = scan_dist_timeout();
    comm->records = calloc(comm->size, sizeof *comm->records);
    comm->starts = calloc((size_t)comm->size + 1, sizeof *comm->starts);
    comm->moves = calloc(4 * (size_t)comm->size + 4, sizeof *comm->moves);
    if (!comm->records || !comm->starts || !comm->moves)
        return scan_dist_fail(comm, SCAN_ERR_MEMORY, "no memory for a communicator of %u ranks", comm->size);
    const scan_status status = scan_ctx_create(&comm->host, &one_thread);
    return status == SCAN_OK ? status : scan_dist_fail(comm, status, "%s", scan_status_string(status));
}

void scan_dist_free(const scan_dist_comm *comm, void *memory) {
    if (!comm->broken)
        free(memory);
}

static void free_parts(scan_dist_comm *comm) {
    scan_ctx_destroy(comm->host);
    scan_dist_free(comm, comm->records);
    scan_dist_free(comm, comm->starts);
    free(comm->moves);
    free(comm);
}

/* What has failed before is told to the other ranks, who wait here. */
static scan_status open_comm(scan_dist_comm *comm, const scan_dist_options *options) {
    if (options->reserved)
        scan_dist_fail(comm, SCAN_ERR_ARGUMENT, "scan_dist_options.reserved is not 0");
    SCAN_TRY(scan_dist_open_mpi(comm, options->mpi_comm));
    const scan_status status = scan_dist_comm_init(comm);
    if (status == SCAN_OK)
        return scan_dist_begin(comm, status, 'c', 0, 0); /* all ranks have it, or none */
    char words[SCAN_DIST_WORDS];
    memcpy(words, comm->detail, sizeof words);
    scan_dist_abort(comm, status, words);
    return status;
}

scan_status scan_dist_comm_create(scan_dist_comm **out, const scan_dist_options *given) {
    scan_dist_options options = {.struct_size = sizeof options};
    if (!out)
        return SCAN_ERR_ARGUMENT;
    *out = NULL;
    if (given) {
        if (given->struct_size < FIRST_OPTIONS_SIZE || !rest_is_zero(given, sizeof options))
            return SCAN_ERR_VERSION;
        options = *given;
    }
    scan_dist_comm *comm = calloc(1, sizeof *comm), none = {0};
    if (!comm)
        scan_dist_fail(&none, SCAN_ERR_MEMORY, "no memory for a communicator");
    const scan_status status = open_comm(comm ? comm : &none, &options);
    if (status == SCAN_OK) {
        *out = comm;
        return SCAN_OK;
    }
    const char *words = comm ? comm->detail : none.detail;
    if (options.detail && options.detail_bytes)
        snprintf(options.detail, options.detail_bytes, "%s", words[0] ? words : scan_status_string(status));
    if (comm && comm->wire)
        comm->wire->close(comm->wire_state, true);
    if (comm)
        free_parts(comm);
    return status;
}

static void drop_context(scan_dist_comm *comm) {
    scan_dist_close_link(comm);
    comm->link_failed = false;
    scan_dist_device_close(comm->device);
    comm->device = NULL;
    scan_dist_drop_workspace(comm);
    scan_free(comm->ctx, comm->none);
    comm->none = NULL;
    comm->ctx = NULL;
}

void scan_dist_comm_destroy(scan_dist_comm *comm) {
    if (!comm)
        return;
    if (!comm->broken)
        drop_context(comm);
    comm->wire->close(comm->wire_state, comm->broken);
    free_parts(comm);
}

scan_status scan_dist_comm_info(const scan_dist_comm *comm, scan_dist_info *info) {
    if (!comm || !info)
        return SCAN_ERR_ARGUMENT;
    const uint32_t given = info->struct_size;
    if (given < FIRST_INFO_SIZE)
        return SCAN_ERR_VERSION;
    memset(info, 0, given);
    *info = (scan_dist_info){given, comm->rank, comm->size, comm->local_rank, comm->local_size, comm->broken};
    return SCAN_OK;
}

const char *scan_dist_detail(const scan_dist_comm *comm) { return comm ? comm->detail : "no communicator"; }

scan_status scan_dist_cause(const scan_dist_comm *comm, uint32_t *rank) {
    if (rank)
        *rank = comm ? comm->cause_rank : 0;
    return comm ? comm->cause : SCAN_ERR_ARGUMENT;
}

/* ---- context ----------------------------------------------------------------------------------------------------- */

static scan_status take_context(scan_dist_comm *comm, scan_ctx *ctx) {
    const uint64_t none = 0;
    void *memory;
    comm->ctx_info = (scan_info){.struct_size = sizeof comm->ctx_info};
    comm->ctx = ctx;
    if (!ctx)
        return SCAN_OK;
    SCAN_TRY(scan_ctx_info(ctx, &comm->ctx_info));
    if (comm->ctx_info.backend != SCAN_BACKEND_CPU && !scan_dist_has_link())
        return scan_dist_open_link(comm); /* says so */
    if (comm->ctx_info.backend != SCAN_BACKEND_CPU) {
        const char *failed = scan_dist_device_open(&comm->device, comm->ctx_info.device);
        if (failed)
            return scan_dist_fail(comm, SCAN_ERR_DEVICE, "%s", failed);
    }
    SCAN_TRY(scan_dist_take(comm, ctx, scan_malloc(ctx, sizeof none, &memory)));
    comm->none = memory;
    return scan_dist_upload(comm, comm->none, &none, sizeof none);
}

scan_status scan_dist_comm_use(scan_dist_comm *comm, scan_ctx *ctx) {
    if (!comm)
        return SCAN_ERR_ARGUMENT;
    if (!comm->broken)
        drop_context(comm);
    scan_status status = comm->broken ? SCAN_ERR_PEER : take_context(comm, ctx);
    const uint64_t kind = (uint64_t)comm->ctx_info.backend * 2 + !ctx;
    status = scan_dist_begin(comm, status, scan_dist_hash('u', kind), 0, 0);
    if (status == SCAN_OK && comm->ctx_info.backend != SCAN_BACKEND_CPU) {
        comm->link_number++;
        status = scan_dist_end(comm, scan_dist_open_link(comm));
    }
    if (status != SCAN_OK && !comm->broken)
        drop_context(comm);
    return status;
}

void scan_dist_copy_struct(void *desc, size_t size, const void *given) {
    uint32_t struct_size;
    memcpy(&struct_size, given, sizeof struct_size);
    memset(desc, 0, size);
    memcpy(desc, given, struct_size < size ? struct_size : size);
}

scan_status scan_dist_check_context(scan_dist_comm *comm) {
    if (comm->broken)
        return SCAN_ERR_PEER;
    if (!comm->ctx)
        return scan_dist_fail(comm, SCAN_ERR_ARGUMENT, "no context is in use: scan_dist_comm_use comes first");
    if (comm->link_failed)
        return scan_dist_fail(comm, SCAN_ERR_DEVICE,
                              "the link between devices has failed: scan_dist_comm_use opens another");
    return SCAN_OK;
}

scan_status scan_dist_take_desc(scan_dist_comm *comm, void *desc, size_t size, const void *given, const char *name) {
    memset(desc, 0, size);
    SCAN_TRY(scan_dist_check_context(comm));
    if (!given)
        return scan_dist_fail(comm, SCAN_ERR_ARGUMENT, "%s is NULL", name);
    scan_dist_copy_struct(desc, size, given);
    return SCAN_OK;
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

scan_status scan_dist_download(scan_dist_comm *comm, void *to_host, const void *from, size_t bytes) {
    SCAN_TRY(scan_dist_take(comm, comm->ctx, scan_download(comm->ctx, to_host, from, bytes)));
    return scan_dist_take(comm, comm->ctx, scan_ctx_sync(comm->ctx));
}

scan_status scan_dist_upload(scan_dist_comm *comm, void *to, const void *from_host, size_t bytes) {
    SCAN_TRY(scan_dist_take(comm, comm->ctx, scan_upload(comm->ctx, to, from_host, bytes)));
    return scan_dist_take(comm, comm->ctx, scan_ctx_sync(comm->ctx));
}

scan_status scan_dist_take_count(scan_dist_comm *comm, const uint64_t **n_device, size_t *n) {
    uint64_t count;
    if (!*n_device)
        return SCAN_OK;
    if ((uintptr_t)*n_device % sizeof count)
        return scan_dist_fail(comm, SCAN_ERR_ALIGNMENT, "n_device is not aligned to %zu bytes", sizeof count);
    SCAN_TRY(scan_dist_download(comm, &count, *n_device, sizeof count));
    *n = count < *n ? (size_t)count : *n;
    *n_device = NULL;
    return SCAN_OK;
}
