/* SPDX-License-Identifier: MIT
 *
 * The CUDA prefix scans against the CPU backend, which has its own oracles (tests/unit/test_prefix*.c). Single-pass
 * scans must give the same bits for every type; teaching grids for integers, and for floats the same bits from run to
 * run. Skipped aloud where no device answers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "scan/lists.h"

static scan_ctx *gpu, *cpu;

static int open_contexts(void **state) {
    (void)state;
    static char detail[256];
    scan_options options = {
        .struct_size = sizeof options, .backend = SCAN_BACKEND_CUDA, .detail = detail, .detail_bytes = sizeof detail};
    scan_status status = scan_ctx_create(&gpu, &options);
    if (status != SCAN_OK && status != SCAN_ERR_NO_BACKEND)
        fail_msg("%s", detail);
    if (status == SCAN_ERR_NO_BACKEND)
        printf("skipped: %s\n", detail);
    return scan_ctx_create(&cpu, NULL);
}

static int close_contexts(void **state) {
    (void)state;
    scan_ctx_destroy(gpu);
    scan_ctx_destroy(cpu);
    return 0;
}

static uint64_t mix(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* Elements whose sums and products show every misplaced operand; for min and max some NaN and both zeros. */
static void fill(void *data, scan_type type, scan_op op, size_t n, uint64_t seed) {
    for (size_t i = 0; i < n; i++) {
        uint64_t z = mix(seed * 0x9e3779b97f4a7c15u + i);
        double f = op == SCAN_MUL ? 1 + ((double)(z >> 44) - 524288) * 1e-9 : (double)(z >> 40) * 1e-3 - 8000;
        if (op >= SCAN_MIN && z % 5 == 0)
            f = z & 64 ? 0.0 : -0.0;
        if (op >= SCAN_MIN && i > n / 2 && z % 10007 == 0)
            f = -__builtin_nan("");
        switch (scan_type_size(type)) {
        case 1: ((uint8_t *)data)[i] = (uint8_t)z; break;
        case 2: ((uint16_t *)data)[i] = (uint16_t)z; break;
        case 4:
            if (type == SCAN_F32)
                ((float *)data)[i] = (float)f;
            else
                ((uint32_t *)data)[i] = (uint32_t)z;
            break;
        default:
            if (type == SCAN_F64)
                ((double *)data)[i] = f;
            else
                ((uint64_t *)data)[i] = z;
        }
    }
}

enum { PAD = 256 };

typedef struct test_case {
    scan_prefix_desc desc;
    size_t n, in_offset, out_offset; /* offsets in elements */
    bool in_place;
    size_t piece; /* 0: one call */
} test_case;

static void run_pieces(scan_ctx *ctx, const test_case *c, const char *in, char *out, void *carry) {
    size_t in_size = scan_type_size(c->desc.type), out_size = scan_type_size(c->desc.out_type);
    for (size_t done = 0; done < c->n;) {
        size_t m = c->piece && c->n - done > c->piece ? c->piece : c->n - done;
        size_t at = c->desc.reverse ? c->n - done - m : done;
        scan_prefix_desc desc = c->desc;
        if (c->piece) {
            desc.carry_in = done ? carry : NULL;
            desc.carry_out = carry;
            if (done)
                desc.init = NULL;
        }
        scan_status status = scan_prefix(ctx, &desc, in + at * in_size, out + at * out_size, m);
        if (status != SCAN_OK)
            fail_msg("%s: %s", scan_status_string(status), scan_ctx_detail(ctx));
        done += m;
    }
}

static char *d_in, *d_out;
static void *d_carry;

