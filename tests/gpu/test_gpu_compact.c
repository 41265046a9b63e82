/* SPDX-License-Identifier: MIT
 *
 * scan_compact on the device: every type, share kept, kind of predicate, subset of outputs, address, count on the
 * device, in place, on sizes around every switch, against the plain loop of compact_oracle.h where n is small and the
 * CPU backend, which has tests of its own, where it is not; random programs over 32 columns; 2^32 elements and more.
 */
#include <cuda_runtime_api.h>

#include "../unit/compact_oracle.h"
#include "gpu_compaction.h"

enum { OUT_KEPT = 1, OUT_REJECTED = 2, OUT_INDICES = 4, OUT_COUNT = 8 };

typedef enum predicate_kind { ONE, BETWEEN, FLAGS, OTHER, INDEX, TWO, ALL, KINDS } predicate_kind;

static const char *const kind_names[KINDS] = {"one", "between", "flags", "other column", "index", "two columns", "all"};

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
} compact_case;

/* ---- arrays ------------------------------------------------------------------------------------------------------ */

enum { OTHER_BYTES = 8, MOST_OUTSIDE = 1 << 17 };

static gpu_array d_in, d_flags, d_other, d_count_in, d_kept, d_rejected, d_indices, d_count;
static char *host_in, *host_other, *want_kept, *want_rejected, *want_indices, *got;
static uint8_t *host_flags;
static size_t room;
static uint64_t seed = 11;

static void make_room(size_t n) {
    if (n <= room)
        return;
    char **const all[] = {&host_in, &host_other, &want_kept, &want_rejected, &want_indices, &got};
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
    scan_term terms[8];
    scan_column column;
} predicate;

static scan_term below(scan_type type, double share, uint32_t column) {
    return (scan_term){
        .op = SCAN_TERM_LT, .column = column, .constant_type = SCAN_F64, .constant.f = quantile(type, share)};
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
    p->column = (scan_column){.type = SCAN_F64 - c->type + SCAN_U8, .data = host_other};
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
    case OTHER: p->terms[0] = below(p->column.type, c->share, 1); break;
    case TWO: /* x < a || !(y < b && i < c) */
        p->terms[0] = below(c->type, c->share / 2, 0);
        p->terms[1] = below(p->column.type, 100 - c->share / 2, 1);
        p->terms[2] = of_index;
        p->terms[3] = (scan_term){.op = SCAN_TERM_AND};
        p->terms[4] = (scan_term){.op = SCAN_TERM_NOT};
        p->terms[5] = (scan_term){.op = SCAN_TERM_OR};
        d.term_count = 6;
        break;
    default: /* settled by the constant */
        p->terms[0] = (scan_term){.op = SCAN_TERM_NE, .constant_type = SCAN_F64, .constant.f = (double)NAN};
        break;
    }
    if (c->kind == OTHER || c->kind == TWO) {
        d.columns = &p->column;
        d.column_count = 1;
    }
    return d;
}

static void fill(const compact_case *c, const predicate *p) {
    random_elements(c->type, host_in, c->bound, &seed);
    random_elements(p->column.type, host_other, c->bound, &seed);
    for (size_t i = 0; c->kind == FLAGS && i < c->bound; i++) {
        const uint64_t r = random_u64(&seed);
        host_flags[i] = (double)(r >> 11) * 0x1p-53 * 100 < c->share ? (uint8_t)(r % 255 + 1) : 0;
    }
}

static void put_index(scan_type type, void *array, size_t i, uint64_t index) {
    if (type == SCAN_U32)
        ((uint32_t *)array)[i] = (uint32_t)index;
    else
        ((uint64_t *)array)[i] = index;
}

/* Answers how many are kept. */
static size_t expect(const compact_case *c, const scan_compact_desc *d, scan_type index_type) {
    const size_t size = scan_type_size(c->type);
    if (c->n > MOST_OUTSIDE) {
        uint64_t count;
        scan_compact_desc on_cpu = *d;
        on_cpu.index_type = index_type;
        scan_compact_out out = {.struct_size = sizeof out,
                                .kept = want_kept,
                                .rejected = want_rejected,
                                .indices = want_indices,
                                .count = &count};
        cpu_ok(scan_compact(cpu, &on_cpu, host_in, &out, c->n));
        return count;
    }
    size_t kept = 0, rejected = 0;
    for (size_t i = 0; i < c->n; i++)
        if (is_selected(d, host_in, i)) {
            put_index(index_type, want_indices, kept, c->index_base + i);
            memcpy(want_kept + kept++ * size, host_in + i * size, size);
        } else {
            memcpy(want_rejected + rejected++ * size, host_in + i * size, size);
        }
    return kept;
}

static void same(const compact_case *c, const char *what, gpu_array *array, const char *want, size_t n, size_t size) {
    gpu_get(array, got);
    const size_t wrong = gpu_first_difference(got, want, n, size);
    if (wrong != n)
        fail_msg("%s, %s, n %zu of %zu, share %g, invert %u, outputs %u, index base %llu, offset %zu%s, ran %s: %s: "
                 "element %zu of %zu",
                 scan_type_name(c->type), kind_names[c->kind], c->n, c->bound, c->share, c->invert, c->outputs,
                 (unsigned long long)c->index_base, c->offset, c->in_place ? ", in place" : "", scan_ctx_ran(gpu), what,
                 wrong, n);
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
    make_room(c->bound + 64);
    scan_compact_desc d = describe(c, &p);
    fill(c, &p);
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
    if (d.column_count)
        p.column.data = gpu_put(&d_other, host_other, c->bound, scan_type_size(p.column.type), c->offset * 3 % 16);
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
            scan_compact_desc d = describe(&c, &p);
            fill(&c, &p);
            d.grid = grid;
            d.flags = kind == FLAGS ? gpu_put(&d_flags, host_flags, n, 1, 0) : NULL;
            if (d.column_count)
                p.column.data = gpu_put(&d_other, host_other, n, scan_type_size(p.column.type), 0);
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
        GPU_TEST(GPU_MATRIX | GPU_SMALL, in_place),      GPU_TEST(GPU_MATRIX | GPU_SMALL, index_types),
        GPU_TEST(GPU_MATRIX | GPU_SMALL, refused_grids),
    };
    return gpu_main("gpu_compact", tests, sizeof tests / sizeof tests[0], argc, argv);
}
