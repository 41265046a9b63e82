/* SPDX-License-Identifier: MIT
 *
 * Whether keys are in order already, in blocks without a branch: the test of random input ends at the first one, and
 * that of sorted input is vectorized.
 *
 * A block is tested for the one direction that is left. Integers, if all bits decide, and floats of one sign are
 * compared as they are; if that fails, by codes that tell ties apart, zeros by their sign and NaNs by their bits: they
 * take a few instructions, and what is in that order is in the one asked for. Only a block that is not goes by the
 * codes of code.h.
 *
 * Included by kernels.h only.
 */
#ifndef SCAN_CPU_SORT_IN_ORDER_H
#define SCAN_CPU_SORT_IN_ORDER_H

#include "sort.h"

enum {
    ORDERED_AT_ONCE = 128,
    FIRST_LOOK = 8,     /* pairs of neighbours that say which order is left */
    SAME_AT_ONCE = 1024 /* keys compared with the first one while all equal it; twice as many after each such block */
};

/* Whether a block of descending floats may have ties: if zero lies in its range, or NaN. */
SCAN_INLINE bool touches_ties(const void *keys, size_t first, size_t last, scan_sort_order order, scan_sort_kind kind) {
    const uint64_t zero = scan_sort_code(0, order, kind);
    const uint64_t most = scan_sort_code(scan_sort_load(keys, first, kind.key_bytes), order, kind);
    const uint64_t least = scan_sort_code(scan_sort_load(keys, last, kind.key_bytes), order, kind);
    return (most >= zero && least <= zero) || most == order.nan || least == order.nan;
}

/* Returns how many keys from `begin` on equal the first, as the key after them does too: `count`, a multiple of
 * ORDERED_AT_ONCE, or 0. */
