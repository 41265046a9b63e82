/* SPDX-License-Identifier: MIT
 *
 * scan_prefix of integers, and of floats under min and max: every type, accumulator, operator, kind and direction
 * against one serial loop that computes in the widest type and knows nothing of the library.
 */
#include <inttypes.h>
#include <stdio.h>

#include "prefix_support.h"

/* ---- the oracle -------------------------------------------------------------------------------------------------- */

typedef __int128 wide;

static wide wrap(scan_type type, wide x) {
    const unsigned shift = 128 - 8 * (unsigned)size_of_type(type);
    const unsigned __int128 high = (unsigned __int128)x << shift;
    return type_is_signed(type) ? (wide)high >> shift : (wide)(high >> shift);
}

static wide get_integer(scan_type type, const void *at) {
    return wrap(type, (wide)load_element(at, 0, size_of_type(type)));
}

static void put_integer(scan_type type, void *at, wide x) { store_element(at, 0, size_of_type(type), (uint64_t)x); }

static wide lowest(scan_type type) { return type_is_signed(type) ? -((wide)1 << (size_of_type(type) * 8 - 1)) : 0; }

static wide highest(scan_type type) { return ((wide)1 << (size_of_type(type) * 8 - type_is_signed(type))) - 1; }

static wide integer_identity(const scan_prefix_desc *d) {
    switch (d->op) {
    case SCAN_ADD: return 0;
    case SCAN_MUL: return 1;
    case SCAN_MIN: return highest(d->out_type);
    case SCAN_MAX: return lowest(d->out_type);
    case SCAN_XOR: return 0;
    case SCAN_AND: return wrap(d->out_type, -1);
    case SCAN_OR: return 0;
    }
    return 0;
}

static wide integer_op(const scan_prefix_desc *d, wide a, wide b) {
    switch (d->op) {
    case SCAN_ADD: return wrap(d->out_type, a + b);
    case SCAN_MUL: return wrap(d->out_type, (wide)((unsigned __int128)a * (unsigned __int128)b));
    case SCAN_MIN: return a < b ? a : b;
    case SCAN_MAX: return a > b ? a : b;
    case SCAN_XOR: return a ^ b; /* sign-extended, so the result is too */
    case SCAN_AND: return a & b;
    case SCAN_OR: return a | b;
    }
    return 0;
}

static double get_float(scan_type type, const void *at) {
    float f;
    double d;
    memcpy(&f, at, sizeof f);
    if (type == SCAN_F32)
        return (double)f;
    memcpy(&d, at, sizeof d);
    return d;
}

static void put_float(scan_type type, void *at, double x) {
    float f = (float)x;
    uint32_t nan_f32 = 0x7fc00000;
    uint64_t nan_f64 = 0x7ff8000000000000;
    bool nan = x != x;
    if (type == SCAN_F32)
        memcpy(at, nan ? (void *)&nan_f32 : (void *)&f, sizeof f);
    else
        memcpy(at, nan ? (void *)&nan_f64 : (void *)&x, sizeof x);
}

/* min and max with NaN sticky and -0 < +0. */
static double float_op(const scan_prefix_desc *d, double a, double b) {
    if (a != a || b != b)
        return (double)NAN;
    bool a_less = a < b || (a == b && signbit(a) && !signbit(b));
    return (d->op == SCAN_MIN) == a_less ? a : b;
}

/* The results of both kinds: out[SCAN_INCLUSIVE] and out[SCAN_EXCLUSIVE]. */
static void oracle(const scan_prefix_desc *d, const char *in, char *const out[2], size_t n) {
    size_t in_size = size_of_type(d->type), size = size_of_type(d->out_type);
    bool floats = type_is_float(d->type);
    wide fold = d->init && !floats ? get_integer(d->out_type, d->init) : integer_identity(d);
    double float_fold = d->op == SCAN_MIN ? (double)INFINITY : -(double)INFINITY;
    if (d->init && floats)
        float_fold = get_float(d->out_type, d->init);
    for (size_t p = 0; p < n; p++) {
        size_t i = d->reverse ? n - 1 - p : p;
        if (floats) {
            put_float(d->out_type, out[SCAN_EXCLUSIVE] + i * size, float_fold);
            float_fold = float_op(d, float_fold, get_float(d->type, in + i * in_size));
            put_float(d->out_type, out[SCAN_INCLUSIVE] + i * size, float_fold);
        } else {
            put_integer(d->out_type, out[SCAN_EXCLUSIVE] + i * size, fold);
            fold = integer_op(d, fold, get_integer(d->type, in + i * in_size));
            put_integer(d->out_type, out[SCAN_INCLUSIVE] + i * size, fold);
        }
    }
}

