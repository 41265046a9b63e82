/* SPDX-License-Identifier: MIT
 *
 * Argsorts of many 8-byte keys whose top four digits do not tell them apart: by codes made of intervals between sampled
 * keys (scan/cuda/sort/intervals.cuh), with runs of one code of every length, against the CPU backend.
 */
#include <math.h>

#include "gpu_sort.h"

/* thresholds.h, intervals_least */
static size_t least_n(void) { return GPU_EMULATED ? 18000 : 1 << 24; }

enum intervals_data {
    INTERVALS_EVEN,     /* numbers in [0, 1) */
    INTERVALS_NORMAL,   /* about 0 */
    INTERVALS_CLUSTERS, /* 300 intervals of 2^32 codes, or of 2^14 */
    INTERVALS_HEAVY,    /* the same, with a value that many keys have, and one next to it */
    INTERVALS_CLUMP,    /* or with `clump` keys within 4,096 codes, far from others: they share a code by intervals */
    INTERVALS_EQUAL     /* or those of one value, and a single other one */
};

static double even(void) { return (double)(random_u64(&rng) >> 11) * 0x1p-53; }

static uint64_t bits_of(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static uint64_t cluster_key(void) {
    const uint64_t cluster = random_below(&rng, 300);
    /* a finite float, too */
    return (random_mix(cluster) << 32 & ~(UINT64_C(1) << 62)) | random_u64(&rng) >> (cluster % 2 ? 32 : 50);
}

static uint64_t interval_key(enum intervals_data data) {
    switch (data) {
    case INTERVALS_EVEN: return bits_of(even());
    case INTERVALS_NORMAL: return bits_of(sqrt(-2 * log(even() + 0x1p-60)) * cos(6.283185307179586 * even()));
    default: return cluster_key();
    }
}

static void fill_intervals(enum intervals_data data, size_t n, size_t clump) {
    uint64_t *out = (uint64_t *)keys;
    const uint64_t heavy = interval_key(data), at = 0x123456789abcd000;
    for (size_t i = 0; i < n; i++) {
        out[i] = interval_key(data);
        if (data == INTERVALS_HEAVY && i % 3 == 0)
            out[i] = heavy + random_below(&rng, 3) % 2;
    }
    for (size_t c = 0; data >= INTERVALS_CLUMP && c < clump; c++)
        out[random_below(&rng, n)] = at + (data == INTERVALS_CLUMP ? random_below(&rng, 4096) : c == clump / 2);
}

static void argsorts(void **state) {
    (void)state;
    gpu_need();
    static const struct {
        enum intervals_data data;
        size_t clump;
    } cases[] = {/* of 2^24 keys the sample seldom has one of a clump */
                 {INTERVALS_CLUMP, 100},  {INTERVALS_CLUMP, 1000}, {INTERVALS_CLUSTERS, 0}, {INTERVALS_EVEN, 0},
                 {INTERVALS_HEAVY, 0},    {INTERVALS_EQUAL, 100},  {INTERVALS_CLUMP, 3000}, {INTERVALS_CLUMP, 20},
                 {INTERVALS_EQUAL, 2000}, {INTERVALS_NORMAL, 0}};
    const int case_count = (int)(sizeof cases / sizeof cases[0]);
    const size_t n_least = least_n();
    const int rounds = gpu_is_racecheck ? 2 : GPU_EMULATED ? case_count : gpu_is_small ? 4 : 2 * case_count;
    for (int round = 0; round < rounds; round++) {
        const enum intervals_data data = cases[round % case_count].data;
        const size_t clump = cases[round % case_count].clump / (GPU_EMULATED ? 5 : 1);
        const bool is_float =
            data == INTERVALS_EVEN || data == INTERVALS_NORMAL || (data != INTERVALS_CLUSTERS && round % 5 < 2);
        const size_t n = n_least + (round % 10 == 9 ? (size_t)-1 : random_below(&rng, n_least / 3)),
                     bound = n + (round % 7 == 0 ? 100 : 0);
        const sort_case order = {is_float    ? SCAN_F64
                                 : round % 2 ? SCAN_I64
                                             : SCAN_U64,
                                 round / 2 % 2, is_float && round / 4 % 2, 0, 64};
        make_room(bound);
        fill_intervals(data, n, clump);
        expect(n, &order);
        const sort_call c = {.order = order,
                             .method = SCAN_SORT_AUTO,
                             .value_bytes = round % 3 ? 4 : 8,
                             .n = n,
                             .bound = bound,
                             .argsort = true,
                             .data = (int)data};
        run_argsort(&c);
    }
}

/* Runs of one code that no sample has seen, for they lie behind the last place that one looks at: of keys that a CTA of
 * the large buckets' kernel (large.cuh) sorts, or, in the emulator, a cluster, or that are too many for it. */
static void unseen_runs(void **state) {
    (void)state;
    gpu_need();
    static const struct {
        size_t stretches, run;
    } emulated[] = {{48, 300}, {48, 1500}, {10, 2000}}, device[] = {{8193, 2000}, {8200, 1300}, {8193, 1900}}, *cases;
    cases = GPU_EMULATED ? emulated : device;
    for (int round = 0; round < (gpu_is_racecheck ? 0 : GPU_EMULATED ? 8 : gpu_is_small ? 1 : 6); round++) {
        const size_t n = cases[round % 3].stretches * 2048 - 1, bound = n + (round % 5 ? 0 : 100);
        const sort_case order = {round % 2 ? SCAN_F64 : SCAN_U64, round / 2 % 2, false, 0, 64};
        make_room(bound);
        uint64_t *out = (uint64_t *)keys;
        for (size_t i = 0; i < n; i++)
            out[i] = random_u64(&rng) & ~(UINT64_C(1) << 62);
        for (size_t i = n - cases[round % 3].run; i < n; i++)
            out[i] = UINT64_C(0x1234567) << 32 | (round % 4 < 2 ? random_u64(&rng) >> 32 : random_below(&rng, 7));
        expect(n, &order);
        const sort_call c = {.order = order,
                             .method = SCAN_SORT_AUTO,
                             .value_bytes = round / 4 % 2 ? 4 : 8,
                             .n = n,
                             .bound = bound,
                             .argsort = true};
        run_argsort(&c);
    }
}

int main(int argc, char **argv) {
    setenv("SCAN_EMULATED_CLUSTER", "2", 0); /* whose sort takes fewer keys */
    const gpu_test tests[] = {GPU_TEST(GPU_MATRIX | GPU_SMALL, argsorts),
                              GPU_TEST(GPU_MATRIX | GPU_SMALL, unseen_runs)};
    const int result = gpu_main("gpu_sort_intervals", tests, sizeof tests / sizeof tests[0], argc, argv);
    drop_room();
    return result;
}
