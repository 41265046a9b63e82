/* SPDX-License-Identifier: MIT
 *
 * The operators of scan.h as kernels compute them: one row an operator. It needs the public header alone, so that
 * libscan_dist describes its scans in the same way.
 */
#ifndef SCAN_CUDA_PREFIX_OPERATOR_CODE_H
#define SCAN_CUDA_PREFIX_OPERATOR_CODE_H

extern "C" {
#include "../../scan.h"
}
#include "../../lists.h"
#include "../device/element.cuh"
#include "kernels.h"

namespace scan_cuda {

/* ---- identities, as bits of a type ------------------------------------------------------------------------------- */

inline uint64_t zero(scan_type) { return 0; }

inline uint64_t ones(scan_type) { return ~0ull; }

inline uint64_t one(scan_type type) {
    return type == SCAN_F32 ? 0x3f800000u : type == SCAN_F64 ? 0x3ff0000000000000ull : 1;
}

inline uint64_t sign_bit(scan_type type) { return 1ull << (scan_type_size(type) * 8 - 1); }

inline uint64_t largest(scan_type type) {
    switch (scan_type_class(type)) {
    case SCAN_FLOAT: return type == SCAN_F32 ? 0x7f800000u : 0x7ff0000000000000ull; /* infinity */
    case SCAN_SIGNED: return sign_bit(type) - 1;
    default: return ~0ull;
    }
}

inline uint64_t smallest(scan_type type) {
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
static constexpr operator_row operator_rows[] = {
#define ROW(ENUM, ...) of_##ENUM,
    SCAN_OPS(ROW, )
#undef ROW
};

/* Returns the argument of the kernels that describes the types and the operator. */
inline element_code code_of(const scan_prefix_desc *desc) {
    const operator_row &row = operator_rows[desc->op];
    const scan_class out_class = scan_type_class(desc->out_type);
    element_code code = {};
    code.op = row.op;
    if (desc->type != desc->out_type && scan_type_class(desc->type) == SCAN_SIGNED)
        code.sign = sign_bit(desc->type);
    code.is_float = row.sortable && out_class == SCAN_FLOAT;
    code.flip =
        (row.complement ? ~0ull : 0) ^ (row.sortable && out_class == SCAN_SIGNED ? sign_bit(desc->out_type) : 0);
    return code;
}

/* What an exclusive scan writes first, as bits of the output type. */
inline uint64_t identity_of(const scan_prefix_desc *desc) { return operator_rows[desc->op].identity(desc->out_type); }

} /* namespace scan_cuda */

#endif
