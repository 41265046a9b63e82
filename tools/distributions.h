/* SPDX-License-Identifier: MIT
 *
 * Synthetic arrays, the same on every machine for the same seed: what make_data writes and the bench measures on.
 *
 * All randomness is splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014). Its bits
 * become values by integer arithmetic and exact conversions only: no libm, no rounding that a compiler could change. An
 * array is made from left to right in pieces of any length, so it may be longer than memory.
 */
#ifndef TOOLS_DISTRIBUTIONS_H
#define TOOLS_DISTRIBUTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scan/lists.h"

#ifdef __cplusplus
extern "C" {
#endif

/* X(enum, name, parameter, default parameter, meaning) */
#define DISTRIBUTIONS(X)                                                                                               \
    X(UNIFORM, uniform, "", 0, "every value of the type alike; floats: [-1, 1)")                                       \
    X(BITS, bits, ":K", 16, "integers below 2^K, fewer bits if the type has fewer; floats: those integers")            \
    X(ZIPF, zipf, ":K", 20, "k below 2^K about as often as 1/k: log-uniform octaves, flat inside one")                 \
    X(SORTED, sorted, "", 0, "ascending over the whole range of the type; floats: [-1, 1)")                            \
    X(REVERSED, reversed, "", 0, "the same, descending")                                                               \
    X(CONSTANT, constant, "", 0, "one value everywhere")                                                               \
    X(FEW, few, ":K", 16, "K distinct values of the whole range, each alike")                                          \
    X(RUNS, runs, ":K", 16, "runs of equal values, K long on average (geometric)")                                     \
    X(MOSTLY, mostly, ":K", 100, "one value, but one element in K is uniform")                                         \
    X(NEARLY, nearly, ":K", 100, "sorted, but one element in K is uniform")                                            \
    X(NORMAL, normal, "", 0, "bell curve over the range of the type, 12 sigma wide; floats: mean 0, sigma 1")          \
    X(RELU, relu, "", 0, "normal, but the lower half is one value: activations; floats: 0")                            \
    X(LOGNORMAL, lognormal, "", 0,                                                                                     \
      "2^x for a normal x, natural: lengths, incomes; of 64 bits from about 2^13 to 2^51")                             \
    X(PRICES, prices, "", 0, "lognormal cents, below 2^31, seven of eight times ending in 99, 95, 50 or 00")           \
    X(EDGES, edges, ":K", 24, "node numbers below 2^K, of a power law (zipf:K), hubs anywhere")                        \
    X(CLUSTERS, clusters, ":K", 1000, "K clusters of neighbours, 1/65536 of the range wide each: addresses, ids")      \
    X(CURVE, curve, "", 0, "places in 64 towns and around them, on a space-filling curve")                             \
    X(KMERS, kmers, ":K", 1000000, "pieces of a genome of K letters, two bits a letter")                               \
    X(MERGED, merged, ":K", 16, "K sorted arrays, one behind the other")                                               \
    X(SAW, saw, ":K", 4096, "ascending, again and again: K elements a tooth")

typedef enum distribution_kind {
#define DISTRIBUTION_ROW(ENUM, name, parameter, standard, meaning) DISTRIBUTION_##ENUM,
    DISTRIBUTIONS(DISTRIBUTION_ROW)
#undef DISTRIBUTION_ROW
        DISTRIBUTION_COUNT
} distribution_kind;

typedef struct distribution {
    distribution_kind kind;
    uint64_t parameter; /* K in the table above */
    double nan;         /* share of the elements of a float array that are NaN ... */
    double zero;        /* ... and that are -0 */
} distribution;

typedef struct generator {
    distribution spread;
    scan_type type;
    unsigned bits;  /* that a natural number may have */
    uint64_t n;     /* of the whole array */
    uint64_t at;    /* elements made so far */
    uint64_t state; /* splitmix64 */
    uint64_t salt;  /* for values that depend on a rank: few, clusters, curve, kmers */
    uint64_t run;   /* value of the current run */
} generator;

/* "zipf" or "zipf:12". NULL, or what is wrong with the text. */
const char *distribution_parse(distribution *d, const char *text);
const char *distribution_name(distribution_kind kind);

/* Returns NULL, or why the type cannot have this distribution. */
const char *generator_start(generator *g, const distribution *d, scan_type type, uint64_t n, uint64_t seed);

/* Writes the next `count` elements of the array. */
void generator_fill(generator *g, void *to, size_t count);

/* Skips `count` elements in constant time. False, with nothing done, for distributions whose elements depend on those
 * before them. */
bool generator_skip(generator *g, uint64_t count);

/* One step of splitmix64. */
uint64_t splitmix64(uint64_t *state);

/* "1000", "64K", "10M", "4G" (powers of ten), "2^28", "2^28+1", "2^28-1". False if it is none of these. */
bool parse_count(const char *text, uint64_t *count);

/* The type of a name as the programs spell it, SCAN_TYPE_NONE if there is none. make_data does not link the library, so
 * size and class come from the list of types here. */
scan_type parse_type(const char *name);
size_t type_bytes(scan_type type);
scan_class type_class(scan_type type);

/* The names of the list, a space before each, as a string literal for usage texts. */
#define NAME_WORD(ENUM, name, ...) " " #name
#define TYPE_WORDS SCAN_TYPES(NAME_WORD)
#define OP_WORDS SCAN_OPS(NAME_WORD, )

#ifdef __cplusplus
}
#endif

#endif
