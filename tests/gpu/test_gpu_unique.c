/* SPDX-License-Identifier: MIT
 *
 * scan_unique on the device: runs that cross warps, tiles and groups of tiles, of one element or of all; -0 and NaN;
 * every subset of outputs, counts on the device that end inside a run, any address, in place; against a plain loop.
 */
#include "../unit/compact_oracle.h"
#include "gpu_select.h"

enum { OUT_KEPT = 1, OUT_INDICES = 2, OUT_LENGTHS = 4, OUT_COUNT = 8 };

typedef struct unique_case {
    scan_type type;
    size_t n, bound; /* bound: the n of the call, more than n if the count is on the device */
    size_t mean_run; /* 0: all equal */
    unsigned outputs;
    scan_type index_type;
    uint64_t index_base;
    size_t offset;
    bool in_place;
    uint64_t asks; /* 1: for look-back, 2: for the wave; else for none */
} unique_case;

static gpu_array d_in, d_count_in, d_kept, d_indices, d_lengths, d_count;
static char *host_in, *want_kept, *want_indices, *want_lengths, *got;
static size_t room;
static uint64_t rng = 19;

static void make_room(size_t n) {
    if (n <= room)
        return;
    char **const all[] = {&host_in, &want_kept, &want_indices, &want_lengths, &got};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        free(*all[i]);
        assert_non_null(*all[i] = malloc(n * 8));
    }
    room = n;
}

/* ---- input and oracle -------------------------------------------------------------------------------------------- */

/* Element i equals element i - 1, or is another one. Zeros and NaNs that repeat may differ in sign. */
static void fill(const unique_case *c) {
    const size_t size = scan_type_size(c->type);
    random_elements(c->type, host_in, c->bound, &rng);
    for (size_t i = 1; i < c->bound; i++) {
        if (c->mean_run && random_below(&rng, c->mean_run) == 0)
            continue;
        memcpy(host_in + i * size, host_in + (i - 1) * size, size);
        if (!type_is_float(c->type) || random_bool(&rng))
            continue;
        const double x = double_at(c->type, host_in, i);
        if (x == 0 || isnan(x)) /* equal in spite of the sign */
            host_in[(i + 1) * size - 1] ^= (char)0x80;
    }
}

static bool is_equal(scan_type type, size_t i, size_t k) {
    if (!type_is_float(type))
        return integer_at(type, host_in, i) == integer_at(type, host_in, k);
    const double a = double_at(type, host_in, i), b = double_at(type, host_in, k);
    return a == b || (isnan(a) && isnan(b));
}

/* Returns how many runs there are. */
static size_t expect(const unique_case *c, scan_type index_type) {
    const size_t size = scan_type_size(c->type);
    size_t runs = 0, start = 0;
    for (size_t i = 0; i < c->n; i++)
        if (i == 0 || !is_equal(c->type, i, i - 1)) {
            if (runs)
                put_index(index_type, want_lengths, runs - 1, i - start);
            memcpy(want_kept + runs * size, host_in + i * size, size);
            put_index(index_type, want_indices, runs++, c->index_base + i);
            start = i;
        }
    if (runs)
        put_index(index_type, want_lengths, runs - 1, c->n - start);
    return runs;
}

/* ---- one case ---------------------------------------------------------------------------------------------------- */

static void same(const unique_case *c, const char *what, gpu_array *array, const char *want, size_t n, size_t size) {
    gpu_get(array, got);
    const size_t wrong = gpu_first_difference(got, want, n, size);
    if (wrong != n)
        fail_msg("%s, n %zu of %zu, runs of %zu, outputs %u, index base %llu, offset %zu%s, ran %s: %s: element %zu of "
                 "%zu",
                 scan_type_name(c->type), c->n, c->bound, c->mean_run, c->outputs, (unsigned long long)c->index_base,
                 c->offset, c->in_place ? ", in place" : "", scan_ctx_ran(gpu), what, wrong, n);
}

