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
 * few values (splitters.c; in vectors: pieces.c, and by two threads halves.c). Input in order already is copied, in the
 * other order reversed. Of keys alone those that are frequent are counted (heavy.c), or all if they are of few values
 * or lie close together (few.c, count.c), and not moved; and what comes in long runs of equal keys is sorted run by run
 * (runs.c).
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

static void sort_locally(const scan_sort_job *j, scan_sort_range r, char *scratch) {
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
    /* Pairs of one value, which a bin of their own has brought together, cost nothing but this. */
    if (p->value_bytes > 0 && r.where != SCAN_SORT_IN &&
        (p->kernels->ordered(local.from.keys, 0, r.n, j->order, SCAN_SORT_ASCENDING) & SCAN_SORT_ASCENDING)) {
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

/* A thread that has nothing left to sort does parts of what the others do, if quicksort serves. */
static void help_others(scan_sort_job *j) {
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
                sort_locally(j, r, scan_sort_buffers_of(j, thread));
        }
    help_others(j);
}

/* ---- one partition, all threads ---------------------------------------------------------------------------------- */

/* Counts the digits in every thread's part; what varies is exact afterwards. */
static uint64_t count_digits(scan_sort_job *j, scan_sort_range r, scan_sort_part *part, uint64_t guess,
                             unsigned thread) {
    for (;;) {
        unsigned top = scan_sort_top_bit(guess | 1) + 1, bits = scan_cpu_sort_digit_bits(r.n, j->plan.bin_n);
        part->bits = part->splitters ? SCAN_SORT_SPLITTER_BITS : top < bits ? top : bits;
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
        if (varying == 0 || part->splitters || scan_sort_top_bit(varying) <= scan_sort_top_bit(guess | 1))
            return varying;
        guess = varying;
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

static void sort_range(scan_sort_job *j, scan_sort_range r, unsigned thread) {
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
    const uint64_t guess = scan_cpu_sort_choose_digit(j, &part, r.begin, r.n, &splitters);
    part.halves = part.halves && scan_cpu_sort_count_halves(j, &part, r.n, thread);
    if (part.splitters && !part.halves && j->plan.split) {
        sort_by_pieces(j, r, &part, thread);
        return;
    }
    /* Of halves both have keys, so that some bit varies. */
    const uint64_t varying = part.halves ? 1 : count_digits(j, r, &part, guess, thread);
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

/* ---- the whole --------------------------------------------------------------------------------------------------- */

void scan_cpu_sort_alone(scan_sort_job *j, char *scratch) {
    char *keys = scratch + SCAN_SORT_LOCAL_COUNTS * sizeof(uint32_t);
    if (!scan_cpu_sort_finish_ordered(j, scan_cpu_sort_order_of_input(j, 0), 0) &&
        !(scan_cpu_sort_seems_runs(j) && scan_cpu_sort_by_runs(j, keys, (uint32_t *)(void *)scratch)))
        sort_locally(j, (scan_sort_range){.n = j->n, .where = SCAN_SORT_IN}, scratch);
}

/* Few elements, or few that heavy keys have left: by one thread, beside the output only the temporary. */
void scan_cpu_sort_by_one(const scan_sort_job *j) {
    j->plan.local(&(scan_sort_local){.order = j->order,
                                     .from = j->in,
                                     .to = j->out,
                                     .spare = j->temporary,
                                     .n = j->n,
                                     .drop_keys = j->drop_keys,
                                     .counts = (uint32_t *)(void *)scan_sort_buffers_of(j, 0),
                                     .team = j->team,
                                     .sorted_n = j->sorted_n});
}

/* Whether wide pairs come in long runs: bins of a partition are then in order already, or nearly so. By a single
 * thread: of several one may be writing the keys of an input in place by now. */
static bool come_in_runs(const scan_sort_job *j) {
    enum { SAMPLES = 64 };
    size_t ascents = 0;
    if (!scan_sort_is_wide(&j->plan) || j->plan.threads > 1 || j->plan.pieces_a_thread == 0 || j->n <= j->plan.local_n)
        return false;
    for (size_t i = 0; i < SAMPLES; i++) {
        const size_t at = scan_sort_anywhere(i, j->n - 1);
        ascents +=
            j->plan.kernels->code(j->in.keys, at, j->order) < j->plan.kernels->code(j->in.keys, at + 1, j->order);
    }
    return ascents >= SAMPLES / 8 * 7;
}

/* By one thread, which others help. */
static void sort_by_one(scan_sort_job *j, unsigned thread) {
    scan_sort_barrier(j); /* samples have been taken, which the sort in place overwrites */
    if (thread == 0 && j->n > 0)
        scan_cpu_sort_by_one(j);
    help_others(j);
    scan_sort_barrier(j);
}

/* Runs of equal keys, in the same way. False: there are none. */
static bool sort_by_runs(scan_sort_job *j, unsigned thread) {
    if (!scan_cpu_sort_seems_runs(j))
        return false;
    scan_sort_barrier(j);
    if (thread == 0)
        j->runs_sorted = scan_cpu_sort_by_runs(j, j->temporary.keys, (uint32_t *)(void *)scan_sort_buffers_of(j, 0));
    help_others(j);
    scan_sort_barrier(j);
    if (j->runs_sorted)
        return true;
    if (thread == 0)
        atomic_store_explicit(&j->busy, j->plan.threads, memory_order_relaxed);
    scan_sort_barrier(j);
    return false;
}

static void sort_all(scan_sort_job *j, unsigned thread) {
    if (j->sets_aside || (j->n <= j->plan.alone_n && !come_in_runs(j))) {
        sort_by_one(j, thread);
        return;
    }
    for (scan_sort_range r = {.n = j->n, .where = SCAN_SORT_IN};;) {
        sort_range(j, r, thread);
        scan_sort_barrier(j);
        if (j->stacked == 0)
            return;
        r = j->stack[j->stacked - 1];
        scan_sort_barrier(j);
        if (thread == 0) {
            j->stacked--;
            atomic_store_explicit(&j->next_bin, 0, memory_order_relaxed);
            atomic_store_explicit(&j->busy, j->plan.threads, memory_order_relaxed);
        }
    }
}

void scan_cpu_sort_task(void *arg, unsigned thread, unsigned threads) {
    (void)threads;
    scan_sort_job *j = arg;
    atomic_fetch_and_explicit(&j->order_flags, scan_cpu_sort_order_of_input(j, thread), memory_order_relaxed);
    scan_sort_barrier(j);
    if (scan_cpu_sort_finish_ordered(j, atomic_load_explicit(&j->order_flags, memory_order_relaxed), thread))
        return;
    if (sort_by_runs(j, thread))
        return;
    if (scan_cpu_sort_quick_counts(j)) {
        sort_by_one(j, thread);
        return;
    }
    if (scan_cpu_sort_by_few(j, thread))
        return;
    bool taken = scan_cpu_sort_take_heavy(j, thread);
    if (!taken && scan_cpu_sort_by_counting(j, thread))
        return;
    sort_all(j, thread);
    if (taken)
        scan_cpu_sort_put_back(j, thread);
}