/* ---- the matrix -------------------------------------------------------------------------------------------------- */

static scan_ctx *contexts[4];
static const uint32_t thread_counts[4] = {1, 2, 3, 7};

static int create_contexts(void **state) {
    (void)state;
    for (int i = 0; i < 4; i++)
        contexts[i] = context_with_threads(thread_counts[i]);
    return 0;
}

static int destroy_contexts(void **state) {
    (void)state;
    for (int i = 0; i < 4; i++)
        scan_ctx_destroy(contexts[i]);
    return 0;
}

enum { MAX_BYTES = 3 << 20 };
static guarded in_memory, out_memory;
static char *expected[2], *original; /* expected: of each kind */

static int create_all(void **state) {
    in_memory = guarded_create(MAX_BYTES);
    out_memory = guarded_create(MAX_BYTES);
    expected[SCAN_INCLUSIVE] = malloc(MAX_BYTES);
    expected[SCAN_EXCLUSIVE] = malloc(MAX_BYTES);
    original = malloc(MAX_BYTES);
    return create_contexts(state);
}

static int destroy_all(void **state) {
    guarded_destroy(in_memory);
    guarded_destroy(out_memory);
    free(expected[SCAN_INCLUSIVE]);
    free(expected[SCAN_EXCLUSIVE]);
    free(original);
    return destroy_contexts(state);
}

/* Arrays end at a guard page, or begin at one, or stand `offset` elements into it. */
static void check(scan_ctx *ctx, const scan_prefix_desc *d, size_t n, size_t offset, bool at_end, bool in_place) {
    size_t in_bytes = n * scan_type_size(d->type), out_bytes = n * scan_type_size(d->out_type);
    size_t in_skip = offset * scan_type_size(d->type), out_skip = offset * scan_type_size(d->out_type);
    char *in = at_end ? (char *)guarded_end(in_memory, in_bytes + in_skip) : in_memory.memory + in_skip;
    char *out = in;
    if (!in_place)
        out = at_end ? (char *)guarded_end(out_memory, out_bytes + out_skip) : out_memory.memory + out_skip;
    memcpy(in, original, in_bytes);
    if (!in_place)
        memset(out, 0xa5, out_bytes);
    assert_int_equal(scan_prefix(ctx, d, in, out, n), SCAN_OK);
    if (memcmp(out, expected[d->kind], out_bytes) != 0) {
        size_t i = 0, size = scan_type_size(d->out_type);
        while (out[i] == expected[d->kind][i])
            i++;
        fail_msg("%s to %s, %s, kind %d, reverse %u, init %d, n %zu, offset %zu, end %d, in place %d, %s: element "
                 "%zu is wrong",
                 scan_type_name(d->type), scan_type_name(d->out_type), scan_op_name(d->op), (int)d->kind, d->reverse,
                 d->init != NULL, n, offset, at_end, in_place, scan_ctx_ran(ctx), i / size);
    }
    if (!in_place)
        assert_memory_equal(in, original, in_bytes);
}

/* Every size is tested with every combination; alignment, place and thread count go round with a counter, so that
 * neighbours differ. */
