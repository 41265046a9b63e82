/* SPDX-License-Identifier: MIT
 *
 * How the quicksort of pairs divides a range whose keys seem to be of two values: then the keys need not be moved, only
 * the values, and both parts are sorted. A few others are set aside, and put between the two when they are sorted.
 * If they become too many, or one is a tie of the two, the keys before it, which are known, are written, and the rest
 * is divided with its keys.
 *
 * Included by quick_pairs.h once a width of keys and once a width of values.
 */

enum {
    PAIR(MAX_ASIDE) = 1024,
    PAIR(PER_ASIDE) = 32 /* pairs for each that is set aside: more others are sooner divided with their keys */
};

/* The others that have been set aside, in the order of the input, with room for scratch. */
typedef struct PAIR(some_others) {
    KEY keys[2 * PAIR(MAX_ASIDE) + LANES];
    VALUE values[2 * PAIR(MAX_ASIDE) + LANES];
    size_t n;
} PAIR(some_others);

/* Sets the pairs of a mask aside, behind `before` pairs. False if there are too many, or one is a tie of either value.
 */
static bool PAIR(set_others_aside)(const NAME(split) * s, const PAIR(cut) * cut, V v, PAIR(vector) w, V_BITS bits,
                                   size_t before, PAIR(some_others) * others) {
    const size_t count = quick_count(bits, LANES);
    if (others->n + count > PAIR(MAX_ASIDE) || others->n > before / PAIR(PER_ASIDE) + LANES)
        return false;
    if (s->ties) {
        const V code = NAME(join_ties)(s->ties, v);
        const V low = NAME(join_ties)(s->ties, V_SET1(cut->low)), high = NAME(join_ties)(s->ties, V_SET1(cut->high));
        if (bits & ~V_UNSET(V_MASK_OR(V_EQUAL(code, low), V_EQUAL(code, high))))
            return false;
    }
    V_STORE(others->keys + others->n, V_COMPRESS(v, bits));
    PAIR(store_some)(others->values + others->n, w, bits);
    others->n += count;
    return true;
}

/* How many of the pairs set aside are less than a value. */
static size_t PAIR(count_lower_others)(const PAIR(some_others) * others, KEY flip, KEY value) {
    size_t less = 0;
    for (size_t i = 0; i < others->n; i++)
        less += RANK(others->keys[i] ^ flip) < RANK(value);
    return less;
}

/* As divide(), but of the values of two keys, from place i on, until another key is met or, with `others`, one cannot
 * be set aside. Of the pairs before, *low_n are low, and the others high. Returns how far that is. */
SCAN_INLINE size_t PAIR(divide_values)(const NAME(split) * s, const PAIR(cut) * cut, PAIR(columns) x, size_t n,
                                       size_t i, VALUE *lows, VALUE *highs, size_t *low_n, PAIR(some_others) * others) {
    const KEY low_key = NAME(flipped)(cut->low, s->flip), high_key = NAME(flipped)(cut->high, s->flip);
    const V low_keys = V_SET1(low_key), high_keys = V_SET1(high_key);
    const V_BITS all = (V_BITS)((1ull << LANES) - 1);
    size_t low = *low_n, high = i - low;
    for (; i + LANES <= n; i += LANES) {
        const V v = V_LOAD(x.keys + i);
        const PAIR(vector) w = PAIR(load)(x.values + i);
        const V_MASK is_low = V_EQUAL(v, low_keys);
        const V_BITS not_low = V_UNSET(is_low) & all,
                     other_bits = V_UNSET(V_MASK_OR(is_low, V_EQUAL(v, high_keys))) & all;
        if (other_bits && (!others || !PAIR(set_others_aside)(s, cut, v, w, other_bits, i, others)))
            break;
        const V_BITS high_bits = (V_BITS)(not_low & ~other_bits);
        quick_fetch_ahead(lows + low);
        quick_fetch_ahead(highs + high);
        PAIR(store_some)(lows + low, w, (V_BITS)~not_low);
        PAIR(store_some)(highs + high, w, high_bits);
        low += LANES - quick_count(not_low, LANES);
        high += quick_count(high_bits, LANES);
    }
    for (; n - i < LANES && i < n; i++) {
        const KEY key = x.keys[i];
        const VALUE value = x.values[i], some[LANES] = {value};
        if (key == low_key)
            lows[low++] = value;
        else if (key == high_key)
            highs[high++] = value;
        else if (!others || !PAIR(set_others_aside)(s, cut, V_SET1(key), PAIR(load)(some), 1, i, others))
            break;
    }
    *low_n = low;
    return i;
}

