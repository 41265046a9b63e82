/* SPDX-License-Identifier: MIT
 *
 * scan_prefix on the device, every grid and block by name: every type, accumulator and operator, with kinds,
 * directions, initial values, addresses, counts on the device, in place and in pieces drawn at random, against the
 * serial loops of prefix_reference.h. Single-pass scans give the bits of the contract's order; teaching grids keep an
 * order of their own for float sums and products: near the true value, and the same bits from run to run.
 */
#include "prefix_reference.h"

static const struct {
    scan_type in, out;
} pairs[] = {
#define ROW(ENUM, ...) {SCAN_##ENUM, SCAN_##ENUM},
    SCAN_TYPES(ROW)
#undef ROW
#define ROW(ENUM, name, ctype, WIDE, wname, wtype, ...) {SCAN_##ENUM, SCAN_##WIDE},
        SCAN_WIDENINGS(ROW)
#undef ROW
};
enum { PAIRS = sizeof pairs / sizeof pairs[0] };

/* ---- one case ---------------------------------------------------------------------------------------------------- */

typedef struct prefix_case {
    scan_prefix_desc desc;
    gpu_shape shape;
    size_t n, bound; /* bound: the n of the call, more than n if the count is on the device */
    size_t in_offset, out_offset;
    bool in_place;
    size_t piece; /* 0: one call */
} prefix_case;

static void say(char *text, size_t bytes, const prefix_case *c) {
    const scan_prefix_desc *d = &c->desc;
    snprintf(text, bytes, "%s->%s %s, %s%s%s, %s/%s ran %s, n %zu of %zu, offsets %zu %zu%s, pieces of %zu, %s",
             scan_type_name(d->type), scan_type_name(d->out_type), scan_op_name(d->op),
             d->kind == SCAN_EXCLUSIVE ? "exclusive" : "inclusive", d->reverse ? ", reverse" : "",
             d->init ? ", init" : "", scan_grid_name(d->algorithm.grid), scan_block_name(d->algorithm.block),
             scan_ctx_ran(gpu), c->n, c->bound, c->in_offset, c->out_offset, c->in_place ? ", in place" : "", c->piece,
             gpu_shape_name(c->shape));
}

static bool is_teaching(scan_algorithm a) {
    return a.grid == SCAN_GRID_HOST_SUMS || a.grid == SCAN_GRID_HIERARCHICAL ||
           (a.grid == SCAN_GRID_AUTO && a.block != SCAN_BLOCK_AUTO && a.block != SCAN_BLOCK_WARP);
}

static gpu_array d_in, d_out, d_carry, d_count;

static void run_once(const prefix_case *c, const char *in, char *out) {
    gpu_ok(scan_prefix(gpu, &c->desc, in, out, c->bound));
}

/* The pieces of a reverse scan come from the last to the first. */
static void run_pieces(const prefix_case *c, const char *in, char *out) {
    const size_t in_size = scan_type_size(c->desc.type), size = scan_type_size(c->desc.out_type);
    scan_prefix_desc d = c->desc;
    d.carry_out = gpu_put(&d_carry, NULL, SCAN_CARRY_BYTES / 8, 8, 0);
    for (size_t done = 0, m; done < c->n; done += m) {
        m = c->n - done < c->piece ? c->n - done : c->piece;
        const size_t at = d.reverse ? c->n - done - m : done;
        gpu_ok(scan_prefix(gpu, &d, in + at * in_size, out + at * size, m));
        d.carry_in = d.carry_out;
        d.init = NULL;
    }
    gpu_get(&d_carry, NULL);
}

/* in: c->n elements and some more. */
static void run(const prefix_case *c, const char *in, char *got) {
    const size_t in_size = scan_type_size(c->desc.type), size = scan_type_size(c->desc.out_type);
    char *from = (char *)gpu_put(&d_in, in, c->bound, in_size, c->in_offset), *to = from;
    if (!c->in_place)
        to = (char *)gpu_put(&d_out, NULL, c->bound, size, c->out_offset);
    prefix_case with_count = *c;
    if (c->bound != c->n) {
        const uint64_t count = c->n;
        with_count.desc.n_device = (const uint64_t *)gpu_put(&d_count, &count, 1, 8, 0);
    }
    if (c->piece)
        run_pieces(&with_count, from, to);
    else
        run_once(&with_count, from, to);
    gpu_get(c->in_place ? &d_in : &d_out, got);
    if (!c->in_place)
        gpu_unchanged(&d_in, in);
}

