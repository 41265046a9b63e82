/* SPDX-License-Identifier: MIT
 *
 * scan_dist_prefix: the bytes of one context on the whole array, for every type, operator, direction and kind, with
 * shares of all shapes; sums of integers and of floats also against loops of their own.
 */
#include "dist_test.h"
#include "tests/unit/float_order.h"

enum { MAX_N = 1 << 20 };

static char *whole_in, *whole_out;

/* Numbers whose folds show order: floats near 1 for products, of both signs for sums, with NaN, zeros of both signs and
 * infinities for min and max; integers over the whole range, odd for products. */
static void fill(scan_type type, scan_op op, size_t n, uint64_t *rng) {
    const bool is_float = scan_type_class(type) == SCAN_FLOAT, ordered = op == SCAN_MIN || op == SCAN_MAX;
    const bool with_nan = random_below(rng, 4) == 0;
    const size_t size = scan_type_size(type);
    for (size_t i = 0; i < n; i++) {
        uint64_t bits = random_u64(rng) | (op == SCAN_MUL);
        if (op == SCAN_AND || op == SCAN_OR) { /* seldom a bit, so that the fold goes on changing */
            const uint64_t bit = bits % (i + 1) < 4 ? UINT64_C(1) << (bits >> 32) % (8 * size) : 0;
            bits = op == SCAN_AND ? ~bit : bit;
        }
        if (is_float) {
            double f = (double)(bits >> 12) * 0x1p-52 - 0.5;
            f = op == SCAN_MUL ? 1 + f / 64 : f;
            if (ordered)
                f *= (double)(1 + i % 1000);
            if (ordered && bits % 61 == 0)
                f = bits & 64 ? 0.0 : -0.0;
            if (ordered && with_nan && bits % 9973 == 0)
                f = (double)NAN;
            const float f32 = (float)f;
            bits = 0;
            memcpy(&bits, type == SCAN_F32 ? (const void *)&f32 : (const void *)&f, size);
        }
        memcpy(whole_in + i * size, &bits, size);
    }
}

static void check_shares(const dist_test *t, const scan_prefix_desc *desc, size_t n, unsigned way, bool in_place,
                         uint64_t *rng) {
    const size_t in_size = scan_type_size(desc->type), out_size = scan_type_size(desc->out_type);
    const split s = make_split(t, way, n, rng);
    const size_t mine = share_of(t, &s), first = s.at[t->rank];
    char *in = copy_bytes(whole_in + first * in_size, mine * in_size);
    char *out = in_place ? in : make_bytes(mine * out_size);
    CHECK_STATUS(scan_dist_prefix(t->comm, desc, in, out, mine), SCAN_OK);
    for (size_t i = 0; i < mine; i++)
        CHECK(memcmp(out + i * out_size, whole_out + (first + i) * out_size, out_size) == 0,
              "%s to %s, %s, kind %d, reverse %u, init %d, n %zu, split %u, in place %d: element %zu of %zu",
              scan_type_name(desc->type), scan_type_name(desc->out_type), scan_op_name(desc->op), (int)desc->kind,
              desc->reverse, desc->init != NULL, n, way, in_place, i, mine);
    if (!in_place)
        free_bytes(out);
    free_bytes(in);
}

static void check_against_one_context(const dist_test *t, scan_type type, scan_type out_type, scan_op op, size_t n,
                                      uint64_t *rng) {
    uint64_t init = 0;
    fill(out_type, op, 1, rng);
    memcpy(&init, whole_in, scan_type_size(out_type));
    fill(type, op, n, rng);
    const uint64_t traits = random_u64(rng);
    const scan_prefix_desc desc = {.struct_size = sizeof desc,
                                   .type = type,
                                   .out_type = out_type,
                                   .op = op,
                                   .kind = traits & 1 ? SCAN_EXCLUSIVE : SCAN_INCLUSIVE,
                                   .reverse = traits >> 1 & 1,
                                   .init = traits >> 2 & 1 ? &init : NULL};
    CHECK_STATUS(scan_prefix(t->whole, &desc, whole_in, whole_out, n), SCAN_OK);
    check_shares(t, &desc, n, (unsigned)random_below(rng, SPLITS), false, rng);
    if (scan_type_size(type) == scan_type_size(out_type))
        check_shares(t, &desc, n, (unsigned)random_below(rng, SPLITS), true, rng);
}

