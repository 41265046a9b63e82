/* SPDX-License-Identifier: MIT
 *
 * scan_sort and scan_argsort around 2^31 and 2^32 elements: keys alone, pairs, indices. A key is a function of its
 * index, so inputs are made and outputs checked on the device. Values and indices are right exactly if each index
 * occurs once, no key is less than the one before it, and equal keys have rising indices. Keys alone are right if they
 * rise and the sum of a hash of each is that of the input.
 */
#include "large.cuh"

/* ---- the keys ---------------------------------------------------------------------------------------------------- */

enum key_kind : int {
    KEYS_RANDOM, /* any bits: NaN and -0 among floats */
    KEYS_FEW,    /* five values */
    KEYS_RISING, /* slowly: many are equal */
    KEYS_NARROW, /* 20 bits vary */
};
static const char *const kind_names[] = {"random", "few", "rising", "narrow"};

static __device__ uint64_t bits_at(uint64_t i, key_kind kind, uint64_t n) {
    if (kind == KEYS_RISING)
        return uint64_t(double(i) / double(n) * 0x7fp56); /* of its upper bits */
    if (kind == KEYS_NARROW)
        return mixed_bits(i) >> 44 << 40;
    return mixed_bits(kind == KEYS_FEW ? mixed_bits(i) % 5 : i);
}

template <class K> static __device__ K key_at(uint64_t i, key_kind kind, uint64_t n) {
    const uint64_t bits = bits_at(i, kind, n) >> (64 - 8 * sizeof(K));
    K key;
    memcpy(&key, &bits, sizeof key);
    return key;
}

template <class K> static __device__ bool is_nan(K x) { return x != x; }

/* As an ascending or descending order has it, NaN last. */
template <class K> static __device__ bool before(K a, K b, bool descending) {
    if (is_nan(a) || is_nan(b))
        return !is_nan(a) && is_nan(b);
    return descending ? b < a : a < b;
}

template <class K> static __device__ bool same_bits(K a, K b) {
    uint64_t x = 0, y = 0;
    memcpy(&x, &a, sizeof a);
    memcpy(&y, &b, sizeof b);
    return x == y;
}

template <class K> static __device__ uint64_t hash(K key) {
    uint64_t bits = 0;
    memcpy(&bits, &key, sizeof key);
    return mixed_bits(mixed_bits(bits));
}

/* ---- what kernels find ------------------------------------------------------------------------------------------- */

struct findings {
    unsigned long long wrong; /* the first position that is wrong, ~0 if none is */
    unsigned long long sum;   /* of the hashes of outputs, less those of inputs */
};

static __device__ void expect_true(findings *f, bool truth, uint64_t position) {
    if (!truth)
        atomicMin(&f->wrong, (unsigned long long)position);
}

template <class K> static __global__ void fill_keys(K *keys, uint64_t n, key_kind kind) {
    FOR_EACH_BELOW(i, n)
    keys[i] = key_at<K>(i, kind, n);
}

template <class V> static __global__ void fill_values(V *values, uint64_t n) {
    FOR_EACH_BELOW(i, n)
    values[i] = V(i);
}

template <class K> static __global__ void check_input(const K *keys, uint64_t n, key_kind kind, findings *f) {
    FOR_EACH_BELOW(i, n)
    expect_true(f, same_bits(keys[i], key_at<K>(i, kind, n)), i);
}

template <class K>
static __global__ void check_keys(const K *keys, uint64_t n, key_kind kind, bool descending, findings *f) {
    uint64_t sum = 0;
    FOR_EACH_BELOW(p, n) {
        sum += hash(keys[p]) - hash(key_at<K>(p, kind, n));
        expect_true(f, p == 0 || !before(keys[p], keys[p - 1], descending), p);
    }
    atomicAdd(&f->sum, (unsigned long long)sum);
}

