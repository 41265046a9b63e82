/* SPDX-License-Identifier: MIT
 *
 * The passes of the radix sort with few CTAs, many, late ones, and delays at random at every point where the order of
 * events could matter: keys and values in the one stable order every time. And whole sorts on eight streams at once,
 * beside kernels that hold the device.
 */
#include <algorithm>
#include <vector>

#include "delays.cuh"
#include "hold.cuh"
#include "scan/cuda/sort/instance.cuh"

using namespace scan_cuda;

static uint64_t rng = 31;
static gpu_array d_state, d_plan, d_keys, d_keys_out, d_values, d_values_out;

/* ---- one pass ---------------------------------------------------------------------------------------------------- */

struct kind {
    const char *name;
    size_t key_bytes, value_bytes;
    sort_pass_kernel pass;
};

static const kind kinds[] = {
    {"u16", 2, 0, pass_of<uint16_t, 0, MEDIUM_TILES>()},
    {"u32", 4, 0, pass_of<uint32_t, 0, MEDIUM_TILES>()},
    {"u32 + u32", 4, 4, pass_of<uint32_t, 4, MEDIUM_TILES>()},
    {"u64", 8, 0, pass_of<uint64_t, 0, MEDIUM_TILES>()},
    {"u16 + u64", 2, 8, pass_of<uint16_t, 8, MEDIUM_TILES>()},
    {"u16, small tiles", 2, 0, pass_of<uint16_t, 0, SMALL_TILES>()},
    {"u16 + u32, small tiles", 2, 4, pass_of<uint16_t, 4, SMALL_TILES>()},
    {"u32, small tiles", 4, 0, pass_of<uint32_t, 0, SMALL_TILES>()},
    {"u32 + u32, small tiles", 4, 4, pass_of<uint32_t, 4, SMALL_TILES>()},
    {"u32, large tiles", 4, 0, pass_of<uint32_t, 0, LARGE_TILES>()},
    {"u64 + u64, large tiles", 8, 8, pass_of<uint64_t, 8, LARGE_TILES>()},
};

struct pass_case {
    const kind *of;
    unsigned ctas;
    size_t n;
    uint32_t shift, digit_mask;
    unsigned values; /* how many values the digit has */
    bool numbers;    /* the values beside the keys are the numbers of the elements */
    bool stretches;  /* all digits of every second stretch of keys are the same */
    bool any_order;  /* of keys with the same digit */
};

static uint64_t element(const char *array, size_t size, size_t i) {
    uint64_t x = 0;
    memcpy(&x, array + i * size, size);
    return x;
}

static void put_element(char *array, size_t size, size_t i, uint64_t x) { memcpy(array + i * size, &x, size); }

static uint32_t digit_at(const pass_case *c, const char *keys, size_t i) {
    return uint32_t(element(keys, c->of->key_bytes, i) >> c->shift) & c->digit_mask;
}

struct pass_arrays {
    char *keys, *values, *want_keys, *want_values;
    sort_plan *plan;
};

