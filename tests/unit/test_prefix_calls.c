/* SPDX-License-Identifier: MIT
 *
 * scan_prefix as a call: what it refuses, carries of associative operators, n_device, workspace, what it says it ran.
 */
#include <stdio.h>

#include "prefix_support.h"

static scan_ctx *ctx;

static int create(void **state) {
    (void)state;
    ctx = context_with_threads(2);
    return 0;
}

static int destroy(void **state) {
    (void)state;
    scan_ctx_destroy(ctx);
    return 0;
}

/* ---- refusals ---------------------------------------------------------------------------------------------------- */

enum { N = 64 };
static uint64_t in[N], out[N], carry_a[SCAN_CARRY_BYTES / 8], carry_b[SCAN_CARRY_BYTES / 8];

static scan_prefix_desc u32_sum(void) {
    return (scan_prefix_desc){.struct_size = sizeof(scan_prefix_desc), .type = SCAN_U32};
}

/* The call fails with this status, says why, and leaves the output alone. */
static void refuses(const scan_prefix_desc *d, const void *from, void *to, size_t n, scan_status status) {
    memset(out, 0x5a, sizeof out);
    assert_int_equal(scan_prefix(ctx, d, from, to, n), status);
    assert_true(strlen(scan_ctx_detail(ctx)) > 0);
    for (size_t i = 0; i < sizeof out; i++)
        assert_int_equal(((unsigned char *)out)[i], 0x5a);
}

static void descriptors(void **state) {
    (void)state;
    const uint32_t init = 1;
    refuses(NULL, in, out, 4, SCAN_ERR_ARGUMENT);
    assert_int_equal(scan_prefix(NULL, &(scan_prefix_desc){0}, in, out, 4), SCAN_ERR_ARGUMENT);
#define REFUSE(status, ...)                                                                                            \
    do {                                                                                                               \
        scan_prefix_desc d = u32_sum();                                                                                \
        __VA_ARGS__;                                                                                                   \
        refuses(&d, in, out, 4, status);                                                                               \
        refuses(&d, NULL, NULL, 0, status);                                                                            \
    } while (0)
    REFUSE(SCAN_ERR_VERSION, d.struct_size = 0);
    REFUSE(SCAN_ERR_VERSION, d.struct_size -= 4);
    REFUSE(SCAN_ERR_TYPE, d.type = SCAN_TYPE_NONE);
    REFUSE(SCAN_ERR_TYPE, d.type = (scan_type)11);
    REFUSE(SCAN_ERR_TYPE, d.out_type = (scan_type)-1);
    REFUSE(SCAN_ERR_TYPE, d.out_type = SCAN_I32);
    REFUSE(SCAN_ERR_TYPE, d.out_type = SCAN_U16);
    REFUSE(SCAN_ERR_TYPE, d.out_type = SCAN_F64);
    REFUSE(SCAN_ERR_ARGUMENT, d.op = (scan_op)SCAN_OP_COUNT);
    REFUSE(SCAN_ERR_ARGUMENT, d.kind = (scan_kind)2);
    REFUSE(SCAN_ERR_ARGUMENT, d.reverse = 2);
    REFUSE(SCAN_ERR_ARGUMENT, d.algorithm.grid = (scan_grid)6);
    REFUSE(SCAN_ERR_ARGUMENT, d.algorithm.block = (scan_block)4);
    REFUSE(SCAN_ERR_ALGORITHM, d.algorithm.grid = SCAN_GRID_WAVE);
    REFUSE(SCAN_ERR_ALGORITHM, d.algorithm.grid = SCAN_GRID_LOOKBACK);
    REFUSE(SCAN_ERR_ALGORITHM, d.algorithm.block = SCAN_BLOCK_WARP);
    REFUSE(SCAN_ERR_ALGORITHM, d.algorithm = ((scan_algorithm){SCAN_GRID_BLOCKED, SCAN_BLOCK_KOGGE_STONE}));
    REFUSE(SCAN_ERR_ARGUMENT, d.init = &init; d.carry_in = carry_a);
    REFUSE(SCAN_ERR_ALIGNMENT, d.carry_out = (char *)carry_a + 4);
    REFUSE(SCAN_ERR_ALIGNMENT, d.carry_in = (char *)carry_a + 4);
    REFUSE(SCAN_ERR_ALIGNMENT, d.n_device = (const uint64_t *)((char *)carry_a + 4));
    REFUSE(SCAN_ERR_OVERLAP, d.carry_in = carry_a; d.carry_out = carry_a + 1);
    memset(carry_a, 0, sizeof carry_a);
    REFUSE(SCAN_ERR_ARGUMENT, d.carry_in = carry_a); /* no call left this */
#undef REFUSE
}

