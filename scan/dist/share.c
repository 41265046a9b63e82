/* SPDX-License-Identifier: MIT
 *
 * Where shares lie in the whole array, and arrays moved from one split to another.
 */
#include "dist.h"

uint64_t scan_dist_find_starts(scan_dist_comm *comm) {
    uint64_t at = 0;
    for (uint32_t r = 0; r < comm->size; r++) {
        comm->starts[r] = at;
        at += comm->records[r].n;
    }
    return comm->starts[comm->size] = at;
}

scan_dist_place scan_dist_place_of(const scan_dist_comm *comm) {
    return (scan_dist_place){comm->starts[comm->rank], comm->records[comm->rank].n, comm->starts[comm->size]};
}

scan_status scan_dist_share(scan_dist_comm *comm, size_t n, scan_dist_place *now, scan_dist_place *even) {
    if (!comm)
        return SCAN_ERR_ARGUMENT;
    SCAN_TRY(scan_dist_begin(comm, SCAN_OK, 's', n, 0));
    const uint64_t total = scan_dist_find_starts(comm), each = total / comm->size, more = total % comm->size;
    const uint64_t rank = comm->rank;
    if (now)
        *now = scan_dist_place_of(comm);
    if (even)
        *even = (scan_dist_place){rank * each + (rank < more ? rank : more), each + (rank < more), total};
    return SCAN_OK;
}

scan_status scan_dist_settle_index(scan_dist_comm *comm, scan_type *type, uint64_t *index_base) {
    const uint64_t total = comm->starts[comm->size];
    uint64_t end;
    if (__builtin_add_overflow(*index_base, total, &end))
        return scan_dist_fail(comm, SCAN_ERR_ARGUMENT, "index_base and %llu elements do not fit 64 bits",
                              (unsigned long long)total);
    if (*type == SCAN_TYPE_NONE)
        *type = end <= UINT32_MAX ? SCAN_U32 : SCAN_U64;
    *index_base += comm->starts[comm->rank];
    return SCAN_OK;
}

/* ---- redistribute ------------------------------------------------------------------------------------------------ */

bool scan_dist_overlap(const void *a, size_t a_bytes, const void *b, size_t b_bytes) {
    return a_bytes && b_bytes && (uintptr_t)a < (uintptr_t)b + b_bytes && (uintptr_t)b < (uintptr_t)a + a_bytes;
}

static scan_status check(scan_dist_comm *comm, size_t size, const void *in, size_t n, const void *out, size_t out_n) {
    size_t bytes, out_bytes;
    SCAN_TRY(scan_dist_check_context(comm));
    if (size == 0 || __builtin_mul_overflow(n, size, &bytes) || __builtin_mul_overflow(out_n, size, &out_bytes))
        return scan_dist_fail(comm, SCAN_ERR_ARGUMENT, "elements of %zu bytes do not fit the address space", size);
    if ((n && !in) || (out_n && !out))
        return scan_dist_fail(comm, SCAN_ERR_ARGUMENT, "in or out is NULL");
    if (scan_dist_overlap(in, bytes, out, out_bytes))
        return scan_dist_fail(comm, SCAN_ERR_OVERLAP, "in and out overlap");
    return SCAN_OK;
}

/* Lists what of the elements `begin` ... `end` of the whole array, which lie at `at`, each rank has in the other split.
 * In the records, n is the length of a share before and extra after. */
static size_t list(const scan_dist_comm *comm, scan_dist_move *moves, char *at, uint64_t begin, uint64_t end,
                   bool by_extra, size_t size) {
    uint64_t other = 0;
    size_t count = 0;
    for (uint32_t r = 0; r < comm->size; r++) {
        const uint64_t next = other + (by_extra ? comm->records[r].extra : comm->records[r].n);
        const uint64_t from = other > begin ? other : begin, to = next < end ? next : end;
        if (from < to)
            moves[count++] = (scan_dist_move){at + (from - begin) * size, (size_t)(to - from) * size, r};
        other = next;
    }
    return count;
}

scan_status scan_dist_redistribute(scan_dist_comm *comm, size_t element_bytes, const void *in, size_t n, void *out,
                                   size_t out_n) {
    if (!comm)
        return SCAN_ERR_ARGUMENT;
    scan_status status = check(comm, element_bytes, in, n, out, out_n);
    SCAN_TRY(scan_dist_begin(comm, status, scan_dist_hash('r', element_bytes), n, out_n));
    uint64_t before = 0, out_before = 0, total = 0, out_total = 0;
    for (uint32_t r = 0; r < comm->size; r++) {
        before += r < comm->rank ? comm->records[r].n : 0;
        out_before += r < comm->rank ? comm->records[r].extra : 0;
        total += comm->records[r].n;
        out_total += comm->records[r].extra;
    }
    if (total != out_total)
        return scan_dist_fail(comm, SCAN_ERR_ARGUMENT,
                              "the lengths before add up to %llu elements, those after to %llu",
                              (unsigned long long)total, (unsigned long long)out_total);
    scan_dist_move *sends = comm->moves, *receives = sends + comm->size;
    const size_t send_count = list(comm, sends, (char *)(uintptr_t)in, before, before + n, true, element_bytes);
    const size_t receive_count = list(comm, receives, out, out_before, out_before + out_n, false, element_bytes);
    status = scan_dist_exchange(comm, (scan_dist_moves){sends, send_count}, (scan_dist_moves){receives, receive_count});
    if (status == SCAN_OK)
        status = scan_dist_take(comm, comm->ctx, scan_ctx_sync(comm->ctx));
    return scan_dist_end(comm, status);
}
