/* SPDX-License-Identifier: MIT
 *
 * A test for each defect of the textbook's printed listings (listings.cuh): the library passes it and the listing fails
 * it. Defects 1 and 2 are undefined behaviour: the part `listing` is for compute-sanitizer, which must report the first
 * and nothing of what is shipped, and for the emulator, which must report the second. Defect 8's other half, operands
 * in the wrong order, is in test_gpu_order.cu.
 */
#include "direct.cuh"
#include "listings.cuh"
#include "prefix_reference.h"

using scan_cuda::address;
using scan_cuda::brent_kung;
using scan_cuda::kogge_stone;
using scan_cuda::warp_shuffle;

/* The output of scan_prefix by name, and of a serial loop. */
static void check_by_name(scan_grid grid, scan_block block, const uint32_t *x, size_t n) {
    uint32_t *want = static_cast<uint32_t *>(malloc(n * 4)), *got = static_cast<uint32_t *>(malloc(n * 4));
    scan_prefix_desc d = {};
    d.struct_size = sizeof d;
    d.type = d.out_type = SCAN_U32;
    d.algorithm = {grid, block};
    prefix_reference(&d, x, want, n);
    void *from = gpu_put(&d_in, x, n, 4, 0), *to = gpu_put(&d_out, NULL, n, 4, 0);
    gpu_ok(scan_prefix(gpu, &d, from, to, n));
    gpu_get(&d_out, got); /* and its red zones */
    assert_int_equal(gpu_first_difference(got, want, n, 4), n);
    free(want);
    free(got);
}

/* A partial last section: the listing writes all of it. */
static void test_defect_3_writes_past_the_end(void **state) {
    (void)state;
    gpu_need();
    enum { N = 70, THREADS = 32, ROOM = 128 };
    uint32_t x[ROOM], y[ROOM], red[ROOM];
    gpu_fill(SCAN_U32, GPU_RANDOM, x, ROOM, 3);
    memset(red, GPU_ZONE_BYTE, sizeof red);
    void *from = gpu_put(&d_in, x, ROOM, 4, 0), *to = gpu_put(&d_out, red, ROOM, 4, 0);
    uint64_t n = N;
    void *arguments[] = {&from, &to, &n};
    direct_launch(address(listings::writes_past_the_end), 3, THREADS, arguments, 2 * THREADS * 4);
    gpu_get(&d_out, y);
    assert_memory_not_equal(y + N, red, 26 * 4); /* the listing */
    for (int block = SCAN_BLOCK_KOGGE_STONE; scan_block_name(scan_block(block)); block++)
        for (size_t m = 1; m <= N; m += 23)
            check_by_name(SCAN_GRID_HIERARCHICAL, scan_block(block), x, m);
}

/* Either bound alone spoils a section of twice the block. */
static void test_defect_4_bounds_of_the_block(void **state) {
    (void)state;
    gpu_need();
    enum { N = 2048 };
    static uint32_t x[N], y[N], want[N];
    gpu_fill(SCAN_U32, GPU_RANDOM, x, N, 4);
    for (size_t i = 0; i < N; i++)
        want[i] = (i ? want[i - 1] : 0) + x[i];
    for (unsigned bounds = 0; bounds < 4; bounds++) {
        void *from = gpu_put(&d_in, x, N, 4, 0), *to = gpu_put(&d_out, NULL, N, 4, 0);
        bool reduction = bounds & 1, distribution = bounds & 2;
        void *arguments[] = {&from, &to, &reduction, &distribution};
        direct_launch(address(listings::bounds_of_the_block), 1, N / 2, arguments, N * 4);
        gpu_get(&d_out, y);
        if (bounds == 0)
            assert_memory_equal(y, want, sizeof want); /* the bounds are all that is wrong */
        else
            assert_memory_not_equal(y, want, sizeof want);
    }
    check_by_name(SCAN_GRID_HIERARCHICAL, SCAN_BLOCK_BRENT_KUNG, x, N);
}

