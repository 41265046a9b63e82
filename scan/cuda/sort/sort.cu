/* SPDX-License-Identifier: MIT
 *
 * Sort and argsort on CUDA: the launches. choice.cu has which. No types here; kernels come from tables.
 */
#include <cstddef>

#include "../cuda.h"
#include "../cooperative/cooperative.h"
#include "../samplesort/samplesort.h"
#include "choice.h"
#include "cluster.h"
#include "split.h"

namespace scan_cuda {

sort_order sort_order_of(const scan_sort_desc *desc) {
    const unsigned width = unsigned(8 * scan_type_size(desc->type));
    const uint64_t all = ~0ull >> (64 - width);
    sort_order order = {};
    order.flip = desc->descending ? all : 0;
    order.nan = desc->nan_first ? 0 : all;
    if (scan_is_signed(desc->type))
        order.flip ^= 1ull << (width - 1);
    if (desc->begin_bit < desc->end_bit) {
        order.mask = all >> (width - desc->end_bit) >> desc->begin_bit << desc->begin_bit;
        order.begin = desc->begin_bit;
    }
    return order;
}

/* ---- the workspace, and kernels made ready ----------------------------------------------------------------------- */

size_t sort_workspace(const scan_ctx *ctx, const scan_sort_desc *desc, size_t n) {
    return choice_bytes(choose_sort(ctx, desc, n, false, true));
}

size_t argsort_workspace(const scan_ctx *ctx, const scan_sort_desc *desc, size_t n) {
    return choice_bytes(choose_sort(ctx, desc, n, true, false));
}

/* Whether the GPU has the shared memory of the survey of many keys. */
static bool counts_wide(const scan_ctx *ctx, const sort_kernels *k) {
    return size_t(k->survey[1].shared_bytes) <= sort_dynamic_room(ctx);
}

/* Of shared memory for the wide sample, or a quarter of it, see wide_size(). */
static uint32_t intervals_words(const scan_ctx *ctx) {
    const uint32_t all = 2 * wide_sample_size;
    return all * sizeof(uint32_t) + sort_common.intervals_static_bytes <= sort_dynamic_room(ctx) ? all : all / 4;
}

/* f(kernel, pass) for the kernels of passes that the GPU can run. */
template <class F> static scan_status each_pass_kernel(const scan_ctx *ctx, const sort_kernels &kernels, F f) {
    for (int size = SMALL_TILES; size <= LARGE_TILES; size++)
        for (const sort_pass_kernel &pass : kernels.pass[size])
            for (const void *kernel : {pass.kernel, pass.several, pass.of_keys, pass.of_codes})
                if (kernel && can_run(ctx, pass, pass_size(size)))
                    SCAN_TRY(f(kernel, pass));
    return SCAN_OK;
}

scan_status sort_open(scan_ctx *ctx) {
    for (const sort_kernels *k : sort_kernels_of_type) {
        if (!k)
            continue;
        if (counts_wide(ctx, k))
            for (const void *kernel : {k->survey[1].kernel, k->survey[1].plan_kernel})
                SCAN_CUDA_TRY(ctx, cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                        k->survey[1].shared_bytes));
        SCAN_TRY(each_pass_kernel(ctx, *k, [&](const void *kernel, const sort_pass_kernel &pass) {
            SCAN_CUDA_TRY(ctx, cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                    cut_of(ctx, pass).shared_bytes));
            return SCAN_OK;
        }));
        for (const sort_local_kernel &local : k->local)
            if (local.kernel)
                SCAN_CUDA_TRY(ctx, cudaFuncSetAttribute(local.kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                        int(sort_dynamic_room(ctx))));
    }
    SCAN_CUDA_TRY(ctx, cudaFuncSetAttribute(sort_common.intervals, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                            int(intervals_words(ctx) * sizeof(uint32_t))));
    context_state *s = state_of(ctx);
    s->sort_large_cluster =
        s->capability < 90 ? 1 : max_cluster_size(ctx, sort_common.large, large_ctas, sort_common.large_threads, 0);
    SCAN_TRY(cluster_sort_open(ctx));
    SCAN_TRY(cooperative_sort_open(ctx));
    return samplesort_open(ctx);
}

