/* SPDX-License-Identifier: MIT
 *
 * The pass of quick_few.h over codes: keys of a few values are counted, the others are set aside in order. By one
 * thread, or by a team in parts; codes that are in order are counted by runs of equal ones. Included by quick_few.h
 * once a width.
 */

SCAN_INLINE size_t NAME(sum_of_lanes)(V tally) {
    KEY lanes[LANES];
    size_t sum = 0;
    V_STORE(lanes, tally);
    for (unsigned lane = 0; lane < LANES; lane++)
        sum += lanes[lane];
    return sum;
}

enum { NAME(SIFT_UNIT) = 64 * LANES /* codes, of which parts consist */ };

/* Which key a sample expects in each place of the result: keys[k] from begins[k] on, a number of units. With one key
 * for all places, half of them were written twice where there are two values: 31,256 u64 took 1.25 times as long (Xeon
 * with AVX-512, 2026-11-29: tools/bench --hunt 1 --seed 560230042566317958 --threads 2). */
typedef struct NAME(guess) {
    size_t begins[QUICK_FEW + 1];
    KEY keys[QUICK_FEW];
} NAME(guess);

/* Fills places [begin, end) with the keys that are expected there. `have_one`: they have one key now. */
static void NAME(fill_guessed)(const NAME(guess) * g, KEY *to, size_t begin, size_t end, bool have_one) {
    const KEY there = have_one ? to[begin] : 0;
    for (unsigned k = 0; begin < end; k++) {
        const size_t stop = g->begins[k + 1] < end ? g->begins[k + 1] : end;
        if (begin < stop) {
            if (!have_one || g->keys[k] != there)
                NAME(fill)(to + begin, stop - begin, V_SET1(g->keys[k]));
            begin = stop;
        }
    }
}

/* A pass over codes x[i] ^ flip: which are counted, and where the others go. A part's others go to the part's place in
 * `rest`, which may be x. */
