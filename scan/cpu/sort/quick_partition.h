/* SPDX-License-Identifier: MIT
 *
 * A partition of codes by a pivot: those up to it come to the front of the result, the others to its end. LANES keys a
 * step: one comparison, and two whole-vector stores, at the front and at the end, of which later ones overwrite what is
 * too much. A three-way partition leaves out the codes that equal the pivot: their places are between the others.
 *
 *   apart      from elsewhere: a step needs room for two vectors between front and end
 *   in place   EDGE keys at either end are set aside first. Then keys are read at the end that has less room for them,
 *              which leaves room for whole vectors at both:
 *
 *                  | lows | room | not yet read | room | highs |
 *
 *              What is written was read shortly before, so that its lines are in the cache.
 *
 * Included by quick_lanes.h once a width.
 */

enum { NAME(EDGE) = 4 * LANES };

/* Where the next low key goes, and behind where the next high one does. */
typedef struct NAME(gap) {
    KEY *front, *end;
} NAME(gap);

/* The first `valid` lanes of a vector of codes go to the two ends of a gap: room for two vectors, or for one at each
 * end. The other lanes are taken for low ones, which come last.
 */
SCAN_INLINE void NAME(store_first)(V v, size_t valid, V pivot, bool three, NAME(gap) * gap) {
    const V_BITS others = (V_BITS)(((uint64_t)1 << LANES) - ((uint64_t)1 << valid)), up_to = V_LOWS(v, pivot) | others,
                 low = three ? (up_to & V_UNSET(V_EQUAL(v, pivot))) | others : up_to;
    const size_t low_n = quick_count(low, LANES), up_to_n = three ? quick_count(up_to, LANES) : low_n;
    V_STORE(gap->front, V_FRONT(v, low));
    V_STORE(gap->end - LANES, V_BACK(v, up_to, up_to_n));
    gap->front += low_n - (LANES - valid);
    gap->end -= LANES - up_to_n;
}

SCAN_INLINE void NAME(store_sides)(V v, V pivot, bool three, NAME(gap) * gap) {
    NAME(store_first)(v, LANES, pivot, three, gap);
}

/* A vector that fills the gap, or for which the gap has room. */
SCAN_INLINE void NAME(store_last)(V v, V pivot, bool three, NAME(gap) * gap) {
    const V_BITS up_to = V_LOWS(v, pivot), low = three ? up_to & V_UNSET(V_EQUAL(v, pivot)) : up_to;
    const size_t low_n = quick_count(low, LANES), up_to_n = quick_count(up_to, LANES);
    V_STORE(gap->end - LANES, V_BACK(v, up_to, up_to_n));
    V_MASK_STORE(gap->front, V_BELOW(V_SET1(low_n), 0), V_FRONT(v, low));
    gap->front += low_n;
    gap->end -= LANES - up_to_n;
}

#define LOAD(at) V_XOR(flip, V_LOAD(at))
/* n >= 2 * LANES codes x[i] ^ flip to a gap of n places or more, where x is not. */
SCAN_INLINE void NAME(part_apart)(const KEY *x, size_t n, V flip, V pivot, bool three, NAME(gap) * gap) {
    size_t i = n % LANES;
    if (i > 0)
        NAME(store_first)(LOAD(x), i, pivot, three, gap);
    for (; i + 5 * LANES <= n; i += 4 * LANES) {
        const V a = LOAD(x + i), b = LOAD(x + i + LANES), c = LOAD(x + i + 2 * LANES), d = LOAD(x + i + 3 * LANES);
        NAME(store_sides)(a, pivot, three, gap);
        NAME(store_sides)(b, pivot, three, gap);
        NAME(store_sides)(c, pivot, three, gap);
        NAME(store_sides)(d, pivot, three, gap);
    }
    for (; i + 2 * LANES <= n; i += LANES)
        NAME(store_sides)(LOAD(x + i), pivot, three, gap);
    NAME(store_last)(LOAD(x + i), pivot, three, gap);
}

