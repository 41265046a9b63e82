/* SPDX-License-Identifier: MIT
 *
 * Input in order already: as far as it is, it is copied block by block, right after a look at the block, so that it
 * comes from memory once. Or, in descending order, it is reversed; then elements with equal keys are turned round once
 * more, so that they keep their order.
 */
#include "job.h"
#include "team.h"

enum {
    BLOCK_BYTES = 16 << 10, /* of the input, looked at and copied: fits an L1 with the copy, and more than 8 KiB, up to
                               which memcpy() of glibc fetches the lines that it writes; ... */
    LOOKED_AT = 4,          /* ... of input that is only looked at, so many times that */
    SHARED_BYTES = 2 << 20, /* read or written, from which on a team serves, where the input's begin is in order: one
                               thread takes 65 microseconds for them */
    BEGIN_N = 1 << 12,      /* elements of the begin */
    UNIT = 1 << 10          /* elements: parts begin where vectors do */
};

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
    size_t sorted;
    return begin == end ? SCAN_SORT_ORDERS
                        : j->plan.kernels->ordered(keys, begin, scan_sort_smaller(end + 1, n), j->order,
                                                   SCAN_SORT_ORDERS, &sorted);
}

static size_t element_bytes(const scan_sort_job *j) { return j->plan.key_bytes + j->plan.value_bytes; }

/* Whether there is a team, and as much to read and write as pays for it. */
static bool may_share(const scan_sort_job *j) {
    return j->team && j->plan.threads == 1 &&
           j->n * (is_in_place(j) ? j->plan.key_bytes : 2 * element_bytes(j)) >= SHARED_BYTES;
}

/* What the input may be, as far as it has been looked at. */
typedef struct order_look {
    const scan_sort_job *job;
    atomic_uint flags;
    atomic_size_t sorted_n; /* keys from the first on that are in order */
} order_look;

static bool may_be_ordered(unsigned flags) { return flags & (SCAN_SORT_ASCENDING | SCAN_SORT_DESCENDING); }

/* Looks at elements begin ... end and the key behind them, and copies what ascends. */
static void look_at(void *arg, size_t begin, size_t end) {
    order_look *look = arg;
    const scan_sort_job *j = look->job;
    unsigned flags = atomic_load_explicit(&look->flags, memory_order_relaxed);
    while (begin < end && may_be_ordered(flags)) {
        const bool copies = flags & SCAN_SORT_ASCENDING && !is_in_place(j);
        const size_t block = (copies ? BLOCK_BYTES : LOOKED_AT * BLOCK_BYTES) / element_bytes(j);
        const size_t stop = scan_sort_smaller(end, begin + block);
        size_t sorted = begin;
        const unsigned found =
            j->plan.kernels->ordered(j->in.keys, begin, scan_sort_smaller(stop + 1, j->n), j->order, flags, &sorted);
        if (found & SCAN_SORT_ASCENDING) {
            j->plan.kernels->copy(j->in, sorted_columns(j), begin, stop);
            sorted = stop;
        }
        if (begin == atomic_load_explicit(&look->sorted_n, memory_order_relaxed))
            atomic_store_explicit(&look->sorted_n, sorted, memory_order_relaxed);
        flags = atomic_fetch_and_explicit(&look->flags, found, memory_order_relaxed) & found;
        begin = stop;
    }
}

unsigned scan_cpu_sort_order_of_input(scan_sort_job *j, unsigned thread) {
    size_t begin, end;
    order_look look = {.job = j, .flags = SCAN_SORT_ORDERS};
    atomic_init(&look.sorted_n, 0);
    scan_sort_part_of(j, 0, j->n, thread, &begin, &end);
    if (may_share(j)) {
        const size_t middle = begin + BEGIN_N;
        look_at(&look, begin, middle);
        begin = middle;
        if (may_be_ordered(atomic_load_explicit(&look.flags, memory_order_relaxed))) {
            scan_cpu_sort_in_parts(j->team, look_at, &look, begin, end, UNIT);
            begin = end;
        }
    }
    look_at(&look, begin, end);
    if (j->plan.threads == 1)
        j->sorted_n = atomic_load_explicit(&look.sorted_n, memory_order_relaxed);
    return atomic_load_explicit(&look.flags, memory_order_relaxed);
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

static void reverse_part(void *arg, size_t begin, size_t end) {
    const scan_sort_job *j = arg;
    j->plan.kernels->reverse(j->in, sorted_columns(j), begin, end, j->n);
}

bool scan_cpu_sort_finish_ordered(const scan_sort_job *j, unsigned flags, unsigned thread) {
    size_t begin, end;
    if (flags & SCAN_SORT_ASCENDING) /* it has been copied */
        return true;
    if (!(flags & SCAN_SORT_DESCENDING))
        return false;
    scan_sort_part_of(j, 0, (j->n + 1) / 2, thread, &begin, &end);
    if (may_share(j))
        scan_cpu_sort_in_parts(j->team, reverse_part, (void *)j, begin, end, UNIT);
    else
        reverse_part((void *)j, begin, end);
    if (!(flags & SCAN_SORT_NO_TIES) && !j->only_codes)
        turn_runs(j, thread);
    return true;
}
