/* SPDX-License-Identifier: MIT
 *
 * Agreement: the small exchange with which calls begin and end. Every rank gathers the records of all; where one has
 * failed, the others get its words from it. Where a rank cannot come to an agreement it aborts.
 */
#include <string.h>

#include "dist.h"

/* Multiplication spreads a field to the bits above it, the rotation brings those down for the next. */
uint64_t scan_dist_hash(uint64_t hash, uint64_t field) {
    hash = (hash ^ field) * UINT64_C(0x9e3779b97f4a7c15);
    return hash << 23 | hash >> 41;
}

uint64_t scan_dist_hash_all(uint64_t hash, const uint64_t *fields, size_t count) {
    for (size_t i = 0; i < count; i++)
        hash = scan_dist_hash(hash, fields[i]);
    return hash;
}

/* The words of the lowest rank that failed, from that rank to all others. */
static scan_status spread_words(scan_dist_comm *comm, uint32_t from, char *words) {
    scan_dist_move *moves = comm->moves;
    size_t count = 0;
    if (comm->rank != from) {
        moves[0] = (scan_dist_move){words, SCAN_DIST_WORDS, from};
        return scan_dist_exchange_host(comm, (scan_dist_moves){NULL, 0}, (scan_dist_moves){moves, 1});
    }
    memcpy(words, comm->detail, SCAN_DIST_WORDS);
    for (uint32_t r = 0; r < comm->size; r++)
        if (r != from)
            moves[count++] = (scan_dist_move){words, SCAN_DIST_WORDS, r};
    return scan_dist_exchange_host(comm, (scan_dist_moves){moves, count}, (scan_dist_moves){NULL, 0});
}

static scan_status agree_on_failure(scan_dist_comm *comm, uint32_t failed, scan_status status) {
    char words[SCAN_DIST_WORDS];
    SCAN_TRY(spread_words(comm, failed, words));
    words[SCAN_DIST_WORDS - 1] = 0;
    comm->cause = (scan_status)comm->records[failed].status;
    comm->cause_rank = failed;
    if (failed == comm->rank || (status != SCAN_OK && status != SCAN_ERR_PEER))
        return status;
    return scan_dist_fail(comm, SCAN_ERR_PEER, "rank %u: %.*s", failed, SCAN_DIST_WORDS - 32, words);
}

/* Returns the lowest rank that has failed by itself; else the lowest that has heard of a failure; else size. */
static uint32_t find_failed(const scan_dist_comm *comm) {
    uint32_t heard = comm->size;
    for (uint32_t r = comm->size; r-- > 0;)
        if (comm->records[r].status == SCAN_ERR_PEER)
            heard = r;
    for (uint32_t r = 0; r < comm->size; r++)
        if (comm->records[r].status != SCAN_OK && comm->records[r].status != SCAN_ERR_PEER)
            return r;
    return heard;
}

/* An alarm may not have come yet. All ranks close the link in the same way, for NCCL may wait for the others. */
static void agree_on_link(scan_dist_comm *comm) {
    for (uint32_t r = 0; r < comm->size; r++)
        if (comm->records[r].link_failed && comm->link) {
            comm->link_failed = true;
            scan_dist_close_link(comm);
        }
}

scan_status scan_dist_begin(scan_dist_comm *comm, scan_status status, uint64_t call, uint64_t n, uint64_t extra) {
    const scan_dist_record mine = {(uint32_t)status, comm->link_failed, call, n, extra};
    if (status == SCAN_OK && !comm->broken)
        comm->detail[0] = 0;
    SCAN_TRY(scan_dist_gather(comm, &mine, sizeof mine, comm->records));
    agree_on_link(comm);
    const uint32_t failed = find_failed(comm);
    if (failed < comm->size)
        return agree_on_failure(comm, failed, status);
    for (uint32_t r = 1; r < comm->size; r++)
        if (comm->records[r].call != comm->records[0].call) {
            comm->cause = SCAN_ERR_ARGUMENT;
            comm->cause_rank = r;
            return scan_dist_fail(comm, SCAN_ERR_ARGUMENT, "ranks 0 and %u make different calls or pass different %s",
                                  r, "descriptors");
        }
    return SCAN_OK;
}

scan_status scan_dist_end(scan_dist_comm *comm, scan_status status) { return scan_dist_begin(comm, status, 'e', 0, 0); }

scan_status scan_dist_agree(scan_dist_comm *comm, scan_status status, const char *words) {
    if (!comm)
        return SCAN_ERR_ARGUMENT;
    if (status != SCAN_OK && !comm->broken)
        scan_dist_fail(comm, status, "%s", words ? words : scan_status_string(status));
    return scan_dist_begin(comm, status, 'a', 0, 0);
}

void scan_dist_abort(scan_dist_comm *comm, scan_status status, const char *words) {
    if (!comm || comm->broken)
        return;
    scan_dist_alarm alarm = {.rank = comm->rank, .status = (int32_t)status};
    scan_dist_fail(comm, status, "%s", words ? words : scan_status_string(status));
    memcpy(alarm.words, comm->detail, SCAN_DIST_WORDS);
    comm->broken = true;
    comm->cause = status;
    comm->cause_rank = comm->rank;
    comm->wire->tell(comm->wire_state, &alarm, comm->timeout);
    scan_dist_close_link(comm);
}
