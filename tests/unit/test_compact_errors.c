/* SPDX-License-Identifier: MIT
 *
 * What scan_compact and scan_unique refuse, with which words, and that nothing is written then; the workspace they
 * need. Errors of predicates are in test_predicate.c.
 */
#include <stdbool.h>

#include "support.h"

enum { N = 16 };

/* Arrays of N elements, side by side. */
typedef struct arrays {
    uint32_t in[N], kept[N], rejected[N], indices[N];
    uint8_t flags[N + 8];
    uint64_t count, n_device;
} arrays;

static arrays a;

static void expect(scan_ctx *ctx, scan_status got, scan_status want, const char *words) {
    if (got != want || (want != SCAN_OK && !strstr(scan_ctx_detail(ctx), words)))
        fail_msg("status %d, not %d (%s): %s", got, want, words, scan_ctx_detail(ctx));
    for (size_t i = 0; i < N && want != SCAN_OK; i++)
        assert_true(a.in[i] == i && a.kept[i] == 0 && a.rejected[i] == 0 && a.indices[i] == 0 && a.count == 0);
}

static void reset(void) {
    memset(&a, 0, sizeof a);
    for (uint32_t i = 0; i < N; i++)
        a.in[i] = i, a.flags[i] = i % 2;
    a.n_device = N;
}

static int set_up(void **state) {
    reset();
    *state = context_with_threads(1);
    return 0;
}

static int tear_down(void **state) {
    scan_ctx_destroy(*state);
    return 0;
}

static scan_compact_desc flags_desc(void) {
    return (scan_compact_desc){.struct_size = sizeof(scan_compact_desc), .type = SCAN_U32, .flags = a.flags};
}

static scan_compact_out compact_out(void) { return (scan_compact_out){.struct_size = sizeof(scan_compact_out)}; }

static void test_structs(void **state) {
    scan_ctx *ctx = *state;
    scan_compact_desc desc = flags_desc();
    scan_compact_out out = compact_out();
    out.kept = a.kept;
    assert_int_equal(scan_compact(NULL, &desc, a.in, &out, N), SCAN_ERR_ARGUMENT);
    expect(ctx, scan_compact(ctx, NULL, a.in, &out, N), SCAN_ERR_ARGUMENT, "scan_compact_desc");
    expect(ctx, scan_compact(ctx, &desc, a.in, NULL, N), SCAN_ERR_ARGUMENT, "scan_compact_out");
    desc.struct_size--;
    expect(ctx, scan_compact(ctx, &desc, a.in, &out, N), SCAN_ERR_VERSION, "scan_compact_desc");
    desc.struct_size++;
    out.struct_size = 0;
    expect(ctx, scan_compact(ctx, &desc, a.in, &out, N), SCAN_ERR_VERSION, "scan_compact_out");

    struct {
        scan_compact_desc known;
        uint32_t later[2];
    } larger = {.known = flags_desc(), .later = {0, 1}};
    larger.known.struct_size = sizeof larger;
    out.struct_size = sizeof out;
    expect(ctx, scan_compact(ctx, &larger.known, a.in, &out, N), SCAN_ERR_VERSION, "scan_compact_desc");
    larger.later[1] = 0;
    expect(ctx, scan_compact(ctx, &larger.known, a.in, &out, N), SCAN_OK, "");
}

