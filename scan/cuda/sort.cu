/* SPDX-License-Identifier: MIT
 *
 * Sort and argsort on CUDA: which method, the workspace, the launches. No types here; kernels come from tables.
 */
#include <cstddef>
#include <cstdio>

#include "cuda.h"
#include "sort/job.cuh"
#include "sort_cluster.h"
#include "sort_kernels.h"
#include "sort_split.h"

namespace scan_cuda {

/* ---- what is asked ----------------------------------------------------------------------------------------------- */

static const sort_kernels *const kernels_of_type[] = {
    nullptr, &sort_u8, &sort_u8, &sort_u16, &sort_u16, &sort_u32, &sort_u32, &sort_u64, &sort_u64, &sort_f32, &sort_f64,
};
static_assert(sizeof kernels_of_type / sizeof kernels_of_type[0] == SCAN_TYPE_COUNT + 1, "a type has no kernels");

static bool is_float(scan_type type) { return type == SCAN_F32 || type == SCAN_F64; }
static bool is_signed(scan_type type) {
    return type == SCAN_I8 || type == SCAN_I16 || type == SCAN_I32 || type == SCAN_I64;
}

static sort_order order_of(const scan_sort_desc *desc) {
    const unsigned width = unsigned(8 * scan_type_size(desc->type));
    const uint64_t all = ~0ull >> (64 - width);
    sort_order order = {};
    order.flip = desc->descending ? all : 0;
    order.nan = desc->nan_first ? 0 : all;
    if (is_signed(desc->type))
        order.flip ^= 1ull << (width - 1);
    if (desc->begin_bit < desc->end_bit) {
        order.mask = all >> (width - desc->end_bit) >> desc->begin_bit << desc->begin_bit;
        order.begin = desc->begin_bit;
    }
    return order;
}

/* ---- choice, and the workspace ----------------------------------------------------------------------------------- */

static size_t rounded(size_t bytes) { return (bytes + 255) / 256 * 256; }
static uint64_t pieces(uint64_t n, uint64_t size) { return n / size + (n % size != 0); }

/* Keys of 8 bytes alone, from which on the launches of a repair and of passes that are hardly ever needed cost less
 * than the passes they save. */
#ifdef SCAN_EMULATED
constexpr uint64_t repair_least = 0;
#else
constexpr uint64_t repair_least = 1u << 22;
#endif

/* Those that need no workspace come first. */
enum sort_path { PATH_SMALL, PATH_CLUSTER, PATH_FILL, PATH_RADIX, PATH_SPLIT };

struct sort_choice {
    sort_path path;
    const sort_kernels *kernels; /* of the survey */
    const sort_pass_kernel *pass;
    bool packed;
    uint64_t n;
    uint32_t bits, digits;
    size_t plan_bytes, first_bytes, second_bytes, values_bytes; /* scratch, in this order */
    size_t sections_bytes;                                      /* split: ones before a section */
    size_t state_bytes;

