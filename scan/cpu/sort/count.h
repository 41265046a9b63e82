/* SPDX-License-Identifier: MIT
 *
 * The loops of the counting sorts (count.c, local.h). Included by kernels.h and local.h only.
 */
#ifndef SCAN_CPU_SORT_COUNT_H
#define SCAN_CPU_SORT_COUNT_H

#include "sort.h"

/* Of the codes of keys begin ... end. */
#define BOUNDS(width)                                                                                                  \
    SCAN_INLINE void bounds_##width(const void *keys, size_t begin, size_t end, scan_sort_order order,                 \
                                    uint64_t *least, uint64_t *most, scan_sort_kind kind) {                            \
        int##width##_t low = INT##width##_MAX, high = INT##width##_MIN;                                                \
        for (size_t i = begin; i < end; i++) {                                                                         \
            int##width##_t code = scan_sort_signed_code_##width(keys, i, order, kind);                                 \
            low = code < low ? code : low;                                                                             \
            high = code > high ? code : high;                                                                          \
        }                                                                                                              \
        *least = (uint##width##_t)low ^ (uint##width##_t)INT##width##_MIN;                                             \
        *most = (uint##width##_t)high ^ (uint##width##_t)INT##width##_MIN;                                             \
    }
BOUNDS(32)
BOUNDS(64)
#undef BOUNDS

SCAN_INLINE void bounds(const void *keys, size_t begin, size_t end, scan_sort_order order, uint64_t *least,
                        uint64_t *most, scan_sort_kind kind) {
    if (kind.key_bytes == 8)
        bounds_64(keys, begin, end, order, least, most, kind);
    else
        bounds_32(keys, begin, end, order, least, most, kind);
}

enum { COUNT_AT_ONCE = 128 };

#if !defined(__AVX512F__)
enum { HAS_SIFT = false };
#else
enum { HAS_SIFT = true };

/* Common keys, and how many of each but the first were met. */
typedef struct common_keys {
    __m512i keys[SCAN_SORT_COMMON];
    size_t counts[SCAN_SORT_COMMON];
} common_keys;

SCAN_INLINE common_keys common_keys_of(const scan_sort_counting *c, unsigned key_bytes) {
    common_keys common = {0};
    for (unsigned k = 0; k < c->common_n; k++) {
        const uint64_t key = c->common[k] ^ c->order.flip;
        common.keys[k] = key_bytes == 2   ? _mm512_set1_epi16((short)key)
                         : key_bytes == 4 ? _mm512_set1_epi32((int)key)
                                          : _mm512_set1_epi64((long long)key);
    }
    for (unsigned k = c->common_n; k < SCAN_SORT_COMMON; k++)
        common.keys[k] = common.keys[0]; /* counted again, and not looked at */
    return common;
}

/* gcc 12 may spill a mask of 16 lanes as two bytes and reload four: hidden from it, the upper bits are cleared. */
SCAN_INLINE uint32_t equal_lanes(__m512i a, __m512i b, unsigned key_bytes) {
    uint32_t equal = key_bytes == 2   ? _mm512_cmpeq_epi16_mask(a, b)
                     : key_bytes == 4 ? _mm512_cmpeq_epi32_mask(a, b)
                                      : _mm512_cmpeq_epi64_mask(a, b);
    __asm__("" : "+r"(equal));
    return equal & (uint32_t)((1ull << 64 / key_bytes) - 1);
}

/* Counts the common keys of a block, copies the others, and returns how many these are; `rest` has room for a vector
 * more. */
SCAN_INLINE size_t sift_keys(common_keys *common, unsigned common_n, const char *keys, char *rest, unsigned key_bytes) {
    const unsigned lanes = 64 / key_bytes;
    size_t others_n = 0;
    for (size_t i = 0; i < COUNT_AT_ONCE; i += lanes) {
        const __m512i v = _mm512_loadu_si512(keys + i * key_bytes);
        uint32_t others = ~equal_lanes(v, common->keys[0], key_bytes) & (uint32_t)((1ull << lanes) - 1);
#pragma GCC unroll 4
        for (unsigned k = 1; k < common_n; k++) {
            const uint32_t same = equal_lanes(v, common->keys[k], key_bytes);
            common->counts[k] += (size_t)__builtin_popcount(same);
            others &= ~same;
        }
        _mm512_storeu_si512(rest + others_n * key_bytes, key_bytes == 2 ? _mm512_maskz_compress_epi16(others, v)
                                                         : key_bytes == 4
                                                             ? _mm512_maskz_compress_epi32((__mmask16)others, v)
                                                             : _mm512_maskz_compress_epi64((__mmask8)others, v));
        others_n += (size_t)__builtin_popcount(others);
    }
    return others_n;
}
#endif

/* Counts n keys, at most COUNT_AT_ONCE, of which a vector more may be read. A key waits for the store of one of the
 * same value shortly before it, hence the counters. Their places are computed in vectors. */
SCAN_INLINE void count_block(const scan_sort_counting *c, const void *keys, size_t n, unsigned counters,
                             scan_sort_kind kind) {
    enum { UNROLLED = 8 };
    const scan_sort_order order = c->order;
    const uint64_t least = c->least;
    uint32_t *const counts = c->counts, places[COUNT_AT_ONCE], differ = 0;
    size_t k = 0;
    for (size_t p = 0; p < n; p += 16)
        for (size_t lane = p; lane < p + 16; lane++) {
            const uint32_t v =
                (uint32_t)(scan_sort_code(scan_sort_load(keys, lane, kind.key_bytes), order, kind) - least);
            places[lane] = scan_sort_counter_of(v) * counters;
        }
    if (n == COUNT_AT_ONCE) {
        for (size_t p = 0; p < COUNT_AT_ONCE; p++)
            differ |= places[p] ^ places[0];
        if (differ == 0) {
            counts[places[0]] += COUNT_AT_ONCE;
            return;
        }
    }
    for (; k + UNROLLED <= n; k += UNROLLED)
#pragma GCC unroll 8
        for (unsigned of = 0; of < UNROLLED; of++)
            counts[places[k + of] + of % counters]++;
    for (; k < n; k++)
        counts[places[k]]++;
}

/* Counts in blocks, the last keys by a copy. With AVX-512 common values are compared with and not looked up: the others
 * gather in a block of their own. */
SCAN_INLINE void count_by(const scan_sort_counting *c, unsigned counters, unsigned common_n, scan_sort_kind kind) {
    enum { AHEAD = 2048 }; /* bytes, fetched before the processor sees that they are needed */
    const char *const keys = c->keys;
    const unsigned bytes = kind.key_bytes;
    uint64_t rest[2 * COUNT_AT_ONCE + 8] = {0};
    size_t rest_n = 0, others_n = 0, i = c->begin;
#if defined(__AVX512F__)
    common_keys common = common_keys_of(c, bytes);
#endif
    for (; i + COUNT_AT_ONCE <= c->end; i += COUNT_AT_ONCE) {
        for (size_t b = 0; b < COUNT_AT_ONCE * bytes; b += 64)
            __builtin_prefetch(keys + i * bytes + AHEAD + b);
        if (common_n == 0)
            count_block(c, keys + i * bytes, COUNT_AT_ONCE, counters, kind);
#if defined(__AVX512F__)
        else
            rest_n += sift_keys(&common, common_n, keys + i * bytes, (char *)rest + rest_n * bytes, bytes);
#endif
        if (rest_n >= COUNT_AT_ONCE) {
            count_block(c, rest, COUNT_AT_ONCE, counters, kind);
            memcpy(rest, (char *)rest + COUNT_AT_ONCE * bytes, COUNT_AT_ONCE * bytes);
            rest_n -= COUNT_AT_ONCE;
            others_n += COUNT_AT_ONCE;
        }
    }
    count_block(c, rest, rest_n, counters, kind);
    others_n += rest_n;
    memcpy(rest, keys + i * bytes, (c->end - i) * bytes);
    count_block(c, rest, c->end - i, counters, kind);
#if defined(__AVX512F__)
    for (unsigned k = 1; k < common_n && k < c->common_n; k++) {
        c->counts[scan_sort_counter_of((uint32_t)(c->common[k] - c->least)) * counters] += (uint32_t)common.counts[k];
        others_n += common.counts[k];
    }
    if (common_n > 0)
        c->counts[scan_sort_counter_of((uint32_t)(c->common[0] - c->least)) * counters] +=
            (uint32_t)(i - c->begin - others_n);
#else
    (void)others_n;
#endif
}

SCAN_INLINE void count_with(const scan_sort_counting *c, unsigned counters, scan_sort_kind kind) {
    if (HAS_SIFT && kind.key_bytes > 1 && c->common_n == 1)
        count_by(c, counters, 1, kind);
    else if (HAS_SIFT && kind.key_bytes > 1 && c->common_n > 0)
        count_by(c, counters, SCAN_SORT_COMMON, kind);
    else
        count_by(c, counters, 0, kind);
}

SCAN_INLINE void count(const scan_sort_counting *c, scan_sort_kind kind) {
    if (c->counters == 1)
        count_with(c, 1, kind);
    else if (c->counters == 2)
        count_with(c, 2, kind);
    else
        count_with(c, SCAN_SORT_MANY_COUNTERS, kind);
}

/* How many of a block of keys are equal to a value. */
enum { TALLY_AT_ONCE = 128 };
#if defined(__AVX512F__)
SCAN_INLINE size_t count_equal_8(const void *block, uint8_t value) {
    const __m512i v = _mm512_set1_epi8((char)value);
    size_t count = 0;
    for (size_t i = 0; i < TALLY_AT_ONCE; i += 64)
        count += (size_t)__builtin_popcountll(_mm512_cmpeq_epi8_mask(_mm512_loadu_si512((const char *)block + i), v));
    return count;
}
SCAN_INLINE size_t count_equal_16(const void *block, uint16_t value) {
    const __m512i v = _mm512_set1_epi16((short)value), *at = block;
    size_t count = 0;
    for (size_t i = 0; i < TALLY_AT_ONCE / 32; i += 2)
        count +=
            (size_t)__builtin_popcountll(_mm512_kunpackd(_mm512_cmpeq_epi16_mask(_mm512_loadu_si512(at + i), v),
                                                         _mm512_cmpeq_epi16_mask(_mm512_loadu_si512(at + i + 1), v)));
    return count;
}
SCAN_INLINE size_t count_equal_32(const void *block, uint32_t value) {
    const __m512i v = _mm512_set1_epi32((int)value), *at = block;
    size_t count = 0;
    for (size_t i = 0; i < TALLY_AT_ONCE / 16; i += 4)
        count += (size_t)__builtin_popcountll(
            _mm512_kunpackd(_mm512_kunpackw(_mm512_cmpeq_epi32_mask(_mm512_loadu_si512(at + i), v),
                                            _mm512_cmpeq_epi32_mask(_mm512_loadu_si512(at + i + 1), v)),
                            _mm512_kunpackw(_mm512_cmpeq_epi32_mask(_mm512_loadu_si512(at + i + 2), v),
                                            _mm512_cmpeq_epi32_mask(_mm512_loadu_si512(at + i + 3), v))));
    return count;
}
#else
#define COUNT_EQUAL(width)                                                                                             \
    SCAN_INLINE size_t count_equal_##width(const scan_sort_u##width *block, uint##width##_t value) {                   \
        uint##width##_t count = 0;                                                                                     \
        for (size_t i = 0; i < TALLY_AT_ONCE; i++)                                                                     \
            count = (uint##width##_t)(count + (block[i] == value));                                                    \
        return count;                                                                                                  \
    }
COUNT_EQUAL(8)
COUNT_EQUAL(16)
COUNT_EQUAL(32)
#endif
SCAN_INLINE size_t count_equal_64(const scan_sort_u64 *block, uint64_t value) {
    uint64_t count = 0;
    for (size_t i = 0; i < TALLY_AT_ONCE; i++)
        count += block[i] == value;
    return count;
}
#if !defined(__AVX512F__)
#undef COUNT_EQUAL
#endif

/* Counts how often each value occurs in a block of keys, and lists those that are new; in lanes of the keys' width,
 * which the compiler vectorizes. */
#define TALLY(width)                                                                                                   \
    SCAN_INLINE bool tally_block_##width(const void *keys, scan_sort_values *values) {                                 \
        const scan_sort_u##width *block = keys;                                                                        \
        for (size_t v = 0, found = 0, k = 0;; v++) {                                                                   \
            for (; v == values->n && found < TALLY_AT_ONCE; k++)                                                       \
                if (!scan_sort_name(values, block[k]))                                                                 \
                    return false;                                                                                      \
            if (v == values->n)                                                                                        \
                return true;                                                                                           \
            const size_t count = count_equal_##width(block, (uint##width##_t)values->keys[v]);                         \
            values->counts[v] += count;                                                                                \
            found += count;                                                                                            \
        }                                                                                                              \
    }
TALLY(8)
TALLY(16)
TALLY(32)
TALLY(64)
#undef TALLY

SCAN_INLINE void tally(const void *keys, size_t begin, size_t end, scan_sort_values *values, scan_sort_kind kind) {
    size_t i = begin;
    for (bool room = true; room && i + TALLY_AT_ONCE <= end; i += TALLY_AT_ONCE) {
        const char *at = (const char *)keys + i * kind.key_bytes;
        __builtin_prefetch(at + 2048);
        room = kind.key_bytes == 1   ? tally_block_8(at, values)
               : kind.key_bytes == 2 ? tally_block_16(at, values)
               : kind.key_bytes == 4 ? tally_block_32(at, values)
                                     : tally_block_64(at, values);
        if (!room) {
            values->n = SCAN_SORT_VALUES + 1;
            return;
        }
    }
    for (; i < end; i++) {
        const uint64_t key = scan_sort_load(keys, i, kind.key_bytes);
        if (!scan_sort_name(values, key)) {
            values->n = SCAN_SORT_VALUES + 1;
            return;
        }
        for (size_t v = 0; v < values->n; v++)
            values->counts[v] += values->keys[v] == key;
    }
}

/* Elements begin ... end of `to` become `key`; those from there to `room` may, and are written later. */
SCAN_INLINE void spread(void *to, size_t begin, size_t end, size_t room, uint64_t key, scan_sort_kind kind) {
    const size_t step = 64 / kind.key_bytes;
    size_t i = begin;
    for (; i < end && i + step <= room; i += step)
        for (size_t k = 0; k < step; k++)
            scan_sort_store(to, i + k, key, kind.key_bytes);
    for (; i < end; i++)
        scan_sort_store(to, i, key, kind.key_bytes);
}

/* Writes the keys of an expansion: of any value 64 bytes, as its count is hard to foresee; the next values overwrite
 * what is too much. */
SCAN_INLINE void expand(const scan_sort_expansion *expansion, scan_sort_kind kind) {
    enum { AT_ONCE = 16 };
    const scan_sort_expansion e = *expansion; /* which stores of keys do not change */
    const size_t step = 64 / kind.key_bytes;
    size_t at = e.at, v = 0;
    while (v < e.values && at + e.counts[v] <= e.begin)
        at += e.counts[v++];
    while (v < e.values && at < e.end) {
        const size_t stop = e.values - v < AT_ONCE ? e.values : v + AT_ONCE;
        uint32_t some = 0;
        for (size_t k = v; k < stop; k++)
            some |= e.counts[k];
        if (some == 0)
            v = stop;
        for (; v < stop; v++) {
            const uint64_t key = (e.code + v) ^ e.flip;
            size_t from = at > e.begin ? at : e.begin;
            at += e.counts[v];
            if (from + step <= e.end) {
                for (size_t k = 0; k < step; k++)
                    scan_sort_store(e.to, from + k, key, kind.key_bytes);
                from += step;
            }
            if (from < at)
                spread(e.to, from, at < e.end ? at : e.end, e.end, key, kind);
        }
    }
}

#endif
