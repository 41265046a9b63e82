/* SPDX-License-Identifier: MIT
 *
 * bench_dist VERBS N weak|strong cpu|cuda REPEATS NETWORK [predict]: one run of tools/bench_dist, under mpirun. VERBS
 * is a list, with commas, of prefix (of f32), compact (half of u32), sort (of u32), sort:zipf and sort:sorted. N is the
 * length of a rank's share (weak) or of the array (strong).
 *
 * Rank 0 prints a row for each: what one context takes alone, for the share (weak), or for the whole array with as many
 * threads as there are ranks (strong); what the ranks take together, and that by it; the part of it that an exchange of
 * the same bytes takes; and what the model says. In it, latency is the time of the verb on one element a rank.
 *
 * prefix: 1.5 times the share, which is read once more for its totals; latency; and for each rank beyond those that
 * were measured a message (an agreement by log2 ranks) and the fold of a share's totals, 1.4 ns each.
 *
 * compact: the share, and latency, by log2 ranks.
 *
 * sort: the share; X = its bytes, half of them between devices, * (ranks - 1) / ranks at the rate of an exchange,
 * while M is done: merges of the share, ceil(log2 ranks) times, or from 17 ranks on another sort of it. Both take as
 * long as the longer, and a stage of the other. And latency, by log2 ranks. Sorted keys are where they belong: X is 0,
 * and nothing is predicted.
 *
 * The rate is that of scan_dist_redistribute when every second rank hands its share to the next. Times are the median
 * of the repeats, of the slowest rank each. With `predict`, rows follow for more ranks by the model alone; where ranks
 * have GPUs, more than 8 of them are taken to be joined by a network of NETWORK GB/s each, if that is less.
 */
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <scan/scan_dist.h>

#include "distributions.h"

enum { MAX_REPEATS = 99, MAX_RANKS = 4096, MAX_MERGED_RANKS = 16, STAGES = 4, HOST_GPUS = 8, CHUNK = 1 << 22 };

typedef enum bench_verb { PREFIX, COMPACT, SORT } bench_verb;