scan_status sort_load(scan_ctx *ctx) {
    for (const sort_kernels *k : sort_kernels_of_type) {
        if (!k)
            continue;
        for (const sort_survey_kernel &survey : k->survey) {
            SCAN_TRY(load_kernel(ctx, survey.kernel));
            SCAN_TRY(load_kernel(ctx, survey.plan_kernel));
        }
        SCAN_TRY(load_kernel(ctx, k->pack));
        SCAN_TRY(load_kernel(ctx, k->interval_codes));
        SCAN_TRY(load_kernel(ctx, k->runs));
        SCAN_TRY(load_kernel(ctx, k->narrow_count));
        SCAN_TRY(load_kernel(ctx, k->narrow_fill));
        SCAN_TRY(each_pass_kernel(
            ctx, *k, [&](const void *kernel, const sort_pass_kernel &) { return load_kernel(ctx, kernel); }));
        for (const sort_local_kernel &local : k->local)
            SCAN_TRY(load_kernel(ctx, local.kernel));
    }
    const sort_common_kernels &k = sort_common;
    const void *const kernels[] = {k.finish, k.large, k.intervals, k.fill[0].kernel, k.fill[1].kernel, k.fill_totals};
    for (const void *kernel : kernels)
        SCAN_TRY(load_kernel(ctx, kernel));
    SCAN_TRY(cluster_sort_load(ctx));
    SCAN_TRY(cooperative_sort_load(ctx));
    SCAN_TRY(samplesort_load(ctx));
    return split_load(ctx);
}

/* ---- launches ---------------------------------------------------------------------------------------------------- */

/* CTAs of a grid that takes its work piece by piece, and leaves room for some of another launch. */
static uint64_t persistent(const scan_ctx *ctx, uint64_t work, uint64_t ctas_per_processor, uint64_t others = 0) {
    const uint64_t most = uint64_t(state_of(ctx)->sm_count) * ctas_per_processor;
    return min(work, most > others ? most - others : 1);
}

static scan_status run_fill(scan_ctx *ctx, const sort_choice &c, sort_job job) {
    const auto &fill = sort_common.fill[job.key_bytes - 1];
    uint32_t codes = fill.codes;
    void *counts = job.plan;
    void *total_arguments[] = {&counts, &codes}, *arguments[] = {&job, &counts};
    scan_histogram_desc count = {};
    count.type = job.key_bytes == 1 ? SCAN_U8 : SCAN_U16;
    count.channels = 1;
    count.n_device = job.n_device;
    SCAN_TRY(histogram(ctx, &count, job.keys_in, static_cast<uint64_t *>(counts), job.n));
    const uint64_t cta_warps = sort_common.fill_threads / 32, rows = ceil_div(c.n * job.key_bytes, 32 * sizeof(uint4));
    if (codes > fill_group)
        SCAN_TRY(launch_pdl(ctx, sort_common.fill_totals, ceil_div(fill_groups(codes), cta_warps),
                            sort_common.fill_threads, total_arguments, 0));
    return launch_pdl(ctx, fill.kernel, persistent(ctx, ceil_div(rows, cta_warps), 4), sort_common.fill_threads,
                      arguments, 0);
}

/* Passes that follow each other are one launch, if they can be: those that are not needed then take no time. Sorts of 4
 * to 16 million keys take 1.6 to 1.9 % less, of more 0.9 % (H200, 2026-11-30: tools/bench --device cuda --hunt 50
 * --seed 20261566 --min-n 4200000 --max-n 16000000, --hunt 45 --seed 20261567 --min-n 16000000 --max-n 200000000). A
 * pass is a launch of its own if keys come by portions; and, but for passes that are seldom needed, if there are many
 * 4-byte keys alone, whose kernel for several passes has too few registers (has_registers_to_loop), or many 4-byte
 * floats with values of 4 bytes: each pass of these has two launches, of which one returns at once (pass_kinds_least).
 * Floats of an argsort are always codes, so that one launch is enough. */
