/* SPDX-License-Identifier: MIT
 *
 * scan_prefix around 2^27, 2^31 and 2^32 elements, every grid and block. The input is a function of the index, made on
 * the device, and the output is checked there: a scan is right exactly if its first element is and every next one is
 * the one before it and its element under the operator. Float sums are compared with the CPU backend, piece by piece.
 */
#include "large.cuh"
#include "prefix_reference.h"

/* ---- the input, and the check ------------------------------------------------------------------------------------ */

/* Element i: any integer, odd where products must not die out; floats in [-1, 1). */
template <class I> static __host__ __device__ I element(uint64_t i, bool odd) {
    const uint64_t bits = mixed_bits(i);
    if constexpr (I(0.5) != I(0))
        return I(double(int64_t(bits) >> 40) * 0x1p-23);
    else
        return I(bits | odd);
}

template <class T> static __device__ T combine(int op, T a, T b) {
    switch (op) {
    case SCAN_ADD: return T(a + b);
    case SCAN_MUL: return T(a * b);
    case SCAN_MIN: return a < b ? a : b;
    case SCAN_MAX: return a < b ? b : a;
    default: break;
    }
    if constexpr (T(0.5) == T(0))
        return op == SCAN_XOR ? T(a ^ b) : op == SCAN_AND ? T(a & b) : T(a | b);
    else
        return T(NAN);
}

template <class I> static __global__ void fill_kernel(I *in, uint64_t n, bool odd) {
    FOR_EACH_BELOW(i, n)
    in[i] = element<I>(i, odd);
}

/* *wrong: the lowest position (from the scan's start) whose output is not what its neighbour demands. */
template <class I, class T>
static __global__ void check_kernel(const T *out, uint64_t n, int op, bool exclusive, bool reverse, T first,
                                    unsigned long long *wrong) {
    FOR_EACH_BELOW(p, n) {
        const uint64_t i = reverse ? n - 1 - p : p, before = reverse ? i + 1 : i - 1;
        T want = p ? out[before] : first;
        if (!exclusive || p)
            want = combine<T>(op, want, T(element<I>(exclusive ? before : i, op == SCAN_MUL)));
        if (out[i] != want)
            atomicMin(wrong, (unsigned long long)p);
    }
}

struct large_type {
    scan_type type, out_type;
    const void *fill, *check;
};

#define ROW(IN, in_type, OUT, out_type)                                                                                \
    {                                                                                                                  \
        SCAN_##IN, SCAN_##OUT, scan_cuda::address(fill_kernel<in_type>),                                               \
            scan_cuda::address(check_kernel<in_type, out_type>)                                                        \
    }
static const large_type u8 = ROW(U8, uint8_t, U8, uint8_t), u8_u64 = ROW(U8, uint8_t, U64, uint64_t),
                        i16 = ROW(I16, int16_t, I16, int16_t), u32 = ROW(U32, uint32_t, U32, uint32_t),
                        f32 = ROW(F32, float, F32, float), u64 = ROW(U64, uint64_t, U64, uint64_t);
#undef ROW

/* ---- one case ---------------------------------------------------------------------------------------------------- */

struct large_case {
    const large_type *type;
    scan_op op;
    scan_kind kind;
    bool reverse, in_place;
};

/* Each type once on a multiple of its alignment and once off it is not the matter here: counts are. */
static const large_case cases[] = {
    {&u8, SCAN_ADD, SCAN_INCLUSIVE, false, true},   {&u8_u64, SCAN_ADD, SCAN_EXCLUSIVE, false, false},
    {&u32, SCAN_ADD, SCAN_INCLUSIVE, true, false},  {&u64, SCAN_MUL, SCAN_EXCLUSIVE, true, true},
    {&i16, SCAN_MIN, SCAN_INCLUSIVE, false, true},  {&f32, SCAN_MAX, SCAN_EXCLUSIVE, false, true},
    {&u64, SCAN_ADD, SCAN_INCLUSIVE, false, false}, {&u32, SCAN_XOR, SCAN_EXCLUSIVE, true, false},
};

/* The fold of nothing, as exclusive scans show it, in the case's accumulator type. */
static void identity_of(const large_case *c, void *bits) {
    scan_prefix_desc d = {};
    d.type = d.out_type = c->type->out_type;
    d.op = c->op;
    uint64_t x = prefix_integer_identity(&d);
    float lowest = -INFINITY;
    memcpy(bits, c->type->out_type == SCAN_F32 ? static_cast<void *>(&lowest) : &x, scan_type_size(d.out_type));
}

static void say_case(char *text, size_t bytes, const large_case *c, scan_algorithm a, uint64_t n) {
    snprintf(text, bytes, "%s->%s %s %s%s, %s/%s, n = %llu", scan_type_name(c->type->type),
             scan_type_name(c->type->out_type), scan_op_name(c->op), c->kind ? "exclusive" : "inclusive",
             c->reverse ? " reverse" : "", scan_grid_name(a.grid), scan_block_name(a.block), (unsigned long long)n);
}

