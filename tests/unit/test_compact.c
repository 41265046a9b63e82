/* SPDX-License-Identifier: MIT
 *
 * scan_compact against a plain loop: every type, share kept, kind of predicate, subset of outputs, number of threads;
 * sizes around every threshold; arrays that begin or end at a page that faults; in place; the limits of the index type.
 */
#include "compact_oracle.h"

enum { MAX_N = (1 << 20) + 1 };

enum { OUT_KEPT = 1, OUT_REJECTED = 2, OUT_INDICES = 4, OUT_COUNT = 8 };

typedef struct fixture {
    scan_ctx *ctx[CONTEXTS];
    guarded in, flags, kept, rejected, indices;
    char *want_kept, *want_rejected, *want_in;
    uint64_t *want_indices;
    uint64_t random;
} fixture;

/* One call. */
typedef struct compact_case {
    scan_type type;
    size_t n;
    double share; /* kept, in percent */
    bool by_flags;
    uint32_t invert;
    unsigned outputs; /* OUT_... */
    scan_type index_type;
    uint64_t index_base;
    bool in_place;
    int context;
} compact_case;

static int set_up(void **state) {
    fixture *f = malloc(sizeof *f);
    contexts_create(f->ctx);
    size_t bytes = 8 * (size_t)MAX_N + 4096;
    f->in = guarded_create(bytes);
    f->flags = guarded_create(MAX_N + 4096);
    f->kept = guarded_create(bytes);
    f->rejected = guarded_create(bytes);
    f->indices = guarded_create(bytes);
    f->want_kept = malloc(bytes);
    f->want_rejected = malloc(bytes);
    f->want_in = malloc(bytes);
    f->want_indices = malloc(bytes);
    f->random = 3;
    *state = f;
    return 0;
}

static int tear_down(void **state) {
    fixture *f = *state;
    contexts_destroy(f->ctx);
    guarded_destroy(f->in);
    guarded_destroy(f->flags);
    guarded_destroy(f->kept);
    guarded_destroy(f->rejected);
    guarded_destroy(f->indices);
    free(f->want_kept);
    free(f->want_rejected);
    free(f->want_in);
    free(f->want_indices);
    free(f);
    return 0;
}

static void fill_flags(fixture *f, uint8_t *flags, size_t n, double share) {
    for (size_t i = 0; i < n; i++) {
        uint64_t r = random_u64(&f->random);
        bool keep = (double)(r >> 11) * 0x1p-53 * 100 < share;
        flags[i] = keep ? (uint8_t)(r % 255 + 1) : 0; /* any flag but 0 keeps */
    }
}

/* Copies element i of `from` to element *n of `to`. */
static void append(size_t size, char *to, size_t *n, const char *from, size_t i) {
    store_element(to, (*n)++, size, load_element(from, i, size));
}

static void check(fixture *f, compact_case c) {
    size_t size = scan_type_size(c.type), n = c.n;
    char *in = guarded_place(f->in, n, size, &f->random);
    uint8_t *flags = guarded_place(f->flags, n, 1, &f->random);
    random_elements(c.type, in, n, &f->random);
    scan_term term = {.op = SCAN_TERM_LT, .constant_type = SCAN_F64, .constant.f = quantile(c.type, c.share)};
    scan_compact_desc desc = {.struct_size = sizeof desc,
                              .type = c.type,
                              .index_type = c.index_type,
                              .invert = c.invert,
                              .index_base = c.index_base};
    if (c.by_flags)
        fill_flags(f, flags, n, c.share), desc.flags = flags;
    else
        desc.terms = &term, desc.term_count = 1;

    size_t kept = 0, rejected = 0;
    for (size_t i = 0; i < n; i++)
        if (is_selected(&desc, in, i)) {
            f->want_indices[kept] = c.index_base + i;
            append(size, f->want_kept, &kept, in, i);
        } else {
            append(size, f->want_rejected, &rejected, in, i);
        }

    scan_type index_type = c.index_type ? c.index_type : c.index_base + n < 1ull << 32 ? SCAN_U32 : SCAN_U64;
    uint64_t count = 12345;
    scan_compact_out out = {.struct_size = sizeof out};
    if (c.outputs & OUT_KEPT)
        out.kept = c.in_place ? in : guarded_place(f->kept, n, size, &f->random);
    if (c.outputs & OUT_REJECTED)
        out.rejected = guarded_place(f->rejected, n, size, &f->random);
    if (c.outputs & OUT_INDICES)
        out.indices = guarded_place(f->indices, n, scan_type_size(index_type), &f->random);
    if (c.outputs & OUT_COUNT)
        out.count = &count;
    if (!c.in_place)
        memcpy(f->want_in, in, n * size);
    scan_status status = scan_compact(f->ctx[c.context], &desc, in, &out, n);
    if (status != SCAN_OK)
        fail_msg("%s", scan_ctx_detail(f->ctx[c.context]));
    if (!c.in_place)
        assert_memory_equal(in, f->want_in, n * size);
    if (out.kept)
        assert_memory_equal(out.kept, f->want_kept, kept * size);
    if (out.rejected)
        assert_memory_equal(out.rejected, f->want_rejected, rejected * size);
    if (out.indices)
        for (size_t i = 0; i < kept; i++)
            assert_int_equal(index_at(index_type, out.indices, i), f->want_indices[i]);
    assert_int_equal(count, out.count ? kept : 12345);
}

