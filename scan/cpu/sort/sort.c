/* SPDX-License-Identifier: MIT
 *
 * Sort and argsort on the CPU. A few elements are sorted on the stack, what fits a cache by one thread,
 * the rest by all threads (ways.c).
 */
#include "job.h"
#include "team.h"

/* Elements for each thread of a team but the first: more than 80 microseconds of work; to wake a thread takes a few. */
enum { TEAM_N = 1 << 15 };

static scan_status check_method(scan_ctx *ctx, const scan_sort_desc *desc) {
    if (desc->method == SCAN_SORT_SPLIT)
        return scan_fail(ctx, SCAN_ERR_ALGORITHM, "method split exists on CUDA only");
    if (desc->method == SCAN_SORT_SAMPLE)
        return scan_fail(ctx, SCAN_ERR_ALGORITHM, "method sample exists on CUDA only");
    if (desc->method == SCAN_SORT_QUICK && !scan_cpu_sort_can_quick(ctx, desc))
        return scan_fail(ctx, SCAN_ERR_ALGORITHM,
                         "method quick sorts keys of 4 or 8 bytes alone, by all their bits, with AVX2 or AVX-512");
    return SCAN_OK;
}

static void end_team(const scan_sort_job *j) {
    if (!j->team)
        return;
    scan_cpu_sort_end_team(j->team);
    if (j->plan.threads == 1)
        scan_pool_end_call(j->pool);
}

static scan_status run(scan_ctx *ctx, const scan_sort_desc *desc, scan_sort_columns in, scan_sort_columns out, size_t n,
                       bool argsort) {
    SCAN_TRY(check_method(ctx, desc));
    scan_sort_job j = {.plan = scan_cpu_sort_plan(ctx, desc, n, argsort),
                       .order = scan_cpu_sort_order(desc),
                       .pool = scan_cpu(ctx)->pool};
    const scan_sort_plan *p = &j.plan;
    char *workspace;
    SCAN_TRY(scan_workspace(ctx, p->total_bytes, (void **)&workspace));
    scan_cpu_note(ctx, p->local == p->kernels->local ? "radix" : "quick");
    j.n = scan_cpu_count(n, desc->n_device);
    if (j.n == 0)
        return SCAN_OK;
    j.in = in;
    j.out = out;
    j.drop_keys = argsort;
    j.is_float = scan_is_float(desc->type);
    j.whole_keys = p->value_bytes == 0 && desc->begin_bit == 0 && desc->end_bit == 8 * p->key_bytes;
    j.only_codes = j.whole_keys && !j.is_float;
    char *next = workspace + p->stack_bytes + p->heavy_bytes + p->threads * p->area_bytes;
    j.piece_counts = (uint16_t *)(void *)next;
    next += p->pieces_bytes;
    if (n > SCAN_SORT_TINY && n > p->local_n) {
        j.temporary = (scan_sort_columns){next, next + p->keys_bytes};
        next += p->keys_bytes + p->values_bytes;
    }
    if (argsort)
        j.out.keys = next;
    j.stack = (scan_sort_range *)(void *)workspace;
    j.heavy = p->heavy_bytes ? (scan_sort_heavy *)(void *)(workspace + p->stack_bytes) : NULL;
    j.areas = workspace + p->stack_bytes + p->heavy_bytes;
    if (j.n <= SCAN_SORT_TINY) {
        uint64_t spare[SCAN_SORT_TINY], keys[SCAN_SORT_TINY];
        if (argsort) /* keys are scratch, and n may be as small: no workspace then */
            j.out.keys = keys;
        p->local(&(scan_sort_local){
            .order = j.order, .from = in, .to = j.out, .spare = {spare, NULL}, .n = j.n, .drop_keys = argsort});
        return SCAN_OK;
    }
    if (j.n <= p->local_n) /* of many that n, the bound, was planned for */
        j.plan.threads = 1;
    else {
        j.pairs_seem_few = scan_cpu_sort_pairs_seem_few(&j);
        if (p->alone_or_two && (j.pairs_seem_few || scan_cpu_sort_pairs_repeat(&j)))
            j.plan.alone_n = p->local_n;
        else if (p->alone_or_two)
            j.plan.threads = 1;
    }
    scan_sort_team team;
    if (scan_pool_threads(j.pool) > 1 && scan_sort_is_quick(p) && j.n >= TEAM_N) {
        const size_t most = 1 + j.n / TEAM_N;
        const unsigned threads = scan_pool_threads(j.pool);
        if (p->threads == 1)
            scan_cpu_sort_begin_team(&team, j.pool, threads < most ? threads : (unsigned)most,
                                     scan_pool_begin_call(j.pool));
        else
            scan_cpu_sort_begin_team(&team, NULL, p->threads, true);
        j.team = &team;
    }
    if (j.n <= p->local_n) {
        scan_cpu_sort_alone(&j, j.areas);
        end_team(&j);
        return SCAN_OK;
    }
    j.starts = (uint64_t *)(void *)(workspace + scan_sort_round_up((n / p->local_n + 1) * sizeof(scan_sort_range)));
    atomic_init(&j.next_bin, 0);
    atomic_init(&j.busy, p->threads);
    atomic_init(&j.order_flags, SCAN_SORT_ORDERS);
    scan_pool_run(j.pool, p->threads, scan_cpu_sort_task, &j);
    end_team(&j);
    return SCAN_OK;
}

size_t scan_cpu_sort_workspace(const scan_ctx *ctx, const scan_sort_desc *desc, size_t n) {
    return scan_cpu_sort_plan(ctx, desc, n, false).total_bytes;
}

scan_status scan_cpu_sort(scan_ctx *ctx, const scan_sort_desc *desc, const void *keys_in, void *keys_out,
                          const void *values_in, void *values_out, size_t n) {
    scan_sort_columns in = {(void *)keys_in, (void *)values_in}, out = {keys_out, values_out};
    return run(ctx, desc, in, out, n, false);
}

size_t scan_cpu_argsort_workspace(const scan_ctx *ctx, const scan_sort_desc *desc, size_t n) {
    return scan_cpu_sort_plan(ctx, desc, n, true).total_bytes;
}

scan_status scan_cpu_argsort(scan_ctx *ctx, const scan_sort_desc *desc, const void *keys, void *indices, size_t n) {
    return run(ctx, desc, (scan_sort_columns){(void *)keys, NULL}, (scan_sort_columns){NULL, indices}, n, true);
}
