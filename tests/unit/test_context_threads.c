/* SPDX-License-Identifier: MIT
 *
 * One context and several threads: one call at a time, the others are refused and disturb nothing.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

#include "support.h"
#include "tests/busy.h"

enum { N = 3000, ROUNDS = 200 };

static const scan_sort_desc sort_u32 = {.struct_size = sizeof sort_u32, .type = SCAN_U32};

static void *free_block(void *arg);

/* The hooks of a context: in the next allocation other threads call. */
typedef struct hooks {
    busy_calls calls;
    bool armed;
    int failed;
    void *block;       /* of scan_malloc: another thread frees it */
    pthread_t freeing; /* that thread */
    atomic_size_t live_bytes;
    size_t live_inside; /* at the end of the hook */
} hooks;

static void *free_block(void *arg) {
    hooks *h = arg;
    scan_free(h->calls.ctx, h->block);
    return NULL;
}

static void *hook_alloc(size_t bytes, void *user, struct CUstream_st *stream) {
    (void)stream;
    hooks *h = user;
    void *memory;
    if (h->armed) {
        h->armed = false;
        h->failed = busy_call_from_a_thread(&h->calls) || pthread_create(&h->freeing, NULL, free_block, h);
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL); /* time to free too early, if it could */
        h->live_inside = atomic_load(&h->live_bytes);
    }
    if (posix_memalign(&memory, 256, bytes))
        return NULL;
    atomic_fetch_add(&h->live_bytes, bytes);
    return memory;
}

static void hook_free(void *memory, size_t bytes, void *user, struct CUstream_st *stream) {
    (void)stream;
    atomic_fetch_sub(&((hooks *)user)->live_bytes, bytes);
    free(memory);
}

/* Two numbers of sorted keys are enough: that they are in order, and their sum. */
static void assert_sorted(const uint32_t *keys, size_t n, uint64_t sum) {
    for (size_t i = 0; i < n; i++) {
        assert_true(i == 0 || keys[i - 1] <= keys[i]);
        sum -= keys[i];
    }
    assert_int_equal(sum, 0);
}

static uint64_t fill(uint32_t *keys, size_t n, uint64_t seed) {
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += keys[i] = (uint32_t)random_u64(&seed);
    return sum;
}

static void calls_are_refused_while_one_runs(void **state) {
    (void)state;
    static _Alignas(256) unsigned char memory[4096], before[sizeof memory];
    uint32_t keys[N], sorted[N];
    const uint64_t sum = fill(keys, N, 1);
    hooks h = {.calls.memory = memory};
    const scan_options options = {.struct_size = sizeof options, .alloc = hook_alloc, .free = hook_free, .user = &h};
    scan_ctx *ctx;
    memset(memory, 7, sizeof memory);
    memcpy(before, memory, sizeof memory);
    assert_int_equal(scan_ctx_create(&ctx, &options), SCAN_OK);
    h.calls.ctx = ctx;
    assert_int_equal(scan_malloc(ctx, 1000, &h.block), SCAN_OK);
    const size_t live = atomic_load(&h.live_bytes);
    h.armed = true;
    assert_int_equal(scan_sort(ctx, &sort_u32, keys, sorted, NULL, NULL, N), SCAN_OK); /* its workspace is allocated */
    assert_int_equal(h.failed, 0);
    assert_int_equal(pthread_join(h.freeing, NULL), 0);
    busy_assert_refused(&h.calls);
    assert_memory_equal(memory, before, sizeof memory);
    assert_sorted(sorted, N, sum);
    assert_int_equal(h.live_inside, live); /* the block was freed after the sort, but it was */
    assert_string_equal(scan_ctx_detail(ctx), "");
    assert_string_not_equal(scan_ctx_ran(ctx), "");
    busy_make_calls(&h.calls); /* the same calls one after another are fine, and so does BUSY mean what it says */
    for (int i = 0; i < BUSY_CALLS; i++)
        assert_int_equal(h.calls.status[i], SCAN_OK);
    scan_free(ctx, h.calls.allocated);
    scan_free_host(ctx, h.calls.allocated_host);
    scan_ctx_destroy(ctx);
    assert_int_equal(atomic_load(&h.live_bytes), 0);
}

/* A call that is new in scan.h must be among the calls of busy.h. */
static void the_calls_are_all(void **state) {
    (void)state;
    FILE *header = fopen(TEST_DATA_DIR "/../scan/scan.h", "r");
    assert_non_null(header);
    char line[256];
    int calls = 0;
    while (fgets(line, sizeof line, header))
        calls += strncmp(line, "SCAN_API scan_status ", 21) == 0 && strstr(line, "(scan_ctx *ctx") != NULL;
    fclose(header);
    assert_int_equal(calls, BUSY_CALLS);
}

typedef struct thread_job {
    scan_ctx *ctx;
    uint64_t seed;
    uint32_t keys[N], sorted[N];
    int done, busy, wrong;
} thread_job;

/* Sorts until ROUNDS of the sorts were served. What is refused must have written nothing. */
static void *sort_often(void *arg) {
    thread_job *t = arg;
    const uint64_t sum = fill(t->keys, N, t->seed);
    while (t->done < ROUNDS) {
        t->sorted[0] = 1, t->sorted[N - 1] = 0; /* not in order */
        scan_status status = scan_sort(t->ctx, &sort_u32, t->keys, t->sorted, NULL, NULL, N);
        uint64_t rest = sum;
        bool in_order = true;
        for (size_t i = 0; i < N; i++) {
            in_order &= i == 0 || t->sorted[i - 1] <= t->sorted[i];
            rest -= t->sorted[i];
        }
        t->done += status == SCAN_OK;
        t->busy += status == SCAN_ERR_BUSY;
        t->wrong += status == SCAN_OK ? !in_order || rest : status != SCAN_ERR_BUSY || in_order;
    }
    return NULL;
}

static void threads_on_one_context(void **state) {
    (void)state;
    static thread_job jobs[2];
    pthread_t threads[2];
    scan_ctx *ctx = context_with_threads(2);
    for (int i = 0; i < 2; i++) {
        jobs[i] = (thread_job){.ctx = ctx, .seed = (uint64_t)i};
        assert_int_equal(pthread_create(&threads[i], NULL, sort_often, &jobs[i]), 0);
    }
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(jobs[i].wrong, 0);
        assert_int_equal(jobs[i].done, ROUNDS);
    }
    print_message("%d and %d calls were refused\n", jobs[0].busy, jobs[1].busy);
    scan_ctx_destroy(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_are_refused_while_one_runs),
        cmocka_unit_test(the_calls_are_all),
        cmocka_unit_test(threads_on_one_context),
    };
    return cmocka_run_group_tests_name("context_threads", tests, NULL, NULL);
}
