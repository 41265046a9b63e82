/* SPDX-License-Identifier: MIT
 *
 * Scans with their arrays and what they must give, to be queued on any context in any way and checked afterwards.
 */
#ifndef TESTS_GPU_JOBS_CUH
#define TESTS_GPU_JOBS_CUH

#include <cuda_runtime_api.h>

#include "prefix_reference.h"

#define cuda_ok(call) assert_int_equal(call, cudaSuccess)

static uint64_t seed = 1;

static size_t below(size_t bound) { return size_t(random_below(&seed, bound)); }

/* ---- jobs: a scan, its arrays and what it must give -------------------------------------------------------------- */

struct job {
    scan_prefix_desc desc;
    size_t n;
    gpu_array in, out;
    char *input, *want;
};

static scan_prefix_desc describe(scan_type type, scan_type out_type, scan_op op, scan_grid grid) {
    scan_prefix_desc d = {};
    d.struct_size = sizeof d;
    d.type = type;
    d.out_type = out_type;
    d.op = op;
    d.algorithm.grid = grid;
    return d;
}

/* Types of every size, and both widths of words in the state. */
static const struct {
    scan_type in, out;
    scan_op op;
} kinds[] = {{SCAN_U32, SCAN_U32, SCAN_ADD}, {SCAN_F64, SCAN_F64, SCAN_ADD}, {SCAN_U8, SCAN_U64, SCAN_ADD},
             {SCAN_I16, SCAN_I16, SCAN_MIN}, {SCAN_F32, SCAN_F32, SCAN_ADD}, {SCAN_I64, SCAN_I64, SCAN_MAX},
             {SCAN_U8, SCAN_U8, SCAN_MUL},   {SCAN_F32, SCAN_F32, SCAN_MAX}, {SCAN_U16, SCAN_U16, SCAN_XOR},
             {SCAN_I8, SCAN_I64, SCAN_AND}};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

static const scan_grid capturable[] = {SCAN_GRID_AUTO, SCAN_GRID_LOOKBACK, SCAN_GRID_WAVE, SCAN_GRID_HIERARCHICAL};
enum { CAPTURABLE = sizeof capturable / sizeof capturable[0] };

/* The grid, or one that every device has. */
static scan_grid available(scan_grid grid) {
    static int has_wave = -1;
    if (has_wave < 0) {
        scan_prefix_desc d = describe(SCAN_U32, SCAN_U32, SCAN_ADD, SCAN_GRID_WAVE);
        scan_status status = scan_prefix(gpu, &d, NULL, NULL, 0);
        has_wave = status == SCAN_OK;
        if (status != SCAN_OK && status != SCAN_ERR_ALGORITHM)
            gpu_ok(status);
    }
    return grid == SCAN_GRID_WAVE && !has_wave ? SCAN_GRID_LOOKBACK : grid;
}

/* Hierarchical float sums have an order of their own: those are given to look-back. */
static scan_prefix_desc drawn_desc(size_t kind, scan_grid grid) {
    scan_prefix_desc d = describe(kinds[kind].in, kinds[kind].out, kinds[kind].op, available(grid));
    if (prefix_rounds(&d) && grid == SCAN_GRID_HIERARCHICAL)
        d.algorithm.grid = SCAN_GRID_LOOKBACK;
    d.kind = scan_kind(below(2));
    d.reverse = uint32_t(below(2));
    return d;
}

static void set_input(job *j, uint64_t of) {
    prefix_fill(j->desc.type, j->desc.op, GPU_RANDOM, j->input, j->n, of);
    prefix_reference(&j->desc, j->input, j->want, j->n);
}

static job make_job(scan_prefix_desc d, size_t n, uint64_t of) {
    job j = {};
    j.desc = d;
    j.n = n;
    j.input = static_cast<char *>(malloc(n * scan_type_size(d.type) + 1));
    j.want = static_cast<char *>(malloc(n * scan_type_size(d.out_type) + 1));
    set_input(&j, of);
    gpu_put(&j.in, j.input, n, scan_type_size(d.type), below(4));
    gpu_put(&j.out, NULL, n, scan_type_size(d.out_type), below(4));
    gpu_ok(scan_ctx_sync(gpu));
    return j;
}

static scan_status run_job(scan_ctx *ctx, const job *j) {
    return scan_prefix(ctx, &j->desc, j->in.at, j->out.at, j->n);
}

/* After the job's own context has been waited for. */
static void check_job(job *j, const char *what) {
    const size_t size = scan_type_size(j->desc.out_type);
    char *got = static_cast<char *>(malloc(j->n * size + 1));
    gpu_get(&j->out, got);
    const size_t wrong = prefix_difference(&j->desc, got, j->want, j->n);
    if (wrong != j->n)
        fail_msg("%s: %s->%s %s, %s, n %zu: element %zu", what, scan_type_name(j->desc.type),
                 scan_type_name(j->desc.out_type), scan_op_name(j->desc.op), scan_grid_name(j->desc.algorithm.grid),
                 j->n, wrong);
    free(got);
}

static void free_job(job *j) {
    gpu_release(&j->in);
    gpu_release(&j->out);
    free(j->input);
    free(j->want);
}

#endif