static char *host_in, *want, *got, *again;
static size_t host_room;

static void make_room(size_t bytes) {
    if (bytes <= host_room)
        return;
    char **const all[] = {&host_in, &want, &got, &again};
    for (size_t i = 0; i < 4; i++) {
        free(*all[i]);
        assert_non_null(*all[i] = (char *)malloc(bytes));
    }
    host_room = bytes;
}

static void check_result(const prefix_case *c, const char *in) {
    const scan_prefix_desc *d = &c->desc;
    const size_t size = scan_type_size(d->out_type);
    char text[256];
    size_t wrong = c->n;
    run(c, in, got);
    if (is_teaching(d->algorithm) && prefix_rounds(d)) {
        const bool judge = c->shape <= GPU_SPARSE && (d->op == SCAN_ADD || c->shape == GPU_RANDOM);
        if (judge)
            wrong = prefix_far(d, got, in, c->n);
        run(c, in, again);
        if (wrong == c->n)
            wrong = gpu_first_difference(got, again, c->n, size);
    } else {
        prefix_reference(d, in, want, c->n);
        wrong = prefix_difference(d, got, want, c->n);
    }
    if (wrong != c->n) {
        say(text, sizeof text, c);
        fail_msg("%s: element %zu", text, wrong);
    }
    /* what lies between the count and the bound is not an output */
    const char *beyond = got + c->n * size;
    for (size_t i = 0; !c->in_place && i < (c->bound - c->n) * size; i++)
        if ((unsigned char)beyond[i] != GPU_ZONE_BYTE) {
            say(text, sizeof text, c);
            fail_msg("%s: byte %zu beyond the count was written", text, i);
        }
}

/* ---- the matrix -------------------------------------------------------------------------------------------------- */

/* A case of this size whose other traits are drawn from `random`. */
static prefix_case draw_case(size_t pair, scan_op op, scan_algorithm algorithm, gpu_shape shape, size_t n,
                             const void *init, uint64_t *random) {
    prefix_case c = {.desc = {.struct_size = sizeof c.desc,
                              .type = pairs[pair].in,
                              .out_type = pairs[pair].out,
                              .op = op,
                              .algorithm = algorithm},
                     .shape = shape,
                     .n = n,
                     .bound = n};
    c.desc.kind = (scan_kind)random_below(random, 2);
    c.desc.reverse = random_bool(random);
    c.desc.init = random_bool(random) ? init : NULL;
    if (random_below(random, 4)) { /* else both aligned */
        c.in_offset = random_below(random, 16);
        c.out_offset = random_below(random, 16);
    }
    c.in_place = random_below(random, 4) == 0 && scan_type_size(c.desc.type) == scan_type_size(c.desc.out_type);
    const uint64_t how = random_below(random, 4);
    const bool is_short = random_bool(random);
    if (how == 0 && !is_teaching(algorithm))
        c.piece = 1 + random_below(random, is_short ? n / 3 + 1 : n + 1);
    else if (how == 1)
        c.bound = n + random_below(random, is_short ? 40 : n + 40);
    return c;
}

static void check_sizes(size_t pair, scan_op op, scan_algorithm algorithm, const size_t *sizes, size_t count,
                        uint64_t *random) {
    const size_t most = scan_type_size(pairs[pair].out);
    for (size_t s = 0; s < count; s++)
        for (unsigned shape = 0; shape < GPU_SHAPE_COUNT; shape++) {
            const size_t n = sizes[s];
            /* large sizes, and small runs, take some shapes in turn */
            const unsigned every = gpu_is_small || n > 16384 ? GPU_SHAPE_COUNT : n > 4096 ? 4 : 1;
            const size_t turn = shape + s + pair + (size_t)op + (size_t)algorithm.grid + (size_t)algorithm.block;
            if (turn % every)
                continue;
            uint64_t init;
            prefix_fill(pairs[pair].out, op, GPU_RANDOM, &init, 1, random_u64(random));
            prefix_case c = draw_case(pair, op, algorithm, (gpu_shape)shape, n, &init, random);
            make_room((c.bound + 64) * most);
            prefix_fill(c.desc.type, op, c.shape, host_in, c.bound, n * 131 + shape);
            check_result(&c, host_in);
        }
}

