/* SPDX-License-Identifier: MIT
 *
 * The sort of one cooperative launch, beside test_gpu_sort: sizes around every switch, keys of which one to all digits
 * differ, buckets whose keys the highest digits do not tell apart, buckets that are too large, counts on the device far
 * below the bound, graphs; and where the launch is refused, the radix sort.
 */

#include "gpu_sort.h"
#include "scan/cuda/device/hash.h"

/* As in scan/cuda/thresholds.h, or the emulator's. Fewer keys are sorted by counting or, here not granted in the
 * emulator, by one cluster. */
enum {
    MIN_COOPERATIVE = GPU_EMULATED ? 8193 : (1 << 16) + 1,
    MAX_COOPERATIVE = GPU_EMULATED ? 11000 : 9 << 16,
    MAX_COOPERATIVE_ALONE = GPU_EMULATED ? 11000 : 15 << 15,       /* of 4-byte keys without values */
    MAX_COOPERATIVE_LONG = GPU_EMULATED ? 12000 : 1 << 20,         /* of 8-byte keys */
    MAX_COOPERATIVE_HALF = GPU_EMULATED ? 11500 : 3 << 18,         /* ... by 25 to 32 bits */
    MAX_COOPERATIVE_THREE_DIGITS = GPU_EMULATED ? 10500 : 3 << 16, /* by 17 to 24 bits */
    MAX_COOPERATIVE_TWO_DIGITS = GPU_EMULATED ? 10000 : 3 << 17,   /* by fewer */
    SAMPLES = 32                                                   /* that a CTA gives */
};

/* racecheck takes minutes for what the other checkers take seconds for: it gets few sorts of few keys. */
static void need_time(void) {
    gpu_need();
    if (gpu_is_racecheck)
        skip();
}

/* On a GPU that is shared or has less shared memory another way may be taken; the emulator's is known. */
static void check_ran(const char *wanted, size_t n) {
    if (GPU_EMULATED && strcmp(scan_ctx_ran(gpu), wanted) != 0)
        fail_msg("n %zu: ran %s, not %s", n, scan_ctx_ran(gpu), wanted);
}

/* Keys of 1 and 2 bytes alone may be counted. */
static scan_type drawn_wide_type(void) {
    static const scan_type types[] = {SCAN_U32, SCAN_I32, SCAN_U64, SCAN_I64, SCAN_F32, SCAN_F64};
    return types[random_below(&rng, sizeof types / sizeof types[0])];
}

/* Of keys with values, or of 8 bytes. */
static size_t most_keys(scan_type type, uint32_t bits) {
    return bits <= 16              ? MAX_COOPERATIVE_TWO_DIGITS
           : bits <= 24            ? MAX_COOPERATIVE_THREE_DIGITS
           : type_bits(type) <= 32 ? MAX_COOPERATIVE
           : bits <= 32            ? MAX_COOPERATIVE_HALF
                                   : MAX_COOPERATIVE_LONG;
}

/* ---- sizes, types, windows --------------------------------------------------------------------------------------- */

