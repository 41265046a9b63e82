/* SPDX-License-Identifier: MIT
 *
 * scan_prefix captured in CUDA graphs: replayed on other data and other counts, mixed with eager calls, chained.
 */
#include "jobs.cuh"

static void clear_output(job *j) {
    char *red = static_cast<char *>(malloc(j->out.bytes + 1));
    memset(red, 0x5d, j->out.bytes + 1);
    gpu_ok(scan_upload(gpu, j->out.at, red, j->out.bytes));
    gpu_ok(scan_ctx_sync(gpu));
    free(red);
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

/* Ends a capture that is valid. */
static cudaGraphExec_t end_capture(cudaStream_t stream) {
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cuda_ok(cudaStreamEndCapture(stream, &graph));
    cuda_ok(cudaGraphInstantiate(&exec, graph, 0));
    cuda_ok(cudaGraphDestroy(graph));
    return exec;
}

/* A scan is captured once and replayed on other data and other counts, with eager calls between the replays. */
static void replay(scan_grid grid, size_t kind) {
    const size_t max_n = gpu_is_small ? 9001 : 300007, size = scan_type_size(kinds[kind].in);
    const unsigned rounds = gpu_is_small ? 3 : 25;
    cudaStream_t stream;
    cuda_ok(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    scan_ctx *ctx = context_on(stream);
    gpu_array count = {};
    uint64_t n = max_n;
    job j = make_job(drawn_desc(kind, grid), max_n, 1),
        eager = make_job(drawn_desc((kind + 1) % KINDS, grid), max_n, 2);
    j.desc.n_device = static_cast<uint64_t *>(gpu_put(&count, &n, 1, 8, 0));
    gpu_ok(scan_ctx_sync(gpu));
    size_t bytes, eager_bytes;
    gpu_ok(scan_prefix_workspace(ctx, &j.desc, max_n, &bytes));
    gpu_ok(scan_prefix_workspace(ctx, &eager.desc, max_n, &eager_bytes));
    gpu_ok(scan_ctx_reserve(ctx, bytes > eager_bytes ? bytes : eager_bytes));
    gpu_ok(scan_ctx_sync(ctx));

    cuda_ok(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    assert_int_equal(run_job(ctx, &j), SCAN_OK);
    const cudaGraphExec_t exec = end_capture(stream);
    for (unsigned round = 0; round < rounds; round++) {
        for (unsigned k = unsigned(below(3)); k > 0; k--)
            assert_int_equal(run_job(ctx, &eager), SCAN_OK);
        n = round == 0 ? max_n : round == 1 ? 0 : below(max_n) + 1;
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
    cuda_ok(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    assert_int_equal(run_job(ctx, &first), SCAN_OK);
    assert_int_equal(run_job(ctx, &second), SCAN_OK);
    assert_int_equal(scan_prefix(ctx, &third.desc, second.out.at, third.out.at, n), SCAN_OK);
    const cudaGraphExec_t exec = end_capture(stream);
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
    scan_ctx_destroy(ctx);
    cuda_ok(cudaStreamDestroy(stream));
    free_job(&first);
    free_job(&second);
    free_job(&third);
    gpu_release(&carry);
}

/* Sums that travel to the host cannot be captured: an error that leaves the capture as it was. */
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
    cudaGraph_t graph;
    cuda_ok(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    assert_int_equal(run_job(ctx, &j), SCAN_ERR_ALGORITHM);
    assert_int_equal(scan_ctx_sync(ctx), SCAN_ERR_DEVICE);
    cuda_ok(cudaStreamEndCapture(stream, &graph));
    cuda_ok(cudaGraphDestroy(graph));
    assert_int_equal(run_job(ctx, &j), SCAN_OK);
    gpu_ok(scan_ctx_sync(ctx));
    check_job(&j, "after a capture");
    scan_ctx_destroy(ctx);
    cuda_ok(cudaStreamDestroy(stream));
    free_job(&j);
}

/* The first use of a context is in a capture: without a workspace it is refused and the capture goes on, in every mode.
 * What needs no workspace is captured. */
static void first_use_in_a_capture(void **state) {
    (void)state;
    gpu_need();
    static const cudaStreamCaptureMode modes[] = {cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal,
                                                  cudaStreamCaptureModeRelaxed};
    cudaStream_t stream;
    cuda_ok(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    job large = make_job(describe(SCAN_U32, SCAN_U32, SCAN_ADD, SCAN_GRID_LOOKBACK), 30000, 1),
        one = make_job(describe(SCAN_U32, SCAN_U32, SCAN_ADD, SCAN_GRID_AUTO), 1000, 2);
    for (size_t m = 0; m < 3; m++) {
        scan_ctx *ctx = context_on(stream);
        clear_output(&large);
        clear_output(&one);
        cuda_ok(cudaStreamBeginCapture(stream, modes[m]));
        assert_int_equal(run_job(ctx, &large), SCAN_ERR_WORKSPACE);
        assert_int_equal(scan_ctx_reserve(ctx, 1 << 20), SCAN_ERR_WORKSPACE);
        assert_int_equal(run_job(ctx, &one), SCAN_OK);
        const cudaGraphExec_t exec = end_capture(stream);
        assert_int_equal(run_job(ctx, &large), SCAN_OK);
        cuda_ok(cudaGraphLaunch(exec, stream));
        gpu_ok(scan_ctx_sync(ctx));
        check_job(&large, "after a capture that had no workspace for it");
        check_job(&one, "captured without a workspace");
        cuda_ok(cudaGraphExecDestroy(exec));
        scan_ctx_destroy(ctx);
    }
    cuda_ok(cudaStreamDestroy(stream));
    free_job(&large);
    free_job(&one);
}

/* A graph is replayed after calls that made the workspace grow, and after another was lent: it writes to no memory that
 * has other owners since. */
static void a_graph_outlives_its_workspace(void **state) {
    (void)state;
    gpu_need();
    enum { OTHERS = 8 };
    const size_t n = gpu_is_small ? 9001 : 300007, grown = 4 * n;
    cudaStream_t stream;
    cuda_ok(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    scan_ctx *ctx = context_on(stream);
    job j = make_job(describe(SCAN_U64, SCAN_U64, SCAN_ADD, SCAN_GRID_LOOKBACK), n, 1),
        larger = make_job(describe(SCAN_U64, SCAN_U64, SCAN_ADD, SCAN_GRID_LOOKBACK), grown, 2);
    size_t bytes;
    gpu_ok(scan_prefix_workspace(ctx, &j.desc, n, &bytes));
    gpu_ok(scan_ctx_reserve(ctx, bytes));
    cuda_ok(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    assert_int_equal(run_job(ctx, &j), SCAN_OK);
    const cudaGraphExec_t exec = end_capture(stream);

    assert_int_equal(run_job(ctx, &larger), SCAN_OK); /* grows the workspace */
    gpu_ok(scan_ctx_sync(ctx));
    char *others[OTHERS], *bytes_of = static_cast<char *>(malloc(bytes));
    for (int i = 0; i < OTHERS; i++) { /* one of them has the freed memory, if it was freed */
        cuda_ok(cudaMalloc(reinterpret_cast<void **>(&others[i]), bytes));
        cuda_ok(cudaMemset(others[i], 0x5a, bytes));
    }
    cuda_ok(cudaDeviceSynchronize());
    for (int round = 0; round < 3; round++) {
        clear_output(&j);
        cuda_ok(cudaGraphLaunch(exec, stream));
        gpu_ok(scan_ctx_sync(ctx));
        check_job(&j, "a replay after the workspace grew");
        if (round == 1)
            gpu_ok(scan_ctx_lend(ctx, others[0], bytes));
    }
    gpu_ok(scan_ctx_lend(ctx, NULL, 0));
    for (int i = 1; i < OTHERS; i++) {
        cuda_ok(cudaMemcpy(bytes_of, others[i], bytes, cudaMemcpyDeviceToHost));
        for (size_t b = 0; b < bytes; b++)
            assert_int_equal(bytes_of[b], 0x5a);
    }
    for (int i = 0; i < OTHERS; i++)
        cuda_ok(cudaFree(others[i]));
    free(bytes_of);
    cuda_ok(cudaGraphExecDestroy(exec));
    scan_ctx_destroy(ctx);
    cuda_ok(cudaStreamDestroy(stream));
    free_job(&j);
    free_job(&larger);
}

int main(int argc, char **argv) {
    static const gpu_test tests[] = {
        GPU_TEST(GPU_STRESS | GPU_SMALL, graph_replays),
        GPU_TEST(GPU_STRESS | GPU_SMALL, a_chain_in_one_graph),
        GPU_TEST(GPU_STRESS | GPU_SMALL, host_sums_refuse_capture),
        GPU_TEST(GPU_STRESS | GPU_SMALL, first_use_in_a_capture),
        GPU_TEST(GPU_STRESS | GPU_SMALL, a_graph_outlives_its_workspace),
    };
    return gpu_main("gpu_graphs", tests, sizeof tests / sizeof tests[0], argc, argv);
}
