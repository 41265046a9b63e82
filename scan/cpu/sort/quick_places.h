/* SPDX-License-Identifier: MIT
 *
 * Argsort of some thousand keys by the quicksort of keys of 32 bits alone. A key becomes an item: the number of its
 * cell above its place in the array, so that sorted items end with the places in order. Cells divide what lies between
 * the least and the largest code evenly, or of floats what lies between these two values, whichever spreads a sample of
 * the keys. There are many more cells than keys. Items of one cell come in the order of their places, which is right
 * for equal keys; an insertion puts the few others right, and finer cells put right what that would move far.
 *
 * Included by quick_pairs.h once a width of keys and once a width of values.
 */

#if KEY_BITS == 32
#define REAL float
#define LARGEST FLT_MAX
#else
#define REAL double
#define LARGEST DBL_MAX
#endif

/* From codes to cells: 0 for codes below `least`, `cells` - 1 for those above `most`. */
typedef struct PAIR(cells) {
    KEY least, most; /* codes: of floats, of finite ones */
    unsigned place_bits, shift;
    uint32_t cells, multiplier; /* by code: (code - least >> shift) * multiplier >> 31 */
    bool by_value;
    REAL origin, low, high, factor; /* by value: (x - origin) * factor, for x from low to high */
} PAIR(cells);

/* Writes the codes of code.h, and finds the least and the most. False if of floats none is finite. */
static bool PAIR(write_codes)(const NAME(split) * s, const KEY *x, size_t n, KEY *codes, bool is_float, KEY *least,
                              KEY *most) {
    V low = V_SET1(MOST), high = V_SET1(LEAST);
    KEY lows[LANES], highs[LANES];
    for (size_t i = 0; i < n; i += LANES) {
        const V_MASK some = V_BELOW(V_SET1(n - i < LANES ? n - i : LANES), 0);
        const V v = i + LANES <= n ? V_LOAD(x + i) : V_MASK_LOAD(V_SET1(x[0]), some, x + i);
        const V code = NAME(code_of)(s, v, is_float);
        if (i + LANES <= n)
            V_STORE(codes + i, V_XOR(V_SET1(LEAST), code));
        else
            V_MASK_STORE(codes + i, some, V_XOR(V_SET1(LEAST), code));
        if (is_float) {
            const V_MASK finite = V_GREATER(V_SET1(INFINITY_BITS), V_AND(v, V_SET1(~SIGN)));
            low = V_MIN(low, V_SELECT(finite, code, V_SET1(MOST)));
            high = V_MAX(high, V_SELECT(finite, code, V_SET1(LEAST)));
        } else {
            low = V_MIN(low, code);
            high = V_MAX(high, code);
        }
    }
    V_STORE(lows, V_XOR(V_SET1(LEAST), low));
    V_STORE(highs, V_XOR(V_SET1(LEAST), high));
    for (unsigned lane = 1; lane < LANES; lane++) {
        lows[0] = lows[lane] < lows[0] ? lows[lane] : lows[0];
        highs[0] = highs[lane] > highs[0] ? highs[lane] : highs[0];
    }
    *least = lows[0];
    *most = highs[0];
    return lows[0] <= highs[0];
}

static PAIR(cells) PAIR(cells_of)(KEY least, KEY most, unsigned place_bits) {
    enum { MOST_BITS = 22 }; /* a float counts no further */
    PAIR(cells) c = {.least = least, .most = most, .place_bits = place_bits};
    const KEY range = most - least;
    const unsigned bits = 64 - (unsigned)__builtin_clzll((uint64_t)range | 1);
    c.cells = 1u << (32 - place_bits < MOST_BITS ? 32 - place_bits : MOST_BITS);
    c.shift = bits > 32 ? bits - 32 : 0;
    const uint64_t steps = (uint64_t)(range >> c.shift) + 1, cells = c.cells - 2;
    c.multiplier = steps <= cells ? 1u << 31 : (uint32_t)((cells << 31) / steps);
    return c;
}

/* The float that has this code, of zeros the positive one. */
static REAL PAIR(value_of)(KEY code, scan_sort_order order) {
    const KEY bits = code ^ (KEY)order.flip;
    const KEY x = bits & SIGN ? bits ^ SIGN : ~bits;
    REAL value;
    memcpy(&value, &x, sizeof value);
    return value;
}

