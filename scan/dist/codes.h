/* SPDX-License-Identifier: MIT
 *
 * Codes of keys: unsigned integers in the order of a sort. And the probes among codes by which splitters are found
 * (splitters.c), on the host and in kernels (device.cu).
 */
#ifndef SCAN_DIST_CODES_H
#define SCAN_DIST_CODES_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __CUDACC__
#define SCAN_DIST_HD __host__ __device__
#else
#define SCAN_DIST_HD
#endif

/* How keys of a sort are mapped to codes. */
typedef struct scan_dist_codes {
    uint32_t key_bytes;
    uint32_t begin_bit, end_bit;
    bool is_float, is_signed, descending, nan_first;
} scan_dist_codes;

/* The code of a key, as scan.h orders keys: -0 and +0 have one, and so have all NaNs. */
SCAN_DIST_HD static inline uint64_t scan_dist_code(const scan_dist_codes *c, uint64_t key) {
    const unsigned width = 8 * c->key_bytes;
    const uint64_t all = ~UINT64_C(0) >> (64 - width), sign = UINT64_C(1) << (width - 1);
    if (c->is_float) {
        const uint64_t magnitude = key & (sign - 1);
        if (magnitude > (width == 32 ? UINT64_C(0x7f800000) : UINT64_C(0x7ff0000000000000)))
            return c->nan_first ? 0 : all;
        const uint64_t ascending = magnitude == 0 ? sign : key & sign ? key ^ all : key ^ sign;
        return c->descending ? ascending ^ all : ascending;
    }
    const uint64_t ordered = (c->is_signed ? key ^ sign : key) ^ (c->descending ? all : 0);
    if (c->begin_bit == c->end_bit)
        return 0;
    return (ordered & all >> (width - c->end_bit)) >> c->begin_bit;
}

/* A splitter: between the elements that come to a share and to those below, and the others. */
typedef struct scan_dist_splitter {
    uint64_t target;    /* elements below it */
    uint64_t low, high; /* the codes that its key may have */
    uint64_t from, to;  /* elements of this rank below low, and up to high */
} scan_dist_splitter;

/* The last code of range k of `ranges` equal ones of low ... high. */
SCAN_DIST_HD static inline uint64_t scan_dist_probe(const scan_dist_splitter *s, uint64_t k, uint64_t ranges) {
    const uint64_t span = s->high - s->low, step = span / ranges + 1;
    return k + 1 < ranges && (k + 1) * step - 1 < span ? s->low + (k + 1) * step - 1 : s->high;
}

#endif
