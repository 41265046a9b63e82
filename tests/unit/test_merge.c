/* SPDX-License-Identifier: MIT
 *
 * scan_merge: what a stable sort makes of a followed by b. All types, values, directions, NaN first and last; lengths
 * from none to all; sizes around vectors, lines, chains and shares; any number of threads; counts in memory; inputs
 * that are not sorted; what is refused.
 */
#include "sort_oracle.h"

enum { MAX_N = 300007 };

typedef struct fixture {
    scan_ctx *ctx[CONTEXTS];
    guarded a, b, out, a_values, b_values, values_out;
    char *keys, *want; /* a, then b */
    sort_item *items;
    uint64_t random;
} fixture;

typedef struct merge_case {
    sort_case order;
    size_t a_n, b_n;
    uint32_t value_bytes;
    distribution *data;
    bool counted; /* the calls' lengths are larger than the counts */
    int context;
} merge_case;

static int set_up(void **state) {
    fixture *f = malloc(sizeof *f);
    const size_t bytes = 8 * (size_t)MAX_N + 4096;
    contexts_create(f->ctx);
    f->a = guarded_create(bytes);
    f->b = guarded_create(bytes);
    f->out = guarded_create(bytes);
    f->a_values = guarded_create(bytes);
    f->b_values = guarded_create(bytes);
    f->values_out = guarded_create(bytes);
    f->keys = malloc(bytes);
    f->want = malloc(bytes);
    f->items = malloc(MAX_N * sizeof *f->items);
    f->random = 7;
    *state = f;
    return 0;
}

static int tear_down(void **state) {
    fixture *f = *state;
    contexts_destroy(f->ctx);
    const guarded all[] = {f->a, f->b, f->out, f->a_values, f->b_values, f->values_out};
    for (int i = 0; i < 6; i++)
        guarded_destroy(all[i]);
    free(f->keys);
    free(f->want);
    free(f->items);
    free(f);
    return 0;
}

static scan_merge_desc desc_of(const merge_case *c) {
    return (scan_merge_desc){.struct_size = sizeof(scan_merge_desc),
                             .type = c->order.type,
                             .descending = c->order.descending,
                             .nan_first = c->order.nan_first,
                             .value_bytes = c->value_bytes};
}

static sort_case random_order(fixture *f, scan_type type) {
    const uint64_t r = random_u64(&f->random);
    return (sort_case){type, r & 1, r & 2, 0, type_bits(type)};
}

/* A sorted part at f->keys + first. */
static void sort_part(fixture *f, const merge_case *c, size_t first, size_t n) {
    const size_t size = size_of_type(c->order.type);
    char *part = f->keys + first * size;
    sort_oracle(f->items, part, n, c->order);
    for (size_t i = 0; i < n; i++)
        memcpy(f->want + i * size, part + f->items[i].index * size, size);
    memcpy(part, f->want, n * size);
}

static void *put(fixture *f, guarded g, const char *from, size_t n, size_t size) {
    void *at = guarded_place(g, n, size, &f->random);
    memcpy(at, from, n * size);
    return at;
}

static void expect_values(fixture *f, const merge_case *c, const void *out) {
    for (size_t i = 0; i < c->a_n + c->b_n; i++)
        if (load_element(out, i, c->value_bytes) != (uint32_t)f->items[i].index * 3 + 1)
            fail_msg("%s, %zu and %zu, values of %u: value %zu", scan_type_name(c->order.type), c->a_n, c->b_n,
                     c->value_bytes, i);
}

