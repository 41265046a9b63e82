/* SPDX-License-Identifier: MIT
 *
 * scan_dist_sort and scan_dist_argsort: the bytes of one context on the whole array, for every type, direction and size
 * of values, windows of bits, keys of all kinds, from any split to any split; floats also against a comparison that
 * knows nothing of the library.
 */
#include "dist_test.h"

enum { N = 8000 };

static char keys[N * 8], sorted[N * 8];
static uint64_t values[N], moved[N];

/* Keys: over the whole range, few, all equal, in order, in reverse order, mostly one value, few upper halves of 32
 * bits. */
enum { SHAPES = 7 };

static uint64_t element(scan_type type, unsigned shape, size_t i, uint64_t *rng) {
    const uint64_t any = random_u64(rng);
    const uint64_t integers[SHAPES] = {any, any % 5, 77, i, N - i, i % 50 ? 3 : any, any & 0x6ffff};
    const double doubles[SHAPES] = {(double)(int64_t)any,   (double)(any % 5) - 2, -1, (double)i, -(double)i, 0.5,
                                    (double)(any % 1000000)};
    const double special[] = {(double)NAN, -(double)NAN, 0.0, -0.0, (double)INFINITY, -(double)INFINITY, 1, 1e-310};
    uint64_t bits = integers[shape];
    const double f = shape != 2 && any >> 8 & 1 && any % 3 == 0 ? special[any >> 16 & 7] : doubles[shape];
    const float f32 = (float)f;
    if (type == SCAN_F32)
        memcpy(&bits, &f32, sizeof f32);
    else if (type == SCAN_F64)
        memcpy(&bits, &f, sizeof f);
    return bits;
}

static void fill(scan_type type, unsigned shape, size_t n, uint64_t *rng) {
    const size_t size = scan_type_size(type);
    for (size_t i = 0; i < n; i++) {
        const uint64_t bits = element(type, shape, i, rng);
        memcpy(keys + i * size, &bits, size);
    }
}

static void check_sort(const dist_test *t, const scan_sort_desc *desc, size_t n, unsigned way, bool in_place,
                       uint64_t *rng) {
    const size_t size = scan_type_size(desc->type), value_bytes = desc->value_bytes;
    const split from = make_split(t, way, n, rng), to = make_split(t, way % 3 ? 0 : way / 3, n, rng);
    const size_t first = from.at[t->rank], mine = share_of(t, &from), out_first = to.at[t->rank];
    const size_t out = share_of(t, &to), room = mine > out ? mine : out;
    for (size_t i = 0; i < n; i++)
        memcpy((char *)values + i * value_bytes, &i, value_bytes);
    CHECK_STATUS(scan_sort(t->whole, desc, keys, sorted, value_bytes ? values : NULL, value_bytes ? moved : NULL, n),
                 SCAN_OK);
    char *k = make_bytes(room * size), *v = make_bytes(room * value_bytes + 1);
    memcpy(k, keys + first * size, mine * size);
    memcpy(v, (char *)values + first * value_bytes, mine * value_bytes);
    char *k_out = in_place ? k : make_bytes(out * size), *v_out = in_place ? v : make_bytes(out * value_bytes + 1);
    CHECK_STATUS(scan_dist_sort(t->comm, desc, k, k_out, value_bytes ? v : NULL, value_bytes ? v_out : NULL, mine, out),
                 SCAN_OK);
    CHECK(memcmp(k_out, sorted + out_first * size, out * size) == 0 &&
              memcmp(v_out, (char *)moved + out_first * value_bytes, out * value_bytes) == 0,
          "%s, descending %u, nan_first %u, bits %u to %u, values of %zu, n %zu, split %u, in place %d",
          scan_type_name(desc->type), desc->descending, desc->nan_first, desc->begin_bit, desc->end_bit, value_bytes, n,
          way, in_place);
    if (!in_place) {
        free_bytes(k_out);
        free_bytes(v_out);
    }
    free_bytes(k);
    free_bytes(v);
}

static void check_argsort(const dist_test *t, const scan_sort_desc *desc, size_t n, unsigned way, uint64_t *rng) {
    const size_t size = scan_type_size(desc->type), width = desc->index_type == SCAN_U64 ? 8 : 4;
    const split from = make_split(t, way, n, rng), to = make_split(t, way % 2 ? 0 : way / 2, n, rng);
    const size_t mine = share_of(t, &from), out = share_of(t, &to);
    CHECK_STATUS(scan_argsort(t->whole, desc, keys, moved, n), SCAN_OK);
    char *k = copy_bytes(keys + from.at[t->rank] * size, mine * size), *indices = make_bytes(out * width);
    CHECK_STATUS(scan_dist_argsort(t->comm, desc, k, indices, mine, out), SCAN_OK);
    CHECK(memcmp(indices, (char *)moved + to.at[t->rank] * width, out * width) == 0,
          "%s, descending %u, bits %u to %u, n %zu, split %u", scan_type_name(desc->type), desc->descending,
          desc->begin_bit, desc->end_bit, n, way);
    free_bytes(k);
    free_bytes(indices);
}

