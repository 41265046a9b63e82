/* SPDX-License-Identifier: MIT
 *
 * A partition in two, as a quicksort begins, by all threads: where there are two threads and what one of them sorts
 * soon is not much, it costs less than bins of many. Each thread counts its part, then divides it to its places
 * (quick_halves.h); then a thread sorts each half. A half that is much larger than the other is divided again.
 */
#include "job.h"

bool scan_cpu_sort_count_halves(const scan_sort_job *j, scan_sort_part *part, size_t n, unsigned thread) {
    enum { LEAST_SHARE = 64 };
    size_t low = 0;
    part->bits = 1;
    if (thread < j->plan.threads)
        j->plan.halves.count(part);
    scan_sort_barrier(j);
    for (unsigned t = 0; t < j->plan.threads; t++)
        low += scan_sort_counts_of(j, t)[0];
    if (scan_sort_smaller(low, n - low) >= n / LEAST_SHARE)
        return true;
    scan_sort_barrier(j); /* all have read the counts */
    part->splitters = NULL;
    return false;
}
