/* SPDX-License-Identifier: MIT
 *
 * Input that is in order already, or in the other order, or all but two neighbours: found in blocks, reversed in
 * blocks, and ties turned round. Many ties, which in floats differ in their bits, lie anywhere in a block. And pairs
 * that are looked through for runs.
 */
#include "sort_oracle.h"

enum { MAX_N = 3600, LONG = 100037 };

typedef struct fixture {
    scan_ctx *ctx[CONTEXTS];
    uint64_t keys[MAX_N], out[MAX_N], values[MAX_N], values_out[MAX_N];
    sort_item items[MAX_N];
    uint64_t random;
} fixture;

static int set_up(void **state) {
    fixture *f = calloc(1, sizeof *f);
    contexts_create(f->ctx);
    *state = f;
    return 0;
}

static int tear_down(void **state) {
    fixture *f = *state;
    contexts_destroy(f->ctx);
    free(f);
    return 0;
}

/* Integers of few or of many values; floats with zeros and NaNs as well. */
static uint64_t data_ties(uint64_t *s, size_t i, size_t n, scan_type type) {
    const uint64_t r = random_u64(s);
    if (r % 3 == 0)
        return bits_of_double((double)(r >> 8 & 0xff) - 100, type);
    return r % 3 == 1 ? data_specials(s, i, n, type) : data_uniform(s, i, n, type);
}
/* Mostly zeros and NaNs among few numbers. */
static uint64_t data_signs(uint64_t *s, size_t i, size_t n, scan_type type) {
    (void)i, (void)n;
    const uint64_t r = random_u64(s), sign = (r & 1) << (type_bits(type) - 1);
    return r >> 1 & 1 ? sign : bits_of_double(1 - (double)(r >> 2 & 2), type);
}
/* Distinct but for one number that is there twice or a zero of each sign, and, of floats, some NaNs; the bits of these
 * ties are in the order of the places. */
static uint64_t data_distinct(uint64_t *s, size_t i, size_t n, scan_type type) {
    (void)s;
    if (type_is_float(type) && n % 2 == 0 && i + 5 > n)
        return bits_of_double(INFINITY, type) + i;
    if (n / 128 % 2 == 0)
        return bits_of_double((double)i - (i < 700 ? 300.5 : 301.5), type);
    return bits_of_double(i == 300 ? -0.0 : (double)i - (i < 300 ? 300 : 301), type);
}

static void make_keys(fixture *f, size_t n, sort_case c, distribution *data, bool reversed, bool disordered) {
    uint64_t unordered[MAX_N];
    fill(unordered, n, c.type, data, random_u64(&f->random));
    sort_oracle(f->items, unordered, n, c);
    for (size_t i = 0; i < n; i++)
        set_key_bits(f->keys, reversed ? n - 1 - i : i, c.type, key_bits(unordered, f->items[i].index, c.type));
    if (disordered && type_is_float(c.type) && random_u64(&f->random) % 2) { /* NaN at an end, perhaps the wrong one */
        const uint64_t nan = bits_of_double(INFINITY, c.type) + 1, sign = random_u64(&f->random) % 2;
        set_key_bits(f->keys, random_u64(&f->random) % 2 ? 0 : n - 1, c.type, nan | sign << (type_bits(c.type) - 1));
    } else if (disordered) {
        const size_t i = random_u64(&f->random) % n, next = i + 1 < n ? i + 1 : 0;
        const uint64_t key = key_bits(f->keys, i, c.type);
        set_key_bits(f->keys, i, c.type, key_bits(f->keys, next, c.type));
        set_key_bits(f->keys, next, c.type, key);
    }
}

/* Floats of both signs in the order of their bits as integers, or in its reverse: numbers of one sign are in the
 * other's order. */
static void make_keys_in_order_of_bits(fixture *f, size_t n, sort_case c) {
    const scan_type integers = c.type == SCAN_F32 ? SCAN_I32 : SCAN_I64;
    uint64_t unordered[MAX_N];
    for (size_t i = 0; i < n; i++)
        set_key_bits(unordered, i, c.type, bits_of_double((double)i - (double)(n / 3) + 0.5, c.type));
    sort_oracle(f->items, unordered, n,
                (sort_case){integers, random_u64(&f->random) % 2, false, 0, type_bits(integers)});
    for (size_t i = 0; i < n; i++)
        set_key_bits(f->keys, i, c.type, key_bits(unordered, f->items[i].index, c.type));
}

