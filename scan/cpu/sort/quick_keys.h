/* SPDX-License-Identifier: MIT
 *
 * Integers alone, around the quicksort of quick_lanes.h, and included with it once a width. Codes are keys with bits
 * inverted. The first partition reads the keys.
 */

static void NAME(quick_integers)(const scan_sort_local *l) {
    const KEY *from = l->from.keys, flip = (KEY)l->order.flip ^ LEAST;
    KEY *to = l->to.keys, *other = l->spare.keys;
    size_t n = l->n;
    atomic_uint unfinished = 0;
    const quick_job job = {flip, LEAST, false, l, &unfinished};
    if (n <= MAX_ROWS * LANES) {
        for (size_t i = 0; i < n; i++)
            to[i] = from[i] ^ flip;
        NAME(network)(to, to, n, n, V_SET1(flip));
        return;
    }
    bool repeats;
    KEY pivot = NAME(choose_pivot)(from, n, V_SET1(flip), &repeats);
    if (n >= (repeats ? QUICK_SURVEY_N : 16384)) {
        NAME(few) few;
        pivot = NAME(survey)(from, n, flip, &few);
        if (few.count > 0) {
            few.sorted = l->sorted_n;
            NAME(sort_few)(&job, &few, from, flip, to, other, n, n, max_depth(l, n));
            return;
        }
    } else if (repeats && !NAME(cut_beside)(from, n, V_SET1(flip), pivot, pivot, &pivot)) {
        NAME(fill)(to, n, V_SET1(pivot ^ flip));
        return;
    }
    const KEY *highs;
    const size_t below = NAME(partition_to)(from, n, V_SET1(flip), pivot, to, other, &highs);
    const NAME(scratch) scratch = NAME(scratch_of)(highs, other, below, n);
    if (NAME(share)(&job, highs, to + below, scratch.highs, n - below, max_depth(l, n))) {
        NAME(quick)(&job, to, to, scratch.lows, below, below, max_depth(l, n));
    } else {
        NAME(quick_lows)(&job, pivot, to, &scratch, below, n, n, max_depth(l, n));
        NAME(quick)(&job, highs, to + below, scratch.highs, n - below, n - below, max_depth(l, n));
    }
    quick_join(l, &unfinished);
}
