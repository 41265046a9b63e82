/* SPDX-License-Identifier: MIT
 *
 * Sort and argsort on CUDA: which method, the workspace, the launches. No types here; kernels come from tables.
 */
#include <cmath>
#include <cstddef>
#include <cstdio>

#include "../cuda.h"
#include "../samplesort/samplesort.h"
#include "job.cuh"
#include "cluster.h"
#include "kernels.h"
#include "split.h"

namespace scan_cuda {

/* ---- what is asked ----------------------------------------------------------------------------------------------- */

static const sort_kernels *const kernels_of_type[] = {
    nullptr, &sort_u8, &sort_u8, &sort_u16, &sort_u16, &sort_u32, &sort_u32, &sort_u64, &sort_u64, &sort_f32, &sort_f64,
};
static_assert(sizeof kernels_of_type / sizeof kernels_of_type[0] == SCAN_TYPE_COUNT + 1, "a type has no kernels");

static sort_order order_of(const scan_sort_desc *desc) {
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

/* ---- choice, and the workspace ----------------------------------------------------------------------------------- */

constexpr uint32_t local_least_stride = 256;
/* Of shared memory beside the dynamic ones, in the survey and the local stage, at most. */
constexpr size_t static_bytes = 4096;
constexpr size_t cta_bytes = 1024; /* of a CTA's shared memory are the system's, and of what a CTA may ask for none */

/* For each of so many CTAs of an SM. */
static size_t dynamic_room(const scan_ctx *ctx, size_t ctas = 1) {
    return (state_of(ctx)->shared_bytes + cta_bytes) / ctas - cta_bytes - static_bytes;
}

static const sort_pass_cut &cut_of(const scan_ctx *ctx, const sort_pass_kernel &pass) {
    return pass.cut[is_roomy(state_of(ctx)->capability)];
}

/* Those that need no workspace come first. */
enum sort_path { PATH_SMALL, PATH_CLUSTER, PATH_FILL, PATH_RADIX, PATH_SPLIT, PATH_SAMPLE };

struct sort_choice {
    sort_path path;
    const sort_kernels *kernels; /* of the survey */
    const sort_pass_kernel *pass;
    sort_pass_cut cut;
    const sort_local_kernel *local_kernel;
    sort_local local;
    int local_threads;
    uint32_t local_ctas; /* of an SM */
    size_t local_shared_bytes;
    bool packed, ties, again_follows, sampled;
    uint64_t n;
    uint32_t bits, digits, value_bytes;
    uint32_t narrow_codes;
    size_t counts_bytes, plan_bytes, lists_bytes, first_bytes, second_bytes, values_bytes; /* scratch, in this order */
    size_t sections_bytes; /* split: ones before a section */
    size_t state_bytes;

    size_t scratch_bytes() const {
        return counts_bytes + plan_bytes + lists_bytes + first_bytes + second_bytes + values_bytes + sections_bytes;
    }
};

/* How many of n uniform 4-byte keys a tile may have if labels are to fit: 2^p keys have places of p bits and lie within
 * 2^(32 - log2 n + p) codes. */
static uint32_t labels_most(uint64_t n) { return 1u << ilogb(double(n)) / 2; }

/* The local stage by CTAs of so many threads, `ctas` to an SM, if `top` digits of uniform keys make buckets for it. A
 * tile is `stride` positions and the bucket at their end. Strides are as long as there is room for, and so that all
 * CTAs get as many. */
static bool fit_local(const scan_ctx *ctx, sort_choice *c, int top, uint32_t threads, uint32_t ctas) {
    const sort_local_kernel &kernel = c->kernels->local[c->value_bytes / 4];
    const size_t place = size_t(kernel.element_bytes) + (c->ties ? sizeof(uint16_t) : 0);
    const size_t room = dynamic_room(ctx, ctas), counters = local_counter_bytes(threads) + local_spare * place;
    if (!kernel.kernel || room <= counters)
        return false;
    const size_t places = (room - counters) / place / (32 * local_batch) * (32 * local_batch);
    if (places < local_batch * threads)
        return false;
    uint32_t capacity = uint32_t(places < kernel.rows * threads ? places : kernel.rows * threads);
    if (c->local.labels && top > 1)
        capacity = min(capacity, labels_most(c->n));
    const double uniform = ldexp(double(c->n), -top * digit_bits), largest = uniform + 6 * sqrt(uniform) + 8;
    if (largest > capacity * 0.75)
        return false;
    const double wanted = fmin(fmax(1.25 * uniform, capacity / 3), capacity * 0.75);
    const uint32_t most = (capacity - uint32_t(fmax(wanted, largest))) / 32 * 32;
    const uint64_t fair = ceil_div(c->n, uint64_t(ctas) * uint64_t(state_of(ctx)->sm_count));
    const uint64_t each = ceil_div(fair, ceil_div(fair, most) + (fair == 0));
    c->local.stride = max(ceil_div(uint32_t(each), 32) * 32, min(most, local_least_stride));
    c->local.reach = capacity - c->local.stride;
    c->local_threads = int(threads);
    c->local_ctas = ctas;
    c->local_shared_bytes = capacity * place + counters;
    c->local_kernel = &kernel;
    c->again_follows = top > 1;
    return true;
}

/* Small CTAs, four to an SM; or larger ones, for buckets of which a smaller one would hold little more than one, or
 * where two to an SM are enough for all buckets of one digit. */
static void choose_local(const scan_ctx *ctx, sort_choice *c, bool argsort) {
    const uint32_t threads = uint32_t(sort_common.local_threads);
    const int saving = int(c->digits) - int(c->local.cost),
              most = argsort ? min(saving, c->local.labels ? 2 : 1) : saving;
    for (int top = c->n <= one_digit_most ? 1 : 2; top <= most; top++)
        for (uint32_t times = top == 1 && radix <= 2 * state_of(ctx)->sm_count ? 2 : 1; times <= 4; times *= 2)
            if (fit_local(ctx, c, top, times * threads, 4 / times) ||
                (times == 2 && fit_local(ctx, c, top, times * threads, 1)))
                return;
}

static void choose_radix(sort_choice *c) {
    const uint64_t tiles = ceil_div(c->n < c->cut.portion ? c->n : c->cut.portion, c->cut.tile);
    c->path = PATH_RADIX;
    c->plan_bytes = align_up(sizeof(sort_plan));
    c->state_bytes = scan_state_bytes(0, 0) + tiles * c->cut.state_bytes;
}

/* Whether keys are counted if few bits vary, and then up to how many codes. */
static void choose_narrow(sort_choice *c) {
    if (c->n < narrow_least || !c->kernels->narrow_count || c->ties)
        return;
    c->narrow_codes = 1u << min(narrow_most_bits, uint32_t(ilogb(double(c->n / narrow_copies))));
    c->counts_bytes = align_up(fill_counts_bytes(c->narrow_codes));
}

static size_t choice_bytes(const sort_choice &c) {
    return c.path <= PATH_CLUSTER ? 0 : workspace_bytes(c.state_bytes, c.scratch_bytes());
}

/* A sample sort that may follow, in the buffers that there are, if scan.h's bound leaves room for its lists. */
static void choose_sampled(const scan_ctx *ctx, sort_choice *c, bool argsort) {
    const size_t data = c->n * (sizeof(uint64_t) + c->value_bytes), spare = size_t(4) << 20,
                 most = (argsort ? data / 10 * 16 : data + data / 10) + spare;
    c->lists_bytes = samplesort_room_of(ctx, sizeof(uint64_t), c->value_bytes, c->n, argsort).lists;
    c->sampled = choice_bytes(*c) <= most;
    if (!c->sampled)
        c->lists_bytes = 0;
}

static sort_choice choose(const scan_ctx *ctx, const scan_sort_desc *desc, size_t n, bool argsort, bool in_place) {
    const size_t key_bytes = scan_type_size(desc->type);
    sort_choice c = {};
    c.n = n;
    c.kernels = kernels_of_type[desc->type];
    c.bits = desc->end_bit - desc->begin_bit;
    c.digits = uint32_t(ceil_div(c.bits, digit_bits));
    c.value_bytes = desc->value_bytes;
    c.ties = desc->value_bytes || scan_is_float(desc->type) || c.bits < 8 * key_bytes;
    c.local.labels =
        n >= labels_least && key_bytes == 4 && desc->value_bytes && c.bits == 32 && !scan_is_float(desc->type);
    c.local.cost = c.value_bytes == 0 || c.local.labels ? 2 : 3;
    if (desc->method == SCAN_SORT_AUTO && small_sort_serves(ctx, key_bytes, n, in_place)) {
        c.path = PATH_SMALL;
        return c;
    }
    if (desc->method == SCAN_SORT_AUTO && cluster_sort_serves(ctx, key_bytes, n)) {
        c.path = PATH_CLUSTER;
        return c;
    }
    if (desc->method == SCAN_SORT_SAMPLE && samplesort_serves(key_bytes)) {
        const samplesort_room room = samplesort_room_of(ctx, key_bytes, desc->value_bytes, n, argsort);
        c.path = PATH_SAMPLE;
        c.lists_bytes = room.lists;
        c.first_bytes = room.keys_first;
        c.second_bytes = room.keys_second;
        c.values_bytes = room.values;
        return c;
    }
    const bool fills = key_bytes == 1 || (key_bytes == 2 && n >= fill_words_least);
    if (desc->method != SCAN_SORT_SPLIT && fills && !argsort && !desc->value_bytes && c.bits == 8 * key_bytes) {
        c.path = PATH_FILL;
        c.plan_bytes = align_up(fill_counts_bytes(sort_common.fill[key_bytes - 1].codes));
        return c;
    }
    c.packed = argsort && key_bytes == 8 && n > plain_argsort_most && desc->method != SCAN_SORT_SPLIT;
    c.pass = &(c.packed ? &sort_u32 : c.kernels)->pass[desc->value_bytes / 4];
    c.cut = cut_of(ctx, *c.pass);
    c.values_bytes = align_up(n * desc->value_bytes);
    if (!argsort)
        c.first_bytes = align_up(n * key_bytes);
    else if (desc->method != SCAN_SORT_SPLIT)
        c.first_bytes = align_up(n * (c.packed ? sizeof(uint32_t) : key_bytes));
    /* Keys go from the input to the first buffer and then to the second, codes begin in the first; the last pass writes
     * neither. */
    if (argsort && c.digits > (c.packed ? 1 : 2))
        c.second_bytes = c.first_bytes;
    if (desc->method != SCAN_SORT_SPLIT) {
        choose_radix(&c);
        if (!argsort)
            choose_narrow(&c);
        if (!c.packed)
            choose_local(ctx, &c, argsort);
        if (desc->method == SCAN_SORT_AUTO && key_bytes == 8 &&
            n >= (argsort ? sampled_argsort_least : sampled_least) && c.digits >= sampled_digits && c.packed == argsort)
            choose_sampled(ctx, &c, argsort);
        return c;
    }
    c.path = PATH_SPLIT;
    c.second_bytes = 0;
    c.sections_bytes = split_sections_bytes(n);
    c.state_bytes = split_state_bytes(ctx, n);
    return c;
}

size_t sort_workspace(const scan_ctx *ctx, const scan_sort_desc *desc, size_t n) {
    return choice_bytes(choose(ctx, desc, n, false, true));
}

size_t argsort_workspace(const scan_ctx *ctx, const scan_sort_desc *desc, size_t n) {
    return choice_bytes(choose(ctx, desc, n, true, false));
}

/* Whether the GPU has the shared memory of the survey of many keys. */
static bool counts_wide(const scan_ctx *ctx, const sort_kernels *k) {
    return size_t(k->survey[1].shared_bytes) <= dynamic_room(ctx);
}

scan_status sort_open(scan_ctx *ctx) {
    for (const sort_kernels *k : kernels_of_type) {
        if (!k)
            continue;
        if (counts_wide(ctx, k))
            SCAN_CUDA_TRY(ctx, cudaFuncSetAttribute(k->survey[1].kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                    k->survey[1].shared_bytes));
        for (const sort_pass_kernel &pass : k->pass)
            SCAN_CUDA_TRY(ctx, cudaFuncSetAttribute(pass.kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                    cut_of(ctx, pass).shared_bytes));
        for (const sort_local_kernel &local : k->local)
            if (local.kernel)
                SCAN_CUDA_TRY(ctx, cudaFuncSetAttribute(local.kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                        int(dynamic_room(ctx))));
    }
    SCAN_TRY(cluster_sort_open(ctx));
    return samplesort_open(ctx);
}

scan_status sort_load(scan_ctx *ctx) {
    for (const sort_kernels *k : kernels_of_type) {
        if (!k)
            continue;
        SCAN_TRY(load_kernel(ctx, k->survey[0].kernel));
        SCAN_TRY(load_kernel(ctx, k->survey[1].kernel));
        SCAN_TRY(load_kernel(ctx, k->pack));
        SCAN_TRY(load_kernel(ctx, k->runs));
        SCAN_TRY(load_kernel(ctx, k->narrow_count));
        SCAN_TRY(load_kernel(ctx, k->narrow_fill));
        for (const sort_pass_kernel &pass : k->pass)
            SCAN_TRY(load_kernel(ctx, pass.kernel));
        for (const sort_local_kernel &local : k->local)
            SCAN_TRY(load_kernel(ctx, local.kernel));
    }
    const sort_common_kernels &k = sort_common;
    const void *const kernels[] = {k.finish, k.fill[0].kernel, k.fill[1].kernel, k.fill_totals};
    for (const void *kernel : kernels)
        SCAN_TRY(load_kernel(ctx, kernel));
    SCAN_TRY(cluster_sort_load(ctx));
    SCAN_TRY(samplesort_load(ctx));
    return split_load(ctx);
}

/* ---- launches ---------------------------------------------------------------------------------------------------- */

/* CTAs of a grid that takes its work piece by piece. */
static uint64_t persistent(const scan_ctx *ctx, uint64_t work, uint64_t ctas_per_processor) {
    const uint64_t most = uint64_t(state_of(ctx)->sm_count) * ctas_per_processor;
    return work < most ? work : most;
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

/* Passes of the plan: of few keys in one launch, of more a launch each, of many a launch for each portion of them. */
static scan_status run_passes(scan_ctx *ctx, const sort_choice &c, sort_job job, uint32_t first, uint32_t count) {
    const uint32_t portions = uint32_t(ceil_div(c.n, c.cut.portion)), together = c.n <= fused_passes_most ? count : 1;
    for (uint32_t which = first; which < first + count; which += together)
        for (uint32_t portion = 0; portion < portions; portion++) {
            const uint64_t left = c.n - portion * c.cut.portion;
            const uint64_t tiles = ceil_div(left < c.cut.portion ? left : c.cut.portion, c.cut.tile);
            uint32_t passes = together;
            void *arguments[] = {&job, &which, &passes, &portion};
            SCAN_TRY(launch_pdl(ctx, c.pass->kernel, persistent(ctx, tiles, 2), c.pass->threads, arguments,
                                size_t(c.cut.shared_bytes)));
        }
    return SCAN_OK;
}

/* Argsort by packed codes: a round, and all rounds if that was not enough. */
static scan_status run_rounds(scan_ctx *ctx, const sort_choice &c, sort_job job) {
    const uint64_t ctas = persistent(ctx, ceil_div(c.n, uint64_t(sort_common.pack_threads)), 8);
    const uint32_t starts[] = {0, max_digits, max_digits + packed_passes};
    void *arguments[] = {&job};
    for (int k = 0; k < (c.digits > packed_passes && !c.sampled ? 3 : 1); k++) {
        uint32_t which = starts[k];
        void *pack_arguments[] = {&job, &which};
        SCAN_TRY(launch_pdl(ctx, c.kernels->pack, ctas, sort_common.pack_threads, pack_arguments, 0));
        SCAN_TRY(run_passes(ctx, c, job, which, k < 2 ? min(c.digits, packed_passes) : c.digits - packed_passes));
        if (k == 0 && c.digits > packed_passes)
            SCAN_TRY(launch_pdl(ctx, c.kernels->runs, ctas, sort_common.pack_threads, arguments, 0));
    }
    return SCAN_OK;
}

static scan_status run_survey(scan_ctx *ctx, const sort_choice &c, sort_job job, bool second) {
    void *arguments[] = {&job, &second};
    const auto &survey = c.kernels->survey[c.n >= wide_survey_least && counts_wide(ctx, c.kernels)];
    return launch_pdl(ctx, survey.kernel, persistent(ctx, ceil_div(c.n, survey.tile), uint64_t(survey.ctas)),
                      survey.threads, arguments, size_t(survey.shared_bytes));
}

static scan_status run_narrow(scan_ctx *ctx, const sort_choice &c, sort_job job) {
    void *arguments[] = {&job};
    const uint64_t ctas = persistent(ctx, c.n, 4);
    SCAN_TRY(launch_pdl(ctx, c.kernels->narrow_count, ctas, sort_common.narrow_threads, arguments, 0));
    return launch_pdl(ctx, c.kernels->narrow_fill, ctas, sort_common.fill_threads, arguments, 0);
}

/* What follows if the first passes are not enough. */
static scan_status run_again(scan_ctx *ctx, const sort_choice &c, sort_job job, bool in_place) {
    if (c.sampled)
        return samplesort_run(ctx, job, reinterpret_cast<char *>(job.plan) + c.plan_bytes, in_place, true);
    if (!c.again_follows)
        return SCAN_OK;
    if (job.is_float && !job.value_bytes)
        SCAN_TRY(run_survey(ctx, c, job, true));
    return run_passes(ctx, c, job, max_digits, c.digits);
}

/* Where launches of passes end that can do what is left after them: the last launches of a sort of few keys. A launch
 * for that alone has more threads, for many keys. */
static uint32_t finishing_passes(const sort_choice &c) {
    if (c.n >= wide_survey_least || c.n > c.cut.portion || c.sampled || (c.local_kernel && !c.again_follows))
        return 0;
    return c.again_follows || (c.packed && c.digits > packed_passes) ? max_digits + c.digits : c.digits;
}

static scan_status run_radix(scan_ctx *ctx, const sort_choice &c, sort_job job, bool in_place) {
    job.finishing = finishing_passes(c);
    void *arguments[] = {&job};
    SCAN_TRY(run_survey(ctx, c, job, false));
    SCAN_TRY(c.packed ? run_rounds(ctx, c, job) : run_passes(ctx, c, job, 0, c.digits));
    if (c.narrow_codes)
        SCAN_TRY(run_narrow(ctx, c, job));
    if (c.local_kernel)
        SCAN_TRY(launch_pdl(ctx, c.local_kernel->kernel, persistent(ctx, ceil_div(c.n, c.local.stride), c.local_ctas),
                            c.local_threads, arguments, c.local_shared_bytes));
    SCAN_TRY(run_again(ctx, c, job, in_place));
    if (job.finishing || (c.local_kernel && !c.again_follows)) /* which has finished too */
        return SCAN_OK;
    return launch_pdl(ctx, sort_common.finish, persistent(ctx, ceil_div(c.n, uint64_t(sort_common.finish_threads)), 8),
                      sort_common.finish_threads, arguments, 0);
}

static scan_status run(scan_ctx *ctx, const scan_sort_desc *desc, sort_job job, bool argsort) {
    if (desc->method == SCAN_SORT_QUICK)
        return scan_fail(ctx, SCAN_ERR_ALGORITHM, "method quick exists on the CPU only");
    if (desc->method == SCAN_SORT_SAMPLE && !samplesort_serves(scan_type_size(desc->type)))
        return scan_fail(ctx, SCAN_ERR_ALGORITHM, "method sample sorts keys of 4 and 8 bytes, %s has %zu",
                         scan_type_name(desc->type), scan_type_size(desc->type));
    const bool in_place = job.keys_in == job.keys_out || (desc->value_bytes && job.values_in == job.values_out);
    const sort_choice c = choose(ctx, desc, job.n, argsort, in_place);
    char *state = nullptr, *scratch = nullptr;
    if (c.path > PATH_CLUSTER)
        SCAN_TRY(take_workspace(ctx, c.state_bytes, c.scratch_bytes(), &state, &scratch));
    job.n_device = desc->n_device;
    job.order = order_of(desc);
    job.bits = c.bits;
    job.key_bytes = uint32_t(scan_type_size(desc->type));
    job.value_bytes = desc->value_bytes;
    job.is_float = scan_is_float(desc->type);
    job.ties = c.ties;
    job.local = c.local;
    job.again_follows = c.again_follows;
    job.sampled = c.sampled;
    job.packed = c.packed;
    job.narrow_counts = reinterpret_cast<unsigned long long *>(scratch);
    job.narrow_codes = c.narrow_codes;
    job.plan = reinterpret_cast<sort_plan *>(scratch + c.counts_bytes);
    char *lists = scratch + c.counts_bytes + c.plan_bytes, *first = lists + c.lists_bytes,
         *second = first + c.first_bytes, *values = second + c.second_bytes;
    job.keys_first = first;
    job.keys_second = second;
    job.values_first = values;
    if (state)
        job.state = make_scan_state(state, size_t(scratch - state), 0);
    if (job.n > 0)
        switch (c.path) {
        case PATH_SMALL: SCAN_TRY(small_sort_run(ctx, job, in_place)); break;
        case PATH_CLUSTER: SCAN_TRY(cluster_sort_run(ctx, job)); break;
        case PATH_FILL: SCAN_TRY(run_fill(ctx, c, job)); break;
        case PATH_RADIX: SCAN_TRY(run_radix(ctx, c, job, in_place)); break;
        case PATH_SPLIT: SCAN_TRY(split_sort(ctx, job, values + c.values_bytes)); break;
        case PATH_SAMPLE: SCAN_TRY(samplesort_run(ctx, job, lists, in_place, false)); break;
        }
    static const char *const names[] = {"count", "radix cluster", "radix fill", "radix", "split", "sample"};
    context_state *s = state_of(ctx);
    snprintf(s->ran, sizeof s->ran, "%s", names[c.path]);
    ctx->ran = s->ran;
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