/* keys: nullptr after an argsort. seen: a bit for each index, clear. */
template <class K, class V>
static __global__ void check_indices(const K *keys, const V *indices, uint64_t n, key_kind kind, bool descending,
                                     uint32_t *seen, findings *f) {
    FOR_EACH_BELOW(p, n) {
        const uint64_t i = indices[p], last = p ? indices[p - 1] : i;
        expect_true(f, i < n, p);
        if (i >= n || last >= n)
            continue;
        const K key = key_at<K>(i, kind, n), last_key = key_at<K>(last, kind, n);
        expect_true(f, !(atomicOr(&seen[i / 32], 1u << i % 32) >> i % 32 & 1), p);
        expect_true(f, p == 0 || before(last_key, key, descending) || (!before(key, last_key, descending) && last < i),
                    p);
        expect_true(f, !keys || same_bits(keys[p], key), p);
    }
}

struct key_kernels {
    const void *fill, *check_input, *check_keys, *check_indices[2]; /* of 4 and 8 bytes */
};

template <class K> static key_kernels kernels_for() {
    using scan_cuda::address;
    return {address(fill_keys<K>),
            address(check_input<K>),
            address(check_keys<K>),
            {address(check_indices<K, uint32_t>), address(check_indices<K, uint64_t>)}};
}

static key_kernels kernels_of(scan_type type) {
    switch (type) {
    case SCAN_U8: return kernels_for<uint8_t>();
    case SCAN_U16: return kernels_for<uint16_t>();
    case SCAN_U32: return kernels_for<uint32_t>();
    case SCAN_I32: return kernels_for<int32_t>();
    case SCAN_U64: return kernels_for<uint64_t>();
    case SCAN_F32: return kernels_for<float>();
    case SCAN_F64: return kernels_for<double>();
    default: fail_msg("no kernels for %s", scan_type_name(type)); return {};
    }
}

static const void *fill_values_of(uint32_t bytes) {
    return bytes == 4 ? scan_cuda::address(fill_values<uint32_t>) : scan_cuda::address(fill_values<uint64_t>);
}

/* ---- one case ---------------------------------------------------------------------------------------------------- */

enum sort_verb : int { SORT_KEYS, SORT_PAIRS, SORT_INDICES };

struct large_sort {
    scan_type type;
    sort_verb verb;
    uint32_t value_bytes; /* of values or indices */
    key_kind kind;
    bool descending, in_place;
    scan_sort_method method;
};

/* Within what a device of 141 GB has at 2^32 + 1, where values are of 8 bytes. */
static const large_sort cases[] = {
    {SCAN_U32, SORT_KEYS, 0, KEYS_RANDOM, false, false, SCAN_SORT_AUTO},
    {SCAN_U32, SORT_KEYS, 0, KEYS_RISING, true, false, SCAN_SORT_AUTO},
    {SCAN_U32, SORT_KEYS, 0, KEYS_NARROW, true, false, SCAN_SORT_AUTO},
    {SCAN_F32, SORT_KEYS, 0, KEYS_RANDOM, true, true, SCAN_SORT_AUTO},
    {SCAN_U64, SORT_KEYS, 0, KEYS_RANDOM, true, true, SCAN_SORT_AUTO},
    {SCAN_U64, SORT_KEYS, 0, KEYS_NARROW, false, true, SCAN_SORT_AUTO},
    {SCAN_F64, SORT_KEYS, 0, KEYS_FEW, false, true, SCAN_SORT_AUTO},
    {SCAN_U8, SORT_KEYS, 0, KEYS_RANDOM, false, false, SCAN_SORT_AUTO},
    {SCAN_U16, SORT_KEYS, 0, KEYS_RANDOM, true, true, SCAN_SORT_AUTO},
    {SCAN_U8, SORT_KEYS, 0, KEYS_RANDOM, true, true, SCAN_SORT_SPLIT},
    {SCAN_U32, SORT_PAIRS, 4, KEYS_RANDOM, false, false, SCAN_SORT_AUTO},
    {SCAN_U32, SORT_PAIRS, 4, KEYS_FEW, true, true, SCAN_SORT_AUTO},
    {SCAN_I32, SORT_PAIRS, 8, KEYS_RANDOM, true, true, SCAN_SORT_AUTO},
    {SCAN_F64, SORT_PAIRS, 4, KEYS_RANDOM, false, true, SCAN_SORT_AUTO},
    {SCAN_U8, SORT_PAIRS, 8, KEYS_RANDOM, false, true, SCAN_SORT_AUTO},
    {SCAN_U8, SORT_INDICES, 8, KEYS_RANDOM, false, false, SCAN_SORT_AUTO},
    {SCAN_U8, SORT_INDICES, 8, KEYS_FEW, true, false, SCAN_SORT_SPLIT},
    {SCAN_U16, SORT_INDICES, 8, KEYS_RANDOM, true, false, SCAN_SORT_AUTO},
    {SCAN_U32, SORT_INDICES, 8, KEYS_RANDOM, false, false, SCAN_SORT_AUTO},
    {SCAN_F32, SORT_INDICES, 4, KEYS_RANDOM, true, false, SCAN_SORT_AUTO},
    {SCAN_U64, SORT_INDICES, 4, KEYS_RANDOM, false, false, SCAN_SORT_AUTO},
    {SCAN_F32, SORT_KEYS, 0, KEYS_RISING, true, false, SCAN_SORT_SAMPLE},
    {SCAN_U32, SORT_PAIRS, 8, KEYS_FEW, false, true, SCAN_SORT_SAMPLE},
    {SCAN_U32, SORT_INDICES, 8, KEYS_RANDOM, true, false, SCAN_SORT_SAMPLE},
};

