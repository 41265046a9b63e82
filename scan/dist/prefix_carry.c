/* SPDX-License-Identifier: MIT
 *
 * Arrays in pieces, of which each is split over the ranks: what scan_dist_prefix takes over from the piece before. A
 * carry is that of scan_prefix, and how many elements there were. A piece that begins inside a group goes on with it:
 *
 *     pieces      | group 0 | group 1 | gr   |   up 2 | group 3 |
 *     positions                       0      past
 *
 * The rank that has the first element owns the group, and scans what is left of it with the carry. The rank whose scan
 * has the last element gives its carry to all.
 */
#include <string.h>

#include "prefix.h"

typedef struct carry_end {
    uint64_t count; /* elements of all pieces so far */
    uint64_t any;   /* they or init: the fold is one */
} carry_end;

_Static_assert(SCAN_CARRY_BYTES + sizeof(carry_end) <= SCAN_DIST_CARRY_BYTES, "the public size");

/* ---- the piece before -------------------------------------------------------------------------------------------- */

scan_status scan_dist_prefix_carry_in(scan_dist_prefix_job *j) {
    scan_dist_comm *comm = j->comm;
    const char *carry = j->desc.carry_in;
    carry_end end;
    j->so_far = (scan_dist_prefix_fold){.any = j->desc.init != NULL};
    if (j->desc.init)
        memcpy(&j->so_far.bits, j->desc.init, j->out_size);
    if (!carry)
        return SCAN_OK;
    SCAN_TRY(scan_dist_download(comm, &end, carry + SCAN_CARRY_BYTES, sizeof end));
    j->so_far.any = end.any;
    if (end.any)
        SCAN_TRY(scan_dist_download(comm, &j->so_far.bits, carry, j->out_size));
    j->count = end.count;
    j->past = j->ordered ? end.count % j->group : 0;
    return SCAN_OK;
}

/* After the rest of the first group, whose elements lie at `in`. */
scan_status scan_dist_prefix_open(const scan_dist_prefix_job *j, const void *in, size_t n, void *out, uint64_t *fold) {
    scan_prefix_desc desc = j->desc;
    desc.carry_out = j->carry;
    *fold = 0;
    SCAN_TRY(scan_dist_take(j->comm, j->comm->ctx, scan_prefix(j->comm->ctx, &desc, in, out, n)));
    return scan_dist_download(j->comm, fold, j->carry, j->out_size);
}

/* ---- the piece after --------------------------------------------------------------------------------------------- */

/* Of the rank that has the last element, to all. */
static scan_status spread(const scan_dist_prefix_job *j, unsigned char *carry) {
    scan_dist_comm *comm = j->comm;
    const uint32_t rank = scan_dist_prefix_rank(j, scan_dist_prefix_owner(j, j->total - 1));
    size_t count = 0;
    if (comm->rank != rank) {
        comm->moves[0] = (scan_dist_move){carry, SCAN_CARRY_BYTES, rank};
        return scan_dist_exchange_host(comm, (scan_dist_moves){NULL, 0}, (scan_dist_moves){comm->moves, 1});
    }
    for (uint32_t r = 0; r < comm->size; r++)
        if (r != rank)
            comm->moves[count++] = (scan_dist_move){carry, SCAN_CARRY_BYTES, r};
    return scan_dist_exchange_host(comm, (scan_dist_moves){comm->moves, count}, (scan_dist_moves){NULL, 0});
}

scan_status scan_dist_prefix_carry_out(const scan_dist_prefix_job *j, scan_status status) {
    unsigned char carry[SCAN_CARRY_BYTES] = {0};
    const uint64_t n = j->total - j->past;
    const carry_end end = {j->count + n, j->so_far.any || n > 0};
    char *to = j->carry_out;
    if (!to)
        return status;
    if (n > 0) {
        if (status == SCAN_OK && j->closes)
            status = scan_dist_download(j->comm, carry, j->carry, sizeof carry);
        SCAN_TRY(spread(j, carry));
        if (status == SCAN_OK)
            status = scan_dist_upload(j->comm, to, carry, sizeof carry);
    }
    return status == SCAN_OK ? scan_dist_upload(j->comm, to + SCAN_CARRY_BYTES, &end, sizeof end) : status;
}