/* Makes cells of the values of floats; false if these cannot be computed with. */
static bool PAIR(go_by_value)(PAIR(cells) * c, scan_sort_order order) {
    const REAL first = PAIR(value_of)(c->least, order), last = PAIR(value_of)(c->most, order);
    const REAL width = last - first, factor = (REAL)(c->cells - 3) / width;
    c->by_value = true;
    c->origin = first;
    c->low = first < last ? first : last;
    c->high = first < last ? last : first;
    c->factor = factor;
    return width >= -LARGEST && width <= LARGEST && factor >= -LARGEST && factor <= LARGEST;
}

SCAN_INLINE uint32_t PAIR(cell_by_code)(const PAIR(cells) * c, KEY code) {
    const uint32_t step = (uint32_t)((code - c->least) >> c->shift);
    return 1 + (uint32_t)((uint64_t)step * c->multiplier >> 31);
}

SCAN_INLINE void PAIR(make_items)(const PAIR(cells) * cells, const KEY *codes, size_t n, bool by_value,
                                  scan_sort_order order, uint32_t *items) {
    const PAIR(cells) c = *cells;
    for (size_t i = 0; i < n; i++) {
        const KEY code = codes[i];
        uint32_t cell;
        if (by_value) {
            REAL x = PAIR(value_of)(code, order);
            x = x < c.high ? x : c.high; /* NaN, too */
            x = x > c.low ? x : c.low;
            cell = 1 + (uint32_t)(int32_t)((x - c.origin) * c.factor);
        } else {
            cell = PAIR(cell_by_code)(&c, code);
        }
        cell = code < c.least ? 0 : cell;
        cell = code > c.most ? c.cells - 1 : cell;
        items[i] = cell << c.place_bits | (uint32_t)i;
    }
}

static void PAIR(items_by_value)(const PAIR(cells) * c, const KEY *codes, size_t n, scan_sort_order order,
                                 uint32_t *items) {
    PAIR(make_items)(c, codes, n, true, order, items);
}
static void PAIR(items_by_code)(const PAIR(cells) * c, const KEY *codes, size_t n, scan_sort_order order,
                                uint32_t *items) {
    PAIR(make_items)(c, codes, n, false, order, items);
}
static void PAIR(items_of)(const PAIR(cells) * c, const KEY *codes, size_t n, scan_sort_order order, uint32_t *items) {
    (c->by_value ? PAIR(items_by_value) : PAIR(items_by_code))(c, codes, n, order, items);
}

/* Whether cells would hardly have more than a key or two, as far as a sample in order shows. A sample of 32 has some
 * 2^9 pairs: a few that differ may lie so close that 2^-7 of all keys are nearer to each other. */
static bool PAIR(cells_spread)(const PAIR(cells) * c, const KEY *sample, scan_sort_order order) {
    enum { CLOSE_BITS = 7 };
    uint32_t items[QUICK_PLACES_SAMPLE];
    const unsigned near = c->place_bits + (c->place_bits > CLOSE_BITS ? c->place_bits - CLOSE_BITS : 0);
    size_t agree = 0;
    PAIR(items_of)(c, sample, QUICK_PLACES_SAMPLE, order, items);
    for (size_t i = 1; i < QUICK_PLACES_SAMPLE; i++)
        agree += sample[i] != sample[i - 1] && items[i] >> near == items[i - 1] >> near;
    return agree < 4;
}

/* Codes of a sample, in order. False if the keys are of few values, which partitions soon tell apart. */
static bool PAIR(take_sample)(const NAME(split) * s, const KEY *x, size_t n, KEY *sample) {
    uint64_t codes[QUICK_PLACES_SAMPLE];
    size_t equal = 0;
    for (size_t i = 0; i < QUICK_PLACES_SAMPLE; i++)
        sample[i] = x[scan_sort_anywhere(i, n)];
    for (size_t i = 0; i < QUICK_PLACES_SAMPLE; i += LANES)
        V_STORE(sample + i, V_XOR(V_SET1(LEAST), NAME(code_of)(s, V_LOAD(sample + i), s->is_float)));
    for (size_t i = 0; i < QUICK_PLACES_SAMPLE; i++)
        codes[i] = sample[i];
    scan_cpu_sort_sort_codes(codes, QUICK_PLACES_SAMPLE);
    for (size_t i = 0; i < QUICK_PLACES_SAMPLE; i++) {
        sample[i] = (KEY)codes[i];
        equal += i > 0 && codes[i] == codes[i - 1];
    }
    return equal < (n < 4096 ? QUICK_PLACES_SAMPLE / 2 : QUICK_PLACES_SAMPLE / 6);
}

