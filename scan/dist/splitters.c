/* SPDX-License-Identifier: MIT
 *
 * Exact splitters of a sort over ranks: the element at which the share of a rank begins, unique by (key, rank, index).
 *
 * Every rank's share is sorted. Keys are mapped to codes, unsigned integers in the order of the sort. The code of a
 * splitter is the smallest one that has at least `target` elements up to it; it is found digit by digit:
 *
 *     low ...... | ...... | ...... | ...... high     probes divide the range of codes
 *           n1       n2       n3       n4            elements up to each probe: binary search, summed over ranks
 *
 * The range goes on that holds the target-th element, for all splitters at once. What is then missing of the target is
 * taken from the elements with that very code, from lower ranks first, so that the sort is stable; a value that is
 * found everywhere is divided wherever a share ends. So shares have exactly the lengths asked for, whatever the keys.
 *
 * Rounds: bits of a key / bits of a digit. Work in a round: (ranks - 1) * probes binary searches. Traffic: a sum of as
 * many counts.
 */
#include <stdlib.h>
#include <string.h>

#include "sort.h"

enum { WINDOW = 4096 /* elements: from there on a search in device memory fetches all */ };

/* ---- codes ------------------------------------------------------------------------------------------------------- */

/* The code of a key, as scan.h orders keys: -0 and +0 have one, and so have all NaNs. */
static uint64_t code_of(const scan_sort_desc *desc, uint64_t key) {
    const unsigned width = 8 * (unsigned)scan_type_size(desc->type);
    const uint64_t all = ~UINT64_C(0) >> (64 - width), sign = UINT64_C(1) << (width - 1);
    const scan_class class = scan_type_class(desc->type);
    if (class == SCAN_FLOAT) {
        const uint64_t magnitude = key & (sign - 1);
        if (magnitude > (width == 32 ? UINT64_C(0x7f800000) : UINT64_C(0x7ff0000000000000)))
            return desc->nan_first ? 0 : all;
        const uint64_t ascending = magnitude == 0 ? sign : key & sign ? key ^ all : key ^ sign;
        return desc->descending ? ascending ^ all : ascending;
    }
    const uint64_t ordered = (class == SCAN_SIGNED ? key ^ sign : key) ^ (desc->descending ? all : 0);
    if (desc->begin_bit == desc->end_bit)
        return 0;
    return (ordered & all >> (width - desc->end_bit)) >> desc->begin_bit;
}

static uint64_t max_code(const scan_sort_desc *desc) {
    const unsigned bits = desc->end_bit - desc->begin_bit;
    return bits ? ~UINT64_C(0) >> (64 - bits) : 0;
}

/* ---- search ------------------------------------------------------------------------------------------------------ */

/* Elements from `from` on that a search has at hand: on the host all of them. */
typedef struct window {
    const char *keys;
    char fetched[WINDOW * 8];
    size_t from, to;
} window;

static uint64_t load(const void *at, size_t bytes) {
    uint64_t key = 0;
    memcpy(&key, at, bytes);
    return key;
}

static scan_status key_at(const scan_dist_sort_job *j, window *w, size_t i, size_t from, size_t to, uint64_t *key) {
    const char *keys = j->sorted_keys;
    const size_t bytes = j->key_bytes;
    if (j->comm->ctx_info.backend == SCAN_BACKEND_CPU) {
        *key = load(keys + i * bytes, bytes);
        return SCAN_OK;
    }
    if (i < w->from || i >= w->to) {
        const size_t first = to - from <= WINDOW ? from : i, last = to - from <= WINDOW ? to : i + 1;
        w->to = 0; /* if it fails */
        SCAN_TRY(scan_dist_download(j->comm, w->fetched, keys + first * bytes, (last - first) * bytes));
        w->from = first;
        w->to = last;
    }
    *key = load(w->fetched + (i - w->from) * bytes, bytes);
    return SCAN_OK;
}

/* *count: elements of this rank with a code up to `code`; it lies between from and to. */
static scan_status count_up_to(const scan_dist_sort_job *j, window *w, uint64_t code, size_t from, size_t to,
                               uint64_t *count) {
    while (from < to) {
        const size_t middle = from + (to - from) / 2;
        uint64_t key;
        SCAN_TRY(key_at(j, w, middle, from, to, &key));
        if (code_of(&j->desc, key) <= code)
            from = middle + 1;
        else
            to = middle;
    }
    *count = from;
    return SCAN_OK;
}

/* ---- rounds ------------------------------------------------------------------------------------------------------ */

/* Ranges that a round divides a range of codes into. A search in device memory waits for the device at each step: as
 * few as there can be. */
