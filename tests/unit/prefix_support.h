/* SPDX-License-Identifier: MIT
 *
 * Input for the prefix tests.
 */
#ifndef TESTS_UNIT_PREFIX_SUPPORT_H
#define TESTS_UNIT_PREFIX_SUPPORT_H

#include <math.h>
#include <stdbool.h>

#include "support.h"

/* The operators that take integers alone. */
static inline bool is_bitwise(scan_op op) { return op == SCAN_XOR || op == SCAN_AND || op == SCAN_OR; }

/* The integer at index i of an array for and and or: it changes one bit, ever more rarely, so that the fold goes on
 * changing; in one array of four (which = 0) it is random. */
static inline uint64_t rare_bits(scan_op op, uint64_t random, size_t i, size_t size, uint64_t which) {
    if (which == 0)
        return random;
    uint64_t bit = random % (i + 1) < 4 ? UINT64_C(1) << (random >> 32) % (8 * size) : 0;
    return op == SCAN_AND ? ~bit : bit;
}

/* n elements whose scan under op shows order: integers over the whole range (odd under mul, so that a product does not
 * die out; for and and or see above), floats under add and mul near zero and near one, under min and max of many sizes
 * with zeros of both signs, infinities, and, in one array of four, NaN. */
static inline void fill_random(scan_type type, scan_op op, void *memory, size_t n, uint64_t *seed) {
    char *at = memory;
    size_t size = scan_type_size(type);
    bool order = op == SCAN_MIN || op == SCAN_MAX;
    uint64_t which = random_u64(seed) % 4;
    bool with_nan = which == 0;
    for (size_t i = 0; i < n; i++, at += size) {
        uint64_t bits = random_u64(seed);
        if (op == SCAN_MUL)
            bits |= 1;
        if (op == SCAN_AND || op == SCAN_OR)
            bits = rare_bits(op, bits, i, size, which);
        double f = (double)(bits >> 12) * 0x1p-52; /* [0, 1) */
        f = op == SCAN_ADD ? f - 0.5 : 1 + (f - 0.5) / 64;
        if (order) {
            f = ldexp(f - 1, (int)(bits % 40));
            if (bits % 61 == 0)
                f = bits & 64 ? 0.0 : -0.0;
            if (bits % 997 == 0)
                f = bits & 64 ? (double)INFINITY : -(double)INFINITY;
            if (with_nan && bits % 499 == 0)
                f = (double)NAN;
        }
        float f32 = (float)f;
        if (type == SCAN_F32)
            memcpy(&bits, &f32, sizeof f32);
        else if (type == SCAN_F64)
            memcpy(&bits, &f, sizeof f);
        store_element(at, 0, size, bits);
    }
}

#endif
