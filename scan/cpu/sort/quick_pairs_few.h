/* SPDX-License-Identifier: MIT
 *
 * A few pairs, by the network of quick_lanes.h. It is not stable, so it sorts items: codes that end with the place of
 * their key, and so are all different; then places say what goes where.
 *
 * Items of 32 bits, of which a vector holds twice as many, have room for the leading bits of how far a code lies above
 * the least. These are enough where keys are spread evenly. Where two codes agree in them and not in the others they
 * may be out of order: then items of 64 bits are sorted.
 *
 * Included by quick_pairs.h once a width of keys and once a width of values.
 */

enum { PAIR(FEW) = QUICK_PLACES, PAIR(PLACE_BITS) = QUICK_PLACES == 128 ? 7 : 6 };

static void network_32(const uint32_t *from, uint32_t *to, size_t n, size_t room, V flip);
static void network_64(const uint64_t *from, uint64_t *to, size_t n, size_t room, V flip);

/* Copies n keys of x, turned back if they are codes of floats, and their codes, as unsigned integers; arrays have room
 * for whole vectors. */
#define STORE_CODES(key, code)                                                                                         \
    for (size_t i = 0; i < n; i += LANES) {                                                                            \
        const V v = i + LANES <= n ? V_LOAD(x + i) : V_MASK_LOAD(V_SET1(0), V_BELOW(V_SET1(n - i), 0), x + i);         \
        V_STORE(keys + i, key);                                                                                        \
        V_STORE(codes + i, V_XOR(V_SET1(LEAST), code));                                                                \
    }
SCAN_INLINE void PAIR(store_codes)(const NAME(split) * s, const KEY *x, size_t n, KEY *keys, KEY *codes) {
    if (s->ties)
        STORE_CODES(NAME(turned_back)(s->ties, v), NAME(join_ties)(s->ties, v))
    else if (s->is_float)
        STORE_CODES(v, NAME(code_of)(s, v, true))
    else
        STORE_CODES(v, NAME(code_of)(s, v, false))
}
#undef STORE_CODES

SCAN_INLINE void PAIR(gather_keys)(const KEY *table, const uint32_t *places, size_t n, KEY *to) {
    if (sizeof(KEY) == 4)
        quick_gather_4(table, places, n, to);
    else
        quick_gather_8(table, places, n, to);
}

SCAN_INLINE void PAIR(gather_values)(const VALUE *table, const uint32_t *places, size_t n, VALUE *to) {
    if (sizeof(VALUE) == 4)
        quick_gather_4(table, places, n, to);
    else
        quick_gather_8(table, places, n, to);
}

/* Where n codes lie. */
typedef struct PAIR(range) {
    KEY least;
    unsigned bits; /* of how far the most lies above the least */
} PAIR(range);

static PAIR(range) PAIR(range_of)(const KEY *codes, size_t n) {
    KEY least = codes[0], most = codes[0];
    for (size_t i = 1; i < n; i++) {
        least = codes[i] < least ? codes[i] : least;
        most = codes[i] > most ? codes[i] : most;
    }
    return (PAIR(range)){least, most == least ? 0 : 64 - (unsigned)__builtin_clzll((uint64_t)(most - least))};
}

static bool PAIR(in_order)(const KEY *codes, const uint32_t *places, size_t n) {
    KEY sorted[PAIR(FEW)], wrong = 0;
    __asm__("" : "=m"(sorted));
    PAIR(gather_keys)(codes, places, n, sorted);
    for (size_t i = 0; i + 1 < n; i++)
        wrong |= sorted[i] > sorted[i + 1];
    return wrong == 0;
}

/* Writes the places of the codes in order, or returns false. */
static bool PAIR(order_by_32)(const KEY *codes, size_t n, PAIR(range) r, uint32_t *places) {
    enum { CODE_BITS = 32 - PAIR(PLACE_BITS) };
    const unsigned shift = r.bits > CODE_BITS ? r.bits - CODE_BITS : 0;
    for (size_t i = 0; i < n; i++)
        places[i] = ((uint32_t)((codes[i] - r.least) >> shift) << PAIR(PLACE_BITS) | (uint32_t)i) ^ LEAST_32;
    if (r.bits > 0)
        network_32(places, places, n, PAIR(FEW), V_SET1_32(LEAST_32));
    return shift == 0 || PAIR(in_order)(codes, places, n);
}

/* Sorts items of 64 bits, of which the lowest 8 are places. */
static void PAIR(order_items)(uint64_t *items, size_t n, uint32_t *places) {
    for (size_t i = 0; i < n; i++)
        items[i] ^= LEAST_64;
    network_64(items, items, n, PAIR(FEW), V_SET1_64(LEAST_64));
    for (size_t i = 0; i < n; i++)
        places[i] = items[i] & 0xff;
}

/* As order_by_32(). Wide codes whose leading 56 bits are not enough are ordered by the others first: the second sort is
 * stable, as its items end with the places in that order. */
static void PAIR(order_by_64)(const KEY *codes, size_t n, PAIR(range) r, uint32_t *places) {
    uint64_t items[PAIR(FEW)];
    uint32_t by_others[PAIR(FEW)];
    __asm__("" : "=m"(items)); /* gcc does not see that the network masks what is not set */
    const unsigned shift = r.bits > 56 ? r.bits - 56 : 0;
    for (size_t i = 0; i < n; i++)
        items[i] = (uint64_t)((codes[i] - r.least) >> shift) << 8 | i;
    PAIR(order_items)(items, n, places);
    if (shift == 0 || PAIR(in_order)(codes, places, n))
        return;
    for (size_t i = 0; i < n; i++)
        items[i] = ((uint64_t)(codes[i] - r.least) & ((1u << shift) - 1)) << 8 | i;
    PAIR(order_items)(items, n, by_others);
    for (size_t i = 0; i < n; i++)
        items[i] = (uint64_t)((codes[by_others[i]] - r.least) >> shift) << 8 | i;
    PAIR(order_items)(items, n, places);
    for (size_t i = 0; i < n; i++)
        places[i] = by_others[places[i]];
}

/* Sorts at most FEW pairs; to.keys is NULL if keys are not wanted. */
static void PAIR(sort_few)(const NAME(split) * s, PAIR(columns) x, PAIR(columns) to, size_t n) {
    KEY keys[PAIR(FEW)], codes[PAIR(FEW)];
    VALUE values[PAIR(FEW)];
    uint32_t places[PAIR(FEW)];
    __asm__("" : "=m"(places), "=m"(keys), "=m"(values)); /* gcc does not see that nothing is used that is not set */
    if (x.values)
        memcpy(values, x.values, n * sizeof(VALUE));
    else
        for (size_t i = 0; i < n; i++)
            values[i] = (VALUE)i;
    PAIR(store_codes)(s, x.keys, n, keys, codes);
    const PAIR(range) r = PAIR(range_of)(codes, n);
    if (!PAIR(order_by_32)(codes, n, r, places))
        PAIR(order_by_64)(codes, n, r, places);
    if (to.keys)
        PAIR(gather_keys)(keys, places, n, to.keys);
    PAIR(gather_values)(values, places, n, to.values);
}