/* The keys, the plan of one pass over them, and its result. */
static pass_arrays make_arrays(const pass_case *c) {
    const size_t n = c->n, size = c->of->key_bytes, value_size = c->of->value_bytes;
    pass_arrays a = {};
    char **const all[] = {&a.keys, &a.values, &a.want_keys, &a.want_values};
    for (char **array : all)
        *array = static_cast<char *>(malloc(n * 8 + 8));
    a.plan = static_cast<sort_plan *>(calloc(1, sizeof *a.plan));
    uint64_t value = 0, stretch_end = 0;
    bool draws = true;
    for (size_t i = 0; i < n; i++) {
        if (c->stretches && i == stretch_end) { /* as a warp of a tile has them, some are alike and some are not */
            stretch_end += 1 + random_below(&rng, 2000);
            draws = !draws;
        }
        value = draws || i == 0 ? random_below(&rng, c->values) : value;
        const uint64_t digit = random_mix(value) & c->digit_mask;
        const uint64_t others = random_u64(&rng) & ~(uint64_t(c->digit_mask) << c->shift);
        put_element(a.keys, size, i, others | digit << c->shift);
        if (value_size)
            put_element(a.values, value_size, i, c->numbers ? i : random_u64(&rng));
    }
    uint64_t(&before)[radix] = a.plan->before[0];
    for (size_t i = 0; i < n; i++)
        if (digit_at(c, a.keys, i) + 1 < radix)
            before[digit_at(c, a.keys, i) + 1]++;
    for (uint32_t d = 1; d < radix; d++)
        before[d] += before[d - 1];
    uint64_t next[radix];
    memcpy(next, before, sizeof next);
    for (size_t i = 0; i < n; i++) {
        const uint64_t to = next[digit_at(c, a.keys, i)]++;
        put_element(a.want_keys, size, to, element(a.keys, size, i));
        if (value_size)
            put_element(a.want_values, value_size, to, element(a.values, value_size, i));
    }
    a.plan->passes = 1;
    sort_pass &p = a.plan->pass[0];
    p.keys_from = BUFFER_IN;
    p.keys_to = p.values_to = BUFFER_OUT;
    p.values_from = c->numbers ? BUFFER_NONE : BUFFER_IN;
    p.order.mask = ~0ull;
    p.shift = c->shift;
    p.digit_mask = c->digit_mask;
    p.any_order = c->any_order;
    return a;
}

static void release(pass_arrays *a) {
    free(a->keys), free(a->values), free(a->want_keys), free(a->want_values), free(a->plan);
}

/* Keys of one digit, which follow each other, in order. */
static void order_within_digits(const pass_case *c, char *keys) {
    const size_t size = c->of->key_bytes;
    for (size_t i = 0, end; i < c->n; i = end) {
        std::vector<uint64_t> own;
        for (end = i; end < c->n && digit_at(c, keys, end) == digit_at(c, keys, i); end++)
            own.push_back(element(keys, size, end));
        std::sort(own.begin(), own.end());
        for (size_t k = 0; k < own.size(); k++)
            put_element(keys, size, i + k, own[k]);
    }
}

static void same(const pass_case *c, const char *what, gpu_array *array, const char *want, size_t size) {
    char *got = static_cast<char *>(malloc(array->bytes + 1));
    gpu_get(array, got);
    if (c->any_order)
        order_within_digits(c, got);
    const size_t wrong = gpu_first_difference(got, want, c->n, size);
    if (wrong != c->n)
        fail_msg("%s, %u CTAs, n %zu, bits from %u, mask %u, %u digits: %s: element %zu", c->of->name, c->ctas, c->n,
                 c->shift, c->digit_mask, c->values, what, wrong);
    free(got);
}

static const sort_pass_cut &cut_here(const kind &k) {
    static int capability = 0;
    if (capability == 0)
        capability = direct_device(k.pass.kernel).capability;
    return k.pass.cut[is_roomy(capability)];
}

/* Several times on one state, by the kernel of one pass and by that of several in turns. */
static void check(const pass_case *c, unsigned repeats) {
    const kind &k = *c->of;
    const sort_pass_cut &cut = cut_here(k);
    const uint64_t portion_keys = c->n < cut.portion ? c->n : cut.portion;
    const size_t bytes = scan_state_bytes(0, 0) + (portion_keys + cut.tile - 1) / cut.tile * cut.state_bytes;
    pass_arrays a = make_arrays(c);
    if (c->any_order)
        order_within_digits(c, a.want_keys);
    void *zero = calloc(bytes, 1), *state = gpu_put(&d_state, zero, bytes / 8, 8, 0);
    free(zero);
    for (unsigned repeat = 0; repeat < repeats; repeat++) {
        sort_job job = {};
        job.plan_ctas = 1;
        job.keys_in = gpu_put(&d_keys, a.keys, c->n, k.key_bytes, repeat);
        job.keys_out = gpu_put(&d_keys_out, NULL, c->n, k.key_bytes, repeat * 3);
        if (k.value_bytes) {
            job.values_in = gpu_put(&d_values, a.values, c->n, k.value_bytes, repeat * 5);
            job.values_out = gpu_put(&d_values_out, NULL, c->n, k.value_bytes, repeat * 2);
        }
        job.n = c->n;
        job.key_bytes = uint32_t(k.key_bytes);
        job.value_bytes = uint32_t(k.value_bytes);
        job.plan = static_cast<sort_plan *>(gpu_put(&d_plan, a.plan, 1, sizeof *a.plan, 0));
        job.state = make_scan_state(state, bytes, 0);
        for (uint32_t portion = 0; portion * cut.portion < c->n; portion++) {
            uint32_t which = 0, passes = 1;
            void *arguments[] = {&job, &which, &passes, &portion};
            direct_launch(repeat % 2 ? k.pass.several : k.pass.kernel, c->ctas, k.pass.threads, arguments,
                          size_t(cut.shared_bytes));
        }
        same(c, "key", &d_keys_out, a.want_keys, k.key_bytes);
        if (k.value_bytes)
            same(c, "value", &d_values_out, a.want_values, k.value_bytes);
    }
    release(&a);
}