static void check(fixture *f, merge_case c) {
    const size_t n = c.a_n + c.b_n, size = size_of_type(c.order.type), value = c.value_bytes;
    scan_ctx *ctx = f->ctx[c.context];
    scan_merge_desc d = desc_of(&c);
    fill(f->keys, n, c.order.type, c.data, random_u64(&f->random));
    sort_part(f, &c, 0, c.a_n);
    sort_part(f, &c, c.a_n, c.b_n);
    sort_oracle(f->items, f->keys, n, c.order);
    for (size_t i = 0; i < n; i++)
        memcpy(f->want + i * size, f->keys + f->items[i].index * size, size);

    const size_t extra = c.counted ? 5 : 0; /* which is not there: nothing past a count is read or written */
    const uint64_t counts[] = {c.a_n, c.b_n};
    if (c.counted)
        d.a_n_device = &counts[0], d.b_n_device = &counts[1];
    const void *a = put(f, f->a, f->keys, c.a_n, size), *b = put(f, f->b, f->keys + c.a_n * size, c.b_n, size);
    void *out = guarded_place(f->out, n, size, &f->random), *a_values = NULL, *b_values = NULL, *values_out = NULL;
    if (value) {
        a_values = guarded_place(f->a_values, c.a_n, value, &f->random);
        b_values = guarded_place(f->b_values, c.b_n, value, &f->random);
        values_out = guarded_place(f->values_out, n, value, &f->random);
        for (size_t i = 0; i < n; i++)
            store_element(i < c.a_n ? a_values : b_values, i < c.a_n ? i : i - c.a_n, value, (uint32_t)i * 3 + 1);
    }
    memset(out, 0x5a, n * size);
    if (scan_merge(ctx, &d, a, a_values, c.a_n + extra, b, b_values, c.b_n + extra, out, values_out) != SCAN_OK)
        fail_msg("%s", scan_ctx_detail(ctx));
    if (memcmp(out, f->want, n * size) != 0)
        fail_msg("%s%s%s, %zu and %zu, values of %u, %d threads: keys differ", scan_type_name(c.order.type),
                 c.order.descending ? " descending" : "", c.order.nan_first ? " nan first" : "", c.a_n, c.b_n,
                 c.value_bytes, c.context);
    if (value)
        expect_values(f, &c, values_out);
}

static void test_small(void **state) {
    fixture *f = *state;
    unsigned round = 0;
    for (scan_type type = SCAN_U8; scan_type_name(type); type++)
        for (size_t n = 0; n <= 140; n += ONLY_THREADS ? 35 : 1)
            for (unsigned k = 0; k < 6; k++, round++) {
                const size_t a_n = k == 0 ? n / 2 : k == 1 ? 0 : k == 2 ? n : random_u64(&f->random) % (n + 1);
                check(f, (merge_case){.order = random_order(f, type),
                                      .a_n = a_n,
                                      .b_n = n - a_n,
                                      .value_bytes = (uint32_t)(round / 3 % 3) * 4,
                                      .data = distributions[round % DISTRIBUTIONS],
                                      .counted = round % 7 == 0});
            }
}

/* Chains begin at 2,048 outputs of a share, threads at 16,384; parts of one array at its ends, in its middle, of a few
 * elements each. */
static void test_large(void **state) {
    fixture *f = *state;
    static const size_t sizes[] = {511, 2047, 2048, 2049, 2085, 2500, 4099, 10007, 16383, 16384, 20011, 40009, 70001};
    unsigned round = 0;
    for (scan_type type = SCAN_U8; scan_type_name(type); type++)
        for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++)
            for (unsigned part = 0; part < 5; part++, round++) {
                const size_t n = sizes[k], parts[] = {n / 2, n / 3, n - 3, 1, random_u64(&f->random) % (n + 1)};
                if (n > 5000 && (round + k) % (ONLY_THREADS ? 9 : 4))
                    continue;
                check(f, (merge_case){.order = random_order(f, type),
                                      .a_n = parts[part],
                                      .b_n = n - parts[part],
                                      .value_bytes = (uint32_t)(random_u64(&f->random) % 3) * 4,
                                      .data = distributions[random_u64(&f->random) % DISTRIBUTIONS],
                                      .context = (int)(random_u64(&f->random) % CONTEXTS)});
            }
}

/* All of b between two elements of a, and what lies in few of the chains. */
static uint64_t data_far(uint64_t *s, size_t i, size_t n, scan_type type) {
    (void)n;
    const uint64_t r = random_u64(s) % 1000;
    return bits_of_double((double)(i % 5 == 0 ? 120
                                   : r % 2    ? 3
                                              : 100) +
                              (type_is_float(type) ? (double)r / 1e4 : 0),
                          type);
}

static void test_far_apart(void **state) {
    fixture *f = *state;
    for (scan_type type = SCAN_U8; scan_type_name(type); type++)
        for (unsigned round = 0; round < 3; round++)
            check(f, (merge_case){.order = random_order(f, type),
                                  .a_n = round == 0 ? 40 : 9000,
                                  .b_n = round == 1 ? 40 : 9000,
                                  .data = data_far,
                                  .context = 1});
}

