/* SPDX-License-Identifier: MIT
 *
 * The order of sorts as scan.h defines it, as unsigned numbers, for the checks on the host (bench_check_sort.c) and on
 * a GPU (bench_sets.cu): who includes this defines ORDER_FUNCTION, the words before each function.
 */
#ifndef TOOLS_BENCH_SORT_ORDER_H
#define TOOLS_BENCH_SORT_ORDER_H

#include "bench.h"

typedef struct sort_order {
    unsigned width, begin_bit, end_bit; /* of the keys; those that are compared */
    bool signed_keys, float_keys, descending, nan_first;
} sort_order;

static inline sort_order order_of_job(const job *j) {
    const unsigned width = 8 * (unsigned)type_bytes(j->type);
    const scan_class kind = type_class(j->type);
    sort_order o = {
        width,         j->begin_bit, j->end_bit != 0 ? j->end_bit : width, kind == SCAN_SIGNED, kind == SCAN_FLOAT,
        j->descending, j->nan_first};
    return o;
}

/* The bits of a number that are the magnitude of an infinite float. */
ORDER_FUNCTION uint64_t infinite_magnitude(const sort_order *o) {
    return o->width == 32 ? UINT64_C(0x7f800000) : UINT64_C(0x7ff) << 52;
}

ORDER_FUNCTION uint64_t sign_bit(const sort_order *o) { return UINT64_C(1) << (o->width - 1); }

/* The bits that are compared, of a key that was extended to 64 bits; a sign bit among them is flipped. */
ORDER_FUNCTION uint64_t window_of(const sort_order *o, uint64_t key) {
    if (o->signed_keys && o->end_bit == o->width)
        key ^= sign_bit(o);
    return key >> o->begin_bit & UINT64_MAX >> (64 - (o->end_bit - o->begin_bit));
}

/* A number that is less for keys that come first, and equal for keys that compare equal. */
ORDER_FUNCTION uint64_t ordered(const sort_order *o, uint64_t key) {
    const uint64_t sign = sign_bit(o), magnitude = key & ~sign, all = UINT64_MAX >> (64 - o->width);
    if (!o->float_keys)
        return o->descending ? ~window_of(o, key) : window_of(o, key);
    if (magnitude > infinite_magnitude(o))
        return o->nan_first ? 0 : all;
    const uint64_t number = magnitude == 0 ? sign : key & sign ? ~key & all : key | sign;
    return o->descending ? ~number & all : number;
}

/* Does the key compare equal to keys of other bits? */
ORDER_FUNCTION bool has_equals(const sort_order *o, uint64_t key) {
    if (!o->float_keys)
        return o->end_bit - o->begin_bit < o->width;
    return key == sign_bit(o) || (key & ~sign_bit(o)) > infinite_magnitude(o);
}

#endif