/* Pairs outside the list of widenings, all of them. */
static void pairs(void **state) {
    (void)state;
    bool good[SCAN_TYPE_COUNT + 1][SCAN_TYPE_COUNT + 1] = {{false}};
    for (int t = 1; t <= SCAN_TYPE_COUNT; t++)
        good[t][t] = true;
#define ROW(ENUM, name, ctype, WIDE, wide_name, wide_ctype, ...) good[SCAN_##ENUM][SCAN_##WIDE] = true;
    SCAN_WIDENINGS(ROW)
#undef ROW
    for (int t = 1; t <= SCAN_TYPE_COUNT; t++)
        for (int o = 1; o <= SCAN_TYPE_COUNT; o++) {
            scan_prefix_desc d = {.struct_size = sizeof d, .type = (scan_type)t, .out_type = (scan_type)o};
            scan_status status = scan_prefix(ctx, &d, in, out, 4);
            size_t bytes;
            assert_int_equal(status, good[t][o] ? SCAN_OK : SCAN_ERR_TYPE);
            assert_int_equal(scan_prefix_workspace(ctx, &d, 4, &bytes), status);
        }
}

/* Every operator takes every type, but for floats under xor, and, or. */
static void operators(void **state) {
    (void)state;
    for (int type = 1; type <= SCAN_TYPE_COUNT; type++)
        for (int op = 0; op < SCAN_OP_COUNT; op++) {
            scan_prefix_desc d = {.struct_size = sizeof d, .type = (scan_type)type, .op = (scan_op)op};
            bool takes = !type_is_float(d.type) || !is_bitwise(d.op);
            size_t bytes;
            assert_int_equal(scan_op_takes(d.op, d.type), takes);
            assert_int_equal(scan_prefix_workspace(ctx, &d, 4, &bytes), takes ? SCAN_OK : SCAN_ERR_TYPE);
            if (takes) {
                assert_int_equal(scan_prefix(ctx, &d, in, out, 4), SCAN_OK);
                continue;
            }
            refuses(&d, in, out, 4, SCAN_ERR_TYPE);
            refuses(&d, NULL, NULL, 0, SCAN_ERR_TYPE);
            d.out_type = SCAN_F64;
            refuses(&d, in, out, 4, SCAN_ERR_TYPE);
        }
    assert_false(scan_op_takes(SCAN_ADD, SCAN_TYPE_NONE));
    assert_false(scan_op_takes((scan_op)SCAN_OP_COUNT, SCAN_U8));
    assert_false(scan_op_takes((scan_op)-1, SCAN_U8));
}

static void arrays(void **state) {
    (void)state;
    scan_prefix_desc d = u32_sum();
    uint32_t *in32 = (uint32_t *)in, *out32 = (uint32_t *)out;
    refuses(&d, NULL, out, 4, SCAN_ERR_ARGUMENT);
    refuses(&d, in, NULL, 4, SCAN_ERR_ARGUMENT);
    refuses(&d, (char *)in + 1, out, 4, SCAN_ERR_ALIGNMENT);
    refuses(&d, in, (char *)out + 2, 4, SCAN_ERR_ALIGNMENT);
    refuses(&d, in, out, SIZE_MAX / 4, SCAN_ERR_ARGUMENT);
    refuses(&d, in, out, SIZE_MAX, SCAN_ERR_ARGUMENT);
    refuses(&d, out32, out32 + 1, 4, SCAN_ERR_OVERLAP);
    refuses(&d, out32 + 3, out32, 4, SCAN_ERR_OVERLAP);
    assert_int_equal(scan_prefix(ctx, &d, out32 + 4, out32, 4), SCAN_OK);
    assert_int_equal(scan_prefix(ctx, &d, in32, in32, 4), SCAN_OK);
    d.carry_out = out + 2;
    refuses(&d, in, out, 5, SCAN_ERR_OVERLAP);
    d.carry_out = NULL;
    d.n_device = out + 1;
    refuses(&d, in, out, 3, SCAN_ERR_OVERLAP);
    d.n_device = NULL;
    d.out_type = SCAN_U64;
    refuses(&d, out, out, 4, SCAN_ERR_OVERLAP);
    d.type = SCAN_I32; /* same bytes, another type: not among the widenings */
    d.out_type = SCAN_U32;
    refuses(&d, in, out, 4, SCAN_ERR_TYPE);
}

