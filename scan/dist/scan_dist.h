/* SPDX-License-Identifier: MIT
 *
 * scan_dist: verbs of scan.h on arrays that are split over processes ("ranks"), on one machine or many. MPI starts the
 * ranks and moves the bytes; results are those of one context on the whole array, bit for bit.
 *
 *     scan_ctx *ctx;
 *     scan_dist_comm *comm;
 *     scan_prefix_desc sum = {.struct_size = sizeof sum, .type = SCAN_F64};
 *     if (scan_ctx_create(&ctx, NULL) == SCAN_OK && scan_dist_comm_create(&comm, NULL) == SCAN_OK &&
 *         scan_dist_comm_use(comm, ctx) == SCAN_OK)
 *         scan_dist_prefix(comm, &sum, in, out, n);      // in, out: this rank's n elements
 *
 * Conventions: those of scan.h, and
 *   Shares     An array is split over the ranks in order: rank 0 has its first elements, rank 1 the next, and so on.
 *              Each rank gives the call its own share and the length of it. Lengths differ as they like; shares may be
 *              empty, and then pointers may be NULL. The whole array may exceed 2^32 elements, as may a share.
 *   Collective A call is made by every rank of the communicator, in the same order and with the same descriptor
 *              (pointers in it aside), else it is SCAN_ERR_ARGUMENT on every rank. These concern one rank alone:
 *              scan_dist_comm_info, scan_dist_detail, scan_dist_cause, scan_dist_abort, scan_dist_reserve,
 *              scan_dist_lend and the *_workspace functions.
 *   Memory     Arrays are in context memory of the context that scan_dist_comm_use named. A call keeps what it
 *              allocates for the next one, until another context is named or the communicator is destroyed.
 *   Devices    On CUDA, device memory goes from rank to rank by NCCL, where this library was built with it. Each rank
 *              has a device of its own: NCCL refuses two ranks on one. Few and small things, counts and splitters, go
 *              by MPI in host memory. This was run on two H100 of one machine, not on more and not on several machines.
 *   Order      Calls are ordered on the context's stream: what was queued before a call is done before it, what is
 *              queued later comes after it. But a call waits, for the other ranks and until its results are complete
 *              on this rank, and cannot be captured: the lengths that ranks exchange come from the device to the host.
 *   Workspace  A call takes memory of the communicator, which grows when a call needs more, and verbs of scan.h that it
 *              calls take the context's own. After scan_dist_reserve and scan_ctx_reserve of what the *_workspace
 *              functions report a call allocates no context memory; after scan_dist_lend it takes the caller's. Every
 *              call allocates host memory.
 *   Threads    One thread at a time calls anything on a communicator, and nothing else on its context meanwhile.
 *   n_device   is read when the call begins, and waited for: lengths must be known to the host. The share then has
 *              min(*n_device, n) elements.
 *   Errors     A call begins with one small exchange of every rank's status and length, so that what is wrong on one
 *              rank, an argument or want of memory, is known to all before anything is moved. That rank gets its own
 *              status, the others SCAN_ERR_PEER; scan_dist_cause names the rank and its status, scan_dist_detail says
 *              the reason. What fails later on one rank is told at the end of the call in the same way. After
 *              either, outputs hold anything, and the communicator is as good as before.
 *              If a rank ends or calls scan_dist_abort, or MPI fails, every call of every other rank, also one that is
 *              waiting, returns SCAN_ERR_PEER, and so does each later one: the communicator is of no more use than to
 *              be destroyed, and scan_dist_comm_info says broken. Memory that was passed to the interrupted call must
 *              not be freed: MPI may still read or write there. The process should end.
 *              If NCCL fails, as where a rank has lost its device, the call fails on all ranks like any other; so do
 *              later ones, until scan_dist_comm_use names a context again.
 *              Ranks see at once that another one on their machine has ended. Of other machines the launcher knows;
 *              those of MPI (mpirun, srun) then end the whole job.
 *   Waiting    Waiting for a rank that works has no limit of time. The environment variable SCAN_DIST_TIMEOUT=SECONDS
 *              (10) limits what follows a failure: how long a rank tries to tell the others.
 */
#ifndef SCAN_SCAN_DIST_H
#define SCAN_SCAN_DIST_H

#include <scan/scan.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- communicator ------------------------------------------------------------------------------------------------ */

