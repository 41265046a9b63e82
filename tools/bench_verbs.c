/* SPDX-License-Identifier: MIT
 *
 * The library's verbs as contenders, by the algorithm that AUTO chooses or by every one there is, and the plain copy,
 * which is the ceiling.
 */
#include <string.h>

#include "bench.h"

/* ---- the ceiling ------------------------------------------------------------------------------------------------- */

/* Each thread copies its share of the host's arrays, by memcpy. */
static void copy_share(void *argument, unsigned index, unsigned count) {
    const job *j = argument;
    size_t each = (j->in_bytes / count + 63) / 64 * 64;
    size_t begin = each * index < j->in_bytes ? each * index : j->in_bytes;
    size_t end = index + 1 < count && begin + each < j->in_bytes ? begin + each : j->in_bytes;
    memcpy((char *)j->out + begin, (const char *)j->in + begin, end - begin);
}

static bool run_copy(job *j, contender *c) {
    (void)c;
    if (j->device != NULL)
        return j->device->copy(j->d_out, j->d_in, j->in_bytes);
    return in_parallel(j->threads, copy_share, j) > 0;
}

/* Reads every element and writes it in the width of the results: the bytes of a prefix with a wider accumulator, and
 * nothing of its work. Arrays may be unaligned. */
#define WIDEN(name, from, to)                                                                                          \
    static void name(void *out, const void *in, size_t n) {                                                            \
        typedef from from_loose __attribute__((aligned(1), may_alias));                                                \
        typedef to to_loose __attribute__((aligned(1), may_alias));                                                    \
        for (size_t i = 0; i < n; i++)                                                                                 \
            ((to_loose *)out)[i] = ((const from_loose *)in)[i];                                                        \
    }
WIDEN(widen_1_to_4, uint8_t, uint32_t)
WIDEN(widen_1_to_8, uint8_t, uint64_t)
WIDEN(widen_2_to_8, uint16_t, uint64_t)
WIDEN(widen_4_to_8, uint32_t, uint64_t)

static bool run_widening(job *j, contender *c) {
    const size_t size = scan_type_size(j->type), out_size = scan_type_size(j->out_type);
    (void)c;
    (size == 4       ? widen_4_to_8
     : size == 2     ? widen_2_to_8
     : out_size == 8 ? widen_1_to_8
                     : widen_1_to_4)(j->out, j->in, j->n);
    return true;
}

/* ---- the library ------------------------------------------------------------------------------------------------- */

static scan_status call_prefix(job *j, const bench_algorithm *a) {
    scan_prefix_desc desc = {.struct_size = sizeof desc,
                             .type = j->type,
                             .out_type = j->out_type,
                             .op = j->op,
                             .kind = j->kind,
                             .reverse = j->reverse,
                             .algorithm = a->prefix};
    return scan_prefix(j->ctx, &desc, j->d_in, j->d_out, j->n);
}

static scan_status call_compact(job *j, const bench_algorithm *a) {
    scan_term term = {.op = SCAN_TERM_LT, .constant = j->threshold};
    const scan_type constants[] = {[SCAN_UNSIGNED] = SCAN_U64, [SCAN_SIGNED] = SCAN_I64, [SCAN_FLOAT] = SCAN_F64};
    term.constant_type = constants[scan_type_class(j->type)];
    scan_compact_desc desc = {
        .struct_size = sizeof desc, .type = j->type, .index_type = SCAN_U32, .grid = a->prefix.grid};
    scan_compact_out out = {.struct_size = sizeof out, .count = j->d_count};
    if (j->n > UINT32_MAX)
        desc.index_type = SCAN_TYPE_NONE;
    if (j->verb == BENCH_FLAGGED)
        desc.flags = j->d_values_in;
    else
        desc.terms = &term, desc.term_count = 1;
    if (j->verb == BENCH_INDICES)
        out.indices = j->d_out;
    else
        out.kept = j->d_out;
    if (j->verb == BENCH_PARTITION)
        out.rejected = j->d_values_out;
    return scan_compact(j->ctx, &desc, j->d_in, &out, j->n);
}

static scan_status call_unique(job *j, const bench_algorithm *a) {
    scan_unique_desc desc = {.struct_size = sizeof desc, .type = j->type, .grid = a->prefix.grid};
    scan_unique_out out = {.struct_size = sizeof out, .kept = j->d_out, .count = j->d_count};
    if (j->verb == BENCH_LENGTHS)
        out.run_lengths = j->d_values_out;
    return scan_unique(j->ctx, &desc, j->d_in, &out, j->n);
}

