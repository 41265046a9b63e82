/* SPDX-License-Identifier: MIT
 *
 * The parts of a stream of random keys: each order, map and coding makes what tools/key_set.h says.
 */
#include "key_support.h"

static bool ascends(size_t begin, size_t end, size_t stride) {
    for (size_t i = begin + stride; i < end; i += stride)
        if (keys[i] < keys[i - stride])
            return false;
    return true;
}

/* How many of the keys lie below a 64-bit fraction of the range. */
static double share_below(double fraction) {
    size_t below = 0;
    for (size_t i = 0; i < N; i++)
        below += (double)keys[i] < fraction * 0x1p64;
    return (double)below / N;
}

static int compare_u64(const void *left, const void *right) {
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

static size_t distinct(void) {
    qsort(keys, N, sizeof *keys, compare_u64);
    size_t count = 1;
    for (size_t i = 1; i < N; i++)
        count += keys[i] != keys[i - 1];
    return count;
}

/* ---- orders ------------------------------------------------------------------------------------------------------ */

static void orders_of_the_whole(void **state) {
    (void)state;
    key_set s = stream(KEY_ORDER_RANDOM, 1);
    fill(&s);
    assert_near(share_below(0.25), 0.25, 0.02);
    assert_false(ascends(0, 20, 1));
    assert_int_equal(distinct(), N);
    s = stream(KEY_ORDER_SORTED, 1);
    fill(&s);
    assert_true(ascends(0, N, 1) && keys[0] < keys[N - 1]);
    assert_near(share_below(0.3), 0.3, 0.001);
    s = stream(KEY_ORDER_REVERSED, 1);
    fill(&s);
    for (size_t i = 1; i < N; i++)
        assert_true(keys[i] < keys[i - 1]);
    s = stream(KEY_ORDER_ROTATED, 777);
    fill(&s);
    assert_true(ascends(0, N - 777, 1) && ascends(N - 777, N, 1) && keys[N - 777] < keys[0]);
    s = stream(KEY_ORDER_ORGAN_PIPE, 1);
    fill(&s);
    assert_true(ascends(0, N / 2, 1));
    for (size_t i = N / 2 + 1; i < N; i++)
        assert_true(keys[i] < keys[i - 1]);
    assert_int_equal(distinct(), N);
}

static void orders_of_parts(void **state) {
    (void)state;
    key_set s = stream(KEY_ORDER_RUNS, 100);
    fill(&s);
    for (size_t i = 0; i < N; i += 100)
        assert_true(ascends(i, i + 100, 1) && (i == 0 || keys[i] < keys[i - 1]));
    assert_true(keys[5] != keys[105]);
    for (int periodic = 0; periodic < 2; periodic++) {
        s = stream(periodic ? KEY_ORDER_PERIODIC : KEY_ORDER_SAW, 100);
        fill(&s);
        assert_true(ascends(0, 100, 1) != periodic);
        for (size_t i = 100; i < N; i++)
            assert_int_equal(keys[i], keys[i - 100]);
        assert_int_equal(distinct(), 100);
    }
    s = stream(KEY_ORDER_MERGED, 8);
    fill(&s);
    for (size_t r = 0; r < 8; r++)
        assert_true(ascends(r, N, 8) && (r == 0 || keys[r] > keys[N - 9 + r]));
    s = stream(KEY_ORDER_REPEATED, 25);
    fill(&s);
    for (size_t i = 0; i < N; i++)
        assert_int_equal(keys[i], keys[i / 25 * 25]);
    assert_int_equal(distinct(), N / 25);
}

static void orders_with_noise(void **state) {
    (void)state;
    key_set s = stream(KEY_ORDER_JITTERED, 50);
    fill(&s);
    assert_false(ascends(0, N, 1));
    for (size_t i = 0; i < N; i++) {
        double place = (double)keys[i] / 0x1p64 * N; /* up to 50 later, but none after the last */
        assert_true(place > (double)i - 0.01 && place < (double)i + 51);
    }
    s = stream(KEY_ORDER_NEARLY, 40);
    fill(&s);
    size_t strays = 0;
    for (size_t i = 0; i < N; i++)
        strays += fabs((double)keys[i] / 0x1p64 * N - (double)i) > 2;
    assert_near((double)strays / N, 1.0 / 40, 0.005);
}

/* ---- maps -------------------------------------------------------------------------------------------------------- */

static key_set mapped(key_map map) {
    key_set s = stream(KEY_ORDER_RANDOM, 1);
    s.nodes[0].map_count = 1;
    s.nodes[0].maps[0] = map;
    return s;
}

static void maps_are_monotone(void **state) {
    (void)state;
    uint64_t random = 3;
    for (int repeat = 0; repeat < 200; repeat++) {
        key_set s;
        key_set_draw(&s, SCAN_U64, 1000, &random);
        for (unsigned m = 0; m < s.nodes[0].map_count; m++) {
            const key_map *map = &s.nodes[0].maps[m];
            uint64_t last = key_map_value(map, 0), u = 0;
            for (uint64_t step = random_below(&random, 1 << 30) << 22 | 1; u < UINT64_MAX - step; u += step) {
                uint64_t y = key_map_value(map, u + step);
                if (y < last)
                    fail_msg("map %d, count %ju, falls at %ju", map->kind, (uintmax_t)map->count, (uintmax_t)u);
                last = y;
            }
            assert_true(key_map_value(map, UINT64_MAX) >= last);
        }
    }
}

static void maps_of_repeats(void **state) {
    (void)state;
    key_set s = mapped((key_map){.kind = KEY_MAP_DICTIONARY, .count = 300, .shift = 64});
    fill(&s);
    assert_near(share_below(0.5), 0.5, 0.02);
    assert_int_equal(distinct(), 300);
    s = mapped((key_map){.kind = KEY_MAP_HEAVY, .share = UINT64_MAX / 4 * 3, .begin = UINT64_MAX / 8});
    fill(&s);
    size_t distinct_keys = distinct(), equal = 0; /* sorted now */
    for (size_t i = 1; i < N; i++)
        equal += keys[i] == keys[i - 1];
    assert_near((double)equal / N, 0.75, 0.02);
    assert_int_equal(distinct_keys, N - equal);
    assert_near((double)keys[N / 2] * 0x1p-64, 0.5, 0.01); /* one half of what is left comes before the value */
}

static void maps_of_densities(void **state) {
    (void)state;
    key_set s = mapped((key_map){.kind = KEY_MAP_CLUSTERS, .count = 10, .shift = 20});
    fill(&s);
    qsort(keys, N, sizeof *keys, compare_u64);
    size_t gaps = 0;
    for (size_t i = 1; i < N; i++)
        gaps += keys[i] - keys[i - 1] > UINT64_MAX / 10 >> 20;
    assert_int_equal(gaps, 9);
    s = mapped((key_map){.kind = KEY_MAP_POWER, .count = 3});
    fill(&s);
    assert_near(share_below(0.125), 0.5, 0.02);
    s.nodes[0].maps[0].mirrored = true;
    fill(&s);
    assert_near(share_below(0.875), 0.5, 0.02);
    s = mapped((key_map){.kind = KEY_MAP_OCTAVES, .count = 8});
    fill(&s);
    for (int octave = 0; octave <= 8; octave++)
        assert_near(share_below(ldexp(1, octave - 8)), octave / 8.0, 0.02);
    assert_near(share_below(0.75), 15.0 / 16, 0.02); /* flat inside */
    s = mapped((key_map){.kind = KEY_MAP_BELL});
    fill(&s);
    double sum = 0, squares = 0, within = 0;
    for (size_t i = 0; i < N; i++) {
        double x = (double)keys[i] * 0x1p-63 - 1;
        sum += x, squares += x * x;
    }
    double deviation = sqrt(squares / N);
    for (size_t i = 0; i < N; i++)
        within += fabs((double)keys[i] * 0x1p-63 - 1) < deviation;
    assert_near(sum / N, 0, 0.01);
    assert_near(within / N, 0.6827, 0.02);
    assert_near(deviation, 0.18, 0.01);
}

/* ---- codings ----------------------------------------------------------------------------------------------------- */

static void codings_of_floats(void **state) {
    (void)state;
    for (scan_type type = SCAN_F32; type <= SCAN_F64; type++) {
        key_set s = stream(KEY_ORDER_SORTED, 1);
        key_node *node = &s.nodes[0];
        s.type = type;
        for (uint64_t i = 1, zeros = 0; i < N; i++) { /* ranks: all floats of the type in their order */
            double x = float_key(&s, i);
            zeros += x == 0;
            assert_true(x >= float_key(&s, i - 1) && zeros < 2);
        }
        assert_true(float_key(&s, 0) < -1e38 && float_key(&s, N - 1) > 1e38 && fabs(float_key(&s, N / 2)) < 1e-30);
        node->coding = KEY_REAL, node->exponent = 3, node->centred = true;
        assert_near(float_key(&s, 0), -8, 0.001);
        assert_near(float_key(&s, N / 4), -4, 0.001);
        assert_near(float_key(&s, N - 1), 8, 0.001);
        node->exponent = -4, node->centred = false;
        assert_near(float_key(&s, N / 2), 1.0 / 32, 1e-5);
        node->coding = KEY_DECIMAL, node->bits = 9;
        for (uint64_t i = 0; i < N; i += 7) {
            double x = float_key(&s, i);
            assert_true(x == (type == SCAN_F64 ? rint(x * 100) / 100 : (double)(float)(rint(x * 100) / 100)));
        }
        assert_near(float_key(&s, N - 1), 5.11, 1e-6);
        node->coding = KEY_NATURAL, node->offset = 1000;
        assert_true(float_key(&s, 0) == 1000 && float_key(&s, N - 1) == 1511);
    }
}

static void codings_of_integers(void **state) {
    (void)state;
    key_set s = stream(KEY_ORDER_SORTED, 1);
    int16_t narrow[N];
    s.type = SCAN_I16;
    key_set_fill(&s, 0, N, narrow);
    assert_true(narrow[0] < INT16_MIN + 4 && narrow[N - 1] > INT16_MAX - 4); /* 3.3 values to a key */
    assert_true(narrow[N / 2] >= 0 && narrow[N / 2] < 4);
    s.nodes[0].coding = KEY_NATURAL, s.nodes[0].bits = 6, s.nodes[0].shift = 2, s.nodes[0].offset = (uint64_t)-5;
    key_set_fill(&s, 0, N, narrow);
    for (size_t i = 0; i < N; i++)
        assert_true(narrow[i] >= -5 && narrow[i] < 256 - 5 && (narrow[i] + 5) % 4 == 0);
    assert_true(narrow[0] == -5 && narrow[N - 1] == 252 - 5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(orders_of_the_whole), cmocka_unit_test(orders_of_parts),
        cmocka_unit_test(orders_with_noise),   cmocka_unit_test(maps_are_monotone),
        cmocka_unit_test(maps_of_repeats),     cmocka_unit_test(maps_of_densities),
        cmocka_unit_test(codings_of_floats),   cmocka_unit_test(codings_of_integers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