/* A piece of no elements, whose pointers may be NULL, inside a tile: the carry stays as it is. */
static void a_piece_of_nothing(void **state) {
    (void)state;
    const float one = 1;
    float sum;
    uint64_t before[SCAN_CARRY_BYTES / 8], after[SCAN_CARRY_BYTES / 8];
    scan_prefix_desc d = {.struct_size = sizeof d, .type = SCAN_F32, .reverse = 1, .carry_out = before};
    assert_int_equal(scan_prefix(ctx, &d, &one, &sum, 1), SCAN_OK);
    d.carry_in = before;
    d.carry_out = after;
    assert_int_equal(scan_prefix(ctx, &d, NULL, NULL, 0), SCAN_OK);
    assert_memory_equal(before, after, sizeof before);
}

static void carries_of_other_calls(void **state) {
    (void)state;
    scan_prefix_desc d = u32_sum();
    d.carry_out = carry_a;
    assert_int_equal(scan_prefix(ctx, &d, in, out, 5), SCAN_OK);
    d.carry_out = NULL;
    d.carry_in = carry_a;
    assert_int_equal(scan_prefix(ctx, &d, in, out, 5), SCAN_OK);
    d.op = SCAN_MAX;
    refuses(&d, in, out, 5, SCAN_ERR_ARGUMENT);
    d = u32_sum(), d.carry_in = carry_a, d.kind = SCAN_EXCLUSIVE;
    refuses(&d, in, out, 5, SCAN_ERR_ARGUMENT);
    d = u32_sum(), d.carry_in = carry_a, d.reverse = 1;
    refuses(&d, in, out, 5, SCAN_ERR_ARGUMENT);
    d = u32_sum(), d.carry_in = carry_a, d.out_type = SCAN_U64;
    refuses(&d, in, out, 5, SCAN_ERR_ARGUMENT);
    d = u32_sum(), d.carry_in = carry_a, d.type = SCAN_F32;
    refuses(&d, in, out, 5, SCAN_ERR_ARGUMENT);
}

/* ---- carries ----------------------------------------------------------------------------------------------------- */

/* Pieces give what one call gives, and the carry begins with the last inclusive value. */
static void check_pieces(scan_type type, scan_type out_type, scan_op op, unsigned way) {
    if (type_is_float(type) && is_bitwise(op))
        return;
    enum { MAX_N = 3000 };
    static char from[MAX_N * 8], whole[MAX_N * 8], pieces[MAX_N * 8], folds[MAX_N * 8];
    uint64_t init, seed = (uint64_t)type * 1000 + (uint64_t)out_type * 100 + (uint64_t)op * 10 + way;
    size_t in_size = scan_type_size(type), size = scan_type_size(out_type), n = random_u64(&seed) % MAX_N;
    scan_prefix_desc d = {.struct_size = sizeof d,
                          .type = type,
                          .out_type = out_type,
                          .op = op,
                          .kind = way & 1 ? SCAN_EXCLUSIVE : SCAN_INCLUSIVE,
                          .reverse = way >> 1 & 1,
                          .init = way & 4 ? &init : NULL};
    fill_random(type, op, from, n, &seed);
    fill_random(out_type, op, &init, 1, &seed);
    assert_int_equal(scan_prefix(ctx, &d, from, whole, n), SCAN_OK);
    scan_prefix_desc inclusive = d;
    inclusive.kind = SCAN_INCLUSIVE;
    assert_int_equal(scan_prefix(ctx, &inclusive, from, folds, n), SCAN_OK);

    for (size_t done = 0, length; done < n; done += length) {
        size_t left = n - done;
        length = random_u64(&seed) % 200;
        length = length < left ? length : left;
        size_t at = d.reverse ? left - length : done;
        d.carry_out = carry_a;
        assert_int_equal(scan_prefix(ctx, &d, from + at * in_size, pieces + at * size, length), SCAN_OK);
        d.carry_in = carry_a;
        d.init = NULL;
        size_t last = d.reverse ? left - length : done + length - 1;
        if (done + length)
            assert_memory_equal(carry_a, folds + last * size, size);
    }
    assert_memory_equal(pieces, whole, n * size);
}

static void carries(void **state) {
    (void)state;
    for (unsigned way = 0; way < 8; way++)
        for (scan_op op = 0; op < (scan_op)SCAN_OP_COUNT; op++) {
#define ROW(ENUM, ...) check_pieces(SCAN_##ENUM, SCAN_##ENUM, op, way);
            SCAN_TYPES(ROW)
#undef ROW
#define ROW(ENUM, name, ctype, WIDE, wide_name, wide_ctype, ...) check_pieces(SCAN_##ENUM, SCAN_##WIDE, op, way);
            SCAN_WIDENINGS(ROW)
#undef ROW
        }
}

