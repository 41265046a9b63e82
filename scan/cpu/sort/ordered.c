/* SPDX-License-Identifier: MIT
 *
 * Input in order already: it is copied, or, in descending order, reversed. Then elements with equal keys are turned
 * round once more, so that they keep their order.
 */
#include "job.h"

void scan_cpu_sort_copy_part(const scan_sort_job *j, scan_sort_range r, scan_sort_columns from, unsigned thread) {
    size_t begin, end;
    scan_sort_part_of(j, r.begin, r.n, thread, &begin, &end);
    scan_sort_columns to = j->out;
    if (j->drop_keys)
        to.keys = NULL;
    if (begin < end)
        j->plan.kernels->copy(from, to, begin, end);
}

unsigned scan_cpu_sort_order_of_part(const scan_sort_job *j, const void *keys, size_t begin, size_t end, size_t n) {
    return begin == end ? SCAN_SORT_ORDERS
                        : j->plan.kernels->ordered(keys, begin, scan_sort_smaller(end + 1, n), j->order);
}

unsigned scan_cpu_sort_order_of_input(const scan_sort_job *j, unsigned thread) {
    size_t begin, end;
    scan_sort_part_of(j, 0, j->n, thread, &begin, &end);
    return scan_cpu_sort_order_of_part(j, j->in.keys, begin, end, j->n);
}

/* Turns round the runs of equal keys of the reversed input. A thread has those that begin in its part. */
static void turn_runs(const scan_sort_job *j, unsigned thread) {
    const void *keys = j->drop_keys ? j->in.keys : j->out.keys;
    const size_t last = j->n - 1;
    size_t begin, end;
    scan_sort_part_of(j, 0, j->n, thread, &begin, &end);
    scan_sort_barrier(j); /* the reversal is complete */
    if (j->plan.threads > 1) {
#define CODE(i) j->plan.kernels->code(keys, j->drop_keys ? last - (i) : (i), j->order)
        while (begin > 0 && begin < j->n && CODE(begin) == CODE(begin - 1))
            begin++;
#undef CODE
        if (thread < j->plan.threads)
            *scan_sort_positions_of(j, thread) = begin;
        scan_sort_barrier(j);
        end = thread + 1 < j->plan.threads ? *scan_sort_positions_of(j, thread + 1) : j->n;
    }
    if (begin < end)
        j->plan.kernels->turn_ties(keys, last, (scan_sort_columns){j->drop_keys ? NULL : j->out.keys, j->out.values},
                                   begin, end, j->order);
}

bool scan_cpu_sort_finish_ordered(const scan_sort_job *j, unsigned flags, unsigned thread) {
    size_t begin, end;
    if (flags & SCAN_SORT_ASCENDING) {
        scan_cpu_sort_copy_part(j, (scan_sort_range){.n = j->n}, j->in, thread);
        return true;
    }
    if (!(flags & SCAN_SORT_DESCENDING))
        return false;
    scan_sort_part_of(j, 0, (j->n + 1) / 2, thread, &begin, &end);
    scan_sort_columns to = {j->drop_keys ? NULL : j->out.keys, j->out.values};
    j->plan.kernels->reverse(j->in, to, begin, end, j->n);
    if (!(flags & SCAN_SORT_NO_TIES) && !j->only_codes)
        turn_runs(j, thread);
    return true;
}