static void check(const unique_case *c) {
    const size_t size = scan_type_size(c->type);
    const scan_type index_type = c->index_type                           ? c->index_type
                                 : c->index_base + c->bound < 1ull << 32 ? SCAN_U32
                                                                         : SCAN_U64;
    const size_t index_size = scan_type_size(index_type);
    make_room(c->bound + 64);
    fill(c);
    const size_t runs = expect(c, index_type);
    const uint64_t n = c->n;
    scan_unique_desc d = {
        .struct_size = sizeof d, .type = c->type, .index_type = c->index_type, .index_base = c->index_base};
    scan_unique_out out = {.struct_size = sizeof out};
    char *in = gpu_put(&d_in, host_in, c->bound, size, c->offset);
    if (c->outputs & OUT_KEPT)
        out.kept = c->in_place ? in : gpu_put(&d_kept, NULL, c->bound, size, c->offset / 2);
    if (c->outputs & OUT_INDICES)
        out.indices = gpu_put(&d_indices, NULL, c->bound, index_size, c->offset & 3);
    if (c->outputs & OUT_LENGTHS)
        out.run_lengths = gpu_put(&d_lengths, NULL, c->bound, index_size, c->offset & 1);
    if (c->outputs & OUT_COUNT)
        out.count = gpu_put(&d_count, NULL, 1, 8, 0);
    if (c->bound != c->n)
        d.n_device = gpu_put(&d_count_in, &n, 1, 8, 0);
    d.grid = c->asks == 1 ? SCAN_GRID_LOOKBACK : c->asks == 2 && has_wave() ? SCAN_GRID_WAVE : SCAN_GRID_AUTO;
    gpu_ok(scan_unique(gpu, &d, in, &out, c->bound));
    if (d.grid == SCAN_GRID_WAVE)
        assert_string_equal(scan_ctx_ran(gpu), "wave");
    if (d.grid == SCAN_GRID_LOOKBACK)
        assert_string_not_equal(scan_ctx_ran(gpu), "wave");
    if (out.kept)
        same(c, "kept", c->in_place ? &d_in : &d_kept, want_kept, runs, size);
    if (out.indices)
        same(c, "indices", &d_indices, want_indices, runs, index_size);
    if (out.run_lengths)
        same(c, "run lengths", &d_lengths, want_lengths, runs, index_size);
    if (out.count) {
        const uint64_t count = runs;
        same(c, "count", &d_count, (const char *)&count, 1, 8);
    }
    if (!c->in_place)
        gpu_unchanged(&d_in, host_in);
}

/* ---- the matrix -------------------------------------------------------------------------------------------------- */

static const size_t mean_runs[] = {1, 2, 10, 1000, 100000, 0};
enum { MEAN_RUNS = sizeof mean_runs / sizeof mean_runs[0] };

/* A case whose other traits are drawn. */
static unique_case draw(scan_type type, size_t n) {
    unique_case c = {.type = type, .n = n, .bound = n};
    c.mean_run = mean_runs[random_below(&rng, MEAN_RUNS)];
    c.outputs = 1 + (unsigned)random_below(&rng, 15);
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
                const unique_case c = draw(type, sizes[i]);
                check(&c);
            }
    }
}

/* Every mean length with every type: a run may begin many tiles, and many groups of tiles, before it ends. */
static void long_runs(void **state) {
    (void)state;
    gpu_need();
    for (scan_type type = SCAN_U8; scan_type_name(type); type++)
        for (unsigned m = 0; m < MEAN_RUNS; m++)
            for (unsigned k = 0; k < 2; k++) {
                const size_t size = scan_type_size(type), wave = wave_tile(size);
                if (gpu_is_small && (m + type) % 3)
                    continue;
                unique_case c = draw(type, k ? (gpu_sm_count() + 2) * wave + 17 : 40 * 16384 / size + 5);
                c.mean_run = mean_runs[m];
                c.in_place = false;
                c.outputs = OUT_LENGTHS | OUT_COUNT | (k ? OUT_KEPT : OUT_INDICES);
                if (gpu_is_small && c.n > 150000)
                    continue;
                check(&c);
            }
}

static void in_place(void **state) {
    (void)state;
    gpu_need();
    for (scan_type type = SCAN_U8; scan_type_name(type); type++)
        for (unsigned m = 0; m < MEAN_RUNS; m++) {
            const size_t size = scan_type_size(type), wave = wave_tile(size);
            const size_t sizes[] = {100, 5 * 16384 / size + 3, (gpu_sm_count() + 1) * wave + wave / 3};
            if (gpu_is_small && (m + type) % 3)
                continue;
            unique_case c = draw(type, sizes[(m + type) % 3 ? 2 : (m + type) / 3 % 3]);
            c.mean_run = mean_runs[m];
            c.in_place = true;
            c.outputs = OUT_KEPT | OUT_COUNT;
            check(&c);
        }
}

int main(int argc, char **argv) {
    static const gpu_test tests[] = {
        GPU_TEST(GPU_MATRIX | GPU_SMALL, matrix),
        GPU_TEST(GPU_MATRIX | GPU_SMALL, long_runs),
        GPU_TEST(GPU_MATRIX | GPU_SMALL, in_place),
    };
    return gpu_main("gpu_unique", tests, sizeof tests / sizeof tests[0], argc, argv);
}
