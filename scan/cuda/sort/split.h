/* SPDX-License-Identifier: MIT
 *
 * The split sort, as sort.cu calls it.
 */
#ifndef SCAN_CUDA_SORT_SPLIT_H
#define SCAN_CUDA_SORT_SPLIT_H

#include "../cuda.h"
#include "job.cuh"

namespace scan_cuda {

/* Scratch beside the keys and values, and state. */
size_t split_sections_bytes(uint64_t n);
size_t split_state_bytes(const scan_ctx *ctx, uint64_t n);

scan_status split_load(scan_ctx *ctx);

/* n is not zero. */
scan_status split_sort(scan_ctx *ctx, sort_job job, char *sections_memory);

} /* namespace scan_cuda */

#endif