static void type(const dist_test *t, scan_type type, uint64_t *rng) {
    const bool is_float = scan_type_class(type) == SCAN_FLOAT;
    const uint32_t width = 8 * (uint32_t)scan_type_size(type);
    for (unsigned way = 0; way < 3 * SPLITS; way++) {
        const size_t lengths[] = {N, N - 1, 1 + random_below(rng, 20), way % 4};
        const size_t n = lengths[way % 5 ? 0 : random_below(rng, 4)];
        scan_sort_desc desc = {.struct_size = sizeof desc, .type = type};
        desc.descending = (uint32_t)random_below(rng, 2);
        desc.nan_first = (uint32_t)random_below(rng, 2);
        desc.value_bytes = 4 * (uint32_t)random_below(rng, 3);
        if (!is_float && way % 4 == 3) {
            desc.begin_bit = (uint32_t)random_below(rng, width);
            desc.end_bit = desc.begin_bit + (uint32_t)random_below(rng, width - desc.begin_bit + 1);
        }
        fill(type, way % SHAPES, n, rng);
        check_sort(t, &desc, n, way, random_below(rng, 2), rng);
        desc.value_bytes = 0;
        desc.index_type = way % 3 ? SCAN_TYPE_NONE : SCAN_U64;
        check_argsort(t, &desc, n, (unsigned)random_below(rng, SPLITS), rng);
    }
}

static void every_type(const dist_test *t) {
    uint64_t rng = 43;
#define ROW(ENUM, ...) type(t, SCAN_##ENUM, &rng);
    SCAN_TYPES(ROW)
#undef ROW
}

/* NumPy's order, in words: numbers ascend, NaN comes last, what is equal keeps its order. */
static bool in_order(float a, uint32_t a_index, float b, uint32_t b_index) {
    const bool a_nan = a != a, b_nan = b != b;
    if (a_nan || b_nan)
        return a_nan == b_nan ? a_index < b_index : b_nan;
    return a == b ? a_index < b_index : a < b;
}

/* The result, gathered: a permutation, in order, with shares equal to within one element. */
static void oracle(const dist_test *t) {
    uint64_t rng = 47;
    for (unsigned way = 0; way < SPLITS; way++) {
        const scan_sort_desc desc = {.struct_size = sizeof desc, .type = SCAN_F32, .value_bytes = 4};
        fill(SCAN_F32, way, N, &rng);
        const split s = make_split(t, way, N, &rng);
        const size_t mine = share_of(t, &s);
        const size_t room = N / t->size + 1; /* gathered with one place more than some need */
        uint32_t indices[N], *own = make_bytes(mine * 4), *own_moved = make_bytes(room * 4);
        float all[N], *in = copy_bytes(keys + 4 * s.at[t->rank], mine * 4), *own_sorted = make_bytes(room * 4);
        scan_dist_place even;
        for (size_t i = 0; i < mine; i++)
            own[i] = (uint32_t)(s.at[t->rank] + i);
        CHECK_STATUS(scan_dist_share(t->comm, mine, NULL, &even), SCAN_OK);
        CHECK(even.count == N / t->size + (t->rank < N % t->size), "%zu", (size_t)even.count);
        memset(own_sorted, 0, room * 4);
        memset(own_moved, 0, room * 4);
        CHECK_STATUS(scan_dist_sort(t->comm, &desc, in, own_sorted, own, own_moved, mine, (size_t)even.count), SCAN_OK);
        char *gathered = make_bytes(8 * room * t->size);
        CHECK_STATUS(scan_dist_all_gather(t->comm, own_sorted, 4 * room, gathered), SCAN_OK);
        CHECK_STATUS(scan_dist_all_gather(t->comm, own_moved, 4 * room, gathered + 4 * room * t->size), SCAN_OK);
        size_t at = 0;
        for (size_t r = 0; r < t->size; r++)
            for (size_t i = 0; i < N / t->size + (r < N % t->size); i++, at++) {
                memcpy(&all[at], gathered + 4 * (r * room + i), 4);
                memcpy(&indices[at], gathered + 4 * (room * t->size + r * room + i), 4);
                CHECK(indices[at] < N && memcmp(&all[at], keys + 4 * indices[at], 4) == 0, "element %zu", at);
                CHECK(at == 0 || in_order(all[at - 1], indices[at - 1], all[at], indices[at]), "order at %zu", at);
            }
        free_bytes(gathered);
        free_bytes(own);
        free_bytes(own_moved);
        free_bytes(own_sorted);
        free_bytes(in);
    }
}