static scan_status run_passes(scan_ctx *ctx, const sort_choice &c, const sort_pass_kernel &pass, sort_job job,
                              uint32_t first, uint32_t count) {
    const sort_pass_cut &cut = cut_of(ctx, pass);
    const uint32_t portions = uint32_t(ceil_div(c.n, cut.portion));
    const bool seldom = c.again_follows && first == max_digits,
               kinds = pass.of_codes && c.n >= pass_kinds_least && !(seldom && portions == 1),
               one_launch =
                   portions == 1 && !kinds && (pass.several == pass.kernel || seldom || c.n <= fused_passes_most);
    const uint32_t together = one_launch ? count : 1;
    const void *kernels[] = {together > 1   ? pass.several
                             : !kinds       ? pass.kernel
                             : job.keys_out ? pass.of_keys
                                            : nullptr,
                             kinds ? pass.of_codes : nullptr};
    for (uint32_t which = first; which < first + count; which += together)
        for (uint32_t portion = 0; portion < portions; portion++) {
            const uint64_t left = c.n - portion * cut.portion, tiles = ceil_div(min(left, cut.portion), cut.tile);
            uint32_t passes = together;
            void *arguments[] = {&job, &which, &passes, &portion};
            for (const void *kernel : kernels)
                if (kernel)
                    SCAN_TRY(launch_pdl(ctx, kernel, persistent(ctx, tiles, pass.ctas), pass.threads, arguments,
                                        size_t(cut.shared_bytes)));
        }
    return SCAN_OK;
}

/* By as many whole clusters as the SMs allow. */
static scan_status run_large(scan_ctx *ctx, sort_job job) {
    const context_state *s = state_of(ctx);
    const uint64_t cluster = uint64_t(s->sort_large_cluster), clusters = uint64_t(s->sm_count) / cluster;
    void *arguments[] = {&job};
    return launch_pdl(ctx, sort_common.large, max(clusters, uint64_t(1)) * cluster, sort_common.large_threads,
                      arguments, 0, s->sort_large_cluster);
}

static bool may_try_intervals(const sort_choice &c) { return c.digits >= intervals_digits && c.n >= intervals_least; }

static scan_status run_intervals(scan_ctx *ctx, const sort_choice &c, sort_job job) {
    uint32_t words = intervals_words(ctx);
    void *arguments[] = {&job, &words}, *code_arguments[] = {&job};
    SCAN_TRY(
        launch_pdl(ctx, sort_common.intervals, 1, sort_common.intervals_threads, arguments, words * sizeof(uint32_t)));
    return launch_pdl(ctx, c.kernels->interval_codes,
                      persistent(ctx, ceil_div(c.n, uint64_t(sort_common.interval_codes_threads)), 4),
                      sort_common.interval_codes_threads, code_arguments, 0);
}

/* Argsort by packed codes, and then by whole keys if those were not enough. */
static scan_status run_packed(scan_ctx *ctx, const sort_choice &c, sort_job job) {
    const uint64_t work = ceil_div(c.n, uint64_t(sort_common.pack_threads));
    void *arguments[] = {&job};
    if (may_try_intervals(c))
        SCAN_TRY(run_intervals(ctx, c, job));
    SCAN_TRY(launch_pdl(ctx, c.kernels->pack, persistent(ctx, work, 8), sort_common.pack_threads, arguments, 0));
    SCAN_TRY(run_passes(ctx, c, *c.pass, job, 0, min(c.digits, packed_passes)));
    if (!c.whole_pass)
        return SCAN_OK;
    SCAN_TRY(
        launch_pdl(ctx, c.kernels->runs, persistent(ctx, work, runs_ctas), sort_common.pack_threads, arguments, 0));
    if (job.max_notes)
        SCAN_TRY(run_large(ctx, job));
    SCAN_TRY(run_passes(ctx, c, *c.whole_pass, job, max_digits, c.whole_digits));
    return run_passes(ctx, c, *c.pass, job, upper_passes, c.digits - c.whole_digits);
}

/* Zeroes the state, and returns what has failed: of a launch that shares an epoch with the one before. */
static scan_status reset_state(const scan_ctx *ctx, const scan_state &state, scan_status failed) {
    cudaMemsetAsync(state.ticket, 0, scan_state_bytes(state.words, 0), state_of(ctx)->stream);
    return failed;
}

/* The survey, and the launch that makes the plan, for whose CTAs it leaves room. */
static scan_status run_survey(scan_ctx *ctx, const sort_choice &c, sort_job job, bool second) {
    const auto &survey = c.kernels->survey[job.wide_survey];
    const bool plan_follows = !second && job.plan_ctas > 0;
    uint32_t survey_ctas =
        uint32_t(persistent(ctx, ceil_div(c.n, survey.tile), uint64_t(survey.ctas), plan_follows ? job.plan_ctas : 0));
    void *arguments[] = {&job, &second}, *plan_arguments[] = {&job, &survey_ctas};
    SCAN_TRY(launch_pdl(ctx, survey.kernel, survey_ctas, survey.threads, arguments, size_t(survey.shared_bytes)));
    if (!plan_follows)
        return SCAN_OK;
    const scan_status status =
        launch_pdl(ctx, survey.plan_kernel, job.plan_ctas, survey.threads, plan_arguments, size_t(survey.shared_bytes));
    return status == SCAN_OK ? SCAN_OK : reset_state(ctx, job.state, status);
}

