/* SPDX-License-Identifier: MIT
 *
 * What scan_prefix must give, by serial loops that know nothing of the library: integers, and floats under min and max,
 * exactly; float sums and products in the contract's order by float_order.h, or within the rounding of any order.
 */
#ifndef TESTS_GPU_PREFIX_REFERENCE_H
#define TESTS_GPU_PREFIX_REFERENCE_H

#include "../unit/float_order.h"
#include "gpu_support.h"

static inline bool prefix_rounds(const scan_prefix_desc *d) {
    return gpu_is_float(d->out_type) && (d->op == SCAN_ADD || d->op == SCAN_MUL);
}

/* ---- integers: 64 bits, wrapped to the type at every step -------------------------------------------------------- */

/* An integer's bits, extended to 64 by its sign if it has one. */
static inline uint64_t prefix_integer(scan_type type, const void *at) {
    const unsigned unused = 64 - (unsigned)scan_type_size(type) * 8;
    uint64_t bits = 0;
    memcpy(&bits, at, scan_type_size(type));
    return gpu_is_signed(type) ? (uint64_t)((int64_t)(bits << unused) >> unused) : bits;
}

static inline uint64_t prefix_integer_op(const scan_prefix_desc *d, uint64_t a, uint64_t b) {
    const bool less = gpu_is_signed(d->out_type) ? (int64_t)a < (int64_t)b : a < b;
    uint64_t x = 0;
    switch (d->op) {
    case SCAN_ADD: x = a + b; break;
    case SCAN_MUL: x = a * b; break;
    case SCAN_MIN: x = less ? a : b; break;
    case SCAN_MAX: x = less ? b : a; break;
    case SCAN_XOR: x = a ^ b; break;
    case SCAN_AND: x = a & b; break;
    case SCAN_OR: x = a | b; break;
    }
    return prefix_integer(d->out_type, &x);
}

static inline uint64_t prefix_integer_identity(const scan_prefix_desc *d) {
    const unsigned bits = (unsigned)scan_type_size(d->out_type) * 8;
    const bool is_signed = gpu_is_signed(d->out_type);
    const uint64_t largest = ~(uint64_t)0 >> (64 - bits + is_signed);
    switch (d->op) {
    case SCAN_MUL: return 1;
    case SCAN_MIN: return largest;
    case SCAN_MAX: return is_signed ? ~largest : 0;
    case SCAN_AND: return ~(uint64_t)0;
    case SCAN_ADD:
    case SCAN_XOR:
    case SCAN_OR: break;
    }
    return 0;
}

static inline void prefix_integers(const scan_prefix_desc *d, const char *in, char *out, size_t n) {
    const size_t in_size = scan_type_size(d->type), size = scan_type_size(d->out_type);
    uint64_t fold = d->init ? prefix_integer(d->out_type, d->init) : prefix_integer_identity(d);
    for (size_t p = 0; p < n; p++) {
        const size_t i = d->reverse ? n - 1 - p : p;
        const uint64_t before = fold;
        fold = prefix_integer_op(d, fold, prefix_integer(d->type, in + i * in_size));
        memcpy(out + i * size, d->kind == SCAN_EXCLUSIVE ? &before : &fold, size);
    }
}

/* ---- floats under min and max: NaN stays, -0 < +0 ---------------------------------------------------------------- */

static inline double prefix_float(scan_type type, const void *at) {
    float f32;
    double f64;
    memcpy(type == SCAN_F32 ? (void *)&f32 : (void *)&f64, at, scan_type_size(type));
    return type == SCAN_F32 ? (double)f32 : f64;
}

static inline void prefix_put_float(scan_type type, void *at, double x) {
    const uint32_t nan_f32 = 0x7fc00000;
    const uint64_t nan_f64 = 0x7ff8000000000000;
    const float f32 = (float)x;
    if (type == SCAN_F32)
        memcpy(at, x != x ? (const void *)&nan_f32 : (const void *)&f32, sizeof f32);
    else
        memcpy(at, x != x ? (const void *)&nan_f64 : (const void *)&x, sizeof x);
}

static inline void prefix_extremes(const scan_prefix_desc *d, const char *in, char *out, size_t n) {
    const size_t in_size = scan_type_size(d->type), size = scan_type_size(d->out_type);
    const bool minimum = d->op == SCAN_MIN;
    double fold = d->init ? prefix_float(d->out_type, d->init) : minimum ? (double)INFINITY : -(double)INFINITY;
    for (size_t p = 0; p < n; p++) {
        const size_t i = d->reverse ? n - 1 - p : p;
        const double before = fold, x = prefix_float(d->type, in + i * in_size);
        const bool smaller = x < fold || (x == fold && signbit(x) && !signbit(fold));
        if (x != x || (fold == fold && smaller == minimum))
            fold = x;
        prefix_put_float(d->out_type, out + i * size, d->kind == SCAN_EXCLUSIVE ? before : fold);
    }
}

/* ---- input ------------------------------------------------------------------------------------------------------- */

/* The operator of this number, among those that take the type. */
static inline scan_op prefix_op(scan_type type, size_t number) {
    size_t ops = 0;
    for (int op = 0; op < SCAN_OP_COUNT; op++)
        ops += scan_op_takes((scan_op)op, type) != 0;
    for (int op = 0;; op++)
        if (scan_op_takes((scan_op)op, type) && number-- % ops == 0)
            return (scan_op)op;
}

