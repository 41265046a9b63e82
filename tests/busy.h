/* SPDX-License-Identifier: MIT
 *
 * Every call on a context that is in use, for the tests of both backends: it returns SCAN_ERR_BUSY and touches nothing.
 */
#ifndef TESTS_BUSY_H
#define TESTS_BUSY_H

#include <pthread.h>
#include <string.h>

#include "scan/scan.h"

enum { BUSY_CALLS = 16 }; /* the calls of scan.h that take a context and return a status, but those of const contexts */

typedef struct busy_calls {
    scan_ctx *ctx;
    unsigned char *memory; /* 4 KiB in the context's memory */
    scan_status status[BUSY_CALLS];
    scan_status info, workspace;
    char detail[64], ran[8];
    void *allocated, *allocated_host;
} busy_calls;

/* The calls, each with arguments that it would accept. */
static inline void *busy_make_calls(void *arg) {
    busy_calls *b = (busy_calls *)arg;
    scan_ctx *ctx = b->ctx;
    unsigned char *in = b->memory, *out = b->memory + 256, host[64] = {0};
    uint64_t *bins = (uint64_t *)(void *)(b->memory + 1024);
    const scan_prefix_desc prefix = {.struct_size = sizeof prefix, .type = SCAN_U8};
    const scan_compact_desc compact = {.struct_size = sizeof compact, .type = SCAN_U8, .flags = in};
    const scan_compact_out kept = {.struct_size = sizeof kept, .kept = out};
    const scan_unique_desc unique = {.struct_size = sizeof unique, .type = SCAN_U8};
    const scan_unique_out runs = {.struct_size = sizeof runs, .kept = out};
    const scan_sort_desc sort = {.struct_size = sizeof sort, .type = SCAN_U8};
    const scan_merge_desc merge = {.struct_size = sizeof merge, .type = SCAN_U8};
    const scan_histogram_desc histogram = {.struct_size = sizeof histogram, .type = SCAN_U8};
    const scan_equalize_desc equalize = {.struct_size = sizeof equalize, .type = SCAN_U8};
    scan_info info = {.struct_size = sizeof info};
    size_t bytes;
    int i = 0;
    b->allocated = b->allocated_host = b;
    b->status[i++] = scan_prefix(ctx, &prefix, in, out, 64);
    b->status[i++] = scan_compact(ctx, &compact, in, &kept, 64);
    b->status[i++] = scan_unique(ctx, &unique, in, &runs, 64);
    b->status[i++] = scan_sort(ctx, &sort, in, out, NULL, NULL, 64);
    b->status[i++] = scan_argsort(ctx, &sort, in, out, 16);
    b->status[i++] = scan_merge(ctx, &merge, in, NULL, 16, in, NULL, 16, out, NULL);
    b->status[i++] = scan_histogram(ctx, &histogram, in, bins, 64);
    b->status[i++] = scan_equalize(ctx, &equalize, in, out, NULL, 64);
    b->status[i++] = scan_clahe(ctx, &equalize, in, out, 8, 8);
    b->status[i++] = scan_ctx_sync(ctx);
    b->status[i++] = scan_ctx_reserve(ctx, 1 << 20);
    b->status[i++] = scan_ctx_lend(ctx, NULL, 0);
    b->status[i++] = scan_malloc(ctx, 64, &b->allocated);
    b->status[i++] = scan_malloc_host(ctx, 64, &b->allocated_host);
    b->status[i++] = scan_upload(ctx, out, host, sizeof host);
    b->status[i++] = scan_download(ctx, host, in, sizeof host);
    b->info = scan_ctx_info(ctx, &info);
    b->workspace = scan_sort_workspace(ctx, &sort, 1000, &bytes);
    strncpy(b->detail, scan_ctx_detail(ctx), sizeof b->detail - 1);
    strncpy(b->ran, scan_ctx_ran(ctx), sizeof b->ran - 1);
    return NULL;
}

/* Makes the calls in another thread, while a call on the context runs in this one: from a hook. */
static inline int busy_call_from_a_thread(busy_calls *b) {
    pthread_t thread;
    return pthread_create(&thread, NULL, busy_make_calls, b) || pthread_join(thread, NULL);
}

static inline void busy_assert_refused(const busy_calls *b) {
    for (int i = 0; i < BUSY_CALLS; i++)
        assert_int_equal(b->status[i], SCAN_ERR_BUSY);
    assert_int_equal(b->info, SCAN_OK);
    assert_int_equal(b->workspace, SCAN_OK);
    assert_string_equal(b->detail, scan_status_string(SCAN_ERR_BUSY));
    assert_string_equal(b->ran, "");
    assert_null(b->allocated);
    assert_null(b->allocated_host);
}

#endif
