/* SPDX-License-Identifier: MIT
 *
 * The radix sort of a large input, by all threads of the context:
 *
 *   partition   all threads together: a stable scatter by the leading bits that vary into bins that fit a cache. Each
 *               thread counts the digits of its part; the exclusive scan of the counts, digit by digit and in a digit
 *               thread by thread, is where each thread writes.
 *   bins        one thread each, one that is free: sorted in cache (local.h, quick_lanes.h, quick_pairs.h) from where
 *               the partition put them to the output. A bin too large for that is partitioned again, by the bits below.
 *               Most quicksorts take bins of any size: a thread that has none left helps the others, without barriers
 *               (team.h; plan.c, leaf_n).
 *
 * Memory is gone through twice where a sort from the least significant digit on goes through it once a digit. Every
 * partition uses up the leading varying bits, 6 to 11 of them, so that skewed keys cost no more passes than such a sort
 * makes; or it is by splitters, where a sample says that bits would leave most keys in a few bins, or that pairs are of
 * few values (splitters.c; in vectors: pieces.c, and by two threads halves.c).
 */
#include "job.h"
#include "team.h"

enum { STREAM_BYTES = 4 << 20 /* from here on destinations are written past the caches */ };

/* ---- ranges ------------------------------------------------------------------------------------------------------ */

static scan_sort_columns place_of(const scan_sort_job *j, scan_sort_place where, size_t shift) {
    if (where != SCAN_SORT_OUT)
        return where == SCAN_SORT_IN ? j->in : j->temporary;
    char *keys = j->out.keys;
    return (scan_sort_columns){keys ? keys - shift * j->plan.key_bytes : NULL, j->out.values};
}

static scan_sort_columns offset(scan_sort_columns c, size_t begin, const scan_sort_plan *p) {
    return (scan_sort_columns){c.keys ? (char *)c.keys + begin * p->key_bytes : NULL,
                               c.values ? (char *)c.values + begin * p->value_bytes : NULL};
}

void scan_cpu_sort_locally(const scan_sort_job *j, scan_sort_range r, char *scratch) {
    const scan_sort_plan *p = &j->plan;
    char *keys = scratch + SCAN_SORT_LOCAL_COUNTS * sizeof(uint32_t), *second_keys = keys + p->spare_bytes;
    scan_sort_local local = {.order = j->order,
                             .from = offset(place_of(j, r.where, r.shift), r.begin, p),
                             .to = offset(j->out, r.begin, p),
                             .spare = {keys, second_keys + (j->drop_keys ? p->spare_bytes : 0)},
                             .n = r.n,
                             .drop_keys = j->drop_keys,
                             .counts = (uint32_t *)(void *)scratch,
                             .team = j->team,
                             .sorted_n = r.where == SCAN_SORT_IN ? j->sorted_n : 0};
    size_t sorted;
    /* Pairs of one value, which a bin of their own has brought together, cost nothing but this. */
    if (p->value_bytes > 0 && r.where != SCAN_SORT_IN &&
        (p->kernels->ordered(local.from.keys, 0, r.n, j->order, SCAN_SORT_ASCENDING, &sorted) & SCAN_SORT_ASCENDING)) {
        if (j->drop_keys)
            local.to.keys = NULL;
        p->kernels->copy(local.from, local.to, 0, r.n);
        return;
    }
    if (r.n > p->local_n) /* where a partition put them: quicksort needs only one of both arrays beside */
        local.spare = r.where == SCAN_SORT_OUT ? offset(j->temporary, r.begin, p) : local.from;
    else if (j->drop_keys)
        local.to.keys = second_keys;
    p->local(&local);
}

/* What a partition has left. */
typedef struct bins {
    scan_sort_range range; /* where it has put its range */
    size_t n;
    size_t leaf_n;  /* elements of a bin that one thread sorts */
    uint64_t final; /* bins that are sorted, as bits */
} bins;

void scan_cpu_sort_help_others(scan_sort_job *j) {
    atomic_fetch_sub_explicit(&j->busy, 1, memory_order_release);
    if (j->team)
        scan_cpu_sort_help(j->team, &j->busy);
}

static void sort_bins(scan_sort_job *j, const bins *b, unsigned thread) {
    const size_t at_once = b->n <= SCAN_SORT_SPLITTER_BINS ? 1 : 4; /* so that few bins are shared by all threads */
    size_t bin;
    if (thread >= j->plan.threads)
        return;
    while ((bin = atomic_fetch_add_explicit(&j->next_bin, at_once, memory_order_relaxed)) < b->n)
        for (size_t end = scan_sort_smaller(bin + at_once, b->n); bin < end; bin++) {
            scan_sort_range r = {j->starts[bin], j->starts[bin + 1] - j->starts[bin], b->range.where, b->range.shift};
            if (r.n > 0 && r.n <= b->leaf_n && !scan_sort_is_final(b->final, bin))
                scan_cpu_sort_locally(j, r, scan_sort_buffers_of(j, thread));
        }
    scan_cpu_sort_help_others(j);
}

