/* SPDX-License-Identifier: MIT
 *
 * Associative prefix kernels in terms of the vectors of vec.h.
 *
 * A vector is scanned by log2(elements) steps: Kogge-Stone, in a register. The only chain from vector to vector is one
 * operation on the running fold, so the steps of several vectors overlap. Exclusive is the inclusive vector moved up by
 * one more element, reverse the same with the elements of a vector reversed on the way in and out.
 */
#ifndef SCAN_CPU_PREFIX_ASSOC_SIMD_H
#define SCAN_CPU_PREFIX_ASSOC_SIMD_H

#include "vec.h"

enum { SIMD_STEP = 4 /* vectors between two prefetches */ };

/* Loads a vector in scan order, at element p of the piece. */
SCAN_INLINE vec simd_load(scan_type in_type, scan_type type, scan_op op, const scan_cpu_piece *piece, bool reverse,
                          size_t p) {
    const size_t in_size = scan_assoc_size(in_type), size = scan_assoc_size(type), lanes = sizeof(vec) / size;
    const char *at = piece->in;
    at = reverse ? at - (p + lanes - 1) * in_size : at + p * in_size;
    vec x = in_type == type ? vec_load(at) : vec_widen(in_type, type, at);
    x = vec_to_key(type, op, x);
    return reverse ? vec_reverse(size, x) : x;
}

SCAN_INLINE void simd_store(scan_type type, scan_op op, const scan_cpu_piece *piece, bool reverse, size_t p, vec x) {
    const size_t size = scan_assoc_size(type), lanes = sizeof(vec) / size;
    char *at = piece->out;
    at = reverse ? at - (p + lanes - 1) * size : at + p * size;
    x = vec_from_key(type, op, reverse ? vec_reverse(size, x) : x);
    if (piece->stream)
        vec_stream(at, x);
    else
        vec_store(at, x);
}

/* Returns the number of elements before the first aligned store of a vector. */
SCAN_INLINE size_t simd_unaligned(scan_type type, const scan_cpu_piece *piece) {
    const size_t size = scan_assoc_size(type);
    uintptr_t out = (uintptr_t)piece->out;
    size_t bytes = piece->reverse ? (out + size) % sizeof(vec) : -out % sizeof(vec);
    return bytes / size < piece->n ? bytes / size : piece->n;
}

/* Scans inside the vector: every element becomes the fold of those up to it. */
SCAN_INLINE vec simd_scan_vector(scan_type type, scan_op op, vec x, vec none) {
    const size_t size = scan_assoc_size(type);
    if (size <= 1)
        x = vec_op(type, op, x, vec_step(size, x, none, 1));
    if (size <= 2)
        x = vec_op(type, op, x, vec_step(size, x, none, 2));
    if (size <= 4)
        x = vec_op(type, op, x, vec_step(size, x, none, 4));
    x = vec_op(type, op, x, vec_step(size, x, none, 8));
    x = vec_op(type, op, x, vec_step(size, x, none, 16));
    if (sizeof(vec) > 32)
        x = vec_op(type, op, x, vec_step(size, x, none, 32));
    return x;
}

/* The piece is copied, so that no store can change it: what it says then stays in registers. */
SCAN_INLINE uint64_t simd_scan_vectors(scan_type in_type, scan_type type, scan_op op, const scan_cpu_piece *given,
                                       bool reverse, size_t begin, size_t end, uint64_t fold) {
    const scan_cpu_piece own = *given, *const piece = &own;
    const size_t in_size = scan_assoc_size(in_type), size = scan_assoc_size(type), lanes = sizeof(vec) / size;
    const vec none = vec_fill(size, scan_assoc_identity(type, op));
    vec before = vec_fill(size, fold);
    for (size_t step = begin; step < end; step += SIMD_STEP * lanes) {
        vec_prefetch(piece, reverse, step, SIMD_STEP * lanes, in_size);
        const size_t stop = end - step < SIMD_STEP * lanes ? end : step + SIMD_STEP * lanes;
        for (size_t p = step; p < stop; p += lanes) {
            vec x = simd_scan_vector(type, op, simd_load(in_type, type, op, piece, reverse, p), none);
            vec y = piece->exclusive ? vec_shift(x, none, size) : x;
            simd_store(type, op, piece, reverse, p, vec_op(type, op, before, y));
            before = vec_op(type, op, before, vec_last(size, x));
        }
    }
    return scan_assoc_wrap(type, vec_first(before));
}