static scan_sort_desc sort_desc(const job *j, const bench_algorithm *a) {
    return (scan_sort_desc){.struct_size = sizeof(scan_sort_desc),
                            .type = j->type,
                            .descending = j->descending,
                            .nan_first = j->nan_first,
                            .begin_bit = j->begin_bit,
                            .end_bit = j->end_bit,
                            .value_bytes = j->verb == BENCH_PAIRS ? j->value_bytes : 0,
                            .method = a->sort};
}

/* Keys alone, or with values. */
static scan_status call_sort(job *j, const bench_algorithm *a) {
    scan_sort_desc desc = sort_desc(j, a);
    bool values = j->verb == BENCH_PAIRS;
    return scan_sort(j->ctx, &desc, j->d_in, j->d_out, values ? j->d_values_in : NULL, values ? j->d_values_out : NULL,
                     j->n);
}

static scan_status call_argsort(job *j, const bench_algorithm *a) {
    scan_sort_desc desc = sort_desc(j, a);
    return scan_argsort(j->ctx, &desc, j->d_in, j->d_out, j->n);
}

static scan_status call_merge(job *j, const bench_algorithm *a) {
    (void)a;
    scan_merge_desc desc = {
        .struct_size = sizeof desc, .type = j->type, .descending = j->descending, .nan_first = j->nan_first};
    const size_t half = j->n / 2;
    return scan_merge(j->ctx, &desc, j->d_in, NULL, half, (char *)j->d_in + half * scan_type_size(j->type), NULL,
                      j->n - half, j->d_out, NULL);
}

static scan_status call_histogram(job *j, const bench_algorithm *a) {
    (void)a;
    scan_histogram_desc desc = {.struct_size = sizeof desc, .type = j->type};
    return scan_histogram(j->ctx, &desc, j->d_in, j->d_out, j->n);
}

static scan_status call_equalize(job *j, const bench_algorithm *a) {
    (void)a;
    scan_equalize_desc desc = {.struct_size = sizeof desc, .type = j->type};
    return scan_equalize(j->ctx, &desc, j->d_in, j->d_out, NULL, j->n);
}

static scan_status call_clahe(job *j, const bench_algorithm *a) {
    (void)a;
    scan_equalize_desc desc = {.struct_size = sizeof desc, .type = j->type};
    return scan_clahe(j->ctx, &desc, j->d_in, j->d_out, j->width, j->height);
}

static scan_status (*const calls[BENCH_VERB_COUNT])(job *, const bench_algorithm *) = {
    [BENCH_PREFIX] = call_prefix,   [BENCH_COMPACT] = call_compact,     [BENCH_FLAGGED] = call_compact,
    [BENCH_INDICES] = call_compact, [BENCH_PARTITION] = call_compact,   [BENCH_UNIQUE] = call_unique,
    [BENCH_LENGTHS] = call_unique,  [BENCH_SORT] = call_sort,           [BENCH_PAIRS] = call_sort,
    [BENCH_ARGSORT] = call_argsort, [BENCH_HISTOGRAM] = call_histogram, [BENCH_EQUALIZE] = call_equalize,
    [BENCH_CLAHE] = call_clahe,     [BENCH_MERGE] = call_merge,
};

/* Does not wait for the device; clock_stops() does. */
static bool run_ours(job *j, contender *c) {
    static char message[400];
    j->status = calls[j->verb](j, &c->algorithm);
    if (j->status == SCAN_OK)
        return true;
    snprintf(message, sizeof message, "%s: %s", scan_status_string(j->status), scan_ctx_detail(j->ctx));
    j->wrong = message;
    return false;
}

/* Puts the input where run_in_place() sorts it. */
static bool copy_input(job *j, contender *c) {
    (void)c;
    if (j->device != NULL)
        return j->device->copy(j->d_out, j->d_in, j->in_bytes) &&
               j->device->copy(j->d_values_out, j->d_values_in, j->values_in_bytes);
    return scan_upload(j->ctx, j->d_out, j->in, j->in_bytes) == SCAN_OK &&
           scan_upload(j->ctx, j->d_values_out, j->values_in, j->values_in_bytes) == SCAN_OK;
}

