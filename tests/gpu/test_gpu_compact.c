/* SPDX-License-Identifier: MIT
 *
 * scan_compact on the device: every type, share kept, kind of predicate, subset of outputs, address, count on the
 * device, in place, on sizes around every switch, against the plain loop of compact_oracle.h where n is small and the
 * CPU backend, which has tests of its own, where it is not; elements kept in patterns, on both grids; random programs
 * of up to 128 terms over up to 32 columns, against both. test_gpu_compact_stress.c has the sizes past 2^32.
 */
#include <cuda_runtime_api.h>

#include "../unit/compact_oracle.h"
#include "gpu_compaction.h"

enum { OUT_KEPT = 1, OUT_REJECTED = 2, OUT_INDICES = 4, OUT_COUNT = 8 };

/* PROGRAM and WIDEST are for the test programs; the case says how many terms and columns. */
typedef enum predicate_kind {
    ONE,
    BETWEEN,
    FLAGS,
    OTHER,
    INDEX,
    TWO,
    ALL,
    KINDS,
    PROGRAM = KINDS,
    WIDEST
} predicate_kind;

static const char *const kind_names[] = {"one",         "between", "flags",   "other column", "index",
                                         "two columns", "all",     "program", "widest"};

/* X(enum, name): where the elements lie that the predicate, or flags, choose. For ONE and FLAGS. */
#define PATTERNS(X)                                                                                                    \
    X(SCATTERED, scattered) /* as they come */                                                                         \
    X(FIRST_HALF, first half)                                                                                          \
    X(ALTERNATING, alternating)                                                                                        \
    X(LONG_RUNS, runs of 5000)                                                                                         \
    X(ONLY_FIRST, only the first)                                                                                      \
    X(ONLY_LAST, only the last)                                                                                        \
    X(ONE_A_TILE, one a tile)

typedef enum keep_pattern {
#define PATTERN_ROW(ENUM, name) ENUM,
    PATTERNS(PATTERN_ROW)
#undef PATTERN_ROW
        PATTERN_COUNT
} keep_pattern;

static const char *const pattern_names[] = {
#define PATTERN_ROW(ENUM, name) #name,
    PATTERNS(PATTERN_ROW)
#undef PATTERN_ROW
};

typedef struct compact_case {
    scan_type type;
    size_t n, bound; /* bound: the n of the call, more than n if the count is on the device */
    predicate_kind kind;
    double share; /* kept, in percent, about */
    unsigned outputs;
    uint32_t invert;
    scan_type index_type;
    uint64_t index_base;
    size_t offset;
    bool in_place;
    uint64_t asks; /* 1: for look-back, 2: for the wave, where it serves; else for none */
    keep_pattern pattern;
    uint32_t columns, terms; /* of a program */
} compact_case;

/* ---- arrays ------------------------------------------------------------------------------------------------------ */

enum { MOST_OUTSIDE = 1 << 17 };

static gpu_array d_in, d_flags, d_columns[SCAN_MAX_COLUMNS], d_count_in, d_kept, d_rejected, d_indices, d_count;
static char *host_in, *host_columns, *want_kept, *want_rejected, *want_indices, *got;
static uint8_t *host_flags;
static size_t room;
static uint64_t seed = 11;

static void make_room(size_t n) {
    if (n <= room)
        return;
    char **const all[] = {&host_in, &host_columns, &want_kept, &want_rejected, &want_indices, &got};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        free(*all[i]);
        assert_non_null(*all[i] = malloc(n * 8));
    }
    free(host_flags);
    assert_non_null(host_flags = malloc(n));
    room = n;
}

/* ---- one case ---------------------------------------------------------------------------------------------------- */

typedef struct predicate {
    scan_term terms[SCAN_MAX_TERMS];
    scan_column columns[SCAN_MAX_COLUMNS];
} predicate;

static uint32_t columns_of(const compact_case *c) {
    return c->kind >= PROGRAM ? c->columns : c->kind == OTHER || c->kind == TWO;
}

