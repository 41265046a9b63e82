/* SPDX-License-Identifier: MIT
 *
 * The functions that sort's verification uses (wrong orders and wrong hashes must be found), and rows written in an
 * order of 32- and 64-bit indices, of all sizes, by several threads.
 */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "apps/sort/order_merge.h"
#include "apps/sort/row_check.h"
#include "apps/support/output.h"
#include "apps/support/parallel.h"
#include "apps/support/rows.h"

/* ---- orders ------------------------------------------------------------------------------------------------------ */

enum { ROWS = 200000, PIECE = 1 << 16 };

static void test_first_disorder(void **state) {
    (void)state;
    double *data = malloc(ROWS * sizeof *data);
    static const size_t places[] = {1, 2, PIECE - 1, PIECE, PIECE + 1, 2 * PIECE, ROWS - 1};
    for (size_t i = 0; i < ROWS; i++)
        data[i] = (double)i;
    order_key key = {.type = SCAN_F64, .data = data};
    order o = {.keys = &key, .key_count = 1, .n = ROWS};
    for (unsigned threads = 1; threads <= 7; threads += 2) {
        assert_true(order_first_disorder(&o, true, threads) == ORDER_NONE);
        for (size_t p = sizeof places / sizeof places[0]; p-- > 0;) {
            size_t place = places[p];
            data[place] = data[place - 1];
            assert_true(order_first_disorder(&o, false, threads) == ORDER_NONE);
            assert_true(order_first_disorder(&o, true, threads) == place);
            assert_true(order_find_runs(&o, NULL, threads) == ROWS - 1);
            data[place] = -1;
            assert_true(order_first_disorder(&o, false, threads) == place);
            data[place] = (double)place;
        }
    }
    free(data);
}

/* Sources of few distinct keys, of which some have more rows than are here. By counting: a row is cut off if any source
 * that has more ends, in (key, source), before it. */
static void test_cuts_of_a_merge(void **state) {
    (void)state;
    enum { SOURCES = 5, MOST = 12 };
    uint64_t seed = 7;
    for (int round = 0; round < 2000; round++) {
        uint8_t keys[SOURCES * MOST];
        merge_range ranges[SOURCES];
        size_t n = 0;
        const bool down = random_u64(&seed) % 2;
        for (size_t s = 0; s < SOURCES; s++) {
            ranges[s] = (merge_range){.begin = n, .more = random_u64(&seed) % 3 > 0};
            size_t rows = random_u64(&seed) % MOST + ranges[s].more;
            int step = down ? -1 : 1, key = down ? 20 : 0;
            for (rows = rows < MOST ? rows : MOST; rows > 0; rows--)
                keys[n++] = (uint8_t)(key += step * (int)(random_u64(&seed) % 3));
            ranges[s].end = n;
        }
        order_key key = {.type = SCAN_U8, .data = keys, .descending = down};
        merge_cut(&(order){.keys = &key, .key_count = 1, .n = n}, ranges, SOURCES);
        for (size_t s = 0; s < SOURCES; s++) {
            for (size_t i = ranges[s].begin; i < ranges[s].end; i++) {
                bool waits = false;
                for (size_t t = 0; t < SOURCES; t++) {
                    int last = ranges[t].more ? keys[ranges[t].end - 1] : 0, own = keys[i];
                    waits |= ranges[t].more && ((down ? last > own : last < own) || (last == own && t < s));
                }
                assert_int_equal(i >= ranges[s].cut, waits);
            }
        }
    }
}

