/* SPDX-License-Identifier: MIT
 *
 * Quicksort of keys of which most are equal to one of a few values: a sample says which values, one pass counts them
 * and sets the other keys aside, which are sorted and then put between the values. Where there are no others that is
 * all. Included by quick_lanes.h once a width.
 */

/* Values that make up most of an array, in order. */
typedef struct NAME(few) {
    KEY values[QUICK_FEW];
    unsigned count; /* 0: there are none */
    unsigned most;  /* the one that seems to be most frequent */
} NAME(few);

/* The i-th place of a sample of n keys: somewhere in the i-th of as many parts. Places at even distances would meet the
 * same keys of a period. */
SCAN_INLINE size_t NAME(sample_place)(size_t i, size_t n) {
    uint64_t x = (i + 1) * 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    return (size_t)((((uint64_t)i << 32) + (x >> 32)) / QUICK_SAMPLES * n >> 32);
}

/* Sorts a sample of codes, returns its median, and looks for values that make up half of it: of those that are in it at
 * least so many times, as few times as leave no more than QUICK_FEW of them. */
static KEY NAME(find_few)(KEY *sample, NAME(few) * few) {
    enum { SAMPLES = QUICK_SAMPLES };
    unsigned runs[SAMPLES + 1], runs_n = 0, equal = 0, covered = 0; /* where runs of equal codes begin */
    NAME(network)(sample, sample, SAMPLES, SAMPLES, V_SET1(0));
    few->count = 0;
    for (size_t i = 1; i < SAMPLES; i++)
        equal += sample[i] == sample[i - 1];
    if (equal < SAMPLES / 2 - QUICK_FEW)
        return sample[SAMPLES / 2 - 1];
    for (unsigned i = 0; i < SAMPLES; i++)
        if (i == 0 || sample[i] != sample[i - 1])
            runs[runs_n++] = i;
    runs[runs_n] = SAMPLES;
    for (unsigned least = 2; least == 2 || few->count > QUICK_FEW; least++) {
        few->count = few->most = covered = 0;
        unsigned longest = 0;
        for (unsigned r = 0; r < runs_n; r++) {
            unsigned length = runs[r + 1] - runs[r];
            if (length < least)
                continue;
            if (few->count < QUICK_FEW) {
                few->values[few->count] = sample[runs[r]];
                few->most = length > longest ? few->count : few->most;
            }
            longest = length > longest ? length : longest;
            few->count++;
            covered += length;
        }
    }
    if (covered < SAMPLES / 2)
        few->count = 0;
    return sample[SAMPLES / 2 - 1];
}

/* That of the codes x[i] ^ flip. */
static KEY NAME(survey)(const KEY *x, size_t n, KEY flip, NAME(few) * few) {
    KEY sample[QUICK_SAMPLES];
    for (size_t i = 0; i < QUICK_SAMPLES; i++)
        sample[i] = x[NAME(sample_place)(i, n)] ^ flip;
    return NAME(find_few)(sample, few);
}

SCAN_INLINE size_t NAME(sum_of_lanes)(V tally) {
    KEY lanes[LANES];
    size_t sum = 0;
    V_STORE(lanes, tally);
    for (unsigned lane = 0; lane < LANES; lane++)
        sum += lanes[lane];
    return sum;
}

/* How many keys lie before the first address that is a multiple of a vector's size. */
SCAN_INLINE size_t NAME(to_boundary)(const KEY *x) { return -((uintptr_t)x / sizeof(KEY)) % LANES; }

/* Counts the codes x[i] ^ flip that are one of `count` values, and copies the others to `rest`, which may be x. Returns
 * how many they are. What is neither another value nor among the rest is the first value. As many as *written then says
 * are in front of `to`, which may be x, as `key`, and behind them is nothing worth keeping; NULL: they are not
 * written. */
