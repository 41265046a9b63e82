/* SPDX-License-Identifier: MIT
 *
 * Orders of rows by strings and numbers, and ranks of strings, with groups, pieces and tables so small that every path
 * is taken; natural order; times over all days. The oracles compare byte by byte, or count days one by one.
 */
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ORDER_PIECE_ROWS ((size_t)16)
#define STRING_SORT_SMALL 14
#define DICTIONARY_PART_ROWS 64
#define DICTIONARY_MIN_ROWS 32
#define DICTIONARY_SAMPLE_ROWS 16
#define DICTIONARY_MAX_STRINGS 24
#include "apps/sort/dictionary.c"
#include "apps/sort/string_sort.c"

#include "../random.h"
#include "apps/support/natural.h"
#include "apps/support/timestamp.h"

enum { MAX_ROWS = 400, KEYS = 3, CASES = 1500 };

/* ---- strings ----------------------------------------------------------------------------------------------------- */

/* A string of its own, with no more readable bytes than it must have. */
static string make_string(const unsigned char *bytes, size_t n) {
    unsigned char *memory = malloc(n + STRING_SLACK);
    assert_non_null(memory);
    memcpy(memory, bytes, n);
    memset(memory + n, 'x', STRING_SLACK);
    return (string){memory, n};
}

/* Few or many distinct strings, with common beginnings of any length, of two or all bytes, some missing. */
static void make_strings(strings *s, size_t n, uint64_t *rng) {
    size_t distinct = random_below(rng, 3) ? 1 + random_below(rng, 30) : MAX_ROWS;
    size_t common = random_bool(rng) ? random_below(rng, 40) : 0, most = 1 + random_below(rng, 30);
    bool all_bytes = random_bool(rng), missing = random_below(rng, 3) == 0;
    uint64_t seed = random_u64(rng);
    *s = (strings){.at = calloc(n + 1, sizeof(string)), .n = n};
    assert_non_null(s->at);
    for (size_t i = 0; i < n; i++) {
        unsigned char bytes[80];
        uint64_t own = seed + random_below(rng, distinct) * 1000;
        size_t length = random_below(&own, most) + (random_below(&own, 4) ? common : random_below(&own, common + 1));
        for (size_t k = 0; k < length; k++)
            bytes[k] = k < common ? 'c' : all_bytes ? (unsigned char)random_u64(&own) : random_bool(&own) ? 'a' : 'b';
        if (!(missing && random_below(&own, 5) == 0))
            s->at[i] = make_string(bytes, length);
        else
            s->missing++;
    }
}

static void free_strings(strings *s) {
    for (size_t i = 0; i < s->n; i++)
        free((void *)(uintptr_t)s->at[i].begin);
    free(s->at);
}

static int sign(bool more, bool less) { return more - less; }

static int compare_bytes(const string *a, const string *b) {
    for (size_t i = 0; i < a->bytes && i < b->bytes; i++)
        if (a->begin[i] != b->begin[i])
            return sign(a->begin[i] > b->begin[i], a->begin[i] < b->begin[i]);
    return sign(a->bytes > b->bytes, a->bytes < b->bytes);
}

static int compare_key(const order_key *key, size_t a, size_t b) {
    int result;
    bool nan_a, nan_b;
    if (key->strings) {
        const string *x = &key->strings->at[a], *y = &key->strings->at[b];
        nan_a = !x->begin;
        nan_b = !y->begin;
        result = nan_a || nan_b ? 0 : compare_bytes(x, y);
    } else {
        const double *x = key->data;
        nan_a = x[a] != x[a];
        nan_b = x[b] != x[b];
        result = sign(x[a] > x[b], x[a] < x[b]);
    }
    if (nan_a || nan_b)
        return key->nan_first ? nan_b - nan_a : nan_a - nan_b;
    return key->descending ? -result : result;
}

static void assert_sorted(const order *o) {
    bool seen[MAX_ROWS] = {false};
    for (size_t i = 0; i < o->n; i++) {
        size_t row = order_at(o, i);
        assert_true(row < o->n && !seen[row]);
        seen[row] = true;
        int result = 0;
        for (size_t k = 0; k < o->key_count && i > 0 && result == 0; k++)
            result = compare_key(&o->keys[k], order_at(o, i - 1), row);
        assert_true(i == 0 || result < 0 || (result == 0 && order_at(o, i - 1) < row));
    }
}

