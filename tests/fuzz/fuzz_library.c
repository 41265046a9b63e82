/* SPDX-License-Identifier: MIT
 *
 * Calls of the library with descriptors of any bytes, on the CPU backend: no crash; a status of those that the header
 * names for the backend; nothing is written beside the arrays, or into them by a call that is refused; a refusal has a
 * reason in words. A call that succeeds needs no more workspace than *_workspace says, and with that lent to it writes
 * the same bytes again.
 *
 * The input is read as a list of choices (choices.h); where it ends they are 0. Most are made among what is valid.
 */
#include <string.h>

#include "choices.h"

const char *const fuzz_seeds[] = {
    "prefix \x01\x05\x05\x01\x01\x01 of some words 0123456789",
    "\x01 compact \x05\x05 with terms and columns 0123456789abcdef",
    "\x02 unique \x03\x09 runs aaaaaabbbbbbcccccc",
    "\x03 sort keys and values zyxwvutsrqponmlkjihgfedcba",
    "\x04 argsort \x0a\x0a\x0a 9876543210",
    "\x05 histogram \x02\x03 masks",
    "\x06 equalize \x01\x02\x03\x04 samples and tables",
    "\x07 clahe \x01\x02\x03\x04 tiles",
    "\x08 merge \x05\x05 keys and values abcdefghijklmnopqrstuvwxyz",
    NULL,
};

/* ---- verbs ------------------------------------------------------------------------------------------------------- */

/* A call with all its arguments, which can be made twice. */
typedef struct call {
    size_t n, width, height, b_n;
    void *in, *out, *values_in, *values_out, *b_keys, *b_values;
    union {
        scan_prefix_desc prefix;
        scan_compact_desc compact;
        scan_unique_desc unique;
        scan_sort_desc sort;
        scan_merge_desc merge;
        scan_histogram_desc histogram;
        scan_equalize_desc equalize;
    } desc;
    union {
        scan_compact_out compact;
        scan_unique_out unique;
    } outs;
    scan_status (*run)(scan_ctx *, const struct call *);
    scan_status (*workspace)(const scan_ctx *, const struct call *, size_t *);
} call;

static uint32_t size_of_struct(size_t size) { return rarely() ? pick(0, (uint32_t)size + 8) : (uint32_t)size; }

static scan_status run_prefix(scan_ctx *ctx, const call *c) {
    return scan_prefix(ctx, &c->desc.prefix, c->in, c->out, c->n);
}
static scan_status prefix_workspace(const scan_ctx *ctx, const call *c, size_t *bytes) {
    return scan_prefix_workspace(ctx, &c->desc.prefix, c->n, bytes);
}

static void make_prefix(call *c) {
    scan_prefix_desc *d = &c->desc.prefix;
    *d = (scan_prefix_desc){.struct_size = sizeof *d};
    d->type = pick(1, 10);
    d->out_type = take() < 128 ? 0 : pick(0, 10);
    d->op = pick(0, 6);
    d->kind = pick(0, 1);
    d->reverse = pick(0, 1);
    d->algorithm.grid = take() < 200 ? 0 : pick(0, 5);
    d->algorithm.block = take() < 220 ? 0 : pick(0, 3);
    const size_t out_bytes = bytes_of(c->n, d->out_type ? d->out_type : d->type);
    c->in = input_of(bytes_of(c->n, d->type));
    c->out = output_of(out_bytes, c->in, bytes_of(c->n, d->type));
    d->init = take() < 128 ? NULL : new_array(8, false);
    d->carry_out = take() < 160 ? NULL : new_array(SCAN_CARRY_BYTES, true);
    d->n_device = count_of();
    d->struct_size = size_of_struct(sizeof *d);
    c->run = run_prefix;
    c->workspace = prefix_workspace;
}

static scan_status run_compact(scan_ctx *ctx, const call *c) {
    return scan_compact(ctx, &c->desc.compact, c->in, &c->outs.compact, c->n);
}
static scan_status compact_workspace(const scan_ctx *ctx, const call *c, size_t *bytes) {
    return scan_compact_workspace(ctx, &c->desc.compact, c->n, bytes);
}

static void make_terms(call *c) {
    scan_compact_desc *d = &c->desc.compact;
    d->column_count = take() < 128 ? 0 : take() % 4;
    scan_column *columns = d->column_count ? new_array(d->column_count * sizeof *columns, false) : NULL;
    for (uint32_t k = 0; k < d->column_count; k++) {
        columns[k] = (scan_column){.type = pick(1, 10), .reserved = rarely()};
        columns[k].data = input_of(bytes_of(c->n, columns[k].type));
    }
    d->columns = columns;
    d->term_count = rarely() ? take() : 1 + take() % 6;
    scan_term *terms = new_array(d->term_count * sizeof *terms, false);
    for (uint32_t k = 0; k < d->term_count; k++) {
        const uint32_t op = k < (d->term_count + 1) / 2 ? pick(0, 7) : pick(8, 10);
        terms[k] = (scan_term){.op = op,
                               .column = take() < 40 ? SCAN_COLUMN_INDEX : pick(0, d->column_count),
                               .constant_type = take() % 3 + SCAN_U64 + (take() % 3 == 2),
                               .constant.u = take() < 128 ? take() : take_64()};
    }
    d->terms = terms;
}

