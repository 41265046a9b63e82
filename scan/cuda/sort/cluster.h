/* SPDX-License-Identifier: MIT
 *
 * The sorts of one launch, by counting and by one cluster, as sort.cu calls them.
 */
#ifndef SCAN_CUDA_SORT_CLUSTER_H
#define SCAN_CUDA_SORT_CLUSTER_H

#include "../cuda.h"
#include "job.cuh"

namespace scan_cuda {

scan_status cluster_sort_open(scan_ctx *ctx); /* as prefix_open; of both sorts */
scan_status cluster_sort_load(scan_ctx *ctx);

/* Whether it sorts n keys, and is expected to be the fastest. Neither needs a workspace. */
bool small_sort_serves(const scan_ctx *ctx, size_t key_bytes, size_t n, bool in_place);
scan_status small_sort_run(scan_ctx *ctx, sort_job job, bool in_place);

bool cluster_sort_serves(const scan_ctx *ctx, uint32_t bits, size_t n);

scan_status cluster_sort_run(scan_ctx *ctx, sort_job job);

} /* namespace scan_cuda */

#endif