static void check_pair(scan_type type, scan_type out_type, const size_t *sizes, size_t size_count) {
    static unsigned round;
    for (size_t k = 0; k < size_count; k++)
        for (scan_op op = 0; op < (scan_op)SCAN_OP_COUNT; op++) {
            if (type_is_float(type) && op != SCAN_MIN && op != SCAN_MAX)
                continue;
            uint64_t init_bits = 0;
            for (unsigned way = 0; way < 8; way++) {
                scan_prefix_desc d = {.struct_size = sizeof d,
                                      .type = type,
                                      .out_type = out_type,
                                      .op = op,
                                      .kind = way & 1 ? SCAN_EXCLUSIVE : SCAN_INCLUSIVE,
                                      .reverse = way >> 1 & 1,
                                      .init = way & 4 ? &init_bits : NULL};
                uint64_t seed = sizes[k] * 77 + op * 7 + way / 2;
                if (d.kind == SCAN_INCLUSIVE) { /* exclusive is next, of the same */
                    fill_random(type, op, original, sizes[k], &seed);
                    fill_random(out_type, op, &init_bits, 1, &seed);
                    oracle(&d, original, expected, sizes[k]);
                }
                round++;
                bool can = scan_type_size(type) == scan_type_size(out_type);
                check(contexts[round % 4], &d, sizes[k], round % 3, round & 1, false);
                check(contexts[(round + 1) % 4], &d, sizes[k], round % 5, round & 2, can);
            }
        }
}

static size_t small_sizes[256], small_count;

static void fill_sizes(void) {
    for (size_t n = 0; n <= 130; n += ONLY_THREADS ? 65 : FEWER && n >= 66 ? 7 : 1)
        small_sizes[small_count++] = n;
    for (size_t k = 8; k <= (ONLY_THREADS ? 8 : 14); k++)
        for (size_t d = 0; d < 3; d++)
            small_sizes[small_count++] = ((size_t)1 << k) - 1 + d;
}

#define PAIR_TEST(name, type, out_type)                                                                                \
    static void matrix_##name(void **state) {                                                                          \
        (void)state;                                                                                                   \
        check_pair(type, out_type, small_sizes, small_count);                                                          \
        size_t shared_by_threads = 600001 / scan_type_size(out_type);                                                  \
        check_pair(type, out_type, &shared_by_threads, 1);                                                             \
    }
#define ROW(ENUM, name, ...) PAIR_TEST(name, SCAN_##ENUM, SCAN_##ENUM)
SCAN_TYPES(ROW)
#undef ROW
#define ROW(ENUM, name, ctype, WIDE, wide_name, wide_ctype, ...) PAIR_TEST(name##_##wide_name, SCAN_##ENUM, SCAN_##WIDE)
SCAN_WIDENINGS(ROW)
#undef ROW

/* Larger than what is written past the caches, at an address of every alignment of the element. */
static void large_arrays(void **state) {
    (void)state;
    const size_t n = (size_t)5 << 20;
    uint32_t *in = malloc(n * sizeof *in), *out = malloc((n + 16) * sizeof *out);
    uint64_t seed = 5;
    for (size_t i = 0; i < n; i++)
        in[i] = (uint32_t)random_u64(&seed);
    for (unsigned way = 0; way < 16; way += FEWER ? 5 : 1) {
        scan_prefix_desc d = {.struct_size = sizeof d, .type = SCAN_U32, .kind = way & 1, .reverse = way >> 1 & 1};
        uint32_t *at = out + way;
        assert_int_equal(scan_prefix(contexts[way % 4], &d, in, at, n - way), SCAN_OK);
        uint32_t sum = 0;
        for (size_t p = 0; p < n - way; p++) {
            size_t i = d.reverse ? n - way - 1 - p : p;
            uint32_t before = sum;
            sum += in[i];
            if (at[i] != (d.kind ? before : sum))
                fail_msg("way %u: element %zu is wrong", way, i);
        }
    }
    free(in);
    free(out);
}

/* ---- known answers ----------------------------------------------------------------------------------------------- */

static void known_sums(void **state) {
    (void)state;
    static const struct {
        size_t n;
        int32_t in[16], out[16];
    } cases[] = {
        {6, {1, 2, 5, 7, 9, 6}, {1, 3, 8, 15, 24, 30}},
        {8, {3, 1, 7, 0, 4, 1, 6, 3}, {3, 4, 11, 11, 15, 16, 22, 25}},
        {16,
         {2, 1, 3, 1, 0, 4, 1, 2, 0, 3, 1, 2, 5, 3, 1, 2},
         {2, 3, 6, 7, 7, 11, 12, 14, 14, 17, 18, 20, 25, 28, 29, 31}},
    };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        scan_prefix_desc d = {.struct_size = sizeof d, .type = SCAN_I32};
        int32_t out[16], in_place[16];
        double doubles[16];
        memcpy(in_place, cases[c].in, sizeof in_place);
        for (size_t i = 0; i < 16; i++)
            doubles[i] = cases[c].in[i];
        assert_int_equal(scan_prefix(contexts[0], &d, cases[c].in, out, cases[c].n), SCAN_OK);
        assert_memory_equal(out, cases[c].out, cases[c].n * sizeof out[0]);
        assert_int_equal(scan_prefix(contexts[0], &d, in_place, in_place, cases[c].n), SCAN_OK);
        assert_memory_equal(in_place, cases[c].out, cases[c].n * sizeof out[0]);
        d.type = SCAN_F64;
        assert_int_equal(scan_prefix(contexts[0], &d, doubles, doubles, cases[c].n), SCAN_OK);
        for (size_t i = 0; i < cases[c].n; i++)
            assert_true(doubles[i] == cases[c].out[i]);
    }
}

