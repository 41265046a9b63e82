/* SPDX-License-Identifier: MIT
 *
 * Where a quicksort of pairs cuts a range in two. Candidates show whether the pivot repeats: then the cut lies beside
 * its value, on the side that leaves the parts more alike, and a value by itself is soon a range of its own, which is
 * looked through and not cut again. Included once a width.
 */

/* The place of the first of n keys whose code is not from `low` to `high`, or n. */
static size_t NAME(first_outside)(const NAME(split) * s, const KEY *x, size_t n, KEY low, KEY high) {
    const V_BITS all = (V_BITS)((1ull << LANES) - 1);
    const V below = V_SET1(low - 1), most = V_SET1(high);
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        const V code = V_XOR(s->flip, V_LOAD(x + i));
        const V_BITS inside = V_LOWS(code, most) & (V_BITS) ~(low == LEAST ? 0 : V_LOWS(code, below)) & all;
        if (inside != all)
            break;
    }
    for (; i < n; i++) {
        KEY codes[LANES];
        V_STORE(codes, V_XOR(s->flip, V_SET1(x[i])));
        if ((codes[0] ^ LEAST) < (low ^ LEAST) || (codes[0] ^ LEAST) > (high ^ LEAST))
            break;
    }
    return i;
}

/* Of codes that a, b and c hold, how many are up to `last`. */
SCAN_INLINE size_t NAME(count_lows)(V a, V b, V c, KEY last) {
    const V pivot = V_SET1(last);
    return quick_count(V_LOWS(a, pivot), LANES) + quick_count(V_LOWS(b, pivot), LANES) +
           quick_count(V_LOWS(c, pivot), LANES);
}

/* The cut of n keys whose pivot repeats among the codes that a, b and c hold. */
static __attribute__((noinline)) bool NAME(cut_beside)(const NAME(split) * s, const KEY *x, size_t n, KEY pivot, V a,
                                                       V b, V c, KEY *last) {
    const KEY low = s->ties ? NAME(first_tie)(s->ties, pivot) : pivot, high = *last;
    const size_t candidates = 3 * LANES, up_to = NAME(count_lows)(a, b, c, high),
                 below = low == LEAST ? 0 : NAME(count_lows)(a, b, c, (KEY)(low - 1));
    if (below == 0 && up_to == candidates) {
        const size_t outside = NAME(first_outside)(s, x, n, low, high);
        if (outside == n)
            return false;
        KEY codes[LANES];
        V_STORE(codes, V_XOR(s->flip, V_SET1(x[outside])));
        if ((codes[0] ^ LEAST) < (low ^ LEAST))
            *last = low - 1;
        return true;
    }
    const size_t above = candidates - up_to, smaller_part = above < up_to ? above : up_to;
    if ((below < candidates - below ? below : candidates - below) > smaller_part)
        *last = low - 1;
    return true;
}

/* Codes up to *last are one part: of codes of floats all ties or none. n >= 4 * LANES. False if all codes are ties. */
static __attribute__((noinline)) bool NAME(choose_cut)(const NAME(split) * s, const KEY *x, size_t n, KEY *last) {
    size_t places[3];
    bool repeats;
    NAME(choose_places)(n, places);
    const V a = V_XOR(s->flip, V_LOAD(x + places[0])), b = V_XOR(s->flip, V_LOAD(x + places[1])),
            c = V_XOR(s->flip, V_LOAD(x + places[2]));
    const KEY pivot = NAME(pivot_of)(a, b, c, &repeats);
    *last = s->ties ? NAME(last_tie)(s->ties, pivot) : pivot;
    return !repeats || NAME(cut_beside)(s, x, n, pivot, a, b, c, last);
}
