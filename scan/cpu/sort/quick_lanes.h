/* SPDX-License-Identifier: MIT
 *
 * Quicksort of codes of one width, in vectors of LANES codes. Included by quick_avx512.c and quick_avx2.c once a width,
 * with the vector operations of that width defined, and by quick_numbers.h. Codes have the order in which those
 * operations compare them: that of unsigned integers, or of signed ones, of which LEAST is the least, or of floats.
 * RANK() of codes, as unsigned integers, has the same order; BEFORE() is a code with no other between.
 *
 *   partition   LANES keys a step: one comparison, two compressions, two whole-vector stores, to the keys up to the
 *               pivot and to those beyond it. One of these two may grow over the array that is read: it fills up no
 *               faster than the reading advances, so that whole vectors may be stored without harm.
 *   network     up to MAX_ROWS vectors of keys in registers: columns by Green's network of 60 comparators, or smaller
 *               ones, then bitonic merges of columns (Batcher, AFIPS 1968), then a transposition by perfect shuffles.
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

SCAN_INLINE void NAME(in_order)(V *a, V *b) {
    V low = V_MIN(*a, *b);
    *b = V_MAX(*a, *b);
    *a = low;
}

#define IN_ORDER(a, b) NAME(in_order)(&v[a], &v[b])

/* Sorts each lane's column of `rows` registers. */
SCAN_INLINE void NAME(sort_columns)(V *v, unsigned rows) {
    if (rows == 2) {
        IN_ORDER(0, 1);
    } else if (rows == 4) {
        IN_ORDER(0, 2), IN_ORDER(1, 3);
        IN_ORDER(0, 1), IN_ORDER(2, 3);
        IN_ORDER(1, 2);
    } else if (rows == 8) {
        IN_ORDER(0, 2), IN_ORDER(1, 3), IN_ORDER(4, 6), IN_ORDER(5, 7);
        IN_ORDER(0, 4), IN_ORDER(1, 5), IN_ORDER(2, 6), IN_ORDER(3, 7);
        IN_ORDER(0, 1), IN_ORDER(2, 3), IN_ORDER(4, 5), IN_ORDER(6, 7);
        IN_ORDER(2, 4), IN_ORDER(3, 5);
        IN_ORDER(1, 4), IN_ORDER(3, 6);
        IN_ORDER(1, 2), IN_ORDER(3, 4), IN_ORDER(5, 6);
    } else if (rows == 16) {
        IN_ORDER(0, 1), IN_ORDER(2, 3), IN_ORDER(4, 5), IN_ORDER(6, 7);
        IN_ORDER(8, 9), IN_ORDER(10, 11), IN_ORDER(12, 13), IN_ORDER(14, 15);
        IN_ORDER(0, 2), IN_ORDER(1, 3), IN_ORDER(4, 6), IN_ORDER(5, 7);
        IN_ORDER(8, 10), IN_ORDER(9, 11), IN_ORDER(12, 14), IN_ORDER(13, 15);
        IN_ORDER(0, 4), IN_ORDER(1, 5), IN_ORDER(2, 6), IN_ORDER(3, 7);
        IN_ORDER(8, 12), IN_ORDER(9, 13), IN_ORDER(10, 14), IN_ORDER(11, 15);
        IN_ORDER(0, 8), IN_ORDER(1, 9), IN_ORDER(2, 10), IN_ORDER(3, 11);
        IN_ORDER(4, 12), IN_ORDER(5, 13), IN_ORDER(6, 14), IN_ORDER(7, 15);
        IN_ORDER(5, 10), IN_ORDER(6, 9), IN_ORDER(3, 12), IN_ORDER(13, 14), IN_ORDER(4, 8), IN_ORDER(7, 11);
        IN_ORDER(1, 2), IN_ORDER(1, 4), IN_ORDER(7, 13), IN_ORDER(2, 8), IN_ORDER(11, 14);
        IN_ORDER(2, 4), IN_ORDER(5, 6), IN_ORDER(9, 10), IN_ORDER(11, 13), IN_ORDER(3, 8), IN_ORDER(7, 12);
        IN_ORDER(6, 8), IN_ORDER(10, 12), IN_ORDER(3, 5), IN_ORDER(7, 9);
        IN_ORDER(3, 4), IN_ORDER(5, 6), IN_ORDER(7, 8), IN_ORDER(9, 10), IN_ORDER(11, 12);
        IN_ORDER(6, 7), IN_ORDER(8, 9);
    }
}