SCAN_INLINE size_t NAME(sift_of)(const KEY *x, size_t n, V flip, const KEY *values, unsigned count, KEY *rest,
                                 size_t *counts, KEY *to, KEY key, size_t *written) {
    _Static_assert(sizeof(KEY) > 2 || SCAN_SORT_QUICK_NARROW_N / LANES <= UINT16_MAX,
                   "a lane counts all that it meets");
    V value[QUICK_FEW], tally[QUICK_FEW];
    size_t rest_n = 0, i = 0, firsts = 0, written_n = 0;
    const size_t boundary = to ? NAME(to_boundary)(to) : 0;
    const V keys = V_SET1(key);
#pragma GCC unroll 8
    for (unsigned k = 0; k < count; k++) {
        value[k] = V_SET1(values[k]);
        tally[k] = V_SET1(0);
    }
#define SIFT(others, v)                                                                                                \
    do {                                                                                                               \
        V_MASK same_ = V_EQUAL(v, value[0]);                                                                           \
        if (to && count > 1)                                                                                           \
            unwritten += quick_count(V_UNSET(same_), LANES);                                                           \
        _Pragma("GCC unroll 8") for (unsigned k_ = 1; k_ < count; k_++) {                                              \
            V_MASK also_ = V_EQUAL(v, value[k_]);                                                                      \
            tally[k_] = V_TALLY(tally[k_], also_);                                                                     \
            same_ = V_MASK_OR(same_, also_);                                                                           \
        }                                                                                                              \
        others = V_UNSET(same_);                                                                                       \
    } while (0)
    /* Whether one of several vectors has others is easier to foresee. */
    for (; i + 4 * LANES <= n; i += 4 * LANES) {
        V v[4];
        V_BITS others[4];
        size_t unwritten = 0;
#pragma GCC unroll 4
        for (unsigned k = 0; k < 4; k++) {
            if (to) /* a line that will be written, too */
                __builtin_prefetch((void *)((uintptr_t)(x + i + k * LANES) + 1024), 1);
            v[k] = V_XOR(flip, V_LOAD(x + i + k * LANES));
            SIFT(others[k], v[k]);
        }
        if (to) {
            V_BITS differ = 0; /* a line that has the key already is not written: it need not go to memory */
#pragma GCC unroll 4
            for (unsigned k = 0; k < 4; k++) {
                differ |= V_UNSET(V_EQUAL(V_LOAD(to + written_n + k * LANES), keys));
                unwritten += count == 1 ? quick_count(others[k], LANES) : 0;
            }
            if (differ) {
#pragma GCC unroll 4
                for (unsigned k = 0; k < 4; k++)
                    V_STORE(to + written_n + k * LANES, keys);
            }
            firsts += 4 * LANES - unwritten;
            written_n = firsts < boundary ? 0 : firsts - (firsts - boundary) % LANES;
        }
        if ((others[0] | others[1] | others[2] | others[3]) == 0)
            continue;
#pragma GCC unroll 4
        for (unsigned k = 0; k < 4; k++) {
            V_STORE(rest + rest_n, V_COMPRESS(v[k], others[k]));
            rest_n += quick_count(others[k], LANES);
        }
    }
    for (; i + LANES <= n; i += LANES) {
        V v = V_XOR(flip, V_LOAD(x + i));
        V_BITS others;
        size_t unwritten = 0;
        SIFT(others, v);
        if (others) {
            V_STORE(rest + rest_n, V_COMPRESS(v, others));
            rest_n += quick_count(others, LANES);
        }
    }
    if (i < n) { /* with the first value behind them */
        V v = V_XOR(flip, V_MASK_LOAD(V_XOR(flip, value[0]), V_BELOW(V_SET1(n - i), 0), x + i));
        V_BITS others;
        size_t unwritten = 0;
        SIFT(others, v);
        size_t others_n = quick_count(others, LANES);
        V_MASK_STORE(rest + rest_n, V_BELOW(V_SET1(others_n), 0), V_COMPRESS(v, others));
        rest_n += others_n;
    }
#undef SIFT
    *written = written_n;
    counts[0] = n - rest_n;
    for (unsigned k = 1; k < count; k++)
        counts[0] -= counts[k] = NAME(sum_of_lanes)(tally[k]);
    return rest_n;
}

#define SIFT_OF(count)                                                                                                 \
    static size_t NAME(sift_##count)(const KEY *x, size_t n, V flip, const KEY *values, KEY *rest, size_t *counts) {   \
        size_t written;                                                                                                \
        return NAME(sift_of)(x, n, flip, values, count, rest, counts, NULL, 0, &written);                              \
    }
SIFT_OF(1)
SIFT_OF(2)
SIFT_OF(3)
SIFT_OF(4)
SIFT_OF(5)
SIFT_OF(6)
SIFT_OF(7)
SIFT_OF(8)
#undef SIFT_OF

static size_t NAME(sift_to_1)(const KEY *x, size_t n, V flip, const KEY *values, KEY *rest, size_t *counts, KEY *to,
                              KEY key, size_t *written) {
    return NAME(sift_of)(x, n, flip, values, 1, rest, counts, to, key, written);
}
static size_t NAME(sift_to_2)(const KEY *x, size_t n, V flip, const KEY *values, KEY *rest, size_t *counts, KEY *to,
                              KEY key, size_t *written) {
    return NAME(sift_of)(x, n, flip, values, 2, rest, counts, to, key, written);
}

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

