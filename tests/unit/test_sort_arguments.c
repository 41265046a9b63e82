/* SPDX-License-Identifier: MIT
 *
 * scan_sort and scan_argsort: what is refused and with which words, the workspace's bounds, lent workspaces of exactly
 * the reported size, methods.
 *
 * Not with ThreadSanitizer: test_sort has its threads.
 */
#include "sort_oracle.h"

static const scan_sort_desc plain = {.struct_size = sizeof plain, .type = SCAN_U32};

typedef struct fixture {
    scan_ctx *ctx;
    uint32_t in[64], out[64], values_in[64], values_out[64];
} fixture;

static int set_up(void **state) {
    fixture *f = calloc(1, sizeof *f);
    f->ctx = context_with_threads(2);
    for (uint32_t i = 0; i < 64; i++)
        f->in[i] = i * 7919 % 64;
    *state = f;
    return 0;
}

static int tear_down(void **state) {
    fixture *f = *state;
    scan_ctx_destroy(f->ctx);
    free(f);
    return 0;
}

/* A refused call returns the status, gives the reason, and does not change the output. */
static void refused(fixture *f, scan_sort_desc desc, scan_status expected, const char *word) {
    memset(f->out, 0x5a, sizeof f->out);
    assert_int_equal(scan_sort(f->ctx, &desc, f->in, f->out, NULL, NULL, 64), expected);
    if (!strstr(scan_ctx_detail(f->ctx), word))
        fail_msg("\"%s\" does not mention %s", scan_ctx_detail(f->ctx), word);
    for (int i = 0; i < 64; i++)
        assert_int_equal(f->out[i], 0x5a5a5a5a);
}

static void test_descriptor(void **state) {
    fixture *f = *state;
    scan_sort_desc d = plain;
    assert_int_equal(scan_sort(NULL, &d, f->in, f->out, NULL, NULL, 64), SCAN_ERR_ARGUMENT);
    assert_int_equal(scan_sort(f->ctx, NULL, f->in, f->out, NULL, NULL, 64), SCAN_ERR_ARGUMENT);
    d.struct_size = 4;
    refused(f, d, SCAN_ERR_VERSION, "struct_size");
    d = plain, d.type = SCAN_TYPE_NONE;
    refused(f, d, SCAN_ERR_TYPE, "type");
    d = plain, d.type = (scan_type)11;
    refused(f, d, SCAN_ERR_TYPE, "type");
    d = plain, d.descending = 2;
    refused(f, d, SCAN_ERR_ARGUMENT, "descending");
    d = plain, d.nan_first = 7;
    refused(f, d, SCAN_ERR_ARGUMENT, "nan_first");
    d = plain, d.value_bytes = 3;
    refused(f, d, SCAN_ERR_ARGUMENT, "value_bytes");
    d = plain, d.reserved = 1;
    refused(f, d, SCAN_ERR_ARGUMENT, "reserved");
    d = plain, d.method = (scan_sort_method)5;
    refused(f, d, SCAN_ERR_ARGUMENT, "method");
    d = plain, d.end_bit = 33;
    refused(f, d, SCAN_ERR_ARGUMENT, "end_bit");
    d = plain, d.begin_bit = 33;
    refused(f, d, SCAN_ERR_ARGUMENT, "begin_bit");
    d = plain, d.begin_bit = 9, d.end_bit = 8;
    refused(f, d, SCAN_ERR_ARGUMENT, "begin_bit");
    d = plain, d.type = SCAN_F32, d.begin_bit = 1;
    refused(f, d, SCAN_ERR_ARGUMENT, "floats");
    d = plain, d.method = SCAN_SORT_SPLIT;
    refused(f, d, SCAN_ERR_ALGORITHM, "split");
    d = plain, d.method = SCAN_SORT_SAMPLE;
    refused(f, d, SCAN_ERR_ALGORITHM, "sample");
    d = plain, d.method = SCAN_SORT_QUICK, d.begin_bit = 1;
    refused(f, d, SCAN_ERR_ALGORITHM, "quick");
    d = plain, d.type = SCAN_U8, d.method = SCAN_SORT_QUICK;
    refused(f, d, SCAN_ERR_ALGORITHM, "quick");
}

