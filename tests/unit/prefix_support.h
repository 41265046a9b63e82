/* SPDX-License-Identifier: MIT
 *
 * Input for the prefix tests.
 */
#ifndef TESTS_UNIT_PREFIX_SUPPORT_H
#define TESTS_UNIT_PREFIX_SUPPORT_H

#include <math.h>
#include <stdbool.h>

#include "support.h"

/* n elements whose scan under op shows order: integers over the whole range (odd under mul, so that a product does not
 * die out), floats under add and mul near zero and near one, under min and max of many sizes with zeros of both signs,
 * infinities, and, in one array of four, NaN. */
static inline void fill_random(scan_type type, scan_op op, void *memory, size_t n, uint64_t *seed) {
    char *at = memory;
    size_t size = scan_type_size(type);
    bool order = op == SCAN_MIN || op == SCAN_MAX, with_nan = random_u64(seed) % 4 == 0;
    for (size_t i = 0; i < n; i++, at += size) {
        uint64_t bits = random_u64(seed);
        if (op == SCAN_MUL)
            bits |= 1;
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
        const void *from = type == SCAN_F32 ? (void *)&f32 : type == SCAN_F64 ? (void *)&f : (void *)&bits;
        memcpy(at, from, size);
    }
}

#endif