static scan_term below(scan_type type, double share, uint32_t column) {
    return (scan_term){
        .op = SCAN_TERM_LT, .column = column, .constant_type = SCAN_F64, .constant.f = quantile(type, share)};
}

/* Elements, columns one after another in host_columns, and flags. */
static void fill(const compact_case *c, predicate *p) {
    random_elements(c->type, host_in, c->bound, &seed);
    for (uint32_t k = 0; k < columns_of(c); k++) {
        const scan_type type =
            c->kind < PROGRAM ? SCAN_F64 - c->type + SCAN_U8 : (scan_type)(1 + random_u64(&seed) % SCAN_TYPE_COUNT);
        p->columns[k] = (scan_column){.type = type, .data = host_columns + k * c->bound * 8};
        random_elements(type, host_columns + k * c->bound * 8, c->bound, &seed);
    }
    for (size_t i = 0; c->kind == FLAGS && i < c->bound; i++) {
        const uint64_t r = random_u64(&seed);
        host_flags[i] = (double)(r >> 11) * 0x1p-53 * 100 < c->share ? (uint8_t)(r % 255 + 1) : 0;
    }
}

/* Any test of any column or of the index, as a rule with an element of the column as its constant. */
static scan_term random_leaf(const compact_case *c, const predicate *p) {
    const uint64_t r = random_u64(&seed);
    const uint32_t column = (uint32_t)(r >> 32) % (c->columns + 2);
    const bool is_index = column > c->columns, element = r >> 4 & 3;
    const scan_column x =
        column == 0 || is_index ? (scan_column){.type = c->type, .data = host_in} : p->columns[column - 1];
    const size_t i = (r >> 8 & 0xffffff) % c->n;
    scan_term term = {.op = (scan_term_op)(r & 8 ? r & 7 : r & 3), .column = is_index ? SCAN_COLUMN_INDEX : column};
    if (term.op > SCAN_TERM_NE)
        return term;
    if (is_index)
        term.constant_type = SCAN_U64, term.constant.u = c->index_base + i;
    else if (type_is_float(x.type) && element)
        term.constant_type = SCAN_F64, term.constant.f = double_at(x.type, x.data, i);
    else if (type_is_float(x.type))
        term.constant_type = SCAN_I64, term.constant.i = (int64_t)(i % 4) - 1;
    else if (!element)
        term.constant_type = SCAN_F64, term.constant.f = quantile(x.type, (double)(i % 1050) / 10);
    else if (gpu_is_signed(x.type))
        term.constant_type = SCAN_I64, term.constant.i = (int64_t)integer_at(x.type, x.data, i);
    else
        term.constant_type = SCAN_U64, term.constant.u = (uint64_t)integer_at(x.type, x.data, i);
    return term;
}

/* c->terms terms in postfix order. No more results than terms left to join them, but the one that remains. */
static void random_program(const compact_case *c, predicate *p) {
    for (uint32_t i = 0, results = 0; i < c->terms; i++) {
        const uint32_t left = c->terms - i;
        const uint64_t r = random_u64(&seed);
        if (results < left && (results == 0 || r % 2)) {
            p->terms[i] = random_leaf(c, p);
            results++;
        } else if (results > left || (results > 1 && r >> 8 & 3)) {
            p->terms[i] = (scan_term){.op = r >> 16 & 1 ? SCAN_TERM_AND : SCAN_TERM_OR};
            results--;
        } else {
            p->terms[i] = (scan_term){.op = SCAN_TERM_NOT};
        }
    }
}