/* Whether the library says that the pair of names can serve, which must be what scan.h says. */
static bool serves(scan_algorithm a) {
    scan_prefix_desc d = {.struct_size = sizeof d, .type = SCAN_U32, .algorithm = a};
    uint32_t x = 7;
    void *from = gpu_put(&d_in, &x, 1, 4, 0), *to = gpu_put(&d_out, NULL, 1, 4, 0);
    scan_status status = scan_prefix(gpu, &d, from, to, 1);
    const bool warp = a.block == SCAN_BLOCK_AUTO || a.block == SCAN_BLOCK_WARP;
    const bool single_pass = a.grid == SCAN_GRID_LOOKBACK || a.grid == SCAN_GRID_WAVE;
    const bool should = a.grid != SCAN_GRID_BLOCKED && (warp || !single_pass);
    if (a.grid == SCAN_GRID_WAVE && should && status == SCAN_ERR_ALGORITHM) {
        print_message("wave: %s\n", scan_ctx_detail(gpu)); /* before sm_80 */
        return false;
    }
    assert_int_equal(status, should ? SCAN_OK : SCAN_ERR_ALGORITHM);
    x = 0;
    gpu_get(&d_out, &x);
    assert_int_equal(x, should ? 7 : 0xeeeeeeee);
    return should;
}

/* Names that stand for another pair of names, by the choice of AUTO: some sizes are enough. */
static bool is_double(scan_algorithm a) { return (a.grid == SCAN_GRID_AUTO) != (a.block == SCAN_BLOCK_AUTO); }

/* Bitwise operators of floats. */
static void refused(size_t pair, scan_op op, scan_algorithm a) {
    const scan_prefix_desc d = {
        .struct_size = sizeof d, .type = pairs[pair].in, .out_type = pairs[pair].out, .op = op, .algorithm = a};
    uint64_t x = 7;
    void *from = gpu_put(&d_in, &x, 1, 8, 0), *to = gpu_put(&d_out, NULL, 1, 8, 0);
    assert_int_equal(scan_prefix(gpu, &d, from, to, 1), SCAN_ERR_TYPE);
    gpu_get(&d_out, &x);
    assert_int_equal(x, 0xeeeeeeeeeeeeeeee);
}

static void matrix(void **state) {
    const scan_algorithm *a = (const scan_algorithm *)*state;
    gpu_need();
    if (!serves(*a))
        return;
    const size_t most = gpu_is_racecheck ? 1 : gpu_is_small ? 2 - is_double(*a) : is_double(*a) ? 8 : GPU_MAX_SIZES;
    uint64_t random = (uint64_t)a->grid * 16 + (uint64_t)a->block;
    for (size_t pair = 0; pair < PAIRS; pair++)
        for (int op = 0; op < SCAN_OP_COUNT; op++) {
            if (!scan_op_takes((scan_op)op, pairs[pair].in)) {
                refused(pair, (scan_op)op, *a);
                continue;
            }
            size_t sizes[GPU_MAX_SIZES], count = gpu_sizes(scan_type_size(pairs[pair].out), sizes), kept = 0;
            for (; kept < most && kept < count; kept++) { /* all, or some drawn without repetition */
                const size_t drawn = kept + (most < count ? random_below(&random, count - kept) : 0);
                const size_t n = sizes[drawn];
                sizes[drawn] = sizes[kept];
                sizes[kept] = n;
            }
            check_sizes(pair, (scan_op)op, *a, sizes, kept, &random);
        }
}

/* Sizes where a path changes: around one, 4, 7 and 8 groups of 32 tiles, where `auto` changes grids, and where the
 * block sums of the teaching grids need one more level. Every pair of types on some grids and blocks. */