/* How many of sorted codes, given as codes[i] ^ flip, are less than each value. */
static void NAME(count_less)(const NAME(few) * few, const KEY *codes, size_t n, KEY flip, size_t *less) {
    for (unsigned k = 0; k < few->count; k++) {
        size_t begin = k > 0 ? less[k - 1] : 0;
        for (size_t end = n; begin < end;) {
            const size_t middle = begin + (end - begin) / 2;
            if (RANK(codes[middle] ^ flip) < RANK(few->values[k]))
                begin = middle + 1;
            else
                end = middle;
        }
        less[k] = begin;
    }
}

/* Puts keys, as often as they were counted, between the other ones, which are sorted at the end of `to`: behind the
 * first less[k] of these. `written` of the most frequent key are at the front of `to`. */
static void NAME(put_between)(const NAME(few) * few, const KEY *keys, const size_t *counts, const size_t *less, KEY *to,
                              size_t n, size_t rest_n, size_t written) {
    const KEY *rest = to + (n - rest_n);
    size_t at = 0;
    for (size_t k = 0, before = 0; k < few->count; before = less[k++]) {
        memmove(to + at, rest + before, (less[k] - before) * sizeof(KEY));
        at += less[k] - before;
        const size_t end = at + counts[k], from = k == few->most && written > at ? written : at;
        if (from < end)
            NAME(fill)(to + from, end - from, V_SET1(keys[k]));
        at = end;
    }
}

static void NAME(quick)(const quick_job *job, const KEY *x, KEY *to, KEY *other, size_t n, size_t room, unsigned depth);

/* Counts the few values, and copies the other codes to `rest`. Of one value or two, which are counted no more slowly
 * than memory is read, the keys of the most frequent one are written to `to` meanwhile, if that is x and leaves the L1:
 * lines that have just been read are written soonest. *written: how many. A key is a code with `inverted` bits. */
static size_t NAME(sift)(const NAME(few) * few, const KEY *x, size_t n, KEY flip, KEY *rest, size_t *counts, KEY *to,
                         KEY inverted, size_t *written) {
    static size_t (*const sifts[QUICK_FEW])(const KEY *, size_t, V, const KEY *, KEY *, size_t *) = {
        NAME(sift_1), NAME(sift_2), NAME(sift_3), NAME(sift_4), NAME(sift_5), NAME(sift_6), NAME(sift_7), NAME(sift_8)};
    KEY values[QUICK_FEW];
    memcpy(values, few->values, sizeof values);
    values[0] = few->values[few->most];
    values[few->most] = few->values[0];
    *written = 0;
    size_t rest_n;
    if (to == x && few->count <= 2 && n >= QUICK_L1_BYTES / sizeof(KEY))
        rest_n = (few->count == 1 ? NAME(sift_to_1) : NAME(sift_to_2))(x, n, V_SET1(flip), values, rest, counts, to,
                                                                       values[0] ^ inverted, written);
    else
        rest_n = sifts[few->count - 1](x, n, V_SET1(flip), values, rest, counts);
    const size_t most = counts[0];
    counts[0] = counts[few->most];
    counts[few->most] = most;
    return rest_n;
}

/* Sorts the codes x[i] ^ flip, of which most are one of a few values, as quick() does. */
static void NAME(sort_few)(const quick_job *job, NAME(few) * few, const KEY *x, KEY flip, KEY *to, KEY *other, size_t n,
                           size_t room, unsigned depth) {
    size_t counts[QUICK_FEW], less[QUICK_FEW], written;
    KEY keys[QUICK_FEW];
    const size_t rest_n = NAME(sift)(few, x, n, flip, other, counts, to, (KEY)job->flip, &written);
    atomic_uint unfinished = 0;
    quick_job of_rest = *job;
    of_rest.unfinished = &unfinished;
    NAME(quick)(&of_rest, other, to + (n - rest_n), other, rest_n, room - (n - rest_n), depth);
    quick_join(job->local, &unfinished);
    NAME(count_less)(few, to + (n - rest_n), rest_n, (KEY)job->flip, less);
    for (unsigned k = 0; k < few->count; k++)
        keys[k] = few->values[k] ^ (KEY)job->flip;
    NAME(put_between)(few, keys, counts, less, to, n, rest_n, written);
}
