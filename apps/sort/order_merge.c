/* SPDX-License-Identifier: MIT
 *
 * Where the bound cuts each source, by binary search.
 */
#include "order_merge.h"

#include "row_check.h"

/* The first row of a source that comes after row `bound`: for sources before the bound's, equal rows come before it,
 * and for those after it they come after. */
static size_t cut_of(const order *o, const merge_range *source, size_t bound, bool equal_before) {
    size_t low = source->begin, high = source->end;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int result = order_compare(o, middle, bound);
        if (result < 0 || (result == 0 && equal_before))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void merge_cut(const order *o, merge_range *sources, size_t count) {
    size_t first = count; /* the source that has the bound */
    for (size_t i = 0; i < count; i++)
        if (sources[i].more && (first == count || order_compare(o, sources[i].end - 1, sources[first].end - 1) < 0))
            first = i;
    for (size_t i = 0; i < count; i++)
        sources[i].cut =
            first == count || i == first ? sources[i].end : cut_of(o, &sources[i], sources[first].end - 1, i < first);
}

size_t merge_last(const order *o, const merge_range *sources, size_t count) {
    size_t last = ORDER_NONE;
    for (size_t i = 0; i < count; i++)
        if (sources[i].cut > sources[i].begin &&
            (last == ORDER_NONE || order_compare(o, sources[i].cut - 1, last) >= 0))
            last = sources[i].cut - 1;
    return last;
}
