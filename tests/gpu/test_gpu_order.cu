/* SPDX-License-Identifier: MIT
 *
 * The library's kernels with an operator that does not commute, for every block and grid, so that an operand out of
 * place shows whatever the data; and single-pass kernels whose CTAs are few, many, late or delayed at random at every
 * point where the order of events could matter, and whose epoch wraps: the same bits every time.
 */
#include "delays.cuh"
#include "prefix_reference.h"

using scan_cuda::prefix_kernels;
using scan_cuda::scan_job;

/* ---- one scan ---------------------------------------------------------------------------------------------------- */

struct order_case {
    const prefix_kernels *kernels;
    int grid, block; /* of scan.h; one cluster: SCAN_GRID_AUTO */
    unsigned ctas;   /* wave: 0: one an SM; else of the cluster */
    size_t n;
    bool exclusive, reverse, in_place;
    const uint64_t *init;
    size_t offset;
};

static gpu_array d_state, d_levels[3];
static int sm_count, capability;
static bool has_wave;

static void look_at_device(void) {
    const device_offer offer = direct_device(address(scan_cuda::look_back_kernel<affine>));
    sm_count = offer.sm_count;
    capability = offer.capability;
    has_wave = offer.capability >= 80; /* with 99 KB of shared memory at least */
}

/* State words for `tiles` tiles of 8-byte accumulators, all zero. */
static scan_cuda::scan_state new_state(uint64_t tiles) {
    const uint64_t tile_words = (tiles + scan_cuda::spare_tiles) * 2;
    const size_t bytes = scan_cuda::scan_state_bytes(tile_words, tile_words / 32 + 64);
    void *zero = calloc(bytes, 1), *state = gpu_put(&d_state, zero, bytes / 8, 8, 0);
    free(zero);
    return scan_cuda::make_scan_state(state, bytes, tile_words);
}

static uint64_t ceil_div(uint64_t n, uint64_t size) { return (n + size - 1) / size; }

static scan_job make_job(const order_case *c, const void *in) {
    const prefix_kernels *k = c->kernels;
    scan_job job = {};
    job.n = c->n;
    job.in_size = uint32_t(k->in_size);
    job.exclusive = c->exclusive;
    job.reverse = c->reverse;
    job.has_init = c->init;
    if (c->init)
        job.init = *c->init;
    job.in = gpu_put(&d_in, in, c->n, k->in_size, c->offset);
    job.out = c->in_place ? const_cast<void *>(job.in) : gpu_put(&d_out, NULL, c->n, k->out_size, c->offset * 3 % 7);
    return job;
}