static void make_compact(call *c) {
    scan_compact_desc *d = &c->desc.compact;
    scan_compact_out *out = &c->outs.compact;
    *d = (scan_compact_desc){.struct_size = sizeof *d, .type = pick(1, 10)};
    *out = (scan_compact_out){.struct_size = sizeof *out};
    d->index_type = take() < 160 ? 0 : pick(SCAN_U32, SCAN_U64);
    d->invert = pick(0, 1);
    d->index_base = take() < 200 ? 0 : take_64();
    d->grid = take() < 220 ? 0 : pick(0, 5);
    const size_t bytes = bytes_of(c->n, d->type);
    c->in = input_of(bytes);
    if (take() < 90)
        d->flags = input_of(c->n);
    if (!d->flags || rarely())
        make_terms(c);
    out->kept = output_of(bytes, c->in, bytes);
    out->rejected = take() < 128 ? NULL : output_of(bytes, c->in, bytes);
    out->indices = take() < 128 ? NULL : output_of(c->n * 8, c->in, bytes);
    out->count = rarely() ? NULL : new_array(8, true);
    d->n_device = count_of();
    d->struct_size = size_of_struct(sizeof *d);
    out->struct_size = size_of_struct(sizeof *out);
    c->run = run_compact;
    c->workspace = compact_workspace;
}

static scan_status run_unique(scan_ctx *ctx, const call *c) {
    return scan_unique(ctx, &c->desc.unique, c->in, &c->outs.unique, c->n);
}
static scan_status unique_workspace(const scan_ctx *ctx, const call *c, size_t *bytes) {
    return scan_unique_workspace(ctx, &c->desc.unique, c->n, bytes);
}

static void make_unique(call *c) {
    scan_unique_desc *d = &c->desc.unique;
    scan_unique_out *out = &c->outs.unique;
    *d = (scan_unique_desc){.struct_size = sizeof *d, .type = pick(1, 10)};
    *out = (scan_unique_out){.struct_size = sizeof *out};
    d->index_type = take() < 160 ? 0 : pick(SCAN_U32, SCAN_U64);
    d->grid = take() < 220 ? 0 : pick(0, 5);
    d->index_base = take() < 200 ? 0 : take_64();
    const size_t bytes = bytes_of(c->n, d->type);
    c->in = input_of(bytes);
    out->kept = output_of(bytes, c->in, bytes);
    out->indices = take() < 128 ? NULL : output_of(c->n * 8, c->in, bytes);
    out->run_lengths = take() < 128 ? NULL : output_of(c->n * 8, c->in, bytes);
    out->count = rarely() ? NULL : new_array(8, true);
    d->n_device = count_of();
    d->struct_size = size_of_struct(sizeof *d);
    out->struct_size = size_of_struct(sizeof *out);
    c->run = run_unique;
    c->workspace = unique_workspace;
}

static scan_status run_sort(scan_ctx *ctx, const call *c) {
    return scan_sort(ctx, &c->desc.sort, c->in, c->out, c->values_in, c->values_out, c->n);
}
static scan_status sort_workspace(const scan_ctx *ctx, const call *c, size_t *bytes) {
    return scan_sort_workspace(ctx, &c->desc.sort, c->n, bytes);
}
static scan_status run_argsort(scan_ctx *ctx, const call *c) {
    return scan_argsort(ctx, &c->desc.sort, c->in, c->out, c->n);
}
static scan_status argsort_workspace(const scan_ctx *ctx, const call *c, size_t *bytes) {
    return scan_argsort_workspace(ctx, &c->desc.sort, c->n, bytes);
}

static void make_sort(call *c, bool argsort) {
    scan_sort_desc *d = &c->desc.sort;
    *d = (scan_sort_desc){.struct_size = sizeof *d, .type = pick(1, 10)};
    d->descending = pick(0, 1);
    d->nan_first = pick(0, 1);
    d->begin_bit = take() < 160 ? 0 : pick(0, 64);
    d->end_bit = take() < 160 ? 0 : pick(0, 64);
    d->value_bytes = argsort ? rarely() : take() < 128 ? 0 : take() < 128 ? 4 : pick(8, 9);
    d->index_type = take() < 160 ? 0 : pick(SCAN_U32, SCAN_U64);
    d->method = take() < 200 ? 0 : pick(0, 3);
    const size_t bytes = bytes_of(c->n, d->type);
    c->in = input_of(bytes);
    c->out = output_of(argsort ? c->n * 8 : bytes, c->in, bytes);
    if (d->value_bytes == 4 || d->value_bytes == 8 || rarely()) {
        c->values_in = input_of(c->n * 8);
        c->values_out = output_of(c->n * 8, c->values_in, c->n * 8);
    }
    d->n_device = count_of();
    d->struct_size = size_of_struct(sizeof *d);
    c->run = argsort ? run_argsort : run_sort;
    c->workspace = argsort ? argsort_workspace : sort_workspace;
}

