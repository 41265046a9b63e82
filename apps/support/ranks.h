/* SPDX-License-Identifier: MIT
 *
 * Ranks: the processes of one job, which a launcher of MPI (mpirun, srun) has started with the same arguments. Each
 * runs the whole program. It reads its own shares of the input, computes them with the others by libscan_dist, and
 * writes its own shares of the output (output_share.h). libscan_dist is loaded only then: a program that is alone needs
 * neither it nor MPI, and here it has one rank, number 0.
 *
 * Ranks end together, with one line and one exit code. What is collective is called by all of them, in the same order.
 * A rank that dies takes part in the call that the others make next, whichever it is, and so tells them: all end with
 * its code, and of several that die the lowest says its line. If the others do not come in time (SCAN_DIST_TIMEOUT),
 * because they compute, it ends alone, and its launcher or their next call ends them. A rank that is killed is missed
 * in the same way.
 *
 * All of this is for the main thread.
 */
#ifndef APPS_SUPPORT_RANKS_H
#define APPS_SUPPORT_RANKS_H

#include <stdbool.h>

#include "scan/dist/scan_dist.h"

/* After cli_start, before there are threads. Without a launcher, or with SCAN_DIST=off, it does nothing. Exit 2 where
 * this build cannot do what the launcher asks for. */
void ranks_start(int argc, char **argv);

/* The last call: waits until all ranks have come here. Later errors are this process's alone. */
void ranks_finish(void);

unsigned ranks_count(void);
unsigned ranks_own(void);   /* 0 ... ranks_count() - 1 */
unsigned ranks_local(void); /* the number among the ranks on this machine */

static inline bool ranks_several(void) { return ranks_count() > 1; }

/* The threads of one rank, where the options do not say how many: the ranks on a machine share its processors. */
unsigned ranks_threads(void);

/* If there are several ranks: exit 2, for what they cannot do together, printf format. */
__attribute__((format(printf, 1, 2))) void ranks_refuse(const char *format, ...);

/* ---- collective -------------------------------------------------------------------------------------------------- */

/* all: receives `bytes` bytes from each rank, in the order of ranks. */
void ranks_gather(const void *mine, size_t bytes, void *all);

/* Of one number of each rank. */
typedef struct ranks_sum {
    uint64_t before, total; /* of lower ranks, and of all */
} ranks_sum;

ranks_sum ranks_add(uint64_t mine);
uint64_t ranks_min(uint64_t mine);

/* Returns true if this rank has the least number, which is less than UINT64_MAX: it dies of what it has there. Where
 * another rank has it, this one ends with that one. */
bool ranks_has_first(uint64_t mine);

/* All of `bytes` bytes from each rank, which differ, one behind another in the order of ranks, in memory to be freed.
 */
void *ranks_collect(const void *mine, size_t bytes, size_t *total);

/* Sends bytes[r] bytes to each rank r, in `data` one behind another; returns what they send here, in the order of
 * ranks, in memory to be freed, and how much it is. */
void *ranks_exchange(const void *data, const size_t *bytes, size_t *received);

/* Agrees on a failure, without ending: returns SCAN_OK if every rank passes SCAN_OK; else this rank's own status, or
 * SCAN_ERR_PEER. */
scan_status ranks_agree(scan_status status, const char *words);

/* This rank's part of n things, in order: parts are equal but for one. */
typedef struct ranks_part {
    uint64_t first, count;
} ranks_part;

ranks_part ranks_part_of(uint64_t n);
ranks_part ranks_part_at(uint64_t n, unsigned rank); /* another rank's */

/* ---- libscan_dist ------------------------------------------------------------------------------------------------ */

#define RANKS_CALLS(X)                                                                                                 \
    X(comm_create)                                                                                                     \
    X(comm_destroy)                                                                                                    \
    X(comm_info)                                                                                                       \
    X(comm_use)                                                                                                        \
    X(detail)                                                                                                          \
    X(cause)                                                                                                           \
    X(agree)                                                                                                           \
    X(all_gather)                                                                                                      \
    X(all_to_all)                                                                                                      \
    X(unique)                                                                                                          \
    X(sort)                                                                                                            \
    X(argsort)

/* Its functions: ranks_library()->sort is scan_dist_sort. */
typedef struct ranks_calls {
#define X(name) __typeof__(scan_dist_##name) *name;
    RANKS_CALLS(X)
#undef X
} ranks_calls;

const ranks_calls *ranks_library(void);
scan_dist_comm *ranks_comm(void);

/* Takes the status of one of them: ends the program, like every rank, unless it is SCAN_OK. subject: the input's name.
 */
void ranks_take(scan_status status, const char *subject);

#endif
