/* SPDX-License-Identifier: MIT
 *
 * scan_dist_compact, scan_dist_share and scan_dist_redistribute: what one context gives for the whole array, and for a
 * range of integers and for redistribution what loops give that know nothing of the library.
 */
#include "dist_test.h"

enum { N = 20000 };

static char whole[N * 8];
static uint8_t *flags;

static void fill(scan_type type, uint64_t *rng) {
    const size_t size = scan_type_size(type);
    for (size_t i = 0; i < N; i++) {
        uint64_t bits = random_below(rng, 100);
        if (scan_type_class(type) == SCAN_FLOAT) {
            const double f = bits == 7 ? (double)NAN : (double)bits - 50;
            const float f32 = (float)f;
            memcpy(&bits, type == SCAN_F32 ? (const void *)&f32 : (const void *)&f, size);
        }
        memcpy(whole + i * size, &bits, size);
        flags[i] = (uint8_t)(random_below(rng, 3) == 0);
    }
}

/* Outputs of one rank, or of all in one context. */
typedef struct results {
    char *kept, *rejected;
    uint64_t *indices; /* of either width */
    uint64_t *count;
} results;

static results make_results(size_t n) {
    return (results){make_bytes(n * 8), make_bytes(n * 8), make_bytes(n * 8), make_bytes(8)};
}

static void free_results(results r) {
    free_bytes(r.kept);
    free_bytes(r.rejected);
    free_bytes(r.indices);
    free_bytes(r.count);
}

static scan_compact_out out_of(results *r) {
    return (scan_compact_out){sizeof(scan_compact_out), r->kept, r->rejected, r->indices, r->count};
}

static void check(const dist_test *t, scan_compact_desc desc, size_t n, unsigned way, uint64_t *rng) {
    const size_t size = scan_type_size(desc.type);
    const split s = make_split(t, way, n, rng);
    const size_t mine = share_of(t, &s), first = s.at[t->rank];
    results all = make_results(n), own = make_results(mine);
    scan_compact_out all_out = out_of(&all), own_out = out_of(&own);
    scan_dist_place place;
    CHECK_STATUS(scan_compact(t->whole, &desc, whole, &all_out, n), SCAN_OK);
    char *in = copy_bytes(whole + first * size, mine * size);
    if (desc.flags)
        desc.flags = flags + first;
    CHECK_STATUS(scan_dist_compact(t->comm, &desc, in, &own_out, mine, &place), SCAN_OK);
    const size_t width = desc.index_type == SCAN_U64 || desc.index_base > UINT32_MAX - n ? 8 : 4;
    CHECK(place.total == *all.count && place.count == *own.count && place.before + place.count <= place.total,
          "split %u: %zu of %zu", way, (size_t)place.count, (size_t)place.total);
    CHECK(memcmp(own.kept, all.kept + place.before * size, *own.count * size) == 0, "kept, split %u", way);
    CHECK(memcmp(own.indices, (char *)all.indices + place.before * width, *own.count * width) == 0, "indices, split %u",
          way);
    CHECK(memcmp(own.rejected, all.rejected + (first - place.before) * size, (mine - *own.count) * size) == 0,
          "rejected, split %u", way);
    free_bytes(in);
    free_results(all);
    free_results(own);
}