static void test_nan(void **state) {
    (void)state;
    float last[] = {-INFINITY, -0.0f, 0.0f, INFINITY, NAN, -NAN}, first[] = {NAN, INFINITY, 1, 1, -INFINITY};
    order_key keys[] = {{.type = SCAN_F32, .data = last},
                        {.type = SCAN_F32, .data = first, .descending = true, .nan_first = true}};
    order up = {.keys = &keys[0], .key_count = 1, .n = 6}, down = {.keys = &keys[1], .key_count = 1, .n = 5};
    assert_true(order_first_disorder(&up, false, 1) == ORDER_NONE);
    assert_true(order_first_disorder(&up, true, 1) == 2);
    assert_true(order_find_runs(&up, NULL, 1) == 4);
    assert_true(order_first_nan(&keys[0], 6, 1) == 4);
    assert_true(order_first_nan(&keys[0], 4, 1) == ORDER_NONE);
    assert_true(order_first_disorder(&down, false, 1) == ORDER_NONE);
    keys[0].nan_first = true;
    assert_true(order_first_disorder(&up, false, 1) == 4);
}

static void test_permutation(void **state) {
    (void)state;
    uint32_t narrow[1000];
    uint64_t wide[1000], seed = 1;
    for (size_t i = 0; i < 1000; i++)
        narrow[i] = (uint32_t)i;
    for (size_t i = 999; i > 0; i--) {
        size_t k = random_u64(&seed) % (i + 1);
        uint32_t moved = narrow[i];
        narrow[i] = narrow[k];
        narrow[k] = moved;
    }
    for (size_t i = 0; i < 1000; i++)
        wide[i] = narrow[i];
    order o = {.n = 1000, .type = SCAN_U32, .index = narrow};
    order w = {.n = 1000, .type = SCAN_U64, .index = wide};
    assert_true(order_is_permutation(&o) && order_is_permutation(&w));
    narrow[500] = narrow[501];
    wide[500] = 1000;
    assert_false(order_is_permutation(&o));
    assert_false(order_is_permutation(&w));
}