static void check(const test_case *c) {
    size_t in_size = scan_type_size(c->desc.type), out_size = scan_type_size(c->desc.out_type);
    size_t in_bytes = c->n * in_size, out_bytes = c->n * out_size;
    char *in = malloc(in_bytes + 1), *want = malloc(out_bytes + 1), *got = malloc(out_bytes + 2 * PAD);
    char carry[SCAN_CARRY_BYTES] __attribute__((aligned(8)));
    fill(in, c->desc.type, c->desc.op, c->n, c->n);
    test_case on_cpu = *c;
    on_cpu.desc.algorithm = (scan_algorithm){0};
    run_pieces(cpu, &on_cpu, in, want, carry);

    char *to = c->in_place ? d_in + PAD + c->in_offset * in_size : d_out + PAD + c->out_offset * out_size;
    memset(got, 0xee, out_bytes + 2 * PAD);
    assert_int_equal(scan_upload(gpu, d_in + PAD + c->in_offset * in_size, in, in_bytes), SCAN_OK);
    if (!c->in_place)
        assert_int_equal(scan_upload(gpu, to - PAD, got, out_bytes + 2 * PAD), SCAN_OK);
    assert_int_equal(scan_ctx_sync(gpu), SCAN_OK);
    run_pieces(gpu, c, d_in + PAD + c->in_offset * in_size, to, d_carry);
    assert_int_equal(scan_download(gpu, got, to - PAD, out_bytes + 2 * PAD), SCAN_OK);
    assert_int_equal(scan_ctx_sync(gpu), SCAN_OK);
    bool same_order = c->desc.algorithm.grid == SCAN_GRID_AUTO || c->desc.algorithm.grid == SCAN_GRID_LOOKBACK ||
                      c->desc.algorithm.grid == SCAN_GRID_WAVE || c->desc.op >= SCAN_MIN ||
                      (c->desc.out_type != SCAN_F32 && c->desc.out_type != SCAN_F64);
    if (same_order)
        for (size_t i = 0; i < c->n; i++)
            if (memcmp(got + PAD + i * out_size, want + i * out_size, out_size))
                fail_msg("%s->%s %s kind %d reverse %u init %d n %zu offsets %zu %zu in place %d piece %zu %s/%s: "
                         "element %zu",
                         scan_type_name(c->desc.type), scan_type_name(c->desc.out_type), scan_op_name(c->desc.op),
                         (int)c->desc.kind, c->desc.reverse, c->desc.init != NULL, c->n, c->in_offset, c->out_offset,
                         c->in_place, c->piece, scan_grid_name(c->desc.algorithm.grid),
                         scan_block_name(c->desc.algorithm.block), i);
    if (!c->in_place)
        for (size_t i = 0; i < PAD; i++) {
            assert_int_equal((unsigned char)got[i], 0xee);
            assert_int_equal((unsigned char)got[PAD + out_bytes + i], 0xee);
        }
    free(in);
    free(want);
    free(got);
}

static void matrix(scan_algorithm algorithm, const size_t *sizes, size_t size_count, bool carries) {
    static const struct {
        scan_type in, out;
    } pairs[] = {
#define ROW(ENUM, name, ctype) {SCAN_##ENUM, SCAN_##ENUM},
        SCAN_TYPES(ROW)
#undef ROW
#define ROW(ENUM, name, ctype, WIDE, wname, wtype) {SCAN_##ENUM, SCAN_##WIDE},
            SCAN_WIDENINGS(ROW)
#undef ROW
    };
    scan_value one = {.u = 0x3ff8000040490fdbu}; /* a value of every type */
    uint64_t turn = 0;
    for (size_t p = 0; p < sizeof pairs / sizeof pairs[0]; p++)
        for (int op = 0; op < SCAN_OP_COUNT; op++)
            for (size_t s = 0; s < size_count; s++)
                for (unsigned variant = 0; variant < 2; variant++) {
                    uint64_t z = mix(++turn);
                    test_case c = {.desc = {.struct_size = sizeof c.desc,
                                            .type = pairs[p].in,
                                            .out_type = pairs[p].out,
                                            .op = (scan_op)op,
                                            .kind = (scan_kind)(z >> 40 & 1),
                                            .reverse = z >> 41 & 1,
                                            .algorithm = algorithm,
                                            .init = z & 1 ? &one : NULL},
                                   .n = sizes[s]};
                    if (z & 2) {
                        c.in_offset = z >> 8 & 15;
                        c.out_offset = z >> 12 & 15;
                    }
                    c.in_place = (z & 12) == 12 && scan_type_size(pairs[p].in) == scan_type_size(pairs[p].out);
                    if (carries)
                        c.piece = 1 + z % (z & 16 ? 50000 : 3000);
                    check(&c);
                }
}

