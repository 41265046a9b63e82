/* SPDX-License-Identifier: MIT
 *
 * Contexts: options, struct versions, workspace, memory hooks, names.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "scan/internal.h"

static void create_default(void **state) {
    (void)state;
    scan_ctx *ctx;
    assert_int_equal(scan_ctx_create(&ctx, NULL), SCAN_OK);
    scan_info info = {.struct_size = sizeof info};
    assert_int_equal(scan_ctx_info(ctx, &info), SCAN_OK);
    assert_int_equal(info.backend, SCAN_BACKEND_CPU);
    assert_int_equal(info.device, -1);
    assert_true(info.threads >= 1);
    assert_int_equal(strncmp(info.name, "cpu ", 4), 0);
    assert_string_equal(scan_ctx_detail(ctx), "");
    assert_int_equal(scan_ctx_sync(ctx), SCAN_OK);
    scan_ctx_destroy(ctx);
    scan_ctx_destroy(NULL);
    assert_int_equal(scan_ctx_create(NULL, NULL), SCAN_ERR_ARGUMENT);
}

static void thread_counts(void **state) {
    (void)state;
    for (uint32_t threads = 1; threads <= 9; threads++) {
        scan_ctx *ctx;
        scan_options options = {.struct_size = sizeof options, .threads = threads};
        assert_int_equal(scan_ctx_create(&ctx, &options), SCAN_OK);
        scan_info info = {.struct_size = sizeof info};
        assert_int_equal(scan_ctx_info(ctx, &info), SCAN_OK);
        assert_int_equal(info.threads, threads);
        scan_ctx_destroy(ctx);
    }
}

/* Options that must fail, each with a reason in the caller's buffer. */
static void bad_options(void **state) {
    (void)state;
    char detail[128];
    const struct {
        scan_options options;
        scan_status status;
        const char *says;
    } cases[] = {
        {{.backend = (scan_backend)9}, SCAN_ERR_ARGUMENT, "9 is not a backend"},
        {{.device = -2}, SCAN_ERR_ARGUMENT, "-2 is not a device"},
        {{.threads = 1u << 30}, SCAN_ERR_ARGUMENT, "threads"},
        {{.free = (void (*)(void *, size_t, void *, struct CUstream_st *))abort}, SCAN_ERR_ARGUMENT, "alloc"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        scan_ctx *ctx = (scan_ctx *)&ctx;
        scan_options options = cases[i].options;
        options.struct_size = sizeof options;
        options.detail = detail;
        options.detail_bytes = sizeof detail;
        memset(detail, 'x', sizeof detail);
        assert_int_equal(scan_ctx_create(&ctx, &options), cases[i].status);
        assert_null(ctx);
        assert_non_null(strstr(detail, cases[i].says));
        options.detail_bytes = 4; /* truncated, terminated */
        assert_int_equal(scan_ctx_create(&ctx, &options), cases[i].status);
        assert_int_equal(strlen(detail), 3);
    }
}

/* A struct as its first version had it, and as the next version has it. */
typedef struct first_struct {
    uint32_t struct_size, a;
} first_struct;
typedef struct next_struct {
    uint32_t struct_size, a;
    uint64_t added;
} next_struct;

static scan_status take_first(void *copy, const void *given) {
    return scan_take_struct(NULL, copy, given, sizeof(first_struct), sizeof(first_struct), "a struct");
}

static scan_status take_next(void *copy, const void *given) {
    return scan_take_struct(NULL, copy, given, sizeof(first_struct), sizeof(next_struct), "a struct");
}

static void structs_in(void **state) {
    (void)state;
    first_struct first = {sizeof first, 7}, first_copy;
    next_struct next = {sizeof next, 8, 9}, copy;

    /* a program of the first version with the next library */
    memset(&copy, 0xee, sizeof copy);
    assert_int_equal(take_next(&copy, &first), SCAN_OK);
    assert_true(copy.a == 7 && copy.added == 0);
    /* both of the next version */
    assert_int_equal(take_next(&copy, &next), SCAN_OK);
    assert_true(copy.a == 8 && copy.added == 9);
    /* a program of the next version with the first library: only without what it does not know */
    assert_int_equal(take_first(&first_copy, &next), SCAN_ERR_VERSION);
    next.added = 0;
    assert_int_equal(take_first(&first_copy, &next), SCAN_OK);
    assert_int_equal(first_copy.a, 8);

    for (first.struct_size = 0; first.struct_size < sizeof first; first.struct_size++) {
        assert_int_equal(take_next(&copy, &first), SCAN_ERR_VERSION);
        assert_int_equal(take_first(&first_copy, &first), SCAN_ERR_VERSION);
    }
    assert_int_equal(take_first(&first_copy, NULL), SCAN_ERR_ARGUMENT);
}

static void structs_out(void **state) {
    (void)state;
    const next_struct from = {0, 8, 9};
    next_struct next = {sizeof(first_struct), 1, 2};

    /* a program of the first version with the next library: nothing is written past its struct */
    assert_int_equal(scan_give_struct(&next, &from, sizeof(first_struct), sizeof(next_struct)), SCAN_OK);
    assert_true(next.struct_size == sizeof(first_struct) && next.a == 8 && next.added == 2);
    /* a program of the next version with the first library */
    next.struct_size = sizeof next;
    assert_int_equal(scan_give_struct(&next, &from, sizeof(first_struct), sizeof(first_struct)), SCAN_OK);
    assert_true(next.struct_size == sizeof next && next.a == 8 && next.added == 0);
    next.struct_size = sizeof(first_struct) - 1;
    next.a = 3;
    assert_int_equal(scan_give_struct(&next, &from, sizeof(first_struct), sizeof(first_struct)), SCAN_ERR_VERSION);
    assert_int_equal(next.a, 3);
}

static void struct_versions(void **state) {
    (void)state;
    struct {
        scan_options options;
        unsigned char tail[16];
    } later = {.options = {.struct_size = sizeof later}};
    struct {
        scan_info info;
        uint64_t added;
    } info = {.info = {.struct_size = sizeof info}, .added = 1};
    scan_ctx *ctx;
    assert_int_equal(scan_ctx_create(&ctx, &later.options), SCAN_OK);
    assert_int_equal(scan_ctx_info(ctx, &info.info), SCAN_OK);
    assert_true(info.info.threads >= 1 && info.info.struct_size == sizeof info && info.added == 0);
    info.info.struct_size = sizeof info.info;
    info.added = 1;
    assert_int_equal(scan_ctx_info(ctx, &info.info), SCAN_OK);
    assert_int_equal(info.added, 1);
    info.info.struct_size--;
    assert_int_equal(scan_ctx_info(ctx, &info.info), SCAN_ERR_VERSION);
    scan_ctx_destroy(ctx);
    later.tail[15] = 1;
    assert_int_equal(scan_ctx_create(&ctx, &later.options), SCAN_ERR_VERSION);
    assert_null(ctx);
    later.options.struct_size = 0;
    assert_int_equal(scan_ctx_create(&ctx, &later.options), SCAN_ERR_VERSION);
}

static void simd_cap(void **state) {
    (void)state;
    const char *before = getenv("SCAN_SIMD");
    char *saved = before ? strdup(before) : NULL;
    scan_ctx *ctx;
    setenv("SCAN_SIMD", "portable", 1);
    assert_int_equal(scan_ctx_create(&ctx, NULL), SCAN_OK);
    scan_info info = {.struct_size = sizeof info};
    assert_int_equal(scan_ctx_info(ctx, &info), SCAN_OK);
    assert_string_equal(info.name, "cpu portable");
    scan_ctx_destroy(ctx);
    setenv("SCAN_SIMD", "sse9", 1);
    char detail[128];
    scan_options options = {.struct_size = sizeof options, .detail = detail, .detail_bytes = sizeof detail};
    assert_int_equal(scan_ctx_create(&ctx, &options), SCAN_ERR_ARGUMENT);
    assert_non_null(strstr(detail, "SCAN_SIMD=sse9"));
    if (saved)
        setenv("SCAN_SIMD", saved, 1);
    else
        unsetenv("SCAN_SIMD");
    free(saved);
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

typedef struct hook_log {
    size_t live_bytes;
    int allocs;
    int refuse;
} hook_log;

static void *hook_alloc(size_t bytes, void *user, struct CUstream_st *stream) {
    hook_log *log = user;
    assert_null(stream);
    if (log->refuse)
        return NULL;
    log->live_bytes += bytes;
    log->allocs++;
    void *memory;
    return posix_memalign(&memory, 256, bytes) ? NULL : memory;
}

static void hook_free(void *memory, size_t bytes, void *user, struct CUstream_st *stream) {
    assert_null(stream);
    ((hook_log *)user)->live_bytes -= bytes;
    free(memory);
}

static void hooks_see_every_byte(void **state) {
    (void)state;
    hook_log log = {0};
    scan_options options = {.struct_size = sizeof options, .alloc = hook_alloc, .free = hook_free, .user = &log};
    scan_ctx *ctx;
    assert_int_equal(scan_ctx_create(&ctx, &options), SCAN_OK);
    assert_int_equal(scan_ctx_reserve(ctx, 1000), SCAN_OK);
    assert_int_equal(log.live_bytes, 1000);
    assert_int_equal(scan_ctx_reserve(ctx, 500), SCAN_OK); /* has enough */
    assert_int_equal(log.allocs, 1);
    void *a, *b;
    assert_int_equal(scan_malloc(ctx, 77, &a), SCAN_OK);
    assert_int_equal((uintptr_t)a % 256, 0);
    memset(a, 1, 77);
    assert_int_equal(scan_malloc(ctx, 0, &b), SCAN_OK);
    assert_null(b);
    scan_free(ctx, b);
    log.refuse = 1;
    assert_int_equal(scan_malloc(ctx, 10, &b), SCAN_ERR_MEMORY);
    assert_null(b);
    assert_int_equal(scan_ctx_reserve(ctx, 5000), SCAN_ERR_MEMORY);
    assert_int_not_equal(strlen(scan_ctx_detail(ctx)), 0);
    log.refuse = 0;
    assert_int_equal(scan_ctx_reserve(ctx, 5000), SCAN_OK);
    scan_free(ctx, a);
    assert_int_equal(scan_malloc(ctx, SIZE_MAX, &b), SCAN_ERR_MEMORY);
    scan_ctx_destroy(ctx);
    assert_int_equal(log.live_bytes, 0);
}

static void lending(void **state) {
    (void)state;
    scan_ctx *ctx;
    assert_int_equal(scan_ctx_create(&ctx, NULL), SCAN_OK);
    static _Alignas(256) unsigned char memory[1024];
    assert_int_equal(scan_ctx_lend(ctx, memory + 1, 512), SCAN_ERR_ALIGNMENT);
    assert_int_equal(scan_ctx_lend(ctx, NULL, 512), SCAN_ERR_ARGUMENT);
    assert_int_equal(scan_ctx_lend(ctx, memory, sizeof memory), SCAN_OK);
    assert_int_equal(scan_ctx_reserve(ctx, sizeof memory), SCAN_OK);
    assert_int_equal(scan_ctx_reserve(ctx, sizeof memory + 1), SCAN_ERR_WORKSPACE);
    assert_int_equal(scan_ctx_lend(ctx, NULL, 0), SCAN_OK);
    assert_int_equal(scan_ctx_reserve(ctx, sizeof memory + 1), SCAN_OK);
    scan_ctx_destroy(ctx);
}

static void copies(void **state) {
    (void)state;
    scan_ctx *ctx;
    assert_int_equal(scan_ctx_create(&ctx, NULL), SCAN_OK);
    char text[] = "prefix", back[sizeof text];
    void *memory, *host;
    assert_int_equal(scan_malloc(ctx, sizeof text, &memory), SCAN_OK);
    assert_int_equal(scan_upload(ctx, memory, text, sizeof text), SCAN_OK);
    assert_int_equal(scan_download(ctx, back, memory, sizeof text), SCAN_OK);
    assert_string_equal(back, text);
    assert_int_equal(scan_upload(ctx, NULL, NULL, 0), SCAN_OK);
    assert_int_equal(scan_upload(ctx, NULL, text, 1), SCAN_ERR_ARGUMENT);
    assert_int_equal(scan_download(ctx, back, NULL, 1), SCAN_ERR_ARGUMENT);
    scan_free(ctx, memory);
    assert_int_equal(scan_malloc_host(ctx, 4 << 20, &host), SCAN_OK);
    memset(host, 1, 4 << 20);
    scan_free_host(ctx, host);
    scan_ctx_destroy(ctx);
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

static void names(void **state) {
    (void)state;
#define CHECK(ENUM, name, ctype, CLASS)                                                                                \
    assert_string_equal(scan_type_name(SCAN_##ENUM), #name);                                                           \
    assert_int_equal(scan_type_size(SCAN_##ENUM), sizeof(ctype));
    SCAN_TYPES(CHECK)
#undef CHECK
    assert_null(scan_type_name(SCAN_TYPE_NONE));
    assert_null(scan_type_name((scan_type)11));
    assert_null(scan_type_name((scan_type)-1));
    assert_int_equal(scan_type_size(SCAN_TYPE_NONE), 0);
    assert_int_equal(scan_type_size((scan_type)-1), 0);
    assert_string_equal(scan_op_name(SCAN_MUL), "mul");
    assert_null(scan_op_name((scan_op)SCAN_OP_COUNT));
    assert_string_equal(scan_grid_name(SCAN_GRID_LOOKBACK), "look-back");
    assert_null(scan_grid_name((scan_grid)6));
    assert_string_equal(scan_block_name(SCAN_BLOCK_KOGGE_STONE), "kogge-stone");
    assert_null(scan_block_name((scan_block)4));
    assert_string_equal(scan_like_name(SCAN_LIKE_SKIMAGE), "skimage");
    assert_null(scan_like_name((scan_like)5));
    assert_string_equal(scan_sort_method_name(SCAN_SORT_QUICK), "quick");
    assert_string_equal(scan_sort_method_name(SCAN_SORT_SAMPLE), "sample");
    assert_null(scan_sort_method_name((scan_sort_method)5));
    for (int s = SCAN_OK; s <= SCAN_ERR_PEER; s++)
        assert_string_not_equal(scan_status_string((scan_status)s), "unknown status");
    assert_string_equal(scan_status_string((scan_status)99), "unknown status");
    int major, minor, patch;
    assert_int_equal(sscanf(scan_version(), "%d.%d.%d", &major, &minor, &patch), 3);
    assert_int_equal(major, SCAN_VERSION_MAJOR);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(create_default), cmocka_unit_test(thread_counts),
        cmocka_unit_test(bad_options),    cmocka_unit_test(structs_in),
        cmocka_unit_test(structs_out),    cmocka_unit_test(struct_versions),
        cmocka_unit_test(simd_cap),       cmocka_unit_test(hooks_see_every_byte),
        cmocka_unit_test(lending),        cmocka_unit_test(copies),
        cmocka_unit_test(names),
    };
    return cmocka_run_group_tests_name("context", tests, NULL, NULL);
}