static scan_status run_merge(scan_ctx *ctx, const call *c) {
    return scan_merge(ctx, &c->desc.merge, c->in, c->values_in, c->n, c->b_keys, c->b_values, c->b_n, c->out,
                      c->values_out);
}
static scan_status merge_workspace(const scan_ctx *ctx, const call *c, size_t *bytes) {
    return scan_merge_workspace(ctx, &c->desc.merge, c->n, c->b_n, bytes);
}

/* Of any bytes, so mostly of arrays that are not sorted. */
static void make_merge(call *c) {
    scan_merge_desc *d = &c->desc.merge;
    *d = (scan_merge_desc){.struct_size = sizeof *d, .type = pick(1, 10)};
    d->descending = pick(0, 1);
    d->nan_first = pick(0, 1);
    d->value_bytes = take() < 128 ? 0 : take() < 128 ? 4 : pick(8, 9);
    d->reserved = rarely();
    c->b_n = take() < 220 ? take() : take_32() % MAX_N;
    const size_t bytes = bytes_of(c->n, d->type), b_bytes = bytes_of(c->b_n, d->type);
    c->in = input_of(bytes);
    c->b_keys = input_of(b_bytes);
    c->out = output_of(bytes + b_bytes, c->in, bytes);
    if (d->value_bytes == 4 || d->value_bytes == 8 || rarely()) {
        c->values_in = input_of(c->n * 8);
        c->b_values = input_of(c->b_n * 8);
        c->values_out = output_of((c->n + c->b_n) * 8, c->values_in, c->n * 8);
    }
    d->a_n_device = count_of();
    d->b_n_device = count_of();
    d->struct_size = size_of_struct(sizeof *d);
    c->run = run_merge;
    c->workspace = merge_workspace;
}

static scan_status run_histogram(scan_ctx *ctx, const call *c) {
    return scan_histogram(ctx, &c->desc.histogram, c->in, c->out, c->n);
}
static scan_status histogram_workspace(const scan_ctx *ctx, const call *c, size_t *bytes) {
    return scan_histogram_workspace(ctx, &c->desc.histogram, c->n, bytes);
}

/* u16 is rare, because its tables take most of the time. */
static scan_type sample_type(void) { return take() < 240 ? SCAN_U8 : take() < 230 ? SCAN_U16 : pick(0, 11); }

/* Few tiles, or so many that no memory holds their tables. */
static uint32_t tiles(void) { return take() < 250 ? take() % 10 : take_32() | 0x80000000u; }

static void make_histogram(call *c) {
    scan_histogram_desc *d = &c->desc.histogram;
    *d = (scan_histogram_desc){.struct_size = sizeof *d, .type = sample_type(), .channels = pick(0, 5)};
    const size_t channels = d->channels > 0 && d->channels < 6 ? d->channels : 1;
    c->in = input_of(bytes_of(c->n * channels, d->type));
    c->out = output_of(8 * channels << (d->type == SCAN_U16 ? 16 : 8), c->in, 0);
    d->mask = take() < 160 ? NULL : input_of(c->n);
    d->reserved = rarely();
    d->n_device = count_of();
    d->struct_size = size_of_struct(sizeof *d);
    c->run = run_histogram;
    c->workspace = histogram_workspace;
}

static scan_status run_equalize(scan_ctx *ctx, const call *c) {
    return scan_equalize(ctx, &c->desc.equalize, c->in, c->out, c->values_out, c->n);
}
static scan_status equalize_workspace(const scan_ctx *ctx, const call *c, size_t *bytes) {
    return scan_equalize_workspace(ctx, &c->desc.equalize, c->n, bytes);
}
static scan_status run_clahe(scan_ctx *ctx, const call *c) {
    return scan_clahe(ctx, &c->desc.equalize, c->in, c->out, c->width, c->height);
}
static scan_status clahe_workspace(const scan_ctx *ctx, const call *c, size_t *bytes) {
    return scan_clahe_workspace(ctx, &c->desc.equalize, c->width, c->height, bytes);
}

