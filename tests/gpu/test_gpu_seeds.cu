/* SPDX-License-Identifier: MIT
 *
 * The textbook's examples on the kernels that are made of them: its vectors on every algorithm, its figures step by
 * step, its counts of additions.
 */
#include "direct.cuh"
#include "prefix_reference.h"

using scan_cuda::address;
using scan_cuda::brent_kung;
using scan_cuda::kogge_stone;
using scan_cuda::warp_shuffle;

static gpu_array d_records, d_count;

/* ---- every operation of a block scan, recorded ------------------------------------------------------------------- */

enum { MAX_RECORDS = 16384 };

struct operation {
    uint64_t left, right;
};

static __device__ unsigned record_count;
static __device__ operation records[MAX_RECORDS];

static __host__ __device__ uint64_t span(uint64_t first, uint64_t last) { return first << 32 | last; }

/* Operands are spans of elements first ... last; each combination is recorded. */
struct recorder {
    using type = uint64_t;
    static constexpr scan_cuda::operand_form form = scan_cuda::operand_form::plain;
    static constexpr bool commutative = false;
    static __host__ __device__ uint64_t identity() { return ~uint64_t(0); }
    static __device__ uint64_t apply(uint64_t left, uint64_t right) {
        unsigned i = atomicAdd(&record_count, 1u);
        if (i < MAX_RECORDS)
            records[i] = {left, right};
        return span(left >> 32, uint32_t(right));
    }
};

template <class Block> static __global__ void record_kernel(uint64_t *out) {
    const uint32_t section = blockDim.x * Block::elements_per_thread;
    uint64_t *xy = scan_cuda::dynamic_shared<uint64_t>(), *other = xy + section;
    if (threadIdx.x == 0)
        record_count = 0;
    for (uint32_t i = threadIdx.x; i < section; i += blockDim.x)
        xy[i] = span(i, i);
    __syncthreads();
    uint64_t *scanned = Block::template inclusive<recorder>(xy, other);
    for (uint32_t i = threadIdx.x; i < section; i += blockDim.x)
        out[i] = scanned[i];
}

static __global__ void take_records_kernel(unsigned *count, operation *to) {
    if (threadIdx.x == 0)
        *count = record_count;
    for (unsigned i = threadIdx.x; i < record_count && i < MAX_RECORDS; i += blockDim.x)
        to[i] = records[i];
}

struct recording {
    unsigned count;
    operation operations[MAX_RECORDS];
};

/* Scans n elements with a block of the right size; every element ends as the span from 0. */
template <class Block> static const recording *record(unsigned n) {
    static recording r;
    static uint64_t out[2048];
    const int threads = int(n) / Block::elements_per_thread;
    uint64_t *to = static_cast<uint64_t *>(gpu_put(&d_out, NULL, n, 8, 0));
    void *arguments[] = {&to};
    direct_launch(address(record_kernel<Block>), 1, threads, arguments, 2 * n * 8);
    auto *count = static_cast<unsigned *>(gpu_put(&d_count, NULL, 1, sizeof(unsigned), 0));
    auto *list = static_cast<operation *>(gpu_put(&d_records, NULL, MAX_RECORDS, sizeof(operation), 0));
    void *take_arguments[] = {&count, &list};
    direct_launch(address(take_records_kernel), 1, 256, take_arguments, 0);
    gpu_get(&d_count, &r.count);
    gpu_get(&d_records, r.operations);
    gpu_get(&d_out, out);
    for (unsigned i = 0; i < n; i++)
        assert_true(out[i] == span(0, i));
    return &r;
}

/* How often left ... middle was combined with middle + 1 ... right. */
static unsigned times(const recording *r, unsigned left, unsigned middle, unsigned right) {
    unsigned found = 0;
    for (unsigned i = 0; i < r->count; i++)
        found += r->operations[i].left == span(left, middle) && r->operations[i].right == span(middle + 1, right);
    return found;
}

/* Figure 9.1. Before the step of stride s, XY[i] holds the s elements that end at i, or all from 0; the step adds
 * XY[i - s]. So after step 1 XY[3] is x2 + x3 and XY[1] is final; after step 2 XY[3] is x0 + ... + x3 and XY[2] too. */
static void test_seed_000_steps_of_kogge_stone(void **state) {
    (void)state;
    gpu_need();
    const recording *r = record<kogge_stone>(16);
    unsigned expected = 0;
    for (unsigned stride = 1; stride < 16; stride *= 2)
        for (unsigned i = stride; i < 16; i++, expected++) {
            const unsigned left = i + 1 > 2 * stride ? i + 1 - 2 * stride : 0;
            assert_int_equal(times(r, left, i - stride, i), 1);
        }
    assert_int_equal(expected, 49);
    assert_int_equal(r->count, 49); /* and nothing else */
    assert_int_equal(times(r, 2, 2, 3), 1);
    assert_int_equal(times(r, 0, 1, 3), 1);
}

/* Figures 9.5 and 9.6. The reduction finishes XY[0], XY[1], XY[3], XY[7] and XY[15]; the distribution then adds XY[7]
 * to XY[11], XY[3], XY[7] and XY[11] to XY[5], XY[9] and XY[13], and last the neighbours to the even places. */
