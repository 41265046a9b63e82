/* SPDX-License-Identifier: MIT
 *
 * The sort in cache of elements that leading bits would not spread: they are distributed to bins by splitters from a
 * sample, frequent values to bins of their own, and each bin is sorted by itself.
 *
 * Included by local.h only.
 */
#ifndef SCAN_CPU_SORT_DISTRIBUTE_H
#define SCAN_CPU_SORT_DISTRIBUTE_H

#include "classify.h"
#include "sort.h"

/* local() and distribute() as kernels, which call each other for a part of what they were called for. */
typedef void scan_sort_again(const scan_sort_local *);
typedef bool scan_sort_distribute(const scan_sort_local *, unsigned shift);

SCAN_INLINE uint64_t load_value(scan_sort_columns from, size_t i, scan_sort_kind kind) {
    return from.values ? scan_sort_load(from.values, i, kind.value_bytes) : i;
}

SCAN_INLINE void copy(scan_sort_columns from, scan_sort_columns to, size_t begin, size_t end, scan_sort_kind kind) {
    if (to.keys && to.keys != from.keys)
        memcpy((char *)to.keys + begin * kind.key_bytes, (const char *)from.keys + begin * kind.key_bytes,
               (end - begin) * kind.key_bytes);
    if (!kind.value_bytes || to.values == from.values)
        return;
    if (from.values)
        memcpy((char *)to.values + begin * kind.value_bytes, (const char *)from.values + begin * kind.value_bytes,
               (end - begin) * kind.value_bytes);
    else
        for (size_t i = begin; i < end; i++)
            scan_sort_store(to.values, i, i, kind.value_bytes);
}

/* Elements begin ... end of `to`, to be sorted there. */
SCAN_INLINE scan_sort_local elements_of(const scan_sort_local *l, size_t begin, size_t end, scan_sort_kind kind) {
    scan_sort_local some = *l;
    some.to.keys = (char *)l->to.keys + begin * kind.key_bytes;
    if (kind.value_bytes)
        some.to.values = (char *)l->to.values + begin * kind.value_bytes;
    some.from = some.to;
    some.n = end - begin;
    return some;
}

/* Splitters, if as far as a sample shows the bits above the lowest `shift` ones would leave large groups of elements
 * that agree in them and are not equal, or if there are few values. */
SCAN_INLINE bool find_splitters(const scan_sort_local *l, unsigned shift, scan_sort_splitters *splitters,
                                scan_sort_kind kind) {
    enum { MOST = 128, LARGE = 32 };
    const size_t n = l->n, samples = n < 256 * MOST ? MOST / 4 : MOST;
    uint64_t sample[MOST], at = n;
    size_t agree = 0, equal = 0;
    for (size_t i = 0; i < samples; i++) {
        at += 0x9e3779b97f4a7c15u;
        sample[i] = scan_sort_code(scan_sort_load(l->from.keys, (at >> 32) * n >> 32, kind.key_bytes), l->order, kind);
    }
    scan_cpu_sort_sort_codes(sample, samples);
    for (size_t i = 1; i < samples; i++) {
        equal += sample[i] == sample[i - 1];
        agree += sample[i] != sample[i - 1] && (sample[i] ^ sample[i - 1]) >> shift == 0;
    }
    /* Two elements agree with a probability of about 2 * agree / samples^2, which makes groups of n times that. */
    if (2 * agree * n < LARGE * samples * samples && equal < samples / 16 * 9)
        return false;
    scan_cpu_sort_choose_splitters(sample, samples, splitters);
    return true;
}

enum { PARTS = 4 };

/* Counts of each bin in each part become positions. begins[d]: where bin d begins; begins[bins]: where the last ends.
 */
SCAN_INLINE void scan_counts(uint32_t (*counts)[SCAN_SORT_MAX_SPLITTERS + 1], size_t bins, uint32_t *begins) {
    uint32_t sum = 0;
    for (size_t d = 0; d < bins; d++) {
        begins[d] = sum;
        for (size_t p = 0; p < PARTS; p++) {
            uint32_t c = counts[p][d];
            counts[p][d] = sum;
            sum += c;
        }
    }
    begins[bins] = sum;
}

/* Distributes to bins by splitters, and sorts each; or does nothing and returns false where bits spread the elements.
 * Four parts are gone through together, each with its own positions: elements of one bin that follow each other wait
 * for each other's position. */
SCAN_INLINE bool distribute(const scan_sort_local *l, unsigned shift, scan_sort_again *again, scan_sort_kind kind) {
    scan_sort_splitters splitters;
    if (!find_splitters(l, shift, &splitters, kind))
        return false;
    uint32_t positions[PARTS][SCAN_SORT_MAX_SPLITTERS + 1] = {{0}};
    uint16_t digits[PARTS][DIGITS_AT_ONCE];
    scan_sort_columns from = l->from;
    if (from.keys == l->to.keys || (kind.value_bytes && from.values == l->to.values)) {
        copy(from, l->spare, 0, l->n, kind);
        from = l->spare;
    }
    const size_t part = (l->n + PARTS - 1) / PARTS;
#define EACH(DO)                                                                                                       \
    for (size_t i = 0; i < part; i += DIGITS_AT_ONCE) {                                                                \
        size_t counts[PARTS], least = DIGITS_AT_ONCE;                                                                  \
        for (size_t p = 0; p < PARTS; p++) {                                                                           \
            size_t end = (p + 1) * part < l->n ? (p + 1) * part : l->n,                                                \
                   begin = p * part + i < end ? p * part + i : end;                                                    \
            counts[p] = classify(digits[p], from.keys, begin, end, l->order, &splitters, kind);                        \
            least = counts[p] < least ? counts[p] : least;                                                             \
        }                                                                                                              \
        for (size_t k = 0; k < least; k++) {                                                                           \
            DO(0, k);                                                                                                  \
            DO(1, k);                                                                                                  \
            DO(2, k);                                                                                                  \
            DO(3, k);                                                                                                  \
        }                                                                                                              \
        for (size_t p = 0; p < PARTS; p++)                                                                             \
            for (size_t k = least; k < counts[p]; k++)                                                                 \
                DO(p, k);                                                                                              \
    }
#define COUNT(p, k) positions[p][digits[p][k]]++
    EACH(COUNT)
#undef COUNT
    uint32_t begins[SCAN_SORT_MAX_SPLITTERS + 2];
    scan_counts(positions, splitters.n + 1, begins);
    void *const to_keys = l->to.keys, *const to_values = l->to.values;
    const bool have_values = from.values != NULL;
#define MOVE(p, k)                                                                                                     \
    do {                                                                                                               \
        size_t from_ = (p)*part + i + (k), to_ = positions[p][digits[p][k]]++;                                         \
        scan_sort_store(to_keys, to_, scan_sort_load(from.keys, from_, kind.key_bytes), kind.key_bytes);               \
        if (kind.value_bytes)                                                                                          \
            scan_sort_store(to_values, to_,                                                                            \
                            have_values ? scan_sort_load(from.values, from_, kind.value_bytes) : from_,                \
                            kind.value_bytes);                                                                         \
    } while (0)
    EACH(MOVE)
#undef MOVE
#undef EACH
    for (size_t d = 0; d <= splitters.n; d++) {
        scan_sort_local bin = elements_of(l, begins[d], begins[d + 1], kind);
        if (bin.n > 1)
            again(&bin);
    }
    return true;
}

#endif
