/* SPDX-License-Identifier: MIT
 *
 * The sample sort, SCAN_SORT_SAMPLE, against the CPU backend bit for bit, and for short arrays against the oracle: keys
 * that break other sorts, sizes around every switch, every kind of call. test_gpu_sort_sample_lists.cu has keys that
 * lie to the sample.
 */
#include "gpu_sort.h"

/* Around: a bucket of the local stage (in the emulator 1,024 and 2,048, or 640 with 8-byte values), half of one for
 * every child, where levels change, tiles, and units. */
static const size_t sizes[] = {0,     639,   640,   641,   1,     2,      31,      33,     1023, 1024,
                               1025,  2047,  2048,  2049,  3000,  4096,   4097,    8191,   8192, 8193,
                               16383, 16385, 20000, 32769, 40000, 100003, 1600001, 4000037};
enum { SIZES = sizeof sizes / sizeof sizes[0], SMALL_SIZES = 25 };

static const scan_type types[] = {SCAN_U32, SCAN_I32, SCAN_F32, SCAN_U64, SCAN_I64, SCAN_F64};
enum { TYPES = sizeof types / sizeof types[0] };

static size_t drawn_size(void) { return sizes[random_below(&rng, gpu_is_small ? SMALL_SIZES : SIZES)]; }

static scan_type drawn_sample_type(void) { return types[random_below(&rng, TYPES)]; }

/* ---- keys of every distribution ---------------------------------------------------------------------------------- */

static void matrix(void **state) {
    (void)state;
    gpu_need();
    for (int data = 0; data < DISTRIBUTIONS; data++)
        for (int t = 0; t < TYPES; t++) {
            if (gpu_is_small && (data + t) % 3)
                continue;
            const sort_case order = drawn_order(types[t]);
            check_array(&order, SCAN_SORT_SAMPLE, drawn_size(), data, gpu_is_small ? 2 : 5);
        }
}

static void every_size(void **state) {
    (void)state;
    gpu_need();
    for (size_t s = 0; s < (gpu_is_small ? SMALL_SIZES : SIZES); s++) {
        const sort_case order = drawn_order(drawn_sample_type());
        check_array(&order, SCAN_SORT_SAMPLE, sizes[s], s % 2 ? 0 : drawn_data(), gpu_is_small ? 2 : 5);
    }
}

static void windows(void **state) {
    (void)state;
    gpu_need();
    static const scan_type integers[] = {SCAN_U32, SCAN_I32, SCAN_U64, SCAN_I64};
    for (int round = 0; round < (gpu_is_small ? 6 : 60); round++) {
        sort_case order = drawn_order(integers[round % 4]);
        order.begin_bit = (uint32_t)random_below(&rng, type_bits(order.type));
        order.end_bit = order.begin_bit + (uint32_t)random_below(&rng, type_bits(order.type) - order.begin_bit + 1);
        order.end_bit += order.end_bit == 0;
        check_array(&order, SCAN_SORT_SAMPLE, drawn_size(), round % 3 ? 0 : drawn_data(), 2);
    }
}

/* ---- keys that break other sorts --------------------------------------------------------------------------------- */

typedef uint64_t key_source(size_t i, size_t n, uint64_t z);

static uint64_t few_thousand_values(size_t i, size_t n, uint64_t z) {
    (void)i;
    return random_mix(z % (n / 40 + 1));
}
/* Twenty copies of each, and of every other value's some are the next one. */
static uint64_t dozens_of_copies(size_t i, size_t n, uint64_t z) {
    (void)i;
    const uint64_t value = z % (n / 20 + 1);
    return random_mix(value) + (value % 2 && z >> 62 == 0);
}
static uint64_t half_zeros(size_t i, size_t n, uint64_t z) {
    (void)i, (void)n;
    return z & 1 ? 0 : z >> 1;
}
/* 37 clusters, each of a spread of its own. */
static uint64_t clusters(size_t i, size_t n, uint64_t z) {
    (void)i, (void)n;
    const uint64_t cluster = z % 37;
    return random_mix(cluster) + (random_mix(z) & ((1ull << cluster) - 1));
}
/* Clusters in clusters: of twelve bits after twelve there are three values, but one key in eight is anywhere in its
 * cluster, and one in eight is one of the few that have a hundred copies or more. */