static void sizes(void **state) {
    (void)state;
    need_time();
    static const size_t edges[] = {MIN_COOPERATIVE, MAX_COOPERATIVE_ALONE, MAX_COOPERATIVE, MAX_COOPERATIVE_LONG};
    for (size_t e = 0; e < sizeof edges / sizeof edges[0]; e++)
        for (int off = -1; off <= 1; off++)
            for (int i = 0; i < (gpu_is_small ? 2 : 4); i++) {
                const sort_case order = drawn_order(i % 2 ? SCAN_U64 : drawn_wide_type());
                const size_t n = edges[e] + (size_t)off,
                             bound = check_array(&order, SCAN_SORT_AUTO, n, 0, gpu_is_small ? 1 : 5),
                             most = most_keys(order.type, type_bits(order.type));
                check_ran(bound < MIN_COOPERATIVE ? "count" : bound > most ? "radix" : "radix cooperative", bound);
            }
    static const uint32_t widths[] = {1, 8, 9, 16, 17, 24, 25, 32, 33};
    for (int off = -1; off <= 1; off++)
        for (size_t w = 0; w < sizeof widths / sizeof widths[0]; w++) {
            const uint32_t bits = widths[w];
            sort_case order = drawn_order(bits > 32 || random_bool(&rng) ? SCAN_U64 : SCAN_I32);
            order.begin_bit = (uint32_t)random_below(&rng, type_bits(order.type) - bits + 1);
            order.end_bit = order.begin_bit + bits;
            const size_t most = most_keys(order.type, bits), n = most + (size_t)off,
                         bound = check_array(&order, SCAN_SORT_AUTO, n, 0, gpu_is_small ? 1 : 5);
            check_ran(bound > most ? "radix" : "radix cooperative", bound);
        }
    for (int i = 0; i < (gpu_is_small ? 6 : 60); i++) { /* rows of tiles that are full, and not */
        const sort_case order = drawn_order(drawn_wide_type());
        const size_t n = MIN_COOPERATIVE + random_below(&rng, MAX_COOPERATIVE - MIN_COOPERATIVE - 8);
        check_array(&order, SCAN_SORT_AUTO, i % 2 ? n : n / 1024 * 1024, drawn_data(), gpu_is_small ? 1 : 3);
    }
}

static void types_and_data(void **state) {
    (void)state;
    gpu_need();
    for (int type = 1; type <= SCAN_TYPE_COUNT; type++)
        for (int data = type % (gpu_is_small ? 3 : 1); data < DISTRIBUTIONS; data += gpu_is_small ? 3 : 1) {
            const sort_case order = drawn_order((scan_type)type);
            const size_t n = MIN_COOPERATIVE + random_below(&rng, gpu_is_small ? 900 : 300000);
            check_array(&order, SCAN_SORT_AUTO, n, data, gpu_is_small ? 1 : 5);
        }
}

static void windows(void **state) {
    (void)state;
    gpu_need();
    for (int round = 0; round < (gpu_is_small ? 8 : 200); round++) {
        const scan_type type = (scan_type)(1 + random_below(&rng, 8));
        const uint32_t width = type_bits(type), end = 1 + (uint32_t)random_below(&rng, width);
        const sort_case order = {type, random_bool(&rng), false, (uint32_t)random_below(&rng, end), end};
        check_array(&order, SCAN_SORT_AUTO, MIN_COOPERATIVE + random_below(&rng, gpu_is_small ? 900 : 100000), 0,
                    gpu_is_small ? 1 : 5);
    }
}

/* ---- keys of this file's own ------------------------------------------------------------------------------------- */

/* Sorts `keys`, which the caller has filled, by each kind of call; under racecheck by one in three. */
static void sort_all_kinds(scan_type type, size_t n, int data) {
    const sort_case order = drawn_order(type);
    const int step = gpu_is_racecheck ? 3 : 1;
    expect(n, &order);
    for (int kind = (int)random_below(&rng, (uint64_t)step); kind < CALL_KINDS; kind += step) {
        sort_call c = {
            .order = order, .n = n, .bound = n, .data = data, .keys_in_place = kind % 2, .values_in_place = kind == 2};
        set_call_kind(&c, kind);
        run_call(&c);
        check_ran("radix cooperative", n);
    }
}

static size_t a_size(void) { return MIN_COOPERATIVE + random_below(&rng, gpu_is_small ? 900 : 580000); }