/* Odd integers and floats near one, so that their product does not die out. */
static inline void prefix_fill_factors(scan_type type, gpu_shape shape, char *at, size_t n) {
    const size_t size = scan_type_size(type);
    for (size_t i = 0; i < n; i++, at += size) {
        if (!gpu_is_float(type))
            at[0] = (char)(at[0] | 1);
        else if (shape == GPU_RANDOM)
            prefix_put_float(type, at, 1 + prefix_float(type, at) * 0x1p-10);
    }
}

/* One bit in some 64 elements of the array, so that the fold changes all along it. */
static inline void prefix_fill_bits(scan_type type, bool complement, char *at, size_t n, uint64_t seed) {
    const size_t size = scan_type_size(type);
    for (size_t i = 0; i < n; i++, at += size) {
        const bool set = random_below(&seed, n) < 64;
        const uint64_t bit = set ? (uint64_t)1 << random_below(&seed, size * 8) : 0;
        const uint64_t x = complement ? ~bit : bit;
        memcpy(at, &x, size);
    }
}

/* Elements fit for the operator. */
static inline void prefix_fill(scan_type type, scan_op op, gpu_shape shape, void *memory, size_t n, uint64_t seed) {
    gpu_fill(type, shape, memory, n, seed);
    if (shape == GPU_SPARSE || shape == GPU_EXTREMES || shape == GPU_SPECIAL)
        return;
    if (op == SCAN_MUL)
        prefix_fill_factors(type, shape, (char *)memory, n);
    else if (op == SCAN_AND || op == SCAN_OR)
        prefix_fill_bits(type, op == SCAN_AND, (char *)memory, n, seed);
}

/* ---- float sums and products ------------------------------------------------------------------------------------- */

/* In the contract's order. */
static inline void prefix_ordered(const scan_prefix_desc *d, const char *in, char *out, size_t n) {
    const size_t in_size = scan_type_size(d->type), size = scan_type_size(d->out_type);
    char *x = (char *)malloc(n * size + 1), *before = (char *)malloc((n + 1) * size);
    assert_true(x && before);
    for (size_t p = 0; p < n; p++) {
        const char *at = in + (d->reverse ? n - 1 - p : p) * in_size;
        if (in_size == size)
            memcpy(x + p * size, at, size);
        else
            ((double *)(void *)x)[p] = prefix_float(d->type, at);
    }
    if (d->out_type == SCAN_F32)
        float_order_f32((float *)(void *)x, n, d->op == SCAN_MUL, (const float *)d->init, (float *)(void *)before);
    else
        float_order_f64((double *)(void *)x, n, d->op == SCAN_MUL, (const double *)d->init, (double *)(void *)before);
    if (!d->init && d->op == SCAN_ADD)
        memset(before, 0, size); /* +0 is identity_bits */
    for (size_t p = 0; p < n; p++)
        memcpy(out + (d->reverse ? n - 1 - p : p) * size, before + (p + (d->kind == SCAN_INCLUSIVE)) * size, size);
    free(x);
    free(before);
}

/* All of the above: the output, exactly. */
static inline void prefix_reference(const scan_prefix_desc *d, const void *in, void *out, size_t n) {
    if (prefix_rounds(d))
        prefix_ordered(d, (const char *)in, (char *)out, n);
    else if (gpu_is_float(d->out_type))
        prefix_extremes(d, (const char *)in, (char *)out, n);
    else
        prefix_integers(d, (const char *)in, (char *)out, n);
}

/* Same bits; where sums or products give NaN, any NaN. Returns the first wrong element, n if none is. */
static inline size_t prefix_difference(const scan_prefix_desc *d, const void *got, const void *want, size_t n) {
    const size_t size = scan_type_size(d->out_type);
    size_t i = gpu_first_difference(got, want, n, size);
    if (!prefix_rounds(d))
        return i;
    for (; i < n; i++) {
        const char *a = (const char *)got + i * size, *b = (const char *)want + i * size;
        const double x = prefix_float(d->out_type, a), y = prefix_float(d->out_type, b);
        if (memcmp(a, b, size) != 0 && !(x != x && y != y))
            return i;
    }
    return n;
}

/* Sums, and products of factors near one, in an order unknown: every result within the error that any tree of
 * additions over that number of elements can have, the serial part over block sums included. Returns as
 * prefix_difference does. */
static inline size_t prefix_far(const scan_prefix_desc *d, const char *got, const char *in, size_t n) {
    const size_t in_size = scan_type_size(d->type), size = scan_type_size(d->out_type);
    const bool mul = d->op == SCAN_MUL;
    const double unit = d->out_type == SCAN_F32 ? 0x1p-24 : 0x1p-53;
    long double fold = d->init ? prefix_float(d->out_type, d->init) : mul;
    long double sizes = fabsl(fold); /* of all terms */
    for (size_t p = 0; p < n; p++) {
        const size_t i = d->reverse ? n - 1 - p : p;
        const long double x = prefix_float(d->type, in + i * in_size), before = fold;
        fold = mul ? fold * x : fold + x;
        sizes = mul ? fabsl(fold) + fabsl(before) : sizes + fabsl(x);
        const long double want = d->kind == SCAN_EXCLUSIVE ? before : fold;
        const long double steps = mul ? (long double)p + 3 : 64 + (long double)p / 256;
        if (!(fabsl((long double)prefix_float(d->out_type, got + i * size) - want) <= steps * sizes * unit))
            return i;
    }
    return n;
}

#endif
