/* SPDX-License-Identifier: MIT
 *
 * All verbs in turn on one context, one workspace and one stream, against the CPU backend: the words that single-pass
 * kernels leave in the workspace, tagged with their launch, must never be taken for another verb's, type's or size's.
 */
#include "gpu_support.h"

static gpu_array d_in, d_out, d_more, d_count, d_workspace;
static char *host_in, *host_more, *want, *got;
static size_t max_n; /* elements */
static uint64_t seed;

static size_t below(size_t bound) { return random_below(&seed, bound); }

static void compare(gpu_array *a, const char *what, scan_type type, size_t n, size_t checked_bytes) {
    gpu_get(a, got);
    const size_t wrong = gpu_first_difference(got, want, checked_bytes, 1);
    if (wrong != checked_bytes)
        fail_msg("%s of %zu %s: byte %zu differs from the CPU's", what, n, scan_type_name(type), wrong);
}

static void one_prefix(scan_type type, size_t n) {
    static const scan_grid grids[] = {SCAN_GRID_AUTO, SCAN_GRID_LOOKBACK, SCAN_GRID_AUTO, SCAN_GRID_HIERARCHICAL};
    const size_t size = scan_type_size(type);
    scan_prefix_desc d = {.struct_size = sizeof d, .type = type, .op = (scan_op)below(SCAN_OP_COUNT)};
    d.kind = (scan_kind)below(2);
    d.reverse = (uint32_t)below(2);
    if (gpu_is_float(type))
        d.op = (scan_op)(SCAN_MIN + below(2)); /* sums of special values may be any NaN */
    cpu_ok(scan_prefix(cpu, &d, host_in, want, n));
    d.algorithm.grid = grids[below(4)];
    void *from = gpu_put(&d_in, host_in, n, size, below(9)), *to = gpu_put(&d_out, NULL, n, size, below(9));
    gpu_ok(scan_prefix(gpu, &d, from, to, n));
    compare(&d_out, "prefix", type, n, n * size);
}

/* By flags, by one range, or by a program over a column of flags and the index. */
static void one_compact(scan_type type, size_t n) {
    static const scan_grid grids[] = {SCAN_GRID_AUTO, SCAN_GRID_LOOKBACK};
    const size_t size = scan_type_size(type);
    uint64_t count = 0, device_count;
    gpu_fill(SCAN_U8, below(2) ? GPU_FEW : GPU_SPARSE, host_more, n, n);
    scan_term terms[] = {{.op = SCAN_TERM_GT, .constant_type = SCAN_F64, .constant.f = 0.25},
                         {.op = SCAN_TERM_EQ, .column = 1, .constant_type = SCAN_U64},
                         {.op = SCAN_TERM_AND},
                         {.op = SCAN_TERM_LT, .column = SCAN_COLUMN_INDEX, .constant_type = SCAN_U64},
                         {.op = SCAN_TERM_OR}};
    terms[3].constant.u = below(n + 1);
    scan_column column = {.type = SCAN_U8, .data = host_more};
    scan_compact_desc d = {.struct_size = sizeof d, .type = type};
    const size_t by = below(3);
    if (by == 0)
        d.flags = (const uint8_t *)host_more;
    else
        d.terms = terms, d.term_count = by == 1 ? 1 : 5;
    if (by == 2)
        d.columns = &column, d.column_count = 1;
    scan_compact_out out = {.struct_size = sizeof out, .kept = want, .count = &count};
    cpu_ok(scan_compact(cpu, &d, host_in, &out, n));
    void *from = gpu_put(&d_in, host_in, n, size, below(9)), *more = gpu_put(&d_more, host_more, n, 1, below(9));
    out.kept = gpu_put(&d_out, NULL, n, size, below(9));
    out.count = (uint64_t *)gpu_put(&d_count, NULL, 1, 8, 0);
    d.flags = by == 0 ? (const uint8_t *)more : NULL;
    column.data = more;
    d.grid = grids[below(2)];
    gpu_ok(scan_compact(gpu, &d, from, &out, n));
    gpu_get(&d_count, &device_count);
    assert_int_equal(device_count, count);
    compare(&d_out, "compact", type, n, (size_t)count * size);
}

