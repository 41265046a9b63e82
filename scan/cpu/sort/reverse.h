/* SPDX-License-Identifier: MIT
 *
 * Input in descending order is reversed; elements of equal keys, which a reversal turns round, are turned once more.
 *
 * Included by kernels.h only.
 */
#ifndef SCAN_CPU_SORT_REVERSE_H
#define SCAN_CPU_SORT_REVERSE_H

#include "distribute.h"
#include "sort.h"

/* Elements begin ... end of a column of n change places with those as far from its end. */
SCAN_INLINE void reverse_column(const void *from, void *to, size_t begin, size_t end, size_t n, unsigned bytes) {
    for (size_t i = begin; i < end; i++) {
        const size_t other = n - 1 - i;
        const uint64_t a = scan_sort_load(from, i, bytes), b = scan_sort_load(from, other, bytes);
        scan_sort_store(to, i, b, bytes);
        scan_sort_store(to, other, a, bytes);
    }
}

/* Elements begin ... end of the reversed array; in place the elements are swapped, for begin ... end in its first half.
 */
SCAN_INLINE void reverse(scan_sort_columns from, scan_sort_columns to, size_t begin, size_t end, size_t n,
                         scan_sort_kind kind) {
    if (to.keys)
        reverse_column(from.keys, to.keys, begin, end, n, kind.key_bytes);
    if (kind.value_bytes && from.values)
        reverse_column(from.values, to.values, begin, end, n, kind.value_bytes);
    for (size_t i = begin; kind.value_bytes && !from.values && i < end; i++) {
        scan_sort_store(to.values, i, n - 1 - i, kind.value_bytes);
        scan_sort_store(to.values, n - 1 - i, i, kind.value_bytes);
    }
}

/* Turns elements begin ... end of `to` round wherever their keys are equal; these are at `last`, `last` - 1 ... of
 * `keys`, which are not in `to`, or where the elements are. A key equal to one of theirs is not elsewhere. */
SCAN_INLINE void turn_ties(const void *keys, size_t last, scan_sort_columns to, size_t begin, size_t end,
                           scan_sort_order order, scan_sort_kind kind) {
    const bool apart = keys != to.keys;
#define CODE(i) scan_sort_code(scan_sort_load(keys, apart ? last - (i) : (i), kind.key_bytes), order, kind)
    for (size_t i = begin, after; i < end; i = after) {
        const uint64_t code = CODE(i);
        for (after = i + 1; after < end && CODE(after) == code;)
            after++;
        if (after - i < 2)
            continue;
        const size_t run = after - i;
        if (to.keys) {
            char *begin_of_run = (char *)to.keys + i * kind.key_bytes;
            reverse_column(begin_of_run, begin_of_run, 0, run / 2, run, kind.key_bytes);
        }
        if (kind.value_bytes) {
            char *begin_of_run = (char *)to.values + i * kind.value_bytes;
            reverse_column(begin_of_run, begin_of_run, 0, run / 2, run, kind.value_bytes);
        }
    }
#undef CODE
}

#endif
