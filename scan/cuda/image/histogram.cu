/* SPDX-License-Identifier: MIT
 *
 * The histogram verb on CUDA: which kernel, how many CTAs, and the launch. Bins are cleared by a memset in the stream
 * where more than one CTA adds to them.
 */
#include "histogram_bytes.cuh"
#include "histogram_words.cuh"

namespace scan_cuda {

/* ---- kernels by channels - 1 ------------------------------------------------------------------------------------- */

static const struct {
    const void *kernel;
    int shared_bytes;
} byte_kernels[4] = {{address(count_bytes_kernel<1>), byte_counter<1>::shared_bytes},
                     {address(count_bytes_kernel<2>), byte_counter<2>::shared_bytes},
                     {address(count_bytes_kernel<3>), byte_counter<3>::shared_bytes},
                     {address(count_bytes_kernel<4>), byte_counter<4>::shared_bytes}};

/* Images of bytes have 65,536 levels only by Rec. 709, which needs colour. */
static const void *const word_kernels[2][4] = {
    {nullptr, nullptr, address(count_words_kernel<uint8_t, 3>), address(count_words_kernel<uint8_t, 4>)},
    {address(count_words_kernel<uint16_t, 1>), address(count_words_kernel<uint16_t, 2>),
     address(count_words_kernel<uint16_t, 3>), address(count_words_kernel<uint16_t, 4>)}};

constexpr size_t word_table_bytes = word_bins * 2;

uint32_t word_ranges(const scan_ctx *ctx) { return state_of(ctx)->shared_bytes >= word_table_bytes ? 1 : 2; }

scan_status find_resident(scan_ctx *ctx, const void *kernel, int threads, size_t shared_bytes, int *ctas) {
    SCAN_CUDA_TRY(ctx, cudaOccupancyMaxActiveBlocksPerMultiprocessor(ctas, kernel, threads, shared_bytes));
    *ctas = *ctas > 0 ? *ctas : 1;
    return SCAN_OK;
}

scan_status histogram_open(scan_ctx *ctx) {
    for (int i = 0; i < 4; i++) {
        const auto &k = byte_kernels[i];
        SCAN_CUDA_TRY(ctx, cudaFuncSetAttribute(k.kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, k.shared_bytes));
        SCAN_TRY(find_resident(ctx, k.kernel, byte_threads, size_t(k.shared_bytes), &state_of(ctx)->count_ctas[i]));
    }
    const size_t table_bytes = word_table_bytes / word_ranges(ctx);
    for (const auto &row : word_kernels)
        for (const void *kernel : row)
            if (kernel)
                SCAN_CUDA_TRY(
                    ctx, cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(table_bytes)));
    state_of(ctx)->count_cluster =
        state_of(ctx)->capability >= 90 ? max_cluster_size(ctx, word_kernels[1][0], 2, word_threads, table_bytes) : 1;
    return SCAN_OK;
}

scan_status histogram_load(scan_ctx *ctx) {
    for (const auto &k : byte_kernels)
        SCAN_TRY(load_kernel(ctx, k.kernel));
    for (const auto &row : word_kernels)
        for (const void *kernel : row)
            SCAN_TRY(load_kernel(ctx, kernel));
    return SCAN_OK;
}

/* ---- launches ---------------------------------------------------------------------------------------------------- */

/* 1 ... max_ctas CTAs, each with at least min_chunks chunks if there are several. */
static uint64_t ctas_for(uint64_t chunks, uint64_t min_chunks, uint64_t max_ctas) {
    const uint64_t wanted = ceil_div(chunks, min_chunks);
    return wanted < 1 ? 1 : wanted < max_ctas ? wanted : max_ctas;
}

/* The work in chunks. Where the span has none, each pixel counts as one. */
static uint64_t chunks_of(const count_job &job) { return job.span.none ? job.n : chunk_count(job.span, job.n); }

static scan_status clear_bins(scan_ctx *ctx, const count_job &job, size_t bins) {
    return check(ctx, cudaMemsetAsync(job.bins, 0, job.planes * bins * sizeof(uint64_t), state_of(ctx)->stream),
                 "cudaMemsetAsync");
}

static scan_status count_bytes_image(scan_ctx *ctx, uint32_t channels, count_job &job) {
    const auto &k = byte_kernels[channels - 1];
    const context_state *s = state_of(ctx);
    const uint64_t max_ctas = uint64_t(s->sm_count) * uint64_t(s->count_ctas[channels - 1]);
    const uint64_t ctas = ctas_for(chunks_of(job), 2 * byte_threads, max_ctas);
    if (ctas > 1)
        SCAN_TRY(clear_bins(ctx, job, byte_bins));
    void *arguments[] = {&job};
    return launch(ctx, k.kernel, ctas, byte_threads, arguments, size_t(k.shared_bytes));
}

static scan_status count_words_image(scan_ctx *ctx, scan_type type, uint32_t channels, count_job &job) {
    job.ranges = word_ranges(ctx);
    job.split_barrier = state_of(ctx)->capability >= 90;
    const uint64_t slots = job.planes * job.ranges, sm_count = uint64_t(state_of(ctx)->sm_count);
    uint64_t parts = ctas_for(chunks_of(job), 4 * word_threads, sm_count > slots ? sm_count / slots : 1);
    job.cluster = parts > 1 ? uint32_t(state_of(ctx)->count_cluster) : 1;
    parts -= parts % job.cluster;
    SCAN_TRY(clear_bins(ctx, job, word_bins));
    const void *kernel = word_kernels[type == SCAN_U16][channels - 1];
    void *arguments[] = {&job};
    if (job.cluster > 1)
        return launch_clusters(ctx, kernel, int(job.cluster), int(slots * parts), word_threads, arguments,
                               word_table_bytes / job.ranges);
    return launch(ctx, kernel, slots * parts, word_threads, arguments, word_table_bytes / job.ranges);
}

scan_status count_image(scan_ctx *ctx, scan_type type, uint32_t channels, count_job job) {
    job.span = span_of(job.in, channels * scan_type_size(type), job.mask, 1);
    if (type == SCAN_U8 && job.view != VIEW_REC709)
        return count_bytes_image(ctx, channels, job);
    return count_words_image(ctx, type, channels, job);
}

/* ---- the verb ---------------------------------------------------------------------------------------------------- */

scan_status histogram(scan_ctx *ctx, const scan_histogram_desc *desc, const void *in, uint64_t *bins, size_t n) {
    count_job job = {};
    job.in = in;
    job.mask = desc->mask;
    job.n_device = desc->n_device;
    job.bins = bins;
    job.n = n;
    job.view = VIEW_CHANNEL;
    job.planes = desc->channels;
    SCAN_TRY(count_image(ctx, desc->type, desc->channels, job));
    ctx->ran = "histogram";
    return SCAN_OK;
}

size_t histogram_workspace(const scan_ctx *, const scan_histogram_desc *, size_t) { return 0; }

} /* namespace scan_cuda */
