/* SPDX-License-Identifier: MIT
 *
 * Bytes between ranks by MPI. Only non-blocking calls once a communicator exists, so that a rank that waits can hear
 * that another one failed. Counts of MPI are int: a transfer goes in chunks of CHUNK bytes.
 *
 * MPI does not say that a process on this machine has ended; its launcher does, to those that it then ends. So that a
 * rank ends with a reason, also under a launcher that leaves the others alone, ranks on one machine watch each other
 * (ended.c). A process that ends in order has met all others in MPI_Finalize, and nobody waits for it.
 */
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <mpi.h>

#include "ended.h"

enum { CHUNK = 1 << 30, TAG = 1 };

typedef struct batch {
    MPI_Request *requests;
    size_t count, room;
} batch;

typedef struct mpi_wire {
    MPI_Comm data, alarms; /* duplicates: nothing of the caller's is received here */
    bool initialized;      /* MPI, by this communicator */
    batch batches[2];      /* the earlier one under way, if any, is that at `first` */
    unsigned first, under_way;
    scan_dist_alarm told;
    scan_dist_ended *ended; /* NULL: nobody can be watched */
    double timeout;
    char words[MPI_MAX_ERROR_STRING + 32];
} mpi_wire;

static const char *explain(mpi_wire *w, const char *call, int error) {
    char text[MPI_MAX_ERROR_STRING];
    int length = 0;
    if (MPI_Error_string(error, text, &length) != MPI_SUCCESS)
        length = 0;
    snprintf(w->words, sizeof w->words, "%s: %.*s", call, length, text);
    return w->words;
}