/* ---- one partition, all threads ---------------------------------------------------------------------------------- */

/* Counts the digits in every thread's part. Returns the bits that vary: if the guess missed one above its highest, the
 * digit is not what it should be. */
static uint64_t count_digits(scan_sort_job *j, scan_sort_range r, scan_sort_part *part, uint64_t guess,
                             unsigned thread) {
    unsigned top = scan_sort_top_bit(guess | 1) + 1, bits = scan_cpu_sort_digit_bits(r.n, j->plan.bin_n);
    const unsigned widest = j->plan.by_narrow && bits < j->plan.digit_bits ? j->plan.digit_bits : bits;
    part->bits = part->splitters ? SCAN_SORT_SPLITTER_BITS : top <= widest ? top : bits;
    part->shift = top > part->bits ? top - part->bits : 0;
    if (thread < j->plan.threads) {
        j->plan.kernels->histogram(part);
        *scan_sort_positions_of(j, thread) = part->varying;
    }
    scan_sort_barrier(j);
    uint64_t varying = 0;
    for (unsigned t = 0; t < j->plan.threads; t++)
        varying |= *scan_sort_positions_of(j, t);
    scan_sort_barrier(j);
    return varying;
}

/* Chooses how a range is partitioned, and counts its digits, or its halves. Returns the bits that vary, or 1 where they
 * are not counted: halves both have keys, and pieces are counted as they are divided. */
static uint64_t choose_partition(scan_sort_job *j, scan_sort_range r, scan_sort_part *part,
                                 scan_sort_splitters *splitters, unsigned thread) {
    for (uint64_t guess = 0;;) {
        guess = scan_cpu_sort_choose_digit(j, part, r.begin, r.n, guess, splitters);
        part->halves = part->halves && scan_cpu_sort_count_halves(j, part, r.n, thread);
        if (part->halves || (part->splitters && j->plan.split))
            return 1;
        const uint64_t varying = count_digits(j, r, part, guess, thread);
        if (varying == 0 || part->splitters || scan_sort_top_bit(varying) <= scan_sort_top_bit(guess | 1))
            return varying;
        guess = varying; /* of a few keys that the sample missed: they may leave the others in a few bins */
    }
}

/* Whether the digit is all that decides: no bits below it vary, or each bin between splitters has one code. */
static bool is_last(const scan_sort_job *j, const scan_sort_part *part, uint64_t varying) {
    const scan_sort_splitters *s = part->splitters;
    if (!s)
        return (varying & ((1ull << part->shift) - 1)) == 0;
    for (size_t d = 0; d <= s->n; d++)
        for (unsigned t = 0; t < j->plan.threads; t++)
            if (scan_sort_counts_of(j, t)[d] > 0 && (d == 0 || d == s->n || s->codes[d] - s->codes[d - 1] > 1))
                return false;
    return true;
}

/* This thread's first position of each bin; thread 0 also notes where bins start. */
static void scan_counts(scan_sort_job *j, scan_sort_range r, const scan_sort_part *part, unsigned thread) {
    size_t bins = (size_t)1 << part->bits, sum = r.begin;
    uint64_t *positions = scan_sort_positions_of(j, thread);
    for (size_t d = 0; d < bins; d++) {
        if (thread == 0)
            j->starts[d] = sum;
        for (unsigned t = 0; t < j->plan.threads; t++) {
            if (t == thread)
                positions[d] = sum;
            sum += scan_sort_counts_of(j, t)[d];
        }
    }
    if (thread == 0)
        j->starts[bins] = sum;
}

static void push_large_bins(scan_sort_job *j, const bins *b) {
    for (size_t d = 0; d < b->n; d++) {
        size_t n = j->starts[d + 1] - j->starts[d];
        if (n > b->leaf_n && !scan_sort_is_final(b->final, d))
            j->stack[j->stacked++] = (scan_sort_range){j->starts[d], n, b->range.where, b->range.shift};
    }
}

/* Where a partition writes: from the input or the output to the temporary, from there to the output. The last one of a
 * range goes to the output at once if the input may still be read then. Argsort's second array of keys may be shorter
 * than n; shifted, it serves ranges that begin late. A range that fits neither way is moved without keys. */
static scan_sort_range place_range(const scan_sort_job *j, scan_sort_range r, bool last, bool *without_keys) {
    bool in_place = j->in.keys == j->out.keys || (j->in.values && j->in.values == j->out.values);
    scan_sort_range to = {r.begin, r.n, SCAN_SORT_OUT, 0};
    *without_keys = false;
    if (r.where == SCAN_SORT_OUT || (r.where == SCAN_SORT_IN && !(last && !in_place))) {
        to.where = SCAN_SORT_TEMPORARY;
    } else if (j->drop_keys) {
        size_t room = j->plan.second_keys_n, most_shift = j->plan.bound_n - room;
        to.shift = r.begin + r.n <= room ? 0 : most_shift;
        *without_keys = last || r.begin < to.shift;
    }
    return to;
}

