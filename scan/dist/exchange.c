/* SPDX-License-Identifier: MIT
 *
 * Exchanges: the one loop that waits for other ranks, and what is built on it.
 *
 * A rank that waits polls, so that it hears an alarm. After a while it sleeps between polls if what it waits for is
 * small: then it waits for a rank that works, which may need this processor. A large exchange comes after an agreement,
 * all ranks are in it, and MPI moves bytes only while it is called.
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "dist.h"

enum {
    SMALL_BYTES = 64 << 10,
    YIELDS = 200,          /* before the first sleep */
    CROWDED_YIELDS = 4,    /* of ranks that share processors: each lets another process run */
    DEVICE_YIELDS = 50000, /* ranks with a device have a processor */
    MAX_SLEEP_NS = 200000,
    MAX_GRACE_MS = 1000 /* from what the wire reports to the end of the process that is the reason */
};

typedef struct patience {
    unsigned yields;
    long sleep_ns;
    bool large;
} patience;

static void rest(patience *p) {
    if (p->large || p->yields > 0) {
        p->yields -= p->yields > 0;
        sched_yield();
        return;
    }
    nanosleep(&(struct timespec){.tv_nsec = p->sleep_ns}, NULL);
    if (p->sleep_ns < MAX_SLEEP_NS)
        p->sleep_ns += p->sleep_ns / 4;
}

/* ---- transfers --------------------------------------------------------------------------------------------------- */

void scan_dist_close_link(scan_dist_comm *comm) {
    if (comm->link)
        comm->link->close(comm->link_state, comm->broken || comm->link_failed);
    comm->link = NULL;
}

/* Hears what ends a wait: all of it if the rank cannot go on, that of the link if that has failed. A link may be closed
 * by the time that its failure is heard of. */
static bool hear(scan_dist_comm *comm, bool on_link) {
    scan_dist_alarm alarm;
    if (!comm->wire->hear(comm->wire_state, &alarm))
        return false;
    if (alarm.link && (!comm->link || alarm.link != comm->link_number))
        return false;
    comm->broken = alarm.link == 0;
    comm->link_failed = alarm.link > 0;
    scan_dist_close_link(comm);
    if (alarm.link && !on_link)
        return false;
    comm->cause = (scan_status)alarm.status;
    comm->cause_rank = alarm.rank;
    scan_dist_fail(comm, SCAN_ERR_PEER, "rank %u: %.*s", alarm.rank, SCAN_DIST_WORDS - 32, alarm.words);
    return true;
}

/* A rank that has ended, or has told why it cannot go on, may be the reason of a failure: that is better to know.
 * Returns false if there is none. */