typedef struct scan_dist_comm scan_dist_comm;

typedef struct scan_dist_options {
    uint32_t struct_size;
    uint32_t reserved;    /* 0 */
    const void *mpi_comm; /* the address of an MPI_Comm, which is duplicated; NULL: MPI_COMM_WORLD, and MPI is
                             initialized if it is not */
    char *detail;         /* detail_bytes long: the reason when scan_dist_comm_create fails, terminated */
    size_t detail_bytes;
} scan_dist_options;

/* Creates a communicator. options NULL: of all ranks. On failure *comm is NULL. Collective.
 * Errors: ARGUMENT, VERSION, MEMORY, PEER (MPI cannot be initialized, or fails). */
SCAN_API scan_status scan_dist_comm_create(scan_dist_comm **comm, const scan_dist_options *options);

/* Frees the communicator, not its context. The one that initialized MPI finalizes it, unless it is broken; MPI cannot
 * be initialized again in this process. Collective; a broken communicator waits for no other rank. NULL is fine. */
SCAN_API void scan_dist_comm_destroy(scan_dist_comm *comm);

typedef struct scan_dist_info {
    uint32_t struct_size; /* set by the caller */
    uint32_t rank;        /* 0 ... size - 1 */
    uint32_t size;
    uint32_t local_rank; /* among the ranks on this machine, in the order of rank: to choose a device by */
    uint32_t local_size;
    uint32_t broken; /* 1: only scan_dist_comm_destroy is left to call */
} scan_dist_info;

SCAN_API scan_status scan_dist_comm_info(const scan_dist_comm *comm, scan_dist_info *info);

/* Names the context in which verbs compute and whose memory they take. It must live until the communicator is
 * destroyed or uses another; NULL: none. All ranks name a context of the same backend, or none. Collective.
 * Errors: ARGUMENT, MEMORY, PEER, NO_BACKEND (a context of the CUDA backend, and this build has no NCCL), DEVICE. */
SCAN_API scan_status scan_dist_comm_use(scan_dist_comm *comm, scan_ctx *ctx);

/* Returns the last failure in words, "" if none; valid until the next call. */
SCAN_API const char *scan_dist_detail(const scan_dist_comm *comm);

/* Returns the status that the last failed call had on the rank where it failed, and, if rank is not NULL, that rank.
 * SCAN_OK if no call has failed. SCAN_ERR_PEER if the rank ended or its failure is not known. */
SCAN_API scan_status scan_dist_cause(const scan_dist_comm *comm, uint32_t *rank);

/* As scan_ctx_reserve and scan_ctx_lend, of the communicator's memory, as long as it uses this context. They concern
 * one rank alone; a call for which what is lent is too small is SCAN_ERR_WORKSPACE on that rank, and PEER on the
 * others. Requirements are reported by the *_workspace functions: *bytes for scan_dist_reserve or scan_dist_lend and
 * *ctx_bytes for scan_ctx_reserve or scan_ctx_lend of the context in use; either may be NULL. They depend on the
 * descriptor, on n (and out_n) of this rank and on the number of ranks alone, not on the shares of others. Not
 * collective. Errors: ARGUMENT (no context is in use), ALIGNMENT, MEMORY, PEER (broken), WORKSPACE (to reserve more
 * than is lent); of a *_workspace function those of the verb's descriptor. */
SCAN_API scan_status scan_dist_reserve(scan_dist_comm *comm, size_t bytes);
SCAN_API scan_status scan_dist_lend(scan_dist_comm *comm, void *memory, size_t bytes);

/* ---- agreement, and small data in host memory -------------------------------------------------------------------- */

/* Agrees on whether all ranks are well: returns SCAN_OK if every rank passes SCAN_OK. Else a rank that passed another
 * status gets that one back, the others SCAN_ERR_PEER, and scan_dist_detail has the words (NULL: the status in words)
 * of the lowest such rank. Collective. */
SCAN_API scan_status scan_dist_agree(scan_dist_comm *comm, scan_status status, const char *words);

/* Tells all other ranks that this one cannot go on: the call in which they wait, or else their next, is SCAN_ERR_PEER
 * with these words (NULL: the status in words). For what happens outside a call of this header: where every rank comes
 * to scan_dist_agree, that is better. The communicator is broken from here on. Not collective. Returns when the others
 * can hear of it, at the latest after SCAN_DIST_TIMEOUT. */