static void test_pointers(void **state) {
    scan_ctx *ctx = *state;
    scan_compact_desc desc = flags_desc();
    scan_compact_out out = compact_out();
    expect(ctx, scan_compact(ctx, &desc, a.in, &out, N), SCAN_ERR_ARGUMENT, "every field is NULL");
    out.kept = a.kept;
    expect(ctx, scan_compact(ctx, &desc, NULL, &out, N), SCAN_ERR_ARGUMENT, "in: is NULL");
    expect(ctx, scan_compact(ctx, &desc, (char *)a.in + 2, &out, N - 1), SCAN_ERR_ALIGNMENT, "in:");
    out.kept = (char *)a.kept + 1;
    expect(ctx, scan_compact(ctx, &desc, a.in, &out, N - 1), SCAN_ERR_ALIGNMENT, "out.kept:");
    out.kept = a.kept;
    out.indices = (char *)a.indices + 2;
    expect(ctx, scan_compact(ctx, &desc, a.in, &out, N - 1), SCAN_ERR_ALIGNMENT, "out.indices:");
    out.indices = NULL;
    desc.n_device = (const uint64_t *)((char *)&a.n_device + 4);
    expect(ctx, scan_compact(ctx, &desc, a.in, &out, N), SCAN_ERR_ALIGNMENT, "n_device:");
    desc.n_device = NULL;
    expect(ctx, scan_compact(ctx, &desc, a.in, &out, SIZE_MAX / 4), SCAN_ERR_ARGUMENT, "in:");
    desc.type = SCAN_TYPE_NONE;
    expect(ctx, scan_compact(ctx, &desc, a.in, &out, N), SCAN_ERR_TYPE, "desc.type");

    out = compact_out(); /* with flags and indices, neither in nor its type is needed */
    out.indices = a.indices;
    desc.type = (scan_type)77;
    expect(ctx, scan_compact(ctx, &desc, (char *)a.in + 1, &out, N), SCAN_OK, "");
    assert_int_equal(a.indices[3], 7);

    a.count = 1;
    out = compact_out();
    out.count = &a.count;
    desc = flags_desc();
    desc.flags = (const uint8_t *)"";
    expect(ctx, scan_compact(ctx, &desc, NULL, &out, 0), SCAN_OK, "");
    assert_int_equal(a.count, 0);
    desc.flags = NULL;
    expect(ctx, scan_compact(ctx, &desc, NULL, &out, 0), SCAN_OK, "");
    size_t bytes;
    assert_int_equal(scan_compact_workspace(ctx, &desc, 0, &bytes), SCAN_OK);
    reset();
    desc.term_count = 1;
    expect(ctx, scan_compact(ctx, &desc, NULL, &out, 0), SCAN_ERR_ARGUMENT, "term_count");
    desc = flags_desc();
    out.count = NULL;
    expect(ctx, scan_compact(ctx, &desc, NULL, &out, 0), SCAN_OK, "");
}

static void test_overlaps(void **state) {
    scan_ctx *ctx = *state;
    scan_compact_desc desc = flags_desc();
    scan_compact_out out = compact_out();
    out.kept = a.in + 1;
    expect(ctx, scan_compact(ctx, &desc, a.in, &out, 8), SCAN_ERR_OVERLAP, "out.kept and in");
    out.kept = a.in;
    out.indices = a.indices;
    expect(ctx, scan_compact(ctx, &desc, a.in, &out, N), SCAN_ERR_OVERLAP, "out.kept and in");
    out.indices = NULL;
    out.rejected = a.rejected;
    expect(ctx, scan_compact(ctx, &desc, a.in, &out, N), SCAN_ERR_OVERLAP, "out.kept and in");
    out.kept = NULL;
    out.rejected = a.in;
    expect(ctx, scan_compact(ctx, &desc, a.in, &out, N), SCAN_ERR_OVERLAP, "out.rejected and in");
    out.kept = a.kept;
    out.rejected = a.kept + N - 1;
    expect(ctx, scan_compact(ctx, &desc, a.in, &out, N), SCAN_ERR_OVERLAP, "out.kept and out.rejected");
    out.rejected = NULL;
    out.count = (uint64_t *)(void *)a.kept;
    expect(ctx, scan_compact(ctx, &desc, a.in, &out, N), SCAN_ERR_OVERLAP, "out.kept and out.count");
    out.count = &a.n_device;
    desc.n_device = &a.n_device;
    expect(ctx, scan_compact(ctx, &desc, a.in, &out, N), SCAN_ERR_OVERLAP, "out.count and desc.n_device");
    desc.n_device = NULL;
    out.count = NULL;
    out.kept = a.flags;
    expect(ctx, scan_compact(ctx, &desc, a.in, &out, 4), SCAN_ERR_OVERLAP, "out.kept and desc.flags");

    const scan_term term = {.op = SCAN_TERM_GE, .column = 2, .constant_type = SCAN_U64};
    const scan_column columns[] = {{.type = SCAN_U32, .data = a.rejected}, {.type = SCAN_U32, .data = a.in}};
    desc = (scan_compact_desc){.struct_size = sizeof desc,
                               .type = SCAN_U32,
                               .terms = &term,
                               .term_count = 1,
                               .columns = columns,
                               .column_count = 2};
    out.kept = a.in;
    expect(ctx, scan_compact(ctx, &desc, a.in, &out, N), SCAN_ERR_OVERLAP, "desc.columns[1]");
    out.kept = a.kept;
    expect(ctx, scan_compact(ctx, &desc, a.in, &out, N), SCAN_OK, "");
}

