/* SPDX-License-Identifier: MIT
 *
 * scan_prefix under the conditions of a program that does other things too: on many streams and threads at once, beside
 * kernels that hold most of the device, on lent and reserved workspaces, over the wrap of the epoch.
 */
#include <pthread.h>

#include "hold.cuh"
#include "jobs.cuh"

/* ---- at once ----------------------------------------------------------------------------------------------------- */

/* `streams` contexts are given work in turn, `calls` each, and only then waited for. */
static void many_streams(unsigned calls, const char *what) {
    enum { STREAMS = 8 };
    scan_ctx *ctx[STREAMS];
    job jobs[STREAMS];
    for (unsigned i = 0; i < STREAMS; i++) {
        ctx[i] = gpu_context();
        assert_non_null(ctx[i]);
        const size_t n = gpu_is_small ? 500 + below(9000) : 1 + below(size_t(1) << (14 + i));
        jobs[i] = make_job(drawn_desc(i % KINDS, capturable[below(CAPTURABLE)]), n, i);
    }
    for (unsigned call = 0; call < calls; call++)
        for (unsigned i = 0; i < STREAMS; i++)
            assert_int_equal(run_job(ctx[i], &jobs[i]), SCAN_OK);
    for (unsigned i = 0; i < STREAMS; i++) {
        assert_int_equal(scan_ctx_sync(ctx[i]), SCAN_OK);
        check_job(&jobs[i], what);
        scan_ctx_destroy(ctx[i]);
        free_job(&jobs[i]);
    }
}

static void eight_streams(void **state) {
    (void)state;
    gpu_need();
    for (unsigned round = 0; round < (gpu_is_small ? 1 : 40); round++)
        many_streams(gpu_is_small ? 2 : 50, "eight streams");
}

struct worker {
    job *jobs;
    unsigned count, calls;
    scan_status status;
};

static void *work(void *argument) {
    worker *w = static_cast<worker *>(argument);
    for (unsigned call = 0; call < w->calls; call++) {
        scan_options options = {};
        options.struct_size = sizeof options;
        options.backend = SCAN_BACKEND_CUDA;
        scan_ctx *ctx;
        w->status = scan_ctx_create(&ctx, &options);
        for (unsigned i = 0; w->status == SCAN_OK && i < w->count; i++)
            w->status = run_job(ctx, &w->jobs[i]);
        if (w->status == SCAN_OK)
            w->status = scan_ctx_sync(ctx);
        scan_ctx_destroy(ctx);
        if (w->status != SCAN_OK)
            break;
    }
    return NULL;
}

/* Two threads make contexts, use and destroy them. */
static void two_threads(void **state) {
    (void)state;
    gpu_need();
    enum { JOBS = 8 };
    job jobs[2][JOBS];
    worker workers[2];
    pthread_t threads[2];
    for (unsigned t = 0; t < 2; t++) {
        for (unsigned i = 0; i < JOBS; i++)
            jobs[t][i] = make_job(drawn_desc(i % KINDS, capturable[i % CAPTURABLE]),
                                  1 + below(gpu_is_small ? 3000 : 400000), t * JOBS + i);
        workers[t] = {jobs[t], gpu_is_small ? 3u : unsigned(JOBS), gpu_is_small ? 1u : 30u, SCAN_OK};
    }
    for (unsigned t = 0; t < 2; t++)
        assert_int_equal(pthread_create(&threads[t], NULL, work, &workers[t]), 0);
    for (unsigned t = 0; t < 2; t++)
        pthread_join(threads[t], NULL);
    for (unsigned t = 0; t < 2; t++) {
        assert_int_equal(workers[t].status, SCAN_OK);
        for (unsigned i = 0; i < JOBS; i++) {
            if (i < workers[t].count)
                check_job(&jobs[t][i], "two threads");
            free_job(&jobs[t][i]);
        }
    }
}

#ifndef SCAN_EMULATED
/* Most of the device is held by CTAs of another stream: grids start in part, and finish all the same. */
static void beside_other_kernels(void **state) {
    (void)state;
    gpu_need();
    for (unsigned round = 0; round < (gpu_is_small ? 1 : 100); round++) {
        const cudaStream_t held = hold_device(round, &seed);
        many_streams(4, "beside other kernels");
        let_go(held);
    }
}
#endif

/* ---- workspaces -------------------------------------------------------------------------------------------------- */

/* One lent workspace, exactly as large as the library says, between red zones; a byte less is refused. */
static void lent_workspace(void **state) {
    (void)state;
    gpu_need();
    gpu_array lent = {};
    scan_ctx *ctx = gpu_context();
    for (unsigned round = 0; round < (gpu_is_small ? 8 : 300); round++) {
        scan_prefix_desc d = drawn_desc(round % KINDS, capturable[round / KINDS % CAPTURABLE]);
        job j = make_job(d, below(gpu_is_small ? 20000 : 500000), round);
        size_t bytes;
        gpu_ok(scan_prefix_workspace(ctx, &d, j.n, &bytes));
        assert_int_equal(bytes % 256, 0);
        void *memory = gpu_put(&lent, NULL, bytes, 1, 0);
        gpu_ok(scan_ctx_sync(gpu));
        if (bytes > 0) {
            assert_int_equal(scan_ctx_lend(ctx, memory, bytes - 1), SCAN_OK);
            if (j.n > 0)
                assert_int_equal(run_job(ctx, &j), SCAN_ERR_WORKSPACE);
        }
        assert_int_equal(scan_ctx_lend(ctx, memory, bytes), SCAN_OK);
        for (unsigned call = 0; call < 3; call++)
            assert_int_equal(run_job(ctx, &j), SCAN_OK);
        assert_int_equal(scan_ctx_sync(ctx), SCAN_OK);
        check_job(&j, "lent workspace");
        gpu_get(&lent, NULL);
        free_job(&j);
        assert_int_equal(scan_ctx_lend(ctx, NULL, 0), SCAN_OK);
    }
    scan_ctx_destroy(ctx);
    gpu_release(&lent);
}

