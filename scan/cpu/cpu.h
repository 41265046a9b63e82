/* SPDX-License-Identifier: MIT
 *
 * What the CPU verbs share: the state of a context, and the verbs themselves. Each verb has a file in a
 * folder of its kind: prefix/prefix.c, compact/compact.c, sort/sort.c, image/equalize.c, ...
 */
#ifndef SCAN_CPU_CPU_H
#define SCAN_CPU_CPU_H

#include "../internal.h"
#include "pool.h"
#include "simd.h"

typedef struct scan_cpu_state {
    scan_simd simd;
    scan_pool *pool;
    char name[32];
    char ran[64];
} scan_cpu_state;

static inline scan_cpu_state *scan_cpu(const scan_ctx *ctx) { return ctx->state; }

/* Returns the number of elements to process. */
static inline size_t scan_cpu_count(size_t n, const uint64_t *n_device) {
    return n_device && *n_device < n ? (size_t)*n_device : n;
}

/* Sets the text of scan_ctx_ran to "METHOD SIMD". */
void scan_cpu_note(scan_ctx *ctx, const char *method);

scan_status scan_cpu_prefix(scan_ctx *, const scan_prefix_desc *, const void *in, void *out, size_t n);
size_t scan_cpu_prefix_workspace(const scan_ctx *, const scan_prefix_desc *, size_t n);
scan_status scan_cpu_compact(scan_ctx *, const scan_compact_desc *, const void *in, const scan_compact_out *, size_t n);
size_t scan_cpu_compact_workspace(const scan_ctx *, const scan_compact_desc *, size_t n);
scan_status scan_cpu_unique(scan_ctx *, const scan_unique_desc *, const void *in, const scan_unique_out *, size_t n);
size_t scan_cpu_unique_workspace(const scan_ctx *, const scan_unique_desc *, size_t n);
scan_status scan_cpu_sort(scan_ctx *, const scan_sort_desc *, const void *keys_in, void *keys_out,
                          const void *values_in, void *values_out, size_t n);
size_t scan_cpu_sort_workspace(const scan_ctx *, const scan_sort_desc *, size_t n);
scan_status scan_cpu_argsort(scan_ctx *, const scan_sort_desc *, const void *keys, void *indices, size_t n);
size_t scan_cpu_argsort_workspace(const scan_ctx *, const scan_sort_desc *, size_t n);
scan_status scan_cpu_merge(scan_ctx *, const scan_merge_desc *, const scan_merge_in *a, const scan_merge_in *b,
                           void *keys_out, void *values_out);
size_t scan_cpu_merge_workspace(const scan_ctx *, const scan_merge_desc *, size_t n);
scan_status scan_cpu_histogram(scan_ctx *, const scan_histogram_desc *, const void *in, uint64_t *bins, size_t n);
size_t scan_cpu_histogram_workspace(const scan_ctx *, const scan_histogram_desc *, size_t n);
scan_status scan_cpu_equalize(scan_ctx *, const scan_equalize_desc *, const void *in, void *out, void *luts, size_t n);
size_t scan_cpu_equalize_workspace(const scan_ctx *, const scan_equalize_desc *, size_t n);
scan_status scan_cpu_clahe(scan_ctx *, const scan_equalize_desc *, const void *in, void *out, size_t width,
                           size_t height);
size_t scan_cpu_clahe_workspace(const scan_ctx *, const scan_equalize_desc *, size_t width, size_t height);

#endif