static void check(fixture *f, size_t n, sort_case c, uint32_t value_bytes, bool in_place) {
    scan_ctx *ctx = f->ctx[random_u64(&f->random) % CONTEXTS];
    const scan_sort_desc desc = {.struct_size = sizeof desc,
                                 .type = c.type,
                                 .descending = c.descending,
                                 .nan_first = c.nan_first,
                                 .value_bytes = value_bytes};
    uint64_t *keys = in_place ? memcpy(f->out, f->keys, sizeof f->keys) : f->keys;
    uint64_t *values = in_place ? f->values_out : f->values;
    for (size_t i = 0; i < n && value_bytes; i++)
        store_element(values, i, value_bytes, i);
    assert_int_equal(
        scan_sort(ctx, &desc, keys, f->out, value_bytes ? values : NULL, value_bytes ? f->values_out : NULL, n),
        SCAN_OK);
    for (size_t i = 0; i < n; i++) {
        const uint64_t from = f->items[i].index;
        assert_int_equal(key_bits(f->out, i, c.type), key_bits(f->keys, from, c.type));
        if (value_bytes)
            assert_int_equal(load_element(f->values_out, i, value_bytes), from);
    }
}

static void check_argsort(fixture *f, size_t n, sort_case c) {
    const scan_sort_desc desc = {
        .struct_size = sizeof desc, .type = c.type, .descending = c.descending, .nan_first = c.nan_first};
    assert_int_equal(scan_argsort(f->ctx[random_u64(&f->random) % CONTEXTS], &desc, f->keys, f->out, n), SCAN_OK);
    assert_int_equal(first_misplaced(f->items, f->keys, f->out, 4, n, c), n);
}

static void test_ordered(void **state) {
    static distribution *const data[] = {data_ties, data_signs, data_distinct};
    fixture *f = *state;
    for (unsigned round = 0; round < (FEWER ? 600 : 3000); round++) {
        const uint64_t r = random_u64(&f->random);
        const scan_type type = (scan_type)(1 + r % SCAN_TYPE_COUNT);
        const size_t any = 2 + (r >> 8) % (r >> 32 & 1 ? 300 : MAX_N - 2), n = r >> 39 & 1 ? any : any / 128 * 128 + 1;
        const sort_case c = {type, r >> 33 & 1, type_is_float(type) && r >> 34 & 1, 0, type_bits(type)};
        if (type_is_float(type) && (r >> 46) % 8 == 0)
            make_keys_in_order_of_bits(f, n, c);
        else
            make_keys(f, n, c, data[(r >> 40) % 3], r >> 35 & 1, (r >> 44) % 4 == 0);
        sort_oracle(f->items, f->keys, n, c);
        check(f, n, c, 0, r >> 36 & 1);
        check(f, n, c, r >> 37 & 1 ? 4 : 8, r >> 38 & 1);
        check_argsort(f, n, c);
    }
}

/* Keys that are one again and again, as far as a border of blocks or one further or less; then another one once, which
 * may be amid them, or again and again, or two others. */
static void test_same_at_first(void **state) {
    fixture *f = *state;
    static const scan_type types[] = {SCAN_I8, SCAN_U16, SCAN_U32, SCAN_F32, SCAN_I64, SCAN_F64};
    for (size_t same = 127; same < 3400; same += same % 128 != 1 ? 1 : same < 1290 ? 126 : 1022)
        for (unsigned k = 0; k < 36; k++) {
            const sort_case c = {types[k / 6], k & 1, false, 0, type_bits(types[k / 6])};
            const size_t n = same + (k % 3 == 0 ? 1 : 200);
            for (size_t i = 0; i < n; i++) {
                const double behind = random_u64(&f->random) % 2 && k % 3 == 2 ? 8 : k % 4 < 2 ? 3 : 9;
                set_key_bits(f->keys, i, c.type,
                             bits_of_double(i < same || (i > same && k % 6 == 4) ? 7 : behind, c.type));
            }
            sort_oracle(f->items, f->keys, n, c);
            check(f, n, c, 0, random_u64(&f->random) % 2);
            check(f, n, c, 4, random_u64(&f->random) % 2);
        }
}

/* A count in memory may leave so few pairs that one of several threads sorts them. In place the others must look at no
 * key by then: for runs, which wide pairs are looked through for. ThreadSanitizer sees whether they do. */
static void test_few_pairs_of_several_threads(void **state) {
    (void)state;
    enum { BOUND = 1 << 20, USED = 131000, THREADS = 4 };
    scan_ctx *ctx = context_with_threads(THREADS);
    uint64_t *keys = malloc(BOUND * sizeof *keys), *values = malloc(BOUND * sizeof *values), s = 5;
    const uint64_t used = USED;
    scan_sort_desc desc = {.struct_size = sizeof desc, .type = SCAN_U64, .value_bytes = 8, .n_device = &used};
    for (size_t i = 0; i < USED; i++) {
        keys[i] = random_u64(&s);
        values[i] = ~keys[i];
    }
    assert_int_equal(scan_sort(ctx, &desc, keys, keys, values, values, BOUND), SCAN_OK);
    for (size_t i = 0; i < USED; i++) {
        assert_true(i == 0 || keys[i - 1] <= keys[i]);
        assert_true(values[i] == ~keys[i]);
    }
    free(keys);
    free(values);
    scan_ctx_destroy(ctx);
}