/* Lengths from nothing to a few groups; the long ones for float add and mul, whose groups are cut. */
static size_t random_length(scan_type out_type, scan_op op, uint64_t *rng) {
    const bool grouped = scan_type_class(out_type) == SCAN_FLOAT && (op == SCAN_ADD || op == SCAN_MUL);
    const size_t group = ((size_t)1 << 20) / scan_type_size(out_type), any = random_below(rng, 5000);
    const size_t lengths[] = {any % 20, any, group - 1, group, 2 * group + any, 3 * group + 7};
    return lengths[random_below(rng, grouped ? 6 : 2)];
}

static void pair(const dist_test *t, scan_type type, scan_type out_type, uint64_t *rng) {
    for (int op = 0; scan_op_name((scan_op)op); op++)
        if (scan_op_takes((scan_op)op, type)) {
            const bool is_float = scan_type_class(type) == SCAN_FLOAT;
            for (int repeat = 0; repeat < (is_float ? 6 : 2); repeat++)
                check_against_one_context(t, type, out_type, (scan_op)op, random_length(out_type, (scan_op)op, rng),
                                          rng);
        }
}

static void every_pair(const dist_test *t) {
    uint64_t rng = 11;
#define ROW(ENUM, ...) pair(t, SCAN_##ENUM, SCAN_##ENUM, &rng);
    SCAN_TYPES(ROW)
#undef ROW
#define ROW(ENUM, name, ctype, WIDE, ...) pair(t, SCAN_##ENUM, SCAN_##WIDE, &rng);
    SCAN_WIDENINGS(ROW)
#undef ROW
}

/* Against loops that know nothing of the library. */
static void oracles(const dist_test *t) {
    uint64_t rng = 5, sum = 0;
    const size_t n = 300001;
    const scan_prefix_desc integers = {.struct_size = sizeof integers, .type = SCAN_U16, .out_type = SCAN_U64};
    const scan_prefix_desc floats = {.struct_size = sizeof floats, .type = SCAN_F64, .out_type = SCAN_F64};
    fill(SCAN_U16, SCAN_ADD, n, &rng);
    for (size_t i = 0; i < n; i++)
        ((uint64_t *)whole_out)[i] = sum += ((const uint16_t *)whole_in)[i];
    for (unsigned way = 0; way < SPLITS; way++)
        check_shares(t, &integers, n, way, false, &rng);
    double *before = make_bytes((n + 1) * sizeof *before);
    fill(SCAN_F64, SCAN_ADD, n, &rng);
    float_order_f64((const double *)whole_in, n, false, NULL, before);
    memcpy(whole_out, before + 1, n * sizeof *before);
    for (unsigned way = 0; way < SPLITS; way++)
        check_shares(t, &floats, n, way, way % 2, &rng);
    free_bytes(before);
}

/* A piece of an array that goes on with the one before, if there is one. */
static void check_piece(const dist_test *t, const scan_prefix_desc *desc, size_t begin, size_t n, uint64_t *rng) {
    const size_t in_size = scan_type_size(desc->type), out_size = scan_type_size(desc->out_type);
    const unsigned way = (unsigned)random_below(rng, SPLITS);
    const split s = make_split(t, way, n, rng);
    const size_t mine = share_of(t, &s), first = begin + s.at[t->rank];
    char *in = copy_bytes(whole_in + first * in_size, mine * in_size), *out = make_bytes(mine * out_size);
    CHECK_STATUS(scan_dist_prefix(t->comm, desc, in, out, mine), SCAN_OK);
    CHECK(memcmp(out, whole_out + first * out_size, mine * out_size) == 0,
          "%s to %s, %s, kind %d, reverse %u, a piece of %zu from %zu on, split %u", scan_type_name(desc->type),
          scan_type_name(desc->out_type), scan_op_name(desc->op), (int)desc->kind, desc->reverse, n, begin, way);
    free_bytes(in);
    free_bytes(out);
}