static bool hear_reason(scan_dist_comm *comm, bool on_link) {
    for (int waited_ms = 0; waited_ms < MAX_GRACE_MS; waited_ms++) {
        if (hear(comm, on_link))
            return true;
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    return false;
}

static scan_status wire_failed(scan_dist_comm *comm, const char *words) {
    char kept[SCAN_DIST_WORDS];
    snprintf(kept, sizeof kept, "%s", words);
    if (!hear_reason(comm, false))
        scan_dist_abort(comm, SCAN_ERR_PEER, kept);
    return SCAN_ERR_PEER;
}

/* The link of this rank has failed, which the others are told. A lost device is the better reason. */
static scan_status link_failed(scan_dist_comm *comm, const char *words) {
    scan_dist_alarm alarm = {.rank = comm->rank, .link = comm->link_number};
    char kept[SCAN_DIST_WORDS];
    snprintf(kept, sizeof kept, "%s", words);
    if (hear_reason(comm, true))
        return SCAN_ERR_PEER;
    scan_status status = scan_dist_take(comm, comm->ctx, scan_ctx_sync(comm->ctx));
    if (status == SCAN_OK)
        status = scan_dist_fail(comm, SCAN_ERR_DEVICE, "%s", kept);
    alarm.status = (int32_t)status;
    memcpy(alarm.words, comm->detail, sizeof alarm.words);
    comm->wire->tell(comm->wire_state, &alarm, comm->timeout);
    comm->link_failed = true;
    scan_dist_close_link(comm);
    return status;
}

static unsigned yields_of(const scan_dist_comm *comm) {
    if (comm->device)
        return DEVICE_YIELDS;
    return comm->crowded ? CROWDED_YIELDS : YIELDS;
}

/* Polls one of a wire's questions until the answer is yes; link: it is the link's. */
static scan_status wait_for(scan_dist_comm *comm, const char *ask(void *state, bool *done), bool link, bool large) {
    void *state = link ? comm->link_state : comm->wire_state;
    patience p = {.yields = yields_of(comm), .sleep_ns = 10000, .large = large};
    for (;;) {
        bool done = false;
        const char *failed = ask(state, &done);
        if (failed)
            return link ? link_failed(comm, failed) : wire_failed(comm, failed);
        if (done)
            return SCAN_OK;
        if (hear(comm, link))
            return SCAN_ERR_PEER;
        rest(&p);
    }
}

/* Copies what the rank sends to itself. The lists have such transfers in the same order. */
static void copy_own(scan_dist_moves sends, scan_dist_moves receives, uint32_t rank) {
    size_t s = 0;
    for (size_t r = 0; r < receives.count; r++) {
        if (receives.list[r].peer != rank)
            continue;
        while (sends.list[s].peer != rank)
            s++;
        if (receives.list[r].bytes)
            memcpy(receives.list[r].at, sends.list[s].at, receives.list[r].bytes);
        s++;
    }
}

static size_t bytes_of(scan_dist_moves moves) {
    size_t bytes = 0;
    for (size_t i = 0; i < moves.count; i++)
        bytes += moves.list[i].bytes;
    return bytes;
}

static scan_status begin_host(scan_dist_comm *comm, scan_dist_moves sends, scan_dist_moves receives) {
    if (comm->broken)
        return SCAN_ERR_PEER;
    const char *failed = comm->wire->begin(comm->wire_state, sends, receives);
    if (failed)
        return wire_failed(comm, failed);
    copy_own(sends, receives, comm->rank);
    return SCAN_OK;
}

scan_status scan_dist_exchange_host(scan_dist_comm *comm, scan_dist_moves sends, scan_dist_moves receives) {
    SCAN_TRY(begin_host(comm, sends, receives));
    return wait_for(comm, comm->wire->test, false, bytes_of(sends) + bytes_of(receives) > SMALL_BYTES);
}

scan_status scan_dist_wait_for_link(scan_dist_comm *comm, const char *failed) {
    if (failed)
        return link_failed(comm, failed);
    return comm->link->started ? wait_for(comm, comm->link->started, true, true) : SCAN_OK;
}

scan_status scan_dist_exchange_begin(scan_dist_comm *comm, scan_dist_moves sends, scan_dist_moves receives) {
    if (comm->broken || comm->link_failed)
        return SCAN_ERR_PEER;
    if (!comm->link)
        return begin_host(comm, sends, receives);
    return scan_dist_wait_for_link(comm, comm->link->begin(comm->link_state, sends, receives));
}

scan_status scan_dist_exchange_wait(scan_dist_comm *comm) {
    if (comm->broken || comm->link_failed)
        return SCAN_ERR_PEER;
    return comm->link ? wait_for(comm, comm->link->test, true, true) : wait_for(comm, comm->wire->test, false, true);
}

scan_status scan_dist_exchange(scan_dist_comm *comm, scan_dist_moves sends, scan_dist_moves receives) {
    if (comm->broken || comm->link_failed)
        return SCAN_ERR_PEER;
    if (!comm->link)
        return scan_dist_exchange_host(comm, sends, receives);
    if (sends.count + receives.count == 0)
        return SCAN_OK;
    if (scan_ctx_sync(comm->ctx) != SCAN_OK)
        return link_failed(comm, scan_ctx_detail(comm->ctx));
    SCAN_TRY(scan_dist_exchange_begin(comm, sends, receives));
    return scan_dist_exchange_wait(comm);
}

/* ---- gathering --------------------------------------------------------------------------------------------------- */

/* Bruck's algorithm: in step k a rank has the data of k ranks from its own on, and gets those of the next k. */
scan_status scan_dist_gather(scan_dist_comm *comm, const void *mine, size_t bytes, void *all) {
    const uint32_t size = comm->size, rank = comm->rank;
    char *at = all;
    if (comm->broken)
        return SCAN_ERR_PEER;
    if (bytes == 0)
        return SCAN_OK;
    memcpy(at + rank * bytes, mine, bytes);
    for (uint32_t have = 1; have < size; have *= 2) {
        const uint32_t more = have < size - have ? have : size - have;
        scan_dist_move sends[2], receives[2];
        size_t count[2] = {0, 0};
        for (int receiving = 0; receiving < 2; receiving++) {
            /* of the ranks first ... first + more - 1, which may go round the end */
            const uint32_t first = receiving ? (rank + have) % size : rank;
            const uint32_t peer = receiving ? first : (rank + size - have) % size;
            const uint32_t straight = more < size - first ? more : size - first;
            scan_dist_move *list = receiving ? receives : sends;
            list[count[receiving]++] = (scan_dist_move){at + first * bytes, straight * bytes, peer};
            if (straight < more)
                list[count[receiving]++] = (scan_dist_move){at, (more - straight) * bytes, peer};
        }
        SCAN_TRY(
            scan_dist_exchange_host(comm, (scan_dist_moves){sends, count[0]}, (scan_dist_moves){receives, count[1]}));
    }
    return SCAN_OK;
}

/* What fits a record's two numbers goes with the agreement. */
scan_status scan_dist_all_gather(scan_dist_comm *comm, const void *mine, size_t bytes, void *all) {
    uint64_t numbers[2] = {0, 0};
    if (!comm)
        return SCAN_ERR_ARGUMENT;
    scan_status status = bytes && (!mine || !all)
                             ? scan_dist_fail(comm, SCAN_ERR_ARGUMENT, "scan_dist_all_gather: a pointer is NULL")
                             : SCAN_OK;
    const bool is_small = bytes <= sizeof numbers;
    if (is_small && bytes && status == SCAN_OK)
        memcpy(numbers, mine, bytes);
    SCAN_TRY(scan_dist_begin(comm, status, scan_dist_hash('g', bytes), numbers[0], numbers[1]));
    if (!is_small)
        return scan_dist_gather(comm, mine, bytes, all);
    for (uint32_t r = 0; r < comm->size && bytes; r++) {
        numbers[0] = comm->records[r].n;
        numbers[1] = comm->records[r].extra;
        memcpy((char *)all + r * bytes, numbers, bytes);
    }
    return SCAN_OK;
}

uint64_t *scan_dist_sums(const scan_dist_comm *comm, size_t count) {
    const size_t slice = (count + comm->size - 1) / comm->size;
    return calloc(2 * comm->size * slice, sizeof(uint64_t));
}

/* Rank r sums slice r of all ranks; then every rank gathers the slices. */
scan_status scan_dist_sum(scan_dist_comm *comm, uint64_t *values, size_t count) {
    const uint32_t size = comm->size;
    const size_t slice = (count + size - 1) / size;
    uint64_t *received = values + size * slice;
    scan_dist_move *sends = comm->moves, *receives = sends + size;
    for (uint32_t r = 0; r < size; r++) {
        sends[r] = (scan_dist_move){values + r * slice, slice * sizeof *values, r};
        receives[r] = (scan_dist_move){received + r * slice, slice * sizeof *values, r};
    }
    SCAN_TRY(scan_dist_exchange_host(comm, (scan_dist_moves){sends, size}, (scan_dist_moves){receives, size}));
    for (uint32_t r = 1; r < size; r++)
        for (size_t i = 0; i < slice; i++)
            received[i] += received[r * slice + i];
    return scan_dist_gather(comm, received, slice * sizeof *values, values);
}

/* ---- all to all -------------------------------------------------------------------------------------------------- */

static size_t list_shares(const scan_dist_comm *comm, scan_dist_move *moves, void *at, const size_t *bytes) {
    size_t count = 0;
    char *place = at;
    for (uint32_t r = 0; r < comm->size; r++) {
        if (bytes[r])
            moves[count++] = (scan_dist_move){place, bytes[r], r};
        place += bytes[r];
    }
    return count;
}

/* Compares what each rank sends here with what this one expects. The sizes, p of each rank, stand in `starts`. */
static scan_status check_sizes(scan_dist_comm *comm, const size_t *to_bytes, const size_t *from_bytes) {
    const uint32_t size = comm->size;
    scan_dist_move *sends = comm->moves, *receives = sends + size;
    for (uint32_t r = 0; r < size; r++) {
        sends[r] = (scan_dist_move){(void *)(uintptr_t)&to_bytes[r], sizeof(size_t), r};
        receives[r] = (scan_dist_move){&comm->starts[r], sizeof(size_t), r};
    }
    SCAN_TRY(scan_dist_exchange_host(comm, (scan_dist_moves){sends, size}, (scan_dist_moves){receives, size}));
    for (uint32_t r = 0; r < size; r++)
        if (comm->starts[r] != from_bytes[r])
            return scan_dist_fail(comm, SCAN_ERR_ARGUMENT,
                                  "scan_dist_all_to_all: rank %u sends %zu bytes, from_bytes says %zu", r,
                                  (size_t)comm->starts[r], from_bytes[r]);
    return SCAN_OK;
}

scan_status scan_dist_all_to_all(scan_dist_comm *comm, const void *to, const size_t *to_bytes, void *from,
                                 const size_t *from_bytes) {
    if (!comm)
        return SCAN_ERR_ARGUMENT;
    scan_status status = SCAN_OK;
    if (!to_bytes || !from_bytes)
        status = scan_dist_fail(comm, SCAN_ERR_ARGUMENT, "scan_dist_all_to_all: to_bytes or from_bytes is NULL");
    SCAN_TRY(scan_dist_begin(comm, status, 't', 0, 0));
    status = check_sizes(comm, to_bytes, from_bytes);
    if (comm->broken)
        return SCAN_ERR_PEER;
    scan_dist_move *sends = comm->moves, *receives = sends + comm->size;
    const size_t send_count = list_shares(comm, sends, (void *)(uintptr_t)to, to_bytes);
    const size_t receive_count = list_shares(comm, receives, from, from_bytes);
    if (status == SCAN_OK && ((send_count && !to) || (receive_count && !from)))
        status = scan_dist_fail(comm, SCAN_ERR_ARGUMENT, "scan_dist_all_to_all: a pointer is NULL");
    SCAN_TRY(scan_dist_begin(comm, status, 't', 0, 0));
    return scan_dist_exchange_host(comm, (scan_dist_moves){sends, send_count},
                                   (scan_dist_moves){receives, receive_count});
}
