/* SPDX-License-Identifier: MIT
 *
 * scan_unique against a plain loop: runs that cross words, pieces and blocks; -0 and NaN; every subset of outputs; in
 * place; any number of threads.
 */
#include "compact_oracle.h"

enum { MAX_N = (1 << 19) + 3 };

enum { OUT_KEPT = 1, OUT_INDICES = 2, OUT_LENGTHS = 4, OUT_COUNT = 8 };

typedef struct fixture {
    scan_ctx *ctx[CONTEXTS];
    guarded in, kept, indices, lengths;
    uint64_t *starts;
    char *copy;
    uint64_t random;
} fixture;

typedef struct unique_case {
    scan_type type;
    size_t n;
    size_t mean_run; /* 0: all equal */
    unsigned outputs;
    scan_type index_type;
    uint64_t index_base;
    bool in_place;
    int context;
} unique_case;

static int set_up(void **state) {
    fixture *f = malloc(sizeof *f);
    contexts_create(f->ctx);
    size_t bytes = 8 * (size_t)MAX_N + 4096;
    f->in = guarded_create(bytes);
    f->kept = guarded_create(bytes);
    f->indices = guarded_create(bytes);
    f->lengths = guarded_create(bytes);
    f->starts = malloc(bytes);
    f->copy = malloc(bytes);
    f->random = 5;
    *state = f;
    return 0;
}

static int tear_down(void **state) {
    fixture *f = *state;
    contexts_destroy(f->ctx);
    guarded_destroy(f->in);
    guarded_destroy(f->kept);
    guarded_destroy(f->indices);
    guarded_destroy(f->lengths);
    free(f->starts);
    free(f->copy);
    free(f);
    return 0;
}

/* Element i repeats element i - 1 or is another; floats that are equal in different bits are used where they exist. */
static void fill_runs(fixture *f, const unique_case *c, void *in) {
    size_t size = scan_type_size(c->type);
    random_elements(c->type, in, c->n, &f->random);
    for (size_t i = 1; i < c->n; i++) {
        if (c->mean_run && random_below(&f->random, c->mean_run) == 0)
            continue;
        store_element(in, i, size, load_element(in, i - 1, size));
        if (type_is_float(c->type) && random_bool(&f->random)) {
            double x = double_at(c->type, in, i);
            if (x == 0 || isnan(x)) /* the sign makes no difference */
                ((unsigned char *)in)[(i + 1) * size - 1] ^= 0x80;
        }
    }
}

static bool is_equal(scan_type type, const void *in, size_t i, size_t k) {
    if (!type_is_float(type))
        return integer_at(type, in, i) == integer_at(type, in, k);
    double a = double_at(type, in, i), b = double_at(type, in, k);
    return a == b || (isnan(a) && isnan(b));
}

static void check(fixture *f, unique_case c) {
    size_t size = scan_type_size(c.type), n = c.n, runs = 0;
    char *in = guarded_place(f->in, n, size, &f->random);
    fill_runs(f, &c, in);
    memcpy(f->copy, in, n * size);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || !is_equal(c.type, in, i, i - 1))
            f->starts[runs++] = i;
    f->starts[runs] = n;

    scan_type index_type = c.index_type ? c.index_type : SCAN_U32;
    size_t index_size = scan_type_size(index_type);
    uint64_t count = 12345;
    scan_unique_desc desc = {
        .struct_size = sizeof desc, .type = c.type, .index_type = c.index_type, .index_base = c.index_base};
    scan_unique_out out = {.struct_size = sizeof out};
    if (c.outputs & OUT_KEPT)
        out.kept = c.in_place ? in : guarded_place(f->kept, n, size, &f->random);
    if (c.outputs & OUT_INDICES)
        out.indices = guarded_place(f->indices, n, index_size, &f->random);
    if (c.outputs & OUT_LENGTHS)
        out.run_lengths = guarded_place(f->lengths, n, index_size, &f->random);
    if (c.outputs & OUT_COUNT)
        out.count = &count;
    if (scan_unique(f->ctx[c.context], &desc, in, &out, n) != SCAN_OK)
        fail_msg("%s", scan_ctx_detail(f->ctx[c.context]));
    for (size_t k = 0; k < runs; k++) {
        size_t start = f->starts[k];
        if (out.kept && load_element(out.kept, k, size) != load_element(f->copy, start, size))
            fail_msg("run %zu of %zu: another value", k, runs);
        if (out.indices && index_at(index_type, out.indices, k) != c.index_base + start)
            fail_msg("run %zu of %zu: another index", k, runs);
        if (out.run_lengths && index_at(index_type, out.run_lengths, k) != f->starts[k + 1] - start)
            fail_msg("run %zu of %zu: another length", k, runs);
    }
    assert_int_equal(count, out.count ? runs : 12345);
}

static const size_t mean_runs[] = {1, 2, 10, 1000, 100000, 0};
enum { MEAN_RUNS = sizeof mean_runs / sizeof mean_runs[0] };