/* As many results at a time as terms allow, over all columns and the index; each turns away a few elements. */
static void widest_program(const compact_case *c, predicate *p) {
    enum { LEAVES = SCAN_MAX_TERMS / 2 };
    for (uint32_t i = 0; i < LEAVES; i++) {
        const uint32_t column = i % (c->columns + 2);
        const scan_type type = column == 0 || column > c->columns ? c->type : p->columns[column - 1].type;
        p->terms[i] = below(type, i % 2 ? 98.5 : 1.5, column);
        if (column > c->columns) {
            p->terms[i].column = SCAN_COLUMN_INDEX;
            p->terms[i].constant.f = (double)c->index_base + (double)c->n * (i % 2 ? 0.985 : 0.015);
        }
        if (i % 2 == 0)
            p->terms[i].op = SCAN_TERM_GE;
    }
    for (uint32_t i = LEAVES; i < SCAN_MAX_TERMS; i++)
        p->terms[i] = (scan_term){.op = i < SCAN_MAX_TERMS - 1 ? SCAN_TERM_AND : SCAN_TERM_NOT};
}

/* The descriptor with host pointers. */
static scan_compact_desc describe(const compact_case *c, predicate *p) {
    scan_compact_desc d = {.struct_size = sizeof d,
                           .type = c->type,
                           .index_type = c->index_type,
                           .invert = c->invert,
                           .terms = p->terms,
                           .term_count = 1,
                           .index_base = c->index_base};
    const uint64_t cut = c->index_base + (uint64_t)((double)c->n * c->share / 100);
    const scan_term of_index = {
        .op = SCAN_TERM_LT, .column = SCAN_COLUMN_INDEX, .constant_type = SCAN_U64, .constant.u = cut};
    switch (c->kind) {
    case ONE: p->terms[0] = below(c->type, c->share, 0); break;
    case BETWEEN:
        p->terms[0] = below(c->type, 50 + c->share / 2, 0);
        p->terms[1] = below(c->type, 50 - c->share / 2, 0);
        p->terms[1].op = SCAN_TERM_GE;
        p->terms[2] = (scan_term){.op = SCAN_TERM_AND};
        d.term_count = 3;
        break;
    case FLAGS:
        d.flags = host_flags;
        d.terms = NULL;
        d.term_count = 0;
        break;
    case INDEX: p->terms[0] = of_index; break;
    case OTHER: p->terms[0] = below(p->columns[0].type, c->share, 1); break;
    case TWO: /* x < a || !(y < b && i < c) */
        p->terms[0] = below(c->type, c->share / 2, 0);
        p->terms[1] = below(p->columns[0].type, 100 - c->share / 2, 1);
        p->terms[2] = of_index;
        p->terms[3] = (scan_term){.op = SCAN_TERM_AND};
        p->terms[4] = (scan_term){.op = SCAN_TERM_NOT};
        p->terms[5] = (scan_term){.op = SCAN_TERM_OR};
        d.term_count = 6;
        break;
    case PROGRAM:
        random_program(c, p);
        d.term_count = c->terms;
        break;
    case WIDEST:
        widest_program(c, p);
        d.term_count = SCAN_MAX_TERMS;
        break;
    default: /* settled by the constant */
        p->terms[0] = (scan_term){.op = SCAN_TERM_NE, .constant_type = SCAN_F64, .constant.f = (double)NAN};
        break;
    }
    d.column_count = columns_of(c);
    d.columns = d.column_count ? p->columns : NULL;
    return d;
}

/* ---- patterns ---------------------------------------------------------------------------------------------------- */

static size_t tile_of(const compact_case *c) {
    const size_t size = scan_type_size(c->type);
    return c->asks != 2 || !has_wave() ? look_back_tile(size)
           : c->kind == FLAGS          ? flags_wave_tile(size)
                                       : wave_tile(size);
}

static bool is_chosen(const compact_case *c, size_t i) {
    const size_t tile = tile_of(c);
    switch (c->pattern) {
    case FIRST_HALF: return i < c->n / 2;
    case ALTERNATING: return i % 2 == 1;
    case LONG_RUNS: return i / 5000 % 2 == 0;
    case ONLY_FIRST: return i == 0;
    case ONLY_LAST: return i + 1 == c->n;
    case ONE_A_TILE: return i % tile == i / tile * 997 % tile;
    case SCATTERED:
    case PATTERN_COUNT: break;
    }
    abort();
}

