/* SPDX-License-Identifier: MIT
 *
 * Pairs of which nearly all have one key. One pass looks for the others, which are sorted by themselves. The values
 * between two of them stay side by side, and move as one block; where the sort is in place most keys do not move. If
 * one of the others is a tie of the key (floats: zeros, NaNs) another way has to serve.
 *
 * Included by quick_pairs.h once a width of keys and once a width of values.
 */

/* Pairs for each other one, at least: between more others blocks are short, and partitions as quick. */
enum { PAIR(PER_OTHER) = 32 };

/* Other pairs than those of one key. */
typedef struct PAIR(others) {
    PAIR(columns) pairs;
    VALUE *places; /* where they were, ascending */
    size_t n, max_n;
    size_t lows; /* that come before the key */
} PAIR(others);

/* How many candidates of a pivot (quick_cut.h) are not equal to it; SIZE_MAX if it does not repeat. */
static size_t PAIR(count_unequal)(const KEY *x, size_t n, KEY *pivot) {
    size_t places[3], unequal = 0;
    unsigned repeats;
    *pivot = NAME(choose_pivot)(x, n, V_SET1(0), &repeats);
    if (!repeats)
        return SIZE_MAX;
    NAME(choose_places)(n, places);
    for (unsigned k = 0; k < 3; k++)
        unequal += quick_count(V_UNSET(V_EQUAL(V_LOAD(x + places[k]), V_SET1(*pivot))), LANES);
    return unequal;
}

/* How many keys of a sample are others than one. */
static size_t PAIR(sample_others)(const KEY *x, size_t n, KEY key) {
    size_t others = 0;
    for (size_t i = 0; i < QUICK_SAMPLES; i++)
        others += x[NAME(sample_place)(i, n)] != key;
    return others;
}

/* Whether so few pairs seem to have another key that sort_nearly_one() serves. It finds out that it does not when it
 * has read most of them, so four samples are asked: 779,870 pairs, of which one in 19 has another key, took
 * 0.6 ms, and take 0.35 (Zen 4, 2026-12-01: tools/bench --hunt 1 --seed 6926710625599780594 --threads 2 --min-n 1000
 * --max-n 6000000). */
static bool PAIR(seem_nearly_one)(const KEY *x, size_t n, KEY key) {
    size_t others = 0;
    for (size_t part = 0; part < 4; part++)
        others += PAIR(sample_others)(x + n / 4 * part, n / 4, key);
    return others <= 4 * QUICK_SAMPLES / PAIR(PER_OTHER) + 2;
}

/* Notes a key at place i that is another. False if they become too many. */
SCAN_INLINE bool PAIR(note)(PAIR(others) * o, const KEY *x, size_t i) {
    if (o->n == o->max_n)
        return false;
    o->pairs.keys[o->n] = x[i];
    o->places[o->n++] = (VALUE)i;
    return true;
}

static bool PAIR(find_others)(PAIR(others) * o, const KEY *x, size_t n, KEY key) {
    const V keys = V_SET1(key);
    size_t i = 0;
    for (; i + 4 * LANES <= n; i += 4 * LANES) {
        V differ = V_XOR(V_LOAD(x + i), keys);
#pragma GCC unroll 3
        for (unsigned k = 1; k < 4; k++)
            differ = V_OR(differ, V_XOR(V_LOAD(x + i + k * LANES), keys));
        if (quick_count(V_UNSET(V_EQUAL(differ, V_SET1(0))), LANES) == 0)
            continue;
        for (size_t at = i; at < i + 4 * LANES; at += LANES)
            for (uint32_t bits = V_UNSET(V_EQUAL(V_LOAD(x + at), keys)); bits; bits &= bits - 1)
                if (!PAIR(note)(o, x, at + (unsigned)__builtin_ctz(bits)))
                    return false;
    }
    for (; i < n; i++)
        if (x[i] != key && !PAIR(note)(o, x, i))
            return false;
    return true;
}

/* Counts those that come before the key. False if one is a tie of it. */
static bool PAIR(count_others)(const NAME(split) * s, PAIR(others) * o, KEY key) {
    const KEY code = V_FIRST(NAME(code_of)(s, V_SET1(key), s->is_float));
    for (size_t i = 0; i < o->n; i++) {
        const KEY other = V_FIRST(NAME(code_of)(s, V_SET1(o->pairs.keys[i]), s->is_float));
        if (other == code)
            return false;
        o->lows += RANK(other) < RANK(code);
    }
    return true;
}

/* The values of the key between others k - 1 and k move by lows - k places. */
static void PAIR(move_between)(const PAIR(others) * o, const VALUE *x, VALUE *to, size_t n, size_t k) {
    const size_t begin = k > 0 ? (size_t)o->places[k - 1] + 1 : 0, end = k < o->n ? (size_t)o->places[k] : n;
    to += begin + o->lows - k;
    if (x)
        memmove(to, x + begin, (end - begin) * sizeof(VALUE));
    else
        for (size_t i = begin; i < end; i++)
            to[i - begin] = (VALUE)i;
}

static void PAIR(quick_pairs)(const scan_sort_local *l, bool is_float);

/* Sorts pairs of which nearly all have one key, and which do not lie in the spare. */
QUICK_APART static quick_found PAIR(sort_nearly_one)(const NAME(split) * s, const scan_sort_local *l, KEY key) {
    const KEY *x = l->from.keys;
    const VALUE *values = l->from.values;
    const PAIR(columns) to = {l->to.keys, l->to.values}, spare = {l->spare.keys, l->spare.values};
    const size_t max_n = l->n / PAIR(PER_OTHER);
    PAIR(others) o = {.pairs = PAIR(from)(spare, max_n), .places = spare.values, .max_n = max_n};
    if (!PAIR(find_others)(&o, x, l->n, key))
        return QUICK_TOO_MANY;
    if (!PAIR(count_others)(s, &o, key))
        return QUICK_TIES;
    for (size_t i = 0; i < o.n; i++)
        o.pairs.values[i] = values ? values[o.places[i]] : o.places[i];
    for (size_t k = o.lows + 1; k-- > 0;)
        PAIR(move_between)(&o, values, to.values, l->n, k);
    for (size_t k = o.lows + 1; k <= o.n; k++)
        PAIR(move_between)(&o, values, to.values, l->n, k);
    if (x != to.keys)
        scan_sort_backward_pass(l->team, NAME(fill_places), &(NAME(filling)){to.keys, key}, l->n, l->n * sizeof(KEY));
    else
        for (size_t i = 0; i < o.n; i++)
            to.keys[o.places[i]] = key;
    scan_sort_local rest = *l;
    const PAIR(columns) scratch = PAIR(from)(o.pairs, max_n);
    rest.n = o.n;
    rest.from = rest.to = (scan_sort_columns){o.pairs.keys, o.pairs.values};
    rest.spare = (scan_sort_columns){scratch.keys, scratch.values};
    if (o.n > 0)
        PAIR(quick_pairs)(&rest, s->is_float);
    PAIR(move)(o.pairs, to, o.lows);
    PAIR(move)(PAIR(from)(o.pairs, o.lows), PAIR(from)(to, l->n - (o.n - o.lows)), o.n - o.lows);
    return QUICK_DONE;
}
