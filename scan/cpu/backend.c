/* SPDX-License-Identifier: MIT
 *
 * The CPU backend's table: context state, memory, and the functions of the verbs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "cpu.h"
#include "../shared/float_control.h"

enum { ALIGNMENT = 256, HUGE_PAGE = 2 << 20, MAX_THREADS = 1024 };

static scan_status cpu_open(scan_ctx *ctx, const scan_options *options) {
    scan_simd simd;
    SCAN_TRY(scan_simd_detect(ctx, &simd));
    if (options->threads > MAX_THREADS)
        return scan_fail(ctx, SCAN_ERR_ARGUMENT, "options.threads: %u, at most %d", options->threads, MAX_THREADS);
    scan_cpu_state *state = calloc(1, sizeof *state);
    if (!state)
        return scan_fail(ctx, SCAN_ERR_MEMORY, "no memory for a context");
    state->pool = scan_pool_create(options->threads ? options->threads : scan_pool_processors());
    if (!state->pool) {
        free(state);
        return scan_fail(ctx, SCAN_ERR_MEMORY, "no memory for a thread pool");
    }
    state->simd = simd;
    snprintf(state->name, sizeof state->name, "cpu %s", scan_simd_name(simd));
    ctx->state = state;
    ctx->info.backend = SCAN_BACKEND_CPU;
    ctx->info.device = -1;
    ctx->info.threads = scan_pool_threads(state->pool);
    ctx->info.name = state->name;
    return SCAN_OK;
}

static void cpu_close(scan_ctx *ctx) {
    scan_pool_destroy(scan_cpu(ctx)->pool);
    free(ctx->state);
}

void scan_cpu_note(scan_ctx *ctx, const char *method) {
    scan_cpu_state *state = scan_cpu(ctx);
    char *end = stpcpy(state->ran, method); /* a literal; small calls would notice a printf */
    *end++ = ' ';
    strcpy(end, scan_simd_name(state->simd));
    ctx->ran = state->ran;
}

static scan_status cpu_sync(scan_ctx *ctx) {
    (void)ctx;
    return SCAN_OK;
}

/* Large blocks are aligned to huge pages and request them: otherwise page faults cost as much as sorting. */
static scan_status cpu_alloc(scan_ctx *ctx, size_t bytes, void **memory) {
    size_t alignment = bytes >= HUGE_PAGE ? HUGE_PAGE : ALIGNMENT;
    if (posix_memalign(memory, alignment, bytes) != 0) {
        *memory = NULL;
        return scan_fail(ctx, SCAN_ERR_MEMORY, "no memory for %zu bytes", bytes);
    }
#ifdef MADV_HUGEPAGE
    if (alignment == HUGE_PAGE)
        madvise(*memory, bytes, MADV_HUGEPAGE);
#endif
    return SCAN_OK;
}

static void cpu_free(scan_ctx *ctx, void *memory, size_t bytes) {
    (void)ctx, (void)bytes;
    free(memory);
}

static void cpu_free_host(scan_ctx *ctx, void *memory) { cpu_free(ctx, memory, 0); }

static scan_status cpu_copy(scan_ctx *ctx, void *to, const void *from, size_t bytes) {
    (void)ctx;
    memcpy(to, from, bytes);
    return SCAN_OK;
}

/* VERB(name, (parameters), (arguments)): the verb, in the default modes for floats. */
#define VERB(name, parameters, arguments)                                                                              \
    static scan_status cpu_##name parameters {                                                                         \
        const scan_float_control callers = scan_default_float_control();                                               \
        const scan_status status = scan_cpu_##name arguments;                                                          \
        scan_restore_float_control(callers);                                                                           \
        return status;                                                                                                 \
    }

VERB(prefix, (scan_ctx * ctx, const scan_prefix_desc *desc, const void *in, void *out, size_t n),
     (ctx, desc, in, out, n))
VERB(compact, (scan_ctx * ctx, const scan_compact_desc *desc, const void *in, const scan_compact_out *out, size_t n),
     (ctx, desc, in, out, n))
VERB(unique, (scan_ctx * ctx, const scan_unique_desc *desc, const void *in, const scan_unique_out *out, size_t n),
     (ctx, desc, in, out, n))
VERB(sort,
     (scan_ctx * ctx, const scan_sort_desc *desc, const void *keys_in, void *keys_out, const void *values_in,
      void *values_out, size_t n),
     (ctx, desc, keys_in, keys_out, values_in, values_out, n))
VERB(argsort, (scan_ctx * ctx, const scan_sort_desc *desc, const void *keys, void *indices, size_t n),
     (ctx, desc, keys, indices, n))
VERB(merge,
     (scan_ctx * ctx, const scan_merge_desc *desc, const scan_merge_in *a, const scan_merge_in *b, void *keys_out,
      void *values_out),
     (ctx, desc, a, b, keys_out, values_out))
VERB(equalize, (scan_ctx * ctx, const scan_equalize_desc *desc, const void *in, void *out, void *luts, size_t n),
     (ctx, desc, in, out, luts, n))
VERB(clahe, (scan_ctx * ctx, const scan_equalize_desc *desc, const void *in, void *out, size_t width, size_t height),
     (ctx, desc, in, out, width, height))

const scan_backend_table scan_cpu_backend = {
    .open = cpu_open,
    .close = cpu_close,
    .sync = cpu_sync,
    .alloc = cpu_alloc,
    .free = cpu_free,
    .alloc_host = cpu_alloc,
    .free_host = cpu_free_host,
    .upload = cpu_copy,
    .download = cpu_copy,
    .prefix = cpu_prefix,
    .prefix_workspace = scan_cpu_prefix_workspace,
    .compact = cpu_compact,
    .compact_workspace = scan_cpu_compact_workspace,
    .unique = cpu_unique,
    .unique_workspace = scan_cpu_unique_workspace,
    .sort = cpu_sort,
    .sort_workspace = scan_cpu_sort_workspace,
    .argsort = cpu_argsort,
    .argsort_workspace = scan_cpu_argsort_workspace,
    .merge = cpu_merge,
    .merge_workspace = scan_cpu_merge_workspace,
    .histogram = scan_cpu_histogram,
    .histogram_workspace = scan_cpu_histogram_workspace,
    .equalize = cpu_equalize,
    .equalize_workspace = scan_cpu_equalize_workspace,
    .clahe = cpu_clahe,
    .clahe_workspace = scan_cpu_clahe_workspace,
};