static void one_unique(scan_type type, size_t n) {
    const size_t size = scan_type_size(type);
    uint64_t count = 0, device_count;
    scan_unique_desc d = {.struct_size = sizeof d, .type = type};
    scan_unique_out out = {.struct_size = sizeof out, .kept = want, .count = &count};
    cpu_ok(scan_unique(cpu, &d, host_in, &out, n));
    void *from = gpu_put(&d_in, host_in, n, size, below(9));
    out.kept = gpu_put(&d_out, NULL, n, size, below(9));
    out.count = (uint64_t *)gpu_put(&d_count, NULL, 1, 8, 0);
    gpu_ok(scan_unique(gpu, &d, from, &out, n));
    gpu_get(&d_count, &device_count);
    assert_int_equal(device_count, count);
    compare(&d_out, "unique", type, n, (size_t)count * size);
}

static void one_sort(scan_type type, size_t n) {
    const size_t size = scan_type_size(type);
    scan_sort_desc d = {.struct_size = sizeof d, .type = type, .descending = (uint32_t)below(2)};
    cpu_ok(scan_sort(cpu, &d, host_in, want, NULL, NULL, n));
    void *from = gpu_put(&d_in, host_in, n, size, below(9)), *to = gpu_put(&d_out, NULL, n, size, below(9));
    gpu_ok(scan_sort(gpu, &d, from, to, NULL, NULL, n));
    compare(&d_out, "sort", type, n, n * size);
}

static void one_argsort(scan_type type, size_t n) {
    const size_t size = scan_type_size(type);
    scan_sort_desc d = {.struct_size = sizeof d, .type = type};
    cpu_ok(scan_argsort(cpu, &d, host_in, want, n));
    void *from = gpu_put(&d_in, host_in, n, size, below(9)), *to = gpu_put(&d_out, NULL, n, 4, below(9));
    gpu_ok(scan_argsort(gpu, &d, from, to, n));
    compare(&d_out, "argsort", type, n, n * 4);
}

static void one_histogram(scan_type type, size_t n) {
    const size_t bins = type == SCAN_U8 ? 256 : 65536;
    scan_histogram_desc d = {.struct_size = sizeof d, .type = type};
    cpu_ok(scan_histogram(cpu, &d, host_in, (uint64_t *)(void *)want, n));
    void *from = gpu_put(&d_in, host_in, n, scan_type_size(type), below(9)), *to = gpu_put(&d_out, NULL, bins, 8, 0);
    gpu_ok(scan_histogram(gpu, &d, from, (uint64_t *)to, n));
    compare(&d_out, "histogram", type, n, bins * 8);
}

static void one_equalize(scan_type type, size_t n) {
    const size_t size = scan_type_size(type);
    scan_equalize_desc d = {.struct_size = sizeof d, .type = type, .like = (scan_like)below(5)};
    cpu_ok(scan_equalize(cpu, &d, host_in, want, NULL, n));
    void *from = gpu_put(&d_in, host_in, n, size, below(9)), *to = gpu_put(&d_out, NULL, n, size, below(9));
    gpu_ok(scan_equalize(gpu, &d, from, to, NULL, n));
    compare(&d_out, "equalize", type, n, n * size);
}

/* An image of as many pixels as fill whole rows. */
static void one_clahe(scan_type type, size_t n) {
    const size_t size = scan_type_size(type), width = n ? 1 + below(n < 500 ? n : 500) : 0;
    const size_t height = n ? n / width : 0, pixels = width * height;
    const size_t tiles = type == SCAN_U8 ? 8 : gpu_is_small ? 1 : 4; /* of 16 bits they need 640 KiB each */
    scan_equalize_desc d = {.struct_size = sizeof d, .type = type, .clip = (double)below(9) - 1};
    d.tiles_x = 1 + (uint32_t)below(tiles);
    d.tiles_y = 1 + (uint32_t)below(tiles);
    cpu_ok(scan_clahe(cpu, &d, host_in, want, width, height));
    void *from = gpu_put(&d_in, host_in, pixels, size, below(9)), *to = gpu_put(&d_out, NULL, pixels, size, below(9));
    gpu_ok(scan_clahe(gpu, &d, from, to, width, height));
    compare(&d_out, "clahe", type, pixels, pixels * size);
}

