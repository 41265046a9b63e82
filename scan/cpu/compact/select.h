/* SPDX-License-Identifier: MIT
 *
 * The select engine on the CPU, which scan_compact and scan_unique share.
 *
 * Elements go in blocks, blocks in pieces. For each piece the verb's `select` writes one bit for each element
 * (compact.c: the predicate holds; unique.c: it differs from its predecessor). Kernels then compress values and
 * positions by these bits into the thread's staging area. The place of a staged block in the output is the number of
 * elements that all blocks before it kept (a chain of block ends), and the block is copied there.
 *
 * Hence one pass over the input, no store outside a block's own part of an output, and output in long runs that can be
 * streamed past the caches.
 */
#ifndef SCAN_CPU_COMPACT_SELECT_H
#define SCAN_CPU_COMPACT_SELECT_H

#include <stdatomic.h>

#include "../cpu.h"

enum {
    SCAN_SELECT_PIECE = 4096, /* elements: values and bits stay in the first-level cache */
    SCAN_SELECT_BLOCK = 32768 /* elements: staged values stay in the second-level cache */
};

/* Element types by the kernels they need: integers by size, signed or not; each float type its own. */
typedef enum scan_lane {
    SCAN_LANE_8,
    SCAN_LANE_16,
    SCAN_LANE_32,
    SCAN_LANE_64,
    SCAN_LANE_F32,
    SCAN_LANE_F64,
    SCAN_LANE_COUNT
} scan_lane;

scan_lane scan_lane_of(scan_type type);

/* The rest of the input to prefetch. */
typedef struct scan_ahead {
    const char *next, *end;
} scan_ahead;

/* One table for each SIMD level. Bit i % 64 of bits[i / 64] belongs to element i; where n is no multiple of 64, the
 * bits after n in the last word are unspecified when written and ignored when read. `flip` is XORed onto every word: 0
 * or ~0. */
typedef struct scan_select_kernels {
    /* lo <= x[i] <= hi; lo and hi are bits of the type, integers are tested as x - lo <= hi - lo, unsigned. */
    void (*in_range[SCAN_LANE_COUNT])(const void *x, size_t n, uint64_t lo, uint64_t hi, uint64_t flip, uint64_t *bits);
    /* x[i] is not x[i - 1], for i from 0: x[-1] is read. */
    void (*differs[SCAN_LANE_COUNT])(const void *x, size_t n, uint64_t *bits);
    size_t (*count)(const uint64_t *bits, size_t n);
    /* The elements with a set bit, in order; returns their count. May write up to 64 bytes past the last. */
    size_t (*compress[4])(const void *x, const uint64_t *bits, uint64_t flip, size_t n, void *to); /* by log2(size) */
    /* first + i for each set bit i, as u32, u64; otherwise as compress. */
    size_t (*positions[2])(uint64_t first, const uint64_t *bits, size_t n, void *to);
    /* memcpy past the caches, for memory that is not read again soon; prefetches from `ahead` meanwhile. */
    void (*stream)(void *to, const void *from, size_t bytes, scan_ahead *ahead);
} scan_select_kernels;

extern const scan_select_kernels scan_select_portable, scan_select_avx2, scan_select_avx512;

/* Kernels that two levels share. */
size_t scan_select_count_avx2(const uint64_t *bits, size_t n);
void scan_select_stream_avx2(void *to, const void *from, size_t bytes, scan_ahead *ahead);

/* What a block publishes to the blocks after it. */
typedef struct scan_select_block {
    _Atomic uint64_t end;  /* 1 + kept elements up to the block's end; 0: not known yet */
    uint64_t last;         /* ordered by end: position of the last element kept so far */
    _Atomic uint32_t read; /* 1: the block's input is no longer needed */
} scan_select_block;

typedef struct scan_select_job scan_select_job;
struct scan_select_job {
    /* in */
    void (*select)(const scan_select_job *job, size_t first, size_t n, uint64_t *bits);
    const void *source; /* what select reads */
    const void *in;
    size_t n;
    scan_grid grid; /* as requested */
    size_t size;    /* of an element; 0: no values */
    scan_type index_type;
    uint64_t index_base;
    void *kept, *rejected, *indices, *run_lengths;
    uint64_t *count;
    /* set by scan_select_run */
    const scan_select_kernels *kernels;
    scan_select_block *blocks;
    size_t block_count;
    char *staging;
    size_t staging_bytes; /* of one thread */
    bool in_place, streams;
    atomic_size_t ticket;
};

/* Workspace for n elements, whatever outputs are requested. */
size_t scan_select_workspace(const scan_ctx *ctx, size_t size, scan_type index_type, size_t n);

scan_status scan_select_run(scan_ctx *ctx, scan_select_job *job);

#endif
