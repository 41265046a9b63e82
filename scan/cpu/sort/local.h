/* SPDX-License-Identifier: MIT
 *
 * A stable sort by one thread of what fits in its cache: radix sort, least significant digit first, over the bits that
 * vary. The width of the digits is the one that costs least: every pass moves n elements and walks all its counts.
 *
 * Where many bits vary among few keys the low ones hardly matter: the passes then sort by the leading bits only, and
 * an insertion sort over whole codes finishes (elements are almost in place). If it meets too much disorder the passes
 * are run over the rest after all; insertion keeps ties in order, so they may start from wherever it stopped.
 *
 * Included by kernels.h only.
 */
#ifndef SCAN_CPU_SORT_LOCAL_H
#define SCAN_CPU_SORT_LOCAL_H

#include "sort.h"

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

/* Elements begin ... end of the reversed array; in place the elements are swapped, for begin ... end in its first half.
 */
SCAN_INLINE void reverse(scan_sort_columns from, scan_sort_columns to, size_t begin, size_t end, size_t n,
                         scan_sort_kind kind) {
    for (size_t i = begin; i < end; i++) {
        size_t other = n - 1 - i;
        uint64_t a = scan_sort_load(from.keys, i, kind.key_bytes), b = scan_sort_load(from.keys, other, kind.key_bytes);
        if (to.keys) {
            scan_sort_store(to.keys, i, b, kind.key_bytes);
            scan_sort_store(to.keys, other, a, kind.key_bytes);
        }
        if (kind.value_bytes) {
            uint64_t c = load_value(from, i, kind), d = load_value(from, other, kind);
            scan_sort_store(to.values, i, d, kind.value_bytes);
            scan_sort_store(to.values, other, c, kind.value_bytes);
        }
    }
}

/* At most SCAN_SORT_TINY elements, on the stack. */
SCAN_INLINE void sort_tiny(const scan_sort_local *l, scan_sort_kind kind) {
    uint64_t codes[SCAN_SORT_TINY], keys[SCAN_SORT_TINY], values[SCAN_SORT_TINY];
    const bool whole_codes = !kind.is_float && l->order.mask == ~0ull >> (64 - 8 * kind.key_bytes);
    for (size_t i = 0; i < l->n; i++) {
        uint64_t key = scan_sort_load(l->from.keys, i, kind.key_bytes), code = scan_sort_code(key, l->order, kind);
        uint64_t value = kind.value_bytes ? load_value(l->from, i, kind) : 0;
        size_t at = i;
        for (; at > 0 && codes[at - 1] > code; at--) {
            codes[at] = codes[at - 1];
            if (!whole_codes)
                keys[at] = keys[at - 1];
            if (kind.value_bytes)
                values[at] = values[at - 1];
        }
        codes[at] = code;
        if (!whole_codes)
            keys[at] = key;
        if (kind.value_bytes)
            values[at] = value;
    }
    for (size_t i = 0; i < l->n; i++) {
        if (!l->drop_keys)
            scan_sort_store(l->to.keys, i, whole_codes ? codes[i] ^ l->order.flip : keys[i], kind.key_bytes);
        if (kind.value_bytes)
            scan_sort_store(l->to.values, i, values[i], kind.value_bytes);
    }
}

/* One pass by the digit at `shift`; positions[d] is where the next element of digit d goes. */
SCAN_INLINE void pass(size_t n, scan_sort_columns from, scan_sort_columns to, unsigned shift, unsigned bits,
                      uint32_t *positions, bool keys, bool codes, scan_sort_order order, scan_sort_kind kind) {
    const uint64_t digits = (1u << bits) - 1;
    for (size_t i = 0; i < n; i++) {
        uint64_t key = scan_sort_load(from.keys, i, kind.key_bytes), code = scan_sort_code(key, order, kind);
        size_t at = positions[code >> shift & digits]++;
        if (keys)
            scan_sort_store(to.keys, at, codes ? code : key, kind.key_bytes);
        if (kind.value_bytes)
            scan_sort_store(to.values, at, load_value(from, i, kind), kind.value_bytes);
    }
}

/* Where keys of floats are scratch, the first pass leaves their codes in their place, which need not be made again. */
SCAN_INLINE bool leaves_codes(const scan_sort_local *l, scan_sort_kind kind) { return kind.is_float && l->drop_keys; }

static const scan_sort_order of_codes = {.flip = 0, .mask = ~0ull, .nan = 0};

