/* SPDX-License-Identifier: MIT
 *
 * Predicates: every comparison of every type with constants around every boundary against exact arithmetic; random
 * programs over many columns; what compilation folds; what is refused, and which term the detail names.
 *
 * Not with ThreadSanitizer: test_compact has its threads.
 */
#include <float.h>

#include "compact_oracle.h"
#include "scan/shared/predicate.h"

enum { MOST_ELEMENTS = 4096, MOST_CONSTANTS = 1024 };

static uint64_t seed = 7;

/* ---- one comparison ---------------------------------------------------------------------------------------------- */

typedef struct constants {
    scan_term terms[MOST_CONSTANTS];
    size_t n;
} constants;

static void add_unsigned(constants *c, uint64_t u) {
    assert_true(c->n < MOST_CONSTANTS);
    c->terms[c->n++] = (scan_term){.constant_type = SCAN_U64, .constant.u = u};
}

static void add_signed(constants *c, int64_t i) {
    assert_true(c->n < MOST_CONSTANTS);
    c->terms[c->n++] = (scan_term){.constant_type = SCAN_I64, .constant.i = i};
}

/* d, its neighbours, and all of them negated. */
static void add_double(constants *c, double d) {
    const double near[] = {d, nextafter(d, INFINITY), nextafter(d, -INFINITY)};
    for (size_t i = 0; i < 6; i++) {
        assert_true(c->n < MOST_CONSTANTS);
        c->terms[c->n++] = (scan_term){.constant_type = SCAN_F64, .constant.f = i < 3 ? near[i] : -near[i - 3]};
    }
}

static void all_constants(constants *c) {
    c->n = 0;
    static const int powers[] = {0, 1, 7, 8, 15, 16, 23, 24, 25, 31, 32, 33, 52, 53, 54, 62, 63};
    for (size_t k = 0; k < sizeof powers / sizeof powers[0]; k++)
        for (int near = -1; near <= 1; near++) {
            uint64_t u = ((uint64_t)1 << powers[k]) + (uint64_t)near;
            add_unsigned(c, u);
            add_signed(c, (int64_t)u);
            add_signed(c, (int64_t)(0 - u));
        }
    add_unsigned(c, UINT64_MAX);
    for (size_t k = 0; k < sizeof powers / sizeof powers[0]; k++) {
        add_double(c, ldexp(1, powers[k]));
        add_double(c, ldexp(1, powers[k]) - 0.5);
    }
    /* odd multiples of half a step of f32: halfway between two values */
    static const double others[] = {
        0.0,      0.1,        0.5,          4.5,           1e300,          0x1p64,     0x1p65,       INFINITY,
        DBL_MAX,  DBL_MIN,    4.94e-324,    FLT_MAX,       0x1.ffffffp127, 0x1p128,    FLT_MIN,      0x1p-149,
        0x1p-150, 0x1.8p-149, 0x1.000001p0, 0x1.000003p10, 254.999,        65535.0001, 4294967295.5, 127.5};
    for (size_t k = 0; k < sizeof others / sizeof others[0]; k++)
        add_double(c, others[k]);
    c->terms[c->n++] = (scan_term){.constant_type = SCAN_F64, .constant.f = NAN};
}

/* Elements where comparisons change their result: around the constants, around powers of two, at the type's limits. */
static size_t telling_elements(scan_type type, const constants *c, void *array) {
    size_t n = 0;
    for (size_t k = 0; k < c->n; k++) {
        const scan_term *term = &c->terms[k];
        double d = term->constant_type == SCAN_F64   ? term->constant.f
                   : term->constant_type == SCAN_U64 ? (double)term->constant.u
                                                     : (double)term->constant.i;
        for (int near = -1; near <= 1; near++) {
            if (type == SCAN_F64)
                ((double *)array)[n++] = near ? nextafter(d, near > 0 ? INFINITY : -INFINITY) : d;
            else if (type == SCAN_F32)
                ((float *)array)[n++] = near ? nextafterf((float)d, near > 0 ? INFINITY : -INFINITY) : (float)d;
            else if (term->constant_type != SCAN_F64) {
                uint64_t u = term->constant.u + (uint64_t)near;
                memcpy((char *)array + n++ * scan_type_size(type), &u, scan_type_size(type));
            }
        }
    }
    assert_true(n <= MOST_ELEMENTS);
    return n;
}