static const double shares[] = {0, 1, 10, 50, 90, 100};
enum { SHARES = sizeof shares / sizeof shares[0] };

/* Every size up to a little more than two words of flags, every subset of outputs. */
static void test_small(void **state) {
    fixture *f = *state;
    unsigned round = 0;
    for (scan_type type = SCAN_U8; scan_type_name(type); type++)
        for (size_t n = 0; n <= 130; n++)
            for (int s = 0; s < SHARES; s++)
                for (unsigned k = 0; k < 4; k++, round++)
                    check(f, (compact_case){.type = type,
                                            .n = n,
                                            .share = shares[s],
                                            .by_flags = k & 1,
                                            .invert = k >> 1,
                                            .outputs = 1 + round % 15,
                                            .index_type = round % 3 ? SCAN_TYPE_NONE : SCAN_U64,
                                            .index_base = round % 7 * 1000});
}

/* Around a piece, a block, the first use of the pool, and, last, the first streaming store (8 MiB of values). */
static const size_t large_sizes[] = {4095,          4096,          4097,          8191,    32767,  32768,
                                     32769,         65537,         100003,        229375,  229377, 262144,
                                     (1 << 18) + 1, (1 << 19) - 1, (1 << 20) - 1, 1 << 20, MAX_N};

static void test_large(void **state) {
    fixture *f = *state;
    unsigned round = 0;
    for (scan_type type = SCAN_U8; scan_type_name(type); type++)
        for (size_t k = ONLY_THREADS ? 9 : 0; k < sizeof large_sizes / sizeof large_sizes[0]; k++)
            for (int context = ONLY_THREADS; context < CONTEXTS; context++, round++) {
                if (large_sizes[k] > 300000 && (round + type) % (ONLY_THREADS || is_lower_level() ? 7 : FEWER ? 5 : 3))
                    continue;
                compact_case c = {.type = type, .n = large_sizes[k], .context = context};
                c.share = shares[random_below(&f->random, SHARES)];
                c.by_flags = random_bool(&f->random);
                c.invert = random_bool(&f->random);
                c.outputs = 1 + (unsigned)random_below(&f->random, 15);
                c.index_type = random_bool(&f->random) ? SCAN_U64 : SCAN_TYPE_NONE;
                check(f, c);
            }
}

/* kept == in: no thread may overwrite what another one has not read yet. */
static void test_in_place(void **state) {
    fixture *f = *state;
    static const size_t sizes[] = {1, 64, 130, 4097, 32769, 262143, 300001, 786433};
    static const scan_type types[] = {SCAN_U8, SCAN_I16, SCAN_U32, SCAN_I64, SCAN_F32, SCAN_F64};
    unsigned round = 0;
    for (size_t t = 0; t < sizeof types / sizeof types[0]; t++)
        for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++)
            for (int s = ONLY_THREADS ? (int)(t + k) % 2 : 0; s < SHARES; s += 1 + ONLY_THREADS, round++)
                check(f, (compact_case){.type = types[t],
                                        .n = sizes[k],
                                        .share = shares[s],
                                        .by_flags = true,
                                        .outputs = OUT_KEPT | OUT_COUNT,
                                        .in_place = true,
                                        .context = ONLY_THREADS + (int)(round % (CONTEXTS - ONLY_THREADS))});
}