#define COUNT_SAME(width)                                                                                              \
    SCAN_INLINE bool differ_##width(const scan_sort_u##width *at, size_t begin, size_t end) {                          \
        scan_sort_u##width differ = 0;                                                                                 \
        for (size_t k = begin; k < end; k++) /* aligned where the keys are */                                          \
            differ |= at[k] ^ at[0];                                                                                   \
        return differ != 0;                                                                                            \
    }                                                                                                                  \
    SCAN_INLINE size_t count_same_##width(const void *keys, size_t begin, size_t count) {                              \
        const scan_sort_u##width *at = (const scan_sort_u##width *)keys + begin;                                       \
        const size_t block = count < ORDERED_AT_ONCE ? count : ORDERED_AT_ONCE;                                        \
        size_t same = block;                                                                                           \
        if (at[1] != at[0] || at[block] != at[0] || differ_##width(at, 0, block))                                      \
            return 0;                                                                                                  \
        if (at[count] == at[0] && !differ_##width(at, block, count))                                                   \
            return count;                                                                                              \
        for (size_t step = count / 2; step >= ORDERED_AT_ONCE; step /= 2) {                                            \
            const size_t next = (same + step) / ORDERED_AT_ONCE * ORDERED_AT_ONCE;                                     \
            if (at[next] == at[0] && !differ_##width(at, same, next))                                                  \
                same = next;                                                                                           \
        }                                                                                                              \
        return same;                                                                                                   \
    }
COUNT_SAME(8)
COUNT_SAME(16)
COUNT_SAME(32)
COUNT_SAME(64)
#undef COUNT_SAME

/* Whether each of ORDERED_AT_ONCE keys from `begin` on and the one after it ascend, or descend if not `grows`, as
 * signed integers of which `sign` bits are inverted. */
#define IS_MONOTONIC(width)                                                                                            \
    SCAN_INLINE bool is_monotonic_##width(const void *keys, size_t begin, bool grows, bool strictly, uint64_t sign) {  \
        const scan_sort_u##width *const x = (const scan_sort_u##width *)keys + begin;                                  \
        const scan_sort_u##width *const low = x + !grows, *const high = x + grows, flip = (scan_sort_u##width)sign;    \
        int##width##_t wrong = 0;                                                                                      \
        for (size_t k = 0; k < ORDERED_AT_ONCE; k++) {                                                                 \
            const int##width##_t a = (int##width##_t)(low[k] ^ flip), b = (int##width##_t)(high[k] ^ flip);            \
            wrong |= (int##width##_t)((strictly ? a >= b : a > b) ? -1 : 0);                                           \
        }                                                                                                              \
        return wrong == 0;                                                                                             \
    }
IS_MONOTONIC(8)
IS_MONOTONIC(16)
IS_MONOTONIC(32)
IS_MONOTONIC(64)
#undef IS_MONOTONIC

/* Whether that is so of floats, which are numbers of one sign then: their bits are ordered as their magnitudes. The
 * comparisons are of integers: those of floats may take denormal numbers for zeros. */
SCAN_INLINE bool are_monotonic_floats(const void *keys, size_t begin, bool ascending, bool strictly,
                                      scan_sort_kind kind) {
    const uint64_t sign = 1ull << (8 * kind.key_bytes - 1),
                   infinity = kind.key_bytes == 4 ? 0x7f800000 : 0x7ff0000000000000;
    const uint64_t first = scan_sort_load(keys, begin, kind.key_bytes),
                   last = scan_sort_load(keys, begin + ORDERED_AT_ONCE, kind.key_bytes);
    const bool grows = ascending != ((first & sign) != 0);
    if (!kind.is_float || (first ^ last) & sign || ((grows ? last : first) & ~sign) > infinity)
        return false;
    return kind.key_bytes == 4 ? is_monotonic_32(keys, begin, grows, strictly, 0)
                               : is_monotonic_64(keys, begin, grows, strictly, 0);
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
            up |= (int##width##_t)(a > b ? -1 : 0);                                                                    \
            down |= (int##width##_t)(a < b ? -1 : 0);                                                                  \
            same |= (int##width##_t)(a == b ? -1 : 0);                                                                 \
        }                                                                                                              \
        return (up ? 0u : SCAN_SORT_ASCENDING) | (down ? 0u : SCAN_SORT_DESCENDING) | (same ? 0u : SCAN_SORT_NO_TIES); \
    }                                                                                                                  \
    SCAN_INLINE bool is_run_##width(const void *keys, size_t begin, bool ascending, bool strictly,                     \
                                    scan_sort_order order, scan_sort_kind kind) {                                      \
        const uint64_t all = ~0ull >> (64 - width), sign = (uint64_t)1 << (width - 1);                                 \
        int##width##_t wrong = 0;                                                                                      \
        if (!kind.is_float && order.mask == all)                                                                       \
            return is_monotonic_##width(keys, begin, ascending == !(order.flip & 1), strictly,                         \
                                        (order.flip & 1) == (order.flip >> (width - 1) & 1) ? sign : 0);               \
        if (are_monotonic_floats(keys, begin, ascending == (order.flip == 0), strictly, kind))                         \
            return true;                                                                                               \
        for (size_t k = begin; k < begin + ORDERED_AT_ONCE; k++) {                                                     \
            const int##width##_t a = refined_##width(keys, k, order, kind),                                            \
                                 b = refined_##width(keys, k + 1, order, kind);                                        \
            wrong |= (int##width##_t)((ascending ? a > b : strictly ? a <= b : a < b) ? -1 : 0);                       \
        }                                                                                                              \
        return !wrong &&                                                                                               \
               !(strictly && kind.is_float && touches_ties(keys, begin, begin + ORDERED_AT_ONCE, order, kind));        \
    }                                                                                                                  \
    SCAN_INLINE unsigned ordered_##width(const void *keys, size_t begin, size_t end, scan_sort_order order,            \
                                         unsigned flags, size_t *sorted, scan_sort_kind kind) {                        \
        size_t at_once = SAME_AT_ONCE;                                                                                 \
        for (size_t i = begin, count; i + 1 < end && flags & (SCAN_SORT_ASCENDING | SCAN_SORT_DESCENDING);             \
             i += count) {                                                                                             \
            count = end - 1 - i < at_once ? end - 1 - i : at_once;                                                     \
            if (flags & SCAN_SORT_ASCENDING)                                                                           \
                *sorted = i;                                                                                           \
            const size_t same =                                                                                        \
                flags & SCAN_SORT_ASCENDING && flags & SCAN_SORT_DESCENDING ? count_same_##width(keys, i, count) : 0;  \
            if (same > 0) {                                                                                            \
                flags &= ~(unsigned)SCAN_SORT_NO_TIES;                                                                 \
                at_once = same == count ? 2 * at_once : SAME_AT_ONCE;                                                  \
                count = same;                                                                                          \
                continue;                                                                                              \
            }                                                                                                          \
            if (i == begin) {                                                                                          \
                flags &= exact_##width(keys, i, count < FIRST_LOOK ? count : FIRST_LOOK, order, kind);                 \
                if (!(flags & (SCAN_SORT_ASCENDING | SCAN_SORT_DESCENDING)))                                           \
                    break;                                                                                             \
            }                                                                                                          \
            if (count < ORDERED_AT_ONCE && i - begin >= ORDERED_AT_ONCE - count)                                       \
                i -= ORDERED_AT_ONCE - count; /* the last ones are looked at in a whole block */                       \
            count = end - 1 - i < ORDERED_AT_ONCE ? end - 1 - i : ORDERED_AT_ONCE;                                     \
            const bool ascends = flags & SCAN_SORT_ASCENDING, descends = flags & SCAN_SORT_DESCENDING;                 \
            if (count == ORDERED_AT_ONCE && ascends && !descends && is_run_##width(keys, i, true, false, order, kind)) \
                continue;                                                                                              \
            if (count == ORDERED_AT_ONCE && descends && !ascends &&                                                    \
                (flags & SCAN_SORT_NO_TIES ? is_run_##width(keys, i, false, true, order, kind)                         \
                                           : is_run_##width(keys, i, false, false, order, kind)))                      \
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

/* What of `flags` is true of keys begin ... end, and how far they ascend, as `ordered` of sort.h says. */
SCAN_INLINE unsigned ordered(const void *keys, size_t begin, size_t end, scan_sort_order order, unsigned flags,
                             size_t *sorted, scan_sort_kind kind) {
    switch (kind.key_bytes) {
    case 1: return ordered_8(keys, begin, end, order, flags, sorted, kind);
    case 2: return ordered_16(keys, begin, end, order, flags, sorted, kind);
    case 4: return ordered_32(keys, begin, end, order, flags, sorted, kind);
    default: return ordered_64(keys, begin, end, order, flags, sorted, kind);
    }
}

#endif
