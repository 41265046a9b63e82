/* SPDX-License-Identifier: MIT
 *
 * The keys of a set: see key_set.h. A node writes a block of keys at a time, so that what is asked once per node is not
 * asked once per key. These functions are compiled for the host (key_set_fill.c) and for a GPU (bench_hunt.cu), where a
 * thread makes one key: who includes them defines KEY_FUNCTION, the words before each of them, and KEY_BLOCK.
 */
#ifndef TOOLS_KEY_SET_FILL_H
#define TOOLS_KEY_SET_FILL_H

#include <math.h>
#include <string.h>

#include "key_set.h"

KEY_FUNCTION uint64_t hash(uint64_t salt, uint64_t index) {
    uint64_t z = salt + (index + 1) * 0x9e3779b97f4a7c15u; /* a step of splitmix64 */
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* x * y, both 64-bit fractions. */
KEY_FUNCTION uint64_t times(uint64_t x, uint64_t y) { return (uint64_t)(((unsigned __int128)x * y) >> 64); }

/* ---- densities --------------------------------------------------------------------------------------------------- */

/* One of `count` strata of equal width, and the place inside it as a fraction. */
KEY_FUNCTION uint64_t stratum(uint64_t u, uint64_t count, uint64_t *inside) {
    unsigned __int128 product = (unsigned __int128)u * count;
    *inside = (uint64_t)product;
    return (uint64_t)(product >> 64);
}

/* The width of a stratum; the last one is a little wider. */
KEY_FUNCTION uint64_t stratum_width(uint64_t count) { return UINT64_MAX / count; }

KEY_FUNCTION uint64_t map_clusters(const key_map *m, uint64_t u) {
    uint64_t inside, number = stratum(u, m->count, &inside), width = stratum_width(m->count);
    uint64_t own = m->shift < 64 ? width >> m->shift : 0; /* 0: a single value */
    return number * width + times(hash(m->salt, number), width - own) + times(inside, own);
}

KEY_FUNCTION uint64_t map_power(const key_map *m, uint64_t u) {
    uint64_t y = u;
    for (uint64_t k = 1; k < m->count; k++)
        y = times(y, u);
    return y;
}

/* Octave e of `count` is [2^-(count - e), 2^-(count - e - 1)); flat inside. */
KEY_FUNCTION uint64_t map_octaves(const key_map *m, uint64_t u) {
    uint64_t inside, octave = stratum(u, m->count, &inside);
    unsigned down = (unsigned)(m->count - octave); /* 1 ... 64 */
    uint64_t top = UINT64_C(1) << 63;
    return (top | inside >> 1) >> (down - 1);
}

/* Tukey's lambda distribution with 1/8, whose quantile function u^(1/8) - (1 - u)^(1/8) takes square roots only; it is
 * close to a normal distribution of standard deviation 0.18. */
KEY_FUNCTION uint64_t map_bell(uint64_t u) {
    double p = ((double)(u >> 12) + 0.5) * 0x1p-52;
    double z = sqrt(sqrt(sqrt(p))) - sqrt(sqrt(sqrt(1 - p)));
    double y = (z + 1) * 0x1p52; /* [0, 2^53] */
    return y >= 0x1p53 ? UINT64_MAX : (uint64_t)y << 11;
}

KEY_FUNCTION uint64_t map_heavy(const key_map *m, uint64_t u) {
    uint64_t at = u < m->begin ? u : u - m->begin < m->share ? m->begin : u - m->share;
    uint64_t others = UINT64_MAX - m->share;
    return at >= others ? UINT64_MAX : (uint64_t)(((unsigned __int128)at << 64) / others);
}

KEY_FUNCTION uint64_t map_value(const key_map *m, uint64_t u) {
    uint64_t y = 0;
    u = m->mirrored ? ~u : u;
    switch (m->kind) {
    case KEY_MAP_DICTIONARY:
    case KEY_MAP_CLUSTERS: y = map_clusters(m, u); break;
    case KEY_MAP_POWER: y = map_power(m, u); break;
    case KEY_MAP_OCTAVES: y = map_octaves(m, u); break;
    case KEY_MAP_BELL: y = map_bell(u); break;
    case KEY_MAP_HEAVY: y = map_heavy(m, u); break;
    case KEY_MAP_COUNT: break;
    }
    return m->mirrored ? ~y : y;
}

/* ---- orders ------------------------------------------------------------------------------------------------------ */

/* A random quantile in stratum `place` of n, so that places in ascending order give ascending quantiles. */
KEY_FUNCTION uint64_t quantile_at(uint64_t place, uint64_t n, uint64_t random) {
    uint64_t width = stratum_width(n);
    return place * width + times(random, width);
}

KEY_FUNCTION uint64_t quantile(const key_node *s, uint64_t i) {
    const uint64_t n = s->n, count = s->count, random = hash(s->salt, i);
    uint64_t place = i;
    switch (s->order) {
    case KEY_ORDER_RANDOM: return random;
    case KEY_ORDER_REPEATED: return hash(s->salt, i / count);
    case KEY_ORDER_PERIODIC: return hash(s->salt, i % count);
    case KEY_ORDER_SAW: return quantile_at(i % count, count, hash(s->salt, i % count));
    case KEY_ORDER_RUNS: return quantile_at(i % count, count, random);
    case KEY_ORDER_NEARLY:
        if (hash(~s->salt, i) % count == 0)
            return random;
        break;
    case KEY_ORDER_SORTED: break;
    case KEY_ORDER_REVERSED: place = n - 1 - i; break;
    case KEY_ORDER_ROTATED: place = i < n - count ? i + count : i - (n - count); break;
    case KEY_ORDER_MERGED: place = i % count * ((n + count - 1) / count) + i / count; break;
    case KEY_ORDER_JITTERED: place = i + times(hash(~s->salt, i), count); break;
    case KEY_ORDER_ORGAN_PIPE: place = i < (n + 1) / 2 ? 2 * i : 2 * (n - 1 - i) + 1; break;
    case KEY_ORDER_COUNT: break;
    }
    return quantile_at(place < n ? place : n - 1, n, random);
}

/* ---- codings ----------------------------------------------------------------------------------------------------- */

KEY_FUNCTION unsigned width_of(scan_type type) {
    switch (type) {
#define WIDTH_CASE(ENUM, name, ctype, CLASS)                                                                           \
    case SCAN_##ENUM: return 8 * sizeof(ctype);
        SCAN_TYPES(WIDTH_CASE)
#undef WIDTH_CASE
    case SCAN_TYPE_NONE: break;
    }
    return 0;
}

KEY_FUNCTION scan_class class_of(scan_type type) {
    switch (type) {
#define CLASS_CASE(ENUM, name, ctype, CLASS)                                                                           \
    case SCAN_##ENUM: return SCAN_##CLASS;
        SCAN_TYPES(CLASS_CASE)
#undef CLASS_CASE
    case SCAN_TYPE_NONE: break;
    }
    return SCAN_CLASS_NONE;
}

KEY_FUNCTION uint64_t low_bits(unsigned count) { return count < 64 ? (UINT64_C(1) << count) - 1 : UINT64_MAX; }

KEY_FUNCTION uint64_t bits_of(double value, scan_type type) {
    uint64_t bits = 0;
    if (type == SCAN_F32) {
        float f = (float)value;
        memcpy(&bits, &f, sizeof f); /* the lower half, on the little-endian machines that the project builds for */
    } else
        memcpy(&bits, &value, sizeof value);
    return bits;
}

KEY_FUNCTION uint64_t infinity_bits(scan_type type) {
    return type == SCAN_F32 ? UINT64_C(0x7f800000) : UINT64_C(0x7ff) << 52;
}

/* y as a rank among the values of the type: the sign bit is flipped; floats from -inf to inf. */
KEY_FUNCTION uint64_t ranked(scan_type type, uint64_t y) {
    unsigned width = width_of(type);
    uint64_t sign = UINT64_C(1) << (width - 1), infinity = infinity_bits(type);
    switch (class_of(type)) {
    case SCAN_SIGNED: return y >> (64 - width) ^ sign;
    case SCAN_FLOAT: {
        uint64_t rank = times(y, 2 * infinity + 2); /* -inf ... -0 are ranks 0 ... infinity */
        return rank <= infinity ? sign | (infinity - rank) : rank - infinity - 1;
    }
    case SCAN_UNSIGNED:
    case SCAN_CLASS_NONE: break;
    }
    return y >> (64 - width);
}

KEY_FUNCTION uint64_t natural(const key_node *s, scan_type type, uint64_t y) {
    uint64_t number = y >> (64 - s->bits);
    if (class_of(type) == SCAN_FLOAT)
        return bits_of((double)number + (double)(int64_t)s->offset, type);
    return (number << s->shift) + s->offset;
}

KEY_FUNCTION uint64_t coded(const key_node *s, scan_type type, uint64_t y) {
    uint64_t half;
    switch (s->coding) {
    case KEY_NATURAL: return natural(s, type, y);
    case KEY_REAL: {
        double unit = (double)y * 0x1p-64; /* keeps the small ones apart */
        double scale =
            s->exponent < 0 ? 1 / (double)(UINT64_C(1) << -s->exponent) : (double)(UINT64_C(1) << s->exponent);
        return bits_of((s->centred ? 2 * unit - 1 : unit) * scale, type);
    }
    case KEY_DECIMAL:
        half = s->centred ? UINT64_C(1) << (s->bits - 1) : 0;
        return bits_of((double)(int64_t)((y >> (64 - s->bits)) - half) / 100, type);
    case KEY_RANK: break;
    }
    return ranked(type, y);
}

/* ---- nodes ------------------------------------------------------------------------------------------------------- */

KEY_FUNCTION void fill(const key_set *set, const key_node *node, uint64_t begin, size_t count, uint64_t *keys);

KEY_FUNCTION void fill_stream(const key_set *set, const key_node *s, uint64_t begin, size_t count, uint64_t *keys) {
    for (size_t i = 0; i < count; i++)
        keys[i] = quantile(s, begin + i);
    for (unsigned m = 0; m < s->map_count; m++)
        for (size_t i = 0; i < count; i++)
            keys[i] = map_value(&s->maps[m], keys[i]);
    for (size_t i = 0; i < count; i++)
        keys[i] = coded(s, set->type, keys[i]);
}

/* The lower 32 bits of x at the even places. */
KEY_FUNCTION uint64_t spread(uint64_t x) {
    x &= 0xffffffffu;
    x = (x | x << 16) & 0x0000ffff0000ffffu;
    x = (x | x << 8) & 0x00ff00ff00ff00ffu;
    x = (x | x << 4) & 0x0f0f0f0f0f0f0f0fu;
    x = (x | x << 2) & 0x3333333333333333u;
    return (x | x << 1) & 0x5555555555555555u;
}

/* Combines the keys of two children, which have the same indices. */
KEY_FUNCTION void fill_two(const key_set *set, const key_node *node, uint64_t begin, size_t count, uint64_t *a) {
    uint64_t b[KEY_BLOCK];
    fill(set, &set->nodes[node->a], begin, count, a);
    fill(set, &set->nodes[node->b], begin, count, b);
    const unsigned half = width_of(set->type) / 2;
    for (size_t i = 0; i < count; i++)
        if (node->kind == KEY_MIXTURE)
            a[i] = hash(node->salt, begin + i) < node->cut ? a[i] : b[i];
        else if (node->kind == KEY_FIELDS)
            a[i] = (a[i] & ~node->mask) | (b[i] & node->mask);
        else /* the upper halves, which vary more */
            a[i] = spread(a[i] >> half) << 1 | spread(b[i] >> half);
}

KEY_FUNCTION void fill_concatenation(const key_set *set, const key_node *node, uint64_t begin, size_t count,
                                     uint64_t *keys) {
    size_t first = begin >= node->cut ? 0 : node->cut - begin < count ? (size_t)(node->cut - begin) : count;
    if (first > 0)
        fill(set, &set->nodes[node->a], begin, first, keys);
    if (first < count)
        fill(set, &set->nodes[node->b], begin + first - node->cut, count - first, keys + first);
}

KEY_FUNCTION void fill(const key_set *set, const key_node *node, uint64_t begin, size_t count, uint64_t *keys) {
    switch (node->kind) {
    case KEY_STREAM: fill_stream(set, node, begin, count, keys); return;
    case KEY_SEQUENCE:
        for (size_t i = 0; i < count; i++)
            keys[i] = node->first + (begin + i) * node->stride;
        return;
    case KEY_MIXTURE:
    case KEY_FIELDS:
    case KEY_INTERLEAVE: fill_two(set, node, begin, count, keys); return;
    case KEY_CONCATENATION: fill_concatenation(set, node, begin, count, keys); return;
    case KEY_MASK:
    case KEY_SHIFT: break;
    }
    fill(set, &set->nodes[node->a], begin, count, keys);
    for (size_t i = 0; i < count; i++)
        if (node->kind == KEY_MASK)
            keys[i] &= node->mask;
        else
            keys[i] =
                node->shift >= 0 ? keys[i] << node->shift : (keys[i] & low_bits(width_of(set->type))) >> -node->shift;
}

/* ---- the set ----------------------------------------------------------------------------------------------------- */

/* Bits of a float that are a NaN lose one of the exponent's: NaN come as special values only. */
KEY_FUNCTION uint64_t without_nan(scan_type type, uint64_t key) {
    uint64_t infinity = infinity_bits(type), magnitude = key & low_bits(width_of(type) - 1);
    return magnitude > infinity ? key & ~(infinity & ~(infinity << 1)) : key;
}

/* One of the set's special values; NaN of either sign and any payload. */
KEY_FUNCTION uint64_t special(const key_set *set, uint64_t random) {
    const uint64_t infinity = infinity_bits(set->type), sign = UINT64_C(1) << (width_of(set->type) - 1);
    const uint64_t payload = random & (sign - 1) & ~infinity;
    unsigned kinds = 0, left = set->specials;
    for (unsigned rest = left; rest > 0; rest &= rest - 1)
        kinds++;
    for (uint64_t skip = (random >> 40) % kinds; skip > 0; skip--)
        left &= left - 1;
    switch ((key_special)(left & -left)) {
    case KEY_NAN: return infinity | (payload > 0 ? payload : 1) | (random >> 63 ? sign : 0);
    case KEY_MINUS_ZERO: return sign;
    case KEY_ZERO: return 0;
    case KEY_INFINITY: return infinity;
    case KEY_MINUS_INFINITY: return sign | infinity;
    case KEY_DENORMAL: return payload;
    }
    return 0;
}

KEY_FUNCTION void finish_floats(const key_set *set, uint64_t begin, size_t count, uint64_t *keys) {
    for (size_t i = 0; i < count; i++) {
        keys[i] = without_nan(set->type, keys[i]);
        if (hash(set->salt, begin + i) < set->special_share)
            keys[i] = special(set, hash(~set->salt, begin + i));
    }
}

/* `count` keys from `begin` on, at most a block of them. */
KEY_FUNCTION void fill_block(const key_set *set, uint64_t begin, size_t count, uint64_t *keys) {
    fill(set, &set->nodes[set->root], begin, count, keys);
    if (class_of(set->type) == SCAN_FLOAT)
        finish_floats(set, begin, count, keys);
}

KEY_FUNCTION void store_key(void *to, size_t bytes, uint64_t key) {
    switch (bytes) {
    case 1: *(uint8_t *)to = (uint8_t)key; break;
    case 2: *(uint16_t *)to = (uint16_t)key; break;
    case 4: memcpy(to, &key, 4); break; /* also floats: no type is punned */
    default: memcpy(to, &key, 8);
    }
}

#endif