/* Where equal codes are equal keys, the counts of the last digit are all there is to know: a counting sort. */
static void fill_part(const scan_sort_job *j, const scan_sort_part *part, unsigned thread) {
    if (thread >= j->plan.threads)
        return;
    const uint64_t digits = ((uint64_t)1 << part->bits) - 1, rest = part->first & ~(digits << part->shift);
    for (uint64_t d = 0; d <= digits; d++) {
        size_t begin = scan_sort_larger(j->starts[d], part->begin),
               end = scan_sort_smaller(j->starts[d + 1], part->end);
        uint64_t key = (rest | d << part->shift) ^ j->order.flip;
        scan_sort_fill(j->out.keys, begin, end, key, j->plan.key_bytes);
    }
}

/* Whether a range is in order: many are of one value. */
static bool is_ascending(scan_sort_job *j, scan_sort_range r, const scan_sort_part *part, unsigned thread) {
    if (thread < j->plan.threads)
        *scan_sort_positions_of(j, thread) =
            scan_cpu_sort_order_of_part(j, part->from.keys, part->begin, part->end, r.begin + r.n) &
            SCAN_SORT_ASCENDING;
    scan_sort_barrier(j);
    bool ascending = true;
    for (unsigned t = 0; t < j->plan.threads; t++)
        ascending = ascending && *scan_sort_positions_of(j, t);
    scan_sort_barrier(j);
    return ascending;
}

/* A range that splitters partition in vectors: to the output, wherever it is. */
static void sort_by_pieces(scan_sort_job *j, scan_sort_range r, scan_sort_part *part, unsigned thread) {
    const bins all = {{r.begin, r.n, SCAN_SORT_OUT, 0},
                      SCAN_SORT_SPLITTER_BINS,
                      j->plan.leaf_n,
                      scan_cpu_sort_pure_bins(part->splitters)};
    part->bits = SCAN_SORT_SPLITTER_BITS;
    if (r.where == SCAN_SORT_TEMPORARY) /* is divided where others may still look for splitters */
        scan_sort_barrier(j);
    scan_cpu_sort_divide(j, part, thread);
    scan_sort_barrier(j);
    if (thread < j->plan.threads)
        scan_counts(j, r, part, thread);
    scan_cpu_sort_gather(j, part, thread);
    scan_sort_barrier(j);
    if (thread == 0)
        push_large_bins(j, &all);
    sort_bins(j, &all, thread);
}

void scan_cpu_sort_partition(scan_sort_job *j, scan_sort_range r, unsigned thread) {
    scan_sort_part part = {.order = j->order, .from = place_of(j, r.where, r.shift)};
    scan_sort_part_of(j, r.begin, r.n, thread, &part.begin, &part.end);
    part.first = j->plan.kernels->code(part.from.keys, r.begin, j->order);
    if (thread < j->plan.threads) {
        part.counts = scan_sort_counts_of(j, thread);
        part.positions = scan_sort_positions_of(j, thread);
        part.buffers = scan_sort_buffers_of(j, thread);
    }
    if (r.where != SCAN_SORT_IN && is_ascending(j, r, &part, thread)) {
        scan_cpu_sort_copy_part(j, r, part.from, thread);
        return;
    }
    scan_sort_splitters splitters;
    const uint64_t varying = choose_partition(j, r, &part, &splitters, thread);
    if (part.splitters && !part.halves && j->plan.split) {
        sort_by_pieces(j, r, &part, thread);
        return;
    }
    if (varying == 0) {
        scan_cpu_sort_copy_part(j, r, part.from, thread);
        return;
    }
    bool last = is_last(j, &part, varying), without_keys;
    scan_sort_range to = place_range(j, r, last, &without_keys);
    part.to = place_of(j, to.where, to.shift);
    part.stream = r.n * (j->plan.key_bytes + j->plan.value_bytes) >= STREAM_BYTES;
    if (without_keys)
        part.to.keys = NULL;
    if (thread < j->plan.threads)
        scan_counts(j, r, &part, thread);
    scan_sort_barrier(j); /* scatter overwrites the counts */
    if (last && j->only_codes && !part.splitters) {
        fill_part(j, &part, thread);
        return;
    }
    if (thread < j->plan.threads)
        (part.halves ? j->plan.halves.scatter : j->plan.kernels->scatter)(&part);
    scan_sort_barrier(j);
    if (last) {
        if (to.where == SCAN_SORT_TEMPORARY)
            scan_cpu_sort_copy_part(j, r, j->temporary, thread);
        return;
    }
    if (without_keys) {
        to.where = SCAN_SORT_TEMPORARY;
        if (part.begin < part.end)
            j->plan.kernels->fetch(j->in.keys, j->out.values, j->temporary, part.begin, part.end);
        scan_sort_barrier(j);
    }
    const size_t leaf_n = scan_sort_larger(j->plan.leaf_n, part.halves ? j->plan.halves_n / 8 * 5 : 0);
    const bins all = {to, (size_t)1 << part.bits, leaf_n, 0};
    if (thread == 0)
        push_large_bins(j, &all);
    sort_bins(j, &all, thread);
}
