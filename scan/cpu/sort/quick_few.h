/* SPDX-License-Identifier: MIT
 *
 * Quicksort of keys of which most are equal to one of a few values: a sample says which values, one pass counts them
 * and sets the other keys aside, which are sorted and then put between the values. Where there are no others that is
 * all. Included by quick_lanes.h once a width.
 */

/* Values that make up most of an array, in order. */
typedef struct NAME(few) {
    KEY values[QUICK_FEW];
    unsigned count;             /* 0: there are none */
    unsigned most;              /* the one that seems to be most frequent */
    unsigned shares[QUICK_FEW]; /* of QUICK_SAMPLES, that each value has; 0: the sample has missed it */
    bool three;         /* there are none, but the pivot has so many keys that a partition should leave them out */
    size_t sorted;      /* keys at the front that are in order */
    unsigned equal;     /* neighbours in the sorted sample */
    bool others_repeat; /* many of the other keys, too: they may be of some dozens of values */
    KEY magnitude; /* others that have none of these bits set must not be: they would be ties of a value; 0: all may */
} NAME(few);

/* The i-th place of a sample of n keys: somewhere in the i-th of as many parts. Places at even distances would meet the
 * same keys of a period. */
SCAN_INLINE size_t NAME(sample_place)(size_t i, size_t n) {
    uint64_t x = (i + 1) * 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    return (size_t)((((uint64_t)i << 32) + (x >> 32)) / QUICK_SAMPLES * n >> 32);
}

/* Sorts a sample of codes, and looks for values that make up half of it: of those that are in it at least so many
 * times, as few times as leave no more than QUICK_FEW of them. Returns a pivot: the median; or, of many codes, the
 * value that most of them have, if it has others before it that would be moved once more when they are sorted. */
static KEY NAME(find_few)(KEY *sample, bool many, NAME(few) * few) {
    enum { SAMPLES = QUICK_SAMPLES };
    unsigned runs[SAMPLES + 1], runs_n = 0; /* where runs of equal codes begin */
    unsigned equal = 0, share = 0, covered = 0, longest = 0;
    KEY differ = 0;
    for (size_t i = 0; i < SAMPLES; i++)
        differ |= sample[i] ^ sample[0];
    if (differ == 0) { /* to sort the sample would take a tenth to a quarter of the time for a thousand keys */
        *few = (NAME(few)){.values = {sample[0]}, .count = 1, .shares = {SAMPLES}};
        return sample[0];
    }
    NAME(network)(sample, sample, SAMPLES, SAMPLES, V_SET1(0));
    const KEY median = sample[SAMPLES / 2 - 1];
    few->count = 0;
    few->sorted = few->magnitude = 0;
    few->others_repeat = false;
    for (size_t i = 0; i < SAMPLES; i++)
        share += sample[i] == median;
    for (size_t i = 1; i < SAMPLES; i++)
        equal += sample[i] == sample[i - 1];
    few->equal = equal;
    few->three = many && share >= QUICK_THREE;
    if (equal < SAMPLES / 2 - QUICK_FEW)
        return median;
    for (unsigned i = 0; i < SAMPLES; i++)
        if (i == 0 || sample[i] != sample[i - 1])
            runs[runs_n++] = i;
    runs[runs_n] = SAMPLES;
    for (unsigned least = 2; least == 2 || few->count > QUICK_FEW; least++) {
        few->count = few->most = covered = longest = 0;
        for (unsigned r = 0; r < runs_n; r++) {
            unsigned length = runs[r + 1] - runs[r];
            if (length < least)
                continue;
            if (few->count < QUICK_FEW) {
                few->values[few->count] = sample[runs[r]];
                few->shares[few->count] = length;
                few->most = length > longest ? few->count : few->most;
            }
            longest = length > longest ? length : longest;
            few->count++;
            covered += length;
        }
    }
    if (covered < SAMPLES / 2) {
        few->count = 0;
        return median;
    }
    /* Then one pass counts all keys of 8 bytes: that takes 0.6 to 0.8 times as long for 24 values (Xeon with AVX-512,
     * 2026-11-29: tools/bench --verb sort --type u64,f64 --n 30000,200000 --distribution few:24 --threads 2). */
    few->others_repeat = sizeof(KEY) == 8 && SAMPLES - equal >= QUICK_MANY &&
                         QUICK_REPEATED * (equal + 1 - longest) >= SAMPLES - longest;
    const KEY most = few->values[few->most];
    few->three = many && longest < SAMPLES / 8 * 5 && covered - longest < QUICK_THREE && sample[0] != most;
    if (!few->three)
        return median;
    few->count = 0;
    return most;
}

