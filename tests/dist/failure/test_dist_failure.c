/* SPDX-License-Identifier: MIT
 *
 * test_dist_failure kill|leave|abort SEED [cuda]: ranks make one call after another until one of them, chosen by the
 * seed, at a moment chosen by the seed, is killed, ends without a word, or calls scan_dist_abort. Every other rank R
 * then writes what it heard to the file rank-R: "RANK: STATUS CAUSE: WORDS, soon|late". cuda: on a device each.
 */
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <scan/scan_dist.h>

#include "tests/random.h"

enum { N = 300000 };

static void *kill_later(void *microseconds) {
    usleep(*(useconds_t *)microseconds);
    raise(SIGKILL);
    return NULL;
}

/* One of the calls, on shares of any lengths. */
static scan_status call(scan_dist_comm *comm, unsigned which, char *in, char *out, size_t n) {
    const scan_prefix_desc sums = {.struct_size = sizeof sums, .type = SCAN_F32};
    const scan_sort_desc sort = {.struct_size = sizeof sort, .type = SCAN_U32};
    const scan_unique_desc unique = {.struct_size = sizeof unique, .type = SCAN_U32};
    const scan_unique_out kept = {.struct_size = sizeof kept, .kept = out};
    scan_dist_place even;
    scan_status status = scan_dist_share(comm, n, NULL, &even);
    if (status != SCAN_OK)
        return status;
    switch (which % 3) {
    case 0: return scan_dist_prefix(comm, &sums, in, out, n);
    case 1: return scan_dist_sort(comm, &sort, in, out, NULL, NULL, n, (size_t)even.count);
    default: return scan_dist_unique(comm, &unique, in, &kept, n, NULL);
    }
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Context memory that is all zero; NULL: there is none. */
static void *zeros(scan_ctx *ctx, size_t bytes) {
    void *memory, *host = calloc(1, bytes);
    const bool made = host && scan_malloc(ctx, bytes, &memory) == SCAN_OK &&
                      scan_upload(ctx, memory, host, bytes) == SCAN_OK && scan_ctx_sync(ctx) == SCAN_OK;
    free(host);
    return made ? memory : NULL;
}

/* A launcher ends the others when one ends: waits until all but the one that failed have written their files. */
static void wait_for_files(uint32_t size) {
    uint32_t count = 0;
    for (const double begin = now(); count < size - 1 && now() - begin < 30; usleep(10000)) {
        count = 0;
        for (uint32_t r = 0; r < size; r++) {
            char name[32];
            snprintf(name, sizeof name, "rank-%u", r);
            count += access(name, F_OK) == 0;
        }
    }
}

static int run(const char *how, uint64_t seed, scan_dist_comm *comm, scan_ctx *ctx, const scan_dist_info *info) {
    const uint32_t bad = (uint32_t)random_below(&seed, info->size);
    useconds_t moment = (useconds_t)random_below(&seed, 200000);
    const unsigned calls = (unsigned)random_below(&seed, 30);
    char *in = zeros(ctx, N * 4), *out = zeros(ctx, N * 4);
    const bool mine = info->rank == bad;
    pthread_t killer;
    const double begin = now();
    double last = begin;
    scan_status status = scan_dist_comm_use(comm, ctx); /* may be where a slow rank hears of the end of a fast one */
    if (!in || !out || (mine && !strcmp(how, "kill") && pthread_create(&killer, NULL, kill_later, &moment)))
        return 1;
    for (unsigned i = 0; status == SCAN_OK && now() - begin < 60; i++) {
        last = now();
        if (mine && i == calls && !strcmp(how, "leave"))
            _exit(3);
        if (mine && i == calls && !strcmp(how, "abort")) {
            scan_dist_abort(comm, SCAN_ERR_MEMORY, "no room for more");
            wait_for_files(info->size); /* its end must not be what the others hear of */
            return 0;
        }
        status = call(comm, i, in, out, i % 2 ? N / (info->rank + 1) : N / (info->size - info->rank));
    }
    uint32_t rank = 0;
    const scan_status cause = scan_dist_cause(comm, &rank);
    char name[32], hidden[40];
    snprintf(name, sizeof name, "rank-%u", info->rank);
    snprintf(hidden, sizeof hidden, ".%s", name);
    FILE *file = fopen(hidden, "w"); /* a launcher may lose what is printed when another rank has ended */
    if (!file)
        return 1;
    fprintf(file, "%u: %d %d: %s, %s\n", rank, (int)status, (int)cause, scan_dist_detail(comm),
            now() - last < 8 ? "soon" : "late");
    if (fclose(file) != 0 || rename(hidden, name) != 0)
        return 1;
    wait_for_files(info->size);
    return 0;
}

int main(int argc, char **argv) {
    scan_dist_comm *comm;
    scan_ctx *ctx;
    scan_options options = {.struct_size = sizeof options, .threads = 1};
    scan_dist_info info = {.struct_size = sizeof info};
    if (argc < 3 || scan_dist_comm_create(&comm, NULL) != SCAN_OK || scan_dist_comm_info(comm, &info) != SCAN_OK)
        return 2;
    if (argc > 3) {
        options.backend = SCAN_BACKEND_CUDA;
        options.device = (int32_t)info.local_rank;
    }
    if (scan_ctx_create(&ctx, &options) != SCAN_OK)
        return 2;
    const int code = run(argv[1], strtoull(argv[2], NULL, 10), comm, ctx, &info);
    scan_dist_comm_destroy(comm);
    _exit(code); /* MPI is not finalized: a handler at exit would say so */
}