/* Forwards a failure of MPI as text. */
#define MPI_TRY(w, call, arguments)                                                                                    \
    do {                                                                                                               \
        const int mpi_error = call arguments;                                                                          \
        if (mpi_error != MPI_SUCCESS)                                                                                  \
            return explain(w, #call, mpi_error);                                                                       \
    } while (0)

/* ---- transfers --------------------------------------------------------------------------------------------------- */

static size_t chunks_of(scan_dist_moves moves) {
    size_t count = 0;
    for (size_t i = 0; i < moves.count; i++)
        count += moves.list[i].bytes / CHUNK + 1;
    return count;
}

static const char *post(mpi_wire *w, batch *b, scan_dist_moves moves, bool sending, int rank) {
    for (size_t i = 0; i < moves.count; i++) {
        char *at = moves.list[i].at;
        const int peer = (int)moves.list[i].peer;
        for (size_t left = peer == rank ? 0 : moves.list[i].bytes; left;) {
            const int bytes = left < CHUNK ? (int)left : CHUNK;
            MPI_Request *request = &b->requests[b->count];
            if (sending)
                MPI_TRY(w, MPI_Isend, (at, bytes, MPI_BYTE, peer, TAG, w->data, request));
            else
                MPI_TRY(w, MPI_Irecv, (at, bytes, MPI_BYTE, peer, TAG, w->data, request));
            b->count++;
            at += bytes;
            left -= (size_t)bytes;
        }
    }
    return NULL;
}

static const char *mpi_begin(void *state, scan_dist_moves sends, scan_dist_moves receives) {
    mpi_wire *w = state;
    w->first = w->under_way ? w->first : 0; /* one exchange after another needs no second batch */
    batch *b = &w->batches[(w->first + w->under_way) % 2];
    const size_t needed = chunks_of(sends) + chunks_of(receives);
    int rank;
    if (needed > b->room) {
        MPI_Request *requests = realloc(b->requests, needed * sizeof *requests);
        if (!requests)
            return "no memory for the requests of an exchange";
        b->requests = requests;
        b->room = needed;
    }
    b->count = 0;
    w->under_way++;
    MPI_TRY(w, MPI_Comm_rank, (w->data, &rank));
    const char *failed = post(w, b, receives, false, rank);
    return failed ? failed : post(w, b, sends, true, rank);
}

static const char *mpi_test(void *state, bool *done) {
    mpi_wire *w = state;
    batch *b = &w->batches[w->first];
    int all = 0;
    MPI_TRY(w, MPI_Testall, ((int)b->count, b->requests, &all, MPI_STATUSES_IGNORE));
    *done = all;
    if (all) {
        w->first = (w->first + 1) % 2;
        w->under_way--;
    }
    return NULL;
}

/* ---- alarms ------------------------------------------------------------------------------------------------------ */

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* A rank that has ended takes no message, and MPI may fail to send it: the others are told all the same. Without
 * `watchers`, those that watch the same processes as this rank are left out: they see what it sees, and may not be here
 * any more to take a message. */
static void tell(mpi_wire *w, const scan_dist_alarm *alarm, double seconds, bool watchers) {
    int size = 0, rank = 0;
    const double until = now() + seconds;
    w->told = *alarm;
    MPI_Comm_size(w->alarms, &size);
    MPI_Comm_rank(w->alarms, &rank);
    MPI_Request *requests = malloc((size_t)size * sizeof *requests);
    if (!requests)
        return;
    for (int r = 0; r < size; r++)
        if (r == rank || r == (int)alarm->rank || (!watchers && scan_dist_watches(w->ended, (uint32_t)r)) ||
            MPI_Isend(&w->told, sizeof w->told, MPI_BYTE, r, TAG, w->alarms, &requests[r]) != MPI_SUCCESS)
            requests[r] = MPI_REQUEST_NULL;
    int all = 0;
    while (MPI_Testall(size, requests, &all, MPI_STATUSES_IGNORE) == MPI_SUCCESS && !all && now() < until)
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    for (int r = 0; r < size; r++)
        if (requests[r] != MPI_REQUEST_NULL)
            MPI_Request_free(&requests[r]);
    free(requests);
}

static void mpi_tell(void *state, const scan_dist_alarm *alarm, double seconds) { tell(state, alarm, seconds, true); }

static bool receive_alarm(mpi_wire *w, scan_dist_alarm *alarm) {
    MPI_Status from;
    int there = 0;
    if (MPI_Iprobe(MPI_ANY_SOURCE, TAG, w->alarms, &there, &from) != MPI_SUCCESS || !there)
        return false;
    if (MPI_Recv(alarm, sizeof *alarm, MPI_BYTE, from.MPI_SOURCE, TAG, w->alarms, MPI_STATUS_IGNORE) != MPI_SUCCESS)
        return false;
    alarm->words[SCAN_DIST_WORDS - 1] = 0;
    return true;
}

/* A rank may have said why it ends. */
static bool mpi_hear(void *state, scan_dist_alarm *alarm) {
    mpi_wire *w = state;
    uint32_t ended;
    if (receive_alarm(w, alarm))
        return true;
    if (!scan_dist_find_ended(w->ended, &ended))
        return false;
    if (receive_alarm(w, alarm) || receive_alarm(w, alarm))
        return true;
    *alarm = (scan_dist_alarm){.rank = ended, .status = SCAN_ERR_PEER};
    snprintf(alarm->words, sizeof alarm->words, "the process has ended");
    tell(w, alarm, w->timeout, false);
    return true;
}

/* ---- opening and closing ----------------------------------------------------------------------------------------- */

typedef struct name_list {
    char **names;
    size_t count;
} name_list;

static int add_name(struct dl_phdr_info *library, size_t size, void *arg) {
    name_list *l = arg;
    (void)size;
    char **more = realloc(l->names, (l->count + 1) * sizeof *more);
    if (more == NULL)
        return 1;
    l->names = more;
    more[l->count++] = strdup(library->dlpi_name);
    return 0;
}

/* MPI_Finalize of Open MPI 4.1 unloads its components before it ends the thread that handles their events, so that this
 * one may jump to where nothing is mapped any more. Libraries that are loaded now stay so until the process ends. */
static void keep_libraries(void) {
    name_list l = {NULL, 0};
    dl_iterate_phdr(add_name, &l);
    for (size_t i = 0; i < l.count; i++) {
        if (l.names[i] && l.names[i][0])
            (void)dlopen(l.names[i], RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
        free(l.names[i]);
    }
    free(l.names);
}

/* What a broken communicator was doing goes on in MPI: its duplicates stay, and MPI is not finalized, for that would
 * wait for ranks that do not come. */
static void mpi_close(void *state, bool broken) {
    mpi_wire *w = state;
    if (!broken) {
        MPI_Comm_free(&w->data);
        MPI_Comm_free(&w->alarms);
        if (w->initialized) {
            keep_libraries();
            MPI_Finalize();
        }
    }
    scan_dist_unwatch(w->ended);
    if (!broken || w->under_way == 0) {
        free(w->batches[0].requests);
        free(w->batches[1].requests);
        free(w);
    }
}

static const scan_dist_wire mpi_table = {
    .begin = mpi_begin, .test = mpi_test, .hear = mpi_hear, .tell = mpi_tell, .close = mpi_close};

static const char *initialize(mpi_wire *w) {
    int flag = 0;
    MPI_TRY(w, MPI_Finalized, (&flag));
    if (flag)
        return "MPI is finalized: it cannot be used again in this process";
    MPI_TRY(w, MPI_Initialized, (&flag));
    if (flag)
        return NULL;
    MPI_TRY(w, MPI_Init_thread, (NULL, NULL, MPI_THREAD_FUNNELED, &flag));
    w->initialized = true;
    return NULL;
}

static const char *count_local(mpi_wire *w, scan_dist_comm *comm) {
    MPI_Comm local;
    int rank = 0, size = 1;
    MPI_TRY(w, MPI_Comm_split_type, (w->data, MPI_COMM_TYPE_SHARED, (int)comm->rank, MPI_INFO_NULL, &local));
    MPI_Comm_rank(local, &rank);
    MPI_Comm_size(local, &size);
    MPI_Comm_free(&local);
    comm->local_rank = (uint32_t)rank;
    comm->local_size = (uint32_t)size;
    comm->crowded = size > sysconf(_SC_NPROCESSORS_ONLN);
    return NULL;
}

/* Every rank tells which process it is. */
static const char *watch(mpi_wire *w, const scan_dist_comm *comm, scan_dist_process *all) {
    const scan_dist_process own = scan_dist_own_process();
    MPI_TRY(w, MPI_Allgather, (&own, sizeof own, MPI_BYTE, all, sizeof own, MPI_BYTE, w->data));
    w->ended = scan_dist_watch(all, comm->rank, comm->size);
    return NULL;
}

static const char *duplicate(mpi_wire *w, scan_dist_comm *comm, const void *given) {
    MPI_Comm of = MPI_COMM_WORLD;
    int rank = 0, size = 0;
    if (given)
        memcpy(&of, given, sizeof of);
    MPI_TRY(w, MPI_Comm_dup, (of, &w->data));
    MPI_TRY(w, MPI_Comm_dup, (of, &w->alarms));
    MPI_TRY(w, MPI_Comm_set_errhandler, (w->data, MPI_ERRORS_RETURN));
    MPI_TRY(w, MPI_Comm_set_errhandler, (w->alarms, MPI_ERRORS_RETURN));
    MPI_TRY(w, MPI_Comm_rank, (w->data, &rank));
    MPI_TRY(w, MPI_Comm_size, (w->data, &size));
    comm->rank = (uint32_t)rank;
    comm->size = (uint32_t)size;
    return count_local(w, comm);
}

/* No rank may leave before the others know that it cannot stay. Returns what MPI failed with, or NULL. */
static const char *open_wire(mpi_wire *w, scan_dist_comm *comm, const void *given, bool *all_ready) {
    const char *failed = initialize(w);
    if (!failed)
        failed = duplicate(w, comm, given);
    if (failed)
        return failed;
    scan_dist_process *processes = malloc(comm->size * sizeof *processes);
    if (!processes)
        scan_dist_fail(comm, SCAN_ERR_MEMORY, "no memory for the processes of all ranks");
    int ready = comm->cause == SCAN_OK, least = 0;
    const int error = MPI_Allreduce(&ready, &least, 1, MPI_INT, MPI_MIN, w->data);
    *all_ready = error == MPI_SUCCESS && least;
    if (*all_ready)
        failed = watch(w, comm, processes);
    free(processes);
    return error == MPI_SUCCESS ? failed : explain(w, "MPI_Allreduce", error);
}

scan_status scan_dist_open_mpi(scan_dist_comm *comm, const void *mpi_comm) {
    mpi_wire *w = calloc(1, sizeof *w), none = {0};
    bool all_ready = true;
    if (!w)
        scan_dist_fail(comm, SCAN_ERR_MEMORY, "no memory for a communicator");
    mpi_wire *used = w ? w : &none;
    used->timeout = scan_dist_timeout();
    const char *failed = open_wire(used, comm, mpi_comm, &all_ready);
    if (!failed && all_ready) {
        comm->wire = &mpi_table;
        comm->wire_state = w;
        return SCAN_OK;
    }
    if (failed) {
        scan_dist_fail(comm, SCAN_ERR_PEER, "%s", failed);
    } else {
        MPI_Comm_free(&used->data);
        MPI_Comm_free(&used->alarms);
    }
    scan_status status = failed ? SCAN_ERR_PEER : comm->cause;
    if (!failed && status == SCAN_OK)
        status = scan_dist_fail(comm, SCAN_ERR_PEER, "another rank cannot take part");
    free(w);
    return status;
}
