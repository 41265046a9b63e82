/* SPDX-License-Identifier: MIT
 *
 * Input in order already: as far as it is, it is copied block by block, right after a look at the block, so that it
 * comes from memory once. Or, in descending order, it is reversed; then elements with equal keys are turned round once
 * more, so that they keep their order.
 */
#include "job.h"

enum { BLOCK_BYTES = 8 << 10 }; /* of the input, looked at and copied: with the copy, half an L1 */

/* The output, of argsort without the keys. */
static scan_sort_columns sorted_columns(const scan_sort_job *j) {
    return (scan_sort_columns){j->drop_keys ? NULL : j->out.keys, j->out.values};
}

/* Whether input in order is left where it is. */
static bool is_in_place(const scan_sort_job *j) {
    const scan_sort_columns to = sorted_columns(j);
    return (!to.keys || to.keys == j->in.keys) && (j->plan.value_bytes == 0 || to.values == j->in.values);
}

void scan_cpu_sort_copy_part(const scan_sort_job *j, scan_sort_range r, scan_sort_columns from, unsigned thread) {
    size_t begin, end;
    scan_sort_part_of(j, r.begin, r.n, thread, &begin, &end);
    if (begin < end)
        j->plan.kernels->copy(from, sorted_columns(j), begin, end);
}

unsigned scan_cpu_sort_order_of_part(const scan_sort_job *j, const void *keys, size_t begin, size_t end, size_t n) {
    return begin == end
               ? SCAN_SORT_ORDERS
               : j->plan.kernels->ordered(keys, begin, scan_sort_smaller(end + 1, n), j->order, SCAN_SORT_ORDERS);
}

unsigned scan_cpu_sort_order_of_input(const scan_sort_job *j, unsigned thread) {
    const size_t element_bytes = j->plan.key_bytes + j->plan.value_bytes;
    const scan_sort_columns to = sorted_columns(j);
    size_t begin, end;
    unsigned flags = SCAN_SORT_ORDERS;
    scan_sort_part_of(j, 0, j->n, thread, &begin, &end);
    const size_t block = is_in_place(j) ? end - begin : BLOCK_BYTES / element_bytes;
    while (begin < end && flags & (SCAN_SORT_ASCENDING | SCAN_SORT_DESCENDING)) {
        const size_t stop = flags & SCAN_SORT_ASCENDING ? scan_sort_smaller(end, begin + block) : end;
        flags = j->plan.kernels->ordered(j->in.keys, begin, scan_sort_smaller(stop + 1, j->n), j->order, flags);
        if (flags & SCAN_SORT_ASCENDING)
            j->plan.kernels->copy(j->in, to, begin, stop);
        begin = stop;
    }
    return flags;
}

/* The end of the run of equal keys that an element of the reversed input is in. */
static size_t end_of_run(const scan_sort_job *j, const void *keys, size_t element) {
#define CODE(i) j->plan.kernels->code(keys, j->drop_keys ? j->n - 1 - (i) : (i), j->order)
    const uint64_t code = CODE(element);
    size_t begin = element + 1, end = j->n;
    while (begin < end) {
        const size_t middle = begin + (end - begin) / 2;
        if (CODE(middle) == code)
            begin = middle + 1;
        else
            end = middle;
    }
#undef CODE
    return begin;
}

/* Turns round the runs of equal keys of the reversed input. A thread has those that begin in its part. */
static void turn_runs(const scan_sort_job *j, unsigned thread) {
    const void *keys = j->drop_keys ? j->in.keys : j->out.keys;
    const size_t last = j->n - 1;
    size_t begin, end;
    scan_sort_part_of(j, 0, j->n, thread, &begin, &end);
    scan_sort_barrier(j); /* the reversal is complete */
    if (j->plan.threads > 1) {
        if (begin > 0 && begin < j->n)
            begin = end_of_run(j, keys, begin - 1);
        if (thread < j->plan.threads)
            *scan_sort_positions_of(j, thread) = begin;
        scan_sort_barrier(j);
        end = thread + 1 < j->plan.threads ? *scan_sort_positions_of(j, thread + 1) : j->n;
    }
    if (begin < end)
        j->plan.kernels->turn_ties(keys, last, sorted_columns(j), begin, end, j->order);
}

bool scan_cpu_sort_finish_ordered(const scan_sort_job *j, unsigned flags, unsigned thread) {
    size_t begin, end;
    if (flags & SCAN_SORT_ASCENDING) /* it has been copied */
        return true;
    if (!(flags & SCAN_SORT_DESCENDING))
        return false;
    scan_sort_part_of(j, 0, (j->n + 1) / 2, thread, &begin, &end);
    j->plan.kernels->reverse(j->in, sorted_columns(j), begin, end, j->n);
    if (!(flags & SCAN_SORT_NO_TIES) && !j->only_codes)
        turn_runs(j, thread);
    return true;
}
