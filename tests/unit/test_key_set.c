/* SPDX-License-Identifier: MIT
 *
 * Random sets of keys: a set is a function of its seed, however it is cut into parts, and its nodes and special values
 * are what tools/key_set.h says.
 *
 * Not with ThreadSanitizer: one thread.
 */
#include "key_support.h"

/* The root combines two streams: a is random in the lower half of the range, b is one value, which is returned. */
static uint64_t combined(key_set *s, key_node root) {
    *s = stream(KEY_ORDER_RANDOM, 1);
    s->nodes[1] = s->nodes[2] = s->nodes[0];
    s->nodes[1].maps[0] = (key_map){.kind = KEY_MAP_CLUSTERS, .count = 1, .shift = 1, .salt = 1};
    s->nodes[2].maps[0] = (key_map){.kind = KEY_MAP_DICTIONARY, .count = 1, .shift = 64, .salt = 9};
    s->nodes[1].map_count = s->nodes[2].map_count = 1;
    s->root = 2;
    fill(s);
    uint64_t value = keys[0];
    assert_true(keys[N - 1] == value);
    s->nodes[0] = root;
    s->nodes[0].n = N, s->nodes[0].a = 1, s->nodes[0].b = 2;
    s->root = 0;
    fill(s);
    return value;
}

static size_t count_of(uint64_t value, size_t begin, size_t end) {
    size_t count = 0;
    for (size_t i = begin; i < end; i++)
        count += keys[i] == value;
    return count;
}

static void nodes(void **state) {
    (void)state;
    key_set s;
    uint64_t value = combined(&s, (key_node){.kind = KEY_MIXTURE, .cut = UINT64_MAX / 5});
    assert_near((double)count_of(value, 0, N) / N, 0.8, 0.02);
    value = combined(&s, (key_node){.kind = KEY_CONCATENATION, .cut = 1234});
    assert_int_equal(count_of(value, 0, 1234), 0);
    assert_int_equal(count_of(value, 1234, N), N - 1234);
    combined(&s, (key_node){.kind = KEY_SEQUENCE, .first = 7, .stride = 3});
    for (size_t i = 0; i < N; i++)
        assert_int_equal(keys[i], 7 + 3 * i);
    uint64_t a[N];
    combined(&s, (key_node){.kind = KEY_SHIFT, .shift = 0});
    memcpy(a, keys, sizeof a);
    combined(&s, (key_node){.kind = KEY_SHIFT, .shift = 9});
    for (size_t i = 0; i < N; i++)
        assert_int_equal(keys[i], a[i] << 9);
    combined(&s, (key_node){.kind = KEY_SHIFT, .shift = -9});
    for (size_t i = 0; i < N; i++)
        assert_int_equal(keys[i], a[i] >> 9);
    combined(&s, (key_node){.kind = KEY_MASK, .mask = 0xf0f0});
    for (size_t i = 0; i < N; i++)
        assert_int_equal(keys[i], a[i] & 0xf0f0);
    value = combined(&s, (key_node){.kind = KEY_FIELDS, .mask = 0xffff});
    for (size_t i = 0; i < N; i++)
        assert_int_equal(keys[i], (a[i] & ~0xffffull) | (value & 0xffff));
    value = combined(&s, (key_node){.kind = KEY_INTERLEAVE});
    for (size_t i = 0; i < N; i += 100)
        for (unsigned bit = 0; bit < 32; bit++) {
            assert_int_equal(keys[i] >> (2 * bit + 1) & 1, a[i] >> (32 + bit) & 1);
            assert_int_equal(keys[i] >> (2 * bit) & 1, value >> (32 + bit) & 1);
        }
}

static void special_values(void **state) {
    (void)state;
    for (unsigned kind = 0; kind < 6; kind++) {
        key_set s = stream(KEY_ORDER_RANDOM, 1);
        s.type = SCAN_F64;
        s.nodes[0].coding = KEY_REAL;
        s.specials = 1u << kind, s.special_share = UINT64_MAX / 4, s.salt = 11;
        size_t found = 0;
        for (uint64_t i = 0; i < N; i++) {
            double x = float_key(&s, i);
            const bool expected[] = {isnan(x) != 0,     x == 0 && signbit(x), x == 0 && !signbit(x),
                                     isinf(x) && x > 0, isinf(x) && x < 0,    fpclassify(x) == FP_SUBNORMAL};
            found += expected[kind];
        }
        assert_near((double)found / N, 0.25, 0.02);
    }
}

/* ---- sets -------------------------------------------------------------------------------------------------------- */

/* Draws sets of every type from one seed. Parts of a set are the same as the whole, and all sets together have the hash
 * that they have on every machine. NaN come as special values only. */
static void sets_depend_on_the_seed_alone(void **state) {
    (void)state;
    uint64_t random = 1, all = 0;
    for (size_t repeat = 0; repeat < 300; repeat++) {
        key_set s;
        char whole[8 * 600], parts[8 * 600], text[400];
        const scan_type type = (scan_type)(1 + repeat % SCAN_TYPE_COUNT);
        const size_t size = size_of_type(type), n = 1 + repeat * 2 % 600;
        key_set_draw(&s, type, n, &random);
        key_set_describe(&s, text, sizeof text);
        assert_true(strlen(text) > 3);
        key_set_fill(&s, 0, n, whole);
        for (size_t i = 0, length = 1; i < n; i += length, length = 1 + (i * 7 + 3) % 290)
            key_set_fill(&s, i, length < n - i ? length : n - i, parts + i * size);
        assert_memory_equal(whole, parts, n * size);
        for (size_t i = 0; i < n; i++) {
            all = random_mix(all ^ load_element(whole, i, size));
            if (type_is_float(type) && (s.specials & KEY_NAN) == 0)
                assert_true(float_key(&s, i) == float_key(&s, i));
        }
    }
    assert_int_equal(all, 0xd98ddb0c7c799fcf);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes),
        cmocka_unit_test(special_values),
        cmocka_unit_test(sets_depend_on_the_seed_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
