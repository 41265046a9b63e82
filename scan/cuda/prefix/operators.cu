/* SPDX-License-Identifier: MIT
 *
 * The kernels that serve a scan: one row a class of kernels.
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

/* ---- the choice -------------------------------------------------------------------------------------------------- */

const prefix_kernels *find_kernels(const scan_prefix_desc *desc) {
    const operator_row &row = operator_rows[desc->op];
    const bool is_float = scan_is_float(desc->out_type) && !row.sortable;
    const size_t in_size = scan_type_size(desc->type), out_size = scan_type_size(desc->out_type);
    for (const auto &c : classes)
        if (c.op == row.op && c.is_float == is_float && c.in_size == in_size && c.out_size == out_size)
            return c.kernels;
    return nullptr;
}

} /* namespace scan_cuda */
