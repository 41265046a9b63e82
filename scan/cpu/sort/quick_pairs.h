/* SPDX-License-Identifier: MIT
 *
 * Keys with values, stable: the quicksort of quick_lanes.h and the pieces of quick_split.h with a column more.
 * Included once a width of keys and once a width of values, VALUE, with vectors of values compressed as those of their
 * keys are. A partition keeps the order of what it brings to either side. A few pairs go to quick_pairs_few.h.
 *
 * Pieces and a few pairs keep their keys as they are, and turn them into codes where they are compared. The quicksort
 * is of integers; of floats it sorts codes that can be turned back (quick_floats.h), and keeps ties together.
 */

typedef struct PAIR(columns) {
    KEY *keys;
    VALUE *values;
} PAIR(columns);

SCAN_INLINE PAIR(columns) PAIR(from)(PAIR(columns) c, size_t begin) {
    return (PAIR(columns)){c.keys + begin, c.values + begin};
}

static void PAIR(move)(PAIR(columns) x, PAIR(columns) to, size_t n) {
    if (x.keys != to.keys)
        memcpy(to.keys, x.keys, n * sizeof(KEY));
    if (x.values != to.values)
        memcpy(to.values, x.values, n * sizeof(VALUE));
}

/* Pairs whose codes are up to `last` go to lows, the others to highs: in vectors, as partition() of quick_lanes.h says
 * when these may lie where x does. Returns how many are low. */
SCAN_INLINE size_t PAIR(divide_by)(const NAME(split) * s, PAIR(columns) x, size_t n, KEY last, PAIR(columns) lows,
                                   PAIR(columns) highs, bool is_float) {
    const V pivot = V_SET1(last);
    size_t low = 0, high = 0, i = 0;
    for (; i + LANES <= n; i += LANES) {
        const V v = V_LOAD(x.keys + i);
        const PAIR(vector) w = PAIR(load)(x.values + i);
        const V_BITS is_low = V_LOWS(NAME(code_of)(s, v, is_float), pivot), is_high = (V_BITS)~is_low;
        quick_fetch_ahead(lows.keys + low);
        quick_fetch_ahead(highs.keys + high);
        quick_fetch_ahead(lows.values + low);
        quick_fetch_ahead(highs.values + high);
        V_STORE(lows.keys + low, V_COMPRESS(v, is_low));
        V_STORE(highs.keys + high, V_COMPRESS(v, is_high));
        PAIR(store_some)(lows.values + low, w, is_low);
        PAIR(store_some)(highs.values + high, w, is_high);
        const size_t count = quick_count(is_low, LANES);
        low += count;
        high += LANES - count;
    }
    if (i < n) {
        const V_MASK some = V_BELOW(V_SET1(n - i), 0);
        const V_BITS is_low = V_LOWS(NAME(code_of)(s, V_MASK_LOAD(V_SET1(0), some, x.keys + i), is_float), pivot);
        for (V_BITS bits = is_low; i < n; i++, bits = (V_BITS)(bits >> 1)) {
            const KEY key = x.keys[i];
            const VALUE value = x.values[i];
            const size_t count = bits & 1;
            *(count ? lows.keys + low : highs.keys + high) = key;
            *(count ? lows.values + low : highs.values + high) = value;
            low += count;
            high += 1 - count;
        }
    }
    return low;
}

static size_t PAIR(divide_integers)(const NAME(split) * s, PAIR(columns) x, size_t n, KEY last, PAIR(columns) lows,
                                    PAIR(columns) highs) {
    return PAIR(divide_by)(s, x, n, last, lows, highs, false);
}
static size_t PAIR(divide_floats)(const NAME(split) * s, PAIR(columns) x, size_t n, KEY last, PAIR(columns) lows,
                                  PAIR(columns) highs) {
    return PAIR(divide_by)(s, x, n, last, lows, highs, true);
}
static size_t PAIR(divide)(const NAME(split) * s, PAIR(columns) x, size_t n, KEY last, PAIR(columns) lows,
                           PAIR(columns) highs) {
    return (s->is_float ? PAIR(divide_floats) : PAIR(divide_integers))(s, x, n, last, lows, highs);
}

