/* SPDX-License-Identifier: MIT
 *
 * Quicksort of codes of one width, in vectors of LANES codes. Included by quick_avx512.c and quick_avx2.c once a width,
 * with the vector operations of that width defined, and by quick_numbers.h. Codes have the order in which those
 * operations compare them: that of unsigned integers, or of signed ones, of which LEAST is the least, or of floats.
 * RANK() of codes, as unsigned integers, has the same order; BEFORE() is a code with no other between.
 *
 *   partition   LANES keys a step: one comparison, two compressions, two whole-vector stores, to the keys up to the
 *               pivot and to those beyond it. One of these two may grow over the array that is read: it fills up no
 *               faster than the reading advances, so that whole vectors may be stored without harm. Where the pivot
 *               is a good part of a sample a second comparison leaves out the keys that equal it.
 *   network     up to MAX_ROWS vectors of keys in registers (quick_network.h).
 *
 * Two arrays, of which one is to hold the sorted keys. Whichever a range is in, its partition brings the low keys to
 * the front of the array of the result and the high keys to the front of the other; or, of many keys and with AVX-512,
 * the high keys behind the low ones (quick_partition.h):
 *
 *     result    | lows, sorted here | room of the highs |
 *     other     | highs             | room of the lows  |
 *
 * The low keys are sorted first: while they are, nothing behind them in the result is worth keeping, so the networks
 * write whole vectors. Only where the high keys are shared with other threads both are sorted at the same time, and
 * neither may write where the other is. When the splits are bad too often the caller's radix sort takes over. Keys
 * equal to a pivot that is the maximum of its range are final and leave the recursion.
 */

#include "quick_network.h"

SCAN_INLINE V NAME(median)(V a, V b, V c) { return V_MAX(V_MIN(a, b), V_MIN(V_MAX(a, b), c)); }

/* Where a pivot's candidates lie: three places, one somewhere in each third. At n / 4, n / 2, 3 n / 4 the borders of
 * runs would lie, and the same keys of all. n >= 4 * LANES. */
SCAN_INLINE void NAME(choose_places)(size_t n, size_t *places) {
    const size_t third = (n - LANES) / 3;
    const uint64_t hash = n * 0x9e3779b97f4a7c15u;
    for (unsigned k = 0; k < 3; k++)
        places[k] = k * third + ((size_t)(hash >> (16 * k + 16) & 0xffff) * third >> 16);
}

/* A median of medians of three, from 27 codes. *repeats is how many others of them equal it. */
SCAN_INLINE KEY NAME(pivot_of)(V a, V b, V c, unsigned *repeats) {
    V m = NAME(median)(a, b, c);
    m = NAME(median)(m, V_ROTATE(m, 1), V_ROTATE(m, 2));
    m = NAME(median)(m, V_ROTATE(m, 3), V_ROTATE(m, 6));
    const V pivot = V_SET1(V_FIRST(m));
    const size_t unequal = quick_count(V_UNSET(V_EQUAL(a, pivot)), LANES) +
                           quick_count(V_UNSET(V_EQUAL(b, pivot)), LANES) +
                           quick_count(V_UNSET(V_EQUAL(c, pivot)), LANES);
    *repeats = unequal < 3 * LANES ? (unsigned)(3 * LANES - 1 - unequal) : 0;
    return V_FIRST(m);
}

#include "quick_cut.h"

/* What a partition leaves: low codes at the front of the result, and high ones at `highs`. Codes between them, in a
 * three-way partition, are those that equal the pivot. */
typedef struct NAME(parts) {
    const KEY *highs;
    size_t low_n, high_n;
} NAME(parts);

/* The codes x[i] ^ flip: those up to the pivot go to lows, the others to highs; if `three`, not those that equal it.
 * `fetch`: the lines of lows and of highs are fetched ahead. */
