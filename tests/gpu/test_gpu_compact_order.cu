/* SPDX-License-Identifier: MIT
 *
 * The kernels of the select engine with few CTAs, many, late ones, and delays at random at every point where the order
 * of events could matter; out of place with every output, and in place, where a tile that is written before another has
 * been read shows: the same results every time.
 */
#include "delays.cuh"
#include "scan/cuda/select/instance.cuh"

using namespace scan_cuda;

static uint64_t rng = 29;
static gpu_array d_state, d_kept, d_rejected, d_indices, d_lengths, d_count, d_flags;

/* ---- cases ------------------------------------------------------------------------------------------------------- */

enum selector { RANGE, FLAGS, RUNS };

struct kind {
    const char *name;
    selector by;
    size_t size;
    select_kernels kernels;
};

static const kind kinds[] = {
    {"range of u32", RANGE, 4, look_back_and_wave<range_selector<uint32_t>, uint32_t>()},
    {"range of u8", RANGE, 1, look_back_and_wave<range_selector<uint8_t>, uint8_t>()},
    {"flags of u64", FLAGS, 8, look_back_and_wave<flags_selector, uint64_t>()},
    {"runs of u32", RUNS, 4, look_back_and_wave<runs_selector<uint32_t>, uint32_t>()},
    {"runs of u16", RUNS, 2, look_back_and_wave<runs_selector<uint16_t>, uint16_t>()},
};

struct order_case {
    const kind *of;
    unsigned ctas; /* of the wave; 0: look-back */
    bool in_place;
    size_t n, offset;
    unsigned keeps; /* of 256 */
};

static int sm_count;
static bool has_wave;

static uint64_t element(size_t size, const char *array, size_t i) {
    uint64_t x = 0;
    memcpy(&x, array + i * size, size);
    return x;
}

/* Elements below 256; runs of them where runs are what is kept. */
static void fill(const order_case *c, char *in, uint8_t *flags) {
    const size_t size = c->of->size;
    uint64_t value = 0;
    for (size_t i = 0; i < c->n; i++) {
        if (c->of->by != RUNS || random_below(&rng, 256) < c->keeps)
            value = random_below(&rng, 256);
        memcpy(in + i * size, &value, size);
        flags[i] = random_below(&rng, 256) < c->keeps ? uint8_t(1 + random_below(&rng, 255)) : 0;
    }
}

static bool keeps(const order_case *c, const char *in, const uint8_t *flags, size_t i) {
    const uint64_t x = element(c->of->size, in, i);
    switch (c->of->by) {
    case RANGE: return x < c->keeps;
    case FLAGS: return flags[i] != 0;
    default: return i == 0 || x != element(c->of->size, in, i - 1);
    }
}

/* ---- one case ---------------------------------------------------------------------------------------------------- */

static scan_state new_state(uint64_t tiles) {
    const uint64_t tile_words = (tiles + 1) / 2 * 2;
    const size_t bytes = scan_state_bytes(tile_words, (tiles / 32 + 1) * 4);
    void *zero = calloc(bytes, 1), *state = gpu_put(&d_state, zero, bytes / 8, 8, 0);
    free(zero);
    return make_scan_state(state, bytes, tile_words);
}

static void launch(const order_case *c, select_job *job) {
    const select_kernels &k = c->of->kernels;
    range_source range = {0, c->keeps - 1, false, false};
    flags_source flags = {false};
    runs_source runs = {false};
    void *sources[] = {&range, &flags, &runs}, *arguments[] = {job, sources[c->of->by]};
    if (c->ctas)
        direct_launch(k.wave, c->ctas, k.wave_threads, arguments, k.wave_shared_bytes);
    else
        direct_launch(k.look_back, (c->n + size_t(k.look_back_tile) - 1) / size_t(k.look_back_tile),
                      k.look_back_threads, arguments, 0);
}

static void same(const order_case *c, const char *what, gpu_array *array, const void *want, size_t n, size_t size) {
    char *got = static_cast<char *>(malloc(array->bytes + 1));
    gpu_get(array, got);
    const size_t wrong = gpu_first_difference(got, want, n, size);
    if (wrong != n)
        fail_msg("%s, %u CTAs, n %zu%s, offset %zu, keeps %u: %s: element %zu of %zu", c->of->name, c->ctas, c->n,
                 c->in_place ? ", in place" : "", c->offset, c->keeps, what, wrong, n);
    free(got);
}

struct expectation {
    char *in, *kept, *rejected;
    uint8_t *flags;
    uint32_t *indices, *lengths;
    uint64_t count;
};

