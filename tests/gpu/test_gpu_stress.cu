/* SPDX-License-Identifier: MIT
 *
 * scan_prefix under the conditions of a program that does other things too: captured in graphs and replayed, on many
 * streams and threads at once, beside kernels that hold most of the device, on lent and reserved workspaces.
 */
#include <cuda_runtime_api.h>
#include <pthread.h>

#include "prefix_reference.h"
#include "scan/cuda/kernel.cuh"

#define cuda_ok(call) assert_int_equal(call, cudaSuccess)

static uint64_t seed = 1;

static size_t below(size_t bound) { return size_t(gpu_random(&seed) % bound); }

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
             {SCAN_U8, SCAN_U8, SCAN_MUL},   {SCAN_F32, SCAN_F32, SCAN_MAX}};
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

static void clear_output(job *j) {
    char *red = static_cast<char *>(malloc(j->out.bytes + 1));
    memset(red, 0x5d, j->out.bytes + 1);
    gpu_ok(scan_upload(gpu, j->out.at, red, j->out.bytes));
    gpu_ok(scan_ctx_sync(gpu));
    free(red);
}

static void free_job(job *j) {
    gpu_release(&j->in);
    gpu_release(&j->out);
    free(j->input);
    free(j->want);
}

static scan_ctx *context_on(cudaStream_t stream) {
    scan_options options = {};
    options.struct_size = sizeof options;
    options.backend = SCAN_BACKEND_CUDA;
    options.stream = stream;
    scan_ctx *ctx;
    assert_int_equal(scan_ctx_create(&ctx, &options), SCAN_OK);
    return ctx;
}

/* ---- graphs ------------------------------------------------------------------------------------------------------ */