static uint64_t nested_clusters(size_t i, size_t n, uint64_t z) {
    (void)i, (void)n;
    uint64_t key = 0;
    for (int shift = 52; shift >= 4; shift -= 12) {
        if (z % 8 < 2)
            return z % 8 ? key | 1 : key | random_mix(z) >> (64 - shift);
        key |= (z >> 8) % 3 * 0x3a5 << shift;
        z = random_mix(z);
    }
    return key | (z >> 60);
}
static uint64_t rising_ties(size_t i, size_t n, uint64_t z) {
    (void)n, (void)z;
    return i / 7 << 40 | i / 7;
}
static uint64_t falling_ties(size_t i, size_t n, uint64_t z) { return rising_ties(n - 1 - i, n, z); }
static uint64_t periodic(size_t i, size_t n, uint64_t z) {
    (void)n, (void)z;
    return random_mix(i % 1024);
}
static uint64_t all_equal(size_t i, size_t n, uint64_t z) {
    (void)i, (void)n, (void)z;
    return 0x1234567812345678;
}
/* As many keys in [2^k, 2^(k+1)) for every k. */
static uint64_t exponents(size_t i, size_t n, uint64_t z) {
    (void)i, (void)n;
    return random_mix(z) >> z % 64;
}
/* Fifteen of sixteen are copies of 16 values. */
static uint64_t frequent_values(size_t i, size_t n, uint64_t z) {
    (void)i, (void)n;
    return random_mix(z % 16 ? z >> 60 : z);
}
/* Greatest codes, neighbours of each other, and copies of them: code + 1 does not exist for some. */
static uint64_t at_the_end(size_t i, size_t n, uint64_t z) {
    (void)i, (void)n;
    return z % 5 ? ~0ull : ~(z % 64);
}
/* -0, +0, NaNs of both signs and some numbers, as f64; of f32 the upper half, see below. */
static uint64_t zeros_and_nans(size_t i, size_t n, uint64_t z) {
    (void)i, (void)n;
    static const uint64_t odd[] = {0, 1ull << 63, 0x7ff8000000000000, 0xfff8000000000000, 0x7ff0000100000000};
    return z % 8 < 5 ? odd[z % 8] : z % 8 == 5 ? random_mix(z) : 0x3ff0000000000000 | (z >> 40) << 30;
}

/* Few of those among finite numbers; of f32 the upper half is the same. */
static uint64_t rare_zeros_and_nans(size_t i, size_t n, uint64_t z) {
    (void)i, (void)n;
    static const uint64_t odd[] = {0, 1ull << 63, 0x7ff8000000000000, 0xfff8000000000000};
    return z % 200 ? random_mix(z) & ~(1ull << 62) : odd[z / 200 % 4];
}

static const struct {
    const char *name;
    key_source *key;
} hard[] = {{"few thousand values", few_thousand_values},
            {"dozens of copies", dozens_of_copies},
            {"half zeros", half_zeros},
            {"clusters", clusters},
            {"nested clusters", nested_clusters},
            {"rising, ties", rising_ties},
            {"falling, ties", falling_ties},
            {"periodic", periodic},
            {"all equal", all_equal},
            {"exponents", exponents},
            {"at the end", at_the_end},
            {"zeros and NaNs", zeros_and_nans},
            {"rare zeros and NaNs", rare_zeros_and_nans},
            {"frequent values", frequent_values}};
enum { HARD = sizeof hard / sizeof hard[0] };

