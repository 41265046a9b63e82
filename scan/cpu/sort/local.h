/* SPDX-License-Identifier: MIT
 *
 * A stable sort by one thread of what fits in its cache: radix sort, least significant digit first, over the bits that
 * vary. The width of the digits is the one that costs least: every pass moves n elements and walks all its counts.
 *
 * Where many bits vary among few keys the low ones hardly matter: the passes then sort by the leading bits only. What
 * agrees in these is a group, hardly ever of more than one element where keys are spread evenly; groups are sorted by
 * insertion, and large ones as the whole was, by the bits that vary in them.
 *
 * Where a sample says that bits would not spread the elements, they are distributed by splitters first (distribute.h).
 *
 * Keys of one byte alone are counted, unless they are few (count.h).
 *
 * Included by kernels.h only.
 */
#ifndef SCAN_CPU_SORT_LOCAL_H
#define SCAN_CPU_SORT_LOCAL_H

#include "count.h"
#include "distribute.h"
#include "reverse.h"
#include "sort.h"

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

static const scan_sort_order of_codes = {.flip = 0, .mask = ~0ull, .nan = 0};

/* Passes over bits [low, high), `from` to `to`. With drop_keys no key is wanted in the end: the first pass then leaves
 * the codes of floats in their place, which need not be made again. */
SCAN_INLINE void passes(const scan_sort_local *l, scan_sort_columns from, unsigned low, unsigned digit_bits,
                        unsigned count, bool drop_keys, scan_sort_kind kind) {
    const scan_sort_order order = l->order;
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
        const bool keys = !(drop_keys && p + 1 == count), codes = kind.is_float && drop_keys;
        if (codes && p > 0)
            pass(l->n, from, to, low + p * digit_bits, digit_bits, l->counts + p * bins, keys, false, of_codes,
                 (scan_sort_kind){kind.key_bytes, false, kind.value_bytes});
        else
            pass(l->n, from, to, low + p * digit_bits, digit_bits, l->counts + p * bins, keys, codes, order, kind);
        from = to;
    }
}

/* The elements of `to` from `first` on around element i whose codes agree in all but the lowest `shift` bits. */
SCAN_INLINE scan_sort_local group_of(const scan_sort_local *l, size_t first, size_t i, unsigned shift,
                                     scan_sort_kind kind) {
    const uint64_t prefix = scan_sort_code(scan_sort_load(l->to.keys, i, kind.key_bytes), l->order, kind) >> shift;
    size_t begin = i, end = i + 1;
#define PREFIX(at) (scan_sort_code(scan_sort_load(l->to.keys, at, kind.key_bytes), l->order, kind) >> shift)
    while (begin > first && PREFIX(begin - 1) == prefix)
        begin--;
    while (end < l->n && PREFIX(end) == prefix)
        end++;
#undef PREFIX
    return elements_of(l, begin, end, kind);
}

/* Sorts `to`, which is sorted by all but the lowest `shift` bits of its codes: by insertion, but where an element would
 * move far, the group that agrees in the other bits by `again`. Equal elements keep their order all the time. */
SCAN_INLINE void finish(const scan_sort_local *l, unsigned shift, scan_sort_again *again, scan_sort_kind kind) {
    enum { FAR = 16 };
    const scan_sort_order order = l->order;
    void *keys = l->to.keys, *values = l->to.values;
    size_t first = 0; /* of those that are not in sorted groups, whose keys may be gone with drop_keys */
    uint64_t before = 0;
    for (size_t i = 0; i < l->n; i++) {
        uint64_t key = scan_sort_load(keys, i, kind.key_bytes), code = scan_sort_code(key, order, kind);
        if (code >= before) {
            before = code;
            continue;
        }
        uint64_t value = kind.value_bytes ? scan_sort_load(values, i, kind.value_bytes) : 0;
        size_t at = i;
        bool in_place;
        do {
            scan_sort_store(keys, at, scan_sort_load(keys, at - 1, kind.key_bytes), kind.key_bytes);
            if (kind.value_bytes)
                scan_sort_store(values, at, scan_sort_load(values, at - 1, kind.value_bytes), kind.value_bytes);
            at--;
            in_place = at == first || scan_sort_code(scan_sort_load(keys, at - 1, kind.key_bytes), order, kind) <= code;
        } while (!in_place && i - at < FAR);
        scan_sort_store(keys, at, key, kind.key_bytes);
        if (kind.value_bytes)
            scan_sort_store(values, at, value, kind.value_bytes);
        if (!in_place) {
            scan_sort_local group = group_of(l, first, i, shift, kind);
            again(&group);
            first = (size_t)((char *)group.to.keys - (char *)keys) / kind.key_bytes + group.n;
            i = first - 1;
            before = 0;
        }
    }
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

/* From so many keys of one byte alone on, they are counted, if all bits decide. */
enum { COUNTED_BYTES_N = 512 };

SCAN_INLINE void count_bytes(const scan_sort_local *l, scan_sort_kind kind) {
    enum { VALUES = 256 };
    memset(l->counts, 0, 2 * VALUES * sizeof *l->counts);
    count(
        &(scan_sort_counting){.order = l->order, .keys = l->from.keys, .end = l->n, .counts = l->counts, .counters = 2},
        kind);
    for (size_t v = 0; v < VALUES; v++)
        l->counts[v] = l->counts[2 * v] + l->counts[2 * v + 1];
    const scan_sort_expansion all = {
        .to = l->to.keys, .end = l->n, .counts = l->counts, .values = VALUES, .flip = l->order.flip};
    expand(&all, kind);
}

SCAN_INLINE void local(const scan_sort_local *l, scan_sort_again *again, scan_sort_distribute *distribute,
                       scan_sort_kind kind) {
    if (l->n <= SCAN_SORT_TINY) {
        sort_tiny(l, kind);
        return;
    }
    if (kind.key_bytes == 1 && kind.value_bytes == 0 && l->n >= COUNTED_BYTES_N && l->order.mask == UINT8_MAX) {
        count_bytes(l, kind);
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
    if (bits > enough && l->n >= 16 * SCAN_SORT_TINY && distribute(l, low + bits - enough))
        return;
    if (bits > enough + 10) {
        unsigned count = best_passes(l->n, enough), width = (enough + count - 1) / count;
        passes(l, l->from, low + bits - count * width, width, count, false, kind);
        finish(l, low + bits - count * width, again, kind);
        return;
    }
    unsigned count = best_passes(l->n, bits);
    passes(l, l->from, low, (bits + count - 1) / count, count, l->drop_keys, kind);
}

#endif