static void test_hashes(void **state) {
    (void)state;
    uint64_t seed = 2;
    for (int t = 1; scan_type_name((scan_type)t); t++) {
        size_t size = scan_type_size((scan_type)t), n = 3 * PIECE / 2;
        unsigned char *data = malloc(n * size), *moved = malloc(n * size);
        for (size_t i = 0; i < n * size; i++)
            data[i] = (unsigned char)random_u64(&seed);
        for (size_t i = 0; i < n; i++)
            memcpy(moved + i * size, data + (n - 1 - i) * size, size);
        uint64_t hash = order_hash((scan_type)t, data, n, 2);
        assert_true(hash == order_hash((scan_type)t, moved, n, 3));
        moved[random_u64(&seed) % (n * size)] ^= 1;
        assert_true(hash != order_hash((scan_type)t, moved, n, 1));
        free(moved);
        free(data);
    }
    const unsigned char a[] = "12\n3\n\n456789012\n", b[] = "456789012\n\n12\n3\n", c[] = "456789012\n\n123\n\n";
    assert_true(rows_line_hash(a, sizeof a - 1, 1) == rows_line_hash(b, sizeof b - 1, 1));
    assert_true(rows_line_hash(a, sizeof a - 1, 1) != rows_line_hash(c, sizeof c - 1, 1));
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static char folder[4000];

/* Returns what rows_write has written; the caller frees it. */
static unsigned char *written(const rows *from, const void *order, scan_type type, size_t n, unsigned threads,
                              size_t *bytes) {
    char path[sizeof folder + 4];
    snprintf(path, sizeof path, "%s/out", folder);
    output *out = output_open(path, true, false);
    rows_write(out, from, order, type, n, threads);
    output_commit_all();
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    *bytes = (size_t)ftell(file);
    rewind(file);
    unsigned char *data = malloc(*bytes + 1);
    assert_true(fread(data, 1, *bytes, file) == *bytes);
    fclose(file);
    return data;
}

static void check_rows(size_t n, size_t longest, bool one_is_huge, unsigned threads) {
    uint64_t seed = n + longest, *starts = malloc((n + 1) * sizeof *starts), *wide = malloc((n + 1) * sizeof *wide);
    uint32_t *narrow = malloc((n + 1) * sizeof *narrow);
    starts[0] = 5;
    for (size_t i = 0; i < n; i++) {
        size_t huge = one_is_huge && i == n / 2 ? 33u << 20 : 0;
        starts[i + 1] = starts[i] + 1 + random_u64(&seed) % longest + huge;
        wide[i] = narrow[i] = (uint32_t)(random_u64(&seed) % n);
        if (one_is_huge && wide[i] == n / 2) /* it is written once */
            wide[i] = narrow[i] = 0;
    }
    if (n)
        wide[n - 1] = narrow[n - 1] = (uint32_t)(n / 2);
    unsigned char *bytes = malloc(starts[n] + 1), *expected;
    for (size_t i = 0; i < starts[n]; i++)
        bytes[i] = (unsigned char)('a' + i % 23);
    size_t total = 0;
    for (size_t i = 0; i < n; i++) {
        bytes[starts[i + 1] - 1] = '\n';
        total += starts[wide[i] + 1] - starts[wide[i]];
    }
    unsigned char *to = expected = malloc(total + 1);
    for (size_t i = 0; i < n; i++) {
        size_t length = starts[wide[i] + 1] - starts[wide[i]];
        memcpy(to, bytes + starts[wide[i]], length);
        to += length;
    }
    uint64_t hash = 0, hash_64 = 0;
    size_t got;
    unsigned char *result = written(&(rows){bytes, starts, &hash}, narrow, SCAN_U32, n, threads, &got);
    assert_true(got == total && memcmp(result, expected, total) == 0);
    assert_true(hash == rows_line_hash(expected, total, 2));
    free(result);
    result = written(&(rows){bytes, starts, &hash_64}, wide, SCAN_U64, n, threads, &got);
    assert_true(got == total && memcmp(result, expected, total) == 0 && hash == hash_64);
    free(result);
    free(expected);
    free(bytes);
    free(narrow);
    free(wide);
    free(starts);
}

static void test_write(void **state) {
    (void)state;
    static const size_t counts[] = {0, 1, 2, 255, 256, 257, 1000, 70000};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        for (unsigned threads = ONLY_THREADS ? 4 : 1; threads <= 7; threads += 3)
            for (size_t longest = 1; longest <= 64; longest *= 8)
                if (!FEWER || counts[i] < 70000 || longest == 8)
                    check_rows(counts[i], longest, false, threads);
    check_rows(3000, 6000, false, 3);                  /* blocks of one group */
    check_rows(300, FEWER ? 30000 : 150000, false, 2); /* blocks far larger than usual */
    check_rows(600, 30, true, 2);                      /* too large to gather */
}

/* ---- threads ----------------------------------------------------------------------------------------------------- */

static void count_part(void *arg, size_t part) { ((unsigned char *)arg)[part]++; }

static void test_parallel_for(void **state) {
    (void)state;
    for (unsigned threads = 0; threads <= 7; threads++)
        for (size_t parts = 0; parts < 40; parts++) {
            unsigned char counts[41] = {0};
            parallel_for(threads, parts, count_part, counts);
            for (size_t i = 0; i <= 40; i++)
                assert_int_equal(counts[i], i < parts);
        }
    assert_int_equal(parallel_threads(3), 3);
    assert_true(parallel_threads(0) >= 1);
}

static int make_folder(void **state) {
    (void)state;
    const char *temporary = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/test_rows.XXXXXX", temporary && temporary[0] ? temporary : "/tmp");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state) {
    (void)state;
    char path[sizeof folder + 4];
    snprintf(path, sizeof path, "%s/out", folder);
    unlink(path);
    return rmdir(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_disorder), cmocka_unit_test(test_nan),    cmocka_unit_test(test_cuts_of_a_merge),
        cmocka_unit_test(test_permutation),    cmocka_unit_test(test_hashes), cmocka_unit_test(test_write),
        cmocka_unit_test(test_parallel_for),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