/* S is not written at all by the thread section - 1, and a partial section needs its place in S. */
static void test_defect_5_sums_are_written_and_counted(void **state) {
    (void)state;
    gpu_need();
    enum { THREADS = 4, SECTION = 8, N = 20, ROOM = 8 };
    uint32_t x[N], s[ROOM], red[ROOM], *sums;
    gpu_fill(SCAN_U32, GPU_RANDOM, x, N, 5);
    memset(red, GPU_ZONE_BYTE, sizeof red);
    uint64_t n = N;
    for (int listing = 0; listing < 2; listing++) {
        void *from = gpu_put(&d_in, x, N, 4, 0), *to = gpu_put(&d_out, NULL, N, 4, 0);
        void *at = gpu_put(&d_sums, red, ROOM, 4, 0);
        void *arguments[] = {&from, &to, &at, &n};
        direct_launch(listing ? address(listings::sums_of_sections) : address(listings::sums_by_the_last_element), 3,
                      THREADS, arguments, SECTION * 4);
        gpu_get(&d_sums, s);
        if (listing == 0)
            assert_memory_equal(s, red, sizeof red); /* not one sum */
        else
            assert_memory_not_equal(s + N / SECTION, red, 4); /* floor(n / section) elements are one too few */
    }
    scan_sections<brent_kung>(x, N, SECTION, ROOM, &sums);
    gpu_get(&d_sums, s);
    for (unsigned b = 0; b < 3; b++) {
        uint32_t total = 0;
        for (unsigned i = b * SECTION; i < N && i < (b + 1) * SECTION; i++)
            total += x[i];
        assert_int_equal(s[b], total);
    }
    assert_memory_equal(s + 3, red, (ROOM - 3) * 4);
    for (size_t m = 1; m <= N; m++)
        check_by_name(SCAN_GRID_HIERARCHICAL, SCAN_BLOCK_BRENT_KUNG, x, m);
}

/* The three kernels of the listings, in sections of 4, on n <= 64 elements. */
static void run_listing(const uint32_t *x, uint32_t *y, uint64_t n, bool own_sum, bool whole_s) {
    enum { THREADS = 2, SECTION = 4 };
    uint64_t sections = (n + SECTION - 1) / SECTION;
    uint32_t s[16];
    void *from = gpu_put(&d_in, x, n, 4, 0), *to = gpu_put(&d_out, NULL, n, 4, 0);
    void *sums = gpu_put(&d_sums, NULL, sections, 4, 0);
    void *section_arguments[] = {&from, &to, &sums, &n}, *sums_arguments[] = {&sums, &sections},
         *add_arguments[] = {&to, &sums, &n};
    direct_launch(address(listings::sums_of_sections), sections, THREADS, section_arguments, SECTION * 4);
    if (whole_s) {
        gpu_get(&d_sums, s);
        for (uint64_t b = 1; b < sections; b++)
            s[b] += s[b - 1];
        gpu_ok(scan_upload(gpu, sums, s, sections * 4));
    } else {
        direct_launch(address(listings::scans_one_section_of_sums), 1, THREADS, sums_arguments, 0);
    }
    direct_launch(own_sum ? address(listings::adds_its_own_sum) : address(listings::adds_the_sum_before), sections,
                  THREADS, add_arguments, 0);
    gpu_get(&d_out, y);
}

static void test_defect_6_own_sum(void **state) {
    (void)state;
    gpu_need();
    static const uint32_t whole[] = {2, 3, 6, 7, 7, 11, 12, 14, 14, 17, 18, 20, 25, 28, 29, 31};
    uint32_t y[16];
    run_listing(figure, y, 16, true, false);
    assert_memory_not_equal(y, whole, sizeof whole);
    run_listing(figure, y, 16, false, false);
    assert_memory_equal(y, whole, sizeof whole); /* the sum added is all that was wrong */
    for (int block = SCAN_BLOCK_KOGGE_STONE; scan_block_name(scan_block(block)); block++) {
        check_by_name(SCAN_GRID_HIERARCHICAL, scan_block(block), figure, 16);
        check_by_name(SCAN_GRID_HOST_SUMS, scan_block(block), figure, 16);
    }
}

/* One section of sums reaches as far as section^2 elements. */
static void test_defect_7_more_sums_than_one_section(void **state) {
    (void)state;
    gpu_need();
    uint32_t x[64], y[64], want[64];
    gpu_fill(SCAN_U32, GPU_RANDOM, x, 64, 7);
    for (size_t i = 0; i < 64; i++)
        want[i] = (i ? want[i - 1] : 0) + x[i];
    run_listing(x, y, 16, false, false);
    assert_memory_equal(y, want, 16 * 4); /* section^2 is right still */
    run_listing(x, y, 24, false, false);
    assert_memory_not_equal(y, want, 24 * 4);
    run_listing(x, y, 24, false, true);
    assert_memory_equal(y, want, 24 * 4); /* the scan of S is all that was wrong */
    if (gpu_is_small)
        return;
    static const struct {
        scan_block block;
        size_t section;
    } blocks[] = {{SCAN_BLOCK_KOGGE_STONE, kogge_stone::max_section},
                  {SCAN_BLOCK_BRENT_KUNG, brent_kung::max_section},
                  {SCAN_BLOCK_WARP, warp_shuffle::max_section}};
    const size_t max_n = 2048 * 2048 + 2049;
    uint32_t *many = static_cast<uint32_t *>(malloc(max_n * 4));
    gpu_fill(SCAN_U32, GPU_RANDOM, many, max_n, 77);
    for (size_t b = 0; b < COUNT(blocks); b++) {
        const size_t square = blocks[b].section * blocks[b].section;
        const size_t sizes[] = {square - 1, square, square + 1, square + blocks[b].section + 1};
        for (size_t k = 0; k < COUNT(sizes); k++)
            check_by_name(SCAN_GRID_HIERARCHICAL, blocks[b].block, many, sizes[k]);
    }
    free(many);
}