/* One CTA, or a cluster of some. */
static void run_small(const prefix_kernels *k, unsigned ctas, uint64_t chunks, void **arguments) {
    unsigned each = 1;
    while (uint64_t(ctas) * each < chunks)
        each *= 2;
    assert_true(each <= unsigned(scan_cuda::max_chunks_per_cta));
    const unsigned threads = each * unsigned(k->cluster_threads_per_chunk);
    if (ctas > 8)
        cuda_ok(cudaFuncSetAttribute(k->cluster, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = ctas;
    attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
    const cudaLaunchConfig_t config = {dim3(ctas), dim3(threads), 0, direct_stream, &attribute, ctas > 1};
    gpu_ok(scan_ctx_sync(gpu));
    cuda_ok(cudaLaunchKernelExC(&config, k->cluster, arguments));
    cuda_ok(cudaStreamSynchronize(direct_stream));
}

static void run_single_pass(const order_case *c, scan_job *job) {
    const prefix_kernels *k = c->kernels;
    const uint64_t tiles = ceil_div(c->n, uint64_t(k->tile));
    void *arguments[] = {job};
    if (c->grid == SCAN_GRID_AUTO) {
        run_small(k, c->ctas, ceil_div(c->n, uint64_t(k->chunk)), arguments);
    } else if (c->grid == SCAN_GRID_LOOKBACK) {
        direct_launch(k->look_back, tiles, k->look_back_threads, arguments, 0);
    } else {
        const scan_cuda::wave_launch wave = k->wave_launch_on(capability);
        cuda_ok(cudaFuncSetAttribute(k->wave, cudaFuncAttributeMaxDynamicSharedMemorySize, int(wave.shared_bytes)));
        direct_launch(k->wave, c->ctas ? c->ctas : unsigned(sm_count), wave.threads, arguments, wave.shared_bytes);
    }
}

/* A level of S, scanned in place. */
static scan_job level_of(const prefix_kernels *k, void *sums, uint64_t n) {
    scan_job job = {};
    job.in = job.out = sums;
    job.n = n;
    job.in_size = uint32_t(k->out_size);
    return job;
}

/* Sections shorter than the block's limit make levels of few elements. */
static void run_teaching(const order_case *c, scan_job *job, unsigned section) {
    const prefix_kernels *k = c->kernels;
    const auto &block = k->blocks[c->block - SCAN_BLOCK_KOGGE_STONE];
    const int threads = int(section) / block.elements_per_thread;
    uint64_t n[3] = {ceil_div(c->n, section), 0, 0};
    void *sums[3] = {gpu_put(&d_levels[0], NULL, n[0], k->out_size, 0), NULL, NULL};
    void *arguments[] = {job, &sums[0]};
    direct_launch(block.section, n[0], threads, arguments, 2 * section * k->out_size);
    if (c->grid == SCAN_GRID_HOST_SUMS) {
        char *host = static_cast<char *>(malloc(n[0] * k->out_size));
        gpu_get(&d_levels[0], host);
        k->host_scan_sums(host, n[0]);
        gpu_ok(scan_upload(gpu, sums[0], host, n[0] * k->out_size));
        gpu_ok(scan_ctx_sync(gpu));
        free(host);
    } else {
        int top = 0;
        for (; n[top] > 1; top++) {
            assert_true(top < 2);
            n[top + 1] = ceil_div(n[top], section);
            sums[top + 1] = gpu_put(&d_levels[top + 1], NULL, n[top + 1], k->out_size, 0);
            scan_job level = level_of(k, sums[top], n[top]);
            void *sums_arguments[] = {&level, &sums[top + 1]};
            direct_launch(block.section, n[top + 1], threads, sums_arguments, 2 * section * k->out_size);
        }
        for (int i = top - 1; i >= 0; i--) {
            scan_job level = level_of(k, sums[i], n[i]);
            void *add_arguments[] = {&level, &sums[i + 1], &section};
            direct_launch(k->add, ceil_div(n[i], 256), 256, add_arguments, 0);
        }
    }
    void *add_arguments[] = {job, &sums[0], &section};
    direct_launch(k->add, ceil_div(c->n, 256), 256, add_arguments, 0);
}

static void fail_case(const order_case *c, const char *what, size_t wrong) {
    fail_msg("%s: %s/%s, %u CTAs, n %zu, %s%s%s%s, offset %zu: element %zu", what, scan_grid_name(scan_grid(c->grid)),
             scan_block_name(scan_block(c->block)), c->ctas, c->n, c->exclusive ? "exclusive" : "inclusive",
             c->reverse ? ", reverse" : "", c->init ? ", init" : "", c->in_place ? ", in place" : "", c->offset, wrong);
}

/* ---- the operator that does not commute -------------------------------------------------------------------------- */

static const prefix_kernels affine_kernels = scan_cuda::instantiate<uint64_t, affine>();

static void reference(const order_case *c, const uint64_t *in, uint64_t *want) {
    uint64_t fold = c->init ? *c->init : affine::identity();
    for (size_t p = 0; p < c->n; p++) {
        const size_t i = c->reverse ? c->n - 1 - p : p;
        const uint64_t before = fold;
        fold = affine::apply(fold, in[i]);
        want[i] = c->exclusive ? before : fold;
    }
}

static void check_affine(order_case c, unsigned section) {
    uint64_t *in = static_cast<uint64_t *>(malloc(c.n * 8 + 8)), *want = static_cast<uint64_t *>(malloc(c.n * 8 + 8)),
             *got = static_cast<uint64_t *>(malloc(c.n * 8 + 8));
    c.kernels = &affine_kernels;
    gpu_fill(SCAN_U64, GPU_RANDOM, in, c.n, c.n);
    for (size_t i = 0; i < c.n; i++)
        in[i] |= uint64_t(1) << 32; /* odd: a product does not die out */
    reference(&c, in, want);
    scan_job job = make_job(&c, in);
    job.state = new_state(ceil_div(c.n, uint64_t(affine_kernels.tile)));
    if (section)
        run_teaching(&c, &job, section);
    else
        run_single_pass(&c, &job);
    gpu_get(c.in_place ? &d_in : &d_out, got);
    gpu_get(&d_state, NULL);
    const size_t wrong = gpu_first_difference(got, want, c.n, 8);
    if (wrong != c.n)
        fail_case(&c, "operands out of order", wrong);
    free(in);
    free(want);
    free(got);
}

/* Kind, direction, initial value and addresses are drawn. */
static order_case drawn(int grid, int block, unsigned ctas, size_t n) {
    static const uint64_t init = uint64_t(7) << 32 | 11;
    static uint64_t rng = 1;
    order_case c = {};
    c.grid = grid;
    c.block = block;
    c.ctas = ctas;
    c.n = n;
    c.exclusive = random_bool(&rng);
    c.reverse = random_bool(&rng);
    c.in_place = random_below(&rng, 4) == 0;
    c.init = random_bool(&rng) ? &init : NULL;
    c.offset = random_bool(&rng) ? random_below(&rng, 8) : 0;
    return c;
}

static void test_defect_8_blocks_do_not_commute(void **state) {
    (void)state;
    gpu_need();
    look_at_device();
    set_delays(NO_DELAYS, 0, 0);
    static const size_t sizes[] = {1, 2, 63, 64, 65, 128, 1000, 4095, 4096, 4097, 65536, 65537, 200001};
    const unsigned sections[] = {64, 128, 256, 0};
    for (size_t s = 0; s < COUNT(sizes); s++)
        for (int block = SCAN_BLOCK_KOGGE_STONE; scan_block_name(scan_block(block)); block++)
            for (unsigned k = 0; k < COUNT(sections); k++) {
                const auto &b = affine_kernels.blocks[block - SCAN_BLOCK_KOGGE_STONE];
                const unsigned section = sections[k] ? sections[k] : unsigned(b.max_section);
                if (gpu_is_small && (sizes[s] > 5000 || (s + k + unsigned(block)) % 4))
                    continue;
                if (ceil_div(sizes[s], uint64_t(section) * section * section) > 1)
                    continue; /* more levels than are made room for here */
                check_affine(drawn(SCAN_GRID_HOST_SUMS, block, 0, sizes[s]), section);
                check_affine(drawn(SCAN_GRID_HIERARCHICAL, block, 0, sizes[s]), section);
            }
}

static void test_defect_8_grids_do_not_commute(void **state) {
    (void)state;
    gpu_need();
    look_at_device();
    set_delays(NO_DELAYS, 0, 0);
    const size_t tile = size_t(affine_kernels.tile), group = 32 * tile;
    const size_t few[] = {1, 2, 3, 64, 65, 513, tile - 1, tile, tile + 1, 3 * tile + 5, 31 * tile, group - 1};
    const size_t more[] = {group, group + 1, group + 3 * tile + 1, 2 * group + 3, 7 * group + tile + 1, 8 * group - 1};
    static const unsigned ctas[] = {1, 7, 97, 0};
    for (size_t s = 0; s < COUNT(few) + COUNT(more); s++) {
        const size_t n = s < COUNT(few) ? few[s] : more[s - COUNT(few)];
        if (gpu_is_small && n > (GPU_EMULATED ? group + 3 * tile + 1 : 4 * tile))
            continue;
        for (unsigned k = 0; k < (gpu_is_small ? 1 : 8); k++) {
            for (unsigned cluster = 1; cluster <= (capability >= 90 ? 16 : 1) && n <= group; cluster *= 2)
                if (n <= cluster * size_t(scan_cuda::max_chunks_per_cta) * size_t(affine_kernels.chunk))
                    check_affine(drawn(SCAN_GRID_AUTO, SCAN_BLOCK_WARP, cluster, n), 0);
            check_affine(drawn(SCAN_GRID_LOOKBACK, SCAN_BLOCK_WARP, 0, n), 0);
            if (has_wave)
                check_affine(drawn(SCAN_GRID_WAVE, SCAN_BLOCK_WARP, ctas[(s + k) % 4], n), 0);
        }
    }
}

static void set_epoch(const scan_cuda::scan_state &state, uint32_t used) {
    const uint64_t word = uint64_t(used) << 32;
    gpu_ok(scan_upload(gpu, state.ticket, &word, 8));
    gpu_ok(scan_ctx_sync(gpu));
}

/* Pieces of one length or, if that is 0, of any, on any grid in turn, forward or from the last to the first. used: the
 * epochs that are used up before the first of them. */
static void check_pieces(size_t n, size_t length, bool exclusive, bool reverse, uint64_t seed, uint32_t used = 0) {
    static gpu_array d_carry, d_piece, d_rest;
    const prefix_kernels *k = &affine_kernels;
    uint64_t *in = static_cast<uint64_t *>(malloc(n * 8)), *want = static_cast<uint64_t *>(malloc(n * 8)),
             *got = static_cast<uint64_t *>(malloc(n * 8));
    order_case c = {};
    c.kernels = k;
    c.n = n;
    c.exclusive = exclusive;
    c.reverse = reverse;
    gpu_fill(SCAN_U64, GPU_RANDOM, in, n, n);
    reference(&c, in, want);
    scan_job job = make_job(&c, in);
    job.state = new_state(ceil_div(n, uint64_t(k->tile)));
    set_epoch(job.state, used);
    uint64_t *from = static_cast<uint64_t *>(const_cast<void *>(job.in)), *to = static_cast<uint64_t *>(job.out);
    void *carry = gpu_put(&d_carry, NULL, SCAN_CARRY_BYTES / 8, 8, 0), *carry_in = NULL;
    void *piece = gpu_put(&d_piece, NULL, SCAN_CARRY_BYTES / 8, 8, 0);
    void *rest = gpu_put(&d_rest, NULL, size_t(k->tile), k->in_size, 0);
    for (size_t done = 0, m; done < n; done += m) {
        m = length ? length : size_t(random_below(&seed, n / 3 + 2));
        m = m < n - done ? m : n - done;
        const size_t at = reverse ? n - done - m : done;
        c.grid = has_wave && random_bool(&seed) ? SCAN_GRID_WAVE : SCAN_GRID_LOOKBACK;
        c.ctas = unsigned(1 + random_below(&seed, 7));
        c.n = job.n = m;
        job.in = from + at;
        job.out = to + at;
        job.piece = NULL;
        void *begin_arguments[] = {&job, &carry_in, &piece, &rest};
        direct_launch(k->carry_begin, 1, k->carry_threads, begin_arguments, 0);
        job.piece = piece;
        if (m > 0)
            run_single_pass(&c, &job);
        void *end_arguments[] = {&job, &piece, &rest, &carry};
        direct_launch(k->carry_end, 1, k->carry_threads, end_arguments, 0);
        carry_in = carry;
    }
    gpu_get(&d_out, got);
    c.n = n;
    const size_t wrong = gpu_first_difference(got, want, n, 8);
    if (wrong != n)
        fail_case(&c, "pieces", wrong);
    free(in);
    free(want);
    free(got);
}

static void test_defect_8_pieces_do_not_commute(void **state) {
    (void)state;
    gpu_need();
    look_at_device();
    set_delays(NO_DELAYS, 0, 0);
    const size_t tile = size_t(affine_kernels.tile);
    const size_t sizes[] = {1, 5, 200, tile - 1, tile + 1, 3 * tile + 77, 36 * tile + 5, 400 * tile};
    for (size_t s = 0; s < COUNT(sizes); s++)
        for (unsigned round = 0; round < (gpu_is_small ? 4u : 40u); round++)
            if (!gpu_is_small || sizes[s] < (GPU_EMULATED ? 40 : 4) * tile)
                check_pieces(sizes[s], 0, round & 1, round & 2, s * 100 + round);
    /* Of the group after a piece that ends with one, the grid has not published the fold before it. */
    check_pieces(2 * scan_cuda::tiles_per_group * tile + 5, scan_cuda::tiles_per_group * tile, true, false, 1);
}

/* ---- the same bits in any order of events ------------------------------------------------------------------------ */

static const prefix_kernels float_kernels = scan_cuda::instantiate<float, scan_cuda::add<float>>();

struct repeated_sum {
    size_t n;
    float *in, *want, *got;
    scan_cuda::scan_state state;
};

static repeated_sum make_sum(size_t n) {
    repeated_sum r = {};
    r.n = n;
    r.in = static_cast<float *>(malloc(n * 4));
    r.want = static_cast<float *>(malloc(n * 4));
    r.got = static_cast<float *>(malloc(n * 4));
    gpu_fill(SCAN_F32, GPU_RANDOM, r.in, n, n);
    scan_prefix_desc d = {};
    d.struct_size = sizeof d;
    d.type = SCAN_F32;
    cpu_ok(scan_prefix(cpu, &d, r.in, r.want, n));
    r.state = new_state(ceil_div(n, uint64_t(float_kernels.tile)));
    return r;
}

static void free_sum(repeated_sum *r) {
    free(r->in);
    free(r->want);
    free(r->got);
}

/* One more launch on the same state. */
static void sum_again(repeated_sum *r, int grid, unsigned ctas, const char *what) {
    order_case c = {};
    c.kernels = &float_kernels;
    c.grid = grid;
    c.block = SCAN_BLOCK_WARP;
    c.ctas = ctas;
    c.n = r->n;
    if (grid == SCAN_GRID_WAVE && !has_wave)
        return;
    scan_job job = make_job(&c, r->in);
    job.state = r->state;
    run_single_pass(&c, &job);
    gpu_get(&d_out, r->got);
    const size_t wrong = gpu_first_difference(r->got, r->want, r->n, 4);
    if (wrong != r->n)
        fail_case(&c, what, wrong);
}

static const int single_pass[] = {SCAN_GRID_LOOKBACK, SCAN_GRID_WAVE};

static void random_delays_change_no_bit(void **state) {
    (void)state;
    gpu_need();
    look_at_device();
    static const unsigned ctas[] = {1, 7, 97, 0};
    const size_t tile = size_t(float_kernels.tile);
    repeated_sum r = make_sum(gpu_is_small ? 3 * tile + 5 : 215 * tile + 77);
    for (unsigned run = 0; run < (gpu_is_small ? 3 : 1000); run++) {
        set_delays(RANDOM_DELAYS, run, 0);
        for (int grid : single_pass)
            sum_again(&r, grid, ctas[run % 4], "random delays");
    }
    set_delays(NO_DELAYS, 0, 0);
    free_sum(&r);
}

static void one_late_cta_changes_no_bit(void **state) {
    (void)state;
    gpu_need();
    look_at_device();
    const size_t tile = size_t(float_kernels.tile);
    repeated_sum r = make_sum(gpu_is_small ? 4 * tile + 5 : 700 * tile + 77);
    for (unsigned run = 0; run < (gpu_is_small ? 2 : 100); run++)
        for (int grid : single_pass) {
            set_delays(ONE_CTA_LATE, 0, run * 37 % unsigned(gpu_is_small ? 2 : sm_count));
            sum_again(&r, grid, 0, "one CTA late");
        }
    set_delays(NO_DELAYS, 0, 0);
    free_sum(&r);
}

/* ---- the epoch wraps --------------------------------------------------------------------------------------------- */

/* Words tagged with an epoch, their values those of other data: what a scan of 2^32 launches ago may have left. */
static void plant_words(repeated_sum *r, uint32_t epoch) {
    uint64_t *words = static_cast<uint64_t *>(malloc(r->state.words * 8));
    for (uint64_t i = 0; i < r->state.words; i++)
        words[i] = uint64_t(epoch) << 32 | 0x42f60000u; /* 123.0f */
    gpu_ok(scan_upload(gpu, r->state.tiles, words, r->state.words * 8));
    gpu_ok(scan_ctx_sync(gpu));
    free(words);
}

/* Over the wrap in scans of one size; then with scans so short, up to the wrap, that they leave the old words alone;
 * and in pieces, whose ends read what the grid has published. */
static void the_epoch_wraps(void **state) {
    (void)state;
    gpu_need();
    look_at_device();
    set_delays(NO_DELAYS, 0, 0);
    const size_t tile = size_t(float_kernels.tile);
    repeated_sum few = make_sum(3), r = make_sum(gpu_is_small ? 3 * tile + 5 : 90 * tile + 77);
    few.state = r.state;
    for (int grid : single_pass)
        for (uint32_t epoch = 1; epoch <= 4; epoch++)
            for (unsigned short_until = 0; short_until <= 3; short_until += 3) {
                const unsigned ctas = epoch % 2 ? 7 : 0;
                plant_words(&r, epoch);
                set_epoch(r.state, scan_cuda::last_epoch - 3);
                for (unsigned run = 0; run < 9; run++) /* the last three epochs, then 1 ... */
                    sum_again(run < short_until ? &few : &r, grid, ctas, "over the wrap");
            }
    free_sum(&few);
    free_sum(&r);
    for (uint32_t left = 1; left <= 4; left++) /* epochs until the wrap */
        check_pieces(15 * tile, 5 * tile / 2, false, left % 2, left, scan_cuda::last_epoch - left);
}

int main(int argc, char **argv) {
    static const gpu_test tests[] = {
        GPU_TEST(GPU_MATRIX | GPU_SMALL, test_defect_8_blocks_do_not_commute),
        GPU_TEST(GPU_MATRIX | GPU_SMALL, test_defect_8_grids_do_not_commute),
        GPU_TEST(GPU_MATRIX | GPU_SMALL, test_defect_8_pieces_do_not_commute),
        GPU_TEST(GPU_STRESS | GPU_SMALL, random_delays_change_no_bit),
        GPU_TEST(GPU_STRESS | GPU_SMALL, one_late_cta_changes_no_bit),
        GPU_TEST(GPU_STRESS | GPU_SMALL, the_epoch_wraps),
    };
    return gpu_main("gpu_order", tests, COUNT(tests), argc, argv);
}
