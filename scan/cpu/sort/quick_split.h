/* SPDX-License-Identifier: MIT
 *
 * The stable division of a piece of the input, which stays in the L1, into bins by splitters: included by the users of
 * quick_lanes.h once a width, for keys alone; quick_pairs.h has the same with values. The piece is divided in two by
 * one splitter, its parts likewise, as quicksort does, along a tree whose heavier branches are shorter (splitters.c).
 * No counter and no buffer of a bin waits for a store of the key before, which is what a scatter to few bins suffers
 * from.
 */

/* Of keys that are codes already (quick_floats.h): which codes are ties. */
typedef struct NAME(ties) {
    KEY zero;         /* the first of two codes of zero */
    KEY low, high;    /* codes up to low are ties, and codes from high on: NaNs, or just one code */
    KEY flip, offset; /* what turns codes back into keys (quick_floats.h) */
} NAME(ties);

typedef struct NAME(split) {
    V flip, nan, zero;
    bool is_float;
    const NAME(ties) * ties; /* NULL: keys are no such codes */
    const KEY *splitters;
    const uint8_t *middles;
    uint16_t *counts;
} NAME(split);

/* The codes of code.h, in the order that vectors compare. */
SCAN_INLINE V NAME(code_of)(const NAME(split) * s, V v, bool is_float) {
    if (!is_float)
        return V_XOR(v, s->flip);
    const KEY sign = (KEY)1 << (8 * sizeof(KEY) - 1);
    const V magnitude = V_AND(v, V_SET1(~sign));
    const V code = V_XOR(V_XOR(v, s->flip), V_SELECT(V_NEGATIVE(v), V_SET1((KEY) ~(KEY)0), V_SET1(sign)));
    return V_SELECT(V_GREATER(magnitude, V_SET1(INFINITY_BITS)), s->nan,
                    V_SELECT(V_EQUAL(magnitude, V_SET1(0)), s->zero, code));
}

/* Keys whose codes are up to `last` go to lows, the others to highs: as partition() of quick_lanes.h, where these may
 * lie. Returns how many are low. */
SCAN_INLINE size_t NAME(split_by)(const NAME(split) * s, const KEY *x, size_t n, KEY last, KEY *lows, KEY *highs,
                                  bool is_float) {
    const V pivot = V_SET1(last);
    size_t low = 0, high = 0, i = 0;
#define STEP(at)                                                                                                       \
    do {                                                                                                               \
        const V v_ = V_LOAD(x + (at));                                                                                 \
        const V_BITS low_ = V_LOWS(NAME(code_of)(s, v_, is_float), pivot);                                             \
        const size_t count_ = quick_count(low_, LANES);                                                                \
        V_STORE(lows + low, V_COMPRESS(v_, low_));                                                                     \
        V_STORE(highs + high, V_COMPRESS(v_, (V_BITS)~low_));                                                          \
        low += count_;                                                                                                 \
        high += LANES - count_;                                                                                        \
    } while (0)
    for (; i + 4 * LANES <= n; i += 4 * LANES) {
        STEP(i);
        STEP(i + LANES);
        STEP(i + 2 * LANES);
        STEP(i + 3 * LANES);
    }
    for (; i + LANES <= n; i += LANES)
        STEP(i);
#undef STEP
    if (i < n) {
        const V v = V_MASK_LOAD(V_SET1(0), V_BELOW(V_SET1(n - i), 0), x + i);
        const V_BITS valid = (V_BITS)((1u << (n - i)) - 1),
                     is_low = V_LOWS(NAME(code_of)(s, v, is_float), pivot) & valid, is_high = (V_BITS)~is_low & valid;
        const size_t count = quick_count(is_low, LANES);
        V_MASK_STORE(lows + low, V_BELOW(V_SET1(count), 0), V_COMPRESS(v, is_low));
        V_MASK_STORE(highs + high, V_BELOW(V_SET1(n - i - count), 0), V_COMPRESS(v, is_high));
        low += count;
    }
    return low;
}