/* Draws elements again, and sets flags, until the predicate chooses those of the pattern. */
static void lay_out(const compact_case *c, const scan_compact_desc *d) {
    const size_t size = scan_type_size(c->type);
    for (size_t i = 0; c->pattern != SCATTERED && i < c->bound; i++) {
        const bool chosen = is_chosen(c, i);
        if (c->kind == FLAGS)
            host_flags[i] = chosen ? (uint8_t)(random_u64(&seed) % 255 + 1) : 0;
        else
            while (is_selected(d, host_in, i) != (chosen != (d->invert == 1)))
                random_elements(c->type, host_in + i * size, 1, &seed);
    }
}

/* ---- what is expected -------------------------------------------------------------------------------------------- */

/* The CPU backend's outputs, and how many it keeps. */
static size_t of_the_cpu(const compact_case *c, const scan_compact_desc *d, scan_type index_type,
                         scan_compact_out out) {
    uint64_t count;
    scan_compact_desc on_cpu = *d;
    on_cpu.index_type = index_type;
    out.struct_size = sizeof out;
    out.count = &count;
    cpu_ok(scan_compact(cpu, &on_cpu, host_in, &out, c->n));
    return count;
}

/* The CPU backend's answer to a program is that of the plain loop. */
static void agree(const compact_case *c, const scan_compact_desc *d, scan_type index_type, size_t kept) {
    assert_int_equal(of_the_cpu(c, d, index_type, (scan_compact_out){.indices = got}), kept);
    const size_t wrong = gpu_first_difference(got, want_indices, kept, scan_type_size(index_type));
    if (wrong != kept)
        fail_msg("%u terms over %u columns, %zu elements: the CPU's index %zu of %zu", d->term_count, c->columns, c->n,
                 wrong, kept);
}

/* Answers how many are kept. */
static size_t expect(const compact_case *c, const scan_compact_desc *d, scan_type index_type) {
    const size_t size = scan_type_size(c->type);
    if (c->n > MOST_OUTSIDE)
        return of_the_cpu(c, d, index_type,
                          (scan_compact_out){.kept = want_kept, .rejected = want_rejected, .indices = want_indices});
    size_t kept = 0, rejected = 0;
    for (size_t i = 0; i < c->n; i++)
        if (is_selected(d, host_in, i)) {
            put_index(index_type, want_indices, kept, c->index_base + i);
            memcpy(want_kept + kept++ * size, host_in + i * size, size);
        } else {
            memcpy(want_rejected + rejected++ * size, host_in + i * size, size);
        }
    if (c->kind >= PROGRAM)
        agree(c, d, index_type, kept);
    return kept;
}

static void same(const compact_case *c, const char *what, gpu_array *array, const char *want, size_t n, size_t size) {
    gpu_get(array, got);
    const size_t wrong = gpu_first_difference(got, want, n, size);
    if (wrong != n)
        fail_msg("%s, %s, %s, %u columns, n %zu of %zu, share %g, invert %u, outputs %u, index base %llu, offset "
                 "%zu%s, ran %s: %s: element %zu of %zu",
                 scan_type_name(c->type), kind_names[c->kind], pattern_names[c->pattern], columns_of(c), c->n, c->bound,
                 c->share, c->invert, c->outputs, (unsigned long long)c->index_base, c->offset,
                 c->in_place ? ", in place" : "", scan_ctx_ran(gpu), what, wrong, n);
}

/* Flags, and one range that is neither empty nor everything. */
static bool wave_serves(const compact_case *c) {
    return has_wave() && (c->kind == FLAGS || (c->kind == ONE && c->share > 0 && c->share < 100));
}

static scan_grid grid_of(const compact_case *c) {
    return c->asks == 1 ? SCAN_GRID_LOOKBACK : c->asks == 2 && wave_serves(c) ? SCAN_GRID_WAVE : SCAN_GRID_AUTO;
}

static unsigned grids_seen; /* wave, look-back, single */

