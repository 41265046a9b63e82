/* SPDX-License-Identifier: MIT
 *
 * What the *_workspace functions of libscan_dist report is enough: after both reservations a call allocates no context
 * memory, lent memory of that size serves it, and less is refused on all ranks. And n_device, which gives what a call
 * with that length gives.
 */
#include "dist_test.h"

enum { N = 300000 /* floats of more than one group */, ALIGNMENT = 256 };

static unsigned allocations;
static bool on_device;

static void *allocate(size_t bytes, void *user, struct CUstream_st *stream) {
    (void)user;
    (void)stream;
    allocations++;
    return on_device ? make_bytes(bytes) : aligned_alloc(ALIGNMENT, (bytes / ALIGNMENT + 1) * ALIGNMENT);
}

static void release(void *memory, size_t bytes, void *user, struct CUstream_st *stream) {
    (void)bytes;
    (void)user;
    (void)stream;
    if (on_device)
        free_bytes(memory);
    else
        free(memory);
}

/* Arrays of a rank, of elements of up to 8 bytes. */
typedef struct arrays {
    char *in, *values, *out, *moved, *more;
    uint64_t *count, *n_device; /* n_device: NULL, or the length in context memory */
    size_t n, out_n;
} arrays;

/* Calls the verb, or asks what it takes. */
typedef struct sizes {
    size_t bytes, ctx_bytes;
} sizes;

typedef scan_status verb(const dist_test *t, const arrays *a, sizes *needed);

static scan_status prefix(const dist_test *t, const arrays *a, sizes *needed) {
    const scan_prefix_desc desc = {.struct_size = sizeof desc, .type = SCAN_F64, .reverse = 1, .n_device = a->n_device};
    return needed ? scan_dist_prefix_workspace(t->comm, &desc, a->n, &needed->bytes, &needed->ctx_bytes)
                  : scan_dist_prefix(t->comm, &desc, a->in, a->out, a->n);
}

static scan_status compact(const dist_test *t, const arrays *a, sizes *needed) {
    const scan_term less = {.op = SCAN_TERM_LT, .constant_type = SCAN_U64, .constant.u = UINT32_MAX / 2};
    const scan_compact_desc desc = {
        .struct_size = sizeof desc, .type = SCAN_U32, .terms = &less, .term_count = 1, .n_device = a->n_device};
    const scan_compact_out out = {sizeof out, a->out, a->moved, a->more, a->count};
    return needed ? scan_dist_compact_workspace(t->comm, &desc, a->n, &needed->bytes, &needed->ctx_bytes)
                  : scan_dist_compact(t->comm, &desc, a->in, &out, a->n, NULL);
}

static scan_status unique(const dist_test *t, const arrays *a, sizes *needed) {
    const scan_unique_desc desc = {.struct_size = sizeof desc, .type = SCAN_U8, .n_device = a->n_device};
    const scan_unique_out out = {sizeof out, a->out, a->moved, a->more, a->count};
    return needed ? scan_dist_unique_workspace(t->comm, &desc, a->n, &needed->bytes, &needed->ctx_bytes)
                  : scan_dist_unique(t->comm, &desc, a->in, &out, a->n, NULL);
}

static scan_status sort_pairs(const dist_test *t, const arrays *a, sizes *needed) {
    const scan_sort_desc desc = {
        .struct_size = sizeof desc, .type = SCAN_U32, .value_bytes = 8, .n_device = a->n_device};
    return needed ? scan_dist_sort_workspace(t->comm, &desc, a->n, a->out_n, &needed->bytes, &needed->ctx_bytes)
                  : scan_dist_sort(t->comm, &desc, a->in, a->out, a->values, a->moved, a->n, a->out_n);
}

static scan_status sort_bits(const dist_test *t, const arrays *a, sizes *needed) {
    const scan_sort_desc desc = {.struct_size = sizeof desc, .type = SCAN_I64, .begin_bit = 3, .end_bit = 30};
    return needed ? scan_dist_sort_workspace(t->comm, &desc, a->n, a->out_n, &needed->bytes, &needed->ctx_bytes)
                  : scan_dist_sort(t->comm, &desc, a->in, a->out, NULL, NULL, a->n, a->out_n);
}

static scan_status argsort(const dist_test *t, const arrays *a, sizes *needed) {
    const scan_sort_desc desc = {.struct_size = sizeof desc, .type = SCAN_U16, .n_device = a->n_device};
    return needed ? scan_dist_argsort_workspace(t->comm, &desc, a->n, a->out_n, &needed->bytes, &needed->ctx_bytes)
                  : scan_dist_argsort(t->comm, &desc, a->in, a->out, a->n, a->out_n);
}

static scan_status histogram(const dist_test *t, const arrays *a, sizes *needed) {
    const scan_histogram_desc desc = {.struct_size = sizeof desc, .type = SCAN_U16, .n_device = a->n_device};
    return needed ? scan_dist_histogram_workspace(t->comm, &desc, a->n, &needed->bytes, &needed->ctx_bytes)
                  : scan_dist_histogram(t->comm, &desc, a->in, (uint64_t *)(void *)a->out, a->n);
}

static scan_status equalize(const dist_test *t, const arrays *a, sizes *needed) {
    const scan_equalize_desc desc = {.struct_size = sizeof desc, .type = SCAN_U16, .channels = 3};
    return needed ? scan_dist_equalize_workspace(t->comm, &desc, a->n, &needed->bytes, &needed->ctx_bytes)
                  : scan_dist_equalize(t->comm, &desc, a->in, a->out, NULL, a->n);
}

