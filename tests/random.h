/* SPDX-License-Identifier: MIT
 *
 * Random numbers of all tests: splitmix64, in C and C++. Any seed will do.
 *
 *     uint64_t rng = 7;
 *     size_t n = random_below(&rng, 1000); // each trait of a case has a draw of its own,
 *     bool in_place = random_bool(&rng);   // in a statement of its own: the order of initializers is not defined
 */
#ifndef TESTS_RANDOM_H
#define TESTS_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

/* A hash of 64 bits: every bit of the result depends on every bit of z. */
static inline uint64_t random_mix(uint64_t z) {
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static inline uint64_t random_u64(uint64_t *rng) { return random_mix(*rng += 0x9e3779b97f4a7c15u); }

/* 0 ... bound - 1; bound > 0. */
static inline uint64_t random_below(uint64_t *rng, uint64_t bound) { return random_u64(rng) % bound; }

static inline bool random_bool(uint64_t *rng) { return random_u64(rng) & 1; }

#endif
