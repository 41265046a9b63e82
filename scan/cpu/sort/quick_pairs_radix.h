/* SPDX-License-Identifier: MIT
 *
 * The radix sort where the quicksort of pairs gives up, or where a sample shows that it is quicker.
 *
 * Included by quick_pairs.h once a width of keys and once a width of values.
 */

enum { PAIR(SPREAD_SAMPLES) = 64 };

static void PAIR(radix)(const scan_sort_local *l, bool is_float) {
    QUICK_KERNELS[(sizeof(KEY) == 4 ? 2 : 3) + 2 * is_float][sizeof(VALUE) / 4].local(l);
}

/* Integers, or codes of floats, with values where they are, by the radix sort: as quick_give_up(). */
QUICK_APART static void PAIR(give_up)(const NAME(split) * s, const scan_sort_local *l, PAIR(columns) to,
                                      PAIR(columns) other, size_t n) {
    uint32_t counts[SCAN_SORT_LOCAL_COUNTS];
    scan_sort_local rest = *l;
    rest.counts = counts;
    rest.from = rest.to = (scan_sort_columns){to.keys, to.values};
    rest.spare = (scan_sort_columns){other.keys, other.values};
    rest.n = n;
    if (s->ties)
        NAME(rotate_out)(s->ties, to.keys, to.keys, n);
    PAIR(radix)(&rest, s->ties != NULL);
}

/* A sample of keys, as unsigned integers in order. */
typedef struct PAIR(spread) {
    uint64_t codes[PAIR(SPREAD_SAMPLES)];
    size_t samples, values;
    uint64_t varying; /* bits */
} PAIR(spread);

static void PAIR(look_at_spread)(const NAME(split) * s, const KEY *x, size_t n, PAIR(spread) * spread) {
    KEY keys[PAIR(SPREAD_SAMPLES)];
    const size_t samples = spread->samples;
    for (size_t i = 0; i < samples; i++)
        keys[i] = x[scan_sort_anywhere(i, n)];
    for (size_t i = 0; i < samples; i += LANES)
        V_STORE(keys + i, V_XOR(V_SET1(LEAST), NAME(code_of)(s, V_LOAD(keys + i), s->is_float)));
    spread->varying = 0;
    spread->values = 1;
    for (size_t i = 0; i < samples; i++) {
        spread->codes[i] = keys[i];
        spread->varying |= keys[i] ^ keys[0];
    }
    scan_cpu_sort_sort_codes(spread->codes, samples);
    for (size_t i = 1; i < samples; i++)
        spread->values += spread->codes[i] != spread->codes[i - 1];
}

/* How many keys of a sample have the same leading bits as the one before: of those that vary, a few bits more than n
 * keys have. SIZE_MAX if keys repeat, 0 if all bits are among these. */
static size_t PAIR(count_close)(const PAIR(spread) * spread, size_t n, uint64_t varying) {
    size_t close = 0;
    if (spread->values <= spread->samples / 4 * 3)
        return SIZE_MAX;
    const unsigned bits = 64 - (unsigned)__builtin_clzll(varying | 1), looked_at = 64 - (unsigned)__builtin_clzll(n);
    if (bits <= looked_at + 6)
        return 0;
    for (size_t i = 1; i < spread->samples; i++)
        close += (spread->codes[i] ^ spread->codes[i - 1]) >> (bits - looked_at) == 0;
    return close;
}

/* The bits that vary in the codes of n keys. */
static uint64_t PAIR(varying)(const NAME(split) * s, const KEY *x, size_t n) {
    const V first = NAME(code_of)(s, V_SET1(x[0]), s->is_float);
    V differ = V_SET1(0);
    KEY lanes[LANES];
    uint64_t varying = 0;
    for (size_t i = 0; i < n; i += LANES) {
        const V v = V_LOAD(x + (i + LANES <= n ? i : n - LANES));
        differ = V_OR(differ, V_XOR(NAME(code_of)(s, v, s->is_float), first));
    }
    V_STORE(lanes, differ);
    for (unsigned lane = 0; lane < LANES; lane++)
        varying |= lanes[lane];
    return varying;
}

/* Whether the leading bits of those that vary spread the keys, as far as a sample shows, and a second one if that is in
 * doubt: then the radix sort, which looks at them and need not move keys in its last pass, is quicker than partitions
 * in short vectors, or where keys are not wanted. Keys that repeat are soon partitioned, and would wait for each
 * other's counters. A few keys far from the others, which a sample misses, may make others the leading bits: those
 * that vary are found in all keys. */
static bool PAIR(are_spread)(const NAME(split) * s, const KEY *x, size_t n) {
    PAIR(spread) sample = {.samples = PAIR(SPREAD_SAMPLES) / 2};
    PAIR(look_at_spread)(s, x, n, &sample);
    if (PAIR(count_close)(&sample, n, sample.varying) > 1)
        return false;
    const uint64_t varying = PAIR(varying)(s, x, n);
    const size_t close = PAIR(count_close)(&sample, n, varying);
    if (close != 1)
        return close == 0;
    sample.samples = PAIR(SPREAD_SAMPLES);
    PAIR(look_at_spread)(s, x, n, &sample);
    return PAIR(count_close)(&sample, n, varying) < 4;
}