SCAN_API void scan_dist_abort(scan_dist_comm *comm, scan_status status, const char *words);

/* all: receives `bytes` bytes from each rank, in the order of ranks. Host memory. Collective, with the same `bytes`.
 * Errors: ARGUMENT, PEER. */
SCAN_API scan_status scan_dist_all_gather(scan_dist_comm *comm, const void *mine, size_t bytes, void *all);

/* Sends to_bytes[r] bytes to each rank r and receives from_bytes[r] from it; what goes to or comes from rank 0 is first
 * in `to` and `from`, rank 1 next, without gaps. Host memory; `to` and `from` may not overlap. from_bytes must be what
 * the senders say. Collective. Errors: ARGUMENT (sizes that differ, on every rank), MEMORY, PEER. */
SCAN_API scan_status scan_dist_all_to_all(scan_dist_comm *comm, const void *to, const size_t *to_bytes, void *from,
                                          const size_t *from_bytes);

/* ---- verbs ------------------------------------------------------------------------------------------------------- */

/* Of carry_in and carry_out here. */
#define SCAN_DIST_CARRY_BYTES (SCAN_CARRY_BYTES + 64)

/* Like scan_prefix, over the whole array: in, out: this rank's n elements of it. init is folded in once, before the
 * first element of the array (reverse: after the last), and is the same on every rank. in == out is allowed as there.
 * carry_in and carry_out are for a long array in pieces, of which each is split over the ranks: on every rank
 * SCAN_DIST_CARRY_BYTES of context memory, aligned to 8, in which all get the same.
 * The bits are those of one context. For float add and mul, ranks pass the elements of a group (1 MiB, scan.h) that
 * their borders cut to one of them and back; the other operators move one value a rank. Memory: 3 MiB, and on a
 * device 8 bytes for each MiB of outputs. Reads a share twice (the last rank's: once). Deterministic.
 * Errors: as scan_prefix, and ARGUMENT (no context is in use), PEER; ALGORITHM also for float add and mul by a
 * teaching grid. */
SCAN_API scan_status scan_dist_prefix(scan_dist_comm *comm, const scan_prefix_desc *desc, const void *in, void *out,
                                      size_t n);
SCAN_API scan_status scan_dist_prefix_workspace(const scan_dist_comm *comm, const scan_prefix_desc *desc, size_t n,
                                                size_t *bytes, size_t *ctx_bytes);

/* ---- shares ------------------------------------------------------------------------------------------------------ */

/* Where a share lies in its array, in elements. */
typedef struct scan_dist_place {
    uint64_t before; /* on lower ranks */
    uint64_t count;  /* on this rank */
    uint64_t total;  /* on all ranks */
} scan_dist_place;

/* now: the share of this rank, which has n elements. even: its share of the same array in equal shares, of which the
 * first may have one element more. Either may be NULL. Collective. Errors: ARGUMENT, PEER. */
SCAN_API scan_status scan_dist_share(scan_dist_comm *comm, size_t n, scan_dist_place *now, scan_dist_place *even);

/* Moves an array from one split to another, in the same order: this rank has n elements of element_bytes bytes before,
 * and out_n after, any numbers that add up to the same on all ranks. in and out may not overlap. With the numbers of
 * scan_dist_share it balances what compaction leaves. Deterministic.
 * Errors: ARGUMENT (no context is in use, lengths that do not add up), OVERLAP, PEER. */
SCAN_API scan_status scan_dist_redistribute(scan_dist_comm *comm, size_t element_bytes, const void *in, size_t n,
                                            void *out, size_t out_n);

/* ---- more verbs -------------------------------------------------------------------------------------------------- */

/* Like scan_compact, of the whole array: in, the columns, flags and outputs are of this rank's share; what is kept
 * stays on the rank that has it. Indices are those of the whole array: index_base is the index of its first element,
 * and index_type 0 settles by its length. kept, if not NULL: where this rank's kept elements lie among those of all,
 * host memory; then every output may be NULL. Nothing but counts is moved.
 * Deterministic. Errors: as scan_compact, and ARGUMENT (no context is in use), PEER. */
SCAN_API scan_status scan_dist_compact(scan_dist_comm *comm, const scan_compact_desc *desc, const void *in,
                                       const scan_compact_out *out, size_t n, scan_dist_place *kept);
