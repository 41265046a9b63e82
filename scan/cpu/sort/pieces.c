/* SPDX-License-Identifier: MIT
 *
 * A partition by splitters, by all threads, where vectors serve (quick_split.h, quick_pairs.h). It needs no count
 * before it moves what it counts, so that it reads its input once:
 *
 *   divide   each thread divides its part piece by piece, a piece of the input to the same place of the temporary, and
 *            notes how many elements of each bin a piece has
 *   gather   the exclusive scan of these counts says where each thread's elements of a bin go: to the output, bin by
 * bin of each piece
 *
 * A bin of one code only is final then. The others are sorted where they are, in the output. Pairs that are nearly all
 * of a few values are divided value by value, without their keys, which gather writes (flat bins).
 */
#include "job.h"

static uint16_t *counts_of_pieces(const scan_sort_job *j, unsigned thread) {
    return j->piece_counts + thread * j->plan.pieces_a_thread * SCAN_SORT_SPLITTER_BINS;
}

size_t scan_cpu_sort_piece_elements(const scan_sort_plan *p) {
    return SCAN_SORT_PIECE_BYTES / (p->key_bytes + p->value_bytes);
}

uint64_t scan_cpu_sort_pure_bins(const scan_sort_splitters *s) {
    uint64_t pure = 0;
    for (size_t d = 0; d < s->n; d++)
        pure |= (uint64_t)(s->codes[d] - (d > 0 ? s->codes[d - 1] : UINT64_MAX) == 1) << d;
    return pure;
}

/* Flat bins, as bits, if a partition leaves out their keys: it must not write where it reads. */
static uint64_t filled_bins(const scan_sort_job *j, const scan_sort_part *part) {
    uint64_t filled = 0;
    if (!part->from.values || part->from.keys == j->temporary.keys)
        return 0;
    for (unsigned k = 0; k < part->splitters->flat_n; k++)
        filled |= 1ull << part->splitters->flat_bins[k];
    return filled;
}

/* The counts of a thread's pieces, added up: its share of each bin. */
static void add_up(const scan_sort_job *j, const scan_sort_part *part, unsigned thread) {
    const uint16_t *counts = counts_of_pieces(j, thread);
    memset(part->counts, 0, SCAN_SORT_SPLITTER_BINS * sizeof *part->counts);
    for (size_t i = part->begin; i < part->end; i += scan_cpu_sort_piece_elements(&j->plan))
        for (size_t d = 0; d < SCAN_SORT_SPLITTER_BINS; d++)
            part->counts[d] += *counts++;
}

void scan_cpu_sort_divide(const scan_sort_job *j, const scan_sort_part *part, unsigned thread) {
    if (thread >= j->plan.threads)
        return;
    j->plan.split(&(scan_sort_pieces){.order = j->order,
                                      .from = part->from,
                                      .to = j->temporary,
                                      .begin = part->begin,
                                      .end = part->end,
                                      .splitters = part->splitters,
                                      .fills = filled_bins(j, part) != 0,
                                      .counts = counts_of_pieces(j, thread)});
    add_up(j, part, thread);
}

void scan_cpu_sort_gather(const scan_sort_job *j, const scan_sort_part *part, unsigned thread) {
    const size_t key_bytes = j->plan.key_bytes, value_bytes = j->plan.value_bytes,
                 piece = scan_cpu_sort_piece_elements(&j->plan);
    if (thread >= j->plan.threads)
        return;
    const uint16_t *counts = counts_of_pieces(j, thread);
    /* Keys that are not wanted are needed only where a bin is still to be sorted. */
    const uint64_t filled = filled_bins(j, part),
                   without_keys = filled | (j->drop_keys ? scan_cpu_sort_pure_bins(part->splitters) : 0);
    for (size_t i = part->begin; i < part->end; i += piece, counts += SCAN_SORT_SPLITTER_BINS)
        for (size_t d = 0, at = i; d <= part->splitters->n; at += counts[d++]) {
            if (counts[d] == 0)
                continue;
            const size_t to = part->positions[d];
            part->positions[d] += counts[d];
            if (!(without_keys >> d & 1))
                memcpy((char *)j->out.keys + to * key_bytes, (const char *)j->temporary.keys + at * key_bytes,
                       counts[d] * key_bytes);
            if (value_bytes)
                memcpy((char *)j->out.values + to * value_bytes, (const char *)j->temporary.values + at * value_bytes,
                       counts[d] * value_bytes);
        }
    /* positions are the ends now */
    for (unsigned k = 0; filled && !j->drop_keys && k < part->splitters->flat_n; k++) {
        const unsigned d = part->splitters->flat_bins[k];
        const size_t end = part->positions[d];
        scan_sort_fill(j->out.keys, end - part->counts[d], end, part->splitters->flat_keys[k], key_bytes);
    }
}