static void make_equalize(call *c, bool clahe) {
    scan_equalize_desc *d = &c->desc.equalize;
    *d = (scan_equalize_desc){.struct_size = sizeof *d, .type = sample_type()};
    d->channels = pick(0, 5);
    d->like = clahe ? rarely() : pick(0, 4);
    d->color = take() < 128 ? 0 : pick(0, 2);
    c->width = clahe ? take() % 24u : 0;
    c->height = clahe ? take() % 24u : 0;
    if (clahe) {
        d->tiles_x = tiles();
        d->tiles_y = tiles();
        d->clip = take() < 128 ? 0 : (double)(int8_t)take() / 4;
    }
    const size_t pixels = clahe ? c->width * c->height : c->n, levels = d->type == SCAN_U16 ? 65536 : 256;
    const size_t bytes = bytes_of(pixels * (d->channels > 0 && d->channels < 6 ? d->channels : 1), d->type);
    c->in = input_of(bytes);
    c->out = output_of(bytes, c->in, bytes);
    c->values_out = clahe || take() < 160 ? NULL : output_of(bytes_of(3 * levels, d->type), NULL, 0);
    d->mask = take() < 200 ? NULL : input_of(pixels);
    d->struct_size = size_of_struct(sizeof *d);
    c->run = clahe ? run_clahe : run_equalize;
    c->workspace = clahe ? clahe_workspace : equalize_workspace;
}

static void make_call(call *c) {
    const uint8_t verb = take() % 9;
    *c = (call){.n = take() < 220 ? take() : take_32() % MAX_N};
    if (verb == 0)
        make_prefix(c);
    else if (verb == 1)
        make_compact(c);
    else if (verb == 2)
        make_unique(c);
    else if (verb < 5)
        make_sort(c, verb == 4);
    else if (verb == 5)
        make_histogram(c);
    else if (verb < 8)
        make_equalize(c, verb == 7);
    else
        make_merge(c);
}

/* ---- the calls --------------------------------------------------------------------------------------------------- */

static scan_ctx *context(void) {
    static scan_ctx *ctx;
    if (!ctx)
        FUZZ_CHECK(scan_ctx_create(&ctx, &(scan_options){.struct_size = sizeof(scan_options), .threads = 1}) ==
                   SCAN_OK);
    return ctx;
}

static void check_status(scan_ctx *ctx, scan_status status) {
    FUZZ_CHECK(status >= SCAN_OK && status <= SCAN_ERR_WORKSPACE && scan_status_string(status)[0]);
    FUZZ_CHECK(status == SCAN_OK || scan_ctx_detail(ctx)[0]);
}

enum { MAX_LENT = 64 << 20 };

/* Memory to lend, followed by a guard. It is kept, because a workspace may have megabytes. */
static uint8_t *lent_memory(size_t bytes) {
    static uint8_t *memory;
    static size_t room;
    const size_t whole = (bytes + GUARD + 255) / 256 * 256;
    if (whole > room) {
        free(memory);
        memory = aligned_alloc(256, whole);
        room = whole;
        FUZZ_CHECK(memory);
    }
    memset(memory + bytes, UNTOUCHED, GUARD);
    return memory;
}

/* The call again, with exactly the workspace lent that it says it needs. An empty image with as many tiles as fit no
 * memory succeeds, because it needs none. */
static void check_lent(scan_ctx *ctx, const call *c) {
    size_t bytes = 0;
    FUZZ_CHECK(c->workspace(ctx, c, &bytes) == SCAN_OK);
    FUZZ_CHECK(bytes < MAX_LENT || c->width * c->height == 0);
    if (bytes >= MAX_LENT)
        return;
    uint8_t *memory = lent_memory(bytes);
    restore_arrays();
    FUZZ_CHECK(scan_ctx_lend(ctx, memory, bytes) == SCAN_OK && c->run(ctx, c) == SCAN_OK);
    FUZZ_CHECK(scan_ctx_lend(ctx, NULL, 0) == SCAN_OK && is_guard(memory + bytes));
    check_arrays(true); /* what they held after the first call */
}

/* The next piece of an array whose scan goes on. */
static void check_carry(scan_ctx *ctx, call *c) {
    scan_prefix_desc *d = &c->desc.prefix;
    if (c->run != run_prefix || !d->carry_out || d->init)
        return;
    d->carry_in = d->carry_out;
    FUZZ_CHECK(c->run(ctx, c) == SCAN_OK);
    check_arrays(false);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    scan_ctx *ctx = context();
    call c;
    rest = data;
    rest_bytes = bytes;
    make_call(&c);
    remember_arrays();
    const scan_status status = c.run(ctx, &c);
    check_status(ctx, status);
    check_arrays(status != SCAN_OK);
    if (status == SCAN_OK) {
        check_lent(ctx, &c);
        check_carry(ctx, &c);
    }
    free_arrays();
    return 0;
}