SCAN_API scan_status scan_dist_compact_workspace(const scan_dist_comm *comm, const scan_compact_desc *desc, size_t n,
                                                 size_t *bytes, size_t *ctx_bytes);

/* Like scan_unique, of the whole array: a run of equal elements that goes over borders of shares is one run. It belongs
 * to the rank of its first element, which gets its whole length. index_base, index_type and runs: as index_base,
 * index_type and kept of scan_dist_compact. kept == in is SCAN_ERR_OVERLAP. Deterministic.
 * Errors: as scan_unique, and ARGUMENT (no context is in use), PEER. */
SCAN_API scan_status scan_dist_unique(scan_dist_comm *comm, const scan_unique_desc *desc, const void *in,
                                      const scan_unique_out *out, size_t n, scan_dist_place *runs);
SCAN_API scan_status scan_dist_unique_workspace(const scan_dist_comm *comm, const scan_unique_desc *desc, size_t n,
                                                size_t *bytes, size_t *ctx_bytes);

/* Like scan_sort, of the whole array: this rank gives n keys (and values) of it and gets out_n of the sorted one, any
 * numbers that add up to the same on all ranks: those of scan_dist_share are equal to within one element. Shares have
 * these lengths whatever the keys: equal ones are divided where a share ends. Stable: of equal keys those of lower
 * ranks come first. keys_in == keys_out and values_in == values_out are allowed, with room for the larger number.
 * Memory: (n + out_n) keys and values, up to half of out_n more from three ranks on, half of n of 4-byte integers on
 * CUDA, and what scan_sort needs. The exchange goes in up to four stages, of which each is merged while the next is on
 * the way. Deterministic.
 * Errors: as scan_sort, and ARGUMENT (no context is in use, lengths that do not add up), PEER.
 */
SCAN_API scan_status scan_dist_sort(scan_dist_comm *comm, const scan_sort_desc *desc, const void *keys_in,
                                    void *keys_out, const void *values_in, void *values_out, size_t n, size_t out_n);
SCAN_API scan_status scan_dist_sort_workspace(const scan_dist_comm *comm, const scan_sort_desc *desc, size_t n,
                                              size_t out_n, size_t *bytes, size_t *ctx_bytes);

/* Like scan_argsort, of the whole array: keys are this rank's n, indices the out_n that its share of the permutation
 * has; they count from the first element of rank 0. index_type 0 settles by the length of the whole array. Memory:
 * 2 (n + out_n) keys and indices. Else as scan_dist_sort. */
SCAN_API scan_status scan_dist_argsort(scan_dist_comm *comm, const scan_sort_desc *desc, const void *keys,
                                       void *indices, size_t n, size_t out_n);
SCAN_API scan_status scan_dist_argsort_workspace(const scan_dist_comm *comm, const scan_sort_desc *desc, size_t n,
                                                 size_t out_n, size_t *bytes, size_t *ctx_bytes);

/* Like scan_equalize, with tables of all ranks' histogram: for an image in parts, or images that share tables. n counts
 * the pixels of this rank, mask is of its share; luts receives the tables on every rank. bins_in and bins_out are
 * ARGUMENT. Integers, so deterministic. Errors: as scan_equalize, and ARGUMENT (no context is in use), PEER. */
SCAN_API scan_status scan_dist_equalize(scan_dist_comm *comm, const scan_equalize_desc *desc, const void *in, void *out,
                                        void *luts, size_t n);
SCAN_API scan_status scan_dist_equalize_workspace(const scan_dist_comm *comm, const scan_equalize_desc *desc, size_t n,
                                                  size_t *bytes, size_t *ctx_bytes);

/* Like scan_histogram, of the whole array: bins receives on every rank the counts of all ranks. n counts the pixels of
 * this rank, mask is of its share. Integers, so deterministic. Errors: as scan_histogram, and ARGUMENT (no context is
 * in use), PEER. */
SCAN_API scan_status scan_dist_histogram(scan_dist_comm *comm, const scan_histogram_desc *desc, const void *in,
                                         uint64_t *bins, size_t n);
SCAN_API scan_status scan_dist_histogram_workspace(const scan_dist_comm *comm, const scan_histogram_desc *desc,
                                                   size_t n, size_t *bytes, size_t *ctx_bytes);

#ifdef __cplusplus
}
#endif

#endif
