/* SPDX-License-Identifier: MIT
 *
 * Random sets of keys from a grammar, for tools/bench --hunt: keys that nobody chose, so that no sort is made for them.
 *
 *   set    = node, of which a share of special values replaces keys if they are floats (NaN, zeros, infinities, ...)
 *   node   = stream | sequence
 *          | mixture(node, node) | concatenation(node, node)
 *          | mask(node) | shift(node) | fields(node, node) | interleave(node, node)     of the keys' bits
 *   stream = order, density, coding
 *
 * A density is a chain of monotone maps from [0, 1) to itself, as 64-bit fractions: a quantile function. An order says
 * which quantile the key at an index is: a hash of the index gives random keys, the index itself sorted ones, and so
 * on. A coding makes a key of the type from the result. So every density occurs in every order and type, and the key at
 * an index is a function of (set, index) alone: any number of threads can make parts of the same array.
 *
 * A set is a function of the random numbers it is drawn from, the same on every machine: integer arithmetic, and
 * conversions and operations on doubles that IEEE 754 rounds correctly (square roots among them); no libm.
 */
#ifndef TOOLS_KEY_SET_H
#define TOOLS_KEY_SET_H

#include "distributions.h"

#ifdef __cplusplus
extern "C" {
#endif

/* X(enum, name, weight, meaning) */
#define KEY_ORDERS(X)                                                                                                  \
    X(RANDOM, random, 24, "a hash of the index")                                                                       \
    X(SORTED, sorted, 3, "ascending")                                                                                  \
    X(REVERSED, reversed, 3, "descending")                                                                             \
    X(ROTATED, rotated, 1, "ascending from `count` on, then from the start")                                           \
    X(RUNS, runs, 2, "ascending runs of `count` keys, one after another, each with keys of its own")                   \
    X(SAW, saw, 1, "the same ascending run of `count` keys again and again")                                           \
    X(PERIODIC, periodic, 1, "the same `count` random keys again and again")                                           \
    X(MERGED, merged, 2, "`count` ascending runs, one key of each in turn")                                            \
    X(JITTERED, jittered, 2, "ascending, each key up to `count` places late")                                          \
    X(NEARLY, nearly, 2, "ascending, but one key in `count` is random")                                                \
    X(ORGAN_PIPE, organ_pipe, 1, "ascending, then descending")                                                         \
    X(REPEATED, repeated, 3, "random, each `count` times in a row")

/* X(enum, name, weight, meaning) */
#define KEY_MAPS(X)                                                                                                    \
    X(DICTIONARY, dictionary, 6, "`count` different values, alike")                                                    \
    X(CLUSTERS, clusters, 4, "`count` clusters, each 2^-shift of the room it has")                                     \
    X(POWER, power, 3, "u^count: a power law towards 0")                                                               \
    X(OCTAVES, octaves, 4, "`count` octaves below 1, each alike")                                                      \
    X(BELL, bell, 4, "close to normal, over 10 standard deviations")                                                   \
    X(HEAVY, heavy, 3, "a share of the keys is one value")

typedef enum key_order {
#define KEY_ENUM(ENUM, ...) KEY_ORDER_##ENUM,
    KEY_ORDERS(KEY_ENUM) KEY_ORDER_COUNT
#undef KEY_ENUM
} key_order;

typedef enum key_map_kind {
#define KEY_ENUM(ENUM, ...) KEY_MAP_##ENUM,
    KEY_MAPS(KEY_ENUM) KEY_MAP_COUNT
#undef KEY_ENUM
} key_map_kind;

typedef struct key_map {
    key_map_kind kind;
    bool mirrored; /* y = 1 - map(1 - u) */
    unsigned shift;
    uint64_t count;
    uint64_t share, begin; /* heavy: quantiles from begin to begin + share, as 64-bit fractions */
    uint64_t salt;
} key_map;

typedef enum key_coding {
    KEY_RANK,    /* all values of the type in their order, without NaN */
    KEY_NATURAL, /* numbers below 2^bits, then shifted left and moved by an offset */
    KEY_REAL,    /* floats: [0, 2^exponent), or [-2^exponent, 2^exponent) if centred */
    KEY_DECIMAL  /* floats: hundredths below 2^bits / 100, or of both signs if centred */
} key_coding;

typedef enum key_node_kind {
    KEY_STREAM,
    KEY_SEQUENCE, /* first + index * stride */
    KEY_MIXTURE,
    KEY_CONCATENATION,
    KEY_MASK,
    KEY_SHIFT,
    KEY_FIELDS,    /* the upper bits of a, the lower ones of b */
    KEY_INTERLEAVE /* the bits of a and b in turn, as a space-filling curve of two dimensions has them */
} key_node_kind;

enum { MAX_KEY_MAPS = 3, MAX_KEY_NODES = 15 };

typedef struct key_node {
    key_node_kind kind;
    uint64_t n, salt;
    unsigned a, b; /* the children */
    uint64_t cut;  /* mixture: a's share as a 64-bit fraction; concatenation: a's length */
    uint64_t mask; /* also: fields: the bits of b */
    int shift;     /* left if positive */
    uint64_t first, stride;
    key_order order;
    uint64_t count; /* the order's */
    unsigned map_count;
    key_map maps[MAX_KEY_MAPS];
    key_coding coding;
    bool centred;
    unsigned bits;
    int exponent;
    uint64_t offset;
} key_node;

typedef enum key_special {
    KEY_NAN = 1,
    KEY_MINUS_ZERO = 2,
    KEY_ZERO = 4,
    KEY_INFINITY = 8,
    KEY_MINUS_INFINITY = 16,
    KEY_DENORMAL = 32
} key_special;

typedef struct key_set {
    scan_type type;
    uint64_t n;
    key_node nodes[MAX_KEY_NODES];
    unsigned node_count, root;
    unsigned specials;      /* key_special, or-ed */
    uint64_t special_share; /* a 64-bit fraction */
    uint64_t salt;
} key_set;

/* Draws a set of n > 0 keys; *random is the state of splitmix64. */
void key_set_draw(key_set *set, scan_type type, uint64_t n, uint64_t *random);

/* Writes the keys at begin ... begin + count - 1. */
void key_set_fill(const key_set *set, uint64_t begin, size_t count, void *keys);

/* Describes the set in a line, cut short if it does not fit. */
void key_set_describe(const key_set *set, char *text, size_t bytes);

/* A map's value, and a key's quantile in an order: of the parts of a stream, for tests. */
uint64_t key_map_value(const key_map *map, uint64_t u);
uint64_t key_quantile(const key_node *stream, uint64_t index);

/* May some keys be NaN? NULL is no set, and has none. */
static inline bool key_set_has_nan(const key_set *set) {
    return set != NULL && (set->specials & KEY_NAN) != 0 && set->special_share > 0;
}

/* 0 ... bound - 1; bound > 0. */
static inline uint64_t key_below(uint64_t *random, uint64_t bound) {
    return (uint64_t)(((unsigned __int128)splitmix64(random) * bound) >> 64);
}

#ifdef __cplusplus
}
#endif

#endif
