/* SPDX-License-Identifier: MIT
 *
 * Merging by sorting. Of several sorted sources some rows each are in memory. The last of those that a source has here
 * bounds what may be written: what the source has beyond them comes after it. Of the sources that have more, the one
 * whose last row comes first in (key, number of the source) is the bound; all rows up to it, the source's own among
 * them, come before all that is not in memory. These are put one behind the other, in the order of the sources, and
 * sorted by the library's stable sort, which uses all threads; a tournament over the sources would be one chain of
 * comparisons.
 */
#ifndef APPS_SORT_ORDER_MERGE_H
#define APPS_SORT_ORDER_MERGE_H

#include "row_order.h"

/* Rows begin ... end - 1 are a source's, in order. */
typedef struct merge_range {
    size_t begin, end;
    bool more;  /* the source has rows after them; there is at least one here */
    size_t cut; /* result: rows begin ... cut - 1 come before everything that is not here */
} merge_range;

/* Sets the cuts of all sources. order_compare is called some count * log(rows) times. */
void merge_cut(const order *o, merge_range *sources, size_t count);

/* Returns the row that comes last among those before the cuts; ORDER_NONE if there are none. */
size_t merge_last(const order *o, const merge_range *sources, size_t count);

#endif
