/* SPDX-License-Identifier: MIT
 *
 * The merge of two sorted arrays on the CPU: a job, and the kernels that merge a part of its output.
 *
 * Merge path (scan_merge_split) says where the inputs of any output begin, so that threads merge equal shares of the
 * output. A share is merged in four chains, a quarter each, in turn: the next element of a chain depends on what was
 * taken before it, and so four loads and comparisons are under way instead of one. No step has a branch on data.
 *
 * The next element is read wherever it lies, past the chain's own part too, because sorted inputs go on there. What
 * limits a chain is the end of the arrays: it makes as many steps as the shorter rest has elements, looks again, and
 * once that is short, searches how many elements of the longer rest come before the next one of the shorter.
 *
 * Source: Odeh, Green, Mwassi, Shmueli, Birk, "Merge Path - Parallel Merging Made Simple", 2012.
 */
#ifndef SCAN_CPU_MERGE_MERGE_H
#define SCAN_CPU_MERGE_MERGE_H

#include "../cpu.h"
#include "../sort/code.h"

typedef struct scan_merge_job scan_merge_job;

/* Merges outputs [first, end). */
typedef void scan_merge_kernel(const scan_merge_job *job, size_t first, size_t end);

struct scan_merge_job {
    scan_merge_in a, b;
    void *keys_out, *values_out;
    scan_sort_order order;
    scan_sort_kind kind;
    bool streams; /* the output is stored past the caches, where the kernel can */
    scan_merge_kernel *kernel;
};

/* By log2 of the key's bytes, is_float and value_bytes / 4. */
typedef scan_merge_kernel *const scan_merge_kernels[4][2][3];
extern scan_merge_kernels scan_merge_portable;

/* Integers alone, by log2 of their bytes; NULL: as portable. */
typedef scan_merge_kernel *const scan_merge_simd_kernels[4];
extern scan_merge_simd_kernels scan_merge_avx2, scan_merge_avx512;

/* Of the first d outputs, how many come from a. Of equal keys those of a come first. */
size_t scan_merge_split(const scan_merge_job *job, size_t d);

/* The first output from `i` on, up to `end`, whose key lies at a multiple of 64 bytes. */
SCAN_INLINE size_t scan_merge_line(const scan_merge_job *job, size_t i, size_t end, unsigned key_bytes) {
    const size_t past = ((uintptr_t)job->keys_out + i * key_bytes) % 64, next = i + (64 - past) % 64 / key_bytes;
    return next < end ? next : end;
}

#endif