/* The device memory of a case; arrays that cannot be allocated are NULL. */
struct sort_memory {
    char *keys_in, *keys_out, *values_in, *values_out, *workspace;
    uint32_t *seen;
    findings *found;
    size_t keys_bytes, values_bytes, seen_bytes, workspace_bytes;
};

static scan_sort_desc desc_of(const large_sort *c) {
    scan_sort_desc d = {};
    d.struct_size = sizeof d;
    d.type = c->type;
    d.descending = c->descending;
    d.method = c->method;
    if (c->verb == SORT_PAIRS)
        d.value_bytes = c->value_bytes;
    if (c->verb == SORT_INDICES)
        d.index_type = c->value_bytes == 4 ? SCAN_U32 : SCAN_U64;
    return d;
}

template <class T> static bool take(T **to, size_t bytes) { return (*to = static_cast<T *>(allocate(bytes))) != NULL; }

static bool take_memory(sort_memory *m, const large_sort *c, const scan_sort_desc *d, uint64_t n) {
    *m = {};
    assert_int_equal(
        (c->verb == SORT_INDICES ? scan_argsort_workspace : scan_sort_workspace)(ctx, d, n, &m->workspace_bytes),
        SCAN_OK);
    m->keys_bytes = n * scan_type_size(c->type);
    m->values_bytes = n * c->value_bytes;
    m->seen_bytes = (n + 31) / 32 * 4;
    const bool own_keys_out = !c->in_place && c->verb != SORT_INDICES,
               own_values_in = !c->in_place && c->verb == SORT_PAIRS;
    const bool all = take(&m->found, sizeof *m->found) && take(&m->keys_in, m->keys_bytes + GPU_ZONE) &&
                     (!own_keys_out || take(&m->keys_out, m->keys_bytes + GPU_ZONE)) &&
                     (!c->value_bytes || take(&m->values_out, m->values_bytes + GPU_ZONE)) &&
                     (!c->value_bytes || take(&m->seen, m->seen_bytes)) &&
                     (!own_values_in || take(&m->values_in, m->values_bytes + GPU_ZONE)) &&
                     (!m->workspace_bytes || take(&m->workspace, m->workspace_bytes));
    if (c->in_place) {
        m->keys_out = m->keys_in;
        m->values_in = m->values_out;
    }
    return all;
}

static void release_memory(sort_memory *m, const large_sort *c) {
    scan_free(ctx, m->found);
    scan_free(ctx, m->keys_in);
    scan_free(ctx, m->values_out);
    scan_free(ctx, m->seen);
    scan_free(ctx, m->workspace);
    if (c->in_place)
        return;
    scan_free(ctx, m->keys_out);
    scan_free(ctx, m->values_in);
}