SCAN_INLINE NAME(parts)
    NAME(partition_of)(const KEY *x, size_t n, V flip, V pivot, KEY *lows, KEY *highs, bool three, bool fetch) {
    size_t low = 0, high = 0, i = 0;
#define LOAD(at) V_XOR(flip, V_LOAD(x + (at)))
#define STEP(v)                                                                                                        \
    do {                                                                                                               \
        const V_BITS up_to_ = V_LOWS(v, pivot), low_ = three ? up_to_ & V_UNSET(V_EQUAL(v, pivot)) : up_to_;           \
        V_STORE(lows + low, V_COMPRESS(v, low_));                                                                      \
        V_STORE(highs + high, V_COMPRESS(v, (V_BITS)~up_to_));                                                         \
        const size_t up_to_n_ = quick_count(up_to_, LANES);                                                            \
        low += three ? quick_count(low_, LANES) : up_to_n_;                                                            \
        high += LANES - up_to_n_;                                                                                      \
    } while (0)
    for (; i + 4 * LANES <= n; i += 4 * LANES) {
        V a = LOAD(i), b = LOAD(i + LANES), c = LOAD(i + 2 * LANES), d = LOAD(i + 3 * LANES);
        if (fetch) {
            quick_fetch_ahead(lows + low);
            quick_fetch_ahead(highs + high);
            quick_fetch_ahead(lows + low + 2 * LANES);
            quick_fetch_ahead(highs + high + 2 * LANES);
        }
        STEP(a);
        STEP(b);
        STEP(c);
        STEP(d);
    }
    for (; i + LANES <= n; i += LANES) {
        V a = LOAD(i);
        STEP(a);
    }
#undef STEP
#undef LOAD
    if (i < n) {
        V v = V_XOR(flip, V_MASK_LOAD(pivot, V_BELOW(V_SET1(n - i), 0), x + i));
        const V_BITS valid = (V_BITS)((1u << (n - i)) - 1), up_to = V_LOWS(v, pivot) & valid, is_high = ~up_to & valid,
                     is_low = three ? up_to & V_UNSET(V_EQUAL(v, pivot)) : up_to;
        const size_t low_n = quick_count(is_low, LANES), high_n = quick_count(is_high, LANES);
        V_MASK_STORE(lows + low, V_BELOW(V_SET1(low_n), 0), V_COMPRESS(v, is_low));
        V_MASK_STORE(highs + high, V_BELOW(V_SET1(high_n), 0), V_COMPRESS(v, is_high));
        low += low_n;
        high += high_n;
    }
    return (NAME(parts)){highs, low, high};
}

/* How many keys lie before the first address that is a multiple of a vector's size. */
SCAN_INLINE size_t NAME(to_boundary)(const KEY *x) { return -((uintptr_t)x / sizeof(KEY)) % LANES; }

static void NAME(fill)(KEY *to, size_t n, V key) {
    size_t i = 0;
    if (n > 4 * LANES) { /* vectors that cross lines are stored at half the rate */
        V_STORE(to, key);
        i = NAME(to_boundary)(to);
    }
    for (; i + LANES <= n; i += LANES)
        V_STORE(to + i, key);
    if (i < n)
        V_MASK_STORE(to + i, V_BELOW(V_SET1(n - i), 0), key);
}

#ifdef QUICK_IN_PLACE
#include "quick_partition.h"
#endif

/* The codes x[i] ^ flip: those up to the pivot go to the front of `to`, the others to `other`, or behind them where
 * many codes are partitioned where they are. */
SCAN_INLINE NAME(parts) NAME(partition_to)(const KEY *x, size_t n, V flip, KEY pivot, KEY *to, KEY *other, bool three) {
    if (n < QUICK_L1_BYTES / sizeof(KEY))
        return NAME(partition_of)(x, n, flip, V_SET1(pivot), to, other, three, false);
#ifdef QUICK_IN_PLACE
    const NAME(gap) between = NAME(part)(x, n, flip, V_SET1(pivot), to, three);
    return (NAME(parts)){between.end, (size_t)(between.front - to), (size_t)(to + n - between.end)};
#else
    return NAME(partition_of)(x, n, flip, V_SET1(pivot), to, other, three, true);
#endif
}

static NAME(parts) NAME(partition)(const KEY *x, size_t n, KEY pivot, KEY *to, KEY *other) {
    return NAME(partition_to)(x, n, V_SET1(0), pivot, to, other, false);
}

