/* SPDX-License-Identifier: MIT
 *
 * Pairs of which most, but not nearly all (quick_pairs_one.h), have one key. One pass brings the values of the key to
 * the front of the result, which is where they are if the sort is in place, and sets the other pairs aside:
 *
 *     result    keys, not yet written | values of the key, room
 *     spare     other keys, room      | their values, room
 *
 * The others are then sorted, with the room in the result as scratch; the key itself is not moved but written.
 * Partitions in two would move all pairs twice, as the key has others on both sides. If one of the others is a tie of
 * the key (floats: zeros, NaNs) another way has to serve.
 *
 * Included by quick_pairs.h once a width of keys and once a width of values.
 */

/* A part of the pass: the values of the key, and the others, begin where it does. */
typedef struct PAIR(part) {
    size_t begin, same_n, others_n;
} PAIR(part);

/* What the passes over n pairs share. */
typedef struct PAIR(often) {
    const NAME(split) * split;
    PAIR(columns) x, others;
    VALUE *values; /* of the key */
    KEY key;
    size_t n;
    atomic_bool tied;
    atomic_uint parts_n;
    PAIR(part) parts[SCAN_SORT_MAX_PARTS];
} PAIR(often);

enum { PAIR(OFTEN_UNIT) = 64 * LANES /* pairs, of which parts of a pass consist */ };

static size_t PAIR(end_of)(const PAIR(often) * o, size_t unit) {
    return unit * PAIR(OFTEN_UNIT) < o->n ? unit * PAIR(OFTEN_UNIT) : o->n;
}

/* Looks for other keys that are ties of the key, until one is found. */
static void PAIR(find_ties)(void *arg, size_t begin, size_t end) {
    PAIR(often) *o = arg;
    const V_BITS all = (V_BITS)((1ull << LANES) - 1);
    const V key = V_SET1(o->key), code = NAME(code_of)(o->split, key, true);
    for (; begin < end && !atomic_load_explicit(&o->tied, memory_order_relaxed); begin++) {
        V_BITS ties = 0;
        for (size_t i = begin * PAIR(OFTEN_UNIT), stop = PAIR(end_of)(o, begin + 1); i < stop; i += LANES) {
            const V v = stop - i < LANES ? V_MASK_LOAD(key, V_BELOW(V_SET1(stop - i), 0), o->x.keys + i)
                                         : V_LOAD(o->x.keys + i);
            const V_BITS apart = V_UNSET(V_EQUAL(NAME(code_of)(o->split, v, true), code));
            ties |= (V_BITS)(V_UNSET(V_EQUAL(v, key)) & ~apart & all);
        }
        if (ties)
            atomic_store_explicit(&o->tied, true, memory_order_relaxed);
    }
}

static bool PAIR(has_ties)(PAIR(often) * o, scan_sort_team *team) {
    const KEY magnitude = o->key & (KEY) ~((KEY)1 << (8 * sizeof(KEY) - 1));
    if (!o->split->is_float || (magnitude > 0 && magnitude <= INFINITY_BITS))
        return false;
    scan_sort_pass(team, PAIR(find_ties), o, (o->n + PAIR(OFTEN_UNIT) - 1) / PAIR(OFTEN_UNIT), o->n * sizeof(KEY));
    return atomic_load_explicit(&o->tied, memory_order_relaxed);
}

static void PAIR(set_aside)(void *arg, size_t begin, size_t end) {
    PAIR(often) *o = arg;
    const size_t from = begin * PAIR(OFTEN_UNIT), n = PAIR(end_of)(o, end) - from;
    const PAIR(columns) x = PAIR(from)(o->x, from), others = PAIR(from)(o->others, from);
    VALUE *values = o->values + from;
    const V keys = V_SET1(o->key);
    size_t other = 0, i = 0;
    for (; i + LANES <= n; i += LANES) {
        const V v = V_LOAD(x.keys + i);
        const PAIR(vector) w = PAIR(load)(x.values + i);
        const V_BITS bits = V_UNSET(V_EQUAL(v, keys));
        PAIR(store_some)(values + (i - other), w, (V_BITS)~bits);
        V_STORE(others.keys + other, V_COMPRESS(v, bits));
        PAIR(store_some)(others.values + other, w, bits);
        other += quick_count(bits, LANES);
    }
    for (; i < n; i++) {
        const VALUE value = x.values[i];
        others.keys[other] = x.keys[i];
        values[i - other] = others.values[other] = value;
        other += x.keys[i] != o->key;
    }
    o->parts[atomic_fetch_add_explicit(&o->parts_n, 1, memory_order_relaxed)] = (PAIR(part)){from, n - other, other};
}