static void check(const compact_case *c) {
    const size_t size = scan_type_size(c->type);
    predicate p = {0};
    make_room(c->bound * (c->kind >= PROGRAM ? SCAN_MAX_COLUMNS : 1) + 64);
    fill(c, &p);
    scan_compact_desc d = describe(c, &p);
    lay_out(c, &d);
    const scan_type index_type = c->index_type                           ? c->index_type
                                 : c->index_base + c->bound < 1ull << 32 ? SCAN_U32
                                                                         : SCAN_U64;
    const size_t index_size = scan_type_size(index_type), kept = expect(c, &d, index_type), rejected = c->n - kept;

    const uint64_t n = c->n;
    const bool writes = c->outputs & (OUT_KEPT | OUT_REJECTED);
    char *in = gpu_put(&d_in, host_in, c->bound, size, c->offset);
    scan_compact_out out = {.struct_size = sizeof out};
    if (c->outputs & OUT_KEPT)
        out.kept = c->in_place ? in : gpu_put(&d_kept, NULL, c->bound, size, c->offset / 2);
    if (c->outputs & OUT_REJECTED)
        out.rejected = gpu_put(&d_rejected, NULL, c->bound, size, c->offset / 3);
    if (c->outputs & OUT_INDICES)
        out.indices = gpu_put(&d_indices, NULL, c->bound, index_size, c->offset & 3);
    if (c->outputs & OUT_COUNT)
        out.count = gpu_put(&d_count, NULL, 1, 8, 0);
    if (c->kind == FLAGS)
        d.flags = gpu_put(&d_flags, host_flags, c->bound, 1, c->offset * 5 % 128);
    for (uint32_t k = 0; k < d.column_count; k++)
        p.columns[k].data = gpu_put(&d_columns[k], p.columns[k].data, c->bound, scan_type_size(p.columns[k].type),
                                    c->offset * (3 + k) % 16);
    if (c->bound != c->n)
        d.n_device = gpu_put(&d_count_in, &n, 1, 8, 0);
    if (!writes && (c->kind == FLAGS || c->kind == INDEX || c->kind == OTHER)) { /* nobody reads in */
        d.type = SCAN_TYPE_NONE;
        in = NULL;
    }
    d.grid = grid_of(c);
    size_t bytes;
    gpu_ok(scan_compact_workspace(gpu, &d, c->bound, &bytes));
    gpu_ok(scan_compact(gpu, &d, in, &out, c->bound));
    if (d.grid == SCAN_GRID_WAVE)
        assert_string_equal(scan_ctx_ran(gpu), "wave");
    if (d.grid == SCAN_GRID_LOOKBACK)
        assert_string_not_equal(scan_ctx_ran(gpu), "wave");
    grids_seen |= scan_ctx_ran(gpu)[0] == 'w' ? 1u : scan_ctx_ran(gpu)[0] == 'l' ? 2u : 4u;
    if (out.kept)
        same(c, "kept", c->in_place ? &d_in : &d_kept, want_kept, kept, size);
    if (out.rejected)
        same(c, "rejected", &d_rejected, want_rejected, rejected, size);
    if (out.indices)
        same(c, "indices", &d_indices, want_indices, kept, index_size);
    if (out.count) {
        const uint64_t count = kept;
        same(c, "count", &d_count, (const char *)&count, 1, 8);
    }
    if (!c->in_place)
        gpu_unchanged(&d_in, host_in);
}

/* ---- the matrix -------------------------------------------------------------------------------------------------- */

static const double shares[] = {0, 1, 10, 50, 90, 100};