static size_t NAME(split_integers)(const NAME(split) * s, const KEY *x, size_t n, KEY last, KEY *lows, KEY *highs) {
    return NAME(split_by)(s, x, n, last, lows, highs, false);
}
static size_t NAME(split_floats)(const NAME(split) * s, const KEY *x, size_t n, KEY last, KEY *lows, KEY *highs) {
    return NAME(split_by)(s, x, n, last, lows, highs, true);
}

/* Whether n keys are the same bits, and if so the bin, from `bin` to `last`, of their code. n > 0. */
static bool NAME(is_one_value)(const NAME(split) * s, const KEY *x, size_t n, unsigned *bin, unsigned last) {
    const V_BITS all = (V_BITS)((1ull << LANES) - 1);
    const V first = V_SET1(x[0]);
    KEY code[LANES];
    for (size_t i = 0; i < n; i += LANES) {
        const V v = i + LANES <= n ? V_LOAD(x + i) : V_MASK_LOAD(first, V_BELOW(V_SET1(n - i), 0), x + i);
        const V_BITS others = V_UNSET(V_EQUAL(v, first)) & all;
        if (others != 0)
            return false;
    }
    V_STORE(code, NAME(code_of)(s, first, s->is_float));
    while (*bin < last && (s->splitters[*bin] ^ LEAST) < (code[0] ^ LEAST))
        ++*bin;
    return true;
}

/* Divides n keys at x into the bins from `bin` to `last`, whose tree begins at `node`. As quick() of quick_lanes.h: x
 * is `to` or `other`, or neither. */
static void NAME(split_piece)(const NAME(split) * s, const KEY *x, size_t n, KEY *to, KEY *other, unsigned bin,
                              unsigned last, unsigned node) {
    while (n > 0 && bin < last && !NAME(is_one_value)(s, x, n, &bin, last)) {
        const unsigned middle = s->middles[node];
        const size_t low =
            (s->is_float ? NAME(split_floats) : NAME(split_integers))(s, x, n, s->splitters[middle], to, other);
        NAME(split_piece)(s, to, low, to, other + (n - low), bin, middle, node + 1);
        x = other;
        to += low;
        n -= low;
        node += middle - bin + 1;
        bin = middle + 1;
    }
    s->counts[bin] = (uint16_t)n;
    if (x != to)
        memcpy(to, x, n * sizeof(KEY));
}

/* Splitters, if any, are kept in `room` as vectors compare them. */
static NAME(split)
    NAME(split_of)(scan_sort_order order, const scan_sort_splitters *splitters, KEY *room, bool is_float) {
    const KEY flip = (KEY)order.flip, zero = (KEY)1 << (8 * sizeof(KEY) - 1);
    for (unsigned k = 0; splitters && k < splitters->n; k++)
        room[k] = (KEY)splitters->codes[k] ^ LEAST;
    return (NAME(split)){.flip = V_SET1(flip ^ LEAST),
                         .nan = V_SET1((KEY)order.nan ^ LEAST),
                         .zero = V_SET1(zero ^ flip ^ LEAST),
                         .is_float = is_float,
                         .splitters = room,
                         .middles = splitters ? splitters->middles : NULL};
}

static void NAME(split_pieces)(const scan_sort_pieces *p, bool is_float) {
    enum { PIECE = SCAN_SORT_PIECE_BYTES / sizeof(KEY) };
    KEY splitters[SCAN_SORT_MAX_SPLITTERS], other[PIECE];
    NAME(split) s = NAME(split_of)(p->order, p->splitters, splitters, is_float);
    s.counts = p->counts;
    for (size_t i = p->begin; i < p->end; i += PIECE, s.counts += SCAN_SORT_SPLITTER_BINS) {
        const size_t n = p->end - i < PIECE ? p->end - i : PIECE;
        memset(s.counts, 0, SCAN_SORT_SPLITTER_BINS * sizeof *s.counts);
        NAME(split_piece)(&s, (const KEY *)p->from.keys + i, n, (KEY *)p->to.keys + i, other, 0, p->splitters->n, 0);
    }
}

static void NAME(split_pieces_integers)(const scan_sort_pieces *p) { NAME(split_pieces)(p, false); }
static void NAME(split_pieces_floats)(const scan_sort_pieces *p) { NAME(split_pieces)(p, true); }