static uint64_t ranges_of(const scan_dist_comm *comm) {
    if (comm->ctx_info.backend == SCAN_BACKEND_CUDA)
        return 2;
    return comm->size <= 64 ? 256 : 16;
}

/* The last code of range k of `ranges`. */
static uint64_t probe(const scan_dist_splitter *s, uint64_t k, uint64_t ranges) {
    const uint64_t span = s->high - s->low, step = span / ranges + 1;
    return k + 1 < ranges && (k + 1) * step - 1 < span ? s->low + (k + 1) * step - 1 : s->high;
}

static scan_status count_probes(const scan_dist_sort_job *j, uint64_t ranges) {
    const size_t probes = (size_t)ranges - 1;
    window w = {.to = 0};
    for (uint32_t b = 0; b + 1 < j->comm->size; b++) {
        const scan_dist_splitter *s = &j->splitters[b];
        uint64_t from = s->from;
        for (size_t k = 0; k < probes; k++) {
            SCAN_TRY(count_up_to(j, &w, probe(s, k, ranges), (size_t)from, (size_t)s->to, &from));
            j->counts[b * probes + k] = from;
        }
    }
    return SCAN_OK;
}

/* Goes on with the range that holds the element at the target. */
static void narrow(scan_dist_splitter *s, const uint64_t *counts, const uint64_t *sums, uint64_t ranges) {
    uint64_t k = 0;
    while (k + 1 < ranges && sums[k] < s->target)
        k++;
    const uint64_t high = probe(s, k, ranges);
    if (k > 0) {
        s->low = probe(s, k - 1, ranges) + (probe(s, k - 1, ranges) < high);
        s->from = counts[k - 1];
    }
    if (k + 1 < ranges)
        s->to = counts[k];
    s->high = high;
}

static scan_status find_codes(scan_dist_sort_job *j) {
    const uint64_t ranges = ranges_of(j->comm);
    const size_t probes = (size_t)ranges - 1, count = probes * (j->comm->size - 1);
    scan_status status = SCAN_OK;
    for (bool found = false; !found;) {
        if (status == SCAN_OK)
            status = count_probes(j, ranges);
        memcpy(j->sums, j->counts, count * sizeof *j->sums);
        SCAN_TRY(scan_dist_sum(j->comm, j->sums, count));
        found = true;
        for (uint32_t b = 0; b + 1 < j->comm->size; b++) {
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
    const uint32_t size = j->comm->size;
    for (uint32_t b = 0; b + 1 < size; b++) {
        uint64_t missing = j->splitters[b].target;
        for (uint32_t r = 0; r < size; r++)
            missing -= j->edges[2 * (r * (size - 1) + b)];
        for (uint32_t r = 0; r < size; r++) {
            const uint64_t *edge = &j->edges[2 * (r * (size - 1) + b)], equal = edge[1] - edge[0];
            const uint64_t taken = missing < equal ? missing : equal;
            j->cuts[r * (size + 1) + b + 1] = edge[0] + taken;
            missing -= taken;
        }
    }
    for (uint32_t r = 0; r < size; r++) {
        j->cuts[r * (size + 1)] = 0;
        j->cuts[r * (size + 1) + size] = j->comm->starts[r + 1] - j->comm->starts[r];
    }
}

scan_status scan_dist_sort_split(scan_dist_sort_job *j) {
    scan_dist_comm *comm = j->comm;
    const uint32_t size = comm->size;
    uint64_t target = 0;
    scan_dist_find_starts(comm);
    for (uint32_t b = 0; b + 1 < size; b++) {
        target += comm->records[b].extra;
        j->splitters[b] = (scan_dist_splitter){target, 0, max_code(&j->desc), 0, j->n};
    }
    if (size > 1) {
        uint64_t *own = j->counts;
        SCAN_TRY(find_codes(j));
        for (uint32_t b = 0; b + 1 < size; b++) {
            own[2 * b] = j->splitters[b].from;
            own[2 * b + 1] = j->splitters[b].to;
        }
        SCAN_TRY(scan_dist_gather(comm, own, 2 * (size - 1) * sizeof *own, j->edges));
    }
    find_cuts(j);
    return SCAN_OK;
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

scan_status scan_dist_sort_alloc(scan_dist_sort_job *j) {
    const size_t size = j->comm->size, ranges = (size_t)ranges_of(j->comm), probes = (ranges > 2 ? ranges : 3) - 1;
    j->splitters = calloc(size, sizeof *j->splitters);
    j->counts = calloc(size * probes, sizeof *j->counts);
    j->sums = scan_dist_sums(j->comm, size * probes);
    j->edges = calloc(2 * size * size, sizeof *j->edges);
    j->cuts = calloc(size * (size + 1), sizeof *j->cuts);
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