/* A case whose other traits are drawn. */
static compact_case draw(scan_type type, size_t n) {
    const uint64_t r = random_u64(&seed);
    compact_case c = {.type = type,
                      .n = n,
                      .bound = n,
                      .kind = (predicate_kind)(r % KINDS),
                      .share = shares[(r >> 8) % 6],
                      .outputs = 1 + (unsigned)(r >> 16) % 15,
                      .invert = r >> 24 & 1,
                      .index_type = r >> 25 & 1 ? SCAN_U64 : SCAN_TYPE_NONE,
                      .index_base = (r >> 26 & 3) * 1234567,
                      .offset = r >> 28 & 1 ? r >> 48 & 127 : 0,
                      .asks = r >> 39 & 3};
    if (r >> 36 & 1)
        c.bound = n + (r >> 40) % (n + 9);
    if ((r >> 37 & 3) == 0) {
        c.in_place = true;
        c.outputs = OUT_KEPT | (c.outputs & OUT_COUNT);
    }
    return c;
}

static void matrix(void **state) {
    (void)state;
    gpu_need();
    for (scan_type type = SCAN_U8; scan_type_name(type); type++) {
        size_t sizes[MOST_COMPACTION_SIZES];
        const size_t count = compaction_sizes(type, sizes);
        for (size_t i = 0; i < count; i++)
            for (unsigned turn = 0; turn < (gpu_is_small ? 2u : 12u); turn++) {
                const compact_case c = draw(type, sizes[i]);
                check(&c);
            }
    }
}

/* Every kind with every type and every subset of outputs, on each of the three ways it may run. */
static void kinds(void **state) {
    (void)state;
    gpu_need();
    const size_t turn = gpu_processors() + 3;
    grids_seen = 0;
    for (scan_type type = SCAN_U8; scan_type_name(type); type++)
        for (unsigned kind = 0; kind < KINDS; kind++)
            for (unsigned outputs = 1; outputs < 16; outputs++) {
                const size_t size = scan_type_size(type), wave = wave_tile(size);
                const size_t sizes[] = {700, 90000 / size + 33, turn * wave + 5};
                const size_t i = (type + kind * 5 + outputs) % 3;
                if (gpu_is_small && (outputs * 7 + kind + type) % 5 > 0)
                    continue;
                compact_case c = draw(type, sizes[i]);
                c.kind = (predicate_kind)kind;
                c.outputs = outputs;
                c.in_place = c.in_place && outputs == (OUT_KEPT | OUT_COUNT);
                check(&c);
            }
    assert_int_equal(grids_seen, has_wave() ? 7 : 6);
}

static void in_place(void **state) {
    (void)state;
    gpu_need();
    for (scan_type type = SCAN_U8; scan_type_name(type); type++)
        for (unsigned s = 0; s < 6; s++)
            for (unsigned k = 0; k < 3; k++) {
                const size_t size = scan_type_size(type), wave = wave_tile(size);
                const size_t sizes[] = {100, 5 * 16384 / size + 3, (gpu_processors() + k) * wave + wave / 3};
                if (gpu_is_small && (s + k + type) % 3)
                    continue;
                compact_case c = draw(type, sizes[k]);
                c.share = shares[s];
                c.in_place = true;
                c.outputs = OUT_KEPT | OUT_COUNT;
                check(&c);
            }
}

/* Every pattern by one range and by flags, on each grid; inverted, it is what is rejected. */
static void patterns(void **state) {
    (void)state;
    gpu_need();
    for (keep_pattern pattern = FIRST_HALF; pattern < PATTERN_COUNT; pattern++)
        for (unsigned k = 0; k < (gpu_is_small ? 4u : 24u); k++) {
            compact_case c = draw((scan_type)(1 + random_u64(&seed) % SCAN_TYPE_COUNT), 0);
            c.kind = k & 1 ? FLAGS : ONE;
            c.asks = 1 + (k >> 1 & 1);
            c.pattern = pattern;
            c.share = 50;
            const size_t tile = tile_of(&c), tiles[] = {4, 45, gpu_processors() + 1};
            c.n = tiles[k / 4 % 3] * tile + tile / 3;
            c.bound += c.n;
            check(&c);
        }
}

