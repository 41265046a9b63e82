/* SPDX-License-Identifier: MIT
 *
 * Counting sort of integer keys alone that lie close together, wherever that is in the range of their type: each is
 * read once, and counted; the counts say what the output is.
 *
 *   guess    some hundred keys say how wide the range may be
 *   bounds   one pass says how wide it is
 *   count    another one counts, a table a thread, in memory that is for the partitions else
 *   fill     each thread writes its part of the output
 */
#include "job.h"

enum {
    SAMPLES = 512,
    MOST_VALUES = 1 << 20,  /* a table of some megabytes */
    TWO_COUNTERS = 1 << 16, /* values up to which each has two */
    KEYS_A_VALUE = 4        /* on average, at least: else the table costs more than it saves */
};

/* How many values a range may have. */
static uint64_t most_values(const scan_sort_job *j) {
    size_t tables = j->n / j->plan.threads * j->plan.key_bytes / (2 * sizeof(uint32_t));
    return scan_sort_smaller(scan_sort_smaller(tables, j->n / KEYS_A_VALUE), MOST_VALUES);
}

bool scan_cpu_sort_seems_narrow(const scan_sort_job *j) {
    uint64_t least = UINT64_MAX, most = 0;
    if (!j->only_codes || j->n > UINT32_MAX)
        return false;
    for (size_t i = 0; i < SAMPLES; i++) {
        uint64_t code = j->plan.kernels->code(j->in.keys, scan_sort_anywhere(i, j->n), j->order);
        least = code < least ? code : least;
        most = code > most ? code : most;
    }
    return most - least < most_values(j);
}

/* The counts of one thread. */
static uint32_t *table_of(const scan_sort_job *j, unsigned thread) {
    return (uint32_t *)j->temporary.keys + thread * 2 * most_values(j);
}

/* This thread's part of the output; parts[t] is how many keys have the t-th share of the values. */
static void fill_part(const scan_sort_job *j, uint64_t least, size_t values, unsigned counters, unsigned thread) {
    const uint32_t *total = table_of(j, 0);
    size_t begin, end, from, to, at = 0;
    scan_sort_part_of(j, 0, j->n, thread, &begin, &end);
    for (unsigned t = 0; t < j->plan.threads && at < end; t++) {
        size_t keys = scan_sort_counts_of(j, t)[2];
        if (at + keys <= begin) {
            at += keys;
            continue;
        }
        scan_sort_part_of(j, 0, values, t, &from, &to);
        for (size_t v = from; v < to && at < end; v++) {
            size_t next = at + total[v * counters];
            if (next > begin && next > at)
                j->plan.kernels->spread(j->out.keys, scan_sort_larger(at, begin), scan_sort_smaller(next, end), end,
                                        (least + v) ^ j->order.flip);
            at = next;
        }
    }
}

bool scan_cpu_sort_by_counting(scan_sort_job *j, unsigned thread) {
    const scan_sort_plan *p = &j->plan;
    size_t begin, end;
    if (!scan_cpu_sort_seems_narrow(j))
        return false;
    scan_sort_part_of(j, 0, j->n, thread, &begin, &end);
    if (thread < p->threads)
        p->kernels->bounds(j->in.keys, begin, end, j->order, scan_sort_counts_of(j, thread),
                           scan_sort_counts_of(j, thread) + 1);
    scan_sort_barrier(j);
    uint64_t least = UINT64_MAX, most = 0;
    for (unsigned t = 0; t < p->threads; t++) {
        least = least < scan_sort_counts_of(j, t)[0] ? least : scan_sort_counts_of(j, t)[0];
        most = most > scan_sort_counts_of(j, t)[1] ? most : scan_sort_counts_of(j, t)[1];
    }
    scan_sort_barrier(j);
    if (most - least >= most_values(j))
        return false;
    const size_t values = (size_t)(most - least) + 1;
    const unsigned counters = values <= TWO_COUNTERS ? 2 : 1;
    if (thread < p->threads) {
        memset(table_of(j, thread), 0, values * counters * sizeof(uint32_t));
        p->kernels->count(j->in.keys, begin, end, j->order, least, table_of(j, thread), counters);
    }
    scan_sort_barrier(j);
    if (thread < p->threads) {
        uint64_t keys = 0;
        scan_sort_part_of(j, 0, values, thread, &begin, &end);
        for (unsigned t = 0; t < p->threads; t++) {
            const uint32_t *counts = table_of(j, t);
            uint32_t *total = table_of(j, 0);
            for (size_t v = begin; v < end; v++) {
                uint32_t both = counts[v * counters] + (counters == 2 ? counts[v * counters + 1] : 0);
                total[v * counters] = t == 0 ? both : total[v * counters] + both;
                keys += both;
            }
        }
        scan_sort_counts_of(j, thread)[2] = keys;
    }
    scan_sort_barrier(j);
    if (thread < p->threads)
        fill_part(j, least, values, counters, thread);
    return true;
}
