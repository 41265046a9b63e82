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

/* ---- pieces ------------------------------------------------------------------------------------------------------ */

/* As split_piece() of quick_split.h. */
static void PAIR(divide_piece)(const NAME(split) * s, PAIR(columns) x, size_t n, PAIR(columns) to, PAIR(columns) other,
                               unsigned bin, unsigned last, unsigned node) {
    while (n > 0 && bin < last && !NAME(is_one_value)(s, x.keys, n, &bin, last)) {
        const unsigned middle = s->middles[node];
        const size_t low = PAIR(divide)(s, x, n, s->splitters[middle], to, other);
        PAIR(divide_piece)(s, to, low, to, PAIR(from)(other, n - low), bin, middle, node + 1);
        x = other;
        to = PAIR(from)(to, low);
        n -= low;
        node += middle - bin + 1;
        bin = middle + 1;
    }
    s->counts[bin] = (uint16_t)n;
    PAIR(move)(x, to, n);
}

/* The values of the pairs of a key, in order, to `to`, of which `room` may be written. Returns how many they are. */
static size_t PAIR(take_values)(PAIR(columns) x, size_t n, KEY key, VALUE *to, size_t room) {
    const V wanted = V_SET1(key);
    size_t taken = 0, i = 0;
    for (; i + LANES <= n && taken + LANES <= room; i += LANES) {
        const V_BITS others = V_UNSET(V_EQUAL(V_LOAD(x.keys + i), wanted));
        PAIR(store_some)(to + taken, PAIR(load)(x.values + i), (V_BITS)~others);
        taken += LANES - quick_count(others, LANES);
    }
    for (; i < n; i++)
        if (x.keys[i] == key)
            to[taken++] = x.values[i];
    return taken;
}

/* The pairs of n that are in no flat bin, in order. Returns how many they are. */
static size_t PAIR(take_others)(const scan_sort_splitters *flat, PAIR(columns) x, size_t n, PAIR(columns) to) {
    V keys[SCAN_SORT_MAX_FLAT];
    size_t taken = 0, i = 0;
    for (unsigned k = 0; k < flat->flat_n; k++)
        keys[k] = V_SET1((KEY)flat->flat_keys[k]);
    for (; i + LANES <= n; i += LANES) {
        const V v = V_LOAD(x.keys + i);
        V_MASK same = V_EQUAL(v, keys[0]);
        for (unsigned k = 1; k < flat->flat_n; k++)
            same = V_MASK_OR(same, V_EQUAL(v, keys[k]));
        const V_BITS others = V_UNSET(same);
        V_STORE(to.keys + taken, V_COMPRESS(v, others));
        PAIR(store_some)(to.values + taken, PAIR(load)(x.values + i), others);
        taken += quick_count(others, LANES);
    }
    for (; i < n; i++) {
        unsigned k = 0;
        while (k < flat->flat_n && (KEY)flat->flat_keys[k] != x.keys[i])
            k++;
        to.keys[taken] = x.keys[i];
        to.values[taken] = x.values[i];
        taken += k == flat->flat_n;
    }
    return taken;
}

/* As divide_piece() of a whole piece, of which flat bins get no keys; x is neither `to` nor `other`. The other pairs,
 * if there are any, come first: how many each bin has says where the values of flat bins go. */
static void PAIR(divide_flat)(const NAME(split) * s, const scan_sort_splitters *flat, PAIR(columns) x, size_t n,
                              PAIR(columns) to, PAIR(columns) other, bool *has_others) {
    for (bool again = true; again;) {
        const size_t others_n = *has_others ? PAIR(take_others)(flat, x, n, other) : 0;
        PAIR(columns) others = other;
        size_t at = 0;
        if (others_n > 0) {
            PAIR(divide_piece)(s, other, others_n, to, other, 0, flat->n, 0);
            PAIR(move)(to, other, others_n);
        }
        for (unsigned d = 0, k = 0; d <= flat->n; d++) {
            PAIR(move)(others, PAIR(from)(to, at), s->counts[d]);
            others = PAIR(from)(others, s->counts[d]);
            at += s->counts[d];
            if (k < flat->flat_n && flat->flat_bins[k] == d) {
                const size_t taken = PAIR(take_values)(x, n, (KEY)flat->flat_keys[k++], to.values + at, n - at);
                s->counts[d] = (uint16_t)taken;
                at += taken;
            }
        }
        again = at < n;
        if (again) {
            *has_others = true;
            memset(s->counts, 0, SCAN_SORT_SPLITTER_BINS * sizeof *s->counts);
        }
    }
}

/* Whether a piece had half of the flat bins' keys at least: fewer are sooner divided along the tree, as the next piece
 * will be, which is often like it. */
static bool PAIR(has_many)(const scan_sort_splitters *flat, const uint16_t *counts) {
    unsigned met = 0;
    for (unsigned k = 0; k < flat->flat_n; k++)
        met += counts[flat->flat_bins[k]] > 0;
    return 2 * met >= flat->flat_n;
}

static void PAIR(divide_pieces)(const scan_sort_pieces *p, bool is_float) {
    enum { PIECE = SCAN_SORT_PIECE_BYTES / (sizeof(KEY) + sizeof(VALUE)) };
    KEY splitters[SCAN_SORT_MAX_SPLITTERS], keys[PIECE];
    VALUE values[PIECE];
    NAME(split) s = NAME(split_of)(p->order, p->splitters, splitters, is_float);
    bool has_others = false, many = true;
    s.counts = p->counts;
    for (size_t i = p->begin; i < p->end; i += PIECE, s.counts += SCAN_SORT_SPLITTER_BINS) {
        const size_t n = p->end - i < PIECE ? p->end - i : PIECE;
        const PAIR(columns) to = {(KEY *)p->to.keys + i, (VALUE *)p->to.values + i};
        PAIR(columns) x = {(KEY *)p->from.keys + i, to.values};
        if (p->from.values)
            x.values = (VALUE *)p->from.values + i;
        else
            for (size_t k = 0; k < n; k++)
                to.values[k] = (VALUE)(i + k);
        memset(s.counts, 0, SCAN_SORT_SPLITTER_BINS * sizeof *s.counts);
        if (p->fills && many)
            PAIR(divide_flat)(&s, p->splitters, x, n, to, (PAIR(columns)){keys, values}, &has_others);
        else
            PAIR(divide_piece)(&s, x, n, to, (PAIR(columns)){keys, values}, 0, p->splitters->n, 0);
        many = PAIR(has_many)(p->splitters, s.counts);
    }
}

static void PAIR(divide_pieces_integers)(const scan_sort_pieces *p) { PAIR(divide_pieces)(p, false); }
static void PAIR(divide_pieces_floats)(const scan_sort_pieces *p) { PAIR(divide_pieces)(p, true); }

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
        const bool nearly = unequal <= 3 * LANES / 16 &&
                            (l->n < QUICK_VALUES_N || PAIR(sample_others)(x.keys, l->n, pivot) <= QUICK_SAMPLES / 16);
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