static void fill_inputs(const sort_memory *m, const large_sort *c, uint64_t n) {
    int kind = c->kind;
    void *keys_arguments[] = {(void *)&m->keys_in, &n, &kind}, *values_arguments[] = {(void *)&m->values_in, &n};
    launch(kernels_of(c->type).fill, keys_arguments);
    if (m->values_in)
        launch(fill_values_of(c->value_bytes), values_arguments);
}

/* Outputs against the keys' function of their indices; inputs that are not outputs are as they were. */
static findings check_outputs(const sort_memory *m, const large_sort *c, uint64_t n) {
    const key_kernels kernels = kernels_of(c->type);
    findings found = {~0ull, 0};
    int kind = c->kind;
    bool descending = c->descending;
    assert_int_equal(scan_upload(ctx, m->found, &found, sizeof found), SCAN_OK);
    void *input_arguments[] = {(void *)&m->keys_in, &n, &kind, (void *)&m->found},
         *keys_arguments[] = {(void *)&m->keys_out, &n, &kind, &descending, (void *)&m->found},
         *indices_arguments[] = {(void *)&m->keys_out, (void *)&m->values_out, &n, &kind, &descending,
                                 (void *)&m->seen,     (void *)&m->found};
    if (m->keys_in != m->keys_out)
        launch(kernels.check_input, input_arguments);
    if (c->verb == SORT_KEYS) {
        launch(kernels.check_keys, keys_arguments);
    } else {
        cuda_ok(cudaMemsetAsync(m->seen, 0, m->seen_bytes, stream));
        launch(kernels.check_indices[c->value_bytes == 8], indices_arguments);
    }
    assert_int_equal(scan_download(ctx, &found, m->found, sizeof found), SCAN_OK);
    assert_int_equal(scan_ctx_sync(ctx), SCAN_OK);
    return found;
}

static scan_status run(const sort_memory *m, const large_sort *c, const scan_sort_desc *d, uint64_t n) {
    assert_int_equal(scan_ctx_lend(ctx, m->workspace, m->workspace_bytes), SCAN_OK);
    if (c->verb == SORT_INDICES)
        return scan_argsort(ctx, d, m->keys_in, m->values_out, n);
    return scan_sort(ctx, d, m->keys_in, m->keys_out, m->values_in, m->values_out, n);
}

static void say_case(char *text, size_t bytes, const large_sort *c, uint64_t n) {
    static const char *const verbs[] = {"keys", "pairs", "argsort"};
    snprintf(text, bytes, "%s of %s, %u bytes beside, %s keys%s%s, %s, n = %llu", verbs[c->verb],
             scan_type_name(c->type), c->value_bytes, kind_names[c->kind], c->descending ? ", descending" : "",
             c->in_place ? ", in place" : "", scan_sort_method_name(c->method), (unsigned long long)n);
}

