/* SPDX-License-Identifier: MIT
 *
 * The loops of the radix sort, written once for every kind of key and value and compiled once a SIMD level:
 *
 *   histogram   counts one digit, and finds which bits vary at all
 *   scatter     one stable pass over memory. Each bin gathers its elements in a buffer of whole cache lines, which
 *               leave together (Satish et al., SIGMOD 2010, "Fast sort on CPUs and GPUs"): without them every element
 *               would touch another page and another line
 *   local       a stable sort of what fits in cache (local.h)
 *
 * Included by portable.c, avx2.c, avx512.c only.
 */
#ifndef SCAN_CPU_SORT_KERNELS_H
#define SCAN_CPU_SORT_KERNELS_H

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include "sort.h"
#include "classify.h"
#include "count.h"
#include "in_order.h"
#include "local.h"
#include "runs.h"
#include "take.h"

/* 64 bytes, past the caches where that can be said. Both pointers are aligned to 64. */
SCAN_INLINE void stream_line(void *to, const void *from) {
#if defined(__AVX512F__)
    _mm512_stream_si512(to, _mm512_load_si512(from));
#elif defined(__AVX__)
    _mm256_stream_si256(to, _mm256_load_si256(from));
    _mm256_stream_si256((__m256i *)to + 1, _mm256_load_si256((const __m256i *)from + 1));
#elif defined(__SSE2__)
    for (int i = 0; i < 4; i++)
        _mm_stream_si128((__m128i *)to + i, _mm_load_si128((const __m128i *)from + i));
#else
    memcpy(to, from, 64);
#endif
}

/* Streaming stores are not ordered with the barrier that follows a pass. */
SCAN_INLINE void stream_end(void) {
#if defined(__SSE2__)
    _mm_sfence();
#endif
}

SCAN_INLINE uint64_t load_code(const void *keys, size_t i, scan_sort_order order, scan_sort_kind kind) {
    return scan_sort_code(scan_sort_load(keys, i, kind.key_bytes), order, kind);
}

/* ---- one partition ----------------------------------------------------------------------------------------------- */

/* Elements that a bin's buffer holds: one line at least of what is moved most. */
SCAN_INLINE size_t buffer_elements(scan_sort_kind kind) {
    return kind.value_bytes == 0 ? 64 / kind.key_bytes : kind.key_bytes == 8 && kind.value_bytes == 8 ? 8 : 16;
}

SCAN_INLINE void histogram(scan_sort_part *part, scan_sort_kind kind) {
    /* Two tables: equal neighbours would wait for each other's store. 32 bits: half the cache; hence the chunks. */
    uint32_t *even = part->buffers, *odd = even + ((size_t)1 << part->bits);
    const uint64_t digits = ((uint64_t)1 << part->bits) - 1, first = part->first;
    const scan_sort_order order = part->order;
    const unsigned shift = part->shift;
    const void *keys = part->from.keys;
    uint64_t varying = 0;
    memset(part->counts, 0, sizeof *part->counts << part->bits);
    if (part->splitters) {
        part->varying = 0;
        count_by_splitters(keys, part->begin, part->end, order, part->splitters, part->counts, &part->varying, first,
                           kind);
        return;
    }
    for (size_t i = part->begin, chunk; i < part->end; i = chunk) {
        chunk = part->end - i > (size_t)1 << 31 ? i + ((size_t)1 << 31) : part->end;
        memset(even, 0, 2 * sizeof *even << part->bits);
        for (; i + 1 < chunk; i += 2) {
            uint64_t a = load_code(keys, i, order, kind), b = load_code(keys, i + 1, order, kind);
            varying |= (a ^ first) | (b ^ first);
            even[a >> shift & digits]++;
            odd[b >> shift & digits]++;
        }
        if (i < chunk) {
            uint64_t a = load_code(keys, i, order, kind);
            varying |= a ^ first;
            even[a >> shift & digits]++;
        }
        for (size_t d = 0; d <= digits; d++)
            part->counts[d] += (uint64_t)even[d] + odd[d];
    }
    part->varying = varying;
}

/* Moves a bin's buffered elements, from the buffer's slot of position `begin` on, to their place. */
SCAN_INLINE void flush_some(char *to, const char *buffer, size_t begin, size_t end, size_t slots, unsigned bytes) {
    memcpy(to + begin * bytes, buffer + (begin % slots) * bytes, (end - begin) * bytes);
}

SCAN_INLINE void flush_all(char *to, const char *buffer, size_t bytes, bool stream) {
    if (stream && bytes % 64 == 0)
        for (size_t i = 0; i < bytes; i += 64)
            stream_line(to + i, buffer + i);
    else
        memcpy(to, buffer, bytes);
}

/* Positions are shifted by `bias` so that a buffer's slots are a position modulo their number and full buffers lie on
 * line boundaries of the destination. */
