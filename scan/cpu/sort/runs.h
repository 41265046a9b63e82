/* SPDX-License-Identifier: MIT
 *
 * Where runs of equal keys end (runs.c).
 *
 * Included by kernels.h only.
 */
#ifndef SCAN_CPU_SORT_RUNS_H
#define SCAN_CPU_SORT_RUNS_H

#include "sort.h"

/* How many keys, of those at begin ... end - 1, are equal to the first one until one is not. */
#if defined(__AVX512F__)
SCAN_INLINE size_t length_of_run(const void *keys, size_t begin, size_t end, unsigned key_bytes) {
    const unsigned lanes = 64 / key_bytes;
    const uint64_t key = scan_sort_load(keys, begin, key_bytes);
    const __m512i first = key_bytes == 4 ? _mm512_set1_epi32((int)key) : _mm512_set1_epi64((long long)key);
    size_t i = begin;
    for (; i + lanes <= end; i += lanes) {
        const __m512i v = _mm512_loadu_si512((const char *)keys + i * key_bytes);
        const unsigned differ =
            key_bytes == 4 ? _mm512_cmpneq_epi32_mask(v, first) : _mm512_cmpneq_epi64_mask(v, first);
        if (differ)
            return i + (unsigned)__builtin_ctz(differ) - begin;
    }
    while (i < end && scan_sort_load(keys, i, key_bytes) == key)
        i++;
    return i - begin;
}
#else
SCAN_INLINE size_t length_of_run(const void *keys, size_t begin, size_t end, unsigned key_bytes) {
    enum { AT_ONCE = 16 };
    const uint64_t key = scan_sort_load(keys, begin, key_bytes);
    size_t i = begin;
    for (uint64_t differ = 0; i + AT_ONCE <= end && differ == 0; i += AT_ONCE) {
        for (size_t k = 0; k < AT_ONCE; k++)
            differ |= scan_sort_load(keys, i + k, key_bytes) ^ key;
        if (differ)
            break;
    }
    while (i < end && scan_sort_load(keys, i, key_bytes) == key)
        i++;
    return i - begin;
}
#endif

/* Writes the key of each run of equal keys, and its length. Returns how many there are, or SIZE_MAX if there is no room
 * for all. */
SCAN_INLINE size_t find_runs(const void *keys, size_t begin, size_t end, scan_sort_columns runs, size_t room,
                             scan_sort_kind kind) {
    size_t n = 0;
    for (size_t i = begin; i < end; n++) {
        const size_t length = length_of_run(keys, i, end, kind.key_bytes);
        if (n == room)
            return SIZE_MAX;
        scan_sort_store(runs.keys, n, scan_sort_load(keys, i, kind.key_bytes), kind.key_bytes);
        ((uint32_t *)runs.values)[n] = (uint32_t)length;
        i += length;
    }
    return n;
}

#endif
