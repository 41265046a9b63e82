/* SPDX-License-Identifier: MIT
 *
 * bench_dist VERB N weak|strong cpu|cuda REPEATS [predict]: one run of tools/bench_dist, under mpirun. VERB is prefix
 * (of f32), compact (half of u32) or sort (of u32). N is the length of a rank's share (weak) or of the array (strong).
 *
 * Rank 0 prints a row: what one context takes for a share, alone; what the ranks take together, and that by it; the
 * part that an exchange of the same bytes takes of it; and what the model says:
 *
 *     prefix    twice the share (it is read twice)
 *     compact   the share
 *     sort      the share + its bytes * (ranks - 1) / ranks at the rate of an exchange + the merges: ceil(log2 ranks)
 * times the share's merge, or from five ranks on another sort of the share
 *
 * The rate is that of scan_dist_redistribute when every rank hands half of its share to the next. Times are the median
 * of the repeats, of the slowest rank each. With `predict`, rows follow for more ranks by the model alone.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <scan/scan_dist.h>

#include "tests/random.h"

enum { MAX_REPEATS = 99, MAX_RANKS = 4096 };

typedef struct bench {
    scan_dist_comm *comm;
    scan_ctx *ctx;
    scan_dist_info info;
    const char *verb;
    size_t n;
    void *in, *out, *more; /* context memory: n, 3 n / 2 + 1 and n elements of 4 bytes */
    unsigned repeats;
} bench;

typedef scan_status task(const bench *b);

static void die(const bench *b, const char *what, scan_status status) {
    fprintf(stderr, "bench_dist: rank %u: %s: %s: %s%s\n", b->info.rank, what, scan_status_string(status),
            b->comm ? scan_dist_detail(b->comm) : "", b->ctx ? scan_ctx_detail(b->ctx) : "");
    exit(1);
}

static void check(const bench *b, const char *what, scan_status status) {
    if (status != SCAN_OK)
        die(b, what, status);
}

/* ---- what is measured ---------------------------------------------------------------------------------------------
 */

static const scan_prefix_desc sums = {.struct_size = sizeof sums, .type = SCAN_F32};
static const scan_sort_desc order = {.struct_size = sizeof order, .type = SCAN_U32};
static const scan_merge_desc merging = {.struct_size = sizeof merging, .type = SCAN_U32};
static const scan_term lower_half = {.op = SCAN_TERM_LT, .constant_type = SCAN_U64, .constant.u = UINT64_C(1) << 31};
static const scan_compact_desc half = {
    .struct_size = sizeof half, .type = SCAN_U32, .terms = &lower_half, .term_count = 1};

static scan_status alone(const bench *b) {
    const scan_compact_out kept = {.struct_size = sizeof kept, .kept = b->out};
    if (!strcmp(b->verb, "prefix"))
        return scan_prefix(b->ctx, &sums, b->in, b->out, b->n);
    if (!strcmp(b->verb, "compact"))
        return scan_compact(b->ctx, &half, b->in, &kept, b->n);
    return scan_sort(b->ctx, &order, b->in, b->out, NULL, NULL, b->n);
}

static scan_status together(const bench *b) {
    const scan_compact_out kept = {.struct_size = sizeof kept, .kept = b->out};
    if (!strcmp(b->verb, "prefix"))
        return scan_dist_prefix(b->comm, &sums, b->in, b->out, b->n);
    if (!strcmp(b->verb, "compact"))
        return scan_dist_compact(b->comm, &half, b->in, &kept, b->n, NULL);
    return scan_dist_sort(b->comm, &order, b->in, b->out, NULL, NULL, b->n, b->n);
}

/* Half of each share goes to the next rank. */
static scan_status exchange(const bench *b) {
    const bool first = b->info.rank == 0, last = b->info.rank + 1 == b->info.size;
    return scan_dist_redistribute(b->comm, 4, b->in, b->n, b->out,
                                  b->n - (last ? 0 : b->n / 2) + (first ? 0 : b->n / 2));
}

