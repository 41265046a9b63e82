/* SPDX-License-Identifier: MIT
 *
 * Where the quicksort of pairs cuts a range in two, and how it divides a range whose keys seem to be of two values:
 * then the keys need not be moved, only the values, and both parts are sorted. If another key is met the keys before
 * it, which are known, are written, and the rest is divided with its keys.
 *
 * Included by quick_pairs.h once a width of keys and once a width of values.
 */

/* How a range is cut: codes up to `last` are one part, of codes of floats all ties or none. */
typedef struct PAIR(cut) {
    KEY last;
    bool two; /* all seem to be one of two codes, which are no ties of each other */
    KEY low, high;
} PAIR(cut);

/* n >= 4 * LANES. False if all codes are ties. */
static bool PAIR(choose_cut)(const NAME(split) * s, const KEY *x, size_t n, PAIR(cut) * cut) {
    bool repeats;
    const KEY pivot = NAME(choose_pivot)(x, n, s->flip, &repeats),
              low = s->ties ? NAME(first_tie)(s->ties, pivot) : pivot;
    cut->last = s->ties ? NAME(last_tie)(s->ties, pivot) : pivot;
    cut->two = false;
    if (low == cut->last && !repeats)
        return true;
    if (NAME(are_two)(x, n, s->flip, pivot, &cut->low, &cut->high)) {
        const KEY last = s->ties ? NAME(last_tie)(s->ties, cut->low) : cut->low;
        if ((last ^ LEAST) < (cut->high ^ LEAST)) {
            cut->last = last;
            cut->two = true;
            return true;
        }
    }
    return NAME(cut_beside)(x, n, s->flip, low, cut->last, &cut->last);
}

/* As divide(), but of values alone, as long as keys are one of two. Returns how many pairs that are. */
static size_t PAIR(divide_values)(PAIR(columns) x, size_t n, KEY low_key, KEY high_key, VALUE *lows, VALUE *highs,
                                  size_t *low_n) {
    const V low_keys = V_SET1(low_key), high_keys = V_SET1(high_key);
    size_t low = 0, i = 0;
    for (; i + LANES <= n; i += LANES) {
        const V v = V_LOAD(x.keys + i);
        const PAIR(vector) w = PAIR(load)(x.values + i);
        const V_MASK is_low = V_EQUAL(v, low_keys);
        const V_BITS high_bits = V_UNSET(is_low), low_bits = (V_BITS)~high_bits;
        if (V_UNSET(V_MASK_OR(is_low, V_EQUAL(v, high_keys))))
            break;
        quick_fetch_ahead(lows + low);
        quick_fetch_ahead(highs + (i - low));
        PAIR(store_some)(lows + low, w, low_bits);
        PAIR(store_some)(highs + (i - low), w, high_bits);
        low += LANES - quick_count(high_bits, LANES);
    }
    for (; n - i < LANES && i < n && (x.keys[i] == low_key || x.keys[i] == high_key); i++) {
        const VALUE value = x.values[i];
        const size_t is_low = x.keys[i] == low_key;
        *(is_low ? lows + low : highs + (i - low)) = value;
        low += is_low;
    }
    *low_n = low;
    return i;
}

/* The key of an integer, or of a code of floats. */
SCAN_INLINE V PAIR(final_key)(const NAME(split) * s, KEY key) {
    return s->ties ? NAME(turned_back)(s->ties, V_SET1(key)) : V_SET1(key);
}

/* Divides n pairs at a cut between two values, both of which occur. Returns how many are low, or n if the pairs have no
 * other values: then they are sorted. */
static size_t PAIR(divide_two)(const NAME(split) * s, PAIR(columns) x, size_t n, const PAIR(cut) * cut,
                               PAIR(columns) to, PAIR(columns) other) {
    const KEY low_key = NAME(flipped)(cut->low, s->flip), high_key = NAME(flipped)(cut->high, s->flip);
    size_t low;
    const size_t i = PAIR(divide_values)(x, n, low_key, high_key, to.values, other.values, &low), high = i - low;
    if (i == n) {
        NAME(fill)(to.keys, low, PAIR(final_key)(s, low_key));
        NAME(fill)(to.keys + low, high, PAIR(final_key)(s, high_key));
        memcpy(to.values + low, other.values, high * sizeof(VALUE));
        return n;
    }
    NAME(fill)(to.keys, low, V_SET1(low_key));
    NAME(fill)(other.keys, high, V_SET1(high_key));
    return low +
           PAIR(divide_integers)(s, PAIR(from)(x, i), n - i, cut->last, PAIR(from)(to, low), PAIR(from)(other, high));
}
