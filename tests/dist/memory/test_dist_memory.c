/* SPDX-License-Identifier: MIT
 *
 * Memory that is refused on one rank of libscan_dist, each allocation of each verb in turn: that rank's status is
 * MEMORY, that of the others PEER, and the next call does what it should; or, for memory of the exchange itself, all
 * hear that the communicator is broken. For `mpirun -n N test_dist_memory`.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>

#include "tests/dist/dist_test.h"

/* ---- allocations of libscan and libscan_dist --------------------------------------------------------------------- */

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t),
    *__libc_memalign(size_t, size_t);

static int countdown; /* the allocation that fails, from 1 on; 0: none */
static bool has_refused;

/* Whether the library that called an allocator gets nothing. MPI's own memory is not refused. */
static bool refuses(const void *caller) {
    Dl_info info;
    if (countdown == 0 || dladdr(caller, &info) == 0 || !strstr(info.dli_fname, "libscan") || --countdown > 0)
        return false;
    errno = ENOMEM;
    return has_refused = true;
}

#define REFUSED refuses(__builtin_return_address(0))
#pragma GCC visibility push(default) /* in the place of the C library's, for all libraries */
void *malloc(size_t n) { return REFUSED ? NULL : __libc_malloc(n); }
void *calloc(size_t n, size_t m) { return REFUSED ? NULL : __libc_calloc(n, m); }
void *realloc(void *p, size_t n) { return REFUSED ? NULL : __libc_realloc(p, n); }
void *aligned_alloc(size_t a, size_t n) { return REFUSED ? NULL : __libc_memalign(a, n); }
int posix_memalign(void **p, size_t a, size_t n) {
    *p = REFUSED ? NULL : __libc_memalign(a, n);
    return *p ? 0 : ENOMEM;
}
#pragma GCC visibility pop

/* ---- verbs ------------------------------------------------------------------------------------------------------- */

enum { N = 3000, TRIES_MAX = 60 };

static double in[N], out[N];
static uint64_t indices[N], bins[256];
static uint8_t pixels[N], mapped[N];
static scan_dist_place place;

static scan_status create_and_destroy(const dist_test *t) {
    scan_dist_comm *other = NULL;
    const scan_status status = scan_dist_comm_create(&other, NULL);
    (void)t;
    scan_dist_comm_destroy(other);
    return status;
}

static scan_status use(const dist_test *t) { return scan_dist_comm_use(t->comm, t->ctx); }

static scan_status prefix(const dist_test *t) {
    const scan_prefix_desc desc = {.struct_size = sizeof desc, .type = SCAN_F64, .op = SCAN_ADD};
    return scan_dist_prefix(t->comm, &desc, in, out, N - t->rank);
}

static scan_status compact(const dist_test *t) {
    const scan_term half = {.op = SCAN_TERM_GE, .constant_type = SCAN_F64, .constant.f = 40};
    const scan_compact_desc desc = {.struct_size = sizeof desc, .type = SCAN_F64, .terms = &half, .term_count = 1};
    const scan_compact_out to = {.struct_size = sizeof to, .kept = out, .indices = indices};
    return scan_dist_compact(t->comm, &desc, in, &to, N, &place);
}

static scan_status unique(const dist_test *t) {
    const scan_unique_desc desc = {.struct_size = sizeof desc, .type = SCAN_F64};
    const scan_unique_out to = {.struct_size = sizeof to, .kept = out};
    return scan_dist_unique(t->comm, &desc, in, &to, N, &place);
}

static scan_status sort(const dist_test *t) {
    const scan_sort_desc desc = {.struct_size = sizeof desc, .type = SCAN_F64};
    return scan_dist_sort(t->comm, &desc, in, out, NULL, NULL, N, N);
}

static scan_status argsort(const dist_test *t) {
    const scan_sort_desc desc = {.struct_size = sizeof desc, .type = SCAN_F64};
    return scan_dist_argsort(t->comm, &desc, in, indices, N, N);
}

static scan_status histogram(const dist_test *t) {
    const scan_histogram_desc desc = {.struct_size = sizeof desc, .type = SCAN_U8};
    return scan_dist_histogram(t->comm, &desc, pixels, bins, N);
}

static scan_status equalize(const dist_test *t) {
    const scan_equalize_desc desc = {.struct_size = sizeof desc, .type = SCAN_U8, .channels = 1};
    return scan_dist_equalize(t->comm, &desc, pixels, mapped, NULL, N);
}