SCAN_INLINE void scatter(const scan_sort_part *part, scan_sort_classify *by_splitters, scan_sort_kind kind) {
    const size_t slots = buffer_elements(kind), bins = (size_t)1 << part->bits;
    const unsigned key_bytes = kind.key_bytes, value_bytes = kind.value_bytes, shift = part->shift;
    const scan_sort_order order = part->order;
    /* Both begin at a line. */
    char *key_buffers = part->buffers, *value_buffers = key_buffers + (bins * slots * key_bytes + 63) / 64 * 64;
    uint64_t *positions = part->positions, *starts = part->counts; /* the counts have served */
    const void *from = part->from.keys, *from_values = part->from.values;
    const bool keep_keys = part->to.keys != NULL;
    uintptr_t anchor = keep_keys ? (uintptr_t)part->to.keys / key_bytes : (uintptr_t)part->to.values / value_bytes;
    const size_t bias = anchor % slots;
    char *to_keys = keep_keys ? (char *)part->to.keys - bias * key_bytes : NULL;
    char *to_values = value_bytes ? (char *)part->to.values - bias * value_bytes : NULL;
    const bool stream_keys = part->stream && (uintptr_t)to_keys % 64 == 0;
    const bool stream_values = part->stream && (uintptr_t)to_values % 64 == 0;

    for (size_t d = 0; d < bins; d++)
        starts[d] = positions[d] += bias;
    for (size_t i = part->begin, count; i < part->end; i += count) {
        uint16_t digits[DIGITS_AT_ONCE];
        count = part->splitters ? by_splitters(digits, from, i, part->end, order, part->splitters)
                                : load_digits(digits, from, i, part->end, order, shift, part->bits, kind);
        for (size_t k = 0; k < count; k++) {
            size_t digit = digits[k], at = positions[digit]++, slot = at % slots;
            char *keys = key_buffers + digit * slots * key_bytes, *values = value_buffers + digit * slots * value_bytes;
            scan_sort_store(keys, slot, scan_sort_load(from, i + k, key_bytes), key_bytes);
            if (value_bytes)
                scan_sort_store(values, slot, from_values ? scan_sort_load(from_values, i + k, value_bytes) : i + k,
                                value_bytes);
            if (slot + 1 < slots)
                continue;
            size_t line = at + 1 - slots;
            if (line >= starts[digit]) {
                if (keep_keys)
                    flush_all(to_keys + line * key_bytes, keys, slots * key_bytes, stream_keys);
                if (value_bytes)
                    flush_all(to_values + line * value_bytes, values, slots * value_bytes, stream_values);
            } else {
                if (keep_keys)
                    flush_some(to_keys, keys, starts[digit], at + 1, slots, key_bytes);
                if (value_bytes)
                    flush_some(to_values, values, starts[digit], at + 1, slots, value_bytes);
            }
        }
    }
    for (size_t d = 0; d < bins; d++) {
        size_t line = positions[d] / slots * slots, begin = line > starts[d] ? line : starts[d];
        if (begin >= positions[d])
            continue;
        if (keep_keys)
            flush_some(to_keys, key_buffers + d * slots * key_bytes, begin, positions[d], slots, key_bytes);
        if (value_bytes)
            flush_some(to_values, value_buffers + d * slots * value_bytes, begin, positions[d], slots, value_bytes);
    }
    stream_end();
}

