/* SPDX-License-Identifier: MIT
 *
 * One pass that takes heavy keys (heavy.c) out of an array: each is looked up in a hash table in which a key has
 * one slot, and either counted there or set aside. No branch depends on a key.
 *
 * That is some 20 instructions a key. With AVX-512 the most frequent keys of all are sifted out before: a vector of
 * keys is compared with eight of them, and what equals none goes on to the next eight, or to the table.
 *
 * Included by kernels.h only.
 */
#ifndef SCAN_CPU_SORT_TAKE_H
#define SCAN_CPU_SORT_TAKE_H

#include "sort.h"

/* Keys that stay in the L1 on their way through sieves and table, and that are fetched from memory together, a block
 * ahead: between two cache lines there are too many instructions for the processor to see the next one by itself. */
enum { BLOCK = 512 };

/* Returns how many of n keys have gone to `rest`. */
SCAN_INLINE size_t take_by_hash(const scan_sort_taking *t, const void *keys, size_t n, void *rest, unsigned key_bytes) {
    const uint64_t multiplier = t->multiplier;
    scan_sort_slot *const slots = t->slots;
    size_t rest_n = 0, i = 0;
#define TAKE(k)                                                                                                        \
    do {                                                                                                               \
        uint64_t key_ = scan_sort_load(keys, i + (k), key_bytes);                                                      \
        scan_sort_slot *slot_ = &slots[scan_sort_slot_of(key_, multiplier)];                                           \
        bool found_ = slot_->key == key_;                                                                              \
        slot_->counts[(k) % 2] += found_;                                                                              \
        scan_sort_store(rest, rest_n, key_, key_bytes);                                                                \
        rest_n += !found_;                                                                                             \
    } while (0)
    for (; i + 4 <= n; i += 4) {
        TAKE(0);
        TAKE(1);
        TAKE(2);
        TAKE(3);
    }
    for (; i < n; i++)
        TAKE(0);
#undef TAKE
    return rest_n;
}

#if defined(__AVX512F__)
/* Eight frequent keys, and how often each was met in each lane. */
typedef struct sieve {
    __m512i keys[SCAN_SORT_SIEVE], counts[SCAN_SORT_SIEVE];
} sieve;

/* Counts the `valid` lanes of a vector that are one of `values` keys, and returns the others. */
SCAN_INLINE uint32_t sift_vector(const __m512i *keys, __m512i *counts, __m512i v, uint32_t valid, unsigned values,
                                 unsigned key_bytes) {
    const __m512i one = key_bytes == 4 ? _mm512_set1_epi32(1) : _mm512_set1_epi64(1);
    uint32_t others = valid;
#pragma GCC unroll 8
    for (unsigned k = 0; k < values; k++)
        if (key_bytes == 4) {
            const __mmask16 same = _mm512_mask_cmpeq_epi32_mask((__mmask16)valid, v, keys[k]);
            counts[k] = _mm512_mask_add_epi32(counts[k], same, counts[k], one);
            others &= ~(uint32_t)same;
        } else {
            const __mmask8 same = _mm512_mask_cmpeq_epi64_mask((__mmask8)valid, v, keys[k]);
            counts[k] = _mm512_mask_add_epi64(counts[k], same, counts[k], one);
            others &= ~(uint32_t)same;
        }
    return others;
}

SCAN_INLINE size_t store_keys(void *to, size_t at, __m512i v, uint32_t which, unsigned key_bytes) {
    _mm512_storeu_si512((char *)to + at * key_bytes, key_bytes == 4 ? _mm512_maskz_compress_epi32((__mmask16)which, v)
                                                                    : _mm512_maskz_compress_epi64((__mmask8)which, v));
    return at + (unsigned)__builtin_popcount(which);
}

/* Copies those of n keys that are none of `values` keys, and returns how many they are; `to` has room for a vector
 * more. */
SCAN_INLINE size_t sift_by(sieve *s, const void *from, size_t n, void *to, unsigned values, unsigned key_bytes) {
    enum { VECTORS = 4 /* one branch for several is predicted better than one for each */ };
    const unsigned lanes = 64 / key_bytes;
    const uint32_t all = (1u << lanes) - 1;
    __m512i keys[SCAN_SORT_SIEVE], counts[SCAN_SORT_SIEVE];
    size_t passed = 0, i = 0;
#pragma GCC unroll 8
    for (unsigned k = 0; k < values; k++) {
        keys[k] = s->keys[k];
        counts[k] = s->counts[k];
    }
    for (; i + VECTORS * lanes <= n; i += VECTORS * lanes) {
        __m512i v[VECTORS];
        uint32_t others[VECTORS];
#pragma GCC unroll 4
        for (unsigned r = 0; r < VECTORS; r++) {
            v[r] = _mm512_loadu_si512((const char *)from + (i + r * lanes) * key_bytes);
            others[r] = sift_vector(keys, counts, v[r], all, values, key_bytes);
        }
        if (others[0] | others[1] | others[2] | others[3])
#pragma GCC unroll 4
            for (unsigned r = 0; r < VECTORS; r++)
                passed = store_keys(to, passed, v[r], others[r], key_bytes);
    }
    for (; i < n; i += lanes) {
        const uint32_t valid = n - i < lanes ? (1u << (n - i)) - 1 : all;
        const char *at = (const char *)from + i * key_bytes;
        const __m512i v = key_bytes == 4 ? _mm512_maskz_loadu_epi32((__mmask16)valid, at)
                                         : _mm512_maskz_loadu_epi64((__mmask8)valid, at);
        passed = store_keys(to, passed, v, sift_vector(keys, counts, v, valid, values, key_bytes), key_bytes);
    }
#pragma GCC unroll 8
    for (unsigned k = 0; k < values; k++)
        s->counts[k] = counts[k];
    return passed;
}