/* What is sorted: items, each a cell above a place. */
typedef struct PAIR(placing) {
    const scan_sort_local *l;
    const KEY *codes;        /* by place */
    uint32_t *items, *other; /* other: room for as many */
    uint32_t mask;           /* of the place in an item */
    unsigned place_bits;
} PAIR(placing);

static void PAIR(sort_items)(const PAIR(placing) * p, size_t begin, size_t end);

/* Items of one cell get cells of their own, by code. */
static void PAIR(refine)(const PAIR(placing) * p, size_t begin, size_t end) {
    KEY least = (KEY) ~(KEY)0, most = 0;
    for (size_t i = begin; i < end; i++) {
        const KEY code = p->codes[p->items[i] & p->mask];
        least = code < least ? code : least;
        most = code > most ? code : most;
    }
    const PAIR(cells) c = PAIR(cells_of)(least, most, p->place_bits);
    for (size_t i = begin; i < end; i++) {
        const uint32_t place = p->items[i] & p->mask;
        p->items[i] = PAIR(cell_by_code)(&c, p->codes[place]) << p->place_bits | place;
    }
    PAIR(sort_items)(p, begin, end);
}

/* Puts sorted items in the order of their codes: by insertion, but where that would move one far, by finer cells. */
static void PAIR(put_right)(const PAIR(placing) * p, size_t begin, size_t end) {
    enum { FAR = 16 };
    uint32_t *items = p->items;
    size_t first = begin; /* what lies before is in order, and not after the rest */
    KEY before = 0;
#define CODE(i) p->codes[items[i] & p->mask]
    for (size_t i = begin; i < end; i++) {
        const uint32_t item = items[i];
        const KEY code = CODE(i);
        if (code >= before) {
            before = code;
            continue;
        }
        size_t at = i;
        do {
            items[at] = items[at - 1];
            at--;
        } while (at > first && i - at < FAR && CODE(at - 1) > code);
        items[at] = item;
        if (at > first && CODE(at - 1) > code) {
            const uint32_t cell = item >> p->place_bits;
            size_t from = at, to = i + 1;
            while (from > first && items[from - 1] >> p->place_bits == cell)
                from--;
            while (to < end && items[to] >> p->place_bits == cell)
                to++;
            PAIR(refine)(p, from, to);
            first = to;
            i = to - 1;
            before = CODE(i);
        }
    }
#undef CODE
}

static void PAIR(sort_items)(const PAIR(placing) * p, size_t begin, size_t end) {
    scan_sort_local l = *p->l;
    l.order = (scan_sort_order){.flip = 0, .mask = UINT32_MAX};
    l.from.keys = l.to.keys = p->items + begin;
    l.spare.keys = p->other;
    l.n = end - begin;
    l.drop_keys = false;
    l.sorted_n = 0;
    quick_integers_32(&l);
    PAIR(put_right)(p, begin, end);
}

/* Sorts, or returns false. The keys are not wanted, and their values are their places. */
static bool PAIR(sort_places)(const NAME(split) * s, const scan_sort_local *l) {
    KEY *codes = l->to.keys, sample[QUICK_PLACES_SAMPLE], least, most;
    VALUE *places = l->to.values;
    const unsigned place_bits = 64 - (unsigned)__builtin_clzll(l->n - 1);
    const PAIR(placing) p = {l, codes, l->spare.keys, l->spare.values, (1u << place_bits) - 1, place_bits};
    if (!PAIR(take_sample)(s, l->from.keys, l->n, sample) ||
        !PAIR(write_codes)(s, l->from.keys, l->n, codes, s->is_float, &least, &most))
        return false;
    PAIR(cells) c = PAIR(cells_of)(least, most, place_bits);
    if (!PAIR(cells_spread)(&c, sample, l->order) &&
        !(s->is_float && PAIR(go_by_value)(&c, l->order) && PAIR(cells_spread)(&c, sample, l->order)))
        return false;
    PAIR(items_of)(&c, codes, l->n, l->order, p.items);
    PAIR(sort_items)(&p, 0, l->n);
    for (size_t i = 0; i < l->n; i++)
        places[i] = p.items[i] & p.mask;
    return true;
}

#undef REAL
#undef LARGEST
