/* SPDX-License-Identifier: MIT
 *
 * Which way an input is sorted, by all threads. Input in order already is copied, in the other order reversed
 * (ordered.c). Of keys alone those that are frequent are counted (heavy.c), or all if they are of few values or lie
 * close together (few.c, count.c), and not moved, as are those of pairs with few keys; and what comes in long runs of
 * equal keys is sorted run by run (runs.c). The others are sorted by one thread or partitioned (partition.c).
 */
#include "job.h"
#include "team.h"

void scan_cpu_sort_alone(scan_sort_job *j, char *scratch) {
    char *keys = scratch + SCAN_SORT_LOCAL_COUNTS * sizeof(uint32_t);
    if (!scan_cpu_sort_finish_ordered(j, scan_cpu_sort_order_of_input(j, 0), 0) &&
        !(scan_cpu_sort_seems_runs(j) && scan_cpu_sort_by_runs(j, keys, (uint32_t *)(void *)scratch)))
        scan_cpu_sort_locally(j, (scan_sort_range){.n = j->n, .where = SCAN_SORT_IN}, scratch);
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
    scan_cpu_sort_help_others(j);
    scan_sort_barrier(j);
}

/* Runs of equal keys, in the same way. False: there are none. */
static bool sort_by_runs(scan_sort_job *j, unsigned thread) {
    if (!scan_cpu_sort_seems_runs(j))
        return false;
    scan_sort_barrier(j);
    if (thread == 0)
        j->runs_sorted = scan_cpu_sort_by_runs(j, j->temporary.keys, (uint32_t *)(void *)scan_sort_buffers_of(j, 0));
    scan_cpu_sort_help_others(j);
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
        scan_cpu_sort_partition(j, r, thread);
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
    if (j->pairs_seem_few && scan_cpu_sort_by_few(j, thread))
        return;
    if (scan_cpu_sort_quick_counts(j) ||
        (j->pairs_seem_few && j->plan.alone_or_two && !scan_cpu_sort_pairs_repeat(j))) {
        sort_by_one(j, thread);
        return;
    }
    if (!j->pairs_seem_few && scan_cpu_sort_by_few(j, thread))
        return;
    const scan_sort_repeats repeats = scan_cpu_sort_see_repeats(j);
    if (repeats == SCAN_SORT_REPEATS_IN_RUNS) {
        sort_by_one(j, thread);
        return;
    }
    bool taken = scan_cpu_sort_take_heavy(j, thread);
    if (!taken && scan_cpu_sort_by_counting(j, thread))
        return;
    if (!taken && repeats) {
        sort_by_one(j, thread);
        return;
    }
    sort_all(j, thread);
    if (taken)
        scan_cpu_sort_put_back(j, thread);
}