#include "quick_pairs_pieces.h"
#include "quick_halves.h"

/* ---- the quicksort ----------------------------------------------------------------------------------------------- */

enum { PAIR(MOST_RADIX) = 1 << 14, PAIR(MOST_PLACES) = 1 << 14 };

#include "quick_pairs_few.h"
#include "quick_pairs_cut.h"
#include "quick_pairs_radix.h"

/* Brings pairs to `to` that are final: all are ties. */
static void PAIR(move_ties)(const NAME(split) * s, PAIR(columns) x, PAIR(columns) to, size_t n, bool drop_keys) {
    if (s->ties && !drop_keys) {
        NAME(rotate_out)(s->ties, x.keys, to.keys, n);
        x.keys = to.keys;
    }
    PAIR(move)(x, to, n);
}

typedef struct PAIR(job) {
    const NAME(split) * split;
    const scan_sort_local *local;
    atomic_uint *unfinished; /* ranges that have been shared */
} PAIR(job);

static void PAIR(run_task)(const scan_sort_task *t);

/* Leaves n pairs of a range, as quick() gets them, to the first thread that takes a task. False if they are too few, or
 * there is no team or no room in it. */
static bool PAIR(share)(const PAIR(job) * job, PAIR(columns) x, PAIR(columns) to, PAIR(columns) other, size_t n,
                        unsigned depth, quick_range of) {
    return quick_may_share(job->local, n, of.n * (sizeof(KEY) + sizeof(VALUE)), of.repeats, 3 * LANES) &&
           scan_cpu_sort_share(job->local->team, &(scan_sort_task){.run = PAIR(run_task),
                                                                   .job = job,
                                                                   .from = {x.keys, x.values},
                                                                   .to = {to.keys, to.values},
                                                                   .spare = {other.keys, other.values},
                                                                   .n = n,
                                                                   .depth = depth,
                                                                   .unfinished = job->unfinished});
}

static void PAIR(quick)(const PAIR(job) * job, PAIR(columns) x, PAIR(columns) to, PAIR(columns) other, size_t n,
                        unsigned depth);

#include "quick_pairs_two.h"

/* Sorts integers, or codes of floats, which become keys, as quick() of quick_lanes.h: each column of x is that of `to`
 * or `other`, or of neither. */
static void PAIR(quick)(const PAIR(job) * job, PAIR(columns) x, PAIR(columns) to, PAIR(columns) other, size_t n,
                        unsigned depth) {
    const NAME(split) *s = job->split;
    while (n > PAIR(FEW)) {
        if (depth-- == 0) {
            PAIR(move)(x, to, n);
            PAIR(give_up)(s, job->local, to, other, n);
            return;
        }
        PAIR(cut) cut;
        if (!PAIR(choose_cut)(s, x.keys, n, &cut))
            break;
        const size_t low = cut.two ? PAIR(divide_two)(job, x, n, &cut, to, other, depth)
                                   : PAIR(divide_integers)(s, x, n, cut.last, to, other);
        if (low == n && cut.two)
            return;
        if (PAIR(share)(job, other, PAIR(from)(to, low), other, n - low, depth, (quick_range){n, cut.repeats})) {
            other = PAIR(from)(other, n - low);
            x = to;
            n = low;
            continue;
        }
        if (low > PAIR(FEW))
            PAIR(quick)(job, to, to, PAIR(from)(other, n - low), low, depth);
        else
            PAIR(sort_few)(s, to, to, low);
        n -= low;
        to = PAIR(from)(to, low);
        x = other;
    }
    if (n > PAIR(FEW))
        PAIR(move_ties)(s, x, to, n, job->local->drop_keys);
    else if (n > 0)
        PAIR(sort_few)(s, x, to, n);
}