/* Copies indices, each with its key. */
SCAN_INLINE void fetch(const void *keys, const void *indices, scan_sort_columns to, size_t begin, size_t end,
                       scan_sort_kind kind) {
    for (size_t i = begin; i < end; i++) {
        uint64_t index = kind.value_bytes ? scan_sort_load(indices, i, kind.value_bytes) : i;
        scan_sort_store(to.keys, i, scan_sort_load(keys, index, kind.key_bytes), kind.key_bytes);
        if (kind.value_bytes)
            scan_sort_store(to.values, i, index, kind.value_bytes);
    }
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

#define KERNELS(name, key_bytes, is_float, value_bytes)                                                                \
    static const scan_sort_kind kind_##name = {key_bytes, is_float, value_bytes};                                      \
    static uint64_t code_##name(const void *keys, size_t i, scan_sort_order order) {                                   \
        return load_code(keys, i, order, kind_##name);                                                                 \
    }                                                                                                                  \
    static unsigned ordered_##name(const void *keys, size_t begin, size_t end, scan_sort_order order, unsigned flags,  \
                                   size_t *sorted) {                                                                   \
        return ordered(keys, begin, end, order, flags, sorted, kind_##name);                                           \
    }                                                                                                                  \
    static void reverse_##name(scan_sort_columns from, scan_sort_columns to, size_t begin, size_t end, size_t n) {     \
        reverse(from, to, begin, end, n, kind_##name);                                                                 \
    }                                                                                                                  \
    static void turn_ties_##name(const void *keys, size_t before, scan_sort_columns to, size_t begin, size_t end,      \
                                 scan_sort_order order) {                                                              \
        turn_ties(keys, before, to, begin, end, order, kind_##name);                                                   \
    }                                                                                                                  \
    static void copy_##name(scan_sort_columns from, scan_sort_columns to, size_t begin, size_t end) {                  \
        copy(from, to, begin, end, kind_##name);                                                                       \
    }                                                                                                                  \
    static void fetch_##name(const void *keys, const void *indices, scan_sort_columns to, size_t begin, size_t end) {  \
        fetch(keys, indices, to, begin, end, kind_##name);                                                             \
    }                                                                                                                  \
    static __attribute__((noinline))                                                                                   \
    size_t classify_##name(uint16_t *digits, const void *keys, size_t begin, size_t end, scan_sort_order order,        \
                           const scan_sort_splitters *splitters) {                                                     \
        return classify(digits, keys, begin, end, order, splitters, kind_##name);                                      \
    }                                                                                                                  \
    static void histogram_##name(scan_sort_part *part) { histogram(part, kind_##name); }                               \
    static void scatter_##name(const scan_sort_part *part) { scatter(part, classify_##name, kind_##name); }            \
    static bool distribute_##name(const scan_sort_local *l, unsigned shift);                                           \
    static void local_##name(const scan_sort_local *l) { local(l, local_##name, distribute_##name, kind_##name); }     \
    static __attribute__((noinline)) bool distribute_##name(const scan_sort_local *l, unsigned shift) {                \
        return distribute(l, shift, local_##name, kind_##name);                                                        \
    }

#define VALUE_KINDS(name, key_bytes, is_float)                                                                         \
    static const scan_sort_kind alone_##name = {key_bytes, is_float, 0};                                               \
    static void take_##name(scan_sort_taking *t) { take(t, alone_##name); }                                            \
    static void bounds_##name(const void *keys, size_t begin, size_t end, scan_sort_order order, uint64_t *least,      \
                              uint64_t *most) {                                                                        \
        bounds(keys, begin, end, order, least, most, alone_##name);                                                    \
    }                                                                                                                  \
    static void count_##name(const scan_sort_counting *counting) { count(counting, alone_##name); }                    \
    static void tally_##name(const void *keys, size_t begin, size_t end, scan_sort_values *values) {                   \
        tally(keys, begin, end, values, alone_##name);                                                                 \
    }                                                                                                                  \
    static void spread_##name(void *to, size_t begin, size_t end, size_t room, uint64_t key) {                         \
        spread(to, begin, end, room, key, alone_##name);                                                               \
    }                                                                                                                  \
    static void expand_##name(const scan_sort_expansion *expansion) { expand(expansion, alone_##name); }               \
    static size_t runs_##name(const void *keys, size_t begin, size_t end, scan_sort_columns runs, size_t room) {       \
        return find_runs(keys, begin, end, runs, room, alone_##name);                                                  \
    }                                                                                                                  \
    KERNELS(name##_0, key_bytes, is_float, 0)                                                                          \
    KERNELS(name##_4, key_bytes, is_float, 4)                                                                          \
    KERNELS(name##_8, key_bytes, is_float, 8)
SCAN_SORT_KEYS(VALUE_KINDS)

#define ALONE(take, bounds, count, tally, spread, expand, runs) take, bounds, count, tally, spread, expand, runs,
#define CELL(name, key_bytes, value_bytes, alone)                                                                      \
    {code_##name,                                                                                                      \
     ordered_##name,                                                                                                   \
     reverse_##name,                                                                                                   \
     turn_ties_##name,                                                                                                 \
     copy_##name,                                                                                                      \
     fetch_##name,                                                                                                     \
     histogram_##name,                                                                                                 \
     scatter_##name,                                                                                                   \
     local_##name,                                                                                                     \
     alone(value_bytes == 0                     ? 64                                                                   \
           : key_bytes == 8 && value_bytes == 8 ? 8 * 16                                                               \
                                                : 16 * (key_bytes + value_bytes)),                                     \
     HAS_SIFT && key_bytes > 1},
#define ROW(name, key_bytes, is_float)                                                                                 \
    {CELL(name##_0, key_bytes, 0,                                                                                      \
          ALONE(take_##name, bounds_##name, count_##name, tally_##name, spread_##name, expand_##name, runs_##name))    \
         CELL(name##_4, key_bytes, 4, ALONE(NULL, NULL, NULL, tally_##name, spread_##name, NULL, NULL))                \
             CELL(name##_8, key_bytes, 8, ALONE(NULL, NULL, NULL, tally_##name, spread_##name, NULL, NULL))},

#endif