/* What is in order is copied block by block as it is looked at, by each thread its part: here of many blocks. All is in
 * order, or all but the last two keys. */
static void check_long(uint32_t threads, size_t key_bytes, uint32_t value_bytes, bool broken) {
    enum { GUARD = 0x5c };
    scan_ctx *ctx = context_with_threads(threads);
    const scan_sort_desc desc = {
        .struct_size = sizeof desc, .type = key_bytes == 4 ? SCAN_U32 : SCAN_F64, .value_bytes = value_bytes};
    char *keys = malloc(LONG * 8), *values = malloc(LONG * 8), *out = malloc((LONG + 2) * 8),
         *values_out = malloc((LONG + 2) * 8);
    for (size_t i = 0; i < LONG; i++) {
        const size_t at = broken && i + 2 >= LONG ? 2 * LONG - 3 - i : i;
        store_element(keys, at, key_bytes, bits_of_double((double)i - (key_bytes == 8 ? 1000.5 : 0), desc.type));
        store_element(values, at, value_bytes ? value_bytes : 8, ~i);
    }
    memset(out, GUARD, (LONG + 2) * 8);
    memset(values_out, GUARD, (LONG + 2) * 8);
    assert_int_equal(scan_sort(ctx, &desc, keys, out + key_bytes, value_bytes ? values : NULL,
                               value_bytes ? values_out + value_bytes : NULL, LONG),
                     SCAN_OK);
    size_t wrong = 0;
    for (size_t i = 0; i < LONG; i++) {
        wrong += load_element(out + key_bytes, i, key_bytes) !=
                 bits_of_double((double)i - (key_bytes == 8 ? 1000.5 : 0), desc.type);
        wrong += value_bytes && load_element(values_out + value_bytes, i, value_bytes) !=
                                    (value_bytes == 4 ? (uint32_t)~i : (uint64_t)~i);
    }
    assert_int_equal(wrong, 0);
    for (size_t i = 0; i < key_bytes; i++)
        assert_true(out[i] == GUARD && out[(LONG + 1) * key_bytes + i] == GUARD);
    for (size_t i = 0; i < value_bytes; i++)
        assert_true(values_out[i] == GUARD && values_out[(LONG + 1) * value_bytes + i] == GUARD);
    free(keys);
    free(values);
    free(out);
    free(values_out);
    scan_ctx_destroy(ctx);
}

static void test_long(void **state) {
    (void)state;
    check_long(1, 4, 0, false);
    check_long(1, 8, 4, false);
    check_long(3, 4, 8, false);
    check_long(3, 8, 0, false);
    check_long(1, 8, 0, true);
    check_long(2, 4, 4, true);
}

/* Sevens, then threes and nines in turn, or one three amid them: the blocks that are compared with the first key grow.
 */
static void check_long_same(uint32_t threads, scan_type type, size_t same, bool once, bool in_place) {
    scan_ctx *ctx = context_with_threads(threads);
    const scan_sort_desc desc = {.struct_size = sizeof desc, .type = type};
    void *keys = malloc(LONG * 8), *out = in_place ? keys : malloc(LONG * 8);
    const size_t threes = once ? 1 : (LONG - same + 1) / 2, sevens = once ? LONG - 1 : same;
    size_t wrong = 0;
    for (size_t i = 0; i < LONG; i++) {
        const double behind = i == same ? 3 : once ? 7 : (i - same) % 2 ? 9 : 3;
        set_key_bits(keys, i, type, bits_of_double(i < same ? 7 : behind, type));
    }
    assert_int_equal(scan_sort(ctx, &desc, keys, out, NULL, NULL, LONG), SCAN_OK);
    for (size_t i = 0; i < LONG; i++)
        wrong += key_bits(out, i, type) != bits_of_double(i < threes ? 3 : i < threes + sevens ? 7 : 9, type);
    assert_int_equal(wrong, 0);
    if (!in_place)
        free(out);
    free(keys);
    scan_ctx_destroy(ctx);
}

static void test_long_same(void **state) {
    (void)state;
    static const scan_type types[] = {SCAN_U8, SCAN_I32, SCAN_F32, SCAN_F64};
    static const size_t same[] = {LONG - 1, LONG - 2, 3 * 16384, 3 * 16384 + 1, 40000, 8191};
    for (unsigned k = 0; k < 48; k++)
        check_long_same(k % 3 + 1, types[k % 4], same[k / 4 % 6], k % 5 < 2, k / 24);
}

