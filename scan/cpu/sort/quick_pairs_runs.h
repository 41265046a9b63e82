/* SPDX-License-Identifier: MIT
 *
 * Pairs whose keys come in long runs of equal ones: a run is sorted as a pair, of its key and its number, and its
 * values stay side by side. The sort of pairs is stable, so that runs of ties keep their order.
 *
 * Included by quick_pairs.h once a width of keys and once a width of values.
 */

/* Runs of equal keys, max_n at most. They lie in the spare's room for keys. */
typedef struct PAIR(runs) {
    PAIR(columns) pairs, scratch; /* keys, and the number of each run */
    VALUE *begins;                /* of runs by number, and the end of the last one */
    size_t n, max_n;
} PAIR(runs);

/* Whether neighbours are nearly always equal, as far as a sample shows. */
static bool PAIR(seems_runs)(const KEY *x, size_t n) {
    enum { MAX_ENDS = QUICK_SAMPLES / 32 };
    size_t ends = 0;
    for (size_t i = 0; i < QUICK_SAMPLES && ends <= MAX_ENDS; i++) {
        const size_t at = NAME(sample_place)(i, n - 1);
        ends += x[at] != x[at + 1];
    }
    return ends <= MAX_ENDS;
}

static PAIR(runs) PAIR(runs_of)(const scan_sort_local *l) {
    enum { SHORTEST = 16 /* pairs a run has on average */ };
    const size_t max_n = l->n / SHORTEST;
    KEY *keys = l->spare.keys;
    /* from a boundary of a value on: keys of 4 bytes may end at any of theirs */
    const uintptr_t behind = (uintptr_t)(keys + 2 * max_n) + sizeof(VALUE) - 1;
    VALUE *values = (VALUE *)(behind / sizeof(VALUE) * sizeof(VALUE));
    return (PAIR(runs)){{keys, values}, {keys + max_n, values + max_n}, values + 2 * max_n, 0, max_n};
}

/* A run ends before place `end`. False if there are too many. */
SCAN_INLINE bool PAIR(end_run)(PAIR(runs) * r, const KEY *x, size_t end) {
    if (r->n == r->max_n)
        return false;
    r->pairs.keys[r->n] = x[end - 1];
    r->pairs.values[r->n] = (VALUE)r->n;
    r->begins[++r->n] = (VALUE)end;
    return true;
}

static bool PAIR(find_runs)(PAIR(runs) * r, const KEY *x, size_t n) {
    const V_BITS all = (V_BITS)((1ull << LANES) - 1);
    size_t i = 0;
    r->begins[0] = 0;
    for (; i + LANES < n; i += LANES)
        for (uint32_t ends = V_UNSET(V_EQUAL(V_LOAD(x + i), V_LOAD(x + i + 1))) & all; ends; ends &= ends - 1)
            if (!PAIR(end_run)(r, x, i + (unsigned)__builtin_ctz(ends) + 1))
                return false;
    for (; i < n; i++)
        if ((i + 1 == n || x[i] != x[i + 1]) && !PAIR(end_run)(r, x, i + 1))
            return false;
    return true;
}

/* Sorts pairs that come in long runs of equal keys, and do not lie in the spare, or returns false: then nothing but the
 * spare has changed. */
QUICK_APART static bool PAIR(sort_runs)(const NAME(split) * s, const scan_sort_local *l) {
    const PAIR(columns) x = {l->from.keys, l->from.values}, to = {l->to.keys, l->to.values};
    if (l->n < QUICK_SURVEY_N || !x.values || !PAIR(seems_runs)(x.keys, l->n))
        return false;
    PAIR(runs) r = PAIR(runs_of)(l);
    if (!PAIR(find_runs)(&r, x.keys, l->n))
        return false;
    scan_sort_local runs = *l;
    runs.n = r.n;
    runs.sorted_n = 0;
    runs.drop_keys = false;
    runs.from = runs.to = (scan_sort_columns){r.pairs.keys, r.pairs.values};
    runs.spare = (scan_sort_columns){r.scratch.keys, r.scratch.values};
    PAIR(quick_pairs)(&runs, s->is_float);
    VALUE *const values = x.values == to.values ? l->spare.values : to.values;
    for (size_t k = 0, at = 0; k < r.n; k++) {
        const size_t begin = r.begins[r.pairs.values[k]], n = r.begins[r.pairs.values[k] + 1] - begin;
        memcpy(values + at, x.values + begin, n * sizeof(VALUE));
        NAME(fill)(to.keys + at, n, V_SET1(r.pairs.keys[k]));
        at += n;
    }
    if (values != to.values)
        memcpy(to.values, values, l->n * sizeof(VALUE));
    return true;
}
