/* SPDX-License-Identifier: MIT
 *
 * Float add and mul give the bits of float_order.h: for every size, address, thread count, direction, in place or not,
 * in one call or in pieces; and the bits recorded in data/float_order, which every backend must give.
 */
#include "float_order.h"
#include "float_records.h"
#include "prefix_support.h"

enum { MAX_N = (3 << 18) + 5000, MAX_BYTES = MAX_N * 8 };

static scan_ctx *contexts[CONTEXTS];
static guarded in_memory, out_memory;
static char *original; /* the input */
static char *ordered;  /* the input converted, in scan order */
static char *before;   /* what float_order gives */
static char *expected; /* the output */

static int create_all(void **state) {
    (void)state;
    contexts_create(contexts);
    in_memory = guarded_create(MAX_BYTES);
    out_memory = guarded_create(MAX_BYTES);
    original = malloc(MAX_BYTES);
    ordered = malloc(MAX_BYTES);
    before = malloc(MAX_BYTES + 8);
    expected = malloc(MAX_BYTES);
    return !original || !ordered || !before || !expected;
}

static int destroy_all(void **state) {
    (void)state;
    contexts_destroy(contexts);
    guarded_destroy(in_memory);
    guarded_destroy(out_memory);
    free(original);
    free(ordered);
    free(before);
    free(expected);
    return 0;
}

/* ---- the reference ----------------------------------------------------------------------------------------------- */

static void set_ordered(const scan_prefix_desc *d, size_t n) {
    for (size_t p = 0; p < n; p++) {
        size_t i = d->reverse ? n - 1 - p : p;
        if (d->type == SCAN_F64)
            ((double *)ordered)[p] = ((double *)original)[i];
        else if (d->out_type == SCAN_F64)
            ((double *)ordered)[p] = (double)((float *)original)[i];
        else
            ((float *)ordered)[p] = ((float *)original)[i];
    }
}

static void set_expected(const scan_prefix_desc *d, size_t n) {
    size_t size = scan_type_size(d->out_type);
    set_ordered(d, n);
    if (d->out_type == SCAN_F64)
        float_order_f64((double *)ordered, n, d->op == SCAN_MUL, d->init, (double *)before);
    else
        float_order_f32((float *)ordered, n, d->op == SCAN_MUL, d->init, (float *)before);
    if (!d->init && d->op == SCAN_ADD)
        memset(before, 0, size); /* +0 is shown */
    for (size_t p = 0; p < n; p++)
        store_element(expected, d->reverse ? n - 1 - p : p, size,
                      load_element(before, p + (d->kind == SCAN_INCLUSIVE), size));
}

static void fail_at(const scan_prefix_desc *d, const char *ran, size_t n, const char *got, const char *how) {
    size_t size = scan_type_size(d->out_type), i = 0;
    while (memcmp(got + i * size, expected + i * size, size) == 0)
        i++;
    fail_msg("%s to %s, %s, kind %d, reverse %u, init %d, n %zu, %s, %s: element %zu is wrong", scan_type_name(d->type),
             scan_type_name(d->out_type), scan_op_name(d->op), (int)d->kind, d->reverse, d->init != NULL, n, how, ran,
             i);
}

/* ---- one call ---------------------------------------------------------------------------------------------------- */

static void check_call(scan_ctx *ctx, const scan_prefix_desc *d, size_t n, size_t offset, bool at_end, bool in_place) {
    size_t in_size = scan_type_size(d->type), size = scan_type_size(d->out_type);
    char *in = at_end ? (char *)guarded_end(in_memory, (n + offset) * in_size) : in_memory.memory + offset * in_size;
    char *out = in;
    if (!in_place)
        out = at_end ? (char *)guarded_end(out_memory, (n + offset) * size) : out_memory.memory + offset * size;
    memcpy(in, original, n * in_size);
    assert_int_equal(scan_prefix(ctx, d, in, out, n), SCAN_OK);
    if (memcmp(out, expected, n * size) != 0)
        fail_at(d, scan_ctx_ran(ctx), n, out, in_place ? "in place" : "one call");
}

/* ---- pieces ------------------------------------------------------------------------------------------------------ */

/* The carry's first element is the fold so far. */
static void check_carry(const scan_prefix_desc *d, const char *carry, size_t done) {
    size_t size = scan_type_size(d->out_type);
    if (memcmp(carry, before + done * size, size) != 0)
        fail_msg("%s, %s: the carry after %zu elements is wrong", scan_type_name(d->out_type), scan_op_name(d->op),
                 done);
}

static void check_pieces(scan_ctx *ctx, const scan_prefix_desc *whole, size_t n, size_t most, uint64_t *seed) {
    size_t in_size = scan_type_size(whole->type), size = scan_type_size(whole->out_type);
    uint64_t carry[SCAN_CARRY_BYTES / 8], other[SCAN_CARRY_BYTES / 8];
    scan_prefix_desc d = *whole;
    char *out = out_memory.memory;
    memset(carry, 0xff, sizeof carry);
    size_t done = 0;
    for (unsigned piece = 0; done < n || piece == 0; piece++) {
        size_t left = n - done, length = (size_t)(random_u64(seed) % (most + 1));
        length = length < left ? length : left;
        size_t at = d.reverse ? left - length : done;
        d.carry_out = piece % 3 ? other : carry; /* the same memory, and not */
        assert_int_equal(scan_prefix(ctx, &d, original + at * in_size, out + at * size, length), SCAN_OK);
        d.carry_in = d.carry_out;
        d.init = NULL;
        done += length;
        check_carry(&d, d.carry_out, done);
    }
    if (memcmp(out, expected, n * size) != 0)
        fail_at(whole, scan_ctx_ran(ctx), n, out, "pieces");
}

