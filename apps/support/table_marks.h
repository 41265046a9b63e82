/* SPDX-License-Identifier: MIT
 *
 * The characters that tell fields apart, in 64 bytes at once: a bit for each byte.
 */
#ifndef APPS_SUPPORT_TABLE_MARKS_H
#define APPS_SUPPORT_TABLE_MARKS_H

#ifdef __SSE2__
#include <emmintrin.h>
#endif
#include <stdint.h>

enum { MARKS_BYTES = 64 };

typedef struct marks {
    uint64_t delimiters, newlines, quotes, returns;
} marks;

#ifdef __SSE2__
static inline uint64_t equal_bytes(const __m128i bytes[4], char what) {
    const __m128i all = _mm_set1_epi8(what);
    uint64_t bits = 0;
    for (int i = 0; i < 4; i++)
        bits |= (uint64_t)(unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(bytes[i], all)) << (16 * i);
    return bits;
}

static inline marks marks_of(const unsigned char *p, char delimiter) {
    __m128i bytes[4];
    for (int i = 0; i < 4; i++)
        bytes[i] = _mm_loadu_si128((const __m128i *)(const void *)(p + 16 * i));
    return (marks){equal_bytes(bytes, delimiter), equal_bytes(bytes, '\n'), equal_bytes(bytes, '"'),
                   equal_bytes(bytes, '\r')};
}
#else
static inline marks marks_of(const unsigned char *p, char delimiter) {
    marks m = {0};
    for (int i = 0; i < MARKS_BYTES; i++) {
        m.delimiters |= (uint64_t)(p[i] == (unsigned char)delimiter) << i;
        m.newlines |= (uint64_t)(p[i] == '\n') << i;
        m.quotes |= (uint64_t)(p[i] == '"') << i;
        m.returns |= (uint64_t)(p[i] == '\r') << i;
    }
    return m;
}
#endif

#endif
