/* SPDX-License-Identifier: MIT
 *
 * The digits of keys: some bits of their codes, or how many splitters are less than their codes. Loops over a few keys
 * at a time, which the compiler vectorizes.
 *
 * Included by kernels.h only.
 */
#ifndef SCAN_CPU_SORT_CLASSIFY_H
#define SCAN_CPU_SORT_CLASSIFY_H

#include "sort.h"

enum { DIGITS_AT_ONCE = 64 };

/* Comparisons of signed integers are what SIMD levels have. */
#define CLASSIFY(width)                                                                                                \
    SCAN_INLINE void classify_##width(uint16_t *restrict digits, const void *keys, size_t begin, size_t count,         \
                                      scan_sort_order order, const scan_sort_splitters *splitters,                     \
                                      scan_sort_kind kind) {                                                           \
        const uint##width##_t sign = (uint##width##_t)1 << (width - 1);                                                \
        int##width##_t codes[DIGITS_AT_ONCE], less[DIGITS_AT_ONCE];                                                    \
        for (size_t k = 0; k < count; k++)                                                                             \
            codes[k] = scan_sort_signed_code_##width(keys, begin + k, order, kind);                                    \
        if (count < DIGITS_AT_ONCE)                                                                                    \
            memset(codes + count, 0, (DIGITS_AT_ONCE - count) * sizeof *codes);                                        \
        for (unsigned s = 0; s < splitters->n; s++) {                                                                  \
            const int##width##_t splitter = (int##width##_t)((uint##width##_t)splitters->codes[s] ^ sign);             \
            for (size_t k = 0; k < DIGITS_AT_ONCE; k++)                                                                \
                less[k] = (s > 0 ? less[k] : 0) + (codes[k] > splitter);                                               \
        }                                                                                                              \
        for (size_t k = 0; k < DIGITS_AT_ONCE; k++)                                                                    \
            digits[k] = (uint16_t)less[k];                                                                             \
    }
CLASSIFY(32)
CLASSIFY(64)
#undef CLASSIFY

/* Digits of keys from `begin` on, at most DIGITS_AT_ONCE of them; `digits` has room for so many. Returns how many. */
SCAN_INLINE size_t classify(uint16_t *restrict digits, const void *keys, size_t begin, size_t end,
                            scan_sort_order order, const scan_sort_splitters *splitters, scan_sort_kind kind) {
    const size_t count = end - begin < DIGITS_AT_ONCE ? end - begin : DIGITS_AT_ONCE;
    if (kind.key_bytes == 8)
        classify_64(digits, keys, begin, count, order, splitters, kind);
    else
        classify_32(digits, keys, begin, count, order, splitters, kind);
    return count;
}

/* Adds to counts[d] how many keys have the digit d, and to *varying the bits in which their codes differ from `first`.
 */
#define COUNT_BY(width)                                                                                                \
    SCAN_INLINE void count_by_splitters_##width(const void *keys, size_t begin, size_t end, scan_sort_order order,     \
                                                const scan_sort_splitters *splitters, uint64_t *counts,                \
                                                uint64_t *varying, uint64_t first, scan_sort_kind kind) {              \
        enum { AT_ONCE = 256 };                                                                                        \
        const uint##width##_t sign = (uint##width##_t)1 << (width - 1);                                                \
        int##width##_t codes[AT_ONCE];                                                                                 \
        uint##width##_t differ = 0;                                                                                    \
        for (size_t i = begin, count; i < end; i += count) {                                                           \
            count = end - i < AT_ONCE ? end - i : AT_ONCE;                                                             \
            for (size_t k = 0; k < count; k++) {                                                                       \
                codes[k] = scan_sort_signed_code_##width(keys, i + k, order, kind);                                    \
                differ |= (uint##width##_t)codes[k] ^ sign ^ (uint##width##_t)first;                                   \
            }                                                                                                          \
            uint##width##_t before = 0;                                                                                \
            for (unsigned s = 0; s < splitters->n; s++) {                                                              \
                const int##width##_t splitter = (int##width##_t)((uint##width##_t)splitters->codes[s] ^ sign);         \
                uint##width##_t up_to = 0;                                                                             \
                for (size_t k = 0; k < count; k++)                                                                     \
                    up_to += codes[k] <= splitter;                                                                     \
                counts[s] += up_to - before;                                                                           \
                before = up_to;                                                                                        \
            }                                                                                                          \
            counts[splitters->n] += count - before;                                                                    \
        }                                                                                                              \
        *varying |= differ;                                                                                            \
    }
COUNT_BY(32)
COUNT_BY(64)
#undef COUNT_BY

SCAN_INLINE void count_by_splitters(const void *keys, size_t begin, size_t end, scan_sort_order order,
                                    const scan_sort_splitters *splitters, uint64_t *counts, uint64_t *varying,
                                    uint64_t first, scan_sort_kind kind) {
    if (kind.key_bytes == 8)
        count_by_splitters_64(keys, begin, end, order, splitters, counts, varying, first, kind);
    else
        count_by_splitters_32(keys, begin, end, order, splitters, counts, varying, first, kind);
}

/* classify() as a function of its own: inlined, it would take the registers of the loops around it. */
typedef size_t scan_sort_classify(uint16_t *digits, const void *keys, size_t begin, size_t end, scan_sort_order order,
                                  const scan_sort_splitters *splitters);

SCAN_INLINE size_t load_digits(uint16_t *restrict digits, const void *keys, size_t begin, size_t end,
                               scan_sort_order order, unsigned shift, unsigned bits, scan_sort_kind kind) {
    const uint32_t mask = (1u << bits) - 1;
    const size_t count = end - begin < DIGITS_AT_ONCE ? end - begin : DIGITS_AT_ONCE;
    for (size_t k = 0; k < count; k++) {
        uint64_t code = scan_sort_code(scan_sort_load(keys, begin + k, kind.key_bytes), order, kind);
        digits[k] = (uint16_t)((kind.key_bytes == 8 ? (uint32_t)(code >> shift) : (uint32_t)code >> shift) & mask);
    }
    return count;
}

#endif