/* An array in pieces of any lengths, with the bits of one context on all of it. */
static void pieces(const dist_test *t) {
    static const struct {
        scan_type type, out_type;
        scan_op op;
    } calls[] = {{SCAN_F32, SCAN_F32, SCAN_ADD}, {SCAN_F32, SCAN_F64, SCAN_ADD}, {SCAN_F64, SCAN_F64, SCAN_MUL},
                 {SCAN_F32, SCAN_F32, SCAN_MAX}, {SCAN_U8, SCAN_U64, SCAN_ADD},  {SCAN_I16, SCAN_I16, SCAN_XOR}};
    uint64_t rng = 71, init = 0;
    char *carries[2] = {make_bytes(SCAN_DIST_CARRY_BYTES), make_bytes(SCAN_DIST_CARRY_BYTES)};
    for (unsigned i = 0; i < 4 * sizeof calls / sizeof *calls; i++) {
        const scan_type type = calls[i / 4].type, out_type = calls[i / 4].out_type;
        const scan_op op = calls[i / 4].op;
        const size_t group = ((size_t)1 << 20) / scan_type_size(out_type);
        const size_t n = i % 4 == 3 ? random_below(&rng, 50) : 2 * group + random_below(&rng, 5000);
        fill(out_type, op, 1, &rng);
        memcpy(&init, whole_in, scan_type_size(out_type));
        fill(type, op, n, &rng);
        scan_prefix_desc desc = {.struct_size = sizeof desc, .type = type, .out_type = out_type, .op = op};
        desc.kind = random_below(&rng, 2) ? SCAN_EXCLUSIVE : SCAN_INCLUSIVE;
        desc.reverse = (uint32_t)random_below(&rng, 2);
        desc.init = random_below(&rng, 2) ? &init : NULL;
        CHECK_STATUS(scan_prefix(t->whole, &desc, whole_in, whole_out, n), SCAN_OK);
        for (size_t done = 0, now = 0, k = 0; done < n; done += now, k++) {
            const size_t any = random_below(&rng, n - done + 1), lengths[] = {0, any, any / 8, any % 7, n - done};
            now = lengths[k < 9 ? random_below(&rng, 5) : 4];
            desc.carry_out = carries[random_below(&rng, 2)];
            check_piece(t, &desc, desc.reverse ? n - done - now : done, now, &rng);
            desc.carry_in = desc.carry_out;
            desc.init = NULL;
        }
    }
    free_bytes(carries[0]);
    free_bytes(carries[1]);
}

static void errors(const dist_test *t) {
    uint64_t count = 1;
    float in[4] = {1, 2, 3, 4}, out[4];
    const scan_status others = t->size > 1 ? SCAN_ERR_PEER : SCAN_OK;
    scan_prefix_desc good = {.struct_size = sizeof good, .type = SCAN_F32}, desc = good;
    const bool bad = t->rank == t->size - 1;
    CHECK_STATUS(scan_dist_prefix(t->comm, bad ? NULL : &good, in, out, 4), bad ? SCAN_ERR_ARGUMENT : others);
    CHECK_STATUS(scan_dist_prefix(t->comm, &good, bad ? NULL : in, out, 4), bad ? SCAN_ERR_ARGUMENT : others);
    CHECK_STATUS(scan_dist_prefix(t->comm, &good, bad ? (char *)in + 1 : (char *)in, out, 3),
                 bad ? SCAN_ERR_ALIGNMENT : others);
    CHECK_STATUS(scan_dist_prefix(t->comm, &good, in, bad ? in + 1 : out, 3), bad ? SCAN_ERR_OVERLAP : others);
    desc.n_device = (const uint64_t *)(const void *)((const char *)&count + 1);
    CHECK_STATUS(scan_dist_prefix(t->comm, &desc, in, out, 4), SCAN_ERR_ALIGNMENT);
    desc = good;
    desc.struct_size = 8;
    CHECK_STATUS(scan_dist_prefix(t->comm, &desc, in, out, 4), SCAN_ERR_VERSION);
    desc = good;
    desc.op = SCAN_XOR;
    CHECK_STATUS(scan_dist_prefix(t->comm, &desc, in, out, 4), SCAN_ERR_TYPE);
    desc = good;
    desc.algorithm.grid = SCAN_GRID_HIERARCHICAL;
    CHECK_STATUS(scan_dist_prefix(t->comm, &desc, in, out, 4), SCAN_ERR_ALGORITHM);
    desc = good;
    desc.reverse = bad;
    CHECK_STATUS(scan_dist_prefix(t->comm, &desc, in, out, 4), t->size > 1 ? SCAN_ERR_ARGUMENT : SCAN_OK);
    CHECK_STATUS(scan_dist_prefix(t->comm, &good, NULL, NULL, 0), SCAN_OK);
    CHECK_STATUS(scan_dist_prefix(NULL, &good, NULL, NULL, 0), SCAN_ERR_ARGUMENT);
}

void test_prefix(const dist_test *t) {
    whole_in = make_bytes(MAX_N * 8);
    whole_out = make_bytes(MAX_N * 8);
    every_pair(t);
    oracles(t);
    pieces(t);
    if (!t->on_device)
        errors(t);
    free_bytes(whole_in);
    free_bytes(whole_out);
}