/* The codes that equal the pivot are put in their places, as keys. */
QUICK_APART static NAME(parts)
    NAME(partition_three)(const quick_job *job, const KEY *x, size_t n, V flip, KEY pivot, KEY *to, KEY *other) {
    const NAME(parts) p = NAME(partition_to)(x, n, flip, pivot, to, other, true);
    NAME(fill)(to + p.low_n, n - p.low_n - p.high_n, V_SET1(pivot ^ (KEY)job->flip));
    return p;
}

#include "quick_few.h"
#ifdef V_LOOK_UP
#include "quick_values.h"
#endif

/* Sorts the codes x[i] ^ flip, as quick() does, if a survey says that they may be of some dozens of values, rather than
 * of a few and others, and they are. */
static bool NAME(sort_alike)(const quick_job *job, const NAME(few) * few, const KEY *x, KEY flip, KEY *to, KEY *other,
                             size_t n, size_t room, unsigned depth) {
#ifdef V_LOOK_UP
    return n >= QUICK_VALUES_N && (few->count > 0 ? few->others_repeat : few->equal >= QUICK_ALIKE) &&
           NAME(sort_values)(job, x, flip, to, other, n, room, depth);
#else
    (void)job, (void)few, (void)x, (void)flip, (void)to, (void)other, (void)n, (void)room, (void)depth;
    return false;
#endif
}

/* The scratch of both parts of n codes, which may be sorted at the same time. */
typedef struct NAME(scratch) {
    KEY *lows, *highs;
    bool has_room; /* nothing behind the low codes is worth keeping */
} NAME(scratch);

SCAN_INLINE NAME(scratch) NAME(scratch_of)(const NAME(parts) * p, KEY *other, size_t n) {
    const bool beside = p->highs == other;
    return (NAME(scratch)){beside ? other + p->high_n : other, beside ? other : other + (n - p->high_n),
                           beside && p->low_n + p->high_n == n};
}

/* Sorts the low codes of n at the front of `to`, those up to the pivot. */
static void NAME(quick_lows)(const quick_job *job, KEY pivot, KEY *to, const NAME(parts) * p,
                             const NAME(scratch) * scratch, size_t n, size_t room, unsigned depth) {
    if (p->low_n < n) {
        NAME(quick)(job, to, to, scratch->lows, p->low_n, scratch->has_room ? room : p->low_n, depth);
        return;
    }
    /* Those equal to the pivot are the largest, so final. */
    const size_t less = pivot == LEAST ? 0 : NAME(partition)(to, n, BEFORE(pivot), to, scratch->lows).low_n;
    NAME(quick)(job, to, to, scratch->lows, less, room, depth);
    NAME(fill)(to + less, n - less, V_SET1(pivot ^ (KEY)job->flip));
}

static void NAME(run_task)(const scan_sort_task *t) {
    NAME(quick)(t->job, t->from.keys, t->to.keys, t->spare.keys, t->n, t->n, t->depth);
}

/* Leaves n codes at x, of a range, to the first thread that takes a task. What lies before them in `to` is then all
 * that the caller may write. False if they are too few, or there is no team or no room in it. */
static bool NAME(share)(const quick_job *job, const KEY *x, KEY *to, KEY *other, size_t n, unsigned depth,
                        quick_range of) {
    return quick_may_share(job->local, n, of.n * sizeof(KEY), of.repeats, 3 * LANES) &&
           scan_cpu_sort_share(job->local->team, &(scan_sort_task){.run = NAME(run_task),
                                                                   .job = job,
                                                                   .from = {(KEY *)x, NULL},
                                                                   .to = {to, NULL},
                                                                   .spare = {other, NULL},
                                                                   .n = n,
                                                                   .depth = depth,
                                                                   .unfinished = job->unfinished});
}

/* Sorts the n codes at x, which is `to` or `other`, into `to`; `other` is scratch for as many. What lies behind in
 * `to`, `room` keys in all, is written later and may be spoilt. */