static void test_seed_001_phases_of_brent_kung(void **state) {
    (void)state;
    gpu_need();
    const recording *r = record<brent_kung>(16);
    unsigned expected = 0;
    for (unsigned stride = 1; stride < 16; stride *= 2)
        for (unsigned i = 2 * stride - 1; i < 16; i += 2 * stride, expected++)
            assert_int_equal(times(r, i + 1 - 2 * stride, i - stride, i), 1);
    assert_int_equal(expected, 15);
    assert_int_equal(times(r, 0, 7, 11), 1);
    assert_int_equal(times(r, 0, 3, 5) + times(r, 0, 7, 9) + times(r, 0, 11, 13), 3);
    for (unsigned i = 2; i <= 14; i += 2)
        assert_int_equal(times(r, 0, i - 1, i), 1);
    assert_int_equal(r->count, 15 + 11);
}

static void test_additions_are_as_counted(void **state) {
    (void)state;
    gpu_need();
    assert_int_equal(record<kogge_stone>(16)->count, 49);
    assert_int_equal(record<kogge_stone>(1024)->count, 9217);
    assert_int_equal(record<brent_kung>(16)->count, 26);
    assert_int_equal(record<brent_kung>(1024)->count, 2036);
    assert_int_equal(record<warp_shuffle>(1024)->count, 5249);
}

/* ---- vectors, by name -------------------------------------------------------------------------------------------- */

typedef void each_algorithm(scan_algorithm);

static void for_every_algorithm(each_algorithm *check) {
    for (int grid = SCAN_GRID_HOST_SUMS; scan_grid_name(scan_grid(grid)); grid++)
        for (int block = SCAN_BLOCK_KOGGE_STONE; scan_block_name(scan_block(block)); block++) {
            scan_prefix_desc d = {};
            d.struct_size = sizeof d;
            d.type = SCAN_U32;
            d.algorithm = {scan_grid(grid), scan_block(block)};
            if (scan_prefix(gpu, &d, NULL, NULL, 0) == SCAN_OK)
                check(d.algorithm);
        }
}

template <class T> static void check_vector(scan_type type, scan_algorithm a, const int *in, const int *out, size_t n) {
    T x[64] = {}, got[64];
    scan_prefix_desc d = {};
    d.struct_size = sizeof d;
    d.type = type;
    d.algorithm = a;
    for (size_t i = 0; i < n; i++)
        x[i] = T(in[i]);
    void *at = gpu_put(&d_in, x, n, sizeof(T), 0);
    gpu_ok(scan_prefix(gpu, &d, at, at, n));
    gpu_get(&d_in, got);
    for (size_t i = 0; i < n; i++)
        assert_true(got[i] == T(out[i]));
}

static void check_vectors(scan_algorithm a) {
    static const int in_6[] = {1, 2, 5, 7, 9, 6}, out_6[] = {1, 3, 8, 15, 24, 30};
    static const int in_8[] = {3, 1, 7, 0, 4, 1, 6, 3}, out_8[] = {3, 4, 11, 11, 15, 16, 22, 25};
    static const int in_16[] = {2, 1, 3, 1, 0, 4, 1, 2, 0, 3, 1, 2, 5, 3, 1, 2};
    static const int out_16[] = {2, 3, 6, 7, 7, 11, 12, 14, 14, 17, 18, 20, 25, 28, 29, 31};
    check_vector<uint32_t>(SCAN_U32, a, in_6, out_6, 6);
    check_vector<double>(SCAN_F64, a, in_6, out_6, 6);
    check_vector<uint8_t>(SCAN_U8, a, in_8, out_8, 8);
    check_vector<double>(SCAN_F64, a, in_8, out_8, 8);
    check_vector<int64_t>(SCAN_I64, a, in_16, out_16, 16);
    check_vector<float>(SCAN_F32, a, in_16, out_16, 16);
}

static void test_vectors_on_every_algorithm(void **state) {
    (void)state;
    gpu_need();
    for_every_algorithm(check_vectors);
}

/* Doubles in place, their block sums scanned on the host. */
static void test_seed_004_doubles_in_place(void **state) {
    (void)state;
    gpu_need();
    const size_t n = gpu_is_small ? 5000 : 1000003;
    double *x = static_cast<double *>(malloc(n * 8)), *got = static_cast<double *>(malloc(n * 8));
    gpu_fill(SCAN_F64, GPU_RANDOM, x, n, 4);
    scan_prefix_desc d = {};
    d.struct_size = sizeof d;
    d.type = d.out_type = SCAN_F64;
    for (int block = SCAN_BLOCK_KOGGE_STONE; scan_block_name(scan_block(block)); block++) {
        d.algorithm = {SCAN_GRID_HOST_SUMS, scan_block(block)};
        void *at = gpu_put(&d_in, x, n, 8, 0);
        gpu_ok(scan_prefix(gpu, &d, at, at, n));
        gpu_get(&d_in, got);
        assert_int_equal(prefix_far(&d, reinterpret_cast<char *>(got), reinterpret_cast<char *>(x), n), n);
    }
    free(x);
    free(got);
}

