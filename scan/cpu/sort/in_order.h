/* SPDX-License-Identifier: MIT
 *
 * Whether keys are in order already, in blocks without a branch: the test of random input ends at the first one, and
 * that of sorted input is vectorized.
 *
 * A block is tested for the one direction that is left. Floats of one sign are compared as they are; if that fails,
 * by codes that tell ties apart, zeros by their sign and NaNs by their bits: they take a few instructions, and
 * what is in that order is in the one asked for. Only a block that is not goes by the codes of code.h.
 *
 * Included by kernels.h only.
 */
#ifndef SCAN_CPU_SORT_IN_ORDER_H
#define SCAN_CPU_SORT_IN_ORDER_H

#include "sort.h"

enum {
    ORDERED_AT_ONCE = 128,
    SAME_AT_ONCE = 1024 /* keys compared with their neighbours while all have been equal */
};

/* Whether a block of descending floats may have ties: if zero lies in its range, or NaN. */
SCAN_INLINE bool touches_ties(const void *keys, size_t first, size_t last, scan_sort_order order, scan_sort_kind kind) {
    const uint64_t zero = scan_sort_code(0, order, kind);
    const uint64_t most = scan_sort_code(scan_sort_load(keys, first, kind.key_bytes), order, kind);
    const uint64_t least = scan_sort_code(scan_sort_load(keys, last, kind.key_bytes), order, kind);
    return (most >= zero && least <= zero) || most == order.nan || least == order.nan;
}

/* Whether keys begin ... begin + count are one key again and again. */
#define IS_SAME(width)                                                                                                 \
    SCAN_INLINE bool is_same_##width(const void *keys, size_t begin, size_t count) {                                   \
        const scan_sort_u##width *at = (const scan_sort_u##width *)keys + begin, first = at[0];                        \
        scan_sort_u##width differ = 0;                                                                                 \
        size_t k = 0; /* aligned where the keys are */                                                                 \
        if (at[count] != first || at[1] != first)                                                                      \
            return false;                                                                                              \
        if (count > ORDERED_AT_ONCE) {                                                                                 \
            for (; k < ORDERED_AT_ONCE; k++)                                                                           \
                differ |= at[k] ^ first;                                                                               \
            if (differ)                                                                                                \
                return false;                                                                                          \
        }                                                                                                              \
        for (; k < count; k++)                                                                                         \
            differ |= at[k] ^ first;                                                                                   \
        return differ == 0;                                                                                            \
    }
IS_SAME(8)
IS_SAME(16)
IS_SAME(32)
IS_SAME(64)
#undef IS_SAME

/* Whether floats from `begin` on are numbers of one sign in ascending order, or in descending order, without ties if
 * `strictly`: their bits are ordered as their magnitudes. The comparisons are of integers: those of floats may take
 * denormal numbers for zeros. */