static void test_arrays(void **state) {
    fixture *f = *state;
    scan_sort_desc d = plain, pairs = plain;
    pairs.value_bytes = 4;
    scan_ctx *c = f->ctx;
    char *odd = (char *)f->in + 1;
    assert_int_equal(scan_sort(c, &d, NULL, f->out, NULL, NULL, 9), SCAN_ERR_ARGUMENT);
    assert_int_equal(scan_sort(c, &d, f->in, NULL, NULL, NULL, 9), SCAN_ERR_ARGUMENT);
    assert_int_equal(scan_sort(c, &d, odd, f->out, NULL, NULL, 9), SCAN_ERR_ALIGNMENT);
    assert_int_equal(scan_sort(c, &d, f->in, f->in + 1, NULL, NULL, 9), SCAN_ERR_OVERLAP);
    assert_int_equal(scan_sort(c, &d, f->in + 8, f->in, NULL, NULL, 9), SCAN_ERR_OVERLAP);
    assert_int_equal(scan_sort(c, &d, f->in, f->out, f->values_in, NULL, 9), SCAN_ERR_ARGUMENT);
    assert_int_equal(scan_sort(c, &pairs, f->in, f->out, NULL, f->values_out, 9), SCAN_ERR_ARGUMENT);
    assert_int_equal(scan_sort(c, &pairs, f->in, f->out, f->values_in, NULL, 9), SCAN_ERR_ARGUMENT);
    assert_int_equal(scan_sort(c, &pairs, f->in, f->out, f->values_in, f->values_in + 3, 9), SCAN_ERR_OVERLAP);
    assert_int_equal(scan_sort(c, &pairs, f->in, f->out, f->values_in, f->out, 9), SCAN_ERR_OVERLAP);
    assert_int_equal(scan_sort(c, &pairs, f->in, f->out, f->out, f->values_out, 9), SCAN_ERR_OVERLAP);
    assert_int_equal(scan_sort(c, &pairs, f->in, f->out, f->values_in, f->in, 9), SCAN_ERR_OVERLAP);
    assert_int_equal(scan_sort(c, &d, f->in, f->out, NULL, NULL, SIZE_MAX), SCAN_ERR_ARGUMENT);
    assert_int_equal(scan_sort(c, &d, NULL, NULL, NULL, NULL, 0), SCAN_OK);
    assert_int_equal(scan_sort(c, &pairs, NULL, NULL, NULL, NULL, 0), SCAN_OK);

    scan_sort_desc counted = pairs;
    counted.n_device = (const uint64_t *)(const void *)f->out;
    assert_int_equal(scan_sort(c, &counted, f->in, f->out, f->values_in, f->values_out, 9), SCAN_ERR_OVERLAP);
    assert_int_equal(scan_argsort(c, &counted, f->in, f->out, 9), SCAN_ERR_OVERLAP);
    counted.n_device = (const uint64_t *)(const void *)f->values_out;
    assert_int_equal(scan_sort(c, &counted, f->in, f->out, f->values_in, f->values_out, 9), SCAN_ERR_OVERLAP);
    counted.n_device = (const uint64_t *)(const void *)((char *)f->values_in + 4);
    assert_int_equal(scan_sort(c, &counted, f->in, f->out, f->values_in, f->values_out, 9), SCAN_ERR_ALIGNMENT);

    assert_int_equal(scan_argsort(NULL, &d, f->in, f->out, 9), SCAN_ERR_ARGUMENT);
    assert_int_equal(scan_argsort(c, &d, f->in, f->in, 9), SCAN_ERR_OVERLAP);
    assert_int_equal(scan_argsort(c, &d, f->in, NULL, 9), SCAN_ERR_ARGUMENT);
    assert_int_equal(scan_argsort(c, &d, NULL, NULL, 0), SCAN_OK);
    d.index_type = SCAN_I32;
    assert_int_equal(scan_argsort(c, &d, f->in, f->out, 9), SCAN_ERR_TYPE);
    d.index_type = SCAN_U64;
    assert_int_equal(scan_argsort(c, &d, f->in, (char *)f->out + 4, 9), SCAN_ERR_ALIGNMENT);
    d.index_type = SCAN_U32;
    assert_int_equal(scan_argsort(c, &d, f->in, f->out, (size_t)1 << 33), SCAN_ERR_ARGUMENT);
    d = plain, d.method = SCAN_SORT_QUICK;
    assert_int_equal(scan_argsort(c, &d, f->in, f->out, 9), SCAN_ERR_ALGORITHM);
}

static scan_sort_desc random_desc(uint64_t *random, bool argsort) {
    scan_sort_desc d = plain;
    d.type = (scan_type)(1 + random_u64(random) % SCAN_TYPE_COUNT);
    d.descending = random_u64(random) & 1;
    d.value_bytes = argsort ? 0 : (uint32_t)(random_u64(random) % 3 * 4);
    d.index_type = random_u64(random) & 1 ? SCAN_U32 : SCAN_U64;
    return d;
}