/* Shares that go in several stages; windows of bits are sorted, not merged. */
static void stages(const dist_test *t) {
    enum { LONG = 2 << 20 };
    uint64_t rng = 59;
    uint32_t *in = make_bytes(LONG * 4), *numbers = make_bytes(LONG * 4);
    uint32_t *whole = make_bytes(LONG * 4), *whole_moved = make_bytes(LONG * 4);
    for (unsigned way = 0; way < 2; way++) {
        scan_sort_desc desc = {.struct_size = sizeof desc, .type = SCAN_U32, .value_bytes = 4};
        desc.descending = way;
        desc.begin_bit = way ? 3 : 0;
        desc.end_bit = way ? 20 : 0;
        for (uint32_t i = 0; i < LONG; i++) {
            in[i] = (uint32_t)(random_u64(&rng) % (way ? 1u << 21 : 5000));
            numbers[i] = i;
        }
        const split from = make_split(t, 5, LONG, &rng), to = make_split(t, way ? 1 : 0, LONG, &rng);
        const size_t first = from.at[t->rank], mine = share_of(t, &from), out_first = to.at[t->rank];
        const size_t out = share_of(t, &to);
        uint32_t *k = make_bytes(out * 4), *v = make_bytes(out * 4);
        CHECK_STATUS(scan_sort(t->whole, &desc, in, whole, numbers, whole_moved, LONG), SCAN_OK);
        CHECK_STATUS(scan_dist_sort(t->comm, &desc, in + first, k, numbers + first, v, mine, out), SCAN_OK);
        CHECK(memcmp(k, whole + out_first, out * 4) == 0 && memcmp(v, whole_moved + out_first, out * 4) == 0, "way %u",
              way);
        free_bytes(k);
        free_bytes(v);
    }
    free_bytes(in);
    free_bytes(numbers);
    free_bytes(whole);
    free_bytes(whole_moved);
}

static void errors(const dist_test *t) {
    const bool bad = t->rank == t->size - 1;
    const scan_status others = t->size > 1 ? SCAN_ERR_PEER : SCAN_OK;
    uint32_t in[8] = {3, 1, 2}, out[9], more[9];
    scan_sort_desc desc = {.struct_size = sizeof desc, .type = SCAN_U32}, pairs = desc;
    pairs.value_bytes = 4;
    CHECK_STATUS(scan_dist_sort(t->comm, &desc, bad ? NULL : in, out, NULL, NULL, 8, 8),
                 bad ? SCAN_ERR_ARGUMENT : others);
    CHECK_STATUS(scan_dist_sort(t->comm, &desc, in, bad ? NULL : out, NULL, NULL, 8, 8),
                 bad ? SCAN_ERR_ARGUMENT : others);
    CHECK_STATUS(scan_dist_sort(t->comm, &desc, in, bad ? in + 1 : out, NULL, NULL, 7, 7),
                 bad ? SCAN_ERR_OVERLAP : others);
    CHECK_STATUS(scan_dist_sort(t->comm, &pairs, in, out, in, bad ? out : more, 8, 8), bad ? SCAN_ERR_OVERLAP : others);
    CHECK_STATUS(scan_dist_sort(t->comm, &pairs, in, out, in, bad ? NULL : more, 8, 8),
                 bad ? SCAN_ERR_ARGUMENT : others);
    CHECK_STATUS(scan_dist_sort(t->comm, &desc, in, out, NULL, NULL, 8, bad ? 9 : 8), SCAN_ERR_ARGUMENT);
    CHECK_STATUS(scan_dist_argsort(t->comm, &desc, in, bad ? NULL : out, 8, 8), bad ? SCAN_ERR_ARGUMENT : others);
    CHECK_STATUS(scan_dist_argsort(t->comm, &desc, in, bad ? in + 7 : out, 8, 8), bad ? SCAN_ERR_OVERLAP : others);
    CHECK_STATUS(scan_dist_argsort(t->comm, bad ? NULL : &desc, in, out, 8, 8), bad ? SCAN_ERR_ARGUMENT : others);
    desc.end_bit = 33;
    CHECK_STATUS(scan_dist_sort(t->comm, &desc, in, out, NULL, NULL, 8, 8), SCAN_ERR_ARGUMENT);
    desc.end_bit = bad ? 3 : 4;
    CHECK_STATUS(scan_dist_argsort(t->comm, &desc, in, out, 8, 8), t->size > 1 ? SCAN_ERR_ARGUMENT : SCAN_OK);
}

void test_sort(const dist_test *t) {
    every_type(t);
    oracle(t);
    if (!t->on_device) {
        stages(t);
        errors(t);
    }
}
