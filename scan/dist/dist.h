/* SPDX-License-Identifier: MIT
 *
 * What the files of libscan_dist share.
 *
 *   comm.c       communicators: creation, texts of failures, copies; workspace.c has the memory for calls
 *   wire_mpi.c   moves bytes in host memory between ranks by MPI, and carries alarms
 *   nccl.c       moves bytes in device memory by NCCL; device.cu, halves.cu have kernels; no_nccl.c where there is none
 *   ended.c      says which rank on this machine has ended
 *   exchange.c   the one loop that waits; exchanges and gathering built on it
 *   agree.c      agreement at the start and the end of a call
 *   prefix.c     one file per verb; prefix_groups.c, prefix_carry.c; sort.c, splitters.c, stages.c
 *
 * No rank may wait for one that has left a call. So everything that can fail on a rank alone happens before an
 * agreement (scan_dist_begin, scan_dist_end), and between two agreements a rank that has failed still takes part in
 * every exchange, with whatever bytes there are. If the link fails on one rank, it fails on all: they take no part in
 * exchanges between devices any more, but in those of host memory, up to the agreement. After it all know that the link
 * has failed, and have closed it.
 */
#ifndef SCAN_DIST_DIST_H
#define SCAN_DIST_DIST_H

#include <stdbool.h>

#include "device.h"
#include "scan_dist.h"

/* Forwards a failure to the caller. */
#define SCAN_TRY(expression)                                                                                           \
    do {                                                                                                               \
        const scan_status try_status = (expression);                                                                   \
        if (try_status != SCAN_OK)                                                                                     \
            return try_status;                                                                                         \
    } while (0)

enum { SCAN_DIST_WORDS = 256 };

/* One side of a transfer. Transfers between the same two ranks are matched in the order in which they are listed. */
typedef struct scan_dist_move {
    void *at; /* only read on the sending side */
    size_t bytes;
    uint32_t peer;
} scan_dist_move;

typedef struct scan_dist_moves {
    const scan_dist_move *list;
    size_t count;
} scan_dist_moves;

/* What a rank tells the others: that it cannot go on, or that the link has failed. */
typedef struct scan_dist_alarm {
    uint32_t rank;
    int32_t status;
    uint32_t link; /* the number of the link, from 1 on; 0: the rank cannot go on */
    char words[SCAN_DIST_WORDS];
} scan_dist_alarm;

/* How bytes go from rank to rank. Failures are texts: NULL is success. */
typedef struct scan_dist_wire {
    /* Begins a batch of transfers, while at most one is under way. What a rank sends to itself is not moved here, but
     * by the link. */
    const char *(*begin)(void *state, scan_dist_moves sends, scan_dist_moves receives);
    /* Whether what was begun is handed over, so that more may be called. NULL: at once. */
    const char *(*started)(void *state, bool *done);
    /* Whether the earliest batch is complete; then it is no longer under way. */
    const char *(*test)(void *state, bool *done);
    bool (*hear)(void *state, scan_dist_alarm *alarm);
    /* Tells all others; returns when they can hear it, or at the latest when that many seconds have passed. */
    void (*tell)(void *state, const scan_dist_alarm *alarm, double seconds);
    void (*close)(void *state, bool broken);
} scan_dist_wire;

/* Opens MPI: sets the wire's table and state, rank and size. Where a rank has failed before (scan_dist_fail), or fails
 * here, none is opened. */
scan_status scan_dist_open_mpi(scan_dist_comm *comm, const void *mpi_comm);

/* Opens the link between the devices of the contexts in use; where it fails, an agreement must follow. Collective. */
bool scan_dist_has_link(void);
scan_status scan_dist_open_link(scan_dist_comm *comm);

/* What every rank says when a call begins. */
typedef struct scan_dist_record {
    uint32_t status;
    uint32_t link_failed;
    uint64_t call; /* a hash of the verb and its descriptor */
    uint64_t n;
    uint64_t extra;
} scan_dist_record;

struct scan_dist_comm {
    const scan_dist_wire *wire;
    void *wire_state;
    const scan_dist_wire *link; /* between devices: begin, started, test, close; NULL: none is in use */
    void *link_state;
    uint32_t link_number;     /* how many were opened, by all ranks alike */
    bool link_failed;         /* nothing goes from device to device until another is opened */
    scan_dist_device *device; /* NULL: the context is on the CPU */
    uint32_t rank, size, local_rank, local_size;
    bool crowded; /* this machine has more ranks than processors */
    bool broken;
    double timeout;
    scan_ctx *ctx;
    scan_info ctx_info;
    scan_ctx *host; /* CPU, one thread: folds values of other ranks */
    void *workspace;
    size_t workspace_bytes;
    bool lent;                 /* the workspace is the caller's */
    uint64_t *none;            /* context memory: a count of 0, for calls that only check their arguments */
    scan_dist_record *records; /* of all ranks, since the last agreement */
    uint64_t *starts;          /* size + 1: for verbs */
    scan_dist_move *moves;     /* 4 size + 4 places for the lists of an exchange */
    scan_status cause;
    uint32_t cause_rank;
    char detail[SCAN_DIST_WORDS];
};

/* ---- comm.c ------------------------------------------------------------------------------------------------------ */

/* Writes the detail (printf format) and returns status. */
__attribute__((format(printf, 3, 4))) scan_status scan_dist_fail(scan_dist_comm *comm, scan_status status,
                                                                 const char *format, ...);

/* Takes the detail of a call on a context, and returns its status. */
scan_status scan_dist_take(scan_dist_comm *comm, const scan_ctx *ctx, scan_status status);

