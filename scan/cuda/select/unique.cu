/* SPDX-License-Identifier: MIT
 *
 * scan_unique on CUDA: keeps the elements that differ from the one before.
 */
#include "select.h"

namespace scan_cuda {

static const select_kernels &kernels_of(const scan_unique_desc *desc) {
    return runs_kernels[__builtin_ctz(unsigned(scan_type_size(desc->type)))];
}

scan_status unique(scan_ctx *ctx, const scan_unique_desc *desc, const void *in, const scan_unique_out *out, size_t n) {
    select_job job = {};
    job.in = in;
    job.n = n;
    job.n_device = desc->n_device;
    job.kept = out->kept;
    job.indices = out->indices;
    job.run_lengths = out->run_lengths;
    job.count = out->count;
    job.index_base = desc->index_base;
    job.wide_indices = desc->index_type == SCAN_U64;
    job.in_place = in && out->kept == in;
    runs_source runs = {scan_is_float(desc->type)};
    return run_select(ctx, kernels_of(desc), desc->grid, job, &runs);
}

size_t unique_workspace(const scan_ctx *ctx, const scan_unique_desc *desc, size_t n) {
    return select_workspace(ctx, kernels_of(desc), desc->grid, n);
}

} /* namespace scan_cuda */