static void test_grids(void **state) {
    scan_ctx *ctx = *state;
    scan_compact_desc desc = flags_desc();
    scan_compact_out out = compact_out();
    out.kept = a.kept;
    for (int grid = 0; scan_grid_name((scan_grid)grid); grid++) {
        const bool serves = grid == SCAN_GRID_AUTO || grid == SCAN_GRID_BLOCKED;
        desc.grid = (scan_grid)grid;
        expect(ctx, scan_compact(ctx, &desc, a.in, &out, N), serves ? SCAN_OK : SCAN_ERR_ALGORITHM,
               serves ? "" : scan_grid_name(desc.grid));
        reset();
    }
    desc.grid = (scan_grid)-1;
    expect(ctx, scan_compact(ctx, &desc, a.in, &out, N), SCAN_ERR_ARGUMENT, "desc.grid: -1");
    desc.grid = SCAN_GRID_AUTO;
    desc.reserved = 1;
    expect(ctx, scan_compact(ctx, &desc, a.in, &out, N), SCAN_ERR_ARGUMENT, "desc.reserved");
}

static void test_unique(void **state) {
    scan_ctx *ctx = *state;
    scan_unique_desc desc = {.struct_size = sizeof desc, .type = SCAN_U32};
    scan_unique_out out = {.struct_size = sizeof out};
    assert_int_equal(scan_unique(NULL, &desc, a.in, &out, N), SCAN_ERR_ARGUMENT);
    expect(ctx, scan_unique(ctx, &desc, a.in, &out, N), SCAN_ERR_ARGUMENT, "every field is NULL");
    expect(ctx, scan_unique(ctx, &desc, NULL, &out, 0), SCAN_OK, "");
    out.kept = a.kept;
    expect(ctx, scan_unique(ctx, &desc, NULL, &out, N), SCAN_ERR_ARGUMENT, "in: is NULL");
    desc.grid = (scan_grid)99;
    expect(ctx, scan_unique(ctx, &desc, a.in, &out, N), SCAN_ERR_ARGUMENT, "desc.grid: 99");
    desc.grid = SCAN_GRID_LOOKBACK;
    expect(ctx, scan_unique(ctx, &desc, a.in, &out, N), SCAN_ERR_ALGORITHM, "look-back");
    desc.grid = SCAN_GRID_BLOCKED;
    expect(ctx, scan_unique(ctx, &desc, a.in, &out, N), SCAN_OK, "");
    reset();
    desc.grid = SCAN_GRID_AUTO;
    desc.type = (scan_type)-1;
    expect(ctx, scan_unique(ctx, &desc, a.in, &out, N), SCAN_ERR_TYPE, "desc.type");
    desc.type = SCAN_U32;
    desc.index_type = SCAN_F32;
    expect(ctx, scan_unique(ctx, &desc, a.in, &out, N), SCAN_ERR_TYPE, "index_type");
    desc.index_type = SCAN_TYPE_NONE;
    out.kept = a.in;
    out.run_lengths = a.indices;
    expect(ctx, scan_unique(ctx, &desc, a.in, &out, N), SCAN_ERR_OVERLAP, "out.kept and in");
    out.kept = a.in + 4;
    out.run_lengths = NULL;
    expect(ctx, scan_unique(ctx, &desc, a.in, &out, 8), SCAN_ERR_OVERLAP, "out.kept and in");
    out.kept = a.kept;
    out.indices = a.indices;
    out.run_lengths = a.indices;
    expect(ctx, scan_unique(ctx, &desc, a.in, &out, N), SCAN_ERR_OVERLAP, "out.indices and out.run_lengths");
}