/* SCAN_DIST_TIMEOUT in seconds. */
double scan_dist_timeout(void);

/* Frees memory of calloc() whose bytes have gone between ranks. After a call that was interrupted MPI may still read or
 * write there: where the communicator is broken, it stays. */
void scan_dist_free(const scan_dist_comm *comm, void *memory);

/* Creates what any wire's communicator has. Not collective. */
scan_status scan_dist_comm_init(scan_dist_comm *comm);

/* Copies as much of a caller's struct as it has into the `size` bytes at `desc`, the rest is 0. Whether struct_size is
 * right is for the verb to say. */
void scan_dist_copy_struct(void *desc, size_t size, const void *given);

/* ARGUMENT if no context is in use, DEVICE if the link has failed, PEER if the communicator is broken. */
scan_status scan_dist_check_context(scan_dist_comm *comm);

/* Copies a struct like scan_dist_copy_struct. Fails like scan_dist_check_context, and with ARGUMENT if it is NULL. */
scan_status scan_dist_take_desc(scan_dist_comm *comm, void *desc, size_t size, const void *given, const char *name);

/* Copies between host and context memory, and waits for it. */
scan_status scan_dist_download(scan_dist_comm *comm, void *to_host, const void *from, size_t bytes);
scan_status scan_dist_upload(scan_dist_comm *comm, void *to, const void *from_host, size_t bytes);

/* If *n_device is not NULL, takes the count that it points to: *n becomes that if it is less, and *n_device NULL. */
scan_status scan_dist_take_count(scan_dist_comm *comm, const uint64_t **n_device, size_t *n);

/* ---- workspace.c ------------------------------------------------------------------------------------------------- */

/* Returns context memory of at least `bytes` bytes, whose content is lost after the call. */
scan_status scan_dist_workspace(scan_dist_comm *comm, size_t bytes, void **memory);
void scan_dist_drop_workspace(scan_dist_comm *comm);

/* Of functions that say how much a call takes: copies the caller's struct, of which fields that it has not are 0, and
 * gives the sizes that are asked for. */
scan_status scan_dist_copy_desc(const scan_dist_comm *comm, void *desc, size_t size, const void *given);
scan_status scan_dist_give_sizes(size_t own, size_t *bytes, size_t of_context, size_t *ctx_bytes);

static inline size_t scan_dist_max(size_t a, size_t b) { return a > b ? a : b; }

/* ---- exchange.c -------------------------------------------------------------------------------------------------- */

/* Moves bytes in host memory, and waits for it. A transfer may be from a rank to itself. PEER: the communicator is
 * broken. */
scan_status scan_dist_exchange_host(scan_dist_comm *comm, scan_dist_moves sends, scan_dist_moves receives);

/* Waits until the link is open; `failed`: why it did not begin to open, or NULL. */
scan_status scan_dist_wait_for_link(scan_dist_comm *comm, const char *failed);

/* What cannot be waited for any more is aborted, else it is closed with all ranks. */
void scan_dist_close_link(scan_dist_comm *comm);

/* The same in context memory. On CUDA it fails, on all ranks, if the link does, or if a rank cannot wait for its
 * context's work: with PEER on those that hear of it. */
scan_status scan_dist_exchange(scan_dist_comm *comm, scan_dist_moves sends, scan_dist_moves receives);

/* The same in two steps, for large transfers. The context's work on them is complete before; two exchanges may be under
 * way, and nothing else between ranks is called meanwhile. */
scan_status scan_dist_exchange_begin(scan_dist_comm *comm, scan_dist_moves sends, scan_dist_moves receives);
scan_status scan_dist_exchange_wait(scan_dist_comm *comm);

scan_status scan_dist_gather(scan_dist_comm *comm, const void *mine, size_t bytes, void *all);

/* Sums arrays of `count` integers of all ranks; every rank gets the sums. Host memory from scan_dist_sums, which
 * returns NULL if there is none; the caller frees it. */
uint64_t *scan_dist_sums(const scan_dist_comm *comm, size_t count);
scan_status scan_dist_sum(scan_dist_comm *comm, uint64_t *values, size_t count);

/* ---- agree.c ----------------------------------------------------------------------------------------------------- */

/* Agreement at the start of a call: `status` is this rank's so far. With SCAN_OK, comm->records has what each rank
 * gave. */
scan_status scan_dist_begin(scan_dist_comm *comm, scan_status status, uint64_t call, uint64_t n, uint64_t extra);

/* Agreement at the end of a call. */
scan_status scan_dist_end(scan_dist_comm *comm, scan_status status);

/* Adds a descriptor's field, or fields, to the hash of a call. */
uint64_t scan_dist_hash(uint64_t hash, uint64_t field);
uint64_t scan_dist_hash_all(uint64_t hash, const uint64_t *fields, size_t count);

/* ---- share.c ----------------------------------------------------------------------------------------------------- */

/* From the lengths in the records, where every share begins: comm->starts. Returns the length of the whole array. */
uint64_t scan_dist_find_starts(scan_dist_comm *comm);

/* This rank's share by comm->starts and the records. */
scan_dist_place scan_dist_place_of(const scan_dist_comm *comm);

/* Do arrays share a byte? Empty ones share nothing. */
bool scan_dist_overlap(const void *a, size_t a_bytes, const void *b, size_t b_bytes);

/* The type of indices for the whole array, whose starts are known, and the index of this rank's first element. ARGUMENT
 * if they do not fit. */
scan_status scan_dist_settle_index(scan_dist_comm *comm, scan_type *type, uint64_t *index_base);

#endif