#include "quick_sift.h"

/* Looks for a value that is half of what is left of some codes x[i] ^ flip by those that a sample has shown, which
 * misses one that few of many codes have. */
QUICK_APART static bool NAME(find_another)(const KEY *x, size_t n, KEY flip, const NAME(few) * few, KEY *another) {
    enum { PLACES = 4, AT_ONCE = 16 * LANES, MANY = 64 * PLACES * AT_ONCE, ENOUGH = 4 };
    KEY rest[PLACES * AT_ONCE];
    NAME(sieve) s = {.x = x, .flip = flip, .count = few->count, .rest = rest};
    size_t counts[QUICK_FEW] = {0}, rest_n = 0, equal = 0;
    if (n < MANY || few->count == 0 || few->count == QUICK_FEW)
        return false;
    memcpy(s.values, few->values, sizeof s.values);
    for (size_t k = 0; k < PLACES; k++)
        rest_n += NAME(sift_some)(&s, NAME(sample_place)(k * (QUICK_SAMPLES / PLACES), n - AT_ONCE), AT_ONCE, 0,
                                  rest + rest_n, counts, true, true);
    if (rest_n < ENOUGH)
        return false;
    *another = rest[rest_n / 2];
    for (size_t i = 0; i < rest_n; i++)
        equal += rest[i] == *another;
    return equal >= ENOUGH && 2 * equal >= rest_n;
}

/* Adds a value, which is before those from place k on. */
static void NAME(add_value)(NAME(few) * few, KEY value, unsigned k) {
    memmove(few->values + k + 1, few->values + k, (few->count - k) * sizeof(KEY));
    memmove(few->shares + k + 1, few->shares + k, (few->count - k) * sizeof few->shares[0]);
    few->values[k] = value;
    few->shares[k] = 0;
    few->most += few->most >= k;
    few->count++;
}

typedef struct NAME(filling) {
    KEY *to, key;
} NAME(filling);

static void NAME(fill_places)(void *arg, size_t begin, size_t end) {
    const NAME(filling) *f = arg;
    NAME(fill)(f->to + begin, end - begin, V_SET1(f->key));
}

/* How many of sorted codes, given as codes[i] ^ flip, are less than each value. */
static void NAME(count_less)(const KEY *values, unsigned count, const KEY *codes, size_t n, KEY flip, size_t *less) {
    for (unsigned k = 0; k < count; k++) {
        size_t begin = k > 0 ? less[k - 1] : 0;
        for (size_t end = n; begin < end;) {
            const size_t middle = begin + (end - begin) / 2;
            if (RANK(codes[middle] ^ flip) < RANK(values[k]))
                begin = middle + 1;
            else
                end = middle;
        }
        less[k] = begin;
    }
}

static void NAME(fill_range)(KEY *to, size_t begin, size_t end, KEY key, scan_sort_team *team) {
    if (begin < end)
        scan_sort_backward_pass(team, NAME(fill_places), &(NAME(filling)){to + begin, key}, end - begin,
                                (end - begin) * sizeof(KEY));
}

/* Puts keys, as often as they were counted, between the other ones, which are sorted at the end of `to`: behind the
 * first less[k] of these. What lies before the other ones is filled as `guess` says, if that is not NULL. */
static void NAME(put_between)(const KEY *keys, unsigned count, const size_t *counts, const size_t *less, KEY *to,
                              size_t n, size_t rest_n, const NAME(guess) * guess, scan_sort_team *team) {
    const KEY *rest = to + (n - rest_n);
    size_t at = 0;
    for (size_t k = 0, before = 0; k < count; before = less[k++]) {
        memmove(to + at, rest + before, (less[k] - before) * sizeof(KEY));
        at += less[k] - before;
        const size_t end = at + counts[k];
        size_t right = at, right_end = at; /* there the key is already */
        if (guess) {
            const size_t filled = quick_clamp(n - rest_n, at, end);
            right = quick_clamp(guess->begins[k], at, filled);
            right_end = quick_clamp(guess->begins[k + 1], right, filled);
        }
        NAME(fill_range)(to, at, right, keys[k], team);
        NAME(fill_range)(to, right_end, end, keys[k], team);
        at = end;
    }
}