/* Results are unspecified, but nothing outside the arrays is touched: the guard pages would say so. */
static void test_unsorted(void **state) {
    fixture *f = *state;
    for (unsigned round = 0; round < (ONLY_THREADS ? 40 : 400); round++) {
        const scan_type type = (scan_type)(1 + round % SCAN_TYPE_COUNT);
        const size_t size = size_of_type(type), n = random_u64(&f->random) % 20000,
                     a_n = random_u64(&f->random) % (n + 1);
        const merge_case c = {.order = random_order(f, type), .value_bytes = round / 10 % 2 * 4};
        const scan_merge_desc d = desc_of(&c);
        const bool pairs = c.value_bytes > 0;
        fill(f->keys, n, type, distributions[round % DISTRIBUTIONS], round);
        const void *a = put(f, f->a, f->keys, a_n, size), *b = put(f, f->b, f->keys + a_n * size, n - a_n, size);
        const void *a_values = put(f, f->a_values, f->keys, a_n, pairs ? 4 : 1),
                   *b_values = put(f, f->b_values, f->keys, n - a_n, pairs ? 4 : 1);
        void *out = guarded_place(f->out, n, size, &f->random),
             *values_out = guarded_place(f->values_out, n, 4, &f->random);
        assert_int_equal(scan_merge(f->ctx[round % CONTEXTS], &d, a, pairs ? a_values : NULL, a_n, b,
                                    pairs ? b_values : NULL, n - a_n, out, pairs ? values_out : NULL),
                         SCAN_OK);
        assert_memory_equal(a, f->keys, a_n * size);
        assert_memory_equal(b, f->keys + a_n * size, (n - a_n) * size);
    }
}

/* On both sides of the size from which the output goes past the caches, against what merging ranks must give. */
static void test_streamed(void **state) {
    fixture *f = *state;
    static const size_t lengths[] = {(1 << 20) - 9, (1 << 20) + 5};
    for (int k = 0; k < (ONLY_THREADS ? 1 : 4); k++) {
        const size_t size = k & 1 ? 8 : 4, n = lengths[k / 2] * 8 / size, a_n = n / 3;
        scan_merge_desc d = {.struct_size = sizeof d, .type = k & 1 ? SCAN_U64 : SCAN_U32};
        char *memory = malloc(2 * n * size + 64), *in = memory, *out = memory + n * size + size;
        for (size_t i = 0; i < n; i++) /* every third is of a */
            store_element(in, i % 3 == 2 && i / 3 < a_n ? i / 3 : i / 3 < a_n ? a_n + i - i / 3 : i, size, i);
        assert_int_equal(scan_merge(f->ctx[k % 2], &d, in, NULL, a_n, in + a_n * size, NULL, n - a_n, out, NULL),
                         SCAN_OK);
        for (size_t i = 0; i < n; i++)
            if (load_element(out, i, size) != i)
                fail_msg("%zu keys of %zu bytes: %zu", n, size, i);
        free(memory);
    }
}

/* ---- what is refused --------------------------------------------------------------------------------------------- */

static void refused(fixture *f, scan_merge_desc d, scan_status expected, const char *word) {
    uint32_t in[8] = {1, 2, 3, 4, 5, 6, 7, 8}, out[16];
    memset(out, 0x5a, sizeof out);
    assert_int_equal(scan_merge(f->ctx[0], &d, in, NULL, 8, in, NULL, 8, out, NULL), expected);
    if (!strstr(scan_ctx_detail(f->ctx[0]), word))
        fail_msg("\"%s\" does not mention %s", scan_ctx_detail(f->ctx[0]), word);
    for (int i = 0; i < 16; i++)
        assert_int_equal(out[i], 0x5a5a5a5a);
}

static void test_descriptor(void **state) {
    fixture *f = *state;
    const scan_merge_desc plain = {.struct_size = sizeof plain, .type = SCAN_U32};
    scan_merge_desc d = plain;
    d.struct_size = 39;
    refused(f, d, SCAN_ERR_VERSION, "struct_size");
    d = plain, d.type = SCAN_TYPE_NONE;
    refused(f, d, SCAN_ERR_TYPE, "type");
    d = plain, d.descending = 2;
    refused(f, d, SCAN_ERR_ARGUMENT, "descending");
    d = plain, d.nan_first = 2;
    refused(f, d, SCAN_ERR_ARGUMENT, "nan_first");
    d = plain, d.value_bytes = 2;
    refused(f, d, SCAN_ERR_ARGUMENT, "value_bytes");
    d = plain, d.value_bytes = 4;
    refused(f, d, SCAN_ERR_ARGUMENT, "a_values");
    d = plain, d.reserved = 1;
    refused(f, d, SCAN_ERR_ARGUMENT, "reserved");
}