/* One to all digits differ, at any place of the key: few take a pass each, of the first not always one. */
static void digits(void **state) {
    (void)state;
    gpu_need();
    for (int round = 0; round < (gpu_is_racecheck ? 1 : gpu_is_small ? 6 : 40); round++) {
        const scan_type type = round % 2 ? SCAN_U64 : SCAN_I32;
        const uint64_t base = random_u64(&rng), n = a_size();
        uint64_t varying = 0;
        for (uint32_t b = 0; b < type_bits(type) / 8; b++)
            varying |= random_bool(&rng) ? UINT64_C(0xff) << 8 * b : 0;
        varying |= UINT64_C(1) << random_below(&rng, type_bits(type));
        make_room(n);
        for (size_t i = 0; i < n; i++)
            set_key_bits(keys, i, type, (base & ~varying) | (random_u64(&rng) & varying));
        sort_all_kinds(type, n, round);
    }
}

/* Groups of keys that agree in all but the lowest bits, mixed: the highest digits of a bucket do not tell them apart.
 * Those of small groups are compared in their bin, for large ones all digits are sorted; copies need neither. */
static void groups(void **state) {
    (void)state;
    gpu_need();
    static const uint32_t sizes_of_groups[] = {15, 2, 16, 17, 300, 5000};
    for (size_t s = 0; s < (gpu_is_racecheck ? 1 : sizeof sizes_of_groups / sizeof sizes_of_groups[0]); s++)
        for (int copies = 0; copies < (gpu_is_racecheck ? 1 : 2); copies++) {
            const size_t n = a_size(), many = n / sizes_of_groups[s] + 1;
            make_room(n);
            for (size_t i = 0; i < n; i++) {
                const uint64_t group = random_mix(random_below(&rng, many));
                set_key_bits(keys, i, SCAN_U64,
                             (group & ~UINT64_C(0xfffff)) | (copies ? 5 : random_below(&rng, 1 << 20)));
            }
            sort_all_kinds(SCAN_U64, n, (int)s);
        }
}

/* Keys of few values, of one value and some others, and every key twice: splitters that are equal. */
static void repeats(void **state) {
    (void)state;
    gpu_need();
    for (int round = 0; round < (gpu_is_racecheck ? 1 : gpu_is_small ? 4 : 12); round++) {
        const size_t n = a_size();
        make_room(n);
        for (size_t i = 0; i < n; i++) {
            const uint64_t z = random_u64(&rng), value = round % 4 == 0   ? random_mix(z % 7)
                                                         : round % 4 == 1 ? (z % 100 ? 77 : z)
                                                         : round % 4 == 2 ? random_mix(i / 2)
                                                                          : random_mix(i % 3 * (z % 50));
            set_key_bits(keys, i, SCAN_U64, value);
        }
        sort_all_kinds(SCAN_U64, n, round);
    }
}

/* Keys that crowd bins of a bucket: half of them copies of some values, or of those and the next ones; or half of those
 * that share a prefix lie so close together that the highest digits tell most of them apart, and bins do not; or codes
 * are dense near zero, which bins of pieces tell apart; or in clusters that lie far apart, which those do not. */
static void crowded(void **state) {
    (void)state;
    gpu_need();
    static const uint32_t sizes_of_values[] = {1000, 20, 60, 130, 300};
    enum { COPIES, NEXT, CLOSE, OCTAVES, CLUSTERS, KINDS };
    for (size_t s = 0; s < (gpu_is_racecheck ? 1 : sizeof sizes_of_values / sizeof sizes_of_values[0]); s++)
        for (int kind = 0; kind < KINDS; kind++) {
            const size_t n = a_size(), many = n / 2 / sizes_of_values[s] + 1;
            const scan_type type = s % 2 && kind != CLOSE ? SCAN_U32 : SCAN_U64;
            make_room(n);
            for (size_t i = 0; i < n; i++) {
                const bool half = random_bool(&rng);
                const uint64_t value = random_mix(random_below(&rng, many)), z = random_u64(&rng);
                set_key_bits(keys, i, type,
                             kind == CLOSE      ? random_below(&rng, n / 2000 + 1) << 50 | z >> (half ? 14 : 26)
                             : kind == OCTAVES  ? z >> (64 - type_bits(type)) >> random_below(&rng, type_bits(type) - 5)
                             : kind == CLUSTERS ? value ^ z >> (64 - type_bits(type) / 2)
                             : half             ? z
                             : kind == NEXT     ? value ^ z >> 63
                                                : value);
            }
            sort_all_kinds(type, n, (int)s);
        }
}