static void NAME(quick)(const quick_job *job, const KEY *x, KEY *to, KEY *other, size_t n, size_t room,
                        unsigned depth) {
    while (n > 0) {
        if (n <= MAX_ROWS * LANES) {
            NAME(network)(x, to, n, room, V_SET1(job->flip));
            return;
        }
        if (depth-- == 0) {
            if (x != to)
                memcpy(to, x, n * sizeof(KEY));
            quick_give_up(job, to, other, n, sizeof(KEY));
            return;
        }
        unsigned repeats;
        bool three = false;
        KEY pivot = NAME(choose_pivot)(x, n, V_SET1(0), &repeats);
        if (n >= (repeats ? QUICK_SURVEY_N : 16384)) {
            NAME(few) few;
            pivot = NAME(survey)(x, n, 0, &few);
            if (NAME(sort_alike)(job, &few, x, 0, to, other, n, room, depth))
                return;
            if (few.count > 0) {
                NAME(sort_few)(job, &few, x, 0, to, other, n, room, depth);
                return;
            }
            three = few.three;
        } else if (repeats && !NAME(cut_beside)(x, n, V_SET1(0), pivot, pivot, &pivot)) {
            NAME(fill)(to, n, V_SET1(pivot ^ (KEY)job->flip));
            return;
        }
        const NAME(parts) p = three ? NAME(partition_three)(job, x, n, V_SET1(0), pivot, to, other)
                                    : NAME(partition)(x, n, pivot, to, other);
        const NAME(scratch) scratch = NAME(scratch_of)(&p, other, n);
        if (NAME(share)(job, p.highs, to + (n - p.high_n), scratch.highs, p.high_n, depth,
                        (quick_range){p.low_n + p.high_n, three ? 0 : repeats / QUICK_SURVEYED})) {
            other = scratch.lows;
            x = to;
            n = room = p.low_n;
            continue;
        }
        NAME(quick_lows)(job, pivot, to, &p, &scratch, n, room, depth);
        to += n - p.high_n;
        room -= n - p.high_n;
        n = p.high_n;
        other = scratch.highs;
        x = p.highs;
    }
}

/* Sorts n keys as codes, with the bits of job->flip inverted, of which the first `sorted` are in order: as quick(). The
 * first partition reads the keys. */
static void NAME(quick_keys)(const quick_job *job, const KEY *from, KEY *to, KEY *other, size_t n, size_t sorted) {
    const KEY flip = (KEY)job->flip;
    const unsigned depth = max_depth(job->local, n);
    if (n <= MAX_ROWS * LANES) {
        for (size_t i = 0; i < n; i++)
            to[i] = from[i] ^ flip;
        NAME(network)(to, to, n, n, V_SET1(flip));
        return;
    }
    unsigned repeats;
    bool three = false;
    KEY pivot = NAME(choose_pivot)(from, n, V_SET1(flip), &repeats);
    if (n >= (repeats ? QUICK_SURVEY_N : 16384)) {
        NAME(few) few;
        pivot = NAME(survey)(from, n, flip, &few);
        if (NAME(sort_alike)(job, &few, from, flip, to, other, n, n, depth))
            return;
        if (few.count > 0) {
            few.sorted = sorted;
            NAME(sort_few)(job, &few, from, flip, to, other, n, n, depth);
            return;
        }
        three = few.three;
    } else if (repeats && !NAME(cut_beside)(from, n, V_SET1(flip), pivot, pivot, &pivot)) {
        NAME(fill)(to, n, V_SET1(pivot ^ flip));
        return;
    }
    const NAME(parts) p = three ? NAME(partition_three)(job, from, n, V_SET1(flip), pivot, to, other)
                                : NAME(partition_to)(from, n, V_SET1(flip), pivot, to, other, false);
    const NAME(scratch) scratch = NAME(scratch_of)(&p, other, n);
    KEY *const above = to + (n - p.high_n);
    if (NAME(share)(job, p.highs, above, scratch.highs, p.high_n, depth,
                    (quick_range){p.low_n + p.high_n, three ? 0 : repeats / QUICK_SURVEYED})) {
        NAME(quick)(job, to, to, scratch.lows, p.low_n, p.low_n, depth);
    } else {
        NAME(quick_lows)(job, pivot, to, &p, &scratch, n, n, depth);
        NAME(quick)(job, p.highs, above, scratch.highs, p.high_n, p.high_n, depth);
    }
    quick_join(job->local, job->unfinished);
}