/* What find_few() does, of the codes x[i] ^ flip. */
static KEY NAME(survey)(const KEY *x, size_t n, KEY flip, NAME(few) * few) {
    KEY sample[QUICK_SAMPLES], another;
    for (size_t i = 0; i < QUICK_SAMPLES; i++)
        sample[i] = x[NAME(sample_place)(i, n)] ^ flip;
    const KEY pivot = NAME(find_few)(sample, n >= QUICK_L1_BYTES / sizeof(KEY), few);
    if (NAME(find_another)(x, n, flip, few, &another)) {
        unsigned k = few->count;
        while (k > 0 && RANK(few->values[k - 1]) > RANK(another))
            k--;
        NAME(add_value)(few, another, k);
    }
    return pivot;
}

static void NAME(quick)(const quick_job *job, const KEY *x, KEY *to, KEY *other, size_t n, size_t room, unsigned depth);

/* Whether places are filled with a guess while keys are counted: those of another array, whose lines are not at hand,
 * only if there seem to be no other keys, which are written last. */
static bool NAME(are_guessed)(const NAME(few) * few, bool in_place) {
    unsigned all = 0;
    for (unsigned k = 0; k < few->count; k++)
        all += few->shares[k];
    return few->shares[few->most] >= QUICK_PART && (in_place || all == QUICK_SAMPLES);
}

/* Where the sample expects the keys of the few values, codes with `inverted` bits; the most frequent everywhere, if it
 * has others too. */
static void NAME(guess_places)(const NAME(few) * few, size_t n, KEY inverted, NAME(guess) * guess) {
    unsigned before = 0, all = 0;
    for (unsigned k = 0; k < few->count; k++)
        all += few->shares[k];
    for (unsigned k = 0; k < few->count; k++) {
        guess->begins[k] = all == QUICK_SAMPLES ? n / NAME(SIFT_UNIT) * before / all * NAME(SIFT_UNIT)
                           : k > few->most      ? n
                                                : 0;
        before += few->shares[k];
        guess->keys[k] = few->values[k] ^ inverted;
    }
    guess->begins[0] = 0;
    guess->begins[few->count] = n;
}

/* Counts the few values, and copies the other codes to `rest`, in order. `to` is filled as guessed meanwhile, if it is
 * not NULL. Returns how many other codes there are, or SIZE_MAX. */
static size_t NAME(sift)(const NAME(few) * few, const KEY *x, size_t n, KEY flip, KEY *rest, size_t *counts, KEY *to,
                         const NAME(guess) * guess, scan_sort_team *team) {
    NAME(sieve)
    s = {
        .x = x, .flip = flip, .count = few->count, .rest = rest, .to = to, .guess = guess, .magnitude = few->magnitude};
    memcpy(s.values, few->values, sizeof s.values);
    s.values[0] = few->values[few->most];
    s.values[few->most] = few->values[0];
    s.seems_one = few->shares[few->most] >= QUICK_SAMPLES / 16 * 15;
    const size_t sorted = few->sorted * sizeof(KEY) < QUICK_SORTED_BYTES ? 0 : few->sorted;
    const size_t rest_n = NAME(sift_all)(&s, n, sorted, team, counts), most = counts[0];
    counts[0] = counts[few->most];
    counts[few->most] = most;
    return rest_n;
}

/* Sorts the codes x[i] ^ flip, of which most are one of a few values, as quick() does. */
static void NAME(sort_few)(const quick_job *job, NAME(few) * few, const KEY *x, KEY flip, KEY *to, KEY *other, size_t n,
                           size_t room, unsigned depth) {
    size_t counts[QUICK_FEW], less[QUICK_FEW];
    KEY keys[QUICK_FEW];
    scan_sort_team *team = job->local->team;
    const bool fills = NAME(are_guessed)(few, to == x);
    NAME(guess) guess;
    NAME(guess_places)(few, n, (KEY)job->flip, &guess);
    const size_t rest_n = NAME(sift)(few, x, n, flip, other, counts, fills ? to : NULL, &guess, team);
    atomic_uint unfinished = 0;
    quick_job of_rest = *job;
    of_rest.unfinished = &unfinished;
    NAME(quick)(&of_rest, other, to + (n - rest_n), other, rest_n, room - (n - rest_n), depth);
    quick_join(job->local, &unfinished);
    NAME(count_less)(few->values, few->count, to + (n - rest_n), rest_n, (KEY)job->flip, less);
    for (unsigned k = 0; k < few->count; k++)
        keys[k] = few->values[k] ^ (KEY)job->flip;
    NAME(put_between)(keys, few->count, counts, less, to, n, rest_n, fills ? &guess : NULL, team);
}