/* The key of an integer, or of a code of floats. */
SCAN_INLINE V PAIR(final_key)(const NAME(split) * s, KEY key) {
    return s->ties ? NAME(turned_back)(s->ties, V_SET1(key)) : V_SET1(key);
}

/* Puts the values of two keys, and the others, in their places. */
static void PAIR(put_two)(const PAIR(job) * job, const PAIR(cut) * cut, size_t low, size_t high,
                          PAIR(some_others) * others, PAIR(columns) to, const VALUE *highs, unsigned depth) {
    const NAME(split) *s = job->split;
    const PAIR(columns) aside = {others->keys, others->values}, scratch = PAIR(from)(aside, others->n);
    const KEY low_key = NAME(flipped)(cut->low, s->flip), high_key = NAME(flipped)(cut->high, s->flip);
    const size_t lows_at = PAIR(count_lower_others)(others, low_key ^ cut->low, cut->low),
                 before = PAIR(count_lower_others)(others, low_key ^ cut->low, cut->high), highs_at = low + before;
    if (others->n > 0)
        PAIR(quick)(job, aside, aside, scratch, others->n, depth);
    if (lows_at > 0)
        memmove(to.values + lows_at, to.values, low * sizeof(VALUE));
    memcpy(to.values + highs_at, highs, high * sizeof(VALUE));
    NAME(fill)(to.keys + lows_at, low, PAIR(final_key)(s, low_key));
    NAME(fill)(to.keys + highs_at, high, PAIR(final_key)(s, high_key));
    PAIR(move)(aside, to, lows_at);
    PAIR(move)(PAIR(from)(aside, lows_at), PAIR(from)(to, lows_at + low), before - lows_at);
    PAIR(move)(PAIR(from)(aside, before), PAIR(from)(to, highs_at + high), others->n - before);
}

/* What divide_two() does from place i on, where another key is. */
QUICK_APART static size_t PAIR(divide_with_others)(const PAIR(job) * job, PAIR(columns) x, size_t n, size_t i,
                                                   size_t low, const PAIR(cut) * cut, PAIR(columns) to,
                                                   PAIR(columns) other, unsigned depth) {
    const NAME(split) *s = job->split;
    PAIR(some_others) others;
    others.n = 0;
    i = PAIR(divide_values)(s, cut, x, n, i, to.values, other.values, &low, &others);
    size_t high = i - low - others.n;
    if (i == n) {
        PAIR(put_two)(job, cut, low, high, &others, to, other.values, depth);
        return n;
    }
    NAME(fill)(to.keys, low, V_SET1(NAME(flipped)(cut->low, s->flip)));
    NAME(fill)(other.keys, high, V_SET1(NAME(flipped)(cut->high, s->flip)));
    for (size_t k = 0; k < others.n; k++) {
        const bool is_low = RANK(NAME(flipped)(others.keys[k], s->flip)) <= RANK(cut->last);
        const PAIR(columns) part = is_low ? to : other;
        const size_t at = is_low ? low++ : high++;
        part.keys[at] = others.keys[k];
        part.values[at] = others.values[k];
    }
    return low +
           PAIR(divide_integers)(s, PAIR(from)(x, i), n - i, cut->last, PAIR(from)(to, low), PAIR(from)(other, high));
}

/* Divides n pairs at a cut between two values, both of which occur. Returns how many are low, or n if the pairs have
 * hardly any other values: then they are sorted. */
static size_t PAIR(divide_two)(const PAIR(job) * job, PAIR(columns) x, size_t n, const PAIR(cut) * cut,
                               PAIR(columns) to, PAIR(columns) other, unsigned depth) {
    const NAME(split) *s = job->split;
    size_t low = 0;
    const size_t i = PAIR(divide_values)(s, cut, x, n, 0, to.values, other.values, &low, NULL);
    if (i < n)
        return PAIR(divide_with_others)(job, x, n, i, low, cut, to, other, depth);
    memcpy(to.values + low, other.values, (n - low) * sizeof(VALUE));
    NAME(fill)(to.keys, low, PAIR(final_key)(s, NAME(flipped)(cut->low, s->flip)));
    NAME(fill)(to.keys + low, n - low, PAIR(final_key)(s, NAME(flipped)(cut->high, s->flip)));
    return n;
}
