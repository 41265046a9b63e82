/* SPDX-License-Identifier: MIT
 *
 * The groups of scan_dist_prefix. A share has up to three parts, in the direction of the scan:
 *
 *     head   ends a group that begins on an earlier step: its owner computes it
 *     main   whole groups
 *     tail   begins a group that later steps have the rest of: this rank is its owner, and gets it together (the edge)
 *
 * The last group of the array belongs to the main part of its rank if nothing of it is elsewhere.
 */
#include "prefix.h"

uint32_t scan_dist_prefix_rank(const scan_dist_prefix_job *j, uint32_t step) {
    return j->desc.reverse ? j->comm->size - 1 - step : step;
}

/* starts[s]: the position at which step s begins. */
static void find_starts(scan_dist_prefix_job *j) {
    uint64_t at = j->past;
    for (uint32_t s = 0; s < j->comm->size; s++) {
        j->comm->starts[s] = at;
        at += j->comm->records[scan_dist_prefix_rank(j, s)].n;
    }
    j->comm->starts[j->comm->size] = j->total = at;
}

static uint64_t align_down(uint64_t x, uint64_t unit) { return x / unit * unit; }

static uint64_t min_u64(uint64_t a, uint64_t b) { return a < b ? a : b; }

static uint64_t max_u64(uint64_t a, uint64_t b) { return a > b ? a : b; }

static void find_parts(scan_dist_prefix_job *j) {
    const uint64_t *starts = j->comm->starts, begin = starts[j->step], end = starts[j->step + 1];
    j->opens = j->past > 0 && begin == j->past && j->n > 0;
    const uint64_t first = j->opens ? begin : align_down(begin + j->group - 1, j->group);
    const uint64_t last = end == j->total ? end : align_down(end, j->group);
    const uint64_t edge_begin = max_u64(last, begin),
                   edge_end = min_u64(align_down(last, j->group) + j->group, j->total);
    j->head = (size_t)(min_u64(first, end) - begin);
    j->main = last > first ? (size_t)(last - first) : 0;
    j->tail = j->n - j->head - j->main;
    j->edge = j->tail ? (size_t)(edge_end - edge_begin) : 0;
    j->closes = j->tail ? edge_end == j->total : j->main && last == j->total;
}

void scan_dist_prefix_groups(scan_dist_prefix_job *j) {
    j->step = scan_dist_prefix_rank(j, j->comm->rank); /* its own inverse */
    find_starts(j);
    find_parts(j);
}

char *scan_dist_prefix_place(const scan_dist_prefix_job *j, const void *array, size_t n, size_t at, size_t count,
                             size_t size) {
    return (char *)(uintptr_t)array + (j->desc.reverse ? n - at - count : at) * size;
}

/* ---- groups that borders cut ------------------------------------------------------------------------------------- */

uint32_t scan_dist_prefix_owner(const scan_dist_prefix_job *j, uint64_t position) {
    const uint64_t begin = max_u64(align_down(position, j->group), j->past);
    uint32_t step = j->comm->size - 1;
    while (j->comm->starts[step] > begin || j->comm->starts[step + 1] == j->comm->starts[step])
        step--;
    return step;
}

/* Lists the transfers between this rank's share and the groups of owners. */
static size_t list_head(const scan_dist_prefix_job *j, scan_dist_move *moves, const void *array, size_t size) {
    if (j->head == 0)
        return 0;
    const uint32_t owner = scan_dist_prefix_owner(j, j->comm->starts[j->step]);
    moves[0] = (scan_dist_move){scan_dist_prefix_place(j, array, j->n, 0, j->head, size), j->head * size,
                                scan_dist_prefix_rank(j, owner)};
    return 1;
}

static size_t list_edge(const scan_dist_prefix_job *j, scan_dist_move *moves, const void *edge, size_t size) {
    const uint64_t *starts = j->comm->starts, begin = starts[j->step + 1] - j->tail;
    size_t count = 0;
    for (uint32_t s = j->step; s < j->comm->size && starts[s] < begin + j->edge; s++) {
        const uint64_t from = s == j->step ? begin : starts[s], to = min_u64(starts[s + 1], begin + j->edge);
        if (to > from)
            moves[count++] = (scan_dist_move){
                scan_dist_prefix_place(j, edge, j->edge, (size_t)(from - begin), (size_t)(to - from), size),
                (size_t)(to - from) * size, scan_dist_prefix_rank(j, s)};
    }
    return count;
}

static size_t list_tail(const scan_dist_prefix_job *j, scan_dist_move *moves, const void *array, size_t size) {
    if (j->tail == 0)
        return 0;
    moves[0] = (scan_dist_move){scan_dist_prefix_place(j, array, j->n, j->n - j->tail, j->tail, size), j->tail * size,
                                j->comm->rank};
    return 1;
}

scan_status scan_dist_prefix_edges(const scan_dist_prefix_job *j, bool back) {
    scan_dist_move *edges = j->comm->moves, *shares = edges + j->comm->size;
    const size_t size = back ? j->out_size : j->in_size;
    const void *array = back ? j->out : j->in, *edge = back ? j->edge_out : j->edge_in;
    if (!j->ordered)
        return SCAN_OK;
    const size_t share_head = list_head(j, shares, array, size);
    const scan_dist_moves of_shares = {shares, share_head + list_tail(j, shares + share_head, array, size)};
    const scan_dist_moves of_edges = {edges, j->tail ? list_edge(j, edges, edge, size) : 0};
    return scan_dist_exchange(j->comm, back ? of_edges : of_shares, back ? of_shares : of_edges);
}