static void test_arrays(void **state) {
    fixture *f = *state;
    scan_ctx *c = f->ctx[0];
    const scan_merge_desc d = {.struct_size = sizeof d, .type = SCAN_U32};
    scan_merge_desc pairs = d;
    pairs.value_bytes = 8;
    uint32_t in[8] = {1, 2, 3, 4, 5, 6, 7, 8}, out[16];
    uint64_t values[8] = {0}, values_out[16], count = 1;
    size_t bytes;
    assert_int_equal(scan_merge(NULL, &d, in, NULL, 8, in, NULL, 8, out, NULL), SCAN_ERR_ARGUMENT);
    assert_int_equal(scan_merge(c, NULL, in, NULL, 8, in, NULL, 8, out, NULL), SCAN_ERR_ARGUMENT);
    assert_int_equal(scan_merge(c, &d, NULL, NULL, 8, in, NULL, 8, out, NULL), SCAN_ERR_ARGUMENT);
    assert_int_equal(scan_merge(c, &d, in, NULL, 8, NULL, NULL, 8, out, NULL), SCAN_ERR_ARGUMENT);
    assert_int_equal(scan_merge(c, &d, in, NULL, 8, in, NULL, 8, NULL, NULL), SCAN_ERR_ARGUMENT);
    assert_int_equal(scan_merge(c, &d, in, values, 8, in, NULL, 8, out, NULL), SCAN_ERR_ARGUMENT);
    assert_int_equal(scan_merge(c, &d, in, NULL, SIZE_MAX / 2, in, NULL, SIZE_MAX / 2, out, NULL), SCAN_ERR_ARGUMENT);
    assert_int_equal(scan_merge(c, &d, (char *)in + 1, NULL, 7, in, NULL, 8, out, NULL), SCAN_ERR_ALIGNMENT);
    assert_int_equal(scan_merge(c, &pairs, in, values, 8, in, (char *)values + 4, 7, out, values_out),
                     SCAN_ERR_ALIGNMENT);
    assert_int_equal(scan_merge(c, &d, out + 15, NULL, 1, in, NULL, 8, out + 7, NULL), SCAN_ERR_OVERLAP);
    assert_int_equal(scan_merge(c, &d, in, NULL, 8, out, NULL, 1, out, NULL), SCAN_ERR_OVERLAP);
    assert_int_equal(scan_merge(c, &pairs, in, values, 8, in, values, 8, out, out), SCAN_ERR_OVERLAP);
    assert_int_equal(scan_merge(c, &pairs, in, values_out, 8, in, values, 8, out, values_out), SCAN_ERR_OVERLAP);
    pairs.a_n_device = values_out;
    assert_int_equal(scan_merge(c, &pairs, in, values, 8, in, values, 8, out, values_out), SCAN_ERR_OVERLAP);
    pairs.a_n_device = &count;
    assert_int_equal(scan_merge(c, &pairs, in, values, 8, in, values, 8, out, values_out), SCAN_OK);
    assert_int_equal(out[8], 8);

    assert_int_equal(scan_merge(c, &d, NULL, NULL, 0, NULL, NULL, 0, NULL, NULL), SCAN_OK);
    assert_int_equal(scan_merge(c, &d, NULL, NULL, 0, in, NULL, 8, out, NULL), SCAN_OK);
    assert_memory_equal(out, in, sizeof in);
    assert_int_equal(scan_merge(c, &d, in, NULL, 8, NULL, NULL, 0, out + 1, NULL), SCAN_OK);
    assert_memory_equal(out + 1, in, sizeof in);
    assert_int_equal(scan_merge_workspace(c, &d, 8, 8, &bytes), SCAN_OK);
    assert_int_equal(bytes, 0);
    assert_int_equal(scan_merge_workspace(c, &d, 8, 8, NULL), SCAN_ERR_ARGUMENT);
    assert_int_equal(scan_merge_workspace(NULL, &d, 8, 8, &bytes), SCAN_ERR_ARGUMENT);
    assert_int_equal(scan_merge_workspace(c, NULL, 8, 8, &bytes), SCAN_ERR_ARGUMENT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small),    cmocka_unit_test(test_large),    cmocka_unit_test(test_far_apart),
        cmocka_unit_test(test_unsorted), cmocka_unit_test(test_streamed), cmocka_unit_test(test_descriptor),
        cmocka_unit_test(test_arrays),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