static scan_status run_narrow(scan_ctx *ctx, const sort_choice &c, sort_job job) {
    void *arguments[] = {&job};
    const uint64_t ctas = persistent(ctx, c.n, 4);
    SCAN_TRY(launch_pdl(ctx, c.kernels->narrow_count, ctas, sort_common.narrow_threads, arguments, 0));
    return launch_pdl(ctx, c.kernels->narrow_fill, ctas, sort_common.fill_threads, arguments, 0);
}

/* What follows if the first passes are not enough. */
static scan_status run_again(scan_ctx *ctx, const sort_choice &c, sort_job job, bool in_place) {
    if (c.again_follows) {
        if (job.is_float && !job.value_bytes)
            SCAN_TRY(run_survey(ctx, c, job, true));
        SCAN_TRY(run_passes(ctx, c, *c.pass, job, max_digits, c.digits));
    }
    if (c.sampled)
        return samplesort_run(ctx, job, static_cast<char *>(job.lists), in_place, true);
    return SCAN_OK;
}

/* The number of the pass at which the last launch of passes ends, if that launch also finishes the sort (finish.cuh),
 * or else 0. A sample sort may follow it, which leaves nothing to finish. Of many keys a launch of its own does that,
 * which has more threads. */
static uint32_t finishing_passes(const scan_ctx *ctx, const sort_choice &c) {
    if (c.n >= finish_least || c.n > cut_of(ctx, *c.pass).portion || (c.local_kernel && !c.again_follows))
        return 0;
    return c.whole_pass ? upper_passes + c.digits - c.whole_digits : c.again_follows ? max_digits + c.digits : c.digits;
}

/* Whether a CTA beside the plan's puts a sample in order (gaps.cuh): where the plan may ask for it, and the survey
 * takes as long. */
static bool finds_gaps_ahead(const sort_choice &c, size_t key_bytes) {
    return key_bytes == 8 && c.n >= gaps_ahead_least && c.digits >= gaps_ahead_digits && (c.local_kernel || c.sampled);
}

static scan_status run_radix(scan_ctx *ctx, const sort_choice &c, sort_job job, bool in_place) {
    job.finishing = finishing_passes(ctx, c);
    const bool pass_plans = job.finishing == 1 && !c.packed;
    job.plan_ctas = pass_plans ? 0 : finds_gaps_ahead(c, job.key_bytes) ? 2 : 1;
    void *arguments[] = {&job};
    SCAN_TRY(run_survey(ctx, c, job, false));
    SCAN_TRY(c.packed ? run_packed(ctx, c, job) : run_passes(ctx, c, *c.pass, job, 0, c.digits));
    if (c.narrow_codes)
        SCAN_TRY(run_narrow(ctx, c, job));
    if (c.local_kernel)
        SCAN_TRY(launch_pdl(ctx, c.local_kernel->kernel, persistent(ctx, ceil_div(c.n, c.local.stride), c.local_ctas),
                            c.local_threads, arguments, c.local_shared_bytes));
    if (job.max_notes && !c.packed)
        SCAN_TRY(run_large(ctx, job));
    SCAN_TRY(run_again(ctx, c, job, in_place));
    if (job.finishing || (c.local_kernel && !c.again_follows)) /* which has finished too */
        return SCAN_OK;
    return launch_pdl(ctx, sort_common.finish, persistent(ctx, ceil_div(c.n, uint64_t(sort_common.finish_threads)), 8),
                      sort_common.finish_threads, arguments, 0);
}

/* How many notes of large buckets there may be. A tile of the local stage makes two, as a rule, and with more than this
 * passes over all digits take less time than the clusters (large_passes_each). */
