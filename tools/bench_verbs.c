/* SPDX-License-Identifier: MIT
 *
 * The bench's own contenders: every verb of the library, and the parallel copy that is the ceiling of all of them.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

/* ---- the ceiling ------------------------------------------------------------------------------------------------- */

typedef struct share {
    char *to;
    const char *from;
    size_t bytes;
} share;

/* Helper threads live until the program ends: starting one takes longer than a small copy. */
static struct {
    pthread_mutex_t mutex;
    pthread_cond_t wake, done;
    unsigned started, pending;
    uint64_t round;
    share shares[64];
} pool = {.mutex = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER, .done = PTHREAD_COND_INITIALIZER};

static void *helper(void *argument) {
    size_t index = (size_t)(uintptr_t)argument;
    uint64_t seen = 0;
    pthread_mutex_lock(&pool.mutex);
    for (;;) {
        while (pool.round == seen)
            pthread_cond_wait(&pool.wake, &pool.mutex);
        seen = pool.round;
        share s = pool.shares[index];
        pthread_mutex_unlock(&pool.mutex);
        if (s.bytes > 0)
            memcpy(s.to, s.from, s.bytes);
        pthread_mutex_lock(&pool.mutex);
        if (--pool.pending == 0)
            pthread_cond_signal(&pool.done);
    }
    return NULL;
}

bool parallel_copy(unsigned threads, void *to, const void *from, size_t bytes) {
    if (threads > 64)
        threads = 64;
    pthread_mutex_lock(&pool.mutex);
    while (pool.started + 1 < threads) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, helper, (void *)(uintptr_t)(pool.started + 1)) != 0) {
            pthread_mutex_unlock(&pool.mutex);
            return false;
        }
        pthread_detach(thread);
        pool.started++;
    }
    size_t each = (bytes / threads + 63) / 64 * 64;
    for (unsigned t = 0; t <= pool.started; t++) {
        size_t begin = t < threads && each * t < bytes ? each * t : bytes;
        size_t end = t + 1 < threads && begin + each < bytes ? begin + each : bytes;
        pool.shares[t] = (share){(char *)to + begin, (const char *)from + begin, t < threads ? end - begin : 0};
    }
    pool.pending = pool.started;
    pool.round++;
    pthread_cond_broadcast(&pool.wake);
    pthread_mutex_unlock(&pool.mutex);
    memcpy(pool.shares[0].to, pool.shares[0].from, pool.shares[0].bytes);
    pthread_mutex_lock(&pool.mutex);
    while (pool.pending > 0)
        pthread_cond_wait(&pool.done, &pool.mutex);
    pthread_mutex_unlock(&pool.mutex);
    return true;
}

static bool run_copy(job *j, contender *c) {
    (void)c;
    return parallel_copy(j->threads, j->out, j->in, j->in_bytes);
}

/* ---- the library ------------------------------------------------------------------------------------------------- */

static scan_status call_prefix(job *j) {
    scan_prefix_desc desc = {
        .struct_size = sizeof desc, .type = j->type, .out_type = j->out_type, .op = j->op, .kind = j->kind};
    return scan_prefix(j->ctx, &desc, j->d_in, j->d_out, j->n);
}

static scan_status call_compact(job *j) {
    scan_term term = {.op = SCAN_TERM_LT, .constant = j->threshold};
    term.constant_type = SCAN_I64;
    if (j->type == SCAN_F32 || j->type == SCAN_F64)
        term.constant_type = SCAN_F64;
    else if (j->type == SCAN_U64)
        term.constant_type = SCAN_U64;
    scan_compact_desc desc = {.struct_size = sizeof desc, .type = j->type, .terms = &term, .term_count = 1};
    scan_compact_out out = {.struct_size = sizeof out, .kept = j->d_out, .count = j->d_count};
    return scan_compact(j->ctx, &desc, j->d_in, &out, j->n);
}

static scan_status call_unique(job *j) {
    scan_unique_desc desc = {.struct_size = sizeof desc, .type = j->type};
    scan_unique_out out = {.struct_size = sizeof out, .kept = j->d_out, .count = j->d_count};
    return scan_unique(j->ctx, &desc, j->d_in, &out, j->n);
}

static scan_status call_sort(job *j) {
    scan_sort_desc desc = {.struct_size = sizeof desc, .type = j->type};
    return scan_sort(j->ctx, &desc, j->d_in, j->d_out, NULL, NULL, j->n);
}

static scan_status call_pairs(job *j) {
    scan_sort_desc desc = {.struct_size = sizeof desc, .type = j->type, .value_bytes = 4};
    return scan_sort(j->ctx, &desc, j->d_in, j->d_out, j->d_values_in, j->d_values_out, j->n);
}

static scan_status call_argsort(job *j) {
    scan_sort_desc desc = {.struct_size = sizeof desc, .type = j->type};
    return scan_argsort(j->ctx, &desc, j->d_in, j->d_out, j->n);
}

static scan_status call_histogram(job *j) {
    scan_histogram_desc desc = {.struct_size = sizeof desc, .type = j->type};
    return scan_histogram(j->ctx, &desc, j->d_in, j->d_out, j->n);
}

static scan_status call_equalize(job *j) {
    scan_equalize_desc desc = {.struct_size = sizeof desc, .type = j->type};
    return scan_equalize(j->ctx, &desc, j->d_in, j->d_out, NULL, j->n);
}

static scan_status call_clahe(job *j) {
    scan_equalize_desc desc = {.struct_size = sizeof desc, .type = j->type};
    return scan_clahe(j->ctx, &desc, j->d_in, j->d_out, j->width, j->height);
}

static scan_status (*const calls[BENCH_VERB_COUNT])(job *) = {
    [BENCH_PREFIX] = call_prefix,       [BENCH_COMPACT] = call_compact,   [BENCH_UNIQUE] = call_unique,
    [BENCH_SORT] = call_sort,           [BENCH_PAIRS] = call_pairs,       [BENCH_ARGSORT] = call_argsort,
    [BENCH_HISTOGRAM] = call_histogram, [BENCH_EQUALIZE] = call_equalize, [BENCH_CLAHE] = call_clahe,
};

static bool run_ours(job *j, contender *c) {
    (void)c;
    static char message[400];
    scan_status status = calls[j->verb](j);
    if (status == SCAN_OK)
        status = scan_ctx_sync(j->ctx);
    if (status == SCAN_OK)
        return true;
    snprintf(message, sizeof message, "%s: %s", scan_status_string(status), scan_ctx_detail(j->ctx));
    j->wrong = message;
    return false;
}

size_t contenders_here(const job *j, contender *list) {
    size_t count = 0;
    if (calls[j->verb] != NULL)
        list[count++] = (contender){.name = "scan", .run = run_ours, .is_ours = true};
    if (j->in != NULL) {
        contender *c = &list[count++];
        *c = (contender){.run = run_copy, .is_copy = true};
        snprintf(c->name, sizeof c->name, "copy, %u thread%s", j->threads, j->threads == 1 ? "" : "s");
    }
    return count;
}