/* False if the device has not the memory. */
static bool check_large(const large_case *c, scan_algorithm algorithm, uint64_t n) {
    const size_t in_size = scan_type_size(c->type->type), size = scan_type_size(c->type->out_type);
    char text[128];
    say_case(text, sizeof text, c, algorithm, n);
    char *in = static_cast<char *>(allocate(n * in_size + GPU_ZONE));
    char *out = c->in_place || !in ? in : static_cast<char *>(allocate(n * size + GPU_ZONE));
    auto *d_wrong = static_cast<unsigned long long *>(out ? allocate(8) : NULL);
    if (d_wrong) {
        bool odd = c->op == SCAN_MUL, exclusive = c->kind, reverse = c->reverse;
        void *fill_arguments[] = {&in, &n, &odd};
        launch(c->type->fill, fill_arguments);
        put_zone(out + n * size);

        scan_prefix_desc d = {};
        d.struct_size = sizeof d;
        d.type = c->type->type;
        d.out_type = c->type->out_type;
        d.op = c->op;
        d.kind = c->kind;
        d.reverse = c->reverse;
        d.algorithm = algorithm;
        scan_status status = scan_prefix(ctx, &d, in, out, n);
        if (status != SCAN_OK)
            fail_msg("%s: %s", text, scan_ctx_detail(ctx));

        unsigned long long wrong = ~0ull;
        uint64_t first = 0;
        identity_of(c, &first);
        int op = c->op;
        assert_int_equal(scan_upload(ctx, d_wrong, &wrong, 8), SCAN_OK);
        void *check_arguments[] = {&out, &n, &op, &exclusive, &reverse, &first, &d_wrong};
        launch(c->type->check, check_arguments);
        assert_int_equal(scan_download(ctx, &wrong, d_wrong, 8), SCAN_OK);
        if (scan_ctx_sync(ctx) != SCAN_OK)
            fail_msg("%s: %s", text, scan_ctx_detail(ctx));
        if (wrong != ~0ull)
            fail_msg("%s: position %llu", text, wrong);
        if (!zone_is_red(out + n * size))
            fail_msg("%s: written past its end", text);
    }
    scan_free(ctx, d_wrong);
    if (out != in)
        scan_free(ctx, out);
    scan_free(ctx, in);
    return d_wrong != NULL;
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

static bool serves(scan_algorithm a) {
    scan_prefix_desc d = {};
    d.struct_size = sizeof d;
    d.type = SCAN_U32;
    d.algorithm = a;
    return scan_prefix(ctx, &d, NULL, NULL, 0) == SCAN_OK;
}

/* Every grid with every block it takes; a block of AUTO adds nothing. */
static void check_size(uint64_t n) {
    gpu_need();
    open_stream();
    unsigned turn = 0, left_out = 0;
    for (int grid = 0; scan_grid_name(scan_grid(grid)); grid++)
        for (int block = grid == SCAN_GRID_AUTO ? 0 : 1; scan_block_name(scan_block(block)); block++) {
            const scan_algorithm a = {scan_grid(grid), scan_block(block)};
            if (!serves(a))
                continue;
            turn++;
            for (unsigned k = 0; k < sizeof cases / sizeof cases[0]; k++)
                if (!gpu_is_small || (k + turn) % 3 == 0)
                    left_out += !check_large(&cases[k], a, n);
        }
    if (left_out)
        print_message("left out for want of device memory: %u cases of %llu elements\n", left_out,
                      (unsigned long long)n);
    close_stream();
}

SIZE_TEST(elements_20011, 20011) /* the test itself, where no large size can be had */
SIZE_TEST(elements_2_27_less_1, (1ull << 27) - 1)
SIZE_TEST(elements_2_27, 1ull << 27)
SIZE_TEST(elements_2_27_and_1, (1ull << 27) + 1)
SIZE_TEST(elements_2_31_less_1, (1ull << 31) - 1)
SIZE_TEST(elements_2_31, 1ull << 31)
SIZE_TEST(elements_2_31_and_1, (1ull << 31) + 1)
SIZE_TEST(elements_2_32_less_1, (1ull << 32) - 1)
SIZE_TEST(elements_2_32, 1ull << 32)
SIZE_TEST(elements_2_32_and_1, (1ull << 32) + 1)

/* The sum of more than 2^32 floats, bit for bit: both sides in pieces, so that the host needs little memory. */
static void float_sum(uint64_t n, scan_grid grid) {
    const uint64_t piece = gpu_is_small ? 7001 : 100000007;
    float *in = static_cast<float *>(allocate(n * 4)), *out = static_cast<float *>(allocate(n * 4));
    float *host_in = static_cast<float *>(malloc(piece * 4)), *want = static_cast<float *>(malloc(piece * 4)),
          *got = static_cast<float *>(malloc(piece * 4));
    alignas(8) char carry[SCAN_CARRY_BYTES];
    assert_true(host_in && want && got);
    if (!in || !out) {
        print_message("left out for want of device memory: a sum of %llu floats\n", (unsigned long long)n);
    } else {
        bool odd = false;
        void *fill_arguments[] = {&in, &n, &odd};
        launch(f32.fill, fill_arguments);
        scan_prefix_desc d = {};
        d.struct_size = sizeof d;
        d.type = SCAN_F32;
        d.algorithm.grid = grid;
        assert_int_equal(scan_prefix(ctx, &d, in, out, n), SCAN_OK);
        d.algorithm.grid = SCAN_GRID_AUTO;
        d.carry_out = carry;
        for (uint64_t done = 0, m; done < n; done += m) {
            m = n - done < piece ? n - done : piece;
            assert_int_equal(scan_download(ctx, host_in, in + done, m * 4), SCAN_OK);
            assert_int_equal(scan_download(ctx, got, out + done, m * 4), SCAN_OK);
            assert_int_equal(scan_ctx_sync(ctx), SCAN_OK);
            cpu_ok(scan_prefix(cpu, &d, host_in, want, m));
            d.carry_in = carry;
            const size_t wrong = gpu_first_difference(got, want, m, 4);
            if (wrong != m)
                fail_msg("%s: element %llu", scan_grid_name(grid), (unsigned long long)(done + wrong));
        }
    }
    free(host_in);
    free(want);
    free(got);
    scan_free(ctx, in);
    scan_free(ctx, out);
}

static void float_sums_beyond_2_32(void **state) {
    (void)state;
    gpu_need();
    open_stream();
    static const scan_grid grids[] = {SCAN_GRID_LOOKBACK, SCAN_GRID_WAVE};
    for (scan_grid grid : grids)
        if (serves({grid, SCAN_BLOCK_AUTO}))
            float_sum(gpu_is_small ? 30001 : (1ull << 32) + 1, grid);
    close_stream();
}

/* The check finds one element that is wrong, wherever it stands. */
static void the_check_finds_one_wrong_element(void **state) {
    (void)state;
    gpu_need();
    open_stream();
    const uint64_t n = 5000, places[] = {0, 1, 2499, 4999};
    uint32_t *in = static_cast<uint32_t *>(allocate(n * 4));
    auto *d_wrong = static_cast<unsigned long long *>(allocate(8));
    for (uint64_t place : places) {
        bool odd = false, exclusive = false, reverse = false;
        void *fill_arguments[] = {(void *)&in, (void *)&n, &odd};
        launch(u32.fill, fill_arguments);
        scan_prefix_desc d = {};
        d.struct_size = sizeof d;
        d.type = SCAN_U32;
        assert_int_equal(scan_prefix(ctx, &d, in, in, n), SCAN_OK);
        uint32_t x;
        assert_int_equal(scan_download(ctx, &x, in + place, 4), SCAN_OK);
        assert_int_equal(scan_ctx_sync(ctx), SCAN_OK);
        x ^= 1;
        assert_int_equal(scan_upload(ctx, in + place, &x, 4), SCAN_OK);
        unsigned long long wrong = ~0ull;
        uint32_t first = 0;
        int op = SCAN_ADD;
        assert_int_equal(scan_upload(ctx, d_wrong, &wrong, 8), SCAN_OK);
        void *check_arguments[] = {&in, (void *)&n, &op, &exclusive, &reverse, &first, &d_wrong};
        launch(u32.check, check_arguments);
        assert_int_equal(scan_download(ctx, &wrong, d_wrong, 8), SCAN_OK);
        assert_int_equal(scan_ctx_sync(ctx), SCAN_OK);
        assert_int_equal(wrong, place);
    }
    scan_free(ctx, d_wrong);
    scan_free(ctx, in);
    close_stream();
}

int main(int argc, char **argv) {
    static const gpu_test tests[] = {
        GPU_TEST(GPU_LARGE | GPU_SMALL, the_check_finds_one_wrong_element),
        GPU_TEST(GPU_SMALL, elements_20011),
        GPU_TEST(GPU_LARGE, elements_2_27_less_1),
        GPU_TEST(GPU_LARGE, elements_2_27),
        GPU_TEST(GPU_LARGE, elements_2_27_and_1),
        GPU_TEST(GPU_LARGE, elements_2_31_less_1),
        GPU_TEST(GPU_LARGE, elements_2_31),
        GPU_TEST(GPU_LARGE, elements_2_31_and_1),
        GPU_TEST(GPU_LARGE, elements_2_32_less_1),
        GPU_TEST(GPU_LARGE, elements_2_32),
        GPU_TEST(GPU_LARGE, elements_2_32_and_1),
        GPU_TEST(GPU_LARGE | GPU_SMALL, float_sums_beyond_2_32),
    };
    return gpu_main("gpu_prefix_large", tests, sizeof tests / sizeof tests[0], argc, argv);
}