/* Where CTA c of a grid takes sample i: as scan/cuda/cooperative/splitters.cuh does. */
static uint32_t sample_position(uint32_t first, uint32_t count, uint32_t i) {
    const uint32_t begin = (uint32_t)((uint64_t)i * count / SAMPLES), width = count / SAMPLES;
    return first + begin + (uint32_t)hash_below(first + i, width);
}

static uint32_t cta_count(void) {
    scan_info info = {.struct_size = sizeof info};
    struct cudaDeviceProp device;
    gpu_ok(scan_ctx_info(gpu, &info));
    assert_int_equal(cudaGetDeviceProperties(&device, info.device), cudaSuccess);
    return (uint32_t)device.multiProcessorCount;
}

/* Positions of a CTA. */
static uint32_t tile_of(size_t n) {
    const uint32_t ctas = cta_count();
    return (uint32_t)((n + 32 * ctas - 1) / (32 * ctas)) * 32;
}

/* Whether a CTA takes position p into its sample. */
static bool is_sampled(size_t n, uint32_t p) {
    const uint32_t tile = tile_of(n), first = p / tile * tile, count = n - first < tile ? (uint32_t)n - first : tile;
    for (uint32_t i = 0; i < SAMPLES && count >= SAMPLES; i++)
        if (sample_position(first, count, i) == p)
            return true;
    return false;
}

/* Keys of few values, each of which is several splitters, or at most one; and some of others between and beyond them,
 * that no sample has, or that one has. */
static void few_values(void **state) {
    (void)state;
    gpu_need();
    static const uint32_t counts[] = {3, 2, 9, 60, 40, 100, 132, 400};
    enum { ALL, SOME_UNKNOWN, ONE_SAMPLED, KINDS };
    static const scan_type types[] = {SCAN_U64, SCAN_F64, SCAN_I32, SCAN_F32};
    for (size_t c = 0; c < (gpu_is_racecheck ? 1 : gpu_is_small ? 4 : sizeof counts / sizeof counts[0]); c++)
        for (int kind = 0; kind < KINDS; kind++) {
            const size_t n = a_size();
            const scan_type type = types[(c + (size_t)kind) % 4];
            make_room(n);
            for (size_t i = 0; i < n; i++)
                set_key_bits(keys, i, type, random_mix(random_below(&rng, counts[c]) + 17));
            for (int k = 0; k < (kind == SOME_UNKNOWN ? 3 : kind == ONE_SAMPLED ? 1 : 0);) {
                const uint32_t p = (uint32_t)random_below(&rng, n);
                if (is_sampled(n, p) != (kind == ONE_SAMPLED))
                    continue;
                set_key_bits(keys, p, type, k++ ? random_u64(&rng) : ~UINT64_C(0));
            }
            sort_all_kinds(type, n, (int)c);
        }
}

/* All samples are smaller than all other keys, so one bucket has nearly all keys: it is too large. */
static void misled(void **state) {
    (void)state;
    gpu_need();
    for (int round = 0; round < (gpu_is_racecheck ? 1 : gpu_is_small ? 2 : 6); round++) {
        const size_t n = a_size();
        const uint32_t tile = tile_of(n);
        make_room(n);
        for (size_t i = 0; i < n; i++)
            set_key_bits(keys, i, SCAN_U64, random_u64(&rng) | UINT64_C(1) << 63);
        for (uint32_t first = 0; first < n; first += tile) {
            const uint32_t count = n - first < tile ? (uint32_t)n - first : tile;
            for (uint32_t i = 0; i < SAMPLES && count >= SAMPLES; i++)
                set_key_bits(keys, sample_position(first, count, i), SCAN_U64, random_u64(&rng) >> 1);
        }
        sort_all_kinds(SCAN_U64, n, round);
    }
}

