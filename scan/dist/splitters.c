/* SPDX-License-Identifier: MIT
 *
 * Exact splitters of a sort over ranks: the element at which the share of a rank begins, unique by (key, rank, index).
 *
 * Every rank's share is sorted. Keys are mapped to codes (codes.h), unsigned integers in the order of the sort. The
 * code of a splitter is the smallest one that has at least `target` elements up to it; it is found digit by digit:
 *
 *     low ...... | ...... | ...... | ...... high     probes divide the range of codes
 *           n1       n2       n3       n4            elements up to each probe: binary search, summed over ranks
 *
 * The range goes on that holds the target-th element, for all splitters at once. What is then missing of the target is
 * taken from the elements with that very code, from lower ranks first, so that the sort is stable; a value that is
 * found everywhere is divided wherever a share ends. So shares have exactly the lengths asked for, whatever the keys.
 *
 * Rounds: bits of a key / bits of a digit. Work in a round: splitters * probes binary searches, on a device by as many
 * threads. Traffic: a sum of as many counts.
 */
#include <stdlib.h>
#include <string.h>

#include "sort.h"

#include "device.h"

enum { MANY = 256, RANGES = 256, RANGES_OF_MANY = 16 /* that a round divides a range of codes into */ };

static uint64_t max_code(const scan_dist_codes *c) {
    const unsigned bits = c->end_bit - c->begin_bit;
    return bits ? ~UINT64_C(0) >> (64 - bits) : 0;
}

static uint64_t ranges_of(const scan_dist_sort_job *j) { return j->buckets <= MANY ? RANGES : RANGES_OF_MANY; }

/* ---- search ------------------------------------------------------------------------------------------------------ */

