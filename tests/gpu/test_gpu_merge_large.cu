/* SPDX-License-Identifier: MIT
 *
 * scan_merge around 2^31 and 2^32 elements, on both sides and in all. Every key occurs `a_run` times in a and `b_run`
 * times in b, so that each output is a function of its index: inputs are made and outputs checked on the device.
 */
#include "large.cuh"

struct large_merge {
    scan_type type;
    uint32_t value_bytes, a_run, b_run; /* runs: of elements of one key; 0: as long as 256 keys allow */
};

static const large_merge cases[] = {
    {SCAN_U32, 0, 3, 5}, {SCAN_U32, 4, 1, 1}, {SCAN_U8, 8, 0, 0}, {SCAN_U64, 0, 70001, 3}, {SCAN_F32, 0, 7000, 11000},
};

/* Keys rise with `which`. */
template <class K> static __device__ K key_of(uint64_t which) { return K(which); }

template <class V> static __device__ V value_of(bool from_a, uint64_t i) { return V(mixed_bits(i * 2 + from_a)); }

template <class K> static __global__ void fill_keys(K *keys, uint64_t n, uint64_t run) {
    FOR_EACH_BELOW(i, n)
    keys[i] = key_of<K>(i / run);
}

template <class V> static __global__ void fill_values(V *values, uint64_t n, bool from_a) {
    FOR_EACH_BELOW(i, n)
    values[i] = value_of<V>(from_a, i);
}

template <class K>
static __global__ void check_keys(const K *out, uint64_t n, uint64_t a_run, uint64_t b_run, unsigned long long *wrong) {
    FOR_EACH_BELOW(p, n)
    if (out[p] != key_of<K>(p / (a_run + b_run)))
        atomicMin(wrong, (unsigned long long)p);
}

template <class V>
static __global__ void check_values(const V *out, uint64_t n, uint64_t a_run, uint64_t b_run,
                                    unsigned long long *wrong) {
    FOR_EACH_BELOW(p, n) {
        const uint64_t which = p / (a_run + b_run), at = p % (a_run + b_run);
        const V want =
            at < a_run ? value_of<V>(true, which * a_run + at) : value_of<V>(false, which * b_run + at - a_run);
        if (out[p] != want)
            atomicMin(wrong, (unsigned long long)p);
    }
}

struct merge_kernels {
    const void *fill, *check;
};

template <class K> static merge_kernels key_kernels() {
    return {scan_cuda::address(fill_keys<K>), scan_cuda::address(check_keys<K>)};
}
template <class V> static merge_kernels value_kernels() {
    return {scan_cuda::address(fill_values<V>), scan_cuda::address(check_values<V>)};
}

static merge_kernels kernels_of(scan_type type) {
    switch (type) {
    case SCAN_U8: return key_kernels<uint8_t>();
    case SCAN_U32: return key_kernels<uint32_t>();
    case SCAN_U64: return key_kernels<uint64_t>();
    case SCAN_F32: return key_kernels<float>();
    default: fail_msg("no kernels for %s", scan_type_name(type)); return {};
    }
}

struct merge_memory {
    char *keys[3], *values[3]; /* of a, b, out */
    unsigned long long *wrong;
};