/* Nothing scanned: the carry shows the identity (+0 for a float sum) or init, and the next piece begins as if first. */
static void carries_of_nothing(void **state) {
    (void)state;
    for (unsigned way = 0; way < 4; way++) {
        const float init = -0.0F, x[3] = {-0.0F, 1, 2};
        float first = way & 1 ? -0.0F : 0.0F, y[3];
        scan_prefix_desc d = {.struct_size = sizeof d, .type = SCAN_F32, .carry_out = carry_a};
        d.init = way & 1 ? &init : NULL;
        d.kind = way & 2 ? SCAN_EXCLUSIVE : SCAN_INCLUSIVE;
        assert_int_equal(scan_prefix(ctx, &d, NULL, NULL, 0), SCAN_OK);
        assert_memory_equal(carry_a, &first, 4);
        d.init = NULL;
        d.carry_in = carry_a;
        d.carry_out = carry_b;
        assert_int_equal(scan_prefix(ctx, &d, NULL, NULL, 0), SCAN_OK);
        assert_memory_equal(carry_b, &first, 4);
        d.carry_in = carry_b;
        assert_int_equal(scan_prefix(ctx, &d, x, y, 3), SCAN_OK);
        const float inclusive[3] = {-0.0F, 1, 3}, exclusive[3] = {first, -0.0F, 1};
        assert_memory_equal(y, way & 2 ? exclusive : inclusive, sizeof y);
    }
    scan_prefix_desc d = {.struct_size = sizeof d, .type = SCAN_I16, .op = SCAN_MIN, .carry_out = carry_a};
    const int16_t identity = INT16_MAX;
    assert_int_equal(scan_prefix(ctx, &d, NULL, NULL, 0), SCAN_OK);
    assert_memory_equal(carry_a, &identity, 2);
}

/* ---- the rest ---------------------------------------------------------------------------------------------------- */

static void counts_in_memory(void **state) {
    (void)state;
    uint32_t x[10], y[10];
    for (uint32_t i = 0; i < 10; i++)
        x[i] = i * i + 1;
    for (uint64_t count = 0; count < 13; count++)
        for (uint32_t reverse = 0; reverse < 2; reverse++) {
            scan_prefix_desc d = u32_sum();
            size_t n = count < 10 ? (size_t)count : 10;
            uint32_t sum = 0;
            d.n_device = &count;
            d.reverse = reverse;
            memset(y, 0xee, sizeof y);
            assert_int_equal(scan_prefix(ctx, &d, x, y, 10), SCAN_OK);
            for (size_t p = 0; p < n; p++) {
                size_t i = reverse ? n - 1 - p : p;
                sum += x[i];
                assert_int_equal(y[i], sum);
            }
            for (size_t i = n; i < 10; i++)
                assert_int_equal(y[i], 0xeeeeeeee);
        }
}

static void workspace(void **state) {
    (void)state;
    scan_prefix_desc d = u32_sum();
    size_t bytes = 1;
    assert_int_equal(scan_prefix_workspace(ctx, &d, 1000, NULL), SCAN_ERR_ARGUMENT);
    assert_int_equal(scan_prefix_workspace(NULL, &d, 1000, &bytes), SCAN_ERR_ARGUMENT);
    assert_int_equal(scan_prefix_workspace(ctx, NULL, 1000, &bytes), SCAN_ERR_ARGUMENT);
    assert_int_equal(scan_prefix_workspace(ctx, &d, SIZE_MAX, &bytes), SCAN_OK);
    assert_true(bytes < 1 << 20);
}

static void what_ran(void **state) {
    (void)state;
    scan_prefix_desc d = u32_sum();
    d.algorithm.grid = SCAN_GRID_BLOCKED;
    assert_int_equal(scan_prefix(ctx, &d, in, out, 3), SCAN_OK);
    assert_true(strncmp(scan_ctx_ran(ctx), "blocked ", 8) == 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(descriptors),
        cmocka_unit_test(pairs),
        cmocka_unit_test(operators),
        cmocka_unit_test(arrays),
        cmocka_unit_test(carries_of_other_calls),
        cmocka_unit_test(a_piece_of_nothing),
        cmocka_unit_test(carries),
        cmocka_unit_test(carries_of_nothing),
        cmocka_unit_test(counts_in_memory),
        cmocka_unit_test(workspace),
        cmocka_unit_test(what_ran),
    };
    return cmocka_run_group_tests(tests, create, destroy);
}