/* Programs of any length over any number of columns. */
static void programs(void **state) {
    (void)state;
    gpu_need();
    for (unsigned round = 0; round < (gpu_is_racecheck ? 12u : gpu_is_small ? 240u : 900u); round++) {
        const size_t most = round % 10 ? 3000 : gpu_is_small ? 12000 : 60000;
        const scan_type type = (scan_type)(1 + round % SCAN_TYPE_COUNT);
        compact_case c = draw(type, 1 + random_u64(&seed) % most);
        const uint64_t r = random_u64(&seed);
        c.kind = round % 6 == 5 ? WIDEST : PROGRAM;
        c.columns = c.kind == WIDEST ? SCAN_MAX_COLUMNS : (uint32_t)(r % (round % 2 ? SCAN_MAX_COLUMNS + 1 : 5));
        c.terms = 1 + (uint32_t)(r >> 32) % (round % 4 ? SCAN_MAX_TERMS : 8);
        if (round % 8 == 0)
            c.index_base = random_u64(&seed) >> 2;
        check(&c);
    }
}

/* u32 indices as long as index_base + n stays below 2^32, u64 from there on. */
static void index_types(void **state) {
    (void)state;
    gpu_need();
    const uint64_t edge = 1ull << 32, n = 5000, bases[] = {edge - n - 1, edge - n, edge, UINT64_MAX - n};
    for (size_t i = 0; i < 4; i++) {
        compact_case c = draw(SCAN_U16, n);
        c.bound = n;
        c.in_place = false;
        c.index_type = SCAN_TYPE_NONE;
        c.index_base = bases[i];
        c.outputs = OUT_INDICES | OUT_COUNT;
        check(&c);
    }
}

/* What no grid but look-back can do, and what none can. */
static void refused_grids(void **state) {
    (void)state;
    gpu_need();
    const size_t n = 3000;
    predicate p = {0};
    make_room(n);
    for (unsigned kind = 0; kind < KINDS; kind++)
        for (scan_grid grid = SCAN_GRID_AUTO; scan_grid_name(grid); grid++) {
            compact_case c = {.type = SCAN_U32, .n = n, .bound = n, .kind = (predicate_kind)kind, .share = 50};
            fill(&c, &p);
            scan_compact_desc d = describe(&c, &p);
            d.grid = grid;
            d.flags = kind == FLAGS ? gpu_put(&d_flags, host_flags, n, 1, 0) : NULL;
            if (d.column_count)
                p.columns[0].data = gpu_put(&d_columns[0], host_columns, n, scan_type_size(p.columns[0].type), 0);
            const char *in = gpu_put(&d_in, host_in, n, 4, 0);
            const scan_compact_out out = {.struct_size = sizeof out, .kept = gpu_put(&d_kept, NULL, n, 4, 0)};
            const bool serves = grid == SCAN_GRID_AUTO || grid == SCAN_GRID_LOOKBACK ||
                                (grid == SCAN_GRID_WAVE && has_wave() && kind <= FLAGS);
            assert_int_equal(scan_compact(gpu, &d, in, &out, n), serves ? SCAN_OK : SCAN_ERR_ALGORITHM);
            if (!serves)
                assert_non_null(strstr(scan_ctx_detail(gpu), "desc.grid: "));
            gpu_ok(scan_ctx_sync(gpu));
        }
}

int main(int argc, char **argv) {
    static const gpu_test tests[] = {
        GPU_TEST(GPU_MATRIX | GPU_SMALL, matrix),        GPU_TEST(GPU_MATRIX | GPU_SMALL, kinds),
        GPU_TEST(GPU_MATRIX | GPU_SMALL, in_place),      GPU_TEST(GPU_MATRIX | GPU_SMALL, patterns),
        GPU_TEST(GPU_MATRIX | GPU_SMALL, programs),      GPU_TEST(GPU_MATRIX | GPU_SMALL, index_types),
        GPU_TEST(GPU_MATRIX | GPU_SMALL, refused_grids),
    };
    return gpu_main("gpu_compact", tests, sizeof tests / sizeof tests[0], argc, argv);
}
