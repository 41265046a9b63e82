/* SPDX-License-Identifier: MIT
 *
 * scan_dist_unique: what one context gives for the whole array, of all types, with runs that go over borders and over
 * whole shares, zeros of both signs and NaN; for integers also what a loop gives.
 */
#include "dist_test.h"

enum { N = 6000 };

static char whole[N * 8];

/* Runs of up to max_run elements. Floats: runs mix zeros of both signs, and NaNs of several kinds. */
static void fill(scan_type type, size_t max_run, uint64_t *rng) {
    const size_t size = scan_type_size(type);
    for (size_t i = 0; i < N;) {
        size_t left = 1 + random_below(rng, max_run);
        const uint64_t value = random_below(rng, 5);
        for (; left && i < N; left--, i++) {
            const uint64_t any = random_u64(rng);
            const double doubles[] = {0, 1.5, -2, any & 1 ? -0.0 : 0.0, any & 1 ? -(double)NAN : (double)NAN};
            const float floats[] = {0, 1.5f, -2, any & 1 ? -0.0f : 0.0f, any & 1 ? -(float)NAN : (float)NAN};
            uint64_t bits = value - 1; /* -1 too */
            if (type == SCAN_F32)
                memcpy(&bits, &floats[value], size);
            else if (type == SCAN_F64)
                memcpy(&bits, &doubles[value], size);
            memcpy(whole + i * size, &bits, size);
        }
    }
}

static void check(const dist_test *t, const scan_unique_desc *desc, size_t n, unsigned way, uint64_t *rng) {
    const size_t size = scan_type_size(desc->type), width = desc->index_type == SCAN_U64 ? 8 : 4;
    const split s = make_split(t, way, n, rng);
    const size_t mine = share_of(t, &s);
    char *all[3], *own[3];
    uint64_t all_count, *own_count = make_bytes(8);
    for (int i = 0; i < 3; i++) {
        all[i] = make_bytes(n * 8);
        own[i] = make_bytes(mine * 8);
    }
    const scan_unique_out all_out = {sizeof all_out, all[0], all[1], all[2], &all_count};
    scan_unique_out own_out = {sizeof own_out, own[0], own[1], own[2], own_count};
    if (way % 2)
        own_out.count = NULL;
    char *in = copy_bytes(whole + s.at[t->rank] * size, mine * size);
    scan_dist_place place;
    CHECK_STATUS(scan_unique(t->whole, desc, whole, &all_out, n), SCAN_OK);
    CHECK_STATUS(scan_dist_unique(t->comm, desc, in, &own_out, mine, &place), SCAN_OK);
    CHECK(place.total == all_count && (way % 2 || *own_count == place.count), "%s, split %u: %zu runs of %zu",
          scan_type_name(desc->type), way, (size_t)place.total, (size_t)all_count);
    CHECK(memcmp(own[0], all[0] + place.before * size, place.count * size) == 0, "%s: kept, split %u",
          scan_type_name(desc->type), way);
    for (int i = 1; i < 3; i++)
        CHECK(memcmp(own[i], all[i] + place.before * width, place.count * width) == 0, "%s: output %d, split %u",
              scan_type_name(desc->type), i, way);
    for (int i = 0; i < 3; i++) {
        free_bytes(all[i]);
        free_bytes(own[i]);
    }
    free_bytes(in);
    free_bytes(own_count);
}