static void test_comparisons(void **state) {
    (void)state;
    scan_ctx *ctx = context_with_threads(1);
    constants *c = malloc(sizeof *c);
    uint64_t *elements = malloc(8 * MOST_ELEMENTS), *indices = malloc(8 * MOST_ELEMENTS);
    all_constants(c);
    for (scan_type type = SCAN_U8; scan_type_name(type); type++) {
        size_t n = telling_elements(type, c, elements);
        for (size_t k = 0; k < c->n; k++)
            for (scan_term_op op = SCAN_TERM_LT; op <= SCAN_TERM_NE; op++) {
                scan_term term = c->terms[k];
                term.op = op;
                scan_compact_desc desc = {
                    .struct_size = sizeof desc, .type = type, .index_type = SCAN_U64, .terms = &term, .term_count = 1};
                uint64_t count;
                scan_compact_out out = {.struct_size = sizeof out, .indices = indices, .count = &count};
                assert_int_equal(scan_compact(ctx, &desc, elements, &out, n), SCAN_OK);
                size_t kept = 0;
                for (size_t i = 0; i < n; i++)
                    if (is_selected(&desc, elements, i)) {
                        if (kept >= count || indices[kept] != i)
                            fail_msg("%s element %zu, constant %zu, op %d: not kept", scan_type_name(type), i, k, op);
                        kept++;
                    }
                if (kept != count)
                    fail_msg("%s, constant %zu, op %d: kept %zu too many", scan_type_name(type), k, op,
                             (size_t)count - kept);
            }
    }
    free(indices), free(elements), free(c);
    scan_ctx_destroy(ctx);
}

/* ---- programs ---------------------------------------------------------------------------------------------------- */

enum { PROGRAM_COLUMNS = 6, PROGRAM_ELEMENTS = 5000 };

static scan_term random_leaf(void) {
    scan_term term = {.op = (scan_term_op)random_below(&seed, 8)};
    term.column = (uint32_t)random_below(&seed, PROGRAM_COLUMNS + 2);
    if (term.column == PROGRAM_COLUMNS + 1)
        term.column = SCAN_COLUMN_INDEX;
    const uint64_t constant = random_u64(&seed), digits = random_below(&seed, 64);
    switch (random_below(&seed, 4)) {
    case 0: term.constant_type = SCAN_U64, term.constant.u = constant >> digits; break;
    case 1: term.constant_type = SCAN_I64, term.constant.i = (int64_t)constant >> digits; break;
    default: term.constant_type = SCAN_F64, term.constant.f = ldexp((double)(constant >> 40) / 0x1p24, (int)digits);
    }
    if (term.op > SCAN_TERM_NE)
        term.constant_type = SCAN_TYPE_NONE;
    return term;
}

/* `count` terms in postfix order. If `deep`, as many leaves as possible come first: the deepest stack. */
static void random_program(scan_term *terms, uint32_t count, bool deep) {
    uint32_t alive = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t left = count - i;
        uint64_t r = random_u64(&seed);
        if (alive > 0 && r % 5 == 0 && left > alive - 1) {
            terms[i] = (scan_term){.op = SCAN_TERM_NOT};
        } else if (left >= alive + 1 && (alive < 2 || deep || r % 3 == 0) && !(alive > 0 && left < 2)) {
            terms[i] = random_leaf();
            alive++;
        } else if (alive >= 2) {
            terms[i] = (scan_term){.op = r & 8 ? SCAN_TERM_AND : SCAN_TERM_OR};
            alive--;
        } else {
            terms[i] = (scan_term){.op = SCAN_TERM_NOT};
        }
    }
    assert_int_equal(alive, 1);
}

