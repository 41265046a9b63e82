/* SPDX-License-Identifier: MIT
 *
 * The operators of scan.h by the kernels that exist: one row an operator, one row a class of kernels.
 */
#include "operators.h"

namespace scan_cuda {

/* ---- classes ----------------------------------------------------------------------------------------------------- */

static const struct {
    operation op;
    bool is_float;
    size_t in_size, out_size;
    const prefix_kernels *kernels;
} classes[] = {
#define ROW(op, name, I, T) {operation::op, is_floating<T>, sizeof(I), sizeof(T), &op##_##name},
    SCAN_CUDA_CLASSES(ROW)
#undef ROW
};

const prefix_kernels *const all_kernels[] = {
#define ROW(op, name, I, T) &op##_##name,
    SCAN_CUDA_CLASSES(ROW)
#undef ROW
};

/* ---- identities, as bits of a type ------------------------------------------------------------------------------- */

static uint64_t zero(scan_type) { return 0; }

static uint64_t ones(scan_type) { return ~0ull; }

static uint64_t one(scan_type type) {
    return type == SCAN_F32 ? 0x3f800000u : type == SCAN_F64 ? 0x3ff0000000000000ull : 1;
}

static uint64_t sign_bit(scan_type type) { return 1ull << (scan_type_size(type) * 8 - 1); }

static uint64_t largest(scan_type type) {
    switch (scan_type_class(type)) {
    case SCAN_FLOAT: return type == SCAN_F32 ? 0x7f800000u : 0x7ff0000000000000ull; /* infinity */
    case SCAN_SIGNED: return sign_bit(type) - 1;
    default: return ~0ull;
    }
}

static uint64_t smallest(scan_type type) {
    switch (scan_type_class(type)) {
    case SCAN_FLOAT: return largest(type) | sign_bit(type);
    case SCAN_SIGNED: return sign_bit(type);
    default: return 0;
    }
}

/* ---- operators --------------------------------------------------------------------------------------------------- */

/* How the kernels compute an operator of scan.h. */
struct operator_row {
    operation op;
    bool sortable;   /* on sortable bits, as unsigned integers */
    bool complement; /* on complements: min(a, b) = ~max(~a, ~b), a & b = ~(~a | ~b) */
    uint64_t (*identity)(scan_type);
};

static constexpr operator_row of_ADD = {operation::add, false, false, zero};
static constexpr operator_row of_MUL = {operation::mul, false, false, one};
static constexpr operator_row of_MIN = {operation::maximum, true, true, largest};
static constexpr operator_row of_MAX = {operation::maximum, true, false, smallest};
static constexpr operator_row of_XOR = {operation::bit_xor, false, false, zero};
static constexpr operator_row of_AND = {operation::bit_or, false, true, ones};
static constexpr operator_row of_OR = {operation::bit_or, false, false, zero};

/* Indexed by scan_op. An operator of scan/lists.h without a row above does not compile. */
static constexpr operator_row operators[] = {
#define ROW(ENUM, ...) of_##ENUM,
    SCAN_OPS(ROW, )
#undef ROW
};

const prefix_kernels *find_kernels(const scan_prefix_desc *desc) {
    const operator_row &row = operators[desc->op];
    const bool is_float = scan_is_float(desc->out_type) && !row.sortable;
    const size_t in_size = scan_type_size(desc->type), out_size = scan_type_size(desc->out_type);
    for (const auto &c : classes)
        if (c.op == row.op && c.is_float == is_float && c.in_size == in_size && c.out_size == out_size)
            return c.kernels;
    return nullptr;
}

element_code code_of(const scan_prefix_desc *desc) {
    const operator_row &row = operators[desc->op];
    const scan_class out_class = scan_type_class(desc->out_type);
    element_code code = {};
    code.op = row.op;
    if (desc->type != desc->out_type && scan_is_signed(desc->type))
        code.sign = sign_bit(desc->type);
    code.is_float = row.sortable && out_class == SCAN_FLOAT;
    code.flip =
        (row.complement ? ~0ull : 0) ^ (row.sortable && out_class == SCAN_SIGNED ? sign_bit(desc->out_type) : 0);
    return code;
}

uint64_t identity_of(const scan_prefix_desc *desc) { return operators[desc->op].identity(desc->out_type); }

} /* namespace scan_cuda */