/* Merges sorted blocks of width / 2 columns into blocks of `width`: a block's order is column by column. */
SCAN_INLINE void NAME(merge_columns)(V *v, unsigned rows, unsigned width) {
    /* The second half reversed, in columns and rows, makes the block bitonic. */
    if (rows == 1)
        v[0] = V_MIN_MAX(v[0], V_EXCHANGE(v[0], width - 1), width / 2);
#pragma GCC unroll 8
    for (unsigned r = 0; r < rows / 2; r++) {
        V a = v[r], b = V_EXCHANGE(v[rows - 1 - r], width - 1);
        v[r] = V_MIN_MAX(a, b, width / 2);
        v[rows - 1 - r] = V_EXCHANGE(V_MAX_MIN(a, b, width / 2), width - 1);
    }
#pragma GCC unroll 4
    for (unsigned distance = width / 4; distance > 0; distance /= 2)
#pragma GCC unroll 16
        for (unsigned r = 0; r < rows; r++)
            v[r] = V_MIN_MAX(v[r], V_EXCHANGE(v[r], distance), distance);
#pragma GCC unroll 4
    for (unsigned distance = rows / 2; distance > 0; distance /= 2)
#pragma GCC unroll 16
        for (unsigned r = 0; r < rows; r++)
            if ((r & distance) == 0)
                IN_ORDER(r, r + distance);
}

/* From column by column to memory order. Interleaving the two halves of the registers rotates an element's position,
 * as a binary number, by one bit. */
SCAN_INLINE void NAME(transpose)(V *v, unsigned rows) {
    V w[MAX_ROWS];
#pragma GCC unroll 4
    for (unsigned round = 1; round < rows; round *= 2) {
#pragma GCC unroll 8
        for (unsigned r = 0; r < rows / 2; r++) {
            w[2 * r] = V_INTERLEAVE_LOW(v[r], v[r + rows / 2]);
            w[2 * r + 1] = V_INTERLEAVE_HIGH(v[r], v[r + rows / 2]);
        }
#pragma GCC unroll 16
        for (unsigned r = 0; r < rows; r++)
            v[r] = w[r];
    }
}

/* Sorts n keys, least < n <= rows * LANES, from one array to another, inverting `flip` on the way out. Up to `room`
 * keys may be written: masked stores cost more than all the rest. */
SCAN_INLINE void NAME(network_of)(const KEY *from, KEY *to, size_t n, size_t room, V flip, unsigned rows,
                                  unsigned least) {
    const V count = V_SET1(n);
    V v[MAX_ROWS];
#pragma GCC unroll 16
    for (unsigned r = 0; r < rows; r++)
        v[r] = (r + 1) * LANES <= least ? V_LOAD(from + r * LANES)
                                        : V_MASK_LOAD(V_SET1(MOST), V_BELOW(count, r), from + r * LANES);
    NAME(sort_columns)(v, rows);
    NAME(merge_columns)(v, rows, 2);
    NAME(merge_columns)(v, rows, 4);
    if (LANES >= 8)
        NAME(merge_columns)(v, rows, 8);
    if (LANES >= 16)
        NAME(merge_columns)(v, rows, 16);
    if (LANES >= 32)
        NAME(merge_columns)(v, rows, 32);
    NAME(transpose)(v, rows);
#pragma GCC unroll 16
    for (unsigned r = 0; r < rows; r++)
        v[r] = V_XOR(v[r], flip);
    if (rows * LANES <= room) {
#pragma GCC unroll 16
        for (unsigned r = 0; r < rows; r++)
            V_STORE(to + r * LANES, v[r]);
    } else {
#pragma GCC unroll 16
        for (unsigned r = 0; r < rows; r++)
            V_MASK_STORE(to + r * LANES, V_BELOW(count, r), v[r]);
    }
}

