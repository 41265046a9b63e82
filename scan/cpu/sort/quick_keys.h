/* SPDX-License-Identifier: MIT
 *
 * Keys to codes and back, around the quicksort of quick_lanes.h, and included with it once a width. Plain loops
 * over lanes of that width, which the compiler vectorizes.
 */

/* Integers: codes are keys with bits inverted. The first partition reads the keys. */
static void NAME(quick_integers)(const scan_sort_local *l) {
    const KEY *from = l->from.keys, flip = (KEY)l->order.flip;
    KEY *to = l->to.keys, *other = l->spare.keys;
    size_t n = l->n;
    quick_job job = {V_SET1(flip), l};
    if (n <= 16 * LANES) {
        for (size_t i = 0; i < n; i++)
            to[i] = from[i] ^ flip;
        NAME(network)(to, to, n, n, job.flip);
        return;
    }
    KEY pivot = NAME(choose_pivot)(from, n, job.flip);
    size_t below = NAME(partition_keys)(from, n, job.flip, pivot, to, other);
    NAME(quick_lows)(&job, pivot, to, other, below, n, n, depth_for(n));
    if (below < n)
        NAME(quick)(&job, other, to + below, other, n - below, n - below, depth_for(n));
}

/* False if there are ties that can be told apart: zeros of both signs, or NaNs of different bits. *nan is the one NaN,
 * 0 if there is none. */
static bool NAME(all_ties_same)(const KEY *x, size_t n, KEY *nan) {
    const KEY sign = (KEY)1 << (8 * sizeof(KEY) - 1);
    KEY plus = 0, minus = 0, any = 0, all = (KEY) ~(KEY)0;
    for (size_t i = 0; i < n; i++) {
        bool is_nan = (x[i] & (sign - 1)) > INFINITY_BITS;
        plus |= x[i] == 0;
        minus |= x[i] == sign;
        any |= is_nan ? x[i] : 0;
        all &= is_nan ? x[i] : (KEY) ~(KEY)0;
    }
    *nan = any;
    return !(plus && minus) && (any == 0 || any == all);
}

/* The codes of code.h but for zero, whose sign is kept: they can be turned back if ties are the same. */
static bool NAME(quick_floats)(const scan_sort_local *l) {
    const KEY sign = (KEY)1 << (8 * sizeof(KEY) - 1), flip = (KEY)l->order.flip, nan_code = (KEY)l->order.nan;
    const KEY *from = l->from.keys;
    KEY *to = l->to.keys, nan;
    if (!NAME(all_ties_same)(from, l->n, &nan))
        return false;
    for (size_t i = 0; i < l->n; i++) {
        KEY x = from[i], code = x ^ (x & sign ? (KEY) ~(KEY)0 : sign) ^ flip;
        to[i] = (x & (sign - 1)) > INFINITY_BITS ? nan_code : code;
    }
    quick_job job = {_mm512_setzero_si512(), l};
    NAME(quick)(&job, to, to, l->spare.keys, l->n, l->n, depth_for(l->n));
    for (size_t i = 0; i < l->n; i++) {
        KEY code = to[i] ^ flip, x = code ^ (code & sign ? sign : (KEY) ~(KEY)0);
        to[i] = to[i] == nan_code && nan ? nan : x;
    }
    return true;
}
