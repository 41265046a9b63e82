/* SPDX-License-Identifier: MIT
 *
 * Draws a set of keys from the grammar of key_set.h, and describes it.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "key_set.h"

/* ---- draws ------------------------------------------------------------------------------------------------------- */

static bool one_in(uint64_t *random, uint64_t count) { return key_below(random, count) == 0; }

/* Of 64 bits or fewer, each alike. */
static uint64_t any_number(uint64_t *random) {
    uint64_t number = splitmix64(random);
    return number >> key_below(random, 64);
}

/* 1 ... 2^octaves - 1 by octave, each alike: a number of any size. */
static uint64_t any_size(uint64_t *random, unsigned octaves) {
    uint64_t power = UINT64_C(1) << key_below(random, octaves);
    return power + key_below(random, power);
}

/* 1 ... max, of any size. */
static uint64_t any_size_to(uint64_t *random, uint64_t max) {
    unsigned octaves = 64 - (unsigned)__builtin_clzll(max);
    uint64_t number = any_size(random, octaves);
    return number < max ? number : max;
}

/* A share between 0 and 1 as a 64-bit fraction: any, or a small one, or one close to 1. */
static uint64_t any_share(uint64_t *random) {
    uint64_t share = splitmix64(random), small = share >> (3 + key_below(random, 8));
    switch (key_below(random, 4)) {
    case 0: return small;
    case 1: return ~small;
    case 2: return UINT64_C(1) << 63;
    default: return share;
    }
}

static unsigned weighted(uint64_t *random, const uint8_t *weights, unsigned count) {
    unsigned sum = 0, chosen = 0;
    for (unsigned k = 0; k < count; k++)
        sum += weights[k];
    for (uint64_t left = key_below(random, sum); left >= weights[chosen]; chosen++)
        left -= weights[chosen];
    return chosen;
}

#define WEIGHT(ENUM, name, weight, meaning) weight,
static const uint8_t order_weights[] = {KEY_ORDERS(WEIGHT)}, map_weights[] = {KEY_MAPS(WEIGHT)};
#undef WEIGHT
#define NAME(ENUM, name, weight, meaning) #name,
static const char *const order_names[] = {KEY_ORDERS(NAME)}, *const map_names[] = {KEY_MAPS(NAME)};
#undef NAME

static unsigned width_of(const key_set *set) { return 8 * (unsigned)type_bytes(set->type); }

/* ---- streams ----------------------------------------------------------------------------------------------------- */

static key_map draw_map(uint64_t *random) {
    key_map m = {.kind = (key_map_kind)weighted(random, map_weights, KEY_MAP_COUNT)};
    m.salt = splitmix64(random);
    m.mirrored = one_in(random, 4);
    switch (m.kind) {
    case KEY_MAP_DICTIONARY: m.count = any_size(random, 21), m.shift = 64; break;
    case KEY_MAP_CLUSTERS:
        m.count = any_size(random, 14);
        m.shift = 1 + (unsigned)key_below(random, 30);
        break;
    case KEY_MAP_POWER: m.count = 2 + key_below(random, 15); break;
    case KEY_MAP_OCTAVES: m.count = 2 + key_below(random, 63); break;
    case KEY_MAP_HEAVY:
        m.share = any_share(random);
        m.begin = one_in(random, 2) ? 0 : key_below(random, ~m.share | 1);
        break;
    case KEY_MAP_BELL:
    case KEY_MAP_COUNT: break;
    }
    return m;
}

static void draw_order(key_node *s, uint64_t *random) {
    s->order = (key_order)weighted(random, order_weights, KEY_ORDER_COUNT);
    s->count = any_size_to(random, s->n);
    if (s->order == KEY_ORDER_REPEATED || s->order == KEY_ORDER_MERGED)
        s->count = any_size_to(random, s->n < 1000 ? s->n : 1000);
}

