/* SPDX-License-Identifier: MIT
 *
 * scan_compact on the device: every type, share kept, kind of predicate, subset of outputs, address, count on the
 * device, in place, on sizes around every switch, against the plain loop of compact_oracle.h where n is small and the
 * CPU backend, which has tests of its own, where it is not; elements kept in patterns, on both grids; random programs
 * of up to 128 terms over up to 32 columns, against both. test_gpu_compact_stress.c has the sizes past 2^32.
 */
#include "gpu_compact_case.h"

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

/* Checks that the CPU backend selects what the plain loop does. */
static void agree(const compact_case *c, const scan_compact_desc *d, scan_type index_type, size_t kept) {
    assert_int_equal(of_the_cpu(c, d, index_type, (scan_compact_out){.indices = got}), kept);
    const size_t wrong = gpu_first_difference(got, want_indices, kept, scan_type_size(index_type));
    if (wrong != kept)
        fail_msg("%u terms over %u columns, %zu elements: the CPU's index %zu of %zu", d->term_count, c->columns, c->n,
                 wrong, kept);
}

/* Returns how many are kept. */
static size_t expect(const compact_case *c, const scan_compact_desc *d, scan_type index_type) {
    const size_t size = scan_type_size(c->type);
    if (c->n > MAX_PLAIN_LOOP)
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
    if (!writes && (c->kind == FLAGS || c->kind == INDEX || c->kind == OTHER)) { /* in is not read */
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
    compact_case c = {.type = type, .n = n, .bound = n};
    c.kind = (predicate_kind)random_below(&rng, KINDS);
    c.share = shares[random_below(&rng, 6)];
    c.outputs = 1 + (unsigned)random_below(&rng, 15);
    c.invert = random_bool(&rng);
    c.index_type = random_bool(&rng) ? SCAN_U64 : SCAN_TYPE_NONE;
    c.index_base = random_below(&rng, 4) * 1234567;
    c.offset = random_bool(&rng) ? random_below(&rng, 128) : 0;
    c.asks = random_below(&rng, 4);
    if (random_bool(&rng))
        c.bound = n + random_below(&rng, n + 9);
    if (random_below(&rng, 4) == 0) {
        c.in_place = true;
        c.outputs = OUT_KEPT | (c.outputs & OUT_COUNT);
    }
    return c;
}

static void matrix(void **state) {
    (void)state;
    gpu_need();
    for (scan_type type = SCAN_U8; scan_type_name(type); type++) {
        size_t sizes[MAX_SELECT_SIZES];
        const size_t count = select_sizes(type, sizes);
        for (size_t i = 0; i < count; i++)
            for (unsigned repeat = 0; repeat < (gpu_is_small ? 2u : 12u); repeat++) {
                const compact_case c = draw(type, sizes[i]);
                check(&c);
            }
    }
}

/* Every kind with every type and every subset of outputs, on each of the three ways it may run. */
static void kinds(void **state) {
    (void)state;
    gpu_need();
    const size_t wave_tiles = gpu_sm_count() + 3;
    grids_seen = 0;
    for (scan_type type = SCAN_U8; scan_type_name(type); type++)
        for (unsigned kind = 0; kind < KINDS; kind++)
            for (unsigned outputs = 1; outputs < 16; outputs++) {
                const size_t size = scan_type_size(type), wave = wave_tile(size);
                const size_t sizes[] = {700, 90000 / size + 33, wave_tiles * wave + 5};
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
                const size_t sizes[] = {100, 5 * 16384 / size + 3, (gpu_sm_count() + k) * wave + wave / 3};
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
            compact_case c = draw((scan_type)(1 + random_below(&rng, SCAN_TYPE_COUNT)), 0);
            c.kind = k & 1 ? FLAGS : ONE;
            c.asks = 1 + (k >> 1 & 1);
            c.pattern = pattern;
            c.share = 50;
            const size_t tile = tile_of(&c), tiles[] = {4, 45, gpu_sm_count() + 1};
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
        const size_t max_n = round % 10 ? 3000 : gpu_is_small ? 12000 : 60000;
        const scan_type type = (scan_type)(1 + round % SCAN_TYPE_COUNT);
        compact_case c = draw(type, 1 + random_below(&rng, max_n));
        c.kind = round % 6 == 5 ? WIDEST : PROGRAM;
        c.columns =
            c.kind == WIDEST ? SCAN_MAX_COLUMNS : (uint32_t)random_below(&rng, round % 2 ? SCAN_MAX_COLUMNS + 1 : 5);
        c.terms = 1 + (uint32_t)random_below(&rng, round % 4 ? SCAN_MAX_TERMS : 8);
        if (round % 8 == 0)
            c.index_base = random_u64(&rng) >> 2;
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

/* Grids that do not serve a predicate, or any, are refused. */
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
