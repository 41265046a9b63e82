/* SPDX-License-Identifier: MIT
 *
 * Bytes between devices by NCCL, in groups of sends and receives on a stream of its own: the context's work is complete
 * before an exchange begins. That stream goes first where both have work, for a peer waits for it. An event marks the
 * end of each of the two batches that may be under way. The communicator does not block, so that a rank that waits sees
 * NCCL's asynchronous errors and hears alarms. What waits for a rank that is gone is aborted.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cuda_runtime_api.h>
#include <nccl.h>

#include "dist.h"

enum { BATCHES = 2 };

typedef struct nccl_link {
    ncclComm_t comm;
    cudaStream_t stream;
    cudaEvent_t ends[BATCHES]; /* the earlier batch under way, if any, is that of ends[first] */
    unsigned first, under_way;
    bool marked; /* the end of the last batch */
    int device;
    uint32_t rank;
    char words[SCAN_DIST_WORDS];
} nccl_link;

static const char *explain(nccl_link *l, const char *call, const char *reason) {
    snprintf(l->words, sizeof l->words, "%s: %s", call, reason);
    return l->words;
}

/* Forwards a failure as text. A communicator that does not block says that it goes on. */
#define NCCL_TRY(l, call, arguments)                                                                                   \
    do {                                                                                                               \
        const ncclResult_t nccl_result = call arguments;                                                               \
        if (nccl_result != ncclSuccess && nccl_result != ncclInProgress)                                               \
            return explain(l, #call, ncclGetErrorString(nccl_result));                                                 \
    } while (0)

#define CUDA_TRY(l, call, arguments)                                                                                   \
    do {                                                                                                               \
        const cudaError_t cuda_error = call arguments;                                                                 \
        if (cuda_error != cudaSuccess)                                                                                 \
            return explain(l, #call, cudaGetErrorString(cuda_error));                                                  \
    } while (0)

/* ---- transfers --------------------------------------------------------------------------------------------------- */

/* What the rank sends to itself. The lists have such transfers in the same order. */
static const char *copy_own(nccl_link *l, scan_dist_moves sends, scan_dist_moves receives) {
    size_t s = 0;
    for (size_t r = 0; r < receives.count; r++) {
        const scan_dist_move *to = &receives.list[r];
        if (to->peer != l->rank)
            continue;
        while (sends.list[s].peer != l->rank)
            s++;
        CUDA_TRY(l, cudaMemcpyAsync, (to->at, sends.list[s].at, to->bytes, cudaMemcpyDeviceToDevice, l->stream));
        s++;
    }
    return NULL;
}

static const char *post(nccl_link *l, scan_dist_moves sends, scan_dist_moves receives) {
    for (size_t i = 0; i < receives.count; i++) {
        const scan_dist_move *m = &receives.list[i];
        if (m->peer != l->rank && m->bytes)
            NCCL_TRY(l, ncclRecv, (m->at, m->bytes, ncclInt8, (int)m->peer, l->comm, l->stream));
    }
    for (size_t i = 0; i < sends.count; i++) {
        const scan_dist_move *m = &sends.list[i];
        if (m->peer != l->rank && m->bytes)
            NCCL_TRY(l, ncclSend, (m->at, m->bytes, ncclInt8, (int)m->peer, l->comm, l->stream));
    }
    return NULL;
}

static const char *begin_on_device(nccl_link *l, scan_dist_moves sends, scan_dist_moves receives) {
    const char *failed = copy_own(l, sends, receives);
    if (failed)
        return failed;
    NCCL_TRY(l, ncclGroupStart, ());
    failed = post(l, sends, receives);
    const ncclResult_t ended = ncclGroupEnd();
    if (failed)
        return failed;
    return ended == ncclSuccess || ended == ncclInProgress ? NULL
                                                           : explain(l, "ncclGroupEnd", ncclGetErrorString(ended));
}

/* The caller's current device is restored. */
static const char *nccl_begin(void *state, scan_dist_moves sends, scan_dist_moves receives) {
    nccl_link *l = state;
    int before;
    l->under_way++;
    l->marked = false;
    CUDA_TRY(l, cudaGetDevice, (&before));
    CUDA_TRY(l, cudaSetDevice, (l->device));
    const char *failed = begin_on_device(l, sends, receives);
    cudaSetDevice(before);
    return failed;
}

/* Whether NCCL has no asynchronous error, and has launched all that was begun. */
static const char *ask_nccl(nccl_link *l, bool *done) {
    ncclResult_t now = ncclSuccess;
    NCCL_TRY(l, ncclCommGetAsyncError, (l->comm, &now));
    *done = now == ncclSuccess;
    return now == ncclSuccess || now == ncclInProgress ? NULL : explain(l, "NCCL", ncclGetErrorString(now));
}

/* The stream has all of a batch once NCCL says so: its end is marked then. */
static const char *nccl_started(void *state, bool *done) {
    nccl_link *l = state;
    const char *failed = ask_nccl(l, done);
    if (failed || !*done || l->marked || l->under_way == 0)
        return failed;
    CUDA_TRY(l, cudaEventRecord, (l->ends[(l->first + l->under_way - 1) % BATCHES], l->stream));
    l->marked = true;
    return NULL;
}

static const char *nccl_test(void *state, bool *done) {
    nccl_link *l = state;
    const char *failed = ask_nccl(l, done);
    *done = false;
    if (failed)
        return failed;
    const cudaError_t end = cudaEventQuery(l->ends[l->first]);
    if (end != cudaSuccess && end != cudaErrorNotReady)
        return explain(l, "cudaEventQuery", cudaGetErrorString(end));
    if (end == cudaErrorNotReady)
        return NULL;
    l->first = (l->first + 1) % BATCHES;
    l->under_way--;
    *done = true;
    return NULL;
}

/* ---- opening and closing ----------------------------------------------------------------------------------------- */

static void nccl_close(void *state, bool broken) {
    nccl_link *l = state;
    int before = 0;
    cudaGetDevice(&before);
    cudaSetDevice(l->device);
    if (l->comm && broken)
        ncclCommAbort(l->comm);
    else if (l->comm)
        ncclCommDestroy(l->comm);
    for (int i = 0; i < BATCHES; i++)
        if (l->ends[i])
            cudaEventDestroy(l->ends[i]);
    if (l->stream)
        cudaStreamDestroy(l->stream);
    cudaSetDevice(before);
    free(l);
}

static const scan_dist_wire nccl_table = {
    .begin = nccl_begin, .started = nccl_started, .test = nccl_test, .close = nccl_close};

static const char *open_on_device(nccl_link *l, const scan_dist_comm *comm, ncclUniqueId id) {
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    int lowest, highest;
    CUDA_TRY(l, cudaDeviceGetStreamPriorityRange, (&lowest, &highest));
    CUDA_TRY(l, cudaStreamCreateWithPriority, (&l->stream, cudaStreamNonBlocking, highest));
    for (int i = 0; i < BATCHES; i++)
        CUDA_TRY(l, cudaEventCreateWithFlags, (&l->ends[i], cudaEventDisableTiming));
    NCCL_TRY(l, ncclCommInitRankConfig, (&l->comm, (int)comm->size, id, (int)comm->rank, &config));
    return NULL;
}

bool scan_dist_has_link(void) { return true; }

/* What a rank tells the others before the link is opened. */
typedef struct meeting {
    ncclUniqueId id; /* of rank 0: the name that all ranks meet under */
    cudaUUID_t device;
} meeting;

static const char *find_meeting(const scan_dist_comm *comm, meeting *own) {
    struct cudaDeviceProp properties;
    if (cudaGetDeviceProperties(&properties, comm->ctx_info.device) != cudaSuccess)
        return "cudaGetDeviceProperties failed";
    own->device = properties.uuid;
    return comm->rank == 0 && ncclGetUniqueId(&own->id) != ncclSuccess ? "ncclGetUniqueId failed" : NULL;
}

/* Of two ranks on one device NCCL says no more than that its usage is invalid. */
static scan_status explain_shared(scan_dist_comm *comm, const meeting *all, scan_status status) {
    for (uint32_t b = 1; b < comm->size && !comm->broken; b++)
        for (uint32_t a = 0; a < b; a++)
            if (memcmp(&all[a].device, &all[b].device, sizeof all[a].device) == 0)
                return scan_dist_fail(comm, SCAN_ERR_DEVICE,
                                      "NCCL needs a device for each rank: %u and %u have the same", a, b);
    return status;
}

scan_status scan_dist_open_link(scan_dist_comm *comm) {
    nccl_link *l = calloc(1, sizeof *l);
    meeting *all = calloc(comm->size, sizeof *all), own = {.id = {{0}}};
    const char *failed = l && all ? find_meeting(comm, &own) : "no memory for NCCL";
    int before = 0;
    scan_status status = failed ? scan_dist_fail(comm, SCAN_ERR_DEVICE, "%s", failed) : SCAN_OK;
    status = scan_dist_begin(comm, status, 'n', 0, 0);
    if (status == SCAN_OK)
        status = scan_dist_gather(comm, &own, sizeof own, all);
    if (status == SCAN_OK) {
        l->device = comm->ctx_info.device;
        l->rank = comm->rank;
        comm->link = &nccl_table;
        comm->link_state = l;
        cudaGetDevice(&before);
        cudaSetDevice(l->device);
        failed = open_on_device(l, comm, all[0].id);
        cudaSetDevice(before);
        status = scan_dist_wait_for_link(comm, failed);
        if (status != SCAN_OK)
            status = explain_shared(comm, all, status);
    } else {
        free(l);
    }
    free(all);
    return status;
}