typedef struct NAME(sieve) {
    const KEY *x;
    KEY flip, values[QUICK_FEW]; /* the first one seems to be most frequent */
    unsigned count;
    bool seems_one; /* nearly all are the first value */
    KEY *rest;
    /* Filled as `guess` says, or NULL: x, where lines that have just been read are written soonest; or another array,
     * as one pass that reads and writes takes less time than two. */
    KEY *to;
    const NAME(guess) * guess;
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

/* Some steps of the pass: n codes from `begin` on, of which the others go to `rest`, and whose places in s->to, if
 * there is one, are filled with `key`. Counts are added. Returns how many others there are. Two branches save work, and
 * cost more where the processor cannot foresee them: often_one looks for steps of the first value alone, whose keys are
 * there if to is x; mostly_few for steps without others. */
SCAN_INLINE size_t NAME(sift_of)(const NAME(sieve) * s, size_t begin, size_t n, KEY key, KEY *rest, size_t *counts,
                                 unsigned count, bool often_one, bool mostly_few) {
    const KEY *x = s->x + begin;
    KEY *to = s->to && !s->magnitude ? s->to + begin : NULL;
    const bool elsewhere = to && to != x;
    const V flip = V_SET1(s->flip), filling = V_SET1(key);
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
                V_MASK_STORE(to + i, valid, filling);
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
                if (differing == 0) {
#pragma GCC unroll 4
                    for (unsigned k = 0; elsewhere && k < 4; k++)
                        V_STORE(to + i + k * LANES, filling);
                    continue;
                }
            }
#pragma GCC unroll 4
            for (unsigned k = 0; k < 4; k++) {
                v[k] = V_LOAD(x + i + k * LANES);
                others[k] = NAME(sift_vector)(v[k], values, tally, count);
                if (to)
                    V_STORE(to + i + k * LANES, filling);
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
    static size_t NAME(sift_##count)(const NAME(sieve) * s, size_t begin, size_t n, KEY key, KEY * rest,               \
                                     size_t * counts, bool often_one, bool mostly_few) {                               \
        return NAME(sift_of)(s, begin, n, key, rest, counts, count, often_one, mostly_few);                            \
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

/* Some steps of the pass, by the number of values. */
static size_t NAME(sift_some)(const NAME(sieve) * s, size_t begin, size_t n, KEY key, KEY *rest, size_t *counts,
                              bool often_one, bool mostly_few) {
    static size_t (*const sifts[QUICK_FEW])(const NAME(sieve) *, size_t, size_t, KEY, KEY *, size_t *, bool, bool) = {
        NAME(sift_1), NAME(sift_2), NAME(sift_3), NAME(sift_4), NAME(sift_5), NAME(sift_6), NAME(sift_7), NAME(sift_8)};
    return sifts[s->count - 1](s, begin, n, key, rest, counts, often_one, mostly_few);
}

/* A part of the pass. What came before says what can be foreseen. Where it may fail keys are written when those of some
 * steps have been looked at. */
static void NAME(sift_part)(const NAME(sieve) * s, size_t begin, size_t end, NAME(sifted) * part) {
    enum { RARE = 2 /* in less than one step in so many */, MAX_N = 16 * NAME(SIFT_UNIT) };
    _Static_assert(sizeof(KEY) > 2 || MAX_N / LANES <= UINT16_MAX, "a lane counts all that it meets");
    unsigned k = 0;
    KEY key = 0;
    bool few_differ = s->seems_one, mostly_few = true;
    *part = (NAME(sifted)){.begin = begin, .end = begin};
    for (size_t n = end - begin > MAX_N ? NAME(SIFT_UNIT) : MAX_N; part->end < end;
         n = s->magnitude && s->to ? MAX_N / 4 : MAX_N) {
        const size_t at = part->end, firsts = part->counts[0];
        NAME(sifted) before;
        if (s->magnitude)
            before = *part;
        KEY *rest = s->rest + begin + part->rest_n;
        n = n < end - at ? n : end - at;
        if (s->to) {
            while (s->guess->begins[k + 1] <= at)
                k++;
            key = s->guess->keys[k];
            n = n < s->guess->begins[k + 1] - at ? n : s->guess->begins[k + 1] - at;
        }
        const size_t steps = n / (4 * LANES);
        const bool leaves_firsts = s->to == s->x && key == (KEY)(s->values[0] ^ s->flip);
        const size_t others = NAME(sift_some)(s, at, n, key, rest, part->counts,
                                              few_differ && (leaves_firsts || s->to != s->x), mostly_few);
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
        if (s->to && s->magnitude && (differing > 0 || !leaves_firsts))
            NAME(fill)(s->to + at, n, V_SET1(key));
        few_differ = differing * RARE <= steps;
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
        if (s->to)
            NAME(fill_guessed)(s->guess, s->to, begin, end, s->to == s->x);
        part->end = *done = end;
    }
}

/* What a pass over n codes reads, and writes elsewhere. */
static size_t NAME(sift_bytes)(const NAME(sieve) * s, size_t n) {
    return (s->to && s->to != s->x ? 2 : 1) * n * sizeof(KEY);
}

/* A pass in parts. */
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
    scan_sort_backward_pass(team, NAME(sift_units), &s, (n - s.begin + NAME(SIFT_UNIT) - 1) / NAME(SIFT_UNIT),
                            NAME(sift_bytes)(sieve, n - s.begin));
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
    for (unsigned p = 0; failed && sieve->to == sieve->x && p < parts_n; p++)
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
    if (sorted > 0 || NAME(sift_bytes)(sieve, n) >= SCAN_SORT_PASS_BYTES)
        return NAME(sift_shared)(sieve, n, sorted, team, counts);
    NAME(sift_part)(sieve, 0, n, &part);
    memcpy(counts, part.counts, sizeof part.counts);
    if (part.failed && sieve->to == sieve->x)
        NAME(write_back)(sieve, &part);
    return part.failed ? SIZE_MAX : part.rest_n;
}