static void test_small(void **state) {
    fixture *f = *state;
    unsigned round = 0;
    for (scan_type type = SCAN_U8; scan_type_name(type); type++)
        for (size_t n = 0; n <= 130; n++)
            for (unsigned k = 0; k < 15; k++, round++)
                check(f, (unique_case){.type = type,
                                       .n = n,
                                       .mean_run = mean_runs[round % MEAN_RUNS],
                                       .outputs = k + 1,
                                       .index_type = round % 5 ? SCAN_TYPE_NONE : SCAN_U64,
                                       .index_base = round % 3 * 777});
}

static void test_large(void **state) {
    fixture *f = *state;
    static const size_t sizes[] = {4095,  4096,   4097,   4098,   8193,   32767,   32768,
                                   32769, 100003, 229375, 229377, 262144, 1 << 19, MAX_N};
    unsigned round = 0;
    for (scan_type type = SCAN_U8; scan_type_name(type); type++)
        for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++)
            for (int m = 0; m < MEAN_RUNS; m++, round++) {
                if (sizes[k] > 200000 && (round + type) % (ONLY_THREADS ? 7 : 3))
                    continue;
                check(f, (unique_case){.type = type,
                                       .n = sizes[k],
                                       .mean_run = mean_runs[m],
                                       .outputs = 1 + (unsigned)(random_u64(&f->random) % 15),
                                       .index_type = round % 2 ? SCAN_TYPE_NONE : SCAN_U64,
                                       .index_base = 1000,
                                       .context =
                                           ONLY_THREADS + (int)(random_u64(&f->random) % (CONTEXTS - ONLY_THREADS))});
            }
}

static void test_in_place(void **state) {
    fixture *f = *state;
    static const size_t sizes[] = {1, 65, 4097, 32769, 262145, MAX_N};
    static const scan_type types[] = {SCAN_U8, SCAN_I16, SCAN_U32, SCAN_I64, SCAN_F32, SCAN_F64};
    unsigned round = 0;
    for (size_t t = 0; t < sizeof types / sizeof types[0]; t++)
        for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++)
            for (int m = 0; m < MEAN_RUNS; m++, round++) {
                if (ONLY_THREADS && t % 2 != (size_t)m % 2) /* threads do the same with every type */
                    continue;
                check(f, (unique_case){.type = types[t],
                                       .n = sizes[k],
                                       .mean_run = mean_runs[m],
                                       .outputs = OUT_KEPT | OUT_COUNT,
                                       .in_place = true,
                                       .context = ONLY_THREADS + (int)(round % (CONTEXTS - ONLY_THREADS))});
            }
}

/* n_device may end the array inside a run. */
static void test_n_device(void **state) {
    fixture *f = *state;
    const int16_t in[] = {5, 5, 5, -1, -1, 5, 5, 5};
    const uint64_t want[][4] = {{0}, {1, 1}, {1, 2}, {1, 3}, {2, 3, 1}, {2, 3, 2}, {3, 3, 2, 1}};
    for (uint64_t n = 0; n < 7; n++) {
        uint64_t count = 9;
        uint32_t lengths[8];
        scan_unique_desc desc = {.struct_size = sizeof desc, .type = SCAN_I16, .n_device = &n};
        scan_unique_out out = {.struct_size = sizeof out, .run_lengths = lengths, .count = &count};
        assert_int_equal(scan_unique(f->ctx[1], &desc, in, &out, 8), SCAN_OK);
        assert_int_equal(count, want[n][0]);
        for (uint64_t k = 0; k < count; k++)
            assert_int_equal(lengths[k], want[n][k + 1]);
    }
}

/* A run may be as long as the array: 2^32 does not fit u32. No array is looked at before that is found. */
static void test_lengths_that_do_not_fit(void **state) {
    fixture *f = *state;
    const size_t n = (size_t)1 << 32;
    uint32_t somewhere = 0;
    scan_unique_desc desc = {.struct_size = sizeof desc, .type = SCAN_U8, .index_type = SCAN_U32};
    scan_unique_out out = {.struct_size = sizeof out, .run_lengths = &somewhere};
    assert_int_equal(scan_unique(f->ctx[0], &desc, &somewhere, &out, n), SCAN_ERR_ARGUMENT);
    assert_non_null(strstr(scan_ctx_detail(f->ctx[0]), "u32 cannot hold the length of a run of 4294967296"));
    assert_int_equal(scan_unique(f->ctx[0], &desc, NULL, &out, n - 1), SCAN_ERR_ARGUMENT);
    assert_string_equal(scan_ctx_detail(f->ctx[0]), "in: is NULL");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small),
        cmocka_unit_test(test_large),
        cmocka_unit_test(test_in_place),
        cmocka_unit_test(test_n_device),
        cmocka_unit_test(test_lengths_that_do_not_fit),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