/* Two runs of a sorted share. */
static scan_status merge(const bench *b) {
    const size_t a = b->n / 2;
    return scan_merge(b->ctx, &merging, b->more, NULL, a, (char *)b->more + 4 * a, NULL, b->n - a, b->out, NULL);
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int by_value(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median over repeats of the time of the slowest rank; one run goes first. */
static double measure(const bench *b, const char *what, task *run) {
    static double all[MAX_RANKS];
    double times[MAX_REPEATS];
    for (unsigned i = 0; i <= b->repeats; i++) {
        check(b, "agree", scan_dist_agree(b->comm, SCAN_OK, NULL));
        const double begin = now();
        check(b, what, run(b));
        check(b, what, scan_ctx_sync(b->ctx));
        const double own = now() - begin;
        check(b, "gather", scan_dist_all_gather(b->comm, &own, sizeof own, all));
        for (uint32_t r = 1; r < b->info.size; r++)
            all[0] = all[r] > all[0] ? all[r] : all[0];
        if (i > 0)
            times[i - 1] = all[0];
    }
    qsort(times, b->repeats, sizeof *times, by_value);
    return times[b->repeats / 2];
}

/* ---- the model ----------------------------------------------------------------------------------------------------
 */

typedef struct rates {
    double alone, merge; /* of a share */
    double exchange;     /* bytes a second */
} rates;

static double exchange_time(const bench *b, const rates *r, double ranks) {
    return strcmp(b->verb, "sort") || ranks < 2 ? 0 : 4.0 * (double)b->n * (ranks - 1) / ranks / r->exchange;
}

static double model(const bench *b, const rates *r, double ranks) {
    if (ranks < 2 || !strcmp(b->verb, "compact"))
        return r->alone;
    if (!strcmp(b->verb, "prefix"))
        return 2 * r->alone;
    return r->alone + exchange_time(b, r, ranks) + (ranks < 3 ? r->merge : ranks < 5 ? 2 * r->merge : r->alone);
}

static void report(const bench *b, const rates *r, double time, const char *kind, bool predict) {
    const double ranks = b->info.size;
    printf("%-8s %-6s %5.0f %11zu %10.3f %10.3f %7.2f %8.0f%% %10.3f\n", b->verb, kind, ranks, b->n, 1e3 * r->alone,
           1e3 * time, time / r->alone, 100 * exchange_time(b, r, ranks) / time, 1e3 * model(b, r, ranks));
    for (double more = 8; predict && more <= 1024; more *= more < 64 ? 8 : 16)
        if (more > ranks)
            printf("%-8s %-6s %5.0f %11zu %10s %10s %7s %9s %10.3f  predicted\n", b->verb, "weak", more, b->n, "-", "-",
                   "-", "-", 1e3 * model(b, r, more));
}

/* ---- one run ------------------------------------------------------------------------------------------------------
 */

static void fill(const bench *b) {
    uint64_t rng = b->info.rank + 1;
    uint32_t *host = malloc(b->n * 4 + 4);
    if (!host)
        die(b, "memory", SCAN_ERR_MEMORY);
    for (size_t i = 0; i < b->n; i++) {
        const uint64_t any = random_u64(&rng);
        const float f = (float)(any >> 40) * 0x1p-24f;
        host[i] = (uint32_t)any;
        if (!strcmp(b->verb, "prefix"))
            memcpy(&host[i], &f, 4);
    }
    check(b, "upload", scan_upload(b->ctx, b->in, host, b->n * 4));
    check(b, "sync", scan_ctx_sync(b->ctx));
    free(host);
}

static void open_bench(bench *b, bool cuda) {
    scan_options options = {.struct_size = sizeof options, .threads = 1};
    check(b, "communicator", scan_dist_comm_create(&b->comm, NULL));
    check(b, "info", scan_dist_comm_info(b->comm, &b->info));
    options.backend = cuda ? SCAN_BACKEND_CUDA : SCAN_BACKEND_CPU;
    options.device = (int32_t)b->info.local_rank;
    check(b, "context", scan_ctx_create(&b->ctx, &options));
    check(b, "use", scan_dist_comm_use(b->comm, b->ctx));
}

int main(int argc, char **argv) {
    bench b = {.info = {.struct_size = sizeof b.info}};
    if (argc < 6) {
        fprintf(stderr, "Usage: bench_dist prefix|compact|sort N weak|strong cpu|cuda REPEATS [predict]\n");
        return 2;
    }
    b.verb = argv[1];
    b.repeats = (unsigned)atoi(argv[5]);
    if (b.repeats < 1 || b.repeats > MAX_REPEATS || strtoull(argv[2], NULL, 10) == 0) {
        fprintf(stderr, "bench_dist: N must be positive, REPEATS 1 to %d\n", MAX_REPEATS);
        return 2;
    }
    open_bench(&b, !strcmp(argv[4], "cuda"));
    b.n = (size_t)strtoull(argv[2], NULL, 10) / (strcmp(argv[3], "strong") ? 1 : b.info.size);
    check(&b, "memory", scan_malloc(b.ctx, 4 * b.n + 4, &b.in));
    check(&b, "memory", scan_malloc(b.ctx, 6 * b.n + 8, &b.out));
    check(&b, "memory", scan_malloc(b.ctx, 4 * b.n + 4, &b.more));
    fill(&b);
    rates r = {.alone = measure(&b, b.verb, alone)};
    if (!strcmp(b.verb, "sort")) {
        check(&b, "sort", scan_sort(b.ctx, &order, b.in, b.more, NULL, NULL, b.n));
        r.merge = measure(&b, "merge", merge);
    }
    if (b.info.size > 1)
        r.exchange = 2.0 * (double)b.n / measure(&b, "exchange", exchange);
    const double time = measure(&b, b.verb, together);
    if (b.info.rank == 0)
        report(&b, &r, time, argv[3], argc > 6);
    scan_free(b.ctx, b.in);
    scan_free(b.ctx, b.out);
    scan_free(b.ctx, b.more);
    scan_dist_comm_destroy(b.comm);
    scan_ctx_destroy(b.ctx);
    return 0;
}