typedef struct bench {
    scan_dist_comm *comm;
    scan_ctx *ctx;
    scan_ctx *whole; /* strong: for the whole array, with as many threads as ranks; rank 0 alone has it */
    scan_dist_info info;
    const char *name;
    bench_verb verb;
    distribution keys;
    bool cuda, strong;
    size_t n, all, now;    /* elements of the share, of the array, of the calls now */
    void *in, *out, *more; /* context memory: n, 3 n / 2 + 1 and n elements of 4 bytes; rank 0, strong: all */
    unsigned repeats;
    double network; /* bytes a second */
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

/* ---- what is measured -------------------------------------------------------------------------------------------- */

static const scan_prefix_desc sums = {.struct_size = sizeof sums, .type = SCAN_F32};
static const scan_sort_desc order = {.struct_size = sizeof order, .type = SCAN_U32};
static const scan_merge_desc merging = {.struct_size = sizeof merging, .type = SCAN_U32};
static const scan_term lower_half = {.op = SCAN_TERM_LT, .constant_type = SCAN_U64, .constant.u = UINT64_C(1) << 31};
static const scan_compact_desc half = {
    .struct_size = sizeof half, .type = SCAN_U32, .terms = &lower_half, .term_count = 1};

static scan_status alone_on(const bench *b, scan_ctx *ctx, size_t n) {
    const scan_compact_out kept = {.struct_size = sizeof kept, .kept = b->out};
    switch (b->verb) {
    case PREFIX: return scan_prefix(ctx, &sums, b->in, b->out, n);
    case COMPACT: return scan_compact(ctx, &half, b->in, &kept, n);
    default: return scan_sort(ctx, &order, b->in, b->out, NULL, NULL, n);
    }
}

static scan_status alone(const bench *b) {
    scan_ctx *ctx = b->strong ? b->whole : b->ctx;
    const scan_status status = ctx ? alone_on(b, ctx, b->strong ? b->all : b->n) : SCAN_OK;
    return status == SCAN_OK && ctx ? scan_ctx_sync(ctx) : status;
}

static scan_status together(const bench *b) {
    const scan_compact_out kept = {.struct_size = sizeof kept, .kept = b->out};
    switch (b->verb) {
    case PREFIX: return scan_dist_prefix(b->comm, &sums, b->in, b->out, b->now);
    case COMPACT: return scan_dist_compact(b->comm, &half, b->in, &kept, b->now, NULL);
    default: return scan_dist_sort(b->comm, &order, b->in, b->out, NULL, NULL, b->now, b->now);
    }
}

/* Ranks with an even number hand their share to the next one. */
static scan_status exchange(const bench *b) {
    const bool even = b->info.rank % 2 == 0, last = b->info.rank + 1 == b->info.size;
    const size_t n = even && !last ? b->n : 0;
    return scan_dist_redistribute(b->comm, 4, b->in, n, b->out, even ? 0 : b->n);
}

/* Two runs of a sorted share. */
static scan_status merge(const bench *b) {
    const size_t a = b->n / 2;
    return scan_merge(b->ctx, &merging, b->more, NULL, a, (char *)b->more + 4 * a, NULL, b->n - a, b->out, NULL);
}

static scan_status agree(const bench *b) { return scan_dist_agree(b->comm, SCAN_OK, NULL); }

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

/* ---- the model --------------------------------------------------------------------------------------------------- */

typedef struct rates {
    double alone;    /* what the ratio is to: of the share, or of the array */
    double share;    /* of the share */
    double merge;    /* of the share */
    double latency;  /* of the verb on one element a rank */
    double message;  /* from one rank to the next */
    double exchange; /* bytes a second */
} rates;

static double exchange_time(const bench *b, const rates *r, double ranks) {
    if (b->verb != SORT || b->keys.kind == DISTRIBUTION_SORTED || ranks < 2)
        return 0;
    const bool by_network = b->cuda && ranks > HOST_GPUS && b->network < r->exchange;
    return (b->cuda ? 2.0 : 4.0) * (double)b->n * (ranks - 1) / ranks / (by_network ? b->network : r->exchange);
}

static double model(const bench *b, const rates *r, double ranks) {
    const double rounds = ceil(log2(ranks)), totals = 4.0 * (double)b->n / (1 << 20);
    if (ranks < 2)
        return r->share;
    if (b->verb == PREFIX)
        return 1.5 * r->share + r->latency + (ranks - b->info.size) * (r->message + totals * 1.4e-9);
    if (b->verb == COMPACT)
        return r->share + r->latency * rounds / ceil(log2(b->info.size));
    const double x = exchange_time(b, r, ranks), m = ranks > MAX_MERGED_RANKS ? r->share : rounds * r->merge;
    return r->share + fmax(x, m) + fmin(x, m) / STAGES + r->latency * rounds / ceil(log2(b->info.size));
}

static void report(const bench *b, const rates *r, double time, bool predict) {
    const double ranks = b->info.size;
    const char *kind = b->strong ? "strong" : "weak";
    printf("%-12s %-6s %5.0f %11zu %10.3f %10.3f %7.3f %8.0f%% %10.3f  measured\n", b->name, kind, ranks, b->n,
           1e3 * r->alone, 1e3 * time, time / r->alone, 100 * exchange_time(b, r, ranks) / time,
           1e3 * model(b, r, ranks));
    predict = predict && !b->strong && ranks > 1 && b->keys.kind != DISTRIBUTION_SORTED;
    for (double more = 8; predict && more <= 1024; more *= more < 64 ? 8 : 16)
        if (more > ranks)
            printf("%-12s %-6s %5.0f %11zu %10.3f %10s %7.3f %8.0f%% %10.3f  predicted\n", b->name, kind, more, b->n,
                   1e3 * r->alone, "-", model(b, r, more) / r->alone,
                   100 * exchange_time(b, r, more) / model(b, r, more), 1e3 * model(b, r, more));
    fflush(stdout);
}

/* ---- data -------------------------------------------------------------------------------------------------------- */

typedef struct part {
    const bench *b;
    uint32_t *to;
    uint64_t at; /* in the array */
    size_t n;
} part;

static void *fill_part(void *argument) {
    const part *p = argument;
    generator g;
    const scan_type type = p->b->verb == PREFIX ? SCAN_F32 : SCAN_U32;
    if (generator_start(&g, &p->b->keys, type, p->b->all, 1) || !generator_skip(&g, p->at))
        exit(1);
    generator_fill(&g, p->to, p->n);
    return NULL;
}

/* Elements from `at` of the array on, by several threads, chunk by chunk. */
static void fill(const bench *b, uint64_t at, size_t n) {
    enum { THREADS = 8 };
    void *memory;
    check(b, "memory", scan_malloc_host(b->ctx, (size_t)CHUNK * THREADS * 4, &memory));
    for (size_t done = 0; done < n;) {
        part parts[THREADS];
        pthread_t threads[THREADS];
        size_t made = 0, count = 0;
        for (; count < THREADS && done + made < n; count++) {
            const size_t left = n - done - made, some = left < CHUNK ? left : CHUNK;
            parts[count] = (part){b, (uint32_t *)memory + made, at + done + made, some};
            if (pthread_create(&threads[count], NULL, fill_part, &parts[count]))
                die(b, "thread", SCAN_ERR_MEMORY);
            made += some;
        }
        for (size_t t = 0; t < count; t++)
            pthread_join(threads[t], NULL);
        check(b, "upload", scan_upload(b->ctx, (char *)b->in + 4 * done, memory, made * 4));
        check(b, "sync", scan_ctx_sync(b->ctx));
        done += made;
    }
    scan_free_host(b->ctx, memory);
}

/* Whether both ends of this rank's share are in order, and ranks among one another. */
static void check_order(const bench *b) {
    enum { SOME = 1 << 20 };
    static uint32_t ends[2][SOME], all[2 * MAX_RANKS];
    const size_t some = b->n < SOME ? b->n : SOME;
    check(b, "download", scan_download(b->ctx, ends[0], b->out, some * 4));
    check(b, "download", scan_download(b->ctx, ends[1], (char *)b->out + (b->n - some) * 4, some * 4));
    check(b, "sync", scan_ctx_sync(b->ctx));
    const uint32_t own[2] = {ends[0][0], ends[1][some - 1]};
    bool ordered = true;
    for (size_t i = 1; i < some; i++)
        ordered = ordered && ends[0][i - 1] <= ends[0][i] && ends[1][i - 1] <= ends[1][i];
    check(b, "gather", scan_dist_all_gather(b->comm, own, sizeof own, all));
    for (uint32_t i = 1; i < 2 * b->info.size; i++)
        ordered = ordered && all[i - 1] <= all[i];
    if (!ordered) {
        fprintf(stderr, "bench_dist: rank %u: %s: the result is not in order\n", b->info.rank, b->name);
        exit(1);
    }
}

/* ---- one run ----------------------------------------------------------------------------------------------------- */

static void run_verb(bench *b, const char *name, bool predict) {
    const char *spread = strchr(name, ':');
    b->name = name;
    b->verb = !strcmp(name, "prefix") ? PREFIX : !strcmp(name, "compact") ? COMPACT : SORT;
    const char *wrong = distribution_parse(&b->keys, spread ? spread + 1 : "uniform");
    if (wrong || (b->verb == SORT && strncmp(name, "sort", 4) != 0)) {
        fprintf(stderr, "bench_dist: '%s': %s\n", name, wrong ? wrong : "no such verb");
        exit(2);
    }
    rates r = {0};
    if (b->strong) {
        if (b->whole)
            fill(b, 0, b->all);
        r.alone = measure(b, name, alone);
    }
    fill(b, (uint64_t)b->n * b->info.rank, b->n);
    const bool strong = b->strong;
    b->strong = false;
    r.share = measure(b, name, alone);
    b->strong = strong;
    r.alone = strong ? r.alone : r.share;
    if (b->verb == SORT) {
        check(b, "sort", scan_sort(b->ctx, &order, b->in, b->more, NULL, NULL, b->n));
        r.merge = measure(b, "merge", merge);
    }
    if (b->info.size > 1)
        r.exchange = 4.0 * (double)b->n / measure(b, "exchange", exchange);
    if (b->info.size > 1)
        r.message = measure(b, "agree", agree) / ceil(log2(b->info.size));
    b->now = 1;
    r.latency = measure(b, name, together);
    b->now = b->n;
    const double time = measure(b, name, together);
    if (b->verb == SORT)
        check_order(b);
    if (b->info.rank == 0)
        report(b, &r, time, predict);
}

static void open_bench(bench *b) {
    scan_options options = {.struct_size = sizeof options, .threads = 1};
    check(b, "communicator", scan_dist_comm_create(&b->comm, NULL));
    check(b, "info", scan_dist_comm_info(b->comm, &b->info));
    options.backend = b->cuda ? SCAN_BACKEND_CUDA : SCAN_BACKEND_CPU;
    options.device = (int32_t)b->info.local_rank;
    check(b, "context", scan_ctx_create(&b->ctx, &options));
    check(b, "use", scan_dist_comm_use(b->comm, b->ctx));
    options.threads = b->info.size;
    if (b->strong && b->info.rank == 0)
        check(b, "context", scan_ctx_create(&b->whole, &options));
}

int main(int argc, char **argv) {
    bench b = {.info = {.struct_size = sizeof b.info}};
    if (argc < 7) {
        fprintf(stderr, "Usage: bench_dist VERBS N weak|strong cpu|cuda REPEATS NETWORK [predict]\n");
        return 2;
    }
    b.strong = !strcmp(argv[3], "strong");
    b.cuda = !strcmp(argv[4], "cuda");
    b.repeats = (unsigned)atoi(argv[5]);
    b.network = 1e9 * atof(argv[6]);
    const size_t n = (size_t)strtoull(argv[2], NULL, 10);
    if (b.repeats < 1 || b.repeats > MAX_REPEATS || n == 0 || b.network <= 0) {
        fprintf(stderr, "bench_dist: N and NETWORK must be positive, REPEATS 1 to %d\n", MAX_REPEATS);
        return 2;
    }
    open_bench(&b);
    b.n = b.strong ? n / b.info.size : n;
    b.all = b.n * b.info.size;
    const size_t room = b.whole ? b.all : b.n;
    check(&b, "memory", scan_malloc(b.ctx, 4 * room + 4, &b.in));
    check(&b, "memory", scan_malloc(b.ctx, 4 * room + 2 * b.n + 8, &b.out));
    check(&b, "memory", scan_malloc(b.ctx, 4 * b.n + 4, &b.more));
    for (char *name = strtok(argv[1], ","); name; name = strtok(NULL, ","))
        run_verb(&b, name, argc > 7);
    scan_free(b.ctx, b.in);
    scan_free(b.ctx, b.out);
    scan_free(b.ctx, b.more);
    scan_dist_comm_destroy(b.comm);
    scan_ctx_destroy(b.whole);
    scan_ctx_destroy(b.ctx);
    return 0;
}
