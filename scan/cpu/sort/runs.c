/* SPDX-License-Identifier: MIT
 *
 * Keys alone that come in long runs of equal ones: a run is sorted as a pair, of its key and its length.
 *
 *   sample   neighbours are nearly always equal
 *   find     a pass over the input lists the runs
 *   sort     the pairs, by the sort of pairs in cache or its quicksort
 *   fill     the lengths say what the output is
 *
 * The sort of pairs is stable, so that ties that can be told apart keep their order.
 */
#include "job.h"
#include "team.h"

enum {
    MIN_N = 1 << 14,
    MAX_VALUES = 8, /* that a sort of keys counts in one pass */
    SAMPLES = 128,
    ENOUGH = SAMPLES / 4, /* if they are of one value */
    MAX_ENDS = 6,         /* of runs, between as many neighbours */
    UNIT = 1 << 12,
    UNIT_RUNS = UNIT / 8 /* at most, on average */
};

static size_t units_of(size_t n) { return (n + UNIT - 1) / UNIT; }

bool scan_cpu_sort_seems_runs(const scan_sort_job *j) {
    const unsigned key_bytes = (unsigned)j->plan.key_bytes;
    scan_sort_values seen = {.max_n = SCAN_SORT_VALUES};
    size_t ends = 0;
    bool few = true;
    if (!j->plan.sort_runs || j->n < MIN_N || j->n > UINT32_MAX)
        return false;
    for (size_t i = 0; i < SAMPLES && ends <= MAX_ENDS && (i < ENOUGH || seen.n > 1); i++) {
        const size_t at = scan_sort_anywhere(i, j->n - 1);
        const uint64_t key = scan_sort_load(j->in.keys, at, key_bytes);
        ends += key != scan_sort_load(j->in.keys, at + 1, key_bytes);
        few = few && scan_sort_name(&seen, key) && seen.n <= MAX_VALUES;
    }
    return ends <= MAX_ENDS && !few;
}

/* The runs of a part of the units, which are at its place of the lists. */
typedef struct part_runs {
    size_t begin, n;
} part_runs;

typedef struct run_list {
    const scan_sort_job *job;
    scan_sort_columns runs; /* keys and lengths; when they are sorted, where each one ends */
    size_t n;
    atomic_uint parts_n;
    atomic_bool failed;
    part_runs parts[SCAN_SORT_MAX_PARTS];
} run_list;

static scan_sort_columns offset(const run_list *list, size_t run) {
    return (scan_sort_columns){(char *)list->runs.keys + run * list->job->plan.key_bytes,
                               (uint32_t *)list->runs.values + run};
}

static void find_part(void *arg, size_t begin, size_t end) {
    run_list *list = arg;
    const scan_sort_job *j = list->job;
    const size_t n = j->plan.kernels->runs(j->in.keys, begin * UNIT, scan_sort_smaller(end * UNIT, j->n),
                                           offset(list, begin * UNIT_RUNS), (end - begin) * UNIT_RUNS);
    if (n == SIZE_MAX)
        atomic_store_explicit(&list->failed, true, memory_order_relaxed);
    list->parts[atomic_fetch_add_explicit(&list->parts_n, 1, memory_order_relaxed)] = (part_runs){begin * UNIT_RUNS, n};
}

/* Brings the runs of all parts together, in order. */
static void join_parts(run_list *list) {
    const size_t key_bytes = list->job->plan.key_bytes, parts_n = list->parts_n;
    for (size_t done = 0, at = 0; done < parts_n; done++, at++) {
        size_t next = SIZE_MAX;
        for (size_t p = 0; p < parts_n; p++)
            if (list->parts[p].begin >= at && (next == SIZE_MAX || list->parts[p].begin < list->parts[next].begin))
                next = p;
        at = list->parts[next].begin;
        const scan_sort_columns to = offset(list, list->n), from = offset(list, at);
        memmove(to.keys, from.keys, list->parts[next].n * key_bytes);
        memmove(to.values, from.values, list->parts[next].n * sizeof(uint32_t));
        list->n += list->parts[next].n;
    }
}

/* Places begin ... end of the output. */
static void fill_part(void *arg, size_t begin, size_t end) {
    const run_list *list = arg;
    const scan_sort_job *j = list->job;
    const uint32_t *ends = list->runs.values;
    size_t run = 0;
    for (size_t last = list->n; run < last;) {
        const size_t middle = run + (last - run) / 2;
        if (ends[middle] <= begin)
            run = middle + 1;
        else
            last = middle;
    }
    for (; begin < end; begin = ends[run++])
        j->plan.kernels->spread(j->out.keys, begin, scan_sort_smaller(ends[run], end), end,
                                scan_sort_load(list->runs.keys, run, (unsigned)j->plan.key_bytes));
}

bool scan_cpu_sort_by_runs(const scan_sort_job *j, void *scratch, uint32_t *counts) {
    const size_t room = units_of(j->n) * UNIT_RUNS, bytes = j->n * j->plan.key_bytes;
    char *keys = scratch, *lengths = keys + scan_sort_round_up(room * j->plan.key_bytes),
         *other_keys = lengths + scan_sort_round_up(room * sizeof(uint32_t)),
         *other_lengths = other_keys + scan_sort_round_up(room * j->plan.key_bytes);
    run_list list = {.job = j, .runs = {keys, lengths}};
    scan_sort_pass(j->team, find_part, &list, units_of(j->n), bytes);
    if (atomic_load_explicit(&list.failed, memory_order_relaxed))
        return false;
    join_parts(&list);
    j->plan.sort_runs(&(scan_sort_local){.order = j->order,
                                         .from = list.runs,
                                         .to = list.runs,
                                         .spare = {other_keys, other_lengths},
                                         .n = list.n,
                                         .counts = counts,
                                         .team = j->team});
    uint32_t *ends = list.runs.values;
    for (size_t run = 1; run < list.n; run++)
        ends[run] += ends[run - 1];
    scan_sort_pass(j->team, fill_part, &list, j->n, bytes);
    return true;
}