static void draw_coding(const key_set *set, key_node *s, uint64_t *random) {
    const unsigned width = width_of(set);
    const bool is_float = type_class(set->type) == SCAN_FLOAT, is_unsigned = type_class(set->type) == SCAN_UNSIGNED;
    static const uint8_t weights[2][4] = {{2, 2, 0, 0}, {1, 1, 3, 1}};
    s->coding = (key_coding)weighted(random, weights[is_float], 4);
    s->centred = !is_unsigned && one_in(random, 2);
    switch (s->coding) {
    case KEY_NATURAL:
        s->bits = 1 + (unsigned)key_below(random, width);
        s->shift = is_float || one_in(random, 2) ? 0 : (int)key_below(random, width - s->bits + 1);
        s->offset = one_in(random, 2) ? 0 : any_number(random) >> (64 - width);
        if (s->centred)
            s->offset = -(UINT64_C(1) << (s->bits - 1)) << s->shift;
        break;
    case KEY_REAL: s->exponent = (int)key_below(random, 61) - 30; break;
    case KEY_DECIMAL: s->bits = 1 + (unsigned)key_below(random, 40); break;
    case KEY_RANK: break;
    }
}

static void draw_stream(const key_set *set, key_node *s, uint64_t *random) {
    draw_order(s, random);
    static const uint8_t map_count_weights[MAX_KEY_MAPS + 1] = {4, 8, 5, 2};
    s->map_count = weighted(random, map_count_weights, MAX_KEY_MAPS + 1);
    for (unsigned m = 0; m < s->map_count; m++)
        s->maps[m] = draw_map(random);
    draw_coding(set, s, random);
}

/* ---- nodes ------------------------------------------------------------------------------------------------------- */

enum { MAX_DEPTH = 3 }; /* at most 2^3 streams */

static uint64_t random_mask(uint64_t *random, unsigned width) {
    uint64_t mask = one_in(random, 2) ? UINT64_MAX : 0;
    if (mask != 0) { /* a field */
        mask >>= key_below(random, width);
        mask <<= key_below(random, width);
    }
    for (uint64_t k = 1 + key_below(random, width); k > 0; k--)
        mask ^= UINT64_C(1) << key_below(random, width);
    return mask;
}

/* Draws a node for n keys and what is below it. Returns its number. */
static unsigned draw_node(key_set *set, uint64_t n, unsigned depth, uint64_t *random) {
    static const uint8_t weights[] = {[KEY_STREAM] = 11, [KEY_SEQUENCE] = 1, [KEY_MIXTURE] = 3, [KEY_CONCATENATION] = 2,
                                      [KEY_MASK] = 1,    [KEY_SHIFT] = 1,    [KEY_FIELDS] = 1,  [KEY_INTERLEAVE] = 1};
    const unsigned width = width_of(set), number = set->node_count++;
    key_node *node = &set->nodes[number];
    *node = (key_node){.n = n, .salt = splitmix64(random)};
    if (depth < MAX_DEPTH)
        node->kind = (key_node_kind)weighted(random, weights, sizeof weights);
    uint64_t n_a = n, n_b = n;
    switch (node->kind) {
    case KEY_STREAM: draw_stream(set, node, random); return number;
    case KEY_SEQUENCE:
        node->first = splitmix64(random);
        node->stride = any_number(random);
        return number;
    case KEY_MIXTURE: node->cut = any_share(random); break;
    case KEY_CONCATENATION:
        node->cut = (uint64_t)(((unsigned __int128)any_share(random) * n) >> 64);
        n_a = node->cut > 0 ? node->cut : 1;
        n_b = n - node->cut;
        break;
    case KEY_MASK: node->mask = random_mask(random, width); break;
    case KEY_SHIFT: node->shift = (int)key_below(random, 2 * width - 1) - (int)width + 1; break;
    case KEY_FIELDS: node->mask = (UINT64_C(1) << (1 + key_below(random, width - 1))) - 1; break;
    case KEY_INTERLEAVE: break;
    }
    node->a = draw_node(set, n_a, depth + 1, random);
    if (node->kind != KEY_MASK && node->kind != KEY_SHIFT)
        node->b = draw_node(set, n_b, depth + 1, random);
    return number;
}

