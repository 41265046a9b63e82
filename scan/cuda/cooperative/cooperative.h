/* SPDX-License-Identifier: MIT
 *
 * The sort of one cooperative launch (kernel.cuh), as sort/sort.cu calls it.
 */
#ifndef SCAN_CUDA_COOPERATIVE_COOPERATIVE_H
#define SCAN_CUDA_COOPERATIVE_COOPERATIVE_H

#include "../cuda.h"
#include "../sort/job.cuh"

namespace scan_cuda {

scan_status cooperative_sort_open(scan_ctx *ctx); /* as prefix_open */
scan_status cooperative_sort_load(scan_ctx *ctx);

/* Whether it sorts n keys of which so many bits decide, with values of so many bytes or none. */
bool cooperative_sort_serves(const scan_ctx *ctx, uint32_t key_bytes, uint32_t value_bytes, uint32_t bits, size_t n);

/* What it needs of job.plan and of job.state, beside the buffers of a radix sort. */
size_t cooperative_sort_plan_bytes(const scan_ctx *ctx);
size_t cooperative_sort_state_bytes();

/* Sorts. Where the GPU cannot run all CTAs at once, nothing is launched and *done is false. */
scan_status cooperative_sort_run(scan_ctx *ctx, sort_job job, bool *done);

} /* namespace scan_cuda */

#endif