#define IS_MONOTONIC(width, infinity)                                                                                  \
    SCAN_INLINE bool is_monotonic_##width(const void *keys, size_t begin, bool ascending, bool strictly) {             \
        typedef int##width##_t __attribute__((may_alias)) bits;                                                        \
        const bits *const x = (const bits *)keys + begin;                                                              \
        const bool negative = x[0] < 0, grows = ascending != negative;                                                 \
        const bits *const low = x + !grows, *const high = x + grows;                                                   \
        bits wrong = 0;                                                                                                \
        if ((x[ORDERED_AT_ONCE] < 0) != negative || (x[grows ? ORDERED_AT_ONCE : 0] & INT##width##_MAX) > (infinity))  \
            return false;                                                                                              \
        for (size_t k = 0; k < ORDERED_AT_ONCE; k++)                                                                   \
            wrong |= (bits) - (strictly ? low[k] >= high[k] : low[k] > high[k]);                                       \
        return wrong == 0;                                                                                             \
    }
IS_MONOTONIC(32, 0x7f800000)
IS_MONOTONIC(64, 0x7ff0000000000000)
#undef IS_MONOTONIC

SCAN_INLINE bool are_monotonic_floats(const void *keys, size_t begin, bool ascending, bool strictly,
                                      scan_sort_kind kind) {
    return kind.is_float && (kind.key_bytes == 4 ? is_monotonic_32(keys, begin, ascending, strictly)
                                                 : is_monotonic_64(keys, begin, ascending, strictly));
}

/* refined: signed codes of one order. In the order of sign and magnitude NaNs of the two signs lie at the two ends; a
 * rotation by their number brings them together.
 * exact: the order of keys begin ... begin + count. */
#define ORDERED(width)                                                                                                 \
    SCAN_INLINE int##width##_t refined_##width(const void *keys, size_t i, scan_sort_order order,                      \
                                               scan_sort_kind kind) {                                                  \
        if (!kind.is_float)                                                                                            \
            return scan_sort_signed_code_##width(keys, i, order, kind);                                                \
        const uint##width##_t nans = (uint##width##_t)(kind.key_bytes == 4 ? 0x7fffffu : 0xfffffffffffffu);            \
        const int##width##_t x = (int##width##_t)scan_sort_load(keys, i, kind.key_bytes);                              \
        const uint##width##_t code =                                                                                   \
            (uint##width##_t)(x ^ (x >> (width - 1) & INT##width##_MAX)) ^ (uint##width##_t)order.flip;                \
        return (int##width##_t)(uint##width##_t)(order.nan ? code - nans : code + nans);                               \
    }                                                                                                                  \
    SCAN_INLINE unsigned exact_##width(const void *keys, size_t begin, size_t count, scan_sort_order order,            \
                                       scan_sort_kind kind) {                                                          \
        int##width##_t codes[ORDERED_AT_ONCE + 1], up = 0, down = 0, same = 0;                                         \
        for (size_t k = 0; kind.is_float && k <= count; k++)                                                           \
            codes[k] = scan_sort_signed_code_##width(keys, begin + k, order, kind);                                    \
        for (size_t k = 0; k < count; k++) {                                                                           \
            const int##width##_t a = kind.is_float ? codes[k]                                                          \
                                                   : scan_sort_signed_code_##width(keys, begin + k, order, kind),      \
                                 b = kind.is_float ? codes[k + 1]                                                      \
                                                   : scan_sort_signed_code_##width(keys, begin + k + 1, order, kind);  \
            up |= (int##width##_t) - (a > b);                                                                          \
            down |= (int##width##_t) - (a < b);                                                                        \
            same |= (int##width##_t) - (a == b);                                                                       \
        }                                                                                                              \
        return (up ? 0u : SCAN_SORT_ASCENDING) | (down ? 0u : SCAN_SORT_DESCENDING) | (same ? 0u : SCAN_SORT_NO_TIES); \
    }                                                                                                                  \
    SCAN_INLINE bool ascends_##width(const void *keys, size_t begin, scan_sort_order order, scan_sort_kind kind) {     \
        int##width##_t up = 0;                                                                                         \
        if (are_monotonic_floats(keys, begin, order.flip == 0, false, kind))                                           \
            return true;                                                                                               \
        for (size_t k = begin; k < begin + ORDERED_AT_ONCE; k++)                                                       \
            up |= (int##width##_t) -                                                                                   \
                  (refined_##width(keys, k, order, kind) > refined_##width(keys, k + 1, order, kind));                 \
        return !up;                                                                                                    \
    }                                                                                                                  \
    SCAN_INLINE bool descends_##width(const void *keys, size_t begin, scan_sort_order order, scan_sort_kind kind) {    \
        int##width##_t down = 0;                                                                                       \
        if (are_monotonic_floats(keys, begin, order.flip != 0, false, kind))                                           \
            return true;                                                                                               \
        for (size_t k = begin; k < begin + ORDERED_AT_ONCE; k++)                                                       \
            down |= (int##width##_t) -                                                                                 \
                    (refined_##width(keys, k, order, kind) < refined_##width(keys, k + 1, order, kind));               \
        return !down;                                                                                                  \
    }                                                                                                                  \
    SCAN_INLINE bool descends_strictly_##width(const void *keys, size_t begin, scan_sort_order order,                  \
                                               scan_sort_kind kind) {                                                  \
        int##width##_t down = 0;                                                                                       \
        if (are_monotonic_floats(keys, begin, order.flip != 0, true, kind))                                            \
            return true;                                                                                               \
        for (size_t k = begin; k < begin + ORDERED_AT_ONCE; k++)                                                       \
            down |= (int##width##_t) -                                                                                 \
                    (refined_##width(keys, k, order, kind) <= refined_##width(keys, k + 1, order, kind));              \
        return !down && !(kind.is_float && touches_ties(keys, begin, begin + ORDERED_AT_ONCE, order, kind));           \
    }                                                                                                                  \
    SCAN_INLINE unsigned ordered_##width(const void *keys, size_t begin, size_t end, scan_sort_order order,            \
                                         unsigned flags, scan_sort_kind kind) {                                        \
        for (size_t i = begin, count; i + 1 < end && flags & (SCAN_SORT_ASCENDING | SCAN_SORT_DESCENDING);             \
             i += count) {                                                                                             \
            count = end - 1 - i < SAME_AT_ONCE ? end - 1 - i : SAME_AT_ONCE;                                           \
            if (flags & SCAN_SORT_ASCENDING && flags & SCAN_SORT_DESCENDING && is_same_##width(keys, i, count)) {      \
                flags &= ~(unsigned)SCAN_SORT_NO_TIES;                                                                 \
                continue;                                                                                              \
            }                                                                                                          \
            count = count < ORDERED_AT_ONCE ? count : ORDERED_AT_ONCE;                                                 \
            if (count == ORDERED_AT_ONCE &&                                                                            \
                ((!(flags & SCAN_SORT_DESCENDING) && ascends_##width(keys, i, order, kind)) ||                         \
                 (flags == (SCAN_SORT_DESCENDING | SCAN_SORT_NO_TIES) &&                                               \
                  descends_strictly_##width(keys, i, order, kind)) ||                                                  \
                 (flags == SCAN_SORT_DESCENDING && descends_##width(keys, i, order, kind))))                           \
                continue;                                                                                              \
            flags &= exact_##width(keys, i, count, order, kind);                                                       \
        }                                                                                                              \
        return flags;                                                                                                  \
    }

ORDERED(8)
ORDERED(16)
ORDERED(32)
ORDERED(64)
#undef ORDERED

/* What of `flags` is true of keys begin ... end. */
SCAN_INLINE unsigned ordered(const void *keys, size_t begin, size_t end, scan_sort_order order, unsigned flags,
                             scan_sort_kind kind) {
    switch (kind.key_bytes) {
    case 1: return ordered_8(keys, begin, end, order, flags, kind);
    case 2: return ordered_16(keys, begin, end, order, flags, kind);
    case 4: return ordered_32(keys, begin, end, order, flags, kind);
    default: return ordered_64(keys, begin, end, order, flags, kind);
    }
}

#endif