typedef struct NAME(block) {
    V a, b, c, d; /* keys */
} NAME(block);

SCAN_INLINE NAME(block) NAME(load_block)(const KEY *x) {
    return (NAME(block)){V_LOAD(x), V_LOAD(x + LANES), V_LOAD(x + 2 * LANES), V_LOAD(x + 3 * LANES)};
}

SCAN_INLINE void NAME(store_block)(const NAME(block) * block, V flip, V pivot, bool three, NAME(gap) * gap) {
    NAME(store_sides)(V_XOR(flip, block->a), pivot, three, gap);
    NAME(store_sides)(V_XOR(flip, block->b), pivot, three, gap);
    NAME(store_sides)(V_XOR(flip, block->c), pivot, three, gap);
    NAME(store_sides)(V_XOR(flip, block->d), pivot, three, gap);
}

/* Takes EDGE keys at the end of x[*begin] ... x[*end - 1] where the gap has less room. No branch: it could not be
 * foreseen. */
SCAN_INLINE const KEY *NAME(take_block)(const KEY *x, size_t *begin, size_t *end, const NAME(gap) * gap) {
    const size_t before = *begin - (size_t)(gap->front - x), behind = (size_t)(gap->end - x) - *end;
    size_t at_begin = -(size_t)(before <= behind);
    __asm__("" : "+r"(at_begin));
    const KEY *from = x + ((*begin & at_begin) | ((*end - NAME(EDGE)) & ~at_begin));
    *begin += at_begin & NAME(EDGE);
    *end -= ~at_begin & NAME(EDGE);
    return from;
}

/* n > 16 * LANES codes x[i] ^ flip, where they are. When a block is stored, 16 * LANES places are free: those of the
 * keys set aside, of this block and of the next one, which is read before. The next one was taken at the end with less
 * room, so each end has 4 * LANES at least: what a block may write there. */
SCAN_INLINE NAME(gap) NAME(part_in_place)(KEY *x, size_t n, V flip, V pivot, bool three) {
    KEY aside[4 * NAME(EDGE)];
    size_t begin = NAME(EDGE), end = n - NAME(EDGE);
    NAME(gap) gap = {x, x + n};
    memcpy(aside, x, NAME(EDGE) * sizeof(KEY));
    memcpy(aside + NAME(EDGE), x + end, NAME(EDGE) * sizeof(KEY));
    NAME(block) block = NAME(load_block)(NAME(take_block)(x, &begin, &end, &gap));
    while (end - begin >= NAME(EDGE)) {
        const NAME(block) next = NAME(load_block)(NAME(take_block)(x, &begin, &end, &gap));
        NAME(store_block)(&block, flip, pivot, three, &gap);
        block = next;
    }
    /* The last block need not have room at either end. */
    V_STORE(aside + 2 * NAME(EDGE), block.a);
    V_STORE(aside + 2 * NAME(EDGE) + LANES, block.b);
    V_STORE(aside + 2 * NAME(EDGE) + 2 * LANES, block.c);
    V_STORE(aside + 2 * NAME(EDGE) + 3 * LANES, block.d);
    memcpy(aside + 3 * NAME(EDGE), x + begin, NAME(EDGE) * sizeof(KEY)); /* fewer count */
    NAME(part_apart)(aside, 3 * NAME(EDGE) + (end - begin), flip, pivot, three, &gap);
    return gap;
}
#undef LOAD

/* The codes x[i] ^ flip: those up to the pivot go to the front of `to`, which is x or where x is not, the others to its
 * end. Returns what lies between: codes that equal the pivot, if these are left out. n > 16 * LANES */
SCAN_INLINE NAME(gap) NAME(part)(const KEY *x, size_t n, V flip, V pivot, KEY *to, bool three) {
    if (x == to)
        return NAME(part_in_place)(to, n, flip, pivot, three);
    NAME(gap) gap = {to, to + n};
    NAME(part_apart)(x, n, flip, pivot, three, &gap);
    return gap;
}
