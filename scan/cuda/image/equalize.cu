/* SPDX-License-Identifier: MIT
 *
 * The equalize verb on CUDA: what is counted, which tables, and the launches.
 *
 *     8 bits, grey, small     one cluster counts, makes the table and maps: one launch
 *     8 bits                  count, map; every CTA of the map makes the tables for itself
 *     16 bits, Rec. 709       count, sums of sections, tables, map
 *
 * The host reads nothing back and calls keep no state, so calls queue on the stream and can be captured.
 */
#include "equalize_map.cuh"
#include "histogram_bytes.cuh"

namespace scan_cuda {

/* ---- small images in one launch ---------------------------------------------------------------------------------- */

constexpr int small_threads = 1024;
constexpr uint64_t small_cta_pixels = small_threads * chunk_pixels; /* a chunk a thread, which is fastest */
constexpr uint64_t max_cta_pixels = 4 * small_cta_pixels;           /* beyond it, three launches are faster */

/* One cluster, or one CTA. Every CTA counts its share and reads the counts of all others, so that each makes the table
 * for itself and maps its share. The counters' memory then holds the table. */
static __global__ void __launch_bounds__(small_threads)
    equalize_small_kernel(const __grid_constant__ count_job count, const __grid_constant__ map_job map) {
    __shared__ table_storage storage;
    __shared__ scan_lut_facts facts;
    __shared__ uint32_t counts[byte_bins]; /* this CTA's */
    __shared__ uint64_t bins[byte_bins];
    __shared__ __align__(16) uint8_t table[byte_bins];
    const byte_counter<1> counter = {dynamic_shared<uint32_t>()};
    const bool alone = cluster_size() == 1; /* a barrier of a cluster also waits for memory */
    counter.clear();
    __syncthreads();
    count_bytes(count, counter);
    __syncthreads();
    if (threadIdx.x < byte_bins)
        counts[threadIdx.x] = uint32_t(counter.total(threadIdx.x));
    if (alone) {
        __syncthreads();
    } else {
        cluster_arrive();
        cluster_wait();
    }
    if (threadIdx.x < byte_bins) {
        uint64_t sum = 0;
        for (unsigned rank = 0; rank < cluster_size(); rank++)
            sum += *cluster_at(counts + threadIdx.x, rank);
        bins[threadIdx.x] = sum;
    }
    if (!alone)
        cluster_arrive(); /* this CTA has read all counts; the wait at the end keeps its own alive for the others */
    __syncthreads();
    make_byte_table(storage, facts, map.like, bins, table);
    if (map.tables && blockIdx.x == 0 && threadIdx.x < byte_bins)
        static_cast<uint8_t *>(map.tables)[threadIdx.x] = table[threadIdx.x];
    spread_table(table, counter.table);
    __syncthreads();
    const tables_of<uint8_t> tables = {reinterpret_cast<const uint8_t *>(counter.table + threadIdx.x % 32), false};
    map_pixels<uint8_t, 1>(map, tables);
    if (!alone)
        cluster_wait();
}

/* Finds how many CTAs the cluster may have. */
static scan_status grant_small_cluster(scan_ctx *ctx) {
    context_state *s = state_of(ctx);
    const void *kernel = address(equalize_small_kernel);
    s->image_cluster = 1;
    if (s->capability < 90)
        return SCAN_OK;
    SCAN_CUDA_TRY(ctx, cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
    s->image_cluster = max_cluster_size(ctx, kernel, 16, small_threads, byte_counter<1>::shared_bytes);
    return SCAN_OK;
}

static scan_status equalize_small(scan_ctx *ctx, count_job &count, map_job &map) {
    const void *kernel = address(equalize_small_kernel);
    void *arguments[] = {&count, &map};
    const uint64_t max_ctas = uint64_t(state_of(ctx)->image_cluster);
    uint64_t ctas = 1;
    while (ctas < max_ctas && ctas * small_cta_pixels < map.n)
        ctas *= 2;
    if (ctas == 1)
        return launch(ctx, kernel, 1, small_threads, arguments, byte_counter<1>::shared_bytes);
    return launch_cluster(ctx, kernel, int(ctas), small_threads, arguments, byte_counter<1>::shared_bytes);
}

/* ---- plan -------------------------------------------------------------------------------------------------------- */

static const void *const map_kernels[2][4] = {{address(map_bytes_kernel<1>), address(map_bytes_kernel<2>),
                                               address(map_bytes_kernel<3>), address(map_bytes_kernel<4>)},
                                              {address(map_words_kernel<1>), address(map_words_kernel<2>),
                                               address(map_words_kernel<3>), address(map_words_kernel<4>)}};

constexpr size_t word_table_bytes = word_bins * sizeof(uint16_t);

static bool can_stage(const scan_ctx *ctx) { return state_of(ctx)->shared_bytes >= word_table_bytes; }

scan_status equalize_open(scan_ctx *ctx) {
    if (can_stage(ctx))
        for (const void *kernel : map_kernels[1])
            SCAN_CUDA_TRY(
                ctx, cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(word_table_bytes)));
    for (int words = 0; words < 2; words++)
        for (int i = 0; i < 4; i++)
            SCAN_TRY(find_resident(ctx, map_kernels[words][i], words ? map_words_threads : map_bytes_threads, 0,
                                   &state_of(ctx)->map_ctas[words][i]));
    return grant_small_cluster(ctx);
}

scan_status equalize_load(scan_ctx *ctx) {
    for (const auto &row : map_kernels)
        for (const void *kernel : row)
            SCAN_TRY(load_kernel(ctx, kernel));
    const void *const kernels[] = {address(equalize_small_kernel), address(section_sums_kernel<uint64_t>),
                                   address(table_kernel<uint8_t>), address(table_kernel<uint16_t>)};
    for (const void *kernel : kernels)
        SCAN_TRY(load_kernel(ctx, kernel));
    return SCAN_OK;
}

struct equalize_plan {
    bool small, words;                            /* words: 65,536 bins */
    bool luma;                                    /* the map replaces Y */
    uint32_t view, planes;                        /* counted */
    uint32_t table_count;                         /* that the caller sees */
    size_t bins_bytes, facts_bytes, tables_bytes; /* scratch */
};

static equalize_plan plan_of(const scan_ctx *ctx, const scan_equalize_desc *desc, size_t n) {
    const bool color = desc->channels >= 3, bytes = desc->type == SCAN_U8;
    equalize_plan p = {};
    p.view = VIEW_CHANNEL;
    p.planes = p.table_count = 1;
    if (color && desc->color == SCAN_COLOR_CHANNELS) {
        p.planes = p.table_count = 3;
    } else if (color) {
        p.luma = desc->like != SCAN_LIKE_IMAGEMAGICK;
        p.view = p.luma ? VIEW_LUMA : VIEW_REC709;
    }
    /* vips scales 16-bit images by their largest sample, which may be an alpha. */
    if (desc->like == SCAN_LIKE_VIPS && !bytes && p.view == VIEW_CHANNEL)
        p.planes = desc->channels;
    p.words = !bytes || p.view == VIEW_REC709;
    p.small = bytes && desc->channels == 1 && !desc->bins_in && !desc->bins_out &&
              n <= max_cta_pixels * uint64_t(state_of(ctx)->image_cluster);
    if (!p.small)
        p.bins_bytes = align_up(p.planes * (p.words ? word_bins : byte_bins) * sizeof(uint64_t));
    if (p.words) {
        p.facts_bytes = align_up(p.planes * sections * sizeof(section_facts));
        p.tables_bytes = align_up(p.table_count * (bytes ? byte_bins : word_table_bytes));
    }
    return p;
}

static size_t scratch_of(const equalize_plan &p) { return p.bins_bytes + p.facts_bytes + p.tables_bytes; }

size_t equalize_workspace(const scan_ctx *ctx, const scan_equalize_desc *desc, size_t n) {
    const size_t scratch = scratch_of(plan_of(ctx, desc, n));
    return scratch ? workspace_bytes(0, scratch) : 0;
}

/* ---- launches ---------------------------------------------------------------------------------------------------- */

static scan_status make_word_tables(scan_ctx *ctx, const scan_equalize_desc *desc, const equalize_plan &p,
                                    const uint64_t *bins, section_facts *facts, void *tables) {
    const bool bytes = desc->type == SCAN_U8;
    void *sums_arguments[] = {&bins, &facts};
    SCAN_TRY(
        launch(ctx, address(section_sums_kernel<uint64_t>), p.planes * sections, table_threads, sums_arguments, 0));
    table_job job = {bins, facts, tables, desc->like, p.planes};
    void *arguments[] = {&job};
    return launch(ctx, bytes ? address(table_kernel<uint8_t>) : address(table_kernel<uint16_t>),
                  p.table_count * sections, table_threads, arguments, 0);
}

static scan_status map_image(scan_ctx *ctx, const scan_equalize_desc *desc, map_job &job, uint32_t channels) {
    const bool bytes = desc->type == SCAN_U8;
    const uint64_t chunks = job.span.none ? job.n : chunk_count(job.span, job.n);
    const uint64_t sm_count = uint64_t(state_of(ctx)->sm_count);
    job.staged = !bytes && job.table_count == 1 && can_stage(ctx) && job.n * channels >= sm_count << 16;
    const int threads = bytes ? map_bytes_threads : map_words_threads;
    const uint64_t wanted = (chunks + uint64_t(threads) - 1) / uint64_t(threads);
    const uint64_t max_ctas = sm_count * (job.staged ? 1 : uint64_t(state_of(ctx)->map_ctas[!bytes][channels - 1]));
    const uint64_t ctas = wanted < 1 ? 1 : wanted < max_ctas ? wanted : max_ctas;
    void *arguments[] = {&job};
    return launch(ctx, map_kernels[!bytes][channels - 1], ctas, threads, arguments, job.staged ? word_table_bytes : 0);
}

/* Counts the image, or takes bins_in, into the scratch of the call. */
static scan_status take_bins(scan_ctx *ctx, const scan_equalize_desc *desc, const equalize_plan &p,
                             const count_job &count) {
    const size_t bytes = p.planes * (p.words ? word_bins : byte_bins) * sizeof(uint64_t);
    const cudaStream_t stream = state_of(ctx)->stream;
    if (desc->bins_in)
        SCAN_CUDA_TRY(ctx, cudaMemcpyAsync(count.bins, desc->bins_in, bytes, cudaMemcpyDeviceToDevice, stream));
    else
        SCAN_TRY(count_image(ctx, desc->type, desc->channels, count));
    if (desc->bins_out && desc->bins_out != desc->bins_in)
        SCAN_CUDA_TRY(ctx, cudaMemcpyAsync(desc->bins_out, count.bins, bytes, cudaMemcpyDeviceToDevice, stream));
    return SCAN_OK;
}

scan_status equalize(scan_ctx *ctx, const scan_equalize_desc *desc, const void *in, void *out, void *luts, size_t n) {
    const equalize_plan p = plan_of(ctx, desc, n);
    const size_t size = scan_type_size(desc->type), pixel_bytes = desc->channels * size;
    char *state, *scratch = nullptr;
    if (scratch_of(p))
        SCAN_TRY(take_workspace(ctx, 0, scratch_of(p), &state, &scratch));
    uint64_t *bins = reinterpret_cast<uint64_t *>(scratch);

    count_job count = {};
    count.in = in;
    count.mask = desc->mask;
    count.bins = bins;
    count.n = n;
    count.view = p.view;
    count.planes = p.planes;
    map_job map = {};
    map.in = in;
    map.out = out;
    map.n = n;
    map.tables = luts;
    map.like = desc->like;
    map.table_count = p.table_count;
    map.luma = p.luma;

    ctx->ran = p.small ? "one launch" : "histogram and map";
    if (p.small) {
        count.span = span_of(in, 1, desc->mask, 1);
        map.span = span_of(out, 1, in, 1);
        return equalize_small(ctx, count, map);
    }
    SCAN_TRY(take_bins(ctx, desc, p, count));
    if (!out && !luts)
        return SCAN_OK;
    if (p.words) {
        section_facts *facts = reinterpret_cast<section_facts *>(scratch + p.bins_bytes);
        if (!map.tables)
            map.tables = scratch + p.bins_bytes + p.facts_bytes;
        SCAN_TRY(make_word_tables(ctx, desc, p, bins, facts, map.tables));
    } else {
        map.bins = bins;
    }
    /* Three channels with one table are mapped as 3 n grey pixels. */
    const bool flat = desc->channels == 3 && p.table_count == 1 && !p.luma;
    map.n = flat ? 3 * n : n;
    map.span = flat ? span_of(out, size, in, size) : span_of(out, pixel_bytes, in, pixel_bytes);
    return map_image(ctx, desc, map, flat ? 1 : desc->channels);
}

} /* namespace scan_cuda */