/* Of 4-byte keys both halves of the source are used, one or the other. */
static void fill_hard(int kind, scan_type type, size_t n, uint64_t seed) {
    const bool narrow = type_bits(type) == 32, nan = hard[kind].key == zeros_and_nans;
    for (size_t i = 0; i < n; i++) {
        uint64_t key = hard[kind].key(i, n, random_mix(seed + i));
        if (narrow && nan)
            key = (key >> 63 << 31) | (key >> 52 & 0x7ff ? 0x3f800000 | (key >> 29 & 0x7fffff) : 0) |
                  ((key >> 52 & 0x7ff) == 0x7ff ? 0x7fc00000 : 0);
        else if (narrow && hard[kind].key != rising_ties && hard[kind].key != falling_ties)
            key = key >> (hard[kind].key == rare_zeros_and_nans ? 32 : seed & 32);
        set_key_bits(keys, i, type, key);
    }
}

/* Fills in keys and their order, for calls that follow. */
static sort_case make_hard(int kind, scan_type type, size_t n) {
    make_room(n + 8);
    fill_hard(kind, type, n, random_u64(&rng));
    const sort_case order = drawn_order(type);
    expect(n, &order);
    return order;
}

static void call_hard(int kind, sort_case order, scan_sort_method method, size_t n, int call_kind) {
    sort_call c = {.order = order, .method = method, .n = n, .bound = n, .data = 100 + kind};
    set_call_kind(&c, call_kind);
    c.keys_in_place = random_bool(&rng);
    c.values_in_place = random_bool(&rng);
    run_call(&c);
    assert_string_equal(scan_ctx_ran(gpu), method == SCAN_SORT_SAMPLE ? "sample" : "radix");
}

static void check_hard(int kind, scan_type type, scan_sort_method method, size_t n, int call_kind) {
    call_hard(kind, make_hard(kind, type, n), method, n, call_kind);
}

static void hard_keys(void **state) {
    (void)state;
    gpu_need();
    static const size_t small_sizes[] = {1500, 9000, 26000}, large_sizes[] = {12000, 300000, 6000000};
    for (int kind = 0; kind < HARD; kind++)
        for (int t = 0; t < TYPES; t++) {
            if (gpu_is_small && (kind + t) % 2 && hard[kind].key != rare_zeros_and_nans)
                continue;
            const int s = (kind + t / 2) % 3;
            check_hard(kind, types[t], SCAN_SORT_SAMPLE, gpu_is_small ? small_sizes[s] : large_sizes[s],
                       next_call_kind());
        }
}

/* One bucket, as large as it may be, whose bins are divided. */
static void full_bucket(void **state) {
    (void)state;
    gpu_need();
    const size_t most = GPU_EMULATED ? 1024 : 4096; /* of keys or values of 8 bytes; of others twice as many */
    for (int kind = 2; kind < 4; kind++)
        for (int t = 0; t < TYPES; t++)
            for (size_t n = most; n <= 2 * most; n *= 2)
                check_hard(kind, types[t], SCAN_SORT_SAMPLE, n, next_call_kind());
}

/* Two levels, and a third that few keys need. */
static void many_keys(void **state) {
    (void)state;
    gpu_need();
    static const int kinds[] = {0, 1, 2, 8};
    const size_t n = (size_t)1 << 28;
    for (int k = 0; k < 4; k++) {
        const sort_case order = make_hard(kinds[k], k % 2 ? SCAN_U64 : SCAN_U32, n);
        for (int call = 0; call < CALL_KINDS; call++)
            call_hard(kinds[k], order, SCAN_SORT_SAMPLE, n, call);
    }
}

/* Keys of every kind by the calls [first_call, end_call), in turns of three types: one in `share` of these cases, from
 * `first` on. */
static void hand_over(const scan_type *three, size_t least, int first_call, int end_call, int share, int first) {
    for (int kind = 0; kind < HARD; kind++)
        for (int call = first_call; call < end_call; call++)
            if ((kind + call) % share == first)
                check_hard(kind, three[(kind + call) % 3], SCAN_SORT_AUTO, least + random_below(&rng, least / 8), call);
}

/* Keys that the radix sort hands over by itself: at once, or when the first digits have left too large buckets.
 * test_gpu_sort_sample_lists.cu sees that it does. */
static void radix_hands_over(void **state) {
    (void)state;
    gpu_need();
    static const scan_type wide[] = {SCAN_U64, SCAN_I64, SCAN_F64};
    hand_over(wide, GPU_EMULATED ? 25000 : (size_t)1 << 24, 0, CALL_KINDS, gpu_is_small ? 2 : 1, 0);
}