/* Rounds of every kind and number of CTAs; delays, data and digits are drawn anew each time. */
static void with_delays(unsigned mode, unsigned rounds, unsigned repeats) {
    static const unsigned ctas[] = {1, 7, 97, 264}, values[] = {1, 2, 17, 256};
    for (const kind &k : kinds)
        for (const void *kernel : {k.pass.kernel, k.pass.several})
            cuda_ok(
                cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, cut_here(k).shared_bytes));
    for (unsigned round = 0; round < rounds; round++)
        for (const kind &k : kinds)
            for (unsigned count : ctas) {
                const bool grouped = k.key_bytes == 8 && count == 97; /* look-backs by more than two groups of tiles */
                const bool skips = gpu_is_small && random_bool(&rng) && !grouped;
                if (skips || (gpu_is_small && (count > 97 || (gpu_is_racecheck && count != 7))))
                    continue;
                pass_case c = {};
                c.of = &k;
                c.ctas = count;
                c.n = 1 + random_below(&rng, gpu_is_small ? 60000 : 2000000);
                if (gpu_is_small && grouped)
                    c.n = 45000 + random_below(&rng, 15000);
                c.values = values[random_below(&rng, 4)];
                c.numbers = k.value_bytes && random_bool(&rng);
                c.stretches = random_bool(&rng);
                c.any_order = !k.value_bytes && random_bool(&rng);
                c.digit_mask = random_below(&rng, 4) ? 255 : 31;
                c.shift = random_bool(&rng) ? uint32_t(8 * k.key_bytes) - (c.digit_mask == 255 ? 8 : 5) : 0;
                const unsigned delay_seed = unsigned(random_u64(&rng));
                set_delays(mode, delay_seed, unsigned(random_below(&rng, count)));
                check(&c, repeats);
            }
    set_delays(NO_DELAYS, 0, 0);
}

static void grids(void **state) {
    (void)state;
    gpu_need();
    with_delays(NO_DELAYS, gpu_is_small ? 1 : 10, 2);
}

static void delays_at_random(void **state) {
    (void)state;
    gpu_need();
    with_delays(RANDOM_DELAYS, gpu_is_small ? 1 : 10, 2);
}

static void one_cta_late(void **state) {
    (void)state;
    gpu_need();
    with_delays(ONE_CTA_LATE, gpu_is_small ? 1 : 10, 2);
}

/* ---- whole sorts, at once ---------------------------------------------------------------------------------------- */

struct stream_sort {
    scan_ctx *ctx;
    scan_sort_desc desc;
    size_t n;
    char *keys, *want, *want_indices;
    gpu_array in, out, indices;
};

static stream_sort make_sort(scan_type type, size_t n) {
    const size_t size = scan_type_size(type);
    stream_sort s = {};
    s.ctx = gpu_context();
    assert_non_null(s.ctx);
    s.desc.struct_size = sizeof s.desc;
    s.desc.type = type;
    s.desc.descending = random_bool(&rng);
    s.desc.index_type = SCAN_U32;
    if (gpu_is_racecheck) /* which takes half a minute for a sort by one cluster */
        s.desc.method = SCAN_SORT_RADIX;
    s.n = n;
    s.keys = static_cast<char *>(malloc(n * size));
    s.want = static_cast<char *>(malloc(n * size));
    s.want_indices = static_cast<char *>(malloc(n * 4));
    gpu_fill(type, random_below(&rng, 3) ? GPU_RANDOM : GPU_SPARSE, s.keys, n, random_u64(&rng));
    cpu_ok(scan_sort(cpu, &s.desc, s.keys, s.want, NULL, NULL, n));
    cpu_ok(scan_argsort(cpu, &s.desc, s.keys, s.want_indices, n));
    gpu_put(&s.in, s.keys, n, size, 0);
    gpu_put(&s.out, NULL, n, size, 1);
    gpu_put(&s.indices, NULL, n, 4, 1);
    gpu_ok(scan_ctx_sync(gpu));
    return s;
}