/* Brings what the parts have left together, in order. Returns how many others there are. */
static size_t PAIR(join_parts)(PAIR(often) * o) {
    const unsigned parts_n = atomic_load_explicit(&o->parts_n, memory_order_relaxed);
    size_t others_n = 0;
    for (unsigned p = 1; p < parts_n; p++)
        for (unsigned at = p; at > 0 && o->parts[at].begin < o->parts[at - 1].begin; at--) {
            const PAIR(part) part = o->parts[at];
            o->parts[at] = o->parts[at - 1];
            o->parts[at - 1] = part;
        }
    for (unsigned p = 0; p < parts_n; others_n += o->parts[p++].others_n) {
        const PAIR(part) *part = &o->parts[p];
        const PAIR(columns) from = PAIR(from)(o->others, part->begin), to = PAIR(from)(o->others, others_n);
        if (p == 0)
            continue;
        memmove(o->values + (part->begin - others_n), o->values + part->begin, part->same_n * sizeof(VALUE));
        memmove(to.keys, from.keys, part->others_n * sizeof(KEY));
        memmove(to.values, from.values, part->others_n * sizeof(VALUE));
    }
    return others_n;
}

/* How many of n pairs in order come before a key. */
static size_t PAIR(count_before)(const NAME(split) * s, const KEY *x, size_t n, KEY key) {
#define RANK_OF(key) RANK(V_FIRST(NAME(code_of)(s, V_SET1(key), s->is_float)))
    const KEY rank = RANK_OF(key);
    size_t begin = 0;
    for (size_t end = n; begin < end;) {
        const size_t middle = begin + (end - begin) / 2;
        if (RANK_OF(x[middle]) < rank)
            begin = middle + 1;
        else
            end = middle;
    }
#undef RANK_OF
    return begin;
}

/* Sorts pairs of which most have one key, and which do not lie in the spare, or returns false: then nothing has
 * changed. */
QUICK_APART static bool PAIR(sort_often)(const NAME(split) * s, const scan_sort_local *l, KEY key) {
    /* of a sample: others that come close to the most that pay would often be too many */
    enum { MIN_N = 1024, MAX_OTHERS = QUICK_SAMPLES / 16 * 6 - 3 };
    const PAIR(columns) to = {l->to.keys, l->to.values};
    PAIR(often) o;
    o.split = s;
    o.x = (PAIR(columns)){l->from.keys, l->from.values};
    o.others = (PAIR(columns)){l->spare.keys, l->spare.values};
    o.values = to.values;
    o.key = key;
    o.n = l->n;
    atomic_init(&o.tied, false);
    atomic_init(&o.parts_n, 0);
    if (l->n < MIN_N || l->max_depth == 1 || !o.x.values || PAIR(sample_others)(o.x.keys, l->n, key) > MAX_OTHERS ||
        PAIR(has_ties)(&o, l->team))
        return false;
    scan_sort_pass(l->team, PAIR(set_aside), &o, (l->n + PAIR(OFTEN_UNIT) - 1) / PAIR(OFTEN_UNIT),
                   l->n * (sizeof(KEY) + sizeof(VALUE)));
    scan_sort_local rest = *l;
    rest.n = PAIR(join_parts)(&o);
    rest.sorted_n = 0;
    rest.drop_keys = false;
    /* A sample misleads by chance once, but an input may be made so that all do: radix takes over soon. */
    rest.max_depth = rest.n > l->n / 2 ? max_depth(l, l->n) / 2 : l->max_depth;
    const size_t same_n = l->n - rest.n;
    rest.from = rest.to = l->spare;
    rest.spare = (scan_sort_columns){to.keys, to.values + same_n};
    if (rest.n > 0)
        PAIR(quick_pairs)(&rest, s->is_float);
    const size_t lows = PAIR(count_before)(s, o.others.keys, rest.n, key);
    if (lows > 0)
        memmove(to.values + lows, to.values, same_n * sizeof(VALUE));
    PAIR(move)(o.others, to, lows);
    scan_sort_backward_pass(l->team, NAME(fill_places), &(NAME(filling)){to.keys + lows, key}, same_n,
                            same_n * sizeof(KEY));
    PAIR(move)(PAIR(from)(o.others, lows), PAIR(from)(to, lows + same_n), rest.n - lows);
    return true;
}