/* Elements of this rank with a code up to `code`, which lie between from and to. */
static uint64_t count_up_to(const scan_dist_sort_job *j, uint64_t code, uint64_t from, uint64_t to) {
    while (from < to) {
        const uint64_t middle = from + (to - from) / 2;
        uint64_t key = 0;
        memcpy(&key, j->sorted.keys + middle * j->key_bytes, j->key_bytes);
        if (scan_dist_code(&j->codes, key) <= code)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

/* For any number of stages: fewer ranges are for more buckets than MANY. */
size_t scan_dist_sort_search_bytes(const scan_dist_comm *comm) {
    const size_t most = (size_t)comm->size * SCAN_DIST_MAX_STAGES, few = most < MANY ? most : MANY;
    return comm->device ? scan_dist_max(scan_dist_device_count_bytes(few, RANGES),
                                        scan_dist_device_count_bytes(most, RANGES_OF_MANY))
                        : 0;
}

static scan_status count_probes(const scan_dist_sort_job *j, uint64_t ranges) {
    const size_t probes = (size_t)ranges - 1, splitters = j->buckets - 1;
    if (j->comm->device) {
        const char *failed = scan_dist_device_counts(j->comm->device, &j->codes, j->sorted.keys, j->splitters,
                                                     splitters, ranges, j->search, j->counts);
        return failed ? scan_dist_fail(j->comm, SCAN_ERR_DEVICE, "%s", failed) : SCAN_OK;
    }
    for (size_t b = 0; b < splitters; b++) {
        const scan_dist_splitter *s = &j->splitters[b];
        uint64_t from = s->from;
        for (size_t k = 0; k < probes; k++)
            j->counts[b * probes + k] = from = count_up_to(j, scan_dist_probe(s, k, ranges), from, s->to);
    }
    return SCAN_OK;
}

/* ---- rounds ------------------------------------------------------------------------------------------------------ */

/* Goes on with the range that holds the element at the target. */
static void narrow(scan_dist_splitter *s, const uint64_t *counts, const uint64_t *sums, uint64_t ranges) {
    uint64_t k = 0;
    while (k + 1 < ranges && sums[k] < s->target)
        k++;
    const uint64_t high = scan_dist_probe(s, k, ranges);
    if (k > 0) {
        s->low = scan_dist_probe(s, k - 1, ranges) + (scan_dist_probe(s, k - 1, ranges) < high);
        s->from = counts[k - 1];
    }
    if (k + 1 < ranges)
        s->to = counts[k];
    s->high = high;
}

static scan_status find_codes(scan_dist_sort_job *j) {
    const uint64_t ranges = ranges_of(j);
    const size_t probes = (size_t)ranges - 1, count = probes * (j->buckets - 1);
    scan_status status = SCAN_OK;
    for (bool found = false; !found;) {
        if (status == SCAN_OK)
            status = count_probes(j, ranges);
        memcpy(j->sums, j->counts, count * sizeof *j->sums);
        SCAN_TRY(scan_dist_sum(j->comm, j->sums, count));
        found = true;
        for (size_t b = 0; b + 1 < j->buckets; b++) {
            scan_dist_splitter *s = &j->splitters[b];
            narrow(s, j->counts + b * probes, j->sums + b * probes, ranges);
            found = found && s->low == s->high;
        }
    }
    return scan_dist_end(j->comm, status);
}

/* ---- cuts -------------------------------------------------------------------------------------------------------- */

/* From the elements below and up to the code of each splitter on every rank, where every rank's share is cut. */
static void find_cuts(scan_dist_sort_job *j) {
    const size_t splitters = j->buckets - 1;
    for (size_t b = 0; b < splitters; b++) {
        uint64_t missing = j->splitters[b].target;
        for (uint32_t r = 0; r < j->comm->size; r++)
            missing -= j->edges[2 * (r * splitters + b)];
        for (uint32_t r = 0; r < j->comm->size; r++) {
            const uint64_t *edge = &j->edges[2 * (r * splitters + b)], equal = edge[1] - edge[0];
            const uint64_t taken = missing < equal ? missing : equal;
            j->cuts[r * (j->buckets + 1) + b + 1] = edge[0] + taken;
            missing -= taken;
        }
    }
    for (uint32_t r = 0; r < j->comm->size; r++) {
        j->cuts[r * (j->buckets + 1)] = 0;
        j->cuts[r * (j->buckets + 1) + j->buckets] = j->comm->starts[r + 1] - j->comm->starts[r];
    }
}

/* The splitter before bucket b + 1 has all buckets up to b below it. */
static void set_targets(scan_dist_sort_job *j) {
    uint64_t before = 0;
    for (size_t b = 0; b + 1 < j->buckets; b++) {
        const uint64_t length = j->comm->records[b / j->stages].extra;
        const uint32_t s = (uint32_t)(b % j->stages) + 1;
        j->splitters[b] = (scan_dist_splitter){before + scan_dist_sort_stage_of(length, s, j->stages), 0,
                                               max_code(&j->codes), 0, j->n};
        before += s == j->stages ? length : 0;
    }
}

scan_status scan_dist_sort_split(scan_dist_sort_job *j) {
    const size_t splitters = j->buckets - 1;
    uint64_t *own = j->counts;
    scan_dist_find_starts(j->comm);
    set_targets(j);
    SCAN_TRY(find_codes(j));
    for (size_t b = 0; b < splitters; b++) {
        own[2 * b] = j->splitters[b].from;
        own[2 * b + 1] = j->splitters[b].to;
    }
    SCAN_TRY(scan_dist_gather(j->comm, own, 2 * splitters * sizeof *own, j->edges));
    find_cuts(j);
    return SCAN_OK;
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

scan_status scan_dist_sort_alloc(scan_dist_sort_job *j) {
    const size_t size = j->comm->size, probes = (size_t)ranges_of(j) - 1;
    j->splitters = calloc(j->buckets, sizeof *j->splitters);
    j->counts = calloc(j->buckets * probes, sizeof *j->counts);
    j->sums = scan_dist_sums(j->comm, j->buckets * probes);
    j->edges = calloc(2 * size * j->buckets, sizeof *j->edges);
    j->cuts = calloc(size * (j->buckets + 1), sizeof *j->cuts);
    if (!j->splitters || !j->counts || !j->sums || !j->edges || !j->cuts)
        return scan_dist_fail(j->comm, SCAN_ERR_MEMORY, "no memory for splitters of %zu ranks", size);
    return SCAN_OK;
}

void scan_dist_sort_free(scan_dist_sort_job *j) {
    scan_dist_free(j->comm, j->splitters);
    scan_dist_free(j->comm, j->counts);
    scan_dist_free(j->comm, j->sums);
    scan_dist_free(j->comm, j->edges);
    scan_dist_free(j->comm, j->cuts);
}