/* Keys and pairs: 1.1 times the data, plus 4 MiB. Argsort: 1.6 times keys and indices, plus 4 MiB. */
static void test_workspace_bounds(void **state) {
    (void)state;
    uint64_t random = 3;
    static const uint32_t threads[] = {1, 2, 7, 64};
    for (int t = 0; t < 4; t++) {
        scan_ctx *ctx = context_with_threads(threads[t]);
        for (int round = 0; round < 3000; round++) {
            size_t n = random_u64(&random) >> (24 + random_u64(&random) % 40), bytes;
            bool argsort = round & 1;
            scan_sort_desc d = random_desc(&random, argsort);
            size_t key = scan_type_size(d.type);
            if (argsort) {
                if (d.index_type == SCAN_U32 && n > UINT32_MAX)
                    d.index_type = SCAN_U64;
                assert_int_equal(scan_argsort_workspace(ctx, &d, n, &bytes), SCAN_OK);
                double data = (double)n * (double)(key + scan_type_size(d.index_type));
                assert_true((double)bytes <= 1.6 * data + (4 << 20));
            } else {
                assert_int_equal(scan_sort_workspace(ctx, &d, n, &bytes), SCAN_OK);
                double data = (double)n * (double)(key + d.value_bytes);
                assert_true((double)bytes <= 1.1 * data + (4 << 20));
            }
        }
        scan_ctx_destroy(ctx);
    }
}

/* An argsort, whose indices are used to check the order; or a sort, of which only the order is checked. */
static scan_status run(scan_ctx *ctx, const scan_sort_desc *d, bool argsort, const void *keys, void *out, void *values,
                       size_t n) {
    return argsort ? scan_argsort(ctx, d, keys, values, n)
                   : scan_sort(ctx, d, keys, out, d->value_bytes ? values : NULL, d->value_bytes ? values : NULL, n);
}

static void test_lent_workspace(void **state) {
    (void)state;
    uint64_t random = 5;
    enum { MAX_N = 400000 };
    guarded workspace = guarded_create(40 << 20);
    char *keys = malloc(8 * MAX_N), *out = malloc(8 * MAX_N), *values = calloc(8, MAX_N), *before = malloc(8 * MAX_N);
    for (int round = 0; round < 120; round++) {
        scan_ctx *ctx = context_with_threads(1 + (uint32_t)(round % 4));
        bool argsort = round & 1;
        scan_sort_desc d = random_desc(&random, argsort);
        size_t n = random_u64(&random) % (round % 3 ? 3000 : MAX_N), bytes, size = scan_type_size(d.type);
        fill(keys, n, d.type, distributions[round % DISTRIBUTIONS], random_u64(&random));
        assert_int_equal((argsort ? scan_argsort_workspace : scan_sort_workspace)(ctx, &d, n, &bytes), SCAN_OK);
        char *memory = (char *)((uintptr_t)guarded_end(workspace, bytes) / 256 * 256);
        if (bytes > 256) {
            memset(out, 0x77, n * size);
            memcpy(before, values, 8 * n);
            assert_int_equal(scan_ctx_lend(ctx, memory, bytes - 1), SCAN_OK);
            assert_int_equal(run(ctx, &d, argsort, keys, out, values, n), SCAN_ERR_WORKSPACE);
            assert_memory_equal(values, before, 8 * n);
        }
        assert_int_equal(scan_ctx_lend(ctx, memory, bytes), SCAN_OK);
        assert_int_equal(run(ctx, &d, argsort, keys, out, values, n), SCAN_OK);
        sort_item *items = malloc((n + 1) * sizeof *items);
        sort_oracle(items, keys, n, (sort_case){d.type, d.descending, false, 0, type_bits(d.type)});
        for (size_t i = 0; i < n; i++)
            if (argsort)
                assert_memory_equal(values + i * scan_type_size(d.index_type), &items[i].index,
                                    scan_type_size(d.index_type));
            else
                assert_int_equal(key_bits(out, i, d.type), key_bits(keys, items[i].index, d.type));
        free(items);
        scan_ctx_destroy(ctx);
    }
    free(keys), free(out), free(values), free(before);
    guarded_destroy(workspace);
}

static void test_what_ran(void **state) {
    fixture *f = *state;
    scan_sort_desc d = plain;
    d.method = SCAN_SORT_RADIX;
    assert_int_equal(scan_sort(f->ctx, &d, f->in, f->out, NULL, NULL, 64), SCAN_OK);
    assert_memory_equal(scan_ctx_ran(f->ctx), "radix ", 6);
    d.method = SCAN_SORT_QUICK;
    scan_info info = {.struct_size = sizeof info};
    assert_int_equal(scan_ctx_info(f->ctx, &info), SCAN_OK);
    if (strcmp(info.name, "cpu portable") != 0) {
        assert_int_equal(scan_sort(f->ctx, &d, f->in, f->out, NULL, NULL, 64), SCAN_OK);
        assert_memory_equal(scan_ctx_ran(f->ctx), "quick avx", 9);
        for (uint32_t i = 0; i < 64; i++)
            assert_int_equal(f->out[i], i);
    } else {
        refused(f, d, SCAN_ERR_ALGORITHM, "quick");
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_descriptor),     cmocka_unit_test(test_arrays),   cmocka_unit_test(test_workspace_bounds),
        cmocka_unit_test(test_lent_workspace), cmocka_unit_test(test_what_ran),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
