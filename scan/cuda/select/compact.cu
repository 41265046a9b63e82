/* SPDX-License-Identifier: MIT
 *
 * scan_compact on CUDA. The compiled predicate decides which selector runs:
 *
 *   one range of the elements, or of any one column if no elements are written     range
 *   flags                                                                           flags
 *   everything else                                                                 program
 */
#include "select.h"

namespace scan_cuda {

static int size_index(scan_type type) { return __builtin_ctz(unsigned(scan_type_size(type))); }

static uint64_t sign_bit(scan_type type) { return 1ull << (scan_type_size(type) * 8 - 1); }

/* An end of a range as the kernels compare it (selectors.cuh). A range has both zeros or none (predicate.h). */
static uint64_t sortable_bits_of(scan_type type, uint64_t bits) {
    const uint64_t sign = sign_bit(type);
    return scan_is_float(type) && (bits & sign) ? bits ^ (sign - 1) : bits;
}

static range_source range_of(const scan_step &step) {
    uint64_t lo = step.lo, hi = step.hi;
    if (scan_is_float(step.type) && lo == 0)
        lo = sign_bit(step.type);
    if (scan_is_float(step.type) && hi == sign_bit(step.type))
        hi = 0;
    lo = sortable_bits_of(step.type, lo);
    const uint64_t bits = sign_bit(step.type) * 2 - 1;
    return {lo, (sortable_bits_of(step.type, hi) - lo) & bits, scan_is_float(step.type), step.negate};
}

static column_kind kind_of(scan_type type) {
    const int size = size_index(type);
    return !scan_is_float(type) ? column_kind(COLUMN_8 + size) : size == size_index(SCAN_F32) ? COLUMN_F32 : COLUMN_F64;
}

/* The number of a column in program.columns, where it is appended at its first use. */
static uint8_t column_number(program_source &program, uint32_t &count, const void *data, column_kind kind) {
    uint32_t i = 0;
    while (i < count && (program.columns[i].data != data || program.columns[i].kind != kind))
        i++;
    if (i == count)
        program.columns[count++] = {data, kind};
    return uint8_t(i);
}

static const void *data_of(const scan_compact_desc *desc, const void *in, uint32_t column) {
    return column == SCAN_COLUMN_INDEX   ? nullptr
           : column == SCAN_COLUMN_FLAGS ? desc->flags
           : column == 0                 ? in
                                         : desc->columns[column - 1].data;
}

static program_source program_of(const scan_compact_desc *desc, const scan_predicate &predicate, const void *in) {
    program_source program = {};
    program.step_count = predicate.step_count;
    program.constant = predicate.constant;
    uint32_t columns = 0;
    for (uint32_t i = 0; i < predicate.step_count; i++) {
        const scan_step &from = predicate.steps[i];
        program_source::step &to = program.steps[i];
        to.kind = uint8_t(from.kind);
        to.negate = from.negate;
        if (from.kind != SCAN_STEP_RANGE)
            continue;
        const range_source range = range_of(from);
        to.lo = range.lo;
        to.width = range.width;
        to.column = column_number(program, columns, data_of(desc, in, from.column),
                                  from.column == SCAN_COLUMN_INDEX ? COLUMN_OF_INDICES : kind_of(from.type));
    }
    return program;
}

/* ---- choice ------------------------------------------------------------------------------------------------------ */

enum selector { SELECT_RANGE, SELECT_FLAGS, SELECT_PROGRAM };

struct selector_choice {
    selector by;
    const select_kernels *kernels;
};

/* writes: the elements themselves go to an output. */
static selector_choice choose(const scan_compact_desc *desc, const scan_predicate &predicate, bool writes) {
    const scan_step &step = predicate.steps[0];
    const bool one_range = predicate.step_count == 1 && step.column != SCAN_COLUMN_INDEX;
    if (one_range && (step.column == 0 || !writes))
        return {SELECT_RANGE, &range_kernels[size_index(step.type)]};
    const int size = writes ? size_index(desc->type) : 0;
    if (one_range && step.column == SCAN_COLUMN_FLAGS)
        return {SELECT_FLAGS, &flags_kernels[size]};
    return {SELECT_PROGRAM, &program_kernels[size]};
}

scan_status compact(scan_ctx *ctx, const scan_compact_desc *desc, const void *in, const scan_compact_out *out,
                    size_t n) {
    scan_predicate predicate;
    scan_predicate_compile(desc, &predicate);
    const bool writes = out->kept || out->rejected;
    const selector_choice s = choose(desc, predicate, writes);
    select_job job = {};
    job.n = n;
    job.n_device = desc->n_device;
    job.kept = out->kept;
    job.rejected = out->rejected;
    job.indices = out->indices;
    job.count = out->count;
    job.index_base = desc->index_base;
    job.wide_indices = desc->index_type == SCAN_U64;
    job.in_place = in && out->kept == in;
    job.in = writes ? in : nullptr;
    switch (s.by) {
    case SELECT_RANGE: {
        job.in = data_of(desc, in, predicate.steps[0].column);
        range_source range = range_of(predicate.steps[0]);
        return run_select(ctx, *s.kernels, desc->grid, job, &range);
    }
    case SELECT_FLAGS: {
        job.flags = desc->flags;
        flags_source flags = {predicate.steps[0].negate};
        return run_select(ctx, *s.kernels, desc->grid, job, &flags);
    }
    case SELECT_PROGRAM: break;
    }
    program_source program = program_of(desc, predicate, in);
    return run_select(ctx, *s.kernels, desc->grid, job, &program);
}

/* Enough for any subset of outputs. */
size_t compact_workspace(const scan_ctx *ctx, const scan_compact_desc *desc, size_t n) {
    scan_predicate predicate;
    scan_predicate_compile(desc, &predicate);
    size_t bytes = select_workspace(ctx, *choose(desc, predicate, false).kernels, desc->grid, n);
    if (desc->type != SCAN_TYPE_NONE) {
        size_t writing = select_workspace(ctx, *choose(desc, predicate, true).kernels, desc->grid, n);
        bytes = writing > bytes ? writing : bytes;
    }
    return bytes;
}

} /* namespace scan_cuda */