static scan_status redistribute(const dist_test *t) {
    const size_t shift = t->rank == 0 ? 1 : 0, back = t->rank == t->size - 1 ? 1 : 0;
    return scan_dist_redistribute(t->comm, sizeof *in, in, N - shift, out, t->size == 1 ? N - shift : N - back);
}

static scan_status all_to_all(const dist_test *t) {
    size_t bytes[MAX_RANKS];
    for (uint32_t r = 0; r < t->size; r++)
        bytes[r] = sizeof in / t->size;
    return scan_dist_all_to_all(t->comm, in, bytes, out, bytes);
}

static const struct verb {
    const char *name;
    scan_status (*call)(const dist_test *t);
    bool creates; /* a communicator, which can do without watching other processes */
} verbs[] = {
    {"prefix", prefix, false},     {"compact", compact, false},           {"unique", unique, false},
    {"sort", sort, false},         {"argsort", argsort, false},           {"histogram", histogram, false},
    {"equalize", equalize, false}, {"redistribute", redistribute, false}, {"all_to_all", all_to_all, false},
    {"use", use, false},           {"create", create_and_destroy, true},
};

/* ---- the test ---------------------------------------------------------------------------------------------------- */

/* Returns false when the verb has no such allocation on that rank. Contexts and communicators keep what they have once
 * allocated, so each try has new ones. */
static bool try_verb(dist_test *t, scan_dist_comm *first, const struct verb *verb, int at, uint32_t where) {
    scan_dist_info info = {.struct_size = sizeof info};
    const scan_options one_thread = {.struct_size = sizeof one_thread, .threads = 1};
    struct outcome {
        scan_status status;
        bool refused;
    } mine, all[MAX_RANKS];
    CHECK_STATUS(scan_dist_comm_create(&t->comm, NULL), SCAN_OK);
    CHECK_STATUS(scan_ctx_create(&t->ctx, &one_thread), SCAN_OK);
    CHECK_STATUS(scan_dist_comm_use(t->comm, t->ctx), SCAN_OK);
    has_refused = false;
    countdown = t->rank == where ? at : 0;
    mine.status = verb->call(t);
    countdown = 0;
    mine.refused = has_refused;
    CHECK_STATUS(scan_dist_all_gather(first, &mine, sizeof mine, all), SCAN_OK);
    CHECK_STATUS(scan_dist_comm_info(t->comm, &info), SCAN_OK);
    const scan_status there = all[where].status;
    const bool fails = all[where].refused && (there != SCAN_OK || !verb->creates);
    const bool broken = info.broken || (verb->creates && there == SCAN_ERR_PEER);
    const scan_status expected = !fails ? SCAN_OK : t->rank == where && !broken ? SCAN_ERR_MEMORY : SCAN_ERR_PEER;
    CHECK(mine.status == expected, "%s, allocation %d on rank %u: %d, not %d: %s", verb->name, at, where,
          (int)mine.status, (int)expected, scan_dist_detail(t->comm));
    if (!info.broken)
        CHECK_STATUS(verb->call(t), SCAN_OK);
    scan_dist_comm_destroy(t->comm);
    scan_ctx_destroy(t->ctx);
    return all[where].refused;
}

int main(void) {
    dist_test test = {0}, *t = &test;
    scan_dist_comm *first;
    scan_dist_info info = {.struct_size = sizeof info};
    CHECK_STATUS(scan_dist_comm_create(&first, NULL), SCAN_OK);
    CHECK_STATUS(scan_dist_comm_info(first, &info), SCAN_OK);
    t->rank = info.rank;
    t->size = info.size;
    for (size_t i = 0; i < N; i++) {
        in[i] = (double)((i * 7919 + t->rank) % 97);
        pixels[i] = (uint8_t)(i * 31 % 97);
    }
    int refused = 0;
    for (size_t v = 0; v < sizeof verbs / sizeof *verbs; v++) {
        int at = 1;
        while (at < TRIES_MAX && try_verb(t, first, &verbs[v], at, (uint32_t)at % t->size))
            at++;
        refused += at - 1;
    }
    scan_dist_comm_destroy(first);
    if (t->rank == 0)
        printf("%u ranks: %d refusals: passed\n", t->size, refused);
    return 0;
}