static void check_large(const large_sort *c, uint64_t n) {
    char text[160];
    const scan_sort_desc d = desc_of(c);
    sort_memory m;
    say_case(text, sizeof text, c, n);
    if (take_memory(&m, c, &d, n)) {
        char *const ends[] = {m.keys_out ? m.keys_out + m.keys_bytes : NULL,
                              m.values_out ? m.values_out + m.values_bytes : NULL};
        for (char *end : ends)
            if (end)
                put_zone(end);
        fill_inputs(&m, c, n);
        if (run(&m, c, &d, n) != SCAN_OK)
            fail_msg("%s: %s", text, scan_ctx_detail(ctx));
        const findings found = check_outputs(&m, c, n);
        if (found.wrong != ~0ull)
            fail_msg("%s, ran %s: position %llu", text, scan_ctx_ran(ctx), found.wrong);
        if (found.sum != 0)
            fail_msg("%s, ran %s: keys are lost", text, scan_ctx_ran(ctx));
        for (char *end : ends)
            if (end && !zone_is_red(end))
                fail_msg("%s: written past its end", text);
    } else {
        print_message("left out for want of device memory: %s\n", text);
    }
    assert_int_equal(scan_ctx_lend(ctx, NULL, 0), SCAN_OK);
    release_memory(&m, c);
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

/* Indices of 4 bytes cannot count more than 2^32 elements. */
static bool can_count(const large_sort *c, uint64_t n) { return c->value_bytes != 4 || n <= 1ull << 32; }

/* racecheck takes half a minute for a sort by one cluster, by which AUTO sorts few elements. */
static bool has_time(const large_sort *c) { return !gpu_is_racecheck || c->method == SCAN_SORT_SPLIT; }

static void check_size(uint64_t n) {
    gpu_need();
    open_stream();
    for (const large_sort &c : cases)
        if (can_count(&c, n) && has_time(&c))
            check_large(&c, n);
    close_stream();
}

SIZE_TEST(elements_20011, 20011) /* tests the test where memory is too small for large sizes */
SIZE_TEST(elements_2_31_less_1, (1ull << 31) - 1)
SIZE_TEST(elements_2_31, 1ull << 31)
SIZE_TEST(elements_2_31_and_1, (1ull << 31) + 1)
SIZE_TEST(elements_2_32_less_1, (1ull << 32) - 1)
SIZE_TEST(elements_2_32, 1ull << 32)
SIZE_TEST(elements_2_32_and_1, (1ull << 32) + 1)

/* The check finds an index that occurs twice, equal keys out of order, a changed key, and a key before a lesser one. */
static void the_check_finds_what_is_wrong(void **state) {
    (void)state;
    gpu_need();
    open_stream();
    const uint64_t n = 5000, place = 2500;
    const large_sort pairs = {SCAN_U32, SORT_PAIRS, 4, KEYS_FEW, false, true, SCAN_SORT_RADIX},
                     keys = {SCAN_U32, SORT_KEYS, 0, KEYS_RANDOM, false, true, SCAN_SORT_RADIX};
    for (int fault = 0; fault < 5; fault++) {
        const large_sort *c = fault < 3 ? &pairs : &keys;
        const scan_sort_desc d = desc_of(c);
        sort_memory m;
        uint32_t two[2];
        assert_true(take_memory(&m, c, &d, n));
        fill_inputs(&m, c, n);
        assert_int_equal(run(&m, c, &d, n), SCAN_OK);
        char *const at = (fault < 2 ? m.values_out : m.keys_out) + place * 4;
        assert_int_equal(scan_download(ctx, two, at, sizeof two), SCAN_OK);
        assert_int_equal(scan_ctx_sync(ctx), SCAN_OK);
        const uint32_t first = two[0];
        switch (fault) {
        case 0: two[0] = two[1]; break;                  /* an index twice */
        case 1: two[0] = two[1], two[1] = first; break;  /* equal keys, indices fall */
        case 2: two[0] ^= 1; break;                      /* a key beside another's index */
        case 3: two[0] = two[1]; break;                  /* a key lost; the order holds */
        default: two[0] = two[1], two[1] = first; break; /* keys fall */
        }
        assert_int_equal(scan_upload(ctx, at, two, sizeof two), SCAN_OK);
        const findings found = check_outputs(&m, c, n);
        if (fault == 3) {
            assert_true(found.wrong == ~0ull && found.sum != 0);
        } else {
            assert_in_range(found.wrong, place, place + 1);
        }
        assert_int_equal(scan_ctx_lend(ctx, NULL, 0), SCAN_OK);
        release_memory(&m, c);
    }
    close_stream();
}

int main(int argc, char **argv) {
    static const gpu_test tests[] = {
        GPU_TEST(GPU_LARGE | GPU_SMALL, the_check_finds_what_is_wrong),
        GPU_TEST(GPU_SMALL, elements_20011),
        GPU_TEST(GPU_LARGE, elements_2_31_less_1),
        GPU_TEST(GPU_LARGE, elements_2_31),
        GPU_TEST(GPU_LARGE, elements_2_31_and_1),
        GPU_TEST(GPU_LARGE, elements_2_32_less_1),
        GPU_TEST(GPU_LARGE, elements_2_32),
        GPU_TEST(GPU_LARGE, elements_2_32_and_1),
    };
    return gpu_main("gpu_sort_large", tests, sizeof tests / sizeof tests[0], argc, argv);
}
