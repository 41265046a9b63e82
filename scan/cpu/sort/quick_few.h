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
    unsigned share; /* of QUICK_SAMPLES, that it has */
    bool three;     /* there are none, but the pivot has so many keys that a partition should leave them out */
    size_t sorted;  /* so many keys at the front are in order */
    KEY magnitude;  /* others that have none of these bits set must not be: they would be ties of a value; 0: all may */
} NAME(few);

/* The i-th place of a sample of n keys: somewhere in the i-th of as many parts. Places at even distances would meet the
 * same keys of a period. */
SCAN_INLINE size_t NAME(sample_place)(size_t i, size_t n) {
    uint64_t x = (i + 1) * 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    return (size_t)((((uint64_t)i << 32) + (x >> 32)) / QUICK_SAMPLES * n >> 32);
}

/* Sorts a sample of n codes, and looks for values that make up half of it: of those that are in it at least so many
 * times, as few times as leave no more than QUICK_FEW of them. Returns a pivot: the median; or, of many codes, the
 * value that most of them have, if it has others before it that would be moved once more when they are sorted. */
static KEY NAME(find_few)(KEY *sample, size_t n, NAME(few) * few) {
    enum { SAMPLES = QUICK_SAMPLES };
    const bool many = n >= QUICK_L1_BYTES / sizeof(KEY);
    unsigned runs[SAMPLES + 1], runs_n = 0; /* where runs of equal codes begin */
    unsigned equal = 0, share = 0, covered = 0, longest = 0;
    NAME(network)(sample, sample, SAMPLES, SAMPLES, V_SET1(0));
    const KEY median = sample[SAMPLES / 2 - 1];
    few->count = 0;
    few->sorted = few->magnitude = 0;
    for (size_t i = 0; i < SAMPLES; i++)
        share += sample[i] == median;
    for (size_t i = 1; i < SAMPLES; i++)
        equal += sample[i] == sample[i - 1];
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
                few->most = length > longest ? few->count : few->most;
            }
            longest = length > longest ? length : longest;
            few->count++;
            covered += length;
        }
    }
    few->share = longest;
    if (covered < SAMPLES / 2) {
        few->count = 0;
        return median;
    }
    const KEY most = few->values[few->most];
    few->three = many && longest < SAMPLES / 8 * 5 && covered - longest < QUICK_THREE && sample[0] != most;
    if (!few->three)
        return median;
    few->count = 0;
    return most;
}

SCAN_INLINE size_t NAME(sum_of_lanes)(V tally) {
    KEY lanes[LANES];
    size_t sum = 0;
    V_STORE(lanes, tally);
    for (unsigned lane = 0; lane < LANES; lane++)
        sum += lanes[lane];
    return sum;
}

/* A pass over codes x[i] ^ flip: which are counted, and where the others go. A part's others go to the part's place in
 * `rest`, which may be x. */
typedef struct NAME(sieve) {
    const KEY *x;
    KEY flip, values[QUICK_FEW]; /* the first one seems to be most frequent */
    unsigned count;
    bool seems_one; /* nearly all are the first value */
    KEY *rest;
    KEY *to; /* x, where lines that have just been read become `key`, the first value; or NULL */
    KEY key;
    KEY magnitude; /* bits of which one is set in each of the others, or the pass fails; 0: they may be any */
} NAME(sieve);

/* What a part of the pass has found. */
typedef struct NAME(sifted) {
    size_t begin, end, rest_n, counts[QUICK_FEW];
    bool failed;
} NAME(sifted);

/* Counts the keys of a vector, and returns which are none of the values. */
SCAN_INLINE V_BITS NAME(sift_vector)(V v, const V *values, V *tally, unsigned count) {
    V_MASK same = V_EQUAL(v, values[0]);
#pragma GCC unroll 8
    for (unsigned k = 1; k < count; k++) {
        const V_MASK also = V_EQUAL(v, values[k]);
        tally[k] = V_TALLY(tally[k], also);
        same = V_MASK_OR(same, also);
    }
    return V_UNSET(same);
}

