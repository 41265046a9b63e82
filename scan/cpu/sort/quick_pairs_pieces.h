/* SPDX-License-Identifier: MIT
 *
 * The pieces of quick_split.h with a column more. Keys stay as they are, and are turned into codes where they are
 * compared. Of flat bins, which have one key each that is frequent, only the values are moved.
 *
 * Included by quick_pairs.h once a width of keys and once a width of values.
 */

/* As split_piece() of quick_split.h. */
static void PAIR(divide_piece)(const NAME(split) * s, PAIR(columns) x, size_t n, PAIR(columns) to, PAIR(columns) other,
                               unsigned bin, unsigned last, unsigned node) {
    while (n > 0 && bin < last && !NAME(is_one_value)(s, x.keys, n, &bin, last)) {
        const unsigned middle = s->middles[node];
        const size_t low = PAIR(divide)(s, x, n, s->splitters[middle], to, other);
        PAIR(divide_piece)(s, to, low, to, PAIR(from)(other, n - low), bin, middle, node + 1);
        x = other;
        to = PAIR(from)(to, low);
        n -= low;
        node += middle - bin + 1;
        bin = middle + 1;
    }
    s->counts[bin] = (uint16_t)n;
    PAIR(move)(x, to, n);
}

/* The values of the pairs of a key, in order, to `to`, of which `room` may be written. Returns how many they are. */
static size_t PAIR(take_values)(PAIR(columns) x, size_t n, KEY key, VALUE *to, size_t room) {
    const V wanted = V_SET1(key);
    size_t taken = 0, i = 0;
    for (; i + LANES <= n && taken + LANES <= room; i += LANES) {
        const V_BITS others = V_UNSET(V_EQUAL(V_LOAD(x.keys + i), wanted));
        PAIR(store_some)(to + taken, PAIR(load)(x.values + i), (V_BITS)~others);
        taken += LANES - quick_count(others, LANES);
    }
    for (; i < n; i++)
        if (x.keys[i] == key)
            to[taken++] = x.values[i];
    return taken;
}

/* The pairs of n that are in no flat bin, in order. Returns how many they are. */
static size_t PAIR(take_others)(const scan_sort_splitters *flat, PAIR(columns) x, size_t n, PAIR(columns) to) {
    V keys[SCAN_SORT_MAX_FLAT];
    size_t taken = 0, i = 0;
    for (unsigned k = 0; k < flat->flat_n; k++)
        keys[k] = V_SET1((KEY)flat->flat_keys[k]);
    for (; i + LANES <= n; i += LANES) {
        const V v = V_LOAD(x.keys + i);
        V_MASK same = V_EQUAL(v, keys[0]);
        for (unsigned k = 1; k < flat->flat_n; k++)
            same = V_MASK_OR(same, V_EQUAL(v, keys[k]));
        const V_BITS others = V_UNSET(same);
        V_STORE(to.keys + taken, V_COMPRESS(v, others));
        PAIR(store_some)(to.values + taken, PAIR(load)(x.values + i), others);
        taken += quick_count(others, LANES);
    }
    for (; i < n; i++) {
        unsigned k = 0;
        while (k < flat->flat_n && (KEY)flat->flat_keys[k] != x.keys[i])
            k++;
        to.keys[taken] = x.keys[i];
        to.values[taken] = x.values[i];
        taken += k == flat->flat_n;
    }
    return taken;
}

/* As divide_piece() of a whole piece, of which flat bins get no keys; x is neither `to` nor `other`. The other pairs,
 * if there are any, come first: how many each bin has says where the values of flat bins go. */
static void PAIR(divide_flat)(const NAME(split) * s, const scan_sort_splitters *flat, PAIR(columns) x, size_t n,
                              PAIR(columns) to, PAIR(columns) other, bool *has_others) {
    for (bool again = true; again;) {
        const size_t others_n = *has_others ? PAIR(take_others)(flat, x, n, other) : 0;
        PAIR(columns) others = other;
        size_t at = 0;
        if (others_n > 0) {
            PAIR(divide_piece)(s, other, others_n, to, other, 0, flat->n, 0);
            PAIR(move)(to, other, others_n);
        }
        for (unsigned d = 0, k = 0; d <= flat->n; d++) {
            PAIR(move)(others, PAIR(from)(to, at), s->counts[d]);
            others = PAIR(from)(others, s->counts[d]);
            at += s->counts[d];
            if (k < flat->flat_n && flat->flat_bins[k] == d) {
                const size_t taken = PAIR(take_values)(x, n, (KEY)flat->flat_keys[k++], to.values + at, n - at);
                s->counts[d] = (uint16_t)taken;
                at += taken;
            }
        }
        again = at < n;
        if (again) {
            *has_others = true;
            memset(s->counts, 0, SCAN_SORT_SPLITTER_BINS * sizeof *s->counts);
        }
    }
}

/* Whether a piece had half of the flat bins' keys at least: fewer are sooner divided along the tree, as the next piece
 * will be, which is often like it. */
static bool PAIR(has_many)(const scan_sort_splitters *flat, const uint16_t *counts) {
    unsigned met = 0;
    for (unsigned k = 0; k < flat->flat_n; k++)
        met += counts[flat->flat_bins[k]] > 0;
    return 2 * met >= flat->flat_n;
}

static void PAIR(divide_pieces)(const scan_sort_pieces *p, bool is_float) {
    enum { PIECE = SCAN_SORT_PIECE_BYTES / (sizeof(KEY) + sizeof(VALUE)) };
    KEY splitters[SCAN_SORT_MAX_SPLITTERS], keys[PIECE];
    VALUE values[PIECE];
    NAME(split) s = NAME(split_of)(p->order, p->splitters, splitters, is_float);
    bool has_others = false, many = true;
    s.counts = p->counts;
    for (size_t i = p->begin; i < p->end; i += PIECE, s.counts += SCAN_SORT_SPLITTER_BINS) {
        const size_t n = p->end - i < PIECE ? p->end - i : PIECE;
        const PAIR(columns) to = {(KEY *)p->to.keys + i, (VALUE *)p->to.values + i};
        PAIR(columns) x = {(KEY *)p->from.keys + i, to.values};
        if (p->from.values)
            x.values = (VALUE *)p->from.values + i;
        else
            for (size_t k = 0; k < n; k++)
                to.values[k] = (VALUE)(i + k);
        memset(s.counts, 0, SCAN_SORT_SPLITTER_BINS * sizeof *s.counts);
        if (p->fills && many)
            PAIR(divide_flat)(&s, p->splitters, x, n, to, (PAIR(columns)){keys, values}, &has_others);
        else
            PAIR(divide_piece)(&s, x, n, to, (PAIR(columns)){keys, values}, 0, p->splitters->n, 0);
        many = PAIR(has_many)(p->splitters, s.counts);
    }
}

static void PAIR(divide_pieces_integers)(const scan_sort_pieces *p) { PAIR(divide_pieces)(p, false); }
static void PAIR(divide_pieces_floats)(const scan_sort_pieces *p) { PAIR(divide_pieces)(p, true); }