/* That of a sieve of so many different keys. */
SCAN_INLINE size_t sift(sieve *s, const void *from, size_t n, void *to, unsigned values, unsigned key_bytes) {
    switch (values) {
    case 1: return sift_by(s, from, n, to, 1, key_bytes);
    case 2: return sift_by(s, from, n, to, 2, key_bytes);
    case 3:
    case 4: return sift_by(s, from, n, to, 4, key_bytes);
    default: return sift_by(s, from, n, to, SCAN_SORT_SIEVE, key_bytes);
    }
}

/* Sieves of the most frequent keys: t->frequent, the last one of them repeated. */
SCAN_INLINE unsigned make_sieves(const scan_sort_taking *t, sieve *sieves, unsigned key_bytes) {
    const unsigned count = (t->frequent_n + SCAN_SORT_SIEVE - 1) / SCAN_SORT_SIEVE;
    for (unsigned k = 0; k < count * SCAN_SORT_SIEVE; k++) {
        uint64_t key = t->frequent[k < t->frequent_n ? k : t->frequent_n - 1];
        sieve *s = &sieves[k / SCAN_SORT_SIEVE];
        s->keys[k % SCAN_SORT_SIEVE] = key_bytes == 4 ? _mm512_set1_epi32((int)key) : _mm512_set1_epi64((long long)key);
        s->counts[k % SCAN_SORT_SIEVE] = _mm512_setzero_si512();
    }
    return count;
}

SCAN_INLINE void add_sieves(const scan_sort_taking *t, const sieve *sieves, unsigned key_bytes) {
    for (unsigned k = 0; k < t->frequent_n; k++) {
        __m512i counts = sieves[k / SCAN_SORT_SIEVE].counts[k % SCAN_SORT_SIEVE];
        t->slots[scan_sort_slot_of(t->frequent[k], t->multiplier)].counts[0] +=
            (uint32_t)(key_bytes == 4 ? _mm512_reduce_add_epi32(counts) : _mm512_reduce_add_epi64(counts));
    }
}
#endif

SCAN_INLINE void take(scan_sort_taking *t, scan_sort_kind kind) {
    const unsigned key_bytes = kind.key_bytes;
    size_t rest_n = 0;
#if defined(__AVX512F__)
    sieve sieves[SCAN_SORT_MAX_SIEVES] = {0}; /* gcc cannot see that those in use are set */
    uint64_t buffers[2][BLOCK + 8];
    const unsigned rounds = key_bytes >= 4 ? make_sieves(t, sieves, key_bytes) : 0;
#endif
    for (size_t i = t->begin; i < t->end; i += BLOCK) {
        const void *from = (const char *)t->keys + i * key_bytes;
        size_t n = t->end - i < BLOCK ? t->end - i : BLOCK;
        for (size_t b = 0; b < BLOCK * key_bytes; b += 64)
            __builtin_prefetch((const char *)from + BLOCK * key_bytes + b);
#if defined(__AVX512F__)
        for (unsigned r = 0; r < rounds; r++) {
            const unsigned left = t->frequent_n - r * SCAN_SORT_SIEVE;
            n = sift(&sieves[r], from, n, buffers[r % 2], left < SCAN_SORT_SIEVE ? left : SCAN_SORT_SIEVE, key_bytes);
            from = buffers[r % 2];
        }
#endif
        rest_n += take_by_hash(t, from, n, (char *)t->rest + rest_n * key_bytes, key_bytes);
    }
#if defined(__AVX512F__)
    add_sieves(t, sieves, key_bytes);
#endif
    t->rest_n = rest_n;
    t->tied = false;
    for (size_t i = 0; kind.is_float && i < rest_n; i++) {
        uint64_t code = scan_sort_code(scan_sort_load(t->rest, i, key_bytes), t->order, kind);
        t->tied |= (code == t->ties[0]) | (code == t->ties[1]);
    }
}

#endif