#if MAX_ROWS == 16
QUICK_APART static void NAME(network_16)(const KEY *from, KEY *to, size_t n, size_t room, V flip) {
    NAME(network_of)(from, to, n, room, flip, 16, 8 * LANES);
}
#endif
QUICK_APART static void NAME(network_8)(const KEY *from, KEY *to, size_t n, size_t room, V flip) {
    NAME(network_of)(from, to, n, room, flip, 8, 4 * LANES);
}
QUICK_APART static void NAME(network_4)(const KEY *from, KEY *to, size_t n, size_t room, V flip) {
    NAME(network_of)(from, to, n, room, flip, 4, LANES);
}
QUICK_APART static void NAME(network_1)(const KEY *from, KEY *to, size_t n, size_t room, V flip) {
    NAME(network_of)(from, to, n, room, flip, 1, 0);
}

static void NAME(network)(const KEY *from, KEY *to, size_t n, size_t room, V flip) {
#if MAX_ROWS == 16
    if (n > 8 * LANES) {
        NAME(network_16)(from, to, n, room, flip);
        return;
    }
#endif
    if (n > 4 * LANES)
        NAME(network_8)(from, to, n, room, flip);
    else if (n > LANES)
        NAME(network_4)(from, to, n, room, flip);
    else
        NAME(network_1)(from, to, n, room, flip);
}

SCAN_INLINE V NAME(median)(V a, V b, V c) { return V_MAX(V_MIN(a, b), V_MIN(V_MAX(a, b), c)); }

/* Where a pivot's candidates lie: three places, one somewhere in each third. At n / 4, n / 2, 3 n / 4 the borders of
 * runs would lie, and the same keys of all. n >= 4 * LANES. */
SCAN_INLINE void NAME(choose_places)(size_t n, size_t *places) {
    const size_t third = (n - LANES) / 3;
    const uint64_t hash = n * 0x9e3779b97f4a7c15u;
    for (unsigned k = 0; k < 3; k++)
        places[k] = k * third + ((size_t)(hash >> (16 * k + 16) & 0xffff) * third >> 16);
}

/* A median of medians of three, from 27 codes. *repeats says whether others of them equal it. */
SCAN_INLINE KEY NAME(pivot_of)(V a, V b, V c, bool *repeats) {
    V m = NAME(median)(a, b, c);
    m = NAME(median)(m, V_ROTATE(m, 1), V_ROTATE(m, 2));
    m = NAME(median)(m, V_ROTATE(m, 3), V_ROTATE(m, 6));
    const V pivot = V_SET1(V_FIRST(m));
    size_t unequal = quick_count(V_UNSET(V_EQUAL(a, pivot)), LANES) + quick_count(V_UNSET(V_EQUAL(b, pivot)), LANES) +
                     quick_count(V_UNSET(V_EQUAL(c, pivot)), LANES);
    *repeats = unequal < 3 * LANES - 1;
    return V_FIRST(m);
}

#include "quick_cut.h"

/* The codes x[i] ^ flip: those up to `last` go to lows, the others to highs. Returns how many are low.
 * `fetch`: the lines of lows and of highs are fetched ahead. */
SCAN_INLINE size_t NAME(partition_of)(const KEY *x, size_t n, V flip, KEY last, KEY *lows, KEY *highs, bool fetch) {
    const V pivot = V_SET1(last);
    size_t low = 0, high = 0, i = 0;
#define LOAD(at) V_XOR(flip, V_LOAD(x + (at)))
#define STEP(v)                                                                                                        \
    do {                                                                                                               \
        V_BITS low_ = V_LOWS(v, pivot);                                                                                \
        V_STORE(lows + low, V_COMPRESS(v, low_));                                                                      \
        V_STORE(highs + high, V_COMPRESS(v, (V_BITS)~low_));                                                           \
        size_t count_ = quick_count(low_, LANES);                                                                      \
        low += count_;                                                                                                 \
        high += LANES - count_;                                                                                        \
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
        V_BITS valid = (V_BITS)((1u << (n - i)) - 1), is_low = V_LOWS(v, pivot) & valid, is_high = ~is_low & valid;
        size_t count = quick_count(is_low, LANES);
        V_MASK_STORE(lows + low, V_BELOW(V_SET1(count), 0), V_COMPRESS(v, is_low));
        V_MASK_STORE(highs + high, V_BELOW(V_SET1(n - i - count), 0), V_COMPRESS(v, is_high));
        low += count;
    }
    return low;
}