static const size_t small_sizes[] = {1,    2,    3,    17,   64,   127,  128,  129,  1000, 1023,  1024, 1025,
                                     2047, 2048, 2049, 4095, 4096, 4097, 8191, 8192, 8193, 20000, 65537};
static const size_t large_sizes[] = {262143, 262145};

static void need_gpu(void) {
    if (!gpu)
        skip();
    if (!d_in) {
        assert_int_equal(scan_malloc(gpu, 64 << 20, (void **)&d_in), SCAN_OK);
        assert_int_equal(scan_malloc(gpu, 64 << 20, (void **)&d_out), SCAN_OK);
        assert_int_equal(scan_malloc(gpu, SCAN_CARRY_BYTES, &d_carry), SCAN_OK);
    }
}

#define COUNT(a) (sizeof(a) / sizeof(a)[0])
#define GRID_TEST(name, grid, block)                                                                                   \
    static void name(void **state) {                                                                                   \
        (void)state;                                                                                                   \
        need_gpu();                                                                                                    \
        matrix((scan_algorithm){grid, block}, small_sizes, COUNT(small_sizes), false);                                 \
        matrix((scan_algorithm){grid, block}, large_sizes, COUNT(large_sizes), false);                                 \
    }
GRID_TEST(automatic, SCAN_GRID_AUTO, SCAN_BLOCK_AUTO)
GRID_TEST(look_back, SCAN_GRID_LOOKBACK, SCAN_BLOCK_WARP)
GRID_TEST(wave, SCAN_GRID_WAVE, SCAN_BLOCK_WARP)
GRID_TEST(hierarchical_kogge_stone, SCAN_GRID_HIERARCHICAL, SCAN_BLOCK_KOGGE_STONE)
GRID_TEST(hierarchical_brent_kung, SCAN_GRID_HIERARCHICAL, SCAN_BLOCK_BRENT_KUNG)
GRID_TEST(hierarchical_warp, SCAN_GRID_HIERARCHICAL, SCAN_BLOCK_WARP)
GRID_TEST(host_sums_kogge_stone, SCAN_GRID_HOST_SUMS, SCAN_BLOCK_KOGGE_STONE)
GRID_TEST(host_sums_brent_kung, SCAN_GRID_HOST_SUMS, SCAN_BLOCK_BRENT_KUNG)
GRID_TEST(host_sums_warp, SCAN_GRID_HOST_SUMS, SCAN_BLOCK_WARP)

static void pieces(void **state) {
    (void)state;
    need_gpu();
    static const size_t sizes[] = {1, 100, 5000, 33000, 140000};
    matrix((scan_algorithm){SCAN_GRID_LOOKBACK, 0}, sizes, COUNT(sizes), true);
    matrix((scan_algorithm){SCAN_GRID_WAVE, 0}, sizes, COUNT(sizes), true);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(automatic),
        cmocka_unit_test(look_back),
        cmocka_unit_test(wave),
        cmocka_unit_test(hierarchical_kogge_stone),
        cmocka_unit_test(hierarchical_brent_kung),
        cmocka_unit_test(hierarchical_warp),
        cmocka_unit_test(host_sums_kogge_stone),
        cmocka_unit_test(host_sums_brent_kung),
        cmocka_unit_test(host_sums_warp),
        cmocka_unit_test(pieces),
    };
    return cmocka_run_group_tests_name("gpu_prefix", tests, open_contexts, close_contexts);
}