/* Once in 2^32 - 2 launches all words are cleared, those too that only larger scans use: a word that such a scan left
 * in its epoch 1 must not be taken in the next epoch 1. The ticket is the first word of the workspace. */
static void wrap_in_a_short_scan(scan_grid grid) {
    scan_ctx *ctx = gpu_context();
    const size_t n = gpu_is_small ? 500000 : 3000000;
    scan_prefix_desc d = describe(SCAN_U64, SCAN_U64, SCAN_ADD, available(grid));
    job first = make_job(d, n, 1), small = make_job(d, 5000, 2), second = make_job(d, n, 3);
    size_t bytes;
    gpu_array lent = {};
    gpu_ok(scan_prefix_workspace(ctx, &d, n, &bytes));
    void *memory = gpu_put(&lent, NULL, bytes, 1, 0);
    gpu_ok(scan_ctx_sync(gpu));
    assert_int_equal(scan_ctx_lend(ctx, memory, bytes), SCAN_OK);
    assert_int_equal(run_job(ctx, &first), SCAN_OK); /* epoch 1 */
    const uint64_t used = uint64_t(0xfffffffd) << 32;
    assert_int_equal(scan_upload(ctx, memory, &used, 8), SCAN_OK);
    assert_int_equal(run_job(ctx, &small), SCAN_OK);  /* the last epoch */
    assert_int_equal(run_job(ctx, &second), SCAN_OK); /* epoch 1 */
    assert_int_equal(scan_ctx_sync(ctx), SCAN_OK);
    check_job(&first, "before the wrap");
    check_job(&small, "at the wrap");
    check_job(&second, "after the wrap");
    scan_ctx_destroy(ctx);
    gpu_release(&lent);
    free_job(&first);
    free_job(&small);
    free_job(&second);
}

static void the_wrap_clears_all_words(void **state) {
    (void)state;
    gpu_need();
    wrap_in_a_short_scan(SCAN_GRID_LOOKBACK);
    wrap_in_a_short_scan(SCAN_GRID_WAVE);
}

struct hook_count {
    unsigned allocations;
};

static void *hook_alloc(size_t bytes, void *user, CUstream_st *) {
    void *memory = NULL;
    static_cast<hook_count *>(user)->allocations++;
    return cudaMalloc(&memory, bytes) == cudaSuccess ? memory : NULL;
}

static void hook_free(void *memory, size_t, void *, CUstream_st *) { cudaFree(memory); }

/* After scan_ctx_reserve no call allocates: neither through the hooks nor behind them. */
static void reserved_then_no_allocation(void **state) {
    (void)state;
    gpu_need();
    if (getenv("SCAN_GPU_SHARED")) /* the device's free memory is what is compared */
        skip();
    hook_count count = {};
    scan_options options = {};
    options.struct_size = sizeof options;
    options.backend = SCAN_BACKEND_CUDA;
    options.alloc = hook_alloc;
    options.free = hook_free;
    options.user = &count;
    scan_ctx *ctx;
    assert_int_equal(scan_ctx_create(&ctx, &options), SCAN_OK);
    enum { JOBS = 32 };
    static job jobs[JOBS];
    size_t max_bytes = 0;
    for (unsigned i = 0; i < JOBS; i++) {
        jobs[i] =
            make_job(drawn_desc(i % KINDS, capturable[i / KINDS % CAPTURABLE]), below(gpu_is_small ? 9000 : 700000), i);
        size_t bytes;
        gpu_ok(scan_prefix_workspace(ctx, &jobs[i].desc, jobs[i].n, &bytes));
        max_bytes = bytes > max_bytes ? bytes : max_bytes;
    }
    assert_int_equal(scan_ctx_reserve(ctx, max_bytes), SCAN_OK);
    assert_int_equal(count.allocations, 1);
    assert_int_equal(scan_ctx_sync(ctx), SCAN_OK);
    size_t free_before = 0, free_after = 0, total;
    cuda_ok(cudaMemGetInfo(&free_before, &total));
    for (unsigned i = 0; i < JOBS; i++)
        assert_int_equal(run_job(ctx, &jobs[i]), SCAN_OK);
    assert_int_equal(scan_ctx_sync(ctx), SCAN_OK);
    cuda_ok(cudaMemGetInfo(&free_after, &total));
    assert_int_equal(count.allocations, 1);
    if (free_after < free_before)
        fail_msg("calls took %zu bytes of device memory", free_before - free_after);
    for (unsigned i = 0; i < JOBS; i++) {
        check_job(&jobs[i], "reserved");
        free_job(&jobs[i]);
    }
    scan_ctx_destroy(ctx);
}

int main(int argc, char **argv) {
    static const gpu_test tests[] = {
        GPU_TEST(GPU_STRESS | GPU_SMALL, reserved_then_no_allocation), /* first: nothing is loaded yet */
        GPU_TEST(GPU_STRESS | GPU_SMALL, eight_streams),
        GPU_TEST(GPU_STRESS | GPU_SMALL, two_threads),
#ifndef SCAN_EMULATED
        GPU_TEST(GPU_STRESS | GPU_SMALL, beside_other_kernels),
#endif
        GPU_TEST(GPU_STRESS | GPU_SMALL, lent_workspace),
        GPU_TEST(GPU_STRESS | GPU_SMALL, the_wrap_clears_all_words),
    };
    return gpu_main("gpu_stress", tests, sizeof tests / sizeof tests[0], argc, argv);
}
