/* SPDX-License-Identifier: MIT
 *
 * What the tests of random sets of keys (tools/key_set.h) share.
 */
#ifndef TESTS_UNIT_KEY_SUPPORT_H
#define TESTS_UNIT_KEY_SUPPORT_H

#include <math.h>

#include "support.h"
#include "tools/key_set.h"

enum { N = 20000 };

/* A set of one stream of u64 ranks, which is its quantiles. */
static inline key_set stream(key_order order, uint64_t count) {
    key_set s = {.type = SCAN_U64, .n = N, .node_count = 1};
    s.nodes[0] = (key_node){.kind = KEY_STREAM, .n = N, .salt = 5, .order = order, .count = count, .coding = KEY_RANK};
    return s;
}

static uint64_t keys[N];

static inline void fill(const key_set *s) { key_set_fill(s, 0, N, keys); }

static inline void assert_near(double value, double wanted, double off) {
    if (!(fabs(value - wanted) <= off))
        fail_msg("%g is not within %g of %g", value, off, wanted);
}

static inline double float_key(const key_set *s, uint64_t i) {
    double f64;
    float f32;
    if (s->type == SCAN_F64) {
        key_set_fill(s, i, 1, &f64);
        return f64;
    }
    key_set_fill(s, i, 1, &f32);
    return (double)f32;
}

#endif
