/* SPDX-License-Identifier: MIT
 *
 * prefix: the type of the output, --init as a value of that type, one NaN for all devices, and where a scan runs.
 */
#include <math.h>
#include <string.h>

#include "apps/support/die.h"
#include "apps/support/number.h"
#include "prefix.h"

/* Sums of integers are kept in 64 bits, as NumPy does; other folds stay in the type of the input. */
static scan_type default_out(const prefix_job *job, scan_type type) {
    if (job->op != SCAN_ADD || prefix_is_float(type))
        return type;
    return scan_type_class(type) == SCAN_SIGNED ? SCAN_I64 : SCAN_U64;
}

/* Makes integers of numbers such as 2.0 and 1e3. False if there is a fraction. */
static bool whole_number(number *x) {
    if (x->type != SCAN_F64)
        return true;
    double f = x->value.f;
    if (f != floor(f) || f < -0x1p63 || f >= 0x1p64)
        return false;
    x->type = f < 0x1p63 ? SCAN_I64 : SCAN_U64;
    if (x->type == SCAN_I64)
        x->value.i = (int64_t)f;
    else
        x->value.u = (uint64_t)f;
    return true;
}

/* The low bytes of *to are the value in a smaller type: the machine is little-endian. */
static bool to_integer(number x, scan_type type, prefix_value *to) {
    unsigned bits = 8 * (unsigned)scan_type_size(type);
    if (!whole_number(&x))
        return false;
    to->bits = x.value.u;
    if (scan_type_class(type) == SCAN_SIGNED)
        return x.type == SCAN_I64 && x.value.i >= -INT64_C(1) - (INT64_MAX >> (64 - bits)) &&
               x.value.i <= INT64_MAX >> (64 - bits);
    return (x.type == SCAN_U64 || x.value.i >= 0) && x.value.u <= UINT64_MAX >> (64 - bits);
}

/* A decimal fraction becomes the nearest float; an integer must be exact. */
static bool to_float(const number *x, scan_type type, prefix_value *to) {
    double d = x->type == SCAN_F64   ? x->value.f
               : x->minus_zero       ? -0.0
               : x->type == SCAN_I64 ? (double)x->value.i
                                     : (double)x->value.u;
    float f = (float)d;
    if (type == SCAN_F32)
        memcpy(to->bytes, &f, sizeof f);
    else
        memcpy(to->bytes, &d, sizeof d);
    if (x->type == SCAN_F64)
        return type == SCAN_F64 || isinf(d) || !isinf(f);
    double stored = type == SCAN_F32 ? (double)f : d;
    return x->type == SCAN_I64 ? stored < 0x1p63 && (int64_t)stored == x->value.i
                               : stored < 0x1p64 && (uint64_t)stored == x->value.u;
}

/* Exit 2: the operator takes integers only, and the input, or a column of it, is of a float type. */
__attribute__((noreturn)) static void refuse_floats(const prefix_job *job, const char *name, scan_type type) {
    const char *op = scan_op_name(job->op);
    switch (job->format) {
    case FORMAT_NPY:
        die(EXIT_USAGE, "%s: --op %s takes integers, this is an array of %s: save it as integers", name, op,
            scan_type_name(type));
    case FORMAT_RAW:
        die(EXIT_USAGE, "%s: --op %s takes integers, not %s: --dtype %s reads the same bytes as integers", name, op,
            scan_type_name(type), type == SCAN_F32 ? "u32" : "u64");
    case FORMAT_CSV:
    case FORMAT_TSV:
        die(EXIT_USAGE,
            "%s: --op %s takes integers: fill the empty fields of column %s, or write its numbers as integers", name,
            op, job->key);
    case FORMAT_TEXT: break;
    }
    die(EXIT_USAGE, "%s: --op %s takes integers: write all numbers without a point, an exponent, nan or inf", name, op);
}

scan_prefix_desc prefix_describe(const prefix_job *job, const char *name, scan_type type, prefix_value *init) {
    if (!scan_op_takes(job->op, type))
        refuse_floats(job, name, type);
    if (job->out_dtype && !scan_op_takes(job->op, job->out_dtype))
        die_usage("--op %s takes integers: --out-dtype %s does not apply", scan_op_name(job->op),
                  scan_type_name(job->out_dtype));
    scan_prefix_desc desc = {.struct_size = sizeof desc,
                             .type = type,
                             .out_type = job->out_dtype ? job->out_dtype : default_out(job, type),
                             .op = job->op,
                             .kind = job->kind,
                             .reverse = job->reverse,
                             .algorithm = job->algorithm};
    if (!job->init)
        return desc;
    number x;
    size_t where;
    number_status status = number_parse(job->init, strlen(job->init), &x, &where);
    if (status != NUMBER_OK)
        die_usage("--init: \"%s\" %s", job->init, number_complaint(status));
    init->bits = 0;
    if (!(prefix_is_float(desc.out_type) ? to_float(&x, desc.out_type, init) : to_integer(x, desc.out_type, init)))
        die_usage("--init: %s cannot be a value of the output type %s", job->init, scan_type_name(desc.out_type));
    desc.init = init->bytes;
    return desc;
}

