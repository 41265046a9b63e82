/* SPDX-License-Identifier: MIT
 *
 * Shared by the verbs (scan/VERB.c) and the backends (scan/cpu, scan/cuda): the context, the table of a backend,
 * argument checks. A verb checks its arguments, fills in the descriptor's defaults in a copy, and calls its backend's
 * table; the backend relies on these checks.
 */
#ifndef SCAN_INTERNAL_H
#define SCAN_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>

#include "lists.h"

/* Forwards a status that is not SCAN_OK. */
#define SCAN_TRY(expr)                                                                                                 \
    do {                                                                                                               \
        scan_status scan_try_status_ = (expr);                                                                         \
        if (scan_try_status_ != SCAN_OK)                                                                               \
            return scan_try_status_;                                                                                   \
    } while (0)

/* One of the two inputs of a merge; values may be NULL. */
typedef struct scan_merge_in {
    const void *keys, *values;
    size_t n;
} scan_merge_in;

/* What tells the order of a merge: that of a sort by all bits. In merge.c. */
scan_sort_desc scan_merge_order(const scan_merge_desc *desc);

/* One backend. Descriptors arrive checked, copied and with their defaults filled in; n may be zero. *_workspace returns
 * bytes and cannot fail. */
typedef struct scan_backend_table {
    scan_status (*open)(scan_ctx *ctx, const scan_options *options); /* on failure has freed what it made */
    void (*close)(scan_ctx *ctx);
    scan_status (*sync)(scan_ctx *ctx);
    bool (*capturing)(const scan_ctx *ctx); /* is a graph being captured from the stream? may be NULL: never */
    scan_status (*prepare)(scan_ctx *ctx, void *workspace, size_t bytes); /* a new workspace; may be NULL */
    scan_status (*load)(scan_ctx *ctx); /* loads what calls otherwise load on first use; may be NULL */
    scan_status (*check_memory)(scan_ctx *ctx, const void *memory, const char *name); /* context memory? may be NULL */
    scan_status (*alloc)(scan_ctx *ctx, size_t bytes, void **memory); /* context memory, 256-byte aligned */
    void (*free)(scan_ctx *ctx, void *memory, size_t bytes);
    scan_status (*alloc_host)(scan_ctx *ctx, size_t bytes, void **memory);
    void (*free_host)(scan_ctx *ctx, void *memory);
    scan_status (*upload)(scan_ctx *ctx, void *to, const void *from_host, size_t bytes);
    scan_status (*download)(scan_ctx *ctx, void *to_host, const void *from, size_t bytes);

    scan_status (*prefix)(scan_ctx *, const scan_prefix_desc *, const void *in, void *out, size_t n);
    size_t (*prefix_workspace)(const scan_ctx *, const scan_prefix_desc *, size_t n);
    scan_status (*compact)(scan_ctx *, const scan_compact_desc *, const void *in, const scan_compact_out *, size_t n);
    size_t (*compact_workspace)(const scan_ctx *, const scan_compact_desc *, size_t n);
    scan_status (*unique)(scan_ctx *, const scan_unique_desc *, const void *in, const scan_unique_out *, size_t n);
    size_t (*unique_workspace)(const scan_ctx *, const scan_unique_desc *, size_t n);
    scan_status (*sort)(scan_ctx *, const scan_sort_desc *, const void *keys_in, void *keys_out, const void *values_in,
                        void *values_out, size_t n);
    size_t (*sort_workspace)(const scan_ctx *, const scan_sort_desc *, size_t n);
    scan_status (*argsort)(scan_ctx *, const scan_sort_desc *, const void *keys, void *indices, size_t n);
    size_t (*argsort_workspace)(const scan_ctx *, const scan_sort_desc *, size_t n);
    scan_status (*merge)(scan_ctx *, const scan_merge_desc *, const scan_merge_in *a, const scan_merge_in *b,
                         void *keys_out, void *values_out);
    size_t (*merge_workspace)(const scan_ctx *, const scan_merge_desc *, size_t n); /* n: of a and b together */
    scan_status (*histogram)(scan_ctx *, const scan_histogram_desc *, const void *in, uint64_t *bins, size_t n);
    size_t (*histogram_workspace)(const scan_ctx *, const scan_histogram_desc *, size_t n);
    scan_status (*equalize)(scan_ctx *, const scan_equalize_desc *, const void *in, void *out, void *luts, size_t n);
    size_t (*equalize_workspace)(const scan_ctx *, const scan_equalize_desc *, size_t n);
    scan_status (*clahe)(scan_ctx *, const scan_equalize_desc *, const void *in, void *out, size_t width,
                         size_t height);
    size_t (*clahe_workspace)(const scan_ctx *, const scan_equalize_desc *, size_t width, size_t height);
} scan_backend_table;

