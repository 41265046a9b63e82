/* SPDX-License-Identifier: MIT
 *
 * Which way a sort goes: small sorts by their kernels alone, keys of one and two bytes by counts, and else the radix
 * sort, with the buffers, the local stage and the counts of narrow keys that it may need on the way.
 */
#include <cmath>

#include "../cooperative/cooperative.h"
#include "../samplesort/samplesort.h"
#include "choice.h"
#include "cluster.h"
#include "split.h"

namespace scan_cuda {

/* As long as the declaration says: a type that has no kernels is a compile error. */
const sort_kernels *const sort_kernels_of_type[] = {
    nullptr, &sort_u8, &sort_u8, &sort_u16, &sort_u16, &sort_u32, &sort_u32, &sort_u64, &sort_u64, &sort_f32, &sort_f64,
};

constexpr uint32_t local_least_stride = 256;
/* Of shared memory beside the dynamic ones, in the survey, the plan's kernel and the local stage, at most. */
constexpr size_t static_bytes = 4096;
constexpr size_t cta_bytes = 1024; /* of a CTA's shared memory are the system's, and of what a CTA may ask for none */

size_t sort_dynamic_room(const scan_ctx *ctx, size_t ctas) {
    return (state_of(ctx)->shared_bytes + cta_bytes) / ctas - cta_bytes - static_bytes;
}

const sort_pass_cut &cut_of(const scan_ctx *ctx, const sort_pass_kernel &pass) {
    return pass.cut[is_roomy(state_of(ctx)->capability)];
}

/* How many of n uniform 4-byte keys a tile may have if labels are to fit: 2^p keys have places of p bits and lie within
 * 2^(32 - log2 n + p) codes. */
static uint32_t labels_most(uint64_t n) { return 1u << ilogb(double(n)) / 2; }

/* The local stage by CTAs of so many threads, `ctas` to an SM, if `top` digits of uniform keys make buckets for it. A
 * tile is `stride` positions and the bucket at their end. Strides are as long as there is room for, and so that all
 * CTAs get as many. */
static bool fit_local(const scan_ctx *ctx, sort_choice *c, int top, uint32_t threads, uint32_t ctas) {
    const sort_local_kernel &kernel = c->kernels->local[c->value_bytes / 4];
    const size_t place = size_t(kernel.element_bytes) + (c->ties ? sizeof(uint16_t) : 0);
    const size_t room = sort_dynamic_room(ctx, ctas), counters = local_counter_bytes(threads) + local_spare * place;
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

bool can_run(const scan_ctx *ctx, const sort_pass_kernel &pass, pass_size size) {
    const context_state *s = state_of(ctx);
    return pass.kernel && size_t(cut_of(ctx, pass).all_shared_bytes) <= s->shared_bytes &&
           (size != LARGE_TILES || takes_large_tiles(s->capability));
}

/* Of the SM that has the most tiles. */
static double most_keys_of_an_sm(const scan_ctx *ctx, const sort_pass_kernel &pass, uint64_t n) {
    const uint64_t tile = cut_of(ctx, pass).tile;
    return double(ceil_div(ceil_div(n, tile), uint64_t(state_of(ctx)->sm_count)) * tile);
}

/* A pass takes as long as the SM that has the most tiles, so they are small where that one has fewer keys then. Passes
 * are 1.2 times as fast where each SM has one: 1.1 to 1.6 of narrow keys (12 sets of 655,000 to 1,400,000, H200,
 * 2026-11-27: tools/bench --device cuda --hunt 4000 --seed 5501 --verb sort --type u8,i8,u16,i16 --min-n 655000 --max-n
 * 1400000); sorts of 0.7 to 1, 1.45 to 2 and 2.9 to 3 million keys of 4 bytes, and pairs, by all digits 1.04 to 1.15,
 * by one digit and the local stage 1.01 to 1.1, and 2.3 to 2.6 million u16 1.1 to 1.17 (2026-11-30: --verb sort, --verb
 * pairs --type u32,f32,u16 --distribution uniform,few:30000,clusters:1000). Large ones as soon as each SM has several:
 * see pass_shape. */
static const sort_pass_kernel &choose_pass(const scan_ctx *ctx, const sort_kernels &kernels, uint32_t value_bytes,
                                           uint64_t n) {
    const uint64_t sm_count = uint64_t(state_of(ctx)->sm_count);
    const sort_pass_kernel &small = kernels.pass[SMALL_TILES][value_bytes / 4],
                           &medium = kernels.pass[MEDIUM_TILES][value_bytes / 4],
                           &large = kernels.pass[LARGE_TILES][value_bytes / 4];
    if (small.kernel && most_keys_of_an_sm(ctx, small, n) < 0.85 * most_keys_of_an_sm(ctx, medium, n))
        return small;
    if (can_run(ctx, large, LARGE_TILES) && n >= large_tiles_each * sm_count * cut_of(ctx, large).tile)
        return large;
    return medium;
}

static void choose_radix(const scan_ctx *ctx, sort_choice *c) {
    c->path = PATH_RADIX;
    c->plan_bytes = align_up(sizeof(sort_plan));
    for (const sort_pass_kernel *pass : {c->pass, c->whole_pass}) {
        if (!pass)
            continue;
        const sort_pass_cut &cut = cut_of(ctx, *pass);
        const uint64_t tiles = ceil_div(min(c->n, cut.portion), cut.tile);
        c->state_bytes = max(c->state_bytes, scan_state_bytes(0, 0) + tiles * cut.state_bytes);
    }
}

/* Whether keys are counted if few bits vary, and then up to how many codes. */
static void choose_narrow(sort_choice *c) {
    if (c->n < narrow_least || !c->kernels->narrow_count || c->ties)
        return;
    c->narrow_codes = 1u << min(narrow_most_bits, uint32_t(ilogb(double(c->n / narrow_copies))));
    c->counts_bytes = align_up(fill_counts_bytes(c->narrow_codes));
}

size_t choice_bytes(const sort_choice &c) {
    return c.path <= PATH_CLUSTER ? 0 : workspace_bytes(c.state_bytes, c.scratch_bytes());
}

/* Whether a sample sort may take less time than passes. Keys of 4 bytes gain from it with values only. */
static bool samples_may_pay(const sort_choice &c, size_t key_bytes, bool argsort) {
    if (key_bytes == 8)
        return c.packed == argsort && c.digits >= sampled_digits && c.n >= sampled_least;
    return key_bytes == 4 && c.value_bytes && !argsort && c.digits >= sampled_pairs_digits &&
           c.n >= (c.value_bytes == 8 ? sampled_wide_pairs_least : sampled_pairs_least);
}

/* A sample sort that may follow, in the buffers that there are, if scan.h's bound leaves room for its lists. After
 * packed codes the sample sort does not use the second buffer, so the lists lie there; only the part of them that the
 * survey zeroes has room of its own. */
static void choose_sampled(const scan_ctx *ctx, sort_choice *c, size_t key_bytes, bool argsort) {
    const size_t data = c->n * (key_bytes + c->value_bytes), spare = size_t(4) << 20,
                 most = (argsort ? data / 10 * 16 : data + data / 10) + spare;
    c->lists_bytes = samplesort_room_of(ctx, key_bytes, c->value_bytes, c->n, argsort).lists;
    if (c->whole_pass && c->lists_bytes <= c->second_bytes)
        c->lists_bytes = samplesort_zeroed_bytes();
    c->sampled = choice_bytes(*c) <= most;
    if (!c->sampled)
        c->lists_bytes = 0;
}

sort_choice choose_sort(const scan_ctx *ctx, const scan_sort_desc *desc, size_t n, bool argsort, bool in_place) {
    const size_t key_bytes = scan_type_size(desc->type);
    sort_choice c = {};
    c.n = n;
    c.kernels = sort_kernels_of_type[desc->type];
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
    if (desc->method == SCAN_SORT_AUTO && cluster_sort_serves(ctx, c.bits, n)) {
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
    c.cooperative = desc->method == SCAN_SORT_AUTO &&
                    cooperative_sort_serves(ctx, uint32_t(key_bytes), desc->value_bytes, c.bits, n);
    c.packed = argsort && key_bytes == 8 && c.digits > max_unpacked_digits && n > plain_argsort_most &&
               desc->method != SCAN_SORT_SPLIT && !c.cooperative;
    c.pass = &choose_pass(ctx, c.packed ? sort_u32 : *c.kernels, desc->value_bytes, n);
    if (c.packed && c.digits > packed_passes) {
        c.whole_pass = &choose_pass(ctx, *c.kernels, desc->value_bytes, n);
        c.whole_digits = ceil_div(32 - desc->begin_bit, digit_bits);
    }
    c.values_bytes = align_up(n * desc->value_bytes);
    if (!argsort)
        c.first_bytes = align_up(n * key_bytes);
    else if (desc->method != SCAN_SORT_SPLIT)
        c.first_bytes = align_up(n * (c.packed && !c.whole_pass ? sizeof(uint32_t) : key_bytes));
    /* Keys go from the input to the first buffer and then to the second, codes begin in the first; the last pass writes
     * neither. After two passes over whole keys their upper 48 bits are left. */
    if (argsort && c.digits > (c.packed ? 1 : 2))
        c.second_bytes = c.whole_pass ? align_up(lower_16_at(n) + n * sizeof(uint16_t)) : c.first_bytes;
    if (desc->method != SCAN_SORT_SPLIT) {
        choose_radix(ctx, &c);
        if (c.cooperative) {
            c.plan_bytes = max(c.plan_bytes, cooperative_sort_plan_bytes(ctx));
            c.state_bytes = max(c.state_bytes, cooperative_sort_state_bytes());
        }
        if (!argsort)
            choose_narrow(&c);
        if (!c.packed)
            choose_local(ctx, &c, argsort);
        if (desc->method == SCAN_SORT_AUTO && samples_may_pay(c, key_bytes, argsort))
            choose_sampled(ctx, &c, key_bytes, argsort);
        return c;
    }
    c.path = PATH_SPLIT;
    c.second_bytes = 0;
    c.sections_bytes = split_sections_bytes(n);
    c.state_bytes = split_state_bytes(ctx, n);
    return c;
}

} /* namespace scan_cuda */