scan_prefix_desc prefix_describe_array(const prefix_job *job, const array_reader *reader, prefix_value *init,
                                       bool *is_bool) {
    const bool counts = job->op == SCAN_ADD || job->op == SCAN_MUL;
    *is_bool = reader->header.is_bool && !counts && !job->out_dtype;
    if (!reader->header.is_bool || !counts || scan_type_class(job->out_dtype) == SCAN_UNSIGNED)
        return prefix_describe(job, reader->in->name, reader->type, init);
    prefix_job as_numpy = *job;
    if (!job->out_dtype)
        as_numpy.out_dtype = SCAN_I64;
    return prefix_describe(&as_numpy, reader->in->name, SCAN_I8, init);
}

array_writer prefix_writer(const prefix_job *job, const scan_prefix_desc *desc, bool is_bool) {
    return (array_writer){.out = job->out,
                          .format = job->out_format,
                          .type = desc->out_type,
                          .is_bool = is_bool,
                          .threads = parallel_threads(job->common->threads)};
}

/* ---- final bytes
 * --------------------------------------------------------------------------------------------------------- */

/* Two loops each: the compiler vectorizes them, and pieces without NaN are only read. */
static void one_nan_f32(float *x, size_t n) {
    int any = 0;
    for (size_t i = 0; i < n; i++)
        any |= x[i] != x[i];
    for (size_t i = 0; any && i < n; i++)
        x[i] = x[i] != x[i] ? NAN : x[i];
}

static void one_nan_f64(double *x, size_t n) {
    int any = 0;
    for (size_t i = 0; i < n; i++)
        any |= x[i] != x[i];
    for (size_t i = 0; any && i < n; i++)
        x[i] = x[i] != x[i] ? (double)NAN : x[i];
}

void prefix_normalize(const scan_prefix_desc *desc, bool is_bool, void *result, size_t n) {
    if (is_bool)
        array_make_bool(result, n);
    const bool chosen_by_processor = desc->op == SCAN_ADD || desc->op == SCAN_MUL;
    if (chosen_by_processor && desc->out_type == SCAN_F32)
        one_nan_f32(result, n);
    if (chosen_by_processor && desc->out_type == SCAN_F64)
        one_nan_f64(result, n);
}

/* ---- where ------------------------------------------------------------------------------------------------------- */

/* Of the grids only these two take the blocks kogge-stone and brent-kung, so that auto chooses one of them. */
bool prefix_is_whole(const prefix_job *job) {
    scan_algorithm a = job->algorithm;
    bool teaching_block = a.block == SCAN_BLOCK_KOGGE_STONE || a.block == SCAN_BLOCK_BRENT_KUNG;
    return a.grid == SCAN_GRID_HOST_SUMS || a.grid == SCAN_GRID_HIERARCHICAL ||
           (a.grid == SCAN_GRID_AUTO && teaching_block);
}

/* The teaching grids add and multiply floats in an order that the CPU does not implement. */
static bool has_own_order(const prefix_job *job, const scan_prefix_desc *desc) {
    return prefix_is_whole(job) && prefix_is_float(desc->out_type) && (desc->op == SCAN_ADD || desc->op == SCAN_MUL);
}

void prefix_choose(const prefix_job *job, session *s, const scan_prefix_desc *desc, uint64_t elements) {
    scan_algorithm a = job->algorithm;
    if (job->common->verify && has_own_order(job, desc))
        die_usage(
            "--verify: by this --algorithm float sums and products have an order of their own, which it cannot check");
    if ((a.grid != SCAN_GRID_AUTO && a.grid != SCAN_GRID_BLOCKED) || a.block != SCAN_BLOCK_AUTO)
        session_need_device(s, has_own_order(job, desc));
    else
        session_choose(s, WORK_PREFIX, a.grid == SCAN_GRID_BLOCKED ? 0 : elements * scan_type_size(desc->type));
}

scan_algorithm prefix_algorithm(const prefix_job *job, const session *s, bool on_host) {
    return on_host && s->fell_back ? (scan_algorithm){SCAN_GRID_AUTO, SCAN_BLOCK_AUTO} : job->algorithm;
}
