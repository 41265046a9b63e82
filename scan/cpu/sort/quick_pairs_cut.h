/* SPDX-License-Identifier: MIT
 *
 * Where the quicksort of pairs cuts a range in two, and whether its keys seem to be of two values, with hardly any
 * others (quick_pairs_two.h).
 *
 * Included by quick_pairs.h once a width of keys and once a width of values.
 */

/* How a range is cut: codes up to `last` are one part, of codes of floats all ties or none. */
typedef struct PAIR(cut) {
    KEY last;
    unsigned repeats; /* other candidates of the pivot that equal it */
    bool two;         /* nearly all seem to be one of two codes, which are no ties of each other */
    KEY low, high;
} PAIR(cut);

/* Whether nearly all candidates of a pivot have one of two codes: the pivot and *other. If all candidates equal the
 * pivot, *other is the pivot. */
SCAN_INLINE bool PAIR(are_two)(const KEY *x, size_t n, V flip, KEY pivot, KEY *other) {
    enum { MAX_OTHERS = 1 };
    const V_BITS all = (V_BITS)((1ull << LANES) - 1);
    size_t places[3], others = 0;
    *other = pivot;
    NAME(choose_places)(n, places);
    for (unsigned k = 0; k < 3 && *other == pivot; k++) {
        const V_BITS differ = V_UNSET(V_EQUAL(V_XOR(flip, V_LOAD(x + places[k])), V_SET1(pivot))) & all;
        if (differ)
            *other = NAME(flipped)(x[places[k] + (unsigned)__builtin_ctz(differ)], flip);
    }
    for (unsigned k = 0; k < 3; k++) {
        const V code = V_XOR(flip, V_LOAD(x + places[k]));
        const V_BITS differ = V_UNSET(V_MASK_OR(V_EQUAL(code, V_SET1(pivot)), V_EQUAL(code, V_SET1(*other))));
        others += quick_count(differ, LANES);
    }
    return others <= MAX_OTHERS;
}

/* n >= 4 * LANES. False if all codes are ties. */
static bool PAIR(choose_cut)(const NAME(split) * s, const KEY *x, size_t n, PAIR(cut) * cut) {
    const KEY pivot = NAME(choose_pivot)(x, n, s->flip, &cut->repeats),
              low = s->ties ? NAME(first_tie)(s->ties, pivot) : pivot;
    KEY other;
    cut->last = s->ties ? NAME(last_tie)(s->ties, pivot) : pivot;
    cut->two = false;
    if (low == cut->last && !cut->repeats)
        return true;
    if (PAIR(are_two)(x, n, s->flip, pivot, &other)) {
        if (other == pivot) {
            const size_t outside = NAME(first_outside)(x, n, s->flip, low, cut->last);
            if (outside == n)
                return false;
            other = NAME(flipped)(x[outside], s->flip);
        }
        const bool is_low = RANK(pivot) < RANK(other);
        cut->low = is_low ? pivot : other;
        cut->high = is_low ? other : pivot;
        if (is_low ? RANK(cut->last) < RANK(other) : RANK(other) < RANK(low)) {
            cut->last = is_low ? cut->last : BEFORE(low); /* beside the pivot: the other value may be a rare one */
            cut->two = true;
            return true;
        }
    }
    return NAME(cut_beside)(x, n, s->flip, low, cut->last, &cut->last);
}