static const struct {
    const char *name;
    verb *call;
    bool counts; /* has n_device */
} verbs[] = {{"prefix", prefix, true},         {"compact", compact, true},      {"unique", unique, true},
             {"sort pairs", sort_pairs, true}, {"sort bits", sort_bits, false}, {"argsort", argsort, true},
             {"histogram", histogram, true},   {"equalize", equalize, false}};
enum { VERBS = sizeof verbs / sizeof *verbs };

/* ---- workspace --------------------------------------------------------------------------------------------------- */

static void is_enough(dist_test *t, const char *name, verb *call, const arrays *a) {
    sizes needed;
    CHECK_STATUS(call(t, a, &needed), SCAN_OK);
    CHECK_STATUS(scan_dist_reserve(t->comm, needed.bytes), SCAN_OK);
    CHECK_STATUS(scan_ctx_reserve(t->ctx, needed.ctx_bytes), SCAN_OK);
    allocations = 0;
    CHECK_STATUS(call(t, a, NULL), SCAN_OK);
    CHECK(allocations == 0, "%s, n %zu, out_n %zu: %u allocations after a reservation of %zu and %zu", name, a->n,
          a->out_n, allocations, needed.bytes, needed.ctx_bytes);
    void *memory = needed.bytes ? allocate(needed.bytes, NULL, NULL) : NULL;
    CHECK_STATUS(scan_dist_lend(t->comm, memory, needed.bytes), SCAN_OK);
    CHECK_STATUS(call(t, a, NULL), SCAN_OK);
    if (memory) {
        const uint32_t bad = t->size - 1;
        CHECK_STATUS(scan_dist_lend(t->comm, memory, t->rank == bad ? 7 : needed.bytes), SCAN_OK);
        CHECK_STATUS(call(t, a, NULL), t->rank == bad ? SCAN_ERR_WORKSPACE : SCAN_ERR_PEER);
        CHECK_STATUS(scan_dist_lend(t->comm, NULL, 0), SCAN_OK);
        CHECK_STATUS(call(t, a, NULL), SCAN_OK);
        release(memory, needed.bytes, NULL, NULL);
    }
}

static void workspaces(dist_test *t, const arrays *all) {
    scan_info info = {.struct_size = sizeof info};
    uint64_t rng = 61;
    CHECK_STATUS(scan_ctx_info(t->ctx, &info), SCAN_OK);
    scan_ctx *const before = t->ctx;
    const scan_options options = {.struct_size = sizeof options,
                                  .backend = info.backend,
                                  .device = info.device < 0 ? 0 : info.device,
                                  .threads = info.threads,
                                  .alloc = allocate,
                                  .free = release};
    for (unsigned v = 0; v < VERBS; v++)
        for (unsigned i = 0; i < 2; i++) {
            const unsigned way = (v + 3 * i + 1) % SPLITS;
            const split from = make_split(t, way, N, &rng), to = make_split(t, i * way, N, &rng);
            arrays a = *all;
            a.n = share_of(t, &from);
            a.out_n = share_of(t, &to);
            CHECK_STATUS(scan_ctx_create(&t->ctx, &options), SCAN_OK);
            CHECK_STATUS(scan_dist_comm_use(t->comm, t->ctx), SCAN_OK);
            is_enough(t, verbs[v].name, verbs[v].call, &a);
            CHECK_STATUS(scan_dist_comm_use(t->comm, before), SCAN_OK);
            scan_ctx_destroy(t->ctx);
            t->ctx = before;
        }
}

/* ---- n_device ---------------------------------------------------------------------------------------------------- */

static void lengths_on_the_device(const dist_test *t, const arrays *all) {
    const size_t n = 9000 + 100 * t->rank;
    char *expected = malloc(n * 8);
    for (unsigned v = 0; v < VERBS; v++) {
        arrays a = *all;
        if (!verbs[v].counts)
            continue;
        a.n = a.out_n = n;
        memset(a.out, 0, n * 8);
        CHECK_STATUS(verbs[v].call(t, &a, NULL), SCAN_OK);
        memcpy(expected, a.out, n * 8);
        memset(a.out, 0, n * 8);
        a.n_device = a.count + 1;
        *a.n_device = n;
        a.n = n + 1 + t->rank;
        CHECK_STATUS(verbs[v].call(t, &a, NULL), SCAN_OK);
        CHECK(memcmp(expected, a.out, n * 8) == 0, "%s with n_device", verbs[v].name);
    }
    free(expected);
}

void test_workspace(const dist_test *given) {
    dist_test tests = *given, *t = &tests;
    uint64_t rng = 59 + t->rank;
    arrays a = {.count = make_bytes(16)};
    char **const lists[] = {&a.in, &a.values, &a.out, &a.moved, &a.more};
    on_device = t->on_device;
    for (int i = 0; i < 5; i++)
        *lists[i] = make_bytes(N * (size_t)8);
    for (size_t i = 0; i < N; i++) {
        const uint64_t any = random_u64(&rng);
        memcpy(a.in + 8 * i, &any, 8);
        memset(a.values + 8 * i, (int)i, 8);
    }
    workspaces(t, &a);
    lengths_on_the_device(t, &a);
    for (int i = 0; i < 5; i++)
        free_bytes(*lists[i]);
    free_bytes(a.count);
}
