/* SPDX-License-Identifier: MIT
 *
 * The stable distribution of keys alone to the bins of a partition by splitters, included by quick_lanes.h's users once
 * a width. A piece of the input that stays in the L1 is split in two by the middle splitter, the halves likewise, as
 * quicksort does; what is left of it is copied to its bin. No counter and no buffer of a bin waits for a store of the
 * key before, which is what a scatter to few bins suffers from.
 */

enum { NAME(PIECE) = 16384 / sizeof(KEY) };

typedef struct NAME(split) {
    V flip, nan, zero;
    bool is_float;
    const KEY *splitters;
    KEY *to;
    uint64_t *positions;
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

/* Keys whose codes are up to `last` go to lows, the others to highs, which have room for a vector more. */
SCAN_INLINE size_t NAME(split_by)(const NAME(split) * s, const KEY *x, size_t n, KEY last, KEY *lows, KEY *highs,
                                  bool is_float) {
    const V pivot = V_SET1(last);
    size_t low = 0, high = 0, i = 0;
#define STEP(v, valid)                                                                                                 \
    do {                                                                                                               \
        const V v_ = v;                                                                                                \
        const V_BITS low_ = V_LOWS(NAME(code_of)(s, v_, is_float), pivot) & (valid), high_ = (V_BITS)~low_ & (valid);  \
        V_STORE(lows + low, V_COMPRESS(v_, low_));                                                                     \
        V_STORE(highs + high, V_COMPRESS(v_, high_));                                                                  \
        low += quick_count(low_, LANES);                                                                               \
        high += quick_count(high_, LANES);                                                                             \
    } while (0)
    const V_BITS all = (V_BITS)((1u << LANES) - 1);
    for (; i + 4 * LANES <= n; i += 4 * LANES) {
        STEP(V_LOAD(x + i), all);
        STEP(V_LOAD(x + i + LANES), all);
        STEP(V_LOAD(x + i + 2 * LANES), all);
        STEP(V_LOAD(x + i + 3 * LANES), all);
    }
    for (; i < n; i += LANES) {
        const V_BITS valid = n - i < LANES ? (V_BITS)((1u << (n - i)) - 1) : all;
        STEP(V_MASK_LOAD(V_SET1(0), V_BELOW(V_SET1(n - i < LANES ? n - i : LANES), 0), x + i), valid);
    }
#undef STEP
    return low;
}

static size_t NAME(split_integers)(const NAME(split) * s, const KEY *x, size_t n, KEY last, KEY *lows, KEY *highs) {
    return NAME(split_by)(s, x, n, last, lows, highs, false);
}
static size_t NAME(split_floats)(const NAME(split) * s, const KEY *x, size_t n, KEY last, KEY *lows, KEY *highs) {
    return NAME(split_by)(s, x, n, last, lows, highs, true);
}

/* Keys of the bins from `bin` to `last`; room: for two pieces a level of the recursion. */
static void NAME(split_piece)(const NAME(split) * s, const KEY *x, size_t n, unsigned bin, unsigned last, KEY *room) {
    if (n == 0)
        return;
    if (bin == last) {
        memcpy(s->to + s->positions[bin], x, n * sizeof(KEY));
        s->positions[bin] += n;
        return;
    }
    const unsigned middle = (bin + last) / 2;
    KEY *lows = room, *highs = lows + NAME(PIECE) + LANES, *below = highs + NAME(PIECE) + LANES;
    const size_t low =
        (s->is_float ? NAME(split_floats) : NAME(split_integers))(s, x, n, s->splitters[middle], lows, highs);
    NAME(split_piece)(s, lows, low, bin, middle, below);
    NAME(split_piece)(s, highs, n - low, middle + 1, last, below);
}

/* Splitters, if any, are kept in `room` as vectors compare them. */
static NAME(split) NAME(split_of)(scan_sort_order order, const scan_sort_splitters *splitters, KEY *room,
                                  uint64_t *positions, bool is_float) {
    const KEY flip = (KEY)order.flip, zero = (KEY)1 << (8 * sizeof(KEY) - 1);
    for (unsigned k = 0; splitters && k < splitters->n; k++)
        room[k] = (KEY)splitters->codes[k] ^ LEAST;
    return (NAME(split)){.flip = V_SET1(flip ^ LEAST),
                         .nan = V_SET1((KEY)order.nan ^ LEAST),
                         .zero = V_SET1(zero ^ flip ^ LEAST),
                         .is_float = is_float,
                         .splitters = room,
                         .positions = positions};
}

static void NAME(split_part)(const scan_sort_part *part, bool is_float) {
    KEY splitters[SCAN_SORT_MAX_SPLITTERS];
    const unsigned bins = part->splitters->n;
    NAME(split) s = NAME(split_of)(part->order, part->splitters, splitters, part->positions, is_float);
    s.to = part->to.keys;
    for (size_t i = part->begin; i < part->end; i += NAME(PIECE)) {
        const size_t n = part->end - i < NAME(PIECE) ? part->end - i : NAME(PIECE);
        NAME(split_piece)(&s, (const KEY *)part->from.keys + i, n, 0, bins, part->buffers);
    }
}

static void NAME(split_part_integers)(const scan_sort_part *part) { NAME(split_part)(part, false); }
static void NAME(split_part_floats)(const scan_sort_part *part) { NAME(split_part)(part, true); }