static void path_sizes(void **state) {
    const scan_algorithm *a = (const scan_algorithm *)*state;
    gpu_need();
    if (!serves(*a) || is_double(*a))
        return;
    uint64_t random = 77 + (uint64_t)a->grid * 16 + (uint64_t)a->block;
    static const size_t chosen[] = {1 << 20, 2000000, 1 << 22};
    for (size_t pair = ((size_t)a->grid + (size_t)a->block) % 3; pair < PAIRS; pair += 3) {
        const size_t group = (1 << 20) / scan_type_size(pairs[pair].out);
        size_t sizes[24], count = 0;
        for (size_t k = 0; k < 3; k++)
            for (size_t n = chosen[k] - 1; n <= chosen[k] + 1; n++)
                sizes[count++] = n;
        for (size_t groups = 1; groups <= 8; groups += groups < 7 ? 3 : 1)
            for (size_t n = groups * group - 1; n <= groups * group + 1; n++)
                sizes[count++] = n;
        check_sizes(pair, prefix_op(pairs[pair].in, pair + (size_t)a->block), *a, sizes, count, &random);
    }
}

/* ---- counts on the device ---------------------------------------------------------------------------------------- */

/* 0, 1, the bound, and more than the bound. */
static void counts_on_device(void **state) {
    (void)state;
    gpu_need();
    static const uint64_t counts[] = {0, 1, 4999, 5000, 5001, UINT64_MAX};
    enum { BOUND = 5000 };
    make_room(BOUND * 8);
    gpu_fill(SCAN_I64, GPU_RANDOM, host_in, BOUND, 3);
    for (int grid = 0; scan_grid_name((scan_grid)grid); grid++) {
        const scan_algorithm a = {(scan_grid)grid, SCAN_BLOCK_AUTO};
        if (!serves(a))
            continue;
        for (size_t k = 0; k < sizeof counts / sizeof counts[0]; k++)
            for (unsigned way = 0; way < 4; way++) {
                const size_t n = counts[k] < BOUND ? (size_t)counts[k] : BOUND;
                scan_prefix_desc d = {.struct_size = sizeof d,
                                      .type = SCAN_I64,
                                      .out_type = SCAN_I64,
                                      .kind = (scan_kind)(way & 1),
                                      .reverse = way >> 1,
                                      .algorithm = a};
                prefix_reference(&d, host_in, want, n);
                void *from = gpu_put(&d_in, host_in, BOUND, 8, way), *to = gpu_put(&d_out, NULL, BOUND, 8, way * 3);
                d.n_device = (const uint64_t *)gpu_put(&d_count, &counts[k], 1, 8, 0);
                gpu_ok(scan_prefix(gpu, &d, from, to, BOUND));
                gpu_get(&d_out, got);
                assert_int_equal(gpu_first_difference(got, want, n, 8), n);
                gpu_unchanged(&d_count, &counts[k]);
            }
    }
}

/* ---- the tests: one of each for every grid and block ------------------------------------------------------------- */

enum { MAX_ALGORITHMS = 24 };

int main(int argc, char **argv) {
    static scan_algorithm algorithms[MAX_ALGORITHMS];
    static char names[2 * MAX_ALGORITHMS][64];
    gpu_test tests[2 * MAX_ALGORITHMS + 1];
    size_t count = 0, tests_count = 0;
    for (int grid = 0; scan_grid_name((scan_grid)grid); grid++)
        for (int block = 0; scan_block_name((scan_block)block) && count < MAX_ALGORITHMS; block++, count++) {
            const char *grid_name = scan_grid_name((scan_grid)grid), *block_name = scan_block_name((scan_block)block);
            algorithms[count] = (scan_algorithm){(scan_grid)grid, (scan_block)block};
            snprintf(names[2 * count], sizeof names[0], "matrix.%s/%s", grid_name, block_name);
            snprintf(names[2 * count + 1], sizeof names[0], "path_sizes.%s/%s", grid_name, block_name);
            tests[tests_count++] =
                (gpu_test){GPU_MATRIX | GPU_SMALL, {names[2 * count], matrix, NULL, NULL, &algorithms[count]}};
            tests[tests_count++] =
                (gpu_test){GPU_MATRIX, {names[2 * count + 1], path_sizes, NULL, NULL, &algorithms[count]}};
        }
    tests[tests_count++] = (gpu_test)GPU_TEST(GPU_MATRIX | GPU_SMALL, counts_on_device);
    int result = gpu_main("gpu_prefix", tests, tests_count, argc, argv);
    free(host_in);
    free(want);
    free(got);
    free(again);
    return result;
}