/* ---- sections and their sums, kernel by kernel ------------------------------------------------------------------- */

template <class Block> static void check_figure_9_10(void) {
    static const uint32_t scanned[] = {2, 3, 6, 7, 0, 4, 5, 7, 0, 3, 4, 6, 5, 8, 9, 11};
    static const uint32_t totals[] = {7, 7, 6, 11}, folds[] = {7, 14, 20, 31};
    static const uint32_t whole[] = {2, 3, 6, 7, 7, 11, 12, 14, 14, 17, 18, 20, 25, 28, 29, 31};
    uint32_t got[16], got_sums[4], *s, *top;
    uint32_t section = 4;
    scan_cuda::scan_job job = scan_sections<Block>(figure, 16, section, 4, &s);
    gpu_get(&d_out, got);
    gpu_get(&d_sums, got_sums);
    assert_memory_equal(got, scanned, sizeof scanned);
    assert_memory_equal(got_sums, totals, sizeof totals);

    top = static_cast<uint32_t *>(gpu_put(&d_count, NULL, 1, 4, 0));
    scan_cuda::scan_job sums = {};
    sums.in = sums.out = s;
    sums.n = 4;
    sums.in_size = 4;
    void *sums_arguments[] = {&sums, &top};
    direct_launch(address(scan_cuda::section_kernel<Block, sum>), 1, int(section) / Block::elements_per_thread,
                  sums_arguments, 2 * section * 4);
    gpu_get(&d_sums, got_sums);
    assert_memory_equal(got_sums, folds, sizeof folds);

    void *add_arguments[] = {&job, &s, &section};
    direct_launch(address(scan_cuda::add_kernel<sum>), 1, 16, add_arguments, 0);
    gpu_get(&d_out, got);
    assert_memory_equal(got, whole, sizeof whole);
}

static void test_seed_002_figure_9_10(void **state) {
    (void)state;
    gpu_need();
    check_figure_9_10<kogge_stone>();
    check_figure_9_10<brent_kung>();
}

/* S has a total for every section, whole or partial, and nothing after it is written; with sections of 2,048 for
 * 2,000,000 elements it has 977. */
template <class Block> static void check_sums(size_t n, unsigned section) {
    const size_t sections = (n + section - 1) / section;
    uint32_t *x = static_cast<uint32_t *>(malloc(n * 4 + 4));
    uint32_t *got = static_cast<uint32_t *>(malloc((sections + 1) * 4)), *s;
    gpu_fill(SCAN_U32, GPU_RANDOM, x, n, n);
    scan_cuda::scan_job job = {};
    job.in = gpu_put(&d_in, x, n, 4, 0);
    job.out = gpu_put(&d_out, NULL, n, 4, 0);
    job.n = n;
    job.in_size = 4;
    s = static_cast<uint32_t *>(gpu_put(&d_sums, NULL, sections, 4, 0));
    void *arguments[] = {&job, &s};
    direct_launch(address(scan_cuda::section_kernel<Block, sum>), sections, int(section) / Block::elements_per_thread,
                  arguments, 2 * section * 4);
    gpu_get(&d_sums, got);
    for (size_t b = 0; b < sections; b++) {
        uint32_t total = 0;
        for (size_t i = b * section; i < n && i < (b + 1) * section; i++)
            total += x[i];
        assert_int_equal(got[b], total);
    }
    free(x);
    free(got);
}

static void test_seed_003_sums_of_sections(void **state) {
    (void)state;
    gpu_need();
    assert_int_equal((2000000 + 2047) / 2048, 977);
    if (!gpu_is_small) {
        check_sums<brent_kung>(2000000, 2048);
        check_sums<kogge_stone>(2000000, 1024);
        check_sums<warp_shuffle>(2000000, 1024);
    }
    for (size_t n = 1; n <= 300; n += gpu_is_small ? 61 : 1) {
        check_sums<brent_kung>(n, 64);
        check_sums<kogge_stone>(n, 64);
        check_sums<warp_shuffle>(n, 64);
    }
}

int main(int argc, char **argv) {
    static const gpu_test tests[] = {
        GPU_TEST(GPU_MATRIX | GPU_SMALL, test_vectors_on_every_algorithm),
        GPU_TEST(GPU_MATRIX | GPU_SMALL, test_seed_000_steps_of_kogge_stone),
        GPU_TEST(GPU_MATRIX | GPU_SMALL, test_seed_001_phases_of_brent_kung),
        GPU_TEST(GPU_MATRIX | GPU_SMALL, test_seed_002_figure_9_10),
        GPU_TEST(GPU_MATRIX | GPU_SMALL, test_seed_003_sums_of_sections),
        GPU_TEST(GPU_MATRIX | GPU_SMALL, test_seed_004_doubles_in_place),
        GPU_TEST(GPU_MATRIX | GPU_SMALL, test_additions_are_as_counted),
    };
    return gpu_main("gpu_seeds", tests, COUNT(tests), argc, argv);
}