static expectation expect(const order_case *c) {
    const size_t n = c->n, size = c->of->size;
    expectation e = {};
    e.in = static_cast<char *>(malloc(n * size));
    e.kept = static_cast<char *>(malloc(n * size));
    e.rejected = static_cast<char *>(malloc(n * size));
    e.flags = static_cast<uint8_t *>(malloc(n));
    e.indices = static_cast<uint32_t *>(malloc((n + 1) * 4));
    e.lengths = static_cast<uint32_t *>(malloc(n * 4));
    fill(c, e.in, e.flags);
    for (size_t i = 0; i < n; i++)
        if (keeps(c, e.in, e.flags, i)) {
            memcpy(e.kept + e.count * size, e.in + i * size, size);
            e.indices[e.count++] = uint32_t(i);
        } else {
            memcpy(e.rejected + (i - e.count) * size, e.in + i * size, size);
        }
    e.indices[e.count] = uint32_t(n);
    for (size_t k = 0; k < e.count; k++)
        e.lengths[k] = e.indices[k + 1] - e.indices[k];
    return e;
}

static void release(expectation *e) {
    free(e->in), free(e->kept), free(e->rejected), free(e->flags), free(e->indices), free(e->lengths);
}

/* Every output, several times on one state. */
static void check(const order_case *c, unsigned repeats) {
    const size_t n = c->n, size = c->of->size;
    expectation e = expect(c);
    select_job job = {};
    job.n = n;
    job.state = new_state((n + 2047) / 2048);
    job.in_place = c->in_place;
    job.flags = static_cast<uint8_t *>(gpu_put(&d_flags, e.flags, n, 1, c->offset));
    job.count = static_cast<uint64_t *>(gpu_put(&d_count, NULL, 1, 8, 0));
    for (unsigned k = 0; k < repeats; k++) {
        job.in = gpu_put(&d_in, e.in, n, size, c->offset);
        job.kept = c->in_place ? const_cast<void *>(job.in) : gpu_put(&d_kept, NULL, n, size, c->offset * 3 % 5);
        if (!c->in_place) {
            job.rejected = c->of->by == RUNS ? NULL : gpu_put(&d_rejected, NULL, n, size, c->offset);
            job.indices = gpu_put(&d_indices, NULL, n, 4, c->offset);
            job.run_lengths = c->of->by == RUNS ? gpu_put(&d_lengths, NULL, n, 4, c->offset) : NULL;
        }
        launch(c, &job);
        same(c, "count", &d_count, &e.count, 1, 8);
        same(c, "kept", c->in_place ? &d_in : &d_kept, e.kept, e.count, size);
        if (job.rejected)
            same(c, "rejected", &d_rejected, e.rejected, n - e.count, size);
        if (job.indices)
            same(c, "indices", &d_indices, e.indices, e.count, 4);
        if (job.run_lengths)
            same(c, "run lengths", &d_lengths, e.lengths, e.count, 4);
    }
    release(&e);
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

static void look_at_device(void) {
    const device_offer offer = direct_device(kinds[0].kernels.look_back);
    sm_count = offer.sm_count;
    has_wave = offer.wave;
    for (const kind &k : kinds)
        if (has_wave)
            cuda_ok(cudaFuncSetAttribute(k.kernels.wave, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                         int(k.kernels.wave_shared_bytes)));
}

/* `rounds` of every kind and grid, each with other delays. */
static void with_delays(unsigned mode, unsigned rounds, unsigned repeats) {
    look_at_device();
    const unsigned all = unsigned(sm_count), ctas[] = {0, 1, 7, 97, all};
    for (unsigned round = 0; round < rounds; round++)
        for (size_t k = 0; k < COUNT(kinds); k++)
            for (size_t g = 0; g < COUNT(ctas); g++) {
                const bool skips = gpu_is_small && random_bool(&rng);
                if (skips || (ctas[g] && !has_wave) || ctas[g] > all)
                    continue;
                const unsigned shares[] = {3, 128, 250, 256};
                order_case c = {};
                c.of = &kinds[k];
                c.ctas = ctas[g];
                c.in_place = random_bool(&rng);
                c.n = 1 + random_below(&rng, (gpu_is_small ? 60000 : 8000000) / kinds[k].size);
                c.offset = random_below(&rng, 8);
                c.keeps = shares[random_below(&rng, 4)];
                const unsigned delay_seed = unsigned(random_u64(&rng));
                set_delays(mode, delay_seed, unsigned(random_below(&rng, ctas[g] ? ctas[g] : 64)));
                check(&c, repeats);
            }
    set_delays(NO_DELAYS, 0, 0);
}

static void grids(void **state) {
    (void)state;
    gpu_need();
    with_delays(NO_DELAYS, gpu_is_small ? 2 : 20, 2);
}

static void delays_at_random(void **state) {
    (void)state;
    gpu_need();
    with_delays(RANDOM_DELAYS, gpu_is_small ? 1 : 20, 2);
}

static void one_cta_late(void **state) {
    (void)state;
    gpu_need();
    with_delays(ONE_CTA_LATE, gpu_is_small ? 1 : 10, 2);
}

int main(int argc, char **argv) {
    static const gpu_test tests[] = {
        GPU_TEST(GPU_MATRIX | GPU_SMALL, grids),
        GPU_TEST(GPU_STRESS | GPU_SMALL, delays_at_random),
        GPU_TEST(GPU_STRESS | GPU_SMALL, one_cta_late),
    };
    return gpu_main("gpu_compact_order", tests, COUNT(tests), argc, argv);
}