/* Five values: so many keys are in order, the others are not, and are counted. */
static void check_long_few(uint32_t threads, sort_case c, size_t ordered, bool in_place, uint64_t *random) {
    enum { VALUES = 5 };
    scan_ctx *ctx = context_with_threads(threads);
    const scan_sort_desc desc = {.struct_size = sizeof desc, .type = c.type, .descending = c.descending};
    void *keys = malloc(LONG * 8), *out = in_place ? keys : malloc(LONG * 8);
    size_t counts[VALUES] = {0}, wrong = 0, at = 0;
    for (size_t i = 0; i < LONG; i++) {
        const size_t value = i < ordered ? i * VALUES / ordered : random_u64(random) % VALUES;
        set_key_bits(keys, i, c.type, bits_of_double((double)(c.descending ? VALUES - value : value + 1), c.type));
        counts[value]++;
    }
    assert_int_equal(scan_sort(ctx, &desc, keys, out, NULL, NULL, LONG), SCAN_OK);
    for (size_t value = 0; value < VALUES; value++)
        for (size_t end = at + counts[value]; at < end; at++)
            wrong += key_bits(out, at, c.type) !=
                     bits_of_double((double)(c.descending ? VALUES - value : value + 1), c.type);
    assert_int_equal(wrong, 0);
    if (!in_place)
        free(out);
    free(keys);
    scan_ctx_destroy(ctx);
}

static void test_long_few(void **state) {
    static const scan_type types[] = {SCAN_U16, SCAN_I32, SCAN_F32, SCAN_U64, SCAN_F64};
    fixture *f = *state;
    for (unsigned k = 0; k < 40; k++) {
        const sort_case c = {types[k % 5], k & 1, false, 0, type_bits(types[k % 5])};
        check_long_few(k % 3 + 1, c, 1 + random_u64(&f->random) % LONG, k / 4 % 2, &f->random);
    }
}

/* One number, then that and zeros of both signs, which keep their order; or zeros first, and then rarely. One zero in
 * so many, about, is negative. */
static void check_long_zeros(uint32_t threads, sort_case c, size_t same, bool first, unsigned minus, uint64_t *random) {
    scan_ctx *ctx = context_with_threads(threads);
    const scan_sort_desc desc = {.struct_size = sizeof desc, .type = c.type, .descending = c.descending};
    const uint64_t seven = bits_of_double(7, c.type);
    void *keys = malloc(LONG * 8);
    uint64_t *zeros = malloc(LONG * sizeof *zeros);
    size_t zeros_n = 0, wrong = 0;
    for (size_t i = 0; i < LONG; i++) {
        const uint64_t r = random_u64(random), zero = (uint64_t)((r & 0xff) % minus == 0) << (type_bits(c.type) - 1);
        const bool is_zero = i < same ? first : (r >> 8) % (first ? 4096 : 2) == 0;
        set_key_bits(keys, i, c.type, is_zero ? zero : seven);
        zeros[zeros_n] = zero;
        zeros_n += is_zero;
    }
    assert_int_equal(scan_sort(ctx, &desc, keys, keys, NULL, NULL, LONG), SCAN_OK);
    const size_t sevens_n = LONG - zeros_n, zeros_at = c.descending ? sevens_n : 0;
    for (size_t i = 0; i < LONG; i++) {
        const bool is_zero = i >= zeros_at && i < zeros_at + zeros_n;
        wrong += key_bits(keys, i, c.type) != (is_zero ? zeros[i - zeros_at] : seven);
    }
    assert_int_equal(wrong, 0);
    free(zeros);
    free(keys);
    scan_ctx_destroy(ctx);
}

static void test_long_zeros(void **state) {
    fixture *f = *state;
    for (unsigned k = 0; k < 48; k++) {
        const sort_case c = {k & 1 ? SCAN_F32 : SCAN_F64, k >> 1 & 1, false, 0, k & 1 ? 32 : 64};
        const bool first = k >> 2 & 1;
        const size_t same = (first ? 2100u << (k & 1) : 1) + random_u64(&f->random) % (first ? 1000 : LONG - 1);
        check_long_zeros(k % 3 + 1, c, same, first, k < 24 ? 2 : 250, &f->random);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ordered),
        cmocka_unit_test(test_same_at_first),
        cmocka_unit_test(test_few_pairs_of_several_threads),
        cmocka_unit_test(test_long),
        cmocka_unit_test(test_long_same),
        cmocka_unit_test(test_long_few),
        cmocka_unit_test(test_long_zeros),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