/* Passes over bits [low, high), `from` to `to`. */
SCAN_INLINE void passes(const scan_sort_local *l, scan_sort_columns from, unsigned low, unsigned digit_bits,
                        unsigned count, bool drop_keys, scan_sort_order order, scan_sort_kind kind) {
    const size_t bins = (size_t)1 << digit_bits;
    const uint64_t digits = bins - 1;
    memset(l->counts, 0, count * bins * sizeof *l->counts);
    for (size_t i = 0; i < l->n; i++) {
        uint64_t code = scan_sort_code(scan_sort_load(from.keys, i, kind.key_bytes), order, kind) >> low;
        for (unsigned p = 0; p < count; p++)
            l->counts[p * bins + (code >> p * digit_bits & digits)]++;
    }
    for (unsigned p = 0; p < count; p++) {
        uint32_t sum = 0, *counts = l->counts + p * bins;
        for (size_t d = 0; d < bins; d++) {
            uint32_t c = counts[d];
            counts[d] = sum;
            sum += c;
        }
    }
    bool in_place = from.keys == l->to.keys || (kind.value_bytes && from.values == l->to.values);
    if (in_place && count % 2 == 1) {
        copy(from, l->spare, 0, l->n, kind);
        from = l->spare;
    }
    for (unsigned p = 0; p < count; p++) {
        scan_sort_columns to = (count - p) % 2 ? l->to : l->spare;
        const bool keys = !(drop_keys && p + 1 == count), codes = leaves_codes(l, kind);
        if (codes && p > 0)
            pass(l->n, from, to, low + p * digit_bits, digit_bits, l->counts + p * bins, keys, false, of_codes,
                 (scan_sort_kind){kind.key_bytes, false, kind.value_bytes});
        else
            pass(l->n, from, to, low + p * digit_bits, digit_bits, l->counts + p * bins, keys, codes, order, kind);
        from = to;
    }
}

/* Insertion sort of `to` by whole codes; false if it gave up. */
SCAN_INLINE bool finish(const scan_sort_local *l, scan_sort_order order, scan_sort_kind kind) {
    size_t budget = 2 * l->n + 64;
    void *keys = l->to.keys, *values = l->to.values;
    uint64_t before = scan_sort_code(scan_sort_load(keys, 0, kind.key_bytes), order, kind);
    for (size_t i = 1; i < l->n; i++) {
        uint64_t key = scan_sort_load(keys, i, kind.key_bytes), code = scan_sort_code(key, order, kind);
        if (code >= before) {
            before = code;
            continue;
        }
        uint64_t value = kind.value_bytes ? scan_sort_load(values, i, kind.value_bytes) : 0;
        size_t at = i;
        do {
            scan_sort_store(keys, at, scan_sort_load(keys, at - 1, kind.key_bytes), kind.key_bytes);
            if (kind.value_bytes)
                scan_sort_store(values, at, scan_sort_load(values, at - 1, kind.value_bytes), kind.value_bytes);
            at--;
            budget--;
        } while (at > 0 && budget > 0 &&
                 scan_sort_code(scan_sort_load(keys, at - 1, kind.key_bytes), order, kind) > code);
        scan_sort_store(keys, at, key, kind.key_bytes);
        if (kind.value_bytes)
            scan_sort_store(values, at, value, kind.value_bytes);
        if (budget == 0)
            return false;
    }
    return true;
}

/* How many passes over `bits` bits cost least for n elements: a pass costs about n + bins / 2. */
SCAN_INLINE unsigned best_passes(size_t n, unsigned bits) {
    unsigned best = 0;
    size_t best_cost = SIZE_MAX;
    for (unsigned count = (bits + SCAN_SORT_MAX_DIGIT_BITS - 1) / SCAN_SORT_MAX_DIGIT_BITS; count <= 8; count++) {
        size_t cost = count * (n + ((size_t)1 << (bits + count - 1) / count) / 2);
        if (cost < best_cost) {
            best_cost = cost;
            best = count;
        }
    }
    return best;
}

/* The leading bits first, then insertion, or all bits after all. */
SCAN_INLINE void lead_and_finish(const scan_sort_local *l, unsigned low, unsigned bits, unsigned enough,
                                 scan_sort_kind kind) {
    const scan_sort_kind coded = {kind.key_bytes, false, kind.value_bytes};
    unsigned count = best_passes(l->n, enough), width = (enough + count - 1) / count;
    passes(l, l->from, low + bits - count * width, width, count, false, l->order, kind);
    const bool codes = leaves_codes(l, kind);
    if (codes ? finish(l, of_codes, coded) : finish(l, l->order, kind))
        return;
    count = (bits + SCAN_SORT_MAX_DIGIT_BITS - 1) / SCAN_SORT_MAX_DIGIT_BITS;
    width = (bits + count - 1) / count;
    if (codes)
        passes(l, l->to, low, width, count, l->drop_keys, of_codes, coded);
    else
        passes(l, l->to, low, width, count, l->drop_keys, l->order, kind);
}

SCAN_INLINE void local(const scan_sort_local *l, scan_sort_kind kind) {
    if (l->n <= SCAN_SORT_TINY) {
        sort_tiny(l, kind);
        return;
    }
    uint64_t first = scan_sort_code(scan_sort_load(l->from.keys, 0, kind.key_bytes), l->order, kind), varying = 0;
    for (size_t i = 1; i < l->n; i++)
        varying |= scan_sort_code(scan_sort_load(l->from.keys, i, kind.key_bytes), l->order, kind) ^ first;
    if (varying == 0) {
        copy(l->from, (scan_sort_columns){l->drop_keys ? NULL : l->to.keys, l->to.values}, 0, l->n, kind);
        return;
    }
    unsigned low = (unsigned)__builtin_ctzll(varying), bits = 64 - (unsigned)__builtin_clzll(varying) - low;
    unsigned enough = 64 - (unsigned)__builtin_clzll(l->n) + 6; /* then one key in some 64 shares its leading bits */
    if (bits > enough + 10) {
        lead_and_finish(l, low, bits, enough, kind);
        return;
    }
    unsigned count = best_passes(l->n, bits);
    passes(l, l->from, low, (bits + count - 1) / count, count, l->drop_keys, l->order, kind);
}

#endif
