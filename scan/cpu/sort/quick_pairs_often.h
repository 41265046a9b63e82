/* SPDX-License-Identifier: MIT
 *
 * Pairs of which most, but not nearly all (quick_pairs_one.h), have one key. One pass sets the others aside and brings
 * the values of the key together. The others are then sorted; the key itself is not moved but written. Partitions in
 * two would move all pairs twice, as the key has others on both sides. If one of the others is a tie of the key
 * (floats: zeros, NaNs) another way has to serve.
 *
 * Included by quick_pairs.h once a width of keys and once a width of values.
 */

enum {
    PAIR(OTHERS_IN_16) = sizeof(VALUE) > sizeof(KEY) ? 4 : 6 /* pairs of 16: as many as there is room for, or pay */
};

/* Whether a sample is mostly of one key: others that come close to the most would often be too many. */
static bool PAIR(seems_often)(const KEY *x, size_t n, KEY key) {
    enum { MAX_SAMPLED_OTHERS = QUICK_SAMPLES / 16 * PAIR(OTHERS_IN_16) - 3 };
    size_t others = 0;
    for (size_t i = 0; i < QUICK_SAMPLES && others <= MAX_SAMPLED_OTHERS; i++)
        others += x[NAME(sample_place)(i, n)] != key;
    return others <= MAX_SAMPLED_OTHERS;
}

/* Copies the values of the key to `values` and the other pairs to `others`, which has room for max_others and a vector
 * more. Returns the number of others, or SIZE_MAX if there are more. */
static size_t PAIR(set_aside)(PAIR(columns) x, size_t n, KEY key, VALUE *values, PAIR(columns) others,
                              size_t max_others) {
    const V keys = V_SET1(key);
    size_t other = 0, i = 0;
    for (; i + LANES <= n && other <= max_others; i += LANES) {
        const V v = V_LOAD(x.keys + i);
        const PAIR(vector) w = PAIR(load)(x.values + i);
        const V_BITS bits = V_UNSET(V_EQUAL(v, keys));
        PAIR(store_some)(values + (i - other), w, (V_BITS)~bits);
        V_STORE(others.keys + other, V_COMPRESS(v, bits));
        PAIR(store_some)(others.values + other, w, bits);
        other += quick_count(bits, LANES);
    }
    for (; i < n && other <= max_others; i++) {
        others.keys[other] = x.keys[i];
        values[i - other] = others.values[other] = x.values[i];
        other += x.keys[i] != key;
    }
    return other <= max_others ? other : SIZE_MAX;
}

static KEY PAIR(rank_of)(const NAME(split) * s, KEY key) {
    return RANK(V_FIRST(NAME(code_of)(s, V_SET1(key), s->is_float)));
}

/* Whether one of n keys is a tie of another key: both are zeros or NaNs. */
static bool PAIR(has_ties)(const NAME(split) * s, const KEY *x, size_t n, KEY key) {
    const KEY magnitude = key & (KEY) ~((KEY)1 << (8 * sizeof(KEY) - 1));
    if (!s->is_float || (magnitude > 0 && magnitude <= INFINITY_BITS))
        return false;
    const V code = NAME(code_of)(s, V_SET1(key), true);
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        if (quick_count(V_UNSET(V_EQUAL(NAME(code_of)(s, V_LOAD(x + i), true), code)), LANES) < LANES)
            return true;
    while (i < n && PAIR(rank_of)(s, x[i]) != PAIR(rank_of)(s, key))
        i++;
    return i < n;
}

/* How many of n pairs in order come before a key. */
static size_t PAIR(count_before)(const NAME(split) * s, const KEY *x, size_t n, KEY key) {
    const KEY rank = PAIR(rank_of)(s, key);
    size_t begin = 0;
    for (size_t end = n; begin < end;) {
        const size_t middle = begin + (end - begin) / 2;
        if (PAIR(rank_of)(s, x[middle]) < rank)
            begin = middle + 1;
        else
            end = middle;
    }
    return begin;
}

/* Sorts pairs of which most have one key, and which do not lie in the spare, or returns false: then nothing but the
 * spare has changed. */
QUICK_APART static bool PAIR(sort_often)(const NAME(split) * s, const scan_sort_local *l, KEY key) {
    enum { MIN_N = 1024 };
    const PAIR(columns) x = {l->from.keys, l->from.values}, to = {l->to.keys, l->to.values};
    const size_t max_others = l->n / 16 * PAIR(OTHERS_IN_16);
    KEY *keys = l->spare.keys;
    VALUE *values = l->spare.values;
    if (l->n < MIN_N || !x.values || !PAIR(seems_often)(x.keys, l->n, key))
        return false;
    /* behind the keys and a vector more, from a boundary of a value on: keys of 4 bytes may begin at any of theirs */
    const uintptr_t behind = (uintptr_t)(keys + max_others + LANES) + sizeof(VALUE) - 1;
    const PAIR(columns) others = {keys, (VALUE *)(behind / sizeof(VALUE) * sizeof(VALUE))};
    const size_t others_n = PAIR(set_aside)(x, l->n, key, values, others, max_others);
    if (others_n == SIZE_MAX || PAIR(has_ties)(s, others.keys, others_n, key))
        return false;
    scan_sort_local rest = *l;
    rest.n = others_n;
    rest.sorted_n = 0;
    rest.drop_keys = false;
    rest.from = rest.to = (scan_sort_columns){others.keys, others.values};
    rest.spare = l->to;
    if (others_n > 0)
        PAIR(quick_pairs)(&rest, s->is_float);
    const size_t lows = PAIR(count_before)(s, others.keys, others_n, key), n = l->n - others_n;
    PAIR(move)(others, to, lows);
    NAME(fill)(to.keys + lows, n, V_SET1(key));
    memcpy(to.values + lows, values, n * sizeof(VALUE));
    PAIR(move)(PAIR(from)(others, lows), PAIR(from)(to, lows + n), others_n - lows);
    return true;
}
