/* SPDX-License-Identifier: MIT
 *
 * Float sums and products on the device have the bits that scan.h promises: those recorded in data/float_order, those
 * of the CPU backend, and the same for every run, grid, address, in place or not, and for n and n + 1 elements.
 */
#include "../unit/float_records.h"
#include "prefix_reference.h"

static const scan_grid grids[] = {SCAN_GRID_AUTO, SCAN_GRID_LOOKBACK, SCAN_GRID_WAVE};
enum { GRIDS = sizeof grids / sizeof grids[0] };

static gpu_array d_in, d_out;

/* Whether this device has the grid: wave needs sm_80. */
static bool has_grid(scan_grid grid) {
    scan_prefix_desc d = {.struct_size = sizeof d, .type = SCAN_F32, .algorithm = {grid, SCAN_BLOCK_AUTO}};
    void *at = gpu_put(&d_in, &(float){1}, 1, 4, 0);
    scan_status status = scan_prefix(gpu, &d, at, at, 1);
    if (status == SCAN_ERR_ALGORITHM)
        print_message("%s\n", scan_ctx_detail(gpu));
    else
        gpu_ok(status);
    return status == SCAN_OK;
}

/* ---- recorded bits ----------------------------------------------------------------------------------------------- */

static void check_record(const char *line, const bool *has) {
    float_record r;
    assert_true(float_record_parse(&r, line));
    if (gpu_is_small && (r.n > 20000 || random_mix(r.n + r.crc) % 8))
        return;
    const size_t in_size = scan_type_size(r.type), size = scan_type_size(r.out_type);
    char *in = (char *)malloc(r.n * in_size + 1), *out = (char *)malloc(r.n * size + 1);
    float_record_input(&r, in);
    for (size_t g = 0; g < GRIDS; g++) {
        scan_prefix_desc d = {.struct_size = sizeof d,
                              .type = r.type,
                              .out_type = r.out_type,
                              .op = r.op,
                              .kind = r.kind,
                              .algorithm = {grids[g], SCAN_BLOCK_AUTO},
                              .init = r.has_init ? &r.init : NULL};
        if (!has[g])
            continue;
        void *from = gpu_put(&d_in, in, r.n, in_size, r.crc % 5), *to = gpu_put(&d_out, NULL, r.n, size, r.crc % 7);
        gpu_ok(scan_prefix(gpu, &d, from, to, r.n));
        gpu_get(&d_out, out);
        const char *wrong = float_record_wrong(&r, out);
        if (wrong)
            fail_msg("%s: %s is wrong: %s", scan_grid_name(grids[g]), wrong, line);
    }
    free(in);
    free(out);
}

static void recorded_bits(void **state) {
    (void)state;
    gpu_need();
    bool has[GRIDS];
    for (size_t g = 0; g < GRIDS; g++)
        has[g] = has_grid(grids[g]);
    FILE *file = gpu_open_data("float_order/vectors.txt");
    assert_non_null(file);
    char line[512];
    size_t count = 0;
    for (; fgets(line, sizeof line, file); count++)
        check_record(line, has);
    fclose(file);
    assert_true(count > 400);
}

/* ---- the same bits every time ------------------------------------------------------------------------------------ */

typedef struct repeated {
    scan_type type, out_type;
    scan_op op;
    scan_kind kind;
    uint32_t reverse;
    size_t n;
} repeated;

