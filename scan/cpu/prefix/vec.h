/* SPDX-License-Identifier: MIT
 *
 * The vector primitives that the SIMD kernels are written in, and what the lists generate from them. The file that
 * includes this has included vec_avx2.h or vec_avx512.h, which define `vec` and, with constant types and sizes:
 *
 *     vec_load(at)  vec_store(at, x)  vec_stream(at, x)  vec_fence()
 *     vec_widen_u8_u32(at) ...           for each row of SCAN_WIDENINGS: as many elements as fit once widened
 *     vec_shift(x, fill, bytes)          x moved up by bytes, the top of fill below it
 *     vec_last(size, x)                  the last element in every place
 *     vec_reverse(size, x)               elements in opposite order
 *     vec_fill(size, word)               a word in every place
 *     vec_first(x)                       the first element, not extended, with whatever is above it
 *
 *   for assoc_simd.h
 *     vec_add(type, a, b) ...            for each row of SCAN_OPS but xor, and, or, which are below;
 *                                        min and max on keys for floats (assoc.h)
 *     vec_to_key(type, op, x)  vec_from_key(type, op, x)
 *     vec_step(size, x, none, bytes)     what the step over `bytes` of a scan inside x combines with it: as vec_shift,
 *                                        or other elements that make the same scan of all steps together
 *
 *   for rows_simd.h
 *     vec_float_add(type, a, b) ...      for each row of SCAN_OPS that is ORDERED
 *     vec_align(x, fill, bytes)          in each 16-byte lane: fill without its low bytes, and above it x
 *     vec_lane_down(x, next)             x moved down by a lane, the first lane of next on top
 *     vec_unpack_low(size, a, b)  vec_unpack_high(size, a, b)    in each lane
 */
#ifndef SCAN_CPU_PREFIX_VEC_H
#define SCAN_CPU_PREFIX_VEC_H

#include "assoc.h"
#include "ordered.h"

enum { VEC_LINE = 64, VEC_AHEAD = 8 << 10 /* with 4 or 16 KiB it takes as long, with less longer */ };

/* Called before `count` elements of the piece are read, from element p on: prefetches as many of what the piece says,
 * or else, of an array that comes from memory, of what is read VEC_AHEAD bytes later. The processor prefetches that
 * too, but where arithmetic fills its window too late. */
SCAN_INLINE void vec_prefetch(const scan_cpu_piece *piece, bool reverse, size_t p, size_t count, size_t in_size) {
    const uintptr_t in = (uintptr_t)piece->in, bytes = count * in_size;
    if (piece->prefetch) {
        for (size_t byte = 0; byte < bytes; byte += VEC_LINE)
            __builtin_prefetch((const char *)piece->prefetch + p * in_size + byte, 0, 2);
    } else if (piece->from_memory) {
        const uintptr_t at = reverse ? in - (p + count - 1) * in_size - VEC_AHEAD : in + p * in_size + VEC_AHEAD;
        for (size_t byte = 0; byte < bytes; byte += VEC_LINE)
            __builtin_prefetch((const void *)(at + byte)); /* past an end of the array nothing is read */
    }
}

SCAN_INLINE vec vec_widen(scan_type in_type, scan_type type, const void *at) {
#define ROW(IN, in, ctype, ENUM, name, ...)                                                                            \
    if (in_type == SCAN_##IN && type == SCAN_##ENUM)                                                                   \
        return vec_widen_##in##_##name(at);
    SCAN_WIDENINGS(ROW)
#undef ROW
    return vec_load(at);
}

SCAN_INLINE vec vec_xor(scan_type type, vec a, vec b) { return (void)type, a ^ b; }
SCAN_INLINE vec vec_and(scan_type type, vec a, vec b) { return (void)type, a & b; }
SCAN_INLINE vec vec_or(scan_type type, vec a, vec b) { return (void)type, a | b; }

SCAN_INLINE vec vec_op(scan_type type, scan_op op, vec a, vec b) {
    switch (op) {
#define ROW(OP, op, ...)                                                                                               \
    case SCAN_##OP: return vec_##op(type, a, b);
        SCAN_OPS(ROW, )
#undef ROW
    }
    return a;
}

SCAN_INLINE vec vec_float_op(scan_type type, scan_op op, vec a, vec b) {
#define ROW(OP, op_, FLOATS, ...) SCAN_IF_##FLOATS(if (op == SCAN_##OP) return vec_float_##op_(type, a, b);)
    SCAN_OPS(ROW, )
#undef ROW
    return a;
}

#endif