void key_set_draw(key_set *set, scan_type type, uint64_t n, uint64_t *random) {
    *set = (key_set){.type = type, .n = n, .salt = splitmix64(random)};
    set->root = draw_node(set, n, 0, random);
    if (type_class(type) != SCAN_FLOAT || !one_in(random, 6))
        return;
    set->specials = 1 + (unsigned)key_below(random, 2 * KEY_DENORMAL - 1);
    set->special_share = any_share(random);
}

/* ---- descriptions ------------------------------------------------------------------------------------------------ */

typedef struct line {
    char *text;
    size_t room;
} line;

__attribute__((format(printf, 2, 3))) static void add(line *l, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(l->text, l->room, format, arguments);
    va_end(arguments);
    size_t used = length < 0 ? 0 : (size_t)length < l->room ? (size_t)length : l->room - 1;
    l->text += used, l->room -= used;
}

static double fraction(uint64_t share) { return (double)share * 0x1p-64; }

static void describe_map(line *l, const key_map *m) {
    add(l, " %s%s", m->mirrored ? "-" : "", map_names[m->kind]);
    if (m->kind == KEY_MAP_HEAVY)
        add(l, ":%.3g", fraction(m->share));
    else if (m->kind != KEY_MAP_BELL)
        add(l, ":%" PRIu64, m->count);
    if (m->kind == KEY_MAP_CLUSTERS)
        add(l, "/2^%u", m->shift);
}

static void describe_stream(line *l, const key_node *s) {
    add(l, "%s", order_names[s->order]);
    if (s->order != KEY_ORDER_RANDOM && s->order != KEY_ORDER_SORTED && s->order != KEY_ORDER_REVERSED &&
        s->order != KEY_ORDER_ORGAN_PIPE)
        add(l, ":%" PRIu64, s->count);
    for (unsigned m = 0; m < s->map_count; m++)
        describe_map(l, &s->maps[m]);
    const char *sign = s->centred ? "+-" : "";
    switch (s->coding) {
    case KEY_RANK: break;
    case KEY_NATURAL:
        add(l, ", %s%u bits", sign, s->bits);
        if (s->shift != 0)
            add(l, " << %d", s->shift);
        if (s->offset != 0 && !s->centred)
            add(l, " + %" PRIu64, s->offset);
        break;
    case KEY_REAL: add(l, ", %s2^%d", sign, s->exponent); break;
    case KEY_DECIMAL: add(l, ", %s2^%u/100", sign, s->bits); break;
    }
}

static void describe_node(line *l, const key_set *set, unsigned number) {
    const key_node *node = &set->nodes[number];
    switch (node->kind) {
    case KEY_STREAM: describe_stream(l, node); return;
    case KEY_SEQUENCE: add(l, "sequence by %" PRIu64, node->stride); return;
    case KEY_MIXTURE: add(l, "mixture %.3g(", fraction(node->cut)); break;
    case KEY_CONCATENATION: add(l, "concatenation %.3g(", (double)node->cut / (double)node->n); break;
    case KEY_MASK: add(l, "mask %" PRIx64 "(", node->mask); break;
    case KEY_SHIFT: add(l, "shift %d(", node->shift); break;
    case KEY_FIELDS: add(l, "fields %d(", __builtin_popcountll(node->mask)); break;
    case KEY_INTERLEAVE: add(l, "interleave("); break;
    }
    describe_node(l, set, node->a);
    if (node->kind != KEY_MASK && node->kind != KEY_SHIFT) {
        add(l, " | ");
        describe_node(l, set, node->b);
    }
    add(l, ")");
}

void key_set_describe(const key_set *set, char *text, size_t bytes) {
    static const char *const special_names[] = {"nan", "-0", "0", "inf", "-inf", "denormal"};
    line l = {text, bytes};
    describe_node(&l, set, set->root);
    for (unsigned k = 0; k < 6; k++)
        if (set->specials >> k & 1)
            add(&l, " %s", special_names[k]);
    if (set->specials != 0)
        add(&l, ":%.3g", fraction(set->special_share));
}