static void test_programs(void **state) {
    (void)state;
    scan_ctx *ctx = context_with_threads(3);
    char *data[PROGRAM_COLUMNS + 1];
    uint64_t *indices = malloc(8 * PROGRAM_ELEMENTS), count;
    for (int i = 0; i <= PROGRAM_COLUMNS; i++)
        data[i] = malloc(8 * PROGRAM_ELEMENTS);
    for (uint32_t round = 0; round < 400; round++) {
        scan_term terms[SCAN_MAX_TERMS];
        scan_column columns[PROGRAM_COLUMNS] = {0};
        uint32_t terms_in = round < 40 ? SCAN_MAX_TERMS - round % 3 : 1 + round % 24;
        size_t n = 1 + random_u64(&seed) % PROGRAM_ELEMENTS;
        random_program(terms, terms_in, round % 2 == 0);
        scan_compact_desc desc = {.struct_size = sizeof desc,
                                  .type = (scan_type)(1 + round % SCAN_TYPE_COUNT),
                                  .index_type = SCAN_U64,
                                  .invert = round / 2 % 2,
                                  .terms = terms,
                                  .term_count = terms_in,
                                  .columns = columns,
                                  .column_count = PROGRAM_COLUMNS,
                                  .index_base = round % 4 ? random_u64(&seed) >> round % 60 >> 1 : 0};
        random_elements(desc.type, data[0], n, &seed);
        for (int i = 0; i < PROGRAM_COLUMNS; i++) {
            columns[i] =
                (scan_column){.type = (scan_type)(1 + random_u64(&seed) % SCAN_TYPE_COUNT), .data = data[i + 1]};
            random_elements(columns[i].type, data[i + 1], n, &seed);
        }
        scan_compact_out out = {.struct_size = sizeof out, .indices = indices, .count = &count};
        assert_int_equal(scan_compact(ctx, &desc, data[0], &out, n), SCAN_OK);
        size_t kept = 0;
        for (size_t i = 0; i < n; i++)
            if (is_selected(&desc, data[0], i)) {
                if (kept >= count || indices[kept] != desc.index_base + i)
                    fail_msg("round %u: element %zu is not kept", round, i);
                kept++;
            }
        assert_int_equal(kept, count);
    }
    for (int i = 0; i <= PROGRAM_COLUMNS; i++)
        free(data[i]);
    free(indices);
    scan_ctx_destroy(ctx);
}

/* The index as a column is computed, not read: its range must be cut correctly at every bit of a word. */
static void test_index(void **state) {
    (void)state;
    scan_ctx *ctx = context_with_threads(2);
    uint64_t indices[300], count;
    for (uint64_t lo = 0; lo < 200; lo += 3)
        for (uint64_t hi = lo / 2; hi < 270; hi += 7) {
            const uint64_t base = lo * hi % 2 ? UINT64_MAX - 500 : 1000;
            scan_term terms[] = {{.op = SCAN_TERM_GE, .column = SCAN_COLUMN_INDEX, .constant_type = SCAN_U64},
                                 {.op = SCAN_TERM_LT, .column = SCAN_COLUMN_INDEX, .constant_type = SCAN_U64},
                                 {.op = SCAN_TERM_AND}};
            terms[0].constant.u = base + lo, terms[1].constant.u = base + hi;
            scan_compact_desc desc = {.struct_size = sizeof desc,
                                      .index_type = SCAN_U64,
                                      .terms = terms,
                                      .term_count = 3,
                                      .index_base = base};
            scan_compact_out out = {.struct_size = sizeof out, .indices = indices, .count = &count};
            assert_int_equal(scan_compact(ctx, &desc, NULL, &out, 250), SCAN_OK);
            uint64_t end = hi < 250 ? hi : 250;
            assert_int_equal(count, end > lo ? end - lo : 0);
            for (uint64_t i = 0; i < count; i++)
                assert_int_equal(indices[i], base + lo + i);
        }
    scan_ctx_destroy(ctx);
}