/* Some steps of the pass: n codes from `begin` on, of which the others go to `rest`. Counts are added. Returns how many
 * others there are. Two branches save work, and cost more where the processor cannot foresee them: often_one looks
 * for steps of the first value alone, whose keys are there; mostly_few for steps without others. */
SCAN_INLINE size_t NAME(sift_of)(const NAME(sieve) * s, size_t begin, size_t n, KEY *rest, size_t *counts,
                                 unsigned count, bool often_one, bool mostly_few) {
    const KEY *x = s->x + begin;
    KEY *to = s->to && !s->magnitude ? s->to + begin : NULL;
    const V flip = V_SET1(s->flip), key = V_SET1(s->key);
    V values[QUICK_FEW], tally[QUICK_FEW];
    size_t rest_n = 0, i = 0, some = n * sizeof(KEY) < QUICK_L1_BYTES ? 0 : NAME(to_boundary)(x);
#pragma GCC unroll 8
    for (unsigned k = 0; k < count; k++) {
        values[k] = V_SET1(s->values[k] ^ s->flip);
        tally[k] = V_SET1(0);
    }
    for (some = some < n ? some : n; i < n;) {
        if (some > 0) { /* less than a vector, with the first value behind them */
            const V_MASK valid = V_BELOW(V_SET1(some), 0);
            const V v = V_MASK_LOAD(values[0], valid, x + i);
            const V_BITS others = NAME(sift_vector)(v, values, tally, count);
            const size_t others_n = quick_count(others, LANES);
            if (to)
                V_MASK_STORE(to + i, valid, key);
            if (others)
                V_MASK_STORE(rest + rest_n, V_BELOW(V_SET1(others_n), 0), V_XOR(flip, V_COMPRESS(v, others)));
            rest_n += others_n;
            i += some;
        }
        for (; i + 4 * LANES <= n; i += 4 * LANES) {
            V v[4];
            V_BITS others[4];
            if (often_one) {
                V differ = V_XOR(V_LOAD(x + i), values[0]);
#pragma GCC unroll 3
                for (unsigned k = 1; k < 4; k++)
                    differ = V_OR(differ, V_XOR(V_LOAD(x + i + k * LANES), values[0]));
                const V_BITS differing = V_UNSET(V_EQUAL(differ, V_SET1(0)));
                if (differing == 0)
                    continue;
            }
#pragma GCC unroll 4
            for (unsigned k = 0; k < 4; k++) {
                v[k] = V_LOAD(x + i + k * LANES);
                others[k] = NAME(sift_vector)(v[k], values, tally, count);
                if (to)
                    V_STORE(to + i + k * LANES, key);
            }
            if (mostly_few && (others[0] | others[1] | others[2] | others[3]) == 0)
                continue;
#pragma GCC unroll 4
            for (unsigned k = 0; k < 4; k++) {
                V_STORE(rest + rest_n, V_XOR(flip, V_COMPRESS(v[k], others[k])));
                rest_n += quick_count(others[k], LANES);
            }
        }
        some = n - i < LANES ? n - i : LANES;
    }
    counts[0] += n - rest_n;
    for (unsigned k = 1; k < count; k++) {
        const size_t found = NAME(sum_of_lanes)(tally[k]);
        counts[k] += found;
        counts[0] -= found;
    }
    return rest_n;
}