static void PAIR(run_task)(const scan_sort_task *t) {
    PAIR(quick)
    (t->job, (PAIR(columns)){t->from.keys, t->from.values}, (PAIR(columns)){t->to.keys, t->to.values},
     (PAIR(columns)){t->spare.keys, t->spare.values}, t->n, t->depth);
}

#include "quick_places.h"
#include "quick_pairs_one.h"
#include "quick_pairs_often.h"
#include "quick_pairs_runs.h"

/* Sorts more than FEW pairs. Not inlined, which would slow a few pairs down. */
__attribute__((noinline)) static void PAIR(sort_more)(const scan_sort_local *l, bool is_float) {
    const PAIR(columns) to = {l->to.keys, l->to.values}, other = {l->spare.keys, l->spare.values};
    PAIR(columns) x = {l->from.keys, l->from.values};
    NAME(split) s = NAME(split_of)(l->order, NULL, NULL, is_float);
    if (x.keys != other.keys && x.values != other.values) {
        KEY pivot;
        const size_t unequal = PAIR(count_unequal)(x.keys, l->n, &pivot);
        const bool nearly =
            unequal <= 3 * LANES / 16 && (l->n < QUICK_VALUES_N || PAIR(seem_nearly_one)(x.keys, l->n, pivot));
        const quick_found found = nearly ? PAIR(sort_nearly_one)(&s, l, pivot) : QUICK_TOO_MANY;
        if (found == QUICK_DONE ||
            (found == QUICK_TOO_MANY && unequal <= 3 * LANES / 2 && PAIR(sort_often)(&s, l, pivot)) ||
            (unequal < SIZE_MAX && PAIR(sort_runs)(&s, l)))
            return;
    }
    if (l->drop_keys && !x.values && l->n <= PAIR(MOST_PLACES) && PAIR(sort_places)(&s, l))
        return;
    if ((sizeof(KEY) == 8 || l->drop_keys) && l->n <= PAIR(MOST_RADIX) && PAIR(are_spread)(&s, x.keys, l->n)) {
        scan_sort_local radix = *l;
        if (x.keys == other.keys) {
            radix.from.keys = memcpy(to.keys, x.keys, l->n * sizeof(KEY));
            if (x.values)
                radix.from.values = memcpy(to.values, x.values, l->n * sizeof(VALUE));
        }
        PAIR(radix)(&radix, is_float);
        return;
    }
    if (!x.values) {
        x.values = other.values;
        for (size_t i = 0; i < l->n; i++)
            x.values[i] = (VALUE)i;
    }
    const NAME(ties) ties = NAME(ties_of)(&l->order);
    if (is_float) {
        NAME(rotate_in)(&l->order, x.keys, to.keys, l->n);
        x.keys = to.keys;
        s.ties = &ties;
        s.flip = V_SET1(0);
    }
    atomic_uint unfinished = 0;
    PAIR(quick)(&(PAIR(job)){&s, l, &unfinished}, x, to, other, l->n, max_depth(l, l->n));
    quick_join(l, &unfinished);
}

static void PAIR(quick_pairs)(const scan_sort_local *l, bool is_float) {
    if (l->n > PAIR(FEW)) {
        PAIR(sort_more)(l, is_float);
        return;
    }
    const NAME(split) s = NAME(split_of)(l->order, NULL, NULL, is_float);
    PAIR(sort_few)(&s, (PAIR(columns)){l->from.keys, l->from.values}, (PAIR(columns)){l->to.keys, l->to.values}, l->n);
}

static void PAIR(quick_integers)(const scan_sort_local *l) { PAIR(quick_pairs)(l, false); }
static void PAIR(quick_floats)(const scan_sort_local *l) { PAIR(quick_pairs)(l, true); }

#undef PAIR
#undef VALUE