static void check_sort(stream_sort *s, const char *what) {
    char *got = static_cast<char *>(malloc(s->n * 8));
    gpu_array *const arrays[] = {&s->out, &s->indices};
    const char *const want[] = {s->want, s->want_indices};
    for (int i = 0; i < 2; i++) {
        const size_t size = i ? 4 : scan_type_size(s->desc.type);
        gpu_get(arrays[i], got);
        const size_t wrong = gpu_first_difference(got, want[i], s->n, size);
        if (wrong != s->n)
            fail_msg("%s: %s of %s, n %zu: element %zu", what, i ? "argsort" : "sort", scan_type_name(s->desc.type),
                     s->n, wrong);
    }
    free(got);
}

static void release_sort(stream_sort *s) {
    scan_ctx_destroy(s->ctx);
    gpu_release(&s->in);
    gpu_release(&s->out);
    gpu_release(&s->indices);
    free(s->keys), free(s->want), free(s->want_indices);
}

/* Queues calls on eight contexts, one call each before the next, and then waits for all. */
static void many_streams(unsigned calls, const char *what) {
    enum { STREAMS = 8 };
    static const scan_type types[STREAMS] = {SCAN_U32, SCAN_U64, SCAN_F32, SCAN_I8,
                                             SCAN_U16, SCAN_F64, SCAN_I32, SCAN_I64};
    stream_sort sorts[STREAMS];
    for (unsigned i = 0; i < STREAMS; i++)
        sorts[i] = make_sort(types[i], gpu_is_small ? 500 + random_below(&rng, 9000)
                                                    : 1 + random_below(&rng, size_t(1) << (14 + i)));
    for (unsigned call = 0; call < calls; call++)
        for (stream_sort &s : sorts) {
            assert_int_equal(scan_sort(s.ctx, &s.desc, s.in.at, s.out.at, NULL, NULL, s.n), SCAN_OK);
            assert_int_equal(scan_argsort(s.ctx, &s.desc, s.in.at, s.indices.at, s.n), SCAN_OK);
        }
    for (stream_sort &s : sorts)
        assert_int_equal(scan_ctx_sync(s.ctx), SCAN_OK);
    for (stream_sort &s : sorts) {
        check_sort(&s, what);
        release_sort(&s);
    }
}

static void eight_streams(void **state) {
    (void)state;
    gpu_need();
    for (unsigned round = 0; round < (gpu_is_small ? 1 : 10); round++)
        many_streams(gpu_is_small ? 1 : 25, "eight streams");
}

#ifndef SCAN_EMULATED
static void beside_other_kernels(void **state) {
    (void)state;
    gpu_need();
    for (unsigned round = 0; round < (gpu_is_small ? 1 : 30); round++) {
        const cudaStream_t held = hold_device(round, &rng);
        many_streams(2, "beside other kernels");
        let_go(held);
    }
}
#endif

int main(int argc, char **argv) {
    static const gpu_test tests[] = {
        GPU_TEST(GPU_MATRIX | GPU_SMALL, grids),
        GPU_TEST(GPU_STRESS | GPU_SMALL, delays_at_random),
        GPU_TEST(GPU_STRESS | GPU_SMALL, one_cta_late),
        GPU_TEST(GPU_STRESS | GPU_SMALL, eight_streams),
#ifndef SCAN_EMULATED
        GPU_TEST(GPU_STRESS | GPU_SMALL, beside_other_kernels),
#endif
    };
    return gpu_main("gpu_sort_order", tests, COUNT(tests), argc, argv);
}
