/* SPDX-License-Identifier: MIT
 *
 * The memory of calls: it grows with them, is reserved before them, or lent. Verbs say how much they take, by the
 * lengths of this rank's share alone, so that a rank can ask by itself.
 */
#include <string.h>

#include "dist.h"

enum { ALIGNMENT = 256 };

void scan_dist_drop_workspace(scan_dist_comm *comm) {
    if (!comm->lent)
        scan_free(comm->ctx, comm->workspace);
    comm->workspace = NULL;
    comm->workspace_bytes = 0;
    comm->lent = false;
}

scan_status scan_dist_workspace(scan_dist_comm *comm, size_t bytes, void **memory) {
    if (bytes > comm->workspace_bytes) {
        if (comm->lent)
            return scan_dist_fail(comm, SCAN_ERR_WORKSPACE, "the lent workspace has %zu bytes, this call needs %zu",
                                  comm->workspace_bytes, bytes);
        scan_dist_drop_workspace(comm);
        SCAN_TRY(scan_dist_take(comm, comm->ctx, scan_malloc(comm->ctx, bytes, &comm->workspace)));
        comm->workspace_bytes = bytes;
    }
    *memory = comm->workspace;
    return SCAN_OK;
}

static scan_status check(scan_dist_comm *comm) {
    if (!comm)
        return SCAN_ERR_ARGUMENT;
    if (comm->broken)
        return SCAN_ERR_PEER;
    return comm->ctx ? SCAN_OK
                     : scan_dist_fail(comm, SCAN_ERR_ARGUMENT, "no context is in use: scan_dist_comm_use comes first");
}

scan_status scan_dist_reserve(scan_dist_comm *comm, size_t bytes) {
    void *memory;
    SCAN_TRY(check(comm));
    return scan_dist_workspace(comm, bytes, &memory);
}

scan_status scan_dist_lend(scan_dist_comm *comm, void *memory, size_t bytes) {
    SCAN_TRY(check(comm));
    if (!memory && bytes)
        return scan_dist_fail(comm, SCAN_ERR_ARGUMENT, "memory is NULL");
    if ((uintptr_t)memory % ALIGNMENT)
        return scan_dist_fail(comm, SCAN_ERR_ALIGNMENT, "lent memory is aligned to %d bytes", ALIGNMENT);
    scan_dist_drop_workspace(comm);
    if (memory) {
        comm->workspace = memory;
        comm->workspace_bytes = bytes;
        comm->lent = true;
    }
    return SCAN_OK;
}

/* ---- how much ---------------------------------------------------------------------------------------------------- */

scan_status scan_dist_copy_desc(const scan_dist_comm *comm, void *desc, size_t size, const void *given) {
    if (!comm || !comm->ctx || !given)
        return SCAN_ERR_ARGUMENT;
    scan_dist_copy_struct(desc, size, given);
    memcpy(desc, &(uint32_t){(uint32_t)size}, sizeof(uint32_t));
    return SCAN_OK;
}

scan_status scan_dist_give_sizes(size_t own, size_t *bytes, size_t of_context, size_t *ctx_bytes) {
    if (bytes)
        *bytes = own;
    if (ctx_bytes)
        *ctx_bytes = of_context;
    return SCAN_OK;
}