static void rounds(unsigned count) {
    for (unsigned round = 0; round < count; round++) {
        const int verb = (int)below(9);
        const bool samples = verb >= 6; /* histogram, equalize, clahe */
        const scan_type type = samples ? (below(2) ? SCAN_U8 : SCAN_U16) : (scan_type)(1 + below(SCAN_TYPE_COUNT));
        const size_t n = below(2) ? below(max_n) : below(max_n / 20 + 1);
        gpu_fill(type, (gpu_shape)below(GPU_SHAPE_COUNT), host_in, n, round);
        switch (verb) {
        case 2: one_compact(type, n); break;
        case 3: one_unique(type, n); break;
        case 4: one_sort(type, n); break;
        case 5: one_argsort(type, n); break;
        case 6: one_histogram(type, n); break;
        case 7: one_equalize(type, n); break;
        case 8: one_clahe(type, n); break;
        default: one_prefix(type, n);
        }
    }
}

static void make_room(void) {
    max_n = gpu_is_racecheck ? 8000 : gpu_is_small ? 9000 : 300000;
    const size_t bytes = max_n * 8 + (1 << 19);
    assert_non_null(host_in = (char *)malloc(bytes));
    assert_non_null(host_more = (char *)malloc(bytes));
    assert_non_null(want = (char *)malloc(bytes));
    assert_non_null(got = (char *)malloc(bytes));
}

static void drop_room(void) {
    free(host_in);
    free(host_more);
    free(want);
    free(got);
}

/* The workspace grows as calls need it. */
static void verbs_in_turn(void **state) {
    (void)state;
    gpu_need();
    make_room();
    seed = 1;
    rounds(gpu_is_racecheck ? 12 : gpu_is_small ? 40 : 3000);
    drop_room();
}

static void *lend_workspace(void) {
    const size_t bytes = (size_t)(gpu_is_small ? 4 : 32) << 20;
    void *memory = gpu_put(&d_workspace, NULL, bytes, 1, 0);
    gpu_ok(scan_ctx_sync(gpu));
    gpu_ok(scan_ctx_lend(gpu, memory, bytes));
    return memory;
}

static void end_loan(void) {
    gpu_ok(scan_ctx_sync(gpu));
    gpu_get(&d_workspace, NULL);
    gpu_ok(scan_ctx_lend(gpu, NULL, 0));
}

/* One workspace for all, lent once. */
static void verbs_on_one_lent_workspace(void **state) {
    (void)state;
    gpu_need();
    make_room();
    seed = 2;
    lend_workspace();
    rounds(gpu_is_racecheck ? 12 : gpu_is_small ? 40 : 3000);
    end_loan();
    drop_room();
}

/* The epoch, the upper half of the workspace's first word, is moved to just before its wrap, again and again: whichever
 * verb comes to the last epoch must leave a state that all of them can use. */
static void verbs_over_the_wrap(void **state) {
    (void)state;
    gpu_need();
    make_room();
    seed = 3;
    void *memory = lend_workspace();
    for (unsigned wraps = 0, turn = 0; wraps < (gpu_is_racecheck ? 2 : gpu_is_small ? 8 : 300); turn++) {
        uint64_t word;
        rounds(2);
        gpu_ok(scan_download(gpu, &word, memory, 8));
        gpu_ok(scan_ctx_sync(gpu));
        assert_true(turn < 100 * (wraps + 1));
        if (word >> 63) /* not over it yet */
            continue;
        word = (uint64_t)(0xffffffef - below(gpu_is_small ? 3 : 20) - 1)
               << 32; /* last_epoch of tickets.cuh; sorts use several up */
        gpu_ok(scan_upload(gpu, memory, &word, 8));
        wraps++;
    }
    end_loan();
    drop_room();
}

int main(int argc, char **argv) {
    static const gpu_test tests[] = {
        GPU_TEST(GPU_STRESS | GPU_SMALL, verbs_in_turn),
        GPU_TEST(GPU_STRESS | GPU_SMALL, verbs_on_one_lent_workspace),
        GPU_TEST(GPU_STRESS | GPU_SMALL, verbs_over_the_wrap),
    };
    return gpu_main("gpu_mixed", tests, sizeof tests / sizeof tests[0], argc, argv);
}
