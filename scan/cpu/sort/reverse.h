/* SPDX-License-Identifier: MIT
 *
 * Input in descending order is reversed; elements of equal keys, which a reversal turns round, are turned once more.
 *
 * Included by kernels.h only.
 */
#ifndef SCAN_CPU_SORT_REVERSE_H
#define SCAN_CPU_SORT_REVERSE_H

#include "distribute.h"
#include "sort.h"

#if defined(__AVX2__)
SCAN_INLINE __m256i reverse_vector(const char *from, unsigned bytes) {
    const __m256i v = _mm256_loadu_si256((const __m256i *)(const void *)from);
    const __m256i halves = _mm256_permute4x64_epi64(v, 0x4e);
    switch (bytes) {
    case 1:
        return _mm256_shuffle_epi8(
            halves, _mm256_broadcastsi128_si256(_mm_setr_epi8(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)));
    case 2:
        return _mm256_shuffle_epi8(
            halves, _mm256_broadcastsi128_si256(_mm_setr_epi8(14, 15, 12, 13, 10, 11, 8, 9, 6, 7, 4, 5, 2, 3, 0, 1)));
    case 4: return _mm256_shuffle_epi32(halves, 0x1b);
    default: return _mm256_permute4x64_epi64(v, 0x1b);
    }
}
#endif

/* Elements begin ... end of a column of n change places with those as far from its end. */
SCAN_INLINE void reverse_column(const void *from, void *to, size_t begin, size_t end, size_t n, unsigned bytes) {
    size_t i = begin;
#if defined(__AVX2__)
    const size_t lanes = 32 / bytes;
    for (; i + lanes <= end && 2 * (i + lanes) <= n; i += lanes) {
        const size_t other = n - i - lanes;
        const __m256i a = reverse_vector((const char *)from + i * bytes, bytes),
                      b = reverse_vector((const char *)from + other * bytes, bytes);
        _mm256_storeu_si256((__m256i *)(void *)((char *)to + i * bytes), b);
        _mm256_storeu_si256((__m256i *)(void *)((char *)to + other * bytes), a);
    }
#endif
    for (; i < end; i++) {
        const size_t other = n - 1 - i;
        const uint64_t a = scan_sort_load(from, i, bytes), b = scan_sort_load(from, other, bytes);
        scan_sort_store(to, i, b, bytes);
        scan_sort_store(to, other, a, bytes);
    }
}

/* Elements begin ... end of the reversed array; in place the elements are swapped, for begin ... end in its first half.
 */
SCAN_INLINE void reverse(scan_sort_columns from, scan_sort_columns to, size_t begin, size_t end, size_t n,
                         scan_sort_kind kind) {
    if (to.keys)
        reverse_column(from.keys, to.keys, begin, end, n, kind.key_bytes);
    if (kind.value_bytes && from.values)
        reverse_column(from.values, to.values, begin, end, n, kind.value_bytes);
    for (size_t i = begin; kind.value_bytes && !from.values && i < end; i++) {
        scan_sort_store(to.values, i, n - 1 - i, kind.value_bytes);
        scan_sort_store(to.values, n - 1 - i, i, kind.value_bytes);
    }
}

SCAN_INLINE void turn_column(void *column, size_t begin, size_t end, unsigned bytes) {
    enum { SHORT = 16 };
    if (end - begin >= SHORT) {
        char *run = (char *)column + begin * bytes;
        reverse_column(run, run, 0, (end - begin) / 2, end - begin, bytes);
        return;
    }
    for (; begin + 1 < end; begin++) {
        end--;
        const uint64_t a = scan_sort_load(column, begin, bytes);
        scan_sort_store(column, begin, scan_sort_load(column, end, bytes), bytes);
        scan_sort_store(column, end, a, bytes);
    }
}

/* Of integers the keys of a run are the same. */
SCAN_INLINE void turn_run(scan_sort_columns to, size_t begin, size_t end, bool keys, scan_sort_kind kind) {
    if (to.keys && keys)
        turn_column(to.keys, begin, end, kind.key_bytes);
    if (kind.value_bytes)
        turn_column(to.values, begin, end, kind.value_bytes);
}