    size_t scratch_bytes() const { return plan_bytes + first_bytes + second_bytes + values_bytes + sections_bytes; }
};

static void choose_radix(sort_choice *c) {
    const uint64_t tiles = pieces(c->n < c->pass->portion ? c->n : c->pass->portion, c->pass->tile);
    c->path = PATH_RADIX;
    c->plan_bytes = rounded(sizeof(sort_plan));
    c->state_bytes = 64 + tiles * (c->bits < digit_bits ? 1u << c->bits : radix) * sizeof(uint64_t);
}

static sort_choice choose(const scan_ctx *ctx, const scan_sort_desc *desc, size_t n, bool argsort) {
    const size_t key_bytes = scan_type_size(desc->type);
    sort_choice c = {};
    c.n = n;
    c.kernels = kernels_of_type[desc->type];
    c.bits = desc->end_bit - desc->begin_bit;
    c.digits = uint32_t(pieces(c.bits, digit_bits));
    if (desc->method == SCAN_SORT_AUTO && cluster_sort_serves(ctx, key_bytes, n)) {
        c.path = PATH_CLUSTER;
        return c;
    }
    if (desc->method != SCAN_SORT_SPLIT && n <= sort_common.small_most[key_bytes == 8]) {
        c.path = PATH_SMALL;
        return c;
    }
    if (desc->method != SCAN_SORT_SPLIT && key_bytes <= 2 && !argsort && !desc->value_bytes &&
        c.bits == 8 * key_bytes) {
        c.path = PATH_FILL;
        c.plan_bytes = rounded((sort_common.fill[key_bytes - 1].codes + 1) * sizeof(unsigned long long));
        return c;
    }
    c.packed = argsort && key_bytes == 8 && desc->method != SCAN_SORT_SPLIT;
    c.pass = &(c.packed ? &sort_u32 : c.kernels)->pass[desc->value_bytes / 4];
    c.values_bytes = rounded(n * desc->value_bytes);
    if (!argsort)
        c.first_bytes = rounded(n * key_bytes);
    else if (desc->method != SCAN_SORT_SPLIT)
        c.first_bytes = rounded(n * (c.packed ? sizeof(uint32_t) : key_bytes));
    /* Keys go from the input to the first buffer and then to the second, codes begin in the first; the last pass writes
     * neither. */
    if (argsort && c.digits > (c.packed ? 1 : 2))
        c.second_bytes = c.first_bytes;
    if (desc->method != SCAN_SORT_SPLIT) {
        choose_radix(&c);
        return c;
    }
    c.path = PATH_SPLIT;
    c.second_bytes = 0;
    c.sections_bytes = split_sections_bytes(n);
    c.state_bytes = split_state_bytes(ctx, n);
    return c;
}

static size_t choice_bytes(const sort_choice &c) {
    return c.path <= PATH_CLUSTER ? 0 : workspace_bytes(c.state_bytes, c.scratch_bytes());
}

size_t sort_workspace(const scan_ctx *ctx, const scan_sort_desc *desc, size_t n) {
    return choice_bytes(choose(ctx, desc, n, false));
}

size_t argsort_workspace(const scan_ctx *ctx, const scan_sort_desc *desc, size_t n) {
    return choice_bytes(choose(ctx, desc, n, true));
}

scan_status sort_open(scan_ctx *ctx) {
    const auto &fill = sort_common.fill[1];
    SCAN_CUDA_TRY(
        ctx, cudaFuncSetAttribute(fill.count, cudaFuncAttributeMaxDynamicSharedMemorySize, fill.count_shared_bytes));
    return cluster_sort_open(ctx);
}

scan_status sort_load(scan_ctx *ctx) {
    for (const sort_kernels *k : kernels_of_type) {
        if (!k)
            continue;
        SCAN_TRY(load_kernel(ctx, k->survey));
        SCAN_TRY(load_kernel(ctx, k->pack));
        for (const sort_pass_kernel &pass : k->pass)
            SCAN_TRY(load_kernel(ctx, pass.kernel));
    }
    const sort_common_kernels &k = sort_common;
    const void *const kernels[] = {k.finish,       k.repair,        k.small[0],     k.small[1],    k.fill[0].count,
                                   k.fill[0].fill, k.fill[1].count, k.fill[1].fill, k.fill_offsets};
    for (const void *kernel : kernels)
        SCAN_TRY(load_kernel(ctx, kernel));
    SCAN_TRY(cluster_sort_load(ctx));
    return split_load(ctx);
}

/* ---- launches ---------------------------------------------------------------------------------------------------- */

/* CTAs of a grid that takes its work piece by piece. */
static uint64_t persistent(const scan_ctx *ctx, uint64_t work, uint64_t ctas_per_processor) {
    const uint64_t most = uint64_t(state_of(ctx)->processors) * ctas_per_processor;
    return work < most ? work : most;
}

static scan_status run_small(scan_ctx *ctx, sort_job job) {
    void *arguments[] = {&job};
    return launch(ctx, sort_common.small[job.key_bytes == 8], 1, sort_common.small_threads, arguments,
                  size_t(sort_common.small_shared_bytes));
}

static scan_status run_fill(scan_ctx *ctx, const sort_choice &c, sort_job job) {
    const auto &fill = sort_common.fill[job.key_bytes - 1];
    uint32_t codes = fill.codes;
    void *counts = job.plan;
    void *arguments[] = {&job, &counts}, *offset_arguments[] = {&counts, &codes};
    const uint64_t tiles = pieces(c.n, fill.tile);
    SCAN_CUDA_TRY(ctx, cudaMemsetAsync(counts, 0, codes * sizeof(unsigned long long), state_of(ctx)->stream));
    SCAN_TRY(launch(ctx, fill.count, persistent(ctx, tiles, 3) * fill.slices, sort_common.fill_threads, arguments,
                    size_t(fill.count_shared_bytes)));
    SCAN_TRY(launch(ctx, sort_common.fill_offsets, 1, sort_common.fill_offset_threads, offset_arguments, 0));
    return launch(ctx, fill.fill, persistent(ctx, tiles, 4), sort_common.fill_threads, arguments, 0);
}

static scan_status run_pass(scan_ctx *ctx, const sort_choice &c, sort_job job, uint32_t which) {
    for (uint32_t portion = 0; portion < pieces(c.n, c.pass->portion); portion++) {
        const uint64_t left = c.n - portion * c.pass->portion;
        const uint64_t tiles = pieces(left < c.pass->portion ? left : c.pass->portion, c.pass->tile);
        void *arguments[] = {&job, &which, &portion};
        SCAN_TRY(launch(ctx, c.pass->kernel, persistent(ctx, tiles, 2), c.pass->threads, arguments,
                        size_t(c.pass->shared_bytes)));
    }
    return SCAN_OK;
}

static scan_status run_radix(scan_ctx *ctx, const sort_choice &c, sort_job job) {
    SCAN_CUDA_TRY(ctx, cudaMemsetAsync(job.plan, 0, offsetof(sort_plan, passes), state_of(ctx)->stream));
    void *arguments[] = {&job};
    SCAN_TRY(launch(ctx, c.kernels->survey, persistent(ctx, pieces(c.n, c.kernels->survey_tile), 4),
                    c.kernels->survey_threads, arguments, 0));
    for (uint32_t which = 0; which < c.digits; which++) {
        uint32_t round = which / packed_passes;
        void *pack_arguments[] = {&job, &round};
        if (c.packed && which % packed_passes == 0)
            SCAN_TRY(launch(ctx, c.kernels->pack, persistent(ctx, pieces(c.n, uint64_t(sort_common.pack_threads)), 8),
                            sort_common.pack_threads, pack_arguments, 0));
        SCAN_TRY(run_pass(ctx, c, job, which));
    }
    if (job.may_repair) {
        SCAN_TRY(launch(ctx, sort_common.repair, persistent(ctx, pieces(c.n, uint64_t(sort_common.repair_threads)), 8),
                        sort_common.repair_threads, arguments, 0));
        for (uint32_t which = 0; which < c.digits; which++)
            SCAN_TRY(run_pass(ctx, c, job, most_digits + which));
    }
    return launch(ctx, sort_common.finish, persistent(ctx, pieces(c.n, uint64_t(sort_common.finish_threads)), 8),
                  sort_common.finish_threads, arguments, 0);
}

static scan_status run(scan_ctx *ctx, const scan_sort_desc *desc, sort_job job, bool argsort) {
    device_scope scope(state_of(ctx)->device);
    if (desc->method == SCAN_SORT_QUICK)
        return scan_fail(ctx, SCAN_ERR_ALGORITHM, "method quick exists on the CPU only");
    const sort_choice c = choose(ctx, desc, job.n, argsort);
    char *state = nullptr, *scratch = nullptr;
    if (c.path > PATH_CLUSTER)
        SCAN_TRY(take_workspace(ctx, c.state_bytes, c.scratch_bytes(), &state, &scratch));
    job.n_device = desc->n_device;
    job.order = order_of(desc);
    job.bits = c.bits;
    job.key_bytes = uint32_t(scan_type_size(desc->type));
    job.value_bytes = desc->value_bytes;
    job.is_float = is_float(desc->type);
    job.ties = desc->value_bytes || job.is_float || c.bits < 8 * job.key_bytes;
    job.may_repair = c.path == PATH_RADIX && job.key_bytes == 8 && !job.ties && job.n >= repair_least;
    job.packed = c.packed;
    job.plan = reinterpret_cast<sort_plan *>(scratch);
    char *first = scratch + c.plan_bytes, *second = first + c.first_bytes, *values = second + c.second_bytes;
    job.keys_first = first;
    job.keys_second = second;
    job.values_first = values;
    uint64_t *words = reinterpret_cast<uint64_t *>(state);
    if (state)
        job.state = {words, words + 1, words + 8, nullptr, uint64_t(scratch - state) / 8 - 8};
    if (job.n > 0)
        switch (c.path) {
        case PATH_SMALL: SCAN_TRY(run_small(ctx, job)); break;
        case PATH_CLUSTER: SCAN_TRY(cluster_sort_run(ctx, job)); break;
        case PATH_FILL: SCAN_TRY(run_fill(ctx, c, job)); break;
        case PATH_RADIX: SCAN_TRY(run_radix(ctx, c, job)); break;
        case PATH_SPLIT: SCAN_TRY(split_sort(ctx, job, values + c.values_bytes)); break;
        }
    static const char *const names[] = {"radix small", "radix cluster", "radix fill", "radix", "split"};
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