/* ---- folding ----------------------------------------------------------------------------------------------------- */

static scan_predicate compiled(scan_type type, const scan_term *terms, uint32_t count) {
    scan_compact_desc desc = {.struct_size = sizeof desc, .type = type, .terms = terms, .term_count = count};
    bool reads_in;
    assert_int_equal(scan_predicate_check(NULL, &desc, &reads_in), SCAN_OK);
    scan_predicate predicate;
    scan_predicate_compile(&desc, &predicate);
    return predicate;
}

#define F64_TERM(OP, value)                                                                                            \
    { .op = SCAN_TERM_##OP, .constant_type = SCAN_F64, .constant.f = (value) }

static void test_folding(void **state) {
    (void)state;
    const scan_term between[] = {F64_TERM(GE, 4.5), F64_TERM(LT, 6), {.op = SCAN_TERM_AND}};
    scan_predicate p = compiled(SCAN_U32, between, 3);
    assert_int_equal(p.step_count, 1);
    assert_int_equal(p.steps[0].lo, 5);
    assert_int_equal(p.steps[0].hi, 5);
    assert_false(p.steps[0].negate);

    const scan_term outside[] = {F64_TERM(GE, -2.5), F64_TERM(LE, 2), {.op = SCAN_TERM_AND}, {.op = SCAN_TERM_NOT}};
    p = compiled(SCAN_I8, outside, 4);
    assert_int_equal(p.step_count, 1);
    assert_int_equal(p.steps[0].lo, 0xfe);
    assert_int_equal(p.steps[0].hi, 2);
    assert_true(p.steps[0].negate);

    const scan_term decided[] = {F64_TERM(LT, 1e300), F64_TERM(EQ, 0.5), {.op = SCAN_TERM_OR}};
    p = compiled(SCAN_I64, decided, 3);
    assert_int_equal(p.step_count, 0);
    assert_true(p.constant);
    p = compiled(SCAN_F64, decided, 3); /* NaN is below no number */
    assert_int_equal(p.step_count, 1);
    assert_false(p.steps[0].negate);

    const scan_term either[] = {F64_TERM(LT, 4), F64_TERM(GT, 6), {.op = SCAN_TERM_OR}};
    p = compiled(SCAN_U32, either, 3);
    assert_int_equal(p.step_count, 1);
    assert_int_equal(p.steps[0].lo, 4);
    assert_int_equal(p.steps[0].hi, 6);
    assert_true(p.steps[0].negate);
    p = compiled(SCAN_F32, either, 3); /* nor is it outside 4 ... 6 */
    assert_int_equal(p.step_count, 3);

    const scan_term edge[] = {F64_TERM(NE, 7), F64_TERM(LE, 7), {.op = SCAN_TERM_AND}};
    p = compiled(SCAN_I16, edge, 3);
    assert_int_equal(p.step_count, 1);
    assert_int_equal(p.steps[0].hi, 6);
    const scan_term hole[] = {F64_TERM(NE, 5), F64_TERM(LE, 7), {.op = SCAN_TERM_AND}};
    assert_int_equal(compiled(SCAN_I16, hole, 3).step_count, 3);

    const scan_term nothing[] = {F64_TERM(GT, 3), F64_TERM(LT, 2), {.op = SCAN_TERM_AND}};
    p = compiled(SCAN_F32, nothing, 3);
    assert_int_equal(p.step_count, 0);
    assert_false(p.constant);
}

/* Every join of two comparisons of one column, on all values around the constants. */
static void test_joins(void **state) {
    (void)state;
    scan_ctx *ctx = context_with_threads(1);
    static const double constants[] = {-INFINITY, -1, -0.0, 1, 1.5, 2, 3, 255, 256, INFINITY, NAN};
    enum { CONSTANTS = sizeof constants / sizeof constants[0], OPS = SCAN_TERM_ISFINITE + 1 };
    double values[] = {-INFINITY, -2, -1, -0.0, 0, 1, 1.5, 2, 2.5, 3, 4, 127, 128, 254, 255, INFINITY, NAN, -NAN};
    enum { VALUES = sizeof values / sizeof values[0] };
    for (unsigned k = 0; k < OPS * OPS * CONSTANTS * CONSTANTS * 16; k++) {
        const scan_type type = (const scan_type[]){SCAN_U8, SCAN_I8, SCAN_F32, SCAN_F64}[k & 3];
        const unsigned draw = k >> 4, first = draw % OPS, second = draw / OPS % OPS;
        scan_term terms[5] = {{.op = (scan_term_op)first,
                               .constant_type = SCAN_F64,
                               .constant.f = constants[draw / OPS / OPS % CONSTANTS]},
                              {.op = (scan_term_op)second,
                               .constant_type = SCAN_F64,
                               .constant.f = constants[draw / OPS / OPS / CONSTANTS]}};
        uint32_t n = 2;
        if (k & 4)
            terms[n++] = (scan_term){.op = SCAN_TERM_NOT};
        terms[n++] = (scan_term){.op = k & 8 ? SCAN_TERM_AND : SCAN_TERM_OR};
        char in[VALUES * 8];
        for (size_t i = 0; i < VALUES; i++) {
            const double x = isfinite(values[i]) ? values[i] : 77;
            switch (type) {
            case SCAN_U8: ((uint8_t *)in)[i] = (uint8_t)(int)x; break;
            case SCAN_I8: ((int8_t *)in)[i] = (int8_t)(int)x; break;
            case SCAN_F32: ((float *)in)[i] = (float)values[i]; break;
            default: ((double *)in)[i] = values[i];
            }
        }
        uint32_t indices[VALUES];
        uint64_t count, kept = 0;
        scan_compact_desc desc = {.struct_size = sizeof desc, .type = type, .terms = terms, .term_count = n};
        scan_compact_out out = {.struct_size = sizeof out, .indices = indices, .count = &count};
        assert_int_equal(scan_compact(ctx, &desc, in, &out, VALUES), SCAN_OK);
        for (size_t i = 0; i < VALUES; i++)
            if (is_selected(&desc, in, i)) {
                if (kept >= count || indices[kept] != i)
                    fail_msg("case %u: element %zu is not kept", k, i);
                kept++;
            }
        assert_int_equal(kept, count);
    }
    scan_ctx_destroy(ctx);
}

/* ---- errors ------------------------------------------------------------------------------------------------------ */

static void expect(scan_status status, const char *words, scan_compact_desc desc) {
    scan_ctx *ctx = context_with_threads(1);
    uint32_t in[4] = {0};
    uint64_t count = 99;
    desc.struct_size = sizeof desc;
    scan_compact_out out = {.struct_size = sizeof out, .count = &count};
    assert_int_equal(scan_compact(ctx, &desc, in, &out, 4), status);
    if (!strstr(scan_ctx_detail(ctx), words))
        fail_msg("\"%s\" does not say \"%s\"", scan_ctx_detail(ctx), words);
    assert_int_equal(count, 99);
    scan_ctx_destroy(ctx);
}

#define TERMS(...)                                                                                                     \
    .terms = (scan_term[]){__VA_ARGS__}, .term_count = sizeof(scan_term[]){__VA_ARGS__} / sizeof(scan_term)
#define LEAF                                                                                                           \
    { .op = SCAN_TERM_LT, .constant_type = SCAN_U64 }
#define JOIN                                                                                                           \
    { .op = SCAN_TERM_AND }

static void test_errors(void **state) {
    (void)state;
    const scan_type u32 = SCAN_U32;
    expect(SCAN_ERR_ARGUMENT, "terms[0]", (scan_compact_desc){.type = u32, TERMS({.op = SCAN_TERM_NOT})});
    expect(SCAN_ERR_ARGUMENT, "terms[1]", (scan_compact_desc){.type = u32, TERMS(LEAF, JOIN)});
    expect(SCAN_ERR_ARGUMENT, "terms[3]", (scan_compact_desc){.type = u32, TERMS(LEAF, LEAF, JOIN, JOIN)});
    expect(SCAN_ERR_ARGUMENT, "terms[1]", (scan_compact_desc){.type = u32, TERMS(LEAF, LEAF)});
    expect(SCAN_ERR_ARGUMENT, "terms[0].op", (scan_compact_desc){.type = u32, TERMS({.op = (scan_term_op)11})});
    expect(SCAN_ERR_ARGUMENT, "terms[0].op", (scan_compact_desc){.type = u32, TERMS({.op = (scan_term_op)-1})});
    expect(SCAN_ERR_ARGUMENT, "terms[2].reserved",
           (scan_compact_desc){.type = u32, TERMS(LEAF, LEAF, {.op = SCAN_TERM_OR, .reserved = 1})});
    expect(SCAN_ERR_TYPE, "terms[1]",
           (scan_compact_desc){.type = u32, TERMS(LEAF, {.op = SCAN_TERM_LT, .constant_type = SCAN_U32}, JOIN)});
    expect(SCAN_ERR_ARGUMENT, "column 1",
           (scan_compact_desc){.type = u32, TERMS({.op = SCAN_TERM_LT, .column = 1, .constant_type = SCAN_U64})});
    expect(SCAN_ERR_TYPE, "terms[0]", (scan_compact_desc){.type = (scan_type)11, TERMS(LEAF)});
    expect(SCAN_ERR_ARGUMENT, "none of terms", (scan_compact_desc){.type = u32});
    expect(SCAN_ERR_ARGUMENT, "each of terms",
           (scan_compact_desc){.type = u32, TERMS(LEAF), .flags = (const uint8_t *)"1234"});
    expect(SCAN_ERR_ARGUMENT, "term_count", (scan_compact_desc){.type = u32, .terms = (scan_term[]){LEAF}});
    expect(SCAN_ERR_ARGUMENT, "term_count",
           (scan_compact_desc){.type = u32, .flags = (const uint8_t *)"1234", .term_count = 1});
    expect(SCAN_ERR_ARGUMENT, "invert", (scan_compact_desc){.type = u32, TERMS(LEAF), .invert = 2});
    expect(SCAN_ERR_ARGUMENT, "column_count", (scan_compact_desc){.type = u32, TERMS(LEAF), .column_count = 33});
    expect(SCAN_ERR_ARGUMENT, "columns", (scan_compact_desc){.type = u32, TERMS(LEAF), .column_count = 1});
    expect(SCAN_ERR_TYPE, "columns[0].type",
           (scan_compact_desc){.type = u32, TERMS(LEAF), .column_count = 1, .columns = (scan_column[]){{.type = 0}}});
    expect(SCAN_ERR_ARGUMENT, "columns[0].reserved",
           (scan_compact_desc){
               .type = u32, TERMS(LEAF), .column_count = 1, .columns = (scan_column[]){{.type = u32, .reserved = 1}}});
    expect(SCAN_ERR_ARGUMENT, "columns[0]",
           (scan_compact_desc){.type = u32, TERMS(LEAF), .column_count = 1, .columns = (scan_column[]){{.type = u32}}});

    scan_term many[SCAN_MAX_TERMS + 1] = {LEAF};
    for (uint32_t i = 1; i <= SCAN_MAX_TERMS; i++)
        many[i] = (scan_term){.op = SCAN_TERM_NOT};
    expect(SCAN_ERR_ARGUMENT, "term_count",
           (scan_compact_desc){.type = u32, .terms = many, .term_count = SCAN_MAX_TERMS + 1});
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_comparisons), cmocka_unit_test(test_programs), cmocka_unit_test(test_index),
        cmocka_unit_test(test_folding),     cmocka_unit_test(test_joins),    cmocka_unit_test(test_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
