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

#define SIGN ((KEY)1 << (8 * sizeof(KEY) - 1))

/* n keys from one array to another, or to the same, vector by vector: each becomes NEW, an expression of v. */
#define TRANSFORM(from, to, n, NEW)                                                                                    \
    do {                                                                                                               \
        size_t i_ = 0;                                                                                                 \
        for (; i_ + LANES <= (n); i_ += LANES) {                                                                       \
            const V v = V_LOAD((from) + i_);                                                                           \
            V_STORE((to) + i_, NEW);                                                                                   \
        }                                                                                                              \
        if (i_ < (n)) {                                                                                                \
            const V_MASK some_ = V_BELOW(V_SET1((n)-i_), 0);                                                           \
            const V v = V_MASK_LOAD(V_SET1(0), some_, (from) + i_);                                                    \
            V_MASK_STORE((to) + i_, some_, NEW);                                                                       \
        }                                                                                                              \
    } while (0)

SCAN_INLINE V_MASK NAME(is_nan)(V v) { return V_GREATER(V_AND(v, V_SET1(~SIGN)), V_SET1(INFINITY_BITS)); }

/* The bits that some of those lanes of a mask have, and that all of them have. */
typedef struct NAME(ties) {
    V some, all;
} NAME(ties);

SCAN_INLINE void NAME(add_ties)(NAME(ties) * ties, V v, V_MASK mask) {
    ties->some = V_OR(ties->some, V_SELECT(mask, v, V_SET1(0)));
    ties->all = V_AND(ties->all, V_SELECT(mask, v, V_SET1((KEY) ~(KEY)0)));
}

/* Whether no two of them differ. *key is one, 0 if there is none. */
SCAN_INLINE bool NAME(ties_same)(const NAME(ties) * ties, KEY *key) {
    KEY some[LANES], all[LANES];
    V_STORE(some, ties->some);
    V_STORE(all, ties->all);
    for (unsigned lane = 1; lane < LANES; lane++) {
        some[0] |= some[lane];
        all[0] &= all[lane];
    }
    *key = some[0];
    return some[0] == 0 || some[0] == all[0];
}

/* False if there are ties that can be told apart: zeros of both signs, or NaNs of different bits. */
static bool NAME(all_ties_same)(const KEY *x, size_t n, KEY *nan) {
    NAME(ties) zeros = {V_SET1(0), V_SET1((KEY) ~(KEY)0)}, nans = zeros;
    size_t i = 0;
#define ADD(v)                                                                                                         \
    NAME(add_ties)(&zeros, v, V_EQUAL(V_AND(v, V_SET1(~SIGN)), V_SET1(0)));                                            \
    NAME(add_ties)(&nans, v, NAME(is_nan)(v))
    for (; i + LANES <= n; i += LANES) {
        const V v = V_LOAD(x + i);
        ADD(v);
    }
    if (i < n) {
        const V v = V_MASK_LOAD(V_SET1(1), V_BELOW(V_SET1(n - i), 0), x + i);
        ADD(v);
    }
#undef ADD
    KEY zero;
    return NAME(ties_same)(&zeros, &zero) && NAME(ties_same)(&nans, nan);
}

/* The codes of code.h but for zero, whose sign is kept: they can be turned back if ties are the same. No number has the
 * code of NaN. */
static void NAME(quick_floats)(const scan_sort_local *l) {
    const KEY flip = (KEY)l->order.flip ^ LEAST, nan_code = (KEY)l->order.nan ^ LEAST, all = (KEY) ~(KEY)0;
    const KEY *from = l->from.keys;
    KEY *to = l->to.keys, nan;
    if (!NAME(all_ties_same)(from, l->n, &nan)) {
        scan_sort_local stable = *l;
        if (from == l->spare.keys)
            stable.from.keys = memcpy(to, from, l->n * sizeof(KEY));
        QUICK_KERNELS[sizeof(KEY) == 4 ? 4 : 5][0].local(&stable);
        return;
    }
    TRANSFORM(from, to, l->n,
              V_SELECT(NAME(is_nan)(v), V_SET1(nan_code),
                       V_XOR(v, V_SELECT(V_NEGATIVE(v), V_SET1((KEY)(all ^ flip)), V_SET1((KEY)(SIGN ^ flip))))));
    const quick_job job = {0, LEAST, l};
    NAME(quick)(&job, to, to, l->spare.keys, l->n, l->n, depth_for(l->n));
    TRANSFORM(to, to, l->n,
              V_SELECT(V_EQUAL(v, V_SET1(nan_code)), V_SET1(nan),
                       V_XOR(v, V_SELECT(V_NEGATIVE(V_XOR(v, V_SET1(flip))), V_SET1((KEY)(SIGN ^ flip)),
                                         V_SET1((KEY)(all ^ flip))))));
}