static void every_type(const dist_test *t) {
    const scan_term terms[2] = {
        {.op = SCAN_TERM_LT, .constant_type = SCAN_F64, .constant.f = 20.5},
        {.op = SCAN_TERM_GE, .column = SCAN_COLUMN_INDEX, .constant_type = SCAN_U64, .constant.u = N / 3}};
    uint64_t rng = 17;
#define ROW(ENUM, ...)                                                                                                 \
    fill(SCAN_##ENUM, &rng);                                                                                           \
    for (unsigned way = 0; way < SPLITS; way++) {                                                                      \
        const scan_compact_desc by_flags = {.struct_size = sizeof by_flags,                                            \
                                            .type = SCAN_##ENUM,                                                       \
                                            .flags = flags,                                                            \
                                            .invert = way % 2,                                                         \
                                            .index_base = way == 3   ? UINT32_MAX - N + 1                              \
                                                          : way == 4 ? UINT32_MAX - 9                                  \
                                                                     : 5};                                             \
        const scan_compact_desc by_terms = {.struct_size = sizeof by_terms,                                            \
                                            .type = SCAN_##ENUM,                                                       \
                                            .terms = terms + way % 2,                                                  \
                                            .index_type = way == 2 ? SCAN_U64 : SCAN_TYPE_NONE,                        \
                                            .term_count = 1};                                                          \
        check(t, by_flags, N, way, &rng);                                                                              \
        check(t, by_terms, way ? N : 3, way, &rng);                                                                    \
    }
    SCAN_TYPES(ROW)
#undef ROW
}

/* Against a loop; kept in place; then balanced. */
static void oracle(const dist_test *t) {
    uint64_t rng = 23;
    const scan_term less = {.op = SCAN_TERM_LT, .constant_type = SCAN_U64, .constant.u = 30};
    const scan_compact_desc desc = {.struct_size = sizeof desc, .type = SCAN_U32, .terms = &less, .term_count = 1};
    const uint32_t *numbers = (const uint32_t *)(const void *)whole;
    uint32_t *expected = make_bytes(N * sizeof *expected);
    size_t count = 0;
    fill(SCAN_U32, &rng);
    for (size_t i = 0; i < N; i++)
        if (numbers[i] < 30)
            expected[count++] = numbers[i];
    for (unsigned way = 0; way < SPLITS; way++) {
        const split s = make_split(t, way, N, &rng);
        const size_t mine = share_of(t, &s);
        uint32_t *own = copy_bytes(numbers + s.at[t->rank], mine * sizeof *own);
        const scan_compact_out out = {.struct_size = sizeof out, .kept = own};
        scan_dist_place kept, now, even;
        CHECK_STATUS(scan_dist_compact(t->comm, &desc, own, &out, mine, &kept), SCAN_OK);
        CHECK(kept.total == count, "%zu", (size_t)kept.total);
        CHECK_STATUS(scan_dist_share(t->comm, (size_t)kept.count, &now, &even), SCAN_OK);
        CHECK(now.before == kept.before && now.count == kept.count && now.total == kept.total, "the same place");
        CHECK(even.total == count && even.count - count / t->size <= (even.count != count / t->size), "even");
        uint32_t *balanced = make_bytes(even.count * sizeof *balanced);
        CHECK_STATUS(scan_dist_redistribute(t->comm, 4, own, (size_t)kept.count, balanced, (size_t)even.count),
                     SCAN_OK);
        CHECK(memcmp(balanced, expected + even.before, even.count * sizeof *balanced) == 0, "split %u", way);
        free_bytes(own);
        free_bytes(balanced);
    }
    free_bytes(expected);
}

/* Elements of 3 bytes from any split to any other. */
void test_redistribute(const dist_test *t) {
    uint64_t rng = 29;
    for (size_t i = 0; i < sizeof whole; i++)
        whole[i] = (char)random_u64(&rng);
    for (unsigned way = 0; way < SPLITS * SPLITS; way++) {
        const size_t n = way % 7 ? N : way % 5;
        const split a = make_split(t, way, n, &rng), b = make_split(t, way / SPLITS, n, &rng);
        char *in = copy_bytes(whole + 3 * a.at[t->rank], 3 * share_of(t, &a)), *out = make_bytes(3 * share_of(t, &b));
        CHECK_STATUS(scan_dist_redistribute(t->comm, 3, in, share_of(t, &a), out, share_of(t, &b)), SCAN_OK);
        CHECK(memcmp(out, whole + 3 * b.at[t->rank], 3 * share_of(t, &b)) == 0, "splits %u", way);
        free_bytes(in);
        free_bytes(out);
    }
}

static void errors(const dist_test *t) {
    const bool bad = t->rank == 0;
    const scan_status others = t->size > 1 ? SCAN_ERR_PEER : SCAN_OK;
    uint64_t count, kept[8];
    uint8_t *in = (uint8_t *)whole;
    const scan_compact_out out = {.struct_size = sizeof out, .kept = kept, .count = &count};
    const scan_compact_out none = {.struct_size = sizeof none};
    const scan_term term = {.op = SCAN_TERM_EQ, .constant_type = SCAN_U64, .constant.u = bad};
    scan_compact_desc desc = {.struct_size = sizeof desc, .type = SCAN_U8, .flags = flags};
    CHECK_STATUS(scan_dist_compact(t->comm, &desc, bad ? NULL : in, &out, 8, NULL), bad ? SCAN_ERR_ARGUMENT : others);
    CHECK_STATUS(scan_dist_compact(t->comm, &desc, in, bad ? &none : &out, 8, NULL), bad ? SCAN_ERR_ARGUMENT : others);
    CHECK_STATUS(scan_dist_compact(t->comm, &desc, in, bad ? NULL : &out, 8, NULL), bad ? SCAN_ERR_ARGUMENT : others);
    desc.n_device = (const uint64_t *)(const void *)((const char *)&count + 1);
    CHECK_STATUS(scan_dist_compact(t->comm, &desc, in, &out, 8, NULL), SCAN_ERR_ALIGNMENT);
    desc.n_device = NULL;
    desc.index_base = UINT64_MAX - 4;
    CHECK_STATUS(scan_dist_compact(t->comm, &desc, in, &out, 8, NULL), SCAN_ERR_ARGUMENT);
    desc = (scan_compact_desc){.struct_size = sizeof desc, .type = SCAN_U8, .terms = &term, .term_count = 1};
    CHECK_STATUS(scan_dist_compact(t->comm, &desc, in, &out, 8, NULL), t->size > 1 ? SCAN_ERR_ARGUMENT : SCAN_OK);
    CHECK_STATUS(scan_dist_redistribute(t->comm, 1, in, 8, in + 16, bad ? 9 : 8), SCAN_ERR_ARGUMENT);
    CHECK_STATUS(scan_dist_redistribute(t->comm, 0, in, 8, in + 16, 8), SCAN_ERR_ARGUMENT);
    CHECK_STATUS(scan_dist_redistribute(t->comm, 1, in, 8, in + (bad ? 7 : 8), 8), bad ? SCAN_ERR_OVERLAP : others);
    CHECK_STATUS(scan_dist_redistribute(t->comm, 1, in, 8, bad ? NULL : in + 16, 8), bad ? SCAN_ERR_ARGUMENT : others);
}

void test_compact(const dist_test *t) {
    flags = make_bytes(N);
    every_type(t);
    oracle(t);
    if (!t->on_device)
        errors(t);
    free_bytes(flags);
}