/* Pairs with 4-byte keys, from a number of their own on: half of the cases in the emulator, the others on a GPU.
 * test_gpu_sort_plan.cu sees which are handed over. */
static void radix_hands_over_pairs(void **state) {
    (void)state;
    gpu_need();
    hand_over(types, GPU_EMULATED ? 70000 : (size_t)3 << 25, 1, 3, 2, GPU_EMULATED);
}

/* ---- buckets that no sample shows -------------------------------------------------------------------------------- */

/* Whether the radix sort's sample has key i (scan/cuda/sort/sample.cuh). */
static bool is_sampled(size_t i, size_t n) {
    const uint64_t stretch = n / 2048, s = i / stretch;
    uint32_t x = (uint32_t)(s ^ s >> 16) * 0x85ebca6bu;
    x = (x ^ x >> 13) * 0xc2b2ae35u;
    return s < 2048 && i == s * stretch + ((x ^ x >> 16) * stretch >> 32);
}

/* Keys that two digits spread, even floats of one half of the calls, but for one in `share`, none of them sampled:
 * these agree in both digits. */
static void fill_escaped(scan_type type, size_t n, size_t share, bool even, uint64_t seed) {
    for (size_t i = 0; i < n; i++) {
        const uint64_t z = random_mix(seed + i);
        const bool escaped = random_mix(z) % share == 0 && !is_sampled(i, n);
        uint64_t key = escaped ? (z & 0x0000ffff0000ffff) | 0x4012000040120000 : z;
        if (even && type == SCAN_F32) {
            const float value = escaped ? 0.3f + (float)(z % 128) * 0x1p-25f : (float)(z >> 40) * 0x1p-24f;
            uint32_t bits;
            memcpy(&bits, &value, sizeof bits);
            key = bits;
        } else if (even && type == SCAN_F64) {
            const double value = escaped ? 0.3 + (double)(z % 1024) * 0x1p-40 : (double)(z >> 11) * 0x1p-53;
            memcpy(&key, &value, sizeof key);
        }
        set_key_bits(keys, i, type, key);
    }
}

/* A CTA sorts such a bucket, or a cluster, or, if it is too large for that, all digits follow; in every kind of call.
 */
static void escaped_buckets(void **state) {
    (void)state;
    gpu_need();
    static const size_t shares[3] = {GPU_EMULATED ? 70 : 1000, GPU_EMULATED ? 30 : 300, GPU_EMULATED ? 20 : 100};
    const size_t least = GPU_EMULATED ? 31000 : ((size_t)1 << 22) + 1;
    for (int t = 0; t < TYPES; t++)
        for (int call = 0; call < CALL_KINDS; call++) {
            const bool has_stage = scan_type_size(types[t]) == 8 && call < 3; /* in the emulator */
            if (gpu_is_small && !has_stage && (t + call) % 5)
                continue;
            const size_t n = least + random_below(&rng, least / 4);
            make_room(n + 8);
            fill_escaped(types[t], n, shares[(t + call) % 3], random_bool(&rng), random_u64(&rng));
            const sort_case order = drawn_order(types[t]);
            expect(n, &order);
            sort_call c = {.order = order, .n = n, .bound = n, .data = 200 + call};
            set_call_kind(&c, call);
            c.keys_in_place = random_bool(&rng);
            c.values_in_place = random_bool(&rng);
            run_call(&c);
        }
}

/* ---- what is promised -------------------------------------------------------------------------------------------- */

/* The emulator's buckets are small, and lists of them large beside the keys: there up to what the constant part holds.
 */
