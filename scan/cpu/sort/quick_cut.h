/* SPDX-License-Identifier: MIT
 *
 * Where a quicksort cuts a range in two. Candidates show whether the pivot repeats: then the cut lies beside its value,
 * on the side that leaves the parts more alike, and a value by itself is soon a range of its own, which is looked
 * through and not cut again. Of codes of floats, ties count as one value (quick_pairs.h). Included by quick_lanes.h
 * once a width.
 */

/* n >= 4 * LANES */
SCAN_INLINE KEY NAME(choose_pivot)(const KEY *x, size_t n, V flip, unsigned *repeats) {
    size_t places[3];
    NAME(choose_places)(n, places);
    return NAME(pivot_of)(V_XOR(flip, V_LOAD(x + places[0])), V_XOR(flip, V_LOAD(x + places[1])),
                          V_XOR(flip, V_LOAD(x + places[2])), repeats);
}

/* The code of a key. */
SCAN_INLINE KEY NAME(flipped)(KEY key, V flip) { return V_FIRST(V_XOR(flip, V_SET1(key))); }

/* The place of the first of n keys whose code is not from `low` to `high`, or n. */
static size_t NAME(first_outside)(const KEY *x, size_t n, V flip, KEY low, KEY high) {
    const V_BITS all = (V_BITS)((1ull << LANES) - 1);
    const V below = V_SET1(BEFORE(low)), most = V_SET1(high);
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        const V code = V_XOR(flip, V_LOAD(x + i));
        const V_BITS inside = V_LOWS(code, most) & (V_BITS) ~(low == LEAST ? 0 : V_LOWS(code, below)) & all;
        if (inside != all)
            break;
    }
    for (; i < n; i++) {
        const KEY code = NAME(flipped)(x[i], flip);
        if (RANK(code) < RANK(low) || RANK(code) > RANK(high))
            break;
    }
    return i;
}

/* How many of the pivot's candidates are up to `last`. */
SCAN_INLINE size_t NAME(count_lows)(const KEY *x, const size_t *places, V flip, KEY last) {
    size_t count = 0;
    for (unsigned k = 0; k < 3; k++)
        count += quick_count(V_LOWS(V_XOR(flip, V_LOAD(x + places[k])), V_SET1(last)), LANES);
    return count;
}

/* The cut of n keys whose pivot, one of the values from `low` to `high`, repeats: codes up to *last are one part. False
 * if all are such values. */
static __attribute__((noinline)) bool NAME(cut_beside)(const KEY *x, size_t n, V flip, KEY low, KEY high, KEY *last) {
    size_t places[3];
    NAME(choose_places)(n, places);
    const size_t count = 3 * LANES, up_to = NAME(count_lows)(x, places, flip, high),
                 below = low == LEAST ? 0 : NAME(count_lows)(x, places, flip, BEFORE(low));
    *last = high;
    if (below == 0 && up_to == count) {
        const size_t outside = NAME(first_outside)(x, n, flip, low, high);
        if (outside == n)
            return false;
        if (RANK(NAME(flipped)(x[outside], flip)) < RANK(low))
            *last = BEFORE(low);
        return true;
    }
    const size_t above = count - up_to, smaller_part = above < up_to ? above : up_to;
    if ((below < count - below ? below : count - below) > smaller_part)
        *last = BEFORE(low);
    return true;
}