/* Runs on every grid in turn, at every alignment, in place or not. n + 1 elements show the same first n. */
static void repeat(const repeated *c, unsigned runs) {
    const size_t in_size = scan_type_size(c->type), size = scan_type_size(c->out_type), n = c->n;
    char *in = (char *)malloc((n + 1) * in_size), *want = (char *)malloc((n + 1) * size);
    char *got = (char *)malloc((n + 1) * size);
    assert_true(in && want && got);
    prefix_fill(c->type, c->op, GPU_RANDOM, in, n + 1, n);
    scan_prefix_desc d = {.struct_size = sizeof d,
                          .type = c->type,
                          .out_type = c->out_type,
                          .op = c->op,
                          .kind = c->kind,
                          .reverse = c->reverse};
    cpu_ok(scan_prefix(cpu, &d, in, want, n));
    uint64_t random = 1;
    for (unsigned run = 0; run < runs; run++) {
        const scan_grid grid = grids[run % GRIDS];
        const bool in_place = random_bool(&random) && in_size == size;
        const size_t longer = random_bool(&random) && !c->reverse;
        if (run < GRIDS && !has_grid(grid))
            continue;
        d.algorithm = (scan_algorithm){grid, SCAN_BLOCK_AUTO};
        void *from = gpu_put(&d_in, in, n + longer, in_size, random_below(&random, 16)), *to = from;
        if (!in_place)
            to = gpu_put(&d_out, NULL, n + longer, size, random_below(&random, 16));
        scan_status status = scan_prefix(gpu, &d, from, to, n + longer);
        if (status == SCAN_ERR_ALGORITHM)
            continue;
        gpu_ok(status);
        gpu_get(in_place ? &d_in : &d_out, got);
        const size_t wrong = gpu_first_difference(got, want, n, size);
        if (wrong != n)
            fail_msg("%s->%s %s, n %zu, run %u, %s%s: element %zu differs from the CPU's", scan_type_name(c->type),
                     scan_type_name(c->out_type), scan_op_name(c->op), n, run, scan_grid_name(grid),
                     in_place ? ", in place" : "", wrong);
    }
    free(in);
    free(want);
    free(got);
}

static void same_bits_in_1000_runs(void **state) {
    (void)state;
    gpu_need();
    static const repeated cases[] = {
        {SCAN_F32, SCAN_F32, SCAN_ADD, SCAN_INCLUSIVE, 0, 2500003},
        {SCAN_F32, SCAN_F64, SCAN_ADD, SCAN_EXCLUSIVE, 1, 600011},
        {SCAN_F64, SCAN_F64, SCAN_ADD, SCAN_INCLUSIVE, 0, 1000003},
        {SCAN_F32, SCAN_F32, SCAN_MUL, SCAN_EXCLUSIVE, 0, 70001},
        {SCAN_F64, SCAN_F64, SCAN_MUL, SCAN_INCLUSIVE, 1, 5003},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        repeated c = cases[i];
        if (gpu_is_small)
            c.n = 3 + c.n % 9973;
        repeat(&c, gpu_is_small ? 12 : 1000);
    }
}

/* A long sum in pieces on one grid, in one call on the other, and on the CPU. */
static void pieces_have_the_bits_of_one_call(void **state) {
    (void)state;
    gpu_need();
    const size_t n = gpu_is_small ? 20011 : 3000017;
    float *in = (float *)malloc(n * 4), *want = (float *)malloc(n * 4), *got = (float *)malloc(n * 4);
    static gpu_array d_carry;
    gpu_fill(SCAN_F32, GPU_RANDOM, in, n, 5);
    scan_prefix_desc d = {.struct_size = sizeof d, .type = SCAN_F32};
    cpu_ok(scan_prefix(cpu, &d, in, want, n));
    uint64_t random = 1;
    for (unsigned run = 0; run < (gpu_is_small ? 2 : 20); run++) {
        float *from = (float *)gpu_put(&d_in, in, n, 4, run % 5), *to = (float *)gpu_put(&d_out, NULL, n, 4, run % 3);
        d.carry_in = NULL;
        d.carry_out = gpu_put(&d_carry, NULL, SCAN_CARRY_BYTES / 8, 8, 0);
        for (size_t done = 0, m; done < n; done += m) {
            m = random_below(&random, n / 5);
            m = m < n - done ? m : n - done;
            d.algorithm.grid = random_bool(&random) ? SCAN_GRID_LOOKBACK : SCAN_GRID_AUTO; /* pieces of either */
            gpu_ok(scan_prefix(gpu, &d, from + done, to + done, m));
            d.carry_in = d.carry_out;
        }
        gpu_get(&d_out, got);
        assert_int_equal(gpu_first_difference(got, want, n, 4), n);
    }
    free(in);
    free(want);
    free(got);
}

int main(int argc, char **argv) {
    static const gpu_test tests[] = {
        GPU_TEST(GPU_MATRIX | GPU_SMALL, recorded_bits),
        GPU_TEST(GPU_MATRIX | GPU_SMALL, pieces_have_the_bits_of_one_call),
        GPU_TEST(GPU_STRESS | GPU_SMALL, same_bits_in_1000_runs),
    };
    return gpu_main("gpu_prefix_float", tests, sizeof tests / sizeof tests[0], argc, argv);
}