/* A lent workspace of the reported size serves every subset of outputs; one byte less is refused where it is needed. */
static void test_workspace(void **state) {
    (void)state;
    enum { LARGE = 300000 };
    scan_ctx *ctx = context_with_threads(3);
    uint64_t *in = malloc(8 * LARGE), *kept = malloc(8 * LARGE), *other = malloc(8 * LARGE), *index = malloc(8 * LARGE);
    uint8_t *flags = malloc(LARGE);
    for (size_t i = 0; i < LARGE; i++)
        in[i] = i / 3, flags[i] = i % 5 == 0;
    const size_t sizes[] = {1, 100, 40000, LARGE};
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
        size_t n = sizes[k], bytes;
        scan_compact_desc desc = {.struct_size = sizeof desc, .type = SCAN_U64, .index_type = SCAN_U64, .flags = flags};
        scan_compact_out out = {.struct_size = sizeof out, .kept = kept, .rejected = other, .indices = index};
        assert_int_equal(scan_compact_workspace(ctx, &desc, n, &bytes), SCAN_OK);
        void *memory = aligned_alloc(256, (bytes + 255) / 256 * 256);
        assert_int_equal(scan_ctx_lend(ctx, memory, bytes), SCAN_OK);
        assert_int_equal(scan_compact(ctx, &desc, in, &out, n), SCAN_OK);
        assert_int_equal(scan_ctx_lend(ctx, memory, bytes - 1), SCAN_OK);
        assert_int_equal(scan_compact(ctx, &desc, in, &out, n), SCAN_ERR_WORKSPACE);
        scan_ctx_lend(ctx, NULL, 0);
        free(memory);

        scan_unique_desc runs = {.struct_size = sizeof runs, .type = SCAN_U64, .index_type = SCAN_U64};
        scan_unique_out firsts = {.struct_size = sizeof firsts, .kept = kept, .indices = index, .run_lengths = other};
        assert_int_equal(scan_unique_workspace(ctx, &runs, n, &bytes), SCAN_OK);
        memory = aligned_alloc(256, (bytes + 255) / 256 * 256);
        assert_int_equal(scan_ctx_lend(ctx, memory, bytes), SCAN_OK);
        assert_int_equal(scan_unique(ctx, &runs, in, &firsts, n), SCAN_OK);
        assert_int_equal(scan_ctx_lend(ctx, memory, bytes - 1), SCAN_OK);
        assert_int_equal(scan_unique(ctx, &runs, in, &firsts, n), SCAN_ERR_WORKSPACE);
        scan_ctx_lend(ctx, NULL, 0);
        free(memory);
    }
    size_t bytes;
    scan_compact_desc bad = {.struct_size = sizeof bad, .type = SCAN_U64};
    assert_int_equal(scan_compact_workspace(ctx, &bad, 5, &bytes), SCAN_ERR_ARGUMENT);
    assert_int_equal(scan_compact_workspace(ctx, &bad, 5, NULL), SCAN_ERR_ARGUMENT);
    free(in), free(kept), free(other), free(index), free(flags);
    scan_ctx_destroy(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(test_structs),
        TEST(test_pointers),
        TEST(test_overlaps),
        TEST(test_grids),
        TEST(test_unique),
#undef TEST
        cmocka_unit_test(test_workspace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