static void fill_and_merge(const large_merge *c, const merge_memory *m, const uint64_t *n, const uint64_t *run) {
    const merge_kernels keys = kernels_of(c->type),
                        values = c->value_bytes == 4 ? value_kernels<uint32_t>() : value_kernels<uint64_t>();
    const unsigned long long none = ~0ull;
    for (int side = 0; side < 2; side++) {
        bool from_a = side == 0;
        void *key_arguments[] = {(void *)&m->keys[side], (void *)&n[side], (void *)&run[side]},
             *value_arguments[] = {(void *)&m->values[side], (void *)&n[side], &from_a};
        launch(keys.fill, key_arguments);
        if (c->value_bytes)
            launch(values.fill, value_arguments);
    }
    put_zone(m->keys[2] + n[2] * scan_type_size(c->type));
    if (c->value_bytes)
        put_zone(m->values[2] + n[2] * c->value_bytes);
    assert_int_equal(scan_upload(ctx, m->wrong, &none, sizeof none), SCAN_OK);
    scan_merge_desc d = {};
    d.struct_size = sizeof d;
    d.type = c->type;
    d.value_bytes = c->value_bytes;
    if (scan_merge(ctx, &d, m->keys[0], m->values[0], n[0], m->keys[1], m->values[1], n[1], m->keys[2], m->values[2]))
        fail_msg("%s", scan_ctx_detail(ctx));
    void *check_arguments[] = {(void *)&m->keys[2], (void *)&n[2], (void *)&run[0], (void *)&run[1], (void *)&m->wrong},
         *check_value_arguments[] = {(void *)&m->values[2], (void *)&n[2], (void *)&run[0], (void *)&run[1],
                                     (void *)&m->wrong};
    launch(keys.check, check_arguments);
    if (c->value_bytes)
        launch(values.check, check_value_arguments);
}

/* About n outputs. */
static void check_large(const large_merge *c, uint64_t about) {
    uint64_t run[2] = {c->a_run, c->b_run};
    if (!run[0])
        run[0] = about / 256 / 3, run[1] = about / 256 - run[0];
    const uint64_t groups = c->a_run ? about / (run[0] + run[1]) + 1 : 256;
    const uint64_t n[3] = {groups * run[0], groups * run[1], groups * (run[0] + run[1])};
    const size_t size = scan_type_size(c->type);
    merge_memory m = {};
    bool all = (m.wrong = static_cast<unsigned long long *>(allocate(sizeof *m.wrong))) != NULL;
    for (int side = 0; side < 3 && all; side++) {
        all = (m.keys[side] = static_cast<char *>(allocate(n[side] * size + GPU_ZONE))) != NULL;
        if (c->value_bytes && all)
            all = (m.values[side] = static_cast<char *>(allocate(n[side] * c->value_bytes + GPU_ZONE))) != NULL;
    }
    if (all) {
        unsigned long long wrong;
        fill_and_merge(c, &m, n, run);
        assert_int_equal(scan_download(ctx, &wrong, m.wrong, sizeof wrong), SCAN_OK);
        assert_int_equal(scan_ctx_sync(ctx), SCAN_OK);
        if (wrong != ~0ull)
            fail_msg("%s, values of %u, n = %llu: position %llu", scan_type_name(c->type), c->value_bytes,
                     (unsigned long long)n[2], wrong);
        assert_true(zone_is_red(m.keys[2] + n[2] * size));
        assert_true(!c->value_bytes || zone_is_red(m.values[2] + n[2] * c->value_bytes));
    } else {
        print_message("left out for want of device memory: %s, values of %u, n = %llu\n", scan_type_name(c->type),
                      c->value_bytes, (unsigned long long)n[2]);
    }
    scan_free(ctx, m.wrong);
    for (int side = 0; side < 3; side++) {
        scan_free(ctx, m.keys[side]);
        scan_free(ctx, m.values[side]);
    }
}

static void check_size(uint64_t n) {
    gpu_need();
    open_stream();
    for (const large_merge &c : cases)
        check_large(&c, n);
    close_stream();
}

SIZE_TEST(elements_20011, 20011) /* tests the test where memory is too small for large sizes */
SIZE_TEST(elements_2_31, (1ull << 31) - 3)
SIZE_TEST(elements_2_32, (1ull << 32) - 3)
SIZE_TEST(elements_more, (1ull << 32) + 100000007)

int main(int argc, char **argv) {
    static const gpu_test tests[] = {
        GPU_TEST(GPU_SMALL, elements_20011),
        GPU_TEST(GPU_LARGE, elements_2_31),
        GPU_TEST(GPU_LARGE, elements_2_32),
        GPU_TEST(GPU_LARGE, elements_more),
    };
    return gpu_main("gpu_merge_large", tests, sizeof tests / sizeof tests[0], argc, argv);
}