static void every_type(const dist_test *t) {
    static const size_t runs[] = {1, 3, 200, 3 * N};
    uint64_t rng = 31;
#define ROW(ENUM, ...)                                                                                                 \
    for (unsigned way = 0; way < 2 * SPLITS; way++) {                                                                  \
        const scan_unique_desc desc = {.struct_size = sizeof desc,                                                     \
                                       .type = SCAN_##ENUM,                                                            \
                                       .index_type = way % 5 ? SCAN_TYPE_NONE : SCAN_U64,                              \
                                       .index_base = way};                                                             \
        fill(SCAN_##ENUM, runs[random_below(&rng, 4)], &rng);                                                          \
        check(t, &desc, way % 7 ? N : way, way, &rng);                                                                 \
    }
    SCAN_TYPES(ROW)
#undef ROW
}

/* Every border of shares inside a run, and a loop for what is right. */
static void oracle(const dist_test *t) {
    const uint16_t *numbers = (const uint16_t *)(const void *)whole;
    uint64_t rng = 37;
    for (unsigned way = 0; way < 3 * SPLITS; way++) {
        uint64_t starts[N + 1];
        size_t runs = 0;
        fill(SCAN_U16, way % 2 ? 2000 : 40, &rng);
        for (size_t i = 0; i < N; i++)
            if (i == 0 || numbers[i] != numbers[i - 1])
                starts[runs++] = i;
        starts[runs] = N;
        const split s = make_split(t, way, N, &rng);
        const size_t mine = share_of(t, &s);
        uint32_t *indices = make_bytes(mine * sizeof *indices), *lengths = make_bytes(mine * sizeof *lengths);
        uint16_t *in = copy_bytes(numbers + s.at[t->rank], mine * sizeof *in);
        const scan_unique_desc desc = {.struct_size = sizeof desc, .type = SCAN_U16};
        const scan_unique_out out = {.struct_size = sizeof out, .indices = indices, .run_lengths = lengths};
        scan_dist_place place;
        CHECK_STATUS(scan_dist_unique(t->comm, &desc, in, &out, mine, &place), SCAN_OK);
        CHECK(place.total == runs, "%zu, not %zu", (size_t)place.total, runs);
        for (size_t i = 0; i < place.count; i++) {
            const uint64_t *run = starts + place.before + i;
            CHECK(indices[i] == run[0] && lengths[i] == run[1] - run[0], "run %zu, split %u", i, way);
        }
        free_bytes(indices);
        free_bytes(lengths);
        free_bytes(in);
    }
}

static void errors(const dist_test *t) {
    const bool bad = t->rank == t->size - 1;
    const scan_status others = t->size > 1 ? SCAN_ERR_PEER : SCAN_OK;
    uint64_t count;
    uint32_t kept[8], *in = (uint32_t *)(void *)whole;
    const scan_unique_out out = {.struct_size = sizeof out, .kept = kept, .count = &count};
    const scan_unique_out in_place = {.struct_size = sizeof out, .kept = in, .count = &count};
    const scan_unique_out none = {.struct_size = sizeof none};
    scan_unique_desc desc = {.struct_size = sizeof desc, .type = SCAN_U32};
    CHECK_STATUS(scan_dist_unique(t->comm, &desc, bad ? NULL : in, &out, 8, NULL), bad ? SCAN_ERR_ARGUMENT : others);
    CHECK_STATUS(scan_dist_unique(t->comm, &desc, in, bad ? &in_place : &out, 8, NULL),
                 bad ? SCAN_ERR_OVERLAP : others);
    CHECK_STATUS(scan_dist_unique(t->comm, &desc, in, bad ? &none : &out, 8, NULL), bad ? SCAN_ERR_ARGUMENT : others);
    desc.n_device = (const uint64_t *)(const void *)((const char *)&count + 1);
    CHECK_STATUS(scan_dist_unique(t->comm, &desc, in, &out, 8, NULL), SCAN_ERR_ALIGNMENT);
    desc = (scan_unique_desc){.struct_size = sizeof desc, .type = bad ? SCAN_U32 : SCAN_I32};
    CHECK_STATUS(scan_dist_unique(t->comm, &desc, in, &out, 8, NULL), t->size > 1 ? SCAN_ERR_ARGUMENT : SCAN_OK);
    CHECK_STATUS(scan_dist_unique(t->comm, NULL, in, &out, 8, NULL), SCAN_ERR_ARGUMENT);
}

void test_unique(const dist_test *t) {
    every_type(t);
    oracle(t);
    if (!t->on_device)
        errors(t);
}
