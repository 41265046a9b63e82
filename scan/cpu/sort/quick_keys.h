/* SPDX-License-Identifier: MIT
 *
 * Keys to codes and back, around the quicksort of quick_lanes.h, and included with it once a width. Plain loops
 * over lanes of that width, which the compiler vectorizes.
 */

/* Integers: codes are keys with bits inverted. The first partition reads the keys. */
static void NAME(quick_integers)(const scan_sort_local *l) {
    const KEY *from = l->from.keys, flip = (KEY)l->order.flip ^ LEAST;
    KEY *to = l->to.keys, *other = l->spare.keys;
    size_t n = l->n;
    const quick_job job = {flip, LEAST, l};
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
            NAME(sort_few)(&job, &few, from, flip, to, other, n, n, depth_for(n));
            return;
        }
    }
    size_t below = NAME(partition_keys)(from, n, V_SET1(flip), pivot, to, other);
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
static void NAME(quick_floats)(const scan_sort_local *l) {
    const KEY sign = (KEY)1 << (8 * sizeof(KEY) - 1), flip = (KEY)l->order.flip ^ LEAST,
              nan_code = (KEY)l->order.nan ^ LEAST;
    const KEY *from = l->from.keys;
    KEY *to = l->to.keys, nan;
    if (!NAME(all_ties_same)(from, l->n, &nan)) {
        scan_sort_local stable = *l;
        if (from == l->spare.keys)
            stable.from.keys = memcpy(to, from, l->n * sizeof(KEY));
        QUICK_KERNELS[sizeof(KEY) == 4 ? 4 : 5][0].local(&stable);
        return;
    }
    for (size_t i = 0; i < l->n; i++) {
        KEY x = from[i], code = x ^ (x & sign ? (KEY) ~(KEY)0 : sign) ^ flip;
        to[i] = (x & (sign - 1)) > INFINITY_BITS ? nan_code : code;
    }
    const quick_job job = {0, LEAST, l};
    NAME(quick)(&job, to, to, l->spare.keys, l->n, l->n, depth_for(l->n));
    for (size_t i = 0; i < l->n; i++) {
        KEY code = to[i] ^ flip, x = code ^ (code & sign ? sign : (KEY) ~(KEY)0);
        to[i] = to[i] == nan_code && nan ? nan : x;
    }
}

/* What a width defines, of which the other width has its own. */
#undef KEY
#undef LANES
#undef LEAST
#undef MOST
#undef INFINITY_BITS
#undef NAME
#undef V_MASK
#undef V_BITS
#undef V_MIN
#undef V_MAX
#undef V_MIN_MAX
#undef V_MAX_MIN
#undef V_EXCHANGE
#undef V_INTERLEAVE_LOW
#undef V_INTERLEAVE_HIGH
#undef V_BELOW
#undef V_MASK_LOAD
#undef V_MASK_STORE
#undef V_SET1
#undef V_FIRST
#undef V_ROTATE
#undef V_LOWS
#undef V_COMPRESS
#undef V_EQUAL
#undef V_TALLY
#undef V_MASK_OR
#undef V_UNSET