#ifdef QUICK_IN_PLACE
#include "quick_partition.h"
#endif

/* The codes x[i] ^ flip: those up to `last` go to the front of `to`, the others to *highs, which is `other`, or
 * behind them where many codes are partitioned where they are. Returns how many are low. */
SCAN_INLINE size_t NAME(partition_to)(const KEY *x, size_t n, V flip, KEY last, KEY *to, KEY *other,
                                      const KEY **highs) {
    *highs = other;
    if (n < QUICK_L1_BYTES / sizeof(KEY))
        return NAME(partition_of)(x, n, flip, last, to, other, false);
#ifdef QUICK_IN_PLACE
    const size_t low = NAME(part)(x, n, flip, last, to);
    *highs = to + low;
    return low;
#else
    return NAME(partition_of)(x, n, flip, last, to, other, true);
#endif
}

static size_t NAME(partition)(const KEY *x, size_t n, KEY last, KEY *to, KEY *other, const KEY **highs) {
    return NAME(partition_to)(x, n, V_SET1(0), last, to, other, highs);
}

#include "quick_few.h"

/* The scratch of both parts of n codes, which may be sorted at the same time. */
typedef struct NAME(scratch) {
    KEY *lows, *highs;
    bool beside; /* the high codes are in what is their scratch, not behind the low ones */
} NAME(scratch);

SCAN_INLINE NAME(scratch) NAME(scratch_of)(const KEY *highs, KEY *other, size_t below, size_t n) {
    const bool beside = highs == other;
    return (NAME(scratch)){beside ? other + (n - below) : other, beside ? other : other + below, beside};
}

/* Sorts the `below` of n codes at the front of `to` that a partition has found to be up to the pivot. */
static void NAME(quick_lows)(const quick_job *job, KEY pivot, KEY *to, const NAME(scratch) * scratch, size_t below,
                             size_t n, size_t room, unsigned depth) {
    if (below < n) {
        NAME(quick)(job, to, to, scratch->lows, below, scratch->beside ? room : below, depth);
        return;
    }
    /* Those equal to the pivot are the largest, so final. */
    const KEY *highs;
    const size_t less = pivot == LEAST ? 0 : NAME(partition)(to, n, BEFORE(pivot), to, scratch->lows, &highs);
    NAME(quick)(job, to, to, scratch->lows, less, room, depth);
    NAME(fill)(to + less, n - less, V_SET1(pivot ^ (KEY)job->flip));
}

static void NAME(run_task)(const scan_sort_task *t) {
    NAME(quick)(t->job, t->from.keys, t->to.keys, t->spare.keys, t->n, t->n, t->depth);
}

/* Leaves n codes at x to the first thread that takes a task. What lies before them in `to` is then all that the caller
 * may write. False if they are too few, or there is no team or no room in it. */
static bool NAME(share)(const quick_job *job, const KEY *x, KEY *to, KEY *other, size_t n, unsigned depth) {
    return quick_may_share(job->local, n) &&
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
        bool repeats;
        KEY pivot = NAME(choose_pivot)(x, n, V_SET1(0), &repeats);
        if (n >= (repeats ? QUICK_SURVEY_N : 16384)) {
            NAME(few) few;
            pivot = NAME(survey)(x, n, 0, &few);
            if (few.count > 0) {
                NAME(sort_few)(job, &few, x, 0, to, other, n, room, depth);
                return;
            }
        } else if (repeats && !NAME(cut_beside)(x, n, V_SET1(0), pivot, pivot, &pivot)) {
            NAME(fill)(to, n, V_SET1(pivot ^ (KEY)job->flip));
            return;
        }
        const KEY *highs;
        const size_t below = NAME(partition)(x, n, pivot, to, other, &highs);
        const NAME(scratch) scratch = NAME(scratch_of)(highs, other, below, n);
        if (NAME(share)(job, highs, to + below, scratch.highs, n - below, depth)) {
            other = scratch.lows;
            x = to;
            n = room = below;
            continue;
        }
        NAME(quick_lows)(job, pivot, to, &scratch, below, n, room, depth);
        n -= below;
        to += below;
        other = scratch.highs;
        room -= below;
        x = highs;
    }
}

#undef IN_ORDER