static double *make_numbers(size_t n, uint64_t *rng) {
    static const double values[] = {0.0, -0.0, 1.5, -1.5, 1e300, -1e300, 1.0 / 0.0, -1.0 / 0.0, 0.0 / 0.0};
    double *numbers = calloc(n + 1, sizeof *numbers);
    assert_non_null(numbers);
    for (size_t i = 0; i < n; i++)
        numbers[i] = values[random_below(rng, sizeof values / sizeof values[0])];
    return numbers;
}

static void sort_once(session *s, uint64_t *rng) {
    order_key keys[KEYS] = {{0}};
    strings texts[KEYS] = {{0}};
    order o = {.keys = keys, .n = random_below(rng, MAX_ROWS), .type = random_bool(rng) ? SCAN_U64 : SCAN_U32};
    o.key_count = 1 + random_below(rng, KEYS);
    for (size_t k = 0; k < o.key_count; k++) {
        keys[k].descending = random_bool(rng);
        keys[k].nan_first = random_bool(rng);
        if (k > 0 && random_bool(rng)) {
            keys[k].type = SCAN_F64;
            keys[k].data = make_numbers(o.n, rng);
        } else {
            make_strings(&texts[k], o.n, rng);
            keys[k].strings = &texts[k];
            if (o.n > 0 && random_bool(rng))
                dictionary_rank(&keys[k], 2);
        }
    }
    o.index = calloc(o.n + 1, scan_type_size(o.type));
    assert_non_null(o.index);
    string_sort(&o, s, "rows", 1 + (unsigned)random_below(rng, 3));
    assert_sorted(&o);
    free(o.index);
    for (size_t k = 0; k < o.key_count; k++) {
        free(keys[k].data);
        free_strings(&texts[k]);
    }
}

static void test_orders(void **state) {
    (void)state;
    cli_common common = {.device = "cpu", .threads = 2};
    session s;
    uint64_t rng = 1;
    session_open(&s, &common);
    for (int i = 0; i < CASES / (1 + 3 * ONLY_THREADS); i++)
        sort_once(&s, &rng);
    session_close(&s);
}

/* Where ranks are made, and that they order rows as strings do, in both directions. */
static void test_ranks(void **state) {
    (void)state;
    uint64_t rng = 2;
    for (size_t distinct = 1; distinct <= 30; distinct++) {
        for (int way = 0; way < 4; way++) {
            strings s = {.at = calloc(MAX_ROWS, sizeof(string)), .n = MAX_ROWS};
            assert_non_null(s.at);
            for (size_t i = 0; i < s.n; i++) {
                char bytes[8];
                size_t which = i < distinct ? i : random_below(&rng, distinct);
                int length = snprintf(bytes, sizeof bytes, "s%zu", which * 7 % 31);
                s.at[i] = which == 5 ? (string){0} : make_string((unsigned char *)bytes, (size_t)length);
            }
            order_key key = {.strings = &s, .descending = way & 1, .nan_first = way & 2};
            dictionary_rank(&key, 2);
            assert_true(distinct > 6 || key.data);    /* at most half of 16 sampled ones */
            assert_true(distinct <= 25 || !key.data); /* one is missing, 24 are too many */
            const uint32_t *rank = key.data;
            for (size_t i = 1; i < s.n && rank; i++) {
                int of_ranks = sign(rank[i - 1] > rank[i], rank[i - 1] < rank[i]) * (key.descending ? -1 : 1);
                assert_int_equal(of_ranks, compare_key(&key, i - 1, i));
            }
            free(key.data);
            free_strings(&s);
        }
    }
}

/* Strings that differ in one place only spread over a table as random ones would: 4,096 over 65,536 slots take 3,970.
 */
static void test_hashes(void **state) {
    (void)state;
    static const char *const forms[] = {
        "%d", "Town %d", "t%d", "%08d", "item %d of the list", "a long name before %d, and after"};
    for (size_t k = 0; k < sizeof forms / sizeof forms[0]; k++) {
        static bool taken[1 << 16];
        size_t slots = 0;
        memset(taken, 0, sizeof taken);
        for (int i = 0; i < 4096; i++) {
            char bytes[64] = {0};
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
            string s = {(unsigned char *)bytes, (size_t)snprintf(bytes, sizeof bytes, forms[k], i)};
#pragma GCC diagnostic pop
            uint32_t slot = hash_string(&s) >> 16;
            slots += !taken[slot];
            taken[slot] = true;
        }
        assert_true(slots > 3600);
    }
}