static void workspace_is_within_bounds(void **state) {
    (void)state;
    gpu_need();
    const size_t most = GPU_EMULATED ? (size_t)1 << 22 : (size_t)1 << 40;
    for (int t = 0; t < TYPES; t++)
        for (size_t n = 1; n < most; n = n * 5 / 4 + 7)
            for (int kind = 0; kind < CALL_KINDS; kind++) {
                sort_call c = {.order = ascending(types[t]), .method = SCAN_SORT_SAMPLE, .n = n, .bound = n};
                set_call_kind(&c, kind);
                if (c.argsort && c.value_bytes == 4 && n > UINT32_MAX)
                    continue;
                const scan_sort_desc d = desc_of(&c);
                size_t bytes;
                gpu_ok((c.argsort ? scan_argsort_workspace : scan_sort_workspace)(gpu, &d, n, &bytes));
                const size_t data = n * (scan_type_size(types[t]) + c.value_bytes);
                const size_t bound = c.argsort ? data / 10 * 16 : data + data / 10;
                if (bytes > bound + (4 << 20))
                    fail_msg("%s, kind %d, n %zu: %zu bytes", scan_type_name(types[t]), kind, n, bytes);
            }
}

static void other_types_are_refused(void **state) {
    (void)state;
    gpu_need();
    static const scan_type others[] = {SCAN_U8, SCAN_I8, SCAN_U16, SCAN_I16};
    make_room(64);
    void *at = gpu_put(&d_keys_in, keys, 16, 2, 0), *out = gpu_put(&d_values_out, NULL, 16, 4, 0);
    for (int t = 0; t < 4; t++) {
        const scan_sort_desc d = {.struct_size = sizeof d, .type = others[t], .method = SCAN_SORT_SAMPLE};
        assert_int_equal(scan_sort(gpu, &d, at, at, NULL, NULL, 16), SCAN_ERR_ALGORITHM);
        assert_int_equal(scan_argsort(gpu, &d, at, out, 16), SCAN_ERR_ALGORITHM);
        assert_non_null(strstr(scan_ctx_detail(gpu), "sample"));
    }
}

/* Captured once, replayed on other keys and on counts from none to all. */
static void graphs(void **state) {
    (void)state;
    gpu_need();
    const size_t n = gpu_is_small ? 17000 : 2100000;
    static const scan_type captured[] = {SCAN_U64, SCAN_F32};
    for (int t = 0; t < 2; t++) {
        captured_sort c = capture_sort(captured[t], SCAN_SORT_SAMPLE, n);
        for (int round = 0; round < (gpu_is_small ? 4 : 12); round++) {
            const size_t used = round == 0 ? n : round == 1 ? 500 : round == 2 ? 1 : n - random_below(&rng, n / 2);
            const sort_case order = ascending(captured[t]);
            fill_hard((round + t * 3) % HARD, captured[t], used, random_u64(&rng));
            expect(used, &order);
            replay_sort(&c, used, 1, 100 + (round + t * 3) % HARD);
        }
        release_sort(&c);
    }
}

int main(int argc, char **argv) {
    const gpu_test tests[] = {
        GPU_TEST(GPU_MATRIX | GPU_SMALL, matrix),
        GPU_TEST(GPU_MATRIX | GPU_SMALL, every_size),
        GPU_TEST(GPU_MATRIX | GPU_SMALL, windows),
        GPU_TEST(GPU_MATRIX | GPU_SMALL, hard_keys),
        GPU_TEST(GPU_MATRIX | GPU_SMALL, full_bucket),
        GPU_TEST(GPU_MATRIX | GPU_SMALL, workspace_is_within_bounds),
        GPU_TEST(GPU_MATRIX | GPU_SMALL, other_types_are_refused),
        GPU_TEST(GPU_MATRIX | GPU_SMALL, graphs),
        GPU_TEST(GPU_LARGE, many_keys),
        GPU_TEST(GPU_EMULATED ? GPU_SMALL : GPU_MATRIX, radix_hands_over),
        GPU_TEST(GPU_EMULATED ? GPU_SMALL : GPU_MATRIX, radix_hands_over_pairs),
        GPU_TEST(GPU_EMULATED ? GPU_SMALL : GPU_MATRIX, escaped_buckets),
    };
    int result = gpu_main("gpu_sort_sample", tests, sizeof tests / sizeof tests[0], argc, argv);
    drop_room();
    return result;
}