extern const scan_backend_table scan_cpu_backend;
#ifdef SCAN_HAS_CUDA
extern const scan_backend_table scan_cuda_backend;
#endif

typedef struct scan_workspace_memory {
    void *memory;
    size_t bytes;
    bool lent, captured; /* captured: a graph may use it for as long as the context lives */
} scan_workspace_memory;

struct scan_ctx {
    const scan_backend_table *backend;
    void *state; /* of the backend: scan_cpu_state, ... */
    scan_info info;
    void *(*alloc_hook)(size_t bytes, void *user, struct CUstream_st *stream);
    void (*free_hook)(void *memory, size_t bytes, void *user, struct CUstream_st *stream);
    void *hook_user;
    struct CUstream_st *stream;
    scan_workspace_memory workspace;
    scan_workspace_memory *kept; /* workspaces that graphs use, until the context ends */
    size_t kept_count;
    const char *ran; /* static storage or in state */
    char detail[256];
    bool entered; /* a call is inside: see scan_enter */
};

/* ---- entry points ------------------------------------------------------------------------------------------------ */

/* Every call that changes something of a context, the text of its last failure included, happens between scan_enter and
 * scan_leave: one call at a time. A context that is in use returns BUSY, and nothing of it has been touched. What
 * leaves is visible to the next thread that enters. (Builtins, because C's atomics are no C++, which the CUDA backend
 * is.) */
static inline scan_status scan_enter(scan_ctx *ctx) {
    if (!ctx)
        return SCAN_ERR_ARGUMENT;
    return __atomic_exchange_n(&ctx->entered, true, __ATOMIC_ACQUIRE) ? SCAN_ERR_BUSY : SCAN_OK;
}

static inline scan_status scan_leave(scan_ctx *ctx, scan_status status) {
    __atomic_store_n(&ctx->entered, false, __ATOMIC_RELEASE);
    return status;
}

/* ---- for backends ------------------------------------------------------------------------------------------------ */

/* Writes the detail (printf format) and returns status, so that a failure is one return statement. ctx may be NULL. */
__attribute__((format(printf, 3, 4))) scan_status scan_fail(scan_ctx *ctx, scan_status status, const char *format, ...);

/* Returns the context's workspace, grown to at least `bytes` and aligned to 256. Its content is lost after the call.
 * WORKSPACE if it is too small and may not grow: it is lent, or a graph is being captured. */
scan_status scan_workspace(scan_ctx *ctx, size_t bytes, void **memory);

/* ---- for verbs --------------------------------------------------------------------------------------------------- */

/* A public struct as it was first published: its last field and its size, TYPE_first_size. Later fields are appended;
 * these numbers stay. */
#define SCAN_FIRST_STRUCT(type, last_field, bytes)                                                                     \
    enum { type##_first_size = bytes };                                                                                \
    SCAN_ASSERT(offsetof(type, last_field) + sizeof(((type *)0)->last_field) == type##_first_size,                     \
                #type ": a field that was published has moved")

/* Copies a caller's struct, of which this library knows known_size bytes, into `copy`; fields that it does not have
 * become zero. SCAN_ERR_VERSION if it is shorter than first_size, or if what this library does not know is not zero.
 * `what` names the struct in the detail. */
scan_status scan_take_struct(scan_ctx *ctx, void *copy, const void *from, size_t first_size, size_t known_size,
                             const char *what);

/* The other direction: fills a caller's struct, whose struct_size says how much of it there is, from `from`; fields
 * that this library does not know become zero. SCAN_ERR_VERSION if it is shorter than first_size. */
scan_status scan_give_struct(void *to, const void *from, size_t first_size, size_t known_size);

scan_status scan_check_type(scan_ctx *ctx, scan_type type, const char *what);
scan_status scan_check_grid(scan_ctx *ctx, scan_grid grid, const char *what);

/* One array argument: `count` elements of `size` bytes each at `pointer`. */
typedef struct scan_array {
    const void *pointer;
    size_t count;
    size_t size;
    const char *name;
} scan_array;

/* Checks that an array is not NULL (unless count is 0), aligned, of a representable byte count, and in memory of the
 * context's backend. */
scan_status scan_check_array(scan_ctx *ctx, scan_array array);

/* True if two arrays share a byte. Empty arrays and NULL share nothing. */
bool scan_arrays_overlap(scan_array a, scan_array b);

/* Settles the type of the indices index_base ... index_base + n: NONE becomes u32 if index_base + n < 2^32, else u64.
 * ARGUMENT if they do not fit the type, or 64 bits. */
scan_status scan_settle_index_type(scan_ctx *ctx, scan_type *type, uint64_t index_base, size_t n);

/* SCAN_ERR_OVERLAP, with both names, if the arrays share a byte. */
scan_status scan_check_disjoint(scan_ctx *ctx, scan_array a, scan_array b);

#endif