/* From the first NaN on everything is the quiet NaN, whatever NaN it was; -0 is below +0. */
static void nan_and_zero(void **state) {
    (void)state;
    const uint32_t in[] = {0x3f800000, 0x00000000, 0x80000000, 0x00000000, 0xff800001, 0x40000000};
    const uint32_t min[] = {0x3f800000, 0x00000000, 0x80000000, 0x80000000, 0x7fc00000, 0x7fc00000};
    const uint32_t max[] = {0x3f800000, 0x3f800000, 0x3f800000, 0x3f800000, 0x7fc00000, 0x7fc00000};
    float x[6], y[6];
    memcpy(x, in, sizeof x);
    scan_prefix_desc d = {.struct_size = sizeof d, .type = SCAN_F32, .op = SCAN_MIN};
    assert_int_equal(scan_prefix(contexts[0], &d, x, y, 6), SCAN_OK);
    assert_memory_equal(y, min, sizeof min);
    d.op = SCAN_MAX;
    assert_int_equal(scan_prefix(contexts[0], &d, x, y, 6), SCAN_OK);
    assert_memory_equal(y, max, sizeof max);
    float negative_nan = -NAN;
    d.init = &negative_nan;
    d.kind = SCAN_EXCLUSIVE;
    assert_int_equal(scan_prefix(contexts[0], &d, x, y, 6), SCAN_OK);
    assert_memory_equal(y, max + 4, 4);
}

/* Exclusive without init begins with the identity; +0 for a float sum. */
static void identities(void **state) {
    (void)state;
    scan_prefix_desc d = {.struct_size = sizeof d, .kind = SCAN_EXCLUSIVE};
    float one = -0.0F, out;
    uint32_t bits;
    const uint32_t first[] = {0, 0x3f800000, 0x7f800000, 0xff800000};
    d.type = SCAN_F32;
    for (d.op = 0; d.op < (scan_op)SCAN_OP_COUNT; d.op++) {
        if (is_bitwise(d.op))
            continue;
        assert_int_equal(scan_prefix(contexts[0], &d, &one, &out, 1), SCAN_OK);
        memcpy(&bits, &out, sizeof bits);
        assert_int_equal(bits, first[d.op]);
    }
    const int8_t i8 = 5, i8_first[] = {0, 1, INT8_MAX, INT8_MIN, 0, -1, 0};
    int8_t i8_out;
    assert_int_equal(sizeof i8_first, SCAN_OP_COUNT);
    d.type = SCAN_I8;
    for (d.op = 0; d.op < (scan_op)SCAN_OP_COUNT; d.op++) {
        assert_int_equal(scan_prefix(contexts[0], &d, &i8, &i8_out, 1), SCAN_OK);
        assert_int_equal(i8_out, i8_first[d.op]);
    }
}

int main(void) {
    fill_sizes();
    const struct CMUnitTest tests[] = {
#define ROW(ENUM, name, ...) cmocka_unit_test(matrix_##name),
        SCAN_TYPES(ROW)
#undef ROW
#define ROW(ENUM, name, ctype, WIDE, wide_name, wide_ctype, ...) cmocka_unit_test(matrix_##name##_##wide_name),
            SCAN_WIDENINGS(ROW)
#undef ROW
                cmocka_unit_test(large_arrays),
        cmocka_unit_test(known_sums),
        cmocka_unit_test(nan_and_zero),
        cmocka_unit_test(identities),
    };
    return cmocka_run_group_tests(tests, create_all, destroy_all);
}