/* The last block's total is read past the end of the array, and is not the total. */
static void test_defect_8_total_read_back(void **state) {
    (void)state;
    gpu_need();
    enum { N = 90, THREADS = 32, ROOM = 96 };
    double a[ROOM], s[5], last = 0;
    for (unsigned i = 0; i < ROOM; i++)
        a[i] = i < N ? double(i * i % 17) + 1 : 1e6; /* what happens to lie behind the array */
    for (unsigned i = 64; i < N; i++)
        last += a[i];
    void *at = gpu_put(&d_in, a, ROOM, 8, 0);
    void *sums = gpu_put(&d_sums, a, 5, 8, 0);
    uint64_t n = N;
    void *arguments[] = {&at, &sums, &n};
    direct_launch(address(listings::reads_the_total_back), 3, THREADS, arguments, THREADS * 8);
    gpu_get(&d_sums, s);
    assert_true(s[3] == 1e6 && s[3] != last);

    uint32_t x[N], got[3], total = 0, *shipped;
    gpu_fill(SCAN_U32, GPU_RANDOM, x, N, 8);
    for (unsigned i = 64; i < N; i++)
        total += x[i];
    scan_sections<kogge_stone>(x, N, THREADS, 3, &shipped);
    gpu_get(&d_sums, got);
    assert_int_equal(got[2], total);
    for (int block = SCAN_BLOCK_KOGGE_STONE; scan_block_name(scan_block(block)); block++)
        for (size_t m = 1; m <= N; m += 13)
            check_by_name(SCAN_GRID_HOST_SUMS, scan_block(block), x, m);
}

/* ---- for compute-sanitizer (tools/gpu_check): the numbers are those of the defects ------------------------------- */

static void run_bare(const void *kernel) {
    enum { THREADS = 64 };
    uint32_t x[2 * THREADS];
    gpu_fill(SCAN_U32, GPU_RANDOM, x, 2 * THREADS, 1);
    void *from = gpu_put(&d_in, x, 2 * THREADS, 4, 0), *to = gpu_put(&d_out, NULL, 2 * THREADS, 4, 0);
    void *arguments[] = {&from, &to};
    direct_launch(kernel, 2, THREADS, arguments, THREADS * 4);
}

static void run_shipped(void) {
    uint32_t x[5000];
    gpu_fill(SCAN_U32, GPU_RANDOM, x, COUNT(x), 1);
    for (int grid = SCAN_GRID_HOST_SUMS; grid <= SCAN_GRID_HIERARCHICAL; grid++)
        for (int block = SCAN_BLOCK_KOGGE_STONE; scan_block_name(scan_block(block)); block++)
            check_by_name(scan_grid(grid), scan_block(block), x, COUNT(x));
}

static void test_defect_1_listing_races(void **state) {
    (void)state;
    gpu_need();
    run_bare(address(listings::one_buffer));
}

static void test_defect_2_listing_diverges(void **state) {
    (void)state;
    gpu_need();
    run_bare(address(listings::own_number_of_barriers));
}

static void test_defect_1_shipped_does_not(void **state) {
    (void)state;
    gpu_need();
    run_shipped();
}

static void test_defect_2_shipped_does_not(void **state) {
    (void)state;
    gpu_need();
    run_shipped();
}

int main(int argc, char **argv) {
    static const gpu_test tests[] = {
        GPU_TEST(GPU_LISTING, test_defect_1_listing_races),
        GPU_TEST(GPU_LISTING, test_defect_1_shipped_does_not),
        GPU_TEST(GPU_LISTING, test_defect_2_listing_diverges),
        GPU_TEST(GPU_LISTING, test_defect_2_shipped_does_not),
        GPU_TEST(GPU_MATRIX | GPU_SMALL, test_defect_3_writes_past_the_end),
        GPU_TEST(GPU_MATRIX | GPU_SMALL, test_defect_4_bounds_of_the_block),
        GPU_TEST(GPU_MATRIX | GPU_SMALL, test_defect_5_sums_are_written_and_counted),
        GPU_TEST(GPU_MATRIX | GPU_SMALL, test_defect_6_own_sum),
        GPU_TEST(GPU_MATRIX | GPU_SMALL, test_defect_7_more_sums_than_one_section),
        GPU_TEST(GPU_MATRIX | GPU_SMALL, test_defect_8_total_read_back),
    };
    return gpu_main("gpu_defects", tests, COUNT(tests), argc, argv);
}