/* Streaming stores of every element size: their threshold is in bytes of input. */
static void test_streaming(void **state) {
    fixture *f = *state;
    const size_t n = (8 << 20) + 12345;
    uint8_t *in = malloc(n), *kept = malloc(n), *rejected = malloc(n);
    for (size_t i = 0; i < n; i++)
        in[i] = (uint8_t)random_u64(&f->random);
    scan_term term = {.op = SCAN_TERM_GE, .constant_type = SCAN_I64, .constant.i = 77};
    scan_compact_desc desc = {.struct_size = sizeof desc, .type = SCAN_U8, .terms = &term, .term_count = 1};
    for (int context = 0; context < CONTEXTS; context++) {
        uint64_t count;
        scan_compact_out out = {.struct_size = sizeof out, .kept = kept, .rejected = rejected, .count = &count};
        assert_int_equal(scan_compact(f->ctx[context], &desc, in, &out, n), SCAN_OK);
        size_t k = 0, r = 0;
        for (size_t i = 0; i < n; i++)
            if (in[i] >= 77 ? kept[k++] != in[i] : rejected[r++] != in[i])
                fail_msg("element %zu is not where it belongs", i);
        assert_int_equal(count, k);
    }
    free(in), free(kept), free(rejected);
}

/* Indices are u32 while index_base + n < 2^32, else u64; u32 may be asked for while the last index fits. */
static void test_index_type(void **state) {
    fixture *f = *state;
    const uint64_t edge = 1ull << 32;
    const size_t n = 5000;
    compact_case c = {.type = SCAN_U16, .n = n, .share = 50, .outputs = OUT_INDICES | OUT_COUNT};
    const uint64_t bases[] = {edge - n - 1, edge - n, edge - 1, edge, UINT64_MAX - n};
    for (size_t i = 0; i < sizeof bases / sizeof bases[0]; i++) {
        c.index_base = bases[i];
        check(f, c);
    }
    c.index_base = edge - n;
    c.index_type = SCAN_U32;
    check(f, c);

    uint8_t flags[2] = {1, 1};
    uint32_t indices[2];
    scan_compact_desc desc = {.struct_size = sizeof desc, .index_type = SCAN_U32, .flags = flags};
    scan_compact_out out = {.struct_size = sizeof out, .indices = indices};
    desc.index_base = edge - 1;
    assert_int_equal(scan_compact(f->ctx[0], &desc, NULL, &out, 2), SCAN_ERR_ARGUMENT);
    desc.index_base = UINT64_MAX;
    desc.index_type = SCAN_U64;
    assert_int_equal(scan_compact(f->ctx[0], &desc, NULL, &out, 2), SCAN_ERR_ARGUMENT);
    desc.index_base = 0;
    desc.index_type = SCAN_I32;
    assert_int_equal(scan_compact(f->ctx[0], &desc, NULL, &out, 2), SCAN_ERR_TYPE);
}

/* Only the index is tested, so no input is read and n may exceed the memory. */
static void test_beyond_32_bits(void **state) {
    fixture *f = *state;
    const uint64_t edge = 1ull << 32, n = edge + 70000;
    uint64_t count = 0;
    scan_term term = {
        .op = SCAN_TERM_GE, .column = SCAN_COLUMN_INDEX, .constant_type = SCAN_U64, .constant.u = edge - 3};
    scan_compact_desc desc = {.struct_size = sizeof desc, .terms = &term, .term_count = 1};
    scan_compact_out out = {.struct_size = sizeof out, .count = &count};
    assert_int_equal(scan_compact(f->ctx[1], &desc, NULL, &out, n), SCAN_OK);
    assert_int_equal(count, 70003);
}

static void test_n_device(void **state) {
    fixture *f = *state;
    enum { N = 100 };
    uint32_t in[N], kept[N];
    for (uint32_t i = 0; i < N; i++)
        in[i] = i;
    const uint64_t given[] = {0, 1, 63, 64, 99, 100, 101, UINT64_MAX};
    for (size_t k = 0; k < sizeof given / sizeof given[0]; k++) {
        uint64_t count = 0, n = given[k] < N ? given[k] : N;
        scan_term odd = {.op = SCAN_TERM_GE, .constant_type = SCAN_F64, .constant.f = 9.5};
        scan_compact_desc desc = {
            .struct_size = sizeof desc, .type = SCAN_U32, .terms = &odd, .term_count = 1, .n_device = &given[k]};
        scan_compact_out out = {.struct_size = sizeof out, .kept = kept, .count = &count};
        assert_int_equal(scan_compact(f->ctx[1], &desc, in, &out, N), SCAN_OK);
        assert_int_equal(count, n > 10 ? n - 10 : 0);
        for (uint64_t i = 0; i < count; i++)
            assert_int_equal(kept[i], i + 10);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small),          cmocka_unit_test(test_large),      cmocka_unit_test(test_in_place),
        cmocka_unit_test(test_streaming),      cmocka_unit_test(test_index_type), cmocka_unit_test(test_n_device),
        cmocka_unit_test(test_beyond_32_bits),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
