/* SPDX-License-Identifier: MIT
 *
 * A range of pairs divided in two by several threads: each divides its part as a quicksort does, to where the parts'
 * counts say. A whole vector is stored where this thread's share of a half has room for it; at its end, where another
 * thread's begins, only what there is. The values of pairs of a few keys are brought to their places likewise.
 *
 * Included by quick_pairs.h once a width of keys and once a width of values.
 */

/* Where a thread's next pair of a half goes, and where its share ends. */
typedef struct PAIR(half) {
    size_t at, end;
} PAIR(half);

SCAN_INLINE void PAIR(count_half)(scan_sort_part *part, bool is_float) {
    const NAME(split) s = NAME(split_of)(part->order, NULL, NULL, is_float);
    const V last = V_SET1((KEY)part->splitters->codes[0] ^ LEAST);
    const KEY *keys = part->from.keys;
    size_t low = 0, i = part->begin;
    for (; i + LANES <= part->end; i += LANES)
        low += quick_count(V_LOWS(NAME(code_of)(&s, V_LOAD(keys + i), is_float), last), LANES);
    for (; i < part->end; i++)
        low += V_LOWS(NAME(code_of)(&s, V_SET1(keys[i]), is_float), last) & 1;
    part->counts[0] = low;
    part->counts[1] = part->end - part->begin - low;
}

/* The values of a mask go to a column, in which this thread's share ends at `end`. */
SCAN_INLINE void PAIR(store_values)(VALUE *to, size_t at, size_t end, PAIR(vector) values, V_BITS bits, size_t count) {
    if (at + LANES <= end) {
        PAIR(store_some)(to + at, values, bits);
    } else {
        VALUE some[LANES];
        PAIR(store_some)(some, values, bits);
        memcpy(to + at, some, count * sizeof(VALUE));
    }
}

/* The pairs of a mask go to a half. */
SCAN_INLINE void PAIR(store_half)(PAIR(half) * half, V keys, PAIR(vector) values, V_BITS bits, size_t count,
                                  PAIR(columns) to) {
    quick_fetch_ahead(to.keys + half->at);
    quick_fetch_ahead(to.values + half->at);
    if (half->at + LANES <= half->end) {
        V_STORE(to.keys + half->at, V_COMPRESS(keys, bits));
    } else {
        KEY some[LANES];
        V_STORE(some, V_COMPRESS(keys, bits));
        memcpy(to.keys + half->at, some, count * sizeof(KEY));
    }
    PAIR(store_values)(to.values, half->at, half->end, values, bits, count);
    half->at += count;
}

SCAN_INLINE void PAIR(scatter_half)(const scan_sort_part *part, bool is_float) {
    const NAME(split) s = NAME(split_of)(part->order, NULL, NULL, is_float);
    const V last = V_SET1((KEY)part->splitters->codes[0] ^ LEAST);
    const PAIR(columns) x = {part->from.keys, part->from.values}, to = {part->to.keys, part->to.values};
    PAIR(half)
    low = {part->positions[0], part->positions[0] + part->counts[0]},
    high = {part->positions[1], part->positions[1] + part->counts[1]};
    size_t i = part->begin;
    for (; i + LANES <= part->end; i += LANES) {
        const V v = V_LOAD(x.keys + i);
        const PAIR(vector) w = PAIR(load)(x.values + i);
        const V_BITS is_low = V_LOWS(NAME(code_of)(&s, v, is_float), last);
        const size_t count = quick_count(is_low, LANES);
        PAIR(store_half)(&low, v, w, is_low, count, to);
        PAIR(store_half)(&high, v, w, (V_BITS)~is_low, LANES - count, to);
    }
    for (; i < part->end; i++) {
        PAIR(half) *half = V_LOWS(NAME(code_of)(&s, V_SET1(x.keys[i]), is_float), last) & 1 ? &low : &high;
        to.keys[half->at] = x.keys[i];
        to.values[half->at++] = x.values[i];
    }
}

static void PAIR(place_few)(scan_sort_placing *p) {
    const PAIR(columns) x = {p->from.keys, p->from.values};
    const V_BITS all = (V_BITS)((1ull << LANES) - 1);
    VALUE *to = p->to;
    V keys[SCAN_SORT_VALUES];
    size_t i = p->begin;
    for (unsigned k = 0; k < p->n; k++)
        keys[k] = V_SET1((KEY)p->keys[k]);
    for (; i + LANES <= p->end; i += LANES) {
        const V v = V_LOAD(x.keys + i);
        const PAIR(vector) w = PAIR(load)(x.values + i);
        for (unsigned k = 0; k < p->n; k++) {
            const V_BITS bits = (V_BITS)(~V_UNSET(V_EQUAL(v, keys[k])) & all);
            const size_t count = quick_count(bits, LANES);
            PAIR(store_values)(to, p->places[k], p->ends[k], w, bits, count);
            p->places[k] += count;
        }
    }
    for (; i < p->end; i++) {
        unsigned k = 0;
        while ((KEY)p->keys[k] != x.keys[i])
            k++;
        to[p->places[k]++] = x.values[i];
    }
}

static void PAIR(count_half_integers)(scan_sort_part *part) { PAIR(count_half)(part, false); }
static void PAIR(count_half_floats)(scan_sort_part *part) { PAIR(count_half)(part, true); }
static void PAIR(scatter_half_integers)(const scan_sort_part *part) { PAIR(scatter_half)(part, false); }
static void PAIR(scatter_half_floats)(const scan_sort_part *part) { PAIR(scatter_half)(part, true); }