static bool run_in_place(job *j, contender *c) {
    void *in = j->d_in, *values_in = j->d_values_in;
    j->d_in = j->d_out, j->d_values_in = j->d_values_out;
    bool right = run_ours(j, c);
    j->d_in = in, j->d_values_in = values_in;
    return right;
}

/* ---- which algorithms -------------------------------------------------------------------------------------------- */

static void add_ours(contender *list, size_t *count, bench_algorithm algorithm, bool optional) {
    contender *c = &list[(*count)++];
    *c = (contender){.run = run_ours, .is_ours = true, .is_optional = optional, .algorithm = algorithm};
    const char *block = algorithm.prefix.block != SCAN_BLOCK_AUTO ? scan_block_name(algorithm.prefix.block) : "";
    if (algorithm.prefix.grid != SCAN_GRID_AUTO || algorithm.prefix.block != SCAN_BLOCK_AUTO)
        snprintf(c->name, sizeof c->name, "scan %s%s%s", scan_grid_name(algorithm.prefix.grid),
                 block[0] != '\0' ? "/" : "", block);
    else if (algorithm.sort != SCAN_SORT_AUTO)
        snprintf(c->name, sizeof c->name, "scan %s", scan_sort_method_name(algorithm.sort));
    else
        snprintf(c->name, sizeof c->name, "scan");
}

/* Adds every pair of grid and block, and every method. One that cannot serve the job fails when called: it is left out.
 */
static void add_every(const job *j, contender *list, size_t *count) {
    bench_algorithm a = {0};
    if (j->verb == BENCH_PREFIX)
        for (int g = SCAN_GRID_AUTO + 1; scan_grid_name((scan_grid)g) != NULL; g++)
            for (int b = SCAN_BLOCK_AUTO; scan_block_name((scan_block)b) != NULL; b++) {
                a.prefix = (scan_algorithm){(scan_grid)g, (scan_block)b};
                if ((b == SCAN_BLOCK_AUTO) == (g == SCAN_GRID_BLOCKED)) /* the CPU's grid has no blocks */
                    add_ours(list, count, a, true);
            }
    if (calls[j->verb] == call_compact || calls[j->verb] == call_unique)
        for (int g = SCAN_GRID_AUTO + 1; scan_grid_name((scan_grid)g) != NULL; g++) {
            a.prefix.grid = (scan_grid)g;
            add_ours(list, count, a, true);
        }
    if (j->verb == BENCH_SORT || j->verb == BENCH_PAIRS || j->verb == BENCH_ARGSORT)
        for (int m = SCAN_SORT_AUTO + 1; scan_sort_method_name((scan_sort_method)m) != NULL; m++) {
            a.sort = (scan_sort_method)m;
            add_ours(list, count, a, true);
        }
}

/* A hunt sorts in place too, on the CPU where peers do, and wherever results are only checked. */
static void add_in_place(const job *j, contender *list, size_t *count) {
    contender *c = &list[(*count)++];
    *c = (contender){.name = "scan, in place", .prepare = copy_input, .run = run_in_place};
    c->is_ours = c->in_place = true;
    c->algorithm = j->algorithm;
}

size_t contenders_here(const job *j, bool timed, contender *list) {
    size_t count = 0;
    if (calls[j->verb] != NULL) {
        bench_algorithm one = j->algorithm;
        one.every = false;
        add_ours(list, &count, one, false);
        if (j->algorithm.every)
            add_every(j, list, &count);
        if (j->keys != NULL && j->verb != BENCH_ARGSORT && (!j->on_device || !timed))
            add_in_place(j, list, &count);
    }
    if (j->d_in != NULL && !is_made_on_device(j)) { /* a hunt on a device compares with peers alone */
        contender *c = &list[count++];
        *c = (contender){.run = run_copy, .is_copy = true};
        if (j->device != NULL)
            snprintf(c->name, sizeof c->name, "memcpy, device to device");
        else
            snprintf(c->name, sizeof c->name, "copy, %u thread%s", j->threads, j->threads == 1 ? "" : "s");
    }
    if (j->verb == BENCH_PREFIX && !j->on_device && j->out_bytes > j->in_bytes)
        list[count++] = (contender){.name = "read and write, 1 thread", .run = run_widening, .unchecked = true};
    return count;
}