SCAN_INLINE uint64_t code_at(const void *keys, size_t i, scan_sort_order order, scan_sort_kind kind) {
    return scan_sort_code(scan_sort_load(keys, i, kind.key_bytes), order, kind);
}

/* Of floats alone only zeros and NaNs can be told from their equals. The keys are sorted. */
SCAN_INLINE void turn_ties_of_floats(void *keys, size_t begin, size_t end, scan_sort_order order, scan_sort_kind kind) {
    const uint64_t ties[] = {scan_sort_code(0, order, kind), order.nan};
    for (size_t t = 0; t < 2; t++) {
        size_t bounds[2]; /* of the first that is not before, and of the first that is behind */
        for (size_t k = 0; k < 2; k++) {
            size_t low = begin, high = end;
            while (low < high) {
                const size_t middle = low + (high - low) / 2;
                const uint64_t code = code_at(keys, middle, order, kind);
                if (k == 0 ? code < ties[t] : code <= ties[t])
                    low = middle + 1;
                else
                    high = middle;
            }
            bounds[k] = low;
        }
        turn_column(keys, bounds[0], bounds[1], kind.key_bytes);
    }
}

/* Whether keys begin ... begin + count have equal neighbours. */
#define HAS_TIES(width)                                                                                                \
    SCAN_INLINE bool has_ties_##width(const void *keys, size_t begin, size_t count, scan_sort_order order,             \
                                      scan_sort_kind kind) {                                                           \
        int##width##_t same = 0;                                                                                       \
        for (size_t k = begin; k < begin + count; k++)                                                                 \
            same |= (int##width##_t) - (scan_sort_signed_code_##width(keys, k, order, kind) ==                         \
                                        scan_sort_signed_code_##width(keys, k + 1, order, kind));                      \
        return same != 0;                                                                                              \
    }
HAS_TIES(32)
HAS_TIES(64)
#undef HAS_TIES

/* Turns elements begin ... end of `to` round wherever their keys are equal; these are at `last`, `last` - 1 ... of
 * `keys`, which are not in `to`, or where the elements are. A key equal to one of theirs is not elsewhere. */
SCAN_INLINE void turn_ties(const void *keys, size_t last, scan_sort_columns to, size_t begin, size_t end,
                           scan_sort_order order, scan_sort_kind kind) {
    enum { BLOCK = 64, STEP = 8, LONG_STEP = 64 };
    const bool apart = keys != to.keys, differ = kind.is_float || order.mask != ~0ull >> (64 - 8 * kind.key_bytes);
    if (kind.value_bytes == 0 && kind.is_float && !apart) {
        turn_ties_of_floats(to.keys, begin, end, order, kind);
        return;
    }
#define CODE(i) code_at(keys, apart ? last - (i) : (i), order, kind)
    for (size_t i = begin, stop; i < end;) {
        stop = end - i < BLOCK ? end : i + BLOCK;
        if (i + BLOCK < end) {
            const size_t first = apart ? last - i - BLOCK : i;
            if (!(kind.key_bytes == 8 ? has_ties_64(keys, first, BLOCK, order, kind)
                                      : has_ties_32(keys, first, BLOCK, order, kind))) {
                i = stop;
                continue;
            }
        }
        while (i < stop) {
            const uint64_t code = CODE(i);
            size_t after = i + 1;
            if (i + STEP < end && CODE(i + STEP) == code) { /* what lies between has that code, too */
                for (after = i + STEP; after + LONG_STEP < end && CODE(after + LONG_STEP) == code;)
                    after += LONG_STEP;
                while (after + STEP < end && CODE(after + STEP) == code)
                    after += STEP;
                after++;
            }
            while (after < end && CODE(after) == code)
                after++;
            if (after - i > 1)
                turn_run(to, i, after, differ, kind);
            i = after;
        }
    }
#undef CODE
}

#endif