SCAN_INLINE void simd_scan(scan_type in_type, scan_type type, scan_op op, const scan_cpu_piece *piece, void *memory) {
    const size_t lanes = sizeof(vec) / scan_assoc_size(type);
    uint64_t fold = scan_assoc_load(type, type, op, memory);
    size_t begin = simd_unaligned(type, piece), end = begin + (piece->n - begin) / lanes * lanes;
    fold = scan_assoc_scan_elements(in_type, type, op, piece, 0, begin, fold);
    fold = piece->reverse ? simd_scan_vectors(in_type, type, op, piece, true, begin, end, fold)
                          : simd_scan_vectors(in_type, type, op, piece, false, begin, end, fold);
    if (piece->stream)
        vec_fence();
    fold = scan_assoc_scan_elements(in_type, type, op, piece, end, piece->n, fold);
    scan_assoc_store(type, memory, fold);
}

/* Always upward in memory, because the order of elements does not matter. Four folds hide the latency of an operation.
 */
SCAN_INLINE void simd_reduce(scan_type in_type, scan_type type, scan_op op, const scan_cpu_piece *given, void *memory) {
    const size_t in_size = scan_assoc_size(in_type), size = scan_assoc_size(type), lanes = sizeof(vec) / size;
    scan_cpu_piece piece = *given;
    if (piece.reverse)
        piece.in = (const char *)piece.in - (piece.n - 1) * in_size;
    piece.reverse = false;

    vec f[4];
    for (int i = 0; i < 4; i++)
        f[i] = vec_fill(size, scan_assoc_identity(type, op));
    size_t end = piece.n / (4 * lanes) * (4 * lanes);
    for (size_t p = 0; p < end; p += 4 * lanes)
        for (size_t i = 0; i < 4; i++)
            f[i] = vec_op(type, op, f[i], simd_load(in_type, type, op, &piece, false, p + i * lanes));
    f[0] = vec_op(type, op, vec_op(type, op, f[0], f[1]), vec_op(type, op, f[2], f[3]));
    uint64_t fold =
        vec_first(vec_last(size, simd_scan_vector(type, op, f[0], vec_fill(size, scan_assoc_identity(type, op)))));
    fold = scan_assoc_op(type, op, scan_assoc_wrap(type, fold), scan_assoc_load(type, type, op, memory));
    fold = scan_assoc_reduce_elements(in_type, type, op, &piece, end, piece.n, fold);
    scan_assoc_store(type, memory, fold);
}

#define KERNEL(IN, in, ENUM, name, OP, op)                                                                             \
    static void reduce_##in##_##name##_##op(const scan_cpu_piece *piece, void *fold) {                                 \
        simd_reduce(SCAN_##IN, SCAN_##ENUM, SCAN_##OP, piece, fold);                                                   \
    }                                                                                                                  \
    static void scan_##in##_##name##_##op(const scan_cpu_piece *piece, void *fold) {                                   \
        simd_scan(SCAN_##IN, SCAN_##ENUM, SCAN_##OP, piece, fold);                                                     \
    }
SCAN_CPU_ASSOC_KERNELS
#undef KERNEL

#define KERNEL(IN, in, ENUM, name, OP, op)                                                                             \
    [SCAN_##IN][SCAN_##ENUM][SCAN_##OP] = {reduce_##in##_##name##_##op, scan_##in##_##name##_##op},

#endif