/* ---- natural order ----------------------------------------------------------------------------------------------- */

static int of_sign(int x) { return sign(x > 0, x < 0); }

static bool digit(const string *s, size_t i) { return i < s->bytes && s->begin[i] >= '0' && s->begin[i] <= '9'; }

/* Compares runs of digits as numbers, byte by byte. */
static int compare_natural(const string *a, const string *b) {
    size_t i = 0, j = 0;
    while (i < a->bytes && j < b->bytes) {
        if (!digit(a, i) || !digit(b, j)) {
            unsigned char x = digit(a, i) ? '0' : a->begin[i], y = digit(b, j) ? '0' : b->begin[j];
            if (x != y)
                return sign(x > y, x < y);
            i++;
            j++;
            continue;
        }
        while (digit(a, i) && a->begin[i] == '0')
            i++;
        while (digit(b, j) && b->begin[j] == '0')
            j++;
        int first = 0;
        for (; digit(a, i) && digit(b, j); i++, j++)
            first = first ? first : sign(a->begin[i] > b->begin[j], a->begin[i] < b->begin[j]);
        if (digit(a, i) || digit(b, j))
            return sign(digit(a, i), digit(b, j));
        if (first)
            return first;
    }
    return sign(i < a->bytes, j < b->bytes);
}

static void test_natural(void **state) {
    (void)state;
    uint64_t rng = 3;
    for (int n = 0; n < 20000; n++) {
        string from[2], to[2];
        for (int k = 0; k < 2; k++) {
            unsigned char room[600]; /* whose end the bytes reach: a sanitizer sees what is read past them */
            const size_t length = random_below(&rng, random_below(&rng, 50) ? 8 : sizeof room);
            unsigned char *bytes = room + sizeof room - length;
            const char *alphabet = length < 8 ? "0019a/:" : "0000009";
            for (size_t i = 0; i < length; i++)
                bytes[i] = (unsigned char)alphabet[random_below(&rng, 7)];
            from[k] = make_string(bytes, length);
            unsigned char *memory = malloc(natural_max_bytes(length));
            assert_non_null(memory);
            to[k] = (string){memory, natural_translate(memory, bytes, length)};
            assert_true(to[k].bytes <= natural_max_bytes(length));
        }
        assert_int_equal(of_sign(string_compare(&to[0], &to[1])), compare_natural(&from[0], &from[1]));
        for (int k = 0; k < 2; k++) {
            free((void *)(uintptr_t)from[k].begin);
            free((void *)(uintptr_t)to[k].begin);
        }
    }
}

/* ---- times ------------------------------------------------------------------------------------------------------- */

static bool is_leap(int year) { return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0; }

/* Every day that 64-bit nanoseconds hold, counted on from the first. */
static void test_days(void **state) {
    (void)state;
    const int64_t day_ns = INT64_C(86400000000000), first = -106751; /* 1677-09-22 */
    int year = 1677, month = 9, day = 22;
    for (int64_t count = 0; count < 213503; count++) {
        static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
        char text[32];
        int64_t ns = 1;
        int length = snprintf(text, sizeof text, "%04d-%02d-%02d", year, month, day);
        assert_int_equal(timestamp_parse(text, (size_t)length, &ns), TIMESTAMP_OK);
        assert_true(ns == (first + count) * day_ns);
        if (day++ == days[month - 1] + (month == 2 && is_leap(year))) {
            length = snprintf(text, sizeof text, "%04d-%02d-%02d", year, month, day);
            assert_int_equal(timestamp_parse(text, (size_t)length, &ns), TIMESTAMP_CALENDAR);
            day = 1;
            month = month % 12 + 1;
            year += month == 1;
        }
    }
    assert_true(year == 2262 && month == 4 && day == 12);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_orders),  cmocka_unit_test(test_ranks), cmocka_unit_test(test_hashes),
        cmocka_unit_test(test_natural), cmocka_unit_test(test_days),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