/* A scan is captured once and replayed on other data and other counts, with eager calls between the replays. */
static void replay(scan_grid grid, size_t kind) {
    const size_t most = gpu_is_small ? 9001 : 300007, size = scan_type_size(kinds[kind].in);
    const unsigned rounds = gpu_is_small ? 3 : 25;
    cudaStream_t stream;
    cuda_ok(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    scan_ctx *ctx = context_on(stream);
    gpu_array count = {};
    uint64_t n = most;
    job j = make_job(drawn_desc(kind, grid), most, 1), eager = make_job(drawn_desc((kind + 1) % KINDS, grid), most, 2);
    j.desc.n_device = static_cast<uint64_t *>(gpu_put(&count, &n, 1, 8, 0));
    gpu_ok(scan_ctx_sync(gpu));
    size_t bytes, eager_bytes;
    gpu_ok(scan_prefix_workspace(ctx, &j.desc, most, &bytes));
    gpu_ok(scan_prefix_workspace(ctx, &eager.desc, most, &eager_bytes));
    gpu_ok(scan_ctx_reserve(ctx, bytes > eager_bytes ? bytes : eager_bytes));
    gpu_ok(scan_ctx_sync(ctx));

    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cuda_ok(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    assert_int_equal(run_job(ctx, &j), SCAN_OK);
    cuda_ok(cudaStreamEndCapture(stream, &graph));
    cuda_ok(cudaGraphInstantiate(&exec, graph, 0));
    for (unsigned round = 0; round < rounds; round++) {
        for (unsigned k = unsigned(below(3)); k > 0; k--)
            assert_int_equal(run_job(ctx, &eager), SCAN_OK);
        n = round == 0 ? most : round == 1 ? 0 : below(most) + 1;
        j.n = size_t(n);
        set_input(&j, 10 + round);
        gpu_ok(scan_upload(ctx, j.in.at, j.input, j.n * size));
        gpu_ok(scan_upload(ctx, count.at, &n, 8));
        gpu_ok(scan_ctx_sync(ctx));
        for (unsigned k = 0; k < 3; k++)
            cuda_ok(cudaGraphLaunch(exec, stream));
        assert_int_equal(run_job(ctx, &eager), SCAN_OK);
        gpu_ok(scan_ctx_sync(ctx));
        const size_t whole = j.out.bytes;
        j.out.bytes = j.n * scan_type_size(j.desc.out_type);
        const size_t after = j.out.after;
        j.out.after = 0; /* what lies beyond the count is of earlier rounds */
        check_job(&j, "a replay");
        j.out.bytes = whole;
        j.out.after = after;
        check_job(&eager, "an eager call between replays");
    }
    cuda_ok(cudaGraphExecDestroy(exec));
    cuda_ok(cudaGraphDestroy(graph));
    scan_ctx_destroy(ctx);
    cuda_ok(cudaStreamDestroy(stream));
    free_job(&j);
    free_job(&eager);
    gpu_release(&count);
}

static void graph_replays(void **state) {
    (void)state;
    gpu_need();
    for (size_t g = 0; g < CAPTURABLE; g++)
        for (size_t kind = 0; kind < KINDS; kind++)
            if (!gpu_is_small || kind == g)
                replay(capturable[g], kind);
}

/* Two scans in one graph, the first one's carry and output feeding the second. */
static void a_chain_in_one_graph(void **state) {
    (void)state;
    gpu_need();
    const size_t n = gpu_is_small ? 8200 : 200000;
    cudaStream_t stream;
    cuda_ok(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    scan_ctx *ctx = context_on(stream);
    scan_prefix_desc d = describe(SCAN_U32, SCAN_U32, SCAN_ADD, SCAN_GRID_AUTO);
    job first = make_job(d, n, 1), second = make_job(d, n, 2), third = make_job(d, n, 3);
    gpu_array carry = {};
    first.desc.carry_out = gpu_put(&carry, NULL, SCAN_CARRY_BYTES / 8, 8, 0);
    gpu_ok(scan_ctx_sync(gpu));
    second.desc.carry_in = first.desc.carry_out;
    size_t bytes;
    gpu_ok(scan_prefix_workspace(ctx, &second.desc, n, &bytes));
    gpu_ok(scan_ctx_reserve(ctx, bytes));
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cuda_ok(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    assert_int_equal(run_job(ctx, &first), SCAN_OK);
    assert_int_equal(run_job(ctx, &second), SCAN_OK);
    assert_int_equal(scan_prefix(ctx, &third.desc, second.out.at, third.out.at, n), SCAN_OK);
    cuda_ok(cudaStreamEndCapture(stream, &graph));
    cuda_ok(cudaGraphInstantiate(&exec, graph, 0));
    uint32_t fold;
    memcpy(&fold, first.want + (n - 1) * 4, 4);
    for (size_t i = 0; i < n; i++) {
        uint32_t x;
        memcpy(&x, second.want + i * 4, 4);
        x += fold;
        memcpy(second.want + i * 4, &x, 4);
    }
    prefix_reference(&third.desc, second.want, third.want, n);
    for (unsigned round = 0; round < (gpu_is_small ? 2 : 20); round++) {
        clear_output(&third);
        cuda_ok(cudaGraphLaunch(exec, stream));
        gpu_ok(scan_ctx_sync(ctx));
        check_job(&first, "chain");
        check_job(&second, "chain");
        check_job(&third, "chain");
    }
    cuda_ok(cudaGraphExecDestroy(exec));
    cuda_ok(cudaGraphDestroy(graph));
    scan_ctx_destroy(ctx);
    cuda_ok(cudaStreamDestroy(stream));
    free_job(&first);
    free_job(&second);
    free_job(&third);
    gpu_release(&carry);
}

/* Sums that travel to the host cannot be captured: an error, and the context works on. */
static void host_sums_refuse_capture(void **state) {
    (void)state;
    gpu_need();
    cudaStream_t stream;
    cuda_ok(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    scan_ctx *ctx = context_on(stream);
    job j = make_job(describe(SCAN_U32, SCAN_U32, SCAN_ADD, SCAN_GRID_HOST_SUMS), 5000, 1);
    assert_int_equal(run_job(ctx, &j), SCAN_OK); /* has its workspace now */
    gpu_ok(scan_ctx_sync(ctx));
    clear_output(&j);
    cudaGraph_t graph = NULL;
    cuda_ok(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    assert_int_not_equal(run_job(ctx, &j), SCAN_OK);
    cudaStreamEndCapture(stream, &graph); /* the capture is void */
    cudaGetLastError();
    if (graph)
        cudaGraphDestroy(graph);
    assert_int_equal(run_job(ctx, &j), SCAN_OK);
    gpu_ok(scan_ctx_sync(ctx));
    check_job(&j, "after a capture that failed");
    scan_ctx_destroy(ctx);
    cuda_ok(cudaStreamDestroy(stream));
    free_job(&j);
}

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
/* Holds a CTA's place for about so many nanoseconds. */
static __global__ void hold_kernel(uint64_t nanoseconds) {
    uint64_t start, now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
    do
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    while (now - start < nanoseconds);
}

/* Most of the device is held by CTAs of another stream: grids start in part, and finish all the same. */
static void beside_other_kernels(void **state) {
    (void)state;
    gpu_need();
    cudaStream_t stream;
    cudaDeviceProp properties;
    cuda_ok(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    cuda_ok(cudaGetDeviceProperties(&properties, 0));
    const int shared = int(properties.sharedMemPerBlockOptin), processors = properties.multiProcessorCount;
    const void *hold = scan_cuda::address(hold_kernel);
    cuda_ok(cudaFuncSetAttribute(hold, cudaFuncAttributeMaxDynamicSharedMemorySize, shared));
    for (unsigned round = 0; round < (gpu_is_small ? 1 : 100); round++) {
        /* one CTA an SM: all but some SMs, or more than there are, which come and go while the scans run */
        int holders = round % 3 == 0   ? processors - 1 - int(below(8))
                      : round % 3 == 1 ? processors / 2
                                       : 3 * processors;
        uint64_t nanoseconds = 200000 + below(1000000);
        void *arguments[] = {&nanoseconds};
        cuda_ok(cudaLaunchKernel(hold, dim3(unsigned(holders)), dim3(32), arguments, size_t(shared), stream));
        many_streams(4, "beside other kernels");
        cuda_ok(cudaStreamSynchronize(stream));
    }
    cuda_ok(cudaStreamDestroy(stream));
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
    size_t most = 0;
    for (unsigned i = 0; i < JOBS; i++) {
        jobs[i] =
            make_job(drawn_desc(i % KINDS, capturable[i / KINDS % CAPTURABLE]), below(gpu_is_small ? 9000 : 700000), i);
        size_t bytes;
        gpu_ok(scan_prefix_workspace(ctx, &jobs[i].desc, jobs[i].n, &bytes));
        most = bytes > most ? bytes : most;
    }
    assert_int_equal(scan_ctx_reserve(ctx, most), SCAN_OK);
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
        GPU_TEST(GPU_STRESS | GPU_SMALL, graph_replays),
        GPU_TEST(GPU_STRESS | GPU_SMALL, a_chain_in_one_graph),
        GPU_TEST(GPU_STRESS | GPU_SMALL, host_sums_refuse_capture),
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