/* ---- the matrix -------------------------------------------------------------------------------------------------- */

static void check_size(scan_type type, scan_type out_type, size_t n) {
    static unsigned round;
    for (unsigned way = 0; way < 16; way++, round++) {
        uint64_t init;
        scan_prefix_desc d = {.struct_size = sizeof d,
                              .type = type,
                              .out_type = out_type,
                              .op = way & 1 ? SCAN_MUL : SCAN_ADD,
                              .kind = way & 2 ? SCAN_EXCLUSIVE : SCAN_INCLUSIVE,
                              .reverse = way >> 2 & 1,
                              .init = way & 8 ? &init : NULL};
        uint64_t seed = n * 131 + way;
        if (n > 70000 && (way ^ n) & 8) /* the reference takes its time */
            continue;
        if (ONLY_THREADS && n > 1000 && way % 4 != n % 4) /* threads do the same in every direction */
            continue;
        if (n > 1000 && is_lower_level() && (way >> 1 ^ way >> 3 ^ n) & 1)
            continue;
        /* each operator in half of the directions */
        if (FEWER && !ONLY_THREADS && n > 70000 && (way ^ way >> 1 ^ way >> 2 ^ n) & 1)
            continue;
        fill_random(type, d.op, original, n, &seed);
        fill_random(out_type, d.op, &init, 1, &seed);
        set_expected(&d, n);
        for (unsigned i = 0; i < 2; i++) {
            scan_ctx *ctx = contexts[(round + i) % CONTEXTS];
            check_call(ctx, &d, n, (round + i) % 5, (round >> i) & 1, false);
            check_call(ctx, &d, n, (round + i) % 7, i, type == out_type);
        }
        check_pieces(contexts[round % CONTEXTS], &d, n, n < 200 ? 9 : n / 4, &seed);
    }
}

static void check_pair(scan_type type, scan_type out_type) {
    const size_t e = 16 / scan_type_size(out_type), row = 32 * e, chunk = 8 * row, tile = 8 * chunk, group = 32 * tile;
    for (size_t n = 0; n <= 130; n += ONLY_THREADS ? 65 : 1)
        check_size(type, out_type, n);
    const size_t bounds[] = {row, 2 * row, chunk, chunk + row, tile, 2 * tile + chunk, 9 * tile, group};
    const size_t last = sizeof bounds / sizeof bounds[0] - 1; /* which threads share */
    for (size_t b = ONLY_THREADS ? last : 0; b <= last; b++)
        for (size_t n = bounds[b] - 1; n <= bounds[b] + 1; n++)
            check_size(type, out_type, n);
    check_size(type, out_type, 3 * (1 << 20) / (16 / e) + 4321);
}

static void order_f32(void **state) { (void)state, check_pair(SCAN_F32, SCAN_F32); }
static void order_f32_f64(void **state) { (void)state, check_pair(SCAN_F32, SCAN_F64); }
static void order_f64(void **state) { (void)state, check_pair(SCAN_F64, SCAN_F64); }

/* Large enough to be written past the caches, at every alignment: the same bits as in place, which is not. */
static void large_arrays(void **state) {
    (void)state;
    const size_t n = ((size_t)5 << 20) + 777;
    float *in = malloc(n * sizeof *in), *out = malloc((n + 32) * sizeof *out), *place = malloc(n * sizeof *place);
    uint64_t seed = 9;
    fill_random(SCAN_F32, SCAN_ADD, in, n, &seed);
    for (unsigned way = 0; way < 16; way += FEWER ? 5 : 1) {
        scan_prefix_desc d = {.struct_size = sizeof d, .type = SCAN_F32, .kind = way & 1, .reverse = way >> 1 & 1};
        memcpy(place, in, n * sizeof *in);
        assert_int_equal(scan_prefix(contexts[0], &d, place, place, n), SCAN_OK);
        assert_int_equal(scan_prefix(contexts[ONLY_THREADS + way % 3], &d, in, out + way, n), SCAN_OK);
        assert_memory_equal(out + way, place, n * sizeof *in);
    }
    free(in);
    free(out);
    free(place);
}

/* ---- data/float_order -------------------------------------------------------------------------------------------- */

static void check_record(const char *line) {
    float_record r;
    assert_true(float_record_parse(&r, line));
    assert_true(r.n <= MAX_N);
    scan_prefix_desc d = {.struct_size = sizeof d,
                          .type = r.type,
                          .out_type = r.out_type,
                          .op = r.op,
                          .kind = r.kind,
                          .init = r.has_init ? &r.init : NULL};
    float_record_input(&r, original);
    for (int c = FEWER; c < 2; c++) {
        assert_int_equal(scan_prefix(contexts[c], &d, original, expected, r.n), SCAN_OK);
        const char *wrong = float_record_wrong(&r, expected);
        if (wrong)
            fail_msg("%s is wrong: %s", wrong, line);
    }
}

static void recorded(void **state) {
    (void)state;
    FILE *file = fopen(TEST_DATA_DIR "/float_order/vectors.txt", "r");
    assert_non_null(file);
    char line[512];
    size_t count = 0;
    for (; fgets(line, sizeof line, file); count++)
        check_record(line);
    fclose(file);
    assert_true(count > 400);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order_f32),    cmocka_unit_test(order_f32_f64), cmocka_unit_test(order_f64),
        cmocka_unit_test(large_arrays), cmocka_unit_test(recorded),
    };
    return cmocka_run_group_tests(tests, create_all, destroy_all);
}