#define SIFT_OF(count)                                                                                                 \
    static size_t NAME(sift_##count)(const NAME(sieve) * s, size_t begin, size_t n, KEY * rest, size_t * counts,       \
                                     bool often_one, bool mostly_few) {                                                \
        return NAME(sift_of)(s, begin, n, rest, counts, count, often_one, mostly_few);                                 \
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

enum { NAME(SIFT_UNIT) = 64 * LANES /* codes, of which parts consist */ };

/* Some steps of the pass, by the number of values. */
static size_t NAME(sift_some)(const NAME(sieve) * s, size_t begin, size_t n, KEY *rest, size_t *counts, bool often_one,
                              bool mostly_few) {
    static size_t (*const sifts[QUICK_FEW])(const NAME(sieve) *, size_t, size_t, KEY *, size_t *, bool, bool) = {
        NAME(sift_1), NAME(sift_2), NAME(sift_3), NAME(sift_4), NAME(sift_5), NAME(sift_6), NAME(sift_7), NAME(sift_8)};
    return sifts[s->count - 1](s, begin, n, rest, counts, often_one, mostly_few);
}

/* A part of the pass. What came before says what can be foreseen. Where it may fail keys are written when those of some
 * steps have been looked at. */
static void NAME(sift_part)(const NAME(sieve) * s, size_t begin, size_t end, NAME(sifted) * part) {
    enum { RARE = 2 /* in less than one step in so many */, MOST_N = 16 * NAME(SIFT_UNIT) };
    _Static_assert(sizeof(KEY) > 2 || MOST_N / LANES <= UINT16_MAX, "a lane counts all that it meets");
    const bool leaves_firsts = !s->to || s->key == (KEY)(s->values[0] ^ s->flip);
    bool often_one = leaves_firsts && s->seems_one, mostly_few = true;
    *part = (NAME(sifted)){.begin = begin, .end = begin};
    for (size_t n = end - begin > MOST_N ? NAME(SIFT_UNIT) : MOST_N; part->end < end;
         n = s->magnitude && s->to ? MOST_N / 4 : MOST_N) {
        const size_t at = part->end, firsts = part->counts[0];
        NAME(sifted) before;
        if (s->magnitude)
            before = *part;
        KEY *rest = s->rest + begin + part->rest_n;
        n = n < end - at ? n : end - at;
        const size_t steps = n / (4 * LANES);
        const size_t others = NAME(sift_some)(s, at, n, rest, part->counts, often_one, mostly_few);
        KEY ties = 0;
        for (size_t i = 0; s->magnitude && i < others; i++)
            ties |= (rest[i] & s->magnitude) == 0;
        part->failed = ties != 0;
        if (part->failed) {
            *part = before;
            part->failed = true;
            return;
        }
        part->rest_n += others;
        part->end += n;
        const size_t differing = n - (part->counts[0] - firsts);
        if (s->to && s->magnitude && differing > 0)
            NAME(fill)(s->to + at, n, V_SET1(s->key));
        often_one = leaves_firsts && differing * RARE <= steps;
        mostly_few = others * RARE <= steps;
    }
}

/* Writes the keys of a part back, in another order: that of the others is the same. */
static void NAME(write_back)(const NAME(sieve) * s, const NAME(sifted) * part) {
    size_t at = part->begin;
    for (unsigned k = 0; k < s->count; at += part->counts[k++])
        NAME(fill)(s->to + at, part->counts[k], V_SET1(s->values[k] ^ s->flip));
    memcpy(s->to + at, s->rest + part->begin, part->rest_n * sizeof(KEY));
}

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
        rest_n += NAME(sift_some)(&s, NAME(sample_place)(k * (QUICK_SAMPLES / PLACES), n - AT_ONCE), AT_ONCE,
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
    few->values[k] = value;
    few->most += few->most >= k;
    few->count++;
}

/* The first of n codes, which are in order, by runs of equal ones: *done are all that lie in a few runs. Their last
 * places are bisected. */
static void NAME(sift_runs)(const NAME(sieve) * s, size_t n, NAME(sifted) * part, size_t *done) {
    enum { RUNS = 64 };
    for (unsigned runs = 0; *done < n && runs < RUNS; runs++) {
        const size_t begin = *done;
        const KEY code = s->x[begin] ^ s->flip;
        size_t end = begin + 1, beyond = end, step = 1;
        for (; beyond < n && (s->x[beyond] ^ s->flip) == code; step *= 2) {
            end = beyond + 1;
            beyond += step;
        }
        for (beyond = beyond < n ? beyond : n; end < beyond;) {
            const size_t middle = end + (beyond - end) / 2;
            if ((s->x[middle] ^ s->flip) == code)
                end = middle + 1;
            else
                beyond = middle;
        }
        unsigned k = 0;
        while (k < s->count && s->values[k] != code)
            k++;
        if (k < s->count) {
            part->counts[k] += end - begin;
        } else {
            NAME(fill)(s->rest + part->rest_n, end - begin, V_SET1(code));
            part->rest_n += end - begin;
        }
        if (s->to && s->key != s->x[begin])
            NAME(fill)(s->to + begin, end - begin, V_SET1(s->key));
        part->end = *done = end;
    }
}

/* A pass by a team. */
typedef struct NAME(sifting) {
    const NAME(sieve) * sieve;
    size_t begin, n;
    atomic_uint parts_n;
    NAME(sifted) parts[1 + SCAN_SORT_MAX_PARTS];
} NAME(sifting);

static void NAME(sift_units)(void *arg, size_t begin, size_t end) {
    NAME(sifting) *s = arg;
    const size_t from = s->begin + begin * NAME(SIFT_UNIT), to = s->begin + end * NAME(SIFT_UNIT);
    NAME(sifted) part;
    NAME(sift_part)(s->sieve, from, to < s->n ? to : s->n, &part);
    s->parts[atomic_fetch_add_explicit(&s->parts_n, 1, memory_order_relaxed)] = part;
}

/* What sift_all() does by a team, or where the first `sorted` codes are in order. */
QUICK_APART static size_t NAME(sift_shared)(const NAME(sieve) * sieve, size_t n, size_t sorted, scan_sort_team *team,
                                            size_t *counts) {
    NAME(sifting) s;
    size_t rest_n = 0;
    memset(counts, 0, QUICK_FEW * sizeof *counts);
    s.sieve = sieve;
    s.begin = 0;
    s.n = n;
    atomic_init(&s.parts_n, 0);
    if (sorted > 0) {
        s.parts[0] = (NAME(sifted)){.begin = 0};
        NAME(sift_runs)(sieve, sorted, &s.parts[0], &s.begin);
        atomic_init(&s.parts_n, 1);
    }
    scan_sort_pass(team, NAME(sift_units), &s, (n - s.begin + NAME(SIFT_UNIT) - 1) / NAME(SIFT_UNIT),
                   (n - s.begin) * sizeof(KEY));
    const unsigned parts_n = atomic_load_explicit(&s.parts_n, memory_order_relaxed);
    for (unsigned p = 1; p < parts_n; p++) /* in order */
        for (unsigned at = p; at > 0 && s.parts[at].begin < s.parts[at - 1].begin; at--) {
            const NAME(sifted) part = s.parts[at];
            s.parts[at] = s.parts[at - 1];
            s.parts[at - 1] = part;
        }
    bool failed = false;
    for (unsigned p = 0; p < parts_n; p++)
        failed |= s.parts[p].failed;
    for (unsigned p = 0; failed && sieve->to && p < parts_n; p++)
        NAME(write_back)(sieve, &s.parts[p]);
    if (failed)
        return SIZE_MAX;
    for (unsigned p = 0; p < parts_n; rest_n += s.parts[p++].rest_n) {
        if (rest_n < s.parts[p].begin)
            memmove(sieve->rest + rest_n, sieve->rest + s.parts[p].begin, s.parts[p].rest_n * sizeof(KEY));
        for (unsigned k = 0; k < sieve->count; k++)
            counts[k] += s.parts[p].counts[k];
    }
    return rest_n;
}

/* The whole pass, of n codes of which the first `sorted` are in order. The others come to the front of the rest, in
 * order. Returns how many they are, or SIZE_MAX if it has failed: then codes have changed places, but not among those
 * that may be ties. */
static size_t NAME(sift_all)(const NAME(sieve) * sieve, size_t n, size_t sorted, scan_sort_team *team, size_t *counts) {
    NAME(sifted) part;
    if (sorted > 0 || (team && n * sizeof(KEY) >= SCAN_SORT_PASS_BYTES))
        return NAME(sift_shared)(sieve, n, sorted, team, counts);
    NAME(sift_part)(sieve, 0, n, &part);
    memcpy(counts, part.counts, sizeof part.counts);
    if (part.failed && sieve->to)
        NAME(write_back)(sieve, &part);
    return part.failed ? SIZE_MAX : part.rest_n;
}

typedef struct NAME(filling) {
    KEY *to, key;
} NAME(filling);

static void NAME(fill_places)(void *arg, size_t begin, size_t end) {
    const NAME(filling) *f = arg;
    NAME(fill)(f->to + begin, end - begin, V_SET1(f->key));
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
 * first less[k] of these. What lies before the other ones is filled with the most frequent key if `filled`. */
static void NAME(put_between)(const NAME(few) * few, const KEY *keys, const size_t *counts, const size_t *less, KEY *to,
                              size_t n, size_t rest_n, bool filled, scan_sort_team *team) {
    const KEY *rest = to + (n - rest_n);
    size_t at = 0;
    for (size_t k = 0, before = 0; k < few->count; before = less[k++]) {
        memmove(to + at, rest + before, (less[k] - before) * sizeof(KEY));
        at += less[k] - before;
        const size_t end = at + counts[k], from = filled && k == few->most && n - rest_n > at ? n - rest_n : at;
        if (from < end)
            scan_sort_pass(team, NAME(fill_places), &(NAME(filling)){to + from, keys[k]}, end - from,
                           (end - from) * sizeof(KEY));
        at = end;
    }
}

/* What find_few() does, of the codes x[i] ^ flip. */
static KEY NAME(survey)(const KEY *x, size_t n, KEY flip, NAME(few) * few) {
    KEY sample[QUICK_SAMPLES], another;
    for (size_t i = 0; i < QUICK_SAMPLES; i++)
        sample[i] = x[NAME(sample_place)(i, n)] ^ flip;
    const KEY pivot = NAME(find_few)(sample, n, few);
    if (NAME(find_another)(x, n, flip, few, &another)) {
        unsigned k = few->count;
        while (k > 0 && RANK(few->values[k - 1]) > RANK(another))
            k--;
        NAME(add_value)(few, another, k);
    }
    return pivot;
}

static void NAME(quick)(const quick_job *job, const KEY *x, KEY *to, KEY *other, size_t n, size_t room, unsigned depth);

/* Counts the few values, and copies the other codes to `rest`, in order. `to`, x or NULL, is filled with the
 * most frequent key meanwhile: lines that have just been read are written soonest. A key is a code with `inverted`
 * bits. Returns how many other codes there are, or SIZE_MAX. */
static size_t NAME(sift)(const NAME(few) * few, const KEY *x, size_t n, KEY flip, KEY *rest, size_t *counts, KEY *to,
                         KEY inverted, scan_sort_team *team) {
    NAME(sieve)
    s = {.x = x,
         .flip = flip,
         .count = few->count,
         .rest = rest,
         .to = to == x ? to : NULL,
         .magnitude = few->magnitude};
    memcpy(s.values, few->values, sizeof s.values);
    s.values[0] = few->values[few->most];
    s.values[few->most] = few->values[0];
    s.key = s.values[0] ^ inverted;
    s.seems_one = few->share >= QUICK_SAMPLES / 16 * 15;
    const size_t rest_n = NAME(sift_all)(&s, n, few->sorted, team, counts), most = counts[0];
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
    const bool fills = to == x && few->share >= QUICK_PART;
    const size_t rest_n = NAME(sift)(few, x, n, flip, other, counts, fills ? to : NULL, (KEY)job->flip, team);
    atomic_uint unfinished = 0;
    quick_job of_rest = *job;
    of_rest.unfinished = &unfinished;
    NAME(quick)(&of_rest, other, to + (n - rest_n), other, rest_n, room - (n - rest_n), depth);
    quick_join(job->local, &unfinished);
    NAME(count_less)(few, to + (n - rest_n), rest_n, (KEY)job->flip, less);
    for (unsigned k = 0; k < few->count; k++)
        keys[k] = few->values[k] ^ (KEY)job->flip;
    NAME(put_between)(few, keys, counts, less, to, n, rest_n, fills, team);
}