static uint32_t max_notes_of(const sort_choice &c, uint32_t key_bytes) {
    if (c.packed)
        return c.digits > packed_passes ? max_large_notes : 0; /* long runs, pack.cuh */
    if (!c.local_kernel || !c.again_follows ||
        (c.n <= large_keys_most && c.n * (key_bytes + c.value_bytes) < large_least_bytes))
        return 0;
    return uint32_t(min(uint64_t(max_large_notes), 2 * ceil_div(c.n, c.local.stride) * c.digits / large_passes_each));
}

static scan_status run(scan_ctx *ctx, const scan_sort_desc *desc, sort_job job, bool argsort) {
    if (desc->method == SCAN_SORT_QUICK)
        return scan_fail(ctx, SCAN_ERR_ALGORITHM, "method quick exists on the CPU only");
    if (desc->method == SCAN_SORT_SAMPLE && !samplesort_serves(scan_type_size(desc->type)))
        return scan_fail(ctx, SCAN_ERR_ALGORITHM, "method sample sorts keys of 4 and 8 bytes, %s has %zu",
                         scan_type_name(desc->type), scan_type_size(desc->type));
    job.value_bytes = desc->value_bytes;
    const bool in_place = is_in_place(job);
    const sort_choice c = choose_sort(ctx, desc, job.n, argsort, in_place);
    char *state = nullptr, *scratch = nullptr;
    if (c.path > PATH_CLUSTER)
        SCAN_TRY(take_workspace(ctx, c.state_bytes, c.scratch_bytes(), &state, &scratch));
    job.n_device = desc->n_device;
    job.order = sort_order_of(desc);
    job.bits = c.bits;
    job.key_bytes = uint32_t(scan_type_size(desc->type));
    job.is_float = scan_is_float(desc->type);
    job.ties = c.ties;
    job.local = c.local;
    job.again_follows = c.again_follows;
    job.max_notes = max_notes_of(c, job.key_bytes);
    job.sampled = c.sampled;
    job.wide_survey = c.n >= wide_survey_least && counts_wide(ctx, c.kernels);
    job.packed = c.packed;
    job.narrow_counts = reinterpret_cast<unsigned long long *>(scratch);
    job.narrow_codes = c.narrow_codes;
    job.plan = reinterpret_cast<sort_plan *>(scratch + c.counts_bytes);
    char *lists = scratch + c.counts_bytes + c.plan_bytes, *second = lists + c.lists_bytes,
         *first = second + c.second_bytes, *values = first + c.first_bytes;
    job.lists = lists;
    job.lists_zeroed = uint32_t(samplesort_zeroed_bytes());
    job.keys_first = first;
    job.keys_second = second;
    job.values_first = values;
    if (state)
        job.state = make_scan_state(state, size_t(scratch - state), 0);
    bool done = job.n == 0;
    if (!done && c.cooperative)
        SCAN_TRY(cooperative_sort_run(ctx, job, &done));
    if (!done)
        switch (c.path) {
        case PATH_SMALL: SCAN_TRY(small_sort_run(ctx, job, in_place)); break;
        case PATH_CLUSTER: SCAN_TRY(cluster_sort_run(ctx, job)); break;
        case PATH_FILL: SCAN_TRY(run_fill(ctx, c, job)); break;
        case PATH_RADIX: SCAN_TRY(run_radix(ctx, c, job, in_place)); break;
        case PATH_SPLIT: SCAN_TRY(split_sort(ctx, job, values + c.values_bytes)); break;
        case PATH_SAMPLE: SCAN_TRY(samplesort_run(ctx, job, lists, in_place, false)); break;
        }
    static const char *const names[] = {"count", "radix cluster", "radix fill", "radix", "split", "sample"};
    ctx->ran = done && c.cooperative ? "radix cooperative" : names[c.path];
    return SCAN_OK;
}

scan_status sort(scan_ctx *ctx, const scan_sort_desc *desc, const void *keys_in, void *keys_out, const void *values_in,
                 void *values_out, size_t n) {
    sort_job job = {};
    job.keys_in = keys_in;
    job.keys_out = keys_out;
    job.values_in = values_in;
    job.values_out = values_out;
    job.n = n;
    return run(ctx, desc, job, false);
}

scan_status argsort(scan_ctx *ctx, const scan_sort_desc *desc, const void *keys, void *indices, size_t n) {
    sort_job job = {};
    job.keys_in = keys;
    job.values_out = indices;
    job.n = n;
    return run(ctx, desc, job, true);
}

} /* namespace scan_cuda */