/* ---- counts on the device, graphs, refusal ----------------------------------------------------------------------- */

static void counts(void **state) {
    (void)state;
    need_time();
    static const size_t used[] = {0, 1, 31, 32, 33, 500, 1000, 1024, 1025, 4097, MIN_COOPERATIVE - 1, MIN_COOPERATIVE};
    for (size_t u = 0; u < sizeof used / sizeof used[0]; u++)
        for (int i = 0; i < (gpu_is_small ? 1 : CALL_KINDS); i++) {
            const sort_case order = drawn_order(drawn_wide_type());
            make_room(MAX_COOPERATIVE);
            fill(keys, used[u], order.type, distributions[drawn_data()], random_u64(&rng));
            expect(used[u], &order);
            sort_call c = {.order = order, .n = used[u], .bound = MIN_COOPERATIVE + 100 * (size_t)i};
            set_call_kind(&c, next_call_kind());
            c.keys_in_place = random_bool(&rng);
            c.values_in_place = random_bool(&rng);
            run_call(&c);
            check_ran("radix cooperative", c.bound);
        }
}

static void graphs(void **state) {
    (void)state;
    need_time();
    static const scan_type types[] = {SCAN_F32, SCAN_U64};
    for (int t = 0; t < 2; t++) {
        const size_t bound = gpu_is_small ? MIN_COOPERATIVE + 100 : 200000;
        captured_sort c = capture_sort(types[t], SCAN_SORT_AUTO, bound);
        const sort_case order = ascending(types[t]);
        for (int round = 0; round < (gpu_is_small ? 3 : 60); round++) {
            const uint64_t n = round % 2 ? bound : random_below(&rng, bound);
            fill(keys, n, types[t], distributions[(size_t)round * 3 % DISTRIBUTIONS], random_u64(&rng));
            expect(n, &order);
            replay_sort(&c, n, 1 + round % 2, round);
        }
        release_sort(&c);
    }
}

/* Where the GPU cannot run all CTAs at once, the radix sort serves, in the same workspace. */
static void refused(void **state) {
    (void)state;
    gpu_need();
    if (!GPU_EMULATED)
        skip();
    setenv("SCAN_EMULATED_SMS", "2", 1);
    for (int i = 0; i < 3; i++) {
        const sort_case order = drawn_order(drawn_wide_type());
        check_array(&order, SCAN_SORT_AUTO, MIN_COOPERATIVE + 50, 0, 1);
        check_ran("radix", MIN_COOPERATIVE + 50);
    }
    setenv("SCAN_EMULATED_SMS", "5", 1);
}

int main(int argc, char **argv) {
    setenv("SCAN_EMULATED_SMS", "5", 1);
    setenv("SCAN_EMULATED_CLUSTER", "1", 1);
    const gpu_test tests[] = {
        GPU_TEST(GPU_MATRIX | GPU_SMALL, sizes),
        GPU_TEST(GPU_MATRIX, types_and_data),
        GPU_TEST(GPU_MATRIX, windows),
        GPU_TEST(GPU_MATRIX | GPU_SMALL, digits),
        GPU_TEST(GPU_MATRIX | GPU_SMALL, groups),
        GPU_TEST(GPU_MATRIX | GPU_SMALL, repeats),
        GPU_TEST(GPU_MATRIX | GPU_SMALL, crowded),
        GPU_TEST(GPU_MATRIX | GPU_SMALL, few_values),
        GPU_TEST(GPU_MATRIX | GPU_SMALL, misled),
        GPU_TEST(GPU_MATRIX | GPU_SMALL, counts),
        GPU_TEST(GPU_MATRIX | GPU_SMALL, graphs),
        GPU_TEST(GPU_MATRIX | GPU_SMALL, refused),
    };
    int result = gpu_main("gpu_sort_cooperative", tests, sizeof tests / sizeof tests[0], argc, argv);
    drop_room();
    return result;
}
